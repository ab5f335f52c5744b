"""`tf.function`: gradients, optimizers, variables, random numbers."""

import contextlib

import numpy as np
import pytest
from checks import same, slope
from function_helpers import bits, eagerly, one_warning, recordings

pytestmark = pytest.mark.usefixtures("isolated")


# --- Gradients -----------------------------------------------------------------------------------


def smooth(tf):
    return lambda x, y: tf.sin(x * y) * tf.exp(-x) + tf.reduce_sum(y**3)


def test_gradient_outside(tf):
    f = tf.function(smooth(tf))
    for point in (([0.5, 1.0], [1.0, 2.0]), ([1.5, -1.0], [0.0, 2.0])) * 2:
        for found, expected in zip(
            slope(tf, f, *point), slope(tf, smooth(tf), *point), strict=True
        ):
            same(found, expected, rtol=1e-5)


def test_gradient_inside(tf):
    f = tf.function(lambda x, y: slope(tf, smooth(tf), x, y))
    for point in (([0.5, 1.0], [1.0, 2.0]), ([1.5, -1.0], [0.0, 2.0])) * 2:
        for found, expected in zip(
            f(*map(tf.constant, point)), slope(tf, smooth(tf), *point), strict=True
        ):
            same(found, expected, rtol=1e-5)


@pytest.mark.parametrize("where", ["inside", "outside", "between"])
def test_second_gradient(tf, where):
    def first(f):
        return lambda x: slope(tf, f, x)

    def cubic(x):
        return tf.reduce_sum(tf.sin(x) * x**3)

    plain = first(first(cubic))
    found = {
        "inside": lambda: tf.function(first(first(cubic))),
        "outside": lambda: first(first(tf.function(cubic))),
        "between": lambda: first(tf.function(first(cubic))),
    }[where]()
    for x in ([0.5, 1.0], [2.0, -1.0], [0.0, 3.0]):
        same(found(tf.constant(x)), plain(tf.constant(x)), rtol=1e-5)


def test_third_gradient_through_nested_functions(tf):
    f = tf.function(lambda x: x**5)
    g = tf.function(lambda x: slope(tf, f, x))
    h = tf.function(lambda x: slope(tf, g, x))
    for x in (1.0, 2.0):
        same(slope(tf, h, tf.constant(x)), 60 * x**2, rtol=1e-5)


