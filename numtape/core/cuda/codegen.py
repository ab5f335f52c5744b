"""Code generation: from elementwise rows to the source text of one CUDA kernel.

Input: a `KernelLoop`. `loop_source` returns the text, and `function` compiles it to a function.
The text is complete: groups with the same text share a kernel. Operands come through pointers and
are read in one of three ways: elementwise, one element for all, or broadcast from another shape,
with the index arithmetic written out.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import math
import re
from collections.abc import Sequence
from types import FunctionType
from typing import Any, NamedTuple

from ...kernels.constants import CUDA_VECTOR
from ..compile.lane_kernels import typed_body
from ..values.dtypes import DType
from ..values.spec import Spec

_CALL = re.compile(r"\b(?!(?:select|cast)\b)\w+\(")  # in bodies
SHORT = 4  # most steps of a kernel that is bound by memory
AHEAD, MOST = 64, 4  # most bytes, and vectors, that a thread of such a kernel loads before waiting
LONGEST = 128  # most steps of a kernel: each takes some 8 ms to compile; values stay in registers


class KernelStep(NamedTuple):
    """An elementwise row: op body, operands (numbers of values), operand dtypes, result dtype."""

    body: str
    operands: tuple[int, ...]
    dtypes: tuple[DType, ...]
    dtype: DType


class KernelLoop(NamedTuple):
    """The computation of an elementwise kernel. Values are numbered: first the loads, then steps.

    Attributes:
      shape: The shape of the steps.
      loads: The specs of the operands loaded from memory.
      steps: The computed values.
      stores: The numbers of the values that are stored.
      reductions: Reductions to one element: the name of the reduction, the number of the value.
    """

    shape: tuple[int, ...]
    loads: tuple[Spec, ...]
    steps: tuple[KernelStep, ...]
    stores: tuple[int, ...]
    reductions: tuple[tuple[str, int], ...]

    def dtype(self, value: int) -> DType:
        """The dtype of a value."""
        count = len(self.loads)
        return self.loads[value].dtype if value < count else self.steps[value - count].dtype


def width(loop: KernelLoop) -> int:
    """How many adjacent elements a thread loads at a time.

    Elements of 8 bytes take two registers each; with four of them, occupancy would be low.
    """
    values = range(len(loop.loads) + len(loop.steps))
    has_8_byte_values = any(loop.dtype(value).size > 4 for value in values)
    count: int = CUDA_VECTOR // 2 if has_8_byte_values else CUDA_VECTOR
    return count


def share(loop: KernelLoop) -> int:
    """How many adjacent elements a thread owns.

    With reductions the number is fixed, so that the order of combination, and thus the bits, do
    not depend on the rest of the group.
    """
    return CUDA_VECTOR if loop.reductions else width(loop)


def memory_dtype(dtype: DType) -> str:
    """The dtype of an element in memory: bools are bytes."""
    return "uint8" if dtype.is_bool else dtype.name


def parameters(loop: KernelLoop) -> list[str]:
    """The dtypes of a kernel's parameters; ``*`` marks arrays."""
    values = [*range(len(loop.loads)), *loop.stores, *(value for _, value in loop.reductions)]
    return ["int64", *("*" + memory_dtype(loop.dtype(value)) for value in values)]


class _Named(ast.NodeTransformer):
    """Replaces x, y and z by names of values, and adds the dtype to names of functions."""

    def __init__(self, names: dict[str, str], dtype: DType) -> None:
        self._names, self._dtype = names, dtype

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._names.get(node.id, node.id))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        assert isinstance(node.func, ast.Name)
        args = [self.visit(arg) for arg in node.args]
        kind = node.func.id == self._dtype.name  # a literal's
        name = node.func.id if kind else f"{node.func.id}_{self._dtype.name}"
        return ast.Call(ast.Name(name), args, [])


def _line(loop: KernelLoop, number: int) -> str:
    """The assignment that computes a step."""
    step = loop.steps[number]
    literal = step.dtypes[-1]
    names = {x: f"v{value}" for x, value in zip("xyz", step.operands, strict=False)}
    text = ast.unparse(_Named(names, literal).visit(typed_body(step.body, literal, step.dtype)))
    return f"    v{len(loop.loads) + number} = {step.dtype.name}({text})"


