"""Stacks of forward sweeps that wait for a later reverse sweep, and native rows of kernels.

Many stacks share an arena, as a *pile*. Each waiting stack has a number, by which the reverse sweep
finds it. It is released when no row refers to it. Start with `Deferred` and `native`.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import threading
from collections import deque
from contextlib import suppress
from functools import cached_property, partial
from weakref import ref

import numpy as np

from ....errors import ResourceExhaustedError
from ....kernels.cpu.call_layout import (
    ARGUMENT,
    AXIS,
    BITS8,
    BITS16,
    BITS32,
    BITS64,
    CONVERTED,
    COPIED,
    DIRECT,
    DOUBLE,
    FREE,
    GIVEN,
    LOCAL,
    MAX_PILES,
    MAX_WORDS,
    NUMBER,
    P_CALLS,
    P_END,
    P_HIGH,
    P_RECENT,
    SINGLE,
    STALE,
    T_COUNT,
    T_PILES,
    TRUTH,
    UNSIGNED16,
    UNSIGNED32,
)
from ...log.op import Native
from ...settings import after_fork_in_child
from ...values.dtypes import float64
from ...values.memory import Array, address_of, array_at, reserve_zeros, view
from ...values.spec import Spec
from ..emit.results import Out, places, words_of
from ..emit.text import INDEX, LINES, NO_ROOM
from ..program import LoopProgram
from . import stack
from .compiled_sweeps import compile_sweeps
from .invoke import raise_status

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
MAX_WAITING_STACKS = 1024  # stacks that only a row's number refers to
FEW = 64  # piles with fewer stacks are not checked for released ones


class RemainingStack:
    """The stack that a forward sweep left.

    Attributes:
      number: Its number.
      pile, top: The pile that holds it, and its end address there.
      done: Whether the reverse sweep has consumed it.
      arrays: Adjoints, and copies of written arguments, by parameter slot.
      addresses: The addresses of arguments, if the forward sweep may have stored them.
    """

    __slots__ = ("__weakref__", "addresses", "arrays", "done", "number", "pile", "top")

    def __init__(
        self, pile: Pile, top: int, arrays: dict[int, Array], addresses: list[int]
    ) -> None:
        self.number, self.done = next(_stack_numbers), False
        self.pile, self.top, self.arrays, self.addresses = pile, top, arrays, addresses

    def wait(self) -> None:
        """Keep the stack for the reverse sweep although no other object refers to it."""
        _waiting.append(self)


class Pile:
    """Consecutive stacks in an arena.

    Attributes:
      arena: The arena.
      stacks: The end address and owner of each stack, from the bottom.
    """

    def __init__(self) -> None:
        self.arena = stack.Arena(stack.SIZE)
        self.stacks: list[tuple[int, ref[RemainingStack]]] = []

    def top(self) -> int:
        """Return where the next stack begins."""
        stacks = self.stacks
        while stacks and _is_released(stacks[-1][1]):
            stacks.pop()
        return stacks[-1][0] if stacks else self.arena.start

    def is_full(self) -> bool:
        """Whether it exceeds the size limit, or a quarter of its stacks are released."""
        if self.top() - self.arena.start > stack.MAX_KEPT_SIZE:
            return True
        count = len(self.stacks)
        if count < FEW or count & (count - 1):  # checked at powers of two only
            return False
        return 4 * sum(_is_released(stack_left) for _, stack_left in self.stacks) > count

    def record_used_size(self, top: int) -> None:
        """Record the used size, and release pages that have not been needed for long."""
        arena, size = self.arena, top - self.arena.start
        arena.recent = max(arena.recent, size)
        arena.calls += 1
        if arena.calls > stack.CALLS_BEFORE_TRIM or size > stack.MAX_KEPT_SIZE:
            arena.trim()


def _is_released(reference: ref[RemainingStack]) -> bool:
    stack_left = reference()
    return stack_left is None or stack_left.done


_stack_numbers = itertools.count(1)
_stacks_left: dict[int, ref[RemainingStack]] = {}
_waiting: deque[RemainingStack] = deque(maxlen=MAX_WAITING_STACKS)
_free_piles: deque[Pile] = deque(maxlen=stack.MAX_WAITING)


def _take_pile() -> Pile:
    """Return a pile for exclusive use. A full pile lives as long as its stacks."""
    while True:
        try:
            pile = _free_piles.pop()
        except IndexError:
            return Pile()
        if not pile.is_full():
            return pile
        _waiting.clear()
        if not pile.is_full():
            return pile


class Deferred:
    """Both sweeps of a function, in separate calls, for arguments of given kinds.

    Args:
      program: The sweeps.
      argnums: The numbers of the arguments whose adjoints are returned.
      fastmath: Whether to compile the forward sweep with Numba's option of this name.
      limit: The bytes of stack that a call may take; None for the rest of the arena.
    """

    def __init__(
        self, program: LoopProgram, argnums: tuple[int, ...], fastmath: bool, limit: int | None
    ) -> None:
        self.program, self.argnums, self._limit = program, argnums, limit
        self.addresses = compile_sweeps(program, fastmath)
        self._forward = _FUNCTION(self.addresses.forward)
        self._reverse = _FUNCTION(self.addresses.reverse)
        self._written = frozenset(program.written)
        self._has_several_results = not program.result

    def forward(self, xs: list[Array]) -> tuple[list[Array], RemainingStack | None]:
        """Run the forward sweep.

        Args:
          xs: The arguments as contiguous arrays, numbers as 0-d arrays. They are not changed.

        Returns:
          A copy of each result of the program, and the remaining stack. If the sweep fails in
          another way than below, the list is empty and the stack None.

        Raises:
          ResourceExhaustedError: If the stack is full.
          IndexError: If an index is out of bounds.
        """
        pile = _take_pile()
        try:
            return self._sweep_forward(pile, xs)
        finally:
            _free_piles.append(pile)

    def _sweep_forward(
        self, pile: Pile, xs: list[Array]
    ) -> tuple[list[Array], RemainingStack | None]:
        """Run the forward sweep on a pile."""
        arrays, addresses = self._create_arrays(xs)
        result = np.zeros(2)
        top = start = pile.top()
        try:
            end = pile.arena.end
            if self._limit is not None:
                end = min(end, start + self._limit)
            result_address = address_of(result)
            block = np.array(
                [*self._argument_words(xs, arrays), start, end, result_address, result_address + 8],
                np.int64,
            )
            status = self._forward(address_of(block))
            if status & ((1 << LINES) - 1) == NO_ROOM:
                top = end
                raise_status(self.program, status, end - start)
            if status & ((1 << LINES) - 1) == INDEX:  # Numba's version may not check indices
                raise_status(self.program, status, 0)
            if status:
                return [], None
            top = int(result[1:].view(np.int64)[0])
            stack_left = RemainingStack(pile, top, arrays, addresses)
            pile.stacks.append((top, ref(stack_left)))
            _stacks_left[stack_left.number] = ref(
                stack_left, partial(_stacks_left.pop, stack_left.number)
            )
            if self._has_several_results:
                return [
                    self._copy_result(out, stack_left, xs) for out in self.program.outputs
                ], stack_left
            return [np.array(result[0], self.program.result)], stack_left
        finally:
            pile.record_used_size(top)

    def run_both(self, xs: list[Array], seeds: list[Array]) -> list[Array]:
        """Run both sweeps, and return the adjoints of the arguments ``argnums``.

        The pile is reserved in between, because the reverse sweep may need stack space, too.
        """
        pile = _take_pile()
        try:
            _, stack_left = self._sweep_forward(pile, xs)
            assert stack_left is not None  # it succeeded before
            del _stacks_left[stack_left.number]
            return self._run_reverse(stack_left, xs, seeds)
        finally:
            _free_piles.append(pile)

    def reverse(self, xs: list[Array], number: int, seeds: list[Array]) -> list[Array] | None:
        """Return the adjoints of the arguments ``argnums``; None if the stack is gone.

        Args:
          xs: As for the forward sweep.
          number: The number of the stack that the forward sweep left.
          seeds: The adjoint of each result.
        """
        # A stack is used once: the sweep adds to adjoints of local arrays on it.
        reference = _stacks_left.pop(number, None)
        stack_left = reference() if reference is not None else None
        if stack_left is None or stack_left.addresses != self._addresses(xs):
            return None
        with suppress(ValueError):
            _waiting.remove(stack_left)
        return self._run_reverse(stack_left, xs, seeds)

    def _run_reverse(
        self, stack_left: RemainingStack, xs: list[Array], seeds: list[Array]
    ) -> list[Array]:
        """Run the reverse sweep."""
        seed_values = np.array([seed if not seed.ndim else 0.0 for seed in seeds] or [0.0])
        if self._has_several_results:
            for out, seed in zip(self.program.outputs, seeds, strict=True):
                if out.active and out.ndim >= 0:
                    self._adjoint(out, stack_left)[...] += seed
        words = [
            *self._argument_words(xs, stack_left.arrays),
            stack_left.top,
            address_of(seed_values),
        ]
        block = np.array(words, np.int64)
        status = self._reverse(address_of(block))
        stack_left.done = True
        if status:
            raise_status(
                self.program, status, stack_left.pile.arena.end - stack_left.pile.arena.start
            )
        return [stack_left.arrays[slot] for slot in self._adjoint_slots]

    def _create_arrays(self, xs: list[Array]) -> tuple[dict[int, Array], list[int]]:
        """Create adjoints and copies of written arguments, by slot; also return addresses."""
        arrays: dict[int, Array] = {}
        for slot, (kind, j, dtype, _) in enumerate(self.program.parameters):
            if kind == "adjoint":
                shape = xs[j].shape  # at least one element, so that it has an address
                arrays[slot] = np.zeros(max(xs[j].size, 1), dtype)[: xs[j].size].reshape(shape)
            elif kind == "array" and j in self._written:
                arrays[slot] = xs[j].copy()
        return arrays, self._addresses(xs)

    def _copy_result(self, out: Out, stack_left: RemainingStack, xs: list[Array]) -> Array:
        """Return a copy of one of several results."""
        if out.argument >= 0:
            slot = self.slot_of("array", out.argument)
            return stack_left.arrays.get(slot, xs[out.argument]).copy()
        if out.ndim < 0:
            return array_at(self._words_of(out, stack_left), (), out.dtype).copy()
        return self._local_array(out, stack_left, 0).copy()

    def _adjoint(self, out: Out, stack_left: RemainingStack) -> Array:
        """Return the adjoints of an array result."""
        if out.argument >= 0:
            return stack_left.arrays[self.slot_of("adjoint", out.argument)]
        return self._local_array(out, stack_left, 1)

    def _local_array(self, out: Out, stack_left: RemainingStack, word: int) -> Array:
        """Return a local array (word 0) or its adjoints (word 1)."""
        words = array_at(self._words_of(out, stack_left), (2 + out.ndim,), np.int64)
        return array_at(int(words[word]), tuple(words[2:].tolist()), out.dtype)

    def _words_of(self, out: Out, stack_left: RemainingStack) -> int:
        """Return the address of a result's words on the stack."""
        return stack_left.top - 8 * (words_of(self.program.outputs) - out.word)

    def slot_of(self, kind: str, j: int) -> int:
        """Return the parameter slot of an argument, by kind."""
        parameters = self.program.parameters
        return next(slot for slot, p in enumerate(parameters) if p[0] == kind and p[1] == j)

    def _addresses(self, xs: list[Array]) -> list[int]:
        """Return the addresses that arguments must keep, as the forward sweep may store them."""
        if "address_of(" not in self.program.source:
            return []
        return [
            address_of(xs[j])
            for kind, j, _, _ in self.program.parameters
            if kind == "array" and j not in self._written
        ]

    @cached_property
    def _adjoint_slots(self) -> list[int]:
        slots = {
            j: slot
            for slot, (kind, j, _, _) in enumerate(self.program.parameters)
            if kind == "adjoint"
        }
        return [slots[j] for j in self.argnums]

    def _argument_words(self, xs: list[Array], arrays: dict[int, Array]) -> list[int]:
        """Return the argument words of both sweeps."""
        return [
            xs[j].shape[k] if kind == "axis" else address_of(arrays.get(slot, xs[j]))
            for slot, (kind, j, _, k) in enumerate(self.program.parameters)
        ]


