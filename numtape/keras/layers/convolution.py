"""Convolutions over one to three spatial axes: plain, separable, depthwise and transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.variable import Variable
from ...core.ops import convolutions, movement
from ...core.ops.convolutions import conv_transpose
from ...core.ops.padding import pad
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
from ..layer import LayerVariable, operand
from .base import (
    ConfiguredLayer,
    Shape,
    check_positive,
    document,
    int_tuple,
    join_shape,
    parse_data_format,
    parse_padding,
    split_shape,
)

if TYPE_CHECKING:
    from ..annotations import (
        ActivationLike,
        ConstraintLike,
        InitializerLike,
        InputShape,
        RegularizerLike,
    )

# The names of the data formats in `tf.nn`, by the number of spatial axes.
FORMATS = {
    "channels_last": {1: "NWC", 2: "NHWC", 3: "NDHWC"},
    "channels_first": {1: "NCW", 2: "NCHW", 3: "NCDHW"},
}
CONVOLUTIONS = {1: convolutions.conv1d, 2: convolutions.conv2d, 3: convolutions.conv3d}

RAISES = (
    "ValueError: If an argument is out of range or a name unknown; at a call, if the inputs have "
    "a wrong number of axes or channels, or are smaller than the kernel."
)
CAUSAL_PADDING = (
    '"valid" for no padding, "same" for ``ceil(size / stride)`` output elements, or "causal" for '
    "outputs that do not depend on later inputs."
)


def check_strides_and_dilations(strides: tuple[int, ...], rates: tuple[int, ...]) -> None:
    """Raise if both strides and dilation rates exceed 1."""
    if max(strides) > 1 and max(rates) > 1:
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={strides} and dilation_rate={rates}"
        )


def window_counts(
    space: Shape,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    rates: tuple[int, ...],
    padding: str,
) -> Shape:
    """Return the number of window positions along each spatial axis; None if it is unknown."""
    items: list[int | None] = []
    for size, width, stride, rate in zip(space, kernel, strides, rates, strict=True):
        if size is None:
            items.append(None)
        elif padding == "valid":
            items.append((size - rate * (width - 1) - 1) // stride + 1)
        else:
            items.append((size - 1) // stride + 1)
    return tuple(items)


class BaseConvolution(ConfiguredLayer):
    """Base class of layers whose kernel slides over `rank` spatial axes."""

    rank: int

    def _nt_set_window(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str,
        data_format: str | None,
        dilation_rate: int | Sequence[int],
    ) -> None:
        self._nt_set_arguments(
            kernel_size=int_tuple(kernel_size, self.rank, "kernel_size"),
            strides=int_tuple(strides, self.rank, "strides"),
            padding=padding,
            data_format=parse_data_format(data_format),
            dilation_rate=int_tuple(dilation_rate, self.rank, "dilation_rate"),
        )
        self.input_spec = InputSpec(min_ndim=self.rank + 2, max_ndim=self.rank + 2)
        self.bias: LayerVariable | None = None

    def _nt_channels(self, input_shape: InputShape) -> int:
        """Check the shape of the inputs, and return the number of channels."""
        self.compute_output_shape(input_shape)
        channels = split_shape(input_shape, self.data_format)[1]
        if channels is None:
            raise ValueError(
                f"The number of channels must be known. Received: input_shape={input_shape}"
            )
        return channels

    def _nt_require_channels(self, channels: int) -> None:
        """Require this number of channels in all calls."""
        axis, ndim = -1 if self.data_format == "channels_last" else 1, self.rank + 2
        self.input_spec = InputSpec(min_ndim=ndim, max_ndim=ndim, axes={axis: channels})

    def _nt_convolve(
        self, x: Tensor, kernel: Tensor | Variable, strides: tuple[int, ...], padding: str
    ) -> Tensor:
        if padding == "causal":  # all padding precedes the steps
            causal_padding = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            x = pad(x, list(join_shape((0, 0), [(causal_padding, 0)], (0, 0), self.data_format)))
            padding = "valid"
        result: Tensor = CONVOLUTIONS[self.rank](
            self._nt_floats(x),
            kernel,
            self._nt_for_all_axes(strides),
            padding.upper(),
            FORMATS[self.data_format][self.rank],
            self._nt_for_all_axes(self.dilation_rate),
        )
        return result

    def _nt_for_all_axes(self, steps: tuple[int, ...]) -> list[Any]:
        """Return spatial steps with ones for the batch and channel axes."""
        return list(join_shape(1, steps, 1, self.data_format))

    def _nt_depthwise(self, x: Tensor, kernel: Tensor | Variable) -> Tensor:
        """Convolve each channel separately: a convolution with one group per channel."""
        *size, channels, multiplier = kernel.shape
        grouped = movement.reshape(kernel, (*size, 1, channels * multiplier))
        return self._nt_convolve(x, grouped, self.strides, self.padding)

    def _nt_add_bias_and_activate(self, x: Tensor) -> Tensor:
        """Add the bias, and apply the activation."""
        if self.bias is not None:
            bias: Variable | Tensor = operand(self.bias)
            if self.data_format == "channels_first":
                bias = movement.reshape(bias, (1, -1, *[1] * self.rank))
            x = x + bias
        result: Tensor = self._nt_activation()(x)
        return result

    def _nt_output_channels(self, channels: int | None) -> int | None:
        """Return the number of output channels."""
        features: int = self.filters
        return features

    def _nt_spatial_output_sizes(self, spatial_sizes: Shape) -> Shape:
        """Return the spatial sizes of the output."""
        return window_counts(
            spatial_sizes, self.kernel_size, self.strides, self.dilation_rate, self.padding
        )

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the output."""
        shape = tuple(input_shape)
        if len(shape) != self.rank + 2:
            raise ValueError(
                f"Kernel shape must have the same length as input, but received kernel of shape "
                f"{self.kernel_size} and input of shape {shape}."
            )
        spatial_sizes, channels = split_shape(shape, self.data_format)
        result = self._nt_spatial_output_sizes(spatial_sizes)
        if any(
            n is not None and n <= 0 < (m or 1) for n, m in zip(result, spatial_sizes, strict=True)
        ):
            raise ValueError(
                "Computed output size would be zero or negative. Received `inputs "
                f"shape={shape}`, `kernel shape={self.kernel_size}`, "
                f"`dilation_rate={self.dilation_rate}`, `strides={self.strides}`, "
                f"`padding={self.padding}`."
            )
        return join_shape(shape[0], result, self._nt_output_channels(channels), self.data_format)


