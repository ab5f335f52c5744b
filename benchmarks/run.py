"""Command line: measures the chosen cases and writes the JSON, the tables and the plots."""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import report, scaling, tables
from benchmarks.cases import CASES, OURS
from benchmarks.gpu import run as gpu
from benchmarks.gpu.cases import CASES as GPU_CASES
from benchmarks.gpu.libs import LIBRARIES as GPU_LIBRARIES
from benchmarks.libs import LIBRARIES, USUAL
from benchmarks.measure import ROOT, Settings, measure
from benchmarks.report import ReportRow
from benchmarks.worker import Failed, in_worker

DEVICES = ("cpu", "reference", "cuda")


def _choose(parser: argparse.ArgumentParser, names: list[str] | None, table: Any) -> list[str]:
    """Returns the given names in the order of ``table``, or all names if ``names`` is None."""
    unknown = [name for name in names or () if name not in table]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)} (choose from {', '.join(table)})")
    return [name for name in table if names is None or name in names]


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Benchmarks of numtape and its peers."
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        metavar="CASE",
        help=f"some of: {', '.join(CASES)}; with --device cuda: {', '.join(GPU_CASES)}",
    )
    parser.add_argument(
        "--libraries",
        nargs="+",
        metavar="LIBRARY",
        help=f"some of: {', '.join(LIBRARIES)}; with --device cuda: {', '.join(GPU_LIBRARIES)}",
    )
    parser.add_argument(
        "--peers",
        choices=("usual", "all"),
        default="usual",
        help=f"all: also {', '.join(n for n in LIBRARIES if n not in USUAL)}, for the steps",
    )
    parser.add_argument("--rounds", type=int, help="turns of each library (default: 5)")
    parser.add_argument("--quick", action="store_true", help="only a few repeats, as a smoke test")
    parser.add_argument(
        "--scaling",
        action=argparse.BooleanOptionalAction,
        help="measure scaling with elements, rows and threads (default: in a full run)",
    )
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="numtape's device")
    parser.add_argument(
        "--budget",
        type=float,
        default=gpu.BUDGET,
        metavar="SECONDS",
        help=f"with --device cuda, start no case after this time (default: {gpu.BUDGET:.0f})",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="default: benchmarks/results/<device>-<date>.json, or the folder for temporary "
        "files if benchmarks is read-only; the path is printed",
    )
    parser.add_argument(
        "--readme",
        type=Path,
        nargs="?",
        const=ROOT / "README.md",
        metavar="FILE",
        help="rewrite the table between the markers of this file (default: README.md), and draw "
        f"its plot, {tables.PLOT}, beside it",
    )
    parser.add_argument(
        "--redraw",
        type=Path,
        metavar="JSON",
        help="measure nothing; make tables and plots from this CPU result",
    )
    arguments = parser.parse_args(argv)
    if arguments.rounds is not None and arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    on_gpu = arguments.device == "cuda"
    arguments.cases = _choose(parser, arguments.cases, GPU_CASES if on_gpu else CASES)
    if not on_gpu and arguments.peers == "usual":
        arguments.libraries = arguments.libraries or list(USUAL)
    arguments.libraries = _choose(
        parser, arguments.libraries, GPU_LIBRARIES if on_gpu else LIBRARIES
    )
    if on_gpu and (arguments.readme or arguments.scaling or arguments.rounds):
        parser.error("--readme, --scaling and --rounds require a CPU device")
    if arguments.readme and not tables.has_markers(arguments.readme):
        parser.error(f"{arguments.readme} has no lines {tables.BEGIN} and {tables.END}")
    if arguments.scaling is None:
        arguments.scaling = len(arguments.cases) == len(CASES) and not arguments.quick
    return arguments


def measure_rates(libraries: list[str], settings: Settings) -> dict[str, Any]:
    """Measures the rates from which the floors of the steps are computed."""
    arguments = "run", "benchmarks.roofline", "machine", settings.quick
    rates: dict[str, Any] = in_worker(OURS, settings.environment, *arguments)
    if OURS in libraries:
        one_thread = {**settings.environment, "NUMTAPE_NUM_THREADS": "1"}
        arguments = "run", "benchmarks.roofline", "call_costs", settings.quick
        try:
            rates["calls"] = in_worker(OURS, one_thread, *arguments)
        except Failed as problem:
            print(f"  call costs: {problem}", file=sys.stderr)
    return rates


def show(result: dict[str, Any], output: Path, readme: Path | None) -> None:
    """Prints the tables, draws the plots beside ``output`` and updates the README's table."""
    print(tables.plain(result))
    if readme:
        tables.rewrite_readme(result, readme)
    if importlib.util.find_spec("matplotlib"):
        from benchmarks import plots

        plots.write(result, output)
        if readme:
            plots.write_peers(result, readme.parent / tables.PLOT)


def main(argv: list[str] | None = None) -> int:
    """Runs the benchmarks.

    Returns:
        The exit status: 1 if a library failed or computed a wrong result, 2 if a GPU was
        requested but is unavailable.
    """
    arguments = _arguments(argv)
    if arguments.redraw:
        result = json.loads(arguments.redraw.read_text(encoding="utf-8"))
        show(result, arguments.output or arguments.redraw, arguments.readme)
        return 0
    if arguments.device == "cuda":
        return gpu.main(
            arguments.cases,
            arguments.libraries,
            arguments.quick,
            arguments.budget,
            arguments.output,
        )
    rounds = arguments.rounds or (2 if arguments.quick else 5)
    settings = Settings(rounds, arguments.quick, arguments.device)
    installed = [
        name for name in arguments.libraries if importlib.util.find_spec(LIBRARIES[name].package)
    ]
    skipped = [name for name in arguments.libraries if name not in installed]
    if skipped:
        print(f"not installed, skipped: {', '.join(skipped)}", file=sys.stderr)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()

    began = time.perf_counter()

    def progress(what: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {what}", file=sys.stderr)

    cases = [CASES[name] for name in arguments.cases]
    rates: dict[str, Any] = {}
    if any(case.kind == "step" for case in cases):
        rates = measure_rates(installed, settings)
        progress("rates of the machine")
    rows: dict[str, ReportRow] = {}
    for case, row in measure(cases, installed, settings):
        progress(case.name)
        rows[case.name] = row
    failed = any(row.errors for row in rows.values())
    growth: dict[str, Any] = {}
    if arguments.scaling and OURS in installed:
        try:
            growth = scaling.measure(settings.environment, settings.quick)
        except Failed as problem:
            print(f"  scaling: {problem}", file=sys.stderr)
            failed = True
        progress("scaling")
    result = report.collect(
        {name: rows[name] for name in CASES if name in rows},
        headings=[h for name in installed for h in LIBRARIES[name].headings],
        rates=rates,
        scaling=growth,
        about={
            "schema": report.SCHEMA,
            "date": today,
            "device": settings.device,
            "quick": settings.quick,
            "rounds": settings.rounds,
            "versions": report.versions(
                name for library in installed for name in LIBRARIES[library].distributions
            ),
            "skipped": skipped,
            "machine": report.machine(),
        },
    )
    output = arguments.output
    if output is None:
        output = report.default_output(f"{settings.device}-{today}.json")
    report.write_json(result, output)
    print(f"written to {output}", file=sys.stderr)
    show(result, output, arguments.readme)
    for line in tables.unsteady(result):
        print(f"unsteady: {line}", file=sys.stderr)
    return int(failed)
