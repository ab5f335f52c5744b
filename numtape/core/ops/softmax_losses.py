"""Softmax, its logarithm, and the cross-entropies made of them."""

from __future__ import annotations

from typing import Any, Never

import numpy as np

from ..log.op import ARRAY, Native, Op, defop
from ..log.record import Recorder, binary, require, unary
from ..log.tensors import as_tensor
from ..values.spec import Spec, to_axis
from ..values.spelling import hide_wrong_keywords, raise_unexpected_keyword, suggest_keywords
from ..values.tensor import Tensor
from . import activations, elementwise, movement, rules
from .elementwise import negative
from .indexing import pick
from .reduction import reduce_sum

Array = np.ndarray[Any, Any]


def _rows(op: Op, x: Spec) -> Spec:
    return rules.floating(op, x)


def _shift(x: Array) -> Array:
    return x - x.max(-1, keepdims=True) if x.shape[-1] else x


def _softmax(out: Array, x: Array) -> None:
    np.exp(_shift(x), out=out)
    out /= out.sum(-1, keepdims=True)


def _log_softmax(out: Array, x: Array) -> None:
    shifted = _shift(x)
    np.subtract(shifted, np.log(np.exp(shifted).sum(-1, keepdims=True)), out=out)


def _softmax_grad(out: Array, y: Array, g: Array) -> None:
    if y.shape[-1]:  # see kernels/cpu/arrays.py
        place = y.argmax(-1)[..., None]
        near = np.take_along_axis(y, place, -1) > 0.5
        g = g - np.where(near, np.take_along_axis(g, place, -1), 0).astype(g.dtype)
    np.multiply(y, g - (g * y).sum(-1, keepdims=True), out=out)


def _log_softmax_grad(out: Array, y: Array, g: Array) -> None:
    power = np.exp(y)
    np.subtract(g, power * g.sum(-1, keepdims=True), out=out)
    if y.shape[-1]:  # see kernels/cpu/arrays.py
        place = y.argmax(-1)[..., None]
        here = np.arange(y.shape[-1]) == place
        others = np.where(here, 0, g).sum(-1, keepdims=True, dtype=g.dtype)
        rest = np.where(here, 0, power).sum(-1, keepdims=True, dtype=g.dtype)
        near = here & (np.take_along_axis(power, place, -1) > 0.5)
        np.copyto(out, g * rest - power * others, where=near)


