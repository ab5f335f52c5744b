"""``tf.random.stateless_*``: the numbers of `seeded`, from a seed that the caller gives."""

from __future__ import annotations

from typing import Any

from ..log.record import require
from ..log.tensors import as_tensor
from ..values import dtypes
from ..values.tensor import Tensor
from . import movement, seeded
from .define import document
from .seeded import algorithm, checked_seed, checked_shape, ending, floating, operand

_COMMON = """
      name: Not used.
      alg: The generator: ``"philox"`` or ``"auto_select"``, which is the same.

    Returns:
      A tensor of this shape and dtype.

    Raises:
      InvalidArgumentError: If the seed is no pair of integers, or the shape no vector of sizes.
      TypeError: If ``dtype`` is another one.
      ValueError: If ``alg`` is another one.
      UnimplementedError: If ``alg`` is ``"threefry"``.
"""
_FIRST = """
    Args:
      shape: The shape: ints, or a tensor of ints.
      seed: Two integers, int32 or int64.
"""


@document(_FIRST)
@document(_COMMON, "<common>")
def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Draws from a normal distribution that a seed determines; the numbers are TensorFlow's.

    <arguments>
      mean: The mean; it broadcasts to ``shape``, and gradients reach it.
      stddev: The standard deviation, also.
      dtype: A floating dtype.
    <common>

    Example:
      >>> tf.random.stateless_normal([3], seed=[1, 2]).numpy()
      array([0.5441101 , 0.20738031, 0.07356433], dtype=float32)
    """
    op = "StatelessRandomNormal"
    algorithm(alg)
    dims, requested = checked_shape(shape, op), floating(dtype)
    rest = seeded.draw(checked_seed(seed, op), "normal", dims, requested)
    return seeded.scale(rest, stddev, mean, op)


@document(_FIRST)
@document(_COMMON, "<common>")
def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Draws from a normal distribution, those beyond two standard deviations drawn again.

    <arguments>
      mean: The mean; it broadcasts to ``shape``, and gradients reach it.
      stddev: The standard deviation before the tails go, also.
      dtype: A floating dtype.
    <common>

    Example:
      >>> tf.random.stateless_truncated_normal([3], seed=[1, 2]).numpy()
      array([0.5441101 , 0.20738031, 0.07356433], dtype=float32)
    """
    op = "StatelessTruncatedNormal"
    algorithm(alg)
    dims, requested = checked_shape(shape, op), floating(dtype)
    rest = seeded.draw(checked_seed(seed, op), "truncated", dims, requested)
    return seeded.scale(rest, stddev, mean, op)


@document(_FIRST)
@document(_COMMON.replace("TypeError", "ValueError"), "<common>")
def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Draws from ``minval`` up to, not including, ``maxval`` that a seed determines.

    They are TensorFlow's numbers. Integers are as likely as each other as far as 2 ** 32 or 2 ** 64
    is a multiple of the width of the range.

    <arguments>
      minval: The lower bound. If it and ``maxval`` are None, integers are of all values.
      maxval: The upper bound; None is 1, for floats.
      dtype: A floating dtype, int32 or int64; of all values, uint32 or uint64 too.
    <common>

    Example:
      >>> tf.random.stateless_uniform([3], seed=[1, 2]).numpy()
      array([0.8440604 , 0.19204533, 0.9962232 ], dtype=float32)
      >>> tf.random.stateless_uniform([3], [1, 2], 0, 10, dtype=tf.int32).numpy()
      array([0, 9, 4], dtype=int32)
    """
    op = "StatelessRandomUniform"
    algorithm(alg)
    dims, requested = checked_shape(shape, op), dtypes.as_dtype(dtype)
    if requested in (dtypes.uint32, dtypes.uint64) and not minval is maxval is None:
        raise ValueError(f"With bounds, random integers are int32 or int64, not {requested.name}.")
    return seeded.uniform(checked_seed(seed, op), dims, minval, maxval, dtype, op)


def stateless_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Draws from gamma distributions that a seed determines; the numbers are TensorFlow's.

    Gradients reach ``alpha`` (implicitly: Figurnov, Mohamed and Mnih, "Implicit Reparameterization
    Gradients", 2018; of first order alone) and ``beta``.

    Args:
      shape: The shape of the result: it ends with that to which ``alpha`` and ``beta`` broadcast.
      seed: Two integers, int32 or int64.
      alpha: The shape parameter. A negative one gives NaN.
      beta: The inverse scale; None is 1.
      dtype: float16, float32 or float64.
      name: Not used.

    Returns:
      A tensor of this shape and dtype.

    Raises:
      InvalidArgumentError: If the seed is no pair of integers, or the shape does not end so, or
        ``dtype`` is bfloat16.
      TypeError: If ``dtype`` is another one.
      ValueError: If parameters are tensors of another dtype.

    Example:
      >>> tf.random.stateless_gamma([3], seed=[1, 2], alpha=2.0, dtype=tf.float64).numpy()
      array([2.81727356, 1.92413657, 3.33600669])
    """
    op, requested = "StatelessRandomGammaV3", floating(dtype)
    require(
        requested is not dtypes.bfloat16, op, "numbers are of half, float or double, not bfloat16"
    )
    a = operand(alpha, requested, op)
    b = operand(1 if beta is None else beta, requested, op)
    dims = checked_shape(shape, op)
    a = movement.broadcast_to(a, ending(dims, [a, b], op))
    return seeded.gamma(checked_seed(seed, op), dims, a, b, op)


