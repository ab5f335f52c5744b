"""Loops over arrays, `enumerate` and `zip`, as loops over a range: names are assigned in the body.

``for i, v in enumerate(x)`` becomes ``for at in range(x.shape[0])`` with ``i = at``, ``v = x[at]``.
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
        found = ast.Assign([target], value, lineno=self._loop.lineno)
        return ast.fix_missing_locations(ast.copy_location(found, self._loop))

    def _kept(self, value: ast.expr, kind: str) -> ast.expr:
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
            self._source.refuse(f"a loop over `{ast.unparse(iterable)}`", iterable,
                                "Loop over a range, or write its rounds out.")  # fmt: skip
        array: ast.expr = iterable
        if isinstance(iterable, ast.Name):
            stored = {n.id for s in self._loop.body for n in ast.walk(s)
                      if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
            if iterable.id in stored or iterable.id in _names(self._loop.target):
                self._source.refuse(f"a loop over `{iterable.id}`, which it assigns", iterable,
                                    "Take another name in the loop.")  # fmt: skip
        else:
            array = self._kept(iterable, "of")
        element = ast.Subscript(array, _name(self._at), ast.Load())
        self.inside.append(self._put(target, element))
        shape = ast.Attribute(array, "shape", ast.Load())
        return ast.Subscript(shape, ast.Constant(0), ast.Load())

    def _enumerate(self, target: ast.expr, call: ast.Call) -> ast.expr:
        pair = target.elts if isinstance(target, ast.Tuple) else []
        starts = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "start")]
        given = len(call.args) + len(call.keywords)
        if len(pair) != 2 or not call.args or len(starts) != given - 1:
            self._source.refuse(f"a loop over `{ast.unparse(call)}`", call,
                                "Write `for i, v in enumerate(x)`.")  # fmt: skip
        start = [self._kept(x, "from") for x in starts]
        count = self._walk(pair[1], call.args[0])
        number: ast.expr = _name(self._at)
        if start:
            number = ast.BinOp(start[0], ast.Add(), number)
        self.inside.append(self._put(pair[0], number))
        return count

    def _zip(self, target: ast.expr, call: ast.Call) -> ast.expr:
        several = target.elts if isinstance(target, ast.Tuple) else []
        if call.keywords or not call.args or len(several) != len(call.args):
            self._source.refuse(f"a loop over `{ast.unparse(call)}`", call,
                                "Write `for a, b in zip(x, y)`, a name for each.")  # fmt: skip
        counts = [self._kept(self._walk(one, x), "n")
                  for one, x in zip(several, call.args, strict=True)]  # fmt: skip
        least = counts[0]
        for other in counts[1:]:
            shorter = ast.Compare(other, [ast.Lt()], [least])
            least = self._kept(ast.IfExp(shorter, other, least), "n")
        return least

    def _range(self, target: ast.expr, call: ast.Call) -> ast.expr:
        if call.keywords or len(call.args) not in (1, 2):
            self._source.refuse(f"`{ast.unparse(call)}` in `enumerate` or `zip`", call,
                                "Count from a number by ones there.")  # fmt: skip
        value: ast.expr = _name(self._at)
        *low, high = [self._kept(x, "to") for x in call.args]
        if low:
            value = ast.BinOp(low[0], ast.Add(), value)
            high = ast.BinOp(high, ast.Sub(), low[0])
        self.inside.append(self._put(target, value))
        return high


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
