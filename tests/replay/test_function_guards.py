"""`tf.function`: guards on values, and names that are compared at each call."""

import contextlib
import ctypes
import functools
import re
import sys
import threading
import time
import types
import warnings

import numpy as np
import pytest
from checks import same, slope
from function_helpers import bits, gives_up, one_warning, pure, recordings
from random_op_programs import program_of

from numtape.core.log.op import CODES

pytestmark = pytest.mark.usefixtures("isolated")

RATE = 2.0
SETTINGS = types.ModuleType("settings_of_test_function")


# --- Guards on values ----------------------------------------------------------------------------


def test_branches_both_ways(tf):
    @tf.function
    def f(x):
        if x > 0:
            return x * 2.0
        return -x

    for x in (1.0, -1.0, 2.0, -3.0, 0.0, 5.0):
        same(f(tf.constant(x)), 2 * x if x > 0 else -x)


@pytest.mark.numtape_only("TensorFlow records both branches at once")
def test_existing_paths_are_not_recorded_again(tf):
    @tf.function
    def f(x):
        if x > 0:
            return x * 2.0 if x > 10 else x * 3.0
        return -x

    for x in (1.0, -1.0, 20.0) * 4:
        f(tf.constant(x))
    assert recordings(f) == 3


def test_while_loops(tf):
    @tf.function
    def f(x):
        n = tf.constant(0)
        while x < 100.0:
            x = x * 2.0
            n = n + 1
        return n

    for x, n in ((60.0, 1), (1.0, 7), (200.0, 0), (30.0, 2), (1.0, 7), (60.0, 1)):
        assert int(f(tf.constant(x))) == n


LOOKS = {
    "float": lambda tf, x: float(x[0]),
    "int": lambda tf, x: int(x[1]),
    "bool": lambda tf, x: bool(x[0] > 1.5),
    "numpy": lambda tf, x: float(x.numpy().sum()),
    "asarray": lambda tf, x: float(np.asarray(x).max()),
    "iteration": lambda tf, x: sum(float(e) for e in x),
    "index": lambda tf, x: [10, 20, 30, 40, 50][tf.cast(x[0], tf.int32)],
    "range": lambda tf, x: len(range(tf.cast(x[1], tf.int32))),
    "item": lambda tf, x: x.numpy().tolist()[1],
    "text": lambda tf, x: len(str(x[0])) + float(str(x[0].numpy())),
    "format": lambda tf, x: float(f"{float(x[0]):.1f}"),
    "equality": lambda tf, x: 1.0 if x[0] == 2.0 else 2.0,
    "any": lambda tf, x: 1.0 if tf.reduce_any(x > 2.5) else 2.0,
    "in": lambda tf, x: 1.0 if 2.0 in x.numpy() else 2.0,
    "max": lambda tf, x: float(max(x[0], x[1])),
    "numpy function": lambda tf, x: float(np.sum(x) + np.sin(x)[0]),
    "nonzero": lambda tf, x: len(np.nonzero(np.asarray(x) > 1.5)[0]),
}


@pytest.mark.numtape_only("TensorFlow's functions may not look at values")
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("of", ["argument", "result", "variable"])
def test_reads_of_values_are_guarded(tf, look, of):
    v = tf.Variable([1.0, 2.0])

    def program(x):
        seen = {"argument": x, "result": x * 1.0, "variable": v}[of]
        return x * LOOKS[look](tf, seen)

    f = tf.function(program)
    values = ([1.0, 2.0], [2.0, 1.0], [1.0, 3.0], [1.0, 2.0], [3.0, 2.0], [2.0, 1.0])
    for _ in range(2):
        for value in values:
            v.assign(value)
            x = tf.constant(value)
            assert bits(f(x)) == bits(program(x))
    assert recordings(f) <= 4


@pytest.mark.numtape_only("TensorFlow's functions may not look at values")
def test_reads_of_whole_arrays_are_guarded(tf):
    def program(x):
        return tf.boolean_mask(x, x > 0.0) if x.numpy()[7] > 0 else x

    f = tf.function(program)
    rng = np.random.default_rng(0)
    values = [tf.constant(rng.standard_normal(20)) for _ in range(4)]
    for x in values * 2:
        assert bits(f(x)) == bits(program(x))
    assert recordings(f) == 4


