"""Reductions: runs of elements, the partial results of a lane group, and single axes.

The order of additions depends only on positions, so a result does not depend on the width of a
block or the number of threads; nor on the machine, because vectors here have a fixed length.
Each number takes part in a sum of at most some dozens, as in pairwise summation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..constants import PANEL, VECTOR
from ..jit import INT64, POINTERS, jit, stack
from ..numba_internals import cgutils
from ..passes.layout import LINE_ROWS, RUN

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values

GROUP = LINE_ROWS  # rows whose columns are combined in order
LONG_ROW_BYTES = 1024  # reading a group of longer rows by columns is twice as fast
LEVELS = 64  # levels of pairwise combination: enough for any length

# Combine two values x and y, numbers or vectors. NaN stays NaN.


def _add(builder: Builder, real: bool, signed: bool, x: ir.Value, y: ir.Value) -> Any:
    return builder.fadd(x, y) if real else builder.add(x, y)


def _extreme(sign: str) -> Callable[..., Any]:
    def extreme(builder: Builder, real: bool, signed: bool, x: ir.Value, y: ir.Value) -> Any:
        if real:
            compare = builder.fcmp_ordered
        else:
            compare = builder.icmp_signed if signed else builder.icmp_unsigned
        result = builder.select(compare(sign, y, x), y, x)
        if not real:
            return result
        other = builder.select(compare(sign + "=", x, y), x, builder.fadd(x, y))
        return builder.select(compare(sign, y, x), y, other)

    return extreme


COMBINE: dict[str, Any] = {"sum": _add, "max": _extreme(">"), "min": _extreme("<")}


def identity(name: str, real: bool, signed: bool, bits: int) -> Any:
    """The initial value of a reduction. A sum of zeros is 0.0 for any signs, as in NumPy."""
    if name == "sum":
        return 0.0 if real else 0
    low = float("-inf") if real else -(1 << bits - 1) if signed else 0
    high = float("inf") if real else (1 << bits - 1) - 1 if signed else (1 << bits) - 1
    return low if name == "max" else high


def _splat(kind: ir.Type, lanes: int, value: Any) -> ir.Constant:
    return ir.Constant(ir.VectorType(kind, lanes), [ir.Constant(kind, value)] * lanes)


def _shuffle(builder: Builder, x: ir.Value, y: ir.Value, lanes: list[int]) -> Any:
    """The vector of these lanes of ``x`` and ``y``, one after the other."""
    places = ir.VectorType(ir.IntType(32), len(lanes))
    return builder.shuffle_vector(x, y, ir.Constant(places, lanes))


def _lanes_before(builder: Builder, n: ir.Value, lanes: int) -> ir.Value:
    """A mask of the first ``n`` lanes."""
    kind = ir.IntType(8)
    nothing = ir.Constant(ir.VectorType(kind, lanes), ir.Undefined)
    first = builder.insert_element(nothing, builder.trunc(n, kind), ir.IntType(32)(0))
    limits = _shuffle(builder, first, nothing, [0] * lanes)
    return builder.icmp_signed("<", ir.Constant(first.type, list(range(lanes))), limits)


def _load(builder: Builder, x: ir.Value, i: ir.Value, lanes: int, size: int) -> Any:
    """Load a vector of elements from the ``i``-th on. They are ``size`` bytes each."""
    address = builder.gep(x, [i])
    vector = ir.VectorType(x.type.pointee, lanes)
    return builder.load(builder.bitcast(address, vector.as_pointer()), align=size)


def _load_part(
    builder: Builder, x: ir.Value, i: ir.Value, n: ir.Value, other: ir.Constant, size: int
) -> Any:
    """As `_load`, but only the first ``n`` elements are read; the other lanes are ``other``'s."""
    vector, bits = other.type, ir.VectorType(ir.IntType(1), other.type.count)
    name = f"llvm.masked.load.v{vector.count}{vector.element.intrinsic_name}.p0"
    arguments = [vector.as_pointer(), ir.IntType(32), bits, vector]
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(vector, arguments), name)
    address = builder.bitcast(builder.gep(x, [i]), vector.as_pointer())
    mask = _lanes_before(builder, n, vector.count)
    return builder.call(function, [address, ir.IntType(32)(size), mask, other])


