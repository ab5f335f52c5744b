"""Data in other forms: labels as rows, sequences of equal length, vectors of length 1."""

from __future__ import annotations

import random
from collections.abc import Sequence as _Sequence
from typing import Any

import numpy as np

from ...core.ops.clipping import l2_normalize
from ...core.ops.elementwise import abs_, maximum
from ...core.ops.indexing import one_hot
from ...core.ops.movement import reshape
from ...core.ops.random import set_seed
from ...core.ops.reduction import reduce_max, reduce_sum
from ...core.values.arguments import to_int
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from ..loss_functions import EPSILON


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Numbers of classes as rows that are 1 at the class and 0 elsewhere.

    Args:
      x: Numbers of classes, from 0 on. A last axis of size 1 is dropped.
      num_classes: How many classes there are; without, one more than the largest number.

    Returns:
      A NumPy array with an axis of classes at its end; a tensor for a tensor.

    Raises:
      ValueError: If a number is not a class, or a tensor comes without the number of classes.

    Example:
      >>> tf.keras.utils.to_categorical([0, 2])
      array([[1., 0., 0.],
             [0., 0., 1.]])
    """
    if isinstance(x, Tensor):
        if num_classes is None:
            raise ValueError("to_categorical of a tensor takes the number of classes.")
        last = x.ndim > 1 and x.shape[-1] == 1
        return one_hot(reshape(x, x.shape[:-1]) if last else x, num_classes)
    try:
        labels = np.array(x, dtype="int64")
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"Labels are numbers of classes, not {repr_of(x)}: {error}") from None
    if labels.ndim > 1 and labels.shape[-1] == 1:
        labels = labels[..., 0]
    if not num_classes and not labels.size:
        raise ValueError("to_categorical of no labels takes the number of classes.")
    count = to_int("num_classes", num_classes or labels.max() + 1)
    if labels.size and not (0 <= labels.min() and labels.max() < count):
        raise ValueError(
            f"Numbers of {count} classes are from 0 to {count - 1}: "
            f"{labels.min()} to {labels.max()} were received."
        )
    return np.eye(count)[labels]


def normalize(x: Any, axis: int = -1, order: Any = 2) -> Any:
    """Vectors divided by their length.

    Args:
      x: A NumPy array or a tensor.
      axis: The axis of the vectors.
      order: The kind of length: 2 for Euclid's, 1 for the sum of sizes, ``np.inf`` for the
        largest, or another positive number.

    Returns:
      An array, or a tensor for a tensor. Vectors of zeros stay.

    Raises:
      ValueError: If there is no such length.

    Example:
      >>> tf.keras.utils.normalize(np.array([[3.0, 4.0], [0.0, 0.0]]))
      array([[0.6, 0.8],
             [0. , 0. ]])
    """
    if not isinstance(order, int | float) or not order > 0:
        raise ValueError(f"The order of a length is a positive number, not {order!r}.")
    if not isinstance(x, Tensor):
        x = np.asarray(x)
        if x.dtype.kind not in "biufc" or not x.ndim:
            raise ValueError(f"Vectors of numbers are normalized, not {repr_of(x)}.")
        axis = to_int("axis", axis)
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"There is no axis {axis} in an array of shape {x.shape}.")
        size = np.linalg.norm(x, order, axis, keepdims=True)
        return x / np.where(size == 0, 1, size)
    if order == 2:
        return l2_normalize(x, axis, EPSILON**2)
    if order == np.inf:
        length = reduce_max(abs_(x), axis, True)
    else:
        length = reduce_sum(abs_(x) ** order, axis, True) ** (1.0 / order)
    return x / maximum(length, EPSILON)


def pad_sequences(
    sequences: _Sequence[Any],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray[Any, Any]:
    """Sequences of several lengths as an array: the shorter are filled up, the longer cut.

    Args:
      sequences: A list of lists, or of arrays whose further axes agree.
      maxlen: The length of all; without, that of the longest.
      dtype: The dtype of the array.
      padding: "pre" to fill up at the begin, "post" at the end.
      truncating: "pre" to cut off the begin, "post" the end.
      value: What is filled in.

    Returns:
      A NumPy array of shape (sequences, length, ...).

    Raises:
      ValueError: If these are no sequences, or their elements' shapes differ.

    Example:
      >>> tf.keras.utils.pad_sequences([[1], [2, 3], [4, 5, 6]], maxlen=2)
      array([[0, 1],
             [2, 3],
             [5, 6]], dtype=int32)
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for kind, provided in (("Padding", padding), ("Truncating", truncating)):
        if provided not in ("pre", "post"):
            raise ValueError(f'{kind} type "{provided}" not understood')
    for one in sequences:
        if not hasattr(one, "__len__"):
            raise ValueError(
                f"`sequences` must be a list of iterables. Found non-iterable: {one!s}"
            )
    if isinstance(value, str) and np.dtype(dtype).kind not in "OUS":
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\nYou should set "
            "`dtype=object` for variable length strings."
        )
    longest = max(map(len, sequences), default=0)
    length = longest if maxlen is None else to_int("maxlen", maxlen)
    if length < 0:
        raise ValueError(f"`maxlen` must not be negative. Received: maxlen={maxlen}")
    inner = next((np.asarray(one).shape[1:] for one in sequences if len(one)), ())
    try:
        array = np.full((len(sequences), length, *inner), value, dtype=dtype)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(
            f"Sequences cannot be filled up with {repr_of(value)} in an array of {repr_of(dtype)}."
        ) from None
    for k, one in enumerate(sequences):
        retained = one[max(len(one) - length, 0) :] if truncating == "pre" else one[:length]
        if not len(retained):
            continue
        part = np.asarray(retained, dtype=dtype)
        if part.shape[1:] != inner:
            raise ValueError(
                f"Shape of sample {part.shape[1:]} of sequence at position {k} is different from "
                f"expected shape {inner}"
            )
        array[k, (slice(length - len(part), None) if padding == "pre" else slice(len(part)))] = part
    return array


