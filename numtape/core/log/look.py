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
from .outside import from_outside

FEW = 16  # lazy arrays that every look may consider again

# The module of a device's executor; set in `core.wiring`.
module_of: Callable[[str], Any] = settings.unset
_executors: dict[str, Executor] = {}


def executor() -> Executor:
    """The executor of the chosen device."""
    name = settings.device()
    found = _executors.get(name)
    if found is None:
        module = module_of(name)
        if not hasattr(module, "Executor"):
            raise RuntimeError(
                "A signal handler or a finalizer looks at a value while its thread imports what "
                "computes values. Look at one before, or set a flag and look later."
            )
        found = _executors.setdefault(name, module.Executor())
    return found


def repeated_look(log: Log, tensor: Tensor) -> Any:
    """The value, if machine code has it computed as before; see `core.cpu.repeated_looks`."""
    return None


def look(log: Log, tensor: Tensor) -> np.ndarray[Any, Any]:
    """The value of a tensor whose home was ``log`` a moment ago."""
    found = computed(log, tensor)
    return found if type(found) is np.ndarray else found.host()


def computed(log: Log, tensor: Tensor) -> Any:
    """As `look`; on a GPU, where a large value is."""
    found = repeated_look(log, tensor)
    if found is not None:
        return found
    looking = local.looking
    if looking and log in looking and _nested(log):
        if tensor._home is not log:
            return tensor._home
        if log.columns.state_view[tensor._row] == VALUE:
            return log.stored(tensor._row, tensor._spec)
        raise RuntimeError(
            "A signal handler or a finalizer looks at a value of the log that is being swept. "
            "Look at values that were computed before, or set a flag and look later."
        )
    return _apart(log, _look, tensor)


def _apart(log: Log, work: Any, tensor: Tensor | None = None) -> Any:
    """Do something to a log while handlers and finalizers record elsewhere, and do not do it."""
    current, looking = local.log, local.looking
    if looking:  # an interrupt may have left what is no longer looked at
        looking = tuple(x for x in looking if _nested(x))
    aside = log.aside() if current is log else current
    try:
        local.looking = looking + (log,) if looking else (log,)  # noqa: RUF005
        local.log = aside
        return work(log, tensor)
    finally:
        local.looking = looking
        if local.rule is None:
            local.log = current
        else:  # it is up to who asks: see `numtape.core.log.log`
            vars(local).pop("log", None)