@pytest.mark.parametrize("inside", [False, True])
def test_jacobian(tf, inside):
    def curve(x):
        return tf.stack([x[0] * x[1], tf.sin(x[0]), x[1] ** 2])

    def jacobian(f, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    f = tf.function(curve)
    found = tf.function(lambda x: jacobian(curve, x)) if inside else lambda x: jacobian(f, x)
    for x in ([1.0, 2.0], [3.0, 4.0]):
        x = tf.constant(x)
        same(found(x), jacobian(curve, x), rtol=1e-5)


def test_batch_jacobian(tf):
    f = tf.function(lambda x: tf.sin(x) * tf.reduce_sum(x, 1, keepdims=True))
    for _ in range(2):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
            z = f.python_function(x)
        same(tape.batch_jacobian(y, x), tape.batch_jacobian(z, x), rtol=1e-5)


def test_persistent_tape_outside(tf):
    f = tf.function(lambda x: (x**2, x**3))
    x = tf.constant(2.0)
    for _ in range(2):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = f(x)
            w = y * z
        same(tape.gradient(y, x), 4.0)
        same(tape.gradient(z, x), 12.0)
        same(tape.gradient(w, x), 80.0)
        same(tape.gradient(w, y), 8.0)


def test_persistent_tape_inside(tf):
    @tf.function
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = y * y
        return tape.gradient(z, x), tape.gradient(z, y), tape.gradient(y, x)

    for x in (2.0, 3.0):
        for found, expected in zip(f(tf.constant(x)), (4 * x**3, 2 * x**2, 2 * x), strict=True):
            same(found, expected)


def test_output_gradients_and_unconnected(tf):
    @tf.function
    def f(x, weight):
        with tf.GradientTape() as tape:
            tape.watch([x, weight])
            y = x**2
        return tape.gradient(y, [x, weight], weight, unconnected_gradients="zero")

    for k in (1.0, 2.0):
        a, b = f(tf.constant([1.0, 2.0]), tf.constant([k, 10.0]))
        same(a, [2.0 * k, 40.0])
        same(b, [0.0, 0.0])


def test_gradient_that_is_none(tf):
    @tf.function
    def f(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = x * x
        return tape.gradient(z, [x, y])

    for _ in range(2):
        a, b = f(tf.constant(3.0), tf.constant(1.0))
        same(a, 6.0)
        assert b is None


def test_gradient_of_variables_outside(tf):
    v, w = tf.Variable(2.0), tf.Variable([1.0, 2.0])
    frozen = tf.Variable(3.0, trainable=False)
    f = tf.function(lambda x: v * x**2 + tf.reduce_sum(w) * frozen)
    for k in (1.0, 2.0, 3.0):
        x = tf.constant(k)
        v.assign(k)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found = tape.gradient(y, [x, v, w, frozen])
        same(found[0], 2 * k * k)
        same(found[1], k * k)
        same(found[2], [3.0, 3.0])
        assert found[3] is None


def test_watched_variables(tf):
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    f = tf.function(lambda x: v * x)
    for _ in range(2):
        with tf.GradientTape() as tape:
            f(tf.constant(1.0))
        assert [x is v for x in tape.watched_variables()] == [True]
    assert w is not None


def test_tape_that_does_not_watch_what_is_read(tf):
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    f = tf.function(lambda: v * w)
    for _ in range(2):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(v)
            y = f()
        a, b = tape.gradient(y, [v, w])
        same(a, 3.0)
        assert b is None


def test_captured_tensor_that_a_tape_follows(tf):
    v = tf.Variable(2.0)
    calls = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = v * v
            f = tf.function(lambda x, y=y: x * y)
            calls.append((tape, y, f, f(tf.constant(3.0)) + f(tf.constant(5.0))))
    for tape, _, _, z in calls:
        same(tape.gradient(z, v), 32.0)


def test_captured_free_tensor_that_a_tape_follows(tf):
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        f = tf.function(lambda k: y * k)
        results = [f(tf.constant(float(k))) for k in (1, 2, 3)]
    for k, z in enumerate(results, 1):
        same(tape.gradient(z, x), 6.0 * k)
        same(tape.gradient(z, y), float(k))


def test_assigns_inside_under_a_tape(tf):
    def program(v, x):
        before = v * x
        v.assign_add(x * x)
        return before + v * x

    def run(f):
        v, x = tf.Variable(2.0), tf.constant(3.0)
        found = []
        for _ in range(3):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = f(v, x) * v
            found += [y, *tape.gradient(y, [v, x])]
        return [*found, v]

    for found, expected in zip(run(tf.function(program)), run(program), strict=True):
        same(found, expected)


def test_call_inside_stop_recording(tf):
    f = tf.function(lambda x: x * x)
    x = tf.Variable(3.0)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            y = f(x)
            with tape.stop_recording():
                z = f(x)
            w = y * z
        same(tape.gradient(w, x), 54.0)
        assert tape.gradient(z, x) is None


def test_stop_recording_inside(tf):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                z = x * x
            w = y * z
        return tape.gradient(w, x)

    for x in (1.0, 3.0):
        same(f(tf.constant(x)), 2 * x**3)


def test_first_call_under_a_tape_later_ones_without(tf):
    f = tf.function(lambda x: x**3)
    x = tf.constant(2.0)
    same(slope(tf, f, x), 12.0)
    same(f(x), 8.0)
    same(slope(tf, f, tf.constant(3.0)), 27.0)
    same(f(tf.constant(3.0)), 27.0)
    assert recordings(f) == 1


@pytest.mark.numtape_only("TensorFlow's functions compute other bits")
def test_gradients_have_the_bits_of_python(tf):
    rng = np.random.default_rng(0)
    w = [tf.Variable(rng.standard_normal(s)) for s in ((4, 5), (5,), (5, 1))]

    def loss(x):
        return tf.reduce_mean((tf.tanh(x @ w[0] + w[1]) @ w[2]) ** 2)

    def step(x):
        with tf.GradientTape() as tape:
            y = loss(x)
        return [y, *tape.gradient(y, w)]

    inside, outside = tf.function(step), tf.function(loss)

    def step_outside(x):
        with tf.GradientTape() as tape:
            y = outside(x)
        return [y, *tape.gradient(y, w)]

    for _ in range(4):
        x = tf.constant(rng.standard_normal((3, 4)))
        assert bits(*inside(x)) == bits(*step(x)) == bits(*step_outside(x))


# --- Training ------------------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda tf: tf.keras.optimizers.SGD(0.1),
    "momentum": lambda tf: tf.keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda tf: tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda tf: tf.keras.optimizers.Adam(0.05),
}


def trained(tf, optimizer, decorate, steps=20):
    rng = np.random.default_rng(0)
    w = [tf.Variable(rng.standard_normal(s).astype(np.float32)) for s in ((4, 5), (5,), (5, 1))]

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ w[0] + w[1]) @ w[2] - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, w), w, strict=True))
        return loss

    step = decorate(step)
    losses = []
    for _ in range(steps):
        x = rng.standard_normal((8, 4)).astype(np.float32)
        losses.append(step(tf.constant(x), tf.constant(x[:, :1])))
    return [*losses, *w, *optimizer.variables]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_inside_a_function(tf, name):
    found = trained(tf, OPTIMIZERS[name](tf), tf.function)
    expected = trained(tf, OPTIMIZERS[name](tf), lambda step: step)
    for a, b in zip(found, expected, strict=True):
        same(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.numtape_only("TensorFlow's functions compute other bits")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_inside_a_function_has_the_bits_of_python(tf, name):
    found = trained(tf, OPTIMIZERS[name](tf), tf.function)
    assert bits(*found) == bits(*trained(tf, OPTIMIZERS[name](tf), lambda step: step))


@pytest.mark.numtape_only("how often TensorFlow records is its own affair")
def test_training_step_is_recorded_once(tf):
    made = []

    def decorate(step):
        made.append(tf.function(step))
        return made[-1]

    trained(tf, OPTIMIZERS["adam"](tf), decorate)
    assert recordings(made[0]) == 1


def test_learning_rate_may_change(tf):
    optimizer, v = tf.keras.optimizers.SGD(1.0), tf.Variable(0.0)

    @tf.function
    def step():
        optimizer.apply_gradients([(tf.constant(1.0), v)])

    step()
    optimizer.learning_rate = 10.0
    step()
    optimizer.learning_rate.assign(100.0)
    step()
    same(v, -111.0)
    assert int(optimizer.iterations) == 3


def test_layers_are_built_in_the_first_call(tf):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.hidden = tf.keras.layers.Dense(4, "tanh")
            self.out = tf.keras.layers.Dense(1)

        @tf.function
        def __call__(self, x):
            return self.out(self.hidden(x))

    model = Model()
    x = tf.constant(np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32))
    first = model(x)
    layers = (model.hidden, model.out)
    assert [len(layer.variables) for layer in layers] == [2, 2]
    kernel, bias = (np.asarray(v) for v in model.hidden.variables)
    expected = np.tanh(np.asarray(x) @ kernel + bias)
    kernel, bias = (np.asarray(v) for v in model.out.variables)
    for found in (first, model(x), model(x)):
        same(found, expected @ kernel + bias, rtol=1e-4, atol=1e-6)
    model.out.variables[1].assign([5.0])
    same(model(x), expected @ kernel + 5.0, rtol=1e-4, atol=1e-6)


