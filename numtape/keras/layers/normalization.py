"""Normalization layers: of each example, of groups, and of batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.variable import original
from ...core.ops import elementwise, movement
from ...core.ops.elementwise import cast, select, square
from ...core.ops.normalization import batch_normalization, normalize
from ...core.ops.reduction import moments, reduce_mean, reduce_sum
from ...core.values.dtypes import bool_, repr_of
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
from ..layer import LayerVariable
from .base import ConfiguredLayer, Shape, document

if TYPE_CHECKING:
    from ...core.log.variable import Variable
    from ..annotations import ConstraintLike, InitializerLike, InputShape, RegularizerLike


def normalize_axes(axis: int | Sequence[int], shape: InputShape) -> tuple[int, ...]:
    """Axes as numbers from 0, for a shape.

    Raises:
      ValueError: If one is out of bounds.
    """
    shape = tuple(shape)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for number in axes:
        if not -len(shape) <= number < len(shape):
            raise ValueError(
                f"Axis {number} is out of bounds for input shape {shape}. Received: axis={axis}"
            )
    return tuple(number % len(shape) for number in axes)


def check_axis(axis: object) -> int | list[int]:
    """An axis, or a list of them.

    Raises:
      TypeError: If it is something else.
    """
    if isinstance(axis, int) and not isinstance(axis, bool):
        return axis
    if isinstance(axis, list | tuple) and all(isinstance(a, int) for a in axis):
        return list(axis)
    raise TypeError(
        "Invalid value for `axis` argument: expected an int or a list/tuple of ints. Received: "
        f"axis={repr_of(axis)}"
    )


class Normalizer(ConfiguredLayer):
    """A layer that normalizes: the shape stays; a gamma scales, a beta shifts."""

    def _nt_set_affine_arguments(
        self,
        axis: int | list[int],
        epsilon: float,
        center: bool,
        scale: bool,
        **initializers: object,
    ) -> None:
        self._nt_set_arguments(
            axis=axis, epsilon=float(epsilon), center=center, scale=scale, **initializers
        )
        self.supports_masking = True
        self.gamma: LayerVariable | None = None
        self.beta: LayerVariable | None = None

    def _nt_build_affine(self, shape: Sequence[int | None]) -> None:
        self.gamma = self._nt_weight("gamma", shape) if self.scale else None
        self.beta = self._nt_weight("beta", shape) if self.center else None

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Give the shape of the inputs."""
        normalize_axes(self.axis, input_shape)
        return tuple(input_shape)


_BOUNDS = "ValueError: If a name is unknown; at the first call, if the inputs have no such axis."


