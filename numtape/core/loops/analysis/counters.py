"""Induction variables: names that each iteration changes by the same amount, as ``k += 2``.

The value of such a name follows from the iteration number. So each iteration computes it under a
new name from the initial value: nothing is stored for it, and no iteration depends on the previous
one. Start with `unroll`.
"""

from __future__ import annotations

import math

from ..frontend.lowering import constant
from ..ir import (
    Alloc,
    Assign,
    Body,
    Branch,
    Call,
    ForRange,
    Node,
    While,
    assigned_in,
    is_constant,
    walk,
)
from .recompute import reads
from .types import INTS, of


def unroll(body: Body) -> None:
    """Rewrite the induction variables in the loops of a function whose dtypes are known."""
    _rewrite_block(body.nodes, body)


def _rewrite_block(nodes: list[Node], body: Body) -> None:
    for loop in [x for x in nodes if isinstance(x, ForRange | While)]:
        for step in [x for x in loop.body if isinstance(x, Assign)]:
            _rewrite(loop, step, nodes, body)
    for node in nodes:
        for inner in _inner_blocks(node):
            _rewrite_block(inner, body)


def _inner_blocks(node: Node) -> list[list[Node]]:
    if isinstance(node, Branch):
        return [node.body, node.other]
    return [node.body] if isinstance(node, ForRange | While) else []


def _rewrite(loop: ForRange | While, step: Assign, nodes: list[Node], body: Body) -> None:
    """If ``step`` updates an induction variable, compute it from the iteration number instead."""
    name, position = step.out, loop.body.index(step)
    changed = assigned_in([loop])
    if name not in step.args or body.names.get(name) != _dtype(step, body):
        return
    if isinstance(loop, ForRange) and loop.step != 1:
        return
    if sum(_assigns(node, name) for node in walk([loop])) != 1:
        return
    start = _initial_constant(name, nodes[: nodes.index(loop)], body)
    is_int = body.names[name] == "int64"
    increments = [a for a in step.args if a != name]
    number = (
        loop.name if isinstance(loop, ForRange) else loop.count or _new_name(body, "count", "int64")
    )
    if step.op == "negative" and start:
        text = f"({start} if {{0}} & 1 == 0 else {_negative(start, is_int)})"
        args = [number]
    elif (
        is_int
        and step.op in "+-"
        and len(increments) == 1
        and of(increments[0], body.names) == "int64"
        and (increments[0] not in changed and (step.op == "+" or step.args[0] == name))
    ):
        if not start:
            start = _new_name(body, "first", "int64")
            nodes.insert(nodes.index(loop), Assign(start, "copy", [name], "{0}", loop.line))
        text, args = f"{{0}} {step.op} {{1}} * {{2}}", [start, number, increments[0]]
    else:
        return
    steps: list[Node] = []
    if isinstance(loop, While):
        loop.count = number
    elif loop.low != "0":
        args[args.index(number)] = count = _new_name(body, "round", "int64")
        steps.append(Assign(count, "-", [number, loop.low], "{0} - {1}", step.line))
    value_name = _new_name(body, "now", body.names[name])
    steps.append(Assign(value_name, "counter", args, text, step.line))
    _rename(loop.body[: position + 1], name, value_name)
    following = loop.body[position + 1 :]
    if name in reads(following, body):
        step.out = _new_name(body, "next", body.names[name])
        _rename(following, name, step.out)
        loop.body.insert(position + 1, Assign(name, "copy", [step.out], "{0}", step.line))
    loop.body[:0] = steps


def _dtype(step: Assign, body: Body) -> str:
    """Return the dtype of the result if it equals that of all operands; "" otherwise."""
    kinds = {of(a, body.names) for a in step.args}
    kind = kinds.pop() if len(kinds) == 1 else ""
    return "" if kind in INTS and kind != "int64" else kind


def _assigns(node: Node, name: str) -> bool:
    if isinstance(node, Assign):
        return node.out == name
    if isinstance(node, ForRange):
        return node.name == name
    return isinstance(node, Call | Alloc) and name in assigned_in([node])


def _initial_constant(name: str, preceding: list[Node], body: Body) -> str:
    """Return the constant that a name holds before a loop; "" if unknown."""
    for node in reversed(preceding):
        if name in assigned_in([node]):
            if isinstance(node, Assign) and node.op == "copy" and is_constant(node.args[0]):
                start = node.args[0]
                number = constant(start)
                has_dtype = of(start, body.names) == body.names[name]
                return (
                    f"({start})"
                    if has_dtype and number is not None and math.isfinite(number)
                    else ""
                )
            return ""
    return ""


def _negative(start: str, is_int: bool) -> str:
    number = constant(start[1:-1])
    assert number is not None
    return f"({-int(number) if is_int else -float(number)!r})"


def _new_name(body: Body, kind: str, dtype: str) -> str:
    name = f"_{kind}{sum(x.startswith(f'_{kind}') for x in body.names)}"
    body.names[name] = dtype
    return name


def _rename(nodes: list[Node], name: str, new_name: str) -> None:
    """Make nodes read ``new_name`` instead of ``name``."""

    def renamed(operand: str) -> str:
        return new_name if operand == name else operand

    for node in walk(nodes):
        if isinstance(node, Assign):
            node.args = [renamed(a) for a in node.args]
        elif isinstance(node, ForRange):
            node.low, node.high = renamed(node.low), renamed(node.high)
        elif isinstance(node, Branch | While):
            node.test = renamed(node.test)
        elif isinstance(node, Alloc):
            node.size = renamed(node.size)
        else:
            node.names = [renamed(x) for x in node.names]
            node.axes = [[renamed(x) for x in axes] for axes in node.axes]
