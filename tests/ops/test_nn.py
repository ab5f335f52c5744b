"""Elementwise math, activations and cross-entropies: values, derivatives, special points."""

import math

import numpy as np
import pytest
from checks import same, slope

EVEN = [-1.5, -0.25, 0.5, 2.0]
POSITIVE = [0.25, 0.5, 1.5, 3.0]
INSIDE = [-0.75, -0.25, 0.1, 0.5]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# name, inputs, value, slope; each under `tf.math`, and under `tf` unless math_only
UNARY = [
    ("abs", EVEN, np.abs, np.sign),
    ("negative", EVEN, np.negative, lambda x: -np.ones_like(x)),
    ("square", EVEN, np.square, lambda x: 2 * x),
    ("sqrt", POSITIVE, np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    ("exp", EVEN, np.exp, np.exp),
    ("sin", EVEN, np.sin, np.cos),
    ("cos", EVEN, np.cos, lambda x: -np.sin(x)),
    ("tan", EVEN[1:3], np.tan, lambda x: 1 / np.cos(x) ** 2),
    ("asin", INSIDE, np.arcsin, lambda x: 1 / np.sqrt(1 - x**2)),
    ("acos", INSIDE, np.arccos, lambda x: -1 / np.sqrt(1 - x**2)),
    ("atan", EVEN, np.arctan, lambda x: 1 / (1 + x**2)),
    ("sinh", EVEN, np.sinh, np.cosh),
    ("cosh", EVEN, np.cosh, np.sinh),
    ("tanh", EVEN, np.tanh, lambda x: 1 / np.cosh(x) ** 2),
    ("asinh", EVEN, np.arcsinh, lambda x: 1 / np.sqrt(x**2 + 1)),
    ("acosh", [1.5, 2.0, 4.0], np.arccosh, lambda x: 1 / np.sqrt(x**2 - 1)),
    ("atanh", INSIDE, np.arctanh, lambda x: 1 / (1 - x**2)),
    ("sigmoid", EVEN, sigmoid, lambda x: sigmoid(x) * sigmoid(-x)),
    ("sign", EVEN, np.sign, np.zeros_like),
]
MATH_ONLY = [
    ("log", POSITIVE, np.log, np.reciprocal),
    ("log1p", POSITIVE, np.log1p, lambda x: 1 / (1 + x)),
    ("expm1", EVEN, np.expm1, np.exp),
    ("rsqrt", POSITIVE, lambda x: x**-0.5, lambda x: -0.5 * x**-1.5),
    ("reciprocal", POSITIVE, np.reciprocal, lambda x: -(x**-2)),
    ("erf", EVEN, np.vectorize(math.erf), lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2))),
    ("softplus", EVEN, lambda x: np.log1p(np.exp(x)), sigmoid),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "points", "value", "derivative"),
    UNARY + MATH_ONLY,
    ids=[row[0] for row in UNARY + MATH_ONLY],
)
def test_functions_of_one_argument(tf, name, points, value, derivative, dtype):
    x, rtol = np.array(points, dtype), 1e-5 if dtype == "float32" else 1e-12
    places = [tf.math] if any(name == row[0] for row in MATH_ONLY) else [tf.math, tf]
    for place in places:
        function = getattr(place, name)
        same(function(x), value(x), dtype, rtol=rtol)
        same(slope(tf, function, x), derivative(x), dtype, rtol=rtol)


A, B = np.array([[-1.5], [0.5], [2.0]]), np.array([0.5, 2.0, 3.0])

BINARY = [
    ("add", np.add, lambda a, b: 1, lambda a, b: 1),
    ("subtract", np.subtract, lambda a, b: 1, lambda a, b: -1),
    ("multiply", np.multiply, lambda a, b: b, lambda a, b: a),
    ("divide", np.divide, lambda a, b: 1 / b, lambda a, b: -a / b**2),
    ("maximum", np.maximum, lambda a, b: a >= b, lambda a, b: a < b),
    ("minimum", np.minimum, lambda a, b: a <= b, lambda a, b: a > b),
    (
        "math.squared_difference",
        lambda a, b: (a - b) ** 2,
        lambda a, b: 2 * (a - b),
        lambda a, b: 2 * (b - a),
    ),
    ("math.mod", np.mod, lambda a, b: 1, lambda a, b: -np.floor(a / b)),
    ("math.atan2", np.arctan2, lambda a, b: b / (a**2 + b**2), lambda a, b: -a / (a**2 + b**2)),
]