@pytest.mark.numtape_only("TensorFlow's functions may not look at values")
def test_guards_compare_bits(tf):
    @tf.function
    def f(x):
        return tf.constant(repr(float(x)) == "-0.0")

    for _ in range(2):
        for x in (0.0, -0.0, float("nan")):
            assert bool(f(tf.constant(x))) == (str(x) == "-0.0")
    assert recordings(f) == 3


@pytest.mark.numtape_only("TensorFlow's functions may not look at values")
def test_branches_are_guarded_by_conditions_and_not_by_numbers(tf):
    f = tf.function(lambda x: x + 1.0 if x else x - 1.0)
    for x in (1.0, 2.0, 0.0, -0.0, 5.0, 7.5):
        same(f(tf.constant(x)), x + 1 if x else x - 1)
    assert recordings(f) == 2


@pytest.mark.numtape_only("TensorFlow's functions may not look at values")
def test_guards_after_an_assign_leave_no_traces(tf):
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        v.assign_add(x)
        if v > 3.0:
            v.assign(0.0)
            return tf.constant(True)
        return tf.constant(False)

    expected = 0.0
    for x in (1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 1.0, 3.0, 0.5, 0.5):
        expected += x
        reset = expected > 3.0
        expected = 0.0 if reset else expected
        assert bool(f(tf.constant(x))) == reset
        same(v, expected)


@pytest.mark.numtape_only("TensorFlow's functions may not look at values")
def test_assertions_inside(tf):
    @tf.function
    def f(x):
        if not bool(tf.reduce_all(x > 0.0)):
            raise ValueError("not positive")
        return tf.sqrt(x)

    for _ in range(2):
        same(f(tf.constant([1.0, 4.0])), [1.0, 2.0])
        with pytest.raises(ValueError, match="not positive"):
            f(tf.constant([1.0, -4.0]))


@pytest.mark.numtape_only("TensorFlow's functions may not look at values")
def test_guards_under_a_tape(tf):
    def program(x):
        return x**2 if x > 0 else x**3

    f = tf.function(program)
    for x in (1.0, -1.0, 2.0, -2.0, 3.0):
        same(slope(tf, f, tf.constant(x)), slope(tf, program, tf.constant(x)))
    assert recordings(f) == 2


# --- Reads of names and attributes ---------------------------------------------------------------


class Settings:
    """An object with a rate."""

    shared = 2.0
    __slots__ = ("rate",)

    def __init__(self, rate=2.0):
        self.rate = rate


class Model:
    """An object with settings, a property and a method."""

    rate_of_class = 2.0

    def __init__(self):
        self.settings = Settings()
        self.rate = 2.0
        self.other = types.SimpleNamespace(rate=2.0)

    @property
    def computed(self):
        return self.rate * 1.0

    def method(self, x):
        return x * self.rate

    def __call__(self, x):
        return x * self.rate


def helper(x):
    return x * RATE


def takes(model, x):
    return x * model.rate


def set_global(value):
    globals()["RATE"] = value


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setitem(globals(), "RATE", 2.0)
    monkeypatch.setattr(SETTINGS, "rate", 2.0, raising=False)
    monkeypatch.setattr(Settings, "shared", 2.0)
    monkeypatch.setattr(Model, "rate_of_class", 2.0)
    return Model()


