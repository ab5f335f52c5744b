"""The records of columns that passes take: a parameter for what belongs together.

Passes and what they call take pointers, by the dozen; as named tuples of pointers they have names
and cost nothing, for a tuple's members are passed one by one. `core.compile.passes` reads the
fields, and the parameters of passes, from the text: a control block has a slot for each of them,
in this order. A kind is ``int``, one of the pointers, or (of a parameter) a record.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# Kinds: pointers to the first element of an array of this dtype.
U8 = I32 = I64 = Any


class Log(NamedTuple):
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


class Flow(NamedTuple):
    """Adjoints of the rows and the variables of a log."""

    flags: U8  # by row, from `follow`
    adjoint: I32  # by row: the row of what flows back, or -1
    variable_source: I32  # by variable: negative if it is not a source
    variable_adjoint: I32  # by variable: as ``adjoint``


class Index(NamedTuple):
    """The hash table of templates: entries (see ENTRY), whose number is a power of two."""

    array: I64
    mask: int  # that number less 1


class Templates(NamedTuple):
    """All templates: their rows, what they give to operands, the constants in them."""

    start: I32  # by template, of its rows
    end: I32
    result_start: I32
    operands: I32  # how many its variadic rows have
    code: I32
    a: I32
    b: I32
    c: I32
    spec: I32
    result: I32  # and of a variadic row its operands: ``b`` of them, from ``a`` on
    pool_bits: I64
    pool_spec: I32


class Specs(NamedTuple):
    """The table of specs."""

    size: I64
    bytes: I64
    shape: I32  # the same number for the same shape
    dtype: I32
    item: I32
    rank: I32
    is_float: U8
    dims: I64  # MAX_RANK a spec


class Tape(NamedTuple):
    """The rows that a tape recorded, and its watch events."""

    ranges: I32  # start and end of each stretch of rows that was recorded
    stretches: int
    positions: I32  # for each event: from which row on the tape watched something,
    watched: I32  # and which row that is, or ``~number`` of a variable
    events: int


class Lanes(NamedTuple):
    """Addresses of lane kernels, by op, operand dtype and result dtype; 0 for an empty segment."""

    kernels: I64
    dtypes: int


class Calls(NamedTuple):
    """Whole-array kernels of small rows, by code and specs; see ENTRY in passes/layout.py."""

    first: I32  # by code: its first entry + 1
    entries: I64


class Asked(NamedTuple):
    """The input of the planner."""

    bottom: int  # the rows that are wanted lie between these two
    top: int
    retain: int  # whether to keep what a tape may need
    widest: int  # elements of a block at most, a multiple of RUN
    few: int  # elements of a small row at most
    follow: int  # whether groups are moved behind what they read, see passes/near.py


class Plan(NamedTuple):
    """The tables that executions read; see passes/layout.py."""

    order: I32  # the rows, group after group
    storage: U8  # IN_SLOT, TEMPORARY or KEPT, in this order
    offset: I64  # of temporaries in the arena, in this order
    groups: I64  # GROUP a group
    program: I64  # STEP an instruction


class Work(NamedTuple):
    """Scratch arrays of the planner; by row unless stated otherwise."""

    canon: I32  # the first of the rows that compute the same
    operands: I32  # three a row
    many: I32  # as a log's ``extra``
    phase: I32
    group: I32
    last: I32  # who reads it last
    root: I32  # the row whose buffer it shares
    slot: I32
    until: I32  # the place in the order of who reads it last in its group of small rows
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


class Room(NamedTuple):
    """Addresses of what a sweep, or a thread's part of it, needs besides the values' buffers."""

    scratch: int  # slots
    partials: int  # what reductions find
    arena: int  # temporaries
    places: int  # 8 int64 an instruction of a lane group
    counter: int  # an int64
