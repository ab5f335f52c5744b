"""What the user can mend, from what a profile has noted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .clock import PYTHON
from .rows import HOST

if TYPE_CHECKING:
    from .profile import Profile

OFTEN = 20  # times from which something is a loop
LITTLE = 20_000  # elements a look from which computing takes longer than looking
PICKED = 100  # elements taken one by one from which it is a loop over an array
SHARE = 0.05  # of the whole time from which something matters
MANY = 2000  # ops recorded one by one from which a function would help


def place(line: str) -> str:
    """A line for people: the file's name without its folder."""
    return os.path.basename(line) if line else ""


def advice(profile: Profile) -> list[str]:
    """What can be mended, the lines named."""
    lines: list[str] = []
    for rule in (
        _plain,
        _tracing_advice,
        _looks,
        _indexing_advice,
        _steps,
        _eager,
        _host,
        _floats,
        _tapes,
    ):
        lines += rule(profile)
    return lines


def _plain(profile: Profile) -> Iterator[str]:
    for _, f in profile.functions.values():
        if f.reason:
            yield (
                f"{place(f.line)}: {f.name} runs as Python: {f.reason}. Take that out of the "
                f"function, and it is replayed."
            )


def _tracing_advice(profile: Profile) -> Iterator[str]:
    for _, f in profile.functions.values():
        if f.recorded >= 5 and 2 * f.recorded >= f.calls and not f.reason:
            if len(f.shapes) > 1:
                shapes = "; ".join(", ".join(map(str, s)) or "none" for s in f.shapes[:3])
                why = (
                    f"the shapes of its arguments change ({shapes}; ...). Pad them to a few "
                    f"lengths, or drop the last short batch"
                )
            else:
                why = (
                    "what it gets or reads besides tensors changes. Give it numbers that change as "
                    "tensors, and keep those that it counts in a Variable"
                )
            yield (
                f"{place(f.line)}: {f.name} was recorded {f.recorded} times in {f.calls} calls: "
                f"{why}."
            )


def _looks(profile: Profile) -> Iterator[str]:
    for line, looks in profile.looks.items():
        if looks.swept >= OFTEN and looks.work < LITTLE * looks.swept:
            yield (
                f"{place(line)}: {looks.swept} looks at a value (float(), .numpy(), print, if), "
                f"each of which sweeps the little recorded since the last one "
                f"({looks.work // looks.swept} elements). Keep the tensors, and look at them "
                f"after the loop, or at every tenth."
            )


def _indexing_advice(profile: Profile) -> Iterator[str]:
    for line, count in profile.picks.items():
        if count >= PICKED and profile.largest[line] >= PICKED:
            yield (
                f"{place(line)}: {count} elements taken one by one out of an array of "
                f"{profile.largest[line]}: each is an op. Use an op of the whole array "
                f"(reduce_sum, cumsum, gather, vectorized_map), or .numpy() once before the loop."
            )


def _steps(profile: Profile) -> Iterator[str]:
    for line, count in profile.steps.items():
        if count >= OFTEN:
            yield (
                f"{place(line)}: {count} steps of an optimizer that are recorded again each time. "
                f"Put the step, tape and all, in a function with @tf.function: it is replayed."
            )


def _eager(profile: Profile) -> Iterator[str]:
    clock = profile.clock
    rows = sum(profile.rows.values())
    python = sum(
        count.nanoseconds for key, count in clock.counts.items() if key.how == PYTHON and key.what
    )
    loop = any(count >= OFTEN for count in profile.steps.values())
    if rows >= MANY and python > 0.3 * clock.whole and not loop:
        line, count = profile.rows.most_common(1)[0]
        yield (
            f"{place(line)}: {rows} ops are recorded one by one, {count} of them here, and Python "
            f"takes longer than computing. Put what is repeated in a function with @tf.function."
        )


def _host(profile: Profile) -> Iterator[str]:
    counts = profile.clock.counts
    for key, count in counts.items():
        if key.how == HOST and count.nanoseconds >= SHARE * profile.clock.whole:
            yield (
                f"{place(key.line)}: {key.what} is computed by NumPy or SciPy, "
                f"{count.calls} time{'s' * (count.calls != 1)}. Take it out of the loop if its "
                f"operands do not change; one call for a batch is faster than many."
            )


def _floats(profile: Profile) -> Iterator[str]:
    small, large = profile.floats["float32"], profile.floats["float64"]
    if profile.casts:
        line, count = profile.casts.most_common(1)[0]
        yield (
            f"{place(line)}: {count} conversions between float32 and float64. Make all of them "
            f"one dtype where they come from (dtype=tf.float32, .astype(np.float32))."
        )
    elif min(small, large) > 0.1 * (small + large):
        yield (
            f"{100 * large // (small + large)} % of the floats computed are float64, the others "
            f"float32: float64 takes twice the memory and time. Make all of them one dtype."
        )


def _tapes(profile: Profile) -> Iterator[str]:
    for line in profile.persistent:
        if not profile.twice[line]:
            yield (
                f"{place(line)}: a persistent tape that is asked for gradients once. Without "
                f"persistent=True its rows are released at once."
            )
