"""Gradient and Jacobian calls: check the arguments, run the sweeps, return value and adjoints.

Filling the block of argument words costs more than a small kernel, so a call does not loop over
parameters: `Layout` generates its text. The block's layout and address are fixed on creation. Start
with `Gradient` and `Jacobian`.
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
from ...values.dtypes import STRUCT_FORMATS
from ...values.memory import Array, address_of, array_at, view
from ...values.tensor import Tensor
from ..analysis.types import DTYPE_NAMES
from ..emit.results import Out
from ..emit.text import DEEP, DIVISION, EMPTY, INDEX, LINES, NEGATIVE, NO_ROOM, RAISED, RULE, SHAPES
from ..ir import Raised
from ..program import LoopProgram
from . import stack
from .compiled_sweeps import compile_sweeps

# The `struct` format of a number in eight bytes.
_FORMATS = {x: f"{a}{8 - struct.calcsize('=' + a)}x" for x, a in STRUCT_FORMATS.items()}
_TYPES: dict[str, Any] = {"float64": float, "int64": int, "bool": bool}


class Layout:
    """Generates the code of gradient calls for arguments of given kinds.

    A block holds the words of ``program.parameters`` and the five words after them, then the number
    arguments, the adjoints of numbers, the result, the mark and the seed.

    Args:
      program: The sweeps.
      argnums: The numbers of the arguments whose adjoints are returned.
      single: Whether to return one adjoint instead of a tuple.
      limit: The bytes of stack that a call may take; None for half of the machine's memory.
      listening: Decides by the size of the arguments which calls are short.
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
        self._number_words = {j: self.words + k for k, j in enumerate(numbers)}
        self._adjoint_words = {j: self.words + len(numbers) + k for k, j in enumerate(slopes)}
        self._number_arguments, self._adjoint_arguments = numbers, slopes
        # The first word that is read after a call.
        self.first_result_word = self.words + len(numbers)
        self.size = self.first_result_word + len(slopes) + 3
        dtypes = {j: dtype for kind, j, dtype, _ in parameters if kind in ("number", "array")}
        self.dtypes = dtypes
        cells = "".join(_FORMATS[dtypes[j]] for j in numbers)
        self.pack = struct.Struct(f"={self.words}q{cells}{len(slopes)}ddqd").pack_into
        self.unpack = struct.Struct(f"={len(slopes)}ddq").unpack_from
        self._quick_code, self._general_code = self._compile(True), self._compile(False)

    def _compile(self, quick: bool) -> CodeType:
        return compile(self._text(quick), f"<call of {self.program.name}>", "exec")

    def _text(self, quick: bool) -> str:
        """Return the text of a call: ``quick`` for the usual arguments, otherwise for any."""
        parameters, written = self.program.parameters, self.program.written
        arrays = [j for kind, j, _, _ in parameters if kind == "array"]
        axes = {j: [k for kind, i, _, k in parameters if kind == "axis" and i == j] for j in arrays}
        count = len(arrays) + len(self._number_arguments)
        names = [f"x{j}" for j in range(count)]
        lines = [f"({', '.join(names)},) = arguments" if count else "pass"]
        if quick:
            tests = [
                f"type(x{j}) is not ndarray or x{j}.dtype is not D{j} or x{j}.ndim != {len(n)}"
                for j, n in axes.items()
            ]
            tests += [f"type(x{j}) is not T{j}" for j in self._number_arguments]
            tests += [f"x{j}.size > LISTENING.most" for j in arrays]
            tests += [f"x{j} > LISTENING.most" for j in self._number_arguments]
            lines += [f"if {' or '.join(tests)}: return None"] if tests else []
        checked_lines = []
        for j in arrays:
            checked_lines.append(f"a{j} = {_address(f'x{j}', quick)}")
        if quick:
            for j in written:
                for i in arrays:
                    if i != j and not (i in written and i < j):
                        checked_lines.append(
                            f"if a{i} < a{j} + x{j}.nbytes and a{j} < a{i} + x{i}.nbytes:"
                            " return None"
                        )
        for j in written:  # the caller's arrays must not change
            checked_lines += [f"x{j} = x{j}.copy()", f"a{j} = {_address(f'x{j}', quick)}"]
        if quick and checked_lines:
            lines += [
                "try:",
                *(f"    {line}" for line in checked_lines),
                "except (TypeError, ValueError, BufferError): return None",
            ]
        else:
            lines += checked_lines
        words = []
        for kind, j, _, k in parameters:
            if kind == "array":
                words.append(f"a{j}")
                lines += [f"s{j} = x{j}.shape"]
                lines += [f"({', '.join(f'n{j}_{a}' for a in axes[j])},) = s{j}"]
            elif kind == "axis":
                words.append(f"n{j}_{k}")
            elif kind == "number":
                words.append(f"AT + {8 * self._number_words[j]}")
            elif j in self._adjoint_words:
                words.append(f"AT + {8 * self._adjoint_words[j]}")
            else:
                words.append(f"b{j}")
                lines += [f"g{j} = zeros(s{j}, D{j})", f"b{j} = {_address(f'g{j}', quick)}"]
        end_text = "end" if self.limit is None else f"min(end, start + {self.limit})"
        out = self.first_result_word + len(self._adjoint_arguments)
        words += ["start", end_text, *(f"AT + {8 * (out + k)}" for k in range(3))]
        cells = [f"x{j}" for j in self._number_arguments] + ["0.0"] * len(self._adjoint_arguments)
        slopes = "".join(f"g{j}, " for j in self._adjoint_arguments)
        result = "float32(value)" if self.program.result == "float32" else "value"
        adjoints = [self._adjoint(j, quick) for j in self.argnums]
        gradients = adjoints[0] if self.single else f"({', '.join(adjoints)},)"
        lines += [
            "arena = take()",
            "start, end = arena.start, arena.end",
            f"pack(BLOCK, 0, {', '.join([*words, *cells])}, 0.0, 0, 1.0)",
            "status = sweeps(AT)",
            "if status: fail(arena, status, arguments)",
            f"{slopes}value, top = unpack(BLOCK, {8 * self.first_result_word})",
            "top -= start",
            "if top > arena.recent: arena.recent = top",
            "arena.calls += 1",
            "if arena.calls > CALLS_BEFORE_TRIM: arena.trim()",
            "if top > LONG_SIZE: long(arena, top)",
            "wait(arena)",
            f"return {result}, {gradients}",
        ]
        return "\n".join(["def call(arguments):", *(f"    {line}" for line in lines)])

    def _adjoint(self, j: int, quick: bool) -> str:
        if j not in self._adjoint_words or (quick and self.dtypes[j] == "float64"):
            return f"g{j}"
        return f"T{j}(g{j})" if quick else f"(g{j} if type(x{j}) is float else type(x{j})(g{j}))"

    def call(
        self, sweeps: Any, fail: Callable[..., Any], long: Callable[[stack.Arena, int], None]
    ) -> tuple[Any, Any]:
        """Create a block, and return two functions that call the sweeps with it: quick and general.

        Args:
          sweeps: The compiled sweeps.
          fail: Raises the error of a status.
          long: Is called after a call that took more than `stack.LONG_SIZE` bytes of stack.
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
            "CALLS_BEFORE_TRIM": stack.CALLS_BEFORE_TRIM,
            "LONG_SIZE": stack.LONG_SIZE,
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
        for code in (self._quick_code, self._general_code):
            exec(code, scope)
            calls.append(scope.pop("call"))
        return calls[0], calls[1]


def _address(name: str, quick: bool) -> str:
    """Return an array's address, as text; quick: it is contiguous, writable and not empty."""
    return f"addressof(from_buffer({name}))" if quick else f"address_of({name})"


