"""Pieces: the 16 bytes, or the element where they do not fit, that a thread moves at once.

A block takes ``UNROLL`` pieces for each of its threads, ``THREADS`` apart, so that a thread waits
for several of them at the same time. Where all numbers are below 2**31, as nearly always, indices
have 32 bits, and quotients are products with what the executor knows of the divisor.
"""

from __future__ import annotations

from typing import Any

from .target import KINDS, device, load, store

UNROLL = 4  # as in numtape/core/cuda/ops/chunked_copy.py (a test compares)

_UINT32, _UINT64 = KINDS["uint32"], KINDS["uint64"]


@device
def _small(t: Any, divisor: Any, factor: Any, shift: Any) -> Any:
    return _UINT32(_UINT64(_UINT64(_UINT32(t)) * _UINT64(_UINT32(factor))) >> _UINT64(shift))


@device
def _large(t: Any, divisor: Any, factor: Any, shift: Any) -> Any:
    return t // divisor


def arithmetic(size: str) -> tuple[Any, Any]:
    """The kind of an index, and ``quotient(t, divisor, factor, shift)``, for "small" or "large"."""
    return (_UINT32, _small) if size == "small" else (KINDS["int64"], _large)


def copying(word: str) -> tuple[str, Any, Any, Any]:
    """How pieces are moved: ``fetch(x, i)``, ``put(out, i, piece)``, and zeros in their place.

    The first is the dtype of the arrays: a "uint128" is four uint32.
    """
    if word == "uint128":
        nothing = KINDS["uint32"](0)

        def either(there: Any, piece: Any) -> Any:
            a, b, c, d = piece
            return (
                a if there else nothing,
                b if there else nothing,
                c if there else nothing,
                d if there else nothing,
            )

        return "uint32", load, store, device(either)

    zero = KINDS[word](0)

    def fetch(x: Any, i: Any) -> Any:
        return x[i]

    def put(out: Any, i: Any, piece: Any) -> None:
        out[i] = piece

    def choose(there: Any, piece: Any) -> Any:
        return piece if there else zero

    return word, device(fetch), device(put), device(choose)
