"""A Jacobian's call: one forward sweep, then a reverse sweep for each element of each result."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..values.memory import address_of, array_at
from . import stack
from .call import Sweeping
from .outs import Out
from .program import Program
from .units import compiled

Array = np.ndarray[Any, Any]
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


class Jacobian(Sweeping):
    """The sweeps of a function with any results, for arguments of some kinds.

    Args:
      program: The sweeps, of several results.
      wanted: The numbers of the arguments to differentiate by.
      single: Whether there is one, and not a sequence.
      fastmath: Whether the forward sweep may do what Numba's option says.
      limit: How many bytes of stack a call may take; None for half of the machine's memory.
      plain: The function as Numba compiles it.
    """

    def __init__(
        self, program: Program, wanted: tuple[int, ...], single: bool, fastmath: bool,
        limit: int | None, plain: Callable[..., Any],
    ) -> None:  # fmt: skip
        super().__init__(program, limit, plain)
        self._wanted, self._single = wanted, single
        code = compiled(program, fastmath)
        self._forward, self._reverse = _FUNCTION(code.forward), _FUNCTION(code.reverse)

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """The Jacobians, in the form of the result: of one argument, or a tuple of them each."""
        self.refuse_writes(arguments)
        held = [self._own(j, x) for j, x in enumerate(arguments)]
        parameters = self.program.parameters
        count = len(parameters)
        block, seeds = np.zeros(count + 4, np.int64), np.zeros(len(self.program.outs) + 1)
        mark = np.zeros(1, np.int64)
        scratch: dict[int, Array] = {}  # adjoints that nobody asks for, and of numbers
        for slot, (kind, j, dtype, k) in enumerate(parameters):
            if kind == "axis":
                block[slot] = arguments[j].shape[k]
            elif kind == "adjoint":
                shape = np.shape(arguments[j])
                scratch[slot] = np.zeros(shape or 1, dtype)
                block[slot] = address_of(scratch[slot])
            else:
                block[slot] = address_of(held[j])
        arena = stack.take()
        end = arena.end if self.limit is None else min(arena.end, arena.start + self.limit)
        block[count:] = arena.start, end, address_of(seeds), address_of(mark)
        status = self._forward(address_of(block))
        if status:
            self.fail(arena, status, arguments)
        top = int(mark[0])
        try:
            block[count : count + 2] = top, address_of(seeds)
            seeds[:] = 0.0
            found = [self._rows(out, k, top, block, seeds, scratch, arguments)
                     for k, out in enumerate(self.program.outs)]  # fmt: skip
        finally:
            stack.give_back(arena, top - arena.start)
        return self._formed(self.program.form, found)

    def _own(self, j: int, x: Any) -> Array:
        """An argument in memory that the sweeps may have."""
        if type(x) is np.ndarray:
            return np.array(x, order="C") if j in self.program.written else np.ascontiguousarray(x)
        dtype = next(p[2] for p in self.program.parameters if p[1] == j)
        try:
            return np.array([x], dtype)
        except OverflowError:
            self.refuse_int(x)

    def _rows(
        self, out: Out, k: int, top: int, block: Array, seeds: Array, scratch: dict[int, Array],
        arguments: tuple[Any, ...],
    ) -> Any:  # fmt: skip
        """The derivatives of one result."""
        place = {p[1]: slot for slot, p in enumerate(self.program.parameters) if p[0] == "adjoint"}
        shape, seed = self._seeds(out, top, scratch, place, arguments)
        shapes = {j: np.shape(arguments[j]) for j in self._wanted}
        found = {j: np.zeros((*shape, *shapes[j]), np.asarray(arguments[j]).dtype)
                 for j in self._wanted}  # fmt: skip
        cell = seeds[k : k + 1] if seed is None else seed.reshape(-1)
        rows = {j: found[j].reshape(cell.size, math.prod(shapes[j])) for j in self._wanted}
        for i in range(cell.size if out.active else 0):
            for own in scratch.values():
                own[...] = 0
            cell[i] = 1.0
            self._reverse(address_of(block))
            for j in self._wanted:
                if j in place:
                    rows[j][i] = scratch[place[j]].reshape(-1)
            cell[i] = 0.0
        jacobians = [self._plain(found[j], arguments[j]) for j in self._wanted]
        return jacobians[0] if self._single else tuple(jacobians)

    def _seeds(
        self, out: Out, top: int, scratch: dict[int, Array], place: dict[int, int],
        arguments: tuple[Any, ...],
    ) -> tuple[tuple[int, ...], Array | None]:  # fmt: skip
        """A result's shape, and where the adjoints of an array are."""
        if out.ndim < 0:
            return (), None
        if out.argument >= 0:
            shape = arguments[out.argument].shape
            slot = place.get(out.argument)
            return shape, np.zeros(shape) if slot is None else scratch[slot]
        size = sum(1 if o.ndim < 0 else 2 + o.ndim for o in self.program.outs if o.argument < 0)
        words = array_at(top - 8 * (size - out.word), (2 + out.ndim,), np.int64)
        shape = tuple(words[2:].tolist())
        return shape, array_at(int(words[1]), shape, out.dtype) if out.active else np.zeros(shape)

    def _plain(self, jacobian: Array, argument: Any) -> Any:
        """A number's derivative of a number as a number of its kind."""
        if jacobian.ndim:
            return jacobian
        return float(jacobian) if type(argument) is float else jacobian[()]

    def _formed(self, form: Any, found: list[Any]) -> Any:
        if isinstance(form, tuple):
            return tuple(self._formed(x, found) for x in form)
        return found[form]
