"""What a profile says, as text and as plain data."""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .advice import place
from .clock import PYTHON, Count
from .rows import ARRAY, COPY, HOST, LANES, LOOP

if TYPE_CHECKING:
    from .profile import Profile

SWEEPING = "sweeping"
PARTS = {
    PYTHON: "Python: the program, and recording op by op",
    "recording functions": "Python: recording functions",
    "gradients": "gradients: rows appended for them",
    "replaying": "replaying functions, but for what they compute",
    "guards": "guards of functions",
    "planning": "planning",
    "compiling": "compiling and loading kernels",
    SWEEPING: "sweeping: computing values",
    "looking": "looking at values, but for what they compute",
}
NOWHERE = "imports, start and end"  # in the place of a line
WIDTH = 60  # of what a line of the program is shown with


class Bar(NamedTuple):
    """A line of the table.

    Attributes:
      line: The line of the program.
      what: The op; "" for what is no op.
      how: How it was computed, or the kind of work.
      counted: The counts.
    """

    line: str
    what: str
    how: str
    counted: Count


def bars(profile: Profile) -> list[Bar]:
    """The counts by line and op, the longest first; recording is counted by line alone."""
    counts: dict[tuple[str, str, str], Count] = defaultdict(Count)
    for key, count in profile.clock.counts.items():
        swept = key.how in (LOOP, LANES, ARRAY, HOST, COPY)
        one = counts[key.line, key.what if swept else "", key.how]
        one.nanoseconds += count.nanoseconds
        one.calls += count.calls
        one.bytes += count.bytes
    bar_list = [Bar(*key, count) for key, count in counts.items()]
    return sorted(bar_list, key=lambda bar: (-bar.counted.nanoseconds, bar[:3]))


def parts(profile: Profile) -> dict[str, int]:
    """Nanoseconds by kind of work."""
    times = dict.fromkeys(PARTS, 0)
    for key, count in profile.clock.counts.items():
        times[key.how if key.how in times else SWEEPING] += count.nanoseconds
    return times


def data(profile: Profile) -> dict[str, Any]:
    """All of it, as plain numbers and strings."""
    clock = profile.clock
    return {
        "seconds": (clock.whole - clock.own) / 1e9,
        "profiler": clock.own / 1e9,
        "parts": {name: n / 1e9 for name, n in parts(profile).items()},
        "lines": [
            {
                "line": bar.line,
                "op": bar.what,
                "how": bar.how,
                "seconds": bar.counted.nanoseconds / 1e9,
                "calls": bar.counted.calls,
                "bytes": bar.counted.bytes,
            }
            for bar in bars(profile)
        ],
        "functions": [
            {
                "name": f.name,
                "line": f.line,
                "calls": f.calls,
                "recorded": f.recorded,
                "runs as Python": f.reason,
            }
            for _, f in profile.functions.values()
        ],
        "memory": {"log": profile.log, "buffers": profile.buffers},
        "sweeps": profile.sweeps,
        "advice": profile.advice(),
    }


def report(profile: Profile, top: int) -> str:
    """A table for people."""
    clock = profile.clock
    total = max(clock.whole - clock.own, 1)
    lines = [f"{seconds(total)} in all; measuring took {seconds(clock.own)} more", ""]
    for name, spent in parts(profile).items():
        if spent:
            lines.append(f"{seconds(spent):>9} {100 * spent / total:4.0f} %  {PARTS[name]}")
    bar_list = bars(profile)
    lines += ["", *align(_table(bar_list, top, total), right=4)]
    if len(bar_list) > top:
        rest = sum(bar.counted.nanoseconds for bar in bar_list[top:])
        lines.append(f"{seconds(rest)} more in {len(bar_list) - top} others")
    lines += [
        "",
        f"most memory at once: {size(profile.log)} of log, {size(profile.buffers)} of buffers",
    ]
    functions = [f for _, f in profile.functions.values()]
    if functions:
        lines += [
            "",
            *align(
                [
                    ("function", "calls", "recorded", "line"),
                    *((f.name, str(f.calls), str(f.recorded), place(f.line)) for f in functions),
                ]
            ),
        ]
    advice = profile.advice()
    if advice:
        lines += ["", "What can be mended:", *(f"- {one}" for one in advice)]
    return "\n".join(lines)


def _table(bar_list: Sequence[Bar], top: int, total: int) -> list[tuple[str, ...]]:
    """Each line of the program once, with all that it took, and below it what that was."""
    totals: dict[str, int] = defaultdict(int)
    for bar in bar_list:
        totals[bar.line] += bar.counted.nanoseconds
    bars_of_line: dict[str, list[Bar]] = defaultdict(list)
    for bar in bar_list[:top]:
        bars_of_line[bar.line].append(bar)
    table: list[tuple[str, ...]] = [("time", "part", "calls", "buffers", "line, and what it did")]
    for line in sorted(bars_of_line, key=lambda line: -totals[line]):
        named = f"{place(line)}  {source(line)}" if line else NOWHERE
        table.append(
            (seconds(totals[line]), f"{100 * totals[line] / total:.0f} %", "", "", named.rstrip())
        )
        for bar in bars_of_line[line]:
            counted, what = bar.counted, f"{bar.what}, " if bar.what else ""
            bytes_ = size(counted.bytes) if counted.bytes else ""
            table.append(
                (
                    seconds(counted.nanoseconds),
                    "",
                    str(counted.calls),
                    bytes_,
                    f"    {what}{bar.how}",
                )
            )
    return table


def source(line: str) -> str:
    """The text of a line of the program, short."""
    file, _, number = line.rpartition(":")
    text = linecache.getline(file, int(number)).strip() if number.isdigit() else ""
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def align(table: Sequence[tuple[str, ...]], right: int = 0) -> list[str]:
    """Columns one below the other, the first ones to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if k < right else text.ljust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def seconds(nanoseconds: int) -> str:
    """A time for people, with three digits."""
    for unit, step in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= step:
            return (
                f"{nanoseconds / step:.3g} {unit}"
                if nanoseconds < 1000 * step
                else (f"{nanoseconds / step:.0f} {unit}")
            )
    return f"{nanoseconds} ns"


def size(n: int) -> str:
    """Bytes for people."""
    for unit, step in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= step:
            return f"{n / step:.1f} {unit}"
    return f"{n} B"
