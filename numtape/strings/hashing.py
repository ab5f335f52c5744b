"""Hash functions of strings: TensorFlow's own, FarmHash's fingerprint and SipHash.

The results are the same in every process and on every machine, as in TensorFlow. Arithmetic is
modulo 2**64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core.values import dtypes
from ..core.values.composite import dispatches
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from .text import map_to_numbers

if TYPE_CHECKING:
    from ..core.values.annotations import StringLike

_MASK = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(data: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(data[start : start + size], "little")


def _rotate_right(x: int, shift: int) -> int:
    x &= _MASK
    return (x >> shift) | (x << (64 - shift)) & _MASK


def _rotate_left(x: int, shift: int) -> int:
    return _rotate_right(x, 64 - shift)


def _shift_mix(x: int) -> int:
    x &= _MASK
    return x ^ (x >> 47)


def _mix(u: int, v: int, multiplier: int) -> int:
    """Hash two words to one."""
    a = _shift_mix((u ^ v) * multiplier)
    return _shift_mix((v ^ a) * multiplier) * multiplier & _MASK


def _mix_16(data: bytes, start: int, a: int, b: int) -> tuple[int, int]:
    """Hash 32 bytes from ``start`` on, with two seeds, to two words."""
    w, x, y, z = (_word(data, start + offset) for offset in (0, 8, 16, 24))
    a += w
    b = _rotate_right(b + a + z, 21)
    c = a
    a += x + y
    b += _rotate_right(a, 44)
    return (a + z) & _MASK, (b + c) & _MASK


def fingerprint64(data: bytes) -> int:
    """Return FarmHash's 64-bit fingerprint (``farmhash::Fingerprint64``) of a string."""
    size = len(data)
    if size <= 16:
        return _fingerprint_short(data)
    multiplier = _K2 + size * 2
    if size <= 64:
        a = _word(data, 0) * (_K1 if size <= 32 else _K2)
        b = _word(data, 8)
        c = _word(data, size - 8) * multiplier
        d = _word(data, size - 16) * _K2
        y = _rotate_right(a + b, 43) + _rotate_right(c, 30) + d
        z = a + _rotate_right(b + _K2, 18) + c
        if size <= 32:
            return _mix(y & _MASK, z & _MASK, multiplier)
        z = _mix(y & _MASK, z & _MASK, multiplier)
        e = _word(data, 16) * multiplier
        f = _word(data, 24)
        g = (y + _word(data, size - 32)) * multiplier
        h = (z + _word(data, size - 24)) * multiplier
        return _mix(
            (_rotate_right(e + f, 43) + _rotate_right(g, 30) + h) & _MASK,
            (e + _rotate_right(f + a, 18) + g) & _MASK,
            multiplier,
        )
    return _fingerprint_long(data)


def _fingerprint_short(data: bytes) -> int:
    """Return the fingerprint of at most 16 bytes."""
    size = len(data)
    multiplier = _K2 + size * 2
    if size >= 8:
        a = _word(data, 0) + _K2
        b = _word(data, size - 8)
        c = _rotate_right(b, 37) * multiplier + a
        d = (_rotate_right(a, 25) + b) * multiplier
        return _mix(c & _MASK, d & _MASK, multiplier)
    if size >= 4:
        low, high = _word(data, 0, 4), _word(data, size - 4, 4)
        return _mix((size + (low << 3)) & _MASK, high, multiplier)
    if size:
        y = data[0] + (data[size >> 1] << 8)
        z = size + (data[-1] << 2)
        return _shift_mix(y * _K2 ^ z * _K0) * _K2 & _MASK
    return _K2


def _fingerprint_long(data: bytes) -> int:
    """Return the fingerprint of more than 64 bytes."""
    size, seed = len(data), 81
    x, y = seed, (seed * _K1 + 113) & _MASK
    z = _shift_mix(y * _K2 + 113) * _K2 & _MASK
    v = w = (0, 0)
    x = (x * _K2 + _word(data, 0)) & _MASK

    def step(start: int, factor: int, weight: int) -> None:
        nonlocal x, y, z, v, w
        x = _rotate_right(x + y + v[0] + _word(data, start + 8), 37) * factor & _MASK
        y = _rotate_right(y + v[1] + _word(data, start + 48), 42) * factor & _MASK
        x ^= w[1] * weight & _MASK
        y = (y + v[0] * weight + _word(data, start + 40)) & _MASK
        z = _rotate_right(z + w[0], 33) * factor & _MASK
        v = _mix_16(data, start, v[1] * factor, x + w[0])
        w = _mix_16(data, start + 32, z + w[1], y + _word(data, start + 16))
        z, x = x, z

    last = (size - 1) // 64 * 64
    for start in range(0, last, 64):
        step(start, _K1, 1)
    multiplier = _K1 + ((z & 0xFF) << 1)
    w = ((w[0] + ((size - 1) & 63)) & _MASK, w[1])
    v = ((v[0] + w[0]) & _MASK, v[1])
    w = ((w[0] + v[0]) & _MASK, w[1])
    step(size - 64, multiplier, 9)
    return _mix(
        (_mix(v[0], w[0], multiplier) + _shift_mix(y) * _K0 + z) & _MASK,
        (_mix(v[1], w[1], multiplier) + x) & _MASK,
        multiplier,
    )


