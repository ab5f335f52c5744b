"""Normalization over features, groups of channels, and batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...compat.traceback_filter import warn
from ...core.log.variable import original
from ...core.ops import elementwise, movement
from ...core.ops.elementwise import cast, select, square, stop_gradient
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
    """Return the axes of a shape as a tuple of non-negative ints.

    Raises:
      ValueError: If an axis is out of bounds.
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
    """Return an int as it is, and a list or tuple of ints as a list.

    Raises:
      TypeError: If the argument is neither.
    """
    if isinstance(axis, int) and not isinstance(axis, bool):
        return axis
    if isinstance(axis, list | tuple) and all(isinstance(a, int) for a in axis):
        return list(axis)
    raise TypeError(
        f"Invalid value for `axis` argument. Expected an int or a list/tuple of ints for the "
        f"argument 'axis', but received instead: {repr_of(axis)}"
    )


class Normalizer(ConfiguredLayer):
    """Base class of layers that normalize, multiply by ``gamma`` and add ``beta``."""

    def _nt_set_affine_arguments(
        self,
        axis: int | list[int],
        epsilon: float,
        center: bool,
        scale: bool,
        **weight_arguments: object,
    ) -> None:
        self._nt_set_arguments(
            axis=axis, epsilon=float(epsilon), center=center, scale=scale, **weight_arguments
        )
        self.supports_masking = True
        self.autocast = self.autocast and not self._nt_casts  # 16 bits may not hold the inputs
        self.gamma: LayerVariable | None = None
        self.beta: LayerVariable | None = None

    def _nt_build_affine(self, shape: Sequence[int | None]) -> None:
        self.gamma = self._nt_weight("gamma", shape) if self.scale else None
        self.beta = self._nt_weight("beta", shape) if self.center else None

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
        normalize_axes(self.axis, input_shape)
        return tuple(input_shape)


_BOUNDS = "ValueError: If a name is unknown; in `build`, if an axis is out of bounds."


@document(
    f"TypeError: If ``axis`` is not an int or list of ints.\n{_BOUNDS}",
    rms_scaling="Whether to divide by the standard deviation without subtracting the mean; "
    "deprecated in Keras.",
)
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
        rms_scaling: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        axes = check_axis(axis)
        axes = sorted(axes) if isinstance(axes, list) else axes
        if rms_scaling:
            warn(
                "You passed `rms_scaling=True`, which is deprecated. This argument incorrectly "
                "scales the input by the variance, not the root mean square. To correctly use RMS "
                "Normalization, please use `keras.layers.RMSNormalization` instead."
            )
        self._nt_set_arguments(rms_scaling=rms_scaling)
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
        """Create ``gamma`` and ``beta``, whose shape is the sizes of the normalized axes."""
        shape = tuple(input_shape)
        if not shape:
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected "
                f"min_ndim=1, found ndim=0. Full shape received: ()"
            )
        sizes = tuple(shape[axis] for axis in normalize_axes(self.axis, shape))
        if self.rms_scaling:
            self.gamma = self._nt_weight("gamma", sizes)
        else:
            self._nt_build_affine(sizes)

    def call(self, inputs: Tensor) -> Tensor:
        """Normalize the inputs, multiply by ``gamma`` and add ``beta``."""
        inputs = self._nt_widen(inputs)
        shape = tuple(inputs.shape)
        axes = normalize_axes(self.axis, shape)
        result = self._nt_normalize(inputs, shape, axes)
        broadcast_shape = tuple(n if k in axes else 1 for k, n in enumerate(shape))
        if self.gamma is not None:
            result = result * self._nt_broadcast_weight(original(self.gamma), broadcast_shape, axes)
        if self.beta is not None:
            result = result + self._nt_broadcast_weight(original(self.beta), broadcast_shape, axes)
        return self._nt_narrow(result)

    def _nt_normalize(self, x: Tensor, shape: tuple[int, ...], axes: tuple[int, ...]) -> Tensor:
        if self.rms_scaling:
            _, variance = moments(x, list(axes), keepdims=True)
            scaled: Tensor = x * elementwise.rsqrt(variance + self.epsilon)
            return scaled
        if sorted(axes) == list(range(len(shape) - len(axes), len(shape))):
            if len(axes) == 1:
                return normalize(x, self.epsilon)
            batch_shape = shape[: -len(axes)]
            rows = movement.reshape(x, (*batch_shape, math.prod(shape[len(batch_shape) :])))
            return movement.reshape(normalize(rows, self.epsilon), shape)
        mean, variance = moments(x, list(axes), keepdims=True)
        result: Tensor = (x - mean) * elementwise.rsqrt(variance + self.epsilon)
        return result

    def _nt_broadcast_weight(
        self, weight: Tensor | Variable, broadcast_shape: tuple[int, ...], axes: tuple[int, ...]
    ) -> Any:
        """Reshape a weight so that it broadcasts with the inputs."""
        if axes == (len(broadcast_shape) - 1,):
            return weight
        return movement.reshape(weight, broadcast_shape)


