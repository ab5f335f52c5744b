"""Rows of activations, truncating division, bit operations, and composite functions."""

import math
import operator
from functools import partial

import numpy as np
from op_case import INTEGERS, MISSING, STOP, Case, F, over

SMALL = over((3, 2), (), (0, 3))
PAIRS = over(((3, 1), (1, 2)), ((2,), ()), ((0, 3), (3,)))
TWO, WHOLE = ((-2.0, 2.0),) * 2, ((-9.0, 9.0), (0.5, 2.0))


def libm(function):
    """A function of the C library, applied elementwise."""
    return np.vectorize(function, otypes=["float64"])


def silu(x, beta=1.0):
    return x / (1 + np.exp(-beta * x))


def gelu(x, approximate=False):
    if approximate:
        return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2
    return x * libm(math.erfc)(-x / np.sqrt(2)) / 2


def truncated(x, y):
    found = np.trunc(x / y) if x.dtype.kind == "f" else np.trunc(x.astype("f8") / y)
    return found.astype(x.dtype)


def moved(x, y, shift):
    return shift(x, np.clip(y, 0, 8 * x.itemsize - 1).astype(x.dtype))


def in_order(compare):
    return lambda x: np.all(compare(np.ravel(x)[1:], np.ravel(x)[:-1]))


def nearest(x, axis=-1):
    """The nearest point of the simplex, by bisection."""
    low, high = x.min(axis, keepdims=True) - 1, x.max(axis, keepdims=True)
    for _ in range(80):
        middle = (low + high) / 2
        much = np.maximum(x - middle, 0).sum(axis, keepdims=True) > 1
        low, high = np.where(much, middle, low), np.where(much, high, middle)
    return np.maximum(x - low, 0)


ints = partial(Case, variants=PAIRS, dtypes=INTEGERS, ulp=0, order=STOP)
ACTIVATIONS = [
    Case(
        "nn.silu",
        silu,
        ulp=6,
        options=[{}, {"beta": 0.5}],
        special=[([[0.0, 1.0, -1.0, 50.0, -50.0]], {})],
    ),
    Case(
        "nn.gelu",
        gelu,
        ulp=40,
        options=[{}, {"approximate": True}],
        special=[([[0.0, 1.0, 2.0, 50.0]], {})],
    ),
    Case(
        "nn.crelu",
        lambda x, axis=-1: np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], axis),
        variants=over((3, 2), axis=[-1, 0]),
        ulp=0,
        dtypes=(*F, "int32"),
    ),
    Case(
        "keras.activations.sparsemax",
        nearest,
        ulp=16,
        variants=[*over((3, 4), axis=[-1, 0]), *over((2, 3, 4), axis=[1]), *over((1,))],
    ),
    *(
        Case(f"keras.activations.{name}", reference, variants=SMALL, ulp=16, ranges=((-4.0, 4.0),))
        for name, reference in {
            "celu": lambda x: np.maximum(x, 0) + np.expm1(np.minimum(x, 0)),
            "hard_shrink": lambda x: np.where(np.abs(x) > 0.5, x, 0),
            "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
            "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
            "hard_tanh": lambda x: np.clip(x, -1, 1),
            "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
            "soft_shrink": lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
            "sparse_plus": lambda x: np.where(x < 1, np.maximum(x + 1, 0) ** 2 / 4, x),
            "sparse_sigmoid": lambda x: np.clip(x / 2 + 0.5, 0, 1),
            "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
            "tanh_shrink": lambda x: x - np.tanh(x),
        }.items()
    ),
    Case(
        "keras.activations.glu",
        lambda x: x[..., :2] / (1 + np.exp(-x[..., 2:])),
        ulp=8,
        variants=over((3, 4)),
    ),
]

CASES = [
    *ACTIVATIONS,
    Case("math.rint", np.rint, ((-9.0, 9.0),), ulp=0, order=STOP),
    Case(
        "truncatediv",
        truncated,
        WHOLE,
        ints=((-20, 20), (1, 20)),
        ulp=0,
        order=STOP,
        dtypes=(*F, *INTEGERS),
        variants=PAIRS,
    ),
    Case(
        "truncatemod",
        np.fmod,
        WHOLE,
        ints=((-20, 20), (1, 20)),
        ulp=0,
        order=MISSING,
        dtypes=(*F, "int32", "int64"),
        variants=PAIRS,
    ),
    Case("realdiv", np.divide, ((-2.0, 2.0), (0.5, 2.0)), variants=PAIRS),
    Case(
        "math.reciprocal_no_nan",
        lambda x: np.where(x == 0, 0, 1 / np.where(x == 0, 1, x)),
        ((0.2, 4.0),),
        variants=SMALL,
        special=[([[0.0, -0.0, np.inf, np.nan]], {})],
    ),
    Case(
        "scalar_mul", operator.mul, TWO, variants=over(((), (3, 2)), ((), ())), dtypes=(*F, "int32")
    ),
    Case(
        "math.polyval",
        lambda *c: np.polyval(np.asarray(c[:-1]), c[-1]),
        TWO,
        ulp=8,
        call=lambda f, *c: f(list(c[:-1]), c[-1]),
        variants=over(((), (), (), (3, 2))),
    ),
    *(
        Case(
            f"math.{name}",
            in_order(compare),
            variants=over((3, 2), (1,), (0,)),
            order=STOP,
            special=[([[1.0, 1.0, 2.0]], {}), ([[1.0, 2.0, np.nan]], {})],
        )
        for name, compare in (
            ("is_non_decreasing", np.greater_equal),
            ("is_strictly_increasing", np.greater),
        )
    ),
    *(
        ints(f"bitwise.{name}", getattr(np, name))
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    ),
    ints("bitwise.invert", np.invert, variants=SMALL),
    *(
        ints(f"bitwise.{name}", partial(moved, shift=getattr(np, name)), ints=((0, 9), (-3, 40)))
        for name in ("left_shift", "right_shift")
    ),
]
