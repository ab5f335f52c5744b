"""`Profile`: the context manager that measures a program, and the events it counts."""

from __future__ import annotations

import json
import runpy
import sys
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import settings
from ..core.derive.instrumentation import caller
from ..core.derive.reachability import operands
from ..core.log.log import Log
from ..core.log.op import CODES
from ..core.plan.plan import Plan
from ..core.values.spec import SPECS
from ..core.values.weakrefs import WeakObjectMap
from ..errors import UnimplementedError
from .advice import advice
from .clock import Clock, Key
from .hooks import Hooks
from .report import data, picture, report
from .rows import Row, groups_of

if TYPE_CHECKING:
    import os

    from ..core.values.tensor import Tensor
    from ..tape import GradientTape

INDEXING_OPS = {"SmallSlice", "StridedSlice", "GatherV2"}  # ops that can take single elements
EXAMPLES = 4  # signatures to keep as examples


@dataclass
class ProfiledFunction:
    """A function that is recorded and replayed.

    Attributes:
      name: The function's name.
      line: The line of its definition.
      calls: The number of calls.
      recorded: The number of recordings.
      reason: Why it runs as Python, or "".
      shapes: Examples of argument shapes with which it was recorded.
    """

    name: str
    line: str
    calls: int = 0
    recorded: int = 0
    reason: str = ""
    shapes: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass
class Looks:
    """Value reads of a line: their number, those that computed something, elements computed."""

    calls: int = 0
    swept: int = 0
    work: int = 0


PLANS = 64  # plans whose rows are cached

_running: list[Profile] = []