def test_variable_made_in_the_first_call(tf):
    class Lazy:
        def __init__(self):
            self.v = None

        @tf.function
        def f(self, x):
            if self.v is None:
                self.v = tf.Variable(x * 2.0)
            self.v.assign_add(x)
            return self.v.read_value()

    a, b = Lazy(), Lazy()
    for k in range(1, 5):
        same(a.f(tf.constant(1.0)), 2.0 + k)
    same(b.f(tf.constant(3.0)), 9.0)
    same(a.v, 6.0)


@pytest.mark.numtape_only("TensorFlow records twice where variables are made")
def test_call_that_makes_variables_is_not_counted(tf):
    layer = tf.keras.layers.Dense(2)
    f = tf.function(lambda x: layer(x))
    for _ in range(4):
        f(tf.ones((1, 3)))
    assert recordings(f) == 1


@pytest.mark.tf_differs("TensorFlow refuses functions that make variables again")
def test_variables_made_in_each_call(tf):
    made = []

    @tf.function
    def f(x):
        made.append(tf.Variable(x))
        made[-1].assign_add(1.0)
        return made[-1] * 2.0

    with one_warning():
        found = [float(f(tf.constant(float(k)))) for k in range(6)]
    assert found == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    assert [float(v) for v in made] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


# --- Variables -----------------------------------------------------------------------------------


