"""Tracing: one call of a function, recorded in a log of its own to be replayed.

A trace computes on the real inputs. Whatever Python learns of a value on the way it learns by a
look, and every look leaves a *guard*: the row, and the bits that were seen. While all guards hold,
the same Python would record the same rows. Nothing outside is changed before the call has ended:
what it assigns is noted in the trace, and random numbers are counted in `CallDraws`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ..derive.custom import Segment, append_upstream, depends_on, stop_recording
from ..log.log import VALUE, Log, local
from ..log.look import executor
from ..log.threads import run_in_thread
from ..ops.random import STATE, Draw
from ..ops.reduction import reduce_all
from ..values import convert, dtypes
from ..values import tensor as tensors
from ..values.memory import Array
from ..values.spec import SPECS, Spec, intern
from ..values.tensor import Tensor
from .elements import ElementRead, Reader, StartedReader
from .observe.reads import print_options
from .observe.whose import is_in_handler, signal_handlers
from .places import Check, SourceLocation, caller_location

if TYPE_CHECKING:
    from ..log.variable import Variable


class NotReplayable(BaseException):
    """A function does what its replay could not do. Not for programs to catch."""


class ValueRead(BaseException):
    """A function that gives derivatives looks at an adjoint. Not for programs to catch."""


class ValueGuard(NamedTuple):
    """What a look saw.

    Attributes:
      row: Which row was looked at.
      bits: Its cell, or the bytes of a larger value.
      place: Where.
      check: What was checked, if that is what the look was for.
    """

    row: int
    bits: int | bytes
    location: SourceLocation
    check: Check | None = None


class CallDraws:
    """The random numbers of one call: the same ones for every path that is tried.

    Else a guard that depends on them would choose among them. So it is with elements of datasets.

    Attributes:
      base: The number of the first one; -1 if there is none.
      readers: The readers of datasets that the call began, by the id of the dataset.
    """

    __slots__ = ("base", "drawn_arrays", "readers")

    def __init__(self, readers: dict[int, tuple[Any, list[Reader]]] | None = None) -> None:
        self.drawn_arrays: list[tuple[Draw, bool, Any]] = []
        self.base = -1
        self.readers = {} if readers is None else readers

    def reader(self, dataset: Any, number: int) -> Reader:
        """The reader that the call began as number ``number`` of those of a dataset."""
        readers = self.readers.setdefault(id(dataset), (dataset, []))[1]
        while len(readers) <= number:
            readers.append(dataset._reader())
        return readers[number]

    def release_readers(self, element_reads: Sequence[ElementRead] = ()) -> None:
        """Leave readers that these do not use to whoever reads the dataset next."""
        used = {
            (id(x.source.dataset), x.source.number)
            for x in element_reads
            if type(x.source) is StartedReader
        }
        for key, (dataset, readers) in self.readers.items():
            dataset._left_over([x for k, x in enumerate(readers) if (key, k) not in used])
        self.readers = {}

    def elements_read(self, element_reads: Sequence[ElementRead]) -> list[tuple[Reader, int]]:
        """How many elements of which readers were read."""
        counts: dict[int, tuple[Reader, int]] = {}
        for source, number, kind, _ in element_reads:
            reader = self.reader(*source) if type(source) is StartedReader else source
            counts[id(reader)] = reader, number + (kind is not None)
        return list(counts.values())

    def take(self, k: int, draw: Draw) -> Any:
        """The numbers of draw ``k`` of this call."""
        if self.base < 0:
            self.base = STATE.draws
        if k < len(self.drawn_arrays) and self.drawn_arrays[k][0] == draw:
            return self.drawn_arrays[k][2]
        del self.drawn_arrays[k:]
        array = draw.array(self.number_after(k))
        self.drawn_arrays.append((draw, draw.counted, array))
        return array

    def number_after(self, k: int) -> int:
        """The number of the draw that follows the first ``k`` of this call."""
        return self.base + sum(counted for _, counted, _ in self.drawn_arrays[:k])

    def restart(self) -> None:
        """The call has set the seed."""
        self.base = 0
        self.drawn_arrays.clear()


class Trace(Log):
    """The log of one call.

    Attributes:
      arguments: The row of each tensor among the arguments.
      inputs: Rows whose values NumPy arrays from outside have, and these arrays.
      guards: By row, in the order of the looks.
      draws: The call's random numbers.
      drawn: The rows of draws, their numbers in the call, and how they are drawn.
      position: The number of the next draw.
      reason: Why the trace cannot be replayed.
      created: Variables that the call made, by id.
      values: Variables that it read, and what they had, by id.
      assigned: Variables that it assigned, and their values, by id.
      opaque: Whether a derivative cannot be recorded that a function of the program gives.
      upstream: Rows that stand for its adjoints.
      closed: Whether the call has ended: looks leave no guards any more.
      handlers: The code of signal handlers.
      handled: Variables that they alone have assigned, by id: this lasts, whatever becomes of the
        call.
      state: The seed and the number of draws, as they are if the call comes to nothing.
      feeds: The elements of datasets that it read.
      elements_taken: Readers of datasets by id: how many elements the call read, and how many were read
        before.
      begun: How often it began to read a dataset, by id.
      begins: Which of these a reader is, by id.
    """

    __slots__ = (
        "arguments",
        "assigned",
        "closed",
        "created",
        "draw_rows",
        "draws",
        "element_reads",
        "elements_taken",
        "guards",
        "handler_assigned",
        "handlers",
        "inputs",
        "observer",
        "opaque",
        "position",
        "random_state",
        "reader_counts",
        "reason",
        "refusal",
        "started_readers",
        "token",
        "upstream",
        "values",
    )

    tracing = nested = True

    def __init__(self, draws: CallDraws) -> None:
        super().__init__(1024)
        self.arguments: list[int] = []
        self.guards: dict[int, ValueGuard] = {}
        self.draws = draws
        self.draw_rows: list[tuple[int, int, Draw]] = []
        self.position = 0
        self.reason = ""
        self.created: dict[int, Variable] = {}
        self.values: dict[int, tuple[Variable, Tensor]] = {}
        self.assigned: dict[int, tuple[Variable, Tensor]] = {}
        self.closed = False
        self.opaque = False
        self.upstream: set[int] = set()
        self.handlers = signal_handlers()
        self.handler_assigned: set[int] = set()
        self.refusal = ""
        self.inputs: list[tuple[int, Any]] = []
        self.observer: Any = None  # `Observer` of the call
        self.token = object()
        self.random_state = STATE.seed, STATE.draws
        self.element_reads: list[ElementRead] = []
        self.elements_taken: dict[int, tuple[Reader, int, int]] = {}
        self.reader_counts: dict[int, tuple[Any, int]] = {}
        self.started_readers: dict[int, StartedReader] = {}

    def argument(self, array: Array, spec: Spec) -> Tensor:
        """A tensor that stands for an argument."""
        self.reserve(1)
        row = self.leaf(array, spec)
        self.arguments.append(row)
        return self.tensor(row, spec)

    def row_of(self, value: Any, like: Spec | None, op: str) -> tuple[int, Spec]:
        """The row of any operand; an array from outside is read anew in every replay."""
        row, spec = super().row_of(value, like, op)
        if isinstance(value, np.ndarray) and self._is_input(value):
            self.inputs.append((row, value))
            self.observer.note_layout(value, None)
        return row, spec

    def _is_input(self, array: Any) -> bool:
        observer = self.observer
        return not (self.closed or observer.frozen) and bool(observer.is_outside(array))

    def convert_input(self, value: Any, array: Array) -> Any:
        """A tensor that has the value of an array, if it is from outside."""
        if not self._is_input(value):
            return array
        spec = intern(array.shape, dtypes.of_array(array))
        self.reserve(1)
        row = self.leaf(array, spec)
        self.inputs.append((row, value))
        self.observer.note_layout(value, None)
        return self.tensor(row, spec)

    def read(self, variable: Variable, value: Tensor, codes: tuple[int, int] | None = None) -> int:
        """Append a read of a variable whose value outside of the call is ``value``."""
        assigned = self.assigned.get(id(variable))
        if assigned is not None:
            value = assigned[1]
        elif value._home is not self:
            self.values.setdefault(id(variable), (variable, value))
        return super().read(variable, value, codes)

    def is_stale(self) -> bool:
        """Whether others have assigned what the call read, or drawn what it drew."""
        if self.draws.base >= 0 and not self.reason and STATE.draws != self.draws.base:
            return True
        if any(reader.taken != before for reader, _, before in self.elements_taken.values()):
            return True
        return any(
            variable._value is not value
            for key, (variable, value) in self.values.items()
            if key not in self.created
        )

    def current_value(self, variable: Variable) -> Tensor:
        """A read, whose look leaves a guard."""
        return variable.read_value()

    def read_unwatched(self, variable: Variable) -> int:
        """Append a read as any other: which tapes follow it is for the replay to say."""
        return variable._read_in(self)

    def evaluate_row(self, tensor: Tensor) -> Array:
        """The value of a row, computed if need be; the look leaves a guard."""
        row, spec = tensor._row, tensor._spec
        if self.upstream and depends_on(self, row, self.upstream):
            raise ValueRead
        if self.columns.state_view[row] != VALUE:
            executor().compute(self, [row], [], True)
        if not self.closed and row not in self.guards:
            self.guards[row] = ValueGuard(row, bits_at(self, row), caller_location())
        return self.value(row, spec)

    def untracked_value(self, tensor: Tensor) -> Array:
        """The value of a tensor, for what is computed at once: no guard is left."""
        was_closed, self.closed = self.closed, True
        try:
            return tensor._array()
        finally:
            self.closed = was_closed

    def call_untracked(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns, called in a thread of its own: only this one is observed."""
        return run_in_thread(function, *arguments)

    def guard_value(self, make_tensor: Callable[[], Tensor]) -> None:
        """Leave a guard."""
        make_tensor()._array()

    def call_guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Leave a guard."""
        observer = self.observer
        if not (self.closed or observer.frozen):
            name = getattr(function, "__qualname__", repr(function))
            observer.note_call(function, arguments, f"{name}()", None, None)
        return function(*arguments)

    def start_reader(self, dataset: Any) -> Reader:
        """What reads a dataset from outside, from its beginning; others are made in replays."""
        number = self.reader_counts.get(id(dataset), (dataset, 0))[1]
        self.reader_counts[id(dataset)] = dataset, number + 1
        reader = self.draws.reader(dataset, number)
        self.started_readers[id(reader)] = start = StartedReader(dataset, number)
        self.element_reads.append(ElementRead(start, -1, (), ()))
        return reader

    def read_element(self, reader: Reader) -> list[Tensor] | None:
        """The leaves of a reader's next element; None if it has ended. Each replay has its own."""
        self._not_in_effects()
        _, number, _ = self.elements_taken.setdefault(id(reader), (reader, 0, reader.taken))
        observer, state = self.observer, (STATE.seed, STATE.draws)
        active, observer._active = observer._active, False
        try:
            entry = reader.read_ahead(number)
        finally:
            observer._active = active
            if (STATE.seed, STATE.draws) != state and not self.reason:
                self.random_state = STATE.seed, STATE.draws
        if entry.refused:
            self.refuse(entry.refused)
        rows: list[int] = []
        tensors: list[Tensor] = []
        for leaf in entry.leaves:
            self.reserve(1)
            rows.append(self.leaf(leaf._stored_value(), leaf._spec))
            tensors.append(self.tensor(rows[-1], leaf._spec))
        source = self.started_readers.get(id(reader), reader)
        self.element_reads.append(ElementRead(source, number, entry.kind, tuple(rows)))
        if entry.kind is None:
            return None
        self.elements_taken[id(reader)] = reader, number + 1, self.elements_taken[id(reader)][2]
        return tensors

    def consume_elements(self) -> None:
        """What was read is read, as Python reads it: the call raises."""
        for reader, number, _ in self.elements_taken.values():
            reader.advance(number)
        self.draws.release_readers(self.element_reads)

    def holds_for_all(
        self,
        x: Tensor,
        on_array: Callable[[Any], Any],
        on_tensor: Callable[[Any], Tensor],
        message: str,
    ) -> bool:
        """Whether a condition holds for all elements. The guard says what the look was for."""
        truth = reduce_all(on_tensor(x))
        holds = bool(truth)
        guard = self.guards.get(truth._row)
        if holds and guard is not None:
            check = Check(self.row_of(x, None, "Check")[0], on_array, message)
            self.guards[truth._row] = guard._replace(check=check)
        return holds

    def segment(
        self, adjoints: Callable[[Log, list[Tensor]], list[int]], specs: Sequence[Spec]
    ) -> Segment | None:
        """What a function that gives derivatives records; None if it does more than that."""
        assigned, position, draw_count = self.assigned, self.position, len(self.draw_rows)
        outer_upstream, start = self.upstream, self.n
        seeds = append_upstream(self, specs)
        rows = [seed._row for seed in seeds]
        try:
            self.upstream = outer_upstream | set(rows)
            with stop_recording():
                adjoint_rows = adjoints(self, seeds)
            if self.assigned is assigned and self.position == position:
                return Segment(rows, start, self.n, adjoint_rows)
        except (ValueRead, Exception):
            pass  # if it is asked for, and the function raises, Python will say
        finally:
            self.upstream = outer_upstream
        self.restore((assigned, position))
        del self.draw_rows[draw_count:]
        self.opaque = True
        return None

    def may_need_gradients(self) -> bool:
        """Tapes from outside may ask."""
        return True

    def drop_calls(self) -> None:
        """Tapes from outside may ask for derivatives."""

    def _not_in_effects(self) -> None:
        """What is printed or logged is not observed, and not done by replays."""
        if self.observer is not None and self.observer.printing_follower is not None:
            self.refuse("it assigns or draws while it prints or logs")

    def draw(self, draw: Draw) -> Tensor:
        """A tensor of random numbers, drawn anew in every replay."""
        self._not_in_effects()
        array = self.draws.take(self.position, draw)
        spec = intern(array.shape, dtypes.of_array(array))
        self.reserve(1)
        row = self.leaf(array, spec)
        self.draw_rows.append((row, self.position, draw))
        self.position += 1
        return self.tensor(row, spec)

    def assign(self, variables: Sequence[Variable], values: Sequence[Tensor]) -> None:
        """Note what variables are to become; reads in this log see it."""
        self._not_in_effects()
        # Rows: what is read after this is not what the variable was before the call.
        changes = {
            id(variable): (variable, self.adopt(value))
            for variable, value in zip(variables, values, strict=True)
        }
        if is_in_handler(self.handlers):
            self.handler_assigned |= changes.keys() - self.assigned.keys()
        else:
            self.handler_assigned -= changes.keys()
        self.assigned = self.assigned | changes
        self.forget_reads(variables)

    def forget_reads(self, variables: Iterable[Variable]) -> None:
        """Read variables anew."""
        for variable in variables:
            read = variable._read
            if read is not None and read[0] is self:
                variable._read = None

    def clear_tensor_links(self) -> None:
        """Forget slices, masks and logits: no tensor refers to another one."""
        for tensor in self.tensors:
            for tie in ("_sliced", "_keras_mask", "_keras_logits"):
                if hasattr(tensor, tie):
                    delattr(tensor, tie)

    def end(self) -> None:
        """Let go of tensors, which refer to this log: what it holds is freed with the last one.

        Arrays of the program are among it, of which some cannot grow until then.
        """
        self.tensors = []

    def adopt(self, value: Tensor) -> Tensor:
        """The tensor as a row of this log."""
        if value._home is self:
            return value
        self.reserve(1)
        return self.tensor(*self.row_of(value, None, "assign"))

    def on_variable_created(self, variable: Variable) -> None:
        """The call makes a variable."""
        self.created[id(variable)] = variable

    def on_seed_set(self) -> None:
        """The call sets the random seed."""
        self.draws.restart()
        self.position = 0
        self.reason = "it sets the random seed"

    def refuse(self, reason: str) -> NoReturn:
        """Give up: the function runs without a recording, whoever catches this."""
        self.refusal = reason
        raise NotReplayable(reason)

    def retry(self, reason: str) -> None:
        """Give up if the call can begin again: layers may have variables that it has made."""
        if not self.created:
            self.refuse(reason)

    def on_default_copied(self, array: Array) -> None:
        """Arrays of defaults are observed."""
        self.observer.note_default(array)

    def on_container_created(self, container: Any) -> None:
        """The call's own containers are not from outside."""
        self.observer.note_created(container)

    def on_container_copied(self, container: Any, original: Any) -> None:
        """The call has a container in the place of one that it was given."""
        self.observer.originals[id(container)] = original

    def checkpoint(self) -> tuple[dict[int, tuple[Variable, Tensor]], int]:
        """What the call has assigned and drawn so far."""
        return self.assigned, self.position

    def restore(self, mark: tuple[dict[int, tuple[Variable, Tensor]], int]) -> None:
        """Assign and draw again from a mark on; what signal handlers did since then lasts."""
        self.forget_reads(variable for variable, _ in self.assigned.values())
        lasting = {key: self.assigned[key] for key in self.handler_assigned & self.assigned.keys()}
        self.assigned, self.position = mark[0] | lasting, mark[1]

    def collect(self) -> bool:
        """Rows stay where they are."""
        return False

    def complete(self) -> None:
        """What a call computes belongs to where it is replayed."""


def _convert_input(value: Any, array: Array) -> Any:
    return local.log.convert_input(value, array)


convert.register_input = _convert_input


def _guard_print_options() -> None:
    local.log.call_guarded(print_options)


tensors.before_printing = _guard_print_options


def bits_at(log: Log, row: int) -> int | bytes:
    """What guards compare: a row's cell, or the bytes of a larger value."""
    spec = SPECS.specs[log.spec[row]]
    if spec.single:
        bits = log.columns.cell_view[row]
        return bits if spec.dtype.size == 8 else bits & ((1 << 8 * spec.dtype.size) - 1)
    data: bytes = log.buffers[row].tobytes()
    return data
