"""`Pipeline`: the base class of datasets, and `Iterator`.

Iterating starts the stages of the pipeline (`stages`), which compute one element at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator as Elements
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..core.log.as_tensor import as_tensor
from ..core.log.log import local
from ..core.ops.random import STATE
from ..core.values import arguments
from ..core.values.composite import Composite
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError, OutOfRangeError
from ..tensor_spec import TensorSpec
from . import elements, positions, stages
from .elements import as_element, as_tensors, map_leaves
from .options import Options
from .source import Source, element_of, isolate, read_in
from .stages import Counted, Piped, Stage
from .structure import DatasetSpec, IteratorSpec, Optional

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2

Start = Callable[[], Iterable[Any]]


class Iterator:
    """An iterator over the elements of a dataset.

    `train.Checkpoint` saves and restores its position.

    Args:
      dataset: A `Dataset`.

    Example:
      >>> iterator = iter(tf.data.Dataset.range(2))
      >>> iterator.get_next().numpy(), next(iterator).numpy()
      (np.int64(0), np.int64(1))
    """

    def __init__(self, dataset: Pipeline) -> None:
        self._dataset = dataset
        self._token = local.log.token
        self._source = Source(dataset._start())

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Tensor | Any:
        token = local.log.token
        if token is not None and token is not self._token:
            return element_of(self._source)
        return as_tensors(next(self._source))

    def get_next(self) -> Tensor | Any:
        """Return the next element.

        Returns:
          A nest of tensors.

        Raises:
          OutOfRangeError: At the end of the dataset.

        Example:
          >>> iter(tf.data.Dataset.from_tensors(5)).get_next()
          <tf.Tensor: shape=(), dtype=int32, numpy=5>
        """
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("End of sequence [Op:IteratorGetNext]") from None

    def get_next_as_optional(self) -> Optional:
        """Return the next element as an `Optional`, which is empty at the end of the dataset.

        Returns:
          An `Optional`.

        Example:
          >>> iterator = iter(tf.data.Dataset.from_tensors(5))
          >>> [bool(iterator.get_next_as_optional().has_value()) for _ in range(2)]
          [True, False]
        """
        try:
            element = next(self)
        except StopIteration:
            return Optional.empty(self.element_spec)
        return Optional.from_value(element)

    @property
    def element_spec(self) -> Any:
        """The spec of an element: a nest of `TensorSpec`."""
        return self._dataset.element_spec

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self.element_spec)

    def _nt_position(self) -> bytes:
        """Return the position, to be saved."""
        return positions.encode(self._source.state())

    def _nt_continue(self, source: Source) -> None:
        """Continue with the result of `_nt_start_at`."""
        self._source = source

    def _nt_start_at(self, data: bytes) -> Source:
        """Return a source at a saved position.

        Raises:
          DataLossError: If the data is damaged, or belongs to another dataset.
        """
        position = positions.decode(data)
        source = Source(self._dataset._start())
        source.restore(position)
        return source


class NumpyIterator:
    """An iterator over the elements of a dataset as NumPy values; see `as_numpy_iterator`.

    Args:
      dataset: A `Dataset`.

    Example:
      >>> iterator = tf.data.Dataset.range(3).as_numpy_iterator()
      >>> position = (next(iterator), iterator.save())[1]
      >>> next(iterator), (iterator.restore(position), next(iterator))[1]
      (np.int64(1), np.int64(1))
    """

    def __init__(self, dataset: Pipeline) -> None:
        self._dataset = dataset
        self._source = Source(dataset._start())

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        return map_leaves(_as_numpy, next(self._source))

    def next(self) -> Any:
        """Return the next element.

        Returns:
          A nest of NumPy values.

        Raises:
          StopIteration: At the end of the dataset.

        Example:
          >>> tf.data.Dataset.range(3).as_numpy_iterator().next()
          np.int64(0)
        """
        return next(self)

    def save(self) -> bytes:
        """Return the position as bytes.

        Returns:
          Bytes, for `restore`.

        Example:
          >>> type(tf.data.Dataset.range(3).as_numpy_iterator().save())
          <class 'bytes'>
        """
        return positions.encode(self._source.state())

    def restore(self, state: bytes) -> None:
        """Set the position.

        Args:
          state: The result of `save`.

        Raises:
          DataLossError: If it is damaged, or belongs to another dataset.

        Example:
          >>> iterator = tf.data.Dataset.range(3).as_numpy_iterator()
          >>> state = iterator.save()
          >>> next(iterator), iterator.restore(state), next(iterator)
          (np.int64(0), None, np.int64(0))
        """
        source = Source(self._dataset._start())
        source.restore(positions.decode(state))
        self._source = source


class Pipeline(elements.Flow):
    """Base class of `Dataset`: a function that starts an iteration, the length, and the spec.

    The elements may be slices of arrays in some order. Then a batch is one copy of rows.
    """

    _begin: Start
    _kind: str
    _count: int
    _spec: Any  # or a function that returns it
    _has_spec: bool
    _inputs: tuple[Pipeline, ...] = ()
    _own_options: Options | None = None
    _is_computed = False  # whether elements take a function, a generator or a file to make
    _arrays: Any = None  # the arrays whose slices are the elements, if they are slices
    _order: Start  # starts an iteration over indices of slices; see `_start_items`
    _token: Any  # identifies the recorded call that created it, if any
    _waiting: list[Source]  # started for calls that did not use them

    def __init__(self) -> None:
        raise TypeError(
            "Create a Dataset with Dataset.from_tensor_slices, from_tensors, from_generator, range "
            "or zip."
        )

    @classmethod
    def _make(
        cls,
        kind: str,
        start: Start,
        count: int,
        spec: Any,
        inputs: tuple[Pipeline, ...] = (),
        is_computed: bool = False,
    ) -> Self:
        """Create a dataset; ``spec`` is the elements' spec, or a function that returns it."""
        dataset = object.__new__(cls)
        dataset._kind, dataset._begin, dataset._count, dataset._spec = kind, start, count, spec
        dataset._token, dataset._waiting = local.log.token, []
        dataset._inputs = inputs
        dataset._has_spec = not callable(spec)
        dataset._is_computed = is_computed or any(one._is_computed for one in inputs)
        return dataset

    def _like(self, kind: str, start: Start, count: int, is_computed: bool = False) -> Self:
        """Create a dataset with the same element spec."""
        return self._make(kind, start, count, lambda: self.element_spec, (self,), is_computed)

    def _reorder(self, kind: str, start: Start, count: int) -> Self:
        """Create a dataset of the same elements in another order.

        ``start`` selects from the items of `_start_items`, which it must not change.
        """
        if self._arrays is None:
            return self._like(kind, start, count)
        return self._like(kind, start, count)._as_slices(self._arrays)

    def _as_slices(self, arrays: Any) -> Self:
        """Make the dataset one of slices of arrays, whose order it has so far."""
        self._arrays, self._order = arrays, self._begin
        order = self._begin
        self._begin = lambda: Piped(order(), stages.slices, arrays)
        return self

    def _start_items(self) -> Iterable[Any]:
        """Start an iteration over the indices of slices, if elements are slices of arrays.

        An item is an element, not an int, if elements are no slices, or were read ahead for a
        recorded call.
        """
        token = local.log.token
        is_outside = token is not None and token is not self._token
        if self._arrays is None or is_outside or self._waiting:
            return self._start()
        return self._order()

    def _start(self) -> Iterable[Any]:
        """Start an iteration over the elements.

        In a call being recorded, a dataset from outside the call is read again in each replay.
        """
        token = local.log.token
        if token is not None and token is not self._token:
            return read_in(token, local.log.start_reader(self))
        if self._waiting:
            return self._waiting.pop(0)
        source = self._begin()
        return source if isinstance(source, Stage) else Counted(lambda: source)

    def _reader(self) -> Source:
        """Return a reader of the elements for a call that is recorded or replayed."""
        with isolate():
            return Source(self._start())

    def _drop_leftovers(self, sources: list[Source]) -> None:
        """Take back unused readers; the next iterations use them."""
        self._waiting = [*sources, *self._waiting]

    def __iter__(self) -> Iterator:
        return Iterator(self)

    def as_numpy_iterator(self) -> NumpyIterator:
        """Iterate over the elements as nests of NumPy values.

        Returns:
          A `NumpyIterator`.

        Example:
          >>> list(tf.data.Dataset.range(2).as_numpy_iterator())
          [np.int64(0), np.int64(1)]
        """
        return NumpyIterator(self)

    @property
    def element_spec(self) -> Any:
        """The spec of an element: a nest of `TensorSpec`.

        Results of functions are inferred by calling them with the first element.
        """
        if not self._has_spec:
            with peek():
                self._spec = self._spec()
            self._has_spec = True
        return self._spec

    def _dataset_spec(self) -> DatasetSpec:
        return DatasetSpec(self.element_spec)

    def cardinality(self) -> Tensor:
        """Return the number of elements.

        Returns:
          An int64 tensor of shape (): -1 (INFINITE_CARDINALITY) if infinite, -2
          (UNKNOWN_CARDINALITY) if only iterating can tell.

        Example:
          >>> tf.data.Dataset.range(10).batch(4).cardinality().numpy()
          np.int64(3)
        """
        return as_tensor(np.int64(self._count))

    def __len__(self) -> int:
        if self._count == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if self._count == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return self._count

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self._kind} element_spec={self.element_spec}>"

    def reduce(
        self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: str | None = None
    ) -> Any:
        """Reduce the elements to a state: ``state = reduce_func(state, element)``.

        Args:
          initial_state: A nest of tensors.
          reduce_func: A function ``(state, element) -> new state``.
          name: Not used.

        Returns:
          A nest of tensors.

        Raises:
          TypeError: If the new state has another structure, or other dtypes.

        Example:
          >>> tf.data.Dataset.range(5).reduce(np.int64(0), lambda x, y: x + y).numpy()
          np.int64(10)
        """
        state = as_tensors(as_element(initial_state))
        spec = elements.spec_of(state)
        is_checked = False
        for element in self._start():
            state = as_tensors(as_element(reduce_func(state, as_tensors(element))))
            if not is_checked:
                _check_state(spec, elements.spec_of(state))
                is_checked = True
        return state

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element.

        Args:
          name: Not used.

        Returns:
          A nest of tensors.

        Raises:
          InvalidArgumentError: If the dataset does not have exactly one element.

        Example:
          >>> tf.data.Dataset.range(6).batch(6).get_single_element().numpy()
          array([0, 1, 2, 3, 4, 5])
        """
        items = list(islice(self._start(), 2))
        if len(items) != 1:
            raise InvalidArgumentError(
                f"Dataset {'was empty' if not items else 'had more than one element'}."
            )
        return as_tensors(items[0])

    def options(self) -> Options:
        """Return the options of the dataset: those of its inputs, and its own.

        Returns:
          `Options`, which cannot be changed.

        Example:
          >>> tf.data.Dataset.range(3).options().deterministic is None
          True
        """
        options = Options()
        for one in self._inputs:
            options = options.merge(one.options())
        if self._own_options is not None:
            options = options.merge(self._own_options)
        return options._freeze()

    def with_options(self, options: Options, name: str | None = None) -> Self:
        """Return the dataset with options, which override those that it has.

        Args:
          options: `Options`.
          name: Not used.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: If ``options`` are no `Options`.

        Example:
          >>> options = tf.data.Options()
          >>> options.deterministic = False
          >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
          False
        """
        if not isinstance(options, Options):
            raise TypeError(f"`options` must be a tf.data.Options, got {options!r}.")
        dataset = self._reorder("_OptionsDataset", self._start_items, self._count)
        dataset._own_options = Options().merge(options)
        return dataset

    def apply(self, transformation_func: Callable[[Any], Any]) -> Pipeline:
        """Apply a function to this dataset.

        Args:
          transformation_func: A function from a `Dataset` to a `Dataset`.

        Returns:
          The function's result.

        Raises:
          TypeError: If the result is not a dataset.

        Example:
          >>> len(tf.data.Dataset.range(6).apply(lambda data: data.batch(2)))
          3
        """
        dataset = transformation_func(self)
        if not isinstance(dataset, Pipeline):
            raise TypeError(
                "`transformation_func` must return a `tf.data.Dataset` object. "
                f"Got {type(dataset)}."
            )
        return dataset


def _check_state(initial: Any, spec: Any) -> None:
    """Check that a new state has the structure and dtypes of the initial one."""

    def check(old: Any, new: Any) -> None:
        if isinstance(old, TensorSpec) and old.dtype is not new.dtype:
            raise TypeError(
                f"The element types for the new state must match the initial state. Expected "
                f"{old.dtype} but got {new.dtype}."
            )

    try:
        map_leaves(check, initial, spec)
    except ValueError:
        raise TypeError(
            f"The structure of the new state must match the initial state. Expected {initial} but "
            f"got {spec}."
        ) from None


class _Peek(threading.local):
    """Whether a thread reads a first element only to infer a spec."""

    is_active = False


_peek = _Peek()


@contextmanager
def peek() -> Elements[None]:
    """Infer specs in the block: orders and random numbers do not change for later iterations."""
    previous, _peek.is_active = _peek.is_active, True
    try:
        yield
    finally:
        _peek.is_active = previous


def is_peeking() -> bool:
    """Whether this thread reads elements only to infer a spec."""
    return _peek.is_active


class Draws:
    """The random generators of a dataset, one per iteration; optionally the same for all."""

    def __init__(self, seed: IntLike | None, varies: bool) -> None:
        local.log.refuse("it makes a dataset of random order or numbers")
        seed_of_program = STATE.seed
        with STATE.lock:
            if seed_of_program is not None and seed is None:
                STATE.draws += 1
            place = STATE.draws
        self.key: list[int] | None = None
        if seed is not None:
            self.key = [
                0 if seed_of_program is None else seed_of_program % 2**64,
                1,
                check_int("seed", seed) % 2**64,
            ]
        elif seed_of_program is not None:
            self.key = [seed_of_program % 2**64, 2, place]
        if self.key is None:  # drawn now: a restored iterator continues in the same order
            self.key = [int(np.random.SeedSequence().generate_state(1)[0])]
        self.varies = varies
        self._iterations = 0
        self._lock = threading.Lock()

    def generator(self) -> np.random.Generator:
        """Return the generator of the next iteration."""
        assert self.key is not None
        number = 0
        if self.varies:
            with self._lock:
                number = self._iterations
                self._iterations += not _peek.is_active
        return np.random.Generator(np.random.Philox(np.random.SeedSequence([*self.key, number])))

    def state(self) -> dict[str, Any]:
        """Return the key, and the number of iterations that have been started."""
        return {"key": self.key, "iterations": self._iterations}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue with the key and the next iteration of a saved position."""
        with self._lock:
            self.key, self._iterations = state["key"], state["iterations"]


def _as_numpy(x: Any) -> Any:
    """Convert a leaf to a NumPy value that does not share memory with the dataset."""
    if isinstance(x, Pipeline):
        return x.as_numpy_iterator()
    if isinstance(x, np.ndarray) and x.ndim:
        return x.copy()
    if isinstance(x, Composite):
        from .composites import as_numpy_value

        return as_numpy_value(x)
    array = elements.as_array(x)
    if isinstance(array, np.ndarray) and not array.ndim:
        return array[()]
    return array


def check_int(name: str, value: IntLike) -> int:
    """Convert an integer of Python, NumPy or a tensor to an int.

    Raises:
      TypeError: If the argument is not an integer.
      ValueError: If it exceeds int64.
    """
    return arguments.to_int(name, value.numpy() if isinstance(value, Tensor) else value)


def least(counts: list[int]) -> int:
    """Return the smallest of several cardinalities: 0, unknown, finite or infinite."""
    if 0 in counts:
        return 0
    if UNKNOWN_CARDINALITY in counts:
        return UNKNOWN_CARDINALITY
    known = [n for n in counts if n >= 0]
    return min(known) if known else INFINITE_CARDINALITY
