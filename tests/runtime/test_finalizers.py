"""numtape's objects have no Python finalizers, in which an interrupt would be lost."""

import ast
import gc
import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from processes import PACKAGE

from numtape.core.cpu.buffers import POOL
from numtape.core.cuda.runtime import resources
from numtape.core.derive import tape as tapes
from numtape.core.log.log import Log
from numtape.core.log.thread_state import ThreadState
from numtape.core.values import memory
from numtape.core.values.memory import LARGE_BYTES
from numtape.core.values.spec import intern
from numtape.core.values.weakrefs import FinalizationQueue, WeakObjectMap
from numtape.deferred_restore import notify_changed, wait

pytestmark = pytest.mark.numtape_only("how objects end is numtape's own affair")


class Thing:
    pass


def functions_called(act):
    """The Python functions that are called."""
    found = []

    def profile(frame, event, _):
        if event == "call":
            found.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(before)
    return found


def large(tf):
    return [POOL.empty(intern((LARGE_BYTES,), tf.float64)) for _ in range(3)]


def tensors(tf):
    x = tf.ones((LARGE_BYTES,)) * 2.0
    return [x, x.numpy(), tf.Variable(x)]


def layers(tf):
    class Layer(tf.keras.layers.Layer):
        def call(self, x):
            self.add_loss(tf.reduce_sum(x))
            return x

    layer = Layer()
    layer(tf.ones(3))
    return [layer]


def waiting(tf):
    thing = Thing()
    wait(thing, lambda _: True)
    notify_changed(thing)
    return [thing]


@pytest.mark.parametrize("make", [large, tensors, layers, waiting])
def test_nothing_of_python_runs_when_objects_end(tf, make):
    objects = make(tf)
    gc.collect()
    gc.disable()  # other garbage may have finalizers
    try:
        assert functions_called(objects.clear) == []
    finally:
        gc.enable()


def test_memory_of_arrays_that_ended_is_used_again(tf):
    spec = intern((LARGE_BYTES + 24,), tf.float64)
    x = POOL.empty(spec)
    part, at = x[5:], x.ctypes.data
    del x
    other = POOL.empty(spec)
    assert other.ctypes.data != at  # a view still exists
    del part
    assert POOL.empty(spec).ctypes.data == at


def test_what_objects_leave_comes_in_the_order_in_which_they_go():
    gone, things = FinalizationQueue(), [Thing() for _ in range(3)]
    for k, thing in enumerate(things):
        gone.add(thing, k)
    assert not gone
    del thing
    for k in (1, 0):
        things[k] = None
    assert [gone.take(), gone.take()] == [1, 0]
    with pytest.raises(IndexError):
        gone.take()
    assert len(gone._references) == 1


def test_things_by_objects_go_with_them():
    table, one, two = WeakObjectMap(), Thing(), Thing()
    for thing, value in ((one, 1), (two, 2), (one, 3)):
        table.put(thing, value)
    assert dict(table) == {one: 3, two: 2}
    assert one in table
    del one, thing
    assert (len(table), table.get(two)) == (1, 2)
    table.drop(two)
    assert two not in table


class Device:
    """Records the requests to a GPU."""

    stream = 7

    def __init__(self):
        self.asked, self._driver = [], SimpleNamespace(CUevent_flags=SimpleNamespace())
        self._driver.CUevent_flags.CU_EVENT_DEFAULT = 0
        self.enter_context = lambda: np.errstate()  # any context manager

    def __getattr__(self, name):
        return lambda *args: self.asked.append((name, *args))

    def keep(self, thing):
        self.asked.append(("keep",))


