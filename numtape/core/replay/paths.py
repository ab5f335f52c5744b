"""The recordings of a signature, in the order of their guards; and how many a function may have."""

from __future__ import annotations

import logging
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..values.tensor import Tensor
from .elements import StartedReader
from .observe.frames import unsupported_reason
from .observe.guards import Guards
from .observe.reads import CODE, METHOD, MISSING, TYPE, Read
from .observe.touched import AccessSets
from .places import caller_location
from .ready import FailedGuard
from .recording import OTHER_ELEMENTS, Recording

if TYPE_CHECKING:
    from .repeated_calls import RepeatedCall

MAX_RECORDINGS = 1024  # of a function: each Variable or shape among the arguments is a signature

_logger = logging.getLogger("numtape")


class RecordingLimit:
    """What the calls of a function with different signatures share.

    Args:
      touched: What the calls of a method of other objects read and set.

    Attributes:
      made: How many recordings it has made.
      warned: Whether it was said that it runs as Python.
      told: Whether it was said what was frozen.
      reason: Why it runs as Python for all arguments.
      touched: What its calls read and set, those of a method for all objects.
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
        """Whether it may make another one."""
        return self.recording_count < MAX_RECORDINGS

    def log_frozen_reads(self, function: Any, reads: list[Read], effects: list[str]) -> None:
        """Say, once, what a recording does not look at again."""
        if not self.has_logged:
            self.has_logged = True
            names = list(dict.fromkeys(read.name for read in reads if _may_change(read)))
            if unsupported_reason():
                names = ["everything"]  # nobody knows what it read
            _logger.warning(
                "numtape.function %r keeps what it read when it was recorded: %s",
                getattr(function, "__qualname__", repr(function)),
                "; ".join([*names, *effects]) or "nothing that could change",
            )

    def warn(self, function: Any, reason: str) -> None:
        """Say, once, why it runs as Python."""
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
    """Say, once in a process, why all functions run as Python."""
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
    """Whether a read is of something that people change."""
    if read.kind in (CODE, TYPE, METHOD) or read.value is MISSING:
        return False
    return not isinstance(
        read.value, type | types.ModuleType | types.FunctionType | types.BuiltinFunctionType
    )


def only_value(values: list[Any]) -> Any:
    """What a call returns that returns one thing."""
    return values[0]


class TracedPath:
    """A recording in its tree.

    Attributes:
      recording: The rows.
      nodes: Where it passes, guard by guard.
      rebuild: Puts outputs in their places.
      hits: How often it was right.
      nanoseconds: How long these calls took.
      counts: Both, of calls that machine code carried out.
      repeated_call: What that needs, if it does; see `repeated_calls`.
      effects: What the call did besides, which a replay does not do.
      as_it_is: Whether what the recording gives are the outputs, all of them, in their order.
    """

    def __init__(
        self, recording: Recording, rebuild: Callable[[list[Any]], Any], effects: list[str]
    ) -> None:
        self.recording, self.rebuild, self.effects = recording, rebuild, effects
        self.nodes: list[GuardNode] = []
        self.hits = 0
        self.nanoseconds = 0
        self.counts = np.zeros(2, np.int64)
        self.repeated_call: RepeatedCall | None = None
        outputs = recording.outputs
        self._count = len(outputs)
        self._only_rows = all(out.row >= 0 for out in outputs)
        self.is_direct = self._only_rows and not recording.assigned

    def result(self, values: list[Tensor]) -> Any:
        """What the call returns."""
        if self.is_direct:
            return self.rebuild(values)
        if self._only_rows:
            return self.rebuild(values[: self._count])
        rows = iter(values)
        outputs = self.recording.outputs
        return self.rebuild([out.constant if out.row < 0 else next(rows) for out in outputs])


class GuardNode:
    """Where recordings may part: the next guard, and what can be seen at it."""

    __slots__ = ("children", "latest")

    def __init__(self) -> None:
        self.children: dict[tuple[int, int | bytes], GuardNode] = {}
        self.latest: TracedPath | None = None  # the one that was right the last time


class GuardTree:
    """Recordings that hold while Python's state is the same where they read it.

    Attributes:
      guards: What was read of Python's state.
      heads: Where the first guard is, by the elements of datasets that are read.
      root: Knows the path that was right the last time.
      paths: All recordings.
      effects: Whether one of them draws random numbers, or assigns.
    """

    def __init__(self) -> None:
        self.has_effects = False
        self.heads: dict[tuple[Any, ...], GuardNode] = {}
        self.guards = Guards()
        self.holds = self.guards.holds
        self.root = GuardNode()
        self.paths: list[TracedPath] = []

    def add(self, path: TracedPath, reads: list[Read]) -> None:
        """Enter a recording, and what its call read."""
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
        if (
            existing is not None and existing.nodes[-1] is node
        ):  # of another thread, at the same time
            path = existing
        else:
            self.paths.append(path)
        self.prefer(path)

    def prefer(self, path: TracedPath) -> None:
        """A path was right: try it first the next time."""
        if self.root.latest is not path:
            for node in reversed(path.nodes):  # the root last: an interrupt may come
                node.latest = path
            self.root.latest = path

    def next_path(self, path: TracedPath, failed: FailedGuard) -> TracedPath | None:
        """The path to try after one of whose guards failed."""
        if failed is OTHER_ELEMENTS:
            return None
        row = path.recording.guards[failed.guard].row
        node = path.nodes[failed.guard].children.get((row, failed.bits))
        return None if node is None else node.latest

    def path_for_other_elements(self, tried: set[int]) -> TracedPath | None:
        """A path that reads other elements of datasets than those that were tried."""
        for head in list(self.heads.values()):
            if id(head) not in tried and head.latest is not None:
                return head.latest
        return None


def _reader_key(source: Any) -> tuple[Any, ...]:
    """What tells a reader of a dataset from others. The recording keeps it alive."""
    return (id(source.dataset), source.number) if type(source) is StartedReader else (id(source),)
