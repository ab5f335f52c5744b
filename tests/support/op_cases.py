"""The table of ops: one row for each op and public function, with reference, inputs and accuracy.

`test_ops.py` generates its tests from these rows. A new op needs its record, and one row here or in
the `cases_*.py` of its subject. `op_case.py` defines the fields of a row.
"""

import math
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.special
from op_case import ALL, FI, INTEGERS, MISSING, STOP, Case, F, listed, over

# References that NumPy lacks.


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu(x):
    return np.where(x < 0, np.expm1(x), x)


def quotient(x, y):
    if x.dtype.kind == "f":
        return x / y
    return np.divide(x, y, dtype="float32" if x.dtype.itemsize <= 2 else "float64")


def no_nan(function, x, y):
    return np.where(y == 0, np.zeros_like(x), function(x, np.where(y == 0, np.ones_like(y), y)))


def first_of_equals(function):
    """The first of 0.0 and -0.0, as at every tie."""
    return lambda x, y: np.where(x == y, x, function(x, y))


def libm(function):
    """A function of the C library, applied elementwise."""
    return np.vectorize(function, otypes=["float64"])


def normalized(x, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + epsilon)


def log_softmax(x, axis=-1):
    return x - scipy.special.logsumexp(x, axis, keepdims=True)


def mean(x, axis=None, keepdims=False):
    found = np.mean(x, axis, keepdims=keepdims)
    return found if x.dtype.kind == "f" else np.trunc(found).astype(x.dtype)


def cumulated(x, axis=0, exclusive=False, reverse=False):
    x = np.flip(x, axis) if reverse else x
    found = np.cumsum(x, axis, dtype=x.dtype)
    if exclusive:
        found = found - x
    return np.flip(found, axis) if reverse else found


def product_of(a, b, transpose_a=False, transpose_b=False):
    a = a.swapaxes(-1, -2) if transpose_a else a
    b = b.swapaxes(-1, -2) if transpose_b else b
    return np.einsum("...ij,...jk->...ik", a, b)


def length(x, ord="euclidean", axis=None, keepdims=False):
    pair = isinstance(axis, tuple)
    if axis is None:
        shape, x, axis = (1,) * x.ndim, x.ravel(), 0
        found = np.linalg.norm(x, None if ord == "euclidean" else ord, axis)
        return np.reshape(found, shape) if keepdims else found
    ord = ("fro" if pair else None) if ord == "euclidean" else ord
    return np.linalg.norm(x, ord, axis, keepdims)


def taken(x, indices, axis=None, batch_dims=0):
    if not batch_dims:
        return np.take(x, indices, 0 if axis is None else axis)
    at = (batch_dims if axis is None else axis) - 1
    rows = [taken(row, index, at, batch_dims - 1) for row, index in zip(x, indices, strict=True)]
    return np.stack(rows)


def masked(x, mask, axis=None):
    return np.compress(mask, x, axis or 0) if np.ndim(mask) == 1 else x[np.asarray(mask)]


def hot(indices, depth, on_value=1, off_value=0, axis=-1, dtype="float32"):
    found = np.where(indices[..., None] == np.arange(depth), on_value, off_value)
    return np.moveaxis(found, -1, axis).astype(dtype)


def padded(x, paddings, mode="CONSTANT", constant_values=0):
    if not np.ndim(x):
        return x
    if mode == "CONSTANT":
        return np.pad(x, paddings, constant_values=constant_values)
    return np.pad(x, paddings, mode=mode.lower())


def parts(x, num_or_size_splits, axis=0):
    if isinstance(num_or_size_splits, int):
        return np.split(x, num_or_size_splits, axis)
    sizes = [
        s if s >= 0 else x.shape[axis] - sum(num_or_size_splits) - 1 for s in num_or_size_splits
    ]
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def unstacked(x, axis=0):
    return list(np.moveaxis(x, axis, 0))


def contrast(x, contrast_factor):
    middle = x.mean((-3, -2), keepdims=True)
    return (x - middle) * contrast_factor + middle


def saturated(x, dtype):
    if np.dtype(dtype).kind == "f":
        return x.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(x.astype("float64"), limits.min, limits.max).astype(dtype)


