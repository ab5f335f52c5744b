"""Policies for sharing a variable among devices. They have no effect in numtape."""

from __future__ import annotations

import enum
from typing import Any


class VariableSynchronization(enum.Enum):
    """When a variable on several devices is synchronised. Here each variable is on one device.

    Example:
      >>> tf.Variable(1.0).synchronization is tf.VariableSynchronization.AUTO
      True
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How values from several devices are combined. Here each variable is on one device.

    Example:
      >>> tf.Variable(1.0).aggregation is tf.VariableAggregation.NONE
      True
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def check_policy(
    enum_type: type[enum.Enum], value: object, default: enum.Enum, argument: str, name: str | None
) -> Any:
    """Check that an argument is a member of an enum. None becomes the default.

    Raises:
      ValueError: If it is not a member.
    """
    if value is None:
        return default
    if not isinstance(value, enum_type):
        raise ValueError(f"Invalid variable {argument} mode: {value} for variable: {name}")
    return value
