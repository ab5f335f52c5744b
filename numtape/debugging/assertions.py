"""Assertions on the values of tensors: `tf.debugging.assert_equal` and the like.

Checks look at values at the call. In a recorded function each is a guard: a replay in which one
does not hold is run as Python again, which raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.log.tensors import as_tensor
from ..core.ops import comparison
from ..core.ops.checks import every
from ..core.ops.elementwise import abs_
from ..core.values.spec import intern
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError


def _format_data(x: Any, most: int) -> str:
    """Data of a message: the first elements of a tensor."""
    if not isinstance(x, Tensor):
        return str(x)
    array = x.numpy()
    if np.isscalar(array):
        return repr(array)
    items = [str(item) for item in array.reshape(-1)[:most]]
    return str([*items, "..."] if len(items) < array.size else items)


def _of(x: Any) -> str:
    return f"(shape={x.shape} dtype={x.dtype.name}) = "


def prefix(message: str | None) -> str:
    """What a message begins with."""
    return f"{message}.  " if message else ""


def _values(x: Tensor) -> Any:
    return np.asarray(x.numpy()).reshape(-1)


def _difference(sign: str, x: Tensor, y: Tensor, test: Tensor, most: int) -> list[Any]:
    data: list[Any] = [f"Condition x {sign} y did not hold."]
    if most > 0:
        if x.shape == y.shape and x.shape.rank:
            wrong = np.argwhere(~np.asarray(test.numpy()))
            at = tuple(wrong.T)
            data += [f"Indices of first {min(most, len(wrong))} different values:", wrong[:most]]
            for name, array in (("x", x.numpy()), ("y", y.numpy())):
                data += [f"Corresponding {name} values:", array[at][:most]]
        for name, array in (("x", _values(x)), ("y", _values(y))):
            data += [f"First {min(array.size, most)} elements of {name}:", array[:most]]
    return data


def _holds(test: Any) -> bool:
    """Whether a tensor is true everywhere; in a recorded function, with a guard on that alone."""
    return every(as_tensor(test), lambda array: array, lambda x: x, "An assertion does not hold.")


def _binary(
    sign: str,
    test: Callable[[Any, Any], Tensor],
    x: Any,
    y: Any,
    message: str | None,
    summarize: int | None,
    data: Callable[[], list[Any]] | None = None,
) -> None:
    x = as_tensor(x)
    y = as_tensor(y, x._spec)
    holds = test(x, y)
    if _holds(holds):
        return
    most = 3 if summarize is None else summarize if summarize >= 0 else 1 << 60
    lines = _difference(sign, x, y, holds, most) if data is None else data()
    if message is not None:
        lines = [message, *lines]
    raise InvalidArgumentError("\n".join(_format_data(item, most) for item in lines))


def _make_comparison(name: str, sign: str, words: str, test: Any) -> Any:
    def check(
        x: Any,
        y: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> None:
        _binary(sign, test, x, y, message, summarize)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""Raise unless ``x {sign} y`` for all elements.

    Args:
      x: A tensor.
      y: Another, of the same dtype, whose shape broadcasts with that of ``x``.
      message: A prefix of the error message.
      summarize: How many elements it shows of each (3).
      name: Not used.

    Raises:
      InvalidArgumentError: If an element of ``x`` is not {words} that of ``y``.

    Example:
      >>> tf.debugging.{name}({_EXAMPLES[name]})
    """
    return check


_EXAMPLES = {
    "assert_equal": "tf.constant([1, 2]), [1, 2]",
    "assert_less": "[1, 2], 3",
    "assert_less_equal": "[1, 2], 2",
    "assert_greater": "[1, 2], 0",
    "assert_greater_equal": "[1, 2], 1",
    "assert_positive": "[1, 2]",
    "assert_negative": "[-1.0]",
    "assert_non_negative": "[0, 1]",
    "assert_non_positive": "[0, -1]",
}

assert_equal = _make_comparison("assert_equal", "==", "equal to", comparison.equal)
assert_less = _make_comparison("assert_less", "<", "less than", comparison.less)
assert_less_equal = _make_comparison("assert_less_equal", "<=", "at most", comparison.less_equal)
assert_greater = _make_comparison("assert_greater", ">", "greater than", comparison.greater)
assert_greater_equal = _make_comparison(
    "assert_greater_equal", ">=", "at least", comparison.greater_equal
)


