"""Random numbers: ``f(blocks, key, other, out)``, the same as those of `kernels.cpu.random`.

A thread draws a block of four words at a time and stores all numbers made from them, so ``out``
must have room for whole blocks. Uniform numbers equal the CPU's bit for bit. Normal ones differ by
a few units in the last place, because the mathematical functions do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .scalar import FUNCTIONS
from .target import KINDS, SIMULATED, cuda, device, product, store, total

if TYPE_CHECKING:
    from ..annotations import Array

BITS = {"float32": 32, "float64": 64}
uint64 = KINDS["uint64"]
# Philox4x64: two multipliers, and the increments of the two words of the key.
MULTIPLIER, OTHER_MULTIPLIER = uint64(0xD2E7470EE14C6C93), uint64(0xCA5A826395121157)
INCREMENT, OTHER_INCREMENT = uint64(0x9E3779B97F4A7C15), uint64(0xBB67AE8584CAA73B)


@device
def philox(a: int, b: int, c: int, d: int, key: int, other: int) -> Any:
    """Four words from the four of a counter and the two of a key, all uint64."""
    for _ in range(10):
        low, high = product(MULTIPLIER, a)
        low_other, high_other = product(OTHER_MULTIPLIER, c)
        a, b, c, d = high_other ^ b ^ key, low_other, high ^ d ^ other, low
        key, other = total(key, INCREMENT), total(other, OTHER_INCREMENT)
    return a, b, c, d


@device
def _block(k: int, key: int, other: int) -> Any:
    """The words of block ``k``. The counter of the first one is 1, as in NumPy."""
    zero = uint64(0)
    return philox(uint64(k + 1), zero, zero, zero, uint64(key), uint64(other))


def _sincos_pi(dtype: str) -> Any:
    """A function that returns the sine and cosine of ``pi * x`` for ``abs(x) <= 1/4``.

    `scalar.FUNCTIONS` also reduce large arguments, which is not needed here.
    """
    if not SIMULATED:
        from numba.cuda import libdevice

        return libdevice.sincospif if dtype == "float32" else libdevice.sincospi
    pi = KINDS[dtype](math.pi)
    return lambda x: (np.sin(pi * x), np.cos(pi * x))


# Functions that make two random numbers from two random integers.


def uniform(dtype: str) -> Any:
    """Uniform in [0, 1): the upper bits of an integer, as in NumPy."""
    kind, bits, digits = KINDS[dtype], BITS[dtype], int(np.finfo(dtype).nmant) + 1
    unsigned = KINDS[f"uint{bits}"]
    shift, scale = unsigned(bits - digits), kind(2.0**-digits)

    def pair(first: int, second: int) -> Any:
        return kind(kind(first >> shift) * scale), kind(kind(second >> shift) * scale)

    return device(pair)


def normal(dtype: str) -> Any:
    """Normal with mean 0 and variance 1; see `kernels.cpu.random.normal`."""
    kind, bits = KINDS[dtype], BITS[dtype]
    unsigned, signed = KINDS[f"uint{bits}"], KINDS[f"int{bits}"]
    step, half, minus_two = kind(2.0**-bits), kind(2.0 ** (-bits - 1)), kind(-2)
    swap_bit, negate_bit, angle_mask = unsigned(1), unsigned(2), unsigned(2**bits - 4)
    log, sqrt = FUNCTIONS[f"log_{dtype}"], FUNCTIONS[f"sqrt_{dtype}"]
    sincos_pi = _sincos_pi(dtype)

    def pair(first: int, second: int) -> Any:
        radius = sqrt(minus_two * log(kind(first) * step + half))
        if second & negate_bit:
            radius = -radius
        sine, cosine = sincos_pi(kind(signed(second & angle_mask)) * half)
        if second & swap_bit:
            sine, cosine = cosine, sine
        return kind(radius * cosine), kind(radius * sine)

    return device(pair)


def _random_kernel(make: Callable[[str], Any], dtype: str) -> Any:
    """The kernel that draws numbers made by ``make``."""
    pair, half, low = make(dtype), uint64(32), KINDS["uint32"]

    def narrow(blocks: int, key: int, other: int, out: Array) -> None:
        k = cuda.grid(1)
        while k < blocks:
            a, b, c, d = _block(k, key, other)
            store(out, 2 * k, pair(low(a), low(a >> half)) + pair(low(b), low(b >> half)))
            store(out, 2 * k + 1, pair(low(c), low(c >> half)) + pair(low(d), low(d >> half)))
            k += cuda.gridsize(1)

    def wide(blocks: int, key: int, other: int, out: Array) -> None:
        k = cuda.grid(1)
        while k < blocks:
            a, b, c, d = _block(k, key, other)
            store(out, k, pair(a, b) + pair(c, d))
            k += cuda.gridsize(1)

    return narrow if dtype == "float32" else wide


KERNELS: dict[str, Callable[[str], Any]] = {
    make.__name__: partial(_random_kernel, make) for make in (uniform, normal)
}