def names(tf, world):
    """Programs that depend on a number, each with the statement that changes it."""
    free = 2.0

    def set_free(value):
        nonlocal free
        free = value

    def closure(x):
        return x * free

    def inner_closure(x):
        def inner(y):
            return y * free

        return inner(x)

    def inner_argument(x):
        def inner(model, y):
            return y * model.rate

        return inner(world, x)

    def alias(x):
        model = world
        return x * model.other.rate

    def comprehension(x):
        return sum([x * world.rate for _ in range(1)])

    decorated = tf.function(lambda x: x * world.rate)

    def of(name, target=world):
        return lambda value: setattr(target, name, value)

    return {
        "global": (lambda x: x * RATE, set_global),
        "free variable": (closure, set_free),
        "free variable of an inner function": (inner_closure, set_free),
        "argument of an inner function": (inner_argument, of("rate")),
        "attribute": (lambda x: x * world.rate, of("rate")),
        "attribute of an attribute": (lambda x: x * world.other.rate, of("rate", world.other)),
        "attribute through a local name": (alias, of("rate", world.other)),
        "attribute in a comprehension": (comprehension, of("rate")),
        "slot": (lambda x: x * world.settings.rate, of("rate", world.settings)),
        "class attribute": (lambda x: x * world.rate_of_class, of("rate_of_class", Model)),
        "class attribute, by an instance": (lambda x: x * world.rate_of_class, of("rate_of_class")),
        "class attribute, by the class": (
            lambda x: x * Model.rate_of_class,
            of("rate_of_class", Model),
        ),
        "module attribute": (lambda x: x * SETTINGS.rate, of("rate", SETTINGS)),
        "property": (lambda x: x * world.computed, of("rate")),
        "method": (lambda x: world.method(x), of("rate")),
        "bound method": (world.method, of("rate")),
        "callable object": (world, of("rate")),
        "call": (lambda x: world(x), of("rate")),
        "helper's global": (lambda x: helper(x), set_global),
        "helper's argument": (lambda x: takes(world, x), of("rate")),
        "helper's free variable": (lambda x: closure(x), set_free),
        "another function": (lambda x: decorated(x), of("rate")),
        "default argument": (lambda x, model=world: x * model.rate, of("rate")),
        "partial": (functools.partial(takes, world), of("rate")),
    }


NAMES = list(names(types.SimpleNamespace(function=lambda f: f), Model()))


@pure
@pytest.mark.parametrize("name", NAMES)
def test_changed_name_leads_to_a_new_recording(tf, world, name):
    program, change = names(tf, world)[name]
    f = tf.function(program)
    x = tf.constant(1.0)
    for _ in range(3):
        same(f(x), 2.0)
    assert recordings(f) == 1
    change(2.0)  # the same value
    same(f(x), 2.0)
    assert recordings(f) == 1
    change(3.0)
    for _ in range(2):
        same(f(x), 3.0)
    assert recordings(f) == 2
    change(2.0)
    same(f(x), 2.0)
    assert recordings(f) == 2


@pure
@pytest.mark.parametrize("name", ["global", "attribute", "slot", "free variable"])
def test_names_are_compared_by_bits(tf, world, name):
    program, change = names(tf, world)[name]
    f = tf.function(lambda x: 1.0 / program(x))
    for _ in range(2):
        for value in (0.0, -0.0):
            change(value)
            same(f(tf.constant(1.0)), np.copysign(np.inf, value))
        change(float("nan"))
        assert np.isnan(float(f(tf.constant(1.0))))
        change(float("nan"))
        assert np.isnan(float(f(tf.constant(1.0))))
    assert recordings(f) == 3


@pure
def test_int_is_not_float_nor_bool(tf, world):
    f = tf.function(lambda: tf.constant(world.rate))
    for _ in range(2):
        for value, dtype in ((1, "int32"), (1.0, "float32"), (True, "bool")):
            world.rate = value
            same(f(), value, dtype)
    assert recordings(f) == 3


@pure
def test_names_of_strings_none_and_tuples(tf, world):
    f = tf.function(lambda x: x * len(world.rate or ()))
    for value in ("ab", None, (1, 2, 3), "abc", (), "ab"):
        world.rate = value
        same(f(tf.constant(1.0)), float(len(value or ())))


@pure
def test_names_of_tensors_and_variables(tf, world):
    f = tf.function(lambda x: x * world.rate)
    for rate in (tf.constant(2.0), tf.Variable(3.0), tf.constant([4.0, 5.0])):
        world.rate = rate
        for _ in range(2):
            same(f(tf.constant(1.0)), np.asarray(rate))


@pure
def test_name_of_another_function(tf, monkeypatch):
    f = tf.function(lambda x: helper(x))
    same(f(tf.constant(1.0)), RATE)
    monkeypatch.setitem(globals(), "helper", lambda x: x + 100.0)
    same(f(tf.constant(1.0)), 101.0)


