"""`keras.Variable`: a variable with Keras's constructor and attributes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ..core.log.as_tensor import as_tensor
from ..core.log.variable import Variable as _Variable
from ..core.ops.elementwise import cast
from . import constraints, initializers, regularizers
from .layer import LayerVariable
from .registry import keras_dtype
from .symbolic import auto_name

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, TensorLike
    from .annotations import ConstraintLike, InitializerLike, InputShape, RegularizerLike


def _restore(arguments: tuple[Any, ...]) -> Variable:
    result = Variable.__new__(Variable)
    LayerVariable.__init__(result, *arguments)
    return result


class Variable(LayerVariable):
    """A variable, as the weights of layers: ``value`` is a property, ``name`` has no suffix.

    Args:
      initializer: The initial value; or an initializer or its name, with ``shape``.
      shape: The shape, for an initializer.
      dtype: The dtype; None for that of the value, or `keras.config.floatx` for floats.
      trainable: Whether the variable is trainable.
      autocast: Whether a layer with mixed precision reads it in its ``compute_dtype``.
      aggregation: Accepted for compatibility with Keras, and ignored.
      synchronization: Accepted for compatibility with Keras, and ignored.
      name: The name, without slashes; None for ``variable``, numbered.
      regularizer: A function that returns a loss of the value, or its name.
      constraint: A function that optimizers apply to the new value after each step.

    Raises:
      ValueError: If the name or an argument is invalid, or an initializer lacks a shape.

    Example:
      >>> v = tf.keras.Variable([1.0, 2.0], name="v")
      >>> v.assign(v * 2.0).numpy(), v.path
      (array([2., 4.], dtype=float32), 'v')
      >>> tf.keras.Variable("ones", shape=(2,)).value.numpy()
      array([1., 1.], dtype=float32)
    """

    __slots__ = ()

    def __init__(
        self,
        initializer: InitializerLike | TensorLike,
        shape: InputShape | None = None,
        dtype: DTypeLike | None = None,
        trainable: bool = True,
        autocast: bool = True,
        aggregation: str | None = None,
        synchronization: str | None = None,
        name: str | None = None,
        regularizer: RegularizerLike = None,
        constraint: ConstraintLike = None,
    ) -> None:
        name = auto_name("variable") if name is None else name
        if not isinstance(name, str) or "/" in name:
            raise ValueError(
                f"Argument `name` must be a string and cannot contain character `/`. Received: "
                f"name={name}"
            )
        if isinstance(initializer, str | dict) or callable(initializer):
            if shape is None:
                raise ValueError(
                    f"When creating a Variable from an initializer, the `shape` argument should be "
                    f"specified. Received: initializer={initializer} and shape={shape}"
                )
            value: Any = initializers.get(initializer)(tuple(shape), keras_dtype(dtype))
        else:
            value = as_tensor(initializer)
            value = value if dtype is None else cast(value, keras_dtype(dtype))
        variable = _Variable(value, trainable, name=name, constraint=constraints.get(constraint))
        super().__init__(variable, regularizers.get(regularizer), trainable, autocast)

    def _nt_arguments(self) -> tuple[Any, ...]:
        return self._original, self.regularizer, self._trained, self._is_cast

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._nt_arguments(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return _restore(copy.deepcopy(self._nt_arguments(), memo))
