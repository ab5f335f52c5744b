"""Pooling: the largest element or the mean of windows, and their derivatives.

Parameters are those of ``conv``; channels are contiguous in memory, and are processed together.
Of equal largest elements the first one counts; NaNs are ignored unless a window has only NaNs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numba import types

from ..jit import POINTERS, inline, jit, stack
from .panels import PIXELS, next_place, place_of

if TYPE_CHECKING:
    from ..annotations import Array

number = POINTERS["int64"]
LANES = 512  # channels that are compared together
best_memory, place_memory = stack(8 * LANES), stack(8 * LANES)


@inline
def _window(p: Array, a: int, b: int, c: int) -> Any:
    """A window's first element."""
    return a * p[13] - p[19], b * p[14] - p[20], c * p[15] - p[21]


@inline
def _first(at: int, step: int) -> int:
    """The first element of a window on an axis that is not padding."""
    return 0 if at >= 0 else (step - 1 - at) // step


@inline
def _end(at: int, step: int, count: int, size: int) -> int:
    """The end of the elements of a window on an axis that are not padding."""
    return min(count, (size - at + step - 1) // step)


def _argmax_finder(dtype: str) -> Any:
    """A function that finds the largest elements of a window in ``many`` channels."""
    at = POINTERS[dtype]

    @jit
    def find_largest(
        best_: int,
        place_: int,
        x_: int,
        p_: int,
        n: int,
        a: int,
        b: int,
        c: int,
        first: int,
        many: int,
    ) -> None:
        best, place, p, x = at(best_), number(place_), number(p_), at(x_)
        started = False
        for i in range(_first(a, p[16]), _end(a, p[16], p[10], p[4])):
            for j in range(_first(b, p[17]), _end(b, p[17], p[11], p[5])):
                for k in range(_first(c, p[18]), _end(c, p[18], p[12], p[6])):
                    pixel = ((a + i * p[16]) * p[5] + b + j * p[17]) * p[6] + c + k * p[18]
                    here = (n * p[4] * p[5] * p[6] + pixel) * p[2] + first
                    if started:
                        for q in range(many):
                            value = x[here + q]
                            old = best[q]
                            better = value > old or (old != old and value == value)
                            best[q] = value if better else old
                            place[q] = pixel if better else place[q]
                    else:
                        started = True
                        for q in range(many):
                            best[q] = x[here + q]
                            place[q] = pixel

    return find_largest


def largest(dtype: str) -> Any:
    """The largest element of each window: ``f(out, x)``. A unit is a run of pixels."""
    at = POINTERS[dtype]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, x, out = number(parameters), at(x_), at(out_)
        channels = p[2]
        sizes = number(parameters + 8 * 7)
        last = min(end * PIXELS, p[0] * p[7] * p[8] * p[9])
        n, u, v, w = place_of(begin * PIXELS, sizes)
        for t in range(begin * PIXELS, last):
            a, b, c = _window(p, u, v, w)
            started = False
            to = t * channels
            for i in range(_first(a, p[16]), _end(a, p[16], p[10], p[4])):
                for j in range(_first(b, p[17]), _end(b, p[17], p[11], p[5])):
                    row = ((n * p[4] + a + i * p[16]) * p[5] + b + j * p[17]) * p[6] + c
                    for k in range(_first(c, p[18]), _end(c, p[18], p[12], p[6])):
                        here = (row + k * p[18]) * channels
                        if started:
                            for q in range(channels):
                                value = x[here + q]
                                old = out[to + q]
                                better = value > old or (old != old and value == value)
                                out[to + q] = value if better else old
                        else:
                            started = True
                            for q in range(channels):
                                out[to + q] = x[here + q]
            if not started:
                for q in range(channels):
                    out[to + q] = 0
            n, u, v, w = next_place(n, u, v, w, sizes)

    return kernel


def largest_spread(dtype: str) -> Any:
    """Each g at the window's largest element: ``f(out, x, g)``. A unit is an image."""
    at, kind, find_largest = POINTERS[dtype], getattr(types, dtype), _argmax_finder(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, g, out = number(parameters), at(y_), at(out_)
        best, place_ = best_memory(), place_memory()
        place = number(place_)
        sizes = number(parameters + 8 * 7)
        channels, image, windows = p[2], p[4] * p[5] * p[6], p[7] * p[8] * p[9]
        for n in range(begin, end):
            start = n * image * channels
            for q in range(start, start + image * channels):
                out[q] = kind(0)
            u, v, w = 0, 0, 0
            for t in range(n * windows, (n + 1) * windows):
                a, b, c = _window(p, u, v, w)
                for first in range(0, channels, LANES):
                    many = min(LANES, channels - first)
                    for q in range(many):
                        place[q] = -1
                    find_largest(best, place_, x_, parameters, n, a, b, c, first, many)
                    for q in range(many):
                        if place[q] >= 0:
                            out[start + place[q] * channels + first + q] += g[
                                t * channels + first + q
                            ]
                _, u, v, w = next_place(n, u, v, w, sizes)

    return kernel


def largest_taken(dtype: str) -> Any:
    """The h at the window's largest element: ``f(out, x, h)``. A unit is a run of pixels."""
    at, kind, find_largest = POINTERS[dtype], getattr(types, dtype), _argmax_finder(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, h, out = number(parameters), at(y_), at(out_)
        best, place_ = best_memory(), place_memory()
        place = number(place_)
        channels, image = p[2], p[4] * p[5] * p[6]
        sizes = number(parameters + 8 * 7)
        last = min(end * PIXELS, p[0] * p[7] * p[8] * p[9])
        n, u, v, w = place_of(begin * PIXELS, sizes)
        for t in range(begin * PIXELS, last):
            a, b, c = _window(p, u, v, w)
            for first in range(0, channels, LANES):
                many = min(LANES, channels - first)
                for q in range(many):
                    place[q] = -1
                find_largest(best, place_, x_, parameters, n, a, b, c, first, many)
                for q in range(many):
                    value = kind(0)
                    if place[q] >= 0:
                        value = h[(n * image + place[q]) * channels + first + q]
                    out[t * channels + first + q] = value
            n, u, v, w = next_place(n, u, v, w, sizes)

    return kernel


def mean(dtype: str) -> Any:
    """The mean of each window: ``f(out, x)``. A unit is a run of pixels."""
    at, kind = POINTERS[dtype], getattr(types, dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, x, out = number(parameters), at(x_), at(out_)
        channels = p[2]
        sizes = number(parameters + 8 * 7)
        last = min(end * PIXELS, p[0] * p[7] * p[8] * p[9])
        n, u, v, w = place_of(begin * PIXELS, sizes)
        for t in range(begin * PIXELS, last):
            a, b, c = _window(p, u, v, w)
            count = 0
            to = t * channels
            for q in range(to, to + channels):
                out[q] = kind(0)
            for i in range(_first(a, p[16]), _end(a, p[16], p[10], p[4])):
                for j in range(_first(b, p[17]), _end(b, p[17], p[11], p[5])):
                    row = ((n * p[4] + a + i * p[16]) * p[5] + b + j * p[17]) * p[6] + c
                    for k in range(_first(c, p[18]), _end(c, p[18], p[12], p[6])):
                        here = (row + k * p[18]) * channels
                        count += 1
                        for q in range(channels):
                            out[to + q] += x[here + q]
            if count > 0:
                for q in range(to, to + channels):
                    out[q] = out[q] / kind(count)
            n, u, v, w = next_place(n, u, v, w, sizes)

    return kernel


def mean_spread(dtype: str) -> Any:
    """Each g distributed evenly over its window: ``f(out, g)``. A unit is an image."""
    at, kind = POINTERS[dtype], getattr(types, dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, g, out = number(parameters), at(x_), at(out_)
        sizes = number(parameters + 8 * 7)
        channels, image, windows = p[2], p[4] * p[5] * p[6], p[7] * p[8] * p[9]
        for n in range(begin, end):
            start = n * image * channels
            for q in range(start, start + image * channels):
                out[q] = kind(0)
            u, v, w = 0, 0, 0
            for t in range(n * windows, (n + 1) * windows):
                a, b, c = _window(p, u, v, w)
                down, down_end = _first(a, p[16]), _end(a, p[16], p[10], p[4])
                over, over_end = _first(b, p[17]), _end(b, p[17], p[11], p[5])
                along, along_end = _first(c, p[18]), _end(c, p[18], p[12], p[6])
                count = (down_end - down) * (over_end - over) * (along_end - along)
                for i in range(down, down_end):
                    for j in range(over, over_end):
                        row = ((n * p[4] + a + i * p[16]) * p[5] + b + j * p[17]) * p[6] + c
                        for k in range(along, along_end):
                            here = (row + k * p[18]) * channels
                            for q in range(channels):
                                out[here + q] += g[t * channels + q] / kind(count)
                _, u, v, w = next_place(n, u, v, w, sizes)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (largest, largest_spread, largest_taken, mean, mean_spread)
}
