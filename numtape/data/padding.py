"""Padded batches: their shapes and padding values, parsed with the spec of the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree

from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from ..errors import DataLossError
from ..tensor_spec import TensorSpec
from .elements import as_array, as_element, is_leaf, leaves, map_leaves

Sizes = list[int | None] | None  # of a padded shape; None for the largest of all axes


def parse(spec: Any, shapes: Any, values: Any) -> tuple[list[Sizes], list[Any]]:
    """Return the padded sizes and the padding values of an element's components.

    Args:
      spec: The spec of the elements, or an element.
      shapes: A nest of shapes, or None.
      values: A nest of values, a single value, or None.

    Raises:
      TypeError: If a value has another dtype than its component.
      ValueError: If shapes or values have another structure, or do not fit a component.
    """
    parts = leaves(spec)
    sizes: list[Sizes] = [None] * len(parts)
    if shapes is not None:
        sizes = _parse_shapes(shapes, len(parts))
        for part, size in zip(parts, sizes, strict=True):
            _check_shape(part, size)
    return sizes, [
        _parse_value(part, x) for part, x in zip(parts, _split(values, spec), strict=True)
    ]


def check_spec(spec: Any, shapes: Any) -> None:
    """Check that elements can be padded.

    Raises:
      TypeError: If a component is sparse, ragged, None, or a dataset.
      ValueError: If its rank is not known, and ``shapes`` is None.
    """
    for part in leaves(spec):
        if type(part) is not TensorSpec:
            raise TypeError(
                f"`padded_batch` is only supported for datasets that produce tensor elements but "
                f"type spec of elements in the input dataset is not a subclass of TensorSpec: "
                f"`{part}`."
            )
        if shapes is None and part.shape.rank is None:
            raise ValueError(
                f"You must provide `padded_shapes` argument because component {part} has unknown "
                f"rank."
            )


def _parse_shapes(shapes: Any, count: int) -> list[Sizes]:
    shape_leaves = optree.tree_leaves(shapes, is_leaf=_is_shape, none_is_leaf=True)
    if len(shape_leaves) != count:
        raise ValueError(f"`padded_shapes` has {len(shape_leaves)} shapes for {count} components.")
    return [parse_shape(shape) for shape in shape_leaves]


def _is_shape(x: Any) -> bool:
    if isinstance(x, TensorShape | Tensor | np.ndarray) or x is None or isinstance(x, list):
        return True
    return isinstance(x, tuple) and all(s is None or isinstance(s, int | np.integer) for s in x)


def parse_shape(shape: Any) -> Sizes:
    """Return the sizes of a padded shape, with None for unknown ones."""
    if shape is None or (isinstance(shape, TensorShape) and shape.rank is None):
        return None
    if isinstance(shape, Tensor | np.ndarray):
        array = np.asarray(as_array(shape))
        if array.dtype.kind not in "iu":
            raise TypeError(
                f"Padded shape {shape} must be a `tf.int64` vector tensor, but its element type "
                f"was {array.dtype}."
            )
        shape = np.asarray(as_array(shape)).tolist()
        if not isinstance(shape, list):
            raise ValueError(f"Padded shape {shape} must be a vector of sizes.")
    sizes: list[int | None] = []
    if any(isinstance(size, list | tuple) for size in shape):
        raise ValueError(
            f"Padded shape {shape} must be a `tf.int64` vector tensor, but its shape was "
            f"{np.shape(shape)}."
        )
    for size in shape:
        if size is not None and int(size) < -1:
            raise ValueError(f"Dimension {size} must be >= 0")
        sizes.append(None if size is None or int(size) == -1 else int(size))
    return sizes


def _check_shape(part: Any, sizes: Sizes) -> None:
    shape = getattr(part, "shape", None)
    if shape is None or sizes is None or getattr(shape, "rank", 0) is None:
        return
    fits = len(shape) == len(sizes) and all(
        size is None or dim is None or dim <= size for dim, size in zip(shape, sizes, strict=True)
    )
    if not fits:
        raise ValueError(
            f"The padded shape {tuple(sizes)} is not compatible with the shape {tuple(shape)} of "
            f"the corresponding input component."
        )


def without_sizes(part: TensorSpec) -> TensorSpec:
    """Return a spec whose shape has the same rank, but no sizes."""
    return TensorSpec(None if part.shape.rank is None else [None] * len(part.shape), part.dtype)


def _split(values: Any, spec: Any) -> list[Any]:
    """Return a value for each component."""
    count = len(leaves(spec))
    if values is None or (is_leaf(values) and not is_leaf(spec)):
        return [values] * count
    parts = leaves(values)
    if len(parts) != count:
        raise ValueError(f"`padding_values` has {len(parts)} values for {count} components.")
    return parts


def _parse_value(part: Any, value: Any) -> Any:
    is_string = part.dtype == "string" if isinstance(part, TensorSpec) else part.dtype == object
    if value is None:
        return b"" if is_string else 0
    array = np.asarray(as_array(as_element(value)))
    if array.ndim:
        raise ValueError(
            f"Invalid `padding_values`. `padding_values` values should be scalars, but got "
            f"{array.shape}."
        )
    dtype = part.dtype.as_numpy_dtype if isinstance(part, TensorSpec) else part.dtype
    expected = np.dtype(object) if is_string else np.dtype(dtype)
    is_python = isinstance(value, int | float) and not isinstance(value, bool | np.generic)
    if is_python and expected.kind in "iufcV" and np.can_cast(np.min_scalar_type(value), expected):
        return value  # a Python number takes the component's dtype
    if is_python and isinstance(value, int) and expected.kind in "iufcV":
        return value
    if array.dtype != expected:
        raise TypeError(
            f"Invalid `padding_values`. `padding_values` values type {array.dtype} does not match "
            f"type {expected} of the corresponding input component."
        )
    return array[()]


def batch_spec(spec: Any, sizes: list[Sizes], count: int | None) -> Any:
    """Return the spec of a padded batch."""
    remaining = iter(sizes)

    def pad_spec(part: TensorSpec) -> TensorSpec:
        size = next(remaining)
        if size is None:
            size = None if part.shape.rank is None else list(part.shape)
        return TensorSpec(None if size is None else [count, *size], part.dtype)

    return map_leaves(pad_spec, spec)


def pad_batch(elements: list[Any], sizes: list[Sizes], values: list[Any]) -> Any:
    """Stack elements along a new first axis, each padded to the largest, or to ``sizes``.

    Raises:
      DataLossError: If an element exceeds its padded shape.
    """
    columns = zip(*(leaves(element) for element in elements), strict=True)
    results = iter([*map(_join, columns, sizes, values)])
    return map_leaves(lambda _: next(results), elements[0])


def _join(parts: tuple[Any, ...], sizes: Sizes, value: Any) -> Any:
    arrays = [np.asarray(as_array(part)) for part in parts]
    rank = arrays[0].ndim
    if any(x.ndim != rank for x in arrays) or (sizes is not None and len(sizes) != rank):
        raise DataLossError(
            f"All elements in a batch must have the same rank as the padded shape for component: "
            f"got ranks {sorted({x.ndim for x in arrays})} and padded shape {sizes}."
        )
    largest = np.max([x.shape for x in arrays], axis=0).tolist() if rank else []
    shape = [
        most if size is None else size
        for size, most in zip(sizes or [None] * rank, largest, strict=True)
    ]
    if any(size < most for size, most in zip(shape, largest, strict=True)):
        raise DataLossError(
            f"Attempted to pad to a smaller size than the input element: {largest} to {shape}."
        )
    joined = np.full((len(arrays), *shape), value, arrays[0].dtype)
    for k, x in enumerate(arrays):
        index: Any = (k, *map(slice, x.shape))
        joined[index] = x[()] if x.dtype == object and not x.ndim else x
    return joined
