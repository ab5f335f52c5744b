"""Special functions: error functions, gamma and its derivatives, Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, ELEMENTWISE, STOP, Op, defop
from ..log.record import Recorder, record
from ..values.tensor import Tensor
from . import rules
from .comparison import equal_
from .define import binary_op, host_op, name_functions, unary_op
from .elementwise import (
    cos,
    exp,
    log,
    multiply_no_nan,
    negative,
    ratio_or_zero,
    reciprocal,
    rint,
    select,
    sign,
    sin,
    square,
)
from .reduction import reduce_sum

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

Array = np.ndarray[Any, Any]

# Products and quotients that are 0 where the first operand is 0.

_is_nonzero = unary_op("NonZero", "select(x == 0, 0, 1)", spec=rules.analytic, gradient=STOP)
xlogy: Recorder = binary_op(
    "Xlogy",
    "select(x == 0, x, x * log(y))",
    lambda g, z, x, y: (
        multiply_no_nan(xlogy(_is_nonzero(x), y), g),
        multiply_no_nan(xdivy(x, y), g),
    ),
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
        multiply_no_nan(xlog1py(_is_nonzero(x), y), g),
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
        multiply_no_nan(xdivy(_is_nonzero(x), y), g),
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
    The next representable number after ``x1`` towards ``x2``, elementwise.

    The derivative by ``x1`` is 1, by ``x2`` 0.

    >>> tf.math.nextafter([1.0], [2.0]).numpy()
    array([1.0000001], dtype=float32)
""",
)

# Inverses of the error functions and of the normal distribution function.

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
    The inverse of `erfc`, elementwise, with full accuracy near 0; infinite at 0 and 2.

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
        # SciPy overflows for huge x, where the integral equals its limit.
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

    It is minus infinity at 0 and NaN for negative numbers, as in TensorFlow.

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
    """Write a derivative of ``log(x) / (1 - x)``; near 1 by its series."""
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
    """Write a derivative of ``sin(pi * x) / (pi * x)``; near 0 by its series."""
    x = np.asarray(x, np.float64)
    t = np.pi * x
    turn = np.pi * np.fmod(x, 2.0)  # exact, unlike t
    sine, cosine = np.sin(turn), np.cos(turn)
    turns = sine, cosine, -sine, -cosine
    far = sine / t
    for n in range(1, order + 1):
        far = (turns[n % 4] - n * far) / t
    limit = order + 2.0  # up to this bound the series is more accurate
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


def sinc(x: TensorLike, name: str | None = None) -> Tensor:
    """``sin(pi * x) / (pi * x)``, elementwise; 1 where ``x`` is 0, as in NumPy.

    At 0 the function and its derivatives of every order are the limits.

    Args:
      x: A tensor of floats.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

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

    It is the dilogarithm of ``1 - x``. NaN where ``x`` is negative. It has derivatives of every
    order at 1, where the integrand is a limit.

    >>> tf.math.special.spence([0.0, 1.0, 2.0]).numpy()
    array([ 1.6449341,  0.       , -0.8224670], dtype=float32)
""",
)

name_functions(globals(), __name__)


_TAIL_EXPONENT = 40.0  # the integral ends where the integrand is exp(-40) times its value at x
_FLAT_DISTANCE = 36.0  # this far below log x, exp(-t) is 1 to working precision


@cache
def _quadrature_rule() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return (nodes + 1) / 2, weights / 2


def write_moment(out: Array, a: Array, x: Array, order: int) -> None:
    """Write ``M(order, a, x)``; ``order`` is 1 or more, the operands broadcast."""
    operands = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    flat_a, flat_x = (np.ravel(v) for v in operands)
    values = np.empty(flat_a.shape)
    with np.errstate(all="ignore"):
        for start in range(0, values.size, 2048):
            chunk = slice(start, start + 2048)
            values[chunk] = _compute_moment(order, flat_a[chunk], flat_x[chunk])
    out[...] = values.reshape(operands[0].shape)


