"""The dtype of every name, by Numba's rules for numbers.

A name that holds ints in one place and floats in another one is a float. Numba types the text of
the sweeps again when it is compiled; each value that goes onto the stack is checked there to be of
the dtype that is said here (`kernels.loops.stack`), so that a difference is an error and no wrong
number.
"""

from __future__ import annotations

from typing import NoReturn

from ...errors import KernelError
from .nodes import (
    WRITES,
    Array,
    Body,
    Branch,
    Call,
    Count,
    Make,
    Node,
    Repeat,
    Step,
    address,
    dtype_of,
    shadow,
    walk,
)
from .rules import FUNCTIONS

of = dtype_of
INTS = ("bool", "int8", "int16", "int32", "int64")
SIZES = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4, "float64": 8}


_STARTS = {"float32": "np.float32({0})", "float64": "float({0})"}


def joined(x: str, y: str) -> str:
    """The dtype that holds what two others hold; "" is none yet."""
    if x == y or not y:
        return x
    if not x:
        return y
    if x in INTS and y in INTS:
        return max(x, y, key=INTS.index)
    return "float64"


def infer(body: Body) -> None:
    """Fill in ``body.names``: the dtype of each name that is a number."""
    called = [body] if body.functions is None else body.functions.settle(body, infer_names)
    for one in called:
        finish(one)


def infer_names(body: Body) -> None:
    """Find the dtypes of names, as far as those of what is called are known."""
    names = body.names
    names |= body.scalars
    for name, array in body.arrays.items():
        if not array.argument or array.addressed:
            names[address(name)] = names[shadow(name)] = "int64"
        for k in range(array.ndim):
            names[f"{name}_n{k}"] = "int64"
    derived = {name: array for name, array in body.arrays.items() if not array.dtype}
    while True:
        before = dict(names), [array.dtype for array in derived.values()]
        for node in walk(body.nodes):
            if isinstance(node, Count):
                names[node.name] = joined(names.get(node.name, ""), "int64")
            elif isinstance(node, Call):
                result: str = node.functions.result(node, body)
                if node.array:
                    body.arrays[node.array].dtype = result or body.arrays[node.array].dtype
                elif node.out:
                    names[node.out] = joined(names.get(node.out, ""), result)
            elif isinstance(node, Step) and node.out:
                found = _result(node, names, body.arrays)
                names[node.out] = joined(names.get(node.out, ""), found)
            elif isinstance(node, Step) and node.first and node.array in derived:
                array = derived[node.array]
                if array.like:
                    continue
                array.dtype = joined(array.dtype, of(node.args[1], names))
        for array in derived.values():
            if array.like:
                array.dtype = body.arrays[array.like].dtype
        for one, other in body.same:
            for name, partner in ((one, other), (other, one)):
                if name in derived:
                    derived[name].dtype = joined(derived[name].dtype, body.arrays[partner].dtype)
        if (names, [array.dtype for array in derived.values()]) == before:
            break


def finish(body: Body) -> None:
    """Check the dtypes of all names, when they are known, and write what depends on them."""
    _check(body)
    for node in walk(body.nodes):
        if isinstance(node, Step) and node.op == "start":
            node.text = _STARTS.get(body.names[node.out], "{0}")
        elif isinstance(node, Step) and node.op == "weak" and of(node.args[0], body.names) in INTS:
            node.text = _STARTS.get(body.names[node.out], "{0}")
        elif isinstance(node, Step) and node.op == "beyond":
            node.text = f"{{0}} + {{1}} * {SIZES[body.arrays[node.dtype].dtype]}"


def _result(step: Step, names: dict[str, str], arrays: dict[str, Array]) -> str:
    kinds = [of(a, names) for a in step.args]
    op = step.op
    if op == "load":
        return arrays[step.array].dtype
    if op == "cast":
        return step.dtype
    if op == "weak":  # an int beside elements of float32 is one
        if "" in kinds:
            return ""
        return "float32" if kinds[1] == "float32" and kinds[0] in INTS else kinds[0]
    if op == "start":  # of the dtype of what is added to it
        return ""
    if op in ("compare", "not", "truth"):
        return "bool"
    if op in ("wrap", "whole"):
        return "int64"
    if op == "where":
        return joined(kinds[1], kinds[2])
    if op in FUNCTIONS and FUNCTIONS[op].result == "same" and any(kinds):
        kinds = [kind for kind in kinds if kind]  # what is not known yet can only make it wider
    if "" in kinds:
        return ""
    if op in ("copy", "max", "min", "maximum", "minimum"):
        found = kinds[0]
        for kind in kinds[1:]:
            found = joined(found, kind)
        return found
    if op in ("&", "|", "^") and kinds == ["bool", "bool"]:
        return "bool"
    if op not in FUNCTIONS:  # of bits
        return "int64"
    result = FUNCTIONS[op].result
    if result == "whole":
        return "int64"
    if result == "truth":
        return "bool"
    floats = [kind for kind in kinds if kind not in INTS]
    if result == "same" and not floats:
        return "int64"
    return "float32" if all(kind == "float32" for kind in kinds) else "float64"


def _check(body: Body) -> None:
    names = body.names

    def refuse(construct: str, node: Node, way: str) -> NoReturn:
        raise KernelError(construct, *body.standing.of(node.line), way)

    def whole(operand: str, what: str, node: Node) -> None:
        if of(operand, names) not in INTS:
            refuse(f"{what} that is a float", node, "Make it an int, by `//` or int(...).")

    for one, other in body.same:
        if body.arrays[one].dtype != body.arrays[other].dtype:
            raise KernelError("arrays of two dtypes under one name", body.file, body.line,
                              "Take a name of its own for each.")  # fmt: skip
    for node in walk(body.nodes):
        if isinstance(node, Count):
            for bound in (node.low, node.high):
                whole(bound, "a bound of a range", node)
            if names[node.name] not in INTS:
                refuse("a loop over a name that holds a float elsewhere", node, "Rename it.")
        elif isinstance(node, Make):
            if node.size:
                whole(node.size, "an array's axis", node)
        elif isinstance(node, Step):
            for operand in node.args:
                if not of(operand, names):
                    refuse("a name that is read and never assigned", node, "Assign it first.")
            if node.op in ("load", *WRITES, "wrap"):
                whole(node.args[0], "an index", node)
            if node.op in ("check", "wrap") and of(node.args[0], names) == "bool":
                refuse("an index that is a bool", node, "Use np.where, or an int.")
            elif node.op in ("&", "|", "^", "<<", ">>"):
                for operand in node.args:
                    whole(operand, f"an operand of `{node.op}`", node)
            if node.op in WRITES:
                value, kind = of(node.args[1], names), body.arrays[node.array].dtype
                if value not in INTS and kind in INTS:
                    refuse("a float that is put into an array of ints", node, "Use int(...).")
        elif isinstance(node, Call):
            if any(not dtype for dtype, _ in node.kinds(body)):
                refuse("a name that is read and never assigned", node, "Assign it first.")
            if (node.out and not names[node.out]) or (
                node.array and not body.arrays[node.array].dtype
            ):
                refuse("recursion whose result has no dtype", node,
                       "Return a number on a way that calls nothing.")
        elif isinstance(node, Branch | Repeat):
            if not of(node.test, names):
                refuse("a condition that is never assigned", node, "Assign it first.")
