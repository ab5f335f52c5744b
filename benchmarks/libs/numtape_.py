"""numtape, eager, and the figures that only numtape is asked for."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

import numtape as nt
from benchmarks.cases import Chain, Data, Network, small_net
from benchmarks.libs import GRADIENT_AT, Variant


def _chain(data: Chain) -> Variant:
    x = nt.constant(data.x)

    def step() -> float:
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(data.length):
                y = nt.sin(y) * x
        return float(tape.gradient(y, x))

    return Variant(step)


def _network(data: Network) -> Variant:
    x, target = nt.constant(data.x), nt.constant(data.target)
    variables = [nt.Variable(w) for w in data.weights]
    *hidden, last = zip(variables[::2], variables[1::2], strict=True)
    activation = {"tanh": nt.tanh, "relu": nt.nn.relu}[data.activation]
    optimizer = nt.keras.optimizers.SGD(data.learning_rate)

    def loss_of(x: nt.Tensor) -> nt.Tensor:
        for kernel, bias in hidden:
            x = activation(x @ kernel + bias)
        out = x @ last[0] + last[1]
        if data.loss == "mean_squared_error":
            return nt.reduce_mean(nt.square(out - target))
        return nt.reduce_mean(
            nt.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=out)
        )

    def step() -> float:
        with nt.GradientTape() as tape:
            loss = loss_of(x)
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return float(loss)  # a look computes the pending updates too

    return Variant(step, lambda: [v.numpy() for v in variables])


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs."""
    if isinstance(data, Chain):
        return {"numtape": _chain(data)}
    if isinstance(data, Network):
        return {"numtape": _network(data)}
    return {}


def _chain_of_rows(rows: int, x: nt.Tensor) -> nt.Tensor:
    y = x
    for _ in range(rows // 2):
        y = nt.sin(y) * x
    return y


def _seconds_over_rows(rows: int, repeats: int) -> tuple[list[float], list[float]]:
    """Times recording a chain of scalar rows and, before any look, its ``gradient`` call."""
    recording, transposing = [], []
    x = nt.constant(GRADIENT_AT)
    for repeat in range(repeats + 1):
        gc.collect()
        with nt.GradientTape() as tape:
            tape.watch(x)
            start = time.perf_counter()
            y = _chain_of_rows(rows, x)
            recorded = time.perf_counter()
        called = time.perf_counter()
        gradient = tape.gradient(y, x)
        transposed = time.perf_counter()
        float(gradient)  # swept outside the clock, so that each repeat meets the same log
        if repeat:  # the first one warms up
            recording.append(recorded - start)
            transposing.append(transposed - called)
    return recording, transposing


def _record_row(quick: bool) -> dict[str, object]:
    rows = 10_000 if quick else 100_000
    recording, _ = _seconds_over_rows(rows, 2 if quick else 7)
    return {"values": [t / rows for t in recording], "rows": rows}


def _transpose(quick: bool) -> dict[str, object]:
    rows = 10_000 if quick else 100_000
    _, transposing = _seconds_over_rows(rows, 2 if quick else 7)
    return {"values": transposing, "rows": rows}


def _resident() -> float:
    """Gives this process's resident memory in MiB."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        raise OSError("resident memory can be read on Linux only")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _residents(step: Callable[[], object], steps: int, marks: set[int]) -> dict[int, float]:
    """Gives the resident memory after those steps that are marked."""
    resident: dict[int, float] = {}
    for done in range(1, steps + 1):
        step()
        if done in marks:
            resident[done] = _resident()
    return resident


def _memory_training(quick: bool) -> dict[str, object]:
    steps = 200 if quick else 10_000
    marks = {100, *range(steps // 10, steps + 1, steps // 10)}
    resident = _residents(_network(small_net()).step, steps, marks)
    growth = max(resident[m] for m in marks if m >= 100) - resident[100]
    return {"values": [growth], "resident_mib": resident}


def _memory_unlooked(quick: bool) -> dict[str, object]:
    x = nt.constant(1.0)

    def step() -> None:
        nonlocal x
        x = x * 0.999 + 0.001

    # The log grows until it is swept: what must not grow is its peak.
    steps = 20_000 if quick else 1_000_000
    resident = _residents(step, steps, set(range(steps // 50, steps + 1, steps // 50)))
    early, late = (
        max(mib for done, mib in resident.items() if (done > steps // 2) is half)
        for half in (False, True)
    )
    return {"values": [max(0.0, late - early)], "resident_mib": resident}


FIGURES = {
    "record_row": _record_row,
    "transpose": _transpose,
    "memory_training": _memory_training,
    "memory_unlooked": _memory_unlooked,
}
