"""Elements through a user's functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Self

from ..errors import InvalidArgumentError
from ..tensor_spec import TensorSpec
from . import elements, flows
from .elements import as_element, call, map_leaves, spec_of
from .pipeline import AUTOTUNE, UNKNOWN_CARDINALITY, Pipeline, check_int


class Functions(Pipeline):
    """Transformations by functions."""

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: Any = None,
        use_unbounded_threadpool: Any = False,
        name: str | None = None,
    ) -> Self:
        """What a function gives of each element.

        Args:
          map_func: A function of an element's tensors; those of a tuple are their own arguments.
          num_parallel_calls: Accepted for TensorFlow's sake: it runs in the iterating thread.
          deterministic: Also.
          synchronous: Also.
          use_unbounded_threadpool: Also.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: If ``map_func`` is no function.

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

        return self._make(
            "_MapDataset",
            lambda: map(apply, self._start()),
            self._count,
            lambda: self._result_spec(apply),
        )

    def _result_spec(self, apply: Callable[[Any], Any]) -> Any:
        """The spec of a function's result for the first element, or for zeros if there is none."""
        for element in self._start():
            return _relax_spec(spec_of(apply(element)), self.element_spec)
        return spec_of(apply(elements.zeros_like(self.element_spec)))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """The elements for which a function gives True.

        Args:
          predicate: A function of an element's tensors that gives a scalar bool.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          ValueError: While iterating: if it gives something else.

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
        """The elements up to the first one for which a function gives False.

        Args:
          predicate: A function of an element's tensors that gives a scalar bool.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Example:
          >>> [int(x) for x in tf.data.Dataset.range(9).take_while(lambda x: x < 3)]
          [0, 1, 2]
        """
        return self._like(
            "_TakeWhileDataset",
            lambda: flows.taken_while(self._start(), predicate),
            UNKNOWN_CARDINALITY,
        )

    def flat_map(self, map_func: Callable[..., Pipeline], name: str | None = None) -> Self:
        """The elements of the datasets that a function gives, one after another.

        Args:
          map_func: A function of an element's tensors that gives a `Dataset`.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          TypeError: While iterating: if it gives something else.

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
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """The elements of the datasets that a function gives, of several in turn.

        Args:
          map_func: A function of an element's tensors that gives a `Dataset`.
          cycle_length: How many of them are gone through side by side: without, as many as there
            are cores.
          block_length: How many elements of each come in a row: without, one.
          num_parallel_calls: Accepted for TensorFlow's sake.
          deterministic: Also.
          name: Not used.

        Returns:
          A `Dataset` of unknown length.

        Raises:
          TypeError: While iterating: if it gives something else.

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
        """What ``scan_func(state, element)`` gives besides the next state.

        Args:
          initial_state: A nest of tensors.
          scan_func: Gives the new state and an element.
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


def _relax_spec(result: Any, source: Any) -> Any:
    """What a function gave of one element: where its elements vary in size, its result may."""
    unknown = any(
        one.shape is None or None in tuple(one.shape)
        for one in elements.leaves(source)
        if isinstance(one, TensorSpec)
    )
    if not unknown:
        return result
    return map_leaves(
        lambda one: (
            TensorSpec([None] * len(one.shape), one.dtype)
            if isinstance(one, TensorSpec) and one.shape is not None
            else one
        ),
        result,
    )
