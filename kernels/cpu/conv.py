"""Convolutions: products of panels of pixels and of the filter; direct loops for single channels.

Threads share units. The order of additions depends on shapes alone. Parameters of all kernels:
batch, groups, channels and features of a group, then three each of the sizes of inputs, outputs
and filter, strides, dilations, zeros before the input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..jit import POINTERS, jit
from .panels import (
    BLOCK,
    BYTES,
    COLUMNS,
    DEEP,
    PITCH,
    PIXELS,
    ROWS,
    TAP,
    TILE,
    clear_bytes,
    copy_bytes,
    filter_memory,
    filter_rows,
    forward_lattice,
    gather_pixels,
    input_lattice,
    lattice_memory,
    next_place,
    number,
    offsets_memory,
    offsets_of,
    panel_memory,
    pixels_memory,
    place_of,
    sums_memory,
    taps_memory,
    tile,
)


def _tiles(dtype: str) -> Any:
    """A function that multiplies panels, and writes or adds the product to rows of the result."""
    wide, narrow = tile(dtype, 2, False), tile(dtype, 1, False)
    at = POINTERS[dtype]
    item = 4 if dtype == "float32" else 8

    @jit
    def tiles(
        out: int,
        offsets_: int,
        panel: int,
        rows: int,
        pixels: int,
        count: int,
        many: int,
        vectors: int,
        add: int,
        solid: int,
        tile_: int,
    ) -> None:
        offsets = number(offsets_)
        width = BYTES * vectors
        for i in range(0, pixels, TILE):
            a = panel + i * PITCH
            if solid and i + TILE <= pixels and many * item == width:
                c = out + offsets[i]
                step = offsets[1] - offsets[0] if pixels > 1 else 0
                if vectors == 2:
                    wide(a, rows, c, step, count, add)
                else:
                    narrow(a, rows, c, step, count, add)
                continue
            if vectors == 2:
                wide(a, rows, tile_, width, count, 0)
            else:
                narrow(a, rows, tile_, width, count, 0)
            for m in range(min(TILE, pixels - i)):
                to, source = at(out + offsets[i + m]), at(tile_ + m * width)
                if add:
                    for j in range(many):
                        to[j] += source[j]
                else:
                    for j in range(many):
                        to[j] = source[j]

    return tiles


def _products(dtype: str, by_input: bool) -> Any:
    """The kernel of outputs, or of input gradients. A unit is a run of pixels of a lattice."""
    tiles = _tiles(dtype)
    item = 4 if dtype == "float32" else 8
    block = BLOCK // item
    half = BYTES // item

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        lattice_, taps_, panel, rows = (
            lattice_memory(),
            taps_memory(),
            panel_memory(),
            filter_memory(),
        )
        offsets_, tile_ = offsets_memory(), pixels_memory()
        lattice = number(lattice_)
        features = p[2] if by_input else p[3]
        most = p[0]
        for j in range(3):
            if by_input:
                most *= (p[4 + j] + p[13 + j] - 1) // p[13 + j]
            else:
                most *= p[7 + j]
        chunks = (most + PIXELS - 1) // PIXELS
        strided = 1 if by_input and p[13] * p[14] * p[15] > 1 else 0
        before = -1
        for unit in range(begin, end):
            phase = unit // chunks
            if phase != before:
                before = phase
                if by_input:
                    input_lattice(parameters, lattice_, taps_, phase)
                else:
                    forward_lattice(parameters, lattice_, taps_)
            group_channels = lattice[11]
            first = (unit - phase * chunks) * PIXELS
            pixels = p[0] * lattice[0] * lattice[1] * lattice[2]
            last = min(first + PIXELS, pixels)
            if first >= last:
                continue
            length = lattice[10] * group_channels
            row = p[1] * features * item
            offsets_of(offsets_, parameters, lattice_, first, last, row, strided)
            if length == 0:
                for i in range(last - first):
                    clear_bytes(out_ + number(offsets_)[i], row)
                continue
            for group in range(p[1]):
                lattice[12] = group * group_channels
                for k0 in range(0, length, block):
                    k1 = min(k0 + block, length)
                    gather_pixels(panel, x_, lattice_, taps_, first, last, k0, k1, item)
                    column = 0
                    while column < features:
                        vectors = 2 if features - column > half else 1
                        many = min(vectors * half, features - column)
                        at = group * features + column
                        filter_rows(
                            rows,
                            y_,
                            taps_,
                            group_channels,
                            p[1] * features,
                            at,
                            many,
                            k0,
                            k1,
                            vectors * BYTES,
                            item,
                        )
                        tiles(
                            out_ + at * item,
                            offsets_,
                            panel,
                            rows,
                            last - first,
                            k1 - k0,
                            many,
                            vectors,
                            1 if k0 > 0 else 0,
                            1 - strided,
                            tile_,
                        )
                        column += many

    return kernel


def forward(dtype: str) -> Any:
    """The kernel of the outputs: ``f(out, x, w)``."""
    return _products(dtype, False)


def by_input(dtype: str) -> Any:
    """The gradient with respect to the input: ``f(out, g, v)``; v is w with channels swapped."""
    return _products(dtype, True)


def by_filter(dtype: str) -> Any:
    """The gradient with respect to the filter: ``f(out, x, g)``. A unit is a block of it."""
    wide, narrow = tile(dtype, 2, True), tile(dtype, 1, True)
    item = 4 if dtype == "float32" else 8
    half = BYTES // item

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        lattice_, taps_, panel, gradients, sums = (
            lattice_memory(),
            taps_memory(),
            panel_memory(),
            filter_memory(),
            sums_memory(),
        )
        lattice = number(lattice_)
        forward_lattice(parameters, lattice_, taps_)
        group_channels, features = p[2], p[3]
        length = lattice[10] * group_channels
        downward, across = (length + ROWS - 1) // ROWS, (features + COLUMNS - 1) // COLUMNS
        pixels = p[0] * p[7] * p[8] * p[9]
        row = p[1] * features * item
        for unit in range(begin, end):
            group = unit // (downward * across)
            rest = unit - group * downward * across
            k0 = rest // across * ROWS
            k1 = min(k0 + ROWS, length)
            left = rest % across * COLUMNS
            right = min(left + COLUMNS, features)
            lattice[12] = group * group_channels
            for first in range(0, pixels, DEEP):
                last = min(first + DEEP, pixels)
                gather_pixels(panel, x_, lattice_, taps_, first, last, k0, k1, item)
                column, there = left, sums
                while column < right:
                    vectors = 2 if right - column > half else 1
                    many = min(vectors * half, right - column)
                    width = vectors * BYTES
                    g = y_ + first * row + (group * features + column) * item
                    for i in range(last - first):
                        copy_bytes(gradients + i * width, g + i * row, many * item)
                        clear_bytes(gradients + i * width + many * item, width - many * item)
                    for m in range(0, k1 - k0, TILE):
                        a, c = panel + m * item, there + m * width
                        if vectors == 2:
                            wide(a, gradients, c, width, last - first, first)
                        else:
                            narrow(a, gradients, c, width, last - first, first)
                    column += many
                    there += ROWS * width
            column, there = left, sums
            while column < right:
                vectors = 2 if right - column > half else 1
                many = min(vectors * half, right - column)
                for k in range(k0, k1):
                    at = out_ + k * row + (group * features + column) * item
                    copy_bytes(at, there + (k - k0) * vectors * BYTES, many * item)
                column += many
                there += ROWS * vectors * BYTES

    return kernel


# Groups of one channel: each element of the filter meets one channel.


def _depthwise(dtype: str, by_input: bool) -> Any:
    """The kernel of outputs, or of input gradients. A unit is a run of pixels of a lattice."""
    at, kind = POINTERS[dtype], 4 if dtype == "float32" else 8

    @jit
    def spread(out_: int, x_: int, w_: int, channels: int, each: int) -> None:
        out, x, w = at(out_), at(x_), at(w_)
        if each == 1:
            for c in range(channels):
                out[c] += x[c] * w[c]
        else:
            for c in range(channels):
                for m in range(each):
                    out[c * each + m] += x[c] * w[c * each + m]

    @jit
    def sum_products(out_: int, x_: int, w_: int, channels: int, each: int) -> None:
        out, x, w = at(out_), at(x_), at(w_)
        if each == 1:
            for c in range(channels):
                out[c] += x[c] * w[c]
        else:
            for c in range(channels):
                for m in range(each):
                    out[c] += x[c * each + m] * w[m * channels + c]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        lattice_, taps_, offsets_ = lattice_memory(), taps_memory(), offsets_memory()
        s, offsets = number(lattice_), number(offsets_)
        channels, each = p[1], p[3]
        most = p[0]
        for j in range(3):
            if by_input:
                most *= (p[4 + j] + p[13 + j] - 1) // p[13 + j]
            else:
                most *= p[7 + j]
        chunks = (most + PIXELS - 1) // PIXELS
        before = -1
        row = (channels if by_input else channels * each) * kind
        other = (channels * each if by_input else channels) * kind
        for unit in range(begin, end):
            phase = unit // chunks
            if phase != before:
                before = phase
                if by_input:
                    input_lattice(parameters, lattice_, taps_, phase)
                else:
                    forward_lattice(parameters, lattice_, taps_)
            first = (unit - phase * chunks) * PIXELS
            last = min(first + PIXELS, p[0] * s[0] * s[1] * s[2])
            if first >= last:
                continue
            offsets_of(offsets_, parameters, lattice_, first, last, row, by_input)
            n, a, b, c = place_of(first, s)
            for i in range(first, last):
                out = out_ + offsets[i - first]
                clear_bytes(out, row)
                for t in range(s[10]):
                    tap = number(taps_ + 8 * TAP * t)
                    u, v, w = a * s[3] + tap[0], b * s[4] + tap[1], c * s[5] + tap[2]
                    if 0 <= u < s[6] and 0 <= v < s[7] and 0 <= w < s[8]:
                        x = x_ + (((n * s[6] + u) * s[7] + v) * s[8] + w) * other
                        there = y_ + tap[3] * channels * each * kind
                        if by_input:
                            sum_products(out, x, there, channels, each)
                        else:
                            spread(out, x, there, channels, each)
                n, a, b, c = next_place(n, a, b, c, s)

    return kernel


def depthwise_forward(dtype: str) -> Any:
    """As `forward`, for groups of one channel."""
    return _depthwise(dtype, False)


def depthwise_by_input(dtype: str) -> Any:
    """As `by_input`, for groups of one channel."""
    return _depthwise(dtype, True)


def depthwise_by_filter(dtype: str) -> Any:
    """As `by_filter`, for groups of one channel. A unit is an element of the filter."""
    at, item = POINTERS[dtype], 4 if dtype == "float32" else 8

    @jit
    def products(out_: int, x_: int, g_: int, channels: int, each: int) -> None:
        out, x, g = at(out_), at(x_), at(g_)
        if each == 1:
            for c in range(channels):
                out[c] += x[c] * g[c]
        else:
            for c in range(channels):
                for m in range(each):
                    out[c * each + m] += x[c] * g[c * each + m]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        channels, each = p[1], p[3]
        row = channels * each * item
        for t in range(begin, end):
            out = out_ + t * row
            clear_bytes(out, row)
            z = t % p[12] * p[18] - p[21]
            y = t // p[12] % p[11] * p[17] - p[20]
            x = t // (p[12] * p[11]) * p[16] - p[19]
            sizes = number(parameters + 8 * 7)
            n, a, b, c = 0, 0, 0, 0
            for i in range(p[0] * p[7] * p[8] * p[9]):
                u, v, w = a * p[13] + x, b * p[14] + y, c * p[15] + z
                if 0 <= u < p[4] and 0 <= v < p[5] and 0 <= w < p[6]:
                    there = x_ + (((n * p[4] + u) * p[5] + v) * p[6] + w) * channels * item
                    products(out, there, y_ + i * row, channels, each)
                n, a, b, c = next_place(n, a, b, c, sizes)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        forward,
        by_input,
        by_filter,
        depthwise_forward,
        depthwise_by_input,
        depthwise_by_filter,
    )
}