class Convolution(BaseConvolution):
    """Base class of `Conv1D`, `Conv2D` and `Conv3D`."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        groups: int = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._nt_set_arguments(
            filters=check_positive(filters, "filters"), groups=check_positive(groups, "groups")
        )
        if filters % groups:
            raise ValueError(
                "The number of filters must be evenly divisible by the number of groups. "
                f"Received: groups={groups}, filters={filters}."
            )
        causal = ("causal",) if self.rank == 1 else ()
        self._nt_set_window(
            kernel_size, strides, parse_padding(padding, *causal), data_format, dilation_rate
        )
        check_strides_and_dilations(self.strides, self.dilation_rate)
        self._nt_set_arguments(
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )

    def build(self, input_shape: InputShape) -> None:
        """Create ``kernel``, of shape (spatial sizes, input channels, filters), and ``bias``."""
        channels = self._nt_channels(input_shape)
        if channels % self.groups:
            raise ValueError(
                "The number of input channels must be evenly divisible by the number of groups. "
                f"Received groups={self.groups}, but the input has {channels} channels (full "
                f"input shape is {tuple(input_shape)})."
            )
        shape = (*self.kernel_size, channels // self.groups, self.filters)
        self.kernel = self._nt_weight("kernel", shape)
        self.bias = self._nt_weight("bias", (self.filters,)) if self.use_bias else None
        self._nt_require_channels(channels)

    def call(self, inputs: Tensor) -> Tensor:
        """Return ``activation(convolution(inputs) + bias)``."""
        kernel = operand(self.kernel)
        return self._nt_add_bias_and_activate(
            self._nt_convolve(inputs, kernel, self.strides, self.padding)
        )


@document(RAISES, padding=CAUSAL_PADDING)
class Conv1D(Convolution):
    """A convolution over one axis: inputs of shape (batch, steps, channels).

    >>> layer = tf.keras.layers.Conv1D(1, 2, kernel_initializer="ones", padding="causal")
    >>> layer(tf.reshape([1.0, 2.0, 3.0], (1, 3, 1))).numpy().ravel()
    array([1., 3., 5.], dtype=float32)
    """

    rank = 1


@document(RAISES)
class Conv2D(Convolution):
    """A convolution of images: inputs of shape (batch, height, width, channels).

    >>> layer = tf.keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")
    >>> layer(tf.ones((1, 5, 5, 2))).shape
    TensorShape([1, 3, 3, 8])
    >>> [(v.name, v.shape.as_list()) for v in layer.variables]
    [('kernel', [3, 3, 2, 8]), ('bias', [8])]
    """

    rank = 2


@document(RAISES)
class Conv3D(Convolution):
    """A convolution over three axes: inputs of shape (batch, depth, height, width, channels).

    >>> tf.keras.layers.Conv3D(4, (1, 2, 3))(tf.ones((1, 3, 3, 3, 2))).shape
    TensorShape([1, 3, 2, 1, 4])
    """

    rank = 3


class DepthwiseConvolution(BaseConvolution):
    """Base class of convolutions of each channel separately."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        depthwise_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        depthwise_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        depthwise_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._nt_set_arguments(
            depth_multiplier=check_positive(depth_multiplier, "depth_multiplier")
        )
        self._nt_set_window(
            kernel_size, strides, parse_padding(padding), data_format, dilation_rate
        )
        self._nt_set_arguments(
            activation=activation,
            use_bias=use_bias,
            depthwise_initializer=depthwise_initializer,
            bias_initializer=bias_initializer,
            depthwise_regularizer=depthwise_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            depthwise_constraint=depthwise_constraint,
            bias_constraint=bias_constraint,
        )

    def build(self, input_shape: InputShape) -> None:
        """Create ``kernel``, of shape (spatial sizes, channels, multiplier), and ``bias``."""
        channels = self._nt_channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.kernel = self._nt_weight("kernel", shape, "depthwise")
        features = (channels * self.depth_multiplier,)
        self.bias = self._nt_weight("bias", features) if self.use_bias else None
        self._nt_require_channels(channels)

    def _nt_output_channels(self, channels: int | None) -> int | None:
        return None if channels is None else channels * int(self.depth_multiplier)

    def call(self, inputs: Tensor) -> Tensor:
        """Return ``activation(convolution(inputs) + bias)``."""
        return self._nt_add_bias_and_activate(self._nt_depthwise(inputs, operand(self.kernel)))


