"""Layers that merge several tensors into one, and their function forms."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.as_tensor import as_tensor
from ...core.log.layer_context import mask_of
from ...core.ops import comparison, elementwise, movement
from ...core.ops.creation import ones_like, zeros_like
from ...core.ops.elementwise import cast
from ...core.ops.indexing import where
from ...core.ops.joining import concat
from ...core.ops.matrix_products import matmul
from ...core.ops.norms import l2_normalize
from ...core.ops.reduction import reduce_any
from ...core.values.dtypes import bool_, repr_of
from ..registry import describe
from .base import ConfiguredLayer, Shape, document

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike
    from ...core.values.tensor import Tensor
    from ..annotations import InputShape
    from ..symbolic import KerasTensor


def shapes_of(input_shape: object, kind: str, count: str = "a list of inputs") -> list[Shape]:
    """Return the shapes of several inputs as tuples.

    Args:
      input_shape: A list of shapes.
      kind: The kind of the layer, for the error message.
      count: The expected inputs, for the error message.

    Raises:
      ValueError: If the argument is not a list of shapes.
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


def _broadcast_shape(long_shape: Shape, short_shape: Shape) -> Shape:
    """Return the shape to which two shapes broadcast.

    Raises:
      ValueError: If they are incompatible.
    """
    if len(long_shape) < len(short_shape):
        long_shape, short_shape = short_shape, long_shape
    extra_axes = len(long_shape) - len(short_shape)
    sizes = list(long_shape[:extra_axes])
    for m, n in zip(long_shape[extra_axes:], short_shape, strict=True):
        if m is None or n is None:
            sizes.append(None)
        elif m != n and 1 not in (m, n):
            raise ValueError(
                f"Inputs have incompatible shapes. Received shapes {long_shape} and {short_shape}"
            )
        else:
            sizes.append(n if m == 1 else m)
    return tuple(sizes)