@document(f"TypeError: If ``axis`` is not an int or list of ints.\n{_BOUNDS}")
class LayerNormalization(Normalizer):
    """``gamma * (x - mean) / sqrt(variance + epsilon) + beta`` over one axis or several.

    From Ba, Kiros and Hinton, "Layer Normalization" (2016).

    >>> layer = tf.keras.layers.LayerNormalization(epsilon=0.0)
    >>> layer(tf.constant([[1.0, 3.0], [10.0, 30.0]])).numpy()
    array([[-1.,  1.],
           [-1.,  1.]], dtype=float32)
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        beta_regularizer: RegularizerLike = None,
        gamma_regularizer: RegularizerLike = None,
        beta_constraint: ConstraintLike = None,
        gamma_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        axes = check_axis(axis)
        axes = sorted(axes) if isinstance(axes, list) else axes
        self._nt_set_affine_arguments(
            axes,
            epsilon,
            center,
            scale,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer,
            beta_constraint=beta_constraint,
            gamma_constraint=gamma_constraint,
        )

    def build(self, input_shape: InputShape) -> None:
        """Make ``gamma`` and ``beta``, of the sizes of the axes that are normalized."""
        shape = tuple(input_shape)
        if not shape:
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected "
                f"min_ndim=1, found ndim=0. Full shape received: ()"
            )
        self._nt_build_affine(tuple(shape[axis] for axis in normalize_axes(self.axis, shape)))

    def call(self, inputs: Tensor) -> Tensor:
        """Give the inputs, normalized, scaled and shifted."""
        inputs = self._nt_floats(inputs)
        shape = tuple(inputs.shape)
        axes = normalize_axes(self.axis, shape)
        result = self._nt_normalize(inputs, shape, axes)
        wide = tuple(n if k in axes else 1 for k, n in enumerate(shape))
        if self.gamma is not None:
            result = result * self._nt_broadcast_weight(original(self.gamma), wide, axes)
        if self.beta is not None:
            result = result + self._nt_broadcast_weight(original(self.beta), wide, axes)
        return result

    def _nt_normalize(self, x: Tensor, shape: tuple[int, ...], axes: tuple[int, ...]) -> Tensor:
        if sorted(axes) == list(range(len(shape) - len(axes), len(shape))):
            if len(axes) == 1:
                return normalize(x, self.epsilon)
            lead = shape[: -len(axes)]
            rows = movement.reshape(x, (*lead, math.prod(shape[len(lead) :])))
            return movement.reshape(normalize(rows, self.epsilon), shape)
        mean, variance = moments(x, list(axes), keepdims=True)
        result: Tensor = (x - mean) * elementwise.rsqrt(variance + self.epsilon)
        return result

    def _nt_broadcast_weight(
        self, weight: Tensor | Variable, wide: tuple[int, ...], axes: tuple[int, ...]
    ) -> Any:
        """A weight in a shape that broadcasts with the inputs."""
        if axes == (len(wide) - 1,):
            return weight
        return movement.reshape(weight, wide)


@document(
    f"{_BOUNDS[:-1]}, or its size cannot be parted.",
    groups="Into how many groups the channels are parted; -1 for one each.",
    axis="The axis of the channels.",
)
class GroupNormalization(Normalizer):
    """Each group of channels normalized by its mean and variance, over all places.

    From Wu and He, "Group Normalization" (2018).

    >>> layer = tf.keras.layers.GroupNormalization(2, epsilon=0.0)
    >>> layer(tf.constant([[1.0, 3.0, 10.0, 30.0]])).numpy()
    array([[-1.,  1., -1.,  1.]], dtype=float32)
    """

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        beta_regularizer: RegularizerLike = None,
        gamma_regularizer: RegularizerLike = None,
        beta_constraint: ConstraintLike = None,
        gamma_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(groups=groups)
        self._nt_set_affine_arguments(
            axis,
            epsilon,
            center,
            scale,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer,
            beta_constraint=beta_constraint,
            gamma_constraint=gamma_constraint,
        )

    groups: int

    def build(self, input_shape: InputShape) -> None:
        """Make ``gamma`` and ``beta``, of the size of the channel axis."""
        shape: tuple[Any, ...] = tuple(input_shape)
        (axis,) = normalize_axes(self.axis, shape)
        size = shape[axis]
        if self.groups == -1:
            self.groups = size
        if size < self.groups:
            raise ValueError(
                f"Number of groups ({self.groups}) cannot be more than the number of channels "
                f"({size})."
            )
        if self.groups <= 0 or size % self.groups:
            raise ValueError(
                f"Number of groups ({self.groups}) must be a multiple of the number of channels "
                f"({size})."
            )
        self._nt_build_affine((size,))
        self.input_spec = InputSpec(ndim=len(shape), axes={self.axis: size})

    def call(self, inputs: Tensor) -> Tensor:
        """Give the inputs, normalized, scaled and shifted."""
        inputs = self._nt_floats(inputs)
        shape = tuple(inputs.shape)
        (axis,) = normalize_axes(self.axis, shape)
        each = shape[axis] // self.groups
        separate = (*shape[:axis], self.groups, each, *shape[axis + 1 :])
        x = movement.reshape(inputs, separate)
        axes = [k for k in range(1, len(separate)) if k != axis]
        mean, variance = moments(x, axes, keepdims=True)
        wide = tuple(n if k in (axis, axis + 1) else 1 for k, n in enumerate(separate))
        factor: Any = elementwise.rsqrt(variance + self.epsilon)
        result = (x - mean) * factor
        if self.gamma is not None:
            result = result * movement.reshape(original(self.gamma), wide)
        if self.beta is not None:
            result = result + movement.reshape(original(self.beta), wide)
        return movement.reshape(result, shape)


@document("TypeError: If ``axis`` is not an int or list of ints.")
class UnitNormalization(ConfiguredLayer):
    """Each element of a batch scaled to a Euclidean length of 1.

    >>> tf.keras.layers.UnitNormalization()(tf.constant([[3.0, 4.0]])).numpy()
    array([[0.6, 0.8]], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(axis=check_axis(axis))
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Tensor:
        """Give the inputs, divided by their length."""
        inputs = self._nt_floats(inputs)
        square = reduce_sum(elementwise.square(inputs), self.axis, True)
        result: Tensor = inputs * elementwise.minimum(elementwise.rsqrt(square), 1e12)
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Give the shape of the inputs."""
        normalize_axes(self.axis, input_shape)
        return tuple(input_shape)


@document("TypeError: If ``axis`` is not an int or list of ints.")
class RMSNormalization(ConfiguredLayer):
    """``scale * x / sqrt(mean(x ** 2) + epsilon)``.

    From Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).

    >>> tf.keras.layers.RMSNormalization()(tf.constant([[1.0, 7.0]])).numpy()
    array([[0.2, 1.4]], dtype=float32)
    """

    def __init__(
        self, axis: int | Sequence[int] = -1, epsilon: float = 1e-6, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(axis=check_axis(axis), epsilon=epsilon)

    def build(self, input_shape: InputShape) -> None:
        """Make ``scale``, of the sizes of the axes that are normalized."""
        shape = tuple(input_shape)
        sizes = tuple(shape[axis] for axis in sorted(normalize_axes(self.axis, shape)))
        self.scale = self.add_weight(shape=sizes, initializer="ones", name="scale")

    def call(self, inputs: Tensor) -> Tensor:
        """Give the inputs, normalized and scaled."""
        inputs = self._nt_floats(inputs)
        shape = tuple(inputs.shape)
        axes = normalize_axes(self.axis, shape)
        mean = reduce_mean(elementwise.square(inputs), list(axes), True)
        wide = tuple(n if k in axes else 1 for k, n in enumerate(shape))
        factor = elementwise.rsqrt(mean + self.epsilon)
        result: Tensor = inputs * factor * movement.reshape(original(self.scale), wide)
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Give the shape of the inputs."""
        normalize_axes(self.axis, input_shape)
        return tuple(input_shape)


