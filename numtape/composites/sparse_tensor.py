"""`SparseTensor`: the elements of a tensor that are not 0, and their indices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..core.values import dtypes
from ..core.values.composite import Composite
from ..core.values.spec import TensorShape, check_shape
from ..core.values.tensor import Tensor
from ..errors import CompositeError
from .base import Array, CompositeTensor, as_values, read_array, register, to_index_tensor

if TYPE_CHECKING:
    from ..core.values.annotations import PartialShape, TensorLike


class SparseTensorValue(NamedTuple):
    """The parts of a sparse tensor as NumPy arrays: what `TestCase.evaluate` returns."""

    indices: Array
    values: Array
    dense_shape: Array


@register
class SparseTensor(CompositeTensor):
    """A tensor of which only some elements are stored, the others being 0.

    Gradients flow through the values. Functions of ``tf.sparse`` take sparse tensors, and so do
    ``*`` and ``/`` by a dense tensor, and `tf.abs`, `tf.square` and other functions that keep 0.
    Others raise a TypeError, and take ``tf.sparse.to_dense(x)``. A matrix of SciPy converts by
    `from_scipy`, and back by `to_scipy`.

    Args:
      indices: The indices of the elements, a matrix of int64 with a row for each element and a
        column for each axis. Most functions expect rows in increasing order: see
        `tf.sparse.reorder`.
      values: The elements, a vector.
      dense_shape: The shape, a vector of int64.

    Raises:
      ValueError: If the ranks or numbers of the arguments do not fit.
      TypeError: If ``indices`` or ``dense_shape`` are not int64.

    Example:
      >>> x = tf.SparseTensor(indices=[[0, 0], [1, 2]], values=[1.0, 2.0], dense_shape=[3, 4])
      >>> tf.sparse.to_dense(x).numpy().tolist()
      [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
      >>> tf.sparse.reduce_sum(x * 10.0).numpy()
      np.float32(30.0)
    """

    __slots__ = ("_dense_shape", "_indices", "_sizes", "_values")
    Value = SparseTensorValue
    display_name = "SparseTensor"
    dispatch_priority = 2
    remedy = "use `tf.sparse.to_dense(x)` for a dense tensor, or `tf.sparse.map_values`"
    _indices: Tensor
    _values: Any
    _dense_shape: Tensor
    _sizes: tuple[int, ...]

    if TYPE_CHECKING:  # set in `sparse_math`

        def __mul__(self, other: Any, /) -> SparseTensor: ...
        def __rmul__(self, other: Any, /) -> SparseTensor: ...
        def __truediv__(self, other: Any, /) -> SparseTensor: ...
        def __matmul__(self, other: Any, /) -> Tensor: ...
        def __rmatmul__(self, other: Any, /) -> Tensor: ...
        def __neg__(self) -> SparseTensor: ...
        def __abs__(self) -> SparseTensor: ...

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike) -> None:
        self._indices = _to_int64(indices, "indices", 2)
        self._values = as_values(values)
        self._dense_shape = _to_int64(dense_shape, "dense_shape", 1)
        count, rank = self._indices.shape
        if len(self._values.shape) != 1:
            raise ValueError(f"Shape {tuple(self._values.shape)} must have rank 1: values")
        if self._values.shape[0] != count:
            raise ValueError(
                f"Dimensions {count} and {self._values.shape[0]} are not compatible: the numbers "
                f"of indices and values"
            )
        if self._dense_shape.shape[0] != rank:
            raise ValueError(
                f"Dimensions {rank} and {self._dense_shape.shape[0]} are not compatible: the "
                f"columns of indices and the length of dense_shape"
            )
        self._sizes = tuple(read_array(self._dense_shape).tolist())
        if min(self._sizes, default=0) < 0:
            raise ValueError(f"dense_shape must not have negative sizes, got {self._sizes}")

    @classmethod
    def _make(cls, indices: Array | Tensor, values: Any, shape: tuple[int, ...]) -> Self:
        """Return a sparse tensor of valid parts."""
        self = object.__new__(cls)
        self._indices = (
            indices if type(indices) is Tensor else to_index_tensor(indices, dtypes.int64)  # type: ignore[arg-type]
        )
        self._values = values
        self._sizes = tuple(map(int, shape))
        self._dense_shape = to_index_tensor(np.array(self._sizes, np.int64), dtypes.int64)
        return self

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Return a sparse tensor of an object with ``indices``, ``values`` and ``dense_shape``.

        Args:
          sparse_tensor_value: A sparse tensor, or a named tuple of its parts.

        Returns:
          A `SparseTensor`.

        Raises:
          TypeError: If the object has no such parts.

        Example:
          >>> tf.SparseTensor.from_value(tf.sparse.eye(2)).shape
          TensorShape([2, 2])
        """
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        try:
            parts = [
                getattr(sparse_tensor_value, name) for name in ("indices", "values", "dense_shape")
            ]
        except AttributeError:
            raise TypeError(
                f"Argument sparse_tensor_value={sparse_tensor_value} is neither a SparseTensor "
                f"nor SparseTensorValue."
            ) from None
        return cls(*parts)

    @classmethod
    def from_scipy(cls, matrix: Any) -> SparseTensor:
        """Return a sparse tensor of a matrix or array of ``scipy.sparse``.

        Args:
          matrix: A sparse matrix, of any format.

        Returns:
          A `SparseTensor` whose indices are in order.

        Raises:
          TypeError: If ``matrix`` is not sparse.

        Example:
          >>> import scipy.sparse
          >>> x = tf.SparseTensor.from_scipy(scipy.sparse.csr_array([[0.0, 2.0], [3.0, 0.0]]))
          >>> x.indices.numpy().tolist(), x.values.numpy()
          ([[0, 1], [1, 0]], array([2., 3.]))
        """
        if not hasattr(matrix, "tocsr"):
            raise TypeError(f"Expected a matrix of scipy.sparse, got {type(matrix).__name__}.")
        rows = matrix.tocsr()
        rows.sum_duplicates()
        pairs = rows.tocoo()
        indices = np.stack([pairs.row, pairs.col], 1)
        return cls._make(indices, as_values(pairs.data.copy()), matrix.shape)

    def to_scipy(self) -> Any:
        """Return a matrix as a ``scipy.sparse.csr_array``.

        Returns:
          A CSR array of the values, on no tape.

        Raises:
          ValueError: If there are other than two axes.

        Example:
          >>> tf.sparse.eye(2).to_scipy().toarray().tolist()
          [[1.0, 0.0], [0.0, 1.0]]
        """
        import scipy.sparse

        if len(self._sizes) != 2:
            raise ValueError(f"A CSR array has two axes; this tensor has shape {self._sizes}.")
        row, column = read_array(self._indices).T
        data = read_array(self._values).copy()
        return scipy.sparse.coo_array((data, (row.copy(), column.copy())), self._sizes).tocsr()

    # Composite tensors.

    def _flatten(self) -> tuple[tuple[Any, ...], Any]:
        return (self._indices, self._values, self._dense_shape), None

    @classmethod
    def _unflatten(cls, metadata: Any, components: Iterable[Any]) -> Self:
        indices, values, dense_shape = components
        self = object.__new__(cls)
        self._indices, self._values, self._dense_shape = indices, values, dense_shape
        # A structure may have other leaves, such as names or specs.
        known = type(dense_shape) is Tensor
        self._sizes = tuple(dense_shape._array().tolist()) if known else ()
        return self

    def _values_component(self) -> Any:
        return self._values

    def _replace_values(self, values: Any) -> SparseTensor:
        return self.with_values(values)

    # Parts.

    @property
    def indices(self) -> Tensor:
        """The indices of the elements, a matrix of int64."""
        return self._indices

    @property
    def values(self) -> Any:
        """The elements, a vector."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape, a vector of int64."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(self._sizes)

    def set_shape(self, shape: PartialShape) -> None:
        """Check that the tensor has this shape, which never changes.

        Args:
          shape: A shape, in which None stands for any size.

        Raises:
          ValueError: If the shape differs.

        Example:
          >>> tf.sparse.eye(2).set_shape((2, None)) is None
          True
        """
        message = "Tensor's shape {} is not compatible with supplied shape {}."
        check_shape(self.shape, shape, message)

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """Return a sparse tensor of the same indices with other values.

        Args:
          new_values: A vector with an element for each index.

        Returns:
          A `SparseTensor`.

        Raises:
          ValueError: If the number of elements differs.

        Example:
          >>> x = tf.sparse.eye(2)
          >>> x.with_values([3.0, 4.0]).values.numpy()
          array([3., 4.], dtype=float32)
        """
        values = as_values(new_values)
        if len(values.shape) != 1 or values.shape[0] != self._indices.shape[0]:
            raise ValueError(
                f"Shapes {tuple(values.shape)} and {(self._indices.shape[0],)} are incompatible"
            )
        return self._make(self._indices, values, self._sizes)

    def __array__(self, *_: object, **__: object) -> Any:
        raise CompositeError(
            "A SparseTensor is not converted to a dense tensor implicitly: use "
            "`tf.sparse.to_dense(x)`, or `x.to_scipy()`."
        )

    def __bool__(self) -> bool:
        raise TypeError("A SparseTensor may not be used as a boolean.")

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices!s}, values={self._values!s}, "
            f"dense_shape={self._dense_shape!s})"
        )


def _to_int64(value: Any, name: str, rank: int) -> Tensor:
    if isinstance(value, Composite):
        raise TypeError(f"{name} must be a tensor of int64, got {type(value).__name__}")
    if isinstance(value, Tensor) or hasattr(value, "dtype"):
        kind = as_values(value).dtype
        if kind is not dtypes.int64:
            if isinstance(value, np.ndarray) and (value.dtype.kind in "iu" or not value.size):
                return to_index_tensor(value, dtypes.int64)
            raise ValueError(
                f"Tensor conversion requested dtype int64 for Tensor with dtype {kind.name}: {name}"
            )
        tensor: Tensor = as_values(value)
    else:
        array = np.asarray(value)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers, got {value!r}")
        if not array.size and rank == 2 and array.ndim < 2:
            array = array.reshape(0, 0)
        tensor = to_index_tensor(array.astype(np.int64), dtypes.int64)
    if len(tensor.shape) != rank:
        raise ValueError(f"Shape {tuple(tensor.shape)} must have rank {rank}: {name}")
    return tensor
