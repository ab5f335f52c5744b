"""Any call that may take long, left to another thread, so that this one hears of interrupts.

Sweeps are watched by `workers.watch` itself; this is for kernels of loops, and for what is not
known to be long before it has run.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from .workers import heard

T = TypeVar("T")

LONG_CALL = 0.05  # seconds from which on interrupts should not wait for a call


class Listening:
    """Calls that are left to other threads if they may take long: interrupts are heard then.

    An interrupt is raised immediately. The call keeps running in the background, so it must not
    write to shared memory.

    A call may take long if the last one did, or if its size, by which `largest` number or array is
    among its arguments, is more than twice that of any short call: so the first one may.

    Attributes:
      long: Whether the last call took long.
      most: Up to which size calls are taken for short.
    """

    def __init__(self) -> None:
        self.long, self.most = False, -math.inf

    def __call__(self, size: float, function: Callable[..., T], *arguments: Any) -> T:
        """Call the function, and store its result or its exception."""
        began = perf_counter()
        try:
            if self.long or size > self.most:
                result = heard_here(lambda: function(*arguments))
            else:
                result = function(*arguments)
        except Exception:
            raise  # that it was short says nothing of others
        except BaseException:  # an interrupt: the next one as well
            self.long = True
            raise
        self.long = perf_counter() - began > LONG_CALL
        if not self.long and size > self.most:
            self.most = 2.0 * size
        return result


def largest(arguments: Iterable[Any]) -> float:
    """The largest number, or count of an array's elements, among arguments."""
    return max(
        [x.size if isinstance(x, np.ndarray) and x.ndim else x for x in arguments], default=0.0
    )


def heard_here(compute: Callable[[], T]) -> T:
    """Call a function, in another thread if this one receives interrupts, and return its result."""
    if threading.current_thread() is threading.main_thread():
        return heard(compute)
    return compute()
