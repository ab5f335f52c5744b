"""Plots of a GPU result: the rate of each step relative to its floor, and its time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.gpu.cases import OWN
from benchmarks.plots import bare

# Colour, shape, size and fill of each column, chosen so that no mark hides another.
OURS_MARKS = ("C3", "o", 10, "none"), ("C3", "s", 5, "C3"), ("C2", "D", 5, "C2")
PEER_MARKS = tuple(
    (colour, shape, 6, "none")
    for colour, shape in (("black", "^"), ("C0", "v"), ("C4", "P"), ("C5", "X"))
)


def marks(headings: list[str], own: tuple[str, ...]) -> dict[str, tuple[str, str, int, str]]:
    """Returns colour, shape, size and fill of the mark of each column."""
    numtape_value, peers = iter(OURS_MARKS), iter(PEER_MARKS)
    return {heading: next(numtape_value if heading in own else peers) for heading in headings}


def _dots(axes: Axes, result: dict[str, Any], names: list[str], key: str, scale: float) -> None:
    """Draws one row per case and one mark per column."""
    for heading, (colour, shape, size, fill) in marks(result["columns"], OWN).items():
        value = {
            row: scale * result["cases"][name]["columns"][heading][key]
            for row, name in enumerate(names)
            if heading in result["cases"][name]["columns"]
        }
        axes.plot(
            list(value.values()),
            list(value),
            shape,
            label=heading,
            color=colour,
            markersize=size,
            markerfacecolor=fill,
            markeredgewidth=1.4,
        )
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    bare(axes, "both")


def _set_title(figure: Figure, result: dict[str, Any]) -> None:
    if result["simulated"]:
        figure.suptitle("simulated, not measured on a GPU")


def rates(result: dict[str, Any]) -> Figure:
    """Draws the rate of each step in percent of the fastest copy or product."""
    names = [
        name
        for name, case in result["cases"].items()
        if name != "small_net" and case["columns"] and case["roofline"].get("floor")
    ]
    return _draw(result, names, "of_floor", 100.0, "% of the ceiling's rate", ceiling=100)


def steps(result: dict[str, Any]) -> Figure:
    """Draws milliseconds per step."""
    names = [name for name, case in result["cases"].items() if case["columns"]]
    return _draw(result, names, "median", 1e3, "ms per step")


def _draw(
    result: dict[str, Any],
    names: list[str],
    key: str,
    scale: float,
    label: str,
    ceiling: float | None = None,
) -> Figure:
    figure = Figure(figsize=(9, 1.2 + 0.32 * len(names)), layout="constrained")
    axes = figure.subplots()
    _dots(axes, result, names, key, scale)
    if ceiling is None:
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        axes.axvline(ceiling, color="black", linewidth=1)
        axes.annotate(
            "ceiling",
            (ceiling, 1),
            (-3, -12),
            fontsize=8,
            ha="right",
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
        )
        axes.set_xlim(left=-2)
    axes.set_xlabel(label)
    axes.legend(ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    _set_title(figure, result)
    return figure


def write(result: dict[str, Any], output: Path) -> None:
    """Saves the plots as SVG beside the JSON ``output``."""
    # Reproducible files: text as text, without dates or random names.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "numtape"}):
        for name, figure in {"rates": rates(result), "steps": steps(result)}.items():
            path = output.with_name(f"{output.stem}-{name}.svg")
            figure.savefig(path, metadata={"Date": None})
