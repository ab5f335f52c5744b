"""`IndexedSlices`: some slices of a tensor's first axis, and their indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import DType
from .spec import TensorShape


class IndexedSlices:
    """Slices of a larger tensor that is 0 elsewhere: the derivative of what takes a few rows of it.

    `GradientTape.gradient` gives them for a source of which `gather` (along axis 0) or
    `nn.embedding_lookup` takes slices, and nothing else does. Where a function wants a tensor it
    takes one of these, made dense; slices with the same index add up. ``slices * 2.0`` is a
    TypeError, as in TensorFlow.

    Args:
      values: A tensor: the slices along its first axis.
      indices: A vector of integers: for each the place along the first axis of the larger tensor.
      dense_shape: The larger tensor's shape, a vector of integers; None if it is not known.

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

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Any:
        """The slices, a tensor."""
        return self._values

    @property
    def indices(self) -> Any:
        """Where they belong, a tensor of integers."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """The shape of the larger tensor, a tensor of integers; None if it is not known."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The shape of the larger tensor.

        Raises:
          ValueError: If it is not known.
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
        """Where the slices live, in TensorFlow's spelling."""
        result: str = self._values.device
        return result

    def __getattr__(self, name: str) -> Any:
        if name in ("name", "op", "graph"):
            return getattr(self._values, name)  # the slices' error: tensors have none of them
        raise AttributeError(f"'IndexedSlices' object has no attribute {name!r}")

    def consumers(self) -> list[Any]:
        """Nobody that is known: an empty list."""
        return []

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        shape = f", dense_shape={self._dense_shape!s}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"
