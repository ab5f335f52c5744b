"""Random numbers of TensorFlow's streams (Philox4x32-10); `core.ops.philox` defines them.

The first operand of each kernel is a state: two integers, which are a stateless seed, or three, the
counter's two words and the key. The first parameters are the number and the size of these integers.
A block is the four 32-bit words of one value of the counter, which depend only on it and on the
key: results are the same for any number of threads. See `arrays` for the arguments of kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from numba import types

from ..constants import PHILOX_BLOCK, PHILOX_UNIT, RESERVED_BLOCKS
from ..functions.vector import FUNCTIONS
from ..jit import POINTERS, inline, jit, stack
from . import scalar
from .groups import copy

number, word, narrow = POINTERS["int64"], POINTERS["uint64"], POINTERS["int32"]
half_word, real = POINTERS["uint32"], POINTERS["float64"]
uint32, uint64, float64 = types.uint32, types.uint64, types.float64
exp, log, log1p, power, floor = (
    scalar.FUNCTIONS[name] for name in ("exp", "log", "log1p", "power", "floor")
)

LOWER = 0xFFFFFFFF
SHARES = 128  # of the probabilities of classes, which are computed together
CHECKPOINTS = 256  # running sums of probabilities that are stored
FACTORIALS = 16  # products below this number are exact
NAN = math.nan

_unit_memory, _block_memory = stack(PHILOX_UNIT * PHILOX_BLOCK), stack(PHILOX_BLOCK)
_state_memory = stack(24)
# Of a stream: the number of its next block; how many normal and uniform numbers remain; these.
_stream_memory, NEXT, NORMALS, UNIFORMS, BUFFERS, STREAM_WORDS = stack(64), 0, 1, 2, 3, 7
_shares_memory, _sums_memory = stack(8 * SHARES), stack(8 * CHECKPOINTS)


@inline
def _words(key: int, low: int, high: int) -> tuple[int, int, int, int]:
    """The four words of a block from its key and its counter, all uint64."""
    lower, shift = uint64(LOWER), uint64(32)
    a, b, c, d = low & lower, low >> shift, high & lower, high >> shift
    first, second = key & lower, key >> shift
    for _ in range(10):
        x, y = a * uint64(0xD2511F53), c * uint64(0xCD9E8D57)
        a, b, c, d = (y >> shift) ^ b ^ first, y & lower, (x >> shift) ^ d ^ second, x & lower
        first = (first + uint64(0x9E3779B9)) & lower
        second = (second + uint64(0xBB67AE85)) & lower
    return a, b, c, d


@jit
def load_state(to_: int, state_: int, parameters: int) -> None:
    """Write the counter's two words and the key."""
    count, size = number(parameters)[0], number(parameters)[1]
    to, shift = word(to_), uint64(32)
    for k in range(count):
        to[k] = uint64(types.int64(narrow(state_)[k]) if size == 4 else number(state_)[k])
    if count == 2:  # TensorFlow derives the key and the counter from a seed in this way
        a, b, c, d = _words(uint64(0x02461E293EC8F720), to[0], to[1])
        to[0], to[1], to[2] = uint64(0), (d << shift) | c, (b << shift) | a


@inline
def _block(state_: int, place: int) -> tuple[int, int, int, int]:
    """The words of the block at ``place`` from the counter."""
    state = word(state_)
    low = state[0] + uint64(place)
    high = state[1] + (uint64(1) if low < state[0] else uint64(0))
    return _words(state[2], low, high)


@jit
def fill_blocks(out_: int, state_: int, first: int, count: int) -> None:
    """Write the words of ``count`` blocks."""
    out = half_word(out_)
    for k in range(count):
        a, b, c, d = _block(state_, first + k)
        out[4 * k], out[4 * k + 1], out[4 * k + 2], out[4 * k + 3] = a, b, c, d


# Makers of functions that replace ``n`` numbers' words at an address by the numbers. A number has
# one word, or two if it has 64 bits.


def integers(dtype: str) -> Any:
    """Integers of the full range: the words."""

    def convert(address: int, n: int) -> None:
        pass

    return convert


