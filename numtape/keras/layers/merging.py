"""Layers that make one tensor of several."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...core.log.ambient import mask_of
from ...core.log.tensors import as_tensor
from ...core.ops import comparison, elementwise, movement
from ...core.ops.creation import ones_like, zeros_like
from ...core.ops.elementwise import cast
from ...core.ops.indexing import where
from ...core.ops.joining import concat
from ...core.ops.reduction import reduce_any
from ...core.values.dtypes import bool_, repr_of
from .configured import ConfiguredLayer, Shape, document


def shapes_of(input_shape: Any, kind: str, count: str = "a list of inputs") -> list[Shape]:
    """The shapes of several inputs.

    Raises:
      ValueError: If it is the shape of one.
    """
    if (
        not isinstance(input_shape, list | tuple)
        or not all(isinstance(shape, Sequence) for shape in input_shape)
        or not input_shape
    ):
        raise ValueError(
            f"A {kind} layer should be called on {count}. Received: input_shape="
            f"{repr_of(input_shape)} (not a list of shapes)"
        )
    return [tuple(shape) for shape in input_shape]


def _common(first: Shape, second: Shape) -> Shape:
    """The shape that two broadcast to.

    Raises:
      ValueError: If they do not.
    """
    if len(first) < len(second):
        first, second = second, first
    lead = len(first) - len(second)
    sizes = list(first[:lead])
    for m, n in zip(first[lead:], second, strict=True):
        if m is None or n is None:
            sizes.append(None)
        elif m != n and 1 not in (m, n):
            raise ValueError(
                f"Inputs have incompatible shapes. Received shapes {first} and {second}"
            )
        else:
            sizes.append(n if m == 1 else m)
    return tuple(sizes)


class Merge(ConfiguredLayer):
    """Several tensors of one shape, or that broadcast, made one, element by element."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _nt_merged(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        """Check the shapes: there are no weights."""
        self.compute_output_shape(input_shape)

    def call(self, inputs: Any) -> Any:
        """Give what the inputs make; those with less axes get some behind the batch."""
        if not isinstance(inputs, list | tuple):
            raise ValueError(
                "A merge layer should be called on a list of inputs. Received: inputs="
                f"{inputs} (not a list of tensors)"
            )
        rank = max(x.ndim for x in inputs)
        return self._nt_merged(
            [
                x
                if x.ndim == rank
                else movement.reshape(x, (x.shape[0], *[1] * (rank - x.ndim), *x.shape[1:]))
                for x in inputs
            ]
        )

    def compute_output_shape(self, input_shape: Any) -> Shape:
        """Give the shape that all inputs broadcast to."""
        shapes = shapes_of(input_shape, "merge")
        batches = {shape[0] for shape in shapes if shape} - {None}
        if len(batches) > 1:
            raise ValueError(
                "Cannot merge tensors with different batch sizes. Received tensors with shapes "
                f"{shapes}"
            )
        result = shapes[0][1:]
        for shape in shapes[1:]:
            result = _common(result, shape[1:])
        return (next(iter(batches), None), *result)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Give where one of the masks is true; none if an input has none."""
        masks = _masks(inputs, previous_mask)
        if masks is None or any(mask is None for mask in masks):
            return None
        result = masks[0]
        for mask in masks[1:]:
            result = comparison.logical_or(result, mask)
        return result


def _masks(inputs: Any, masks: Any) -> list[Any] | None:
    """The masks of several inputs; None if they do not exist."""
    if masks is None:
        return None
    for name, value in (("mask", masks), ("inputs", inputs)):
        if not isinstance(value, list | tuple):
            raise ValueError(f"`{name}` should be a list. Received: {name}={repr_of(value)}")
    if len(masks) != len(inputs):
        raise ValueError(
            "The lists `inputs` and `mask` should have the same length. Received: inputs of "
            f"length {len(inputs)}, and mask of length {len(masks)}"
        )
    return [None if mask is None else cast(as_tensor(mask), bool_) for mask in masks]


def _spread(x: Any) -> Any:
    """A tensor's mask in its shape, or None."""
    mask = mask_of(x)
    if mask is None:
        return None
    mask = movement.expand_dims(cast(as_tensor(mask), bool_), -1)
    return movement.broadcast_to(mask, tuple(x.shape))


_WRONG = "ValueError: At a call, if the inputs are not a list, or their shapes do not fit."


class _Folded(Merge):
    """Inputs that are made one by a function of two."""

    def _nt_merged(self, inputs: list[Any]) -> Any:
        result = inputs[0]
        for x in inputs[1:]:
            result = self._nt_both(result, x)
        return result

    def _nt_both(self, x: Any, y: Any) -> Any:
        raise NotImplementedError


@document(_WRONG)
class Add(_Folded):
    """The sum of the inputs.

    >>> tf.keras.layers.Add()([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
    array([4., 6.], dtype=float32)
    """

    def _nt_both(self, x: Any, y: Any) -> Any:
        return x + y