def _native(name: str) -> Any:
    """The jitted kernel over the last axis."""

    def native(out: Spec, *_: Spec) -> Native:
        n = out.shape[-1]
        return Native(name, (out.dtype.name,), (n,), out.size // n, 16 * out.size)

    return native


# The Jacobian of softmax is symmetric, so its product with h is the same op; in y it is h * g less
# what g and h both take from the sum.
SOFTMAX_GRAD: Recorder = binary(
    defop(
        "SoftmaxGrad",
        ARRAY,
        2,
        lambda op, y, g: y,
        compute=_softmax_grad,
        native=_native("softmax_grad"),
        vjp=lambda h, o, y, g: (
            h * (g - reduce_sum(g * y, -1, True)) - g * reduce_sum(h * y, -1, True),
            SOFTMAX_GRAD(y, h),
        ),
    )
)
LOG_SOFTMAX_GRAD = binary(
    defop(
        "LogSoftmaxGrad",
        ARRAY,
        2,
        lambda op, y, g: y,
        compute=_log_softmax_grad,
        native=_native("log_softmax_grad"),
        vjp=lambda h, o, y, g: (
            negative(h * elementwise.exp(y)) * reduce_sum(g, -1, True),
            h - reduce_sum(h * elementwise.exp(y), -1, True),
        ),
    )
)
_softmax_of = unary(
    defop(
        "Softmax",
        ARRAY,
        1,
        _rows,
        compute=_softmax,
        native=_native("softmax"),
        vjp=lambda g, y, x: (SOFTMAX_GRAD(y, g),),
    )
)
_log_softmax_of = unary(
    defop(
        "LogSoftmax",
        ARRAY,
        1,
        _rows,
        compute=_log_softmax,
        native=_native("log_softmax"),
        vjp=lambda g, y, x: (LOG_SOFTMAX_GRAD(y, g),),
    )
)


def _along(recorder: Recorder, logits: Any, axis: Any) -> Tensor:
    x = as_tensor(logits)
    rank = x._spec.rank
    if not rank:
        require(False, recorder.op, "logits must have at least one axis")
    at = to_axis(recorder.op.name, -1 if axis is None else axis, rank)
    last = rank - 1
    if at == last:
        return recorder(x)
    swap = list(range(rank))
    swap[at], swap[last] = last, at
    return movement.transpose(recorder(movement.transpose(x, swap)), swap)


@hide_wrong_keywords
def softmax(logits: Any, axis: Any = None, name: str | None = None, **wrong: Never) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis.

    The largest element is taken off before, so that nothing overflows: see Blanchard, Higham and
    Higham, "Accurately computing the log-sum-exp and softmax functions" (2021).

    Args:
      logits: A tensor of floats, of at least one axis.
      axis: The axis whose elements add up to 1; None is the last.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``logits``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are no floats.

    Example:
      >>> tf.nn.softmax([[0.0, 0.0], [1000.0, 0.0]]).numpy()
      array([[0.5, 0.5],
             [1. , 0. ]], dtype=float32)
    """
    if wrong:
        raise_unexpected_keyword(softmax, wrong)
    return _along(_softmax_of, logits, axis)


@hide_wrong_keywords
def log_softmax(logits: Any, axis: Any = None, name: str | None = None, **wrong: Never) -> Tensor:
    """``x - log(sum(exp(x)))`` along an axis: the logarithm of `softmax`, without overflow.

    Args:
      logits: A tensor of floats, of at least one axis.
      axis: The axis; None is the last.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``logits``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are no floats.

    Example:
      >>> tf.nn.log_softmax([1000.0, 0.0]).numpy()
      array([    0., -1000.], dtype=float32)
    """
    if wrong:
        raise_unexpected_keyword(log_softmax, wrong)
    return _along(_log_softmax_of, logits, axis)


@suggest_keywords
def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: Any = -1, name: str | None = None
) -> Tensor:
    """``-sum(labels * log_softmax(logits))`` along an axis: what logits lose against probabilities.

    Either operand may be broadcast along that axis, or along all other axes taken together; then
    what is broadcast is normalized.

    Args:
      labels: Probabilities that add up to 1 along the axis; they are cast to the dtype of
        ``logits``.
      logits: A tensor of floats, of at least one axis.
      axis: The axis of the classes.
      name: Not used.

    Returns:
      A tensor of the shape of ``logits`` without that axis.

    Raises:
      InvalidArgumentError: If the shapes do not fit, or the axis is out of range.

    Example:
      >>> labels = [[1.0, 0.0], [0.5, 0.5]]
      >>> logits = [[0.0, 0.0], [3.0, 3.0]]
      >>> tf.nn.softmax_cross_entropy_with_logits(labels, logits).numpy()
      array([0.6931472, 0.6931472], dtype=float32)
    """
    name = "SoftmaxCrossEntropyWithLogits"
    x = as_tensor(logits)
    p = elementwise.cast(as_tensor(labels, x._spec, name), x.dtype)
    if x.shape == p.shape and x.ndim:
        return 0.0 - reduce_sum(p * log_softmax(x, axis), axis)
    shapes = f"the shape of logits is {x.shape}, of labels {p.shape}"
    require(x.ndim > 0 and p.ndim > 0, name, f"logits and labels must have an axis: {shapes}")
    at = to_axis(name, -1 if axis is None else axis, x.ndim)
    if at != x.ndim - 1:
        require(x.ndim == p.ndim, name, f"logits and labels must have the same rank: {shapes}")
        last = (*range(at), *range(at + 1, x.ndim), at)
        x, p = movement.transpose(x, last), movement.transpose(p, last)
    outer = tuple(x.shape[:-1])
    x, p = (movement.reshape(v, (v._spec.size // max(v.shape[-1], 1), v.shape[-1])) for v in (x, p))
    rows, classes = (set(pair) - {1} for pair in zip(x.shape, p.shape, strict=True))
    fits = len(classes) < 2 and rows in (set(), {x.shape[0]})
    require(fits, name, f"logits and labels must be broadcastable: {shapes}")
    x = movement.broadcast_to(x, (x.shape[0], *(classes or {1})))
    return movement.reshape(0.0 - reduce_sum(p * log_softmax(x), -1), outer)


@suggest_keywords
def sparse_softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, name: str | None = None
) -> Tensor:
    """``-log_softmax(logits)[label]``: the cross-entropy where each label is the number of a class.

    Args:
      labels: A tensor of integers, of the shape of ``logits`` without its last axis.
      logits: A tensor of floats, whose last axis is that of the classes.
      name: Not used.

    Returns:
      A tensor of the shape of ``labels`` and the dtype of ``logits``.

    Raises:
      ValueError: If ``labels`` does not have the shape of ``logits`` without its last axis.
      InvalidArgumentError: If a label is out of range, or no integer.

    Example:
      >>> logits = [[0.0, 0.0], [100.0, 0.0]]
      >>> tf.nn.sparse_softmax_cross_entropy_with_logits([1, 1], logits).numpy()
      array([  0.6931472, 100.       ], dtype=float32)
    """
    name = "SparseSoftmaxCrossEntropyWithLogits"
    x = as_tensor(logits)
    result = as_tensor(labels)
    if not x._spec.rank:
        raise ValueError(f"`logits` cannot be a scalar. Received: logits of shape {x.shape}")
    if (*result._spec.shape,) != (*x._spec.shape,)[:-1]:
        raise ValueError(
            f"`labels.shape.rank` must equal `logits.shape.rank - 1`, and the shapes agree. "
            f"Received: labels.shape={result.shape}, logits.shape={x.shape} [Op:{name}]"
        )
    return 0.0 - pick(log_softmax(x), result, name, "a label value")


@suggest_keywords
def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """``-z * log(sigmoid(x)) - (1 - z) * log(1 - sigmoid(x))`` for logits x and labels z.

    Computed as ``max(x, 0) - x * z + log1p(exp(-|x|))``, which does not overflow.

    Args:
      labels: A tensor of the shape and dtype of ``logits``: probabilities.
      logits: A tensor of floats.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype, one loss for each element.

    Raises:
      ValueError: If the shapes differ.
      InvalidArgumentError: If the dtypes differ.

    Example:
      >>> labels, logits = [1.0, 0.0], [0.0, 100.0]
      >>> tf.nn.sigmoid_cross_entropy_with_logits(labels, logits).numpy()
      array([  0.6931472, 100.       ], dtype=float32)
    """
    x = as_tensor(logits)
    z = as_tensor(labels, x._spec, "SigmoidCrossEntropyWithLogits")
    if z.shape != x.shape:
        raise ValueError(
            f"`logits` and `labels` must have the same shape, received ({x.shape} vs {z.shape})."
        )
    # One product, so that nothing cancels in the derivative where x is large.
    positive = x >= 0.0
    rest = activations.softplus(elementwise.select(positive, negative(x), x))
    slope = elementwise.select(positive, 1.0 - z, negative(z))
    return elementwise.multiply_no_nan(x, slope) + rest
