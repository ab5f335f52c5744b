"""Recordings: the rows of a traced call, which a replay computes again with other leaf values.

`Recording` has the rows, for any device. `PreparedRecording` has the programs that run them on one
device, and says how to read the results.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..executor import Program
from ..log.evaluate import executor
from ..log.log import READ_CODE, VALUE, Log, local
from ..log.op import CODES, LEAF
from ..log.variable import Variable, set_values
from ..ops.random import STATE
from ..values.memory import Array, address_of, convert_array
from ..values.spec import SPECS, Spec
from ..values.tensor import SCALAR_STORAGE, Tensor, of_array
from .elements import ElementRead, StartedReader
from .splice import retract, splice
from .trace import CallDraws, Trace, ValueGuard, bits_at

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
        feed_index = {row: k for k, row in enumerate(recording._fed_rows)}
        # The cells of these rows may be unknown here.
        device_rows = set() if program.feed is None else set(feed_index)
        self.buffer_rows = [
            -1 if spec.single and place not in device_rows and not program.late(place) else place
            for place, spec in zip(rows, self._output_specs, strict=True)
        ]
        self._passed_through = [
            (feed_index[place], place) for place in self.buffer_rows if place in feed_index
        ]
        self._get_cells = make_getter(rows)
        guards = [] if program.deferred else recording.guards
        scalar_guards = [guard for guard in guards if type(guard.bits) is int]
        self.guard_rows = [buffer_row[guard.row] for guard in scalar_guards]
        self.get_guard_cells = make_getter(self.guard_rows)
        self.expected_bits: tuple[Any, ...] = tuple(guard.bits for guard in scalar_guards)
        self.has_array_guards = len(scalar_guards) < len(guards)
        self._resets_buffers = (
            any(place >= 0 for place in self.buffer_rows)
            or self.has_array_guards
            or bool(recording.draws)
        )
        # Guards that are checks: the number, the position of the checked value among the fed values
        # (-1 if it is computed), and the condition. Constants were checked during the trace.
        self._checks = [
            (number, feed_index.get(guard.check.row, -1), guard.check.holds)
            for number, guard in enumerate(recording.guards)
            if program.deferred
            and guard.check is not None
            and (guard.check.row in feed_index or not recording.is_leaf(guard.check.row))
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

    def check_inputs(self, program: Program, fed_values: Sequence[Tensor]) -> FailedGuard | None:
        """Return the first failing check among those on values that the host knows.

        If other checks remain, mark the program as unsure.
        """
        program.unsure = False
        for number, k, holds in self._checks:
            storage: Any = fed_values[k]._home if k >= 0 else None
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
        self.drop_values(program)
        return outputs

    def drop_values(self, program: Program) -> None:
        """Drop a program's references to the values that it computed."""
        if self._resets_buffers:
            program.log.buffers = dict(self._constants)


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


