"""Serves the requests of ``measure`` in the process of one library, which uses the GPU alone."""

from __future__ import annotations

import importlib
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gpu import inputs
from benchmarks.gpu.cases import CASES, GpuCase
from benchmarks.gpu.inputs import Data
from benchmarks.gpu.libs import LIBRARIES, BenchmarkStep, GpuLibrary, NoGpuError
from benchmarks.inputs import Array, MinimalWork, relative_error
from benchmarks.worker import MAX_REPEATS, Batch, in_words

CHECKED = 2  # steps: the second one runs recorded or compiled code
LONG = 0.25  # seconds per step
TOGETHER = 4  # runs per measurement of a ceiling
TAIL = 1_000  # elements of each result that are compared between libraries
PRODUCT = {"full": 8192, "small": 512, "tiny": 4}  # rows of a square matrix
COPIED = {"full": 2**30, "small": 2**22, "tiny": 2**8}  # bytes
CALLS = {"full": 2_000, "small": 200, "tiny": 2}
DTYPES = ("float32", "tf32", "float64")


class GpuCaseServer:
    """The worker's side, with one method per request."""

    def __init__(self, library: str) -> None:
        self.name = library
        self._library: GpuLibrary | None = None

    @property
    def library(self) -> GpuLibrary:
        """The library, imported on first use."""
        if self._library is None:
            entry = LIBRARIES[self.name]
            module = importlib.import_module(f"benchmarks.gpu.libs.{entry.module}")
            library: GpuLibrary = getattr(module, entry.class_name)()
            self._library = library
        return self._library

    def ready(self) -> dict[str, str]:
        """Describes the GPU that the library finds, or under ``missing`` why it finds none."""
        try:
            return self.library.about()
        except NoGpuError as problem:
            return {"missing": str(problem)}

    def measure(
        self, name: str, size: str, batch: Batch
    ) -> tuple[MinimalWork, dict[str, dict[str, Any]]]:
        """Checks and times each variant of a case.

        Returns:
            The minimal work of a step, and the measurements of each column: ``times``, ``first``
            (seconds of the first step, with compilation), ``peak`` (bytes), ``kernels`` per step,
            ``relative_error`` (on the small size), ``tails`` of the first results; or ``failed``,
            the error.
        """
        case, library = CASES[name], self.library
        library.free()
        library.allow_tensor_float(case.tensor_float)
        small = case.data("tiny" if size == "tiny" else "small").for_check()
        checked = library.steps(small)
        outcome: dict[str, dict[str, Any]] = {}
        for heading, make in checked.items():
            outcome[heading] = _attempt(lambda make=make: self._check(case, small, make()))
        del checked
        data = case.data(size)
        library.free()
        created = library.steps(data)
        for heading, make in created.items():
            if "failed" not in outcome[heading]:
                timed = _attempt(lambda make=make: self._time(case, make(), batch))
                outcome[heading] |= timed
            library.free()
        work = data.work()
        del data, created
        library.free()
        return work, outcome

    def _check(self, case: GpuCase, data: Data, step: BenchmarkStep) -> dict[str, Any]:
        """Compares the results of steps with the expected ones."""
        worst = 0.0
        for _ in range(CHECKED):
            results = [self.library.fetch(result) for result in step.run()]
            weights = step.weights()
            observed = data.compute_observed(results[0] if weights else results, weights)
            error = relative_error(observed, data.compute_expected())
            if error > case.tolerance:
                raise ArithmeticError(f"a step is off by {error:.1e}")
            worst, data = max(worst, error), inputs.after(data, weights)
        return {"relative_error": worst}

    def _time(self, case: GpuCase, step: BenchmarkStep, batch: Batch) -> dict[str, Any]:
        library, run = self.library, step.run
        begin = time.perf_counter()
        results = run()
        tails = [library.fetch(result, TAIL).reshape(-1) for result in results]
        first = time.perf_counter() - begin
        del results
        inner = self._together(case, run) if batch.seconds else 1
        times: list[float] = []
        before = library.kernels()
        begin = time.perf_counter()
        while True:
            times.append(library.seconds(run, inner) / inner)
            spent, enough = time.perf_counter() - begin, len(times) >= batch.at_least
            full = spent > batch.seconds or len(times) == MAX_REPEATS
            if (enough and full) or spent > batch.patience:
                break
        launched = library.kernels()
        steps = len(times) * inner
        kernels = None if before is None or launched is None else (launched - before) // steps
        return {
            "times": times,
            "first": first,
            "tails": tails,
            "peak": library.peak(),
            "kernels": kernels,
        }

    def _together(self, case: GpuCase, run: Callable[[], object]) -> int:
        """The number of steps per measurement: 1 if they are slow."""
        if self.library.seconds(run, 1) < LONG:
            return case.inner
        # The previous step may have compiled code, so time another one.
        return case.inner if self.library.seconds(run, 1) < LONG else 1

    def ceilings(self, size: str) -> dict[str, dict[str, float]]:
        """Measures the rates of copies (bytes/s) and of matrix products (flop/s)."""
        library, count = self.library, COPIED[size]
        ceilings = {
            "copy": {
                name: 2 * count / self._shortest(run) for name, run in library.copies(count).items()
            }
        }
        library.free()
        rows = PRODUCT[size]
        for dtype in DTYPES:
            library.allow_tensor_float(dtype == "tf32")
            run = library.product("float64" if dtype == "float64" else "float32", rows)
            if run is not None:
                ceilings[dtype] = {self.name: 2 * rows**3 / self._shortest(run)}
            del run
            library.free()
        return ceilings

    def _shortest(self, run: Callable[[], object], repeats: int = 5) -> float:
        """The shortest time of a run in seconds, which gives the peak rate."""
        run()
        return min(self.library.seconds(run, TOGETHER) for _ in range(repeats)) / TOGETHER

    def overheads(self, size: str) -> dict[str, dict[str, float]]:
        """Measures calls that compute almost nothing.

        Returns:
            Seconds per call: ``host`` until the calls return, ``done`` until the GPU has finished.
        """
        overheads: dict[str, dict[str, float]] = {}
        count = CALLS[size]
        for name, run in self.library.overheads().items():
            self.library.seconds(run, 2)
            rounds = [self._calls(run, count) for _ in range(1 if size == "tiny" else 5)]
            host, done = np.median(rounds, axis=0) / count
            overheads[name] = {"host": float(host), "done": float(done)}
        return overheads

    def _calls(self, run: Callable[[], object], count: int) -> tuple[float, float]:
        asked = 0.0

        def calls() -> object:
            nonlocal asked
            begin = time.perf_counter()
            for _ in range(count):
                result = run()
            asked = time.perf_counter() - begin
            return result

        done = self.library.seconds(calls, 1)
        return asked, done

    def first_step(self, name: str) -> float:
        """Returns the seconds of a first step on the small size."""
        case = CASES[name]
        make, *_ = self.library.steps(case.data("small")).values()
        step = make()
        begin = time.perf_counter()
        self.library.seconds(step.run, 1)
        return time.perf_counter() - begin


def _attempt(action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return action()
    except Exception as problem:
        traceback.print_exc()
        return {"failed": in_words(problem)}


def difference(one: list[Array], other: list[Array]) -> float:
    """Returns the largest relative difference between the results of two libraries."""
    return relative_error(other, [array.astype(np.float64) for array in one])
