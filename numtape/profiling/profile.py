"""A profile: what it counts while it runs, and what it says afterwards."""

from __future__ import annotations

import json
from bisect import bisect_left
from pathlib import Path
from typing import Any

from ..core import settings
from ..core.log.log import Log
from ..core.log.op import CODES
from ..errors import UnimplementedError
from .advice import advice
from .clock import Clock, Key
from .facts import Facts
from .hooks import Hooks
from .picture import picture
from .report import data, report
from .rows import groups_of

PLANS = 64  # whose rows are remembered

_running: list[Profile] = []


class Profile(Facts):
    """What a stretch of a program takes, by line and op; see `numtape.experimental.profile`."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self._hooks: Hooks | None = None
        self._plans: dict[int, Any] = {}

    def __enter__(self) -> Profile:
        """Begin.

        Raises:
          RuntimeError: If another profile runs, or this one has run.
          UnimplementedError: If the device is not the CPU.
        """
        if _running or self.clock.whole:
            raise RuntimeError("A profile is running, or this one is over: make another one then.")
        if settings.device() != "cpu":
            raise UnimplementedError(
                "Profiles are of what the CPU computes. Set NUMTAPE_DEVICE=cpu, or use the "
                "profiler of the GPU's maker."
            )
        _running.append(self)
        self.clock = Clock()
        self._hooks = Hooks(self)
        try:
            self._hooks.enter()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        self.clock.end()
        if self._hooks is not None:
            self._hooks.leave()
        self._hooks = None
        self._plans.clear()
        _running.clear()

    # What is told while it runs.

    def record_row(self, tensor: Any, line: str) -> None:
        """A row was recorded."""
        log = tensor._home
        op = CODES.entries[log.code[tensor._row]][0]
        self.clock.reach(line, op.name)
        self.record_op(op.name, log, tensor, line)

    def record_plan(self, log: Log, plan: Any, nanoseconds: list[int], line: str) -> None:
        """A plan was swept: how long each of its groups took."""
        self.clock.spent(sum(nanoseconds))
        self.work += plan.work
        self.sweeps += 1
        buffer_bytes = sum(spec.size * spec.dtype.size for _, spec in plan.buffers)
        scratch = plan.arena + plan.scratch + plan.partials
        self.buffers = max(self.buffers, max(log.bytes, buffer_bytes) + scratch)
        columns = log.columns
        size = sum(getattr(columns, name).nbytes for name in columns.NAMES) + log.extra.nbytes
        self.log = max(self.log, size)
        for took, shares in zip(nanoseconds, self._shares(log, plan, line), strict=True):
            for key, part, calls, size in shares:
                self.clock.count(key, round(part * took), calls, size)

    def _shares(self, log: Log, plan: Any, line: str) -> list[list[tuple[Key, float, int, int]]]:
        """By group: keys, and what of its time is theirs, how many rows, bytes."""
        lines = getattr(log.tensors, "lines", {})
        known = self._plans.get(id(plan))
        if known is not None and known[0] is plan and known[1] is lines:
            return known[2]  # type: ignore[no-any-return]
        ordered = sorted(lines)
        shares = []
        for group in groups_of(log, plan):
            sums: dict[Key, list[Any]] = {}
            for row in group:
                self.swept(row)
                key = Key(_line(row, lines, ordered, line), row.op, row.how)
                entry = sums.setdefault(key, [0.0, 0, 0])
                entry[0] += row.part
                entry[1] += 1
                entry[2] += row.size
            shares.append([(key, *entry) for key, entry in sums.items()])
        if len(self._plans) >= PLANS:
            self._plans.clear()
        self._plans[id(plan)] = plan, lines, shares
        return shares

    # What it says.

    def data(self) -> dict[str, Any]:
        """All of it, as plain numbers and strings: seconds, bytes, how often."""
        return data(self)

    def advice(self) -> list[str]:
        """What can be mended, with the line where."""
        return advice(self)

    def report(self, top: int = 20) -> str:
        """A table of the lines and ops that take longest, and what can be mended.

        Args:
          top: How many lines of the table.
        """
        return report(self, top)

    def __repr__(self) -> str:
        return self.report()

    def save(self, path: Any, top: int = 20) -> None:
        """Write a picture (``.svg``), all numbers (``.json``) or the table (any other name).

        Args:
          path: The file.
          top: How many lines of the picture or table.
        """
        path = Path(path)
        if path.suffix == ".svg":
            text = picture(self, top)
        elif path.suffix == ".json":
            text = json.dumps(self.data(), indent=1)
        else:
            text = self.report(top) + "\n"
        path.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        """For notebooks: the picture."""
        return picture(self, 12)


def _line(row: Any, lines: dict[int, str], ordered: list[int], line: str) -> str:
    """The line of a row: its own, or, as gradients append many at once, that of the next one."""
    value = lines.get(row.row)
    if value is not None:
        return value
    at = bisect_left(ordered, row.row)
    return lines[ordered[at]] if at < len(ordered) else line
