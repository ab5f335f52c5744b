"""Recordings prepared for one device: programs that run the rows, and how to read the results."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..executor import Program
from ..log.evaluate import executor
from ..log.log import READ_CODE, VALUE, Log
from ..log.op import CODES, LEAF
from ..values.memory import Array, address_of
from ..values.spec import Spec
from ..values.tensor import SCALAR_STORAGE, Tensor
from .trace import Trace

if TYPE_CHECKING:
    from .recording import Recording

_ZERO_PADDING = [bytes(8 - k) for k in range(9)]


def cell_of(tensor: Tensor, keep_alive: list[Array]) -> int:
    """Return a tensor's cell on the host: the bits of one element, or an address.

    Append the array at that address to ``keep_alive``, because the tensor may move meanwhile.
    """
    array = tensor._array()
    keep_alive.append(array)
    if tensor._spec.single:
        raw = array.tobytes()
        cell = int.from_bytes(raw + _ZERO_PADDING[len(raw)], sys.byteorder, signed=True)
    else:
        cell = address_of(array)
    if tensor._home is array:  # a log may store a value elsewhere
        tensor._cell = cell
    return cell


class FailedGuard(NamedTuple):
    """A guard that does not hold: its number, and the bits that were seen instead."""

    guard: int
    bits: int | bytes


class PreparedRecording:
    """A recording prepared for one device, with a program for each thread that runs it.

    Attributes:
      device: The device.
      programs: Programs that no thread uses at the moment.
      guard_rows: The rows of guards on single elements.
      get_guard_cells: Returns the cells of these rows.
      expected_bits: The bits that these cells must hold.
      has_array_guards: Whether there are guards on larger values.
      buffer_rows: For each result the row that has its buffer; -1 if it is in a cell.
      is_simple: Whether all guards are on single elements and all results are computed.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.device = ""
        self.programs: list[Program] = []
        self._template = program = self._plan_program()
        self._constants = dict(program.log.buffers)  # on the device, if it has its own memory
        buffer_row = program.place
        rows = [buffer_row[row] for row in recording.output_rows]
        self._output_specs = recording._output_specs
        fed = {row: k for k, row in enumerate(recording._fed_rows)}
        device_rows = set() if program.feed is None else set(fed)  # their cells may be unknown here
        self.buffer_rows = [
            -1 if spec.single and at not in device_rows and not program.late(at) else at
            for at, spec in zip(rows, self._output_specs, strict=True)
        ]
        self._passed_through = [(fed[at], at) for at in self.buffer_rows if at in fed]
        self._resets_buffers = any(at >= 0 for at in self.buffer_rows) or bool(recording.draws)
        self._get_cells = make_getter(rows)
        guards = [] if program.deferred else recording.guards
        scalar_guards = [guard for guard in guards if type(guard.bits) is int]
        self.guard_rows = [buffer_row[guard.row] for guard in scalar_guards]
        self.get_guard_cells = make_getter(self.guard_rows)
        self.expected_bits: tuple[Any, ...] = tuple(guard.bits for guard in scalar_guards)
        self.has_array_guards = len(scalar_guards) < len(guards)
        # Guards that are checks: the number, the position of the checked value among the fed values
        # (-1 if it is computed), and the condition. Constants were checked during the trace.
        self._checks = [
            (number, fed.get(guard.check.row, -1), guard.check.holds)
            for number, guard in enumerate(recording.guards)
            if program.deferred
            and guard.check is not None
            and (guard.check.row in fed or not recording.is_leaf(guard.check.row))
        ]
        self._checked_arrays: dict[int, Array] = {}  # arrays that passed the last time
        self.is_simple = not (self.has_array_guards or self._passed_through or self._checks)
        self.programs.append(program)

    def _plan_program(self) -> Program:
        recording = self._recording
        rows = dict.fromkeys([*(guard.row for guard in recording.guards), *recording.output_rows])
        guards = recording.guards
        checks = [(guard.row, guard.check.message) for guard in guards if guard.check is not None]
        reads_values = len(checks) < len(guards)
        log = _copy_log(recording.log)
        return executor().program(log, list(rows), recording.compiled, reads_values, checks)

    def check_inputs(self, program: Program, fed: Sequence[Tensor]) -> FailedGuard | None:
        """Return the first failing check among those on values that the host knows.

        If other checks remain, mark the program as unsure.
        """
        program.unsure = False
        for number, k, holds in self._checks:
            storage: Any = fed[k]._home if k >= 0 else None
            array = storage if type(storage) is np.ndarray else getattr(storage, "_host", None)
            if array is None:
                program.unsure = True
            elif self._checked_arrays.get(number) is not array:
                if not holds(array).all():
                    return FailedGuard(number, 0)
                self._checked_arrays[number] = array
        return None

    def new_program(self) -> Program:
        """Make a program for another thread."""
        return self._template.another(_copy_log(self._recording.log))

    def plan(self) -> Any:
        """Return the plan that is executed, if there is one."""
        return getattr(self._template, "plan", None)

    def take_outputs(
        self, program: Program, leaves: Sequence[Tensor], values: Sequence[Tensor]
    ) -> list[Tensor]:
        """Return computed results as tensors. ``values`` are the values that variables had."""
        log = program.log
        for k, passed_row in self._passed_through:  # arguments, then variables, returned unchanged
            source = leaves[k] if k < len(leaves) else values[k - len(leaves)]
            log.buffers[passed_row] = source._stored_value()
        outputs = []
        for row, spec, bits in zip(
            self.buffer_rows, self._output_specs, self._get_cells(program.cell), strict=True
        ):
            tensor = Tensor()
            tensor._spec = spec
            if row < 0:
                tensor._cell = bits
                tensor._home = SCALAR_STORAGE
            else:
                tensor._home = home = with_shape(log.buffers[row], spec)
                if type(home) is np.ndarray:
                    tensor._cell = bits
            outputs.append(tensor)
        if self._resets_buffers:
            log.buffers = dict(self._constants)
        return outputs


def with_shape(array: Array, spec: Spec) -> Array:
    """Return an array in a spec's shape."""
    has_shape = array.shape is spec.shape or array.shape == spec.shape
    return array if has_shape else array.reshape(spec.shape)


def make_getter(rows: list[int]) -> Callable[[Any], tuple[int, ...]]:
    """Return a function that returns the cells of some rows as a tuple."""
    if not rows:
        return lambda cells: ()
    if len(rows) == 1:
        (row,) = rows
        return lambda cells: (cells[row],)
    return operator.itemgetter(*rows)


def copy_rows(trace: Trace, fed: set[int]) -> Log:
    """Return a log with the rows of a trace. Leaves have values, except those that are fed."""
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
    log.copy_lines(trace)
    return log


def _copy_log(log: Log) -> Log:
    """Return a log with the same rows and leaves."""
    n = log.n
    copy = Log(max(n, 1))
    for name in log.columns.NAMES:
        getattr(copy.columns, name)[:n] = getattr(log.columns, name)[:n]
    copy.n, copy.extra, copy.extra_n = n, log.extra, log.extra_n
    copy.buffers = dict(log.buffers)
    copy.copy_lines(log)
    return copy