@document(
    f"{_BOUNDS[:-1]} or its size is not a multiple of ``groups``.",
    groups="The number of groups of channels; -1 for one group per channel.",
    axis="The channel axis.",
)
class GroupNormalization(Normalizer):
    """Normalizes each group of channels of each example by its mean and variance.

    From Wu and He, "Group Normalization" (2018).

    >>> layer = tf.keras.layers.GroupNormalization(2, epsilon=0.0)
    >>> layer(tf.constant([[1.0, 3.0, 10.0, 30.0]])).numpy()
    array([[-1.,  1., -1.,  1.]], dtype=float32)
    """

    groups: int

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
        if not isinstance(groups, int) or (groups != -1 and groups <= 0):
            raise ValueError(
                f"Invalid value for argument `groups`. Expected a positive integer or -1. "
                f"Received: groups={repr_of(groups)}"
            )
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

    def build(self, input_shape: InputShape) -> None:
        """Create ``gamma`` and ``beta``, whose size is that of the channel axis."""
        shape: tuple[Any, ...] = tuple(input_shape)
        (axis,) = normalize_axes(self.axis, shape)
        size = shape[axis]
        if size is None:
            raise ValueError(
                f"Axis {self.axis} of input tensor should have a defined dimension but the layer "
                f"received an input with shape {shape}."
            )
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
        """Normalize the inputs, multiply by ``gamma`` and add ``beta``."""
        inputs = self._nt_widen(inputs)
        shape = tuple(inputs.shape)
        (axis,) = normalize_axes(self.axis, shape)
        group_size = shape[axis] // self.groups
        grouped = (*shape[:axis], self.groups, group_size, *shape[axis + 1 :])
        x = movement.reshape(inputs, grouped)
        axes = [k for k in range(1, len(grouped)) if k != axis]
        mean, variance = moments(x, axes, keepdims=True)
        broadcast_shape = tuple(n if k in (axis, axis + 1) else 1 for k, n in enumerate(grouped))
        factor: Any = elementwise.rsqrt(variance + self.epsilon)
        result = (x - mean) * factor
        if self.gamma is not None:
            result = result * movement.reshape(original(self.gamma), broadcast_shape)
        if self.beta is not None:
            result = result + movement.reshape(original(self.beta), broadcast_shape)
        return self._nt_narrow(movement.reshape(result, shape))