Kinds = tuple[tuple[str, int], ...]
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
_KINDS_OF_TYPES: dict[type, tuple[str, int]] = {
    float: ("float64", -1),
    int: ("int64", -1),
    bool: ("bool", -1),
}
MAX_AXES = 3
_ERRORS: dict[int, tuple[type[Exception], str]] = {
    NO_ROOM: (
        ResourceExhaustedError,
        "A kernel's stack is full{size}, at the loop or statement {place}. Use a larger "
        "`memory_limit` or fewer iterations.",
    ),
    INDEX: (IndexError, "index is out of bounds {place}"),
    DIVISION: (ZeroDivisionError, "division by zero {place}"),
    NEGATIVE: (ValueError, "negative dimensions not allowed {place}"),
    SHAPES: (ValueError, "shapes of arrays do not match {place}"),
    EMPTY: (ValueError, "an array without elements has no maximum or minimum {place}"),
    DEEP: (RecursionError, "maximum depth of calls in a kernel exceeded {place}"),
    RULE: (ValueError, "a rule gives an adjoint of another shape than its argument {place}"),
}


def kinds_of(arguments: tuple[Any, ...]) -> Kinds:
    """Return the dtype and number of axes of each argument, as Numba infers them.

    Raises:
      KernelError: If an argument is neither a number nor a supported array.
    """
    return tuple([_KINDS_OF_TYPES.get(type(x)) or _kind(x) for x in arguments])


