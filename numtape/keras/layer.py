"""The base of layers: modules that make their variables on the first call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..core.log.tensors import as_tensor
from ..core.log.variable import Alias, Variable
from ..core.ops.elementwise import cast
from ..core.values.dtypes import DType, as_dtype
from ..core.values.spec import TensorShape
from ..module import Module, snake_case
from . import initializers

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
