"""The columns of a log: the kinds of rows, the flags of passes, templates of adjoint rows."""

from __future__ import annotations

# A row's kind, by its code.
LEAF = 0  # a value from outside: a constant, a watched tensor, a variable's buffer
READ = 1  # a read of a variable: b is its number in this log, a its pending value or -1
ELEMENTWISE = 2  # computed element by element from operands broadcast to its shape
ARRAY = 3  # computed by a whole-array kernel
VIEW = 4  # shares its operand's buffer under another shape
REDUCTION = 5  # combines elements of its operand; it may end a lane group

WIDE = 11  # the number of the first dtype without compiled kernels

VARIADIC = -1  # the arity of codes whose operands are extra[a : a + b]

# The kinds of derivatives, by code.
RULE = 0
STOP = 1  # not differentiable: the gradient is None
MISSING = 2  # a float op without a gradient: an error if a gradient passes through
CUT = 3  # as STOP, and no tape follows the result
CALL = 4  # Python computes it: b is a row whose operands are the dependencies

# Flags of `follow`.
FOLLOWED = 1  # the tape follows the value: it was watched, or is of float dtype and RECORDED
NEEDED = 2  # followed, and it depends on a source
RECORDED = 4  # the tape recorded its computation from an operand that it followed by then
SOURCE = 8

# Values of `follow` for a variable, besides 0: a tape does not watch it.
WATCHED = 1
SEEN_WATCHED = 2  # watched, and read
AT_FIRST_READ = 4  # the first read watches it

# A row's state.
EMPTY = 0
VALUE = 1  # its cell holds the value (one element) or the address of the buffer
SEEN = 2  # computed once in a lane group and not kept


# Results of `transpose`. After any result but DONE, the caller acts and calls again.
DONE = 0
NO_TEMPLATE = 1  # for the row in cursor[0]
OUT_OF_CAPACITY = 2  # the columns or ``extra`` are too short
CALLS = 3  # Python computes the adjoints of the dependencies of the row in cursor[0]

# References inside a template: its own rows from 0 on, or one of these.
NOTHING = -1
G = -2  # the adjoint of the row's output
Y = -3  # the row's output
INPUT = -4  # operand j is INPUT - j

# An entry of the table of templates: template + 1, then the key: code, specs of three operands,
# spec of the output, needed operands.
ENTRY_WORDS = 7
