"""Activations as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.ops.elementwise import cast, select
from ...core.values.dtypes import bool_, repr_of
from ...core.values.tensor import Tensor
from .. import activations
from ..input_spec import InputSpec
from ..layer import operand
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
    """Base class of layers whose output has the shape and mask of the inputs."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
        return tuple(input_shape)


@document("ValueError: If the name is unknown.", activation="An activation function or its name.")
class Activation(_Elementwise):
    """Applies an activation function.

    >>> tf.keras.layers.Activation("relu")(tf.constant([-1.0, 2.0])).numpy()
    array([0., 2.], dtype=float32)
    """

    def __init__(self, activation: ActivationLike, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(activation=activation)

    def call(self, inputs: Tensor) -> Tensor:
        """Return ``activation(inputs)``."""
        result: Tensor = self._nt_activation()(inputs)
        return result


def _check_non_negative(value: object, name: str, kind: str) -> float:
    """Return a non-negative number.

    Raises:
      ValueError: If the argument is not a number, or negative.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        if kind == "LeakyReLU":
            text = f"The {name} value of a Leaky ReLU layer cannot be None or negative value."
        elif name == "max_value":
            text = f"{name} of a {kind} layer cannot be a negative value."
        else:
            text = f"{name} of a {kind} layer cannot be None or a negative value."
        raise ValueError(f"{text} Received: {name}={repr_of(value)}")
    return value


@document(
    "ValueError: If a number is negative.",
    max_value="The largest result; None for no bound.",
    negative_slope="The slope below the threshold.",
    threshold="The value above which the result is ``x``.",
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
        """Return the activation of each element."""
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
        """Return the activation of each element."""
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
        """Return the activation of each element."""
        return activations.elu(inputs, self.alpha)


@document(
    "ValueError: If a name is unknown; in `build`, if an axis is out of range.",
    shared_axes="The axes, counted from 1, along which elements share a slope; None for no axis.",
)
class PReLU(_Elementwise):
    """``x`` where positive, ``alpha * x`` elsewhere, with learned slopes ``alpha``.

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
        """Create ``alpha``, of the shape of an example, with size 1 for shared axes."""
        shape = tuple(input_shape)
        shared_axes = self.shared_axes or []
        if not all(isinstance(axis, int) and 1 <= axis < len(shape) for axis in shared_axes):
            raise ValueError(
                f"`shared_axes` are axes from 1 to {len(shape) - 1}, received "
                f"{repr_of(shared_axes)}"
            )
        self.alpha = self._nt_weight(
            "alpha", (1 if k in shared_axes else n for k, n in enumerate(shape) if k)
        )
        axes = {k: n for k, n in enumerate(shape) if shared_axes and k and k not in shared_axes}
        self.input_spec = InputSpec(ndim=len(shape), axes=axes)

    def call(self, inputs: Tensor) -> Tensor:
        """Return the activation of each element."""
        negative_part = operand(self.alpha) * activations.relu(-inputs)
        result: Tensor = activations.relu(inputs) - negative_part
        return result


@document(
    "ValueError: If ``axis`` is empty.",
    axis="The axes over which the outputs add up to 1; None for all axes.",
)
class Softmax(_Elementwise):
    """Applies `softmax`: exponentials divided by their sum.

    >>> tf.keras.layers.Softmax()(tf.math.log([1.0, 3.0])).numpy()
    array([0.25, 0.75], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] | None = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(axis, list | tuple) and not axis:
            raise ValueError(f"`axis` names no axis. Received: axis={axis}")
        self._nt_set_arguments(axis=axis)

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the softmax of the inputs, with 0 where the mask is false."""
        if mask is None:
            return activations.softmax(inputs, self.axis)
        keep = mask if mask.dtype is bool_ else cast(mask, inputs.dtype) > 0.5
        shape, mask_shape = tuple(inputs.shape), tuple(keep.shape)
        sizes = zip(mask_shape[::-1], shape[::-1], strict=False)
        if len(mask_shape) > len(shape) or any(m not in (1, n) for m, n in sizes):
            raise ValueError(
                "The `mask` must be broadcastable to `inputs`, and must not have more dimensions. "
                "Received: "
                f"inputs.shape={shape}, mask.shape={mask_shape}"
            )
        masked_score = -3e4 if inputs.dtype.name == "float16" else -1e9
        return select(keep, activations.softmax(select(keep, inputs, masked_score), self.axis), 0.0)
