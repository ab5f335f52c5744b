"""The CUDA executor: plans as on the CPU, with one kernel for each group of elementwise rows.

Values passed between groups stay on the GPU: large ones in their own buffers or in a plan's
arena, single elements in a block of cells. Before a plan runs, the cells of its leaves are
uploaded; afterwards the computed cells are downloaded. Only reading a value waits for the GPU.
`CudaExecutor` is the entry point; `CudaProgram` replays a plan.
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
from ..reference import draws
from ..values.intern_table import WeakRefs
from ..values.memory import Array
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .device_errors import DEVICE_CHECKS
from .graph_capture import BufferPool, Graphs, Steady
from .launches import Addresses, chain_launches, draw_values, full, launch_all
from .plan import GpuPlan, GpuPlanner, Place
from .runtime.device import DeviceArray, device, empty, reclaim, resident
from .runtime.transfer import SMALL


class Runner:
    """The memory for running plans of one log, an arena and cells, and the launching of plans."""

    def __init__(self) -> None:
        self.arena: Any = None
        self.cells: Any = None
        self._plan: GpuPlan | None = None  # the plan that `_at` belongs to
        self._at = Addresses()  # the address of each place
        self._fed = b""  # the bytes last uploaded to the cells of leaves
        self.running = False
        _RUNNERS.add(self)

    def give_up(self) -> None:
        """Free the arena unless a plan is running; launched kernels keep it until they end."""
        if not self.running:
            self._plan = self.arena = None

    def run(self, log: Log, plan: GpuPlan) -> None:
        """Launch all of a plan, then copy single-element results to the log's cells."""
        with self.used():
            launch_all(device(), plan.launches, self.ready(log, plan))
            self.fetch(log, plan)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Keep the arena and enter the GPU's context for the duration of the block."""
        self.running = True
        try:
            with device().enter_context():
                yield
        finally:
            self.running = False

    def ready(self, log: Log, plan: GpuPlan) -> Addresses:
        """Allocate memory, upload the leaves, and return the addresses of a plan's places."""
        if plan is not self._plan:
            self._fit(plan)
        _bring(log, plan)
        columns = log.columns
        fed = columns.cell[plan.cells[: plan.fed]]
        raw = fed.tobytes()
        if raw != self._fed:  # leaves are often constants
            self._fed = b""
            device().upload(fed, self.cells.address)
            self._fed = raw
        cell, at = columns.cell_view, self._at
        for number, row in plan.rows_at:
            at[number] = cell[row]
        if plan.on_host:
            numbers = plan.cell_numbers().items()
            at.host = {number: int(fed[k]) for k, number in numbers if k < plan.fed}
        return at

    def _fit(self, plan: GpuPlan) -> None:
        """Allocate an arena and cells for a plan, and compute the addresses of its places."""
        self._plan, self._fed = None, b""  # until all allocations have succeeded
        if self.arena is None or self.arena.size < plan.arena:
            self.arena = None  # free the old one before allocating a larger one
            self.arena = empty(plan.arena)
        if self.cells is None or self.cells.size < 8 * plan.cells.size:
            self.cells = empty(8 * plan.cells.size)
        bases = {"cell": self.cells.address, "arena": self.arena.address, "row": 0}
        if any(place.kind == "word" for place in plan.places):
            bases["word"] = DEVICE_CHECKS.address
        self._at = Addresses(bases[place.kind] + place.at for place in plan.places)
        self._plan = plan

    def fetch(self, log: Log, plan: GpuPlan) -> None:
        """Wait for the single-element results, and copy them to the log's cells."""
        single = plan.cells[plan.fed :]
        if single.size:
            values = self._known(plan)
            if values is None:
                values = np.empty(single.size, np.int64)
                device().download(self.cells.address + 8 * plan.fed, values)
            log.columns.cell[single] = (values.view(np.uint64) & plan.masks).view(np.int64)

    def _known(self, plan: GpuPlan) -> Array | None:
        """Return the single-element results if all are on the host as well, else None."""
        if not plan.on_host:
            return None
        numbers, host = plan.cell_numbers(), self._at.host
        values = [host.get(numbers.get(k, -1)) for k in range(plan.fed, plan.cells.size)]
        return None if None in values else np.array(values, np.int64)


