"""Whole-array expressions: each becomes one loop over its elements, which is written when needed.

An expression's elements are computed where a statement, a reduction or a helper wants them; what
lies between is not an array. Shapes are matched as in NumPy; axes of length 1 are stretched where
this
length is known from the text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .frame import Value
from .grids import Grid, Lazy, View
from .nodes import Array, Count, Make, Step, address, shadow
from .views import Views
from .writer import constant

SMALL = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32")


class Arrays(Views):
    """Writes loops over arrays."""

    def __init__(self) -> None:
        super().__init__()
        self._read: dict[Any, str] = {}  # the elements that a loop has read

    def dtype_of(self, grid: Grid) -> str:
        """The dtype of elements; "" if it is not known yet."""
        return self.arrays[grid.array].dtype if isinstance(grid, View) else grid.dtype

    def sources(self, grid: Grid) -> list[View]:
        """What elements are read from."""
        return [grid] if isinstance(grid, View) else grid.sources

    def item(self, grid: Grid, indices: list[str], node: Any) -> str:
        """Write the element at some indices, which may be more than the axes of the grid."""
        own = indices[len(indices) - len(grid.shape) :]
        own = ["0" if n == "1" else i for i, n in zip(own, grid.shape, strict=True)]
        if isinstance(grid, Lazy):
            return grid.element(own)
        key = id(self.out), grid.array, grid.offset, tuple(grid.strides or grid.shape), tuple(own)
        if key not in self._read:
            self._read[key] = self.load(grid, own, node)
        return self._read[key]

    def broadcast(self, shapes: list[list[str]], node: Any) -> list[str]:
        """The shape that operands have together."""
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
        operands: list[Value],
        node: Any,
        write: Callable[[list[str]], str],
        dtype: str = "",
    ) -> Value:
        """What ``write`` makes of the elements of arrays, and of numbers.

        Args:
          operands: Arrays and numbers.
          node: Where they stand.
          write: From the names of elements, one of each operand, the name of the result.
          dtype: Of the result, if it is known.
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
        return Value(grid=Lazy(shape, element, sources, dtype, needs_copy))

    def rounds(self, shape: list[str], write: Callable[[list[str]], None], node: Any) -> None:
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
            self.write(Count(name, "0", shape[k], 1, body, self.line(node)))

        before, self._read = self._read, {}
        axis(0)
        self._read = before

    # Arrays that are made.

    def new(
        self,
        shape: list[str],
        dtype: str | View,
        node: Any,
        fill: str = "",
        copied: str = "",
        name: str = "",
    ) -> View:
        """A local array, of a dtype or of that of another array."""
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
        self.arrays[array] = Array(known, len(shape), False, like="" if known else like)
        self.write(Make(array, size, fill, copied, self.line(node)))
        self.low[address(array)] = self.low[shadow(array)] = 0
        return View(
            array,
            [x if constant(x) is not None else axis for x, axis in zip(shape, axes, strict=True)],
        )

    def materialize(self, grid: Grid, node: Any, dtype: str = "") -> View:
        """A local array of the elements of another one, or of an expression."""
        array = self.new(grid.shape, dtype or self.dtype_of(grid), node)
        self.put_all(array, Value(grid=grid), node, first=True)
        return array

    def view(self, value: Value, node: Any) -> View:
        """An array in memory: one is made of an expression."""
        assert value.grid is not None
        return value.grid if isinstance(value.grid, View) else self.materialize(value.grid, node)

    def put_all(self, target: View, value: Value, node: Any, first: bool = False) -> None:
        """Write elements, or one number, to all places of a view."""

        def write(indices: list[str]) -> None:
            element = value.name if value.grid is None else self.item(value.grid, indices, node)
            place = self.place(target, indices, node)
            self.write(
                Step("", "store", [place, element], "", self.line(node), target.array, first=first)
            )

        self.rounds(target.shape, write, node)

    def assign(self, target: View, value: Value, node: Any) -> None:
        """Write ``target[:] = value``."""
        self.put_all(target, self.fit(target, value, node), node)

    def change(self, target: View, operator: str, value: Value, node: Any) -> None:
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
                self.write(Step(old, "load", [place], "", self.line(node), target.array))
                element = self.put("", operator, [old, element], node)
            self.write(Step("", op, [place, element], "", self.line(node), target.array))

        self.rounds(target.shape, write, node)

    def fit(self, target: View, value: Value, node: Any) -> Value:
        """A value that may be written to a view as it is read, element by element."""
        grid = value.grid
        if grid is None:
            return value
        self.room(target.shape, grid.shape, node)
        if any(self._meets(target, source, grid) for source in self.sources(grid)):
            return Value(grid=self.materialize(grid, node))
        return value

    def room(self, target: list[str], shape: list[str], node: Any) -> None:
        """Have it checked that an array of some shape fits in another one."""
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
        """Whether writing an element may change another one that is still to be read."""
        one, other = target.array, source.array
        if one != other:
            # A name that is given several arrays may be given this one further down.
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
