"""Scaling of numtape's time with the elements of an array, the rows of a log, and the threads.

``elements``, ``rows`` and ``step`` run in workers, which ``measure`` starts.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.worker import in_worker

# A step needs its inputs twice (the NumPy arrays and the tensors), the gradients, and slack.
BYTES_PER_ELEMENT = 8 * 4


def _median(step: Callable[[], object], seconds: float) -> float:
    """Returns the median time of a step, repeated for ``seconds`` but at least three times."""
    step()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1_000):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def elements(quick: bool) -> list[dict[str, float]]:
    """Times the long chain for arrays of growing size, as far as memory allows."""
    from benchmarks.inputs import long_chain
    from benchmarks.libs.numtape_ import variants

    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    sizes = [10**power for power in range(4, 6 if quick else 9)]
    return [
        {"elements": size, "seconds": _median(variants(long_chain(size))["numtape"].step, 0.3)}
        for size in sizes
        if size * BYTES_PER_ELEMENT < memory / 2
    ]


def rows(quick: bool) -> list[dict[str, float]]:
    """Times the stages of a scalar chain of growing length, per row.

    The cost of an almost empty step is subtracted. The garbage collector is disabled, because its
    passes over all live objects would dominate the time of Python.
    """
    from benchmarks.figures import stages

    def median(rows: int, repeats: int) -> list[float]:
        stages(rows)
        times = [stages(rows) for _ in range(repeats)]
        return [statistics.median(stage) for stage in zip(*times, strict=True)]

    gc.disable()
    empty = median(2, 30)
    rows = []
    for power in range(2, 4 if quick else 7):
        count = 10**power
        times = median(count, max(3, min(100, 300_000 // count)))
        record, gradient, sweep = (
            max(0.0, seconds - fixed) / (count - 2)
            for seconds, fixed in zip(times, empty, strict=True)
        )
        rows.append({"rows": count, "record": record, "gradient": gradient, "sweep": sweep})
    return rows


def step(case: str, quick: bool) -> float:
    """Times numtape's step of a case, with the number of threads that the environment sets."""
    from benchmarks.cases import CASES
    from benchmarks.libs.numtape_ import variants

    data = CASES[case].data
    assert data is not None
    return _median(variants(data())["numtape"].step, 0.0 if quick else 0.5)


def measure(environment: dict[str, str], quick: bool) -> dict[str, Any]:
    """Measures elements, rows and threads, each in its own process.

    Raises:
        Failed: If one of the processes fails.
    """

    def fresh(function: str, *arguments: object, **variables: str) -> Any:
        request = "run", "benchmarks.scaling", function, *arguments
        return in_worker("numtape", {**environment, **variables}, *request)

    threads = {
        case: {
            "one": fresh("step", case, quick, NUMTAPE_NUM_THREADS="1"),
            "all": fresh("step", case, quick),
        }
        for case in ("black_scholes", "long_chain")
    }
    return {
        "elements": fresh("elements", quick),
        "rows": fresh("rows", quick),
        "threads": threads,
    }
