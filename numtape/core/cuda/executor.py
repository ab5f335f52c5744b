"""The CUDA executor: plans as on the CPU, each group of elementwise rows one kernel.

What crosses from one group to another lies on the GPU: large values in their own buffers or in
a plan's arena, single elements in a block of cells that is copied there before a plan runs, with
the leaves, and back after it. Nothing else waits for the GPU but a look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import ResourceExhaustedError
from ..log.log import VALUE, Log
from ..log.op import CODES
from ..plan.plan import finish, places
from ..reference import executor as reference
from ..values.intern_table import WeakRefs
from ..values.memory import Array
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .device_errors import DEVICE_CHECKS
from .graph_capture import BufferPool, Graphs, Steady
from .launches import chain_launches, draw_values, full, launch_plan
from .plan import GpuPlan, GpuPlanner, Place
from .runtime.device import device, empty, reclaim, resident
from .runtime.device_array import DeviceArray
from .runtime.transfer import SMALL


class Runner:
    """What it takes to run plans of one log: an arena, and cells."""

    def __init__(self) -> None:
        self.arena: Any = None
        self.cells: Any = None
        self._plan: GpuPlan | None = None  # the one whose places `_at` are
        self._at: list[int] = []
        self._fed = b""  # what the cells of leaves hold
        self.running = False
        _RUNNERS.add(self)

    def give_up(self) -> None:
        """Free the arena, if it is not in use; what was launched has it until then."""
        if not self.running:
            self._plan = self.arena = None

    def run(self, log: Log, plan: GpuPlan) -> None:
        """Launch everything. Values of one element are in the log's cells afterwards."""
        with self.used():
            launch_plan(device(), plan, self.ready(log, plan))
            self.fetch(log, plan)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Keep the arena, and the GPU's context."""
        self.running = True
        try:
            with device().enter_context():
                yield
        finally:
            self.running = False

    def ready(self, log: Log, plan: GpuPlan) -> list[int]:
        """Make room, and bring what a plan reads: the addresses of its places."""
        if plan is not self._plan:
            self._fit(plan)
        _bring(log, plan)
        columns = log.columns
        fed = columns.cell[plan.cells[: plan.fed]]
        raw = fed.tobytes()
        if raw != self._fed:  # they are often constants
            self._fed = b""
            device().upload(fed, self.cells.address)
            self._fed = raw
        cell, at = columns.cell_view, self._at
        for number, row in plan.rows_at:
            at[number] = cell[row]
        return at

    def _fit(self, plan: GpuPlan) -> None:
        """Make room for a plan."""
        self._plan, self._fed = None, b""  # until all is there
        if self.arena is None or self.arena.size < plan.arena:
            self.arena = None  # before the larger one is asked for
            self.arena = empty(plan.arena)
        if self.cells is None or self.cells.size < 8 * plan.cells.size:
            self.cells = empty(8 * plan.cells.size)
        bases = {"cell": self.cells.address, "arena": self.arena.address, "row": 0}
        if any(place.kind == "word" for place in plan.places):
            bases["word"] = DEVICE_CHECKS.address
        self._at = [bases[place.kind] + place.at for place in plan.places]
        self._plan = plan

    def fetch(self, log: Log, plan: GpuPlan) -> None:
        """Copy what was computed of one element to the log's cells; waits for it."""
        single = plan.cells[plan.fed :]
        if single.size:
            values = np.empty(single.size, np.int64)
            device().download(self.cells.address + 8 * plan.fed, values)
            log.columns.cell[single] = (values.view(np.uint64) & plan.masks).view(np.int64)


def _bring(log: Log, plan: GpuPlan) -> None:
    """Have large leaves on the GPU."""
    for row in plan.leaves:
        buffer = log.buffers.get(row)
        if type(buffer) is np.ndarray:
            on_device = resident(buffer)
            address = on_device.address
            # whole: nothing runs in between, see core.values.interning
            log.columns.cell_view[row] = address
            log.buffers[row] = on_device
            # done


def _allocate(log: Log, plan: GpuPlan) -> None:
    """Give rows that keep their values their own buffers."""
    for row, spec in plan.buffers:
        memory = empty(spec.size * spec.dtype.size)
        log.put(row, _device_array(memory, memory.address, spec), spec)


def _largest(log: Log, plan: GpuPlan) -> str:
    """What a plan needs most of its memory for."""
    largest = sorted(plan.buffers, key=lambda item: -item[1].size * item[1].dtype.size)[:3]
    names = [
        f"{CODES.entries[log.code[row]][0].name} of shape {tuple(spec.shape)} ({spec.dtype.name})"
        for row, spec in largest
    ]
    largest_text = f"the largest values to be kept: {', '.join(names)}; " if names else ""
    return f"Of what was asked for, {largest_text}temporaries: {plan.arena / 2**20:.1f} MiB."


