"""Runs plans on the CPU: memory, threads, and which thread computes which group."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from time import perf_counter_ns
from typing import Any

import numpy as np

from ...kernels.constants import CHUNKS_PER_THREAD
from ...kernels.passes.layout import TEMPORARY
from .. import settings
from ..compile.passes import Block
from ..log.log import Log
from ..log.op import CODES
from ..plan.plan import (
    G_BODY,
    G_CODE,
    G_CODE_END,
    G_KIND,
    G_PARAMETERS,
    G_ROWS,
    G_SIZE,
    G_STRIDE,
    G_WIDTH,
    LANES_GROUP,
    SHARED,
    SMALL,
    SMALL_ROW_SIZE,
    WHOLE,
    Plan,
)
from ..reference.bodies import apply
from ..values.memory import Array, address_of, aligned_buffer, array_at
from ..values.spec import SPECS
from . import fuse
from .buffers import POOL, Memory
from .workers import Team, heard, share, watch

# Elements from which an execution is long enough to release the GIL.
LONG_WORK = 200_000

# The same for machine code that also replaces the work of Python for each buffer: with many
# buffers, the steps in Python would hold the GIL for longer, at least 1 µs per buffer.
LONG_WORK_PER_BUFFER = 4_000

# Bytes of temporaries from which a long plan takes an arena that all plans share.
SHARED_ARENA_BYTES = 1 << 16

# The same in nanoseconds, for plans whose work is unknown.
LONG_TIME = 50_000

# Instructions times elements of a group that justify waking other threads: about 0.2 ms of work;
# waking takes 0.02 ms. Threads that are awake share smaller groups, see kernels/cpu/sweep.py.
LARGE = 1 << 21
NEVER = 1 << 62

# Total rows times elements after which a repeated plan gets fused loops: some 0.02 s of work.
HOT = 1 << 26

# Instructions times elements that take about 0.05 s. Larger plans run in stages, larger groups in
# other threads, so that this one receives interrupts; they compute it in pieces of a quarter of
# that. A unit of a kernel and a call to BLAS or NumPy are not divided.
WATCHED = 1 << 24
PIECE = WATCHED // 4
# Elements of an array that NumPy computes: a decomposition of so many takes long.
WATCHED_NUMPY_SIZE = 1 << 18


def _work_of(group: list[int]) -> int:
    """The approximate work of a group: elements times instructions."""
    kind = group[G_KIND]
    if kind == SHARED:
        return 0
    steps = 1 if kind == WHOLE else max(1, group[G_CODE_END] - group[G_BODY])
    work: int = steps * (SMALL_ROW_SIZE if kind == SMALL else group[G_SIZE])
    return work


def holds_gil_briefly(plan: Plan) -> bool:
    """Whether one call of machine code may prepare and execute the plan without Python."""
    limit = max(LONG_WORK, LONG_WORK_PER_BUFFER * len(plan.buffers))
    return bool(plan.work <= min(limit, WATCHED))


class Worker:
    """The memory of a thread that takes part in executions: slots and control blocks."""

    def __init__(self, log: Log, counter: Array) -> None:
        self.scratch = aligned_buffer(0)  # the memory and its address, replaced together
        self.places = np.empty(0, np.int64)
        self.columns, self.extra, self.counter = log.columns, log.extra, counter
        self.blocks: tuple[Block, Block] | None = None
        self.assisting: Block | None = None
        self.operands = np.empty(0, np.int64)  # addresses, for a kernel of any number of them
        self.begun = np.zeros(8, np.int64)  # whether it assists now; one cache line
        self.set_for: Any = None  # the plan

    def assist(self, plan: Plan, sweep: Block, team: int, hiring: int) -> Block:
        """The control block of `assist`, set up for a plan that ``sweep`` executes."""
        block = self.assisting
        if block is None:
            block = Block("assist")
            block.take("log", self.columns, extra=self.extra)
            block.take("specs", SPECS)
            block.set[block.slots["cells"]] = self.columns.address
            block.set[block.slots["memory.counter"]] = address_of(self.counter)
            block.point("begun", self.begun, address_of(self.begun))
            self.assisting = block
        self.fit(plan, block)
        for name, array, address in plan.addresses:
            block.point(name, array, address)
        for name in ("memory.partials", "memory.arena"):
            block.set[block.slots[name]] = sweep.set[sweep.slots[name]]
        block.set[block.slots["team"]], block.set[block.slots["hiring"]] = team, hiring
        self.begun[0] = 0
        return block

    def share(self) -> tuple[Block, Block]:
        """The control blocks of `run_lane_group` and `run_units`, created when first needed."""
        if self.blocks is None:
            lanes, units = Block("run_lane_group"), Block("run_units")
            lanes.take("log", self.columns, extra=self.extra)
            lanes.take("specs", SPECS)
            lanes.set[lanes.slots["cells"]] = self.columns.address
            lanes.set[lanes.slots["memory.counter"]] = address_of(self.counter)
            units.set[units.slots["counter"]] = address_of(self.counter)
            self.blocks = lanes, units
        return self.blocks

    def fit(self, plan: Plan, block: Block) -> None:
        """Allocate memory for a plan's slots."""
        if plan.scratch > self.scratch[0].size:
            self.scratch = aligned_buffer(plan.scratch)
        if 8 * plan.body > self.places.size:
            self.places = np.empty(16 * plan.body, np.int64)
        block.set[block.slots["memory.places"]] = address_of(self.places)
        block.set[block.slots["memory.scratch"]] = self.scratch[1]


