"""Records of pooling: the largest element or the mean of each window, and their derivatives.

A window's largest element is its first one, in order of memory; NaNs are passed over where there is
another number. The derivative goes where that element is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record
from ..values.dtypes import int64
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import elementwise, rules
from .conv_products import PIXELS, Geometry, taps

Array = np.ndarray[Any, Any]


def _pool(op: Op, x: Spec, *_: Spec, geometry: Geometry) -> Spec:
    rules.number(op, x)
    return intern((x.shape[0], *geometry.outer, x.shape[-1]), x.dtype)


def _average_spec(op: Op, x: Spec, geometry: Geometry) -> Spec:
    rules.floating(op, x)
    return _pool(op, x, geometry=geometry)


def _spread(op: Op, g: Spec, geometry: Geometry) -> Spec:
    return intern((g.shape[0], *geometry.inner, g.shape[-1]), g.dtype)


def _places(x: Array, geometry: Geometry) -> tuple[Array, Array]:
    """The largest element of each window, and its pixel of the image."""
    shape = (len(x), *geometry.outer, x.shape[-1])
    best, where = np.zeros(shape, x.dtype), np.full(shape, -1, np.int64)
    pixels = np.arange(math.prod(geometry.inner)).reshape(*geometry.inner, 1)
    for _, inputs, outputs in taps(geometry):
        here, there = x[:, *inputs], (slice(None), *outputs)
        now = best[there]
        better = (here > now) | (where[there] < 0) | ((now != now) & (here == here))
        best[there] = np.where(better, here, now)
        where[there] = np.where(better, pixels[inputs], where[there])
    return best, where


def _max(out: Array, x: Array, geometry: Geometry) -> None:
    out[...] = _places(x, geometry)[0]


def _max_grad(out: Array, x: Array, g: Array, geometry: Geometry) -> None:
    flat = np.zeros((len(x), math.prod(geometry.inner), x.shape[-1]), x.dtype)
    where = _places(x, geometry)[1].reshape(len(x), math.prod(geometry.outer), x.shape[-1])
    n, _, c = np.ogrid[: len(x), :1, : x.shape[-1]]
    np.add.at(flat, (n, where, c), g.reshape(where.shape))
    out[...] = flat.reshape(out.shape)


def _max_take(out: Array, x: Array, h: Array, geometry: Geometry) -> None:
    where = _places(x, geometry)[1].reshape(len(x), math.prod(geometry.outer), x.shape[-1])
    flat = h.reshape(len(x), math.prod(geometry.inner), x.shape[-1])
    out[...] = np.take_along_axis(flat, where, 1).reshape(out.shape)


def _argmax(out: Array, x: Array, geometry: Geometry, batched: bool) -> None:
    where = _places(x, geometry)[1] * x.shape[-1] + np.arange(x.shape[-1])
    if batched:
        step = math.prod(x.shape[1:])
        where += (np.arange(len(x)) * step).reshape(-1, *[1] * (x.ndim - 1))
    out[...] = where


def _counts(geometry: Geometry) -> Array:
    """How many elements each window has: zeros around the image do not count."""
    array = np.zeros((*geometry.outer, 1), np.int64)
    for _, _, outputs in taps(geometry):
        array[outputs] += 1
    return array


def _average(out: Array, x: Array, geometry: Geometry) -> None:
    out[...] = 0
    for _, inputs, outputs in taps(geometry):
        out[:, *outputs] += x[:, *inputs]
    out /= np.maximum(_counts(geometry), 1).astype(x.dtype)


def _average_grad(out: Array, g: Array, geometry: Geometry) -> None:
    out[...] = 0
    share = g / np.maximum(_counts(geometry), 1).astype(g.dtype)
    for _, inputs, outputs in taps(geometry):
        out[:, *inputs] += share[:, *outputs]


def _native(name: str, backward: bool) -> Any:
    def native(out: Spec, x: Spec, *_: Spec, geometry: Geometry) -> Native | None:
        if not out.is_float or not x.size:
            return None
        n = out.shape[0]
        count = math.prod(geometry.outer)
        units = n if backward else -(-n * count // PIXELS)
        work = 2 * n * out.shape[-1] * count * math.prod(geometry.kernel)
        parameters = (n, 1, out.shape[-1], out.shape[-1], *geometry.five())
        return Native(f"pool.{name}", (out.dtype.name,), parameters, units, work)

    return native


def max_pool_of(x: Tensor, geometry: Geometry) -> Tensor:
    """The largest element of each window."""
    return record(MAX_POOL, (x,), geometry=geometry)


def argmax_of(x: Tensor, geometry: Geometry, batched: bool) -> Tensor:
    """Its place, counted in the image, or in the whole batch."""
    return record(MAX_POOL_PLACE, (x,), geometry=geometry, batched=batched)


def average_of(x: Tensor, geometry: Geometry) -> Tensor:
    """The mean of each window."""
    return record(AVG_POOL, (x,), geometry=geometry)


MAX_POOL = defop(
    "MaxPool",
    ARRAY,
    1,
    _pool,
    compute=_max,
    native=_native("largest", False),
    vjp=lambda g, y, x, geometry: (record(MAX_POOL_GRAD, (x, g), geometry=geometry),),
)
MAX_POOL_GRAD: Op = defop(
    "MaxPoolGrad",
    ARRAY,
    2,
    lambda op, x, g, geometry: x,
    compute=_max_grad,
    native=_native("largest_spread", True),
    vjp=lambda h, y, x, g, geometry: (
        elementwise.zeros_of(x),
        record(MAX_POOL_TAKE, (x, h), geometry=geometry),
    ),
)
MAX_POOL_TAKE: Op = defop(
    "MaxPoolGradGrad",
    ARRAY,
    2,
    _pool,
    compute=_max_take,
    native=_native("largest_taken", False),
    vjp=lambda g, y, x, h, geometry: (
        elementwise.zeros_of(x),
        record(MAX_POOL_GRAD, (x, g), geometry=geometry),
    ),
)
MAX_POOL_PLACE = defop(
    "MaxPoolPlace",
    ARRAY,
    1,
    lambda op, x, geometry, batched: intern(_pool(op, x, geometry=geometry).shape, int64),
    compute=_argmax,
    gradient=2,
)
AVG_POOL = defop(
    "AvgPool",
    ARRAY,
    1,
    _average_spec,
    compute=_average,
    native=_native("mean", False),
    vjp=lambda g, y, x, geometry: (record(AVG_POOL_GRAD, (g,), geometry=geometry),),
)
AVG_POOL_GRAD: Op = defop(
    "AvgPoolGrad",
    ARRAY,
    1,
    _spread,
    compute=_average_grad,
    native=_native("mean_spread", True),
    vjp=lambda h, y, g, geometry: (record(AVG_POOL, (h,), geometry=geometry),),
)
