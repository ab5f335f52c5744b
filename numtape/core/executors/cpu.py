"""The CPU executor: plan, then sweep; jitted but for whole-array ops."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..arrays import Array, aligned, view
from ..entry import Block
from ..log import VALUE, Log
from ..lower import lane_kernel
from ..op import CODES
from ..spec import TABLES
from ..tables import LANES, code_tables, spec_tables

NO_KERNEL = 1
# Fields of the plan's report and of a group: as in kernels/log/layout.py (a test compares).
(C_ROW, C_ROWS, C_GROUPS, C_INSTRUCTIONS, C_ALLOC, C_ALIASES, C_ARENA, C_SCRATCH,
 C_WORK, C_SHARED) = range(10)
GROUP = 8
(G_KIND, G_ROWS, G_ROWS_END, G_CODE, G_CODE_END, G_SIZE, G_WIDTH, G_BODY) = range(8)
STEP = 5
SHARED = 3
WANTED, WELCOME = 1, 2
KEPT = 2  # an escape: the row has a buffer of its own

# Row-elements from which a sweep is long enough to let other Python threads run meanwhile.
LONG = 200_000


class Workspace:
    """Arrays and control blocks of the passes, for one log at one capacity."""

    def __init__(self, log: Log) -> None:
        n = log.columns.capacity
        self.capacity = n
        self.extra = log.extra
        # What the plan reports, and what it only needs while it runs.
        self.canon, self.order, self.escape, self.alloc, self.aliases = np.empty((5, n), np.int32)
        by_row = ("phase", "group", "last", "root", "slot", "stamp", "rows")
        scratch = dict(zip(by_row, np.empty((len(by_row), n), np.int32), strict=True))
        scratch["operands"] = np.empty(3 * n, np.int32)
        scratch["many"] = np.empty(log.extra.size, np.int32)
        scratch["kernel"] = np.empty(n, np.int64)
        scratch["tables"] = np.empty(8 * n + 64, np.int32)
        scratch["mark"] = np.zeros(n, np.uint8)
        self.want = np.zeros(n, np.uint8)
        self.groups = np.empty((n, GROUP), np.int64)
        self.program = np.empty((4 * n + log.extra.size, STEP), np.int64)
        self.places = np.empty(0, np.int64)
        self.cursor = np.zeros(16, np.int64)
        self.scratch, self.scratch_at = aligned(0)
        self.arena, self.arena_at = aligned(0)
        self.want_view = view(self.want)
        self.order_view = view(self.order)
        self.escape_view = view(self.escape)
        self.versions: tuple[int, ...] = ()
        columns = log.columns
        shared = {name: getattr(columns, name) for name in columns.NAMES}
        self.sweep = Block("sweep")  # first: the plan may be compiling in another process
        self.plan = Block("plan")
        self.plan.bind(
            **shared, **scratch, extra=log.extra, canon=self.canon, order=self.order,
            escape=self.escape, alloc=self.alloc, aliases=self.aliases, want=self.want,
            groups=self.groups, program=self.program, cursor=self.cursor,
        )  # fmt: skip
        self.sweep.bind(
            spec=columns.spec, cell=columns.cell, state=columns.state, order=self.order,
            escape=self.escape, groups=self.groups, program=self.program,
        )  # fmt: skip
        self.sweep.set[self.sweep.slots["cells"]] = columns.address

    def forget(self, rows: int) -> None:
        """The log is rewound: no row is welcome any more."""
        self.want[:rows] = 0

    def refresh(self) -> None:
        """Bind the tables again if one of them moved."""
        versions = (TABLES.version, CODES.version, LANES.version)
        if versions != self.versions:
            self.plan.bind(
                **code_tables("code_kind", "code_arity", "code_lane"),
                **spec_tables("spec_size", "spec_bytes", "spec_shape", "spec_dtype"),
                kernels=LANES.kernels,
            )
            self.plan.set[self.plan.slots["dtypes"]] = LANES.dtypes
            self.sweep.bind(**spec_tables("spec_size", "spec_item", "spec_rank", "spec_dims"))
            self.versions = versions


class Executor:
    """Plans what a look needs and sweeps it."""

    def compute(self, log: Log, wanted: list[int], welcome: list[int], retain: bool) -> None:
        """Give the wanted rows their values; with ``retain``, keep what is expensive."""
        work: Workspace | None = log.workspace
        capacity = log.columns.capacity
        if work is None or work.capacity != capacity or work.extra is not log.extra:
            before, work = work, Workspace(log)
            if before is not None:  # which rows are welcome
                work.want[: before.want.size] = before.want
            log.workspace = work
        while True:
            work.refresh()
            want = work.want_view
            for row in welcome:
                want[row] = WELCOME
            for row in wanted:
                want[row] = WANTED
            plan = work.plan
            plan.set[plan.slots["bottom"]] = min(wanted)
            plan.set[plan.slots["top"]] = max(wanted)
            plan.set[plan.slots["retain"]] = retain
            status = plan.call()
            for row in wanted:
                want[row] = 0
            if status != NO_KERNEL:
                break
            lane_kernel(log, int(work.cursor[C_ROW]))
        self._sweep(log, work, retain)

    def _sweep(self, log: Log, work: Workspace, retain: bool) -> None:
        report = work.cursor.tolist()
        found = report[C_GROUPS]
        if not found:
            return
        columns = log.columns
        specs, spec_of = TABLES.specs, log.spec
        for row in work.alloc[: report[C_ALLOC]].tolist():
            spec = specs[spec_of[row]]
            log.put(row, np.empty(spec.shape, spec.dtype.numpy_dtype), spec)
        if report[C_ARENA] > work.arena.size:
            work.arena, work.arena_at = aligned(report[C_ARENA])
        if report[C_SCRATCH] > work.scratch.size:
            work.scratch, work.scratch_at = aligned(report[C_SCRATCH])
        if 8 * report[C_INSTRUCTIONS] > work.places.size:
            work.places = np.empty(16 * report[C_INSTRUCTIONS], np.int64)
            work.sweep.bind(places=work.places)
        sweep, slots = work.sweep, work.sweep.slots
        sweep.set[slots["scratch"]] = work.scratch_at
        sweep.set[slots["arena"]] = work.arena_at
        sweep.set[slots["found"]] = found
        call = sweep.call_without_gil if report[C_WORK] > LONG else sweep.call
        begin_group = slots["begin_group"]
        sweep.set[begin_group] = 0
        g = call()
        if g < found:
            groups = work.groups[:found].tolist()
            operands = work.program[: report[C_INSTRUCTIONS], 1].tolist()
            with np.errstate(all="ignore"):  # inf and NaN are values like others
                while g < found:
                    _, begin, _, code, code_end, _, _, _ = groups[g]
                    self._whole(log, work, work.order_view[begin], operands[code:code_end])
                    sweep.set[begin_group] = g + 1
                    g = call()
        # Views and merged rows share what their originals have.
        state = columns.state_view
        views: dict[int, Array] = {}
        kinds = work.groups[:found, G_KIND] if report[C_SHARED] else np.empty(0)
        for g in np.flatnonzero(kinds == SHARED).tolist():
            row = int(work.order[work.groups[g, G_ROWS]])
            spec = specs[spec_of[row]]
            original = int(work.program[work.groups[g, G_CODE], 1])
            buffer = log.buffers.get(original) if state[original] == VALUE else views.get(original)
            if spec.size == 1 or buffer is None:  # None: a view of a temporary
                continue
            views[row] = buffer.reshape(spec.shape)
            if work.escape[row] == KEPT:
                log.put(row, views[row], spec)
                state[row] = VALUE
        if report[C_ALIASES]:
            for row in work.aliases[: report[C_ALIASES]].tolist():
                original = int(work.canon[row])
                if state[original] == VALUE:
                    columns.cell[row] = columns.cell[original]
                    if original in log.buffers:
                        log.buffers[row] = log.buffers[original]
                    state[row] = VALUE

    def _whole(self, log: Log, work: Workspace, row: int, operands: list[int]) -> None:
        """Compute the one row of a whole-array group."""
        columns = log.columns
        op, attributes = CODES.entries[columns.code_view[row]]
        spec = TABLES.specs[columns.spec_view[row]]
        dtype = spec.dtype.numpy_dtype
        kept = work.escape_view[row] == KEPT
        if spec.size == 1:
            out = np.ndarray(spec.shape, dtype, columns.cell, 8 * row)
        elif kept:
            out = np.empty(spec.shape, dtype)
            log.put(row, out, spec)
        else:
            offset = columns.cell_view[row]
            out = np.ndarray(spec.shape, dtype, work.arena, offset)
            columns.cell_view[row] = work.arena_at + offset
        assert op.compute is not None
        op.compute(out, *[self._operand(log, work, x) for x in operands], **attributes)
        if kept:
            columns.state_view[row] = VALUE

    def _operand(self, log: Log, work: Workspace, row: int) -> Array:
        columns = log.columns
        spec = TABLES.specs[columns.spec_view[row]]
        if spec.size == 1:
            return np.ndarray(spec.shape, spec.dtype.numpy_dtype, columns.cell, 8 * row)
        if columns.state_view[row] == VALUE:
            return log.buffers[row]
        if not spec.size:
            return np.empty(spec.shape, spec.dtype.numpy_dtype)
        offset = columns.cell_view[row] - work.arena_at
        if 0 <= offset < work.arena.size:
            return np.ndarray(spec.shape, spec.dtype.numpy_dtype, work.arena, offset)
        # A view of a kept buffer, which the log holds until the sweep is over.
        size = spec.size * spec.dtype.size
        memory: Any = (ctypes.c_char * size).from_address(columns.cell_view[row])
        return np.ndarray(spec.shape, spec.dtype.numpy_dtype, memory)
