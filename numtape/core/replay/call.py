"""Calls that are traced: their results, what they assign, and what becomes of both.

A call that was traced has changed nothing yet: variables are as before, and its tensors are rows
of its own log. What is committed gets values, or, where a tape follows, rows of the caller's log.
"""

from __future__ import annotations

import contextlib
import gc
import operator
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..derive.tape import Tape
from ..log import references
from ..log import variable as variables
from ..log.ambient import drop_ended_losses
from ..log.log import READ_CODE, Log, local
from ..log.logits import without_logits
from ..log.look import executor
from ..log.tensors import to_tensor
from ..log.variable import Variable, set_values
from ..ops.random import STATE
from ..values import dtypes
from ..values.nests import flatten_with
from ..values.spec import SPECS, TensorShape
from ..values.tensor import Tensor, of_array
from .graft import graft
from .observe.instructions import INSTRUCTIONS
from .observe.observer import Observer
from .observe.reads import Read
from .observe.touched import Write
from .observe.whose import signal_handlers, is_in_handler
from .paths import first
from .ready import Failed
from .recording import Output, Recording
from .trace import Draws, NotReplayable, Trace

Journal = dict[int, tuple[Variable, Tensor]]
# Runs a function with some tensors in the places of the tensors among its arguments, its leaves.
Run = Callable[[Sequence[Tensor], Sequence[Tensor]], Any]
RETRIES = 100  # of an assign where a signal handler assigns the same


