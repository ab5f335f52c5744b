"""Elements of datasets: nests whose leaves are NumPy values, tensors, or datasets (of a window).

Inside a pipeline, leaves stay NumPy values until a user's function or the loop receives them.
Tuples, namedtuples and dicts are nests; a list is a tensor, as in TensorFlow.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import optree

from ..core.log.as_tensor import as_tensor, to_tensor
from ..core.log.log import local
from ..core.log.record import record
from ..core.log.string_tensor import StringTensor, of_strings, to_string_array
from ..core.log.variable import Variable
from ..core.ops.joining import PACK, stack
from ..core.values import dtypes
from ..core.values.composite import Composite, has_text
from ..core.values.dtypes import as_dtype
from ..core.values.tensor import Tensor, of_array
from ..errors import InvalidArgumentError, UnimplementedError
from ..tensor_spec import TensorSpec

LEAVES = (np.ndarray, np.generic, Tensor)  # of numbers; strings are bytes, or arrays of them
_TEXT = (str, bytes, np.str_, np.bytes_)


class NoneTensorSpec:
    """The spec of None in an element.

    Example:
      >>> tf.data.Dataset.from_tensors((1, None)).element_spec[1]
      NoneTensorSpec()
    """

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a value is None, or a spec is that of None.

        Args:
          spec_or_value: A value or spec.

        Returns:
          A bool.

        Example:
          >>> tf.NoneTensorSpec().is_compatible_with(None)
          True
        """
        return spec_or_value is None or isinstance(spec_or_value, NoneTensorSpec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneTensorSpec)

    def __hash__(self) -> int:
        return hash(NoneTensorSpec)

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


class Flow:
    """Marker base class of datasets, which are leaves of window elements."""

    _parts: list[Any] | None = None  # the elements of a window
    # Makes the dataset of a window of a list of elements and their spec. Set in `data.dataset`.
    _make_window: ClassVar[Callable[[list[Any], Any], Any]]

    def _dataset_spec(self) -> Any:
        """Return the spec of the dataset as an element."""
        raise NotImplementedError


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
    """Convert a user's value to an element. A leaf may be None, for the absence of a tensor.

    Raises:
      TypeError: If it is None.
    """
    if value is None:
        raise TypeError("None cannot be an element of a dataset: pass a tensor or a nest of them.")
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
    if isinstance(x, np.ndarray):
        return x if x.dtype.kind not in "OSUT" else _strings_or_numbers(x)
    if isinstance(x, _TEXT):
        return _string_array(x)
    if isinstance(x, (*LEAVES, Flow)):
        return x
    if isinstance(x, Composite):
        return _string_array(x) if isinstance(x, StringTensor) else x
    if x is None:
        return None
    if isinstance(x, Variable):
        return as_tensor(x)
    if isinstance(x, list) and has_text(x):
        return _string_array(x)
    tensor = as_tensor(x)
    return tensor if isinstance(x, list | tuple) else tensor.numpy()


def _strings_or_numbers(x: np.ndarray[Any, Any]) -> Any:
    """Convert an array of objects or text."""
    if x.dtype.kind in "SUT" or not x.size or has_text(x.ravel()[:1].tolist()):
        return _string_array(x)
    return as_tensor(x).numpy()


def _string_array(x: Any) -> np.ndarray[Any, Any]:
    """Convert strings to an array of bytes objects.

    Raises:
      ValueError: If nested lists are not rectangular.
    """
    return to_string_array(x)


def is_string(x: object) -> bool:
    """Whether a leaf of a pipeline holds strings."""
    return isinstance(x, bytes) or (isinstance(x, np.ndarray) and x.dtype.kind == "O")


def as_arrays(value: Any) -> Any:
    """Convert a user's value to a nest of NumPy values; copy its arrays."""
    return map_leaves(
        lambda x: np.array(x) if isinstance(x, np.ndarray) else as_array(x), as_element(value)
    )


def as_array(x: Any) -> Any:
    """Convert a leaf to a NumPy value."""
    if isinstance(x, Tensor):
        return x.numpy()
    return _string_array(x) if isinstance(x, bytes) else x


def as_argument(x: Any) -> Any:
    """Convert an argument of a generator function to a NumPy value."""
    return as_array(_as_leaf(x))


def as_tensors(element: Any) -> Any:
    """Convert an element to the form users receive: a nest of tensors (and datasets)."""
    return element if _has_only_tensors(element) else map_leaves(_as_tensor, element)


