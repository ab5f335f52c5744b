"""``tf.keras.backend``: Keras's global settings, `clear_session`, and questions about dtypes."""

from __future__ import annotations

import typing as _typing
from collections import Counter as _Counter
from typing import TYPE_CHECKING

from ..compat.names import getter as _getter
from .config import (
    backend,
    epsilon,
    floatx,
    image_data_format,
    set_epsilon,
    set_floatx,
    set_image_data_format,
)
from .optimizers.optimizer import reset_names as _reset_optimizer_names
from .registry import keras_dtype as _keras_dtype
from .symbolic import KerasTensor as _KerasTensor, reset_names as _reset_names

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike

__all__ = [
    "backend",
    "clear_session",
    "epsilon",
    "floatx",
    "get_uid",
    "image_data_format",
    "is_float_dtype",
    "is_int_dtype",
    "is_keras_tensor",
    "result_type",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
    "standardize_dtype",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


def clear_session(free_memory: bool = True) -> None:
    """Reset the numbering of automatic layer and metric names.

    Models and variables are Python objects: they are freed with their last reference.

    Args:
      free_memory: Whether to run the cyclic garbage collector.

    Example:
      >>> tf.keras.backend.clear_session()
      >>> tf.keras.metrics.Precision().name
      'precision'
    """
    _reset_names()
    _reset_optimizer_names()
    _uids.clear()
    if free_memory:
        import gc

        gc.collect()


_uids: _Counter[str] = _Counter()


def get_uid(prefix: str = "") -> int:
    """Return how often the function was called with a prefix since `clear_session`.

    Args:
      prefix: A string.

    Returns:
      An int from 1.

    Example:
      >>> tf.keras.backend.clear_session()
      >>> tf.keras.backend.get_uid("dense"), tf.keras.backend.get_uid("dense")
      (1, 2)
    """
    _uids[prefix] += 1
    return _uids[prefix]


def is_keras_tensor(x: object) -> bool:
    """Return whether a value is a symbolic tensor.

    Args:
      x: A value.

    Returns:
      A bool.

    Example:
      >>> tf.keras.backend.is_keras_tensor(tf.keras.Input((3,)))
      True
    """
    return isinstance(x, _KerasTensor)


def standardize_dtype(dtype: DTypeLike | None) -> str:
    """Return the name of a dtype.

    Args:
      dtype: A dtype, a name or a Python type; None for `floatx`.

    Returns:
      A string.

    Raises:
      ValueError: If the dtype does not exist.

    Example:
      >>> tf.keras.backend.standardize_dtype(np.float16), tf.keras.backend.standardize_dtype(int)
      ('float16', 'int64')
    """
    try:
        return _keras_dtype(dtype).name
    except TypeError as error:
        raise ValueError(f"Invalid dtype: {dtype}") from error


def is_float_dtype(dtype: DTypeLike) -> bool:
    """Return whether a dtype is a floating-point one.

    Args:
      dtype: A dtype or its name.

    Returns:
      A bool.

    Raises:
      TypeError: If the dtype does not exist.

    Example:
      >>> tf.keras.backend.is_float_dtype("bfloat16")
      True
    """
    return _keras_dtype(dtype).is_floating


def is_int_dtype(dtype: DTypeLike) -> bool:
    """Return whether a dtype is an integer one.

    Args:
      dtype: A dtype or its name.

    Returns:
      A bool.

    Raises:
      TypeError: If the dtype does not exist.

    Example:
      >>> tf.keras.backend.is_int_dtype("uint8")
      True
    """
    return _keras_dtype(dtype).is_integer


def result_type(*dtypes: DTypeLike) -> str:
    """Return the dtype of operations on operands of several dtypes.

    Args:
      *dtypes: Dtypes, names, or ``int`` and ``float`` for Python numbers; None is `floatx`.

    Returns:
      A string.

    Raises:
      ValueError: If a dtype does not exist.

    Example:
      >>> tf.keras.backend.result_type("int32", "float16"), tf.keras.backend.result_type(int)
      ('float16', 'int32')
    """
    from .ops.define import result_type as promote

    names = [
        x.__name__ if x in (int, float) and isinstance(x, type) else standardize_dtype(x)
        for x in dtypes
    ]
    return promote(*names).name if names else floatx()
