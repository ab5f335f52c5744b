"""What tensors give to who asks by the buffer protocol, such as ``memoryview``.

The protocol's machine code (`core.native.buffer_protocol`) calls `array_of`, and puts the error of a call
that failed into `FAILED`. NumPy asks by the protocol first, drops the error, whatever it is, and
then calls ``__array__``. That raises the same error again, so that nothing is computed twice and no
interrupt is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .handed import read_only

# The last error. One that came up to Python's code goes when the next array is asked for.
FAILED: list[BaseException] = []


class NotOnHost(BufferError):
    """The value is on a GPU; ``__array__`` copies it."""


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """The value of a tensor, computed now if need be; nobody can write to it."""
    if FAILED:
        _forget(tensor)
    stored = tensor._stored()
    if type(stored) is np.ndarray:
        return read_only(stored)
    raise NotOnHost("The value is on a GPU, where there are no buffers: np.asarray(x) copies it.")


def dropped_for(tensor: Any) -> BaseException | None:
    """The error of `array_of` for this tensor, if who asked for the buffer dropped it."""
    for error in FAILED[:]:  # one, unless another thread is at it
        if _asked_for(error) is tensor:
            FAILED.clear()
            return None if isinstance(error, NotOnHost) else error
    return None


def _forget(tensor: Any) -> None:
    """Forget the last error, unless it is one that another thread is about to raise again."""
    for error in FAILED[:]:
        failed = _asked_for(error)
        if failed is None or failed is tensor:
            FAILED.clear()


def _asked_for(error: BaseException) -> Any:
    """The tensor that `array_of` failed for; None if the error came up to Python's code.

    There its traceback begins then; that of one that was dropped begins with `array_of`.
    """
    trace = error.__traceback__
    if trace is None or trace.tb_frame.f_code is not array_of.__code__:
        return None
    return trace.tb_frame.f_locals["tensor"]
