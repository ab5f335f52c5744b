"""The measurements of a profile: times, and counts of events by line of the program.

`hooks` calls the methods of `Measurements` while a profile runs; `advice` and `report` read the
attributes afterwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.derive.instrumentation import caller
from ..core.derive.reachability import operands
from ..core.log.log import Log
from ..core.log.op import CODES
from ..core.plan.plan import Plan
from ..core.values.spec import SPECS
from ..core.values.weakrefs import WeakObjectMap
from .clock import Clock, Key
from .rows import Row, groups_of

if TYPE_CHECKING:
    from ..core.values.tensor import Tensor
    from ..tape import GradientTape

INDEXING_OPS = {"SmallSlice", "StridedSlice", "GatherV2"}  # ops that can take single elements
EXAMPLES = 4  # signatures to keep as examples
PLANS = 64  # plans whose rows are cached


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
class Evaluations:
    """Reads of values by a line.

    Attributes:
      calls: The number of reads.
      computing_reads: The number of reads that computed something.
      work: The number of computed elements.
    """

    calls: int = 0
    computing_reads: int = 0
    work: int = 0


class Measurements:
    """Times and counts of one profile.

    Attributes:
      clock: The times.
      work: The number of computed elements.
      sweeps: The number of executed plans.
      log_bytes, buffer_bytes: The largest size of the log and of the buffers, in bytes.
      eager_ops: Ops that were recorded one by one, by line.
      element_reads: Single elements taken from an array, by line.
      array_sizes: The size of the largest such array, by line.
      casts: Conversions between float32 and float64, by line.
      float_elements: Computed elements, by dtype.
      evaluations: Reads of values, by line.
      persistent_tapes: Persistent tapes, by line.
      reused_tapes: Persistent tapes that computed two gradients, by line.
      optimizer_steps: Optimizer steps outside of functions, by line.
      functions: Functions that are recorded and replayed, with their limits, by id of the limit.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.work = self.sweeps = self.log_bytes = self.buffer_bytes = 0
        self.eager_ops: Counter[str] = Counter()
        self.element_reads: Counter[str] = Counter()
        self.array_sizes: dict[str, int] = {}
        self.casts: Counter[str] = Counter()
        self.float_elements: Counter[str] = Counter()
        self.evaluations: dict[str, Evaluations] = {}
        self.persistent_tapes: dict[str, int] = {}
        self.reused_tapes: Counter[str] = Counter()
        self.optimizer_steps: Counter[str] = Counter()
        self.functions: dict[int, tuple[Any, ProfiledFunction]] = {}
        self._tapes: WeakObjectMap[list[Any]] = WeakObjectMap()
        self._plans: dict[int, Any] = {}

    def clear_plans(self) -> None:
        """Drop the cached rows of plans."""
        self._plans.clear()

    def record_op(self, op: str, log: Log, tensor: Tensor, line: str) -> None:
        """Count a recorded op."""
        if not log.nested:
            self.eager_ops[line] += 1
        spec = tensor._spec
        if op in INDEXING_OPS and spec.size <= 1:
            operand_size = SPECS.specs[log.spec[next(iter(operands(log, tensor._row)))]].size
            if operand_size > 1:
                self.element_reads[line] += 1
                self.array_sizes[line] = max(self.array_sizes.get(line, 0), operand_size)
        elif op == "Cast" and spec.dtype.name in ("float32", "float64"):
            operand_dtype = SPECS.specs[log.spec[next(iter(operands(log, tensor._row)))]].dtype.name
            if operand_dtype in ("float32", "float64") and operand_dtype != spec.dtype.name:
                self.casts[line] += 1

    def record_elements(self, row: Row) -> None:
        """Count a computed row."""
        if row.dtype in ("float32", "float64"):
            self.float_elements[row.dtype] += row.elements

    def record_evaluation(self, line: str, work: int) -> None:
        """Count a value read that computed ``work`` elements."""
        evaluations = self.evaluations.setdefault(line, Evaluations())
        evaluations.calls += 1
        evaluations.computing_reads += work > 0
        evaluations.work += work

    def record_call(self, calls: Any, leaves: Any, recording_count: int) -> None:
        """Count a call of a function, and its recordings."""
        _, value = self.functions.get(id(calls.limit), (None, None))
        if value is None:
            function = calls.function
            code = getattr(function, "__code__", None)
            # Such as a train step.
            is_internal = getattr(function, "__module__", "").startswith("numtape.")
            line = (
                caller()
                if is_internal
                else (f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "")
            )
            name = getattr(function, "__qualname__", type(function).__name__)
            value = ProfiledFunction(name.rpartition("<locals>.")[2], line)
            self.functions[id(calls.limit)] = calls.limit, value
        value.calls += 1
        value.recorded += recording_count
        value.reason = value.reason or calls.reason
        if recording_count and len(value.shapes) < EXAMPLES:
            shapes = tuple(tuple(leaf._spec.shape) for leaf in leaves)
            if shapes not in value.shapes:
                value.shapes.append(shapes)

    def record_persistent_tape(self, tape: GradientTape, line: str) -> None:
        """Count the creation of a persistent tape."""
        self.persistent_tapes[line] = self.persistent_tapes.get(line, 0) + 1
        self._tapes.put(tape, [line, 0])

    def record_gradient(self, tape: GradientTape) -> None:
        """Count a gradient computation of a tape."""
        entry = self._tapes.get(tape)
        if entry is not None:
            entry[1] += 1
            self.reused_tapes[entry[0]] += entry[1] == 2

    def record_step(self, line: str) -> None:
        """Count an optimizer step outside of functions."""
        self.optimizer_steps[line] += 1

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
        scratch_bytes = plan.arena + plan.scratch + plan.partials
        self.buffer_bytes = max(self.buffer_bytes, max(log.bytes, buffer_bytes) + scratch_bytes)
        columns = log.columns
        size = sum(getattr(columns, name).nbytes for name in columns.NAMES) + log.extra.nbytes
        self.log_bytes = max(self.log_bytes, size)
        for group_nanoseconds, shares in zip(
            nanoseconds, self._shares(log, plan, line), strict=True
        ):
            for key, part, calls, size in shares:
                self.clock.count(key, round(part * group_nanoseconds), calls, size)

    def _shares(self, log: Log, plan: Plan, line: str) -> list[list[tuple[Key, float, int, int]]]:
        """Return, for each group, its keys with their share of the time, rows and bytes."""
        lines = getattr(log.tensors, "lines", {})
        cached = self._plans.get(id(plan))
        if cached is not None and cached[0] is plan and cached[1] is lines:
            return cached[2]  # type: ignore[no-any-return]
        sorted_rows = sorted(lines)
        shares = []
        for group in groups_of(log, plan):
            sums: dict[Key, list[Any]] = {}
            for row in group:
                self.record_elements(row)
                key = Key(_line(row, lines, sorted_rows, line), row.op, row.kind)
                entry = sums.setdefault(key, [0.0, 0, 0])
                entry[0] += row.part
                entry[1] += 1
                entry[2] += row.size
            shares.append([(key, *entry) for key, entry in sums.items()])
        if len(self._plans) >= PLANS:
            self._plans.clear()
        self._plans[id(plan)] = plan, lines, shares
        return shares


def _line(row: Row, lines: dict[int, str], sorted_rows: list[int], line: str) -> str:
    """Return a row's line, or that of the next row with one: gradients append many rows at once."""
    value = lines.get(row.row)
    if value is not None:
        return value
    position = bisect_left(sorted_rows, row.row)
    return lines[sorted_rows[position]] if position < len(sorted_rows) else line
