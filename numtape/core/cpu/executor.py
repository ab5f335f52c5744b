"""The CPU executor: plan, then sweep; jitted but for whole-array ops that have no kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from time import perf_counter_ns
from typing import Any

import numpy as np

from .. import settings
from ..compile.passes import Block, addresses
from ..executor import Direct
from ..log.log import Log
from ..log.op import CODES
from ..plan.plan import (
    FEW,
    G_BODY,
    G_CODE,
    G_CODE_END,
    G_KIND,
    G_PARAMETERS,
    G_ROWS,
    G_SIZE,
    G_WIDTH,
    LANES_GROUP,
    SHARED,
    SMALL,
    WHOLE,
    Plan,
    Planner,
    finish,
    places,
)
from ..reference.bodies import apply
from ..values.memory import LEAST, Array, address_of, aligned, array_at
from ..values.spec import SPECS, Spec
from . import fuse
from .buffers import POOL
from .draws import drawn
from .workers import heard, settle, share, watch

# Elements from which a sweep is long enough to let other Python threads run meanwhile.
LONG = 200_000

# Nanoseconds from which it is, where only the time tells.
LONG_TIME = 50_000

# Instructions times elements from which a group is worth sharing: about 0.2 ms of work, where
# starting another thread takes 0.02.
LARGE = 1 << 21

# Rows times elements from which a plan that comes again is compiled: some 0.02 s of work.
HOT = 1 << 26

# Such work takes about 0.05 s. What takes longer is computed in stages and by other threads, so
# that this one hears of interrupts; their pieces take a quarter of that. A kernel's unit, a call to
# BLAS or NumPy, is not divided.
WATCHED = 1 << 24
PIECE = WATCHED // 4
WATCHED_BY_HAND = 1 << 18  # elements of an array of NumPy's: a decomposition takes long by then

TEMPORARY = 1  # as in kernels/passes/layout.py: a row in the arena

CHUNKS = 8  # a thread takes blocks so many times, so that a slow one does not keep the rest


def works(groups: Array) -> list[int]:
    """About how many elements each group computes, those of each instruction."""
    steps = np.where(groups[:, G_KIND] == WHOLE, 1, groups[:, G_CODE_END] - groups[:, G_BODY])
    sizes = np.where(groups[:, G_KIND] == SMALL, FEW, groups[:, G_SIZE])
    found: list[int] = (np.maximum(steps, 1) * sizes * (groups[:, G_KIND] != SHARED)).tolist()
    return found


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
        self.left = False  # whether others go on with it, and nobody waits for them
        self.plan_set: Plan | None = None  # the one that the sweep is set up for

    def run(self, log: Log, plan: Plan) -> None:
        """Sweep a plan whose buffers are there."""
        self._fit(plan)
        if plan.work > WATCHED:
            self._staged(log, plan)
        else:
            self._until(log, plan, plan.found)
        self._count(log, plan)

    def timed(self, log: Log, plan: Plan) -> list[int]:
        """As `run`, one group at a time. Returns the nanoseconds that each one took."""
        times = [perf_counter_ns()]
        self._fit(plan)
        self._staged(log, plan, times)
        self._count(log, plan)
        return [after - before for before, after in pairwise(times)]

    def _until(self, log: Log, plan: Plan, end: int) -> None:
        """Sweep groups up to the one in front of which the sweep is set up to end."""
        sweep, slots = self.sweep, self.sweep.slots
        call = sweep.call_without_gil if plan.work > LONG or plan.long else sweep.call
        began = perf_counter_ns() if plan.unsure else 0
        while (g := call()) < end:
            with np.errstate(all="ignore"):  # inf and NaN are values like others
                self._group(log, plan, g)
            sweep.set[slots["begin_group"]] = g
            sweep.set[slots["computed"]] = 1
        if plan.unsure:
            plan.long = perf_counter_ns() - began > LONG_TIME

    def _staged(self, log: Log, plan: Plan, times: list[int] | None = None) -> None:
        """Sweep a plan in stages: an interrupt is heard between them, and in long groups.

        If ``times`` are wanted, each group is a stage.
        """
        put, slots = self.sweep.set, self.sweep.slots
        groups = plan.arrays["groups"]
        try:
            done = 0
            for g, work in enumerate(works(groups)):
                done += work
                if times is None and done < WATCHED and g + 1 < plan.found:
                    continue
                if work >= WATCHED and groups[g, G_KIND] == WHOLE and g not in plan.by_hand:
                    put[slots["found"]] = g
                    self._until(log, plan, g)
                    self._place(log, plan, g)
                    self._group(log, plan, g)
                    put[slots["begin_group"]], put[slots["computed"]] = g, 1
                put[slots["found"]] = g + 1
                self._until(log, plan, g + 1)
                put[slots["begin_group"]], put[slots["computed"]] = g + 1, 0
                done = 0
                if times is not None:
                    times.append(perf_counter_ns())
        finally:
            self.plan_set = None  # the sweep's end is another one

    def _place(self, log: Log, plan: Plan, g: int) -> None:
        """Say where the row of a group is, as the sweep does for what it computes itself."""
        at = int(plan.arrays["groups"][g, G_ROWS])
        row = int(plan.arrays["order"][at])
        if plan.arrays["kept"][at] == TEMPORARY and SPECS.size[log.spec[row]] != 1:
            log.columns.cell_view[row] = self.arena[1] + int(plan.arrays["offset"][at])

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
        put[slots["large"]] = LARGE if settings.threads() > 1 else WATCHED
        for name, array, address in plan.addresses:
            sweep.point(name, array, address)
        self.plan_set = plan

    def _group(self, log: Log, plan: Plan, g: int) -> None:
        """Compute a group that the sweep left to us."""
        found = plan.by_hand.get(g)
        if found is not None:
            row, inputs = found
            op, attributes = CODES.entries[log.columns.code_view[row]]
            out, operands = self.array(log, row), [self.array(log, x) for x in inputs]
            if out.size > 1 and max(x.size for x in (out, *operands)) >= WATCHED_BY_HAND:
                self._watched(plan, lambda: apply(op, out, operands, attributes))
            else:
                apply(op, out, operands, attributes)
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
        work = works(groups[g : g + 1])[0]
        chunk = max(1, min(total // (CHUNKS * threads), PIECE * total // max(work, 1)))
        calls = [
            prepare(log, plan, worker, g, chunk)
            for worker in self.workers[: max(1, min(threads, total // chunk))]
        ]
        # A copy is made in one step: another thread may be recording there.
        keeps = plan, self, *log.buffers.copy().values()
        if work < WATCHED:
            share(calls, keeps, self.running)
        else:
            # Lanes look up where operands are while they run, and the log may begin anew; so may
            # what is in its cells.
            row = int(plan.arrays["order"][group[G_ROWS]])
            alone = group[G_KIND] == WHOLE and SPECS.size[log.spec[row]] != 1
            watch(calls, keeps, self.running, self._stop, self._leave if alone else None)

    def _watched(self, plan: Plan, compute: Callable[[], None]) -> None:
        """Have another thread compute, while this one hears of interrupts."""

        def work() -> None:
            with np.errstate(all="ignore"):
                compute()

        heard(work, (plan, self), self.running, self._stop, self._leave)

    def _leave(self) -> None:
        """Leave all of this to those who still compute: the log gets another one."""
        self.left = True

    def _stop(self) -> None:
        """Have the threads that compute a group end: there is nothing left for them."""
        self.counter[0] = 1 << 62

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
        if work.sweeper.left:
            work.sweeper = Sweeper(log)
        if work.sweeper.running:
            settle(work.sweeper.running)
        plan = work.planned(log, wanted, welcome, retain)
        if plan is None:
            return
        if plan.buffers:
            cell, buffers = log.columns.cell_view, log.buffers
            for row, spec in plan.buffers:
                buffers[row] = buffer = POOL.empty(spec)
                cell[row] = address_of(buffer)
                log.bytes += buffer.nbytes
            if log.bytes > log.bytes_limit:
                log.limit = 0  # as `Log.put` does
        work.sweeper.run(log, plan)
        if plan.views or plan.aliases:
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

    def direct(self) -> Direct | None:
        """How machine code has it computed; None if Python has to do something for it."""
        plan = self.plan
        if plan is None:
            return Direct(0, 0, 0, 0, 0, None, ())
        plan = self.plan = plan.better or plan
        large = any(spec.size * spec.dtype.size >= LEAST for _, spec in plan.buffers)
        if large or plan.by_hand or plan.work > LONG:
            return None
        self.sweeper._fit(plan)
        block = self.sweeper.sweep
        begin, computed = (block.address + 8 * block.slots[x] for x in ("begin_group", "computed"))
        function = addresses("sweep")["sweep"]
        return Direct(function, block.address, begin, computed, plan.found, plan, plan.buffers)

    def late(self, row: int) -> bool:
        """Whether a single element is found elsewhere than in its cell."""
        return False

    def array(self, row: int) -> Array:
        """The value in a place, which is no cell."""
        return self.sweeper.array(self.log, row)