# A bool is read like a uint8, and the bits of a uint64 are stored as an int64.
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

TABLE = reserve_zeros((T_PILES + 2 * MAX_PILES,), np.int64)
_view = view(TABLE)
_arenas: list[stack.Arena] = []
_lock = threading.Lock()


def _reset_after_fork() -> None:
    """Reset the piles in a forked child: another thread may have been using one."""
    global _lock
    _lock = threading.Lock()
    TABLE[T_COUNT] = TABLE[T_PILES:] = 0
    _arenas.clear()


after_fork_in_child(_reset_after_fork)


def tend() -> None:
    """Do the work that compiled sweeps leave to Python: add piles, and release unused pages."""
    with _lock, suppress(ResourceExhaustedError):
        for k, arena in enumerate(_arenas):
            if _view[T_PILES + 2 * k] == STALE:  # free, and due for trimming
                _trim(arena)
                _view[T_PILES + 2 * k] = FREE
        if len(_arenas) < MAX_PILES and FREE not in TABLE[T_PILES : T_PILES + 2 * len(_arenas) : 2]:
            _add_pile(stack.Arena(stack.SIZE))


def _add_pile(arena: stack.Arena) -> None:
    _header(arena)[P_END] = arena.end
    index = T_PILES + 2 * len(_arenas)
    _arenas.append(arena)
    _view[index], _view[index + 1] = FREE, arena.start
    _view[T_COUNT] = len(_arenas)


