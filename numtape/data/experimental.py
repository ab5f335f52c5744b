"""``tf.data.experimental``: functions that became methods of `Dataset`, and a few more."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from ..core.log.as_tensor import as_tensor
from ..core.values.dtypes import bool_ as _bool, int64
from ..errors import OutOfRangeError, UnimplementedError
from ..io import records as _records
from ..tensor_spec import TensorSpec
from . import elements
from .dataset import Dataset
from .elements import as_arrays, as_element, as_tensors, spec_of
from .files import CsvDataset, SqlDataset, TFRecordDataset, make_csv_dataset
from .options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ServiceOptions,
    ThreadingOptions,
)
from .pipeline import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Iterator,
    Pipeline,
    check_int,
    peek,
)
from .stages import AssertedCount, Items, Mapped, Reduced, Stage
from .structure import Optional

if TYPE_CHECKING:
    import os

    from ..core.values.annotations import DTypeLike, IntLike
    from ..core.values.tensor import Tensor

    Transformation = Callable[[Dataset], Dataset]

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "ServiceOptions",
    "SqlDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enable_debug_mode",
    "enumerate_dataset",
    "from_list",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]

SHARD_HINT = -1

# The same as class methods and functions of `Dataset`.
Counter = Dataset.counter
RandomDataset = Dataset.random
choose_from_datasets = Dataset.choose_from_datasets
load = Dataset.load


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Return `Dataset.bucket_by_sequence_length` with these arguments, for `Dataset.apply`.

    Args:
      element_length_func: See the method.
      bucket_boundaries: See the method.
      bucket_batch_sizes: See the method.
      padded_shapes: See the method.
      padding_values: See the method.
      pad_to_bucket_boundary: See the method.
      no_padding: See the method.
      drop_remainder: See the method.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> bucket = tf.data.experimental.bucket_by_sequence_length(len, [3], [2, 2])
      >>> data = tf.data.Dataset.range(1, 3).map(lambda n: tf.fill([n], n)).apply(bucket)
      >>> data.get_single_element().numpy().tolist()
      [[1, 0], [2, 2]]
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def dense_to_ragged_batch(
    batch_size: IntLike, drop_remainder: bool = False, row_splits_dtype: DTypeLike = int64
) -> Transformation:
    """Return `Dataset.ragged_batch` with these arguments, for `Dataset.apply`.

    Args:
      batch_size: See the method.
      drop_remainder: See the method.
      row_splits_dtype: See the method.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> data = tf.data.Dataset.range(3).map(lambda n: tf.fill([n], n))
      >>> data = data.apply(tf.data.experimental.dense_to_ragged_batch(3))
      >>> data.get_single_element()
      <tf.RaggedTensor [[], [1], [2, 2]]>
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def dense_to_sparse_batch(batch_size: IntLike, row_shape: Any) -> Transformation:
    """Return `Dataset.sparse_batch` with these arguments, for `Dataset.apply`.

    Args:
      batch_size: See the method.
      row_shape: See the method.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> data = tf.data.Dataset.range(1, 3).map(lambda n: tf.fill([n], n))
      >>> data = data.apply(tf.data.experimental.dense_to_sparse_batch(2, [4]))
      >>> data.get_single_element().dense_shape.numpy()
      array([2, 4])
    """
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def enumerate_dataset(start: IntLike = 0) -> Transformation:
    """Return `Dataset.enumerate` with this argument, for `Dataset.apply`.

    Args:
      start: The first index.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> data = tf.data.Dataset.range(5, 7).apply(tf.data.experimental.enumerate_dataset(1))
      >>> [(int(k), int(x)) for k, x in data]
      [(1, 5), (2, 6)]
    """
    return lambda dataset: dataset.enumerate(start)


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Any, Any], Pipeline],
    window_size: IntLike | None = None,
    window_size_func: Callable[[Any], Any] | None = None,
) -> Transformation:
    """Return `Dataset.group_by_window` with these arguments, for `Dataset.apply`.

    Args:
      key_func: See the method.
      reduce_func: See the method.
      window_size: See the method.
      window_size_func: See the method.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Raises:
      ValueError: If not exactly one of the sizes is given.

    Example:
      >>> group = tf.data.experimental.group_by_window(
      ...     lambda x: x % 2, lambda key, window: window.batch(2), window_size=2)
      >>> [x.numpy().tolist() for x in tf.data.Dataset.range(4).apply(group)]
      [[0, 2], [1, 3]]
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError(
            "Either the `window_size` argument or the `window_size_func` argument must be "
            "specified."
        )
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


def ignore_errors(log_warning: bool = False) -> Transformation:
    """Return `Dataset.ignore_errors` with this argument, for `Dataset.apply`.

    Args:
      log_warning: Whether to warn of each error.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> data = tf.data.Dataset.from_tensor_slices([1, 0, 2]).map(lambda x: 6 // int(x))
      >>> [int(x) for x in data.apply(tf.data.experimental.ignore_errors())]
      [6, 3]
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: IntLike | None = None,
) -> Transformation:
    """Return `Dataset.rejection_resample` with these arguments, for `Dataset.apply`.

    Args:
      class_func: See the method.
      target_dist: See the method.
      initial_dist: See the method.
      seed: An integer.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> resample = tf.data.experimental.rejection_resample(
      ...     lambda x: x % 2, [0.0, 1.0], [0.5, 0.5])
      >>> [int(x) for _, x in tf.data.Dataset.range(6).apply(resample)]
      [1, 3, 5]
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Return `Dataset.scan` with these arguments, for `Dataset.apply`.

    Args:
      initial_state: See the method.
      scan_func: See the method.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Raises:
      TypeError: While the result is iterated, if ``scan_func`` returns no pair, or another state.

    Example:
      >>> sums = tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x))
      >>> [int(x) for x in tf.data.Dataset.range(4).apply(sums)]
      [0, 1, 3, 6]
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


def snapshot(
    path: str | os.PathLike[str],
    compression: str = "AUTO",
    reader_func: object = None,
    shard_func: object = None,
) -> Transformation:
    """Return `Dataset.snapshot` with these arguments, for `Dataset.apply`.

    Args:
      path: See the method.
      compression: See the method.
      reader_func: See the method.
      shard_func: See the method.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> import tempfile
      >>> store = tf.data.experimental.snapshot(tempfile.mkdtemp())
      >>> [int(x) for x in tf.data.Dataset.range(3).apply(store)]
      [0, 1, 2]
    """
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Return `Dataset.take_while` with this argument, for `Dataset.apply`.

    Args:
      predicate: See the method.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> take = tf.data.experimental.take_while(lambda x: x < 3)
      >>> [int(x) for x in tf.data.Dataset.range(9).apply(take)]
      [0, 1, 2]
    """
    return lambda dataset: dataset.take_while(predicate)


