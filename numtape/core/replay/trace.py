"""Tracing: run a function once, in a separate log that can be replayed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ...errors import UnimplementedError
from ..derive.custom import Segment, append_upstream, depends_on, stop_recording
from ..log.evaluate import executor
from ..log.log import LEAF_CODE, VALUE, Log, local
from ..log.thread_state import run_in_thread
from ..ops.random import STATE, Draw
from ..ops.reduction import reduce_all
from ..values import convert, dtypes, tensor as tensors
from ..values.memory import Array
from ..values.spec import SPECS, Spec, intern
from ..values.tensor import Tensor
from .elements import ElementRead, Reader, StartedReader
from .observe.ownership import is_in_handler, signal_handlers
from .observe.reads import print_options

if TYPE_CHECKING:
    from ..log.variable import Variable


class SourceLocation(NamedTuple):
    """A source line of the program."""

    file: str
    line: int


class Check(NamedTuple):
    """An argument check that reads a value, in place of a read by the program.

    Attributes:
      row: The row whose elements are checked.
      holds: Returns for an array which elements are valid.
      message: The error message if an element is invalid.
    """

    row: int
    holds: Callable[[Any], Any]
    message: str


def caller_location() -> SourceLocation:
    """Return the source line of the program that called numtape."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape."):
        frame = frame.f_back
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)


class NotReplayable(BaseException):
    """The function does something that a replay cannot repeat. Programs must not catch this."""


class ValueRead(BaseException):
    """A gradient function reads the value of an adjoint. Programs must not catch this."""


class ValueGuard(NamedTuple):
    """A value that Python read during the trace.

    Attributes:
      row: The row whose value was read.
      bits: The row's cell, or the bytes of a larger value.
      location: The source line that read it.
      check: The argument check that read it, if any.
    """

    row: int
    bits: int | bytes
    location: SourceLocation
    check: Check | None = None


class CallDraws:
    """The random numbers and dataset elements of one call, shared by all paths that are tried.

    If each path drew other numbers, a guard that depends on them would select a path at random.
    The same applies to elements of datasets.

    Attributes:
      base: The number of the first draw; -1 if nothing was drawn.
      drawn_arrays: The draws so far: the draw, whether it is counted, and its numbers.
      readers: The dataset readers that the call started, by the id of the dataset.
    """

    __slots__ = ("base", "drawn_arrays", "readers")

    def __init__(self, readers: dict[int, tuple[Any, list[Reader]]] | None = None) -> None:
        self.drawn_arrays: list[tuple[Draw, bool, Any]] = []
        self.base = -1
        self.readers = {} if readers is None else readers

    def reader(self, dataset: Any, number: int) -> Reader:
        """Return the reader that the call started as number ``number`` for a dataset."""
        readers = self.readers.setdefault(id(dataset), (dataset, []))[1]
        while len(readers) <= number:
            readers.append(dataset._reader())
        return readers[number]

    def release_readers(self, element_reads: Sequence[ElementRead] = ()) -> None:
        """Return unused readers to their datasets, for the next caller."""
        used_keys = {
            (id(x.source.dataset), x.source.number)
            for x in element_reads
            if type(x.source) is StartedReader
        }
        for key, (dataset, readers) in self.readers.items():
            dataset._drop_leftovers([x for k, x in enumerate(readers) if (key, k) not in used_keys])
        self.readers = {}

    def elements_read(self, element_reads: Sequence[ElementRead]) -> list[tuple[Reader, int]]:
        """Return which readers were read, each with the number of elements that were read."""
        counts: dict[int, tuple[Reader, int]] = {}
        for source, number, kind, _ in element_reads:
            reader = self.reader(*source) if type(source) is StartedReader else source
            counts[id(reader)] = reader, number + (kind is not None)
        return list(counts.values())

    def take(self, k: int, draw: Draw) -> Any:
        """Return the random numbers of draw ``k`` of this call."""
        if self.base < 0:
            self.base = STATE.draws
        if k < len(self.drawn_arrays) and self.drawn_arrays[k][0] == draw:
            return self.drawn_arrays[k][2]
        del self.drawn_arrays[k:]
        array = draw.array(self.number_after(k))
        self.drawn_arrays.append((draw, draw.is_counted, array))
        return array

    def number_after(self, k: int) -> int:
        """Return the number of the draw that follows the first ``k`` draws of this call."""
        return self.base + sum(is_counted for _, is_counted, _ in self.drawn_arrays[:k])

    def restart(self) -> None:
        """Start again at draw 0: the call has set the seed."""
        self.base = 0
        self.drawn_arrays.clear()


