"""Several elements as one, and one as several."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, Self

from ..errors import InvalidArgumentError
from ..tensor_spec import TensorSpec
from . import elements, flows
from .elements import map_leaves, spec_of
from .pipeline import UNKNOWN_CARDINALITY, Pipeline, check_int


class Groups(Pipeline):
    """Batches and windows."""

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """So many elements at a time, stacked along a new first axis.

        Args:
          batch_size: How many.
          drop_remainder: Whether a last batch that is smaller is left out.
          num_parallel_calls: Accepted for TensorFlow's sake.
          deterministic: Also.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``batch_size`` is not positive. While iterating: if shapes differ
            (see `padded_batch`).

        Example:
          >>> [x.numpy().tolist() for x in tf.data.Dataset.range(5).batch(2)]
          [[0, 1], [2, 3], [4]]
        """
        return self._batch("_BatchDataset", batch_size, drop_remainder, elements.batch, True)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """So many elements at a time, filled up to the same shape, and stacked.

        Args:
          batch_size: How many.
          padded_shapes: For each component a shape, where None or -1 stands for the largest of the
            batch; without, that is so for all axes.
          padding_values: What to fill up with: 0 without.
          drop_remainder: Whether a last batch that is smaller is left out.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``batch_size`` is not positive.
          DataLossError: While iterating: if an element is larger than its shape.

        Example:
          >>> data = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
          >>> data.padded_batch(3).get_single_element().numpy().tolist()
          [[1, 0, 0], [2, 2, 0], [3, 3, 3]]
        """

        def join(group: list[Any]) -> Any:
            return elements.pad_batch(group, padded_shapes, padding_values)

        return self._batch("_PaddedBatchDataset", batch_size, drop_remainder, join, False)

    def _batch(self, kind: str, size: Any, drop: Any, join: Any, same: bool) -> Self:
        many, drop = check_int("batch_size", size), bool(drop)
        if many <= 0:
            raise InvalidArgumentError("Batch size must be greater than zero. [Op:BatchDataset]")

        def spec() -> Any:
            if not same:
                return self._peek(dataset)
            return map_leaves(
                lambda one: elements.with_first_axis(one, many if drop else None),
                self.element_spec,
            )

        count = self._count
        if count >= 0:
            count = count // many if drop else -(-count // many)
        dataset = self._make(
            kind, lambda: flows.batches(self._start(), many, drop, join), count, spec
        )
        return dataset

    @staticmethod
    def _peek(dataset: Pipeline) -> Any:
        for element in dataset._start():
            return map_leaves(
                lambda one: TensorSpec([None] * len(one.shape), one.dtype), spec_of(element)
            )
        return None

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Self:
        """Batches of another size.

        Args:
          batch_size: How many elements each is to have.
          drop_remainder: Whether a last batch that is smaller is left out.
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
        """The parts of elements along their first axis.

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
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Datasets of so many elements each.

        Args:
          size: How many elements a window has.
          shift: How many elements later the next one begins: ``size`` without.
          stride: How far apart its elements are.
          drop_remainder: Whether windows that have fewer are left out.
          name: Not used.

        Returns:
          A `Dataset` of nests of datasets.

        Example:
          >>> [[int(x) for x in w] for w in tf.data.Dataset.range(5).window(3, 1, 1, True)]
          [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        many, step = check_int("size", size), check_int("stride", stride)
        later = many if shift is None else check_int("shift", shift)
        if min(many, later, step) < 1:
            raise InvalidArgumentError("`size`, `shift` and `stride` of a window must be positive.")

        def datasets(group: list[Any]) -> Any:
            spec = self.element_spec
            parts = [elements.leaves(element) for element in group]
            numbers = count()
            return map_leaves(
                lambda one: (
                    _variant(self, [p[k] for p in parts], one)
                    if (k := next(numbers)) >= 0
                    else None
                ),
                spec,
            )

        def start() -> Iterable[Any]:
            windows = flows.windows(self._start(), many, later, step, bool(drop_remainder))
            return map(datasets, windows)

        total = self._count
        if total >= 0:
            span = (many - 1) * step + 1
            total = len(range(0, total - span + 1 if drop_remainder else total, later))
        return self._make(
            "_WindowDataset",
            start,
            total,
            lambda: map_leaves(lambda one: _variant(self, [], one), self.element_spec),
        )


def _variant(like: Any, parts: list[Any], spec: Any) -> Any:
    """The dataset of a window."""
    return like._make("_VariantDataset", lambda: parts, len(parts), spec)
