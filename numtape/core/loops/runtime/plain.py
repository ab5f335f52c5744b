"""The sweeps run as plain Python: the meaning of their text without a compiler."""

from __future__ import annotations

import importlib
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ...values.memory import Array
from ..analysis.types import SIZES
from ..program import LoopProgram

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_ARGUMENT_ADDRESS = 1 << 40  # addresses from here on, beyond any stack, stand for arguments


def run(
    program: LoopProgram,
    arguments: list[Any],
    stack: int = 1 << 20,
    count: Callable[[int, tuple[int, ...]], object] | None = None,
) -> tuple[int, Any, list[Any]]:
    """Run both sweeps as plain Python.

    Args:
      program: The sweeps.
      arguments: The function's arguments; arrays are C-contiguous. They are not changed.
      stack: The stack's size in bytes.
      count: If given, it is called with the size in bytes and the source lines of each value that
        the forward sweep stores, and the reverse sweep does not run.

    Returns:
      The status, the value, and the adjoint of each argument; None for arguments without one.
    """
    arguments = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    memory = np.zeros(stack, np.uint8)
    views = {name: memory.view(name) for name in SIZES if name != "bool"} | {"bool": memory}
    scope: dict[str, Any] = {"math": math, "np": np}
    functions = importlib.import_module("numtape.kernels.loops.functions")
    scope |= {function.__name__: function for function in functions.NAMED}
    addressed_arrays: list[Array] = []  # arguments whose address the text takes

    def address_of(array: Array) -> int:
        addressed_arrays.append(array)
        return len(addressed_arrays) * FIRST_ARGUMENT_ADDRESS

    def at(place: int, memory: Array, size: int) -> Array:
        place = int(place)  # a value from the stack may be an int32
        return (
            addressed_arrays[place // FIRST_ARGUMENT_ADDRESS - 1]
            if place >= FIRST_ARGUMENT_ADDRESS
            else memory
        )[place % FIRST_ARGUMENT_ADDRESS // size :]

    scope["address_of"] = address_of
    for name, size in SIZES.items():
        scope[f"{name}_at"] = lambda place, w=views[name], size=size: at(place, w, size)
        scope[f"{name}_of"] = lambda value: value
    scope["COUNT"] = count
    source = program.source if count is None else _insert_counts(program.source)
    exec(compile(source, f"<{program.name}>", "exec"), scope)
    argument_values: list[Any] = []
    adjoints: dict[int, Array] = {}
    for kind, j, dtype, k in program.parameters:
        argument = arguments[j]
        if kind == "array":
            argument_values.append(argument.reshape(-1))
        elif kind == "axis":
            argument_values.append(argument.shape[k])
        elif kind == "number":
            argument_values.append([argument])
        else:
            shape = argument.shape if isinstance(argument, np.ndarray) else (1,)
            adjoints[j] = np.zeros(shape, dtype)
            argument_values.append(adjoints[j].reshape(-1))
    out, mark = [0.0], [0]
    with np.errstate(over="ignore"):  # unsigned ints wrap around, as intended
        status = scope[f"{program.name}_forward"](*argument_values, 0, stack, out, mark)
        if not status and count is None:
            status = scope[f"{program.name}_reverse"](*argument_values, mark[0], [1.0])
    return status, out[0], [adjoints.get(j) for j in range(len(arguments))]


_STORING_LINE = re.compile(r"( *)SP \+= (.*?)  # for ([\d ]+)")


def _insert_counts(source: str) -> str:
    """Insert a call of COUNT after each line that takes stack space."""
    lines = []
    for line in source.splitlines():
        lines.append(line)
        match = _STORING_LINE.fullmatch(line)
        if match:
            lines.append(f"{match[1]}COUNT({match[2]}, ({', '.join(match[3].split())},))")
    return "\n".join(lines)
