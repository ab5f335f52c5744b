"""Tables of a GPU result, with one line per case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.cases import OURS, REPLAYED
from benchmarks.gpu.result import best
from benchmarks.tables import (
    BYTES,
    NOTHING,
    TIMES,
    align,
    figure,
    join,
    markdown,
    rows,
    scale,
    three,
)

PYTORCH = "PyTorch"
_RATES = ((1e12, "Tflop/s"), (1e9, "Gflop/s"), (1e6, "Mflop/s"), (1.0, "flop/s"))


def _floors(result: dict[str, Any]) -> Iterator[list[str]]:
    """Yields the lines of the table of bytes, rates, floors and memory."""
    yield [
        "case",
        REPLAYED,
        "bytes",
        "a second",
        "floor",
        "of the floor's rate",
        "first step",
        "memory",
        PYTORCH,
    ]
    for case in result["cases"].values():
        columns, roofline = case["columns"], case["roofline"]
        own = columns.get(REPLAYED) or columns.get(OURS)
        if not own or not roofline:
            continue
        moved, floor = roofline["bytes"], roofline["floor"]
        yield [
            case["title"],
            figure(own["median"], "s"),
            scale(moved, BYTES) if moved else NOTHING,
            f"{scale(moved / own['median'], BYTES)}/s" if moved else NOTHING,
            figure(floor, "s") if floor else NOTHING,
            f"{three(100 * own['of_floor'])} %" if floor else NOTHING,
            figure(own["first_step"], "s"),
            *(_memory(columns.get(heading)) for heading in (REPLAYED, PYTORCH)),
        ]


def _memory(column: dict[str, Any] | None) -> str:
    peak = column and column["peak_bytes"]
    return NOTHING if peak is None else scale(peak, BYTES)


def about(result: dict[str, Any]) -> str:
    """Describes the run: GPU, rates, versions, and what was skipped."""
    gpu, driver = result["gpu"], result["driver"] or {}
    rates = best(result["ceilings"])
    ceilings = [f"copies {scale(rates['copy'], BYTES)}/s"] if "copy" in rates else []
    ceilings += [
        f"{what} products {scale(rates[what], _RATES)}"
        for what in ("float32", "tf32", "float64")
        if what in rates
    ]
    calls = [
        f"{name} {figure(seconds['host'], 's')}" for name, seconds in result["overheads"].items()
    ]
    first = [
        f"{which} {figure(seconds['first_step'], 's')}"
        for which, seconds in result["first_call"].items()
    ]
    clocks = {name: about["clock"] for name, about in result["libraries"].items()}
    packages = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    sentences = [
        "SIMULATED: these figures are from Python threads with a few elements each; they do not "
        "apply to a GPU."
        if result["simulated"]
        else "",
        "This was a quick run on small arrays, so the figures are rough."
        if result["quick"] and not result["simulated"]
        else "",
        f"Medians; in brackets the ratio to {OURS}. A floor is the time of a step's minimal "
        f"traffic at the rate of the fastest copy, or of its products at the fastest rate; "
        f"1.25 {TIMES} floor is 80 % of that rate.",
        f"GPU: {gpu.get('name', NOTHING)}, driver {driver.get('driver_version', NOTHING)}, "
        f"{gpu.get('toolkit', NOTHING)}.",
        f"Ceilings: {', '.join(ceilings)}." if ceilings else "",
        f"Host time of calls: {', '.join(calls)}." if calls else "",
        f"First step in a fresh process: {', '.join(first)}." if first else "",
        "Timed by: " + "; ".join(f"{name}: {clock}" for name, clock in clocks.items()) + ".",
        *(f"Skipped: {name}: {why}." for name, why in result["skipped"].items()),
        f"Left out over budget: {', '.join(result['left_out'])}." if result["left_out"] else "",
        f"{packages}; {result['date']}.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def plain(result: dict[str, Any]) -> str:
    """Returns the tables with aligned columns, and a description of the run."""
    return join(align(list(rows(result)), 2), align(list(_floors(result)), 0), about(result))


def markdown_cases(result: dict[str, Any]) -> str:
    """Returns the table of all cases, and a description of the run."""
    return join(markdown(list(rows(result)), 2), about(result))


def markdown_floors(result: dict[str, Any]) -> str:
    """Returns the table of bytes, rates, floors and memory."""
    return markdown(list(_floors(result)), 0)
