"""Elements of datasets: nests whose leaves are NumPy values, tensors, or datasets (of a window).

Inside a pipeline, leaves stay NumPy values until a user's function or the loop receives them.
Tuples, namedtuples and dicts are nests; a list is a tensor, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from ..core.log.as_tensor import as_tensor, to_tensor
from ..core.log.log import local
from ..core.log.record import record
from ..core.log.variable import Variable
from ..core.ops.joining import PACK, stack
from ..core.values.dtypes import as_dtype
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from ..errors import DataLossError, InvalidArgumentError
from ..tensor_spec import TensorSpec

LEAVES = (np.ndarray, np.generic, Tensor)


class Flow:
    """Marker base class of datasets, which are leaves of window elements."""


def is_leaf(x: object) -> bool:
    """Whether ``x`` is a leaf: anything but a tuple or dict."""
    return not isinstance(x, tuple | dict)


def map_leaves(function: Callable[..., Any], *nests: Any) -> Any:
    """Apply a function to corresponding leaves; return a nest of the results."""
    first_nest = nests[0]
    if is_leaf(first_nest):
        return function(*nests)
    if type(first_nest) is tuple and all(map(is_leaf, first_nest)):
        if len(nests) == 1:
            return tuple(map(function, first_nest))
        if all(type(nest) is tuple and len(nest) == len(first_nest) for nest in nests):
            return tuple(map(function, *nests))
    return optree.tree_map(function, *nests, is_leaf=is_leaf, none_is_leaf=True)


def leaves(nest: Any) -> list[Any]:
    """Return the leaves, in order."""
    if is_leaf(nest):
        return [nest]
    return optree.tree_leaves(nest, is_leaf=is_leaf, none_is_leaf=True)


def as_element(value: Any) -> Any:
    """Convert a user's value to an element.

    Raises:
      TypeError: If a leaf is None.
    """
    return value if _has_only_tensors(value) else map_leaves(_as_leaf, value)


def _has_only_tensors(value: Any) -> bool:
    """Whether a value is a tensor, or a tuple of tensors; other nests of them are possible."""
    if type(value) is tuple:
        for x in value:
            if type(x) is not Tensor:
                return False
        return True
    return type(value) is Tensor


def _as_leaf(x: Any) -> Any:
    if isinstance(x, (*LEAVES, Flow)):
        return as_tensor(x).numpy() if isinstance(x, np.ndarray) and x.dtype.kind == "O" else x
    if x is None:
        raise TypeError("None cannot be an element of a dataset: pass a tensor or a nest of them.")
    if isinstance(x, Variable):
        return as_tensor(x)
    tensor = as_tensor(x)
    return tensor if isinstance(x, list | tuple) else tensor.numpy()


def as_arrays(value: Any) -> Any:
    """Convert a user's value to a nest of NumPy values; copy its arrays."""
    return map_leaves(
        lambda x: np.array(x) if isinstance(x, np.ndarray) else as_array(x), as_element(value)
    )


def as_array(x: Any) -> Any:
    """Convert a leaf to a NumPy value."""
    return x.numpy() if isinstance(x, Tensor) else x


def as_tensors(element: Any) -> Any:
    """Convert an element to the form users receive: a nest of tensors (and datasets)."""
    return element if _has_only_tensors(element) else map_leaves(_as_tensor, element)


def _as_tensor(x: Any) -> Any:
    return to_tensor(x, None) if isinstance(x, np.ndarray | np.generic) else x


def as_result(value: Any) -> Any:
    """Convert the result of a user's function to an element; a list becomes a tuple."""
    if isinstance(value, list):
        value = tuple(value)
    return as_element(value)


def call(function: Callable[..., Any], element: Any) -> Any:
    """Call a function with an element; a tuple is unpacked into arguments."""
    tensors = as_tensors(element)
    return function(*tensors) if type(tensors) is tuple else function(tensors)


def spec_of(element: Any) -> Any:
    """Return the spec of an element: a nest of `TensorSpec`."""
    return map_leaves(_leaf_spec, element)


def _leaf_spec(x: Any) -> Any:
    if isinstance(x, Flow):
        return x
    return TensorSpec(x.shape, as_dtype(x.dtype))


def without_first_axis(spec: TensorSpec) -> TensorSpec:
    """Return the spec of an element's slices.

    Raises:
      ValueError: If the element is a scalar.
    """
    if spec.shape.rank is None:
        return spec
    if not len(spec.shape):
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    return TensorSpec(tuple(spec.shape)[1:], spec.dtype)


def with_first_axis(spec: Any, size: int | None) -> Any:
    """Return the spec of a batch of elements."""
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None:
        return spec
    return TensorSpec((size, *spec.shape), spec.dtype)


