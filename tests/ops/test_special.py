"""Special functions against mpmath: accuracy of SciPy, derivatives at limits of formulas, and
derivatives of the incomplete gamma function by its shape."""

import mpmath
import numpy as np
import pytest

pytestmark = pytest.mark.numtape_only(reason="against mpmath, nearer than TensorFlow is")
MP = mpmath.mp

# mpmath's function, the points, and the allowed error of SciPy in ulp of float64.
TRUTH = {
    "lgamma": (lambda x: MP.log(MP.gamma(x)), (0.01, 30.0), 20),
    "digamma": (MP.digamma, (0.01, 30.0), 20),
    "erfinv": (MP.erfinv, (-0.999, 0.999), 8),
    "erfcinv": (lambda x: MP.erfinv(1 - x), (0.01, 1.9), 8),
    "ndtri": (lambda x: MP.sqrt(2) * MP.erfinv(2 * x - 1), (0.001, 0.999), 10),
    "bessel_i0": (lambda x: MP.besseli(0, x), (-9.0, 9.0), 10),
    "bessel_i1e": (lambda x: MP.besseli(1, x) * MP.exp(-abs(x)), (-9.0, 9.0), 10),
    "special.bessel_j0": (lambda x: MP.besselj(0, x), (-9.0, 9.0), 40),
    "special.bessel_j1": (lambda x: MP.besselj(1, x), (-9.0, 9.0), 10),
    "special.bessel_k0": (lambda x: MP.besselk(0, x), (0.1, 9.0), 10),
    "special.bessel_k1e": (lambda x: MP.besselk(1, x) * MP.exp(x), (0.1, 9.0), 10),
    "special.bessel_y0": (lambda x: MP.bessely(0, x), (0.1, 9.0), 40),
    "special.bessel_y1": (lambda x: MP.bessely(1, x), (0.1, 9.0), 10),
    "special.dawsn": (lambda x: MP.sqrt(MP.pi) / 2 * MP.exp(-x * x) * MP.erfi(x), (-5.0, 5.0), 8),
    "special.expint": (MP.ei, (0.1, 20.0), 20),
    "special.fresnel_cos": (MP.fresnelc, (-5.0, 5.0), 10),
    "special.fresnel_sin": (MP.fresnels, (-5.0, 5.0), 10),
    "special.spence": (lambda x: MP.polylog(2, 1 - x).real, (0.05, 1.9), 10),
}


@pytest.mark.parametrize("name", TRUTH)
def test_digits(tf, name):
    """Near a zero the error is relative to neighbouring values."""
    truth, (low, high), units = TRUTH[name]
    function = tf.math
    for part in name.split("."):
        function = getattr(function, part)
    x = np.random.default_rng(3).uniform(low, high, 25)
    with mpmath.workdps(30):
        exact = np.array([float(truth(mpmath.mpf(float(v)))) for v in x])
    found = function(tf.constant(x)).numpy()
    scale = np.maximum(np.abs(exact), 0.1 if np.abs(exact).max() > 0.2 else 0.0)
    assert (np.abs(found - exact) <= units * np.spacing(scale)).all()
    small = x.astype("float32")
    wide = function(tf.constant(small.astype("float64"))).numpy()
    np.testing.assert_array_equal(function(tf.constant(small)).numpy(), wide.astype("float32"))


