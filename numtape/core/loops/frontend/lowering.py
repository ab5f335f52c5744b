"""Lowering: from a function's syntax tree to statements of one operation each.

`normal` takes a function and the kinds of its arguments, and returns a `Body` of `core.loops.ir`:
helpers are inlined, and there is one exit. Start reading at `Lowering.function`, the first method
of the last section.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from ..analysis.callees import Functions
from ..analysis.types import DTYPE_NAMES, INTS
from ..ir import (
    ONE_NUMBER,
    WRITES,
    Alloc,
    ArrayType,
    Assign,
    Body,
    Branch,
    Call,
    ForRange,
    Lines,
    Node,
    Raised,
    While,
    address,
    is_constant,
    shadow,
    walk,
)
from ..rules import ARITY, CALLED, FUNCTIONS
from .jumps import JumpElimination
from .scope import ExpressionValue, Frame, Grid, Lazy, Places, View
from .source import MISSING, FunctionSource

# Templates of the code of steps that are not in `FUNCTIONS`.
_TEXTS = {
    "not": "not {0}",
    "truth": "bool({0})",
    "wrap": "({0} if {0} >= 0 else {0} + {1})",
    "castfloat64": "float({0})",
    "castfloat32": "np.float32({0})",
    "castint64": "int({0})",
    "castint": "int({0})",
    "castreal": "{0}",
    "castbool": "bool({0})",
    "start": "{0}",
    "weak": "{0}",
    "beyond": "{0} + {1}",
}


def constant(operand: str) -> int | float | None:
    """Return the number that an operand is the text of; None for a name."""
    if not is_constant(operand) or operand in ("True", "False"):
        return None
    if operand.lstrip("-").startswith("math."):
        return float(operand.replace("math.", ""))
    return int(operand) if re.fullmatch(r"-?\d+", operand) else float(operand)


_FOLDED: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def fold_constants(node: ast.expr) -> int | float | None:
    """Fold constants like Python, which makes 0.5 of ``2 ** -1`` before Numba sees it."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = fold_constants(node.operand)
        return None if number is None else -number
    if not isinstance(node, ast.BinOp) or type(node.op) not in _FOLDED:
        return None
    left, right = fold_constants(node.left), fold_constants(node.right)
    if left is None or right is None:
        return None
    if (
        isinstance(node.op, ast.Pow)
        and isinstance(left, int)
        and isinstance(right, int)
        and (
            left.bit_length() * right > 128  # Python does not fold larger powers
        )
    ):
        return None
    try:
        number = _FOLDED[type(node.op)](left, right)
    except ArithmeticError:
        return None
    return number if isinstance(number, int | float) else None


def is_new_axis(node: object) -> bool:
    """Whether an index stands for a new axis."""
    return (isinstance(node, ast.Constant) and node.value is None) or (
        isinstance(node, ast.Attribute) and node.attr == "newaxis"
    )


def is_ellipsis(node: object) -> bool:
    """Whether an index is ``...``."""
    return isinstance(node, ast.Constant) and node.value is Ellipsis


SMALL = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32")


OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
COMPARED = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
MOST_CONSTANTS = 100  # elements of a constant array


REDUCED: dict[Any, str] = {
    np.sum: "sum",
    np.prod: "prod",
    np.mean: "mean",
    np.max: "max",
    np.min: "min",
    np.argmax: "argmax",
    np.argmin: "argmin",
    np.any: "any",
    np.all: "all",
    np.var: "var",
    np.std: "std",
}
METHODS = frozenset(REDUCED.values())


CASTS: dict[Any, str] = {
    float: "float64",
    np.float64: "float64",
    np.float32: "float32",
    int: "int",
    np.int64: "int64",
    bool: "bool",
}


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# The suffix of the `_make_` method, and the least and most arguments.
MADE: dict[Any, tuple[str, int, int]] = {
    np.dot: ("dot", 2, 2),
    np.vdot: ("dot", 2, 2),
    np.matmul: ("dot", 2, 2),
    np.outer: ("outer", 2, 2),
    np.transpose: ("transpose", 1, 1),
    np.reshape: ("reshape", 2, 2),
    np.ravel: ("ravel", 1, 1),
    np.asarray: ("asarray", 1, 1),
    np.copy: ("copy", 1, 1),
    np.ascontiguousarray: ("ordered", 1, 1),
    np.array: ("array", 1, 1),
    np.full: ("full", 2, 3),
    np.full_like: ("full_like", 2, 3),
    np.linspace: ("linspace", 2, 3),
    np.arange: ("arange", 1, 3),
    np.eye: ("eye", 1, 1),
    np.identity: ("eye", 1, 1),
    np.logical_and: ("and", 2, 2),
    np.logical_or: ("or", 2, 2),
    np.logical_not: ("not", 1, 1),
    np.clip: ("clip", 3, 3),
    np.expand_dims: ("expand_dims", 2, 2),
    np.shape: ("shape", 1, 1),
    np.size: ("size", 1, 1),
    np.trace: ("trace", 1, 1),
    np.cumsum: ("cumsum", 1, 1),
    np.diff: ("diff", 1, 1),
    np.count_nonzero: ("count_nonzero", 1, 1),
    np.linalg.norm: ("norm", 1, 1),
    np.flatnonzero: ("flatnonzero", 1, 1),
    np.take: ("take", 2, 2),
}
BUILTIN: dict[Any, str] = {sum: "sum", max: "max", min: "min"}  # with one array as argument
OF_ARRAYS = {
    "copy": 0,
    "dot": 1,
    "transpose": 0,
    "reshape": 3,
    "ravel": 0,
    "flatten": 0,
    "astype": 1,
    "fill": 1,
    "take": 1,
}


MOST = 20_000  # steps: more would take minutes to compile


def normal(
    function: FunctionType,
    kinds: Sequence[tuple[str, int]],
    functions: Functions | None = None,
    rule: FunctionType | None = None,
) -> Body:
    """Lower a function to normal form.

    Args:
      function: The function to lower.
      kinds: The dtype and number of axes of each argument; -1 axes for a number.
      functions: The functions that a kernel calls, if this is one of them; None for a kernel.
      rule: A kernel's custom VJP, or None. With one, the body is a single call of the function.

    Raises:
      KernelError: If the function contains an unsupported construct.
    """
    source = FunctionSource(function)
    writer = Lowering()
    writer.functions = functions or Functions(source.file, source.line, normal)
    writer.raised, writer.standing = writer.functions.raised, writer.functions.standing
    writer.kernel = functions is None
    frame = Frame(source, writer.prefix(source))
    scalars, names = {}, []
    for parameter, (dtype, ndim) in zip(source.parameters, kinds, strict=True):
        name = frame.rename(parameter)
        names.append(name)
        if ndim < 0:
            scalars[name] = dtype
        else:
            writer.arrays[name] = ArrayType(dtype, ndim, True)
            frame.bound[parameter] = writer.all_of(name)
            for k in range(ndim):
                writer.low[f"{name}_n{k}"] = 0
    result = writer.function(frame) if rule is None else writer.call_of(frame, rule)
    writer.frames.append(frame)
    begin = writer.line(source.tree)
    function_name = function.__name__
    name = function_name if function_name.isidentifier() else "function"
    return Body(
        name,
        scalars,
        writer.arrays,
        names,
        writer.out,
        result.name,
        source.file,
        source.line,
        writer.standing,
        begin,
        same=writer.same,
        raised=writer.raised,
        outputs=writer.outputs,
        axes=writer.axes,
        form=writer.form,
        functions=writer.functions,
    )


