"""Writes loops of floats: lane kernels, and fused ones whose values stay in registers.

They are written as LLVM instructions, with llvmlite alone. The arithmetic is that of the lane
kernels, operation for operation, and nothing is contracted or reordered: the bits are the same.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import ir

from ..body import parse_expression
from ..functions.elementary import ELEMENTARY, LIMITED, QUICK
from ..functions.value import FLOAT32, FLOAT64, Value, wide_vectors

if TYPE_CHECKING:
    from ..annotations import Builder

INT64, INT8, BIT = ir.IntType(64), ir.IntType(8), ir.IntType(1)
OUT_OF_RANGE, STEEP = 1, 2  # a loop returns a sum of these
FORMATS = {"float32": FLOAT32, "float64": FLOAT64}
# The type of a dtype's values in memory.
STORED = {"float32": FLOAT32.number, "float64": FLOAT64.number, "bool": INT8}

_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_ARITHMETIC = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_LOGIC = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}
_INTRINSICS = {
    "sqrt": "llvm.sqrt",
    "floor": "llvm.floor",
    "ceil": "llvm.ceil",
    "rint": "llvm.rint",
    "absolute": "llvm.fabs",
}
NAMES = {*ELEMENTARY, *_INTRINSICS, "select", "cast", "isnan", "isinf", "isfinite", "copysign"}


class LoopStep(NamedTuple):
    """One op of a loop: body, operands (indices of values), their dtypes, the result's dtype."""

    body: str
    operands: tuple[int, ...]
    dtypes: tuple[str, ...]
    dtype: str


class Loop(NamedTuple):
    """A loop. Its values are the loads, followed by the results of the steps.

    Attributes:
      loads: The dtype of each operand from outside, and whether a single element is broadcast.
      steps: The ops.
      stores: Indices of the values to store.
    """

    loads: tuple[tuple[str, bool], ...]
    steps: tuple[LoopStep, ...]
    stores: tuple[int, ...]


@cache
def fits(body: str, dtypes: tuple[str, ...], dtype: str) -> bool:
    """Whether a step can be part of a loop."""
    if not {*dtypes, dtype} <= STORED.keys():
        return False
    for node in ast.walk(parse_expression(body)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") not in NAMES:
            return False
        if isinstance(node, ast.BinOp) and type(node.op) not in (*_ARITHMETIC, *_LOGIC):
            return False
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.USub):
            return False
    return True


class _Writer(ast.NodeVisitor):
    """Writes the instructions of one body.

    Attributes:
      limited: Conditions under which an argument is out of range for a function.
      steep: Conditions under which the quick version of a function is inaccurate.
    """

    def __init__(
        self, builder: Builder, names: dict[str, Any], literal: str, result: str, version: str
    ) -> None:
        self.builder, self.names, self.literal, self.result = builder, names, literal, result
        self.version = version  # "quick", "whole" (accurate), or "far" (for any argument, and slow)
        self.limited: list[Any] = []
        self.steep: list[Any] = []

    def visit_Expression(self, node: ast.Expression) -> Any:
        return self.visit(node.body)

    def visit_Name(self, node: ast.Name) -> Any:
        return self.names[node.id]

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bool) or self.literal == "bool":
            return ir.Constant(BIT, int(bool(node.value)))
        return ir.Constant(STORED[self.literal], float(node.value))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        x, y = self.visit(node.left), self.visit(node.right)
        names = _LOGIC if x.type == BIT else _ARITHMETIC
        return getattr(self.builder, names[type(node.op)])(x, y)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        x = self.visit(node.operand)
        return self.builder.fsub(ir.Constant(x.type, -0.0), x)

    def visit_Compare(self, node: ast.Compare) -> Any:
        x, y = self.visit(node.left), self.visit(node.comparators[0])
        sign = _COMPARED[type(node.ops[0])]
        if x.type == BIT:
            return self.builder.icmp_unsigned(sign, x, y)
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, x, y)

    def visit_Call(self, node: ast.Call) -> Any:
        assert isinstance(node.func, ast.Name)
        name, args = node.func.id, [self.visit(arg) for arg in node.args]
        x, builder = args[0], self.builder
        if name == "select":
            return builder.select(*args)
        if name == "cast":
            return self._cast(x)
        if name == "isnan":
            return builder.fcmp_unordered("uno", x, x)
        if name == "isfinite":
            difference = builder.fsub(x, x)
            return builder.fcmp_ordered("ord", difference, difference)
        if name == "isinf":
            ends = [ir.Constant(x.type, sign * float("inf")) for sign in (1, -1)]
            return builder.or_(*(builder.fcmp_ordered("==", x, end) for end in ends))
        format = FLOAT32 if x.type == FLOAT32.number else FLOAT64
        values = [Value(builder, arg, format) for arg in args]
        if name == "copysign":
            return values[0].call("llvm.copysign", values[1]).ir
        if name in _INTRINSICS:
            return values[0].call(_INTRINSICS[name]).ir
        index = format is FLOAT64
        if name in QUICK and self.version == "quick":
            value, steep = QUICK[name](*values)
            self.steep.append(steep.ir)
            return value.ir
        if name in LIMITED and self.version == "far":
            return values[0].call(f"llvm.{name}").ir
        if name in LIMITED:
            self.limited.append(ELEMENTARY["beyond"][index](*values).ir)
        return ELEMENTARY[name][index](*values).ir

    def _cast(self, x: ir.Value) -> Any:
        kind = STORED[self.result]
        if x.type == kind or self.result == "bool":
            return x
        if x.type == BIT:
            return self.builder.uitofp(x, kind)
        wider = kind == FLOAT64.number
        return (self.builder.fpext if wider else self.builder.fptrunc)(x, kind)


