"""A Jacobian's call: one forward sweep, then a reverse sweep for each element of each result."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..cpu.interruptible import Listening, largest
from ..values.memory import address_of, array_at
from . import stack
from .call import Sweeping
from .outs import Out
from .program import Program
from .units import compile_sweeps

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
        self,
        program: Program,
        argnums: tuple[int, ...],
        single: bool,
        fastmath: bool,
        limit: int | None,
        plain: Callable[..., Any],
    ) -> None:
        super().__init__(program, limit, plain)
        self._argnums, self._single, self._listening = argnums, single, Listening()
        code = compile_sweeps(program, fastmath)
        self._forward, self._reverse = _FUNCTION(code.forward), _FUNCTION(code.reverse)

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """The Jacobians, in the form of the result: of one argument, or a tuple of them each."""
        self.refuse_writes(arguments)
        return self._listening(largest(arguments), self._compute, arguments)

    def _compute(self, arguments: tuple[Any, ...]) -> Any:
        arrays = [self._own(j, x) for j, x in enumerate(arguments)]
        parameters = self.program.parameters
        count = len(parameters)
        block, seeds = np.zeros(count + 4, np.int64), np.zeros(len(self.program.outputs) + 1)
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
                block[slot] = address_of(arrays[j])
        arena = stack.take()
        end = arena.end if self.limit is None else min(arena.end, arena.start + self.limit)
        unused = np.zeros(1)

        def forward() -> None:
            for j in self.program.written:
                arrays[j][...] = arguments[j]
            block[count:] = arena.start, end, address_of(unused), address_of(mark)
            status = self._forward(address_of(block))
            if status:
                self.fail(arena, status, arguments)
            block[count : count + 2] = mark[0], address_of(seeds)

        def reverse() -> None:
            status = self._reverse(address_of(block))
            if status:
                self.fail(arena, status, arguments)

        forward()
        top = int(mark[0])
        results = []
        # All of them now: a reverse sweep may write over where results are told to lie.
        places = [self._seeds(out, top, scratch, arguments) for out in self.program.outputs]
        for k, (out, (shape, seed)) in enumerate(zip(self.program.outputs, places, strict=True)):
            cell = seeds[k : k + 1] if seed is None else seed.reshape(-1)
            rows = self._empty(shape, arguments)
            for i in range(cell.size if out.active else 0):
                if self.program.grows:
                    forward()  # the reverse sweep before has written over what it left
                for own in scratch.values():
                    own[...] = 0
                cell[i] = 1.0
                reverse()
                self._read(rows, (*np.unravel_index(i, shape),), scratch)
                cell[i] = 0.0
            jacobians = [self._plain(rows[j], arguments[j]) for j in self._argnums]
            results.append(jacobians[0] if self._single else tuple(jacobians))
        stack.give_back(arena, top - arena.start)
        return self._arrange(self.program.form, results)

    def _slots(self) -> dict[int, int]:
        """Where the adjoints of arguments are among the parameters."""
        parameters = enumerate(self.program.parameters)
        return {p[1]: slot for slot, p in parameters if p[0] == "adjoint"}

    def _empty(self, shape: tuple[int, ...], arguments: tuple[Any, ...]) -> dict[int, Array]:
        """The derivatives of one result, by the numbers of the arguments: zeros."""
        return {
            j: np.zeros((*shape, *np.shape(arguments[j])), np.asarray(arguments[j]).dtype)
            for j in self._argnums
        }

    def _read(self, rows: dict[int, Array], at: tuple[Any, ...], scratch: dict[int, Array]) -> None:
        """Take the adjoints of one element of a result."""
        slots = self._slots()
        for j in self._argnums:
            if j in slots:
                rows[j][at] = scratch[slots[j]].reshape(rows[j][at].shape)

    def _own(self, j: int, x: Any) -> Array:
        """An argument in memory that the sweeps may have."""
        if type(x) is np.ndarray:
            return np.array(x, order="C") if j in self.program.written else np.ascontiguousarray(x)
        dtype = next(p[2] for p in self.program.parameters if p[1] == j)
        try:
            return np.array([x], dtype)
        except OverflowError:
            self.refuse_int(x)

    def _seeds(
        self, out: Out, top: int, scratch: dict[int, Array], arguments: tuple[Any, ...]
    ) -> tuple[tuple[int, ...], Array | None]:
        """A result's shape, and where the adjoints of an array are."""
        if out.ndim < 0:
            return (), None
        if out.argument >= 0:
            shape = arguments[out.argument].shape
            slot = self._slots().get(out.argument)
            return shape, np.zeros(shape) if slot is None else scratch[slot]
        size = sum(1 if o.ndim < 0 else 2 + o.ndim for o in self.program.outputs if o.argument < 0)
        words = array_at(top - 8 * (size - out.word), (2 + out.ndim,), np.int64)
        shape = tuple(words[2:].tolist())
        return shape, array_at(int(words[1]), shape, out.dtype) if out.active else np.zeros(shape)

    def _plain(self, jacobian: Array, argument: Any) -> Any:
        """A number's derivative of a number as a number of its kind."""
        if jacobian.ndim:
            return jacobian
        return float(jacobian) if type(argument) is float else jacobian[()]

    def _arrange(self, form: Any, parts: list[Any]) -> Any:
        if isinstance(form, tuple):
            return tuple(self._arrange(x, parts) for x in form)
        return parts[form]
