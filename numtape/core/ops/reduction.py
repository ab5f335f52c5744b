"""Reductions over axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import DtypeError, InvalidArgumentError
from ..log.op import ARRAY, REDUCTION, STOP, Native, Op, defop
from ..log.record import Recorder, as_tensor, record, spec_of, unary
from ..log.variable import _tensor
from ..values import dtypes
from ..values.dtypes import bool_, mismatch
from ..values.spec import Spec, axes_of, intern, one_axis
from ..values.tensor import Tensor
from . import elementwise, movement, rules

Array = np.ndarray[Any, Any]
Axes = tuple[int, ...]

PANEL = 128  # as in kernels/cpu/reduce.py (a test compares)


def _kept(x: Spec | Tensor, axes: Axes) -> tuple[int, ...]:
    """The shape with the reduced axes kept as 1."""
    return tuple(1 if axis in axes else dim for axis, dim in enumerate(x.shape))


def _reduced(op: Op, x: Spec, axes: Axes, keepdims: bool) -> Spec:
    shape = _kept(x, axes) if keepdims else tuple(
        dim for axis, dim in enumerate(x.shape) if axis not in axes
    )  # fmt: skip
    return intern(shape, x.dtype)


def _numeric(op: Op, x: Spec, axes: Axes, keepdims: bool) -> Spec:
    if x.dtype.is_bool:
        raise InvalidArgumentError(f"{op.name} of a bool tensor: `cast` it first [Op:{op.name}]")
    return _reduced(op, x, axes, keepdims)


def _boolean(op: Op, x: Spec, axes: Axes, keepdims: bool) -> Spec:
    if not x.dtype.is_bool:
        raise mismatch(op.name, 0, bool_, x.dtype)
    return _reduced(op, x, axes, keepdims)


def _spread(g: Tensor, x: Tensor, axes: Axes) -> Tensor:
    """A result's adjoint, broadcast to the operand's shape."""
    if g.ndim:
        g = movement.shaped(g, _kept(x, axes))
    return movement.broadcast_to(g, tuple(x.shape))


def _count(x: Tensor | Spec, axes: Axes) -> int:
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return count


def _mean(out: Array, x: Array, axes: Axes, keepdims: bool) -> None:
    """The mean of integers, rounded towards 0; the sum itself may not fit the dtype."""
    unsigned = x.dtype.kind == "u"
    total = np.sum(x, axes, np.uint64 if unsigned else np.int64, keepdims=keepdims)
    count = total.dtype.type(max(x.size // max(out.size, 1), 1))
    found = total // count if unsigned else np.sign(total) * (np.abs(total) // count)
    np.copyto(out, found, casting="unsafe")


def _native(name: str) -> Any:
    """The jitted kernel for neighbouring axes."""

    def native(out: Spec, x: Spec, axes: Axes, keepdims: bool) -> Native | None:
        first, last = axes[0], axes[-1]
        n, inner = math.prod(x.shape[first : last + 1]), math.prod(x.shape[last + 1 :])
        if len(axes) != last - first + 1 or not n:
            return None
        outer = math.prod(x.shape[:first])
        panels = 1 if inner == 1 else -(-inner // PANEL)
        return Native(name, (x.dtype.name,), (n, inner), outer * panels, x.size)

    return native


def _extreme_vjp(g: Tensor, y: Tensor, x: Tensor, axes: Axes, keepdims: bool) -> tuple[Tensor]:
    """The adjoint goes to the extreme element; several of them share it evenly."""
    here = elementwise.cast(x == movement.shaped(y, _kept(x, axes)), x.dtype)
    number = reduce_sum(here, axes, True)
    return (here / number * movement.shaped(g, _kept(x, axes)),)


def _ufunc(ufunc: Any, start: str | None = None) -> Any:
    def compute(out: Array, x: Array, axes: Axes, keepdims: bool) -> None:
        if start is not None and not x.size:
            limits = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
            infinite = {"min": -np.inf, "max": np.inf}[start]
            out[...] = infinite if x.dtype.kind == "f" else getattr(limits, start)
        else:
            ufunc.reduce(x, axes, out=out, keepdims=keepdims)

    return compute


SUM = defop(
    "Sum", REDUCTION, 1, _numeric, body="sum", compute=_ufunc(np.add), native=_native("sum"),
    vjp=lambda g, y, x, axes, keepdims: (_spread(g, x, axes),),
)  # fmt: skip
# The mean of floats is a sum and a quotient.
MEAN = defop("Mean", ARRAY, 1, _numeric, compute=_mean, gradient=STOP)
MAX = defop(
    "Max", REDUCTION, 1, _numeric, body="max", compute=_ufunc(np.maximum, "min"),
    native=_native("max"), vjp=_extreme_vjp,
)  # fmt: skip
MIN = defop(
    "Min", REDUCTION, 1, _numeric, body="min", compute=_ufunc(np.minimum, "max"),
    native=_native("min"), vjp=_extreme_vjp,
)  # fmt: skip
ALL = defop("All", ARRAY, 1, _boolean, compute=_ufunc(np.logical_and), gradient=STOP)
ANY = defop("Any", ARRAY, 1, _boolean, compute=_ufunc(np.logical_or), gradient=STOP)


_recorders: dict[Any, Recorder] = {}


def _reduce(op: Op, x: Any, axis: Any, keepdims: bool) -> Tensor:
    if type(x) is not Tensor:
        x = as_tensor(x)
    if type(keepdims) is not bool:
        keepdims = bool(keepdims)
    fixed = axis is None or type(axis) is int
    key = (op.index, axis, keepdims, x._spec.rank) if fixed else None
    recorder = _recorders.get(key)
    if recorder is None:
        axes = tuple(sorted(axes_of(op.name, axis, x.ndim)))
        if not axes:
            op.spec(op, x._spec, axes=axes, keepdims=keepdims)  # refuses dtypes
            return movement.identity(x)
        recorder = unary(op, axes=axes, keepdims=keepdims)
        if fixed:
            _recorders[key] = recorder
    return recorder(x)


def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The sum over the axes (default: all)."""
    return _reduce(SUM, input_tensor, axis, keepdims)


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean over the axes (default: all). Of integers it is an integer."""
    x = as_tensor(input_tensor)
    if not x._spec.is_float:
        return _reduce(MEAN, x, axis, keepdims)
    total = _reduce(SUM, x, axis, keepdims)
    count = x._spec.size // max(total._spec.size, 1)  # 0 for the mean of nothing, which is NaN
    return elementwise.real_divide(total, float(count))


def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The largest element over the axes. At a tie the gradient is shared evenly."""
    return _reduce(MAX, input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The smallest element over the axes. At a tie the gradient is shared evenly."""
    return _reduce(MIN, input_tensor, axis, keepdims)


def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Whether all elements over the axes are true."""
    return _reduce(ALL, _truths(input_tensor), axis, keepdims)


def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Whether any element over the axes is true."""
    return _reduce(ANY, _truths(input_tensor), axis, keepdims)


def _truths(value: Any) -> Any:
    """An operand of bools; NumPy's numbers become such."""
    return value if spec_of(value) is not None else _tensor(value, bool_)


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The product over the axes (default: all).

    Multiplied pairwise in log2(n) rounds, so that derivatives of every order are right where
    elements are 0 as well.
    """
    x = as_tensor(input_tensor)
    axes = tuple(sorted(axes_of("Prod", axis, x.ndim)))
    shape = tuple(dim for at, dim in enumerate(x.shape) if at not in axes)
    kept = _kept(x, axes)
    last = tuple(at for at in range(x.ndim) if at not in axes) + axes
    x = movement.reshape(movement.permuted(x, last), (*shape, _count(x, axes)))
    if not x.shape[-1]:
        ones = elementwise.add(reduce_sum(x, -1), 1)
        return movement.shaped(ones, kept if keepdims else shape)
    while (n := x.shape[-1]) > 1:
        whole = tuple((0, dim, 1) for dim in shape)
        first = movement.strided_slice(x, (*whole, (0, n - n % 2, 2)))
        second = movement.strided_slice(x, (*whole, (1, n - n % 2, 2)))
        product = first * second
        if n % 2:
            rest = movement.strided_slice(x, (*whole, (n - 1, n, 1)))
            product = movement.concat([product, rest], -1)
        x = product
    return movement.shaped(x, kept if keepdims else shape)


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean squared distance from the mean over the axes."""
    x = as_tensor(input_tensor)
    if not x._spec.is_float:
        raise DtypeError(f"Input must be of floats, got {x.dtype.name}. Use `cast`.")
    distance = x - reduce_mean(x, axis, True)
    return reduce_mean(elementwise.square(distance), axis, keepdims)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The standard deviation over the axes."""
    return elementwise.sqrt(reduce_variance(input_tensor, axis, keepdims))


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """``log(sum(exp(x)))`` over the axes, without overflow."""
    x = as_tensor(input_tensor)
    largest = elementwise.stop_gradient(reduce_max(x, axis, True))
    largest = elementwise.select(elementwise.is_finite(largest), largest, 0.0)
    total = elementwise.log(reduce_sum(elementwise.exp(x - largest), axis, keepdims))
    return total + movement.shaped(largest, tuple(total.shape))


def _arg_spec(op: Op, x: Spec, axis: int, output: str) -> Spec:
    shape = tuple(dim for at, dim in enumerate(x.shape) if at != axis)
    return intern(shape, dtypes.as_dtype(output))


def _first(find: Any, worst: float) -> Any:
    """The index of an extreme element. As in TensorFlow, NaN is none."""

    def compute(out: Array, x: Array, axis: int, output: str) -> None:
        if x.dtype.kind == "f":
            x = np.where(np.isnan(x), worst, x)
        np.copyto(out, find(x, axis), casting="unsafe")

    return compute


ARGMAX = defop(
    "ArgMax", ARRAY, 1, _arg_spec, gradient=STOP, compute=_first(np.argmax, -math.inf)
)
ARGMIN = defop(
    "ArgMin", ARRAY, 1, _arg_spec, gradient=STOP, compute=_first(np.argmin, math.inf)
)


_OUTPUTS = {
    "ArgMax": (dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.int64),
    "ArgMin": (dtypes.int32, dtypes.int64),
}


def _arg(op: Op, x: Any, axis: Any, output_type: Any) -> Tensor:
    x = as_tensor(x)
    at = one_axis(op.name, 0 if axis is None else axis, x.ndim)
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


def argmax(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """The index of the largest element along an axis (default 0), the first at a tie."""
    return _arg(ARGMAX, input, axis, output_type)


def argmin(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """The index of the smallest element along an axis (default 0), the first at a tie."""
    return _arg(ARGMIN, input, axis, output_type)


# Running sums and products.


def _scan(ufunc: Any) -> Any:
    def compute(out: Array, x: Array, axis: int, exclusive: bool, reverse: bool) -> None:
        flip = slice(None, None, -1) if reverse else slice(None)
        at = (slice(None),) * axis
        source, target = x[(*at, flip)], out[(*at, flip)]
        if not exclusive:
            ufunc.accumulate(source, axis, out=target)
        elif x.size:
            target[(*at, slice(0, 1))] = ufunc.identity
            ufunc.accumulate(
                source[(*at, slice(0, -1))], axis, out=target[(*at, slice(1, None))]
            )

    return compute


CUMSUM: Op = defop(
    "Cumsum", ARRAY, 1, rules.number, compute=_scan(np.add),
    vjp=lambda g, y, x, axis, exclusive, reverse: (
        record(CUMSUM, (g,), axis=axis, exclusive=exclusive, reverse=not reverse),
    ),
)  # fmt: skip


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running sums along an axis; ``exclusive`` leaves out the element itself."""
    x = as_tensor(x)
    at = one_axis("Cumsum", axis, x.ndim)
    return record(CUMSUM, (x,), axis=at, exclusive=exclusive, reverse=reverse)
