"""Launches of convolutions and pooling; see kernels/cuda/conv.py and kernels/cuda/pool.py."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..codegen import memory_dtype
from ..launches import Launch, LaunchRow, blocks, library_kernel, threads
from .permute import zeros


def _conv(name: str, channels: int, features: int) -> Callable[[LaunchRow], list[Launch]]:
    """The maker for a convolution kernel.

    ``channels`` and ``features`` name the arrays whose last axis has them: operand 0 or 1, or the
    result, 2.
    """

    def launches(row: LaunchRow) -> list[Launch]:
        geometry = row.attributes["geometry"]
        if not all(x.size for x in row.operands):
            return [zeros(row.out.size * row.out.dtype.size, row.places[0])]
        specs = (*row.operands, row.out)
        groups, batch = geometry.groups, row.operands[0].shape[0]
        group_channels, group_features = (
            specs[k].shape[-1] // groups for k in (channels, features)
        )
        values = (
            row.out.size,
            batch,
            groups,
            group_channels,
            group_features,
            *geometry.parameters(),
        )
        dtype = memory_dtype(row.out.dtype)
        kernel = library_kernel("conv", name, (dtype,), ["int64"] * len(values) + [f"*{dtype}"] * 3)
        return [Launch(kernel, blocks(row.out.size), threads(), values, tuple(row.places))]

    return launches


def _pool(name: str) -> Callable[[LaunchRow], list[Launch]]:
    def launches(row: LaunchRow) -> list[Launch]:
        geometry = row.attributes["geometry"]
        if not all(x.size for x in row.operands) or not math.prod(geometry.output_sizes):
            return [zeros(row.out.size * row.out.dtype.size, row.places[0])]
        batched = int(row.attributes.get("batched", False))
        values = (row.out.size, row.out.shape[-1], *geometry.parameters(), batched)
        specs, places = [row.out, *row.operands], list(row.places)
        if len(places) == 2 and name.startswith("largest"):  # its last operand is not read
            specs, places = [*specs, specs[-1]], [*places, places[-1]]
        dtypes = [memory_dtype(spec.dtype) for spec in specs]
        parameters = ["int64"] * len(values) + [f"*{dtype}" for dtype in dtypes]
        kernel = library_kernel("pool", name, (dtypes[1],), parameters)
        return [Launch(kernel, blocks(row.out.size), threads(), values, tuple(places))]

    return launches


MAKERS: dict[str, Callable[[LaunchRow], list[Launch]]] = {
    "Conv": _conv("forward", 0, 2),
    "ConvBackpropInput": _conv("by_input", 2, 0),
    "ConvBackpropFilter": _conv("by_filter", 0, 1),
    "MaxPool": _pool("largest"),
    "MaxPoolGrad": _pool("largest_spread"),
    "MaxPoolGradGrad": _pool("largest_taken"),
    "MaxPoolPlace": _pool("largest_place"),
    "AvgPool": _pool("mean"),
    "AvgPoolGrad": _pool("mean_spread"),
}