def _header(arena: stack.Arena) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return arena.words(8)


def _trim(arena: stack.Arena) -> None:
    header = _header(arena)
    recent_size, allocated_size = int(header[P_RECENT]), int(header[P_HIGH])
    arena.release(recent_size, allocated_size)
    header[P_CALLS] = header[P_RECENT] = 0
    header[P_HIGH] = recent_size


Results = tuple[tuple[str, tuple[int, ...]], ...]  # dtype and shape of each


def native(
    sweeps: Deferred,
    keeps_stack: bool,
    limit: int | None,
    out: Spec,
    first_argument: int,
    specs: list[Spec],
    results: Results,
) -> Native | None:
    """Return the machine-code call of the sweeps for a row; None if unsupported.

    Args:
      sweeps: The sweeps.
      keeps_stack: Whether the forward sweep leaves its stack for the reverse sweep.
      limit: The bytes of stack that a call may take; None for the rest of the arena.
      out: The description of the row's result.
      first_argument: The number of operands before the arguments: 0 for the call's row, 2 for its
        adjoints.
      specs: The specs of all operands.
      results: The function's results when the row was recorded.
    """
    program, arguments = sweeps.program, specs[first_argument:]
    outputs: list[Out] = [] if program.result else program.outputs  # on the stack or in arguments
    has_too_many_words = len(program.parameters) + len(outputs) > MAX_WORDS
    if (
        has_too_many_words
        or any(not spec.size for spec in (out, *specs))
        or not _has_results(program, results)
    ):
        return None
    dtypes = {arguments[j].dtype for j in sweeps.argnums}
    row_dtype = dtypes.pop() if len(dtypes) == 1 else float64  # the dtype of the row of adjoints
    starts, start = {}, 0
    for j in sweeps.argnums:
        starts[j] = start
        start += arguments[j].size * row_dtype.size
    copied_size = 0  # copies lie before the stack, at the same offsets for both sweeps
    # The forward sweep may store addresses of arrays.
    stores_addresses = "address_of(" in program.source
    words: list[tuple[int, int, int, int, int]] = []
    for kind, j, dtype, axis in program.parameters:
        spec = arguments[j]
        size = np.dtype(dtype or "int64").itemsize
        if kind == "axis":
            words.append((AXIS, spec.shape[axis], 0, 0, 0))
        elif kind == "adjoint" and j in starts and dtype == row_dtype.name and not stores_addresses:
            words.append((DIRECT, starts[j], 0, 0, 0))
        elif kind == "adjoint":
            words.append((CONVERTED, starts.get(j, -1), copied_size, spec.size, size))
        elif kind == "array" and (stores_addresses or j in program.written):
            words.append((COPIED, j, copied_size, spec.size * size, 0))
        else:
            words.append((ARGUMENT, j, 0, 0, 0))
        if words[-1][0] in (COPIED, CONVERTED):
            copied_size += (spec.size * size + 7) & -8
    packed_results = _result_rows(sweeps, results) if outputs else []
    # A reverse sweep that needs stack space must be at the top of the pile.
    waits = keeps_stack and not program.grows
    tend()
    parameters = (  # in the order of `kernels.cpu.call_layout`
        address_of(TABLE),
        sweeps.addresses.forward,
        sweeps.addresses.reverse,
        first_argument,
        len(specs),
        len(words),
        copied_size,
        limit or 0,
        int(waits),
        out.size,
        out.dtype.size,
        len(packed_results),
        words_of(outputs),
        len(outputs),
        *(number for numbers in (*words, *packed_results) for number in numbers),
    )
    name = "calls.reverse" if first_argument else "calls.forward"
    return Native(name, (), parameters, 1, sum(spec.size for spec in (out, *specs)), True)


