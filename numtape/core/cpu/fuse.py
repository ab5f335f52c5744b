"""Fuses consecutive elementwise rows of a group into one compiled loop.

Among small rows only scalars are fused, to a loop that runs once. The loop precedes the
instructions that it replaces. If an argument is out of range for one of its functions, these
instructions compute the block instead.

The result is a `Loop` of `kernels.cpu.fused`. The GPU's `Loop` (in `core.cuda.codegen`) is another
class, though both number loads, steps and stores alike. This one is built from consecutive
instructions of a finished plan: its operands are slots, which are reused and may have to be
renamed, and its loads mark broadcast elements. It has names of dtypes, because kernels import
nothing of numtape and its text is the key of the compiled loop. The GPU's is built before
instructions exist, from all rows of a group and of groups fused with it: it has shapes, which
determine how each load is broadcast, and reductions, which are separate instructions here. One
class for both would have fields that only one of them may read.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compile import cache as disk
from ..compile.lane_kernels import compile_written, writers
from ..log.log import Log
from ..log.op import CODES, ELEMENTWISE
from ..plan.plan import (
    BROADCAST,
    CALL_FIXED,
    CALL_VARIADIC,
    COPY_BYTES,
    COUNT,
    FUSED,
    G_BODY,
    G_CODE,
    G_CODE_END,
    G_KIND,
    G_ROWS,
    G_ROWS_END,
    G_STRIDE,
    LANES_GROUP,
    PLACES,
    SMALL,
    STEP,
    Plan,
)
from ..values.intern_table import LOGS
from ..values.memory import view
from ..values.spec import SPECS

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_STEPS = 96  # steps of a loop: compile time grows faster than the length
MIN_STEPS = 2


class InstructionRun(NamedTuple):
    """Instructions that one loop replaces.

    Attributes:
      first, last: The range of the instructions in the program of the group, without ``last``.
      loop: Their computation.
      refs: References of the loop's operands and results, as in instructions.
    """

    first: int
    last: int
    loop: Any
    refs: list[int]


class _Group:
    """The instructions of a group, with operands traced to the instructions that computed them.

    Instructions of a lane group refer to slots or buffers. In a group of small rows only scalars
    can be fused, and they refer to rows; the row of any other instruction is -1.
    """

    def __init__(self, log: Log, plan: Plan, g: int) -> None:
        program, groups = plan.arrays["program"], plan.arrays["groups"]
        group = groups[g].tolist()
        splats = program[group[G_CODE] : group[G_BODY]].tolist()
        steps = program[group[G_BODY] : group[G_CODE_END]].tolist()
        self.scalar = group[G_KIND] == SMALL
        self.splats = {step[1] for step in splats}
        self.slots = 1 + max([step[1] for step in (*splats, *steps) if step[1] < 1 << 40] or [0])
        # Loads of broadcast operands of a lane group have their own slots, so they can come first.
        self.broadcasts = [step for step in steps if step[0] == BROADCAST and not self.scalar]
        self.steps = [step for step in steps if step[0] != BROADCAST or self.scalar]
        order = plan.arrays["order"][group[G_ROWS] : group[G_ROWS_END]].tolist()
        self.rows = _scalar_rows(self.steps, order) if self.scalar else order
        self.operands: list[list[tuple[int, int]]] = []  # reference, and the step that computes it
        self.last_use = [-1] * len(self.steps)
        producer_of: dict[int, int] = {}
        for k, (step, row) in enumerate(zip(self.steps, self.rows, strict=True)):
            if row < 0:
                self.operands.append([])
                continue
            op, _ = CODES.entries[log.code[row]]
            operands = [(ref, producer_of.get(ref, -1)) for ref in step[2 : 2 + op.arity]]
            for _, producer_step in operands:
                if producer_step >= 0:
                    self.last_use[producer_step] = k
            self.operands.append(operands)
            producer_of[step[1]] = k

    def rename(self, k: int) -> None:
        """Give the result of step ``k`` its own slot."""
        self.steps[k][1] = self.slots
        for j, operands in enumerate(self.operands):
            for i, (_, producer_step) in enumerate(operands):
                if producer_step == k:
                    operands[i] = self.slots, k
                    self.steps[j][2 + i] = self.slots
        self.slots += 1


def _scalar_rows(steps: list[list[int]], order: list[int]) -> list[int]:
    """The row of each instruction of a group of small rows that is a scalar; -1 for others."""
    scalars, position = [], 0
    for kernel, *_ in steps:
        scalars.append(order[position] if kernel // COUNT == 1 else -1)
        position += kernel >= COUNT or kernel in (COPY_BYTES, CALL_FIXED, CALL_VARIADIC)
    return scalars


def _dtypes(log: Log, row: int) -> tuple[str, ...]:
    op, _ = CODES.entries[log.code[row]]
    columns = (log.a, log.b, log.c)[: op.arity]
    return tuple(SPECS.specs[log.spec[column[row]]].dtype.name for column in columns)


def _find_runs(log: Log, group: _Group) -> list[tuple[int, int]]:
    """The ranges of steps that can be fused."""
    fused = importlib.import_module("numtape.kernels.cpu.fused")
    runs, start = [], -1
    for k, row in enumerate([*group.rows, -1]):
        can_be_fused = False
        if row >= 0:
            op, _ = CODES.entries[log.code[row]]
            dtype = SPECS.specs[log.spec[row]].dtype.name
            can_be_fused = op.kind == ELEMENTWISE and fused.fits(op.body, _dtypes(log, row), dtype)
        if start >= 0 and (not can_be_fused or k - start >= MAX_STEPS):
            if k - start >= MIN_STEPS:
                runs.append((start, k))
            start = -1
        if can_be_fused and start < 0:
            start = k
    return runs


def _build_run(log: Log, group: _Group, first: int, last: int) -> InstructionRun:
    """Build one loop for a range of steps."""
    fused = importlib.import_module("numtape.kernels.cpu.fused")
    loads: dict[int, str] = {}
    for k in range(first, last):
        for (ref, producer_step), dtype in zip(
            group.operands[k], _dtypes(log, group.rows[k]), strict=True
        ):
            if producer_step < first:
                loads[ref] = dtype
    stores = [
        k
        for k in range(first, last)
        if group.scalar or group.steps[k][1] < 0 or group.last_use[k] >= last
    ]
    for k in stores:
        if group.steps[k][1] in loads:  # the loop reads this slot, so it must not write it
            group.rename(k)
    number = {ref: k for k, ref in enumerate(loads)}
    steps = []
    for k in range(first, last):
        op, _ = CODES.entries[log.code[group.rows[k]]]
        operands = tuple(
            number[ref] if producer_step < first else len(loads) + producer_step - first
            for ref, producer_step in group.operands[k]
        )
        dtype = SPECS.specs[log.spec[group.rows[k]]].dtype.name
        steps.append(fused.LoopStep(op.body, operands, _dtypes(log, group.rows[k]), dtype))
    loop = fused.Loop(
        tuple((dtype, ref in group.splats) for ref, dtype in loads.items()),
        tuple(steps),
        tuple(len(loads) + k - first for k in stores),
    )
    return InstructionRun(first, last, loop, [*loads, *(group.steps[k][1] for k in stores)])


class _Rows:
    """A copy of the rows of a log."""

    def __init__(self, log: Log) -> None:
        for name in ("code", "a", "b", "c", "spec"):
            setattr(self, name, view(getattr(log.columns, name)[: log.n].copy()))
        LOGS.add(self)

    def numbers(self, column: str) -> memoryview[int]:
        """The numbers of codes or specs in the rows."""
        values: memoryview[int] = getattr(self, column)
        return values


_compiling = threading.Lock()


def _is_exiting() -> bool:
    """Whether the process waits for this thread only: it must not start another compilation."""
    return not threading.main_thread().is_alive()


def fuse_in_background(log: Log, plan: Plan) -> None:
    """Make ``plan.fused`` in another thread, without waiting for it."""
    plan.done = -1
    rows: Any = _Rows(log)

    def work() -> None:
        with _compiling:
            fused_plan = fuse_plan(rows, plan, _is_exiting)
        plan.fused = fused_plan if fused_plan is not plan else None

    try:
        threading.Thread(target=work, name="numtape compiler").start()
    except RuntimeError:  # no more threads, or the process ends
        pass


def _renew_lock() -> None:
    global _compiling
    _compiling = threading.Lock()


if hasattr(os, "register_at_fork"):
    # A forked child could not release LLVM's lock.
    os.register_at_fork(
        before=lambda: _compiling.acquire(),
        after_in_parent=lambda: _compiling.release(),
        after_in_child=_renew_lock,
    )


def fuse_plan(log: Log, plan: Plan, is_cancelled: Callable[[], bool] | None = None) -> Plan:
    """A plan with fused loops; the same plan if no rows can be fused, or when it is cancelled.

    Compiles loops that are not in the cache.
    """
    groups, program = plan.arrays["groups"], plan.arrays["program"]
    chosen = {}
    for g in np.flatnonzero(groups[:, G_KIND] <= LANES_GROUP).tolist():
        group = _Group(log, plan, g)
        runs = [_build_run(log, group, *run) for run in _find_runs(log, group)]
        if runs:
            chosen[g] = group, runs
    for group, runs in chosen.values():
        for run in runs:
            if is_cancelled is not None and is_cancelled():
                return plan
            _compile_loop(run.loop, group.scalar)
    if not chosen:
        return plan
    pieces: list[Any] = []
    new_groups = groups.copy()
    size, scratch, body = 0, plan.scratch, plan.body
    for g, row in enumerate(groups.tolist()):
        code = program[row[G_CODE] : row[G_CODE_END]]
        splats = row[G_BODY] - row[G_CODE]
        if g in chosen:
            group, runs = chosen[g]
            instructions = _write_group(group, runs)
            code = np.concatenate([code[:splats], np.array(instructions, np.int64)])
            if not group.scalar:
                scratch = max(scratch, group.slots * row[G_STRIDE])
                body = max(body, len(instructions))
        new_groups[g, [G_CODE, G_BODY, G_CODE_END]] = size, size + splats, size + len(code)
        size += len(code)
        pieces.append(code)
    return plan.with_program(new_groups, np.concatenate(pieces), scratch, body)


def _write_group(group: _Group, runs: list[InstructionRun]) -> list[list[int]]:
    """The instructions of a group, with its loops inserted."""
    instructions = list(group.broadcasts)
    starts = {run.first: run for run in runs}
    for k, step in enumerate(group.steps):
        run = starts.get(k)
        if run is not None:
            refs = run.refs + [0] * (-len(run.refs) % 4)
            places = [[PLACES, *refs[j : j + 4]] for j in range(0, len(refs), 4)]
            address, replaced = _compile_loop(run.loop, group.scalar), run.last - run.first
            instructions.append([FUSED, address, len(places), replaced, 0])
            instructions += places
        instructions.append(step)
    assert all(len(step) == STEP for step in instructions)
    return instructions


_addresses: dict[str, int] = {}  # of compiled loops, whose code is never unloaded


def _compile_loop(loop: object, scalar: bool) -> int:
    """Compile or load a loop. Returns its address."""
    module = importlib.import_module("numtape.kernels.cpu.fused")
    text = repr(loop)
    write = module.write_scalars if scalar else module.write_lanes
    symbol = f"{write.__name__}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if symbol in _addresses:
        return _addresses[symbol]

    def build() -> disk.Built:
        return compile_written(symbol, lambda unit: write(unit, symbol, loop))

    source = writers() + text
    address = _addresses[symbol] = disk.load(symbol, source, build)[symbol]
    return address
