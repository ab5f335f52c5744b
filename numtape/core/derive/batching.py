"""Batching: rows evaluated for many inputs at once, with one more axis in front.

The input is rows of a log that depend on a few of its rows, and the values of those few rows for
all *lanes*, stacked along a new first axis. The output is rows of the current log that compute the
same for all lanes. Jacobians (a lane is an element of the target) and `vectorized_map` (a lane is a
slice) use this. Rows that do not depend on the lane are evaluated once.

An op has a *batching rule* by its kind: elementwise ops align axes, reductions shift their axes by
one, a reshape has one more size in front. Other ops have an entry in `RULES`. An op without a rule
runs lane by lane, and the results are stacked: correct, but no faster than a loop. `LOOPED` lists
these ops (a test compares).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...kernels.constants import MAX_RANK
from ..log.log import Log
from ..log.op import CODES, REDUCTION, VIEW, Op
from ..log.record import record
from ..ops.elementwise import add, cast, multiply
from ..ops.joining import stack
from ..ops.matrix_products import MATMUL
from ..ops.movement import BROADCAST, broadcast_to, reshape, reshape_if_needed, transpose_if_needed
from ..ops.slicing import strided_slice
from ..values.dtypes import int64
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .diagonals import Diagonal, diagonal_row
from .reachability import operands

Attributes = dict[str, Any]
# One tensor with an axis of lanes, or a list of one tensor per lane if the rank limit is reached.
Lanes = Tensor | list[Tensor]
# rule(op, attributes, operands, whether each has lanes, the spec of one lane's result, n)
Rule = Callable[[Op, Attributes, list[Tensor], list[bool], Spec, int], Tensor | None]


def batch_rows(
    log: Log,
    rows: Sequence[int],
    lanes: Mapping[int, Lanes | Diagonal],
    n: int,
    shared: Callable[[int], Tensor],
) -> list[Lanes | None]:
    """Record rows of ``log`` for all lanes in the current log.

    Args:
      log: The log that has the rows.
      rows: The requested rows.
      lanes: Values of some rows in the ``n`` lanes.
      n: The number of lanes, at least 1.
      shared: Returns the tensor of a row that is the same in all lanes.

    Returns:
      The lanes of each requested row; None if it is the same in all of them.
    """
    lanes_of: dict[int, Any] = dict(lanes)
    shared_tensors: dict[int, Tensor] = {}
    for row in dependent_rows(log, rows, lanes):
        xs: list[Any] = []
        has_lanes = []
        for x in operands(log, row):
            lane = lanes_of.get(x)
            has_lanes.append(lane is not None)
            if lane is None:
                lane = shared_tensors.get(x)
                if lane is None:
                    lane = shared_tensors[x] = shared(x)
            xs.append(lane)
        op, attributes = CODES.entries[log.code[row]]
        spec = SPECS.specs[log.spec[row]]
        result: Any = None
        if any(isinstance(x, Diagonal) for x in xs):
            result = diagonal_row(op, attributes, xs, has_lanes, spec)
            if result is None:
                xs = [_in_full(x) for x in xs]
        if result is None:
            result = _batch_row(op, attributes, xs, has_lanes, spec, n)
        lanes_of[row] = result
    return [None if (lane := lanes_of.get(row)) is None else _in_full(lane) for row in rows]


def _in_full(x: Any) -> Any:
    return x.expand() if isinstance(x, Diagonal) else x


def dependent_rows(log: Log, rows: Sequence[int], base_rows: Mapping[int, Any]) -> list[int]:
    """Return, in order, the rows that ``rows`` need and that depend on ``base_rows``."""
    first_base = min(base_rows, default=log.n)
    inputs_of: dict[int, list[int]] = {}
    pending = [row for row in rows if row > first_base]
    while pending:
        row = pending.pop()
        if row not in inputs_of and row not in base_rows:
            inputs = inputs_of[row] = operands(log, row)
            pending += [x for x in inputs if x > first_base]
    dependent: set[int] = set(base_rows)
    order = []
    for row in sorted(inputs_of):
        if not dependent.isdisjoint(inputs_of[row]):
            dependent.add(row)
            order.append(row)
    return order


def _batch_row(
    op: Op, attributes: Attributes, xs: list[Lanes], has_lanes: list[bool], out: Spec, n: int
) -> Lanes:
    """Record one row for all lanes."""
    fits_rank = out.rank < MAX_RANK
    rule = rule_of(op)
    if (
        fits_rank
        and rule is not None
        and all(
            isinstance(x, Tensor) and x.ndim - has_axis < MAX_RANK
            for x, has_axis in zip(xs, has_lanes, strict=True)
        )
    ):
        tensors: list[Any] = xs
        result = rule(op, attributes, tensors, has_lanes, out, n)
        if result is not None:
            return result
    results = [
        record(
            op,
            tuple(
                _take_lane(x, k) if has_axis else x
                for x, has_axis in zip(xs, has_lanes, strict=True)
            ),
            **attributes,
        )
        for k in range(n)
    ]
    return stack(results) if fits_rank else results


def _take_lane(x: Lanes, k: int) -> Tensor:
    if isinstance(x, list):
        return x[k]
    shape = tuple(x.shape[1:])
    return reshape(strided_slice(x, ((k, k + 1, 1), *((0, dim, 1) for dim in shape))), shape)


def rule_of(op: Op) -> Rule | None:
    """Return an op's batching rule; None if it runs lane by lane."""
    return (
        _elementwise_rule if op.elementwise else _RULES_BY_KIND.get(op.kind) or RULES.get(op.name)
    )