@document(_WRONG)
class Subtract(Merge):
    """The first input less the second.

    >>> tf.keras.layers.Subtract()([tf.constant([1.0, 2.0]), tf.constant([3.0, 3.0])]).numpy()
    array([-2., -1.], dtype=float32)
    """

    def build(self, input_shape: Any) -> None:
        """Check that there are two inputs."""
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError(
                "A `Subtract` layer should be called on exactly 2 inputs. Received: "
                f"input_shape={input_shape}"
            )

    def _nt_merged(self, inputs: list[Any]) -> Any:
        return inputs[0] - inputs[1]


@document(_WRONG)
class Multiply(_Folded):
    """The product of the inputs, element by element.

    >>> tf.keras.layers.Multiply()([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
    array([3., 8.], dtype=float32)
    """

    def _nt_merged(self, inputs: list[Any]) -> Any:
        masks = [_spread(x) for x in inputs]
        result = super()._nt_merged(
            [
                x if mask is None else where(mask, x, ones_like(x))
                for x, mask in zip(inputs, masks, strict=True)
            ]
        )
        if any(mask is None for mask in masks):
            return result
        there = functools.reduce(comparison.logical_or, masks)
        return where(there, result, zeros_like(result))

    def _nt_both(self, x: Any, y: Any) -> Any:
        return x * y


@document(_WRONG)
class Average(Add):
    """The mean of the inputs.

    >>> tf.keras.layers.Average()([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
    array([2., 3.], dtype=float32)
    """

    def _nt_merged(self, inputs: list[Any]) -> Any:
        return super()._nt_merged(inputs) / len(inputs)


class _Extreme(_Folded):
    """The largest or the smallest input, of those that their masks count."""

    def _nt_merged(self, inputs: list[Any]) -> Any:
        result, known = inputs[0], _spread(inputs[0])
        for x in inputs[1:]:
            mask = _spread(x)
            if mask is not None:
                x = where(mask, x, result)
            if known is not None:
                result = where(known, result, x)
            both = mask is not None and known is not None
            known = comparison.logical_or(known, mask) if both else None
            result = self._nt_both(result, x)
        return result


@document(_WRONG)
class Maximum(_Extreme):
    """The largest of the inputs, element by element.

    >>> tf.keras.layers.Maximum()([tf.constant([1.0, 5.0]), tf.constant([3.0, 4.0])]).numpy()
    array([3., 5.], dtype=float32)
    """

    def _nt_both(self, x: Any, y: Any) -> Any:
        return elementwise.maximum(x, y)


@document(_WRONG)
class Minimum(_Extreme):
    """The smallest of the inputs, element by element.

    >>> tf.keras.layers.Minimum()([tf.constant([1.0, 5.0]), tf.constant([3.0, 4.0])]).numpy()
    array([1., 4.], dtype=float32)
    """

    def _nt_both(self, x: Any, y: Any) -> Any:
        return elementwise.minimum(x, y)


@document(_WRONG, axis="The axis along which they are put one behind the other.")
class Concatenate(Merge):
    """The inputs, one behind the other.

    >>> tf.keras.layers.Concatenate()([tf.ones((2, 3)), tf.ones((2, 1))]).shape
    TensorShape([2, 4])
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_keep(axis=axis)

    def call(self, inputs: Any) -> Any:
        """Give the inputs, one behind the other."""
        return concat(list(inputs), self.axis)

    def compute_output_shape(self, input_shape: Any) -> Shape:
        """Give the shape, whose size along the axis is the sum of the inputs'."""
        shapes = shapes_of(input_shape, "`Concatenate`", "a list of at least 1 input")
        rank = len(shapes[0])
        if not -rank <= self.axis < rank:
            raise ValueError(
                f"Axis {repr_of(self.axis)} is out of bounds for inputs of shape {shapes[0]}."
            )
        same = all(
            len(shape) == rank
            and all(
                k == self.axis % rank or None in (m, n) or m == n
                for k, (m, n) in enumerate(zip(shape, shapes[0], strict=True))
            )
            for shape in shapes
        )
        if not same:
            raise ValueError(
                "A `Concatenate` layer requires inputs with matching shapes except for the "
                f"concatenation axis. Received: input_shape={shapes}"
            )
        sizes = [shape[self.axis] for shape in shapes]
        full = list(shapes[0])
        full[self.axis] = None if None in sizes else sum(n for n in sizes if n is not None)
        return tuple(full)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Give the masks, one behind the other; where an input has none, all counts."""
        masks = _masks(inputs, previous_mask)
        if masks is None or all(mask is None for mask in masks):
            return None
        full = []
        for x, mask in zip(inputs, masks, strict=True):
            if mask is None:
                full.append(ones_like(x, bool_))
            elif mask.ndim < x.ndim:
                full.append(movement.broadcast_to(movement.expand_dims(mask, -1), tuple(x.shape)))
            else:
                full.append(mask)
        return reduce_any(concat(full, self.axis), -1)
