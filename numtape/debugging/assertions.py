"""Assertions on the values of tensors: `tf.debugging.assert_equal` and the like.

A check reads values when it is called. In a recorded function each check is a guard: if it does
not hold in a replay, the function runs as Python again, and the check raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.as_tensor import as_tensor
from ..core.log.string_tensor import StringTensor
from ..core.ops import comparison
from ..core.ops.elementwise import abs_
from ..core.ops.rules import every
from ..core.values.arguments import to_list
from ..core.values.dtypes import DType, as_dtype, float32, repr_of
from ..core.values.spec import intern
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, TensorLike


def _format_data(x: object, limit: int) -> str:
    """Format a message's data: the first elements of a tensor."""
    if not isinstance(x, Tensor):
        return str(x)
    array = x.numpy()
    if np.isscalar(array):
        return repr(array)
    items = [str(item) for item in array.reshape(-1)[:limit]]
    return str([*items, "..."] if len(items) < array.size else items)


def _describe(x: Tensor) -> str:
    return f"(shape={x.shape} dtype={x.dtype.name}) = "


def prefix(message: str | None) -> str:
    """Return the start of an error message."""
    return f"{message}.  " if message else ""


def _values(x: Tensor) -> Any:
    return np.asarray(x.numpy()).reshape(-1)


def _difference(sign: str, x: Tensor, y: Tensor, test: Tensor, limit: int) -> list[Any]:
    data: list[Any] = [f"Condition x {sign} y did not hold."]
    if limit > 0:
        if x.shape == y.shape and x.shape.rank:
            failing_indices = np.argwhere(~np.asarray(test.numpy()))
            index = tuple(failing_indices.T)
            data += [
                f"Indices of first {min(limit, len(failing_indices))} different values:",
                failing_indices[:limit],
            ]
            for name, array in (("x", x.numpy()), ("y", y.numpy())):
                data += [f"Corresponding {name} values:", array[index][:limit]]
        for name, array in (("x", _values(x)), ("y", _values(y))):
            data += [f"First {min(array.size, limit)} elements of {name}:", array[:limit]]
    return data


def _is_true_everywhere(test: TensorLike) -> bool:
    """Whether a tensor is true everywhere. A recorded function gets a guard on this bool alone."""
    return every(as_tensor(test), lambda array: array, lambda x: x, "An assertion does not hold.")


def _binary(
    sign: str,
    test: Callable[[Any, Any], Tensor],
    x: TensorLike,
    y: TensorLike,
    message: str | None,
    summarize: int | None,
    data: Callable[[], list[Any]] | None = None,
) -> None:
    if isinstance(x, StringTensor) or isinstance(y, StringTensor):
        if not np.asarray(test(x, y)).all():
            prefix = "" if message is None else f"{message}\n"
            raise InvalidArgumentError(
                f"{prefix}Condition x {sign} y did not hold: {x!r} and {y!r}"
            )
        return
    x = as_tensor(x)
    y = as_tensor(y, x._spec)
    test_result = test(x, y)
    if _is_true_everywhere(test_result):
        return
    limit = 3 if summarize is None else summarize if summarize >= 0 else 1 << 60
    lines = _difference(sign, x, y, test_result, limit) if data is None else data()
    if message is not None:
        lines = [message, *lines]
    raise InvalidArgumentError("\n".join(_format_data(item, limit) for item in lines))