def derivatives(tf, function, x, orders):
    """Derivatives of a function of one number up to an order."""
    if orders == 0:
        return [function(x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = derivatives(tf, function, x, orders - 1)
    return [*found, tape.gradient(found[-1], x)]


@pytest.mark.parametrize(
    "name, exact",
    [
        ("bessel_i0", [1.0, 0.0, 1 / 2, 0.0, 3 / 8]),
        ("bessel_i1", [0.0, 1 / 2, 0.0, 3 / 8, 0.0]),
        ("special.bessel_j0", [1.0, 0.0, -1 / 2, 0.0, 3 / 8]),
        ("special.bessel_j1", [0.0, 1 / 2, 0.0, -3 / 8, 0.0]),
        ("special.dawsn", [0.0, 1.0, 0.0, -4.0, 0.0]),
    ],
)
def test_derivatives_at_0(tf, name, exact):
    function = tf.math
    for part in name.split("."):
        function = getattr(function, part)
    found = derivatives(tf, function, tf.constant(0.0, tf.float64), 4)
    np.testing.assert_allclose(found, exact, atol=1e-15)


@pytest.mark.parametrize("x", [0.62, 0.9, 1.0, 1.1, 1.38, 1.45, 4.0])
def test_derivatives_of_spence_where_the_integrand_is_a_limit(tf, x):
    found = derivatives(tf, tf.math.special.spence, tf.constant(x, tf.float64), 3)[1:]
    with mpmath.workdps(40):
        u = mpmath.mpf(x) - 1
        series = [
            -sum((-1) ** k * mpmath.ff(k, n) * u ** (k - n) / (k + 1) for k in range(n, 300))
            if abs(u) < 0.7
            else mpmath.diff(lambda t: mpmath.log(t) / (1 - t), u + 1, n)
            for n in range(3)
        ]
    np.testing.assert_allclose(found, [float(v) for v in series], rtol=1e-13)


@pytest.mark.parametrize("a", [0.001, 0.05, 0.5, 1.0, 3.7, 19.0, 21.0, 150.0])
def test_derivatives_of_igamma_in_its_shape(tf, a):
    for ratio in (0.001, 0.2, 0.9, 1.0, 1.1, 2.0):
        x = a * ratio
        with mpmath.workdps(60):
            lower = lambda t: mpmath.gammainc(t, 0, x, regularized=True)  # noqa: B023, E731
            wide = mpmath.mpf(a)
            exact = [
                float(mpmath.diff(lower, wide, n, h=wide * mpmath.mpf(10) ** -h))
                for n, h in ((1, 20), (2, 15))
            ]
        found = derivatives(
            tf,
            lambda t: tf.math.igamma(t, tf.constant(x, t.dtype)),  # noqa: B023
            tf.constant(a, tf.float64),
            2,
        )[1:]
        np.testing.assert_allclose(found[0], exact[0], rtol=3e-13)
        # The second one is a difference, whose terms may be larger than the result.
        np.testing.assert_allclose(found[1], exact[1], rtol=1e-9, atol=1e-16)


def test_igamma_in_its_shape_at_the_ends(tf):
    a = tf.constant([2.0, 2.0, 2.0, -1.0, 0.0, np.nan], tf.float64)
    x = tf.constant([0.0, np.inf, 300.0, 1.0, 1.0, 1.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = tf.math.igamma(a, x)
    np.testing.assert_array_equal(
        tape.gradient(y, a).numpy()[[0, 1, 3, 4, 5]], [0.0, 0.0, np.nan, np.nan, np.nan]
    )


def test_igamma_of_nothing_and_of_infinity(tf):
    """The derivative by the shape is 0 there; values as in TensorFlow."""
    a, x = tf.constant([0.0, 1.0, np.inf, np.inf]), tf.constant([0.0, 0.0, 0.0, 1.0])
    for function in (tf.math.igamma, tf.math.igammac):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = function(a, x)
        np.testing.assert_array_equal(tape.gradient(y, a), [0.0] * 4)
    np.testing.assert_array_equal(tf.math.igamma(a, x), [0.0] * 4)


@pytest.mark.numtape_only("TensorFlow's gradient is NaN")
def test_igamma_with_an_infinite_density_that_no_result_uses(tf):
    a, x = tf.constant([0.5, 0.5], tf.float64), tf.constant([0.0, 1.0], tf.float64)
    density = np.exp(-1.0) / np.sqrt(np.pi)
    for function, sign in ((tf.math.igamma, 1.0), (tf.math.igammac, -1.0)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(a, x) * tf.constant([0.0, 1.0], tf.float64)
        np.testing.assert_allclose(tape.gradient(y, x), [0.0, sign * density], rtol=1e-12)


@pytest.mark.parametrize("x", [-np.inf, -1e300, 3e9, 1e30, np.inf])
def test_derivatives_of_scaled_bessel_functions_far_out(tf, x):
    """They are about 0 there, also the second derivative, which uses order 2."""
    x = tf.constant(x, tf.float64)
    for function in (tf.math.bessel_i0e, tf.math.bessel_i1e):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            first = inner.gradient(y, x)
        assert abs(first.numpy()) < 1e-14
        assert abs(outer.gradient(first, x).numpy()) < 1e-14


@pytest.mark.parametrize("name", ["bessel_k0", "bessel_y1"])
def test_a_limit_where_there_is_no_value(tf, name):
    """As in TensorFlow, for numbers below 0 and in all dtypes."""
    limit = np.inf if name == "bessel_k0" else -np.inf
    for dtype in ("float32", "float64"):
        found = getattr(tf.math.special, name)(tf.constant([-1.0, 0.0], dtype))
        np.testing.assert_array_equal(found, np.array([limit, limit], dtype))


def test_operands_broadcast_and_gradients_are_summed(tf):
    a = tf.constant([[0.5], [2.0]])
    b, x = tf.constant(1.5), tf.constant([0.2, 0.4, 0.6])
    with tf.GradientTape() as tape:
        tape.watch([a, b, x])
        y = tf.math.betainc(a, b, x)
    assert y.shape == (2, 3)
    slopes = tape.gradient(y, [a, b, x])
    assert slopes[:2] == [None, None] and slopes[2].shape == (3,)


def test_what_three_operands_have_to_be(tf):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Betainc"):
        tf.math.betainc(tf.constant(1.0), tf.constant(1.0), tf.constant(1.0, tf.float64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Betainc"):
        tf.math.betainc(1, 1, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Betainc"):
        tf.math.betainc([1.0, 2.0], [1.0, 2.0, 3.0], 0.5)


def test_sparsemax_adds_up_to_1(tf):
    x = np.random.default_rng(1).normal(size=(50, 7)) * 2
    found = tf.keras.activations.sparsemax(tf.constant(x)).numpy()
    np.testing.assert_allclose(found.sum(-1), 1.0)
    assert (found >= 0).all() and (found == 0).any()
    assert np.isnan(tf.keras.activations.sparsemax([np.nan, 1.0]).numpy()).all()
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        tf.keras.activations.sparsemax([1.0, 2.0], axis=2)
