"""Templates: the adjoint rows of a row, as `transpose` inserts them.

`numtape.core.derive.templates` writes them.
"""

from __future__ import annotations

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
