"""Command line: measures the chosen workloads, prints the table and draws the picture.

The JSON file is written after each workload, so an interrupted run loses one at most.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.everyday import report
from benchmarks.everyday.process import (
    EAGER,
    HEADINGS,
    JAX,
    REPLAYED,
    TORCH,
    all_cores,
    installed,
    start,
)
from benchmarks.libs import LIBRARIES
from benchmarks.report import default_output, machine, versions, write_json
from benchmarks.worker import Batch, BenchmarkWorker, Failed

STEPS_TO_PEAK = 4
BATCH, TINY_BATCH = Batch(0.1, 2, 0.5), Batch(0.001, 1, 0.1)


def _arguments(argv: list[str] | None, names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.everyday", description="Everyday workloads, with peers."
    )
    parser.add_argument("--cases", help="some of the workloads, with commas between them")
    parser.add_argument("--libraries", help=f"some of {', '.join(HEADINGS)}")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each library (3)")
    parser.add_argument("--list", action="store_true", help="print the names of the workloads")
    parser.add_argument(
        "--threads", default="1", help="numbers of threads, with commas; 'all' for all cores (1)"
    )
    parser.add_argument("--first", action="store_true", help="also time first calls")
    parser.add_argument("--memory", action="store_true", help="also measure peak memory")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, as a smoke test")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write all numbers (default, if no option leaves anything out: "
        "benchmarks/results/everyday-<date>.json)",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw the ratios (default: beside that file, if matplotlib is installed)",
    )
    parser.add_argument("--redraw", type=Path, metavar="JSON", help="show an earlier result")
    arguments = parser.parse_args(argv)
    for option, known in (("cases", names), ("libraries", list(HEADINGS))):
        chosen = (getattr(arguments, option) or "").split(",") if getattr(arguments, option) else []
        unknown = [name for name in chosen if name not in known]
        if unknown:
            parser.error(f"unknown: {', '.join(unknown)} (choose from {', '.join(known)})")
        setattr(arguments, option, [name for name in known if not chosen or name in chosen])
    try:
        cores = all_cores()
        arguments.threads = [
            cores if part == "all" else int(part) for part in arguments.threads.split(",")
        ]
    except ValueError:
        parser.error("--threads must be numbers or 'all'")
    arguments.threads = list(dict.fromkeys(arguments.threads))
    if not all(1 <= count <= cores for count in arguments.threads):
        parser.error(f"--threads must be between 1 and {cores}")
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    complete = arguments.cases == names and arguments.libraries == list(HEADINGS)
    if complete and not (arguments.tiny or arguments.list or arguments.redraw):
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        arguments.json = arguments.json or default_output(f"everyday-{today}.json")
        if importlib.util.find_spec("matplotlib"):
            arguments.plot = arguments.plot or arguments.json.with_suffix(".svg")
    return arguments


class Workers:
    """One worker for each library, started on first use and again after a failure."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._running: dict[str, BenchmarkWorker] = {}

    def call(self, library: str, *request: Any) -> Any:
        """Sends a request; after a failure the worker is stopped."""
        if library not in self._running:
            self._running[library] = start(library, self._threads)
        try:
            return self._running[library].call(*request)
        except Failed:
            self._running.pop(library).close()
            raise

    def close(self) -> None:
        """Stops all workers."""
        for worker in self._running.values():
            worker.close()
        self._running.clear()


def check(outcomes: dict[str, Any], allowed: float) -> dict[str, str]:
    """Returns a message for each heading whose results differ from the first peer's."""
    from benchmarks.everyday.server import difference

    order = [h for h in (TORCH, JAX, EAGER, REPLAYED, *outcomes) if h in outcomes]
    errors = {}
    for heading in order[1:]:
        error = difference(outcomes[heading]["results"], outcomes[order[0]]["results"])
        if not error <= allowed:
            errors[heading] = f"differs from {order[0]} by {error:.1e}"
    return errors


