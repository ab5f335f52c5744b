"""`Progress`: the progress bar of an epoch, in a terminal, a notebook or a file."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np

_WIDTH = 20  # of the bar
_PAUSE = 0.05  # minimum seconds between two updates


def _is_live(stream: object) -> bool:
    """Whether the stream can overwrite a line: terminals and notebooks can."""
    notebook = type(stream).__module__.startswith("ipykernel.")
    return notebook or bool(hasattr(stream, "isatty") and stream.isatty())


def duration(seconds: float) -> str:
    """Format the time per step in a suitable unit."""
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s/step"
    return f"{seconds * 1e3:.0f}ms/step" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us/step"


def _shift_left(seconds: float) -> str:
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
        self._begun = time.monotonic()
        self._after_first: float | None = None
        self._next = 0.0
        self._length = 0
        self.live = _is_live(sys.stdout)

    def due(self, step: int) -> bool:
        """Whether to update the bar now; limits the rate of updates."""
        now = time.monotonic()
        if self._after_first is None:
            self._after_first = now
        if self.verbose != 1 or not self.live or now < self._next:
            return False
        self._next = now + _PAUSE
        return True

    def _each(self, step: int) -> float:
        """Return seconds per step, without the first step if possible: it includes recording."""
        now = time.monotonic()
        if self._after_first is not None and step > 1:
            return (now - self._after_first) / (step - 1)
        return (now - self._begun) / max(step, 1)

    def _bar(self, step: int) -> tuple[str, int]:
        """Return the bar, and the number of its invisible characters (escape codes)."""
        if not self.target:
            return f"{step:7d}/Unknown", 0
        count = f"{step:{int(math.log10(self.target)) + 1}d}/{self.target}"
        done = min(_WIDTH, int(_WIDTH * step / self.target))
        if not self.live:
            return f"{count} {'━' * done}{'─' * (_WIDTH - done)}", 0
        text = f"\x1b[1m{count}\x1b[0m "
        text += f"\x1b[32m{'━' * done}\x1b[0m" if done else ""
        text += f"\x1b[37m{'━' * (_WIDTH - done)}\x1b[0m"
        return text, 17 + 9 * (done > 0)

    def show(self, step: int, values: dict[str, Any]) -> None:
        """Show the bar after a step."""
        bar, unseen = self._bar(step)
        each = self._each(step)
        left = _shift_left(each * (self.target - step)) if self.target else ""
        self._write(f"{bar} {left} {duration(each)}{format_values(values)}", unseen, "")

    def end(self, step: int, values: dict[str, Any]) -> None:
        """Show the final line of the epoch."""
        if not self.verbose:
            return
        took = f"{time.monotonic() - self._begun:.0f}s"
        if self.target is None:
            self.target = step
        text = f"{took} {duration(self._each(step))}{format_values(values)}"
        if self.verbose == 1:
            bar, unseen = self._bar(step)
            self._write(f"{bar} {text}", unseen, "\n")
        else:
            sys.stdout.write(
                f"{step}/{self.target} - {took} - {duration(self._each(step))}"
                f"{format_values(values)}\n"
            )
            sys.stdout.flush()

    def abort(self) -> None:
        """End the current line after an error."""
        if self._length:
            sys.stdout.write("\n")
            sys.stdout.flush()

    def _write(self, text: str, unseen: int, end: str) -> None:
        length = len(text) - unseen
        blank = " " * max(0, self._length - length)
        sys.stdout.write(("\r" if self.live else "") + text + blank + end)
        sys.stdout.flush()
        self._length = 0 if end else length
