"""The plots of a result: steps beside their floors, and how numtape's time grows.

Each function draws one figure; ``write`` saves them beside the JSON. The notebook shows the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.cases import OWN

SHORT = {
    "scalar_chain": "100 scalar ops",
    "small_net": "small network",
    "large_net": "large network",
    "black_scholes": "Black-Scholes",
    "long_chain": "long chain",
}


def colours(headings: list[str], own: tuple[str, ...] = OWN) -> dict[str, str]:
    """A colour for each column: ours stand out from the greys of the others."""
    ours = [heading for heading in headings if heading in own]
    peers = [heading for heading in headings if heading not in own]
    bright = {heading: f"C{3 + place}" for place, heading in enumerate(ours)}
    grey = {heading: str(0.3 + 0.6 * k / len(peers)) for k, heading in enumerate(peers)}
    return {heading: (bright | grey)[heading] for heading in headings}


def bare(axes: Axes) -> None:
    """Takes away what is no data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)


def steps(result: dict[str, Any]) -> Figure:
    """Bars of the step cases, a group each, with the floor of numtape's step across the group."""
    cases = {name: case for name, case in result["cases"].items() if "roofline" in case}
    headings = result["columns"]
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.84 / len(headings)
    for place, (heading, colour) in enumerate(colours(headings).items()):
        offset = (place - (len(headings) - 1) / 2) * width
        bars = {
            group + offset: 1e3 * case["columns"][heading]["median"]
            for group, case in enumerate(cases.values())
            if heading in case["columns"]
        }
        axes.bar(list(bars), list(bars.values()), 0.9 * width, label=heading, color=colour)
    floors = [1e3 * case["roofline"]["floor"] for case in cases.values()]
    groups = range(len(cases))
    left, right = [g - 0.45 for g in groups], [g + 0.45 for g in groups]
    axes.hlines(floors, left, right, "black", label="floor")
    # The scalar chain's floor, some nanoseconds, is left below: it says nothing.
    axes.set(yscale="log", ylim=(1e-3, None))
    axes.set_ylabel("ms a step")
    axes.set_xticks(groups, [SHORT[name] for name in cases])
    figure.legend(ncols=len(headings) + 1, loc="outside upper center", frameon=False)
    bare(axes)
    return figure


def elements(result: dict[str, Any]) -> Figure:
    """The long chain's time per element over its size, and what the threads give."""
    figure = Figure(figsize=(10, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    points = result["scaling"]["elements"]
    sizes = [point["elements"] for point in points]
    left.plot(sizes, [1e9 * p["seconds"] / p["elements"] for p in points], "o-", color="C3")
    if floor := result["cases"].get("long_chain", {}).get("roofline"):
        per_element = floor["floor_memory"] / 1e7 * 1e9
        left.axhline(per_element, color="black", linewidth=1, label="copying its bytes")
        left.legend(frameon=False)
    left.set(xscale="log", xlabel="elements", ylabel="ns an element", ylim=(0, None))
    left.set_title("long chain: value and gradients")
    bare(left)

    threads = result["scaling"]["threads"]
    for offset, key, colour in ((-0.2, "one", "0.6"), (0.2, "all", "C3")):
        heights = [1e3 * seconds[key] for seconds in threads.values()]
        label = "one thread" if key == "one" else f"{result['machine']['cores']} threads"
        right.bar(
            [i + offset for i in range(len(heights))],
            heights,
            0.36,
            None,
            color=colour,
            label=label,
        )
    right.set_xticks(range(len(threads)), [SHORT[name] for name in threads])
    right.set_ylabel("ms a step")
    right.legend(frameon=False)
    bare(right)
    return figure


def rows(result: dict[str, Any]) -> Figure:
    """The scalar chain's time per row over its length, stage by stage."""
    figure = Figure(figsize=(10, 3.5), layout="constrained")
    axes = figure.subplots()
    points = result["scaling"]["rows"]
    lengths = [point["rows"] for point in points]
    for stage, colour in (("record", "C3"), ("gradient", "C0"), ("sweep", "C2")):
        axes.plot(lengths, [1e9 * p[stage] for p in points], "o-", color=colour, label=stage)
    axes.set(xscale="log", xlabel="rows", ylabel="ns a row", ylim=(0, None))
    axes.set_title("chain of scalar rows: fixed cost of a step taken off")
    axes.legend(frameon=False)
    bare(axes)
    return figure


def write(result: dict[str, Any], output: Path) -> None:
    """Saves the plots that the result has figures for, as SVG beside the JSON ``output``."""
    drawn = {}
    if any("roofline" in case for case in result["cases"].values()):
        drawn["steps"] = steps(result)
    if result["scaling"]:
        drawn |= {"elements": elements(result), "rows": rows(result)}
    # Text as text, and no dates or random names: the same figures give the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "numtape"}):
        for name, figure in drawn.items():
            path = output.with_name(f"{output.stem}-{name}.svg")
            figure.savefig(path, metadata={"Date": None})
