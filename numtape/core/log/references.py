"""Which tensors are still held: what a look asks of all tensors that were recorded.

Machine code does the same where it can; `core.native` puts it in the place of these functions.
"""

from __future__ import annotations

import sys
from itertools import chain, compress, islice
from weakref import getweakrefcount

import numpy as np

from ..values import dtypes
from ..values.spec import intern
from ..values.tensor import Tensor, of_array


def _count_sole_owner() -> int:
    probe = [of_array(np.zeros(()), intern((), dtypes.float32))]
    counts: list[int] = []
    list(compress(probe, map(counts.append, map(sys.getrefcount, probe))))
    return counts[0]


# References to a tensor that only `Log.kept` holds, as `live_tensors` counts them.
_SOLE_OWNER_COUNT = _count_sole_owner()


def live_tensors(tensors: list[Tensor], extra: int) -> list[Tensor]:
    """Those tensors that somebody besides this list (and ``extra`` others) can still reach.

    Those with weak references are among them: such a tensor gets its value before the log lets
    go of it, and whoever takes it from the reference meanwhile has the value. Weak references are
    asked for and references counted in one step, in which nobody can make or drop any.

    No memory is taken for the others: those are let go of where there is none left.
    """
    is_referenced = (_SOLE_OWNER_COUNT + extra).__lt__
    weak: list[Tensor] = []  # being in this list is one reference more
    weakly_referenced = map(weak.extend, (compress(tensors, map(getweakrefcount, tensors)),))
    live = compress(tensors, map(is_referenced, map(sys.getrefcount, tensors)))
    return list(islice(chain(weakly_referenced, live), 1, None))  # type: ignore[arg-type]  # all but a None


def release(tensors: list[Tensor]) -> None:
    """Empty the list of a log's tensors, which starts again.

    In machine code, those that nobody else has become the next new ones.
    """
    tensors.clear()