def _to_common_dtype(inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the inputs, converted to the dtype of their sum as in ``keras.ops``."""
    if len({x.dtype for x in inputs}) == 1:
        return list(inputs)
    from ..ops.define import promoted

    return promoted(*inputs)


class Merge(ConfiguredLayer):
    """Base class of layers that merge several tensors, by default element by element."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _nt_merge(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def build(self, input_shape: Sequence[InputShape]) -> None:
        """Check the shapes. The layer has no weights."""
        self.compute_output_shape(input_shape)

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Merge the inputs; axes of size 1 are inserted after the batch axis if ranks differ."""
        if not isinstance(inputs, list | tuple):
            raise ValueError(
                "A merge layer should be called on a list of inputs. Received: inputs="
                f"{inputs} (not a list of tensors)"
            )
        rank = max(x.ndim for x in inputs)
        return self._nt_merge(
            [
                x
                if x.ndim == rank
                else movement.reshape(x, (x.shape[0], *[1] * (rank - x.ndim), *x.shape[1:]))
                for x in _to_common_dtype(inputs)
            ]
        )

    def compute_output_shape(self, input_shape: Sequence[InputShape]) -> Shape:
        """Return the shape to which the inputs broadcast."""
        shapes = shapes_of(input_shape, "merge")
        batches = {shape[0] for shape in shapes if shape} - {None}
        if len(batches) > 1:
            raise ValueError(
                "Cannot merge tensors with different batch sizes. Received tensors with shapes "
                f"{shapes}"
            )
        result = shapes[0][1:]
        for shape in shapes[1:]:
            result = _broadcast_shape(result, shape[1:])
        return (next(iter(batches), None), *result)

    def compute_mask(
        self, inputs: Sequence[Tensor], previous_mask: Sequence[Tensor | None] | None = None
    ) -> Any:
        """Return the logical or of the masks; None if an input has no mask."""
        masks = _check_masks(inputs, previous_mask)
        if masks is None or any(mask is None for mask in masks):
            return None
        result = masks[0]
        for mask in masks[1:]:
            result = comparison.logical_or(result, mask)
        return result


def _check_masks(
    inputs: Sequence[Tensor], masks: Sequence[Tensor | None] | None
) -> list[Any] | None:
    """Check that there is a mask or None for each input, and return bool masks."""
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


def _broadcast_mask(x: Tensor) -> Any:
    """Return the mask of a tensor, broadcast to its shape, or None."""
    mask = mask_of(x)
    if mask is None:
        return None
    mask = movement.expand_dims(cast(as_tensor(mask), bool_), -1)
    return movement.broadcast_to(mask, tuple(x.shape))


_LAYER_RAISES = (
    "ValueError: At a call, if the inputs are not a list, or their shapes are incompatible."
)


class _PairwiseMerge(Merge):
    """Base class of layers that merge the first two inputs, then the result with the next one."""

    def _nt_merge(self, inputs: list[Any]) -> Any:
        result = inputs[0]
        for x in inputs[1:]:
            result = self._nt_merge_pair(result, x)
        return result

    def _nt_merge_pair(self, x: Tensor, y: Tensor) -> Any:
        raise NotImplementedError


@document(_LAYER_RAISES)
class Add(_PairwiseMerge):
    """Adds the inputs.

    >>> tf.keras.layers.Add()([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
    array([4., 6.], dtype=float32)
    """

    def _nt_merge_pair(self, x: Tensor, y: Tensor) -> Any:
        return x + y


@document(_LAYER_RAISES)
class Subtract(Merge):
    """Subtracts the second input from the first.

    >>> tf.keras.layers.Subtract()([tf.constant([1.0, 2.0]), tf.constant([3.0, 3.0])]).numpy()
    array([-2., -1.], dtype=float32)
    """

    def build(self, input_shape: Sequence[InputShape]) -> None:
        """Check that there are two inputs."""
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError(
                "A `Subtract` layer should be called on exactly 2 inputs. Received: "
                f"input_shape={input_shape}"
            )

    def _nt_merge(self, inputs: list[Any]) -> Any:
        return inputs[0] - inputs[1]


@document(_LAYER_RAISES)
class Multiply(_PairwiseMerge):
    """Multiplies the inputs, element by element.

    >>> tf.keras.layers.Multiply()([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
    array([3., 8.], dtype=float32)
    """

    def _nt_merge(self, inputs: list[Any]) -> Any:
        masks = [_broadcast_mask(x) for x in inputs]
        result = super()._nt_merge(
            [
                x if mask is None else where(mask, x, ones_like(x))
                for x, mask in zip(inputs, masks, strict=True)
            ]
        )
        if any(mask is None for mask in masks):
            return result
        any_mask = functools.reduce(comparison.logical_or, masks)
        return where(any_mask, result, zeros_like(result))

    def _nt_merge_pair(self, x: Tensor, y: Tensor) -> Any:
        return x * y


@document(_LAYER_RAISES)
class Average(Add):
    """Averages the inputs.

    >>> tf.keras.layers.Average()([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
    array([2., 3.], dtype=float32)
    """

    def _nt_merge(self, inputs: list[Any]) -> Any:
        return super()._nt_merge(inputs) / len(inputs)


class _Extremum(_PairwiseMerge):
    """Base class of the maximum and minimum, which ignore masked elements."""

    def _nt_merge(self, inputs: list[Any]) -> Any:
        result, result_mask = inputs[0], _broadcast_mask(inputs[0])
        for x in inputs[1:]:
            mask = _broadcast_mask(x)
            if mask is not None:
                x = where(mask, x, result)
            if result_mask is not None:
                result = where(result_mask, result, x)
            has_both_masks = mask is not None and result_mask is not None
            result_mask = comparison.logical_or(result_mask, mask) if has_both_masks else None
            result = self._nt_merge_pair(result, x)
        return result


@document(_LAYER_RAISES)
class Maximum(_Extremum):
    """Computes the maximum of the inputs, element by element.

    >>> tf.keras.layers.Maximum()([tf.constant([1.0, 5.0]), tf.constant([3.0, 4.0])]).numpy()
    array([3., 5.], dtype=float32)
    """

    def _nt_merge_pair(self, x: Tensor, y: Tensor) -> Any:
        return elementwise.maximum(x, y)


@document(_LAYER_RAISES)
class Minimum(_Extremum):
    """Computes the minimum of the inputs, element by element.

    >>> tf.keras.layers.Minimum()([tf.constant([1.0, 5.0]), tf.constant([3.0, 4.0])]).numpy()
    array([1., 4.], dtype=float32)
    """

    def _nt_merge_pair(self, x: Tensor, y: Tensor) -> Any:
        return elementwise.minimum(x, y)


@document(_LAYER_RAISES, axis="The axis along which to concatenate.")
class Concatenate(Merge):
    """Concatenates the inputs.

    >>> tf.keras.layers.Concatenate()([tf.ones((2, 3)), tf.ones((2, 1))]).shape
    TensorShape([2, 4])
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(axis=axis)

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the concatenated inputs."""
        return concat(_to_common_dtype(inputs), self.axis)

    def compute_output_shape(self, input_shape: Sequence[InputShape]) -> Shape:
        """Return the shape, whose size along the axis is the sum of the sizes of the inputs."""
        shapes = shapes_of(input_shape, "`Concatenate`", "a list of at least 1 input")
        rank = len(shapes[0])
        if not -rank <= self.axis < rank:
            raise ValueError(
                f"Axis {repr_of(self.axis)} is out of bounds for inputs of shape {shapes[0]}."
            )
        are_compatible = all(
            len(shape) == rank
            and all(
                k == self.axis % rank or None in (m, n) or m == n
                for k, (m, n) in enumerate(zip(shape, shapes[0], strict=True))
            )
            for shape in shapes
        )
        if not are_compatible:
            raise ValueError(
                "A `Concatenate` layer requires inputs with matching shapes except for the "
                f"concatenation axis. Received: input_shape={shapes}"
            )
        sizes = [shape[self.axis] for shape in shapes]
        full = list(shapes[0])
        full[self.axis] = None if None in sizes else sum(n for n in sizes if n is not None)
        return tuple(full)

    def compute_mask(
        self, inputs: Sequence[Tensor], previous_mask: Sequence[Tensor | None] | None = None
    ) -> Any:
        """Return the concatenated masks; an input without a mask counts as unmasked."""
        masks = _check_masks(inputs, previous_mask)
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


@document(
    "TypeError: If ``axes`` is not an int or a list.\n"
    "ValueError: If the list is not a pair; at a call, if there are not two inputs, or their sizes "
    "along the axes differ.",
    axes="The axes to sum over: an int for both inputs, or a pair.",
    normalize="Whether to normalize the inputs along the axes, so that the results are cosines.",
)
class Dot(Merge):
    """Computes dot products of two inputs along an axis of each, for each example.

    >>> tf.keras.layers.Dot(1)([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]).numpy()
    array([[11.]], dtype=float32)
    """

    def __init__(self, axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(axes, int):
            if not isinstance(axes, list | tuple):
                raise TypeError(
                    "Invalid type for argument `axes`: it should be a list or an int. Received: "
                    f"axes={repr_of(axes)}"
                )
            if len(axes) != 2 or not all(isinstance(axis, int) for axis in axes):
                raise ValueError(
                    "Invalid format for argument `axes`: it should contain two integers. "
                    f"Received: axes={repr_of(axes)}"
                )
        self._nt_set_arguments(axes=axes, normalize=normalize)

    def _nt_contracted_axes(self, *shapes: Shape) -> tuple[int, int]:
        """Return the axis of each input as a non-negative int."""
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        ranks = [len(shape) for shape in shapes]
        if min(ranks) < 2:
            raise ValueError(
                "Cannot do batch_dot on inputs with rank < 2. Received inputs with shapes "
                f"{shapes[0]} and {shapes[1]}."
            )
        for axis, rank in zip(axes, ranks, strict=True):
            if not -rank <= axis < rank or axis % rank == 0:
                raise ValueError(
                    f"Cannot perform batch_dot over axis {axis} of inputs with shapes "
                    f"{shapes[0]} and {shapes[1]}: the axes are 1 to {rank - 1}."
                )
        return axes[0] % ranks[0], axes[1] % ranks[1]

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the dot products."""
        x, y = _to_common_dtype(inputs)
        full = self._nt_known_output_shape([tuple(x.shape), tuple(y.shape)])
        i, j = self._nt_contracted_axes(tuple(x.shape), tuple(y.shape))
        if self.normalize:
            x, y = l2_normalize(x, i, 1e-14), l2_normalize(y, j, 1e-14)
        batch, size = x.shape[0], x.shape[i]
        x = movement.transpose(x, [k for k in range(x.ndim) if k != i] + [i])
        y = movement.transpose(y, [0, j] + [k for k in range(1, y.ndim) if k != j])
        rows = x._spec.size // max(batch * size, 1)
        columns = y._spec.size // max(batch * size, 1)
        product = matmul(
            movement.reshape(x, (batch, rows, size)), movement.reshape(y, (batch, size, columns))
        )
        return movement.reshape(product, full)

    def compute_output_shape(self, input_shape: Sequence[InputShape]) -> Shape:
        """Return the shape without the summed axes."""
        shapes = shapes_of(input_shape, "`Dot`", "a list of 2 inputs")
        if len(shapes) != 2:
            raise ValueError(
                f"A `Dot` layer should be called on a list of 2 inputs. Received: "
                f"input_shape={input_shape}"
            )
        first_shape, second_shape = shapes
        i, j = self._nt_contracted_axes(first_shape, second_shape)
        if None not in (first_shape[i], second_shape[j]) and first_shape[i] != second_shape[j]:
            raise ValueError(
                f"Incompatible input shapes: axis values {first_shape[i]} (at axis {i}) != "
                f"{second_shape[j]} (at axis {j}). Full input shapes: {first_shape}, {second_shape}"
            )
        if None not in (first_shape[0], second_shape[0]) and first_shape[0] != second_shape[0]:
            raise ValueError(
                "Cannot do batch_dot on inputs with different batch sizes. Received inputs with "
                f"shapes {first_shape} and {second_shape}."
            )
        sizes = [n for k, n in enumerate(first_shape) if k != i]
        sizes += [n for k, n in enumerate(second_shape) if k not in (0, j)]
        return tuple(sizes) if len(sizes) > 1 else (*sizes, 1)

    def compute_mask(self, inputs: object, previous_mask: object = None) -> None:
        """Return no mask."""


_ARGUMENTS = {
    "inputs": "A list of tensors.",
    "axis": "The axis along which to concatenate.",
    "axes": "The axes to sum over: an int for both inputs, or a pair.",
    "kwargs": "Further arguments of the layer.",
}
_RAISES = "ValueError: If the inputs are not a list, or their shapes do not fit."
_documented = describe(_ARGUMENTS, "A tensor.", _RAISES)


@_documented
def add(inputs: Sequence[TensorLike | KerasTensor], **kwargs: Any) -> Tensor | Any:
    """Add tensors.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.keras.layers.add([x[0], x[1]]).numpy()
    array([4., 6.], dtype=float32)
    """
    return Add(**kwargs)(inputs)


@_documented
def subtract(inputs: Sequence[TensorLike | KerasTensor], **kwargs: Any) -> Tensor | Any:
    """Subtract the second of two tensors from the first.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 3.0]])
    >>> tf.keras.layers.subtract([x[0], x[1]]).numpy()
    array([-2., -1.], dtype=float32)
    """
    return Subtract(**kwargs)(inputs)


@_documented
def multiply(inputs: Sequence[TensorLike | KerasTensor], **kwargs: Any) -> Tensor | Any:
    """Multiply tensors, element by element.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.keras.layers.multiply([x[0], x[1]]).numpy()
    array([3., 8.], dtype=float32)
    """
    return Multiply(**kwargs)(inputs)


@_documented
def average(inputs: Sequence[TensorLike | KerasTensor], **kwargs: Any) -> Tensor | Any:
    """Average tensors.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.keras.layers.average([x[0], x[1]]).numpy()
    array([2., 3.], dtype=float32)
    """
    return Average(**kwargs)(inputs)


@_documented
def maximum(inputs: Sequence[TensorLike | KerasTensor], **kwargs: Any) -> Tensor | Any:
    """Return the maximum of tensors, element by element.

    >>> x = tf.constant([[1.0, 5.0], [3.0, 4.0]])
    >>> tf.keras.layers.maximum([x[0], x[1]]).numpy()
    array([3., 5.], dtype=float32)
    """
    return Maximum(**kwargs)(inputs)


@_documented
def minimum(inputs: Sequence[TensorLike | KerasTensor], **kwargs: Any) -> Tensor | Any:
    """Return the minimum of tensors, element by element.

    >>> x = tf.constant([[1.0, 5.0], [3.0, 4.0]])
    >>> tf.keras.layers.minimum([x[0], x[1]]).numpy()
    array([1., 4.], dtype=float32)
    """
    return Minimum(**kwargs)(inputs)


@_documented
def concatenate(
    inputs: Sequence[TensorLike | KerasTensor], axis: int = -1, **kwargs: Any
) -> Tensor | Any:
    """Concatenate tensors.

    >>> tf.keras.layers.concatenate([tf.ones((2, 3)), tf.ones((2, 1))]).shape
    TensorShape([2, 4])
    """
    return Concatenate(axis, **kwargs)(inputs)


@_documented
def dot(
    inputs: Sequence[TensorLike | KerasTensor], axes: int | Sequence[int] = -1, **kwargs: Any
) -> Tensor | Any:
    """Compute dot products of two tensors along an axis of each, for each example.

    >>> tf.keras.layers.dot([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])], 1).numpy()
    array([[11.]], dtype=float32)
    """
    return Dot(axes, **kwargs)(inputs)
