"""Elementwise losses, `l2_loss` and `bias_add`."""

from __future__ import annotations

import math
from typing import Any

from ...errors import DtypeError
from ..log.record import require
from ..log.tensors import as_tensor
from ..values.dtypes import repr_of
from ..values.tensor import Tensor
from . import activations, comparison, elementwise, movement
from .joining import as_tensors
from .reduction import reduce_sum


def _check_same_shape(x: Tensor, z: Tensor, x_name: str, z_name: str) -> None:
    if x.shape != z.shape:
        raise ValueError(
            f"`{x_name}` and `{z_name}` must have the same shape, received "
            f"({x.shape} vs {z.shape})."
        )


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of the squares of all elements.

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
    labels: Any, logits: Any, pos_weight: Any, name: str | None = None
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
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
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
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
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
