"""Type aliases of kernels' arguments. Imported by type checkers only, so kernels do not load it.

Numba infers the types of a kernel's arguments from its calls and ignores annotations. So `int`
stands for an integer of any size, and `Number` for a scalar of the dtype that a kernel is made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from llvmlite import ir
from numba.types import Type

from .numba_internals import BaseContext, Signature, TypingContext

__all__ = [
    "Array",
    "Builder",
    "Context",
    "Number",
    "Signature",
    "Type",
    "TypingContext",
    "Values",
    "Vector",
]

# A scalar of the dtype that a kernel is made for; the simulator uses NumPy's scalars.
Number: TypeAlias = np.number[Any] | np.bool_ | float

# The elements of a vector load or store.
Vector: TypeAlias = tuple[Number, ...]


class Array(Protocol):
    """Memory that a kernel indexes: a pointer, or a thread's local or a block's shared array."""

    def __getitem__(self, i: int, /) -> Any:
        """Load an element."""

    def __setitem__(self, i: int, value: Any, /) -> None:
        """Store an element."""


# An intrinsic's typing function gets a `TypingContext` and Numba's types (`Type`) of the operands.
# Its code generator gets a `Context`, a `Builder`, a `Signature`, and the operands' `Values`.
# numba-cuda has its own classes of the same names, with the same methods.
Context: TypeAlias = BaseContext
Builder: TypeAlias = ir.IRBuilder
Values: TypeAlias = Sequence[ir.Value]
