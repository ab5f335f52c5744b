"""Collects statistics, goals and floors of the measurements in one JSON-serializable dict."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks import roofline
from benchmarks.cases import BEST_PEER, CASES, OURS, OWN, Limit
from benchmarks.tables import TIMES, figure

SCHEMA = 3
RESULTS = Path(__file__).with_name("results")


class Named(Protocol):
    """Any object with a name, such as a CPU or GPU case."""

    @property
    def name(self) -> str:
        """The name for ``--cases``."""


@dataclass
class ReportRow:
    """The measurements of one case: samples by round, details and errors, by column."""

    samples: dict[str, list[list[float]]] = field(default_factory=dict)
    details: dict[str, dict[str, object]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def fail(self, case: Named, heading: str, problem: object) -> None:
        """Removes a column from this row and reports the problem."""
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
    return {
        "cpu": model,
        "architecture": platform.machine(),
        "cores": roofline.cores(),
        "memory_gib": memory,
        "os": system,
        "kernel": f"{platform.system()} {platform.release()}",
    }


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Returns the versions of Python, NumPy and the installed ones of these packages."""
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    for name in distributions:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name == OURS:
                versions[name] = "checkout"
    return versions


def _short(value: float) -> float:
    """Rounds to four significant digits; more would be noise."""
    return float(f"{value:.4g}")


def statistics(rounds: list[list[float]]) -> dict[str, Any]:
    """Summarizes the samples of a column.

    The median is the median of the rounds' medians, so that each round has equal weight.
    """
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


def _limit(limit: Limit, others: dict[str, float]) -> float | None:
    """Returns the largest allowed figure, or None if the reference column is missing."""
    if limit.of is None:
        return limit.at_most
    of = others.get(limit.of)
    return None if of is None else limit.at_most * of


def _in_words(limit: Limit, unit: str) -> str:
    if limit.of is None:
        return figure(limit.at_most, unit)
    if limit.at_most == 1:
        return limit.of
    if limit.at_most < 1 and abs(1 / limit.at_most - round(1 / limit.at_most)) < 1e-9:
        return f"1/{round(1 / limit.at_most)} {limit.of}"
    return f"{limit.at_most:g} {TIMES} {limit.of}"


def goals(
    goal: tuple[Limit, ...],
    medians: dict[str, float],
    unit: str,
    own: tuple[str, ...] = OWN,
    known: dict[str, float] | None = None,
) -> list[dict[str, object]]:
    """Returns the goals of numtape's columns, and whether each is met.

    ``own`` are numtape's columns; all others are peers. ``known`` are figures that belong to no
    library, such as a floor.
    """
    peers = [median for heading, median in medians.items() if heading not in own]
    best = {BEST_PEER: min(peers)} if peers else {}
    others = {**medians, **best, **(known or {})}
    goals: list[dict[str, object]] = []
    for column in own:
        limits = [limit for limit in goal if limit.column == column]
        if not limits:
            continue
        allowed = [_limit(limit, others) for limit in limits]
        numtape_value = medians.get(column)
        retained = [
            a is not None and numtape_value is not None and numtape_value <= a for a in allowed
        ]
        known = numtape_value is not None and None not in allowed
        text = "≤ " + ", ".join(_in_words(limit, unit) for limit in limits)
        goals.append({"column": column, "text": text, "met": all(retained) if known else None})
    return goals


def round_value(value: Any) -> Any:
    """Rounds every float in a nested structure."""
    if isinstance(value, dict):
        return {key: round_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [round_value(item) for item in value]
    return _short(value) if isinstance(value, float) else value


def collect(
    rows: dict[str, ReportRow],
    headings: list[str],
    rates: dict[str, Any],
    scaling: dict[str, Any],
    about: dict[str, Any],
) -> dict[str, Any]:
    """Builds the result that is written to JSON and displayed."""
    cases: dict[str, Any] = {}
    for name, row in rows.items():
        case = CASES[name]
        columns = {
            heading: {**statistics(row.samples[heading]), **row.details.get(heading, {})}
            for heading in headings
            if row.samples.get(heading)
        }
        medians = {heading: column["median"] for heading, column in columns.items()}
        own = medians.get(OURS)
        if own and case.kind != "figure":
            for column in columns.values():
                column["ratio"] = _short(column["median"] / own)
        cases[name] = {
            "title": case.title,
            "unit": case.unit,
            # A quick run measures too little to judge the goals.
            "goals": goals(case.goal, {} if about["quick"] else medians, case.unit),
            "columns": columns,
            "errors": row.errors,
            "left_out": row.left_out,
        }
        if case.kind == "step" and case.data and rates:
            floors = roofline.floors(case.data().work(), rates, own)
            cases[name]["roofline"] = round_value(floors)
    machine = {"rates": round_value(rates), "scaling": round_value(scaling)}
    return {**about, **machine, "columns": headings, "cases": cases}


def default_output(name: str) -> Path:
    """The default path of a result: in ``results``, or elsewhere if that is read-only."""
    writable = os.access(RESULTS, os.W_OK)
    return (RESULTS if writable else Path(tempfile.gettempdir(), "numtape-benchmarks")) / name


def write_json(result: dict[str, Any], path: Path) -> None:
    """Writes the result, creating its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
