"""One library in its own process, doing what the harness asks for through a pipe.

A worker waits in ``recv`` and burns nothing while another one is measured.
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
# After their last call, OpenBLAS's threads of the worker before us spin for up to 0.1 s.
SETTLE = 0.2
# A step that takes this long has woken everything in one go.
LONG = 0.1


class Failed(Exception):
    """The library could not do what was asked; carries the worker's account of it."""


@dataclass(frozen=True)
class Batch:
    """How long one turn of one variant lasts.

    Attributes:
        seconds: Repeats begin until then.
        at_least: How many there are even so,
        patience: but none begins after this many seconds.
    """

    seconds: float
    at_least: int
    patience: float


class _Served:
    """The worker's side: a method per request."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.variants: dict[str, LibraryVariant] = {}

    def make(self, data: Data) -> dict[str, LibraryVariant]:
        """Gives the library's variants; it is imported at the first call."""
        module = importlib.import_module(f"benchmarks.libs.{self.library}_")
        variants: dict[str, LibraryVariant] = module.variants(data)
        return variants

    def prepare(self, name: str) -> dict[str, dict[str, float] | LeftOut | str]:
        """Checks each variant's first step, and makes ready those that are right.

        Returns:
            The relative error of each variant and the seconds until its first step was done, what
            was built for it included, or why it takes no part, or what went wrong.
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
        step = self.variants[heading].step
        gc.collect()
        time.sleep(SETTLE)
        start = time.perf_counter()
        step()
        if time.perf_counter() - start < LONG:
            step()  # caches and threads are awake again
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

    def peaks(self, name: str, steps: int) -> dict[str, float]:
        """Gives the MiB that the first steps need at their peak, beyond library and inputs.

        Some libraries load their code at import, some with the first gradient: so one goes before.
        """
        first, make = CASES["scalar_chain"].data, CASES[name].data
        assert first is not None
        assert make is not None
        for variant in self.make(first()).values():
            variant.step()
        # The first variant alone: another one would find the memory that this one gives back.
        heading, variant = next(iter(self.make(make()).items()))
        gc.collect()
        memory.forget_peak()
        before = memory.resident()
        for _ in range(steps):
            variant.step()
        return {heading: memory.peak() - before}

    def run(self, module: str, function: str, *arguments: object) -> Any:
        """Calls a function of the benchmarks in this process."""
        return getattr(importlib.import_module(module), function)(*arguments)


def in_words(problem: Exception) -> str:
    """Only our own messages go into a result: others may name paths."""
    own = isinstance(problem, ArithmeticError)
    return str(problem) if own else type(problem).__name__


def serve(
    connection: Connection,
    library: str,
    environment: dict[str, str],
    make: Callable[[str], Any],
) -> None:
    """Runs in the worker until the harness closes the pipe or sends ``None``."""
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
        pass  # the harness is gone, or is being stopped and says so itself


class BenchmarkWorker:
    """The harness's side."""

    def __init__(
        self,
        library: str,
        environment: dict[str, str],
        timeout: float = 180.0,
        make: Callable[[str], Any] = _Served,
    ) -> None:
        """Starts the process; ``make`` gives what serves the requests, at the first of them."""
        context = multiprocessing.get_context("spawn")
        self._timeout = timeout
        self._connection, reference = context.Pipe()
        self._process = context.Process(
            target=serve, args=(reference, library, environment, make), daemon=True
        )
        self._process.start()
        reference.close()

    def call(self, method: str, *arguments: object) -> Any:
        """Asks the worker for something and waits for it.

        Raises:
            Failed: If the library failed, its process died, or nothing came in time.
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
        """Ends the process."""
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
    """Asks a worker that has done nothing before and does nothing after.

    Raises:
        Failed: As ``BenchmarkWorker.call`` does.
    """
    worker = BenchmarkWorker(library, environment)
    try:
        method, *arguments = request
        return worker.call(str(method), *arguments)
    finally:
        worker.close()
