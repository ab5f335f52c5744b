"""Layers `Lambda`, `Identity`, `Masking` and `ActivityRegularization`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.log.as_tensor import as_tensor
from ...core.ops.comparison import not_equal
from ...core.ops.elementwise import cast, select
from ...core.ops.reduction import reduce_any
from ...core.values.arguments import inspect_signature
from ...core.values.dtypes import float64, repr_of
from ...core.values.tensor import Tensor
from .. import regularizers
from ..registry import get_registered_object
from .base import ConfiguredLayer, Shape, document

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike
    from ..annotations import InputShape

_Value = TypeVar("_Value")


@document(
    "TypeError: If ``function`` is not callable.",
    function="A function of the inputs, and of ``mask`` and ``training`` if it accepts them.",
    output_shape="The shape of the output without the batch axis, or a function of the shape of "
    "the inputs; None infers it by a call.",
    mask="The mask of the output, or a function (inputs, mask) that returns it.",
    arguments="A dict of further keyword arguments of the function.",
)
class Lambda(ConfiguredLayer):
    """Applies a function. Its variables are not tracked: subclass `Layer` for a layer with weights.

    >>> tf.keras.layers.Lambda(lambda x: x**2)(tf.constant([1.0, 3.0])).numpy()
    array([1., 9.], dtype=float32)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: int | InputShape | Callable[..., Any] | None = None,
        mask: TensorLike | Callable[..., Any] | None = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not callable(function):
            raise TypeError(f"`function` must be a function, received {repr_of(function)}")
        self._nt_set_arguments(
            function=function,
            output_shape=output_shape,
            mask=mask,
            arguments=dict(arguments or {}),
        )
        self.supports_masking = mask is not None
        parameters = inspect_signature(function).parameters
        self._nt_passed = tuple(name for name in ("mask", "training") if name in parameters)

    def call(self, inputs: Any, mask: object = None, training: bool | None = None) -> Any:
        """Return the result of the function."""
        arguments = dict(self.arguments)
        for name, value in (("mask", mask), ("training", training)):
            if name in self._nt_passed:
                arguments.setdefault(name, value)
        return self.function(inputs, **arguments)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape from ``output_shape``, or infer it by a call."""
        if self.output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self.output_shape):
            return self.output_shape(input_shape)
        batch, *_ = input_shape
        if isinstance(self.output_shape, int):
            return (batch, self.output_shape)
        return (batch, *self.output_shape)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """Create a layer from its configuration.

        Args:
          config: The result of `get_config`; a function may be given by its registered name.
          custom_objects: Custom functions, by name.

        Returns:
          A layer.

        Raises:
          ValueError: If a function name is unknown.
        """
        config = dict(config)
        for name in ("function", "mask", "output_shape"):
            if isinstance(config.get(name), dict):
                function_name = config[name].get("registered_name") or config[name].get("config")
                config[name] = get_registered_object(str(function_name), custom_objects)
                if config[name] is None:
                    raise ValueError(
                        f"Unknown function {function_name!r} of a Lambda: register it with "
                        f"register_keras_serializable, or give it in `custom_objects`."
                    )
        return cls(**config)

    def compute_mask(self, inputs: object, previous_mask: object = None) -> Any:
        """Return the mask of the output from ``mask``."""
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask


@document()
class Identity(ConfiguredLayer):
    """Returns its inputs.

    >>> tf.keras.layers.Identity()(tf.constant([1.0, 2.0])).numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: _Value) -> _Value:
        """Return the inputs."""
        return inputs

    def compute_output_shape(self, input_shape: _Value) -> _Value:
        """Return the shape of the inputs."""
        return input_shape


@document(mask_value="A step is masked if all its features equal this value.")
class Masking(ConfiguredLayer):
    """Masks time steps: they become 0, and the layers that follow skip them.

    >>> layer = tf.keras.layers.Masking()
    >>> layer.compute_mask(tf.constant([[[1.0, 0.0], [0.0, 0.0]]])).numpy()
    array([[ True, False]])
    """

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(mask_value=mask_value)
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs, with 0 in masked steps."""
        keep = reduce_any(self._nt_differs(inputs), -1, True)
        result: Tensor = select(keep, inputs, cast(0.0, inputs.dtype))
        return result

    def compute_mask(self, inputs: TensorLike, previous_mask: object = None) -> Any:
        """Return which steps have a feature that differs from ``mask_value``."""
        return reduce_any(self._nt_differs(inputs), -1)

    def _nt_differs(self, inputs: TensorLike) -> Tensor:
        """Compare features with ``mask_value``; ints and bools are compared as floats."""
        x = as_tensor(inputs)
        if not x.dtype.is_floating and not x.dtype.is_complex:
            x = cast(x, float64)
        return not_equal(x, self.mask_value)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
        return tuple(input_shape)


@document(
    "ValueError: If a factor is not a finite, non-negative number.",
    l1="The factor of the sum of absolute values.",
    l2="The factor of the sum of squares.",
)
class ActivityRegularization(ConfiguredLayer):
    """Returns its inputs, and adds a penalty on them to the loss.

    >>> layer = tf.keras.layers.ActivityRegularization(l2=0.5)
    >>> _ = layer(tf.constant([[2.0, 4.0]]))
    >>> [float(loss) for loss in layer.losses]
    [10.0]
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self._nt_set_arguments(l1=l1, l2=l2)
        self.supports_masking = True

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = super().get_config()
        config.pop("activity_regularizer", None)  # the factors determine it
        return config

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs."""
        return inputs

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs."""
        return tuple(input_shape)
