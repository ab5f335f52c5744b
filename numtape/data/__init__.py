"""``tf.data``: input pipelines that shuffle, batch and map elements. Start with `Dataset`."""

from __future__ import annotations

import typing as _typing

from ..compat.argument_errors import name_methods as _name_methods
from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from .dataset import Dataset
from .options import Options, ThreadingOptions
from .pipeline import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Iterator,
    NumpyIterator,
)
from .structure import DatasetSpec, IteratorSpec

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "ThreadingOptions",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_guard_module(__name__)
_name_methods(
    Dataset,
    "dataset",
    "batch cache concatenate enumerate filter from_generator from_tensor_slices from_tensors map "
    "padded_batch prefetch repeat shuffle skip take window zip",
)
