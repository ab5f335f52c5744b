"""`Progbar`: a progress bar for training loops that users write."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.progress import duration, is_live, time_left

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike


class Progbar:
    """A progress bar with the values of metrics.

    Args:
      target: The number of steps; None if it is unknown.
      width: The width of the bar in characters.
      verbose: 1 for a bar, 2 for one line at the end, 0 for no output.
      interval: The minimum number of seconds between two updates.
      stateful_metrics: Names of values to show as they are; means over the steps of the others
        are shown.
      stateless_metrics: Names of values whose means are shown; the others are shown as they are.
      unit_name: The name of a step.

    Raises:
      ValueError: If both ``stateful_metrics`` and ``stateless_metrics`` are given.

    Example:
      >>> bar = tf.keras.utils.Progbar(2, verbose=2)
      >>> bar.update(1, [("loss", 2.0)])
      >>> bar.update(2, [("loss", 1.0)])  # doctest: +ELLIPSIS
      2/2 - 0s - ...step - loss: 1.0000
    """

    def __init__(
        self,
        target: int | None,
        width: int = 20,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        stateless_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        if stateful_metrics is not None and stateless_metrics is not None:
            raise ValueError(
                "Only one of `stateful_metrics` or `stateless_metrics` can be provided."
            )
        self.target, self.width, self.verbose = target, width, verbose
        self.interval, self.unit_name = interval, unit_name
        stateful = () if stateful_metrics is None else stateful_metrics
        self.stateful_metrics = set(stateful) if stateless_metrics is None else None
        self.stateless_metrics = None if stateless_metrics is None else set(stateless_metrics)
        self._sums: dict[str, tuple[Any, int]] = {}  # of each value, and the number of steps
        self._step = 0
        self._start = time.time()
        self._first_step_end: float | None = None
        self._last_update = 0.0
        self._length = 0

    def update(
        self,
        current: int,
        values: Iterable[tuple[str, TensorLike]] | None = None,
        finalize: bool | None = None,
    ) -> None:
        """Show a step.

        Args:
          current: The number of the step.
          values: Pairs of a name and the value in this step.
          finalize: Whether this is the last step; None if it is when ``current`` is the target.
        """
        if finalize is None:
            finalize = self.target is not None and current >= self.target
        for name, value in values or ():
            self._add(name, np.mean(np.asarray(value)), current, finalize)
        self._step = current
        now = time.time()
        if self._first_step_end is None and current > 0:
            self._first_step_end = now
        if self.verbose == 1 and (finalize or now - self._last_update >= self.interval):
            self._show_bar(current, now, finalize)
            self._last_update = now
        elif self.verbose == 2 and finalize and self.target:
            self._write(f"{self._count(current)} -{self._summary(current, now, '- ')}\n")

    def add(self, n: int, values: Iterable[tuple[str, TensorLike]] | None = None) -> None:
        """Show a step that is ``n`` steps after the last one.

        Args:
          n: The number of steps.
          values: Pairs of a name and the value in this step.
        """
        self.update(self._step + n, values)

    def _add(self, name: str, value: Any, current: int, finalize: bool) -> None:
        if self.stateful_metrics is not None:
            is_mean = name not in self.stateful_metrics
        else:
            is_mean = name in (self.stateless_metrics or ())
        if not is_mean or finalize:
            self._sums[name] = value, 1
            return
        count = max(current - self._step, 1)
        total, steps = self._sums.get(name, (0.0, 0))
        self._sums[name] = total + value * count, steps + count

    def _count(self, current: int) -> str:
        assert self.target
        return f"{current:{int(math.log10(self.target)) + 1}d}/{self.target}"

    def _summary(self, current: int, now: float, separator: str, remaining: bool = False) -> str:
        """Return the time and the values."""
        if self._first_step_end is None or current == 1:
            seconds = (now - self._start) / max(current, 1)
        else:
            seconds = (now - self._first_step_end) / max(current - 1, 1)
        total = time_left(seconds * ((self.target or 0) - current))
        text = total if remaining else f"{now - self._start:.0f}s"
        text = f" {text} {separator}{duration(seconds, self.unit_name)}"
        for name, (value, count) in self._sums.items():
            mean = value / max(count, 1)
            text += f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}"
        return text

    def _show_bar(self, current: int, now: float, finalize: bool) -> None:
        if self.target:
            filled = min(self.width, int(self.width * current / self.target))
            bar = f"{self._count(current)} {'━' * filled}{'─' * (self.width - filled)}"
        else:
            bar = f"{current:7d}/Unknown"
        text = bar + self._summary(current, now, "", bool(self.target) and not finalize)
        blank = " " * max(0, self._length - len(text))
        live = is_live(sys.stdout)
        self._write(("\r" if live else "\n") + text + blank + "\n" * finalize)
        self._length = 0 if finalize else len(text)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
