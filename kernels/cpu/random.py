"""Random numbers: ``f(out, x, y, z, parameters, begin, end)``, as in `kernels.cpu.arrays`.

The parameters are the two words of a key and the number of elements; a unit of work is
`RANDOM_UNIT` blocks of Philox4x64-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
easy as 1, 2, 3", SC'11). A block's four words depend only on the key and the block's number, so
they are the same for any number of threads. `kernels.cuda.random` draws the same numbers. `drawn`
computes the key of a draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..constants import RANDOM_BLOCK, RANDOM_UNIT
from ..functions.vector import FORMATS, FUNCTIONS
from ..jit import INT64, POINTERS, call_array, inline, jit, stack
from .groups import copy

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values


word, number, half_word = POINTERS["uint64"], POINTERS["int64"], POINTERS["uint32"]
uint64 = types.uint64
words_memory, block_memory = stack(RANDOM_UNIT * RANDOM_BLOCK), stack(RANDOM_BLOCK)
MAX_ENTROPY, DRAW_WORDS = 3, 3  # integers that give a key; parameters of a draw after its key
entropy_memory, pool_memory, draw_memory = stack(8 * MAX_ENTROPY), stack(16), stack(40)
LOWER, POSITIVE = 0xFFFFFFFF, 2**63 - 1


@intrinsic
def upper_product(typingctx: TypingContext, x: Type, y: Type) -> Any:
    """The upper 64 bits of the product of two uint64."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(x, wide) for x in args))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), INT64)

    return types.uint64(types.uint64, types.uint64), codegen


@inline
def philox(a: int, b: int, c: int, d: int, key: int, other: int) -> tuple[int, int, int, int]:
    """Four words from the four of a counter and the two of a key, all uint64."""
    for _ in range(10):
        x, y = uint64(0xD2E7470EE14C6C93), uint64(0xCA5A826395121157)
        a, b, c, d = upper_product(y, c) ^ b ^ key, y * c, upper_product(x, a) ^ d ^ other, x * a
        key += uint64(0x9E3779B97F4A7C15)
        other += uint64(0xBB67AE8584CAA73B)
    return a, b, c, d


@jit
def fill(out_: int, key: int, other: int, first: int, count: int) -> None:
    """Write the words of ``count`` blocks. The counter of block 0 is 1, as in NumPy."""
    out, zero = word(out_), uint64(0)
    for k in range(count):
        counter = uint64(first + k + 1)
        a, b, c, d = philox(counter, zero, zero, zero, key, other)
        out[4 * k], out[4 * k + 1], out[4 * k + 2], out[4 * k + 3] = a, b, c, d


# Makers of functions that replace ``n`` random integers at an address by floats.


def uniform(dtype: str) -> Any:
    """From 0 to 1, excluding 1: the upper bits of an integer, as in NumPy."""
    at, kind = POINTERS[dtype], getattr(types, dtype)
    integers, unsigned = POINTERS[f"uint{kind.bitwidth}"], getattr(types, f"uint{kind.bitwidth}")
    digits = FORMATS[kind].mantissa + 1
    shift, scale = unsigned(kind.bitwidth - digits), kind(2.0**-digits)

    def convert(address: int, n: int) -> None:
        bits, out = integers(address), at(address)
        for i in range(n):
            out[i] = kind(unsigned(bits[i] >> shift)) * scale

    return convert


