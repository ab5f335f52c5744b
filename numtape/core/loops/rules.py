"""The functions and operators that kernels know, with the derivatives of the op records.

The rule of a record runs on placeholders, as for every tape. The rows that it records become text,
row by row, from the bodies of their ops. So there is one table of derivatives.
"""

from __future__ import annotations

import ast
import copy
import importlib
import math
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compile.kernel_sources import tree
from ..derive.transpose import run_rule
from ..log.log import LEAF_CODE, Log
from ..log.op import CODES, RULE
from ..ops import elementwise as ops, special
from ..values.dtypes import bool_, float64
from ..values.spec import intern

if TYPE_CHECKING:
    from ..log.record import Recorder


class RuleFunction(NamedTuple):
    """A function of numbers.

    Attributes:
      text: The expression that computes it, with ``{0}`` for the first operand.
      op: The record that has its derivative; None if its operands may not be active.
      result: "float", "same" for the common dtype of the operands, "whole" for int64, or "truth"
        for bool.
      cheap: Whether the reverse sweep recomputes it instead of loading it.
    """

    text: str
    op: Any = None
    result: str = "float"
    cheap: bool = False


def _math_function(name: str, recorder: Recorder) -> RuleFunction:
    return RuleFunction(f"math.{name}({{0}})", recorder.op)


FUNCTIONS: dict[str, RuleFunction] = {
    name: _math_function(name, getattr(ops, name))
    for name in (
        "exp",
        "expm1",
        "log",
        "log1p",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "erfc",
    )
}
FUNCTIONS |= {
    "+": RuleFunction("{0} + {1}", ops.add.op, "same", True),
    "-": RuleFunction("{0} - {1}", ops.subtract.op, "same", True),
    "*": RuleFunction("{0} * {1}", ops.multiply.op, "same", True),
    "/": RuleFunction("{0} / {1}", ops.real_divide.op),
    "//": RuleFunction("{0} // {1}", ops.floor_divide_float.op, "same"),
    "%": RuleFunction("{0} % {1}", ops.floor_mod_float.op, "same"),
    "**": RuleFunction("{0} ** {1}", ops.pow_float.op, "same"),
    "math.pow": RuleFunction("math.pow({0}, {1})", ops.pow_float.op),
    "negative": RuleFunction("-{0}", ops.negative.op, "same", True),
    "copy": RuleFunction("{0}", ops.stop_gradient.op, "same", True),
    "stop_gradient": RuleFunction("{0}", ops.stop_gradient.op, "same", True),
    "abs": RuleFunction("abs({0})", ops.abs_.op, "same", True),
    "fabs": RuleFunction("math.fabs({0})", ops.abs_.op, cheap=True),
    "max": RuleFunction("max({0}, {1})", ops.maximum.op, "same", True),
    "min": RuleFunction("min({0}, {1})", ops.minimum.op, "same", True),
    "maximum": RuleFunction(
        "({0} if {0} >= {1} else {1} if {1} > {0} else {0} + {1})", ops.maximum.op, "same", True
    ),
    "minimum": RuleFunction(
        "({0} if {0} <= {1} else {1} if {1} < {0} else {0} + {1})", ops.minimum.op, "same", True
    ),
    "square": RuleFunction("{0} * {0}", ops.square.op, "same", True),
    "atan2": RuleFunction("math.atan2({0}, {1})", ops.atan2.op),
    "hypot": RuleFunction("math.hypot({0}, {1})", ops.hypot.op),
    "floor": RuleFunction("math.floor({0})", ops.floor.op, "whole"),
    "ceil": RuleFunction("math.ceil({0})", ops.ceil.op, "whole"),
    "np.floor": RuleFunction("np.floor({0})", ops.floor.op),
    "np.ceil": RuleFunction("np.ceil({0})", ops.ceil.op),
    "where": RuleFunction("({1} if {0} else {2})", ops.SELECT, "same", True),
    "isnan": RuleFunction("math.isnan({0})", None, "truth"),
    "isinf": RuleFunction("math.isinf({0})", None, "truth"),
    "isfinite": RuleFunction("math.isfinite({0})", None, "truth"),
    "lgamma": RuleFunction("math.lgamma({0})", special.lgamma.op),
    "gamma": RuleFunction("math.gamma({0})", special.gamma),
    "np.fmod": RuleFunction("np.fmod({0}, {1})", special.fmod),
    "copysign": RuleFunction("math.copysign({0}, {1})", special.copysign),
    "cbrt": RuleFunction("np.cbrt({0})", special.cbrt),
    "exp2": RuleFunction("math.exp2({0})", special.exp2),
    "log2": RuleFunction("math.log2({0})", special.log2),
    "log10": RuleFunction("math.log10({0})", special.log10),
    "degrees": RuleFunction("math.degrees({0})", special.degrees),
    "radians": RuleFunction("math.radians({0})", special.radians),
    "logaddexp": RuleFunction("np.logaddexp({0}, {1})", special.logaddexp),
    "fmax": RuleFunction("np.fmax({0}, {1})", special.fmax, "same"),
    "fmin": RuleFunction("np.fmin({0}, {1})", special.fmax, "same"),
    "rint": RuleFunction("np.rint({0})", ops.rint.op),
    "np.trunc": RuleFunction("np.trunc({0})", ops.truncate_divide_float.op),
    "trunc": RuleFunction("math.trunc({0})", ops.truncate_divide_float.op, "whole"),
    "sign": RuleFunction("np.sign({0})", ops.sign.op, "same"),
}