@pytest.mark.parametrize(("name", "value", "da", "db"), BINARY, ids=[row[0] for row in BINARY])
def test_functions_of_two_arguments_broadcast(tf, name, value, da, db):
    function = getattr(tf.math, name.removeprefix("math."))
    if "." not in name:
        same(getattr(tf, name)(A, B), value(A, B), "float64")
    same(function(A, B), value(A, B), "float64")
    ones = np.ones((3, 3))
    ga, gb = slope(tf, function, A, B)
    same(ga, np.sum(ones * da(A, B), axis=1, keepdims=True), "float64")
    same(gb, np.sum(ones * db(A, B), axis=0), "float64")


def test_powers(tf):
    x, p = np.array([0.5, 2.0, 3.0]), np.array([[2.0], [-1.5]])
    same(tf.pow(x, p), x**p, "float64")
    dx, dp = slope(tf, tf.pow, x, p)
    same(dx, (p * x ** (p - 1)).sum(0), "float64")
    same(dp, (x**p * np.log(x)).sum(1, keepdims=True), "float64")
    same(slope(tf, lambda v: v**3, -2.0), 12.0, "float32")
    same(slope(tf, lambda v: 2.0**v, 3.0), 8 * math.log(2), "float32")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("exponent", [2, 2.0, 3, 4, 4.0, 2.5])
def test_powers_by_python_numbers(tf, exponent, dtype):
    """Some are products; they agree with powers by a tensor, for special numbers too."""
    x = np.array([0.0, -0.0, 1.5, -0.7, 3.0, np.inf, -np.inf, np.nan, 2.0**-20], dtype)
    x = x[x >= 0] if exponent == 2.5 else x
    p, bound = tf.constant(exponent, dtype), 4 * np.finfo(dtype).eps
    for operand in (tf.constant(x), tf.Variable(x)):
        for function in (lambda v: v**exponent, lambda v: tf.pow(v, exponent)):
            np.testing.assert_allclose(function(operand), tf.constant(x) ** p, rtol=bound)
            expected = slope(tf, lambda v: v**p, x)
            np.testing.assert_allclose(slope(tf, function, x), expected, rtol=bound)


@pytest.mark.parametrize("exponent", [2, 3, 4])
def test_powers_that_do_not_count_have_no_nan_in_their_gradient(tf, exponent):
    x = tf.constant([np.inf, 2.0, np.nan], "float64")
    gradient = slope(tf, lambda v: tf.where([False, True, False], v**exponent, 0.0), x)
    np.testing.assert_array_equal(gradient, [0.0, exponent * 2.0 ** (exponent - 1), 0.0])


@pytest.mark.parametrize(
    ("name", "numpy_name"),
    [
        ("equal", "equal"),
        ("not_equal", "not_equal"),
        ("less", "less"),
        ("less_equal", "less_equal"),
        ("greater", "greater"),
        ("greater_equal", "greater_equal"),
        ("logical_and", "logical_and"),
        ("logical_or", "logical_or"),
        ("maximum", "maximum"),
    ],
)
def test_comparisons_and_logic(tf, name, numpy_name):
    a, b = np.array([1, 2, 3]), np.array([[2], [3]])
    if name.startswith("logical"):
        a, b = a > 1, b > 2
    expected = getattr(np, numpy_name)(a, b)
    for place in (tf, tf.math):
        same(getattr(place, name)(a, b), expected, expected.dtype)


def test_rounding(tf):
    x = [-1.5, -0.5, 0.5, 1.5, 2.5, 2.7]
    same(tf.round(x), np.round(x), "float32")
    same(tf.floor(x), np.floor(x), "float32")
    same(tf.math.ceil(x), np.ceil(x), "float32")
    same(tf.round([1, 2]), [1, 2], "int32")
    same(tf.logical_not([True, False]), [False, True], "bool")