def _as_tensor(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return to_tensor(x, None) if x.dtype.kind != "O" else of_strings(x)
    if isinstance(x, np.generic):
        return to_tensor(x, None)
    return of_strings(x) if type(x) is bytes else x


def evaluate(element: Any) -> Any:
    """Compute an element's tensors, so that they belong to no log or thread."""
    return map_leaves(_evaluate, element)


def _evaluate(x: Any) -> Any:
    if type(x) is Tensor:
        return of_array(x._stored_value(), x._spec)
    return _composites().evaluate(x, _evaluate) if isinstance(x, Composite) else x


def convert_leaf(spec: TensorSpec, value: Any) -> Any:
    """Convert a value that a generator yields to the dtype of its spec.

    Raises:
      TypeError: If it has another dtype.
      InvalidArgumentError: If it has another shape.
    """
    if type(spec) is not TensorSpec:
        return _convert_other(spec, value)
    if spec.dtype.name == "string":
        array: Any = _string_array(value)
    else:
        array = as_array(_as_leaf(value)) if isinstance(value, Variable | Flow) else as_array(value)
        if has_text([array]):
            raise TypeError(f"{value!r} is no {spec.dtype.name}")
        array = np.array(array, spec.dtype.as_numpy_dtype)
    if not spec._takes(array.shape):
        raise InvalidArgumentError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape "
            f"{tuple(spec.shape or ())} was expected."
        )
    return array


def as_result(value: Any) -> Any:
    """Convert the result of a user's function to an element; a list becomes a tuple."""
    if isinstance(value, list):
        value = tuple(value)
    return as_element(value)


def _convert_other(spec: Any, value: Any) -> Any:
    """Convert a value whose spec is that of a dataset, a sparse or a ragged tensor, or None.

    Raises:
      TypeError: If it does not match.
    """
    if isinstance(value, list) and getattr(spec, "ragged_rank", None):
        from ..composites.ragged_creation import constant

        value = constant(value, spec.dtype)
    if not spec.is_compatible_with(value):
        raise TypeError(f"{value!r} does not match {spec}")
    return value


def call(function: Callable[..., Any], element: Any) -> Any:
    """Call a function with an element; a tuple is unpacked into arguments."""
    tensors = as_tensors(element)
    return function(*tensors) if type(tensors) is tuple else function(tensors)


def spec_of(element: Any) -> Any:
    """Return the spec of an element: a nest of `TensorSpec`."""
    return map_leaves(_leaf_spec, element)


def _leaf_spec(x: Any) -> Any:
    if isinstance(x, Flow):
        return x._dataset_spec()
    if isinstance(x, bytes):
        return TensorSpec((), dtypes.string)
    if isinstance(x, np.ndarray) and x.dtype.kind == "O":
        return TensorSpec(x.shape, dtypes.string)
    if isinstance(x, Composite):
        return _composites().spec_of(x)
    if x is None:
        return NoneTensorSpec()
    return TensorSpec(x.shape, as_dtype(x.dtype))


def _composites() -> Any:
    """Return the module for sparse and ragged tensors, which is imported at its first use."""
    from . import composites

    return composites


def is_composite_spec(spec: Any) -> bool:
    """Whether a spec is that of sparse or ragged tensors."""
    return isinstance(spec, TensorSpec) and type(spec) is not TensorSpec


def without_first_axis(spec: TensorSpec) -> TensorSpec:
    """Return the spec of an element's slices.

    Raises:
      ValueError: If the element is a scalar.
    """
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None:
        return spec
    if is_composite_spec(spec):
        return _composites().row_spec(spec)  # type: ignore[no-any-return]
    if not len(spec.shape):
        raise ValueError("Cannot unbatch an input with scalar components.")
    return TensorSpec(tuple(spec.shape)[1:], spec.dtype)


def first_size(spec: Any) -> int | None:
    """Return the common first size of an element's components; None if it is not known.

    Raises:
      ValueError: If a component is a scalar, or first sizes differ.
    """
    sizes: list[int] = []
    for part in leaves(map_leaves(lambda one: (without_first_axis(one), one)[1], spec)):
        has_sizes = isinstance(part, TensorSpec) and part.shape.rank is not None
        size = part.shape[0] if has_sizes else None
        if size is not None:
            sizes.append(int(size))
            if size != sizes[0]:
                raise ValueError(
                    f"`unbatch()` is only supported for datasets of elements whose components have "
                    f"a matching leading dimension. Encountered both {sizes[0]} and {size}."
                )
    return sizes[0] if sizes else None


