"""``tf.keras.ops``: conversion, slices, scatter, control flow."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ...core.log.as_tensor import as_tensor
from ...core.log.variable import Variable
from ...core.values.tensor import Tensor
from ...nest import flatten, map_structure
from ..registry import keras_dtype
from ..symbolic import KerasTensor, is_symbolic
from .define import op, shape_of

if TYPE_CHECKING:
    from ...core.values.annotations import (
        DTypeLike,
        IntLike,
        ShapeLike,
        TensorLike,
    )

_FUNCTION = "TypeError: If a function is not callable."


def _check_callable(*functions: object) -> None:
    for function in functions:
        if not callable(function):
            raise TypeError(f"A function should be a callable. Received: {function!r}")


# --- Conversion ----------------------------------------------------------------------------------


def shape(x: TensorLike) -> tuple[int | None, ...]:
    """Return the shape.

    Args:
      x: A tensor or a symbolic tensor.

    Returns:
      A tuple of ints; None for an unknown size of a symbolic tensor.

    Example:
      >>> tf.keras.ops.shape(tf.zeros((2, 3)))
      (2, 3)
    """
    return x.shape if isinstance(x, KerasTensor) else tuple(int(n) for n in as_tensor(x).shape)


def dtype(x: TensorLike) -> str:
    """Return the name of the dtype.

    Args:
      x: A tensor or a symbolic tensor.

    Returns:
      A string.

    Raises:
      TypeError: If ``x`` cannot be converted to a tensor.

    Example:
      >>> tf.keras.ops.dtype(tf.zeros(2))
      'float32'
    """
    return x.dtype if isinstance(x, KerasTensor) else as_tensor(x).dtype.name


def is_tensor(x: object) -> bool:
    """Return whether a value is a tensor, a variable or a symbolic tensor.

    Args:
      x: Any object.

    Returns:
      A bool.

    Example:
      >>> tf.keras.ops.is_tensor(tf.zeros(2)), tf.keras.ops.is_tensor([0.0])
      (True, False)
    """
    return isinstance(x, Tensor | Variable | KerasTensor)


@op(raises="TypeError: If the dtype does not exist.")
def cast(x: TensorLike, dtype: DTypeLike) -> Any:
    """Convert to a dtype.

    >>> tf.keras.ops.cast([1.7, -1.7], "int32").numpy()
    array([ 1, -1], dtype=int32)
    """
    tensor, kind = as_tensor(x), keras_dtype(dtype)
    if tensor.dtype.is_complex and not kind.is_complex:
        tensor = tf.math.real(tensor)
    return tf.cast(tensor, kind)


@op(raises="TypeError: If the dtype does not exist.")
def saturate_cast(x: TensorLike, dtype: DTypeLike) -> Any:
    """Convert to a dtype; values outside its range become its smallest or largest value.

    >>> tf.keras.ops.saturate_cast([-3.0, 300.0], "uint8").numpy()
    array([  0, 255], dtype=uint8)
    """
    return tf.saturate_cast(x, keras_dtype(dtype))


@op(raises="ValueError: If ``sparse`` or ``ragged`` is set.")
def convert_to_tensor(
    x: TensorLike,
    dtype: DTypeLike | None = None,
    sparse: bool | None = None,
    ragged: bool | None = None,
) -> Any:
    """Convert a value to a tensor.

    >>> tf.keras.ops.convert_to_tensor([1, 2], dtype="float32").numpy()
    array([1., 2.], dtype=float32)
    """
    for word, value in (("sparse", sparse), ("ragged", ragged)):
        if value:
            raise ValueError(f"{word}={value}: numtape's tensors are dense.")
    tensor = tf.convert_to_tensor(x)
    return tensor if dtype is None else tf.cast(tensor, keras_dtype(dtype))


def convert_to_numpy(x: TensorLike) -> Any:
    """Convert a tensor to a NumPy array.

    Args:
      x: A tensor.

    Returns:
      An array, a copy of the values.

    Raises:
      ValueError: If ``x`` is symbolic.

    Example:
      >>> tf.keras.ops.convert_to_numpy(tf.ones(2))
      array([1., 1.], dtype=float32)
    """
    if isinstance(x, KerasTensor):
        np.asarray(x)
    return np.array(tf.convert_to_tensor(x))


@op(raises="")
def stop_gradient(variable: TensorLike) -> Any:
    """Return the tensor as a constant, whose gradient is 0.

    >>> tf.keras.ops.stop_gradient([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    return tf.stop_gradient(as_tensor(variable))


def _infer_unstack(x: KerasTensor, num: int | None = None, axis: int = 0) -> list[KerasTensor]:
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for the shape {x.shape}.")
    size = x.shape[axis]
    if num is None and size is None:
        raise ValueError(f"Cannot infer argument `num` from shape {x.shape}.")
    shape = [n for k, n in enumerate(x.shape) if k != axis % rank]
    return [
        KerasTensor(shape, x.dtype) for _ in builtins.range((size if num is None else num) or 0)
    ]


@op(
    "A list of tensors.",
    "ValueError: If ``num`` is not the size of the axis.",
    result=_infer_unstack,
)
def unstack(x: TensorLike, num: int | None = None, axis: int = 0) -> Any:
    """Split into tensors without the axis.

    >>> [row.numpy() for row in tf.keras.ops.unstack([[1, 2], [3, 4]])]
    [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    return tf.unstack(as_tensor(x), num, axis)


# --- Slices and scatter --------------------------------------------------------------------------


def _starts(start_indices: Any, sizes: Sequence[int], limits: Sequence[int]) -> list[int]:
    """Return the first indices as ints, moved so that the slice is inside the tensor."""
    starts = [int(np.asarray(as_tensor(i))) for i in _items(start_indices)]
    return [
        min(max(start + limit if start < 0 else start, 0), limit - size)
        for start, size, limit in zip(starts, sizes, limits, strict=True)
    ]


def _items(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else list(np.asarray(values))


def _check_rank(start_indices: Any, old: Sequence[Any], sizes: Sequence[Any]) -> None:
    pairs = [(old, "inputs", sizes, "shape")]
    if not isinstance(start_indices, KerasTensor):
        pairs.append((_items(start_indices), "start_indices", old, "inputs"))
    for first, name, second, other in pairs:
        if len(first) != len(second):
            raise ValueError(
                f"The number of dimensions in `{name}` must match the number of dimensions in "
                f"`{other}`, got {tuple(first)} and {tuple(second)}."
            )


def _infer_slice(inputs: Any, start_indices: Any, shape: Any) -> KerasTensor:
    old, sizes = shape_of(inputs), list(shape)
    _check_rank(start_indices, old, sizes)
    starts: list[Any] = [None] * len(sizes)
    if not is_symbolic(start_indices):
        starts = [int(np.asarray(as_tensor(i))) for i in _items(start_indices)]
    result = [
        n if n != -1 else None if limit is None or start is None else limit - start % limit
        for n, start, limit in zip(sizes, starts, old, strict=True)
    ]
    return KerasTensor(result, dtype(inputs))


@op(raises="ValueError: If the slice is larger than the tensor.", result=_infer_slice)
def slice(inputs: TensorLike, start_indices: Sequence[IntLike], shape: ShapeLike) -> Any:
    """Return a slice of given shape; it is moved to be inside the tensor.

    >>> tf.keras.ops.slice([[1, 2, 3], [4, 5, 6]], (0, 1), (2, 2)).numpy()
    array([[2, 3],
           [5, 6]], dtype=int32)
    """
    tensor, sizes = as_tensor(inputs), [int(n) for n in _items(shape)]
    _check_rank(start_indices, tensor.shape, sizes)
    starts = [int(np.asarray(as_tensor(i))) for i in _items(start_indices)]
    sizes = [
        limit - start % limit if n == -1 else n
        for n, start, limit in zip(sizes, starts, tensor.shape, strict=True)
    ]
    for size, limit in zip(sizes, tensor.shape, strict=True):
        if size > limit:
            raise ValueError(f"A slice of shape {tuple(sizes)} of a tensor of {tensor.shape}.")
    return tf.slice(tensor, _starts(starts, sizes, tensor.shape), sizes)


@op(raises="ValueError: If the updates are larger than the tensor.")
def slice_update(inputs: TensorLike, start_indices: Sequence[IntLike], updates: TensorLike) -> Any:
    """Return the tensor with a slice replaced.

    >>> tf.keras.ops.slice_update([1, 2, 3], [1], [8, 9]).numpy()
    array([1, 8, 9], dtype=int32)
    """
    tensor = as_tensor(inputs)
    new = tf.cast(updates, tensor.dtype)
    sizes = [int(n) for n in new.shape]
    if len(sizes) != tensor.ndim or any(
        n > limit for n, limit in zip(sizes, tensor.shape, strict=True)
    ):
        raise ValueError(f"Updates of shape {new.shape} of a tensor of shape {tensor.shape}.")
    starts = _starts(start_indices, sizes, tensor.shape)
    places = np.arange(math.prod(tensor.shape)).reshape(tuple(tensor.shape))
    window = tuple(
        builtins.slice(start, start + size) for start, size in zip(starts, sizes, strict=True)
    )
    flat = tf.tensor_scatter_nd_update(
        tf.reshape(tensor, [-1]), places[window].reshape(-1, 1), tf.reshape(new, [-1])
    )
    return tf.reshape(flat, tensor.shape)


@op(raises="InvalidArgumentError: If an index is outside the shape.")
def scatter(indices: TensorLike, values: TensorLike, shape: ShapeLike) -> Any:
    """Write values into zeros; values at equal indices are added.

    >>> tf.keras.ops.scatter([[0], [2]], [1.0, 3.0], (4,)).numpy()
    array([1., 0., 3., 0.], dtype=float32)
    """
    return tf.scatter_nd(tf.cast(indices, tf.int64), as_tensor(values), shape)


_REDUCTIONS: dict[str | None, Any] = {
    None: tf.tensor_scatter_nd_update,
    "add": tf.tensor_scatter_nd_add,
    "max": tf.tensor_scatter_nd_max,
    "min": tf.tensor_scatter_nd_min,
}


@op(raises="ValueError: If the reduction is unknown.")
def scatter_update(
    inputs: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    reduction: str | None = None,
) -> Any:
    """Return the tensor with elements replaced, or combined with updates.

    >>> tf.keras.ops.scatter_update([1.0, 2.0], [[1], [1]], [3.0, 4.0], "add").numpy()
    array([1., 9.], dtype=float32)
    """
    tensor, places = as_tensor(inputs), tf.cast(indices, tf.int64)
    new = tf.cast(updates, tensor.dtype)
    if reduction in _REDUCTIONS:
        return _REDUCTIONS[reduction](tensor, places, new)
    if reduction != "mul":
        raise ValueError(f"reduction={reduction!r}: must be None, add, max, min or mul.")
    depth = int(places.shape[-1])
    outer, inner = [*tensor.shape[:depth]], [*tensor.shape[depth:]]
    weights = np.cumprod([1, *reversed(outer)])[:-1][::-1].copy()
    flat = tf.reshape(tf.reduce_sum(places * weights, -1), [-1])
    rows = tf.reshape(new, [-1, math.prod(inner)])
    factors = tf.math.unsorted_segment_prod(rows, flat, math.prod(outer))
    return tensor * tf.reshape(factors, tensor.shape)


# --- Control flow --------------------------------------------------------------------------------


def _stack(structures: Sequence[Any]) -> Any:
    return map_structure(lambda *leaves: tf.stack(leaves), *structures)


@op("The results, stacked.", _FUNCTION, xs="A tensor, or a structure of tensors.")
def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Apply a function to each element of the first axis.

    >>> tf.keras.ops.map(lambda x: x**2, [1.0, 3.0]).numpy()
    array([1., 9.], dtype=float32)
    """
    _check_callable(f)
    is_structure = isinstance(xs, tuple | dict) or (
        isinstance(xs, list) and any(is_tensor(x) or isinstance(x, np.ndarray) for x in xs)
    )
    structure = map_structure(as_tensor, xs) if is_structure else as_tensor(xs)
    count = int(flatten(structure)[0].shape[0])
    return _stack([f(map_structure(lambda x, k=k: x[k], structure)) for k in range(count)])


@op(
    "A tuple: the last carry, and the stacked results.",
    _FUNCTION,
    f="A function from (carry, element) to (next carry, result).",
    xs="A tensor, or a structure of tensors; None with ``length``.",
)
def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> Any:
    """Apply a function to each element and a carry.

    >>> carry, sums = tf.keras.ops.scan(lambda c, x: (c + x, c + x), 0.0, tf.range(3.0))
    >>> sums.numpy()
    array([0., 1., 3.], dtype=float32)
    """
    _check_callable(f)
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(
            f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}"
        )
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    structure = None if xs is None else map_structure(as_tensor, xs)
    count = length if structure is None else int(flatten(structure)[0].shape[0])
    if length is not None and count != length:
        raise ValueError(f"`length` is {length}, but `xs` have {count} elements.")
    carry, results = map_structure(as_tensor, init), []
    order = builtins.range(count or 0)
    for k in reversed(order) if reverse else order:
        element = None if structure is None else map_structure(lambda x, k=k: x[k], structure)
        carry, result = f(carry, element)
        results.append(result)
    if reverse:
        results.reverse()
    has_results = bool(results) and results[0] is not None
    return carry, _stack(results) if has_results else None


@op(
    "A structure like ``elems``.",
    _FUNCTION,
    f="An associative function of two structures of tensors, which may be batched.",
)
def associative_scan(
    f: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Combine each element with all elements before it, in a logarithmic number of steps.

    >>> tf.keras.ops.associative_scan(lambda a, b: a + b, tf.range(1.0, 5.0)).numpy()
    array([ 1.,  3.,  6., 10.], dtype=float32)
    """
    _check_callable(f)
    structure = map_structure(as_tensor, elems)
    axes = [axis % x.ndim for x in flatten(structure)]
    count = int(flatten(structure)[0].shape[axes[0]])
    for x, a in zip(flatten(structure), axes, strict=True):
        if int(x.shape[a]) != count:
            raise ValueError("Array inputs to associative_scan must have the same first dimension.")

    def flip(x: Tensor) -> Tensor:
        return tf.reverse(x, [axis % x.ndim])

    def cut(x: Tensor, start: int, end: int) -> Tensor:
        return tf.gather(x, np.arange(start, end), axis=axis)

    if reverse:
        structure = map_structure(flip, structure)
    distance = 1
    while distance < count:
        before = map_structure(lambda x, d=distance: cut(x, 0, count - d), structure)
        after = map_structure(lambda x, d=distance: cut(x, d, count), structure)
        combined = f(before, after)
        structure = map_structure(
            lambda x, y, d=distance: tf.concat([cut(x, 0, d), y], axis), structure, combined
        )
        distance *= 2
    return map_structure(flip, structure) if reverse else structure


def _like_loop_vars(
    cond: object, body: object, loop_vars: Any, maximum_iterations: object = None
) -> Any:
    return map_structure(lambda x: KerasTensor(shape(x), dtype(x)), loop_vars)


@op("The last values of the loop variables.", _FUNCTION, result=_like_loop_vars)
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum_iterations: int | None = None,
) -> Any:
    """Repeat a function while a condition holds.

    >>> tf.keras.ops.while_loop(lambda x: x < 10, lambda x: x * 3, [1])[0].numpy()
    np.int32(27)
    """
    _check_callable(cond, body)
    is_structure = isinstance(loop_vars, list | tuple)
    values = list(loop_vars) if is_structure else [loop_vars]

    def step(*args: Any) -> Any:
        result = body(*args)
        return list(result) if isinstance(result, list | tuple) else [result]

    result = tf.while_loop(cond, step, values, maximum_iterations=maximum_iterations)
    return type(loop_vars)(result) if is_structure else result[0]


def _like_init_val(lower: object, upper: object, body_fun: object, init_val: Any) -> Any:
    return map_structure(lambda x: KerasTensor(shape(x), dtype(x)), init_val)


@op("The last value.", _FUNCTION, result=_like_init_val)
def fori_loop(
    lower: IntLike, upper: IntLike, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    """Apply a function for each integer from ``lower`` to ``upper``.

    >>> tf.keras.ops.fori_loop(0, 4, lambda i, total: total + i, 0).numpy()
    np.int32(6)
    """
    _check_callable(body_fun)
    value = map_structure(as_tensor, init_val)
    for k in builtins.range(int(np.asarray(lower)), int(np.asarray(upper))):
        value = body_fun(k, value)
    return value


@op("The result of the branch.", _FUNCTION)
def switch(index: IntLike, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Call one of several functions; the index is limited to those there are.

    >>> tf.keras.ops.switch(1, [lambda x: x, lambda x: -x], tf.constant(2.0)).numpy()
    np.float32(-2.0)
    """
    _check_callable(*branches)
    number = tf.clip_by_value(tf.cast(index, tf.int32), 0, len(branches) - 1)
    calls = [lambda branch=branch: branch(*operands) for branch in branches]
    return tf.switch_case(number, calls)


@op("The result of the function that is called.", _FUNCTION)
def cond(pred: TensorLike, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Call one of two functions.

    >>> tf.keras.ops.cond(True, lambda: tf.constant(1.0), lambda: tf.constant(2.0)).numpy()
    np.float32(1.0)
    """
    _check_callable(true_fn, false_fn)
    return tf.cond(tf.cast(pred, tf.bool), true_fn, false_fn)


@op("The results, stacked.", _FUNCTION)
def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """Apply a function to all elements of the first axis at once.

    >>> tf.keras.ops.vectorized_map(lambda x: x**2, tf.constant([1.0, 3.0])).numpy()
    array([1., 9.], dtype=float32)
    """
    _check_callable(function)
    return tf.vectorized_map(function, elements)


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with a gradient of its own.

    Args:
      f: A function that returns its result and a function from the gradient of the result,
        also accepted as the keyword ``upstream``, to the gradients of the arguments.

    Returns:
      A function.

    Raises:
      TypeError: If ``f`` is not callable.

    Example:
      >>> @tf.keras.ops.custom_gradient
      ... def doubled(x):
      ...     return x * 1.0, lambda *args, upstream=None: 2 * args[0]
      >>> x = tf.Variable(1.0)
      >>> with tf.GradientTape() as tape:
      ...     y = doubled(x)
      >>> float(tape.gradient(y, x))
      2.0
    """
    _check_callable(f)
    result: Callable[..., Any] = tf.custom_gradient(f)
    return result


@op(
    "A tuple: the result, its derivative, and with ``has_aux`` the auxiliary data.",
    "TypeError: If ``fun`` is not callable.",
    primals="A tuple of arguments.",
    tangents="A tuple of directions, like ``primals``.",
    has_aux="Whether the function returns (result, auxiliary data).",
)
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return the result of a function and its derivative in a direction.

    >>> y, dy = tf.keras.ops.jvp(lambda x: x**2, (3.0,), (1.0,))
    >>> dy.numpy()
    np.float32(6.0)
    """
    _check_callable(fun)
    points = [
        tf.cast(x, tf.float32) if as_tensor(x).dtype.is_integer else as_tensor(x) for x in primals
    ]
    directions = [tf.cast(t, x.dtype) for t, x in zip(tangents, points, strict=True)]
    with tf.autodiff.ForwardAccumulator(points, directions) as accumulator:
        result = fun(*points)
    result, *aux = result if has_aux else (result,)
    derivative = map_structure(
        lambda y: accumulator.jvp(y, unconnected_gradients=tf.UnconnectedGradients.ZERO), result
    )
    return (result, derivative, *aux)
