"""Pieces: words of 16 bytes, or fewer where sizes require it, that a thread moves at a time.

A thread moves ``CUDA_UNROLL`` pieces, ``THREADS`` apart, so that it waits for several loads at the
same time. If all numbers are below 2**31, as nearly always, indices have 32 bits and divisions are
multiplications by constants that the executor computes from the divisor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .target import KINDS, device, load, store

if TYPE_CHECKING:
    from ..annotations import Array, Number, Vector


_UINT32, _UINT64 = KINDS["uint32"], KINDS["uint64"]


@device
def _small(t: int, divisor: int, factor: int, shift: int) -> Any:
    return _UINT32(_UINT64(_UINT64(_UINT32(t)) * _UINT64(_UINT32(factor))) >> _UINT64(shift))


@device
def _large(t: int, divisor: int, factor: int, shift: int) -> Any:
    return t // divisor


def index_functions(size: str) -> tuple[Any, Any]:
    """The index dtype, and ``quotient(t, divisor, factor, shift)``, for "small" or "large"."""
    return (_UINT32, _small) if size == "small" else (KINDS["int64"], _large)


def word_functions(word: str) -> tuple[str, Any, Any, Any]:
    """The array dtype for a word, and functions to move pieces.

    They are ``fetch(x, i)``, ``put(out, i, piece)``, and ``or_zeros(is_valid, piece)``: the piece,
    or zeros unless ``is_valid``. A "uint128" is four uint32.
    """
    if word == "uint128":
        zero_word = KINDS["uint32"](0)

        def or_zeros(is_valid: bool, piece: Vector) -> Any:
            a, b, c, d = piece
            return (
                a if is_valid else zero_word,
                b if is_valid else zero_word,
                c if is_valid else zero_word,
                d if is_valid else zero_word,
            )

        return "uint32", load, store, device(or_zeros)

    zero = KINDS[word](0)

    def fetch(x: Array, i: int) -> Any:
        return x[i]

    def put(out: Array, i: int, piece: Number) -> None:
        out[i] = piece

    def or_zero(is_valid: bool, piece: Number) -> Any:
        return piece if is_valid else zero

    return word, device(fetch), device(put), device(or_zero)
