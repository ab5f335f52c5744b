"""Reductions over axes: sums, products, extremes, means, variances and moments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DtypeError, InvalidArgumentError
from ...kernels.constants import PANEL, VECTOR
from ..log.as_tensor import as_tensor, to_tensor
from ..log.op import ARRAY, REDUCTION, STOP, Native, Op, defop
from ..log.record import Recorder, spec_of, unary
from ..values.dtypes import bfloat16, bool_, float16, float32, mismatch_error
from ..values.hints import suggest_keywords
from ..values.spec import Spec, axes_of, intern
from ..values.tensor import Tensor
from . import comparison, elementwise, joining, movement
from .complex import conj, real
from .rules import complex_vjp
from .slicing import strided_slice

if TYPE_CHECKING:
    from ..values.annotations import AxisLike, TensorLike

Array = np.ndarray[Any, Any]
Axes = tuple[int, ...]


def _keep_axes(x: Spec | Tensor, axes: Axes) -> tuple[int, ...]:
    """Return the shape with reduced axes of size 1."""
    return tuple(1 if axis in axes else dim for axis, dim in enumerate(x.shape))


def _reduce_values(op: Op, x: Spec, axes: Axes, keepdims: bool) -> Spec:
    shape = (
        _keep_axes(x, axes)
        if keepdims
        else tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes)
    )
    return intern(shape, x.dtype)


@complex_vjp("analytic")
def _numeric(op: Op, x: Spec, axes: Axes, keepdims: bool) -> Spec:
    if x.dtype.is_bool:
        raise InvalidArgumentError(f"{op.name} of a bool tensor: `cast` it first [Op:{op.name}]")
    return _reduce_values(op, x, axes, keepdims)


def _real(op: Op, x: Spec, axes: Axes, keepdims: bool) -> Spec:
    return _numeric(op, x, axes, keepdims)


def _boolean(op: Op, x: Spec, axes: Axes, keepdims: bool) -> Spec:
    if not x.dtype.is_bool:
        raise mismatch_error(op.name, 0, bool_, x.dtype)
    return _reduce_values(op, x, axes, keepdims)


def _spread_adjoint(g: Tensor, x: Tensor, axes: Axes) -> Tensor:
    """Broadcast the adjoint of the result to the shape of the operand."""
    if g.ndim:
        g = movement.reshape_if_needed(g, _keep_axes(x, axes))
    return movement.broadcast_to(g, tuple(x.shape))


def _count_elements(x: Tensor | Spec, axes: Axes) -> int:
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return count


def _mean(out: Array, x: Array, axes: Axes, keepdims: bool) -> None:
    """Compute the mean of integers, rounded towards 0; their sum may not fit the dtype."""
    unsigned = x.dtype.kind == "u"
    total = np.sum(x, axes, np.uint64 if unsigned else np.int64, keepdims=keepdims)
    count = total.dtype.type(max(x.size // max(out.size, 1), 1))
    value = total // count if unsigned else np.sign(total) * (np.abs(total) // count)
    np.copyto(out, value, casting="unsafe")


def _make_native(name: str) -> Any:
    """Return the function that describes the jitted kernel for adjacent axes."""

    def native(out: Spec, x: Spec, axes: Axes, keepdims: bool) -> Native | None:
        first, last = axes[0], axes[-1]
        n, inner = math.prod(x.shape[first : last + 1]), math.prod(x.shape[last + 1 :])
        if len(axes) != last - first + 1 or not n:
            return None
        outer = math.prod(x.shape[:first])
        panels = 1 if inner == 1 else -(-inner // PANEL)
        kind = "uint8" if x.dtype.is_bool else x.dtype.name  # bools are stored as 0 or 1
        part = "columns" if inner != 1 else "rows" if n > VECTOR else "short_rows"
        return Native(f"{name}_{part}", (kind,), (n, inner), outer * panels, x.size)

    return native


def _extreme_vjp(g: Tensor, y: Tensor, x: Tensor, axes: Axes, keepdims: bool) -> tuple[Tensor]:
    """Return the adjoint of ``x``, which the extreme elements share evenly."""
    is_extreme = x == movement.reshape_if_needed(y, _keep_axes(x, axes))
    number = reduce_sum(elementwise.cast(is_extreme, x.dtype), axes, True)
    share = movement.reshape_if_needed(g, _keep_axes(x, axes)) / number
    return (elementwise.select(is_extreme, share, share * 0),)


def _make_compute(ufunc: np.ufunc, start: str | None = None) -> Any:
    def compute(out: Array, x: Array, axes: Axes, keepdims: bool) -> None:
        if start is not None and not x.size:
            limits = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
            infinite = {"min": -np.inf, "max": np.inf}[start]
            out[...] = infinite if x.dtype.kind == "f" else getattr(limits, start)
        else:
            ufunc.reduce(x, axes, out=out, keepdims=keepdims)

    return compute


SUM = defop(
    "Sum",
    REDUCTION,
    1,
    _numeric,
    body="sum",
    compute=_make_compute(np.add),
    native=_make_native("sum"),
    vjp=lambda g, y, x, axes, keepdims: (_spread_adjoint(g, x, axes),),
)
# The mean of floats is a sum and a quotient.
MEAN = defop("Mean", ARRAY, 1, _numeric, compute=_mean, gradient=STOP)
MAX = defop(
    "Max",
    REDUCTION,
    1,
    _real,
    body="max",
    compute=_make_compute(np.maximum, "min"),
    native=_make_native("max"),
    vjp=_extreme_vjp,
)
MIN = defop(
    "Min",
    REDUCTION,
    1,
    _real,
    body="min",
    compute=_make_compute(np.minimum, "max"),
    native=_make_native("min"),
    vjp=_extreme_vjp,
)
ALL = defop(
    "All",
    ARRAY,
    1,
    _boolean,
    compute=_make_compute(np.logical_and),
    native=_make_native("min"),
    gradient=STOP,
)
ANY = defop(
    "Any",
    ARRAY,
    1,
    _boolean,
    compute=_make_compute(np.logical_or),
    native=_make_native("max"),
    gradient=STOP,
)


_recorders: dict[Any, Recorder] = {}


def _reduce(op: Op, x: TensorLike, axis: AxisLike, keepdims: bool) -> Tensor:
    if type(x) is not Tensor:
        x = as_tensor(x)
    if type(keepdims) is not bool:
        keepdims = bool(keepdims)
    is_static = axis is None or type(axis) is int
    key = (op.index, axis, keepdims, x._spec.rank) if is_static else None
    recorder = _recorders.get(key)
    if recorder is None:
        axes = tuple(sorted(axes_of(op.name, axis, x.ndim)))
        if not axes:
            op.spec(op, x._spec, axes=axes, keepdims=keepdims)  # rejects unsupported dtypes
            return movement.identity(x)
        axes_key = op.index, axes, keepdims
        recorder = _recorders.get(axes_key)
        if recorder is None:
            recorder = _recorders.setdefault(axes_key, unary(op, axes=axes, keepdims=keepdims))
        if is_static:
            _recorders[key] = recorder
    return recorder(x)


@suggest_keywords
def reduce_sum(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The sum of elements over axes.

    Floats are added in a fixed order, so the bits are the same in each run and for each number of
    threads. Integers wrap around.

    Args:
      input_tensor: A tensor of numbers.
      axis: The axes to reduce: an int, a list of them, or None for all; negative ones count from
        the end.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range (as AxisError, which is also a ValueError) or
        named twice, or the elements are bools.

    Example:
      >>> x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
      >>> tf.reduce_sum(x).numpy()
      np.float32(21.0)
      >>> tf.reduce_sum(x, axis=1, keepdims=True).numpy()
      array([[ 6.],
             [15.]], dtype=float32)
    """
    return _reduce(SUM, input_tensor, axis, keepdims)


