"""Sums of many adjoints of one tensor; `core.derive.accumulation` records them.

The adjoint of a slice is zero outside the slice, and the adjoint of a matrix that several products
read is a sum of products. Here one row adds all of them in one buffer, in order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernels.constants import SUM_TILE
from ..cpu import blas
from ..log.op import ARRAY, VARIADIC, Native, Op, defop
from ..log.record import record
from ..values.dtypes import float32
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from .matrix_products import MATMUL
from .movement import reshape_if_needed
from .slicing import SLICE, SMALL_SLICE, view_slice

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
# A slice: the flat index of its first element (-1: an operand after the summand), counts and steps.
Part = tuple[int, Ints, Ints]

# Elements of a unit of a sum of slices, which stay in L1, and of one that is long enough to visit
# one more slice.
_UNIT, _VISIT = 1 << 12, 64


def _slices_spec(
    op: Op, *specs: Spec, shape: Ints, parts: tuple[Part, ...], has_base: bool
) -> Spec:
    return intern(shape, specs[0].dtype)


def _add_slices(
    out: Array, *xs: Array, shape: Ints, parts: tuple[Part, ...], has_base: bool
) -> None:
    operands = iter(xs)
    out[...] = next(operands) if has_base else 0
    for begin, counts, steps in parts:
        x = next(operands)
        view = view_slice(out, next(operands) if begin < 0 else begin, counts, steps)
        view += x.reshape(counts)


def _strides(shape: Ints, counts: Ints, steps: Ints) -> list[int]:
    """Return counts and strides in elements, axis by axis; axes that form one are merged."""
    axes: list[tuple[int, int]] = []
    stride = math.prod(shape)
    for dim, count, step in zip(shape, counts, steps, strict=True):
        stride //= dim
        if count == 1:
            continue
        if axes and axes[-1][1] == count * stride * step:
            axes[-1] = axes[-1][0] * count, stride * step
        else:
            axes.append((count, stride * step))
    return [number for axis in axes or [(1, 1)] for number in axis]


def _slices_native(
    out: Spec, *specs: Spec, shape: Ints, parts: tuple[Part, ...], has_base: bool
) -> Native | None:
    if not out.is_float:
        return None
    added = sum(math.prod(counts) for _, counts, _ in parts)
    unit = max(_UNIT, -(-out.size * _VISIT * len(parts) // (out.size + added)))
    parameters = [len(parts), out.size, unit, has_base]
    for begin, counts, steps in parts:
        axes = _strides(shape, counts, steps)
        parameters += [begin, len(axes) // 2, *axes]
    units = -(-out.size // unit)
    work = out.size + added + 4 * len(parts)
    return Native("adjoint_sums.slices", (out.dtype.name,), tuple(parameters), units, work)


def _slices_vjp(
    g: Tensor, y: Tensor, *xs: Tensor, shape: Ints, parts: tuple[Part, ...], has_base: bool
) -> list[Tensor | None]:
    adjoints: list[Tensor | None] = [g] if has_base else []
    for begin, counts, steps in parts:
        x = xs[len(adjoints)]
        if begin < 0:
            adjoint = record(SLICE, (g, xs[len(adjoints) + 1]), counts=counts, steps=steps)
            adjoints += [reshape_if_needed(adjoint, tuple(x.shape)), None]
        else:
            attributes = {"begin": begin, "counts": counts, "steps": steps}
            adjoints.append(record(SMALL_SLICE, (g,), **attributes, shape=tuple(x.shape)))
    return adjoints


# The operands are the base, if there is one, then each part's summand, and the flat index of its
# first element unless the part has it.
SUM_OF_SLICES = defop(
    "StridedSliceGradSum",
    ARRAY,
    VARIADIC,
    _slices_spec,
    compute=_add_slices,
    native=_slices_native,
    vjp=_slices_vjp,
    on_host=True,
    complex_vjp="analytic",
)


def _outer_shape(a: Spec, b: Spec, ta: bool, tb: bool) -> Ints:
    return a.shape[-1 if ta else -2], b.shape[-2 if tb else -1]


def _products_spec(op: Op, *specs: Spec, ta: bool, tb: bool, has_base: bool) -> Spec:
    a, b = specs[-2:]
    return intern(_outer_shape(a, b, ta, tb), a.dtype)


def _add_products(out: Array, *xs: Array, ta: bool, tb: bool, has_base: bool) -> None:
    out[...] = xs[0] if has_base else 0
    factors = iter(xs[has_base:])
    for a, b in zip(factors, factors, strict=True):
        out += (a.T if ta else a) @ (b.T if tb else b)


def _products_native(out: Spec, *specs: Spec, ta: bool, tb: bool, has_base: bool) -> Native | None:
    function = blas.address("sgemm" if out.dtype is float32 else "dgemm") if out.is_float else 0
    if not function:
        return None
    m, n = out.shape
    inner = [a.shape[-2 if ta else -1] for a in specs[has_base::2]]
    one_bits = int(np.ones(1, out.dtype.numpy_dtype).view(f"int{8 * out.dtype.size}")[0])
    letters = ord("T" if tb else "N"), ord("T" if ta else "N")
    parameters = (
        function,
        *letters,
        n,
        m,
        *(0, one_bits, 0, 0, 0),  # the kernel sets what depends on the inner size
        n,
        len(inner),
        has_base,
        one_bits,
        *blas.threads(),
        *inner,
    )
    units = -(-m // SUM_TILE) * -(-n // SUM_TILE)
    work = m * n * (1 + sum(inner)) // 64 + (m + n) * sum(inner) // 8
    return Native("adjoint_sums.products", (out.dtype.name,), parameters, units, max(work, 1))


def _products_vjp(
    g: Tensor, y: Tensor, *xs: Tensor, ta: bool, tb: bool, has_base: bool
) -> list[Tensor]:
    assert MATMUL.vjp is not None
    adjoints = [g] if has_base else []
    factors = iter(xs[has_base:])
    for a, b in zip(factors, factors, strict=True):
        adjoints += MATMUL.vjp(g, y, a, b, ta, tb)
    return adjoints


# The operands are the base, if there is one, then the factors of each product.
SUM_OF_PRODUCTS = defop(
    "MatMulSum",
    ARRAY,
    VARIADIC,
    _products_spec,
    compute=_add_products,
    native=_products_native,
    vjp=_products_vjp,
    on_host=True,
    complex_vjp="analytic",
)