def unbatch() -> Transformation:
    """Return `Dataset.unbatch`, for `Dataset.apply`.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> data = tf.data.Dataset.range(3).batch(2).apply(tf.data.experimental.unbatch())
      >>> [int(x) for x in data]
      [0, 1, 2]
    """
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    """Return `Dataset.unique`, for `Dataset.apply`.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Raises:
      TypeError: While the result is iterated, if elements are sparse or datasets.

    Example:
      >>> data = tf.data.Dataset.from_tensor_slices([1, 2, 1])
      >>> [int(x) for x in data.apply(tf.data.experimental.unique())]
      [1, 2]
    """
    return lambda dataset: dataset.unique()


def shuffle_and_repeat(
    buffer_size: IntLike, count: IntLike | None = None, seed: IntLike | None = None
) -> Transformation:
    """Return a function that shuffles and repeats a dataset, for `Dataset.apply`.

    Args:
      buffer_size: The size of the buffer; see `Dataset.shuffle`.
      count: The number of repetitions; None for endless repetition.
      seed: An integer.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> data = tf.data.Dataset.range(3).apply(tf.data.experimental.shuffle_and_repeat(3, 2))
      >>> sorted(int(x) for x in data)
      [0, 0, 1, 1, 2, 2]
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: IntLike,
    num_parallel_batches: IntLike | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: IntLike | None = None,
) -> Transformation:
    """Return a function that maps and batches a dataset, for `Dataset.apply`.

    Args:
      map_func: See `Dataset.map`.
      batch_size: See `Dataset.batch`.
      num_parallel_batches: The number of batches to compute in parallel.
      drop_remainder: See `Dataset.batch`.
      num_parallel_calls: See `Dataset.map`; not together with ``num_parallel_batches``.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Raises:
      ValueError: If both numbers are given.

    Example:
      >>> double = tf.data.experimental.map_and_batch(lambda x: 2 * x, 2)
      >>> [x.numpy().tolist() for x in tf.data.Dataset.range(3).apply(double)]
      [[0, 2], [4]]
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to "
            "be set."
        )
    calls = num_parallel_calls
    if num_parallel_batches is not None:
        calls = check_int("batch_size", batch_size) * check_int(
            "num_parallel_batches", num_parallel_batches
        )
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Pipeline],
    cycle_length: IntLike,
    block_length: IntLike = 1,
    sloppy: bool | None = False,
    buffer_output_elements: IntLike | None = None,
    prefetch_input_elements: IntLike | None = None,
) -> Transformation:
    """Return `Dataset.interleave` in threads with these arguments, for `Dataset.apply`.

    Args:
      map_func: See the method.
      cycle_length: See the method.
      block_length: See the method.
      sloppy: Not used: the order never depends on threads.
      buffer_output_elements: Not used.
      prefetch_input_elements: Not used.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> make = lambda n: tf.data.Dataset.from_tensors(n).repeat(2)
      >>> interleave = tf.data.experimental.parallel_interleave(make, cycle_length=2)
      >>> [int(x) for x in tf.data.Dataset.range(2).apply(interleave)]
      [0, 1, 0, 1]
    """
    return lambda dataset: dataset.interleave(
        map_func, cycle_length, block_length, num_parallel_calls=cycle_length
    )


