"""Looking at values: what a look computes, and when the log lets go of its rows.

A look computes the value asked for and, with it, pending assigns, gradients that were not
swept yet, and every scalar that can still be looked at. The rest stays lazy.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .. import config
from .log import VALUE, Log, alive
from .tensor import Tensor

_executors: dict[str, Any] = {}


def executor() -> Any:
    """The executor of the chosen device: an object with ``compute(log, wanted, retain)``."""
    name = config.device()
    found = _executors.get(name)
    if found is None:
        if name == "reference":
            from .executors import reference as module
        else:
            from .executors import cpu as module
        found = _executors[name] = module.Executor()
    return found


def look(log: Log, tensor: Tensor) -> np.ndarray[Any, Any]:
    """The value of a tensor whose home was ``log`` a moment ago."""
    with log.lock:
        home = tensor._home
        if home is not log:  # its owner rewound the log meanwhile
            return home  # type: ignore[return-value]
        if log.symbolic:
            raise RuntimeError("A derivative rule looked at a value; it may only record ops.")
        row = tensor._row
        if log.columns.state_view[row] != VALUE:
            wanted = _wanted(log)
            wanted.append(row)
            executor().compute(log, wanted, log.held())
            log.eager.clear()
            log.pending.clear()
        value = log.value(row, tensor._spec)
        _let_go(log)
        return value


def _wanted(log: Log) -> list[int]:
    """What every look computes besides its own value, as rows; new tensors only."""
    wanted = []
    state = log.columns.state_view
    end = len(log.kept)
    eager = log.eager
    fresh = log.kept[log.scanned : end]
    for tensor in alive(fresh, 1):
        row = tensor._row
        if tensor._home is not log or state[row] == VALUE:
            continue
        if tensor._spec.size == 1 or row in eager:
            wanted.append(row)
        else:
            log.lazy.append(tensor)
    for variable in log.pending.values():
        value = variable._value
        if value._home is log and state[value._row] != VALUE:
            wanted.append(value._row)
    log.scanned = end
    return wanted


def _let_go(log: Log) -> None:
    """Rewind the log if that loses nothing: no tape needs it, no live value is uncomputed."""
    if log.owner != threading.get_ident() or log.held():
        return
    state = log.columns.state_view
    if log.lazy:
        log.lazy = [t for t in alive(log.lazy, 1) if state[t._row] != VALUE]
        if log.lazy:
            return
    _settle(log, alive(log.kept))


def _settle(log: Log, live: list[Tensor]) -> None:
    """Hand the live tensors their values and rewind, unless one of them has none yet."""
    state = log.columns.state_view
    here = [tensor for tensor in live if tensor._home is log]
    if not all(state[tensor._row] == VALUE for tensor in here):
        return
    for tensor in here:
        tensor._home = log.value(tensor._row, tensor._spec)
    log.rewind()


def collect(log: Log) -> bool:
    """Compute what live tensors still need, and rewind. False if a tape needs the rows.

    If only tapes that no longer record need them, they keep the log, and the thread goes on
    with a new one.
    """
    with log.lock:
        if log.owner != threading.get_ident():
            return False
        held = log.held()
        if any(tape.log is log for tape in _recording()):
            return False
        state = log.columns.state_view
        live = [tensor for tensor in alive(log.kept) if tensor._home is log]
        wanted = [tensor._row for tensor in live if state[tensor._row] != VALUE]
        if wanted:
            executor().compute(log, wanted, held)
        if held:
            _leave(log, live)
        else:
            _settle(log, live)
        return True


def _recording() -> list[Any]:
    from .log import local

    return local.tapes


def _leave(log: Log, live: list[Tensor]) -> None:
    """Leave the log to the tapes that hold it; the thread's next rows go to a new one."""
    from .log import local

    log.forget_reads()
    successor = Log()
    for tensor in live:
        # The old log remembers which of its rows these tensors were.
        log._leaf_rows[id(tensor)] = tensor._row, tensor
    for tensor in live:
        tensor._home = log.value(tensor._row, tensor._spec)
    local.log = successor
