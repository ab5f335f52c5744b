"""`Source`: a reader of a dataset's elements, with read-ahead for recorded and replayed calls."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import optree

from ..core.log.as_tensor import to_tensor
from ..core.log.log import Log, local
from ..core.ops.random import STATE
from ..core.values.tensor import Tensor, of_array
from .elements import LEAVES, is_leaf, is_string, leaves
from .stages import Stage, mismatch, restore_state, state_of

if TYPE_CHECKING:
    from ..core.log.variable import Variable
    from ..core.values.annotations import TensorLike


class IsolatedLog(Log):
    """The log in which elements are read ahead; no tape watches it.

    Attributes:
      has_reads: Whether a variable was read.
    """

    has_reads = False

    def successor(self) -> Log:
        """Return the next log."""
        _threads.log = IsolatedLog()
        _threads.log.has_reads = self.has_reads
        return _threads.log

    def read(self, variable: Variable, value: Any, codes: Any = None) -> int:
        """Append a read of a variable, and set `has_reads`."""
        self.has_reads = True
        return super().read(variable, value, codes)

    def current_value(self, variable: Variable) -> Tensor:
        """Return the tensor of a variable's value, and set `has_reads`."""
        self.has_reads = True
        return super().current_value(variable)


class _Threads(threading.local):
    """Each thread's log for reading ahead."""

    def __init__(self) -> None:
        self.log = IsolatedLog()


_threads = _Threads()


@contextmanager
def isolate() -> Iterator[None]:
    """Run the block outside of the call being recorded, without tapes."""
    outer_log = local.log
    try:
        local.log = _threads.log
        yield
    finally:
        inner_log, local.log = local.log, outer_log
        inner_log.invalidate_reads()


class Entry(NamedTuple):
    """An element that was read ahead, or the end of the dataset.

    Attributes:
      element: The element.
      kind: The element's structure and the specs of its leaves; None for the end.
      leaves: The element's tensors.
      refused: The reason why a replay cannot use the element; "" if it can.
      error: The exception that reading raised, or None.
    """

    element: Any
    kind: Any
    leaves: list[Tensor]
    refused: str
    error: Exception | None = None


_END = Entry(None, None, [], "")


class Source:
    """An iterator over a dataset's elements that can also read ahead.

    Attributes:
      taken: The number of elements taken so far.
    """

    def __init__(self, elements: Iterable[Any]) -> None:
        self._stage = elements
        self._elements = iter(elements)
        self._pending_elements: list[Any] = []  # an element without an entry, left by an interrupt
        self._entries: list[Entry] = []  # read ahead, not taken yet
        self._restored: deque[Any] = deque()  # elements of a restored position
        self._lock = threading.RLock()
        self.taken = 0

    def __iter__(self) -> Source:
        return self

    def __next__(self) -> Any:
        if self._entries:
            entry = self._entries[0]
            self.advance(1)
            if entry.error is not None:
                raise entry.error
            return entry.element
        if self._pending_elements:
            element = self._pending_elements.pop()
        else:
            try:
                element = next(self._elements)
            except StopIteration:
                raise
            except Exception:
                self._continue()
                raise
        self.taken += 1
        return element

    def _continue(self) -> None:
        """Continue behind an element that could not be computed."""
        if isinstance(self._stage, Stage):
            self._elements = iter(self._stage)

    def state(self) -> dict[str, Any]:
        """Return the position: elements that were read ahead, and the position of the stages."""
        read_ahead = [entry.element for entry in self._entries if entry.error is None]
        pending = [*read_ahead, *self._pending_elements, *self._restored]
        return {"pending": pending, "stages": state_of(self._stage)}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position, before iterating."""
        try:
            restore_state(self._stage, state["stages"])
            self._restored.extend(state["pending"])
        except (KeyError, TypeError) as error:
            raise mismatch() from error
        self._elements = self._read_restored()

    def _read_restored(self) -> Iterator[Any]:
        """Yield the elements that an earlier iterator had read ahead, and then those of stages."""
        while self._restored:
            yield self._restored.popleft()
        yield from self._stage

    def read_ahead(self, number: int) -> Entry:
        """Return the entry of element ``number``, counted from the first element not taken."""
        with self._lock:
            while len(self._entries) <= number:
                entry = self._read()
                if entry is _END:
                    return _END
                no_elements, entries = list[Any](), [*self._entries, entry]
                # atomic: see core.values.intern_table
                self._pending_elements = no_elements
                self._entries = entries
                # end atomic
            return self._entries[number]

    def state_after(self, number: int) -> dict[str, Any]:
        """Return the attributes that change when ``number`` elements are taken."""
        return {"_entries": self._entries[number:], "taken": self.taken + number}

    def advance(self, number: int) -> None:
        """Take ``number`` elements."""
        for name, value in self.state_after(number).items():
            setattr(self, name, value)

    def _read(self) -> Entry:
        """Read the next entry. Functions of the program run as outside of the recorded call."""
        previous_journal, journal = local.journal, dict[int, Any]()
        state = STATE.seed, STATE.draws
        try:
            local.journal, _threads.log.has_reads = journal, False
            with isolate():
                if not self._pending_elements:
                    self._pending_elements.extend(islice(self._elements, 1))  # one call of C
                if not self._pending_elements:
                    return _END
                element = self._pending_elements[0]
                element_leaves = leaves(element)
                if not all(isinstance(x, LEAVES) and not is_string(x) for x in element_leaves):
                    return Entry(
                        element, (), [], "elements of a dataset are datasets, strings or sparse"
                    )
                values = [_value(x) for x in element_leaves]
        except Exception as error:
            self._continue()
            return Entry(None, (), [], f"a dataset raises a {type(error).__name__}", error)
        finally:
            local.journal = previous_journal
        structure = optree.tree_structure(element, is_leaf=is_leaf, none_is_leaf=True)
        refusal_reason = ""
        if (STATE.seed, STATE.draws) != state:
            refusal_reason = "the elements of a dataset are made by random numbers"
        elif journal:
            refusal_reason = "a dataset assigns a variable"
        elif _threads.log.has_reads:
            refusal_reason = "a dataset reads a variable"
        element = structure.unflatten(values)
        return Entry(element, (structure, tuple(x._spec for x in values)), values, refusal_reason)


def _value(x: TensorLike) -> Tensor:
    """Convert a leaf to a tensor that belongs to no log."""
    tensor = to_tensor(x, None)
    return of_array(tensor._stored_value(), tensor._spec)


def element_of(source: Source) -> Any:
    """Return the next element, in a call that is being recorded.

    Raises:
      StopIteration: At the end of the dataset.
    """
    log = local.log
    number = log.elements_taken.get(id(source), (source, 0))[1]
    leaves = log.read_element(source)
    if leaves is None:
        raise StopIteration
    return source.read_ahead(number).kind[0].unflatten(leaves)


def read_in(token: object, source: Source) -> Iterator[Any]:
    """Yield a dataset's elements in the call being recorded; after the call, take them directly."""
    while True:
        try:
            element = element_of(source) if local.log.token is token else next(source)
        except StopIteration:
            return
        yield element
