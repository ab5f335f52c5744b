"""What becomes of the measurements: the JSON, the printed table and the README's table."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import BEST_PEER, CASES, Case, Limit
from benchmarks.libs import LIBRARIES

SCHEMA = 1
OURS = "numtape"
NOTHING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
UNSTEADY = 1.5
BEGIN = "<!-- benchmarks:begin -->"
END = "<!-- benchmarks:end -->"


@dataclass
class Row:
    """What is known about one case: per column the samples by round, details, or an error."""

    samples: dict[str, list[list[float]]] = field(default_factory=dict)
    details: dict[str, dict[str, object]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def fail(self, case: Case, heading: str, problem: object) -> None:
        """Takes a column out of this row."""
        self.samples.pop(heading, None)
        self.errors[heading] = str(problem)
        print(f"  {case.name}, {heading}: {problem}", file=sys.stderr)


def machine() -> dict[str, object]:
    """Describes the machine without naming it."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [s for s in cpuinfo.read_text().splitlines() if s.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    memory = None
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": model,
        "architecture": platform.machine(),
        "cores": usable,
        "memory_gib": memory,
        "os": system,
        "kernel": f"{platform.system()} {platform.release()}",
    }


def versions(libraries: list[str]) -> dict[str, str]:
    """Gives the versions of Python and of the packages that belong to these libraries."""
    found = {"python": platform.python_version(), "numpy": np.__version__}
    for library in libraries:
        for name in LIBRARIES[library].distributions:
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                if name == OURS:
                    found[name] = "checkout"
    return found


def _short(value: float) -> float:
    """Keeps four digits: more would be noise."""
    return float(f"{value:.4g}")


def _statistics(rounds: list[list[float]]) -> dict[str, Any]:
    """The median is that of the rounds' medians: each round counts once, fast or slow."""
    together = np.concatenate([np.asarray(times) for times in rounds])
    medians = [float(np.median(times)) for times in rounds]
    low, high = np.percentile(together, [25, 75])
    return {
        "median": _short(float(np.median(medians))),
        "min": _short(together.min()),
        "p25": _short(low),
        "p75": _short(high),
        "repeats": len(together),
        "rounds": [_short(median) for median in medians],
    }


def _limit(limit: Limit, medians: dict[str, float]) -> float | None:
    """Gives the largest allowed figure, or ``None`` where what it is measured by is missing."""
    if limit.of is None:
        return limit.at_most
    peers = [m for heading, m in medians.items() if heading != OURS]
    of = min(peers, default=None) if limit.of == BEST_PEER else medians.get(limit.of)
    return None if of is None else limit.at_most * of


def _goal(case: Case, medians: dict[str, float]) -> dict[str, object]:
    words = []
    for limit in case.goal:
        if limit.of is None:
            words.append(_figure(limit.at_most, case.unit))
        elif limit.at_most < 1:
            words.append(f"1/{round(1 / limit.at_most)} {limit.of}")
        else:
            words.append(f"{limit.at_most:g} {TIMES} {limit.of}")
    allowed = [_limit(limit, medians) for limit in case.goal]
    kept = [a is not None and OURS in medians and medians[OURS] <= a for a in allowed]
    known = OURS in medians and None not in allowed
    return {"text": "≤ " + ", ".join(words), "met": all(kept) if known else None}


def collect(rows: dict[str, Row], headings: list[str], about: dict[str, object]) -> dict[str, Any]:
    """Makes the result that is written and shown."""
    cases: dict[str, Any] = {}
    for name, row in rows.items():
        case = CASES[name]
        columns = {
            heading: {**_statistics(row.samples[heading]), **row.details.get(heading, {})}
            for heading in headings
            if row.samples.get(heading)
        }
        medians = {heading: column["median"] for heading, column in columns.items()}
        if OURS in medians and case.unit == "s":
            for column in columns.values():
                column["ratio"] = _short(column["median"] / medians[OURS])
        cases[name] = {
            "title": case.title,
            "unit": case.unit,
            # A quick run measures too little to say anything about goals.
            "goal": _goal(case, {} if about["quick"] else medians),
            "columns": columns,
            "errors": row.errors,
        }
    return {**about, "columns": headings, "cases": cases}


def write_json(result: dict[str, Any], path: Path) -> None:
    """Writes the result, making its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _three(value: float) -> str:
    """Three digits, and never an exponent."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


def _figure(value: float, unit: str) -> str:
    """Three digits and the unit that suits them."""
    if unit == "MiB":
        return f"{value:.1f} MiB"
    scales = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
    scale, name = next((s for s in scales if value >= s[0]), scales[-1])
    return f"{_three(value / scale)} {name}"


def _cell(case: dict[str, Any], heading: str) -> str:
    if heading in case["errors"]:
        return "failed"
    if heading not in case["columns"]:
        return NOTHING
    column = case["columns"][heading]
    figure = _figure(column["median"], case["unit"])
    if heading == OURS or "ratio" not in column:
        return figure
    return f"{figure} ({_three(column['ratio'])}{TIMES})"


def _table(result: dict[str, Any]) -> Iterator[list[str]]:
    headings = result["columns"]
    yield ["case", *headings, "goal", "met"]
    for case in result["cases"].values():
        met = {True: "yes", False: "no", None: NOTHING}[case["goal"]["met"]]
        cells = [_cell(case, heading) for heading in headings]
        yield [case["title"], *cells, case["goal"]["text"], met]


def _about(result: dict[str, Any]) -> str:
    described = result["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    quick = " A quick run: the figures are rough." if result["quick"] else ""
    return (
        f"Medians; in brackets the ratio to numtape. Device {result['device']}; "
        f"{described['cpu']}, {described['cores']} cores, {described['memory_gib']} GiB, "
        f"{described['os']}; {packages}; {result['date']}.{quick}"
    )


def unsteady(result: dict[str, Any]) -> list[str]:
    """Names the figures whose rounds differ so much that something else must have been running."""
    return [
        f"{name}, {heading}: rounds from {_figure(low, 's')} to {_figure(high, 's')}"
        for name, case in result["cases"].items()
        if case["unit"] == "s"
        for heading, column in case["columns"].items()
        for low, high in [(min(column["rounds"]), max(column["rounds"]))]
        if high > UNSTEADY * low
    ]


def plain_table(result: dict[str, Any]) -> str:
    """Gives the table with aligned columns, and what it was measured with."""
    lines = list(_table(result))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = (
        "  ".join(
            cell.rjust(width) if 0 < i < len(line) - 2 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
    return "\n".join((*text, "", _about(result)))


def markdown_table(result: dict[str, Any]) -> str:
    """Gives the table for GitHub."""
    header, *lines = _table(result)
    rule = ["---", *["---:"] * len(result["columns"]), "---", "---"]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *lines))


def has_markers(readme: Path) -> bool:
    """Says whether the table has its place in this file."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return -1 < text.find(BEGIN) < text.find(END)


def rewrite_readme(result: dict[str, Any], readme: Path) -> None:
    """Puts the table between the markers and leaves the rest as it is."""
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    table = f"{BEGIN}\n{markdown_table(result)}\n\n{_about(result)}\n{END}"
    readme.write_text(before + table + after, encoding="utf-8")
