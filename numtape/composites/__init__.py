"""Tensors of other kinds than numbers in memory order, and how functions of tensors take them.

`dispatch` registers, for such a class, a handler for each function that supports it. This package
is imported when a function first meets a composite value; importing it registers all handlers.
"""

from __future__ import annotations

from . import (
    embeddings as embeddings,
    ragged_elementwise as ragged_elementwise,
    sparse_math as sparse_math,
    string_functions as string_functions,
)
