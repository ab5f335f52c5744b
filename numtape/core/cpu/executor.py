"""The CPU executor: plan, then sweep; jitted but for whole-array ops that have no kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from .. import settings
from ..compile.passes import Block
from ..log.log import Log
from ..log.op import CODES
from ..plan.plan import (
    G_CODE,
    G_CODE_END,
    G_KIND,
    G_PARAMETERS,
    G_ROWS,
    G_SIZE,
    G_WIDTH,
    LANES_GROUP,
    Plan,
    Planner,
    finish,
    places,
)
from ..reference.bodies import apply
from ..values.memory import Array, address_of, aligned, array_at
from ..values.spec import SPECS, Spec
from . import fuse
from .buffers import POOL
from .draws import drawn
from .workers import settle, share

# Elements from which a sweep is long enough to let other Python threads run meanwhile.
LONG = 200_000

# Instructions times elements from which a group is worth sharing: about 0.2 ms of work, where
# starting another thread takes 0.02.
LARGE = 1 << 21

# Rows times elements from which a plan that comes again is compiled: some 0.02 s of work.
HOT = 1 << 26

CHUNKS = 8  # a thread takes blocks so many times, so that a slow one does not keep the rest


class Worker:
    """What one thread needs to take part in a log's sweeps: slots, control blocks."""

    def __init__(self, log: Log, counter: Array) -> None:
        self.scratch = aligned(0)  # the memory and its address, which change in one step
        self.places = np.empty(0, np.int64)
        self.columns, self.extra, self.counter = log.columns, log.extra, counter
        self.blocks: tuple[Block, Block] | None = None
        self.set_for: Any = None  # the plan

    def shared(self) -> tuple[Block, Block]:
        """The control blocks of `lanes` and `units`, made when a group is first shared."""
        if self.blocks is None:
            lanes, units = Block("lanes"), Block("units")
            lanes.take("log", self.columns, extra=self.extra)
            lanes.take("specs", SPECS)
            lanes.set[lanes.slots["cells"]] = self.columns.address
            lanes.set[lanes.slots["room.counter"]] = address_of(self.counter)
            units.set[units.slots["counter"]] = address_of(self.counter)
            self.blocks = lanes, units
        return self.blocks

    def fit(self, plan: Plan, block: Block) -> None:
        """Make room for a plan's slots."""
        if plan.scratch > self.scratch[0].size:
            self.scratch = aligned(plan.scratch)
        if 8 * plan.body > self.places.size:
            self.places = np.empty(16 * plan.body, np.int64)
        block.set[block.slots["room.places"]] = address_of(self.places)
        block.set[block.slots["room.scratch"]] = self.scratch[1]


