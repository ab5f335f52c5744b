"""Collects statistics, goals and floors of GPU measurements in one JSON-serializable dict."""

from __future__ import annotations

from typing import Any

from benchmarks import report
from benchmarks.cases import OURS
from benchmarks.gpu.cases import CASES, FLOOR, OWN, GpuCase
from benchmarks.gpu.libs import LIBRARIES
from benchmarks.gpu.measure import Found
from benchmarks.gpu.worker import difference
from benchmarks.inputs import Array, MinimalWork
from benchmarks.report import ReportRow

SCHEMA = 1


def best(ceilings: dict[str, dict[str, float]]) -> dict[str, float]:
    """Returns the highest rate of each kind over all libraries."""
    return {what: max(rates.values()) for what, rates in ceilings.items() if rates}


def floors(work: MinimalWork, tensor_float: bool, rates: dict[str, float]) -> dict[str, Any]:
    """Returns a step's floors in seconds: its traffic at the copy rate, and its products.

    Both overlap, so the floor of a step is the larger one. A floor is None if the step has no such
    work, or if the rate was not measured.
    """
    kind = "tf32" if tensor_float else work.dtype
    memory, products = (
        amount / rates[what] if amount and what in rates else None
        for amount, what in ((work.traffic, "copy"), (work.products, kind))
    )
    return {
        "bytes": work.traffic,
        "operations": work.products,
        "floor_memory": memory,
        "floor_products": products,
        "floor": max((f for f in (memory, products) if f is not None), default=None),
    }


def _compare(case: GpuCase, row: ReportRow, tails: dict[str, list[Array]]) -> None:
    """Removes columns whose results at the timed size differ from those of the first column."""
    first = next(iter(tails), None)
    for heading, tail in tails.items():
        if heading != first and heading in row.samples:
            separate = difference(tails[str(first)], tail)
            row.details[heading]["difference"] = separate
            if separate > case.agreement:
                row.fail(case, heading, f"differs from {first} by {separate:.1e}")


def _case(
    case: GpuCase, row: ReportRow, headings: list[str], roofline: dict[str, Any], rough: bool
) -> dict[str, Any]:
    columns: dict[str, Any] = {
        heading: {
            **report.statistics(row.samples[heading]),
            **report.round_value(row.details.get(heading, {})),
        }
        for heading in headings
        if row.samples.get(heading)
    }
    floor = roofline.get("floor")
    medians = {heading: column["median"] for heading, column in columns.items()}
    for column in columns.values():
        if OURS in medians:
            column["ratio"] = report.round_value(column["median"] / medians[OURS])
        if floor is not None:
            column["of_floor"] = report.round_value(floor / column["median"])
    # A quick run has other sizes and few repeats, so it cannot judge the goals.
    known = {} if rough or floor is None else {FLOOR: floor}
    return {
        "title": case.title,
        "unit": "s",
        "steps_between_events": case.inner,
        "goals": report.goals(case.goal, {} if rough else medians, "s", OWN, known),
        "columns": columns,
        "errors": row.errors,
        "roofline": roofline,
    }


def collect(value: Found, libraries: list[str], about: dict[str, Any]) -> dict[str, Any]:
    """Builds the result that is written and displayed; ``about`` describes the run."""
    headings = [h for name in libraries if name in value.gpus for h in LIBRARIES[name].headings]
    rates, rough = best(value.ceilings), about["quick"]
    cases = {}
    for name, row in value.rows.items():
        if not (rough and CASES[name].drawn):
            _compare(CASES[name], row, value.tails.get(name, {}))
        work = value.works.get(name)
        roofline = floors(work, CASES[name].tensor_float, rates) if work else {}
        cases[name] = _case(CASES[name], row, headings, report.round_value(roofline), rough)
    displayed = [h for h in headings if any(h in case["columns"] for case in cases.values())]
    return {
        "schema": SCHEMA,
        **about,
        "skipped": value.skipped,
        "left_out": value.left_out,
        "gpu": value.gpus.get(OURS, {}),
        "libraries": value.gpus,
        "ceilings": report.round_value(value.ceilings),
        "overheads": report.round_value(value.overheads),
        "first_call": report.round_value(value.first_call),
        "columns": displayed,
        "cases": cases,
    }