def _kind(x: object) -> tuple[str, int]:
    if type(x) is np.ndarray or isinstance(x, np.generic):
        ndim = x.ndim if type(x) is np.ndarray else -1
        if x.dtype.name not in DTYPE_NAMES or not x.dtype.isnative:
            raise KernelError(
                f"an argument of dtype {x.dtype}", way=f"Use {', '.join(DTYPE_NAMES)}."
            )
        if ndim == 0 or ndim > MAX_AXES:
            raise KernelError(
                f"an array of {ndim} axes as an argument",
                way=f"Use one to {MAX_AXES}, or a number.",
            )
        return x.dtype.name, ndim
    refuse_tensors((x,))
    raise KernelError(f"a {type(x).__name__} as an argument", way="Pass numbers and NumPy arrays.")


def check_kinds(kinds: Kinds) -> None:
    """Check the kinds of arguments.

    Raises:
      KernelError: If a kernel does not support one.
    """
    for dtype, ndim in kinds:
        if dtype not in DTYPE_NAMES:
            raise KernelError(f"an argument of dtype {dtype}", way=f"Use {', '.join(DTYPE_NAMES)}.")
        if ndim > MAX_AXES:
            raise KernelError(
                f"an array of {ndim} axes as an argument",
                way=f"Use one to {MAX_AXES}, or a number.",
            )


def refuse_tensors(arguments: tuple[Any, ...]) -> None:
    """Raise KernelError if an argument is a tensor or variable."""
    for x in arguments:
        if isinstance(x, Tensor) or hasattr(x, "assign_add"):
            raise KernelError(
                f"a {type(x).__name__} as an argument",
                way="Pass its value, `x.numpy()`; for ops of tensors there is tf.GradientTape.",
            )


class Sweeping:
    """The base class of callers of sweeps.

    Args:
      program: The sweeps.
      limit: The bytes of stack that a call may take; None for half of the machine's memory.
      plain: The function, compiled by Numba.
    """

    def __init__(self, program: LoopProgram, limit: int | None, plain: Callable[..., Any]) -> None:
        self.program, self.limit, self._numba_function = program, limit, plain

    def refuse_writes(self, arguments: tuple[Any, ...]) -> None:
        """Raise KernelError if a written argument is read-only or overlaps with another one."""
        arrays = [(j, x) for j, x in enumerate(arguments) if type(x) is np.ndarray]
        for j in self.program.written:
            array = arguments[j]
            if not array.flags.writeable:
                raise KernelError(
                    read_only(j), self.program.file, self.program.line, "Pass a copy."
                )
            overlaps_itself = any(
                s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)
            )
            if overlaps_itself or any(
                k != j and np.may_share_memory(array, other) and np.shares_memory(array, other)
                for k, other in arrays
            ):
                raise KernelError(
                    "arguments that overlap in memory where one is written to",
                    self.program.file,
                    self.program.line,
                    "Pass a copy.",
                )

    def fail(self, arena: stack.Arena, status: int, arguments: tuple[Any, ...]) -> NoReturn:
        """Raise the error of a status."""
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
        """Raise an exception with computed arguments by running the function in Numba."""
        from numba import errors

        try:
            self._numba_function(*[x.copy() if type(x) is np.ndarray else x for x in arguments])
        except errors.NumbaError as error:
            raise KernelError(
                f"code that Numba rejects, where it raises {raised.kind.__name__}",
                raised.file,
                raised.line,
                "Pass constants to the exception.",
            ) from error

    def refuse_int(self, x: object) -> NoReturn:
        """Raise KernelError for an int of more than 64 bits."""
        raise KernelError(
            f"the int {x} as an argument, which takes more than 64 bits", way="Pass a float."
        ) from None


