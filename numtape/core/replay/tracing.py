"""Traced calls: tracing, their results, and their assigned variables.

`trace_call` runs a function into a separate log. A traced call has changed nothing: variables have
their old values, and its tensors are rows of that log. The caller then commits it: its results
become values, or, where a tape records, rows of the caller's log.
"""

from __future__ import annotations

import contextlib
import gc
import operator
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..derive.tape import Tape
from ..log import liveness, variable as variables
from ..log.as_tensor import to_tensor
from ..log.evaluate import executor
from ..log.layer_context import drop_ended_losses, without_logits
from ..log.log import READ_CODE, Log, local
from ..log.string_tensor import StringTensor, run_as_python as refuse_trace
from ..log.variable import Variable, set_values
from ..ops.random import STATE
from ..values import dtypes
from ..values.pytree import flatten_result
from ..values.spec import SPECS, TensorShape
from ..values.tensor import Tensor, of_array
from .guard_tree import only_value
from .observe.access_sets import Write
from .observe.instructions import INSTRUCTIONS
from .observe.observer import Observer
from .observe.ownership import is_in_handler, signal_handlers
from .observe.reads import Read
from .recording import FailedGuard, Output, Recording
from .splice import splice
from .trace import CallDraws, NotReplayable, Trace

Journal = dict[int, tuple[Variable, Tensor]]
# Calls a function with the first list of tensors in place of the second, its tensor arguments.
RunFunction = Callable[[Sequence[Tensor], Sequence[Tensor]], Any]
RETRIES = 100  # of an assign, if a signal handler assigns the same variable
SAMPLING = 0.05  # seconds that a profiler may keep the frames of a call


