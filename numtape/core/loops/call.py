"""A gradient's call: arguments in, both sweeps, value and adjoints out."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...errors import KernelError, ResourceExhaustedError
from ..cpu.interruptible import Listening, largest
from ..values.tensor import Tensor
from . import stack
from .calls import DTYPES
from .layout import DEEP, DIVISION, EMPTY, INDEX, LINES, NEGATIVE, NO_ROOM, RAISED, RULE, SHAPES
from .nodes import Raised
from .program import Program
from .ready import Layout
from .units import compile_sweeps

Kinds = tuple[tuple[str, int], ...]
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
_PLAIN: dict[type, tuple[str, int]] = {
    float: ("float64", -1),
    int: ("int64", -1),
    bool: ("bool", -1),
}
MOST_AXES = 3
_ERRORS: dict[int, tuple[type[Exception], str]] = {
    NO_ROOM: (
        ResourceExhaustedError,
        "A kernel's stack is full{size}, at the loop or statement {place}. Take a larger "
        "`memory_limit`, or fewer rounds.",
    ),
    INDEX: (IndexError, "index is out of bounds {place}"),
    DIVISION: (ZeroDivisionError, "division by zero {place}"),
    NEGATIVE: (ValueError, "negative dimensions not allowed {place}"),
    SHAPES: (ValueError, "shapes of arrays do not match {place}"),
    EMPTY: (ValueError, "an array without elements has neither maximum nor minimum {place}"),
    DEEP: (RecursionError, "maximum depth of calls in a kernel exceeded {place}"),
    RULE: (ValueError, "a rule gives an adjoint of another shape than its argument {place}"),
}


def kinds_of(arguments: tuple[Any, ...]) -> Kinds:
    """Dtype and axes of each argument, as Numba sees them.

    Raises:
      KernelError: If one is not a number and no array that a kernel may have.
    """
    return tuple([_PLAIN.get(type(x)) or _kind(x) for x in arguments])


def _kind(x: Any) -> tuple[str, int]:
    if type(x) is np.ndarray or isinstance(x, np.generic):
        ndim = x.ndim if type(x) is np.ndarray else -1
        if x.dtype.name not in DTYPES or not x.dtype.isnative:
            raise KernelError(f"an argument of dtype {x.dtype}", way=f"Use {', '.join(DTYPES)}.")
        if ndim == 0 or ndim > MOST_AXES:
            raise KernelError(
                f"an array of {ndim} axes as an argument",
                way=f"Use one to {MOST_AXES}, or a number.",
            )
        return x.dtype.name, ndim
    refuse_tensors((x,))
    raise KernelError(f"a {type(x).__name__} as an argument", way="Pass numbers and NumPy arrays.")


def check_kinds(kinds: Kinds) -> None:
    """Refuse arguments that a kernel may not have.

    Raises:
      KernelError: If there is one.
    """
    for dtype, ndim in kinds:
        if dtype not in DTYPES:
            raise KernelError(f"an argument of dtype {dtype}", way=f"Use {', '.join(DTYPES)}.")
        if ndim > MOST_AXES:
            raise KernelError(
                f"an array of {ndim} axes as an argument",
                way=f"Use one to {MOST_AXES}, or a number.",
            )


def refuse_tensors(arguments: tuple[Any, ...]) -> None:
    """Say that tensors are not taken, if there is one."""
    for x in arguments:
        if isinstance(x, Tensor) or hasattr(x, "assign_add"):
            raise KernelError(
                f"a {type(x).__name__} as an argument",
                way="Pass its value, `x.numpy()`; for ops of tensors there is tf.GradientTape.",
            )


class Sweeping:
    """What a call of sweeps needs, whatever it is for.

    Args:
      program: The sweeps.
      limit: How many bytes of stack a call may take; None for half of the machine's memory.
      plain: The function as Numba compiles it.
    """

    def __init__(self, program: Program, limit: int | None, plain: Callable[..., Any]) -> None:
        self.program, self.limit, self._by_numba = program, limit, plain

    def refuse_writes(self, arguments: tuple[Any, ...]) -> None:
        """Raise if an argument that is written to is read-only, or lies in another one's memory."""
        arrays = [(j, x) for j, x in enumerate(arguments) if type(x) is np.ndarray]
        for j in self.program.written:
            one = arguments[j]
            if not one.flags.writeable:
                raise KernelError(
                    read_only(j), self.program.file, self.program.line, "Pass a copy."
                )
            within = any(s == 0 and n > 1 for s, n in zip(one.strides, one.shape, strict=True))
            if within or any(
                k != j and np.may_share_memory(one, other) and np.shares_memory(one, other)
                for k, other in arrays
            ):
                raise KernelError(
                    "arguments that overlap in memory where one is written to",
                    self.program.file,
                    self.program.line,
                    "Pass a copy.",
                )

    def fail(self, arena: stack.Arena, status: int, arguments: tuple[Any, ...]) -> NoReturn:
        """Raise what a status says."""
        size = arena.end - arena.start
        if self.limit is not None:
            size = min(size, self.limit)
        stack.give_back(arena, size)
        if status & ((1 << LINES) - 1) == RAISED:
            raised = self.program.raised[status >> LINES]
            if raised.arguments is None:
                self._raise_with_values(raised, arguments)
        raise_status(self.program, status, size)

    def _raise_with_values(self, raised: Raised, arguments: tuple[Any, ...]) -> None:
        """Raise an exception that is told what the function computes: so the function runs."""
        from numba.core.errors import NumbaError

        try:
            self._by_numba(*[x.copy() if type(x) is np.ndarray else x for x in arguments])
        except NumbaError as error:
            raise KernelError(
                f"what Numba refuses, where it raises {raised.kind.__name__}",
                raised.file,
                raised.line,
                "Tell the exception constants.",
            ) from error

    def refuse_int(self, x: object) -> NoReturn:
        """Say that an int is too large."""
        raise KernelError(
            f"the int {x} as an argument, which takes more than 64 bits", way="Pass a float."
        ) from None


