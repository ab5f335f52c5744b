"""The layout of a plan's tables: groups, instructions, memory offsets, the report."""

from __future__ import annotations

# Kinds of groups.
SMALL = 0  # rows of few elements, computed one after the other
LANES = 1
WHOLE = 2  # one row, computed by a whole-array kernel
SHARED = 3  # one row that shares its operand's buffer

# Values of `want`, by row.
WANTED = 1
OPTIONAL = 2  # kept if it is computed anyway, because callers may read it

# Storage of a value.
IN_SLOT = 0
TEMPORARY = 1  # in the arena
KEPT = 2  # in its cell, or in its own buffer

# Instructions that are not lane kernels.
SPLAT = 1  # fill a slot with one element, before the first block
BROADCAST = 2  # load a block of an operand that is broadcast
# A fused loop: its address, the number of PLACES instructions that follow (with the references of
# its operands and results, four each), the number of instructions after these that do the same one
# by one (skipped if the loop returns 0), and the address of the first PLACES.
FUSED = 3
PLACES = 4
# Of small rows: a whole-array kernel of three operands (address, parameters, number of units,
# output) or of any number (address, parameters, number of operands, output), whose operands follow
# in PLACES, four each; and a copy of bytes.
CALL_FIXED = 5
CALL_VARIADIC = 6
COPY_BYTES = 7
# The code of a lane kernel of small rows includes the number n of elements: address + COUNT * n.
COUNT = 1 << 48

# The output of an instruction: a slot (from 0 on), a buffer (~row), or, for a reduction,
# the partial results of the group (PARTIALS + offset in bytes). In a group of small rows: a row's
# cell, its buffer (~row), or the scratch memory (PARTIALS + offset in bytes).
PARTIALS = 1 << 40
# An operand that is a number: NUMBER + number; and the number of the block's first element.
NUMBER = 1 << 41
FIRST_ELEMENT = 1 << 43
# The output of a reduction of columns: LINES + the offset of its partial results in bytes.
LINES = 1 << 42
LINE_ROWS = 8  # rows whose columns one partial result combines; one thread computes them, in order
MIN_COLUMNS = 16  # that are reduced in a lane group
MAX_LINES = 1 << 24  # bytes of the partial results of such a reduction: they are not freed

# Fields of cursor: the report of `plan`.
(
    C_ROW,
    C_LOW,
    C_ROWS,
    C_GROUPS,
    C_INSTRUCTIONS,
    C_ALLOC,
    C_ALIASES,
    C_ARENA,
    C_SCRATCH,
    C_PARTIALS,
    C_BODY,
    C_WORK,
) = range(12)

GROUP = 11  # columns of the group table:
(
    G_KIND,
    G_ROWS,
    G_ROWS_END,
    G_CODE,
    G_CODE_END,
    G_SIZE,
    G_WIDTH,
    G_BODY,
    G_STRIDE,
    G_PARAMETERS,
    G_BLOCKS,
) = range(11)

# G_STRIDE of a row with any number of operands: whether threads share the units of its kernel. It
# is 0 for other rows that are computed by a kernel.
ONE_UNIT, MANY_UNITS = 1, 2

STEP = 5  # an instruction: kernel, output, three operands

NO_OPERAND = -(1 << 31)  # in `operands`, where a row has fewer than three

CALL_COST = 64  # the number of elements that take as long as one kernel call

MAX_MERGE_TABLE = 1 << 17  # the most entries of the hash table that finds equal rows

OK = 0
NO_KERNEL = 1  # the row in cursor[C_ROW] needs a lane kernel that is not in the table
NO_CALL = 2  # the whole-array kernel of the row in cursor[C_ROW] is not in the table yet

# An entry of the table of calls: the next one of the same code, or -1; the specs of the result and
# of three operands, -1 for a missing operand; kernel (0: NumPy computes it), parameters, units.
ENTRY = 8

SMALL_ROW_SIZE = 64  # the most elements of a small row
SMALL_ROW_BYTES = 8 * SMALL_ROW_SIZE
LINE = 64  # bytes of a line of the arena

# A reduction to one element combines the results of runs of RUN elements, counted from the first
# one. So its result does not depend on the width of blocks or on the threads that compute them.
RUN = 128

SCRATCH_BYTES = 64 * 1024  # bytes of a block's slots: mostly in L1, the rest in L2
