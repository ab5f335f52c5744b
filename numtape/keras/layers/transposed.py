"""Transposed convolutions: they undo the shape of a convolution.

See Dumoulin and Visin, "A guide to convolution arithmetic for deep learning" (2016).
"""

from __future__ import annotations

from typing import Any

from ...core.log.variable import original
from ...core.ops.transposed import conv_transpose
from ...core.values.tensor import Tensor
from .configured import Shape, document, integers, pad_edges, positive
from .convolution import FORMATS, WRONG, Sliding, both_used


class Transposed(Sliding):
    """A transposed convolution over `rank` axes in space."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._nt_keep(filters=positive(filters, "filters"))
        self._nt_keep_window(kernel_size, strides, pad_edges(padding), data_format, dilation_rate)
        both_used(self.strides, self.dilation_rate)
        more = output_padding
        if more is not None:
            more = integers(output_padding, self.rank, "output_padding", 0)
            for axis, (extra, stride) in enumerate(zip(more, self.strides, strict=True)):
                if extra >= stride:
                    raise ValueError(
                        "`output_padding` must be strictly less than `strides` for all "
                        f"dimensions. At dimension {axis}, `output_padding` is {extra} but "
                        f"`strides` is {stride}. Received: output_padding={more}, "
                        f"strides={self.strides}"
                    )
        self._nt_keep(
            output_padding=more,
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

    def build(self, input_shape: Any) -> None:
        """Make ``kernel``, of shape (sizes in space, features, channels), and ``bias``."""
        channels = self._nt_channels(input_shape)
        self.kernel = self._nt_weight("kernel", (*self.kernel_size, self.filters, channels))
        self.bias = self._nt_weight("bias", (self.filters,)) if self.use_bias else None
        self._nt_built_for(channels)

    def _nt_space(self, space: Shape) -> Shape:
        items: list[int | None] = []
        more = self.output_padding or (None,) * self.rank
        windows = zip(space, self.kernel_size, self.strides, self.dilation_rate, more, strict=True)
        for size, width, stride, rate, extra in windows:
            reach = (width - 1) * rate + 1
            if size is None:
                items.append(None)
            elif self.padding == "valid":
                behind = max(reach, stride) - reach if extra is None else extra
                items.append((size - 1) * stride + reach + behind)
            else:
                items.append(
                    size * stride if extra is None else (size - 1) * stride + reach % 2 + extra
                )
        return tuple(items)

    def call(self, inputs: Tensor) -> Tensor:
        """Give the features of each place."""
        result = conv_transpose(
            self._nt_floats(inputs),
            original(self.kernel),
            self.compute_output_shape(inputs.shape),
            list(self.strides),
            self.padding.upper(),
            FORMATS[self.data_format][self.rank],
            list(self.dilation_rate),
        )
        return self._nt_finished(result)


@document(WRONG)
class Conv1DTranspose(Transposed):
    """A transposed convolution over one axis: inputs of shape (batch, steps, channels).

    >>> tf.keras.layers.Conv1DTranspose(4, 3, strides=2)(tf.ones((1, 5, 2))).shape
    TensorShape([1, 11, 4])
    """

    rank = 1


@document(WRONG)
class Conv2DTranspose(Transposed):
    """A transposed convolution of pictures, of shape (batch, height, width, channels).

    >>> layer = tf.keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same")
    >>> layer(tf.ones((1, 5, 5, 2))).shape
    TensorShape([1, 10, 10, 4])
    """

    rank = 2


@document(WRONG)
class Conv3DTranspose(Transposed):
    """A transposed convolution over three axes: (batch, depth, height, width, channels).

    >>> tf.keras.layers.Conv3DTranspose(4, 2)(tf.ones((1, 2, 2, 2, 1))).shape
    TensorShape([1, 3, 3, 3, 4])
    """

    rank = 3

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        output_padding: Any = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        # Keras has the padding of the output and the format in another order here.
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
