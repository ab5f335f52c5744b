"""A profile as a picture: a bar for each line and op, as SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .advice import place
from .report import NOWHERE, PARTS, Bar, bars, seconds, source
from .rows import ARRAY, COPY, HOST, LANES, LOOP

if TYPE_CHECKING:
    from .profile import Profile

COLOURS = {
    **dict.fromkeys(PARTS, "#c9a227"),
    "compiling": "#8a8a8a",
    "planning": "#b5651d",
    "looking": "#b5651d",
    "guards": "#b5651d",
    "replaying": "#b5651d",
    LOOP: "#1b7837",
    LANES: "#2166ac",
    ARRAY: "#5e3c99",
    HOST: "#b2182b",
    COPY: "#8a8a8a",
}
SIDE, LONGEST, HIGH = 330, 300, 24  # pixels: names, the longest bar, a line
LETTERS = 52  # of a name
FONT = "font-family='DejaVu Sans, Helvetica, Arial, sans-serif'"


def picture(profile: Profile, top: int) -> str:
    """The ``top`` longest bars."""
    clock = profile.clock
    total = max(clock.whole - clock.own, 1)
    shown_bars = [bar for bar in bars(profile)[:top] if bar.counted.nanoseconds > 0]
    most = max((bar.counted.nanoseconds for bar in shown_bars), default=1)
    width, height = SIDE + LONGEST + 250, 64 + HIGH * len(shown_bars)
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' {FONT} font-size='12'>",
        f"<rect width='{width}' height='{height}' fill='white'/>",
        f"<text x='12' y='24' font-size='15' fill='#111111'>{seconds(total)} by line and op</text>",
    ]
    for k, bar in enumerate(shown_bars):
        lines += _bar(bar, 46 + HIGH * k, most, total)
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _bar(bar: Bar, y: int, most: int, total: int) -> list[str]:
    spent = bar.counted.nanoseconds
    long = max(1.0, LONGEST * spent / most)
    name = f"{place(bar.line)}  {source(bar.line)}".strip() or NOWHERE
    name = name if len(name) <= LETTERS else name[: LETTERS - 3] + "..."
    what = f"{bar.what}, {bar.how}" if bar.what else bar.how
    label = f"{what}  {seconds(spent)}, {100 * spent / total:.0f} %"
    return [
        f"<text x='{SIDE - 8}' y='{y + 13}' text-anchor='end' fill='#111111'>{escape(name)}</text>",
        f"<rect x='{SIDE}' y='{y + 2}' width='{long:.1f}' height='{HIGH - 8}' "
        f"fill='{COLOURS[bar.how]}'/>",
        f"<text x='{SIDE + long + 6:.1f}' y='{y + 13}' fill='#111111'>{escape(label)}</text>",
    ]
