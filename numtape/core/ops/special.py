"""Special functions of one number, inverses of the error function, products that are 0 times NaN.

Those of the gamma function are in `gamma`, Bessel's in `bessel`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..log.op import ARRAY, STOP, Op, defop
from ..log.record import Recorder, record
from ..log.tensors import as_tensor
from ..values.tensor import Tensor
from . import rules
from .define import binary_op, host_op, name_of, unary_op
from .elementwise import cos, exp, multiply_no_nan, negative, ratio_or_zero, sin, square

Array = np.ndarray[Any, Any]

# Products and quotients that are 0 where the first operand is.

_counts = unary_op("NonZero", "select(x == 0, 0, 1)", spec=rules.analytic, gradient=STOP)
xlogy: Recorder = binary_op(
    "Xlogy",
    "select(x == 0, x, x * log(y))",
    lambda g, z, x, y: (multiply_no_nan(xlogy(_counts(x), y), g), multiply_no_nan(xdivy(x, y), g)),
    rules.analytic,
    doc="""
    ``x * log(y)``, but 0 where ``x`` is 0, whatever ``y`` is, elementwise.

    The derivatives follow the same rule.

    >>> tf.math.xlogy([0.0, 2.0], [0.0, 3.0]).numpy()
    array([0.       , 2.1972246], dtype=float32)
""",
)
xlog1py: Recorder = binary_op(
    "Xlog1py",
    "select(x == 0, x, x * log1p(y))",
    lambda g, z, x, y: (
        multiply_no_nan(xlog1py(_counts(x), y), g),
        multiply_no_nan(xdivy(x, y + 1.0), g),
    ),
    rules.analytic,
    doc="""
    ``x * log(1 + y)``, but 0 where ``x`` is 0, whatever ``y`` is, elementwise.

    The derivatives follow the same rule.

    >>> tf.math.xlog1py([0.0, 2.0], [-1.0, 1e-10]).numpy()
    array([0.e+00, 2.e-10], dtype=float32)
""",
)
xdivy: Recorder = binary_op(
    "Xdivy",
    "select(x == 0, x, x / y)",
    lambda g, z, x, y: (
        multiply_no_nan(xdivy(_counts(x), y), g),
        multiply_no_nan(negative(xdivy(z, y)), g),
    ),
    rules.analytic,
    doc="""
    ``x / y``, but 0 where ``x`` is 0, whatever ``y`` is, elementwise.

    The derivatives follow the same rule.

    >>> tf.math.xdivy([0.0, 2.0], [0.0, 4.0]).numpy()
    array([0. , 0.5], dtype=float32)
""",
)


def _nextafter(x: Array, y: Array) -> Array:
    return np.asarray(np.nextafter(x, y))


nextafter = host_op(
    "NextAfter",
    _nextafter,
    lambda g, z, x, y: (g, 0.0 * g),
    arguments="x1 x2",
    doc="""
    The next number after ``x1`` on the way to ``x2``, elementwise.

    Its derivative by ``x1`` is 1, by ``x2`` it is 0.

    >>> tf.math.nextafter([1.0], [2.0]).numpy()
    array([1.0000001], dtype=float32)
""",
)

# Inverses of the error function and its kin.

erfinv = host_op(
    "Erfinv",
    "scipy.special.erfinv",
    lambda g, y, x: (multiply_no_nan(math.sqrt(math.pi) / 2 * exp(square(y)), g),),
    doc="""
    The inverse of `erf`, elementwise: infinite at -1 and 1, NaN beyond.

    >>> tf.math.erfinv([0.0, 0.5, 1.0]).numpy()
    array([0.        , 0.47693628,        inf], dtype=float32)
""",
)
erfcinv = host_op(
    "Erfcinv",
    "scipy.special.erfcinv",
    lambda g, y, x: (multiply_no_nan(-math.sqrt(math.pi) / 2 * exp(square(y)), g),),
    doc="""
    The inverse of `erfc`, elementwise, with all its digits near 0; infinite at 0 and 2.

    >>> tf.math.erfcinv([1.0, 1e-5]).numpy()
    array([0.       , 3.1234133], dtype=float32)
""",
)
ndtri = host_op(
    "Ndtri",
    "scipy.special.ndtri",
    lambda g, y, x: (multiply_no_nan(math.sqrt(2 * math.pi) * exp(0.5 * square(y)), g),),
    doc="""
    The quantile of the standard normal distribution, elementwise; infinite at 0 and 1.

    >>> tf.math.ndtri([0.5, 0.975]).numpy()
    array([0.       , 1.9599639], dtype=float32)
""",
)

# Integrals.


def _expint(x: Array) -> Array:
    from scipy.special import expi

    wide = np.asarray(x, np.float64)
    return np.where(wide < 0, np.nan, expi(wide))


def _fresnel(which: int) -> Any:
    def compute(x: Array) -> Array:
        from scipy.special import fresnel

        wide = np.asarray(x, np.float64)
        # SciPy overflows far out, where only the limit is left.
        return np.where(np.abs(wide) > 1e100, np.copysign(0.5, wide), fresnel(wide)[which])

    return compute


dawsn = host_op(
    "Dawsn",
    "scipy.special.dawsn",
    lambda g, y, x: (g * (1.0 - 2.0 * x * y),),
    doc="""
    Dawson's integral ``exp(-x * x) * integral of exp(t * t) from 0 to x``, elementwise.

    >>> tf.math.special.dawsn([0.0, 1.0]).numpy()
    array([0.        , 0.53807951], dtype=float32)
