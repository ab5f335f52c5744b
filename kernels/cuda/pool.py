"""Pooling: a thread computes one element of the result.

Of equal largest elements of a window, the first counts; NaN counts only if all elements are NaN.
Parameters: the number of elements, the channels, then three each of the sizes of input, output
and window, the strides, the dilations, and the padding before the input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .target import KINDS, cuda, device

if TYPE_CHECKING:
    from ..annotations import Array


def _argmax_finder(dtype: str) -> Any:
    """A function that finds the pixel of a window's largest element; -1 for an empty window."""
    kind = KINDS[dtype]

    def find_largest(
        x: Array,
        n: int,
        channel: int,
        channels: int,
        a: int,
        b: int,
        c: int,
        id: int,
        ih: int,
        iw: int,
        kd: int,
        kh: int,
        kw: int,
        dd: int,
        dh: int,
        dw: int,
    ) -> Any:
        best, position = kind(0), -1
        for i in range(kd):
            u = a + i * dd
            if 0 <= u and u < id:
                for j in range(kh):
                    v = b + j * dh
                    if 0 <= v and v < ih:
                        for k in range(kw):
                            w = c + k * dw
                            if 0 <= w and w < iw:
                                pixel = (u * ih + v) * iw + w
                                value = x[(n * id * ih * iw + pixel) * channels + channel]
                                if (
                                    position < 0
                                    or value > best
                                    or (best != best and value == value)
                                ):
                                    best, position = value, pixel
        return position

    return device(find_largest)