# Elementwise ops.

U, BIG = (-0.95, 0.95), 1e3
POSITIVE = ((0.2, 4.0),)
TWO, APART = ((-2.0, 2.0),) * 2, ((-2.0, 2.0), (0.5, 2.0))
HALVES = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609.0]

UNARY = [
    Case("abs", np.abs, dtypes=FI, ulp=0),
    Case("negative", np.negative, dtypes=FI, ulp=0),
    Case("sign", np.sign, dtypes=FI, ulp=0),
    Case("square", np.square, dtypes=FI),
    Case("math.reciprocal", lambda x: 1 / x, POSITIVE),
    Case("identity", np.copy, dtypes=ALL, ulp=0),
    Case("stop_gradient", np.copy, dtypes=ALL, ulp=0, order=STOP),
    Case("sqrt", np.sqrt, POSITIVE, exact="sqrt"),
    Case("math.rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE, ulp=2),
    Case("exp", np.exp, ulp=3, exact="exp"),
    Case("math.expm1", np.expm1, ulp=2, exact="expm1"),
    Case("math.log", np.log, POSITIVE, ulp=4, exact="log"),
    Case("math.log1p", np.log1p, ((-0.8, 4.0),), ulp=2, exact="log1p"),
    Case("sin", np.sin, ulp=2, exact="sin"),
    Case("cos", np.cos, ulp=2, exact="cos"),
    Case("tan", np.tan, (U,), ulp=4, exact="tan"),
    Case("asin", np.arcsin, (U,), ulp=3, exact="asin"),
    Case("acos", np.arccos, (U,), ulp=3, exact="acos"),
    Case("atan", np.arctan, ulp=3, exact="atan"),
    Case("sinh", np.sinh, ulp=3, exact="sinh"),
    Case("cosh", np.cosh, ulp=3, exact="cosh"),
    Case("tanh", np.tanh, ulp=3, exact="tanh"),
    Case("asinh", np.arcsinh, ulp=3, exact="asinh"),
    Case("acosh", np.arccosh, ((1.3, 4.0),), ulp=3, exact="acosh"),
    Case("atanh", np.arctanh, (U,), ulp=3, exact="atanh"),
    Case("math.erf", libm(math.erf), ulp=3, exact="erf"),
    Case("math.erfc", libm(math.erfc), ulp=4, exact="erfc"),
    Case("sigmoid", sigmoid, ulp=4),
    Case("nn.softplus", softplus, ulp=3),
    Case("math.log_sigmoid", lambda x: -softplus(-x), ulp=3),
    Case("nn.relu", lambda x: np.where(x <= 0, x.dtype.type(0), x), dtypes=FI, ulp=0),
    Case(
        "nn.relu6",
        lambda x: np.where(x <= 0, x.dtype.type(0), np.minimum(x, 6)),
        ((-3.0, 9.0),),
        dtypes=FI,
        ulp=0,
    ),
    Case("nn.elu", elu, ulp=2),
    Case(
        "nn.selu",
        lambda x: 1.0507009873554805 * np.where(x < 0, 1.6732632423543772 * np.expm1(x), x),
        ulp=4,
    ),
    Case("nn.softsign", lambda x: x / (1 + np.abs(x)), ulp=2),
    Case(
        "nn.leaky_relu",
        lambda x, alpha=0.2: np.where(x > 0, x, alpha * x),
        ulp=2,
        options=[{}, {"alpha": 0.5}],
    ),
    Case("floor", np.floor, ((-9.0, 9.0),), ulp=0, order=STOP, special=[([HALVES], {})]),
    Case("math.ceil", np.ceil, ((-9.0, 9.0),), ulp=0, order=STOP, special=[([HALVES], {})]),
    Case("round", np.round, ((-9.0, 9.0),), dtypes=FI, ulp=0, order=STOP, special=[([HALVES], {})]),
    Case("math.is_nan", np.isnan, order=MISSING),
    Case("math.is_inf", np.isinf, order=MISSING),
    Case("math.is_finite", np.isfinite, order=MISSING),
    Case("logical_not", np.logical_not, dtypes=("bool",), order=STOP),
    Case("operator.invert", np.invert, dtypes=(*INTEGERS, "bool"), order=STOP),
    Case(
        "saturate_cast",
        saturated,
        ranges=((-400.0, 400.0),),
        ints=((-300, 300),),
        dtypes=FI,
        options=[{"dtype": "uint8"}, {"dtype": "int16"}],
        ulp=0,
        order=STOP,
        special=(),
    ),
    Case(
        "cast",
        lambda x, dtype: np.asarray(x).astype(dtype),
        ints=((0, 100),),
        ranges=((0, 99),),
        options=[{"dtype": dtype} for dtype in ALL],
        dtypes=ALL,
        ulp=0,
        order=1,
        special=(),
    ),
]

BINARY = [
    Case("add", np.add, TWO, dtypes=FI),
    Case("subtract", np.subtract, TWO, dtypes=FI),
    Case("multiply", np.multiply, TWO, dtypes=FI),
    Case("divide", quotient, APART, ints=((-20, 20), (1, 20)), dtypes=FI),
    Case(
        "math.floordiv",
        lambda x, y: np.floor(x / y) if x.dtype.kind == "f" else x // y,
        ((-9.0, 9.0), (0.5, 2.0)),
        ints=((-20, 20), (1, 20)),
        dtypes=FI,
        ulp=0,
        order=STOP,
    ),
    Case("math.floormod", np.mod, ((-9.0, 9.0), (0.5, 2.0)), ints=((-20, 20), (1, 20)), dtypes=FI),
    Case("pow", np.power, ((0.3, 2.0), (-2.0, 2.0)), ints=((-20, 20), (0, 5)), dtypes=FI, ulp=2),
    Case("math.squared_difference", lambda x, y: (x - y) * (x - y), TWO, dtypes=FI, ulp=3),
    Case("math.divide_no_nan", partial(no_nan, np.divide), APART),
    Case("math.multiply_no_nan", partial(no_nan, np.multiply), APART),
    Case("maximum", first_of_equals(np.maximum), TWO, dtypes=FI, ulp=0),
    Case("minimum", first_of_equals(np.minimum), TWO, dtypes=FI, ulp=0),
    Case("atan2", np.arctan2, TWO, ulp=3, exact="atan2"),
    *(
        Case(name, getattr(np, name), TWO, ints=((-3, 3),) * 2, dtypes=ALL, order=STOP)
        for name in ("equal", "not_equal")
    ),
    *(
        Case(name, getattr(np, name), TWO, ints=((-3, 3),) * 2, dtypes=FI, order=STOP)
        for name in ("less", "less_equal", "greater", "greater_equal")
    ),
    *(
        Case(name, getattr(np, name.removeprefix("math.")), TWO, dtypes=("bool",), order=STOP)
        for name in ("logical_and", "logical_or", "math.logical_xor")
    ),
    *(
        Case(
            f"operator.{name}",
            getattr(np, f"bitwise_{name.strip('_')}"),
            TWO,
            dtypes=(*INTEGERS, "bool"),
            order=STOP,
        )
        for name in ("and_", "or_", "xor")
    ),
]

TERNARY = [
    Case("where", np.where, (bool, *TWO), ints=(bool, (-9, 9), (-9, 9)), dtypes=ALL, ulp=0),
    Case(
        "clip_by_value",
        lambda x, low, high: first_of_equals(np.maximum)(first_of_equals(np.minimum)(x, high), low),
        ((-2.0, 2.0), (-1.0, -0.5), (0.5, 1.0)),
        ints=((0, 20), (0, 9), (10, 15)),
        dtypes=FI,
        ulp=0,
        widest=True,
    ),
]

WITH_NUMBER = [
    Case("operator.pow", lambda x, exponent: x * x, options=({"exponent": 2},), ulp=0.5),
]

# Reductions.

CUBE = ((3, 4, 2),)
AXES = [None, 0, -1, (0, 2), [1], ()]
REDUCED = [
    *over(CUBE, axis=AXES, keepdims=[False, True]),
    *over((), (1,), (5000,), (3, 1), (0, 3)),
    *over((0, 3), axis=[1]),
]
FILLED = [*over(CUBE, axis=AXES, keepdims=[False, True]), *over((), (1,), (300,), (3, 1))]
ODD = [[[np.nan, 1.0], [np.inf, 2.0]], [[-np.inf, np.inf], [0.0, -0.0]], [[-np.inf] * 2] * 2]
ROWS = [([x], {"axis": -1}) for x in ODD]
# The result for two zeros depends on their order.
UNSIGNED = [([np.add(x, 0.0)], {"axis": -1}) for x in ODD]


def reducing(function, dtypes=F, variants=REDUCED, **more):
    def reference(x, axis=None, keepdims=False):
        axis = tuple(axis) if isinstance(axis, list) else axis
        return function(x, axis=axis, keepdims=keepdims)

    return partial(Case, reference=reference, dtypes=dtypes, variants=variants, **more)


REDUCTIONS = [
    reducing(
        lambda x, axis, keepdims: np.sum(x, axis, keepdims=keepdims, dtype=x.dtype),
        FI,
        ulp=32,
        special=ROWS,
    )("reduce_sum"),
    reducing(mean, FI, FILLED, ulp=32, special=ROWS)("reduce_mean"),
    reducing(np.max, FI, FILLED, ulp=0, special=UNSIGNED)("reduce_max"),
    reducing(np.min, FI, FILLED, ulp=0, special=UNSIGNED)("reduce_min"),
    reducing(
        lambda x, axis, keepdims: np.prod(x, axis, keepdims=keepdims, dtype=x.dtype),
        FI,
        over(CUBE, axis=AXES, keepdims=[False, True]) + over((), (1,), (7,), (0, 3)),
        ulp=32,
        special=ROWS,
    )("reduce_prod"),
    reducing(np.var, variants=FILLED, ulp=32)("math.reduce_variance"),
    reducing(np.std, variants=over(CUBE, axis=[None, 0, (0, 2)]) + over((300,)), ulp=32)(
        "math.reduce_std"
    ),
    reducing(scipy.special.logsumexp, variants=FILLED, ulp=4, special=ROWS)("reduce_logsumexp"),
    reducing(np.all, ("bool",), order=STOP)("reduce_all"),
    reducing(np.any, ("bool",), order=STOP)("reduce_any"),
    *(
        Case(
            name,
            lambda x, axis=0, output_type="int64", f=f, worst=worst: f(
                np.where(x != x, worst, x), axis
            ).astype(output_type),
            variants=over(CUBE, axis=[0, 1, -1], output_type=["int64", "int32"]) + over((5000,)),
            dtypes=FI,
            order=STOP,
            special=ROWS,
        )
        for name, f, worst in (("argmax", np.argmax, -np.inf), ("argmin", np.argmin, np.inf))
    ),
    Case(
        "cumsum",
        cumulated,
        dtypes=FI,
        ulp=32,
        special=ROWS,
        variants=over(CUBE, (0, 2), axis=[0, -1], exclusive=[False, True], reverse=[False, True]),
    ),
    Case(
        "norm",
        length,
        ulp=8,
        variants=over(
            (3, 4), ord=["euclidean", 1, 2, 3, np.inf], axis=[None, 0, -1], keepdims=[False, True]
        )
        + over(CUBE, ord=["euclidean", 1, np.inf], axis=[(0, 1), (2, 0)], keepdims=[False, True]),
    ),
]

# Products of matrices, and the functions of nn.

LOGITS = over((3, 4), (2, 3, 4), axis=[-1, 0, 1])
FAR = [([[[1e4, 0.0], [-1e4, 0.0]]], {}), ([[[np.nan, 0.0], [0.0, 1.0]]], {})]

PRODUCTS = [
    Case(
        "matmul",
        product_of,
        TWO,
        ulp=32,
        dtypes=(*F, "int32", "int64"),
        variants=[
            *over(
                ((3, 4), (4, 2)),
                ((2, 3, 4), (4, 2)),
                ((3, 4), (2, 4, 2)),
                ((5, 1, 3, 4), (2, 4, 3)),
                ((0, 3), (3, 2)),
                ((2, 0), (0, 3)),
                ((1, 1), (1, 1)),
                ((65, 70), (70, 40)),
            ),
            *over(
                ((3, 3), (3, 3)),
                ((2, 3, 3), (3, 3)),
                transpose_a=[False, True],
                transpose_b=[False, True],
            ),
            *over(((4, 3), (4, 2)), transpose_a=[True]),
            *over(((3, 4), (2, 4)), transpose_b=[True]),
        ],
    ),
    Case(
        "linalg.matvec",
        lambda a, b: np.einsum("...ij,...j->...i", a, b),
        TWO,
        ulp=32,
        variants=over(((3, 4), (4,)), ((2, 3, 4), (2, 4))),
    ),
    Case(
        "tensordot",
        np.tensordot,
        TWO,
        ulp=32,
        variants=[
            *over(((3, 4), (4, 2)), axes=[1, 0, [[1], [0]], (1, 0)]),
            *over(((2, 3, 4), (3, 2, 5)), axes=[[[0, 1], [1, 0]], [[-2], [0]]]),
            *over(((3,), (3,)), ((3, 2), (2,)), axes=[1]),
            *over(((0, 3), (3, 2)), axes=[1]),
        ],
    ),
    Case(
        "nn.softmax",
        lambda x, axis=-1: np.exp(log_softmax(x, axis)),
        ulp=8,
        variants=LOGITS,
        special=FAR,
    ),
    Case("nn.log_softmax", log_softmax, ulp=8, variants=LOGITS, special=FAR),
    Case(
        "keras.layers.LayerNormalization",
        normalized,
        ulp=16,
        call=lambda layer, x, epsilon: layer(
            epsilon=epsilon, dtype=x.dtype.name, center=False, scale=False
        )(x),
        variants=over((3, 4), (2, 3, 40), epsilon=[0.1, 1.0]),
    ),
    Case(
        "nn.moments",
        lambda x, axes: [x.mean(tuple(axes)), x.var(tuple(axes))],
        ulp=16,
        call=lambda f, x, axes: list(f(x, axes)),
        variants=over((3, 4), axes=[(0,), (0, 1)]),
    ),
    Case(
        "nn.softmax_cross_entropy_with_logits",
        lambda p, x, axis=-1: -np.sum(p * log_softmax(x, axis), axis),
        TWO,
        ulp=8,
        variants=over(((3, 4), (3, 4)), ((2, 3, 4), (2, 3, 4)), axis=[-1, 0]),
    ),
    Case(
        "nn.sparse_softmax_cross_entropy_with_logits",
        lambda x, labels: (
            -np.take_along_axis(log_softmax(x), np.asarray(labels)[..., None], -1)[..., 0]
        ),
        ulp=8,
        call=lambda f, x, labels: f(labels, x),
        variants=[([(3, 4)], {"labels": np.array([0, 3, 1])}), ([(4,)], {"labels": np.array(2)})],
    ),
    Case(
        "nn.sigmoid_cross_entropy_with_logits",
        lambda z, x: np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x))),
        TWO,
        ulp=16,
        variants=over(((3, 4), (3, 4)), ((), ()), ((0,), (0,))),
    ),
    Case(
        "nn.leaky_relu",
        lambda x, alpha: np.where(x > 0, x, alpha * x),
        TWO,
        ulp=2,
        variants=over(((3, 4), ()), ((5,), ())),
    ),  # `UNARY` has slopes that are not tensors
    Case(
        "image.adjust_contrast",
        contrast,
        ulp=16,
        order=MISSING,
        variants=over((4, 5, 3), (2, 3, 3, 1), contrast_factor=[2.0]),
    ),
]

