"""Expressions in normal form: each becomes steps, and the name of what they give."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from .arrays import SMALL
from .frame import Value
from .nodes import Branch, Node, Step
from .picks import Subscripts
from .source import MISSING
from .types import INTS
from .writer import constant, fold_constants

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
MOST_CONSTANTS = 100  # elements of an array that is a constant


class Expressions(Subscripts):
    """Writes expressions."""

    # Names and what they mean.

    def target(self, node: ast.Name) -> str:
        """The name that an assignment assigns."""
        frame = self.frames[-1]
        if frame.bound.get(node.id, Value()).array:
            self.refuse(
                f"another value for the array `{node.id}`", node, "Take its own name for it."
            )
        name = frame.rename(node.id)
        frame.bound[node.id] = Value(name)
        self.has(node.id, node)
        self.low.pop(name, None)
        return name

    def sure(self, node: ast.Name) -> None:
        """Have it looked at whether a name has a value, if it may have none."""
        frame = self.frames[-1]
        if id(node) in frame.unsure:
            with self.inside() as failed:
                message = (
                    f"cannot access local variable '{node.id}' where it is not associated with "
                )
                self.fail(UnboundLocalError, [f"{message}a value"], node)
            flag = self.put("", "copy", [frame.rename(frame.flags[node.id])], node)
            self.write(Branch(flag, [], failed, self.line(node)))

    def fail(self, kind: type[Exception], arguments: list[Any] | None, node: Any) -> None:
        """Raise an exception."""
        raise NotImplementedError

    def object(self, node: Any) -> Any:
        """What a global name or an attribute of one is; MISSING if it is none."""
        return self.frames[-1].source.value(node)

    def value(self, node: Any, to: str = "") -> Value:
        """Write an expression; a number goes to the name ``to`` if there is one."""
        write = getattr(self, f"_of_{type(node).__name__}", None)
        if write is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write it with numbers and elements.")
        result: str | Value = write(node, to)
        if isinstance(result, str):
            result = Value(result)
        if to and result.name not in ("", to):
            return Value(self.put(to, "copy", [result.name], node))
        return result

    def number(self, node: Any, to: str = "") -> str:
        """Write an expression that is a number. Returns its name or its text."""
        value = self.value(node, to)
        if not value.name:
            what = "the whole array" if value.grid is not None else "the tuple"
            self.refuse(
                f"{what} `{ast.unparse(node)}` where a number is needed",
                node,
                "Take one of its elements.",
            )
        return value.name

    def _local(self, node: ast.Name) -> Value | None:
        frame = self.frames[-1]
        if node.id in frame.bound:
            return frame.bound[node.id]
        if node.id in frame.source.locals or node.id in frame.exits.flag_names:
            return Value(frame.rename(node.id))
        return None

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
        self.refuse(
            f"the constant `{ast.unparse(node)}`, of type {kind}",
            node,
            "Use floats and ints, and take arrays as arguments.",
        )

    def _of_Name(self, node: ast.Name, to: str) -> str | Value:
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
            return Value(items=[self.literal(x, node) for x in value])
        return self.literal(value, node)

    def table(self, value: Any, node: ast.Name) -> Value:
        """A constant array, element by element."""
        if value.size > MOST_CONSTANTS or value.dtype.name not in ("bool", "int64", "float64"):
            self.refuse(
                f"the constant `{node.id}`, an array of {value.size} {value.dtype.name}",
                node,
                "Take it as an argument.",
            )
        array = self.new(list(map(str, value.shape)), value.dtype.name, node)
        for k, element in enumerate(value.ravel().tolist()):
            self.write(
                Step(
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

    def _of_Attribute(self, node: ast.Attribute, to: str) -> str | Value:
        value = self.object(node)
        if value is not MISSING:
            return self.literal(value, node)
        grid = self.value(node.value).grid
        if grid is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Take it as an argument.")
        if node.attr == "shape":
            return Value(items=grid.shape)
        if node.attr == "ndim":
            return str(len(grid.shape))
        if node.attr == "size":
            return self.size(grid.shape, node)
        if node.attr == "T":
            view = self.reverse_axes(self.view(Value(grid=grid), node), node)
            return self.of(view)
        self.refuse(f"`{ast.unparse(node)}`", node, "Use its elements and shape.")

    def _of_Tuple(self, node: ast.Tuple, to: str) -> Value:
        return Value(items=[self.number(x) for x in node.elts])

    def _of_Subscript(self, node: ast.Subscript, to: str) -> str | Value:
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

    def choose_item(self, items: list[str], place: str, node: Any, to: str) -> str:
        """An item of a tuple whose place is known when it runs."""
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
        operands: list[Value],
        node: Any,
        to: str = "",
        dtype: str = "",
        kind: str = "",
    ) -> str | Value:
        """An operation of numbers, or of the elements of arrays; ``kind``: see `types`."""
        if any(x.items is not None for x in operands):
            self.refuse(f"a tuple in `{ast.unparse(node)}`", node, "Use its parts.")
        grids = [x.grid for x in operands if x.grid is not None]
        if not grids:
            names = [x.name for x in operands]
            if op == "**" and None not in map(constant, names):
                # Under a name: Python itself would compute the text of two constants.
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

    def _of_BinOp(self, node: ast.BinOp, to: str) -> str | Value:
        number = fold_constants(node)
        if number is not None:
            return self.literal(number, node)
        left = self.value(node.left)
        if left.grid is not None and any(self.helper(x) for x in ast.walk(node.right)):
            view = self.view(left, node)  # before a helper may write to what it is made of
            left = self.of(view)
        right = self.value(node.right)
        if isinstance(node.op, ast.MatMult):
            return self.product(left, right, node)
        operator = OPERATORS.get(type(node.op))
        if operator is None:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write a loop over elements.")
        return self.elementwise(operator, [left, right], node, to)

    def product(self, left: Value, right: Value, node: Any) -> str | Value:
        """The product of matrices and vectors."""
        raise NotImplementedError

    def helper(self, node: Any) -> Any:
        """The function that a call calls, if its source is to be written here."""
        raise NotImplementedError

    def _of_UnaryOp(self, node: ast.UnaryOp, to: str) -> str | Value:
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
        """A condition, under a name that is assigned once."""
        number = self.number(node)
        if number in ("True", "False") or number in self.once:
            return number
        value = constant(number)
        return str(bool(value)) if value is not None else self.put("", "truth", [number], node)

    def _of_Compare(self, node: ast.Compare, to: str) -> str | Value:
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

    def _compare_chain(self, left: str, rest: list[Any], node: Any, to: str) -> str:
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

    def _of_IfExp(self, node: ast.IfExp, to: str) -> str | Value:
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
