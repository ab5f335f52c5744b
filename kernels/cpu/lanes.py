"""Vectors in memory that hold the same number of several matrices, one matrix a lane.

Each function takes addresses of such vectors, of `BYTES` bytes, on cache lines. Differences
between lanes (such as the pivot row of a matrix) are selects between two values, not branches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, Values

BYTES = 64
IR = {"float32": ir.FloatType(), "float64": ir.DoubleType()}
ITEM = {"float32": 4, "float64": 8}


class LaneOps(NamedTuple):
    """The operations on vectors of a dtype."""

    subtract: Any  # (target, factor, x): target -= factor * x
    divide: Any  # (target, x): target /= x
    divide_unless_0: Any  # (target, x): the same, unchanged where x is 0
    set_best: Any  # (best, place, x, k): best = x, place = k
    update_best: Any  # (best, place, x, k): the same where x has the larger absolute value
    any_at: Any  # (place, k): whether place is k in a lane
    swap_at: Any  # (x, y, place, k): exchange x and y where place is k
    swap: Any  # (x, y): exchange them


def _operation(count: int, result: Type, emit: Callable[..., Any]) -> Any:
    """An intrinsic of ``count`` ints, whose code ``emit`` writes."""
    arguments = [f"a{k}" for k in range(count)]

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        value = emit(builder, *args)
        return context.get_dummy_value() if result is types.void else value

    def infer_type(*_: object) -> Any:
        return result(*[types.intp] * count), codegen

    # Numba takes the number of parameters from the function.
    namespace: dict[str, Any] = {"typed": infer_type}
    listed = ", ".join(arguments)
    exec(f"def operation(typingctx, {listed}):\n    return typed({listed})", namespace)
    return intrinsic(namespace["operation"])


def lanes(dtype: str) -> LaneOps:
    """The functions for vectors of float32 or float64."""
    bits, kind = 8 * ITEM[dtype], IR[dtype]
    count = BYTES // ITEM[dtype]
    vector = ir.VectorType(kind, count)

    def at(builder: Builder, address: ir.Value) -> Any:
        return builder.inttoptr(address, vector.as_pointer())

    def load(builder: Builder, address: ir.Value) -> Any:
        value = builder.load(at(builder, address))
        value.align = BYTES
        return value

    def store(builder: Builder, value: ir.Value, address: ir.Value) -> None:
        builder.store(value, at(builder, address)).align = BYTES

    def function(builder: Builder, name: str, parameters: int) -> Any:
        name = f"llvm.{name}.v{count}f{bits}"
        declared = builder.module.globals.get(name)
        kind = ir.FunctionType(vector, [vector] * parameters)
        return declared or ir.Function(builder.module, kind, name)

    def broadcast(builder: Builder, k: ir.Value) -> Any:
        """An int in all lanes."""
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), builder.sitofp(k, kind), ir.IntType(32)(0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
        return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)

    def subtract(builder: Builder, target: ir.Value, factor: ir.Value, x: ir.Value) -> None:
        negated = builder.fneg(load(builder, factor))
        fused = function(builder, "fmuladd", 3)
        operands = [negated, load(builder, x), load(builder, target)]
        store(builder, builder.call(fused, operands), target)

    def divide(builder: Builder, target: ir.Value, x: ir.Value) -> None:
        store(builder, builder.fdiv(load(builder, target), load(builder, x)), target)

    def divide_unless_0(builder: Builder, target: ir.Value, x: ir.Value) -> None:
        old_value, divisor = load(builder, target), load(builder, x)
        is_zero = builder.fcmp_ordered("==", divisor, ir.Constant(vector, None))
        store(builder, builder.select(is_zero, old_value, builder.fdiv(old_value, divisor)), target)

    def set_best(
        builder: Builder, best: ir.Value, place: ir.Value, x: ir.Value, k: ir.Value
    ) -> None:
        store(builder, load(builder, x), best)
        store(builder, broadcast(builder, k), place)

    def update_best(
        builder: Builder, best: ir.Value, place: ir.Value, x: ir.Value, k: ir.Value
    ) -> None:
        value, old_value = load(builder, x), load(builder, best)
        absolute = function(builder, "fabs", 1)
        magnitudes = [builder.call(absolute, [value]) for value in (value, old_value)]
        is_larger = builder.fcmp_ordered(">", *magnitudes)
        store(builder, builder.select(is_larger, value, old_value), best)
        store(
            builder, builder.select(is_larger, broadcast(builder, k), load(builder, place)), place
        )

    def is_at(builder: Builder, place: ir.Value, k: ir.Value) -> Any:
        return builder.fcmp_ordered("==", load(builder, place), broadcast(builder, k))

    def any_at(builder: Builder, place: ir.Value, k: ir.Value) -> Any:
        bits = builder.bitcast(is_at(builder, place, k), ir.IntType(count))
        return builder.icmp_unsigned("!=", bits, ir.IntType(count)(0))

    def swap_at(builder: Builder, x: ir.Value, y: ir.Value, place: ir.Value, k: ir.Value) -> None:
        is_chosen, first, second = is_at(builder, place, k), load(builder, x), load(builder, y)
        store(builder, builder.select(is_chosen, second, first), x)
        store(builder, builder.select(is_chosen, first, second), y)

    def swap(builder: Builder, x: ir.Value, y: ir.Value) -> None:
        first, second = load(builder, x), load(builder, y)
        store(builder, second, x)
        store(builder, first, y)

    return LaneOps(
        _operation(3, types.void, subtract),
        _operation(2, types.void, divide),
        _operation(2, types.void, divide_unless_0),
        _operation(4, types.void, set_best),
        _operation(4, types.void, update_best),
        _operation(2, types.boolean, any_at),
        _operation(4, types.void, swap_at),
        _operation(2, types.void, swap),
    )
