"""`Normalization`, by moments that are given or computed from data, and `Rescaling`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.log.as_tensor import as_tensor
from ...core.log.variable import Variable, original
from ...core.ops import elementwise
from ...core.ops.movement import reshape
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from ..config import image_data_format
from .base import ConfiguredLayer, Shape, document

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.values.annotations import TensorLike
    from ..annotations import InputShape


@document(
    "ValueError: If only one of mean and variance is given, or their shapes are incompatible; in "
    "`build`, if an axis is out of range.",
    axis="The axes with separate moments; None for one mean and variance.",
    mean="The mean; None to compute it by `adapt`.",
    variance="The variance; None to compute it by `adapt`.",
    invert="Whether to invert the normalization.",
)
class Normalization(ConfiguredLayer):
    """``(x - mean) / sqrt(variance)``, with moments that are given or computed by `adapt`.

    >>> layer = tf.keras.layers.Normalization()
    >>> layer.adapt(np.array([[1.0, 10.0], [3.0, 30.0]]))
    >>> layer(tf.constant([[5.0, 20.0]])).numpy()
    array([[3., 0.]], dtype=float32)
    """

    def __init__(
        self,
        axis: int | Sequence[int] | None = -1,
        mean: ArrayLike | None = None,
        variance: ArrayLike | None = None,
        invert: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        axes = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        self._nt_set_arguments(axis=axes, invert=invert)
        self.supports_masking = True
        if (mean is None) != (variance is None):
            raise ValueError(
                "When setting values directly, both `mean` and `variance` must be set. Received: "
                f"mean={repr_of(mean)} and variance={repr_of(variance)}"
            )
        self.input_mean, self.input_variance = mean, variance
        if mean is not None and variance is not None:
            shape = np.shape(mean)
            if shape != np.shape(variance):
                raise ValueError(
                    "When setting values directly, `mean` and `variance` must have the same "
                    f"shape. Received: mean shape {shape} and variance shape "
                    f"{np.shape(variance)}"
                )
            if len(shape) > len(axes):
                raise ValueError(
                    "The rank of `mean` must be less than or equal to the number of axes "
                    f"({len(axes)}). Received: mean shape {shape} for axis {axes}"
                )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        provided = {"mean": self.input_mean, "variance": self.input_variance}
        return super().get_config() | {
            name: None if value is None else np.asarray(value).tolist()
            for name, value in provided.items()
        }

    def build(self, input_shape: InputShape) -> None:
        """Create weights for the moments, unless the constructor got their values."""
        shape = tuple(input_shape)
        if any(not -len(shape) <= axis < len(shape) for axis in self.axis):
            raise ValueError(
                "All `axis` values must be in the range [-ndim, ndim). Received inputs with "
                f"ndim={len(shape)}, while axis={self.axis}"
            )
        self._nt_kept_axes = sorted({axis % len(shape) for axis in self.axis})
        for axis in self._nt_kept_axes:
            if shape[axis] is None:
                raise ValueError(
                    "All `axis` values to be kept must have a known shape. Received "
                    f"axis={self.axis}, inputs.shape={shape}, with unknown axis at index {axis}"
                )
        self._nt_built_for = shape
        self._nt_wide = tuple(
            n if k in self._nt_kept_axes and n is not None else 1 for k, n in enumerate(shape)
        )
        sizes = tuple(shape[axis] for axis in self._nt_kept_axes)
        if self.input_mean is None:
            self.adapt_mean: Variable = self.add_weight(
                shape=sizes, initializer="zeros", trainable=False, name="mean"
            )
            self.adapt_variance: Variable = self.add_weight(
                shape=sizes, initializer="ones", trainable=False, name="variance"
            )
            self.count: Variable = self.add_weight(
                shape=(), initializer="zeros", dtype="int32", trainable=False, name="count"
            )

    def _nt_broadcast_constant(self, constant: ArrayLike) -> Any:
        """Reshape given moments so that they broadcast with the inputs."""
        value = np.asarray(constant, self.dtype)
        sizes = [1] * len(self._nt_wide)
        for axis, size in zip(self._nt_kept_axes[::-1], value.shape[::-1], strict=False):
            sizes[axis] = size
        return np.broadcast_to(value.reshape(sizes), self._nt_wide)

    def _nt_moment(self, constant: ArrayLike | None, name: str) -> Tensor:
        if constant is not None:
            return as_tensor(self._nt_broadcast_constant(constant))
        return reshape(original(getattr(self, name)), self._nt_wide)

    @property
    def mean(self) -> Any:
        """The mean, in a shape that broadcasts with the inputs; None before `build`."""
        return self._nt_moment_if_built(self.input_mean, "adapt_mean")

    @property
    def variance(self) -> Any:
        """The variance, in a shape that broadcasts with the inputs; None before `build`."""
        return self._nt_moment_if_built(self.input_variance, "adapt_variance")

    def _nt_moment_if_built(self, constant: ArrayLike | None, name: str) -> Any:
        return self._nt_moment(constant, name) if self.built else None

    def adapt(self, data: TensorLike | Iterable[Any]) -> None:
        """Compute the mean and variance of data.

        Args:
          data: An array or tensor, or an iterable of batches, such as a dataset; of a tuple, only
            the first item is used.

        Raises:
          ValueError: If the data is empty or its shape is incompatible, or the moments were passed
            to the constructor.
          TypeError: If the data is neither an array nor an iterable of batches.
        """
        if self.input_mean is not None:
            raise ValueError(
                "`adapt` has nothing to compute: `mean` and `variance` were given. Omit them in "
                "the constructor, or omit `adapt`."
            )
        batches = self._nt_batches(data)
        first_batch = next(batches, None)
        if first_batch is None:
            raise ValueError(
                "adapt() received an empty iterable (no batches). Expected at least one batch."
            )
        if not self.built:
            self.build(first_batch.shape)
        count, mean, variance = 0, np.zeros(()), np.zeros(())
        for batch in itertools.chain([first_batch], batches):
            self._nt_check_batch(batch)
            axes = tuple(k for k in range(batch.ndim) if k not in self._nt_kept_axes)
            batch_mean, batch_count = batch.mean(axes), math.prod(batch.shape[k] for k in axes)
            count += batch_count
            weight = batch_count / count if count else 1.0
            new_mean = mean * (1 - weight) + batch_mean * weight
            # The mean squared distances of the earlier batches and of this one from the new mean.
            variance = (variance + (mean - new_mean) ** 2) * (1 - weight) + (
                batch.var(axes) + (batch_mean - new_mean) ** 2
            ) * weight
            mean = new_mean
        self.adapt_mean.assign(mean.astype(self.dtype))
        self.adapt_variance.assign(variance.astype(self.dtype))

    def _nt_check_batch(self, batch: np.ndarray[Any, Any]) -> None:
        """Raise if the shape of a batch differs from the shape in `build`."""
        is_compatible = batch.ndim == len(self._nt_built_for) and all(
            batch.shape[axis] == self._nt_built_for[axis] for axis in self._nt_kept_axes
        )
        if not is_compatible:
            raise ValueError(
                f"The layer was built with input_shape={self._nt_built_for}, but adapt() is being "
                f"called with data with an incompatible shape, data.shape={batch.shape}"
            )

    def _nt_batches(self, data: Any) -> Iterator[np.ndarray[Any, Any]]:
        """Iterate over the batches of `adapt` as arrays of float64."""
        if isinstance(data, np.ndarray | Tensor | Variable):
            yield np.asarray(data, np.float64)
            return
        if isinstance(data, str) or not hasattr(data, "__iter__"):
            raise TypeError(
                f"Unsupported data type: {type(data)}. `adapt` supports arrays, tensors, and "
                f"iterables of batches."
            )
        for batch in data:
            value = batch[0] if isinstance(batch, tuple) else batch
            if not hasattr(value, "shape"):
                raise TypeError(
                    "adapt() expects an iterable that yields arrays or tensors with a `.shape` "
                    f"attribute. Got an element of type {type(value).__name__}."
                )
            yield np.asarray(value, np.float64)

    def call(self, inputs: Tensor) -> Tensor:
        """Normalize the inputs, or invert the normalization."""
        dtype = self.compute_dtype
        inputs, mean = elementwise.cast(inputs, dtype), elementwise.cast(self.mean, dtype)
        # The root of a variance often fits into 16 bits when the variance does not.
        scale = elementwise.maximum(elementwise.sqrt(self.variance), 1e-7)
        scale = elementwise.cast(scale, dtype)
        result: Tensor = mean + inputs * scale if self.invert else (inputs - mean) / scale
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
        return tuple(input_shape)


@document(
    "",
    scale="A number, or an array that broadcasts with the inputs.",
    offset="A number or array to add after scaling.",
)
class Rescaling(ConfiguredLayer):
    """``inputs * scale + offset``, for example to map pixels from [0, 255] to [0, 1].

    >>> tf.keras.layers.Rescaling(1 / 255, offset=-0.5)(tf.constant([0.0, 255.0])).numpy()
    array([-0.5,  0.5], dtype=float32)
    """

    def __init__(self, scale: ArrayLike, offset: ArrayLike = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(scale=scale, offset=offset)
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Tensor:
        """Return ``inputs * scale + offset``."""
        dtype = self.compute_dtype
        scale, offset = (np.asarray(value, self.dtype) for value in (self.scale, self.offset))
        if scale.ndim and image_data_format() == "channels_first":
            scale = scale.reshape(scale.shape + (1,) * (3 - scale.ndim))
        factor, shift = elementwise.cast(scale, dtype), elementwise.cast(offset, dtype)
        result: Tensor = elementwise.cast(inputs, dtype) * factor + shift
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
        return tuple(input_shape)