def _fold_intrinsic(name: str) -> Any:
    """An intrinsic that combines ``n`` elements from a pointer on, `VECTOR` in parallel."""
    combine = COMBINE[name]

    @intrinsic
    def fold(typingctx: TypingContext, elements: types.CPointer, n: Type) -> Any:
        kind = elements.dtype
        real, signed = isinstance(kind, types.Float), getattr(kind, "signed", True)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            number, size = context.get_data_type(kind), kind.bitwidth // 8
            start = _splat(number, VECTOR, identity(name, real, signed, kind.bitwidth))
            x, n = args

            def combine_pair(u: ir.Value, v: ir.Value) -> Any:
                return combine(builder, real, signed, u, v)

            total = cgutils.alloca_once_value(builder, start)
            zero, step = ir.Constant(n.type, 0), ir.Constant(n.type, VECTOR)
            remainder = builder.srem(n, step)
            vector_part = builder.sub(n, remainder)
            with cgutils.for_range_slice(builder, zero, vector_part, step, n.type, inc=True) as (
                i,
                _,
            ):
                loaded = _load(builder, x, i, VECTOR, size)
                builder.store(combine_pair(builder.load(total), loaded), total)
            with builder.if_then(builder.icmp_signed(">", remainder, zero)):
                loaded = _load_part(builder, x, vector_part, remainder, start, size)
                builder.store(combine_pair(builder.load(total), loaded), total)
            value = builder.load(total)
            width = VECTOR
            while width > 1:
                width //= 2
                low, high = (
                    _shuffle(builder, value, value, list(range(k, k + width))) for k in (0, width)
                )
                value = combine_pair(low, high)
            return builder.extract_element(value, ir.IntType(32)(0))

        return kind(elements, types.intp), codegen

    return fold


