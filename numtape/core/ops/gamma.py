"""The gamma function and its kin: logarithm, derivatives, incomplete integrals, zeta."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.op import ARRAY, Op, defop
from ..log.record import Recorder, record
from ..log.tensors import as_tensor
from ..values.tensor import Tensor
from . import rules
from .define import host_op, named
from .elementwise import exp, log, multiply_no_nan, negative
from .gamma_moments import moment
from .reduction import reduce_sum

Array = np.ndarray[Any, Any]


def _wide(*operands: Array) -> tuple[Array, ...]:
    return tuple(np.asarray(x, np.float64) for x in operands)


def _lgamma(x: Array) -> Array:
    from scipy.special import gammaln

    return np.where(x == -np.inf, np.inf, gammaln(*_wide(x)))


def _digamma(x: Array) -> Array:
    from scipy.special import psi

    return np.where((x <= 0) & (x == np.floor(x)), np.nan, psi(*_wide(x)))


def _zeta(x: Array, q: Array) -> Array:
    """Of an even x there is a limit where q is 0 or a negative integer, of an odd x there is none.

    ``scipy.special.zeta`` is NaN where x is so large that all terms but those of 1 and less vanish.
    """
    from scipy.special import zeta

    x, q = _wide(x, q)
    found = np.where((x >= 1e4) & (q > 1), 0.0, zeta(x, q))
    pole = (q <= 0) & (q == np.floor(q)) & (x > 1)
    even = (x == np.floor(x)) & (np.floor(x / 2) * 2 == x)
    undefined = np.isnan(x) | (np.isnan(q) & (x != 1)) | (pole & ~even)
    return np.where(undefined, np.nan, np.where(x == 1, np.inf, found))


def _polygamma(a: Array, x: Array) -> Array:
    from scipy.special import gamma

    a, x = _wide(a, x)
    sign = np.where((np.floor(a / 2) * 2 == a) & np.isfinite(a), -1.0, 1.0)
    found = np.where(a == 0, _digamma(x), sign * gamma(a + 1) * _zeta(a + 1, x))
    return np.where((a >= 0) & (a == np.floor(a)), found, np.nan)


def _igamma(a: Array, x: Array) -> Array:
    from scipy.special import gammainc

    a, x = _wide(a, x)
    return np.where(x == 0, 0.0, np.where(a <= 0, np.nan, gammainc(a, x)))


def _igammac(a: Array, x: Array) -> Array:
    from scipy.special import gammaincc

    a, x = _wide(a, x)
    return np.where(a <= 0, np.nan, gammaincc(a, x))


def _betainc(a: Array, b: Array, x: Array) -> Array:
    from scipy.special import betainc

    a, b, x = _wide(a, b, x)
    found = np.where(x == 0, 0.0, np.where(x == 1, 1.0, betainc(a, b, x)))
    return np.where((a <= 0) | (b <= 0), np.nan, found)


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

    ``a`` is a float that has an integer's value, 0 or more; for others the result is NaN. There is
    no derivative by ``a``: the gradient is None.

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
    Hurwitz's zeta function, elementwise: the sum over all n from 0 on of ``(q + n) ** -x``.

    It is infinite where ``x`` is 1 and NaN where it is less. There is no derivative by ``x``: the
    gradient is None.

    >>> tf.math.zeta([2.0, 3.0], 1.0).numpy()
    array([1.644934 , 1.2020569], dtype=float32)
""",
)


# Incomplete integrals.


def _density(a: Any, x: Any) -> Tensor:
    """``x ** (a - 1) * exp(-x) / gamma(a)``: the derivative of the incomplete gamma function."""
    return exp((a - 1.0) * log(x) - x - lgamma(a))


igamma = host_op(
    "Igamma",
    _igamma,
    lambda g, y, a, x: (
        multiply_no_nan(igamma_moment(a, x, 1), g),
        multiply_no_nan(_density(a, x), g),
    ),
    arguments="a x",
    doc="""
    The lower incomplete gamma function, regularised, elementwise.

    It is the integral from 0 to ``x`` of ``t ** (a - 1) * exp(-t) / gamma(a)``: the probability
    that a gamma variable of shape ``a`` is less than ``x``. NaN where ``x`` is negative or ``a`` is
    not positive. It has derivatives of every order in both.

    >>> tf.math.igamma([0.5, 1.0, 5.0], 1.0).numpy()
    array([0.84270078, 0.63212055, 0.00365985], dtype=float32)
""",
)
igammac = host_op(
    "Igammac",
    _igammac,
    lambda g, y, a, x: (
        negative(multiply_no_nan(igamma_moment(a, x, 1), g)),
        negative(multiply_no_nan(_density(a, x), g)),
    ),
    arguments="a x",
    doc="""
    The upper incomplete gamma function, regularised, elementwise: ``1 - igamma(a, x)``.

    It has its digits where it is small, and derivatives of every order in both.

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
    The incomplete beta function, regularised, elementwise.

    It is the integral from 0 to ``x`` of ``t ** (a - 1) * (1 - t) ** (b - 1)``, divided by that to
    1, for ``x`` from 0 to 1 and positive ``a`` and ``b``. There is no derivative by ``a`` or ``b``:
    the gradient is None.

    >>> tf.math.betainc(2.0, 3.0, [0.1, 0.5, 0.9]).numpy()
    array([0.0523, 0.6875, 0.9963], dtype=float32)
""",
)


# The moments of `gamma_moments`, of which that of order 1 is the derivative of `igamma` by a.


def _moment_vjp(g: Tensor, y: Tensor, a: Tensor, x: Tensor, order: int) -> tuple[Tensor, Tensor]:
    level = log(x) - digamma(a)
    power = level
    for _ in range(order - 1):
        power = power * level
    below = igamma_moment(a, x, order - 1) if order > 1 else igamma(a, x)
    slope = igamma_moment(a, x, order + 1) - order * (polygamma(1.0, a) * below)
    return multiply_no_nan(slope, g), multiply_no_nan(power * _density(a, x), g)


IGAMMA_MOMENT: Op = defop(
    "IgammaGradA",
    ARRAY,
    2,
    rules.floating,
    compute=moment,
    vjp=_moment_vjp,
    on_host=True,
    elementwise=True,
)


def igamma_moment(a: Any, x: Any, order: int) -> Tensor:
    """The moment of this order up to ``x``; that of order 1 is the derivative of `igamma` by a."""
    return record(IGAMMA_MOMENT, (a, x), order=order)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the beta function of the last axis.

    It is the sum of `lgamma` of the elements less `lgamma` of their sum.

    Args:
      x: A tensor of rank 1 or more, float32 or float64.
      name: Not used.

    Returns:
      A tensor of the shape of ``x`` without its last axis, and of the same dtype.

    Raises:
      InvalidArgumentError: If ``x`` is a scalar, or its elements are no floats.

    Example:
      >>> tf.math.lbeta([[1.0, 1.0], [2.0, 3.0]]).numpy()
      array([ 0.       , -2.4849067], dtype=float32)
    """
    x = as_tensor(x)
    return reduce_sum(lgamma(x), axis=[-1]) - lgamma(reduce_sum(x, axis=[-1]))


named(globals(), __name__)
