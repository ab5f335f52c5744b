"""What arguments of a variable say of sharing it among devices, which numtape does not do."""

from __future__ import annotations

import enum
from typing import Any


class VariableSynchronization(enum.Enum):
    """When a variable that several devices share is synchronised. Here each is on one device.

    Example:
      >>> tf.Variable(1.0).synchronization is tf.VariableSynchronization.AUTO
      True
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How values from several devices become one. Here each variable is on one device.

    Example:
      >>> tf.Variable(1.0).aggregation is tf.VariableAggregation.NONE
      True
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def check_policy(enum_type: Any, value: Any, default: Any, argument: str, name: Any) -> Any:
    """An argument of this kind, None for the default.

    Raises:
      ValueError: If it is none of them.
    """
    if value is None:
        return default
    if not isinstance(value, enum_type):
        raise ValueError(f"Invalid variable {argument} mode: {value} for variable: {name}")
    return value
