"""Batch normalization: by the batch's moments in training, by moving ones else."""

from __future__ import annotations

from typing import Any

from ...core.log.variable import original
from ...core.ops import movement
from ...core.ops.elementwise import cast, select, square
from ...core.ops.normalization import batch_normalization
from ...core.ops.reduction import reduce_sum
from ...core.ops.statistics import moments
from ...core.values.dtypes import bool_
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
from .configured import document
from .normalization import Normalizing, count


@document(
    "ValueError: If a name is unknown; at the first call, if the inputs have no such axis.",
    axis="The axis of the features: they are normalized over all others.",
    momentum="How much of the moving moments stays at each step.",
    moving_mean_initializer="Where the moving mean begins.",
    moving_variance_initializer="Where the moving variance begins.",
    synchronized="False: moments are those of this process.",
)
class BatchNormalization(Normalizing):
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
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        synchronized: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if synchronized:
            raise ValueError("`synchronized=True` is not there: moments are of one process.")
        self._nt_keep(momentum=float(momentum), synchronized=synchronized)
        self._nt_keep_affine(
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

    def build(self, input_shape: Any) -> None:
        """Make ``gamma``, ``beta``, ``moving_mean`` and ``moving_variance``."""
        shape = tuple(input_shape)
        (axis,) = count(self.axis, shape)
        size = (shape[axis],)
        self._nt_build_affine(size)
        self.moving_mean = self._nt_weight("moving_mean", size, trainable=False)
        self.moving_variance = self._nt_weight("moving_variance", size, trainable=False)
        self.input_spec = InputSpec(ndim=len(shape), axes={self.axis: shape[axis]})

    def call(self, inputs: Tensor, training: bool | None = None, mask: Any = None) -> Tensor:
        """Give the inputs, normalized, scaled and shifted; in training, move the moments."""
        inputs = self._nt_floats(inputs)
        shape = tuple(inputs.shape)
        if mask is not None and len(mask.shape) != len(shape) - 1:
            raise ValueError(
                "The mask provided should be one dimension less than the inputs. Received: "
                f"mask.shape={tuple(mask.shape)}, inputs.shape={shape}"
            )
        (axis,) = count(self.axis, shape)
        mean: Any = original(self.moving_mean)
        variance: Any = original(self.moving_variance)
        if training and self.trainable:
            others = [k for k in range(len(shape)) if k != axis]
            mean, variance = self._nt_moments(inputs, others, mask)
            self._nt_move(self.moving_mean, mean)
            self._nt_move(self.moving_variance, variance)
        wide = [n if k == axis else 1 for k, n in enumerate(shape)]

        def along(part: Any) -> Any:
            """Moments or a weight in a shape that broadcasts with the inputs."""
            if part is None or axis == len(shape) - 1:
                return part
            return movement.reshape(part, wide)

        beta, gamma = (None if v is None else original(v) for v in (self.beta, self.gamma))
        return batch_normalization(
            inputs, along(mean), along(variance), along(beta), along(gamma), self.epsilon
        )

    def _nt_moments(self, x: Tensor, axes: list[int], mask: Any) -> tuple[Tensor, Tensor]:
        if mask is None:
            return moments(x, axes)
        there = cast(movement.expand_dims(mask, -1), bool_)
        there = movement.broadcast_to(there, tuple(x.shape))
        count = reduce_sum(cast(there, x.dtype), axes, True) + 1e-7
        mean = reduce_sum(select(there, x, 0.0), axes, True) / count
        variance = reduce_sum(select(there, square(x - mean), 0.0), axes, True) / count
        return movement.squeeze(mean, axes), movement.squeeze(variance, axes)

    def _nt_move(self, moving: Any, value: Tensor) -> None:
        old = original(moving)
        old.assign(old * self.momentum + value * (1.0 - self.momentum))
