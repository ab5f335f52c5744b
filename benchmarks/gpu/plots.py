"""The plots of a result on a GPU: how near a step is to its floor, and how long it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.gpu.cases import OWN
from benchmarks.plots import bare


def colours(headings: list[str], own: tuple[str, ...]) -> dict[str, str]:
    """A colour for each column: ours stand out from the greys of the others."""
    ours = [heading for heading in headings if heading in own]
    peers = [heading for heading in headings if heading not in own]
    bright = {heading: f"C{3 + place}" for place, heading in enumerate(ours)}
    grey = {heading: str(0.3 + 0.6 * k / len(peers)) for k, heading in enumerate(peers)}
    return {heading: (bright | grey)[heading] for heading in headings}


def _bars(axes: Axes, result: dict[str, Any], names: list[str], key: str, scale: float) -> None:
    """A group of bars a case, a bar a column."""
    headings = result["columns"]
    width = 0.84 / max(1, len(headings))
    for place, (heading, colour) in enumerate(colours(headings, OWN).items()):
        offset = (place - (len(headings) - 1) / 2) * width
        bars = {
            group + offset: scale * result["cases"][name]["columns"][heading][key]
            for group, name in enumerate(names)
            if heading in result["cases"][name]["columns"]
        }
        axes.bar(list(bars), list(bars.values()), 0.9 * width, label=heading, color=colour)
    words = [name.replace("_", "\n") for name in names]
    axes.set_xticks(range(len(names)), words, fontsize="small")
    bare(axes)


def _titled(figure: Figure, result: dict[str, Any]) -> None:
    if result["simulated"]:
        figure.suptitle("simulated: no GPU was measured")


def rates(result: dict[str, Any]) -> Figure:
    """How much of the rate of a copy, or of the fastest products, each step reaches."""
    names = [
        name for name, case in result["cases"].items()
        if name != "small_net" and case["columns"] and case["roofline"].get("floor")
    ]  # fmt: skip
    figure = Figure(figsize=(12, 4), layout="constrained")
    axes = figure.subplots()
    _bars(axes, result, names, "of_floor", 100.0)
    axes.axhline(100, color="black", linewidth=1, label="ceiling")
    axes.axhline(80, color="black", linewidth=0.5, linestyle="--", label="80 %")
    axes.set_ylabel("% of the ceiling's rate")
    axes.legend(ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    _titled(figure, result)
    return figure


def steps(result: dict[str, Any]) -> Figure:
    """Milliseconds a step."""
    names = [name for name, case in result["cases"].items() if case["columns"]]
    figure = Figure(figsize=(12, 4), layout="constrained")
    axes = figure.subplots()
    _bars(axes, result, names, "median", 1e3)
    axes.set(yscale="log", ylabel="ms a step")
    axes.legend(ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    _titled(figure, result)
    return figure


def write(result: dict[str, Any], output: Path) -> None:
    """Saves the plots as SVG beside the JSON ``output``."""
    # Text as text, and no dates or random names: the same figures give the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "numtape"}):
        for name, figure in {"rates": rates(result), "steps": steps(result)}.items():
            path = output.with_name(f"{output.stem}-{name}.svg")
            figure.savefig(path, metadata={"Date": None})
