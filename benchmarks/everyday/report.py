"""The table of the workloads, its summary, and the picture of the ratios to the best peer.

The functions take the result that ``run`` returns. Each time is a median over its rounds. ``plain``
is for a terminal, ``markdown`` and ``picture`` are for a notebook.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import tables
from benchmarks.everyday.process import EAGER, JAX, REPLAYED, TENSORFLOW, TORCH
from benchmarks.tables import NOTHING, align, figure, three

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (EAGER, REPLAYED, TORCH, JAX, TENSORFLOW)
PEERS = (TORCH, JAX, TENSORFLOW)


def ratio(times: dict[str, float], own: str, peers: tuple[str, ...]) -> float | None:
    """Returns a time over the best of the peers', or None if either is missing."""
    best = min((times[peer] for peer in peers if peer in times), default=None)
    return times[own] / best if own in times and best else None


def ratios(cases: dict[str, Any], own: str, peers: tuple[str, ...]) -> dict[str, float]:
    """Returns the ratios of the medians by workload, without the workloads that failed."""
    pairs = {
        name: ratio({h: column["median"] for h, column in case["columns"].items()}, own, peers)
        for name, case in cases.items()
        if not case["errors"]
    }
    return {name: value for name, value in pairs.items() if value is not None}


def lines_of(cases: dict[str, Any]) -> list[list[str]]:
    """Returns a header and a line for each workload; ratios above 2 have a star."""
    used = [h for h in COLUMNS if any(h in case["columns"] for case in cases.values())]
    lines = [["workload", *used, f"{REPLAYED} / best"]]
    replayed = ratios(cases, REPLAYED, PEERS)
    for name, case in cases.items():
        cells = [
            figure(case["columns"][h]["median"], "s") if h in case["columns"] else NOTHING
            for h in used
        ]
        value = replayed.get(name)
        last = "failed" if case["errors"] else NOTHING if value is None else three(value)
        lines.append([name, *cells, f"{last} *" if value and value > 2 else last])
    return lines


def seconds_and_peaks(result: dict[str, Any]) -> dict[str, list[list[str]]]:
    """Returns the lines of the tables of first calls and of memory by title, if measured."""
    titles = {
        "first": ("seconds until the first step is done, with an empty and a warm cache", "s"),
        "memory": ("peak memory of the first steps, without library and inputs", "MiB"),
    }
    blocks = {}
    for key, (title, unit) in titles.items():
        if rows := result.get(key):
            columns = list(dict.fromkeys(h for row in rows.values() for h in row))
            blocks[title] = [["workload", *columns]] + [
                [name, *(figure(row[h], unit) if h in row else NOTHING for h in columns)]
                for name, row in rows.items()
            ]
    return blocks


def in_words(values: dict[str, float]) -> str:
    """Returns the geometric mean of ratios, and how many are in which range."""
    if not values:
        return "no workload"
    mean = math.exp(statistics.fmean(math.log(value) for value in values.values()))
    counts = [
        f"{sum(value <= 1 for value in values.values())} at most 1.0",
        f"{sum(value > 1.2 for value in values.values())} above 1.2",
        f"{sum(value > 2 for value in values.values())} above 2",
    ]
    return f"geometric mean {mean:.2f} of {len(values)}; {', '.join(counts)}"


def summary(cases: dict[str, Any]) -> str:
    """Returns the summary of the ratios, and the workloads that failed."""
    lines = [
        f"{own} over {what}: {in_words(ratios(cases, own, peers))}"
        for own, what, peers in (
            (REPLAYED, "the best peer", PEERS),
            (EAGER, TORCH, (TORCH,)),
            (REPLAYED, JAX, (JAX,)),
        )
    ]
    for name, case in cases.items():
        lines += [f"{name}, {heading}: {text}" for heading, text in case["errors"].items()]
    return "\n".join(lines)


def plain(result: dict[str, Any]) -> str:
    """Returns the tables of a result: times by number of threads, first calls, and memory."""
    blocks = [
        f"{in_threads(threads)}, the median time of a step\n\n"
        f"{align(lines_of(cases), 0)}\n\n{summary(cases)}"
        for threads, cases in result["threads"].items()
    ]
    for title, lines in seconds_and_peaks(result).items():
        blocks.append(f"{title}\n\n{align(lines, 0)}")
    return "\n\n".join(blocks)


def markdown(result: dict[str, Any]) -> str:
    """Returns the same tables as GitHub Markdown."""
    blocks = [
        tables.join(
            f"**{in_threads(threads)}, the median time of a step**",
            tables.markdown(lines_of(cases), 0),
            "\n".join(f"- {line}" for line in summary(cases).splitlines()),
        )
        for threads, cases in result["threads"].items()
    ]
    for title, lines in seconds_and_peaks(result).items():
        blocks.append(tables.join(f"**{title}**", tables.markdown(lines, 0)))
    return tables.join(*blocks)


def in_threads(count: str) -> str:
    """Returns a number of threads in words."""
    return "1 thread" if count == "1" else f"{count} threads"


def picture(result: dict[str, Any]) -> Figure:
    """Plots the replayed time over that of the best peer, sorted, losses in another colour."""
    from matplotlib.figure import Figure

    from benchmarks.plots import LOST_COLOUR, OURS_COLOUR, bare

    cases = next(iter(result["threads"].values()))
    values = sorted(ratios(cases, REPLAYED, PEERS).items(), key=lambda item: item[1])
    drawn = Figure(figsize=(7.5, 0.8 + 0.16 * len(values)), layout="constrained")
    axes = drawn.add_subplot()
    for row, (name, value) in enumerate(values):
        colour = OURS_COLOUR if value <= 1 else LOST_COLOUR
        axes.plot([1, value], [row, row], color=colour, linewidth=1.5)
        axes.plot(value, row, "o", color=colour, markersize=4)
        side = 6 if value > 1 else -6
        axes.annotate(
            f"{name} {three(value)}",
            (value, row),
            (side, 0),
            textcoords="offset points",
            ha="left" if value > 1 else "right",
            va="center",
            fontsize=7,
            color=colour,
        )
    axes.axvline(1, color="black", linewidth=1)
    low = min([0.5, *(value for _, value in values)])
    high = max([2.0, *(value for _, value in values)])
    axes.set(xscale="log", xlim=(low / 12, high * 8), ylim=(-1, len(values)), yticks=[])
    axes.set_xlabel("time of a replayed step over that of the best peer")
    bare(axes, "x")
    axes.spines["left"].set_visible(False)
    return drawn


def draw(result: dict[str, Any], path: Path) -> None:
    """Saves the picture as SVG."""
    from benchmarks.plots import save

    save(picture(result), path, "path")
