"""Sums, products, extremes and products of matrices: loops over the elements of arrays.

The order is that of Numba's functions: element by element, the last axis first. Products of
matrices and vectors have this order, too, where NumPy and Numba call BLAS. Of elements that are
equally large, the first is the maximum, and has the derivative.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from .expressions import Expressions
from .frame import Value
from .grids import Grid, Lazy, View
from .nodes import Step
from .writer import constant

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


class Reductions(Expressions):
    """Writes what makes fewer elements of more."""

    def reduce(self, name: str, grid: Grid, axis: int | None, node: Any) -> str | Value:
        """A reduction of all elements, or along an axis."""
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
        self, name: str, shape: list[str], item: Callable[[list[str]], str], grid: Grid, node: Any
    ) -> str:
        """The reduction of elements to one number."""
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

        def real(own: list[str]) -> str:  # as Numba adds ints for a mean
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
        self, op: str, shape: list[str], item: Callable[[list[str]], str], node: Any, start: str
    ) -> str:
        """Elements put together, one after the other."""
        total = self.fresh()
        self.put(total, "start" if start in ("0", "1") else "copy", [start], node)
        self.rounds(shape, lambda own: self._fold(total, op, item(own), node), node)
        return total

    def _fold(self, total: str, op: str, item: str, node: Any) -> None:
        self.put(total, op, [total, item], node)

    def _extreme(
        self, which: str, shape: list[str], item: Callable[[list[str]], str], node: Any
    ) -> list[str]:
        """The indices of the first of the largest or smallest elements, or of the first NaN."""
        self.write(Step("", "some", [self.size(shape, node)], "", self.line(node)))
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
            self.write(Step(beats, "compare", [one, best], text, self.line(node)))
            self.put(best, "where", [beats, one, best], node)
            for k, name in at.items():
                self.put(name, "where", [beats, own[k], name], node)

        self.rounds(shape, write, node)
        return [at.get(k, "0") for k in range(len(shape))]

    # Products.

    def product(self, left: Value, right: Value, node: Any) -> str | Value:
        """The product of matrices and vectors: ``np.dot`` and ``@``."""
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

    def _columns(self, shape: list[str], one: View, other: View, node: Any) -> Value:
        """A product whose innermost loop runs along the rows of the second matrix."""
        rows, low = shape
        vector = len(one.shape) == 1
        array = self.new([other.shape[1]] if vector else [rows, other.shape[1]], "", node, "0")

        def write(own: list[str]) -> None:
            i, k, j = own
            first = self.item(one, [k] if vector else [i, k], node)
            value = self.put("", "*", [first, self.item(other, [k, j], node)], node)
            place = self.place(array, [j] if vector else [i, j], node)
            self.write(
                Step("", "acc", [place, value], "", self.line(node), array.array, first=True)
            )

        self.rounds([rows, low, other.shape[1]], write, node)
        return self.of(array)

    def axis_of(self, node: ast.Call, arguments: list[ast.expr]) -> int | None:
        """The axis of a reduction, if there is one."""
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
