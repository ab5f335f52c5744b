"""Jump elimination: iterables become ranges; ``break``, ``continue``, early ``return`` flags.

``for i, v in enumerate(x)`` becomes ``for at in range(len(x))`` with ``i = at``, ``v = x[at]``.
Start with `JumpElimination`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any, TypeAlias

from .source import FunctionSource


class Iterables:
    """Rewrites one loop over an iterable to a loop over a range.

    Attributes:
      before: The statements before the loop.
      inside: The statements at the beginning of its body.
      loop: The rewritten loop.
    """

    def __init__(self, source: FunctionSource, loop: ast.For, new: Callable[[str], str]) -> None:
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
        counts.meaning = range  # even if the function shadows the name `range`
        self.loop.iter = ast.Call(counts, [_name(name)], [])
        self.loop.body = [*self.inside, *loop.body]

    def _put(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        assignment = ast.Assign([target], value, lineno=self._loop.lineno)
        return ast.fix_missing_locations(ast.copy_location(assignment, self._loop))

    def _keep_value(self, value: ast.expr, kind: str) -> ast.expr:
        """Assign an expression to a fresh name before the loop, and return the name."""
        if isinstance(value, ast.Constant):
            return value
        name = self._new(kind)
        self.before.append(self._put(ast.Name(name, ast.Store()), value))
        return _name(name)

    def _walk(self, target: ast.expr, iterable: ast.expr) -> ast.expr:
        """Assign a target in each iteration. Return the number of iterations."""
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
        element.inside = True  # the index is always within a tuple's bounds
        self.inside.append(self._put(target, element))
        length: Any = _name("len")
        length.meaning = len
        return ast.Call(length, [array], [])

    def _display(self, target: ast.expr, display: ast.Tuple | ast.List) -> ast.expr:
        """Loop over a tuple display, whose elements are computed before the loop."""
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
        """Assign the element of the current iteration."""
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


DONE, RESULT = "done_0_", "result_0_"
Jump = (ast.Break, ast.Continue)
DEEPEST = 20  # nested `if`s whose following statements move into a branch; deeper ones use flags


# The names of a function's results: one name, or a tuple for each tuple of results.
Form: TypeAlias = str | tuple["Form", ...]


class JumpElimination:
    """The statements of one function, without jumps.

    Attributes:
      body: The rewritten statements.
      early: Whether the function returns before its last statement.
      returns: Whether the function returns a value.
      flag_names: The names that the rewriting adds.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.flag_names = {DONE, RESULT}
        self._count = 0
        body = source.body
        self.early = any(_has(node, ast.Return, True) for node in body[:-1]) or (
            bool(body) and not isinstance(body[-1], ast.Return) and _has(body[-1], ast.Return, True)
        )
        values = [node.value for node in _returns(body)]
        self.returns = any(value is not None for value in values)
        if self.returns and (not _ends(body) or None in values):
            source.refuse("a path that returns nothing", None, "Return a number on each path.")
        several = self.early and isinstance(values[0], ast.Tuple)
        self._form = self._result_names(values[0]) if several else RESULT
        self.body = self._block(body, None)
        taken = sorted(self.flag_names & source.locals)
        if taken:
            source.refuse(f"the name `{taken[0]}`", None, "Take another name.")
        if self.early:
            first = [_set(DONE, False)] if self._needs_done else []
            self.body = [*first, *self.body]
            if self.returns:
                self.body.append(ast.Return(_read(self._form), lineno=source.line))

    _needs_done = False
    _deep = 0

    def _new(self, kind: str) -> str:
        self._count += 1
        name = f"{kind}_{self._count}_"
        self.flag_names.add(name)
        return name

    def _result_names(self, value: ast.expr | None) -> Form:
        """Create names for the parts of a result: a name, or a tuple of names."""
        if isinstance(value, ast.Tuple):
            return tuple([self._result_names(x) for x in value.elts])
        return self._new("result")

    def _results(self, value: ast.expr, form: Form, node: ast.stmt) -> list[ast.stmt]:
        """Assign a returned value to the result names."""
        if isinstance(form, str) and not isinstance(value, ast.Tuple):
            return [_put(form, value, node)]
        if (
            isinstance(form, str)
            or not isinstance(value, ast.Tuple)
            or (len(form) != len(value.elts))
        ):
            self.source.refuse(
                "results of different forms", node, "Return as many values in each place."
            )
        return [
            statement
            for x, name in zip(value.elts, form, strict=True)
            for statement in self._results(x, name, node)
        ]

    def _block(self, nodes: list[ast.stmt], loop: tuple[str, str] | None) -> list[ast.stmt]:
        """Rewrite statements; ``loop``: the names of the enclosing loop's go and skip flags."""
        statements: list[ast.stmt] = []
        for k, node in enumerate(nodes):
            if isinstance(node, ast.Break | ast.Continue):
                assert loop is not None
                if isinstance(node, ast.Break):
                    statements.append(_set(loop[0], False, node))
                return [*statements, _set(loop[1], True, node)]
            if isinstance(node, ast.Raise):
                return [*statements, node]
            if isinstance(node, ast.Return) and self.early:
                if node.value is not None:
                    statements += self._results(node.value, self._form, node)
                self._needs_done = True
                return [*statements, _set(DONE, True, node)]
            if isinstance(node, ast.If):
                new = copy.copy(node)
                body, other, rest = node.body, node.orelse, nodes[k + 1 :]
                exits = _has(node, (ast.Return, *Jump), True)
                moved = exits and bool(rest) and self._deep < DEEPEST
                if moved and _leaves(body):  # the rest is the other branch: no flag is needed
                    other = [*other, *rest]
                elif moved and _leaves(other):
                    body = [*body, *rest]
                else:
                    moved = False
                self._deep += moved
                new.body, new.orelse = self._block(body, loop), self._block(other, loop)
                self._deep -= moved
                statements.append(new)
                if moved:
                    return statements
            elif isinstance(node, ast.For | ast.While):
                statements += self._loop(node)
            else:
                statements.append(node)
            flags = [loop[1]] if loop and _has(node, Jump, False) else []
            flags += [DONE] if self.early and _has(node, ast.Return, True) else []
            if flags and nodes[k + 1 :]:
                rest = self._block(nodes[k + 1 :], loop)
                for flag in flags:
                    test = ast.UnaryOp(ast.Not(), _name(flag))
                    rest = [ast.If(test, rest, [], lineno=node.lineno)]
                return statements + rest
        return statements

    def _counts(self, node: ast.For) -> bool:
        called = self.source.value(node.iter.func) if isinstance(node.iter, ast.Call) else None
        return called is range

    def _loop(self, node: ast.For | ast.While) -> list[ast.stmt]:
        if node.orelse:
            self.source.refuse("`else` of a loop", node, "Set a flag in the loop and test it.")
        if isinstance(node, ast.For) and not self._counts(node):
            iterables = Iterables(self.source, node, self._new)
            return [*iterables.before, *self._loop(iterables.loop)]
        breaks = any(_has(inner, ast.Break, False) for inner in node.body)
        returns = any(_has(inner, ast.Return, True) for inner in node.body)
        skips = any(_has(inner, Jump, False) for inner in node.body)
        new: Any = copy.copy(node)
        go, skip = self._new("go"), self._new("skip")
        body = self._block(node.body, (go, skip))
        if skips:
            body = [_set(skip, False, node), *body]
        if not breaks and not returns:
            new.body = body
            return [new]
        if returns:
            body.append(ast.If(_name(DONE), [_set(go, False, node)], [], lineno=node.lineno))
        before: list[ast.stmt] = [_set(go, True, node)]
        if isinstance(node, ast.For):
            # `Lowering.leaving` lowers this to a `while` over the numbers of the range.
            new.body, new.go = body, go
            return [*before, new]
        test = ast.If(node.test, body, [_set(go, False, node)], lineno=node.lineno)
        return [*before, ast.While(_name(go), [test], [], lineno=node.lineno)]


