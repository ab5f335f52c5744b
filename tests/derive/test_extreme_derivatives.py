"""Derivatives at extreme operands: if the exact one is finite, numtape's is finite and correct.

The references are differences with thousands of bits (mpmath), to third order. A rule must not
compute intermediate values that overflow, or that belong to a branch that is not taken.
"""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from op_cases import BINARY, MISSING, STOP, UNARY

pytestmark = pytest.mark.numtape_only(reason="checks numtape's rules")

SELU = mpf("1.0507009873554804934193349852946"), mpf("1.6732632423543772848170429916717")


def expm1(x):
    return mpmath.exp(x) - 1


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def softplus(x):
    return mpmath.log(1 + mpmath.exp(x))


def power(x, y):
    """A power, or None where it is not smooth or not real."""
    return mpmath.power(x, y) if x > 0 else None


def floormod(x, y):
    return x - y * mpmath.floor(x / y)


def clip(x, low, high):
    return max(min(x, high), low)


# The functions of op_cases.py, and their kinks (in x, or in x - y).
SMOOTH = {
    "negative": lambda x: -x,
    "square": lambda x: x * x,
    "math.reciprocal": lambda x: 1 / x,
    "identity": lambda x: x,
    "sqrt": mpmath.sqrt,
    "math.rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "exp": mpmath.exp,
    "math.expm1": expm1,
    "math.log": mpmath.log,
    "math.log1p": lambda x: mpmath.log(1 + x),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "math.erf": mpmath.erf,
    "math.erfc": mpmath.erfc,
    "sigmoid": sigmoid,
    "nn.softplus": softplus,
    "math.log_sigmoid": lambda x: -softplus(-x),
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "math.floormod": floormod,
    "pow": power,
    "math.squared_difference": lambda x, y: (x - y) ** 2,
    "math.divide_no_nan": lambda x, y: x / y,
    "math.multiply_no_nan": lambda x, y: x * y,
    "atan2": mpmath.atan2,
    "cast": lambda x: x,
}
KINKED = {
    "abs": abs,
    "sign": mpmath.sign,
    "nn.relu": lambda x: max(x, 0),
    "nn.relu6": lambda x: min(max(x, 0), 6),
    "nn.elu": lambda x: x if x > 0 else expm1(x),
    "nn.selu": lambda x: SELU[0] * (x if x > 0 else SELU[1] * expm1(x)),
    "nn.softsign": lambda x: x / (1 + abs(x)),
    "nn.leaky_relu": lambda x: x if x > 0 else x * mpf(np.float32(0.2).item()),
    "maximum": max,
    "minimum": min,
}


def test_every_smooth_row_is_here():
    rows = {case.name for case in UNARY + BINARY if case.order not in (STOP, MISSING)}
    assert rows - SMOOTH.keys() - KINKED.keys() == {"math.is_nan"} & rows


def points(dtype):
    """Numbers of every magnitude, points of overflow and underflow, and both zeros."""
    limits = np.finfo(dtype)
    largest, e = float(limits.max), float(np.log(limits.max))
    found = [
        0.0,
        0.3,
        1.0,
        7.0,
        0.99 * e,
        1.01 * e,
        2.3 * e,
        largest**0.3,
        largest**0.51,
        largest**0.8,
        largest / 8,
        float(limits.eps),
        float(limits.tiny) ** 0.51,
        float(limits.smallest_subnormal) * 5,
        1 - float(limits.epsneg),
    ]
    return np.array([sign * x for x in found for sign in (1, -1)], dtype)


