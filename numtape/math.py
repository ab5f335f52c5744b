"""``tf.math``: elementwise functions and reductions."""

from __future__ import annotations

import typing as _typing

from . import math_special as special
from .core.ops.activations import log_sigmoid, sigmoid, softplus, softsign
from .core.ops.along_axis import argmax, argmin, cumprod, cumsum, cumulative_logsumexp
from .core.ops.arithmetic import (
    divide,
    divide_no_nan,
    floordiv,
    floormod,
    reciprocal_no_nan,
)
from .core.ops.arithmetic import divide as truediv
from .core.ops.arithmetic import floormod as mod
from .core.ops.arithmetic import pow_ as pow
from .core.ops.bessel import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e
from .core.ops.clipping import (
    accumulate_n,
    add_n,
    l2_normalize,
    reduce_euclidean_norm,
)
from .core.ops.comparison import (
    equal,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from .core.ops.complex import angle, conj, imag, real
from .core.ops.composed import is_non_decreasing, is_strictly_increasing, polyval, scalar_mul
from .core.ops.counting import (
    bincount,
    confusion_matrix,
    count_nonzero,
    zero_fraction,
)
from .core.ops.elementwise import abs_ as abs
from .core.ops.elementwise import (
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    expm1,
    floor,
    log,
    log1p,
    maximum,
    minimum,
    multiply,
    multiply_no_nan,
    negative,
    reciprocal,
    rint,
    rsqrt,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    squared_difference,
    subtract,
    tan,
    tanh,
)
from .core.ops.elementwise import ceil as ceiling
from .core.ops.elementwise import round_ as round
from .core.ops.gamma import betainc, digamma, igamma, igammac, lbeta, lgamma, polygamma, zeta
from .core.ops.partition import invert_permutation
from .core.ops.reduction import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_std,
    reduce_sum,
    reduce_variance,
)
from .core.ops.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from .core.ops.softmax_losses import log_softmax, softmax
from .core.ops.sorting import in_top_k, top_k
from .core.ops.special import erfcinv, erfinv, ndtri, nextafter, sinc, xdivy, xlog1py, xlogy
from .names import getter as _getter

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "argmax", "argmin", "asin",
    "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e",
    "betainc", "bincount", "ceil", "ceiling", "confusion_matrix", "conj", "cos", "cosh",
    "count_nonzero", "cumprod", "cumsum", "cumulative_logsumexp", "digamma", "divide",
    "divide_no_nan", "equal", "erf", "erfc", "erfcinv", "erfinv", "exp", "expm1", "floor",
    "floordiv", "floormod", "greater", "greater_equal", "igamma", "igammac", "imag", "in_top_k",
    "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
    "is_strictly_increasing", "l2_normalize", "lbeta", "less", "less_equal", "lgamma", "log",
    "log1p", "log_sigmoid", "log_softmax", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "mod", "multiply", "multiply_no_nan", "ndtri",
    "negative", "nextafter", "not_equal", "polygamma", "polyval", "pow", "real", "reciprocal",
    "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std",
    "reduce_sum", "reduce_variance", "rint", "round", "rsqrt", "scalar_mul", "segment_max",
    "segment_mean", "segment_min", "segment_prod", "segment_sum", "sigmoid", "sign", "sin",
    "sinc", "sinh", "softmax", "softplus", "softsign", "special", "sqrt", "square",
    "squared_difference", "subtract", "tan", "tanh", "top_k", "truediv", "unsorted_segment_max",
    "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_prod",
    "unsorted_segment_sqrt_n", "unsorted_segment_sum", "xdivy", "xlog1py", "xlogy",
    "zero_fraction", "zeta",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
