"""Compile sweeps: their addresses, from the content-addressed code cache."""

from __future__ import annotations

import hashlib
import importlib
import math
from typing import Any, NamedTuple

import numpy as np

from ....errors import KernelError
from ...compile import cache as disk
from ...compile.kernel_sources import kernel_source
from ..program import LoopProgram


class Sweeps(NamedTuple):
    """The addresses of the forward and reverse sweep, and of the gradient, which runs both."""

    forward: int
    reverse: int
    gradient: int


_compiled: dict[str, Sweeps] = {}  # code is never unloaded, so it is loaded once

# The kernel modules that a sweep is compiled with.
_SOURCES = ("constants", "jit", "numba_internals", "loops.functions", "loops.stack")


def compile_sweeps(program: LoopProgram, fastmath: bool) -> Sweeps:
    """Return the addresses of the sweeps, compiled if necessary.

    Each takes the address of a block of words: ``program.parameters`` and the words after them.

    Raises:
      KernelError: If Numba cannot compile the text.
    """
    text = f"{program.key}\nfastmath={fastmath}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    symbol = f"{disk.EDITED}{program.name}_{digest}"
    if symbol not in _compiled:
        source = kernel_source(*_SOURCES) + text
        loaded = disk.load(symbol, source, lambda: _compile(symbol, program, fastmath))
        _compiled[symbol] = Sweeps(*(loaded[f"{symbol}_{part}"] for part in Sweeps._fields))
    return _compiled[symbol]


def _compile(symbol: str, program: LoopProgram, fastmath: bool) -> disk.Built:
    from numba import errors

    from ...compile.numba_compiler import CompiledFunction, compile_unit

    stack = importlib.import_module("numtape.kernels.loops.stack")
    # The name of an existing module: otherwise Numba cannot resolve recursive calls.
    scope: dict[str, Any] = {"__name__": stack.__name__, "math": math, "np": np, **stack.SCOPE}
    exec(compile(program.source, f"<{symbol}>", "exec"), scope)
    parameter_types = [
        "" if kind == "axis" else _pointer_type(dtype) for kind, _, dtype, _ in program.parameters
    ]
    types_after = {
        "forward": ["", "", "float64", "int64"],
        "reverse": ["", "float64"],
        "gradient": ["", "", "float64", "int64", "float64"],
    }
    for k in range(1, program.functions + 1):
        scope[f"F_{k}"] = stack.jit_sweep(scope[f"F_{k}"], fastmath)
        scope[f"R_{k}"] = stack.jit_sweep(scope[f"R_{k}"], stack.SUM_FASTMATH)
    functions = []
    for part, last_types in types_after.items():
        name = f"{program.name}_{part}"
        scope[name] = stack.jit_sweep(
            scope[name],
            fastmath if part == "forward" else (stack.SUM_FASTMATH if part == "reverse" else False),
        )
        functions.append(
            CompiledFunction(
                f"{symbol}_{part}", scope[name], [*parameter_types, *last_types], block=True
            )
        )
    try:
        built: disk.Built = compile_unit(symbol, functions)
    except errors.NumbaError as error:
        line, message = program.line, str(getattr(error, "msg", error)).strip().splitlines()
        text_line = getattr(getattr(error, "loc", None), "line", None)
        if text_line:  # a line of the text; the `# line` mark before it gives the source line
            lines_before = program.source.splitlines()[:text_line]
            marks = [x.split()[-1] for x in lines_before if x.strip().startswith("# line ")]
            line += int(marks[-1]) if marks else 0
        reasons = [x.strip() for x in message if "was expected" in x] or message or [str(error)]
        raise KernelError(
            f"code that Numba rejects: {reasons[0]}",
            program.file,
            line,
            "Write it with floats and ints of one dtype.",
        ) from error
    return built


def _pointer_type(dtype: str) -> str:
    return "uint8" if dtype == "bool" else dtype
