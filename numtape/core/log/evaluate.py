"""Evaluation: which rows are computed when a program reads a value, and when the log is rewound.

An evaluation computes the requested value and, with it, pending assigns, gradients that are not
computed yet, and every scalar that is still reachable. Other arrays stay lazy. If not all of them
can be computed, for example for lack of memory, only the requested value is computed and the rest
stays lazy: errors surface only for the tensor that failed.

Meanwhile a signal handler or a finalizer of the same thread records in another log. It gets an
error if it reads a value of this log that does not exist yet. Start with `evaluate_on_device`.
"""

from __future__ import annotations

import mmap
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .. import settings
from ..executor import Executor
from ..values.tensor import Tensor
from . import liveness
from .log import VALUE, Log, local
from .thread_state import raised_by_signal_handler

MAX_LAZY_PER_SCAN = 16  # up to this many lazy arrays are considered again in every evaluation

# Returns the class of a device's executor; None during its import. Set in `core.bindings`.
executor_class_of: Callable[[str], Any] = settings.unset
_executors: dict[str, Executor] = {}


def executor() -> Executor:
    """Return the executor of the selected device."""
    name = settings.device()
    result = _executors.get(name)
    if result is None:
        executor_class = executor_class_of(name)
        if executor_class is None:
            raise RuntimeError(
                "A signal handler or a finalizer reads a value while its thread imports the "
                "executor. Read a value earlier in the program, or set a flag and read later."
            )
        result = _executors.setdefault(name, executor_class())
    return result


def evaluate_fast_path(log: Log, tensor: Tensor) -> Any:
    """Return the value if machine code can repeat an evaluation.

    See `core.cpu.repeated_evaluation`.
    """
    return None


def evaluate(log: Log, tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the value of a tensor whose home was ``log`` a moment ago."""
    value = evaluate_on_device(log, tensor)
    return value if type(value) is np.ndarray else value.host()


def evaluate_on_device(log: Log, tensor: Tensor) -> Any:
    """Like `evaluate`, but on a GPU leave a large value on the device."""
    value = evaluate_fast_path(log, tensor)
    if value is not None:
        return value
    evaluating = local.evaluating
    if evaluating and log in evaluating and _is_running(log):
        if tensor._home is not log:
            return tensor._home
        if log.columns.state_view[tensor._row] == VALUE:
            return log.stored_value(tensor._row, tensor._spec)
        raise RuntimeError(
            "A signal handler or a finalizer reads a value of the log that is being evaluated. "
            "Read values that were computed before, or set a flag and read later."
        )
    return _run_isolated(log, _evaluate_locked, tensor)


def _run_isolated(log: Log, work: Callable[..., Any], tensor: Tensor | None = None) -> Any:
    """Run ``work`` on a log while handlers and finalizers of the thread record in another log."""
    current, evaluating = local.log, local.evaluating
    if evaluating:  # an interrupt may have left logs whose evaluation has ended
        evaluating = tuple(x for x in evaluating if _is_running(x))
    reentrant = log.reentrant_log() if current is log else current
    try:
        local.evaluating = evaluating + (log,) if evaluating else (log,)  # noqa: RUF005
        local.log = reentrant
        return work(log, tensor)
    finally:
        local.evaluating = evaluating
        if local.rule is None:
            local.log = current
        else:  # the current log depends on the caller: see `LogByCaller`
            vars(local).pop("log", None)


def _is_running(log: Log) -> bool:
    """Return whether a function further up the stack works on ``log``, with no interrupt since."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if (
            any(frame.f_code is code for code in _ISOLATED_CODES)
            and frame.f_locals.get("log") is log
        ):
            return True
        frame = frame.f_back
    return False


def _evaluate_locked(log: Log, tensor: Tensor) -> Any:
    with log.lock:
        home = tensor._home
        if home is not log:  # its owner rewound the log meanwhile
            return home
        return log.evaluate_row(tensor)