def broadcast_to_lanes(x: Tensor, n: int) -> Tensor:
    """Return ``n`` identical lanes."""
    return broadcast_to(x, (n, *x.shape))


def _give_all_lanes(xs: list[Tensor], has_lanes: list[bool], n: int) -> list[Tensor]:
    return [
        x if has_axis else broadcast_to_lanes(x, n)
        for x, has_axis in zip(xs, has_lanes, strict=True)
    ]


# Rules by kind.


def _elementwise_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    """Insert axes of size 1 after the lanes of operands with fewer axes than the result."""
    aligned = [
        reshape(x, (n,) + (1,) * (out.rank + 1 - x.ndim) + tuple(x.shape[1:]))
        if has_axis and x.ndim <= out.rank
        else x
        for x, has_axis in zip(xs, has_lanes, strict=True)
    ]
    if op is BROADCAST:
        attributes = {"shape": (n, *out.shape)}
    return record(op, tuple(aligned), **attributes)


def _view_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    return reshape_if_needed(xs[0], (n, *out.shape))


def _reduction_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    """Shift the axes of a reduction by one."""
    axes = tuple(axis + 1 for axis in attributes["axes"])
    return record(op, tuple(xs), **{**attributes, "axes": axes})


_RULES_BY_KIND: dict[int, Rule] = {VIEW: _view_rule, REDUCTION: _reduction_rule}


# Rules that several ops share.


def _leading_axes_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    """Batch an op on the last axes that allows common leading axes of its operands."""
    return record(op, tuple(_give_all_lanes(xs, has_lanes, n)), **attributes)


def _axis_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    """Shift the axis of an op along one axis by one."""
    axis = attributes["axis"] + 1
    return record(op, tuple(_give_all_lanes(xs, has_lanes, n)), **{**attributes, "axis": axis})


def _first_operand_rule(**changes: Callable[[Any, Spec, int], Any]) -> Rule:
    """Return a rule for ops with lanes in the first operand only; ``changes`` maps attributes."""

    def rule(
        op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
    ) -> Tensor | None:
        if not has_lanes[0] or any(has_lanes[1:]):
            return None
        new_attributes = {name: changes[name](attributes[name], out, n) for name in changes}
        return record(op, tuple(xs), **{**attributes, **new_attributes})

    return rule


# Rules of single ops.


