"""What a profile notes besides time, from which it says what can be mended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..core.derive.noting import caller
from ..core.derive.reach import operands
from ..core.values.spec import SPECS
from ..core.values.weak import WeakObjectMap
from .rows import Row

PICKS = {"SmallSlice", "StridedSlice", "GatherV2"}  # they take elements out of an array
EXAMPLES = 4  # signatures that are shown


@dataclass
class Function:
    """A function that is recorded and replayed.

    Attributes:
      name: Its name.
      line: Where it is.
      calls: How often it was called.
      recorded: How often it was recorded.
      reason: Why it runs as Python, or "".
      shapes: Shapes of arguments with which it was recorded, some of them.
    """

    name: str
    line: str
    calls: int = 0
    recorded: int = 0
    reason: str = ""
    shapes: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass
class Looks:
    """Looks of a line: how often, how often something was computed, how many elements."""

    calls: int = 0
    swept: int = 0
    work: int = 0


class Facts:
    """What is noted.

    Attributes:
      work: Elements that were computed.
      sweeps: How often something was swept.
      log, buffers: The most bytes that columns of a log took, and buffers of values.
      rows: By line: ops recorded outside of functions.
      picks: By line: elements taken out of larger arrays, and the largest one's size.
      casts: By line: conversions between float32 and float64.
      floats: By dtype: elements of floats that were computed.
      looks: By line.
      persistent: By line: persistent tapes, and those that were asked twice.
      steps: By line: steps of optimizers outside of functions.
      functions: By their number.
    """

    def __init__(self) -> None:
        self.work = self.sweeps = self.log = self.buffers = 0
        self.rows: Counter[str] = Counter()
        self.picks: Counter[str] = Counter()
        self.largest: dict[str, int] = {}
        self.casts: Counter[str] = Counter()
        self.floats: Counter[str] = Counter()
        self.looks: dict[str, Looks] = {}
        self.persistent: dict[str, int] = {}
        self.twice: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.functions: dict[int, tuple[Any, Function]] = {}
        self._tapes: WeakObjectMap[list[Any]] = WeakObjectMap()

    def record_op(self, op: str, log: Any, tensor: Any, line: str) -> None:
        """An op was recorded."""
        if not log.nested:
            self.rows[line] += 1
        spec = tensor._spec
        if op in PICKS and spec.size <= 1:
            of = SPECS.specs[log.spec[next(iter(operands(log, tensor._row)))]].size
            if of > 1:
                self.picks[line] += 1
                self.largest[line] = max(self.largest.get(line, 0), of)
        elif op == "Cast" and spec.dtype.name in ("float32", "float64"):
            before = SPECS.specs[log.spec[next(iter(operands(log, tensor._row)))]].dtype.name
            if before in ("float32", "float64") and before != spec.dtype.name:
                self.casts[line] += 1

    def swept(self, row: Row) -> None:
        """A row is computed."""
        if row.dtype in ("float32", "float64"):
            self.floats[row.dtype] += row.elements

    def record_look(self, line: str, work: int) -> None:
        """A value was looked at, for which so many elements were computed."""
        looks = self.looks.setdefault(line, Looks())
        looks.calls += 1
        looks.swept += work > 0
        looks.work += work

    def record_call(self, calls: Any, leaves: Any, recorded: int) -> None:
        """A function was called, and recorded so often."""
        _, value = self.functions.get(id(calls.limit), (None, None))
        if value is None:
            function = calls.function
            code = getattr(function, "__code__", None)
            own = getattr(function, "__module__", "").startswith("numtape.")  # called for a program
            line = (
                caller()
                if own
                else (f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "")
            )
            name = getattr(function, "__qualname__", type(function).__name__)
            value = Function(name.rpartition("<locals>.")[2], line)
            self.functions[id(calls.limit)] = calls.limit, value
        value.calls += 1
        value.recorded += recorded
        value.reason = value.reason or calls.reason
        if recorded and len(value.shapes) < EXAMPLES:
            shapes = tuple(tuple(leaf._spec.shape) for leaf in leaves)
            if shapes not in value.shapes:
                value.shapes.append(shapes)

    def persists(self, tape: Any, line: str) -> None:
        """A persistent tape was made."""
        self.persistent[line] = self.persistent.get(line, 0) + 1
        self._tapes.put(tape, [line, 0])

    def record_gradient(self, tape: Any) -> None:
        """A tape was asked for gradients."""
        entry = self._tapes.get(tape)
        if entry is not None:
            entry[1] += 1
            self.twice[entry[0]] += entry[1] == 2

    def record_step(self, line: str) -> None:
        """An optimizer makes a step outside of functions."""
        self.steps[line] += 1
