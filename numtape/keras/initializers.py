"""``tf.keras.initializers``: initial values of variables, as classes and by name."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compat.names import getter as _getter
from ..core.ops.elementwise import cast
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from .initial import (
    ARGUMENTS,
    STFT,
    Constant,
    Identity,
    Initializer,
    Ones,
    Orthogonal,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    VarianceScaling,
    Zeros,
)
from .registry import ClassRegistry, describe, keras_dtype

if _typing.TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, ShapeLike
    from .annotations import Config, InitializerLike

_initializer = describe(ARGUMENTS, "", "ValueError: If ``seed`` is not an integer.")


class _FixedVarianceScaling(VarianceScaling):
    """A `VarianceScaling` with scale, mode and distribution fixed by the class."""

    _nt_distribution: tuple[float, str, str]

    def __init__(
        self,
        seed: int | None = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        super().__init__(*self._nt_distribution, seed, input_axes, output_axes)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        config = super().get_config()
        return {name: config[name] for name in ("seed", "input_axes", "output_axes")}


@_initializer
class GlorotUniform(_FixedVarianceScaling):
    """Uniform draws within ``sqrt(6 / (inputs + outputs))``.

    From Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks" (2010).

    >>> kernel = tf.keras.initializers.GlorotUniform(seed=1)((300, 100))
    >>> bool(abs(tf.math.reduce_variance(kernel) * 200.0 - 1.0) < 0.1)
    True
    """

    _nt_distribution = 1.0, "fan_avg", "uniform"


@_initializer
class GlorotNormal(_FixedVarianceScaling):
    """Draws from a truncated normal distribution of variance ``2 / (inputs + outputs)``.

    From Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks" (2010).

    >>> kernel = tf.keras.initializers.GlorotNormal(seed=1)((300, 100))
    >>> bool(abs(tf.math.reduce_variance(kernel) * 200.0 - 1.0) < 0.1)
    True
    """

    _nt_distribution = 1.0, "fan_avg", "truncated_normal"


@_initializer
class HeUniform(_FixedVarianceScaling):
    """Uniform draws within ``sqrt(6 / inputs)``.

    From He, Zhang, Ren and Sun, "Delving Deep into Rectifiers" (2015).

    >>> kernel = tf.keras.initializers.HeUniform(seed=1)((100, 300))
    >>> bool(abs(tf.math.reduce_variance(kernel) * 50.0 - 1.0) < 0.1)
    True
    """

    _nt_distribution = 2.0, "fan_in", "uniform"


@_initializer
class HeNormal(_FixedVarianceScaling):
    """Draws from a truncated normal distribution of variance ``2 / inputs``.

    From He, Zhang, Ren and Sun, "Delving Deep into Rectifiers" (2015).

    >>> kernel = tf.keras.initializers.HeNormal(seed=1)((100, 300))
    >>> bool(abs(tf.math.reduce_variance(kernel) * 50.0 - 1.0) < 0.1)
    True
    """

    _nt_distribution = 2.0, "fan_in", "truncated_normal"


@_initializer
class LecunUniform(_FixedVarianceScaling):
    """Uniform draws within ``sqrt(3 / inputs)``.

    From LeCun, Bottou, Orr and Müller, "Efficient BackProp" (1998).

    >>> kernel = tf.keras.initializers.LecunUniform(seed=1)((100, 300))
    >>> bool(abs(tf.math.reduce_variance(kernel) * 100.0 - 1.0) < 0.1)
    True
    """

    _nt_distribution = 1.0, "fan_in", "uniform"


@_initializer
class LecunNormal(_FixedVarianceScaling):
    """Draws from a truncated normal distribution of variance ``1 / inputs``.

    From LeCun, Bottou, Orr and Müller, "Efficient BackProp" (1998).

    >>> kernel = tf.keras.initializers.LecunNormal(seed=1)((100, 300))
    >>> bool(abs(tf.math.reduce_variance(kernel) * 100.0 - 1.0) < 0.1)
    True
    """

    _nt_distribution = 1.0, "fan_in", "truncated_normal"


constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
he_normal = HeNormal
he_uniform = HeUniform
IdentityInitializer = identity = Identity
lecun_normal = LecunNormal
lecun_uniform = LecunUniform
ones = Ones
OrthogonalInitializer = orthogonal = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
STFTInitializer = stft = STFT
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
zeros = Zeros

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Identity",
    "IdentityInitializer",
    "Initializer",
    "LecunNormal",
    "LecunUniform",
    "Ones",
    "Orthogonal",
    "OrthogonalInitializer",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
    "STFT",
    "STFTInitializer",
    "Zeros",
    "constant",
    "deserialize",
    "get",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "serialize",
    "stft",
    "truncated_normal",
    "variance_scaling",
    "zeros",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_REGISTRY = ClassRegistry(
    "initializer",
    [
        Constant,
        GlorotNormal,
        GlorotUniform,
        HeNormal,
        HeUniform,
        Identity,
        Initializer,
        LecunNormal,
        LecunUniform,
        Ones,
        Orthogonal,
        RandomNormal,
        RandomUniform,
        STFT,
        TruncatedNormal,
        VarianceScaling,
        Zeros,
    ],
    {
        "IdentityInitializer": Identity,
        "OrthogonalInitializer": Orthogonal,
        "normal": RandomNormal,
        "one": Ones,
        "uniform": RandomUniform,
        "STFTInitializer": STFT,
        "zero": Zeros,
    },
)


def get(identifier: InitializerLike) -> Any:
    """Look up an initializer by name or configuration, or wrap an array.

    Args:
      identifier: A name such as ``"he_normal"`` or ``"HeNormal"``, the result of `serialize`, an
        initializer, an initializer class, a function of a shape and a dtype, a tensor or array of
        values, or None.

    Returns:
      A function of a shape and a dtype; None for None.

    Raises:
      ValueError: If the name is unknown, or the argument has another type.

    Example:
      >>> tf.keras.initializers.get("ones")((2,), tf.float64).numpy()
      array([1., 1.])
    """
    if isinstance(identifier, np.ndarray | np.generic | Tensor):
        return _initializer_of(identifier)
    return _REGISTRY.get(identifier)


def _initializer_of(values: np.ndarray[Any, Any] | np.generic | Tensor) -> Callable[..., Tensor]:
    """Return an initializer that casts given values."""

    def initializer(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        if tuple(TensorShape(shape)) != tuple(values.shape):
            raise ValueError(
                f"Expected `shape` to be {tuple(values.shape)} for direct tensor as initializer. "
                f"Received shape={tuple(TensorShape(shape))}"
            )
        return cast(values, keras_dtype(dtype))

    return initializer


def serialize(initializer: Callable[..., Any] | None) -> Any:
    """Return the configuration of an initializer.

    Args:
      initializer: An initializer, a named function, or None.

    Returns:
      A dict that can be converted to JSON; None for None.

    Raises:
      ValueError: If the object has no configuration.

    Example:
      >>> tf.keras.initializers.serialize(tf.keras.initializers.Constant(2.0))["config"]
      {'value': 2.0}
    """
    return _REGISTRY.serialize(initializer)


def deserialize(config: str | Config | None, custom_objects: dict[str, Any] | None = None) -> Any:
    """Create an initializer from its configuration.

    Args:
      config: The result of `serialize`, or a name.
      custom_objects: Classes and functions, by name.

    Returns:
      An initializer.

    Raises:
      ValueError: If the class is unknown.

    Example:
      >>> config = tf.keras.initializers.serialize(tf.keras.initializers.HeNormal(seed=3))
      >>> tf.keras.initializers.deserialize(config)
      HeNormal(seed=3, input_axes=None, output_axes=None)
    """
    return _REGISTRY.deserialize(config, custom_objects)
