"""Layers that cut off or add elements around the axes in space, or repeat them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.ops import movement
from ...core.ops.images import resize
from ...core.ops.padding import pad
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
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
    """How many elements before and behind each axis, out of an int, some ints or pairs.

    Raises:
      ValueError: If they do not fit.
    """
    if rank == 1:
        before, behind = int_tuple(value, 2, name, 0)
        return ((before, behind),)
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
    places = ("1st", "2nd", "3rd")
    result = (
        int_tuple(v, 2, f"{p} entry of {name}", 0) for v, p in zip(value, places, strict=False)
    )
    return tuple((before, behind) for before, behind in result)


class _BorderLayer(ConfiguredLayer):
    """Layers with a pair of numbers for each axis in space."""

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
        """A pair for each axis: none for the batch and the channels."""
        return list(join_shape(pair, self._nt_pairs, pair, self.data_format))


class _Cropping(_BorderLayer):
    """Elements cut off from `rank` axes in space."""

    def call(self, inputs: Tensor) -> Tensor:
        """Give the inputs without their borders."""
        shape = self.compute_output_shape(inputs.shape)
        pairs = self._nt_pairs_of_all_axes((0, 0))
        cut = tuple(
            slice(before, before + (size or 0))
            for (before, _), size in zip(pairs, shape, strict=True)
        )
        result: Tensor = inputs[cut]
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Give the shape of what is left."""
        shape = tuple(input_shape)
        space, channels = split_shape(shape, self.data_format)
        left = [
            None if size is None else size - before - behind
            for size, (before, behind) in zip(space, self._nt_pairs, strict=True)
        ]
        if any(size is not None and size <= 0 for size in left):
            raise ValueError(
                "Values in `cropping` argument should be smaller than the corresponding spatial "
                f"dimension of the input. Received: input_shape={shape}, "
                f"cropping={self.cropping}"
            )
        return join_shape(shape[0], left, channels, self.data_format)


_CROP = (
    "ValueError: If they are not such numbers, or negative; at a call, if the inputs have other "
    "axes or nothing is left."
)
_CUT = "How many elements are cut off: an int, an int for each axis, or a pair for each axis."


@document(_CROP, cropping="How many steps are cut off: an int, or those before and behind.")
class Cropping1D(_Cropping):
    """Steps cut off from inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.Cropping1D((1, 2))(tf.ones((2, 6, 3))).shape
    TensorShape([2, 3, 3])
    """

    rank = 1

    def __init__(self, cropping: int | Sequence[int] = (1, 1), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_pairs("cropping", cropping, None, False)


@document(_CROP, cropping=_CUT)
class Cropping2D(_Cropping):
    """Borders cut off from pictures, of shape (batch, height, width, channels).

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


@document(_CROP, cropping=_CUT)
class Cropping3D(_Cropping):
    """Borders cut off from inputs of shape (batch, depth, height, width, channels).

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
    """Zeros around `rank` axes in space."""

    def call(self, inputs: Tensor) -> Tensor:
        """Give the inputs with zeros around them."""
        return pad(inputs, self._nt_pairs_of_all_axes((0, 0)))

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Give the shape with the borders."""
        shape = tuple(input_shape)
        space, channels = split_shape(shape, self.data_format)
        sizes = [
            None if size is None else size + before + behind
            for size, (before, behind) in zip(space, self._nt_pairs, strict=True)
        ]
        return join_shape(shape[0], sizes, channels, self.data_format)


_PAD = (
    "ValueError: If they are not such numbers, or negative; at a call, if the inputs have other "
    "axes."
)
_ADD = "How many zeros are added: an int, an int for each axis, or a pair for each axis."


@document(_PAD, padding="How many zeros are added: an int, or those before and behind.")
class ZeroPadding1D(_ZeroPadding):
    """Zeros before and behind the steps of inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.ZeroPadding1D((0, 2))(tf.ones((1, 2, 1))).numpy().ravel()
    array([1., 1., 0., 0.], dtype=float32)
    """

    rank = 1

    def __init__(
        self, padding: int | Sequence[int] = 1, data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_pairs("padding", padding, data_format)


@document(_PAD, padding=_ADD)
class ZeroPadding2D(_ZeroPadding):
    """Zeros around pictures, of shape (batch, height, width, channels).

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


@document(_PAD, padding=_ADD)
class ZeroPadding3D(_ZeroPadding):
    """Zeros around inputs of shape (batch, depth, height, width, channels).

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
    """How many elements there are before an axis, along it and behind it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


class _UpSampling(ConfiguredLayer):
    """Each element several times along `rank` axes in space."""

    rank: int
    data_format: str
    interpolation = "nearest"

    @property
    def _nt_factors(self) -> tuple[int, ...]:
        times: tuple[int, ...] = (self.size,) if self.rank == 1 else self.size
        return times

    def call(self, inputs: Tensor) -> Tensor:
        """Give the inputs with each element repeated, or what lies between elements."""
        if self.interpolation != "nearest":
            return self._nt_resize(inputs, self.compute_output_shape(inputs.shape))
        for axis, times in enumerate(join_shape(1, self._nt_factors, 1, self.data_format)):
            if times > 1:
                before, size, behind = sizes_around(tuple(inputs.shape), axis)
                separate = movement.reshape(inputs, (before, size, 1, behind))
                wide = movement.broadcast_to(separate, (before, size, times, behind))
                inputs = movement.reshape(
                    wide, (*inputs.shape[:axis], size * times, *inputs.shape[axis + 1 :])
                )
        return inputs

    def _nt_resize(self, inputs: Tensor, full: Shape) -> Tensor:
        if self.data_format == "channels_last":
            return resize(inputs, full[1:-1], self.interpolation)
        result = resize(movement.transpose(inputs, (0, 2, 3, 1)), full[2:], self.interpolation)
        return movement.transpose(result, (0, 3, 1, 2))

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Give the shape with the larger sizes in space."""
        shape = tuple(input_shape)
        space, channels = split_shape(shape, self.data_format)
        sizes = [
            None if n is None else n * count
            for n, count in zip(space, self._nt_factors, strict=True)
        ]
        return join_shape(shape[0], sizes, channels, self.data_format)


@document(
    "TypeError: If ``size`` is not an int.\nValueError: If it is not positive; at a call, if the "
    "inputs have other axes.",
    size="How often each step is there.",
)
class UpSampling1D(_UpSampling):
    """Each step several times: inputs of shape (batch, steps, channels).

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


_TIMES = "How often each element is there: an int, or one for each axis in space."
_SIZES = (
    "ValueError: If an argument is out of range or a name unknown; at a call, if the inputs "
    "have other axes."
)


@document(
    _SIZES,
    size=_TIMES,
    interpolation='"nearest", which repeats pixels, or "bilinear", means of the four nearest ones.',
)
class UpSampling2D(_UpSampling):
    """Each pixel several times: pictures of shape (batch, height, width, channels).

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
        known = ("bilinear", "nearest")
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


@document(_SIZES, size=_TIMES)
class UpSampling3D(_UpSampling):
    """Each element several times: inputs of shape (batch, depth, height, width, channels).

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
