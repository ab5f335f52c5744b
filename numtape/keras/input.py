"""`Input` and `InputLayer`: the entry points of a functional model's graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .layer import Layer
from .settings import floatx
from .symbolic import KerasTensor, Node

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike
    from .annotations import InputShape


class InputLayer(Layer):
    """The layer behind `Input`.

    Args:
      shape: The shape of an example, without the batch axis.
      batch_size: The number of examples; None for any number.
      dtype: The dtype; None for `keras.config.floatx`.
      batch_shape: The shape with the batch axis, instead of ``shape`` and ``batch_size``.
      name: The name of the layer.
      sparse: Must be None or False.
      ragged: Must be None or False.
      optional: Whether None may be passed to the model in place of the tensor.
      batch_input_shape: The older name of ``batch_shape``.
      input_shape: The older name of ``shape``.

    Raises:
      ValueError: If both or neither of ``shape`` and ``batch_shape`` are given, or ``sparse``
        or ``ragged`` is set.
      TypeError: If the dtype does not exist.

    Example:
      >>> tf.keras.layers.InputLayer((3,), name="first").output.shape
      (None, 3)
    """

    def __init__(
        self,
        shape: int | InputShape | None = None,
        batch_size: int | None = None,
        dtype: DTypeLike | None = None,
        batch_shape: InputShape | None = None,
        name: str | None = None,
        sparse: bool | None = None,
        ragged: bool | None = None,
        optional: bool = False,
        batch_input_shape: InputShape | None = None,
        input_shape: InputShape | None = None,
    ) -> None:
        batch_shape = batch_shape if batch_input_shape is None else batch_input_shape
        shape = shape if input_shape is None else tuple(input_shape)
        for argument, value in (("sparse", sparse), ("ragged", ragged)):
            if value:
                raise ValueError(
                    f"{argument}={value}: inputs of numtape's models are dense tensors."
                )
        super().__init__(name=name, dtype=dtype or floatx())
        self.batch_shape: tuple[int | None, ...]
        if batch_shape is not None:
            if shape is not None:
                raise ValueError("You cannot pass both `shape` and `batch_shape` at the same time.")
            self.batch_shape = tuple(batch_shape)
        elif shape is not None:
            self.batch_shape = (batch_size, *((shape,) if isinstance(shape, int) else shape))
        else:
            raise ValueError("You must pass a `shape` argument.")
        self.optional = bool(optional)
        self.built = True
        Node(self, (), {}, KerasTensor(self.batch_shape, self.dtype, name=self.name))

    def call(self, *args: object, **kwargs: object) -> Any:
        """Raise: an input layer has no computation."""
        raise NotImplementedError("An InputLayer cannot be called.")

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            "batch_shape": self.batch_shape,
            "dtype": self.dtype,
            "sparse": False,
            "ragged": False,
            "name": self.name,
            "optional": self.optional,
        }


def Input(
    shape: int | InputShape | None = None,
    batch_size: int | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool | None = None,
    ragged: bool | None = None,
    batch_shape: InputShape | None = None,
    name: str | None = None,
    tensor: KerasTensor | None = None,
    optional: bool = False,
) -> KerasTensor:
    """Create a symbolic input tensor of a functional model.

    Args:
      shape: The shape of an example, without the batch axis; None in it accepts any size.
      batch_size: The number of examples; None for any number.
      dtype: The dtype; None for `keras.config.floatx`.
      sparse: Must be None or False.
      ragged: Must be None or False.
      batch_shape: The shape with the batch axis, instead of ``shape`` and ``batch_size``.
      name: The name, which is the key of this input in a dict of inputs.
      tensor: An existing symbolic tensor, which is returned.
      optional: Whether None may be passed to the model in place of the tensor.

    Returns:
      A `KerasTensor`.

    Raises:
      ValueError: If no shape is given, or ``sparse`` or ``ragged`` is set.
      TypeError: If the dtype does not exist.

    Example:
      >>> inputs = tf.keras.Input((3,))
      >>> outputs = tf.keras.layers.Dense(2)(inputs)
      >>> tf.keras.Model(inputs, outputs).output_shape
      (None, 2)
    """
    if tensor is not None:
        if not isinstance(tensor, KerasTensor):
            raise ValueError(f"Argument `tensor` must be a KerasTensor, not {type(tensor)}.")
        return tensor
    layer = InputLayer(shape, batch_size, dtype, batch_shape, name, sparse, ragged, optional)
    result: KerasTensor = layer.output
    return result
