"""Looking at values: what a look computes, and when the log lets go of its rows.

While this goes on a signal handler or a finalizer of the same thread records in another log, and
cannot look at what has no value here yet: that is an error.

A look computes the value asked for and, with it, pending assigns, gradients that were not
swept yet, and every scalar that can still be looked at. The rest stays lazy. If not all of it can
be computed, for want of memory, say, the value asked for is computed alone, and the rest stays
lazy as well: an error is for who looks at what fails.
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
from . import references
from .log import VALUE, Log, local
from .outside import raised_by_signal_handler

MAX_LAZY_PER_SCAN = 16  # lazy arrays that every look may consider again

# The module of a device's executor; set in `core.wiring`.
module_of: Callable[[str], Any] = settings.unset
_executors: dict[str, Executor] = {}


def executor() -> Executor:
    """The executor of the chosen device."""
    name = settings.device()
    result = _executors.get(name)
    if result is None:
        module = module_of(name)
        if not hasattr(module, "Executor"):
            raise RuntimeError(
                "A signal handler or a finalizer looks at a value while its thread imports what "
                "computes values. Look at one before, or set a flag and look later."
            )
        result = _executors.setdefault(name, module.Executor())
    return result


def evaluate_fast_path(log: Log, tensor: Tensor) -> Any:
    """The value, if machine code has it computed as before; see `core.cpu.repeated_looks`."""
    return None


def evaluate(log: Log, tensor: Tensor) -> np.ndarray[Any, Any]:
    """The value of a tensor whose home was ``log`` a moment ago."""
    value = evaluate_on_device(log, tensor)
    return value if type(value) is np.ndarray else value.host()


def evaluate_on_device(log: Log, tensor: Tensor) -> Any:
    """As `evaluate`; on a GPU, where a large value is."""
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
            "A signal handler or a finalizer looks at a value of the log that is being swept. "
            "Look at values that were computed before, or set a flag and look later."
        )
    return _run_isolated(log, _evaluate_locked, tensor)


def _run_isolated(log: Log, work: Any, tensor: Tensor | None = None) -> Any:
    """Do something to a log while handlers and finalizers record elsewhere, and do not do it."""
    current, evaluating = local.log, local.evaluating
    if evaluating:  # an interrupt may have left what is no longer looked at
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
        else:  # it is up to who asks: see `numtape.core.log.log`
            vars(local).pop("log", None)


def _is_running(log: Log) -> bool:
    """Whether something is done to ``log`` further up; not if an interrupt cut it short."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if any(frame.f_code is code for code in _ISOLATED_CODES) and frame.f_locals.get("log") is log:
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
    """The value of a row, computed if need be; its log is locked."""
    row = tensor._row
    if log.columns.state_view[row] == VALUE:
        return log.stored_value(row, tensor._spec)
    is_held, live_tensors, tensors, scanned = log.is_held(), references.live_tensors, log.tensors, log.scanned
    log.scanned = end = len(tensors)  # first: tensors before that stay in their places
    live = live_tensors(tensors[scanned:end], 1) if scanned else live_tensors(tensors, 0)
    required, lazy = _split_eager(log, live)
    try:
        computed = _try_compute(log, [*required, row], [t._row for t in lazy], is_held)
    except BaseException:  # an interrupt: what took so long is not for the next look to compute
        _defer(log, live)
        raise
    if not computed:
        _defer(log, live)
        executor().compute(log, [row], [], is_held)
        return log.stored_value(row, tensor._spec)
    if scanned:
        live.clear()  # not all there are
    log.lazy += lazy
    log.eager.clear()
    log.pending.clear()
    del lazy
    is_held = is_held or log.busy or log.owner != threading.get_ident()
    if _has_uncomputed(log, live) or is_held:
        return log.stored_value(row, tensor._spec)
    _rewind_if_computed(log, live)
    home = tensor._home  # the value, if the log let go
    return log.stored_value(row, tensor._spec) if home is log else home


def _defer(log: Log, live: list[Tensor]) -> None:
    """Leave what a look computes besides its own value to who asks for it: some of it fails."""
    state = log.columns.state_view
    log.lazy += [tensor for tensor in live if tensor._home is log and state[tensor._row] != VALUE]
    log.eager.clear()
    log.pending.clear()


def _try_compute(log: Log, required: list[int], optional: list[int], is_held: bool) -> bool:
    """Give rows their values. False if it cannot be done; then not even memory was taken."""
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
    """Give rows their values. False if some cannot be computed: an error for who looks at them."""
    if _try_compute(log, required, [], is_held):
        return True
    return all(
        [log.columns.state_view[row] == VALUE or _try_compute(log, [row], [], is_held) for row in required]
    )


