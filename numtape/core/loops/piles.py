"""Calls of sweeps as kernels of the sweep of a log, which wait for nothing of Python's.

Their stacks lie in piles of their own: see `kernels/cpu/calls.py`, which has all numbers below.
"""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np

from ...errors import ResourceExhaustedError
from ..log.op import Native
from ..settings import after_fork_in_child
from ..values.dtypes import float64
from ..values.memory import address_of, reserved, view
from ..values.spec import Spec
from . import stack
from .deferred import Deferred

T_PILES, MOST_PILES, MOST_WORDS, STALE = 4, 16, 120, 2
P_CALLS, P_RECENT, P_HIGH = 2, 3, 4
AXIS, ARGUMENT, COPIED, DIRECT, CONVERTED = range(5)

TABLE = reserved((T_PILES + 2 * MOST_PILES,), np.int64)
_view = view(TABLE)
_arenas: list[stack.Arena] = []
_lock = threading.Lock()


def _renew() -> None:
    """In a child: another thread may have been at work on a pile."""
    global _lock
    _lock = threading.Lock()
    TABLE[0] = TABLE[T_PILES:] = 0
    _arenas.clear()


after_fork_in_child(_renew)


def tend() -> None:
    """Do what compiled sweeps leave to Python: more piles, and pages of piles that may go."""
    with _lock, suppress(ResourceExhaustedError):
        for k, arena in enumerate(_arenas):
            if _view[T_PILES + 2 * k] == STALE:  # nobody else has it
                _trim(arena)
                _view[T_PILES + 2 * k] = 1
        if len(_arenas) < MOST_PILES and 1 not in TABLE[T_PILES : T_PILES + 2 * len(_arenas) : 2]:
            _add(stack.Arena(stack.SIZE))


def _add(arena: stack.Arena) -> None:
    _header(arena)[0] = arena.end
    at = T_PILES + 2 * len(_arenas)
    _arenas.append(arena)
    _view[at], _view[at + 1] = 1, arena.start
    _view[0] = len(_arenas)


def _header(arena: stack.Arena) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return arena.words(8)


def _trim(arena: stack.Arena) -> None:
    header = _header(arena)
    kept, high = int(header[P_RECENT]), int(header[P_HIGH])
    arena.release(kept, high)
    header[P_CALLS] = header[P_RECENT] = 0
    header[P_HIGH] = kept


def native(
    sweeps: Deferred, kept: bool, limit: int | None, out: Spec, first: int, specs: list[Spec]
) -> Native | None:
    """How a kernel calls the sweeps of a function for a row; None if it cannot.

    Args:
      sweeps: The sweeps, of one result.
      kept: Whether the forward sweep leaves its stack for the reverse one.
      limit: The bytes of stack that a call may take.
      out: What the row is.
      first: How many operands stand before the arguments: 0 of the call's row, 2 of its adjoints'.
      specs: Of all operands.
    """
    program, arguments = sweeps.program, specs[first:]
    many = len(program.parameters) > MOST_WORDS or "address_of(" in program.source
    # A reverse sweep that needs room may not have others' stacks above it.
    if program.grows or many or not program.result or any(not spec.size for spec in (out, *specs)):
        return None
    dtypes = {arguments[j].dtype for j in sweeps.wanted}
    own = dtypes.pop() if len(dtypes) == 1 else float64  # of the row of adjoints
    starts, at = {}, 0
    for j in sweeps.wanted:
        starts[j] = at
        at += arguments[j].size * own.size
    region = 0  # what both sweeps have in front of a stack is in the same places
    words: list[tuple[int, int, int, int, int]] = []
    for kind, j, dtype, axis in program.parameters:
        spec = arguments[j]
        size = np.dtype(dtype or "int64").itemsize
        if kind == "axis":
            words.append((AXIS, spec.shape[axis], 0, 0, 0))
        elif kind == "adjoint" and j in starts and dtype == own.name:
            words.append((DIRECT, starts[j], 0, 0, 0))
        elif kind == "adjoint":
            words.append((CONVERTED, starts.get(j, -1), region, spec.size, size))
        elif kind == "array" and j in program.written:
            words.append((COPIED, j, region, spec.size * size, 0))
        else:
            words.append((ARGUMENT, j, 0, 0, 0))
        if words[-1][0] in (COPIED, CONVERTED):
            region += (spec.size * size + 7) & -8
    tend()
    parameters = (
        address_of(TABLE), sweeps.addresses.forward, sweeps.addresses.reverse, first, len(specs),
        len(words), region, limit or 0, int(kept), out.size, out.dtype.size,
        *(number for word in words for number in word),
    )  # fmt: skip
    name = "calls.reverse" if first else "calls.forward"
    return Native(name, (), parameters, 1, sum(spec.size for spec in (out, *specs)), True)