def uniform(dtype: str) -> Any:
    """Floats from 0 to 1, excluding 1: multiples of the epsilon."""
    at = POINTERS[dtype]

    def convert_narrow(address: int, n: int) -> None:
        words, out = half_word(address), at(address)
        for i in range(n):
            out[i] = types.float32(types.int32(words[i] & uint32(0x7FFFFF))) * types.float32(
                2.0**-23
            )

    def convert_wide(address: int, n: int) -> None:
        words, out = half_word(address), at(address)
        for i in range(n):
            upper, lower = words[2 * i] & uint32(0xFFFFF), words[2 * i + 1]
            out[i] = float64(upper) * 2.0**-20 + float64(lower) * 2.0**-52

    return convert_narrow if dtype == "float32" else convert_wide


def normal(dtype: str) -> Any:
    """Normal numbers, in pairs (Box and Muller, 1958)."""
    at, kind, convert_uniform = POINTERS[dtype], getattr(types, dtype), jit(uniform(dtype))
    sin, cos = FUNCTIONS["sin"], FUNCTIONS["cos"]

    def convert(address: int, n: int) -> None:
        convert_uniform(address, n)
        out = at(address)
        for i in range(n // 2):
            radius = math.sqrt(kind(-2) * log(max(out[2 * i], kind(1e-7))))
            angle = kind(2 * math.pi) * out[2 * i + 1]
            out[2 * i], out[2 * i + 1] = sin(angle) * radius, cos(angle) * radius

    return convert


def _draw(make: Callable[[str], Any], dtype: str) -> Any:
    """The kernel that draws numbers with the function of ``make``; p[2] is their number.

    A unit is `PHILOX_UNIT` blocks.
    """
    size = getattr(types, dtype).bitwidth // 8
    block_size, convert = PHILOX_BLOCK // size, jit(make(dtype))

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        state, numbers, total = _state_memory(), _unit_memory(), number(parameters)[2]
        load_state(state, x_, parameters)
        for unit in range(begin, end):
            first = unit * PHILOX_UNIT * block_size
            n = min(PHILOX_UNIT * block_size, total - first)
            count = (n + block_size - 1) // block_size
            fill_blocks(numbers, state, unit * PHILOX_UNIT, count)
            convert(numbers, count * block_size)
            copy(out_ + first * size, numbers, size, n)

    return kernel


def between(dtype: str) -> Any:
    """Integers from y to z, excluding z; p[2] is their number. A unit is `PHILOX_UNIT` blocks."""
    size = getattr(types, dtype).bitwidth // 8
    at, kind = POINTERS[f"u{dtype}"], getattr(types, f"u{dtype}")
    block_size = PHILOX_BLOCK // size

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        state, numbers, total = _state_memory(), _unit_memory(), number(parameters)[2]
        load_state(state, x_, parameters)
        low = at(y_)[0]
        width = kind(at(z_)[0] - low)
        for unit in range(begin, end):
            first = unit * PHILOX_UNIT * block_size
            n = min(PHILOX_UNIT * block_size, total - first)
            fill_blocks(numbers, state, unit * PHILOX_UNIT, (n + block_size - 1) // block_size)
            out, words = at(out_ + first * size), at(numbers)
            for i in range(n):
                out[i] = words[i] % width + low

    return kernel


def truncated(dtype: str) -> Any:
    """Normal numbers between -2 and 2; p[2] is their number.

    A unit is a group of as many numbers as a block has. Each group has a stream of blocks.
    """
    at, size = POINTERS[dtype], getattr(types, dtype).bitwidth // 8
    block_size, convert = PHILOX_BLOCK // size, jit(normal(dtype))
    stream_blocks = block_size * RESERVED_BLOCKS // 4

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        state, block, total = _state_memory(), _block_memory(), number(parameters)[2]
        load_state(state, x_, parameters)
        for group in range(begin, end):
            out, n = at(out_ + group * PHILOX_BLOCK), min(block_size, total - group * block_size)
            count, place = 0, group * stream_blocks
            while count < n:
                fill_blocks(block, state, place, 1)
                convert(block, block_size)
                place += 1
                for k in range(block_size):
                    x = at(block)[k]
                    if abs(x) < 2 and count < n:
                        out[count] = x
                        count += 1

    return kernel


# Streams of normal and uniform numbers, for numbers that need an unknown count of them.


@jit
def start_stream(stream_: int, index: int) -> None:
    """Start the stream of the number at an index."""
    stream = number(stream_)
    stream[NEXT], stream[NORMALS], stream[UNIFORMS] = index * RESERVED_BLOCKS, 0, 0


_convert_normal, _convert_uniform = jit(normal("float64")), jit(uniform("float64"))


@jit
def take_normal(stream_: int, state: int) -> float:
    """The next normal number of a stream; the second number of a pair comes first."""
    stream, buffer = number(stream_), stream_ + 8 * BUFFERS
    if stream[NORMALS] == 0:
        fill_blocks(buffer, state, stream[NEXT], 1)
        _convert_normal(buffer, 2)
        stream[NEXT] += 1
        stream[NORMALS] = 2
    stream[NORMALS] -= 1
    return real(buffer)[stream[NORMALS]]


@jit
def take_uniform(stream_: int, state: int) -> float:
    """The next uniform number of a stream; the second number of a pair comes first."""
    stream, buffer = number(stream_), stream_ + 8 * (BUFFERS + 2)
    if stream[UNIFORMS] == 0:
        fill_blocks(buffer, state, stream[NEXT], 1)
        _convert_uniform(buffer, 2)
        stream[NEXT] += 1
        stream[UNIFORMS] = 2
    stream[UNIFORMS] -= 1
    return real(buffer)[stream[UNIFORMS]]


@jit
def gamma_number(a: float, stream: int, state: int) -> float:
    """A gamma number (Marsaglia and Tsang, 2000)."""
    if a == 0:
        return 0.0
    if a == 1:
        return -log1p(-take_uniform(stream, state))
    if not 0 < a < math.inf:
        return NAN
    d = a + (2 / 3 if a < 1 else -1 / 3)
    c = 1 / 3 / math.sqrt(d)
    while True:
        x = take_normal(stream, state)
        v = 1 + c * x
        if v > 0:
            v = v * v * v
            u = take_uniform(stream, state)
            if u < 1 - 0.0331 * (x * x) * (x * x) or log(u) < 0.5 * x * x + d * (1 - v + log(v)):
                break
    value = d * v
    if a < 1:
        value *= power(take_uniform(stream, state), 1 / a)
    return value


def gamma(dtype: str) -> Any:
    """Gamma numbers for each alpha in ``y``, along a first axis; p[2] is the number of alphas.

    A unit is a number. Parameter 3 is how many there are for each alpha.
    """
    at = POINTERS[dtype]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        alphas, count = number(parameters)[2], number(parameters)[3]
        state, stream, out = _state_memory(), _stream_memory(), at(out_)
        load_state(state, x_, parameters)
        for unit in range(begin, end):
            k = unit % alphas
            start_stream(stream, k * count + unit // alphas)
            out[unit] = gamma_number(float64(at(y_)[k]), stream, state)

    return kernel


@jit
def _log_factorial(n: float) -> float:
    """The logarithm of the factorial of a whole number (for large ones, Stirling's series)."""
    if n < FACTORIALS:
        product = 1.0
        for k in range(2, FACTORIALS):
            product *= k if k <= n else 1
        return log(product)
    z = n + 1
    r = 1 / (z * z)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / z
    return (z - 0.5) * log(z) - z + 0.5 * math.log(2 * math.pi) + series


@jit
def poisson_number(rate: float, stream: int, state: int) -> float:
    """A Poisson number: by Knuth's products, for large rates by Hörmann's rejection (1993)."""
    if not abs(rate) < math.inf:
        return NAN
    if rate < 10:
        limit, product, count = exp(-max(rate, -1.0)), 1.0, 0.0
        while True:
            product *= take_uniform(stream, state)
            if product <= limit:
                return count
            count += 1
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    while True:
        u = take_uniform(stream, state) - 0.5
        v = take_uniform(stream, state)
        shifted = 0.5 - abs(u)
        k = floor((2 * a / shifted + b) * u + rate + 0.43)
        if shifted >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (shifted < 0.013 and v > shifted):
            continue
        s = log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (shifted * shifted) + b))
        if s <= -rate + k * log(rate) - _log_factorial(k):
            return k


def _rounded(dtype: str) -> Any:
    """The function that converts a count; NaN is 0 as an integer, and too large ones the least."""
    kind = getattr(types, dtype)
    is_float = isinstance(kind, types.Float)
    limit = 2.0 ** (kind.bitwidth - 1)

    def convert_float(x: float) -> Any:
        return kind(x)

    def convert_integer(x: float) -> Any:
        if x != x:
            return kind(0)
        return kind(x) if abs(x) < limit else kind(-limit)

    return inline(convert_float if is_float else convert_integer)


def poisson(dtype: str, rate_dtype: str) -> Any:
    """Poisson numbers for each rate in ``y``, along a first axis; p[2] is the number of rates.

    A unit is a number. Parameter 3 is how many there are for each rate.
    """
    at, rate_at, rounded = POINTERS[dtype], POINTERS[rate_dtype], _rounded(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        rates, count = number(parameters)[2], number(parameters)[3]
        state, stream, out = _state_memory(), _stream_memory(), at(out_)
        load_state(state, x_, parameters)
        for unit in range(begin, end):
            k = unit % rates
            start_stream(stream, k * count + unit // rates)
            out[unit] = rounded(poisson_number(float64(rate_at(y_)[k]), stream, state))

    return kernel


def categorical(dtype: str, logit_dtype: str) -> Any:
    """Classes for each row of logits ``y``.

    Parameters from 2 on: the numbers of classes and of draws, and the size of a logit. A unit is a
    row. Running sums of the probabilities are stored for every few classes.
    """
    at, logit_at = POINTERS[dtype], POINTERS[logit_dtype]

    def write_shares(shares_: int, logits_: int, n: int, largest: float) -> None:
        """Write the probabilities of n classes times a constant."""
        shares, logits = real(shares_), logit_at(logits_)
        for i in range(n):
            x = float64(logits[i])
            shares[i] = exp(x - largest) if abs(x) < math.inf else 0.0

    shares_of = jit(write_shares)

    def find_class(
        sums: int,
        logits: int,
        logit_size: int,
        classes: int,
        step: int,
        largest: float,
        target: float,
    ) -> int:
        """The number of classes whose running sum is at most ``target``."""
        low, high = 0, (classes + step - 1) // step  # checkpoints: the sums of earlier classes
        while high - low > 1:
            middle = (low + high) // 2
            if real(sums)[middle] <= target:
                low = middle
            else:
                high = middle
        total, shares = real(sums)[low], _shares_memory()
        for start in range(low * step, min((low + 1) * step, classes), SHARES):
            n = min(SHARES, (low + 1) * step - start, classes - start)
            shares_of(shares, logits + start * logit_size, n, largest)
            for i in range(n):
                total += real(shares)[i]
                if total > target:
                    return start + i
        return min((low + 1) * step, classes)

    find = jit(find_class)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        classes, count, logit_size = p[2], p[3], p[4]
        step = (classes + CHECKPOINTS - 1) // CHECKPOINTS
        state, sums, shares = _state_memory(), _sums_memory(), _shares_memory()
        uniforms, out = _block_memory(), at(out_)
        load_state(state, x_, parameters)
        for row in range(begin, end):
            logits = y_ + row * classes * logit_size
            largest = -math.inf
            for i in range(classes):
                x = float64(logit_at(logits)[i])
                if largest < x < math.inf:
                    largest = x
            total = 0.0
            for start in range(0, classes, SHARES):
                n = min(SHARES, classes - start)
                shares_of(shares, logits + start * logit_size, n, largest)
                for i in range(n):
                    if (start + i) % step == 0:
                        real(sums)[(start + i) // step] = total
                    total += real(shares)[i]
            for k in range(row * count, (row + 1) * count):
                if k % 2 == 0 or k == row * count:
                    fill_blocks(uniforms, state, k // 2, 1)
                    _convert_uniform(uniforms, 2)
                target = real(uniforms)[k % 2] * total
                out[k] = find(sums, logits, logit_size, classes, step, largest, target)

    return kernel


def skip() -> Any:
    """The state of a generator after a number of blocks: parameters 2 and 3, the lower word first.

    There is one unit.
    """

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        out, state, p = word(out_), word(x_), word(parameters)
        low = state[0] + p[2]
        out[1] = state[1] + p[3] + (uint64(1) if low < p[2] else uint64(0))
        out[0], out[2] = low, state[2]

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    **{make.__name__: partial(_draw, make) for make in (integers, uniform, normal)},
    **{make.__name__: make for make in (between, truncated, gamma, poisson, categorical, skip)},
}
