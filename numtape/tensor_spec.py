"""`TensorSpec`: the shape and dtype of a tensor among the arguments of a `function`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .core.values import dtypes
from .core.values.dtypes import DType, as_dtype
from .core.values.spec import TensorShape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .core.log.variable import Variable
    from .core.values.annotations import DTypeLike, PartialShape
    from .core.values.tensor import Tensor


class TensorSpec:
    """The shape and dtype of a tensor among the arguments of a `function`.

    Args:
      shape: A shape, where None stands for any size; None for any shape.
      dtype: The dtype.
      name: A name.

    Raises:
      TypeError: If the dtype is unknown.

    Example:
      >>> tf.TensorSpec((None, 3)).is_compatible_with(tf.zeros((5, 3)))
      True
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(
        self, shape: PartialShape = None, dtype: DTypeLike = dtypes.float32, name: str | None = None
    ):
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(
        cls, tensor: Tensor | Variable | NDArray[Any], name: str | None = None
    ) -> TensorSpec:
        """Return the spec of a tensor.

        Args:
          tensor: A tensor, a variable or an array.
          name: A name.

        Returns:
          A `TensorSpec`.

        Example:
          >>> tf.TensorSpec.from_tensor(tf.zeros((2, 3)))
          TensorSpec(shape=(2, 3), dtype=tf.float32, name=None)
        """
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Return a spec like another one, with another name.

        Args:
          spec: A `TensorSpec`.
          name: A name; default: that of ``spec``.

        Returns:
          A `TensorSpec`.

        Example:
          >>> tf.TensorSpec.from_spec(tf.TensorSpec([None, 3]), name="x")
          TensorSpec(shape=(None, 3), dtype=tf.float32, name='x')
        """
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a tensor, or all tensors of another spec, match this spec.

        Args:
          spec_or_value: A tensor or spec. An object without shape and dtype matches no spec.

        Returns:
          A bool.

        Example:
          >>> spec = tf.TensorSpec((None, 3))
          >>> spec.is_compatible_with(tf.zeros((5, 3))), spec.is_compatible_with(tf.zeros((5, 4)))
          (True, False)
        """
        if not hasattr(spec_or_value, "shape") or not hasattr(spec_or_value, "dtype"):
            return False
        shape, dtype = spec_or_value.shape, spec_or_value.dtype
        return as_dtype(dtype) is self.dtype and self._takes(shape)

    def _takes(self, shape: PartialShape) -> bool:
        return self.shape.is_compatible_with(shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return False
        return (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


def check_signature(signature: object) -> None:
    """Raise a TypeError unless ``signature`` is a list or tuple of specs, or of nests of them."""
    from .nest import flatten

    if not isinstance(signature, list | tuple) or not all(
        isinstance(spec, TensorSpec) for spec in flatten(signature)
    ):
        raise TypeError(
            f"input_signature must be a possibly nested sequence of TensorSpec, got {signature!r}."
        )
