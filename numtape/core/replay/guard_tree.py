"""The recordings of a signature as a tree of guards, and the limit on recordings of a function."""

from __future__ import annotations

import logging
import types
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..cpython.frames import unsupported_reason
from ..values.tensor import Tensor
from .elements import StartedReader
from .observe.access_sets import AccessSets
from .observe.guards import Guards
from .observe.reads import CODE, METHOD, MISSING, TYPE, Read
from .recording import OTHER_ELEMENTS, FailedGuard, Recording
from .trace import caller_location

MAX_RECORDINGS = 1024  # of a function: each variable or shape among its arguments is a signature

_logger = logging.getLogger("numtape")


class RecordingLimit:
    """The state that all signatures of a function share.

    Args:
      accesses: The state that calls of the same method read and write for other objects.

    Attributes:
      recording_count: The number of recordings that were made.
      has_warned: Whether the warning that the function runs as Python was issued.
      has_logged: Whether the frozen reads were logged.
      reason: Why the function runs as Python for all arguments; "" if it does not.
      accesses: The state that the calls read and write, for all objects of a method.
    """

    __slots__ = ("__weakref__", "accesses", "has_logged", "has_warned", "reason", "recording_count")

    def __init__(self, accesses: AccessSets | None = None) -> None:
        self.recording_count = 0
        self.has_warned = False
        self.has_logged = False
        self.accesses = accesses or AccessSets()
        self.reason = self.accesses.subscribe(self)

    @property
    def has_capacity(self) -> bool:
        """Return whether another recording may be made."""
        return self.recording_count < MAX_RECORDINGS

    def log_frozen_reads(self, function: Any, reads: list[Read], effects: list[str]) -> None:
        """Log once which reads a frozen recording does not compare again."""
        if not self.has_logged:
            self.has_logged = True
            names = list(dict.fromkeys(read.name for read in reads if _may_change(read)))
            if unsupported_reason():
                names = ["everything"]  # reads are not observed in this Python
            _logger.warning(
                "numtape.function %r keeps what it read when it was recorded: %s",
                getattr(function, "__qualname__", repr(function)),
                "; ".join([*names, *effects]) or "nothing that could change",
            )

    def warn(self, function: Any, reason: str) -> None:
        """Warn once that the function runs as Python, with the reason."""
        if not self.has_warned:
            self.has_warned = True
            name = getattr(function, "__qualname__", repr(function))
            location = caller_location()
            warnings.warn_explicit(
                f"numtape.function {name!r} runs as plain Python for arguments like these from now "
                f"on: {reason}.",
                RuntimeWarning,
                location.file,
                location.line,
            )


_unobserved_reasons: list[str] = []  # at most one reason


def warn_unobserved(reason: str) -> None:
    """Warn once per process that all functions run as Python, and why."""
    if not _unobserved_reasons:
        _unobserved_reasons.append(reason)
        location = caller_location()
        warnings.warn_explicit(
            f"numtape.function records nothing here, and functions run as plain Python: {reason}. "
            f"`tf.function(freeze=True)` records.",
            RuntimeWarning,
            location.file,
            location.line,
        )


def _may_change(read: Read) -> bool:
    """Return whether a read is of a value that programs usually change."""
    if read.kind in (CODE, TYPE, METHOD) or read.value is MISSING:
        return False
    return not isinstance(
        read.value, type | types.ModuleType | types.FunctionType | types.BuiltinFunctionType
    )


def only_value(values: list[Any]) -> Any:
    """Return the only value of a call."""
    return values[0]


class MachineCodeEntry(Protocol):
    """An entry for calls that machine code carries out; see `repeated_calls.RepeatedCall`."""

    entry: tuple[Any, ...]

    def holds(self) -> bool:
        """Return whether the entry is valid for the present state of the process."""

    def settle(self) -> None:
        """Add the executed sweeps to the counter of their plan."""


