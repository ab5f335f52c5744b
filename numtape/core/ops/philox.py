"""Philox4x32-10, TensorFlow's generator of stateless random numbers, on NumPy arrays.

For a key and a counter it draws TensorFlow's numbers: integers and uniform floats bit for bit,
others up to the rounding of logarithm and sine. See Salmon, Moraes, Dror and Shaw, "Parallel Random
Numbers: As Easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.constants import RESERVED_BLOCKS

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

_WORD = 0xFFFFFFFF
_FEW = 8  # blocks; for more, arrays are faster than Python's integers


def _rounds(key: int, a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four words of blocks, from those of their counters: ints, or arrays of uint64."""
    first_key, second_key = key & _WORD, key >> 32
    for _ in range(10):
        x, y = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (y >> 32) ^ b ^ first_key, y & _WORD, (x >> 32) ^ d ^ second_key, x & _WORD
        first_key, second_key = first_key + 0x9E3779B9 & _WORD, second_key + 0xBB67AE85 & _WORD
    return a, b, c, d


def _block(key: int, counter: int) -> tuple[int, int, int, int]:
    """Return the four words for a 128-bit counter."""
    words = (counter & _WORD, counter >> 32 & _WORD, counter >> 64 & _WORD, counter >> 96 & _WORD)
    return _rounds(key, *words)


class Philox:
    """A key and a counter.

    Args:
      state: Two integers, a stateless seed; or three, the counter's two words and the key.
    """

    def __init__(self, state: Array) -> None:
        words = [int(x) & (2**64 - 1) for x in state.tolist()]
        if len(words) == 2:  # TensorFlow derives the key and the counter from a seed in this way
            low, high, a, b = _block(0x02461E293EC8F720, words[1] << 64 | words[0])
            words = [0, b << 32 | a, high << 32 | low]
        self.key = words[2]
        self.counter = words[1] << 64 | words[0]

    def at(self, places: Array) -> Array:
        """Return the blocks at these offsets from the counter."""
        if len(places) <= _FEW:
            blocks = [_block(self.key, self.counter + place) for place in places.tolist()]
            return np.array(blocks, np.uint32).reshape(-1, 4)
        low = places.astype(np.uint64) + np.uint64(self.counter & (2**64 - 1))
        high = np.uint64(self.counter >> 64) + (low < places.astype(np.uint64)).astype(np.uint64)
        words = _rounds(self.key, low & _WORD, low >> 32, high & _WORD, high >> 32)
        return np.stack(words, -1).astype(np.uint32)

    def words(self, count: int) -> Array:
        """Return the first ``count`` words."""
        return self.at(np.arange(-(-count // 4))).ravel()[:count]


def to_floats(words: Array, dtype: DTypeLike) -> Array:
    """Return floats in [0, 1), from one word each, or from two for float64."""
    if np.dtype(dtype).itemsize == 2:
        fraction = 10 if dtype == np.float16 else 7
        ends = (words & np.uint32(2**fraction - 1)).astype(np.float32)
        return np.asarray((ends * np.float32(2.0**-fraction)).astype(dtype))
    # Multiples of the epsilon, so that these products are exact.
    if dtype == np.float32:
        return (words & np.uint32(0x7FFFFF)).astype(np.float32) * np.float32(2.0**-23)
    pairs = words.reshape(-1, 2)
    return (pairs[:, 0] & np.uint32(0xFFFFF)) * 2.0**-20 + pairs[:, 1] * 2.0**-52


def to_uint64(words: Array) -> Array:
    """Return 64-bit integers, from two words each."""
    pairs = words.reshape(-1, 2).astype(np.uint64)
    return pairs[:, 0] | pairs[:, 1] << np.uint64(32)


def to_normals(words: Array, dtype: DTypeLike) -> Array:
    """Return normal numbers (Box and Muller, 1958); 16-bit floats are rounded from float32."""
    if np.dtype(dtype).itemsize == 2:
        return to_normals(words, np.float32).astype(dtype)
    u = to_floats(words, dtype).reshape(-1, 2)
    kind = u.dtype.type
    radius = np.sqrt(kind(-2) * np.log(np.maximum(u[:, 0], kind(1e-7))))
    angle = kind(2 * np.pi) * u[:, 1]
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], -1).ravel()


def _words_per_number(dtype: DTypeLike) -> int:
    return 1 if np.dtype(dtype).itemsize <= 4 else 2


def uniform(source: Philox, count: int, dtype: DTypeLike) -> Array:
    """Draw floats in [0, 1)."""
    return to_floats(source.words(count * _words_per_number(dtype)), dtype)


def normal(source: Philox, count: int, dtype: DTypeLike) -> Array:
    """Draw normal numbers."""
    words = -(-count // 2) * 2 * _words_per_number(dtype)
    return to_normals(source.words(words), dtype)[:count]


def integers(source: Philox, count: int, dtype: DTypeLike) -> Array:
    """Draw integers from the full range of the dtype."""
    words = source.words(count * _words_per_number(dtype))
    result = words if _words_per_number(dtype) == 1 else to_uint64(words)
    return result.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)


def truncate(source: Philox, count: int, dtype: DTypeLike) -> Array:
    """Draw normal numbers between -2 and 2; each group of numbers has a separate stream."""
    per = _words_per_number(dtype)
    size = 4 // per  # numbers per group
    groups = -(-count // size)
    array = np.empty((groups, size), dtype)
    have = np.zeros(groups, np.intp)
    block, open_ = 0, np.arange(groups)
    while len(open_):
        words = source.at(open_ * (size * RESERVED_BLOCKS // 4) + block)
        numbers = to_normals(words.ravel(), dtype).reshape(len(open_), -1)
        for column in numbers.T:
            here = (np.abs(column) < 2) & (have[open_] < size)
            array[open_[here], have[open_[here]]] = column[here]
            have[open_[here]] += 1
        block += 1
        open_ = open_[have[open_] < size]
    return array.ravel()[:count]


class Streams:
    """Separate streams of normal and uniform numbers.

    Args:
      source: The key and the counter.
      count: The number of streams.
    """

    def __init__(self, source: Philox, count: int) -> None:
        self.source = source
        self.next = np.arange(count, dtype=np.int64) * RESERVED_BLOCKS
        self.buffers = {kind: np.empty((count, 2)) for kind in ("normal", "uniform")}
        self.remaining = {kind: np.zeros(count, np.intp) for kind in ("normal", "uniform")}

    def take(self, kind: str, at: Array) -> Array:
        """Return the next number of the streams ``at``; the second number of a pair comes first."""
        buffer, remaining = self.buffers[kind], self.remaining[kind]
        empty = at[remaining[at] == 0]
        if len(empty):
            words = self.source.at(self.next[empty]).ravel()
            created = to_normals if kind == "normal" else to_floats
            buffer[empty] = created(words, np.float64).reshape(-1, 2)
            remaining[empty] = 2
            self.next[empty] += 1
        remaining[at] -= 1
        result: Array = buffer[at, remaining[at]]
        return result


def gamma(source: Philox, alpha: Array, count: int) -> Array:
    """Draw ``count`` gamma numbers for each alpha, along a new first axis.

    See Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000.
    """
    a = np.repeat(alpha.ravel().astype(np.float64), count)
    streams, value = Streams(source, len(a)), np.full(len(a), np.nan)
    value[a == 0] = 0
    one = np.flatnonzero(a == 1)
    if len(one):
        value[one] = -np.log1p(-streams.take("uniform", one))
    open_ = np.flatnonzero((a > 0) & (a != 1) & np.isfinite(a))
    with np.errstate(invalid="ignore", divide="ignore"):
        d = a + np.where(a < 1, 2 / 3, -1 / 3)
        c = 1 / 3 / np.sqrt(d)
        while len(open_):
            x = streams.take("normal", open_)
            v = 1 + c[open_] * x
            is_tried = v > 0
            tried, x, v = open_[is_tried], x[is_tried], v[is_tried] ** 3
            u = streams.take("uniform", tried)
            taken = (u < 1 - 0.0331 * x**4) | (
                np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v))
            )
            done = tried[taken]
            value[done] = d[done] * v[taken]
            small = done[a[done] < 1]
            if len(small):
                value[small] *= streams.take("uniform", small) ** (1 / a[small])
            is_tried[is_tried] = taken
            open_ = open_[~is_tried]
    return value.reshape(alpha.size, count).T.reshape(count, *alpha.shape)


def poisson(source: Philox, rate: Array, count: int) -> Array:
    """Draw ``count`` Poisson numbers for each rate, along a new first axis.

    Small rates use Knuth's products, others transformed rejection: Hörmann, "The transformed
    rejection method for generating Poisson random variables", 1993. The result is NaN for a rate
    that is not finite.
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
    """Draw binomial numbers from NumPy's generator, seeded by four words."""
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(source.words(4))))
    n, p = np.broadcast_arrays(counts, probs)
    is_valid = (n >= 0) & (p >= 0) & (p <= 1) & np.isfinite(n)
    drawn = generator.binomial(
        np.where(is_valid, n, 0).astype(np.int64), np.where(is_valid, p, 0), shape
    )
    result = drawn.astype(np.float64)
    result[np.broadcast_to(~is_valid, shape)] = np.nan
    return result


