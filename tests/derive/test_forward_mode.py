"""Forward mode: `autodiff.ForwardAccumulator`."""

import numpy as np
import pytest
from checks import same
from derivative_checks import smallest
from op_cases import CASES

FLOATS = [case for case in CASES if case.order > 0 and "float64" in case.dtypes]


@pytest.mark.numtape_only(reason="compared with numtape's own Jacobians")
@pytest.mark.parametrize("case", FLOATS, ids=[case.name for case in FLOATS])
def test_jvp_is_the_jacobian_times_the_tangents(tf, case):
    """For the op, for its gradient, and under a tape: second derivatives in both nestings."""
    chosen = smallest(case)
    if chosen is None:
        pytest.skip("it has no small variant")
    operands, options = chosen
    random = np.random.default_rng(2)
    xs = [tf.constant(x) for x in operands]
    floats = [x for x in xs if x.dtype.is_floating]
    tangents = [tf.constant(random.normal(size=x.shape)) for x in floats]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(floats)
        with tf.autodiff.ForwardAccumulator(floats, tangents) as acc:
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(floats)
                y = case.function(tf)(*xs, **options)
                if isinstance(y, list | tuple):
                    y = tf.concat([tf.reshape(part, [-1]) for part in y], 0)
                if not y.dtype.is_floating:
                    pytest.skip("its result has no derivatives")
                if max(y.ndim, *(x.ndim for x in floats)) > 4:
                    pytest.skip("its Jacobians have too many axes")
                c = tf.cast(random.normal(size=y.shape), y.dtype)
                total = tf.reduce_sum(y * y * c)
            slopes = [
                None if slope is None else tf.convert_to_tensor(slope)
                for slope in tape.gradient(total, floats)
            ]
    rtol = 1e-8 if y.dtype.name == "float64" else 1e-5
    compare(acc.jvp(y), product(tape.jacobian(y, floats), tangents), rtol)
    backward = outer.gradient(acc.jvp(total), floats) if acc.jvp(total) is not None else slopes
    for slope, other in zip(slopes, backward, strict=True):
        if slope is not None:
            wanted = product(outer.jacobian(slope, floats), tangents)
            compare(acc.jvp(slope), wanted, rtol)
            compare(other if other is None else tf.convert_to_tensor(other), wanted, rtol)


def product(jacobians, tangents):
    """The sum of Jacobians times tangents, or None if all Jacobians are None."""
    parts = [
        np.tensordot(jacobian.numpy(), tangent.numpy(), tangent.ndim)
        for jacobian, tangent in zip(jacobians, tangents, strict=True)
        if jacobian is not None
    ]
    return sum(parts) if parts else None


def compare(found, wanted, rtol):
    if found is None or wanted is None:  # zeros and None are equivalent, for example for `sign`
        for one in (found, wanted):
            assert one is None or not np.any(np.asarray(one))
    else:
        found = found.numpy()
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol / 100)


def accumulator(tf, primals, tangents):
    return tf.autodiff.ForwardAccumulator(primals, tangents)


def test_values_outside_inside_and_in_another_block(tf):
    x = tf.constant([1.0, 2.0])
    before = x * x
    acc = accumulator(tf, x, tf.ones(2))
    with acc:
        y = x * x
        same(acc.jvp(y), [2.0, 4.0], "float32")
    with acc:
        z = y * x
    same(acc.jvp(z), [3.0, 12.0])
    same(acc.jvp(x), [1.0, 1.0])
    assert acc.jvp(before) is None
    same(acc.jvp(before, unconnected_gradients="zero"), [0.0, 0.0], "float32")
    nest = acc.jvp({"y": y, "rest": (x, [before])}, tf.UnconnectedGradients.ZERO)
    same(nest["rest"][1][0], [0.0, 0.0])


def test_variables_keep_their_tangents(tf):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([5.0, 6.0], trainable=False)
    with accumulator(tf, [v, {"w": w}], [tf.ones(2), {"w": 2 * tf.ones(2)}]) as acc:
        y = v * w
        v.assign(y)
        z = v * v
    same(acc.jvp(y), [7.0, 10.0])
    same(acc.jvp(v), [1.0, 1.0])
    same(acc.jvp(z), [10.0, 24.0])