def _evaluate_row(log: Log, tensor: Tensor) -> Any:
    """Return the value of a row and compute it if needed. The log must be locked."""
    row = tensor._row
    if log.columns.state_view[row] == VALUE:
        return log.stored_value(row, tensor._spec)
    is_held = log.is_held()
    live_tensors = liveness.live_tensors
    tensors = log.tensors
    scanned = log.scanned
    log.scanned = end = len(tensors)  # first: tensors before this index keep their places
    live = live_tensors(tensors[scanned:end], 1) if scanned else live_tensors(tensors, 0)
    required, lazy = _split_eager(log, live)
    try:
        computed = _try_compute(log, [*required, row], [t._row for t in lazy], is_held)
    except BaseException:  # an interrupt: the next evaluation must not repeat the slow part
        _defer(log, live)
        raise
    if not computed:
        _defer(log, live)
        executor().compute(log, [row], [], is_held)
        return log.stored_value(row, tensor._spec)
    if scanned:
        live.clear()  # it lacks tensors that were scanned before
    log.lazy += lazy
    log.eager.clear()
    log.pending.clear()
    del lazy
    is_held = is_held or log.busy or log.owner != threading.get_ident()
    if _has_uncomputed(log, live) or is_held:
        return log.stored_value(row, tensor._spec)
    _rewind_if_computed(log, live)
    home = tensor._home  # the value, if the log was rewound
    return log.stored_value(row, tensor._spec) if home is log else home


def _defer(log: Log, live: list[Tensor]) -> None:
    """Leave all rows but the requested one to later evaluations, because some of them fail."""
    state = log.columns.state_view
    log.lazy += [tensor for tensor in live if tensor._home is log and state[tensor._row] != VALUE]
    log.eager.clear()
    log.pending.clear()


def _try_compute(log: Log, required: list[int], optional: list[int], is_held: bool) -> bool:
    """Compute rows. Return False if that fails; then all memory is released again."""
    log.computations += 1
    try:
        executor().compute(log, required, optional, is_held)
        return True
    except Exception as error:
        if raised_by_signal_handler(error):
            raise
        out_of_memory = isinstance(error, MemoryError)
    state = log.columns.state_view
    for row in [row for row in list(log.buffers) if state[row] != VALUE]:
        log.bytes -= log.buffers.pop(row).nbytes
    if out_of_memory and log.owner == threading.get_ident() and not log.busy:
        log.shrink()
    return False


def _try_compute_all(log: Log, required: list[int], is_held: bool) -> bool:
    """Compute rows. Return False if some fail; reading one of those raises its error."""
    if _try_compute(log, required, [], is_held):
        return True
    return all(
        [
            log.columns.state_view[row] == VALUE or _try_compute(log, [row], [], is_held)
            for row in required
        ]
    )


def _split_eager(log: Log, live: list[Tensor]) -> tuple[list[int], list[Tensor]]:
    """Split live tensors into rows that every evaluation computes, and arrays that stay lazy.

    ``live`` are the new tensors that are still reachable.
    """
    required, lazy = [], []
    state = log.columns.state_view
    eager = log.eager
    for tensor in live:
        row = tensor._row
        if tensor._home is not log or state[row] == VALUE:
            continue
        if tensor._spec.single or row in eager:
            required.append(row)
        else:
            lazy.append(tensor)
    for variable in list(log.pending.values()) if log.pending else ():
        value = variable._value
        if value._home is log and state[value._row] != VALUE:
            required.append(value._row)
    return required, lazy


def _has_uncomputed(log: Log, live: list[Tensor]) -> bool:
    """Return whether a live array is uncomputed, or may be. Arrays are not checked every time.

    ``live`` is cleared if references have to be counted, because the list holds one to each tensor.
    """
    if not log.lazy:
        log.lazy_rescan_at = 0
        return False
    if len(log.lazy) < log.lazy_rescan_at:
        return True
    state = log.columns.state_view
    log.lazy = [tensor for tensor in log.lazy if state[tensor._row] != VALUE]
    if log.lazy:
        live.clear()
        log.lazy = liveness.live_tensors(log.lazy, 1)
    log.lazy_rescan_at = 2 * len(log.lazy) if len(log.lazy) > MAX_LAZY_PER_SCAN else 0
    return bool(log.lazy)


