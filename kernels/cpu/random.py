"""Random numbers: ``f(out, x, y, z, parameters, begin, end)``, as in `kernels.cpu.arrays`.

The parameters are the two words of a key and the number of elements; a unit of work is
`RANDOM_UNIT` blocks of Philox4x64-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
easy as 1, 2, 3", SC'11). A block's four words depend only on the key and the block's number, so
they are the same for any number of threads. `kernels.cuda.random` draws the same numbers.
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
from ..jit import INT64, POINTERS, inline, jit, stack
from .groups import copy

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values


word, number = POINTERS["uint64"], POINTERS["int64"]
uint64 = types.uint64
words_memory = stack(RANDOM_UNIT * RANDOM_BLOCK)


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


KERNELS: dict[str, Callable[[str], Any]] = {
    make.__name__: partial(_random_kernel, make) for make in (uniform, normal)
}
