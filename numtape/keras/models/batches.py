"""`Batches`: iterate over arrays, datasets, sequences and generators. Start with `batches`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compat.traceback_filter import warn
from ...core.log.as_tensor import to_tensor
from ...core.log.string_tensor import StringTensor, of_strings, to_string_array
from ...core.log.variable import Variable
from ...core.ops.random import shuffle as shuffled
from ...core.values.composite import Composite, has_text
from ...core.values.convert import describe_columns
from ...core.values.tensor import Tensor
from ...data import Dataset
from ...nest import flatten, map_structure

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike

RAN_OUT = (
    "Your input ran out of data; interrupting training. Make sure that your dataset or generator "
    "can generate at least `steps_per_epoch * epochs` batches. You may need to use the `.repeat()` "
    "function when building your dataset."
)
_END = object()  # sentinel after the last element

Batch = tuple[Any, Any, Any]  # x, y, sample_weight; each a tensor, a structure of them, or None


def unpack(data: Any) -> Batch:
    """Return x, y and sample weights of a dataset's element; None for missing parts."""
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple):
        return data, None, None
    if not 1 <= len(data) <= 3:
        raise ValueError(
            f"Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, "
            f"found: {data}"
        )
    x, y, weight = (*data, None, None)[:3]
    return x, y, weight


def example_weights_of(y: TensorLike, class_weight: dict[int, float]) -> np.ndarray[Any, Any]:
    """Return the weight of each example from the weight of its class."""
    classes = np.asarray(y)
    if classes.ndim > 1:
        classes = classes.argmax(-1) if classes.shape[-1] != 1 else classes[..., 0]
    classes = np.round(classes).astype(np.int64)
    result = np.ones(classes.shape, np.float32)
    for number, weight in class_weight.items():
        result[classes == number] = weight
    return result


def array_of(x: TensorLike) -> Any:
    """Convert data to an array; floats become float32."""
    if isinstance(x, StringTensor):
        return np.asarray(x)
    provided: Any = x
    if isinstance(x, Tensor | Variable):
        x = x.numpy()
    elif not isinstance(x, np.ndarray):
        x = np.asarray(x)
    if x.dtype.kind in "US" or (x.dtype == object and has_text(x.ravel()[:1].tolist())):
        return to_string_array(x)
    if x.dtype == object:
        raise ValueError(
            f"Data of dtype {x.dtype} cannot be used: a model requires numbers."
            f"{describe_columns(provided)}"
        )
    if x.dtype.kind == "f" and x.dtype != np.float32:
        x = x.astype(np.float32)
    return x


def tensor_of(array: np.ndarray[Any, Any]) -> Any:
    """Return a tensor of an array of numbers, or of bytes objects."""
    return of_strings(array) if array.dtype == object else to_tensor(array, None)


def arrays_of(data: Any) -> Any:
    """Convert the leaves of nested data to arrays."""
    if isinstance(data, list) and not any(hasattr(x, "shape") or isinstance(x, dict) for x in data):
        data = np.asarray(data)  # a (nested) list of numbers is one array
    return (
        None if data is None else map_structure(lambda x: None if x is None else array_of(x), data)
    )


def batch_of(data: Any) -> Any:
    """Convert the leaves of a batch to tensors."""

    def convert(x: Any) -> Any:
        return x if x is None or isinstance(x, Tensor | Composite) else tensor_of(array_of(x))

    return None if data is None else map_structure(convert, data)