def _compute_moment(n: int, a: Array, x: Array) -> Array:
    from scipy.special import psi

    is_below = x <= a
    centered_log = np.log(x) - psi(a)
    total = _full_moment(n, a)
    distance = _tail_distance(is_below, a, x)
    span = np.where(is_below, np.minimum(distance, _FLAT_DISTANCE), distance)
    nodes, weights = _quadrature_rule()
    s = np.where(is_below, -span, span)[:, None] * nodes
    integrand = np.exp(a[:, None] * s - x[:, None] * np.expm1(s))
    integral = (integrand * (centered_log[:, None] + s) ** n) @ weights * span
    # Beyond `span` the integrand is an exponential, whose moments have a closed form.
    log_at_end, tail = centered_log - span, 1 / a
    for k in range(1, n + 1):
        tail = (log_at_end**k - k * tail) / a
    tail = np.exp(x - a * span) * tail
    integral = np.where(is_below & (distance > span), integral + tail, integral) * _density_of_log(
        a, x
    )
    values = np.where(is_below, integral, total - integral)
    values = np.where(x == np.inf, total, values)
    values = np.where((a > 0) & (a < np.inf) & (x >= 0), values, np.nan)
    # The integral up to x = 0 is 0, and so is the mass below a finite x for an infinite shape.
    return np.where((a >= 0) & (x == 0) | (a == np.inf) & (x >= 0) & (x < np.inf), 0.0, values)


def _tail_distance(is_below: Array, a: Array, x: Array) -> Array:
    """Return the distance from log x at which the integrand has decayed, or slightly more.

    The equation is convex, so Newton steps that start beyond the root stay beyond it.
    """
    below = np.sqrt(2 * _TAIL_EXPONENT / a) + _TAIL_EXPONENT / a + 1
    above = np.sqrt(2 * _TAIL_EXPONENT / x)
    u = np.where(is_below, below, np.minimum(above, np.log1p(_TAIL_EXPONENT / x) + 2))
    for _ in range(6):
        value = (
            np.where(is_below, a * u + x * np.expm1(-u), x * np.expm1(u) - a * u) - _TAIL_EXPONENT
        )
        u = u - value / np.where(is_below, a - x * np.exp(-u), x * np.exp(u) - a)
    return u


def _full_moment(n: int, a: Array) -> Array:
    """Return the moment up to infinity, from the cumulants of log t (polygamma functions)."""
    from scipy.special import polygamma

    cumulants = {k: polygamma(k - 1, a) for k in range(2, n + 1)}
    moments = [np.ones_like(a), np.zeros_like(a)]
    for k in range(2, n + 1):
        terms = [comb(k - 1, j - 1) * cumulants[j] * moments[k - j] for j in range(2, k + 1)]
        moments.append(np.sum(terms, axis=0))
    return moments[n]


def _density_of_log(a: Array, x: Array) -> Array:
    """Return ``x ** a * exp(-x) / gamma(a)``, by Stirling's series where ``a`` is large."""
    from scipy.special import gammaln

    r = (x - a) / a
    series = sum((-1) ** (k + 1) * r**k / k for k in range(2, 12))
    log1p_excess = np.where(
        np.abs(r) < 1e-2, series, np.where(np.abs(r) < 0.5, np.log1p(r) - r, np.log(x / a) - r)
    )
    i = 1 / (a * a)
    stirling = (1 / 12 - i * (1 / 360 - i * (1 / 1260 - i * (1 / 1680 - i / 1188)))) / a
    log_density = a * log1p_excess + 0.5 * np.log(a / (2 * np.pi)) - stirling
    return np.exp(np.where(a >= 20, log_density, a * np.log(x) - x - gammaln(a)))


def _as_float64(*operands: Array) -> tuple[Array, ...]:
    return tuple(np.asarray(x, np.float64) for x in operands)


def _lgamma(x: Array) -> Array:
    from scipy.special import gammaln

    return np.where(x == -np.inf, np.inf, gammaln(*_as_float64(x)))


def _digamma(x: Array) -> Array:
    from scipy.special import psi

    return np.where((x <= 0) & (x == np.floor(x)), np.nan, psi(*_as_float64(x)))


def _zeta(x: Array, q: Array) -> Array:
    """Return Hurwitz's zeta function, infinite at a pole where a limit exists.

    Where q is 0 or a negative integer, an even x has a limit and an odd x has none (NaN).
    ``scipy.special.zeta`` is NaN for x so large that all terms vanish but those of bases 1 and
    less.
    """
    from scipy.special import zeta

    x, q = _as_float64(x, q)
    values = np.where((x >= 1e4) & (q > 1), 0.0, zeta(x, q))
    pole = (q <= 0) & (q == np.floor(q)) & (x > 1)
    even = (x == np.floor(x)) & (np.floor(x / 2) * 2 == x)
    undefined = np.isnan(x) | (np.isnan(q) & (x != 1)) | (pole & ~even)
    return np.where(undefined, np.nan, np.where(x == 1, np.inf, values))


