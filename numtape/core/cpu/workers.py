"""Threads that share a sweep: parked until there is work, created again after a fork.

They run jitted code without the GIL, and call BLAS in one thread each. Numba's threading layers
are not used: they abort or hang where several Python threads, forks and BLAS meet.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import count, zip_longest
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from ..settings import after_fork_in_child, inside_another
from ..values.memory import address_of, aligned_buffer, view

T = TypeVar("T")

WORKER, OWNER = "worker", "owner"


class _Task:
    """One call that another thread may make.

    Attributes:
      call: The call.
      keeps: Objects that keep its memory alive.
      end_soon: Makes the call end soon, if another thread can. Returns whether no wait is needed.
      taken: The side that took it: `WORKER`, or `OWNER` to cancel it. Testing and taking are one
        atomic step.
      done: Whether the call has ended.
      ended: A lock that is released then.
    """

    __slots__ = ("call", "done", "end_soon", "ended", "keeps", "taken")

    def __init__(
        self, call: Callable[[], Any], keeps: Any, end_soon: Callable[[], bool] | None = None
    ) -> None:
        self.call = call
        self.keeps = keeps
        self.end_soon = end_soon
        self.taken: dict[str, str] = {}
        self.ended = threading.Lock()
        self.ended.acquire()
        self.done = False

    def run(self) -> None:
        if self.taken.setdefault("by", WORKER) is WORKER:
            try:
                self.call()
            finally:
                self.done = True
                self.ended.release()

    def finish(self) -> BaseException | None:
        """Wait until it has ended, or see to it that it never starts.

        Returns what interrupted the waiting: its memory is in use until then.
        """
        interrupt = None
        while not self.done:
            try:
                ending = self.end_soon is not None and self.end_soon()
                if self.taken.setdefault("by", OWNER) is OWNER or ending:
                    break
                self.ended.acquire(timeout=PERIOD)
            except BaseException as error:
                interrupt = error
        return interrupt


# The words of a team, as in kernels/cpu/thread_team.py (a test compares).
ROUND, ITEM, INSIDE, HIRED, HOME, YIELD = range(6)
HIRING = 1 << 32  # rounds
_sched_yield: Any = None if sys.platform == "win32" else ctypes.CDLL(None).sched_yield


class Team:
    """Threads that share the groups of a sweep; see `kernels.cpu.thread_team`.

    Attributes:
      address: Of its words.
    """

    def __init__(self) -> None:
        memory, self.address = aligned_buffer(64 * 6)
        start = self.address - address_of(memory)
        memory[:] = 0
        self._words = view(memory[start : start + 64 * 6].view(np.int64))
        self._hirings = count(1)
        if _sched_yield is not None:
            self._words[8 * YIELD] = ctypes.cast(_sched_yield, ctypes.c_void_p).value or 0

    def hire(self, many: int) -> int:
        """Let so many others take part from now on. Returns the first round's number."""
        words = self._words
        words[8 * ROUND] = begin = next(self._hirings) * HIRING
        words[8 * HOME], words[8 * HIRED] = 0, many
        return begin

    def dismiss(self) -> None:
        """Have all of them end."""
        words = self._words
        words[8 * HOME] = words[8 * HIRED]
        words[8 * ROUND] = -1


# Seconds: Windows hears of interrupts between two waits, and not while it waits.
PERIOD = 0.1

_queue: SimpleQueue[_Task | None] = SimpleQueue()
_threads: list[threading.Thread] = []
_abandoned: list[threading.Thread] = []  # threads whose calls were interrupted
_starting = threading.RLock()  # a signal handler may come here as well


def _forget() -> None:
    """Threads do not live on in a forked child, and locks may be held there for ever."""
    global _queue, _threads, _abandoned, _starting
    _queue, _threads, _abandoned, _starting = SimpleQueue(), [], [], threading.RLock()


after_fork_in_child(_forget)


def _serve(queue: SimpleQueue[_Task | None]) -> None:
    while (task := queue.get()) is not None:
        task.run()
        del task  # release its memory while idle


