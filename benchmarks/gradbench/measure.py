"""Measures the evals: one single-threaded process per library, in turns, eval by eval.

Times are CPU times of the process over all its threads, which reduces the effect of background
load.
"""

from __future__ import annotations

import gc
import importlib
import os
import statistics
import time
from typing import Any

import numpy as np

from benchmarks.gradbench.cases import CASES, GradBenchCase
from benchmarks.gradbench.libs import LIBRARIES
from benchmarks.worker import BenchmarkWorker, Failed

AGREE = 1e-10
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMTAPE_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
    "NUMTAPE_DEVICE": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


class EvalServer:
    """The worker's side, with one method per request."""

    def __init__(self, library: str) -> None:
        if hasattr(os, "sched_setaffinity"):  # JAX starts a thread per core regardless of settings
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        self._module = importlib.import_module(f"benchmarks.gradbench.libs.{library}_")
        self._columns: dict[str, Any] = {}

    def prepare(self, name: str, size: tuple[int, ...], checked: bool) -> dict[str, Any]:
        """Prepare an eval. Returns values and flat gradient of each column if ``checked``."""
        case = CASES[name]
        self._columns.clear()
        self._columns = self._module.functions(case.eval, case.inputs(size), case.wanted)
        result = {}
        for heading, (primal, gradient) in self._columns.items():
            plain = primal()
            value, parts = gradient()
            flat = np.concatenate([np.ravel(part) for part in parts])
            result[heading] = (float(plain), float(value), flat) if checked else ()
        return result

    def stack(self, name: str, size: tuple[int, ...]) -> int | None:
        """The bytes of stack that a gradient uses, or None if the library cannot tell."""
        case = CASES[name]
        if not hasattr(self._module, "stack"):
            return None
        result: int = self._module.stack(case.eval, case.inputs(size), case.wanted)
        return result

    def turn(self, heading: str, seconds: float) -> list[tuple[float, float]]:
        """CPU seconds of primal and gradient, which alternate for ``seconds``."""
        primal, gradient = self._columns[heading]
        gc.collect()
        gradient()  # warms up the caches
        times = []
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            start = time.process_time()
            primal()
            between = time.process_time()
            gradient()
            times.append((between - start, time.process_time() - between))
        return times


def disagreement(result: Any, expected: Any) -> float:
    """The largest relative error of values and gradients."""
    plain, value, gradient = result
    _, exact, other = expected
    scale = np.abs(other).max() or 1.0
    off = [abs(plain - exact) / abs(exact), abs(value - exact) / abs(exact)]
    return float(max(*off, np.abs(gradient - other).max() / scale))


def measure(case_name: str, libraries: list[str], rounds: int, seconds: float, small: bool) -> Any:
    """Measure an eval.

    Returns:
      By column, the median seconds of the primal and of the gradient and their ratio, or an error
      message.
    """
    case = CASES[case_name]
    workers: dict[str, BenchmarkWorker] = {}
    columns: dict[str, Any] = {}
    expected = None
    try:
        for library in libraries:  # numtape is first: others are compared with it
            workers[library] = BenchmarkWorker(library, ENVIRONMENT, 600.0, EvalServer)
            full = case.small if small else case.size
            size = full if small else case.shorter.get(library, full)
            try:
                value = workers[library].call(
                    "prepare", case_name, full if small else case.small, True
                )
                if expected is None:
                    expected = next(iter(value.values()))
                for heading, one in value.items():
                    error = disagreement(one, expected)
                    columns[heading] = {
                        "library": library,
                        "size": size,
                        "error": error,
                        "times": [],
                    }
                    if not error < AGREE:
                        columns[heading] = {"failed": f"is off by {error:.1e}"}
                if not small:
                    workers[library].call("prepare", case_name, size, False)
            except Failed as problem:
                for heading in LIBRARIES[library].headings[:1]:
                    columns[heading] = {"failed": str(problem)}
        for _ in range(rounds):
            for heading, column in columns.items():
                if "failed" not in column:
                    worker = workers[column["library"]]
                    try:
                        column["times"] += worker.call("turn", heading, seconds)
                    except Failed as problem:
                        column["failed"] = str(problem)
        own = columns.get("numtape", {})
        if "times" in own and "failed" not in own:
            own["stack"] = workers["numtape"].call("stack", case_name, own["size"])
    finally:
        for worker in workers.values():
            worker.close()
    return {heading: _figures(case, column) for heading, column in columns.items()}


def _figures(case: GradBenchCase, column: dict[str, Any]) -> dict[str, Any]:
    if "failed" in column:
        return {"failed": column["failed"]}
    primal, gradient = (statistics.median(times) for times in zip(*column["times"], strict=True))
    operations = case.operations(column["size"])
    return {
        "size": list(column["size"]),
        "operations": operations,
        "error": column["error"],
        "primal": primal,
        "gradient": gradient,
        "ratio": statistics.median(g / p for p, g in column["times"]),
        "ns_an_operation": 1e9 * gradient / operations,
        "repeats": len(column["times"]),
        **({"stack": column["stack"]} if column.get("stack") is not None else {}),
    }
