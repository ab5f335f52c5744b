"""Liveness: which recorded tensors the program can still reach.

Where it can, machine code replaces these functions; see `core.native`.
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


# Reference count of a tensor that only `Log.tensors` holds, as `live_tensors` measures it.
_SOLE_OWNER_COUNT = _count_sole_owner()


def live_tensors(tensors: list[Tensor], extra: int) -> list[Tensor]:
    """Return the tensors that are referenced from outside of this list and ``extra`` others.

    Tensors with weak references are included: they get their values before the log releases them,
    so code that takes one from a weak reference meanwhile finds the value. Weak references are
    checked and references counted in one step, during which no Python code can run.

    The tensors that are left out take no memory, because this also runs when memory is exhausted.
    """
    is_referenced = (_SOLE_OWNER_COUNT + extra).__lt__
    weak: list[Tensor] = []  # membership in this list adds one reference
    weakly_referenced = map(weak.extend, (compress(tensors, map(getweakrefcount, tensors)),))
    live = compress(tensors, map(is_referenced, map(sys.getrefcount, tensors)))
    return list(islice(chain(weakly_referenced, live), 1, None))  # type: ignore[arg-type]  # all but a None


def release(tensors: list[Tensor]) -> None:
    """Empty the list of tensors of a log that starts again.

    The version in machine code reuses the tensors that nothing else refers to.
    """
    tensors.clear()
