"""The log's view of a gradient tape: ranges of rows, and watch events at positions."""

from __future__ import annotations

import threading
import weakref
from typing import Any, ClassVar

import numpy as np

from ..log.log import READ_CODE, READ_ROW_CODE, SWEEP_BYTES, SWEEP_ROWS, Log, local
from ..log.variable import Variable, original
from ..values.tensor import Tensor

CLEANUP_THRESHOLD = 100  # tapes of a log from which on dead ones are removed


class Tape:
    """The record of one GradientTape. It holds no rows, only the ranges that it follows.

    Attributes:
      persistent: Whether it survives a gradient.
      watch_accessed: Whether reading a trainable variable watches it.
      ranges: Start and end of each recorded range in `log`; the last is open (-1) while recording.
      events: (position, row), or (position, variable), in order.
      recalled_adjoints: The cached adjoint rows that the last gradient appended again, if any.
      unconnected: The explanation of a gradient that was None.
      variable_flags: All variables of the log, and for each whether a gradient found it watched.
    """

    __slots__ = (
        "__weakref__",
        "events",
        "is_spent",
        "log",
        "persistent",
        "ranges",
        "recalled_adjoints",
        "thread",
        "unconnected",
        "variable_flags",
        "watch_accessed",
    )

    forward: ClassVar[bool] = False  # whether it is the tape of a forward accumulator

    def __init__(self, persistent: bool, watch_accessed: bool) -> None:
        self.persistent = persistent
        self.watch_accessed = watch_accessed
        self.log: Log | None = None
        self.ranges: list[int] = []
        self.events: list[tuple[int, int | Variable]] = []
        self.variable_flags: tuple[list[Variable], Any] = [], ()
        self.is_spent = False
        self.recalled_adjoints: Any = None
        self.unconnected: Any = None
        self.thread = 0

    @property
    def recording(self) -> bool:
        """Whether the tape is recording."""
        return bool(self.ranges) and self.ranges[-1] < 0

    def holds(self, log: Log) -> bool:
        """Return whether the tape may still ask for gradients of rows of ``log``."""
        return self.log is log and not self.is_spent

    def start(self) -> None:
        """Start recording."""
        while not self._try_start():
            pass

    def _try_start(self) -> bool:
        """Start recording. Return False if the thread's current log has changed meanwhile.

        A signal handler may have filled the log: tapes held it, but none recorded.
        """
        log = local.log
        if self.log is not None and self.log is not log:
            self.refuse_foreign("enters a tape")
            # The thread went on with another log while this tape held its own.
            if log.is_recorded():
                raise RuntimeError(
                    "A persistent tape that holds an older part of the log cannot be entered "
                    "again inside another tape. Enter it first, or record on a new tape."
                )
            log = local.log = self.log
        elif (
            self.log is None
            and (log.n > SWEEP_ROWS // 2 or log.bytes > SWEEP_BYTES // 2)
            and not log.is_recorded()
        ):
            log.collect()  # inside a tape, a full log has to grow
            log = local.log
        is_new = self.log is None
        self.log = log
        # Created before the list is read: a finalizer may run here, and an evaluation in it
        # replaces the list.
        reference = weakref.ref(self)
        with log.lock:  # an evaluation in another thread may be iterating over the tapes
            tapes = log.tapes
            # A log that fills up forgets its tapes. These recorded hardly any rows.
            if len(tapes) > CLEANUP_THRESHOLD:
                for dead_reference in [ref for ref in tapes if ref() is None]:
                    tapes.remove(dead_reference)
            if is_new or not any(ref() is self for ref in log.tapes):
                log.tapes.append(reference)
        self.thread = threading.get_ident()
        self.ranges += (log.n, -1)
        if log.reads:  # last: a signal handler may have added reads that only it can reuse
            log.invalidate_reads()
        if local.log is log:
            return True
        del self.ranges[-2:]
        if is_new:
            self.log = None
        return False

    def refuse_foreign(self, action: str) -> None:
        """Refuse to use a tape from outside of a traced call."""
        log = local.log
        if self.log is not None and self.log is not log:
            log.refuse(f"it {action} that it did not make")

    def stop(self) -> None:
        """Stop recording."""
        log = self.log
        assert log is not None
        if log is not local.log:
            self.refuse_foreign("stops a tape")
        self.ranges[-1] = log.n

    def clear(self) -> None:
        """Forget all recorded ranges and events."""
        self.ranges = []
        self.events = []
        self.log = None

    def release(self) -> None:
        """Release the rows. Later gradients are an error."""
        events = self.events
        watched = [event for event in events if type(event[1]) is not int] if events else events
        log, self.is_spent = self.log, True
        self.clear()
        if log is not None and log.calls:
            log.is_held()  # drops custom derivatives with the last tape
        self.events = watched  # still needed by `watched_variables`

    def watch_tensor(self, tensor: Tensor) -> None:
        """Follow later computations that use ``tensor``."""
        self.refuse_foreign("watches a tensor with a tape")
        log = self.log
        assert log is not None
        log.reserve(1)
        row, _ = log.row_of(tensor, None, "watch")
        self.events.append((log.n, row))

    def watch_variable(self, variable: Variable) -> None:
        """Follow later computations that read ``variable``."""
        self.refuse_foreign("watches a variable with a tape")
        log = self.log
        assert log is not None
        self.events.append((log.n, variable))
        log.invalidate_reads()

    def follows(self, value: Tensor | Variable) -> bool:
        """Return whether a gradient may flow to a value, such as one computed while it records."""
        if not isinstance(value, Tensor):
            variable = original(value)
            if self.watch_accessed and variable.trainable:
                return True
            return any(watched is variable for _, watched in self.events)
        log = self.log
        assert log is not None
        if value._home is log:
            row = value._row
            if row >= self.ranges[0]:
                return True
        else:
            row, _ = log._leaf_rows.get(id(value), (-1, None))
        return any(type(watched) is int and watched == row for _, watched in self.events)

    @property
    def rows(self) -> int:
        """The number of rows recorded."""
        end = self.log.n if self.log is not None else 0
        pairs = zip(self.ranges[::2], self.ranges[1::2], strict=True)
        return sum((stop if stop >= 0 else end) - start for start, stop in pairs)

    def variables_read(self) -> list[Variable]:
        """Return the variables with reads among the recorded rows."""
        log = self.log
        assert log is not None
        numbers = set()
        bounds = self.closed_ranges(log)
        for start, end in zip(bounds[::2], bounds[1::2], strict=True):
            codes = log.columns.code[start:end]
            rows = start + np.flatnonzero((codes == READ_CODE) | (codes == READ_ROW_CODE))
            numbers.update(log.columns.b[rows].tolist())
        return [log.variables[number] for number in sorted(numbers)]

    def closed_ranges(self, log: Log) -> list[int]:
        """Return the ranges; an open one ends at the current row."""
        return [log.n if bound < 0 else bound for bound in self.ranges]
