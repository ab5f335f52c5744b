"""Plots of a result: peers against numtape, steps against their floors, and scaling.

Each function draws one figure. ``write`` saves the figures beside the JSON; ``write_peers`` saves
the figure of the README. The notebook calls the same functions.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.cases import OURS, OWN, REPLAYED
from benchmarks.tables import SHORT, TIMES, figure, three

OURS_COLOUR, PEER_COLOUR, LOST_COLOUR = "C0", "0.35", "C3"
# Rows of the peers plot: column, label, and the numtape column to compare with. Eager libraries
# are compared with numtape's eager mode, compilers with replays.
PEERS = {
    "TF eager": ("TensorFlow", OURS),
    "PyTorch": ("PyTorch", OURS),
    "autograd": ("autograd", OURS),
    "tf.function": ("tf.function", REPLAYED),
    "JAX jit": ("JAX, jit", REPLAYED),
}


def bare(axes: Axes, along: Any = "y") -> None:
    """Remove chart elements that carry no data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=along, color="0.9")
    axes.set_axisbelow(True)


def ratios(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The ratio of each peer's time to numtape's, by peer and case."""
    ratios: dict[str, dict[str, float]] = {}
    for peer, (_, own) in PEERS.items():
        for name in SHORT:
            columns = result["cases"].get(name, {}).get("columns", {})
            if peer in columns and own in columns:
                ratio = columns[peer]["median"] / columns[own]["median"]
                ratios.setdefault(peer, {})[name] = ratio
    return ratios


def _apart(centres: list[float], widths: list[float]) -> list[float]:
    """Moves labels, sorted from left to right by their centres, until none overlap."""
    moved = list(centres)
    for _ in range(100):
        for k in range(len(moved) - 1):
            overlap = (widths[k] + widths[k + 1]) / 2 - (moved[k + 1] - moved[k])
            if overlap > 0:
                moved[k], moved[k + 1] = moved[k] - overlap / 2, moved[k + 1] + overlap / 2
    return moved


def peers(result: dict[str, Any]) -> Figure:
    """A row for each peer, a named dot for each case; right of the line numtape is faster."""
    value = ratios(result)
    width, height, left, right = 8.6, 3.2, 0.11, 0.985
    drawn = Figure(figsize=(width, height))
    axes = drawn.add_axes((left, 0.14, right - left, 0.855))
    displayed = [1.0, *(ratio for cases in value.values() for ratio in cases.values())]
    low, high = min(0.5, min(displayed) / 1.9), max(150.0, max(displayed) * 1.8)  # for names
    axes.set(xscale="log", xlim=(low, high), ylim=(len(value) - 0.4, -0.6))
    points = 72 * width * (right - left) / math.log10(high / low)  # per power of ten
    for row, cases in enumerate(value.values()):
        places = sorted(cases.items(), key=lambda item: item[1])
        for ratio in cases.values():
            colour = OURS_COLOUR if ratio >= 1 else LOST_COLOUR
            axes.plot(ratio, row, "o", color=colour, markersize=6)
        for first, lift in ((0, 5), (1, -5)):  # alternate above and below
            chosen = places[first::2]
            words = [f"{SHORT[name]} {three(ratio)}" for name, ratio in chosen]
            centres = [points * math.log10(ratio) for _, ratio in chosen]
            moved = _apart(centres, [4.7 * len(word) + 6 for word in words])
            for word, (_, ratio), was, now in zip(words, chosen, centres, moved, strict=True):
                axes.annotate(  # drawn over the line and under the dots
                    word,
                    (ratio, row),
                    (now - was, lift),
                    textcoords="offset points",
                    ha="center",
                    va="bottom" if lift > 0 else "top",
                    fontsize=8,
                    color="0.25",
                    zorder=1.5,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
                )
    axes.axvline(1, color="black", linewidth=1, zorder=1)
    axes.set_yticks(range(len(value)), [PEERS[peer][0] for peer in value])
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100, 200]
    axes.set_xticks(ticks, [f"{tick:g}{TIMES}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("the peer's time over numtape's: right of the line numtape is faster")
    bare(axes, "x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return drawn


def steps(result: dict[str, Any]) -> Figure:
    """A panel for each step, a labelled dot for each column, and a line at the floor."""
    cases = {name: result["cases"][name] for name in SHORT if name in result["cases"]}
    headings = result["columns"]
    drawn = Figure(figsize=(11, 0.9 + 0.28 * len(headings)), layout="constrained")
    panels = drawn.subplots(1, max(1, len(cases)), sharey=True, squeeze=False)[0]
    for axes, (name, case) in zip(panels, cases.items(), strict=False):
        times = {h: case["columns"][h]["median"] for h in headings if h in case["columns"]}
        for row, heading in enumerate(headings):
            if heading in times:
                colour = OURS_COLOUR if heading in OWN else PEER_COLOUR
                axes.plot(times[heading], row, "o", color=colour, markersize=5)
                axes.annotate(
                    figure(times[heading], "s"),
                    (times[heading], row),
                    (6, 0),
                    fontsize=8,
                    textcoords="offset points",
                    va="center",
                    color=colour,
                )
        floor = case["roofline"]["floor"]
        low, high = min(times.values(), default=floor), max(times.values(), default=floor)
        if floor > low / 20:  # skip the meaningless floor of a few scalars
            axes.axvline(floor, color="black", linewidth=1)
            axes.annotate(
                "floor",
                (floor, 1),
                (0, 2),
                fontsize=8,
                ha="center",
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
            )
            low = min(low, floor)
        # Leave room on the right for the label of the slowest column.
        axes.set(xscale="log", xlim=(low / 1.6, high * max(3, (high / low) ** 0.7)))
        axes.set_xticks([], minor=False)
        axes.minorticks_off()
        axes.set_title(SHORT[name], fontsize=9, pad=14)
        bare(axes, "y")
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(headings)), headings)
    panels[0].invert_yaxis()
    drawn.supxlabel("time per step; each panel has its own logarithmic axis", fontsize=9)
    return drawn


def elements(result: dict[str, Any]) -> Figure:
    """The long chain's time per element against its size, and the speed-up by threads."""
    drawn = Figure(figsize=(10, 3.5), layout="constrained")
    left, right = drawn.subplots(1, 2, width_ratios=(3, 2), gridspec_kw={"wspace": 0.1})
    points = result["scaling"]["elements"]
    sizes = [point["elements"] for point in points]
    left.plot(sizes, [1e9 * p["seconds"] / p["elements"] for p in points], "o-", color=OURS_COLOUR)
    if floor := result["cases"].get("long_chain", {}).get("roofline"):
        per_element = floor["floor_memory"] / 1e7 * 1e9
        left.axhline(per_element, color="black", linewidth=1)
        left.annotate(
            "copying its bytes",
            (sizes[-1], per_element),
            (0, 4),
            ha="right",
            textcoords="offset points",
        )
    left.set(xscale="log", xlabel="elements", ylabel="ns per element", ylim=(0, None))
    left.set_title("long chain: value and gradients")
    bare(left)

    threads = result["scaling"]["threads"]
    for offset, key, colour in ((-0.2, "one", PEER_COLOUR), (0.2, "all", OURS_COLOUR)):
        heights = [1e3 * seconds[key] for seconds in threads.values()]
        bars = right.bar([k + offset for k in range(len(heights))], heights, 0.36, color=colour)
        count = "1 thread" if key == "one" else f"{result['machine']['cores']} threads"
        right.bar_label(bars, [f"{count}\n{three(height)} ms" for height in heights], fontsize=8)
    right.set_xticks(range(len(threads)), [SHORT[name] for name in threads])
    right.set_ylabel("ms per step")
    right.set_title("value and gradients, by number of threads")
    right.margins(y=0.2)
    bare(right)
    return drawn


def rows(result: dict[str, Any]) -> Figure:
    """The scalar chain's time per row against its length, by stage."""
    drawn = Figure(figsize=(10, 3.5), layout="constrained")
    axes = drawn.subplots()
    points = result["scaling"]["rows"]
    lengths = [point["rows"] for point in points]
    for stage, colour in (("record", "C0"), ("gradient", "C1"), ("sweep", "C2")):
        heights = [1e9 * p[stage] for p in points]
        axes.plot(lengths, heights, "o-", color=colour)
        axes.annotate(
            stage,
            (lengths[-1], heights[-1]),
            (8, 0),
            textcoords="offset points",
            va="center",
            color=colour,
        )
    axes.set(xscale="log", xlabel="rows", ylabel="ns per row", ylim=(0, None))
    axes.set_title("chain of scalar rows, without the fixed cost of a step")
    bare(axes)
    return drawn


def write(result: dict[str, Any], output: Path) -> None:
    """Saves the plots for which the result has data, as SVG beside the JSON ``output``."""
    drawn = {}
    if any("roofline" in case for case in result["cases"].values()):
        drawn["steps"] = steps(result)
    if result["scaling"]:
        drawn |= {"elements": elements(result), "rows": rows(result)}
    for name, plot in drawn.items():
        save(plot, output.with_name(f"{output.stem}-{name}.svg"), "none")


def write_peers(result: dict[str, Any], path: Path) -> None:
    """Saves the plot of the README, with text as paths so that it does not depend on fonts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save(peers(result), path, "path")


def save(drawn: Figure, path: Path, text: str) -> None:
    """Writes a reproducible SVG, without dates or random names."""
    with matplotlib.rc_context({"svg.fonttype": text, "svg.hashsalt": "numtape"}):
        drawn.savefig(path, metadata={"Date": None})
