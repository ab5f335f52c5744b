"""The harness: drives the workers case by case and collects what they measured.

Libraries take turns, a batch of repeats each, for several rounds, so that a machine that grows
slower or is busy for a while is so for all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
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

from benchmarks import report
from benchmarks.cases import CASES, Case
from benchmarks.libs import GRADIENT_AT, LIBRARIES
from benchmarks.report import Row
from benchmarks.worker import Batch, Failed, Worker

ROOT = Path(__file__).resolve().parents[1]
DEVICES = ("cpu", "reference")
PROCESS_TIMEOUT = 120.0


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    rounds: int
    quick: bool
    device: str

    @property
    def batch(self) -> Batch:
        """One turn of a variant."""
        return Batch(0.02, 2) if self.quick else Batch(0.4, 5)

    @property
    def processes(self) -> int:
        """How often a fresh process is timed."""
        return 1 if self.quick else 5

    @property
    def environment(self) -> dict[str, str]:
        """What the workers find in their environment besides ours."""
        hide_gpu = {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
        return {"NUMTAPE_DEVICE": self.device, "TF_CPP_MIN_LOG_LEVEL": "3", **hide_gpu}


class Workers:
    """A worker per library, started when first needed and again after one that died."""

    def __init__(self, settings: Settings) -> None:
        """Starts nothing yet."""
        self._settings = settings
        self._running: dict[str, Worker] = {}

    def __getitem__(self, library: str) -> Worker:
        """Gives the library's worker."""
        if library not in self._running:
            self._running[library] = Worker(library, self._settings.environment)
        return self._running[library]

    def drop(self, library: str) -> None:
        """Ends one worker."""
        if library in self._running:
            self._running.pop(library).close()

    def close(self) -> None:
        """Ends all of them."""
        for library in list(self._running):
            self.drop(library)


def time_steps(case: Case, libraries: list[str], workers: Workers, settings: Settings) -> Row:
    """Times a case's step in every variant of every library, in turns."""
    row = Row()
    turns: list[tuple[str, str]] = []
    for library in libraries:
        try:
            outcome = workers[library].call("prepare", case.name)
        except Failed as problem:
            for heading in LIBRARIES[library].headings:
                row.fail(case, heading, problem)
            workers.drop(library)
            continue
        for heading, error in outcome.items():
            if isinstance(error, str):
                row.fail(case, heading, error)
                continue
            turns.append((library, heading))
            row.samples[heading] = []
            row.details[heading] = {"relative_error": error}
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
    """Times a fresh process to the end of its import and to the print of a first gradient.

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
        # An installed package has its bytecode: a checkout is to be no slower.
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


def time_fresh_processes(libraries: list[str], settings: Settings) -> dict[str, Row]:
    """Times import and first gradient with warm caches, library after library in each round."""
    rows = {"import_only": Row(), "import_first_gradient": Row()}
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


def time_empty_cache(case: Case, libraries: list[str], settings: Settings) -> Row:
    """Times numtape's first gradient with a cache folder that has nothing in it."""
    row = Row()
    if "numtape" not in libraries:
        return row
    for _ in range(1 if settings.quick else 3):
        with tempfile.TemporaryDirectory() as folder:
            empty = {"NUMTAPE_CACHE_DIR": folder}
            try:
                _, seconds = time_process("numtape", {**settings.environment, **empty})
                if settings.device == "cpu" and not any(Path(folder).iterdir()):
                    raise Failed("the cache is not where it was put: this was a warm start")
            except Failed as problem:
                row.fail(case, "numtape", problem)
                return row
            row.samples.setdefault("numtape", []).append([seconds])
    return row


