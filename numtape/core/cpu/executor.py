"""The CPU executor: plans and runs, in jitted code except for array ops without a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import settings
from ..compile.passes import addresses
from ..executor import Direct
from ..log.log import Log
from ..plan.plan import Plan, Planner, finish, places
from ..reference.draws import Entropy, compute_drawn
from ..values.memory import LARGE_BYTES, Array, address_of
from ..values.spec import Spec
from . import fuse, repeated_evaluation, sweeper
from .buffers import POOL
from .rng import kernel_of
from .sweeper import Sweeper, holds_gil_briefly
from .workers import settle


class CpuWorkspace(Planner):
    """The memory and plans for computing one log's values."""

    def __init__(self, log: Log) -> None:
        self.sweeper = Sweeper(log)  # first: the plan may be compiling in another process
        super().__init__(log)


class CpuExecutor:
    """Plans and runs evaluations."""

    def compute(self, log: Log, required: list[int], optional: list[int], retain: bool) -> None:
        """Compute the required rows; with ``retain``, keep expensive intermediate values."""
        workspace: CpuWorkspace | None = log.workspace
        capacity = log.columns.capacity
        if settings.moved:
            log.fetch()
        if (
            type(workspace) is not CpuWorkspace
            or workspace.capacity != capacity
            or workspace.extra is not log.extra
        ):
            previous, workspace = workspace, CpuWorkspace(log)
            if previous is not None:  # keep the flags of optional rows
                workspace.want[: previous.want.size] = previous.want
            log.workspace = workspace
        if workspace.sweeper.abandoned:
            workspace.sweeper = Sweeper(log)
        if workspace.sweeper.running:
            settle(workspace.sweeper.running)
        plan = workspace.plan_for(log, required, optional, retain)
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
        workspace.sweeper.run(log, plan)
        if plan.views or plan.aliases:
            finish(log, plan)
        POOL.count_run()
        plan.python_runs = runs = plan.python_runs + 1
        try_fast_path = runs >= repeated_evaluation.MIN_RUNS and not runs & (runs - 1)
        if try_fast_path and not retain and holds_gil_briefly(plan):
            repeated_evaluation.prepare(log, workspace, plan, self, sweeper.HOT)

    def program(
        self,
        log: Log,
        required: list[int],
        compiled: bool = False,
        looked: bool = True,
        checks: Sequence[tuple[int, str]] = (),
    ) -> CpuProgram:
        """Return a program that computes rows repeatedly; ``compiled`` now, or when it is hot."""
        plan = Planner(log).plan_for(log, required, [], False) if required else None
        if plan is not None:
            plan.copy_arrays()
            if compiled:
                plan = fuse.fuse_plan(log, plan)
        return CpuProgram(log, required, plan)

    def draw(self, name: str, entropy: Entropy, spec: Spec, *parameters: Any) -> Array:
        """Random numbers; see `core.reference.draws`."""
        call = kernel_of(name, spec, parameters)
        if call is None:
            return compute_drawn(name, entropy, spec, *parameters)
        return call.compute(entropy, spec)

    def fill(self, value: int, spec: Spec) -> Array:
        """An array filled with one value."""
        return np.full(spec.shape, value, spec.dtype.numpy_dtype)


class CpuProgram:
    """A plan that runs repeatedly, with new values in the leaves.

    Attributes:
      log: Its rows; the caller changes the values of leaves.
      place: For each required row, the row whose cell or buffer holds its value: itself, an equal
        row, or the original of a view.
      feed: None: callers write the cells of leaves directly.
    """

    feed = None
    deferred = unsure = False

    def __init__(self, log: Log, required: list[int], plan: Plan | None) -> None:
        self.log, self.plan = log, plan
        if settings.moved:
            log.fetch()
        self.cell = log.columns.cell_view
        self.sweeper = Sweeper(log)
        self.place = places(plan, required)

    def another(self, log: Log) -> CpuProgram:
        """The same program for a copy of its log."""
        return CpuProgram(log, list(self.place), self.plan)

    def run(self) -> None:
        """Compute the required rows, in their own buffers."""
        plan, log = self.plan, self.log
        if plan is None:
            return
        if plan.fused is not None:
            plan = self.plan = plan.fused
        if plan.buffers:
            cell, buffers = self.cell, log.buffers
            for row, spec in plan.buffers:
                buffers[row] = buffer = POOL.empty(spec)
                cell[row] = address_of(buffer)
        POOL.count_run()
        self.sweeper.run(log, plan)

    def direct(self) -> Direct | None:
        """How machine code runs the plan; None if it needs Python."""
        plan = self.plan
        if plan is None:
            return Direct(0, 0, 0, 0, 0, None, ())
        plan = self.plan = plan.fused or plan
        has_large_buffers = any(
            spec.size * spec.dtype.size >= LARGE_BYTES for _, spec in plan.buffers
        )
        if has_large_buffers or plan.numpy_groups or not holds_gil_briefly(plan):
            return None
        self.sweeper._set_up(plan)
        block = self.sweeper.sweep
        begin, computed = (block.address + 8 * block.slots[x] for x in ("begin_group", "computed"))
        function = addresses("sweep")["sweep"]
        return Direct(function, block.address, begin, computed, plan.n_groups, plan, plan.buffers)

    def late(self, row: int) -> bool:
        """Whether a single element is outside its cell; never here."""
        return False

    def array(self, row: int) -> Array:
        """The value at ``row``, which has a buffer instead of a cell."""
        return self.sweeper.array(self.log, row)