def _write_element(
    loop: Loop, builder: Builder, values: list[Any], version: str = "quick"
) -> tuple[list[Any], Any, Any]:
    """Write all steps for one element, whose loads are ``values``.

    Returns all values, whether an argument is out of range, and whether a value is too steep for
    the quick versions.
    """
    values, beyond, steep = list(values), BIT(0), BIT(0)
    for step in loop.steps:
        names = dict(zip("xyz", [values[k] for k in step.operands], strict=False))
        writer = _Writer(builder, names, step.dtypes[-1], step.dtype, version)
        values.append(writer.visit(parse_expression(step.body)))
        for condition in writer.limited:
            beyond = builder.or_(beyond, condition)
        for condition in writer.steep:
            steep = builder.or_(steep, condition)
    return values, beyond, steep


def _called_functions(loop: Loop) -> set[str]:
    """The functions that the steps call."""
    return {
        getattr(x.func, "id", "")
        for step in loop.steps
        for x in ast.walk(parse_expression(step.body))
        if isinstance(x, ast.Call)
    }


def _load(builder: Builder, pointer: ir.Value, dtype: str) -> Any:
    value = builder.load(pointer)
    return builder.icmp_unsigned("!=", value, INT8(0)) if dtype == "bool" else value


def _store(builder: Builder, value: ir.Value, pointer: ir.Value) -> None:
    builder.store(builder.zext(value, INT8) if value.type == BIT else value, pointer)


def _value_dtype(loop: Loop, k: int) -> str:
    return loop.loads[k][0] if k < len(loop.loads) else loop.steps[k - len(loop.loads)].dtype


def _loop_function(module: ir.Module, name: str, loop: Loop) -> Any:
    """A function of pointers to operands and results, and the number of elements."""
    kinds = [STORED[dtype].as_pointer() for dtype, _ in loop.loads]
    kinds += [STORED[_value_dtype(loop, k)].as_pointer() for k in loop.stores]
    function = ir.Function(module, ir.FunctionType(INT64, [*kinds, INT64]), name)
    function.linkage = "internal"
    for pointer in function.args[:-1]:
        pointer.add_attribute("noalias")  # stores do not overlap loads
    return function


