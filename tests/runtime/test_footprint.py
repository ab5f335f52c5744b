"""Side effects: numtape leaves no traces in a program's objects or in the process's state."""

import copy
import dataclasses
import functools
import gc
import json
import pickle
import weakref

import pytest
from checks import same
from parallel_threads import run_in_threads
from processes import CACHES, run, with_cache

from numtape.core.replay.owner_map import MAX_STRONG

pytestmark = pytest.mark.numtape_only("what TensorFlow leaves is its own affair")


# Objects with functions as methods.


@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0

    def moved(self, by):
        return by * self.x + self.y


class Small:
    __slots__ = ("__weakref__", "x", "y")

    def __init__(self, x, y=2.0):
        self.x, self.y = x, y

    moved = Point.moved


class Least(Small):
    """An object that supports weak references; `Number` does not."""

    __slots__ = ()


class Number(int):
    """An object that does not support weak references."""

    x = property(float)
    y = 2.0
    moved = Point.moved


@pytest.fixture
def made(tf, monkeypatch):
    """A factory of objects of these classes, whose method is a `function`."""
    for cls in (Point, Small, Number):
        function = tf.function(Point.moved)
        function.__set_name__(cls, "moved")
        monkeypatch.setattr(cls, "moved", function)
    return lambda cls, x: cls(x)


def move(tf, point):
    """Call the method, recorded and replayed."""
    for _ in range(3):
        same(point.moved(tf.constant(3.0)), 3.0 * point.x + 2.0)


def test_objects_stay_as_they_are(tf, made):
    point, other = made(Point, 5.0), made(Point, 5.0)

    def seen():
        return pickle.dumps(point), json.dumps(vars(point)), dict(vars(point)), dir(point)

    before = seen()
    move(tf, point)
    assert seen() == before
    assert point == other
    assert vars(point) == vars(other)
    assert dataclasses.asdict(point) == {"x": 5.0, "y": 2.0}


def pickled(x):
    return pickle.loads(pickle.dumps(x))


@pytest.mark.records
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_copies_begin_without(tf, made, again):
    point = made(Point, 5.0)
    move(tf, point)
    other = again(point)
    assert other.moved.experimental_get_tracing_count() == 0
    other.x = 7.0
    move(tf, other)
    move(tf, point)
    assert point.moved.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("cls", [Point, Small, Least])
def test_objects_go_when_nobody_holds_them(tf, made, cls):
    point = made(cls, 5.0)
    move(tf, point)
    table, ref = vars(cls.__mro__[-2])["moved"]._method_table, weakref.ref(point)
    assert len(table) == 1
    gc.disable()
    try:
        del point  # freed without the garbage collector
        assert ref() is None
        assert not table
    finally:
        gc.enable()


def test_a_method_keeps_its_object(tf, made):
    for cls in (Point, Small, Number):
        method = made(cls, 5).moved
        gc.collect()
        for _ in range(3):
            same(method(tf.constant(3.0)), 17.0)
        assert method.__self__ == made(cls, 5) or cls is Small
        same(made(cls, 6).moved(tf.constant(3.0)), 20.0)


@pytest.mark.records
@pytest.mark.parametrize("how", ["itself", "method", "closure", "child", "list"])
def test_objects_that_lead_to_themselves_go(tf, how):
    """Recordings refer to their attributes, and so to the objects."""

    class Child:
        pass

    class Parent:
        def __init__(self):
            self.w = tf.Variable(2.0)
            self.child = Child()
            self.child.parent = {
                "itself": None,
                "method": self.scaled,
                "closure": lambda x: self.scaled(x),
                "child": self,
                "list": [{"parent": self}],
            }[how]
            if how == "itself":
                self.child = self

        def scaled(self, x):
            return x * self.w

        @tf.function
        def step(self, x):
            return x * self.w + (self.child is not None)

    live = [Parent() for _ in range(5)]
    refs = []
    for k in range(20):
        one = Parent()
        refs.append(weakref.ref(one))
        for parent in (one, live[k % 5]):
            for _ in range(2):
                parent.step(tf.constant(1.0))
        del one, parent
        gc.collect()
    assert sum(ref() is not None for ref in refs) <= 6  # at most the live ones twice, and one
    assert [parent.step.experimental_get_tracing_count() for parent in live] == [1] * 5


