"""Sparse gradients: the adjoints of `gather`, as slices instead of their sum.

The adjoint of a gather along the first axis is one row, which adds slices up by index. If the whole
adjoint of a source is such a row, or a sum of several, the result consists of the row's operands.
The row itself is not used, so it is never computed.
"""

from __future__ import annotations

import numpy as np

from ..log.as_tensor import from_owned_array
from ..log.log import LEAF_CODE, Log
from ..log.op import CODES
from ..ops.elementwise import add, cast
from ..ops.indexing import SCATTER_ADD
from ..ops.joining import concat
from ..ops.movement import identity, reshape_if_needed
from ..values.dtypes import int64
from ..values.indexed_slices import IndexedSlices
from ..values.spec import SPECS
from ..values.tensor import Tensor

SUMS = SCATTER_ADD, add.op  # `slices_of` returns None for rows of other ops


def slices_of(log: Log, total: Tensor, first: int) -> IndexedSlices | None:
    """Return the slices that a source's adjoint adds up, or None if it adds up anything else.

    Adjoint rows begin at ``first``.
    """
    if not total._spec.rank:
        return None
    parts: list[int] = []
    pending = [total._row]
    while pending:
        row = pending.pop()  # the last summand first, because it usually decides
        if row < first:
            return None
        op, attributes = CODES.entries[log.code[row]]
        if op is SCATTER_ADD and attributes["axis"] == 0:
            parts.append(row)
        elif op is add.op:
            a, b = log.a[row], log.b[row]
            if SPECS.specs[log.spec[a]] is not SPECS.specs[log.spec[b]]:
                return None
            pending += [a, b]
        else:
            return None
    parts.reverse()
    shape = tuple(total.shape)
    pairs = [_slices_of_row(log, row, shape[1:]) for row in parts]
    values, indices = [x for x, _ in pairs], [x for _, x in pairs]
    if len(pairs) > 1:
        if len({x.dtype for x in indices}) > 1:
            indices = [cast(x, int64) for x in indices]
        values, indices = [concat(values, 0)], [concat(indices, 0)]
    return IndexedSlices(values[0], indices[0], from_owned_array(np.array(shape, np.int32)))


def _slices_of_row(log: Log, row: int, slice_shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    values, indices = (
        log.tensor(operand, SPECS.specs[log.spec[operand]]) for operand in (log.a[row], log.b[row])
    )
    count = indices._spec.size
    values = reshape_if_needed(values, (count, *slice_shape))
    if values._home is log and log.code[values._row] == LEAF_CODE:
        values = identity(values)  # other tensors may share this constant
    return values, reshape_if_needed(indices, (count,))
