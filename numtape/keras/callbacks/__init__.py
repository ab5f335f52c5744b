"""``tf.keras.callbacks``: hooks into training, evaluation and prediction."""

from __future__ import annotations

import typing as _typing

from ...compat.names import getter as _getter
from .callback import Callback, History, LambdaCallback
from .callback_list import CallbackList
from .monitor import EarlyStopping, LearningRateScheduler, ModelCheckpoint, ReduceLROnPlateau
from .records import CSVLogger, TerminateOnNaN
from .recovery import BackupAndRestore, SwapEMAWeights
from .tensorboard import TensorBoard

__all__ = [
    "BackupAndRestore",
    "CSVLogger",
    "Callback",
    "CallbackList",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "ModelCheckpoint",
    "ReduceLROnPlateau",
    "SwapEMAWeights",
    "TensorBoard",
    "TerminateOnNaN",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
