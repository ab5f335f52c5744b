"""`Dataset`: sources of elements, and transformations that select, order, group and map them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator as Elements
from functools import partial
from itertools import chain, count, islice, repeat
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..compat.missing_names import tell
from ..core.values.dtypes import as_dtype, int64, repr_of
from ..errors import InvalidArgumentError
from ..tensor_spec import TensorSpec
from . import elements, flows
from .elements import as_arrays, as_element, call, map_leaves, spec_of
from .pipeline import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Draws,
    Iterator,
    Pipeline,
    check_int,
    least,
)

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, NumberLike


def _as_tuple(shapes: Any) -> Any:
    """Convert a list of shapes to a tuple, to match a tuple of dtypes."""
    return tuple(shapes) if isinstance(shapes, list) else shapes


def _variant(dataset: Dataset, parts: list[Any], spec: Any) -> Any:
    """Return the dataset of a window."""
    return dataset._make("_VariantDataset", lambda: parts, len(parts), spec)


def _relax_spec(result: Any, source: Any) -> Any:
    """Drop the sizes of a function's result spec if the source's elements vary in size."""
    has_unknown_size = any(
        leaf.shape.rank is None or None in tuple(leaf.shape)
        for leaf in elements.leaves(source)
        if isinstance(leaf, TensorSpec)
    )
    if not has_unknown_size:
        return result
    return map_leaves(
        lambda leaf: (
            TensorSpec([None] * len(leaf.shape), leaf.dtype)
            if isinstance(leaf, TensorSpec) and leaf.shape.rank is not None
            else leaf
        ),
        result,
    )


class Dataset(Pipeline):
    """A sequence of elements, which are nests of tensors; each loop iterates from the start.

    Create one with `from_tensor_slices` etc.; each transformation returns a new dataset. Tuples,
    namedtuples and dicts are nests, a list is a tensor. Functions are called eagerly with an
    element's tensors (a tuple is unpacked into arguments) when the element is needed. Nothing runs
    ahead in another thread, so `prefetch` and ``num_parallel_calls`` have no effect.

    Example:
      >>> data = tf.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [0, 1, 0]))
      >>> for x, y in data.map(lambda x, y: (10.0 * x, y)).batch(2):
      ...     print(x.numpy(), y.numpy())
      [10. 20.] [0 1]
      [30.] [0]
    """

    # Class methods that create datasets.

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Self:
        """Create a dataset of the slices of tensors along their first axis.

        Args:
          tensors: A nest of tensors or arrays with equal first sizes. Arrays are copied.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: If a tensor is a scalar, or first sizes differ.

        Example:
          >>> list(tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]]).as_numpy_iterator())
          [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
        """
        arrays = as_arrays(tensors)
        spec = map_leaves(elements.without_first_axis, spec_of(arrays))
        sizes = [len(x) for x in elements.leaves(arrays)]
        for size in sizes[1:]:
            if size != sizes[0]:
                raise ValueError(f"Dimensions {sizes[0]} and {size} are not compatible")
        if not sizes:
            raise ValueError("from_tensor_slices requires at least one tensor.")
        dataset = cls._make("_TensorSliceDataset", lambda: range(sizes[0]), sizes[0], spec)
        return dataset._as_slices(arrays)

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Self:
        """Create a dataset with a single element.

        Args:
          tensors: A nest of tensors or arrays. Arrays are copied.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> list(tf.data.Dataset.from_tensors([1, 2]).as_numpy_iterator())
          [array([1, 2], dtype=int32)]
        """
        arrays = as_arrays(tensors)
        return cls._make("_TensorDataset", lambda: [arrays], 1, spec_of(arrays))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Iterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Iterable[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Self:
        """Create a dataset from a generator function, which is called for each iteration.

        Args:
          generator: A function that returns an iterable.
          output_types: A nest of dtypes, instead of ``output_signature``.
          output_shapes: A nest of shapes for ``output_types``.
          args: Arguments of ``generator``, passed as arrays.
          output_signature: A nest of `TensorSpec` that describes the elements.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          TypeError: If ``generator`` is not callable, or types and signature are both missing.
          InvalidArgumentError: While iterating, if an element does not match the signature.

        Example:
          >>> spec = tf.TensorSpec((), tf.float32)
          >>> data = tf.data.Dataset.from_generator(lambda: iter([1, 2]), output_signature=spec)
          >>> [x.numpy() for x in data]
          [np.float32(1.0), np.float32(2.0)]
        """
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        spec = output_signature
        if spec is None:
            if output_types is None:
                raise TypeError(
                    "To specify the output signature you need to provide either the "
                    "`output_signature` argument or the `output_types` argument."
                )
            types: Any = tuple(output_types) if isinstance(output_types, list) else output_types
            if output_shapes is None:
                spec = map_leaves(lambda dtype: TensorSpec(None, dtype), types)
            elif elements.is_leaf(types):
                spec = TensorSpec(output_shapes, types)
            else:
                spec = map_leaves(lambda d, s: TensorSpec(s, d), types, _as_tuple(output_shapes))
        elif output_types is not None or output_shapes is not None:
            raise TypeError(
                "The `output_types` and `output_shapes` arguments cannot be used together with "
                "the `output_signature` argument."
            )
        values = () if args is None else tuple(args)
        return cls._make(
            "_FlatMapDataset",
            lambda: flows.generate(generator, values, spec),
            UNKNOWN_CARDINALITY,
            spec,
        )

    @classmethod
    def range(cls, *args: IntLike, output_type: DTypeLike = int64, name: str | None = None) -> Self:
        """Create a dataset of integers, like Python's `range`.

        Args:
          *args: A limit; or a start, a limit and perhaps a step.
          output_type: The dtype of the elements.
          name: Not used.

        Returns:
          A `Dataset` of tensors of shape ().

        Raises:
          TypeError: If an argument is not an integer.
          ValueError: If the number of arguments is not 1 to 3, or the step is 0.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(5, 0, -2)]
          [5, 3, 1]
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`. Must have 1 to 3 values, got {len(args)}.")
        numbers = range(*(check_int("args", x) for x in args))
        dtype = as_dtype(output_type)
        make = dtype.as_numpy_dtype
        return cls._make(
            "_RangeDataset", lambda: map(make, numbers), len(numbers), TensorSpec((), dtype)
        )

    @classmethod
    def counter(
        cls, start: int = 0, step: int = 1, dtype: DTypeLike = int64, name: str | None = None
    ) -> Self:
        """Create an infinite dataset of integers.

        Args:
          start: The first integer.
          step: The step.
          dtype: The dtype of the elements.
          name: Not used.

        Returns:
          A `Dataset` of tensors of shape ().

        Example:
          >>> [int(x) for x in tf.data.Dataset.counter(1).take(3)]
          [1, 2, 3]
        """
        make = as_dtype(dtype).as_numpy_dtype
        return cls._make(
            "_CounterDataset",
            lambda: map(make, count(start, step)),
            INFINITE_CARDINALITY,
            TensorSpec((), dtype),
        )

    @classmethod
    def random(
        cls,
        seed: IntLike | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Create an infinite dataset of random 32-bit integers, which differ from TensorFlow's.

        Args:
          seed: An integer that makes runs reproducible.
          rerandomize_each_iteration: Whether each iteration has different numbers.
          name: Not used.

        Returns:
          A `Dataset` of int64 tensors of shape ().

        Example:
          >>> x, y = tf.data.Dataset.random(seed=1).take(2)
          >>> x.dtype, bool(0 <= y < 2**32)
          (tf.int64, True)
        """
        draws = Draws(seed, bool(rerandomize_each_iteration))

        def start() -> Elements[Any]:
            random = draws.generator()
            while True:
                yield from random.integers(0, 2**32, flows.RANDOM_BLOCK, np.int64)

        return cls._make("_RandomDataset", start, INFINITE_CARDINALITY, TensorSpec((), int64))

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Self:
        """Combine datasets element by element, up to the length of the shortest.

        Args:
          *args: Datasets, or one nest of them.
          datasets: A nest of datasets, instead of ``*args``.
          name: Not used.

        Returns:
          A `Dataset` whose elements are nests of elements.

        Raises:
          TypeError: If an argument is not a dataset.

        Example:
          >>> data = tf.data.Dataset.zip(tf.data.Dataset.range(2), tf.data.Dataset.range(5, 9))
          >>> list(data.as_numpy_iterator())
          [(np.int64(0), np.int64(5)), (np.int64(1), np.int64(6))]
        """
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        nest = datasets if datasets is not None else args[0] if len(args) == 1 else args
        parts = elements.leaves(nest)
        for part in parts:
            if not isinstance(part, Pipeline):
                advice = " Python `list` is not supported and you should use `tuple` instead."
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    f"`tf.data.Dataset` objects.{advice if isinstance(part, list) else ''}"
                )

        def start() -> Elements[Any]:
            for values in zip(*(part._start() for part in parts), strict=False):
                remaining_values = iter(values)
                yield map_leaves(
                    lambda _, remaining_values=remaining_values: next(remaining_values), nest
                )

        def spec() -> Any:
            return map_leaves(lambda part: part.element_spec, nest)

        counts = [part._count for part in parts]
        return cls._make("_ZipDataset", start, least(counts), spec)

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Iterable[Pipeline],
        weights: Iterable[NumberLike] | None = None,
        seed: IntLike | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Self:
        """Take elements from randomly drawn datasets.

        Args:
          datasets: A list of datasets with equal element specs.
          weights: The probability of each dataset; default: uniform.
          seed: An integer.
          stop_on_empty_dataset: Whether to stop when a drawn dataset is exhausted.
          rerandomize_each_iteration: Whether each iteration draws differently.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          ValueError: If ``datasets`` is empty, or ``weights`` has another length.

        Example:
          >>> sources = [tf.data.Dataset.range(2), tf.data.Dataset.range(10, 12)]
          >>> sorted(int(x) for x in tf.data.Dataset.sample_from_datasets(sources, seed=1))
          [0, 1, 10, 11]
        """
        sources = list(datasets)
        if not sources:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        chances = None if weights is None else [float(w) for w in weights]
        if chances is not None and len(chances) != len(sources):
            raise ValueError("Invalid `weights`. They must have the same length as `datasets`.")
        draws = Draws(seed, bool(rerandomize_each_iteration))

        def start() -> Iterable[Any]:
            parts = [source._start() for source in sources]
            return flows.sample(parts, chances, draws.generator(), stop_on_empty_dataset)

        return cls._make(
            "_DirectedInterleaveDataset",
            start,
            UNKNOWN_CARDINALITY,
            lambda: sources[0].element_spec,
        )

    @classmethod
    def choose_from_datasets(
        cls,
        datasets: Iterable[Pipeline],
        choice_dataset: Pipeline,
        stop_on_empty_dataset: bool = True,
    ) -> Self:
        """Take elements from datasets selected by a dataset of indices.

        Args:
          datasets: A list of datasets with equal element specs.
          choice_dataset: A dataset of int64 scalars: indices into ``datasets``.
          stop_on_empty_dataset: Whether to stop when a selected dataset is exhausted.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          ValueError: If ``datasets`` is empty; while iterating, if an index is out of range.

        Example:
          >>> sources = [tf.data.Dataset.range(2), tf.data.Dataset.range(10, 12)]
          >>> choice = tf.data.Dataset.range(2).repeat()
          >>> [int(x) for x in tf.data.Dataset.choose_from_datasets(sources, choice)]
          [0, 10, 1, 11]
        """
        sources = list(datasets)
        if not sources:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")

        def start() -> Iterable[Any]:
            parts = [source._start() for source in sources]
            return flows.choose(parts, choice_dataset._start(), stop_on_empty_dataset)

        return cls._make(
            "_DirectedInterleaveDataset",
            start,
            UNKNOWN_CARDINALITY,
            lambda: sources[0].element_spec,
        )

    # Transformations that do not change the elements themselves.

    def shuffle(
        self,
        buffer_size: IntLike,
        seed: IntLike | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Self:
        """Shuffle the elements: each is drawn from a buffer of the next ``buffer_size`` ones.

        A seed, here or by `random.set_seed`, makes runs reproducible; the order differs from
        TensorFlow's.

        Args:
          buffer_size: The size of the buffer.
          seed: An integer.
          reshuffle_each_iteration: Whether each iteration has a different order.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``buffer_size`` is not positive.

        Example:
          >>> data = tf.data.Dataset.range(100).shuffle(100, seed=1)
          >>> first, second = [int(x) for x in data], [int(x) for x in data]
          >>> first != second, sorted(first) == sorted(second) == list(range(100))
          (True, True)
        """
        size = check_int("buffer_size", buffer_size)
        if size == UNKNOWN_CARDINALITY:
            size = max(self._count, 1)
        if size <= 0:
            raise InvalidArgumentError(
                "buffer_size must be greater than zero or UNKNOWN_CARDINALITY [Op:ShuffleDataset]"
            )
        draws = Draws(seed, reshuffle_each_iteration is not False)
        return self._reordered(
            "_ShuffleDataset",
            lambda: flows.shuffle(self._start_items(), size, draws.generator()),
            self._count,
        )

    def repeat(self, count: IntLike | None = None, name: str | None = None) -> Self:
        """Repeat the elements.

        Args:
          count: The number of repetitions; None or -1 for endless repetition.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(2).repeat(2)]
          [0, 1, 0, 1]
        """
        repetitions = -1 if count is None else check_int("count", count)

        def start() -> Elements[Any]:
            for _ in repeat(None) if repetitions < 0 else range(repetitions):
                is_empty = True
                for item in self._start_items():
                    is_empty = False
                    yield item
                if is_empty:
                    return

        total = self._count * repetitions if self._count >= 0 and repetitions >= 0 else self._count
        if repetitions < 0 and self._count > 0:
            total = INFINITE_CARDINALITY
        return self._reordered("_RepeatDataset", start, 0 if repetitions == 0 else total)

    def take(self, count: IntLike, name: str | None = None) -> Self:
        """Take the first elements.

        Args:
          count: The number of elements; all if negative.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(5).take(2)]
          [0, 1]
        """
        element_count = check_int("count", count)
        if element_count < 0:
            return self._reordered("_TakeDataset", self._start_items, self._count)
        total = least([self._count, element_count])
        return self._reordered(
            "_TakeDataset", lambda: islice(self._start_items(), element_count), total
        )

    def skip(self, count: IntLike, name: str | None = None) -> Self:
        """Skip the first elements.

        Args:
          count: The number of elements to skip; all if negative.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(5).skip(3)]
          [3, 4]
        """
        element_count = check_int("count", count)
        if element_count < 0:
            return self._like("_SkipDataset", lambda: (), 0)
        total = self._count if self._count < 0 else max(self._count - element_count, 0)
        return self._reordered(
            "_SkipDataset", lambda: islice(self._start_items(), element_count, None), total
        )

    def shard(self, num_shards: IntLike, index: IntLike, name: str | None = None) -> Self:
        """Take every ``num_shards``-th element, starting at ``index``.

        Args:
          num_shards: The number of shards.
          index: The index of the shard.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``num_shards`` is not positive, or ``index`` is out of range.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(7).shard(3, 1)]
          [1, 4]
        """
        parts, shard_index = check_int("num_shards", num_shards), check_int("index", index)
        if parts < 1:
            raise InvalidArgumentError(f"Number of shards must be greater than zero, got {parts}.")
        if not 0 <= shard_index < parts:
            raise InvalidArgumentError(
                f"Index must be between 0 and {parts - 1} (currently index = {shard_index})."
            )
        total = self._count if self._count < 0 else len(range(shard_index, self._count, parts))
        return self._reordered(
            "_ShardDataset", lambda: islice(self._start_items(), shard_index, None, parts), total
        )

    def enumerate(self, start: IntLike = 0, name: str | None = None) -> Self:
        """Pair each element with a running index.

        Args:
          start: The first index.
          name: Not used.

        Returns:
          A `Dataset` of pairs, the first an int64 tensor of shape ().

        Example:
          >>> [(int(k), int(x)) for k, x in tf.data.Dataset.range(5, 7).enumerate(1)]
          [(1, 5), (2, 6)]
        """
        return self.zip(self.counter(check_int("start", start)), self)

    def concatenate(self, dataset: Pipeline, name: str | None = None) -> Self:
        """Append the elements of another dataset.

        Args:
          dataset: A dataset with the same element structure and dtypes.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: If ``dataset`` is not a dataset, or structures or dtypes differ.

        Example:
          >>> data = tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(5, 7))
          >>> [int(x) for x in data]
          [0, 1, 5, 6]
        """
        if not isinstance(dataset, Pipeline):
            raise TypeError(f"`dataset` must be a Dataset, got {repr_of(dataset)}.")
        counts = [self._count, dataset._count]
        total = (
            sum(counts)
            if min(counts) >= 0
            else (INFINITE_CARDINALITY if INFINITE_CARDINALITY in counts else UNKNOWN_CARDINALITY)
        )
        return self._make(
            "_ConcatenateDataset",
            lambda: chain(self._start(), dataset._start()),
            total,
            elements.common(self.element_spec, dataset.element_spec),
        )

    def unique(self, name: str | None = None) -> Self:
        """Drop repeated elements.

        Args:
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Example:
          >>> [int(x) for x in tf.data.Dataset.from_tensor_slices([1, 2, 1]).unique()]
          [1, 2]
        """
        return self._like(
            "_UniqueDataset", lambda: flows.distinct(self._start()), UNKNOWN_CARDINALITY
        )

    def cache(self, filename: str = "", name: str | None = None) -> Self:
        """Keep the elements in memory after the first complete iteration.

        Args:
          filename: Must be empty: files are not supported.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          NotImplementedError: If ``filename`` is not empty.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(3).cache()]
          [0, 1, 2]
        """
        if filename:
            raise NotImplementedError("`filename` must be empty: `cache()` uses memory only.")
        complete: list[list[Any]] = []

        def start() -> Iterable[Any]:
            return complete[0] if complete else gone_through()

        def gone_through() -> Elements[Any]:
            items: list[Any] = []
            for item in self._start_items():
                items.append(item)
                if len(items) == self._count and not complete:
                    complete.append(items)  # even if the caller stops after the last element
                yield item
            if not complete:
                complete.append(items)

        return self._reordered("CacheDataset", start, self._count)

    def prefetch(self, buffer_size: object, name: str | None = None) -> Self:
        """Return the dataset unchanged: numtape does not prefetch in another thread.

        Args:
          buffer_size: Not used.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> len(tf.data.Dataset.range(3).prefetch(tf.data.AUTOTUNE))
          3
        """
        return self._reordered("_PrefetchDataset", self._start_items, self._count)

    # Batches and windows.

    def batch(
        self,
        batch_size: IntLike,
        drop_remainder: bool = False,
        num_parallel_calls: object = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Stack consecutive elements along a new first axis.

        Args:
          batch_size: The number of elements in a batch.
          drop_remainder: Whether to drop a smaller last batch.
          num_parallel_calls: Not used.
          deterministic: Not used.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``batch_size`` is not positive; while iterating, if shapes differ
            (see `padded_batch`).

        Example:
          >>> [x.numpy().tolist() for x in tf.data.Dataset.range(5).batch(2)]
          [[0, 1], [2, 3], [4]]
        """
        return self._batch("_BatchDataset", batch_size, drop_remainder, elements.batch, True)

    def padded_batch(
        self,
        batch_size: IntLike,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Pad consecutive elements to the same shape, and stack them along a new first axis.

        Args:
          batch_size: The number of elements in a batch.
          padded_shapes: A shape for each component, in which None or -1 means the largest size in
            the batch; default: the largest for all axes.
          padding_values: The padding values; default: 0.
          drop_remainder: Whether to drop a smaller last batch.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``batch_size`` is not positive.
          DataLossError: While iterating, if an element exceeds its padded shape.

        Example:
          >>> data = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
          >>> data.padded_batch(3).get_single_element().numpy().tolist()
          [[1, 0, 0], [2, 2, 0], [3, 3, 3]]
        """

        def join(group: list[Any]) -> Any:
            return elements.pad_batch(group, padded_shapes, padding_values)

        return self._batch("_PaddedBatchDataset", batch_size, drop_remainder, join, False)

    def _batch(
        self, kind: str, size: IntLike, drop: object, join: Callable[[list[Any]], Any], same: bool
    ) -> Self:
        batch_size, drop = check_int("batch_size", size), bool(drop)
        if batch_size <= 0:
            raise InvalidArgumentError("Batch size must be greater than zero. [Op:BatchDataset]")

        def spec() -> Any:
            if not same:
                return self._peek(dataset)
            return map_leaves(
                lambda one: elements.with_first_axis(one, batch_size if drop else None),
                self.element_spec,
            )

        count = self._count
        if count >= 0:
            count = count // batch_size if drop else -(-count // batch_size)

        def start() -> Iterable[Any]:
            if self._arrays is None or join is not elements.batch:
                return flows.batches(self._start(), batch_size, drop, join)
            join_items = partial(flows.batch_of_slices, self._arrays)
            return flows.batches(self._start_items(), batch_size, drop, join_items)

        dataset = self._make(kind, start, count, spec)
        return dataset

    @staticmethod
    def _peek(dataset: Pipeline) -> Any:
        for element in dataset._start():
            return map_leaves(
                lambda one: TensorSpec([None] * len(one.shape), one.dtype), spec_of(element)
            )
        return None

    def rebatch(
        self, batch_size: IntLike, drop_remainder: bool = False, name: str | None = None
    ) -> Self:
        """Change the batch size of a dataset of batches.

        Args:
          batch_size: The new number of elements in a batch.
          drop_remainder: Whether to drop a smaller last batch.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [len(x) for x in tf.data.Dataset.range(5).batch(3).rebatch(2)]
          [2, 2, 1]
        """
        dataset = self.unbatch().batch(batch_size, drop_remainder)
        dataset._kind = "_RebatchDataset"
        return dataset

    def unbatch(self, name: str | None = None) -> Self:
        """Split elements into slices along their first axis.

        Args:
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(3).batch(2).unbatch()]
          [0, 1, 2]
        """
        return self._make(
            "_UnbatchDataset",
            lambda: flows.unbatch(self._start()),
            UNKNOWN_CARDINALITY,
            lambda: map_leaves(elements.without_first_axis, self.element_spec),
        )

    def window(
        self,
        size: IntLike,
        shift: IntLike | None = None,
        stride: IntLike = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Group elements into sliding windows, each a dataset.

        Args:
          size: The number of elements in a window.
          shift: The distance between the starts of successive windows; default: ``size``.
          stride: The distance between successive elements of a window.
          drop_remainder: Whether to drop smaller windows.
          name: Not used.

        Returns:
          A `Dataset` of nests of datasets.

        Example:
          >>> [[int(x) for x in w] for w in tf.data.Dataset.range(5).window(3, 1, 1, True)]
          [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        window_size, step = check_int("size", size), check_int("stride", stride)
        window_shift = window_size if shift is None else check_int("shift", shift)
        if min(window_size, window_shift, step) < 1:
            raise InvalidArgumentError("`size`, `shift` and `stride` of a window must be positive.")

        def datasets(group: list[Any]) -> Any:
            spec = self.element_spec
            parts = [elements.leaves(element) for element in group]
            numbers = count()
            return map_leaves(
                lambda one: (
                    _variant(self, [part[k] for part in parts], one)
                    if (k := next(numbers)) >= 0
                    else None
                ),
                spec,
            )

        def start() -> Iterable[Any]:
            windows = flows.windows(
                self._start(), window_size, window_shift, step, bool(drop_remainder)
            )
            return map(datasets, windows)

        total = self._count
        if total >= 0:
            span = (window_size - 1) * step + 1
            total = len(range(0, total - span + 1 if drop_remainder else total, window_shift))
        return self._make(
            "_WindowDataset",
            start,
            total,
            lambda: map_leaves(lambda one: _variant(self, [], one), self.element_spec),
        )

    # Transformations that take a function.

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: object = None,
        deterministic: bool | None = None,
        synchronous: object = None,
        use_unbounded_threadpool: object = False,
        name: str | None = None,
    ) -> Self:
        """Apply a function to each element.

        Args:
          map_func: A function of an element's tensors; a tuple is unpacked into arguments.
          num_parallel_calls: Not used: functions run in the iterating thread.
          deterministic: Not used.
          synchronous: Not used.
          use_unbounded_threadpool: Not used.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: If ``map_func`` is not callable.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(3).map(lambda x: x * x)]
          [0, 1, 4]
        """
        if not callable(map_func):
            raise ValueError(
                f"Argument `func` must be a callable. Received func={map_func!r} (of type "
                f"{type(map_func)})"
            )

        def apply(element: Any) -> Any:
            return elements.as_result(call(map_func, element))

        def start() -> Iterable[Any]:
            if self._arrays is None:
                return map(apply, self._start())
            return map(apply, flows.slice_tensors(self._arrays, self._start_items()))

        return self._make(
            "_MapDataset",
            start,
            self._count,
            lambda: self._result_spec(apply),
        )

    def _result_spec(self, apply: Callable[[Any], Any]) -> Any:
        """Return the spec of a function's result for the first element, or for zeros if empty."""
        for element in self._start():
            return _relax_spec(spec_of(apply(element)), self.element_spec)
        return spec_of(apply(elements.zeros_like(self.element_spec)))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """Keep the elements for which a function returns True.

        Args:
          predicate: A function of an element's tensors that returns a scalar bool.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          ValueError: While iterating, if ``predicate`` returns something else.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(5).filter(lambda x: x % 2 == 0)]
          [0, 2, 4]
        """
        return self._like(
            "_FilterDataset",
            lambda: flows.filter_elements(self._start(), predicate),
            UNKNOWN_CARDINALITY,
        )

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """Take elements until a function returns False.

        Args:
          predicate: A function of an element's tensors that returns a scalar bool.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(9).take_while(lambda x: x < 3)]
          [0, 1, 2]
        """
        return self._like(
            "_TakeWhileDataset",
            lambda: flows.take_while(self._start(), predicate),
            UNKNOWN_CARDINALITY,
        )

    def flat_map(self, map_func: Callable[..., Pipeline], name: str | None = None) -> Self:
        """Map each element to a dataset, and concatenate these datasets.

        Args:
          map_func: A function of an element's tensors that returns a `Dataset`.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          TypeError: While iterating, if ``map_func`` returns something else.

        Example:
          >>> data = tf.data.Dataset.range(4).flat_map(lambda n: tf.data.Dataset.range(n))
          >>> [int(x) for x in data]
          [0, 0, 1, 0, 1, 2]
        """
        dataset = self.interleave(map_func, 1, 1)
        dataset._kind = "_FlatMapDataset"
        return dataset

    def interleave(
        self,
        map_func: Callable[..., Pipeline],
        cycle_length: IntLike | None = None,
        block_length: IntLike | None = None,
        num_parallel_calls: object = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Map each element to a dataset, and interleave the elements of these datasets.

        Args:
          map_func: A function of an element's tensors that returns a `Dataset`.
          cycle_length: The number of datasets to interleave; default: the number of cores.
          block_length: The number of consecutive elements of a dataset; default: 1.
          num_parallel_calls: Not used.
          deterministic: Not used.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          TypeError: While iterating, if ``map_func`` returns something else.

        Example:
          >>> make = lambda n: tf.data.Dataset.from_tensors(n).repeat(2)
          >>> [int(x) for x in tf.data.Dataset.range(3).interleave(make, cycle_length=2)]
          [0, 1, 0, 1, 2, 2]
        """
        cycle = os.cpu_count() or 1
        if cycle_length not in (None, AUTOTUNE):
            cycle = check_int("cycle_length", cycle_length)
        block = 1 if block_length is None else check_int("block_length", block_length)
        if cycle < 1 or block < 1:
            raise InvalidArgumentError("`cycle_length` and `block_length` must be positive.")

        def open_dataset(element: Any) -> Iterable[Any]:
            dataset = call(map_func, element)
            if not isinstance(dataset, Pipeline):
                raise TypeError(
                    f"The `map_func` argument must return a `Dataset` object. Got "
                    f"{type(dataset).__name__}."
                )
            return dataset._start()

        def spec() -> Any:
            for element in self._start():
                return call(map_func, element).element_spec
            return call(map_func, elements.zeros_like(self.element_spec)).element_spec

        return self._make(
            "_InterleaveDataset",
            lambda: flows.interleave(self._start(), open_dataset, cycle, block),
            UNKNOWN_CARDINALITY,
            spec,
        )

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Self:
        """Apply a function that carries a state from element to element.

        Args:
          initial_state: A nest of tensors.
          scan_func: A function ``(state, element) -> (new state, output element)``.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> data = tf.data.Dataset.range(4).scan(np.int64(0), lambda s, x: (s + x, s + x))
          >>> [int(x) for x in data]
          [0, 1, 3, 6]
        """
        state = as_element(initial_state)

        def start() -> Iterable[Any]:
            return flows.scan(self._start(), state, scan_func)

        def spec() -> Any:
            for element in start():
                return spec_of(element)
            zeros = [elements.zeros_like(self.element_spec)]
            return spec_of(next(flows.scan(zeros, state, scan_func)))

        return self._make("_ScanDataset", start, self._count, spec)


tell(Dataset, "data.Dataset")
tell(Iterator, "data.Iterator")