class Lowering:
    """A visitor that appends statements of one operation each to ``out``.

    Its sections, in order: names and operations, views, whole-array expressions, subscripts,
    expressions, reductions, calls, functions that create arrays, statements.
    """

    # Names, operations and lower bounds of ints.

    def __init__(self) -> None:
        self.out: list[Node] = []
        self.arrays: dict[str, ArrayType] = {}
        self.low: dict[str, int] = {}
        self.same: list[tuple[str, str]] = []
        self.moving: set[str] = set()
        self.frames: list[Frame] = []
        self.count = self._names = self._helpers = 0
        self.once: set[str] = set()
        self.callee_names: dict[str, str] = {}
        self._read: dict[Any, str] = {}  # names of the elements that the current loop has read
        self.raised: list[Raised] = []
        self.outputs: list[str] = []
        self.axes: list[list[str]] = []
        self.form: Any = None
        self.functions: Any = None

    def prefix(self, source: FunctionSource) -> str:
        """Return a new prefix for a helper's local names; "" for the first function."""
        self._helpers += 1
        return f"h{self._helpers - 1}_" if self._helpers > 1 else ""

    def fresh(self) -> str:
        """Return a fresh name."""
        self._names += 1
        return f"_{self._names}"

    def line(self, node: ast.AST) -> int:
        """Return a node's line, counted from the first line of the kernel."""
        source, standing = self.frames[-1].source, self.standing
        own = getattr(node, "lineno", source.line)
        if len(self.frames) > 1:
            return standing.of_call(self._call_line, source.file, own)
        line = own - standing.line if source.file == standing.file else 0
        return line if self.kernel else standing.of_call(line, source.file, own)

    _call_line = 0
    kernel = True  # False for a function that the kernel calls without inlining
    standing: Lines

    def refuse(self, construct: str, node: ast.AST | None, way: str) -> NoReturn:
        """Raise KernelError; see `FunctionSource.refuse`."""
        frame = self.frames[-1]
        for x in ast.walk(node) if isinstance(node, ast.AST) else ():
            name = frame.rename(x.id) if isinstance(x, ast.Name) else ""
            called = self.callee_names.get(
                name or (ast.unparse(x) if isinstance(x, ast.Call) else "")
            )
            if called:
                way += f" {ONE_NUMBER.format(called)}"
                break
        frame.source.refuse(construct, node, way)

    def write(self, node: Node) -> None:
        """Add a node."""
        self.out.append(node)

    def single(self, name: str) -> bool:
        """Whether a name is assigned in one place, before all of its reads."""
        return name in self.once or name.endswith(("_n0", "_n1", "_n2"))

    def put(self, out: str, op: str, args: list[str], node: ast.AST, dtype: str = "") -> str:
        """Write a step, and return the name of its result: ``out``, or a fresh one."""
        if not out:
            out = self.fresh()
            self.once.add(out)
        kind, _, operator = op.partition(" ")
        if kind == "compare":
            text, op = f"{{0}} {operator} {{1}}", "compare"
        elif kind in ("&", "|", "^", "<<", ">>"):
            text = f"{{0}} {kind} {{1}}"
        else:
            text = _TEXTS.get(op + dtype) or _TEXTS.get(op) or FUNCTIONS[op].text
        self.out.append(Assign(out, op, args, text, self.line(node), dtype=dtype))
        if op == "copy" and args[0] in self.callee_names:
            self.callee_names[out] = self.callee_names[args[0]]
        if out in self.once:
            low = self._lowest(op, args)
            if low is not None:
                self.low[out] = low
        return out

    def _lowest(self, op: str, args: list[str]) -> int | None:
        """Return a lower bound of an int, if one is known."""
        known: list[Any] = [self.low.get(a, constant(a)) for a in args]
        if any(isinstance(k, float) for k in known):
            return None
        if op == "%" or op == "wrap":
            bound = constant(args[1])
            return 0 if op == "wrap" or (isinstance(bound, int) and bound > 0) else None
        if None in known:
            return None
        if op == "+":
            return int(known[0] + known[1])
        if op == "copy":
            return int(known[0])
        if op == "*" and min(known) >= 0:
            return int(known[0] * known[1])
        if op == "-" and constant(args[1]) is not None:
            return int(known[0] - known[1])
        if op == "//" and known[0] >= 0 and (constant(args[1]) or 0) > 0:
            return 0
        return None

    @contextmanager
    def inside(self) -> Iterator[list[Node]]:
        """Collect the nodes that this block writes in a new list."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def int_op(self, op: str, x: str, y: str, node: ast.AST) -> str:
        """Write an operation of ints, or fold it if its result is known."""
        one, other = constant(x), constant(y)
        if isinstance(one, int) and isinstance(other, int):
            folded_forms = {
                "+": one + other,
                "-": one - other,
                "*": one * other,
                "max": max(one, other),
                "min": min(one, other),
            }
            if op in folded_forms:
                return str(folded_forms[op])
        if (op in "+-" and other == 0) or (op in ("*", "//") and other == 1):
            return x
        if (op == "+" and one == 0) or (op == "*" and one == 1):
            return y
        if op == "*" and 0 in (one, other):
            return "0"
        return self.put("", op, [x, y], node)

    # Views: parts of arrays that share the memory of the array.

    def all_of(self, array: str) -> ExpressionValue:
        """Return the value of a whole array."""
        axes = [f"{array}_n{k}" for k in range(self.arrays[array].ndim)]
        return ExpressionValue(array=array, grid=View(array, axes))

    def of(self, view: View) -> ExpressionValue:
        """Return a view as the value of an expression."""
        return ExpressionValue(array=view.array, grid=view)

    def place(self, view: View, indices: list[str], node: ast.AST) -> str:
        """Write the flat index of an element, whose indices are not negative."""
        if view.strides is None:
            offset = "0"
            for index, length in zip(indices, view.shape, strict=True):
                offset = self.int_op("+", self.int_op("*", offset, length, node), index, node)
            return self.int_op("+", offset, view.offset, node)
        offset = view.offset
        for index, stride in zip(indices, view.strides, strict=True):
            offset = self.int_op("+", offset, self.int_op("*", index, stride, node), node)
        return offset

    def load(self, view: View, indices: list[str], node: ast.AST, to: str = "") -> str:
        """Write a load of an element."""
        out = to or self.fresh()
        place = self.place(view, indices, node)
        self.write(Assign(out, "load", [place], "", self.line(node), view.array))
        return out

    def position(self, index: str, length: str, node: ast.AST) -> str:
        """Write a non-negative version of an index, and its check."""
        value = constant(index)
        if isinstance(value, int):
            position = index if value >= 0 else self.put("", "+", [length, index], node)
        elif self.low.get(index, -1) >= 0:
            position = index
        else:
            position = self.put("", "wrap", [index, length], node)
        self.write(Assign("", "check", [position, length], "", self.line(node)))
        return position

    def size(self, shape: list[str], node: ast.AST) -> str:
        """Write the number of elements of a shape."""
        size = "1"
        for length in shape:
            size = self.int_op("*", size, length, node)
        return size

    def steps_of(self, view: View, node: ast.AST) -> list[str]:
        """Write the strides of a view, in elements."""
        if view.strides is not None:
            return view.strides
        steps = ["1"]
        for length in view.shape[:0:-1]:
            steps.insert(0, self.int_op("*", steps[0], length, node))
        return steps if view.shape else []

    # Parts.

    def spread(self, view: View, indices: list[Any], node: ast.AST) -> list[Any]:
        """Return the subscripts, with full slices for ``...`` and missing axes."""
        taken = sum(not is_new_axis(x) and not is_ellipsis(x) for x in indices)
        dots = [k for k, x in enumerate(indices) if is_ellipsis(x)]
        if taken > len(view.shape) or len(dots) > 1:
            self.refuse(
                f"`{ast.unparse(node)}`, with {taken} of {len(view.shape)} indices",
                node,
                "Give at most one index for each axis.",
            )
        rest: list[Any] = [ast.Slice()] * (len(view.shape) - taken)
        at = dots[0] if dots else len(indices)
        return [*indices[:at], *rest, *indices[at + len(dots) :]]

    def part(self, view: View, indices: list[Any], node: ast.AST) -> View:
        """Write the view that ints, slices, ``...`` and ``None`` select; ints may be names."""
        indices = self.spread(view, indices, node)
        strides = self.steps_of(view, node)
        offset = view.offset
        shape: list[str] = []
        steps: list[str] = []
        ordered, axis = view.strides is None, 0
        for index in indices:
            if is_new_axis(index):
                shape.append("1")
                steps.append("0")
                continue
            length, stride = view.shape[axis], strides[axis]
            axis += 1
            if not isinstance(index, ast.Slice):
                name = index if isinstance(index, str) else self.number(index)
                one = self.position(name, length, node)
                offset = self.int_op("+", offset, self.int_op("*", one, stride, node), node)
                ordered = ordered and not shape
            elif index.lower is index.upper is index.step is None:
                shape.append(length)
                steps.append(stride)
            else:
                start, count, step = self.slice(index, length)
                offset = self.int_op("+", offset, self.int_op("*", start, stride, node), node)
                ordered = ordered and not shape and step == "1"
                shape.append(count)
                steps.append(self.int_op("*", stride, step, node))
        return View(view.array, shape, offset, None if ordered else steps, self.rows(view, indices))

    def rows(self, view: View, indices: list[Any]) -> tuple[object, ...] | None:
        """Return the `View.rows` of a part."""
        before = view.rows
        if view.offset == "0" and view.strides is None and view.array not in self.moving:
            before = view.array, tuple(view.shape)
        bounds = [
            x
            for index in indices
            if isinstance(index, ast.Slice)
            for x in (index.lower, index.upper, index.step)
            if x is not None
        ]
        if before is None or not all(isinstance(x, ast.Constant) for x in bounds):
            return None
        return (
            *before,
            *(
                "at" if not isinstance(x, ast.Slice) and not is_new_axis(x) else ast.dump(x)
                for x in indices
            ),
        )

    def slice(self, node: ast.Slice, length: str) -> tuple[str, str, str]:
        """Write a slice's start and number of elements, and return them with its step."""
        step = 1 if node.step is None else constant(self.number(node.step))
        if not isinstance(step, int) or not step:
            self.refuse(
                "a slice whose step is not a constant, or is 0",
                node.step,
                "Write the step as a number.",
            )
        most = length if step > 0 else self.int_op("-", length, "1", node)
        least = "0" if step > 0 else "-1"

        def bind(limit: ast.expr | None, other: str) -> str:
            if limit is None:
                return other
            text = self.number(limit)
            value = constant(text)
            if isinstance(value, int) and value < 0:
                shifted = self.int_op("+", length, text, node)
                return self.int_op("max", shifted, least, node)
            if value is None and self.low.get(text, -1) < 0:
                text = self.put("", "wrap", [text, length], node)
                text = self.put("", "max", [text, least], node)
            return text if text == "0" and step > 0 else self.int_op("min", text, most, node)

        start = bind(node.lower, "0" if step > 0 else most)
        stop = bind(node.upper, length if step > 0 else "-1")
        count = (
            self.int_op("-", stop, start, node) if step > 0 else self.int_op("-", start, stop, node)
        )
        if abs(step) > 1:
            count = self.int_op("+", count, str(abs(step) - 1), node)
            count = self.int_op("//", count, str(abs(step)), node)
        if start != "0" or step < 0:
            count = self.int_op("max", count, "0", node)
        if constant(count) is None:
            self.low[count] = 0
        if constant(start) is None:
            self.low[start] = 0  # may be negative for an empty slice, which reads nothing
        return start, count, str(step)

    def reverse_axes(self, view: View, node: ast.AST) -> View:
        """Return a view with its axes reversed."""
        if len(view.shape) < 2:
            return view
        return View(view.array, view.shape[::-1], view.offset, self.steps_of(view, node)[::-1])

    def reshape(self, view: View, shape: list[str], node: ast.AST) -> View:
        """Return a contiguous view with another shape; -1 stands for the remaining length."""
        if view.strides is not None:
            self.refuse(
                f"`{ast.unparse(node)}` of elements that do not lie in order",
                node,
                "Copy it first.",
            )
        total = self.size(view.shape, node)
        if "-1" in shape:
            rest = self.size([x for x in shape if x != "-1"], node)
            left = self.int_op("//", total, rest, node)
            if constant(left) is None:
                self.low[left] = 0
            shape = [left if x == "-1" else x for x in shape]
        self.match(self.size(shape, node), total, node)
        return View(view.array, shape, view.offset)

    def match(self, x: str, y: str, node: ast.AST) -> None:
        """Write a check that two lengths are equal."""
        if x == y:
            return
        if constant(x) is not None and constant(y) is not None:
            self.refuse(
                f"`{ast.unparse(node)}`, of lengths {x} and {y}", node, "Give both the same shape."
            )
        self.write(Assign("", "same", [x, y], "", self.line(node)))

    # Names of arrays.

    def bind(self, local: str, view: View, node: ast.AST) -> None:
        """Bind a local name to a view."""
        frame = self.frames[-1]
        known = frame.bound.get(local)
        if known is not None and known.grid is None:
            self.refuse(
                f"an array under the name `{local}`, which has another value elsewhere",
                node,
                "Use another name for it.",
            )
        self.has(local, node)
        if frame.rebound(local):
            self.move(local, view, node)
        else:
            frozen = self.freeze(view, node)
            frame.bound[local] = ExpressionValue(array=frozen.array, grid=frozen)

    def has(self, local: str, node: ast.AST) -> None:
        """Set the flag that a name is assigned, if the name may be read unassigned."""
        frame = self.frames[-1]
        if local in frame.flags:
            self.put(frame.rename(frame.flags[local]), "copy", ["True"], node)

    def freeze(self, view: View, node: ast.AST) -> View:
        """Return a view whose shape and place later assignments do not change."""
        array = view.array
        if array in self.moving:
            array = self.fresh()
            self.arrays[array] = ArrayType(self.arrays[view.array].dtype, len(view.shape), False)
            self._lies(array, view.array, "0", node)
        shape = [self._still(x, node) for x in view.shape]
        strides = None if view.strides is None else [self._still(x, node) for x in view.strides]
        return View(array, shape, self._still(view.offset, node), strides, view.rows)

    def _still(self, operand: str, node: ast.AST) -> str:
        """Return an operand that nothing assigns later, by copying it if necessary."""
        if constant(operand) is not None or self.single(operand):
            return operand
        name = self.put("", "copy", [operand], node)
        if self.low.get(operand, -1) >= 0:
            self.low[name] = 0
        return name

    def _lies(self, array: str, other: str, offset: str, node: ast.AST) -> None:
        """Make an array share the memory of another one, from an element on."""
        if self.arrays[other].argument:
            self.arrays[other].addressed = True
        self.same.append((array, other))
        for to, begin in ((address(array), address(other)), (shadow(array), shadow(other))):
            if offset == "0":
                self.put(to, "copy", [begin], node)
            else:
                self.put(to, "beyond", [begin, offset], node, other)

    def move(self, local: str, view: View, node: ast.AST) -> None:
        """Rebind a name that holds different arrays over time."""
        frame = self.frames[-1]
        if view.strides is not None:
            self.refuse(
                f"elements that do not lie in order under `{local}`, which has another "
                "value elsewhere",
                node,
                "Copy them, or take another name.",
            )
        known = frame.bound.get(local)
        if known is None or known.array not in self.moving:
            array = self.fresh()
            self.arrays[array] = ArrayType(self.arrays[view.array].dtype, len(view.shape), False)
            self.moving.add(array)
            axes = [f"{array}_m{k}" for k in range(len(view.shape))]
            known = frame.bound[local] = ExpressionValue(array=array, grid=View(array, axes))
            self.low.update(dict.fromkeys(axes, 0))
        assert known.grid is not None
        if len(known.grid.shape) != len(view.shape):
            self.refuse(
                f"arrays of {len(known.grid.shape)} and {len(view.shape)} axes under the "
                f"name `{local}`",
                node,
                "Use a separate name for each.",
            )
        if self.arrays[known.array].dtype != self.arrays[view.array].dtype:
            self.arrays[known.array].dtype = ""  # `types` checks that they are the same
        self._lies(known.array, view.array, view.offset, node)
        for axis, length in zip(known.grid.shape, view.shape, strict=True):
            self.put(axis, "copy", [length], node)

    # Whole-array expressions: each becomes one loop over its elements.

    def dtype_of(self, grid: Grid) -> str:
        """Return the dtype of elements; "" if it is not known yet."""
        return self.arrays[grid.array].dtype if isinstance(grid, View) else grid.dtype

    def sources(self, grid: Grid) -> list[View]:
        """Return the views that elements are read from."""
        return [grid] if isinstance(grid, View) else grid.sources

    def item(self, grid: Grid, indices: list[str], node: ast.AST) -> str:
        """Write the element at some indices; leading indices beyond its axes are dropped."""
        own = indices[len(indices) - len(grid.shape) :]
        own = ["0" if n == "1" else i for i, n in zip(own, grid.shape, strict=True)]
        if isinstance(grid, Lazy):
            return grid.element(own)
        key = id(self.out), grid.array, grid.offset, tuple(grid.strides or grid.shape), tuple(own)
        if key not in self._read:
            self._read[key] = self.load(grid, own, node)
        return self._read[key]

    def broadcast(self, shapes: list[list[str]], node: ast.AST) -> list[str]:
        """Return the broadcast shape of operands, and write checks of their lengths."""
        shape: list[str] = []
        for k in range(1, max(map(len, shapes)) + 1):
            lengths = [shape[-k] for shape in shapes if len(shape) >= k]
            long = [x for x in lengths if x != "1"] or ["1"]
            for other in long[1:]:
                self.match(other, long[0], node)
            shape.insert(0, long[0])
        return shape

    def combine(
        self,
        operands: list[ExpressionValue],
        node: ast.AST,
        write: Callable[[list[str]], str],
        dtype: str = "",
    ) -> ExpressionValue:
        """Apply ``write`` to the elements of arrays, and to numbers.

        Args:
          operands: Arrays and numbers.
          node: Where they stand.
          write: Maps the names of elements, one of each operand, to the name of the result.
          dtype: The dtype of the result, if it is known.
        """
        grids = [x.grid for x in operands if x.grid is not None]
        shape = self.broadcast([grid.shape for grid in grids], node)

        def element(indices: list[str]) -> str:
            return write(
                [x.name if x.grid is None else self.item(x.grid, indices, node) for x in operands]
            )

        needs_copy = any(isinstance(g, Lazy) and g.needs_copy for g in grids) or any(
            grid.shape != shape for grid in grids
        )
        sources = [view for grid in grids for view in self.sources(grid)]
        return ExpressionValue(grid=Lazy(shape, element, sources, dtype, needs_copy))

    def rounds(self, shape: list[str], write: Callable[[list[str]], None], node: ast.AST) -> None:
        """Write loops over all elements of a shape, the last axis innermost."""
        indices: list[str] = []

        def axis(k: int) -> None:
            if k == len(shape):
                write(indices)
                return
            if shape[k] == "1":
                indices.append("0")
                axis(k + 1)
                return
            name = self.fresh()
            self.low[name] = 0
            indices.append(name)
            with self.inside() as body:
                axis(k + 1)
            self.write(ForRange(name, "0", shape[k], 1, body, self.line(node)))

        before, self._read = self._read, {}
        axis(0)
        self._read = before

    # Arrays that are made.

    def new(
        self,
        shape: list[str],
        dtype: str | View,
        node: ast.AST,
        fill: str = "",
        copied: str = "",
        name: str = "",
    ) -> View:
        """Write a local array. ``dtype`` is a name, or a view of an array with the same dtype."""
        if not 1 <= len(shape) <= 3:
            self.refuse(f"`{ast.unparse(node)}`, of {len(shape)} axes", node, "Use one to three.")
        array = name or self.fresh()
        size = ""
        axes = [f"{array}_n{k}" for k in range(len(shape))]
        for axis, length in zip(axes, shape, strict=True):
            self.put(axis, "copy", [length], node)
            self.low[axis] = 0
            size = self.put("", "*", [size, axis], node) if size else axis
        like = dtype.array if isinstance(dtype, View) else ""
        known = self.arrays[like].dtype if isinstance(dtype, View) else dtype
        self.arrays[array] = ArrayType(known, len(shape), False, like="" if known else like)
        self.write(Alloc(array, size, fill, copied, self.line(node)))
        self.low[address(array)] = self.low[shadow(array)] = 0
        return View(
            array,
            [x if constant(x) is not None else axis for x, axis in zip(shape, axes, strict=True)],
        )

    def materialize(self, grid: Grid, node: ast.AST, dtype: str = "") -> View:
        """Write a local array with the elements of another array or an expression."""
        array = self.new(grid.shape, dtype or self.dtype_of(grid), node)
        self.put_all(array, ExpressionValue(grid=grid), node, first=True)
        return array

    def view(self, value: ExpressionValue, node: ast.AST) -> View:
        """Return a value as an array in memory; expressions are materialized."""
        assert value.grid is not None
        return value.grid if isinstance(value.grid, View) else self.materialize(value.grid, node)

    def put_all(
        self, target: View, value: ExpressionValue, node: ast.AST, first: bool = False
    ) -> None:
        """Write elements, or one number, to all elements of a view."""

        def write(indices: list[str]) -> None:
            element = value.name if value.grid is None else self.item(value.grid, indices, node)
            place = self.place(target, indices, node)
            self.write(
                Assign(
                    "", "store", [place, element], "", self.line(node), target.array, first=first
                )
            )

        self.rounds(target.shape, write, node)

    def assign(self, target: View, value: ExpressionValue, node: ast.AST) -> None:
        """Write ``target[:] = value``."""
        self.put_all(target, self.fit(target, value, node), node)

    def change(self, target: View, operator: str, value: ExpressionValue, node: ast.AST) -> None:
        """Write ``target += value``, or with another operator."""
        source = value.grid
        if (
            isinstance(source, View)
            and source.array == target.array
            and self._meets(target, source, source)
        ):
            self.refuse(
                f"`{ast.unparse(node)}`, which reads what it has written to before",
                node,
                "Numba does so, NumPy does not: copy the right side.",
            )
        value = self.fit(target, value, node)
        dtype = self.arrays[target.array].dtype
        adds = operator in "+-" and dtype[:1] == "f"

        def write(indices: list[str]) -> None:
            element = value.name if value.grid is None else self.item(value.grid, indices, node)
            place = self.place(target, indices, node)
            if adds:
                op = "acc" if operator == "+" else "sub"
            else:
                op, old = "store", self.fresh()
                self.write(Assign(old, "load", [place], "", self.line(node), target.array))
                element = self.put("", operator, [old, element], node)
            self.write(Assign("", op, [place, element], "", self.line(node), target.array))

        self.rounds(target.shape, write, node)

    def fit(self, target: View, value: ExpressionValue, node: ast.AST) -> ExpressionValue:
        """Return a value that can be written element by element: a copy if it overlaps."""
        grid = value.grid
        if grid is None:
            return value
        self.check_broadcast(target.shape, grid.shape, node)
        if any(self._meets(target, source, grid) for source in self.sources(grid)):
            return ExpressionValue(grid=self.materialize(grid, node))
        return value

    def check_broadcast(self, target: list[str], shape: list[str], node: ast.AST) -> None:
        """Write a check that an array of some shape broadcasts to another shape."""
        if len(shape) > len(target):
            self.refuse(
                f"`{ast.unparse(node)}`, of {len(shape)} axes for {len(target)}",
                node,
                "Give both the same shape.",
            )
        for own, length in zip(target[len(target) - len(shape) :], shape, strict=True):
            if length != "1":
                self.match(length, own, node)

    def _meets(self, target: View, source: View, grid: Grid) -> bool:
        """Whether writing an element may change one that is still to be read."""
        one, other = target.array, source.array
        if one != other:
            # A name that holds different arrays may hold this one later.
            return bool({one, other} & self.moving) or self.may_alias(one, other)
        overlaps = (isinstance(grid, Lazy) and grid.needs_copy) or len(grid.shape) != len(
            target.shape
        )
        if not overlaps and source.rows is not None and source.rows == target.rows:
            return False  # the same elements, or none in common
        overlaps = overlaps or grid.shape != target.shape
        return overlaps or (target.offset, target.strides, target.shape) != (
            source.offset,
            source.strides,
            source.shape,
        )

    def may_alias(self, one: str, other: str) -> bool:
        """Whether two arrays may share memory."""
        reached = {one}
        while (
            more := {x for pair in self.same if not reached.isdisjoint(pair) for x in pair}
            - reached
        ):
            reached |= more
        return other in reached

    # Subscripts: an element, a view, or elements at index arrays.

    def indices(self, node: ast.Subscript) -> list[Any]:
        """Return the subscripts: ints by name, arrays, slices, ``None`` and ``...``."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [
            x if isinstance(x, ast.Slice) or is_new_axis(x) or is_ellipsis(x) else self._index(x)
            for x in indices
        ]

    def _index(self, node: ast.expr) -> str | Grid:
        value = self.value(node)
        return value.grid if value.grid is not None else value.name or self.number(node)

    def subscript(self, grid: Grid, node: ast.Subscript, to: str = "") -> str | ExpressionValue:
        """Write the element or the part of an array that a subscript selects."""
        indices = self.indices(node)
        if len(indices) == len(grid.shape) and all(isinstance(x, str) for x in indices):
            own = [self.position(x, n, node) for x, n in zip(indices, grid.shape, strict=True)]
            if isinstance(grid, View):
                return self.load(grid, own, node, to)
            return grid.element(own)
        view = self.view(ExpressionValue(grid=grid), node)
        if any(isinstance(x, Grid) for x in indices):
            return self.gather(self.places(view, indices, node), node)
        return self.of(self.part(view, indices, node))

    def element(self, node: ast.Subscript) -> tuple[str, str] | View | Places:
        """Return the target of an assignment: an element's array and flat index, or a selection."""
        grid = self.value(node.value).grid
        if not isinstance(grid, View):
            self.refuse(f"`{ast.unparse(node)}`", node, "Write to elements of arrays by name.")
        indices = self.indices(node)
        if len(indices) == len(grid.shape) and all(isinstance(x, str) for x in indices):
            own = [self.position(x, n, node) for x, n in zip(indices, grid.shape, strict=True)]
            return grid.array, self.place(grid, own, node)
        if not any(isinstance(x, Grid) for x in indices):
            return self.part(grid, indices, node)
        kept_indices = [
            self.view(ExpressionValue(grid=x), node) if isinstance(x, Grid) else x for x in indices
        ]
        if any(isinstance(x, View) and self._shares(x, grid) for x in kept_indices):
            self.refuse(
                f"`{ast.unparse(node)}`, which writes to its own index", node, "Copy the index."
            )
        return self.places(grid, kept_indices, node)

    def _shares(self, one: View, other: View) -> bool:
        return one.array == other.array or self.may_alias(one.array, other.array)

    # Places.

    def places(self, view: View, indices: list[Any], node: ast.AST) -> Places:
        """Return the elements that index arrays among the subscripts select."""
        if any(is_new_axis(x) for x in indices if not isinstance(x, Grid)):
            self.refuse(
                f"`{ast.unparse(node)}`, a new axis beside an array of places",
                node,
                "Take the elements first.",
            )
        indices = self.spread(view, indices, node)
        base = self.part(view, [ast.Slice() if isinstance(x, Grid) else x for x in indices], node)
        own = [x for x in indices if not isinstance(x, str)]
        places = [
            self._places(x, length, node) if isinstance(x, Grid) else None
            for x, length in zip(own, base.shape, strict=True)
        ]
        shape = self.broadcast([x.shape for x in places if x is not None], node)
        rest = [n for n, x in zip(base.shape, places, strict=True) if x is None]
        # If a slice separates numbers and index arrays, their axes come first, as in NumPy.
        used = [k for k, x in enumerate(indices) if isinstance(x, str | Grid)]
        first = used[0] if used[-1] - used[0] == len(used) - 1 else 0
        return Places(base, places, [*rest[:first], *shape, *rest[first:]], first, len(shape))

    def _places(self, grid: Grid, length: str, node: ast.AST) -> Grid:
        """Return an index array for an axis; a mask is converted to indices."""
        if self.dtype_of(grid) != "bool":
            return grid
        if len(grid.shape) != 1:
            self.refuse(
                f"`{ast.unparse(node)}`, conditions of {len(grid.shape)} axes",
                node,
                "Numba knows such of one axis: use np.where, or a loop.",
            )
        self.match(grid.shape[0], length, node)
        return self.where(grid, node)

    def where(self, grid: Grid, node: ast.AST) -> View:
        """Write an array of the indices where a mask is true, in order."""
        array, count = self.new(grid.shape, "int64", node), self.fresh()
        self.put(count, "copy", ["0"], node)

        def write(own: list[str]) -> None:
            holds = self.item(grid, own, node)  # if false, the next store overwrites this one
            self.write(
                Assign("", "store", [count, own[0]], "", self.line(node), array.array, first=True)
            )
            self.put(count, "+", [count, holds], node)

        self.rounds(grid.shape, write, node)
        total = self.put("", "copy", [count], node)
        self.low[total] = 0
        return View(array.array, [total])

    def _at(self, places: Places, own: list[str], node: ast.AST) -> list[str]:
        """Return the indices in the view of an element of the selection."""
        first, end = places.first, places.first + places.axes
        rest = iter([*own[:first], *own[end:]])
        return [
            next(rest) if x is None else self.position(self.item(x, own[first:end], node), n, node)
            for x, n in zip(places.places, places.view.shape, strict=True)
        ]

    def gather(self, places: Places, node: ast.AST) -> ExpressionValue:
        """Return the selected elements, which are read lazily."""
        view = places.view

        def element(own: list[str]) -> str:
            return self.load(view, self._at(places, own, node), node)

        sources = [
            view,
            *(x for grid in places.places if grid is not None for x in self.sources(grid)),
        ]
        return ExpressionValue(
            grid=Lazy(places.shape, element, sources, self.arrays[view.array].dtype, True)
        )

    def scatter(self, places: Places, value: ExpressionValue, node: ast.AST) -> None:
        """Write a value to the selected elements, in order: the last of equal indices wins."""
        if value.grid is not None:  # read all of it first
            value = self.of(self.materialize(value.grid, node))
            self.check_broadcast(places.shape, value.grid.shape if value.grid else [], node)

        def write(own: list[str]) -> None:
            element = value.name if value.grid is None else self.item(value.grid, own, node)
            place = self.place(places.view, self._at(places, own, node), node)
            self.write(
                Assign("", "store", [place, element], "", self.line(node), places.view.array)
            )

        self.rounds(places.shape, write, node)

    # Expressions of numbers.

    # Names.

    def target(self, node: ast.Name) -> str:
        """Return the text name for an assignment to a number."""
        frame = self.frames[-1]
        if frame.bound.get(node.id, ExpressionValue()).array:
            self.refuse(
                f"another value for the array `{node.id}`", node, "Use another name for it."
            )
        name = frame.rename(node.id)
        frame.bound[node.id] = ExpressionValue(name)
        self.has(node.id, node)
        self.low.pop(name, None)
        return name

    def sure(self, node: ast.Name) -> None:
        """Write a check that a name has a value, if it may be unassigned."""
        frame = self.frames[-1]
        if id(node) in frame.possibly_unassigned:
            with self.inside() as failed:
                message = (
                    f"cannot access local variable '{node.id}' where it is not associated with "
                )
                self.fail(UnboundLocalError, [f"{message}a value"], node)
            flag = self.put("", "copy", [frame.rename(frame.flags[node.id])], node)
            self.write(Branch(flag, [], failed, self.line(node)))

    def object(self, node: ast.expr) -> Any:
        """Return the value of a global name or of its attribute, or MISSING."""
        return self.frames[-1].source.value(node)

    def value(self, node: ast.expr, to: str = "") -> ExpressionValue:
        """Write an expression; a number is assigned to the name ``to``, if given."""
        write = getattr(self, f"_of_{type(node).__name__}", None)
        if write is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write it with numbers and elements.")
        result: str | ExpressionValue = write(node, to)
        if isinstance(result, str):
            result = ExpressionValue(result)
        if to and result.name not in ("", to):
            return ExpressionValue(self.put(to, "copy", [result.name], node))
        return result

    def number(self, node: ast.expr, to: str = "") -> str:
        """Write an expression that is a number, and return its name or text."""
        value = self.value(node, to)
        if not value.name:
            what = "the whole array" if value.grid is not None else "the tuple"
            self.refuse(
                f"{what} `{ast.unparse(node)}` where a number is needed",
                node,
                "Take one of its elements.",
            )
        return value.name

    def _local(self, node: ast.Name) -> ExpressionValue | None:
        frame = self.frames[-1]
        if node.id in frame.bound:
            return frame.bound[node.id]
        if node.id in frame.source.locals or node.id in frame.exits.flag_names:
            return ExpressionValue(frame.rename(node.id))
        return None

    def _of_Constant(self, node: ast.Constant, to: str) -> str:
        return self.literal(node.value, node)

    def literal(self, value: Any, node: ast.expr) -> str:
        """Return the text of a constant."""
        if type(value) in (bool, np.bool_):
            return repr(bool(value))
        if type(value) in (int, np.int64) and -(1 << 63) <= value < 1 << 63:
            return repr(int(value))
        if type(value) in (float, np.float64):
            value = float(value)
            if math.isfinite(value):
                return repr(value)
            return "math.nan" if value != value else "math.inf" if value > 0 else "-math.inf"
        kind = f"{type(value).__name__}"
        self.refuse(
            f"the constant `{ast.unparse(node)}`, of type {kind}",
            node,
            "Use floats and ints, and take arrays as arguments; tf.GradientTape differentiates "
            "functions of tensors.",
        )

    def _of_Name(self, node: ast.Name, to: str) -> str | ExpressionValue:
        local = self._local(node)
        self.sure(node)
        if local is not None:
            return local
        value = self.object(node)
        if value is MISSING:
            self.refuse(f"the name `{node.id}`, which is not defined", node, "Define it.")
        if isinstance(value, np.ndarray):
            return self.table(value, node)
        if type(value) is tuple and value:
            return ExpressionValue(items=[self.literal(x, node) for x in value])
        return self.literal(value, node)

    def table(self, value: np.ndarray[Any, Any], node: ast.Name) -> ExpressionValue:
        """Write a constant array, element by element."""
        if value.size > MOST_CONSTANTS or value.dtype.name not in ("bool", "int64", "float64"):
            self.refuse(
                f"the constant `{node.id}`, an array of {value.size} {value.dtype.name}",
                node,
                "Take it as an argument.",
            )
        array = self.new(list(map(str, value.shape)), value.dtype.name, node)
        for k, element in enumerate(value.ravel().tolist()):
            self.write(
                Assign(
                    "",
                    "store",
                    [str(k), self.literal(element, node)],
                    "",
                    self.line(node),
                    array.array,
                    first=True,
                )
            )
        return self.of(array)

    def _of_Attribute(self, node: ast.Attribute, to: str) -> str | ExpressionValue:
        value = self.object(node)
        if value is not MISSING:
            return self.literal(value, node)
        grid = self.value(node.value).grid
        if grid is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Take it as an argument.")
        if node.attr == "shape":
            return ExpressionValue(items=grid.shape)
        if node.attr == "ndim":
            return str(len(grid.shape))
        if node.attr == "size":
            return self.size(grid.shape, node)
        if node.attr == "T":
            view = self.reverse_axes(self.view(ExpressionValue(grid=grid), node), node)
            return self.of(view)
        self.refuse(f"`{ast.unparse(node)}`", node, "Use its elements and shape.")

    def _of_Tuple(self, node: ast.Tuple, to: str) -> ExpressionValue:
        return ExpressionValue(items=[self.number(x) for x in node.elts])

    def _of_Subscript(self, node: ast.Subscript, to: str) -> str | ExpressionValue:
        base = self.value(node.value)
        if base.items is not None:
            place = self.number(node.slice)
            index, count = constant(place), len(base.items)
            if index is None and place not in ("True", "False"):
                return self.choose_item(base.items, place, node, to)
            if not isinstance(index, int) or not -count <= index < count:
                self.refuse(f"`{ast.unparse(node)}`", node, "Write one of its places.")
            return base.items[index]
        if base.grid is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Only arrays and shapes have elements.")
        return self.subscript(base.grid, node, to)

    def choose_item(self, items: list[str], place: str, node: ast.expr, to: str) -> str:
        """Write the item of a tuple at an index that is known at run time only."""
        count = str(len(items))
        name = to or self.fresh()
        if not getattr(node, "inside", False):
            at = self.put("", "wrap", [place, count], node)
            place = at
            for test in (("compare <", "0"), ("compare >=", count)):
                with self.inside() as failed:
                    self.fail(IndexError, ["tuple index out of range"], node)
                out = self.put("", test[0], [at, test[1]], node)
                self.write(Branch(out, failed, [], self.line(node)))
        self.put(name, "copy", items[-1:], node)
        for k, item in enumerate(items[:-1]):
            with self.inside() as body:
                self.put(name, "copy", [item], node)
            test_ = self.put("", "compare ==", [place, str(k)], node)
            self.write(Branch(test_, body, [], self.line(node)))
        return name

    # Operators.

    def elementwise(
        self,
        op: str,
        operands: list[ExpressionValue],
        node: ast.AST,
        to: str = "",
        dtype: str = "",
        kind: str = "",
    ) -> str | ExpressionValue:
        """Write an operation of numbers or array elements; ``kind``: see `Assign.dtype`."""
        if any(x.items is not None for x in operands):
            self.refuse(f"a tuple in `{ast.unparse(node)}`", node, "Use its parts.")
        grids = [x.grid for x in operands if x.grid is not None]
        if not grids:
            names = [x.name for x in operands]
            if op == "**" and None not in map(constant, names):
                # Use a name: Python would fold the text of two constants.
                names[0] = self.put("", "copy", names[:1], node)
            return self.put(to, op, names, node, kind)
        kinds = {self.dtype_of(grid) for grid in grids}
        small = op in ("+", "-", "*", "//", "%", "**", "negative", "abs", "square")
        if small and kinds <= {*SMALL} and len(grids) == len(operands):
            self.refuse(
                f"`{ast.unparse(node)}` of whole arrays of dtype {max(kinds)}",
                node,
                "Use .astype(np.int64).",
            )
        if op in ("&", "|", "^") and "bool" in kinds:
            dtype = "bool"
        if (
            op in ("+", "-", "*", "//", "%")
            and kinds == {"int64"}
            and all(x.grid is not None or isinstance(constant(x.name), int) for x in operands)
        ):
            dtype = "int64"
        # Beside elements of float32, ints are float32 as well.
        dtypes = [None if x.grid is None else self.dtype_of(x.grid) for x in operands]
        narrow = [k for k, kind in enumerate(dtypes) if kind in ("float32", "")]
        ints = [k for k, kind in enumerate(dtypes) if kind is None or kind in INTS]
        weak = [] if dtype or op == "where" or not narrow else ints

        def write(items: list[str]) -> str:
            for k in weak:
                if not isinstance(constant(items[k]), float):
                    items[k] = self.put("", "weak", [items[k], items[narrow[0]]], node)
            return self.put("", op, items, node, "ufunc")

        return self.combine(operands, node, write, dtype)

    def _of_BinOp(self, node: ast.BinOp, to: str) -> str | ExpressionValue:
        number = fold_constants(node)
        if number is not None:
            return self.literal(number, node)
        left = self.value(node.left)
        if left.grid is not None and any(self.helper(x) for x in ast.walk(node.right)):
            view = self.view(left, node)  # read it before a helper may write to its sources
            left = self.of(view)
        right = self.value(node.right)
        if isinstance(node.op, ast.MatMult):
            return self.product(left, right, node)
        operator = OPERATORS.get(type(node.op))
        if operator is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write a loop over elements.")
        return self.elementwise(operator, [left, right], node, to)

    def _of_UnaryOp(self, node: ast.UnaryOp, to: str) -> str | ExpressionValue:
        if isinstance(node.op, ast.Not):
            return self.put(to, "not", [self.number(node.operand)], node)
        operand_value = self.value(node.operand)
        if isinstance(node.op, ast.Invert):
            if operand_value.grid is None or self.dtype_of(operand_value.grid) != "bool":
                self.refuse("`~`", node, "Write -1 - x for it.")
            return self.elementwise("not", [operand_value], node, dtype="bool")
        if isinstance(node.op, ast.UAdd):
            return operand_value
        if not operand_value.name:
            return self.elementwise("negative", [operand_value], node)
        operand = operand_value.name
        value = constant(operand)
        if value is not None:
            return self.literal(-value, node)
        return self.put(to, "negative", [operand], node)

    def truth(self, node: ast.expr) -> str:
        """Write a condition, and return a constant or a name that is assigned once."""
        number = self.number(node)
        if number in ("True", "False") or number in self.once:
            return number
        value = constant(number)
        return str(bool(value)) if value is not None else self.put("", "truth", [number], node)

    def _of_Compare(self, node: ast.Compare, to: str) -> str | ExpressionValue:
        first = self.value(node.left)
        if len(node.ops) == 1:
            symbol = COMPARED.get(type(node.ops[0]))
            if symbol is None:
                self.refuse(f"`{ast.unparse(node)}`", node, "Compare numbers.")
            sides = [first, self.value(node.comparators[0])]
            return self.elementwise(f"compare {symbol}", sides, node, to, "bool")
        left = first.name or self.number(node.left)
        return self._compare_chain(
            left, list(zip(node.ops, node.comparators, strict=True)), node, to
        )

    def _compare_chain(self, left: str, rest: list[Any], node: ast.AST, to: str) -> str:
        (operator, comparator), *others = rest
        symbol = COMPARED.get(type(operator))
        if symbol is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Compare numbers.")
        right = self.number(comparator)
        condition = self.put(to if not others else "", f"compare {symbol}", [left, right], node)
        if not others:
            return condition
        to = to or self.fresh()
        self.put(to, "copy", [condition], node)
        outer, self.out = self.out, []
        self._compare_chain(right, others, node, to)
        body, self.out = self.out, outer
        self.write(Branch(condition, body, [], self.line(node)))
        return to

    def _of_BoolOp(self, node: ast.BoolOp, to: str) -> str:
        out = self.fresh()
        self.put(out, "copy", [self.number(node.values[0])], node)
        for value in node.values[1:]:
            test = self.put("", "truth", [out], node)
            outer, self.out = self.out, []
            self.put(out, "copy", [self.number(value)], node)
            body, self.out = self.out, outer
            both = isinstance(node.op, ast.And)
            self.write(Branch(test, *((body, []) if both else ([], body)), self.line(node)))
        return out

    def _of_IfExp(self, node: ast.IfExp, to: str) -> str | ExpressionValue:
        test = self.truth(node.test)
        if test in ("True", "False"):
            return self.value(node.body if test == "True" else node.orelse, to)
        out = self.fresh()
        bodies: list[list[Node]] = []
        arrays = 0
        for value in (node.body, node.orelse):
            with self.inside() as body:
                branch_value = self.value(value)
                if branch_value.grid is not None:
                    self.move(out, self.view(branch_value, value), value)
                    arrays += 1
                else:
                    self.put(out, "copy", [branch_value.name or self.number(value)], node)
            bodies.append(body)
        if arrays == 1:
            self.refuse(f"`{ast.unparse(node)}`, an array or a number", node, "Write it with `if`.")
        self.write(Branch(test, bodies[0], bodies[1], self.line(node)))
        return self.frames[-1].bound[out] if arrays else out

    # Reductions: sums, products, extremes, matrix products.

    def reduce(
        self, name: str, grid: Grid, axis: int | None, node: ast.AST
    ) -> str | ExpressionValue:
        """Write a reduction of all elements or along an axis."""
        if axis is None:
            shape, ndim = grid.shape, len(grid.shape)
            return self._one(name, shape, lambda own: self.item(grid, own[:ndim], node), grid, node)
        shape = grid.shape
        if not -len(shape) <= axis < len(shape):
            self.refuse(
                f"`{ast.unparse(node)}`, whose axis is not one of {len(shape)}",
                node,
                "Count axes from 0.",
            )
        axis %= len(shape)
        rest = [*shape[:axis], *shape[axis + 1 :]]

        def element(indices: list[str]) -> str:
            def item(own: list[str]) -> str:
                return self.item(grid, [*indices[:axis], *own, *indices[axis:]], node)

            return self._one(name, [shape[axis]], item, grid, node)

        if not rest:
            return element([])
        dtype = {"any": "bool", "all": "bool", "argmax": "int64", "argmin": "int64"}.get(name, "")
        lazy = Lazy(rest, element, self.sources(grid), dtype, True)
        return self.of(self.materialize(lazy, node))

    def _one(
        self,
        name: str,
        shape: list[str],
        item: Callable[[list[str]], str],
        grid: Grid,
        node: ast.AST,
    ) -> str:
        """Write the reduction of elements to one number."""
        if name in ("max", "min", "argmax", "argmin"):
            at = self._extreme(name[-3:], shape, item, node)
            if name in ("max", "min"):
                return item(at)
            index_ = "0"
            for index, length in zip(at, shape, strict=True):
                index_ = self.int_op("+", self.int_op("*", index_, length, node), index, node)
            return index_
        if name in ("any", "all"):
            return self._fold_elements(
                "|" if name == "any" else "&",
                shape,
                lambda own: self.put("", "truth", [item(own)], node),
                node,
                "True" if name == "all" else "False",
            )
        if name == "prod":
            return self._fold_elements("*", shape, item, node, "1")
        if name == "sum":
            return self._fold_elements("+", shape, item, node, "0")

        def real(own: list[str]) -> str:  # Numba adds the ints of a mean as floats
            return self.put("", "cast", [item(own)], node, "real")

        known = self.dtype_of(grid).startswith("float")
        total = self._fold_elements("+", shape, item if known else real, node, "0")
        size = self.size(shape, node)
        weak = self.put("", "weak", [size, total], node)
        mean = self.put("", "/", [total, weak], node)
        if name == "mean":
            return mean

        def square(own: list[str]) -> str:
            away = self.put("", "-", [item(own), mean], node)
            return self.put("", "*", [away, away], node)

        spread = self.put(
            "", "/", [self._fold_elements("+", shape, square, node, "0.0"), size], node
        )
        return spread if name == "var" else self.put("", "sqrt", [spread], node)

    def _fold_elements(
        self, op: str, shape: list[str], item: Callable[[list[str]], str], node: ast.AST, start: str
    ) -> str:
        """Write a fold of the elements, in order."""
        total = self.fresh()
        self.put(total, "start" if start in ("0", "1") else "copy", [start], node)
        self.rounds(shape, lambda own: self._fold(total, op, item(own), node), node)
        return total

    def _fold(self, total: str, op: str, item: str, node: ast.AST) -> None:
        self.put(total, op, [total, item], node)

    def _extreme(
        self, which: str, shape: list[str], item: Callable[[list[str]], str], node: ast.AST
    ) -> list[str]:
        """Write the indices of the first extreme element, or of the first NaN."""
        self.write(Assign("", "some", [self.size(shape, node)], "", self.line(node)))
        axes = [k for k, length in enumerate(shape) if length != "1"]
        at = {k: self.fresh() for k in axes}
        for name in at.values():
            self.put(name, "copy", ["0"], node)
            self.low[name] = 0
        best = self.fresh()
        before, self._read = self._read, {}
        self.put(best, "copy", [item(["0"] * len(shape))], node)
        self._read = before
        symbol = ">" if which == "max" else "<"

        def write(own: list[str]) -> None:
            one, beats = item(own), self.fresh()
            self.once.add(beats)
            text = f"({{0}} {symbol} {{1}} or ({{0}} != {{0}} and {{1}} == {{1}}))"
            self.write(Assign(beats, "compare", [one, best], text, self.line(node)))
            self.put(best, "where", [beats, one, best], node)
            for k, name in at.items():
                self.put(name, "where", [beats, own[k], name], node)

        self.rounds(shape, write, node)
        return [at.get(k, "0") for k in range(len(shape))]

    # Products.

    def product(
        self, left: ExpressionValue, right: ExpressionValue, node: ast.AST
    ) -> str | ExpressionValue:
        """Write the product of matrices and vectors: ``np.dot`` and ``@``."""
        if left.grid is None or right.grid is None:
            self.refuse(f"`{ast.unparse(node)}` of a number", node, "Write it with `*`.")
        one, other = self.view(left, node), self.view(right, node)
        if max(len(one.shape), len(other.shape)) > 2:
            self.refuse(f"`{ast.unparse(node)}` of more than two axes", node, "Write loops.")
        low = other.shape[0]
        self.match(one.shape[-1], low, node)

        def item(first: list[str], second: list[str]) -> Callable[[list[str]], str]:
            return lambda own: self.put(
                "",
                "*",
                [
                    self.item(one, [*first, *own], node),
                    self.item(other, [*own, *second], node),
                ],
                node,
            )

        def fold(first: list[str], second: list[str]) -> str:
            return self._fold_elements("+", [low], item(first, second), node, "0")

        if len(one.shape) == len(other.shape) == 1:
            return fold([], [])
        if len(one.shape) == 1:
            return self._columns(["1", *one.shape], one, other, node)
        if len(other.shape) == 1:
            lazy = Lazy([one.shape[0]], lambda i: fold(i, []), [one, other], "", True)
            return self.of(self.materialize(lazy, node))
        return self._columns(one.shape, one, other, node)

    def _columns(self, shape: list[str], one: View, other: View, node: ast.AST) -> ExpressionValue:
        """Write a product whose innermost loop runs along the rows of the second matrix."""
        rows, low = shape
        vector = len(one.shape) == 1
        array = self.new([other.shape[1]] if vector else [rows, other.shape[1]], "", node, "0")

        def write(own: list[str]) -> None:
            i, k, j = own
            first = self.item(one, [k] if vector else [i, k], node)
            value = self.put("", "*", [first, self.item(other, [k, j], node)], node)
            place = self.place(array, [j] if vector else [i, j], node)
            self.write(
                Assign("", "acc", [place, value], "", self.line(node), array.array, first=True)
            )

        self.rounds([rows, low, other.shape[1]], write, node)
        return self.of(array)

    def axis_of(self, node: ast.Call, arguments: list[ast.expr]) -> int | None:
        """Return the axis of a reduction, or None."""
        words = {word.arg: word.value for word in node.keywords}
        every = [*arguments, *([words.pop("axis")] if "axis" in words else [])]
        if words or len(every) > 1:
            self.refuse(f"`{ast.unparse(node)}`", node, "Give it an array and an axis only.")
        if not every or (isinstance(every[0], ast.Constant) and every[0].value is None):
            return None
        axis = constant(self.number(every[0]))
        if not isinstance(axis, int):
            self.refuse(
                f"`{ast.unparse(node)}`, whose axis is not a constant",
                node,
                "Write the axis as a number.",
            )
        return axis

    # Calls: functions of numbers, inlined helpers, results.

    def write_results(self, node: ast.expr) -> Any:
        """Write the results to `outputs`, and return their structure, with indices into it.

        A rule may return a tuple with None, for an argument without adjoint.
        """
        if isinstance(node, ast.Tuple):
            if self.kernel and any(_is_none(x) for x in node.elts):
                self.refuse("`None` among its results", node, "Leave it out.")
            return tuple([None if _is_none(x) else self.write_results(x) for x in node.elts])
        value = self.value(node)
        if value.items is not None:
            self.outputs += value.items
            self.axes += [[] for _ in value.items]
            return tuple(range(len(self.outputs) - len(value.items), len(self.outputs)))
        if value.grid is None:
            self.outputs.append(value.name)
            self.axes.append([])
            return len(self.outputs) - 1
        view = self.view(value, node)
        if not self._is_whole_array(view):
            view = self.materialize(view, node)
        self.outputs.append(view.array)
        self.axes.append(view.shape)
        return len(self.outputs) - 1

    def _do_Raise(self, node: ast.Raise) -> None:
        called: Any = node.exc
        arguments: list[Any] | None = []
        if isinstance(called, ast.Call) and not called.keywords:
            arguments = self._constant_arguments(called.args)
            called = called.func
        kind = self.object(called) if called is not None else None
        if node.cause is not None or not (isinstance(kind, type) and issubclass(kind, Exception)):
            self.refuse(
                f"`{ast.unparse(node)}`",
                node,
                "Raise a class of exceptions, or an exception of constants.",
            )
        self.fail(kind, arguments, node)

    def _do_Assert(self, node: ast.Assert) -> None:
        with self.inside() as failed:
            self.fail(
                AssertionError, self._constant_arguments([node.msg] if node.msg else []), node
            )
        self.write(Branch(self.truth(node.test), [], failed, self.line(node)))

    def fail(self, kind: type[Exception], arguments: list[Any] | None, node: Any) -> None:
        """Write a step that raises an exception."""
        source = self.frames[-1].source
        message_arguments = None if arguments is None else tuple(arguments)
        self.raised.append(
            Raised(kind, message_arguments, source.file, node.lineno, source.function.__name__)
        )
        number = str(len(self.raised) - 1)
        self.write(Assign("", "raise", [], "", self.line(node), dtype=number))

    def _constant_arguments(self, nodes: list[ast.expr]) -> list[Any] | None:
        """Return the constant arguments of an exception; None if they must be computed."""
        values: list[Any] = []
        for node in nodes:
            for x in ast.walk(node):
                if isinstance(x, ast.FormattedValue) and (x.format_spec or x.conversion != -1):
                    self.refuse(
                        f"`{ast.unparse(node)}`, a text with a format",
                        node,
                        "Numba does not support formats: leave it out.",
                    )
            try:
                values.append(ast.literal_eval(node))
            except ValueError:
                values.append(self.object(node))
        return None if any(x is MISSING for x in values) else values

    def _of_Call(self, node: ast.Call, to: str) -> str | ExpressionValue:
        return self.call(node, to, True)

    def helper(self, node: ast.AST) -> FunctionType | None:
        """Return the function that a call calls, if it is a kernel or a plain function."""
        function = self.object(node.func) if isinstance(node, ast.Call) else None
        for name in ("python_function", "py_func"):
            inner = getattr(function, name, None)
            if isinstance(inner, FunctionType):
                return inner
        if not isinstance(function, FunctionType) or function in CALLED:
            return None
        return None if (function.__module__ or "").partition(".")[0] == "numpy" else function

    def call(self, node: ast.Call, to: str, needs_value: bool) -> str | ExpressionValue:
        """Write a call, and return its result."""
        called = self.object(node.func)
        text = ast.unparse(node.func)
        if any(isinstance(x, ast.Starred) for x in node.args):
            self.refuse(f"`{ast.unparse(node)}`", node, "Give its arguments by their places.")
        if called is len and len(node.args) == 1:
            return self.length(self.value(node.args[0]), node)
        creation = self.new_array(node)
        if creation is not None:
            dtype, shape, fill, copied = creation
            return self.of(self.new(shape, dtype, node, fill, copied))
        result = self.of_arrays(node, called)
        if result is not None:
            return result
        if node.keywords:
            self.refuse(f"`{ast.unparse(node)}`", node, "Give its arguments by their places.")
        helper = self.helper(node)
        if helper is not None:
            return self._inline(helper, node, needs_value)
        try:
            known = CALLED.get(called), CASTS.get(called)
        except TypeError:
            known = None, None
        name, cast = known
        if cast and len(node.args) == 1:
            return self.put(to, "cast", [self.number(node.args[0])], node, cast)
        if name is None:
            self.refuse(
                f"the call `{text}(...)`",
                node,
                "Use functions of math and NumPy that kernels know, or write it out.",
            )
        args = [self.value(x) for x in node.args]
        if not isinstance(called, np.ufunc) and called not in (abs, np.where):
            args = [
                ExpressionValue(self.number(x)) if v.grid is not None else v
                for x, v in zip(node.args, args, strict=True)
            ]
        if name in ("max", "min") and len(args) > 2:
            while len(args) > 2:
                args[:2] = [ExpressionValue(self.put("", name, [x.name for x in args[:2]], node))]
        if len(args) != ARITY[name]:
            self.refuse(f"`{text}` of {len(args)} arguments", node, f"It takes {ARITY[name]}.")
        kind = "ufunc" if isinstance(called, np.ufunc) else ""
        return self.elementwise(name, args, node, to, kind=kind)

    def length(self, value: ExpressionValue, node: ast.Call) -> str:
        """Return the ``len`` of an array or tuple."""
        if value.grid is None and value.items is None:
            self.refuse(f"`{ast.unparse(node)}` of a number", node, "Give it an array.")
        return value.grid.shape[0] if value.grid is not None else str(len(value.items or []))

    def _inline(self, helper: FunctionType, node: ast.Call, needs_value: bool) -> ExpressionValue:
        """Write a helper inline, or as a call if it has a rule, is recursive or is recomputed."""
        source = FunctionSource(helper)
        values = [self.value(x) for x in node.args]
        defaults = list(helper.__defaults__ or ())
        missing = len(source.parameters) - len(values)
        if source.tree.args.kwonlyargs:
            self.refuse(
                f"`{ast.unparse(node)}`, which has arguments by name only",
                node,
                "Let it take them by their places.",
            )
        if not 0 <= missing <= len(defaults):
            self.refuse(
                f"`{ast.unparse(node)}` with {len(values)} arguments",
                node,
                f"It takes {len(source.parameters)}.",
            )
        values += [
            ExpressionValue(self.literal(x, node)) for x in defaults[len(defaults) - missing :]
        ]
        kernel = self.object(node.func)
        rule = getattr(kernel, "_rule", None)
        if isinstance(rule, FunctionType):
            return self.call_with_rule(source, values, node, rule)
        recompute = bool(getattr(kernel, "_recompute", False))
        if recompute or any(frame.source.function is helper for frame in self.frames):
            return self._call_function(source, values, node, needs_value, recompute)
        frame = Frame(source, self.prefix(source))
        if len(self.frames) == 1:
            self._call_line = self.line(node)
        for parameter, value in zip(source.parameters, values, strict=True):
            if value.items is not None:
                self.refuse("a tuple as an argument", node, "Pass its parts.")
            if value.grid is not None:
                frame.bound[parameter] = self.of(self.view(value, node))
            elif (not frame.stores[parameter] and value.name in self.once) or (
                is_constant(value.name) and not frame.stores[parameter]
            ):
                frame.bound[parameter] = value
            else:
                self.put(frame.rename(parameter), "copy", [value.name], node)
        if needs_value and not frame.exits.returns:
            self.refuse(
                f"the value of `{ast.unparse(node)}`, which returns nothing",
                node,
                "Call it as a statement.",
            )
        return self.function(frame)

    def call_with_rule(
        self,
        source: FunctionSource,
        values: list[ExpressionValue],
        node: ast.AST,
        rule: FunctionType,
    ) -> ExpressionValue:
        """Write a call of a function that has a custom VJP."""
        names, axes = self._call_arguments(values, node, lambda view: self.materialize(view, node))
        ndim = self.functions.axes(source.function, tuple([len(x) or -1 for x in axes]))
        out = self.fresh()
        call = Call(
            "" if ndim > 0 else out,
            source.function,
            names,
            axes,
            self.line(node),
            True,
            self.functions,
            rule,
            out if ndim > 0 else "",
        )
        self.write(call)
        if ndim < 0:
            return ExpressionValue(out)
        self.arrays[out] = ArrayType("", ndim, False)
        self.low.update(dict.fromkeys(call.assigned_names(ndim), 0))
        return self.all_of(out)

    def _call_function(
        self,
        source: FunctionSource,
        values: list[ExpressionValue],
        node: ast.Call,
        needs_value: bool,
        recompute: bool,
    ) -> ExpressionValue:
        """Write a call of a function that has separate sweeps."""
        names, axes = self._call_arguments(
            values,
            node,
            lambda view: self.refuse(
                f"part of an array as an argument of `{ast.unparse(node.func)}`",
                node,
                "Pass the array and where the part begins, or a copy.",
            ),
        )
        returns = JumpElimination(source).returns
        if needs_value and not returns:
            self.refuse(
                f"the value of `{ast.unparse(node)}`, which returns nothing",
                node,
                "Call it as a statement.",
            )
        out = self.fresh() if returns else ""
        if returns:
            self.callee_names[out] = self.callee_names[ast.unparse(node)] = source.function.__name__
        self.write(
            Call(out, source.function, names, axes, self.line(node), recompute, self.functions)
        )
        return ExpressionValue(out)

    def _call_arguments(
        self, values: list[ExpressionValue], node: ast.AST, part: Callable[[View], View]
    ) -> tuple[list[str], list[list[str]]]:
        """Return the arguments of a call: names, and the axes of arrays.

        The function ``part`` copies or refuses a view that is not a whole array.
        """
        names: list[str] = []
        axes: list[list[str]] = []
        for value in values:
            if value.items is not None:
                self.refuse("a tuple as an argument", node, "Pass its parts.")
            if value.grid is None:
                names.append(value.name)
                axes.append([])
                continue
            view = self.view(value, node)
            view = view if self._is_whole_array(view) else part(view)
            names.append(view.array)
            axes.append(view.shape)
        return names, axes

    def _is_whole_array(self, view: View) -> bool:
        """Whether a view is contiguous from the array's start, and for an argument is all of it."""
        is_contiguous = view.offset == "0" and view.strides is None
        if not self.arrays[view.array].argument:
            return is_contiguous
        return is_contiguous and view.shape == [
            f"{view.array}_n{k}" for k in range(len(view.shape))
        ]

    def new_array(self, node: ast.expr) -> tuple[str | View, list[str], str, str] | None:
        """Return dtype, shape, fill and original of ``np.zeros`` and the like; None for others."""
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
            grid = self.value(node.func.value).grid if self.object(node.func) is MISSING else None
            return self._copy(grid)
        called = self.object(node.func)
        makers = {
            np.zeros: "0",
            np.empty: "",
            np.ones: "1",
            np.zeros_like: "0",
            np.empty_like: "",
            np.ones_like: "1",
            np.copy: "",
        }
        try:
            if called not in makers or not node.args:
                return None
        except TypeError:
            return None
        fill = makers[called]
        dtype: str | View
        words = {word.arg: word.value for word in node.keywords}
        kinds = [*node.args[1:], *([words.pop("dtype")] if "dtype" in words else [])]
        if words or len(kinds) > 1:
            self.refuse(f"`{ast.unparse(node)}`", node, "Give it a shape and a dtype only.")
        if called in (np.zeros_like, np.empty_like, np.ones_like, np.copy):
            grid = self.value(node.args[0]).grid
            if grid is None:
                self.refuse(f"`{ast.unparse(node)}`", node, "Give it an array.")
            if called is np.copy:
                return self._copy(grid)
            dtype, shape, copied = self.view(ExpressionValue(grid=grid), node), grid.shape, ""
        else:
            argument = node.args[0]
            shape_value = (
                self.value(argument)
                if not isinstance(argument, ast.Tuple)
                else ExpressionValue(items=[self.number(x) for x in argument.elts])
            )
            shape = shape_value.items if shape_value.items is not None else [shape_value.name]
            dtype, copied = "float64", ""
        if not 1 <= len(shape) <= 3:
            self.refuse(f"`{ast.unparse(node)}`, of {len(shape)} axes", node, "Use one to three.")
        if kinds:
            dtype = self._dtype(kinds[0])
        return dtype, shape, fill, copied

    def _copy(self, grid: Grid | None) -> tuple[str | View, list[str], str, str] | None:
        """Return the creation of a copy of a whole array; None for others, which are loops."""
        if not isinstance(grid, View) or grid.strides is not None or grid.offset != "0":
            return None
        axes = [f"{grid.array}_n{k}" for k in range(self.arrays[grid.array].ndim)]
        if grid.shape != axes or not self.arrays[grid.array].dtype:
            return None
        return self.arrays[grid.array].dtype, grid.shape, "", grid.array

    def _dtype(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            grid = self.value(node.value).grid
            if grid is not None and self.dtype_of(grid):
                return self.dtype_of(grid)
        dtype = self.object(node)
        try:
            name = np.dtype(dtype).name if dtype is not MISSING else ""
        except TypeError:
            name = ""
        if name not in DTYPE_NAMES:
            self.refuse(f"the dtype `{ast.unparse(node)}`", node, f"Use {', '.join(DTYPE_NAMES)}.")
        return name

    # Functions and methods of arrays that create, reshape or reduce them.

    def of_arrays(self, node: ast.Call, called: Any) -> str | ExpressionValue | None:
        """Write a call of an array function or method; return None for other calls."""
        if called is MISSING and isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        try:
            reduction, method = REDUCED.get(called), MADE.get(called)
            if len(node.args) == 1 and not node.keywords:
                reduction = BUILTIN.get(called, reduction)
        except TypeError:
            return None
        if reduction is not None and node.args:
            base = self.value(node.args[0])
            return self._reduce(reduction, base, node, node.args[1:])
        if method is None:
            return None
        name, least, most = method
        return self._write_creation(name, node, list(node.args), least, most)

    def _method(self, node: ast.Call, function: ast.Attribute) -> str | ExpressionValue | None:
        name = function.attr
        if name not in OF_ARRAYS and name not in METHODS:
            return None
        base = self.value(function.value)
        if name in METHODS:
            return self._reduce(name, base, node, node.args)
        most = 1 + OF_ARRAYS[name]
        return self._write_creation(name, node, [base, *node.args], min(2, most), most)

    def _reduce(
        self, name: str, base: ExpressionValue, node: ast.Call, rest: list[Any]
    ) -> str | ExpressionValue:
        if base.grid is None:
            self.refuse(f"`{ast.unparse(node)}` of what is not an array", node, "Give it an array.")
        return self.reduce(name, base.grid, self.axis_of(node, rest), node)

    def _write_creation(
        self, name: str, node: ast.Call, args: list[Any], least: int, most: int
    ) -> str | ExpressionValue:
        words = {str(word.arg): word.value for word in node.keywords}
        kind = self._dtype(words.pop("dtype")) if "dtype" in words else ""
        if words:
            self.refuse(f"`{ast.unparse(node)}`", node, "Give its arguments by their places.")
        if name == "full" and len(args) == 3:
            kind = self._dtype(args.pop())
        if not least <= len(args) <= most:
            self.refuse(f"`{ast.unparse(node)}`", node, f"It takes {least} to {most} arguments.")
        result: str | ExpressionValue = getattr(self, f"_make_{name}")(node, args, kind)
        return result

    # Arguments. The first argument of a method is already an `ExpressionValue`.

    def _as_value(self, x: ast.expr | ExpressionValue) -> ExpressionValue:
        return x if isinstance(x, ExpressionValue) else self.value(x)

    def _array(self, x: ast.expr | ExpressionValue, node: ast.Call) -> View:
        value = self._as_value(x)
        if value.grid is None:
            self.refuse(f"`{ast.unparse(node)}` of what is not an array", node, "Give it an array.")
        return self.view(value, node)

    def _lengths(self, x: ast.expr | ExpressionValue, node: ast.Call) -> list[str]:
        shape_value = self._as_value(x)
        shape = shape_value.items if shape_value.items is not None else [shape_value.name]
        if not all(shape):
            self.refuse(f"`{ast.unparse(node)}`, whose shape is an array", node, "Give numbers.")
        return shape

    def _to(self, name: str, kind: str, node: ast.Call) -> str:
        """Write a conversion of a number to a dtype."""
        if not kind:
            return name
        if kind not in ("bool", "int64", "float32", "float64"):
            self.refuse(f"`{ast.unparse(node)}`, of dtype {kind}", node, "Use int64 or a float.")
        return self.put("", "cast", [name], node, kind)

    # Views and copies.

    def _make_transpose(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        return self.of(self.reverse_axes(self._array(args[0], node), node))

    def _make_reshape(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        shape = [x for one in args[1:] for x in self._lengths(one, node)]
        if len(shape) > 3:
            self.refuse(f"`{ast.unparse(node)}`, of {len(shape)} axes", node, "Use one to three.")
        return self.of(self.reshape(self._array(args[0], node), shape, node))

    def _make_ravel(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        view = self._array(args[0], node)
        if view.strides is not None:
            view = self.materialize(view, node)
        return self.of(self.reshape(view, ["-1"], node))

    def _make_flatten(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        return self.of(
            self.reshape(self.materialize(self._array(args[0], node), node), ["-1"], node)
        )

    def _make_asarray(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        view = self._array(args[0], node)
        if kind and kind != self.dtype_of(view):
            return self._make_astype(node, [self.of(view), kind], kind)
        return self.of(view)

    def _make_ordered(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        view = self._array(args[0], node)
        return self.of(view if view.strides is None else self.materialize(view, node))

    def _make_copy(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        return self.of(self.materialize(self._array(args[0], node), node))

    def _make_expand_dims(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        view, axis = self._array(args[0], node), constant(self.number(args[1]))
        count = len(view.shape) + 1
        if not isinstance(axis, int) or not -count <= axis < count:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write the axis as a number.")
        indices: list[Any] = [ast.Slice()] * (count - 1)
        indices.insert(axis % count, ast.Constant(None))
        return self.of(self.part(view, indices, node))

    def _make_astype(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        kind = kind or self._dtype(args[1])
        return self.combine(
            [self.of(self._array(args[0], node))],
            node,
            lambda items: self._to(items[0], kind, node),
            kind,
        )

    # New arrays.

    def _make_array(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        elements = args[0]
        if not isinstance(elements, ast.List | ast.Tuple):
            view = self._array(elements, node)
            return (
                self._make_astype(node, [self.of(view), kind], kind)
                if kind
                else (self._make_copy(node, [self.of(view)], ""))
            )
        rows = [x.elts if isinstance(x, ast.List | ast.Tuple) else None for x in elements.elts]
        if not rows or (any(row is None for row in rows) and rows != [None] * len(rows)):
            self.refuse(f"`{ast.unparse(node)}`", node, "Give it numbers, or rows of numbers.")
        widths = {len(row) for row in rows if row is not None}
        if len(widths) > 1 or 0 in widths:
            self.refuse(f"`{ast.unparse(node)}`, whose rows differ", node, "Give it equal rows.")
        every = [x for row in rows if row is not None for x in row] or elements.elts
        values = [self._to(self.number(x), kind, node) for x in every]
        shape = [str(len(rows)), *map(str, widths)]
        array = self.new(shape, "", node)
        for k, value in enumerate(values):
            self.write(
                Assign("", "store", [str(k), value], "", self.line(node), array.array, first=True)
            )
        return self.of(array)

    def _fill(self, shape: list[str], x: ast.expr, kind: str, node: ast.Call) -> ExpressionValue:
        value = self._to(self.number(x), kind, node)
        return ExpressionValue(grid=Lazy(shape, lambda own: value, [], kind))

    def _make_full(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        return self._fill(self._lengths(args[0], node), args[1], kind, node)

    def _make_full_like(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        view = self._array(args[0], node)
        if kind or self.dtype_of(view):
            return self._fill(view.shape, args[1], kind or self.dtype_of(view), node)
        array = self.new(view.shape, view, node)
        self.put_all(array, ExpressionValue(self.number(args[1])), node, first=True)
        return self.of(array)

    def _make_linspace(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        """Write ``start + i * (stop - start) / (n - 1)``, as Numba, but ``stop`` at the end."""
        start, stop = (self.put("", "*", [self.number(x), "1.0"], node) for x in args[:2])
        count = self.number(args[2]) if len(args) > 2 else "50"
        last = self.int_op("-", count, "1", node)
        delta = self.put("", "-", [stop, start], node)
        least = self.int_op("max", last, "1", node)
        step = self.put("", "/", [delta, least], node)

        def element(own: list[str]) -> str:
            inner = self.put("", "+", [start, self.put("", "*", [own[0], step], node)], node)
            ends = self.put("", "compare <", [own[0], last], node)
            first = self.put("", "compare <", [own[0], "1"], node)
            ends = self.put("", "|", [ends, first], node)
            return self.put("", "where", [ends, inner, stop], node)

        return ExpressionValue(grid=Lazy([count], element, [], "float64"))

    def _make_arange(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        low, high = ("0", args[0]) if len(args) == 1 else (self.number(args[0]), args[1])
        high, step = self.number(high), self.number(args[2]) if len(args) > 2 else "1"
        steps = constant(step)
        if not isinstance(steps, int) or not steps or kind not in ("", "int64", "float64"):
            self.refuse(
                f"`{ast.unparse(node)}`, whose step is not a whole constant",
                node,
                "Multiply an np.arange of ints.",
            )
        if isinstance(constant(low), float) or isinstance(constant(high), float):
            self.refuse(f"`{ast.unparse(node)}` of floats", node, "Multiply an np.arange of ints.")
        span = self.int_op("-", high, low, node)
        if steps != 1:
            span = self.int_op("+", span, str(steps - (1 if steps > 0 else -1)), node)
            span = self.int_op("//", span, step, node)
        count = self.int_op("max", span, "0", node)
        if constant(count) is None:
            self.low[count] = 0

        def element(own: list[str]) -> str:
            value = self.int_op("+", low, self.int_op("*", own[0], step, node), node)
            return self._to(value, kind, node)

        return ExpressionValue(grid=Lazy([count], element, [], kind or "int64"))

    def _make_eye(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        count = self.number(args[0])

        def element(own: list[str]) -> str:
            same = self.put("", "compare ==", own, node)
            return self._to(self.put("", "where", [same, "1.0", "0.0"], node), kind, node)

        return ExpressionValue(grid=Lazy([count, count], element, [], kind or "float64"))

    # Products, conditions and sums.

    def _make_dot(self, node: ast.Call, args: list[Any], kind: str) -> str | ExpressionValue:
        return self.product(self._as_value(args[0]), self._as_value(args[1]), node)

    def _make_outer(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        one, other = (self._array(x, node) for x in args)
        one = self.part(self._flat(one, node), [ast.Slice(), ast.Constant(None)], node)
        product = self.elementwise("*", [self.of(one), self.of(self._flat(other, node))], node)
        assert isinstance(product, ExpressionValue)
        return product

    def _flat(self, view: View, node: ast.Call) -> View:
        return view if len(view.shape) == 1 else self.reshape(view, ["-1"], node)

    def _logical(self, op: str, node: ast.Call, args: list[Any]) -> str | ExpressionValue:
        truths = []
        for x in args:
            value = self._as_value(x)
            truths.append(self.elementwise("truth", [value], node, dtype="bool"))
        values = [ExpressionValue(x) if isinstance(x, str) else x for x in truths]
        return self.elementwise(op, values, node, dtype="bool")

    def _make_and(self, node: ast.Call, args: list[Any], kind: str) -> str | ExpressionValue:
        return self._logical("&", node, args)

    def _make_or(self, node: ast.Call, args: list[Any], kind: str) -> str | ExpressionValue:
        return self._logical("|", node, args)

    def _make_not(self, node: ast.Call, args: list[Any], kind: str) -> str | ExpressionValue:
        return self._logical("not", node, args)

    def _make_clip(self, node: ast.Call, args: list[Any], kind: str) -> str | ExpressionValue:
        x, low, high = map(self._as_value, args)
        above = self.elementwise("maximum", [x, low], node)
        above = ExpressionValue(above) if isinstance(above, str) else above
        return self.elementwise("minimum", [above, high], node)

    def _make_count_nonzero(
        self, node: ast.Call, args: list[Any], kind: str
    ) -> str | ExpressionValue:
        is_nonzero = self.elementwise("truth", [self._as_value(args[0])], node, dtype="bool")
        return self._reduce(
            "sum",
            is_nonzero if isinstance(is_nonzero, ExpressionValue) else ExpressionValue(is_nonzero),
            node,
            [],
        )

    def _make_flatnonzero(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        view = self._flat(self._array(args[0], node), node)
        is_nonzero = self.elementwise("truth", [self.of(view)], node, dtype="bool")
        assert isinstance(is_nonzero, ExpressionValue) and is_nonzero.grid is not None
        return self.of(self.where(is_nonzero.grid, node))

    def _make_take(self, node: ast.Call, args: list[Any], kind: str) -> str | ExpressionValue:
        view, index = self._flat(self._array(args[0], node), node), self._as_value(args[1])
        if index.grid is not None:
            return self.gather(self.places(view, [index.grid], node), node)
        return self.load(view, [self.position(index.name, view.shape[0], node)], node)

    def _make_norm(self, node: ast.Call, args: list[Any], kind: str) -> str:
        view = self._array(args[0], node)
        squares = self.elementwise("square", [self.of(view)], node)
        assert isinstance(squares, ExpressionValue) and squares.grid is not None
        total = self.reduce("sum", squares.grid, None, node)
        assert isinstance(total, str)
        return self.put("", "sqrt", [total], node)

    def _make_trace(self, node: ast.Call, args: list[Any], kind: str) -> str | ExpressionValue:
        view = self._array(args[0], node)
        if len(view.shape) != 2:
            self.refuse(f"`{ast.unparse(node)}` of other than a matrix", node, "Write a loop.")
        count = self.int_op("min", view.shape[0], view.shape[1], node)
        diagonal = Lazy([count], lambda own: self.load(view, own * 2, node), [view], "", True)
        return self.reduce("sum", diagonal, None, node)

    def _make_cumsum(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        view = self._array(args[0], node)
        if len(view.shape) != 1:
            self.refuse(f"`{ast.unparse(node)}` of more than one axis", node, "Write a loop.")
        total = self.fresh()
        self.put(total, "start", ["0"], node)

        def element(own: list[str]) -> str:
            return self.put(total, "+", [total, self.item(view, own, node)], node)

        return self.of(self.materialize(Lazy(view.shape, element, [view]), node))

    def _make_diff(self, node: ast.Call, args: list[Any], kind: str) -> str | ExpressionValue:
        view = self._array(args[0], node)
        if len(view.shape) != 1:
            self.refuse(f"`{ast.unparse(node)}` of more than one axis", node, "Subtract slices.")
        one = self.part(view, [ast.Slice(ast.Constant(1))], node)
        other = self.part(view, [ast.Slice(None, ast.Constant(-1))], node)
        return self.elementwise("-", [self.of(one), self.of(other)], node)

    def _make_shape(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        return ExpressionValue(items=self._array(args[0], node).shape)

    def _make_size(self, node: ast.Call, args: list[Any], kind: str) -> str:
        return self.size(self._array(args[0], node).shape, node)

    def _make_fill(self, node: ast.Call, args: list[Any], kind: str) -> ExpressionValue:
        self.assign(self._array(args[0], node), ExpressionValue(self.number(args[1])), node)
        return ExpressionValue(items=[])

    # Statements.

    def function(self, frame: Frame) -> ExpressionValue:
        """Write the statements of a function, and return its result; an empty value for none."""
        result = ExpressionValue()
        self.frames.append(frame)
        for flag in frame.flags.values():
            self.put(frame.rename(flag), "copy", ["False"], frame.source.tree)
        for parameter in frame.source.parameters:
            grid = frame.bound.get(parameter, result).grid
            if isinstance(grid, View) and frame.rebound(parameter):
                del frame.bound[parameter]
                self.bind(parameter, grid, frame.source.tree)
        for statement in frame.exits.body:
            if isinstance(statement, ast.Return):
                if statement.value is None:
                    continue
                if len(self.frames) == 1:
                    self.form = self.write_results(statement.value)
                    single = self.form == 0 and self.outputs[0] not in self.arrays
                    result = ExpressionValue(self.outputs[0] if single else "")
                    continue
                result = self.value(statement.value)
                if result.grid is not None:
                    result = self.of(self.view(result, statement))
            else:
                self.statement(statement)
        self.frames.pop()
        return result

    def call_of(self, frame: Frame, rule: FunctionType) -> ExpressionValue:
        """Write a function with a rule as one call with its parameters, and return the result."""
        self.frames.append(frame)
        source = frame.source
        arguments = [
            frame.bound.get(x) or ExpressionValue(frame.rename(x)) for x in source.parameters
        ]
        result = self.call_with_rule(source, arguments, source.tree, rule)
        self.outputs, self.form = [result.name or result.array], 0
        self.axes = [result.grid.shape if result.grid is not None else []]
        self.frames.pop()
        return ExpressionValue(result.name)

    def block(self, statements: list[ast.stmt]) -> list[Node]:
        """Write statements, and return their nodes."""
        with self.inside() as nodes:
            for statement in statements:
                self.statement(statement)
        return nodes

    def statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        self.count += 1
        if self.count > MOST:
            self.refuse("so many statements, with those of its helpers", node, "Split it.")
        write = getattr(self, f"_do_{type(node).__name__}", None)
        if write is None:
            self.refuse(f"`{_keyword(node)}`", node, _WAYS.get(type(node), "Leave it out."))
        write(node)

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            function = node.value.func
            filled = isinstance(function, ast.Attribute) and function.attr == "fill"
            if filled or self.helper(node.value) is not None:
                self.call(node.value, "", False)
                return
        self.refuse("an expression whose value is not used", node, "Leave it out.")

    def _do_Assign(self, node: ast.Assign) -> None:
        first = node.targets[0]
        if isinstance(first, ast.Tuple) and len(node.targets) == 1:
            return self.unpack(first, node.value)
        if len(node.targets) == 1 and isinstance(first, ast.Name):
            return self.assign_name(first, node.value)
        value = self.value(node.value)
        if isinstance(value.grid, Lazy) and len(node.targets) > 1:
            value = self.of(self.materialize(value.grid, node))
        for target in node.targets:
            self.give(target, value)
        return None

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._do_Assign(ast.Assign([node.target], node.value, lineno=node.lineno))

    def assign_name(self, target: ast.Name, value: ast.expr) -> None:
        """Write ``name = value``."""
        if self.make(target.id, value):
            return
        result = self.value(value, self.frames[-1].rename(target.id))
        if result.grid is not None:
            self.bind(target.id, self.view(result, value), value)
        elif result.items is not None and not self.frames[-1].rebound(target.id):
            items = [self._still(x, value) for x in result.items]
            self.frames[-1].bound[target.id] = ExpressionValue(items=items)
            self.has(target.id, value)
        else:
            self.give(target, result)

    def unpack(self, target: ast.Tuple, value: ast.expr) -> None:
        """Write ``a, b = c, d``: all values are computed before the first assignment."""
        if isinstance(value, ast.Tuple):
            items = [self.snapshot(self.value(x), x) for x in value.elts]
        else:
            value_ = self.value(value)
            if value_.items is not None:
                items = [ExpressionValue(x) for x in value_.items]
            else:
                self.refuse("a tuple that is not written out", value, "Assign its parts by name.")
        if len(items) != len(target.elts):
            self.refuse("a tuple of another length", target, "Give each name one value.")
        for one, item in zip(target.elts, items, strict=True):
            self.give(one, item)

    def snapshot(self, value: ExpressionValue, node: ast.AST) -> ExpressionValue:
        """Return a value that later assignments do not change."""
        if value.grid is not None:
            return self.of(self.freeze(self.view(value, node), node))
        if not value.name:
            self.refuse(f"a tuple in `{ast.unparse(node)}`", node, "Assign its parts by name.")
        return ExpressionValue(self.put("", "copy", [value.name], node))

    def give(self, target: ast.expr, value: ExpressionValue) -> None:
        """Write an assignment of a value to a name, an element or a view."""
        if isinstance(target, ast.Name):
            if value.grid is not None:
                self.bind(target.id, self.view(value, target), target)
                return
            name = self.target(target)
            if not value.name:
                self.refuse(f"a tuple under the name `{target.id}`", target, "Name its parts.")
            if value.name != name:
                self.put(name, "copy", [value.name], target)
            return
        if not isinstance(target, ast.Subscript):
            self.refuse(
                f"an assignment to `{ast.unparse(target)}`",
                target,
                "Assign to names and to elements of arrays.",
            )
        place = self.element(target)
        if isinstance(place, View):
            self.assign(place, value, target)
            return
        if isinstance(place, Places):
            self.scatter(place, value, target)
            return
        if not value.name:
            self.refuse("an array as one element", target, "Assign to a slice.")
        array, at = place
        self.write(Assign("", "store", [at, value.name], "", self.line(target), array))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        operator = OPERATORS.get(type(node.op))
        if isinstance(node.target, ast.Name):
            self.sure(node.target)
            load = ast.Name(node.target.id, ast.Load())
            grid = self.value(load).grid
            if grid is None:
                self.assign_name(node.target, _like(ast.BinOp(load, node.op, node.value), node))
                return None
            place: Any = self.view(ExpressionValue(grid=grid), node)
        elif isinstance(node.target, ast.Subscript):
            place = self.element(node.target)
        else:
            return self.give(node.target, ExpressionValue("0"))
        if operator is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write it with arithmetic.")
        if isinstance(place, View):
            return self.change(place, operator, self.value(node.value), node)
        if isinstance(place, Places):  # read all first: the last of equal indices wins
            before = self.gather(place, node)
            if any(self.helper(x) for x in ast.walk(node.value)):
                before = self.of(self.view(before, node))
            after = self.elementwise(operator, [before, self.value(node.value)], node)
            assert isinstance(after, ExpressionValue)
            return self.scatter(place, after, node)
        array, at = place
        adds = operator in "+-" and self.arrays[array].dtype[:1] == "f"
        if adds and not any(self.helper(x) for x in ast.walk(node.value)):
            value = self.number(node.value)
            name = "sub" if operator == "-" else "acc"
            return self.write(Assign("", name, [at, value], "", self.line(node), array))
        old = self.fresh()
        self.write(Assign(old, "load", [at], "", self.line(node), array))
        value = self.put("", operator, [old, self.number(node.value)], node)
        return self.write(Assign("", "store", [at, value], "", self.line(node), array))

    def make(self, local: str, value: ast.expr) -> bool:
        """Write ``name = np.zeros(...)`` and the like; return False for other values."""
        frame = self.frames[-1]
        creation = self.new_array(value)
        if creation is None:
            return False
        dtype, shape, fill, copied = creation
        known = frame.bound.get(local)
        name = "" if frame.rebound(local) or known is not None else frame.rename(local)
        view = self.new(shape, dtype, value, fill, copied, name)
        if name:
            self.has(local, value)
            frame.bound[local] = self.of(view)
        else:
            self.bind(local, view, value)
        return True

    def _do_If(self, node: ast.If) -> None:
        test = self.truth(node.test)
        if test in ("True", "False"):
            for statement in node.body if test == "True" else node.orelse:
                self.statement(statement)
            return
        self.write(Branch(test, self.block(node.body), self.block(node.orelse), self.line(node)))

    def _do_While(self, node: ast.While) -> None:
        with self.inside() as head:
            test = self.truth(node.test)
        if any(
            isinstance(n, Alloc | Call) or (isinstance(n, Assign) and n.op in WRITES)
            for n in walk(head)
        ):
            return self._judging(head, test, node)
        self.write(While(head, test, self.block(node.body), self.line(node)))

    def _judging(self, head: list[Node], test: str, node: ast.While) -> None:
        """Write a loop whose condition writes to arrays: the body computes the condition."""
        go = self.fresh()
        self.put(go, "copy", ["True"], node)
        body = self.block(node.body)
        with self.inside() as ends:
            self.put(go, "copy", ["False"], node)
        rounds = [*head, Branch(test, body, ends, self.line(node))]
        self.write(While([], go, rounds, self.line(node)))

    def _do_For(self, node: ast.For) -> None:
        low, high, step = self.range(node.iter)
        if not isinstance(node.target, ast.Name):
            self.refuse("a loop over more than one name", node, "Loop over a range.")
        local = node.target.id
        if hasattr(node, "go"):
            self.leaving(node, node.target, low, high, step)
            return
        frame = self.frames[-1]
        if local in frame.private_loop_variables:
            name = frame.rename(local)
            frame.bound.pop(local, None)
        else:
            name = self.fresh()
        starts = low if step > 0 else high
        first: Any = constant(starts)
        known: Any = self.low.get(starts) if first is None else first
        if known is not None:
            self.low[name] = known if step > 0 else known + 1
        else:
            self.low.pop(name, None)
        with self.inside() as body:
            if local not in frame.private_loop_variables:
                self.put(self.target(node.target), "copy", [name], node)
            for statement in node.body:
                self.statement(statement)
        self.write(ForRange(name, low, high, step, body, self.line(node)))

    def leaving(self, node: Any, target: ast.Name, low: str, high: str, step: int) -> None:
        """Write a loop over a range with an early exit, as ``while go`` with a counter."""
        at = self.fresh()
        self.put(at, "copy", [low], node)
        more = "<" if step > 0 else ">"
        go = self.target(ast.Name(node.go, ast.Store()))
        with self.inside() as rounds:
            test = self.put("", f"compare {more}", [at, high], node)
            with self.inside() as body:
                self.put(self.target(target), "copy", [at], node)
                for statement in node.body:
                    self.statement(statement)
            with self.inside() as ends:
                self.put(go, "copy", ["False"], node)
            self.write(Branch(test, body, ends, self.line(node)))
            self.put(at, "+", [at, str(step)], node)
        self.write(While([], go, rounds, self.line(node)))

    def range(self, node: ast.expr) -> tuple[str, str, int]:
        """Return the bounds of a range, which nothing assigns later, and its step."""
        called = self.object(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or called is not range or node.keywords:
            self.refuse(
                f"a loop over `{ast.unparse(node)}`",
                node,
                "Loop over range(...) and read elements by their index.",
            )
        bounds = [self.number(x) for x in node.args]
        if not 1 <= len(bounds) <= 3:
            self.refuse("a range of other than one to three numbers", node, "Write range(n).")
        step = constant(bounds[2]) if len(bounds) == 3 else 1
        if not isinstance(step, int) or not step:
            self.refuse(
                "a range whose step is not a constant, or is 0",
                node,
                "Count by ones and multiply, or write the step as a number.",
            )
        low, high = bounds[:2] if len(bounds) > 1 else ("0", bounds[0])
        low, high = (
            x if constant(x) is not None or self.single(x) else self.put("", "copy", [x], node)
            for x in (low, high)
        )
        return low, high, step


_WAYS: dict[type, str] = {
    ast.Try: "Check what may fail with `if`.",
    ast.With: "Do it outside of the kernel.",
    ast.Global: "Take it as an argument.",
    ast.Nonlocal: "Take it as an argument.",
    ast.FunctionDef: "Define the helper outside of the kernel.",
    ast.Import: "Import outside of the kernel.",
    ast.ImportFrom: "Import outside of the kernel.",
    ast.Match: "Write it with `if` and `elif`.",
}


def _keyword(node: ast.AST) -> str:
    return {
        ast.FunctionDef: "def",
        ast.AsyncFunctionDef: "async def",
        ast.ImportFrom: "import",
        ast.Delete: "del",
    }.get(type(node), type(node).__name__.lower())


def _like(node: ast.AST, other: ast.stmt) -> Any:
    return ast.copy_location(node, other)
