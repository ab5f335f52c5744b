"""Generators behind the transformations: each takes iterables of elements and yields elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from ..core.log.as_tensor import as_tensor
from ..core.values import dtypes
from ..core.values.spec import intern
from ..core.values.tensor import Tensor, of_array
from ..errors import InvalidArgumentError
from . import elements
from .elements import as_array, as_element, call, map_leaves

Flow = Iterable[Any]
RANDOM_BLOCK = 1024  # random numbers to draw at a time


def slices(arrays: Any, items: Flow) -> Iterator[Any]:
    """Yield the slices of arrays along their first axis; an item that is no int is an element."""
    if type(arrays) is tuple and all(map(elements.is_leaf, arrays)):  # the usual nest
        for item in items:
            yield tuple([x[item] for x in arrays]) if type(item) is int else item
    else:
        for item in items:
            yield map_leaves(lambda x, k=item: x[k], arrays) if type(item) is int else item


def slice_tensors(arrays: Any, items: Flow) -> Iterator[Any]:
    """Yield what `slices` does, as nests of tensors.

    They are copies: other libraries may write to a tensor's memory (PyTorch does, through DLPack).
    """
    arrays = map_leaves(np.ascontiguousarray, arrays)
    specs = map_leaves(lambda x: intern(x.shape[1:], dtypes.of_array(x)), arrays)
    if type(arrays) is tuple and all(map(elements.is_leaf, arrays)):
        pairs = [*zip(arrays, specs, strict=True)]
        for item in items:
            if type(item) is int:
                yield tuple([of_array(x[item].copy(), spec) for x, spec in pairs])
            else:
                yield elements.as_tensors(item)
    else:
        for item in items:
            if type(item) is int:
                yield map_leaves(lambda x, spec, k=item: of_array(x[k].copy(), spec), arrays, specs)
            else:
                yield elements.as_tensors(item)


def batch_of_slices(arrays: Any, items: list[Any]) -> Any:
    """Return the batch of slices of arrays at some indices; see `slices`."""
    if not all(type(item) is int for item in items):
        return elements.batch([*slices(arrays, items)])
    index = np.array(items)
    return map_leaves(lambda x: x.take(index, 0), arrays)


def shuffle(source: Flow, size: int, random: np.random.Generator) -> Iterator[Any]:
    """Yield elements in random order, each drawn from a buffer of the next ``size`` ones."""
    elements = iter(source)
    buffer = list(islice(elements, size))
    numbers: list[float] = []
    for element in elements:
        if not numbers:
            numbers = random.random(RANDOM_BLOCK).tolist()
        k = int(numbers.pop() * len(buffer))
        yield buffer[k]
        buffer[k] = element
    for k in random.permutation(len(buffer)):
        yield buffer[k]


def batches(
    source: Flow, size: int, drop_remainder: bool, join: Callable[..., Any]
) -> Iterator[Any]:
    """Yield groups of ``size`` elements, combined by ``join``."""
    elements = iter(source)
    while group := list(islice(elements, size)):
        if len(group) < size and drop_remainder:
            return
        yield join(group)


def unbatch(source: Flow) -> Iterator[Any]:
    """Yield the slices of elements along their first axis."""
    for element in source:
        if not all(x.ndim for x in elements.leaves(element)):
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        counts = {len(x) for x in elements.leaves(element)}
        if len(counts) > 1:
            raise ValueError(f"The components of an element have {sorted(counts)} slices.")
        yield from slices(element, range(counts.pop()))


def filter_elements(source: Flow, predicate: Callable[..., Any]) -> Iterator[Any]:
    """Yield the elements for which a function returns True."""
    for element in source:
        if _to_bool(call(predicate, element)):
            yield element


def take_while(source: Flow, predicate: Callable[..., Any]) -> Iterator[Any]:
    """Yield elements until a function returns False."""
    for element in source:
        if not _to_bool(call(predicate, element)):
            return
        yield element


def _to_bool(result: object) -> bool:
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


def scan(source: Flow, state: Any, function: Callable[..., Any]) -> Iterator[Any]:
    """Yield the outputs of ``function(state, element) -> (state, output)``."""
    for element in source:
        result = function(elements.as_tensors(state), elements.as_tensors(element))
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise TypeError(
                "Invalid `scan_func`. `scan_func` should return a pair consisting of new state "
                f"and the output value but its return type is {type(result).__name__}."
            )
        state = as_element(result[0])
        yield elements.as_result(result[1])


def interleave(
    source: Flow, function: Callable[..., Iterable[Any]], cycle: int, block: int
) -> Iterator[Any]:
    """Interleave the iterables of ``cycle`` elements at a time, ``block`` elements of each."""
    elements = iter(source)
    iterators: list[Iterator[Any] | None] = [None] * cycle
    is_exhausted, k = False, 0
    while not (is_exhausted and all(iterator is None for iterator in iterators)):
        iterator = iterators[k]
        if iterator is None and not is_exhausted:
            for element in islice(elements, 1):
                iterator = iter(function(element))
            is_exhausted = iterator is None
        if iterator is not None:
            count = 0
            for element in islice(iterator, block):
                yield element
                count += 1
            iterators[k] = iterator if count == block else None
        k = (k + 1) % cycle


def windows(
    source: Flow, size: int, shift: int, stride: int, drop_remainder: bool
) -> Iterator[list[Any]]:
    """Yield lists of ``size`` elements, ``stride`` apart; each starts ``shift`` after the last."""
    elements = iter(source)
    buffer: list[Any] = []
    span = (size - 1) * stride + 1
    while True:
        buffer += islice(elements, span - len(buffer))
        window = buffer[::stride][:size]
        if not window or (len(window) < size and drop_remainder):
            return
        yield window
        skipped_count = (
            len(list(islice(elements, shift - len(buffer)))) if shift > len(buffer) else 0
        )
        if shift > len(buffer) and skipped_count < shift - len(buffer):
            buffer = []
        else:
            buffer = buffer[shift:]


def distinct(source: Flow) -> Iterator[Any]:
    """Yield each distinct element once."""
    keys: set[Any] = set()
    for element in source:
        key = tuple(
            (x.shape, x.tobytes()) for x in map(np.asarray, map(as_array, elements.leaves(element)))
        )
        if key not in keys:
            keys.add(key)
            yield element


def sample(
    sources: list[Flow],
    weights: list[float] | None,
    random: np.random.Generator,
    stop_on_empty: bool,
) -> Iterator[Any]:
    """Yield elements of randomly drawn sources. ``stop_on_empty``: end at an exhausted source."""
    iterators = [iter(source) for source in sources]
    probabilities = np.array(weights or [1.0] * len(iterators), float)
    while probabilities.sum() > 0:
        k = int(random.choice(len(iterators), p=probabilities / probabilities.sum()))
        try:
            element = next(iterators[k])
        except StopIteration:
            if stop_on_empty:
                return
            probabilities[k] = 0
            continue
        yield element


def choose(sources: list[Flow], choice: Flow, stop_on_empty: bool) -> Iterator[Any]:
    """Yield elements of the sources whose indices ``choice`` yields."""
    iterators = [iter(source) for source in sources]
    for number in choice:
        k = int(as_array(number))
        if not 0 <= k < len(iterators):
            raise ValueError(f"`choice_dataset` yielded {k} for {len(iterators)} datasets.")
        try:
            element = next(iterators[k])
        except StopIteration:
            if stop_on_empty:
                return
            continue
        yield element


def generate(generator: Callable[..., Any], args: tuple[Any, ...], spec: Any) -> Iterator[Any]:
    """Yield the elements of a user's generator, converted to the dtypes of ``spec``.

    Raises:
      InvalidArgumentError: If a value has another structure or shape.
    """

    def convert(leaf_spec: Any, value: Any) -> Any:
        array = np.array(as_array(value), leaf_spec.dtype.as_numpy_dtype)
        if not leaf_spec._takes(array.shape):
            raise InvalidArgumentError(
                f"`generator` yielded an element of shape {array.shape} where an element of shape "
                f"{tuple(leaf_spec.shape)} was expected."
            )
        return array

    for value in generator(*(as_tensor(x).numpy() for x in args)):
        if isinstance(value, list) and isinstance(spec, tuple):
            value = tuple(value)
        try:
            yield map_leaves(convert, spec, value)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {spec}, but the yielded element was {value}."
            ) from error
