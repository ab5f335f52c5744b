"""Recomputation: values that the reverse sweep recomputes instead of loading from the stack.

Such a value is assigned once in the whole function, in the block itself, by a cheap step from
operands that the reverse sweep has there: indices, bounds of inner loops, arguments of calls, int
conditions, elements of arrays that are never written. The block and its loops then store no copies.

The reverse sweep may add in another order than the forward sweep, and so round differently. An int
or a condition selects an element or a branch, so it is recomputed only from floats that are
reproduced bit for bit. Start with `Recompute.block`.
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

MAX_DEPTH = 16  # steps that are repeated for one name
_EXACT_OPS = ("load", "copy", "stop_gradient", "negative", "abs", "weak")  # do not round


def cheap(step: Assign, body: Body, written: Set[str]) -> bool:
    """Whether repeating a step is cheaper than storing its result."""
    if step.op in FUNCTIONS:
        return FUNCTIONS[step.op].cheap or (step.op in ("//", "%") and body.names[step.out] in INTS)
    return step.op != "load" or step.array not in written


def moves(step: Assign) -> bool:
    """Whether a step only copies a value or changes its sign, without rounding."""
    return step.op in _EXACT_OPS


def reads(nodes: list[Node], body: Body) -> set[str]:
    """Return the names of numbers that nodes read."""
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
    """Finds the recomputed names of one function.

    Attributes:
      rounded: Floats whose recomputed value may be rounded differently.
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
        """Whether the reverse sweep reproduces an operand bit for bit."""
        return operand not in self.rounded

    def block(self, nodes: list[Node], known: Set[str]) -> dict[str, Assign]:
        """Return the steps that the reverse of a block repeats at its beginning, in order.

        Args:
          nodes: The block.
          known: The names that are already available in the block's reverse.
        """
        repeated_steps: dict[str, Assign] = {}
        depths: dict[str, int] = {}
        read_before: set[str] = set()  # names read so far: values may be of the previous iteration
        for node in nodes:
            read_before |= reads([node], self.body)
            if not isinstance(node, Assign) or not node.out or node.out in known | read_before:
                continue
            needs = self.needs(node)
            if (
                self._counts[node.out] == 1
                and cheap(node, self.body, self.written)
                and all(is_constant(a) or a in known or a in repeated_steps for a in needs)
            ):
                depth = 1 + sum(depths.get(a, 0) for a in needs)
                is_int = of(node.out, self.body.names) in INTS
                is_exact = all(map(self.exact, needs))
                if depth <= MAX_DEPTH and (is_exact or not is_int):
                    repeated_steps[node.out], depths[node.out] = node, depth
                    if not is_int and not (is_exact and moves(node)):
                        self.rounded.add(node.out)
        return repeated_steps

    def needs(self, step: Assign) -> list[str]:
        """Return the operands of a step, including the address of a local array."""
        if step.op == "load" and not self.body.arrays[step.array].argument:
            return [*step.args, address(step.array)]
        return step.args
