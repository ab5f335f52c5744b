"""Layers that are products with a matrix."""

from __future__ import annotations

from typing import Any

from ...core.log.tensors import as_tensor
from ...core.log.variable import original
from ...core.ops.matrix_products import tensordot
from ...core.values.dtypes import repr_of
from ...core.values.spec import MAX_DIM
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
from ..layer import LayerVariable
from .configured import ConfiguredLayer, Shape, document


@document(
    "ValueError: If ``units`` is not a positive int, or a name is unknown; at a call, if the "
    "inputs "
    "have less than two axes or another last one than at the first call.",
    units="The size of the output's last axis.",
)
class Dense(ConfiguredLayer):
    """``activation(inputs @ kernel + bias)``, for inputs of shape (..., n).

    The kernel, of shape (n, units), begins with Glorot and Bengio's uniform draws (2010): within
    ``sqrt(6 / (n + units))``.

    >>> dense = tf.keras.layers.Dense(2, activation="relu", kernel_initializer="ones")
    >>> dense(tf.constant([[1.0, 2.0, 3.0]])).numpy()
    array([[6., 6.]], dtype=float32)
    >>> [(v.name, v.shape.as_list()) for v in dense.variables]
    [('kernel', [3, 2]), ('bias', [2])]
    """

    def __init__(
        self,
        units: int,
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
        if isinstance(units, bool) or not isinstance(units, int) or not 0 < units <= MAX_DIM:
            raise ValueError(
                f"Received an invalid value for `units`, expected a positive "
                f"integer. Received: units={repr_of(units)}"
            )
        self._nt_keep(
            units=units,
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
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)
        self.bias: LayerVariable | None = None

    def build(self, input_shape: Any) -> None:
        """Make ``kernel``, of shape (inputs, units), and ``bias``, of shape (units,)."""
        self.kernel = self._nt_weight("kernel", (input_shape[-1], self.units))
        self.bias = self._nt_weight("bias", (self.units,)) if self.use_bias else None
        self.input_spec = InputSpec(min_ndim=2, axes={-1: input_shape[-1]})

    def call(self, inputs: Tensor) -> Tensor:
        """Give ``activation(inputs @ kernel + bias)``, of shape (..., units)."""
        if type(inputs) is not Tensor:
            inputs = as_tensor(inputs)  # a list is one more axis, as in Keras
        if not inputs._spec.dtype.is_floating:
            inputs = self._nt_floats(inputs)
        kernel = original(self.kernel)  # variables themselves are recorded faster than aliases
        product = inputs @ kernel if inputs._spec.rank == 2 else tensordot(inputs, kernel, 1)
        if self.bias is not None:
            product = product + original(self.bias)
        result: Tensor = self._nt_activation()(product)
        return result

    def compute_output_shape(self, input_shape: Any) -> Shape:
        """Give the shape of the output, which ends with ``units``."""
        return (*tuple(input_shape)[:-1], self.units)