def parse_example_dataset(
    features: Any, num_parallel_calls: IntLike = 1, deterministic: bool | None = None
) -> Transformation:
    """Return a function that parses batches of serialized examples, for `Dataset.apply`.

    Args:
      features: See `io.parse_example`.
      num_parallel_calls: See `Dataset.map`.
      deterministic: Not used.

    Returns:
      A function from a `Dataset` of strings to a `Dataset` of dicts.

    Raises:
      ValueError: If ``features`` is empty.

    Example:
      >>> example = tf.train.Example()
      >>> example.features.feature["x"].int64_list.value.append(7)
      >>> data = tf.data.Dataset.from_tensors([example.SerializeToString()])
      >>> parse = tf.data.experimental.parse_example_dataset(
      ...     {"x": tf.io.FixedLenFeature([], tf.int64)})
      >>> data.apply(parse).get_single_element()["x"].numpy()
      array([7])
    """
    from ..io.examples import parse_example

    if not features:
        raise ValueError("Argument `features` cannot be None or falsy.")
    return lambda dataset: dataset.map(
        lambda serialized: parse_example(serialized, features), num_parallel_calls
    )


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: IntLike,
    features: Any,
    reader: Callable[..., Dataset] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: IntLike | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: IntLike = 10000,
    shuffle_seed: IntLike | None = None,
    prefetch_buffer_size: IntLike | None = None,
    reader_num_threads: IntLike | None = None,
    parser_num_threads: IntLike | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Create a dataset of batches of parsed `train.Example` messages in files.

    Args:
      file_pattern: A pattern of file names, or several; see `Dataset.list_files`.
      batch_size: The number of examples in a batch.
      features: See `io.parse_example`.
      reader: A function from a file name to a dataset of strings; default: `TFRecordDataset`.
      label_key: The feature that is the label: elements are then pairs of a dict and a label.
      reader_args: More arguments of ``reader``.
      num_epochs: The number of repetitions; None for endless repetition.
      shuffle: Whether to shuffle the examples, and the files.
      shuffle_buffer_size: The size of the buffer for it.
      shuffle_seed: An integer.
      prefetch_buffer_size: The number of batches to prefetch.
      reader_num_threads: The number of files to read in turn; default: 1.
      parser_num_threads: See ``num_parallel_calls`` of `Dataset.map`.
      sloppy_ordering: Not used: the order never depends on threads.
      drop_final_batch: Whether to drop a smaller last batch.

    Returns:
      A `Dataset`.

    Raises:
      ValueError: If ``label_key`` is no feature.
      InvalidArgumentError: If no file matches.

    Example:
      >>> import tempfile
      >>> path = tempfile.mkdtemp() + "/data.tfrecord"
      >>> example = tf.train.Example()
      >>> example.features.feature["x"].int64_list.value.append(7)
      >>> with tf.io.TFRecordWriter(path) as writer:
      ...     writer.write(example.SerializeToString())
      >>> data = tf.data.experimental.make_batched_features_dataset(
      ...     path, 1, {"x": tf.io.FixedLenFeature([], tf.int64)}, num_epochs=1)
      >>> data.get_single_element()["x"].numpy()
      array([7])
    """
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key!r}) must be one of the features: "
            f"{list(features)}."
        )
    open_file: Any = TFRecordDataset if reader is None else reader
    names = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    arguments = reader_args or ()
    threads = 1 if reader_num_threads is None else reader_num_threads
    dataset = names.interleave(lambda name: open_file(name, *arguments), threads, 1)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    dataset = dataset.repeat(num_epochs)
    drops = drop_final_batch or num_epochs is None
    dataset = dataset.batch(batch_size, drop_remainder=drops)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads or 1))  # type: ignore[assignment]
    if label_key is not None:
        dataset = dataset.map(lambda parsed: (parsed, parsed.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def prefetch_to_device(device: object, buffer_size: IntLike | None = None) -> Transformation:
    """Return `Dataset.prefetch`, for `Dataset.apply`. Elements stay on the CPU until they are used.

    Args:
      device: Not used.
      buffer_size: See the method.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> data = tf.data.Dataset.range(3).apply(tf.data.experimental.prefetch_to_device("/CPU:0"))
      >>> len(list(data))
      3
    """
    return lambda dataset: dataset.prefetch(buffer_size)


def copy_to_device(target_device: object, source_device: object = "/cpu:0") -> Transformation:
    """Return a function that does nothing, for `Dataset.apply`: ops copy what they use.

    Args:
      target_device: Not used.
      source_device: Not used.

    Returns:
      A function from a `Dataset` to a `Dataset`.

    Example:
      >>> data = tf.data.Dataset.range(3).apply(tf.data.experimental.copy_to_device("/CPU:0"))
      >>> len(list(data))
      3
    """
    return lambda dataset: dataset.take(-1)


def cardinality(dataset: Pipeline) -> Tensor:
    """Return the number of elements; see `Dataset.cardinality`.

    Args:
      dataset: A `Dataset`.

    Returns:
      An int64 tensor of shape ().

    Example:
      >>> tf.data.experimental.cardinality(tf.data.Dataset.range(3)).numpy()
      np.int64(3)
    """
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: IntLike) -> Transformation:
    """Return a function that states the number of elements, for `Dataset.apply`.

    Args:
      expected_cardinality: The number, or INFINITE_CARDINALITY.

    Returns:
      A function from a `Dataset` to a `Dataset` of this cardinality. Iterating it raises a
      FailedPreconditionError if the number is another one.

    Example:
      >>> data = tf.data.Dataset.range(4).filter(lambda x: x < 2)
      >>> len(data.apply(tf.data.experimental.assert_cardinality(2)))
      2
    """
    count = check_int("expected_cardinality", expected_cardinality)

    def transform(dataset: Dataset) -> Dataset:
        return dataset._like(
            "_AssertCardinalityDataset", lambda: AssertedCount(dataset._start(), count), count
        )

    return transform


def at(dataset: Pipeline, index: IntLike) -> Any:
    """Return the element at an index.

    Elements before it are computed too, unless the dataset consists of slices of arrays.

    Args:
      dataset: A `Dataset` of known cardinality.
      index: The index.

    Returns:
      A nest of tensors.

    Raises:
      OutOfRangeError: If there is no such element.
      UnimplementedError: If the number of elements is unknown.

    Example:
      >>> tf.data.experimental.at(tf.data.Dataset.range(10, 20), 3).numpy()
      np.int64(13)
    """
    number, count = check_int("index", index), dataset._count
    if count == UNKNOWN_CARDINALITY:
        raise UnimplementedError(
            f"Random access is not implemented for dataset {dataset._kind}: the number of its "
            f"elements is unknown. Use `dataset.skip(index).take(1)`."
        )
    if number < 0 or 0 <= count <= number:
        raise OutOfRangeError(f"Index out of range [0, {count}):{number}")
    if isinstance(dataset, Dataset):
        with peek():
            for element in dataset.skip(number).take(1)._start():
                return as_tensors(element)
    raise OutOfRangeError(f"Index out of range: {number}")


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """Create a dataset of a list of elements.

    Args:
      elements: Nests of tensors with the same structure and dtypes.
      name: Not used.

    Returns:
      A `Dataset`.

    Raises:
      ValueError: If the list is empty.
      TypeError: If structures or dtypes differ.

    Example:
      >>> data = tf.data.experimental.from_list([(1, "a"), (2, "b")])
      >>> list(data.as_numpy_iterator())
      [(np.int32(1), b'a'), (np.int32(2), b'b')]
    """
    return _from_list(list(elements))


def _from_list(values: list[Any]) -> Dataset:
    if not values:
        raise ValueError("Invalid `elements`. `elements` should not be empty.")
    items = [as_arrays(value) for value in values]
    spec = spec_of(items[0])
    for item in items[1:]:
        spec = elements.common(spec, spec_of(item))
    return Dataset._make("_ListDataset", lambda: Items(items), len(items), spec)


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return the next element as an optional; see `Iterator.get_next_as_optional`.

    Args:
      iterator: An iterator of a dataset.

    Returns:
      An `Optional`.

    Example:
      >>> iterator = iter(tf.data.Dataset.range(1))
      >>> tf.data.experimental.get_next_as_optional(iterator).get_value().numpy()
      np.int64(0)
    """
    return iterator.get_next_as_optional()