def test_integer_math(tf):
    same(tf.square([2, 3]), [4, 9], "int32")
    same(tf.abs([-1, 2]), [1, 2], "int32")
    same(tf.sign(-2), -1, "int32")
    same(tf.pow(2, 3), 8, "int32")
    same(tf.divide(1, 2), 0.5, "float64")
    same(tf.math.truediv(3, 2), 1.5, "float64")
    same(tf.math.floordiv(7, 2), 3, "int32")


def test_nan_and_infinity(tf):
    x = [math.nan, math.inf, 1.0]
    same(tf.math.is_nan(x), [True, False, False], "bool")
    same(tf.maximum(x, 1.0), [math.nan, math.inf, 1.0])
    same(tf.minimum(1.0, x), [math.nan, 1.0, 1.0])


SPECIAL_POINTS = [
    ("abs at 0", lambda tf, x: abs(x), 0.0, 0.0),
    ("sqrt at 0", lambda tf, x: tf.sqrt(x), 0.0, math.inf),
    ("sqrt at 0, times 0", lambda tf, x: tf.sqrt(x) * 0.0, 0.0, 0.0),
    ("log at 0, times 0", lambda tf, x: tf.math.log(x) * 0.0, 0.0, 0.0),
    ("square at 0", lambda tf, x: x**2, 0.0, 0.0),
    ("root at 0", lambda tf, x: x**0.5, 0.0, math.inf),
    ("0 to the power 0", lambda tf, x: 0.0**x, 0.0, 0.0),
    ("negative to a power", lambda tf, x: x**3.0, -2.0, 12.0),
    ("maximum, first of a tie", lambda tf, x: tf.maximum(x, 0.0), 0.0, 1.0),
    ("maximum, second of a tie", lambda tf, x: tf.maximum(0.0, x), 0.0, 0.0),
    ("minimum, first of a tie", lambda tf, x: tf.minimum(x, 0.0), 0.0, 1.0),
    ("minimum, second of a tie", lambda tf, x: tf.minimum(0.0, x), 0.0, 0.0),
    ("clip at its low end", lambda tf, x: tf.clip_by_value(x, 0.0, 1.0), 0.0, 1.0),
    ("clip at its high end", lambda tf, x: tf.clip_by_value(x, 0.0, 1.0), 1.0, 1.0),
    ("clip outside", lambda tf, x: tf.clip_by_value(x, 0.0, 1.0), 1.5, 0.0),
    ("atan2 at the origin", lambda tf, x: tf.atan2(x, 0.0), 0.0, np.nan),
    ("atan2 of 0 on the left", lambda tf, x: tf.atan2(x, -2.0), 0.0, -0.5),
    ("atan2 straight down", lambda tf, x: tf.atan2(-2.0, x), 0.0, 0.5),
    (
        "multiply_no_nan of infinity, times 0",
        lambda tf, x: tf.math.multiply_no_nan(np.inf, x) * 0.0,
        2.0,
        0.0,
    ),
    (
        "multiply_no_nan by 0, times infinity",
        lambda tf, x: tf.math.multiply_no_nan(x, 0.0) * np.inf,
        2.0,
        0.0,
    ),
    ("relu at 0", lambda tf, x: tf.nn.relu(x), 0.0, 0.0),
    ("selu at 0", lambda tf, x: tf.nn.selu(x), 0.0, 1.0507009873554805),
    ("softplus far left", lambda tf, x: tf.nn.softplus(x), -200.0, 0.0),
    ("softplus far right", lambda tf, x: tf.nn.softplus(x), 200.0, 1.0),
    ("sigmoid far left", lambda tf, x: tf.nn.sigmoid(x), -200.0, 0.0),
    ("tanh far right", lambda tf, x: tf.tanh(x), 200.0, 0.0),
]


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [row[1:] for row in SPECIAL_POINTS],
    ids=[row[0] for row in SPECIAL_POINTS],
)
def test_slope_at_a_special_point(tf, function, x, expected):
    same(slope(tf, lambda v: function(tf, v), x), expected, "float32")


