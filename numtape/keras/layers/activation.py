"""Activations as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.variable import original
from ...core.ops.elementwise import cast, select
from ...core.values.dtypes import bool_, repr_of
from ...core.values.tensor import Tensor
from .. import activations
from ..input_spec import InputSpec
from .base import ConfiguredLayer, Shape, document

if TYPE_CHECKING:
    from ..annotations import (
        ActivationLike,
        ConstraintLike,
        InitializerLike,
        InputShape,
        RegularizerLike,
    )


class _Elementwise(ConfiguredLayer):
    """A layer whose output has the shape and the mask of its inputs."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Give the shape of the inputs."""
        return tuple(input_shape)


@document("ValueError: If the name is unknown.", activation="A function or the name of one.")
class Activation(_Elementwise):
    """A function of `keras.activations`, or another one, as a layer.

    >>> tf.keras.layers.Activation("relu")(tf.constant([-1.0, 2.0])).numpy()
    array([0., 2.], dtype=float32)
    """

    def __init__(self, activation: ActivationLike, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(activation=activation)

    def call(self, inputs: Tensor) -> Tensor:
        """Give ``activation(inputs)``."""
        result: Tensor = self._nt_activation()(inputs)
        return result


def _check_non_negative(value: object, name: str, kind: str) -> float:
    """A number that is not negative.

    Raises:
      ValueError: If it is negative, or no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(
            f"{name} of a {kind} layer cannot be None or a negative value. Received: "
            f"{name}={repr_of(value)}"
        )
    return value


@document(
    "ValueError: If a number is negative.",
    max_value="The largest result; None for no bound.",
    negative_slope="The slope below the threshold.",
    threshold="Where the line begins.",
)
class ReLU(_Elementwise):
    """``x`` above ``threshold``, at most ``max_value``; below, a line of ``negative_slope``.

    >>> tf.keras.layers.ReLU(max_value=6.0)(tf.constant([-1.0, 2.0, 9.0])).numpy()
    array([0., 2., 6.], dtype=float32)
    """

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if max_value is not None:
            _check_non_negative(max_value, "max_value", "ReLU")
        self._nt_set_arguments(
            max_value=max_value,
            negative_slope=_check_non_negative(negative_slope, "negative_slope", "ReLU"),
            threshold=_check_non_negative(threshold, "threshold", "ReLU"),
        )

    def call(self, inputs: Tensor) -> Tensor:
        """Give the activation of each element."""
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


@document(
    "ValueError: If the slope is negative.", negative_slope="The slope where inputs are negative."
)
class LeakyReLU(_Elementwise):
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    >>> tf.keras.layers.LeakyReLU()(tf.constant([-1.0, 2.0])).numpy()
    array([-0.3,  2. ], dtype=float32)
    """

    def __init__(self, negative_slope: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        slope = _check_non_negative(negative_slope, "negative_slope", "LeakyReLU")
        self._nt_set_arguments(negative_slope=slope)

    def call(self, inputs: Tensor) -> Tensor:
        """Give the activation of each element."""
        return activations.leaky_relu(inputs, self.negative_slope)


@document("", alpha="The factor of the exponential.")
class ELU(_Elementwise):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    >>> tf.keras.layers.ELU()(tf.constant([-1.0, 2.0])).numpy()
    array([-0.63212055,  2.        ], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(alpha=alpha)

    def call(self, inputs: Tensor) -> Tensor:
        """Give the activation of each element."""
        return activations.elu(inputs, self.alpha)


@document(
    "ValueError: If a name is unknown; at the first call, if there is no such axis.",
    shared_axes="Axes, from 1, along which all elements have one slope; None for none.",
)
class PReLU(_Elementwise):
    """``x`` where positive, ``alpha * x`` elsewhere, with slopes that are learned.

    From He, Zhang, Ren and Sun, "Delving Deep into Rectifiers" (2015).

    >>> layer = tf.keras.layers.PReLU(alpha_initializer="ones")
    >>> layer(tf.constant([[-1.0, 2.0]])).numpy(), layer.alpha.shape
    (array([[-1.,  2.]], dtype=float32), TensorShape([2]))
    """

    def __init__(
        self,
        alpha_initializer: InitializerLike = "Zeros",
        alpha_regularizer: RegularizerLike = None,
        alpha_constraint: ConstraintLike = None,
        shared_axes: int | list[int] | tuple[int, ...] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if shared_axes is not None:
            shared_axes = (
                list(shared_axes) if isinstance(shared_axes, list | tuple) else [shared_axes]
            )
        self._nt_set_arguments(
            alpha_initializer=alpha_initializer,
            alpha_regularizer=alpha_regularizer,
            alpha_constraint=alpha_constraint,
            shared_axes=shared_axes,
        )

    def build(self, input_shape: InputShape) -> None:
        """Make ``alpha``, of the shape of an element of the batch."""
        shape = tuple(input_shape)
        shared = self.shared_axes or []
        if not all(isinstance(axis, int) and 1 <= axis < len(shape) for axis in shared):
            raise ValueError(
                f"`shared_axes` are axes from 1 to {len(shape) - 1}, received {repr_of(shared)}"
            )
        self.alpha = self._nt_weight(
            "alpha", (1 if k in shared else n for k, n in enumerate(shape) if k)
        )
        axes = {k: n for k, n in enumerate(shape) if shared and k and k not in shared}
        self.input_spec = InputSpec(ndim=len(shape), axes=axes)

    def call(self, inputs: Tensor) -> Tensor:
        """Give the activation of each element."""
        below = original(self.alpha) * activations.relu(-inputs)
        result: Tensor = activations.relu(inputs) - below
        return result


@document(
    "ValueError: If ``axis`` is empty.",
    axis="The axis along which the outputs add up to 1, or a list of axes.",
)
class Softmax(_Elementwise):
    """Exponentials, divided by their sum.

    >>> tf.keras.layers.Softmax()(tf.math.log([1.0, 3.0])).numpy()
    array([0.25, 0.75], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] | None = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(axis, list | tuple) and not axis:
            raise ValueError(f"`axis` names no axis. Received: axis={axis}")
        self._nt_set_arguments(axis=axis)

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Give the parts of the sum; 0 where the mask is not true."""
        if mask is None:
            return activations.softmax(inputs, self.axis)
        there = mask if mask.dtype is bool_ else cast(mask, inputs.dtype) > 0.5
        shape, provided = tuple(inputs.shape), tuple(there.shape)
        sizes = zip(provided[::-1], shape[::-1], strict=False)
        if len(provided) > len(shape) or any(m not in (1, n) for m, n in sizes):
            raise ValueError(
                "The `mask` must be broadcastable to `inputs`. Received: "
                f"inputs.shape={shape}, mask.shape={provided}"
            )
        least = -3e4 if inputs.dtype.name == "float16" else -1e9
        return select(there, activations.softmax(select(there, inputs, least), self.axis), 0.0)
