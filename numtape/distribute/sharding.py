"""Shards: this rank's rows of every batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.log.as_tensor import as_tensor
from ..core.values.tensor import Tensor
from ..data.dataset import Dataset
from ..data.elements import leaves, map_leaves
from ..errors import InvalidArgumentError
from ..tensor_spec import TensorSpec
from .process_group import engine


def shard(
    data: Any,
    batch_size: int | None = None,
    shuffle: bool = False,
    seed: int = 0,
    initial_epoch: int = 0,
) -> Dataset:
    """Return a dataset of this rank's rows of every batch.

    Each batch is split into equal parts in the order of the ranks, so all ranks take the same
    number of steps, and the batch of all ranks together is the batch that one process would use.
    Rows that cannot be split equally at the end of a batch are left out. A batch of a dataset with
    fewer rows than ranks is an error.

    With ``shuffle``, the order of the rows in epoch ``k`` depends on ``seed`` and ``k`` alone, not
    on the number of ranks. Each complete iteration is an epoch. So training that is continued with
    ``initial_epoch=k``, also with another number of ranks, uses the batches of training without a
    break.

    Args:
      data: An array, or a tuple or dict of arrays with equal first dimensions; or a `Dataset` of
        batches, the same on all ranks.
      batch_size: The number of rows in a batch of all ranks together, for arrays only.
      shuffle: Whether to shuffle arrays in each epoch. Use `Dataset.shuffle` with a seed for a
        dataset.
      seed: The seed of the orders.
      initial_epoch: The number of the first epoch.

    Returns:
      A `Dataset` of batches.

    Raises:
      ValueError: If ``batch_size`` is missing or too small, or an argument does not apply to a
        dataset.
      InvalidArgumentError: If the arrays have different numbers of rows; while iterating, if a
        batch of a dataset has fewer rows than ranks.

    Example:
      >>> tf.distribute.init()
      >>> x, y = np.arange(6.0), np.arange(6)
      >>> for a, b in tf.distribute.shard((x, y), batch_size=4):
      ...     print(a.numpy(), b.numpy())
      [0. 1. 2. 3.] [0 1 2 3]
      [4. 5.] [4 5]
    """
    if isinstance(data, Dataset):
        if batch_size is not None or shuffle:
            raise ValueError(
                "batch_size and shuffle apply to arrays: use Dataset.shuffle and Dataset.batch, "
                "then shard."
            )
        return data.map(lambda *parts: _take_part(parts if len(parts) > 1 else parts[0]))
    arrays = map_leaves(_as_rows, data)
    counts = sorted({len(x) for x in leaves(arrays)})
    if len(counts) != 1:
        raise InvalidArgumentError(f"The arrays have different numbers of rows: {counts}.")
    (row_count,) = counts
    size, rank = engine().size, engine().rank
    if batch_size is None or batch_size < size:
        raise ValueError(
            f"batch_size={batch_size} is not at least the number of ranks, {size}: it is the "
            f"number of rows in a batch of all ranks together."
        )
    next_epoch = initial_epoch
    share = batch_size // size
    full, rest = divmod(row_count, batch_size)
    last_share = rest // size

    def start() -> Iterator[Any]:
        nonlocal next_epoch
        epoch = next_epoch
        order = np.arange(row_count)
        if shuffle:
            order = np.random.default_rng((seed, epoch)).permutation(row_count)
        steps = full + (last_share > 0)
        for k in range(steps):
            if k == steps - 1:  # an iteration that is not finished is not an epoch
                next_epoch = max(next_epoch, epoch + 1)
            part = share if k < full else last_share
            begin = k * batch_size + rank * part
            rows = order[begin : begin + part]
            yield map_leaves(lambda x, rows=rows: x[rows], arrays)

    spec = map_leaves(lambda x: TensorSpec((None, *x.shape[1:]), as_tensor(x[:1]).dtype), arrays)
    return Dataset._make("_ShardDataset", start, full + (last_share > 0), spec)


def _as_rows(x: Any) -> np.ndarray[Any, Any]:
    array = x.numpy() if isinstance(x, Tensor) else np.asarray(x)
    if not np.ndim(array):
        raise InvalidArgumentError("A scalar has no rows to share.")
    return as_tensor(array).numpy()


def _take_part(batch: Any) -> Any:
    """Return this rank's rows of a batch."""
    size, rank = engine().size, engine().rank

    def take(x: Any) -> Any:
        share = x.shape[0] // size
        if not share:
            raise InvalidArgumentError(
                f"A batch has {x.shape[0]} rows for {size} ranks: use larger batches, or "
                f"`batch(..., drop_remainder=True)`."
            )
        return x[rank * share : (rank + 1) * share]

    return map_leaves(take, batch)
