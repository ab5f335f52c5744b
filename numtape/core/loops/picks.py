"""What brackets pick of an array: an element, a view, or elements at places that arrays hold."""

from __future__ import annotations

import ast
from typing import Any

from .arrays import Arrays
from .frame import Value
from .grids import Grid, Lazy, Places, View
from .nodes import Step
from .views import is_dots, is_none


class Subscripts(Arrays):
    """Writes what is picked."""

    def value(self, node: Any, to: str = "") -> Value:
        """Write an expression."""
        raise NotImplementedError

    def indices(self, node: ast.Subscript) -> list[Any]:
        """What stands in brackets: numbers by name, arrays, and slices, ``None`` and ``...``."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [
            x if isinstance(x, ast.Slice) or is_none(x) or is_dots(x) else self._index(x)
            for x in indices
        ]

    def _index(self, node: Any) -> str | Grid:
        value = self.value(node)
        return value.grid if value.grid is not None else value.name or self.number(node)

    def subscript(self, grid: Grid, node: ast.Subscript, to: str = "") -> str | Value:
        """What an expression picks of an array."""
        indices = self.indices(node)
        if len(indices) == len(grid.shape) and all(isinstance(x, str) for x in indices):
            own = [self.position(x, n, node) for x, n in zip(indices, grid.shape, strict=True)]
            if isinstance(grid, View):
                return self.load(grid, own, node, to)
            return grid.element(own)
        view = self.view(Value(grid=grid), node)
        if any(isinstance(x, Grid) for x in indices):
            return self.gather(self.places(view, indices, node), node)
        return self.of(self.part(view, indices, node))

    def element(self, node: ast.Subscript) -> tuple[str, str] | View | Places:
        """What is written to: the array of an element and its index in memory, or more of them."""
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
            self.view(Value(grid=x), node) if isinstance(x, Grid) else x for x in indices
        ]
        if any(isinstance(x, View) and self._shares(x, grid) for x in kept_indices):
            self.refuse(
                f"`{ast.unparse(node)}`, which writes to its own index", node, "Copy the index."
            )
        return self.places(grid, kept_indices, node)

    def _shares(self, one: View, other: View) -> bool:
        return one.array == other.array or self.may_alias(one.array, other.array)

    # Places.

    def places(self, view: View, indices: list[Any], node: Any) -> Places:
        """Elements at places that arrays among the indices hold."""
        if any(is_none(x) for x in indices if not isinstance(x, Grid)):
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
        # Where a slice stands between numbers and arrays, what these pick comes first, as in NumPy.
        used = [k for k, x in enumerate(indices) if isinstance(x, str | Grid)]
        first = used[0] if used[-1] - used[0] == len(used) - 1 else 0
        return Places(base, places, [*rest[:first], *shape, *rest[first:]], first, len(shape))

    def _places(self, grid: Grid, length: str, node: Any) -> Grid:
        """Places along an axis: those where conditions hold, if that is what is given."""
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

    def where(self, grid: Grid, node: Any) -> View:
        """The places where conditions hold, in order, in an array of ints."""
        array, count = self.new(grid.shape, "int64", node), self.fresh()
        self.put(count, "copy", ["0"], node)

        def write(own: list[str]) -> None:
            holds = self.item(grid, own, node)  # where it does not, the next one is put there
            self.write(
                Step("", "store", [count, own[0]], "", self.line(node), array.array, first=True)
            )
            self.put(count, "+", [count, holds], node)

        self.rounds(grid.shape, write, node)
        total = self.put("", "copy", [count], node)
        self.low[total] = 0
        return View(array.array, [total])

    def _at(self, places: Places, own: list[str], node: Any) -> list[str]:
        """The indices in the view of what has other indices in what is picked."""
        first, end = places.first, places.first + places.axes
        rest = iter([*own[:first], *own[end:]])
        return [
            next(rest) if x is None else self.position(self.item(x, own[first:end], node), n, node)
            for x, n in zip(places.places, places.view.shape, strict=True)
        ]

    def gather(self, places: Places, node: Any) -> Value:
        """Elements at places."""
        view = places.view

        def element(own: list[str]) -> str:
            return self.load(view, self._at(places, own, node), node)

        sources = [
            view,
            *(x for grid in places.places if grid is not None for x in self.sources(grid)),
        ]
        return Value(grid=Lazy(places.shape, element, sources, self.arrays[view.array].dtype, True))

    def scatter(self, places: Places, value: Value, node: Any) -> None:
        """Write a value to places, one after the other: the last of equal places stays."""
        if value.grid is not None:  # all of it is read before
            value = self.of(self.materialize(value.grid, node))
            self.room(places.shape, value.grid.shape if value.grid else [], node)

        def write(own: list[str]) -> None:
            element = value.name if value.grid is None else self.item(value.grid, own, node)
            place = self.place(places.view, self._at(places, own, node), node)
            self.write(Step("", "store", [place, element], "", self.line(node), places.view.array))

        self.rounds(places.shape, write, node)