@pure
def test_name_of_another_object(tf, world):
    f = tf.function(lambda x: x * world.other.rate)
    same(f(tf.constant(1.0)), 2.0)
    world.other = types.SimpleNamespace(rate=7.0)
    same(f(tf.constant(1.0)), 7.0)
    world.other.rate = 8.0
    same(f(tf.constant(1.0)), 8.0)


@pure
def test_two_functions_of_one_code(tf):
    def make(rate):
        def scaled(x):
            return x * rate

        def change(value):
            nonlocal rate
            rate = value

        return scaled, change

    (first, change_first), (second, change_second) = make(2.0), make(3.0)
    f = tf.function(lambda x: first(x) + 10.0 * second(x))
    same(f(tf.constant(1.0)), 32.0)
    change_first(4.0)
    same(f(tf.constant(1.0)), 34.0)
    change_second(5.0)
    same(f(tf.constant(1.0)), 54.0)


@pure
def test_two_objects_of_one_class(tf):
    a, b = Model(), Model()
    f = tf.function(lambda x: a.method(x) + 10.0 * b.method(x))
    same(f(tf.constant(1.0)), 22.0)
    b.rate = 3.0
    same(f(tf.constant(1.0)), 32.0)
    a.rate = 4.0
    same(f(tf.constant(1.0)), 34.0)


@pure
def test_temporary_objects(tf):
    class View:
        def __init__(self, model):
            self.model = model

        def scaled(self, x):
            return x * self.model.rate

    a, b = Model(), Model()

    @tf.function
    def f(x):
        x = View(a).scaled(x)
        return View(b).scaled(x)

    same(f(tf.constant(1.0)), 4.0)
    b.rate = 5.0
    same(f(tf.constant(1.0)), 10.0)
    a.rate = 7.0
    same(f(tf.constant(1.0)), 35.0)


LOCALS = {
    "assigned twice": """
        model = a
        x = x * model.rate
        model = b
        return x * model.rate""",
    "walrus": "return x * (model := b).rate + 0.0 * model.rate",
    "two targets": """
        model = other = b
        return x * model.rate + 0.0 * other.rate""",
    "conditional": "return x * (b if flag else a).rate",
    "or": "return x * (None or b).rate",
    "loop over names": """
        for model in (a, b):
            x = x * model.rate
        return x""",
    "with": """
        with null(b) as model:
            return x * model.rate""",
    "result of a function": "return x * chosen().rate",
}


@pure
@pytest.mark.parametrize("form", LOCALS)
def test_attributes_of_local_names(tf, form):
    """Attributes of a global object, read through a local name."""
    a, b = Model(), Model()
    scope = {"a": a, "b": b, "null": contextlib.nullcontext, "flag": True, "__name__": __name__}
    text = f"def chosen():\n    return b\ndef program(x):\n        {LOCALS[form].strip()}\n"
    exec(text, scope)
    f = tf.function(scope["program"])
    x = tf.constant(1.0)
    same(f(x), scope["program"](x))
    b.rate = 3.0
    same(f(x), scope["program"](x))


@pure
def test_modules_whose_names_resemble_those_of_the_standard_library(tf):
    settings = types.ModuleType("test")
    settings.rate = 2.0
    f = tf.function(lambda x: x * settings.rate)
    same(f(tf.constant(1.0)), 2.0)
    settings.rate = 3.0
    same(f(tf.constant(1.0)), 3.0)


@pure
def test_functions_of_modules_whose_names_resemble_those_of_the_standard_library(tf):
    settings = types.ModuleType("test")
    exec("rate = 2.0\ndef scaled(x):\n    return x * rate", vars(settings))
    f = tf.function(lambda x: settings.scaled(x))
    same(f(tf.constant(1.0)), 2.0)
    settings.rate = 3.0
    same(f(tf.constant(1.0)), 3.0)


