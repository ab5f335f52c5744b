"""Calls of kernels as Numba compiles them that may take long: interrupts are heard meanwhile.

Another thread makes such a call. After an interrupt nobody waits for its end, so it must not write
to what the caller has: it writes to copies, and the caller's arrays are written once it has ended:
where copies have changed, for other threads may write to other elements meanwhile.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import KernelError
from ..cpu.interruptible import Listening, largest
from .activity import written_arrays
from .call import Kinds, kinds_of
from .normal import normal
from .types import infer


class InterruptibleCalls:
    """Such calls of one kernel.

    Args:
      kernel: The kernel.

    Attributes:
      most: Up to which size, see `listening.largest`, its calls are short, or cannot be watched.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel, self._listening, self.most = kernel, Listening(), -math.inf
        # By kinds of arguments. Numba compiles the kernel for each of them, too, and keeps it.
        self._written: dict[Kinds, list[int] | None] = {}

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """What the function returns, or raises."""
        call = self._kernel.njit
        places = self._places(args)
        if places is None:
            self.most = math.inf
            return call(*args)
        listening = self._listening
        main = threading.current_thread() is threading.main_thread()
        if not main or not _are_disjoint(args, places):
            if not listening.long:
                self.most = max(self.most, largest(args))
            return call(*args)
        self._compile(call, args)
        before = {j: args[j].copy(order="K") for j in places}
        own = [before[j].copy(order="K") if j in before else x for j, x in enumerate(args)]
        try:
            result = listening(largest(args), call, *own)
        except Exception:
            _write(args, own, before)  # what it wrote before it raised, as without copies
            raise
        finally:
            self.most = -math.inf if listening.long else listening.most
        _write(args, own, before)
        return result

    def _places(self, args: tuple[Any, ...]) -> list[int] | None:
        """The arguments that it writes to; None if it does what cannot be told."""
        try:
            kinds = kinds_of(args)
        except KernelError:
            return None
        try:
            return self._written[kinds]
        except KeyError:
            return self._written.setdefault(kinds, self._array_places(kinds))

    def _array_places(self, kinds: Kinds) -> list[int] | None:
        try:
            body = normal(self._kernel.python_function, kinds)
            infer(body)
            names = written_arrays(body)
        except (KernelError, ValueError):  # something else, or other arguments than it takes
            return None
        places = [j for j, name in enumerate(body.parameters) if name in names]
        if places and not body.arrays.keys().isdisjoint(body.outputs):
            return None  # an array that it returns may lie in one that it writes to
        return places

    def _compile(self, call: Any, args: tuple[Any, ...]) -> None:
        """Compile in this thread, where an interrupt ends it."""
        from numba.core.errors import NumbaError

        try:
            call.compile(tuple([call.typeof_pyval(x) for x in args]))
        except NumbaError as error:  # the others the call says in more words
            if "runaway recursion" in str(error):
                code = self._kernel.python_function.__code__
                raise KernelError(
                    "recursion whose result Numba cannot tell",
                    code.co_filename,
                    code.co_firstlineno,
                    "Where functions call each other, call that one before "
                    "all others which has a way that calls nothing.",
                ) from error


def _are_disjoint(args: tuple[Any, ...], places: Sequence[int]) -> bool:
    """Whether copies of the arguments at ``places`` are to Numba what these are."""
    for j in places:
        one = args[j]
        flags = one.flags
        if not (flags.aligned and flags.writeable and (flags.c_contiguous or flags.f_contiguous)):
            return False
        if any(
            k != j and type(x) is np.ndarray and np.may_share_memory(one, x)
            for k, x in enumerate(args)
        ):
            return False
    return True


def _write(args: tuple[Any, ...], own: Sequence[Any], before: dict[int, Any]) -> None:
    """Give the caller what was written to copies."""
    for j, old in before.items():
        bits = f"u{old.itemsize}"  # those of NaN compare as well
        np.copyto(args[j], own[j], where=own[j].view(bits) != old.view(bits))