class Traced:
    """A call that was traced. Variables and random numbers are as before it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.reads: list[Read] = []
        self.of_temporary: list[tuple[int, list[Read]]] = []  # as in `Notes`, for `lasting`
        self.effects: list[str] = []
        self.sets: list[Write] = []
        self.changed = ""
        self.outputs: list[Output] = []
        self.rebuild: Callable[[list[Any]], Any] = list
        self.assigned: list[tuple[Variable, int]] = []
        self.handled: list[tuple[Variable, int]] = []
        self.recording: Recording | None = None  # once it is made

    @property
    def rows(self) -> list[int]:
        """What leaves the call."""
        found = [out.row for out in self.outputs if out.row >= 0]
        return found + [row for _, row in self.assigned]


def traced(
    function: Any, run: Run, leaves: Sequence[Tensor], draws: Draws, frozen: bool = False
) -> Traced:
    """Call ``run`` with tensors that stand for ``leaves``, in a log of its own."""
    trace, observer = Trace(draws), Observer(INSTRUCTIONS, frozen)
    found = Traced(trace)
    caller = local.log
    try:
        stand_ins = [trace.argument(leaf._stored_value(), leaf._spec) for leaf in leaves]
        local.log = trace
        trace.observer, observer.inputs = observer, trace.inputs
        if not frozen:
            observer.restart, observer.retry = trace.refuse, trace.retry
        observer.starts(function)
        for one, other in zip(stand_ins, getattr(leaves, "objects", leaves), strict=True):
            if type(other) is Tensor:  # of what is none, Python gets a tensor as well
                observer.replaced[id(one)] = other
        with observer:
            try:
                result = run(stand_ins, leaves)
            except Exception:
                if not observer.repeated and not trace.refused:
                    raise
        if trace.refused or observer.repeated:
            raise NotReplayable(trace.refused or observer.repeated)
        if not frozen:
            observer.retry = None  # the call has ended, and all of it was observed
            observer.returns(result, sys._getframe())
            observer.conclude()
        trace.reason = trace.reason or observer.reason
        found.effects = observer.effects
        if not trace.reason:
            found.reads, found.sets = list(observer.found.values()), observer.sets
            found.of_temporary = [
                (key, list(part.values())) for key, part in observer.of_temporary.items()
            ]
        observer.sets = []
        observer.forget()
        if not frozen:
            parts = (found.reads, *(part for _, part in found.of_temporary))
            changed = (read.name for part in parts for read in part if not read.holds())
            found.changed = observer.changes or next((f"changes {name}" for name in changed), "")
        if observer.lost:
            found.changed = "changes Python's trace function"
        found.outputs, found.rebuild = _outputs(trace, result)
        local.log = caller  # before it is asked what is assigned: a signal handler may assign
        new = {
            key: (variable, variable._value)
            for key, variable in trace.created.items()
            if variable._value._home is trace
        }
        found.assigned = [
            (variable, trace.own(value)._row) for variable, value in (new | trace.assigned).values()
        ]
        found.handled = [pair for pair in found.assigned if id(pair[0]) in trace.handled]
        trace.assigned = {}  # what it held is not kept by the program
        if trace.opaque and caller.tapes and caller.is_recorded():
            trace.refuse("a gradient function of it looks at values, assigns or draws")
        trace.forget_ties()
        drop_ended_losses(trace, is_kept=True)
        trace.calls = {link: made.without_function() for link, made in trace.calls.items()}
        del result, stand_ins, new
    except BaseException as error:
        STATE.seed, STATE.draws = trace.state
        if type(error) is not NotReplayable:
            trace.consume()
        observer.stop()
        observer.forget()
        local.log = caller
        drop_ended_losses(trace)
        if trace.handled:
            with contextlib.suppress(Exception):  # what goes on is raised
                assign_handled(
                    trace,
                    [
                        (variable, trace.own(value)._row)
                        for key, (variable, value) in trace.assigned.items()
                        if key in trace.handled
                    ],
                    leaves,
                )
        trace.end()
        raise
    finally:
        local.log = caller  # first, and no call: an interrupt comes at calls
        trace.closed = True
        observer.stop()  # an interrupt may have come before the block had ended
        trace.invalidate_reads()
    tapes = _found_again(lambda: _tapes(trace))
    if tapes:
        for tape in tapes:  # as before the call
            tape.clear()
        STATE.seed, STATE.draws = trace.state
        if found.handled:
            assign_handled(trace, found.handled, leaves)
        trace.refuse("it keeps a GradientTape")
    return found


def assign_handled(
    trace: Trace, handled: list[tuple[Variable, int]], leaves: Sequence[Tensor]
) -> None:
    """Assign what signal handlers assigned during a call that comes to nothing."""
    changed, rows = [variable for variable, _ in handled], [row for _, row in handled]
    executor().compute(trace, rows, [], True)
    values = [of_array(trace.stored_value(row, v._spec), v._spec) for v, row in handled]
    had = [trace.values[id(v)] for v in changed if id(v) in trace.values]
    recording = None
    for _ in range(RETRIES):
        with variables._update_lock:
            if set_values(changed, values, expected=had):
                return
        # Handlers go on, and others assign: from what there is now.
        recording = recording or Recording(trace, [], handled, False)
        had = [(variable, variable._value) for variable in changed]
        found = recording.run(leaves, Draws())
        if isinstance(found, Failed):
            return
        values = found


def _found_again(find: Callable[[], list[Any]]) -> list[Any]:
    """What is still there when an exception that held it in a cycle has gone.

    The youngest objects are collected first: all of them, where there are many, takes long.
    """
    for generation in range(3):
        if not find():
            return []
        gc.collect(generation)
    return find()


def _tapes(trace: Trace) -> list[Tape]:
    """Tapes of a call that can still be reached."""
    return [tape for ref in trace.tapes if (tape := ref()) is not None]


class _Journal(Journal):
    """What a call assigns, without what signal handlers do meanwhile, which lasts."""

    def __init__(self, codes: set[types.CodeType]) -> None:
        self.codes = codes

    def setdefault(self, key: int, change: Any = None) -> Any:
        if key in self or not is_in_handler(self.codes):
            return super().setdefault(key, change)
        return None


@contextmanager
def undone_if_raised() -> Iterator[Journal]:
    """If the block raises, give variables and random numbers their old state."""
    log: Any = local.log
    trace = log if isinstance(log, Trace) else None
    before, state = local.journal, (STATE.draws, STATE.seed)
    mark = None if trace is None else trace.mark()
    journal: Journal = _Journal(signal_handlers() if trace is None else trace.handlers)
    try:
        local.journal = journal
        yield journal
    except BaseException:
        undo(journal)
        STATE.draws, STATE.seed = state
        if trace is not None and mark is not None:
            trace.back_to(mark)
        raise
    else:
        for key, change in journal.items():
            if before is not None:
                before.setdefault(key, change)
    finally:
        local.journal = before


def undo(journal: Journal) -> None:
    """Give variables their old values."""
    changed = list(journal.values())
    set_values([variable for variable, _ in changed], [value for _, value in changed])


def _outputs(trace: Trace, result: Any) -> tuple[list[Output], Callable[[list[Any]], Any]]:
    """The leaves of what a call returns."""
    if type(result) is Tensor:
        return [_output(trace, result)], first
    leaves, rebuild = flatten_with(result, True)
    if len(leaves) == 1 and leaves[0] is result:
        rebuild = first
    elif type(result) in (list, tuple) and all(map(operator.is_, leaves, result)):
        rebuild = type(result)
    return [_output(trace, leaf) for leaf in leaves], rebuild


def _output(trace: Trace, leaf: Any) -> Output:
    found = returned(leaf)
    if type(found) is Tensor and found._home is trace:
        return Output(found._row, found._spec, None)
    return Output(-1, None, found)


def returned(leaf: Any) -> Any:
    """What a function returns for a leaf: variables, numbers and arrays become tensors.

    Raises:
      TypeError: If it is something else that TensorFlow's functions do not return either.
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
    raise TypeError(
        f"A function returns tensors, None, or nests of them, but found a value of type "
        f"{type(leaf).__name__}."
    )