def _split_eager(log: Log, live: list[Tensor]) -> tuple[list[int], list[Tensor]]:
    """What every look computes besides its own value, and new arrays that stay lazy.

    ``live`` are the new tensors that can still be looked at.
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
    """Whether a live array is uncomputed, or may be: looking often must not mean asking often.

    ``live`` is cleared if references have to be counted: a list of tensors is one to each.
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
        log.lazy = references.live_tensors(log.lazy, 1)
    log.lazy_rescan_at = 2 * len(log.lazy) if len(log.lazy) > MAX_LAZY_PER_SCAN else 0
    return bool(log.lazy)


def _rewind_if_computed(log: Log, live: list[Tensor]) -> None:
    """Rewind the log: no live value is uncomputed. ``live`` are its live tensors, if known."""
    if not live:
        if log.n < log.full_rescan_at:
            return
        live = references.live_tensors(log.tensors, 0)
        log.full_rescan_at = 2 * log.n  # so that looking often costs no more than recording
    _store_values_and_rewind(log, live)


def _store_values_and_rewind(log: Log, live: list[Tensor]) -> None:
    """Hand the live tensors their values and rewind, unless one of them has none yet."""
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
    """Compute what live tensors still need, and rewind. False if a tape needs the rows.

    If only tapes that no longer record need them, they keep the log, and the thread goes on
    with a new one.
    """
    if log in local.evaluating and _is_running(log):
        return False
    is_held, live = _run_isolated(log, _collect_locked)
    if is_held:
        _detach(log, live)
    return live is not None


def _collect_locked(log: Log, _: None) -> tuple[bool, list[Tensor] | None]:
    """Whether tapes hold the log, and the tensors that have their values in it; None if not."""
    with log.lock:
        if log.busy or log.owner != threading.get_ident():
            return False, None
        is_held = log.is_held()
        if log.is_recorded():
            return False, None
        state = log.columns.state_view
        live = [tensor for tensor in references.live_tensors(log.tensors, 0) if tensor._home is log]
        required = [tensor._row for tensor in live if state[tensor._row] != VALUE]
        if required and not _try_compute_all(log, required, is_held):
            return False, None
        if not is_held:
            _store_values_and_rewind(log, live)
        return is_held, live


RESERVE_BYTES = 2 << 20  # bytes: what Python's allocator asks for at once, and some more
_reserve = mmap.mmap(-1, RESERVE_BYTES)  # addresses alone, as nobody writes there


def drop_unreachable(log: Log) -> None:
    """Let go of tensors that nobody can reach, where memory has run out; their rows stay.

    A long recording has a small object for each of its rows: without them there is room for those
    that whatever comes next makes before anything else.
    """
    global _reserve
    _reserve.close()  # what follows makes a few small objects
    try:
        log.lazy.clear()
        log.scanned = log.lazy_rescan_at = 0
        n = log.n
        live = references.live_tensors(log.tensors, 0)
        if log.n == n and type(log.tensors) is list:
            log.tensors = live  # another list: who was about to record records again
        log.limit = 0  # the next op begins anew, if by then no tape holds the rows
    finally:
        with suppress(OSError):
            _reserve = mmap.mmap(-1, RESERVE_BYTES)


def complete(log: Log) -> None:
    """Compute what can still be looked at."""
    if not (log in local.evaluating and _is_running(log)):
        _run_isolated(log, _complete_locked)


def _complete_locked(log: Log, _: None) -> None:
    with log.lock:
        state = log.columns.state_view
        live = [tensor for tensor in references.live_tensors(log.tensors, 0) if tensor._home is log]
        required = [tensor._row for tensor in live if state[tensor._row] != VALUE]
        if required:
            log.computations += 1
            executor().compute(log, required, [], log.is_held())


_ISOLATED_CODES = _evaluate_locked.__code__, _collect_locked.__code__, _complete_locked.__code__


def _detach(log: Log, live: list[Tensor]) -> None:
    """Leave the log to the tapes that hold it; the thread's next rows go to a new one."""
    log.invalidate_reads()
    successor = log.successor()
    for tensor in live:
        # The old log remembers which of its rows these tensors were.
        log._leaf_rows[id(tensor)] = tensor._row, tensor
    for tensor in live:
        tensor._home = log.stored_value(tensor._row, tensor._spec)
    local.log = successor


Log.evaluate = evaluate
Log.evaluate_on_device = evaluate_on_device
Log.evaluate_row = _evaluate_row
Log.collect = collect
Log.complete = complete
