"""``tf.ragged``: ragged tensors of lists, ranges, partitions and masks."""

from __future__ import annotations

import typing as _typing

from .compat.names import getter as _getter
from .compat.traceback_filter import guard_module as _guard_module
from .composites.crosses import cross_ragged as cross
from .composites.ragged_creation import (
    boolean_mask,
    constant,
    map_flat_values,
    range,
    row_splits_to_segment_ids,
    segment_ids_to_row_splits,
    stack,
    stack_dynamic_partitions,
)

__all__ = [
    "boolean_mask",
    "constant",
    "cross",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_guard_module(__name__)