# Ops that move elements.

SQUARE = (4, 6)
move = partial(Case, dtypes=ALL, ulp=0)

MOVEMENTS = [
    move(
        "reshape",
        np.reshape,
        variants=over((4, 6), shape=[(24,), (2, -1), (3, 1, 8), -1])
        + over((0, 3), shape=[(3, 0)])
        + over((), shape=[(1, 1)]),
    ),
    move(
        "expand_dims", np.expand_dims, variants=over((4, 6), axis=[0, 1, -1]) + over((), axis=[0])
    ),
    move(
        "squeeze",
        lambda x, axis=None: np.squeeze(x, axis),
        variants=over((1, 3, 1), (1,)) + over((1, 3, 1), axis=[0, -1]),
    ),
    move(
        "transpose",
        lambda a, perm=None: np.transpose(a, perm),
        variants=over((), (3,), (4, 6), (2, 3, 4), (0, 3))
        + over((2, 3, 4), perm=[(0, 2, 1), (2, 0, 1)]),
    ),
    move(
        "broadcast_to",
        np.broadcast_to,
        variants=[
            *over((3, 1), shape=[(3, 4), (2, 3, 4)]),
            *over((), (1,), shape=[(5000,), (0,), (2, 3)]),
            *over((1, 2, 1, 3), shape=[(5, 2, 65, 3)]),
        ],
    ),
    move(
        "concat",
        lambda *xs, axis: np.concatenate(xs, axis),
        (*TWO, *TWO),
        call=listed,
        variants=[
            *over(((2, 3), (2, 3)), ((2, 3),), ((2, 3), (2, 3), (2, 3)), axis=[0, 1, -1]),
            *over(((2, 3), (0, 3), (5, 3)), axis=[0]),
        ],
        ints=((-20, 20),) * 3,
    ),
    move(
        "stack",
        lambda *xs, axis: np.stack(xs, axis),
        (*TWO, *TWO),
        call=listed,
        variants=over(((2, 3), (2, 3)), ((), ()), axis=[0, -1]) + over(((2, 3),) * 3, axis=[1]),
    ),
    move("unstack", unstacked, variants=over((3, 4), (2, 3, 4), axis=[0, 1, -1])),
    move(
        "split",
        parts,
        variants=[
            *over((4, 6), num_or_size_splits=[2, [1, 3], [3, -1], [0, 4]]),
            *over((4, 6), num_or_size_splits=[3], axis=[1, -1]),
        ],
    ),
    move(
        "slice",
        lambda x, begin, size: x[
            tuple(slice(b, None if s < 0 else b + s) for b, s in zip(begin, size, strict=True))
        ],
        variants=over((4, 6), begin=[(1, 2)], size=[(2, 3), (-1, 0), (3, -1)]),
    ),
    move("reverse", np.flip, variants=over((4, 6), (0, 6), axis=[[0], [1], [0, -1]])),
    move(
        "operator.getitem",
        lambda x, key: x[key],
        variants=over(
            (4, 6),
            key=[
                1,
                -1,
                (2, 3),
                slice(1, 3),
                slice(None, None, -2),
                (..., 0),
                (None, 1),
                (slice(0, 0), 2),
                (slice(3, 0, -1), slice(-4, None, 2)),
                ...,
            ],
        ),
    ),
    move(
        "pad",
        padded,
        variants=[
            *over(
                (4, 6),
                paddings=[[[1, 2], [0, 3]], [[0, 0], [0, 0]]],
                mode=["CONSTANT", "REFLECT", "SYMMETRIC"],
            ),
            *over((4, 6), paddings=[[[1, 0], [0, 1]]], constant_values=[1]),
            *over(
                (), paddings=[np.zeros((0, 2), "int32")], mode=["CONSTANT", "REFLECT", "SYMMETRIC"]
            ),
            *over((), paddings=[np.zeros((0, 2), "int32")], constant_values=[1]),
        ],
    ),
    move(
        "tile",
        lambda x, multiples: np.tile(x, multiples),
        variants=over((2, 3), multiples=[(2, 1), (1, 3), (2, 2), (0, 1)])
        + over((1, 2, 1, 1, 3), multiples=[(2, 1, 2, 1, 2)]),
    ),
    move(
        "repeat",
        np.repeat,
        variants=[
            *over((2, 3), repeats=[3, 0, 1, [2]], axis=[None, 0, -1]),
            *over((2, 3), repeats=[[3, 0, 1]], axis=[1, -1]),
            *over((2, 3), repeats=[[0, 2]], axis=[0]),
            *over((2, 3), repeats=[[1, 0, 2, 0, 0, 3]], axis=[None]),
        ],
    ),
    move(
        "gather",
        taken,
        variants=[
            *over(
                (4, 6),
                indices=[[0, 3, 3], 2, [[1, 1], [0, 2]], np.zeros(0, "int32")],
                axis=[None, 0, 1],
            ),
            *over((2, 3, 4), indices=[[[0, 2], [1, 1]]], axis=[None, 2], batch_dims=[1]),
            *over((2, 3, 4), indices=[[[0, 2, 1], [1, 1, 0]]], batch_dims=[2]),
        ],
    ),
    move(
        "boolean_mask",
        masked,
        variants=[
            *over((4, 6), mask=[np.array([True, False, True, True])], axis=[None, 0]),
            *over((2, 3), mask=[np.array([[True, False, True], [False] * 3])]),
        ],
    ),
    move("where", lambda x: np.argwhere(x), variants=over((4, 6), (0,)), order=STOP),
    move(
        "fill",
        lambda x, dims: np.full(dims, x),
        call=lambda f, x, dims: f(dims, x),
        variants=over((), dims=[(), (2, 3), (0,)]),
    ),
    Case(
        "linspace",
        lambda a, b, num, axis=0: np.linspace(a, b, num, axis=axis),
        TWO,
        ulp=4,
        variants=over(((), ()), num=[0, 1, 2, 7])
        + over(((3,), (3,)), ((2, 1), (3,)), num=[1, 5], axis=[0, 1, -1]),
    ),
    move("random.shuffle", np.copy, variants=over((1, 3)), order=STOP),
    move("zeros_like", np.zeros_like, variants=over((4, 6), (), (0, 3)), order=STOP),
    move("ones_like", np.ones_like, variants=over((4, 6), (), (0, 3)), order=STOP),
    Case(
        "one_hot",
        hot,
        ints=((0, 4),),
        dtypes=INTEGERS,
        ulp=0,
        order=STOP,
        variants=over((3,), (), (2, 3), depth=[4, 2], axis=[-1, 0])
        + over((3,), depth=[4], on_value=[5], off_value=[1], dtype=["int64"]),
    ),
]