@pytest.mark.numtape_only("an op that only derivatives record")
def test_length_that_derivatives_divide_by(tf, device):
    from numtape.core.ops.elementwise import hypot

    numbers = np.array([0.0, -0.0, 1.0, -3.0, 4.0, 1e200, -1e200, 1e-200, -1e-200])
    x, y = np.meshgrid(numbers, numbers)
    np.testing.assert_array_max_ulp(hypot(x, y).numpy(), np.hypot(x, y), 2)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_ties_share_the_slope_of_an_extreme(tf, name):
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [5.0, 1.0, 7.0]])
    ties = x == getattr(np, name.removeprefix("reduce_"))(x, 1, keepdims=True)
    weights = np.array([[4.0], [5.0], [6.0]])
    found = slope(tf, lambda v: getattr(tf, name)(v, 1, keepdims=True) * weights, x)
    same(found, weights * ties / ties.sum(1, keepdims=True), "float64")


# --- Activations ---------------------------------------------------------------------------------

Z = np.array([[1.0, -2.0, 0.5], [100.0, 0.0, -100.0]])


def softmax(z, axis=-1):
    e = np.exp(z - z.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def test_activations(tf):
    x = np.array([-2.0, 0.0, 3.0])
    same(tf.nn.relu(x), [0.0, 0.0, 3.0], "float64")
    same(tf.nn.relu([-1, 2]), [0, 2], "int32")
    same(tf.nn.sigmoid(x), sigmoid(x), "float64")
    same(tf.nn.softplus(x), np.log1p(np.exp(x)), "float64")
    same(tf.nn.softplus([-1000.0, 1000.0]), [0.0, 1000.0], "float32")
    same(slope(tf, tf.nn.relu, x), [0.0, 0.0, 1.0])


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(tf, axis):
    p = softmax(Z, axis)
    same(tf.nn.softmax(Z, axis=axis), p, "float64")
    same(tf.nn.log_softmax(Z, axis=axis), np.log(p), "float64")
    weights = np.arange(6.0).reshape(2, 3)
    inner = (p * weights).sum(axis, keepdims=True)
    same(slope(tf, lambda z: weights * tf.nn.softmax(z, axis), Z), p * (weights - inner))
    total = weights.sum(axis, keepdims=True)
    same(slope(tf, lambda z: weights * tf.nn.log_softmax(z, axis), Z), weights - p * total)


def test_softmax_of_large_logits(tf):
    same(tf.nn.softmax([1000.0, 1000.0]), [0.5, 0.5], "float32")
    same(tf.nn.log_softmax(logits=[1000.0, 0.0]), [0.0, -1000.0], "float32")


# --- Cross-entropies -----------------------------------------------------------------------------


def test_softmax_cross_entropy(tf):
    logits, labels = Z.copy(), np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    same(loss, [-(labels[0] @ np.log(softmax(Z[0]))), 100.0], "float64")
    dz = slope(tf, lambda z: tf.nn.softmax_cross_entropy_with_logits(labels, z), logits)
    same(dz, softmax(Z) - labels, "float64")


def test_softmax_cross_entropy_of_other_shapes_and_dtypes(tf):
    half = math.log(1 + math.exp(-1.0))
    entropy = tf.nn.softmax_cross_entropy_with_logits
    same(entropy(labels=[0.0, 1.0], logits=[1.0, 2.0]), half, "float32")
    same(entropy(labels=tf.constant([[0, 1]]), logits=[[1.0, 2.0]]), [half], "float32")
    same(entropy(labels=[[0.0], [1.0]], logits=[[1.0], [2.0]], axis=0), [half], "float32")
    assert entropy(labels=tf.zeros((2, 3, 4)), logits=tf.zeros((2, 3, 4))).shape == (2, 3)


def test_softmax_cross_entropy_reaches_the_labels(tf):
    labels, logits = [[0.25, 0.75]], [[1.0, 2.0]]
    dp, dz = slope(tf, tf.nn.softmax_cross_entropy_with_logits, labels, logits)
    same(dp, -np.log(softmax(np.array(logits))), "float32")
    same(dz, softmax(np.array(logits)) - labels, "float32")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sparse_softmax_cross_entropy(tf, dtype):
    labels = np.array([2, 1], dtype)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
    same(entropy(labels=labels, logits=Z), [-np.log(softmax(Z[0]))[2], 100.0], "float64")
    dz = slope(tf, lambda z: entropy(labels, z), Z)
    same(dz, softmax(Z) - np.eye(3)[labels], "float64")
    same(entropy(1, [1.0, 2.0]), math.log(1 + math.exp(-1.0)), "float32")


def test_second_derivative_of_the_cross_entropies(tf):
    z = tf.Variable([[1.0, 2.0]], dtype=tf.float64)
    p = softmax(z.numpy())[0]
    expected = np.diag(p) - np.outer(p, p)
    for loss in (
        lambda: tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], z),
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([1], z),
    ):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = loss()
            first = inner.gradient(y, z)
        same(outer.jacobian(first, z)[0, :, 0], expected, "float64")


