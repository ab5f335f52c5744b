"""Lanes that are zero except in one place: the adjoints of independent targets, such as losses.

In lane k of a Jacobian the seed is zero except for element k of the target. As long as rows treat
the elements along that axis independently, as layers treat the examples of a batch, the adjoints
in lane k are zero except at index k of the axis, and one tensor has what all lanes have there. A
row that sums over the axis, such as the adjoint of a weight, takes one term in each lane. Rows
without a rule get all lanes in full. Start with `diagonal_row`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..log.log import LEAF_CODE, VALUE, Log
from ..log.op import REDUCTION, VIEW, Op
from ..log.record import record
from ..ops.elementwise import add, cast, multiply_no_nan
from ..ops.matrix_products import MATMUL
from ..ops.movement import BROADCAST, reshape, reshape_if_needed, transpose_if_needed
from ..ops.slicing import strided_slice
from ..values.spec import Spec
from ..values.tensor import Tensor

Attributes = dict[str, Any]


class Diagonal(NamedTuple):
    """A value in all lanes, which is zero in lane k except at index ``first + k`` of an axis.

    Attributes:
      value: A tensor of the shape that the value has in one lane: at index k of the axis it has the
        nonzero elements of lane k. Chunks of lanes share it, so it has those of other chunks, too.
      axis: The axis.
      seeds: The lanes of the seed, a matrix with a row for each lane.
      first: The index of the first lane.
    """

    value: Tensor
    axis: int
    seeds: Tensor
    first: int

    def expand(self) -> Tensor:
        """Return the lanes in full."""
        shape = [1] * self.value.ndim
        shape[self.axis] = self.value.shape[self.axis]
        seeds = (
            self.seeds
            if self.seeds.dtype is self.value.dtype
            else cast(self.seeds, self.value.dtype)
        )
        return multiply_no_nan(self.value, reshape(seeds, (seeds.shape[0], *shape)))

    def lanes_of(self, x: Tensor, axis: int) -> Tensor:
        """Return the indices of ``x`` along an axis that belong to the lanes, as the first axis."""
        count = self.seeds.shape[0]
        if count < x.shape[axis]:
            cut = [(0, dim, 1) for dim in x.shape]
            cut[axis] = self.first, self.first + count, 1
            x = strided_slice(x, tuple(cut))
        order = (axis, *(k for k in range(x.ndim) if k != axis))
        return transpose_if_needed(x, order)

    def moved(self, value: Tensor, axis: int) -> Diagonal:
        """Return other values in the same lanes."""
        return self._replace(value=value, axis=axis)


# Elementwise ops that are linear in any of these operands alone.
_LINEAR: dict[str, tuple[int, ...]] = {
    "BroadcastTo": (0,),
    "Cast": (0,),
    "DivNoNan": (0,),
    "DivisorAdjoint": (0,),
    "Identity": (0,),
    "LeakyReluGrad": (0,),
    "Mul": (0, 1),
    "MulNoNan": (0, 1),
    "Neg": (0,),
    "RatioOrZero": (0,),
    "RealDiv": (0,),
    "Relu6Grad": (0,),
    "ReluGrad": (0,),
    "Xdivy": (0,),
}
# Elementwise ops that are linear in all operands together.
_ADDITIVE = {"AddV2", "Sub"}
# Ops on the last axis that are linear in one operand.
_ON_LAST_AXIS: dict[str, int] = {
    "LogSoftmaxGrad": 1,
    "NormalizeGrad": 1,
    "Place": 0,
    "SoftmaxGrad": 1,
}


def diagonal_row(
    op: Op, attributes: Attributes, xs: Sequence[Any], has_lanes: list[bool], out: Spec
) -> Diagonal | Tensor | None:
    """Record a row for all lanes of diagonal operands.

    Args:
      op: The op.
      attributes: Its attributes.
      xs: The operands: tensors, lanes in full, or diagonals.
      has_lanes: Whether the operands have lanes.
      out: The spec of the result in one lane.

    Returns:
      The lanes of the result, or None if there is no rule for these operands.
    """
    at = [k for k, has in enumerate(has_lanes) if has]
    if not all(isinstance(xs[k], Diagonal) for k in at) or not out.is_float:
        return None
    if op.elementwise:
        return _elementwise(op, attributes, xs, at, out)
    if len(at) != 1 and op.name != "MatMulSum":
        return None
    x: Diagonal = xs[at[0]]
    if op.kind == VIEW:
        axis = _reshaped_axis(tuple(x.value.shape), tuple(out.shape), x.axis)
        return None if axis is None else x.moved(reshape(x.value, tuple(out.shape)), axis)
    if op.kind == REDUCTION:
        return _sum(x, attributes["axes"], attributes["keepdims"], op, out)
    if _ON_LAST_AXIS.get(op.name) == at[0] and x.axis < x.value.ndim - (op.name != "Place"):
        value = record(op, _replaced(xs, at), **attributes)
        return x.moved(value, x.axis)
    rule = _RULES.get(op.name)
    return None if rule is None else rule(op, attributes, xs, at, out)


def _replaced(xs: Sequence[Any], at: list[int]) -> tuple[Tensor, ...]:
    """Return the operands, with the values of diagonals."""
    return tuple(x.value if k in at else x for k, x in enumerate(xs))


def _elementwise(
    op: Op, attributes: Attributes, xs: Sequence[Any], at: list[int], out: Spec
) -> Diagonal | None:
    axes = {xs[k].axis + out.rank - xs[k].value.ndim for k in at}
    if len(axes) > 1:
        return None
    (axis,) = axes
    if any(xs[k].value.shape[xs[k].axis] != out.shape[axis] for k in at):
        return None  # broadcast along the axis: lanes are no longer zero elsewhere
    if op.name == "SelectV2":
        is_linear = all(k in at or _is_zero(xs[k]) for k in (1, 2)) and 0 not in at
    elif op.name in _ADDITIVE:
        is_linear = len(at) == len(xs)
    else:
        is_linear = len(at) == 1 and at[0] in _LINEAR.get(op.name, ())
    if not is_linear:
        return None
    if op is BROADCAST:
        attributes = {"shape": tuple(out.shape)}
    x: Diagonal = xs[at[0]]
    return x.moved(record(op, _replaced(xs, at), **attributes), axis)


def _is_zero(x: Tensor) -> bool:
    """Return whether a tensor is the constant 0 of one element."""
    log, row = x._home, x._row
    if not isinstance(log, Log) or not x._spec.single or log.code[row] != LEAF_CODE:
        return False
    return bool(log.columns.state[row] == VALUE and log.columns.cell[row] == 0)


def _reshaped_axis(shape: tuple[int, ...], target: tuple[int, ...], axis: int) -> int | None:
    """Return the axis of the new shape that has the indices of an axis; None if there is none."""
    outer = math.prod(shape[:axis])
    for k, dim in enumerate(target):
        if dim == shape[axis] and math.prod(target[:k]) == outer:
            return k
    return None


def _sum(
    x: Diagonal, axes: tuple[int, ...], keepdims: bool, op: Op, out: Spec
) -> Diagonal | Tensor | None:
    if op.name != "Sum":
        return None
    others = tuple(axis for axis in axes if axis != x.axis)
    if x.axis not in axes:
        axis = x.axis if keepdims else x.axis - sum(axis < x.axis for axis in axes)
        return x.moved(record(op, (x.value,), axes=axes, keepdims=keepdims), axis)
    value = x.lanes_of(x.value, x.axis)
    if others:
        others = tuple(axis + (axis < x.axis) for axis in others)
        value = record(op, (value,), axes=others, keepdims=True)
    return reshape_if_needed(value, (value.shape[0], *out.shape))


def _transpose(
    op: Op, attributes: Attributes, xs: Sequence[Any], at: list[int], out: Spec
) -> Diagonal:
    x: Diagonal = xs[0]
    return x.moved(record(op, (x.value,), **attributes), attributes["perm"].index(x.axis))


def _matmul(
    op: Op, attributes: Attributes, xs: Sequence[Any], at: list[int], out: Spec
) -> Diagonal | Tensor | None:
    (j,) = at
    x: Diagonal = xs[j]
    other = xs[1 - j]
    is_transposed = attributes["tb" if j else "ta"]
    offset = out.rank - x.value.ndim
    if x.axis < x.value.ndim - 2:  # an axis of batches
        return x.moved(record(op, _replaced(xs, at), **attributes), x.axis + offset)
    is_outer = (x.axis == x.value.ndim - 1) == (is_transposed != (j == 1))
    if is_outer:  # an axis of the result: its rows for the first factor, its columns for the second
        value = record(op, _replaced(xs, at), **attributes)
        return x.moved(value, out.rank - 1 if j else out.rank - 2)
    if out.rank != 2 or x.value.ndim != 2 or other.ndim != 2:
        return None
    # The product sums over the axis: each lane has one term, an outer product.
    other_axis = x.axis if attributes["ta"] != attributes["tb"] else 1 - x.axis
    vectors = [x.lanes_of(x.value, x.axis), x.lanes_of(other, other_axis)]
    a, b = reversed(vectors) if j else vectors
    return record(
        MATMUL, (reshape(a, (*a.shape, 1)), reshape(b, (b.shape[0], 1, b.shape[1]))), **_PLAIN
    )


def _matmul_sum(
    op: Op, attributes: Attributes, xs: Sequence[Any], at: list[int], out: Spec
) -> Tensor | None:
    flags = {name: attributes[name] for name in _PLAIN}
    total = None
    if attributes["has_base"]:
        if 0 not in at:
            return None
        total = xs[0].expand()
    for k in range(int(attributes["has_base"]), len(xs), 2):
        factors = [j for j in (0, 1) if k + j in at]
        # A product without lanes belongs to all of them, and none with lanes in both is linear.
        product = _matmul(MATMUL, flags, xs[k : k + 2], factors, out) if len(factors) == 1 else None
        if product is None:
            return None
        lanes = product.expand() if isinstance(product, Diagonal) else product
        total = lanes if total is None else add(total, lanes)
    return total


_PLAIN = {"ta": False, "tb": False}
_RULES: dict[str, Callable[..., Diagonal | Tensor | None]] = {
    "MatMul": _matmul,
    "MatMulSum": _matmul_sum,
    "Transpose": _transpose,
}