@document("TypeError: If ``axis`` is not an int or list of ints.")
class UnitNormalization(ConfiguredLayer):
    """Scales each example to a Euclidean norm of 1.

    >>> tf.keras.layers.UnitNormalization()(tf.constant([[3.0, 4.0]])).numpy()
    array([[0.6, 0.8]], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(axis=check_axis(axis))
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Tensor:
        """Divide the inputs by their norm."""
        inputs = self._nt_widen(inputs)
        squared_norm = reduce_sum(elementwise.square(inputs), self.axis, True)
        result: Tensor = inputs * elementwise.minimum(elementwise.rsqrt(squared_norm), 1e12)
        return self._nt_narrow(result)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
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
        """Create ``scale``, whose shape is the sizes of the normalized axes."""
        shape = tuple(input_shape)
        sizes = tuple(shape[axis] for axis in sorted(normalize_axes(self.axis, shape)))
        self.scale = self.add_weight(shape=sizes, initializer="ones", name="scale")

    def call(self, inputs: Tensor) -> Tensor:
        """Normalize the inputs and multiply by ``scale``."""
        inputs = self._nt_widen(inputs)
        shape = tuple(inputs.shape)
        axes = normalize_axes(self.axis, shape)
        mean = reduce_mean(elementwise.square(inputs), list(axes), True)
        broadcast_shape = tuple(n if k in axes else 1 for k, n in enumerate(shape))
        factor = elementwise.rsqrt(mean + self.epsilon)
        result: Tensor = inputs * factor * movement.reshape(original(self.scale), broadcast_shape)
        return self._nt_narrow(result)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
        normalize_axes(self.axis, input_shape)
        return tuple(input_shape)


@document(
    _BOUNDS,
    axis="The feature axis; moments are computed over all other axes.",
    momentum="The factor of the moving moments in each update.",
    moving_mean_initializer="The initializer of the moving mean.",
    moving_variance_initializer="The initializer of the moving variance.",
    renorm="Whether to correct the moments of a batch by those of the last batches: Ioffe, "
    '"Batch Renormalization" (2017).',
    renorm_clipping="The bounds of the correction: a dict of ``rmin``, ``rmax`` and ``dmax``.",
    renorm_momentum="The momentum of the moments that the correction uses.",
    synchronized="Must be False: moments are computed in one process.",
)
class BatchNormalization(Normalizer):
    """``gamma * (x - mean) / sqrt(variance + epsilon) + beta``, over the batch.

    In training, mean and variance are those of the batch, and ``moving_mean`` and
    ``moving_variance`` are updated: ``moving * momentum + new * (1 - momentum)``. Otherwise, and if
    the layer is not trainable, the moving moments are used. From Ioffe and Szegedy, "Batch
    Normalization" (2015).

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
        renorm: bool = False,
        renorm_clipping: dict[str, float] | None = None,
        renorm_momentum: float = 0.99,
        synchronized: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if renorm:
            renorm_clipping = _check_clipping(renorm_clipping or {})
        if synchronized:
            raise ValueError(
                "`synchronized=True` is not supported: moments are computed in one process. "
                "Write synchronized=False."
            )
        self._nt_set_arguments(
            momentum=float(momentum),
            synchronized=synchronized,
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_momentum,
        )
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
        """Create ``gamma``, ``beta``, ``moving_mean`` and ``moving_variance``."""
        shape = tuple(input_shape)
        (axis,) = normalize_axes(self.axis, shape)
        size = (shape[axis],)
        self._nt_build_affine(size)
        self.moving_mean = self._nt_weight("moving_mean", size, trainable=False)
        self.moving_variance = self._nt_weight("moving_variance", size, trainable=False)
        if self.renorm:
            make_variance = self.moving_variance_initializer

            def make_stddev(shape: Any, dtype: Any = None) -> Tensor:
                return elementwise.sqrt(make_variance(shape, dtype))

            for name, initializer in (
                ("moving_stddev", make_stddev),
                ("renorm_mean", self.moving_mean_initializer),
                ("renorm_stddev", make_stddev),
            ):
                weight = self.add_weight(size, initializer, trainable=False, name=name)
                setattr(self, name, weight)
        self.input_spec = InputSpec(ndim=len(shape), axes={self.axis: shape[axis]})

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Normalize the inputs; in training, also update the moving moments."""
        inputs = self._nt_widen(inputs)
        shape = tuple(inputs.shape)
        if mask is not None and len(mask.shape) != len(shape) - 1:
            raise ValueError(
                "The mask provided should be one dimension less than the inputs. Received: "
                f"mask.shape={tuple(mask.shape)}, inputs.shape={shape}"
            )
        (axis,) = normalize_axes(self.axis, shape)
        beta: Any = None if self.beta is None else original(self.beta)
        gamma: Any = None if self.gamma is None else original(self.gamma)
        mean: Any = original(self.moving_mean)
        variance: Any = original(self.moving_variance)
        if training and self.trainable:
            reduction_axes = [k for k in range(len(shape)) if k != axis]
            mean, variance = self._nt_moments(inputs, reduction_axes, mask)
            if self.renorm:
                gamma, beta = self._nt_renormalize(mean, variance, gamma, beta)
            else:
                self._nt_update_moving(self.moving_mean, mean)
                self._nt_update_moving(self.moving_variance, variance)
        broadcast_shape = [n if k == axis else 1 for k, n in enumerate(shape)]

        def broadcast(weight: Tensor | Variable | None) -> Any:
            """Reshape moments or a weight so that they broadcast with the inputs."""
            if weight is None or axis == len(shape) - 1:
                return weight
            return movement.reshape(weight, broadcast_shape)

        result = batch_normalization(
            inputs,
            broadcast(mean),
            broadcast(variance),
            broadcast(beta),
            broadcast(gamma),
            self.epsilon,
        )
        return self._nt_narrow(result)

    def _nt_moments(self, x: Tensor, axes: list[int], mask: Tensor | None) -> tuple[Tensor, Tensor]:
        if mask is None:
            return moments(x, axes)
        mask = cast(movement.expand_dims(mask, -1), bool_)
        mask = movement.broadcast_to(mask, tuple(x.shape))
        count = reduce_sum(cast(mask, x.dtype), axes, True) + 1e-7
        mean = reduce_sum(select(mask, x, 0.0), axes, True) / count
        variance = reduce_sum(select(mask, square(x - mean), 0.0), axes, True) / count
        return movement.squeeze(mean, axes), movement.squeeze(variance, axes)

    def _nt_renormalize(
        self, mean: Tensor, variance: Tensor, gamma: Any, beta: Any
    ) -> tuple[Tensor, Tensor]:
        """Return scale and offset of batch renormalization, and update the moving moments."""
        stddev = elementwise.sqrt(variance + self.epsilon)
        last_stddev = elementwise.maximum(original(self.renorm_stddev), self.epsilon**0.5)
        scale, offset = stddev / last_stddev, (mean - original(self.renorm_mean)) / last_stddev
        bounds: dict[str, Any] = self.renorm_clipping
        if bounds.get("rmin") is not None:
            scale = elementwise.maximum(scale, bounds["rmin"])
        if bounds.get("rmax") is not None:
            scale = elementwise.minimum(scale, bounds["rmax"])
        if (limit := bounds.get("dmax")) is not None:
            offset = elementwise.clip_by_value(offset, -limit, limit)
        scale, offset = stop_gradient(scale), stop_gradient(offset)
        if gamma is not None:
            scale, offset = scale * gamma, offset * gamma
        self._nt_update_moving(self.renorm_mean, mean, self.renorm_momentum)
        self._nt_update_moving(self.renorm_stddev, stddev, self.renorm_momentum)
        self._nt_update_moving(self.moving_mean, mean)
        moving_stddev = self._nt_update_moving(self.moving_stddev, stddev)
        new_variance = elementwise.maximum(square(moving_stddev) - self.epsilon, 0.0)
        original(self.moving_variance).assign(new_variance)
        return scale, offset if beta is None else offset + beta

    def _nt_update_moving(
        self, moving: LayerVariable, value: Tensor, momentum: float | None = None
    ) -> Tensor:
        """Move a moving moment toward a new value, and return the result."""
        share = self.momentum if momentum is None else momentum
        variable = original(moving)
        result: Tensor = variable * share + value * (1.0 - share)
        variable.assign(result)
        return result


def _check_clipping(bounds: dict[str, float]) -> dict[str, float]:
    """Return the bounds of batch renormalization.

    Raises:
      ValueError: If a name is unknown, or the bounds exclude all values.
    """
    if set(bounds) - {"rmax", "rmin", "dmax"}:
        raise ValueError(
            f"Received invalid keys for `renorm_clipping` argument: {bounds}. Supported values: "
            f"['rmax', 'rmin', 'dmax']."
        )
    rmax, rmin, dmax = (bounds.get(name) for name in ("rmax", "rmin", "dmax"))
    if rmax is not None and rmin is not None and rmax < rmin:
        raise ValueError(
            f"rmax should be greater than rmin in the `renorm_clipping` argument. Received: "
            f"rmax={rmax}, rmin={rmin}."
        )
    if dmax is not None and dmax < 0:
        raise ValueError(
            f"dmax should be non-negative in the `renorm_clipping` argument. Received: dmax={dmax}."
        )
    return bounds
