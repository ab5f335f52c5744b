"""Recordings: the rows of a call that was traced, to be computed again with other leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..executor import Program
from ..log.log import READ_CODE, VALUE, Log, local
from ..log.look import executor
from ..log.op import CODES
from ..log.variable import Variable, set_values
from ..ops.random import STATE
from ..values.memory import Array, convert_array
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor, of_array
from .elements import Begun, Feed
from .graft import graft, retract
from .ready import Failed, Ready, cell_of, leaves_of
from .trace import Draws, Guard, Trace, bits_at

OTHER = Failed(-1, 0)  # the elements of a dataset are of another kind
LARGE = 1000  # elements from which it matters who computes an op


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
      feeds: Elements of datasets that are read.
      guards: What must be seen again.
      outputs: What the call returns.
      assigned: Variables and the rows that they become.
      opaque: Whether it lacks derivatives that functions of the program give.
      compiled: Whether to compile it before it is replayed for the first time.
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
        self.draws, self.drawn, self.feeds = trace.drawn, trace.position, list(trace.feeds)
        self.guards: list[Guard] = list(trace.guards.values())
        self.outputs, self.assigned, self.compiled = outputs, assigned, compiled
        fed = {*trace.arguments, *reads, *(row for row, *_ in trace.drawn)}
        fed.update(row for row, _ in self.inputs)
        fed.update(row for feed in self.feeds for row in feed.rows)
        self.log = leaves_of(trace, fed)
        self.log.calls = {link: call.without_function() for link, call in trace.calls.items()}
        self.opaque = trace.opaque
        self._ready: Ready | None = None
        self._on: dict[str, Ready] = {}  # by device
        self._prepare()

    def _prepare(self) -> None:
        """Sort what is done at each call by what is to be done with it."""
        spec = self.log.spec
        self._read = [variable for _, variable in self.variables]
        self._read_rows = [row for row, _ in (*self.variables, *self.inputs)]
        self._read_rows += [row for feed in self.feeds for row in feed.rows]
        self._fed = [row for _, row in self.arguments] + self._read_rows
        self._arrays = [(array, SPECS.specs[spec[row]]) for row, array in self.inputs]
        self._assigned = [variable for variable, _ in self.assigned]
        self.leaving = [out.row for out in self.outputs if out.row >= 0]
        self.leaving += [row for _, row in self.assigned]
        self._specs = [SPECS.specs[spec[row]] for row in self.leaving]
        self.drawing = bool(self.draws or self.feeds)
        self.effects = bool(self.assigned or self.drawing)

    def is_leaf(self, row: int) -> bool:
        """Whether a row is not computed."""
        return bool(self.log.columns.state_view[row] == VALUE)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.log.n

    def host(self) -> tuple[str, ...]:
        """Ops that NumPy or SciPy computes and that may take long, where that is known."""
        plan = None if self._ready is None else self._ready.plan()
        found = []
        tried = getattr(plan, "tried", ())
        for g, (row, inputs) in getattr(plan, "by_hand", {}).items():
            if g in tried:
                continue
            op = CODES.entries[self.log.code[row]][0]
            if op.on_host or max(SPECS.size[self.log.spec[x]] for x in (row, *inputs)) >= LARGE:
                found.append(op.name)
        return tuple(found)

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
        if self.feeds:
            elements = self.elements(draws)
            if elements is None:
                ready.programs.append(program)
                return OTHER
            values = [*(values or ()), *elements]
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

    def elements(self, draws: Draws) -> list[Tensor] | None:
        """The tensors of the elements that are read; None if they are of another kind."""
        found: list[Tensor] = []
        for source, number, kind, _ in self.feeds:
            reader = draws.reader(*source) if type(source) is Begun else source
            if number < 0:
                continue
            entry = reader.ahead(number)
            if entry.refused or entry.kind != kind:
                return None
            found += entry.leaves
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
            commit(self._assigned, values, draws, self.drawn, log, feeds=self.feeds)

    # Replaying on a log that a tape follows.

    def appended(self, log: Log, leaves: Sequence[Tensor], draws: Draws) -> list[Tensor] | Failed:
        """Append the rows to this thread's log; look at what guards look at.

        Returns:
          As `run`: tensors of the log, to be computed when they are looked at.
        """
        log.reserve(len(self.arguments) + len(self._read_rows) + len(self.draws))
        elements = self.elements(draws) if self.feeds else []
        if elements is None:
            return OTHER
        busy, log.busy = log.busy, True
        appended_at: tuple[int, int] | None = None
        try:
            to = np.full(self.log.n, -1, np.int32)
            for k, row in self.arguments:
                to[row] = log.row_of(leaves[k], None, "function")[0]
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
                to[row] = log.leaf(_input(array, spec)._stored_value(), spec)
            for row, tensor in zip(
                (row for feed in self.feeds for row in feed.rows), elements, strict=True
            ):
                to[row] = log.row_of(tensor, None, "function")[0]
            for row, k, draw in self.draws:
                to[row] = log.leaf(draws.take(k, draw), SPECS.specs[self.log.spec[row]])
            # Leaves stay, whatever happens: the log's tables refer to them.
            appended_at = log.n, log.extra_n
            graft(self.log, log, to)
            failed = self._failed_on(log, to)
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


def commit(
    variables: list[Variable],
    values: list[Tensor],
    draws: Draws,
    count: int,
    log: Log | None,
    had: Sequence[tuple[Variable, Tensor]] = (),
    feeds: Sequence[Feed] = (),
) -> bool:
    """Give variables their values, count ``count`` draws and take elements, in one step.

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
    changes: list[tuple[Any, str, Any]] = []
    if draws.base >= 0:
        changes.append((STATE, "draws", draws.after(count)))
    if feeds or draws.readers:
        for reader, number in draws.of(feeds):
            changes += [(reader, *change) for change in reader.after(number).items()]
    counted = map(setattr, *zip(*changes, strict=True)) if changes else ()
    done = set_values(variables, values, counted, expected=had)
    if done and draws.readers:
        draws.give_back(feeds)
    return done


def _input(array: Array, spec: Spec) -> Tensor:
    """What an array from outside holds now."""
    return of_array(convert_array(array, spec.dtype.numpy_dtype), spec)