class Batches:
    """Base class: the batches of each epoch.

    Attributes:
      steps: The number of batches in an epoch; None while it is unknown.
    """

    steps: int | None
    _max_steps: int | None  # steps per epoch; None for all
    _continued_iterator: Iterator[Any] | None = None  # an iterator that the next epoch continues

    def _start(self) -> Iterator[Any]:
        """Iterate from the start; a generator continues where it stopped."""
        raise NotImplementedError

    def _prepare(self, element: Any) -> Batch:
        """Convert an element to a batch of tensors."""
        raise NotImplementedError

    def _on_epoch_end(self) -> None:
        """Called after each epoch."""

    def _can_restart(self) -> bool:
        """Whether `_start` can restart from the first batch."""
        return True

    def is_spent(self) -> bool:
        """Whether the source is exhausted and cannot restart; warns if so."""
        if self._can_restart():
            return False
        source = self._continued_iterator or self._start()
        for element in source:
            self._continued_iterator = itertools.chain([element], source)
            return False
        warn(RAN_OUT)
        return True

    def epoch(self) -> Iterator[Batch]:
        """Iterate over the batches of an epoch: all, or the requested number.

        With a requested number, an epoch continues where the last one stopped. If the source ends
        early, the epoch ends with a warning and the next one restarts the source.
        """
        source, self._continued_iterator = self._continued_iterator or self._start(), None
        count = 0
        while self._max_steps is None or count < self._max_steps:
            element = next(source, _END)
            if (
                element is _END
                and self._max_steps is not None
                and not count
                and self._can_restart()
            ):
                source = self._start()  # the last epoch used up the source
                element = next(source, _END)
            if element is _END:
                break
            batch = self._prepare(element)
            count += 1
            yield batch
        if self._max_steps is not None and count == self._max_steps:
            self._continued_iterator = source
        elif self._max_steps is not None and count:
            warn(RAN_OUT)
        if self.steps is None and count:
            self.steps = count
        self._on_epoch_end()