def categorical(source: Philox, logits: Array, count: int) -> Array:
    """Draw ``count`` classes for each row, with the probabilities given by the logits."""
    rows = len(logits)
    u = to_floats(source.words(rows * count * 2), np.float64).reshape(rows, count)
    x = logits.astype(np.float64)
    real = np.isfinite(x)
    if real.all():
        share = np.exp(x - x.max(-1, keepdims=True))
    else:
        largest = np.max(np.where(real, x, -np.inf), -1, keepdims=True, initial=-np.inf)
        with np.errstate(invalid="ignore"):
            share = np.where(real, np.exp(x - largest), 0)
    total = share.cumsum(-1)
    array = np.empty((rows, count), np.int64)
    for row in range(rows):
        array[row] = total[row].searchsorted(u[row] * total[row, -1], "right")
    return array


# The derivative of a gamma number by alpha at a fixed quantile.

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_LARGE = 1e6


def gamma_slope(alpha: Array, x: Array) -> Array:
    """Return the derivative of a gamma number by ``alpha`` at a fixed quantile.

    It is minus the derivative of the distribution function by ``alpha``, divided by the density.
    Uses the series in x up to ``alpha``, and above it an integral over the upper tail, whose
    integrand does not cancel; for very large ``alpha``, the normal approximation.
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
    # The substitution s = scale * t / (1 - t) maps [0, 1) to the tail.
    t = (_NODES + 1) / 2
    scale = 1 / (1 - np.minimum((b - 1) / y, 1 - 1 / np.sqrt(y + 1)))
    s = scale * t / (1 - t)
    weight = _WEIGHTS / 2 * scale / (1 - t) ** 2
    density = np.exp((b - 1) * np.log1p(s / y) - s)
    array[high] = (weight * (np.log(y + s) - digamma(b)) * density).sum(-1)
    return array
