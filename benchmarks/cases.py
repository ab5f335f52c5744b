"""The table of benchmark cases, with their goals.

A new case of a known kind is one entry in ``CASES``, with its function in ``formulas`` or
``programs``; a new kind of input is one class in ``inputs`` and one builder in each module of
``libs``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from benchmarks import programs
from benchmarks.inputs import Data, black_scholes, large_net, long_chain, scalar_chain, small_net

OURS = "numtape"
REPLAYED, COMPILED = "nt.function", "jit_compile"
# Eager, with hot plans left uncompiled: each elementwise op is one kernel call per block.
UNFUSED = "not fused"
OWN = (OURS, REPLAYED, COMPILED, UNFUSED)
BEST_PEER = "best peer"


@dataclass(frozen=True)
class Limit:
    """An upper limit on the figure in ``column``, one of numtape's columns.

    The limit is ``at_most`` times the figure of column ``of``, or ``at_most`` itself if ``of`` is
    None.
    """

    at_most: float
    of: str | None = None
    column: str = OURS


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        name: The name for ``--cases``.
        title: The row's heading.
        kind: ``step`` is timed in a warm worker of each library; ``process`` is the wall time of
            fresh processes; ``memory`` is the peak of the first steps of a fresh worker;
            ``figure`` is measured for numtape only.
        goal: The limits that numtape must meet.
        unit: ``s`` or ``MiB``.
        data: Makes the inputs of a ``step`` or of the steps of ``memory``.
        libraries: The libraries that take part, if restricted.
    """

    name: str
    title: str
    kind: Literal["step", "process", "memory", "figure"]
    goal: tuple[Limit, ...]
    unit: Literal["s", "MiB"] = "s"
    data: Callable[[], Data] | None = None
    libraries: tuple[str, ...] | None = None


# Tolerance in MiB for memory that the allocator retains or returns. A real leak over 9,900 steps
# or a million iterations is far larger.
FLAT = (Limit(2.0),)

CASES = {
    case.name: case
    for case in (
        Case(
            "scalar_chain",
            "100 scalar ops + gradient",
            "step",
            (
                Limit(0.12e-3),
                Limit(1 / 10, "PyTorch"),
                Limit(1 / 50, "TF eager"),
                Limit(0.015e-3, column=REPLAYED),
                Limit(1 / 2, "JAX jit", REPLAYED),
            ),
            data=scalar_chain,
        ),
        Case(
            "small_net",
            "2-64-64-1 network step, batch 32",
            "step",
            (
                Limit(0.12e-3),
                Limit(1 / 2, "PyTorch"),
                Limit(0.05e-3, column=REPLAYED),
                Limit(0.7, "JAX jit", REPLAYED),
            ),
            data=small_net,
        ),
        Case(
            "large_net",
            "784-512-512-10 network step, batch 256",
            "step",
            # Nine tenths of the time are matrix products, which every library delegates to BLAS;
            # numtape can only avoid adding overhead.
            (Limit(1.0, BEST_PEER), Limit(1.0, BEST_PEER, REPLAYED)),
            data=large_net,
        ),
        Case(
            "black_scholes",
            "Black-Scholes price and 5 Greeks, 1M options, float64",
            "step",
            (
                Limit(0.020),
                Limit(1 / 2, BEST_PEER),
                Limit(1.0, UNFUSED, REPLAYED),
                Limit(0.8, UNFUSED, COMPILED),
            ),
            data=black_scholes,
        ),
        Case(
            "long_chain",
            "sum(y tanh(sin(x² + y) exp(-x))) and gradients, 10M float32",
            "step",
            (
                Limit(0.050),
                Limit(1 / 2, BEST_PEER),
                Limit(1.0, UNFUSED, REPLAYED),
                Limit(0.8, UNFUSED, COMPILED),
            ),
            data=long_chain,
        ),
        *(
            Case(name, title, "step", (Limit(1.0, BEST_PEER, REPLAYED),), data=data)
            for name, title, data in (
                ("asian", "Asian option, a loop of 64 steps, 10k paths", programs.asian_option),
                ("solves", "2,000 systems of 8 equations", programs.small_solves),
                ("lstm", "LSTM, 20 steps of 64 cells, batch 32", programs.lstm_step),
                ("convolution", "16 and 32 filters, batch 32, 16 by 16", programs.convolution_step),
                ("hessian_50", "Hessian, 50 variables", partial(programs.hessian, 50)),
                ("hessian_200", "Hessian, 200 variables", partial(programs.hessian, 200)),
                ("jacobian_50", "Jacobian, 50 by 50", partial(programs.jacobian, 50)),
                ("jacobian_200", "Jacobian, 200 by 200", partial(programs.jacobian, 200)),
            )
        ),
        Case("import_only", "fresh process: import", "process", (Limit(0.3),)),
        Case(
            "import_first_gradient",
            "fresh process: import + first gradient",
            "process",
            (Limit(0.5),),
        ),
        Case(
            "first_gradient_empty_cache",
            "the same with an empty cache",
            "process",
            (Limit(5.0),),
            libraries=(OURS,),
        ),
        Case(
            "empty_call",
            "call of an empty function",
            "figure",
            (Limit(3e-6),),
            libraries=(OURS,),
        ),
        Case(
            "failing_guard",
            "cost of a failing guard, path already recorded",
            "figure",
            (Limit(5e-6),),
            libraries=(OURS,),
        ),
        Case(
            "record_row",
            "recording, per row of 100,000",
            "figure",
            (Limit(1.2e-6),),
            libraries=(OURS,),
        ),
        Case(
            "transpose",
            "transposing 100,000 scalar rows",
            "figure",
            (Limit(0.020),),
            libraries=(OURS,),
        ),
        Case(
            "memory_training",
            "memory growth from step 100 to 10,000 of the small network",
            "figure",
            FLAT,
            "MiB",
            libraries=(OURS,),
        ),
        Case(
            "memory_unlooked",
            "memory growth in 10^6 iterations that evaluate nothing",
            "figure",
            FLAT,
            "MiB",
            libraries=(OURS,),
        ),
        Case(
            "memory_replayed",
            "memory growth in 10^6 replays",
            "figure",
            FLAT,
            "MiB",
            libraries=(OURS,),
        ),
        Case(
            "memory_large_net",
            "peak memory of 5 steps of the 784-512-512-10 network",
            "memory",
            (Limit(1.0, "PyTorch"),),
            "MiB",
            large_net,
            (OURS, "torch"),
        ),
        Case(
            "memory_black_scholes",
            "peak memory of 5 steps of Black-Scholes",
            "memory",
            (Limit(1.0, "PyTorch"),),
            "MiB",
            black_scholes,
            (OURS, "torch"),
        ),
    )
}
