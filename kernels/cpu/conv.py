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
    BLOCK_BYTES,
    BYTES,
    COLUMNS,
    PITCH_BYTES,
    PIXELS,
    PIXELS_PER_SUM,
    ROWS,
    TAP_WORDS,
    TILE_ROWS,
    clear_bytes,
    copy_bytes,
    copy_filter_rows,
    fill_forward_lattice,
    fill_input_lattice,
    fill_offsets,
    filter_memory,
    gather_pixels,
    lattice_memory,
    next_pixel,
    number,
    offsets_memory,
    panel_memory,
    pixel_coordinates,
    sums_memory,
    taps_memory,
    tile_memory,
    tile_multiplier,
)


def _panel_multiplier(dtype: str) -> Any:
    """A function that multiplies panels, and writes or adds the product to rows of the result."""
    multiply_two, multiply_one = tile_multiplier(dtype, 2), tile_multiplier(dtype, 1)
    at = POINTERS[dtype]
    item = 4 if dtype == "float32" else 8

    @jit
    def multiply_panels(
        out: int,
        offsets_: int,
        panel: int,
        rows: int,
        pixels: int,
        count: int,
        n_columns: int,
        vectors: int,
        add: int,
        is_contiguous: int,
        tile_: int,
    ) -> None:
        offsets = number(offsets_)
        width = BYTES * vectors
        for i in range(0, pixels, TILE_ROWS):
            a = panel + i * PITCH_BYTES
            if is_contiguous and i + TILE_ROWS <= pixels and n_columns * item == width:
                c = out + offsets[i]
                step = offsets[1] - offsets[0] if pixels > 1 else 0
                if vectors == 2:
                    multiply_two(a, PITCH_BYTES, item, rows, c, step, count, add)
                else:
                    multiply_one(a, PITCH_BYTES, item, rows, c, step, count, add)
                continue
            if vectors == 2:
                multiply_two(a, PITCH_BYTES, item, rows, tile_, width, count, 0)
            else:
                multiply_one(a, PITCH_BYTES, item, rows, tile_, width, count, 0)
            for m in range(min(TILE_ROWS, pixels - i)):
                target, source = at(out + offsets[i + m]), at(tile_ + m * width)
                if add:
                    for j in range(n_columns):
                        target[j] += source[j]
                else:
                    for j in range(n_columns):
                        target[j] = source[j]

    return multiply_panels


def _product_kernel(dtype: str, by_input: bool) -> Any:
    """The kernel of outputs, or of input gradients. A unit is a run of pixels of a lattice."""
    multiply_panels = _panel_multiplier(dtype)
    item = 4 if dtype == "float32" else 8
    block = BLOCK_BYTES // item
    lanes = BYTES // item

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        lattice_ = lattice_memory()
        taps_ = taps_memory()
        panel = panel_memory()
        rows = filter_memory()
        offsets_, tile_ = offsets_memory(), tile_memory()
        lattice = number(lattice_)
        features = p[2] if by_input else p[3]
        max_pixels = p[0]
        for j in range(3):
            if by_input:
                max_pixels *= (p[4 + j] + p[13 + j] - 1) // p[13 + j]
            else:
                max_pixels *= p[7 + j]
        chunks = (max_pixels + PIXELS - 1) // PIXELS
        is_strided = 1 if by_input and p[13] * p[14] * p[15] > 1 else 0
        previous_phase = -1
        for unit in range(begin, end):
            phase = unit // chunks
            if phase != previous_phase:
                previous_phase = phase
                if by_input:
                    fill_input_lattice(parameters, lattice_, taps_, phase)
                else:
                    fill_forward_lattice(parameters, lattice_, taps_)
            group_channels = lattice[11]
            first_pixel = (unit - phase * chunks) * PIXELS
            pixels = p[0] * lattice[0] * lattice[1] * lattice[2]
            end_pixel = min(first_pixel + PIXELS, pixels)
            if first_pixel >= end_pixel:
                continue
            filter_length = lattice[10] * group_channels
            row_bytes = p[1] * features * item
            fill_offsets(
                offsets_, parameters, lattice_, first_pixel, end_pixel, row_bytes, is_strided
            )
            if filter_length == 0:
                for i in range(end_pixel - first_pixel):
                    clear_bytes(out_ + number(offsets_)[i], row_bytes)
                continue
            for group in range(p[1]):
                lattice[12] = group * group_channels
                for k0 in range(0, filter_length, block):
                    k1 = min(k0 + block, filter_length)
                    gather_pixels(panel, x_, lattice_, taps_, first_pixel, end_pixel, k0, k1, item)
                    column = 0
                    while column < features:
                        vectors = 2 if features - column > lanes else 1
                        n_columns = min(vectors * lanes, features - column)
                        first_feature = group * features + column
                        copy_filter_rows(
                            rows,
                            y_,
                            taps_,
                            group_channels,
                            p[1] * features,
                            first_feature,
                            n_columns,
                            k0,
                            k1,
                            vectors * BYTES,
                            item,
                        )
                        multiply_panels(
                            out_ + first_feature * item,
                            offsets_,
                            panel,
                            rows,
                            end_pixel - first_pixel,
                            k1 - k0,
                            n_columns,
                            vectors,
                            1 if k0 > 0 else 0,
                            1 - is_strided,
                            tile_,
                        )
                        column += n_columns

    return kernel


