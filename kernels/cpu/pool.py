"""Pooling: the largest element or the mean of windows, and their derivatives.

Parameters are those of ``conv``; channels are contiguous in memory, and are processed together.
Of equal largest elements the first one counts; NaNs are ignored unless a window has only NaNs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numba import types

from ..jit import POINTERS, inline, jit, stack
from .panels import PIXELS, next_pixel, pixel_coordinates

if TYPE_CHECKING:
    from ..annotations import Array

number = POINTERS["int64"]
LANES = 512  # channels that are compared together
largest_memory, pixels_memory = stack(8 * LANES), stack(8 * LANES)


@inline
def _window_start(p: Array, a: int, b: int, c: int) -> Any:
    """A window's first element."""
    return a * p[13] - p[19], b * p[14] - p[20], c * p[15] - p[21]


@inline
def _first_inside(start: int, step: int) -> int:
    """The first element of a window on an axis that is not padding."""
    return 0 if start >= 0 else (step - 1 - start) // step


@inline
def _end_inside(start: int, step: int, count: int, size: int) -> int:
    """The end of the elements of a window on an axis that are not padding."""
    return min(count, (size - start + step - 1) // step)


def _argmax_finder(dtype: str) -> Any:
    """A function that finds the largest elements of a window in ``n_channels`` channels."""
    at = POINTERS[dtype]

    @jit
    def find_largest(
        largest_: int,
        pixels_: int,
        x_: int,
        p_: int,
        n: int,
        a: int,
        b: int,
        c: int,
        first_channel: int,
        n_channels: int,
    ) -> None:
        largest, pixels, p, x = at(largest_), number(pixels_), number(p_), at(x_)
        has_value = False
        for i in range(_first_inside(a, p[16]), _end_inside(a, p[16], p[10], p[4])):
            for j in range(_first_inside(b, p[17]), _end_inside(b, p[17], p[11], p[5])):
                for k in range(_first_inside(c, p[18]), _end_inside(c, p[18], p[12], p[6])):
                    pixel = ((a + i * p[16]) * p[5] + b + j * p[17]) * p[6] + c + k * p[18]
                    source = (n * p[4] * p[5] * p[6] + pixel) * p[2] + first_channel
                    if has_value:
                        for q in range(n_channels):
                            value = x[source + q]
                            previous = largest[q]
                            is_larger = value > previous or (
                                previous != previous and value == value
                            )
                            largest[q] = value if is_larger else previous
                            pixels[q] = pixel if is_larger else pixels[q]
                    else:
                        has_value = True
                        for q in range(n_channels):
                            largest[q] = x[source + q]
                            pixels[q] = pixel

    return find_largest


def largest(dtype: str) -> Any:
    """The largest element of each window: ``f(out, x)``. A unit is a run of pixels."""
    at = POINTERS[dtype]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, x, out = number(parameters), at(x_), at(out_)
        channels = p[2]
        sizes = number(parameters + 8 * 7)
        end_pixel = min(end * PIXELS, p[0] * p[7] * p[8] * p[9])
        n, u, v, w = pixel_coordinates(begin * PIXELS, sizes)
        for t in range(begin * PIXELS, end_pixel):
            a, b, c = _window_start(p, u, v, w)
            has_value = False
            target = t * channels
            for i in range(_first_inside(a, p[16]), _end_inside(a, p[16], p[10], p[4])):
                for j in range(_first_inside(b, p[17]), _end_inside(b, p[17], p[11], p[5])):
                    row = ((n * p[4] + a + i * p[16]) * p[5] + b + j * p[17]) * p[6] + c
                    for k in range(_first_inside(c, p[18]), _end_inside(c, p[18], p[12], p[6])):
                        source = (row + k * p[18]) * channels
                        if has_value:
                            for q in range(channels):
                                value = x[source + q]
                                previous = out[target + q]
                                is_larger = value > previous or (
                                    previous != previous and value == value
                                )
                                out[target + q] = value if is_larger else previous
                        else:
                            has_value = True
                            for q in range(channels):
                                out[target + q] = x[source + q]
            if not has_value:
                for q in range(channels):
                    out[target + q] = 0
            n, u, v, w = next_pixel(n, u, v, w, sizes)

    return kernel


def largest_spread(dtype: str) -> Any:
    """Each g at the window's largest element: ``f(out, x, g)``. A unit is an image."""
    at, kind, find_largest = POINTERS[dtype], getattr(types, dtype), _argmax_finder(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, g, out = number(parameters), at(y_), at(out_)
        largest, pixels_ = largest_memory(), pixels_memory()
        pixels = number(pixels_)
        sizes = number(parameters + 8 * 7)
        channels, image_size, n_windows = p[2], p[4] * p[5] * p[6], p[7] * p[8] * p[9]
        for n in range(begin, end):
            start = n * image_size * channels
            for q in range(start, start + image_size * channels):
                out[q] = kind(0)
            u, v, w = 0, 0, 0
            for t in range(n * n_windows, (n + 1) * n_windows):
                a, b, c = _window_start(p, u, v, w)
                for first_channel in range(0, channels, LANES):
                    n_channels = min(LANES, channels - first_channel)
                    for q in range(n_channels):
                        pixels[q] = -1
                    find_largest(
                        largest, pixels_, x_, parameters, n, a, b, c, first_channel, n_channels
                    )
                    for q in range(n_channels):
                        if pixels[q] >= 0:
                            out[start + pixels[q] * channels + first_channel + q] += g[
                                t * channels + first_channel + q
                            ]
                _, u, v, w = next_pixel(n, u, v, w, sizes)

    return kernel


def largest_taken(dtype: str) -> Any:
    """The h at the window's largest element: ``f(out, x, h)``. A unit is a run of pixels."""
    at, kind, find_largest = POINTERS[dtype], getattr(types, dtype), _argmax_finder(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, h, out = number(parameters), at(y_), at(out_)
        largest, pixels_ = largest_memory(), pixels_memory()
        pixels = number(pixels_)
        channels, image_size = p[2], p[4] * p[5] * p[6]
        sizes = number(parameters + 8 * 7)
        end_pixel = min(end * PIXELS, p[0] * p[7] * p[8] * p[9])
        n, u, v, w = pixel_coordinates(begin * PIXELS, sizes)
        for t in range(begin * PIXELS, end_pixel):
            a, b, c = _window_start(p, u, v, w)
            for first_channel in range(0, channels, LANES):
                n_channels = min(LANES, channels - first_channel)
                for q in range(n_channels):
                    pixels[q] = -1
                find_largest(
                    largest, pixels_, x_, parameters, n, a, b, c, first_channel, n_channels
                )
                for q in range(n_channels):
                    value = kind(0)
                    if pixels[q] >= 0:
                        value = h[(n * image_size + pixels[q]) * channels + first_channel + q]
                    out[t * channels + first_channel + q] = value
            n, u, v, w = next_pixel(n, u, v, w, sizes)

    return kernel


def mean(dtype: str) -> Any:
    """The mean of each window: ``f(out, x)``. A unit is a run of pixels."""
    at, kind = POINTERS[dtype], getattr(types, dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, x, out = number(parameters), at(x_), at(out_)
        channels = p[2]
        sizes = number(parameters + 8 * 7)
        end_pixel = min(end * PIXELS, p[0] * p[7] * p[8] * p[9])
        n, u, v, w = pixel_coordinates(begin * PIXELS, sizes)
        for t in range(begin * PIXELS, end_pixel):
            a, b, c = _window_start(p, u, v, w)
            count = 0
            target = t * channels
            for q in range(target, target + channels):
                out[q] = kind(0)
            for i in range(_first_inside(a, p[16]), _end_inside(a, p[16], p[10], p[4])):
                for j in range(_first_inside(b, p[17]), _end_inside(b, p[17], p[11], p[5])):
                    row = ((n * p[4] + a + i * p[16]) * p[5] + b + j * p[17]) * p[6] + c
                    for k in range(_first_inside(c, p[18]), _end_inside(c, p[18], p[12], p[6])):
                        source = (row + k * p[18]) * channels
                        count += 1
                        for q in range(channels):
                            out[target + q] += x[source + q]
            if count > 0:
                for q in range(target, target + channels):
                    out[q] = out[q] / kind(count)
            n, u, v, w = next_pixel(n, u, v, w, sizes)

    return kernel


def mean_spread(dtype: str) -> Any:
    """Each g distributed evenly over its window: ``f(out, g)``. A unit is an image."""
    at, kind = POINTERS[dtype], getattr(types, dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, g, out = number(parameters), at(x_), at(out_)
        sizes = number(parameters + 8 * 7)
        channels, image_size, n_windows = p[2], p[4] * p[5] * p[6], p[7] * p[8] * p[9]
        for n in range(begin, end):
            start = n * image_size * channels
            for q in range(start, start + image_size * channels):
                out[q] = kind(0)
            u, v, w = 0, 0, 0
            for t in range(n * n_windows, (n + 1) * n_windows):
                a, b, c = _window_start(p, u, v, w)
                i_begin, i_end = _first_inside(a, p[16]), _end_inside(a, p[16], p[10], p[4])
                j_begin, j_end = _first_inside(b, p[17]), _end_inside(b, p[17], p[11], p[5])
                k_begin, k_end = _first_inside(c, p[18]), _end_inside(c, p[18], p[12], p[6])
                count = (i_end - i_begin) * (j_end - j_begin) * (k_end - k_begin)
                for i in range(i_begin, i_end):
                    for j in range(j_begin, j_end):
                        row = ((n * p[4] + a + i * p[16]) * p[5] + b + j * p[17]) * p[6] + c
                        for k in range(k_begin, k_end):
                            target = (row + k * p[18]) * channels
                            for q in range(channels):
                                out[target + q] += g[t * channels + q] / kind(count)
                _, u, v, w = next_pixel(n, u, v, w, sizes)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (largest, largest_spread, largest_taken, mean, mean_spread)
}
