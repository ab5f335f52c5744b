"""``tf.train``: save and restore the values of variables; examples. Start with `Checkpoint`."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from .averages import ExponentialMovingAverage
from .checkpoint import Checkpoint
from .manager import CheckpointManager
from .options import CheckpointOptions
from .reading import list_variables, load_checkpoint, load_variable
from .state import latest_checkpoint

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if _typing.TYPE_CHECKING:
    from ..io.messages import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )
else:
    _missing = _getter(__name__)
    _MESSAGES = (
        *("BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features"),
        *("FloatList", "Int64List", "SequenceExample"),
    )

    def __getattr__(name: str) -> _typing.Any:
        """Import the messages at their first use."""
        if name in _MESSAGES:
            from ..io import messages

            return getattr(messages, name)
        return _missing(name)


_guard_module(__name__)