def _bring(log: Log, plan: GpuPlan) -> None:
    """Upload large leaves to the GPU, if they are not there yet."""
    for row in plan.leaves:
        buffer = log.buffers.get(row)
        if type(buffer) is np.ndarray:
            on_device = resident(buffer)
            address = on_device.address
            # atomic: see core.values.intern_table
            log.columns.cell_view[row] = address
            log.buffers[row] = on_device
            # end atomic


def _allocate(log: Log, plan: GpuPlan) -> None:
    """Allocate buffers for the rows whose values are kept."""
    for row, spec in plan.buffers:
        memory = empty(spec.size * spec.dtype.size)
        log.put(row, _device_array(memory, memory.address, spec), spec)


def _largest(log: Log, plan: GpuPlan) -> str:
    """A sentence that names the largest allocations of a plan, for error messages."""
    largest = sorted(plan.buffers, key=lambda item: -item[1].size * item[1].dtype.size)[:3]
    names = [
        f"{CODES.entries[log.code[row]][0].name} of shape {tuple(spec.shape)} ({spec.dtype.name})"
        for row, spec in largest
    ]
    largest_text = f"the largest values to be kept: {', '.join(names)}; " if names else ""
    return f"Of the memory requested, {largest_text}temporaries: {plan.arena / 2**20:.1f} MiB."


class CudaWorkspace(GpuPlanner):
    """The planner and the runner of one log."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.runner = Runner()


class CudaProgram:
    """A plan that is run repeatedly; see `core.cpu.executor.CpuProgram`.

    Results lie in pooled buffers, so that addresses repeat, and launches with the same addresses
    are replayed as a CUDA graph. A value whose address keeps changing is copied to or from a
    stable address. A run is asynchronous unless its single elements are read after it (``looked``).
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
        # Place numbers of cells: by row for leaves, with the offset of the cell for results.
        numbered = plan.cell_numbers() if plan is not None else {}
        self._leaf_place = {row: numbered[k] for row, k in self._leaf.items() if k in numbered}
        self._single_places = [(n, 8 * (k - fed)) for k, n in numbered.items() if k >= fed]
        self._single_number = {
            row: numbered[k + fed] for row, k in self._single.items() if k + fed in numbered
        }
        # By row; the pool of the cells of results has the key -1.
        self._lenders: defaultdict[int, BufferPool] = defaultdict(BufferPool)
        self._steady = Steady(plan is not None and Graphs.worth(plan))
        # Values fed to leaves since the last run: arrays, and single elements that are only on
        # the GPU.
        self._inputs: list[tuple[int, DeviceArray | Array]] = []
        self._late: list[tuple[int, DeviceArray]] = []
        _PROGRAMS.add(self)
        if plan is not None:
            _bring(log, plan)

    def another(self, log: Log) -> CudaProgram:
        """Return the same program for a copy of its log."""
        return CudaProgram(log, list(self.place), self.plan, self.looked, self.deferred)

    def feed(self, row: int, tensor: Tensor) -> None:
        """Set the value of a leaf for the next run."""
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
        """Return None: Python runs this program, machine code cannot."""

    def late(self, row: int) -> bool:
        """Whether a single element is in a buffer on the GPU instead of in its cell."""
        return not self.looked and row in self._single

    def run(self) -> None:
        """Compute the requested rows into their own buffers."""
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
        """Free the memory reserved for the next run."""
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
        uploads: list[DeviceArray] = []  # keeps them alive until everything is launched
        for row, array in inputs:
            if type(array) is np.ndarray and array.nbytes > SMALL:
                array = resident(array)
                uploads.append(array)
            cell[row] = steady.read(gpu, row, array)
        leaving: list[tuple[int, int, int]] = []  # copies after the launches: from, to, bytes
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
        finally:  # not earlier: a read by another thread or a signal handler would clear the flag
            DEVICE_CHECKS.expected |= self.unsure
        for source, address, size in leaving:
            gpu.copy(source, address, size)
        if self.looked:
            self.runner.fetch(log, plan)
        elif block is not None:
            for row, k in self._single.items():
                spec = SPECS.specs[log.spec[row]]
                array = _device_array(block, block.address + 8 * k, spec)
                if (
                    plan.on_host
                    and (bits := at.host.get(self._single_number.get(row, -1))) is not None
                ):
                    array.know(bits)
                buffers[row] = array

    def _cells_at(self, at: Addresses, late: list[tuple[int, DeviceArray]]) -> None:
        """Set the addresses of single-element leaves: cells, or arrays that are on the GPU."""
        cells = self.runner.cells.address
        for row, number in self._leaf_place.items():
            at[number] = cells + 8 * self._leaf[row]
        for row, array in late:
            if row in self._leaf_place:
                number = self._leaf_place[row]
                at[number] = self._steady.read(device(), row, array)
                at.host.pop(number, None)

    def array(self, row: int) -> Array:
        """The value of a row that is not in a cell, on the host."""
        spec = SPECS.specs[self.log.spec[row]]
        array: Any = self.log.buffers.get(row)
        if array is None:
            array = _device_array(None, self.cell[row], spec)
        return array.host() if type(array) is DeviceArray else array