class TracedPath:
    """A recording in its tree.

    Attributes:
      recording: The rows.
      nodes: The nodes on the way from the head to the recording, one for each guard.
      rebuild: Makes the call's result from a list of outputs.
      hits: The number of replays.
      nanoseconds: The total time of these replays.
      counts: Hits and nanoseconds of calls that machine code carried out.
      repeated_call: The entry for machine code, if any; see `repeated_calls`.
      effects: Effects of the recorded call that a replay does not repeat.
      is_direct: Whether the recording's values are exactly the outputs, in order.
    """

    def __init__(
        self, recording: Recording, rebuild: Callable[[list[Any]], Any], effects: list[str]
    ) -> None:
        self.recording, self.rebuild, self.effects = recording, rebuild, effects
        self.nodes: list[GuardNode] = []
        self.hits = 0
        self.nanoseconds = 0
        self.counts = np.zeros(2, np.int64)
        self.repeated_call: MachineCodeEntry | None = None
        outputs = recording.outputs
        self._count = len(outputs)
        self._only_rows = all(out.row >= 0 for out in outputs)
        self.is_direct = self._only_rows and not recording.assigned

    def result(self, values: list[Tensor]) -> Any:
        """Return the call's result."""
        if self.is_direct:
            return self.rebuild(values)
        if self._only_rows:
            return self.rebuild(values[: self._count])
        rows = iter(values)
        outputs = self.recording.outputs
        return self.rebuild([out.constant if out.row < 0 else next(rows) for out in outputs])


class GuardNode:
    """A node of the tree: a guard, with one child for each value that was seen at it."""

    __slots__ = ("children", "latest")

    def __init__(self) -> None:
        self.children: dict[tuple[int, int | bytes], GuardNode] = {}
        self.latest: TracedPath | None = None  # the path that matched last


class GuardTree:
    """Recordings that are valid while the same Python state is unchanged.

    Attributes:
      guards: The Python state that was read.
      heads: The first node of each path, by the dataset elements that the path reads.
      root: A node whose `latest` is the path that matched last.
      paths: All recordings.
      has_effects: Whether a recording draws random numbers or assigns variables.
    """

    def __init__(self) -> None:
        self.has_effects = False
        self.heads: dict[tuple[Any, ...], GuardNode] = {}
        self.guards = Guards()
        self.holds = self.guards.holds
        self.root = GuardNode()
        self.paths: list[TracedPath] = []

    def add(self, path: TracedPath, reads: list[Read]) -> None:
        """Add a recording, and the reads of its call."""
        self.guards.add(reads)
        self.has_effects |= path.recording.has_effects
        elements = tuple(
            (*_reader_key(feed.source), *feed[1:3]) for feed in path.recording.element_reads
        )
        node = self.heads.setdefault(elements, GuardNode())
        path.nodes = [node]
        for guard in path.recording.guards:
            node = node.children.setdefault((guard.row, guard.bits), GuardNode())
            path.nodes.append(node)
        existing = node.latest
        if existing is not None and existing.nodes[-1] is node:
            path = existing  # another thread added it at the same time
        else:
            self.paths.append(path)
        self.prefer(path)

    def prefer(self, path: TracedPath) -> None:
        """Note that a path matched, so that it is tried first the next time."""
        if self.root.latest is not path:
            for node in reversed(path.nodes):  # the root last, because an interrupt may occur
                node.latest = path
            self.root.latest = path

    def next_path(self, path: TracedPath, failed: FailedGuard) -> TracedPath | None:
        """Return the path to try after a guard of ``path`` failed, or None."""
        if failed is OTHER_ELEMENTS:
            return None
        row = path.recording.guards[failed.guard].row
        node = path.nodes[failed.guard].children.get((row, failed.bits))
        return None if node is None else node.latest

    def path_for_other_elements(self, tried: set[int]) -> TracedPath | None:
        """Return a path that reads other dataset elements than the heads in ``tried``, or None."""
        for head in list(self.heads.values()):
            if id(head) not in tried and head.latest is not None:
                return head.latest
        return None


def _reader_key(source: Any) -> tuple[Any, ...]:
    """Return a key for a dataset reader. The recording keeps the reader alive."""
    return (id(source.dataset), source.number) if type(source) is StartedReader else (id(source),)
