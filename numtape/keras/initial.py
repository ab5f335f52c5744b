"""Initializers: constant values, and random values from a seed that each object stores."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..core.ops.creation import eye, ones, zeros
from ..core.ops.decompositions import qr
from ..core.ops.diagonals import diag_part
from ..core.ops.elementwise import cast, sign
from ..core.ops.movement import reshape, transpose
from ..core.ops.random import fresh_seed
from ..core.ops.stateless_random import (
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)
from ..core.values import dtypes
from ..core.values.dtypes import DType, repr_of
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from .registry import Configured, describe, keras_dtype

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, NumberLike, ShapeLike, TensorLike

# The standard deviation of a standard normal distribution truncated at two deviations.
_TRUNCATED = 0.87962566103423978
ARGUMENTS = {
    "value": "The value of all elements: a number, or an array of the requested shape.",
    "gain": "The factor that multiplies the matrix.",
    "mean": "The mean.",
    "stddev": "The standard deviation.",
    "minval": "The lower bound.",
    "maxval": "The upper bound, exclusive.",
    "scale": "The variance times the number of inputs, of outputs, or their mean.",
    "mode": '``"fan_in"`` (inputs), ``"fan_out"`` (outputs) or ``"fan_avg"`` (their mean).',
    "distribution": '``"truncated_normal"``, ``"untruncated_normal"`` or ``"uniform"``.',
    "seed": "An integer that fixes the values; None draws a seed in the constructor, so that "
    "an object returns the same values at each call, and two objects return different ones.",
    "input_axes": "The axes whose sizes multiply to the number of inputs; None for all "
    "but the last.",
    "output_axes": "The axes whose sizes multiply to the number of outputs; None for all but the "
    "second to last.",
}
ARGUMENTS.update(
    side='``"real"`` or ``"imag"``: the cosines or the negative sines.',
    window="The window: a name that SciPy knows, such as ``hann``, its values, or None.",
    scaling='``"density"``, ``"spectrum"`` or None: the norm by which the window is divided.',
    periodic="Whether the window is periodic.",
)
_constant = describe(ARGUMENTS, "", "")
_random = describe(ARGUMENTS, "", "ValueError: If an argument is invalid.")


class Initializer(Configured):
    """Base class of initializers: override ``__call__(shape, dtype)``.

    Example:
      >>> class Sevens(tf.keras.initializers.Initializer):
      ...     def __call__(self, shape, dtype=None):
      ...         return tf.fill(shape, tf.constant(7.0, dtype))
      >>> dense = tf.keras.layers.Dense(1, kernel_initializer=Sevens())
      >>> dense(tf.constant([[1.0, 2.0]])).numpy()
      array([[21.]], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """Return initial values.

        Args:
          shape: The shape.
          dtype: The dtype; None for float32.
        """
        raise NotImplementedError("Initializer subclasses must implement the `__call__()` method.")

    def clone(self) -> Self:
        """Return an initializer with the same arguments.

        Returns:
          A new object.
        """
        return self.from_config(self.get_config())


def _parse_request(shape: ShapeLike, dtype: DTypeLike | None) -> tuple[tuple[int, ...], DType]:
    """The arguments of a call as a tuple of ints and a `DType`."""
    sizes = tuple(int(n) for n in TensorShape(shape))
    return sizes, keras_dtype(dtype)


@_constant
class Zeros(Initializer):
    """Zeros.

    >>> tf.keras.initializers.Zeros()((2,)).numpy()
    array([0., 0.], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return zeros."""
        return zeros(*_parse_request(shape, dtype))


@_constant
class Ones(Initializer):
    """Ones.

    >>> tf.keras.initializers.Ones()((2,)).numpy()
    array([1., 1.], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return ones."""
        return ones(*_parse_request(shape, dtype))


@_constant
class Constant(Initializer):
    """A constant value.

    >>> tf.keras.initializers.Constant(2.5)((2,)).numpy()
    array([2.5, 2.5], dtype=float32)
    """

    def __init__(self, value: TensorLike = 0.0) -> None:
        self.value = value

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return a tensor of the value."""
        sizes, result_dtype = _parse_request(shape, dtype)
        value = cast(self.value, result_dtype)
        if value.ndim == 1 and math.prod(value.shape) == math.prod(sizes):
            return reshape(value, sizes)
        result: Tensor = value * ones(sizes, result_dtype)
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        value = self.value
        return {"value": value.tolist() if isinstance(value, np.ndarray | np.generic) else value}


@_constant
class Identity(Initializer):
    """A matrix of ones on the diagonal and zeros elsewhere.

    >>> tf.keras.initializers.Identity(2.0)((2, 2)).numpy()
    array([[2., 0.],
           [0., 2.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return the matrix. The shape must have two axes."""
        sizes, result_dtype = _parse_request(shape, dtype)
        if len(sizes) != 2:
            raise ValueError(
                f"Identity matrix initializer can only be used for 2D matrices. Received: "
                f"shape={sizes} of rank {len(sizes)}."
            )
        result: Tensor = eye(*sizes, dtype=result_dtype) * self.gain
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"gain": self.gain}


class RandomInitializer(Initializer):
    """Base class of random initializers."""

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
            raise ValueError(
                f"`seed` argument should be an integer or None. Received: seed={repr_of(seed)}"
            )
        self._nt_given = seed
        if seed is None:
            seed = fresh_seed()
        if seed is None:
            seed = random.randint(1, 10**9)  # depends on `random.seed`, as in Keras
        self.seed = int(seed)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"seed": self._nt_given}

    def _nt_draw(
        self,
        draw: Callable[..., Tensor],
        shape: ShapeLike,
        dtype: DTypeLike | None,
        *parameters: NumberLike,
    ) -> Tensor:
        """Draw with a stateless op and the seed; the values equal those of Keras on TensorFlow."""
        sizes, result_dtype = _parse_request(shape, dtype)
        draw_dtype = (
            result_dtype
            if result_dtype is dtypes.float64 or not result_dtype.is_floating
            else dtypes.float32
        )
        seed = np.array([self.seed % (2**31 - 2), 0], np.int32)
        return cast(draw(sizes, seed, *parameters, dtype=draw_dtype), result_dtype)


@_random
class RandomNormal(RandomInitializer):
    """Draws from a normal distribution.

    >>> draws = tf.keras.initializers.RandomNormal(stddev=2.0, seed=1)((1000,))
    >>> bool(abs(tf.math.reduce_std(draws) - 2.0) < 0.1)
    True
    """

    def __init__(
        self, mean: NumberLike = 0.0, stddev: NumberLike = 0.05, seed: int | None = None
    ) -> None:
        self.mean, self.stddev = mean, stddev
        super().__init__(seed)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Draw a tensor."""
        return self._nt_draw(stateless_normal, shape, dtype, self.mean, self.stddev)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"mean": self.mean, "stddev": self.stddev, **super().get_config()}


@_random
class TruncatedNormal(RandomNormal):
    """Draws from a normal distribution truncated at two standard deviations.

    >>> draws = tf.keras.initializers.TruncatedNormal(stddev=1.0, seed=1)((1000,))
    >>> bool(tf.reduce_max(abs(draws)) <= 2.0)
    True
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Draw a tensor."""
        return self._nt_draw(stateless_truncated_normal, shape, dtype, self.mean, self.stddev)


@_random
class RandomUniform(RandomInitializer):
    """Draws from a uniform distribution between two bounds.

    >>> draws = tf.keras.initializers.RandomUniform(0.0, 3.0, seed=1)((1000,))
    >>> bool(tf.reduce_min(draws) >= 0.0), bool(tf.reduce_max(draws) < 3.0)
    (True, True)
    """

    def __init__(
        self, minval: NumberLike = -0.05, maxval: NumberLike = 0.05, seed: int | None = None
    ) -> None:
        self.minval, self.maxval = minval, maxval
        super().__init__(seed)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Draw a tensor."""
        return self._nt_draw(stateless_uniform, shape, dtype, self.minval, self.maxval)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"minval": self.minval, "maxval": self.maxval, **super().get_config()}


def compute_fans(
    shape: tuple[int, ...],
    input_axes: Sequence[int] | None = None,
    output_axes: Sequence[int] | None = None,
) -> tuple[int, int]:
    """Return ``(fan_in, fan_out)`` of a kernel shape."""
    if input_axes is not None and output_axes is not None:
        return math.prod(shape[i] for i in input_axes), math.prod(shape[i] for i in output_axes)
    if len(shape) < 2:
        return math.prod(shape), math.prod(shape)
    window = math.prod(shape[:-2])  # of a convolution
    return shape[-2] * window, shape[-1] * window


_MODES = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS = ("uniform", "truncated_normal", "untruncated_normal")


@_random
class VarianceScaling(RandomInitializer):
    """Draws of mean 0 whose variance is ``scale`` over the number of inputs, outputs, or both.

    >>> draws = tf.keras.initializers.VarianceScaling(2.0, seed=1)((100, 100))
    >>> bool(abs(tf.math.reduce_variance(draws) * 50.0 - 1.0) < 0.1)
    True
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        if not isinstance(scale, int | float) or not scale > 0.0:
            raise ValueError(
                f"Argument `scale` must be positive float. Received: scale={repr_of(scale)}"
            )
        if mode not in _MODES:
            raise ValueError(
                f"Invalid `mode` argument: {repr_of(mode)}. Please use one of {_MODES}."
            )
        distribution_name = distribution.lower() if isinstance(distribution, str) else distribution
        distribution_name = (
            "truncated_normal" if distribution_name == "normal" else distribution_name
        )
        if distribution_name not in _DISTRIBUTIONS:
            raise ValueError(
                f"Invalid `distribution` argument: {repr_of(distribution)}. Please use one of "
                f"{_DISTRIBUTIONS}."
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution_name
        self.input_axes, self.output_axes = input_axes, output_axes
        super().__init__(seed)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Draw a tensor."""
        sizes, _ = _parse_request(shape, dtype)
        fan_in, fan_out = compute_fans(sizes, self.input_axes, self.output_axes)
        fans = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}
        variance = self.scale / max(1.0, fans[self.mode])
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return self._nt_draw(stateless_uniform, shape, dtype, -limit, limit)
        deviation = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return self._nt_draw(stateless_normal, shape, dtype, 0.0, deviation)
        return self._nt_draw(stateless_truncated_normal, shape, dtype, 0.0, deviation / _TRUNCATED)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            **super().get_config(),
            "input_axes": self.input_axes,
            "output_axes": self.output_axes,
        }


@_random
class Orthogonal(RandomInitializer):
    """A matrix whose columns, or rows if there are fewer, are orthogonal and of norm ``gain``.

    All axes but the last are flattened into one. From Saxe, McClelland and Ganguli, "Exact
    solutions to the nonlinear dynamics of learning in deep linear neural networks" (2014).

    >>> q = tf.keras.initializers.Orthogonal(seed=1)((3, 2))
    >>> np.allclose(tf.transpose(q) @ q, np.eye(2), atol=1e-6)
    True
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain = gain
        super().__init__(seed)

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return the matrix. The shape must have at least two axes."""
        sizes, result_dtype = _parse_request(shape, dtype)
        if len(sizes) < 2:
            raise ValueError(
                f"The tensor to initialize must be at least two-dimensional. Received: "
                f"shape={sizes} of rank {len(sizes)}."
            )
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        draw_dtype = dtypes.float64 if result_dtype is dtypes.float64 else dtypes.float32
        q, r = qr(
            self._nt_draw(stateless_normal, (max(rows, columns), min(rows, columns)), draw_dtype)
        )
        q = q * sign(diag_part(r))  # makes the distribution uniform over orthogonal matrices
        result: Tensor = reshape(transpose(q) if rows < columns else q, sizes) * self.gain
        return cast(result, result_dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"gain": self.gain, **super().get_config()}


def _window_values(window: Any, length: int, periodic: bool) -> Any:
    """Return the values of a window.

    Raises:
      ValueError: If the name is unknown, or the number of values differs.
    """
    if not isinstance(window, str):
        values = np.asarray(window, np.float64)
        if values.shape != (length,):
            raise ValueError(
                f"The shape of `window` must be equal to [frame_length]. Received: window "
                f"shape={values.shape}, frame length={length}"
            )
        return values
    count = length if periodic else length - 1
    cosines = np.cos(2.0 * math.pi * np.arange(length) / max(count, 1))
    if window in ("hann", "hamming"):
        mean = 0.5 if window == "hann" else 0.54
        return mean - (1.0 - mean) * cosines if length > 1 else np.ones(1)
    from scipy.signal import get_window

    return get_window(window, length, fftbins=periodic)


@_random
class STFT(Initializer):
    """The kernels of a short-time Fourier transform: (frame length, 1, frequencies).

    >>> tf.keras.initializers.STFT("real", None, None)((2, 1, 2)).numpy().tolist()
    [[[1.0, 1.0]], [[1.0, -1.0]]]
    """

    def __init__(
        self,
        side: str = "real",
        window: Any = "hann",
        scaling: str | None = "density",
        periodic: bool = False,
    ) -> None:
        if side not in ("real", "imag"):
            raise ValueError(f"side should be 'real' or 'imag', not {side}")
        if scaling not in (None, "density", "spectrum"):
            raise ValueError(
                f"Scaling is invalid, it must be `None`, 'density' or 'spectrum'. Received "
                f"scaling={scaling}"
            )
        if isinstance(window, str):
            _window_values(window, 1, periodic)
        self.side, self.window, self.scaling, self.periodic = side, window, scaling, periodic

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return the kernels."""
        sizes, result_dtype = _parse_request(shape, dtype)
        length, _, frequencies = sizes
        turns = np.outer(np.arange(length), np.arange(frequencies)) / (2 * (frequencies - 1))
        angles = 2.0 * math.pi * turns
        values = np.cos(angles) if self.side == "real" else -np.sin(angles)
        if self.window is not None:
            window = _window_values(self.window, length, self.periodic)
            norm = {
                "density": np.sqrt(np.sum(window**2)),
                "spectrum": np.sum(np.abs(window)),
                None: 1.0,
            }[self.scaling]
            values = values * (window / norm)[:, None]
        return cast(values[:, None, :], result_dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            "side": self.side,
            "window": self.window,
            "periodic": self.periodic,
            "scaling": self.scaling,
        }