def _fold_rows_intrinsic(name: str, lanes: int) -> Any:
    """An intrinsic that reduces `VECTOR` rows of ``n`` elements, which fit ``lanes`` lanes.

    Each row has the bits of `FOLD`: lanes without an element combine to the same numbers. Of the
    last row ``lanes`` elements are read.
    """
    combine = COMBINE[name]

    @intrinsic
    def fold_rows(typingctx: TypingContext, out: types.CPointer, x: types.CPointer, n: Type) -> Any:
        kind = x.dtype
        real, signed = isinstance(kind, types.Float), getattr(kind, "signed", True)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            number, size = context.get_data_type(kind), kind.bitwidth // 8
            initial = identity(name, real, signed, kind.bitwidth)
            out, x, n = args
            mask = _lanes_before(builder, n, lanes)

            def load_row(k: int) -> Any:
                row = _load(builder, x, builder.mul(n, ir.Constant(n.type, k)), lanes, size)
                return builder.select(mask, row, _splat(number, lanes, initial))

            def reduce_rows(first: int, count: int) -> Any:
                """A vector of ``count`` rows, each combined to ``lanes // count`` lanes."""
                if count == 1:
                    return load_row(first)
                half = count // 2
                pair = [reduce_rows(first, half), reduce_rows(first + half, half)]
                width = pair[0].type.count
                joined = [k for k in range(2 * width)]
                rest = 2 * width // count // 2
                low = [k for k in joined if k // rest % 2 == 0]
                high = [k for k in joined if k // rest % 2]
                return combine(
                    builder,
                    real,
                    signed,
                    _shuffle(builder, *pair, low),
                    _shuffle(builder, *pair, high),
                )

            for first in range(0, VECTOR, lanes):
                result = reduce_rows(first, lanes)
                # A sum of negative zeros is 0.0.
                result = combine(builder, real, signed, _splat(number, lanes, initial), result)
                address = builder.gep(out, [ir.Constant(n.type, first)])
                builder.store(
                    result, builder.bitcast(address, result.type.as_pointer()), align=size
                )
            return context.get_dummy_value()

        return types.void(out, x, types.intp), codegen

    return fold_rows


def _fold_lines_intrinsic(name: str, count: int | None) -> Any:
    """An intrinsic that combines ``n`` rows in order, `VECTOR` columns of them, in registers.

    Rows are ``step`` elements apart. If ``count`` is given, n is this number.
    """
    combine = COMBINE[name]

    @intrinsic
    def fold_lines(
        typingctx: TypingContext, out: types.CPointer, x: types.CPointer, step: Type, n: Type
    ) -> Any:
        kind = x.dtype
        real, signed = isinstance(kind, types.Float), getattr(kind, "signed", True)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            number, size = context.get_data_type(kind), kind.bitwidth // 8
            out, x, step, n = args
            start = _splat(number, VECTOR, identity(name, real, signed, kind.bitwidth))
            total = cgutils.alloca_once(builder, start.type)
            builder.store(start, total)

            def add_row(i: ir.Value) -> None:
                row = _load(builder, x, builder.mul(i, step), VECTOR, size)
                builder.store(combine(builder, real, signed, builder.load(total), row), total)

            if count is None:
                with cgutils.for_range(builder, n) as loop:
                    add_row(loop.index)
            else:
                for k in range(count):
                    add_row(ir.Constant(n.type, k))
            result = builder.load(total)
            builder.store(result, builder.bitcast(out, result.type.as_pointer()), align=size)
            return context.get_dummy_value()

        return types.void(out, x, types.intp, types.intp), codegen

    return fold_lines


def _vector_intrinsic(name: str) -> Any:
    """An intrinsic that writes `VECTOR` combined elements of ``x`` and ``y`` to ``out``."""
    combine = COMBINE[name]

    @intrinsic
    def meet_vectors(
        typingctx: TypingContext, out: types.CPointer, x: types.CPointer, y: types.CPointer
    ) -> Any:
        kind = x.dtype
        real, signed = isinstance(kind, types.Float), getattr(kind, "signed", True)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            out, *operands = args
            size, zero = kind.bitwidth // 8, ir.Constant(INT64, 0)
            u, v = (_load(builder, x, zero, VECTOR, size) for x in operands)
            result = combine(builder, real, signed, u, v)
            builder.store(result, builder.bitcast(out, result.type.as_pointer()), align=size)
            return context.get_dummy_value()

        return types.void(out, x, y), codegen

    return meet_vectors


def _pair_intrinsic(name: str) -> Any:
    """An intrinsic that combines two numbers."""
    combine = COMBINE[name]

    @intrinsic
    def meet(typingctx: TypingContext, x: Type, y: Type) -> Any:
        real, signed = isinstance(x, types.Float), getattr(x, "signed", True)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            return combine(builder, real, signed, *args)

        return x(x, x), codegen

    return meet


FOLD = {name: _fold_intrinsic(name) for name in COMBINE}
MEET = {name: _pair_intrinsic(name) for name in COMBINE}


def runs(name: str, dtype: str) -> Any:
    """The kernel ``f(out, x, _, _, n)`` that reduces each run of `RUN` elements to one.

    ``out`` may be ``x``. Without elements it writes one result.
    """
    at, fold, kind = POINTERS[dtype], FOLD[name], getattr(types, dtype)
    real, signed = isinstance(kind, types.Float), getattr(kind, "signed", True)
    neutral, size = identity(name, real, signed, kind.bitwidth), kind.bitwidth // 8

    def kernel(out_: int, x_: int, y_: int, z_: int, n: int) -> None:
        out = at(out_)
        if n == 0:
            out[0] = kind(neutral)
        for k in range((n + RUN - 1) // RUN):
            out[k] = fold(at(x_ + k * RUN * size), min(RUN, n - k * RUN))

    return kernel


def row_reducer(name: str, dtype: str) -> Any:
    """A function ``f(x, n)`` that reduces a row: runs, then pairs of results, of pairs, ..."""
    at, fold, meet, kind = POINTERS[dtype], FOLD[name], MEET[name], getattr(types, dtype)
    size = kind.bitwidth // 8
    memory = stack(8 * LEVELS)

    @jit
    def reduce_row(x_: int, n: int) -> Any:
        if n <= RUN:
            return fold(at(x_), n)
        levels = at(memory())
        depth = 0
        for k in range((n + RUN - 1) // RUN):
            value = fold(at(x_ + k * RUN * size), min(RUN, n - k * RUN))
            low_bits = k
            while low_bits & 1:  # the stack holds a result for each 1 bit of k
                depth -= 1
                value = meet(levels[depth], value)
                low_bits >>= 1
            levels[depth] = value
            depth += 1
        while depth > 1:
            depth -= 1
            levels[depth - 1] = meet(levels[depth - 1], levels[depth])
        return levels[0]

    return reduce_row


def short_rows_reducer(name: str, dtype: str) -> Any:
    """A function ``f(out, x, n, begin, end)`` that reduces rows of n, at most `VECTOR`, elements.

    It reduces `VECTOR` rows at a time, and reads nothing after the rows.
    """
    at, fold = POINTERS[dtype], FOLD[name]
    size = getattr(types, dtype).bitwidth // 8
    fold4, fold8, fold16 = (_fold_rows_intrinsic(name, lanes) for lanes in (4, 8, 16))

    @jit
    def reduce_rows(out_: int, x_: int, n: int, begin: int, end: int) -> None:
        lanes = 4 if n <= 4 else 8 if n <= 8 else 16
        k, last = begin, end - VECTOR - (lanes - 1) // n
        while k <= last:
            out, x = at(out_ + k * size), at(x_ + k * n * size)
            if lanes == 4:
                fold4(out, x, n)
            elif lanes == 8:
                fold8(out, x, n)
            else:
                fold16(out, x, n)
            k += VECTOR
        while k < end:
            at(out_)[k] = fold(at(x_ + k * n * size), n)
            k += 1

    return reduce_rows


# Kernels that reduce ``x`` of shape (outer, n, inner), n > 0, over its middle axis. Their
# parameters are n and inner. One kernel for all shapes would take twice as long to compile.


def rows(name: str, dtype: str) -> Any:
    """The kernel where inner is 1 and n more than `VECTOR`. A unit of work is a row."""
    at, number, row = POINTERS[dtype], POINTERS["int64"], row_reducer(name, dtype)
    size = getattr(types, dtype).bitwidth // 8

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n, out = number(parameters)[0], at(out_)
        for k in range(begin, end):
            out[k] = row(x_ + k * n * size, n)

    return kernel


def short_rows(name: str, dtype: str) -> Any:
    """The kernel where inner is 1 and n at most `VECTOR`. A unit of work is a row."""
    reduce_rows, number = short_rows_reducer(name, dtype), POINTERS["int64"]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        reduce_rows(out_, x_, number(parameters)[0], begin, end)

    return kernel


def columns(name: str, dtype: str) -> Any:
    """The kernel where inner is not 1. A unit is a panel of `PANEL` columns of one outer index."""
    at, meet, kind = POINTERS[dtype], MEET[name], getattr(types, dtype)
    number = POINTERS["int64"]
    real, signed = isinstance(kind, types.Float), getattr(kind, "signed", True)
    start, size = identity(name, real, signed, kind.bitwidth), kind.bitwidth // 8
    memory = stack(LEVELS * PANEL * size)
    totals = stack(VECTOR * VECTOR * size)
    meet_vectors = _vector_intrinsic(name)
    fold_lines, fold_group, copy_vector = (_fold_lines_intrinsic(name, n) for n in (None, GROUP, 1))

    @jit
    def many_columns(out: int, x: int, n: int, inner: int, width: int, levels: int) -> None:
        """Reduce at least `VECTOR` columns: groups of rows, then pairs as in `row_reducer`.

        If ``width`` is no multiple of `VECTOR`, the last vector overlaps the one before. A row of
        partial results has both, so that all of them are aligned.
        """
        last, step = width - VECTOR, (width + VECTOR - 1) // VECTOR * VECTOR * size
        if n <= GROUP:
            for j in range(0, width, VECTOR):
                fold_lines(at(out + min(j, last) * size), at(x + min(j, last) * size), inner, n)
            return
        depth = 0
        for k in range((n + GROUP - 1) // GROUP):
            top, line, rows = levels + depth * step, x + k * GROUP * inner * size, n - k * GROUP
            if rows >= GROUP and inner * size >= LONG_ROW_BYTES:
                for j in range(0, width, VECTOR):
                    fold_group(at(top + j * size), at(line + min(j, last) * size), inner, GROUP)
            else:  # row by row, as they lie in memory
                for i in range(min(rows, GROUP)):
                    for j in range(0, width, VECTOR):
                        total, column = at(top + j * size), at(line + min(j, last) * size)
                        if i == 0:
                            copy_vector(total, column, 0, 1)
                        else:
                            meet_vectors(total, total, column)
                    line += inner * size
            low_bits = k
            while low_bits & 1:
                depth -= 1
                top -= step
                for j in range(top, top + step, VECTOR * size):
                    meet_vectors(at(j), at(j), at(j + step))
                low_bits >>= 1
            depth += 1
        for j in range(0, width, VECTOR):
            top = levels + j * size
            for i in range(depth - 2, -1, -1):  # the last partial results first, as for a row
                low = top + i * step
                meet_vectors(at(low), at(low), at(low + step))
            copy_vector(at(out + min(j, last) * size), at(top), 0, 1)

    @jit
    def few_columns(out_: int, x_: int, n: int, inner: int, levels: int) -> None:
        """Reduce fewer than `VECTOR` columns: several rows as one, whose parts are combined."""
        total_, rows = totals(), VECTOR
        total = at(total_)
        if n >= VECTOR:
            many_columns(total_, x_, n // VECTOR, VECTOR * inner, VECTOR * inner, levels)
        else:
            while rows > n:
                rows //= 2
            for j in range(rows * inner):
                total[j] = meet(kind(start), at(x_)[j])
        rest = at(x_ + n // rows * rows * inner * size)
        for j in range(n % rows * inner):
            total[j] = meet(total[j], rest[j])
        while rows > 1:
            rows //= 2
            for j in range(rows * inner):
                total[j] = meet(total[j], total[j + rows * inner])
        for j in range(inner):
            at(out_)[j] = total[j]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n = number(parameters)[0]
        inner = number(parameters)[1]
        levels = memory()
        panels = (inner + PANEL - 1) // PANEL
        depth = 1  # rows of partial results
        while GROUP << depth < n + GROUP:
            depth += 1
        most = max(1, LEVELS // depth)
        unit = begin
        while unit < end:  # adjacent panels together, so that longer pieces are read
            k, panel = unit // panels, unit % panels
            count = min(most, panels - panel, end - unit)
            # A narrow panel starts in the one before, with the same bits.
            first = max(0, min(panel * PANEL, inner - VECTOR))
            width = min((panel + count) * PANEL, inner) - first
            out, x = out_ + (k * inner + first) * size, x_ + (k * n * inner + first) * size
            if inner >= VECTOR:
                many_columns(out, x, n, inner, width, levels)
            else:
                few_columns(out, x, n, inner, levels)
            unit += count

    return kernel


def lane_rows(name: str, dtype: str) -> Any:
    """The lane kernel ``f(out, x, length, _, n)`` that reduces rows, of ``n`` elements in total."""
    at, row, size = POINTERS[dtype], row_reducer(name, dtype), getattr(types, dtype).bitwidth // 8
    reduce_short_rows = short_rows_reducer(name, dtype)

    def kernel(out_: int, x: int, length: int, z: int, n: int) -> None:
        if length <= VECTOR:
            reduce_short_rows(out_, x, length, 0, n // length)
        else:
            out = at(out_)
            for k in range(n // length):
                out[k] = row(x + k * length * size, length)

    return kernel


def lane_columns(name: str, dtype: str) -> Any:
    """The lane kernel ``f(lines, x, length, start, n)`` that reduces columns as `columns` does.

    It adds ``n`` elements, whole rows of ``length``, to the partial results in ``lines``, one line
    for `GROUP` rows. ``start`` is the number of the first element. If n is 0, the kernel combines
    ``start`` lines, which are in x, to the result; it also overwrites them.
    """
    at, meet, kind = POINTERS[dtype], MEET[name], getattr(types, dtype)
    real, signed = isinstance(kind, types.Float), getattr(kind, "signed", True)
    neutral, size = identity(name, real, signed, kind.bitwidth), kind.bitwidth // 8
    meet_vectors, copy_vector = _vector_intrinsic(name), _fold_lines_intrinsic(name, 1)

    @jit
    def copy_line(out_: int, x_: int, length: int) -> None:
        whole = length // VECTOR * VECTOR
        for j in range(0, whole, VECTOR):
            copy_vector(at(out_ + j * size), at(x_ + j * size), 0, 1)
        out, x = at(out_), at(x_)
        for j in range(whole, length):
            out[j] = meet(kind(neutral), x[j])

    @jit
    def meet_lines(out_: int, x_: int, y_: int, length: int) -> None:
        whole = length // VECTOR * VECTOR
        for j in range(0, whole, VECTOR):
            meet_vectors(at(out_ + j * size), at(x_ + j * size), at(y_ + j * size))
        out, x, y = at(out_), at(x_), at(y_)
        for j in range(whole, length):
            out[j] = meet(x[j], y[j])

    def kernel(out: int, x: int, length: int, start: int, n: int) -> None:
        step = length * size
        for row in range(start // length, (start + n) // length):
            line = out + row // GROUP * step
            if row % GROUP == 0:
                copy_line(line, x, length)
            else:
                meet_lines(line, line, x, length)
            x += step
        if n == 0:
            depth = 0  # the first lines are a stack of results, as in `row_reducer`
            for k in range(start):
                low_bits = k
                line = x + k * step
                while low_bits & 1:
                    depth -= 1
                    meet_lines(line, x + depth * step, line, length)
                    low_bits >>= 1
                if depth < k:
                    copy_line(x + depth * step, line, length)
                depth += 1
            for k in range(depth - 2, -1, -1):
                meet_lines(x + k * step, x + k * step, x + (k + 1) * step, length)
            copy_line(out, x, length)

    return kernel


# The kernels by the suffixes of their names.
PARTS = {"columns": columns, "rows": rows, "short_rows": short_rows}
