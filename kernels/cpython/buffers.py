"""The buffer protocol of tensors; see `numtape.core.native.buffer_protocol`."""

from __future__ import annotations

from ..jit import POINTERS, call1, call2, call3, call4, jit
from .words import (
    ALLOCATE,
    ARRAY_OF,
    CALL_ONE_ARG,
    CLEAR_ERROR,
    DECREF,
    FAILED_EXPORTS,
    FREE,
    GET_BUFFER,
    LIST_APPEND,
    NORMALIZE_ERROR,
    SET_ERROR,
    SET_SLICE,
    SET_TRACEBACK,
    TAKE_ERROR,
)

AT_OWNER = 8  # the offset of the owner in a Py_buffer
END = (1 << 63) - 1  # of any list

_at = POINTERS["int64"]


@jit
def get_buffer(process: int, value: int, view: int, flags: int) -> int:
    """Fill a buffer with the memory of a tensor's array. Returns 0, or -1 with an exception."""
    p = _at(process)
    array = call2(p[CALL_ONE_ARG], p[ARRAY_OF], value)
    if array != 0:
        status = call3(p[GET_BUFFER], array, view, flags)
        call1(p[DECREF], array)
        return -1 if status << 32 != 0 else 0
    error = call1(p[ALLOCATE], 24)  # the class, the exception and its traceback
    if error != 0:
        call3(p[TAKE_ERROR], error, error + 8, error + 16)
        call3(p[NORMALIZE_ERROR], error, error + 8, error + 16)
        kind, exception, traceback = _at(error)[0], _at(error)[1], _at(error)[2]
        call1(p[FREE], error)
        if traceback != 0:
            call2(p[SET_TRACEBACK], exception, traceback)
        call4(p[SET_SLICE], p[FAILED_EXPORTS], 0, END, 0)
        call2(p[LIST_APPEND], p[FAILED_EXPORTS], exception)
        call1(p[CLEAR_ERROR], 0)
        call3(p[SET_ERROR], kind, exception, traceback)
    _at(view + AT_OWNER)[0] = 0
    return -1
