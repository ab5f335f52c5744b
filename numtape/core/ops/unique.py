"""The different elements of a vector."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..cpu.workers import heard
from ..log.op import ARRAY, defop
from ..log.record import record, require
from ..log.tensors import as_tensor
from ..values import dtypes
from ..values.dtypes import as_dtype
from ..values.spec import intern
from ..values.tensor import Tensor

Array = np.ndarray[Any, Any]
LARGE = 1 << 18  # elements that take so long that interrupts are to be heard meanwhile


class Unique(NamedTuple):
    """Different elements, and which of them each was; see `unique`."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """Different elements, which of them each was, and how often; see `unique_with_counts`."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]


def _different(x: Array) -> tuple[Array, Array, Array]:
    """Where each different element is first, which one each element is, and how often."""
    _, first, inverse, count = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse], count[order]


def _unique(out: Array, x: Array, size: int, part: str, output: str) -> None:
    first, place, count = _different(x)
    np.copyto(out, {"y": x[first], "idx": place, "count": count}[part], casting="unsafe")


UNIQUE = defop(
    "Unique",
    ARRAY,
    1,
    lambda op, x, size, part, output: intern((size,), x.dtype if part == "y" else as_dtype(output)),
    compute=_unique,
    on_host=True,
)


def _parts(x: Any, out_idx: Any, *parts: str) -> list[Tensor]:
    result = as_tensor(x)
    require(result.ndim == 1, UNIQUE, "unique expects a 1D vector.")
    output = as_dtype(out_idx)
    require(
        output in (dtypes.int32, dtypes.int64),
        UNIQUE,
        f"Value for attr 'out_idx' of {output.name} is not in the list of allowed values: int32, "
        "int64",
    )
    array = result._array()
    different = heard(lambda: _different(array)) if array.size > LARGE else _different(array)
    size = len(different[0])
    return [
        record(
            UNIQUE,
            (result,),
            size=result.shape[0] if part == "idx" else size,
            part=part,
            output=output.name,
        )
        for part in parts
    ]


def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Unique:
    """The different elements of a vector, in the order in which they come first.

    NaN differs from itself. The values are looked at, as they say how many results there are.

    Args:
      x: A vector of any dtype.
      out_idx: The dtype of the indices: int32 or int64.
      name: Not used.

    Returns:
      A named tuple: ``y``, the different elements, and ``idx``, for each element of ``x`` its place
      among these.

    Raises:
      InvalidArgumentError: If ``x`` is no vector, or ``out_idx`` is another one.

    Example:
      >>> y, idx = tf.unique([3, 1, 3, 2])
      >>> y.numpy(), idx.numpy()
      (array([3, 1, 2], dtype=int32), array([0, 1, 0, 2], dtype=int32))
    """
    return Unique(*_parts(x, out_idx, "y", "idx"))


def unique_with_counts(
    x: Any, out_idx: Any = dtypes.int32, name: str | None = None
) -> UniqueWithCounts:
    """The different elements of a vector in the order in which they come first, and how often.

    Args:
      x: A vector of any dtype.
      out_idx: The dtype of indices and counts: int32 or int64.
      name: Not used.

    Returns:
      A named tuple: ``y`` and ``idx`` as `unique` gives them, and ``count``.

    Raises:
      InvalidArgumentError: If ``x`` is no vector, or ``out_idx`` is another one.

    Example:
      >>> tf.unique_with_counts([3, 1, 3, 2]).count.numpy()
      array([2, 1, 1], dtype=int32)
    """
    return UniqueWithCounts(*_parts(x, out_idx, "y", "idx", "count"))
