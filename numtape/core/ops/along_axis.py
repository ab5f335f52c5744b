"""Reductions and scans along one axis: `argmax`, `argmin`, cumulative sums and products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, STOP, Native, Op, defop
from ..log.record import record
from ..values import dtypes
from ..values.hints import suggest_keywords
from ..values.memory import Array
from ..values.spec import Spec, intern, to_axis
from ..values.tensor import Tensor
from . import elementwise, joining, rules
from .slicing import strided_slice

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values.annotations import DTypeLike, IntLike, TensorLike


def _arg_spec(op: Op, x: Spec, axis: int, output: str) -> Spec:
    shape = tuple(dim for at, dim in enumerate(x.shape) if at != axis)
    return intern(shape, dtypes.as_dtype(output))


def _make_arg_compute(find: Callable[[Array, int], Array], worst: float) -> Any:
    """Return the function that finds an extreme element. NaN is never extreme, as in TensorFlow."""

    def compute(out: Array, x: Array, axis: int, output: str) -> None:
        if x.dtype.kind == "f":
            x = np.where(np.isnan(x), worst, x)
        np.copyto(out, find(x, axis), casting="unsafe")

    return compute


def _make_arg_native(name: str) -> Any:
    def native(out: Spec, x: Spec, axis: int, output: str) -> Native | None:
        if x.dtype.is_bool:
            return None
        n, inner = _axis_sizes(x, axis)
        kinds = x.dtype.name, output
        return Native(f"along.{name}", kinds, (n, inner), out.size // inner, x.size)

    return native


def _axis_sizes(x: Spec, axis: int) -> tuple[int, int]:
    """Return the size of an axis, and the number of elements per index of it."""
    return x.shape[axis], math.prod(x.shape[axis + 1 :])


ARGMAX = defop(
    "ArgMax",
    ARRAY,
    1,
    _arg_spec,
    gradient=STOP,
    compute=_make_arg_compute(np.argmax, -math.inf),
    native=_make_arg_native("argmax"),
)
ARGMIN = defop(
    "ArgMin",
    ARRAY,
    1,
    _arg_spec,
    gradient=STOP,
    compute=_make_arg_compute(np.argmin, math.inf),
    native=_make_arg_native("argmin"),
)
_OUTPUTS = {
    "ArgMax": (dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.int64),
    "ArgMin": (dtypes.int32, dtypes.int64),
}


def _record_arg(op: Op, x: TensorLike, axis: IntLike | None, output_type: DTypeLike) -> Tensor:
    x = as_tensor(x)
    at = to_axis(op.name, 0 if axis is None else axis, x.ndim)
    if not x.shape[at]:
        raise InvalidArgumentError(
            f"Reduction axis {at} is empty in shape {x.shape.as_list()} [Op:{op.name}]"
        )
    output = dtypes.as_dtype(output_type)
    if output not in (allowed := _OUTPUTS[op.name]):
        raise InvalidArgumentError(
            f"Value for attr 'output_type' of {output.name} is not in the list of allowed values: "
            f"{', '.join(dtype.name for dtype in allowed)} [Op:{op.name}]"
        )
    return record(op, (x,), axis=at, output=output.name)


@suggest_keywords
def argmax(
    input: TensorLike,
    axis: IntLike | None = None,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """The index of the largest element along an axis: the first at a tie.

    NaN is never the largest element, as in TensorFlow. No gradient flows through.

    Args:
      input: A tensor of numbers or bools, of at least one axis.
      axis: One axis; None for the first.
      output_type: int64, int32, int16 or uint16.
      name: Not used.

    Returns:
      A tensor of dtype ``output_type``, of the shape of ``input`` without the axis.

    Raises:
      InvalidArgumentError: If the axis is out of range or empty, or ``output_type`` is not
        supported.

    Example:
      >>> tf.argmax([[1, 9, 3], [7, 2, 7]], axis=1).numpy()
      array([1, 0])
    """
    return _record_arg(ARGMAX, input, axis, output_type)


@suggest_keywords
def argmin(
    input: TensorLike,
    axis: IntLike | None = None,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """The index of the smallest element along an axis: the first at a tie.

    NaN is never the smallest element, as in TensorFlow. No gradient flows through.

    Args:
      input: A tensor of numbers or bools, of at least one axis.
      axis: One axis; None for the first.
      output_type: int64 or int32.
      name: Not used.

    Returns:
      A tensor of dtype ``output_type``, of the shape of ``input`` without the axis.

    Raises:
      InvalidArgumentError: If the axis is out of range or empty, or ``output_type`` is not
        supported.

    Example:
      >>> tf.argmin([[1, 9, 3], [7, 2, 7]], axis=1).numpy()
      array([0, 1])
    """
    return _record_arg(ARGMIN, input, axis, output_type)


_WIDER = {"f": np.float64, "c": np.complex128}


def _accumulate(ufunc: np.ufunc, x: Array, axis: int) -> Array:
    """Accumulate along an axis. Results of float32 are computed in float64 and rounded once."""
    result: Array = ufunc.accumulate(x, axis, _WIDER.get(x.dtype.kind, x.dtype))
    return result


def _make_scan(ufunc: np.ufunc) -> Any:
    def compute(out: Array, x: Array, axis: int, exclusive: bool, reverse: bool) -> None:
        flip = slice(None, None, -1) if reverse else slice(None)
        at = (slice(None),) * axis
        source, target = x[(*at, flip)], out[(*at, flip)]
        if not exclusive:
            target[...] = _accumulate(ufunc, source, axis)
        elif x.size:
            target[(*at, slice(0, 1))] = ufunc.identity
            before = source[(*at, slice(0, -1))]
            target[(*at, slice(1, None))] = _accumulate(ufunc, before, axis)

    return compute


def _cumsum_native(out: Spec, x: Spec, axis: int, exclusive: bool, reverse: bool) -> Native:
    n, inner = _axis_sizes(x, axis)
    parameters = n, inner, int(exclusive), int(reverse)
    return Native("along.cumsum", (x.dtype.name,), parameters, x.size // (n * inner), x.size)


CUMSUM: Op = defop(
    "Cumsum",
    ARRAY,
    1,
    rules.number,
    compute=_make_scan(np.add),
    native=_cumsum_native,
    vjp=lambda g, y, x, axis, exclusive, reverse: (
        record(CUMSUM, (g,), axis=axis, exclusive=exclusive, reverse=not reverse),
    ),
)


@suggest_keywords
def cumsum(
    x: TensorLike,
    axis: IntLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Running sums along an axis.

    Args:
      x: A tensor of numbers, of at least one axis.
      axis: One axis.
      exclusive: Whether each sum excludes its own element, so that the first sum is 0.
      reverse: Whether the sums run from the last element to the first.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are bools.

    Example:
      >>> tf.cumsum([1, 2, 3, 4]).numpy()
      array([ 1,  3,  6, 10], dtype=int32)
      >>> tf.cumsum([1, 2, 3, 4], exclusive=True, reverse=True).numpy()
      array([9, 7, 4, 0], dtype=int32)
    """
    x = as_tensor(x)
    at = to_axis("Cumsum", axis, x.ndim)
    return record(CUMSUM, (x,), axis=at, exclusive=bool(exclusive), reverse=bool(reverse))


