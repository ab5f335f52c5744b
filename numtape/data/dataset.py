"""`Dataset`: sources of elements, and transformations that select, order, group and map them."""

from __future__ import annotations

import os
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..compat.missing_names import tell
from ..core.log.as_tensor import as_tensor
from ..core.log.log import local
from ..core.ops.random import new_stream
from ..core.values.dtypes import as_dtype, int64, repr_of
from ..errors import InvalidArgumentError, UnimplementedError
from ..tensor_spec import TensorSpec
from . import elements, padding, saving, stages
from .ahead import Ahead, ParallelMap
from .elements import as_arrays, as_element, call, map_leaves, spec_of
from .pipeline import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Draws,
    Iterator,
    Pipeline,
    check_int,
    is_peeking,
    least,
)
from .stages import (
    Cached,
    Chained,
    Chosen,
    Counter,
    Distinct,
    Grouped,
    Interleaved,
    Items,
    Mapped,
    Memory,
    Piped,
    RandomNumbers,
    Rebatched,
    Repeated,
    Resampled,
    Sampled,
    Scanned,
    Shuffled,
    Stage,
    Strided,
    TakenWhile,
    Unbatched,
    Windows,
    WithoutErrors,
    Zipped,
)
from .structure import DatasetSpec

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, NumberLike

    PathLike = str | os.PathLike[str]

PREFETCHED = 2  # elements to compute in advance, unless the program says how many


def _as_tuple(shapes: Any) -> Any:
    """Convert a list of shapes to a tuple, to match a tuple of dtypes."""
    return tuple(shapes) if isinstance(shapes, list) else shapes


def variant(cls: type[Dataset], parts: list[Any], spec: Any) -> Any:
    """Return a dataset of a list of elements, such as a window."""
    dataset = cls._make("_VariantDataset", lambda: Items(parts), len(parts), spec)
    dataset._parts = parts
    return dataset


def _check_sources(datasets: Iterable[Any]) -> list[Any]:
    """Return several datasets as a list.

    Raises:
      ValueError: If the list is empty.
      TypeError: If an item is not a dataset, or known specs are not compatible.
    """
    sources = list(datasets)
    if not sources:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    for source in sources:
        if not isinstance(source, Dataset):
            raise TypeError(f"Invalid `datasets`. Expected datasets, got {repr_of(source)}.")
    if all(source._known_spec() is not None for source in sources):
        _common_spec(sources)
    return sources


def _common_spec(sources: list[Any]) -> Any:
    """Return the most specific spec that covers the elements of several datasets.

    Raises:
      TypeError: If structures or dtypes differ.
    """
    spec = sources[0].element_spec
    for k, source in enumerate(sources[1:], 1):
        try:
            spec = elements.common(spec, source.element_spec)
        except TypeError:
            raise TypeError(
                f"Invalid `datasets`. `datasets` must have compatible element specs.\n Dataset 0 "
                f"element_spec={sources[0].element_spec}.\nDataset {k} "
                f"element_spec={source.element_spec}."
            ) from None
    return spec


def _as_dataset(value: Any, label: str) -> Any:
    """Return a function's result, which must be a dataset.

    Raises:
      TypeError: If it is none.
    """
    if not isinstance(value, Pipeline):
        raise TypeError(
            f"The `{label}` argument must return a `Dataset` object. Got {type(value).__name__}."
        )
    return value


def composite_batch(parts: Any) -> Any:
    """Stack sparse or ragged tensors."""
    from .composites import batch

    return batch(parts)


def _check_batch_size(batch_size: IntLike) -> int:
    size = check_int("batch_size", batch_size)
    if size <= 0:
        raise InvalidArgumentError("Batch size must be greater than zero. [Op:BatchDataset]")
    return size


def _count_batches(count: int, size: int, drop_remainder: object) -> int:
    if count < 0:
        return count
    return count // size if drop_remainder else -(-count // size)


def _check_threads(num_parallel_calls: IntLike | None) -> int:
    """Return the number of threads.

    Raises:
      InvalidArgumentError: If it is not positive.
    """
    if num_parallel_calls is None:
        return 1
    number = check_int("num_parallel_calls", num_parallel_calls)
    if number == AUTOTUNE:
        return os.cpu_count() or 1
    if number < 1:
        raise InvalidArgumentError("num_parallel_calls must be greater than zero.")
    return number


def start_ahead(
    source: Iterable[Any],
    make: Callable[[Any, int], Stage],
    make_here: Callable[[Any], Stage] | None = None,
) -> Iterable[Any]:
    """Start a stage that computes elements in other threads.

    In a recorded call, and to infer a spec, elements are computed in this thread.

    Args:
      source: The stage's source.
      make: A function from the source and the number of a stream of random draws to the stage.
      make_here: A function from the source to the stage in this thread; default: the source.
    """
    if is_peeking() or local.log.token is not None:
        return source if make_here is None else make_here(source)
    return make(source, new_stream())


def _relax_spec(result: Any, source: Any) -> Any:
    """Drop the sizes of a function's result spec if the source's elements vary in size."""
    has_unknown_size = any(
        leaf.shape.rank is None or None in tuple(leaf.shape)
        for leaf in elements.leaves(source)
        if type(leaf) is TensorSpec
    )
    if not has_unknown_size:
        return result
    return map_leaves(
        lambda leaf: (
            TensorSpec([None] * len(leaf.shape), leaf.dtype)
            if type(leaf) is TensorSpec and leaf.shape.rank is not None
            else leaf
        ),
        result,
    )


