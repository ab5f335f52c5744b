"""Activity analysis: values that depend on differentiated arguments and reach the result.

The analysis is by name, over the whole function: a name that is active in one place is active
everywhere. Start with `analyse`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ....errors import KernelError
from ..ir import (
    WRITES,
    Alloc,
    Assign,
    Body,
    Call,
    ForRange,
    address,
    calls,
    is_constant,
    shadow,
    steps,
    walk,
)
from ..rules import FUNCTIONS, derivative, differentiable
from .types import INTS, of


@dataclass
class Activity:
    """The results of activity analysis for a function's names.

    Attributes:
      active: The names and arrays that have adjoints.
      written: The arrays that are written to.
      fixed: Names that are assigned once, outside of loops and branches, and arguments that are
        never assigned: the reverse sweep has them from its beginning.
    """

    active: set[str]
    written: set[str]
    fixed: set[str]


def analyse(body: Body, differentiated: list[str], is_callee: bool = False) -> Activity:
    """Find the names that depend on the ``differentiated`` arguments and reach the result.

    The caller of a callee (``is_callee``) may also use what it writes to its arguments.
    """
    names, arrays = body.names, body.arrays
    edges: list[tuple[list[str], str]] = []
    for node in walk(body.nodes):
        if isinstance(node, Assign):
            target, sources = _edge(node)
            if target and (arrays[target].dtype if target in arrays else names[target]) not in INTS:
                edges.append((sources, target))
        elif isinstance(node, Alloc) and node.copied and arrays[node.array].dtype not in INTS:
            edges.append(([node.copied], node.array))
        elif isinstance(node, Call):
            edges += _flows_through_call(node, body)
    edges += [([x], y) for pair in body.same for x, y in (pair, pair[::-1])]
    varied = set(differentiated)
    while new := {t for s, t in edges if t not in varied and not varied.isdisjoint(s)}:
        varied |= new
    useful = set(body.outputs) | _outside(body, is_callee)
    while new := {x for s, t in edges if t in useful for x in s} - useful:
        useful |= new
    active = {x for x in varied & useful if not is_constant(x)} | set(differentiated)
    _refuse(body, varied, active)
    counts = Counter[str]()
    for node in walk(body.nodes):
        if isinstance(node, Assign):
            counts[node.out] += 1
        elif isinstance(node, ForRange):
            counts[node.name] += 1
        elif isinstance(node, Call):
            counts.update(node.assigned_names(3))
        elif isinstance(node, Alloc):
            counts.update([address(node.array), shadow(node.array)])
    top_level_names = {n.out for n in body.nodes if isinstance(n, Assign)}
    for node in body.nodes:
        if isinstance(node, Call) and node.array:
            top_level_names |= node.assigned_names(body.arrays[node.array].ndim)
        elif isinstance(node, Alloc):
            top_level_names |= {address(node.array), shadow(node.array)}
    arguments = body.argument_names()
    fixed = {x for x in arguments if not counts[x]}
    fixed |= {x for x in top_level_names if x and counts[x] == 1 and x not in arguments}
    return Activity(active, written_arrays(body), fixed)


def written_arrays(body: Body) -> set[str]:
    """Return the arrays that a function writes to, itself or through calls."""
    arrays = {s.array for s in steps(body.nodes) if s.op in WRITES and not s.first}
    for call in calls(body):
        arrays |= {call.names[j] for j in call.functions.writes(call, body)}
    return with_aliases(arrays, body.same)


def _flows_through_call(call: Call, body: Body) -> list[tuple[list[str], str]]:
    """Return the edges of a call: from its float arguments to its result and to what it writes."""
    arrays, names = body.arrays, body.names
    if call.rule is not None and call.functions.writes(call, body):
        raise KernelError(
            "its own rule, and writes to its arguments",
            *body.standing.of(call.line),
            "Write to a copy.",
        )
    writes = {call.names[j] for j in call.functions.writes(call, body)}
    array_arguments = [x for x in call.names if x in arrays]
    for k, array in enumerate(array_arguments):
        for other in array_arguments[k + 1 :]:
            if (array == other or other in with_aliases({array}, body.same)) and writes & {
                array,
                other,
            }:
                raise KernelError(
                    "an array twice as an argument of a function that writes to it",
                    *body.standing.of(call.line),
                    "Pass a copy.",
                )
    floats = [
        x for x in call.names if (arrays[x].dtype if x in arrays else of(x, names)) not in INTS
    ]
    flows = [(floats, x) for x in floats if x in writes]
    if call.out and names[call.out] not in INTS:
        flows.append((floats, call.out))
    if call.array and arrays[call.array].dtype not in INTS:
        flows.append((floats, call.array))
    return flows


def _outside(body: Body, is_callee: bool) -> set[str]:
    """Return the float arrays that calls write to and, in a callee, its written arguments."""
    names = {
        x
        for call in calls(body)
        for j in call.functions.writes(call, body)
        if (x := call.names[j]) and body.arrays[x].dtype not in INTS
    }
    if is_callee:
        names |= {
            x
            for x in written_arrays(body) & set(body.parameters)
            if body.arrays[x].dtype not in INTS
        }
    return names


def with_aliases(arrays: set[str], same: list[tuple[str, str]]) -> set[str]:
    """Return arrays together with all that may share memory with them."""
    connected = set(arrays)
    while new := {x for pair in same if not connected.isdisjoint(pair) for x in pair} - connected:
        connected |= new
    return connected


def _edge(step: Assign) -> tuple[str, list[str]]:
    """Return the target of a step, and the sources that its derivative flows to."""
    if step.op == "load":
        return step.out, [step.array]
    if step.op in WRITES:
        return step.array, step.args[1:]
    if step.op in ("copy", "cast", "weak"):
        return step.out, step.args[:1]
    if step.op not in FUNCTIONS:
        return "", []
    if not differentiable(step.op):
        return step.out, step.args
    return step.out, [a for a, rule in zip(step.args, derivative(step.op), strict=True) if rule]


def _refuse(body: Body, varied: set[str], active: set[str]) -> None:
    """Refuse constructs whose derivative would be silently wrong."""
    names = body.names
    cut_off: set[str] = set()  # ints, and arrays of ints, that are computed from active floats
    while True:
        previous_count = len(cut_off)
        for step in steps(body.nodes):
            is_int_cast = (
                step.op == "cast" and step.dtype in (*INTS, "int") and step.args[0] in varied
            )
            passes_value_on = step.op not in ("compare", "truth", "not", "load")
            if step.out and (
                is_int_cast
                or (passes_value_on and names[step.out] in INTS and cut_off & {*step.args})
            ):
                cut_off.add(step.out)
            if step.op in WRITES and step.args[1] in cut_off:
                cut_off.add(step.array)
            if step.op == "load" and step.array in cut_off:
                cut_off.add(step.out)
        cut_off |= with_aliases(cut_off & set(body.arrays), body.same)
        if len(cut_off) == previous_count:
            break
    for call in calls(body):
        if cut_off & set(call.names):
            raise KernelError(
                "a float turned into an int as an argument of a function that is called",
                *body.standing.of(call.line),
                "Turn it into an int in the function.",
            )
    for step in steps(body.nodes):
        target, sources = _edge(step)
        if target in active and step.op in FUNCTIONS and not differentiable(step.op):
            if varied & set(sources):
                raise KernelError(
                    f"a derivative of `{step.op}`, which has none here",
                    *body.standing.of(step.line),
                    "Write it with functions that have one.",
                )
        value = step.args[1] if step.op in WRITES else ""
        used = [x for x in ([value] if value else step.args) if x in cut_off]
        if (
            used
            and target
            and of(target, names) not in INTS
            and (target not in body.arrays or body.arrays[target].dtype not in INTS)
            and step.op != "load"
        ):
            raise KernelError(
                "a float turned into an int and used as a value",
                *body.standing.of(step.line),
                "Use math.floor, through which no gradient flows, or use it as an index only.",
            )
