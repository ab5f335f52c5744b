"""Pooling: the maximum or mean of each window, or over all spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...core.ops import pooling
from ...core.ops.elementwise import cast, select
from ...core.ops.movement import expand_dims
from ...core.ops.reduction import reduce_max, reduce_mean, reduce_sum
from ...core.values.dtypes import bool_
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
    parse_padding,
    split_shape,
)
from .convolution import FORMATS, window_counts

if TYPE_CHECKING:
    from ..annotations import InputShape

_RAISES = (
    "ValueError: If an argument is out of range or a name unknown; at a call, if the inputs have "
    "a wrong number of axes, or are smaller than the window."
)
_STRIDES = "The step of the window: an int, or one for each spatial axis; None for ``pool_size``."


class Pooling(ConfiguredLayer):
    """Base class of pooling over windows that slide over `rank` spatial axes."""

    rank: int
    _nt_pool: ClassVar[Any]

    def __init__(
        self,
        pool_size: int | Sequence[int] = 2,
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        size = int_tuple(pool_size, self.rank, "pool_size")
        steps = size if strides is None else int_tuple(strides, self.rank, "strides")
        self._nt_set_arguments(
            pool_size=size,
            strides=steps,
            padding=parse_padding(padding),
            data_format=parse_data_format(data_format),
        )
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Tensor) -> Tensor:
        """Return one element for each window and channel."""
        self.compute_output_shape(inputs.shape)
        result: Tensor = self._nt_pool(
            inputs,
            list(self.pool_size),
            list(self.strides),
            self.padding.upper(),
            FORMATS[self.data_format][self.rank],
        )
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the output."""
        shape = tuple(input_shape)
        spatial_sizes, channels = split_shape(shape, self.data_format)
        result = window_counts(
            spatial_sizes, self.pool_size, self.strides, (1,) * self.rank, self.padding
        )
        if any(
            n is not None and n <= 0 < (m or 1) for n, m in zip(result, spatial_sizes, strict=True)
        ):
            raise ValueError(
                "Computed output size would be zero or negative. Received: `inputs.shape="
                f"{shape}`, `pool_size={self.pool_size}`, `strides={self.strides}`, "
                f"`padding={self.padding}`."
            )
        return join_shape(shape[0], result, channels, self.data_format)


@document(_RAISES, strides=_STRIDES, name="The name of the layer.")
class MaxPooling1D(Pooling):
    """The maximum of each window over one axis: inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.MaxPooling1D(2)(tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 4, 1))).numpy().ravel()
    array([5., 3.], dtype=float32)
    """

    rank = 1
    _nt_pool = staticmethod(pooling.max_pool1d)


@document(_RAISES, strides=_STRIDES, name="The name of the layer.")
class MaxPooling2D(Pooling):
    """The maximum of each window of images, of shape (batch, height, width, channels).

    >>> tf.keras.layers.MaxPooling2D()(tf.ones((1, 6, 4, 3))).shape
    TensorShape([1, 3, 2, 3])
    """

    rank = 2
    _nt_pool = staticmethod(pooling.max_pool2d)


@document(_RAISES, strides=_STRIDES, name="The name of the layer.")
class MaxPooling3D(Pooling):
    """The maximum of each window: (batch, depth, height, width, channels).

    >>> tf.keras.layers.MaxPooling3D()(tf.ones((1, 6, 4, 2, 3))).shape
    TensorShape([1, 3, 2, 1, 3])
    """

    rank = 3
    _nt_pool = staticmethod(pooling.max_pool3d)


class _AveragePooling(Pooling):
    """Base class of average pooling, whose `pool_size` has no default."""

    def __init__(
        self,
        pool_size: int | Sequence[int],
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)

    def call(self, inputs: Tensor) -> Tensor:
        """Return the mean of each window and channel."""
        return super().call(self._nt_floats(inputs))


@document(_RAISES, strides=_STRIDES, name="The name of the layer.")
class AveragePooling1D(_AveragePooling):
    """The mean of each window over one axis: inputs of shape (batch, steps, channels).

    >>> x = tf.reshape([1.0, 5.0, 2.0, 4.0], (1, 4, 1))
    >>> tf.keras.layers.AveragePooling1D(2)(x).numpy().ravel()
    array([3., 3.], dtype=float32)
    """

    rank = 1
    _nt_pool = staticmethod(pooling.avg_pool1d)


