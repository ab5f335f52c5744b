"""Kernels and their derivatives as functions that other Numba code can call.

The functions here import Numba when they are called. Start with `gradient`.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import KernelError, ResourceExhaustedError
from ...compile.cache import in_this_thread
from ...ops.elementwise import stop_gradient
from ...values.memory import address_of
from ..analysis.types import DTYPE_NAMES
from ..emit.text import LINES, RAISED
from ..program import LoopProgram
from . import stack
from .invoke import error_of_status, read_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numba

    from ....kernel.kernel import Kernel

# The error statuses that a program's code returns.
_ERROR_STATUS = re.compile(r"return (\d+)$", re.MULTILINE)
HEADER_SIZE = 16  # bytes at the start of a stack, which hold its end address
_FREE_STACKS = np.zeros(stack.MAX_WAITING, np.int64)  # addresses of free stacks; 0 for none
_arenas: dict[int, stack.Arena] = {}


def _new_stack(_: int) -> int:
    """Allocate a stack, and return its address; 0 if memory is exhausted."""
    try:
        arena = stack.Arena(stack.SIZE)
    except ResourceExhaustedError:
        return 0
    ctypes.c_int64.from_address(arena.start).value = arena.end
    _arenas[arena.start] = arena
    return arena.start


def _drop_stack(start: int) -> int:
    """Release a stack."""
    _arenas.pop(start, None)
    return 0


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
_new_stack_function, _drop_stack_function = _FUNCTION(_new_stack), _FUNCTION(_drop_stack)


@cache
def runtime_functions() -> Any:
    """Register overloads for kernels. Return the jitted functions that take and return stacks."""
    from numba import njit
    from numba.extending import overload

    from ....kernels.jit import exchange, exchange_if

    slots, count = address_of(_FREE_STACKS), len(_FREE_STACKS)

    def plain(input: Any, name: str | None = None) -> Any:
        return lambda input, name=None: input

    plain.__annotations__.clear()  # Numba compares them
    overload(stop_gradient)(plain)

    def take() -> Any:
        for k in range(count):
            stack = exchange(slots + 8 * k, 0)
            if stack != 0:
                return stack
        return _new_stack_function(0)

    def give(start: int) -> None:
        for k in range(count):
            if exchange_if(slots + 8 * k, 0, start):
                return
        _drop_stack_function(start)

    compiled = njit(nogil=True)
    return compiled(take), compiled(give)


def gradient(kernel: Kernel, argnums: int | tuple[int, ...], with_value: bool) -> Any:
    """Return a jitted function for a kernel's gradient, specialized by Numba on argument types."""
    from numba import njit
    from numba.extending import overload

    take, give = runtime_functions()

    def stub(*args: object) -> Any:
        raise NotImplementedError

    def infer_type(*args: Any) -> Any:
        from numba import errors

        try:
            kinds = tuple(map(_kind, args))
            with in_this_thread():
                gradient_ = kernel._gradient_of(kinds, argnums)
            for j in gradient_.program.written:
                if not args[j].mutable:
                    raise KernelError(
                        read_only(j), gradient_.program.file, gradient_.program.line, "Pass a copy."
                    )
        except (KernelError, ValueError) as error:
            raise errors.TypingError(str(error)) from error
        scope = {
            "np": np,
            "sweeps": gradient_.sweeps,
            "take": take,
            "give": give,
            "plain": kernel.njit,
        }
        text = _text(
            gradient_.program,
            gradient_.argnums,
            gradient_.single,
            gradient_.limit,
            with_value,
            args,
            scope,
        )
        exec(compile(text, f"<call of {gradient_.program.name}>", "exec"), scope)
        return scope["call"]

    infer_type.__annotations__.clear()
    overload(stub, strict=False)(infer_type)
    names = ", ".join(f"x{j}" for j in range(kernel.python_function.__code__.co_argcount))
    scope: dict[str, Any] = {"stub": stub}
    exec(f"def gradient({names}): return stub({names})", scope)
    return njit(nogil=True)(scope["gradient"])


def _kind(kind: numba.types.Type) -> tuple[str, int]:
    """Return the dtype and number of axes of a Numba type."""
    from numba import types

    kind = types.unliteral(kind)
    if isinstance(kind, types.Omitted):
        raise KernelError("an argument that is left out", way="Give it.")
    ndim = kind.ndim if isinstance(kind, types.Array) else -1
    name = str(kind.dtype if ndim >= 0 else kind)
    if name not in DTYPE_NAMES or ndim == 0:
        raise KernelError(f"an argument of type {kind}", way=f"Use {', '.join(DTYPE_NAMES)}.")
    return name, ndim