class Gradient(Sweeping):
    """The value and gradient of a function, for arguments of given kinds.

    Args:
      program: The sweeps.
      argnums: The numbers of the arguments whose adjoints are returned.
      single: Whether to return one adjoint instead of a tuple.
      fastmath: Whether to compile the forward sweep with Numba's option of this name.
      limit: The bytes of stack that a call may take; None for half of the machine's memory.
      plain: The function, compiled by Numba.
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
        self._waiting: list[tuple[Any, Any]] = []  # calls whose blocks are free

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """Return the value, and the adjoint of the requested argument or a tuple of adjoints.

        Raises:
          KernelError: If a written argument is read-only or overlaps with another.
          ResourceExhaustedError: If the stack is full.
          IndexError: If an index is out of bounds, unless ``boundscheck=False``.
          ZeroDivisionError, ValueError: As the function itself.
        """
        result = self.quick(arguments)
        if result is not None:
            return result
        return self._listening(largest(arguments), self._prepare, arguments)

    def quick(self, arguments: tuple[Any, ...]) -> Any:
        """Call without preparation. Return None if the arguments need one, or have other kinds.

        Also return None if the call may take long.
        """
        if self._listening.long:
            return None
        try:
            calls = self._waiting.pop()
        except IndexError:
            calls = self._layout.call(self.sweeps, self.fail, self._note_long)
        try:
            return calls[0](arguments)
        except struct.error:  # an int of more than 64 bits
            return None
        finally:
            self._waiting.append(calls)

    def _note_long(self, arena: stack.Arena, size: int) -> None:
        """Mark calls as long, after one that took much of the stack."""
        self._listening.long = True
        if size > stack.MAX_KEPT_SIZE:
            arena.trim()

    def _prepare(self, arguments: tuple[Any, ...]) -> Any:
        self.refuse_writes(arguments)
        arguments = tuple(
            [np.ascontiguousarray(x) if type(x) is np.ndarray else x for x in arguments]
        )
        calls = self._layout.call(self.sweeps, self.fail, self._note_long)
        try:
            return calls[1](arguments)
        except struct.error:
            for x in arguments:
                if type(x) is int and not -(1 << 63) <= x < 1 << 63:
                    self.refuse_int(x)
            raise


def read_only(j: int) -> str:
    """Return the construct of the error for a kernel that writes to a read-only argument."""
    return f"a read-only array as argument {j}, which it writes to"


def raise_status(program: LoopProgram, status: int, size: int) -> NoReturn:
    """Raise the error of a sweep's status; ``size`` is the size of its stack in bytes."""
    if status & ((1 << LINES) - 1) == RAISED:
        raise_at(program.raised[status >> LINES])
    error, message = error_of_status(program, status, f", with {size} bytes")
    raise error(message)


def error_of_status(
    program: LoopProgram, status: int, size: str = ""
) -> tuple[type[Exception], str]:
    """Return the error class of a status and its message, with the size of a full stack."""
    error, message = _ERRORS[status & ((1 << LINES) - 1)]
    file, line = program.standing.of(status >> LINES)
    return error, message.format(size=size, place=f'(File "{file}", line {line})')


def raise_at(raised: Raised) -> NoReturn:
    """Raise a kernel's exception, with its source line in the traceback."""
    lines = "\n" * (raised.line - 1)
    code = compile(f"{lines}raise error", raised.file, "exec").replace(co_name=raised.function)
    exec(code, {"error": raised.error()})
    raise AssertionError