@document(_RAISES, strides=_STRIDES, name="The name of the layer.")
class AveragePooling2D(_AveragePooling):
    """The mean of each window of images, of shape (batch, height, width, channels).

    >>> tf.keras.layers.AveragePooling2D(2, strides=1)(tf.ones((1, 6, 4, 3))).shape
    TensorShape([1, 5, 3, 3])
    """

    rank = 2
    _nt_pool = staticmethod(pooling.avg_pool2d)


@document(_RAISES, strides=_STRIDES, name="The name of the layer.")
class AveragePooling3D(_AveragePooling):
    """The mean of each window: inputs of shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.AveragePooling3D(2)(tf.ones((1, 6, 4, 2, 3))).shape
    TensorShape([1, 3, 2, 1, 3])
    """

    rank = 3
    _nt_pool = staticmethod(pooling.avg_pool3d)


class GlobalPooling(ConfiguredLayer):
    """Base class of pooling over all of `rank` spatial axes."""

    rank: int
    _nt_reduce: ClassVar[Any]

    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(data_format=parse_data_format(data_format), keepdims=keepdims)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _nt_axes(self) -> list[int]:
        first_axis = 1 if self.data_format == "channels_last" else 2
        return list(range(first_axis, first_axis + self.rank))

    def call(self, inputs: Tensor) -> Tensor:
        """Return one element for each channel."""
        if self._nt_reduce is reduce_mean:
            inputs = self._nt_floats(inputs)
        result: Tensor = self._nt_reduce(inputs, self._nt_axes, self.keepdims)
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return (batch, channels), with spatial axes of size 1 if ``keepdims``."""
        shape = tuple(input_shape)
        channels = split_shape(shape, self.data_format)[1]
        spatial_sizes = (1,) * self.rank if self.keepdims else ()
        return join_shape(shape[0], spatial_sizes, channels, self.data_format)


_KEEPDIMS = "Whether to keep the spatial axes, with size 1."
_FORMAT = "ValueError: If the format is unknown; at a call, if the number of axes is wrong."


@document(_FORMAT, keepdims=_KEEPDIMS)
class GlobalAveragePooling1D(GlobalPooling):
    """The mean over the steps that are not masked: inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.GlobalAveragePooling1D()(tf.constant([[[1.0, 2.0], [3.0, 6.0]]])).numpy()
    array([[2., 4.]], dtype=float32)
    """

    rank = 1
    _nt_reduce = staticmethod(reduce_mean)

    def __init__(
        self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the mean of each channel over the steps where the mask is true."""
        if mask is None:
            return super().call(inputs)
        mask = expand_dims(cast(mask, bool_), 2 if self.data_format == "channels_last" else 1)
        total = reduce_sum(select(mask, inputs, 0.0), self._nt_axes, self.keepdims)
        return total / reduce_sum(cast(mask, inputs.dtype), self._nt_axes, self.keepdims)

    def compute_mask(self, inputs: object, previous_mask: object = None) -> None:
        """Return no mask, because the time steps are reduced."""


@document(_FORMAT, keepdims=_KEEPDIMS)
class GlobalAveragePooling2D(GlobalPooling):
    """The mean over images: inputs of shape (batch, height, width, channels).

    >>> tf.keras.layers.GlobalAveragePooling2D()(tf.ones((2, 4, 4, 3))).shape
    TensorShape([2, 3])
    """

    rank = 2
    _nt_reduce = staticmethod(reduce_mean)


@document(_FORMAT, keepdims=_KEEPDIMS)
class GlobalAveragePooling3D(GlobalPooling):
    """The mean over three axes: inputs of shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.GlobalAveragePooling3D(keepdims=True)(tf.ones((2, 4, 4, 4, 3))).shape
    TensorShape([2, 1, 1, 1, 3])
    """

    rank = 3
    _nt_reduce = staticmethod(reduce_mean)


@document(_FORMAT, keepdims=_KEEPDIMS)
class GlobalMaxPooling1D(GlobalPooling):
    """The maximum over the steps: inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.GlobalMaxPooling1D()(tf.constant([[[1.0, 7.0], [3.0, 6.0]]])).numpy()
    array([[3., 7.]], dtype=float32)
    """

    rank = 1
    _nt_reduce = staticmethod(reduce_max)


