"""From rows to a CUDA kernel: the source text of one kernel for many elementwise rows.

The text says all there is to say: two groups with the same text share a kernel. What the rows
read comes in through its pointers, in three ways: an element each, one element for all, or spread
from another shape, by arithmetic on the index that is written out.
"""

from __future__ import annotations

import ast
import importlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..compile.lane_kernels import typed
from ..values.dtypes import DType
from ..values.spec import Spec

WIDTH = 4  # as in kernels/cuda/target.py (a test compares)
LONGEST = 128  # steps of a kernel: each takes some 8 ms to compile, and values stay in registers


class Step(NamedTuple):
    """An elementwise row: its body, its operands (numbers of values), dtypes of these, its own."""

    body: str
    operands: tuple[int, ...]
    dtypes: tuple[DType, ...]
    dtype: DType


class Loop(NamedTuple):
    """What a kernel computes. Its values are first the loads, then what the steps compute.

    Attributes:
      shape: That of the steps.
      loads: The spec of each operand from outside.
      steps: What is computed.
      stores: The values that are stored.
      reductions: Values that are reduced to one element, and the names of the reductions.
    """

    shape: tuple[int, ...]
    loads: tuple[Spec, ...]
    steps: tuple[Step, ...]
    stores: tuple[int, ...]
    reductions: tuple[tuple[str, int], ...]

    def dtype(self, value: int) -> DType:
        """The dtype of a value."""
        count = len(self.loads)
        return self.loads[value].dtype if value < count else self.steps[value - count].dtype


def stored(dtype: DType) -> str:
    """What an element is in memory."""
    return "uint8" if dtype.is_bool else dtype.name


def parameters(loop: Loop) -> list[str]:
    """The dtypes of a kernel's parameters; ``*`` stands before those of arrays."""
    values = [*range(len(loop.loads)), *loop.stores, *(value for _, value in loop.reductions)]
    return ["int64", *("*" + stored(loop.dtype(value)) for value in values)]


class _Named(ast.NodeTransformer):
    """Names of values for x, y and z, and functions by the dtype that they are for."""

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


def _line(loop: Loop, number: int) -> str:
    """What computes a step, as an assignment."""
    step = loop.steps[number]
    literal = step.dtypes[-1]
    names = {x: f"v{value}" for x, value in zip("xyz", step.operands, strict=False)}
    text = ast.unparse(_Named(names, literal).visit(typed(step.body, literal, step.dtype)))
    return f"    v{len(loop.loads) + number} = {step.dtype.name}({text})"


def _element(spec: Spec, shape: tuple[int, ...], i: str, small: bool) -> str:
    """The index in an operand of element ``i`` of ``shape``, to which it is broadcast."""
    kind = "uint32" if small else "int64"
    dims = (1,) * (len(shape) - len(spec.shape)) + tuple(spec.shape)
    # Neighbouring axes that are all broadcast, or all not, are one.
    axes: list[list[int]] = []
    for size, dim in zip(shape, dims, strict=True):
        if size == 1:
            continue
        if axes and (axes[-1][1] == 1) == (dim == 1):
            axes[-1] = [axes[-1][0] * size, axes[-1][1] * dim]
        else:
            axes.append([size, dim])
    terms, inner, stride = [], 1, 1
    for number, (size, dim) in enumerate(reversed(axes)):
        if dim != 1:
            at = i if inner == 1 else f"{i} // {kind}({inner})"
            if number < len(axes) - 1:
                at = f"({at}) % {kind}({size})"
            terms.append(at if stride == 1 else f"({at}) * {kind}({stride})")
            stride *= dim
        inner *= size
    return " + ".join(terms) or "0"


