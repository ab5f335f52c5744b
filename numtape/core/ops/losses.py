"""Softmax, cross-entropies, elementwise losses, and CTC."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DtypeError, InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import Recorder, binary, require, unary
from ..values.dtypes import int64, repr_of
from ..values.hints import suggest_keywords
from ..values.spec import Spec, to_axis
from ..values.tensor import Tensor
from . import activations, comparison, elementwise, joining, movement, rules
from .elementwise import negative
from .indexing import gather, pick
from .joining import as_tensors
from .reduction import reduce_logsumexp, reduce_max, reduce_sum
from .slicing import strided_slice

if TYPE_CHECKING:
    from ..values.annotations import IntLike, TensorLike

Array = np.ndarray[Any, Any]


def _float_spec(op: Op, x: Spec) -> Spec:
    return rules.floating(op, x)


def _subtract_max(x: Array) -> Array:
    return x - x.max(-1, keepdims=True) if x.shape[-1] else x


def _softmax(out: Array, x: Array) -> None:
    np.exp(_subtract_max(x), out=out)
    out /= out.sum(-1, keepdims=True)


def _log_softmax(out: Array, x: Array) -> None:
    shifted = _subtract_max(x)
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
        largest = y.argmax(-1)[..., None]
        is_largest = np.arange(y.shape[-1]) == largest
        others = np.where(is_largest, 0, g).sum(-1, keepdims=True, dtype=g.dtype)
        rest = np.where(is_largest, 0, power).sum(-1, keepdims=True, dtype=g.dtype)
        near = is_largest & (np.take_along_axis(power, largest, -1) > 0.5)
        np.copyto(out, g * rest - power * others, where=near)


def _make_native(name: str) -> Any:
    """Return the function that describes the jitted kernel over the last axis."""

    def native(out: Spec, *_: Spec) -> Native:
        n = out.shape[-1]
        return Native(name, (out.dtype.name,), (n,), out.size // n, 16 * out.size)

    return native


# The Jacobian of softmax is symmetric, so the adjoint of g is the same op applied to h. The adjoint
# of y is h * g, minus the products with both sums.
SOFTMAX_GRAD: Recorder = binary(
    defop(
        "SoftmaxGrad",
        ARRAY,
        2,
        lambda op, y, g: y,
        compute=_softmax_grad,
        native=_make_native("softmax_grad"),
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
        native=_make_native("log_softmax_grad"),
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
        _float_spec,
        compute=_softmax,
        native=_make_native("softmax"),
        vjp=lambda g, y, x: (SOFTMAX_GRAD(y, g),),
    )
)
_log_softmax_of = unary(
    defop(
        "LogSoftmax",
        ARRAY,
        1,
        _float_spec,
        compute=_log_softmax,
        native=_make_native("log_softmax"),
        vjp=lambda g, y, x: (LOG_SOFTMAX_GRAD(y, g),),
    )
)


def _apply_along(recorder: Recorder, logits: TensorLike, axis: IntLike | None) -> Tensor:
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


@suggest_keywords
def softmax(logits: TensorLike, axis: IntLike | None = None, name: str | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis.

    The largest element is subtracted first, so that nothing overflows: see Blanchard, Higham and
    Higham, "Accurately computing the log-sum-exp and softmax functions" (2021).

    Args:
      logits: A tensor of floats, of at least one axis.
      axis: The axis whose elements add up to 1; None for the last.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``logits``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are not floats.

    Example:
      >>> tf.nn.softmax([[0.0, 0.0], [1000.0, 0.0]]).numpy()
      array([[0.5, 0.5],
             [1. , 0. ]], dtype=float32)
    """
    return _apply_along(_softmax_of, logits, axis)


