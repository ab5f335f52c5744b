"""Runs one library in its own process, which serves requests of the harness over a pipe.

An idle worker blocks in ``recv`` and uses no CPU time while another worker is measured.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from benchmarks import memory
from benchmarks.cases import CASES
from benchmarks.inputs import Data, relative_error
from benchmarks.libs import LIBRARIES, LeftOut, LibraryVariant

MAX_REPEATS = 5_000
AGREE = 1e-4
# OpenBLAS threads of the previous worker spin for up to 0.1 s after their last call.
SETTLE = 0.2
# A single step that takes this long suffices as a warm-up.
LONG = 0.1


class Failed(Exception):
    """A request failed in the library or its process; carries the worker's message."""


@dataclass(frozen=True)
class Batch:
    """How long one turn of one variant lasts.

    Attributes:
        seconds: The target duration; no repeat starts later once ``at_least`` are done.
        at_least: The minimum number of repeats.
        patience: The duration after which no repeat starts, whatever their number.
    """

    seconds: float
    at_least: int
    patience: float


class CaseServer:
    """The worker's side, with one method per request."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.variants: dict[str, LibraryVariant] = {}

    def make(self, data: Data) -> dict[str, LibraryVariant]:
        """Returns the library's variants. The first call imports the library."""
        module = importlib.import_module(f"benchmarks.libs.{self.library}_")
        variants: dict[str, LibraryVariant] = module.variants(data)
        return variants

    def prepare(self, name: str) -> dict[str, dict[str, float] | LeftOut | str]:
        """Checks the first step of each variant, and prepares the correct ones for timing.

        Returns:
            By heading, the relative error and the seconds until the first step was done, including
            the time to build the variant; or the reason to leave it out; or an error message.
        """
        make = CASES[name].data
        assert make is not None
        data = make()
        checked = data.for_check()
        expected = checked.compute_expected()
        self.variants = {}
        outcome: dict[str, dict[str, float] | LeftOut | str] = {}
        importlib.import_module(f"benchmarks.libs.{self.library}_")
        start = time.perf_counter()
        try:
            firsts = self.make(checked)
        except LeftOut as reason:
            return dict.fromkeys(LIBRARIES[self.library].headings, reason)
        built = time.perf_counter() - start
        candidates = firsts if checked is data else self.make(data)
        for heading, variant in firsts.items():
            try:
                start = time.perf_counter()
                result = variant.step()
                first = built + time.perf_counter() - start
                error = relative_error(
                    checked.compute_observed(result, variant.weights()), expected
                )
                if error > AGREE:
                    raise ArithmeticError(f"the first step is off by {error:.1e}")
                candidates[heading].step()
            except Exception as problem:
                traceback.print_exc()
                outcome[heading] = in_words(problem)
            else:
                outcome[heading] = {"relative_error": error, "first_step": first}
                self.variants[heading] = candidates[heading]
        return outcome

    def batch(self, heading: str, batch: Batch) -> list[float]:
        """Repeats a step for a while and returns the seconds of each repeat."""
        return repeat(self.variants[heading].step, batch)

    def peaks(self, name: str, steps: int) -> dict[str, float]:
        """Returns the peak memory in MiB of the first steps, without library and inputs.

        A step of another case runs first, because some libraries load code with their first
        gradient.
        """
        first, make = CASES["scalar_chain"].data, CASES[name].data
        assert first is not None
        assert make is not None
        for variant in self.make(first()).values():
            variant.step()
        # Only the first variant: another one would reuse memory that this one has freed.
        heading, variant = next(iter(self.make(make()).items()))
        gc.collect()
        memory.forget_peak()
        before = memory.resident()
        for _ in range(steps):
            variant.step()
        return {heading: memory.peak() - before}

    def run(self, module: str, function: str, *arguments: object) -> Any:
        """Calls a function of the benchmarks in the worker process."""
        return getattr(importlib.import_module(module), function)(*arguments)


def repeat(step: Callable[[], Any], batch: Batch) -> list[float]:
    """Repeats a step for a while and returns the seconds of each repeat."""
    gc.collect()
    time.sleep(SETTLE)
    start = time.perf_counter()
    step()
    if time.perf_counter() - start < LONG:
        step()  # warms up caches and threads
    times: list[float] = []
    begin = time.perf_counter()
    while True:
        start = time.perf_counter()
        step()
        stop = time.perf_counter()
        times.append(stop - start)
        spent, enough = stop - begin, len(times) >= batch.at_least
        if enough and (spent > batch.seconds or len(times) == MAX_REPEATS):
            return times
        if spent > batch.patience:
            return times


def in_words(problem: Exception) -> str:
    """Returns the message of our own errors, else the type only, as messages may contain paths."""
    own = isinstance(problem, ArithmeticError)
    return str(problem) if own else type(problem).__name__


def serve(
    connection: Connection,
    library: str,
    environment: dict[str, str],
    make: Callable[[str], Any],
) -> None:
    """Serves requests in the worker until the harness closes the pipe or sends ``None``."""
    os.environ.update(environment)
    served: Any = None
    try:
        while (request := connection.recv()) is not None:
            method, arguments = request
            try:
                served = served or make(library)
                connection.send((True, getattr(served, method)(*arguments)))
            except Exception as problem:
                traceback.print_exc()
                connection.send((False, in_words(problem)))
    except (EOFError, KeyboardInterrupt):
        pass  # the harness is gone, or reports the interrupt itself


class BenchmarkWorker:
    """The harness's side of a worker process."""

    def __init__(
        self,
        library: str,
        environment: dict[str, str],
        timeout: float = 180.0,
        make: Callable[[str], Any] = CaseServer,
    ) -> None:
        """Starts the process, which calls ``make(library)`` at the first request to serve them."""
        context = multiprocessing.get_context("spawn")
        self._timeout = timeout
        self._connection, reference = context.Pipe()
        self._process = context.Process(
            target=serve, args=(reference, library, environment, make), daemon=True
        )
        self._process.start()
        reference.close()

    def call(self, method: str, *arguments: object) -> Any:
        """Sends a request to the worker and waits for the answer.

        Raises:
            Failed: If the library failed, its process died, or the request timed out.
        """
        try:
            self._connection.send((method, arguments))
            if not self._connection.poll(self._timeout):
                self._process.kill()
                raise Failed(f"no answer in {self._timeout:.0f} s")
            done, answer = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join(5)
            raise Failed(f"the process ended with status {self._process.exitcode}") from None
        if not done:
            raise Failed(answer)
        return answer

    def close(self) -> None:
        """Stops the process."""
        try:
            self._connection.send(None)
        except OSError:
            pass
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._connection.close()


def in_worker(library: str, environment: dict[str, str], *request: object) -> Any:
    """Sends one request to a fresh worker and stops it afterwards.

    Raises:
        Failed: As ``BenchmarkWorker.call`` does.
    """
    worker = BenchmarkWorker(library, environment)
    try:
        method, *arguments = request
        return worker.call(str(method), *arguments)
    finally:
        worker.close()