def _text(
    program: LoopProgram,
    argnums: tuple[int, ...],
    single: bool,
    limit: int | None,
    with_value: bool,
    types: Sequence[numba.types.Type],
    scope: dict[str, Any],
) -> str:
    """Return the text of a gradient call."""
    parameters = program.parameters
    arrays = {j: dtype for kind, j, dtype, _ in parameters if kind == "array"}
    count = 1 + max((j for _, j, _, _ in parameters), default=-1)
    words = len(parameters) + 5
    cells = words
    lines: list[str] = []
    for j in arrays:
        conversion = "x{0}.copy()" if j in program.written else "np.ascontiguousarray(x{0})"
        lines.append(f"c{j} = {conversion.format(j)}")
    for j in program.written:
        for i in arrays:
            if i != j:
                lines.append(
                    f"if x{i}.ctypes.data < x{j}.ctypes.data + x{j}.nbytes and "
                    f"x{j}.ctypes.data < x{i}.ctypes.data + x{i}.nbytes: raise KernelError("
                    "'arguments that overlap in memory where one is written to')"
                )
    scope["KernelError"] = KernelError
    fill: list[str] = []
    slopes: dict[int, str] = {}
    for slot, (kind, j, dtype, k) in enumerate(parameters):
        if kind == "array":
            fill.append(f"block[{slot}] = c{j}.ctypes.data")
        elif kind == "axis":
            fill.append(f"block[{slot}] = x{j}.shape[{k}]")
        elif kind == "adjoint" and j in arrays:
            lines.append(f"g{j} = np.zeros(x{j}.shape, np.{dtype})")
            fill.append(f"block[{slot}] = g{j}.ctypes.data")
            slopes[j] = f"g{j}"
        else:
            fill.append(f"block[{slot}] = at + {8 * cells}")
            if kind == "number":
                name = "bool_" if dtype == "bool" else dtype
                fill.append(f"block[{cells}:{cells + 1}].view(np.{name})[0] = x{j}")
            else:
                result_dtype = next(d for a, i, d, _ in parameters if i == j and a == "number")
                slopes[j] = f"np.{result_dtype}(floats[{cells}])"
            cells += 1
    top = words - 5
    lines += [
        f"block = np.zeros({cells + 3}, np.int64)",
        "floats = block.view(np.float64)",
        "at = block.ctypes.data",
        *fill,
        "start = take()",
        "if start == 0: raise ResourceExhaustedError('There is no memory for a stack.')",
        f"block[{top}] = start + {HEADER_SIZE}",
        f"block[{top + 1}] = end_of(start)",
        *(
            [f"block[{top + 1}] = min(block[{top + 1}], start + {HEADER_SIZE + limit})"]
            if limit
            else []
        ),
        *(f"block[{top + 2 + k}] = at + {8 * (cells + k)}" for k in range(3)),
        f"floats[{cells + 2}] = 1.0",
        "status = sweeps(at)",
        "give(start)",
    ]
    scope["ResourceExhaustedError"] = ResourceExhaustedError
    argument_text = ", ".join(
        f"x{j}.copy()" if j in program.written else f"x{j}" for j in range(count)
    )
    lines += _error_lines(program, argument_text, scope)
    value = f"floats[{cells}]"
    value = f"np.float32({value})" if program.result == "float32" else value
    results = [slopes[j] for j in argnums]
    gradient = results[0] if single else f"({', '.join(results)},)"
    lines.append(f"return {value}, {gradient}" if with_value else f"return {gradient}")
    names = ", ".join(f"x{j}" for j in range(count))
    from ....kernels.jit import word

    scope["end_of"] = word
    return "\n".join([f"def call({names}):", *(f"    {line}" for line in lines)])


def _error_lines(program: LoopProgram, argument_text: str, scope: dict[str, Any]) -> list[str]:
    """Return the lines that raise the error of a status."""
    lines = ["if status:", f"    kind, which = status & {(1 << LINES) - 1}, status >> {LINES}"]
    for status in sorted({int(code) for code in _ERROR_STATUS.findall(program.source)}):
        if status and status & ((1 << LINES) - 1) != RAISED:
            error, message = error_of_status(program, status)
            scope[error.__name__] = error
            lines.append(f"    if status == {status}: raise {error.__name__}({message!r})")
    for k, raised in enumerate(program.raised):
        scope[f"Raised{k}"] = raised.kind
        values = raised.arguments
        if values is None:  # not constant: running the function raises it
            lines.append(f"    if kind == {RAISED} and which == {k}: plain({argument_text})")
            values = ()
        are_constants = all(isinstance(x, str | int | float) for x in values)
        text = ", ".join(map(repr, values)) if are_constants else ""
        lines.append(f"    if kind == {RAISED} and which == {k}: raise Raised{k}({text})")
    return lines


def plain(
    function: FunctionType,
    options: dict[str, Any],
    compiled: dict[Any, Any],
    kernels: dict[Any, Any],
) -> Any:
    """Return the Numba dispatcher of a function, and of the kernels and functions that it calls.

    Args:
      function: The function of a kernel, or one that it calls.
      options: The options of ``numba.njit``.
      compiled: The dispatchers of the kernel's functions so far.
      kernels: The dispatchers of kernels in progress, which may call each other.
    """
    from numba import njit

    runtime_functions()
    if function in compiled:
        return compiled[function]
    code = function.__code__

    def replace(value: Any) -> Any:
        if hasattr(type(value), "_jitted"):
            return kernels.get(value.python_function) or value._jit(kernels)
        if value is stop_gradient or not isinstance(value, FunctionType):
            return value
        return plain(value, options, compiled, kernels)

    scope = {**function.__globals__}
    copied = FunctionType(
        code,
        scope,
        function.__name__,
        function.__defaults__,
        _cells(function.__closure__, replace),
    )
    copied.__kwdefaults__, copied.__module__ = function.__kwdefaults__, function.__module__
    copied.__qualname__ = function.__qualname__
    dispatcher = njit(copied, **options)
    if not compiled:  # the kernel's own function
        kernels[function] = dispatcher
    compiled[function] = dispatcher
    for name in code.co_names:
        if name in scope:
            scope[name] = replace(scope[name])
    return dispatcher


def _cells(cells: tuple[CellType, ...] | None, replaced: Callable[[Any], Any]) -> Any:
    if cells is None:
        return None
    return tuple(CellType(replaced(cell.cell_contents)) for cell in cells)