def test_objects_that_do_not_say_when_they_go_are_few(tf, made):
    table = vars(Number)["moved"]._method_table
    for k in range(2 * MAX_STRONG):
        same(made(Number, k).moved(tf.constant(1.0)), k + 2.0)
        assert len(table) <= MAX_STRONG


def test_addresses_that_come_again(tf, made):
    for k in range(200):
        same(made(Point, float(k)).moved(tf.constant(3.0)), 3.0 * k + 2.0)


def test_entries_go_without_running_python(tf, made):
    """An interrupt in a Python callback of a weak reference would be lost."""
    point = made(Point, 5.0)
    move(tf, point)
    callbacks = {ref.__callback__ for ref in weakref.getweakrefs(point)} - {None}
    assert callbacks
    for callback in callbacks:
        if type(callback) is functools.partial:
            callback = callback.func
        assert type(callback) is type({}.pop)


def test_entry_that_its_object_left_behind_is_nobody_elses(tf, made):
    """Also if not even a C callback can run."""
    table = vars(Point)["moved"]._method_table
    point, other = made(Point, 5.0), made(Point, 7.0)
    move(tf, point)
    table[id(other)] = weakref.ref(made(Point, 1.0)), table[id(point)][1]
    move(tf, other)
    move(tf, point)


def test_finalizers_that_call_methods(tf, made, monkeypatch):
    found = []

    def finalized(point):
        found.append(float(point.moved(tf.constant(3.0))))

    monkeypatch.setattr(Point, "__del__", finalized, raising=False)
    for k in range(5):
        point = made(Point, float(k))
        move(tf, point)
        point.me = point
        del point
        gc.collect()
    assert {2.0, 5.0, 8.0} <= set(found) <= {2.0, 5.0, 8.0, 11.0, 14.0}


def test_threads_that_call_methods_of_the_same_objects(tf, made):
    points = [made(Point, float(k)) for k in range(8)]

    def work(k):
        found = []
        for turn in range(60):
            point = points[(turn + k) % 8]
            found.append(float(point.moved(tf.constant(3.0))) == 3.0 * point.x + 2.0)
            short = made(Point, float(turn))
            found.append(float(short.moved(tf.constant(3.0))) == 3.0 * turn + 2.0)
        return all(found)

    assert run_in_threads(6, work) == [True] * 6
    assert [point.moved.experimental_get_tracing_count() for point in points] <= [6] * 8


@pytest.mark.records
def test_methods_compare_and_are_arguments_as_those_of_python(tf, made):
    point, other = made(Point, 5.0), made(Point, 5.0)
    assert point.moved == point.moved
    assert hash(point.moved) == hash(point.moved)
    assert point.moved != other.moved
    assert point.moved.__self__ is point
    assert point.moved.__doc__ == Point.moved.__doc__
    assert repr(point.moved) == repr(Point.moved)
    caller = tf.function(lambda x, act: act(x))
    for _ in range(5):
        same(caller(tf.constant(3.0), point.moved), 17.0)
    assert caller.experimental_get_tracing_count() == 1


def test_signature_of_a_method_is_without_the_object(tf, made):
    import inspect

    for cls in (Point, Small, Number):
        assert list(inspect.signature(made(cls, 5).moved).parameters) == ["by"]
        concrete = made(cls, 5).moved.get_concrete_function(tf.constant(1.0))
        gc.collect()
        same(concrete(tf.constant(3.0)), 17.0)


def test_what_binds_to_no_object_is_called_without_one(tf):
    class Thing:
        f = tf.function(len)

    assert int(Thing().f([1.0, 2.0])) == 2


