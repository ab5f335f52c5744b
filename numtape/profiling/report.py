"""`report`, `data` and `picture`: a profile as text, as plain data and as an SVG bar chart."""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from .advice import advice, place
from .clock import PYTHON, Count
from .measurements import Measurements
from .rows import ARRAY, COPY, HOST, LANES, LOOP

SWEEPING = "sweeping"
PARTS = {
    PYTHON: "Python: the program, and recording op by op",
    "recording functions": "Python: recording functions",
    "gradients": "gradients: appending their rows",
    "replaying": "replaying functions, without the computation",
    "guards": "guards of functions",
    "planning": "planning",
    "compiling": "compiling and loading kernels",
    SWEEPING: "computing values",
    "evaluations": "evaluation of values, without the computation",
}
NOWHERE = "imports, start and end"  # shown instead of a line
WIDTH = 60  # longest source text shown


class Bar(NamedTuple):
    """A line of the table.

    Attributes:
      line: The line of the program.
      op: The op; "" for other work.
      kind: The kind of kernel, or the kind of work.
      counts: The counts.
    """

    line: str
    op: str
    kind: str
    counts: Count


def bars(measurements: Measurements) -> list[Bar]:
    """Return the counts by line and op, slowest first; recording is counted by line only."""
    counts: dict[tuple[str, str, str], Count] = defaultdict(Count)
    for key, count in measurements.clock.counts.items():
        is_swept = key.kind in (LOOP, LANES, ARRAY, HOST, COPY)
        total = counts[key.line, key.op if is_swept else "", key.kind]
        total.nanoseconds += count.nanoseconds
        total.calls += count.calls
        total.bytes += count.bytes
    bar_list = [Bar(*key, count) for key, count in counts.items()]
    return sorted(bar_list, key=lambda bar: (-bar.counts.nanoseconds, bar[:3]))


def parts(measurements: Measurements) -> dict[str, int]:
    """Return nanoseconds by kind of work."""
    times = dict.fromkeys(PARTS, 0)
    for key, count in measurements.clock.counts.items():
        times[key.kind if key.kind in times else SWEEPING] += count.nanoseconds
    return times


def data(measurements: Measurements) -> dict[str, Any]:
    """Return all results as plain numbers and strings."""
    clock = measurements.clock
    return {
        "seconds": (clock.total - clock.overhead) / 1e9,
        "profiler": clock.overhead / 1e9,
        "parts": {name: n / 1e9 for name, n in parts(measurements).items()},
        "lines": [
            {
                "line": bar.line,
                "op": bar.op,
                "how": bar.kind,
                "seconds": bar.counts.nanoseconds / 1e9,
                "calls": bar.counts.calls,
                "bytes": bar.counts.bytes,
            }
            for bar in bars(measurements)
        ],
        "functions": [
            {
                "name": f.name,
                "line": f.line,
                "calls": f.calls,
                "recorded": f.recorded,
                "runs as Python": f.reason,
            }
            for _, f in measurements.functions.values()
        ],
        "memory": {"log": measurements.log_bytes, "buffers": measurements.buffer_bytes},
        "sweeps": measurements.sweeps,
        "advice": advice(measurements),
    }


def report(measurements: Measurements, top: int) -> str:
    """Return the results as a text table."""
    clock = measurements.clock
    total = max(clock.total - clock.overhead, 1)
    lines = [f"{seconds(total)} in total, plus {seconds(clock.overhead)} of overhead", ""]
    for name, nanoseconds in parts(measurements).items():
        if nanoseconds:
            lines.append(
                f"{seconds(nanoseconds):>9} {100 * nanoseconds / total:4.0f} %  {PARTS[name]}"
            )
    bar_list = bars(measurements)
    lines += ["", *align(_table(bar_list, top, total), right=4)]
    if len(bar_list) > top:
        remaining = sum(bar.counts.nanoseconds for bar in bar_list[top:])
        lines.append(f"{seconds(remaining)} more in {len(bar_list) - top} others")
    lines += [
        "",
        f"peak memory: {size(measurements.log_bytes)} of log, "
        f"{size(measurements.buffer_bytes)} of buffers",
    ]
    functions = [f for _, f in measurements.functions.values()]
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
    suggestions = advice(measurements)
    if suggestions:
        lines += ["", "Suggested changes:", *(f"- {suggestion}" for suggestion in suggestions)]
    return "\n".join(lines)


