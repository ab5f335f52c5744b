"""`Progress`: the progress bar of an epoch, in a terminal, a notebook or a file."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np

_WIDTH = 20  # of the bar
_PAUSE = 0.05  # minimum seconds between two updates


def is_live(stream: object) -> bool:
    """Whether the stream can overwrite a line: terminals and notebooks can."""
    notebook = type(stream).__module__.startswith("ipykernel.")
    return notebook or bool(hasattr(stream, "isatty") and stream.isatty())


def duration(seconds: float, step: str = "step") -> str:
    """Format the time per step in a suitable unit."""
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s/{step}"
    return f"{seconds * 1e3:.0f}ms/{step}" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us/{step}"


def time_left(seconds: float) -> str:
    """Format the time that remains."""
    full = int(seconds)
    if seconds > 3600:
        return f"{full // 3600}:{full % 3600 // 60:02d}:{full % 60:02d}"
    return f"{full // 60}:{full % 60:02d}" if seconds > 60 else f"{full}s"


def format_values(values: dict[str, Any]) -> str:
    """Format metric values for a line."""
    text = ""
    for name, value in values.items():
        mean = float(np.mean(value))
        text += f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}"
    return text


class Progress:
    """The progress bar of an epoch.

    Args:
      target: The number of steps; None if unknown.
      verbose: 1 for a bar, 2 for one line at the end, 0 for no output.
    """

    def __init__(self, target: int | None, verbose: int) -> None:
        self.target, self.verbose = target, verbose
        self._start_time = time.monotonic()
        self._first_step_end: float | None = None
        self._next = 0.0
        self._length = 0
        self.live = is_live(sys.stdout)

    def due(self, step: int) -> bool:
        """Whether to update the bar now; limits the rate of updates."""
        now = time.monotonic()
        if self._first_step_end is None:
            self._first_step_end = now
        if self.verbose != 1 or not self.live or now < self._next:
            return False
        self._next = now + _PAUSE
        return True

    def _seconds_per_step(self, step: int) -> float:
        """Return seconds per step, without the first step if possible: it includes recording."""
        now = time.monotonic()
        if self._first_step_end is not None and step > 1:
            return (now - self._first_step_end) / (step - 1)
        return (now - self._start_time) / max(step, 1)

    def _bar(self, step: int) -> tuple[str, int]:
        """Return the bar, and the number of its invisible characters (escape codes)."""
        if not self.target:
            return f"{step:7d}/Unknown", 0
        count = f"{step:{int(math.log10(self.target)) + 1}d}/{self.target}"
        filled_width = min(_WIDTH, int(_WIDTH * step / self.target))
        if not self.live:
            return f"{count} {'━' * filled_width}{'─' * (_WIDTH - filled_width)}", 0
        text = f"\x1b[1m{count}\x1b[0m "
        text += f"\x1b[32m{'━' * filled_width}\x1b[0m" if filled_width else ""
        text += f"\x1b[37m{'━' * (_WIDTH - filled_width)}\x1b[0m"
        return text, 17 + 9 * (filled_width > 0)

    def show(self, step: int, values: dict[str, Any]) -> None:
        """Show the bar after a step."""
        bar, escape_count = self._bar(step)
        seconds_per_step = self._seconds_per_step(step)
        rest = time_left(seconds_per_step * (self.target - step)) if self.target else ""
        self._write(
            f"{bar} {rest} {duration(seconds_per_step)}{format_values(values)}",
            escape_count,
            "",
        )

    def end(self, step: int, values: dict[str, Any]) -> None:
        """Show the final line of the epoch."""
        if not self.verbose:
            return
        elapsed = f"{time.monotonic() - self._start_time:.0f}s"
        if self.target is None:
            self.target = step
        text = f"{elapsed} {duration(self._seconds_per_step(step))}{format_values(values)}"
        if self.verbose == 1:
            bar, escape_count = self._bar(step)
            self._write(f"{bar} {text}", escape_count, "\n")
        else:
            sys.stdout.write(
                f"{step}/{self.target} - {elapsed} - {duration(self._seconds_per_step(step))}"
                f"{format_values(values)}\n"
            )
            sys.stdout.flush()

    def abort(self) -> None:
        """End the current line after an error."""
        if self._length:
            sys.stdout.write("\n")
            sys.stdout.flush()

    def _write(self, text: str, escape_count: int, end: str) -> None:
        length = len(text) - escape_count
        blank = " " * max(0, self._length - length)
        sys.stdout.write(("\r" if self.live else "") + text + blank + end)
        sys.stdout.flush()
        self._length = 0 if end else length
