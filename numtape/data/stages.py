"""Stages: the iterators behind the transformations, whose positions can be saved.

A pipeline that is iterated is a tree of stages. `Stage.__iter__` continues from the position that
the stage's attributes describe, so an iteration that an error ended can go on, and `state` and
`restore` save and restore the position. Start with `Stage`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ..core.log.as_tensor import as_tensor
from ..core.log.string_tensor import of_strings
from ..core.values import dtypes
from ..core.values.spec import intern
from ..core.values.tensor import Tensor, of_array
from ..errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from . import elements
from .elements import as_array, as_element, call, map_leaves

RANDOM_BLOCK = 1024  # random numbers to draw at a time


class Stage:
    """An iterable over elements; iterating continues from the position in the attributes.

    Attributes:
      SAVED: The names of the attributes that describe the position: ints, bools, elements, or lists
        of elements. Stages change them before they yield.
      sources: The stages that this stage reads.
    """

    SAVED: ClassVar[tuple[str, ...]] = ()
    sources: Sequence[Iterable[Any]] = ()

    def __iter__(self) -> Iterator[Any]:
        """Continue from the position."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return the position: a nest of dicts, lists, numbers, and elements."""
        return {
            **{name: getattr(self, name) for name in self.SAVED},
            "sources": [state_of(source) for source in self.sources],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position, before iterating."""
        for name in self.SAVED:
            setattr(self, name, state[name])
        check_number(len(self.sources), len(state["sources"]))
        for source, part in zip(self.sources, state["sources"], strict=True):
            restore_state(source, part)


def state_of(source: Iterable[Any]) -> dict[str, Any]:
    """Return the position of a stage.

    Raises:
      UnimplementedError: If it is no stage: it reads a dataset of a recorded call.
    """
    if not isinstance(source, Stage):
        raise UnimplementedError(
            "An iterator created in a recorded function has no position to save: create it outside."
        )
    return source.state()


def restore_state(source: Iterable[Any], state: dict[str, Any]) -> None:
    """Set the position of a stage.

    Raises:
      UnimplementedError: If it is no stage.
      DataLossError: If the position belongs to another pipeline.
    """
    if not isinstance(source, Stage):
        state_of(source)
    else:
        try:
            source.restore(state)
        except (KeyError, TypeError, IndexError) as error:
            raise mismatch() from error


def check_number(expected: int, number: int) -> None:
    """Check the number of a position's parts.

    Raises:
      DataLossError: If it differs.
    """
    if number != expected:
        raise mismatch()


def mismatch() -> DataLossError:
    """Return the error for a position of another pipeline."""
    return DataLossError("The saved position belongs to an iterator of another dataset.")


class Items(Stage):
    """Items of a range or list."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items
        self._iterator: Any = iter(items)

    def __iter__(self) -> Iterator[Any]:
        return self._iterator  # type: ignore[no-any-return]

    def state(self) -> dict[str, Any]:
        """Return the position."""
        return {"position": len(self.items) - operator.length_hint(self._iterator)}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        self._iterator = islice_from(self.items, state["position"])


def islice_from(items: Sequence[Any], position: int) -> Iterator[Any]:
    """Return an iterator of a range or list from a position."""
    iterator: Any = iter(items)
    iterator.__setstate__(position)
    return iterator  # type: ignore[no-any-return]


class Counter(Stage):
    """Numbers ``start``, ``start + step``, ..."""

    SAVED = ("number",)

    def __init__(self, start: int, step: int) -> None:
        self.number, self._step = start, step

    def __iter__(self) -> Iterator[int]:
        while True:
            number = self.number
            self.number = number + self._step
            yield number


class Counted(Stage):
    """Elements of an iterable without a position: to restore, the first elements are skipped.

    Args:
      start: A function that returns the iterable.
    """

    SAVED = ("number",)

    def __init__(self, start: Callable[[], Iterable[Any]]) -> None:
        self._open, self.number = start, 0
        self._iterator: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = iter(self._open())
            for _ in islice(self._iterator, self.number):
                pass
        for element in self._iterator:
            self.number += 1
            yield element


class Mapped(Stage):
    """Results of a function of each element."""

    def __init__(self, source: Iterable[Any], function: Callable[[Any], Any]) -> None:
        self.sources, self._function = [source], function

    def __iter__(self) -> Iterator[Any]:
        return map(self._function, self.sources[0])


class Piped(Stage):
    """Elements of a generator function of the source, which keeps no position of its own."""

    def __init__(
        self, source: Iterable[Any], function: Callable[..., Iterator[Any]], *arguments: Any
    ) -> None:
        self.sources, self._function, self._arguments = [source], function, arguments

    def __iter__(self) -> Iterator[Any]:
        return self._function(self.sources[0], *self._arguments)


class Zipped(Stage):
    """Tuples of the elements of several sources."""

    def __init__(self, sources: Sequence[Iterable[Any]], join: Callable[[Any], Any]) -> None:
        self.sources, self._join = sources, join

    def __iter__(self) -> Iterator[Any]:
        return map(self._join, zip(*self.sources, strict=False))


class Chained(Stage):
    """Elements of several sources, one after another; each starts when the last one ends."""

    SAVED = ("number",)

    def __init__(self, starts: Iterable[Callable[[], Iterable[Any]]]) -> None:
        self._starts = list(starts)
        self.number = 0
        self.sources = []

    def __iter__(self) -> Iterator[Any]:
        while self.number < len(self._starts):
            if not self.sources:
                self.sources = [self._starts[self.number]()]
            yield from self.sources[0]
            self.number += 1
            self.sources = []

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        if state["sources"]:
            self.sources = [self._starts[state["number"]]()]
        super().restore(state)


class Repeated(Stage):
    """Elements of a source that is started again and again.

    Args:
      start: A function that starts the source.
      count: The number of times; -1 for endless repetition.
    """

    SAVED = ("number", "is_empty")

    def __init__(self, start: Callable[[], Iterable[Any]], count: int) -> None:
        self._open, self._count = start, count
        self.number, self.is_empty = 0, True
        self.sources = []

    def __iter__(self) -> Iterator[Any]:
        while self.number != self._count:
            if not self.sources:
                self.sources, self.is_empty = [self._open()], True
            for item in self.sources[0]:
                self.is_empty = False
                yield item
            self.number += 1
            self.sources = []
            if self.is_empty:
                self.number = self._count
                return

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        self.sources = [self._open() for _ in state["sources"]]
        super().restore(state)


class Strided(Stage):
    """Every ``step``-th element from ``start`` up to ``stop`` (None: to the end)."""

    SAVED = ("position",)

    def __init__(self, source: Iterable[Any], start: int, stop: int | None, step: int = 1) -> None:
        self.sources = [source]
        self._start, self._stop, self._step = start, stop, step
        self.position = 0  # the number of elements read

    def __iter__(self) -> Iterator[Any]:
        start, stop, step = self._start, self._stop, self._step
        position = self.position
        if stop is not None and position >= stop:
            return
        for item in self.sources[0]:
            self.position = position = position + 1
            if position > start and (step == 1 or not (position - 1 - start) % step):
                yield item
            if position == stop:
                return


def slices(items: Iterable[Any], arrays: Any) -> Iterator[Any]:
    """Yield the slices of arrays along their first axis; an item that is no int is an element."""
    if type(arrays) is tuple and all(map(elements.is_leaf, arrays)):  # the usual nest
        for item in items:
            yield tuple([x[item] for x in arrays]) if type(item) is int else item
    else:
        for item in items:
            yield map_leaves(lambda x, k=item: x[k], arrays) if type(item) is int else item


def slice_tensors(items: Iterable[Any], arrays: Any) -> Iterator[Any]:
    """Yield what `slices` does, as nests of tensors.

    They are copies: other libraries may write to a tensor's memory (PyTorch does, through DLPack).
    """
    if any(x.dtype.kind == "O" for x in elements.leaves(arrays)):  # strings
        yield from map(elements.as_tensors, slices(items, arrays))
        return
    arrays = map_leaves(np.ascontiguousarray, arrays)
    specs = map_leaves(_spec_of_slices, arrays)
    if type(arrays) is tuple and all(map(elements.is_leaf, arrays)):
        pairs = [*zip(arrays, specs, strict=True)]
        for item in items:
            if type(item) is int:
                yield tuple([_slice_tensor(x, spec, item) for x, spec in pairs])
            else:
                yield elements.as_tensors(item)
    else:
        for item in items:
            if type(item) is int:
                yield map_leaves(lambda x, spec, k=item: _slice_tensor(x, spec, k), arrays, specs)
            else:
                yield elements.as_tensors(item)


def _spec_of_slices(array: Any) -> Any:
    """Return the spec of an array's slices; None for strings."""
    is_string = array.dtype == object
    return None if is_string else intern(array.shape[1:], dtypes.of_array(array))


def _slice_tensor(array: Any, spec: Any, index: int) -> Any:
    """Return a slice of an array as a tensor."""
    return of_strings(array[index]) if spec is None else of_array(array[index].copy(), spec)


def batch_of_slices(arrays: Any, items: list[Any]) -> Any:
    """Return the batch of slices of arrays at some indices; see `slices`."""
    if not all(type(item) is int for item in items):
        return elements.batch([*slices(items, arrays)])
    index = np.array(items)
    return map_leaves(lambda x: x.take(index, 0), arrays)


class Shuffled(Stage):
    """Elements in random order, each drawn from a buffer of the next ``size`` ones.

    Args:
      source: The source.
      size: The size of the buffer.
      draws: The `Draws` of the dataset, which start a generator here.
    """

    SAVED = ("buffer", "is_draining")

    def __init__(self, source: Iterable[Any], size: int, draws: Any) -> None:
        self.sources, self._size, self._draws = [source], size, draws
        self.random = draws.generator()
        self.buffer: list[Any] = []
        self.is_draining = False
        self._numbers: list[float] = []  # random numbers to use, from the end
        self._block_state: Any = None  # of the generator before it drew these

    def __iter__(self) -> Iterator[Any]:
        buffer, numbers = self.buffer, self._numbers
        if not self.is_draining:
            iterator = iter(self.sources[0])
            buffer.extend(islice(iterator, self._size - len(buffer)))
            for element in iterator:
                if not numbers:
                    self._block_state = self.random.bit_generator.state
                    numbers.extend(self.random.random(RANDOM_BLOCK).tolist())
                k = int(numbers.pop() * len(buffer))
                drawn, buffer[k] = buffer[k], element
                yield drawn
            order = self.random.permutation(len(buffer))[::-1]
            buffer[:] = [buffer[k] for k in order]
            self.is_draining = True
        while buffer:
            yield buffer.pop()

    def state(self) -> dict[str, Any]:
        """Return the position: the buffer, and the state of the random generators."""
        numbers = len(self._numbers)
        before_block = self._block_state if numbers else self.random.bit_generator.state
        return {
            **super().state(),
            "random": before_block,
            "numbers": numbers,
            "draws": self._draws.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        super().restore(state)
        self.buffer = list(self.buffer)
        self._draws.restore(state["draws"])
        self.random.bit_generator.state = self._block_state = state["random"]
        if state["numbers"]:
            self._numbers = self.random.random(RANDOM_BLOCK).tolist()[: state["numbers"]]


class RandomNumbers(Stage):
    """Random integers of 32 bits."""

    def __init__(self, draws: Any) -> None:
        self._draws = draws
        self.random = draws.generator()
        self._numbers: list[Any] = []
        self._block_state: Any = None

    def __iter__(self) -> Iterator[Any]:
        while True:
            if not self._numbers:
                self._block_state = self.random.bit_generator.state
                self._numbers = [*self.random.integers(0, 2**32, RANDOM_BLOCK, np.int64)][::-1]
            yield self._numbers.pop()

    def state(self) -> dict[str, Any]:
        """Return the position."""
        numbers = len(self._numbers)
        before_block = self._block_state if numbers else self.random.bit_generator.state
        return {"random": before_block, "numbers": numbers, "draws": self._draws.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        self._draws.restore(state["draws"])
        self.random.bit_generator.state = self._block_state = state["random"]
        if state["numbers"]:
            block = [*self.random.integers(0, 2**32, RANDOM_BLOCK, np.int64)][::-1]
            self._numbers = block[: state["numbers"]]


def batches(
    source: Iterable[Any], size: int, drop_remainder: bool, join: Callable[..., Any]
) -> Iterator[Any]:
    """Yield groups of ``size`` elements, combined by ``join``."""
    iterator = iter(source)
    while group := list(islice(iterator, size)):
        if len(group) < size and drop_remainder:
            return
        yield join(group)


class Rebatched(Stage):
    """Groups of elements with several sizes in turn."""

    SAVED = ("number", "next", "template")

    def __init__(
        self,
        source: Iterable[Any],
        sizes: list[int],
        drop_remainder: bool,
        join: Callable[..., Any],
    ) -> None:
        self.sources, self._sizes, self._drops, self._join = [source], sizes, drop_remainder, join
        self.number = 0
        self.next: Any = None  # an element that was read ahead
        self.template: Any = None  # the element that empty batches are made of

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self.sources[0])
        while True:
            size = self._sizes[self.number % len(self._sizes)]
            if not size:  # an empty batch, with the shape of another element
                if self.template is None:
                    for self.next in islice(iterator, 1):
                        self.template = self.next
                        break
                    else:
                        return
                self.number += 1
                yield map_leaves(lambda x: x[:0], self._join([self.template]))
                continue
            group = [] if self.next is None else [self.next]
            self.next = None
            group += islice(iterator, size - len(group))
            if group and self.template is None and 0 in self._sizes:
                self.template = group[0]
            if not group or (len(group) < size and self._drops):
                return
            self.number += 1
            yield self._join(group)


class Unbatched(Stage):
    """Slices of elements along their first axis."""

    SAVED = ("element", "index")

    def __init__(self, source: Iterable[Any]) -> None:
        self.sources = [source]
        self.element: Any = None
        self.index = 0

    def __iter__(self) -> Iterator[Any]:
        if self.element is not None:
            yield from self._rest()
        for element in self.sources[0]:
            counts = set()
            for x in elements.leaves(element):
                if x is None:
                    continue
                if not len(x.shape):
                    raise InvalidArgumentError(
                        "Unbatching a tensor is only supported for rank >= 1"
                    )
                counts.add(int(x.shape[0]))
            if len(counts) > 1:
                raise InvalidArgumentError(
                    f"The components of an element have different numbers of slices: "
                    f"{sorted(counts)}."
                )
            self.element, self.index = element, 0
            yield from self._rest()

    def _rest(self) -> Iterator[Any]:
        element = self.element
        sizes = [x.shape[0] for x in elements.leaves(element) if x is not None]
        for k in range(self.index, int(sizes[0])):
            self.index = k + 1
            yield map_leaves(lambda x, k=k: elements.row(x, k), element)
        self.element = None


def filter_elements(source: Iterable[Any], predicate: Callable[..., Any]) -> Iterator[Any]:
    """Yield the elements for which a function returns True."""
    for element in source:
        if to_bool(call(predicate, element)):
            yield element


class TakenWhile(Stage):
    """Elements until a function returns False."""

    SAVED = ("is_done",)

    def __init__(self, source: Iterable[Any], predicate: Callable[..., Any]) -> None:
        self.sources, self._predicate, self.is_done = [source], predicate, False

    def __iter__(self) -> Iterator[Any]:
        if self.is_done:
            return
        for element in self.sources[0]:
            if not to_bool(call(self._predicate, element)):
                self.is_done = True
                return
            yield element


def to_bool(result: object) -> bool:
    """Convert a predicate's result to a bool.

    Raises:
      ValueError: If it is not a scalar bool.
    """
    if isinstance(result, bool | np.bool_):
        return bool(result)
    if not isinstance(result, Tensor) or not result.dtype.is_bool or result.ndim:
        spec = elements.spec_of(as_element(result)) if result is not None else None
        raise ValueError(
            f"Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
            f"return type is {spec}."
        )
    return bool(result)


class Scanned(Stage):
    """The outputs of ``function(state, element) -> (state, output)``."""

    SAVED = ("carried",)

    def __init__(self, source: Iterable[Any], state: Any, function: Callable[..., Any]) -> None:
        self.sources, self._function = [source], function
        self.carried = state
        self._spec = elements.spec_of(state)

    def __iter__(self) -> Iterator[Any]:
        for element in self.sources[0]:
            result = self._function(elements.as_tensors(self.carried), elements.as_tensors(element))
            if not isinstance(result, tuple | list) or len(result) != 2:
                raise TypeError(
                    "Invalid `scan_func`. `scan_func` should return a pair consisting of new state "
                    f"and the output value but its return type is {type(result).__name__}."
                )
            state = as_element(result[0])
            self._check(state)
            self.carried = state
            yield elements.as_result(result[1])

    def _check(self, state: Any) -> None:
        """Check that a new state has the structure and dtypes of the initial one."""
        spec = elements.spec_of(state)
        try:
            matches = elements.leaves(
                map_leaves(lambda old, new: old.dtype is new.dtype, self._spec, spec)
            )
        except (AttributeError, TypeError, ValueError):
            matches = [False]
        if not all(matches):
            raise TypeError(
                f"Invalid `scan_func`. The element types for the new state must match the initial "
                f"state. Initial state: {self._spec}; new state: {spec}."
            )


class Interleaved(Stage):
    """The elements of ``cycle`` datasets at a time, ``block`` elements of each.

    Args:
      source: Elements, of which a function makes the datasets.
      function: The function, which returns the started dataset.
      cycle: The number of open datasets.
      block: The number of consecutive elements of a dataset.
    """

    SAVED = ("slot", "count", "is_exhausted")

    def __init__(
        self,
        source: Iterable[Any],
        function: Callable[[Any], Iterable[Any]],
        cycle: int,
        block: int,
    ) -> None:
        self.sources, self._function, self._block = [source], function, block
        self._open: list[tuple[Any, Iterable[Any]] | None] = [None] * cycle
        self.slot = self.count = 0
        self.is_exhausted = False

    def __iter__(self) -> Iterator[Any]:
        source = iter(self.sources[0])
        opened, block = self._open, self._block
        iterators: list[Iterator[Any] | None] = [x and iter(x[1]) for x in opened]
        while True:
            k = self.slot
            if opened[k] is None and not self.is_exhausted:
                for element in islice(source, 1):
                    stage = self._function(element)
                    opened[k], iterators[k] = (element, stage), iter(stage)
                    self.count = 0
                    break
                else:
                    self.is_exhausted = True
            iterator = iterators[k]
            if iterator is None:
                if self.is_exhausted and not any(opened):
                    return
            else:
                for element in islice(iterator, block - self.count):
                    self.count += 1
                    yield element
                if self.count < block:
                    opened[k] = iterators[k] = None
            self.count = 0
            self.slot = (k + 1) % len(opened)

    def state(self) -> dict[str, Any]:
        """Return the position: the open datasets, as elements of which they are made again."""
        return {
            **super().state(),
            "open": [None if x is None else [x[0], state_of(x[1])] for x in self._open],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        super().restore(state)
        check_number(len(self._open), len(state["open"]))
        for k, pair in enumerate(state["open"]):
            if pair is not None:
                stage = self._function(pair[0])
                restore_state(stage, pair[1])
                self._open[k] = pair[0], stage


class Windows(Stage):
    """Lists of ``size`` elements, ``stride`` apart; each starts ``shift`` after the last."""

    SAVED = ("buffer", "to_skip")

    def __init__(
        self, source: Iterable[Any], size: int, shift: int, stride: int, drop_remainder: bool
    ) -> None:
        self.sources = [source]
        self._size, self._shift, self._stride = size, shift, stride
        self._drops = drop_remainder
        self.buffer: list[Any] = []
        self.to_skip = 0

    def __iter__(self) -> Iterator[list[Any]]:
        iterator = iter(self.sources[0])
        span = (self._size - 1) * self._stride + 1
        while True:
            for _ in islice(iterator, self.to_skip):
                self.to_skip -= 1
            if self.to_skip:
                return
            self.buffer.extend(islice(iterator, span - len(self.buffer)))
            window = self.buffer[:: self._stride][: self._size]
            if not window or (len(window) < self._size and self._drops):
                return
            self.to_skip = max(self._shift - len(self.buffer), 0)
            if self.to_skip and len(self.buffer) < span:
                self.to_skip = 0
                self.buffer = []
            else:
                self.buffer = self.buffer[self._shift :]
            yield window


class Distinct(Stage):
    """Each distinct element once."""

    SAVED = ("distinct",)

    def __init__(self, source: Iterable[Any]) -> None:
        self.sources = [source]
        self.distinct: list[Any] = []  # the distinct elements

    def __iter__(self) -> Iterator[Any]:
        keys = {_key(element) for element in self.distinct}
        for element in self.sources[0]:
            key = _key(element)
            if key not in keys:
                keys.add(key)
                self.distinct.append(element)
                yield element

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        super().restore(state)
        self.distinct = list(self.distinct)


def _key(element: Any) -> tuple[Any, ...]:
    """Return a hashable that identifies the values of an element."""
    parts = [as_array(x) for x in elements.leaves(element)]
    if not all(isinstance(x, np.ndarray | np.generic) for x in parts):
        raise TypeError("`unique` is only supported for datasets of dense tensors.")
    arrays = [np.asarray(x) for x in parts]
    return tuple(
        (x.shape, tuple(x.ravel().tolist()) if x.dtype == object else x.tobytes()) for x in arrays
    )


class Sampled(Stage):
    """Elements of randomly drawn sources. ``stop_on_empty``: end at an exhausted source.

    Args:
      sources: The sources.
      weights: The probability of each, or a stage of them.
      draws: The `Draws` of the dataset.
      stop_on_empty: Whether to end at an exhausted source.
    """

    SAVED = ("exhausted", "is_done")

    def __init__(
        self,
        sources: Sequence[Iterable[Any]],
        weights: list[float] | Iterable[Any],
        draws: Any,
        stop_on_empty: bool,
    ) -> None:
        is_dataset = not isinstance(weights, list)
        self.sources = [*sources, weights] if is_dataset else sources
        self._number, self._weights, self._stops = len(sources), weights, stop_on_empty
        self._has_weight_dataset = is_dataset
        self._draws, self._random = draws, draws.generator()
        self.exhausted = [False] * len(sources)
        self.is_done = False

    def __iter__(self) -> Iterator[Any]:
        iterators = [iter(source) for source in self.sources]
        while not self.is_done:
            weights: Any = self._weights
            if self._has_weight_dataset:
                weights = next(iterators[-1], None)
                if weights is None:
                    break
            probabilities = np.array(as_array(weights), float)
            probabilities[np.array(self.exhausted)] = 0
            total = probabilities.sum()
            if not total > 0:
                break
            k = int(self._random.choice(self._number, p=probabilities / total))
            for element in islice(iterators[k], 1):
                yield element
                break
            else:
                self.exhausted[k] = True
                self.is_done = self._stops
        self.is_done = True

    def state(self) -> dict[str, Any]:
        """Return the position."""
        random_state = self._random.bit_generator.state
        return {**super().state(), "random": random_state, "draws": self._draws.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        super().restore(state)
        self.exhausted = list(self.exhausted)
        self._draws.restore(state["draws"])
        self._random.bit_generator.state = state["random"]


class Chosen(Stage):
    """Elements of the sources whose indices the last source yields."""

    SAVED = ("is_done", "exhausted")

    def __init__(
        self, sources: Sequence[Iterable[Any]], choice: Iterable[Any], stop_on_empty: bool
    ) -> None:
        self.sources, self._stops, self.is_done = [*sources, choice], stop_on_empty, False
        self.exhausted = [False] * len(sources)

    def __iter__(self) -> Iterator[Any]:
        *iterators, choice = [iter(source) for source in self.sources]
        while not self.is_done:
            number = next(choice, None)
            if number is None:
                break
            k = int(as_array(number))
            if not 0 <= k < len(iterators):
                raise InvalidArgumentError(f"Selector index out of range: {k} >= {len(iterators)}")
            for element in islice(iterators[k], 1):
                yield element
                break
            else:
                self.exhausted[k] = True
                self.is_done = self._stops or all(self.exhausted)
        self.is_done = True


def generate(generator: Callable[..., Any], args: tuple[Any, ...], spec: Any) -> Stage:
    """Return a stage of the elements of a user's generator, converted to the dtypes of ``spec``.

    Iterating raises an InvalidArgumentError if a value has another structure, dtype or shape.
    """

    def convert(value: Any) -> Any:
        if isinstance(value, list) and isinstance(spec, tuple):
            value = tuple(value)
        try:
            return map_leaves(elements.convert_leaf, spec, value)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {spec}, but the yielded element was {value}."
            ) from error

    def start() -> Iterable[Any]:
        values: Iterable[Any] = generator(*(elements.as_argument(x) for x in args))
        return values

    return Mapped(Counted(start), convert)


class Grouped(Stage):
    """The elements of datasets, each made of a window of elements with the same key.

    Args:
      source: The elements.
      key: A function from an element to its key, an int.
      reduce: A function from a key and a list of elements to the started dataset.
      size: A function from a key to the size of its windows.
    """

    SAVED = ("groups", "window")

    def __init__(
        self,
        source: Iterable[Any],
        key: Callable[[Any], int],
        reduce: Callable[[int, list[Any]], Iterable[Any]],
        size: Callable[[int], int],
    ) -> None:
        self.sources, self._key, self._reduce, self._size = [source], key, reduce, size
        self.groups: list[Any] = []  # pairs of a key and a list of elements
        self.window: Any = None  # the pair whose dataset is being read
        self._current: Iterable[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._current is not None:
            yield from self._finish()
        groups = {key: group for key, group in self.groups}
        sizes: dict[int, int] = {}
        for element in self.sources[0]:
            key = self._key(element)
            if key not in groups:
                groups[key] = []
                self.groups.append([key, groups[key]])
            if key not in sizes:
                sizes[key] = self._size(key)
            group = groups[key]
            group.append(element)
            if len(group) == sizes[key]:
                self._start_window(key)
                del groups[key]
                yield from self._finish()
        while self.groups:
            self._start_window(min(key for key, _ in self.groups))
            yield from self._finish()

    def _start_window(self, key: int) -> None:
        (self.window,) = [pair for pair in self.groups if pair[0] == key]
        self.groups = [pair for pair in self.groups if pair[0] != key]
        self._current = self._reduce(*self.window)

    def _finish(self) -> Iterator[Any]:
        assert self._current is not None
        yield from self._current
        self._current = self.window = None

    def state(self) -> dict[str, Any]:
        """Return the position."""
        current = self._current
        return {**super().state(), "current": None if current is None else state_of(current)}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        super().restore(state)
        if self.window is not None:
            self._current = self._reduce(*self.window)
            restore_state(self._current, state["current"])


class Resampled(Stage):
    """Pairs of a class and an element, which is kept with a probability that depends on its class.

    Args:
      source: The elements.
      class_of: A function from an element to its class.
      target: The probability of each class among the pairs.
      initial: Its probability among the elements, or None to estimate it.
      draws: The `Draws` of the dataset.
    """

    SAVED = ("counts",)

    def __init__(
        self,
        source: Iterable[Any],
        class_of: Callable[[Any], Any],
        target: np.ndarray[Any, Any],
        initial: np.ndarray[Any, Any] | None,
        draws: Any,
    ) -> None:
        self.sources, self._class_of, self._target, self._initial = (
            [source],
            class_of,
            target,
            initial,
        )
        self._draws, self._random = draws, draws.generator()
        self.counts = [0] * len(target)  # of the classes so far

    def __iter__(self) -> Iterator[Any]:
        for element in self.sources[0]:
            label = self._class_of(element)
            k = int(label)
            if not 0 <= k < len(self.counts):
                raise InvalidArgumentError(
                    f"`class_func` returned {k} for {len(self.counts)} classes."
                )
            self.counts[k] += 1
            chances = self._initial
            if chances is None:
                # One more of each class: a class that has not occurred has an estimate too.
                chances = (np.array(self.counts) + 1) / (sum(self.counts) + len(self.counts))
            ratios = self._target / np.maximum(chances, 1e-12)
            if self._random.random() * ratios.max() < ratios[k]:
                yield label, element

    def state(self) -> dict[str, Any]:
        """Return the position."""
        random_state = self._random.bit_generator.state
        return {**super().state(), "random": random_state, "draws": self._draws.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position."""
        super().restore(state)
        self._draws.restore(state["draws"])
        self._random.bit_generator.state = state["random"]


class WithoutErrors(Stage):
    """Elements, without those whose computation raises an error."""

    def __init__(self, source: Iterable[Any], warn: Callable[[Exception], None] | None) -> None:
        self.sources, self._warn = [source], warn

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self.sources[0])
        while True:
            try:
                element = elements.evaluate(next(iterator))
            except StopIteration:
                return
            except Exception as error:
                if self._warn is not None:
                    self._warn(error)
                iterator = iter(self.sources[0])
                continue
            yield element


class AssertedCount(Stage):
    """Elements, whose number must be ``count``."""

    SAVED = ("number",)

    def __init__(self, source: Iterable[Any], count: int) -> None:
        self.sources, self._count, self.number = [source], count, 0

    def __iter__(self) -> Iterator[Any]:
        count = self._count
        for element in self.sources[0]:
            self.number += 1
            if 0 <= count < self.number:
                raise FailedPreconditionError(
                    f"Input dataset was expected to contain {count} elements but contained at "
                    f"least {self.number} elements."
                )
            yield element
        if self.number != count:
            expected = "an infinite number of" if count < 0 else str(count)
            raise FailedPreconditionError(
                f"Input dataset was expected to contain {expected} elements but contained only "
                f"{self.number} elements."
            )


class Reduced(Stage):
    """The result of each key: elements with the same key are reduced to a state.

    Args:
      source: The elements.
      key: A function from an element to its key.
      initial: A function from a key to the first state.
      reduce: A function from a state and an element to the next state.
      finalize: A function from the last state to the result.
    """

    SAVED = ("states", "is_reading")

    def __init__(
        self,
        source: Iterable[Any],
        key: Callable[[Any], int],
        initial: Callable[[int], Any],
        reduce: Callable[[Any, Any], Any],
        finalize: Callable[[Any], Any],
    ) -> None:
        self.sources = [source]
        self._functions = key, initial, reduce, finalize
        self.states: dict[int, Any] = {}
        self.is_reading = True

    def __iter__(self) -> Iterator[Any]:
        key_of, initial, reduce, finalize = self._functions
        if self.is_reading:
            for element in self.sources[0]:
                key = key_of(element)
                state = self.states[key] if key in self.states else initial(key)
                self.states[key] = reduce(state, element)
            self.is_reading = False
        for key in sorted(self.states):
            yield finalize(self.states.pop(key))


class Cached(Stage):
    """Elements that the first complete iteration stores.

    Args:
      start: Starts the source.
      store: Where elements are stored: `Memory`, or `saving.CacheFile`.
      count: The number of elements, if it is known.
    """

    SAVED = ("items", "position", "is_reading")

    def __init__(self, start: Callable[[], Iterable[Any]], store: Any, count: int) -> None:
        self._open, self._store, self._count = start, store, count
        self.items: list[Any] = []
        self.position = 0
        self.is_reading = store.is_complete()
        self.sources = [] if self.is_reading else [start()]

    def __iter__(self) -> Iterator[Any]:
        if self.is_reading:
            for item in islice(self._store.read(), self.position, None):
                self.position += 1
                yield item
            return
        items = self.items
        for item in self.sources[0]:
            items.append(item)
            if len(items) == self._count and not self._store.is_complete():
                self._store.write(items)  # even if the caller stops after the last element
            yield item
        if not self._store.is_complete():
            self._store.write(items)

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position. An iteration of stored elements reads the source again if need be."""
        self.items, self.position = list(state["items"]), state["position"]
        self.is_reading = state["is_reading"] and self._store.is_complete()
        if state["is_reading"] and not self.is_reading:
            self.sources = [self._open()]
            self.items = list(islice(self.sources[0], self.position))
            return
        self.sources = [] if self.is_reading else [self._open()]
        for source, part in zip(self.sources, state["sources"], strict=False):
            restore_state(source, part)


class Memory:
    """Elements in memory."""

    def __init__(self) -> None:
        self._items: list[Any] | None = None

    def is_complete(self) -> bool:
        """Whether all elements are stored."""
        return self._items is not None

    def write(self, items: list[Any]) -> None:
        """Store all elements."""
        self._items = items

    def read(self) -> Iterable[Any]:
        """Return the elements."""
        return [] if self._items is None else self._items


def as_number(value: Any) -> int:
    """Convert a function's scalar result to an int."""
    return int(as_array(as_tensor(value)))
