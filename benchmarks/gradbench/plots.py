"""Plot of a result: time per operation of value and gradient, by eval and library."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from benchmarks.gradbench.cases import CASES
from benchmarks.plots import bare

# The columns and their marks, numtape's first.
SHOWN = {
    "numtape": ("C0", "o"),
    "array ops": ("C0", "s"),
    "JAX": ("C1", "D"),
    "PyTorch": ("C3", "^"),
    "autograd": ("0.5", "v"),
}


def operations(result: dict[str, Any]) -> Figure:
    """Draws the time of value and gradient per operation of the primal, for each library."""
    cases = result["cases"]
    figure = Figure(figsize=(8, 0.7 * len(cases) + 1.2), layout="constrained")
    axes = figure.subplots()
    for j, (name, (colour, marker)) in enumerate(SHOWN.items()):
        points = [  # offset vertically, so that marks do not overlap
            (column["ns_an_operation"], k + 0.13 * (j - 2))
            for k, case in enumerate(cases.values())
            if "ns_an_operation" in (column := case["columns"].get(name, {}))
        ]
        if points:
            axes.plot(*zip(*points, strict=True), marker, color=colour, label=name)
    own = [
        (1e9 * column["primal"] / column["operations"], k)
        for k, case in enumerate(cases.values())
        if "primal" in (column := case["columns"].get("numtape", {}))
    ]
    axes.plot(*zip(*own, strict=True), "|", color="black", markersize=24, label="value alone")
    axes.set_xscale("log")
    axes.set_yticks(range(len(cases)), [CASES[name].title for name in cases])
    axes.invert_yaxis()
    axes.set_xlabel("ns for value and gradient, per operation of the value")
    bare(axes, "x")
    figure.legend(loc="outside upper center", ncols=6, frameon=False)
    return figure
