"""Which elements come, how often, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator as Elements
from itertools import chain, islice, repeat
from typing import Any, Self

from ..core.values.dtypes import repr_of
from ..errors import InvalidArgumentError
from . import elements, flows
from .pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Draws, Pipeline, check_int, least
from .sources import Sources


class Order(Sources):
    """Transformations that leave elements as they are."""

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Self:
        """The elements in random order: each is drawn from the next ``buffer_size`` ones.

        With a seed, here or of `random.set_seed`, a run of a program repeats itself; the order is
        another one than TensorFlow's.

        Args:
          buffer_size: From how many elements one is drawn; all of them, if that is as many.
          seed: An integer.
          reshuffle_each_iteration: Whether each iteration has an order of its own.
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
        return self._like(
            "_ShuffleDataset",
            lambda: flows.shuffle(self._start(), size, draws.generator()),
            self._count,
        )

    def repeat(self, count: Any = None, name: str | None = None) -> Self:
        """The elements, so many times.

        Args:
          count: How often; None or -1 without end.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(2).repeat(2)]
          [0, 1, 0, 1]
        """
        times = -1 if count is None else check_int("count", count)

        def start() -> Elements[Any]:
            for _ in repeat(None) if times < 0 else range(times):
                empty = True
                for element in self._start():
                    empty = False
                    yield element
                if empty:
                    return

        total = self._count * times if self._count >= 0 and times >= 0 else self._count
        if times < 0 and self._count > 0:
            total = INFINITE_CARDINALITY
        return self._like("_RepeatDataset", start, 0 if times == 0 else total)

    def take(self, count: Any, name: str | None = None) -> Self:
        """The first elements.

        Args:
          count: How many; all if it is negative.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(5).take(2)]
          [0, 1]
        """
        many = check_int("count", count)
        if many < 0:
            return self._like("_TakeDataset", self._start, self._count)
        total = least([self._count, many])
        return self._like("_TakeDataset", lambda: islice(self._start(), many), total)

    def skip(self, count: Any, name: str | None = None) -> Self:
        """The elements after the first ones.

        Args:
          count: How many are left out; all if it is negative.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(5).skip(3)]
          [3, 4]
        """
        many = check_int("count", count)
        if many < 0:
            return self._like("_SkipDataset", lambda: (), 0)
        total = self._count if self._count < 0 else max(self._count - many, 0)
        return self._like("_SkipDataset", lambda: islice(self._start(), many, None), total)

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Self:
        """Every ``num_shards``-th element, beginning with number ``index``.

        Args:
          num_shards: How many parts there are.
          index: Which one.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          InvalidArgumentError: If ``index`` is not that of a part.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(7).shard(3, 1)]
          [1, 4]
        """
        parts, at = check_int("num_shards", num_shards), check_int("index", index)
        if parts < 1:
            raise InvalidArgumentError(f"Number of shards must be greater than zero, got {parts}.")
        if not 0 <= at < parts:
            raise InvalidArgumentError(
                f"Index must be between 0 and {parts - 1} (currently index = {at})."
            )
        total = self._count if self._count < 0 else len(range(at, self._count, parts))
        return self._like("_ShardDataset", lambda: islice(self._start(), at, None, parts), total)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Self:
        """Pairs of a number and an element.

        Args:
          start: The first number.
          name: Not used.

        Returns:
          A `Dataset` of pairs, the first an int64 tensor of shape ().

        Example:
          >>> [(int(k), int(x)) for k, x in tf.data.Dataset.range(5, 7).enumerate(1)]
          [(1, 5), (2, 6)]
        """
        return self.zip(self.counter(check_int("start", start)), self)

    def concatenate(self, dataset: Pipeline, name: str | None = None) -> Self:
        """The elements, then those of another dataset.

        Args:
          dataset: A dataset of elements of the same structure and dtypes.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: If it is no dataset, or structures or dtypes differ.

        Example:
          >>> data = tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(5, 7))
          >>> [int(x) for x in data]
          [0, 1, 5, 6]
        """
        if not isinstance(dataset, Pipeline):
            raise TypeError(f"`dataset` is a Dataset, not {repr_of(dataset)}.")
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
        """Each element when it comes for the first time.

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
        """The elements, kept in memory once all of them have been read.

        Args:
          filename: Empty: files are not written.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          NotImplementedError: If there is a filename.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(3).cache()]
          [0, 1, 2]
        """
        if filename:
            raise NotImplementedError("Elements are kept in memory only: `cache()`.")
        complete: list[list[Any]] = []

        def start() -> Iterable[Any]:
            return complete[0] if complete else gone_through()

        def gone_through() -> Elements[Any]:
            elements: list[Any] = []
            for element in self._start():
                elements.append(element)
                if len(elements) == self._count and not complete:
                    complete.append(elements)  # the caller need not ask for one more
                yield element
            if not complete:
                complete.append(elements)

        return self._like("CacheDataset", start, self._count)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Self:
        """The elements as they are: nothing runs ahead in another thread.

        Args:
          buffer_size: Accepted for TensorFlow's sake.
          name: Not used.

        Returns:
          A `Dataset`.

        Example:
          >>> len(tf.data.Dataset.range(3).prefetch(tf.data.AUTOTUNE))
          3
        """
        return self._like("_PrefetchDataset", self._start, self._count)
