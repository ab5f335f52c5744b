"""Peak rates of this machine, and lower bounds on step times derived from them.

Three rates are measured in the same run as the cases: bytes copied per second, floating-point
operations per second in matrix products, and the time of one transcendental call on one core.
``floors`` converts them to times that no step with this minimal work can beat.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.inputs import MinimalWork, large_net

COPIED = 2**28  # bytes: larger than the last-level cache of common machines
# Operations far slower than a multiplication; "reciprocal" stands for any division.
FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "erf", "sqrt", "reciprocal")


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _best(call: Callable[[], object], repeats: int) -> float:
    """Returns the shortest time, which gives the peak rate."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def bandwidth(threads: int, size: int, repeats: int) -> float:
    """Returns the bytes per second, read plus written, of threads that copy an array."""
    import numba

    @numba.njit("void(f8[::1], f8[::1])", nogil=True)
    def copy(source: Any, target: Any) -> None:
        for i in range(source.size):
            target[i] = source[i]

    source, target = np.ones(size // 8), np.zeros(size // 8)
    pieces = [np.array_split(a, threads) for a in (source, target)]
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: list(pool.map(copy, *pieces)), repeats)
    return 2 * source.nbytes / seconds


def product_rate(repeats: int) -> float:
    """Returns the flop/s of NumPy's float32 matrix products at the large net's shapes."""
    rng = np.random.default_rng(0)
    operations, seconds = 0, 0.0
    for m, k, n in large_net().shapes():
        a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
        out = np.empty((m, n), np.float32)
        seconds += _best(functools.partial(np.matmul, a, b, out), repeats)
        operations += 2 * m * k * n
    return operations / seconds


def machine(quick: bool) -> dict[str, Any]:
    """Measures the rates that need only NumPy and Numba."""
    size, repeats = (COPIED // 8, 2) if quick else (COPIED, 10)
    return {
        "copy_one_thread": bandwidth(1, size, repeats),
        "copy_all_threads": bandwidth(cores(), size, repeats),
        "products": product_rate(3 if quick else 30),
    }


def call_costs(quick: bool) -> dict[str, dict[str, float]]:
    """Measures the seconds per element of numtape's elementary functions, on one thread.

    Each cost is the time difference of two sums, with and without the function, over blocks that
    stay in the cache.
    """
    import numtape as nt

    rows, size, repeats = (8, 20_000, 2) if quick else (64, 100_000, 7)
    functions: dict[str, Any] = {name: getattr(nt.math, name) for name in FUNCTIONS}
    costs: dict[str, dict[str, float]] = {}
    for dtype in ("float32", "float64"):
        x = nt.constant(np.random.default_rng(0).uniform(0.2, 1.0, size), dtype)

        def total(function: Callable[[Any], Any], x: nt.Tensor = x) -> float:
            y = x
            for i in range(rows):  # different factors, or equal rows would be merged
                y = y + function(x * (1 + i / rows))
            return float(nt.reduce_sum(y))

        def seconds(function: Callable[[Any], Any], total: Callable[..., float] = total) -> float:
            total(function)
            return _best(lambda: total(function), repeats)

        without = seconds(lambda y: y)
        costs[dtype] = {
            name: max(0.0, seconds(function) - without) / (rows * size)
            for name, function in functions.items()
        }
    return costs


def floors(work: MinimalWork, rates: dict[str, Any], measured: float | None) -> dict[str, Any]:
    """Returns a step's floors in seconds, and its time as a multiple of their combination.

    Data movement overlaps with computation, so the floor is the larger of the traffic time and
    the time of products plus calls. Calls are spread over all cores. (Black-Scholes takes 1.05
    times as long with blocks from memory as with blocks in the cache.)
    """
    costs = rates.get("calls", {}).get(work.dtype, {})
    memory = work.traffic / rates["copy_all_threads"]
    products = work.products / rates["products"]
    calls = sum(n * costs.get(name, 0.0) for name, n in work.calls.items()) / cores()
    floor = max(memory, products + calls)
    return {
        "bytes": work.traffic,
        "operations": work.products,
        "calls": work.calls,
        "floor_memory": memory,
        "floor_products": products,
        "floor_calls": calls if costs else None,
        "floor": floor,
        "ratio": None if measured is None else measured / floor,
    }
