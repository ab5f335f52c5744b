"""Measurements of numtape alone: one function per case, called in a separate process."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import numtape as nt
from benchmarks.inputs import small_net
from benchmarks.libs import GRADIENT_AT
from benchmarks.libs.numtape_ import variants
from benchmarks.memory import resident


def stages(rows: int) -> tuple[float, float, float]:
    """Seconds to record a chain of scalar rows, to call ``gradient`` and to evaluate the result."""
    x = nt.constant(GRADIENT_AT)
    gc.collect()
    with nt.GradientTape() as tape:
        tape.watch(x)
        start = time.perf_counter()
        y = x
        for _ in range(rows // 2):
            y = nt.sin(y) * x
        recorded = time.perf_counter()
    called = time.perf_counter()
    gradient = tape.gradient(y, x)
    transposed = time.perf_counter()
    float(gradient)
    return recorded - start, transposed - called, time.perf_counter() - transposed


def _repeated_stages(quick: bool) -> tuple[int, list[tuple[float, float, float]]]:
    rows = 10_000 if quick else 100_000
    stages(rows)  # warms up
    return rows, [stages(rows) for _ in range(2 if quick else 7)]


def record_row(quick: bool) -> dict[str, object]:
    """Seconds per recorded row."""
    rows, times = _repeated_stages(quick)
    return {"values": [record / rows for record, _, _ in times], "rows": rows}


def transpose(quick: bool) -> dict[str, object]:
    """Seconds in ``gradient``, which appends the adjoint rows."""
    rows, times = _repeated_stages(quick)
    return {"values": [gradient for _, gradient, _ in times], "rows": rows}


def _per_call(call: Callable[[], object], quick: bool) -> list[float]:
    """Seconds per call, measured in batches."""
    count = 2_000
    results = []
    for _ in range(3 if quick else 30):
        start = time.perf_counter()
        for _ in range(count):
            call()
        results.append((time.perf_counter() - start) / count)
    return results


def empty_call(quick: bool) -> dict[str, object]:
    """Seconds per call of a function that does nothing."""

    @nt.function
    def empty() -> None:
        pass

    empty()
    return {"values": _per_call(empty, quick)}


def failing_guard(quick: bool) -> dict[str, object]:
    """Extra seconds of a call whose guards reject the path of the previous call."""

    @nt.function
    def branch(x: nt.Tensor) -> nt.Tensor:
        return x if x > 0.0 else -x

    two = nt.constant(1.0), nt.constant(-1.0)
    turn = 0

    def alternating() -> None:
        nonlocal turn
        turn = 1 - turn
        branch(two[turn])

    def steady() -> None:
        nonlocal turn
        turn = 1 - turn
        branch(two[0])

    for _ in range(4):
        alternating()
    failing, holding = _per_call(alternating, quick), _per_call(steady, quick)
    return {
        "values": [max(0.0, a - b) for a, b in zip(failing, holding, strict=True)],
        "failing": failing,
        "holding": holding,
    }


def _residents(step: Callable[[], object], steps: int, marks: set[int]) -> dict[int, float]:
    """Returns the resident memory in MiB after each step in ``marks``."""
    residents: dict[int, float] = {}
    for done in range(1, steps + 1):
        step()
        if done in marks:
            residents[done] = resident()
    return residents


def memory_training(quick: bool) -> dict[str, object]:
    """Growth of resident memory in MiB over many training steps."""
    steps = 200 if quick else 10_000
    marks = {100, *range(steps // 10, steps + 1, steps // 10)}
    residents = _residents(variants(small_net())["numtape"].step, steps, marks)
    growth = max(residents[m] for m in marks if m >= 100) - residents[100]
    return {"values": [growth], "resident_mib": residents}


def memory_replayed(quick: bool) -> dict[str, object]:
    """Growth of resident memory in MiB over replays of a function with a branch and an assign.

    The function is hot before counting starts: LLVM takes some 20 MiB at its first compilation.
    """
    total = nt.Variable(0.0)

    @nt.function
    def step(x: nt.Tensor) -> nt.Tensor:
        total.assign_add(x)
        return nt.sin(x) if x > 0.0 else nt.cos(x)

    inputs = [nt.constant(value) for value in (0.5, -0.5, 1.5)]
    turn = 0

    def call() -> None:
        nonlocal turn
        turn = (turn + 1) % 3
        step(inputs[turn])

    steps = 20_000 if quick else 1_000_000
    for _ in range(steps):
        call()
    marks = {steps // 100, *range(steps // 10, steps + 1, steps // 10)}
    residents = _residents(call, steps, marks)
    growth = max(residents.values()) - residents[steps // 100]
    return {"values": [growth], "resident_mib": residents}


def memory_unlooked(quick: bool) -> dict[str, object]:
    """Growth of resident memory in MiB in a loop that evaluates nothing."""
    x = nt.constant(1.0)

    def step() -> None:
        nonlocal x
        x = x * 0.999 + 0.001

    # The log grows until a sweep empties it, so only its peak must stay flat.
    steps = 20_000 if quick else 1_000_000
    residents = _residents(step, steps, set(range(steps // 50, steps + 1, steps // 50)))
    early, late = (
        max(mib for done, mib in residents.items() if (done > steps // 2) is half)
        for half in (False, True)
    )
    return {"values": [max(0.0, late - early)], "resident_mib": residents}
