"""Panels for products: inputs of pixels, rows of filters, and tiles that stay in registers.

The inputs of a run of pixels are gathered in a panel, a row for each pixel (im2col; Chetlur
et al., "cuDNN: Efficient Primitives for Deep Learning", 2014), block by block, so that panels stay
in the cache. A tile of the product is held in vector registers (Goto and van de Geijn, "Anatomy of
High-Performance Matrix Multiplication", 2008).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from ..constants import (
    CONV_COLUMNS as COLUMNS,
    CONV_PIXELS as PIXELS,
    CONV_ROWS as ROWS,
    CONV_TAPS as TAPS,
)
from ..jit import INT64, POINTERS, inline, jit, stack
from ..numba_internals import assembly

if TYPE_CHECKING:
    from ..annotations import Array, Builder, Context, Signature, Type, TypingContext, Values

number, words = POINTERS["int64"], POINTERS["int32"]
PIXELS_PER_SUM = 48  # pixels that are summed together in the gradient of a filter


def _vector_size() -> int:
    """The bytes of a vector register of the processor that Numba compiles for.

    LLVM does not list the features that a processor's name implies, so compile a sum and look.
    """
    module = binding.parse_assembly("""
        define void @add(ptr %p) {
          %x = load <16 x float>, ptr %p
          %y = fadd <16 x float> %x, %x
          store <16 x float> %y, ptr %p
          ret void
        }""")
    text = assembly(module)
    return 64 if "zmm" in text else 32 if "ymm" in text else 16


BYTES = _vector_size()
TILE_ROWS = 6 if BYTES == 32 else 12  # rows of a tile, each of one or two vectors
BLOCK_BYTES = 1024  # bytes of a panel's row that are multiplied together
PITCH_BYTES = BLOCK_BYTES + 64  # from one row of a panel to the next: no shared cache lines
IR = {"float32": ir.FloatType(), "float64": ir.DoubleType()}
TAP_WORDS = 5  # words of a tap: three offsets, its row of the filter, the number of contiguous taps


def tile_multiplier(dtype: str, vectors: int) -> Any:
    """A function that adds a tile of a product to memory, or writes it there.

    ``multiply(a, a_row, a_column, b, c, step, count, add)``: c has `TILE_ROWS` rows, ``step`` bytes
    apart. The rows of b are contiguous. Those of a are ``a_row`` bytes apart, and its columns
    ``a_column``. The ``count`` products of an element of c are summed from 0 on, before they are
    added to it: sums of blocks lose fewer digits.
    """
    kind = IR[dtype]
    size = 4 if dtype == "float32" else 8
    lanes = BYTES // size
    vector = ir.VectorType(kind, lanes)

    @intrinsic
    def multiply(
        typingctx: TypingContext,
        a: Type,
        a_row: Type,
        a_column: Type,
        b: Type,
        c: Type,
        step: Type,
        count: Type,
        add: Type,
    ) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            a, a_row, a_column, b, c, step, count, add = args
            module = builder.module
            name = f"llvm.fmuladd.v{lanes}f{8 * size}"
            fused = module.globals.get(name)
            if fused is None:
                fused = ir.Function(module, ir.FunctionType(vector, [vector] * 3), name)

            def load(address: ir.Value, target: ir.Type) -> Any:
                value = builder.load(builder.inttoptr(address, target.as_pointer()))
                value.align = size
                return value

            def broadcast(value: ir.Value) -> Any:
                one = builder.insert_element(
                    ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
                )
                mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
                return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)

            row_addresses = [
                builder.add(builder.add(c, builder.mul(step, INT64(m))), INT64(BYTES * v))
                for m in range(TILE_ROWS)
                for v in range(vectors)
            ]
            row_offsets = [builder.mul(a_row, INT64(m)) for m in range(TILE_ROWS)]
            entry = builder.block
            names = ("loop", "after", "add_totals", "write_totals", "end")
            loop, after, add_totals, write_totals, end = map(builder.append_basic_block, names)
            zero = ir.Constant(vector, None)
            builder.branch(loop)
            builder.position_at_end(loop)
            k, a_address, b_address = (builder.phi(INT64) for _ in range(3))
            sums = [builder.phi(vector) for _ in row_addresses]
            rows = [load(builder.add(b_address, INT64(BYTES * v)), vector) for v in range(vectors)]
            totals = []
            for offset in row_offsets:
                value = broadcast(load(builder.add(a_address, offset), kind))
                for v in range(vectors):
                    totals.append(builder.call(fused, [value, rows[v], sums[len(totals)]]))
            remaining = builder.sub(k, INT64(1))
            next_a = builder.add(a_address, a_column)
            next_b = builder.add(b_address, INT64(BYTES * vectors))
            for block, values in (
                (entry, (count, a, b, *[zero] * len(row_addresses))),
                (loop, (remaining, next_a, next_b, *totals)),
            ):
                for phi, value in zip((k, a_address, b_address, *sums), values, strict=True):
                    phi.add_incoming(value, block)
            builder.cbranch(builder.icmp_signed(">", remaining, INT64(0)), loop, after)
            builder.position_at_end(after)
            builder.cbranch(builder.icmp_signed("!=", add, INT64(0)), add_totals, write_totals)
            for block, is_added in ((add_totals, True), (write_totals, False)):
                builder.position_at_end(block)
                for place, total in zip(row_addresses, totals, strict=True):
                    value = builder.fadd(load(place, vector), total) if is_added else total
                    stored = builder.store(value, builder.inttoptr(place, vector.as_pointer()))
                    stored.align = size
                builder.branch(end)
            builder.position_at_end(end)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 8), codegen

    return multiply


def vector_copier(length: int) -> Any:
    """A function that copies ``length`` bytes as one vector."""
    vector = ir.VectorType(ir.IntType(32), length // 4)

    @intrinsic
    def move(typingctx: TypingContext, target: Type, source: Type) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            value = builder.load(builder.inttoptr(args[1], vector.as_pointer()))
            value.align = 4
            stored = builder.store(value, builder.inttoptr(args[0], vector.as_pointer()))
            stored.align = 4
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), codegen

    return move


move16, move64 = vector_copier(16), vector_copier(64)
taps_memory = stack(8 * TAP_WORDS * TAPS)
lattice_memory = stack(8 * 16)
panel_memory = stack(PIXELS * PITCH_BYTES)
filter_memory = stack(BLOCK_BYTES // 4 * 2 * BYTES)
sums_memory = stack(ROWS * COLUMNS * 8)
offsets_memory = stack(8 * PIXELS)
tile_memory = stack(TILE_ROWS * 2 * BYTES)


@inline
def copy_bytes(target: int, source: int, size: int) -> None:
    """Copy ``size`` bytes, a multiple of 4."""
    n_copied = 0
    while n_copied + 64 <= size:
        move64(target + n_copied, source + n_copied)
        n_copied += 64
    while n_copied + 16 <= size:
        move16(target + n_copied, source + n_copied)
        n_copied += 16
    a, b = words(target), words(source)
    for k in range(n_copied // 4, size // 4):
        a[k] = b[k]


@inline
def clear_bytes(target: int, size: int) -> None:
    """Write zeros, ``size`` bytes, a multiple of 4."""
    a = words(target)
    for k in range(size // 4):
        a[k] = 0


# A lattice is a set of pixels and the inputs that each of them reads. Its words by index: 0 three
# sizes; 3 the distances of inputs of neighbours; 6 the sizes of the input; 9 its channels; 10 the
# number of taps; 11 the channels of a group, 12 the first of them; 13 the first pixel's three
# coordinates in the output.


@jit
def fill_forward_lattice(p_: int, lattice_: int, taps_: int) -> None:
    """Fill in the lattice of the output's pixels."""
    p, lattice = number(p_), number(lattice_)
    for j in range(3):
        lattice[j] = p[7 + j]
        lattice[3 + j] = p[13 + j]
        lattice[6 + j] = p[4 + j]
        lattice[13 + j] = 0
    lattice[9] = p[1] * p[2]
    lattice[11] = p[2]
    lattice[12] = 0
    t = 0
    for a in range(p[10]):
        for b in range(p[11]):
            for c in range(p[12]):
                tap = number(taps_ + 8 * TAP_WORDS * t)
                tap[0] = a * p[16] - p[19]
                tap[1] = b * p[17] - p[20]
                tap[2] = c * p[18] - p[21]
                tap[3] = t
                tap[4] = p[12] - c if p[18] == 1 else 1
                t += 1
    lattice[10] = t