def _lines(loop: KernelLoop) -> list[str]:
    """The assignments that compute the steps.

    A sin and a cos of one value are computed together: they share most of their work, and
    libdevice's sincos gives the same bits as the separate functions.
    """
    lines, count = [], len(loop.loads)
    at = {(step.body, step.operands): k for k, step in enumerate(loop.steps)}
    for number, step in enumerate(loop.steps):
        both = [at.get((body, step.operands), -1) for body in ("sin(x)", "cos(x)")]
        if number not in both or -1 in both:
            lines.append(_line(loop, number))
        elif number == min(both):
            names = ", ".join(f"v{count + k}" for k in both)
            lines.append(f"    {names} = sincos_{step.dtype.name}(v{step.operands[0]})")
    return lines


class _Axes(NamedTuple):
    """How an operand is broadcast to a shape.

    Attributes:
      sizes: The sizes of the shape's axes, the innermost first. Adjacent axes are merged if the
        operand has both or neither.
      own: Whether the operand has the axis; it is broadcast along the others.
    """

    sizes: tuple[int, ...]
    own: tuple[bool, ...]

    @classmethod
    def of(cls, spec: Spec, shape: tuple[int, ...]) -> _Axes:
        """The axes of an operand that is broadcast to ``shape``."""
        dims = (1,) * (len(shape) - len(spec.shape)) + tuple(spec.shape)
        sizes: list[int] = []
        own: list[bool] = []
        for size, dim in zip(reversed(shape), reversed(dims), strict=True):
            if size == 1:
                continue
            if own and own[-1] == (dim != 1):
                sizes[-1] *= size
            else:
                sizes.append(size)
                own.append(dim != 1)
        return cls(tuple(sizes), tuple(own))

    def way(self, lanes: int) -> str:
        """How ``lanes`` adjacent elements are loaded: "vector", "one" for all, or "each" alone."""
        if self.own == (True,):
            return "vector"
        if self.sizes[0] % lanes:
            return "each"
        return "vector" if self.own[0] else "one"

    def place(self, i: str, kind: str, lanes: int = 1) -> str:
        """The operand's index for element ``i`` of the shape, or for vector ``i`` of ``lanes``."""
        terms, inner, stride = [], 1, 1
        for number, (size, own) in enumerate(zip(self.sizes, self.own, strict=True)):
            if number == 0:
                size //= lanes
            if own:
                at = i if inner == 1 else f"{i} // {kind}({inner})"
                if number < len(self.sizes) - 1:
                    at = f"({at}) % {kind}({size})"
                terms.append(at if stride == 1 else f"({at}) * {kind}({stride})")
                stride *= size
            inner *= size
        return " + ".join(terms)


def loop_source(loop: KernelLoop) -> str:
    """The text of ``body``, which computes one element, and of ``kernel``, which calls it.

    ``kernel(n, *loads, *stores, *partials)`` computes ``n`` elements. Each block writes one
    partial result for each reduction.
    """
    size, each = math.prod(loop.shape), share(loop)
    kind = "uint32" if size < 1 << 31 else "int64"
    # Operands of one element are loaded before the loop.
    axes = {k: _Axes.of(spec, loop.shape) for k, spec in enumerate(loop.loads) if spec.size != 1}
    values = [f"v{value}" for value in loop.stores] + [f"v{x}" for _, x in loop.reductions]
    loads = ", ".join(f"v{k}" for k in range(len(loop.loads)))
    lines = [f"def body({loads}):", *_lines(loop), f"    return ({', '.join(values)},)", ""]

    pointers = [f"p{k}" for k in range(len(loop.loads))]
    outputs = [f"out{k}" for k in range(len(loop.stores))]
    partials = [f"partial{k}" for k in range(len(loop.reductions))]
    lines.append(f"def kernel({', '.join(['n', *pointers, *outputs, *partials])}):")
    for k, (name, value) in enumerate(loop.reductions):
        lines.append(f"    sum{k} = start_{name}_{loop.dtype(value).name}")
    lines += [f"    v{k} = {_load(loop, k, '0')}" for k in range(len(pointers)) if k not in axes]
    lines.append(f"    i = {kind}(cuda.grid(1))")
    if size >= each and loop.shape:
        lines += _vectors(loop, axes, kind)
        lines.append(f"    i = {kind}(cuda.grid(1) + {each} * end)")
    if size < each or size % each or not loop.shape:  # fewer than a block has threads
        lines.append(f"    if i < {kind}(n):")
        args = [
            _load(loop, k, axes[k].place("i", kind)) if k in axes else f"v{k}"
            for k in range(len(pointers))
        ]
        lines.append(f"        r = body({', '.join(args)})")
        for k, value in enumerate(loop.stores):
            lines.append(f"        out{k}[i] = {_to_memory(loop, value, f'r[{k}]')}")
        for k, (name, value) in enumerate(loop.reductions):
            lines.append(_combine(loop, k, name, value, f"r[{len(loop.stores) + k}]"))
    for k, (name, value) in enumerate(loop.reductions):
        lines.append(f"    sum{k} = together_{name}_{loop.dtype(value).name}(sum{k})")
        lines.append("    if cuda.threadIdx.x == 0:")
        lines.append(f"        partial{k}[cuda.blockIdx.x] = sum{k}")
    return "\n".join(lines) + "\n"


