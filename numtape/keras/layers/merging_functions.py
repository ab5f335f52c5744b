"""Functions that make a merging layer and call it."""

from __future__ import annotations

from typing import Any

from ..described import describe
from . import merging
from .dot import Dot

_ARGUMENTS = {
    "inputs": "A list of tensors.",
    "axis": "The axis along which they are put one behind the other.",
    "axes": "The axis of each input that is summed over: an int for both, or a pair.",
    "kwargs": "What the layer takes besides.",
}
_RAISES = "ValueError: If the inputs are not a list, or their shapes do not fit."
_documented = describe(_ARGUMENTS, "A tensor.", _RAISES)


@_documented
def add(inputs: Any, **kwargs: Any) -> Any:
    """The sum of tensors.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.keras.layers.add([x[0], x[1]]).numpy()
    array([4., 6.], dtype=float32)
    """
    return merging.Add(**kwargs)(inputs)


@_documented
def subtract(inputs: Any, **kwargs: Any) -> Any:
    """The first of two tensors less the second.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 3.0]])
    >>> tf.keras.layers.subtract([x[0], x[1]]).numpy()
    array([-2., -1.], dtype=float32)
    """
    return merging.Subtract(**kwargs)(inputs)


@_documented
def multiply(inputs: Any, **kwargs: Any) -> Any:
    """The product of tensors, element by element.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.keras.layers.multiply([x[0], x[1]]).numpy()
    array([3., 8.], dtype=float32)
    """
    return merging.Multiply(**kwargs)(inputs)


@_documented
def average(inputs: Any, **kwargs: Any) -> Any:
    """The mean of tensors.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.keras.layers.average([x[0], x[1]]).numpy()
    array([2., 3.], dtype=float32)
    """
    return merging.Average(**kwargs)(inputs)


@_documented
def maximum(inputs: Any, **kwargs: Any) -> Any:
    """The largest of tensors, element by element.

    >>> x = tf.constant([[1.0, 5.0], [3.0, 4.0]])
    >>> tf.keras.layers.maximum([x[0], x[1]]).numpy()
    array([3., 5.], dtype=float32)
    """
    return merging.Maximum(**kwargs)(inputs)


@_documented
def minimum(inputs: Any, **kwargs: Any) -> Any:
    """The smallest of tensors, element by element.

    >>> x = tf.constant([[1.0, 5.0], [3.0, 4.0]])
    >>> tf.keras.layers.minimum([x[0], x[1]]).numpy()
    array([1., 4.], dtype=float32)
    """
    return merging.Minimum(**kwargs)(inputs)


@_documented
def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Tensors, one behind the other.

    >>> tf.keras.layers.concatenate([tf.ones((2, 3)), tf.ones((2, 1))]).shape
    TensorShape([2, 4])
    """
    return merging.Concatenate(axis, **kwargs)(inputs)


@_documented
def dot(inputs: Any, axes: Any = -1, **kwargs: Any) -> Any:
    """Sums of products of two tensors along an axis of each, for each element of the batch.

    >>> tf.keras.layers.dot([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])], 1).numpy()
    array([[11.]], dtype=float32)
    """
    return Dot(axes, **kwargs)(inputs)