def settle(running: list[_Task]) -> None:
    """Wait for calls that `share` made; raise what interrupted the waiting."""
    interrupt = None
    for task in running:
        interrupt = task.finish() or interrupt
    running.clear()
    if interrupt is not None:
        raise interrupt


def share(
    calls: Sequence[Callable[[], Any]],
    keeps: Any,
    running: list[_Task],
    ends: Sequence[Callable[[], bool]] = (),
) -> None:
    """Make all calls at once, the first one here; return when all have ended.

    A call that no worker takes on before the first one ends is not made: so each must do as
    much as is left to do. ``keeps`` is kept alive until the last one has ended. ``running`` lists
    the other calls until then. Should an interrupt hit the waiting itself, they are still there,
    and `settle` waits for them. ``ends``, one for each other call, are called when the first one
    has ended: then the call ends soon, and is not waited for if that returns True.
    """
    _start(len(calls) - 1)
    running += [_Task(call, keeps, end) for call, end in zip_longest(calls[1:], ends)]
    try:
        for task in running:
            _queue.put(task)
        calls[0]()
    finally:
        settle(running)


def watch(
    calls: Sequence[Callable[[], Any]],
    keeps: Any,
    running: list[_Task],
    stop: Callable[[], None],
    leave: Callable[[], None] | None = None,
) -> None:
    """As `share`, but other threads make all calls: this one waits, and so hears of interrupts.

    An interrupt is raised after ``stop``, with which the calls end soon. If there is ``leave``, it
    is raised at once: those that do not end are left alone with what they keep.
    """
    _start(len(calls))
    if not any(thread.is_alive() for thread in _threads):  # all threads have ended
        share(calls, keeps, running)
        return
    tasks = [_Task(call, keeps) for call in calls]
    try:
        running += tasks
        for task in tasks:
            _queue.put(task)
        while not tasks[0].ended.acquire(timeout=PERIOD):
            pass
    except BaseException:
        stop()
        if leave is None:
            settle(running)
        else:
            leave()
            for task in tasks:
                task.taken.setdefault("by", OWNER)
            running.clear()
            _dismiss()
        raise
    settle(running)


def heard(
    compute: Callable[[], T],
    keeps: Any = None,
    running: list[_Task] | None = None,
    stop: Callable[[], None] = lambda: None,
    leave: Callable[[], None] = lambda: None,
) -> T:
    """Call a function in another thread, and return or raise its outcome; see `watch`."""
    results: list[T] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            results.append(compute())
        except Exception as error:
            errors.append(error)

    watch([work], keeps, [] if running is None else running, stop, leave)
    if errors:
        raise errors.pop()
    return results.pop()


def _dismiss() -> None:
    """Let the workers end once they have done what they are at; the next ones are new."""
    global _queue, _threads, _abandoned
    queue, threads = _queue, _threads
    _abandoned = [thread for thread in (*_abandoned, *threads) if thread.is_alive()]
    _queue, _threads = SimpleQueue(), []
    for _ in threads:
        queue.put(None)


@atexit.register
def _end() -> None:
    """Let the process end although workers still run interrupted calls.

    When a process ends, OpenBLAS frees its memory and tells its threads to end, which those that
    compute do not hear: it would wait for ever, or a worker would use what was freed. So all that
    C does at the end is to flush its files, once Python is done; where that cannot be, the work is
    waited for, as NumPy does.
    """
    if sys.platform == "win32" or not any(thread.is_alive() for thread in _abandoned):
        return  # Windows ends all other threads first
    c = ctypes.CDLL(None)
    if hasattr(c, "on_exit") and not inside_another():
        c.on_exit(c._exit, None)  # is called with the process's exit status, after what follows
        c["__cxa_atexit"](c.fflush, None, None)
    else:
        for thread in _abandoned:
            thread.join()


def _start(count: int) -> None:
    """See to it that there are so many workers, if possible."""
    if len(_threads) < count:
        with _starting:
            while len(_threads) < count:
                thread = threading.Thread(
                    target=_serve, args=(_queue,), name="numtape worker", daemon=True
                )
                _threads.append(thread)  # first: an interrupt may come while it starts
                try:
                    thread.start()
                except RuntimeError:  # no thread can start now, so the task is cancelled
                    _threads.remove(thread)
                    return
