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
      statements_before: The statements before the loop.
      body_start: The statements at the beginning of its body.
      loop: The rewritten loop.
    """

    def __init__(self, source: FunctionSource, loop: ast.For, new: Callable[[str], str]) -> None:
        self._source, self._loop, self._new = source, loop, new
        self.statements_before: list[ast.stmt] = []
        self.body_start: list[ast.stmt] = []
        self._index = new("at")
        count = self._rewrite_target(loop.target, loop.iter)
        name = new("n")
        self.statements_before.append(self._assign(ast.Name(name, ast.Store()), count))
        self.loop = copy.copy(loop)
        self.loop.target = ast.Name(self._index, ast.Store(), lineno=loop.lineno)
        counts: Any = _name("range")
        counts.meaning = range  # even if the function shadows the name `range`
        self.loop.iter = ast.Call(counts, [_name(name)], [])
        self.loop.body = [*self.body_start, *loop.body]

    def _assign(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        assignment = ast.Assign([target], value, lineno=self._loop.lineno)
        return ast.fix_missing_locations(ast.copy_location(assignment, self._loop))

    def _store_value(self, value: ast.expr, kind: str) -> ast.expr:
        """Assign an expression to a fresh name before the loop, and return the name."""
        if isinstance(value, ast.Constant):
            return value
        name = self._new(kind)
        self.statements_before.append(self._assign(ast.Name(name, ast.Store()), value))
        return _name(name)

    def _rewrite_target(self, target: ast.expr, iterable: ast.expr) -> ast.expr:
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
            if iterable.id in stored or iterable.id in _names_in(self._loop.target):
                self._source.refuse(
                    f"a loop over `{iterable.id}`, which it assigns",
                    iterable,
                    "Take another name in the loop.",
                )
        else:
            array = self._store_value(iterable, "of")
        element: Any = ast.Subscript(array, _name(self._index), ast.Load())
        element.inside = True  # the index is always within a tuple's bounds
        self.body_start.append(self._assign(target, element))
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
        return self._store_value(node, "of")

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
            for k, part_target in enumerate(target.elts):
                self._assign_element(part_target, [x[k] for x in parts], display)
            return
        value = elements[-1]
        for k in reversed(range(len(elements) - 1)):
            test = ast.Compare(_name(self._index), [ast.Eq()], [ast.Constant(k)])
            value = ast.IfExp(test, elements[k], value)
        self.body_start.append(self._assign(target, value))

    def _enumerate(self, target: ast.expr, call: ast.Call) -> ast.expr:
        pair = target.elts if isinstance(target, ast.Tuple) else []
        starts = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "start")]
        argument_count = len(call.args) + len(call.keywords)
        if len(pair) != 2 or not call.args or len(starts) != argument_count - 1:
            self._source.refuse(
                f"a loop over `{ast.unparse(call)}`", call, "Write `for i, v in enumerate(x)`."
            )
        start = [self._store_value(x, "from") for x in starts]
        count = self._rewrite_target(pair[1], call.args[0])
        number: ast.expr = _name(self._index)
        if start:
            number = ast.BinOp(start[0], ast.Add(), number)
        self.body_start.append(self._assign(pair[0], number))
        return count

    def _zip(self, target: ast.expr, call: ast.Call) -> ast.expr:
        targets = target.elts if isinstance(target, ast.Tuple) else []
        if call.keywords or not call.args or len(targets) != len(call.args):
            self._source.refuse(
                f"a loop over `{ast.unparse(call)}`",
                call,
                "Write `for a, b in zip(x, y)`, a name for each.",
            )
        counts = [
            self._store_value(self._rewrite_target(part_target, x), "n")
            for part_target, x in zip(targets, call.args, strict=True)
        ]
        minimum = counts[0]
        for count in counts[1:]:
            is_shorter = ast.Compare(count, [ast.Lt()], [minimum])
            minimum = self._store_value(ast.IfExp(is_shorter, count, minimum), "n")
        return minimum

    def _range(self, target: ast.expr, call: ast.Call) -> ast.expr:
        if call.keywords or len(call.args) not in (1, 2):
            self._source.refuse(
                f"`{ast.unparse(call)}` in `enumerate` or `zip`",
                call,
                "Count from a number by ones there.",
            )
        value: ast.expr = _name(self._index)
        *low, high = [self._store_value(x, "to") for x in call.args]
        if low:
            value = ast.BinOp(low[0], ast.Add(), value)
            high = ast.BinOp(high, ast.Sub(), low[0])
        self.body_start.append(self._assign(target, value))
        return high


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _names_in(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


DONE, RESULT = "done_0_", "result_0_"
Jump = (ast.Break, ast.Continue)
MAX_DEPTH = 20  # nested `if`s whose following statements move into a branch; deeper ones use flags


# The names of a function's results: one name, or a tuple for each tuple of results.
Form: TypeAlias = str | tuple["Form", ...]


class JumpElimination:
    """The statements of one function, without jumps.

    Attributes:
      body: The rewritten statements.
      returns_early: Whether the function returns before its last statement.
      returns: Whether the function returns a value.
      flag_names: The names that the rewriting adds.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.flag_names = {DONE, RESULT}
        self._count = 0
        body = source.body
        self.returns_early = any(_contains(node, ast.Return, True) for node in body[:-1]) or (
            bool(body)
            and not isinstance(body[-1], ast.Return)
            and _contains(body[-1], ast.Return, True)
        )
        values = [node.value for node in _returns(body)]
        self.returns = any(value is not None for value in values)
        if self.returns and (not _always_returns(body) or None in values):
            source.refuse("a path that returns nothing", None, "Return a number on each path.")
        returns_tuple = self.returns_early and isinstance(values[0], ast.Tuple)
        self._form = self._result_names(values[0]) if returns_tuple else RESULT
        self.body = self._rewrite_block(body, None)
        conflicts = sorted(self.flag_names & source.locals)
        if conflicts:
            source.refuse(f"the name `{conflicts[0]}`", None, "Take another name.")
        if self.returns_early:
            initial_statements = [_assign_flag(DONE, False)] if self._needs_done_flag else []
            self.body = [*initial_statements, *self.body]
            if self.returns:
                self.body.append(ast.Return(_load_form(self._form), lineno=source.line))

    _needs_done_flag = False
    _depth = 0

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

    def _assign_results(self, value: ast.expr, form: Form, node: ast.stmt) -> list[ast.stmt]:
        """Assign a returned value to the result names."""
        if isinstance(form, str) and not isinstance(value, ast.Tuple):
            return [_assign(form, value, node)]
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
            for statement in self._assign_results(x, name, node)
        ]

    def _rewrite_block(self, nodes: list[ast.stmt], loop: tuple[str, str] | None) -> list[ast.stmt]:
        """Rewrite statements; ``loop``: the go and skip flags of the enclosing loop."""
        statements: list[ast.stmt] = []
        for k, node in enumerate(nodes):
            if isinstance(node, ast.Break | ast.Continue):
                assert loop is not None
                if isinstance(node, ast.Break):
                    statements.append(_assign_flag(loop[0], False, node))
                return [*statements, _assign_flag(loop[1], True, node)]
            if isinstance(node, ast.Raise):
                return [*statements, node]
            if isinstance(node, ast.Return) and self.returns_early:
                if node.value is not None:
                    statements += self._assign_results(node.value, self._form, node)
                self._needs_done_flag = True
                return [*statements, _assign_flag(DONE, True, node)]
            if isinstance(node, ast.If):
                rewritten = copy.copy(node)
                body, else_body, following = node.body, node.orelse, nodes[k + 1 :]
                exits = _contains(node, (ast.Return, *Jump), True)
                moves_following = exits and bool(following) and self._depth < MAX_DEPTH
                if moves_following and _always_jumps(body):
                    # What follows is the other branch: no flag is needed.
                    else_body = [*else_body, *following]
                elif moves_following and _always_jumps(else_body):
                    body = [*body, *following]
                else:
                    moves_following = False
                self._depth += moves_following
                rewritten.body = self._rewrite_block(body, loop)
                rewritten.orelse = self._rewrite_block(else_body, loop)
                self._depth -= moves_following
                statements.append(rewritten)
                if moves_following:
                    return statements
            elif isinstance(node, ast.For | ast.While):
                statements += self._rewrite_loop(node)
            else:
                statements.append(node)
            flags = [loop[1]] if loop and _contains(node, Jump, False) else []
            flags += [DONE] if self.returns_early and _contains(node, ast.Return, True) else []
            if flags and nodes[k + 1 :]:
                following = self._rewrite_block(nodes[k + 1 :], loop)
                for flag in flags:
                    test = ast.UnaryOp(ast.Not(), _name(flag))
                    following = [ast.If(test, following, [], lineno=node.lineno)]
                return statements + following
        return statements

    def _is_range_loop(self, node: ast.For) -> bool:
        called = self.source.value(node.iter.func) if isinstance(node.iter, ast.Call) else None
        return called is range

    def _rewrite_loop(self, node: ast.For | ast.While) -> list[ast.stmt]:
        if node.orelse:
            self.source.refuse("`else` of a loop", node, "Set a flag in the loop and test it.")
        if isinstance(node, ast.For) and not self._is_range_loop(node):
            iterables = Iterables(self.source, node, self._new)
            return [*iterables.statements_before, *self._rewrite_loop(iterables.loop)]
        has_break = any(_contains(inner, ast.Break, False) for inner in node.body)
        has_return = any(_contains(inner, ast.Return, True) for inner in node.body)
        has_jump = any(_contains(inner, Jump, False) for inner in node.body)
        rewritten: Any = copy.copy(node)
        go_flag, skip_flag = self._new("go"), self._new("skip")
        body = self._rewrite_block(node.body, (go_flag, skip_flag))
        if has_jump:
            body = [_assign_flag(skip_flag, False, node), *body]
        if not has_break and not has_return:
            rewritten.body = body
            return [rewritten]
        if has_return:
            body.append(
                ast.If(_name(DONE), [_assign_flag(go_flag, False, node)], [], lineno=node.lineno)
            )
        statements_before: list[ast.stmt] = [_assign_flag(go_flag, True, node)]
        if isinstance(node, ast.For):
            # `Lowering.leaving` lowers this to a `while` over the numbers of the range.
            rewritten.body, rewritten.go = body, go_flag
            return [*statements_before, rewritten]
        test = ast.If(node.test, body, [_assign_flag(go_flag, False, node)], lineno=node.lineno)
        return [*statements_before, ast.While(_name(go_flag), [test], [], lineno=node.lineno)]


