"""Specs: interned pairs of shape and dtype, which are compared by identity."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex, cast

import numpy as np

from ...errors import AxisError, InvalidArgumentError
from ...kernels.constants import MAX_RANK
from .dtypes import ALL, DTYPES, DType, complex128, no_strings_error, repr_of
from .intern_table import CAPACITY, InternTable, clearable_cache
from .memory import reserve_zeros

if TYPE_CHECKING:
    from .annotations import AxisLike, PartialShape

MAX_DIM = 2**63 - 1


def _check_dim(dim: SupportsIndex | None) -> Any:
    if type(dim) is not int and dim is not None:
        try:
            dim = operator.index(dim)
        except TypeError:
            raise TypeError(
                f"Dimension value must be integer or None or have an __index__ method, got value "
                f"{repr_of(dim)} with type {type(dim)}."
            ) from None
    if dim is not None and dim < 0:
        raise ValueError(f"Dimension {repr_of(dim)} must be >= 0")
    return dim


class TensorShape(tuple[int, ...]):
    """A shape: a tuple of ints with TensorFlow's extras. It equals tuples and lists.

    Args:
      dims: The sizes, None for an unknown one (in a `TensorSpec`); a single int for a vector.
        None for a shape of unknown rank. The shape of a tensor is always known.

    Raises:
      TypeError: If a size is not an int.
      ValueError: If a size is negative.

    Example:
      >>> shape = tf.zeros((2, 3)).shape
      >>> shape, shape == (2, 3), shape.rank, shape.num_elements()
      (TensorShape([2, 3]), True, 2, 6)
    """

    __slots__ = ()

    def __new__(cls, dims: Any = ()) -> Self:
        """Create a shape and check its sizes."""
        if dims is None:
            return cast("Self", UNKNOWN_SHAPE)
        if type(dims) is UnknownShape:
            return cast("Self", dims)
        if isinstance(dims, str | bytes):
            raise TypeError(f"Failed to convert {dims!r} to a shape: it must be an int or a list.")
        return tuple.__new__(cls, map(_check_dim, dims if isinstance(dims, Iterable) else [dims]))

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self)

    @property
    def ndims(self) -> int:
        """The number of axes."""
        return len(self)

    @property
    def dims(self) -> list[int]:
        """The sizes of the axes."""
        return list(self)

    def as_list(self) -> list[int]:
        """Return the sizes of the axes as a list.

        Example:
          >>> tf.zeros((2, 3)).shape.as_list()
          [2, 3]
        """
        return list(self)

    def num_elements(self) -> Any:
        """Return the number of elements of a tensor of this shape; None if a size is unknown.

        Example:
          >>> tf.TensorShape((2, 3)).num_elements()
          6
        """
        return math.prod(self) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Return whether every size is known. True for the shape of a tensor.

        Example:
          >>> tf.TensorShape([None, 2]).is_fully_defined()
          False
        """
        return None not in tuple(self)

    def is_compatible_with(self, other: PartialShape) -> bool:
        """Return whether two shapes could be equal, where None matches any size.

        Args:
          other: A shape, or None for any shape.

        Example:
          >>> tf.TensorShape([None, 2]).is_compatible_with([3, 2])
          True
        """
        other = TensorShape(other)
        if _is_unknown(self, other):
            return True
        return len(self) == len(other) and all(
            a is None or b is None or a == b for a, b in zip(self, other, strict=True)
        )

    def is_subtype_of(self, other: TensorShape) -> bool:
        """Return whether every tensor of this shape also has the other shape.

        Args:
          other: A `TensorShape`, possibly with sizes that are None.

        Example:
          >>> tf.TensorShape([3, 2]).is_subtype_of(tf.TensorShape([None, 2]))
          True
        """
        if type(other) is UnknownShape:
            return True
        if not isinstance(other, TensorShape) or type(self) is UnknownShape:
            return False
        return len(self) == len(other) and all(
            b is None or a == b for a, b in zip(self, other, strict=True)
        )

    def merge_with(self, other: PartialShape) -> TensorShape:
        """Combine two compatible shapes: a size is known if it is known in either of them.

        Args:
          other: A shape, or None for any shape.

        Raises:
          ValueError: If the shapes are not compatible.

        Example:
          >>> tf.TensorShape([None, 2]).merge_with([3, None])
          TensorShape([3, 2])
        """
        other = TensorShape(other)
        if _is_unknown(self, other):
            return other if type(self) is UnknownShape else self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape([b if a is None else a for a, b in zip(self, other, strict=True)])

    def most_specific_compatible_shape(self, other: PartialShape) -> TensorShape:
        """Return the sizes that two shapes share, and None for the others.

        Args:
          other: A shape.

        Returns:
          A shape; of unknown rank if the ranks differ.

        Example:
          >>> tf.TensorShape([3, 2]).most_specific_compatible_shape([4, 2])
          TensorShape([None, 2])
        """
        other = TensorShape(other)
        if _is_unknown(self, other) or len(self) != len(other):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self, other, strict=True)])

    def most_specific_common_supertype(self, others: Iterable[Any]) -> TensorShape | None:
        """Return the sizes that several shapes share, and None for the others.

        Args:
          others: Shapes.

        Returns:
          A shape, of unknown rank if the ranks differ; None if one of ``others`` is no shape.

        Example:
          >>> tf.TensorShape([3, 2]).most_specific_common_supertype([tf.TensorShape([4, 2])])
          TensorShape([None, 2])
        """
        shape: TensorShape = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            shape = shape.most_specific_compatible_shape(other)
        return shape

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape if it has this rank.

        Args:
          rank: The number of axes.

        Raises:
          ValueError: If the rank differs.

        Example:
          >>> tf.TensorShape([3, 2]).with_rank(2)
          TensorShape([3, 2])
        """
        if type(self) is UnknownShape:
            return TensorShape([None] * rank)
        if len(self) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape if it has at least this rank.

        Args:
          rank: The smallest number of axes.

        Raises:
          ValueError: If it has fewer.

        Example:
          >>> tf.TensorShape([3, 2]).with_rank_at_least(1)
          TensorShape([3, 2])
        """
        if type(self) is not UnknownShape and len(self) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape if it has at most this rank.

        Args:
          rank: The largest number of axes.

        Raises:
          ValueError: If it has more.

        Example:
          >>> tf.TensorShape([3, 2]).with_rank_at_most(4)
          TensorShape([3, 2])
        """
        if type(self) is not UnknownShape and len(self) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise an error unless the shape has this rank.

        Args:
          rank: The number of axes.

        Raises:
          ValueError: If the rank differs.

        Example:
          >>> tf.TensorShape([3, 2]).assert_has_rank(2)
        """
        if type(self) is not UnknownShape:
            self.with_rank(rank)

    def assert_same_rank(self, other: PartialShape) -> None:
        """Raise an error unless two shapes have the same rank.

        Args:
          other: A shape.

        Raises:
          ValueError: If the ranks differ.

        Example:
          >>> tf.TensorShape([3, 2]).assert_same_rank([1, 1])
        """
        other = TensorShape(other)
        if not _is_unknown(self, other) and len(self) != len(other):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_compatible_with(self, other: PartialShape) -> None:
        """Raise an error unless two shapes could be equal.

        Args:
          other: A shape, or None for any shape.

        Raises:
          ValueError: If they cannot be equal.

        Example:
          >>> tf.TensorShape([3, 2]).assert_is_compatible_with([None, 2])
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Raise an error unless every size is known.

        Raises:
          ValueError: If a size is None.

        Example:
          >>> tf.TensorShape([3, 2]).assert_is_fully_defined()
        """
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return tuple.__new__(TensorShape, item) if isinstance(key, slice) else item

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            return type(other) is not UnknownShape and tuple.__eq__(self, other)
        if isinstance(other, list):
            return tuple.__eq__(self, tuple(other))
        return type(other) is int and tuple.__eq__(self, (other,))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: PartialShape) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def concatenate(self, other: PartialShape) -> TensorShape:
        """Return the shape with the sizes of another one behind its own; the same as ``+``.

        Args:
          other: A shape, or None for any shape.

        Returns:
          A shape, of unknown rank if one of the two is.

        Example:
          >>> tf.TensorShape([3, 2]).concatenate([5]), [1] + tf.TensorShape([3, 2])
          (TensorShape([3, 2, 5]), TensorShape([1, 3, 2]))
        """
        other = TensorShape(other)
        return TensorShape(None if _is_unknown(self, other) else (*self, *other))

    def __repr__(self) -> str:
        return f"TensorShape([{', '.join(map(str, self))}])"

    def __str__(self) -> str:
        return tuple.__repr__(self)

    def __format__(self, spec: str) -> str:
        return str(self).__format__(spec)


