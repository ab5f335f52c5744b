"""What writes steps: fresh names, the text of operations, lower bounds of ints."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from .frame import Frame
from .nodes import ONE_NUMBER, Array, Lines, Node, Step, is_constant
from .rules import FUNCTIONS
from .source import Source

# The text of steps that are no functions.
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
    """The number that an operand's text is; None of a name."""
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
    """The number that Python itself makes of numbers: ``2 ** -1`` is 0.5 before Numba sees it."""
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
            left.bit_length() * right > 128  # more than Python computes in advance
        )
    ):
        return None
    try:
        number = _FOLDED[type(node.op)](left, right)
    except ArithmeticError:
        return None
    return number if isinstance(number, int | float) else None


class Writer:
    """Writes steps.

    Attributes:
      out: The nodes that are being written.
      arrays: What is known of each array.
      low: Lower bounds of ints that are assigned in one place only.
      frames: The functions that are being written, each called by the one before.
      same: Pairs of arrays that may share their memory.
      moving: Arrays that lie elsewhere from time to time: names that are given several arrays.
      apart: What calls apart give, which are numbers: by name, and by the text of the call.
    """

    def __init__(self) -> None:
        self.out: list[Node] = []
        self.arrays: dict[str, Array] = {}
        self.low: dict[str, int] = {}
        self.same: list[tuple[str, str]] = []
        self.moving: set[str] = set()
        self.frames: list[Frame] = []
        self.count = self._names = self._helpers = 0
        self.once: set[str] = set()
        self.callee_names: dict[str, str] = {}

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
        source, standing = self.frames[-1].source, self.standing
        own = getattr(node, "lineno", source.line)
        if len(self.frames) > 1:
            return standing.of_call(self._call_line, source.file, own)
        line = own - standing.line if source.file == standing.file else 0
        return line if self.kernel else standing.of_call(line, source.file, own)

    _call_line = 0
    kernel = True  # whether it is the kernel that is written, and not what it calls apart
    standing: Lines

    def refuse(self, construct: str, node: Any, way: str) -> NoReturn:
        """Say what a kernel cannot have; see `Source.refuse`."""
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
            text = _TEXTS.get(op + dtype) or _TEXTS.get(op) or FUNCTIONS[op].text
        self.out.append(Step(out, op, args, text, self.line(node), dtype=dtype))
        if op == "copy" and args[0] in self.callee_names:
            self.callee_names[out] = self.callee_names[args[0]]
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

    @contextmanager
    def inside(self) -> Iterator[list[Node]]:
        """Nodes that are written in here go to a list of their own."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def int_op(self, op: str, x: str, y: str, node: Any) -> str:
        """Write an operation of ints, unless its result is known."""
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