def test_sigmoid_cross_entropy(tf):
    x, t = np.array([-100.0, -1.0, 0.0, 2.0, 100.0]), np.array([1.0, 0.0, 0.5, 1.0, 0.0])
    entropy = tf.nn.sigmoid_cross_entropy_with_logits
    expected = np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x)))
    same(entropy(labels=t, logits=x), expected, "float64")
    dt, dx = slope(tf, entropy, t, x)
    same(dx, sigmoid(x) - t, "float64")
    same(dt, -x, "float64")


LABELS = [[0.1, 0.9], [0.4, 0.6]]


@pytest.mark.parametrize(
    ("labels", "logits", "axis", "expected"),
    [
        (LABELS, [[1.0], [2.0]], -1, [math.log(2)] * 2),
        ([[0.5]], [[0.0, 1.0]], -1, [0.5 * 0.31326169 + 0.5 * 1.31326169]),
        ([[0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], -1, [0.31326169, 1.31326169]),
        ([0.0, 1.0], [[0.0, 1.0], [1.0, 0.0]], -1, [0.31326169, 1.31326169]),
        ([LABELS], [[1.0, 1.0], [2.0, 2.0]], -1, [math.log(2)] * 2),
        (LABELS, [[1.0, 2.0]], 0, [0.5 * math.log(2), 1.5 * math.log(2)]),
    ],
)
def test_softmax_cross_entropy_broadcasts_first(tf, labels, logits, axis, expected):
    same(tf.nn.softmax_cross_entropy_with_logits(labels, logits, axis), expected)


@pytest.mark.parametrize(
    ("labels", "logits", "axis"),
    [
        (LABELS, [[0.0, 1.0]], -1),  # the loss has the shape of the logits
        ([LABELS] * 3, LABELS, -1),
        (LABELS, [LABELS] * 3, -1),
        (LABELS, [LABELS] * 3, 1),
        ([[[0.1, 0.9]]] * 3, [LABELS] * 3, -1),
        (1.0, [1.0], -1),
        ([1.0], 1.0, -1),
        (LABELS, [[0.0, 1.0, 2.0]] * 2, -1),
    ],
)
def test_softmax_cross_entropy_of_shapes_that_do_not_fit(tf, labels, logits, axis):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.nn.softmax_cross_entropy_with_logits(labels, logits, axis)


def test_loss_of_nothing_is_no_negative_zero(tf):
    for loss in (
        tf.nn.sparse_softmax_cross_entropy_with_logits([0], [[3.0]]),
        tf.nn.softmax_cross_entropy_with_logits([[1.0]], [[3.0]]),
        tf.nn.sparse_softmax_cross_entropy_with_logits([1], [[0.0, 100.0]]),
        tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], [[0.0, 100.0]]),
        tf.nn.softmax_cross_entropy_with_logits(tf.zeros([1, 0]), tf.zeros([1, 0])),
    ):
        assert loss.numpy().tolist() == [0.0]
        assert not np.signbit(loss.numpy()[0])


def test_small_sigmoid_cross_entropy_keeps_its_digits(tf):
    x = [20.0, 30.0, 0.0]
    loss = tf.nn.sigmoid_cross_entropy_with_logits
    same(loss([1.0, 1.0, 0.5], x), [2.0611537e-09, 9.357623e-14, math.log(2)], rtol=1e-5, atol=0)
    dx = slope(tf, lambda x: loss([1.0, 1.0, 0.5], x), x)
    same(dx, [-2.0611537e-09, -9.357623e-14, 0.0], rtol=1e-5, atol=0)