class Sweeper:
    """The memory for executing plans of a log: control blocks, slots, temporaries.

    `run` calls `_run_until`: machine code computes the groups in order, in this thread or, with
    `_run_together`, in several. It stops before a group that needs Python, which `_run_group`
    computes. `_run_staged` runs a long plan with a call of `_run_until` for a few groups at a
    time; `run_timed` does so for each group.
    """

    def __init__(self, log: Log) -> None:
        self.sweep = Block("sweep")
        self.counter = np.zeros(8, np.int64)  # one cache line
        self.partials = aligned_buffer(0)  # like a worker's scratch
        # Temporaries of short plans, whose addresses machine code may hold.
        self.own_arena = aligned_buffer(0)
        self.arena = self.own_arena  # of the plan that runs
        self.workers = [Worker(log, self.counter)]  # the first one is the caller's
        columns = log.columns
        self.sweep.take("log", columns, extra=log.extra)
        self.sweep.take("specs", SPECS)
        self.sweep.set[self.sweep.slots["cells"]] = columns.address
        self.sweep.set[self.sweep.slots["memory.counter"]] = address_of(self.counter)
        self.team: Team | None = None  # made when a group is first shared
        self.running: list[Any] = []  # calls of other threads
        self.abandoned = False  # whether interrupted calls still use it
        self.plan_set: Plan | None = None  # the plan that the control block is set up for

    def run(self, log: Log, plan: Plan) -> None:
        """Run a plan whose buffers are allocated."""
        is_arena_shared = plan.arena >= SHARED_ARENA_BYTES and plan.work > LONG_WORK
        self._set_up(plan, POOL.take_arena(plan.arena) if is_arena_shared else None)
        if plan.work > WATCHED:
            self._run_staged(log, plan)
        else:
            self._run_until(log, plan, plan.n_groups)
        if is_arena_shared:
            self._return_arena()
        self._count_work(log, plan)

    def _return_arena(self) -> None:
        """Return a shared arena after an execution.

        After an error, other threads may still use the arena: this object keeps it until the next
        execution.
        """
        arena, self.arena = self.arena, self.own_arena
        POOL.return_arena(arena)

    def run_timed(self, log: Log, plan: Plan) -> list[int]:
        """As `run`, one group at a time. Returns the nanoseconds of each group."""
        times = [perf_counter_ns()]
        self._set_up(plan, POOL.take_arena(plan.arena))
        self._run_staged(log, plan, times)
        self._return_arena()
        self._count_work(log, plan)
        return [after - before for before, after in pairwise(times)]

    def _run_until(self, log: Log, plan: Plan, end: int) -> None:
        """Run groups up to ``end``, where the control block tells machine code to stop.

        Machine code also stops before a group that it leaves to `_run_group`, and before the first
        one that justifies waking other threads.
        """
        sweep, slots = self.sweep, self.sweep.slots
        call = sweep.call_without_gil if plan.work > LONG_WORK or plan.was_slow else sweep.call
        start_time = perf_counter_ns() if plan.unsure else 0
        groups = plan.arrays["groups"]
        while (g := call()) < end:
            sweep.set[slots["begin_group"]] = g
            runs_in_python = g in plan.numpy_groups or _work_of(groups[g].tolist()) >= WATCHED
            sweep.set[slots["computed"]] = int(runs_in_python)
            if runs_in_python:
                with np.errstate(all="ignore"):  # inf and NaN are values like others
                    self._run_group(log, plan, g)
            else:  # from here on, other threads share this and later large groups
                call = partial(self._run_together, log, plan)
        if plan.unsure:
            plan.was_slow = perf_counter_ns() - start_time > LONG_TIME

    def _run_together(self, log: Log, plan: Plan) -> int:
        """Run groups, sharing the large ones with other threads. Returns the group it stops at."""
        if self.team is None:
            self.team = Team()
        team, sweep, result = self.team, self.sweep, [0]
        _, *other_workers = self._workers_for_threads(log)
        hiring = team.hire(len(other_workers))
        sweep.set[sweep.slots["team"]] = team.address

        def lead() -> None:
            result[0] = sweep.call_without_gil()

        def end(worker: Worker) -> bool:
            """Make a thread leave the team. Returns whether no wait is needed: it has begun."""
            team.dismiss()
            return bool(worker.begun[0])

        blocks = [worker.assist(plan, sweep, team.address, hiring) for worker in other_workers]
        calls = [lead, *(block.call_without_gil for block in blocks)]
        ends = [partial(end, worker) for worker in other_workers]
        share(calls, self._kept_objects(log, plan), self.running, ends)
        return result[0]

    def _workers_for_threads(self, log: Log) -> list[Worker]:
        """A worker for each thread; the first one is the caller's."""
        threads = settings.threads()
        while len(self.workers) < threads:
            self.workers.append(Worker(log, self.counter))
        return self.workers[:threads]

    def _kept_objects(self, log: Log, plan: Plan) -> tuple[Any, ...]:
        """Objects that must stay alive while other threads compute."""
        # The copy is atomic: another thread may be recording meanwhile.
        return plan, self, *log.buffers.copy().values()

    def _run_staged(self, log: Log, plan: Plan, times: list[int] | None = None) -> None:
        """Run a plan in stages: interrupts are raised between them, and in long groups.

        With ``times``, each group is a stage, and its end time is appended.
        """
        put, slots = self.sweep.set, self.sweep.slots
        groups = plan.arrays["groups"]
        try:
            done = 0
            for g, work in enumerate(map(_work_of, groups.tolist())):
                done += work
                if times is None and done < WATCHED and g + 1 < plan.n_groups:
                    continue
                if work >= WATCHED and groups[g, G_KIND] == WHOLE and g not in plan.numpy_groups:
                    put[slots["n_groups"]] = g
                    self._run_until(log, plan, g)
                    self._set_temporary_cell(log, plan, g)
                    self._run_group(log, plan, g)
                    put[slots["begin_group"]], put[slots["computed"]] = g, 1
                put[slots["n_groups"]] = g + 1
                self._run_until(log, plan, g + 1)
                put[slots["begin_group"]], put[slots["computed"]] = g + 1, 0
                done = 0
                if times is not None:
                    times.append(perf_counter_ns())
        finally:
            self.plan_set = None  # the control block has another end now

    def _set_temporary_cell(self, log: Log, plan: Plan, g: int) -> None:
        """Set the cell of a temporary to its address, as machine code does for its own groups."""
        position = int(plan.arrays["groups"][g, G_ROWS])
        row = int(plan.arrays["order"][position])
        if plan.arrays["storage"][position] == TEMPORARY and SPECS.size[log.spec[row]] != 1:
            log.columns.cell_view[row] = self.arena[1] + int(plan.arrays["offset"][position])

    def _count_work(self, log: Log, plan: Plan) -> None:
        """Count the work of a plan; a hot plan gets fused loops."""
        if plan.done >= 0:
            plan.done += plan.work
            if plan.done > HOT:
                fuse.fuse_in_background(log, plan)

    def _set_up(self, plan: Plan, shared_arena: Memory | None = None) -> None:
        """Allocate memory for a plan, and set up the control block for it."""
        sweep = self.sweep
        slots, put = sweep.slots, sweep.set
        # Threads that an interrupted execution still uses are not available.
        put[slots["begin_group"]] = put[slots["computed"]] = put[slots["team"]] = 0
        if shared_arena is not None:
            self.arena = shared_arena
            put[slots["memory.arena"]] = shared_arena[1]
        if plan is self.plan_set:
            return
        self.plan_set = None  # until all is set: an interrupt may come
        if shared_arena is None:
            if plan.arena > self.own_arena[0].size:
                self.own_arena = aligned_buffer(plan.arena)
            self.arena = self.own_arena
            put[slots["memory.arena"]] = self.arena[1]
        if plan.partials > self.partials[0].size:
            self.partials = aligned_buffer(plan.partials)
        self.workers[0].fit(plan, sweep)
        put[slots["memory.partials"]] = self.partials[1]
        put[slots["n_groups"]] = plan.n_groups
        put[slots["large"]] = LARGE if settings.threads() > 1 else NEVER
        put[slots["watched"]] = WATCHED
        for name, array, address in plan.addresses:
            sweep.point(name, array, address)
        self.plan_set = plan

    def _run_group(self, log: Log, plan: Plan, g: int) -> None:
        """Compute a group at which machine code stopped: one for NumPy, or a long one."""
        numpy_row = plan.numpy_groups.get(g)
        if numpy_row is not None:
            row, inputs = numpy_row
            op, attributes = CODES.entries[log.columns.code_view[row]]
            out, operands = self.array(log, row), [self.array(log, x) for x in inputs]
            if out.size > 1 and max(x.size for x in (out, *operands)) >= WATCHED_NUMPY_SIZE:
                self._run_interruptible(plan, lambda: apply(op, out, operands, attributes))
            else:
                apply(op, out, operands, attributes)
            return
        groups = plan.arrays["groups"]
        workers = self._workers_for_threads(log)
        threads = len(workers)
        group = groups[g].tolist()
        self.counter[0] = 0
        if group[G_KIND] == LANES_GROUP:
            total = -(-group[G_SIZE] // group[G_WIDTH])
            prepare = self._prepare_lanes
        else:
            total = group[G_WIDTH]
            prepare = self._prepare_units
        work = _work_of(group)
        chunk = max(1, min(total // (CHUNKS_PER_THREAD * threads), PIECE * total // max(work, 1)))
        calls = [
            prepare(log, plan, worker, g, chunk) for worker in workers[: max(1, total // chunk)]
        ]
        # Lanes look up addresses of operands while they run, and read cells. Both may change after
        # an interrupt, when the log is rewound: only array groups may keep running.
        row = int(plan.arrays["order"][group[G_ROWS]])
        is_array_group = group[G_KIND] == WHOLE and SPECS.size[log.spec[row]] != 1
        abandon = self._abandon if is_array_group else None
        watch(calls, self._kept_objects(log, plan), self.running, self._stop, abandon)

    def _run_interruptible(self, plan: Plan, compute: Callable[[], None]) -> None:
        """Compute in another thread, while this one receives interrupts."""

        def work() -> None:
            with np.errstate(all="ignore"):
                compute()

        heard(work, (plan, self), self.running, self._stop, self._abandon)

    def _abandon(self) -> None:
        """Leave this object to the threads that still compute: the log gets a new one."""
        self.abandoned = True

    def _stop(self) -> None:
        """Make the threads of a group end soon, by moving the counter past the last block."""
        self.counter[0] = 1 << 62

    def _prepare_lanes(
        self, log: Log, plan: Plan, worker: Worker, g: int, chunk: int
    ) -> Callable[[], int]:
        """Set up the call with which a thread computes blocks of a lane group."""
        block, _ = worker.share()
        put, slots = block.set, block.slots
        # Another plan may have moved the slots of the first worker, which `run` uses as well.
        worker.fit(plan, block)
        if worker.set_for is not plan:
            worker.set_for = None  # until all is set
            for name, array, address in plan.addresses:
                block.point(name, array, address)
            worker.set_for = plan
        put[slots["g"]], put[slots["chunk"]] = g, chunk
        put[slots["memory.partials"]] = self.partials[1]
        return block.call_without_gil

    def _prepare_units(
        self, log: Log, plan: Plan, worker: Worker, g: int, chunk: int
    ) -> Callable[[], int]:
        """Set up the call with which a thread computes units of a whole-array kernel."""
        order, groups, program = (plan.arrays[name] for name in ("order", "groups", "program"))
        group = groups[g].tolist()
        code, end = group[G_CODE], group[G_CODE_END]
        rows = [int(order[group[G_ROWS]]), *program[code:end, 1].tolist()]
        cells, cell = log.columns.address, log.columns.cell_view
        sizes = SPECS.size
        _, block = worker.share()
        put, slots = block.set, block.slots
        places = [cells + 8 * row if sizes[log.spec[row]] == 1 else cell[row] for row in rows]
        if group[G_STRIDE]:  # a kernel of any number of operands
            worker.operands = np.array([*places[1:], 0], np.int64)
            places = [places[0], address_of(worker.operands)]
        for name, place in zip(("out", "x", "y", "z"), (places + places[-1:] * 3)[:4], strict=True):
            put[slots[name]] = place
        put[slots["function"]] = int(program[code, 0])
        put[slots["parameters"]] = group[G_PARAMETERS]
        put[slots["total"]], put[slots["chunk"]] = group[G_WIDTH], chunk
        return block.call_without_gil

    def array(self, log: Log, row: int) -> Array:
        """A row's memory: its cell, its buffer, or its part of the arena."""
        columns = log.columns
        spec = SPECS.specs[columns.spec_view[row]]
        dtype = spec.dtype.numpy_dtype
        if spec.single:
            return np.ndarray(spec.shape, dtype, columns.cell, 8 * row)
        if not spec.size:
            return np.empty(spec.shape, dtype)
        address = columns.cell_view[row]
        arena, start = self.arena
        if 0 <= address - start < arena.size:
            return np.ndarray(spec.shape, dtype, arena, address - start)
        buffer: Array | None = log.buffers.get(row)
        if buffer is not None:
            return buffer
        # A view of a kept buffer, which the log holds until the execution ends.
        return array_at(address, spec.shape, dtype)
