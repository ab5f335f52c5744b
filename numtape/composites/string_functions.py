"""Functions of tensors that take strings: `reshape`, `concat`, `gather`, `equal`, `unique`, ...

These functions move or compare elements, so they need not know strings. A handler numbers the
different strings of a call (the empty string is 0, as zeros fill numbers), calls the function with
these numbers, and returns the strings of the resulting numbers. Start reading at `on_numbers`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.as_tensor import from_owned_array
from ..core.log.string_tensor import (
    StringTensor,
    join_pair,
    of_strings,
    run_as_python,
    to_string_array,
)
from ..core.ops import (
    arrange,
    comparison,
    counting,
    creation,
    elementwise,
    getitem,
    indexing,
    joining,
    movement,
    padding,
    partition,
    scatter,
    shapes,
    slicing,
)
from ..core.values import dtypes
from ..core.values.composite import has_text
from ..core.values.dtypes import as_dtype, repr_of
from ..core.values.tensor import Tensor
from ..errors import UnimplementedError
from .dispatch import handles, register

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike

# Functions, the parameters that take strings, and which results are strings: all, the first of a
# tuple, or none. A parameter with a star takes a list of tensors.
_FUNCTIONS: tuple[tuple[Callable[..., Any], str, str], ...] = (
    (arrange.roll, "input", "all"),
    (comparison.equal_, "x y", "none"),
    (comparison.not_equal_, "x y", "none"),
    (counting.unique, "x", "first"),
    (counting.unique_with_counts, "x", "first"),
    (creation.fill, "value", "all"),
    (creation.rank, "input", "none"),
    (creation.shape, "input", "none"),
    (creation.size, "input", "none"),
    (creation.zeros_like, "input", "all"),
    (elementwise.stop_gradient, "x", "all"),
    (getitem.strided_slice_, "input_", "all"),
    (indexing.boolean_mask, "tensor", "all"),
    (indexing.gather, "params", "all"),
    (indexing.repeat, "input", "all"),
    (indexing.where, "x y", "all"),
    (joining.concat, "*values", "all"),
    (joining.stack, "*values", "all"),
    (joining.tile, "input", "all"),
    (movement.broadcast_to, "input", "all"),
    (movement.expand_dims, "input", "all"),
    (movement.identity, "x", "all"),
    (movement.reshape, "tensor", "all"),
    (movement.squeeze, "input", "all"),
    (movement.transpose, "a", "all"),
    (padding.pad, "tensor constant_values", "all"),
    (partition.dynamic_partition, "data", "all"),
    (partition.dynamic_stitch, "*data", "all"),
    (scatter.gather_nd, "params", "all"),
    (scatter.scatter_nd, "updates", "all"),
    (scatter.tensor_scatter_nd_update, "tensor updates", "all"),
    (shapes.ensure_shape, "x", "all"),
    (shapes.identity_n, "*input", "all"),
    (shapes.shape_n, "*input", "none"),
    (slicing.reverse, "tensor", "all"),
    (slicing.slice_, "input_", "all"),
    (slicing.split, "value", "all"),
    (slicing.unstack, "value", "all"),
)


class _Numbering:
    """The different strings of a call and their numbers; the empty string is number 0."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {b"": 0}

    def numbers_of(self, value: Any) -> Tensor:
        """Return the numbers of strings, a tensor of int64."""
        array = to_string_array(value)
        numbers = self.numbers
        flat = [numbers.setdefault(string, len(numbers)) for string in array.ravel().tolist()]
        return from_owned_array(np.array(flat, np.int64).reshape(array.shape))

    def list_of(self, values: Any) -> Any:
        """Return the numbers of a list of operands as a list."""
        if isinstance(values, list | tuple):
            return [self.numbers_of(value) for value in values]
        return self.numbers_of(values)

    def strings_of(self, result: Any) -> Any:
        """Return the strings of a tensor of numbers, or of a list of such tensors."""
        if isinstance(result, list | tuple):
            return [self.strings_of(item) for item in result]
        table = np.empty(len(self.numbers), object)
        table[:] = list(self.numbers)
        return of_strings(table[result.numpy()])