def test_assigns_happen_in_every_call(tf):
    v, w = tf.Variable(0), tf.Variable([0.0, 0.0, 0.0])

    @tf.function
    def f(x):
        v.assign_add(1)
        w[1].assign(x)
        w.assign(w * 2.0)
        return v.read_value()

    assert [int(f(tf.constant(float(k)))) for k in range(5)] == [1, 2, 3, 4, 5]
    same(w, [0.0, 8.0, 0.0])


def test_variables_are_read_anew(tf):
    v = tf.Variable(1.0)
    f = tf.function(lambda: v + 1.0)
    for k in range(4):
        v.assign(float(k))
        same(f(), k + 1.0)
    assert recordings(f) == 1


def test_reads_before_and_after_an_assign(tf):
    v = tf.Variable(1.0)

    @tf.function
    def f():
        a = v.read_value()
        v.assign(a * 2.0)
        b = v.read_value()
        v.assign(b + 1.0)
        return a, b, v.read_value()

    expected = 1.0
    for _ in range(4):
        a, b, c = f()
        same(a, expected)
        same(b, expected * 2)
        expected = expected * 2 + 1
        same(c, expected)


def test_variables_exchange_their_values(tf):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])

    @tf.function
    def swap():
        a, b = v.read_value(), w.read_value()
        v.assign(b)
        w.assign(a)

    for k in range(5):
        same(v, [1.0, 2.0] if k % 2 == 0 else [3.0, 4.0])
        swap()
    same(w, [1.0, 2.0])


def test_results_of_earlier_calls_keep_their_values(tf):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f():
        v.assign_add([1.0, 1.0])
        return v.read_value()

    found = [f() for _ in range(4)]
    for k, x in enumerate(found):
        same(x, [2.0 + k, 3.0 + k])


# --- Random numbers ------------------------------------------------------------------------------


def draws(tf, kind):
    return {
        "normal": lambda: tf.random.normal((3,), 1.0, 2.0),
        "uniform": lambda: tf.random.uniform((2, 2), -1.0, 1.0),
        "integers": lambda: tf.random.uniform((4,), 0, 100, tf.int32),
        "truncated": lambda: tf.random.truncated_normal((3,)),
        "shuffle": lambda: tf.random.shuffle(tf.range(20)),
        "op seed": lambda: tf.random.normal((3,), seed=7),
        "scalar": lambda: tf.random.normal(()),
    }[kind]


KINDS = ("normal", "uniform", "integers", "truncated", "shuffle", "op seed", "scalar")