def _polygamma(a: Array, x: Array) -> Array:
    from scipy.special import gamma

    a, x = _as_float64(a, x)
    sign = np.where((np.floor(a / 2) * 2 == a) & np.isfinite(a), -1.0, 1.0)
    values = np.where(a == 0, _digamma(x), sign * gamma(a + 1) * _zeta(a + 1, x))
    return np.where((a >= 0) & (a == np.floor(a)), values, np.nan)


def _igamma(a: Array, x: Array) -> Array:
    from scipy.special import gammainc

    a, x = _as_float64(a, x)
    return np.where(x == 0, 0.0, np.where(a <= 0, np.nan, gammainc(a, x)))


def _igammac(a: Array, x: Array) -> Array:
    from scipy.special import gammaincc

    a, x = _as_float64(a, x)
    return np.where(a <= 0, np.nan, gammaincc(a, x))


def _betainc(a: Array, b: Array, x: Array) -> Array:
    from scipy.special import betainc

    a, b, x = _as_float64(a, b, x)
    values = np.where(x == 0, 0.0, np.where(x == 1, 1.0, betainc(a, b, x)))
    return np.where((a <= 0) | (b <= 0), np.nan, values)


lgamma = host_op(
    "Lgamma",
    _lgamma,
    lambda g, y, x: (multiply_no_nan(digamma(x), g),),
    doc="""
    The logarithm of the absolute value of the gamma function, elementwise.

    It is infinite at 0 and at negative integers.

    >>> tf.math.lgamma([0.5, 1.0, 5.0]).numpy()
    array([0.5723649, 0.       , 3.1780539], dtype=float32)
""",
)
digamma: Recorder = host_op(
    "Digamma",
    _digamma,
    lambda g, y, x: (multiply_no_nan(polygamma(1.0, x), g),),
    doc="""
    The derivative of `lgamma`, elementwise; NaN at 0 and at negative integers.

    >>> tf.math.digamma([0.5, 1.0, 5.0]).numpy()
    array([-1.9635101 , -0.57721567,  1.5061177 ], dtype=float32)
""",
)
polygamma: Recorder = host_op(
    "Polygamma",
    _polygamma,
    lambda g, y, a, x: (None, multiply_no_nan(polygamma(a + 1.0, x), g)),
    arguments="a x",
    doc="""
    The derivative of order ``a`` of `digamma` at ``x``, elementwise.

    ``a`` is a float with a nonnegative integer value; for others the result is NaN. There is no
    derivative with respect to ``a``: its gradient is None.

    >>> tf.math.polygamma([0.0, 1.0, 2.0], 1.0).numpy()
    array([-0.57721567,  1.6449341 , -2.4041138 ], dtype=float32)
""",
)
zeta: Recorder = host_op(
    "Zeta",
    _zeta,
    lambda g, y, x, q: (None, multiply_no_nan(negative(x) * zeta(x + 1.0, q), g)),
    arguments="x q",
    doc="""
    Hurwitz's zeta function, elementwise: the sum of ``(q + n) ** -x`` over all integers ``n >= 0``.

    It is infinite where ``x`` is 1 and NaN where ``x`` is less. There is no derivative with respect
    to ``x``: its gradient is None.

    >>> tf.math.zeta([2.0, 3.0], 1.0).numpy()
    array([1.644934 , 1.2020569], dtype=float32)
""",
)


# Incomplete integrals.


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    """Return ``x ** (a - 1) * exp(-x) / gamma(a)``, the derivative of `igamma` in ``x``."""
    return exp((a - 1.0) * log(x) - x - lgamma(a))


