"""Command line: measures the evals, writes the JSON and the README's table."""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import sys
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.gradbench.cases import CASES
from benchmarks.gradbench.libs import LIBRARIES
from benchmarks.gradbench.measure import measure
from benchmarks.tables import NOTHING, TIMES, figure, markdown, three

ROOT = Path(__file__).resolve().parents[2]
BEGIN = "<!-- gradbench:begin -->"
END = "<!-- gradbench:end -->"


def met(case: str, columns: dict[str, Any]) -> list[dict[str, Any]]:
    """The goals of an eval, and whether each is met (None if a figure is missing)."""
    results = []
    for goal in CASES[case].goals:
        own, other = columns.get(goal.form, {}), columns.get(goal.peer, {})
        value: float | None = None
        if goal.what == "against":
            text = f"{goal.form}: {goal.limit:g} {TIMES} {goal.peer}"
            if "gradient" in own and "gradient" in other:
                value = own["ns_an_operation"] / other["ns_an_operation"]
        elif goal.what == "ratio":
            text, value = f"{goal.limit:g} {TIMES} its primal", own.get("ratio")
        elif goal.what == "stack":
            text, value = f"{goal.limit / 2**20:g} MiB of stack", own.get("stack")
        else:
            text, value = f"{goal.limit:g} ns an operation", own.get("ns_an_operation")
        reached = None if value is None else value <= goal.limit
        results.append({"text": text, "value": value, "met": reached})
    return results


def _cell(column: dict[str, Any] | None, operations: float) -> str:
    """Format time and ratio; a time measured with fewer operations is scaled up."""
    if column is None:
        return NOTHING
    if "failed" in column:
        return "failed"
    about = "" if column["operations"] == operations else "~ "
    text = figure(column["ns_an_operation"] * 1e-9 * operations, "s")
    return f"{about}{text} ({three(column['ratio'])}{TIMES})"


def table(result: dict[str, Any]) -> str:
    """The table of the README: times of gradients, with ratios to the primal in brackets."""
    headings = [h for library in LIBRARIES.values() for h in library.headings]
    headings = [h for h in headings if any(h in c["columns"] for c in result["cases"].values())]
    lines = [["gradient", "primal", "numtape", "an operation", "stack", *headings[1:]]]
    for name, case in result["cases"].items():
        columns = case["columns"]
        own = columns.get("numtape")
        known = own is not None and "failed" not in own
        operations = max((c.get("operations", 0.0) for c in columns.values()), default=0.0)
        lines.append(
            [
                CASES[name].title,
                figure(own["primal"], "s") if known else NOTHING,
                _cell(own, operations),
                f"{three(own['ns_an_operation'])} ns" if known else NOTHING,
                f"{three(own['stack'] / 2**20)} MiB" if known and "stack" in own else NOTHING,
                *(_cell(columns.get(h), operations) for h in headings[1:]),
            ]
        )
    return markdown(lines, 0)


def rewrite(readme: Path, result: dict[str, Any]) -> None:
    """Replace the text between the markers with the table."""
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{table(result)}\n{END}{after}", encoding="utf-8")


def has_markers(readme: Path) -> bool:
    """Whether a file has the markers of the table."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return -1 < text.find(BEGIN) < text.find(END)


def main(argv: list[str] | None = None) -> int:
    """Run the evals.

    Returns:
      The exit status: 1 if a library failed or computed a wrong result.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gradbench", description="Gradients of loops against peers."
    )
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--libraries", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--rounds", type=int, default=5, help="turns per library (default: 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds per turn (default: 1)")
    parser.add_argument("--quick", action="store_true", help="only small sizes, as a smoke test")
    parser.add_argument("--output", type=Path, help="path of the JSON file")
    parser.add_argument(
        "--readme",
        type=Path,
        help="file whose table is rewritten (default after a full run: README.md)",
    )
    provided = parser.parse_args(argv)
    installed = [
        name
        for name in LIBRARIES
        if name in provided.libraries and importlib.util.find_spec(LIBRARIES[name].package)
    ]
    rounds, seconds = (1, 0.0) if provided.quick else (provided.rounds, provided.seconds)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    cases: dict[str, Any] = {}
    for name in (name for name in CASES if name in provided.cases):
        columns = measure(name, installed, rounds, seconds, provided.quick)
        goals = [] if provided.quick else met(name, columns)
        cases[name] = {"title": CASES[name].title, "columns": columns, "goals": goals}
        for heading, column in columns.items():
            message = column.get("failed") or (
                f"{figure(column['gradient'], 's')}, {three(column['ratio'])} {TIMES} its primal"
            )
            print(f"{name}, {heading}: {message}", file=sys.stderr)
        for goal in goals:
            reached = {True: "yes", False: "no", None: NOTHING}[goal["met"]]
            print(f"  at most {goal['text']}: {reached}", file=sys.stderr)
    result = {
        "schema": 1,
        "date": today,
        "quick": provided.quick,
        "rounds": rounds,
        "seconds": seconds,
        "versions": report.versions(d for n in installed for d in LIBRARIES[n].distributions),
        "machine": report.machine(),
        "cases": report.round_value(cases),
    }
    output = provided.output or report.default_output(f"gradbench-{today}.json")
    report.write_json(result, output)
    print(f"written to {output}", file=sys.stderr)
    print(table(result))
    full = not provided.quick and len(cases) == len(CASES) and installed == list(LIBRARIES)
    readme = provided.readme or (ROOT / "README.md" if full else None)
    if readme is not None and has_markers(readme):
        rewrite(readme, result)
    return int(any("failed" in c for case in cases.values() for c in case["columns"].values()))