def with_first_axis(spec: Any, size: int | None) -> Any:
    """Return the spec of a batch of elements."""
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None:
        return spec
    if is_composite_spec(spec):
        return _composites().batch_spec(spec, size)
    return TensorSpec((size, *spec.shape), spec.dtype)


def batch_spec(spec: Any, size: int | None) -> Any:
    """Return the spec of a batch of elements, for all components."""
    return map_leaves(lambda one: with_first_axis(one, size), spec)


def as_text(value: Any) -> str | os.PathLike[str]:
    """Convert a path or a string tensor to text.

    Raises:
      TypeError: If it is neither.
    """
    if isinstance(value, str | os.PathLike):
        return value
    array = to_string_array(value)
    if array.ndim:
        raise TypeError(f"Expected one string, got {value!r}.")
    text: bytes = array.tolist()
    return text.decode("utf-8", "surrogateescape")


def as_texts(value: Any) -> list[str]:
    """Convert a path, or a nest of paths, to a flat list of texts.

    Raises:
      TypeError: If a value is no string.
    """
    if isinstance(value, str | os.PathLike):
        return [os.fspath(value)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in as_texts(part)]
    strings = to_string_array(value).ravel().tolist()
    return [x.decode("utf-8", "surrogateescape") for x in strings]


def zeros_like(spec: Any) -> Any:
    """Return an element of zeros, to infer a function's result spec for an empty dataset."""

    def zeros(leaf: Any) -> Any:
        if isinstance(leaf, NoneTensorSpec):
            return None
        if not isinstance(leaf, TensorSpec) or is_composite_spec(leaf):
            raise UnimplementedError(
                "The spec of this dataset is not known: it has no element, and its elements would "
                "be datasets or sparse."
            )
        shape = () if leaf.shape.rank is None else [1 if n is None else n for n in leaf.shape]
        if leaf.dtype.name == "string":
            return np.full(tuple(shape), b"", object)
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
        if is_string(parts[0]):
            parts = tuple(map(as_array, parts))
        elif not isinstance(parts[0], LEAVES):
            return _batch_others(parts)
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
        if parts[0].dtype == object:
            return _stack_strings(parts)
        return np.array(parts) if not first_shape else np.stack(parts)

    return map_leaves(join, *elements)


def _stack_tensors(parts: tuple[Tensor, ...]) -> Any:
    """Stack tensors of one spec; those of arrays at once, if no tape records it."""
    if not local.log.tapes:
        arrays = [x._home for x in parts]
        if all(type(x) is np.ndarray for x in arrays):
            return np.array(arrays)
    return record(PACK, parts, axis=0)


def _stack_strings(parts: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    result = np.empty((len(parts), *parts[0].shape), object)
    for k, part in enumerate(parts):
        result[k] = part[()]
    return result


def _batch_others(parts: tuple[Any, ...]) -> Any:
    """Stack sparse or ragged tensors.

    Raises:
      TypeError: If the leaves are datasets.
    """
    if isinstance(parts[0], Flow):
        raise TypeError(
            "Cannot batch elements that are datasets: use `flat_map` with `batch`, as in "
            "`windows.flat_map(lambda window: window.batch(size))`."
        )
    return None if parts[0] is None else _composites().batch(parts)


def batch_as(spec: Any, join: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """Return a function that stacks elements: components with a composite spec by ``join``.

    Args:
      spec: The spec of the elements.
      join: A function from a component's spec and its values to their batch.
    """

    def batch_elements(group: list[Any]) -> Any:
        columns = zip(*map(leaves, group), strict=True)
        results = iter(
            [
                join(part, column) if is_composite_spec(part) else batch(list(column))
                for part, column in zip(leaves(spec), columns, strict=True)
            ]
        )
        return map_leaves(lambda _: next(results), group[0])

    return batch_elements


def row(x: Any, k: int) -> Any:
    """Return a slice of a leaf along its first axis."""
    if x is None:
        return None
    return _composites().row(x, k) if isinstance(x, Composite) else x[k]


def common(a: Any, b: Any) -> Any:
    """Return the most specific spec that covers both specs.

    Raises:
      TypeError: If structures, dtypes or ranks differ.
    """

    def join(x: Any, y: Any) -> Any:
        if type(x) is not TensorSpec or type(y) is not TensorSpec:
            if type(x) is not type(y) or getattr(x, "dtype", None) is not getattr(y, "dtype", None):
                raise TypeError(f"Incompatible dataset elements:\n  {a} vs.\n  {b}")
            return x
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