def copy_rows(trace: Trace, fed_rows: set[int]) -> Log:
    """Return a log with the rows of a trace. Leaves have values, except those that are fed."""
    n = trace.n
    log = Log(max(n, 1))
    for name in log.columns.NAMES:
        getattr(log.columns, name)[:n] = getattr(trace.columns, name)[:n]
    kinds = CODES.kind[log.columns.code[:n]]
    is_leaf = (kinds == LEAF) | (log.columns.code[:n] == READ_CODE)
    log.columns.state[:n] = np.where(is_leaf, VALUE, 0)
    log.columns.cell[:n][~is_leaf] = 0
    log.n = n
    log.extra = trace.extra[: max(trace.extra_n, 1)].copy()
    log.extra_n = trace.extra_n
    log.variables = list(trace.variables)
    log.variable_index = dict(trace.variable_index)
    log.buffers = {
        row: array for row, array in trace.buffers.items() if is_leaf[row] and row not in fed_rows
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


OTHER_ELEMENTS = FailedGuard(-1, 0)  # the elements of a dataset have another structure
LARGE_SIZE = 1000  # number of elements from which it matters which library computes an op


class Output(NamedTuple):
    """A leaf of the call's result: a row with its spec, or a constant.

    Attributes:
      row: The row, or -1 for a constant.
      spec: The row's spec, or None.
      constant: The value that every replay returns.
    """

    row: int
    spec: Spec | None
    constant: Any


class Recording:
    """The rows of one call.

    Attributes:
      log: The rows. Constant leaves have values; each replay feeds the others.
      arguments, variables, inputs, captures: Rows to feed, each with its source: the number of an
        argument, a variable, a NumPy array from outside, a tensor from outside.
      draws: Rows of random numbers, their positions in the call's sequence, and the draws.
      draw_count: The total number of draws.
      element_reads: The dataset elements to read.
      guards: Values that a replay must reproduce.
      outputs: The leaves of the result.
      assigned: Assigned variables, and the rows of their new values.
      lacks_derivatives: Whether derivatives of custom gradient functions are missing.
      compiled: Whether to compile the rows before the first replay.
    """

    def __init__(
        self,
        trace: Trace,
        outputs: list[Output],
        assigned: list[tuple[Variable, int]],
        compiled: bool,
    ) -> None:
        self.arguments = list(enumerate(trace.arguments))
        self.captures = [
            (row, tensor) for row, tensor in trace._leaf_rows.values() if row < trace.n
        ]
        code, b = trace.columns.code[: trace.n], trace.columns.b
        read_rows = np.flatnonzero(code == READ_CODE).tolist()
        self.variables = [(row, trace.variables[b[row]]) for row in read_rows]
        self.inputs = [(row, array) for row, array in trace.inputs if row < trace.n]
        self.draws = trace.draw_rows
        self.draw_count = trace.position
        self.element_reads = list(trace.element_reads)
        self.guards: list[ValueGuard] = list(trace.guards.values())
        self.outputs, self.assigned, self.compiled = outputs, assigned, compiled
        fed_rows = {*trace.arguments, *read_rows, *(row for row, *_ in trace.draw_rows)}
        fed_rows.update(row for row, _ in self.inputs)
        fed_rows.update(row for feed in self.element_reads for row in feed.rows)
        self.log = copy_rows(trace, fed_rows)
        self.log.calls = {link: call.without_function() for link, call in trace.calls.items()}
        self.lacks_derivatives = trace.lacks_derivatives
        self._prepared: PreparedRecording | None = None
        self._prepared_by_device: dict[str, PreparedRecording] = {}  # by device
        self._prepare()

    def _prepare(self) -> None:
        """Precompute the lists that each replay uses."""
        spec = self.log.spec
        self._variables_read = [variable for _, variable in self.variables]
        self._read_rows = [row for row, _ in (*self.variables, *self.inputs)]
        self._read_rows += [row for feed in self.element_reads for row in feed.rows]
        self._fed_rows = [row for _, row in self.arguments] + self._read_rows
        self._input_arrays = [(array, SPECS.specs[spec[row]]) for row, array in self.inputs]
        self._assigned_variables = [variable for variable, _ in self.assigned]
        self.output_rows = [out.row for out in self.outputs if out.row >= 0]
        self.output_rows += [row for _, row in self.assigned]
        self._output_specs = [SPECS.specs[spec[row]] for row in self.output_rows]
        self.has_draws = bool(self.draws or self.element_reads)
        self.has_effects = bool(self.assigned or self.has_draws)

    def is_leaf(self, row: int) -> bool:
        """Return whether a row has a value that is not computed."""
        return bool(self.log.columns.state_view[row] == VALUE)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return self.log.n

    def host_ops(self) -> tuple[str, ...]:
        """Return names of ops that NumPy or SciPy computes and that may be slow, where known."""
        plan = None if self._prepared is None else self._prepared.plan()
        names = []
        tried_groups = getattr(plan, "kernel_first", ())
        for group, (row, inputs) in getattr(plan, "numpy_groups", {}).items():
            if group in tried_groups:
                continue
            op = CODES.entries[self.log.code[row]][0]
            if (
                op.on_host
                or max(SPECS.size[self.log.spec[x]] for x in (row, *inputs)) >= LARGE_SIZE
            ):
                names.append(op.name)
        return tuple(names)

    # Replay where no tape records.

    def run(self, leaves: Sequence[Tensor], draws: CallDraws) -> list[Tensor] | FailedGuard:
        """Compute the results of the call, without assigning variables.

        Returns:
          The output rows, then the new values of assigned variables; or the guard that failed.
        """
        prepared = self._prepared
        if prepared is None or prepared.device is not settings.chosen or settings.moved:
            prepared = self.prepare()
        try:
            program = prepared.programs.pop()
        except IndexError:
            program = prepared.new_program()
        cell, values = program.cell, None
        keep_alive: list[Array] = []  # until all rows are computed
        if self._variables_read:
            values = [variable._value for variable in self._variables_read]  # kept alive as well
        if self._input_arrays:
            values = [
                *(values or ()),
                *(_read_input(array, spec) for array, spec in self._input_arrays),
            ]
        if self.element_reads:
            elements = self.elements(draws)
            if elements is None:
                prepared.programs.append(program)
                return OTHER_ELEMENTS
            values = [*(values or ()), *elements]
        if program.deferred:
            failed_check = prepared.check_inputs(program, (*leaves, *(values or ())))
            if failed_check is not None:
                prepared.programs.append(program)
                return failed_check
        if program.feed is not None:
            for row, tensor in zip(self._fed_rows, (*leaves, *(values or ())), strict=True):
                program.feed(row, tensor)
        else:
            for k, row in self.arguments:
                try:
                    cell[row] = leaves[k]._cell
                except AttributeError:
                    cell[row] = cell_of(leaves[k], keep_alive)
            for row, value in zip(self._read_rows, values or (), strict=True):
                try:
                    cell[row] = value._cell
                except AttributeError:
                    cell[row] = cell_of(value, keep_alive)
        if self.draws:
            self._draw(program.log, draws)
        program.run()
        if (
            prepared.expected_bits and prepared.get_guard_cells(cell) != prepared.expected_bits
        ) or prepared.has_array_guards:
            failed_guard = self._first_failed_guard(program)
            if failed_guard is not None:
                prepared.drop_values(program)
                prepared.programs.append(program)
                return failed_guard
        outputs = prepared.take_outputs(program, leaves, values or [])
        # After an error the program is dropped, because its memory may still be in use.
        prepared.programs.append(program)
        return outputs

    def elements(self, draws: CallDraws) -> list[Tensor] | None:
        """Return the leaves of all dataset elements; None if one has another structure."""
        tensors: list[Tensor] = []
        for source, number, kind, _ in self.element_reads:
            reader = draws.reader(*source) if type(source) is StartedReader else source
            if number < 0:
                continue
            entry = reader.read_ahead(number)
            if entry.refused or entry.kind != kind:
                return None
            tensors += entry.leaves
        return tensors

    def prepare(self) -> PreparedRecording:
        """Return the recording prepared for this thread's device."""
        device = settings.device()
        prepared = self._prepared_by_device.get(device)
        if prepared is None:
            prepared = self._prepared_by_device.setdefault(device, PreparedRecording(self))
        prepared.device = device
        self._prepared = prepared
        return prepared

    def release(self) -> None:
        """Drop the prepared programs."""
        self._prepared, self._prepared_by_device = None, {}

    def _draw(self, log: Log, draws: CallDraws) -> None:
        for row, k, draw in self.draws:
            log.put(row, draws.take(k, draw), SPECS.specs[log.spec[row]])

    def _first_failed_guard(self, program: Program) -> FailedGuard | None:
        """Return the first guard that does not hold."""
        for k, guard in enumerate(self.guards):
            row = program.place[guard.row]
            if type(guard.bits) is int:
                bits: int | bytes = program.cell[row]
            else:
                bits = program.array(row).tobytes()
            if bits != guard.bits:
                return FailedGuard(k, bits)
        return None

    def commit(self, values: list[Tensor], draws: CallDraws, log: Log | None = None) -> None:
        """Assign variables and count random draws: both, or neither.

        ``values`` come from `run`, or from `append_to`, if they are rows of ``log``.
        """
        if self.has_effects:
            values = values[len(values) - len(self._assigned_variables) :]
            commit(
                self._assigned_variables,
                values,
                draws,
                self.draw_count,
                log,
                element_reads=self.element_reads,
            )

    # Replay on a log that a tape records.

    def append_to(
        self, log: Log, leaves: Sequence[Tensor], draws: CallDraws
    ) -> list[Tensor] | FailedGuard:
        """Append the rows to this thread's log, and check the guards.

        Returns:
          The same as `run`, as tensors of the log whose values are computed on demand.
        """
        log.reserve(len(self.arguments) + len(self._read_rows) + len(self.draws))
        elements = self.elements(draws) if self.element_reads else []
        if elements is None:
            return OTHER_ELEMENTS
        was_busy, log.busy = log.busy, True
        appended_at: tuple[int, int] | None = None
        try:
            rows = np.full(self.log.n, -1, np.int32)
            for k, row in self.arguments:
                rows[row] = log.row_of(leaves[k], None, "function")[0]
            for row, variable in self.variables:
                rows[row] = variable._read_in(log)
            for row, tensor in self.captures:
                leaf = log._leaf_rows.get(id(tensor))
                if tensor._home is log:
                    rows[row] = tensor._row
                elif leaf is not None:
                    rows[row] = leaf[0]
            for row, array in self.inputs:
                spec = SPECS.specs[self.log.spec[row]]
                rows[row] = log.leaf(_read_input(array, spec)._stored_value(), spec)
            for row, tensor in zip(
                (row for feed in self.element_reads for row in feed.rows), elements, strict=True
            ):
                rows[row] = log.row_of(tensor, None, "function")[0]
            for row, k, draw in self.draws:
                rows[row] = log.leaf(draws.take(k, draw), SPECS.specs[self.log.spec[row]])
            # Leaves remain even after a failure, because the log's tables refer to them.
            appended_at = log.n, log.extra_n
            splice(self.log, log, rows)
            failed_guard = self._first_failed_row(log, rows)
            if failed_guard is not None:
                retract(log, *appended_at)
                return failed_guard
        except BaseException:
            if appended_at is not None and log.n > appended_at[0]:
                retract(log, *appended_at)
            raise
        finally:
            log.busy = was_busy
        return [
            log.tensor(int(rows[row]), spec)
            for row, spec in zip(self.output_rows, self._output_specs, strict=True)
        ]

    def _first_failed_row(self, log: Log, new_rows: Array) -> FailedGuard | None:
        if not self.guards:
            return None
        rows = [int(new_rows[guard.row]) for guard in self.guards]
        state = log.columns.state_view
        uncomputed = [row for row in rows if state[row] != VALUE]
        if uncomputed:
            with log.lock:
                executor().compute(log, uncomputed, [], True)
        for k, (row, guard) in enumerate(zip(rows, self.guards, strict=True)):
            bits = bits_at(log, row)
            if bits != guard.bits:
                return FailedGuard(k, bits)
        return None


def commit(
    variables: list[Variable],
    values: list[Tensor],
    draws: CallDraws,
    count: int,
    log: Log | None,
    expected: Sequence[tuple[Variable, Tensor]] = (),
    element_reads: Sequence[ElementRead] = (),
) -> bool:
    """Assign variables, count ``count`` draws and take dataset elements, in one step.

    With a log, the values are rows of the log.

    Returns:
      False, with nothing changed, if a variable's value differs from that in ``expected``.
    """
    journal = local.journal
    if journal is not None:
        for variable in variables:
            journal.setdefault(id(variable), (variable, variable._value))
    if log is not None:
        log.pending.update((id(variable), variable) for variable in variables)
    changes: list[tuple[Any, str, Any]] = []
    if draws.base >= 0:
        changes.append((STATE, "draws", draws.number_after(count)))
    if element_reads or draws.readers:
        for reader, number in draws.elements_read(element_reads):
            changes += [(reader, *change) for change in reader.state_after(number).items()]
    updates = map(setattr, *zip(*changes, strict=True)) if changes else ()
    is_committed = set_values(variables, values, updates, expected=expected)
    if is_committed and draws.readers:
        draws.release_readers(element_reads)
    return is_committed


def _read_input(array: Array, spec: Spec) -> Tensor:
    """Return the present contents of an array from outside as a tensor."""
    return of_array(convert_array(array, spec.dtype.numpy_dtype), spec)