def _device_array(owner: object, address: int, spec: Spec) -> DeviceArray:
    return DeviceArray(owner, address, spec.shape, spec.dtype.numpy_dtype)


# Owners of memory that is freed when the GPU's memory is exhausted.
_PROGRAMS: WeakRefs[CudaProgram] = WeakRefs()
_RUNNERS: WeakRefs[Runner] = WeakRefs()


def _give_up() -> None:
    """Free all memory that is reserved but not in use."""
    for program in list(_PROGRAMS):
        program.give_up()
    for runner in list(_RUNNERS):
        runner.give_up()


reclaim.append(_give_up)


class CudaExecutor:
    """Plans and launches the computation of requested rows."""

    def compute(self, log: Log, required: list[int], optional: list[int], retain: bool) -> None:
        """Compute the requested rows; with ``retain``, keep values that are expensive."""
        work: CudaWorkspace | None = log.workspace
        capacity = log.columns.capacity
        if (
            type(work) is not CudaWorkspace
            or work.capacity != capacity
            or work.extra is not log.extra
        ):
            before, work = work, CudaWorkspace(log)
            if before is not None:  # keep the marks of optional rows
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
        if plan.cells.size > plan.fed:  # the download of cells has waited for the GPU
            DEVICE_CHECKS.look()

    def program(
        self,
        log: Log,
        required: list[int],
        compiled: bool = False,
        looked: bool = True,
        checks: Sequence[tuple[int, str]] = (),
    ) -> CudaProgram:
        """Return a program that computes the requested rows repeatedly."""
        plan: Any = GpuPlanner(log, True).plan_for(log, required, [], False) if required else None
        if plan is not None:
            plan.copy_arrays()
        deferred = bool(checks) and not looked and self._defer_checks(plan, required, checks)
        if plan is not None:
            plan.launches = chain_launches(plan.launches)
        return CudaProgram(log, required, plan, looked or (bool(checks) and not deferred), deferred)

    def _defer_checks(
        self, plan: GpuPlan | None, required: list[int], checks: Sequence[tuple[int, str]]
    ) -> bool:
        """Append the device-side checks to a plan. Return False if it does not compute them all."""
        place = places(plan, required)
        rows = [place[row] for row, _ in checks]
        if plan is None or not {*rows} <= {*plan.cells[plan.fed :].tolist()}:
            return False
        cells, word = plan.cells.tolist(), plan.number(Place("word", 0))
        for row, (_, message) in zip(rows, checks, strict=True):
            flag = plan.number(Place("cell", 8 * cells.index(row)))
            plan.launches.append(DEVICE_CHECKS.launch(flag, word, message))
        return True

    def draw(
        self, name: str, entropy: tuple[int, int, int], spec: Spec, *parameters: Any
    ) -> DeviceArray | Array:
        """Draw random numbers; see `core.reference.draws`.

        Uniform and normal floats of 32 or 64 bits are drawn on the GPU. The others and single
        elements, which are stored on the host, are drawn there.
        """
        if name in ("uniform", "normal") and spec.dtype.size > 2 and spec.size > 1:
            return draw_values(name, draws.key_of(entropy), spec)
        return draws.compute_drawn(name, entropy, spec, *parameters)

    def fill(self, value: int, spec: Spec) -> DeviceArray:
        """An array filled with one value."""
        try:
            return full(value, spec)
        except ResourceExhaustedError as error:
            shape = f"{tuple(spec.shape)} ({spec.dtype.name})"
            raise ResourceExhaustedError(
                f"{error.message} Of the memory requested, the largest values to be kept: Fill of "
                f"shape {shape}."
            ) from None