class TracedCall:
    """A traced call. Variables and random state are the same as before the call."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.reads: list[Read] = []
        self.temporary_reads: list[tuple[int, list[Read]]] = []  # see `select_lasting`
        self.effects: list[str] = []
        self.writes: list[Write] = []
        self.discard_reason = ""
        self.outputs: list[Output] = []
        self.rebuild: Callable[[list[Any]], Any] = list
        self.assigned: list[tuple[Variable, int]] = []
        self.handler_assigned: list[tuple[Variable, int]] = []
        self.recording: Recording | None = None  # None until it is needed

    @property
    def rows(self) -> list[int]:
        """Return the rows of the outputs and of the assigned variables."""
        output_rows = [out.row for out in self.outputs if out.row >= 0]
        return output_rows + [row for _, row in self.assigned]


def trace_call(
    function: Any,
    run: RunFunction,
    leaves: Sequence[Tensor],
    draws: CallDraws,
    frozen: bool = False,
) -> TracedCall:
    """Trace a call of ``run`` with tensors that stand for ``leaves``, into a separate log."""
    trace, observer = Trace(draws), Observer(INSTRUCTIONS, frozen)
    call = TracedCall(trace)
    caller = local.log
    trace.is_followed_outside = bool(caller.tapes) and caller.is_recorded()
    try:
        stand_ins = [trace.add_argument(leaf._stored_value(), leaf._spec) for leaf in leaves]
        local.log = trace
        trace.observer, observer.reads.inputs = observer, trace.inputs
        if not frozen:
            observer.effects.restart, observer.effects.retry = trace.refuse, trace.retry
        observer.note_start(function)
        for stand_in, original in zip(stand_ins, getattr(leaves, "objects", leaves), strict=True):
            if type(original) is Tensor:  # for anything else, Python gets a tensor as well
                observer.effects.originals[id(stand_in)] = original
        with observer:
            try:
                result = run(stand_ins, leaves)
            except Exception:
                if not observer.effects.rerun_reason and not trace.refusal:
                    raise
        if trace.refusal or observer.effects.rerun_reason:
            raise NotReplayable(trace.refusal or observer.effects.rerun_reason)
        if not frozen:
            observer.effects.retry = None  # the call has ended, and all of it was observed
            observer.reads.note_returned(result, sys._getframe())
            observer.conclude()
        trace.reason = trace.reason or observer.effects.reason
        call.effects = observer.effects.descriptions
        if not trace.reason:
            call.reads, call.writes = list(observer.reads.by_key.values()), observer.writes.entries
            call.temporary_reads = [
                (key, list(part.values())) for key, part in observer.reads.temporary_reads.items()
            ]
        observer.writes.entries = []
        observer.clear()
        if not frozen:
            read_lists = (call.reads, *(part for _, part in call.temporary_reads))
            changed_names = (read.name for part in read_lists for read in part if not read.holds())
            call.discard_reason = observer.effects.discard_reason or next(
                (f"changes {name}" for name in changed_names), ""
            )
        if observer.has_lost_tracer:
            call.discard_reason = "changes Python's trace function"
        call.outputs, call.rebuild = _make_outputs(trace, result)
        local.log = caller  # before assigned values are read, because a signal handler may assign
        created = {
            key: (variable, variable._value)
            for key, variable in trace.created.items()
            if variable._value._home is trace
        }
        call.assigned = [
            (variable, trace.adopt(value)._row)
            for variable, value in (created | trace.assigned).values()
        ]
        call.handler_assigned = [
            assignment
            for assignment in call.assigned
            if id(assignment[0]) in trace.handler_assigned
        ]
        trace.assigned = {}  # leaked tensors must not include these values
        if trace.lacks_derivatives and caller.tapes and caller.is_recorded():
            trace.refuse("one of its gradient functions reads values, assigns or draws")
        trace.clear_tensor_links()
        drop_ended_losses(trace, is_kept=True)
        trace.calls = {link: recorded.without_function() for link, recorded in trace.calls.items()}
        del result, stand_ins, created
    except BaseException as error:
        STATE.seed, STATE.draws = trace.random_state
        if type(error) is not NotReplayable:
            trace.consume_elements()
        observer.stop()
        observer.clear()
        local.log = caller
        drop_ended_losses(trace)
        if trace.collective_row >= 0 and type(error) is not NotReplayable:
            with contextlib.suppress(Exception):  # other ranks wait for these collectives
                executor().compute(trace, [trace.collective_row], [], True)
        if trace.handler_assigned:
            with contextlib.suppress(Exception):  # the original error is raised
                assign_from_handlers(
                    trace,
                    [
                        (variable, trace.adopt(value)._row)
                        for key, (variable, value) in trace.assigned.items()
                        if key in trace.handler_assigned
                    ],
                    leaves,
                )
        trace.end()
        raise
    finally:
        local.log = caller  # first, and without a call, because interrupts occur at calls
        trace.has_ended = True
        observer.stop()  # an interrupt may have occurred before the block ended
        trace.invalidate_reads()
    tapes = _find_after_collection(lambda: _live_tapes(trace))
    if tapes:
        for tape in tapes:  # restore the state before the call
            tape.clear()
        STATE.seed, STATE.draws = trace.random_state
        if call.handler_assigned:
            assign_from_handlers(trace, call.handler_assigned, leaves)
        trace.refuse("it keeps a GradientTape")
    return call


def assign_from_handlers(
    trace: Trace, assignments: list[tuple[Variable, int]], leaves: Sequence[Tensor]
) -> None:
    """Assign what signal handlers assigned during a call that comes to nothing."""
    changed_variables = [variable for variable, _ in assignments]
    rows = [row for _, row in assignments]
    executor().compute(trace, rows, [], True)
    values = [of_array(trace.stored_value(row, v._spec), v._spec) for v, row in assignments]
    expected = [trace.values[id(v)] for v in changed_variables if id(v) in trace.values]
    recording = None
    for _ in range(RETRIES):
        with variables._update_lock:
            if set_values(changed_variables, values, expected=expected):
                return
        # Other code assigned meanwhile: compute again from the present values.
        recording = recording or Recording(trace, [], assignments, False)
        expected = [(variable, variable._value) for variable in changed_variables]
        result = recording.run(leaves, CallDraws())
        if isinstance(result, FailedGuard):
            return
        values = result


def _find_after_collection(find: Callable[[], list[Any]]) -> list[Any]:
    """Return what ``find`` returns after the objects of an exception's cycles are collected.

    The youngest generation is collected first, because a full collection can take long. Then other
    threads get some time, because a profiler in a thread, as in Dask's workers, keeps the frames
    that it samples for some milliseconds.
    """
    for generation in range(3):
        if not find():
            return []
        gc.collect(generation)
    if threading.active_count() > 1:
        end = time.monotonic() + SAMPLING
        while find() and time.monotonic() < end:
            time.sleep(0.001)
    return find()


def _live_tapes(trace: Trace) -> list[Tape]:
    """Return the tapes of a call that can still be reached."""
    return [tape for ref in trace.tapes if (tape := ref()) is not None]


class _CallJournal(Journal):
    """The assigns of a call, without those of signal handlers, which are never undone."""

    def __init__(self, codes: set[types.CodeType]) -> None:
        self.codes = codes

    def setdefault(self, key: int, change: Any = None) -> Any:
        if key in self or not is_in_handler(self.codes):
            return super().setdefault(key, change)
        return None


@contextmanager
def undo_on_error() -> Iterator[Journal]:
    """Restore variables and random state if the block raises."""
    log: Any = local.log
    trace = log if isinstance(log, Trace) else None
    outer_journal, state = local.journal, (STATE.draws, STATE.seed)
    checkpoint = None if trace is None else trace.checkpoint()
    journal: Journal = _CallJournal(signal_handlers() if trace is None else trace.handlers)
    try:
        local.journal = journal
        yield journal
    except BaseException:
        undo(journal)
        STATE.draws, STATE.seed = state
        if trace is not None and checkpoint is not None:
            trace.restore(checkpoint)
        raise
    else:
        for key, change in journal.items():
            if outer_journal is not None:
                outer_journal.setdefault(key, change)
    finally:
        local.journal = outer_journal


def undo(journal: Journal) -> None:
    """Restore the old values of variables."""
    changes = list(journal.values())
    set_values([variable for variable, _ in changes], [value for _, value in changes])


def _make_outputs(trace: Trace, result: Any) -> tuple[list[Output], Callable[[list[Any]], Any]]:
    """Return the leaves of a call's result, and a function that rebuilds the result."""
    if type(result) is Tensor:
        return [_make_output(trace, result)], only_value
    leaves, rebuild = flatten_result(result)
    if len(leaves) == 1 and leaves[0] is result:
        rebuild = only_value
    elif type(result) in (list, tuple) and all(map(operator.is_, leaves, result)):
        rebuild = type(result)
    return [_make_output(trace, leaf) for leaf in leaves], rebuild


