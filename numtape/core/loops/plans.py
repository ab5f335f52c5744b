"""What the reverse of a stretch or a loop has to know of its forward sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .layout import Slots
from .nodes import Branch, Node, Step, straight


@dataclass
class Way:
    """The reverse of a branch in a stretch: which way it went, and the reverse of both."""

    test: str
    body: list[Any]
    other: list[Any]


@dataclass
class Plan:
    """What the reverse of a stretch or a loop has to know.

    Attributes:
      k: The number of a loop.
      keep: What is restored before it, in the order in which it was stored.
      slots: Those of a stretch, or of an innermost loop; None of another one.
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


def pieces(nodes: list[Node]) -> Iterator[list[Step] | Branch]:
    """The straight pieces of a stretch, and its branches."""
    run: list[Step] = []
    for node in nodes:
        if isinstance(node, Step):
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
        something(p.body) or something(p.other) if isinstance(p, Way) else bool(p) for p in parts
    )
