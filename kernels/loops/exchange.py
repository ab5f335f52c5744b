"""What compiled code shares words of memory with others by, in one step for all threads."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from ..jit import INT64


@intrinsic
def exchange(typingctx: Any, address: Any, value: Any) -> Any:
    """Put an int64 at an address. Returns what was there."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("xchg", _word(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def exchange_if(typingctx: Any, address: Any, expected: Any, value: Any) -> Any:
    """Put an int64 at an address if another one is there. Returns whether it was."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _word(builder, args[0])
        found = builder.cmpxchg(place, args[1], args[2], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(types.int64, types.int64, types.int64), codegen


@intrinsic
def word(typingctx: Any, address: Any) -> Any:
    """The int64 at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_word(builder, args[0]))

    return types.int64(types.int64), codegen


def _word(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, INT64.as_pointer())
