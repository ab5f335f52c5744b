"""Plans of one log, made by the jitted pass and cached if a structure repeats."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ...kernels.passes.layout import (
    BROADCAST as BROADCAST,
    C_ALIASES as C_ALIASES,
    C_ALLOC as C_ALLOC,
    C_ARENA as C_ARENA,
    C_BODY as C_BODY,
    C_GROUPS as C_GROUPS,
    C_INSTRUCTIONS as C_INSTRUCTIONS,
    C_LOW as C_LOW,
    C_PARTIALS as C_PARTIALS,
    C_ROW as C_ROW,
    C_ROWS as C_ROWS,
    C_SCRATCH as C_SCRATCH,
    C_WORK as C_WORK,
    CALL_FIXED as CALL_FIXED,
    CALL_VARIADIC as CALL_VARIADIC,
    COPY_BYTES as COPY_BYTES,
    COUNT as COUNT,
    FUSED as FUSED,
    G_BLOCKS as G_BLOCKS,
    G_BODY as G_BODY,
    G_CODE as G_CODE,
    G_CODE_END as G_CODE_END,
    G_KIND as G_KIND,
    G_PARAMETERS as G_PARAMETERS,
    G_ROWS as G_ROWS,
    G_ROWS_END as G_ROWS_END,
    G_SIZE as G_SIZE,
    G_STRIDE as G_STRIDE,
    G_WIDTH as G_WIDTH,
    GROUP as GROUP,
    KEPT as KEPT,
    LANES as _LANES,
    MANY_UNITS as MANY_UNITS,
    NO_CALL as NO_CALL,
    NO_KERNEL as NO_KERNEL,
    OPTIONAL as OPTIONAL,
    PLACES as PLACES,
    SHARED as SHARED,
    SMALL as SMALL,
    SMALL_ROW_SIZE as SMALL_ROW_SIZE,
    STEP as STEP,
    WANTED as WANTED,
    WHOLE as WHOLE,
)
from ..compile.array_kernels import call_of, reduction_kernel
from ..compile.cache import LoadInProgress
from ..compile.lane_kernels import lane_kernel
from ..compile.passes import Block, pack_arguments
from ..compile.tables import CALLS, LANES
from ..log.log import VALUE, Log
from ..log.op import CODES, REDUCTION, VARIADIC
from ..values.intern_table import generation
from ..values.memory import Array, address_of, view
from ..values.spec import SPECS, Spec
from .structure_cache import StructureCache, columns_of, operands_of

LANES_GROUP = _LANES
MAX_ROW = 2048  # elements of a row that is reduced, or added up, as part of a block
MAX_BLOCK = 512  # elements of a block: wider ones leave L1 and gain nothing


class Plan:
    """The work of one evaluation, ready to be executed; see kernels/passes/plan.py.

    Attributes:
      arrays: order, storage, offset, groups and program, which passes take as a record.
      addresses: The addresses of these arrays.
      compared: Arguments of `recall`: the structure of the rows from ``low`` on.
      n_groups: The number of groups.
      scratch, partials, arena, body: Sizes that executing it needs: bytes, and instructions.
      work: The approximate number of elements it computes.
      buffers: Rows that need a separate buffer, and their specs.
      numpy_groups: For each group that NumPy computes, or may have to, the row and its operands.
      kernel_first: The groups in ``numpy_groups`` that a kernel tries first.
      unsure: Whether a kernel may leave a group to Python, which takes an unknown time.
      was_slow: Whether the last run of an unsure plan took long; True before the first one.
      views: (row, original, spec, kept): rows that share the buffer of another row, reshaped.
      aliases: (row, original): rows that are equal to others.
      done: The total ``work`` of its executions; negative when it is no longer counted.
      python_runs: The number of evaluations for which Python executed it.
      fused: The same plan with fused loops, when it exists.
      keep_alive: Objects that it refers to by address.
    """

    __slots__ = (
        "addresses",
        "aliases",
        "arena",
        "arrays",
        "body",
        "buffers",
        "compared",
        "done",
        "fused",
        "keep_alive",
        "kernel_first",
        "low",
        "n_groups",
        "numpy_groups",
        "operand_count",
        "partials",
        "python_runs",
        "rows",
        "scratch",
        "unsure",
        "views",
        "was_slow",
        "work",
    )

    def __init__(self, log: Log, planner: Planner) -> None:
        report = planner.cursor.tolist()
        rows, n_groups, instructions = report[C_ROWS], report[C_GROUPS], report[C_INSTRUCTIONS]
        self.rows, self.n_groups = rows, n_groups
        self.done, self.python_runs = -1, 0
        self.unsure = self.was_slow = False
        self.fused: Plan | None = None
        self.keep_alive: list[Any] = [*planner.parameters]
        self.low = report[C_LOW]
        self.operand_count = log.extra_n
        self.arena, self.scratch = report[C_ARENA], report[C_SCRATCH]
        self.partials, self.body, self.work = report[C_PARTIALS], report[C_BODY], report[C_WORK]
        specs, spec_of = SPECS.specs, log.spec
        self.buffers = [
            (row, specs[spec_of[row]]) for row in planner.alloc[: report[C_ALLOC]].tolist()
        ]
        aliases = planner.aliases[: report[C_ALIASES]].tolist()
        self.aliases = [(row, int(planner.canon[row])) for row in aliases]
        groups, program = planner.groups[:n_groups], planner.program[:instructions]
        self.arrays: dict[str, Array] = {
            "order": planner.order[:rows],
            "storage": planner.storage[:rows],
            "offset": planner.offset[:rows],
            "groups": groups,
            "program": program,
        }
        self._assign_kernels(log)
        self._update_addresses()

    def _assign_kernels(self, log: Log) -> None:
        """Assign kernels, or NumPy, to the groups that are not lane groups."""
        specs, spec_of, arrays = SPECS.specs, log.spec, self.arrays
        groups, program = arrays["groups"], arrays["program"]
        self.numpy_groups: dict[int, tuple[int, list[int]]] = {}
        self.kernel_first: set[int] = set()
        self.views: list[tuple[int, int, Spec, bool]] = []
        for g in np.flatnonzero(groups[:, G_KIND] >= WHOLE).tolist():
            kind, begin, _, code, end, *_ = groups[g].tolist()
            row = int(arrays["order"][begin])
            inputs = program[code:end, 1].tolist()
            spec = specs[spec_of[row]]
            if kind == SHARED:
                if not spec.single:
                    is_kept = bool(arrays["storage"][begin] == KEPT)
                    self.views.append((row, inputs[0], spec, is_kept))
                continue
            call, unit_blocks = None, 0
            op_code = log.code[row]
            if inputs:
                call = call_of(CODES[op_code], spec, [specs[spec_of[x]] for x in inputs])
            if call is None or call.unsure:
                self.numpy_groups[g] = row, inputs
            if call is None:
                self.work += spec.size
            else:
                program[code, 0], groups[g, G_PARAMETERS] = call.kernel, call.address
                groups[g, G_WIDTH], groups[g, G_SIZE] = call.units, call.work
                self.unsure |= call.unsure
                self.was_slow |= call.unsure
                self.kernel_first |= {g} if call.unsure else set()
                if groups[g, G_STRIDE] and call.units > 1 and not call.unsure:
                    groups[g, G_STRIDE] = MANY_UNITS
                self.keep_alive.append(call.parameters)
                if groups[g, G_BLOCKS] and call.units > 1 and not call.unsure:
                    blocks, remainder = divmod(call.part, int(groups[g + 1, G_WIDTH]))
                    remainder += blocks % max(int(groups[g + 1, G_PARAMETERS]), 1)
                    unit_blocks = 0 if remainder else blocks
                self.work += call.work
            groups[g, G_BLOCKS] = unit_blocks  # how many blocks each unit completes

    def _update_addresses(self) -> None:
        self.addresses = [(f"plan.{name}", x, address_of(x)) for name, x in self.arrays.items()]

    def copy_arrays(self) -> None:
        """Copy the arrays, which belong to the planner, because the plan will run again."""
        self.done = 0
        self.arrays = {name: array.copy() for name, array in self.arrays.items()}
        self._update_addresses()

    def with_program(self, groups: Array, program: Array, scratch: int, body: int) -> Plan:
        """A copy of the plan with other instructions."""
        plan = copy.copy(self)
        plan.arrays = self.arrays | {"groups": groups, "program": program}
        plan.scratch, plan.body = scratch, body
        loops = np.flatnonzero(program[:, 0] == FUSED)
        program[loops, 4] = address_of(program) + program.itemsize * STEP * (loops + 1)
        plan.done = -1
        plan._update_addresses()
        return plan

    def store_structure(self, count: int, structure: dict[str, Array]) -> None:
        """Store the structure of the log, for `recall`."""
        self.copy_arrays()
        self.compared = pack_arguments(
            "recall",
            low=self.low,
            count=count,
            columns=structure["columns"],
            flags=structure["flags"],
            operands=structure["operands"],
            operand_count=self.operand_count,
            order=self.arrays["order"],
            planned=self.rows,
        )


class Planner:
    """Arrays and control blocks of the passes, for one log at one capacity, and its plans.

    Attributes:
      lanes: The table of lane kernels.
      max_small_size: The largest size of a row that is computed together with other small rows.
      follow: Whether lane groups directly follow the groups that they read; see
        kernels/passes/schedule.py.
      max_row: The largest number of elements of a row that is reduced in a lane group, or 0.
      plan_type: The class of plans.
      parameters: Objects that calls in the newest plan refer to by address.
    """

    lanes = LANES
    max_small_size = SMALL_ROW_SIZE
    follow = True
    max_row = MAX_ROW
    plan_type: type[Plan] = Plan

    def __init__(self, log: Log) -> None:
        n = log.columns.capacity
        self.capacity = n
        self.extra = log.extra
        # Fields that the plan reports, and fields that it needs only while it runs.
        self.canon, self.order, self.alloc, self.aliases = np.empty((4, n), np.int32)
        by_row = (
            "phase",
            "group",
            "last",
            "root",
            "slot",
            "until",
            "call",
            "stamp",
            "rows",
            "escape",
        )
        scratch = dict(zip(by_row, np.empty((len(by_row), n), np.int32), strict=True))
        scratch["operands"] = np.empty(3 * n, np.int32)
        scratch["many"] = np.empty(log.extra.size, np.int32)
        scratch["kernel"] = np.empty(n, np.int64)
        scratch["tables"] = np.empty(8 * n + 64, np.int32)
        scratch["free_places"] = np.empty(16, np.int32)
        scratch["mark"] = np.zeros(n, np.uint8)
        self.want = np.zeros(n, np.uint8)
        self.storage = np.empty(n, np.uint8)
        self.offset = np.empty(n, np.int64)
        self.groups = np.empty((n, GROUP), np.int64)
        self.program = np.empty((4 * n + log.extra.size, STEP), np.int64)
        self.cursor = np.zeros(16, np.int64)
        self.want_view = view(self.want)
        self.columns = log.columns
        self.recall: Block | None = None  # made when a plan is first cached
        self.plan = Block("plan")
        self.plan.bind(want=self.want, cursor=self.cursor)
        self.plan.take("log", self.columns, extra=self.extra)
        self.plan.take("codes", CODES)
        self.plan.take("specs", SPECS)
        self.plan.take("lanes", self.lanes)
        self.plan.take("calls", CALLS)
        self.plan.take("work", self, **scratch)
        self.plan.take("out", self)
        self.parameters = CALLS.referenced_arrays()
        self.plans: StructureCache[Plan] = StructureCache()  # by the range of requested rows

    def clear_wants(self, rows: int) -> None:
        """Clear the flags of rows after the log was rewound."""
        self.want[:rows] = 0

    def add_lane_kernel(self, log: Log, row: int) -> None:
        """Enter the lane kernel that a row needs in the table."""
        op, _ = CODES.entries[log.code[row]]
        (reduction_kernel if op.kind == REDUCTION else lane_kernel)(log, row)

    def add_call_kernel(self, log: Log, row: int) -> bool:
        """Enter the whole-array kernel of a small row in the table. False if the table is full."""
        code, specs = CODES[log.code[row]], SPECS.specs
        arity = CODES.entries[code.id][0].arity
        columns = (log.a, log.b, log.c)[:arity] if arity != VARIADIC else ()
        numbers = [log.spec[row], *(log.spec[column[row]] for column in columns)]
        if arity == VARIADIC:
            start = log.a[row]
            rows = log.extra[start : start + log.b[row]].tolist()
            operands = [specs[log.spec[x]] for x in rows]
        else:
            operands = [specs[x] for x in numbers[1:]]
        call = call_of(code, specs[numbers[0]], operands)
        if call is None or call.unsure:  # it has a separate group
            return CALLS.add(code.id, numbers, 0, None, 0, 0)
        return CALLS.add(code.id, numbers, call.kernel, call.parameters, call.address, call.units)

    def plan_for(
        self, log: Log, required: list[int], optional: list[int], retain: bool
    ) -> Plan | None:
        """The plan that computes the required rows; None if they have values already."""
        want = self.want_view
        key = min(required), max(required), retain
        try:
            for row in optional:
                want[row] = OPTIONAL
            for row in required:
                want[row] = WANTED
            return self._recall(log, key) or self._make_plan(log, key)
        finally:
            for row in required:
                want[row] = 0

    def _recall(self, log: Log, key: tuple[int, int, bool]) -> Plan | None:
        candidates = self.plans.entries_of(key)
        if not candidates:
            return None
        recall = self.recall
        if recall is None:
            try:
                recall = Block("recall")
            except LoadInProgress:  # a repetition must not fail where its first evaluation did not
                return None
            recall.bind(want=self.want)
            recall.take("log", self.columns, extra=self.extra)
            self.recall = recall
        for plan in candidates:
            recall.give(plan.compared)
            if recall.call():
                return plan.fused or plan
        return None

    def _make_plan(self, log: Log, key: tuple[int, int, bool]) -> Plan | None:
        bottom, top, retain = key
        want = self.want[: top + 1].copy()  # the plan clears it
        block, slots = self.plan, self.plan.slots
        max_small_size = self.max_small_size
        while True:
            block.set[slots["asked.bottom"]] = bottom
            block.set[slots["asked.top"]] = top
            block.set[slots["asked.retain"]] = retain
            block.set[slots["asked.max_block"]] = MAX_BLOCK
            block.set[slots["asked.max_small_size"]] = max_small_size
            block.set[slots["asked.follow"]] = self.follow
            block.set[slots["asked.max_row"]] = self.max_row
            self.parameters = CALLS.referenced_arrays()
            status = block.call()
            # If the table was cleared meanwhile, its arrays may be freed.
            if CALLS.referenced_arrays()[1] is not self.parameters[1]:
                self.want[: top + 1] = want
                continue
            if status == NO_KERNEL:
                self.add_lane_kernel(log, int(self.cursor[C_ROW]))
            elif status != NO_CALL:
                break
            elif not self.add_call_kernel(log, int(self.cursor[C_ROW])):
                CALLS.clear()
                max_small_size = 1
        if not self.cursor[C_GROUPS]:
            return None
        plan = self.plan_type(log, self)
        generation_number = generation.number
        rows = slice(plan.low, top + 1)
        count = top + 1 - plan.low
        if not self.plans.fits(count):
            return plan
        structure = {
            "columns": columns_of(log, rows.start, rows.stop),
            "flags": np.concatenate([log.columns.state[rows], want[rows]]),
            "operands": operands_of(log),
        }
        if self.plans.comes_again(key, *structure.values()):
            plan.store_structure(count, structure)
            self.plans.keep(key, count, plan, generation_number)
        return plan


def finish(log: Log, plan: Plan) -> None:
    """Give views and equal rows the values of their originals."""
    columns = log.columns
    state, buffers = columns.state_view, log.buffers
    views: dict[int, Array] = {}
    for row, original, spec, is_kept in plan.views:
        buffer = buffers.get(original) if state[original] == VALUE else views.get(original)
        if buffer is None:  # a view of a temporary
            continue
        views[row] = buffer.reshape(spec.shape)
        if is_kept:
            log.put(row, views[row], spec)
            state[row] = VALUE
    cell = columns.cell_view
    for row, original in plan.aliases:
        if state[original] == VALUE:
            cell[row] = cell[original]
            if original in buffers:
                buffers[row] = buffers[original]
            state[row] = VALUE


def places(plan: Plan | None, required: list[int]) -> dict[int, int]:
    """For each required row, the row whose cell or buffer receives its value."""
    if plan is None:
        return {row: row for row in required}
    equal = dict(plan.aliases)
    views = {row: original for row, original, *_ in plan.views}
    place_of = {}
    for row in required:
        source = equal.get(row, row)
        while source in views:
            source = views[source]
        place_of[row] = source
    return place_of