def get_single_element(dataset: Pipeline) -> Any:
    """Return the only element; see `Dataset.get_single_element`.

    Args:
      dataset: A `Dataset`.

    Returns:
      A nest of tensors.

    Raises:
      InvalidArgumentError: If the dataset does not have exactly one element.

    Example:
      >>> tf.data.experimental.get_single_element(tf.data.Dataset.from_tensors(3)).numpy()
      np.int32(3)
    """
    return dataset.get_single_element()


def get_structure(dataset_or_iterator: Pipeline | Iterator) -> Any:
    """Return the spec of the elements.

    Args:
      dataset_or_iterator: A `Dataset` or its iterator.

    Returns:
      A nest of `TensorSpec`.

    Raises:
      TypeError: If it is something else.

    Example:
      >>> tf.data.experimental.get_structure(tf.data.Dataset.range(3))
      TensorSpec(shape=(), dtype=tf.int64, name=None)
    """
    if not isinstance(dataset_or_iterator, Pipeline | Iterator):
        raise TypeError(
            f"Invalid `dataset_or_iterator`. `dataset_or_iterator` must be a `tf.data.Dataset` or "
            f"tf.data.Iterator object, but got {type(dataset_or_iterator)}."
        )
    return dataset_or_iterator.element_spec


class Reducer:
    """Three functions that reduce elements to a value; see `group_by_reducer`.

    Args:
      init_func: A function from a key to the initial state.
      reduce_func: A function ``(state, element) -> new state``.
      finalize_func: A function from the last state to the result.

    Example:
      >>> total = tf.data.experimental.Reducer(
      ...     lambda key: np.int64(0), lambda state, x: state + x, lambda state: state)
      >>> group = tf.data.experimental.group_by_reducer(lambda x: x % 2, total)
      >>> [int(x) for x in tf.data.Dataset.range(5).apply(group)]
      [6, 4]
    """

    def __init__(
        self,
        init_func: Callable[[Any], Any],
        reduce_func: Callable[[Any, Any], Any],
        finalize_func: Callable[[Any], Any],
    ) -> None:
        self._init, self._reduce, self._finalize = init_func, reduce_func, finalize_func

    @property
    def init_func(self) -> Callable[[Any], Any]:
        """The function from a key to the initial state."""
        return self._init

    @property
    def reduce_func(self) -> Callable[[Any, Any], Any]:
        """The function from a state and an element to the new state."""
        return self._reduce

    @property
    def finalize_func(self) -> Callable[[Any], Any]:
        """The function from the last state to the result."""
        return self._finalize


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Return a function that reduces elements with the same key, for `Dataset.apply`.

    Args:
      key_func: A function of an element's tensors that returns an int64 scalar.
      reducer: A `Reducer`.

    Returns:
      A function from a `Dataset` to a `Dataset`, whose elements are in the order of the keys.

    Example:
      >>> count = tf.data.experimental.Reducer(
      ...     lambda key: np.int64(0), lambda state, x: state + 1, lambda state: state)
      >>> group = tf.data.experimental.group_by_reducer(lambda x: x % 3, count)
      >>> [int(x) for x in tf.data.Dataset.range(7).apply(group)]
      [3, 2, 2]
    """

    def key_of(element: Any) -> int:
        key = as_tensor(elements.call(key_func, element))
        if key.ndim or not key.dtype.is_integer:
            raise ValueError(
                f"Invalid `key_func`. Expected `key_func` to return a scalar tf.int64 tensor, but "
                f"got {spec_of(key)}."
            )
        return int(key)

    def initial(key: int) -> Any:
        return as_element(reducer.init_func(as_tensor(np.int64(key))))

    def reduce(state: Any, element: Any) -> Any:
        parts = as_tensors(element)
        arguments = parts if type(parts) is tuple else (parts,)
        return elements.evaluate(
            elements.as_result(reducer.reduce_func(as_tensors(state), *arguments))
        )

    def finalize(state: Any) -> Any:
        return elements.as_result(elements.call(lambda *x: reducer.finalize_func(*x), state))

    def transform(dataset: Dataset) -> Dataset:
        def start() -> Stage:
            return Reduced(dataset._start(), key_of, initial, reduce, finalize)

        def spec() -> Any:
            for element in start():
                return spec_of(element)
            return spec_of(finalize(initial(0)))

        return dataset._make(
            "_GroupByReducerDataset", start, UNKNOWN_CARDINALITY, spec, (dataset,), True
        )

    return transform


def pad_to_cardinality(cardinality: IntLike, mask_key: str = "valid") -> Transformation:
    """Return a function that appends elements of zeros, for `Dataset.apply`.

    Args:
      cardinality: The number of elements of the result.
      mask_key: The key of a bool that is False in appended elements.

    Returns:
      A function from a `Dataset` of dicts to a `Dataset` of dicts.

    Raises:
      ValueError: When it is applied, if elements are no dicts, or the dataset is longer, or its
        cardinality is not known.

    Example:
      >>> data = tf.data.Dataset.from_tensor_slices({"x": [1, 2]})
      >>> for element in data.apply(tf.data.experimental.pad_to_cardinality(3)).as_numpy_iterator():
      ...     print(element["x"], element["valid"])
      1 True
      2 True
      0 False
    """
    count = check_int("cardinality", cardinality)

    def transform(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        if not isinstance(spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        if dataset._count < 0:
            raise ValueError(
                "`pad_to_cardinality` requires a dataset of known and finite cardinality."
            )
        if count < dataset._count:
            raise ValueError(
                f"The dataset passed into `pad_to_cardinality` has more elements "
                f"({dataset._count}) than the cardinality ({count})."
            )
        filler = elements.zeros_like(spec)

        def add_mask(source: Dataset, is_valid: bool, number: int) -> Dataset:
            def add(element: Any) -> Any:
                return {**element, mask_key: np.bool_(is_valid)}

            full = {**spec, mask_key: TensorSpec((), _bool)}
            return Dataset._make(
                "_MapDataset", lambda: Mapped(source._start(), add), number, full, (source,)
            )

        padding = Dataset.from_tensors(filler).repeat(count - dataset._count)
        return add_mask(dataset, True, dataset._count).concatenate(
            add_mask(padding, False, count - dataset._count)
        )

    return transform


def sample_from_datasets(
    datasets: Iterable[Pipeline],
    weights: Any = None,
    seed: IntLike | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Take elements from randomly drawn datasets; see `Dataset.sample_from_datasets`.

    Args:
      datasets: See the method.
      weights: See the method.
      seed: See the method.
      stop_on_empty_dataset: See the method.

    Returns:
      A `Dataset`.

    Raises:
      ValueError: If ``datasets`` is empty, or ``weights`` has another length.

    Example:
      >>> sources = [tf.data.Dataset.range(2), tf.data.Dataset.range(10, 12)]
      >>> sorted(int(x) for x in tf.data.experimental.sample_from_datasets(sources))
      [0, 1, 10, 11]
    """
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def save(
    dataset: Dataset,
    path: str | os.PathLike[str],
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: object = None,
) -> None:
    """Write the elements to a folder; see `Dataset.save`.

    Args:
      dataset: A `Dataset`.
      path: See the method.
      compression: See the method.
      shard_func: See the method.
      checkpoint_args: See the method.

    Example:
      >>> import tempfile
      >>> folder = tempfile.mkdtemp()
      >>> tf.data.experimental.save(tf.data.Dataset.range(3), folder)
      >>> [int(x) for x in tf.data.experimental.load(folder)]
      [0, 1, 2]
    """
    dataset.save(path, compression, shard_func, checkpoint_args)


