"""The scope of a function that is being lowered: its names, and descriptions of arrays."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .jumps import JumpElimination
from .source import FunctionSource


@dataclass(eq=False, slots=True)
class View:
    """Part of an array in memory.

    Attributes:
      array: The array.
      shape: The lengths of its axes, as operands.
      offset: The index of its first element in the array's memory.
      strides: The stride of each axis, in elements; None if the elements are contiguous.
      rows: The subscripts that selected it, without the values of int indices. Two views with
        equal `rows` have the same elements in the same places, or none in common. None: unknown.
    """

    array: str
    shape: list[str]
    offset: str = "0"
    strides: list[str] | None = None
    rows: tuple[object, ...] | None = None


@dataclass(eq=False, slots=True)
class Lazy:
    """Elements that are computed when a loop reads them.

    Attributes:
      shape: The lengths of its axes.
      element: Writes the computation of the element at given indices, and returns its name.
      sources: The views that it reads.
      dtype: The dtype of its elements; "" if `types` must infer it.
      needs_copy: Whether it reads sources at other indices than its own.
    """

    shape: list[str]
    element: Callable[[list[str]], str]
    sources: list[View] = field(default_factory=list)
    dtype: str = ""
    needs_copy: bool = False


Grid = View | Lazy


@dataclass(eq=False, slots=True)
class Places:
    """Elements of a view at index arrays: ``x[k]``, ``x[:, k]``, ``x[i, k]``.

    Attributes:
      view: The view.
      places: The index array of each axis of the view, or None for a full slice.
      shape: The lengths of the axes of the selection.
      first, axes: The first of these axes that belongs to the index arrays, and how many do.
    """

    view: View
    places: list[Grid | None]
    shape: list[str]
    first: int
    axes: int


Known = set[str] | None  # the names that have a value; None for unreachable code


@dataclass
class DefiniteAssignment:
    """Finds reads of local names that may be unassigned.

    Attributes:
      local: The names that the function assigns.
      reads: The ids of nodes that read a name which may be unassigned.
      names: These names.
    """

    local: set[str]
    reads: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    # At the `break`s and `continue`s of the enclosing loop.
    _break_states: list[Known] = field(default_factory=list)
    _continue_states: list[Known] = field(default_factory=list)

    def block(self, statements: list[ast.stmt], known: Known) -> Known:
        """Return the names that have a value after statements, given those before."""
        for statement in statements:
            if known is None:
                break
            known = self._visit_statement(statement, known)
        return known

    def _visit_reads(self, node: ast.AST | None, known: set[str]) -> None:
        """Visit the names that an expression, or the indices of a target, reads."""
        for inner in ast.walk(node) if node is not None else ():
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                self._visit_name(inner, known)

    def _visit_name(self, node: ast.Name, known: set[str]) -> None:
        if node.id in self.local and node.id not in known:
            self.reads.add(id(node))
            self.names.add(node.id)

    def _visit_statement(self, node: ast.stmt, known: set[str]) -> Known:
        if isinstance(node, ast.If):
            self._visit_reads(node.test, known)
            return _intersect(self.block(node.body, known), self.block(node.orelse, known))
        if isinstance(node, ast.For | ast.While):
            return self._visit_loop(node, known)
        if isinstance(node, ast.Break | ast.Continue):
            (self._break_states if isinstance(node, ast.Break) else self._continue_states).append(
                known
            )
            return None
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._visit_name(node.target, known)
        self._visit_reads(node, known)
        if isinstance(node, ast.Return | ast.Raise):
            return None
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return known
        return known | _stored_names(targets)

    def _visit_loop(self, node: ast.For | ast.While, known: set[str]) -> Known:
        outer_states = self._break_states, self._continue_states
        self._break_states, self._continue_states = [], []
        if isinstance(node, ast.For):
            self._visit_reads(node.iter, known)
            self._visit_reads(node.target, known)
            end_state = self.block(node.body, known | _stored_names([node.target]))
            after_state: Known = known
            if _runs_at_least_once(node.iter):
                after_state = end_state
                for state in self._continue_states:
                    after_state = _intersect(after_state, state)
        else:
            self._visit_reads(node.test, known)
            self.block(node.body, known)
            is_infinite = isinstance(node.test, ast.Constant) and bool(node.test.value)
            after_state = None if is_infinite else known
        for state in self._break_states:
            after_state = _intersect(after_state, state)
        self._break_states, self._continue_states = outer_states
        return after_state


def _intersect(state: Known, other_state: Known) -> Known:
    """Return the names that have a value on both paths."""
    if state is None or other_state is None:
        return other_state if state is None else state
    return state & other_state


def _stored_names(targets: list[Any]) -> set[str]:
    return {
        node.id
        for target in targets
        if target is not None
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _runs_at_least_once(node: ast.expr) -> bool:
    """Whether a loop over ``range`` of constants runs at least once; False if unknown."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    bounds = [x.value for x in node.args if isinstance(x, ast.Constant) and type(x.value) is int]
    is_constant = node.func.id == "range" and len(bounds) == len(node.args) and 0 < len(bounds) < 4
    return is_constant and 0 not in bounds[2:] and len(range(*bounds)) > 0


