"""Gamma, Poisson, binomial and categorical numbers from streams of Philox, on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .philox import Philox, Streams, floats

Array = np.ndarray[Any, Any]


def gamma(source: Philox, alpha: Array, count: int) -> Array:
    """``count`` numbers for each alpha, along a first axis.

    See Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000.
    """
    a = np.repeat(alpha.ravel().astype(np.float64), count)
    streams, value = Streams(source, len(a)), np.full(len(a), np.nan)
    value[a == 0] = 0
    one = np.flatnonzero(a == 1)
    value[one] = -np.log1p(-streams.take("uniform", one))
    open_ = np.flatnonzero((a > 0) & (a != 1) & np.isfinite(a))
    d = a + np.where(a < 1, 2 / 3, -1 / 3)
    with np.errstate(invalid="ignore", divide="ignore"):
        c = 1 / 3 / np.sqrt(d)
    while len(open_):
        x = streams.take("normal", open_)
        v = 1 + c[open_] * x
        tried, x, v = open_[v > 0], x[v > 0], v[v > 0] ** 3
        u = streams.take("uniform", tried)
        with np.errstate(divide="ignore"):
            taken = (u < 1 - 0.0331 * x**4) | (
                np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v))
            )
        done = tried[taken]
        value[done] = d[done] * v[taken]
        small = done[a[done] < 1]
        value[small] *= streams.take("uniform", small) ** (1 / a[small])
        open_ = np.setdiff1d(open_, done, assume_unique=True)
    return value.reshape(alpha.size, count).T.reshape(count, *alpha.shape)


def poisson(source: Philox, rate: Array, count: int) -> Array:
    """``count`` numbers for each rate, along a first axis.

    Small rates by Knuth's products, others by transformed rejection: Hörmann, "The transformed
    rejection method for generating Poisson random variables", 1993. NaN for a rate that is
    not finite.
    """
    from scipy.special import gammaln

    r = np.repeat(rate.ravel().astype(np.float64), count)
    streams, value = Streams(source, len(r)), np.full(len(r), np.nan)
    open_ = np.flatnonzero((r < 10) & np.isfinite(r))
    limit, product, number = np.exp(-np.maximum(r, -1)), np.ones(len(r)), np.zeros(len(r))
    while len(open_):
        product[open_] *= streams.take("uniform", open_)
        done = product[open_] <= limit[open_]
        value[open_[done]] = number[open_[done]]
        open_ = open_[~done]
        number[open_] += 1
    open_ = np.flatnonzero((r >= 10) & np.isfinite(r))
    while len(open_):
        rates = r[open_]
        b = 0.931 + 2.53 * np.sqrt(rates)
        a = -0.059 + 0.02483 * b
        u = streams.take("uniform", open_) - 0.5
        v = streams.take("uniform", open_)
        shifted = 0.5 - np.abs(u)
        with np.errstate(divide="ignore", invalid="ignore"):
            k = np.floor((2 * a / shifted + b) * u + rates + 0.43)
            s = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (shifted * shifted) + b))
            t = -rates + k * np.log(rates) - gammaln(k + 1)
        sure = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        never = (k < 0) | ((shifted < 0.013) & (v > shifted))
        done = sure | (~never & (s <= t))
        value[open_[done]] = k[done]
        open_ = open_[~done]
    return value.reshape(rate.size, count).T.reshape(count, *rate.shape)


def binomial(source: Philox, counts: Array, probs: Array, shape: tuple[int, ...]) -> Array:
    """Numbers of successes, by NumPy's generator with a key of four words of the stream."""
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(source.words(4))))
    n, p = np.broadcast_arrays(counts, probs)
    good = (n >= 0) & (p >= 0) & (p <= 1) & np.isfinite(n)
    drawn = generator.binomial(np.where(good, n, 0).astype(np.int64), np.where(good, p, 0), shape)
    result = drawn.astype(np.float64)
    result[np.broadcast_to(~good, shape)] = np.nan
    return result


def categorical(source: Philox, logits: Array, count: int) -> Array:
    """``count`` classes for each row, each with the probability that its logit says."""
    rows = len(logits)
    u = floats(source.words(rows * count * 2), np.float64).reshape(rows, count)
    x = logits.astype(np.float64)
    real = np.isfinite(x)
    largest = np.max(np.where(real, x, -np.inf), -1, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        share = np.where(real, np.exp(x - largest), 0)
    total = np.cumsum(share, -1)
    array = np.empty((rows, count), np.int64)
    for row in range(rows):
        array[row] = np.searchsorted(total[row], u[row] * total[row, -1], "right")
    return array


# The derivative of a gamma number by alpha, its place in the distribution kept.

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_LARGE = 1e6


def gamma_slope(alpha: Array, x: Array) -> Array:
    """Minus the derivative of the distribution function by ``alpha``, over its density.

    Below ``alpha`` by the series in x, above by an integral over the rest of the density, whose
    integrand does not cancel there; for very large ``alpha`` from the normal approximation.
    """
    from scipy.special import digamma

    a, x = (np.asarray(v, np.float64) for v in np.broadcast_arrays(alpha, x))
    array = np.full(a.shape, np.nan)
    fine = (a > 0) & (x >= 0) & np.isfinite(a) & np.isfinite(x)
    array[fine & (x == 0)] = 0
    fine &= x > 0
    large = fine & (a > _LARGE)
    root = np.sqrt(a[large])
    z = (x[large] - a[large]) / root
    array[large] = 1 + (z - (z * z - 1) / (3 * root)) / (2 * root)
    low = fine & ~large & (x <= a)
    b, y = a[low], x[low]
    ratio, log, psi, total = y / b, np.log(y), digamma(b + 1), np.zeros(len(b))
    n = 0
    while len(b):
        total -= ratio * (log - psi)
        n += 1
        psi = psi + 1 / (b + n)
        ratio = ratio * y / (b + n)
        if not (ratio * np.abs(log - psi) > 1e-18 * np.abs(total)).any():
            break
    array[low] = total
    high = fine & ~large & (x > a)
    b, y = a[high][:, None], x[high][:, None]
    # From 0 to infinity, s = scale * t / (1 - t).
    t = (_NODES + 1) / 2
    scale = 1 / (1 - np.minimum((b - 1) / y, 1 - 1 / np.sqrt(y + 1)))
    s = scale * t / (1 - t)
    weight = _WEIGHTS / 2 * scale / (1 - t) ** 2
    density = np.exp((b - 1) * np.log1p(s / y) - s)
    array[high] = (weight * (np.log(y + s) - digamma(b)) * density).sum(-1)
    return array
