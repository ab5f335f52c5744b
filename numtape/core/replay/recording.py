"""Recordings: the rows of a call that was traced, to be computed again with other leaves."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..executor import Program
from ..log.log import READ_CODE, VALUE, Log, local
from ..log.look import executor
from ..log.op import CODES, LEAF
from ..log.variable import Variable, set_values
from ..ops.random import STATE
from ..values.memory import Array, address_of, converted
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor, of_array
from .graft import graft, retract
from .trace import Draws, Guard, Trace, bits_at

_ZEROS = [bytes(8 - k) for k in range(9)]


class Cells:
    """What tensors of one element that a replay computed have for a home: their cells do."""

    __slots__ = ()

    def look(self, tensor: Tensor) -> Array:
        """The value as an array, which is the tensor's home from now on."""
        spec = tensor._spec
        raw = tensor._cell.to_bytes(8, sys.byteorder, signed=True)
        array: Array = np.ndarray(spec.shape, spec.dtype.numpy_dtype, raw)
        tensor._home = array
        return array

    computed = look


CELLS: Any = Cells()


def cell_of(tensor: Tensor, used: list[Array]) -> int:
    """What a cell on the host holds of a tensor: the bits of one element, or an address.

    What is at the address is appended to ``used``: the tensor may get another home meanwhile.
    """
    array = tensor._array()
    used.append(array)
    if tensor._spec.size == 1:
        raw = array.tobytes()
        cell = int.from_bytes(raw + _ZEROS[len(raw)], sys.byteorder, signed=True)
    else:
        cell = address_of(array)
    if tensor._home is array:  # a log may put a value elsewhere
        tensor._cell = cell
    return cell


class Failed(NamedTuple):
    """A guard that does not hold: its number, and what was seen instead."""

    guard: int
    bits: int | bytes


class Output(NamedTuple):
    """A leaf of what a call returns: a row and its spec, or something that is the same each time.

    Attributes:
      row: The row, or -1.
      spec: Its spec.
      constant: What is the same each time.
    """

    row: int
    spec: Spec | None
    constant: Any