# Names that the text of the sweeps reserves.
_RESERVED = re.compile(
    r"u_.*|d_.*|.*_[nm]\d|.*_at|.*_of|.*__\d+|_.*|[A-Z]+\d*(_\d+)?|h\d+_.*|math|np|max|min|abs|range|"
    r"len|int|float|bool|pow|[a-z]+_\d+_"
)


@dataclass(slots=True)
class ExpressionValue:
    """The value of an expression: a number, an array or a tuple.

    Attributes:
      name: The name or text of a number.
      array: The array that holds the elements in memory; "" if they are not computed yet.
      items: The numbers of a tuple.
      grid: The elements of an array, as a view or as a computation.
    """

    name: str = ""
    array: str = ""
    items: list[str] | None = None
    grid: Grid | None = None


@dataclass
class Frame:
    """A function that is being lowered, and the values of its names."""

    source: FunctionSource
    prefix: str
    bound: dict[str, ExpressionValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exits = JumpElimination(self.source)
        nodes = [node for statement in self.exits.body for node in ast.walk(statement)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self.stores = Counter(n.id for n in names if isinstance(n.ctx, ast.Store))
        self._binds = self.stores.copy()
        self._binds.subtract(
            n.target.id
            for n in nodes
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        )
        self.stores.update(
            n.target.id
            for n in nodes
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        )
        assignment = DefiniteAssignment(self.source.locals)
        assignment.block(self.source.body, set(self.source.parameters))
        self.possibly_unassigned = assignment.reads
        self.flags = {name: f"set_{k}_" for k, name in enumerate(sorted(assignment.names))}
        # Loop variables that nothing else assigns, and that only their loops read.
        loops = [n for n in nodes if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
        loop_counts = Counter(n.target.id for n in loops if isinstance(n.target, ast.Name))
        read_counts = Counter(n.id for n in names if isinstance(n.ctx, ast.Load))
        own_reads: Counter[str] = Counter()
        reassigned = set()
        for loop in loops:
            assert isinstance(loop.target, ast.Name)
            local = loop.target.id
            body_names = [x for s in loop.body for x in ast.walk(s) if isinstance(x, ast.Name)]
            own_reads.update(
                x.id for x in body_names if x.id == local and isinstance(x.ctx, ast.Load)
            )
            if any(x.id == local and isinstance(x.ctx, ast.Store) for x in body_names):
                reassigned.add(local)
        self.private_loop_variables = {
            local
            for local, count in loop_counts.items()
            if self.stores[local] == count
            and read_counts[local] == own_reads[local]
            and local not in reassigned
            and local not in self.source.parameters
        }

    def rebound(self, local: str) -> bool:
        """Whether a name is bound in more than one place; ``x += y`` does not count."""
        return self._binds[local] + (local in self.source.parameters) > 1

    def rename(self, local: str) -> str:
        """Return the name in the text of a local name."""
        if self.prefix:
            return f"{self.prefix}{local}"
        return f"u_{local}" if _RESERVED.fullmatch(local) else local