def written(loop: Loop) -> str:
    """The text of ``body``, which computes one element, and of ``kernel``, which calls it.

    ``kernel(n, *loads, *stores, *partials)`` computes ``n`` elements. Reductions leave a partial
    result for each block.
    """
    size = math.prod(loop.shape)
    small = size < 1 << 31
    ways = ["one" if spec.size == 1 else "each" if tuple(spec.shape) == loop.shape else "spread"
            for spec in loop.loads]  # fmt: skip
    values = [f"v{value}" for value in loop.stores] + [f"v{x}" for _, x in loop.reductions]
    loads = ", ".join(f"v{k}" for k in range(len(ways)))
    lines = [f"def body({loads}):"]
    lines += [_line(loop, number) for number in range(len(loop.steps))]
    lines += [f"    return ({', '.join(values)},)", ""]

    pointers = [f"p{k}" for k in range(len(ways))]
    outs = [f"out{k}" for k in range(len(loop.stores))]
    partials = [f"partial{k}" for k in range(len(loop.reductions))]
    lines.append(f"def kernel({', '.join(['n', *pointers, *outs, *partials])}):")
    for k, (name, value) in enumerate(loop.reductions):
        lines.append(f"    sum{k} = start_{name}_{loop.dtype(value).name}")
    # One element for all of a size that is not 1 is loaded before the loop.
    for k, way in enumerate(ways):
        if way == "one":
            lines.append(f"    v{k} = {_loaded(loop, k, '0')}")
    lines += ["    threads = cuda.gridsize(1)", "    i = cuda.grid(1)"]
    tail = size
    if size >= WIDTH and loop.shape:
        tail = size % WIDTH
        lines.append(f"    while i < n // {WIDTH}:")
        for k, way in enumerate(ways):
            if way == "each":
                lines.append(f"        e{k} = load(p{k}, i)")
        for lane in range(WIDTH):
            lines.append(f"        j = {'uint32' if small else 'int64'}({WIDTH} * i + {lane})")
            args = [
                f"v{k}" if way == "one" else _of(loop, k, f"e{k}[{lane}]") if way == "each"
                else _loaded(loop, k, _element(loop.loads[k], loop.shape, "j", small))
                for k, way in enumerate(ways)
            ]  # fmt: skip
            lines.append(f"        r{lane} = body({', '.join(args)})")
        for k, value in enumerate(loop.stores):
            found = ", ".join(_kept(loop, value, f"r{lane}[{k}]") for lane in range(WIDTH))
            lines.append(f"        store(out{k}, i, ({found}))")
        for k, (name, value) in enumerate(loop.reductions):
            for lane in range(WIDTH):
                lines.append(_combined(loop, k, name, value, f"r{lane}[{len(loop.stores) + k}]"))
        lines += ["        i += threads", f"    i = n // {WIDTH} * {WIDTH} + cuda.grid(1)"]
    if tail:
        lines += ["    while i < n:", f"        j = {'uint32' if small else 'int64'}(i)"]
        args = [
            f"v{k}" if way == "one" else _loaded(
                loop, k, "i" if way == "each" else _element(loop.loads[k], loop.shape, "j", small)
            )
            for k, way in enumerate(ways)
        ]  # fmt: skip
        lines.append(f"        r = body({', '.join(args)})")
        for k, value in enumerate(loop.stores):
            lines.append(f"        out{k}[i] = {_kept(loop, value, f'r[{k}]')}")
        for k, (name, value) in enumerate(loop.reductions):
            lines.append(_combined(loop, k, name, value, f"r[{len(loop.stores) + k}]"))
        lines.append("        i += threads")
    for k, (name, value) in enumerate(loop.reductions):
        lines.append(f"    sum{k} = together_{name}_{loop.dtype(value).name}(sum{k})")
        lines.append("    if cuda.threadIdx.x == 0:")
        lines.append(f"        partial{k}[cuda.blockIdx.x] = sum{k}")
    return "\n".join(lines) + "\n"


def _of(loop: Loop, value: int, element: str) -> str:
    """An element of memory as a value."""
    return f"{element} != 0" if loop.dtype(value).is_bool else element


def _loaded(loop: Loop, value: int, index: str) -> str:
    return _of(loop, value, f"p{value}[{index}]")


def _kept(loop: Loop, value: int, text: str) -> str:
    """A value as an element of memory."""
    return f"uint8({text})" if loop.dtype(value).is_bool else text


def _combined(loop: Loop, k: int, name: str, value: int, text: str) -> str:
    return f"        sum{k} = combine_{name}_{loop.dtype(value).name}(sum{k}, {text})"


def filled(dtype: str, value: str) -> str:
    """The text of a ``kernel(n, out, x)`` that sets all elements to a value."""
    return each("out, x", f"        out[t] = {dtype}({value})")


def each(arrays: str, *lines: str) -> str:
    """The text of a kernel that runs lines for each ``t`` below ``n``."""
    return "\n".join((
        f"def kernel(n, {arrays}):", "    t = cuda.grid(1)", "    while t < n:", *lines,
        "        t += cuda.gridsize(1)\n",
    ))  # fmt: skip


def function(text: str, reductions: Sequence[tuple[str, str]]) -> Any:
    """The function ``kernel`` of a text; ``reductions`` are names and dtypes of those in it."""
    target = importlib.import_module("numtape.kernels.cuda.target")
    scalar = importlib.import_module("numtape.kernels.cuda.scalar")
    reduce = importlib.import_module("numtape.kernels.cuda.reduce")
    scope: dict[str, Any] = {"__name__": "numtape.group", "cuda": target.cuda}
    scope |= target.KINDS | scalar.FUNCTIONS | {"load": target.load, "store": target.store}
    for name, dtype in reductions:
        scope[f"start_{name}_{dtype}"] = reduce.identity(name, dtype)
        scope[f"combine_{name}_{dtype}"] = reduce.COMBINE[f"{name}_{dtype}"]
        scope[f"together_{name}_{dtype}"] = reduce.together(name, dtype)
    scope |= {"load4": target.load, "store4": target.store}
    exec(compile(text, "<group>", "exec"), scope)
    if "body" in scope:
        scope["body"] = target.device(scope["body"])
    return scope["kernel"]