def _table(bar_list: Sequence[Bar], top: int, total: int) -> list[tuple[str, ...]]:
    """Return a row for each line of the program with its total, followed by its parts."""
    totals: dict[str, int] = defaultdict(int)
    for bar in bar_list:
        totals[bar.line] += bar.counts.nanoseconds
    bars_of_line: dict[str, list[Bar]] = defaultdict(list)
    for bar in bar_list[:top]:
        bars_of_line[bar.line].append(bar)
    table: list[tuple[str, ...]] = [("time", "part", "calls", "buffers", "line and work")]
    for line in sorted(bars_of_line, key=lambda line: -totals[line]):
        label = f"{place(line)}  {source(line)}" if line else NOWHERE
        table.append(
            (seconds(totals[line]), f"{100 * totals[line] / total:.0f} %", "", "", label.rstrip())
        )
        for bar in bars_of_line[line]:
            count, op_prefix = bar.counts, f"{bar.op}, " if bar.op else ""
            bytes_ = size(count.bytes) if count.bytes else ""
            table.append(
                (
                    seconds(count.nanoseconds),
                    "",
                    str(count.calls),
                    bytes_,
                    f"    {op_prefix}{bar.kind}",
                )
            )
    return table


def source(line: str) -> str:
    """Return the source text of a line, shortened."""
    file, _, number = line.rpartition(":")
    text = linecache.getline(file, int(number)).strip() if number.isdigit() else ""
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def align(table: Sequence[tuple[str, ...]], right: int = 0) -> list[str]:
    """Align columns; the first ``right`` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if k < right else text.ljust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def seconds(nanoseconds: int) -> str:
    """Format a time with three digits."""
    for unit, step in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= step:
            return (
                f"{nanoseconds / step:.3g} {unit}"
                if nanoseconds < 1000 * step
                else (f"{nanoseconds / step:.0f} {unit}")
            )
    return f"{nanoseconds} ns"


def size(n: int) -> str:
    """Format a number of bytes."""
    for unit, step in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= step:
            return f"{n / step:.1f} {unit}"
    return f"{n} B"


COLOURS = {
    **dict.fromkeys(PARTS, "#c9a227"),
    "compiling": "#8a8a8a",
    "planning": "#b5651d",
    "evaluations": "#b5651d",
    "guards": "#b5651d",
    "replaying": "#b5651d",
    LOOP: "#1b7837",
    LANES: "#2166ac",
    ARRAY: "#5e3c99",
    HOST: "#b2182b",
    COPY: "#8a8a8a",
}
SIDE, LONGEST, HIGH = 330, 300, 24  # pixels: width of names, longest bar, height of a line
LETTERS = 52  # longest name
FONT = "font-family='DejaVu Sans, Helvetica, Arial, sans-serif'"


def picture(measurements: Measurements, top: int) -> str:
    """Return the SVG of the ``top`` longest bars."""
    clock = measurements.clock
    total = max(clock.total - clock.overhead, 1)
    shown_bars = [bar for bar in bars(measurements)[:top] if bar.counts.nanoseconds > 0]
    longest = max((bar.counts.nanoseconds for bar in shown_bars), default=1)
    width, height = SIDE + LONGEST + 250, 64 + HIGH * len(shown_bars)
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' {FONT} font-size='12'>",
        f"<rect width='{width}' height='{height}' fill='white'/>",
        f"<text x='12' y='24' font-size='15' fill='#111111'>{seconds(total)} by line and op</text>",
    ]
    for k, bar in enumerate(shown_bars):
        lines += _bar(bar, 46 + HIGH * k, longest, total)
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _bar(bar: Bar, y: int, longest: int, total: int) -> list[str]:
    nanoseconds = bar.counts.nanoseconds
    width = max(1.0, LONGEST * nanoseconds / longest)
    name = f"{place(bar.line)}  {source(bar.line)}".strip() or NOWHERE
    name = name if len(name) <= LETTERS else name[: LETTERS - 3] + "..."
    description = f"{bar.op}, {bar.kind}" if bar.op else bar.kind
    label = f"{description}  {seconds(nanoseconds)}, {100 * nanoseconds / total:.0f} %"
    return [
        f"<text x='{SIDE - 8}' y='{y + 13}' text-anchor='end' fill='#111111'>{escape(name)}</text>",
        f"<rect x='{SIDE}' y='{y + 2}' width='{width:.1f}' height='{HIGH - 8}' "
        f"fill='{COLOURS[bar.kind]}'/>",
        f"<text x='{SIDE + width + 6:.1f}' y='{y + 13}' fill='#111111'>{escape(label)}</text>",
    ]
