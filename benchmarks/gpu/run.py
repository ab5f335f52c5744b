"""One run on a GPU or in the simulator, which writes the JSON, the tables and the plots."""

from __future__ import annotations

import datetime
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.gpu import measure
from benchmarks.gpu.libs import LIBRARIES
from benchmarks.worker import Batch, Failed

BUDGET = 330.0


def simulated() -> bool:
    """Returns whether Numba's simulator replaces a GPU, like ``settings.simulated``."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def batch(size: str) -> Batch:
    """Returns how long and how often steps of a size are repeated."""
    return {
        "full": Batch(0.4, 7, 4.0),
        "small": Batch(0.02, 2, 1.0),
        "tiny": Batch(0.0, 1, 0.0),
    }[size]


def default_output(today: str, simulated: bool) -> Path:
    """Returns the default path of a result, whose name marks simulated figures."""
    return report.default_output(f"{'simulated-' if simulated else ''}cuda-{today}.json")


def main(
    cases: list[str], libraries: list[str], quick: bool, budget: float, output: Path | None
) -> int:
    """Measures the cases and writes the results after each case, so that a crash loses little.

    Returns:
        The exit status: 1 if a library failed or computed a wrong result, 2 without a GPU.
    """
    from benchmarks.gpu import result, tables

    try:
        why = measure.missing()
    except Failed as problem:
        why = f"numtape does not start: {problem}"
    if why is not None:
        print(why, file=sys.stderr)
        return 2
    rough = quick or simulated()
    size = "tiny" if simulated() else "small" if quick else "full"
    session = measure.Session(cases, size, batch(size), budget)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    output = output or default_output(today, simulated())
    print(f"results are written to {output} after each case", file=sys.stderr)
    about = {
        "date": today,
        "device": "cuda",
        "simulated": simulated(),
        "quick": rough,
        "size": size,
        "budget": budget,
        "versions": report.versions(
            dict.fromkeys(d for name in libraries for d in LIBRARIES[name].distributions)
        ),
        "machine": report.machine(),
        "driver": None if simulated() else measure.driver(),
    }

    def write() -> dict[str, Any]:
        spent = {"seconds": round(session.spent, 1)}
        value = result.collect(session.found, libraries, {**about, **spent})
        report.write_json(value, output)
        return value

    for done in session.measure(libraries):
        print(f"{session.spent:6.0f} s  {done}", file=sys.stderr)
        write()
    value = write()
    print(tables.plain(value))
    if value["columns"] and importlib.util.find_spec("matplotlib"):
        from benchmarks.gpu import plots

        plots.write(value, output)
    return int(any(case["errors"] for case in value["cases"].values()))
