"""Philox4x32-10: TensorFlow's generator of stateless random numbers, on NumPy arrays.

The numbers of a key and a counter are TensorFlow's: integers and uniform ones bit for bit, others
as near as NumPy's logarithm and sine are to its own. See Salmon, Moraes, Dror and Shaw, "Parallel
Random Numbers: As Easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
RESERVED = 256  # blocks that each number of an unknown count of uniform ones has for itself


def _blocks(key: int, low: Array, high: Array) -> Array:
    """Four words for each counter of 128 bits, whose halves are ``low`` and ``high``."""
    c = [low & _WORD, low >> _HALF, high & _WORD, high >> _HALF]
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    for _ in range(10):
        a, b = c[0] * _MULTIPLIERS[0], c[2] * _MULTIPLIERS[1]
        c = [(b >> _HALF) ^ c[1] ^ k[0], b & _WORD, (a >> _HALF) ^ c[3] ^ k[1], a & _WORD]
        k = [(k[0] + _WEYL[0]) & _WORD, (k[1] + _WEYL[1]) & _WORD]
    return np.stack(c, -1).astype(np.uint32)


class Philox:
    """A key and a counter.

    Args:
      state: Two integers of a stateless seed, or three: the counter's two and the key.
    """

    def __init__(self, state: Array) -> None:
        words = [int(x) & (2**64 - 1) for x in state.tolist()]
        if len(words) == 2:  # as TensorFlow makes a key of a seed
            mix = _blocks(0x02461E293EC8F720, *(np.array([x], np.uint64) for x in words))[0]
            low, high, a, b = (int(x) for x in mix)
            words = [0, b << 32 | a, high << 32 | low]
        self.key = words[2]
        self.counter = words[1] << 64 | words[0]

    def at(self, places: Array) -> Array:
        """The blocks so many places behind the counter."""
        low = places.astype(np.uint64) + np.uint64(self.counter & (2**64 - 1))
        high = np.uint64(self.counter >> 64) + (low < places.astype(np.uint64)).astype(np.uint64)
        return _blocks(self.key, low, high)

    def words(self, count: int) -> Array:
        """The first words."""
        return self.at(np.arange(-(-count // 4))).ravel()[:count]


def floats(words: Array, dtype: Any) -> Array:
    """Numbers from 0 to 1: of each word, or of each two. Half of a word's bits do for a half."""
    if np.dtype(dtype).itemsize == 2:
        fraction = 10 if dtype == np.float16 else 7
        ends = (words & np.uint32(2**fraction - 1)).astype(np.float32)
        return np.asarray((ends * np.float32(2.0**-fraction)).astype(dtype))
    if dtype == np.float32:
        return (words & np.uint32(0x7FFFFF) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)
    pairs = words.reshape(-1, 2).astype(np.uint64)
    bits = (pairs[:, 0] & np.uint64(0xFFFFF)) << _HALF | pairs[:, 1] | np.uint64(1023 << 52)
    return bits.view(np.float64) - 1.0


def longs(words: Array) -> Array:
    """Integers of 64 bits, of two words each."""
    pairs = words.reshape(-1, 2).astype(np.uint64)
    return pairs[:, 0] | pairs[:, 1] << _HALF


def normals(words: Array, dtype: Any) -> Array:
    """Normal numbers, by Box and Muller (1958); those of 16 bits are float32's, rounded."""
    if np.dtype(dtype).itemsize == 2:
        return normals(words, np.float32).astype(dtype)
    u = floats(words, dtype).reshape(-1, 2)
    kind = u.dtype.type
    radius = np.sqrt(kind(-2) * np.log(np.maximum(u[:, 0], kind(1e-7))))
    angle = kind(2 * np.pi) * u[:, 1]
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], -1).ravel()


def _per_number(dtype: Any) -> int:
    return 1 if np.dtype(dtype).itemsize <= 4 else 2


def uniform(source: Philox, count: int, dtype: Any) -> Array:
    """Numbers from 0 to 1."""
    return floats(source.words(count * _per_number(dtype)), dtype)


def normal(source: Philox, count: int, dtype: Any) -> Array:
    """Normal numbers."""
    words = -(-count // 2) * 2 * _per_number(dtype)
    return normals(source.words(words), dtype)[:count]


def integers(source: Philox, count: int, dtype: Any) -> Array:
    """Integers of all values."""
    words = source.words(count * _per_number(dtype))
    result = words if _per_number(dtype) == 1 else longs(words)
    return result.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)


def truncate(source: Philox, count: int, dtype: Any) -> Array:
    """Normal numbers between -2 and 2: those beyond are left out of each group's own stream."""
    per = _per_number(dtype)
    size = 4 // per  # of a group
    groups = -(-count // size)
    array = np.empty((groups, size), dtype)
    have = np.zeros(groups, np.intp)
    block, open_ = 0, np.arange(groups)
    while len(open_):
        words = source.at(open_ * (size * RESERVED // 4) + block)
        numbers = normals(words.ravel(), dtype).reshape(len(open_), -1)
        for column in numbers.T:
            here = (np.abs(column) < 2) & (have[open_] < size)
            array[open_[here], have[open_[here]]] = column[here]
            have[open_[here]] += 1
        block += 1
        open_ = open_[have[open_] < size]
    return array.ravel()[:count]


class Streams:
    """For each of many numbers its own stream, from which normal and uniform ones are taken.

    Args:
      source: The key and the counter.
      count: How many streams.
    """

    def __init__(self, source: Philox, count: int) -> None:
        self.source = source
        self.next = np.arange(count, dtype=np.int64) * RESERVED
        self.kept = {kind: np.empty((count, 2)) for kind in ("normal", "uniform")}
        self.left = {kind: np.zeros(count, np.intp) for kind in ("normal", "uniform")}

    def take(self, kind: str, at: Array) -> Array:
        """The next number of the streams ``at``: of each block of two the second comes first."""
        retained, left = self.kept[kind], self.left[kind]
        empty = at[left[at] == 0]
        if len(empty):
            words = self.source.at(self.next[empty]).ravel()
            created = normals if kind == "normal" else floats
            retained[empty] = created(words, np.float64).reshape(-1, 2)
            left[empty] = 2
            self.next[empty] += 1
        left[at] -= 1
        result: Array = retained[at, left[at]]
        return result