def forward(dtype: str) -> Any:
    """The kernel of the outputs: ``f(out, x, w)``."""
    return _product_kernel(dtype, False)


def by_input(dtype: str) -> Any:
    """The gradient with respect to the input: ``f(out, g, v)``; v is w with channels swapped."""
    return _product_kernel(dtype, True)


def by_filter(dtype: str) -> Any:
    """The gradient with respect to the filter: ``f(out, x, g)``. A unit is a block of it."""
    multiply_two, multiply_one = tile_multiplier(dtype, 2), tile_multiplier(dtype, 1)
    item = 4 if dtype == "float32" else 8
    lanes = BYTES // item

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        lattice_ = lattice_memory()
        taps_ = taps_memory()
        panel = panel_memory()
        gradients = filter_memory()
        sums = sums_memory()
        lattice = number(lattice_)
        fill_forward_lattice(parameters, lattice_, taps_)
        group_channels, features = p[2], p[3]
        filter_length = lattice[10] * group_channels
        row_blocks = (filter_length + ROWS - 1) // ROWS
        column_blocks = (features + COLUMNS - 1) // COLUMNS
        pixels = p[0] * p[7] * p[8] * p[9]
        row_bytes = p[1] * features * item
        for unit in range(begin, end):
            group = unit // (row_blocks * column_blocks)
            block_index = unit - group * row_blocks * column_blocks
            k0 = block_index // column_blocks * ROWS
            k1 = min(k0 + ROWS, filter_length)
            first_column = block_index % column_blocks * COLUMNS
            end_column = min(first_column + COLUMNS, features)
            lattice[12] = group * group_channels
            for first_pixel in range(0, pixels, PIXELS_PER_SUM):
                end_pixel = min(first_pixel + PIXELS_PER_SUM, pixels)
                gather_pixels(panel, x_, lattice_, taps_, first_pixel, end_pixel, k0, k1, item)
                column, tile_sums = first_column, sums
                while column < end_column:
                    vectors = 2 if end_column - column > lanes else 1
                    n_columns = min(vectors * lanes, end_column - column)
                    width = vectors * BYTES
                    g = y_ + first_pixel * row_bytes + (group * features + column) * item
                    for i in range(end_pixel - first_pixel):
                        copy_bytes(gradients + i * width, g + i * row_bytes, n_columns * item)
                        clear_bytes(
                            gradients + i * width + n_columns * item, width - n_columns * item
                        )
                    for m in range(0, k1 - k0, TILE_ROWS):
                        a, c = panel + m * item, tile_sums + m * width
                        if vectors == 2:
                            multiply_two(
                                a,
                                item,
                                PITCH_BYTES,
                                gradients,
                                c,
                                width,
                                end_pixel - first_pixel,
                                first_pixel,
                            )
                        else:
                            multiply_one(
                                a,
                                item,
                                PITCH_BYTES,
                                gradients,
                                c,
                                width,
                                end_pixel - first_pixel,
                                first_pixel,
                            )
                    column += n_columns
                    tile_sums += ROWS * width
            column, tile_sums = first_column, sums
            while column < end_column:
                vectors = 2 if end_column - column > lanes else 1
                n_columns = min(vectors * lanes, end_column - column)
                for k in range(k0, k1):
                    target = out_ + k * row_bytes + (group * features + column) * item
                    copy_bytes(target, tile_sums + (k - k0) * vectors * BYTES, n_columns * item)
                column += n_columns
                tile_sums += ROWS * vectors * BYTES

    return kernel


# Groups of one channel: each element of the filter meets one channel.


