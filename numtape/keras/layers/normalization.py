"""Layers that normalize their inputs."""

from __future__ import annotations

from typing import Any

from ...core.log.variable import original
from ...core.ops.nn import normalize
from ...core.values.spec import TensorShape
from ...core.values.tensor import Tensor
from .. import initializers
from ..layer import Layer, LayerVariable


class LayerNormalization(Layer):
    """``gamma * (x - mean) / sqrt(variance + epsilon) + beta`` over the last axis.

    From Ba, Kiros and Hinton, "Layer Normalization" (2016).

    Args:
      axis: The axis; only the last one.
      epsilon: What keeps the quotient finite.
      center: Whether there is a ``beta``.
      scale: Whether there is a ``gamma``.
      beta_initializer: A function (shape, dtype) -> tensor, or a name.
      gamma_initializer: Likewise.
      name: Its name.
      dtype: The dtype of its variables; inputs are cast to it.
      trainable: Whether its variables are.

    Raises:
      ValueError: If a name is unknown; at the first call, if ``axis`` is not the last.

    Example:
      >>> layer = tf.keras.layers.LayerNormalization(epsilon=0.0)
      >>> layer(tf.constant([[1.0, 3.0], [10.0, 30.0]])).numpy()
      array([[-1.,  1.],
             [-1.,  1.]], dtype=float32)
    """

    def __init__(
        self, axis: int = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
        name: str | None = None, dtype: Any = None, trainable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, dtype=dtype)
        self.axis = axis
        self.supports_masking = True
        self.epsilon = epsilon
        self.center, self.scale = center, scale
        self.beta: LayerVariable | None = None
        self.gamma: LayerVariable | None = None
        for initializer in (beta_initializer, gamma_initializer):
            initializers.get(initializer)
        self._initializers = beta_initializer, gamma_initializer

    def build(self, input_shape: TensorShape) -> None:
        """Make ``gamma`` and ``beta``, of the shape of the last axis.

        Args:
          input_shape: The shape of the inputs.

        Raises:
          ValueError: If the layer's axis is not the last, or the input is a scalar.
        """
        if not input_shape:
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected "
                f"min_ndim=1, found ndim=0. Full shape received: ()"
            )
        if self.axis not in (-1, len(input_shape) - 1):
            raise ValueError(
                f"LayerNormalization is over the last axis; axis={self.axis} of an input of shape "
                f"{tuple(input_shape)} is another one."
            )
        beta, gamma = self._initializers
        shape = (input_shape[-1],)
        if self.scale:
            self.gamma = self.add_weight(shape, gamma, name="gamma")
        if self.center:
            self.beta = self.add_weight(shape, beta, name="beta")

    def call(self, inputs: Tensor) -> Tensor:
        """The layer's output, of the shape of the inputs.

        Args:
          inputs: A tensor.

        Returns:
          A tensor.
        """
        result = normalize(inputs, self.epsilon)
        if self.gamma is not None:
            result = result * original(self.gamma)
        if self.beta is not None:
            result = result + original(self.beta)
        return result
