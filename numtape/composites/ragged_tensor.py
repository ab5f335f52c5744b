"""`RaggedTensor`: rows of different lengths, as one tensor of values and offsets of rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from ..core.ops import movement
from ..core.ops.creation import convert_to_tensor
from ..core.settings import unset
from ..core.values import dtypes
from ..core.values.dtypes import DType, as_dtype
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor, before_printing
from ..errors import CompositeError, InvalidArgumentError
from . import row_structure as rows
from .base import (
    Array,
    CompositeTensor,
    as_values,
    join_rows,
    read_array,
    register,
    take_rows,
    to_index_tensor,
)
from .row_structure import Partition
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, ShapeLike, TensorLike

SPLITS_DTYPES = dtypes.int32, dtypes.int64
# Functions of the modules that convert and index ragged tensors, which set them.
convert_to_dense: Callable[..., Any] = unset
convert_to_sparse: Callable[..., SparseTensor] = unset
getitem: Callable[..., Any] = unset


@register
class RaggedTensor(CompositeTensor):
    """A tensor some of whose axes have rows of different lengths.

    The values of all rows are in one tensor, `flat_values`, one row after the other; for each
    ragged axis, `nested_row_splits` has the offsets at which rows begin. Make one with
    `tf.ragged.constant`, or a class method such as `from_row_lengths`. Functions of numtape that
    accept ragged tensors compute on the values alone; others raise a TypeError, and take
    ``x.to_tensor()``. Gradients flow through the values.

    The constructor is private, as in TensorFlow.

    Raises:
      ValueError: If the constructor is called.

    Example:
      >>> x = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
      >>> x.shape, x.row_lengths().numpy().tolist()
      (TensorShape([3, None]), [2, 0, 1])
      >>> x * 10.0
      <tf.RaggedTensor [[10.0, 20.0], [], [30.0]]>
      >>> tf.reduce_sum(x, axis=1).numpy()
      array([3., 0., 3.], dtype=float32)
    """

    __slots__ = ("_partition", "_passed", "_row_splits", "_values")
    display_name = "RaggedTensor"
    dispatch_priority = 3
    remedy = "use `x.to_tensor()` for a dense tensor, or `tf.ragged.map_flat_values`"
    _values: Any
    _partition: Partition
    _row_splits: Tensor
    _passed: dict[str, Tensor]  # row lengths and row numbers that a constructor got as tensors

    if TYPE_CHECKING:  # set in `ragged_elementwise`

        def __add__(self, other: Any, /) -> RaggedTensor: ...
        def __radd__(self, other: Any, /) -> RaggedTensor: ...
        def __sub__(self, other: Any, /) -> RaggedTensor: ...
        def __rsub__(self, other: Any, /) -> RaggedTensor: ...
        def __mul__(self, other: Any, /) -> RaggedTensor: ...
        def __rmul__(self, other: Any, /) -> RaggedTensor: ...
        def __truediv__(self, other: Any, /) -> RaggedTensor: ...
        def __rtruediv__(self, other: Any, /) -> RaggedTensor: ...
        def __floordiv__(self, other: Any, /) -> RaggedTensor: ...
        def __rfloordiv__(self, other: Any, /) -> RaggedTensor: ...
        def __mod__(self, other: Any, /) -> RaggedTensor: ...
        def __rmod__(self, other: Any, /) -> RaggedTensor: ...
        def __pow__(self, other: Any, /) -> RaggedTensor: ...
        def __rpow__(self, other: Any, /) -> RaggedTensor: ...
        def __eq__(self, other: object, /) -> RaggedTensor: ...  # type: ignore[override]
        def __ne__(self, other: object, /) -> RaggedTensor: ...  # type: ignore[override]
        def __lt__(self, other: Any, /) -> RaggedTensor: ...
        def __le__(self, other: Any, /) -> RaggedTensor: ...
        def __gt__(self, other: Any, /) -> RaggedTensor: ...
        def __ge__(self, other: Any, /) -> RaggedTensor: ...
        def __and__(self, other: Any, /) -> RaggedTensor: ...
        def __or__(self, other: Any, /) -> RaggedTensor: ...
        def __xor__(self, other: Any, /) -> RaggedTensor: ...
        def __neg__(self) -> RaggedTensor: ...
        def __abs__(self) -> RaggedTensor: ...
        def __invert__(self) -> RaggedTensor: ...
        def __hash__(self) -> int: ...

    def __init__(
        self, values: object = None, row_partition: object = None, internal: bool = False
    ) -> None:
        raise ValueError(
            "RaggedTensor constructor is private; please use one of the factory methods instead "
            "(e.g., RaggedTensor.from_row_lengths())"
        )

    @classmethod
    def _make(
        cls,
        values: Any,
        partition: Partition,
        dtype: DType = dtypes.int64,
        row_splits: Tensor | None = None,
    ) -> Self:
        """Return a ragged tensor of valid parts."""
        self = object.__new__(cls)
        self._values = values
        self._partition = partition
        self._row_splits = (
            to_index_tensor(partition.splits, dtype) if row_splits is None else row_splits
        )
        self._passed = {}
        return self

    @classmethod
    def _nest(
        cls, flat_values: Any, partitions: Sequence[Partition], dtype: DType = dtypes.int64
    ) -> Any:
        """Return a tensor of these levels: the flat values themselves if there is none."""
        for partition in reversed(partitions):
            flat_values = cls._make(flat_values, partition, dtype)
        return flat_values

    # Composite tensors.

    def _flatten(self) -> tuple[tuple[Any, ...], Any]:
        uniform = tuple(part.uniform for part in self._partitions())
        return (self.flat_values, *self.nested_row_splits), uniform

    @classmethod
    def _unflatten(cls, metadata: Any, components: Iterable[Any]) -> Any:
        flat_values, *splits = components
        result = flat_values
        for level, uniform in zip(reversed(splits), reversed(metadata), strict=True):
            if type(level) is Tensor:
                array = level._array().astype(np.int64, copy=False)
                result = cls._make(result, Partition(array, uniform), level.dtype, level)
            else:  # a structure of other leaves, such as names or specs
                result = cls._make(result, Partition(np.zeros(1, np.int64)), row_splits=level)
        return result

    def _values_component(self) -> Any:
        return self.flat_values

    def _replace_values(self, values: Any) -> RaggedTensor:
        return self.with_flat_values(values)

    def _partitions(self) -> list[Partition]:
        """The levels, outermost first."""
        result = [self._partition]
        values = self._values
        while isinstance(values, RaggedTensor):
            result.append(values._partition)
            values = values._values
        return result

    def _take_rows(self, indices: Array) -> RaggedTensor:
        partitions, flat_rows = rows.take(self._partitions(), indices)
        result: RaggedTensor = self._nest(
            take_rows(self.flat_values, flat_rows), partitions, self._splits_dtype
        )
        return result

    @staticmethod
    def _join_rows(parts: list[Any]) -> RaggedTensor:
        """Concatenate the rows of ragged and dense tensors of one rank."""
        depth = max(x.ragged_rank for x in parts if isinstance(x, RaggedTensor))
        ragged = [as_ragged(x, depth) for x in parts]
        dtype = common_splits_dtype(ragged)
        result: RaggedTensor = RaggedTensor._nest(
            join_rows([x.flat_values for x in ragged]),
            rows.join([x._partitions() for x in ragged]),
            dtype,
        )
        return result

    # Constructors.

    @classmethod
    def from_row_splits(
        cls,
        values: TensorLike,
        row_splits: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return a ragged tensor whose row k has the values from one split to the next.

        Args:
          values: A tensor of shape (nvals, ...), ragged or dense.
          row_splits: A vector of integers, sorted, from 0 to nvals; its length is nrows + 1.
          name: Not used.
          validate: Whether to check the splits.

        Returns:
          A ragged tensor of shape (nrows, None, ...).

        Raises:
          ValueError: If ``row_splits`` is empty, not a vector or not int32 or int64.
          InvalidArgumentError: If the splits are not valid.

        Example:
          >>> tf.RaggedTensor.from_row_splits([3, 1, 4, 1], [0, 2, 2, 4])
          <tf.RaggedTensor [[3, 1], [], [4, 1]]>
        """
        nested = _parse_values(values)
        splits, dtype, tensor = _parse_indices(row_splits, "row_splits", nested)
        if not splits.size:
            raise ValueError("row_splits tensor may not be empty.")
        if validate:
            _check(int(splits[0]) == 0, "from_row_splits", "the first split must be 0")
            _check(bool((np.diff(splits) >= 0).all()), "from_row_splits", "splits must be sorted")
            _check(
                int(splits[-1]) == nested.shape[0],
                "from_row_splits",
                f"the last split must be the number of values, {nested.shape[0]}",
            )
        return cls._make(nested, Partition(splits), dtype, tensor)

    @classmethod
    def from_row_lengths(
        cls,
        values: TensorLike,
        row_lengths: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return a ragged tensor of rows of these lengths.

        Args:
          values: A tensor of shape (nvals, ...), ragged or dense.
          row_lengths: A vector of integers that are not negative and whose sum is nvals.
          name: Not used.
          validate: Whether to check the lengths.

        Returns:
          A ragged tensor of shape (nrows, None, ...).

        Raises:
          ValueError: If ``row_lengths`` is not a vector, or not int32 or int64.
          InvalidArgumentError: If the lengths are not valid.

        Example:
          >>> tf.RaggedTensor.from_row_lengths([3, 1, 4, 1], [3, 0, 1])
          <tf.RaggedTensor [[3, 1, 4], [], [1]]>
        """
        nested = _parse_values(values)
        lengths, dtype, _ = _parse_indices(row_lengths, "row_lengths", nested)
        if validate:
            _check(bool((lengths >= 0).all()), "from_row_lengths", "lengths must not be negative")
            _check(
                int(lengths.sum()) == nested.shape[0],
                "from_row_lengths",
                f"the sum of the lengths must be the number of values, {nested.shape[0]}",
            )
        result = cls._make(nested, rows.of_lengths(lengths), dtype)
        if type(row_lengths) is Tensor:
            result._passed["row_lengths"] = row_lengths
        return result

    @classmethod
    def from_row_starts(
        cls,
        values: TensorLike,
        row_starts: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return a ragged tensor of rows that begin at these offsets.

        Args:
          values: A tensor of shape (nvals, ...), ragged or dense.
          row_starts: A vector of integers, sorted; the first is 0.
          name: Not used.
          validate: Whether to check the offsets.

        Returns:
          A ragged tensor of shape (nrows, None, ...).

        Raises:
          ValueError: If ``row_starts`` is not a vector, or not int32 or int64.
          InvalidArgumentError: If the offsets are not valid.

        Example:
          >>> tf.RaggedTensor.from_row_starts([3, 1, 4, 1], [0, 3, 3])
          <tf.RaggedTensor [[3, 1, 4], [], [1]]>
        """
        nested = _parse_values(values)
        starts, dtype, _ = _parse_indices(row_starts, "row_starts", nested)
        nvals = nested.shape[0]
        if validate and len(starts):
            _check(int(starts[0]) == 0, "from_row_starts", "the first offset must be 0")
            _check(bool((np.diff(starts) >= 0).all()), "from_row_starts", "offsets must be sorted")
            _check(int(starts[-1]) <= nvals, "from_row_starts", f"an offset exceeds {nvals}")
        return cls._make(nested, Partition(np.append(starts, nvals)), dtype)

    @classmethod
    def from_row_limits(
        cls,
        values: TensorLike,
        row_limits: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return a ragged tensor of rows that end before these offsets.

        Args:
          values: A tensor of shape (nvals, ...), ragged or dense.
          row_limits: A vector of integers, sorted; the last is nvals.
          name: Not used.
          validate: Whether to check the offsets.

        Returns:
          A ragged tensor of shape (nrows, None, ...).

        Raises:
          ValueError: If ``row_limits`` is not a vector, or not int32 or int64.
          InvalidArgumentError: If the offsets are not valid.

        Example:
          >>> tf.RaggedTensor.from_row_limits([3, 1, 4, 1], [3, 3, 4])
          <tf.RaggedTensor [[3, 1, 4], [], [1]]>
        """
        nested = _parse_values(values)
        limits, dtype, _ = _parse_indices(row_limits, "row_limits", nested)
        nvals = nested.shape[0]
        splits = np.concatenate([np.zeros(1, np.int64), limits])
        if validate:
            _check(bool((np.diff(splits) >= 0).all()), "from_row_limits", "offsets must be sorted")
            _check(
                int(splits[-1]) == nvals,
                "from_row_limits",
                f"the last offset must be the number of values, {nvals}",
            )
        return cls._make(nested, Partition(splits), dtype)

    @classmethod
    def from_value_rowids(
        cls,
        values: TensorLike,
        value_rowids: TensorLike,
        nrows: IntLike | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return a ragged tensor whose rows have the values with their number.

        Args:
          values: A tensor of shape (nvals, ...), ragged or dense.
          value_rowids: The row of each value: a vector of integers, sorted.
          nrows: The number of rows; None for the last value's row plus 1.
          name: Not used.
          validate: Whether to check the numbers.

        Returns:
          A ragged tensor of shape (nrows, None, ...).

        Raises:
          ValueError: If ``value_rowids`` is not a vector, or not int32 or int64; or ``nrows`` is
            negative or too small.
          InvalidArgumentError: If the numbers are not valid.

        Example:
          >>> tf.RaggedTensor.from_value_rowids([3, 1, 4, 1], [0, 0, 2, 2], nrows=4)
          <tf.RaggedTensor [[3, 1], [], [4, 1], []]>
        """
        nested = _parse_values(values)
        rowids, dtype, _ = _parse_indices(value_rowids, "value_rowids", nested)
        count = int(rowids[-1]) + 1 if len(rowids) else 0
        if nrows is not None:
            size = read_array(nrows)
            if size.ndim:
                raise ValueError(f"Shape {size.shape} must have rank 0")
            if int(size) < 0:
                raise ValueError(f"Expected nrows >= 0; got {int(size)}")
            if len(rowids) and isinstance(nrows, int) and int(size) < count:
                raise ValueError(
                    f"Expected nrows >= value_rowids[-1] + 1; got nrows={int(size)}, "
                    f"value_rowids[-1]={count - 1}"
                )
            _check(not validate or count <= int(size), "from_value_rowids", "nrows is too small")
            count = int(size)
        if validate:
            _check(
                len(rowids) == nested.shape[0],
                "from_value_rowids",
                f"there are {len(rowids)} numbers for {nested.shape[0]} values",
            )
            _check(
                bool((np.diff(rowids) >= 0).all()) and (not len(rowids) or int(rowids[0]) >= 0),
                "from_value_rowids",
                "numbers must be sorted and not negative",
            )
        lengths = np.bincount(rowids, minlength=count)
        result = cls._make(nested, rows.of_lengths(lengths), dtype)
        if type(value_rowids) is Tensor:
            result._passed["value_rowids"] = value_rowids
        return result

    @classmethod
    def from_uniform_row_length(
        cls,
        values: TensorLike,
        uniform_row_length: IntLike,
        nrows: IntLike | None = None,
        validate: bool = True,
        name: str | None = None,
    ) -> RaggedTensor:
        """Return a ragged tensor of rows of one length. Its values may have ragged axes.

        Args:
          values: A tensor of shape (nvals, ...), ragged or dense.
          uniform_row_length: The length.
          nrows: The number of rows, which is required if the length is 0.
          validate: Whether to check the numbers.
          name: Not used.

        Returns:
          A ragged tensor of shape (nrows, uniform_row_length, ...).

        Raises:
          ValueError: If the length or ``nrows`` is negative, or the length is 0 and there are
            values.
          InvalidArgumentError: If there are other values.

        Example:
          >>> x = tf.RaggedTensor.from_uniform_row_length(tf.ragged.constant([[1], [2, 3]]), 2)
          >>> x.shape
          TensorShape([1, 2, None])
        """
        nested = _parse_values(values)
        array = read_array(uniform_row_length)
        length, nvals = int(array), nested.shape[0]
        dtype = nested._splits_dtype if isinstance(nested, RaggedTensor) else dtypes.int64
        if length < 0:
            raise ValueError("uniform_row_length must be greater than or equal to 0.")
        if nrows is None:
            count = nvals // length if length else 0
        else:
            count = int(read_array(nrows))
            if count < 0:
                raise ValueError("nrows must be greater than or equal to 0.")
        if validate and count * length != nvals:
            message = (
                f"uniform_row_length={length} with nrows={count} has {count * length} values, not "
                f"{nvals}"
            )
            if not length or nrows is not None:
                raise ValueError(message)
            _check(False, "from_uniform_row_length", message)
        return cls._make(nested, rows.uniform_partition(count, length), dtype)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: TensorLike,
        nested_row_splits: Sequence[TensorLike],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Return a ragged tensor of several levels of splits.

        Args:
          flat_values: A tensor.
          nested_row_splits: The splits of each ragged axis, outermost first.
          name: Not used.
          validate: Whether to check the splits.

        Returns:
          A ragged tensor; ``flat_values`` if there are no levels.

        Raises:
          TypeError: If ``nested_row_splits`` is a tensor.
          ValueError, InvalidArgumentError: As for `from_row_splits`.

        Example:
          >>> tf.RaggedTensor.from_nested_row_splits([3, 1, 4], [[0, 2], [0, 1, 3]])
          <tf.RaggedTensor [[[3], [1, 4]]]>
        """
        _check_list(nested_row_splits, "nested_row_splits")
        result: Any = _parse_values(flat_values)
        for splits in reversed(nested_row_splits):
            result = cls.from_row_splits(result, splits, validate=validate)
        return result

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: TensorLike,
        nested_row_lengths: Sequence[TensorLike],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Return a ragged tensor of several levels of lengths; see `from_nested_row_splits`.

        Args:
          flat_values: A tensor.
          nested_row_lengths: The lengths of each ragged axis, outermost first.
          name: Not used.
          validate: Whether to check the lengths.

        Returns:
          A ragged tensor; ``flat_values`` if there are no levels.

        Raises:
          TypeError: If ``nested_row_lengths`` is a tensor.
          ValueError, InvalidArgumentError: As for `from_row_lengths`.

        Example:
          >>> tf.RaggedTensor.from_nested_row_lengths([3, 1, 4], [[2], [1, 2]])
          <tf.RaggedTensor [[[3], [1, 4]]]>
        """
        _check_list(nested_row_lengths, "nested_row_lengths")
        result: Any = _parse_values(flat_values)
        for lengths in reversed(nested_row_lengths):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return result

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: TensorLike,
        nested_value_rowids: Sequence[TensorLike],
        nested_nrows: Sequence[IntLike] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Return a ragged tensor of several levels of row numbers; see `from_value_rowids`.

        Args:
          flat_values: A tensor.
          nested_value_rowids: The row numbers of each ragged axis, outermost first.
          nested_nrows: The number of rows of each level.
          name: Not used.
          validate: Whether to check the numbers.

        Returns:
          A ragged tensor; ``flat_values`` if there are no levels.

        Raises:
          TypeError: If an argument is a tensor.
          ValueError: If the lists differ in length, or as for `from_value_rowids`.

        Example:
          >>> tf.RaggedTensor.from_nested_value_rowids([3, 1, 4], [[0, 0], [0, 1, 1]])
          <tf.RaggedTensor [[[3], [1, 4]]]>
        """
        _check_list(nested_value_rowids, "nested_value_rowids")
        if nested_nrows is None:
            counts: Sequence[Any] = [None] * len(nested_value_rowids)
        else:
            _check_list(nested_nrows, "nested_nrows")
            counts = nested_nrows
            if len(counts) != len(nested_value_rowids):
                raise ValueError(
                    "Argument `nested_nrows` must have the same length as argument "
                    "`nested_value_rowids`."
                )
        result: Any = _parse_values(flat_values)
        for rowids, count in zip(reversed(nested_value_rowids), reversed(counts), strict=True):
            result = cls.from_value_rowids(result, rowids, count, validate=validate)
        return result

    @classmethod
    def from_tensor(
        cls,
        tensor: TensorLike,
        lengths: Any = None,
        padding: TensorLike | None = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
    ) -> Any:
        """Return a ragged tensor of a dense one, without padding at the ends of rows.

        Args:
          tensor: A tensor of at least ragged_rank + 1 axes.
          lengths: The lengths of the rows of axis 1, a vector; or a tuple of vectors, the
            `nested_row_lengths` of the result.
          padding: A value of shape tensor.shape[ragged_rank + 1:]. Rows end before the values at
            their ends that are equal to it.
          ragged_rank: The number of ragged axes.
          name: Not used.
          row_splits_dtype: int32 or int64.

        Returns:
          A ragged tensor.

        Raises:
          ValueError: If both ``lengths`` and ``padding`` are given; or ``ragged_rank`` is less than
            1, or not less than the rank of the tensor.
          TypeError: If ``ragged_rank`` is not an int.

        Example:
          >>> tf.RaggedTensor.from_tensor([[5, 7, 0], [0, 3, 0], [6, 0, 0]], padding=0)
          <tf.RaggedTensor [[5, 7], [0, 3], [6]]>
        """
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if ragged_rank <= 0:
            raise ValueError(
                f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}."
            )
        dtype = _parse_splits_dtype(row_splits_dtype)
        x = as_values(tensor)
        shape = tuple(x.shape)
        levels: list[Array] = []
        if lengths is not None:
            is_nested = isinstance(lengths, list | tuple) and not all(
                isinstance(x, int | float | np.number) for x in lengths
            )
            levels = [read_array(level) for level in (lengths if is_nested else [lengths])]
            if any(level.size and level.dtype.kind not in "iu" for level in levels):
                raise TypeError("Argument `tensor` (name: lengths) must be of type integer.")
            if is_nested and ragged_rank not in (1, len(levels)):
                raise ValueError(
                    f"If Argument `lengths` is a tuple of row_lengths, argument `ragged_rank` must "
                    f"be len(lengths): {len(levels)}. Received ragged_rank: {ragged_rank}."
                )
            ragged_rank = max(ragged_rank, len(levels))
        if len(shape) <= ragged_rank:
            raise ValueError(
                f"The rank of a RaggedTensor must be greater than {ragged_rank}, its ragged_rank: "
                f"Shape {shape} must have rank at least {ragged_rank + 1}"
            )
        flat = _reshape_values(
            x, (int(np.prod(shape[: ragged_rank + 1])), *shape[ragged_rank + 1 :])
        )
        partitions = []
        count = shape[0]
        for size in shape[1 : ragged_rank + 1]:
            partitions.append(rows.uniform_partition(count, size))
            count *= size
        full: RaggedTensor = cls._nest(flat, partitions, dtype)
        if lengths is not None:
            return _cut_rows(full, [level.astype(np.int64) for level in levels])
        if padding is not None:
            pad = convert_to_tensor(padding, dtype_hint=x.dtype)
            if pad.dtype is not x.dtype:
                raise TypeError(f"padding has dtype {pad.dtype.name}, the tensor {x.dtype.name}")
            if tuple(pad.shape) != shape[ragged_rank + 1 :]:
                raise ValueError(
                    f"Shapes {tuple(pad.shape)} and {shape[ragged_rank + 1 :]} are incompatible"
                )
            is_padding = read_array(flat) == read_array(pad)
            is_padding = is_padding.all(axis=tuple(range(1, is_padding.ndim)))
            size = shape[ragged_rank]
            is_value = ~is_padding.reshape(int(np.prod(shape[:ragged_rank])), size)
            if size:
                length = np.where(is_value.any(1), size - np.argmax(is_value[:, ::-1], 1), 0)
            else:
                length = np.zeros(len(is_value), np.int64)
            flat_rows = rows.expand(partitions[-1].splits[:-1], length)
            return cls._nest(
                take_rows(flat, flat_rows), [*partitions[:-1], rows.of_lengths(length)], dtype
            )
        return full

    @classmethod
    def from_sparse(
        cls,
        st_input: SparseTensor,
        name: str | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
    ) -> RaggedTensor:
        """Return a ragged tensor of a sparse matrix whose values are at the beginnings of rows.

        Args:
          st_input: A sparse tensor of two axes.
          name: Not used.
          row_splits_dtype: int32 or int64.

        Returns:
          A ragged tensor of shape (nrows, None).

        Raises:
          TypeError: If ``st_input`` is not sparse.
          ValueError: If it has other axes.
          InvalidArgumentError: If there are gaps in a row, or indices are not sorted.

        Example:
          >>> x = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 4])
          >>> tf.RaggedTensor.from_sparse(x)
          <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        if not isinstance(st_input, SparseTensor):
            raise TypeError(
                f"Argument `st_input` must be of type SparseTensor. Received {st_input!r}."
            )
        if len(st_input.shape) != 2:
            raise ValueError(
                f"Argument `st_input` must have rank 2: rank(st_input) must be 2. Received "
                f"{len(st_input.shape)}."
            )
        dtype = _parse_splits_dtype(row_splits_dtype)
        indices = read_array(st_input.indices)
        lengths = np.bincount(indices[:, 0], minlength=st_input.shape[0] or 0)
        expected = np.stack(
            [np.repeat(np.arange(len(lengths)), lengths), rows.offsets_in_rows(lengths)], 1
        )
        _check(
            np.array_equal(indices, expected),
            "from_sparse",
            "SparseTensor is not right-ragged: a row has gaps, or indices are not sorted",
        )
        return cls._make(st_input.values, rows.of_lengths(lengths), dtype)

    # Parts.

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        result: DType = self._values.dtype
        return result

    @property
    def shape(self) -> TensorShape:
        """The shape, with None for ragged axes."""
        values = self._values.shape
        return TensorShape([self._partition.nrows, self._partition.uniform, *values[1:]])

    @property
    def ragged_rank(self) -> int:
        """The number of axes that have row splits."""
        values = self._values
        return 1 + (values.ragged_rank if isinstance(values, RaggedTensor) else 0)

    @property
    def values(self) -> Any:
        """The rows of all outermost rows, one after the other: a tensor, dense or ragged."""
        return self._values

    @property
    def flat_values(self) -> Any:
        """The dense tensor of all values."""
        values = self._values
        while isinstance(values, RaggedTensor):
            values = values._values
        return values

    @property
    def row_splits(self) -> Tensor:
        """The offsets at which rows begin, followed by the number of values."""
        return self._row_splits

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of each ragged axis, outermost first."""
        values = self._values
        inner = values.nested_row_splits if isinstance(values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows if axis 1 is uniform, else None."""
        uniform = self._partition.uniform
        return None if uniform is None else to_index_tensor(np.array(uniform), self._splits_dtype)

    @property
    def _splits_dtype(self) -> DType:
        return self._row_splits.dtype

    def _indices(self, array: Array, dtype: DTypeLike | None = None) -> Tensor:
        """Return integers as a tensor of the splits' dtype."""
        return to_index_tensor(array, self._splits_dtype if dtype is None else as_dtype(dtype))

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """Return the number of rows.

        Args:
          out_type: The dtype of the result; None for that of the splits.
          name: Not used.

        Returns:
          A scalar tensor.

        Example:
          >>> tf.ragged.constant([[3, 1], [], [4]]).nrows().numpy()
          np.int64(3)
        """
        return self._indices(np.array(self._partition.nrows), out_type)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the lengths of the rows.

        Args:
          axis: The axis: 1 for the outermost rows; 0 for the number of rows.
          name: Not used.

        Returns:
          A tensor of shape self.shape[:axis], ragged for a deeper axis.

        Raises:
          ValueError: If there is no such axis.

        Example:
          >>> x = tf.ragged.constant([[[3, 1], [4]], [], [[1]]])
          >>> x.row_lengths().numpy().tolist(), x.row_lengths(axis=2)
          ([2, 0, 1], <tf.RaggedTensor [[2, 1], [], [1]]>)
        """
        axis = resolve_axis(axis, len(self.shape))
        if axis == 0:
            return self.nrows()
        if axis == 1:
            if "row_lengths" in self._passed:
                return self._passed["row_lengths"]
            return self._indices(self._partition.lengths)
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(axis - 1))
        shape = tuple(self._values.shape)
        return self.with_values(self._indices(np.full(shape[: axis - 1], shape[axis - 1])))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the lengths of the rows of each ragged axis, outermost first.

        Args:
          name: Not used.

        Returns:
          A tuple of vectors.

        Example:
          >>> x = tf.ragged.constant([[[3, 1], [4]], [], [[1]]])
          >>> [lengths.numpy().tolist() for lengths in x.nested_row_lengths()]
          [[2, 0, 1], [2, 1, 1]]
        """
        return tuple(self._indices(part.lengths) for part in self._partitions())

    def row_starts(self, name: str | None = None) -> Tensor:
        """Return the offsets at which rows begin.

        Args:
          name: Not used.

        Returns:
          A vector.

        Example:
          >>> tf.ragged.constant([[3, 1], [], [4]]).row_starts().numpy()
          array([0, 2, 2])
        """
        return self._indices(self._partition.splits[:-1])

    def row_limits(self, name: str | None = None) -> Tensor:
        """Return the offsets before which rows end.

        Args:
          name: Not used.

        Returns:
          A vector.

        Example:
          >>> tf.ragged.constant([[3, 1], [], [4]]).row_limits().numpy()
          array([2, 2, 3])
        """
        return self._indices(self._partition.splits[1:])

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Return the row of each of the values.

        Args:
          name: Not used.

        Returns:
          A vector.

        Example:
          >>> tf.ragged.constant([[3, 1], [], [4]]).value_rowids().numpy()
          array([0, 0, 2])
        """
        if "value_rowids" in self._passed:
            return self._passed["value_rowids"]
        return self._indices(rows.rowids_of(self._partition.splits))

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the row of each value, for each ragged axis, outermost first.

        Args:
          name: Not used.

        Returns:
          A tuple of vectors.

        Example:
          >>> x = tf.ragged.constant([[[3, 1], [4]], [], [[1]]])
          >>> [numbers.numpy().tolist() for numbers in x.nested_value_rowids()]
          [[0, 0, 2], [0, 0, 1, 2]]
        """
        return tuple(self._indices(rows.rowids_of(part.splits)) for part in self._partitions())

    def bounding_shape(
        self,
        axis: TensorLike | None = None,
        name: str | None = None,
        out_type: DTypeLike | None = None,
    ) -> Tensor:
        """Return the shape of the smallest dense tensor that has room for this one.

        Args:
          axis: One or several axes; None for all of them.
          name: Not used.
          out_type: The dtype of the result; None for that of the splits.

        Returns:
          A tensor of integers.

        Raises:
          ValueError: If there is no such axis.

        Example:
          >>> tf.ragged.constant([[1, 2, 3], [4], []]).bounding_shape().numpy()
          array([3, 3])
        """
        shape = np.array(self._bounds(), np.int64)
        if axis is not None:
            axes = read_array(axis)
            numbers = [resolve_axis(int(k), len(shape)) for k in axes.ravel()]
            shape = shape[np.array(numbers, np.int64).reshape(axes.shape)]
        return self._indices(shape, out_type)

    def _bounds(self) -> tuple[int, ...]:
        """The shape of the smallest dense tensor that has room for this one."""
        parts = self._partitions()
        longest = [
            int(part.lengths.max(initial=0)) if part.uniform is None else part.uniform
            for part in parts
        ]
        return (parts[0].nrows, *longest, *self.flat_values.shape[1:])

    # Other values.

    def with_values(self, new_values: TensorLike) -> RaggedTensor:
        """Return a ragged tensor of the same rows with other values.

        Args:
          new_values: A tensor, dense or ragged, of the first size of `values`.

        Returns:
          A ragged tensor.

        Raises:
          ValueError: If the first size differs.

        Example:
          >>> x = tf.ragged.constant([[3, 1], [], [4]])
          >>> x.with_values(x.values * 10)
          <tf.RaggedTensor [[30, 10], [], [40]]>
        """
        values = as_values(new_values)
        if not len(values.shape) or values.shape[0] != self._values.shape[0]:
            raise ValueError(f"Shapes {values.shape} and {self._values.shape[:1]} are incompatible")
        return self._make(values, self._partition, self._splits_dtype, self._row_splits)

    def with_flat_values(self, new_values: TensorLike) -> RaggedTensor:
        """Return a ragged tensor of the same structure with other flat values.

        Args:
          new_values: A tensor of the first size of `flat_values`.

        Returns:
          A ragged tensor.

        Raises:
          ValueError: If the first size differs.

        Example:
          >>> x = tf.ragged.constant([[[3.0, 1.0]], [], [[4.0]]])
          >>> x.with_flat_values(tf.sqrt(x.flat_values) * 0.0)
          <tf.RaggedTensor [[[0.0, 0.0]], [], [[0.0]]]>
        """
        values = self._values
        if isinstance(values, RaggedTensor):
            return self.with_values(values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """Return a ragged tensor whose splits have another dtype.

        Args:
          dtype: int32 or int64.

        Returns:
          A ragged tensor.

        Raises:
          ValueError: If the dtype is another one.

        Example:
          >>> tf.ragged.constant([[1]]).with_row_splits_dtype(tf.int32).row_splits.dtype
          tf.int32
        """
        target = _parse_splits_dtype(dtype)
        if target is self._splits_dtype:
            return self
        result: RaggedTensor = self._nest(self.flat_values, self._partitions(), target)
        return result

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Return a tensor in which several axes are one.

        Args:
          outer_axis: The first of the axes.
          inner_axis: The last of them.

        Returns:
          A tensor, dense if no ragged axis is left.

        Raises:
          ValueError: If ``outer_axis`` is greater than ``inner_axis``, or there is no such axis.

        Example:
          >>> tf.ragged.constant([[[1, 2], [3]], [[4]]]).merge_dims(1, 2)
          <tf.RaggedTensor [[1, 2, 3], [4]]>
        """
        rank = len(self.shape)
        outer = resolve_axis(outer_axis, rank, "outer_axis")
        inner = resolve_axis(inner_axis, rank, "inner_axis")
        if outer > inner:
            raise ValueError(
                f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis "
                f"({inner_axis})"
            )
        if outer == inner:
            return self
        parts, flat = self._partitions(), self.flat_values
        if inner > len(parts):  # axes of the values join
            shape = tuple(flat.shape)
            first = inner - len(parts)
            if outer >= len(parts) + 1:
                start = outer - len(parts)
                merged = int(np.prod(shape[start : first + 1]))
                return self.with_flat_values(
                    _reshape_values(flat, (*shape[:start], merged, *shape[first + 1 :]))
                )
            merged_flat = int(np.prod(shape[: first + 1]))
            flat = _reshape_values(flat, (merged_flat, *shape[first + 1 :]))
            count = parts[-1].splits[-1]
            for size in shape[1 : first + 1]:
                parts.append(rows.uniform_partition(int(count), size))
                count = count * size
        if outer == 0:
            return self._nest(flat, parts[inner:], self._splits_dtype)
        splits = parts[outer - 1].splits
        uniform = parts[outer - 1].uniform
        for part in parts[outer:inner]:
            splits = part.splits[splits]
            uniform = None if uniform is None or part.uniform is None else uniform * part.uniform
        return self._nest(
            flat,
            [*parts[: outer - 1], Partition(splits, uniform), *parts[inner:]],
            self._splits_dtype,
        )

    # Conversions.

    def to_tensor(
        self,
        default_value: TensorLike | None = None,
        name: str | None = None,
        shape: ShapeLike | None = None,
    ) -> Any:
        """Return a dense tensor, padded at the ends of rows.

        Args:
          default_value: The padding, which broadcasts to the inner shape; None for 0.
          name: Not used.
          shape: The shape of the result, in which None stands for the bounding size. Values beyond
            it are cut off.

        Returns:
          A dense tensor.

        Raises:
          ValueError: If ``shape`` or ``default_value`` does not fit.
          TypeError: If ``default_value`` has another dtype.

        Example:
          >>> x = tf.ragged.constant([[9, 8, 7], [], [6, 5], [4]])
          >>> x.to_tensor(default_value=-1, shape=[None, 2]).numpy().tolist()
          [[9, 8], [-1, -1], [6, 5], [4, -1]]
        """
        return convert_to_dense(self, default_value, shape)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Return a sparse tensor of the values and their indices.

        Args:
          name: Not used.

        Returns:
          A `tf.SparseTensor`.

        Example:
          >>> tf.ragged.constant([[1, 2, 3], [4], []]).to_sparse().indices.numpy().tolist()
          [[0, 0], [0, 1], [0, 2], [1, 0]]
        """
        return convert_to_sparse(self)

    def to_list(self) -> list[Any]:
        """Return nested lists of Python values.

        Returns:
          A list.

        Example:
          >>> tf.ragged.constant([[1, 2], [], [3]]).to_list()
          [[1, 2], [], [3]]
        """
        return nested_list(self._partitions(), read_array(self.flat_values).tolist())

    def numpy(self) -> Array:
        """Return an array: of objects, one for each row, unless all rows have one length.

        Returns:
          An array.

        Example:
          >>> tf.ragged.constant([[1, 2], [3]]).numpy()
          array([array([1, 2], dtype=int32), array([3], dtype=int32)], dtype=object)
        """
        parts: Array = self._values.numpy()
        splits = self._partition.splits
        pieces = [parts[splits[k] : splits[k + 1]] for k in range(len(splits) - 1)]
        if not pieces:
            return np.zeros((0, 0, *np.shape(parts)[1:]), dtype=parts.dtype)
        if all(len(piece) == len(pieces[0]) for piece in pieces):
            return _stack_pieces(pieces)
        result = np.empty(len(pieces), object)
        for k, piece in enumerate(pieces):
            result[k] = piece
        return result

    # Python's protocols.

    def __len__(self) -> NoReturn:
        raise TypeError(
            "object of type 'RaggedTensor' has no len(): use `x.nrows()`, or `x.shape[0]`."
        )

    def __iter__(self) -> Iterator[Any]:
        for k in range(self._partition.nrows):
            yield self[k]

    def __bool__(self) -> NoReturn:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise CompositeError(
            "A RaggedTensor is not converted to a dense tensor implicitly: use `x.to_tensor()`, or "
            "`x.numpy()` for an array of rows."
        )

    def __getitem__(self, key: Any) -> Any:
        return getitem(self, key)

    def __repr__(self) -> str:
        before_printing()
        return f"<tf.RaggedTensor {_format(self.numpy())}>"


def _format(value: Any) -> str:
    """Return rows as nested lists; NumPy leaves out the middle of long ones."""
    if isinstance(value, np.ndarray) and value.size:
        with np.printoptions(formatter={"all": _format}):
            return np.array2string(value, separator=", ")
    return str(value.tolist() if isinstance(value, np.ndarray) else value)


def nested_list(partitions: list[Partition], values: list[Any]) -> list[Any]:
    """Return flat values as nested lists."""
    for part in reversed(partitions):
        splits = part.splits.tolist()
        values = [values[splits[k] : splits[k + 1]] for k in range(len(splits) - 1)]
    return values


def _stack_pieces(pieces: list[Array]) -> Array:
    if pieces[0].dtype != object:
        return np.stack(pieces)
    result = np.empty((len(pieces), len(pieces[0])), object)
    for k, piece in enumerate(pieces):
        for j, part in enumerate(piece):
            result[k, j] = part
    return result


def resolve_axis(axis: int, rank: int, name: str = "axis") -> int:
    """Return an axis counted from the front."""
    try:
        axis = operator.index(axis)
    except TypeError:
        kind = type(axis).__name__
        raise TypeError(f"{name} must be an int; got {kind} {axis!r}") from None
    if not -rank <= axis < rank:
        raise ValueError(f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}")
    return int(axis) % rank if rank else 0


def as_ragged(x: Any, depth: int) -> RaggedTensor:
    """Return a tensor with ``depth`` ragged axes; axes of dense tensors become uniform rows."""
    if isinstance(x, RaggedTensor):
        parts, flat = x._partitions(), x.flat_values
        dtype = x._splits_dtype
        count = int(parts[-1].splits[-1])
    else:
        parts, flat, dtype = [], x, dtypes.int64
        count = x.shape[0]
    missing = depth - len(parts)
    if missing <= 0:
        return x  # type: ignore[no-any-return]
    shape = tuple(flat.shape)
    for size in shape[1 : missing + 1]:
        parts = [*parts, rows.uniform_partition(count, size)]
        count *= size
    flat = _reshape_values(flat, (count, *shape[missing + 1 :]))
    result: RaggedTensor = RaggedTensor._nest(flat, parts, dtype)
    return result


def common_splits_dtype(values: Iterable[Any]) -> DType:
    """Return the splits' dtype of several ragged tensors: int64 unless all have int32."""
    kinds = {x._splits_dtype for x in values if isinstance(x, RaggedTensor)}
    return kinds.pop() if len(kinds) == 1 else dtypes.int64


def _reshape_values(x: Any, shape: tuple[int, ...]) -> Any:
    """Reshape a dense tensor of numbers or strings."""
    if tuple(x.shape) == shape:
        return x
    return movement.reshape(x, shape)


def _cut_rows(x: RaggedTensor, levels: list[Array]) -> RaggedTensor:
    """Return the beginnings of rows, whose lengths are given for each level."""
    parts, taken = x._partitions(), np.arange(x._partition.nrows)
    result = []
    for part, lengths in zip(parts, levels, strict=False):
        limits = part.lengths[taken]
        if len(lengths) != len(taken):
            raise InvalidArgumentError(
                f"There are {len(lengths)} lengths for {len(taken)} rows [Op:RaggedFromTensor]"
            )
        lengths = np.clip(lengths, 0, limits)
        result.append(rows.of_lengths(lengths))
        taken = rows.expand(part.splits[:-1][taken], lengths)
    flat: RaggedTensor = RaggedTensor._nest(
        take_rows(x.flat_values, taken), result, x._splits_dtype
    )
    return flat


def _parse_values(values: Any) -> Any:
    values = as_values(values)
    if not len(values.shape):
        raise ValueError(f"Shape {tuple(values.shape)} must have rank at least 1")
    return values


def _parse_indices(value: Any, name: str, values: Any) -> tuple[Array, DType, Tensor | None]:
    """Return integers as an array of int64, their dtype, and the tensor if it is one."""
    preferred = values._splits_dtype if isinstance(values, RaggedTensor) else dtypes.int64
    if isinstance(value, list | tuple) and not len(value):
        return np.zeros(0, np.int64), preferred, None
    array = read_array(value)
    dtype = preferred
    if not isinstance(value, list | tuple) or array.dtype != np.int64:
        dtype = dtypes.of_array(array) if array.dtype.kind in "iuf" else dtypes.bool_
    if dtype not in SPLITS_DTYPES:
        raise ValueError(f"{name} must have dtype int32 or int64. Received {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"Shape {array.shape} must have rank 1: {name} is a vector")
    if isinstance(values, RaggedTensor) and dtype is not preferred:
        raise ValueError(
            f"The row_splits of the values have dtype {preferred.name}, but {name} has "
            f"{dtype.name}: use `with_row_splits_dtype`."
        )
    tensor = value if type(value) is Tensor and name == "row_splits" else None
    return np.array(array, np.int64), dtype, tensor


def _parse_splits_dtype(dtype: DTypeLike) -> DType:
    result = as_dtype(dtype)
    if result not in SPLITS_DTYPES:
        raise ValueError(f"row_splits_dtype must be int32 or int64, got {result.name}")
    return result


def _check_list(value: object, name: str) -> None:
    if not isinstance(value, list | tuple):
        raise TypeError(f"Argument `{name}` must be a list of Tensors. Received {value!r}.")


def _check(condition: bool, method: str, reason: str) -> None:
    if not condition:
        raise InvalidArgumentError(
            f"Arguments to {method} do not form a valid RaggedTensor: {reason}."
        )
