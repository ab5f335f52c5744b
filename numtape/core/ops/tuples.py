"""What lies at tuples of indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.record import record, require
from ..log.tensors import as_tensor
from ..values import dtypes
from ..values.tensor import Tensor
from . import comparison, elementwise, movement
from .checks import every
from .indexing import GATHER
from .joining import concat
from .reduction import reduce_sum

Shape = tuple[int, ...]


def places(indices: Tensor, lead: Shape, op: str) -> Tensor:
    """Tuples of indices into axes of these sizes as places among all of their elements.

    Args:
      indices: Integers; the last axis runs through a tuple.
      lead: The sizes.
      op: The name for errors.

    Returns:
      An integer vector, a place for each tuple.

    Raises:
      InvalidArgumentError: If an index is out of range.
    """
    sizes = np.array(lead, np.int64)
    message = f"indices do not index into shape {tuple(lead)} [Op:{op}]"
    if not every(
        indices,
        lambda values: (values >= 0) & (values < sizes),
        lambda rows: (
            comparison.logical_and(rows >= 0, elementwise.cast(rows, dtypes.int64) < sizes)
            if len(lead)
            else comparison.equal(rows, rows)
        ),
        message,
    ):
        values = indices._array().reshape(-1, len(lead))
        row = int(((values < 0) | (values >= sizes)).any(1).argmax())
        raise InvalidArgumentError(
            f"indices[{row}] = {values[row].tolist()} does not index into param shape "
            f"{list(lead)} [Op:{op}]"
        )
    if len(lead) == 1:
        return movement.reshape(indices, (-1,))
    steps = [math.prod(lead[k + 1 :]) for k in range(len(lead))]
    wide = elementwise.cast(indices, dtypes.int64) * np.array(steps, np.int64)
    return movement.reshape(reduce_sum(wide, -1), (-1,))


def of_integers(indices: Any, op: str) -> Tensor:
    """Tuples of indices: a tensor of integers."""
    result = as_tensor(indices)
    require(result.dtype.is_integer, op, f"indices must be integers, got {result.dtype.name}")
    require(result.ndim > 0, op, "indices must be at least a vector")
    return result


def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: Any = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """What lies at tuples of indices: elements, or slices where the tuples are shorter.

    Args:
      params: A tensor of any dtype.
      indices: Integers from 0 on; the last axis runs through a tuple, an index for each of the
        first axes of ``params``.
      batch_dims: How many leading axes both have in common.
      name: Not used.
      bad_indices_policy: "IGNORE": an index out of range gives zeros; else it is an error.

    Returns:
      A tensor of the dtype of ``params``, of shape indices.shape[:-1] + params.shape[k:] for tuples
      of length k.

    Raises:
      InvalidArgumentError: If an index is out of range or no integer, or the shapes do not fit.

    Example:
      >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
      array([2, 3], dtype=int32)
      >>> tf.gather_nd([[1, 2], [3, 4]], [[1]]).numpy()
      array([[3, 4]], dtype=int32)
    """
    ignore = is_lenient(bad_indices_policy, "GatherNd")
    x, value = as_tensor(params), of_integers(indices, "GatherNd")
    lead = movement.to_ints(batch_dims)
    if not isinstance(lead, int) or not 0 <= lead < value.ndim:
        raise ValueError(f"batch_dims = {batch_dims!r} must be in [0, {value.ndim}).")
    require(x.ndim > 0, "GatherNd", "params must be at least a vector")
    if lead:
        value = _with_batch(x, value, lead)
    depth = value.shape[-1]
    require(
        depth <= x.ndim,
        "GatherNd",
        f"index innermost dimension length must be <= params rank; saw: {depth} vs. {x.ndim}",
    )
    sizes, rest = tuple(x.shape[:depth]), tuple(x.shape[depth:])
    shape = (*value.shape[:-1], *rest)
    require(
        math.prod(sizes) > 0 or not math.prod(shape),
        "GatherNd",
        "Requested more than 0 entries, but params is empty.",
    )
    inside = None
    if ignore:
        value, inside = clip(value, sizes)
    at = places(value, sizes, "GatherNd")
    if depth == 1 and value.ndim == 2 and inside is None:  # its derivative is slices
        return record(GATHER, (x, at), axis=0)
    flat = movement.reshape(x, (math.prod(sizes), *rest))
    taken = movement.reshape(record(GATHER, (flat, at), axis=0), shape)
    if inside is None:
        return taken
    here = movement.reshape(inside, (*value.shape[:-1], *(1 for _ in rest)))
    return elementwise.select(here, taken, elementwise.cast(0, taken.dtype))


def _with_batch(x: Tensor, indices: Tensor, lead: int) -> Tensor:
    """Tuples that begin with the numbers of the batches that they are in."""
    shape = tuple(indices.shape)
    message = f"params {x.shape} and indices {indices.shape} must agree in the first {lead} axes"
    require(shape[:lead] == tuple(x.shape[:lead]), "GatherNd", message)
    numbers = np.moveaxis(np.indices(shape[:-1])[:lead], 0, -1)
    return concat([as_tensor(numbers), elementwise.cast(indices, dtypes.int64)], -1)


def is_lenient(policy: str, op: str) -> bool:
    """Whether indices out of range are left out."""
    if policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(
            f"bad_indices_policy is ERROR or IGNORE, got {policy!r} [Op:{op}]"
        )
    return policy == "IGNORE"


def clip(indices: Tensor, sizes: Shape) -> tuple[Tensor, Tensor]:
    """Indices that are all in range, and which tuples were."""
    wide, most = elementwise.cast(indices, dtypes.int64), np.array(sizes, np.int64) - 1
    good = elementwise.maximum(elementwise.minimum(wide, most), np.int64(0))
    same = elementwise.cast(comparison.equal(good, wide), dtypes.int32)
    return good, comparison.equal(reduce_sum(same, -1), len(sizes))