class Profile:
    """Measures a block of a program by line and op; see `numtape.experimental.profile`."""

    def __init__(self) -> None:
        self.work = self.sweeps = self.log = self.buffers = 0
        self.rows: Counter[str] = Counter()
        self.element_reads: Counter[str] = Counter()
        self.largest: dict[str, int] = {}
        self.casts: Counter[str] = Counter()
        self.floats: Counter[str] = Counter()
        self.looks: dict[str, Looks] = {}
        self.persistent: dict[str, int] = {}
        self.twice: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.functions: dict[int, tuple[Any, ProfiledFunction]] = {}
        self._tapes: WeakObjectMap[list[Any]] = WeakObjectMap()
        self.clock = Clock()
        self._hooks: Hooks | None = None
        self._plans: dict[int, Any] = {}

    def record_op(self, op: str, log: Log, tensor: Tensor, line: str) -> None:
        """Count a recorded op."""
        if not log.nested:
            self.rows[line] += 1
        spec = tensor._spec
        if op in INDEXING_OPS and spec.size <= 1:
            of = SPECS.specs[log.spec[next(iter(operands(log, tensor._row)))]].size
            if of > 1:
                self.element_reads[line] += 1
                self.largest[line] = max(self.largest.get(line, 0), of)
        elif op == "Cast" and spec.dtype.name in ("float32", "float64"):
            before = SPECS.specs[log.spec[next(iter(operands(log, tensor._row)))]].dtype.name
            if before in ("float32", "float64") and before != spec.dtype.name:
                self.casts[line] += 1

    def swept(self, row: Row) -> None:
        """Count a computed row."""
        if row.dtype in ("float32", "float64"):
            self.floats[row.dtype] += row.elements

    def record_look(self, line: str, work: int) -> None:
        """Count a value read that computed ``work`` elements."""
        looks = self.looks.setdefault(line, Looks())
        looks.calls += 1
        looks.swept += work > 0
        looks.work += work

    def record_call(self, calls: Any, leaves: Any, recorded: int) -> None:
        """Count a call of a function, and its recordings."""
        _, value = self.functions.get(id(calls.limit), (None, None))
        if value is None:
            function = calls.function
            code = getattr(function, "__code__", None)
            own = getattr(function, "__module__", "").startswith("numtape.")  # e.g. a train step
            line = (
                caller()
                if own
                else (f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "")
            )
            name = getattr(function, "__qualname__", type(function).__name__)
            value = ProfiledFunction(name.rpartition("<locals>.")[2], line)
            self.functions[id(calls.limit)] = calls.limit, value
        value.calls += 1
        value.recorded += recorded
        value.reason = value.reason or calls.reason
        if recorded and len(value.shapes) < EXAMPLES:
            shapes = tuple(tuple(leaf._spec.shape) for leaf in leaves)
            if shapes not in value.shapes:
                value.shapes.append(shapes)

    def persists(self, tape: GradientTape, line: str) -> None:
        """Count the creation of a persistent tape."""
        self.persistent[line] = self.persistent.get(line, 0) + 1
        self._tapes.put(tape, [line, 0])

    def record_gradient(self, tape: GradientTape) -> None:
        """Count a gradient computation of a tape."""
        entry = self._tapes.get(tape)
        if entry is not None:
            entry[1] += 1
            self.twice[entry[0]] += entry[1] == 2

    def record_step(self, line: str) -> None:
        """Count an optimizer step outside of functions."""
        self.steps[line] += 1

    # The context manager.

    def __enter__(self) -> Profile:
        """Start measuring.

        Raises:
          RuntimeError: If another profile is running, or this one was used already.
          UnimplementedError: If the device is not the CPU.
        """
        if _running or self.clock.total:
            raise RuntimeError("A profile is running, or this one is over: create a new one.")
        if settings.device() != "cpu":
            raise UnimplementedError(
                "Profiles measure only what the CPU computes. Set NUMTAPE_DEVICE=cpu, or use the "
                "GPU vendor's profiler."
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

    # Called by the hooks.

    def record_row(self, tensor: Tensor, line: str) -> None:
        """Count a recorded row."""
        log = tensor._home
        op = CODES.entries[log.code[tensor._row]][0]
        self.clock.reach(line, op.name)
        self.record_op(op.name, log, tensor, line)

    def record_plan(self, log: Log, plan: Plan, nanoseconds: list[int], line: str) -> None:
        """Count an executed plan, given the time of each of its groups."""
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

    def _shares(self, log: Log, plan: Plan, line: str) -> list[list[tuple[Key, float, int, int]]]:
        """Return, for each group, its keys with their share of the time, rows and bytes."""
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

    # Results.

    def data(self) -> dict[str, Any]:
        """Return all results as a dict of numbers and strings."""
        return data(self)

    def advice(self) -> list[str]:
        """Return suggestions, each with its line."""
        return advice(self)

    def report(self, top: int = 20) -> str:
        """Return a table of the slowest lines and ops, and the advice.

        Args:
          top: The number of rows of the table.
        """
        return report(self, top)

    def __repr__(self) -> str:
        return self.report()

    def save(self, path: str | os.PathLike[str], top: int = 20) -> None:
        """Save a picture (``.svg``), all numbers (``.json``) or the table (any other name).

        Args:
          path: The file.
          top: The number of rows of the picture or table.
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
        """Return the picture, for notebooks."""
        return picture(self, 12)


def _line(row: Row, lines: dict[int, str], ordered: list[int], line: str) -> str:
    """Return a row's line, or that of the next row with one: gradients append many rows at once."""
    value = lines.get(row.row)
    if value is not None:
        return value
    at = bisect_left(ordered, row.row)
    return lines[ordered[at]] if at < len(ordered) else line


def run(script: str, arguments: list[str]) -> tuple[Profile, BaseException | None]:
    """Run a program as ``__main__``; return its profile and the exception that ended it, if any."""
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).resolve().parent)
    profile, ended = Profile(), None
    try:
        with profile:
            runpy.run_path(script, run_name="__main__")
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        ended = error
        # Drop the frames of runpy and of the profiler from the traceback.
        place = error.__traceback__
        while place is not None and place.tb_frame.f_code.co_filename != script:
            place = place.tb_next
        error.__traceback__ = place or error.__traceback__
    finally:
        sys.argv, sys.path[0] = before
    return profile, ended
