"""What belongs to a thread: its current log above all."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..values.weak import ByObject

if TYPE_CHECKING:
    from ..values.tensor import Tensor
    from .log import Log
    from .variable import Variable


class Rule(NamedTuple):
    """A derivative rule that a thread runs, in a log of its own.

    Attributes:
      log: That log.
      outer: The log for all others.
      runner: The code of the function that calls the rule.
      names: The globals of the rule, which need not be numtape's.
    """

    log: Log
    outer: Log
    runner: CodeType
    globals: dict[str, Any]


class LogByCaller:
    """The current log of a thread that has none, because it runs a derivative rule.

    It is the rule's log for the rule, which is numtape's code down to who runs it; a signal
    handler or a finalizer, which is not, gets the one that the thread had before.
    """

    def __get__(self, thread: Any, kind: Any = None) -> Any:
        rule: Rule | None = thread.rule
        if rule is None:  # a finalizer, while the thread gets its log: it has this one from now on
            return vars(thread).setdefault("log", thread.make_log())
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code is not rule.runner:
            frame_globals = frame.f_globals
            if frame_globals is not rule.globals and not frame_globals.get("__name__", "").startswith("numtape."):
                return rule.outer
            frame = frame.f_back
        return rule.log


class ThreadState(threading.local):
    """What belongs to a thread."""

    log: Any = LogByCaller()  # the current log; this is in its place while there is a rule

    # While a call may have to be undone: the variables it assigned, and their old values.
    journal: dict[int, tuple[Variable, Tensor]] | None = None
    evaluating: tuple[Log, ...] = ()  # what is being swept or rewound, further up
    rule: Rule | None = None
    scope: str = ""  # what names of variables begin with
    training: bool | None = None  # what layers inherit from the layer that calls them
    layers: tuple[Any, ...] = ()  # the layer that is called just now, and those around it
    losses: ByObject[bool]  # the `Losses` of layers that have some
    make_log: ClassVar[Any]  # set in `numtape.core.log.log`

    def __init__(self) -> None:
        vars(self).setdefault("log", self.make_log())
        self.losses = ByObject()


def run_in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, or raises, that another thread calls."""
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
