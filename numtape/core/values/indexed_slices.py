"""`IndexedSlices`: some slices of a tensor's first axis, and their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import DType
from .spec import TensorShape

if TYPE_CHECKING:
    from .annotations import TensorLike


class IndexedSlices:
    """Slices of a larger tensor that is 0 elsewhere: the gradient of an op that gathers rows.

    `GradientTape.gradient` returns them for a source that is used only by `gather` (along axis 0)
    or `nn.embedding_lookup`. Functions that take a tensor convert them to a dense one; slices with
    the same index add up. ``slices * 2.0`` is a TypeError, as in TensorFlow.

    Args:
      values: A tensor with the slices along its first axis.
      indices: A vector of integers with the position of each slice in the larger tensor's first
        axis.
      dense_shape: The shape of the larger tensor, a vector of integers; None if unknown.

    Example:
      >>> v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
      >>> with tf.GradientTape() as tape:
      ...     y = tf.gather(v, [2, 0]) ** 2
      >>> slices = tape.gradient(y, v)
      >>> slices.indices.numpy(), slices.values.numpy().tolist()
      (array([2, 0], dtype=int32), [[10.0, 12.0], [2.0, 4.0]])
      >>> tf.convert_to_tensor(slices).numpy().tolist()
      [[2.0, 4.0], [0.0, 0.0], [10.0, 12.0]]
    """

    __array_priority__ = 100

    def __init__(
        self, values: TensorLike, indices: TensorLike, dense_shape: TensorLike | None = None
    ) -> None:
        self._values: Any = values
        self._indices: Any = indices
        self._dense_shape: Any = dense_shape

    @property
    def values(self) -> Any:
        """A tensor with the slices."""
        return self._values

    @property
    def indices(self) -> Any:
        """A tensor of integers with the positions of the slices."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """The shape of the larger tensor, a tensor of integers; None if unknown."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The shape of the larger tensor.

        Raises:
          ValueError: If it is unknown.
        """
        if self._dense_shape is None:
            raise ValueError("These IndexedSlices have no dense_shape.")
        return TensorShape(np.asarray(self._dense_shape).tolist())

    @property
    def dtype(self) -> DType:
        """The dtype of the slices."""
        result: DType = self._values.dtype
        return result

    @property
    def device(self) -> str:
        """The device of the slices, in TensorFlow's spelling."""
        result: str = self._values.device
        return result

    def __getattr__(self, name: str) -> Any:
        if name in ("name", "op", "graph"):
            return getattr(self._values, name)  # raises the error of tensors, which have none
        raise AttributeError(f"'IndexedSlices' object has no attribute {name!r}")

    def consumers(self) -> list[Any]:
        """Return an empty list: consumers are not tracked."""
        return []

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        shape = f", dense_shape={self._dense_shape!s}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"
