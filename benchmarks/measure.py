"""Drives the workers case by case and collects their measurements.

Libraries take turns with one batch of repeats each, for several rounds, so that background load
and clock changes affect all of them alike.
"""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import CASES, OURS, Case
from benchmarks.libs import GRADIENT_AT, LIBRARIES, USUAL, LeftOut
from benchmarks.report import ReportRow
from benchmarks.worker import Batch, BenchmarkWorker, Failed, in_worker

ROOT = Path(__file__).resolve().parents[1]
PROCESS_TIMEOUT = 120.0
STEPS_TO_PEAK = 5


@dataclass(frozen=True)
class Settings:
    """Number of rounds, whether the run is quick, and numtape's device."""

    rounds: int
    quick: bool
    device: str

    @property
    def batch(self) -> Batch:
        """The length of one turn of a variant."""
        return Batch(0.02, 2, 0.5) if self.quick else Batch(0.25, 5, 0.8)

    @property
    def processes(self) -> int:
        """How many fresh processes are timed."""
        return 1 if self.quick else 4

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that the workers get in addition to this process's."""
        hide_gpu = {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
        return {"NUMTAPE_DEVICE": self.device, "TF_CPP_MIN_LOG_LEVEL": "3", **hide_gpu}


class Workers:
    """One worker per library, started on first use and restarted after a failure."""

    def __init__(self, settings: Settings) -> None:
        """Stores the settings; workers start on first use."""
        self._settings = settings
        self._running: dict[str, BenchmarkWorker] = {}

    def __getitem__(self, library: str) -> BenchmarkWorker:
        """Returns the library's worker."""
        if library not in self._running:
            patience = 180.0 if library in USUAL else 900.0  # some compile C code for minutes
            self._running[library] = BenchmarkWorker(library, self._settings.environment, patience)
        return self._running[library]

    def drop(self, library: str) -> None:
        """Stops one worker."""
        if library in self._running:
            self._running.pop(library).close()

    def close(self) -> None:
        """Stops all workers."""
        for library in list(self._running):
            self.drop(library)


def time_steps(case: Case, libraries: list[str], workers: Workers, settings: Settings) -> ReportRow:
    """Times a case's step in every variant of every library, in turns."""
    row = ReportRow()
    turns: list[tuple[str, str]] = []
    for library in libraries:
        try:
            outcome = workers[library].call("prepare", case.name)
        except Failed as problem:
            for heading in LIBRARIES[library].headings:
                row.fail(case, heading, problem)
            workers.drop(library)
            continue
        for heading, value in outcome.items():
            if isinstance(value, LeftOut):
                row.left_out[heading] = str(value)
                continue
            if isinstance(value, str):
                row.fail(case, heading, value)
                continue
            turns.append((library, heading))
            row.samples[heading] = []
            row.details[heading] = value
    for _ in range(settings.rounds):
        for library, heading in list(turns):
            try:
                times = workers[library].call("batch", heading, settings.batch)
            except Failed as problem:
                row.fail(case, heading, problem)
                workers.drop(library)
                turns = [turn for turn in turns if turn[0] != library]
            else:
                row.samples[heading].append(times)
    return row


def time_process(library: str, environment: dict[str, str]) -> tuple[float, float]:
    """Times a fresh process until its import is done and until it prints a first gradient.

    Raises:
        Failed: If the process fails, prints something else, or takes too long.
    """
    entry = LIBRARIES[library]
    source = "\n".join(
        (
            entry.import_source,
            "print('imported', flush=True)",
            entry.gradient_source.format(x=GRADIENT_AT),
            "print(float(g), flush=True)",
        )
    )
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", source],
        # Write bytecode, so that a checkout starts as fast as an installed package.
        env={**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": ""},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        timer = threading.Timer(PROCESS_TIMEOUT, process.kill)
        timer.start()
        try:
            process.stdout.readline()
            imported = time.perf_counter() - start
            printed = process.stdout.readline()
            done = time.perf_counter() - start
        finally:
            timer.cancel()
    if process.returncode or not printed:
        raise Failed(f"the process ended with status {process.returncode}")
    expected = math.sin(GRADIENT_AT) + GRADIENT_AT * math.cos(GRADIENT_AT)
    if not math.isclose(float(printed), expected, rel_tol=1e-4):
        raise Failed("the gradient is wrong")
    return imported, done


def time_fresh_processes(libraries: list[str], settings: Settings) -> dict[str, ReportRow]:
    """Times import and first gradient with warm caches, library after library in each round."""
    rows = {"import_only": ReportRow(), "import_first_gradient": ReportRow()}
    failed: set[str] = set()
    warm_up = 0 if settings.quick else 1
    for turn in range(settings.processes + warm_up):
        for library in libraries:
            heading = LIBRARIES[library].headings[0]
            if library in failed:
                continue
            try:
                times = time_process(library, settings.environment)
            except Failed as problem:
                failed.add(library)
                for name, row in rows.items():
                    row.fail(CASES[name], heading, problem)
                continue
            if turn >= warm_up:
                for row, seconds in zip(rows.values(), times, strict=True):
                    row.samples.setdefault(heading, []).append([seconds])
    return rows


def time_empty_cache(case: Case, settings: Settings) -> ReportRow:
    """Times numtape's first gradient with an empty cache folder."""
    row = ReportRow()
    for _ in range(1 if settings.quick else 3):
        with tempfile.TemporaryDirectory() as folder:
            empty = {"NUMTAPE_CACHE_DIR": folder}
            try:
                _, seconds = time_process(OURS, {**settings.environment, **empty})
                if settings.device == "cpu" and not any(Path(folder).iterdir()):
                    raise Failed("NUMTAPE_CACHE_DIR had no effect, so this was a warm start")
            except Failed as problem:
                row.fail(case, OURS, problem)
                return row
            row.samples.setdefault(OURS, []).append([seconds])
    return row


def measure_figure(case: Case, settings: Settings) -> ReportRow:
    """Measures a figure of numtape in a fresh process."""
    row = ReportRow()
    try:
        details = in_worker(
            OURS, settings.environment, "run", "benchmarks.figures", case.name, settings.quick
        )
    except Failed as problem:
        row.fail(case, OURS, problem)
    else:
        row.samples[OURS] = [details.pop("values")]
        row.details[OURS] = details
    return row


def measure_peaks(case: Case, libraries: list[str], settings: Settings) -> ReportRow:
    """Measures the peak memory of each library's first steps, in a fresh process each."""
    row = ReportRow()
    for library in libraries:
        # The first process may have to compile; the median of three ignores it.
        for _ in range(1 if settings.quick else 3):
            try:
                peaks = in_worker(library, settings.environment, "peaks", case.name, STEPS_TO_PEAK)
            except Failed as problem:
                row.fail(case, LIBRARIES[library].headings[0], problem)
                break
            for heading, mib in peaks.items():
                row.samples.setdefault(heading, []).append([mib])
    return row


def measure(
    cases: list[Case], libraries: list[str], settings: Settings
) -> Iterator[tuple[Case, ReportRow]]:
    """Measures the cases one after another."""
    fresh: dict[str, ReportRow] = {}
    with contextlib.closing(Workers(settings)) as workers:
        for case in (c for c in cases if c.kind == "step"):
            yield case, time_steps(case, libraries, workers, settings)
    for case in (c for c in cases if c.kind != "step"):
        taking_part = [name for name in libraries if name in (case.libraries or USUAL)]
        if not taking_part:
            yield case, ReportRow()
        elif case.kind == "figure":
            yield case, measure_figure(case, settings)
        elif case.kind == "memory":
            yield case, measure_peaks(case, taking_part, settings)
        elif case.name == "first_gradient_empty_cache":
            yield case, time_empty_cache(case, settings)
        else:  # one process measures both figures
            fresh = fresh or time_fresh_processes(taking_part, settings)
            yield case, fresh[case.name]