def test_the_gpu_is_asked_later():
    device = Device()
    resources.let_go()
    things = [
        resources.DeviceMemory(device, 64, 8),
        resources.DeviceMemory(device, 128, 8),
        resources.CudaGraph(device, 3, 1),
        resources.Borrowed(device, np.ones(2)),
        resources.Code(device, 9, "kernel"),
        resources.CudaTimer(device),
    ]
    things[1].is_lent = True
    assert (things[0].is_lent, things[1].is_lent) == (False, True)
    device.asked.clear()
    gc.disable()
    try:
        assert functions_called(things.clear) == []
    finally:
        gc.enable()
    assert device.asked == []
    resources.let_go()
    assert device.asked == [  # lists are freed from the end
        ("_do", "cuEventDestroy", None),
        ("_do", "cuEventDestroy", None),
        ("keep",),
        ("keep",),
        ("forget", 3),
        ("order", 1, 7),
        ("release", 128),
        ("release", 64),
        ("_do", "cuModuleUnload", 9),
    ]


# Finalizers of programs may record and evaluate at any allocation.


def finalizer(tf):
    """A finalizer's actions, called wherever Python could call one."""
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0


def test_a_finalizer_while_a_tape_starts(tf, monkeypatch):
    """Its evaluation iterates over the log's tapes; later ones must still see the new tape."""
    inside = []

    def ref(thing):
        if not inside:
            inside.append(thing)
            finalizer(tf)
            inside.clear()
        return weakref.ref(thing)

    v = tf.Variable(2.0)
    (v * v).numpy()
    with tf.GradientTape():
        v * 2.0  # the log has to rebuild its list of tapes
    monkeypatch.setattr(tapes, "weakref", SimpleNamespace(ref=ref))
    with tf.GradientTape() as tape:
        y = v * v
        finalizer(tf)
        y = y * v
    assert float(tape.gradient(y, v)) == 12.0


def test_a_finalizer_while_a_thread_gets_its_log(tf, monkeypatch):
    entered, found = [], []

    def new():
        if not entered:
            entered.append(True)
            finalizer(tf)
        return Log()

    def work():
        v = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            y = v * v
        found.append(float(tape.gradient(y, v)))

    monkeypatch.setattr(ThreadState, "make_log", staticmethod(new))
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert found == [4.0]


PYTHONS = "WeakSet", "WeakKeyDictionary", "WeakValueDictionary", "WeakMethod"


def test_no_source_has_finalizers_or_callbacks_in_python():
    """Neither numtape's own, nor those of the standard library's weak containers."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", getattr(node, "name", None)))
            wrong = name in PYTHONS or (isinstance(node, ast.FunctionDef) and name == "__del__")
            wrong |= isinstance(node, ast.Attribute) and ast.unparse(node) == "weakref.finalize"
            if isinstance(node, ast.Call) and len(node.args) == 2:
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called in ("ref", "_Reference"):
                    wrong |= not ast.unparse(node.args[1]).startswith(
                        (
                            "partial(",
                            "functools.partial(",
                            "self.dead_references.append",
                            "self._dead.append",
                        )
                    )
            if wrong:
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_recording_sets_no_context_variable(tf, monkeypatch):
    """Python crashes if a finalizer sets the same variable meanwhile, as `np.errstate` does."""

    def entered(**_):
        raise AssertionError("np.errstate was entered")

    monkeypatch.setattr(np, "errstate", entered)
    x, y = tf.constant([1.0, 2.0]), tf.constant(np.ones(2) * 0.1, tf.float32)
    v = tf.Variable([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        z = tf.reduce_sum(tf.sin(x * 1.5 + np.ones(2, np.float32)) * [0.5, 2.0]) + v[0, 1]
    v.assign([[3.0, 4.0]])
    assert tape.gradient(z, v).numpy().tolist() == [[0.0, 1.0]]
    assert tf.concat([x, y], 0).numpy() == pytest.approx([1.0, 2.0, 0.1, 0.1])


def test_what_is_beyond_float32_is_found_as_by_converting_it():
    edge = 2.0**128 - 2.0**103
    x = np.array([edge, np.nextafter(edge, 0), -edge, 1e39, 3.4e38, np.inf, -np.inf, np.nan, 0.0])
    with np.errstate(over="ignore"):
        found = x.astype(np.float32)
    np.testing.assert_array_equal(memory.exceeds_float32(x), np.isinf(found) & ~np.isinf(x))
    np.testing.assert_array_equal(memory.convert_array(x, np.dtype("float32")), found)
