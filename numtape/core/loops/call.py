"""A gradient's call: arguments in, both sweeps, value and adjoints out."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

import numpy as np

from ...errors import KernelError, ResourceExhaustedError
from ..values.memory import address_of, view
from ..values.tensor import Tensor
from . import stack
from .calls import DTYPES
from .layout import DIVISION, INDEX, LINES, NO_ROOM
from .program import Program
from .units import compiled

Kinds = tuple[tuple[str, int], ...]
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
_PLAIN: dict[type, tuple[str, int]] = {
    float: ("float64", -1), int: ("int64", -1), bool: ("bool", -1),
}  # fmt: skip
MOST_AXES = 3


def kinds_of(arguments: tuple[Any, ...]) -> Kinds:
    """Dtype and axes of each argument, as Numba sees them.

    Raises:
      KernelError: If one is no number and no array that a kernel may have.
    """
    return tuple([_PLAIN.get(type(x)) or _kind(x) for x in arguments])


def _kind(x: Any) -> tuple[str, int]:
    if type(x) is np.ndarray or isinstance(x, np.generic):
        ndim = x.ndim if type(x) is np.ndarray else -1
        if x.dtype.name not in DTYPES or not x.dtype.isnative:
            raise KernelError(f"an argument of dtype {x.dtype}", way=f"Use {', '.join(DTYPES)}.")
        if ndim == 0 or ndim > MOST_AXES:
            raise KernelError(f"an array of {ndim} axes as an argument",
                              way=f"Use one to {MOST_AXES}, or a number.")  # fmt: skip
        return x.dtype.name, ndim
    refuse_tensors((x,))
    raise KernelError(f"a {type(x).__name__} as an argument", way="Pass numbers and NumPy arrays.")


def refuse_tensors(arguments: tuple[Any, ...]) -> None:
    """Say that tensors are not taken, if there is one."""
    for x in arguments:
        if isinstance(x, Tensor) or hasattr(x, "assign_add"):
            raise KernelError(
                f"a {type(x).__name__} as an argument",
                way="Pass its value, `x.numpy()`; for ops of tensors there is tf.GradientTape.",
            )


class Gradient:
    """Both sweeps of a function, for arguments of some kinds.

    Args:
      program: The sweeps.
      wanted: The numbers of the arguments whose adjoints are given.
      fastmath: Whether the forward sweep may do what Numba's option says.
      limit: How many bytes of stack a call may take; None for half of the machine's memory.
    """

    def __init__(
        self, program: Program, wanted: tuple[int, ...], fastmath: bool, limit: int | None
    ) -> None:
        self.program, self.wanted, self.limit = program, wanted, limit
        forward, reverse = compiled(program, fastmath)
        self._forward, self._reverse = _FUNCTION(forward), _FUNCTION(reverse)
        self._written = frozenset(program.written)
        self._result = np.float32 if program.result == "float32" else float

    def __call__(self, arguments: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """The value, and the adjoint of each argument that is wanted.

        Raises:
          KernelError: If arguments overlap where one is written.
          ResourceExhaustedError: If the stack is full.
          IndexError, ZeroDivisionError, ValueError: As the function itself.
        """
        if self._written:
            self._refuse_overlap(arguments)
        parameters = self.program.parameters
        count = len(parameters)
        words = np.zeros(count + 4, np.int64)
        cells = np.zeros(count + 3, np.float64)  # what numbers are passed in
        block, at = view(words), address_of(cells)
        held: dict[int, Any] = {}
        adjoints: dict[int, Any] = {}
        for slot, (kind, j, dtype, k) in enumerate(parameters):
            x = arguments[j]
            if kind == "array":
                if j in self._written:
                    x = np.array(x, order="C")
                elif not x.flags.c_contiguous:
                    x = np.ascontiguousarray(x)
                held[j] = x
                block[slot] = address_of(x)
            elif kind == "axis":
                block[slot] = x.shape[k]
            elif kind == "number":
                try:
                    cells[slot : slot + 1].view(dtype)[0] = x
                except OverflowError:
                    raise KernelError(f"the int {x} as an argument, which takes more than 64 bits",
                                      way="Pass a float.") from None  # fmt: skip
                block[slot] = at + 8 * slot
            elif type(x) is np.ndarray:
                adjoints[j] = found = np.zeros(x.shape, dtype)
                block[slot] = address_of(found)
            else:
                adjoints[j] = cells[slot : slot + 1]
                block[slot] = at + 8 * slot
        out, mark = count, count + 1
        arena = stack.take()
        used = 0
        try:
            end = arena.end
            if self.limit is not None:
                end = min(end, arena.start + self.limit)
            block[count], block[count + 1] = arena.start, end
            block[count + 2], block[count + 3] = at + 8 * out, at + 8 * mark
            address = address_of(words)
            status = self._forward(address)
            if status:
                used = end - arena.start
                self._raise(status, used)
            top = int(cells[mark : mark + 1].view(np.int64)[0])
            used = top - arena.start
            cells[count + 2] = 1.0
            block[count], block[count + 1] = top, at + 8 * (count + 2)
            self._reverse(address)
        finally:
            stack.give_back(arena, used)
        return self._result(cells[out]), [self._adjoint(j, adjoints, arguments)
                                          for j in self.wanted]  # fmt: skip

    def _adjoint(self, j: int, adjoints: dict[int, Any], arguments: tuple[Any, ...]) -> Any:
        x = arguments[j]
        if type(x) is np.ndarray:
            return adjoints[j]
        found = float(adjoints[j][0])
        return found if type(x) is float else x.dtype.type(found)

    def _refuse_overlap(self, arguments: tuple[Any, ...]) -> None:
        arrays = [(j, x) for j, x in enumerate(arguments) if type(x) is np.ndarray]
        for j in self._written:
            one = arguments[j]
            within = any(s == 0 and n > 1 for s, n in zip(one.strides, one.shape, strict=True))
            if within or any(k != j and np.may_share_memory(one, other)
                             and np.shares_memory(one, other) for k, other in arrays):  # fmt: skip
                raise KernelError(
                    "arguments that overlap in memory where one is written to", self.program.file,
                    self.program.line, "Pass a copy.",
                )  # fmt: skip

    def _raise(self, status: int, size: int) -> NoReturn:
        kind, line = status & ((1 << LINES) - 1), self.program.line + (status >> LINES)
        place = f'(File "{self.program.file}", line {line})'
        if kind == NO_ROOM:
            raise ResourceExhaustedError(
                f"A kernel's stack is full, with {size} bytes, at the loop or statement {place}. "
                f"Take a larger `memory_limit`, or fewer rounds."
            )
        if kind == INDEX:
            raise IndexError(f"index is out of bounds {place}")
        if kind == DIVISION:
            raise ZeroDivisionError(f"division by zero {place}")
        raise ValueError(f"negative dimensions not allowed {place}")