def _matmul_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    """Multiply larger matrices in one product if one operand is the same for all lanes."""
    a, b = xs
    ta, tb = attributes["ta"], attributes["tb"]
    m, p = out.shape[-2:]
    k = a.shape[-2 if ta else -1]
    is_nonempty = m and k and p
    if is_nonempty and not has_lanes[1] and b.ndim == 2 and (not ta or 1 in (m, k)):
        # The rows of all lanes' matrices form one matrix. A vector is its own transpose.
        rows = reshape(a, (a._spec.size // k, k))
        return reshape(record(op, (rows, b), ta=False, tb=tb), (n, *out.shape))
    if is_nonempty and not has_lanes[0] and a.ndim == 2 and p == 1:
        rows = reshape(b, (b._spec.size // k, k))
        return reshape(record(op, (rows, a), ta=False, tb=not ta), (n, *out.shape))
    leading_rank = out.rank - 2
    a, b = (
        reshape(x, (n,) + (1,) * (leading_rank + 3 - x.ndim) + tuple(x.shape[1:]))
        if has_axis and x.ndim - 3 < leading_rank
        else x
        for x, has_axis in zip(xs, has_lanes, strict=True)
    )
    if k == 1 and a.shape[:-2] != b.shape[:-2]:  # outer products that share factors
        return multiply(_transpose_vector(a, ta), _transpose_vector(b, tb))
    return record(op, (a, b), **attributes)


def _transpose_vector(x: Tensor, is_transposed: bool) -> Tensor:
    """Transpose a matrix of one row or column if needed."""
    return reshape(x, (*x.shape[:-2], *x.shape[-2:][::-1])) if is_transposed else x


def _move_axis(x: Tensor, source: int, target: int) -> Tensor:
    """Move an axis to another position."""
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(target, source)
    return transpose_if_needed(x, tuple(order))


def _offset_indices(indices: Tensor, size: int, n: int) -> Tensor:
    """Convert indices of each lane to indices into the lanes' slices laid end to end."""
    starts = (np.arange(n) * size).reshape((n,) + (1,) * (indices.ndim - 1))
    return cast(indices, int64) + starts


def _gather_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    x, indices = xs
    axis = attributes["axis"]
    if not has_lanes[1]:
        return record(op, (x, indices), axis=axis + 1)
    if not has_lanes[0]:
        return _move_axis(record(op, (x, indices), axis=axis), axis, 0)
    size = x.shape[axis + 1]
    x = _move_axis(x, axis + 1, 1)
    flat = reshape(x, (n * size, *x.shape[2:]))
    gathered = record(op, (flat, _offset_indices(indices, size, n)), axis=0)
    # The axes are n, those of the indices, those of the slices; move the indices' axes.
    index_rank = indices.ndim - 1
    order = (
        0,
        *range(1 + index_rank, 1 + index_rank + axis),
        *range(1, 1 + index_rank),
        *range(1 + index_rank + axis, gathered.ndim),
    )
    return transpose_if_needed(gathered, order)


def _scatter_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    g, indices = xs
    axis, size = attributes["axis"], attributes["size"]
    if not has_lanes[1]:
        return record(op, (g, indices), axis=axis + 1, size=size)
    if not has_lanes[0]:
        g = broadcast_to_lanes(g, n)
    index_rank = indices.ndim - 1
    order = (
        0,
        *range(1 + axis, 1 + axis + index_rank),
        *range(1, 1 + axis),
        *range(1 + axis + index_rank, g.ndim),
    )
    sums = record(
        op,
        (transpose_if_needed(g, order), _offset_indices(indices, size, n)),
        axis=0,
        size=n * size,
    )
    return _move_axis(reshape(sums, (n, size, *sums.shape[1:])), 1, 1 + axis)


def _tensor_scatter_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    """Join the slices of all lanes end to end, and offset the indices of their updates."""
    x, indices, updates = _give_all_lanes(xs, has_lanes, n)
    size, slice_shape = out.shape[0], out.shape[1:]
    flat_indices = reshape(_offset_indices(indices, size, n), (n * indices.shape[1],))
    flat = (
        reshape(x, (n * size, *slice_shape)),
        flat_indices,
        reshape(updates, (n * indices.shape[1], *slice_shape)),
    )
    return reshape(record(op, flat, **attributes), (n, *out.shape))


def _images_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor | None:
    """Batch convolutions and pooling: the batches of all lanes form one batch."""
    if attributes.get("batched"):  # counts over the batch
        return None
    if op.name in ("Conv", "ConvBackpropInput"):  # the second operand is a filter
        if has_lanes[1]:
            return None
        images, filters = xs[:1], xs[1:]
    else:
        images, filters = _give_all_lanes(xs, has_lanes, n), []
    merged_images = [reshape(x, (n * x.shape[1], *x.shape[2:])) for x in images]
    return reshape(record(op, (*merged_images, *filters), **attributes), (n, *out.shape))


def _filter_gradient_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor | None:
    """Batch the gradient of filters: the features of all lanes are concatenated."""
    if has_lanes[0] or attributes["geometry"].groups > 1:
        return None
    x, g = xs
    g = _move_axis(g, 0, g.ndim - 2)
    gradient = record(op, (x, reshape(g, (*g.shape[:-2], n * out.shape[-1]))), **attributes)
    return _move_axis(reshape(gradient, (*out.shape[:-1], n, out.shape[-1])), out.rank - 1, 0)


def _segments_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor | None:
    """Batch segment ops: the lanes become part of the slices."""
    x, ids = xs
    return (
        None
        if has_lanes[1]
        else _move_axis(record(op, (_move_axis(x, 0, 1), ids), **attributes), 1, 0)
    )


def _slices_sum_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor | None:
    """Batch a sum of slices: every slice has the lanes as its first axis."""
    operands = iter(zip(xs, has_lanes, strict=True))
    new_xs = []

    def take(is_index: bool) -> bool:
        x, has_axis = next(operands)
        new_xs.append(x if has_axis or is_index else broadcast_to_lanes(x, n))
        return not (is_index and has_axis)

    is_batched = not attributes["has_base"] or take(False)
    parts = []
    for begin, counts, steps in attributes["parts"]:
        take(False)
        is_batched &= begin >= 0 or take(True)
        parts.append((begin, (n, *counts), (1, *steps)))
    new = {"parts": tuple(parts), "shape": (n, *attributes["shape"])}
    return record(op, tuple(new_xs), **{**attributes, **new}) if is_batched else None


def _products_sum_rule(
    op: Op, attributes: Attributes, xs: list[Tensor], has_lanes: list[bool], out: Spec, n: int
) -> Tensor:
    """Add products of lanes one by one."""
    flags = {"ta": attributes["ta"], "tb": attributes["tb"]}
    start = int(attributes["has_base"])
    total = None
    if start:
        total = xs[0] if has_lanes[0] else broadcast_to_lanes(xs[0], n)
    for k in range(start, len(xs), 2):
        if any(has_lanes[k : k + 2]):
            product = _matmul_rule(MATMUL, flags, xs[k : k + 2], has_lanes[k : k + 2], out, n)
        else:
            product = broadcast_to_lanes(record(MATMUL, tuple(xs[k : k + 2]), **flags), n)
        total = product if total is None else add(total, product)
    assert total is not None
    return total


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("FFT", "IFFT", "RFFT", "RFFTAdjoint", "IRFFT", "IRFFTAdjoint"), _leading_axes_rule
    ),
    **dict.fromkeys(
        ("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"), _segments_rule
    ),
    **dict.fromkeys(("Cumprod", "CumulativeLogsumexp", "LinearRecurrence", "Shift"), _axis_rule),
    "RandomGammaGrad": _leading_axes_rule,
    "TopKV2": _leading_axes_rule,
    "LowerBound": _leading_axes_rule,
    **dict.fromkeys(
        (
            "Conv",
            "ConvBackpropInput",
            "MaxPool",
            "MaxPoolGrad",
            "MaxPoolGradGrad",
            "MaxPoolPlace",
            "AvgPool",
            "AvgPoolGrad",
        ),
        _images_rule,
    ),
    "ConvBackpropFilter": _filter_gradient_rule,
    "Transpose": _first_operand_rule(perm=lambda perm, out, n: (0, *(axis + 1 for axis in perm))),
    # The start of a slice is counted in elements of the first lane.
    "StridedSlice": _first_operand_rule(
        counts=lambda counts, out, n: (n, *counts), steps=lambda steps, out, n: (1, *steps)
    ),
    "StridedSliceGrad": _first_operand_rule(
        shape=lambda shape, out, n: (n, *shape), steps=lambda steps, out, n: (1, *steps)
    ),
    **dict.fromkeys(
        ("SmallSlice", "SmallSliceGrad"),
        _first_operand_rule(
            counts=lambda counts, out, n: (n, *counts),
            steps=lambda steps, out, n: (1, *steps),
            shape=lambda shape, out, n: (n, *shape),
        ),
    ),
    "StridedSliceGradSum": _slices_sum_rule,
    "ConcatV2": _axis_rule,
    "Pack": _axis_rule,
    "Roll": _axis_rule,
    "Mean": _reduction_rule,
    "All": _reduction_rule,
    "Any": _reduction_rule,
    "MatMul": _matmul_rule,
    "MatMulSum": _products_sum_rule,
    "GatherV2": _gather_rule,
    "ScatterAdd": _scatter_rule,
    "MirrorPadGrad": _axis_rule,
    "MirrorPadGradGrad": _axis_rule,
    "Pick": _leading_axes_rule,
    "Place": _leading_axes_rule,
    "TensorScatter": _tensor_scatter_rule,
    "GuaranteeConst": _first_operand_rule(),
    "Bitcast": _first_operand_rule(),
    "AdjustContrastv2": _first_operand_rule(),
    "ArgMax": _axis_rule,
    "ArgMin": _axis_rule,
    "Cumsum": _axis_rule,
    "SoftmaxGrad": _leading_axes_rule,
    "LogSoftmaxGrad": _leading_axes_rule,
    "Softmax": _leading_axes_rule,
    "LogSoftmax": _leading_axes_rule,
    "Normalize": _leading_axes_rule,
    "NormalizeGrad": _leading_axes_rule,
    "SparsemaxThreshold": _leading_axes_rule,
    "IsotonicSegments": _leading_axes_rule,
    "Pad": _first_operand_rule(paddings=lambda paddings, out, n: ((0, 0), *paddings)),
    "PadV2": _first_operand_rule(paddings=lambda paddings, out, n: ((0, 0), *paddings)),
    # Ops on the last axes, for operands with equal batch axes.
    **dict.fromkeys(
        (
            "MatrixBandPart",
            "SymmetricFromLower",
            "LowerOfSymmetric",
            "LuFactor",
            "Lu",
            "LuPermutation",
            "MatrixSolve",
            "MatrixInverse",
            "MatrixDeterminant",
            "LogMatrixDeterminant",
            "MatrixTriangularSolve",
            "Cholesky",
            "CholeskyGrad",
            "Qr",
            "Svd",
            "SelfAdjointEigV2",
            "MatrixExponential",
            "MatrixLogarithm",
            "MatrixSquareRoot",
            "Sylvester",
            "MatrixSolveLs",
            "TridiagonalSolve",
        ),
        _leading_axes_rule,
    ),
}

# Ops without a rule, which are done lane by lane.
LOOPED: set[str] = {
    "CollectiveResult",
    "CollectiveStart",
    "DenseBincount",
    "Eig",
    "HistogramFixedWidth",
    "InTopKV2",
    "Kernel",
    "KernelGrad",
    "KernelPart",
    "PseudoInverse",
    "NumberedRandom",
    "RandomPoissonV2",
    "RngReadAndSkip",
    "SampledMatMul",
    "SparseTensorDenseMatMul",
    "StatelessMultinomial",
    "StatelessRandom",
    "StatelessRandomBinomial",
    "StatelessRandomGamma",
    "StatelessRandomPoisson",
    "StatelessRandomUniformInt",
    "Unique",
}
