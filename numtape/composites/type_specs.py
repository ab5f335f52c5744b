"""`SparseTensorSpec` and `RaggedTensorSpec`: the forms of sparse and ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.values import dtypes
from ..core.values.dtypes import DType, as_dtype
from ..tensor_spec import TensorSpec
from .ragged_tensor import RaggedTensor, _parse_splits_dtype
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, PartialShape


class SparseTensorSpec(TensorSpec):
    """The shape and dtype of a `tf.SparseTensor`, for a `function`'s ``input_signature``.

    Args:
      shape: A shape, where None stands for any size; None for any shape.
      dtype: The dtype.

    Raises:
      TypeError: If the dtype is unknown.

    Example:
      >>> spec = tf.SparseTensorSpec((None, 2))
      >>> spec.is_compatible_with(tf.sparse.eye(2)), spec.is_compatible_with(tf.eye(2))
      (True, False)
    """

    __slots__ = ()

    def __init__(self, shape: PartialShape = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(shape, dtype)

    @property
    def value_type(self) -> type[SparseTensor]:
        """The class, `tf.SparseTensor`."""
        return SparseTensor

    @classmethod
    def from_value(cls, value: SparseTensor) -> SparseTensorSpec:
        """Return the spec of a sparse tensor.

        Args:
          value: A `tf.SparseTensor`.

        Returns:
          A `SparseTensorSpec`.

        Raises:
          TypeError: If ``value`` is not sparse.

        Example:
          >>> tf.SparseTensorSpec.from_value(tf.sparse.eye(2))
          SparseTensorSpec(TensorShape([2, 2]), tf.float32)
        """
        if not isinstance(value, SparseTensor):
            raise TypeError(f"Expected a SparseTensor, got {type(value).__name__}.")
        return cls(value.shape, value.dtype)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a sparse tensor, or all tensors of another spec, match this spec.

        Args:
          spec_or_value: A `tf.SparseTensor` or a `SparseTensorSpec`. Other objects do not match.

        Returns:
          A bool.

        Example:
          >>> tf.SparseTensorSpec((3, 3)).is_compatible_with(tf.sparse.eye(2))
          False
        """
        if not isinstance(spec_or_value, SparseTensor | SparseTensorSpec):
            return False
        return super().is_compatible_with(spec_or_value)

    def __eq__(self, other: object) -> bool:
        return type(other) is SparseTensorSpec and (self.shape, self.dtype) == (
            other.shape,
            other.dtype,
        )

    def __hash__(self) -> int:
        return hash((SparseTensorSpec, self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


class RaggedTensorSpec(TensorSpec):
    """The shape, dtype and ragged axes of a `tf.RaggedTensor`.

    Args:
      shape: A shape, where None stands for any size and ragged axes; None for any shape.
      dtype: The dtype of the values.
      ragged_rank: The number of ragged axes; None for all axes of ``shape`` but the first.
      row_splits_dtype: The dtype of the splits, int32 or int64.
      flat_values_spec: The spec of the flat values; None for any shape that fits.

    Raises:
      TypeError: If ``ragged_rank`` is not an int.
      ValueError: If ``ragged_rank`` does not fit the shape.

    Example:
      >>> spec = tf.RaggedTensorSpec([None, None], tf.int32)
      >>> spec.is_compatible_with(tf.ragged.constant([[1, 2], [3]]))
      True
    """

    __slots__ = ("flat_values_spec", "ragged_rank", "row_splits_dtype")

    def __init__(
        self,
        shape: PartialShape = None,
        dtype: DTypeLike = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
        flat_values_spec: TensorSpec | None = None,
    ) -> None:
        if flat_values_spec is not None:
            dtype = flat_values_spec.dtype if dtype is None else dtype
            if as_dtype(dtype) is not flat_values_spec.dtype:
                raise ValueError("dtype must be the same as flat_values_spec.dtype")
        super().__init__(shape, dtype)
        self.row_splits_dtype: DType = _parse_splits_dtype(row_splits_dtype)
        self.flat_values_spec = flat_values_spec
        rank = self.shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        elif not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank!r}.")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(
                f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank})."
            )
        self.ragged_rank = ragged_rank

    @property
    def value_type(self) -> Any:
        """The class, `tf.RaggedTensor`; `tf.Tensor` if there is no ragged axis."""
        from ..core.values.tensor import Tensor

        return RaggedTensor if self.ragged_rank > 0 else Tensor

    @classmethod
    def from_value(cls, value: RaggedTensor) -> RaggedTensorSpec:
        """Return the spec of a ragged tensor.

        Args:
          value: A `tf.RaggedTensor`.

        Returns:
          A `RaggedTensorSpec`.

        Raises:
          TypeError: If ``value`` is not ragged.

        Example:
          >>> tf.RaggedTensorSpec.from_value(tf.ragged.constant([[1, 2], [3]]))
          RaggedTensorSpec(TensorShape([2, None]), tf.int32, 1, tf.int64)
        """
        if not isinstance(value, RaggedTensor):
            raise TypeError(f"Expected a RaggedTensor, got {type(value).__name__}.")
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a ragged tensor, or all tensors of another spec, match this spec.

        Args:
          spec_or_value: A `tf.RaggedTensor` or a `RaggedTensorSpec`; a dense tensor matches a spec
            without ragged axes.

        Returns:
          A bool.

        Example:
          >>> spec = tf.RaggedTensorSpec([None, None], tf.float32)
          >>> spec.is_compatible_with(tf.ragged.constant([[1, 2], [3]]))
          False
        """
        value = spec_or_value
        if isinstance(value, RaggedTensor):
            splits_dtype, rank = value.row_splits.dtype, value.ragged_rank
        elif isinstance(value, RaggedTensorSpec):
            splits_dtype, rank = value.row_splits_dtype, value.ragged_rank
        else:
            return self.ragged_rank == 0 and super().is_compatible_with(value)
        return (
            splits_dtype is self.row_splits_dtype
            and rank == self.ragged_rank
            and super().is_compatible_with(value)
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is RaggedTensorSpec and self._key() == other._key()

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.ragged_rank, self.row_splits_dtype

    def __hash__(self) -> int:
        return hash((RaggedTensorSpec, *self._key()))

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, "
            f"{self.row_splits_dtype!r})"
        )


def spec_of_composite(value: Any) -> TensorSpec:
    """Return the spec of a sparse or ragged tensor."""
    cls: Any = SparseTensorSpec if isinstance(value, SparseTensor) else RaggedTensorSpec
    result: TensorSpec = cls.from_value(value)
    return result