def _nested(log: Log) -> bool:
    """Whether something is done to ``log`` further up; not if an interrupt cut it short."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if any(frame.f_code is code for code in _WORK) and frame.f_locals.get("log") is log:
            return True
        frame = frame.f_back
    return False


def _look(log: Log, tensor: Tensor) -> Any:
    with log.lock:
        home = tensor._home
        if home is not log:  # its owner rewound the log meanwhile
            return home
        return log.seen(tensor)


def _seen(log: Log, tensor: Tensor) -> Any:
    """The value of a row, computed if need be; its log is locked."""
    row = tensor._row
    if log.columns.state_view[row] == VALUE:
        return log.stored(row, tensor._spec)
    held, alive, kept, before = log.held(), references.alive, log.kept, log.scanned
    log.scanned = end = len(kept)  # first: tensors before that stay in their places
    live = alive(kept[before:end], 1) if before else alive(kept, 0)
    wanted, lazy = _wanted(log, live)
    try:
        tried = _tried(log, [*wanted, row], [t._row for t in lazy], held)
    except BaseException:  # an interrupt: what took so long is not for the next look to compute
        _put_off(log, live)
        raise
    if not tried:
        _put_off(log, live)
        executor().compute(log, [row], [], held)
        return log.stored(row, tensor._spec)
    if before:
        live.clear()  # not all there are
    log.lazy += lazy
    log.eager.clear()
    log.pending.clear()
    del lazy
    held = held or log.busy or log.owner != threading.get_ident()
    if _some_lazy(log, live) or held:
        return log.stored(row, tensor._spec)
    _let_go(log, live)
    home = tensor._home  # the value, if the log let go
    return log.stored(row, tensor._spec) if home is log else home


def _put_off(log: Log, live: list[Tensor]) -> None:
    """Leave what a look computes besides its own value to who asks for it: some of it fails."""
    state = log.columns.state_view
    log.lazy += [tensor for tensor in live if tensor._home is log and state[tensor._row] != VALUE]
    log.eager.clear()
    log.pending.clear()


def _tried(log: Log, wanted: list[int], welcome: list[int], held: bool) -> bool:
    """Give rows their values. False if it cannot be done; then not even memory was taken."""
    log.computations += 1
    try:
        executor().compute(log, wanted, welcome, held)
        return True
    except Exception as error:
        if from_outside(error):
            raise
        full = isinstance(error, MemoryError)
    state = log.columns.state_view
    for row in [row for row in list(log.buffers) if state[row] != VALUE]:
        log.bytes -= log.buffers.pop(row).nbytes
    if full and log.owner == threading.get_ident() and not log.busy:
        log.shrink()
    return False


def _all_tried(log: Log, wanted: list[int], held: bool) -> bool:
    """Give rows their values. False if some cannot be computed: an error for who looks at them."""
    if _tried(log, wanted, [], held):
        return True
    return all(
        [log.columns.state_view[row] == VALUE or _tried(log, [row], [], held) for row in wanted]
    )


def _wanted(log: Log, live: list[Tensor]) -> tuple[list[int], list[Tensor]]:
    """What every look computes besides its own value, and new arrays that stay lazy.

    ``live`` are the new tensors that can still be looked at.
    """
    wanted, lazy = [], []
    state = log.columns.state_view
    eager = log.eager
    for tensor in live:
        row = tensor._row
        if tensor._home is not log or state[row] == VALUE:
            continue
        if tensor._spec.single or row in eager:
            wanted.append(row)
        else:
            lazy.append(tensor)
    for variable in list(log.pending.values()) if log.pending else ():
        value = variable._value
        if value._home is log and state[value._row] != VALUE:
            wanted.append(value._row)
    return wanted, lazy


def _some_lazy(log: Log, live: list[Tensor]) -> bool:
    """Whether a live array is uncomputed, or may be: looking often must not mean asking often.

    ``live`` is cleared if references have to be counted: a list of tensors is one to each.
    """
    if not log.lazy:
        log.patience = 0
        return False
    if len(log.lazy) < log.patience:
        return True
    state = log.columns.state_view
    log.lazy = [tensor for tensor in log.lazy if state[tensor._row] != VALUE]
    if log.lazy:
        live.clear()
        log.lazy = references.alive(log.lazy, 1)
    log.patience = 2 * len(log.lazy) if len(log.lazy) > FEW else 0
    return bool(log.lazy)


def _let_go(log: Log, live: list[Tensor]) -> None:
    """Rewind the log: no live value is uncomputed. ``live`` are its live tensors, if known."""
    if not live:
        if log.n < log.settle:
            return
        live = references.alive(log.kept, 0)
        log.settle = 2 * log.n  # so that looking often costs no more than recording
    _settle(log, live)


def _settle(log: Log, live: list[Tensor]) -> None:
    """Hand the live tensors their values and rewind, unless one of them has none yet."""
    state = log.columns.state_view
    here = [tensor for tensor in live if tensor._home is log]
    for tensor in here:
        if state[tensor._row] != VALUE:
            return
    stored, buffers = log.stored, log.buffers
    for tensor in here:
        row, spec = tensor._row, tensor._spec
        tensor._home = stored(row, spec) if spec.single else buffers[row]
    log.rewind()


def collect(log: Log) -> bool:
    """Compute what live tensors still need, and rewind. False if a tape needs the rows.

    If only tapes that no longer record need them, they keep the log, and the thread goes on
    with a new one.
    """
    if log in local.looking and _nested(log):
        return False
    held, live = _apart(log, _collected)
    if held:
        _leave(log, live)
    return live is not None


def _collected(log: Log, _: None) -> tuple[bool, list[Tensor] | None]:
    """Whether tapes hold the log, and the tensors that have their values in it; None if not."""
    with log.lock:
        if log.busy or log.owner != threading.get_ident():
            return False, None
        held = log.held()
        if log.recorded():
            return False, None
        state = log.columns.state_view
        live = [tensor for tensor in references.alive(log.kept, 0) if tensor._home is log]
        wanted = [tensor._row for tensor in live if state[tensor._row] != VALUE]
        if wanted and not _all_tried(log, wanted, held):
            return False, None
        if not held:
            _settle(log, live)
        return held, live


SPARE = 2 << 20  # bytes: what Python's allocator asks for at once, and some more
_spare = mmap.mmap(-1, SPARE)  # addresses alone, as nobody writes there


def thin(log: Log) -> None:
    """Let go of tensors that nobody can reach, where memory has run out; their rows stay.

    A long recording has a small object for each of its rows: without them there is room for those
    that whatever comes next makes before anything else.
    """
    global _spare
    _spare.close()  # what follows makes a few small objects
    try:
        log.lazy.clear()
        log.scanned = log.patience = 0
        n = log.n
        live = references.alive(log.kept, 0)
        if log.n == n and type(log.kept) is list:
            log.kept = live  # another list: who was about to record records again
        log.limit = 0  # the next op begins anew, if by then no tape holds the rows
    finally:
        with suppress(OSError):
            _spare = mmap.mmap(-1, SPARE)


def complete(log: Log) -> None:
    """Compute what can still be looked at."""
    if not (log in local.looking and _nested(log)):
        _apart(log, _completed)


def _completed(log: Log, _: None) -> None:
    with log.lock:
        state = log.columns.state_view
        live = [tensor for tensor in references.alive(log.kept, 0) if tensor._home is log]
        wanted = [tensor._row for tensor in live if state[tensor._row] != VALUE]
        if wanted:
            log.computations += 1
            executor().compute(log, wanted, [], log.held())


_WORK = _look.__code__, _collected.__code__, _completed.__code__


def _leave(log: Log, live: list[Tensor]) -> None:
    """Leave the log to the tapes that hold it; the thread's next rows go to a new one."""
    log.forget_reads()
    successor = log.successor()
    for tensor in live:
        # The old log remembers which of its rows these tensors were.
        log._leaf_rows[id(tensor)] = tensor._row, tensor
    for tensor in live:
        tensor._home = log.stored(tensor._row, tensor._spec)
    local.log = successor


Log.look = look
Log.computed = computed
Log.seen = _seen
Log.collect = collect
Log.complete = complete
