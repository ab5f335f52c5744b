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
DTYPE_NAMES = (*INTS, "float32", "float64")  # of numbers and arrays, in the order of error messages
SIZES = {dtype.name: dtype.size for dtype in DTYPES}
EXACT_IN_FLOAT32 = ("bool", "int8", "int16", "uint8", "uint16")  # float32 holds all of them
_CONVERTED = ("int8", "int16", "int32", *UNSIGNED)  # dtypes that Numba widens, or that are unsigned

# Operations that Numba does in 64 bits. So that Python does too, `_widen` casts the operands.
_WIDENED_OPS = ("+", "-", "*", "//", "%", "**", "&", "|", "^", "<<", ">>", "negative")
# Operations that NumPy does in the dtype of the operands.
_SAME_DTYPE_OPS = ("+", "-", "*", "//", "%", "**", "negative", "square", "fmax", "fmin")

# Operations that return one of their operands unchanged: no arithmetic, so no dtype to choose.
_SELECTING = ("max", "min", "maximum", "minimum", "where", "copy")

_START_TEXTS = {
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
    for dtype, other in ((x, y), (y, x)):
        if dtype == "float32" and other in EXACT_IN_FLOAT32:
            return dtype
    if x not in INTS or y not in INTS:
        return "float64"
    if "bool" in (x, y) or (x in UNSIGNED) == (y in UNSIGNED):
        return max(x, y, key=INTS.index)
    unsigned, signed = (x, y) if x in UNSIGNED else (y, x)
    index = UNSIGNED.index(unsigned) + 2  # the first signed dtype that holds them
    return SIGNED[max(index, SIGNED.index(signed))] if index < len(SIGNED) else "float64"


def infer(body: Body) -> None:
    """Fill in ``body.names``: the dtype of each name that is a number."""
    bodies = [body] if body.functions is None else body.functions.settle(body, infer_names)
    for function_body in bodies:
        finish(function_body)


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
        previous = dict(names), [array.dtype for array in derived.values()]
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
        for name_1, name_2 in body.same:
            for name, partner in ((name_1, name_2), (name_2, name_1)):
                if name in derived:
                    derived[name].dtype = common_dtype(
                        derived[name].dtype, body.arrays[partner].dtype
                    )
        if (names, [array.dtype for array in derived.values()]) == previous:
            break


def finish(body: Body) -> None:
    """Check the inferred dtypes, and fill in the texts that depend on them."""
    _check(body)
    for node in walk(body.nodes):
        if isinstance(node, Assign) and node.op == "start":
            node.text = _START_TEXTS.get(body.names[node.out], "{0}")
        elif (
            isinstance(node, Assign) and node.op == "weak" and of(node.args[0], body.names) in INTS
        ):
            node.text = _START_TEXTS.get(body.names[node.out], "{0}")
        elif isinstance(node, Assign) and node.dtype == "real":
            node.text = "np.float64({0})" if of(node.args[0], body.names) in INTS else "{0}"
        elif isinstance(node, Assign) and node.op == "beyond":
            node.text = f"{{0}} + {{1}} * {SIZES[body.arrays[node.dtype].dtype]}"
        elif isinstance(node, Assign) and node.text:
            _widen(node, [of(a, body.names) for a in node.args])


def _widen(step: Assign, dtypes: list[str]) -> None:
    """Make Numba's conversions of ints explicit, so that Python computes the same."""
    if "uint16" in dtypes and "float32" in dtypes and step.op not in _SELECTING:
        for k, operand_dtype in enumerate(dtypes):  # Numba computes in float64, NumPy in float32
            if operand_dtype == "uint16":
                step.text = step.text.replace(f"{{{k}}}", f"np.float64({{{k}}})")
    if not {*dtypes} & {*_CONVERTED} or not {*dtypes} <= {*INTS}:
        return
    if step.op in ("wrap", "cast") and dtypes[0] in UNSIGNED:
        texts = {"wrap": "np.int64({0})", "castint64": "np.int64({0})", "castint": "{0}"}
        step.text = texts.get(step.op + step.dtype, step.text)
    elif step.op in _WIDENED_OPS:
        dtype = _result_of_ints(step.op, dtypes)
        for k, operand_dtype in enumerate(dtypes):
            if dtype == "uint64" or (dtype == "int64" and operand_dtype not in ("bool", "int64")):
                step.text = step.text.replace(f"{{{k}}}", f"np.{dtype}({{{k}}})")


def _result_of_ints(op: str, dtypes: list[str]) -> str:
    """Return the dtype of an operation of ints: uint64 if all are unsigned, otherwise int64."""
    if op in ("&", "|", "^") and dtypes == ["bool", "bool"]:
        return "bool"
    result_dtypes = dtypes[:1] if op in ("<<", ">>") else dtypes
    return "uint64" if {*result_dtypes} <= {*UNSIGNED} else "int64"


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
        keeps_unsigned = op in ("abs", "square", "sign", "stop_gradient") and kinds[0] in UNSIGNED
        return kinds[0] if keeps_unsigned else _result_of_ints(op, kinds)
    is_float32 = "float32" in floats and {*kinds} <= {"float32", *EXACT_IN_FLOAT32} - {"uint16"}
    return "float32" if is_float32 else "float64"


def _differs(op: str, kinds: list[str]) -> bool:
    """Whether NumPy's function gives ints another dtype than Numba's operator."""
    if not {*kinds} <= {*INTS}:
        return False
    if op in ("<<", ">>"):
        return not {*kinds} <= {*SIGNED}
    if op in _SAME_DTYPE_OPS:
        return {*kinds} != {"uint64"} and ("int64" not in kinds or "uint64" in kinds)
    return (
        op in FUNCTIONS
        and FUNCTIONS[op].result == "float"
        and op != "/"
        and {*kinds} <= {*EXACT_IN_FLOAT32}
    )


def _check(body: Body) -> None:
    names = body.names

    def refuse(construct: str, node: Node, advice: str) -> NoReturn:
        raise KernelError(construct, *body.standing.of(node.line), advice)

    def require_int(operand: str, description: str, node: Node) -> None:
        if of(operand, names) not in INTS:
            refuse(f"{description} that is a float", node, "Make it an int, by `//` or int(...).")

    for name, dtype in body.scalars.items():
        if dtype in UNSIGNED and names[name] not in UNSIGNED:
            raise KernelError(
                f"an unsigned int as the argument `{name}`, which holds another number later",
                body.file,
                body.line,
                "Use another name for it.",
            )
    for name_1, name_2 in body.same:
        if body.arrays[name_1].dtype != body.arrays[name_2].dtype:
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
            mixes_signs = node.out and (names[node.out] in UNSIGNED) != (
                _result(node, names, body.arrays) in UNSIGNED
            )
            if mixes_signs and node.op != "start":
                is_axis = node.out.endswith(("_n0", "_n1", "_n2"))
                refuse(
                    "an array's axis that is unsigned"
                    if is_axis
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
                value, element_dtype = of(node.args[1], names), body.arrays[node.array].dtype
                if value not in INTS and element_dtype in INTS:
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
