"""`CompositeTensor`: a tensor that consists of several tensors, such as a sparse or ragged one.

A class of composite tensors says what its components are. From that it gets flattening by
`tf.nest` (``expand_composites=True``) and optree, pickling, and its part in a tape: `watch` follows
the float components, and `gradient` replaces the component that carries the values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Self, TypeVar

import numpy as np
import optree

from ..core.log.as_tensor import from_owned_array
from ..core.log.record import record
from ..core.ops import movement
from ..core.ops.creation import convert_to_tensor
from ..core.ops.indexing import GATHER, gather
from ..core.ops.joining import concat
from ..core.values.composite import Composite
from ..core.values.dtypes import DType
from ..core.values.pytree import COMPOSITES
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor

Array = np.ndarray[Any, Any]
_C = TypeVar("_C", bound="type[CompositeTensor]")


class CompositeTensor(Composite):
    """The base class of tensors that consist of several tensors.

    Subclasses define `_flatten` and `_unflatten`, and `_values_component` with
    `_replace_values`, which say where the numbers that have derivatives are.
    """

    __slots__ = ("__weakref__",)
    __array_ufunc__ = None  # NumPy leaves operators with these tensors to them

    def _flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Return the components, and what else the tensor consists of."""
        raise NotImplementedError

    @classmethod
    def _unflatten(cls, metadata: Any, components: Iterable[Any]) -> Self:
        """Return the tensor of these components."""
        raise NotImplementedError

    def _take_rows(self, indices: Array) -> Self:
        """Return rows of the first axis."""
        raise NotImplementedError

    @staticmethod
    def _join_rows(parts: list[Any]) -> Any:
        """Concatenate along the first axis."""
        raise NotImplementedError

    def _values_component(self) -> Any:
        """Return the component that has derivatives."""
        raise NotImplementedError

    def _replace_values(self, values: Any) -> Self:
        """Return a tensor of the same structure with other values."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        result: DType = self._values_component().dtype
        return result

    def get_shape(self) -> TensorShape:
        """Return the shape, like `shape`.

        Returns:
          A `TensorShape`.

        Example:
          >>> tf.sparse.eye(2).get_shape()
          TensorShape([2, 2])
        """
        return self.shape

    def consumers(self) -> NoReturn:
        """Raise an error: consumers are not tracked.

        Raises:
          AttributeError: Always.

        Example:
          >>> try:
          ...     tf.sparse.eye(2).consumers()
          ... except AttributeError as error:
          ...     print(error)
          numtape has no graphs: a tensor does not know which ops use it.
        """
        raise AttributeError("numtape has no graphs: a tensor does not know which ops use it.")

    def __reduce__(self) -> tuple[Any, ...]:
        components, metadata = self._flatten()
        return _restore, (type(self), metadata, components)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __hash__(self) -> int:
        return id(self)


def _flatten(value: Any) -> tuple[tuple[Any, ...], Any]:
    components: tuple[tuple[Any, ...], Any] = value._flatten()
    return components


def _restore(cls: type[CompositeTensor], metadata: Any, components: tuple[Any, ...]) -> Any:
    return cls._unflatten(metadata, components)


def register(cls: _C) -> _C:
    """Decorate a class of composite tensors, so that optree and `tf.nest` can flatten it."""
    node: Any = cls
    optree.register_pytree_node(node, _flatten, node._unflatten, namespace=COMPOSITES)
    return cls


# Structure is computed with NumPy; the values follow it by ops that a tape can differentiate.


def to_index_tensor(array: Array, dtype: DType) -> Tensor:
    """Return a tensor of integers that no other code refers to."""
    return from_owned_array(np.array(array, dtype.numpy_dtype, order="C"))


def read_array(value: Any) -> Array:
    """Return the value of a tensor or another array-like as an array, which must not be changed."""
    if type(value) is Tensor:
        return value._array()
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def take_rows(values: Any, rows: Array) -> Any:
    """Gather rows of the first axis. Indices must be valid. The identity returns the values."""
    count = values.shape[0]
    if len(rows) == count and (rows == np.arange(count)).all():
        return values
    if type(values) is Tensor:
        index = from_owned_array(np.array(rows, np.int32 if count < 2**31 else np.int64, order="C"))
        return record(GATHER, (values, index), axis=0)
    if isinstance(values, CompositeTensor):
        return values._take_rows(rows)
    return gather(values, rows)


def reorder_rows(values: Any, rows: Array) -> Any:
    """Gather rows as `take_rows`, but with a dense gradient instead of `IndexedSlices`.

    TensorFlow's operations that permute or cut the values of sparse tensors have such gradients.
    """
    if type(values) is Tensor:
        values = movement.reshape(values, tuple(values.shape))
    return take_rows(values, rows)


def join_rows(parts: list[Any]) -> Any:
    """Concatenate values along the first axis."""
    if len(parts) == 1:
        return parts[0]
    joined = next((x for x in parts if isinstance(x, CompositeTensor)), None)
    return concat(parts, 0) if joined is None else joined._join_rows(parts)


def as_values(value: Any) -> Any:
    """Return a tensor: composite tensors, such as strings, are returned unchanged."""
    return value if isinstance(value, Composite) else convert_to_tensor(value)