def _leaves(nodes: list[ast.stmt]) -> bool:
    """Whether control never reaches the end of the statements."""
    last = nodes[-1] if nodes else None
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise, *Jump))


def _read(form: Form) -> ast.expr:
    if isinstance(form, str):
        return _name(form)
    return ast.Tuple([_read(x) for x in form], ast.Load())


def _put(name: str, value: ast.expr, like: ast.stmt | None = None) -> ast.stmt:
    line = getattr(like, "lineno", 0)
    return ast.Assign([ast.Name(name, ast.Store(), lineno=line)], value, lineno=line)


def _set(name: str, value: bool, like: ast.stmt | None = None) -> ast.stmt:
    return _put(name, ast.Constant(value), like)


def _has(node: ast.AST, kinds: type[ast.stmt] | tuple[type[ast.stmt], ...], into: bool) -> bool:
    """Whether a node contains such a statement; ``into``: also search nested loops."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, ast.For | ast.While) and not into:
        return False
    if isinstance(node, ast.If | ast.For | ast.While):
        return any(_has(inner, kinds, into) for inner in (*node.body, *node.orelse))
    return False


def _returns(nodes: list[ast.stmt]) -> list[ast.Return]:
    returns: list[ast.Return] = []
    for node in nodes:
        if isinstance(node, ast.Return):
            returns.append(node)
        elif isinstance(node, ast.If | ast.For | ast.While):
            returns += _returns([*node.body, *node.orelse])
    return returns


def _ends(nodes: list[ast.stmt]) -> bool:
    """Whether statements return or raise on every path."""
    last = nodes[-1] if nodes else None
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.While):
        forever = isinstance(last.test, ast.Constant) and bool(last.test.value)
        return forever and not any(_has(node, ast.Break, False) for node in last.body)
    return isinstance(last, ast.Return | ast.Raise)