def assert_none_equal(
    x: Any,
    y: Any,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless ``x != y`` for all elements.

    Args:
      x: A tensor.
      y: Another, of the same dtype, whose shape broadcasts with that of ``x``.
      summarize: How many elements the error shows of each (3).
      message: Its prefix.
      name: Not used.

    Raises:
      InvalidArgumentError: If an element of ``x`` equals that of ``y``.

    Example:
      >>> tf.debugging.assert_none_equal([1, 2], [2, 1])
    """
    _binary("!=", comparison.not_equal, x, y, message, summarize)


def _make_sign_check(name: str, sign: str, words: str, test: Any, end: str = "") -> Any:
    def check(
        x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        x = as_tensor(x)
        _binary(sign, test, x, 0, None, summarize, lambda: _signs(x, sign, message, end))

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""Raise unless ``x {sign} 0`` for all elements.

    Args:
      x: A tensor of numbers.
      message: A prefix of the error message.
      summarize: How many elements it shows (3).
      name: Not used.

    Raises:
      InvalidArgumentError: If an element is not {words}.

    Example:
      >>> tf.debugging.{name}({_EXAMPLES[name]})
    """
    return check


def _signs(x: Tensor, sign: str, message: str | None, end: str) -> list[Any]:
    start, text = prefix(message), f"Condition x {sign} 0 did not hold element-wise:"
    name_of_x = f"x {_of(x)}"
    return [start, text + name_of_x, x] if end else [start, text, name_of_x, x]


assert_positive = _make_sign_check("assert_positive", ">", "positive", comparison.greater)
assert_negative = _make_sign_check("assert_negative", "<", "negative", comparison.less)
assert_non_negative = _make_sign_check(
    "assert_non_negative", ">=", "0 or positive", comparison.greater_equal
)
assert_non_positive = _make_sign_check(
    "assert_non_positive", "<=", "0 or negative", comparison.less_equal, "joined"
)


def Assert(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless a condition holds.

    Args:
      condition: A boolean scalar.
      data: A list of tensors and strings that the error shows.
      summarize: How many elements of each (3).
      name: Not used.

    Raises:
      InvalidArgumentError: If the condition is false.

    Example:
      >>> tf.debugging.Assert(tf.constant(1) < 2, ["never seen"])
    """
    if condition:
        return
    raise _assertion_error(condition, data, 3 if summarize is None else summarize)


def _assertion_error(condition: Any, data: Any, most: int) -> InvalidArgumentError:
    lines = []
    for item in data:
        if isinstance(item, str):
            lines.append(str(item.encode()))
            continue
        array = np.asarray(as_tensor(item).numpy()).reshape(-1)
        parts = [str(part) for part in (array if most < 0 else array[:most])]
        lines.append(", ".join([*parts, "..."] if len(parts) < array.size else parts))
    text = "\n".join(lines)
    return InvalidArgumentError(f"Expected '{condition!s}' to be true. Summarized data: {text}")


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless ``|x - y| <= atol + rtol * |y|`` for all elements.

    Args:
      x: A tensor of floats or complex numbers.
      y: Another.
      rtol: The relative tolerance; 10 times the dtype's resolution.
      atol: The absolute tolerance; also.
      message: A prefix of the error message.
      summarize: How many elements it shows of each (3).
      name: Not used.

    Raises:
      InvalidArgumentError: If they differ more.
      ValueError: If they are integers or bools.

    Example:
      >>> tf.debugging.assert_near(tf.constant([1.0]), [1.0000001])
    """
    x = as_tensor(x)
    y = as_tensor(y, x._spec)
    if not x.dtype.is_floating and not x.dtype.is_complex:
        raise ValueError(f"data type {x.dtype.as_numpy_dtype} not inexact")
    real = intern((), x.dtype.real_dtype)
    eps = 10 * np.finfo(real.dtype.numpy_dtype).eps
    rtol = as_tensor(eps if rtol is None else rtol, real)
    atol = as_tensor(eps if atol is None else atol, real)
    test = comparison.less_equal(abs_(x - y), atol + rtol * abs_(y))
    if not _holds(test):
        raise _assertion_error(
            as_tensor(False),
            [
                prefix(message),
                f"x and y not equal to tolerance rtol = {rtol!s}, atol = {atol!s}",
                f"x {_of(x)}",
                x,
                f"y {_of(y)}",
                y,
            ],
            3 if summarize is None else summarize,
        )
