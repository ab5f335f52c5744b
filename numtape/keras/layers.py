"""Layers: modules that make their variables on the first call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from ..core.log.tensors import as_tensor
from ..core.log.variable import Alias, Variable, original
from ..core.ops.elementwise import cast
from ..core.ops.linalg import matmul, tensordot
from ..core.ops.nn import normalize
from ..core.values.dtypes import DType, as_dtype, shown
from ..core.values.spec import MAX_DIM, TensorShape
from ..core.values.tensor import Tensor
from ..module import Module, snake_case
from ..names import getter as _getter
from . import activations, initializers

__all__ = ["Dense", "Layer", "LayerNormalization"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_count: Counter[str] = Counter()


class LayerVariable(Alias):
    """A variable as its layer names it: ``kernel``; tapes know it as ``dense/kernel:0``."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name inside the layer, such as ``kernel``."""
        return self.path.rpartition("/")[2]

    @property
    def path(self) -> str:
        """The layer's name and the variable's."""
        return self._of._name

    def __repr__(self) -> str:
        return (
            f"<Variable path={self.path}, shape={self.shape}, dtype={self.dtype.name}, "
            f"value={self.numpy()}>"
        )


def _noted(build: Callable[..., Any]) -> Callable[..., Any]:
    """``build`` that notes when it is done: the first call does not make the variables again."""

    @wraps(build)
    def noted(self: Layer, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        if type(self).build is noted:  # else a subclass is not done yet
            self.built = True

    return noted


class Layer(Module):
    """Base class of layers: override ``build(input_shape)`` and ``call(inputs)``.

    The first call makes the variables, when the shape of the inputs is known.

    Args:
      trainable: Whether the variables it makes are.
      name: Its name; default: the class's in snake case, numbered.
      dtype: The dtype of its variables.

    Raises:
      TypeError: If there is no such dtype.

    Example:
      >>> class Scale(tf.keras.Layer):
      ...     def build(self, input_shape):
      ...         self.scale = self.add_weight(input_shape[-1:], "ones", name="scale")
      ...     def call(self, inputs):
      ...         return inputs * self.scale
      >>> layer = Scale()
      >>> layer([[1.0, 2.0]]).numpy(), layer.trainable_variables[0].name
      (array([[1., 2.]], dtype=float32), 'scale')
    """

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = "float32"
    ) -> None:
        if name is None:
            kind = snake_case(type(self).__name__)
            number = _count[kind]
            _count[kind] += 1
            name = f"{kind}_{number}" if number else kind
        self._name = name
        self.trainable = trainable
        self.built = False
        self._dtype: DType = as_dtype(dtype)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "build" in vars(cls):
            cls.build = _noted(cls.build)  # type: ignore[method-assign]

    @property
    def dtype(self) -> str:
        """The name of the variables' dtype."""
        return self._dtype.name

    def add_weight(
        self, shape: Any = (), initializer: Any = "glorot_uniform", dtype: Any = None,
        trainable: bool = True, name: str = "variable",
    ) -> LayerVariable:  # fmt: skip
        """A new variable of this layer.

        Args:
          shape: Its shape.
          initializer: A function (shape, dtype) -> tensor, or the name of one.
          dtype: Its dtype; None is the layer's.
          trainable: Whether it is trainable, in a layer that is.
          name: Its name inside the layer.

        Returns:
          The variable.

        Raises:
          ValueError: If no initializer has this name.

        Example:
          >>> layer = tf.keras.Layer(name="mine")
          >>> layer.offset = layer.add_weight((2,), "zeros", name="offset")
          >>> [v.path for v in layer.variables]
          ['mine/offset']
        """
        wanted = self._dtype if dtype is None else as_dtype(dtype)
        value = initializers.get(initializer)(tuple(shape), wanted)
        return LayerVariable(
            Variable(value, trainable and self.trainable, name=f"{self._name}/{name}")
        )

    def build(self, input_shape: TensorShape) -> None:
        """Make the variables. The first call does so, unless it was done before.

        Args:
          input_shape: The shape of the inputs.
        """

    def call(self, inputs: Any) -> Any:
        """What the layer computes.

        Args:
          inputs: A tensor of the layer's dtype.

        Returns:
          What the call gives.
        """
        return inputs

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The output for the inputs; the first call makes the variables."""
        inputs = as_tensor(inputs)
        if inputs.dtype is not self._dtype:
            inputs = cast(inputs, self._dtype)
        if not self.built:
            self.build(inputs.shape)
            self.built = True
        return self.call(inputs, *args, **kwargs)

    @property
    def weights(self) -> list[Variable]:
        """All variables, as a list.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> _ = dense(tf.ones((1, 3)))
          >>> [v.shape.as_list() for v in dense.weights]
          [[3, 2], [2]]
        """
        return list(super().variables)

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]
        """All variables, as a list."""
        return list(super().variables)

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The trainable ones, as a list."""
        return [v for v in self.variables if v.trainable]

    @property
    def trainable_weights(self) -> list[Variable]:
        """The trainable ones, as a list."""
        return self.trainable_variables


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
        name: str | None = None, dtype: Any = "float32", trainable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, dtype=dtype)
        if not isinstance(units, int) or not 0 < units <= MAX_DIM:
            raise ValueError(f"Received an invalid value for `units`, expected a positive "
                             f"integer. Received: units={shown(units)}")  # fmt: skip
        self.units = units
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
        self.kernel = self.add_weight((input_shape[-1], self.units), kernel, name="kernel")
        if self.use_bias:
            self.bias = self.add_weight((self.units,), bias, name="bias")

    def _leaves(self) -> Any:
        # Kernel before bias, though "b" comes before "k".
        if self.built:
            yield from (v for v in (self.kernel, self.bias) if v is not None)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
        """The layer's output, of shape (..., units), for inputs of shape (..., n)."""
        if isinstance(inputs, list | tuple):
            raise ValueError(f"Layer {self.name!r} expects a tensor or array, got a list.")
        if isinstance(inputs, str | int | float) or inputs is None:
            raise ValueError(
                f"Inputs to a layer should be tensors. Got {inputs!r} (of type {type(inputs)}) as "
                f"input for layer {self.name!r}."
            )
        if not hasattr(inputs, "ndim"):
            inputs = as_tensor(inputs)
        rank = inputs.ndim
        if rank < 2:
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected "
                f"min_ndim=2, found ndim={rank}. Full shape received: {tuple(inputs.shape)}"
            )
        if self.built and inputs.shape[-1] != self.kernel.shape[0]:
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected axis -1 "
                f"of input shape to have value {self.kernel.shape[0]}, but received input with "
                f"shape {tuple(inputs.shape)}"
            )
        result: Tensor = super().__call__(inputs, *args, **kwargs)
        return result

    def call(self, inputs: Tensor) -> Tensor:
        """``activation(inputs @ kernel + bias)``.

        Args:
          inputs: A tensor of shape (..., n).

        Returns:
          A tensor of shape (..., units).
        """
        kernel = original(self.kernel)  # variables themselves are recorded faster than aliases
        product = matmul(inputs, kernel) if inputs.ndim == 2 else tensordot(inputs, kernel, 1)
        if self.bias is not None:
            product = product + original(self.bias)
        result: Tensor = self.activation(product)
        return result


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
        name: str | None = None, dtype: Any = "float32", trainable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, dtype=dtype)
        self.axis = axis
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

    def _leaves(self) -> Any:
        # Gamma before beta, as Keras lists them.
        yield from (v for v in (self.gamma, self.beta) if v is not None)

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
