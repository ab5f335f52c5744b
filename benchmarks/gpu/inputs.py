"""The inputs of the cases on a GPU, what one step on them must give, and what it has to move.

Beside the networks of ``benchmarks.inputs`` there is one kind, a program over arrays. Large inputs
repeat a block of random numbers: making them takes no time worth mentioning.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import formulas, inputs
from benchmarks.inputs import Array, MinimalWork, Network

BLOCK = 2**20
EPSILON = 1e-5  # of the layer norm: PyTorch's default


@dataclass(frozen=True, eq=False)
class GpuProgram:
    """A function of arrays; a step gives its value and the gradients by its first inputs.

    Where the value is an array, the gradients are those of its sum, or of what ``upstream`` weighs
    it with.

    Attributes:
        function: The function, called with a library's functions and the inputs.
        by_hand: Gives from float64 inputs, ``upstream`` last, what a step must give.
        inputs: Arrays; what is made of them is the case's matter.
        moved: Bytes that a step has to read and to write, however it is computed.
        sources: By how many of the inputs there are gradients.
        upstream: The gradient of the value, if it is not 1 everywhere.
        draws: The shape of the normal numbers that the function draws itself, if it does; given
            them as its last input, it does not.
        scatters: Whether it sums what falls on one place, in some order.
    """

    function: Callable[..., Any]
    by_hand: Callable[..., list[Array]]
    inputs: list[Array]
    moved: int
    sources: int = 0
    upstream: Array | None = None
    draws: tuple[int, ...] | None = None
    scatters: bool = False

    def for_check(self) -> GpuProgram:
        """Draws are given: only so is there one right result."""
        if self.draws is None:
            return self
        drawn = np.random.default_rng(9).standard_normal(self.draws, np.float32)
        return dataclasses.replace(self, inputs=[*self.inputs, drawn], draws=None)

    def compute_expected(self) -> list[Array]:
        """The value and the gradients, worked out on paper."""
        provided = self.inputs if self.upstream is None else [*self.inputs, self.upstream]
        wide = (x.astype(np.float64) if x.dtype.kind == "f" else x for x in provided)
        return self.by_hand(*wide)

    def compute_observed(self, result: list[Array], weights: list[Array]) -> list[Array]:
        """The same from what a step gave."""
        return [np.asarray(array) for array in result]

    def work(self) -> MinimalWork:
        """Nothing is counted but what is moved."""
        return MinimalWork(self.moved, 0, {}, self.inputs[0].dtype.name)


Data = GpuProgram | Network


def after(data: Data, weights: list[Array]) -> Data:
    """The next step's inputs, after a step that left these weights."""
    return dataclasses.replace(data, weights=weights) if isinstance(data, Network) else data


def small_net(hidden: int, batch: int) -> Network:
    """2-hidden-hidden-1, as on the CPU."""
    return inputs.small_net(hidden, batch)


def large_net(batch: int, *sizes: int) -> Network:
    """Layers of these sizes, relu between them, cross-entropy behind."""
    return inputs.large_net(sizes, batch)


def _uniform(seed: int, shape: tuple[int, ...], low: float, high: float, dtype: Any) -> Array:
    size = int(np.prod(shape))
    block = np.random.default_rng(seed).uniform(low, high, min(size, BLOCK)).astype(dtype)
    return np.resize(block, shape)


def _move(*arrays: Array) -> int:
    return sum(array.nbytes for array in arrays)


def long_chain(size: int) -> GpuProgram:
    """A chain of elementwise ops that ends in a sum, and both gradients."""
    x, y = (_uniform(seed, (size,), -1, 1, np.float32) for seed in (8, 9))
    # Each input is read, and its gradient written.
    moved = 2 * _move(x, y) + x.itemsize
    return GpuProgram(formulas.long_chain, formulas.long_chain_by_hand, [x, y], moved, 2)


