"""The state of a thread, above all its current log; and errors that signal handlers raise.

Errors of signal handlers, such as an alarm's ``TimeoutError``, can occur anywhere. They belong to
the program, and numtape must never handle them.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any, ClassVar, NamedTuple

from ..values.weakrefs import WeakObjectMap


def raised_by_signal_handler(error: BaseException) -> bool:
    """Return whether a signal handler raised an error."""
    codes = set()
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        for function in (handler, getattr(handler, "__func__", None), type(handler).__call__):
            codes.add(getattr(function, "__code__", None))
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code not in codes:
        tb = tb.tb_next
    return tb is not None


class Rule(NamedTuple):
    """A derivative rule that a thread runs, in a separate log.

    Attributes:
      log: The log of the rule.
      outer: The log for all other code.
      runner: The code of the function that calls the rule.
      globals: The globals of the rule, which need not be numtape's.
    """

    log: Any  # a `RuleLog`
    outer: Any  # a `Log`
    runner: CodeType
    globals: dict[str, Any]


class LogByCaller:
    """The current log of a thread while it runs a derivative rule, depending on the caller.

    The rule gets its own log: all frames between it and its runner are numtape's code. A signal
    handler or a finalizer, which is other code, gets the log that was current before.
    """

    def __get__(self, thread: ThreadState, owner: type | None = None) -> Any:
        rule: Rule | None = thread.rule
        if rule is None:  # a finalizer that runs during `make_log` may set the log first
            return vars(thread).setdefault("log", thread.make_log())
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code is not rule.runner:
            frame_globals = frame.f_globals
            if frame_globals is not rule.globals and not frame_globals.get(
                "__name__", ""
            ).startswith("numtape."):
                return rule.outer
            frame = frame.f_back
        return rule.log


class ThreadState(threading.local):
    """The state of a thread."""

    log: Any = LogByCaller()  # the current `Log`; the descriptor is used only while a rule runs

    # While a call may have to be undone: its assigned variables and their old values, by id.
    journal: dict[int, tuple[Any, Any]] | None = None
    evaluating: tuple[Any, ...] = ()  # logs that functions up the stack evaluate or rewind
    rule: Rule | None = None
    scope: str = ""  # prefix of the names of variables
    training: bool | None = None  # the training mode that layers inherit from their caller
    layers: tuple[Any, ...] = ()  # the layer that is being called, and those around it
    autocast: Any = None  # the dtype to which the layer's variables are cast when read
    losses: WeakObjectMap[bool]  # the `Losses` that layers of this thread have added
    make_log: ClassVar[Any]  # set in `numtape.core.log.log`

    def __init__(self) -> None:
        vars(self).setdefault("log", self.make_log())
        self.losses = WeakObjectMap()


def run_in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in another thread. Return its result or raise its error."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function(*arguments))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
