"""``tf.random.gamma``, `poisson` and `categorical`: a seed of each draw, and what it says."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.tensors import as_tensor
from ..values import dtypes
from ..values.tensor import Tensor
from . import movement, seeded
from .random import SeedSequence, draw
from .seeded import checked_shape, operand


def _words(source: SeedSequence) -> Any:
    return source.generate_state(2, np.uint64).view(np.int64)


def _seed(seed: Any) -> Tensor:
    """Two integers that are others in each draw, and in each replay."""
    return draw(_words, seed)


def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from gamma distributions: ``shape`` of each.

    Gradients reach ``alpha`` (implicitly: Figurnov, Mohamed and Mnih, "Implicit Reparameterization
    Gradients", 2018; of first order alone) and ``beta``.

    Args:
      shape: The shape of the draws from each distribution: ints, or a tensor of ints.
      alpha: The shape parameter. A negative one gives NaN.
      beta: The inverse scale; None is 1. It broadcasts with ``alpha``.
      dtype: float16, float32 or float64.
      seed: its own seed, beside the global one.
      name: Not used.

    Returns:
      A tensor of ``shape``, followed by the shape to which ``alpha`` and ``beta`` broadcast.

    Raises:
      ValueError: If ``dtype`` is another one, or parameters are tensors of another dtype.
      InvalidArgumentError: If ``shape`` is no vector of sizes, or the parameters do not broadcast.

    Example:
      >>> tf.random.set_seed(0)
      >>> alpha = tf.constant(3.0)
      >>> with tf.GradientTape() as tape:
      ...     tape.watch(alpha)
      ...     mean = tf.reduce_mean(tf.random.gamma([2000], alpha))
      >>> bool(abs(mean - 3.0) < 0.3), bool(abs(tape.gradient(mean, alpha) - 1.0) < 0.1)
      (True, True)
    """
    requested = dtypes.as_dtype(dtype)
    if not requested.is_floating or requested is dtypes.bfloat16:
        raise ValueError(f"{requested.name} is none of float16, float32 and float64.")
    op = "RandomGamma"
    a = operand(alpha, requested, op)
    b = operand(1 if beta is None else beta, requested, op)
    common = seeded.ending_of([a, b], op)
    dims = (*checked_shape(shape, op), *common)
    return seeded.gamma(_seed(seed), dims, movement.broadcast_to(a, common), b, op)


def poisson(
    shape: Any,
    lam: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from Poisson distributions: ``shape`` of each. It has no gradient.

    Args:
      shape: The shape of the draws from each distribution: ints, or a tensor of ints.
      lam: The rate, which is the mean.
      dtype: float16, float32, float64, int32 or int64.
      seed: its own seed, beside the global one.
      name: Not used.

    Returns:
      A tensor of ``shape``, followed by that of ``lam``. A negative rate gives 0; one that is not
      finite NaN, among integers 0.

    Raises:
      InvalidArgumentError: If ``dtype`` is another one, or ``shape`` is no vector of sizes.

    Example:
      >>> tf.random.set_seed(0)
      >>> x = tf.random.poisson([1000], [2.0, 20.0])
      >>> x.shape, bool(tf.reduce_all(abs(tf.reduce_mean(x, 0) - [2.0, 20.0]) < 1.0))
      (TensorShape([1000, 2]), True)
    """
    rate = as_tensor(lam)
    dims = (*checked_shape(shape, "RandomPoissonV2"), *rate.shape)
    return seeded.poisson(seeded.POISSON_DRAWN, _seed(seed), dims, rate, dtype)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws of classes by their logits. No gradient flows through.

    Args:
      logits: Unnormalized logarithms of probabilities: a tensor of shape (rows, classes).
      num_samples: How many draws for each row.
      dtype: int64 or int32; None is int64.
      seed: its own seed, beside the global one.
      name: Not used.

    Returns:
      A tensor of shape (rows, num_samples).

    Raises:
      InvalidArgumentError: If ``logits`` is no matrix, or ``num_samples`` is negative.
      ValueError: If ``dtype`` is another one.

    Example:
      >>> logits = tf.math.log([[0.0, 1.0, 0.0]])
      >>> tf.random.categorical(logits, 3).numpy()
      array([[1, 1, 1]])
    """
    return seeded.categorical(_seed(seed), logits, num_samples, dtype)