def normal(dtype: str) -> Any:
    """Of mean 0 and variance 1, in pairs from two integers each (Box and Muller, 1958).

    The first integer gives the radius. The second gives an angle of at most an eighth of a turn in
    either direction, which needs no argument reduction; its lowest bits tell whether to swap sine
    and cosine and flip signs.
    """
    at, kind = POINTERS[dtype], getattr(types, dtype)
    bits = kind.bitwidth
    integers, unsigned = POINTERS[f"uint{bits}"], getattr(types, f"uint{bits}")
    signed = getattr(types, f"int{bits}")
    step, half = kind(2.0**-bits), kind(2.0 ** (-bits - 1))
    angle = kind(math.pi * 2.0 ** (-bits - 1))
    swap_bit, negate_bit, angle_mask = unsigned(1), unsigned(2), unsigned(2**bits - 4)
    log, sin, cos = (FUNCTIONS[name] for name in ("log", "sin", "cos"))

    def convert(address: int, n: int) -> None:
        words, out = integers(address), at(address)
        for i in range(n // 2):
            first, second = words[2 * i], words[2 * i + 1]
            # In (0, 1]: the logarithm is finite.
            radius = math.sqrt(kind(-2) * log(kind(first) * step + half))
            radius = -radius if second & negate_bit else radius
            x = kind(signed(second & angle_mask)) * angle
            sine, cosine = sin(x), cos(x)
            out[2 * i] = radius * (sine if second & swap_bit else cosine)
            out[2 * i + 1] = radius * (cosine if second & swap_bit else sine)

    return convert


def _random_kernel(make: Callable[[str], Any], dtype: str) -> Any:
    """The kernel that draws numbers with the function of ``make``."""
    size = getattr(types, dtype).bitwidth // 8
    block_size, convert = RANDOM_BLOCK // size, jit(make(dtype))

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        key, other = word(parameters)[0], word(parameters)[1]
        total, words = number(parameters)[2], words_memory()
        for unit in range(begin, end):
            first_number = unit * RANDOM_UNIT * block_size
            n = min(RANDOM_UNIT * block_size, total - first_number)
            count = (n + block_size - 1) // block_size
            fill(words, key, other, unit * RANDOM_UNIT, count)
            convert(words, count * block_size)
            copy(out_ + first_number * size, words, size, n)

    return kernel


# Kernels that draw one word after the other; there is one unit.


@inline
def _half(address: int, place: int, key: int, other: int) -> int:
    """The 32-bit word at a place of the stream; ``address`` has room for its block."""
    if place % 8 == 0:
        fill(address, key, other, place // 8, 1)
    return uint64(half_word(address)[place % 8])


def permutation() -> Any:
    """The int64s from 0 to n in random order, as NumPy shuffles them."""

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        key, other = word(parameters)[0], word(parameters)[1]
        n, out, block, place = number(parameters)[2], number(out_), block_memory(), 0
        for i in range(n):
            out[i] = i
        for i in range(n - 1, 0, -1):
            mask = uint64(i)
            for shift in (1, 2, 4, 8, 16):
                mask |= mask >> uint64(shift)
            j = uint64(LOWER)
            while j > uint64(i):
                j = _half(block, place, key, other) & mask
                place += 1
            out[i], out[j] = out[j], out[i]

    return kernel


def integers(dtype: str) -> Any:
    """Integers from p[3] to p[3] + p[4], which is included (Lemire, 2019); as NumPy draws them."""
    at, kind = POINTERS[dtype], getattr(types, dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        key, other, low, last = (
            word(parameters)[0],
            word(parameters)[1],
            word(parameters)[3],
            word(parameters)[4],
        )
        n, out, block, place = number(parameters)[2], at(out_), block_memory(), 0
        lower, width = uint64(LOWER), last + uint64(1)
        for i in range(n):
            if last == 0:
                result = uint64(0)
            elif last <= lower:
                threshold = (lower - last) % width
                product = _half(block, place, key, other) * width
                place += 1
                while product & lower < threshold:
                    product = _half(block, place, key, other) * width
                    place += 1
                result = product >> uint64(32)
            else:
                is_full = width == 0
                threshold = uint64(0) if is_full else (~last) % width
                while True:
                    if place % 4 == 0:
                        fill(block, key, other, place // 4, 1)
                    x = word(block)[place % 4]
                    place += 1
                    if is_full or x * width >= threshold:
                        break
                result = x if is_full else upper_product(x, width)
            out[i] = kind(result + low)

    return kernel


@inline
def _hash(value: int, multiplier: int) -> tuple[int, int]:
    value ^= multiplier
    multiplier = multiplier * uint64(0x931E8875) & uint64(LOWER)
    value = value * multiplier & uint64(LOWER)
    return value ^ value >> uint64(16), multiplier


@inline
def _mix(x: int, y: int) -> int:
    value = x * uint64(0xCA01F9DD) - y * uint64(0x4973F715) & uint64(LOWER)
    return value ^ value >> uint64(16)


@jit
def draw_key(key_: int, entropy_: int, count: int) -> None:
    """Write the two words of the key that NumPy's `SeedSequence` makes of int64s without signs."""
    words, pool, key = half_word(entropy_memory()), half_word(pool_memory()), half_word(key_)
    n = 0
    for k in range(count):
        x = word(entropy_)[k] & uint64(POSITIVE)
        words[n] = x & uint64(LOWER)
        n += 1
        if x > uint64(LOWER):
            words[n] = x >> uint64(32)
            n += 1
    multiplier = uint64(0x43B0D7E5)
    for k in range(4):
        value, multiplier = _hash(uint64(words[k]) if k < n else uint64(0), multiplier)
        pool[k] = value
    for k in range(max(4, n)):
        for j in range(4):
            if j != k:
                value = uint64(pool[k]) if k < 4 else uint64(words[k])
                value, multiplier = _hash(value, multiplier)
                pool[j] = _mix(uint64(pool[j]), value)
    multiplier = uint64(0x8B51F9DD)
    for k in range(4):
        value = uint64(pool[k]) ^ multiplier
        multiplier = multiplier * uint64(0x58F38DED) & uint64(LOWER)
        value = value * multiplier & uint64(LOWER)
        key[k] = value ^ value >> uint64(16)


def drawn() -> Any:
    """A draw of a program: parameters 0 to 2 give its key, and parameter 3 is its kernel.

    The parameters of that kernel are the key and the next `DRAW_WORDS` parameters.
    """

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        own, p = draw_memory(), number(parameters)
        draw_key(own, parameters, 3)
        for k in range(DRAW_WORDS):
            number(own)[2 + k] = p[4 + k]
        call_array(p[3], out_, x_, y_, z_, own, begin, end)

    return kernel


def state() -> Any:
    """The key itself."""

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        number(out_)[0], number(out_)[1] = number(parameters)[0], number(parameters)[1]

    return kernel


def numbered(dtype: str) -> Any:
    """Uniform numbers whose key `draw_key` makes of the two int64s of ``x``; p[0] is their number.

    A unit is `RANDOM_UNIT` blocks.
    """
    draw = jit(_random_kernel(uniform, dtype))

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        own = draw_memory()
        draw_key(own, x_, 2)
        number(own)[2] = number(parameters)[0]
        draw(out_, 0, 0, 0, own, begin, end)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    **{make.__name__: partial(_random_kernel, make) for make in (uniform, normal)},
    **{make.__name__: make for make in (permutation, integers, drawn, state, numbered)},
}