@document(_FORMAT, keepdims=_KEEPDIMS)
class GlobalMaxPooling2D(GlobalPooling):
    """The maximum over images: inputs of shape (batch, height, width, channels).

    >>> tf.keras.layers.GlobalMaxPooling2D()(tf.ones((2, 4, 4, 3))).shape
    TensorShape([2, 3])
    """

    rank = 2
    _nt_reduce = staticmethod(reduce_max)


@document(_FORMAT, keepdims=_KEEPDIMS)
class GlobalMaxPooling3D(GlobalPooling):
    """The maximum over three axes: inputs of shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.GlobalMaxPooling3D()(tf.ones((2, 4, 4, 4, 3))).shape
    TensorShape([2, 3])
    """

    rank = 3
    _nt_reduce = staticmethod(reduce_max)


class _AdaptivePooling(ConfiguredLayer):
    """Base class of pooling over windows whose number is given, over `rank` spatial axes."""

    rank: int
    _nt_function: str

    def __init__(
        self,
        output_size: int | Sequence[int],
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(output_size, int | list | tuple):
            raise TypeError(
                f"`output_size` must be an integer or tuple of {self.rank} integers. Received: "
                f"{output_size} of type {type(output_size)}"
            )
        self._nt_set_arguments(
            output_size=int_tuple(output_size, self.rank, "output_size"),
            data_format=parse_data_format(data_format),
        )
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Tensor) -> Tensor:
        """Return one element for each window and channel."""
        function = operation_function(self._nt_function)
        result: Tensor = function(inputs, self.output_size, data_format=self.data_format)
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the output."""
        shape = tuple(input_shape)
        _, channels = split_shape(shape, self.data_format)
        return join_shape(shape[0], self.output_size, channels, self.data_format)


_OUTPUT_SIZE = "The number of windows: an int, or one for each spatial axis."
_adaptive = document(
    "TypeError: If ``output_size`` is not an int or a sequence.\nValueError: If a size is not "
    "positive.",
    output_size=_OUTPUT_SIZE,
)


@_adaptive
class AdaptiveAveragePooling1D(_AdaptivePooling):
    """The mean of each of ``output_size`` windows.

    Inputs have shape (batch, steps, channels).

    >>> tf.keras.layers.AdaptiveAveragePooling1D(2)(tf.ones((1, 6, 3))).shape
    TensorShape([1, 2, 3])
    """

    rank = 1
    _nt_function = "AdaptiveAveragePool"


@_adaptive
class AdaptiveAveragePooling2D(_AdaptivePooling):
    """The mean of each of ``output_size`` windows.

    Inputs have shape (batch, height, width, channels).

    >>> tf.keras.layers.AdaptiveAveragePooling2D(2)(tf.ones((1, 6, 4, 3))).shape
    TensorShape([1, 2, 2, 3])
    """

    rank = 2
    _nt_function = "AdaptiveAveragePool"


@_adaptive
class AdaptiveAveragePooling3D(_AdaptivePooling):
    """The mean of each of ``output_size`` windows.

    Inputs have shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.AdaptiveAveragePooling3D(2)(tf.ones((1, 4, 4, 4, 3))).shape
    TensorShape([1, 2, 2, 2, 3])
    """

    rank = 3
    _nt_function = "AdaptiveAveragePool"


@_adaptive
class AdaptiveMaxPooling1D(_AdaptivePooling):
    """The maximum of each of ``output_size`` windows.

    Inputs have shape (batch, steps, channels).

    >>> tf.keras.layers.AdaptiveMaxPooling1D(2)(tf.ones((1, 6, 3))).shape
    TensorShape([1, 2, 3])
    """

    rank = 1
    _nt_function = "AdaptiveMaxPool"


@_adaptive
class AdaptiveMaxPooling2D(_AdaptivePooling):
    """The maximum of each of ``output_size`` windows.

    Inputs have shape (batch, height, width, channels).

    >>> tf.keras.layers.AdaptiveMaxPooling2D(2)(tf.ones((1, 6, 4, 3))).shape
    TensorShape([1, 2, 2, 3])
    """

    rank = 2
    _nt_function = "AdaptiveMaxPool"


@_adaptive
class AdaptiveMaxPooling3D(_AdaptivePooling):
    """The maximum of each of ``output_size`` windows.

    Inputs have shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.AdaptiveMaxPooling3D(2)(tf.ones((1, 4, 4, 4, 3))).shape
    TensorShape([1, 2, 2, 2, 3])
    """

    rank = 3
    _nt_function = "AdaptiveMaxPool"
