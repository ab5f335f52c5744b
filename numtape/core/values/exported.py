"""What tensors give to who asks by the buffer protocol, such as ``memoryview``.

The protocol's machine code (`core.native.buffer_protocol`) calls `array_of`, and puts the error of a call
that failed into `FAILED_EXPORTS`. NumPy asks by the protocol first, drops the error, whatever it is, and
then calls ``__array__``. That raises the same error again, so that nothing is computed twice and no
interrupt is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .handed import to_read_only

# The last error. One that came up to Python's code goes when the next array is asked for.
FAILED_EXPORTS: list[BaseException] = []


class NotOnHost(BufferError):
    """The value is on a GPU; ``__array__`` copies it."""


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """The value of a tensor, computed now if need be; nobody can write to it."""
    if FAILED_EXPORTS:
        _discard_error(tensor)
    stored = tensor._stored_value()
    if type(stored) is np.ndarray:
        return to_read_only(stored)
    raise NotOnHost("The value is on a GPU, where there are no buffers: np.asarray(x) copies it.")


def take_dropped_error(tensor: Any) -> BaseException | None:
    """The error of `array_of` for this tensor, if who asked for the buffer dropped it."""
    for error in FAILED_EXPORTS[:]:  # one, unless another thread is at it
        if _tensor_of_dropped(error) is tensor:
            FAILED_EXPORTS.clear()
            return None if isinstance(error, NotOnHost) else error
    return None


def _discard_error(tensor: Any) -> None:
    """Forget the last error, unless it is one that another thread is about to raise again."""
    for error in FAILED_EXPORTS[:]:
        failed = _tensor_of_dropped(error)
        if failed is None or failed is tensor:
            FAILED_EXPORTS.clear()


def _tensor_of_dropped(error: BaseException) -> Any:
    """The tensor that `array_of` failed for; None if the error came up to Python's code.

    There its traceback begins then; that of one that was dropped begins with `array_of`.
    """
    tb = error.__traceback__
    if tb is None or tb.tb_frame.f_code is not array_of.__code__:
        return None
    return tb.tb_frame.f_locals["tensor"]
