"""Detection of errors that a signal handler raised, such as an alarm's ``TimeoutError``.

They can occur anywhere. They belong to the program, and numtape must never handle them.
"""

from __future__ import annotations

import signal
from functools import partial
from typing import Any


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
