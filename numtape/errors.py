"""Exceptions, with TensorFlow's names, and numtape's own."""

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
    "CompositeError",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "DataLossError",
    "DeadlineExceededError",
    "DeviceError",
    "DistributedError",
    "DistributedTimeoutError",
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
    """Base class of the errors below: an op could not be computed.

    The arguments are a message, or as in TensorFlow (node_def, op, message).

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
    """An op does not accept these shapes, dtypes or values."""

    error_code = 3


class DtypeError(InvalidArgumentError, TypeError):
    """The dtypes of operands are incompatible.

    TensorFlow raises an InvalidArgumentError or a TypeError, depending on the function and on the
    operand's side; this class is both.
    """


class AxisError(InvalidArgumentError, ValueError):
    """A tensor does not have the axis. This class is both of the errors that TensorFlow raises."""


class UnimplementedError(OpError):
    """numtape does not implement this case of an op."""

    error_code = 12


class CompositeError(UnimplementedError, TypeError):
    """A function does not support string, sparse or ragged tensors."""


class ResourceExhaustedError(OpError):
    """A value needs more memory than is available."""

    error_code = 8


class DeviceError(RuntimeError):
    """The device of ``NUMTAPE_DEVICE`` is not available, or a value is on another device."""


class DistributedError(RuntimeError):
    """The processes of a job do not agree, or one of them has ended. See `numtape.distribute`."""


class DistributedTimeoutError(DistributedError, TimeoutError):
    """A collective was not complete within ``NUMTAPE_DISTRIBUTED_TIMEOUT``."""


class KernelError(TypeError):
    """A kernel contains a construct, or is called with a value, that is not supported.

    Attributes:
      construct: The construct that is not supported.
      file, line: The position of the construct.
    """

    def __init__(self, construct: str, file: str = "", line: int = 0, way: str = "") -> None:
        self.construct, self.file, self.line = construct, file, line
        self._construct = construct, file, line, way
        location = f' (File "{file}", line {line})' if file else ""
        super().__init__(f"A kernel cannot have {construct}{location}. {way}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._construct


class ReplayError(RuntimeError):
    """A replay of a function differs from running it (with ``NUMTAPE_CHECK_REPLAY``)."""


# Other classes of TensorFlow's, for programs that raise or catch them.


class AbortedError(OpError):
    """The operation was cancelled."""

    error_code = 10


class AlreadyExistsError(OpError):
    """The object to create already exists."""

    error_code = 6


class CancelledError(OpError):
    """The operation was aborted."""

    error_code = 1


class DataLossError(OpError):
    """Data are lost or corrupted."""

    error_code = 15


class DeadlineExceededError(OpError):
    """The operation took too long."""

    error_code = 4


class FailedPreconditionError(OpError):
    """The state does not permit the operation."""

    error_code = 9


class InternalError(OpError):
    """An internal invariant is violated."""

    error_code = 13


class NotFoundError(OpError):
    """The requested object does not exist."""

    error_code = 5


class OperatorNotAllowedInGraphError(TypeError):
    """TensorFlow's error for a Python `if` on a tensor of a graph. numtape has no graphs."""


class OutOfRangeError(OpError):
    """An iteration continues past its end."""

    error_code = 11


class PermissionDeniedError(OpError):
    """The caller does not have permission for the operation."""

    error_code = 7


class UnauthenticatedError(OpError):
    """The caller is not authenticated."""

    error_code = 16


class UnavailableError(OpError):
    """The service is currently unavailable."""

    error_code = 14


class UnknownError(OpError):
    """The kind of error is unknown."""

    error_code = 2
