"""Dropout: set random elements to 0 and scale the others up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.record import require
from ..log.variable import Variable
from ..values.dtypes import repr_of
from ..values.hints import suggest_keywords
from ..values.tensor import Tensor
from . import elementwise, movement, random
from .creation import convert_to_tensor
from .stateless_random import stateless_uniform

if TYPE_CHECKING:
    from ..values.annotations import IntLike, NumberLike, ShapeLike, TensorLike

    # A shape in which None stands for the size of the operand.
    NoiseShape: TypeAlias = ShapeLike | list[int | None] | tuple[int | None, ...] | None


def _to_tensor(x: TensorLike) -> Tensor:
    return x if type(x) is Tensor else convert_to_tensor(x)


def _drop(
    value: TensorLike,
    rate: NumberLike,
    draw: Callable[[tuple[int, ...], Any], Tensor],
    noise_shape: NoiseShape,
) -> Tensor:
    x = _to_tensor(value)
    if not x.dtype.is_floating:
        raise ValueError(
            "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype="
            f"{x.dtype!r}"
        )
    plain = isinstance(rate, int | float | np.floating | np.integer) and not isinstance(rate, bool)
    if plain and not 0 <= rate < 1:
        raise ValueError(
            f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}"
        )
    if plain and rate == 0:
        return x
    if not plain:
        if not isinstance(rate, Tensor | Variable) or tuple(rate.shape):
            raise ValueError(
                f"`rate` must be a scalar or scalar tensor. Received: rate={repr_of(rate)}"
            )
        if rate.dtype is not x.dtype:
            raise ValueError(
                "`x.dtype` must be compatible with `rate.dtype`. Received: x.dtype="
                f"{x.dtype!r} and rate.dtype={rate.dtype!r}"
            )
    shape = tuple(x.shape)
    if noise_shape is not None:
        sizes: Any = (
            noise_shape
            if isinstance(noise_shape, list | tuple)
            else list(movement.to_shape(noise_shape))
        )
        if len(sizes) == x.ndim:  # None is the size of x
            sizes = [n if m is None else m for n, m in zip(shape, sizes, strict=True)]
        shape = movement.to_shape(sizes)
        pairs = zip(shape[::-1], tuple(x.shape)[::-1], strict=False)
        fits = len(shape) <= x.ndim and all(m in (1, n) for m, n in pairs)
        require(fits, "SelectV2", f"noise_shape {shape} does not broadcast to {tuple(x.shape)}")
    keep = draw(shape, x.dtype) >= rate
    scale = 1.0 / (1.0 - rate)
    return elementwise.select(keep, x * scale, 0.0)


@suggest_keywords
def dropout(
    x: TensorLike,
    rate: NumberLike,
    noise_shape: NoiseShape = None,
    seed: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Set each element to 0 with probability ``rate`` and divide the others by ``1 - rate``.

    See Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting"
    (2014). Each call draws new numbers, also in replayed functions.

    Args:
      x: A tensor of floats.
      rate: A number from 0 to less than 1, or a scalar tensor of the same dtype.
      noise_shape: The shape of the drawn numbers, which broadcast to the shape of ``x``: elements
        that share a number are kept or dropped together. None in it stands for the size of ``x``.
      seed: The seed of this op, combined with the global seed.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype; ``x`` itself if the rate is 0.

    Raises:
      ValueError: If the rate is out of range or not a scalar, or ``x`` does not contain floats.
      InvalidArgumentError: If ``noise_shape`` does not broadcast to the shape of ``x``.

    Example:
      >>> x = tf.nn.dropout(tf.ones((2, 3)), 0.5, noise_shape=(2, 1))
      >>> set(x.numpy().sum(1).tolist()) <= {0.0, 6.0}
      True
    """
    return _drop(
        x, rate, lambda shape, dtype: random.uniform(shape, 0, 1, dtype, seed), noise_shape
    )


def stateless_dropout(
    x: TensorLike,
    rate: NumberLike,
    seed: TensorLike,
    rng_alg: object = None,
    noise_shape: NoiseShape = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` with numbers that depend only on a seed.

    Args:
      x: A tensor of floats.
      rate: A number from 0 to less than 1, or a scalar tensor of the same dtype.
      seed: Two integers.
      rng_alg: Accepted for compatibility with TensorFlow: numbers are drawn by Philox.
      noise_shape: See `dropout`.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype; ``x`` itself if the rate is 0.

    Raises:
      ValueError: If the rate is out of range or not a scalar, or ``x`` does not contain floats.
      InvalidArgumentError: If the seed is not two integers, or ``noise_shape`` does not fit.

    Example:
      >>> x = tf.ones(100)
      >>> first, again = (tf.nn.experimental.stateless_dropout(x, 0.3, [1, 2]) for _ in "ab")
      >>> np.array_equal(first, again)
      True
    """
    return _drop(
        x, rate, lambda shape, dtype: stateless_uniform(shape, seed, dtype=dtype), noise_shape
    )


def general_dropout(
    x: TensorLike,
    rate: NumberLike,
    uniform_sampler: Callable[..., Any],
    noise_shape: NoiseShape = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` with a custom random generator.

    Args:
      x: A tensor of floats.
      rate: A number from 0 to less than 1, or a scalar tensor of the same dtype.
      uniform_sampler: ``uniform_sampler(shape=..., dtype=...)`` returns numbers from 0 to 1.
      noise_shape: See `dropout`.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype; ``x`` itself if the rate is 0.

    Raises:
      ValueError: If the rate is out of range or not a scalar, or ``x`` does not contain floats.

    Example:
      >>> half = lambda shape, dtype: tf.constant([0.2, 0.8], dtype)
      >>> tf.nn.experimental.general_dropout([1.0, 1.0], 0.5, half).numpy()
      array([0., 2.], dtype=float32)
    """
    return _drop(
        x,
        rate,
        lambda shape, dtype: as_tensor(uniform_sampler(shape=shape, dtype=dtype)),
        noise_shape,
    )