def enable_debug_mode() -> None:
    """Do nothing: functions of a dataset always run as Python, where a debugger can stop.

    Example:
      >>> tf.data.experimental.enable_debug_mode() is None
      True
    """


class TFRecordWriter:
    """Writes a dataset of strings to a TFRecord file; see `io.TFRecordWriter`.

    Args:
      filename: The path.
      compression_type: "", "GZIP" or "ZLIB".

    Example:
      >>> import tempfile
      >>> path = tempfile.mkdtemp() + "/data.tfrecord"
      >>> tf.data.experimental.TFRecordWriter(path).write(tf.data.Dataset.from_tensors(b"first"))
      >>> list(tf.data.TFRecordDataset(path).as_numpy_iterator())
      [b'first']
    """

    def __init__(
        self, filename: str | os.PathLike[str], compression_type: str | None = None
    ) -> None:
        self._path = elements.as_text(filename)
        self._compression = _records.parse_compression(compression_type)

    def write(self, dataset: Dataset) -> None:
        """Write the elements of a dataset.

        Args:
          dataset: A `Dataset` of string scalars.

        Raises:
          TypeError: If ``dataset`` is no dataset, or its elements are no string scalars.

        Example:
          >>> import tempfile
          >>> path = tempfile.mkdtemp() + "/data.tfrecord"
          >>> data = tf.data.Dataset.from_tensor_slices([b"first", b"second"])
          >>> tf.data.experimental.TFRecordWriter(path).write(data)
          >>> len(list(tf.data.TFRecordDataset(path)))
          2
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Invalid `dataset`. Expected a `tf.data.Dataset`, got {dataset!r}.")
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype.name != "string" or len(spec.shape or ()):
            raise TypeError(
                f"Invalid `dataset`. Elements must be scalar `tf.string` tensors, got {spec}."
            )
        with _records.TFRecordWriter(self._path, self._compression) as writer:
            for element in dataset.as_numpy_iterator():
                writer.write(element)


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter("numtape.data.experimental")

_guard_module(__name__)