def _depthwise_kernel(dtype: str, by_input: bool) -> Any:
    """The kernel of outputs, or of input gradients. A unit is a run of pixels of a lattice."""
    at, item = POINTERS[dtype], 4 if dtype == "float32" else 8

    @jit
    def add_products(out_: int, x_: int, w_: int, channels: int, multiplier: int) -> None:
        out, x, w = at(out_), at(x_), at(w_)
        if multiplier == 1:
            for c in range(channels):
                out[c] += x[c] * w[c]
        else:
            for c in range(channels):
                for m in range(multiplier):
                    out[c * multiplier + m] += x[c] * w[c * multiplier + m]

    @jit
    def sum_products(out_: int, x_: int, w_: int, channels: int, multiplier: int) -> None:
        out, x, w = at(out_), at(x_), at(w_)
        if multiplier == 1:
            for c in range(channels):
                out[c] += x[c] * w[c]
        else:
            for c in range(channels):
                for m in range(multiplier):
                    out[c] += x[c * multiplier + m] * w[m * channels + c]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        lattice_, taps_, offsets_ = lattice_memory(), taps_memory(), offsets_memory()
        lattice, offsets = number(lattice_), number(offsets_)
        channels, multiplier = p[1], p[3]
        max_pixels = p[0]
        for j in range(3):
            if by_input:
                max_pixels *= (p[4 + j] + p[13 + j] - 1) // p[13 + j]
            else:
                max_pixels *= p[7 + j]
        chunks = (max_pixels + PIXELS - 1) // PIXELS
        previous_phase = -1
        row_bytes = (channels if by_input else channels * multiplier) * item
        source_bytes = (channels * multiplier if by_input else channels) * item
        for unit in range(begin, end):
            phase = unit // chunks
            if phase != previous_phase:
                previous_phase = phase
                if by_input:
                    fill_input_lattice(parameters, lattice_, taps_, phase)
                else:
                    fill_forward_lattice(parameters, lattice_, taps_)
            first_pixel = (unit - phase * chunks) * PIXELS
            end_pixel = min(first_pixel + PIXELS, p[0] * lattice[0] * lattice[1] * lattice[2])
            if first_pixel >= end_pixel:
                continue
            fill_offsets(
                offsets_, parameters, lattice_, first_pixel, end_pixel, row_bytes, by_input
            )
            n, a, b, c = pixel_coordinates(first_pixel, lattice)
            for i in range(first_pixel, end_pixel):
                out = out_ + offsets[i - first_pixel]
                clear_bytes(out, row_bytes)
                for t in range(lattice[10]):
                    tap = number(taps_ + 8 * TAP_WORDS * t)
                    u = a * lattice[3] + tap[0]
                    v = b * lattice[4] + tap[1]
                    w = c * lattice[5] + tap[2]
                    if 0 <= u < lattice[6] and 0 <= v < lattice[7] and 0 <= w < lattice[8]:
                        x = (
                            x_
                            + (((n * lattice[6] + u) * lattice[7] + v) * lattice[8] + w)
                            * source_bytes
                        )
                        filter_row = y_ + tap[3] * channels * multiplier * item
                        if by_input:
                            sum_products(out, x, filter_row, channels, multiplier)
                        else:
                            add_products(out, x, filter_row, channels, multiplier)
                n, a, b, c = next_pixel(n, a, b, c, lattice)

    return kernel


def depthwise_forward(dtype: str) -> Any:
    """As `forward`, for groups of one channel."""
    return _depthwise_kernel(dtype, False)


def depthwise_by_input(dtype: str) -> Any:
    """As `by_input`, for groups of one channel."""
    return _depthwise_kernel(dtype, True)


def depthwise_by_filter(dtype: str) -> Any:
    """As `by_filter`, for groups of one channel. A unit is an element of the filter."""
    at, item = POINTERS[dtype], 4 if dtype == "float32" else 8

    @jit
    def add_products(out_: int, x_: int, g_: int, channels: int, multiplier: int) -> None:
        out, x, g = at(out_), at(x_), at(g_)
        if multiplier == 1:
            for c in range(channels):
                out[c] += x[c] * g[c]
        else:
            for c in range(channels):
                for m in range(multiplier):
                    out[c * multiplier + m] += x[c] * g[c * multiplier + m]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        channels, multiplier = p[1], p[3]
        row_bytes = channels * multiplier * item
        for t in range(begin, end):
            out = out_ + t * row_bytes
            clear_bytes(out, row_bytes)
            z = t % p[12] * p[18] - p[21]
            y = t // p[12] % p[11] * p[17] - p[20]
            x = t // (p[12] * p[11]) * p[16] - p[19]
            sizes = number(parameters + 8 * 7)
            n, a, b, c = 0, 0, 0, 0
            for i in range(p[0] * p[7] * p[8] * p[9]):
                u, v, w = a * p[13] + x, b * p[14] + y, c * p[15] + z
                if 0 <= u < p[4] and 0 <= v < p[5] and 0 <= w < p[6]:
                    source = x_ + (((n * p[4] + u) * p[5] + v) * p[6] + w) * channels * item
                    add_products(out, source, y_ + i * row_bytes, channels, multiplier)
                n, a, b, c = next_pixel(n, a, b, c, sizes)

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
