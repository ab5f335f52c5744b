"""The base class of built-in layers, which stores constructor arguments, and argument checks."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.ops.elementwise import cast
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from .. import activations, constraints, initializers, regularizers
from ..layer import Layer, LayerVariable
from ..registry import ClassRegistry, Decorated, describe
from ..settings import image_data_format

if TYPE_CHECKING:
    from ..annotations import Config, InputShape

_Entry = TypeVar("_Entry")

FUNCTIONAL = "keras.src.models.functional"  # Keras's module of functional models


def _layer_registry() -> ClassRegistry:
    """Return the known layers and models, of modules that are already imported."""
    modules = [sys.modules.get(f"numtape.keras.{name}") for name in ("layers", "models")]
    layer_classes = (
        getattr(module, name) for module in modules if module for name in module.__all__
    )
    return ClassRegistry(
        "layer", [x for x in layer_classes if isinstance(x, type) and issubclass(x, Layer)]
    )


def serialize(layer: object) -> Any:
    """Return the configuration of a layer.

    Args:
      layer: A layer.

    Returns:
      A dict that can be converted to JSON.

    Raises:
      ValueError: If the layer has no configuration.

    Example:
      >>> tf.keras.layers.serialize(tf.keras.layers.LSTM(3))["class_name"]
      'LSTM'
    """
    result = _layer_registry().serialize(layer)
    if result and result["module"] == "keras.layers" and hasattr(layer, "compile"):
        functional = result["class_name"] == "Functional"
        result["module"] = FUNCTIONAL if functional else "keras"  # a model
    if result is not None and isinstance(layer, Layer):
        add_layer_entries(layer, result)
    return result


def add_layer_entries(layer: Layer, config: dict[str, Any]) -> None:
    """Add the shapes with which a layer was built to its configuration."""
    build_config = layer.get_build_config()
    if build_config is not None:
        config["build_config"] = build_config


def deserialize(config: str | Config | None, custom_objects: dict[str, Any] | None = None) -> Any:
    """Create a layer from its configuration.

    Args:
      config: The result of `serialize`.
      custom_objects: Custom classes, by name.

    Returns:
      A new layer.

    Raises:
      ValueError: If the class is unknown.

    Example:
      >>> config = tf.keras.layers.serialize(tf.keras.layers.LSTM(3))
      >>> tf.keras.layers.deserialize(config).units
      3
    """
    return _layer_registry().deserialize(config, custom_objects)


Shape = tuple[int | None, ...]

# The modules that look up the value of an argument, by the last word of the argument's name.
_KINDS: dict[str, ModuleType] = {
    "activation": activations,
    "constraint": constraints,
    "initializer": initializers,
    "regularizer": regularizers,
}

_INITIALIZER = "The initializer of the {}: an object, its name, or a function (shape, dtype)."
_REGULARIZER = "A regularizer of the {}, or its name; None for no regularization."
_CONSTRAINT = "A constraint on the {} after each step, or its name; None for no constraint."
_WEIGHTS = {
    **{name: name for name in ("kernel", "bias", "beta", "gamma", "alpha", "embeddings")},
    "depthwise": "depthwise kernel",
    "pointwise": "pointwise kernel",
}

# Descriptions of arguments that several layers have.
ARGUMENTS = {
    **{f"{name}_initializer": _INITIALIZER.format(noun) for name, noun in _WEIGHTS.items()},
    **{f"{name}_regularizer": _REGULARIZER.format(noun) for name, noun in _WEIGHTS.items()},
    **{f"{name}_constraint": _CONSTRAINT.format(noun) for name, noun in _WEIGHTS.items()},
    "kwargs": "``name``, ``dtype`` and ``trainable``, as for every `Layer`.",
    "activation": "An activation function or its name; None for no activation.",
    "activity_regularizer": "A regularizer of the output, or its name.",
    "axis": "An axis, or a list of axes.",
    "center": "Whether to add ``beta``.",
    "data_format": '"channels_last" or "channels_first"; None is `keras.config.image_data_format`.',
    "depth_multiplier": "The number of output channels for each input channel.",
    "dilation_rate": "The distance between elements of the kernel: an int, or one for each "
    "spatial axis.",
    "epsilon": "A small number added under the square root.",
    "filters": "The number of output channels.",
    "groups": "The number of groups of channels; each filter is applied to one group.",
    "kernel_size": "The size of the kernel: an int, or one for each spatial axis.",
    "noise_shape": "The shape of the random mask, which is broadcast to the inputs; None in it is "
    "the size of the inputs.",
    "output_padding": "The number of elements added at the end of each spatial axis; None infers "
    "it from the other arguments.",
    "padding": '"valid" for no padding, or "same" for ``ceil(size / stride)`` output elements.',
    "pool_size": "The size of the window: an int, or one for each spatial axis.",
    "rate": "The fraction of the elements to drop, from 0 to 1.",
    "scale": "Whether to multiply by ``gamma``.",
    "seed": "An integer seed; None derives one from the global seed, or draws one.",
    "strides": "The step of the window: an int, or one for each spatial axis.",
    "use_bias": "Whether to add a bias.",
}


def document(raises: str = "", **own: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds descriptions of a layer's arguments to its docstring.

    Args:
      raises: The lines of the Raises section.
      **own: Descriptions of arguments that `ARGUMENTS` lacks, or that differ from it.
    """
    lines = [
        line
        for error in raises.splitlines()
        for line in textwrap.wrap(error, 92, initial_indent="", subsequent_indent="    ")
    ]
    return describe({**ARGUMENTS, **own}, "", "\n  ".join(lines))


