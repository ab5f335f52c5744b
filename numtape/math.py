"""``tf.math``: elementwise functions and reductions."""

from __future__ import annotations

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
    divide,
    divide_no_nan,
    equal,
    erf,
    erfc,
    exp,
    expm1,
    floor,
    floordiv,
    floormod,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    log,
    log1p,
    log_sigmoid,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    multiply_no_nan,
    negative,
    not_equal,
    reciprocal,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    softplus,
    softsign,
    sqrt,
    square,
    squared_difference,
    subtract,
    tan,
    tanh,
)
from .core.ops.elementwise import ceil as ceiling
from .core.ops.elementwise import divide as truediv
from .core.ops.elementwise import floormod as mod
from .core.ops.elementwise import pow_ as pow
from .core.ops.elementwise import round_ as round
from .core.ops.nn import log_softmax, softmax
from .core.ops.reduction import (
    argmax,
    argmin,
    cumsum,
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

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]
