"""Layers that drop elements or add noise in training, and return their inputs otherwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...core.ops.dropout import general_dropout
from ...core.ops.elementwise import cast
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
from ..seed_generator import SeedGenerator
from .base import ConfiguredLayer, Shape, document, join_shape, parse_data_format, split_shape

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike
    from ..annotations import InputShape

_RANGE = "ValueError: If the rate is not between 0 and 1."


def _check_rate(rate: object) -> float:
    """Return a number from 0 to 1.

    Raises:
      ValueError: If the argument is not such a number.
    """
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise ValueError(
            "Invalid value received for argument `rate`. Expected a float value between 0 and 1. "
            f"Received: rate={repr_of(rate)}"
        )
    return rate


class _Noise(ConfiguredLayer):
    """Base class of layers that change their inputs in training, but not the shape and mask."""

    _nt_amount = "rate"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _nt_set_seed(self, seed: int | None) -> None:
        """Store the seed, and create a generator from it."""
        self._nt_set_arguments(seed=seed)
        self.seed_generator = SeedGenerator(seed)

    def _nt_add_noise(self, inputs: Tensor) -> Tensor:
        raise NotImplementedError

    def call(self, inputs: Tensor, training: bool | None = False) -> Tensor:
        """Return the inputs; in training, with noise."""
        if training and getattr(self, self._nt_amount) > 0:
            return self._nt_add_noise(inputs)
        return inputs

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
        return tuple(input_shape)


def _noise_shape(noise_shape: InputShape | None, inputs: Tensor) -> tuple[int, ...]:
    """Return the noise shape with the sizes of the inputs in place of None."""
    if noise_shape is None:
        return tuple(inputs.shape)
    sizes = zip(noise_shape, tuple(inputs.shape), strict=True)
    return tuple(size if noise_size is None else noise_size for noise_size, size in sizes)


@document(f"{_RANGE[:-1]}, or ``noise_shape`` is not a shape.")
class Dropout(_Noise):
    """In training, sets elements to 0 with probability ``rate`` and divides others by ``1 - rate``.

    See Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting"
    (2014).

    >>> x = tf.keras.layers.Dropout(0.5)(tf.ones((2, 100)), training=True)
    >>> np.unique(x).tolist()
    [0.0, 2.0]
    """

    def __init__(
        self,
        rate: float,
        noise_shape: InputShape | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if noise_shape is not None and not isinstance(noise_shape, list | tuple):
            raise ValueError(
                "Invalid value received for argument `noise_shape`. Expected a tuple or list of "
                f"integers. Received: noise_shape={repr_of(noise_shape)}"
            )
        self._nt_set_arguments(rate=_check_rate(rate), noise_shape=noise_shape)
        self._nt_set_seed(seed)

    def _nt_noise_shape(self, inputs: Tensor) -> Any:
        return self.noise_shape

    def _nt_add_noise(self, inputs: Tensor) -> Tensor:
        if self.rate == 1:
            return inputs * 0.0
        return general_dropout(
            inputs, self.rate, self.seed_generator.uniform, self._nt_noise_shape(inputs)
        )


class _SpatialDropout(Dropout):
    """Base class of dropout of entire channels over `rank` spatial axes."""

    rank: int
    data_format = "channels_last"

    def __init__(
        self,
        rate: float,
        data_format: str | None,
        seed: int | None,
        name: str | None,
        dtype: DTypeLike | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(rate, None, seed, name=name, dtype=dtype, **kwargs)
        self._nt_kept = ("rate", "seed")
        self.data_format = parse_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = super().get_config()
        del config["trainable"]  # Keras's configurations of these classes lack it
        return config

    def _nt_noise_shape(self, inputs: Tensor) -> Any:
        shape = tuple(inputs.shape)
        channels = split_shape(shape, self.data_format)[1]
        return join_shape(shape[0], (1,) * self.rank, channels, self.data_format)


_NAME_AND_DTYPE = {"name": "The name of the layer.", "dtype": "The dtype of computations."}


@document(_RANGE, **_NAME_AND_DTYPE)
class SpatialDropout1D(_SpatialDropout):
    """`Dropout` of entire channels: inputs of shape (batch, steps, channels).

    >>> x = tf.keras.layers.SpatialDropout1D(0.5)(tf.ones((1, 5, 8)), training=True)
    >>> set(x.numpy().sum(1).ravel().tolist()) <= {0.0, 10.0}
    True
    """

    rank = 1

    def __init__(
        self,
        rate: float,
        seed: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(rate, None, seed, name, dtype, **kwargs)


@document(_RANGE, **_NAME_AND_DTYPE)
class SpatialDropout2D(_SpatialDropout):
    """`Dropout` of entire channels of images of shape (batch, height, width, channels).

    >>> x = tf.keras.layers.SpatialDropout2D(0.5)(tf.ones((1, 2, 2, 8)), training=True)
    >>> set(x.numpy().sum((1, 2)).ravel().tolist()) <= {0.0, 8.0}
    True
    """

    rank = 2

    def __init__(
        self,
        rate: float,
        data_format: str | None = None,
        seed: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(rate, data_format, seed, name, dtype, **kwargs)
        self._nt_set_arguments(data_format=self.data_format)


@document(_RANGE, **_NAME_AND_DTYPE)
class SpatialDropout3D(_SpatialDropout):
    """`Dropout` of entire channels: inputs of shape (batch, depth, height, width, channels).

    >>> x = tf.keras.layers.SpatialDropout3D(0.5)(tf.ones((1, 1, 2, 2, 8)), training=True)
    >>> set(x.numpy().sum((1, 2, 3)).ravel().tolist()) <= {0.0, 8.0}
    True
    """

    rank = 3

    def __init__(
        self,
        rate: float,
        data_format: str | None = None,
        seed: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(rate, data_format, seed, name, dtype, **kwargs)
        self._nt_set_arguments(data_format=self.data_format)


@document(
    "ValueError: If the deviation is not between 0 and 1.",
    stddev="The standard deviation of the noise, from 0 to 1.",
)
class GaussianNoise(_Noise):
    """In training, adds noise from a normal distribution of mean 0.

    >>> x = tf.keras.layers.GaussianNoise(0.5)(tf.zeros((100, 100)), training=True)
    >>> bool(0.45 < tf.math.reduce_std(x) < 0.55)
    True
    """

    _nt_amount = "stddev"

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(stddev, bool) or not isinstance(stddev, int | float) or not 0 <= stddev <= 1:
            raise ValueError(
                "Invalid value received for argument `stddev`. Expected a float value between 0 "
                f"and 1. Received: stddev={repr_of(stddev)}"
            )
        self._nt_set_arguments(stddev=stddev)
        self._nt_set_seed(seed)

    def _nt_add_noise(self, inputs: Tensor) -> Tensor:
        noise = self.seed_generator.normal(inputs.shape, inputs.dtype)
        result: Tensor = inputs + noise * self.stddev
        return result


@document(
    _RANGE,
    rate="The equivalent dropout rate: the standard deviation is sqrt(rate / (1 - rate)).",
)
class GaussianDropout(_Noise):
    """In training, multiplies elements by noise from a normal distribution of mean 1.

    >>> x = tf.keras.layers.GaussianDropout(0.5)(tf.ones((100, 100)), training=True)
    >>> bool(0.9 < tf.math.reduce_std(x) < 1.1)
    True
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(rate=_check_rate(rate))
        self._nt_set_seed(seed)

    def _nt_add_noise(self, inputs: Tensor) -> Tensor:
        deviation = math.sqrt(self.rate / (1.0 - self.rate)) if self.rate < 1 else math.inf
        noise = self.seed_generator.normal(inputs.shape, inputs.dtype)
        result: Tensor = inputs * (1.0 + noise * deviation)
        return result