class Recording:
    """The rows of one call.

    Attributes:
      log: The rows. Its leaves have values; those that are not constants are fed at each call.
      arguments, variables, inputs, captures: Rows that are fed, and what feeds them: the number
        of an argument, a variable, a NumPy array from outside, a tensor from outside.
      draws: Rows of random numbers, their places in the sequence, and how they are drawn.
      drawn: How many draws there are in the end.
      guards: What must be seen again.
      outputs: What the call returns.
      assigned: Variables and the rows that they become.
      compiled: Whether to compile it before it is replayed for the first time.
    """

    def __init__(
        self, trace: Trace, outputs: list[Output], assigned: list[tuple[Variable, int]],
        compiled: bool,
    ) -> None:  # fmt: skip
        self.arguments = list(enumerate(trace.arguments))
        self.captures = [
            (row, tensor) for row, tensor in trace._leaf_rows.values() if row < trace.n
        ]
        code, b = trace.columns.code[: trace.n], trace.columns.b
        reads = np.flatnonzero(code == READ_CODE).tolist()
        self.variables = [(row, trace.variables[b[row]]) for row in reads]
        self.inputs = [(row, array) for row, array in trace.inputs if row < trace.n]
        self.draws, self.drawn = trace.drawn, trace.position
        self.guards: list[Guard] = list(trace.guards.values())
        self.outputs, self.assigned, self.compiled = outputs, assigned, compiled
        fed = {*trace.arguments, *reads, *(row for row, *_ in trace.drawn)}
        fed.update(row for row, _ in self.inputs)
        self.log = _leaves_of(trace, fed)
        self._ready: Ready | None = None
        self._on: dict[str, Ready] = {}  # by device
        self._prepare()

    def _prepare(self) -> None:
        """Sort what is done at each call by what is to be done with it."""
        spec = self.log.spec
        self._read = [variable for _, variable in self.variables]
        self._read_rows = [row for row, _ in (*self.variables, *self.inputs)]
        self._fed = [row for _, row in self.arguments] + self._read_rows
        self._arrays = [(array, SPECS.specs[spec[row]]) for row, array in self.inputs]
        self._assigned = [variable for variable, _ in self.assigned]
        self.leaving = [out.row for out in self.outputs if out.row >= 0]
        self.leaving += [row for _, row in self.assigned]
        self._specs = [SPECS.specs[spec[row]] for row in self.leaving]
        self.effects = bool(self.assigned or self.draws)

    def is_leaf(self, row: int) -> bool:
        """Whether a row is not computed."""
        return bool(self.log.columns.state_view[row] == VALUE)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.log.n

    # Replaying where no tape follows.

    def run(self, leaves: Sequence[Tensor], draws: Draws) -> list[Tensor] | Failed:
        """Compute what leaves the call; nothing is assigned yet.

        Returns:
          The outputs that are rows, then the values of assigned variables; or which guard failed.
        """
        ready = self._ready
        if ready is None or ready.device is not settings.chosen or settings.moved:
            ready = self.ready()
        try:
            program = ready.programs.pop()
        except IndexError:
            program = ready.program()
        cell, values = program.cell, None
        used: list[Array] = []  # until all is computed
        if self._read:
            values = [variable._value for variable in self._read]  # kept until all is computed
        if self._arrays:
            values = [*(values or ()), *(_input(array, of) for array, of in self._arrays)]
        if program.deferred:
            refused = ready.refused(program, (*leaves, *(values or ())))
            if refused is not None:
                ready.programs.append(program)
                return refused
        if program.feed is not None:
            for row, tensor in zip(self._fed, (*leaves, *(values or ())), strict=True):
                program.feed(row, tensor)
        else:
            for k, row in self.arguments:
                try:
                    cell[row] = leaves[k]._cell
                except AttributeError:
                    cell[row] = cell_of(leaves[k], used)
            for row, value in zip(self._read_rows, values or (), strict=True):
                try:
                    cell[row] = value._cell
                except AttributeError:
                    cell[row] = cell_of(value, used)
        if self.draws:
            self._draw(program.log, draws)
        program.run()
        if (ready.expected and ready.guard_cells(cell) != ready.expected) or ready.arrays:
            failed = self._failed(program)
            if failed is not None:
                ready.programs.append(program)
                return failed
        found = ready.taken(program, leaves, values or []) if self.leaving else []
        # Not if anything went wrong: then its memory may still be in use.
        ready.programs.append(program)
        return found

    def ready(self) -> Ready:
        """What it takes to run it on this thread's device."""
        device = settings.device()
        found = self._on.get(device)
        if found is None:
            found = self._on.setdefault(device, Ready(self))
        found.device = device
        self._ready = found
        return found

    def release(self) -> None:
        """Drop what it takes to run it."""
        self._ready, self._on = None, {}

    def _draw(self, log: Log, draws: Draws) -> None:
        for row, k, draw in self.draws:
            log.put(row, draws.take(k, draw), SPECS.specs[log.spec[row]])

    def _failed(self, program: Program) -> Failed | None:
        """The first guard that does not hold."""
        for k, guard in enumerate(self.guards):
            at = program.place[guard.row]
            if type(guard.bits) is int:
                seen: int | bytes = program.cell[at]
            else:
                seen = program.array(at).tobytes()
            if seen != guard.bits:
                return Failed(k, seen)
        return None

    def commit(self, values: list[Tensor], draws: Draws, log: Log | None = None) -> None:
        """Assign what the call assigns, and count its draws: all of it, or nothing.

        ``values`` are those of `run`, or, if they are rows of ``log``, of `appended`.
        """
        if self.effects:
            values = values[len(values) - len(self._assigned) :]
            commit(self._assigned, values, draws, self.drawn, log)

    # Replaying on a log that a tape follows.

    def appended(self, log: Log, leaves: Sequence[Tensor], draws: Draws) -> list[Tensor] | Failed:
        """Append the rows to this thread's log; look at what guards look at.

        Returns:
          As `run`: tensors of the log, to be computed when they are looked at.
        """
        log.reserve(
            len(self.arguments) + len(self.variables) + len(self.inputs) + len(self.draws)
        )
        n, extra_n = log.n, log.extra_n
        busy, log.busy = log.busy, True
        try:
            to = np.full(self.log.n, -1, np.int32)
            for k, row in self.arguments:
                to[row] = log.enter(leaves[k], None, "function")[0]
            for row, variable in self.variables:
                to[row] = variable._read_in(log)
            for row, tensor in self.captures:
                known = log._leaf_rows.get(id(tensor))
                if tensor._home is log:
                    to[row] = tensor._row
                elif known is not None:
                    to[row] = known[0]
            for row, array in self.inputs:
                spec = SPECS.specs[self.log.spec[row]]
                to[row] = log.leaf(_input(array, spec)._stored(), spec)
            for row, k, draw in self.draws:
                to[row] = log.leaf(draws.take(k, draw), SPECS.specs[self.log.spec[row]])
            n, extra_n = log.n, log.extra_n
            graft(self.log, log, to)
            failed = self._failed_on(log, to)
            if failed is not None:
                retract(log, n, extra_n)
                return failed
        except BaseException:
            if log.n > n:
                retract(log, n, extra_n)
            raise
        finally:
            log.busy = busy
        return [
            log.tensor(int(to[row]), spec)
            for row, spec in zip(self.leaving, self._specs, strict=True)
        ]

    def _failed_on(self, log: Log, to: Array) -> Failed | None:
        if not self.guards:
            return None
        rows = [int(to[guard.row]) for guard in self.guards]
        state = log.columns.state_view
        wanted = [row for row in rows if state[row] != VALUE]
        if wanted:
            with log.lock:
                executor().compute(log, wanted, [], True)
        for k, (row, guard) in enumerate(zip(rows, self.guards, strict=True)):
            seen = bits_at(log, row)
            if seen != guard.bits:
                return Failed(k, seen)
        return None


