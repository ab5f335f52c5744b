"""Python functions as operations: `py_function`, `numpy_function`, `print`, static values."""

from __future__ import annotations

import pprint
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import nest
from ..core.log.as_tensor import as_tensor, to_tensor
from ..core.log.log import local
from ..core.log.string_tensor import StringTensor
from ..core.log.variable import Variable
from ..core.ops.creation import convert_to_tensor
from ..core.values.arguments import to_list
from ..core.values.composite import Composite
from ..core.values.dtypes import as_dtype, float64
from ..core.values.tensor import Tensor
from ..errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from ..tensor_spec import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..core.values.annotations import DTypeLike, TensorLike


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Iterable[TensorLike] | None = None,
    Tout: DTypeLike | list[DTypeLike] | tuple[DTypeLike, ...] | None = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a function of NumPy arrays and return its results as tensors, without a gradient.

    Use `custom_gradient` to define a gradient. A `function` that calls it runs as plain Python.

    Args:
      func: A function of an array for each tensor that returns an array, a number, or a list of
        them.
      inp: A list of tensors.
      Tout: Not used: results keep their dtypes.
      stateful: Not used.
      name: Not used.

    Returns:
      A tensor, or a list of them. Without ``func``, a decorator.

    Raises:
      TypeError: If ``inp`` does not match the function's parameters. Errors of the function
        propagate.

    Example:
      >>> tf.numpy_function(np.sinc, [tf.constant([0.0, 0.5])], tf.float32).numpy()
      array([1.       , 0.63661975], dtype=float32)
    """
    if func is None:
        return lambda f: lambda *args: numpy_function(f, args, Tout, stateful, name)
    local.log.refuse("it calls numpy_function")
    inputs = [convert_to_tensor(x) for x in to_list(inp, "inp")]
    arrays = [x.numpy() if isinstance(x, StringTensor) else np.asarray(x.numpy()) for x in inputs]
    results = func(*arrays)
    is_single = not isinstance(results, list | tuple)
    if results is None:
        return None
    tensors = [convert_to_tensor(x) for x in ([results] if is_single else results)]
    return tensors[0] if is_single else tensors


_RAISED: list[tuple[type[BaseException] | tuple[type[BaseException], ...], type[OpError]]] = [
    ((TypeError, ValueError), InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
]


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Iterable[TensorLike] | None = None,
    Tout: DTypeLike | list[DTypeLike] | tuple[DTypeLike, ...] | None = None,
    name: str | None = None,
) -> Any:
    """Call a function of tensors and return its results in given dtypes, with gradients.

    A `function` that calls it runs as plain Python.

    Args:
      func: A function of tensors that returns a tensor, a list of them, or None.
      inp: A list of tensors.
      Tout: The dtype of the result, or a list of dtypes; an empty list for no result.
      name: Not used.

    Returns:
      A tensor, or a list of them. Without ``func``, a decorator.

    Raises:
      InvalidArgumentError: If the function returns another dtype, or raises a TypeError or a
        ValueError.
      UnknownError: If the function raises another error.

    Example:
      >>> tf.py_function(lambda x: x if x > 0 else -x, [tf.constant(-2.0)], tf.float32).numpy()
      np.float32(2.0)
    """
    if func is None:
        return lambda f: lambda *args: py_function(f, args, Tout, name)
    local.log.refuse("it calls py_function")
    kinds = list(Tout) if isinstance(Tout, list | tuple) else [Tout]
    inputs = to_list(inp, "inp")
    try:
        results = func(*[x if isinstance(x, Composite) else as_tensor(x) for x in inputs])
        values = list(results) if isinstance(results, list | tuple) else [results]
        values = [] if results is None else values
        if len(values) != len(kinds):
            raise ValueError(f"The function gives {len(values)} values instead of {len(kinds)}.")
        tensors = [_as(x, kind) for x, kind in zip(values, kinds, strict=True)]
    except OpError:
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        for kind, error_class in _RAISED:
            if isinstance(error, kind):
                raise error_class(message) from error
        raise UnknownError(message) from error
    return tensors if isinstance(Tout, list | tuple) else tensors[0]


def _as(value: TensorLike, kind: DTypeLike | None) -> Tensor:
    dtype = as_dtype(kind)
    tensor = convert_to_tensor(value, dtype)
    return tensor if isinstance(tensor, Composite) else as_tensor(tensor)


# Looking at tensors.


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return a tensor's value.

    Args:
      tensor: A tensor. The result is None for a variable, and another object itself.
      partial: Not used.

    Returns:
      An array, a NumPy scalar, or None.

    Example:
      >>> tf.get_static_value(tf.constant([1, 2]))
      array([1, 2], dtype=int32)
    """
    if isinstance(tensor, Variable):
        return None
    return tensor.numpy() if isinstance(tensor, Tensor) else tensor


