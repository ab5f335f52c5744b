"""``tf.data``: input pipelines that shuffle, batch and map elements. Start with `Dataset`."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

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
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if _typing.TYPE_CHECKING:
    from . import experimental
    from .files import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
else:
    _missing = _getter(__name__)
    _FILES = ("FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset")

    def __getattr__(name: str) -> _typing.Any:
        """Import datasets of files, and ``experimental``, at their first use."""
        if name == "experimental":
            return _import_module(f"{__name__}.experimental")
        if name in _FILES:
            return getattr(_import_module(f"{__name__}.files"), name)
        return _missing(name)


_guard_module(__name__)
_name_methods(
    Dataset,
    "dataset",
    "batch cache concatenate enumerate filter from_generator from_tensor_slices from_tensors map "
    "padded_batch prefetch repeat shuffle skip take window zip",
)