def hash64(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """Return TensorFlow's hash of a string, a variant of MurmurHash2."""
    multiplier, size = 0xC6A4A7935BD1E995, len(data)
    h = seed ^ size * multiplier & _MASK
    end = size & ~7
    for start in range(0, end, 8):
        k = _shift_mix(_word(data, start) * multiplier) * multiplier & _MASK
        h = (h ^ k) * multiplier & _MASK
    if size > end:
        h = (h ^ _word(data, end)) * multiplier & _MASK
    return _shift_mix(_shift_mix(h) * multiplier)


def siphash(data: bytes, key: tuple[int, int]) -> int:
    """Return SipHash-2-4 of a string with a key of two words."""
    v0, v1 = key[0] ^ 0x736F6D6570736575, key[1] ^ 0x646F72616E646F6D
    v2, v3 = key[0] ^ 0x6C7967656E657261, key[1] ^ 0x7465646279746573

    def rounds(count: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0 = (v0 + v1) & _MASK
            v1 = _rotate_left(v1, 13) ^ v0
            v0 = _rotate_left(v0, 32)
            v2 = (v2 + v3) & _MASK
            v3 = _rotate_left(v3, 16) ^ v2
            v0 = (v0 + v3) & _MASK
            v3 = _rotate_left(v3, 21) ^ v0
            v2 = (v2 + v1) & _MASK
            v1 = _rotate_left(v1, 17) ^ v2
            v2 = _rotate_left(v2, 32)

    size = len(data)
    padded = data + bytes(7 - size % 8) + bytes([size & 0xFF])
    for start in range(0, len(padded), 8):
        word = _word(padded, start)
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= 0xFF
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


def concatenate(first: int, second: int) -> int:
    """Return the fingerprint of two fingerprints (TensorFlow's ``FingerprintCat64``)."""
    multiplier = 0xC6A4A7935BD1E995
    result = first ^ multiplier
    result ^= _shift_mix(second * multiplier) * multiplier & _MASK
    result = _shift_mix(result * multiplier) * multiplier
    return _shift_mix(result)


def cross(columns: Sequence[Sequence[bytes | int]], num_buckets: int) -> list[int]:
    """Return the bucket of each row of columns of strings or integers.

    Args:
      columns: The columns, of one length.
      num_buckets: The number of buckets.
    """
    buckets = []
    for row in zip(*columns, strict=True):
        result = 0xDECAFCAFFE
        for value in row:
            word = fingerprint64(value) if isinstance(value, bytes) else value & _MASK
            result = concatenate(result, word)
        buckets.append(result % num_buckets)
    return buckets


def _check_buckets(num_buckets: int, op: str) -> int:
    if num_buckets < 1:
        raise InvalidArgumentError(
            f"Value for attr 'num_buckets' of {num_buckets} must be at least minimum 1 [Op:{op}]"
        )
    return int(num_buckets)


@dispatches
def to_hash_bucket(input: StringLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Assign strings to buckets by TensorFlow's hash function.

    Args:
      input: A tensor of strings.
      num_buckets: The number of buckets.
      name: Not used.

    Returns:
      A tensor of int64 of the same shape, from 0 to ``num_buckets - 1``.

    Raises:
      InvalidArgumentError: If there are no buckets.

    Example:
      >>> tf.strings.to_hash_bucket(["Hello", "TensorFlow", "2.x"], 3).numpy()
      array([2, 0, 1])
    """
    count = _check_buckets(num_buckets, "StringToHashBucket")
    return map_to_numbers(input, lambda string: hash64(string) % count, dtypes.int64)


@dispatches
def to_hash_bucket_fast(input: StringLike, num_buckets: int, name: str | None = None) -> Tensor:
    """Assign strings to buckets by FarmHash's fingerprint.

    Args:
      input: A tensor of strings.
      num_buckets: The number of buckets.
      name: Not used.

    Returns:
      A tensor of int64 of the same shape, from 0 to ``num_buckets - 1``.

    Raises:
      InvalidArgumentError: If there are no buckets.

    Example:
      >>> tf.strings.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy()
      array([0, 2, 2])
    """
    count = _check_buckets(num_buckets, "StringToHashBucketFast")
    return map_to_numbers(input, lambda string: fingerprint64(string) % count, dtypes.int64)


@dispatches
def to_hash_bucket_strong(
    input: StringLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """Assign strings to buckets by SipHash, unpredictable without the key.

    Args:
      input: A tensor of strings.
      num_buckets: The number of buckets.
      key: Two integers.
      name: Not used.

    Returns:
      A tensor of int64 of the same shape, from 0 to ``num_buckets - 1``.

    Raises:
      InvalidArgumentError: If there are no buckets, or the key has not two elements.

    Example:
      >>> tf.strings.to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2]).numpy()
      array([2, 0])
    """
    count = _check_buckets(num_buckets, "StringToHashBucketStrong")
    if len(key) != 2:
        raise InvalidArgumentError("Key must have 2 elements [Op:StringToHashBucketStrong]")
    words = int(key[0]) & _MASK, int(key[1]) & _MASK
    return map_to_numbers(input, lambda string: siphash(string, words) % count, dtypes.int64)