def _always_jumps(nodes: list[ast.stmt]) -> bool:
    """Whether control never reaches the end of the statements."""
    last = nodes[-1] if nodes else None
    if isinstance(last, ast.If):
        return _always_jumps(last.body) and _always_jumps(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise, *Jump))


def _load_form(form: Form) -> ast.expr:
    if isinstance(form, str):
        return _name(form)
    return ast.Tuple([_load_form(x) for x in form], ast.Load())


def _assign(name: str, value: ast.expr, original: ast.stmt | None = None) -> ast.stmt:
    line = getattr(original, "lineno", 0)
    return ast.Assign([ast.Name(name, ast.Store(), lineno=line)], value, lineno=line)


def _assign_flag(name: str, value: bool, original: ast.stmt | None = None) -> ast.stmt:
    return _assign(name, ast.Constant(value), original)


def _contains(
    node: ast.AST, kinds: type[ast.stmt] | tuple[type[ast.stmt], ...], enters_loops: bool
) -> bool:
    """Whether a node contains such a statement; ``enters_loops``: also search nested loops."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, ast.For | ast.While) and not enters_loops:
        return False
    if isinstance(node, ast.If | ast.For | ast.While):
        return any(_contains(inner, kinds, enters_loops) for inner in (*node.body, *node.orelse))
    return False


def _returns(nodes: list[ast.stmt]) -> list[ast.Return]:
    returns: list[ast.Return] = []
    for node in nodes:
        if isinstance(node, ast.Return):
            returns.append(node)
        elif isinstance(node, ast.If | ast.For | ast.While):
            returns += _returns([*node.body, *node.orelse])
    return returns


def _always_returns(nodes: list[ast.stmt]) -> bool:
    """Whether statements return or raise on every path."""
    last = nodes[-1] if nodes else None
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    if isinstance(last, ast.While):
        is_infinite = isinstance(last.test, ast.Constant) and bool(last.test.value)
        return is_infinite and not any(_contains(node, ast.Break, False) for node in last.body)
    return isinstance(last, ast.Return | ast.Raise)