@document(RAISES)
class DepthwiseConv1D(DepthwiseConvolution):
    """A convolution of each channel separately: inputs of shape (batch, steps, channels).

    >>> layer = tf.keras.layers.DepthwiseConv1D(2, depthwise_initializer="ones")
    >>> layer(tf.constant([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])).numpy()
    array([[[ 3., 30.],
            [ 5., 50.]]], dtype=float32)
    """

    rank = 1


@document(RAISES)
class DepthwiseConv2D(DepthwiseConvolution):
    """A convolution of each channel of images, of shape (batch, height, width, channels).

    >>> tf.keras.layers.DepthwiseConv2D(3, depth_multiplier=2)(tf.ones((1, 5, 5, 3))).shape
    TensorShape([1, 3, 3, 6])
    """

    rank = 2


class SeparableConvolution(BaseConvolution):
    """Base class of depthwise convolutions followed by a pointwise convolution."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        depth_multiplier: int = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        depthwise_initializer: InitializerLike = "glorot_uniform",
        pointwise_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        depthwise_regularizer: RegularizerLike = None,
        pointwise_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        depthwise_constraint: ConstraintLike = None,
        pointwise_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._nt_set_arguments(
            filters=check_positive(filters, "filters"),
            depth_multiplier=check_positive(depth_multiplier, "depth_multiplier"),
        )
        self._nt_set_window(
            kernel_size, strides, parse_padding(padding), data_format, dilation_rate
        )
        self._nt_set_arguments(
            activation=activation,
            use_bias=use_bias,
            depthwise_initializer=depthwise_initializer,
            pointwise_initializer=pointwise_initializer,
            bias_initializer=bias_initializer,
            depthwise_regularizer=depthwise_regularizer,
            pointwise_regularizer=pointwise_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            depthwise_constraint=depthwise_constraint,
            pointwise_constraint=pointwise_constraint,
            bias_constraint=bias_constraint,
        )

    def build(self, input_shape: InputShape) -> None:
        """Create ``depthwise_kernel``, ``pointwise_kernel`` and ``bias``."""
        channels = self._nt_channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self._nt_weight("depthwise_kernel", shape, "depthwise")
        shape = (*[1] * self.rank, channels * self.depth_multiplier, self.filters)
        self.pointwise_kernel = self._nt_weight("pointwise_kernel", shape, "pointwise")
        self.bias = self._nt_weight("bias", (self.filters,)) if self.use_bias else None
        self._nt_require_channels(channels)

    def call(self, inputs: Tensor) -> Tensor:
        """Return ``activation(convolution(inputs) + bias)``."""
        depthwise = self._nt_depthwise(inputs, operand(self.depthwise_kernel))
        strides = (1,) * self.rank
        result = self._nt_convolve(depthwise, operand(self.pointwise_kernel), strides, "valid")
        return self._nt_add_bias_and_activate(result)


@document(RAISES)
class SeparableConv1D(SeparableConvolution):
    """`DepthwiseConv1D` followed by a convolution of size 1 that mixes the channels.

    >>> tf.keras.layers.SeparableConv1D(8, 3)(tf.ones((1, 5, 2))).shape
    TensorShape([1, 3, 8])
    """

    rank = 1


@document(RAISES)
class SeparableConv2D(SeparableConvolution):
    """`DepthwiseConv2D` followed by a convolution of size 1 that mixes the channels.

    >>> layer = tf.keras.layers.SeparableConv2D(8, 3)
    >>> layer(tf.ones((1, 5, 5, 2))).shape
    TensorShape([1, 3, 3, 8])
    >>> [v.name for v in layer.variables]
    ['depthwise_kernel', 'pointwise_kernel', 'bias']
    """

    rank = 2


class TransposedConvolution(BaseConvolution):
    """Base class of transposed convolutions."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        output_padding: int | Sequence[int] | None = None,
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._nt_set_arguments(filters=check_positive(filters, "filters"))
        self._nt_set_window(
            kernel_size, strides, parse_padding(padding), data_format, dilation_rate
        )
        check_strides_and_dilations(self.strides, self.dilation_rate)
        extra_sizes: tuple[int, ...] | None = None
        if output_padding is not None:
            extra_sizes = int_tuple(output_padding, self.rank, "output_padding", 0)
            for axis, (padding_of_axis, stride) in enumerate(
                zip(extra_sizes, self.strides, strict=True)
            ):
                if padding_of_axis >= stride:
                    raise ValueError(
                        "`output_padding` must be strictly less than `strides` for all "
                        f"dimensions. At dimension {axis}, `output_padding` is {padding_of_axis} "
                        f"but `strides` is {stride}. Received: output_padding={extra_sizes}, "
                        f"strides={self.strides}"
                    )
        self._nt_set_arguments(
            output_padding=extra_sizes,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )

    def build(self, input_shape: InputShape) -> None:
        """Create ``kernel``, of shape (spatial sizes, filters, input channels), and ``bias``."""
        channels = self._nt_channels(input_shape)
        self.kernel = self._nt_weight("kernel", (*self.kernel_size, self.filters, channels))
        self.bias = self._nt_weight("bias", (self.filters,)) if self.use_bias else None
        self._nt_require_channels(channels)

    def _nt_spatial_output_sizes(self, spatial_sizes: Shape) -> Shape:
        items: list[int | None] = []
        extra_sizes = self.output_padding or (None,) * self.rank
        windows = zip(
            spatial_sizes,
            self.kernel_size,
            self.strides,
            self.dilation_rate,
            extra_sizes,
            strict=True,
        )
        for size, width, stride, rate, output_padding in windows:
            dilated_width = (width - 1) * rate + 1
            if size is None:
                items.append(None)
            elif self.padding == "valid":
                extra_size = (
                    max(dilated_width, stride) - dilated_width
                    if output_padding is None
                    else output_padding
                )
                items.append((size - 1) * stride + dilated_width + extra_size)
            else:
                items.append(
                    size * stride
                    if output_padding is None
                    else (size - 1) * stride + dilated_width % 2 + output_padding
                )
        return tuple(items)

    def call(self, inputs: Tensor) -> Tensor:
        """Return ``activation(convolution(inputs) + bias)``."""
        result = conv_transpose(
            self._nt_floats(inputs),
            operand(self.kernel),
            self._nt_known_output_shape(inputs.shape),
            list(self.strides),
            self.padding.upper(),
            FORMATS[self.data_format][self.rank],
            list(self.dilation_rate),
        )
        return self._nt_add_bias_and_activate(result)


@document(RAISES)
class Conv1DTranspose(TransposedConvolution):
    """A transposed convolution over one axis: inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.Conv1DTranspose(4, 3, strides=2)(tf.ones((1, 5, 2))).shape
    TensorShape([1, 11, 4])
    """

    rank = 1


@document(RAISES)
class Conv2DTranspose(TransposedConvolution):
    """A transposed convolution of images, of shape (batch, height, width, channels).

    >>> layer = tf.keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same")
    >>> layer(tf.ones((1, 5, 5, 2))).shape
    TensorShape([1, 10, 10, 4])
    """

    rank = 2


@document(RAISES)
class Conv3DTranspose(TransposedConvolution):
    """A transposed convolution over three axes: (batch, depth, height, width, channels).

    >>> tf.keras.layers.Conv3DTranspose(4, 2)(tf.ones((1, 2, 2, 2, 1))).shape
    TensorShape([1, 3, 3, 3, 4])
    """

    rank = 3

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        output_padding: int | Sequence[int] | None = None,
        dilation_rate: int | Sequence[int] = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        # Keras has `data_format` before `output_padding` in this class only.
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            output_padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            **kwargs,
        )
