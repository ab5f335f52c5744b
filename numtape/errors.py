"""Exceptions, with TensorFlow's names, and one of numtape's own."""

from __future__ import annotations

from typing import Any

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND = 0, 1, 2, 3, 4, 5
ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION = 6, 7, 8, 9
ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS = 10, 11, 12, 13, 14, 15
UNAUTHENTICATED = 16

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "AbortedError",
    "AlreadyExistsError",
    "AxisError",
    "CANCELLED",
    "CancelledError",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "DataLossError",
    "DeadlineExceededError",
    "DeviceError",
    "DtypeError",
    "FAILED_PRECONDITION",
    "FailedPreconditionError",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "InternalError",
    "InvalidArgumentError",
    "KernelError",
    "NOT_FOUND",
    "NotFoundError",
    "OK",
    "OUT_OF_RANGE",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfRangeError",
    "PERMISSION_DENIED",
    "PermissionDeniedError",
    "RESOURCE_EXHAUSTED",
    "ReplayError",
    "ResourceExhaustedError",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class OpError(Exception):
    """An op could not be computed. Base of the errors below.

    Made of a message, or as in TensorFlow of (node_def, op, message).

    Attributes:
      message: A description of the error, and a remedy.
      node_def, op: The constructor's arguments, or None.
      error_code: TensorFlow's number for this class.
    """

    error_code = 2

    def __init__(self, *args: Any) -> None:
        if len(args) not in (1, 3, 4):
            raise TypeError(f"{type(self).__name__} takes a message, got {len(args)} arguments.")
        self.node_def, self.op, self.message = args[:3] if len(args) > 1 else (None, None, *args)
        super().__init__(self.message)


class InvalidArgumentError(OpError):
    """Shapes, dtypes or values that an op does not take."""

    error_code = 3


class DtypeError(InvalidArgumentError, TypeError):
    """Dtypes that do not go together.

    TensorFlow raises InvalidArgumentError from some functions and TypeError from others, by the
    side on which an operand stands; this one is both.
    """


class AxisError(InvalidArgumentError, ValueError):
    """An axis that a tensor does not have. Both of what TensorFlow raises here and there."""


class UnimplementedError(OpError):
    """A case of an op that numtape does not have yet."""

    error_code = 12


class ResourceExhaustedError(OpError):
    """A value needs more memory than there is."""

    error_code = 8


class DeviceError(RuntimeError):
    """The device that ``NUMTAPE_DEVICE`` asks for cannot be used, or a value is on another one."""


class KernelError(TypeError):
    """A kernel holds something that cannot be differentiated, or is called with it.

    Attributes:
      construct: The construct that is not supported.
      file, line: Its position.
    """

    def __init__(self, construct: str, file: str = "", line: int = 0, way: str = "") -> None:
        self.construct, self.file, self.line = construct, file, line
        self._construct = construct, file, line, way
        place = f' (File "{file}", line {line})' if file else ""
        super().__init__(f"A kernel cannot have {construct}{place}. {way}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._construct


class ReplayError(RuntimeError):
    """A replay of a function gave something else than running it (``NUMTAPE_CHECK_REPLAY``)."""


# Other classes of TensorFlow's, for programs that raise or catch them.


class AbortedError(OpError):
    """The operation was cancelled."""

    error_code = 10


class AlreadyExistsError(OpError):
    """Something that is to be made is there already."""

    error_code = 6


class CancelledError(OpError):
    """The operation was aborted."""

    error_code = 1


class DataLossError(OpError):
    """Data that cannot be read any more."""

    error_code = 15


class DeadlineExceededError(OpError):
    """Something took too long."""

    error_code = 4


class FailedPreconditionError(OpError):
    """A state that an op does not work in."""

    error_code = 9


class InternalError(OpError):
    """Something within does not hold that should."""

    error_code = 13


class NotFoundError(OpError):
    """Something that is not there."""

    error_code = 5


class OperatorNotAllowedInGraphError(TypeError):
    """TensorFlow's error for Python's `if` on a tensor of a graph. numtape has no graphs."""


class OutOfRangeError(OpError):
    """An iteration past its end."""

    error_code = 11


class PermissionDeniedError(OpError):
    """Something that is not allowed."""

    error_code = 7


class UnauthenticatedError(OpError):
    """Somebody who is not known."""

    error_code = 16


class UnavailableError(OpError):
    """Something that cannot be reached at the moment."""

    error_code = 14


class UnknownError(OpError):
    """An error of no known kind."""

    error_code = 2