class Truth:
    """The derivatives of a function at a point, by high-precision differences."""

    def __init__(self, function, at):
        self.function, self.at, self.values = function, tuple(map(mpf, at)), {}
        self.bits = 2000 + 3 * max(abs(mpmath.frexp(x)[1]) for x in self.at)
        self.steps = [mpf(2) ** -150 * min(1, abs(x) or 1) for x in self.at]

    def __call__(self, axes):
        """The mixed derivative along these axes, or None if undefined."""
        found = mpf(0)
        with mpmath.workprec(self.bits):
            for signs in product((1, -1), repeat=len(axes)):
                offset = [0] * len(self.at)
                for j, sign in zip(axes, signs, strict=True):
                    offset[j] += sign
                value = self._value(tuple(offset))
                if value is None:
                    return None
                found += math.prod(signs) * value
            for j in axes:
                found /= 2 * self.steps[j]
            return found

    def _value(self, offset):
        if offset not in self.values:
            moved = [x + k * h for x, k, h in zip(self.at, offset, self.steps, strict=True)]
            try:
                value = self.function(*moved)
            except (ZeroDivisionError, ValueError, OverflowError):
                value = None
            if isinstance(value, mpmath.mpc) or value is None or not mpmath.isfinite(value):
                value = None
            self.values[offset] = value
        return self.values[offset]


def ours(tf, function, operands, axes):
    """The derivatives along the first axis, the first two and so on, for all points."""
    tensors, found = [tf.constant(x) for x in operands], []

    def along(axes):
        if not axes:
            return function(*tensors)
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            y = along(axes[:-1])
        found.append(tape.gradient(y, tensors[axes[-1]], unconnected_gradients="zero"))
        return found[-1]

    along(axes)
    return [x.numpy().astype(float) for x in found]


def compare(tf, name, function, operands, sequences):
    """If all lower derivatives are representable, the error is bounded by that of the terms."""
    limits = np.finfo(operands[0].dtype)
    largest, eps, tiny = float(limits.max), float(limits.eps), float(limits.tiny)
    exact = (SMOOTH | KINKED)[name]
    truths = [Truth(exact, map(float, at)) for at in zip(*operands, strict=True)]
    wrong = []
    for axes in sequences:
        found = ours(tf, function, operands, axes)
        for k, truth in enumerate(truths):
            scale = 0.0
            for order in range(len(axes) + 1):
                right = truth(axes[:order])
                if right is None or abs(right) > largest:
                    break
                if not order:
                    continue
                scale = max(scale, abs(float(right)))
                actual = found[order - 1][k]
                limit = 1e-3 * abs(float(right)) + 64 * eps * scale + 8 * tiny
                if not abs(actual - float(right)) <= limit:
                    where = [float(x) for x in truth.at]
                    wrong.append(f"{axes[:order]} at {where}: {actual!r}, not {float(right)!r}")
    assert not wrong, f"{name}: {len(wrong)} wrong\n" + "\n".join(dict.fromkeys(wrong))


BY_NAME = {case.name: case for case in UNARY + BINARY}
SINGLE = [name for name in [*SMOOTH, *KINKED] if len(BY_NAME[name].ranges) == 1]
PAIRS = [name for name in [*SMOOTH, *KINKED] if len(BY_NAME[name].ranges) == 2]
OPTIONS = {"cast": {"dtype": "float64"}}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SINGLE)
def test_derivatives_of_one_operand(tf, name, dtype):
    x = points(dtype)
    if name in KINKED:
        x = x[x != 0]
    function = BY_NAME[name].function(tf)
    compare(tf, name, lambda x: function(x, **OPTIONS.get(name, {})), [x], [(0, 0, 0)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PAIRS)
def test_derivatives_of_two_operands(tf, name, dtype):
    random = np.random.default_rng(0)
    some = points(dtype)
    x, y = random.choice(some[np.isfinite(some)], (2, 40))
    with np.errstate(all="ignore"):
        x[:8] = y[:8] * random.uniform(0.5, 2, 8).astype(dtype)  # of similar magnitude
    y[8:24] = random.uniform(-3, 3, 16).astype(dtype)
    kept = np.isfinite(x) & (x != y)
    if name == "math.floormod":
        with np.errstate(all="ignore"):
            kept &= (np.abs(x / y) < 1e6) & (x / y % 1 != 0)
    if name == "atan2":  # the branch cut
        kept &= (x != 0) | (y > 0)
    if name == "pow":  # the third derivative has a factor y ** 3
        kept &= np.abs(y) < float(np.finfo(dtype).max) ** 0.33
    compare(
        tf,
        name,
        BY_NAME[name].function(tf),
        [x[kept], y[kept]],
        [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1)],
    )