# The process.

STATE = """
import atexit, builtins, decimal, faulthandler, gc, locale, logging, os, random, signal, sys
import threading, warnings
import numpy as np

def state():
    signals = {s: signal.getsignal(s) for s in signal.valid_signals()}
    umask = os.umask(0)
    os.umask(umask)
    return {
        "trace function": sys.gettrace(), "profile function": sys.getprofile(),
        "threads' functions": (threading.gettrace(), threading.getprofile()),
        "errors of NumPy": (np.geterr(), np.geterrcall()),
        "print options of NumPy": np.get_printoptions(),
        "random numbers of NumPy": np.random.get_state()[1].tobytes(),
        "random numbers of Python": random.getstate(),
        "signal handlers": signals, "wake-up": signal.set_wakeup_fd(-1),
        "handlers of logging": [logging.root.handlers[:], logging.root.level,
                                logging.root.filters[:], logging.root.manager.disable,
                                logging.getLoggerClass()],
        "numtape's logger": [logging.getLogger("numtape").handlers[:],
                             logging.getLogger("numtape").level],
        "warnings": (list(warnings.filters), warnings.showwarning, warnings.formatwarning),
        "environment": dict(os.environ), "folder": os.getcwd(), "umask": umask,
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook,
                  sys.breakpointhook, list(sys.path_hooks), builtins.__import__),
        "imports": (list(sys.meta_path), list(sys.path)),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.callbacks[:], gc.get_debug()),
        "faults": faulthandler.is_enabled(), "locale": locale.setlocale(locale.LC_ALL),
        "decimals": str(decimal.getcontext()), "builtins": set(vars(builtins)) - {"_"},
        "NumPy": set(vars(np)) - {"row_stack"} - LAZY, "floats": 1e-310 * 1.0,
        "pythonapi": CAPSULES(),
    }
"""

USING = (
    """
import ctypes
LAZY = {"typing", "polynomial", "ma", "fft", "f2py", "ctypeslib", "testing", "matlib", "strings",
        "rec", "char", "core", "exceptions", "linalg", "random", "lib", "dtypes", "emath", "test"}

def CAPSULES():
    functions = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    return [(f.argtypes, f.restype) for f in functions]
"""
    + STATE
    + """
before = state()
import numtape as tf
imported = state()
optimizer = tf.keras.optimizers.Adam(0.1)
class Model:
    def __init__(self):
        self.w = tf.Variable([1.0, 2.0])

    @tf.function(jit_compile=True)
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(self.w * x) / 0.0)
        optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
        return loss + tf.random.normal(())

model = Model()
for _ in range(3):
    model.step(tf.constant([1.0, 2.0])).numpy()
    (tf.random.shuffle(tf.random.uniform((5, 2), seed=1)) @ tf.ones((2, 3))).numpy()
tf.nn.softmax(tf.zeros((2, 3))).numpy(), np.from_dlpack(tf.zeros(3))
try:
    model.step(tf.ones(5))
except tf.errors.InvalidArgumentError:
    pass
after = state()
assert set(vars(model)) == {"w"}
assert not any("warningregistry" in name for name in globals()), globals()["__warningregistry__"]
finders = [x for x in after["imports"][0] if getattr(x, "__module__", "").startswith("numtape")]
assert len(finders) == 1, finders  # it names replacements for modules that no other finder finds
for now in (imported, after):
    now["imports"][0].remove(finders[0])
for name in before:
    for when, now in (("import", imported), ("use", after)):
        if now[name] != before[name]:
            print(when, name, before[name], now[name], sep=" | ")
"""
)


@pytest.mark.cpu_only("CUDA's packages change the process, and NumPy takes no array of a GPU")
@CACHES
def test_import_and_use_leave_the_process_as_it_was(cache, tmp_path):
    assert run(USING, **with_cache(cache, tmp_path)) == ""
