"""Threads that share a sweep: parked until there is work, made anew after a fork.

They run jitted code without the GIL. BLAS has threads of its own, and Numba's threading layers
are not used: they abort or hang where several Python threads, forks and BLAS meet.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any


class _Task:
    """One call that another thread may make.

    Attributes:
      running: Locked by whoever takes the task on: a worker, or, to call it off, its owner.
      done: Whether it has ended.
      ended: Released then.
    """

    __slots__ = ("call", "done", "ended", "keeps", "running")

    def __init__(self, call: Callable[[], Any], keeps: Any) -> None:
        self.call = call
        self.keeps = keeps  # memory that it works on
        self.running = threading.Lock()
        self.ended = threading.Lock()
        self.ended.acquire()
        self.done = False

    def run(self) -> None:
        if self.running.acquire(False):
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
                if self.running.acquire(False):
                    self.done = True
                else:
                    self.ended.acquire()
            except BaseException as error:
                interrupt = error
        return interrupt


_queue: SimpleQueue[_Task] = SimpleQueue()
_threads: list[threading.Thread] = []
_starting = threading.Lock()


def _forget() -> None:
    """Threads do not live on in a forked child, and locks may be held there for ever."""
    global _queue, _threads, _starting
    _queue, _threads, _starting = SimpleQueue(), [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _work(queue: SimpleQueue[_Task]) -> None:
    while True:
        task = queue.get()
        task.run()
        del task  # its memory is not kept while there is no work


def share(calls: Sequence[Callable[[], Any]], keeps: Any, running: list[_Task]) -> None:
    """Make all calls at once, the first one here; return when all have ended.

    A call that no worker takes on before the first one ends is not made: so each must do as
    much as is left to do. ``keeps`` is kept alive until the last one has ended. ``running`` lists
    the other calls until then. Should an interrupt hit the waiting itself, they are still there,
    and `settle` waits for them.
    """
    if len(_threads) < len(calls) - 1:
        with _starting:
            while len(_threads) < len(calls) - 1:
                thread = threading.Thread(
                    target=_work, args=(_queue,), name="numtape worker", daemon=True
                )
                thread.start()
                _threads.append(thread)
    running += [_Task(call, keeps) for call in calls[1:]]
    try:
        for task in running:
            _queue.put(task)
        calls[0]()
    finally:
        settle(running)


def settle(running: list[_Task]) -> None:
    """Wait for calls that `share` made; raise what interrupted the waiting."""
    interrupt = None
    for task in running:
        interrupt = task.finish() or interrupt
    running.clear()
    if interrupt is not None:
        raise interrupt
