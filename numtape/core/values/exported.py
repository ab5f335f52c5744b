"""The Python side of the buffer protocol of tensors, which ``memoryview`` uses, for example.

The protocol's machine code (`core.native.buffer_protocol`) calls `array_of` and stores the error of
a failed call in `FAILED_EXPORTS`. NumPy tries the protocol first, drops any error, and then calls
``__array__``. That raises the same error again, so nothing is computed twice and no interrupt is
lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .handed import to_read_only

# The last error. One that reached Python code is removed by the next call of `array_of`.
FAILED_EXPORTS: list[BaseException] = []


class NotOnHost(BufferError):
    """The value is on a GPU; ``__array__`` copies it."""


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the value of a tensor as a read-only array, computed if needed."""
    if FAILED_EXPORTS:
        _discard_error(tensor)
    stored = tensor._stored_value()
    if type(stored) is np.ndarray:
        return to_read_only(stored)
    raise NotOnHost("The value is on a GPU, which has no host buffers: np.asarray(x) copies it.")


def take_dropped_error(tensor: Any) -> BaseException | None:
    """Return and clear the error of `array_of` for this tensor, if its caller dropped it."""
    for error in FAILED_EXPORTS[:]:  # at most one, unless another thread adds one
        if _tensor_of_dropped(error) is tensor:
            FAILED_EXPORTS.clear()
            return None if isinstance(error, NotOnHost) else error
    return None


def _discard_error(tensor: Any) -> None:
    """Clear the last error, unless another thread is about to raise it again."""
    for error in FAILED_EXPORTS[:]:
        failed = _tensor_of_dropped(error)
        if failed is None or failed is tensor:
            FAILED_EXPORTS.clear()


def _tensor_of_dropped(error: BaseException) -> Any:
    """Return the tensor that `array_of` failed for; None if the error reached Python code.

    The traceback of an error that reached Python code begins there; the traceback of one that was
    dropped begins with `array_of`.
    """
    tb = error.__traceback__
    if tb is None or tb.tb_frame.f_code is not array_of.__code__:
        return None
    return tb.tb_frame.f_locals["tensor"]
