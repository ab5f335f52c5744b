"""Measures the libraries on a GPU one after another, within a time budget."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.cases import OURS
from benchmarks.gpu.cases import CASES
from benchmarks.gpu.libs import LIBRARIES
from benchmarks.gpu.worker import GpuCaseServer
from benchmarks.inputs import Array, MinimalWork
from benchmarks.report import ReportRow
from benchmarks.worker import Batch, BenchmarkWorker, Failed

FIRST = "long_chain"  # the case whose first step shows the time of compilation
TIMEOUT = 120.0  # seconds per request, so that no case uses up the budget


@dataclass
class Found:
    """The results so far.

    Attributes:
        rows: Per case the samples of each column, details, and errors.
        works: Per case the minimal work of a step.
        tails: Per case and column the last elements of a step's result.
        gpus: Each library's description of the GPU.
        skipped: Libraries that did not take part, and why.
        left_out: Cases that exceeded the budget.
        ceilings: Peak rates, by quantity and library.
        overheads: Seconds of calls that compute almost nothing.
        first_call: Seconds of import, start and first step in a fresh process.
    """

    rows: dict[str, ReportRow]
    works: dict[str, MinimalWork] = field(default_factory=dict)
    tails: dict[str, dict[str, list[Array]]] = field(default_factory=dict)
    gpus: dict[str, dict[str, str]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    ceilings: dict[str, dict[str, float]] = field(default_factory=dict)
    overheads: dict[str, dict[str, float]] = field(default_factory=dict)
    first_call: dict[str, dict[str, float]] = field(default_factory=dict)


class Session:
    """One run of the requested cases.

    Attributes:
        found: The results so far.
    """

    def __init__(self, cases: list[str], size: str, batch: Batch, budget: float) -> None:
        self.found = Found({name: ReportRow() for name in cases})
        self._size, self._batch, self._budget = size, batch, budget
        self._began = time.perf_counter()

    @property
    def spent(self) -> float:
        """Seconds since the start of the session."""
        return time.perf_counter() - self._began

    def measure(self, libraries: list[str]) -> Iterator[str]:
        """Measures the libraries one after another and yields progress messages."""
        with _folder() as folder:
            # Fresh caches, so that first steps include the time of compilation.
            caches = {} if self._size == "tiny" else _caches(folder)
            for library in libraries:
                if importlib.util.find_spec(LIBRARIES[library].package) is None:
                    self.found.skipped[library] = "not installed"
                    yield f"{library}: not installed"
                elif self.spent > self._budget:
                    self.found.left_out += [f"{library}: {name}" for name in self.found.rows]
                else:
                    yield from self._library(library, caches)
        if OURS in self.found.gpus and self._size == "full" and self.spent < self._budget:
            yield from self._first_calls()

    def _library(self, library: str, caches: dict[str, str]) -> Iterator[str]:
        """Measures a library in a worker, which is replaced after a failure."""
        value, size = self.found, self._size
        with contextlib.ExitStack() as stack:
            worker = _start(library, caches, stack)
            about = self._request(library, worker, "ready", {"missing": "does not start"})
            if "missing" in about:
                value.skipped[library] = about["missing"]
                yield f"{library}: skipped: {about['missing']}"
                return
            value.gpus[library] = about
            for what, rates in self._request(library, worker, "ceilings", {}, size).items():
                value.ceilings.setdefault(what, {}).update(rates)
            value.overheads |= self._request(library, worker, "overheads", {}, size)
            yield f"{library}: ceilings and overheads"
            for name, row in value.rows.items():
                if self.spent > self._budget:
                    value.left_out.append(f"{library}: {name}")
                    continue
                try:
                    work, outcome = worker.call("measure", name, size, self._batch)
                except Failed as problem:
                    row.fail(CASES[name], LIBRARIES[library].headings[0], problem)
                    broken = True
                else:
                    value.works[name] = work
                    self._keep(name, outcome)
                    broken = any("failed" in column for column in outcome.values())
                if broken:  # a corrupt CUDA context would fail all later cases
                    worker.close()
                    worker = _start(library, caches, stack)
                yield f"{library}: {name}"

    def _request(
        self, library: str, worker: BenchmarkWorker, method: str, otherwise: Any, *arguments: object
    ) -> Any:
        try:
            return worker.call(method, *arguments)
        except Failed as problem:
            print(f"  {library}, {method}: {problem}", file=sys.stderr)
            return otherwise

    def _keep(self, name: str, outcome: dict[str, dict[str, Any]]) -> None:
        row, tails = self.found.rows[name], self.found.tails.setdefault(name, {})
        for heading, column in outcome.items():
            if "failed" in column:
                row.fail(CASES[name], heading, column["failed"])
                continue
            row.samples[heading] = [column["times"]]
            tails[heading] = column["tails"]
            row.details[heading] = {
                "first_step": column["first"],
                "peak_bytes": column["peak"],
                "relative_error": column["relative_error"],
            }
            if column["kernels"] is not None:
                row.details[heading]["kernels"] = column["kernels"]

    def _first_calls(self) -> Iterator[str]:
        """Times a first step in fresh processes, with an empty and then with a warm cache."""
        with _folder() as folder:
            for which in ("cold", "warm"):
                with contextlib.ExitStack() as stack:
                    begin = time.perf_counter()
                    worker = _start(OURS, _caches(folder), stack)
                    try:
                        worker.call("ready")
                        started = time.perf_counter() - begin
                        first = worker.call("first_step", FIRST)
                    except Failed as problem:
                        print(f"  first step, {which}: {problem}", file=sys.stderr)
                        return
                    self.found.first_call[which] = {"start": started, "first_step": first}
        yield "first steps with an empty and a warm cache"


def environment() -> dict[str, str]:
    """Environment variables that the workers get in addition to this process's."""
    return {
        "NUMTAPE_DEVICE": "cuda",
        # By default JAX preallocates three quarters of the memory.
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield folder


def _caches(folder: str) -> dict[str, str]:
    """Places the caches of numtape and PyTorch in a folder; JAX has none by default."""
    parts = {
        "NUMTAPE_CACHE_DIR": "numtape",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
    }
    return {variable: os.path.join(folder, part) for variable, part in parts.items()}


def _start(library: str, caches: dict[str, str], stack: contextlib.ExitStack) -> BenchmarkWorker:
    worker = BenchmarkWorker(library, {**environment(), **caches}, TIMEOUT, GpuCaseServer)
    return stack.enter_context(contextlib.closing(worker))


def missing() -> str | None:
    """Returns why numtape cannot use a GPU, or None if it can.

    Raises:
        Failed: If numtape itself does not start.
    """
    with contextlib.closing(BenchmarkWorker(OURS, environment(), TIMEOUT, GpuCaseServer)) as worker:
        about: dict[str, str] = worker.call("ready")
    return about.get("missing")


def driver() -> dict[str, str] | None:
    """The output of nvidia-smi for the first GPU, if the tool is installed."""
    fields = (
        "name",
        "driver_version",
        "memory.total",
        "clocks.max.sm",
        "clocks.max.mem",
        "power.limit",
        "mig.mode.current",
    )
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    try:
        done = subprocess.run(
            [tool, f"--query-gpu={','.join(fields)}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    first, *_ = done.stdout.splitlines() or [""]
    return dict(zip(fields, (part.strip() for part in first.split(",")), strict=False))
