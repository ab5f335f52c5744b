"""The table of GPU cases, with their goals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.cases import BEST_PEER, OURS, REPLAYED, Limit
from benchmarks.gpu import inputs
from benchmarks.gpu.inputs import Data

FLOOR = "floor"
JAX = "JAX jit"
ATOMICS = "atomics"  # replayed, with sums in nondeterministic order
OWN = (OURS, REPLAYED, ATOMICS)
SIZES = ("full", "small", "tiny")


@dataclass(frozen=True)
class GpuCase:
    """One row of the table.

    Attributes:
        name: The name for ``--cases``.
        title: The row's heading.
        make: Creates the inputs from a size.
        full: The size that is timed.
        small: The size on which every library is compared with ``compute_expected``.
        tiny: The size for both purposes in the simulator.
        goal: The limits that numtape must meet.
        tensor_float: Whether all libraries may compute products with TF32.
        inner: Steps between two events. More than one overlaps the launch of a step with the
            computation of the previous one; many, if a step is shorter than the clock's resolution.
        tolerance: The allowed relative error on the small size.
        agreement: The allowed relative difference between libraries on the full size.
        drawn: Whether each library draws its own random numbers, so that results agree only for
            many draws.
    """

    name: str
    title: str
    make: Callable[..., Data]
    full: tuple[Any, ...]
    small: tuple[Any, ...]
    tiny: tuple[Any, ...]
    goal: tuple[Limit, ...]
    tensor_float: bool = False
    inner: int = 4
    tolerance: float = 1e-4
    agreement: float = 1e-3
    drawn: bool = False

    def data(self, size: str) -> Data:
        """Returns the inputs of a size, one of ``SIZES``."""
        arguments: tuple[Any, ...] = getattr(self, size)
        return self.make(*arguments)


def _both(*limits: tuple[float, str]) -> tuple[Limit, ...]:
    """Limits for both the eager and the replayed column."""
    return tuple(Limit(most, of, column) for column in (OURS, REPLAYED) for most, of in limits)


# A floor is a time at the measured copy rate: 80 % of the rate is 1.25 times the floor.
STREAMED = (1 / 0.8, FLOOR)
WITH_ATOMICS = (1 / 0.5, FLOOR)
ROWS = (2**16, 2**12)  # float32: 1 GiB

CASES = {
    case.name: case
    for case in (
        GpuCase(
            "long_chain",
            "sum(tanh(sin(x² + y) exp(-x)) y) and gradients, 2²⁸ float32",
            inputs.long_chain,
            (2**28,),
            (100_003,),
            (43,),
            _both(STREAMED, (1.0, JAX)),
        ),
        GpuCase(
            "black_scholes_float32",
            "Black-Scholes and 5 Greeks, 64M options, float32",
            inputs.black_scholes,
            (64_000_000, "float32"),
            (100_003, "float32"),
            (43, "float32"),
            _both(STREAMED, (1.0, JAX)),
        ),
        GpuCase(
            "black_scholes_float64",
            "Black-Scholes and 5 Greeks, 64M options, float64",
            inputs.black_scholes,
            (64_000_000, "float64"),
            (100_003, "float64"),
            (43, "float64"),
            _both(STREAMED, (1.0, JAX)),
        ),
        GpuCase(
            "large_net",
            "4096-8192-8192-10 network step, batch 8192, float32",
            inputs.large_net,
            (8192, 4096, 8192, 8192, 10),
            (128, 64, 128, 128, 10),
            (3, 4, 3, 3, 2),
            _both((1.05, BEST_PEER)),
            inner=1,
        ),
        GpuCase(
            "large_net_tf32",
            "the same with TF32",
            inputs.large_net,
            (8192, 4096, 8192, 8192, 10),
            (128, 64, 128, 128, 10),
            (3, 4, 3, 3, 2),
            _both((1.05, BEST_PEER)),
            tensor_float=True,
            inner=1,
            # TF32 has 11 bits; on an H200 all three libraries are 6.2 % off at the same element.
            tolerance=0.1,
            agreement=0.1,
        ),
        GpuCase(
            "small_net",
            "2-64-64-1 network step, batch 32",
            inputs.small_net,
            (64, 32),
            (64, 32),
            (3, 2),
            (Limit(30e-6, column=REPLAYED), Limit(1 / 2, "PyTorch", REPLAYED)),
            inner=20,
        ),
        GpuCase(
            "asian",
            "Asian option and 4 Greeks, 1M paths of 252 steps, float32",
            inputs.asian,
            (1_000_000, 252),
            (4_000, 252),
            (4, 6),
            _both((1 / 2, BEST_PEER)),
            inner=1,
            # Each library has its own draws, so some 0.3 % of Monte Carlo error remain.
            agreement=3e-2,
            drawn=True,
        ),
        GpuCase(
            "sum",
            "sum of 1 GiB, float32",
            inputs.total,
            (*ROWS, None),
            (64, 1_003, None),
            (5, 7, None),
            _both(STREAMED),
        ),
        GpuCase(
            "sum_rows",
            "sum of each row of 1 GiB",
            inputs.total,
            (*ROWS, 1),
            (64, 1_003, 1),
            (5, 7, 1),
            _both(STREAMED),
        ),
        GpuCase(
            "sum_columns",
            "sum of each column of 1 GiB",
            inputs.total,
            (*ROWS, 0),
            (64, 1_003, 0),
            (5, 7, 0),
            _both(STREAMED),
        ),
        GpuCase(
            "softmax",
            "softmax of rows, 1 GiB",
            inputs.softmax,
            (*ROWS, False),
            (64, 1_003, False),
            (3, 7, False),
            _both(STREAMED),
        ),
        GpuCase(
            "softmax_gradient",
            "softmax of rows and its gradient, 1 GiB",
            inputs.softmax,
            (*ROWS, True),
            (64, 1_003, True),
            (3, 7, True),
            _both(STREAMED),
        ),
        GpuCase(
            "layer_norm",
            "layer norm of rows, 1 GiB",
            inputs.layer_norm,
            (*ROWS, False),
            (64, 1_003, False),
            (3, 7, False),
            _both(STREAMED),
        ),
        GpuCase(
            "layer_norm_gradient",
            "layer norm of rows and its gradients, 1 GiB",
            inputs.layer_norm,
            (*ROWS, True),
            (64, 1_003, True),
            (3, 7, True),
            _both(STREAMED),
        ),
        GpuCase(
            "gather",
            "gather of 4M random rows of 64, 1 GiB",
            inputs.gather,
            (2**22, 64),
            (1_000, 64),
            (6, 3),
            _both(STREAMED),
        ),
        GpuCase(
            "scatter_add",
            "scatter-add of 4M rows of 64 at random, 1 GiB",
            inputs.scatter_add,
            (2**22, 64),
            (1_000, 64),
            (6, 3),
            # The columns with a fixed order of sums have no goal and are shown for comparison.
            (Limit(*WITH_ATOMICS, ATOMICS),),
        ),
    )
}
