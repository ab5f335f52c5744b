"""What the columns of a log hold: the kinds of rows, and the flags the passes use."""

from __future__ import annotations

# A row's kind, by its code.
LEAF = 0  # a value from outside: a constant, a watched tensor, a variable's buffer
READ = 1  # a variable read: b is the variable's number in this log, a the pending value or -1
ELEMENTWISE = 2  # computed element by element from operands broadcast to its shape
ARRAY = 3  # computed by a whole-array kernel
VIEW = 4  # shares its operand's buffer under another shape
REDUCTION = 5  # combines elements of its operand; to one element, it may end a lane group

VARIADIC = -1  # the arity of codes whose operands are extra[a : a + b]

# What a code's derivative is.
RULE = 0
STOP = 1  # not differentiable: nothing flows through, and the gradient is None
MISSING = 2  # a float op with no gradient registered: an error when a gradient passes through

# Flags of `follow`.
FOLLOWED = 1
NEEDED = 2
SEEN_WATCHED = 2  # a watched variable that was read

# A row's state.
EMPTY = 0
VALUE = 1  # its cell holds the value (one element) or the address of the buffer
SEEN = 2  # computed once in a lane group and not kept
