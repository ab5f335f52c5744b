"""Views: parts of arrays under their own names, which share the memory of the array.

Where a part lies is known here, by the names of its offset, its lengths and strides, and costs
nothing later. Only a name that is given several arrays holds, when it runs, where its array lies.
"""

from __future__ import annotations

import ast
from typing import Any

from .frame import Value
from .grids import View
from .nodes import Array, Step, address, shadow
from .writer import Writer, constant


class Views(Writer):
    """Writes what finds elements, and makes views."""

    def number(self, node: Any, to: str = "") -> str:
        """Write an expression that is a number. Returns its name or its text."""
        raise NotImplementedError

    def all_of(self, array: str) -> Value:
        """An array as a whole."""
        axes = [f"{array}_n{k}" for k in range(self.arrays[array].ndim)]
        return Value(array=array, grid=View(array, axes))

    def of(self, view: View) -> Value:
        """A view as what an expression is."""
        return Value(array=view.array, grid=view)

    def place(self, view: View, indices: list[str], node: Any) -> str:
        """The index in memory of an element, whose indices count from the front."""
        if view.strides is None:
            offset = "0"
            for index, length in zip(indices, view.shape, strict=True):
                offset = self.int_op("+", self.int_op("*", offset, length, node), index, node)
            return self.int_op("+", offset, view.offset, node)
        offset = view.offset
        for index, stride in zip(indices, view.strides, strict=True):
            offset = self.int_op("+", offset, self.int_op("*", index, stride, node), node)
        return offset

    def load(self, view: View, indices: list[str], node: Any, to: str = "") -> str:
        """Read an element."""
        out = to or self.fresh()
        place = self.place(view, indices, node)
        self.write(Step(out, "load", [place], "", self.line(node), view.array))
        return out

    def position(self, index: str, length: str, node: Any) -> str:
        """An index that is counted from the front."""
        value = constant(index)
        if isinstance(value, int):
            position = index if value >= 0 else self.put("", "+", [length, index], node)
        elif self.low.get(index, -1) >= 0:
            position = index
        else:
            position = self.put("", "wrap", [index, length], node)
        self.write(Step("", "check", [position, length], "", self.line(node)))
        return position

    def size(self, shape: list[str], node: Any) -> str:
        """How many elements there are."""
        size = "1"
        for length in shape:
            size = self.int_op("*", size, length, node)
        return size

    def steps_of(self, view: View, node: Any) -> list[str]:
        """The strides of a view."""
        if view.strides is not None:
            return view.strides
        steps = ["1"]
        for length in view.shape[:0:-1]:
            steps.insert(0, self.int_op("*", steps[0], length, node))
        return steps if view.shape else []

    # Parts.

    def spread(self, view: View, indices: list[Any], node: Any) -> list[Any]:
        """What stands in brackets, with slices for the axes that are left out."""
        taken = sum(not is_none(x) and not is_dots(x) for x in indices)
        dots = [k for k, x in enumerate(indices) if is_dots(x)]
        if taken > len(view.shape) or len(dots) > 1:
            self.refuse(
                f"`{ast.unparse(node)}`, with {taken} of {len(view.shape)} indices",
                node,
                "Give at most one index for each axis.",
            )
        rest: list[Any] = [ast.Slice()] * (len(view.shape) - taken)
        at = dots[0] if dots else len(indices)
        return [*indices[:at], *rest, *indices[at + len(dots) :]]

    def part(self, view: View, indices: list[Any], node: Any) -> View:
        """What numbers, slices, ``...`` and ``None`` pick of an array; numbers may have names."""
        indices = self.spread(view, indices, node)
        strides = self.steps_of(view, node)
        offset = view.offset
        shape: list[str] = []
        steps: list[str] = []
        ordered, axis = view.strides is None, 0
        for index in indices:
            if is_none(index):
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
        """How a part is picked from an array, for `View.rows`."""
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
                "at" if not isinstance(x, ast.Slice) and not is_none(x) else ast.dump(x)
                for x in indices
            ),
        )

    def slice(self, node: ast.Slice, length: str) -> tuple[str, str, str]:
        """Where a slice begins, how many elements it has, and its step."""
        step = 1 if node.step is None else constant(self.number(node.step))
        if not isinstance(step, int) or not step:
            self.refuse(
                "a slice whose step is not a constant, or is 0",
                node.step,
                "Write the step as a number.",
            )
        most = length if step > 0 else self.int_op("-", length, "1", node)
        least = "0" if step > 0 else "-1"

        def bind(limit: Any, other: str) -> str:
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
            self.low[start] = 0  # of an empty slice it is not read
        return start, count, str(step)

    def reverse_axes(self, view: View, node: Any) -> View:
        """A view with its axes in reverse."""
        if len(view.shape) < 2:
            return view
        return View(view.array, view.shape[::-1], view.offset, self.steps_of(view, node)[::-1])

    def reshape(self, view: View, shape: list[str], node: Any) -> View:
        """The same elements, in order, in other axes; -1 stands for what is left."""
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

    def match(self, x: str, y: str, node: Any) -> None:
        """Have it checked that two lengths are the same."""
        if x == y:
            return
        if constant(x) is not None and constant(y) is not None:
            self.refuse(
                f"`{ast.unparse(node)}`, of lengths {x} and {y}", node, "Give both the same shape."
            )
        self.write(Step("", "same", [x, y], "", self.line(node)))

    # Names of arrays.

    def bind(self, local: str, view: View, node: Any) -> None:
        """Give a view a name."""
        frame = self.frames[-1]
        known = frame.bound.get(local)
        if known is not None and known.grid is None:
            self.refuse(
                f"an array under the name `{local}`, which has another value elsewhere",
                node,
                "Take its own name for it.",
            )
        self.has(local, node)
        if frame.rebound(local):
            self.move(local, view, node)
        else:
            frozen = self.freeze(view, node)
            frame.bound[local] = Value(array=frozen.array, grid=frozen)

    def has(self, local: str, node: Any) -> None:
        """Say that a name has a value now, if that is asked somewhere."""
        frame = self.frames[-1]
        if local in frame.flags:
            self.put(frame.rename(frame.flags[local]), "copy", ["True"], node)

    def freeze(self, view: View, node: Any) -> View:
        """A view that stays what it is now."""
        array = view.array
        if array in self.moving:
            array = self.fresh()
            self.arrays[array] = Array(self.arrays[view.array].dtype, len(view.shape), False)
            self._lies(array, view.array, "0", node)
        shape = [self._still(x, node) for x in view.shape]
        strides = None if view.strides is None else [self._still(x, node) for x in view.strides]
        return View(array, shape, self._still(view.offset, node), strides, view.rows)

    def _still(self, operand: str, node: Any) -> str:
        """An operand that nothing assigns later."""
        if constant(operand) is not None or self.single(operand):
            return operand
        name = self.put("", "copy", [operand], node)
        if self.low.get(operand, -1) >= 0:
            self.low[name] = 0
        return name

    def _lies(self, array: str, other: str, offset: str, node: Any) -> None:
        """Have an array lie where another one lies, from an element on."""
        if self.arrays[other].argument:
            self.arrays[other].addressed = True
        self.same.append((array, other))
        for to, begin in ((address(array), address(other)), (shadow(array), shadow(other))):
            if offset == "0":
                self.put(to, "copy", [begin], node)
            else:
                self.put(to, "beyond", [begin, offset], node, other)

    def move(self, local: str, view: View, node: Any) -> None:
        """Have a name that is given several arrays hold one of them."""
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
            self.arrays[array] = Array(self.arrays[view.array].dtype, len(view.shape), False)
            self.moving.add(array)
            axes = [f"{array}_m{k}" for k in range(len(view.shape))]
            known = frame.bound[local] = Value(array=array, grid=View(array, axes))
            self.low.update(dict.fromkeys(axes, 0))
        assert known.grid is not None
        if len(known.grid.shape) != len(view.shape):
            self.refuse(
                f"arrays of {len(known.grid.shape)} and {len(view.shape)} axes under the "
                f"name `{local}`",
                node,
                "Take its own name for each.",
            )
        if self.arrays[known.array].dtype != self.arrays[view.array].dtype:
            self.arrays[known.array].dtype = ""  # `types` says whether they are the same
        self._lies(known.array, view.array, view.offset, node)
        for axis, length in zip(known.grid.shape, view.shape, strict=True):
            self.put(axis, "copy", [length], node)


def is_none(node: Any) -> bool:
    """Whether an index stands for a new axis."""
    return (isinstance(node, ast.Constant) and node.value is None) or (
        isinstance(node, ast.Attribute) and node.attr == "newaxis"
    )


def is_dots(node: Any) -> bool:
    """Whether an index stands for the axes between others."""
    return isinstance(node, ast.Constant) and node.value is Ellipsis