ELEMENTWISE = [*UNARY, *BINARY, *TERNARY, *WITH_NUMBER]
# Rows of other subjects, from files with their own `CASES`.
SUBJECTS = [import_module(path.stem) for path in sorted(Path(__file__).parent.glob("cases_*.py"))]
CASES = [
    *ELEMENTWISE,
    *REDUCTIONS,
    *PRODUCTS,
    *MOVEMENTS,
    *(case for subject in SUBJECTS for case in subject.CASES),
]

# Error bounds for a GPU where they exceed `ulp`, because libdevice's functions differ from the
# CPU's. Each is the larger of NVIDIA's figures for float32 and float64, which are relative to the
# rounded exact value, plus half a unit for the rounding. Softplus and its kin add up the bounds of
# exp and log1p.
ON_GPU = {
    "math.rsqrt": 2.5,
    "math.expm1": 2.5,
    "math.log1p": 2.5,
    "sin": 2.5,
    "cos": 2.5,
    "tan": 4.5,
    "sinh": 3.5,
    "cosh": 3.5,
    "asinh": 3.5,
    "acosh": 4.5,
    "atanh": 3.5,
    "atan2": 3.5,
    "math.erfc": 5.5,
    "pow": 4.5,
    "nn.softplus": 4,
    "math.log_sigmoid": 4,
    "nn.elu": 2.5,
}

# Public functions without a row: they create tensors (test_api.py) or draw them (test_random.py).
MAKERS = {
    "as_dtype",
    "constant",
    "convert_to_tensor",
    "eye",
    "is_tensor",
    "kernels_folder",
    "ones",
    "range",
    "rank",
    "shape",
    "size",
    "zeros",
    "collapse_repeated",
    "dropout",
    "experimental",  # tests/ops/test_conv.py
    # These take functions: tests/replay/test_function.py, tests/api/test_control_flow.py.
    "cond",
    "function",
    "map_fn",
    "scan",
    "vectorized_map",
    "while_loop",
    # Covered by tests/api/test_debugging.py.
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
}
for _subject in SUBJECTS:
    MAKERS |= getattr(_subject, "MAKERS", set())