class Gradient(Sweeping):
    """Both sweeps of a function, for arguments of some kinds.

    Args:
      program: The sweeps.
      wanted: The numbers of the arguments whose adjoints are given.
      single: Whether one adjoint is given, and not a tuple.
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
        self.argnums, self.single = argnums, single
        self._listening = Listening()
        self._layout = Layout(program, argnums, single, limit, self._listening)
        self.sweeps = _FUNCTION(compile_sweeps(program, fastmath).gradient)
        self._waiting: list[tuple[Any, Any]] = []  # blocks that no call has now

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """The value, and the adjoint of the argument that is wanted, or a tuple of them.

        Raises:
          KernelError: If an argument is written that is read-only, or overlaps with another.
          ResourceExhaustedError: If the stack is full.
          IndexError, ZeroDivisionError, ValueError: As the function itself.
        """
        result = self.quick(arguments)
        if result is not None:
            return result
        return self._listening(largest(arguments), self._prepare, arguments)

    def quick(self, arguments: tuple[Any, ...]) -> Any:
        """The same, or None if the arguments are not of these kinds, or have to be made ready.

        None as well if the call may take long.
        """
        if self._listening.long:
            return None
        try:
            ready = self._waiting.pop()
        except IndexError:
            ready = self._layout.call(self.sweeps, self.fail, self._note_long)
        try:
            return ready[0](arguments)
        except struct.error:  # an int of more than 64 bits
            return None
        finally:
            self._waiting.append(ready)

    def _note_long(self, arena: stack.Arena, size: int) -> None:
        """Note that a call took much of the stack, and so long."""
        self._listening.long = True
        if size > stack.LIMIT:
            arena.trim()

    def _prepare(self, arguments: tuple[Any, ...]) -> Any:
        self.refuse_writes(arguments)
        arguments = tuple(
            [np.ascontiguousarray(x) if type(x) is np.ndarray else x for x in arguments]
        )
        ready = self._layout.call(self.sweeps, self.fail, self._note_long)
        try:
            return ready[1](arguments)
        except struct.error:
            for x in arguments:
                if type(x) is int and not -(1 << 63) <= x < 1 << 63:
                    self.refuse_int(x)
            raise


def read_only(j: int) -> str:
    """What is refused where a kernel writes to an argument that nobody may write to."""
    return f"a read-only array as argument {j}, which it writes to"


def raise_status(program: Program, status: int, size: int) -> NoReturn:
    """Raise what a status of a sweep says, which had so many bytes of stack."""
    if status & ((1 << LINES) - 1) == RAISED:
        raise_at(program.raised[status >> LINES])
    error, message = error_of_status(program, status, f", with {size} bytes")
    raise error(message)


def error_of_status(program: Program, status: int, size: str = "") -> tuple[type[Exception], str]:
    """The error that a status means, and its message, which says how large a full stack is."""
    error, message = _ERRORS[status & ((1 << LINES) - 1)]
    file, line = program.standing.of(status >> LINES)
    return error, message.format(size=size, place=f'(File "{file}", line {line})')


def raise_at(raised: Raised) -> NoReturn:
    """Raise an exception of the user's, with the line that raises it in its traceback."""
    lines = "\n" * (raised.line - 1)
    code = compile(f"{lines}raise error", raised.file, "exec").replace(co_name=raised.function)
    exec(code, {"error": raised.error()})
    raise AssertionError