class Workspace(GpuPlanner):
    """What it takes to compute one log's values."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.runner = Runner()


class Program:
    """A plan that is run again and again; see `core.cpu.executor.Program`.

    What it computes lies in memory that it lends: so the same addresses repeat, and launches
    with the same addresses are kept as a graph, which the GPU takes in one go. What has ever other
    addresses is copied to one that stays, or from there. Unless its single elements are looked at
    after every run, nothing waits for the GPU.
    """

    def __init__(
        self, log: Log, required: list[int], plan: GpuPlan | None, looked: bool, deferred: bool
    ) -> None:
        self.log, self.plan, self.looked, self.deferred = log, plan, looked, deferred
        self.unsure = False
        self.cell = log.columns.cell_view
        self.runner = Runner()
        self.place = places(plan, required)
        self._graphs = Graphs()
        cells = plan.cells.tolist() if plan is not None else []
        fed = plan.fed if plan is not None else 0
        self._leaf = {row: k for k, row in enumerate(cells[:fed])}
        stored_at = set(self.place.values())
        self._single = {row: k for k, row in enumerate(cells[fed:]) if row in stored_at}
        # The numbers of places in cells, and which cells: those of leaves, and the others.
        numbered = plan.cell_numbers() if plan is not None else {}
        self._leaf_place = {row: numbered[k] for row, k in self._leaf.items() if k in numbered}
        self._single_places = [(n, 8 * (k - fed)) for k, n in numbered.items() if k >= fed]
        # By row, and by -1 of what is for cells.
        self._lenders: defaultdict[int, BufferPool] = defaultdict(BufferPool)
        self._steady = Steady(plan is not None and Graphs.worth(plan))
        # What leaves are, until they are launched: arrays, and single elements that only the GPU
        # knows.
        self._inputs: list[tuple[int, DeviceArray | Array]] = []
        self._late: list[tuple[int, DeviceArray]] = []
        _PROGRAMS.add(self)
        if plan is not None:
            _bring(log, plan)

    def another(self, log: Log) -> Program:
        """The same program for a copy of its log."""
        return Program(log, list(self.place), self.plan, self.looked, self.deferred)

    def feed(self, row: int, tensor: Tensor) -> None:
        """Give a leaf its value."""
        value = tensor._home
        if type(value) is not DeviceArray:
            value = tensor._stored_value()
        if not tensor._spec.single:
            self._inputs.append((row, value))
        elif type(value) is DeviceArray and not value.is_known and not self.looked:
            if row in self._leaf:
                self._late.append((row, value))
        else:
            self.log.put(row, value, tensor._spec)

    def direct(self) -> None:
        """Python has the rows computed."""

    def late(self, row: int) -> bool:
        """Whether a single element is found elsewhere than in its cell."""
        return not self.looked and row in self._single

    def run(self) -> None:
        """Compute the wanted rows, in their own buffers."""
        plan, log = self.plan, self.log
        inputs, self._inputs = self._inputs, []
        late, self._late = self._late, []
        if plan is None:
            return
        try:
            with self.runner.used():
                self._run(plan, log, inputs, late)
        except ResourceExhaustedError as error:
            raise ResourceExhaustedError(f"{error.message} {_largest(log, plan)}") from None

    def give_up(self) -> None:
        """Free memory that waits for the next run."""
        for lender in list(self._lenders.values()):
            lender.give_up()
        if not self.runner.running:
            self._steady.give_up()

    def _run(
        self,
        plan: GpuPlan,
        log: Log,
        inputs: list[tuple[int, DeviceArray | Array]],
        late: list[tuple[int, DeviceArray]],
    ) -> None:
        gpu, buffers, cell, steady = device(), log.buffers, self.cell, self._steady
        uploads: list[DeviceArray] = []  # until all is launched
        for row, array in inputs:
            if type(array) is np.ndarray and array.nbytes > SMALL:
                array = resident(array)
                uploads.append(array)
            cell[row] = steady.read(gpu, row, array)
        leaving: list[tuple[int, int, int]] = []  # copies, when all is computed
        for row, spec in plan.buffers:
            size = spec.size * spec.dtype.size
            lent = self._lenders[row].lend(size)
            buffers[row] = _device_array(lent, lent.address, spec)
            cell[row] = there = steady.at(row, lent.address, size)
            if there != lent.address:
                leaving.append((there, lent.address, size))
        at = self.runner.ready(log, plan)
        self._cells_at(at, late)
        block: Any = None
        if self._single and not self.looked:
            block = self._lenders[-1].lend(8 * (plan.cells.size - plan.fed))
            cells = self.runner.cells.address + 8 * plan.fed
            if steady.wanders(-1, block.address):
                leaving.append((cells, block.address, block.size))
            else:
                cells = block.address
            for number, offset in self._single_places:
                at[number] = cells + offset
        try:
            self._graphs.run(gpu, plan, at)
        finally:  # not before: a look in between, of a handler or a thread, would see nothing yet
            DEVICE_CHECKS.expected |= self.unsure
        for source, address, size in leaving:
            gpu.copy(source, address, size)
        if self.looked:
            self.runner.fetch(log, plan)
        elif block is not None:
            for row, k in self._single.items():
                spec = SPECS.specs[log.spec[row]]
                buffers[row] = _device_array(block, block.address + 8 * k, spec)

    def _cells_at(self, at: list[int], late: list[tuple[int, DeviceArray]]) -> None:
        """Note where the single elements are that only the GPU knows; the others are in cells."""
        cells = self.runner.cells.address
        for row, number in self._leaf_place.items():
            at[number] = cells + 8 * self._leaf[row]
        for row, array in late:
            if row in self._leaf_place:
                at[self._leaf_place[row]] = self._steady.read(device(), row, array)

    def array(self, row: int) -> Array:
        """The value in a place, which is not a cell."""
        spec = SPECS.specs[self.log.spec[row]]
        array: Any = self.log.buffers.get(row)
        if array is None:
            array = _device_array(None, self.cell[row], spec)
        return array.host() if type(array) is DeviceArray else array


def _device_array(owner: Any, address: int, spec: Spec) -> DeviceArray:
    return DeviceArray(owner, address, spec.shape, spec.dtype.numpy_dtype)


# What may be given up where memory is exhausted.
_PROGRAMS: WeakRefs[Program] = WeakRefs()
_RUNNERS: WeakRefs[Runner] = WeakRefs()


def _give_up() -> None:
    """Free all memory that only waits for use."""
    for program in list(_PROGRAMS):
        program.give_up()
    for runner in list(_RUNNERS):
        runner.give_up()


reclaim.append(_give_up)


class Executor:
    """Plans what a look needs and launches it."""

    def compute(self, log: Log, required: list[int], optional: list[int], retain: bool) -> None:
        """Give the wanted rows their values; with ``retain``, keep what is expensive."""
        work: Workspace | None = log.workspace
        capacity = log.columns.capacity
        if type(work) is not Workspace or work.capacity != capacity or work.extra is not log.extra:
            before, work = work, Workspace(log)
            if before is not None:  # which rows are welcome
                work.want[: before.want.size] = before.want
            log.workspace = work
        plan = work.plan_for(log, required, optional, retain)
        if plan is None:
            return
        assert isinstance(plan, GpuPlan)
        try:
            with device().enter_context():
                _allocate(log, plan)
                work.runner.run(log, plan)
        except ResourceExhaustedError as error:
            raise ResourceExhaustedError(f"{error.message} {_largest(log, plan)}") from None
        state = log.columns.state_view
        for row in plan.computed:
            state[row] = VALUE
        finish(log, plan)
        if plan.cells.size > plan.fed:  # it was waited for
            DEVICE_CHECKS.look()

    def program(
        self,
        log: Log,
        required: list[int],
        compiled: bool = False,
        looked: bool = True,
        checks: Sequence[tuple[int, str]] = (),
    ) -> Program:
        """What computes the wanted rows again and again."""
        plan: Any = GpuPlanner(log, True).plan_for(log, required, [], False) if required else None
        if plan is not None:
            plan.own()
        deferred = bool(checks) and not looked and self._defer_checks(plan, required, checks)
        if plan is not None:
            plan.launches = chain_launches(plan.launches)
        return Program(log, required, plan, looked or (bool(checks) and not deferred), deferred)

    def _defer_checks(
        self, plan: GpuPlan | None, required: list[int], checks: Sequence[tuple[int, str]]
    ) -> bool:
        """Have a plan note which checks fail, if it computes all of them."""
        place = places(plan, required)
        rows = [place[row] for row, _ in checks]
        if plan is None or not {*rows} <= {*plan.cells[plan.fed :].tolist()}:
            return False
        cells, word = plan.cells.tolist(), plan.number(Place("word", 0))
        for row, (_, message) in zip(rows, checks, strict=True):
            flag = plan.number(Place("cell", 8 * cells.index(row)))
            plan.launches.append(DEVICE_CHECKS.launch(flag, word, message))
        return True

    def draw(self, name: str, key: list[int], spec: Spec) -> DeviceArray | Array:
        """Random floats, ``uniform`` or ``normal``, from the two words of a key of Philox.

        They are drawn on the GPU, but for single elements, which are not kept there.
        """
        return (
            draw_values(name, key, spec)
            if spec.size > 1
            else reference.compute_drawn(name, key, spec)
        )

    def fill(self, value: int, spec: Spec) -> DeviceArray:
        """An array that has one value everywhere."""
        try:
            return full(value, spec)
        except ResourceExhaustedError as error:
            shape = f"{tuple(spec.shape)} ({spec.dtype.name})"
            raise ResourceExhaustedError(
                f"{error.message} Of what was asked for, the largest values to be kept: Fill of "
                f"shape {shape}."
            ) from None
