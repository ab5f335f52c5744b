"""Layers that crop, pad or repeat elements along spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.ops import movement
from ...core.ops.padding import pad
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
from ..symbolic import operation_function
from .base import (
    ConfiguredLayer,
    Shape,
    document,
    int_tuple,
    join_shape,
    parse_data_format,
    split_shape,
)

if TYPE_CHECKING:
    from ..annotations import InputShape

_Pairs = tuple[tuple[int, int], ...]


def _parse_pairs(value: int | Sequence[int | Sequence[int]], rank: int, name: str) -> _Pairs:
    """Return a pair (before, after) for each spatial axis.

    Args:
      value: An int, an int for each axis, or a pair for each axis; for one axis, an int or a pair.
      rank: The number of spatial axes.
      name: The name of the argument, for error messages.

    Raises:
      ValueError: If the value has another form, or a number is negative.
    """
    if rank == 1:
        before, after = int_tuple(value, 2, name, 0)
        return ((before, after),)
    if isinstance(value, int):
        if value < 0:
            raise ValueError(f"`{name}` cannot be negative. Received: {name}={value}.")
        return ((value, value),) * rank
    if not isinstance(value, list | tuple):
        raise ValueError(
            f"`{name}` should be either an int, a tuple of {rank} ints, or a tuple of {rank} "
            f"tuples of 2 ints. Received: {name}={repr_of(value)}."
        )
    if len(value) != rank:
        raise ValueError(
            f"`{name}` should have {rank} elements. Received: {name}={repr_of(value)}."
        )
    ordinals = ("1st", "2nd", "3rd")
    result = (
        int_tuple(v, 2, f"{ordinal} entry of {name}", 0)
        for v, ordinal in zip(value, ordinals, strict=False)
    )
    return tuple((before, after) for before, after in result)


class _BorderLayer(ConfiguredLayer):
    """Base class of layers with a pair of numbers for each spatial axis."""

    rank: int

    def _nt_set_pairs(
        self,
        name: str,
        value: int | Sequence[int | Sequence[int]],
        data_format: str | None,
        in_config: bool = True,
    ) -> None:
        self._nt_pairs = _parse_pairs(value, self.rank, name)
        self._nt_set_arguments(**{name: self._nt_pairs[0] if self.rank == 1 else self._nt_pairs})
        self.data_format = parse_data_format(data_format)
        if in_config:
            self._nt_set_arguments(data_format=self.data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _nt_pairs_of_all_axes(self, pair: tuple[int, int]) -> list[Any]:
        """Return a pair for each axis; ``pair`` is that of the batch and channel axes."""
        return list(join_shape(pair, self._nt_pairs, pair, self.data_format))


class _Cropping(_BorderLayer):
    """Base class of cropping along `rank` spatial axes."""

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs without the cropped elements."""
        shape = self.compute_output_shape(inputs.shape)
        pairs = self._nt_pairs_of_all_axes((0, 0))
        window = tuple(
            slice(before, before + (size or 0))
            for (before, _), size in zip(pairs, shape, strict=True)
        )
        result: Tensor = inputs[window]
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape after cropping."""
        shape = tuple(input_shape)
        spatial_sizes, channels = split_shape(shape, self.data_format)
        cropped_sizes = [
            None if size is None else size - before - after
            for size, (before, after) in zip(spatial_sizes, self._nt_pairs, strict=True)
        ]
        if any(size is not None and size <= 0 for size in cropped_sizes):
            raise ValueError(
                "Values in `cropping` argument should be smaller than the corresponding spatial "
                f"dimension of the input. Received: input_shape={shape}, "
                f"cropping={self.cropping}"
            )
        return join_shape(shape[0], cropped_sizes, channels, self.data_format)


_CROP_RAISES = (
    "ValueError: If ``cropping`` is invalid; at a call, if the number of axes is wrong or no "
    "element remains."
)
_CROPPING = "The number of elements to remove: an int, an int per axis, or a pair per axis."


@document(_CROP_RAISES, cropping="The number of steps to remove: an int or a pair (before, after).")
class Cropping1D(_Cropping):
    """Removes steps at both ends of inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.Cropping1D((1, 2))(tf.ones((2, 6, 3))).shape
    TensorShape([2, 3, 3])
    """

    rank = 1

    def __init__(self, cropping: int | Sequence[int] = (1, 1), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_pairs("cropping", cropping, None, False)


@document(_CROP_RAISES, cropping=_CROPPING)
class Cropping2D(_Cropping):
    """Removes the borders of images of shape (batch, height, width, channels).

    >>> tf.keras.layers.Cropping2D(((1, 0), (2, 2)))(tf.ones((2, 6, 6, 3))).shape
    TensorShape([2, 5, 2, 3])
    """

    rank = 2

    def __init__(
        self,
        cropping: int | Sequence[int | Sequence[int]] = ((0, 0), (0, 0)),
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_pairs("cropping", cropping, data_format)


@document(_CROP_RAISES, cropping=_CROPPING)
class Cropping3D(_Cropping):
    """Removes the borders of inputs of shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.Cropping3D(1)(tf.ones((2, 6, 6, 6, 3))).shape
    TensorShape([2, 4, 4, 4, 3])
    """

    rank = 3

    def __init__(
        self,
        cropping: int | Sequence[int | Sequence[int]] = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_pairs("cropping", cropping, data_format)


class _ZeroPadding(_BorderLayer):
    """Base class of padding with zeros along `rank` spatial axes."""

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs with zeros around them."""
        return pad(inputs, self._nt_pairs_of_all_axes((0, 0)))

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape after padding."""
        shape = tuple(input_shape)
        spatial_sizes, channels = split_shape(shape, self.data_format)
        sizes = [
            None if size is None else size + before + after
            for size, (before, after) in zip(spatial_sizes, self._nt_pairs, strict=True)
        ]
        return join_shape(shape[0], sizes, channels, self.data_format)


_PAD_RAISES = "ValueError: If ``padding`` is invalid; at a call, if the number of axes is wrong."
_PADDING = "The number of zeros to add: an int, an int per axis, or a pair per axis."


@document(_PAD_RAISES, padding="The number of zeros to add: an int, or a pair (before, after).")
class ZeroPadding1D(_ZeroPadding):
    """Adds zeros before and after the steps of inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.ZeroPadding1D((0, 2))(tf.ones((1, 2, 1))).numpy().ravel()
    array([1., 1., 0., 0.], dtype=float32)
    """

    rank = 1

    def __init__(
        self, padding: int | Sequence[int] = 1, data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_pairs("padding", padding, data_format)


@document(_PAD_RAISES, padding=_PADDING)
class ZeroPadding2D(_ZeroPadding):
    """Adds zeros around images of shape (batch, height, width, channels).

    >>> tf.keras.layers.ZeroPadding2D((1, 2))(tf.ones((2, 6, 6, 3))).shape
    TensorShape([2, 8, 10, 3])
    """

    rank = 2

    def __init__(
        self,
        padding: int | Sequence[int | Sequence[int]] = (1, 1),
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_pairs("padding", padding, data_format)


@document(_PAD_RAISES, padding=_PADDING)
class ZeroPadding3D(_ZeroPadding):
    """Adds zeros around inputs of shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.ZeroPadding3D()(tf.ones((2, 6, 6, 6, 3))).shape
    TensorShape([2, 8, 8, 8, 3])
    """

    rank = 3

    def __init__(
        self,
        padding: int | Sequence[int | Sequence[int]] = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_pairs("padding", padding, data_format)


def sizes_around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Return the products of the sizes before an axis, of the axis, and after it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


class _UpSampling(ConfiguredLayer):
    """Base class of repetition of elements along `rank` spatial axes."""

    rank: int
    data_format: str
    interpolation = "nearest"

    @property
    def _nt_factors(self) -> tuple[int, ...]:
        factors: tuple[int, ...] = (self.size,) if self.rank == 1 else self.size
        return factors

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs with each element repeated, or interpolated."""
        if self.interpolation != "nearest":
            sizes, _ = split_shape(self._nt_known_output_shape(inputs.shape), self.data_format)
            result: Tensor = operation_function("Resize")(
                inputs, sizes, self.interpolation, data_format=self.data_format
            )
            return result
        for axis, factor in enumerate(join_shape(1, self._nt_factors, 1, self.data_format)):
            if factor > 1:
                before, size, after = sizes_around(tuple(inputs.shape), axis)
                rows = movement.reshape(inputs, (before, size, 1, after))
                repeated_rows = movement.broadcast_to(rows, (before, size, factor, after))
                inputs = movement.reshape(
                    repeated_rows, (*inputs.shape[:axis], size * factor, *inputs.shape[axis + 1 :])
                )
        return inputs

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape with the repeated spatial sizes."""
        shape = tuple(input_shape)
        spatial_sizes, channels = split_shape(shape, self.data_format)
        sizes = [
            None if n is None else n * count
            for n, count in zip(spatial_sizes, self._nt_factors, strict=True)
        ]
        return join_shape(shape[0], sizes, channels, self.data_format)


@document(
    "TypeError: If ``size`` is not an int.\nValueError: If it is not positive; at a call, if the "
    "number of axes is wrong.",
    size="The number of repetitions of each step.",
)
class UpSampling1D(_UpSampling):
    """Repeats each step: inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.UpSampling1D(2)(tf.reshape([1.0, 2.0], (1, 2, 1))).numpy().ravel()
    array([1., 1., 2., 2.], dtype=float32)
    """

    rank = 1
    data_format = "channels_last"

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(size, int):
            raise TypeError(f"Expected an integer value for `size`, got {type(size)}.")
        if size <= 0:
            raise ValueError(f"Argument `size` should be a positive integer. Received: size={size}")
        self._nt_set_arguments(size=size)
        self.input_spec = InputSpec(ndim=3)


_SIZE = "The number of repetitions of each element: an int, or one for each spatial axis."
_RAISES = (
    "ValueError: If an argument is out of range or a name unknown; at a call, if the number of "
    "axes is wrong."
)


@document(
    _RAISES,
    size=_SIZE,
    interpolation='"nearest", which repeats pixels, or "bilinear", "bicubic", "lanczos3" or '
    '"lanczos5", which interpolate.',
)
class UpSampling2D(_UpSampling):
    """Repeats each pixel: images of shape (batch, height, width, channels).

    >>> tf.keras.layers.UpSampling2D((2, 3))(tf.ones((1, 4, 4, 3))).shape
    TensorShape([1, 8, 12, 3])
    """

    rank = 2

    def __init__(
        self,
        size: int | Sequence[int] = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        known = ("bicubic", "bilinear", "lanczos3", "lanczos5", "nearest")
        if interpolation not in known:
            raise ValueError(
                f"`interpolation` argument should be one of {known}. Received: interpolation="
                f"{repr_of(interpolation)}"
            )
        self._nt_set_arguments(
            size=int_tuple(size, 2, "size"),
            data_format=parse_data_format(data_format),
            interpolation=interpolation,
        )
        self.input_spec = InputSpec(ndim=4)


@document(_RAISES, size=_SIZE)
class UpSampling3D(_UpSampling):
    """Repeats each element: inputs of shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.UpSampling3D(2)(tf.ones((1, 2, 2, 2, 3))).shape
    TensorShape([1, 4, 4, 4, 3])
    """

    rank = 3

    def __init__(
        self, size: int | Sequence[int] = (2, 2, 2), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(
            size=int_tuple(size, 3, "size"), data_format=parse_data_format(data_format)
        )
        self.input_spec = InputSpec(ndim=5)