@document(_RANGE)
class AlphaDropout(_Noise):
    """`Dropout` that keeps the mean and variance of outputs of `selu`.

    See Klambauer, Unterthiner, Mayr and Hochreiter, "Self-Normalizing Neural Networks" (2017).

    >>> x = tf.keras.layers.AlphaDropout(0.2)(tf.random.normal((100, 100)), training=True)
    >>> bool(0.9 < tf.math.reduce_std(x) < 1.1)
    True
    """

    def __init__(
        self,
        rate: float,
        noise_shape: InputShape | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(rate=_check_rate(rate), noise_shape=noise_shape)
        self._nt_set_seed(seed)

    def _nt_add_noise(self, inputs: Tensor) -> Tensor:
        if self.rate == 1:
            raise ValueError("`AlphaDropout` with a rate of 1 leaves nothing to scale.")
        # The limit of `selu` at minus infinity.
        selu_limit = -1.6732632423543772 * 1.0507009873554805
        scale = ((1 - self.rate) * (1 + self.rate * selu_limit**2)) ** -0.5
        draws = self.seed_generator.uniform(_noise_shape(self.noise_shape, inputs), inputs.dtype)
        keep_mask = cast(draws >= self.rate, inputs.dtype)
        result: Tensor = (
            scale * (inputs * keep_mask + selu_limit * (1 - keep_mask))
            - scale * selu_limit * self.rate
        )
        return result
