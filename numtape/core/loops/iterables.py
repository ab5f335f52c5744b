"""Loops over arrays, tuples, `enumerate` and `zip`, as loops over a range.

``for i, v in enumerate(x)`` becomes ``for at in range(len(x))`` with ``i = at``, ``v = x[at]``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from .source import Source


class Iterables:
    """Rewrites one loop.

    Attributes:
      before: What stands before the loop.
      inside: What its body begins with.
    """

    def __init__(self, source: Source, loop: ast.For, new: Callable[[str], str]) -> None:
        self._source, self._loop, self._new = source, loop, new
        self.before: list[ast.stmt] = []
        self.inside: list[ast.stmt] = []
        self._at = new("at")
        count = self._walk(loop.target, loop.iter)
        name = new("n")
        self.before.append(self._put(ast.Name(name, ast.Store()), count))
        self.loop = copy.copy(loop)
        self.loop.target = ast.Name(self._at, ast.Store(), lineno=loop.lineno)
        counts: Any = _name("range")
        counts.meaning = range  # whatever the function calls so itself
        self.loop.iter = ast.Call(counts, [_name(name)], [])
        self.loop.body = [*self.inside, *loop.body]

    def _put(self, target: Any, value: ast.expr) -> ast.stmt:
        assignment = ast.Assign([target], value, lineno=self._loop.lineno)
        return ast.fix_missing_locations(ast.copy_location(assignment, self._loop))

    def _keep_value(self, value: ast.expr, kind: str) -> ast.expr:
        """An expression's value under a name that nothing else assigns, before the loop."""
        if isinstance(value, ast.Constant):
            return value
        name = self._new(kind)
        self.before.append(self._put(ast.Name(name, ast.Store()), value))
        return _name(name)

    def _walk(self, target: ast.expr, iterable: ast.expr) -> ast.expr:
        """Assign a target in each round. Returns how many rounds there are."""
        called = self._source.value(iterable.func) if isinstance(iterable, ast.Call) else None
        if isinstance(iterable, ast.Call) and called is enumerate:
            return self._enumerate(target, iterable)
        if isinstance(iterable, ast.Call) and called is zip:
            return self._zip(target, iterable)
        if isinstance(iterable, ast.Call) and called is range:
            return self._range(target, iterable)
        if isinstance(iterable, ast.Tuple | ast.List):
            return self._display(target, iterable)
        array: ast.expr = iterable
        if isinstance(iterable, ast.Name):
            stored = {
                n.id
                for s in self._loop.body
                for n in ast.walk(s)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            if iterable.id in stored or iterable.id in _names(self._loop.target):
                self._source.refuse(
                    f"a loop over `{iterable.id}`, which it assigns",
                    iterable,
                    "Take another name in the loop.",
                )
        else:
            array = self._keep_value(iterable, "of")
        element: Any = ast.Subscript(array, _name(self._at), ast.Load())
        element.inside = True  # of a tuple: there is such an element
        self.inside.append(self._put(target, element))
        length: Any = _name("len")
        length.meaning = len
        return ast.Call(length, [array], [])

    def _display(self, target: ast.expr, display: Any) -> ast.expr:
        """The elements of a tuple that is written out, which are computed before."""
        if not display.elts or any(isinstance(x, ast.Starred) for x in ast.walk(display)):
            self._source.refuse(
                f"a loop over `{ast.unparse(display)}`", display, "Write its elements out."
            )
        self._assign_element(target, [self._elements(x) for x in display.elts], display)
        return ast.Constant(len(display.elts))

    def _elements(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._elements(x) for x in node.elts], ast.Load())
        return self._keep_value(node, "of")

    def _assign_element(
        self, target: ast.expr, elements: list[ast.expr], display: ast.expr
    ) -> None:
        """Assign that one of some elements whose round it is."""
        if isinstance(target, ast.Tuple):
            parts = [x.elts if isinstance(x, ast.Tuple) else [] for x in elements]
            if any(len(x) != len(target.elts) for x in parts):
                self._source.refuse(
                    f"a loop over `{ast.unparse(display)}`", display, "Give each name one value."
                )
            for k, one in enumerate(target.elts):
                self._assign_element(one, [x[k] for x in parts], display)
            return
        value = elements[-1]
        for k in reversed(range(len(elements) - 1)):
            test = ast.Compare(_name(self._at), [ast.Eq()], [ast.Constant(k)])
            value = ast.IfExp(test, elements[k], value)
        self.inside.append(self._put(target, value))

    def _enumerate(self, target: ast.expr, call: ast.Call) -> ast.expr:
        pair = target.elts if isinstance(target, ast.Tuple) else []
        starts = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "start")]
        argument_count = len(call.args) + len(call.keywords)
        if len(pair) != 2 or not call.args or len(starts) != argument_count - 1:
            self._source.refuse(
                f"a loop over `{ast.unparse(call)}`", call, "Write `for i, v in enumerate(x)`."
            )
        start = [self._keep_value(x, "from") for x in starts]
        count = self._walk(pair[1], call.args[0])
        number: ast.expr = _name(self._at)
        if start:
            number = ast.BinOp(start[0], ast.Add(), number)
        self.inside.append(self._put(pair[0], number))
        return count

    def _zip(self, target: ast.expr, call: ast.Call) -> ast.expr:
        several = target.elts if isinstance(target, ast.Tuple) else []
        if call.keywords or not call.args or len(several) != len(call.args):
            self._source.refuse(
                f"a loop over `{ast.unparse(call)}`",
                call,
                "Write `for a, b in zip(x, y)`, a name for each.",
            )
        counts = [
            self._keep_value(self._walk(one, x), "n")
            for one, x in zip(several, call.args, strict=True)
        ]
        least = counts[0]
        for other in counts[1:]:
            shorter = ast.Compare(other, [ast.Lt()], [least])
            least = self._keep_value(ast.IfExp(shorter, other, least), "n")
        return least

    def _range(self, target: ast.expr, call: ast.Call) -> ast.expr:
        if call.keywords or len(call.args) not in (1, 2):
            self._source.refuse(
                f"`{ast.unparse(call)}` in `enumerate` or `zip`",
                call,
                "Count from a number by ones there.",
            )
        value: ast.expr = _name(self._at)
        *low, high = [self._keep_value(x, "to") for x in call.args]
        if low:
            value = ast.BinOp(low[0], ast.Add(), value)
            high = ast.BinOp(high, ast.Sub(), low[0])
        self.inside.append(self._put(target, value))
        return high


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
