"""Inputs of the GPU cases, with the expected result and the minimal traffic of one step.

The kinds are the networks of ``benchmarks.inputs`` and ``GpuProgram``, a program over arrays. Large
inputs repeat a block of random numbers, so that creating them is fast.
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
EPSILON = 1e-5  # of the layer norm, as in PyTorch


@dataclass(frozen=True, eq=False)
class GpuProgram:
    """A function of arrays; a step returns its value and the gradients of its first inputs.

    If the value is an array, the gradients are those of its sum, weighted by ``upstream`` if given.

    Attributes:
        function: The function, called with a library's functions and the inputs.
        by_hand: Computes the expected result from float64 inputs, with ``upstream`` last.
        inputs: The arguments of the function.
        moved: Bytes that any implementation of a step has to read and write.
        sources: The number of leading inputs with gradients.
        upstream: The gradient of the value, if it is not all ones.
        draws: The shape of the normal numbers that the function draws, if any. If it gets them as
            its last input, it draws none.
        scatters: Whether it sums elements with equal indices, so that the order may vary.
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
        """Returns the inputs with fixed draws, so that the expected result is unique."""
        if self.draws is None:
            return self
        drawn = np.random.default_rng(9).standard_normal(self.draws, np.float32)
        return dataclasses.replace(self, inputs=[*self.inputs, drawn], draws=None)

    def compute_expected(self) -> list[Array]:
        """Computes the value and the gradients from formulas derived by hand."""
        provided = self.inputs if self.upstream is None else [*self.inputs, self.upstream]
        wide = (x.astype(np.float64) if x.dtype.kind == "f" else x for x in provided)
        return self.by_hand(*wide)

    def compute_observed(self, result: list[Array], weights: list[Array]) -> list[Array]:
        """Returns the result of a step as arrays."""
        return [np.asarray(array) for array in result]

    def work(self) -> MinimalWork:
        """Counts only the bytes moved."""
        return MinimalWork(self.moved, 0, {}, self.inputs[0].dtype.name)


Data = GpuProgram | Network


def after(data: Data, weights: list[Array]) -> Data:
    """Returns the inputs of the next step, given the weights after a step."""
    return dataclasses.replace(data, weights=weights) if isinstance(data, Network) else data


def small_net(hidden: int, batch: int) -> Network:
    """2-hidden-hidden-1, as on the CPU."""
    return inputs.small_net(hidden, batch)


def large_net(batch: int, *sizes: int) -> Network:
    """Dense layers of these sizes with relu, and a cross-entropy loss."""
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
    # Each input is read, and its gradient is written.
    moved = 2 * _move(x, y) + x.itemsize
    return GpuProgram(formulas.long_chain, formulas.long_chain_by_hand, [x, y], moved, 2)


def black_scholes(size: int, dtype: str) -> GpuProgram:
    """Option prices and the five Greeks of each."""
    bounds = ((50, 150), (50, 150), (0.01, 0.05), (0.1, 0.5), (0.1, 2))
    arrays = [_uniform(seed, (size,), low, high, dtype) for seed, (low, high) in enumerate(bounds)]
    moved = 2 * _move(*arrays) + arrays[0].nbytes
    return GpuProgram(
        formulas.black_scholes, formulas.black_scholes_by_hand, arrays, moved, sources=5
    )


def asian(paths: int, steps: int) -> GpuProgram:
    """An Asian option by Monte Carlo: price, delta, rho, vega, and derivative by the strike.

    The minimal traffic is 0, because one thread can draw and follow a path in registers.
    """
    values = [np.asarray(x, np.float32) for x in (100.0, 0.03, 0.2, 100.0)]
    function = functools.partial(formulas.asian, (paths, steps))
    return GpuProgram(function, formulas.asian_by_hand, values, 0, 4, draws=(paths, steps))


def total(rows: int, columns: int, axis: int | None) -> GpuProgram:
    """A sum over all elements, or along an axis."""
    x = _uniform(10, (rows, columns), 0, 1, np.float32)
    retained = 1 if axis is None else x.shape[1 - axis]
    return GpuProgram(
        lambda ops, x: ops.sum(x, axis),
        lambda x: [x.sum(axis)],
        [x],
        _move(x) + retained * x.itemsize,
    )


def softmax(rows: int, columns: int, gradient: bool) -> GpuProgram:
    """A softmax of each row, optionally with its gradient for an upstream gradient."""
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
    """A layer norm of each row with scale and shift, optionally with all three gradients."""
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
    """A gather of random rows, as many as the table has."""
    table = _uniform(17, (rows, columns), -1, 1, np.float32)
    at = np.random.default_rng(18).integers(rows, size=rows, dtype=np.int32)
    # A row that is gathered twice has to be read only once.
    read = int(np.count_nonzero(np.bincount(at))) * columns * table.itemsize
    return GpuProgram(
        lambda ops, table, at: ops.gather(table, at),
        lambda table, at: [table[at]],
        [table, at],
        read + _move(at, table),
    )


def scatter_add(rows: int, columns: int) -> GpuProgram:
    """A scatter-add of rows at random indices, the gradient of a gather."""
    added = _uniform(19, (rows, columns), -1, 1, np.float32)
    at = np.random.default_rng(20).integers(rows, size=rows, dtype=np.int32)
    return GpuProgram(
        lambda ops, added, at: ops.scatter_add(added, at, rows),
        functools.partial(formulas.scatter_add_by_hand, rows),
        [added, at],
        _move(added, at, added),
        scatters=True,
    )