def test_where_nothing_flows(tf):
    x = tf.constant([1.0, 2.0])
    with accumulator(tf, x, tf.ones(2)) as acc:
        found = [tf.stop_gradient(x), tf.floor(x), tf.cast(x, tf.int32), x > 1.0, tf.sign(x)]
        y = tf.stop_gradient(x) * x
    assert acc.jvp(found) == [None] * 5
    same(acc.jvp(found[2], "zero"), [0, 0], "int32")
    same(acc.jvp(y), [1.0, 2.0])


def test_an_op_without_a_gradient(tf):
    x = tf.ones((1, 2, 1))
    with accumulator(tf, x, tf.ones_like(x)) as acc:
        y = x * 3.0
        try:  # TensorFlow evaluates immediately
            z = 2.0 * tf.image.adjust_contrast(x, 2.0)
        except LookupError:
            z = None
    same(acc.jvp(y), 3 * np.ones((1, 2, 1)))
    if z is not None:
        with pytest.raises(LookupError, match="no entry for: AdjustContrastv2"):
            acc.jvp(z)


def test_forward_over_forward(tf):
    x = tf.constant(1.1)
    with accumulator(tf, x, tf.constant(1.0)) as outer:
        with accumulator(tf, x, tf.constant(1.0)) as inner:
            y = x**3.5
            early = outer.jvp(y)
    found = inner.jvp(y)
    same(found, 3.5 * 1.1**2.5, rtol=1e-6)
    same(outer.jvp(found), 3.5 * 2.5 * 1.1**1.5, rtol=1e-6)
    assert inner.jvp(early) is None  # an inner accumulator does not see outer tangents


def test_third_derivative_by_three_modes(tf):
    x = tf.constant(0.5, tf.float64)
    one = tf.constant(1.0, tf.float64)
    with accumulator(tf, x, one) as outer:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with accumulator(tf, x, one) as inner:
                y = tf.sin(x) * x
            slope = inner.jvp(y)
        second = tape.gradient(slope, x)
    same(second, 2 * np.cos(0.5) - 0.5 * np.sin(0.5), rtol=1e-12)
    same(outer.jvp(second), -3 * np.sin(0.5) - 0.5 * np.cos(0.5), rtol=1e-12)


def test_a_tape_inside_does_not_see_tangents(tf):
    x = tf.constant([1.0, 2.0])
    with accumulator(tf, x, tf.ones(2)) as acc, tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        tangent = acc.jvp(y)
        z = y + x
    assert tape.gradient(tangent, x) is None
    same(tape.gradient(z, x), [4.0, 13.0])


def test_hessian_products(tf):
    v = tf.Variable([1.0, 2.0])
    with accumulator(tf, v, tf.constant([1.0, 10.0])) as acc:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v**3.0) + v[0] * v[1]
        slope = tape.gradient(y, v)
    same(acc.jvp(slope), [16.0, 121.0])
    same(acc.jvp(y), 3.0 + 120.0 + 12.0)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_functions(tf, where):
    def body(x, t):
        with accumulator(tf, x, t) as acc:
            y = tf.tanh(x) * x
        return acc.jvp(y)

    f = tf.function(lambda x: tf.tanh(x) * x)
    g = tf.function(body)
    for k in range(4):
        x, t = tf.constant([0.5, k + 1.0]), tf.constant([1.0, -k])
        if where == "inside":
            found = g(x, t)
        else:
            with accumulator(tf, x, t) as acc:
                y = f(x)
            found = acc.jvp(y)
        same(found, body(x, t), rtol=1e-6)