def _vectors(loop: KernelLoop, axes: dict[int, _Axes], kind: str) -> list[str]:
    """The loop over whole shares of elements, in vectors; the caller handles the rest."""
    lanes, each = width(loop), share(loop)
    lines = [
        f"    end = {kind}({kind}(n) // {kind}({each}))",
        f"    threads = {kind}(cuda.gridsize(1))",
    ]
    # In a short loop a thread loads several vectors before it waits for the first.
    size = sum(each * loop.dtype(k).size for k in axes if axes[k].way(lanes) == "vector")
    short = len(loop.steps) <= SHORT and not any(_CALL.search(step.body) for step in loop.steps)
    many = min(MOST, AHEAD // size) if size and short else 1
    if many > 1:
        lines.append(f"    while {kind}(i + {many - 1} * threads) < end:")
        lines += _round(loop, axes, kind, many)
    lines.append("    while i < end:")
    return lines + _round(loop, axes, kind, 1)


def _round(loop: KernelLoop, axes: dict[int, _Axes], kind: str, many: int) -> list[str]:
    """The lines by which a thread computes ``many`` shares, ``i`` being the first."""
    loaded, computed = [], []
    parts = share(loop) // width(loop)
    for u in range(many):
        for part in range(parts):
            name = f"{u}_{part}"
            at = f"i + {u} * threads" if u else "i"
            loaded.append(
                [
                    f"        a{name} = {kind}({parts} * ({at}) + {part})"
                    if parts > 1
                    else f"        a{name} = {kind}({at})",
                    *_arguments(loop, axes, kind, name),
                ]
            )
            computed.append(_results(loop, axes, kind, name))
    if many > 1:  # all loads first
        passes = [*loaded, *computed]
    else:
        passes = [line for both in zip(loaded, computed, strict=True) for line in both]
    return [*itertools.chain(*passes), f"        i = {kind}(i + {many} * threads)"]


def _arguments(loop: KernelLoop, axes: dict[int, _Axes], kind: str, name: str) -> list[str]:
    """The lines that load the operands of vector ``a{name}``, except those loaded one by one."""
    arguments, lanes = [], width(loop)
    for k in axes:
        way, index = axes[k].way(lanes), axes[k].place(f"a{name}", kind, lanes)
        if way == "vector":
            arguments.append(f"        e{k}_{name} = load{lanes}(p{k}, {index})")
        elif way == "one":
            arguments.append(f"        e{k}_{name} = {_load(loop, k, index)}")
    return arguments


def _results(loop: KernelLoop, axes: dict[int, _Axes], kind: str, name: str) -> list[str]:
    """The lines that compute, store and reduce vector ``a{name}``."""
    results, lanes = [], width(loop)
    ways = {k: axes[k].way(lanes) for k in axes}
    for lane in range(lanes):
        args = {k: f"v{k}" for k in range(len(loop.loads))}
        if "each" in ways.values():
            results.append(f"        b = {kind}({lanes} * a{name} + {lane})")
        for k, way in ways.items():
            args[k] = (
                _of(loop, k, f"e{k}_{name}[{lane}]")
                if way == "vector"
                else f"e{k}_{name}"
                if way == "one"
                else _load(loop, k, axes[k].place("b", kind))
            )
        results.append(f"        r{lane} = body({', '.join(args.values())})")
    for k, value in enumerate(loop.stores):
        values = ", ".join(_to_memory(loop, value, f"r{lane}[{k}]") for lane in range(lanes))
        results.append(f"        store{lanes}(out{k}, a{name}, ({values}))")
    for k, (reduction, value) in enumerate(loop.reductions):
        for lane in range(lanes):
            result = f"r{lane}[{len(loop.stores) + k}]"
            results.append(_combine(loop, k, reduction, value, result))
    return results


def _of(loop: KernelLoop, value: int, element: str) -> str:
    """An element of memory as a value."""
    return f"{element} != 0" if loop.dtype(value).is_bool else element


def _load(loop: KernelLoop, value: int, index: str) -> str:
    return _of(loop, value, f"p{value}[{index}]")


def _to_memory(loop: KernelLoop, value: int, text: str) -> str:
    """A value as an element of memory."""
    return f"uint8({text})" if loop.dtype(value).is_bool else text


def _combine(loop: KernelLoop, k: int, name: str, value: int, text: str) -> str:
    return f"        sum{k} = combine_{name}_{loop.dtype(value).name}(sum{k}, {text})"


def fill_source(dtype: str, value: str) -> str:
    """The text of a ``kernel(n, out, x)`` that sets all elements to a value."""
    return each("out, x", f"        out[t] = {dtype}({value})")


def each(arrays: str, *lines: str) -> str:
    """The text of a kernel that runs lines for each ``t`` below ``n``."""
    return "\n".join(
        (
            f"def kernel(n, {arrays}):",
            "    t = cuda.grid(1)",
            "    while t < n:",
            *lines,
            "        t += cuda.gridsize(1)\n",
        )
    )


def function(text: str, reductions: Sequence[tuple[str, str]], kernels: Sequence[Any] = ()) -> Any:
    """Return the function ``kernel`` that a text defines.

    Args:
      text: The source text.
      reductions: The names and dtypes of the reductions in it.
      kernels: The kernels that it calls as ``kernel0`` and so on.
    """
    target = importlib.import_module("numtape.kernels.cuda.target")
    scalar = importlib.import_module("numtape.kernels.cuda.scalar")
    reduce = importlib.import_module("numtape.kernels.cuda.reduce")
    scope: dict[str, Any] = {"__name__": "numtape.group", "cuda": target.cuda}
    scope |= target.KINDS | scalar.FUNCTIONS | {"load": target.load, "store": target.store}
    scope |= target.VECTORS
    for name, dtype in reductions:
        scope[f"start_{name}_{dtype}"] = reduce.identity(name, dtype)
        scope[f"combine_{name}_{dtype}"] = reduce.COMBINE[f"{name}_{dtype}"]
        scope[f"together_{name}_{dtype}"] = reduce.reduce_block(name, dtype)
    scope |= {f"kernel{k}": target.device(value) for k, value in enumerate(kernels)}
    exec(compile(text, "<group>", "exec"), scope)
    for name, value in list(scope.items()):
        if type(value) is FunctionType and value.__globals__ is scope and name != "kernel":
            scope[name] = target.device(value)
    return scope["kernel"]


def in_turn(values: Sequence[Sequence[str]], places: Sequence[Sequence[str]]) -> str:
    """The text of a one-block kernel that calls others in turn, with a barrier after each.

    Its arguments are the values for all of them, then their arrays.
    """
    names = [name for part in (*values, *places) for name in part]
    calls = [
        f"    kernel{k}({', '.join([*args, *arrays])})\n    cuda.syncthreads()\n"
        for k, (args, arrays) in enumerate(zip(values, places, strict=True))
    ]
    return f"def kernel({', '.join(names)}):\n{''.join(calls)}"


def side_by_side(texts: Sequence[str], counts: Sequence[int], threads: int) -> str:
    """The text of a kernel that runs several kernels of `loop_source`, ``counts`` blocks of each.

    Its arguments are their numbers of elements, then their arrays.
    """
    lines, sizes, arrays, calls = [], [], [], []
    distinct = list(dict.fromkeys(texts))
    for k, text in enumerate(distinct):
        part = re.sub(r"\bbody\(", f"body{k}(", text)
        part = part.replace("cuda.gridsize(1)", "across").replace("cuda.grid(1)", "first")
        lines.append(part.replace("def kernel(", f"def part{k}(first, across, "))
    begin = 0
    for k, (text, count) in enumerate(zip(texts, counts, strict=True)):
        names = text.partition("def kernel(n, ")[2].partition(")")[0].split(", ")
        pointers = [f"{name}_{k}" for name in names]
        sizes.append(f"n{k}")
        arrays += pointers
        args = ", ".join([f"first - {begin * threads}", str(count * threads), f"n{k}", *pointers])
        calls.append(f"    {'el' if k else ''}if cuda.blockIdx.x < {begin + count}:")
        calls.append(f"        part{distinct.index(text)}({args})")
        begin += count
    lines += [f"def kernel({', '.join(sizes + arrays)}):", "    first = cuda.grid(1)", *calls]
    return "\n".join(lines) + "\n"