def write_kernel(module: ir.Module, symbol: str, step: LoopStep) -> None:
    """Write the lane kernel of an op: ``symbol(out, x, y, z, n)``, four addresses and a number.

    A second loop recomputes elements that are out of range for a function, or all elements if one
    is too steep for the quick version: a branch in the first loop would prevent vectorization.
    """
    loop = Loop(tuple((dtype, False) for dtype in step.dtypes), (step,), (len(step.dtypes),))
    body = _loop_function(module, f"{symbol}_loop", loop)
    functions = _called_functions(loop)
    entry = ir.Function(module, ir.FunctionType(INT64, [INT64] * 5), symbol)
    if functions & (ELEMENTARY.keys() - QUICK.keys()):
        wide_vectors(body)
        wide_vectors(entry)  # the loop is inlined into it
    _write_loop(body, loop)
    builder = ir.IRBuilder(entry.append_basic_block())
    out, *operands = entry.args[:4]
    addresses = [*operands[: len(step.dtypes)], out]
    kinds = body.type.pointee.args
    pointers = [builder.inttoptr(x, kind) for x, kind in zip(addresses, kinds, strict=False)]
    flags = builder.call(body, [*pointers, entry.args[4]])
    if functions & QUICK.keys():
        _recompute_if_steep(
            builder, flags, _full_loop(module, symbol, loop), [*pointers, entry.args[4]]
        )
    if functions & {*LIMITED}:
        far_loop = _loop_function(module, f"{symbol}_far", loop)
        far_loop.attributes.add("noinline")
        _write_far_loop(far_loop, loop)
        beyond = builder.and_(flags, INT64(OUT_OF_RANGE))
        with builder.if_then(builder.icmp_unsigned("!=", beyond, INT64(0)), likely=False):
            builder.call(far_loop, [*pointers, entry.args[4]])
    builder.ret(INT64(0))


def _full_loop(module: ir.Module, symbol: str, loop: Loop) -> Any:
    """Write a loop whose functions are accurate for steep elements, too."""
    function = _loop_function(module, f"{symbol}_whole", loop)
    function.attributes.add("noinline")
    wide_vectors(function)
    _write_loop(function, loop, version="whole")
    return function


def _recompute_if_steep(
    builder: Builder, flags: ir.Value, full_loop: ir.Function, args: list[Any]
) -> None:
    """Recompute all elements if the quick loop reported steep ones in ``flags``."""
    steep = builder.and_(flags, INT64(STEEP))
    with builder.if_then(builder.icmp_unsigned("!=", steep, INT64(0)), likely=False):
        builder.call(full_loop, args)


def _write_far_loop(function: ir.Function, loop: Loop) -> None:
    """Write the loop that recomputes elements that are out of range, for at least one element."""
    *pointers, n = function.args
    start, inside, beyond, after, end = (function.append_basic_block() for _ in range(5))
    ir.IRBuilder(start).branch(inside)
    builder = ir.IRBuilder(inside)
    i = builder.phi(INT64)
    values = [
        _load(builder, builder.gep(pointer, [i]), dtype)
        for pointer, (dtype, _) in zip(pointers, loop.loads, strict=False)
    ]
    builder.cbranch(_write_element(loop, builder, values)[1], beyond, after)
    builder = ir.IRBuilder(beyond)
    values, _, _ = _write_element(loop, builder, values, "far")
    _store(builder, values[-1], builder.gep(pointers[-1], [i]))
    builder.branch(after)
    builder = ir.IRBuilder(after)
    next_i = builder.add(i, INT64(1))
    i.add_incoming(INT64(0), start)
    i.add_incoming(next_i, after)
    builder.cbranch(builder.icmp_signed("<", next_i, n), inside, end)
    ir.IRBuilder(end).ret(INT64(0))


