"""Data that is fetched batch by batch: `PyDataset`, and windows of a series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.log.tensors import as_tensor
from ...core.ops.indexing import gather
from ...core.values.arguments import to_int
from ...data import Dataset


class PyDataset:
    """Base class of data sets: override ``__len__`` and ``__getitem__``, which gives a batch.

    Args:
      workers: Only 1: batches are fetched one after another.
      use_multiprocessing: Only False.
      max_queue_size: Not used.

    Raises:
      NotImplementedError: If more workers are asked for.

    Example:
      >>> class Squares(tf.keras.utils.PyDataset):
      ...     def __len__(self):
      ...         return 2
      ...     def __getitem__(self, index):
      ...         x = np.arange(3.0) + 3 * index
      ...         return x, x**2
      >>> [y.tolist() for x, y in Squares()]
      [[0.0, 1.0, 4.0], [9.0, 16.0, 25.0]]
    """

    def __init__(
        self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10
    ) -> None:
        if workers != 1 or use_multiprocessing:
            raise NotImplementedError(
                "numtape fetches batches one after another: leave out workers and "
                "use_multiprocessing, or give `fit` a tf.data.Dataset with `prefetch`."
            )
        self.workers = workers
        self.use_multiprocessing = use_multiprocessing
        self.max_queue_size = max_queue_size

    def __getitem__(self, index: int) -> Any:
        """A batch, to be overridden."""
        raise NotImplementedError(f"{type(self).__name__} has no method `__getitem__`.")

    def __len__(self) -> int:
        """The number of batches, to be overridden."""
        raise NotImplementedError(f"{type(self).__name__} has no method `__len__`.")

    def __iter__(self) -> Iterator[Any]:
        """The batches in turn."""
        return (self[index] for index in range(len(self)))

    @property
    def num_batches(self) -> int:
        """The number of batches."""
        return len(self)

    def on_epoch_begin(self) -> None:
        """Called before each epoch; may be overridden."""

    def on_epoch_end(self) -> None:
        """Called after each epoch; may be overridden."""


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    format: str = "tf",
) -> Dataset:
    """Windows of a series, and what is wanted for each.

    Args:
      data: A series: an array whose first axis is time.
      targets: What is wanted for the window that begins at each time; None for nothing.
      sequence_length: How many times a window has.
      sequence_stride: How far windows are apart.
      sampling_rate: How far times in a window are apart.
      batch_size: How many windows come at once; None for one, without its own axis.
      shuffle: Whether windows come in random order.
      seed: What that begins with.
      start_index: The first time that is used; without, the first there is.
      end_index: The first time that is not used any more; without, it does not exist.
      format: Only "tf".

    Returns:
      A `tf.data.Dataset` of windows, or of pairs of windows and what is wanted.

    Raises:
      ValueError: If a number does not fit the length of the series.

    Example:
      >>> series = np.arange(6)
      >>> data = tf.keras.utils.timeseries_dataset_from_array(series, series[3:], 3, batch_size=2)
      >>> [(x.numpy().tolist(), y.numpy().tolist()) for x, y in data]
      [([[0, 1, 2], [1, 2, 3]], [3, 4]), ([[2, 3, 4]], [5])]
    """
    data = np.asarray(data)
    requested = None if targets is None else np.asarray(targets)
    if not data.ndim or (requested is not None and not requested.ndim):
        raise ValueError("A series, and what is wanted, are arrays whose first axis is time.")
    size = len(data)
    sequence_length = to_int("sequence_length", sequence_length)
    sequence_stride = to_int("sequence_stride", sequence_stride)
    sampling_rate = to_int("sampling_rate", sampling_rate)
    start_index = None if start_index is None else to_int("start_index", start_index)
    end_index = None if end_index is None else to_int("end_index", end_index)
    if format != "tf":
        raise ValueError(f'`format` should be "tf". Received: format={format}')
    start, end = start_index or 0, size if end_index is None else end_index
    if not 0 <= start < size:
        raise ValueError(
            "`start_index` must be 0 or greater, and lower than the length of the data. Received: "
            f"start_index={start_index}, for data of length {size}"
        )
    if not start < end <= size:
        raise ValueError(
            "`end_index` must be higher than `start_index`, and lower than the length of the data. "
            f"Received: start_index={start_index}, and end_index={end_index}"
        )
    for name, number in (("sampling_rate", sampling_rate), ("sequence_stride", sequence_stride)):
        if not 0 < number < size:
            raise ValueError(
                f"`{name}` must be higher than 0, and lower than the length of the data. Received: "
                f"{name}={number}, for data of length {size}"
            )
    count = end - start - (sequence_length - 1) * sampling_rate
    count = count if requested is None else min(count, len(requested))
    starts = np.arange(0, max(count, 0), sequence_stride)
    if shuffle:
        seed = None if seed is None else abs(to_int("seed", seed))
        np.random.default_rng(seed).shuffle(starts)
    series = as_tensor(data[start:end])
    goals = None if requested is None else as_tensor(requested[start:end])
    steps = as_tensor(np.arange(sequence_length) * sampling_rate)

    def window(first: Any) -> Any:
        x = gather(series, first[..., None] + steps)
        return x if goals is None else (x, gather(goals, first))

    positions = Dataset.from_tensor_slices(starts)
    return (positions if batch_size is None else positions.batch(batch_size)).map(window)
