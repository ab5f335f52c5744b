"""Stages that compute elements in other threads: `Ahead` (prefetch) and `ParallelMap`.

A thread costs more than it saves if elements are cheap. So a stage computes elements in the
iterating thread until one takes longer than `SLOW`. Values do not depend on that: functions always
run outside of tapes and recorded calls, and draw random numbers from streams of their own.

Threads end when the iterator is dropped or the interpreter exits. They do not survive a fork.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..core.ops.random import DrawStream, use_stream
from ..core.values.weakrefs import WeakObjectMap
from ..errors import CancelledError
from . import elements
from .source import isolate
from .stages import Stage

if TYPE_CHECKING:
    from concurrent.futures import Future

SLOW = 5e-4  # seconds; waking a thread takes a tenth of it
STREAM_OF_ELEMENT = 2**12  # random draws of an element of a parallel map
EXIT_TIMEOUT = 2.0  # seconds to wait for an element that is being computed at exit

_FORKED = (
    "The process was forked after this iterator had started a thread, which the new process does "
    "not have: create the iterator in the new process."
)


class _Channel:
    """Elements that a thread has computed.

    Attributes:
      condition: Guards the other attributes.
      producing: Held while the thread computes an element.
      items: Pairs of an element and an error, one of them None.
      is_finished: Whether the source is exhausted.
      is_stopped: Whether the thread should end.
    """

    def __init__(self) -> None:
        self.condition = threading.Condition(threading.RLock())
        self.producing = threading.RLock()
        self.items: deque[tuple[Any, BaseException | None]] = deque()
        self.is_finished = self.is_stopped = False
        self.thread: threading.Thread | None = None
        self.process = 0

    def start(self, source: Iterable[Any], size: int, stream: DrawStream) -> None:
        """Start the thread."""
        self.process = os.getpid()
        self.is_stopped = False
        self.thread = threading.Thread(
            target=_produce, args=(self, source, size, stream), name="numtape-prefetch", daemon=True
        )
        _running.put(self, True)
        self.thread.start()

    def stop(self) -> None:
        """Ask the thread to end."""
        self.is_stopped = True
        if self.thread is not None and self.process == os.getpid():
            with self.condition:
                self.condition.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread to end."""
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(timeout)

    def take(self) -> tuple[Any, BaseException | None] | None:
        """Wait for the next item; None at the end."""
        with self.condition:
            while not self.items:
                if self.is_finished:
                    return None
                if self.process != os.getpid():
                    raise CancelledError(_FORKED)
                self.condition.wait()
            item = self.items.popleft()
            self.condition.notify_all()
            return item


_running: WeakObjectMap[bool] = WeakObjectMap()  # channels with a thread


@atexit.register
def _stop_all() -> None:
    channels = [channel for channel, _ in _running if channel.process == os.getpid()]
    for channel in channels:
        channel.stop()
    for channel in channels:
        channel.join(EXIT_TIMEOUT)


def _produce(channel: _Channel, source: Iterable[Any], size: int, stream: DrawStream) -> None:
    """Compute elements until the source ends or the channel is stopped."""
    iterator = iter(source)
    condition = channel.condition
    with use_stream(stream):
        while True:
            with condition:
                while len(channel.items) >= size and not channel.is_stopped:
                    condition.wait()
            with channel.producing:
                if channel.is_stopped:
                    return
                item: tuple[Any, BaseException | None] | None
                try:
                    item = elements.evaluate(next(iterator)), None
                except StopIteration:
                    item = None
                except BaseException as error:
                    item = None, error
                    iterator = iter(source)  # the next element may be possible
                with condition:
                    if item is None:
                        channel.is_finished = True
                    else:
                        channel.items.append(item)
                    condition.notify_all()
            if item is None:
                return


class Ahead(Stage):
    """Elements of a source, of which a thread computes up to ``size`` in advance.

    Args:
      source: The source.
      size: The number of elements.
      stream: The number of the first random draw of the source's functions.
    """

    def __init__(self, source: Iterable[Any], size: int, stream: int) -> None:
        self.sources, self._size = [source], size
        self._stream = DrawStream(stream)
        self._channel = _Channel()

    def __iter__(self) -> Iterator[Any]:
        channel, source = self._channel, self.sources[0]
        channel.join()  # after an error: the thread that `stop` has asked to end
        iterator = None if channel.thread else iter(source)
        try:
            while iterator is not None and not channel.items:
                start = perf_counter()
                try:
                    with isolate(), use_stream(self._stream):
                        element = elements.evaluate(next(iterator))
                except StopIteration:
                    channel.is_finished = True
                    return
                if perf_counter() - start > SLOW:
                    iterator = None
                yield element
            if not channel.is_finished:
                channel.start(source, self._size, self._stream)
            while (item := channel.take()) is not None:
                element, error = item
                if error is not None:
                    raise error
                yield element
        finally:
            channel.stop()

    def state(self) -> dict[str, Any]:
        """Return the position: the computed elements, and the position of the source."""
        channel = self._channel
        with channel.producing, channel.condition:
            items = [element for element, error in channel.items if error is None]
            return {**super().state(), "items": items, "stream": self._stream.number}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        super().restore(state)
        self._channel.items.extend((element, None) for element in state["items"])
        self._stream.number = state["stream"]


class ParallelMap(Stage):
    """Results of a function of each element, computed by several threads, in the source's order.

    Args:
      source: The source.
      function: The function.
      threads: The number of threads.
      stream: The number of the first random draw of the function.
    """

    SAVED = ("number", "waiting")

    def __init__(
        self, source: Iterable[Any], function: Callable[[Any], Any], threads: int, stream: int
    ) -> None:
        self.sources, self._function, self._threads = [source], function, threads
        self._stream = stream
        self.number = 0  # of the next result
        self.waiting: list[Any] = []  # elements whose results have not been yielded

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self.sources[0])
        is_slow = False
        while not is_slow:
            element = self.waiting.pop(0) if self.waiting else next(iterator, elements)
            if element is elements:  # no element of a dataset is this module
                return
            start = perf_counter()
            number = self.number
            self.number += 1
            with isolate():
                result = self._compute(number, element)
            is_slow = perf_counter() - start > SLOW
            yield result
        yield from self._in_threads(iterator)

    def _compute(self, number: int, element: Any) -> Any:
        with use_stream(DrawStream(self._stream + number * STREAM_OF_ELEMENT)):
            return elements.evaluate(self._function(element))

    def _in_threads(self, iterator: Iterator[Any]) -> Iterator[Any]:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(self._threads, "numtape-map")
        process = os.getpid()
        futures: deque[Future[Any]] = deque()
        source_error: Exception | None = None
        is_finished = False
        try:
            for k, element in enumerate(self.waiting):
                futures.append(pool.submit(self._compute, self.number + k, element))
            while True:
                while len(futures) < self._threads and not is_finished:
                    try:
                        element = next(iterator)
                    except StopIteration:
                        is_finished = True
                        break
                    except Exception as error:
                        source_error, is_finished = error, True
                        break
                    number = self.number + len(futures)
                    self.waiting.append(element)
                    futures.append(pool.submit(self._compute, number, element))
                if not futures:
                    break
                if process != os.getpid():
                    raise CancelledError(_FORKED)
                self.number += 1
                self.waiting.pop(0)
                yield futures.popleft().result()
            if source_error is not None:
                raise source_error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        super().restore(state)
        self.waiting = list(self.waiting)
