"""Replays in machine code, compared with plain Python."""

import gc
import sys
import threading
from collections import namedtuple

import numpy as np
import pytest
from numtape.kernels.passes import call_words
from processes import run

import numtape as tf
from numtape.core import settings
from numtape.core.cpu import sweeper as cpu
from numtape.core.cpython import layout
from numtape.core.log import variable as variables
from numtape.core.ops.random import STATE
from numtape.core.replay import repeated_calls

pytestmark = [
    pytest.mark.numtape_only("how calls are carried out"),
    pytest.mark.skipif(
        bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "usable"
    ),
    pytest.mark.skipif(settings.record() == "python", reason="NUMTAPE_RECORD=python"),
    pytest.mark.usefixtures("isolated"),
]
Pair = namedtuple("Pair", "first second")
scale, table = 2.0, {"rate": 3.0, "list": [1.0, 2.0]}
v, whole = tf.Variable(1.5), tf.Variable([1.0, 2.0])


# Here the second call is replayed by Python, and the third by machine code where possible.


def paths(function):
    return [
        path for calls in function._known.values() for tree in calls.trees for path in tree.paths
    ]


def carried_out(function):
    """The number of calls that ran as machine code."""
    return sum(int(path.counts[0]) for path in paths(function))


def plain(result):
    def bits(x):
        x = tf.constant(x) if type(x) is int else x  # a recorded call returns it as one
        return (x.dtype.name, x.shape, x.numpy().tobytes()) if isinstance(x, tf.Tensor) else x

    return tf.nest.map_structure(bits, result)


class Holder:
    rate = 2.0


holder = Holder()


