"""Exceptions, with TensorFlow's names, and one of numtape's own."""

from __future__ import annotations

__all__ = [
    "AxisError", "DeviceError", "DtypeError", "InvalidArgumentError", "OpError", "ReplayError",
    "ResourceExhaustedError", "UnimplementedError",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


class OpError(Exception):
    """An op could not be computed. Base of the errors below.

    Attributes:
      message: What went wrong, and what to do.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidArgumentError(OpError):
    """Shapes, dtypes or values that an op does not take."""


class DtypeError(InvalidArgumentError, TypeError):
    """Dtypes that do not go together.

    TensorFlow raises InvalidArgumentError from some functions and TypeError from others, by the
    side on which an operand stands; this one is both.
    """


class AxisError(InvalidArgumentError, ValueError):
    """An axis that a tensor does not have. Both of what TensorFlow raises here and there."""


class UnimplementedError(OpError):
    """A case of an op that numtape does not have yet."""


class ResourceExhaustedError(OpError):
    """A value needs more memory than there is."""


class DeviceError(RuntimeError):
    """The device that ``NUMTAPE_DEVICE`` asks for cannot be used, or a value is on another one."""


class ReplayError(RuntimeError):
    """A replay of a function gave something else than running it (``NUMTAPE_CHECK_REPLAY``)."""
