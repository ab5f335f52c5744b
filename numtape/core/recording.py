"""Recordings: the rows of a call that was traced, to be computed again with other leaves."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import config
from .arrays import Array, address_of
from .graft import graft, retract
from .log import READ_CODE, VALUE, Log, local
from .op import CODES, LEAF
from .ops.random import STATE, Draw
from .spec import TABLES, Spec
from .sweep import executor
from .tensor import Tensor
from .trace import Draws, Guard, Trace
from .variable import Variable, set_values

_ZEROS = [bytes(8 - k) for k in range(9)]


class Cells:
    """What tensors of one element that a replay computed have for a home: their bits."""

    __slots__ = ("bits",)

    def __init__(self, bits: Sequence[int]) -> None:
        self.bits = bits

    def look(self, tensor: Tensor) -> Array:
        """The value as an array, which is the tensor's home from now on."""
        spec = tensor._spec
        raw = self.bits[tensor._row].to_bytes(8, sys.byteorder, signed=True)
        array = np.frombuffer(raw, spec.dtype.numpy_dtype, 1).reshape(spec.shape)
        tensor._home = array
        return array


def bits_of(tensor: Tensor) -> int:
    """What the cell of a tensor of one element holds."""
    home: Any = tensor._home
    if type(home) is Cells:
        return home.bits[tensor._row]
    raw = tensor._array().tobytes()
    return int.from_bytes(raw + _ZEROS[len(raw)], sys.byteorder, signed=True)


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
      arguments, variables, captures: Rows that are fed, and what feeds them: the number of an
        argument, a variable, a tensor from outside.
      draws: Rows of random numbers, and how they are drawn.
      guards: What must be seen again.
      outputs: What the call returns.
      assigned: Variables and the rows that they become.
    """

    def __init__(
        self, trace: Trace, outputs: list[Output], assigned: list[tuple[Variable, int]],
        drawn: list[Draw],
    ) -> None:  # fmt: skip
        self.arguments = list(enumerate(trace.arguments))
        self.captures = [
            (row, tensor) for row, tensor in trace._leaf_rows.values() if row < trace.n
        ]
        code, b = trace.columns.code[: trace.n], trace.columns.b
        reads = np.flatnonzero(code == READ_CODE).tolist()
        self.variables = [(row, trace.variables[b[row]]) for row in reads]
        self.draws = list(zip(trace.drawn_rows, drawn, strict=True))
        self.guards: list[Guard] = list(trace.guards.values())
        self.outputs, self.assigned = outputs, assigned
        fed = {*trace.arguments, *reads, *trace.drawn_rows}
        self.log = _leaves_of(trace, fed)
        self._prepare()
        self.programs: list[Any] = []  # those that no thread uses now
        self._first: Any = None
        self._device = ""

    def _prepare(self) -> None:
        """Sort what is done at each call by what is to be done with it."""
        spec = self.log.spec

        def single(row: int) -> bool:
            return TABLES.specs[spec[row]].size == 1

        self._cell_arguments = [(k, row) for k, row in self.arguments if single(row)]
        self._array_arguments = [(k, row) for k, row in self.arguments if not single(row)]
        self._cell_variables = [(row, v) for row, v in self.variables if single(row)]
        self._array_variables = [(row, v) for row, v in self.variables if not single(row)]
        self._assigned = [variable for variable, _ in self.assigned]
        # Values of one element that leave: outputs, then assigned variables.
        rows = [out.row for out in self.outputs if out.row >= 0]
        rows += [row for _, row in self.assigned]
        self.leaving = rows
        self._specs = [TABLES.specs[spec[row]] for row in rows]
        self._singles = [spec.size == 1 for spec in self._specs]
        self.effects = bool(self.assigned or self.draws)
        self._cell_guards = [k for k, guard in enumerate(self.guards) if type(guard.bits) is int]
        self._array_guards = [k for k, guard in enumerate(self.guards) if type(guard.bits) is bytes]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.log.n

    # Replaying where no tape follows.

    def run(self, leaves: list[Tensor], draws: Draws) -> list[Tensor] | Failed:
        """Compute what leaves the call; nothing is assigned yet.

        Returns:
          The outputs that are rows, then the values of assigned variables; or which guard failed.
        """
        program = self._program()
        found = self._compute(program, leaves, draws)
        # Not if anything went wrong: then its memory may still be in use.
        self.programs.append(program)
        return found

    def _program(self) -> Any:
        if self._device != config.device():
            self.programs, self._first = [], None
        try:
            return self.programs.pop()
        except IndexError:
            log = _copy(self.log)
            if self._first is None:
                wanted = dict.fromkeys([*(guard.row for guard in self.guards), *self.leaving])
                program = executor().program(log, list(wanted))
                self._place(program)
                self._first, self._device = program, config.device()
                return program
            return self._first.another(log)

    def _place(self, program: Any) -> None:
        """Note where a program leaves its values."""
        place = program.place
        self._at = [place[row] for row in self.leaving]
        cells = [at for at, single in zip(self._at, self._singles, strict=True) if single]
        self._cells = _getter(cells)
        guards = [place[self.guards[k].row] for k in self._cell_guards]
        self._guard_cells = _getter(guards)
        self._expected = tuple(self.guards[k].bits for k in self._cell_guards)
        self._array_guards_at = [
            (k, place[self.guards[k].row], self.guards[k].bits) for k in self._array_guards
        ]

    def _compute(
        self, program: Any, leaves: list[Tensor], draws: Draws
    ) -> list[Tensor] | Failed:
        log: Log = program.log
        cell, buffers = log.columns.cell_view, log.buffers
        for k, row in self._cell_arguments:
            cell[row] = bits_of(leaves[k])
        for row, variable in self._cell_variables:
            cell[row] = bits_of(variable._value)
        for k, row in self._array_arguments:
            buffers[row] = array = leaves[k]._array()
            cell[row] = address_of(array)
        for row, variable in self._array_variables:
            buffers[row] = array = variable._value._array()
            cell[row] = address_of(array)
        for k, (row, draw) in enumerate(self.draws):
            array = draws.take(k, draw)
            log.put(row, array, TABLES.specs[log.spec[row]])
        program.run()
        if self.guards:
            failed = self._failed(log)
            if failed is not None:
                return failed
        bits = self._cells(cell)
        home, count = Cells(bits), 0
        found = []
        for at, spec, single in zip(self._at, self._specs, self._singles, strict=True):
            tensor = Tensor()
            tensor._spec = spec
            if single:
                tensor._home, tensor._row = home, count  # type: ignore[assignment]
                count += 1
            else:
                array = buffers[at]
                tensor._home = array if array.shape == spec.shape else array.reshape(spec.shape)
                tensor._row = -1
            found.append(tensor)
        if len(buffers) > len(self.log.buffers):  # let go of what is not ours
            buffers.clear()
            buffers.update(self.log.buffers)
        return found

    def _failed(self, log: Log) -> Failed | None:
        """The first guard that does not hold."""
        found = self._guard_cells(log.columns.cell_view)
        first = len(self.guards)
        bits: int | bytes | None = None
        if found != self._expected:
            for k, cell, expected in zip(self._cell_guards, found, self._expected, strict=True):
                if cell != expected:
                    first, bits = k, cell
                    break
        for k, at, raw in self._array_guards_at:
            if k > first:
                break
            if (seen := log.buffers[at].tobytes()) != raw:
                first, bits = k, seen
                break
        return Failed(first, bits) if bits is not None else None

    def commit(self, values: list[Tensor], draws: Draws) -> None:
        """Assign what the call assigns, and count its draws: all of it, or nothing."""
        if not self.effects:
            return
        values = values[len(values) - len(self.assigned) :]
        commit(self._assigned, values, draws, len(self.draws))

    # Replaying on a log that a tape follows.

    def appended(self, log: Log, leaves: list[Tensor], draws: Draws) -> list[Tensor] | Failed:
        """Append the rows to this thread's log; look at what guards look at.

        Returns:
          As `run`: tensors of the log, to be computed when they are looked at.
        """
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
            for k, (row, draw) in enumerate(self.draws):
                to[row] = log.leaf(draws.take(k, draw), TABLES.specs[self.log.spec[row]])
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


def bits_at(log: Log, row: int) -> int | bytes:
    """What guards compare: a row's cell, or the bytes of a larger value."""
    spec = TABLES.specs[log.spec[row]]
    if spec.size == 1:
        bits = log.columns.cell_view[row]
        return bits if spec.dtype.size == 8 else bits & ((1 << 8 * spec.dtype.size) - 1)
    return log.buffers[row].tobytes()


def commit(variables: list[Variable], values: list[Tensor], draws: Draws, count: int) -> None:
    """Give variables their values and count ``count`` draws, in one step."""
    log, journal = local.log, local.journal
    if journal is not None:
        for variable in variables:
            journal.setdefault(id(variable), (variable, variable._value))
    for variable, value in zip(variables, values, strict=True):
        if value._home is log:
            log.pending[id(variable)] = variable
    counted = map(setattr, [STATE], ["draws"], [draws.after(count)]) if draws.held else ()
    set_values(variables, values, counted)


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