class Ready:
    """What it takes to run a recording on one device: a program for each thread that does.

    Attributes:
      device: The device.
      programs: Those that no thread uses now.
      guard_cells: Gives the cells of guards on single elements.
      expected: What must be in them.
      arrays: Whether there are other guards.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.device = ""
        self.programs: list[Program] = []
        self._first = program = self._planned()
        self._leaves = dict(program.log.buffers)  # constants, where the device finds them
        place = program.place
        places = [place[row] for row in recording.leaving]
        self._specs = recording._specs
        fed = {row: k for k, row in enumerate(recording._fed)}
        elsewhere = set() if program.feed is None else set(fed)  # a fed cell may be unknown here
        # Where results are: -1 for a cell.
        self._at = [
            -1 if spec.size == 1 and at not in elsewhere and not program.late(at) else at
            for at, spec in zip(places, self._specs, strict=True)
        ]
        self._passed = [(fed[at], at) for at in self._at if at in fed]
        self._holding = any(at >= 0 for at in self._at) or bool(recording.draws)
        self._cells = _getter(places)
        guards = [] if program.deferred else recording.guards
        small = [guard for guard in guards if type(guard.bits) is int]
        self.guard_cells = _getter([place[guard.row] for guard in small])
        self.expected = tuple(guard.bits for guard in small)
        self.arrays = len(small) < len(guards)
        # Guards that are checks: their numbers, and which of what is fed they are on; -1 for
        # what is computed. Constants were checked when they were recorded.
        self._checks = [
            (number, fed.get(guard.check.row, -1), guard.check.holds)
            for number, guard in enumerate(recording.guards)
            if program.deferred and guard.check is not None
            and (guard.check.row in fed or not recording.is_leaf(guard.check.row))
        ]  # fmt: skip
        self._right: dict[int, Array] = {}  # the arrays that were right the last time
        self.programs.append(program)

    def _planned(self) -> Program:
        recording = self._recording
        wanted = dict.fromkeys([*(guard.row for guard in recording.guards), *recording.leaving])
        guards = recording.guards
        checks = [(guard.row, guard.check.said) for guard in guards if guard.check is not None]
        looked = len(checks) < len(guards)
        log = _copy(recording.log)
        return executor().program(log, list(wanted), recording.compiled, looked, checks)

    def refused(self, program: Program, fed: Sequence[Tensor]) -> Failed | None:
        """The first check that fails of those on values that the host knows.

        If there are others, the program is unsure.
        """
        program.unsure = False
        for number, k, holds in self._checks:
            home: Any = fed[k]._home if k >= 0 else None
            array = home if type(home) is np.ndarray else getattr(home, "_host", None)
            if array is None:
                program.unsure = True
            elif self._right.get(number) is not array:
                if not holds(array).all():
                    return Failed(number, 0)
                self._right[number] = array
        return None

    def program(self) -> Program:
        """A program for one more thread."""
        return self._first.another(_copy(self._recording.log))

    def taken(
        self, program: Program, leaves: Sequence[Tensor], values: Sequence[Tensor]
    ) -> list[Tensor]:
        """Tensors of what a program has computed. ``values`` are what variables had."""
        log = program.log
        for k, row in self._passed:  # arguments, then variables, that are returned as they are
            source = leaves[k] if k < len(leaves) else values[k - len(leaves)]
            log.buffers[row] = source._stored()
        found = []
        for at, spec, bits in zip(self._at, self._specs, self._cells(program.cell), strict=True):
            tensor = Tensor()
            tensor._spec = spec
            if at < 0:
                tensor._cell = bits
                tensor._home = CELLS
            else:
                tensor._home = home = _shaped(log.buffers[at], spec)
                if type(home) is np.ndarray:
                    tensor._cell = bits
            found.append(tensor)
        if self._holding:
            log.buffers = dict(self._leaves)
        return found


def commit(
    variables: list[Variable], values: list[Tensor], draws: Draws, count: int, log: Log | None,
    had: Sequence[tuple[Variable, Tensor]] = (),
) -> bool:  # fmt: skip
    """Give variables their values and count ``count`` draws, in one step.

    If there is a log, the values are rows of it.

    Returns:
      False, and nothing is done, if a variable does not have the value any more that it ``had``.
    """
    journal = local.journal
    if journal is not None:
        for variable in variables:
            journal.setdefault(id(variable), (variable, variable._value))
    if log is not None:
        log.pending.update((id(variable), variable) for variable in variables)
    counted = map(setattr, [STATE], ["draws"], [draws.after(count)]) if draws.base >= 0 else ()
    return set_values(variables, values, counted, had=had)


def _input(array: Array, spec: Spec) -> Tensor:
    """What an array from outside holds now."""
    return of_array(converted(array, spec.dtype.numpy_dtype), spec)


def _shaped(array: Array, spec: Spec) -> Array:
    same = array.shape is spec.shape or array.shape == spec.shape
    return array if same else array.reshape(spec.shape)


def _getter(rows: list[int]) -> Callable[[Any], tuple[int, ...]]:
    """What takes some cells, as a tuple."""
    if not rows:
        return lambda cells: ()
    if len(rows) == 1:
        (row,) = rows
        return lambda cells: (cells[row],)
    return operator.itemgetter(*rows)


def _leaves_of(trace: Trace, fed: set[int]) -> Log:
    """A log with the rows of a trace. Leaves have values, but for those that are fed."""
    n = trace.n
    log = Log(max(n, 1))
    for name in log.columns.NAMES:
        getattr(log.columns, name)[:n] = getattr(trace.columns, name)[:n]
    kind = CODES.kind[log.columns.code[:n]]
    leaf = (kind == LEAF) | (log.columns.code[:n] == READ_CODE)
    log.columns.state[:n] = np.where(leaf, VALUE, 0)
    log.columns.cell[:n][~leaf] = 0
    log.n = n
    log.extra = trace.extra[: max(trace.extra_n, 1)].copy()
    log.extra_n = trace.extra_n
    log.variables = list(trace.variables)
    log.variable_index = dict(trace.variable_index)
    log.buffers = {
        row: array for row, array in trace.buffers.items() if leaf[row] and row not in fed
    }
    return log


def _copy(log: Log) -> Log:
    """A log with the same rows and leaves."""
    n = log.n
    found = Log(max(n, 1))
    for name in log.columns.NAMES:
        getattr(found.columns, name)[:n] = getattr(log.columns, name)[:n]
    found.n, found.extra, found.extra_n = n, log.extra, log.extra_n
    found.buffers = dict(log.buffers)
    return found
