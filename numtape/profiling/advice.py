"""`advice`: suggestions for the user, derived from measurements. Each rule is a function."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .clock import PYTHON
from .measurements import Measurements
from .rows import HOST

OFTEN = 20  # repetitions that count as a loop
LITTLE = 20_000  # elements per evaluation below which its overhead dominates
MANY_READS = 100  # single elements taken from an array that count as a loop over it
SHARE = 0.05  # smallest share of the total time to report
MANY = 2000  # eagerly recorded ops above which a function would help


def place(line: str) -> str:
    """Return a line without the folder of its file."""
    return os.path.basename(line) if line else ""


def advice(measurements: Measurements) -> list[str]:
    """Return suggestions, each with its line."""
    lines: list[str] = []
    for rule in (
        _plain,
        _tracing_advice,
        _evaluations,
        _indexing_advice,
        _optimizer_steps,
        _eager,
        _host,
        _floats,
        _tapes,
    ):
        lines += rule(measurements)
    return lines


def _plain(measurements: Measurements) -> Iterator[str]:
    for _, f in measurements.functions.values():
        if f.reason:
            yield (
                f"{place(f.line)}: {f.name} runs as Python: {f.reason}. Take that out of the "
                f"function so that it can be replayed."
            )


def _tracing_advice(measurements: Measurements) -> Iterator[str]:
    for _, f in measurements.functions.values():
        if f.recorded >= 5 and 2 * f.recorded >= f.calls and not f.reason:
            if len(f.shapes) > 1:
                shapes = "; ".join(", ".join(map(str, s)) or "none" for s in f.shapes[:3])
                reason = (
                    f"the shapes of its arguments change ({shapes}; ...). Pad them to a few "
                    f"lengths, or drop the last short batch"
                )
            else:
                reason = (
                    "its arguments or the state it reads, besides tensors, change. Pass changing "
                    "numbers as tensors, and keep counters in a Variable"
                )
            yield (
                f"{place(f.line)}: {f.name} was recorded {f.recorded} times in {f.calls} calls: "
                f"{reason}."
            )


def _evaluations(measurements: Measurements) -> Iterator[str]:
    for line, evaluations in measurements.evaluations.items():
        count, work = evaluations.computing_reads, evaluations.work
        if count >= OFTEN and work < LITTLE * count:
            yield (
                f"{place(line)}: {count} reads of a value (float(), .numpy(), print, if), "
                f"each of which evaluates only the little recorded since the last one "
                f"({work // count} elements). Keep the tensors, and read them "
                f"after the loop, or every tenth."
            )


def _indexing_advice(measurements: Measurements) -> Iterator[str]:
    for line, count in measurements.element_reads.items():
        if count >= MANY_READS and measurements.array_sizes[line] >= MANY_READS:
            yield (
                f"{place(line)}: {count} elements taken one by one out of an array of "
                f"{measurements.array_sizes[line]}: each is an op. Use an op on the whole array "
                f"(reduce_sum, cumsum, gather, vectorized_map), or .numpy() once before the loop."
            )


def _optimizer_steps(measurements: Measurements) -> Iterator[str]:
    for line, count in measurements.optimizer_steps.items():
        if count >= OFTEN:
            yield (
                f"{place(line)}: {count} steps of an optimizer, each recorded again. "
                f"Put the step, including the tape, in a @tf.function so that it is replayed."
            )


def _eager(measurements: Measurements) -> Iterator[str]:
    clock = measurements.clock
    rows = sum(measurements.eager_ops.values())
    python = sum(
        count.nanoseconds for key, count in clock.counts.items() if key.kind == PYTHON and key.op
    )
    loop = any(count >= OFTEN for count in measurements.optimizer_steps.values())
    if rows >= MANY and python > 0.3 * clock.total and not loop:
        line, count = measurements.eager_ops.most_common(1)[0]
        yield (
            f"{place(line)}: {rows} ops are recorded one by one, {count} of them here, and Python "
            f"takes longer than computing. Put repeated code in a @tf.function."
        )


def _host(measurements: Measurements) -> Iterator[str]:
    counts = measurements.clock.counts
    for key, count in counts.items():
        if key.kind == HOST and count.nanoseconds >= SHARE * measurements.clock.total:
            yield (
                f"{place(key.line)}: {key.op} is computed by NumPy or SciPy, "
                f"{count.calls} time{'s' * (count.calls != 1)}. Take it out of the loop if its "
                f"operands do not change, or batch the calls: one call for a batch is faster."
            )


def _floats(measurements: Measurements) -> Iterator[str]:
    float32_elements = measurements.float_elements["float32"]
    float64_elements = measurements.float_elements["float64"]
    if measurements.casts:
        line, count = measurements.casts.most_common(1)[0]
        yield (
            f"{place(line)}: {count} conversions between float32 and float64. Use one dtype "
            f"from the source on (dtype=tf.float32, .astype(np.float32))."
        )
    elif min(float32_elements, float64_elements) > 0.1 * (float32_elements + float64_elements):
        share = 100 * float64_elements // (float32_elements + float64_elements)
        yield (
            f"{share} % of the floats computed are float64, the others float32: float64 takes "
            f"twice the memory and time. Use one dtype."
        )


def _tapes(measurements: Measurements) -> Iterator[str]:
    for line in measurements.persistent_tapes:
        if not measurements.reused_tapes[line]:
            yield (
                f"{place(line)}: a persistent tape computes gradients only once. Without "
                f"persistent=True its rows are released immediately."
            )
