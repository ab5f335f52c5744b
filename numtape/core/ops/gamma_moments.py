"""Derivatives of the incomplete gamma function in its shape, with NumPy.

They are made of moments of L = log t - digamma(a), with t a gamma variable of shape a, up to x:

    M(n, a, x) = integral from 0 to x of L ** n * t ** (a - 1) * exp(-t) / gamma(a) dt

M(0) is the function itself, dM(n)/da = M(n + 1) - n * polygamma(1, a) * M(n - 1), by
differentiating under the integral. With log t as the variable the integrand falls off on both sides
of log a like an exponential or faster; it is integrated by Gauss and Legendre's rule from x away
from a.
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_FAR = 40.0  # the integral ends where the integrand is exp(-_FAR) times that at x
_STRAIGHT = 36.0  # so far below x, in log t, exp(-t) is 1


@cache
def _rule() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return (nodes + 1) / 2, weights / 2


def moment(out: Array, a: Array, x: Array, order: int) -> None:
    """Write ``M(order, a, x)``; ``order`` is 1 or more, the operands broadcast."""
    both = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    flat_a, flat_x = (np.ravel(v) for v in both)
    found = np.empty(flat_a.shape)
    with np.errstate(all="ignore"):
        for start in range(0, found.size, 2048):
            part = slice(start, start + 2048)
            found[part] = _moment(order, flat_a[part], flat_x[part])
    out[...] = found.reshape(both[0].shape)


def _moment(n: int, a: Array, x: Array) -> Array:
    from scipy.special import psi

    left = x <= a
    level = np.log(x) - psi(a)
    whole = _whole(n, a)
    far = _distance(left, a, x)
    near = np.where(left, np.minimum(far, _STRAIGHT), far)
    nodes, weights = _rule()
    s = np.where(left, -near, near)[:, None] * nodes
    height = np.exp(a[:, None] * s - x[:, None] * np.expm1(s))
    part = (height * (level[:, None] + s) ** n) @ weights * near
    # Beyond `near` only an exponential is left, whose moments are known.
    base, rest = level - near, 1 / a
    for k in range(1, n + 1):
        rest = (base**k - k * rest) / a
    rest = np.exp(x - a * near) * rest
    part = np.where(left & (far > near), part + rest, part) * _density_of_log(a, x)
    found = np.where(left, part, whole - part)
    found = np.where(x == np.inf, whole, found)
    found = np.where((a > 0) & (a < np.inf) & (x >= 0), found, np.nan)
    # Nothing is left of the integral to 0, or of a variable that is infinite.
    return np.where((a >= 0) & (x == 0) | (a == np.inf) & (x >= 0) & (x < np.inf), 0.0, found)


def _distance(left: Array, a: Array, x: Array) -> Array:
    """How far from log x, below or above it, the integrand has fallen off: or a little more.

    What is solved is convex, and Newton's steps from beyond the root stay there.
    """
    below, above = np.sqrt(2 * _FAR / a) + _FAR / a + 1, np.sqrt(2 * _FAR / x)
    u = np.where(left, below, np.minimum(above, np.log1p(_FAR / x) + 2))
    for _ in range(6):
        value = np.where(left, a * u + x * np.expm1(-u), x * np.expm1(u) - a * u) - _FAR
        u = u - value / np.where(left, a - x * np.exp(-u), x * np.exp(u) - a)
    return u


def _whole(n: int, a: Array) -> Array:
    """The moment up to infinity, from the cumulants of log t, which are polygamma functions."""
    from scipy.special import polygamma

    cumulants = {k: polygamma(k - 1, a) for k in range(2, n + 1)}
    found = [np.ones_like(a), np.zeros_like(a)]
    for k in range(2, n + 1):
        terms = [comb(k - 1, j - 1) * cumulants[j] * found[k - j] for j in range(2, k + 1)]
        found.append(np.sum(terms, axis=0))
    return found[n]


def _density_of_log(a: Array, x: Array) -> Array:
    """``x ** a * exp(-x) / gamma(a)``, by Stirling's series where ``a`` is large."""
    from scipy.special import gammaln

    r = (x - a) / a
    series = sum((-1) ** (k + 1) * r**k / k for k in range(2, 12))
    apart = np.where(
        np.abs(r) < 1e-2, series, np.where(np.abs(r) < 0.5, np.log1p(r) - r, np.log(x / a) - r)
    )
    i = 1 / (a * a)
    stirling = (1 / 12 - i * (1 / 360 - i * (1 / 1260 - i * (1 / 1680 - i / 1188)))) / a
    large = a * apart + 0.5 * np.log(a / (2 * np.pi)) - stirling
    return np.exp(np.where(a >= 20, large, a * np.log(x) - x - gammaln(a)))