def test_of_a_long_concat(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    with accumulator(tf, x, tf.constant([1.0, 10.0, 100.0])) as acc:
        y = tf.concat([x * x, tf.ones(2), x], 0)
    same(acc.jvp(y), [2.0, 40.0, 600.0, 0.0, 0.0, 1.0, 10.0, 100.0])


def test_errors(tf):
    x, n, one = tf.constant([1.0, 2.0]), tf.constant(3), tf.ones(2)
    new = tf.autodiff.ForwardAccumulator
    for primals, tangents, kind in [
        (x, tf.ones(2, tf.float64), ValueError),
        ([x], [one, one], ValueError),
        ([x], one, ValueError),
        (x, [1.0, 1.0], ValueError),
        ([x, x], [one, one], ValueError),
        (None, one, AttributeError),
        (1.0, 1.0, AttributeError),
        (n, tf.constant(1.0), ValueError),
        (x, None, ValueError),
    ]:
        with pytest.raises(kind):
            new(primals, tangents)
    acc = new(x, one)
    with acc:
        y = x * x
        with pytest.raises(ValueError, match="already recording"), acc:
            pass
    with pytest.raises(ValueError):
        acc.jvp(y, unconnected_gradients="all")
    with pytest.raises(AttributeError):
        acc.jvp(None)
    same(acc.jvp(y), [2.0, 4.0])


@pytest.mark.numtape_only(reason="TensorFlow fails at the next op")
def test_a_tangent_of_another_shape(tf):
    with pytest.raises(tf.errors.InvalidArgumentError, match="the shape of its primal"):
        accumulator(tf, tf.ones(2), tf.ones(3))


@pytest.mark.numtape_only(reason="`watch` has another name there")
def test_watch_later(tf):
    x = tf.constant(3.0)
    with accumulator(tf, x, tf.constant(1.0)) as acc:
        z = tf.constant(4.0)
        before = x * z
        acc.watch(z, tf.constant(10.0))
        y = x * z
    assert (acc.jvp(before).numpy(), acc.jvp(y).numpy()) == (4.0, 34.0)


def test_functions_with_gradients_of_their_own(tf):
    """Forward mode differentiates their bodies, as in TensorFlow; Jacobians call the gradient."""

    @tf.custom_gradient
    def f(x):
        return x * x, lambda g: g * 5.0

    x = tf.constant([1.0, 2.0])
    with accumulator(tf, x, tf.ones(2)) as acc:
        y = f(x)
    same(acc.jvp(y), [2.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x) * x
    same(tape.jacobian(y, x), [[6.0, 0.0], [0.0, 14.0]])


def jvps(tf, f, x=(1.3, 2.0)):
    x = tf.constant(x)
    with tf.autodiff.ForwardAccumulator(x, tf.ones(2)) as forward:
        y = f(x)
    return [t.numpy().tolist() for t in tf.nest.flatten(forward.jvp(y))]


def test_tangents_by_a_gradient_that_is_given(tf):
    """If the function yields no tangent, forward mode transposes its gradient."""
    passed = tf.grad_pass_through(tf.round)

    @tf.custom_gradient
    def hundred(x):
        return tf.sign(x), lambda u: u * 100

    @tf.custom_gradient
    def two(x, w):
        return (tf.sign(x), tf.sign(w) * x), lambda a, b: (a * 10, b * 100)

    assert jvps(tf, passed) == [[1.0, 1.0]]
    assert jvps(tf, lambda x: passed(x) * x) == [[pytest.approx(2.3), 4.0]]
    assert jvps(tf, tf.function(lambda x: hundred(x) * x)) == [pytest.approx([131.0, 201.0])]
    assert jvps(tf, lambda x: two(x, x)) == [[10.0, 10.0], [1.0, 1.0]]

    w = tf.Variable([1.2, 2.7])
    with tf.autodiff.ForwardAccumulator(w, tf.constant([1.0, 0.0])) as forward:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(passed(w) ** 3)
        gradient = tape.gradient(y, w)
    assert forward.jvp(gradient).numpy().tolist() == [6.0, 0.0]


@pytest.mark.numtape_only(reason="TensorFlow raises NotImplementedError")
def test_tangents_of_what_is_computed_again(tf):
    again = tf.recompute_grad(lambda x: tf.sin(x) * x)
    x = np.array([1.3, 2.0])
    assert jvps(tf, again) == [pytest.approx((np.sin(x) + x * np.cos(x)).tolist(), rel=1e-5)]

    z, along = tf.constant([0.3, 0.7]), tf.constant([0.5, 0.2])
    with tf.autodiff.ForwardAccumulator(z, along) as forward:
        with tf.GradientTape() as tape:
            tape.watch(z)
            y = tf.reduce_sum(again(z) * z)
        gradient = tape.gradient(y, z)
    x = np.array([0.3, 0.7])
    second = 2 * np.sin(x) + 4 * x * np.cos(x) - x * x * np.sin(x)
    assert forward.jvp(gradient).numpy() == pytest.approx(second * [0.5, 0.2], rel=1e-5)


@pytest.mark.numtape_only(reason="TensorFlow's forgets the gradient")
def test_a_custom_gradient_in_a_vectorized_map(tf):
    @tf.custom_gradient
    def f(x):
        return x * x, lambda g: g * float(5.0 + 0 * g.numpy())

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.vectorized_map(f, x, warn=False)
    same(tape.gradient(y, x), [5.0, 5.0])
    same(tape.jacobian(y, x), [[5.0, 0.0], [0.0, 5.0]])
