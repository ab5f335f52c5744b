"""Convolutions of each channel by itself, and those followed by a product that mixes them."""

from __future__ import annotations

from typing import Any

from ...core.log.variable import original
from ...core.values.tensor import Tensor
from .configured import document, pad_edges, positive
from .convolution import WRONG, Sliding


class Depthwise(Sliding):
    """A convolution of each channel by itself, over `rank` axes in space."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._nt_keep(depth_multiplier=positive(depth_multiplier, "depth_multiplier"))
        self._nt_keep_window(kernel_size, strides, pad_edges(padding), data_format, dilation_rate)
        self._nt_keep(
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

    def build(self, input_shape: Any) -> None:
        """Make ``kernel``, of shape (sizes in space, channels, features of each), and ``bias``."""
        channels = self._nt_channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.kernel = self._nt_weight("kernel", shape, "depthwise")
        features = (channels * self.depth_multiplier,)
        self.bias = self._nt_weight("bias", features) if self.use_bias else None
        self._nt_built_for(channels)

    def _nt_features(self, channels: int | None) -> int | None:
        return None if channels is None else channels * int(self.depth_multiplier)

    def call(self, inputs: Tensor) -> Tensor:
        """Give the features of each place."""
        return self._nt_finished(self._nt_depthwise(inputs, original(self.kernel)))


@document(WRONG)
class DepthwiseConv1D(Depthwise):
    """A convolution of each channel by itself: inputs of shape (batch, steps, channels).

    >>> layer = tf.keras.layers.DepthwiseConv1D(2, depthwise_initializer="ones")
    >>> layer(tf.constant([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])).numpy()
    array([[[ 3., 30.],
            [ 5., 50.]]], dtype=float32)
    """

    rank = 1


@document(WRONG)
class DepthwiseConv2D(Depthwise):
    """A convolution of each channel of pictures, of shape (batch, height, width, channels).

    >>> tf.keras.layers.DepthwiseConv2D(3, depth_multiplier=2)(tf.ones((1, 5, 5, 3))).shape
    TensorShape([1, 3, 3, 6])
    """

    rank = 2


class Separable(Sliding):
    """A convolution of each channel by itself, and then one of a single place that mixes them."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._nt_keep(
            filters=positive(filters, "filters"),
            depth_multiplier=positive(depth_multiplier, "depth_multiplier"),
        )
        self._nt_keep_window(kernel_size, strides, pad_edges(padding), data_format, dilation_rate)
        self._nt_keep(
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

    def build(self, input_shape: Any) -> None:
        """Make ``depthwise_kernel``, ``pointwise_kernel`` and ``bias``."""
        channels = self._nt_channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self._nt_weight("depthwise_kernel", shape, "depthwise")
        shape = (*[1] * self.rank, channels * self.depth_multiplier, self.filters)
        self.pointwise_kernel = self._nt_weight("pointwise_kernel", shape, "pointwise")
        self.bias = self._nt_weight("bias", (self.filters,)) if self.use_bias else None
        self._nt_built_for(channels)

    def call(self, inputs: Tensor) -> Tensor:
        """Give the features of each place."""
        each = self._nt_depthwise(inputs, original(self.depthwise_kernel))
        once = (1,) * self.rank
        pointwise = self._nt_convolved(each, original(self.pointwise_kernel), once, "valid")
        return self._nt_finished(pointwise)


@document(WRONG)
class SeparableConv1D(Separable):
    """`DepthwiseConv1D` and a product that mixes the channels.

    >>> tf.keras.layers.SeparableConv1D(8, 3)(tf.ones((1, 5, 2))).shape
    TensorShape([1, 3, 8])
    """

    rank = 1


@document(WRONG)
class SeparableConv2D(Separable):
    """`DepthwiseConv2D` and a product that mixes the channels.

    >>> layer = tf.keras.layers.SeparableConv2D(8, 3)
    >>> layer(tf.ones((1, 5, 5, 2))).shape
    TensorShape([1, 3, 3, 8])
    >>> [v.name for v in layer.variables]
    ['depthwise_kernel', 'pointwise_kernel', 'bias']
    """

    rank = 2
