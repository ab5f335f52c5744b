"""Gradient and Jacobian calls: check the arguments, run the sweeps, return value and adjoints.

Passing a block of words costs more than the work of a small kernel, so a call does not loop over
parameters: the block's layout and the addresses in it are fixed when it is made.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from types import CodeType
from typing import Any, NoReturn

import numpy as np

from ....errors import KernelError, ResourceExhaustedError
from ...cpu.workers import Listening, largest
from ...values.memory import address_of, array_at, view
from ...values.tensor import Tensor
from ..emit.results import Out
from ..emit.text import DEEP, DIVISION, EMPTY, INDEX, LINES, NEGATIVE, NO_ROOM, RAISED, RULE, SHAPES
from ..frontend.lowering import DTYPES
from ..ir import Raised
from ..program import LoopProgram
from . import stack
from .compiled_sweeps import compile_sweeps

# How a number lies in eight bytes.
_FORMATS = {
    "bool": "?7x",
    "int8": "b7x",
    "int16": "h6x",
    "int32": "i4x",
    "int64": "q",
    "float32": "f4x",
    "float64": "d",
    "uint8": "B7x",
    "uint16": "H6x",
    "uint32": "I4x",
    "uint64": "Q",
}
_TYPES: dict[str, Any] = {"float64": float, "int64": int, "bool": bool}


class Layout:
    """The text of calls for arguments of some kinds.

    A block holds the words of ``program.parameters`` and of what stands behind them, then the
    arguments that are numbers, adjoints of numbers, the result, the mark and the seed.

    Args:
      program: The sweeps.
      wanted: The numbers of the arguments whose adjoints are given.
      single: Whether one adjoint is given, and not a tuple.
      limit: How many bytes of stack a call may take; None for half of the machine's memory.
      listening: Up to which size calls are short, as `listening.largest` measures it.
    """

    def __init__(
        self,
        program: LoopProgram,
        argnums: tuple[int, ...],
        single: bool,
        limit: int | None,
        listening: Listening,
    ) -> None:
        self._listening = listening
        self.program, self.argnums, self.single, self.limit = program, argnums, single, limit
        parameters = program.parameters
        self.words = len(parameters) + 5
        numbers = [j for kind, j, _, _ in parameters if kind == "number"]
        slopes = [j for kind, j, _, _ in parameters if kind == "adjoint" and j in numbers]
        self._number = {j: self.words + k for k, j in enumerate(numbers)}
        self._slope = {j: self.words + len(numbers) + k for k, j in enumerate(slopes)}
        self._numbers, self._slopes = numbers, slopes
        self.first = self.words + len(numbers)  # of the cells that are read after a call
        self.size = self.first + len(slopes) + 3
        dtypes = {j: dtype for kind, j, dtype, _ in parameters if kind in ("number", "array")}
        self.dtypes = dtypes
        cells = "".join(_FORMATS[dtypes[j]] for j in numbers)
        self.pack = struct.Struct(f"={self.words}q{cells}{len(slopes)}ddqd").pack_into
        self.unpack = struct.Struct(f"={len(slopes)}ddq").unpack_from
        self._quick, self._any = self._compile(True), self._compile(False)

    def _compile(self, quick: bool) -> CodeType:
        return compile(self._text(quick), f"<call of {self.program.name}>", "exec")

    def _text(self, quick: bool) -> str:
        """The text of a call: ``quick`` for the usual arguments, otherwise for any."""
        parameters, written = self.program.parameters, self.program.written
        arrays = [j for kind, j, _, _ in parameters if kind == "array"]
        axes = {j: [k for kind, i, _, k in parameters if kind == "axis" and i == j] for j in arrays}
        count = len(arrays) + len(self._numbers)
        names = [f"x{j}" for j in range(count)]
        lines = [f"({', '.join(names)},) = arguments" if count else "pass"]
        if quick:
            tests = [
                f"type(x{j}) is not ndarray or x{j}.dtype is not D{j} or x{j}.ndim != {len(n)}"
                for j, n in axes.items()
            ]
            tests += [f"type(x{j}) is not T{j}" for j in self._numbers]
            tests += [f"x{j}.size > LISTENING.most" for j in arrays]
            tests += [f"x{j} > LISTENING.most" for j in self._numbers]
            lines += [f"if {' or '.join(tests)}: return None"] if tests else []
        within = []
        for j in arrays:
            within.append(f"a{j} = {_address(f'x{j}', quick)}")
        if quick:
            for j in written:
                for i in arrays:
                    if i != j and not (i in written and i < j):
                        within.append(
                            f"if a{i} < a{j} + x{j}.nbytes and a{j} < a{i} + x{i}.nbytes:"
                            " return None"
                        )
        for j in written:  # the caller's own arrays stay as they are
            within += [f"x{j} = x{j}.copy()", f"a{j} = {_address(f'x{j}', quick)}"]
        if quick and within:
            lines += [
                "try:",
                *(f"    {line}" for line in within),
                "except (TypeError, ValueError, BufferError): return None",
            ]
        else:
            lines += within
        words = []
        for kind, j, _, k in parameters:
            if kind == "array":
                words.append(f"a{j}")
                lines += [f"s{j} = x{j}.shape"]
                lines += [f"({', '.join(f'n{j}_{a}' for a in axes[j])},) = s{j}"]
            elif kind == "axis":
                words.append(f"n{j}_{k}")
            elif kind == "number":
                words.append(f"AT + {8 * self._number[j]}")
            elif j in self._slope:
                words.append(f"AT + {8 * self._slope[j]}")
            else:
                words.append(f"b{j}")
                lines += [f"g{j} = zeros(s{j}, D{j})", f"b{j} = {_address(f'g{j}', quick)}"]
        ends = "end" if self.limit is None else f"min(end, start + {self.limit})"
        out = self.first + len(self._slopes)
        words += ["start", ends, *(f"AT + {8 * (out + k)}" for k in range(3))]
        cells = [f"x{j}" for j in self._numbers] + ["0.0"] * len(self._slopes)
        slopes = "".join(f"g{j}, " for j in self._slopes)
        result = "float32(value)" if self.program.result == "float32" else "value"
        adjoints = [self._adjoint(j, quick) for j in self.argnums]
        gradients = adjoints[0] if self.single else f"({', '.join(adjoints)},)"
        lines += [
            "arena = take()",
            "start, end = arena.start, arena.end",
            f"pack(BLOCK, 0, {', '.join([*words, *cells])}, 0.0, 0, 1.0)",
            "status = sweeps(AT)",
            "if status: fail(arena, status, arguments)",
            f"{slopes}value, top = unpack(BLOCK, {8 * self.first})",
            "top -= start",
            "if top > arena.recent: arena.recent = top",
            "arena.calls += 1",
            "if arena.calls > PATIENCE: arena.trim()",
            "if top > LONG: long(arena, top)",
            "wait(arena)",
            f"return {result}, {gradients}",
        ]
        return "\n".join(["def call(arguments):", *(f"    {line}" for line in lines)])

    def _adjoint(self, j: int, quick: bool) -> str:
        if j not in self._slope or (quick and self.dtypes[j] == "float64"):
            return f"g{j}"
        return f"T{j}(g{j})" if quick else f"(g{j} if type(x{j}) is float else type(x{j})(g{j}))"

    def call(
        self, sweeps: Any, fail: Callable[..., Any], long: Callable[[stack.Arena, int], None]
    ) -> tuple[Any, Any]:
        """A block, and what calls the sweeps with it: for most arguments, and for any.

        Args:
          sweeps: The sweeps.
          fail: Raises what their status says.
          long: Called after a call that took more of the stack than `stack.LONG`.
        """
        block = np.zeros(self.size, np.int64)
        scope: dict[str, Any] = {
            "BLOCK": view(block),
            "AT": address_of(block),
            "pack": self.pack,
            "unpack": self.unpack,
            "LISTENING": self._listening,
            "sweeps": sweeps,
            "fail": fail,
            "take": stack.take,
            "wait": stack.wait,
            "PATIENCE": stack.PATIENCE,
            "LONG": stack.LONG,
            "long": long,
            "ndarray": np.ndarray,
            "zeros": np.zeros,
            "float32": np.float32,
            "addressof": ctypes.addressof,
            "from_buffer": ctypes.c_char.from_buffer,
            "address_of": address_of,
        }
        for j, dtype in self.dtypes.items():
            scope[f"D{j}"] = np.dtype(dtype)
            scope[f"T{j}"] = _TYPES.get(dtype, np.dtype(dtype).type)
        calls = []
        for code in (self._quick, self._any):
            exec(code, scope)
            calls.append(scope.pop("call"))
        return calls[0], calls[1]


def _address(name: str, quick: bool) -> str:
    """Where an array lies: quick where it is contiguous, can be written to and is not empty."""
    return f"addressof(from_buffer({name}))" if quick else f"address_of({name})"


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
    """The common base of calls of sweeps.

    Args:
      program: The sweeps.
      limit: How many bytes of stack a call may take; None for half of the machine's memory.
      plain: The function as Numba compiles it.
    """

    def __init__(self, program: LoopProgram, limit: int | None, plain: Callable[..., Any]) -> None:
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
        program: LoopProgram,
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
    """The error for a kernel that writes to a read-only argument."""
    return f"a read-only array as argument {j}, which it writes to"


def raise_status(program: LoopProgram, status: int, size: int) -> NoReturn:
    """Raise what a status of a sweep says, which had so many bytes of stack."""
    if status & ((1 << LINES) - 1) == RAISED:
        raise_at(program.raised[status >> LINES])
    error, message = error_of_status(program, status, f", with {size} bytes")
    raise error(message)


def error_of_status(
    program: LoopProgram, status: int, size: str = ""
) -> tuple[type[Exception], str]:
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


Array = np.ndarray[Any, Any]


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
        program: LoopProgram,
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
        scratch: dict[int, Array] = {}  # adjoints that are not requested, and those of numbers
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
