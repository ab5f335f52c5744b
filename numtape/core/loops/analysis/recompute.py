"""Recomputation: values that the reverse sweep recomputes instead of loading from the stack.

These are assigned once in the whole function, in the block itself, by a cheap step from what the
reverse sweep has there: indices, bounds of inner loops, arguments of calls, conditions of ints,
elements of arrays that are never written. The block and the loops in it then need no copies.

The reverse sweep may add in another order than the forward one, and so round otherwise. An int or a
condition decides which element is meant and which way is taken: it is computed again only from
floats that come out bit by bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from ..ir import (
    Alloc,
    Assign,
    Body,
    Branch,
    Call,
    ForRange,
    Node,
    While,
    address,
    assigned_in,
    is_constant,
    shadow,
    walk,
)
from ..rules import FUNCTIONS
from .activity import Activity
from .types import INTS, of

DEEPEST = 16  # steps that are done again for one name
_MOVED = ("load", "copy", "stop_gradient", "negative", "abs", "weak")  # round nothing


def cheap(step: Assign, body: Body, written: Set[str]) -> bool:
    """Whether a step is done again rather than stored."""
    if step.op in FUNCTIONS:
        return FUNCTIONS[step.op].cheap or (step.op in ("//", "%") and body.names[step.out] in INTS)
    return step.op != "load" or step.array not in written


def moves(step: Assign) -> bool:
    """Whether a step only takes a value elsewhere, or changes its sign: nothing is rounded."""
    return step.op in _MOVED


def reads(nodes: list[Node], body: Body) -> set[str]:
    """The names of numbers that nodes read."""
    names: set[str] = set()
    for node in walk(nodes):
        if isinstance(node, Assign):
            names.update(node.args)
            if node.array and not body.arrays[node.array].argument:
                names |= {address(node.array), shadow(node.array)}
        elif isinstance(node, ForRange):
            names |= {node.low, node.high}
        elif isinstance(node, Branch | While):
            names.add(node.test)
        elif isinstance(node, Alloc):
            names.add(node.size)
        else:
            assert isinstance(node, Call)
            names.update(node.operands())
            names |= {f(x) for x in node.names if x in body.arrays for f in (address, shadow)}
    return {x for x in names if x in body.names and not is_constant(x)}


class Recompute:
    """Finds the names of one function.

    Attributes:
      rounded: Floats whose rounding may differ from the forward sweep.
    """

    def __init__(self, body: Body, activity: Activity) -> None:
        self.body, self.written = body, activity.written
        self.rounded: set[str] = set()
        self._counts = Counter(body.argument_names())
        for node in walk(body.nodes):
            self._counts.update(
                [node.out]
                if isinstance(node, Assign)
                else ()
                if isinstance(node, Branch)
                else assigned_in([node])
                if isinstance(node, Alloc | Call)
                else [node.name if isinstance(node, ForRange) else node.count]
            )

    def exact(self, operand: str) -> bool:
        """Whether an operand that the reverse sweep has is what it was, bit by bit."""
        return operand not in self.rounded

    def block(self, nodes: list[Node], known: Set[str]) -> dict[str, Assign]:
        """The steps that are recomputed at the beginning of a block's reverse, in order.

        Args:
          nodes: The block.
          known: The names that its reverse has from elsewhere.
        """
        steps_: dict[str, Assign] = {}
        deep: dict[str, int] = {}
        before: set[str] = set()  # what was read so far: maybe what the last round left
        for node in nodes:
            before |= reads([node], self.body)
            if not isinstance(node, Assign) or not node.out or node.out in known | before:
                continue
            needs = self.needs(node)
            if (
                self._counts[node.out] == 1
                and cheap(node, self.body, self.written)
                and all(is_constant(a) or a in known or a in steps_ for a in needs)
            ):
                depth = 1 + sum(deep.get(a, 0) for a in needs)
                is_int = of(node.out, self.body.names) in INTS
                same = all(map(self.exact, needs))
                if depth <= DEEPEST and (same or not is_int):
                    steps_[node.out], deep[node.out] = node, depth
                    if not is_int and not (same and moves(node)):
                        self.rounded.add(node.out)
        return steps_

    def needs(self, step: Assign) -> list[str]:
        """The operands of a step, with where an array lies."""
        if step.op == "load" and not self.body.arrays[step.array].argument:
            return [*step.args, address(step.array)]
        return step.args