class Sweeper:
    """What it takes to sweep plans of one log: control blocks, slots, memory for temporaries."""

    def __init__(self, log: Log) -> None:
        self.sweep = Block("sweep")
        self.counter = np.zeros(8, np.int64)  # a cache line of its own
        self.partials, self.arena = aligned(0), aligned(0)  # as a worker's scratch
        self.workers = [Worker(log, self.counter)]  # the first one is the caller
        columns = log.columns
        self.sweep.take("log", columns, extra=log.extra)
        self.sweep.take("specs", SPECS)
        self.sweep.set[self.sweep.slots["cells"]] = columns.address
        self.sweep.set[self.sweep.slots["room.counter"]] = address_of(self.counter)
        self.running: list[Any] = []  # calls of other threads
        self.plan_set: Plan | None = None  # the one that the sweep is set up for

    def run(self, log: Log, plan: Plan) -> None:
        """Sweep a plan whose buffers are there."""
        self._fit(plan)
        sweep, slots = self.sweep, self.sweep.slots
        call = sweep.call_without_gil if plan.work > LONG else sweep.call
        while (g := call()) < plan.found:
            with np.errstate(all="ignore"):  # inf and NaN are values like others
                self._group(log, plan, g)
            sweep.set[slots["begin_group"]] = g
            sweep.set[slots["computed"]] = 1
        self._count(log, plan)

    def timed(self, log: Log, plan: Plan) -> list[int]:
        """As `run`, one group at a time. Returns the nanoseconds that each one took."""
        found = []
        try:
            self._fit(plan)
            sweep, slots = self.sweep, self.sweep.slots
            put = sweep.set
            call = sweep.call_without_gil if plan.work > LONG else sweep.call
            for g in range(plan.found):
                put[slots["begin_group"]], put[slots["found"]] = g, g + 1
                put[slots["computed"]] = 0
                start = perf_counter_ns()
                while call() == g:
                    with np.errstate(all="ignore"):
                        self._group(log, plan, g)
                    put[slots["computed"]] = 1
                found.append(perf_counter_ns() - start)
        finally:
            self.plan_set = None  # its end is another one
        self._count(log, plan)
        return found

    def _count(self, log: Log, plan: Plan) -> None:
        """Count what was computed: what comes again and again is compiled."""
        if plan.done >= 0:
            plan.done += plan.work
            if plan.done > HOT:
                fuse.later(log, plan)

    def _fit(self, plan: Plan) -> None:
        """Make room for a plan, and set up the sweep for it."""
        sweep = self.sweep
        slots, put = sweep.slots, sweep.set
        put[slots["begin_group"]] = put[slots["computed"]] = 0
        if plan is self.plan_set:
            return
        self.plan_set = None  # until all is set: an interrupt may come
        if plan.arena > self.arena[0].size:
            self.arena = aligned(plan.arena)
        if plan.partials > self.partials[0].size:
            self.partials = aligned(plan.partials)
        self.workers[0].fit(plan, sweep)
        put[slots["room.arena"]] = self.arena[1]
        put[slots["room.partials"]] = self.partials[1]
        put[slots["found"]] = plan.found
        put[slots["large"]] = LARGE if settings.threads() > 1 else 1 << 62
        for name, array, address in plan.addresses:
            sweep.point(name, array, address)
        self.plan_set = plan

    def _group(self, log: Log, plan: Plan, g: int) -> None:
        """Compute a group that the sweep left to us."""
        found = plan.by_hand.get(g)
        if found is not None:
            row, inputs = found
            op, attributes = CODES.entries[log.columns.code_view[row]]
            out = self.array(log, row)
            apply(op, out, [self.array(log, x) for x in inputs], attributes)
            return
        groups = plan.arrays["groups"]
        threads = settings.threads()
        while len(self.workers) < threads:
            self.workers.append(Worker(log, self.counter))
        group = groups[g].tolist()
        self.counter[0] = 0
        if group[G_KIND] == LANES_GROUP:
            total = -(-group[G_SIZE] // group[G_WIDTH])
            prepare = self._lanes
        else:
            total = group[G_WIDTH]
            prepare = self._units
        chunk = max(1, total // (CHUNKS * threads))
        calls = [
            prepare(log, plan, worker, g, chunk)
            for worker in self.workers[: max(1, min(threads, total // chunk))]
        ]
        # A copy is made in one step: another thread may be recording there.
        share(calls, (plan, self, *log.buffers.copy().values()), self.running)

    def _lanes(
        self, log: Log, plan: Plan, worker: Worker, g: int, chunk: int
    ) -> Callable[[], int]:
        """A thread's part of a lane group."""
        block, _ = worker.shared()
        put, slots = block.set, block.slots
        # Another plan may have moved the first worker's slots, which the sweep uses as well.
        worker.fit(plan, block)
        if worker.set_for is not plan:
            worker.set_for = None  # until all is set
            for name, array, address in plan.addresses:
                block.point(name, array, address)
            worker.set_for = plan
        put[slots["g"]], put[slots["chunk"]] = g, chunk
        put[slots["room.partials"]] = self.partials[1]
        return block.call_without_gil

    def _units(
        self, log: Log, plan: Plan, worker: Worker, g: int, chunk: int
    ) -> Callable[[], int]:
        """A thread's part of a whole-array kernel."""
        order, groups, program = (plan.arrays[name] for name in ("order", "groups", "program"))
        group = groups[g].tolist()
        code, end = group[G_CODE], group[G_CODE_END]
        rows = [int(order[group[G_ROWS]]), *program[code:end, 1].tolist()]
        cells, cell = log.columns.address, log.columns.cell_view
        sizes = SPECS.size
        _, block = worker.shared()
        put, slots = block.set, block.slots
        for name, row in zip(("out", "x", "y", "z"), (rows + rows[-1:] * 3)[:4], strict=True):
            put[slots[name]] = cells + 8 * row if sizes[log.spec[row]] == 1 else cell[row]
        put[slots["function"]] = int(program[code, 0])
        put[slots["parameters"]] = group[G_PARAMETERS]
        put[slots["total"]], put[slots["chunk"]] = group[G_WIDTH], chunk
        return block.call_without_gil

    def array(self, log: Log, row: int) -> Array:
        """A row's memory: its cell, its buffer, its place in the arena."""
        columns = log.columns
        spec = SPECS.specs[columns.spec_view[row]]
        dtype = spec.dtype.numpy_dtype
        if spec.single:
            return np.ndarray(spec.shape, dtype, columns.cell, 8 * row)
        if not spec.size:
            return np.empty(spec.shape, dtype)
        at = columns.cell_view[row]
        arena, start = self.arena
        if 0 <= at - start < arena.size:
            return np.ndarray(spec.shape, dtype, arena, at - start)
        buffer: Array | None = log.buffers.get(row)
        if buffer is not None:
            return buffer
        # A view of a kept buffer, which the log holds until the sweep is over.
        return array_at(at, spec.shape, dtype)


class Workspace(Planner):
    """What it takes to compute one log's values."""

    def __init__(self, log: Log) -> None:
        self.sweeper = Sweeper(log)  # first: the plan may be compiling in another process
        super().__init__(log)


class Executor:
    """Plans what a look needs and sweeps it."""

    def compute(self, log: Log, wanted: list[int], welcome: list[int], retain: bool) -> None:
        """Give the wanted rows their values; with ``retain``, keep what is expensive."""
        work: Workspace | None = log.workspace
        capacity = log.columns.capacity
        if settings.moved:
            log.fetch()
        if type(work) is not Workspace or work.capacity != capacity or work.extra is not log.extra:
            before, work = work, Workspace(log)
            if before is not None:  # which rows are welcome
                work.want[: before.want.size] = before.want
            log.workspace = work
        settle(work.sweeper.running)
        plan = work.planned(log, wanted, welcome, retain)
        if plan is None:
            return
        for row, spec in plan.buffers:
            log.put(row, POOL.empty(spec), spec)
        work.sweeper.run(log, plan)
        finish(log, plan)
        POOL.swept()

    def program(
        self, log: Log, wanted: list[int], compiled: bool = False, looked: bool = True,
        checks: Sequence[tuple[int, str]] = (),
    ) -> Program:  # fmt: skip
        """What computes the wanted rows again and again; ``compiled`` now, or when it is hot."""
        plan = Planner(log).planned(log, wanted, [], False) if wanted else None
        if plan is not None:
            plan.own()
            if compiled:
                plan = fuse.fused(log, plan)
        return Program(log, wanted, plan)

    def draw(self, name: str, key: list[int], spec: Spec) -> Array:
        """Random floats, ``uniform`` or ``normal``, from the two words of a key of Philox."""
        return drawn(name, key, spec)

    def fill(self, value: int, spec: Spec) -> Array:
        """An array that has one value everywhere."""
        return np.full(spec.shape, value, spec.dtype.numpy_dtype)


class Program:
    """A plan that is swept again and again, each time with other values in the leaves.

    Attributes:
      log: Its rows; leaves have values, which the caller changes.
      place: For each wanted row, the row in whose cell or buffer its value is: its own, that of
        an equal row, or that of another shape.
      feed: None: who feeds a leaf writes its cell.
    """

    feed = None
    deferred = unsure = False

    def __init__(self, log: Log, wanted: list[int], plan: Plan | None) -> None:
        self.log, self.plan = log, plan
        if settings.moved:
            log.fetch()
        self.cell = log.columns.cell_view
        self.sweeper = Sweeper(log)
        self.place = places(plan, wanted)

    def another(self, log: Log) -> Program:
        """The same program for a copy of its log."""
        return Program(log, list(self.place), self.plan)

    def run(self) -> None:
        """Compute the wanted rows, in buffers of their own."""
        plan, log = self.plan, self.log
        if plan is None:
            return
        if plan.better is not None:
            plan = self.plan = plan.better
        if plan.buffers:
            cell, buffers = self.cell, log.buffers
            for row, spec in plan.buffers:
                buffers[row] = buffer = POOL.empty(spec)
                cell[row] = address_of(buffer)
            POOL.swept()
        self.sweeper.run(log, plan)

    def late(self, row: int) -> bool:
        """Whether a single element is found elsewhere than in its cell."""
        return False

    def array(self, row: int) -> Array:
        """The value in a place, which is no cell."""
        return self.sweeper.array(self.log, row)
