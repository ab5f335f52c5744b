"""`groups_of`: how each row of a plan was computed, and its share of its group's time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.log.op import CODES
from ..core.plan.plan import (
    CALL_FIXED,
    CALL_VARIADIC,
    COPY_BYTES,
    FUSED,
    G_BODY,
    G_CODE_END,
    G_KIND,
    G_ROWS,
    G_ROWS_END,
    LANES_GROUP,
    SHARED,
    Plan,
)
from ..core.values.spec import SPECS
from ..kernels.passes.layout import CALL_COST

if TYPE_CHECKING:
    from ..core.log.log import Log

LOOP = "fused loop"
LANES = "lane kernel"
ARRAY = "array kernel"
HOST = "NumPy"
COPY = "no work"


class Row(NamedTuple):
    """A computed row.

    Attributes:
      row: The row's index.
      op: The op's name.
      kind: The kind of kernel that computed it.
      part: The row's share of its group's time, from 0 to 1.
      size: Bytes of the row's buffer; 0 if it has none.
      elements: The number of elements.
      dtype: The name of the dtype.
    """

    row: int
    op: str
    kind: str
    part: float
    size: int
    elements: int
    dtype: str


def groups_of(log: Log, plan: Plan) -> list[list[Row]]:
    """Return the rows of each group of a plan.

    Only a group as a whole is timed. Its time is divided in proportion to the rows' elements, plus
    a constant for each kernel call.
    """
    buffers = {row: spec.size * spec.dtype.size for row, spec in plan.buffers}
    order = plan.arrays["order"].tolist()
    groups = []
    for g, group in enumerate(plan.arrays["groups"].tolist()):
        rows = order[group[G_ROWS] : group[G_ROWS_END]]
        specs = [SPECS.specs[log.spec[row]] for row in rows]
        weights = [spec.size + CALL_COST for spec in specs]
        total_weight = sum(weights)
        groups.append(
            [
                Row(
                    row,
                    CODES.entries[log.code[row]][0].name,
                    kind,
                    weight / total_weight,
                    buffers.get(row, 0),
                    spec.size,
                    spec.dtype.name,
                )
                for row, spec, kind, weight in zip(
                    rows, specs, _kernel_kinds(plan, g, group, len(rows)), weights, strict=True
                )
            ]
        )
    return groups


def _kernel_kinds(plan: Plan, g: int, group: list[int], count: int) -> list[str]:
    """Return the kind of kernel that computes each row of a group."""
    kind = group[G_KIND]
    if kind > LANES_GROUP:
        is_numpy_group = g in plan.numpy_groups and g not in plan.kernel_first
        return [COPY if kind == SHARED else HOST if is_numpy_group else ARRAY] * count
    kinds = []
    end = -1  # end of the steps that the last fused loop replaces
    steps = plan.arrays["program"][group[G_BODY] : group[G_CODE_END]].tolist()
    for k, (kernel, _, place_count, replaced_count, _) in enumerate(steps):
        if kernel == FUSED:
            end = k + place_count + replaced_count
        elif kernel == COPY_BYTES:
            kinds.append(COPY)
        elif kernel in (CALL_FIXED, CALL_VARIADIC):
            kinds.append(ARRAY)
        elif kernel > COPY_BYTES:
            kinds.append(LOOP if k <= end else LANES)
    assert len(kinds) == count
    return kinds
