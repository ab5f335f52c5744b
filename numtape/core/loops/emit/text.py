"""The stack layout that both sweeps share, as text, and plans for branches and loops.

The stack grows upwards from ``SP``. A single value takes eight bytes; in an innermost loop a value
is a vector over the iterations, so that both sweeps can be vectorized. Words and vectors are
aligned to eight bytes; up to eight bools share a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..analysis.types import SIZES
from ..ir import Assign, Branch, ForRange, Line, Node, straight

# The status of a sweep that failed; 0 is success.
NO_ROOM, INDEX, DIVISION, NEGATIVE, SHAPES, EMPTY, DEEP, RULE, RAISED = 1, 2, 3, 4, 5, 6, 7, 8, 99
LINES = 8  # bits of the kind in a status; above them is the position, or an exception's number


def failure_status(kind: int, line: int) -> int:
    """Return the status of a failure at a node's line."""
    return kind + ((line.number if isinstance(line, Line) else line) << LINES)


@dataclass
class Slot:
    """A place for a value: the text of its lvalue, and its dtype."""

    place: str
    dtype: str

    def write(self, value: str) -> str:
        """Return the line that stores a value there."""
        return f"{self.place} = {self.dtype}_of({value})"

    def read(self) -> str:
        """Return the value, as text."""
        return f"({self.place} != 0)" if self.dtype == "bool" else self.place


def slot_at(j: int, dtype: str) -> Slot:
    """Return the slot of a single value, ``j`` words above ``SP``."""
    return Slot(f"{dtype}_at(SP + {8 * j})[0]" if j else f"{dtype}_at(SP)[0]", dtype)


def take_text(size: str, lines: list[int]) -> str:
    """Return the line that takes stack space, with the source lines that share it."""
    return f"SP += {size}  # for {' '.join(map(str, lines))}"


def size_text(count: str, dtype: str) -> str:
    """Return the size in bytes of so many elements, as text."""
    size = SIZES[dtype]
    return f"{count} * 8" if size == 8 else f"(({count} * {size} + 7) & -8)"


@dataclass
class Slots:
    """The slots of a stretch without loops.

    Attributes:
      loop: The number of the innermost loop whose body it is; 0 outside of loops.
      dtypes: The dtype of each slot.
      lines: The source line of each slot.
      words: The number of words that they take outside of loops. Up to eight bools share one.
    """

    loop: int = 0
    dtypes: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    words: int = 0
    _free_bytes: list[int] = field(default_factory=list)  # bytes of the last word with bools
    _states_before: list[tuple[int, list[int]]] = field(default_factory=list)

    def new(self, dtype: str, line: int) -> Slot:
        """Add a slot."""
        j = len(self.dtypes)
        self.dtypes.append(dtype)
        self.lines.append(line)
        self._states_before.append((self.words, self._free_bytes[:]))
        if self.loop:
            return Slot(f"S{self.loop}_{j}[K{self.loop}]", dtype)
        if dtype == "bool" and self._free_bytes:
            return Slot(f"bool_at(SP + {self._free_bytes.pop(0)})[0]", dtype)
        self.words += 1
        if dtype == "bool":
            self._free_bytes = [8 * (self.words - 1) + k for k in range(1, 8)]
        return slot_at(self.words - 1, dtype)

    def drop(self) -> None:
        """Remove the last slot."""
        self.dtypes.pop()
        self.lines.pop()
        self.words, self._free_bytes = self._states_before.pop()

    def __len__(self) -> int:
        return len(self.dtypes)


def iterations_line(loop: ForRange, k: int) -> str:
    """Return the line that computes a loop's number of iterations."""
    if loop.step == 1:
        return f"N{k} = max({loop.high} - ({loop.low}), 0)"
    return f"N{k} = len(range({loop.low}, {loop.high}, {loop.step}))"


def variable_line(loop: ForRange, k: int) -> str:
    """Return the line that computes the loop variable in iteration K."""
    start = "" if loop.low == "0" else f"{loop.low} + "
    return f"{loop.name} = {start}K{k}" + (f" * ({loop.step})" if loop.step != 1 else "")


class Text:
    """The lines of a function, and the current indentation depth."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def put(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + line)

    def insert(self, at: int, lines: list[str]) -> None:
        """Insert lines at an index."""
        self.lines[at:at] = ["    " * self.depth + line for line in lines]


@dataclass
class BranchPlan:
    """The reverse of a branch in a stretch: its test, and the reverse of both sides."""

    test: str
    body: list[Any]
    other: list[Any]


@dataclass
class ReversePlan:
    """The forward sweep's notes on a stretch, loop, array or call, for its reverse.

    Attributes:
      k: The number of the loop, array or call.
      keep: The values that are restored before a loop, in the order in which they were stored.
      slots: The slots of a stretch or an innermost loop; None for others.
      parts: The reverse of each piece and branch, in the order of the forward sweep.
    """

    k: int = 0
    keep: list[str] = field(default_factory=list)
    slots: Slots | None = None
    parts: list[Any] = field(default_factory=list)


def groups(nodes: list[Node]) -> Iterator[list[Node]]:
    """Yield runs of straight nodes (stretches), and each other node by itself."""
    run: list[Node] = []
    for node in nodes:
        if straight(node):
            run.append(node)
            continue
        if run:
            yield run
        run = []
        yield [node]
    if run:
        yield run


def pieces(nodes: list[Node]) -> Iterator[list[Assign] | Branch]:
    """Yield the straight pieces of a stretch, and its branches."""
    run: list[Assign] = []
    for node in nodes:
        if isinstance(node, Assign):
            run.append(node)
            continue
        if run:
            yield run
        run = []
        assert isinstance(node, Branch)
        yield node
    if run:
        yield run


def does_anything(parts: list[Any]) -> bool:
    """Whether the reverse of parts does anything."""
    return any(
        does_anything(part.body) or does_anything(part.other)
        if isinstance(part, BranchPlan)
        else bool(part)
        for part in parts
    )