@suggest_keywords
def log_softmax(logits: TensorLike, axis: IntLike | None = None, name: str | None = None) -> Tensor:
    """``x - log(sum(exp(x)))`` along an axis: the logarithm of `softmax`, without overflow.

    Args:
      logits: A tensor of floats, of at least one axis.
      axis: The axis; None for the last.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``logits``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are not floats.

    Example:
      >>> tf.nn.log_softmax([1000.0, 0.0]).numpy()
      array([    0., -1000.], dtype=float32)
    """
    return _apply_along(_log_softmax_of, logits, axis)


@suggest_keywords
def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: IntLike = -1, name: str | None = None
) -> Tensor:
    """Compute the cross-entropy ``-sum(labels * log_softmax(logits))`` along an axis.

    Either operand may broadcast along that axis, or along all other axes together; logits are
    normalized after broadcasting.

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
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """Compute the cross-entropy ``-log_softmax(logits)[label]`` for class indices.

    Args:
      labels: A tensor of integers, of the shape of ``logits`` without its last axis.
      logits: A tensor of floats, whose last axis is the axis of the classes.
      name: Not used.

    Returns:
      A tensor of the shape of ``labels`` and the dtype of ``logits``.

    Raises:
      ValueError: If ``labels`` does not have the shape of ``logits`` without its last axis.
      InvalidArgumentError: If a label is out of range, or not an integer.

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
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
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
    # A single product with x avoids cancellation in the derivative where x is large.
    positive = x >= 0.0
    rest = activations.softplus(elementwise.select(positive, negative(x), x))
    slope = elementwise.select(positive, 1.0 - z, negative(z))
    return elementwise.multiply_no_nan(x, slope) + rest


