"""Adding slices up by their indices, in an order that is always the same, or with atomics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ... import settings
from ..launches import Launch, Row, blocks, loaded, most_blocks, threads, written_out
from ..text import filled, stored
from .axes import ROUNDS, scanned


class Scatter(NamedTuple):
    """Slices that are added up, in one of two ways; which one is decided when it runs."""

    sorted: list[Launch]
    atomic: Any  # makes the launches

    def run(self, gpu: Any, at: Sequence[int]) -> None:
        """Launch it."""
        for launch in self.atomic() if settings.nondeterministic_scatter else self.sorted:
            launch.run(gpu, at)


def scatter_add(row: Row) -> list[Any]:
    """The derivative of ``gather``."""
    launches = _sorted(row)
    return [Scatter(launches, partial(_atomic, row))] if row.out.is_float else launches


def _sizes(row: Row) -> tuple[int, int, int, int]:
    """(outer, size, count, inner); see kernels/cuda/scatter.py."""
    shape, axis = row.out.shape, row.attributes["axis"]
    count = row.operands[1].size
    return math.prod(shape[:axis]), shape[axis], count, math.prod(shape[axis + 1 :])


def _launch(
    name: str, arguments: tuple[str, ...], units: int, values: tuple[int, ...],
    dtypes: tuple[str, ...], places: tuple[int, ...],
) -> Launch:  # fmt: skip
    """A launch with so many blocks."""
    parameters = ["int64"] * len(values) + [f"*{dtype}" for dtype in dtypes]
    made = loaded("scatter", name, arguments, parameters)
    return Launch(made, max(1, min(most_blocks(), units)), threads(), values, places)


def _sorted(row: Row) -> list[Launch]:
    outer, size, count, inner = _sizes(row)
    dtype, index = stored(row.out.dtype), row.operands[1].dtype.name
    out, x, y = row.places
    found, positions = order(row, size, count)
    begins = row.room(8 * (size + 1))
    found.append(
        _launch("begins", (), blocks(size + 1), (count, size), (index, "int64", "int64"),
                (y, positions, begins))
    )  # fmt: skip
    # Pieces are about as long as there are many, so that even one row of all is soon added up.
    length = 1 << (count.bit_length() + 1) // 2
    pieces = max(0, count - 1) // length
    partials = row.room(outer * pieces * inner * row.out.dtype.size)
    sizes = outer, size, count, inner, length, pieces
    if pieces:
        found.append(
            _launch("partials", (dtype,), blocks(outer * pieces * inner), sizes,
                    (index, "int64", "int64", dtype, dtype), (y, positions, begins, x, partials))
        )  # fmt: skip
    found.append(
        _launch("sums", (dtype,), blocks(row.out.size), sizes,
                ("int64", "int64", dtype, dtype, dtype), (positions, begins, partials, x, out))
    )  # fmt: skip
    return found


def order(row: Row, size: int, count: int) -> tuple[list[Launch], int]:
    """Launches that sort positions by their indices, and the place of the sorted ones."""
    index, y = row.operands[1].dtype.name, row.places[2]
    chunks = max(1, min(most_blocks(), -(-count // (ROUNDS * threads()))))
    bits = threads().bit_length() - 1
    found: list[Launch] = []
    here, there = row.room(8 * count), row.room(8 * count)
    counts, begins = (row.room(8 * threads() * chunks) for _ in range(2))
    for shift in range(0, size.bit_length(), bits):
        values = count, size, shift, chunks
        found.append(
            _launch("counts", (), chunks, values, (index, "int64", "int64"), (y, here, counts))
        )
        lengths = 1, threads() * chunks, 1
        found += scanned("sum", "int64", lengths, (1, 0), (begins, counts), row.room)
        found.append(
            _launch("order", (), chunks, values, (index, "int64", "int64", "int64"),
                    (y, here, begins, there))
        )  # fmt: skip
        here, there = there, here
    return found, here


def _atomic(row: Row) -> list[Launch]:
    dtype, index = stored(row.out.dtype), row.operands[1].dtype.name
    sizes = outer, _, count, inner = _sizes(row)
    out, x, y = row.places
    return [
        written_out(filled(dtype, "0"), "fill", dtype, row.out.size, (out, out)),
        _launch("atomic", (), blocks(outer * count * inner), sizes, (index, dtype, dtype),
                (y, x, out)),
    ]  # fmt: skip


MAKERS = {"ScatterAdd": scatter_add}
