"""How functions of the array API are defined: operands, promotion of dtypes, docstrings.

`promoted` casts operands to their common dtype. `function` completes a docstring of one sentence by
the sections for arguments, result, errors and an example.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from ..core.log.as_tensor import as_tensor
from ..core.log.variable import Variable
from ..core.ops.creation import constant
from ..core.ops.elementwise import cast
from ..core.values.dtypes import DType, as_dtype, float32, float64, int32
from ..core.values.tensor import Tensor

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Scalar = bool | int | float | complex
Operand = Tensor | Variable | np.ndarray[Any, Any] | Scalar
Array = Tensor | Variable
Axis = int | tuple[int, ...] | None

_ARGUMENTS = {
    "arrays": "Tensors.",
    "axes": "The axes.",
    "axis": "The axis, or axes; None for all.",
    "copy": "True to copy always; False for a ValueError if a copy is necessary.",
    "correction": "The degrees of freedom to subtract: 1 for the unbiased estimate.",
    "d": "The distance of samples.",
    "descending": "Whether the largest element comes first.",
    "destination": "The new positions of the axes.",
    "device": "The device; only that of tensors.",
    "dtype": "The dtype; None for the default of the operands.",
    "endpoint": "Whether the last number is ``stop``.",
    "fill_value": "The value of all elements.",
    "from_": "A dtype or tensor.",
    "full_matrices": "Whether the orthogonal matrices are square.",
    "include_initial": "Whether the result begins with the sum, or product, of no elements.",
    "indexing": "``xy`` or ``ij``: the order of the first two axes.",
    "indices": "A tensor of integers.",
    "k": "The number of the diagonal; 0 for the main one.",
    "keepdims": "Whether reduced axes remain, with size 1.",
    "kind": "A dtype, a kind such as ``real floating``, or a tuple of these.",
    "max": "The largest value; None for no limit.",
    "min": "The smallest value; None for no limit.",
    "mode": "``reduced`` or ``complete``.",
    "n": "The length of the transform, the number of elements, or the power.",
    "n_cols": "The number of columns; None for as many as rows.",
    "n_rows": "The number of rows.",
    "norm": "Which direction is scaled: ``backward``, ``ortho`` or ``forward``.",
    "num": "The number of elements.",
    "obj": "A number, a nested list of numbers, an array, or an object that exports its memory.",
    "offset": "The number of the diagonal; 0 for the main one.",
    "ord": "The order of the norm.",
    "prepend": "Values in front, before differences are taken.",
    "append": "Values behind, before differences are taken.",
    "repeats": "How often each element is repeated.",
    "repetitions": "How often each axis is repeated.",
    "rtol": "Singular values below this fraction of the largest count as 0.",
    "s": "The lengths of the transforms.",
    "shape": "The shape.",
    "shift": "How far elements move, for each axis.",
    "side": "``left`` or ``right``: the position among equal elements.",
    "sorter": "The order that sorts ``x1``, if it is not sorted.",
    "source": "The axes to move.",
    "stable": "Whether equal elements keep their order. They always do.",
    "start": "The first number, or the end if ``stop`` is None.",
    "step": "The distance of numbers.",
    "stop": "The end.",
    "to": "A dtype.",
    "type": "A dtype or tensor.",
    "upper": "Whether to return the upper triangle.",
    "x": "A tensor.",
    "x1": "A tensor, or a number.",
    "x2": "A tensor, or a number.",
    "condition": "A tensor of bools.",
}


def function(
    example: str, result: str, returns: str = "A tensor.", raises: str = ""
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Complete the docstring of a function (a decorator).

    Args:
      example: An expression, in which ``xp`` is this namespace.
      result: Its value, as Python prints it.
      returns: The section about the result.
      raises: The section about errors; by default those of the operands' dtypes.
    """

    def complete(call: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        names = [name.strip("*") for name in inspect.signature(call).parameters]
        arguments = "".join(f"  {name}: {_ARGUMENTS[name]}\n" for name in names)
        errors = raises or "InvalidArgumentError: If the function is not defined for the operands."
        head = inspect.cleandoc(call.__doc__ or "")
        call.__doc__ = (
            f"{head}\n\n"
            + (f"Args:\n{arguments}\n" if arguments else "")
            + f"Returns:\n{textwrap.indent(returns, '  ')}\n\nRaises:\n  {errors}\n\n"
            f"Example:\n  >>> xp = tf.array_api\n  >>> {example}\n{textwrap.indent(result, '  ')}\n"
        )
        return call

    return complete


# --- Operands ------------------------------------------------------------------------------------


def dtype_of(x: Any) -> Any:
    """Return the dtype of a tensor or array, or of a dtype itself; a Python number as it is."""
    if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
        return x
    return as_dtype(getattr(x, "dtype", x))


def common_dtype(*operands: Any) -> DType:
    """Return the dtype that operands are promoted to. Python numbers do not widen a dtype."""
    dtypes = [dtype_of(x) for x in operands]
    known = [x for x in dtypes if isinstance(x, DType)]
    numbers = [x for x in dtypes if not isinstance(x, DType)]
    if not known:
        raise TypeError("At least one operand must be a tensor or dtype.")
    result = known[0]
    for dtype in known[1:]:
        if dtype is not result:
            result = as_dtype(np.result_type(result.numpy_dtype, dtype.numpy_dtype))
    for number in numbers:
        if isinstance(number, complex) and not result.is_complex:
            result = as_dtype("complex128" if result is float64 else "complex64")
        elif isinstance(number, float) and not (result.is_floating or result.is_complex):
            result = float32
        elif isinstance(number, int) and not isinstance(number, bool) and result.is_bool:
            result = int32
    return result


def promoted(*operands: Any) -> list[Tensor]:
    """Return operands as tensors of their common dtype."""
    dtype = common_dtype(*operands)
    return [tensor_of(x, dtype) for x in operands]


def tensor_of(x: Any, dtype: DType | None = None) -> Tensor:
    """Return an operand as a tensor, cast to a dtype if given."""
    if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
        if dtype is None or isinstance(x, int):
            return constant(x, dtype)
        with np.errstate(over="ignore"):  # a number that is too large is infinite
            return constant(np.asarray(x).astype(dtype.numpy_dtype))
    tensor = as_tensor(x)
    return tensor if dtype is None or tensor.dtype is dtype else cast(tensor, dtype)


def accumulation_dtype(x: Tensor, dtype: Any) -> DType:
    """Return the dtype of a sum or product: small integers are added up in 32 bits."""
    if dtype is not None:
        return as_dtype(dtype)
    if x.dtype.is_bool:
        return int32
    if x.dtype.is_integer and x.dtype.size < 4:
        return as_dtype("uint32" if x.dtype.is_unsigned else "int32")
    return x.dtype


def axes_of(axis: Axis, rank: int) -> list[int]:
    """Return axes as a list of numbers from 0; None stands for all."""
    axes = range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis
    for x in axes:
        if not -rank <= x < rank:
            raise IndexError(f"axis {x} is out of bounds for a tensor of {rank} axes.")
    return [x % rank for x in axes]


# --- Families of functions -----------------------------------------------------------------------


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, x: Array, /) -> Tensor:
        """Return a tensor."""