_NUMPY = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
    "absolute": "abs",
    "abs": "abs",
    "fabs": "fabs",
    "negative": "negative",
    "power": "**",
    "floor": "np.floor",
    "ceil": "np.ceil",
    "maximum": "maximum",
    "minimum": "minimum",
    "square": "square",
    "hypot": "hypot",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "isnan": "isnan",
    "isinf": "isinf",
    "isfinite": "isfinite",
    "fmod": "np.fmod",
    "copysign": "copysign",
    "true_divide": "/",
    "floor_divide": "//",
    "mod": "%",
    "remainder": "%",
    "rad2deg": "degrees",
    "deg2rad": "radians",
    "trunc": "np.trunc",
}
_NUMPY |= {
    name: name
    for name in (
        "exp",
        "expm1",
        "log",
        "log1p",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "exp2",
        "log2",
        "log10",
        "cbrt",
        "degrees",
        "radians",
        "logaddexp",
        "fmax",
        "fmin",
        "rint",
        "sign",
    )
}

# Functions that users call, and their names in `FUNCTIONS`.
CALLED: dict[Any, str] = {abs: "abs", max: "max", min: "min", pow: "**", math.pow: "math.pow"}
CALLED[ops.stop_gradient] = "stop_gradient"
CALLED |= {
    getattr(math, name): name
    for name in FUNCTIONS
    if hasattr(math, name) and name not in ("fmax", "fmin")  # new in Python 3.15; not in Numba
}
CALLED |= {getattr(np, own): name for own, name in _NUMPY.items()}

CALLED[np.where] = "where"

ARITY = {
    name: 3 if "{2}" in function.text else 2 if "{1}" in function.text else 1
    for name, function in FUNCTIONS.items()
}


def differentiable(name: str) -> bool:
    """Whether active operands are allowed: the derivative is known, or zero."""
    return FUNCTIONS[name].op is not None


def operands(name: str) -> str:
    """Return the names of a function's operands in its derivative."""
    return ("x", "xy", "cxy")[ARITY[name] - 1]


@cache
def derivative(name: str) -> tuple[str, ...]:
    """Return the adjoints of a function's operands, as text.

    The text uses ``g`` for the incoming adjoint, ``z`` for the result, and ``x`` and ``y`` for the
    operands (``c``, ``x`` and ``y`` if there are three). It is "" for an operand without gradient.
    """
    count = ARITY[name]
    if name == "copy":
        return ("g",)
    op = FUNCTIONS[name].op
    if op.gradient != RULE:
        return ("",) * count
    spec = intern((), float64)
    specs = [intern((), bool_), spec, spec] if count == 3 else [spec] * count
    rows_of_rule = None
    while rows_of_rule is None:
        rows_of_rule = run_rule(op, {}, spec, specs, [True] * count)
    scratch, gradients = rows_of_rule
    leaf_names = ("g", "z", *operands(name))
    expressions: dict[int, ast.expr] = {}
    return tuple(
        "" if tensor is None else ast.unparse(_text(scratch, tensor._row, leaf_names, expressions))
        for tensor in gradients
    )


# Ops that the text calls by name.
_CALLED_BY_NAME = {
    "Hypot": "math.hypot",
    "Digamma": "digamma",
    "TanhSlope": "tanh_slope",
    "SigmoidSlope": "sigmoid_slope",
    "RatioOrZero": "ratio_or_zero",
    "DivisorAdjoint": "divisor_adjoint",
}


def _text(
    scratch: Log, row: int, leaf_names: tuple[str, ...], expressions: dict[int, ast.expr]
) -> ast.expr:
    """Convert a row to an expression."""
    arity = CODES.arity[scratch.code[row]]
    if row < len(leaf_names) and scratch.code[row] == LEAF_CODE and row not in expressions:
        expressions[row] = ast.Name(leaf_names[row])
    if row in expressions:
        return expressions[row]
    op, _ = CODES.entries[scratch.code[row]]
    if scratch.code[row] == LEAF_CODE:
        (value,) = struct.unpack("d", struct.pack("q", int(scratch.columns.cell[row])))
        expression: ast.expr = ast.Constant(value)
    else:
        columns = (scratch.a, scratch.b, scratch.c)[:arity]
        operands = [_text(scratch, column[row], leaf_names, expressions) for column in columns]
        if op.name in _CALLED_BY_NAME:
            expression = ast.Call(tree(_CALLED_BY_NAME[op.name], "eval").body, operands, [])
        else:
            parsed = importlib.import_module("numtape.kernels.body").parse_expression
            expression = _Substitution(operands).visit(copy.deepcopy(parsed(op.body))).body
    expressions[row] = expression
    return expression


class _Substitution(ast.NodeTransformer):
    """Substitutes expressions for x, y and z in an op's body, and Python's function names."""

    def __init__(self, operands: list[ast.expr]) -> None:
        self._operands = dict(zip("xyz", operands, strict=False))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._operands.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        assert isinstance(node.func, ast.Name)
        name, operands = node.func.id, [self.visit(x) for x in node.args]
        if name == "select":
            return ast.IfExp(*operands)
        if name == "power":
            return ast.BinOp(operands[0], ast.Pow(), operands[1])
        if name == "absolute":
            return ast.Call(ast.Name("abs"), operands, [])
        if name in ("floor", "ceil", "rint"):
            return ast.Call(ast.Attribute(ast.Name("np"), name), operands, [])
        assert hasattr(math, name), name
        return ast.Call(ast.Attribute(ast.Name("math"), name), operands, [])