def _cumprod_vjp(
    g: Tensor, y: Tensor, x: Tensor, axis: int, exclusive: bool, reverse: bool
) -> tuple[Tensor]:
    """Return the adjoint of ``x``: the product of the elements before it, times a recurrence.

    Nothing is divided by ``x``, which may be 0.
    """
    before = record(CUMPROD, (x,), axis=axis, exclusive=True, reverse=reverse)
    later = _shift_along(g, axis, not reverse) if exclusive else g
    decay = _shift_along(x, axis, not reverse)
    return (before * record(RECURRENCE, (decay, later), axis=axis, reverse=not reverse),)


CUMPROD: Op = defop(
    "Cumprod",
    ARRAY,
    1,
    rules.number,
    compute=_make_scan(np.multiply),
    vjp=_cumprod_vjp,
    on_host=True,
)


@suggest_keywords
def cumprod(
    x: TensorLike,
    axis: IntLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Running products along an axis.

    Derivatives of every order are also correct where elements are 0.

    Args:
      x: A tensor of numbers, of at least one axis.
      axis: One axis.
      exclusive: Whether each product excludes its own element, so that the first product is 1.
      reverse: Whether the products run from the last element to the first.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are bools.

    Example:
      >>> tf.math.cumprod([2, 3, 4]).numpy()
      array([ 2,  6, 24], dtype=int32)
      >>> tf.math.cumprod([2, 3, 4], exclusive=True).numpy()
      array([1, 2, 6], dtype=int32)
    """
    x = as_tensor(x)
    at = to_axis("Cumprod", axis, x.ndim)
    return record(CUMPROD, (x,), axis=at, exclusive=bool(exclusive), reverse=bool(reverse))


def _recurrence(out: Array, decay: Array, x: Array, axis: int, reverse: bool) -> None:
    """Write ``out[i] = x[i] + decay[i] * out[i - 1]``; ``out[i + 1]`` if ``reverse``."""
    out, decay, x = (np.moveaxis(each, axis, 0) for each in (out, decay, x))
    order = range(len(x))
    before = np.zeros(x.shape[1:], _WIDER[x.dtype.kind])
    for i in reversed(order) if reverse else order:
        before = x[i] + decay[i] * before
        out[i] = before


def _recurrence_native(out: Spec, decay: Spec, x: Spec, axis: int, reverse: bool) -> Native:
    n, inner = _axis_sizes(x, axis)
    units = x.size // max(1, n * inner)
    return Native("along.recurrence", (x.dtype.name,), (n, inner, int(reverse)), units, x.size)


def _shift(out: Array, x: Array, axis: int, reverse: bool) -> None:
    out, x = np.moveaxis(out, axis, 0), np.moveaxis(x, axis, 0)
    if reverse:
        out[:-1], out[-1:] = x[1:], 0
    else:
        out[1:], out[:1] = x[:-1], 0


SHIFT: Op = defop(
    "Shift",
    ARRAY,
    1,
    rules.same_dtype,
    compute=_shift,
    on_host=True,
    vjp=lambda g, y, x, axis, reverse: (_shift_along(g, axis, not reverse),),
)


def _shift_along(x: Tensor, axis: int, reverse: bool) -> Tensor:
    """Shift the elements by one place and insert 0 at the start; at the end if ``reverse``."""
    return record(SHIFT, (x,), axis=axis, reverse=reverse)


def _recurrence_vjp(
    g: Tensor, y: Tensor, decay: Tensor, x: Tensor, axis: int, reverse: bool
) -> tuple[Tensor, Tensor]:
    back = record(
        RECURRENCE, (_shift_along(decay, axis, not reverse), g), axis=axis, reverse=not reverse
    )
    return back * _shift_along(y, axis, reverse), back


# A linear recurrence. Its derivative is a linear recurrence in the opposite direction.
RECURRENCE: Op = defop(
    "LinearRecurrence",
    ARRAY,
    2,
    rules.analytic,
    compute=_recurrence,
    vjp=_recurrence_vjp,
    native=_recurrence_native,
    on_host=True,
)


def _running_logsumexp(out: Array, x: Array, axis: int, reverse: bool) -> None:
    flip = (*(slice(None),) * axis, slice(None, None, -1) if reverse else slice(None))
    out[flip] = _accumulate(np.logaddexp, x[flip], axis)


def _running_logsumexp_vjp(
    g: Tensor, y: Tensor, x: Tensor, axis: int, reverse: bool
) -> tuple[Tensor]:
    """Return the adjoint of ``x``, from factors ``exp(y[i] - y[i + 1])`` that do not overflow."""
    if not x.shape[axis]:
        return (g,)
    share = elementwise.exp(y - _shift_along(y, axis, not reverse))
    total = record(RECURRENCE, (share, g), axis=axis, reverse=not reverse)
    return (elementwise.exp(x - y) * total,)


CUMULATIVE_LOGSUMEXP: Op = defop(
    "CumulativeLogsumexp",
    ARRAY,
    1,
    rules.floating,
    compute=_running_logsumexp,
    vjp=_running_logsumexp_vjp,
    on_host=True,
)


def cumulative_logsumexp(
    x: TensorLike,
    axis: IntLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Running ``log(sum(exp(x)))`` along an axis, without overflow.

    Args:
      x: A tensor of floats, of at least one axis.
      axis: One axis.
      exclusive: Whether each sum excludes its own element, so that the first result is minus
        infinity.
      reverse: Whether the sums run from the last element to the first.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are not floats.

    Example:
      >>> tf.math.cumulative_logsumexp([1000.0, 1000.0, 0.0]).numpy()
      array([1000.    , 1000.6931, 1000.6931], dtype=float32)
    """
    x = as_tensor(x)
    at = to_axis("CumulativeLogsumexp", axis, x.ndim)
    n = x.shape[at]
    if not exclusive or not n:
        return record(CUMULATIVE_LOGSUMEXP, (x,), axis=at, reverse=bool(reverse))
    full = [(0, dim, 1) for dim in x.shape]
    full[at] = (1, n, 1) if reverse else (0, n - 1, 1)
    rest = record(
        CUMULATIVE_LOGSUMEXP, (strided_slice(x, tuple(full)),), axis=at, reverse=bool(reverse)
    )
    shape = (*x.shape[:at], 1, *x.shape[at + 1 :])
    nothing = as_tensor(np.full(shape, -np.inf, x.dtype.as_numpy_dtype))
    return joining.concat([rest, nothing] if reverse else [nothing, rest], at)