def _window_kernel(dtype: str, finish: Callable[..., None]) -> Any:
    """The kernel that calls ``finish(out, t, x, y, start, position, ...)`` for each window.

    ``start`` is the first pixel of the image in the batch, ``position`` the pixel of the largest
    element in the image.
    """
    find_largest = _argmax_finder(dtype)

    def kernel(
        units: int,
        channels: int,
        id: int,
        ih: int,
        iw: int,
        od: int,
        oh: int,
        ow: int,
        kd: int,
        kh: int,
        kw: int,
        sd: int,
        sh: int,
        sw: int,
        dd: int,
        dh: int,
        dw: int,
        bd: int,
        bh: int,
        bw: int,
        batched: int,
        out: Array,
        x: Array,
        y: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < units:
            channel = t % channels
            pixel = t // channels
            c = pixel % ow * sw - bw
            b = pixel // ow % oh * sh - bh
            a = pixel // (ow * oh) % od * sd - bd
            n = pixel // (ow * oh * od)
            position = find_largest(
                x, n, channel, channels, a, b, c, id, ih, iw, kd, kh, kw, dd, dh, dw
            )
            start = n * id * ih * iw
            finish(out, t, x, y, start, position, channels, channel, batched)
            t += cuda.gridsize(1)

    return kernel


def largest(dtype: str) -> Any:
    """The largest element of each window of x."""
    kind = KINDS[dtype]

    def finish(
        out: Array,
        t: int,
        x: Array,
        y: Array,
        start: int,
        position: int,
        channels: int,
        channel: int,
        batched: int,
    ) -> None:
        out[t] = x[(start + position) * channels + channel] if position >= 0 else kind(0)

    return _window_kernel(dtype, device(finish))


def largest_taken(dtype: str) -> Any:
    """The element of y at the position of the largest element of each window of x."""
    kind = KINDS[dtype]

    def finish(
        out: Array,
        t: int,
        x: Array,
        y: Array,
        start: int,
        position: int,
        channels: int,
        channel: int,
        batched: int,
    ) -> None:
        out[t] = y[(start + position) * channels + channel] if position >= 0 else kind(0)

    return _window_kernel(dtype, device(finish))


def largest_place(dtype: str) -> Any:
    """The flat index of the largest element, in the image or, if ``batched``, in the batch."""

    def finish(
        out: Array,
        t: int,
        x: Array,
        y: Array,
        start: int,
        position: int,
        channels: int,
        channel: int,
        batched: int,
    ) -> None:
        index = position + start if batched else position
        out[t] = index * channels + channel

    return _window_kernel(dtype, device(finish))


def mean(dtype: str) -> Any:
    """The mean of each window of x."""
    kind = KINDS[dtype]

    def kernel(
        units: int,
        channels: int,
        id: int,
        ih: int,
        iw: int,
        od: int,
        oh: int,
        ow: int,
        kd: int,
        kh: int,
        kw: int,
        sd: int,
        sh: int,
        sw: int,
        dd: int,
        dh: int,
        dw: int,
        bd: int,
        bh: int,
        bw: int,
        batched: int,
        out: Array,
        x: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < units:
            channel = t % channels
            pixel = t // channels
            c = pixel % ow * sw - bw
            b = pixel // ow % oh * sh - bh
            a = pixel // (ow * oh) % od * sd - bd
            n = pixel // (ow * oh * od)
            sum_, count = kind(0), 0
            for i in range(kd):
                u = a + i * dd
                if 0 <= u and u < id:
                    for j in range(kh):
                        v = b + j * dh
                        if 0 <= v and v < ih:
                            for k in range(kw):
                                w = c + k * dw
                                if 0 <= w and w < iw:
                                    at = ((n * id + u) * ih + v) * iw + w
                                    sum_ = kind(sum_ + x[at * channels + channel])
                                    count += 1
            out[t] = kind(sum_ / kind(max(count, 1)))
            t += cuda.gridsize(1)

    return kernel


def _inside_counter() -> Any:
    """A function that counts a window's elements along one axis that are inside the input."""

    def count_inside(begin: int, steps: int, step: int, size: int) -> Any:
        n = 0
        for i in range(steps):
            at = begin + i * step
            if 0 <= at and at < size:
                n += 1
        return n

    return device(count_inside)


def mean_spread(dtype: str) -> Any:
    """The gradient of `mean`: each element sums its shares of the windows' gradients x."""
    kind, count_inside = KINDS[dtype], _inside_counter()

    def kernel(
        units: int,
        channels: int,
        id: int,
        ih: int,
        iw: int,
        od: int,
        oh: int,
        ow: int,
        kd: int,
        kh: int,
        kw: int,
        sd: int,
        sh: int,
        sw: int,
        dd: int,
        dh: int,
        dw: int,
        bd: int,
        bh: int,
        bw: int,
        batched: int,
        out: Array,
        x: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < units:
            channel = t % channels
            pixel = t // channels
            c = pixel % iw + bw
            b = pixel // iw % ih + bh
            a = pixel // (iw * ih) % id + bd
            n = pixel // (iw * ih * id)
            sum_ = kind(0)
            for i in range(kd):
                u = a - i * dd
                if u >= 0 and u % sd == 0 and u // sd < od:
                    n_down = count_inside(u - bd, kd, dd, id)
                    for j in range(kh):
                        v = b - j * dh
                        if v >= 0 and v % sh == 0 and v // sh < oh:
                            n_across = count_inside(v - bh, kh, dh, ih)
                            for k in range(kw):
                                w = c - k * dw
                                if w >= 0 and w % sw == 0 and w // sw < ow:
                                    n_inside = n_down * n_across * count_inside(w - bw, kw, dw, iw)
                                    at = ((n * od + u // sd) * oh + v // sh) * ow + w // sw
                                    share = x[at * channels + channel] / kind(n_inside)
                                    sum_ = kind(sum_ + kind(share))
            out[t] = sum_
            t += cuda.gridsize(1)

    return kernel


def largest_spread(dtype: str) -> Any:
    """The gradient of `largest`: each element of x sums y over the windows it is the largest of."""
    kind, find_largest = KINDS[dtype], _argmax_finder(dtype)

    def kernel(
        units: int,
        channels: int,
        id: int,
        ih: int,
        iw: int,
        od: int,
        oh: int,
        ow: int,
        kd: int,
        kh: int,
        kw: int,
        sd: int,
        sh: int,
        sw: int,
        dd: int,
        dh: int,
        dw: int,
        bd: int,
        bh: int,
        bw: int,
        batched: int,
        out: Array,
        x: Array,
        y: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < units:
            channel = t % channels
            input_pixel = t // channels
            c = input_pixel % iw + bw
            b = input_pixel // iw % ih + bh
            a = input_pixel // (iw * ih) % id + bd
            n = input_pixel // (iw * ih * id)
            own_index = input_pixel - n * (iw * ih * id)
            sum_ = kind(0)
            for i in range(kd):
                u = a - i * dd
                if u >= 0 and u % sd == 0 and u // sd < od:
                    for j in range(kh):
                        v = b - j * dh
                        if v >= 0 and v % sh == 0 and v // sh < oh:
                            for k in range(kw):
                                w = c - k * dw
                                if w >= 0 and w % sw == 0 and w // sw < ow:
                                    position = find_largest(
                                        x,
                                        n,
                                        channel,
                                        channels,
                                        u - bd,
                                        v - bh,
                                        w - bw,
                                        id,
                                        ih,
                                        iw,
                                        kd,
                                        kh,
                                        kw,
                                        dd,
                                        dh,
                                        dw,
                                    )
                                    if position == own_index:
                                        at = ((n * od + u // sd) * oh + v // sh) * ow + w // sw
                                        sum_ = kind(sum_ + y[at * channels + channel])
            out[t] = sum_
            t += cuda.gridsize(1)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (largest, largest_spread, largest_taken, largest_place, mean, mean_spread)
}