def chain(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(20):
            y = tf.sin(y) * x
    return tape.gradient(y, x)


X, Y, N = tf.constant(0.5), tf.constant(-0.25), tf.constant(7)
PROGRAMS = {
    "nothing": (lambda: None, ()),
    "a constant": (lambda x: "text", (X,)),
    "an argument": (lambda x: x, (X,)),
    "one": (lambda x: x * 2.0, (X,)),
    "a chain with its gradient": (chain, (X,)),
    "list": (lambda x, y: [x + y, 1, x * y], (X, Y)),
    "an empty list": (lambda: [], ()),
    "tuple": (lambda x, y: (x + y, None), (X, Y)),
    "dict": (lambda x, y: {"b": x - y, "a": [y, "c"]}, (X, Y)),
    "a named tuple": (lambda x, y: Pair(x, y * y), (X, Y)),
    "a guard": (lambda x: x * 2.0 if x > 0 else x, (X,)),
    "a global name": (lambda x: x * scale, (X,)),
    "items and attributes": (lambda x: x * table["rate"] * holder.rate, (X,)),
    "a variable": (lambda x: x * v, (X,)),
    "elements of a variable": (lambda x: x * tf.reduce_sum(whole), (X,)),
    "an array": (lambda x: tf.reduce_sum(x), (tf.constant([1.0, 2.0, 4.0]),)),
    "whole numbers": (lambda i: (i * 3, i > 2, tf.cast(i, "float64") / 3), (N,)),
    "bools and small numbers": (
        lambda x, y, z: [x > 0, y * y, z, tf.logical_not(x > 0)],
        (X, tf.constant(-7, "int8"), tf.constant(1.5, "float16")),
    ),
    "arrays": (lambda x, y: [x * tf.ones((2, 3)), y, tf.zeros((0, 2)) * x], (X, Y)),
    "a variable's array": (lambda x: whole * x, (X,)),
    "one array twice": (lambda x: (whole * x, whole * x), (X,)),
    "arrays of arrays": (
        lambda x, y: (x @ y, tf.reduce_sum(x, 0)),
        (tf.ones((2, 3)), tf.fill((3, 2), 2.0)),
    ),
    "zero and its sign": (lambda x: x * 0.0, (Y,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_function(name):
    function, arguments = PROGRAMS[name]
    expected = plain(function(*arguments))
    recorded = tf.function(function)
    for _ in range(40):
        assert plain(recorded(*arguments)) == expected
    assert carried_out(recorded) == 38
    assert sum(path.hits for path in recorded.paths()) == 39


def test_results_are_ordinary_tensors():
    double = tf.function(lambda x: 2.0 * x)
    for _ in range(5):
        y = double(X)
    assert carried_out(double) == 3
    assert float(double(double(y))) == 4.0 and float(y + 1.0) == 2.0
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = double(y) * y
    assert float(tape.gradient(z, y)) == 4.0
    assert not np.shares_memory(y.numpy(), y.numpy()) and y.dtype == tf.float32


NUMBERS = {
    "float32": [0.1, -0.0, np.nan, -np.inf, 1e-45],
    "float64": [0.1, np.nan],
    "float16": [0.1, 0.0],
    "int8": [-7, 0],
    "uint8": [255],
    "int16": [-300],
    "uint16": [65535],
    "int32": [-(2**31)],
    "uint32": [2**32 - 1],
    "int64": [-(2**63)],
    "uint64": [2**64 - 1, 0],
    "bool": [True, False],
    "complex64": [1 - 2j, 0j],
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_scalar_results_convert_as_in_numpy(dtype):
    same = tf.function(lambda x: tf.identity(x))
    for value in np.array(NUMBERS[dtype], dtype):
        kinds = [complex] if dtype == "complex64" else [complex, float]
        kinds += [int] if np.isrealobj(value) and np.isfinite(value) else []
        for _ in range(3):
            for kind in kinds:
                expected = kind(value)
                found = kind(same(tf.constant(value)))
                assert type(found) is kind and repr(found) == repr(expected)
            for shape in ((), (1,), (1, 1)):
                assert bool(same(tf.constant(value, shape=shape))) is bool(value)
        assert same(tf.constant(value)).numpy().tobytes() == value.tobytes()
    with pytest.raises(TypeError, match="0-dimensional"):
        float(same(tf.ones(1)))


def test_other_arguments_are_seen():
    add = tf.function(lambda x, y: x + 2 * y)
    for k in range(30):
        x, y = tf.constant(float(k)), tf.constant(k + 0.5)
        assert float(add(x, y)) == k + 2 * (k + 0.5)
        if k % 3 == 0:
            assert float(add(x, x)) == 3.0 * k  # the same tensor twice has another signature
            assert add(tf.constant([x, y]), y).shape == (2,)
            assert float(add(x, y=y)) == k + 2 * (k + 0.5)
            assert add(tf.constant(k), tf.constant(1)).dtype == tf.int32
            assert float(add(x, 4.0)) == k + 8.0
    assert carried_out(add) >= 15
    with pytest.raises(TypeError, match="missing"):
        add(x)


def changes(monkeypatch):
    """Changes of each thing that a call reads, each with the expected result and then undone."""
    yield 3.0, lambda: None
    yield 12.0, lambda: monkeypatch.setitem(globals(), "scale", 8.0)
    yield 9.0, lambda: monkeypatch.setitem(table, "rate", 9.0)
    yield 4.5, lambda: monkeypatch.setattr(Holder, "rate", 3.0)
    yield 6.0, lambda: monkeypatch.setattr(holder, "rate", 4.0, raising=False)
    yield 6.0, lambda: v.assign(3.0)
    yield 15.0, lambda: v.assign(v * 5.0)  # not computed yet


def test_changes_are_seen(monkeypatch):
    function = tf.function(lambda x: x * scale * table["rate"] * holder.rate * v / 3)
    for expected, change in changes(monkeypatch):
        for _ in range(3):
            monkeypatch.undo()
            v.assign(1.5)
            for _ in range(5):
                assert float(function(X)) == 3.0
            change()
            for _ in range(3):
                assert float(function(X)) == expected
    v.assign(1.5)
    assert carried_out(function) > 20


def test_defaults_that_change_are_seen():
    def python(x, k=2.0, training=False):
        return x * k

    function = tf.function(python)
    for _ in range(3):
        python.__defaults__ = (2.0, False)
        for _ in range(6):
            assert float(function(X)) == 1.0
        python.__defaults__ = (4.0, False)
        for _ in range(3):
            assert float(function(X)) == 2.0
    assert carried_out(function) > 5 and float(function(X, 6.0)) == 3.0


def test_guards_choose_the_path():
    function = tf.function(lambda x: x * 2.0 if x > 0 else -x)
    for k in range(100):
        x = (-1) ** (k // 7) * (k + 1.0)
        assert float(function(tf.constant(x))) == (2 * x if x > 0 else -x)
    assert len(paths(function)) == 2 and all(path.counts[0] > 10 for path in paths(function))


def test_modes_of_the_thread_are_checked():
    seen = []
    function = tf.function(lambda x: x * v)

    def python(x):
        seen.append(float(x))
        return x * v

    plainly = tf.function(python)
    for _ in range(4):
        assert float(function(X)) == 0.75
        plainly(X)
    count = len(seen)
    tf.config.run_functions_eagerly(True)
    try:
        plainly(X)
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(seen) == count + 1
    with tf.GradientTape() as tape:
        y = function(X)
    assert float(tape.gradient(y, v)) == 0.5
    with tf.config.override("reference"):
        before = carried_out(function)
        assert float(function(X)) == 0.75
        assert carried_out(function) == before
    outer = tf.function(lambda x: function(x) + 1.0)
    for _ in range(4):
        assert float(outer(X)) == 1.75
    assert carried_out(outer) == 2
    rule = tf.custom_gradient(lambda x: (x, lambda g: g * function(x)))
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = rule(X)
        assert float(tape.gradient(y, X)) == 0.75


def test_layers_see_the_training_flag():
    scaled = tf.keras.layers.Lambda(lambda x, training=None: x * 4.0 if training else x)
    inner = tf.function(lambda x: scaled(x))

    class Told(tf.keras.layers.Layer):
        def call(self, x, training=None):
            return inner(x)

    layer = Told()
    for training in (True, False, None) * 4:
        assert float(layer(X, training=training)) == (2.0 if training else 0.5)


def test_methods_are_bound_to_their_objects():
    class Model:
        def __init__(self, k):
            self.w = tf.Variable(float(k))

        @tf.function
        def __call__(self, x):
            return x * self.w

    models = [Model(k) for k in range(3)]
    for _ in range(6):
        assert [float(model(X)) for model in models] == [0.0, 0.5, 1.0]
        models[0].w.assign(0.0)


def test_unsupported_arguments_are_left_to_python():
    noise = tf.function(lambda x: x + tf.random.truncated_normal(()))  # NumPy draws it
    much_noise = tf.function(lambda x: x * tf.random.normal((1 << 16,)))
    chosen = tf.function(lambda x: x if tf.random.uniform(()) < 2.0 else -x)
    passed = tf.function(lambda x, y: [x, x * y])
    large = tf.function(lambda x: x * tf.ones(1 << 14))
    data = np.ones(3, "f")
    fed = tf.function(lambda x: x * tf.reduce_sum(data))
    for k in range(6):
        noise(X), much_noise(X), chosen(X)
        assert passed(whole + 0.0, X)[0].numpy().tolist() == [1.0, 2.0]
        assert (large(X).numpy() == 0.5).all()
        data[0] = k
        assert float(fed(X)) == 0.5 * (k + 2)
    functions = noise, much_noise, chosen, passed, large, fed
    assert [carried_out(f) for f in functions] == [0] * 6


def several_draws(x):
    r = tf.random
    return r.normal((3,)), r.uniform((), 2.0, seed=5) * x, r.shuffle(whole), r.normal(())


DRAWS = {
    "floats": lambda x: tf.random.normal((2, 3)),
    "wide floats": lambda x: tf.random.uniform((3,), dtype="float64") * tf.cast(x, "float64"),
    "a float": lambda x: tf.random.uniform(()),
    "no floats": lambda x: tf.random.normal((0, 2)),
    "many floats": lambda x: tf.random.normal((5000,)),
    "integers": lambda x: tf.random.uniform((4,), -3, 10, "int32"),
    "an integer": lambda x: tf.random.uniform((), 0, 2**40, "int64"),
    "shuffle": lambda x: tf.random.shuffle(tf.range(10)),
    "gamma": lambda x: tf.random.gamma((2,), [0.5, 3.0]),
    "poisson": lambda x: tf.random.poisson((2,), [0.5, 30.0]),
    "categorical": lambda x: tf.random.categorical([[0.5, 1.0, 2.0]], 4),
    "several": several_draws,
    "unused": lambda x: (tf.random.normal((3,)), x)[1],
    "dropout": lambda x: tf.nn.dropout(whole * x, 0.5),
    "with an assignment": lambda x: (v.assign(tf.random.normal(())), v + 0.0)[1],
}


@pytest.mark.parametrize("seed", [0, 7, 2**50 + 1])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_python(name, seed):
    function, recorded = DRAWS[name], tf.function(DRAWS[name])
    for start in (0, 2**32 - 8):  # the number of the draw then has another word
        tf.random.set_seed(seed)
        STATE.draws = start
        expected = [plain(function(X)) for _ in range(12)]
        count = STATE.draws
        assert count > start
        tf.random.set_seed(seed)
        STATE.draws = start
        assert [plain(recorded(X)) for _ in range(12)] == expected
        assert STATE.draws == count
    assert carried_out(recorded) >= 12
    v.assign(1.5)


def test_draws_with_some_seeds_are_those_of_python(monkeypatch):
    monkeypatch.setattr(STATE, "seed", None)
    monkeypatch.setattr(STATE, "draws", 0)

    def function():
        return tf.random.normal((2,), seed=3), tf.random.normal((2,)), tf.random.uniform((), seed=1)

    recorded = tf.function(function)
    expected = [plain(function()) for _ in range(10)]
    assert STATE.draws == 20
    STATE.draws = 0
    found = [plain(recorded()) for _ in range(10)]
    assert STATE.draws == 20 and carried_out(recorded) == 8
    assert [x[::2] for x in found] == [x[::2] for x in expected]
    assert len({x[1] for x in [*expected, *found]}) == 20
    tf.random.set_seed(3)  # then all draws are counted
    expected = plain(function())
    tf.random.set_seed(3)
    assert plain(recorded()) == expected and STATE.draws == 3


def test_generators_advance_as_in_python():
    one, two = tf.random.Generator.from_seed(5), tf.random.Generator.from_seed(5)

    def draw(generator):
        r = generator
        return r.normal((3,)), r.uniform((), 0, 9, "int32"), r.truncated_normal((2, 2))

    recorded = tf.function(lambda: draw(one))
    for _ in range(20):
        assert plain(recorded()) == plain(draw(two))
        np.testing.assert_array_equal(one.state.numpy(), two.state.numpy())
    assert carried_out(recorded) == 18


def network():
    rng = np.random.default_rng(1)
    weights = [tf.Variable(rng.normal(size=s).astype("f")) for s in ((3, 5), (5,), (5, 1))]
    count = tf.Variable(0)

    def step(x, target):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ weights[0] + weights[1]) @ weights[2] - target) ** 2)
        for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(0.1 * g)
        count.assign_add(1)
        return {"loss": loss, "first": weights[0] * 2.0}

    return step, [*weights, count]


def test_steps_assign_what_python_assigns():
    rng = np.random.default_rng(2)
    (step, own), (other, expected) = network(), network()
    recorded = tf.function(step)
    for k in range(40):
        x, target = (tf.constant(rng.normal(size=(4, n)).astype("f")) for n in (3, 1))
        for a, b in zip(own, expected, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5)
            if k == 20 and a.shape:
                a.assign(b)  # from outside, not computed yet
        one, two = recorded(x, target), other(x, target)
        assert one.keys() == two.keys()
        for name in one:
            np.testing.assert_allclose(one[name].numpy(), two[name].numpy(), rtol=2e-5)
    assert own[-1].numpy() == 40 and carried_out(recorded) >= 36
    kept = recorded(x, target)["first"]
    before = kept.numpy()
    for _ in range(5):
        recorded(x, target)
    assert (kept.numpy() == before).all()


@pytest.mark.parametrize("name", ["SGD", "Adam", "Ftrl"])
def test_steps_of_optimizers_need_no_python(name):
    optimizer = getattr(tf.keras.optimizers, name)(0.1)
    weights = [tf.Variable(tf.ones((3, 2))), tf.Variable([1.0, 2.0])]

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights[0] + weights[1]) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    for _ in range(20):
        step(tf.ones((4, 3)))
    assert carried_out(step) >= 12


@pytest.mark.parametrize("of_arrays", [True, False])
def test_steps_of_fit_need_no_python(of_arrays):
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    x, y = np.ones((160, 3), "f"), np.ones((160, 2), "f")
    data = (x, y) if of_arrays else (tf.data.Dataset.from_tensor_slices((x, y)).batch(4),)
    model.fit(*data, batch_size=4 if of_arrays else None, verbose=0)
    assert carried_out(model._nt_functions["train"]) >= 30


def test_steps_that_compute_accuracy_need_no_python():
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(4, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(np.ones((160, 3), "f"), np.arange(160) % 4, batch_size=4, verbose=0)
    assert carried_out(model._nt_functions["train"]) >= 30


def test_many_variables_are_assigned(monkeypatch):
    weights = [tf.Variable(tf.fill((k % 3 + 1,), float(k))) for k in range(100)]
    step = tf.function(lambda x: [w.assign_add(x + w) for w in weights][-1])
    for _ in range(6):
        last = step(X)
    for k, w in enumerate(weights):
        assert w.numpy().tolist() == [k * 64.0 + 31.5] * (k % 3 + 1)
    assert carried_out(step) == 4 and last.numpy()[0] == weights[-1].numpy()[0]
    monkeypatch.setattr(repeated_calls, "MAX_VALUES", 99)
    few = tf.function(lambda x: [w.assign_sub(w - x) for w in weights][-1])
    for _ in range(6):
        few(X)
    assert carried_out(few) == 0


@pytest.mark.slow
def test_a_thousand_variables_need_no_python():
    weights = [tf.Variable([float(k), 1.0, 2.0]) for k in range(1100)]
    optimizer = tf.keras.optimizers.SGD(0.25, momentum=0.5)

    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(w * w) for w in weights]) * x
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    step = tf.function(train)
    expected, velocity = np.float32([[k, 1.0, 2.0] for k in range(1100)]), np.float32(0)
    for _ in range(6):
        step(tf.constant(0.5))
        velocity = velocity * np.float32(0.5) - expected * np.float32(0.25)
        expected = expected + velocity
    np.testing.assert_allclose(np.stack([w.numpy() for w in weights]), expected, rtol=1e-5)
    assert carried_out(step) >= 3


def test_an_error_while_building_the_result_assigns_nothing():
    step, (*_, count) = network()
    recorded = tf.function(lambda x, y: (step(x, y), 1))
    x, target = tf.ones((4, 3)), tf.ones((4, 1))
    for _ in range(5):
        recorded(x, target)
    (path,) = paths(recorded)

    def failing(values):
        raise ValueError("put together")

    (calls,) = recorded._known.values()
    path.rebuild, path.repeated_call, recorded._repeated_call, calls.python_calls = (
        failing,
        None,
        None,
        0,
    )
    done = carried_out(recorded)
    assert done == 3
    for _ in range(4):
        with pytest.raises(ValueError, match="put together"):
            recorded(x, target)
        assert int(count) == 5
    assert carried_out(recorded) == done + 3


def test_calls_wait_for_updates_by_other_threads():
    v.assign(1.5)
    step = tf.function(lambda x: v.assign_add(x))
    for _ in range(4):
        step(X)
    assert carried_out(step) == 2 and float(v) == 3.5
    with variables._update_lock:  # the thread may hold the lock itself
        step(X)
    assert carried_out(step) == 3
    done = threading.Event()

    def hold():
        with variables._update_lock:
            held.set()
            assert not done.wait(0.05)

    held, thread = threading.Event(), threading.Thread(target=hold)
    thread.start()
    held.wait()
    step(X)
    done.set()
    thread.join()
    assert float(v) == 4.5 and carried_out(step) == 3
    v.assign(1.5)


def test_calls_wait_for_draws_of_other_threads():
    tf.random.set_seed(1)
    expected = [plain(tf.random.normal((2,))) for _ in range(6)]
    tf.random.set_seed(1)
    step = tf.function(lambda: tf.random.normal((2,)))
    assert [plain(step()) for _ in range(4)] == expected[:4]
    assert carried_out(step) == 2
    done = threading.Event()

    def hold():
        with STATE.lock:
            held.set()
            assert not done.wait(0.05)
            STATE.draws += 1

    held, thread = threading.Event(), threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert plain(step()) == expected[5]
    done.set()
    thread.join()
    assert carried_out(step) == 2 and STATE.draws == 6


def test_an_error_while_building_the_result_counts_no_draws():
    tf.random.set_seed(1)
    recorded = tf.function(lambda: (tf.random.normal((2,)), 1))
    for _ in range(5):
        recorded()
    (path,) = paths(recorded)

    def failing(values):
        raise ValueError("put together")

    (calls,) = recorded._known.values()
    path.rebuild, path.repeated_call, recorded._repeated_call, calls.python_calls = (
        failing,
        None,
        None,
        0,
    )
    for _ in range(4):
        with pytest.raises(ValueError, match="put together"):
            recorded()
        assert STATE.draws == 5
    assert carried_out(recorded) == 6


def test_hot_functions_are_compiled(monkeypatch):
    monkeypatch.setattr(cpu, "HOT", 1000)
    function = tf.function(chain)
    expected = function(X).numpy()
    for _ in range(300):
        assert function(X).numpy() == expected
        for thread in threading.enumerate():
            if thread.name == "numtape compiler":
                thread.join()
    (path,) = paths(function)
    assert path.recording._prepared.new_program().plan.fused is None
    assert path.recording._prepared._template.plan.done == -1  # it is the better one
    made, left = path.repeated_call, call_words.LEFT
    assert made.holds() and made._words[left] > 1 << 61


def test_reference_counts_are_unchanged():
    function = tf.function(lambda x, y: [x * v, None, y + scale, "text", whole * x])
    step, own = network()
    train = tf.function(step)
    noise = tf.function(lambda: [tf.random.normal(()), tf.random.uniform((3,), seed=1)])
    tf.random.set_seed(1)
    inputs = tf.ones((4, 3)), tf.ones((4, 1))
    other = tf.function(lambda x: {"a": x * v} if x > 0 else None)
    things = [X, Y, v, v._value, X._spec, None, "text", function, other, list, tf.Tensor]
    things += [train, *own, *inputs, variables._update_lock, noise, STATE.lock, STATE.seed]
    for _ in range(50):
        function(X, Y), other(X), train(*inputs), noise()

    functions = function, other, train, noise

    def counted():
        gc.collect()
        made = [path.repeated_call for f in functions for path in paths(f)]
        kept = [x for each in made for x in each.entry]
        return [sys.getrefcount(x) for x in [*things, *kept]], len(gc.get_objects())

    before, alive = counted()
    for _ in range(10000):
        function(X, Y), other(X), train(*inputs), noise()
    after, still = counted()
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 50
    assert abs(still - alive) < 50
    assert all(carried_out(f) > 10000 for f in functions)


def test_functions_are_created_and_freed():
    def made():
        function = tf.function(lambda x: x * v)
        for _ in range(5):
            function(X)
        return function

    made()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        made()
    gc.collect()
    assert len(gc.get_objects()) - before < 100


TOGETHER = """
import gc, signal, sys, threading
import numtape as tf

sys.modules["numtape.function.function"].OFTEN = 1
v = tf.Variable(2.0)
choice = [1.0, 2.0]
wrong, fired = [], []

@tf.function
def function(x, y):
    z = tf.sin(x) * y + v
    for _ in range(10):
        z = tf.tanh(z) * x
    return [z, y * choice[0]] if z > 0 else [-z, y]

def expected(k):
    x, y = tf.constant(0.1 * k), tf.constant(1.0 - k)
    return x, y, [float(z) for z in function.python_function(x, y)]

cases = [expected(k) for k in range(12)]
for x, y, found in cases * 3:
    assert [float(z) for z in function(x, y)] == found

def check(k):
    x, y, found = cases[k % 12]
    seen = [float(z) for z in function(x, y)]
    if seen != found:
        wrong.append((k, seen, found))

class Ending:
    def __init__(self):
        self.me = self
    def __del__(self):
        check(5)

def handler(number, frame):
    fired.append(1)
    check(7)
    signal.setitimer(signal.ITIMER_REAL, 0.002)

total, other = tf.Variable(0), tf.Variable([0.0, 0.0])

@tf.function
def count(x):
    total.assign_add(1)
    return other.assign_add(x)

one = tf.ones(2)
count(one)

def work(k):
    for j in range(1500):
        count(one)
        if j % 20 == 0:
            Ending()
        check(k + j // 5)

gc.set_threshold(5)
sys.setswitchinterval(1e-6)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002)
threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
for t in threads: t.start()
work(4)
for t in threads: t.join()
signal.signal(signal.SIGALRM, signal.SIG_IGN)
(calls,) = function._known.values()
times = sum(int(path.counts[0]) for tree in calls.trees for path in tree.paths)
assert not wrong, wrong[:3]
assert int(total) == 6001 and other.numpy().tolist() == [6001.0] * 2
print(len(fired) > 3, times > 3000)
"""


@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="no timers that signal")
def test_threads_finalizers_and_handlers_call_at_once():
    assert run(TOGETHER, NUMTAPE_RECORD="native") == "True True"


def test_the_environment_can_ask_for_python():
    script = (
        TOGETHER.partition("class Ending")[0]
        + """
for k in range(100): check(k)
print(wrong, [int(path.counts[0]) for calls in function._known.values() for tree in calls.trees
              for path in tree.paths])
"""
    )
    assert run(script, NUMTAPE_RECORD="python") == "[] [0, 0]"
