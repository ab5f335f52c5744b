"""Launches of gather and scatter-add; the latter adds in a fixed order, or with atomics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ....kernels.constants import (
    CUDA_VECTOR,
    SCATTER_PIECE_BITS,
    SCATTER_ROUNDS,
    SIMULATED_SCATTER_PIECE_BITS,
    SIMULATED_SCATTER_ROUNDS,
)
from ... import settings
from ...values.dtypes import as_dtype
from ..codegen import memory_dtype
from ..launches import Launch, LaunchRow, blocks, library_kernel, most_blocks, threads
from ..runtime.device import device
from .axes import scan_launches
from .permute import (
    block_count,
    divisor,
    grid,
    magnitude,
    parameters,
    pointer,
    word,
    word_dtype,
    zeros,
)

if TYPE_CHECKING:
    from ..launches import Launcher

VECTOR_ATOMICS = (9, 0)  # lowest compute capability with atomic addition of four float32


class Lengths(NamedTuple):
    """Sizes of tiles and pieces."""

    rounds: int  # positions that a thread sorts at a time
    piece_bits: int  # a piece has 2**piece_bits slices


def lengths() -> Lengths:
    """The lengths for a GPU, or for the simulator."""
    if settings.simulated():
        return Lengths(SIMULATED_SCATTER_ROUNDS, SIMULATED_SCATTER_PIECE_BITS)
    return Lengths(SCATTER_ROUNDS, SCATTER_PIECE_BITS)


class Scatter(NamedTuple):
    """A scatter-add by sorting or by atomics; `settings` decide when it runs."""

    sorted: list[Launch]
    atomic: Any  # makes the launches, cached: graphs that contain them do not keep kernels alive

    def run(self, gpu: Launcher, at: Sequence[int]) -> None:
        """Launch the kernels."""
        for launch in self.atomic() if settings.nondeterministic_scatter else self.sorted:
            launch.run(gpu, at)


def scatter_add(row: LaunchRow) -> list[Any]:
    """The derivative of ``gather``."""
    if not row.operands[1].size:
        return [zeros(row.out.size * row.out.dtype.size, row.places[0])]
    launches = _sort_and_add(row)
    return [Scatter(launches, cache(partial(_atomic, row)))] if row.out.is_float else launches


class _Shape(NamedTuple):
    """The sizes in kernels/cuda/scatter.py; ``inner`` counts vectors of ``lanes`` elements."""

    outer: int
    size: int
    indices: int
    inner: int
    lanes: str  # elements that a thread processes
    magnitude: str

    def slices(self, many: int) -> int:
        """The units of work, one a thread, of ``many`` slices for each outer index."""
        return self.outer * many * self.inner

    def divisors(self, many: int) -> tuple[int, ...]:
        """The constants for division by ``inner`` and by ``many``; see `permute.divisor`."""
        return *divisor(self.inner), *divisor(many)


def _shape(row: LaunchRow, vectors: bool = True) -> _Shape:
    shape, axis, count = row.out.shape, row.attributes["axis"], row.operands[1].size
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    lanes = CUDA_VECTOR if vectors and inner % CUDA_VECTOR == 0 else 1
    inner //= lanes
    large = magnitude(outer * shape[axis] * inner, outer * count * inner)
    return _Shape(outer, shape[axis], count, inner, str(lanes), large)


def _launch(
    name: str,
    arguments: tuple[str, ...],
    units: int,
    values: tuple[int, ...],
    dtypes: tuple[str, ...],
    places: tuple[int, ...],
) -> Launch:
    """A launch with ``units`` blocks."""
    kernel = library_kernel("scatter", name, arguments, parameters(values, *dtypes))
    return Launch(kernel, block_count(units), threads(), values, places)


def _over(work: int) -> int:
    """How many blocks provide a thread for each unit of work."""
    return max(1, -(-work // threads()))


def _sort_and_add(row: LaunchRow) -> list[Launch]:
    shape = outer, size, count, inner, lanes, large = _shape(row)
    dtype, (out, x, _) = memory_dtype(row.out.dtype), row.places
    launches, keys, positions, kind = order(row, size, count)
    borders = row.reserve(2 * size * _bytes(kind))
    launches += [
        zeros(2 * size * _bytes(kind), borders),
        _launch("borders", (), _over(count), (count, size), (kind, kind), (keys, borders)),
    ]
    # Pieces, then pieces of pieces, until few enough are left for one thread to add.
    bits = lengths().piece_bits
    many = [count]
    while many[-1] > 4 << bits:
        many.append(count >> bits * len(many))
    step = shape.slices(1)
    levels = row.reserve(step * sum(many[1:]) * int(lanes) * row.out.dtype.size)
    for k, pieces in enumerate(many[1:]):
        values = (
            shape.slices(pieces),
            pieces,
            inner,
            *shape.divisors(pieces),
            1 << bits * (k + 1),
            many[k],
            k,
            step * sum(many[1:k]),
            step * sum(many[1 : k + 1]),
            size,
        )
        launches.append(
            _launch(
                "partials",
                (dtype, lanes, large),
                _over(values[0]),
                values,
                (kind, kind, dtype, dtype),
                (keys, positions, levels if k else x, levels),
            )
        )
    n = shape.slices(size)
    values = n, size, count, inner, *shape.divisors(size), len(many) - 1, outer
    launches.append(
        _launch(
            "sums",
            (dtype, lanes, large),
            _over(n),
            values,
            (kind, kind, *[dtype] * 3),
            (positions, borders, levels, x, out),
        )
    )
    return launches


def _bytes(kind: str) -> int:
    return as_dtype(kind).size


def order(row: LaunchRow, size: int, count: int) -> tuple[list[Launch], int, int, str]:
    """Sort positions by their indices.

    Returns:
      The launches, the places of the sorted indices and of the positions, and their dtype.
    """
    index, y = row.operands[1].dtype.name, row.places[2]
    small = magnitude(count, size + 1) == "small"
    kind, number = ("uint32", "int32") if small else ("int64", "int64")
    tile = lengths().rounds * threads()
    length = tile * -(-count // (tile * most_blocks()))
    chunks = -(-count // length)
    bits = threads().bit_length() - 1
    launches: list[Launch] = []
    here, there = (
        (row.reserve(_bytes(kind) * count), row.reserve(_bytes(kind) * count)) for _ in "xy"
    )
    counts, begins = (row.reserve(_bytes(number) * threads() * chunks) for _ in "xy")
    keys, positions = y, here[1]  # the first round does not read the positions
    for shift in range(0, size.bit_length(), bits):
        values = count, size, shift, length, chunks
        launches.append(_launch("counts", (), chunks, values, (index, number), (keys, counts)))
        sizes = 1, threads() * chunks, 1
        launches += scan_launches("sum", number, sizes, (1, 0), (begins, counts), row.reserve)
        launches.append(
            _launch(
                "order",
                (kind,),
                chunks,
                values,
                (index, kind, number, kind, kind),
                (keys, positions, begins, *there),
            )
        )
        (keys, positions), index = there, kind
        here, there = there, here
    return launches, keys, positions, kind


def _atomic(row: LaunchRow) -> list[Launch]:
    dtype, index = memory_dtype(row.out.dtype), row.operands[1].dtype.name
    vectors = dtype == "float32" and device().capability >= VECTOR_ATOMICS
    shape = _, size, count, inner, lanes, large = _shape(row, vectors)
    out, x, y = row.places
    n = shape.slices(count)
    values = n, size, count, inner, *shape.divisors(count)
    return [
        zeros(row.out.size * row.out.dtype.size, row.places[0]),
        _launch("atomic", (lanes, large), _over(n), values, (index, dtype, dtype), (y, x, out)),
    ]


def _gather(row: LaunchRow) -> list[Launch]:
    (x, y), axis = row.operands, row.attributes["axis"]
    if not x.size:  # all indices are out of bounds
        return [zeros(row.out.size * row.out.dtype.size, row.places[0])]
    inner = math.prod(x.shape[axis + 1 :]) * x.dtype.size
    bytes_ = word(inner)
    inner //= bytes_
    n = row.out.size * x.dtype.size // bytes_
    values = n, x.shape[axis], y.size, inner, *divisor(inner), *divisor(y.size)
    size = magnitude(n, x.size * x.dtype.size // bytes_)
    dtypes = parameters(values, pointer(bytes_), pointer(bytes_), y.dtype.name)
    kernel = library_kernel("gather", "gather", (word_dtype(bytes_), size), dtypes)
    return [Launch(kernel, grid(n), threads(), values, tuple(row.places))]


def _pick(row: LaunchRow) -> list[Launch]:
    x, y = row.operands
    kind = word_dtype(x.dtype.size)
    values = row.out.size, x.shape[-1]
    kernel = library_kernel("gather", "pick", (kind,), parameters(values, kind, kind, y.dtype.name))
    return [Launch(kernel, blocks(row.out.size), threads(), values, tuple(row.places))]


def _place(row: LaunchRow) -> list[Launch]:
    _, y = row.operands
    kind, n = word_dtype(row.out.dtype.size), row.out.shape[-1]
    values = row.out.size, n, *divisor(n)
    dtypes = parameters(values, kind, kind, y.dtype.name)
    kernel = library_kernel("gather", "place", (kind, magnitude(row.out.size)), dtypes)
    return [Launch(kernel, blocks(row.out.size), threads(), values, tuple(row.places))]


MAKERS: dict[str, Callable[[LaunchRow], list[Launch]]] = {
    "GatherV2": _gather,
    "Pick": _pick,
    "Place": _place,
    "ScatterAdd": scatter_add,
}
