"""Calls of sweeps as kernels of the sweep of a log, which wait for nothing of Python's.

Their stacks lie in piles of their own: see `kernels/cpu/calls.py`, which has all numbers below.
"""

from __future__ import annotations

import math
import threading
from contextlib import suppress

import numpy as np

from ...errors import ResourceExhaustedError
from ..log.op import Native
from ..settings import after_fork_in_child
from ..values.dtypes import float64
from ..values.memory import address_of, reserve_zeros, view
from ..values.spec import Spec
from . import stack
from .deferred import Deferred
from .outs import Out, places, words_of
from .program import Program

T_PILES, MOST_PILES, MOST_WORDS, STALE = 4, 16, 120, 2
P_CALLS, P_RECENT, P_HIGH = 2, 3, 4
AXIS, ARGUMENT, COPIED, DIRECT, CONVERTED = range(5)
NUMBER, LOCAL, GIVEN = range(3)
TRUTH, BITS8, BITS16, BITS32, BITS64, SINGLE, DOUBLE, UNSIGNED16, UNSIGNED32 = range(9)
# A bool is read as a uint8 is, and the bits of a uint64 are kept as those of an int64.
_DTYPES = {
    "bool": TRUTH,
    "int8": BITS8,
    "int16": BITS16,
    "int32": BITS32,
    "int64": BITS64,
    "float32": SINGLE,
    "float64": DOUBLE,
    "uint8": TRUTH,
    "uint16": UNSIGNED16,
    "uint32": UNSIGNED32,
    "uint64": BITS64,
}

TABLE = reserve_zeros((T_PILES + 2 * MOST_PILES,), np.int64)
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
    recent, high = int(header[P_RECENT]), int(header[P_HIGH])
    arena.release(recent, high)
    header[P_CALLS] = header[P_RECENT] = 0
    header[P_HIGH] = recent


Results = tuple[tuple[str, tuple[int, ...]], ...]  # dtype and shape of each


def native(
    sweeps: Deferred,
    keeps_stack: bool,
    limit: int | None,
    out: Spec,
    first: int,
    specs: list[Spec],
    results: Results,
) -> Native | None:
    """How a kernel calls the sweeps of a function for a row; None if it cannot.

    Args:
      sweeps: The sweeps.
      kept: Whether the forward sweep leaves its stack for the reverse one.
      limit: The bytes of stack that a call may take.
      out: What the row is.
      first: How many operands stand before the arguments: 0 of the call's row, 2 of its adjoints'.
      specs: Of all operands.
      results: What the function returned when the row was recorded.
    """
    program, arguments = sweeps.program, specs[first:]
    left: list[Out] = [] if program.result else program.outputs  # on the stack, and in arguments
    many = len(program.parameters) + len(left) > MOST_WORDS
    if many or any(not spec.size for spec in (out, *specs)) or not _has_results(program, results):
        return None
    dtypes = {arguments[j].dtype for j in sweeps.argnums}
    own = dtypes.pop() if len(dtypes) == 1 else float64  # of the row of adjoints
    starts, at = {}, 0
    for j in sweeps.argnums:
        starts[j] = at
        at += arguments[j].size * own.size
    region = 0  # what both sweeps have in front of a stack is in the same places
    noted = "address_of(" in program.source  # the forward sweep says where arrays lie
    words: list[tuple[int, int, int, int, int]] = []
    for kind, j, dtype, axis in program.parameters:
        spec = arguments[j]
        size = np.dtype(dtype or "int64").itemsize
        if kind == "axis":
            words.append((AXIS, spec.shape[axis], 0, 0, 0))
        elif kind == "adjoint" and j in starts and dtype == own.name and not noted:
            words.append((DIRECT, starts[j], 0, 0, 0))
        elif kind == "adjoint":
            words.append((CONVERTED, starts.get(j, -1), region, spec.size, size))
        elif kind == "array" and (noted or j in program.written):
            words.append((COPIED, j, region, spec.size * size, 0))
        else:
            words.append((ARGUMENT, j, 0, 0, 0))
        if words[-1][0] in (COPIED, CONVERTED):
            region += (spec.size * size + 7) & -8
    packed = _result_rows(sweeps, results) if left else []
    # A reverse sweep that needs room may not have others' stacks above it.
    waits = keeps_stack and not program.grows
    tend()
    parameters = (
        address_of(TABLE),
        sweeps.addresses.forward,
        sweeps.addresses.reverse,
        first,
        len(specs),
        len(words),
        region,
        limit or 0,
        int(waits),
        out.size,
        out.dtype.size,
        len(packed),
        words_of(left),
        len(left),
        *(number for numbers in (*words, *packed) for number in numbers),
    )
    name = "calls.reverse" if first else "calls.forward"
    return Native(name, (), parameters, 1, sum(spec.size for spec in (out, *specs)), True)


def _has_results(program: Program, results: Results) -> bool:
    """Whether sweeps give results of the dtypes and axes that the function returned."""
    if program.result:
        return results == ((program.result, ()),)
    outputs = [program.outputs[place] for place in places(program.form)]
    return [(out.dtype, max(out.ndim, 0)) for out in outputs] == [
        (dtype, len(shape)) for dtype, shape in results
    ]


def _result_rows(sweeps: Deferred, results: Results) -> list[tuple[int, ...]]:
    """What `calls` has to know of each result."""
    rows: list[tuple[int, ...]] = []
    for place, (dtype, shape) in zip(places(sweeps.program.form), results, strict=True):
        out = sweeps.program.outputs[place]
        kind, where, adjoint = LOCAL, out.word, 0
        if out.argument >= 0:
            kind, where = GIVEN, sweeps.place("array", out.argument)
            adjoint = sweeps.place("adjoint", out.argument) if out.active else -1
        elif out.ndim < 0:
            kind, adjoint = NUMBER, place
        axes = (*shape, 0, 0, 0)[:3]
        rows.append(
            (
                kind,
                where,
                adjoint if out.active else -1,
                _DTYPES[dtype],
                math.prod(shape),
                len(shape),
                *axes,
            )
        )
    return rows