def measure_figure(case: Case, libraries: list[str], settings: Settings) -> Row:
    """Measures a figure of numtape's in a process that has done nothing else."""
    row = Row()
    if "numtape" not in libraries:
        return row
    worker = Worker("numtape", settings.environment)
    try:
        details = worker.call("figure", case.name, settings.quick)
    except Failed as problem:
        row.fail(case, "numtape", problem)
    else:
        row.samples["numtape"] = [details.pop("values")]
        row.details["numtape"] = details
    finally:
        worker.close()
    return row


def measure(
    cases: list[Case], libraries: list[str], settings: Settings
) -> Iterator[tuple[Case, Row]]:
    """Measures the cases one after another."""
    fresh: dict[str, Row] = {}
    with contextlib.closing(Workers(settings)) as workers:
        for case in (c for c in cases if c.kind == "step"):
            yield case, time_steps(case, libraries, workers, settings)
    for case in (c for c in cases if c.kind != "step"):
        if case.kind == "figure":
            yield case, measure_figure(case, libraries, settings)
        elif case.name == "first_gradient_empty_cache":
            yield case, time_empty_cache(case, libraries, settings)
        else:  # one process gives both figures
            fresh = fresh or time_fresh_processes(libraries, settings)
            yield case, fresh[case.name]


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measures numtape beside its peers."
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        choices=CASES,
        default=list(CASES),
        metavar="CASE",
        help=f"some of: {', '.join(CASES)}",
    )
    parser.add_argument(
        "--libraries",
        nargs="+",
        choices=LIBRARIES,
        default=list(LIBRARIES),
        metavar="LIBRARY",
        help=f"some of: {', '.join(LIBRARIES)}",
    )
    parser.add_argument("--rounds", type=int, help="turns of each library (default: 5)")
    parser.add_argument("--quick", action="store_true", help="a few repeats: is all in order?")
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="numtape's device")
    parser.add_argument(
        "--output", type=Path, help="default: benchmarks/results/<device>-<date>.json"
    )
    parser.add_argument(
        "--readme",
        type=Path,
        nargs="?",
        const=ROOT / "README.md",
        metavar="FILE",
        help="rewrite the table between the markers of this file (default: README.md)",
    )
    arguments = parser.parse_args(argv)
    if arguments.rounds is not None and arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if arguments.readme and not report.has_markers(arguments.readme):
        parser.error(f"{arguments.readme} has no lines {report.BEGIN} and {report.END}")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs the benchmarks.

    Returns:
        The exit status: 1 if some library failed or computed something else.
    """
    arguments = _arguments(argv)
    rounds = arguments.rounds or (2 if arguments.quick else 5)
    settings = Settings(rounds, arguments.quick, arguments.device)
    installed = [
        name for name in arguments.libraries if importlib.util.find_spec(LIBRARIES[name].package)
    ]
    skipped = [name for name in arguments.libraries if name not in installed]
    if skipped:
        print(f"not installed, skipped: {', '.join(skipped)}", file=sys.stderr)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()

    rows: dict[str, Row] = {}
    began = time.perf_counter()
    for case, row in measure([CASES[name] for name in arguments.cases], installed, settings):
        print(f"{time.perf_counter() - began:6.0f} s  {case.name}", file=sys.stderr)
        rows[case.name] = row
    result = report.collect(
        {name: rows[name] for name in CASES if name in rows},
        headings=[h for name in installed for h in LIBRARIES[name].headings],
        about={
            "schema": report.SCHEMA,
            "date": today,
            "device": settings.device,
            "quick": settings.quick,
            "rounds": settings.rounds,
            "versions": report.versions(installed),
            "skipped": skipped,
            "machine": report.machine(),
        },
    )
    output = arguments.output
    if output is None:
        output = ROOT / "benchmarks" / "results" / f"{settings.device}-{today}.json"
    report.write_json(result, output)
    print(report.plain_table(result))
    for line in report.unsteady(result):
        print(f"unsteady: {line}", file=sys.stderr)
    if arguments.readme:
        report.rewrite_readme(result, arguments.readme)
    return int(any(row.errors for row in rows.values()))