class ConfiguredLayer(Layer):
    """A layer that stores its arguments as attributes, from which `get_config` reads them."""

    _nt_kept: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.built = type(self).build is Layer.build  # without `build` it has no variables

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _nt_set_arguments(self, **arguments: object) -> None:
        """Set attributes to arguments, looked up by name in the module of their kind."""
        for name, value in arguments.items():
            kind = _KINDS.get(name.rpartition("_")[2])
            setattr(self, name, kind.get(value) if kind else value)
        self._nt_kept = (*self._nt_kept, *arguments)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = dict(super().get_config())
        for name in self._nt_kept:
            kind, value = _KINDS.get(name.rpartition("_")[2]), getattr(self, name)
            config[name] = kind.serialize(value) if kind and value is not None else value
        return config

    def _nt_activation(self, name: str = "activation") -> Any:
        """The activation function in an attribute; `linear` if a user set it to None."""
        function = getattr(self, name)
        return activations.linear if function is None else function

    def _nt_floats(self, x: Tensor) -> Tensor:
        """Cast integers and bools to the layer's dtype; return other tensors unchanged."""
        return x if x.dtype.is_floating or x.dtype.is_complex else cast(x, self._nt_dtype)

    def _nt_widen(self, x: Tensor) -> Tensor:
        """Cast to the dtype of variables, in which sums of 16-bit numbers keep their digits."""
        x = self._nt_floats(x)
        return cast(x, self.variable_dtype) if self._nt_casts and x.dtype.is_floating else x

    def _nt_narrow(self, x: Tensor) -> Tensor:
        """Cast the result of a computation in the dtype of variables to that of computations."""
        return cast(x, self._nt_dtype) if self._nt_casts else x

    def _nt_known_output_shape(self, input_shape: Any) -> tuple[int, ...]:
        """Return the output shape of a call, which has no None because the inputs have values."""
        shape: tuple[int, ...] = self.compute_output_shape(input_shape)
        return shape

    def _nt_weight(
        self,
        name: str,
        shape: Iterable[int | None],
        kind: str | None = None,
        trainable: bool = True,
    ) -> LayerVariable:
        """Add a weight with the initializer, regularizer and constraint of the given kind."""
        kind = kind or name
        weight: LayerVariable = self.add_weight(
            shape=tuple(shape),
            initializer=getattr(self, f"{kind}_initializer"),
            name=name,
            trainable=trainable,
            regularizer=getattr(self, f"{kind}_regularizer", None),
            constraint=getattr(self, f"{kind}_constraint", None),
        )
        return weight


def int_tuple(value: Any, count: int, name: str, minimum: int = 1) -> tuple[int, ...]:
    """Convert an argument to a tuple of ints; a single int is repeated.

    Args:
      value: An int, or an iterable of ints.
      count: The required length.
      name: The name of the argument, for the error message.
      minimum: The smallest allowed value.

    Raises:
      ValueError: If the length is wrong, or a value is not an int or is too small.
    """
    message = (
        f"The `{name}` argument must be a tuple of {count} integers. "
        f"Received {name}={repr_of(value)}"
    )
    try:
        result = (value,) * count if isinstance(value, int) else tuple(value)
        if len(result) != count or any(isinstance(n, str) for n in result):
            raise ValueError
        result = tuple(int(n) for n in result)
    except (TypeError, ValueError):
        raise ValueError(message) from None
    invalid = {n for n in result if n < minimum}
    if invalid:
        raise ValueError(
            f"{message}, including values {invalid} that do not satisfy `value "
            f"{'>= 0' if minimum == 0 else '> 0'}`"
        )
    return result


def check_positive(value: object, name: str) -> int:
    """Return a positive int.

    Raises:
      ValueError: If the value is not a positive int.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(
            f"Invalid value for argument `{name}`. Expected a strictly positive value. Received "
            f"{name}={repr_of(value)}."
        )
    return value


def parse_padding(value: object, *more: str) -> str:
    """Return the name of a padding in lower case.

    Args:
      value: "valid", "same", or one of ``more``, in any case.
      *more: Further names that are allowed.

    Raises:
      ValueError: If the name is unknown.
    """
    accepted = ("valid", "same", *more)
    if not isinstance(value, str) or value.lower() not in accepted:
        raise ValueError(
            f"The `padding` argument must be one of {accepted}. Received: {repr_of(value)}"
        )
    return value.lower()


def parse_data_format(value: object) -> str:
    """Return "channels_last" or "channels_first"; None is `keras.config.image_data_format`.

    Raises:
      ValueError: If the value is neither of them.
    """
    accepted = ("channels_first", "channels_last")
    name = image_data_format() if value is None else value
    if not isinstance(name, str) or name.lower() not in accepted:
        raise ValueError(
            f"The `data_format` argument must be one of {accepted}. Received: "
            f"data_format={repr_of(value)}"
        )
    return name.lower()


def split_shape(shape: InputShape, data_format: str) -> tuple[Shape, int | None]:
    """Return the spatial sizes and the number of channels of a shape."""
    shape = tuple(shape)
    if data_format == "channels_last":
        return shape[1:-1], shape[-1]
    return shape[2:], shape[1]


def join_shape(
    batch: _Entry, space: Iterable[_Entry], channels: _Entry, data_format: str
) -> tuple[_Entry, ...]:
    """Return values of the batch, spatial and channel axes in the order of the data format."""
    if data_format == "channels_last":
        return (batch, *space, channels)
    return (batch, channels, *space)
