"""Expressions in normal form: each becomes steps, and the name of what they give."""

from __future__ import annotations

import ast
import math
import re
from typing import Any, NoReturn

import numpy as np

from .frame import Frame, Value
from .nodes import Array, Branch, Node, Step, is_constant
from .rules import FUNCTIONS
from .source import MISSING, Source

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
COMPARED = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
# The text of steps that are no functions.
_TEXTS = {
    "not": "not {0}", "truth": "bool({0})", "wrap": "({0} if {0} >= 0 else {0} + {1})",
    "castfloat64": "float({0})", "castfloat32": "np.float32({0})", "castint64": "int({0})",
    "castbool": "bool({0})",
}  # fmt: skip


def constant(operand: str) -> int | float | None:
    """The number that an operand's text is; None of a name."""
    if not is_constant(operand) or operand in ("True", "False"):
        return None
    if operand.lstrip("-").startswith("math."):
        return float(operand.replace("math.", ""))
    return int(operand) if re.fullmatch(r"-?\d+", operand) else float(operand)


class Expressions:
    """Writes expressions.

    Attributes:
      out: The nodes that are being written.
      arrays: What is known of each array.
      low: Lower bounds of ints that are assigned in one place only.
      frames: The functions that are being written, each called by the one before.
    """

    def __init__(self) -> None:
        self.out: list[Node] = []
        self.arrays: dict[str, Array] = {}
        self.low: dict[str, int] = {}
        self.frames: list[Frame] = []
        self.count = self._names = self._helpers = 0
        self.once: set[str] = set()

    def prefix(self, source: Source) -> str:
        """What a helper's local names begin with."""
        self._helpers += 1
        return f"h{self._helpers - 1}_" if self._helpers > 1 else ""

    def fresh(self) -> str:
        """A name that nothing else has."""
        self._names += 1
        return f"_{self._names}"

    def line(self, node: Any) -> int:
        """Where a node stands, from the first line of the kernel on."""
        return self.frames[0].source.at(node) if len(self.frames) == 1 else self._call_line

    _call_line = 0

    def refuse(self, construct: str, node: Any, way: str) -> NoReturn:
        """Say what a kernel cannot have; see `Source.refuse`."""
        self.frames[-1].source.refuse(construct, node, way)

    def write(self, node: Node) -> None:
        """Add a node."""
        self.out.append(node)

    def single(self, name: str) -> bool:
        """Whether a name is assigned in one place, before all others that read it."""
        return name in self.once or name.endswith(("_n0", "_n1", "_n2"))

    def put(self, out: str, op: str, args: list[str], node: Any, dtype: str = "") -> str:
        """Write a step; its result goes to a fresh name unless there is one."""
        if not out:
            out = self.fresh()
            self.once.add(out)
        kind, _, operator = op.partition(" ")
        if kind == "compare":
            text, op = f"{{0}} {operator} {{1}}", "compare"
        elif kind in ("&", "|", "^", "<<", ">>"):
            text = f"{{0}} {kind} {{1}}"
        else:
            text = _TEXTS.get(op + dtype) or FUNCTIONS[op].text
        self.out.append(Step(out, op, args, text, self.line(node), dtype=dtype))
        if out in self.once:
            low = self._lowest(op, args)
            if low is not None:
                self.low[out] = low
        return out

    def _lowest(self, op: str, args: list[str]) -> int | None:
        """A bound below which an int is not, if there is one that is known."""
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

    # Names and what they mean.

    def target(self, node: ast.Name) -> str:
        """The name that an assignment assigns."""
        frame = self.frames[-1]
        if frame.bound.get(node.id, Value()).array:
            self.refuse(f"another value for the array `{node.id}`", node,
                        "Take a name of its own for it.")  # fmt: skip
        name = frame.rename(node.id)
        frame.bound[node.id] = Value(name)
        self.low.pop(name, None)
        return name

    def object(self, node: Any) -> Any:
        """What a global name or an attribute of one is; MISSING if it is none."""
        return self.frames[-1].source.value(node)

    def value(self, node: Any, to: str = "") -> Value:
        """Write an expression; its result goes to the name ``to`` if there is one."""
        if isinstance(node, ast.Name):
            local = self._local(node)
            if local is not None:
                if to and not local.array:
                    return Value(self.put(to, "copy", [local.name], node))
                return local
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            array = self.value(node.value).array
            if array:
                return Value(items=[f"{array}_n{k}" for k in range(self.arrays[array].ndim)])
        return Value(self.number(node, to))

    def _local(self, node: ast.Name) -> Value | None:
        frame = self.frames[-1]
        if node.id in frame.bound:
            return frame.bound[node.id]
        if node.id in frame.source.locals or node.id in frame.exits.made:
            return Value(frame.rename(node.id))
        return None

    def number(self, node: Any, to: str = "") -> str:
        """Write an expression that is a number. Returns its name or its text."""
        write = getattr(self, f"_of_{type(node).__name__}", None)
        if write is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write it with numbers and elements.")
        found: str = write(node, to)
        if to and found != to:
            return self.put(to, "copy", [found], node)
        return found

    def _of_Constant(self, node: ast.Constant, to: str) -> str:
        return self.literal(node.value, node)

    def literal(self, value: Any, node: Any) -> str:
        """The text of a constant."""
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
        self.refuse(f"the constant `{ast.unparse(node)}`, of type {kind}", node,
                    "Use floats and ints, and take arrays as arguments.")  # fmt: skip

    def _of_Name(self, node: ast.Name, to: str) -> str:
        local = self._local(node)
        if local is None:
            value = self.object(node)
            if value is MISSING:
                self.refuse(f"the name `{node.id}`, which is not defined", node, "Define it.")
            return self.literal(value, node)
        if local.array:
            self.refuse(f"the whole array `{node.id}` in an expression", node,
                        "Loop over its elements.")  # fmt: skip
        return local.name

    def _of_Attribute(self, node: ast.Attribute, to: str) -> str:
        known = isinstance(node.value, ast.Name) and self._local(node.value)
        base = self.value(node.value) if known else None
        if base is None or not base.array:
            value = self.object(node)
            if value is MISSING:
                self.refuse(f"`{ast.unparse(node)}`", node, "Take it as an argument.")
            return self.literal(value, node)
        axes = [f"{base.array}_n{k}" for k in range(self.arrays[base.array].ndim)]
        if node.attr == "ndim":
            return str(len(axes))
        if node.attr != "size":
            self.refuse(f"`{ast.unparse(node)}` as a number", node, "Use its elements and shape.")
        size = axes[0]
        for axis in axes[1:]:
            size = self.put("", "*", [size, axis], node)
        return size

    def _of_Subscript(self, node: ast.Subscript, to: str) -> str:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            items = self.value(node.value).items
            index = constant(self.number(node.slice))
            if items is None or not isinstance(index, int) or not -len(items) <= index < len(items):
                self.refuse(f"`{ast.unparse(node)}`", node, "Write the axis as a number.")
            return items[index]
        array, place = self.element(node)
        return self.load(array, place, node, to)

    def load(self, array: str, place: str, node: Any, to: str = "") -> str:
        """Read an element."""
        out = to or self.fresh()
        self.write(Step(out, "load", [place], "", self.line(node), array))
        return out

    def element(self, node: ast.Subscript) -> tuple[str, str]:
        """The array of an element, and its index in the array's memory."""
        found = self.value(node.value) if isinstance(node.value, ast.Name) else Value()
        array = found.array
        if not array:
            self.refuse(f"`{ast.unparse(node)}`", node, "Read elements of arrays by name.")
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(index, ast.Slice) for index in indices):
            self.refuse(f"the slice `{ast.unparse(node)}`", node, "Loop over its elements.")
        ndim = self.arrays[array].ndim
        if len(indices) != ndim:
            self.refuse(f"`{ast.unparse(node)}`, with {len(indices)} of {ndim} indices", node,
                        "Give an index for each axis: views are not known yet.")  # fmt: skip
        place = ""
        for k, index in enumerate(indices):
            one = self._position(self.number(index), f"{array}_n{k}", index)
            if not place:
                place = one
                continue
            row = self.put("", "*", [place, f"{array}_n{k}"], node)
            place = self.put("", "+", [row, one], node)
        return array, place

    def _position(self, index: str, length: str, node: Any) -> str:
        """An index that is counted from the front."""
        value = constant(index)
        if isinstance(value, int):
            found = index if value >= 0 else self.put("", "+", [length, index], node)
        elif self.low.get(index, -1) >= 0:
            found = index
        else:
            found = self.put("", "wrap", [index, length], node)
        self.write(Step("", "check", [found, length], "", self.line(node)))
        return found

    # Operators.

    def _of_BinOp(self, node: ast.BinOp, to: str) -> str:
        operator = OPERATORS.get(type(node.op))
        if operator is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write a loop over elements.")
        return self.put(to, operator, [self.number(node.left), self.number(node.right)], node)

    def _of_UnaryOp(self, node: ast.UnaryOp, to: str) -> str:
        if isinstance(node.op, ast.Not):
            return self.put(to, "not", [self.number(node.operand)], node)
        if isinstance(node.op, ast.Invert):
            self.refuse("`~`", node, "Write -1 - x for it.")
        operand = self.number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        value = constant(operand)
        if value is not None:
            return self.literal(-value, node)
        return self.put(to, "negative", [operand], node)

    def truth(self, node: ast.expr) -> str:
        """A condition, under a name that is assigned once."""
        found = self.number(node)
        if found in ("True", "False") or found in self.once:
            return found
        value = constant(found)
        return str(bool(value)) if value is not None else self.put("", "truth", [found], node)

    def _of_Compare(self, node: ast.Compare, to: str) -> str:
        left = self.number(node.left)
        return self._compared(left, list(zip(node.ops, node.comparators, strict=True)), node, to)

    def _compared(self, left: str, rest: list[Any], node: Any, to: str) -> str:
        (operator, comparator), *others = rest
        symbol = COMPARED.get(type(operator))
        if symbol is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Compare numbers.")
        right = self.number(comparator)
        found = self.put(to if not others else "", f"compare {symbol}", [left, right], node)
        if not others:
            return found
        to = to or self.fresh()
        self.put(to, "copy", [found], node)
        outer, self.out = self.out, []
        self._compared(right, others, node, to)
        body, self.out = self.out, outer
        self.write(Branch(found, body, [], self.line(node)))
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

    def _of_IfExp(self, node: ast.IfExp, to: str) -> str:
        test = self.truth(node.test)
        if test in ("True", "False"):
            return self.number(node.body if test == "True" else node.orelse, to)
        out = self.fresh()
        bodies: list[list[Node]] = []
        for value in (node.body, node.orelse):
            outer, self.out = self.out, []
            self.put(out, "copy", [self.number(value)], node)
            bodies.append(self.out)
            self.out = outer
        self.write(Branch(test, bodies[0], bodies[1], self.line(node)))
        return out
