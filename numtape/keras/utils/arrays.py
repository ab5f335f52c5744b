"""One-hot encoding, normalization, padding of sequences, seeds, and (x, y, weight) tuples."""

from __future__ import annotations

import random
from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.ops.elementwise import abs_, maximum
from ...core.ops.indexing import one_hot
from ...core.ops.movement import reshape
from ...core.ops.norms import l2_normalize
from ...core.ops.random import set_seed
from ...core.ops.reduction import reduce_max, reduce_sum
from ...core.values.arguments import to_int
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from ..settings import epsilon

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike, TensorLike


def to_categorical(x: TensorLike, num_classes: int | None = None) -> Any:
    """One-hot encode class numbers.

    Args:
      x: Class numbers, from 0. A last axis of size 1 is dropped.
      num_classes: The number of classes; default: one more than the largest class number.

    Returns:
      A NumPy array with a class axis at its end; a tensor for a tensor.

    Raises:
      ValueError: If a class number is out of range, or ``x`` is a tensor without ``num_classes``.

    Example:
      >>> tf.keras.utils.to_categorical([0, 2])
      array([[1., 0., 0.],
             [0., 0., 1.]])
    """
    if isinstance(x, Tensor):
        if num_classes is None:
            raise ValueError("num_classes is required for a tensor.")
        has_unit_axis = x.ndim > 1 and x.shape[-1] == 1
        return one_hot(reshape(x, x.shape[:-1]) if has_unit_axis else x, num_classes)
    try:
        labels = np.array(x, dtype="int64")
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"Labels must be class numbers, got {repr_of(x)}: {error}") from None
    if labels.ndim > 1 and labels.shape[-1] == 1:
        labels = labels[..., 0]
    if not num_classes and not labels.size:
        raise ValueError("num_classes is required for empty labels.")
    count = to_int("num_classes", num_classes or labels.max() + 1)
    if labels.size and not (0 <= labels.min() and labels.max() < count):
        raise ValueError(
            f"Labels of {count} classes must be from 0 to {count - 1}, "
            f"got {labels.min()} to {labels.max()} in x."
        )
    return np.eye(count)[labels]


def normalize(x: TensorLike, axis: int = -1, order: float = 2) -> Any:
    """Divide vectors by their norm.

    Args:
      x: A NumPy array or a tensor.
      axis: The axis of the vectors.
      order: The order of the norm: a positive number or ``np.inf``.

    Returns:
      An array, or a tensor for a tensor. Zero vectors stay zero.

    Raises:
      ValueError: If ``order``, ``x`` or ``axis`` is invalid.

    Example:
      >>> tf.keras.utils.normalize(np.array([[3.0, 4.0], [0.0, 0.0]]))
      array([[0.6, 0.8],
             [0. , 0. ]])
    """
    if not isinstance(order, int | float) or not order > 0:
        raise ValueError(f"order must be a positive number, got {order!r}.")
    if not isinstance(x, Tensor):
        x = np.asarray(x)
        if x.dtype.kind not in "biufc" or not x.ndim:
            raise ValueError(f"x must be an array of numbers with axes, got {repr_of(x)}.")
        axis = to_int("axis", axis)
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"axis {axis} is out of range for an array of shape {x.shape}.")
        size = np.linalg.norm(x, order, axis, keepdims=True)
        return x / np.where(size == 0, 1, size)
    if order == 2:
        return l2_normalize(x, axis, epsilon() ** 2)
    if order == np.inf:
        length = reduce_max(abs_(x), axis, True)
    else:
        length = reduce_sum(abs_(x) ** order, axis, True) ** (1.0 / order)
    return x / maximum(length, epsilon())


def pad_sequences(
    sequences: _Sequence[Any],
    maxlen: int | None = None,
    dtype: DTypeLike = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: object = 0.0,
) -> np.ndarray[Any, Any]:
    """Pad or truncate sequences to a common length.

    Args:
      sequences: A list of lists, or of arrays that agree in all axes but the first.
      maxlen: The common length; default: that of the longest sequence.
      dtype: The dtype of the array.
      padding: "pre" to pad at the start, "post" at the end.
      truncating: "pre" to truncate at the start, "post" at the end.
      value: The padding value.

    Returns:
      A NumPy array of shape (sequences, length, ...).

    Raises:
      ValueError: If an element is not a sequence, or their shapes differ.

    Example:
      >>> tf.keras.utils.pad_sequences([[1], [2, 3], [4, 5, 6]], maxlen=2)
      array([[0, 1],
             [2, 3],
             [5, 6]], dtype=int32)
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for kind, side in (("Padding", padding), ("Truncating", truncating)):
        if side not in ("pre", "post"):
            raise ValueError(f'{kind} type "{side}" not understood')
    for sequence in sequences:
        if not hasattr(sequence, "__len__"):
            raise ValueError(
                f"`sequences` must be a list of iterables. Found non-iterable: {sequence!s}"
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
    inner_shape = next(
        (np.asarray(sequence).shape[1:] for sequence in sequences if len(sequence)), ()
    )
    try:
        array = np.full((len(sequences), length, *inner_shape), value, dtype=dtype)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(
            f"Sequences cannot be padded with {repr_of(value)} in an array of {repr_of(dtype)}."
        ) from None
    for k, sequence in enumerate(sequences):
        truncated = (
            sequence[max(len(sequence) - length, 0) :] if truncating == "pre" else sequence[:length]
        )
        if not len(truncated):
            continue
        part = np.asarray(truncated, dtype=dtype)
        if part.shape[1:] != inner_shape:
            raise ValueError(
                f"Shape of sample {part.shape[1:]} of sequence at position {k} is different from "
                f"expected shape {inner_shape}"
            )
        array[k, (slice(length - len(part), None) if padding == "pre" else slice(len(part)))] = part
    return array


def set_random_seed(seed: int) -> None:
    """Seed the random generators of Python, NumPy (its legacy global state) and numtape.

    Args:
      seed: An integer from 0 to 2**32 - 1.

    Raises:
      ValueError: If ``seed`` is not such an integer.

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
    """Pack training data as a dataset yields it: ``x``, ``(x, y)`` or ``(x, y, sample_weight)``.

    Args:
      x: Inputs.
      y: Targets, or None.
      sample_weight: Weights, or None.

    Returns:
      A tuple; without ``y``, ``x`` itself, or ``(x,)`` if ``x`` is a tuple or list.

    Example:
      >>> tf.keras.utils.pack_x_y_sample_weight(1.0, 2.0)
      (1.0, 2.0)
    """
    if y is None:
        return (x,) if isinstance(x, tuple | list) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """Unpack an element of a dataset into inputs, targets and weights.

    Args:
      data: ``x``, ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``.

    Returns:
      A tuple ``(x, y, sample_weight)``, with None for missing parts.

    Raises:
      ValueError: If ``data`` has no or more than three parts.

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
