"""Which reads of a local name may come before anything is assigned to it.

Python raises UnboundLocalError there. The sweeps have a flag for such a name, and look at it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

Known = set[str] | None  # the names that have a value; None where the program does not come to


@dataclass
class DefiniteAssignment:
    """Goes through a function's statements.

    Attributes:
      local: The names that the function assigns.
      reads: The ids of nodes that read a name which may have no value.
      names: These names.
    """

    local: set[str]
    reads: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    _leave: list[Known] = field(default_factory=list)  # at the `break`s of the loop around
    _continue_states: list[Known] = field(default_factory=list)  # at its `continue`s

    def block(self, statements: list[ast.stmt], known: Known) -> Known:
        """What has a value behind statements, if some names had one before."""
        for statement in statements:
            if known is None:
                break
            known = self._statement(statement, known)
        return known

    def _look(self, node: ast.AST | None, known: set[str]) -> None:
        """An expression, or the indices of a target."""
        for inner in ast.walk(node) if node is not None else ():
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                self._read(inner, known)

    def _read(self, node: ast.Name, known: set[str]) -> None:
        if node.id in self.local and node.id not in known:
            self.reads.add(id(node))
            self.names.add(node.id)

    def _statement(self, node: Any, known: set[str]) -> Known:
        if isinstance(node, ast.If):
            self._look(node.test, known)
            return _both(self.block(node.body, known), self.block(node.orelse, known))
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, known)
        if isinstance(node, ast.Break | ast.Continue):
            (self._leave if isinstance(node, ast.Break) else self._continue_states).append(known)
            return None
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._read(node.target, known)
        self._look(node, known)
        if isinstance(node, ast.Return | ast.Raise):
            return None
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return known
        return known | _stored_names(targets)

    def _loop(self, node: Any, known: set[str]) -> Known:
        outer = self._leave, self._continue_states
        self._leave, self._continue_states = [], []
        if isinstance(node, ast.For):
            self._look(node.iter, known)
            self._look(node.target, known)
            end = self.block(node.body, known | _stored_names([node.target]))
            after: Known = known
            if _rounds(node.iter):
                after = end
                for other in self._continue_states:
                    after = _both(after, other)
        else:
            self._look(node.test, known)
            self.block(node.body, known)
            forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
            after = None if forever else known
        for other in self._leave:
            after = _both(after, other)
        self._leave, self._continue_states = outer
        return after


def _both(one: Known, other: Known) -> Known:
    """What has a value whichever way the program came."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _stored_names(targets: list[Any]) -> set[str]:
    return {
        node.id
        for target in targets
        if target is not None
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _rounds(node: ast.expr) -> bool:
    """Whether a loop over this runs at least once, as far as the text says."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    bounds = [x.value for x in node.args if isinstance(x, ast.Constant) and type(x.value) is int]
    known = node.func.id == "range" and len(bounds) == len(node.args) and 0 < len(bounds) < 4
    return known and 0 not in bounds[2:] and len(range(*bounds)) > 0