def is_symbolic_tensor(tensor: object) -> bool:
    """Return False: all tensors have values.

    Args:
      tensor: Any object.

    Returns:
      False.

    Example:
      >>> tf.is_symbolic_tensor(tf.constant(1.0))
      False
    """
    return False


def type_spec_from_value(value: object) -> TensorSpec:
    """Return the spec of a tensor, or of a value that can be converted to one.

    Args:
      value: A tensor, a variable, an array or a number.

    Returns:
      A `TensorSpec`.

    Raises:
      TypeError: If ``value`` cannot be converted to a tensor.

    Example:
      >>> tf.type_spec_from_value(tf.constant([1.0]))
      TensorSpec(shape=(1,), dtype=tf.float32, name=None)
    """
    if hasattr(type(value), "_flatten"):
        from ..composites.type_specs import spec_of_composite

        return spec_of_composite(value)
    try:
        x: Any = value
        x = x if isinstance(x, Tensor | Variable) else convert_to_tensor(x)
    except Exception:
        raise TypeError(f"Could not build a TypeSpec for {value} with type {type(value)}") from None
    return TensorSpec(x.shape, x.dtype)


def timestamp(name: str | None = None) -> Tensor:
    """The time, in seconds since 1970.

    Args:
      name: Not used.

    Returns:
      A scalar of float64.

    Example:
      >>> bool(tf.timestamp() > 1e9)
      True
    """
    local.log.refuse("it asks for the time")
    return to_tensor(time.time(), float64)


# Printing.


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}


def _escape(string: bytes) -> str:
    """Return a string with C's escapes, as TensorFlow prints it."""
    text = string.decode("utf-8", "backslashreplace")
    return "".join(
        _ESCAPES.get(c) or (c if ord(c) >= 32 and c != "\x7f" else f"\\{ord(c):03o}") for c in text
    )


def _number(x: object) -> str:
    """Format a number as TensorFlow does: with few digits if they identify it, else with more."""
    if isinstance(x, bool | np.bool_):
        return str(int(x))
    if isinstance(x, bytes):
        return f'"{_escape(x)}"'
    if not isinstance(x, float | np.floating):
        return str(x)
    short_digits, full_digits = (6, 9) if x.dtype.itemsize < 8 else (15, 17)  # type: ignore[union-attr]
    short_text = f"{float(x):.{short_digits}g}"
    return short_text if type(x)(float(short_text)) == x else f"{float(x):.{full_digits}g}"


def format_array(array: NDArray[Any], limit: int, depth: int = 0) -> str:
    """Format an array; long axes are abbreviated to their ends."""
    if isinstance(array, bytes) or not array.ndim:
        return _number(array if isinstance(array, bytes) else array[()])
    separator = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * (depth + 1)
    count = len(array)
    if limit < 0 or count <= 2 * limit:
        parts = [format_array(x, limit, depth + 1) for x in array]
    else:
        edges = [
            format_array(array[k], limit, depth + 1) for k in (*range(limit), *range(-limit, 0))
        ]
        parts = [*edges[:limit], "...", *edges[limit:]]
    return f"[{separator.join(parts)}]"


class _Shown:
    """The text that `pprint` shows for a tensor."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def print_(*inputs: object, **kwargs: Any) -> None:
    """Print tensors and other objects.

    A `function` that calls it runs as plain Python.

    Args:
      *inputs: Tensors, nests of them, strings, or other objects.
      **kwargs: ``output_stream``: a file, or "file://" and a path; default: `sys.stderr`.
        ``summarize``: the number of elements at each end of an axis, -1 for all; default: 3.
        ``sep``: the separator; default: " ". ``end``: the end; default: a newline. ``name``: not
        used.

    Raises:
      ValueError: If another keyword is passed, or the output stream is invalid.

    Example:
      >>> import sys
      >>> tf.print("values:", tf.constant([1.5, 2.0]), output_stream=sys.stdout)
      values: [1.5 2]
    """
    stream, limit = kwargs.pop("output_stream", sys.stderr), kwargs.pop("summarize", 3)
    end, sep = kwargs.pop("end", "\n"), kwargs.pop("sep", " ")
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    local.log.refuse("it calls tf.print")
    limit = 3 if limit is None else limit

    def printable(x: Any) -> Any:
        if isinstance(x, Tensor | Variable | StringTensor):
            return _Shown(format_array(np.asarray(x.numpy()), limit))
        return x

    parts = [
        x if isinstance(x, str) else pprint.pformat(nest.map_structure(printable, x))
        for x in inputs
    ]
    text = sep.join(parts) + end
    if isinstance(stream, str):
        if not stream.startswith("file://"):
            raise ValueError(
                f'Unknown output stream, output_stream={stream!r}: use a file or "file://".'
            )
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
            file.write(text)
    elif hasattr(stream, "write"):
        stream.write(text)
    else:
        raise ValueError(f"Unknown output stream, output_stream={stream!r}.")


print_.__name__ = print_.__qualname__ = "print"