def _rewind_if_computed(log: Log, live: list[Tensor]) -> None:
    """Rewind the log if no live value is uncomputed. ``live`` are its live tensors, if known."""
    if not live:
        if log.n < log.full_rescan_at:
            return
        live = liveness.live_tensors(log.tensors, 0)
        log.full_rescan_at = 2 * log.n  # so frequent evaluation costs no more than recording
    _store_values_and_rewind(log, live)


def _store_values_and_rewind(log: Log, live: list[Tensor]) -> None:
    """Give the live tensors their values and rewind, unless one of them is uncomputed."""
    state = log.columns.state_view
    tensors = [tensor for tensor in live if tensor._home is log]
    for tensor in tensors:
        if state[tensor._row] != VALUE:
            return
    stored, buffers = log.stored_value, log.buffers
    for tensor in tensors:
        row, spec = tensor._row, tensor._spec
        tensor._home = stored(row, spec) if spec.single else buffers[row]
    log.rewind()


def collect(log: Log) -> bool:
    """Compute what live tensors still need, and rewind. Return False if a tape needs the rows.

    If only tapes that have stopped recording need them, the tapes keep the log, and the thread
    continues with a new one.
    """
    if log in local.evaluating and _is_running(log):
        return False
    is_held, live = _run_isolated(log, _collect_locked)
    if is_held:
        _detach(log, live)
    return live is not None


def _collect_locked(log: Log, _: None) -> tuple[bool, list[Tensor] | None]:
    """Return whether tapes hold the log, and its tensors with their values; None on failure."""
    with log.lock:
        if log.busy or log.owner != threading.get_ident():
            return False, None
        is_held = log.is_held()
        if log.is_recorded():
            return False, None
        state = log.columns.state_view
        live = [tensor for tensor in liveness.live_tensors(log.tensors, 0) if tensor._home is log]
        required = [tensor._row for tensor in live if state[tensor._row] != VALUE]
        if required and not _try_compute_all(log, required, is_held):
            return False, None
        if not is_held:
            _store_values_and_rewind(log, live)
        return is_held, live


RESERVE_BYTES = 2 << 20  # more than Python's allocator requests from the system at once
_reserve = mmap.mmap(-1, RESERVE_BYTES)  # uses address space only: nothing writes to it


def drop_unreachable(log: Log) -> None:
    """Release unreachable tensors after memory has run out; their rows stay.

    A long recording has a small object for each of its rows. Without those objects there is memory
    for the ones that the following code allocates first.
    """
    global _reserve
    _reserve.close()  # the following lines allocate a few small objects
    try:
        log.lazy.clear()
        log.scanned = log.lazy_rescan_at = 0
        n = log.n
        live = liveness.live_tensors(log.tensors, 0)
        if log.n == n and type(log.tensors) is list:
            log.tensors = live  # a new list: interrupted recorders start again
        log.limit = 0  # the next op rewinds, if no tape holds the rows by then
    finally:
        with suppress(OSError):
            _reserve = mmap.mmap(-1, RESERVE_BYTES)


def complete(log: Log) -> None:
    """Compute all values that are still reachable."""
    if not (log in local.evaluating and _is_running(log)):
        _run_isolated(log, _complete_locked)


def _complete_locked(log: Log, _: None) -> None:
    with log.lock:
        state = log.columns.state_view
        live = [tensor for tensor in liveness.live_tensors(log.tensors, 0) if tensor._home is log]
        required = [tensor._row for tensor in live if state[tensor._row] != VALUE]
        if required:
            log.computations += 1
            executor().compute(log, required, [], log.is_held())


_ISOLATED_CODES = _evaluate_locked.__code__, _collect_locked.__code__, _complete_locked.__code__


def _detach(log: Log, live: list[Tensor]) -> None:
    """Leave the log to the tapes that hold it, and give the thread a new one."""
    log.invalidate_reads()
    successor = log.successor()
    for tensor in live:
        # The old log remembers the rows of these tensors.
        log._leaf_rows[id(tensor)] = tensor._row, tensor
    for tensor in live:
        tensor._home = log.stored_value(tensor._row, tensor._spec)
    local.log = successor


Log.evaluate = evaluate
Log.evaluate_on_device = evaluate_on_device
Log.evaluate_row = _evaluate_row
Log.collect = collect
Log.complete = complete