def measure(
    name: str, libraries: list[str], workers: Workers, rounds: int, tiny: bool
) -> dict[str, Any]:
    """Checks a workload in all libraries, and times them in turns if they agree."""
    from benchmarks.everyday.cases import CASES

    outcomes: dict[str, Any] = {}
    errors: dict[str, str] = {}
    libraries_of: dict[str, str] = {}
    for library in libraries:
        try:
            outcome = workers.call(library, "prepare", name, tiny)
        except Failed as problem:
            errors |= dict.fromkeys(HEADINGS[library], str(problem))
            continue
        for heading, value in outcome.items():
            libraries_of[heading] = library
            (errors if isinstance(value, str) else outcomes)[heading] = value
    errors |= check(outcomes, CASES[name].make(tiny).allowed_difference())
    turns: dict[str, list[list[float]]] = {} if errors else {h: [] for h in outcomes}
    for _ in range(rounds):
        for heading, times in list(turns.items()):
            try:
                batch = TINY_BATCH if tiny else BATCH
                times.append(workers.call(libraries_of[heading], "batch", heading, batch))
            except Failed as problem:
                errors[heading] = str(problem)
                del turns[heading]
    columns = {
        heading: {
            "minimum": min(map(min, rounds_of)),
            "median": statistics.median(statistics.median(times) for times in rounds_of),
            "first": outcomes[heading]["first"],
            "rounds": [min(times) for times in rounds_of],
        }
        for heading, rounds_of in turns.items()
    }
    return {"columns": columns, "errors": errors}


def _fresh(library: str, threads: int, environment: dict[str, str], *request: Any) -> float | None:
    """Sends one request to a fresh process; None if it fails."""
    with contextlib.closing(start(library, threads, environment)) as worker:
        try:
            value: float = worker.call(*request)
        except Failed as problem:
            print(f"  {' '.join(map(str, request[:3]))}: {problem}", file=sys.stderr)
            return None
        return value


def _headings(name: str, libraries: list[str]) -> list[tuple[str, str]]:
    from benchmarks.everyday.cases import CASES

    kind = CASES[name].kind
    return [
        (library, heading)
        for library in libraries
        if library == "tensorflow" or hasattr(kind, library)
        for heading in HEADINGS[library]
    ]


def measure_first(name: str, libraries: list[str], threads: int, tiny: bool) -> dict[str, float]:
    """Times the first call of each variant in two fresh processes.

    The first of numtape's processes has an empty cache, and the second one finds what the first
    wrote. Peers keep no cache by default, so only their second process counts.
    """
    seconds: dict[str, float | None] = {}
    for library, heading in _headings(name, libraries):
        with tempfile.TemporaryDirectory() as folder:
            for cache in ("empty", "warm"):
                value = _fresh(
                    library, threads, {"NUMTAPE_CACHE_DIR": folder}, "first", name, heading, tiny
                )
                seconds[f"{heading}, {cache}" if library == "numtape" else heading] = value
    return {key: value for key, value in seconds.items() if value is not None}


def measure_memory(name: str, libraries: list[str], threads: int, tiny: bool) -> dict[str, float]:
    """Measures the peak memory of each variant in a fresh process."""
    peaks = {
        heading: _fresh(library, threads, {}, "peak", name, heading, tiny, STEPS_TO_PEAK)
        for library, heading in _headings(name, libraries)
    }
    return {heading: value for heading, value in peaks.items() if value is not None}


def main(argv: list[str] | None = None) -> int:
    """Runs the workloads. Returns 1 if one failed."""
    from benchmarks.everyday.cases import CASES

    arguments = _arguments(argv, list(CASES))
    if arguments.list:
        print("\n".join(CASES))
        return 0
    if arguments.redraw:
        result = json.loads(arguments.redraw.read_text(encoding="utf-8"))
    else:
        result = run(arguments)
    print(report.plain(result))
    if arguments.plot:
        report.draw(result, arguments.plot)
    return int(
        any(case["errors"] for cases in result["threads"].values() for case in cases.values())
    )


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures what the arguments ask for."""
    began = time.perf_counter()
    libraries = [name for name in installed() if name in arguments.libraries]
    distributions = [name for library in libraries for name in LIBRARIES[library].distributions]
    result: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions(distributions),
        "machine": machine(),
        "rounds": arguments.rounds,
        "tiny": arguments.tiny,
        "threads": {},
    }

    def progress(text: str) -> None:
        if arguments.json:
            write_json(result, arguments.json)
        print(f"{time.perf_counter() - began:6.0f} s  {text}", file=sys.stderr)

    for threads in arguments.threads:
        cases = result["threads"][str(threads)] = {}
        with contextlib.closing(Workers(threads)) as workers:
            for name in arguments.cases:
                case = measure(name, libraries, workers, arguments.rounds, arguments.tiny)
                cases[name] = case
                for heading, text in case["errors"].items():
                    progress(f"{name}, {heading}: {text}")
                progress(name)
    threads = arguments.threads[0]
    for key, function in (("first", measure_first), ("memory", measure_memory)):
        if getattr(arguments, key):
            result[key] = {}
            for name in arguments.cases:
                result[key][name] = function(name, libraries, threads, arguments.tiny)
                progress(f"{name}, {key}")
    return result
