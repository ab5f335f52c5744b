"""`PyDataset`, and `timeseries_dataset_from_array`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.log.as_tensor import as_tensor
from ...core.ops.indexing import gather
from ...core.values.arguments import to_int
from ...data import Dataset
from ...nest import map_structure

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike
    from ...core.values.tensor import Tensor


class PyDataset:
    """Base class of datasets of batches: override ``__len__`` and ``__getitem__``.

    Args:
      workers: Must be 1: batches are fetched one after another.
      use_multiprocessing: Must be False.
      max_queue_size: Not used.

    Raises:
      NotImplementedError: If ``workers`` or ``use_multiprocessing`` has another value.

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
                "use_multiprocessing, or pass `fit` a tf.data.Dataset with `prefetch`."
            )
        self.workers = workers
        self.use_multiprocessing = use_multiprocessing
        self.max_queue_size = max_queue_size

    def __getitem__(self, index: int) -> Any:
        """Return a batch. Subclasses override this."""
        raise NotImplementedError(f"{type(self).__name__} must define `__getitem__`.")

    def __len__(self) -> int:
        """Return the number of batches. Subclasses override this."""
        raise NotImplementedError(f"{type(self).__name__} must define `__len__`.")

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the batches."""
        return (self[index] for index in range(len(self)))

    @property
    def num_batches(self) -> int:
        """The number of batches."""
        return len(self)

    def on_epoch_begin(self) -> None:
        """Called before each epoch; does nothing by default."""

    def on_epoch_end(self) -> None:
        """Called after each epoch; does nothing by default."""


def timeseries_dataset_from_array(
    data: TensorLike,
    targets: TensorLike | None,
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
    """Create a dataset of sliding windows over a time series.

    Args:
      data: The series: an array whose first axis is time.
      targets: The target of the window that begins at each time; None for no targets.
      sequence_length: The number of time steps in a window.
      sequence_stride: The distance between the starts of successive windows.
      sampling_rate: The distance between successive time steps in a window.
      batch_size: The number of windows in a batch; None for unbatched windows.
      shuffle: Whether to shuffle the windows.
      seed: The seed of the shuffle.
      start_index: The first time to use; default: 0.
      end_index: The time at which to stop, exclusive; default: the length of the series.
      format: Must be "tf".

    Returns:
      A `tf.data.Dataset` of windows, or of (window, target) pairs.

    Raises:
      ValueError: If a number is out of range for the length of the series.

    Example:
      >>> series = np.arange(6)
      >>> data = tf.keras.utils.timeseries_dataset_from_array(series, series[3:], 3, batch_size=2)
      >>> [(x.numpy().tolist(), y.numpy().tolist()) for x, y in data]
      [([[0, 1, 2], [1, 2, 3]], [3, 4]), ([[2, 3, 4]], [5])]
    """
    data = np.asarray(data)
    target_array = None if targets is None else np.asarray(targets)
    if not data.ndim or (target_array is not None and not target_array.ndim):
        raise ValueError("data and targets must be arrays whose first axis is time.")
    length = len(data)
    sequence_length = to_int("sequence_length", sequence_length)
    sequence_stride = to_int("sequence_stride", sequence_stride)
    sampling_rate = to_int("sampling_rate", sampling_rate)
    start_index = None if start_index is None else to_int("start_index", start_index)
    end_index = None if end_index is None else to_int("end_index", end_index)
    if format != "tf":
        raise ValueError(f'`format` should be "tf". Received: format={format}')
    start, end = start_index or 0, length if end_index is None else end_index
    if not 0 <= start < length:
        raise ValueError(
            "`start_index` must be 0 or greater, and lower than the length of the data. Received: "
            f"start_index={start_index}, for data of length {length}"
        )
    if not start < end <= length:
        raise ValueError(
            "`end_index` must be higher than `start_index`, and lower than the length of the data. "
            f"Received: start_index={start_index}, and end_index={end_index}"
        )
    for name, number in (("sampling_rate", sampling_rate), ("sequence_stride", sequence_stride)):
        if not 0 < number < length:
            raise ValueError(
                f"`{name}` must be higher than 0, and lower than the length of the data. Received: "
                f"{name}={number}, for data of length {length}"
            )
    count = end - start - (sequence_length - 1) * sampling_rate
    count = count if target_array is None else min(count, len(target_array))
    starts = np.arange(0, max(count, 0), sequence_stride)
    if shuffle:
        seed = None if seed is None else abs(to_int("seed", seed))
        np.random.default_rng(seed).shuffle(starts)
    series = as_tensor(data[start:end])
    target_tensor = None if target_array is None else as_tensor(target_array[start:end])
    steps = as_tensor(np.arange(sequence_length) * sampling_rate)

    def window(first: Tensor) -> Any:
        x = gather(series, first[..., None] + steps)
        return x if target_tensor is None else (x, gather(target_tensor, first))

    positions = Dataset.from_tensor_slices(starts)
    return (positions if batch_size is None else positions.batch(batch_size)).map(window)


def split_dataset(
    dataset: Any,
    left_size: float | int | None = None,
    right_size: float | int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    preferred_backend: str | None = None,
) -> tuple[Dataset, Dataset]:
    """Divide a dataset into two, for example for training and test.

    Args:
      dataset: A `tf.data.Dataset`, an array, a list or tuple of arrays, or an iterable with a
        length, such as a dataset of PyTorch.
      left_size: The size of the first part: a fraction, or a number of elements; None for what
        the second part leaves.
      right_size: The size of the second part; None for what the first part leaves.
      shuffle: Whether to shuffle the elements first.
      seed: The seed of the shuffle.
      preferred_backend: Accepted for compatibility with Keras, and ignored.

    Returns:
      Two datasets.

    Raises:
      ValueError: If the sizes do not fit, or the dataset is empty or infinite.
      TypeError: If the dataset or a size has another type.

    Example:
      >>> left, right = tf.keras.utils.split_dataset(np.arange(5), left_size=0.6)
      >>> [x.numpy().item() for x in left], [x.numpy().item() for x in right]
      ([0, 1, 2], [3, 4])
    """
    if isinstance(dataset, list | tuple) and dataset and all(hasattr(x, "shape") for x in dataset):
        if len({len(x) for x in dataset}) > 1:
            raise ValueError("Received a list of NumPy arrays with different lengths.")
        elements: list[Any] = list(zip(*dataset, strict=True))
    elif isinstance(dataset, Dataset):
        if dataset.cardinality() == -1:
            raise ValueError("The dataset must be finite: limit it with `take`.")
        elements = list(dataset)
    elif hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__"):
        elements = [dataset[k] for k in range(len(dataset))]
    else:
        raise TypeError(
            f"`dataset` must be a tf.data.Dataset, an array or a list/tuple of arrays. Received: "
            f"dataset={dataset} of type {type(dataset)}"
        )
    left, right = _split_sizes(left_size, right_size, len(elements))
    if shuffle:
        order = np.random.default_rng(seed).permutation(len(elements))
        elements = [elements[k] for k in order]
    parts = elements[:left], elements[len(elements) - right :]
    return _dataset_of(parts[0]), _dataset_of(parts[1])


def _dataset_of(elements: list[Any]) -> Dataset:
    columns = map_structure(lambda *values: np.stack([np.asarray(v) for v in values]), *elements)
    return Dataset.from_tensor_slices(columns)


def _split_sizes(
    left: float | int | None, right: float | int | None, total: int
) -> tuple[int, int]:
    """Return the numbers of elements of the two parts."""
    if left is None and right is None:
        raise ValueError(
            "At least one of the `left_size` or `right_size` must be specified. Received: "
            "left_size=None and right_size=None"
        )
    for name, size in (("left_size", left), ("right_size", right)):
        if size is not None and (isinstance(size, bool) or not isinstance(size, int | float)):
            raise TypeError(
                f"Invalid `left_size` and `right_size` Types. Expected: integer or float or None. "
                f"Received: {name}={size} of type {type(size)}"
            )
        limit = 1 if isinstance(size, float) else total
        if (size is not None and not 0 <= size <= limit) or size == 0:
            raise ValueError(
                f"`{name}` should be either a positive integer smaller than {total}, or a float "
                f"within the range `[0, 1]`. Received: {name}={size}"
            )
    if isinstance(left, float) and isinstance(right, float) and left + right > 1:
        raise ValueError(
            "The sum of `left_size` and `right_size` is greater than 1. It must be less than or "
            "equal to 1."
        )

    def count(size: float | int | None) -> int | None:
        return round(size * total) if isinstance(size, float) else size

    left_count, right_count = count(left), count(right)
    if left_count is None:
        left_count = total - (right_count or 0)
    if right_count is None:
        right_count = total - left_count
    if left_count + right_count > total:
        raise ValueError(
            f"The sum of `left_size` and `right_size` should be smaller than the samples {total}. "
            f"Received: left_size={left} and right_size={right}"
        )
    for name, size in (("left", left_count), ("right", right_count)):
        if size == 0:
            raise ValueError(
                f"With `dataset` of length={total}, `left_size`={left} and `right_size`={right}, "
                f"the resulting {name} dataset will be empty. Adjust any of the aforementioned "
                f"parameters"
            )
    return left_count, right_count