class UnknownShape(TensorShape):
    """The shape of unknown rank, `TensorShape(None)`: of a `TensorSpec`, never of a tensor."""

    __slots__ = ()

    rank = property(lambda self: None)
    ndims = property(lambda self: None)
    dims = property(lambda self: None)

    def as_list(self) -> NoReturn:
        """Raise ValueError: there are no sizes."""
        raise ValueError("as_list() is not defined on an unknown TensorShape.")

    def num_elements(self) -> None:
        """Return None."""

    def is_fully_defined(self) -> bool:
        """Return False."""
        return False

    def __len__(self) -> int:
        raise ValueError("Cannot take the length of shape with unknown rank.")

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[int]:
        raise ValueError("Cannot iterate over a shape with unknown rank.")

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            return None
        start, stop = key.start or 0, key.stop
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        if stop is None or start < 0 or stop < 0:  # counted from the unknown end
            return self
        return TensorShape([None] * max(stop - start, 0))

    def __eq__(self, other: object) -> bool:
        return other is None or type(other) is UnknownShape

    def __hash__(self) -> int:
        return hash(UnknownShape)

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (None,)

    def __repr__(self) -> str:
        return "TensorShape(None)"

    def __str__(self) -> str:
        return "<unknown>"


UNKNOWN_SHAPE = tuple.__new__(UnknownShape)