# The first derivative at -inf and inf, if it has a limit there.
INFINITE = {
    "math.reciprocal": (0, 0),
    "math.rsqrt": (None, 0),
    "sqrt": (None, 0),
    "exp": (0, None),
    "math.expm1": (0, None),
    "math.log": (None, 0),
    "math.log1p": (None, 0),
    "atan": (0, 0),
    "tanh": (0, 0),
    "asinh": (0, 0),
    "acosh": (None, 0),
    "math.erf": (0, 0),
    "math.erfc": (0, 0),
    "sigmoid": (0, 0),
    "nn.softplus": (0, 1),
    "math.log_sigmoid": (1, 0),
    "nn.relu": (0, 1),
    "nn.relu6": (0, 0),
    "nn.elu": (0, 1),
    "nn.selu": (0, SELU[0]),
    "nn.softsign": (0, 0),
    "nn.leaky_relu": (0.2, 1),
    "abs": (-1, 1),
    "sign": (0, 0),
    "negative": (-1, -1),
}


@pytest.mark.parametrize("name", INFINITE)
def test_slope_at_infinity(tf, name):
    found = ours(tf, BY_NAME[name].function(tf), [np.array([-np.inf, np.inf], "float32")], (0,))
    for actual, right in zip(found[0], INFINITE[name], strict=True):
        assert right is None or actual == pytest.approx(float(right), rel=1e-6)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1), (1, 0, 0), (1, 1, 1)])
def test_powers_of_zero(tf, axes):
    """In the derivative by the exponent, power times logarithm has a limit."""
    x, y = np.zeros(3, "float32"), np.array([3.5, 4.0, 5.0], "float32")
    assert np.all(ours(tf, tf.pow, [x, y], axes)[-1] == 0)


LOGITS = [[0.5, -1.0, 2.0], [3.0, 2.0, -30.0]]
SHIFTED = {
    "reduce_logsumexp": lambda tf, x: tf.reduce_logsumexp(x, -1),
    "softmax": lambda tf, x: tf.nn.softmax(x)[:, 0],
    "log_softmax": lambda tf, x: tf.nn.log_softmax(x)[:, 1],
    "cross-entropy": lambda tf, x: tf.nn.softmax_cross_entropy_with_logits(
        tf.constant([[0.2, 0.3, 0.5]] * 2, "float64"), x
    ),
    "sparse cross-entropy": lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 2], x),
}


@pytest.mark.parametrize("name", SHIFTED)
@pytest.mark.parametrize("shift", [2.0**20, -(2.0**20)])
def test_what_a_shift_does_not_change(tf, name, shift):
    """Functions of logits whose exp() overflows or underflows."""
    near, far = (
        ours(tf, lambda x: SHIFTED[name](tf, x), [np.array(LOGITS) + c], (0, 0, 0))
        for c in (0.0, shift)
    )
    for right, actual in zip(near, far, strict=True):
        assert np.all(np.isfinite(actual))
        np.testing.assert_allclose(actual, right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [1, 2])
def test_powers_without_rounding_errors(tf, dtype, exponent):
    """A number as exponent has the bits and the derivative of a tensor as exponent."""
    x = np.random.default_rng(0).normal(0, 1e3, 300).astype(dtype)
    x[:5] = 0, -0.0, np.inf, -np.inf, np.nan
    g = np.ones_like(x)
    g[:40:2] = 0
    values, slopes = [], []
    for y in exponent, float(exponent), tf.constant(exponent, dtype):
        operand = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(operand)
            value = operand**y
        values.append(value.numpy())
        slopes.append(tape.gradient(value, operand, g).numpy())
    exact = x if exponent == 1 else x * x
    for value, slope in zip(values, slopes, strict=True):
        assert value.tobytes() == exact.tobytes()
        np.testing.assert_array_equal(slope, slopes[0])
    assert (slopes[0][:40:2] == 0).all()
