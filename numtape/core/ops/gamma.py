"""The gamma function and its relatives: logarithm, derivatives, incomplete integrals, zeta.

Elementwise ops that SciPy computes on the host, in float64 for all dtypes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.op import ARRAY, Op, defop
from ..log.record import Recorder, record
from ..log.tensors import as_tensor
from ..values.tensor import Tensor
from . import rules
from .define import host_op, name_of
from .elementwise import exp, log, multiply_no_nan, negative
from .gamma_moments import write_moment
from .reduction import reduce_sum

Array = np.ndarray[Any, Any]


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


def _gamma_density(a: Any, x: Any) -> Tensor:
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


# Moments from `gamma_moments`; the one of order 1 is the derivative of `igamma` with respect to a.


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


def igamma_moment(a: Any, x: Any, order: int) -> Tensor:
    """Return the moment of this order up to x; order 1 is the derivative of `igamma` in ``a``."""
    return record(IGAMMA_MOMENT, (a, x), order=order)


def lbeta(x: Any, name: str | None = None) -> Tensor:
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


name_of(globals(), __name__)