def on_numbers(function: Callable[..., Any], parameters: str, results: str) -> Callable[..., Any]:
    """Return a handler that calls a function with the numbers of strings.

    Args:
      function: The function, which moves or compares elements.
      parameters: The parameters that take strings, separated by spaces; one that takes a list of
        tensors has a star.
      results: Which results are strings: ``"all"``, ``"first"`` (of a named tuple) or ``"none"``.
    """
    names = parameters.replace("*", "").split()
    lists = {name[1:] for name in parameters.split() if name.startswith("*")}
    op = getattr(function, "op", None)
    signature = None if op else inspect.signature(function)

    def handle(*args: Any, **kwargs: Any) -> Any:
        run_as_python()
        numbering = _Numbering()
        if signature is None:  # a recorder: all of its operands
            result = function(*map(numbering.numbers_of, args))
        else:
            arguments = signature.bind(*args, **kwargs).arguments
            operands = {n: arguments[n] for n in names if arguments.get(n) is not None}
            if not has_text(operands.values()):
                return NotImplemented
            numbers = {
                n: (numbering.list_of if n in lists else numbering.numbers_of)(value)
                for n, value in operands.items()
            }
            result = function(**{**arguments, **numbers})
        if results == "none":
            return result
        if results == "first":
            return result._replace(y=numbering.strings_of(result.y))
        return numbering.strings_of(result)

    return handle


for _function, _parameters, _results in _FUNCTIONS:
    register(StringTensor, _function, on_numbers(_function, _parameters, _results))


@handles(StringTensor, creation.constant)
def _constant(
    value: Any, dtype: DTypeLike | None = None, shape: Any = None, name: str = "Const"
) -> Any:
    strings = _convert_to_tensor(value, dtype)
    if strings is NotImplemented or shape is None:
        return strings
    target = movement.to_shape(shape)
    if strings._array_of_bytes.size == 1:
        return of_strings(np.full(target, strings._array_of_bytes.ravel()[0], object))
    if strings._array_of_bytes.size != int(np.prod(target)):
        raise TypeError(
            f"Eager execution of tf.constant with unsupported shape. Tensor {strings} (converted "
            f"from {repr_of(value)}) has {strings._array_of_bytes.size} elements, but got `shape` "
            f"{target} with {int(np.prod(target))} elements."
        )
    return of_strings(strings._array_of_bytes.reshape(target))


@handles(StringTensor, creation.convert_to_tensor)
def _convert_to_tensor(
    value: Any, dtype: DTypeLike | None = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    requested = None if dtype is None else as_dtype(dtype)
    if requested is not None and requested is not dtypes.string:
        if isinstance(value, StringTensor):
            raise ValueError(
                f"Tensor conversion requested dtype {requested.name} for Tensor with dtype string: "
                f"{value!r}. Use `strings.to_number`."
            )
        return NotImplemented
    if isinstance(value, StringTensor):
        return value
    if isinstance(value, Tensor) or (requested is None and not has_text((value,))):
        return NotImplemented  # the error of the other dtype
    try:
        return StringTensor(value)
    except TypeError:
        if requested is not None:
            raise TypeError(
                f"Cannot convert {repr_of(value)} to EagerTensor of dtype string"
            ) from None
        return NotImplemented


@handles(StringTensor, creation.zeros)
def _zeros(
    shape: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: Any = None
) -> Any:
    if as_dtype(dtype) is not dtypes.string:
        return NotImplemented
    return of_strings(np.full(movement.to_shape(shape), b"", object))


@handles(StringTensor, elementwise.add)
def _add(x: Any, y: Any) -> Any:
    return join_pair(x, y)


@handles(StringTensor, elementwise.cast)
def _cast(x: Any, dtype: DTypeLike, name: str | None = None) -> Any:
    if as_dtype(dtype) is dtypes.string:
        return x if isinstance(x, StringTensor) else StringTensor(x)
    raise UnimplementedError(
        f"Cast string to {as_dtype(dtype).name} is not supported. Use `strings.to_number`."
    )
