"""What goes through a pipeline: each function takes iterables of elements and yields elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from ..core.log.tensors import as_tensor
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from . import elements
from .elements import as_array, as_element, call, map_leaves

Flow = Iterable[Any]
BLOCK = 1024  # so many random numbers are drawn at once


def slices(arrays: Any, count: int) -> Iterator[Any]:
    """The parts of arrays along their first axis."""
    for k in range(count):
        yield map_leaves(lambda x, k=k: x[k], arrays)


def shuffle(source: Flow, size: int, random: np.random.Generator) -> Iterator[Any]:
    """Elements in random order: each is drawn from the next ``size`` ones, as they come."""
    rest = iter(source)
    buffer = list(islice(rest, size))
    numbers: list[float] = []
    for element in rest:
        if not numbers:
            numbers = random.random(BLOCK).tolist()
        k = int(numbers.pop() * len(buffer))
        yield buffer[k]
        buffer[k] = element
    for k in random.permutation(len(buffer)):
        yield buffer[k]


def batches(source: Flow, size: int, drop: bool, join: Callable[..., Any]) -> Iterator[Any]:
    """So many elements at a time, joined."""
    rest = iter(source)
    while group := list(islice(rest, size)):
        if len(group) < size and drop:
            return
        yield join(group)


def unbatch(source: Flow) -> Iterator[Any]:
    """The parts of elements along their first axis."""
    for element in source:
        if not all(x.ndim for x in elements.leaves(element)):
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        counts = {len(x) for x in elements.leaves(element)}
        if len(counts) > 1:
            raise ValueError(f"The components of an element have {sorted(counts)} parts.")
        yield from slices(element, counts.pop())


def filter_elements(source: Flow, predicate: Callable[..., Any]) -> Iterator[Any]:
    """The elements for which a function gives True."""
    for element in source:
        if _true(call(predicate, element)):
            yield element


def taken_while(source: Flow, predicate: Callable[..., Any]) -> Iterator[Any]:
    """The elements up to the first one for which a function gives False."""
    for element in source:
        if not _true(call(predicate, element)):
            return
        yield element


def _true(result: Any) -> bool:
    """What a predicate gave.

    Raises:
      ValueError: If it is no bool.
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
    """What ``function(state, element)`` gives besides the next state."""
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
    """Elements of what ``cycle`` elements stand for, ``block`` of each in turn."""
    rest = iter(source)
    places: list[Iterator[Any] | None] = [None] * cycle
    ended, k = False, 0
    while not (ended and all(place is None for place in places)):
        place = places[k]
        if place is None and not ended:
            for element in islice(rest, 1):
                place = iter(function(element))
            ended = place is None
        if place is not None:
            count = 0
            for element in islice(place, block):
                yield element
                count += 1
            places[k] = place if count == block else None
        k = (k + 1) % cycle


def windows(source: Flow, size: int, shift: int, stride: int, drop: bool) -> Iterator[list[Any]]:
    """Lists of ``size`` elements that are ``stride`` apart; each begins ``shift`` later."""
    rest = iter(source)
    buffer: list[Any] = []
    span = (size - 1) * stride + 1
    while True:
        buffer += islice(rest, span - len(buffer))
        window = buffer[::stride][:size]
        if not window or (len(window) < size and drop):
            return
        yield window
        skipped = len(list(islice(rest, shift - len(buffer)))) if shift > len(buffer) else 0
        if shift > len(buffer) and skipped < shift - len(buffer):
            buffer = []
        else:
            buffer = buffer[shift:]


def distinct(source: Flow) -> Iterator[Any]:
    """Each element when it comes for the first time."""
    keys: set[Any] = set()
    for element in source:
        key = tuple(
            (x.shape, x.tobytes()) for x in map(np.asarray, map(as_array, elements.leaves(element)))
        )
        if key not in keys:
            keys.add(key)
            yield element


def sample(
    sources: list[Flow], weights: list[float] | None, random: np.random.Generator, stop: bool
) -> Iterator[Any]:
    """Elements of sources that are drawn by weight; ``stop`` ends where the first one ends."""
    flows = [iter(source) for source in sources]
    chances = np.array(weights or [1.0] * len(flows), float)
    while chances.sum() > 0:
        k = int(random.choice(len(flows), p=chances / chances.sum()))
        try:
            element = next(flows[k])
        except StopIteration:
            if stop:
                return
            chances[k] = 0
            continue
        yield element


def choose(sources: list[Flow], choice: Flow, stop: bool) -> Iterator[Any]:
    """Elements of the sources that ``choice`` names by number."""
    flows = [iter(source) for source in sources]
    for number in choice:
        k = int(as_array(number))
        if not 0 <= k < len(flows):
            raise ValueError(f"`choice_dataset` names {k}, of {len(flows)} datasets.")
        try:
            element = next(flows[k])
        except StopIteration:
            if stop:
                return
            continue
        yield element


def generate(generator: Callable[..., Any], args: tuple[Any, ...], spec: Any) -> Iterator[Any]:
    """What a user's generator yields, in the dtypes of ``spec``.

    Raises:
      InvalidArgumentError: If a value has another structure or shape.
    """

    def fit(one: Any, value: Any) -> Any:
        array = np.array(as_array(value), one.dtype.as_numpy_dtype)
        if not one._takes(array.shape):
            raise InvalidArgumentError(
                f"`generator` yielded an element of shape {array.shape} where an element of shape "
                f"{tuple(one.shape)} was expected."
            )
        return array

    for value in generator(*(as_tensor(x).numpy() for x in args)):
        if isinstance(value, list) and isinstance(spec, tuple):
            value = tuple(value)
        try:
            yield map_leaves(fit, spec, value)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {spec}, but the yielded element was {value}."
            ) from error