@pure
def test_settings_of_layers_and_optimizers(tf):
    optimizer = tf.keras.optimizers.SGD(1.0, momentum=0.5)
    v = tf.Variable(0.0)
    layer = tf.keras.layers.LayerNormalization(epsilon=1e-3)

    @tf.function
    def step():
        optimizer.apply_gradients([(tf.constant(1.0), v)])
        return layer(tf.constant([[1.0, 3.0]]))

    step()
    first = step()
    optimizer.momentum, layer.epsilon = 0.0, 3.0
    before = float(v)
    second = step()
    same(v, before - 1.0)
    same(first, [[-1.0, 1.0]], rtol=1e-2)
    same(second, [[-0.5, 0.5]], rtol=1e-2)


@pure
def test_state_that_python_counts(tf, world):
    @tf.function
    def f(x):
        world.rate += 1.0
        return x * world.rate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [float(f(tf.constant(1.0))) for _ in range(80)]
    assert found == [3.0 + k for k in range(80)]


@pure
def test_watches_do_not_disturb_a_profiler(tf):
    import cProfile

    seen = []

    def hook(frame, event, arg):
        seen.append(event)

    sys.setprofile(hook)
    try:
        tf.function(lambda x: x + 1.0)(tf.constant(1.0))
        assert sys.getprofile() is hook
    finally:
        sys.setprofile(None)
    assert seen
    profile = cProfile.Profile()
    profile.enable()
    try:
        tf.function(lambda x: x + 1.0)(tf.constant(1.0))
    finally:
        profile.disable()
    assert profile.getstats()


@pure
def test_a_profiler_in_a_thread_does_not_stop_recording(tf):
    """Dask's workers sample frames, and hold them, with their tensors, after the call has ended."""
    held, end = [], threading.Event()

    def sample(thread):
        while not end.is_set():
            frame = sys._current_frames()[thread]
            while frame is not None and frame.f_code.co_name != "sampled":
                frame = frame.f_back
            if frame is not None:
                held.append(True)
                time.sleep(0.03)
            del frame
            time.sleep(1e-4)

    profiler = threading.Thread(target=sample, args=[threading.get_ident()])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    profiler.start()
    try:
        for _ in range(30):

            @tf.function
            def sampled(x):
                y = x
                for _ in range(100):
                    y = y + 1.0
                return tf.reduce_sum(y)

            assert sampled(tf.ones(3)) == 303.0
            assert sampled.experimental_get_tracing_count() == 1
            assert "recorded path" in str(sampled.paths())
    finally:
        end.set()
        profiler.join()
        sys.setswitchinterval(interval)
    assert held


@pytest.mark.numtape_only("TensorFlow does not look at names")
def test_a_call_that_could_not_be_observed_is_not_kept(tf):
    class Holder:
        rate = 1.0

    holder = Holder()
    holder.cut = True

    @tf.function
    def f(x):
        if holder.cut:
            sys.settrace(None)  # as a debugger does when it stops
        return x * holder.rate

    before = sys.gettrace()
    try:
        same(f(tf.constant(2.0)), 2.0)
    finally:
        sys.settrace(before)
    assert recordings(f) == 0
    holder.cut = False
    same(f(tf.constant(2.0)), 2.0)
    holder.rate = 3.0
    same(f(tf.constant(2.0)), 6.0)
    assert recordings(f) == 2


@pure
@pytest.mark.parametrize("where", ["local", "module"])
def test_attributes_of_the_same_name_of_several_objects(tf, where):
    a, b = types.ModuleType("one"), types.ModuleType("two")
    for module, rate in ((a, 2.0), (b, 3.0)):
        exec("def scaled(x):\n    return x * rate", vars(module))
        module.rate = rate

    @tf.function
    def f(x):
        if where == "module":
            return a.scaled(x) if x > 0 else b.scaled(x)
        chosen = a if x > 0 else b
        return x * chosen.rate

    one = tf.constant(1.0)
    same(f(one), 2.0)
    same(f(-one), -3.0)
    b.rate = 10.0
    same(f(-one), -10.0)
    a.rate = 5.0
    same(f(one), 5.0)


