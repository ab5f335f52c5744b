"""Threads that share an execution: parked until there is work, recreated after a fork.

They run jitted code without the GIL, and call BLAS in one thread each. Numba's threading layers
are not used, because they abort or hang with several Python threads, forks and BLAS.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import count, zip_longest
from queue import SimpleQueue
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from ...kernels.constants import HIRING, TEAM_HIRED, TEAM_LEFT, TEAM_ROUND, TEAM_WORDS, TEAM_YIELD
from ..settings import after_fork_in_child, inside_another
from ..values.memory import address_of, aligned_buffer, view

T = TypeVar("T")

WORKER, OWNER = "worker", "owner"


class _Task:
    """One call that another thread may make.

    Attributes:
      call: The call.
      keeps: Objects that keep its memory alive.
      end_soon: Asks the call to end soon. Returns whether the owner need not wait for it.
      taken: The side that took the task: `WORKER`, or `OWNER` to cancel it. Test and set are one
        atomic step.
      done: Whether the call has ended.
      ended: A lock that is released when the call ends.
    """

    __slots__ = ("call", "done", "end_soon", "ended", "keeps", "taken")

    def __init__(
        self, call: Callable[[], Any], keeps: object, end_soon: Callable[[], bool] | None = None
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
        """Wait until the call has ended, or cancel it if it has not started.

        Interrupts do not end the wait, because the call uses its memory until it ends. Returns the
        last interrupt, or None.
        """
        interrupt = None
        while not self.done:
            try:
                ends_by_itself = self.end_soon is not None and self.end_soon()
                if self.taken.setdefault("by", OWNER) is OWNER or ends_by_itself:
                    break
                self.ended.acquire(timeout=PERIOD)
            except BaseException as error:
                interrupt = error
        return interrupt


_sched_yield: Any = None if sys.platform == "win32" else ctypes.CDLL(None).sched_yield


class Team:
    """Threads that share the groups of a sweep; see `kernels.cpu.thread_team`.

    Attributes:
      address: The address of its words.
    """

    def __init__(self) -> None:
        memory, self.address = aligned_buffer(64 * TEAM_WORDS)
        start = self.address - address_of(memory)
        memory[:] = 0
        self._words = view(memory[start : start + 64 * TEAM_WORDS].view(np.int64))
        self._hirings = count(1)
        if _sched_yield is not None:
            self._words[8 * TEAM_YIELD] = ctypes.cast(_sched_yield, ctypes.c_void_p).value or 0

    def hire(self, thread_count: int) -> int:
        """Start a hiring of ``thread_count`` threads. Returns the number of its first round."""
        words = self._words
        begin: int = next(self._hirings) * HIRING
        words[8 * TEAM_ROUND] = begin
        words[8 * TEAM_LEFT], words[8 * TEAM_HIRED] = 0, thread_count
        return begin

    def dismiss(self) -> None:
        """Make all threads of the team leave."""
        words = self._words
        words[8 * TEAM_LEFT] = words[8 * TEAM_HIRED]
        words[8 * TEAM_ROUND] = -1


# Seconds: Windows receives interrupts only between two waits.
PERIOD = 0.1

_queue: SimpleQueue[_Task | None] = SimpleQueue()
_threads: list[threading.Thread] = []
_abandoned: list[threading.Thread] = []  # threads whose calls were interrupted
_starting = threading.RLock()  # signal handlers may start threads as well


def _reset_after_fork() -> None:
    """Reset the state in a forked child: threads do not survive, and locks may be held."""
    global _queue, _threads, _abandoned, _starting
    _queue, _threads, _abandoned, _starting = SimpleQueue(), [], [], threading.RLock()


after_fork_in_child(_reset_after_fork)


def _serve(queue: SimpleQueue[_Task | None]) -> None:
    while (task := queue.get()) is not None:
        task.run()
        del task  # release its memory while idle


def settle(running: list[_Task]) -> None:
    """Wait for calls that `share` started; then raise an interrupt of the wait."""
    interrupt = None
    for task in running:
        interrupt = task.finish() or interrupt
    running.clear()
    if interrupt is not None:
        raise interrupt


def share(
    calls: Sequence[Callable[[], Any]],
    keeps: object,
    running: list[_Task],
    ends: Sequence[Callable[[], bool]] = (),
) -> None:
    """Make all calls in parallel, the first one in this thread; return when all have ended.

    A call that no worker takes before the first one ends is cancelled, so each call must work until
    no work is left. ``keeps`` is kept alive until the last call has ended, and ``running`` lists
    the other calls until then, so that `settle` can wait for them if an interrupt ends the wait.
    ``ends`` has a function for each other call: when the first call has ended, it asks the other
    one to end soon, and returns whether no wait is needed.
    """
    _start_workers(len(calls) - 1)
    running += [_Task(call, keeps, end) for call, end in zip_longest(calls[1:], ends)]
    try:
        for task in running:
            _queue.put(task)
        calls[0]()
    finally:
        settle(running)


def watch(
    calls: Sequence[Callable[[], Any]],
    keeps: object,
    running: list[_Task],
    stop: Callable[[], None],
    leave: Callable[[], None] | None = None,
) -> None:
    """As `share`, but other threads make all calls, while this one waits for interrupts.

    On an interrupt, ``stop`` asks the calls to end soon, and the interrupt is raised when they have
    ended. With ``leave``, it is raised immediately: calls may keep running, and keep ``keeps``
    alive.
    """
    _start_workers(len(calls))
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
    keeps: object = None,
    running: list[_Task] | None = None,
    stop: Callable[[], None] = lambda: None,
    leave: Callable[[], None] = lambda: None,
) -> T:
    """Call a function in another thread; return its result or raise its exception. See `watch`."""
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
    """Make the workers end after their current call; later calls start new ones."""
    global _queue, _threads, _abandoned
    queue, threads = _queue, _threads
    _abandoned = [thread for thread in (*_abandoned, *threads) if thread.is_alive()]
    _queue, _threads = SimpleQueue(), []
    for _ in threads:
        queue.put(None)


@atexit.register
def _exit_with_workers() -> None:
    """Let the process end although workers still run interrupted calls.

    At exit, OpenBLAS frees its memory and tells its threads to end, which computing threads ignore:
    it would wait forever, or a worker would use freed memory. So, once Python is done, C only
    flushes its files and skips other exit handlers. Where that is impossible, this function waits
    for the workers, as NumPy does.
    """
    if sys.platform == "win32" or not any(thread.is_alive() for thread in _abandoned):
        return  # Windows ends all other threads first
    c = ctypes.CDLL(None)
    if hasattr(c, "on_exit") and not inside_another():
        c.on_exit(c._exit, None)  # is called with the exit status, after the next line's handler
        c["__cxa_atexit"](c.fflush, None, None)
    else:
        for thread in _abandoned:
            thread.join()


def _start_workers(count: int) -> None:
    """Start workers until there are ``count``, if possible."""
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


LONG_CALL = 0.05  # seconds: interrupts must not wait longer for a call


class Listening:
    """Calls a function, in another thread if the call may take long.

    An interrupt is then raised immediately. The call keeps running in the background, so it must
    not write to shared memory.

    A call may take long if the last one did, or if its size (see `largest`) is more than twice that
    of any short call; so the first one may.

    Attributes:
      long: Whether the last call took long.
      most: The largest size of calls that are expected to be short.
    """

    def __init__(self) -> None:
        self.long, self.most = False, -math.inf

    def __call__(self, size: float, function: Callable[..., T], *arguments: Any) -> T:
        """Call the function with the arguments, and return its result."""
        start_time = perf_counter()
        try:
            if self.long or size > self.most:
                result = heard_here(lambda: function(*arguments))
            else:
                result = function(*arguments)
        except Exception:
            raise  # a failed call tells nothing about the duration of others
        except BaseException:  # an interrupt: expect the next call to take long, too
            self.long = True
            raise
        self.long = perf_counter() - start_time > LONG_CALL
        if not self.long and size > self.most:
            self.most = 2.0 * size
        return result


def largest(arguments: Iterable[Any]) -> float:
    """Return the largest argument, where an array counts as its number of elements."""
    return max(
        [x.size if isinstance(x, np.ndarray) and x.ndim else x for x in arguments], default=0.0
    )


def heard_here(compute: Callable[[], T]) -> T:
    """Call a function, in another thread if this one receives interrupts, and return its result."""
    if threading.current_thread() is threading.main_thread():
        return heard(compute)
    return compute()
