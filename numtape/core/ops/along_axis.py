"""Along one axis: where the extreme element is, and running sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.op import ARRAY, STOP, Op, defop
from ..log.record import record
from ..log.tensors import as_tensor
from ..values import dtypes
from ..values.memory import Array
from ..values.spec import Spec, intern, one_axis
from ..values.tensor import Tensor
from . import rules


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
    """The index of the largest element along an axis: the first at a tie.

    NaN is no largest element, as in TensorFlow. No gradient flows through.

    Args:
      input: A tensor of numbers or bools, of at least one axis.
      axis: One axis; None is the first.
      output_type: int64, int32, int16 or uint16.
      name: Not used.

    Returns:
      A tensor of dtype ``output_type``, of the shape of ``input`` without the axis.

    Raises:
      InvalidArgumentError: If the axis is out of range or empty, or ``output_type`` is another one.

    Example:
      >>> tf.argmax([[1, 9, 3], [7, 2, 7]], axis=1).numpy()
      array([1, 0])
    """
    return _arg(ARGMAX, input, axis, output_type)


def argmin(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """The index of the smallest element along an axis: the first at a tie.

    NaN is no smallest element, as in TensorFlow. No gradient flows through.

    Args:
      input: A tensor of numbers or bools, of at least one axis.
      axis: One axis; None is the first.
      output_type: int64 or int32.
      name: Not used.

    Returns:
      A tensor of dtype ``output_type``, of the shape of ``input`` without the axis.

    Raises:
      InvalidArgumentError: If the axis is out of range or empty, or ``output_type`` is another one.

    Example:
      >>> tf.argmin([[1, 9, 3], [7, 2, 7]], axis=1).numpy()
      array([0, 1])
    """
    return _arg(ARGMIN, input, axis, output_type)


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
    """Running sums along an axis.

    Args:
      x: A tensor of numbers, of at least one axis.
      axis: One axis.
      exclusive: Whether an element is left out of its own sum, so that the first one is 0.
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
    at = one_axis("Cumsum", axis, x.ndim)
    return record(CUMSUM, (x,), axis=at, exclusive=bool(exclusive), reverse=bool(reverse))
