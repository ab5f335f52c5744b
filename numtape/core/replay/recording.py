"""Recordings: the rows of a traced call, which a replay computes again with other leaf values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..executor import Program
from ..log.evaluate import executor
from ..log.log import READ_CODE, VALUE, Log, local
from ..log.op import CODES
from ..log.variable import Variable, set_values
from ..ops.random import STATE
from ..values.memory import Array, convert_array
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor, of_array
from .elements import ElementRead, StartedReader
from .prepared import FailedGuard, PreparedRecording, cell_of, copy_rows
from .splice import retract, splice
from .trace import CallDraws, Trace, ValueGuard, bits_at

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
      opaque: Whether derivatives of custom gradient functions are missing.
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
        reads = np.flatnonzero(code == READ_CODE).tolist()
        self.variables = [(row, trace.variables[b[row]]) for row in reads]
        self.inputs = [(row, array) for row, array in trace.inputs if row < trace.n]
        self.draws, self.draw_count, self.element_reads = (
            trace.draw_rows,
            trace.position,
            list(trace.element_reads),
        )
        self.guards: list[ValueGuard] = list(trace.guards.values())
        self.outputs, self.assigned, self.compiled = outputs, assigned, compiled
        fed = {*trace.arguments, *reads, *(row for row, *_ in trace.draw_rows)}
        fed.update(row for row, _ in self.inputs)
        fed.update(row for feed in self.element_reads for row in feed.rows)
        self.log = copy_rows(trace, fed)
        self.log.calls = {link: call.without_function() for link, call in trace.calls.items()}
        self.opaque = trace.opaque
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
        tried = getattr(plan, "tried", ())
        for g, (row, inputs) in getattr(plan, "by_hand", {}).items():
            if g in tried:
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
                *(_read_input(array, of) for array, of in self._input_arrays),
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
            failed = self._first_failed_guard(program)
            if failed is not None:
                prepared.programs.append(program)
                return failed
        outputs = prepared.take_outputs(program, leaves, values or []) if self.output_rows else []
        # Not after an error: the program's memory may still be in use then.
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
        busy, log.busy = log.busy, True
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
            failed = self._first_failed_row(log, rows)
            if failed is not None:
                retract(log, *appended_at)
                return failed
        except BaseException:
            if appended_at is not None and log.n > appended_at[0]:
                retract(log, *appended_at)
            raise
        finally:
            log.busy = busy
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