@suggest_keywords
def reduce_mean(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The mean of elements over axes.

    The mean of integers is an integer, rounded towards 0, as in TensorFlow: `cast` them to floats
    to avoid rounding. The mean of an empty tensor is NaN.

    Args:
      input_tensor: A tensor of numbers.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice, or the elements are bools.

    Example:
      >>> tf.reduce_mean([[1.0, 2.0], [3.0, 6.0]], axis=0).numpy()
      array([2., 4.], dtype=float32)
      >>> tf.reduce_mean([1, 2]).numpy()
      np.int32(1)
    """
    x = as_tensor(input_tensor)
    if not x._spec.inexact:
        return _reduce(MEAN, x, axis, keepdims)
    total = _reduce(SUM, x, axis, keepdims)
    count = x._spec.size // max(total._spec.size, 1)  # 0 for an empty tensor, whose mean is NaN
    return elementwise.real_divide(total, float(count))


@suggest_keywords
def reduce_max(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The largest element over axes; NaN if one is NaN.

    At a tie the gradient is shared evenly. The maximum of an empty tensor is minus infinity, or the
    smallest integer.

    Args:
      input_tensor: A tensor of numbers.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice, or the elements are bools.

    Example:
      >>> tf.reduce_max([[1, 5, 3], [4, 2, 6]], axis=1).numpy()
      array([5, 6], dtype=int32)
    """
    return _reduce(MAX, input_tensor, axis, keepdims)


@suggest_keywords
def reduce_min(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The smallest element over axes; NaN if one is NaN.

    At a tie the gradient is shared evenly. The minimum of an empty tensor is infinity, or the
    largest integer.

    Args:
      input_tensor: A tensor of numbers.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice, or the elements are bools.

    Example:
      >>> tf.reduce_min([[1, 5, 3], [4, 2, 6]], axis=1).numpy()
      array([1, 2], dtype=int32)
    """
    return _reduce(MIN, input_tensor, axis, keepdims)


@suggest_keywords
def reduce_all(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Whether all elements over axes are true; True for an empty tensor. No gradient flows through.

    Args:
      input_tensor: A tensor of bools.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of bools.

    Raises:
      InvalidArgumentError: If an axis is out of range or repeated, or the elements are not bools.

    Example:
      >>> tf.reduce_all([[True, False], [True, True]], axis=1).numpy()
      array([False,  True])
    """
    return _reduce(ALL, _to_bools(input_tensor), axis, keepdims)


@suggest_keywords
def reduce_any(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Whether any element over axes is true; False for an empty tensor. No gradient flows through.

    Args:
      input_tensor: A tensor of bools.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of bools.

    Raises:
      InvalidArgumentError: If an axis is out of range or repeated, or the elements are not bools.

    Example:
      >>> tf.reduce_any([[True, False], [False, False]], axis=1).numpy()
      array([ True, False])
    """
    return _reduce(ANY, _to_bools(input_tensor), axis, keepdims)


def _to_bools(value: TensorLike) -> Any:
    """Convert to a tensor of bools, including NumPy's numbers."""
    return value if spec_of(value) is not None else to_tensor(value, bool_)


@suggest_keywords
def reduce_prod(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of elements over axes; 1 for an empty tensor.

    Elements are multiplied pairwise in log2(n) rounds, so that derivatives of every order are also
    correct where elements are 0.

    Args:
      input_tensor: A tensor of numbers.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice, or the elements are bools.

    Example:
      >>> x = tf.constant([2.0, 0.0, 5.0])
      >>> with tf.GradientTape() as tape:
      ...     tape.watch(x)
      ...     y = tf.reduce_prod(x)
      >>> tape.gradient(y, x).numpy()
      array([ 0., 10.,  0.], dtype=float32)
    """
    x = as_tensor(input_tensor)
    if x.dtype in (float16, bfloat16):  # computed in float32 and rounded once
        result = reduce_prod(elementwise.cast(x, float32), axis, keepdims)
        return elementwise.cast(result, x.dtype)
    axes = tuple(sorted(axes_of("Prod", axis, x.ndim)))
    shape = tuple(dim for at, dim in enumerate(x.shape) if at not in axes)
    retained = _keep_axes(x, axes)
    last = tuple(at for at in range(x.ndim) if at not in axes) + axes
    x = movement.reshape(movement.transpose_if_needed(x, last), (*shape, _count_elements(x, axes)))
    if not x.shape[-1]:
        ones = elementwise.add(reduce_sum(x, -1), 1)
        return movement.reshape_if_needed(ones, retained if keepdims else shape)
    while (n := x.shape[-1]) > 1:
        full = tuple((0, dim, 1) for dim in shape)
        first = strided_slice(x, (*full, (0, n - n % 2, 2)))
        second = strided_slice(x, (*full, (1, n - n % 2, 2)))
        product = first * second
        if n % 2:
            rest = strided_slice(x, (*full, (n - 1, n, 1)))
            product = joining.concat([product, rest], -1)
        x = product
    return movement.reshape_if_needed(x, retained if keepdims else shape)


@suggest_keywords
def reduce_variance(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The variance over axes: the mean squared distance from the mean, divided by n, not by n - 1.

    The mean is subtracted first, in a separate pass, so that a large mean does not cancel digits.

    Args:
      input_tensor: A tensor of floats or complex numbers.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype; for complex numbers, the dtype of their parts.

    Raises:
      DtypeError: If the elements are neither floats nor complex numbers.
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> tf.math.reduce_variance([1.0, 2.0, 3.0, 4.0]).numpy()
      np.float32(1.25)
    """
    x = as_tensor(input_tensor)
    if not x._spec.inexact:
        raise DtypeError(
            f"Input must be of floats or complex numbers, got {x.dtype.name}. Use `cast`."
        )
    distance = x - reduce_mean(x, axis, True)
    if x.dtype.is_complex:
        return reduce_mean(real(distance * conj(distance)), axis, keepdims)
    return reduce_mean(elementwise.square(distance), axis, keepdims)


@suggest_keywords
def reduce_std(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The standard deviation over axes: the square root of `reduce_variance`.

    Where all elements are equal it is not differentiable: the gradient there is 0, a subgradient.

    Args:
      input_tensor: A tensor of floats or complex numbers.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype; for complex numbers, the dtype of their parts.

    Raises:
      DtypeError: If the elements are neither floats nor complex numbers.
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> tf.math.reduce_std([[1.0, 5.0], [2.0, 2.0]], axis=1).numpy()
      array([2., 0.], dtype=float32)
    """
    return elementwise.root_of_squares(reduce_variance(input_tensor, axis, keepdims))


@suggest_keywords
def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """``log(sum(exp(x)))`` over axes, without overflow: the largest element is subtracted first.

    See Blanchard, Higham and Higham, "Accurately computing the log-sum-exp and softmax functions"
    (2021). Its derivative is `softmax`.

    Args:
      input_tensor: A tensor of floats.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice, or the elements are not
        floats.

    Example:
      >>> tf.reduce_logsumexp([1000.0, 1000.0]).numpy()
      np.float32(1000.6932)
    """
    x = as_tensor(input_tensor)
    largest = elementwise.stop_gradient(reduce_max(x, axis, True))
    largest = elementwise.select(comparison.is_finite(largest), largest, 0.0)
    total = elementwise.log(reduce_sum(elementwise.exp(x - largest), axis, keepdims))
    return total + movement.reshape_if_needed(largest, tuple(total.shape))


@suggest_keywords
def moments(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance over axes: the mean squared distance from the mean.

    The second derivative is correct, unlike in TensorFlow.

    Args:
      x: A tensor of floats.
      axes: The axes to reduce: an int or a list of them.
      shift: Accepted for compatibility with TensorFlow.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      Two tensors of the same dtype: the mean and the variance.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> mean, variance = tf.nn.moments(tf.constant([[1.0, 3.0], [2.0, 8.0]]), axes=1)
      >>> mean.numpy(), variance.numpy()
      (array([2., 5.], dtype=float32), array([1., 9.], dtype=float32))
    """
    x = as_tensor(x)
    mean = reduce_mean(x, axes, True)
    variance = reduce_mean(elementwise.squared_difference(x, mean), axes, keepdims)
    return (mean if keepdims else movement.squeeze(mean, axes)), variance


def _parse_axes(x: Tensor, axes: AxisLike, op: str) -> tuple[int, ...]:
    return tuple(sorted(axes_of(op, axes, x.ndim)))


def sufficient_statistics(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """Compute sums over axes, from which `normalize_moments` computes mean and variance.

    Args:
      x: A tensor of numbers.
      axes: The axes to reduce.
      shift: A number near the mean that is subtracted first; None for 0.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      The number of elements, their sum, the sum of their squares, and the shift or None.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> count, total, squares, shift = tf.nn.sufficient_statistics([1.0, 2.0, 3.0], [0])
      >>> count.numpy(), total.numpy(), squares.numpy(), shift
      (np.float32(3.0), np.float32(6.0), np.float32(14.0), None)
    """
    result = as_tensor(x)
    number = 1
    for axis in _parse_axes(result, axes, "SufficientStatistics"):
        number *= result.shape[axis]
    count = as_tensor(result.dtype.as_numpy_dtype(number))
    if shift is None:
        return count, reduce_sum(result, axes, keepdims), _sum_squares(result, axes, keepdims), None
    shift = as_tensor(shift, result._spec)
    distance = result - shift
    squares = reduce_sum(elementwise.squared_difference(result, shift), axes, keepdims)
    return count, reduce_sum(distance, axes, keepdims), squares, shift


def _sum_squares(x: Tensor, axes: AxisLike, keepdims: bool) -> Tensor:
    return reduce_sum(elementwise.square(x), axes, keepdims)


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute mean and variance from the results of `sufficient_statistics`.

    Args:
      counts: The number of elements, as a float.
      mean_ss: The sum of the elements.
      variance_ss: The sum of their squares.
      shift: The number that was subtracted first, or None.
      name: Not used.

    Returns:
      The mean and the variance.

    Raises:
      InvalidArgumentError: If the sums are not floats, dtypes differ, or shapes do not broadcast.

    Example:
      >>> mean, variance = tf.nn.normalize_moments(3.0, 6.0, 15.0, None)
      >>> mean.numpy(), variance.numpy()
      (np.float32(2.0), np.float32(1.0))
    """
    like = next((spec for x in (counts, mean_ss, variance_ss) if (spec := spec_of(x))), None)
    number, total, squares = (as_tensor(x, like) for x in (counts, mean_ss, variance_ss))
    share = elementwise.reciprocal(number)
    mean = total * share
    variance = squares * share - elementwise.square(mean)
    return mean if shift is None else mean + shift, variance


def weighted_moments(
    x: TensorLike,
    axes: AxisLike,
    frequency_weights: TensorLike,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the weighted mean and variance over axes.

    Both are 0 where the weights add up to 0.

    Args:
      x: A tensor of floats.
      axes: The axes to reduce.
      frequency_weights: The weight of each element; it broadcasts with ``x``.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      The mean and the variance.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice, the shapes do not broadcast,
        or the elements are not floats.

    Example:
      >>> mean, variance = tf.nn.weighted_moments([1.0, 3.0], [0], [1.0, 3.0])
      >>> mean.numpy(), variance.numpy()
      (np.float32(2.5), np.float32(0.75))
    """
    value = as_tensor(x)
    weights = elementwise.cast(frequency_weights, value.dtype)
    total = reduce_sum(weights + elementwise.zeros_of(value), axes, True)
    mean = elementwise.real_divide_no_nan(reduce_sum(weights * value, axes, True), total)
    distance = weights * elementwise.squared_difference(value, mean)
    variance = elementwise.real_divide_no_nan(reduce_sum(distance, axes, True), total)
    if keepdims:
        return mean, variance
    removed = _parse_axes(mean, axes, "WeightedMoments")
    shape = tuple(dim for at, dim in enumerate(mean.shape) if at not in removed)
    return movement.reshape(mean, shape), movement.reshape(variance, shape)
