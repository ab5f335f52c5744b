"""The stack layout that both sweeps share, as text, and plans for branches and loops.

The stack grows upwards from ``SP``. A single value takes eight bytes; in an innermost loop a value
is a vector over the iterations, so that both sweeps can be vectorized. All begin at multiples of
eight bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..analysis.types import SIZES
from ..ir import Assign, Branch, ForRange, Line, Node, straight

# The status of a forward sweep; 0: it is done.
NO_ROOM, INDEX, DIVISION, NEGATIVE, SHAPES, EMPTY, DEEP, RULE, RAISED = 1, 2, 3, 4, 5, 6, 7, 8, 99
LINES = 8  # bits below the place in a status, or below the number of an exception


def failure_status(kind: int, line: int) -> int:
    """The status of what fails at a node's line."""
    return kind + ((line.number if isinstance(line, Line) else line) << LINES)


@dataclass
class Slot:
    """A place for a value: the text of where it is, and its dtype."""

    place: str
    dtype: str

    def write(self, value: str) -> str:
        """The line that stores a value there."""
        return f"{self.place} = {self.dtype}_of({value})"

    def read(self) -> str:
        """The value."""
        return f"({self.place} != 0)" if self.dtype == "bool" else self.place


def once(j: int, dtype: str) -> Slot:
    """A value that is stored once, ``j`` words above ``SP``."""
    return Slot(f"{dtype}_at(SP + {8 * j})[0]" if j else f"{dtype}_at(SP)[0]", dtype)


def take_text(size: str, lines: list[int]) -> str:
    """The text that takes room, and for which of the user's lines: a share for each."""
    return f"SP += {size}  # for {' '.join(map(str, lines))}"


def room(count: str, dtype: str) -> str:
    """The bytes that so many elements take."""
    size = SIZES[dtype]
    return f"{count} * 8" if size == 8 else f"(({count} * {size} + 7) & -8)"


@dataclass
class Slots:
    """The slots of a stretch without loops.

    Attributes:
      loop: The number of the innermost loop that it is the body of; 0: it runs once.
      dtypes: Of each slot.
      lines: The user's line that it is for.
      words: How many words they take, if it runs once. Up to eight bools share one.
    """

    loop: int = 0
    dtypes: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    words: int = 0
    _free_bytes: list[int] = field(default_factory=list)  # bytes of the last word with bools
    _before: list[tuple[int, list[int]]] = field(default_factory=list)

    def new(self, dtype: str, line: int) -> Slot:
        """One more."""
        j = len(self.dtypes)
        self.dtypes.append(dtype)
        self.lines.append(line)
        self._before.append((self.words, self._free_bytes[:]))
        if self.loop:
            return Slot(f"S{self.loop}_{j}[K{self.loop}]", dtype)
        if dtype == "bool" and self._free_bytes:
            return Slot(f"bool_at(SP + {self._free_bytes.pop(0)})[0]", dtype)
        self.words += 1
        if dtype == "bool":
            self._free_bytes = [8 * (self.words - 1) + k for k in range(1, 8)]
        return once(self.words - 1, dtype)

    def drop(self) -> None:
        """One less: the last."""
        self.dtypes.pop()
        self.lines.pop()
        self.words, self._free_bytes = self._before.pop()

    def __len__(self) -> int:
        return len(self.dtypes)


def rounds(loop: ForRange, k: int) -> str:
    """How often a loop runs."""
    if loop.step == 1:
        return f"N{k} = max({loop.high} - ({loop.low}), 0)"
    return f"N{k} = len(range({loop.low}, {loop.high}, {loop.step}))"


def number(loop: ForRange, k: int) -> str:
    """The loop's number in round K."""
    start = "" if loop.low == "0" else f"{loop.low} + "
    return f"{loop.name} = {start}K{k}" + (f" * ({loop.step})" if loop.step != 1 else "")


class Text:
    """Lines of a function, with their depth."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def put(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + line)

    def insert(self, at: int, lines: list[str]) -> None:
        """Add lines before others."""
        self.lines[at:at] = ["    " * self.depth + line for line in lines]


@dataclass
class BranchPlan:
    """The reverse of a branch in a stretch: which way it went, and the reverse of both."""

    test: str
    body: list[Any]
    other: list[Any]


@dataclass
class ReversePlan:
    """The plan of a straight piece or a loop, which its reverse needs.

    Attributes:
      k: The number of a loop.
      keep: The values that are restored before it, in the order in which they were stored.
      slots: The slots of a straight piece or an innermost loop; None for other loops.
      parts: The text of the reverse of each piece and branch, in the order of the forward sweep.
    """

    k: int = 0
    keep: list[str] = field(default_factory=list)
    slots: Slots | None = None
    parts: list[Any] = field(default_factory=list)


def groups(nodes: list[Node]) -> Iterator[list[Node]]:
    """Stretches, and loops and others by themselves."""
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
    """The straight pieces of a stretch, and its branches."""
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


def something(parts: list[Any]) -> bool:
    """Whether the reverse of parts does anything."""
    return any(
        something(p.body) or something(p.other) if isinstance(p, BranchPlan) else bool(p)
        for p in parts
    )