class Dataset(Pipeline):
    """A sequence of elements, which are nests of tensors; each loop iterates from the start.

    Create one with `from_tensor_slices` etc.; each transformation returns a new dataset. Tuples,
    namedtuples and dicts are nests, a list is a tensor. Functions are called eagerly with an
    element's tensors (a tuple is unpacked into arguments) when the element is needed, or before, in
    other threads: see `prefetch`, and ``num_parallel_calls`` of `map` and `interleave`.

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
        if isinstance(tensors, list) and tensors and isinstance(tensors[0], Pipeline):
            return variant(cls, tensors, DatasetSpec(_common_spec(tensors)))  # type: ignore[no-any-return]
        arrays = as_arrays(tensors)
        spec = map_leaves(elements.without_first_axis, spec_of(arrays))
        parts = elements.leaves(arrays)
        sizes = [int(x.shape[0]) for x in parts if x is not None]
        for size in sizes[1:]:
            if size != sizes[0]:
                raise ValueError(f"Dimensions {sizes[0]} and {size} are not compatible")
        if not sizes:
            raise ValueError("from_tensor_slices requires at least one tensor.")
        order = range(sizes[0])
        if not all(isinstance(x, np.ndarray) for x in parts):  # sparse or ragged

            def rows(k: int) -> Any:
                return map_leaves(lambda x: elements.row(x, k), arrays)

            return cls._make(
                "_TensorSliceDataset", lambda: Mapped(Items(order), rows), sizes[0], spec
            )
        dataset = cls._make("_TensorSliceDataset", lambda: Items(order), sizes[0], spec)
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
        return cls._make("_TensorDataset", lambda: Items([arrays]), 1, spec_of(arrays))

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
            types: Any = output_types
            if isinstance(types, list):
                raise TypeError(
                    f"Cannot convert the argument `type_value`: {types} to a TensorFlow DType: use "
                    f"a tuple."
                )
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
            lambda: stages.generate(generator, values, spec),
            UNKNOWN_CARDINALITY,
            spec,
            is_computed=True,
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
          ValueError: If the number of arguments is not 1 to 3.
          InvalidArgumentError: If the step is 0.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(5, 0, -2)]
          [5, 3, 1]
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`. Must have 1 to 3 values, got {len(args)}.")
        limits = [check_int("args", x) for x in args]
        if len(limits) == 3 and not limits[2]:
            raise InvalidArgumentError("step must be a non-zero integer. [Op:RangeDataset]")
        numbers = range(*limits)
        dtype = as_dtype(output_type)
        make = dtype.as_numpy_dtype
        return cls._make(
            "_RangeDataset",
            lambda: Mapped(Items(numbers), make),
            len(numbers),
            TensorSpec((), dtype),
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
            lambda: Mapped(Counter(start, step), make),
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
        return cls._make(
            "_RandomDataset",
            lambda: RandomNumbers(draws),
            INFINITE_CARDINALITY,
            TensorSpec((), int64),
        )

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

        def join(values: tuple[Any, ...]) -> Any:
            remaining_values = iter(values)
            return map_leaves(lambda _: next(remaining_values), nest)

        def start() -> Stage:
            return Zipped([part._start() for part in parts], join)

        def spec() -> Any:
            return map_leaves(lambda part: part.element_spec, nest)

        counts = [part._count for part in parts]
        return cls._make("_ZipDataset", start, least(counts), spec, tuple(parts))

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
        sources = _check_sources(datasets)
        draws = Draws(seed, bool(rerandomize_each_iteration))
        chances: list[float] | Dataset
        if isinstance(weights, Dataset):
            chances = weights
        else:
            chances = [1.0] * len(sources) if weights is None else [*np.asarray(weights, float)]
            if len(chances) != len(sources):
                raise ValueError(
                    f"Invalid `weights`. `weights` should have the same length as `datasets` but "
                    f"got `len(weights)={len(chances)}` vs. `len(datasets)={len(sources)}`."
                )
            sources = [source for source, w in zip(sources, chances, strict=True) if w] or sources
            chances = [w for w in chances if w] or chances
            if len(sources) == 1:
                return sources[0]  # type: ignore[no-any-return]

        def start() -> Stage:
            parts = [source._start() for source in sources]
            weight = chances._start() if isinstance(chances, Dataset) else chances
            return Sampled(parts, weight, draws, stop_on_empty_dataset)

        is_infinite = any(source._count == INFINITE_CARDINALITY for source in sources)
        total = INFINITE_CARDINALITY if is_infinite else UNKNOWN_CARDINALITY
        return cls._make(
            "_DirectedInterleaveDataset",
            start,
            total,
            lambda: _common_spec(sources),
            tuple(sources),
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
        sources = _check_sources(datasets)
        if not isinstance(choice_dataset, Pipeline):
            raise TypeError(
                f"`choice_dataset` should be a `tf.data.Dataset` but is {repr_of(choice_dataset)}."
            )
        spec = choice_dataset.element_spec
        if not (isinstance(spec, TensorSpec) and spec.is_compatible_with(TensorSpec((), int64))):
            raise TypeError(
                f"Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` "
                f"tensors but are {spec}."
            )

        def start() -> Stage:
            parts = [source._start() for source in sources]
            return Chosen(parts, choice_dataset._start(), stop_on_empty_dataset)

        return cls._make(
            "_DirectedInterleaveDataset",
            start,
            UNKNOWN_CARDINALITY,
            lambda: _common_spec(sources),
            (*sources, choice_dataset),
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
        return self._reorder(
            "_ShuffleDataset",
            lambda: Shuffled(self._start_items(), size, draws),
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

        total = self._count * repetitions if self._count >= 0 and repetitions >= 0 else self._count
        if repetitions < 0 and self._count:
            total = INFINITE_CARDINALITY
        return self._reorder(
            "_RepeatDataset",
            lambda: Repeated(self._start_items, repetitions),
            0 if repetitions == 0 else total,
        )

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
            return self._reorder("_TakeDataset", self._start_items, self._count)
        total = least([self._count, element_count])
        return self._reorder(
            "_TakeDataset", lambda: Strided(self._start_items(), 0, element_count), total
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
            return self._like("_SkipDataset", lambda: Items([]), 0)
        total = self._count if self._count < 0 else max(self._count - element_count, 0)
        return self._reorder(
            "_SkipDataset", lambda: Strided(self._start_items(), element_count, None), total
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
            raise InvalidArgumentError(
                f"Number of shards must be greater than zero (currently num_shards = {parts})."
            )
        if not 0 <= shard_index < parts:
            raise InvalidArgumentError(
                f"Index must be between 0 and {parts - 1} (currently index = {shard_index})."
            )
        total = self._count if self._count < 0 else len(range(shard_index, self._count, parts))
        return self._reorder(
            "_ShardDataset",
            lambda: Strided(self._start_items(), shard_index, None, parts),
            total,
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
            lambda: Chained([self._start, dataset._start]),
            total,
            elements.common(self.element_spec, dataset.element_spec),
            (self, dataset),
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
        return self._like("_UniqueDataset", lambda: Distinct(self._start()), UNKNOWN_CARDINALITY)

    def cache(self, filename: str = "", name: str | None = None) -> Self:
        """Store the elements in the first complete iteration, in memory or in a file.

        Args:
          filename: The path of the file, which later programs use too; "" for memory.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(3).cache()]
          [0, 1, 2]
        """
        path = os.fspath(elements.as_text(filename))
        if path:
            return self._like(
                "CacheDataset",
                lambda: saving.FileCached(self._start, path, self._count),
                self._count,
                True,
            )
        store = Memory()
        return self._reorder(
            "CacheDataset", lambda: Cached(self._start_items, store, self._count), self._count
        )

    def prefetch(self, buffer_size: IntLike | None, name: str | None = None) -> Self:
        """Compute elements in another thread, before they are needed.

        The thread starts when an element takes long (more than half a millisecond) and a function,
        a generator or a file takes part in it. It ends when the iterator is dropped. Errors are
        raised where the element is requested. Functions run outside of tapes, and draw random
        numbers from a sequence of their own, which `random.set_seed` restarts.

        Args:
          buffer_size: The number of elements to compute in advance; `AUTOTUNE` or None for a few.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``buffer_size`` is negative.

        Example:
          >>> len(tf.data.Dataset.range(3).prefetch(tf.data.AUTOTUNE))
          3
        """
        size = AUTOTUNE if buffer_size is None else check_int("buffer_size", buffer_size)
        if size < AUTOTUNE:
            raise InvalidArgumentError(
                "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning "
                "[Op:PrefetchDataset]"
            )
        if not self._is_computed or not size:
            return self._reorder("_PrefetchDataset", self._start_items, self._count)
        length = PREFETCHED if size == AUTOTUNE else size
        return self._like(
            "_PrefetchDataset",
            lambda: start_ahead(self._start(), lambda stage, n: Ahead(stage, length, n)),
            self._count,
        )

    # Batches and windows.

    def batch(
        self,
        batch_size: IntLike,
        drop_remainder: bool = False,
        num_parallel_calls: IntLike | None = None,
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
        kind = "_BatchDataset" if num_parallel_calls is None else "_ParallelBatchDataset"
        size = _check_batch_size(batch_size)

        known_spec = self._known_spec()
        join: Any = elements.batch
        if known_spec is not None and any(
            map(elements.is_composite_spec, elements.leaves(known_spec))
        ):
            join = elements.batch_as(known_spec, lambda _, parts: composite_batch(parts))

        def start() -> Iterable[Any]:
            if self._arrays is None:
                return Piped(self._start(), stages.batches, size, drop_remainder, join)
            join_items = partial(stages.batch_of_slices, self._arrays)
            return Piped(self._start_items(), stages.batches, size, drop_remainder, join_items)

        def spec() -> Any:
            return elements.batch_spec(self.element_spec, size if drop_remainder else None)

        count = _count_batches(self._count, size, drop_remainder)
        return self._make(kind, start, count, spec, (self,))

    def ragged_batch(
        self,
        batch_size: IntLike,
        drop_remainder: bool = False,
        row_splits_dtype: DTypeLike = int64,
        name: str | None = None,
    ) -> Self:
        """Stack consecutive elements of different sizes to ragged tensors.

        Components of equal shapes are stacked to dense tensors, as by `batch`.

        Args:
          batch_size: The number of elements in a batch.
          drop_remainder: Whether to drop a smaller last batch.
          row_splits_dtype: The dtype of the splits, int32 or int64.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``batch_size`` is not positive.

        Example:
          >>> data = tf.data.Dataset.range(3).map(lambda n: tf.fill([n], n))
          >>> data.ragged_batch(3).get_single_element()
          <tf.RaggedTensor [[], [1], [2, 2]]>
        """
        size = _check_batch_size(batch_size)

        def spec() -> Any:
            from .composites import ragged_batch_spec

            length = size if drop_remainder else None
            return map_leaves(
                lambda one: ragged_batch_spec(one, length, row_splits_dtype), self.element_spec
            )

        def join(group: list[Any]) -> Any:
            from .composites import stack_as

            return elements.batch_as(
                dataset.element_spec, lambda one, parts: stack_as(one, parts, row_splits_dtype)
            )(group)

        dataset = self._make(
            "_RaggedBatchDataset",
            lambda: Piped(self._start(), stages.batches, size, drop_remainder, join),
            _count_batches(self._count, size, drop_remainder),
            spec,
            (self,),
        )
        return dataset

    def sparse_batch(self, batch_size: IntLike, row_shape: Any, name: str | None = None) -> Self:
        """Stack consecutive elements of different sizes to sparse tensors of all their values.

        Args:
          batch_size: The number of elements in a batch.
          row_shape: The shape of a row; None or -1 in it for the largest size in the batch.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: If elements are no single tensors.
          InvalidArgumentError: If ``batch_size`` is not positive; while iterating, if an element
            exceeds the row's shape.

        Example:
          >>> data = tf.data.Dataset.range(1, 3).map(lambda n: tf.fill([n], n))
          >>> batch = data.sparse_batch(2, [3]).get_single_element()
          >>> tf.sparse.to_dense(batch).numpy().tolist()
          [[1, 0, 0], [2, 2, 0]]
        """
        size = _check_batch_size(batch_size)
        sizes = padding.parse_shape(row_shape)
        if sizes is None:
            raise ValueError("`row_shape` must have a known rank.")
        shape = sizes

        def join(group: list[Any]) -> Any:
            from .composites import to_sparse

            if not elements.is_leaf(group[0]):
                raise TypeError("`sparse_batch` requires elements that are single tensors.")
            return to_sparse([np.asarray(elements.as_array(x)) for x in group], shape)

        def spec() -> Any:
            from ..composites.type_specs import SparseTensorSpec

            return SparseTensorSpec([None, *shape], self.element_spec.dtype)

        return self._make(
            "_DenseToSparseBatchDataset",
            lambda: Piped(self._start(), stages.batches, size, False, join),
            _count_batches(self._count, size, False),
            spec,
            (self,),
        )

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
          TypeError: If a padding value has another dtype than its component.
          ValueError: If a padded shape has another rank, or is smaller than the component's shape.
          DataLossError: While iterating, if an element exceeds its padded shape.

        Example:
          >>> data = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
          >>> data.padded_batch(3).get_single_element().numpy().tolist()
          [[1, 0, 0], [2, 2, 0], [3, 3, 3]]
        """
        size = _check_batch_size(batch_size)
        parsed: list[Any] = []  # the sizes and values, once a spec is known
        known_spec = self._known_spec()
        if known_spec is not None:
            padding.check_spec(known_spec, padded_shapes)
            parsed += padding.parse(known_spec, padded_shapes, padding_values)

        def join(group: list[Any]) -> Any:
            if not parsed:
                padding.check_spec(spec_of(group[0]), padded_shapes)
                spec = map_leaves(padding.without_sizes, spec_of(group[0]))
                parsed.extend(padding.parse(spec, padded_shapes, padding_values))
            return padding.pad_batch(group, *parsed)

        return self._make(
            "_PaddedBatchDataset",
            lambda: Piped(self._start(), stages.batches, size, drop_remainder, join),
            _count_batches(self._count, size, drop_remainder),
            lambda: padding.batch_spec(
                self.element_spec,
                padding.parse(self.element_spec, padded_shapes, None)[0],
                size if drop_remainder else None,
            ),
            (self,),
        )

    def rebatch(
        self,
        batch_size: IntLike | Iterable[IntLike],
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Change the batch size of a dataset of batches.

        Args:
          batch_size: The new number of elements in a batch; or several numbers, for batches in
            turn.
          drop_remainder: Whether to drop a smaller last batch.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [len(x) for x in tf.data.Dataset.range(5).batch(3).rebatch(2)]
          [2, 2, 1]
        """
        sizes = [int(n) for n in np.asarray(elements.as_array(batch_size)).ravel()]
        if not sizes or min(sizes) < 0 or not any(sizes):
            raise InvalidArgumentError(f"`batch_size` must be positive, got {sizes}.")
        known_spec = self._known_spec()
        length = None if known_spec is None else elements.first_size(known_spec)
        is_divisible = length is not None and length % sizes[0] == 0 if sizes[0] else False
        is_constant = len(set(sizes)) == 1 and (drop_remainder or is_divisible)
        constant = sizes[0] if is_constant else None

        def spec() -> Any:
            return map_leaves(
                lambda one: elements.with_first_axis(elements.without_first_axis(one), constant),
                self.element_spec,
            )

        return self._make(
            "_RebatchDataset",
            lambda: Rebatched(Unbatched(self._start()), sizes, drop_remainder, elements.batch),
            UNKNOWN_CARDINALITY,
            spec,
            (self,),
        )

    def unbatch(self, name: str | None = None) -> Self:
        """Split elements into slices along their first axis.

        Args:
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: If a component is a scalar, or first sizes differ.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(3).batch(2).unbatch()]
          [0, 1, 2]
        """
        spec = self._known_spec()
        count = self._count if self._count <= 0 else UNKNOWN_CARDINALITY
        if spec is not None:
            size = elements.first_size(spec)
            if size is not None and self._count >= 0:
                count = self._count * size
        return self._make(
            "_UnbatchDataset",
            lambda: Unbatched(self._start()),
            count,
            lambda: map_leaves(elements.without_first_axis, self.element_spec),
            (self,),
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
        for label, number in (("size", window_size), ("shift", window_shift), ("stride", step)):
            if number < 1:
                raise InvalidArgumentError(f"Window {label} must be greater than zero.")

        def datasets(group: list[Any]) -> Any:
            spec = self.element_spec
            parts = [elements.leaves(element) for element in group]
            numbers = iter(range(len(parts[0])))

            def column(one: Any) -> Any:
                k = next(numbers)
                return variant(type(self), [part[k] for part in parts], one)

            return map_leaves(column, spec)

        def start() -> Stage:
            windows = Windows(self._start(), window_size, window_shift, step, bool(drop_remainder))
            return Mapped(windows, datasets)

        total = self._count
        if total >= 0:
            span = (window_size - 1) * step + 1
            total = len(range(0, total - span + 1 if drop_remainder else total, window_shift))
        return self._make(
            "_WindowDataset",
            start,
            total,
            lambda: map_leaves(DatasetSpec, self.element_spec),
            (self,),
        )

    # Transformations that take a function.

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        synchronous: object = None,
        use_unbounded_threadpool: object = False,
        name: str | None = None,
    ) -> Self:
        """Apply a function to each element.

        With ``num_parallel_calls``, a function that takes long (more than half a millisecond) runs
        in several threads, outside of tapes; see `prefetch`. The order of elements does not change.
        Threads help where a function waits, or computes outside of Python.

        Args:
          map_func: A function of an element's tensors; a tuple is unpacked into arguments.
          num_parallel_calls: The number of threads; `AUTOTUNE` for the number of cores. Default:
            functions run in the iterating thread.
          deterministic: Not used: the order is always that of the elements.
          synchronous: Not used.
          use_unbounded_threadpool: Not used.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: If ``map_func`` is not callable.
          InvalidArgumentError: If ``num_parallel_calls`` is not positive.

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

        def start_mapped() -> Iterable[Any]:
            if self._arrays is None:
                return Mapped(self._start(), apply)
            return Mapped(Piped(self._start_items(), stages.slice_tensors, self._arrays), apply)

        def start() -> Iterable[Any]:
            if num_parallel_calls is None:
                return start_mapped()
            limit = self.options().threading.private_threadpool_size or threads
            number = min(threads, limit)
            return start_ahead(
                self._start(),
                lambda stage, n: ParallelMap(stage, apply, number, n),
                lambda stage: Mapped(stage, apply),
            )

        threads = _check_threads(num_parallel_calls)
        kind = "_MapDataset" if num_parallel_calls is None else "_ParallelMapDataset"
        return self._make(kind, start, self._count, lambda: self._result_spec(apply), (self,), True)

    def _result_spec(self, apply: Callable[[Any], Any]) -> Any:
        """Return the spec of a function's results.

        It is that of the first two elements, where sizes that differ are None; of zeros if there is
        no element.
        """
        specs = [spec_of(apply(element)) for element in islice(self._start(), 2)]
        if not specs:
            return spec_of(apply(elements.zeros_like(self.element_spec)))
        return _relax_spec(elements.common(specs[0], specs[-1]), self.element_spec)

    def _known_spec(self) -> Any:
        """Return the element spec if it is known without calling functions, else None."""
        if self._has_spec or not self._is_computed:
            return self.element_spec
        return None

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
            lambda: Piped(self._start(), stages.filter_elements, predicate),
            UNKNOWN_CARDINALITY,
            True,
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
            lambda: TakenWhile(self._start(), predicate),
            UNKNOWN_CARDINALITY,
            True,
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
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Map each element to a dataset, and interleave the elements of these datasets.

        Args:
          map_func: A function of an element's tensors that returns a `Dataset`.
          cycle_length: The number of datasets to interleave; default: the number of cores.
          block_length: The number of consecutive elements of a dataset; default: 1.
          num_parallel_calls: Any number, or `AUTOTUNE`: elements of the datasets are computed in
            other threads, one for each, if they take long; see `prefetch`.
          deterministic: Not used: the order never depends on threads.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          InvalidArgumentError: If a number is not positive.
          TypeError: While iterating, if ``map_func`` returns something else.

        Example:
          >>> make = lambda n: tf.data.Dataset.from_tensors(n).repeat(2)
          >>> [int(x) for x in tf.data.Dataset.range(3).interleave(make, cycle_length=2)]
          [0, 1, 0, 1, 2, 2]
        """
        _check_threads(num_parallel_calls)
        cycle = os.cpu_count() or 1
        if cycle_length not in (None, AUTOTUNE):
            cycle = check_int("cycle_length", cycle_length)
        block = 1 if block_length is None else check_int("block_length", block_length)
        for label, number in (("cycle_length", cycle), ("block_length", block)):
            if number < 1:
                raise InvalidArgumentError(f"{label} must be greater than zero.")

        def open_dataset(element: Any) -> Iterable[Any]:
            dataset = _as_dataset(call(map_func, element), "map_func")
            if num_parallel_calls is None or not dataset._is_computed:
                return dataset._start()  # type: ignore[no-any-return]
            size = max(block, PREFETCHED)
            return start_ahead(dataset._start(), lambda stage, n: Ahead(stage, size, n))

        def spec() -> Any:
            for element in self._start():
                return _as_dataset(call(map_func, element), "map_func").element_spec
            return call(map_func, elements.zeros_like(self.element_spec)).element_spec

        kind = "_InterleaveDataset"
        if num_parallel_calls is not None:
            kind = "_ParallelInterleaveDataset"
        return self._make(
            kind,
            lambda: Interleaved(self._start(), open_dataset, cycle, block),
            UNKNOWN_CARDINALITY,
            spec,
            (self,),
            True,
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
            return Scanned(self._start(), state, scan_func)

        def spec() -> Any:
            for element in start():
                return spec_of(element)
            zeros = Items([elements.zeros_like(self.element_spec)])
            return spec_of(next(iter(Scanned(zeros, state, scan_func))))

        return self._make("_ScanDataset", start, self._count, spec, (self,), True)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, Any], Pipeline],
        window_size: IntLike | None = None,
        window_size_func: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """Group elements by a key, and reduce windows of elements with the same key.

        Args:
          key_func: A function of an element's tensors that returns an int64 scalar.
          reduce_func: A function of a key and a dataset of at most ``window_size`` elements that
            returns a `Dataset`, whose elements are those of the result.
          window_size: The number of elements in a window.
          window_size_func: A function from a key to the size of its windows, instead of
            ``window_size``.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          ValueError: If not exactly one of ``window_size`` and ``window_size_func`` is given, or,
            while iterating, if a key is not an integer scalar.
          InvalidArgumentError: While iterating, if a size is not positive.

        Example:
          >>> data = tf.data.Dataset.range(6).group_by_window(
          ...     lambda x: x % 2, lambda key, window: window.batch(2), window_size=2)
          >>> [x.numpy().tolist() for x in data]
          [[0, 2], [1, 3], [4], [5]]
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be "
                "specified."
            )
        constant = 0 if window_size is None else check_int("window_size", window_size)

        def key_of(element: Any) -> int:
            key = as_tensor(call(key_func, element))
            if key.ndim or not key.dtype.is_integer:
                raise ValueError(
                    f"Invalid `key_func`. `key_func` must return a single `tf.int64` scalar tensor "
                    f"but its return type is {spec_of(key)}."
                )
            return int(key)

        def size_of(key: int) -> int:
            size = constant
            if window_size_func is not None:
                size = int(as_tensor(window_size_func(as_tensor(np.int64(key)))))
            if size < 1:
                raise InvalidArgumentError(
                    f"Window size must be greater than zero, but got {size}."
                )
            return size

        def reduce(key: int, group: list[Any]) -> Pipeline:
            window = variant(Dataset, group, self.element_spec)
            result = reduce_func(as_tensor(np.int64(key)), window)
            return _as_dataset(result, "reduce_func")  # type: ignore[no-any-return]

        def spec() -> Any:
            for element in self._start():
                return reduce(key_of(element), [element]).element_spec
            zeros = elements.zeros_like(self.element_spec)
            return reduce(key_of(zeros), [zeros]).element_spec

        def start() -> Stage:
            return Grouped(
                self._start(), key_of, lambda key, group: reduce(key, group)._start(), size_of
            )

        is_infinite = self._count == INFINITE_CARDINALITY
        count = INFINITE_CARDINALITY if is_infinite else UNKNOWN_CARDINALITY
        return self._make("_GroupByWindowDataset", start, count, spec, (self,), True)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Batch elements of similar length.

        Args:
          element_length_func: A function of an element's tensors that returns its length, an int.
          bucket_boundaries: The lengths at which a new bucket starts, in ascending order.
          bucket_batch_sizes: The batch size of each bucket: one more than boundaries.
          padded_shapes: See `padded_batch`.
          padding_values: See `padded_batch`.
          pad_to_bucket_boundary: Whether unknown sizes are padded to the bucket's boundary minus
            1, and not only to the largest in the batch.
          no_padding: Whether elements of a batch must have equal shapes.
          drop_remainder: Whether to drop smaller last batches.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          ValueError: If the numbers of sizes and boundaries do not match.
          InvalidArgumentError: While iterating, if ``pad_to_bucket_boundary`` and an element is at
            least as long as the last boundary.

        Example:
          >>> data = tf.data.Dataset.range(1, 6).map(lambda n: tf.fill([n], n))
          >>> data = data.bucket_by_sequence_length(len, [3], [2, 2])
          >>> [x.numpy().tolist() for x in data]
          [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]], [[5, 5, 5, 5, 5]]]
        """
        boundaries, sizes = [*bucket_boundaries], [*bucket_batch_sizes]
        if len(sizes) != len(boundaries) + 1:
            raise ValueError(
                f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(sizes)}` and "
                f"`len(bucket_boundaries)={len(boundaries)}`."
            )

        def key_of(*parts: Any) -> Any:
            length = int(as_tensor(element_length_func(*parts)))
            return np.int64(bisect_right(boundaries, length))

        def shapes_of(key: int, window: Dataset) -> Any:
            if not pad_to_bucket_boundary:
                return padded_shapes
            spec = window.element_spec
            for element in window._parts or ():
                spec = elements.common(spec, spec_of(element))
            shapes = padded_shapes
            if shapes is None:
                shapes = map_leaves(
                    lambda one: None if one.shape.rank is None else list(one.shape), spec
                )
            if key == len(boundaries):
                raise InvalidArgumentError(
                    "When pad_to_bucket_boundary=True, elements must have length < "
                    "max(bucket_boundaries)."
                )
            parsed, _ = padding.parse(spec, shapes, None)
            filled = iter(
                [
                    None if one is None else [boundaries[key] - 1 if n is None else n for n in one]
                    for one in parsed
                ]
            )
            return map_leaves(lambda _: next(filled), spec)

        def reduce(key: Any, window: Dataset) -> Dataset:
            number = int(key)
            if no_padding:
                return window.batch(sizes[number], drop_remainder=drop_remainder)
            shapes = shapes_of(number, window)
            return window.padded_batch(sizes[number], shapes, padding_values, drop_remainder)

        def size_of(key: Any) -> int:
            return int(sizes[int(key)])

        return self.group_by_window(key_of, reduce, window_size_func=size_of)

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: IntLike | None = None,
        name: str | None = None,
    ) -> Self:
        """Drop elements at random, so that classes occur with given probabilities.

        Args:
          class_func: A function of an element's tensors that returns its class, an int.
          target_dist: The probability of each class.
          initial_dist: The probability of each class before; default: an estimate from the elements
            so far.
          seed: An integer.
          name: Not used.

        Returns:
          A `Dataset` of pairs of a class and an element, of unknown length.

        Raises:
          ValueError: If the distributions are not vectors of the same length.
          InvalidArgumentError: While iterating, if a class is out of range.

        Example:
          >>> data = tf.data.Dataset.range(1000)
          >>> data = data.rejection_resample(lambda x: x // 900, [0.5, 0.5], [0.9, 0.1], seed=1)
          >>> classes = [int(c) for c, x in data]
          >>> bool(0.3 < sum(classes) / len(classes) < 0.7)
          True
        """
        target = np.asarray(elements.as_array(target_dist), np.float64)
        initial = None
        if initial_dist is not None:
            initial = np.asarray(elements.as_array(initial_dist), np.float64)
        if target.ndim != 1 or (initial is not None and initial.shape != target.shape):
            raise ValueError(
                f"`target_dist` and `initial_dist` must be vectors of the same length, got shapes "
                f"{target.shape} and {None if initial is None else initial.shape}."
            )
        draws = Draws(seed, True)

        def class_of(element: Any) -> Any:
            return elements.as_array(as_tensor(call(class_func, element)))

        def spec() -> Any:
            zeros = elements.zeros_like(self.element_spec)
            return TensorSpec((), as_dtype(class_of(zeros).dtype)), self.element_spec

        return self._make(
            "_RejectionResampleDataset",
            lambda: Resampled(self._start(), class_of, target, initial, draws),
            UNKNOWN_CARDINALITY,
            spec,
            (self,),
            True,
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Self:
        """Skip elements whose computation raises an error.

        Args:
          log_warning: Whether to warn of each error.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Example:
          >>> data = tf.data.Dataset.from_tensor_slices([1, 0, 2])
          >>> [int(x) for x in data.map(lambda x: 6 // int(x)).ignore_errors()]
          [6, 3]
        """

        def warn(error: Exception) -> None:
            warnings.warn(f"Error raised with error message {error}", stacklevel=2)

        return self._like(
            "_IgnoreErrorsDataset",
            lambda: WithoutErrors(self._start(), warn if log_warning else None),
            UNKNOWN_CARDINALITY,
        )

    # Files.

    @classmethod
    def list_files(
        cls,
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: IntLike | None = None,
        name: str | None = None,
    ) -> Self:
        """Create a dataset of the names of files that match patterns.

        Args:
          file_pattern: A pattern with ``*``, ``?`` and ``[...]``, or several.
          shuffle: Whether each iteration has another order; default: True.
          seed: An integer.
          name: Not used.

        Returns:
          A `Dataset` of strings.

        Raises:
          InvalidArgumentError: If no file matches.

        Example:
          >>> import pathlib, tempfile
          >>> folder = pathlib.Path(tempfile.mkdtemp())
          >>> for name in ("b.txt", "a.txt"):
          ...     _ = (folder / name).write_text("")
          >>> data = tf.data.Dataset.list_files(f"{folder}/*.txt", shuffle=False)
          >>> [pathlib.Path(x.decode()).name for x in data.as_numpy_iterator()]
          ['a.txt', 'b.txt']
        """
        import glob

        patterns = elements.as_texts(file_pattern)
        paths = sorted({path for pattern in patterns for path in glob.glob(pattern)})
        if not paths:
            raise InvalidArgumentError(f"No files matched pattern: {', '.join(patterns)}")
        dataset = cls.from_tensor_slices(paths)
        return dataset if shuffle is False else dataset.shuffle(len(paths), seed)

    def save(
        self,
        path: PathLike,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: object = None,
    ) -> None:
        """Write the elements to a folder, for `load`.

        The format is numtape's own; TensorFlow cannot read it.

        Args:
          path: The folder, which is created. A dataset in it is replaced.
          compression: Not used: files are always compressed.
          shard_func: A function of an element's tensors that returns the number of its file.
          checkpoint_args: Must be None.

        Raises:
          UnimplementedError: If ``checkpoint_args`` is not None, or elements are not nests of
            tensors.
          OSError: If a file cannot be written.

        Example:
          >>> import tempfile
          >>> folder = tempfile.mkdtemp()
          >>> tf.data.Dataset.range(3).save(folder)
          >>> [int(x) for x in tf.data.Dataset.load(folder)]
          [0, 1, 2]
        """
        if checkpoint_args is not None:
            raise UnimplementedError(
                "checkpoint_args must be None: call `save` again if it was interrupted."
            )
        folder = os.fspath(elements.as_text(path))
        saving.save(self._start(), self.element_spec, folder, shard_func)

    @classmethod
    def load(
        cls,
        path: PathLike,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[Any], Pipeline] | None = None,
        wait: bool = False,
    ) -> Self:
        """Read the elements that `save` has written.

        Args:
          path: The folder.
          element_spec: The expected spec of the elements, or None.
          compression: Not used.
          reader_func: A function from a dataset of datasets, one for each file, to the result;
            default: interleaved.
          wait: Must be False.

        Returns:
          A `Dataset`.

        Raises:
          NotFoundError: If there is no saved dataset.
          ValueError: If the elements have another spec.
          UnimplementedError: If ``wait`` is True.

        Example:
          >>> import tempfile
          >>> folder = tempfile.mkdtemp()
          >>> tf.data.Dataset.from_tensor_slices({"x": [1, 2]}).save(folder)
          >>> tf.data.Dataset.load(folder).element_spec
          {'x': TensorSpec(shape=(), dtype=tf.int32, name=None)}
        """
        if wait:
            raise UnimplementedError("wait must be False: `save` returns when all is written.")
        folder = os.fspath(elements.as_text(path))
        spec = saving.load_spec(folder)
        if element_spec is not None and element_spec != spec:
            raise ValueError(f"The elements in {folder} have the spec {spec}, not {element_spec}.")
        shards = [
            cls._make(
                "_ShardDataset",
                partial(saving.ElementFile, shard_path),
                saving.count_elements(shard_path),
                spec,
                is_computed=True,
            )
            for shard_path in saving.shard_paths(folder)
        ]
        if reader_func is not None:
            datasets = variant(cls, shards, DatasetSpec(spec))
            result: Any = _as_dataset(reader_func(datasets), "reader_func")
            return result  # type: ignore[no-any-return]
        numbers = cls.range(len(shards))
        dataset = numbers.interleave(lambda k: shards[int(k)])
        dataset._count = sum(shard._count for shard in shards)
        dataset._spec, dataset._has_spec, dataset._kind = spec, True, "_LoadDataset"
        return dataset

    def snapshot(
        self,
        path: PathLike,
        compression: str = "AUTO",
        reader_func: object = None,
        shard_func: object = None,
        name: str | None = None,
    ) -> Self:
        """Store the elements in a folder in the first complete iteration, and read them later.

        Args:
          path: The folder, which later programs use too.
          compression: Not used: files are always compressed.
          reader_func: Must be None.
          shard_func: Must be None.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          UnimplementedError: If ``reader_func`` or ``shard_func`` is not None.

        Example:
          >>> import tempfile
          >>> folder = tempfile.mkdtemp()
          >>> data = tf.data.Dataset.range(3).snapshot(folder)
          >>> [int(x) for x in data], [int(x) for x in tf.data.Dataset.range(9).snapshot(folder)]
          ([0, 1, 2], [0, 1, 2])
        """
        if reader_func is not None or shard_func is not None:
            raise UnimplementedError(
                "A snapshot is one file: use `save` with shard_func, and `load` with reader_func."
            )
        folder = os.fspath(elements.as_text(path))
        os.makedirs(folder, exist_ok=True)
        dataset = self.cache(os.path.join(folder, "snapshot"))
        dataset._kind = "_SnapshotDataset"
        return dataset


elements.Flow._make_window = staticmethod(partial(variant, Dataset))
tell(Dataset, "data.Dataset")
tell(Iterator, "data.Iterator")
