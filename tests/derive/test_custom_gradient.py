"""`custom_gradient`, `recompute_grad`, `grad_pass_through`: TensorFlow's results, and more."""

import copy
import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest
from log_queries import fresh_log

import numtape
import numtape as tf


def cubed():
    """x**3 with the custom gradient 10 x**2."""

    @tf.custom_gradient
    def f(x):
        return x * x * x, lambda upstream: upstream * 10.0 * x * x

    return f


def test_gradient_is_the_given_one_and_is_differentiated():
    x, f = tf.constant(2.0), cubed()
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = 2.0 * f(x)
        slope = tape.gradient(y, x)
    assert (y.numpy(), slope.numpy(), outer.gradient(slope, x).numpy()) == (16, 80, 80)


def test_several_arguments_results_nests_and_variables():
    v, seen = tf.Variable(3.0), []

    @tf.custom_gradient
    def f(args, b):
        def grad(da, db, variables):
            seen.append((da.numpy(), db.numpy(), variables))
            return (da * 10.0, None, db * 100.0), [tf.constant(7.0)]

        return {"x": args[0] * v, "y": (b + 1.0,)}, grad

    a, unused, b = tf.constant(2.0), tf.constant(1.0), tf.constant(5.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([a, unused, b])
        found = f([a, unused], b)
        z = found["x"] * 3.0
    gradients = tape.gradient(z, [a, unused, b, v])
    assert [g if g is None else g.numpy() for g in gradients] == [30, None, 0, 7]
    assert seen == [(3, 0, [v])]
    assert [g.numpy() for g in tape.gradient([z, found["y"][0]], [a, b])] == [30, 100]


def test_method_and_keywords():
    class Scaler:
        factor = 5.0

        @tf.custom_gradient
        def scale(self, x, *, by=1.0):
            """Its text."""
            return x * by, lambda upstream: upstream * self.factor

    x, scaler = tf.constant(2.0), Scaler()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaler.scale(x, by=3.0)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (6, 5)
    assert scaler.scale.__doc__ == "Its text."
    assert tf.custom_gradient()(lambda x: (x, None))(x).numpy() == 2


def test_errors():
    v, x = tf.Variable(2.0), tf.constant(1.0)
    with pytest.raises(TypeError, match="variables"):
        tf.custom_gradient(lambda x: (x * v, lambda g: g))(x)
    for grad, message in (
        (lambda g: (g, g), "expected to return 1 gradients, but returned 2"),
        (lambda g: tf.stack([g, g]), r"shape \(2,\)"),
        (lambda g: tf.cast(g, tf.float64), "dtype float64"),
    ):
        f = tf.custom_gradient(lambda x, grad=grad: (x * 2.0, grad))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        with pytest.raises(ValueError, match=message):
            tape.gradient(y, x)
    f = tf.custom_gradient(lambda x: (x * v, lambda g, variables: (g, [])))
    with tf.GradientTape() as tape:
        y = f(x)
    with pytest.raises(ValueError, match="each variable"):
        tape.gradient(y, v)
    with pytest.raises(TypeError):
        tf.custom_gradient(lambda x: x)(x)


def test_what_has_no_gradient_gets_one():
    @tf.custom_gradient
    def f(x):
        return tf.constant(np.sinc(x.numpy())), lambda g: g * 4.0

    x = tf.constant([0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(tf.floor(x) * 0.0 + x) * 2.0)
    assert tape.gradient(y, x).numpy().tolist() == [8, 8]


def test_what_it_captures_has_a_gradient_only_if_no_argument_is_watched():
    x, c = tf.constant(2.0), tf.constant(3.0)
    f = tf.custom_gradient(lambda x: (x * c, lambda g: g * 100.0))
    for watched, wanted in (([c], [None, 2]), ([x, c], [100, None])):
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y = f(x)
        found = tape.gradient(y, [x, c])
        assert [g if g is None else g.numpy() for g in found] == wanted


def test_nested():
    inner = cubed()

    @tf.custom_gradient
    def f(x):
        return inner(x), lambda g: g * inner(x)

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        slope = tape.gradient(y, x)
    assert (slope.numpy(), outer.gradient(slope, x).numpy()) == (8, 40)


def test_loops():
    f = cubed()

    def body(i, x):
        return i + 1, tf.cond(i > 0, lambda: f(x), lambda: x * 1.0)

    x = tf.constant(1.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, y = tf.while_loop(lambda i, _: i < 3, body, (tf.constant(0), x))
    first = 1.5**3
    assert tape.gradient(y, x).numpy() == pytest.approx(10 * first**2 * 10 * 1.5**2)


@pytest.mark.records
def test_recorded_calls():
    f = cubed()

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    @tf.function
    def outside(x):
        return f(x) + f(2.0 * x) * f(x)

    for k in range(4):
        x = tf.constant(1.0 + k)
        assert inside(x).numpy() == 10 * (1 + k) ** 2
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = outside(x)
            slope = tape.gradient(y, x)
        again = outer.gradient(slope, x)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = outside.python_function(x)
            plain = tape.gradient(y, x)
        assert slope.numpy() == plain.numpy()
        assert again.numpy() == outer.gradient(plain, x).numpy()
    if tf is numtape:
        assert [path.hits for path in outside.paths()] == [3]


def test_recorded_call_whose_gradient_looks_at_values():
    @tf.custom_gradient
    def f(x):
        return x * 2.0, lambda g: g * 3.0 if g > 1.0 else g * 4.0

    @tf.function
    def call(x):
        return f(x)

    assert call(tf.constant(1.0)).numpy() == 2
    for factor, slope in ((1.0, 4.0), (2.0, 6.0)):
        x = tf.constant(1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x) * factor
        assert tape.gradient(y, x).numpy() == slope


def test_functions_are_let_go():
    class Big:
        pass

    def once(tape):
        big = Big()

        @tf.custom_gradient
        def f(x):
            return x * 1.0, lambda g, big=big: g

        x = tf.constant([1.0, 2.0])
        with tape:
            tape.watch(x)
            y = f(x)
        return weakref.ref(big), x, y

    tape = tf.GradientTape()
    ref, x, y = once(tape)
    gc.collect()
    assert ref() is not None
    tape.gradient(y, x)
    gc.collect()
    assert ref() is None
    tape = tf.GradientTape(persistent=True)
    ref, x, y = once(tape)
    for _ in range(3):
        assert tape.gradient(y, x).numpy().tolist() == [1, 1]
    del tape
    y.numpy()
    gc.collect()
    assert ref() is None


def test_threads():
    f, found = cubed(), []

    def work(k):
        x = tf.constant(float(k))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found.append((k, float(tape.gradient(y, x))))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(k, 10 * k * k) for k in range(1, 5)]


def deep(x, w, layers):
    for _ in range(layers):
        x = tf.tanh(x @ w)
    return x


def test_recompute_grad_gives_the_same():
    w, x = tf.Variable([[0.5, -0.2], [0.1, 0.3]]), tf.constant([[1.0, 2.0]])
    g = tf.recompute_grad(lambda x: deep(x, w, 3))
    found = []
    for f in (g, lambda x: deep(x, w, 3)):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(f(f(x)))
            dx, dw = tape.gradient(y, [x, w])
            more = tf.reduce_sum(dx) + tf.reduce_sum(dw)
        found.append([y, dx, dw, *outer.gradient(more, [x, w])])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


@pytest.mark.numtape_only("counts bytes")
@pytest.mark.cpu_only("its memory")
def test_recompute_grad_takes_less_memory():
    w = tf.Variable(np.eye(64, dtype=np.float32) * 0.5)
    x = tf.constant(np.ones((256, 64), np.float32))
    held = []
    for wrap in (lambda f: f, tf.recompute_grad):
        block = wrap(lambda x: deep(x, w, 8))
        with fresh_log() as log:  # a log with many rows would retain ended tapes longer
            with tf.GradientTape() as tape:
                y = x
                for _ in range(4):
                    y = block(y)
                loss = tf.reduce_sum(y)
                loss.numpy()
                held.append(sum(buffer.nbytes for buffer in log.buffers.values()))
            assert np.isfinite(tape.gradient(loss, w).numpy()).all()
    assert held[1] < held[0] / 3, held


def test_grad_pass_through():
    x = tf.Variable(2.6)
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(tf.round)(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (3, 1)
    x, z = tf.Variable(1.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(x.assign)(z**2)
    assert (x.numpy(), tape.gradient(y, z).numpy()) == (9, 6)


def test_names_that_graphs_have():
    with pytest.raises(NotImplementedError, match="custom_gradient"):
        tf.RegisterGradient("Round")
    with pytest.raises(NotImplementedError, match="custom_gradient"):
        tf.no_gradient("Round")
    with pytest.raises(RuntimeError, match="GradientTape"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


@tf.custom_gradient
def square_with_gradient_5(x):
    return x * x, lambda upstream: 5.0 * upstream


@tf.function
@tf.custom_gradient
def recorded_with_gradient_6(x):
    return x * x, lambda upstream: 6.0 * upstream


recomputed = tf.recompute_grad(tf.sin)


class WithGradient:
    factor = 2.0

    @tf.custom_gradient
    def apply_to_both(self, x, y):
        return self.factor * x * y, lambda upstream: (3.0 * upstream, upstream)


def slope_at_3(f):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = f(x)
    return tape.gradient(y, x).numpy()


def test_pickled_functions_keep_their_gradient(monkeypatch):
    module = type(tf)("a_module_of_functions")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in ("square_with_gradient_5", "recorded_with_gradient_6", "WithGradient"):
        value = globals()[name]
        monkeypatch.setattr(value, "__module__", module.__name__)
        inner = getattr(value, "python_function", value)
        for x in (inner, getattr(inner, "__wrapped__", inner)):
            monkeypatch.setattr(x, "__module__", module.__name__)
        setattr(module, name, value)
    for f in (square_with_gradient_5, recorded_with_gradient_6):
        assert pickle.loads(pickle.dumps(f)) is f
        assert copy.copy(f) is f
    method = pickle.loads(pickle.dumps(WithGradient().apply_to_both))
    assert slope_at_3(lambda x: method(x, 1.0)) == 3.0
    assert slope_at_3(pickle.loads(pickle.dumps(recomputed))) == slope_at_3(tf.sin)


def test_cloudpickled_functions_keep_their_gradient():
    cloudpickle = pytest.importorskip("cloudpickle")
    scale = tf.Variable(2.0)
    doubled = tf.recompute_grad(lambda x: scale * x)
    passed = tf.grad_pass_through(lambda x: tf.round(x))
    own = tf.custom_gradient(lambda x: (x, lambda upstream: 4.0 * upstream))
    again = [cloudpickle.loads(cloudpickle.dumps(f)) for f in (doubled, passed, own)]
    assert [slope_at_3(f) for f in again] == [2.0, 1.0, 4.0]