igamma = host_op(
    "Igamma",
    _igamma,
    lambda g, y, a, x: (
        multiply_no_nan(igamma_moment(a, x, 1), g),
        multiply_no_nan(_gamma_density(a, x), g),
    ),
    arguments="a x",
    doc="""
    The regularized lower incomplete gamma function, elementwise.

    It is the integral from 0 to ``x`` of ``t ** (a - 1) * exp(-t) / gamma(a)``: the probability
    that a gamma variable of shape ``a`` is less than ``x``. It is NaN where ``x`` is negative or
    ``a`` is not positive. Derivatives of every order exist in both arguments.

    >>> tf.math.igamma([0.5, 1.0, 5.0], 1.0).numpy()
    array([0.84270078, 0.63212055, 0.00365985], dtype=float32)
""",
)
igammac = host_op(
    "Igammac",
    _igammac,
    lambda g, y, a, x: (
        negative(multiply_no_nan(igamma_moment(a, x, 1), g)),
        negative(multiply_no_nan(_gamma_density(a, x), g)),
    ),
    arguments="a x",
    doc="""
    The regularized upper incomplete gamma function, elementwise: ``1 - igamma(a, x)``.

    It is accurate where it is small. Derivatives of every order exist in both arguments.

    >>> tf.math.igammac([0.5, 1.0, 5.0], 10.0).numpy()
    array([7.7442164e-06, 4.5399931e-05, 2.9252688e-02], dtype=float32)
""",
)
betainc = host_op(
    "Betainc",
    _betainc,
    lambda g, y, a, b, x: (
        None,
        None,
        multiply_no_nan(
            exp(
                (b - 1.0) * log(1.0 - x)
                + (a - 1.0) * log(x)
                + lgamma(a + b)
                - lgamma(a)
                - lgamma(b)
            ),
            g,
        ),
    ),
    arguments="a b x",
    doc="""
    The regularized incomplete beta function, elementwise.

    It is the integral from 0 to ``x`` of ``t ** (a - 1) * (1 - t) ** (b - 1)``, divided by the
    integral from 0 to 1, for ``x`` from 0 to 1 and positive ``a`` and ``b``. There is no derivative
    with respect to ``a`` or ``b``: their gradient is None.

    >>> tf.math.betainc(2.0, 3.0, [0.1, 0.5, 0.9]).numpy()
    array([0.0523, 0.6875, 0.9963], dtype=float32)
""",
)


# Derivatives of the incomplete gamma function by its shape; order 1 is that of `igamma`.


def _moment_vjp(g: Tensor, y: Tensor, a: Tensor, x: Tensor, order: int) -> tuple[Tensor, Tensor]:
    centered_log = log(x) - digamma(a)
    power = centered_log
    for _ in range(order - 1):
        power = power * centered_log
    lower_moment = igamma_moment(a, x, order - 1) if order > 1 else igamma(a, x)
    slope = igamma_moment(a, x, order + 1) - order * (polygamma(1.0, a) * lower_moment)
    return multiply_no_nan(slope, g), multiply_no_nan(power * _gamma_density(a, x), g)


IGAMMA_MOMENT: Op = defop(
    "IgammaGradA",
    ARRAY,
    2,
    rules.floating,
    compute=write_moment,
    vjp=_moment_vjp,
    on_host=True,
    elementwise=True,
)


def igamma_moment(a: Tensor, x: Tensor, order: int) -> Tensor:
    """Return the moment of this order up to x; order 1 is the derivative of `igamma` in ``a``."""
    return record(IGAMMA_MOMENT, (a, x), order=order)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the beta function, over the last axis.

    It is the sum of `lgamma` of the elements minus `lgamma` of their sum.

    Args:
      x: A tensor of rank 1 or more, float32 or float64.
      name: Not used.

    Returns:
      A tensor of the shape of ``x`` without its last axis, and of the same dtype.

    Raises:
      InvalidArgumentError: If ``x`` is a scalar, or its elements are not floats.

    Example:
      >>> tf.math.lbeta([[1.0, 1.0], [2.0, 3.0]]).numpy()
      array([ 0.       , -2.4849067], dtype=float32)
    """
    x = as_tensor(x)
    return reduce_sum(lgamma(x), axis=[-1]) - lgamma(reduce_sum(x, axis=[-1]))


name_functions(globals(), __name__)


Higher = Callable[[Any, int], Tensor]


def _make_nonnegative(name: str, below: float) -> Callable[[Array], Array]:
    """Return a function that gives its limit at 0 for negative numbers, as in TensorFlow."""

    def compute(x: Array) -> Array:
        import scipy.special

        wide = np.asarray(x, np.float64)
        return np.where(wide < 0, below, getattr(scipy.special, name)(wide))

    return compute


def _make_higher_order(
    name: str, function: str | Callable[[int, Array], Array], slope: Callable[..., Tensor]
) -> Higher:
    """Return the recorder of a Bessel function of orders from 2 on, for derivatives."""

    def compute(out: Array, x: Array, order: int) -> None:
        import scipy.special

        known = getattr(scipy.special, function) if isinstance(function, str) else function
        out[...] = known(order, np.asarray(x, np.float64))

    def vjp(g: Tensor, y: Tensor, x: Tensor, order: int) -> tuple[Tensor]:
        return (multiply_no_nan(slope(x, y, order), g),)

    op = defop(
        name, ARRAY, 1, rules.floating, compute=compute, vjp=vjp, on_host=True, elementwise=True
    )
    return lambda x, order: record(op, (x,), order=order)


# Modified Bessel functions of the first kind.

bessel_i0 = host_op(
    "BesselI0",
    "scipy.special.i0",
    lambda g, y, x: (multiply_no_nan(bessel_i1(x), g),),
    doc="""
    The modified Bessel function of the first kind of order 0, elementwise.

    >>> tf.math.bessel_i0([0.0, 1.0]).numpy()
    array([1.       , 1.2660658], dtype=float32)