class Binary(Protocol):
    """A function of two tensors, or a tensor and a number."""

    def __call__(self, x1: Operand, x2: Operand, /) -> Tensor:
        """Return a tensor."""


def unary(name: str, compute: Callable[[Any], Any], text: str, example: str, result: str) -> Unary:
    """Define an elementwise function of one tensor."""

    def call(x: Array, /) -> Tensor:
        y: Tensor = compute(tensor_of(x))
        return y

    call.__name__ = call.__qualname__ = name
    call.__doc__ = text
    call.__module__ = "numtape.array_api.elementwise"
    return function(f"xp.{name}({example}).numpy()", result, "A tensor of the shape of ``x``.")(
        call
    )


def binary(
    name: str, compute: Callable[[Any, Any], Any], text: str, example: str, result: str
) -> Binary:
    """Define an elementwise function of two operands, which are promoted to a common dtype."""

    def call(x1: Operand, x2: Operand, /) -> Tensor:
        y: Tensor = compute(*promoted(x1, x2))
        return y

    call.__name__ = call.__qualname__ = name
    call.__doc__ = text
    call.__module__ = "numtape.array_api.elementwise"
    returns = "A tensor of the operands' broadcast shape."
    return function(f"xp.{name}({example}).numpy()", result, returns)(call)
