"""Copies of large arrays: in memory that is used again, made by threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import settings
from ..values.memory import LEAST, Array
from .buffers import POOL
from .workers import share

MANY = 1 << 21  # bytes that are worth a thread: some 0.2 ms, where waking one takes 0.02


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that nobody else has, with any contents."""
    size = math.prod(shape) * dtype.itemsize
    if size < LEAST or dtype.hasobject:
        return np.empty(shape, dtype)
    found = POOL.lent(size, shape, dtype)
    POOL.swept()  # a program that only copies lets go of memory as well
    return found


def shared(work: Callable[[], None], out: Array) -> None:
    """Have threads do work on ``out``, of which each does as much as is left to do."""
    threads = min(settings.threads(), out.nbytes // MANY)
    if threads > 1 and out.dtype.kind != "O":
        share([work] * threads, (work, out), [])
    else:
        work()
