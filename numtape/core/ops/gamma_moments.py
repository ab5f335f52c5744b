"""Derivatives of the incomplete gamma function with respect to its shape, in NumPy.

They are built from moments of L = log t - digamma(a) up to x, where t is a gamma variable of shape
a:

    M(n, a, x) = integral from 0 to x of L ** n * t ** (a - 1) * exp(-t) / gamma(a) dt

M(0) is the incomplete gamma function. Differentiating under the integral sign gives
dM(n)/da = M(n + 1) - n * polygamma(1, a) * M(n - 1). In the variable log t the integrand decays at
least exponentially on both sides of log a. Gauss-Legendre quadrature integrates it from x away from
a. Start at `write_moment`.
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

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
    below, above = (
        np.sqrt(2 * _TAIL_EXPONENT / a) + _TAIL_EXPONENT / a + 1,
        np.sqrt(2 * _TAIL_EXPONENT / x),
    )
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
