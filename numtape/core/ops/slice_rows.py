"""The rows that slices are: their elements, and those among zeros, which is the derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record
from ..log.tensors import as_tensor
from ..values.dtypes import int64
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from .movement import strided_native

Array = np.ndarray[Any, Any]

# Slices: (start, count-defining end, step) for each axis, as range() takes them. Where a slice
# begins is an operand, counted in elements: programs use many of them. Counts and steps, which
# mostly repeat, are attributes.

Cut = tuple[tuple[int, int, int], ...]
Ints = tuple[int, ...]
NUMBER = intern((), int64)


def slices(cut: Cut) -> tuple[slice, ...]:
    """What NumPy takes for a cut."""
    # An end before 0 means "through the first element", which a slice spells None.
    return tuple(
        slice(part[0], part[1] if part[1] >= 0 else None, part[2])
        if len(range(*part))
        else slice(0, 0)
        for part in cut
    )


def _place(cut: Cut, shape: Ints) -> int:
    """The place of a slice's first element among those of the whole."""
    place = 0
    for (start, _, _), dim in zip(cut, shape, strict=True):
        place = place * dim + start
    return 0 if any(not len(range(*part)) for part in cut) else place


def _begin(cut: Cut, shape: Ints) -> Tensor:
    return as_tensor(_place(cut, shape), NUMBER)


def _steps(cut: Cut) -> Ints:
    return tuple(part[2] if len(range(*part)) > 1 else 1 for part in cut)


def _part(full: Array, begin: Array | int, counts: Ints, steps: Ints) -> Array:
    """The elements of a slice, in place."""
    if 0 in counts:
        return np.empty(counts, full.dtype)
    strides, stride = [], full.itemsize
    for dim, step in zip(reversed(full.shape), reversed(steps), strict=True):
        strides.append(step * stride)
        stride *= dim
    offset = int(begin) * full.itemsize
    return np.ndarray(counts, full.dtype, full, offset, strides[::-1])


def _slice_spec(op: Op, x: Spec, begin: Spec, counts: Ints, steps: Ints) -> Spec:
    return intern(counts, x.dtype)


def _slice(out: Array, x: Array, begin: Array, counts: Ints, steps: Ints) -> None:
    out[...] = _part(np.ascontiguousarray(x).reshape(x.shape), begin, counts, steps)


def _native(
    kernel: str, full: Spec, counts: Ints, steps: Ints, begin: int | None = None
) -> Native | None:
    """The kernel for a slice of ``counts`` elements. ``begin`` is None if that is an operand."""
    strides, stride = [], full.dtype.size
    for dim, step in zip(reversed(full.shape), reversed(steps), strict=True):
        strides.append(stride * step)
        stride *= dim
    return strided_native(kernel, full, counts, strides[::-1], -1 if begin is None else begin)


def _slice_native(out: Spec, x: Spec, begin: Spec, counts: Ints, steps: Ints) -> Native | None:
    return _native("part", x, counts, steps)


def _zeros_native(out: Spec, g: Spec, begin: Spec, shape: Ints, steps: Ints) -> Native | None:
    return _native("among_zeros", out, tuple(g.shape), steps)


def _slice_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: Tensor, counts: Ints, steps: Ints
) -> tuple[Tensor, None]:
    return record(SLICE_INTO_ZEROS, (g, begin), shape=tuple(x.shape), steps=steps), None


SLICE = defop(
    "StridedSlice",
    ARRAY,
    2,
    _slice_spec,
    compute=_slice,
    native=_slice_native,
    vjp=_slice_vjp,
    of_complex="analytic",
)


def _into_zeros(out: Array, g: Array, begin: Array, shape: Ints, steps: Ints) -> None:
    out[...] = 0
    _part(out, begin, g.shape, steps)[...] = g


def _into_zeros_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: Tensor, shape: Ints, steps: Ints
) -> tuple[Tensor, None]:
    return record(SLICE, (g, begin), counts=tuple(x.shape), steps=steps), None


# The derivative of a slice: the slice's elements among zeros.
SLICE_INTO_ZEROS = defop(
    "StridedSliceGrad",
    ARRAY,
    2,
    lambda op, g, begin, shape, steps: intern(shape, g.dtype),
    compute=_into_zeros,
    native=_zeros_native,
    vjp=_into_zeros_vjp,
    of_complex="analytic",
)


# Of small arrays, where a slice begins is an attribute, too, and so is the shape that it gets:
# there are few such slices, and one row does it.


def _small_spec(op: Op, x: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints) -> Spec:
    return intern(shape, x.dtype)


def _small(out: Array, x: Array, begin: int, counts: Ints, steps: Ints, shape: Ints) -> None:
    out[...] = _part(np.ascontiguousarray(x).reshape(x.shape), begin, counts, steps).reshape(shape)


def _small_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> tuple[Tensor]:
    return (
        record(
            SMALL_INTO_ZEROS, (g,), begin=begin, counts=counts, steps=steps, shape=tuple(x.shape)
        ),
    )


def _small_native(
    out: Spec, x: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> Native | None:
    return _native("part", x, counts, steps, begin)


def _small_zeros(out: Array, g: Array, begin: int, counts: Ints, steps: Ints, shape: Ints) -> None:
    out[...] = 0
    _part(out, begin, counts, steps)[...] = g.reshape(counts)


def _small_zeros_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> tuple[Tensor]:
    return (
        record(SMALL_SLICE, (g,), begin=begin, counts=counts, steps=steps, shape=tuple(x.shape)),
    )


def _small_zeros_native(
    out: Spec, g: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> Native | None:
    return _native("among_zeros", out, counts, steps, begin)


SMALL_SLICE = defop(
    "SmallSlice",
    ARRAY,
    1,
    _small_spec,
    compute=_small,
    native=_small_native,
    vjp=_small_vjp,
    of_complex="analytic",
)
SMALL_INTO_ZEROS = defop(
    "SmallSliceGrad",
    ARRAY,
    1,
    _small_spec,
    compute=_small_zeros,
    native=_small_zeros_native,
    vjp=_small_zeros_vjp,
    of_complex="analytic",
)


def small(x: Spec, cut: Cut, shape: Ints) -> dict[str, Any]:
    """The attributes of a slice of a small array."""
    counts = tuple(len(range(*part)) for part in cut)
    return {"begin": _place(cut, x.shape), "counts": counts, "steps": _steps(cut), "shape": shape}


def slice_into_zeros(g: Tensor, shape: Ints, cut: Cut) -> Tensor:
    """A tensor of ``shape`` that is 0 but for ``g`` where a slice would take its elements."""
    return record(SLICE_INTO_ZEROS, (g, _begin(cut, shape)), shape=shape, steps=_steps(cut))
