"""Compiles the body of an op to a lane kernel, cached by content."""

from __future__ import annotations

import ast
import copy
import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ..log.log import Log
from ..log.op import CODES, VARIADIC, Op
from ..values.dtypes import DTYPES, DType
from ..values.spec import SPECS
from . import cache as disk
from .kernel_sources import kernel_source
from .tables import LANES

# The kernel modules that define the names in bodies.
VECTOR_SOURCES = (
    "constants",
    "jit",
    "numba_internals",
    "cpu.scalar",
    "functions.vector",
    "functions.value",
    "functions.exponential",
    "functions.logarithm",
    "functions.circular",
    "functions.elementary",
)
WRITERS = (*VECTOR_SOURCES, "body", "cpu.fused")  # modules that write loops of floats


def writers() -> str:
    """The text of the modules that write and compile loops of floats, as part of the cache key."""
    return kernel_source(*WRITERS) + Path(__file__).with_name("llvm.py").read_text("utf-8")


def lane_kernel(log: Log, row: int) -> None:
    """Compile the lane kernel of a row and enter it in the table."""
    op, _ = CODES.entries[log.code[row]]
    assert op.arity != VARIADIC
    operands = [log.a, log.b, log.c][: op.arity]
    dtypes = [DTYPES[SPECS.dtype[log.spec[column[row]]]] for column in operands]
    result = DTYPES[SPECS.dtype[log.spec[row]]]
    address = compile_lane(op, tuple(dtypes), result)
    LANES.add(op.lane, dtypes[-1].code, result.code, address)


@cache
def compile_lane(op: Op, operands: tuple[DType, ...], result: DType) -> int:
    """The address of the lane kernel of an op for these dtypes."""
    symbol = "_".join(["lane", op.name, *(dtype.name for dtype in operands), result.name])
    source = lane_source(op.body, symbol, operands, result)
    dtypes = tuple(dtype.name for dtype in operands)

    def build() -> disk.Built:
        fused = importlib.import_module("numtape.kernels.cpu.fused")
        if not fused.fits(op.body, dtypes, result.name):
            return _compile(symbol, source)
        step = fused.LoopStep(op.body, tuple(range(len(dtypes))), dtypes, result.name)
        return compile_written(symbol, lambda module: fused.write_kernel(module, symbol, step))

    return disk.load(symbol, writers() + source, build)[symbol]


def lane_source(body: str, symbol: str, operands: tuple[DType, ...], result: DType) -> str:
    """Source of the loop ``symbol(out, x, y, z, n)`` over addresses that computes a body.

    Number literals get the operands' dtype: a Python literal would turn float32 arithmetic
    into float64.
    """
    literal = operands[-1]
    tree = typed_body(body, literal, result)
    expression = ast.unparse(tree)
    lines = [f"def {symbol}(out_, x_, y_, z_, n):", f"    out = {result.name}_at(out_)"]
    for name, dtype in zip("xyz", operands, strict=False):
        lines.append(f"    {name}s = {dtype.name}_at({name}_)")
    loop = ["    for i in range(n):"]
    for name, dtype in zip("xyz", operands, strict=False):
        load = f"{name}s[i] != 0" if dtype.is_bool else f"{name}s[i]"
        loop.append(f"        {name} = {load}")
    lines += [*loop, f"        out[i] = {result.name}({expression})"]
    limited = _Limited()
    limited.visit(tree)
    if limited.arguments:
        # A second loop recomputes elements that are too large: a branch in the first one would
        # prevent vectorization. The output does not overlap the operands.
        beyond = " | ".join(f"beyond({argument})" for argument in limited.arguments)
        next_element = [
            f"        if {beyond}:",
            f"            out[i] = {result.name}({ast.unparse(tree)})",
        ]
        lines.insert(1, "    found = False")
        lines += [f"        found |= {beyond}", "    if found:"]
        lines += [f"    {line}" for line in (*loop, *next_element)]
    return "\n".join(lines) + "\n"


def typed_body(body: str, dtype: DType, result: DType) -> Any:
    """The tree of a body with literals of a dtype; the caller may change it."""
    parsed = importlib.import_module("numtape.kernels.body").parse_expression
    return _Typed(dtype, result).visit(copy.deepcopy(parsed(body)))


class _Typed(ast.NodeTransformer):
    """Gives literals a dtype; rewrites ``select(c, a, b)`` and ``cast(x)`` for Numba.

    A cast of a float that is out of an integer's range has a defined result.
    """

    def __init__(self, dtype: DType, result: DType) -> None:
        self._dtype, self._result = dtype, result

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or self._dtype.is_bool:
            return node
        if isinstance(node.value, float) and not self._dtype.is_floating:
            return node
        return ast.Call(ast.Name(self._dtype.name), [node], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        if node.func.id == "select":
            condition, yes, no = node.args
            return ast.IfExp(condition, yes, no)
        if node.func.id == "cast":
            if self._dtype.is_floating and self._result.is_integer:
                return ast.Call(ast.Name(f"to_{self._result.name}"), node.args, [])
            return node.args[0]
        return node


class _Limited(ast.NodeVisitor):
    """Replaces functions that are limited to small arguments by unlimited ones.

    Attributes:
      arguments: The arguments of their calls.
    """

    def __init__(self) -> None:
        self.arguments: list[str] = []

    def visit_Call(self, node: ast.Call) -> None:
        assert isinstance(node.func, ast.Name)
        if node.func.id in ("sin", "cos", "tan"):
            self.arguments.append(ast.unparse(node.args[0]))
            node.func.id = f"far_{node.func.id}"
        self.generic_visit(node)


def compile_written(symbol: str, write: Callable[[Any], None]) -> disk.Built:
    """Compile the function that ``write`` adds to a module: four times as fast as with Numba."""
    from llvmlite import ir

    from .llvm import compile_module

    module = ir.Module(symbol)
    write(module)
    return compile_module(module, [symbol])


def _compile(symbol: str, source: str) -> disk.Built:
    from numba import types

    from .numba_compiler import CompiledFunction, compile_unit

    jit = importlib.import_module("numtape.kernels.jit")
    scalar = importlib.import_module("numtape.kernels.cpu.scalar")
    scope: dict[str, Any] = {"__name__": "numtape.lanes"}
    scope |= scalar.FUNCTIONS
    scope |= {f"{name}_at": pointer for name, pointer in jit.POINTERS.items()}
    scope |= {dtype.name: getattr(types, dtype.name) for dtype in DTYPES if not dtype.is_bool}
    scope["bool"] = types.uint8
    exec(compile(source, f"<{symbol}>", "exec"), scope)
    built: disk.Built = compile_unit(
        symbol, [CompiledFunction(symbol, jit.jit(scope[symbol]), [""] * 5)]
    )
    return built
