"""Connectionist temporal classification, in ops: so that it has derivatives of any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.record import require
from ..log.tensors import as_tensor
from ..values.dtypes import int64, repr_of
from ..values.tensor import Tensor
from . import comparison, elementwise, joining, movement
from .indexing import gather
from .reduction import reduce_logsumexp, reduce_max
from .slicing import strided_slice
from .softmax_losses import log_softmax

NEVER = -1e30  # the logarithm of what cannot be: far below any other, and no infinity


def _shift(x: Tensor, by: int) -> Tensor:
    """States ``by`` places further on, of a matrix with a state in each column."""
    rows, n = tuple(x.shape)
    if by >= n:
        return elementwise.zeros_of(x) + NEVER
    retained = strided_slice(x, ((0, rows, 1), (0, n - by, 1)))
    return joining.concat([elementwise.zeros_of(x)[:, :by] + NEVER, retained], 1)


def ctc_loss(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Minus the logarithm of the probability of labels, whenever in time each of them comes.

    The sum over all alignments is made step by step, in logarithms: see Graves, Fernández, Gomez
    and Schmidhuber, "Connectionist Temporal Classification: Labelling Unsegmented Sequence Data
    with Recurrent Neural Networks" (2006).

    Args:
      labels: A tensor of integers, of shape (batch, most labels); what is behind a row's length
        does not count.
      logits: A tensor of floats, of shape (time, batch, classes).
      label_length: How many labels each row has: integers of shape (batch,).
      logit_length: How many steps in time each row has, also.
      logits_time_major: Whether the logits are of that shape, or of shape (batch, time, classes).
      unique: Accepted for TensorFlow's sake.
      blank_index: The class that stands for no label: None is 0, negative ones count from the end.
      name: Not used.

    Returns:
      A tensor of shape (batch,): infinite, without a gradient, where there are fewer steps in time
      than the labels take.

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
    # Blanks around each label.
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
    alive = elementwise.select(places < 2, movement.reshape_if_needed(at, (batch, n)), NEVER)
    for t in range(1, steps):
        ways = [alive, _shift(alive, 1)]
        if skips is not None:
            ways.append(elementwise.select(skips, _shift(alive, 2), NEVER))
        at = strided_slice(message, ((0, batch, 1), (0, n, 1), (t, t + 1, 1)))
        value = reduce_logsumexp(joining.stack(ways, 0), 0) + movement.reshape_if_needed(
            at, (batch, n)
        )
        alive = elementwise.select(times > t, value, alive)
    last = comparison.logical_or(
        comparison.equal(places, 2 * many), comparison.equal(places, 2 * many - 1)
    )
    total = reduce_logsumexp(elementwise.select(last, alive, NEVER), 1)
    possible = reduce_max(elementwise.select(last, alive, NEVER), 1) > NEVER / 2
    return elementwise.select(possible, elementwise.negative(total), np.inf)


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> Any:
    """Labels without those that repeat the one before them.

    Args:
      labels: A tensor of integers, of shape (batch, time).
      seq_length: How many of each row count: integers of shape (batch,).
      name: Not used.

    Returns:
      Two tensors: the labels that are left, with zeros behind them, and how many there are in each
      row. The values are looked at: how many columns there are depends on them.

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
