"""Calls of BLAS and LAPACK from several threads, each call in one thread.

The library's number of threads is one setting for all callers. So the first caller sets it to 1,
and the last to leave restores it. The shared words: a lock, the number of callers, and the former
setting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..jit import INT64, POINTERS, exchange, exchange_if, jit, pause

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values

number = POINTERS["int64"]


@intrinsic
def call(typingctx: TypingContext, function: Type, arguments: Type) -> Any:
    """Call a function at an address with a tuple of int64s. Returns its int64 result."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        function, packed = args
        values = [builder.extract_value(packed, k) for k in range(len(packed.type.elements))]
        kind = ir.FunctionType(INT64, [INT64] * len(values))
        return builder.call(builder.inttoptr(function, kind.as_pointer()), values)

    return types.intp(types.intp, arguments), codegen


@jit
def limit_threads(get_threads: int, set_threads: int, words: int) -> None:
    """Limit the library to one thread.

    ``get_threads`` and ``set_threads`` are functions for its number of threads.
    """
    while not exchange_if(words, 0, 1):
        pause()
    state = number(words)
    if state[1] == 0:
        state[2] = call(get_threads, (words,)) & 0xFFFF
        if state[2] > 1:
            call(set_threads, (1,))
    state[1] += 1
    exchange(words, 0)


@jit
def restore_threads(set_threads: int, words: int) -> None:
    """End the limit of `limit_threads`; the last caller restores the former setting."""
    while not exchange_if(words, 0, 1):
        pause()
    state = number(words)
    state[1] -= 1
    if state[1] == 0 and state[2] > 1:
        call(set_threads, (state[2],))
    exchange(words, 0)