def _make_output(trace: Trace, leaf: Any) -> Output:
    value = as_output(leaf)
    if type(value) is Tensor and value._home is trace:
        return Output(value._row, value._spec, None)
    return Output(-1, None, value)


def as_output(leaf: Any) -> Any:
    """Convert a leaf of a function's result: variables, numbers and arrays become tensors.

    Raises:
      TypeError: If the leaf has another type, which TensorFlow's functions refuse as well.
    """
    if type(leaf) is Tensor:
        return without_logits(leaf)
    if leaf is None or isinstance(leaf, str):
        return leaf
    if isinstance(leaf, Variable):
        return leaf.read_value()
    if isinstance(leaf, TensorShape):
        return to_tensor(leaf.as_list(), dtypes.int32)
    if isinstance(leaf, bool | int | float | np.ndarray | np.generic):
        return to_tensor(leaf, None)
    if isinstance(leaf, StringTensor):
        refuse_trace()
        return leaf
    raise TypeError(
        f"A function returns tensors, None, or nests of them, but found a value of type "
        f"{type(leaf).__name__}."
    )


def splice_trace(trace: Trace, log: Log, leaves: Sequence[Tensor]) -> np.ndarray[Any, Any]:
    """Append a trace to the caller's log, connected to its tensors. Return the new row numbers."""
    new_rows = np.full(trace.n, -1, np.int32)
    log.reserve(trace.n)
    for row in np.flatnonzero(trace.columns.code[: trace.n] == READ_CODE).tolist():
        variable = trace.variables[trace.b[row]]
        if id(variable) not in trace.created:  # variables have their values from before the call
            new_rows[row] = variable._read_in(log)
    for row, leaf in zip(trace.arguments, leaves, strict=True):
        new_rows[row] = log.row_of(leaf, None, "function")[0]
    for row, tensor in trace._leaf_rows.values():
        new_rows[row] = log.row_of(tensor, None, "function")[0]
    splice(trace, log, new_rows)
    return new_rows


def output_values(
    call: TracedCall, log: Log, new_rows: np.ndarray[Any, Any] | None
) -> list[Tensor]:
    """Return outputs and assigned values as tensors: computed, or rows where a tape records."""
    trace, specs = call.trace, SPECS.specs
    if new_rows is not None:
        return [log.tensor(int(new_rows[row]), specs[trace.spec[row]]) for row in call.rows]
    if call.rows:
        # Temporaries are freed while the plan runs, except those of tensors that the function may
        # have stored elsewhere: see `find_leaked`.
        reachable_rows = [x._row for x in liveness.live_tensors(trace.tensors, 0)]
        executor().compute(trace, call.rows, reachable_rows, False)
    values = []
    for row in call.rows:
        spec = specs[trace.spec[row]]
        values.append(of_array(trace.stored_value(row, spec), spec))
    return values


def find_leaked(trace: Trace) -> list[Tensor]:
    """Return tensors of a call that can still be reached, except values of new variables."""
    variable_values = [variable._value for variable in trace.created.values()]

    def find_reachable() -> list[Tensor]:
        alive = liveness.live_tensors(trace.tensors, 0)
        return [x for x in alive if not any(x is value for value in variable_values)]

    leaked = find_reachable()
    if len(leaked) == len(trace.tensors) and leaked:  # reference counts are not available
        return []
    del leaked
    return _find_after_collection(find_reachable)


def rehome(
    tensors: list[Tensor], trace: Trace, log: Log, new_rows: np.ndarray[Any, Any] | None
) -> None:
    """Move tensors that outlive their trace to the caller's log, or to stored values."""
    if new_rows is None:
        executor().compute(trace, [tensor._row for tensor in tensors], [], False)
    for tensor in tensors:
        if new_rows is None:
            tensor._home = trace.stored_value(tensor._row, tensor._spec)
        else:
            tensor._row = int(new_rows[tensor._row])
            tensor._home = log
            log.tensors.append(tensor)


def run_as_python(run: RunFunction, leaves: Sequence[Tensor]) -> Any:
    """Call a function as Python. If it raises, restore variables and random state."""
    with undo_on_error():
        return convert_result(run(leaves, leaves))


def convert_result(result: Any) -> Any:
    """Convert a function's result: variables, numbers and arrays become tensors."""
    if type(result) is Tensor:
        return without_logits(result)
    leaves, rebuild = flatten_result(result)
    return rebuild([as_output(leaf) for leaf in leaves])