class Jacobian(Sweeping):
    """The Jacobians of a function with any results, for arguments of given kinds.

    Args:
      program: The sweeps, generated with ``several=True``.
      argnums: The numbers of the arguments to differentiate with respect to.
      single: Whether to return one Jacobian per result instead of a tuple.
      fastmath: Whether to compile the forward sweep with Numba's option of this name.
      limit: The bytes of stack that a call may take; None for half of the machine's memory.
      plain: The function, compiled by Numba.
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
        """Return the Jacobians in the structure of the result, as tuples over several arguments."""
        self.refuse_writes(arguments)
        return self._listening(largest(arguments), self._compute, arguments)

    def _compute(self, arguments: tuple[Any, ...]) -> Any:
        arrays = [self._as_sweep_array(j, x) for j, x in enumerate(arguments)]
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
        # Read all descriptions now: a reverse sweep may overwrite them on the stack.
        places = [
            self._describe_result(out, top, scratch, arguments) for out in self.program.outputs
        ]
        for k, (out, (shape, seed)) in enumerate(zip(self.program.outputs, places, strict=True)):
            cell = seeds[k : k + 1] if seed is None else seed.reshape(-1)
            rows = self._zero_jacobians(shape, arguments)
            for i in range(cell.size if out.active else 0):
                if self.program.grows:
                    forward()  # the previous reverse sweep has overwritten the stack
                for adjoint in scratch.values():
                    adjoint[...] = 0
                cell[i] = 1.0
                reverse()
                self._copy_adjoints(rows, (*np.unravel_index(i, shape),), scratch)
                cell[i] = 0.0
            jacobians = [self._as_number(rows[j], arguments[j]) for j in self._argnums]
            results.append(jacobians[0] if self._single else tuple(jacobians))
        stack.give_back(arena, top - arena.start)
        return self._arrange(self.program.form, results)

    def _adjoint_slots(self) -> dict[int, int]:
        """Return the parameter slots of the arguments' adjoints, by argument number."""
        parameters = enumerate(self.program.parameters)
        return {p[1]: slot for slot, p in parameters if p[0] == "adjoint"}

    def _zero_jacobians(
        self, shape: tuple[int, ...], arguments: tuple[Any, ...]
    ) -> dict[int, Array]:
        """Return zero Jacobians of one result, by argument number."""
        return {
            j: np.zeros((*shape, *np.shape(arguments[j])), np.asarray(arguments[j]).dtype)
            for j in self._argnums
        }

    def _copy_adjoints(
        self, rows: dict[int, Array], at: tuple[Any, ...], scratch: dict[int, Array]
    ) -> None:
        """Copy the adjoints of one element of a result into the Jacobians."""
        slots = self._adjoint_slots()
        for j in self._argnums:
            if j in slots:
                rows[j][at] = scratch[slots[j]].reshape(rows[j][at].shape)

    def _as_sweep_array(self, j: int, x: object) -> Array:
        """Return an argument as an array that the sweeps may use: contiguous, a copy if written."""
        if type(x) is np.ndarray:
            return np.array(x, order="C") if j in self.program.written else np.ascontiguousarray(x)
        dtype = next(p[2] for p in self.program.parameters if p[1] == j)
        try:
            return np.array([x], dtype)
        except OverflowError:
            self.refuse_int(x)

    def _describe_result(
        self, out: Out, top: int, scratch: dict[int, Array], arguments: tuple[Any, ...]
    ) -> tuple[tuple[int, ...], Array | None]:
        """Return a result's shape, and the adjoint array of an array result."""
        if out.ndim < 0:
            return (), None
        if out.argument >= 0:
            shape = arguments[out.argument].shape
            slot = self._adjoint_slots().get(out.argument)
            return shape, np.zeros(shape) if slot is None else scratch[slot]
        size = sum(1 if o.ndim < 0 else 2 + o.ndim for o in self.program.outputs if o.argument < 0)
        words = array_at(top - 8 * (size - out.word), (2 + out.ndim,), np.int64)
        shape = tuple(words[2:].tolist())
        return shape, array_at(int(words[1]), shape, out.dtype) if out.active else np.zeros(shape)

    def _as_number(self, jacobian: Array, argument: object) -> Any:
        """Convert the derivative of a number by a number to a number of the argument's kind."""
        if jacobian.ndim:
            return jacobian
        return float(jacobian) if type(argument) is float else jacobian[()]

    def _arrange(self, form: int | tuple[Any, ...], parts: list[Any]) -> Any:
        if isinstance(form, tuple):
            return tuple(self._arrange(x, parts) for x in form)
        return parts[form]
