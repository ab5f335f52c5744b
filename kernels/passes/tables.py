"""The records of columns that passes take as parameters.

Passes and their functions take dozens of pointers. Named tuples group them at no cost, because
members of a tuple are passed one by one. `core.compile.passes` reads the fields, and the parameters
of passes, from the text: a control block has a slot for each of them, in this order. A kind is
``int``, a pointer, or (of a parameter) a record.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# Kinds: pointers to the first element of an array of this dtype.
U8 = I32 = I64 = Any


class LogColumns(NamedTuple):
    """The columns of a log, and the operands of its variadic rows; see passes/rows.py."""

    code: I32
    a: I32
    b: I32
    c: I32
    spec: I32
    cell: I64
    state: U8
    extra: I32


class Codes(NamedTuple):
    """The table of codes."""

    kind: I32
    arity: I32
    gradient: I32
    lane: I32
    axes: I32  # of a reduction: a bit for each axis that it reduces


class AdjointFlow(NamedTuple):
    """Adjoints of the rows and the variables of a log."""

    flags: U8  # by row, from `follow`
    adjoint: I32  # by row: the row of its adjoint, or -1
    variable_source: I32  # by variable: negative if it is not a source
    variable_adjoint: I32  # by variable: as ``adjoint``


class Index(NamedTuple):
    """The hash table of templates; the number of entries (see ENTRY) is a power of two."""

    array: I64
    mask: int  # that number minus 1


class Templates(NamedTuple):
    """All templates: their rows, the adjoints of operands, and constants."""

    start: I32  # by template, of its rows
    end: I32
    result_start: I32
    operands: I32  # the number of operands of its variadic rows
    code: I32
    a: I32
    b: I32
    c: I32
    spec: I32
    result: I32  # also operands of variadic rows: ``b`` of them, from ``a`` on
    pool_bits: I64
    pool_spec: I32


class Specs(NamedTuple):
    """The table of specs."""

    size: I64
    bytes: I64
    shape: I32  # equal numbers for equal shapes
    dtype: I32
    item: I32
    rank: I32
    is_float: U8
    dims: I64  # MAX_RANK for each spec


class TapeRecord(NamedTuple):
    """The rows that a tape recorded, and its watch events."""

    ranges: I32  # start and end of each range of recorded rows
    range_count: int
    positions: I32  # for each event: the row from which on the tape watches it,
    watched: I32  # and the watched row, or ``~number`` of a variable
    events: int


class LaneTable(NamedTuple):
    """Addresses of lane kernels, by op, operand dtype and result dtype; 0 if not compiled yet."""

    kernels: I64
    dtypes: int


class CallTable(NamedTuple):
    """Whole-array kernels of small rows, by code and specs; see ENTRY in passes/layout.py."""

    first: I32  # by code: its first entry + 1
    entries: I64


class Asked(NamedTuple):
    """The input of the planner."""

    bottom: int  # the wanted rows lie between these two
    top: int
    retain: int  # whether to keep values that a tape may need
    max_block: int  # elements of a block at most, a multiple of RUN
    max_small_size: int  # elements of a small row at most
    follow: int  # whether groups move behind their operands, see passes/schedule.py
    max_row: int  # elements at most of rows that are reduced, or added up, in a lane group


class PlanTables(NamedTuple):
    """The tables that executions read; see passes/layout.py."""

    order: I32  # the rows, group by group
    storage: U8  # IN_SLOT, TEMPORARY or KEPT, in this order
    offset: I64  # of temporaries in the arena, in this order
    groups: I64  # GROUP for each group
    program: I64  # STEP for each instruction


class PlannerScratch(NamedTuple):
    """Scratch arrays of the planner; by row unless stated otherwise."""

    canon: I32  # the first of the equal rows
    operands: I32  # three for each row
    many: I32  # like ``extra`` of a log
    phase: I32
    group: I32
    last: I32  # the last group that reads it
    root: I32  # the row whose buffer it shares
    slot: I32
    until: I32  # the position of its last reader in its group of small rows
    stamp: I32  # the last lane group that loaded it
    escape: I32
    kernel: I64
    call: I32  # the entry of the table of calls that computes a small row, or -1
    mark: U8
    rows: I32  # a list
    tables: I32  # hash tables and the like: eight times as long as a list of rows
    alloc: I32  # a list: the rows that need a separate buffer
    aliases: I32  # a list: the rows that are equal to another
    free_places: I32  # by size in lines: a list of free places


class ThreadMemory(NamedTuple):
    """Addresses of the memory of a thread that executes a plan, besides the values' buffers."""

    scratch: int  # slots
    partials: int  # partial results of reductions
    arena: int  # temporaries
    places: int  # 8 int64 for each instruction of a lane group
    counter: int  # an int64