""",
)
bessel_i1: Recorder = host_op(
    "BesselI1",
    "scipy.special.i1",
    lambda g, y, x: (multiply_no_nan(0.5 * (bessel_i0(x) + _iv(x, 2)), g),),
    doc="""
    The modified Bessel function of the first kind of order 1, elementwise.

    Its derivative at 0 is 1/2.

    >>> tf.math.bessel_i1([0.0, 1.0]).numpy()
    array([0.       , 0.5651591], dtype=float32)
""",
)
_iv: Higher = _make_higher_order(
    "BesselIv",
    "iv",
    lambda x, y, n: 0.5 * ((bessel_i1(x) if n == 2 else _iv(x, n - 1)) + _iv(x, n + 1)),
)
bessel_i0e: Recorder = host_op(
    "BesselI0e",
    "scipy.special.i0e",
    lambda g, y, x: (multiply_no_nan(bessel_i1e(x) - sign(x) * y, g),),
    doc="""
    ``exp(-|x|) * bessel_i0(x)``, elementwise, without overflow.

    >>> tf.math.bessel_i0e([0.0, 1.0]).numpy()
    array([1.       , 0.4657596], dtype=float32)
""",
)
bessel_i1e: Recorder = host_op(
    "BesselI1e",
    "scipy.special.i1e",
    lambda g, y, x: (multiply_no_nan(0.5 * (bessel_i0e(x) + _ive(x, 2)) - sign(x) * y, g),),
    doc="""
    ``exp(-|x|) * bessel_i1(x)``, elementwise, without overflow. Its derivative at 0 is 1/2.

    >>> tf.math.bessel_i1e([0.0, 1.0]).numpy()
    array([0.        , 0.20791042], dtype=float32)
""",
)


def _scaled_iv(order: int, x: Array) -> Array:
    """Compute SciPy's `ive`; beyond 1e9, where it fails, the asymptotic series 9.7.1."""
    from scipy.special import i0e, ive

    large = np.maximum(np.abs(x), 1e9)
    far = i0e(large) * np.exp(-order * order / (2 * large))
    odd = np.sign(x) if order % 2 else 1.0
    scaled: np.ndarray[Any, Any] = np.where(np.abs(x) > 1e9, odd * far, ive(order, x))
    return scaled


_ive: Higher = _make_higher_order(
    "BesselIve",
    _scaled_iv,
    lambda x, y, n: (
        0.5 * ((bessel_i1e(x) if n == 2 else _ive(x, n - 1)) + _ive(x, n + 1)) - sign(x) * y
    ),
)

# Modified Bessel functions of the second kind.

bessel_k0 = host_op(
    "BesselK0",
    _make_nonnegative("k0", np.inf),
    lambda g, y, x: (negative(multiply_no_nan(bessel_k1(x), g)),),
    doc="""
    The modified Bessel function of the second kind of order 0, elementwise.

    It is infinite at 0 and for negative numbers.

    >>> tf.math.special.bessel_k0([1.0, 2.0]).numpy()
    array([0.42102444, 0.11389387], dtype=float32)
""",
)
bessel_k1: Recorder = host_op(
    "BesselK1",
    _make_nonnegative("k1", np.inf),
    lambda g, y, x: (negative(multiply_no_nan(bessel_k0(x) + y / x, g)),),
    doc="""
    The modified Bessel function of the second kind of order 1, elementwise.

    It is infinite at 0 and for negative numbers.

    >>> tf.math.special.bessel_k1([1.0, 2.0]).numpy()
    array([0.6019072 , 0.13986588], dtype=float32)
""",
)
bessel_k0e = host_op(
    "BesselK0e",
    _make_nonnegative("k0e", np.inf),
    lambda g, y, x: (multiply_no_nan(y - bessel_k1e(x), g),),
    doc="""
    ``exp(x) * bessel_k0(x)``, elementwise, without underflow.

    >>> tf.math.special.bessel_k0e([1.0, 2.0]).numpy()
    array([1.144463 , 0.8415682], dtype=float32)
""",
)
bessel_k1e: Recorder = host_op(
    "BesselK1e",
    _make_nonnegative("k1e", np.inf),
    lambda g, y, x: (multiply_no_nan(y * (1.0 - reciprocal(x)) - bessel_k0e(x), g),),
    doc="""
    ``exp(x) * bessel_k1(x)``, elementwise, without underflow.

    >>> tf.math.special.bessel_k1e([1.0, 2.0]).numpy()
    array([1.6361535, 1.0334768], dtype=float32)
""",
)