def _make_comparison(name: str, sign: str, words: str, test: Callable[[Any, Any], Tensor]) -> Any:
    def check(
        x: TensorLike,
        y: TensorLike,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> None:
        _binary(sign, test, x, y, message, summarize)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""Raise unless ``x {sign} y`` for all elements.

    Args:
      x: A tensor.
      y: A tensor of the same dtype, whose shape broadcasts with that of ``x``.
      message: A prefix of the error message.
      summarize: The number of elements of each tensor in the message; default: 3.
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
    x: TensorLike,
    y: TensorLike,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless ``x != y`` for all elements.

    Args:
      x: A tensor.
      y: A tensor of the same dtype, whose shape broadcasts with that of ``x``.
      summarize: The number of elements of each tensor in the message; default: 3.
      message: A prefix of the error message.
      name: Not used.

    Raises:
      InvalidArgumentError: If an element of ``x`` equals that of ``y``.

    Example:
      >>> tf.debugging.assert_none_equal([1, 2], [2, 1])
    """
    _binary("!=", comparison.not_equal, x, y, message, summarize)


def _make_sign_check(
    name: str, sign: str, words: str, test: Callable[[Any, Any], Tensor], end: str = ""
) -> Any:
    def check(
        x: TensorLike,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> None:
        x = as_tensor(x)
        _binary(sign, test, x, 0, None, summarize, lambda: _sign_error_data(x, sign, message, end))

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""Raise unless ``x {sign} 0`` for all elements.

    Args:
      x: A tensor of numbers.
      message: A prefix of the error message.
      summarize: The number of elements in the message; default: 3.
      name: Not used.

    Raises:
      InvalidArgumentError: If an element is not {words}.

    Example:
      >>> tf.debugging.{name}({_EXAMPLES[name]})
    """
    return check


def _sign_error_data(x: Tensor, sign: str, message: str | None, end: str) -> list[Any]:
    start, text = prefix(message), f"Condition x {sign} 0 did not hold element-wise:"
    name_of_x = f"x {_describe(x)}"
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
    condition: TensorLike,
    data: Iterable[TensorLike],
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless a condition holds.

    Args:
      condition: A boolean scalar.
      data: A list of tensors and strings for the error message.
      summarize: The number of elements of each tensor in the message; default: 3.
      name: Not used.

    Raises:
      InvalidArgumentError: If the condition is false.

    Example:
      >>> tf.debugging.Assert(tf.constant(1) < 2, ["never seen"])
    """
    if condition:
        return
    raise _assertion_error(condition, data, 3 if summarize is None else summarize)


def _assertion_error(
    condition: TensorLike, data: Iterable[TensorLike], limit: int
) -> InvalidArgumentError:
    lines = []
    for item in data:
        if isinstance(item, str):
            lines.append(str(item.encode()))
            continue
        array = np.asarray(as_tensor(item).numpy()).reshape(-1)
        parts = [str(part) for part in (array if limit < 0 else array[:limit])]
        lines.append(", ".join([*parts, "..."] if len(parts) < array.size else parts))
    text = "\n".join(lines)
    return InvalidArgumentError(f"Expected '{condition!s}' to be true. Summarized data: {text}")


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless ``|x - y| <= atol + rtol * |y|`` for all elements.

    Args:
      x: A tensor of floats or complex numbers.
      y: A tensor of the same dtype, whose shape broadcasts with that of ``x``.
      rtol: The relative tolerance; default: 10 times the dtype's machine epsilon.
      atol: The absolute tolerance; default: 10 times the dtype's machine epsilon.
      message: A prefix of the error message.
      summarize: The number of elements of each tensor in the message; default: 3.
      name: Not used.

    Raises:
      InvalidArgumentError: If an element differs more.
      ValueError: If the tensors are integers or bools.

    Example:
      >>> tf.debugging.assert_near(tf.constant([1.0]), [1.0000001])
    """
    x = as_tensor(x)
    y = as_tensor(y, x._spec)
    if not x.dtype.is_floating and not x.dtype.is_complex:
        raise ValueError(f"data type {x.dtype.as_numpy_dtype} not inexact")
    real_spec = intern((), x.dtype.real_dtype)
    eps = 10 * np.finfo(real_spec.dtype.numpy_dtype).eps
    rtol = as_tensor(eps if rtol is None else rtol, real_spec)
    atol = as_tensor(eps if atol is None else atol, real_spec)
    test = comparison.less_equal(abs_(x - y), atol + rtol * abs_(y))
    if not _is_true_everywhere(test):
        raise _assertion_error(
            as_tensor(False),
            [
                prefix(message),
                f"x and y not equal to tolerance rtol = {rtol!s}, atol = {atol!s}",
                f"x {_describe(x)}",
                x,
                f"y {_describe(y)}",
                y,
            ],
            3 if summarize is None else summarize,
        )


def _rank_of(rank: IntLike) -> int:
    value = np.asarray(rank.numpy() if isinstance(rank, Tensor) else rank)
    if value.dtype.kind not in "iu":
        name = {"f": "float32"}.get(value.dtype.kind, value.dtype.name)
        raise TypeError(f"tensor must be of type tf.int32; got tf.{name}")
    if value.ndim:
        raise ValueError("Rank must be a scalar.")
    return int(value)


def _check_rank(
    x: TensorLike, message: str | None, is_valid_rank: Callable[[int], bool], expected: str
) -> None:
    x = as_tensor(x)
    if not is_valid_rank(x.ndim):
        raise ValueError(
            f"{prefix(message)}Tensor  must have rank {expected}.  Received rank {x.ndim}, shape "
            f"{x.shape}"
        )


def assert_rank(
    x: TensorLike, rank: IntLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has the given number of axes.

    Args:
      x: A tensor.
      rank: The number of axes.
      message: A prefix of the error message.
      name: Not used.

    Raises:
      ValueError: If the tensor has another number of axes, or ``rank`` is not a scalar.
      TypeError: If ``rank`` is not an integer.

    Example:
      >>> tf.debugging.assert_rank([[1, 2]], 2)
    """
    expected_rank = _rank_of(rank)
    _check_rank(x, message, lambda ndim: ndim == expected_rank, f"{expected_rank}")


def assert_rank_at_least(
    x: TensorLike, rank: IntLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has at least the given number of axes.

    Args:
      x: A tensor.
      rank: The minimum number of axes.
      message: A prefix of the error message.
      name: Not used.

    Raises:
      ValueError: If the tensor has fewer axes, or ``rank`` is not a scalar.
      TypeError: If ``rank`` is not an integer.

    Example:
      >>> tf.debugging.assert_rank_at_least([[1, 2]], 1)
    """
    min_rank = _rank_of(rank)
    _check_rank(x, message, lambda ndim: ndim >= min_rank, f"at least {min_rank}")


def assert_rank_in(
    x: TensorLike, ranks: Iterable[Any], message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor's number of axes is in a list.

    Args:
      x: A tensor.
      ranks: The accepted numbers of axes.
      message: A prefix of the error message.
      name: Not used.

    Raises:
      ValueError: If the tensor has another number of axes.
      TypeError: If an element of ``ranks`` is not an integer.

    Example:
      >>> tf.debugging.assert_rank_in([[1, 2]], (1, 2))
    """
    allowed_ranks = tuple(map(_rank_of, to_list(ranks, "ranks")))
    _check_rank(x, message, lambda ndim: ndim in allowed_ranks, f"in {allowed_ranks}")


def assert_scalar(
    tensor: TensorLike, message: str | None = None, name: str | None = None
) -> Tensor:
    """Raise unless a tensor has no axes.

    Args:
      tensor: A tensor.
      message: A prefix of the error message.
      name: Not used.

    Returns:
      The tensor.

    Raises:
      ValueError: If the tensor has axes.

    Example:
      >>> tf.debugging.assert_scalar(1.0).numpy()
      np.float32(1.0)
    """
    x = as_tensor(tensor)
    if x.ndim:
        raise ValueError(f"{prefix(message)}Expected scalar shape, saw shape: {x.shape}.")
    return x


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raise unless a tensor has an integer dtype.

    Args:
      x: A tensor.
      message: A prefix of the error message.
      name: Not used.

    Raises:
      TypeError: If the tensor has another dtype.

    Example:
      >>> tf.debugging.assert_integer([1, 2])
    """
    dtype = as_tensor(x).dtype
    if not dtype.is_integer:
        raise TypeError(
            f'{prefix(message)}Expected "x" to be integer type.  Found: tensor of dtype {dtype!s}'
        )


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has the given dtype.

    Args:
      tensor: A tensor.
      tf_type: The dtype.
      message: A prefix of the error message.
      name: Not used.

    Raises:
      TypeError: If the tensor has another dtype.

    Example:
      >>> tf.debugging.assert_type([1.0], tf.float32)
    """
    dtype, expected_dtype = as_tensor(tensor).dtype, as_dtype(tf_type)
    if dtype is not expected_dtype:
        raise TypeError(
            f"{prefix(message)}tensor must be of type tf.{expected_dtype.name}; got tf.{dtype.name}"
        )


def assert_same_float_dtype(
    tensors: Iterable[TensorLike] | None = None, dtype: DTypeLike | None = None
) -> DType:
    """Raise unless all tensors have the same floating-point dtype.

    Args:
      tensors: A list of tensors.
      dtype: The expected dtype; default: that of the first tensor.

    Returns:
      The dtype; float32 if there are neither tensors nor ``dtype``.

    Raises:
      ValueError: If dtypes differ or are not floating-point.

    Example:
      >>> tf.debugging.assert_same_float_dtype([tf.constant(1.0), tf.constant([2.0])])
      tf.float32
    """
    expected_dtype, first_tensor = None if dtype is None else as_dtype(dtype), None
    for x in () if tensors is None else to_list(tensors, "tensors"):
        x = as_tensor(x)
        if expected_dtype is None:
            expected_dtype, first_tensor = x.dtype, x
        elif x.dtype is not expected_dtype:
            like_first = "" if first_tensor is None else f" as {first_tensor!s}"
            raise ValueError(
                f"{x!s}, type={x.dtype!s}, must be of the same type "
                f"({expected_dtype!s}){like_first}."
            )
    common = expected_dtype or float32
    if not common.is_floating:
        raise ValueError(f"Expected floating point type, got {common!s}.")
    return common


def assert_proper_iterable(values: object) -> None:
    """Raise unless an object is an iterable other than a tensor, array or string.

    Args:
      values: Any object.

    Raises:
      TypeError: If the object is not iterable, or is a tensor, array or string.

    Example:
      >>> tf.debugging.assert_proper_iterable([1, 2])
    """
    if isinstance(values, Tensor | np.ndarray | bytes | str):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_shapes(
    shapes: Any,
    data: object = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless the shapes of tensors match each other.

    Args:
      shapes: Pairs of a tensor and its shape. In a shape, a number is a size; a string or another
        object is a symbol, which stands for the same size everywhere; None or "." accepts any
        size. A shape that starts with ``...`` or "*" accepts further axes at the start. A scalar
        counts as having one axis of size 1.
      data: Not used; accepted for compatibility with TensorFlow.
      summarize: Not used.
      message: A prefix of the error message.
      name: Not used.

    Raises:
      ValueError: If a shape does not match, or is not a sequence.

    Example:
      >>> x, y = tf.zeros((2, 3)), tf.zeros((2, 5))
      >>> tf.debugging.assert_shapes([(x, ("N", 3)), (y, ("N", "M"))])
    """
    start = prefix(message)
    pairs = to_list(shapes.items() if isinstance(shapes, dict) else shapes, "shapes")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError(
                f"`shapes` holds pairs of a tensor and its shape, not {repr_of(pair)}."
            )
    descriptions = [
        _shape_symbols(as_tensor(x), shape, start) for x, shape in pairs if shape is not None
    ]
    for x, symbols, inner in descriptions:
        if len(symbols) < 2:
            if not inner:
                assert_rank_in(x, (0, 1), message)
        elif inner:
            assert_rank_at_least(x, len(symbols), message)
        else:
            assert_rank(x, len(symbols), message)
    size_of: dict[Any, tuple[int, str]] = {}
    for x, symbols, inner in descriptions:
        sizes = tuple(x.shape) or (1,)
        sizes = sizes[len(sizes) - len(symbols) :] if symbols else sizes[:0]
        if not symbols and not inner:
            symbols, sizes = (1,), tuple(x.shape) or (1,)
        for k, (symbol, size) in enumerate(zip(symbols, sizes, strict=True)):
            axis = k - len(symbols) if inner else k
            description = f"ensor shape={x.shape} dtype={x.dtype.name}"
            if symbol is None or symbol == ".":
                continue
            required_size = _integer(symbol)
            if required_size is None and symbol not in size_of:
                size_of[symbol] = size, f"Specified by t{description} dimension {axis}"
                continue
            expected_size, origin = (
                size_of[symbol]
                if required_size is None
                else (required_size, "Specified explicitly")
            )
            if size != expected_size:
                raise ValueError(
                    f"{start}{origin}.  T{description} dimension {axis} must have size "
                    f"{expected_size}.  Received size {size}, shape {x.shape}"
                )


def _integer(symbol: Any) -> int | None:
    try:
        return int(symbol)
    except (TypeError, ValueError):
        return None


def _shape_symbols(
    x: Tensor, shape: Iterable[object], start: str
) -> tuple[Tensor, tuple[Any, ...], bool]:
    """Return a tensor, the symbols of its last axes, and whether further axes may precede them."""
    description = f"shape={x.shape} dtype={x.dtype.name}"
    if not hasattr(shape, "__iter__"):
        raise ValueError(
            f"{start}Tensor {description}.  Specified shape must be an iterable.  An iterable "
            f"has the attribute `__iter__` or `__getitem__`.  Received specified shape: {shape}"
        )
    symbols = tuple(shape)
    for k, symbol in enumerate(symbols[1:], 1):
        if symbol is Ellipsis or symbol == "*":
            raise ValueError(
                f"{start}Tensor {description} specified shape index {k}.  Symbol `...` "
                f"or `*` for a variable number of unspecified dimensions is only "
                f"allowed as the first entry"
            )
    inner = bool(symbols) and (symbols[0] is Ellipsis or symbols[0] == "*")
    return x, symbols[1:] if inner else symbols, inner
