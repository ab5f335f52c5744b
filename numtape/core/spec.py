"""Specs: a shape and a dtype, interned, so that comparing two is comparing two numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import AxisError, InvalidArgumentError
from .dtypes import DType, float32, float64, shown

MAX_RANK = 8
MAX_DIM = 2**63 - 1


class TensorShape(tuple[int, ...]):
    """A shape: a tuple of ints with TensorFlow's extras."""

    __slots__ = ()

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
        """The sizes of the axes."""
        return list(self)

    def num_elements(self) -> int:
        """The number of elements of a tensor of this shape."""
        size = 1
        for dim in self:
            size *= dim
        return size

    def is_fully_defined(self) -> bool:
        """Whether every size is known: always."""
        return True

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return TensorShape(found) if isinstance(key, slice) else found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            return tuple.__eq__(self, other)
        return isinstance(other, list) and tuple.__eq__(self, tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __add__(self, other: Iterable[int]) -> TensorShape:  # type: ignore[override]
        return TensorShape(tuple(self) + tuple(other))

    concatenate = __add__

    def __repr__(self) -> str:
        return f"TensorShape([{', '.join(map(str, self))}])"

    def __str__(self) -> str:
        return tuple.__repr__(self)

    def __format__(self, spec: str) -> str:
        return str(self).__format__(spec)


class Spec:
    """One shape and dtype. There is one object for each, so ``is`` compares specs.

    Attributes:
      id: Its number, its row in `TABLES`.
      shape: The shape.
      dtype: The dtype.
      size: The number of elements.
      scalar: The spec of shape () and the same dtype, once it was asked for.
    """

    __slots__ = ("dtype", "id", "is_float", "rank", "scalar", "shape", "size")

    def __init__(self, number: int, shape: TensorShape, dtype: DType) -> None:
        self.id = number
        self.shape = shape
        self.dtype = dtype
        self.size = shape.num_elements()
        self.rank = len(shape)
        self.is_float = dtype is float32 or dtype is float64  # what ops compute with
        self.scalar: Spec | None = None

    def with_scalar(self) -> Spec:
        """The spec of one element, kept in `scalar`."""
        self.scalar = intern((), self.dtype)
        return self.scalar

    def __reduce__(self) -> tuple[Any, ...]:
        return intern, (tuple(self.shape), self.dtype)

    def __repr__(self) -> str:
        return f"Spec({self.dtype.name}{list(self.shape)})"


class Tables:
    """What the passes know of specs, by their number. `version` changes when arrays move."""

    def __init__(self) -> None:
        self.version = 0
        self.specs: list[Spec] = []
        self._shapes: dict[tuple[int, ...], int] = {}
        self._allocate(256)

    def _allocate(self, capacity: int) -> None:
        fields = {
            "size": (np.int64, ()), "bytes": (np.int64, ()), "shape": (np.int32, ()),
            "item": (np.int32, ()), "dtype": (np.int32, ()), "rank": (np.int32, ()),
            "is_float": (np.uint8, ()), "dims": (np.int64, (MAX_RANK,)),
        }  # fmt: skip
        for name, (kind, rest) in fields.items():
            array = np.zeros((capacity, *rest), kind)
            if self.specs:
                array[: len(self.specs)] = getattr(self, name)[: len(self.specs)]
            setattr(self, name, array)
        self.capacity = capacity
        self.version += 1

    size: np.ndarray[Any, Any]
    bytes: np.ndarray[Any, Any]
    shape: np.ndarray[Any, Any]
    item: np.ndarray[Any, Any]
    dtype: np.ndarray[Any, Any]
    rank: np.ndarray[Any, Any]
    is_float: np.ndarray[Any, Any]
    dims: np.ndarray[Any, Any]

    def add(self, shape: tuple[int, ...], dtype: DType) -> Spec:
        """Make the spec of a shape and dtype that has none yet."""
        if len(shape) > MAX_RANK:
            raise InvalidArgumentError(
                f"A tensor of rank {len(shape)}, shape {tuple(shape)}: numtape's have at most "
                f"{MAX_RANK} axes."
            )
        n = len(self.specs)
        if n == self.capacity:
            self._allocate(2 * n)
        spec = Spec(n, TensorShape(shape), dtype)
        self.size[n] = spec.size
        self.bytes[n] = spec.size * dtype.size
        self.item[n] = dtype.size
        self.dtype[n] = dtype.code
        self.rank[n] = spec.rank
        self.is_float[n] = spec.is_float
        self.dims[n, : spec.rank] = shape
        self.shape[n] = self._shapes.setdefault(tuple(shape), len(self._shapes))
        self.specs.append(spec)
        return spec


TABLES = Tables()
_specs: dict[tuple[tuple[int, ...], DType], Spec] = {}


def intern(shape: tuple[int, ...], dtype: DType) -> Spec:
    """The spec of a shape (a tuple of non-negative ints) and a dtype."""
    found = _specs.get((shape, dtype))
    if found is None:
        check_size(shape, dtype)
        # setdefault: two threads may make it at once, and only one may win.
        found = _specs.setdefault((tuple(shape), dtype), TABLES.add(shape, dtype))
    return found


def broadcast(op: str, *specs: Spec) -> tuple[int, ...]:
    """The shape that several specs broadcast to, by NumPy's rule.

    Raises:
      InvalidArgumentError: If there is none, naming the op and the shapes.
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
    """Raise InvalidArgumentError if no memory could be as large as a tensor of this shape."""
    if max(shape, default=0) > MAX_DIM or math.prod(shape) * dtype.size > MAX_DIM:
        raise InvalidArgumentError(
            f"A tensor of shape {shown(tuple(shape))} and dtype {dtype.name}: nothing has so many "
            f"bytes."
        )


def check_axis(op: str, axis: int, rank: int) -> None:
    """Raise AxisError unless a tensor of this rank has this axis."""
    if not -rank <= axis < rank:
        allowed = f"from {-rank} to {rank - 1}" if rank else "none: it is a scalar"
        raise AxisError(
            f"axis={shown(axis)} is not an axis of the tensor; these are {allowed} [Op:{op}]."
        )


def axes_of(op: str, axis: Any, rank: int) -> Iterator[int]:
    """The axes that an ``axis`` argument names (None: all), counted from 0.

    Raises:
      InvalidArgumentError: If one is out of range, or named twice.
    """
    if axis is None:
        yield from range(rank)
        return
    seen: set[int] = set()
    found = np.asarray(axis).ravel()
    for one in found.tolist():
        if type(one) is not int:
            raise TypeError(f"axis={axis!r} is no integer, and no list of integers [Op:{op}].")
        check_axis(op, one, rank)
        if one % rank in seen:
            raise InvalidArgumentError(
                f"Axis {one % rank} is named twice in axis={axis} [Op:{op}]."
            )
        seen.add(one % rank)
        yield one % rank