def _check_same_shape(x: Tensor, z: Tensor, x_name: str, z_name: str) -> None:
    if x.shape != z.shape:
        raise ValueError(
            f"`{x_name}` and `{z_name}` must have the same shape, received "
            f"({x.shape} vs {z.shape})."
        )


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Compute half the sum of the squares of all elements.

    Args:
      t: A tensor of floats.
      name: Not used.

    Returns:
      A scalar of the same dtype.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.nn.l2_loss([3.0, 4.0]).numpy()
      np.float32(12.5)
    """
    x = as_tensor(t)
    if not x._spec.is_float:
        raise DtypeError(f"t must be of floats, got {x.dtype.name}. Use `cast`. [Op:L2Loss]")
    return reduce_sum(elementwise.square(x)) * 0.5


def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """Compute `sigmoid_cross_entropy_with_logits` with a weight on the positive labels.

    The loss is ``-q * z * log(sigmoid(x)) - (1 - z) * log(1 - sigmoid(x))`` for logits x, labels z
    and the weight q, computed without overflow.

    Args:
      labels: A tensor of probabilities, of the shape and dtype of ``logits``.
      logits: A tensor of floats.
      pos_weight: The weight: a number, or a tensor that broadcasts with the labels.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype, one loss for each element.

    Raises:
      ValueError: If the shapes differ.
      InvalidArgumentError: If the dtypes differ.

    Example:
      >>> tf.nn.weighted_cross_entropy_with_logits([1.0, 0.0], [0.0, 0.0], 3.0).numpy()
      array([2.0794415, 0.6931472], dtype=float32)
    """
    x = as_tensor(logits)
    z = as_tensor(labels, x._spec, "WeightedCrossEntropyWithLogits")
    _check_same_shape(x, z, "logits", "labels")
    q = as_tensor(pos_weight, x._spec, "WeightedCrossEntropyWithLogits")
    weight = 1.0 + (q - 1.0) * z
    # A single product with x avoids cancellation where x is large.
    is_positive = x >= 0.0
    softplus = activations.softplus(elementwise.select(is_positive, elementwise.negative(x), x))
    factor = elementwise.select(is_positive, 1.0 - z, elementwise.negative(q * z))
    return elementwise.multiply_no_nan(x, factor) + weight * softplus


def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """``exp(x) - x * z``: the negative log-likelihood of a rate ``exp(x)``, up to a constant.

    Args:
      targets: A tensor z of counts, of the shape and dtype of ``log_input``.
      log_input: A tensor of floats, the logarithms of the rates.
      compute_full_loss: Whether to add ``z * log(z) - z + log(2 * pi * z) / 2`` where z is larger
        than
        1: Stirling's approximation of the logarithm of z's factorial.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype, one loss for each element.

    Raises:
      ValueError: If the shapes differ.
      InvalidArgumentError: If the dtypes differ.

    Example:
      >>> tf.nn.log_poisson_loss([1.0, 2.0], [0.0, 0.0]).numpy()
      array([1., 1.], dtype=float32)
    """
    x = as_tensor(log_input)
    z = as_tensor(targets, x._spec, "LogPoissonLoss")
    _check_same_shape(x, z, "log_input", "targets")
    loss: Tensor = elementwise.exp(x) - x * z
    if compute_full_loss:
        is_small = comparison.logical_and(z >= 0.0, z <= 1.0)
        safe_z = elementwise.select(is_small, 2.0, z)
        log_z = elementwise.log(safe_z)
        stirling = safe_z * log_z - safe_z + 0.5 * (log_z + math.log(2 * math.pi))
        loss = loss + elementwise.select(is_small, 0.0, stirling)
    return loss


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Add a bias to each channel.

    Args:
      value: A tensor of numbers, of at least two axes.
      bias: A vector of the same dtype, with one element for each channel.
      data_format: A name that begins with "NC", for channels on the second axis, or that begins
        with "N" and ends with "C", for channels on the last axis. None is the last axis.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``value``.

    Raises:
      ValueError: If ``data_format`` has neither form.
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> tf.nn.bias_add([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0]).numpy()
      array([[11., 22.],
             [13., 24.]], dtype=float32)
    """
    op = "BiasAdd"
    channels_first = False
    if data_format is not None:
        format_name = data_format if isinstance(data_format, str) else ""
        channels_first = format_name.startswith("NC")
        if not channels_first and not (format_name.startswith("N") and format_name.endswith("C")):
            raise ValueError(
                "`data_format` must be of the form `N...C` or `NC...`. Received: data_format="
                f"{repr_of(data_format)}"
            )
    x, b = as_tensors((value, bias), op)
    require(x.ndim >= 2, op, f"Input tensor must be at least 2D: {x.shape.as_list()}")
    require(b.ndim == 1, op, f"Biases must be 1D: {b.shape.as_list()}")
    require(
        b.shape[0] == x.shape[1 if channels_first else -1],
        op,
        f"Must provide as many biases as there are channels: {b.shape.as_list()} vs. "
        f"{x.shape.as_list()}",
    )
    if channels_first and x.ndim > 2:
        b = movement.reshape_if_needed(b, (b.shape[0], *(1,) * (x.ndim - 2)))
    return elementwise.add(x, b)


LOG_ZERO = -1e30  # used for log(0); finite, so that differences are not NaN


def _shift_right(x: Tensor, by: int) -> Tensor:
    """Shift the columns of a matrix of states right by ``by``, and insert probability 0."""
    rows, n = tuple(x.shape)
    if by >= n:
        return elementwise.zeros_of(x) + LOG_ZERO
    retained = strided_slice(x, ((0, rows, 1), (0, n - by, 1)))
    return joining.concat([elementwise.zeros_of(x)[:, :by] + LOG_ZERO, retained], 1)


