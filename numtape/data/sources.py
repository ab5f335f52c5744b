"""Where elements come from: arrays, generators, numbers, other datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator as Elements
from itertools import count
from typing import Any, Self

import numpy as np

from ..core.values.dtypes import as_dtype, int64
from ..tensor_spec import TensorSpec
from . import elements, flows
from .elements import as_arrays, map_leaves, spec_of
from .pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Draws, Pipeline, check_int, least


class Sources(Pipeline):
    """The functions that make a dataset."""

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Self:
        """The parts of tensors along their first axis.

        Args:
          tensors: A nest of tensors or arrays of the same first size. Arrays are copied.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: If a tensor has no axis, or first sizes differ.

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
            raise ValueError("from_tensor_slices needs at least one tensor.")
        return cls._make(
            "_TensorSliceDataset", lambda: flows.slices(arrays, sizes[0]), sizes[0], spec
        )

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Self:
        """One element.

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
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Self:
        """What a generator yields; it is called again for each iteration.

        Args:
          generator: A function that gives an iterable.
          output_types: A nest of dtypes, if there is no ``output_signature``.
          output_shapes: A nest of shapes beside it.
          args: Values that ``generator`` is called with, as arrays.
          output_signature: A nest of `TensorSpec`: what each element is like.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          TypeError: If ``generator`` is no function, or neither types nor a signature are given.
            While iterating: if an element does not fit.

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
            types = tuple(output_types) if isinstance(output_types, list) else output_types
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
    def range(cls, *args: Any, output_type: Any = int64, name: str | None = None) -> Self:
        """Integers from a start up to a limit, as Python's `range`.

        Args:
          *args: A limit; or a start, a limit and perhaps a step.
          output_type: The dtype of the elements.
          name: Not used.

        Returns:
          A `Dataset` of tensors of shape ().

        Raises:
          TypeError: If one is not an integer.
          ValueError: If there are not one to three arguments, or the step is 0.

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
        cls, start: int = 0, step: int = 1, dtype: Any = int64, name: str | None = None
    ) -> Self:
        """Integers without end.

        Args:
          start: The first one.
          step: What is added each time.
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
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Random integers of 32 bits without end, other ones than TensorFlow's.

        Args:
          seed: An integer; with it the same numbers come each time.
          rerandomize_each_iteration: Whether each iteration has others.
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
                yield from random.integers(0, 2**32, flows.BLOCK, np.int64)

        return cls._make("_RandomDataset", start, INFINITE_CARDINALITY, TensorSpec((), int64))

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Self:
        """Elements of several datasets side by side, as long as each has one.

        Args:
          *args: Datasets, or one nest of them.
          datasets: A nest of datasets, instead.
          name: Not used.

        Returns:
          A `Dataset` whose elements are nests of elements.

        Raises:
          TypeError: If there is something else than datasets.

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
                places = iter(values)
                yield map_leaves(lambda _, places=places: next(places), nest)

        def spec() -> Any:
            return map_leaves(lambda part: part.element_spec, nest)

        counts = [part._count for part in parts]
        return cls._make("_ZipDataset", start, least(counts), spec)

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Any,
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Self:
        """Elements of datasets that are drawn at random.

        Args:
          datasets: A list of datasets of like elements.
          weights: How likely each is; the same for all without.
          seed: An integer.
          stop_on_empty_dataset: Whether it ends where the first dataset drawn has no more.
          rerandomize_each_iteration: Whether each iteration draws again.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          ValueError: If there is no dataset, or not a weight for each.

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
            raise ValueError("Invalid `weights`. Their number must be that of `datasets`.")
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
        cls, datasets: Any, choice_dataset: Pipeline, stop_on_empty_dataset: bool = True
    ) -> Self:
        """Elements of the datasets that another dataset names by number.

        Args:
          datasets: A list of datasets of like elements.
          choice_dataset: A dataset of int64 scalars.
          stop_on_empty_dataset: Whether it ends where a dataset chosen has no more.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          ValueError: If there is no dataset. While iterating: if a number names none.

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


def _as_tuple(shapes: Any) -> Any:
    """Shapes for a tuple of dtypes, whether they came in a list or a tuple."""
    return tuple(shapes) if isinstance(shapes, list) else shapes