def write_lanes(module: ir.Module, symbol: str, loop: Loop) -> None:
    """Write ``symbol(places, block, n)``: the loop over ``n`` elements of a block.

    ``places`` is the address of pairs of int64: the start of each operand or result, and its step
    per block. Returns 1 if an argument is out of range: then all stored values are invalid.
    """
    body = _loop_function(module, f"{symbol}_loop", loop)
    body.attributes.add("noinline")
    wide_vectors(body)
    _write_loop(body, loop, is_interleaved=True)
    kinds = body.type.pointee.args[:-1]
    entry = ir.Function(module, ir.FunctionType(INT64, [INT64] * 3), symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    places = builder.inttoptr(entry.args[0], INT64.as_pointer())
    pointers = []
    for k, kind in enumerate(kinds):
        begin, step = (builder.load(builder.gep(places, [INT64(2 * k + j)])) for j in (0, 1))
        address = builder.add(begin, builder.mul(step, entry.args[1]))
        pointers.append(builder.inttoptr(address, kind))
    flags = builder.call(body, [*pointers, entry.args[2]])
    if _called_functions(loop) & QUICK.keys():
        _recompute_if_steep(
            builder, flags, _full_loop(module, symbol, loop), [*pointers, entry.args[2]]
        )
    builder.ret(builder.and_(flags, INT64(OUT_OF_RANGE)))


def write_scalars(module: ir.Module, symbol: str, loop: Loop) -> None:
    """Write ``symbol(cells, places, n)``: all steps once, for values in cells.

    ``cells`` is the address of the cells, ``places`` that of the rows: four after each ignored
    int64. Its result is as in `write_lanes`.
    """
    function = ir.Function(module, ir.FunctionType(INT64, [INT64] * 3), symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    cells, places = function.args[0], builder.inttoptr(function.args[1], INT64.as_pointer())
    kinds = [dtype for dtype, _ in loop.loads] + [_value_dtype(loop, k) for k in loop.stores]
    pointers = []
    for k, kind in enumerate(kinds):
        row = builder.load(builder.gep(places, [INT64(k + k // 4 + 1)]))
        at = builder.add(cells, builder.shl(row, INT64(3)))
        pointers.append(builder.inttoptr(at, STORED[kind].as_pointer()))
    values = [
        _load(builder, pointer, dtype)
        for pointer, (dtype, _) in zip(pointers, loop.loads, strict=False)
    ]
    results, beyond, steep = _write_element(loop, builder, values)
    stores = list(zip(pointers[len(loop.loads) :], loop.stores, strict=True))
    for pointer, k in stores:
        _store(builder, results[k], pointer)
    if _called_functions(loop) & QUICK.keys():
        with builder.if_then(steep, likely=False):
            accurate, _, _ = _write_element(loop, builder, values, "whole")
            for pointer, k in stores:
                _store(builder, accurate[k], pointer)
    builder.ret(builder.zext(beyond, INT64))


def _interleave(module: ir.Module) -> Any:
    """Make LLVM interleave two vectors of a loop.

    In a polynomial each instruction waits for the previous one, but not for those of the other
    vector: 0.8 to 1.0 of the time. Four vectors would need too many registers.
    """
    metadata = module.add_metadata(["llvm.loop.interleave.count", ir.IntType(32)(2)])
    loop = module.add_metadata([metadata])
    loop.operands = (loop, metadata)  # the first operand is itself, which makes it distinct
    return loop


def _write_loop(
    function: ir.Function, loop: Loop, is_interleaved: bool = False, version: str = "quick"
) -> None:
    """Write a loop that returns `OUT_OF_RANGE` and `STEEP`, added if both hold for any element."""
    *pointers, n = function.args
    start = function.append_basic_block("start")
    inside = function.append_basic_block("inside")
    end = function.append_basic_block("end")
    builder = ir.IRBuilder(start)
    broadcast_values = {
        k: _load(builder, pointers[k], dtype)
        for k, (dtype, is_broadcast) in enumerate(loop.loads)
        if is_broadcast
    }
    builder.cbranch(builder.icmp_signed(">", n, INT64(0)), inside, end)
    builder = ir.IRBuilder(inside)
    i, beyond, steep = builder.phi(INT64), builder.phi(BIT), builder.phi(BIT)
    values = [
        broadcast_values[k]
        if is_broadcast
        else _load(builder, builder.gep(pointers[k], [i]), dtype)
        for k, (dtype, is_broadcast) in enumerate(loop.loads)
    ]
    values, *conditions = _write_element(loop, builder, values, version)
    for pointer, k in zip(pointers[len(loop.loads) :], loop.stores, strict=True):
        _store(builder, values[k], builder.gep(pointer, [i]))
    merged = [builder.or_(*pair) for pair in zip((beyond, steep), conditions, strict=True)]
    next_i = builder.add(i, INT64(1))
    for phi, initial, update in (
        (i, INT64(0), next_i),
        (beyond, BIT(0), merged[0]),
        (steep, BIT(0), merged[1]),
    ):
        phi.add_incoming(initial, start)
        phi.add_incoming(update, inside)
    branch = builder.cbranch(builder.icmp_signed("<", next_i, n), inside, end)
    if is_interleaved:
        branch.set_metadata("llvm.loop", _interleave(function.module))
    builder = ir.IRBuilder(end)
    results = [builder.phi(BIT) for _ in merged]
    for result, value in zip(results, merged, strict=True):
        result.add_incoming(BIT(0), start)
        result.add_incoming(value, inside)
    flags = [
        builder.select(result, INT64(flag), INT64(0))
        for result, flag in zip(results, (OUT_OF_RANGE, STEEP), strict=True)
    ]
    builder.ret(builder.or_(*flags))