@pytest.mark.numtape_only("TensorFlow's functions draw other numbers than its eager ops")
@pytest.mark.parametrize("kind", KINDS)
def test_seeded_draws_are_those_of_python(tf, kind):
    draw = draws(tf, kind)
    f = tf.function(draw)
    tf.random.set_seed(5)
    expected = bits(*[draw() for _ in range(6)])
    tf.random.set_seed(5)
    assert bits(*[(draw if k == 3 else f)() for k in range(6)]) == expected
    tf.random.set_seed(5)
    assert bits(*[f() for _ in range(6)]) == expected
    assert recordings(f) == 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "op seed"])
def test_unseeded_draws_differ_from_call_to_call(tf, kind):
    if tf.__name__ == "numtape":
        from numtape.core.ops.random import STATE

        STATE.seed = None
    f = tf.function(draws(tf, kind))
    assert len({np.asarray(f()).tobytes() for _ in range(4)}) > 1


@pytest.mark.numtape_only("TensorFlow counts draws of functions apart")
def test_random_state_after_a_call_is_that_of_python(tf):
    def program(x):
        a = tf.random.normal((2,)) * x
        b = tf.random.uniform((3,), seed=1)
        return a, b

    def run(f):
        tf.random.set_seed(3)
        found = []
        for k in range(4):
            found += [*f(tf.constant(float(k))), tf.random.normal((2,))]
        return bits(*found)

    assert run(tf.function(program)) == run(program)


@pytest.mark.numtape_only("TensorFlow's functions draw other numbers than its eager ops")
def test_draws_of_rejected_branches_are_not_counted(tf):
    def program(x):
        if x > 0:
            y = tf.random.normal((2,))
            return y + tf.random.normal((2,))
        return tf.random.uniform((2,)) * x

    def run(f):
        tf.random.set_seed(4)
        return bits(*[f(tf.constant(x)) for x in (1.0, -1.0, -1.0, 1.0, -2.0, 3.0, 1.0)])

    f = tf.function(program)
    assert run(f) == run(program) == run(f)
    assert recordings(f) == 2


@pytest.mark.numtape_only("TensorFlow's functions draw other numbers than its eager ops")
def test_guards_on_draws(tf):
    def program():
        x = tf.random.uniform(())
        while x < 0.9:
            x = x + tf.random.uniform(()) * 0.5
        return x

    def run(f, seed):
        tf.random.set_seed(seed)
        return bits(*[f() for _ in range(30)])

    f = tf.function(program)
    for seed in range(3):
        assert run(f, seed) == run(program, seed)


@pytest.mark.numtape_only("TensorFlow's functions draw other numbers than its eager ops")
def test_draws_of_a_call_that_raised_are_drawn_again(tf):
    f = tf.function(lambda: tf.random.normal((2,)))

    @tf.function
    def fails():
        tf.random.normal((5,))
        raise KeyError

    tf.random.set_seed(1)
    expected = bits(f(), f())
    tf.random.set_seed(1)
    first = f()
    with pytest.raises(KeyError):
        fails()
    assert bits(first, f()) == expected


@pytest.mark.numtape_only("TensorFlow's functions draw other numbers than its eager ops")
def test_draws_of_an_inner_call_that_raised_are_drawn_again(tf):
    @tf.function
    def inner():
        tf.random.normal((2,))
        raise KeyError

    @tf.function
    def outer():
        with contextlib.suppress(KeyError):
            inner()
        return tf.random.normal((2,))

    def run():
        tf.random.set_seed(3)
        return bits(*[outer() for _ in range(3)], tf.random.normal((2,)))

    with eagerly(tf):
        expected = run()
    assert run() == expected


def test_dropout(tf):
    @tf.function
    def drop(x):
        return tf.where(tf.random.uniform((1000,)) < 0.5, 0.0, x)

    found = [np.asarray(drop(tf.ones(1000))) for _ in range(3)]
    assert all(300 < x.sum() < 700 for x in found)
    assert not np.array_equal(found[1], found[2])