@pytest.mark.records
def test_names_that_are_set_and_not_read(tf):
    """Such names are set only while recording, as in TensorFlow."""
    state, best, log = types.SimpleNamespace(mode=1.0), None, []
    scope = {"level": 1.0}
    exec("def set_level(x):\n    global level\n    level = 2.0\n    return x * 1.0", scope)

    def set_mode(x):
        state.mode = 2.0
        return x * 2.0

    def set_best(x):
        nonlocal best
        best = 7.0
        log.append("called")
        return x * 3.0

    one = tf.constant(1.0)
    functions = [tf.function(g) for g in (set_mode, set_best, scope["set_level"])]
    for k, f in enumerate(functions):
        for _ in range(3):
            same(f(one), [2.0, 3.0, 1.0][k])
    assert (state.mode, best, scope["level"], log) == (2.0, 7.0, 2.0, ["called"])
    state.mode = best = scope["level"] = None
    for f in functions:
        f(one)
        assert recordings(f) == 1
    assert (state.mode, best, scope["level"], log) == (None, None, None, ["called"])


@pytest.mark.records
@pure
def test_effects_of_recording_are_listed(tf, capsys):
    state, log = types.SimpleNamespace(), []

    @tf.function
    def f(x):
        print("traced", x.shape)
        log.append(len(x.shape))
        state.mode = "done"
        return x

    f(tf.constant(1.0))
    shown = repr(f.paths())
    for what in ("prints", "changes log by append", "sets state.mode"):
        assert re.search(rf"test_function_guards.py:\d+: {what}", shown), shown


@pure
def test_what_a_function_deletes(tf):
    state = types.SimpleNamespace(extra=5.0)

    @tf.function
    def drop(x):
        try:
            del state.extra
        except AttributeError:
            return x
        return x + 1.0

    with one_warning("it deletes a part of state"):
        same(drop(tf.constant(1.0)), 2.0)
    same(drop(tf.constant(1.0)), 1.0)
    state.extra = 1.0
    same(drop(tf.constant(1.0)), 2.0)


@pure
def test_attributes_of_objects_that_the_call_makes(tf):
    @tf.function
    def f(x):
        part = types.SimpleNamespace()
        part.rate = 2.0
        part.rate = part.rate + 1.0
        return x * part.rate

    for _ in range(3):
        same(f(tf.constant(1.0)), 3.0)
    assert recordings(f) == 1


@pure
def test_state_that_is_set_and_restored(tf):
    """The same lines read attributes of several objects; the state is restored at the end."""
    models = [types.SimpleNamespace(rate=2.0), types.SimpleNamespace(rate=3.0)]
    state = types.SimpleNamespace(current=models[0])

    def use(x):
        return x * state.current.rate

    @tf.function
    def f(x):
        before = state.current
        x = use(x)
        state.current = models[1]
        x = use(x)
        state.current = before
        return x

    for _ in range(2):
        same(f(tf.constant(1.0)), 6.0)
    models[1].rate = 10.0
    same(f(tf.constant(1.0)), 20.0)


@pure
def test_attributes_of_objects_of_c(tf):
    number = ctypes.c_double(2.0)
    f = tf.function(lambda x: x * number.value)
    same(f(tf.constant(1.0)), 2.0)
    number.value = 10.0
    same(f(tf.constant(1.0)), 10.0)


@pure
def test_attributes_of_the_class(tf):
    class Rated:
        rate = 2.0

        @tf.function
        def f(self, x):
            return x * type(self).rate

    rated = Rated()
    same(rated.f(tf.constant(1.0)), 2.0)
    Rated.rate = 3.0
    same(rated.f(tf.constant(1.0)), 3.0)


@pure
def test_methods_that_are_overridden_later(tf):
    class Base:
        def scaled(self, x):
            return x * 2.0

    class Derived(Base):
        pass

    derived = Derived()
    f = tf.function(lambda x: derived.scaled(x))
    same(f(tf.constant(1.0)), 2.0)
    Derived.scaled = lambda self, x: x * 3.0
    same(f(tf.constant(1.0)), 3.0)


@pure
def test_relative_imports(tf, monkeypatch):
    package, settings = types.ModuleType("rated"), types.ModuleType("rated.settings")
    package.__path__, package.settings, settings.RATE = [], settings, 2.0
    monkeypatch.setitem(sys.modules, "rated", package)
    monkeypatch.setitem(sys.modules, "rated.settings", settings)
    scope = {"__package__": "rated", "__name__": "rated.program"}
    exec("def program(x):\n    from .settings import RATE\n    return x * RATE", scope)
    f = tf.function(scope["program"])
    same(f(tf.constant(1.0)), 2.0)
    settings.RATE = 3.0
    same(f(tf.constant(1.0)), 3.0)


