"""Launches of a row that is not elementwise: `array_launches` looks the op up in `MAKERS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...log.op import Op
from ...values.spec import Spec, intern
from .. import fusion
from ..codegen import fill_source, memory_dtype
from ..launches import (
    Launch,
    LaunchRow,
    OnHost,
    Product,
    Reserve,
    blocks,
    library_kernel,
    threads,
    written_out,
)
from . import axes, conv, permute, scatter


def array_launches(
    op: Op,
    attributes: dict[str, Any],
    out: Spec,
    operands: list[Spec],
    places: list[int],
    reserve: Reserve,
) -> list[Any]:
    """The launches that compute a row that is not elementwise.

    `OnHost` is used for halves, complex numbers and ops without a kernel.
    """
    if op.name in TRANSFERS:
        return TRANSFERS[op.name](LaunchRow(op, attributes, out, operands, places, reserve))
    if not out.size:
        return []
    row = LaunchRow(op, attributes, out, operands, places, reserve)
    if any(spec.wide for spec in (out, *operands)):  # halves and complex numbers
        return [OnHost(op, attributes, (out, *operands), tuple(places))]
    if op.name in MAKERS:
        return MAKERS[op.name](row)
    native = op.native(out, *operands, **attributes) if op.native is not None else None
    if native is not None and native.kernel in fusion.ROW_OPS:
        epsilon = attributes.get("epsilon", 0.0)
        fused = fusion.launch_of_row_op(native.kernel, out, len(operands), epsilon, places)
        if fused is not None:
            return [fused]
        values, specs = (native.units, *native.parameters), [out, *operands]
        return [_array(native.kernel, specs, native.units * threads(), values, places)]
    return [OnHost(op, attributes, (out, *operands), tuple(places))]


def _array(
    name: str, specs: Sequence[Spec], work: int, values: tuple[int, ...], places: Sequence[int]
) -> Launch:
    """The launch of a whole-array kernel."""
    dtypes = [memory_dtype(spec.dtype) for spec in specs]
    scalars = ["int64"] * len(values)
    if name.startswith("normalize"):
        scalars[-1] = "float64"  # epsilon
    kernel = library_kernel("arrays", name, dtypes, [*scalars, *(f"*{dtype}" for dtype in dtypes)])
    return Launch(kernel, blocks(work), threads(), values, tuple(places))


def _matmul(row: LaunchRow) -> list[Any]:
    """A product by cuBLAS, or by a kernel (ints); broadcasts operands over batches first."""
    out, (ta, tb) = row.out, (row.attributes["ta"], row.attributes["tb"])
    launches: list[Any] = []
    operands, places = [], [row.places[0]]
    for x, place in zip(row.operands, row.places[1:], strict=True):
        if x.size != math.prod(x.shape[-2:]) and x.shape[:-2] != out.shape[:-2]:
            move, x = _spread(x, tuple(out.shape[:-2]))
            there = row.reserve(x.size * x.dtype.size)
            launches.append(permute.copy_launch(move, x, (there, place)))
            place = there
        operands.append(x)
        places.append(place)
    a, b = operands
    if not a.size:
        dtype = memory_dtype(out.dtype)
        return [written_out(fill_source(dtype, "0"), "fill", dtype, out.size, places[:2])]
    assert row.op.native is not None
    native = row.op.native(out, a, b, ta, tb)
    if native is not None:
        return [*launches, Product(out.dtype.name, native.parameters[1:15], tuple(places))]
    n, length = out.shape[-1], a.shape[-2 if ta else -1]
    x_size, y_size = (math.prod(x.shape[-2:]) for x in operands)
    values = (
        out.size,
        n,
        length,
        math.prod(out.shape[-2:]),
        x_size * (a.size != x_size),
        *_matrix_strides(a, ta),
        y_size * (b.size != y_size),
        *_matrix_strides(b, tb),
    )
    return [*launches, _array("product", [out, a, b], out.size, values, places)]


def _spread(x: Spec, lead: tuple[int, ...]) -> tuple[permute.Move, Spec]:
    """The copy that broadcasts matrices over batches, and the spec of its result."""
    shape = (*lead, *x.shape[-2:])
    strides = [0] * (len(shape) - x.rank) + [
        0 if dim == 1 else stride
        for dim, stride in zip(x.shape, permute.strides_of(x.shape), strict=True)
    ]
    return permute.Move(shape, tuple(strides), 0, False), intern(shape, x.dtype)


def _matrix_strides(x: Spec, transposed: bool) -> tuple[int, int]:
    """The strides of a matrix in elements: between rows, between columns."""
    columns = x.shape[-1]
    return (1, columns) if transposed else (columns, 1)


def _contrast(row: LaunchRow) -> list[Launch]:
    """Contrast adjustment: sums over height and width, then one elementwise kernel."""
    out, images, factor = row.places
    *before, height, width, inner = row.out.shape
    dtype, sizes = row.out.dtype.name, (math.prod(before), height * width, inner)
    sums = row.reserve(sizes[0] * inner * row.out.dtype.size)
    launches = axes.along("sum", dtype, dtype, sizes, (sums, images), row.reserve)
    values, places = (row.out.size, *sizes[1:]), (out, images, factor, sums)
    return [*launches, _array("contrast", [row.out] * 4, row.out.size, values, places)]


# By op name: ops that move data between processes, of any dtype and size. `distribute.nccl` adds
# them.
TRANSFERS: dict[str, Callable[[LaunchRow], list[Any]]] = {}

# By op name: ops that need several launches, or parameters that op records do not have.
MAKERS: dict[str, Callable[[LaunchRow], list[Any]]] = {
    **axes.MAKERS,
    **conv.MAKERS,
    **permute.MAKERS,
    **scatter.MAKERS,
    "MatMul": _matmul,
    "AdjustContrastv2": _contrast,
}
