"""Convolutions: the three products of images, filters and results.

All of them sum over the same triples of elements: one of the input, one of the filter and the one
of the output where both meet. Each is the sum for one of the three, so each is the derivative of
the others, of any order. Axes are batch, one to three in space, channels; filters have those in
space, then channels of the input (of one group) and of the output.

The gradient by the input takes a filter whose channels are swapped (`swap`): then its kernel is
the same as the forward one's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import movement, rules

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]


class Geometry(NamedTuple):
    """Where elements meet: output o, element t of the filter, input ``o * stride + t * dilation``.

    From that ``before`` is taken off, the zeros before the first element of the input.
    """

    inner: Ints  # sizes of the input in space
    outer: Ints  # those of the output
    kernel: Ints  # those of the filter
    strides: Ints
    dilations: Ints
    before: Ints
    groups: int

    def five(self) -> Ints:
        """All but the groups, of three axes in space."""
        parts = (
            (self.inner, 1),
            (self.outer, 1),
            (self.kernel, 1),
            (self.strides, 1),
            (self.dilations, 1),
            (self.before, 0),
        )
        return tuple(x for part, fill in parts for x in (*(fill,) * (3 - len(part)), *part))

    def macs(self, n: int, channels: int, features: int) -> int:
        """How many products are added up."""
        each = channels * features // max(1, self.groups)
        return n * math.prod(self.outer) * math.prod(self.kernel) * each


def taps(geometry: Geometry) -> Iterator[tuple[Ints, tuple[slice, ...], tuple[slice, ...]]]:
    """The elements of the filter that meet the input: each with which inputs, for which outputs."""
    for tap in itertools.product(*map(range, geometry.kernel)):
        inputs, outputs = [], []
        for t, n, m, stride, dilation, before in zip(
            tap,
            geometry.inner,
            geometry.outer,
            geometry.strides,
            geometry.dilations,
            geometry.before,
            strict=True,
        ):
            at = t * dilation - before  # of the input that output 0 meets
            first = max(0, -(at // stride))
            last = min(m - 1, (n - 1 - at) // stride)
            if last < first:
                break
            outputs.append(slice(first, last + 1))
            inputs.append(slice(at + first * stride, at + last * stride + 1, stride))
        else:
            yield tap, tuple(inputs), tuple(outputs)


def _group(x: Array, groups: int) -> Array:
    return x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups)


def _product(x: Array, w: Array, groups: int) -> Array:
    """Pixels times one element of the filter."""
    if groups == 1:
        product: Array = np.matmul(x, w)
        return product
    result: Array = np.einsum("...gc,cgm->...gm", _group(x, groups), _group(w, groups))
    return result.reshape(*x.shape[:-1], w.shape[-1])


def _forward(out: Array, x: Array, w: Array, geometry: Geometry) -> None:
    out[...] = 0
    for tap, inputs, outputs in taps(geometry):
        out[:, *outputs] += _product(x[:, *inputs], w[tap], geometry.groups)


def _by_input(out: Array, g: Array, v: Array, geometry: Geometry) -> None:
    out[...] = 0
    for tap, inputs, outputs in taps(geometry):
        out[:, *inputs] += _product(g[:, *outputs], v[tap], geometry.groups)


def _by_filter(out: Array, x: Array, g: Array, geometry: Geometry) -> None:
    out[...] = 0
    groups, columns = geometry.groups, g.shape[-1]
    for tap, inputs, outputs in taps(geometry):
        a, b = x[:, *inputs].reshape(-1, x.shape[-1]), g[:, *outputs].reshape(-1, columns)
        if groups == 1:
            out[tap] = a.T @ b
        else:
            value = np.einsum("pgc,pgm->cgm", _group(a, groups), _group(b, groups))
            out[tap] = value.reshape(out[tap].shape)


# What the kernels have room for on the stack; as in kernels/cpu/conv.py (a test compares).
TAPS = 512
PIXELS = 96  # of a unit


def _native(name: str) -> Any:
    def native(out: Spec, x: Spec, w: Spec, geometry: Geometry) -> Native | None:
        if not out.is_float or not x.size or not w.size or math.prod(geometry.kernel) > TAPS:
            return None
        groups, n = geometry.groups, out.shape[0] if name != "by_filter" else x.shape[0]
        channels, features = x.shape[-1], (w if name == "by_filter" else out).shape[-1]
        depthwise = channels == groups if name != "by_input" else features == groups
        kind = f"conv.depthwise_{name}" if depthwise and groups > 1 else f"conv.{name}"
        if name == "by_filter":
            units = math.prod(geometry.kernel)
            if not depthwise or groups == 1:
                rows = units * channels // groups
                units = groups * -(-rows // ROWS) * -(-(features // groups) // COLUMNS)
        else:
            phases = geometry.strides if name == "by_input" else (1,) * len(geometry.inner)
            sizes = geometry.inner if name == "by_input" else geometry.outer
            most = n * math.prod(-(-s // p) for s, p in zip(sizes, phases, strict=True))
            units = math.prod(phases) * -(-most // PIXELS)
        work = max(1, geometry.macs(n, channels, features) // 6)
        sizes = channels // groups, features // groups
        sizes = sizes[::-1] if name == "by_input" else sizes
        parameters = n, groups, *sizes, *geometry.five()
        return Native(kind, (out.dtype.name,), parameters, units, work)

    return native


ROWS = 96  # of the filter's gradient that are a unit's; as in kernels/cpu/conv.py
COLUMNS = 32


def _spec(op: Op, x: Spec, w: Spec, geometry: Geometry) -> Spec:
    rules.floating(op, x.with_scalar(), w.with_scalar())
    return intern((x.shape[0], *geometry.outer, w.shape[-1]), x.dtype)


def _input_spec(op: Op, g: Spec, v: Spec, geometry: Geometry) -> Spec:
    return intern((g.shape[0], *geometry.inner, v.shape[-1]), g.dtype)


def _filter_spec(op: Op, x: Spec, g: Spec, geometry: Geometry) -> Spec:
    shape = *geometry.kernel, x.shape[-1] // geometry.groups, g.shape[-1]
    return intern(shape, x.dtype)


def swap(w: Tensor, groups: int) -> Tensor:
    """A filter with the channels of input and output swapped, in each group."""
    *kernel, few, many = tuple(w.shape)
    rank = len(kernel)
    each = many // groups
    if groups == 1:
        if few == 1 or each == 1:
            return movement.reshape_if_needed(w, (*kernel, many, few))
        return movement.transpose_if_needed(w, (*range(rank), rank + 1, rank))
    if few == 1 and each == 1:
        return w
    separate = movement.reshape_if_needed(w, (*kernel, few, groups, each))
    separate = movement.transpose_if_needed(separate, (*range(rank), rank + 2, rank + 1, rank))
    return movement.reshape_if_needed(separate, (*kernel, each, groups * few))


def conv(x: Tensor, w: Tensor, geometry: Geometry) -> Tensor:
    """The outputs."""
    return record(CONV, (x, w), geometry=geometry)


def conv_input(g: Tensor, v: Tensor, geometry: Geometry) -> Tensor:
    """The inputs, of outputs and a swapped filter."""
    return record(CONV_INPUT, (g, v), geometry=geometry)


def conv_filter(x: Tensor, g: Tensor, geometry: Geometry) -> Tensor:
    """The filter, of inputs and outputs."""
    return record(CONV_FILTER, (x, g), geometry=geometry)


CONV = defop(
    "Conv",
    ARRAY,
    2,
    _spec,
    compute=_forward,
    native=_native("forward"),
    vjp=lambda g, y, x, w, geometry: (
        conv_input(g, swap(w, geometry.groups), geometry),
        conv_filter(x, g, geometry),
    ),
)
CONV_INPUT = defop(
    "ConvBackpropInput",
    ARRAY,
    2,
    _input_spec,
    compute=_by_input,
    native=_native("by_input"),
    vjp=lambda h, y, g, v, geometry: (
        conv(h, swap(v, geometry.groups), geometry),
        swap(conv_filter(h, g, geometry), geometry.groups),
    ),
)
CONV_FILTER = defop(
    "ConvBackpropFilter",
    ARRAY,
    2,
    _filter_spec,
    compute=_by_filter,
    native=_native("by_filter"),
    vjp=lambda h, y, x, g, geometry: (
        conv_input(g, swap(h, geometry.groups), geometry),
        conv(x, h, geometry),
    ),
)