def _is_unknown(*shapes: TensorShape) -> bool:
    return any(type(shape) is UnknownShape for shape in shapes)


class Spec:
    """An interned shape and dtype. Equal specs in use are the same object: compare them by ``is``.

    Attributes:
      id: Its number in `SPECS`, valid while the object is referenced.
      shape: The shape.
      dtype: The dtype.
      size: The number of elements.
      is_float: Whether the dtype is a float dtype.
      inexact: Whether the dtype is a float or complex dtype, that is, differentiable.
      wide: Whether compiled kernels do not support the dtype: halves and complex numbers.
      single: Whether a value fits into a cell: one element of at most 8 bytes.
      scalar: The spec of shape () and the same dtype, set by `with_scalar`.
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "id",
        "inexact",
        "is_float",
        "rank",
        "scalar",
        "shape",
        "single",
        "size",
        "wide",
    )

    def __init__(self, number: int, shape: TensorShape, dtype: DType) -> None:
        self.id = number
        self.shape = shape
        self.dtype = dtype
        self.size: int = shape.num_elements()
        self.rank = len(shape)
        self.is_float = dtype.is_floating
        self.inexact = dtype.is_floating or dtype.is_complex
        self.wide = dtype.code >= len(DTYPES)
        self.single = self.size == 1 and dtype is not complex128
        self.scalar: Spec | None = None

    def with_scalar(self) -> Spec:
        """Set and return `scalar`, the spec of shape () and the same dtype."""
        self.scalar = intern((), self.dtype)
        return self.scalar

    def __reduce__(self) -> tuple[Any, ...]:
        return intern, (tuple(self.shape), self.dtype)

    def __repr__(self) -> str:
        return f"Spec({self.dtype.name}{list(self.shape)})"


class SpecTable(InternTable[Spec]):
    """The intern table of specs, with the fields that the passes read by id."""

    def __init__(self) -> None:
        super().__init__("spec", self._make_spec, self._write_fields)
        self.size = reserve_zeros((CAPACITY,), np.int64)
        self.bytes = reserve_zeros((CAPACITY,), np.int64)
        self.shape = reserve_zeros((CAPACITY,), np.int32)  # an id that represents the shape
        self.item = reserve_zeros((CAPACITY,), np.int32)
        self.dtype = reserve_zeros((CAPACITY,), np.int32)
        self.rank = reserve_zeros((CAPACITY,), np.int32)
        self.is_float = reserve_zeros((CAPACITY,), np.uint8)
        self.dims = reserve_zeros((CAPACITY, MAX_RANK), np.int64)

    @staticmethod
    def _make_spec(number: int, key: tuple[tuple[int, ...], int]) -> Spec:
        return Spec(number, tuple.__new__(TensorShape, key[0]), ALL[key[1]])

    def _write_fields(self, n: int, key: tuple[tuple[int, ...], int], spec: Spec) -> Spec | None:
        """Write the fields. Return the payload: a spec whose id represents the shape."""
        shape, code = key
        shape_spec = None if code == 0 else self.intern((shape, 0))
        # To the passes a complex128 counts as two elements, since a cell cannot hold it.
        is_pair = spec.dtype is complex128
        self.size[n] = spec.size * (1 + is_pair)
        self.bytes[n] = spec.size * spec.dtype.size
        self.item[n] = spec.dtype.size >> is_pair
        self.dtype[n] = code
        self.rank[n] = spec.rank
        self.is_float[n] = spec.inexact
        self.dims[n] = (*shape, *[0] * (MAX_RANK - len(shape)))
        self.shape[n] = n if shape_spec is None else shape_spec.id
        return shape_spec

    @property
    def specs(self) -> SpecTable:
        """The specs by id."""
        return self


SPECS = SpecTable()
# Specs that were interned since ids were last freed: a lookup here costs less.
_recent_specs: dict[tuple[tuple[int, ...], DType], Spec] = clearable_cache()


def intern(shape: tuple[int, ...], dtype: DType) -> Spec:
    """Return the spec of a shape (a tuple of non-negative ints) and a dtype."""
    spec = _recent_specs.get((shape, dtype))
    if spec is None:
        if dtype.name == "string":
            raise no_strings_error("tensors")
        check_size(shape, dtype)
        if len(shape) > MAX_RANK:
            raise InvalidArgumentError(
                f"A tensor of rank {len(shape)}, shape {tuple(shape)}, has too many axes: the "
                f"maximum is {MAX_RANK}."
            )
        key = tuple(map(int, shape))
        spec = _recent_specs[key, dtype] = SPECS.intern((key, dtype.code))
    return spec


def broadcast(op: str, *specs: Spec) -> tuple[int, ...]:
    """Return the shape that several specs broadcast to, by NumPy's rule.

    Raises:
      InvalidArgumentError: If they do not broadcast. It names the op and the shapes.
    """
    try:
        return np.broadcast_shapes(*(spec.shape for spec in specs))
    except ValueError:
        shapes = " vs. ".join(str(spec.shape.as_list()).replace(" ", "") for spec in specs)
        raise InvalidArgumentError(
            f"Incompatible shapes: {shapes.replace(',', ', ')} [Op:{op}]. Axes are matched from "
            f"the last; each pair must be equal or have a 1."
        ) from None


def check_size(shape: tuple[int, ...], dtype: DType) -> None:
    """Raise InvalidArgumentError if a tensor of this shape would exceed the address space."""
    if max(shape, default=0) > MAX_DIM or math.prod(shape) * dtype.size > MAX_DIM:
        raise InvalidArgumentError(
            f"A tensor of shape {repr_of(tuple(shape))} and dtype {dtype.name} exceeds the "
            f"largest possible size in bytes."
        )


def check_axis(op: str, axis: int, rank: int) -> None:
    """Raise AxisError unless a tensor of this rank has this axis."""
    if not -rank <= axis < rank:
        allowed = f"from {-rank} to {rank - 1}" if rank else "none: it is a scalar"
        raise AxisError(
            f"axis={repr_of(axis)} is out of range: the axes of the tensor are {allowed} [Op:{op}]."
        )


def to_axis(op: str, axis: AxisLike, rank: int) -> int:
    """Return the axis that an ``axis`` argument with exactly one axis names, counted from 0."""
    if type(axis) is int and -rank <= axis < rank:
        return axis % rank
    axes = tuple(axes_of(op, axis, rank))
    if len(axes) != 1:
        raise AxisError(f"axis={axis!r} must name exactly one axis [Op:{op}].")
    return axes[0]


def axes_of(op: str, axis: AxisLike, rank: int) -> Iterator[int]:
    """Yield the axes that an ``axis`` argument names (None: all), counted from 0.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice.
    """
    if axis is None:
        yield from range(rank)
        return
    used: set[int] = set()
    axes = np.asarray(axis).ravel()
    for index in axes.tolist():
        if type(index) is not int:
            raise TypeError(f"axis={axis!r} must be an integer or a list of integers [Op:{op}].")
        check_axis(op, index, rank)
        if index % rank in used:
            raise InvalidArgumentError(
                f"Axis {index % rank} is named twice in axis={axis}: Axes contains duplicate "
                f"dimension: {index % rank} (axis {index % rank} specified more than once) "
                f"[Op:{op}]."
            )
        used.add(index % rank)
        yield index % rank


def check_shape(actual: TensorShape, shape: PartialShape, message: str) -> None:
    """Raise ValueError unless two shapes are compatible. ``shape`` may contain None."""
    expected = TensorShape(shape)
    if type(expected) is UnknownShape:
        return
    if len(expected) != len(actual) or any(
        size not in (None, dim) for size, dim in zip(expected, actual, strict=True)
    ):
        raise ValueError(message.format(actual, expected))