def black_scholes(size: int, dtype: str) -> GpuProgram:
    """Prices of options, and five Greeks of each."""
    bounds = ((50, 150), (50, 150), (0.01, 0.05), (0.1, 0.5), (0.1, 2))
    arrays = [_uniform(seed, (size,), low, high, dtype) for seed, (low, high) in enumerate(bounds)]
    moved = 2 * _move(*arrays) + arrays[0].nbytes
    return GpuProgram(
        formulas.black_scholes, formulas.black_scholes_by_hand, arrays, moved, sources=5
    )


def asian(paths: int, steps: int) -> GpuProgram:
    """An Asian option by Monte Carlo: price, delta, rho, vega, and the slope by the strike.

    Nothing has to be moved: a path can be drawn and followed by one thread.
    """
    values = [np.asarray(x, np.float32) for x in (100.0, 0.03, 0.2, 100.0)]
    function = functools.partial(formulas.asian, (paths, steps))
    return GpuProgram(function, formulas.asian_by_hand, values, 0, 4, draws=(paths, steps))


def total(rows: int, columns: int, axis: int | None) -> GpuProgram:
    """A sum over everything, or along an axis."""
    x = _uniform(10, (rows, columns), 0, 1, np.float32)
    retained = 1 if axis is None else x.shape[1 - axis]
    return GpuProgram(
        lambda ops, x: ops.sum(x, axis),
        lambda x: [x.sum(axis)],
        [x],
        _move(x) + retained * x.itemsize,
    )


def softmax(rows: int, columns: int, gradient: bool) -> GpuProgram:
    """A softmax of each row; with its gradient, for what comes from above."""
    x = _uniform(11, (rows, columns), -3, 3, np.float32)
    upstream = _uniform(12, x.shape, -1, 1, np.float32) if gradient else None
    return GpuProgram(
        lambda ops, x: ops.softmax(x),
        formulas.softmax_by_hand,
        [x],
        2 * _move(x) * (2 if gradient else 1),
        int(gradient),
        upstream,
    )


def layer_norm(rows: int, columns: int, gradient: bool) -> GpuProgram:
    """A layer norm of each row with scale and shift; with the gradients by all three."""
    x = _uniform(13, (rows, columns), -3, 3, np.float32)
    gamma = _uniform(14, (columns,), 0.5, 1.5, np.float32)
    beta = _uniform(15, (columns,), -1, 1, np.float32)
    upstream = _uniform(16, x.shape, -1, 1, np.float32) if gradient else None
    moved = _move(x, x, gamma, beta)
    return GpuProgram(
        lambda ops, x, gamma, beta: ops.layer_norm(x, gamma, beta),
        functools.partial(formulas.layer_norm_by_hand, EPSILON),
        [x, gamma, beta],
        2 * moved if gradient else moved,
        3 * gradient,
        upstream,
    )


def gather(rows: int, columns: int) -> GpuProgram:
    """As many rows as a table has, taken from it at random."""
    table = _uniform(17, (rows, columns), -1, 1, np.float32)
    at = np.random.default_rng(18).integers(rows, size=rows, dtype=np.int32)
    # A row that is taken twice has to be read once.
    read = int(np.count_nonzero(np.bincount(at))) * columns * table.itemsize
    return GpuProgram(
        lambda ops, table, at: ops.gather(table, at),
        lambda table, at: [table[at]],
        [table, at],
        read + _move(at, table),
    )


def scatter_add(rows: int, columns: int) -> GpuProgram:
    """The same rows added back at random places: the gradient of a gather."""
    added = _uniform(19, (rows, columns), -1, 1, np.float32)
    at = np.random.default_rng(20).integers(rows, size=rows, dtype=np.int32)
    return GpuProgram(
        lambda ops, added, at: ops.scatter_add(added, at, rows),
        functools.partial(formulas.scatter_add_by_hand, rows),
        [added, at],
        _move(added, at, added),
        scatters=True,
    )