""",
)
expint = host_op(
    "Expint",
    _expint,
    lambda g, y, x: (ratio_or_zero(g * exp(x), x),),
    doc="""
    The exponential integral, elementwise: ``exp(t) / t`` from minus infinity to ``x``.

    It is for positive numbers; minus infinity at 0, NaN for negative ones, as in TensorFlow.

    >>> tf.math.special.expint([1.0, 2.0]).numpy()
    array([1.8951178, 4.9542346], dtype=float32)
""",
)
fresnel_cos = host_op(
    "FresnelCos",
    _fresnel(1),
    lambda g, y, x: (g * cos(math.pi / 2 * square(x)),),
    doc="""
    Fresnel's cosine integral, elementwise: of ``cos(pi / 2 * t * t)`` from 0 to ``x``.

    >>> tf.math.special.fresnel_cos([0.0, 1.0]).numpy()
    array([0.       , 0.7798934], dtype=float32)
""",
)
fresnel_sin = host_op(
    "FresnelSin",
    _fresnel(0),
    lambda g, y, x: (g * sin(math.pi / 2 * square(x)),),
    doc="""
    Fresnel's sine integral, elementwise: of ``sin(pi / 2 * t * t)`` from 0 to ``x``.

    >>> tf.math.special.fresnel_sin([0.0, 1.0]).numpy()
    array([0.        , 0.43825915], dtype=float32)
""",
)


def _log_ratio(out: Array, x: Array, order: int) -> None:
    """The derivative of this order of ``log(x) / (1 - x)``; by its series where x is near 1."""
    x = np.asarray(x, np.float64)
    far = np.log(x) / (1 - x)
    for n in range(1, order + 1):
        far = (n * far - math.factorial(n - 1) * (-1 / x) ** n) / (1 - x)
    u = np.clip(x - 1, -0.4, 0.4)
    series = np.zeros_like(u)
    for k in range(50 + order, order - 1, -1):
        series = series * u - (-1) ** k * math.perm(k, order) / (k + 1)
    out[...] = np.where(np.abs(x - 1) < 0.4, series, far)


_LOG_RATIO: Op = defop(
    "LogRatio",
    ARRAY,
    1,
    rules.floating,
    compute=_log_ratio,
    on_host=True,
    elementwise=True,
    vjp=lambda g, y, x, order: (g * record(_LOG_RATIO, (x,), order=order + 1),),
)


def _sinc(out: Array, x: Array, order: int) -> None:
    """The derivative of this order of ``sin(pi * x) / (pi * x)``; by its series near 0."""
    x = np.asarray(x, np.float64)
    t = np.pi * x
    turn = np.pi * np.fmod(x, 2.0)  # exact, where t is not
    sine, cosine = np.sin(turn), np.cos(turn)
    turns = sine, cosine, -sine, -cosine
    far = sine / t
    for n in range(1, order + 1):
        far = (turns[n % 4] - n * far) / t
    limit = order + 2.0  # up to here the series loses less
    z = np.where(np.abs(t) < limit, t, 0.0)
    series = np.zeros_like(z)
    for k in range(30 + 2 * order, -1, -1):
        power = 2 * k - order
        if power >= 0:
            factor = (-1) ** k / ((2 * k + 1) * math.factorial(power))
            series = series + factor * z**power
    value = np.where(np.abs(t) < limit, series, far) * np.pi**order
    out[...] = np.where(np.isinf(x), 0.0, value)


_SINC: Op = defop(
    "Sinc",
    ARRAY,
    1,
    rules.floating,
    compute=_sinc,
    on_host=True,
    elementwise=True,
    vjp=lambda g, y, x, order: (g * record(_SINC, (x,), order=order + 1),),
)


def sinc(x: Any, name: str | None = None) -> Tensor:
    """``sin(pi * x) / (pi * x)``, elementwise; 1 where ``x`` is 0, as in NumPy.

    At 0 it has its limits, in derivatives of every order as well.

    Args:
      x: A tensor of floats.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.math.sinc([0.0, 0.5, 1.5]).numpy()
      array([ 1.        ,  0.63661975, -0.21220659], dtype=float32)
    """
    return record(_SINC, (as_tensor(x),), order=0)


spence = host_op(
    "Spence",
    "scipy.special.spence",
    lambda g, y, x: (g * record(_LOG_RATIO, (x,), order=0),),
    doc="""
    Spence's integral, elementwise: of ``log(t) / (1 - t)`` from 1 to ``x``.

    It is the dilogarithm of ``1 - x``. NaN where ``x`` is negative. At 1, where the integrand is a
    limit, it has all its derivatives.

    >>> tf.math.special.spence([0.0, 1.0, 2.0]).numpy()
    array([ 1.6449341,  0.       , -0.8224670], dtype=float32)
""",
)

name_of(globals(), __name__)