class Trace(Log):
    """The log of one call.

    Attributes:
      arguments: The row of each tensor among the arguments.
      inputs: Rows that hold NumPy arrays from outside the function, with these arrays.
      guards: The guards by row, in the order in which the values were read.
      draws: The call's random numbers.
      draw_rows: The rows of draws, their numbers in the call, and the draws.
      position: The number of the next draw.
      reason: Why the trace cannot be replayed; "" if it can.
      refusal: The reason given to `refuse`; "" if the trace was not refused.
      created: Variables that the call created, by id.
      values: Variables that the call read, with the values that it read, by id.
      assigned: Variables that the call assigned, with the assigned values, by id.
      collective_row: The row that starts the last collective so far; -1 if there is none.
      lacks_derivatives: Whether the derivative of a custom gradient function cannot be recorded, or
        NumPy functions computed with values.
      is_followed_outside: Whether a caller's tape records the call.
      upstream: Rows that stand for adjoints while a gradient function is recorded.
      has_ended: Whether the call has ended. Reading values then leaves no guards.
      handlers: The code of signal handlers.
      handler_assigned: Ids of variables that only signal handlers assigned. These assigns take
        effect even if the call is abandoned.
      random_state: The seed and the number of draws to restore if the call is abandoned.
      element_reads: The dataset elements that the call read.
      elements_taken: Dataset readers by id, with the number of elements that the call read and
        the number that was read before the call.
      reader_counts: Datasets by id, with the number of readers that the call started.
      started_readers: How the call started a reader, by the reader's id.
    """

    __slots__ = (
        "arguments",
        "assigned",
        "collective_row",
        "created",
        "draw_rows",
        "draws",
        "element_reads",
        "elements_taken",
        "guards",
        "handler_assigned",
        "handlers",
        "has_ended",
        "inputs",
        "is_followed_outside",
        "lacks_derivatives",
        "observer",
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
        self.collective_row = -1
        self.has_ended = False
        self.lacks_derivatives = False
        self.is_followed_outside = False
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

    def may_follow(self, value: Tensor | Variable) -> bool:
        """Return whether a tape in the call or a caller's tape may follow a value.

        Without a tape the program computes with the value itself. Then the recording lacks its
        derivative, and a call under a tape runs as Python.
        """
        if super().may_follow(value):
            return True
        if isinstance(value, Tensor) and value._home is not self:
            return False
        self.lacks_derivatives |= not self.is_followed_outside
        return self.is_followed_outside

    def add_argument(self, array: Array, spec: Spec) -> Tensor:
        """Add an argument and return the tensor that stands for it."""
        self.reserve(1)
        row = self.leaf(array, spec)
        self.arguments.append(row)
        return self.tensor(row, spec)

    def row_of(self, value: Any, like: Spec | None, op: str) -> tuple[int, Spec]:
        """Return the row and spec of an operand. Each replay reads arrays from outside again."""
        row, spec = super().row_of(value, like, op)
        if isinstance(value, np.ndarray) and self._is_input(value):
            self.inputs.append((row, value))
            self.observer.reads.note_layout(value, None)
        return row, spec

    def _is_input(self, array: Any) -> bool:
        observer = self.observer
        return not (self.has_ended or observer.effects.frozen) and bool(
            observer.effects.is_outside(array)
        )

    def convert_input(self, value: Any, array: Array) -> Any:
        """Return a tensor with the value of an array if the array is from outside."""
        if not self._is_input(value):
            return array
        spec = intern(array.shape, dtypes.of_array(array))
        self.reserve(1)
        row = self.leaf(array, spec)
        self.inputs.append((row, value))
        self.observer.reads.note_layout(value, None)
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
        """Return whether another thread changed a variable or random state that the call read."""
        if self.draws.base >= 0 and not self.reason and STATE.draws != self.draws.base:
            return True
        if any(
            reader.taken != count_before for reader, _, count_before in self.elements_taken.values()
        ):
            return True
        return any(
            variable._value is not value
            for key, (variable, value) in self.values.items()
            if key not in self.created
        )

    def current_value(self, variable: Variable) -> Tensor:
        """Return a tensor for the variable's value. Evaluating it leaves a guard."""
        return variable.read_value()

    def read_unwatched(self, variable: Variable) -> int:
        """Append a normal read: each replay decides which tapes watch the variable."""
        return variable._read_in(self)

    def evaluate_row(self, tensor: Tensor) -> Array:
        """Return the value of a row, computed if necessary, and leave a guard."""
        row, spec = tensor._row, tensor._spec
        if self.upstream and depends_on(self, row, self.upstream):
            raise ValueRead
        if self.columns.state_view[row] != VALUE:
            executor().compute(self, [row], [], True)
        if not self.has_ended and row not in self.guards:
            self.guards[row] = ValueGuard(row, bits_at(self, row), caller_location())
        return self.value(row, spec)

    def untracked_value(self, tensor: Tensor) -> Array:
        """Return a tensor's value for immediate computation, without a guard."""
        had_ended, self.has_ended = self.has_ended, True
        try:
            return tensor._array()
        finally:
            self.has_ended = had_ended

    def call_untracked(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in another thread, which is not observed. Return its result."""
        return run_in_thread(function, *arguments)

    def guard_value(self, make_tensor: Callable[[], Tensor]) -> None:
        """Evaluate a tensor, which leaves a guard."""
        make_tensor()._array()

    def begin_collectives(self) -> bool:
        """Return True. A call that reads a value first is not replayed.

        Replays compare guards last, so they would send data too early. The call continues, because
        it may have sent data and changed the program's state.
        """
        if self.upstream:
            raise UnimplementedError("The derivative of a collective is not recorded in advance.")
        if any(guard.check is None for guard in self.guards.values()):
            self.refuse_replay("it calls a collective after it reads a value")
        return True

    def note_collective(self, row: int) -> None:
        """Note the row that starts a collective, which runs even if the call raises an error."""
        self.collective_row = row

    def refuse_replay(self, reason: str) -> None:
        """Note that replays cannot repeat the call, which continues."""
        self.reason = self.reason or reason

    def call_guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that reads numtape's state, and guard its result."""
        observer = self.observer
        if not (self.has_ended or observer.effects.frozen):
            name = getattr(function, "__qualname__", repr(function))
            observer.reads.note_call(function, arguments, f"{name}()", None, None)
        return function(*arguments)

    def start_reader(self, dataset: Any) -> Reader:
        """Start to read a dataset from outside. Each replay starts a reader again."""
        number = self.reader_counts.get(id(dataset), (dataset, 0))[1]
        self.reader_counts[id(dataset)] = dataset, number + 1
        reader = self.draws.reader(dataset, number)
        self.started_readers[id(reader)] = started_reader = StartedReader(dataset, number)
        self.element_reads.append(ElementRead(started_reader, -1, (), ()))
        return reader

    def read_element(self, reader: Reader) -> list[Tensor] | None:
        """Return the leaves of a reader's next element, or None at the end of the dataset.

        Each replay reads an element again.
        """
        self._not_in_effects()
        _, number, _ = self.elements_taken.setdefault(id(reader), (reader, 0, reader.taken))
        observer, state = self.observer, (STATE.seed, STATE.draws)
        was_following, observer.is_following = observer.is_following, False
        try:
            entry = reader.read_ahead(number)
        finally:
            observer.is_following = was_following
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
        """Advance readers past the elements that the call read, as Python does if it raises."""
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
        """Return whether a condition holds for all elements. The guard notes the check.

        A constant is checked once: all replays have the same.
        """
        if self._is_constant(x):
            self.row_of(x, None, "Check")  # the recording keeps the tensor alive
            return bool(on_array(self.untracked_value(x)).all())
        truth = reduce_all(on_tensor(x))
        holds = bool(truth)
        guard = self.guards.get(truth._row)
        if holds and guard is not None:
            check = Check(self.row_of(x, None, "Check")[0], on_array, message)
            self.guards[truth._row] = guard._replace(check=check)
        return holds

    def _is_constant(self, x: Tensor) -> bool:
        """Return whether a tensor has the same value in all replays.

        A tensor of the outer trace of a nested call may have another value in the replays of the
        outer call.
        """
        home = x._home
        if home is not self:
            return type(home) in (np.ndarray, Log) or home is tensors.SCALAR_STORAGE
        row = x._row
        return (
            self.columns.code_view[row] == LEAF_CODE
            and row not in self.upstream
            and row not in self.arguments
            and not any(row == other for other, *_ in (*self.inputs, *self.draw_rows))
            and not any(row in read.rows for read in self.element_reads)
            and not any(row == other for other, _ in self._leaf_rows.values())
        )

    def segment(
        self, adjoints: Callable[[Log, list[Tensor]], list[int]], specs: Sequence[Spec]
    ) -> Segment | None:
        """Return the rows that a gradient function records; None if it has other effects."""
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
            pass  # Python reports the error if the derivative is requested
        finally:
            self.upstream = outer_upstream
        self.restore((assigned, position))
        del self.draw_rows[draw_count:]
        self.lacks_derivatives = True
        return None

    def may_need_gradients(self) -> bool:
        """Return True: tapes outside the recording may need derivatives."""
        return True

    def drop_calls(self) -> None:
        """Keep the calls: tapes outside the recording may need their derivatives."""

    def _not_in_effects(self) -> None:
        """Refuse the call if it prints or logs here: replays do not repeat printing."""
        if self.observer is not None and self.observer.effects.printing_follower is not None:
            self.refuse("it assigns or draws while it prints or logs")

    def draw(self, draw: Draw) -> Tensor:
        """Return a tensor of random numbers. Each replay draws again."""
        self._not_in_effects()
        array = self.draws.take(self.position, draw)
        spec = intern(array.shape, dtypes.of_array(array))
        self.reserve(1)
        row = self.leaf(array, spec)
        self.draw_rows.append((row, self.position, draw))
        self.position += 1
        return self.tensor(row, spec)

    def assign(self, variables: Sequence[Variable], values: Sequence[Tensor]) -> None:
        """Note new values of variables. Later reads in this log return them."""
        self._not_in_effects()
        # Adopted as rows: values read after this differ from those before the call.
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
        """Make the next use of each variable append a new read."""
        for variable in variables:
            read = variable._read
            if read is not None and read[0] is self:
                variable._read = None

    def clear_tensor_links(self) -> None:
        """Remove references between tensors: slices, masks and logits."""
        for tensor in self.tensors:
            for slot in ("_sliced", "_keras_mask", "_keras_logits"):
                if hasattr(tensor, slot):
                    delattr(tensor, slot)

    def end(self) -> None:
        """Drop the tensors, which refer to this log, so that the log can be freed.

        The log also holds arrays of the program, which NumPy cannot resize until then.
        """
        self.tensors = []

    def adopt(self, value: Tensor) -> Tensor:
        """Return the tensor as a row of this log."""
        if value._home is self:
            return value
        self.reserve(1)
        return self.tensor(*self.row_of(value, None, "assign"))

    def on_variable_created(self, variable: Variable) -> None:
        """Note that the call creates a variable."""
        self.created[id(variable)] = variable

    def on_seed_set(self) -> None:
        """Note that the call sets the random seed, which a replay cannot repeat."""
        self.draws.restart()
        self.position = 0
        self.reason = "it sets the random seed"

    def refuse(self, reason: str) -> NoReturn:
        """Abandon the trace. The function runs as Python, even if the program catches the error."""
        self.refusal = reason
        raise NotReplayable(reason)

    def retry(self, reason: str) -> None:
        """Abandon the trace if the call can start again, that is, if it created no variables."""
        if not self.created:
            self.refuse(reason)

    def on_default_copied(self, array: Array) -> None:
        """Observe an array that is a parameter's default."""
        self.observer.reads.note_default(array)

    def on_container_created(self, container: Any) -> None:
        """Note that the call created a container."""
        self.observer.effects.note_created(container)

    def on_container_copied(self, container: Any, original: Any) -> None:
        """Note that the call uses ``container`` in place of ``original``."""
        self.observer.effects.originals[id(container)] = original

    def checkpoint(self) -> tuple[dict[int, tuple[Variable, Tensor]], int]:
        """Return the assigned variables and the number of draws, for `restore`."""
        return self.assigned, self.position

    def restore(self, checkpoint: tuple[dict[int, tuple[Variable, Tensor]], int]) -> None:
        """Undo assigns and draws after a checkpoint, except assigns by signal handlers."""
        self.forget_reads(variable for variable, _ in self.assigned.values())
        by_handlers = {
            key: self.assigned[key] for key in self.handler_assigned & self.assigned.keys()
        }
        self.assigned, self.position = checkpoint[0] | by_handlers, checkpoint[1]

    def collect(self) -> bool:
        """Return False: rows of a trace are never removed."""
        return False

    def complete(self) -> None:
        """Do nothing: values that a call computes belong to the caller of the replay."""


def _convert_input(value: Any, array: Array) -> Any:
    return local.log.convert_input(value, array)


convert.register_input = _convert_input


def _guard_print_options() -> None:
    local.log.call_guarded(print_options)


tensors.before_printing = _guard_print_options


def bits_at(log: Log, row: int) -> int | bytes:
    """Return the bits that guards compare: a row's cell, or the bytes of a larger value."""
    spec = SPECS.specs[log.spec[row]]
    if spec.single:
        bits = log.columns.cell_view[row]
        return bits if spec.dtype.size == 8 else bits & ((1 << 8 * spec.dtype.size) - 1)
    data: bytes = log.buffers[row].tobytes()
    return data
