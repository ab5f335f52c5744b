"""Convolutions: a thread computes one element of the result.

Parameters: the number of elements, batch, groups, channels and features of a group, then three
each of the sizes of input, output and filter, the strides, dilations, and zeros before the input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .target import KINDS, cuda

if TYPE_CHECKING:
    from ..annotations import Array


def forward(dtype: str) -> Any:
    """The output for an input x and a filter y."""
    kind = KINDS[dtype]

    def kernel(
        units: int,
        batch: int,
        groups: int,
        channels: int,
        features: int,
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
        out: Array,
        x: Array,
        y: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < units:
            m = t % (groups * features)
            pixel = t // (groups * features)
            c = pixel % ow * sw - bw
            b = pixel // ow % oh * sh - bh
            a = pixel // (ow * oh) % od * sd - bd
            n = pixel // (ow * oh * od)
            first_channel = m // features * channels
            sum_ = kind(0)
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
                                    at = at * groups * channels + first_channel
                                    row = ((i * kh + j) * kw + k) * channels
                                    for q in range(channels):
                                        term = x[at + q] * y[(row + q) * groups * features + m]
                                        sum_ = kind(sum_ + kind(term))
            out[t] = sum_
            t += cuda.gridsize(1)

    return kernel


def by_input(dtype: str) -> Any:
    """The gradient by the input, from the output's gradient x and a filter y, channels swapped."""
    kind = KINDS[dtype]

    def kernel(
        units: int,
        batch: int,
        groups: int,
        channels: int,
        features: int,
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
        out: Array,
        x: Array,
        y: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < units:
            m = t % (groups * channels)
            pixel = t // (groups * channels)
            c = pixel % iw + bw
            b = pixel // iw % ih + bh
            a = pixel // (iw * ih) % id + bd
            n = pixel // (iw * ih * id)
            first_feature = m // channels * features
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
                                    at = ((n * od + u // sd) * oh + v // sh) * ow + w // sw
                                    at = at * groups * features + first_feature
                                    row = ((i * kh + j) * kw + k) * features
                                    for q in range(features):
                                        term = x[at + q] * y[(row + q) * groups * channels + m]
                                        sum_ = kind(sum_ + kind(term))
            out[t] = sum_
            t += cuda.gridsize(1)

    return kernel


def by_filter(dtype: str) -> Any:
    """The gradient by the filter, from an input x and the output's gradient y."""
    kind = KINDS[dtype]

    def kernel(
        units: int,
        batch: int,
        groups: int,
        channels: int,
        features: int,
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
        out: Array,
        x: Array,
        y: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < units:
            m = t % (groups * features)
            tap = t // (groups * features) // channels
            channel = t // (groups * features) % channels + m // features * channels
            c = tap % kw * dw - bw
            b = tap // kw % kh * dh - bh
            a = tap // (kw * kh) * dd - bd
            sum_ = kind(0)
            for n in range(batch):
                for i in range(od):
                    u = a + i * sd
                    if 0 <= u and u < id:
                        for j in range(oh):
                            v = b + j * sh
                            if 0 <= v and v < ih:
                                for k in range(ow):
                                    w = c + k * sw
                                    if 0 <= w and w < iw:
                                        at = ((n * id + u) * ih + v) * iw + w
                                        row = ((n * od + i) * oh + j) * ow + k
                                        term = kind(
                                            x[at * groups * channels + channel]
                                            * y[row * groups * features + m]
                                        )
                                        sum_ = kind(sum_ + term)
            out[t] = sum_
            t += cuda.gridsize(1)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (forward, by_input, by_filter)
}