def stateless_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Draws from Poisson distributions that a seed determines; the numbers are TensorFlow's.

    Args:
      shape: The shape of the result: it ends with that of ``lam``.
      seed: Two integers, int32 or int64.
      lam: The rate, which is the mean.
      dtype: float16, float32, float64, int32 or int64.
      name: Not used.

    Returns:
      A tensor of this shape and dtype. A negative rate gives 0; one that is not finite NaN, among
      integers 0.

    Raises:
      InvalidArgumentError: If the seed is no pair of integers, the shape does not end so, or
        ``dtype`` is another one.

    Example:
      >>> tf.random.stateless_poisson([3, 2], seed=[1, 2], lam=[3.0, 40.0]).numpy()
      array([[ 5, 57],
             [ 5, 34],
             [ 4, 45]], dtype=int32)
    """
    op, rate = "StatelessRandomPoisson", as_tensor(lam)
    dims = checked_shape(shape, op)
    ending(dims, [rate], op)
    return seeded.poisson(seeded.POISSON, checked_seed(seed, op), dims, rate, dtype)


def stateless_binomial(
    shape: Any,
    seed: Any,
    counts: Any,
    probs: Any,
    output_dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Numbers of successes in trials that a seed determines; not those that TensorFlow draws.

    Args:
      shape: The shape of the result: it ends with that to which ``counts`` and ``probs`` broadcast.
      seed: Two integers, int32 or int64.
      counts: How many trials.
      probs: How likely a success is.
      output_dtype: float16, float32, float64, int32 or int64.
      name: Not used.

    Returns:
      A tensor of this shape and dtype. What is not a number of trials or no probability gives NaN,
      among integers 0.

    Raises:
      InvalidArgumentError: If the seed is no pair of integers, the shape does not end so, or
        ``output_dtype`` is another one.

    Example:
      >>> x = tf.random.stateless_binomial([1000], seed=[1, 2], counts=10, probs=0.5)
      >>> bool(abs(np.mean(x) - 5) < 0.3)
      True
    """
    op = "StatelessRandomBinomial"
    dims = checked_shape(shape, op)
    return seeded.binomial(checked_seed(seed, op), dims, counts, probs, output_dtype)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Draws of classes that a seed determines; where they are few, TensorFlow's.

    No gradient flows through.

    Args:
      logits: Unnormalized logarithms of probabilities: a tensor of shape (rows, classes).
      num_samples: How many draws for each row.
      seed: Two integers, int32 or int64.
      dtype: int64 or int32.
      name: Not used.

    Returns:
      A tensor of shape (rows, num_samples).

    Raises:
      InvalidArgumentError: If ``logits`` is no matrix, or the seed no pair of integers.
      ValueError: If ``dtype`` is another one.

    Example:
      >>> logits = tf.math.log([[0.2, 0.5, 0.3]])
      >>> tf.random.stateless_categorical(logits, 4, seed=[1, 2]).numpy()
      array([[2, 2, 0, 2]])
    """
    state = checked_seed(seed, "StatelessMultinomial")
    return seeded.categorical(state, logits, num_samples, dtype)


def stateless_shuffle(
    value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None
) -> Tensor:
    """The slices along the first axis in an order that a seed determines; not TensorFlow's order.

    Args:
      value: A tensor of at least one axis.
      seed: Two integers, int32 or int64.
      alg: The generator, as for `stateless_uniform`.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If the seed is no pair of integers, or there is no axis.
      ValueError: If ``alg`` is another one.

    Example:
      >>> np.sort(tf.random.experimental.stateless_shuffle([3, 1, 2], seed=[1, 2]).numpy())
      array([1, 2, 3], dtype=int32)
    """
    algorithm(alg)
    return seeded.shuffle(checked_seed(seed, "StatelessShuffle"), value)


def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Tensor:
    """Several seeds made of one, the same as TensorFlow's.

    Args:
      seed: Two integers, int32 or int64.
      num: How many.
      alg: The generator, as for `stateless_uniform`.

    Returns:
      A tensor of shape (num, 2) and of the dtype of ``seed``.

    Raises:
      InvalidArgumentError: If the seed is no pair of integers.
      ValueError: If ``alg`` is another one.

    Example:
      >>> tf.random.split([1, 2], num=2).numpy()
      array([[1105988140, 1738052849],
             [-335576002,  370444179]], dtype=int32)
    """
    algorithm(alg)
    state = checked_seed(seed, "StatelessRandomUniformFullInt")
    dims = checked_shape([movement.to_ints(num), 2], "StatelessRandomUniformFullInt")
    return seeded.draw(state, "integers", dims, state.dtype)


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """A seed made of a seed and a number, the same as TensorFlow's.

    Args:
      seed: Two integers, int32 or int64.
      data: An integer, int32 or int64.
      alg: The generator, as for `stateless_uniform`.

    Returns:
      A tensor of two integers of the dtype of ``data``.

    Raises:
      InvalidArgumentError: If the seed is no pair of integers.
      ValueError: If ``alg`` is another one, or ``data`` no integer.

    Example:
      >>> tf.random.fold_in([1, 2], 3).numpy()
      array([1105988140,          3], dtype=int32)
    """
    algorithm(alg)
    state, number = checked_seed(seed, "StatelessRandomUniformFullInt"), as_tensor(data)
    if number.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"data must be int32 or int64, got {number.dtype.name}")
    return seeded.pair(seeded.draw(state, "integers", (), number.dtype), number)