@document(
    "ValueError: If a name is unknown; at the first call, if the inputs have no such axis.",
    axis="The axis of the features: they are normalized over all others.",
    momentum="How much of the moving moments stays at each step.",
    moving_mean_initializer="Where the moving mean begins.",
    moving_variance_initializer="Where the moving variance begins.",
    synchronized="False: moments are those of this process.",
)
class BatchNormalization(Normalizer):
    """``gamma * (x - mean) / sqrt(variance + epsilon) + beta``, over the batch.

    In training, mean and variance are the batch's, and ``moving_mean`` and ``moving_variance``
    move towards them: ``moving * momentum + new * (1 - momentum)``. Else, and in a layer that is
    not trainable, these are used. From Ioffe and Szegedy, "Batch Normalization" (2015).

    >>> layer = tf.keras.layers.BatchNormalization(momentum=0.5, epsilon=0.0)
    >>> layer(tf.constant([[1.0], [3.0]]), training=True).numpy().ravel()
    array([-1.,  1.], dtype=float32)
    >>> layer.moving_mean.numpy(), layer.moving_variance.numpy()
    (array([1.], dtype=float32), array([1.], dtype=float32))
    >>> layer(tf.constant([[1.0], [3.0]])).numpy().ravel()
    array([0., 2.], dtype=float32)
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        moving_mean_initializer: InitializerLike = "zeros",
        moving_variance_initializer: InitializerLike = "ones",
        beta_regularizer: RegularizerLike = None,
        gamma_regularizer: RegularizerLike = None,
        beta_constraint: ConstraintLike = None,
        gamma_constraint: ConstraintLike = None,
        synchronized: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if synchronized:
            raise ValueError("`synchronized=True` is not there: moments are of one process.")
        self._nt_set_arguments(momentum=float(momentum), synchronized=synchronized)
        self._nt_set_affine_arguments(
            axis,
            epsilon,
            center,
            scale,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            moving_mean_initializer=moving_mean_initializer,
            moving_variance_initializer=moving_variance_initializer,
            beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer,
            beta_constraint=beta_constraint,
            gamma_constraint=gamma_constraint,
        )

    def build(self, input_shape: InputShape) -> None:
        """Make ``gamma``, ``beta``, ``moving_mean`` and ``moving_variance``."""
        shape = tuple(input_shape)
        (axis,) = normalize_axes(self.axis, shape)
        size = (shape[axis],)
        self._nt_build_affine(size)
        self.moving_mean = self._nt_weight("moving_mean", size, trainable=False)
        self.moving_variance = self._nt_weight("moving_variance", size, trainable=False)
        self.input_spec = InputSpec(ndim=len(shape), axes={self.axis: shape[axis]})

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Give the inputs, normalized, scaled and shifted; in training, move the moments."""
        inputs = self._nt_floats(inputs)
        shape = tuple(inputs.shape)
        if mask is not None and len(mask.shape) != len(shape) - 1:
            raise ValueError(
                "The mask provided should be one dimension less than the inputs. Received: "
                f"mask.shape={tuple(mask.shape)}, inputs.shape={shape}"
            )
        (axis,) = normalize_axes(self.axis, shape)
        mean: Any = original(self.moving_mean)
        variance: Any = original(self.moving_variance)
        if training and self.trainable:
            others = [k for k in range(len(shape)) if k != axis]
            mean, variance = self._nt_moments(inputs, others, mask)
            self._nt_update_moving(self.moving_mean, mean)
            self._nt_update_moving(self.moving_variance, variance)
        wide = [n if k == axis else 1 for k, n in enumerate(shape)]

        def along(part: Tensor | Variable | None) -> Any:
            """Moments or a weight in a shape that broadcasts with the inputs."""
            if part is None or axis == len(shape) - 1:
                return part
            return movement.reshape(part, wide)

        beta, gamma = (None if v is None else original(v) for v in (self.beta, self.gamma))
        return batch_normalization(
            inputs, along(mean), along(variance), along(beta), along(gamma), self.epsilon
        )

    def _nt_moments(self, x: Tensor, axes: list[int], mask: Tensor | None) -> tuple[Tensor, Tensor]:
        if mask is None:
            return moments(x, axes)
        there = cast(movement.expand_dims(mask, -1), bool_)
        there = movement.broadcast_to(there, tuple(x.shape))
        count = reduce_sum(cast(there, x.dtype), axes, True) + 1e-7
        mean = reduce_sum(select(there, x, 0.0), axes, True) / count
        variance = reduce_sum(select(there, square(x - mean), 0.0), axes, True) / count
        return movement.squeeze(mean, axes), movement.squeeze(variance, axes)

    def _nt_update_moving(self, moving: LayerVariable, value: Tensor) -> None:
        old = original(moving)
        old.assign(old * self.momentum + value * (1.0 - self.momentum))