# Bessel functions of the first and of the second kind.

bessel_j0 = host_op(
    "BesselJ0",
    "scipy.special.j0",
    lambda g, y, x: (negative(multiply_no_nan(bessel_j1(x), g)),),
    doc="""
    The Bessel function of the first kind of order 0, elementwise.

    >>> tf.math.special.bessel_j0([0.0, 1.0]).numpy()
    array([1.       , 0.7651977], dtype=float32)
""",
)
bessel_j1: Recorder = host_op(
    "BesselJ1",
    "scipy.special.j1",
    lambda g, y, x: (multiply_no_nan(0.5 * (bessel_j0(x) - _jv(x, 2)), g),),
    doc="""
    The Bessel function of the first kind of order 1, elementwise.

    >>> tf.math.special.bessel_j1([0.0, 1.0]).numpy()
    array([0.        , 0.44005057], dtype=float32)
""",
)
_jv: Higher = _make_higher_order(
    "BesselJv",
    "jv",
    lambda x, y, n: 0.5 * ((bessel_j1(x) if n == 2 else _jv(x, n - 1)) - _jv(x, n + 1)),
)
bessel_y0 = host_op(
    "BesselY0",
    _make_nonnegative("y0", -np.inf),
    lambda g, y, x: (negative(multiply_no_nan(bessel_y1(x), g)),),
    doc="""
    The Bessel function of the second kind of order 0, elementwise.

    It is minus infinity at 0 and for negative numbers.

    >>> tf.math.special.bessel_y0([1.0, 2.0]).numpy()
    array([0.08825696, 0.51037567], dtype=float32)
""",
)
bessel_y1: Recorder = host_op(
    "BesselY1",
    _make_nonnegative("y1", -np.inf),
    lambda g, y, x: (multiply_no_nan(bessel_y0(x) - y / x, g),),
    doc="""
    The Bessel function of the second kind of order 1, elementwise.

    It is minus infinity at 0 and for negative numbers.

    >>> tf.math.special.bessel_y1([1.0, 2.0]).numpy()
    array([-0.7812128 , -0.10703243], dtype=float32)
""",
)

name_functions(globals(), __name__)


def _define_rule(name: str, arity: int, rule: Callable[..., Any]) -> Op:
    return Op(name, ELEMENTWISE, arity, rules.floating, vjp=rule)


LOG_2, LOG_10 = math.log(2.0), math.log(10.0)
exp2 = _define_rule("Exp2", 1, lambda g, z, x: (g * (z * LOG_2),))
log2 = _define_rule("Log2", 1, lambda g, z, x: (ratio_or_zero(g, x * LOG_2),))
log10 = _define_rule("Log10", 1, lambda g, z, x: (ratio_or_zero(g, x * LOG_10),))
cbrt = _define_rule("Cbrt", 1, lambda g, z, x: (ratio_or_zero(g, 3.0 * (z * z)),))
degrees = _define_rule("Degrees", 1, lambda g, z, x: (g * (180.0 / math.pi),))
radians = _define_rule("Radians", 1, lambda g, z, x: (g * (math.pi / 180.0),))
gamma = _define_rule("Gamma", 1, lambda g, z, x: (g * (z * digamma(x)),))
# The truncated quotient equals (x - z) / y up to rounding.
fmod = _define_rule("Fmod", 2, lambda g, z, x, y: (g, negative(g * rint((x - z) / y))))
copysign = _define_rule(
    "CopySign", 2, lambda g, z, x, y: (select(equal_(x, z), g, negative(g)), None)
)
logaddexp = _define_rule("LogAddExp", 2, lambda g, z, x, y: (g * exp(x - z), g * exp(y - z)))
# Like maximum and minimum, but NaN is ignored.
fmax = _define_rule(
    "FMax", 2, lambda g, z, x, y: (select(equal_(x, z), g, 0.0), select(equal_(x, z), 0.0, g))
)
