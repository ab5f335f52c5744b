"""The worker's side: builds, checks and times the steps of one library in its own process."""

from __future__ import annotations

import gc
import time
import traceback
from typing import Any

import numpy as np

from benchmarks import memory
from benchmarks.everyday.case import Array, Step
from benchmarks.everyday.cases import CASES
from benchmarks.worker import Batch, in_words, repeat

LARGE = 10_000  # elements; of larger arrays, a sample is sent to the harness
SAMPLE = 1_000
WARM_UP_CALLS, WARM_UP_SECONDS, LONG_WARM_UP = 3, 0.3, 3.0


class EverydayServer:
    """Serves the requests of the harness, with one method per request."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.steps: dict[str, Step] = {}

    def prepare(self, name: str, tiny: bool) -> dict[str, dict[str, Any] | str]:
        """Builds the steps of a workload and runs their first calls.

        Returns:
            By heading, the seconds of the first call and the results to compare, or an error
            message.
        """
        self.steps = {}
        gc.collect()
        case = CASES[name].make(tiny)
        outcome: dict[str, dict[str, Any] | str] = {}
        for heading, build in case.builders(self.library).items():
            try:
                start = time.perf_counter()
                step = build()
                result = step()
                first = time.perf_counter() - start
                results = [sample(a) for a in case.compared(result)]
                for _ in range(case.checked_steps - 1):
                    results += [sample(a) for a in case.compared(step())]
                if not tiny:
                    warm_up(step)
            except Exception as problem:
                traceback.print_exc()
                outcome[heading] = in_words(problem)
            else:
                self.steps[heading] = step
                outcome[heading] = {"first": first, "results": results}
        return outcome

    def batch(self, heading: str, batch: Batch) -> list[float]:
        """Repeats a step for a while and returns the seconds of each repeat."""
        return repeat(self.steps[heading], batch)

    def first(self, name: str, heading: str, tiny: bool) -> float:
        """Returns the seconds to build a step and to run its first call, in a fresh process."""
        build = CASES[name].make(tiny).builders(self.library)[heading]
        start = time.perf_counter()
        build()()
        return time.perf_counter() - start

    def peak(self, name: str, heading: str, tiny: bool, steps: int) -> float:
        """Returns the peak memory in MiB of the first steps, without library and inputs."""
        build = CASES[name].make(tiny).builders(self.library)[heading]
        gc.collect()
        memory.forget_peak()
        before = memory.resident()
        step = build()
        for _ in range(steps):
            step()
        return memory.peak() - before


def warm_up(step: Step) -> None:
    """Repeats a step, as replays of long programs are compiled after some calls."""
    start = time.perf_counter()
    calls, seconds = 0, 0.0
    while seconds < WARM_UP_SECONDS or (calls < WARM_UP_CALLS and seconds < LONG_WARM_UP):
        step()
        calls, seconds = calls + 1, time.perf_counter() - start


def sample(array: Array) -> Array:
    """Returns an array as float64; of a large one, evenly spaced elements, its sum and norm."""
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag])
    flat = array.astype(np.float64).ravel()
    if flat.size <= LARGE:
        return flat
    spaced = flat[np.linspace(0, flat.size - 1, SAMPLE).astype(np.int64)]
    return np.concatenate([spaced, [np.linalg.norm(flat) / np.sqrt(flat.size)]])


def difference(observed: list[Array], expected: list[Array]) -> float:
    """Returns the largest difference, relative to the largest entry of each array."""
    if [a.shape for a in observed] != [a.shape for a in expected]:
        return float("inf")
    worst = 0.0
    for own, reference in zip(observed, expected, strict=True):
        if own.size:
            scale = np.abs(reference).max() or 1.0
            error = float(np.abs(own - reference).max() / scale)
            worst = max(worst, error if np.isfinite(error) else float("inf"))
    return worst