class Arrays(Batches):
    """Batches of arrays.

    Attributes:
      examples: The number of examples.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        weight: Any,
        batch_size: int | None,
        shuffle: bool,
        class_weight: dict[int, float] | None,
        steps: int | None,
    ) -> None:
        self._data = tuple(map(arrays_of, (x, y, weight)))
        check_sizes(self._data)
        if class_weight is not None:
            if weight is not None:
                raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
            if len(flatten(y)) != 1 or y is None:
                raise ValueError(
                    "`class_weight` is only supported for Models with a single output."
                )
            example_weights = example_weights_of(flatten(self._data[1])[0], class_weight)
            self._data = (*self._data[:2], example_weights)
        self.examples = len(flatten(self._data[0])[0])
        self._batch_size = 32 if batch_size is None else batch_size
        self._shuffle = shuffle
        self._max_steps = steps
        self.steps = steps or math.ceil(self.examples / self._batch_size)

    def _prepare(self, element: Batch) -> Batch:
        return element

    def _start(self) -> Iterator[Batch]:
        data: Any = self._data
        if self._shuffle:
            order = shuffled(np.arange(self.examples)).numpy()
            data = map_structure(lambda a: None if a is None else a[order], data)
        leaves = flatten(data)
        is_flat = len(leaves) == 3 and all(a is b for a, b in zip(leaves, data, strict=True))
        for start in range(0, self.examples, self._batch_size):
            part = [
                a if a is None else tensor_of(a[start : start + self._batch_size]) for a in leaves
            ]
            if is_flat:
                yield part[0], part[1], part[2]
            else:
                remaining_indices = iter(part)
                x, y, weight = map_structure(
                    lambda _, remaining_indices=remaining_indices: next(remaining_indices), data
                )
                yield x, y, weight


class Stream(Batches):
    """Batches of a dataset, a sequence or a generator."""

    def __init__(
        self, source: Any, steps: int | None, class_weight: dict[int, float] | None, shuffle: bool
    ) -> None:
        self._source, self._max_steps = source, steps
        self._class_weight, self._shuffle = class_weight, shuffle
        self.steps = steps
        self._is_sequence = (
            hasattr(source, "__getitem__")
            and hasattr(source, "__len__")
            and (not isinstance(source, Dataset))
        )
        if steps is None:
            try:
                self.steps = len(source)
            except TypeError:  # infinite or of unknown length
                self.steps = None

    def _start(self) -> Iterator[Any]:
        if not self._is_sequence:
            return iter(self._source)
        order = np.arange(len(self._source))
        if self._shuffle:
            order = shuffled(order).numpy()
        return (self._source[int(k)] for k in order)

    def _prepare(self, element: Any) -> Batch:
        x, y, weight = map(batch_of, unpack(element))
        if self._class_weight is not None:
            if weight is not None:
                raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
            weight = to_tensor(example_weights_of(y, self._class_weight), None)
        return x, y, weight

    def _can_restart(self) -> bool:
        return self._is_sequence or not isinstance(self._source, Iterator)

    def _on_epoch_end(self) -> None:
        if self._is_sequence and hasattr(self._source, "on_epoch_end"):
            self._source.on_epoch_end()


def batches(
    x: Any,
    y: Any,
    weight: Any,
    batch_size: int | None,
    steps: int | None,
    shuffle: bool,
    class_weight: dict[int, float] | None = None,
) -> Batches:
    """Return the batches of the data passed to `fit`, `evaluate` or `predict`."""
    if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
        raise ValueError(f"batch_size={batch_size!r} must be a positive int.")
    if steps is not None and (not isinstance(steps, int) or steps < 1):
        raise ValueError(f"The number of steps must be a positive int, got {steps!r} instead.")
    if x is None:
        raise ValueError("x must not be None: it holds the data.")
    is_array_data = (
        isinstance(x, list | tuple | dict) or hasattr(x, "shape") or hasattr(x, "__array__")
    )
    if is_array_data:
        return Arrays(x, y, weight, batch_size, shuffle, class_weight, steps)
    if y is not None or weight is not None:
        raise ValueError(
            f"When providing `x` as a {type(x).__name__}, `y` and `sample_weight` should not be "
            f"passed. Instead, the targets should be included as part of it."
        )
    if not hasattr(x, "__iter__") and not hasattr(x, "__getitem__"):
        raise ValueError(f"Unrecognized data type: x={x} (of type {type(x)})")
    if batch_size is not None and isinstance(x, Dataset):
        raise ValueError(
            "The `batch_size` argument must not be specified when using dataset as "
            "an input type: use `dataset.batch`."
        )
    return Stream(x, steps, class_weight, shuffle)


def check_sizes(data: Batch) -> None:
    """Raise a ValueError unless all arrays have the same number of examples."""
    sizes = {len(a) if a.ndim else -1 for a in flatten(data) if a is not None}
    if -1 in sizes:
        raise ValueError("Data must be arrays with a batch axis, got a scalar.")
    if len(sizes) > 1:
        text = ", ".join(
            f"'{name}' sizes: {', '.join(str(len(a)) for a in flatten(part) if a is not None)}"
            for name, part in zip(("x", "y", "sample_weight"), data, strict=True)
            if part is not None
        )
        raise ValueError(
            f"Data cardinality is ambiguous. Make sure all arrays contain the same number of "
            f"samples. {text}"
        )
    if sizes == {0} or not sizes:
        raise ValueError("The data must contain at least one example.")


def split(data: Batch, fraction: float) -> tuple[Batch, Batch]:
    """Split off the last ``fraction`` of the examples; return (training, validation) data."""
    arrays: Any = tuple(map(arrays_of, data))
    for part, original in zip(arrays, data, strict=True):
        if part is None and original is not None:
            raise ValueError("validation_split requires arrays.")
    check_sizes(arrays)
    n = len(flatten(arrays[0])[0])
    split_index = math.floor(n * (1.0 - fraction))
    if not 0 < split_index < n:
        raise ValueError(
            f"Training data contains {n} samples, which is not sufficient to split it into a "
            f"validation and training set as specified by `validation_split={fraction}`. Either "
            f"provide more data, or a different value for the `validation_split` argument."
        )

    def take(part: slice) -> Batch:
        x, y, weight = map_structure(lambda a: None if a is None else a[part], arrays)
        return x, y, weight

    return take(slice(0, split_index)), take(slice(split_index, n))


def group_batches(batches: Iterable[Batch], count: int) -> Iterator[list[Batch]]:
    """Yield lists of ``count`` batches; the last may be shorter."""
    batch_iterator = iter(batches)
    while group := list(itertools.islice(batch_iterator, count)):
        yield group


def even_part_size(count: int, largest: int) -> int:
    """Return the part size that divides ``count`` into the fewest parts of at most ``largest``."""
    return -(-count // -(-count // largest))


def split_into_runs(group: list[Batch], size: int) -> Iterator[list[Batch]]:
    """Divide a group into runs of ``size`` consecutive batches of equal shapes, or single ones."""
    shape_keys = [_shape_key(batch) for batch in group] if size > 1 else []
    k = 0
    while k < len(group):
        is_full_run = (
            size > 1 and k + size <= len(group) and len(set(shape_keys[k : k + size])) == 1
        )
        yield group[k : k + (size if is_full_run else 1)]
        k += size if is_full_run else 1


def _shape_key(batch: Batch) -> Any:
    structure = map_structure(lambda x: None if x is None else 0, batch)
    leaves = (None if x is None else (tuple(x.shape), x.dtype) for x in flatten(batch))
    return repr(structure), *leaves
