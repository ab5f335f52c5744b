"""``tf.keras.random``: random numbers from seeds and seed generators."""

from __future__ import annotations

import typing as _typing
from typing import TYPE_CHECKING, Any

import numtape as _tf

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from .ops.define import floats as _floats, op as _op, to_dtype as _to_dtype
from .registry import describe as _describe, keras_dtype as _keras_dtype
from .seed_generator import SeedGenerator
from .settings import floatx as _floatx

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, NumberLike, ShapeLike, TensorLike
    from ..core.values.tensor import Tensor

__all__ = [
    "SeedGenerator",
    "beta",
    "binomial",
    "categorical",
    "dropout",
    "gamma",
    "normal",
    "randint",
    "shuffle",
    "truncated_normal",
    "uniform",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_Seed: _typing.TypeAlias = "int | SeedGenerator | None"

_ARGUMENTS = {
    "alpha": "The shape parameter of the distribution; of `beta` the first one.",
    "axis": "The axis along which to shuffle.",
    "beta": "The second shape parameter.",
    "counts": "The number of trials.",
    "dtype": "The dtype; None for `keras.config.floatx`.",
    "inputs": "A tensor.",
    "logits": "Unnormalized log probabilities (batch, classes).",
    "maxval": "The upper bound, which is excluded.",
    "mean": "The mean.",
    "minval": "The lower bound.",
    "noise_shape": "The shape of the mask, which is broadcast; None for the shape of the inputs.",
    "num_samples": "The number of draws for each row.",
    "probabilities": "The probability of a success.",
    "rate": "The fraction of elements that become 0.",
    "seed": "An integer: the same numbers at each call; a `SeedGenerator`: others at each call; "
    "None for the global seed.",
    "shape": "The shape of the result.",
    "stddev": "The standard deviation.",
    "x": "A tensor.",
}
_draws = _describe(_ARGUMENTS, "A tensor.", "ValueError: If a parameter is outside its range.")


def _state(seed: _Seed) -> Any:
    """Return the two numbers that determine a draw."""
    if isinstance(seed, SeedGenerator):
        return seed.next()
    if seed is None:
        return _tf.random.uniform([2], 0, 2**31 - 1, _tf.int32)
    if isinstance(seed, int):
        return _tf.constant([seed % 2**63, 0], _tf.int64)
    raise ValueError(
        f"Argument `seed` must be either an integer or an instance of `SeedGenerator`. "
        f"Received: seed={seed} (of type {type(seed)})"
    )


def _float(dtype: DTypeLike | None, name: str) -> Any:
    kind = _keras_dtype(_floatx() if dtype is None else dtype)
    if not kind.is_floating:
        raise ValueError(
            f"`keras.random.{name}` requires a floating point `dtype`. Received: dtype={dtype}"
        )
    return kind


@_draws
def normal(
    shape: ShapeLike,
    mean: NumberLike = 0.0,
    stddev: NumberLike = 1.0,
    dtype: DTypeLike | None = None,
    seed: _Seed = None,
) -> Tensor:
    """Draw from a normal distribution.

    >>> tf.keras.random.normal((2,), seed=1).shape
    TensorShape([2])
    """
    return _tf.random.stateless_normal(shape, _state(seed), mean, stddev, _float(dtype, "normal"))


@_draws
def truncated_normal(
    shape: ShapeLike,
    mean: NumberLike = 0.0,
    stddev: NumberLike = 1.0,
    dtype: DTypeLike | None = None,
    seed: _Seed = None,
) -> Tensor:
    """Draw from a normal distribution without what is further than two deviations from the mean.

    >>> tf.keras.random.truncated_normal((2,), seed=1).shape
    TensorShape([2])
    """
    return _tf.random.stateless_truncated_normal(
        shape, _state(seed), mean, stddev, _float(dtype, "truncated_normal")
    )


@_draws
def uniform(
    shape: ShapeLike,
    minval: NumberLike = 0.0,
    maxval: NumberLike = 1.0,
    dtype: DTypeLike | None = None,
    seed: _Seed = None,
) -> Tensor:
    """Draw from the uniform distribution on [minval, maxval).

    >>> tf.keras.random.uniform((2,), seed=1).shape
    TensorShape([2])
    """
    return _tf.random.stateless_uniform(
        shape, _state(seed), minval, maxval, _float(dtype, "uniform")
    )


@_draws
def randint(
    shape: ShapeLike,
    minval: int,
    maxval: int,
    dtype: DTypeLike = "int32",
    seed: _Seed = None,
) -> Tensor:
    """Draw integers from [minval, maxval).

    >>> tf.keras.random.randint((2,), 0, 10, seed=1).dtype
    tf.int32
    """
    kind = _keras_dtype(dtype)
    if not kind.is_integer:
        raise ValueError(
            f"`keras.random.randint` requires an integer `dtype`. Received: dtype={dtype}"
        )
    numbers = _tf.random.stateless_uniform(shape, _state(seed), minval, maxval, _tf.int64)
    return _tf.cast(numbers, kind)


@_draws
def gamma(
    shape: ShapeLike, alpha: NumberLike, dtype: DTypeLike | None = None, seed: _Seed = None
) -> Tensor:
    """Draw from the gamma distribution.

    >>> tf.keras.random.gamma((2,), 1.5, seed=1).shape
    TensorShape([2])
    """
    return _gamma(shape, _state(seed), alpha, _float(dtype, "gamma"))


def _gamma(shape: ShapeLike, state: Any, alpha: TensorLike, kind: Any) -> Tensor:
    wide = kind if kind.size >= 4 else _tf.float32
    alphas = _tf.broadcast_to(_to_dtype(alpha, wide), shape)
    return _tf.cast(_tf.random.stateless_gamma(shape, state, alphas, dtype=wide), kind)


@_draws
def beta(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike,
    dtype: DTypeLike | None = None,
    seed: _Seed = None,
) -> Tensor:
    """Draw from the beta distribution.

    >>> tf.keras.random.beta((2,), 1.5, 2.0, seed=1).shape
    TensorShape([2])
    """
    kind = _float(dtype, "beta")
    wide = kind if kind.size >= 4 else _tf.float32
    seeds = _tf.random.split(_state(seed), 2)
    first, second = _gamma(shape, seeds[0], alpha, wide), _gamma(shape, seeds[1], beta, wide)
    return _tf.cast(first / (first + second), kind)


@_draws
def binomial(
    shape: ShapeLike,
    counts: TensorLike,
    probabilities: TensorLike,
    dtype: DTypeLike | None = None,
    seed: _Seed = None,
) -> Tensor:
    """Draw numbers of successes.

    >>> tf.keras.random.binomial((2,), 5, 0.5, seed=1).shape
    TensorShape([2])
    """
    kind = _float(dtype, "binomial")
    draws = _tf.random.stateless_binomial(
        shape,
        _state(seed),
        _tf.cast(counts, _tf.float32),
        _tf.cast(probabilities, _tf.float32),
        _tf.float32,
    )
    return _tf.cast(draws, kind)


@_op(
    "A tensor (batch, samples).",
    "ValueError: If ``logits`` has not two axes.",
    arguments=_ARGUMENTS,
)
def categorical(
    logits: TensorLike, num_samples: int, dtype: DTypeLike = "int32", seed: Any = None
) -> Any:
    """Draw classes.

    >>> tf.keras.random.categorical([[0.0, 0.0]], 3, seed=1).shape
    TensorShape([1, 3])
    """
    tensor = _floats(logits)
    if tensor.ndim != 2:
        raise ValueError(f"`logits` should be 2-D with shape [batch, classes], got {tensor.shape}")
    draws = _tf.random.stateless_categorical(tensor, num_samples, _state(seed), _tf.int64)
    return _tf.cast(draws, _keras_dtype(dtype))


@_op("A tensor.", "ValueError: If the rate is not in [0, 1].", arguments=_ARGUMENTS)
def dropout(inputs: TensorLike, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """Set elements to 0 at random, and scale the others so that the sum's mean stays.

    >>> tf.keras.random.dropout(tf.ones(4), 0.5, seed=1).shape
    TensorShape([4])
    """
    tensor = _floats(inputs)
    if not 0 <= rate <= 1:
        raise ValueError(f"`rate` should be in the interval [0, 1], got {rate}.")
    shape = list(tensor.shape)
    if noise_shape is not None:
        shape = [n if m is None else m for n, m in zip(shape, noise_shape, strict=True)]
    if rate == 1:
        return _tf.zeros_like(tensor)
    draws = _tf.random.stateless_uniform(shape, _state(seed), dtype=_tf.float32)
    keep = _tf.cast(draws >= rate, tensor.dtype)
    return tensor * keep / _to_dtype(1 - rate, tensor.dtype)


@_op("A tensor.", "InvalidArgumentError: If ``x`` has no such axis.", arguments=_ARGUMENTS)
def shuffle(x: TensorLike, axis: int = 0, seed: Any = None) -> Any:
    """Permute the entries of an axis at random.

    >>> tf.keras.random.shuffle(tf.range(4), seed=1).shape
    TensorShape([4])
    """
    tensor = _tf.convert_to_tensor(x)
    count = int(tensor.shape[axis])
    draws = _tf.random.stateless_uniform([count], _state(seed), dtype=_tf.float64)
    return _tf.gather(tensor, _tf.argsort(draws), axis=axis)


_guard_module(__name__)