def ctc_loss(
    labels: TensorLike,
    logits: TensorLike,
    label_length: TensorLike,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: object = None,
    blank_index: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the CTC loss: minus the log-probability of label sequences, summed over alignments.

    The sum over alignments is computed by the forward recursion, in logarithms: see Graves,
    Fernández, Gomez and Schmidhuber, "Connectionist Temporal Classification: Labelling Unsegmented
    Sequence Data with Recurrent Neural Networks" (2006).

    Args:
      labels: A tensor of integers, of shape (batch, max_labels); elements beyond a row's length are
        ignored.
      logits: A tensor of floats, of shape (time, batch, classes).
      label_length: The number of labels of each row: integers of shape (batch,).
      logit_length: The number of time steps of each row: integers of shape (batch,).
      logits_time_major: If False, the logits have shape (batch, time, classes).
      unique: Accepted for compatibility with TensorFlow.
      blank_index: The blank class; None for 0; negative values count from the end.
      name: Not used.

    Returns:
      A tensor of shape (batch,): infinite, without a gradient, where no alignment fits the number
      of time steps.

    Raises:
      ValueError: If shapes do not fit, or ``blank_index`` is not a class.
      InvalidArgumentError: If a label is not a class.

    Example:
      >>> logits = tf.zeros((3, 1, 2))  # of the 8 paths, 6 say 1 once
      >>> np.exp(-tf.nn.ctc_loss([[1]], logits, [1], [3], blank_index=0).numpy())
      array([0.75], dtype=float32)
    """
    op = "CTCLoss"
    x = as_tensor(logits)
    if x.ndim != 3:
        raise ValueError(f"`logits` must have three axes. Received: logits of shape {x.shape}")
    if not logits_time_major:
        x = movement.transpose_if_needed(x, (1, 0, 2))
    steps, batch, classes = tuple(x.shape)
    y = as_tensor(labels)
    if not y.dtype.is_integer or y.ndim != 2 or y.shape[0] != batch:
        raise ValueError(
            f"`labels` must be integers of shape ({batch}, ...). Received: {y.dtype.name} of shape "
            f"{y.shape}"
        )
    lengths = []
    for provided, what in ((label_length, "label_length"), (logit_length, "logit_length")):
        if provided is None:
            raise ValueError(f"`{what}` must be given for dense labels.")
        length = as_tensor(provided)
        if not length.dtype.is_integer or tuple(length.shape) != (batch,):
            raise ValueError(f"`{what}` must be {batch} integers. Received: {repr_of(provided)}")
        lengths.append(movement.reshape_if_needed(elementwise.cast(length, int64), (batch, 1)))
    many, times = lengths
    blank = 0 if blank_index is None else int(blank_index)
    blank += classes if blank < 0 else 0
    if not 0 <= blank < classes:
        raise ValueError(f"`blank_index` must be one of {classes} classes. Received: {blank_index}")
    require(steps > 0 and batch > 0, op, f"logits must have elements, got shape {x.shape}")
    most = int(y.shape[1])
    counts = np.arange(most, dtype=np.int64)[None]
    y = elementwise.select(as_tensor(counts) < many, elementwise.cast(y, int64), blank)
    # Insert blanks around each label.
    blanks = elementwise.zeros_of(y) + blank
    states = movement.reshape_if_needed(joining.stack([blanks, y], 2), (batch, 2 * most))
    states = joining.concat(
        [states, movement.broadcast_to(as_tensor(np.int64(blank)), (batch, 1))], 1
    )
    n = 2 * most + 1
    message = gather(
        movement.transpose_if_needed(log_softmax(x), (1, 2, 0)), states, axis=1, batch_dims=1
    )  # (batch, states, time)
    places = as_tensor(np.arange(n, dtype=np.int64)[None])
    skips = None
    if n > 2:
        before = joining.concat([states[:, :2] * 0 + blank, states[:, :-2]], 1)
        skips = comparison.logical_and(
            comparison.not_equal(states, blank), comparison.not_equal(states, before)
        )
    at = strided_slice(message, ((0, batch, 1), (0, n, 1), (0, 1, 1)))
    alive = elementwise.select(places < 2, movement.reshape_if_needed(at, (batch, n)), LOG_ZERO)
    for t in range(1, steps):
        ways = [alive, _shift_right(alive, 1)]
        if skips is not None:
            ways.append(elementwise.select(skips, _shift_right(alive, 2), LOG_ZERO))
        at = strided_slice(message, ((0, batch, 1), (0, n, 1), (t, t + 1, 1)))
        value = reduce_logsumexp(joining.stack(ways, 0), 0) + movement.reshape_if_needed(
            at, (batch, n)
        )
        alive = elementwise.select(times > t, value, alive)
    last = comparison.logical_or(
        comparison.equal(places, 2 * many), comparison.equal(places, 2 * many - 1)
    )
    total = reduce_logsumexp(elementwise.select(last, alive, LOG_ZERO), 1)
    possible = reduce_max(elementwise.select(last, alive, LOG_ZERO), 1) > LOG_ZERO / 2
    return elementwise.select(possible, elementwise.negative(total), np.inf)


def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: str | None = None) -> Any:
    """Remove labels that repeat their predecessor.

    Args:
      labels: A tensor of integers, of shape (batch, time).
      seq_length: The number of labels of each row: integers of shape (batch,).
      name: Not used.

    Returns:
      Two tensors: the remaining labels, padded with zeros, and their number in each row. The values
      are read at the call: they determine the number of columns.

    Raises:
      InvalidArgumentError: If shapes do not fit.

    Example:
      >>> found, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], [5, 4])
      >>> found.numpy().tolist(), lengths.numpy().tolist()
      ([[1, 2, 1], [3, 0, 0]], [3, 2])
    """
    y, provided = as_tensor(labels), as_tensor(seq_length)
    if y.ndim != 2 or tuple(provided.shape) != (y.shape[0],):
        raise InvalidArgumentError(
            f"labels of shape {y.shape} and seq_length of shape {provided.shape} do not fit"
        )
    values, lengths = y.numpy(), provided.numpy()
    rows = []
    for row, length in zip(values, lengths, strict=True):
        row = row[: max(0, int(length))]
        rows.append(row[np.r_[True, row[1:] != row[:-1]]] if len(row) else row)
    counts = np.array([len(row) for row in rows], lengths.dtype)
    array = np.zeros((len(rows), max(counts.tolist(), default=0)), values.dtype)
    for k, row in enumerate(rows):
        array[k, : len(row)] = row
    return as_tensor(array), as_tensor(counts)


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: TensorLike | None = None,
) -> Tensor:
    """Return the sum of the losses of a batch, divided by the size of the whole batch.

    Args:
      per_example_loss: The loss of each example, at least a vector.
      sample_weight: Weights, which broadcast to the losses.
      global_batch_size: The number of examples on all processes; default: those of this batch.

    Returns:
      A scalar.

    Raises:
      ValueError: If the losses are a scalar, or the size is none.
      InvalidArgumentError: If the size is negative.
      TypeError: If the size is not an integer.

    Example:
      >>> tf.nn.compute_average_loss([2.0, 4.0], global_batch_size=4).numpy()
      np.float32(1.5)
    """
    losses = as_tensor(per_example_loss)
    if not losses.ndim:
        raise ValueError(
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1."
        )
    if not losses.dtype.is_floating:
        losses = elementwise.cast(losses, "float32")
    if sample_weight is not None:
        losses = losses * elementwise.cast(sample_weight, losses.dtype)
    if global_batch_size is None:
        size = losses.shape[0]
    else:
        number = as_tensor(global_batch_size)
        if number.ndim:
            raise ValueError(f"global_batch_size must be scalar, got shape {number.shape}.")
        if not number.dtype.is_integer:
            raise TypeError("global_batch_size must be an int.")
        size = int(number.numpy())
        if size < 0:
            raise InvalidArgumentError("global_batch_size must be non-negative.")
    total = reduce_sum(losses)
    return total * 0.0 if not size else total / float(size)


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Return the sum of regularization losses, for one process of one.

    Args:
      regularization_loss: A tensor.

    Returns:
      A scalar. With several processes, divide by their number.

    Raises:
      DtypeError: If it is not numeric.

    Example:
      >>> tf.nn.scale_regularization_loss([0.5, 1.0]).numpy()
      np.float32(1.5)
    """
    return reduce_sum(as_tensor(regularization_loss))