def zeros_like(spec: Any) -> Any:
    """Return an element of zeros, to infer a function's result spec for an empty dataset."""

    def zeros(leaf: Any) -> Any:
        if not isinstance(leaf, TensorSpec):
            return leaf
        shape = (
            () if leaf.shape.rank is None else [1 if size is None else size for size in leaf.shape]
        )
        return np.zeros(tuple(shape), leaf.dtype.as_numpy_dtype)

    return map_leaves(zeros, spec)


def batch(elements: list[Any]) -> Any:
    """Stack elements along a new first axis.

    Raises:
      InvalidArgumentError: If shapes differ.
    """
    component = iter(range(len(leaves(elements[0]))))

    def join(*parts: Any) -> Any:
        component_index = next(component)
        if type(parts[0]) is Tensor and all(
            type(x) is Tensor and x._spec is parts[0]._spec for x in parts
        ):
            return _stack_tensors(parts)
        first_shape = parts[0].shape
        for k, part in enumerate(parts):
            if part.shape != first_shape:
                raise InvalidArgumentError(
                    f"Cannot batch tensors with different shapes in component "
                    f"{component_index}. First element had shape {list(first_shape)} "
                    f"and element {k} had shape {list(part.shape)}."
                )
        if any(isinstance(part, Tensor) for part in parts):
            return stack(parts)
        return np.array(parts) if not first_shape else np.stack(parts)

    return map_leaves(join, *elements)


def _stack_tensors(parts: tuple[Tensor, ...]) -> Any:
    """Stack tensors of one spec; those of arrays at once, if no tape records it."""
    if not local.log.tapes:
        arrays = [x._home for x in parts]
        if all(type(x) is np.ndarray for x in arrays):
            return np.array(arrays)
    return record(PACK, parts, axis=0)


def pad_batch(elements: list[Any], shapes: Any, values: Any) -> Any:
    """Stack elements along a new first axis, each padded to the largest, or to ``shapes``.

    Raises:
      DataLossError: If an element exceeds its padded shape.
    """

    def join(shape: Any, value: Any, *parts: Any) -> Any:
        arrays = [np.asarray(as_array(part)) for part in parts]
        max_shape = np.max([x.shape for x in arrays], axis=0).tolist() if arrays[0].ndim else []
        shape_ = [
            max_size if size is None else size
            for size, max_size in zip(shape or [None] * len(max_shape), max_shape, strict=True)
        ]
        if any(size < max_size for size, max_size in zip(shape_, max_shape, strict=True)):
            raise DataLossError(
                f"Attempted to pad to a smaller size than the input element: {max_shape} to "
                f"{shape_}."
            )
        joined_array = np.full((len(arrays), *shape_), value, arrays[0].dtype)
        for k, x in enumerate(arrays):
            index: Any = (k, *map(slice, x.shape))
            joined_array[index] = x
        return joined_array

    first = elements[0]
    element_leaves = [leaves(element) for element in elements]
    sizes = (
        [None] * len(element_leaves[0])
        if shapes is None
        else _shapes(shapes, len(element_leaves[0]))
    )
    if values is None or is_leaf(values):
        shared_value = 0 if values is None else as_array(values)
        values = map_leaves(lambda _: shared_value, first)
    shape_list = [
        join(shape, as_array(value), *parts)
        for shape, value, parts in zip(
            sizes, leaves(values), zip(*element_leaves, strict=True), strict=True
        )
    ]
    remaining_shapes = iter(shape_list)
    return map_leaves(lambda _: next(remaining_shapes), first)


def _shapes(shapes: Any, count: int) -> list[Any]:
    """Return each leaf's padded shape: a list of sizes and None, or None to use the largest."""

    def is_shape(x: Any) -> bool:
        if isinstance(x, TensorShape) or x is None or isinstance(x, list):
            return True
        return isinstance(x, tuple) and all(s is None or isinstance(s, int) for s in x)

    shape_leaves = optree.tree_leaves(shapes, is_leaf=is_shape, none_is_leaf=True)
    if len(shape_leaves) != count:
        raise ValueError(f"`padded_shapes` has {len(shape_leaves)} shapes for {count} components.")
    return [
        None
        if s is None or (isinstance(s, TensorShape) and s.rank is None)
        else [None if d in (None, -1) else int(d) for d in s]
        for s in shape_leaves
    ]


def common(a: Any, b: Any) -> Any:
    """Return the most specific spec that covers both specs.

    Raises:
      TypeError: If structures, dtypes or ranks differ.
    """

    def join(x: TensorSpec, y: TensorSpec) -> TensorSpec:
        if x.dtype is not y.dtype:
            raise TypeError(f"Incompatible dataset elements:\n  {a} vs.\n  {b}")
        if x.shape.rank is None or y.shape.rank is None or len(x.shape) != len(y.shape):
            return TensorSpec(None, x.dtype)
        return TensorSpec(
            [p if p == q else None for p, q in zip(x.shape, y.shape, strict=True)], x.dtype
        )

    try:
        return map_leaves(join, a, b)
    except ValueError:
        raise TypeError(f"Incompatible dataset elements:\n  {a} vs.\n  {b}") from None