def grafted(trace: Trace, log: Log, leaves: Sequence[Tensor]) -> np.ndarray[Any, Any]:
    """Append a trace to the caller's log, connected with its tensors. Returns the rows' numbers."""
    to = np.full(trace.n, -1, np.int32)
    log.reserve(trace.n)
    for row in np.flatnonzero(trace.columns.code[: trace.n] == READ_CODE).tolist():
        variable = trace.variables[trace.b[row]]
        if id(variable) not in trace.created:  # variables are as they were before the call
            to[row] = variable._read_in(log)
    for row, leaf in zip(trace.arguments, leaves, strict=True):
        to[row] = log.row_of(leaf, None, "function")[0]
    for row, tensor in trace._leaf_rows.values():
        to[row] = log.row_of(tensor, None, "function")[0]
    graft(trace, log, to)
    return to


def values_of(call: Traced, log: Log, to: np.ndarray[Any, Any] | None) -> list[Tensor]:
    """What leaves a call, as tensors: computed, or, where a tape follows, rows."""
    trace, specs = call.trace, SPECS.specs
    if to is not None:
        return [log.tensor(int(to[row]), specs[trace.spec[row]]) for row in call.rows]
    if call.rows:
        executor().compute(trace, call.rows, [], True)
    found = []
    for row in call.rows:
        spec = specs[trace.spec[row]]
        found.append(of_array(trace.stored_value(row, spec), spec))
    return found


def leaked(trace: Trace) -> list[Tensor]:
    """Tensors of a call that can still be reached."""
    state = [variable._value for variable in trace.created.values()]

    def reached() -> list[Tensor]:
        alive = references.live_tensors(trace.tensors, 0)
        return [x for x in alive if not any(x is value for value in state)]

    found = reached()
    if len(found) == len(trace.tensors) and found:  # no reference counts here
        return []
    del found
    return _found_again(reached)


def rehome(tensors: list[Tensor], trace: Trace, log: Log, to: np.ndarray[Any, Any] | None) -> None:
    """Give tensors that outlive their trace a place elsewhere."""
    if to is None:
        executor().compute(trace, [tensor._row for tensor in tensors], [], True)
    for tensor in tensors:
        if to is None:
            tensor._home = trace.stored_value(tensor._row, tensor._spec)
        else:
            tensor._row = int(to[tensor._row])
            tensor._home = log
            log.tensors.append(tensor)


def plainly(run: Run, leaves: Sequence[Tensor]) -> Any:
    """Call a function as Python: if it raises, variables and random state are as before."""
    with undone_if_raised():
        return as_returned(run(leaves, leaves))


def as_returned(result: Any) -> Any:
    """What a function returns, with tensors in the places of variables, numbers and arrays."""
    if type(result) is Tensor:
        return without_logits(result)
    found, rebuild = flatten_with(result, True)
    return rebuild([returned(leaf) for leaf in found])
