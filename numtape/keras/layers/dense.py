"""Layers that are products with a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.log.variable import original
from ...core.ops.elementwise import cast
from ...core.ops.linalg import matmul, tensordot
from ...core.values.dtypes import shown
from ...core.values.spec import MAX_DIM, TensorShape
from ...core.values.tensor import Tensor
from .. import activations, initializers
from ..input_spec import InputSpec
from ..layer import Layer, LayerVariable


class Dense(Layer):
    """``activation(inputs @ kernel + bias)``, for inputs of shape (..., n).

    The kernel, of shape (n, units), begins with Glorot and Bengio's uniform draws (2010): within
    ``sqrt(6 / (n + units))``.

    Args:
      units: The size of the output's last axis.
      activation: A function or the name of one; default: none.
      use_bias: Whether there is a bias.
      kernel_initializer: A function (shape, dtype) -> tensor, or a name.
      bias_initializer: Likewise.
      name: Its name.
      dtype: The dtype of its variables; inputs are cast to it.
      trainable: Whether its variables are.

    Raises:
      ValueError: If ``units`` is no positive int, or a name is unknown; at a call, if the inputs
        have less than two axes or another last one than at the first call.

    Example:
      >>> dense = tf.keras.layers.Dense(2, activation="relu", kernel_initializer="ones")
      >>> dense(tf.constant([[1.0, 2.0, 3.0]])).numpy()
      array([[6., 6.]], dtype=float32)
      >>> [(v.name, v.shape.as_list()) for v in dense.variables]
      [('kernel', [3, 2]), ('bias', [2])]
    """

    def __init__(
        self, units: int, activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        name: str | None = None, dtype: Any = None, trainable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, dtype=dtype)
        if not isinstance(units, int) or not 0 < units <= MAX_DIM:
            raise ValueError(f"Received an invalid value for `units`, expected a positive "
                             f"integer. Received: units={shown(units)}")  # fmt: skip
        self.units = units
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True
        self.activation: Callable[..., Any] = activations.get(activation)
        self.use_bias = use_bias
        self.bias: LayerVariable | None = None
        for initializer in (kernel_initializer, bias_initializer):
            initializers.get(initializer)  # an unknown name is an error here, not at the call
        self._initializers = kernel_initializer, bias_initializer

    def build(self, input_shape: TensorShape) -> None:
        """Make ``kernel``, of shape (inputs, units), and ``bias``, of shape (units,).

        Args:
          input_shape: The shape of the inputs.
        """
        kernel, bias = self._initializers
        self.input_spec = InputSpec(min_ndim=2, axes={-1: input_shape[-1]})
        self.kernel = self.add_weight((input_shape[-1], self.units), kernel, name="kernel")
        if self.use_bias:
            self.bias = self.add_weight((self.units,), bias, name="bias")

    def call(self, inputs: Tensor) -> Tensor:
        """``activation(inputs @ kernel + bias)``.

        Args:
          inputs: A tensor of shape (..., n).

        Returns:
          A tensor of shape (..., units).
        """
        if inputs.dtype is not self._dtype:  # ints
            inputs = cast(inputs, self._dtype)
        kernel = original(self.kernel)  # variables themselves are recorded faster than aliases
        product = matmul(inputs, kernel) if inputs.ndim == 2 else tensordot(inputs, kernel, 1)
        if self.bias is not None:
            product = product + original(self.bias)
        result: Tensor = self.activation(product)
        return result