@pytest.mark.tf_differs("TensorFlow keeps the variables that it found")
def test_variables_that_a_module_gets_later(tf):
    class Part(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(2.0)

    part = Part()
    f = tf.function(lambda x: sum([v * x for v in part.trainable_variables]))
    for _ in range(2):
        same(f(tf.constant(1.0)), 2.0)
    assert recordings(f) == 1
    part.w = tf.Variable(10.0)
    same(f(tf.constant(1.0)), 10.0)
    part.extra = tf.Variable(5.0)
    same(f(tf.constant(1.0)), 15.0)


@gives_up
def test_too_many_values_of_a_name(tf, world):
    f = tf.function(lambda x: x * world.rate)
    with one_warning():
        for k in range(100):
            world.rate = float(k)
            same(f(tf.constant(2.0)), 2.0 * k)


@pytest.mark.records
def test_nested_containers_that_a_call_creates_need_no_guards(tf):
    v, w = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def f(x):
        made = tf.nest.map_structure(lambda one: one * x, {"a": [v, w], "b": {"c": [w]}})
        found = tf.add_n(made["a"])
        for one in made["b"]["c"]:
            found = found + one
        again = tf.nest.map_structure(lambda one: one * x, made)
        return found + again["a"][0] + len(again["b"]["c"])

    for x in (0.0, 1.0, 2.0):
        same(f(tf.constant(x)), 5 * x + x**2 + 1)
    assert f.experimental_get_tracing_count() == 1
    if tf.__name__ == "numtape":
        assert "2 hits" in str(f.paths())


INDEX_SOURCES = (
    "argument",
    "variable",
    "array",
    "attribute",
    "computed",
    "closure of an inner function",
    "argument of an inner function",
)


@pytest.mark.parametrize("source", INDEX_SOURCES)
def test_indices_that_change_are_checked_in_each_call(tf, source):
    v, array, box = tf.Variable([1, 2]), np.array([1, 2]), types.SimpleNamespace(i=None)
    inner = tf.function(lambda q, i: tf.gather(q, i))

    def gather_elements(p, i):
        if source == "argument":
            return tf.gather(p, i)
        if source == "variable":
            return tf.gather(p, v)
        if source == "array":
            return tf.gather(p, array)
        if source == "attribute":
            return tf.gather(p, box.i)
        if source == "computed":
            return tf.gather(p, tf.constant([1, 0]) + i)
        if source == "closure of an inner function":
            j = i + 0
            return tf.function(lambda q: tf.gather(q, j))(p)
        return inner(p, i)

    function = tf.function(gather_elements)
    p = tf.constant(np.arange(10.0))

    def call(numbers):
        v.assign(numbers)
        array[:] = numbers
        box.i = tf.constant(numbers)
        return function(p, tf.constant(numbers)).numpy().tolist()

    shift = [1, 0] if source == "computed" else [0, 0]
    for numbers in ([1, 2], [3, 4], [5, 6], [0, 9], [8, 8]):
        assert call(numbers) == [a + b for a, b in zip(numbers, shift, strict=True)]
    for numbers in ([1, 10], [-3, 1]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            call(numbers)
    assert call([2, 3]) == [2 + shift[0], 3]


@pytest.mark.numtape_only(reason="numtape's rows")
def test_constant_indices_are_checked_once(tf):
    index = tf.constant([[2, 5], [7, 1]])
    function = tf.function(lambda p: tf.gather(p, index) + tf.gather(p, [[0, 1], [2, 3]]))
    for size in (10, 10, 10):
        assert function(tf.range(float(size))).numpy().tolist() == [[2.0, 6.0], [9.0, 4.0]]
    rows = program_of(function).log
    names = [CODES.entries[rows.code[k]][0].name for k in range(rows.n)]
    assert "All" not in names
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(tf.range(7.0))
