"""The dtype of every name, by Numba's rules for numbers.

A name that holds ints in one place and floats in another is a float. Numba infers types again when
it compiles the sweeps. Each store to the stack checks that Numba's dtype is the one inferred here
(`kernels.loops.stack`), so that a difference is an error instead of a wrong number. Start with
`infer`.
"""

from __future__ import annotations

from typing import NoReturn

from ....errors import KernelError
from ...values.dtypes import DTYPES
from ..ir import (
    ONE_NUMBER,
    WRITES,
    Alloc,
    ArrayType,
    Assign,
    Body,
    Branch,
    Call,
    ForRange,
    Node,
    While,
    address,
    dtype_of,
    shadow,
    walk,
)
from ..rules import FUNCTIONS

of = dtype_of
SIGNED = ("bool", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = (*SIGNED, *UNSIGNED)
SIZES = {dtype.name: dtype.size for dtype in DTYPES}
TINY = ("bool", "int8", "int16", "uint8", "uint16")  # float32 holds all of them
_NARROWER = ("int8", "int16", "int32", *UNSIGNED)  # dtypes that Numba widens, or that are unsigned

# Operations that Numba does in 64 bits. So that Python does too, `_widen` casts the operands.
_WIDE = ("+", "-", "*", "//", "%", "**", "&", "|", "^", "<<", ">>", "negative")
# Operations that NumPy does in the dtype of the operands.
_NARROW = ("+", "-", "*", "//", "%", "**", "negative", "square", "fmax", "fmin")

# Operations that return one of their operands unchanged: no arithmetic, so no dtype to choose.
_CHOOSING = ("max", "min", "maximum", "minimum", "where", "copy")

_STARTS = {
    "float32": "np.float32({0})",
    "float64": "float({0})",
    **{name: f"np.{name}({{0}})" for name in UNSIGNED},
}


def common_dtype(x: str, y: str) -> str:
    """Return the dtype that holds the values of two others; "" stands for unknown."""
    if x == y or not y:
        return x
    if not x:
        return y
    for one, other in ((x, y), (y, x)):
        if one == "float32" and other in TINY:
            return one
    if x not in INTS or y not in INTS:
        return "float64"
    if "bool" in (x, y) or (x in UNSIGNED) == (y in UNSIGNED):
        return max(x, y, key=INTS.index)
    bits, other = (x, y) if x in UNSIGNED else (y, x)
    least = UNSIGNED.index(bits) + 2  # the first signed dtype that holds them
    return SIGNED[max(least, SIGNED.index(other))] if least < len(SIGNED) else "float64"


def infer(body: Body) -> None:
    """Fill in ``body.names``: the dtype of each name that is a number."""
    called = [body] if body.functions is None else body.functions.settle(body, infer_names)
    for one in called:
        finish(one)


def infer_names(body: Body) -> None:
    """Infer the dtypes of names, as far as the result dtypes of calls are known."""
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
            if isinstance(node, ForRange):
                names[node.name] = common_dtype(names.get(node.name, ""), "int64")
            elif isinstance(node, Call):
                result: str = node.functions.result(node, body)
                if node.array:
                    body.arrays[node.array].dtype = result or body.arrays[node.array].dtype
                elif node.out:
                    names[node.out] = common_dtype(names.get(node.out, ""), result)
            elif isinstance(node, Assign) and node.out:
                dtype = _result(node, names, body.arrays)
                names[node.out] = common_dtype(names.get(node.out, ""), dtype)
            elif isinstance(node, Assign) and node.first and node.array in derived:
                array = derived[node.array]
                if array.like:
                    continue
                array.dtype = common_dtype(array.dtype, of(node.args[1], names))
        for array in derived.values():
            if array.like:
                array.dtype = body.arrays[array.like].dtype
        for one, other in body.same:
            for name, partner in ((one, other), (other, one)):
                if name in derived:
                    derived[name].dtype = common_dtype(
                        derived[name].dtype, body.arrays[partner].dtype
                    )
        if (names, [array.dtype for array in derived.values()]) == before:
            break


def finish(body: Body) -> None:
    """Check the inferred dtypes, and fill in the texts that depend on them."""
    _check(body)
    for node in walk(body.nodes):
        if isinstance(node, Assign) and node.op == "start":
            node.text = _STARTS.get(body.names[node.out], "{0}")
        elif (
            isinstance(node, Assign) and node.op == "weak" and of(node.args[0], body.names) in INTS
        ):
            node.text = _STARTS.get(body.names[node.out], "{0}")
        elif isinstance(node, Assign) and node.dtype == "real":
            node.text = "np.float64({0})" if of(node.args[0], body.names) in INTS else "{0}"
        elif isinstance(node, Assign) and node.op == "beyond":
            node.text = f"{{0}} + {{1}} * {SIZES[body.arrays[node.dtype].dtype]}"
        elif isinstance(node, Assign) and node.text:
            _widen(node, [of(a, body.names) for a in node.args])


def _widen(step: Assign, kinds: list[str]) -> None:
    """Make Numba's conversions of ints explicit, so that Python computes the same."""
    if "uint16" in kinds and "float32" in kinds and step.op not in _CHOOSING:
        for k, kind in enumerate(kinds):  # Numba computes in float64, NumPy in float32
            if kind == "uint16":
                step.text = step.text.replace(f"{{{k}}}", f"np.float64({{{k}}})")
    if not {*kinds} & {*_NARROWER} or not {*kinds} <= {*INTS}:
        return
    if step.op in ("wrap", "cast") and kinds[0] in UNSIGNED:
        wide = {"wrap": "np.int64({0})", "castint64": "np.int64({0})", "castint": "{0}"}
        step.text = wide.get(step.op + step.dtype, step.text)
    elif step.op in _WIDE:
        to = _result_of_ints(step.op, kinds)
        for k, kind in enumerate(kinds):
            if to == "uint64" or (to == "int64" and kind not in ("bool", "int64")):
                step.text = step.text.replace(f"{{{k}}}", f"np.{to}({{{k}}})")


def _result_of_ints(op: str, kinds: list[str]) -> str:
    """Return the dtype of an operation of ints: uint64 if all are unsigned, otherwise int64."""
    if op in ("&", "|", "^") and kinds == ["bool", "bool"]:
        return "bool"
    own = kinds[:1] if op in ("<<", ">>") else kinds
    return "uint64" if {*own} <= {*UNSIGNED} else "int64"


def _result(step: Assign, names: dict[str, str], arrays: dict[str, ArrayType]) -> str:
    kinds = [of(a, names) for a in step.args]
    op = step.op
    if op == "load":
        return arrays[step.array].dtype
    if op == "cast" and step.dtype == "int":  # in Numba, int(...) keeps unsigned ints
        return kinds[0] if kinds[0] in UNSIGNED else "int64"
    if op == "cast" and step.dtype == "real":
        return "float64" if kinds[0] in INTS else kinds[0]
    if op == "cast":
        return step.dtype
    if op == "weak":  # an int beside elements of float32 is a float32
        if "" in kinds:
            return ""
        return "float32" if kinds[1] == "float32" and kinds[0] in INTS else kinds[0]
    if op == "start":  # takes the dtype of the values that are added to it
        return ""
    if op in ("compare", "not", "truth"):
        return "bool"
    if op in ("wrap", "whole"):
        return "int64"
    if op == "where":
        return common_dtype(kinds[1], kinds[2])
    if op in FUNCTIONS and FUNCTIONS[op].result == "same" and any(kinds):
        kinds = [kind for kind in kinds if kind]  # unknown dtypes can only widen the result
    if "" in kinds:
        return ""
    if op in ("copy", "max", "min", "maximum", "minimum"):
        dtype = kinds[0]
        for kind in kinds[1:]:
            dtype = common_dtype(dtype, kind)
        return dtype
    if op not in FUNCTIONS:  # bitwise operators
        return _result_of_ints(op, kinds)
    result = FUNCTIONS[op].result
    if result == "whole":
        return _result_of_ints(op, kinds)
    if result == "truth":
        return "bool"
    floats = [kind for kind in kinds if kind not in INTS]
    if result == "same" and not floats:
        alone = op in ("abs", "square", "sign", "stop_gradient") and kinds[0] in UNSIGNED
        return kinds[0] if alone else _result_of_ints(op, kinds)
    narrow = "float32" in floats and {*kinds} <= {"float32", *TINY} - {"uint16"}
    return "float32" if narrow else "float64"


def _differs(op: str, kinds: list[str]) -> bool:
    """Whether NumPy's function gives ints another dtype than Numba's operator."""
    if not {*kinds} <= {*INTS}:
        return False
    if op in ("<<", ">>"):
        return not {*kinds} <= {*SIGNED}
    if op in _NARROW:
        return {*kinds} != {"uint64"} and ("int64" not in kinds or "uint64" in kinds)
    return op in FUNCTIONS and FUNCTIONS[op].result == "float" and op != "/" and {*kinds} <= {*TINY}


def _check(body: Body) -> None:
    names = body.names

    def refuse(construct: str, node: Node, way: str) -> NoReturn:
        raise KernelError(construct, *body.standing.of(node.line), way)

    def require_int(operand: str, what: str, node: Node) -> None:
        if of(operand, names) not in INTS:
            refuse(f"{what} that is a float", node, "Make it an int, by `//` or int(...).")

    for name, dtype in body.scalars.items():
        if dtype in UNSIGNED and names[name] not in UNSIGNED:
            raise KernelError(
                f"an unsigned int as the argument `{name}`, which holds another number later",
                body.file,
                body.line,
                "Use another name for it.",
            )
    for one, other in body.same:
        if body.arrays[one].dtype != body.arrays[other].dtype:
            raise KernelError(
                "arrays of two dtypes under one name",
                body.file,
                body.line,
                "Use a separate name for each.",
            )
    for node in walk(body.nodes):
        if isinstance(node, ForRange):
            for bound in (node.low, node.high):
                require_int(bound, "a bound of a range", node)
                if of(bound, names) in UNSIGNED:
                    refuse("a range of unsigned ints", node, "Take np.int64(...) of its bounds.")
            if names[node.name] not in INTS:
                refuse("a loop over a name that holds a float elsewhere", node, "Rename it.")
        elif isinstance(node, Alloc):
            if node.size:
                require_int(node.size, "an array's axis", node)
        elif isinstance(node, Assign):
            for operand in node.args:
                if not of(operand, names):
                    refuse("a name that is read and never assigned", node, "Assign it first.")
            mixed = node.out and (names[node.out] in UNSIGNED) != (
                _result(node, names, body.arrays) in UNSIGNED
            )
            if mixed and node.op != "start":
                axis = node.out.endswith(("_n0", "_n1", "_n2"))
                refuse(
                    "an array's axis that is unsigned"
                    if axis
                    else "an unsigned int under a name that holds another number elsewhere",
                    node,
                    "Use np.int64(...) of it, or another name.",
                )
            if node.op == "negative" and of(node.args[0], names) in ("uint8", "uint16", "uint32"):
                refuse("minus an unsigned int", node, "Take np.int64(...) of it.")
            if node.dtype == "ufunc" and _differs(node.op, [of(a, names) for a in node.args]):
                refuse(
                    "arithmetic of NumPy's with ints below int64, or without a sign",
                    node,
                    "Use .astype(np.int64), or np.int64(...) of numbers.",
                )
            if node.op in ("load", *WRITES, "wrap"):
                require_int(node.args[0], "an index", node)
            if node.op in ("check", "wrap") and of(node.args[0], names) == "bool":
                refuse("an index that is a bool", node, "Use np.where, or an int.")
            elif node.op in ("&", "|", "^", "<<", ">>"):
                for operand in node.args:
                    require_int(operand, f"an operand of `{node.op}`", node)
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
                if node.rule is None and not node.functions.body(node, body).single:
                    name = node.function.__name__
                    refuse(
                        f"a call of `{name}` that gives an array or several results",
                        node,
                        ONE_NUMBER.format(name),
                    )
                refuse(
                    "recursion whose result has no dtype",
                    node,
                    "Return a number on a path without calls.",
                )
        elif isinstance(node, Branch | While):
            if not of(node.test, names):
                refuse("a condition that is never assigned", node, "Assign it first.")