@jit
def fill_input_lattice(p_: int, lattice_: int, taps_: int, phase: int) -> None:
    """Fill in the lattice of input pixels that are a stride apart: they have the same taps."""
    p, lattice = number(p_), number(lattice_)
    quotient = phase
    for j in range(2, -1, -1):
        remainder = quotient % p[13 + j]
        quotient //= p[13 + j]
        lattice[13 + j] = remainder
        lattice[j] = max(0, (p[4 + j] - remainder + p[13 + j] - 1) // p[13 + j])
        lattice[3 + j] = 1
        lattice[6 + j] = p[7 + j]
    lattice[9] = p[1] * p[3]
    lattice[11] = p[3]
    lattice[12] = 0
    count = 0
    for a in range(p[10]):
        x = lattice[13] + p[19] - a * p[16]
        for b in range(p[11]):
            y = lattice[14] + p[20] - b * p[17]
            for c in range(p[12]):
                z = lattice[15] + p[21] - c * p[18]
                if x % p[13] == 0 and y % p[14] == 0 and z % p[15] == 0:
                    tap = number(taps_ + 8 * TAP_WORDS * count)
                    tap[0] = x // p[13]
                    tap[1] = y // p[14]
                    tap[2] = z // p[15]
                    tap[3] = (a * p[11] + b) * p[12] + c
                    tap[4] = 1
                    count += 1
    lattice[10] = count


@inline
def pixel_coordinates(i: int, s: Array) -> Any:
    """The image of pixel ``i`` of a lattice, and its coordinates there."""
    c = i % s[2]
    quotient = i // s[2]
    b = quotient % s[1]
    quotient //= s[1]
    return quotient // s[0], quotient % s[0], b, c


@inline
def next_pixel(n: int, a: int, b: int, c: int, s: Array) -> Any:
    """As `pixel_coordinates` for the next pixel, without its slow divisions."""
    c += 1
    if c == s[2]:
        c = 0
        b += 1
        if b == s[1]:
            b = 0
            a += 1
            if a == s[0]:
                a = 0
                n += 1
    return n, a, b, c


@jit
def gather_pixels(
    panel: int, x: int, lattice_: int, taps_: int, begin: int, end: int, k0: int, k1: int, item: int
) -> None:
    """Gather the inputs of pixels ``begin`` to ``end`` for rows ``k0`` to ``k1`` of the filter."""
    s = number(lattice_)
    channels, group_channels = s[9], s[11]
    first_tap = k0 // group_channels
    n, i, j, m = pixel_coordinates(begin, s)
    for pixel in range(end - begin):
        a, b, c = i * s[3], j * s[4], m * s[5]
        target = panel + pixel * PITCH_BYTES
        k = k0
        t = first_tap
        n_skipped = k0 - first_tap * group_channels
        while k < k1:
            tap = number(taps_ + 8 * TAP_WORDS * t)
            u, v, w = a + tap[0], b + tap[1], c + tap[2]
            run = 1
            if w >= 0 and tap[4] > 1 and channels == group_channels and w + tap[4] <= s[8]:
                run = tap[4]
            n_elements = min(run * group_channels - n_skipped, k1 - k)
            if 0 <= u < s[6] and 0 <= v < s[7] and 0 <= w < s[8]:
                source = (((n * s[6] + u) * s[7] + v) * s[8] + w) * channels + s[12] + n_skipped
                copy_bytes(target, x + source * item, n_elements * item)
            else:
                clear_bytes(target, n_elements * item)
            target += n_elements * item
            k += n_elements
            t += run
            n_skipped = 0
        n, i, j, m = next_pixel(n, i, j, m, s)


@jit
def copy_filter_rows(
    panel: int,
    w: int,
    taps_: int,
    group_channels: int,
    features: int,
    first_column: int,
    n_columns: int,
    k0: int,
    k1: int,
    width: int,
    item: int,
) -> None:
    """Copy ``n_columns`` columns of the filter's rows, and zeros up to ``width`` bytes a row."""
    t = k0 // group_channels
    c = k0 - t * group_channels
    for k in range(k1 - k0):
        row = number(taps_ + 8 * TAP_WORDS * t)[3] * group_channels + c
        target = panel + k * width
        copy_bytes(target, w + (row * features + first_column) * item, n_columns * item)
        clear_bytes(target + n_columns * item, width - n_columns * item)
        c += 1
        if c == group_channels:
            c = 0
            t += 1


@jit
def fill_offsets(
    offsets_: int, p_: int, lattice_: int, begin: int, end: int, row: int, is_strided: int
) -> None:
    """Compute the byte offset of each pixel in the result, which has ``row`` bytes per pixel."""
    p, s, offsets = number(p_), number(lattice_), number(offsets_)
    n, a, b, c = pixel_coordinates(begin, s)
    for i in range(begin, end):
        if is_strided:
            u, v, w = s[13] + a * p[13], s[14] + b * p[14], s[15] + c * p[15]
            offsets[i - begin] = (((n * p[4] + u) * p[5] + v) * p[6] + w) * row
            n, a, b, c = next_pixel(n, a, b, c, s)
        else:
            offsets[i - begin] = i * row