def set_random_seed(seed: int) -> None:
    """Begin all random numbers again: Python's, NumPy's (the older kind) and numtape's.

    Args:
      seed: An integer.

    Raises:
      ValueError: If it is none.

    Example:
      >>> tf.keras.utils.set_random_seed(3)
      >>> first = tf.random.normal((2,))
      >>> tf.keras.utils.set_random_seed(3)
      >>> bool(tf.reduce_all(tf.random.normal((2,)) == first))
      True
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise ValueError(
            "Expected `seed` argument to be an integer from 0 to 2**32 - 1. Received: "
            f"seed={seed!r} (of type {type(seed)})"
        )
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    set_seed(seed)


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Data for training as what a data set gives: ``x``, ``(x, y)`` or with weights.

    Args:
      x: Inputs.
      y: What is wanted; None for nothing.
      sample_weight: Weights; None for none.

    Returns:
      A tuple, or ``x`` alone, unless that is a tuple itself.

    Example:
      >>> tf.keras.utils.pack_x_y_sample_weight(1.0, 2.0)
      (1.0, 2.0)
    """
    if y is None:
        return (x,) if isinstance(x, tuple | list) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """What a data set gives, as inputs, what is wanted, and weights.

    Args:
      data: What `pack_x_y_sample_weight` gives.

    Returns:
      A tuple of three; None for what is not there.

    Raises:
      ValueError: If it has more parts.

    Example:
      >>> tf.keras.utils.unpack_x_y_sample_weight((1.0, 2.0))
      (1.0, 2.0, None)
    """
    parts = tuple(data) if isinstance(data, tuple | list) else (data,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            "Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, "
            f"found: {data}"
        )
    return (*parts, None, None)[:3]