def _has_results(program: LoopProgram, results: Results) -> bool:
    """Whether the sweeps' results have the dtypes and ranks that the function returned."""
    if program.result:
        return results == ((program.result, ()),)
    outputs = [program.outputs[place] for place in places(program.form)]
    return [(out.dtype, max(out.ndim, 0)) for out in outputs] == [
        (dtype, len(shape)) for dtype, shape in results
    ]


def _result_rows(sweeps: Deferred, results: Results) -> list[tuple[int, ...]]:
    """Return the description of each result for `kernels.cpu.call_layout`."""
    rows: list[tuple[int, ...]] = []
    for place, (dtype, shape) in zip(places(sweeps.program.form), results, strict=True):
        out = sweeps.program.outputs[place]
        kind, position, adjoint = LOCAL, out.word, 0
        if out.argument >= 0:
            kind, position = GIVEN, sweeps.slot_of("array", out.argument)
            adjoint = sweeps.slot_of("adjoint", out.argument) if out.active else -1
        elif out.ndim < 0:
            kind, adjoint = NUMBER, place
        axes = (*shape, 0, 0, 0)[:3]
        rows.append(
            (
                kind,
                position,
                adjoint if out.active else -1,
                _DTYPES[dtype],
                math.prod(shape),
                len(shape),
                *axes,
            )
        )
    return rows
