"""Functions and methods of arrays: what makes arrays, gives them other axes, or reduces them."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .calls import Calls
from .frame import Value
from .grids import Lazy, View
from .nodes import Step
from .reductions import METHODS, REDUCED
from .source import MISSING
from .writer import constant

# The function's name below, and how many arguments it takes.
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
BUILTIN: dict[Any, str] = {sum: "sum", max: "max", min: "min"}  # of one array
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


class Creation(Calls):
    """Writes calls of functions and methods of arrays."""

    def of_arrays(self, node: ast.Call, called: Any) -> str | Value | None:
        """A call of a function that makes or reduces arrays, or of an array's method; else None."""
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

    def _method(self, node: ast.Call, function: ast.Attribute) -> str | Value | None:
        name = function.attr
        if name not in OF_ARRAYS and name not in METHODS:
            return None
        base = self.value(function.value)
        if name in METHODS:
            return self._reduce(name, base, node, node.args)
        most = 1 + OF_ARRAYS[name]
        return self._write_creation(name, node, [base, *node.args], min(2, most), most)

    def _reduce(self, name: str, base: Value, node: ast.Call, rest: list[Any]) -> str | Value:
        if base.grid is None:
            self.refuse(f"`{ast.unparse(node)}` of what is not an array", node, "Give it an array.")
        return self.reduce(name, base.grid, self.axis_of(node, rest), node)

    def _write_creation(
        self, name: str, node: ast.Call, args: list[Any], least: int, most: int
    ) -> str | Value:
        words = {str(word.arg): word.value for word in node.keywords}
        kind = self._dtype(words.pop("dtype")) if "dtype" in words else ""
        if words:
            self.refuse(f"`{ast.unparse(node)}`", node, "Give its arguments by their places.")
        if name == "full" and len(args) == 3:
            kind = self._dtype(args.pop())
        if not least <= len(args) <= most:
            self.refuse(f"`{ast.unparse(node)}`", node, f"It takes {least} to {most} arguments.")
        result: str | Value = getattr(self, f"_make_{name}")(node, args, kind)
        return result

    # What the arguments are: the first one of a method is there already.

    def _as_value(self, x: Any) -> Value:
        return x if isinstance(x, Value) else self.value(x)

    def _array(self, x: Any, node: ast.Call) -> View:
        value = self._as_value(x)
        if value.grid is None:
            self.refuse(f"`{ast.unparse(node)}` of what is not an array", node, "Give it an array.")
        return self.view(value, node)

    def _lengths(self, x: Any, node: ast.Call) -> list[str]:
        shape_value = self._as_value(x)
        shape = shape_value.items if shape_value.items is not None else [shape_value.name]
        if not all(shape):
            self.refuse(f"`{ast.unparse(node)}`, whose shape is an array", node, "Give numbers.")
        return shape

    def _to(self, name: str, kind: str, node: ast.Call) -> str:
        """A number as one of a dtype."""
        if not kind:
            return name
        if kind not in ("bool", "int64", "float32", "float64"):
            self.refuse(f"`{ast.unparse(node)}`, of dtype {kind}", node, "Use int64 or a float.")
        return self.put("", "cast", [name], node, kind)

    # Views and copies.

    def _make_transpose(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        return self.of(self.reverse_axes(self._array(args[0], node), node))

    def _make_reshape(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        shape = [x for one in args[1:] for x in self._lengths(one, node)]
        if len(shape) > 3:
            self.refuse(f"`{ast.unparse(node)}`, of {len(shape)} axes", node, "Use one to three.")
        return self.of(self.reshape(self._array(args[0], node), shape, node))

    def _make_ravel(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        view = self._array(args[0], node)
        if view.strides is not None:
            view = self.materialize(view, node)
        return self.of(self.reshape(view, ["-1"], node))

    def _make_flatten(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        return self.of(
            self.reshape(self.materialize(self._array(args[0], node), node), ["-1"], node)
        )

    def _make_asarray(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        view = self._array(args[0], node)
        if kind and kind != self.dtype_of(view):
            return self._make_astype(node, [self.of(view), kind], kind)
        return self.of(view)

    def _make_ordered(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        view = self._array(args[0], node)
        return self.of(view if view.strides is None else self.materialize(view, node))

    def _make_copy(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        return self.of(self.materialize(self._array(args[0], node), node))

    def _make_expand_dims(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        view, axis = self._array(args[0], node), constant(self.number(args[1]))
        count = len(view.shape) + 1
        if not isinstance(axis, int) or not -count <= axis < count:
            self.refuse(f"`{ast.unparse(node)}`", node, "Write the axis as a number.")
        indices: list[Any] = [ast.Slice()] * (count - 1)
        indices.insert(axis % count, ast.Constant(None))
        return self.of(self.part(view, indices, node))

    def _make_astype(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        kind = kind or self._dtype(args[1])
        return self.combine(
            [self.of(self._array(args[0], node))],
            node,
            lambda items: self._to(items[0], kind, node),
            kind,
        )

    # New arrays.

    def _make_array(self, node: ast.Call, args: list[Any], kind: str) -> Value:
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
                Step("", "store", [str(k), value], "", self.line(node), array.array, first=True)
            )
        return self.of(array)

    def _fill(self, shape: list[str], x: Any, kind: str, node: ast.Call) -> Value:
        value = self._to(self.number(x), kind, node)
        return Value(grid=Lazy(shape, lambda own: value, [], kind))

    def _make_full(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        return self._fill(self._lengths(args[0], node), args[1], kind, node)

    def _make_full_like(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        view = self._array(args[0], node)
        if kind or self.dtype_of(view):
            return self._fill(view.shape, args[1], kind or self.dtype_of(view), node)
        array = self.new(view.shape, view, node)
        self.put_all(array, Value(self.number(args[1])), node, first=True)
        return self.of(array)

    def _make_linspace(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        """``start + i * (stop - start) / (n - 1)``, as Numba has it, but ``stop`` at the end."""
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

        return Value(grid=Lazy([count], element, [], "float64"))

    def _make_arange(self, node: ast.Call, args: list[Any], kind: str) -> Value:
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

        return Value(grid=Lazy([count], element, [], kind or "int64"))

    def _make_eye(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        count = self.number(args[0])

        def element(own: list[str]) -> str:
            same = self.put("", "compare ==", own, node)
            return self._to(self.put("", "where", [same, "1.0", "0.0"], node), kind, node)

        return Value(grid=Lazy([count, count], element, [], kind or "float64"))

    # Elements put together.

    def _make_dot(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        return self.product(self._as_value(args[0]), self._as_value(args[1]), node)

    def _make_outer(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        one, other = (self._array(x, node) for x in args)
        one = self.part(self._flat(one, node), [ast.Slice(), ast.Constant(None)], node)
        product = self.elementwise("*", [self.of(one), self.of(self._flat(other, node))], node)
        assert isinstance(product, Value)
        return product

    def _flat(self, view: View, node: ast.Call) -> View:
        return view if len(view.shape) == 1 else self.reshape(view, ["-1"], node)

    def _logical(self, op: str, node: ast.Call, args: list[Any]) -> str | Value:
        truths = []
        for x in args:
            value = self._as_value(x)
            truths.append(self.elementwise("truth", [value], node, dtype="bool"))
        values = [Value(x) if isinstance(x, str) else x for x in truths]
        return self.elementwise(op, values, node, dtype="bool")

    def _make_and(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        return self._logical("&", node, args)

    def _make_or(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        return self._logical("|", node, args)

    def _make_not(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        return self._logical("not", node, args)

    def _make_clip(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        x, low, high = map(self._as_value, args)
        above = self.elementwise("maximum", [x, low], node)
        above = Value(above) if isinstance(above, str) else above
        return self.elementwise("minimum", [above, high], node)

    def _make_count_nonzero(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        is_nonzero = self.elementwise("truth", [self._as_value(args[0])], node, dtype="bool")
        return self._reduce(
            "sum", is_nonzero if isinstance(is_nonzero, Value) else Value(is_nonzero), node, []
        )

    def _make_flatnonzero(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        view = self._flat(self._array(args[0], node), node)
        is_nonzero = self.elementwise("truth", [self.of(view)], node, dtype="bool")
        assert isinstance(is_nonzero, Value) and is_nonzero.grid is not None
        return self.of(self.where(is_nonzero.grid, node))

    def _make_take(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        view, index = self._flat(self._array(args[0], node), node), self._as_value(args[1])
        if index.grid is not None:
            return self.gather(self.places(view, [index.grid], node), node)
        return self.load(view, [self.position(index.name, view.shape[0], node)], node)

    def _make_norm(self, node: ast.Call, args: list[Any], kind: str) -> str:
        view = self._array(args[0], node)
        squares = self.elementwise("square", [self.of(view)], node)
        assert isinstance(squares, Value) and squares.grid is not None
        total = self.reduce("sum", squares.grid, None, node)
        assert isinstance(total, str)
        return self.put("", "sqrt", [total], node)

    def _make_trace(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        view = self._array(args[0], node)
        if len(view.shape) != 2:
            self.refuse(f"`{ast.unparse(node)}` of other than a matrix", node, "Write a loop.")
        count = self.int_op("min", view.shape[0], view.shape[1], node)
        diagonal = Lazy([count], lambda own: self.load(view, own * 2, node), [view], "", True)
        return self.reduce("sum", diagonal, None, node)

    def _make_cumsum(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        view = self._array(args[0], node)
        if len(view.shape) != 1:
            self.refuse(f"`{ast.unparse(node)}` of more than one axis", node, "Write a loop.")
        total = self.fresh()
        self.put(total, "start", ["0"], node)

        def element(own: list[str]) -> str:
            return self.put(total, "+", [total, self.item(view, own, node)], node)

        return self.of(self.materialize(Lazy(view.shape, element, [view]), node))

    def _make_diff(self, node: ast.Call, args: list[Any], kind: str) -> str | Value:
        view = self._array(args[0], node)
        if len(view.shape) != 1:
            self.refuse(f"`{ast.unparse(node)}` of more than one axis", node, "Subtract slices.")
        one = self.part(view, [ast.Slice(ast.Constant(1))], node)
        other = self.part(view, [ast.Slice(None, ast.Constant(-1))], node)
        return self.elementwise("-", [self.of(one), self.of(other)], node)

    def _make_shape(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        return Value(items=self._array(args[0], node).shape)

    def _make_size(self, node: ast.Call, args: list[Any], kind: str) -> str:
        return self.size(self._array(args[0], node).shape, node)

    def _make_fill(self, node: ast.Call, args: list[Any], kind: str) -> Value:
        self.assign(self._array(args[0], node), Value(self.number(args[1])), node)
        return Value(items=[])
