"""The base of numtape's own layers: arguments that are stored, checked and put in the config."""

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
from ..docstrings import Described, describe
from ..layer import Layer, LayerVariable
from ..registry import Kind

if TYPE_CHECKING:
    from ..annotations import Config, InputShape

_Entry = TypeVar("_Entry")

FUNCTIONAL = "keras.src.models.functional"  # where Keras has it


def _kind() -> Kind:
    modules = [sys.modules.get(f"numtape.keras.{name}") for name in ("layers", "models")]
    known = (getattr(module, name) for module in modules if module for name in module.__all__)
    return Kind("layer", [x for x in known if isinstance(x, type) and issubclass(x, Layer)])


def serialize(layer: object) -> Any:
    """The class and arguments of a layer, as a dict.

    Args:
      layer: A layer.

    Returns:
      A dict that JSON can hold.

    Raises:
      ValueError: If it has no configuration.

    Example:
      >>> tf.keras.layers.serialize(tf.keras.layers.LSTM(3))["class_name"]
      'LSTM'
    """
    result = _kind().serialize(layer)
    if result and result["module"] == "keras.layers" and hasattr(layer, "compile"):
        functional = result["class_name"] == "Functional"
        result["module"] = FUNCTIONAL if functional else "keras"  # a model
    return result


def deserialize(config: str | Config | None, custom_objects: dict[str, Any] | None = None) -> Any:
    """The layer that a dict describes.

    Args:
      config: The result of `serialize`.
      custom_objects: Classes, by name.

    Returns:
      A layer, with its own variables.

    Raises:
      ValueError: If its class is unknown.

    Example:
      >>> config = tf.keras.layers.serialize(tf.keras.layers.LSTM(3))
      >>> tf.keras.layers.deserialize(config).units
      3
    """
    return _kind().deserialize(config, custom_objects)


Shape = tuple[int | None, ...]

# Descriptions of arguments, by the last word of their names.
_KINDS: dict[str, ModuleType] = {
    "activation": activations,
    "constraint": constraints,
    "initializer": initializers,
    "regularizer": regularizers,
}

_INITIALIZER = "Where the {} begins: an initializer or its name, or a function (shape, dtype)."
_REGULARIZER = "A regularizer or its name: what the {} adds to the loss; None for nothing."
_CONSTRAINT = "A constraint or its name: what the {} becomes after each step; None for itself."
_WEIGHTS = ("kernel", "bias", "depthwise", "pointwise", "beta", "gamma", "alpha", "embeddings")

# Each argument that several layers have, said once.
ARGUMENTS = {
    **{f"{name}_initializer": _INITIALIZER.format(name) for name in _WEIGHTS},
    **{f"{name}_regularizer": _REGULARIZER.format(name) for name in _WEIGHTS},
    **{f"{name}_constraint": _CONSTRAINT.format(name) for name in _WEIGHTS},
    "kwargs": "``name``, ``dtype`` and ``trainable``, which every `Layer` takes.",
    "activation": "A function or the name of one; default: none.",
    "activity_regularizer": "A regularizer or its name: what the output adds to the loss.",
    "axis": "The axis, or a list of them.",
    "center": "Whether there is a beta.",
    "data_format": '"channels_last", which is what None means, or "channels_first".',
    "depth_multiplier": "How many features each channel has.",
    "dilation_rate": "How far apart the elements are that the kernel meets: an int, or one for "
    "each axis in space.",
    "epsilon": "A small number added under the square root.",
    "filters": "How many features the output has.",
    "groups": "In how many groups the channels are: each feature sees one of them.",
    "kernel_size": "The size of the kernel: an int, or one for each axis in space.",
    "noise_shape": "The shape of what is drawn, which broadcasts to the inputs'; None in it is "
    "their size.",
    "output_padding": "How many elements are added at the end of each axis in space; None for what "
    "undoes the convolution's shape.",
    "padding": '"valid", only where the window has all it needs, or "same": as many results as '
    "there are strides in the input.",
    "pool_size": "The size of the window: an int, or one for each axis in space.",
    "rate": "The part of the elements that are dropped, from 0 to 1.",
    "scale": "Whether there is a gamma.",
    "seed": "its own seed, beside the global one.",
    "strides": "How far the window goes each time: an int, or one for each axis in space.",
    "use_bias": "Whether there is a bias.",
}


def document(raises: str = "", **own: str) -> Callable[[Described], Described]:
    """A decorator that documents a layer's arguments: specific ones, and the common ones above.

    Args:
      raises: The errors of a wrong argument.
      **own: Descriptions of arguments that only this layer has, or that differ here.
    """
    lines = [
        line
        for error in raises.splitlines()
        for line in textwrap.wrap(error, 92, initial_indent="", subsequent_indent="    ")
    ]
    return describe({**ARGUMENTS, **own}, "", "\n  ".join(lines))


class ConfiguredLayer(Layer):
    """A layer that keeps its arguments as attributes, and gives them back as its config."""

    _nt_kept: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.built = type(self).build is Layer.build  # without variables nothing is left to build

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _nt_keep(self, **arguments: object) -> None:
        """Keep arguments under their names; names of functions become functions."""
        for name, value in arguments.items():
            kind = _KINDS.get(name.rpartition("_")[2])
            setattr(self, name, kind.get(value) if kind else value)
        self._nt_kept = (*self._nt_kept, *arguments)

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make a layer like this one."""
        config = dict(super().get_config())
        for name in self._nt_kept:
            kind, value = _KINDS.get(name.rpartition("_")[2]), getattr(self, name)
            config[name] = kind.serialize(value) if kind and value is not None else value
        return config

    def _nt_activation(self, name: str = "activation") -> Any:
        """The function in an attribute, which a user may have set to None."""
        function = getattr(self, name)
        return activations.linear if function is None else function

    def _nt_floats(self, x: Tensor) -> Tensor:
        """Ints as floats of the layer's dtype; floats as they are."""
        return x if x.dtype.is_floating or x.dtype.is_complex else cast(x, self._nt_dtype)

    def _nt_weight(
        self,
        name: str,
        shape: Iterable[int | None],
        kind: str | None = None,
        trainable: bool = True,
    ) -> LayerVariable:
        """A weight with the initializer, regularizer and constraint that arguments gave it."""
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


def integers(value: Any, count: int, name: str, least: int = 1) -> tuple[int, ...]:
    """A tuple of as many ints as are wanted, out of one int or of several.

    Args:
      value: The argument.
      count: How many.
      name: Its name, for the error.
      least: The least value that is allowed.

    Raises:
      ValueError: If they are not so many, no ints, or too small.
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
    wrong = {n for n in result if n < least}
    if wrong:
        raise ValueError(
            f"{message}, including values {wrong} that do not satisfy `value "
            f"{'>= 0' if least == 0 else '> 0'}`"
        )
    return result


def positive(value: object, name: str) -> int:
    """An int that is larger than 0.

    Raises:
      ValueError: If it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(
            f"Invalid value for argument `{name}`. Expected a strictly positive value. Received "
            f"{name}={repr_of(value)}."
        )
    return value


def pad_edges(value: object, *more: str) -> str:
    """The name of a padding, in small letters.

    Raises:
      ValueError: If it does not exist of this name.
    """
    known = ("valid", "same", *more)
    if not isinstance(value, str) or value.lower() not in known:
        raise ValueError(
            f"The `padding` argument must be one of {known}. Received: {repr_of(value)}"
        )
    return value.lower()


def parse_data_format(value: object) -> str:
    """Where the channels are: "channels_last", unless it is said to be "channels_first".

    Raises:
      ValueError: If it is neither.
    """
    known = ("channels_first", "channels_last")
    name = "channels_last" if value is None else value
    if not isinstance(name, str) or name.lower() not in known:
        raise ValueError(
            f"The `data_format` argument must be one of {known}. Received: "
            f"data_format={repr_of(value)}"
        )
    return name.lower()


def split_shape(shape: InputShape, data_format: str) -> tuple[Shape, int | None]:
    """The sizes in space and the number of channels of a shape."""
    shape = tuple(shape)
    if data_format == "channels_last":
        return shape[1:-1], shape[-1]
    return shape[2:], shape[1]


def join_shape(
    batch: _Entry, space: Iterable[_Entry], channels: _Entry, data_format: str
) -> tuple[_Entry, ...]:
    """Values for the batch, for each spatial axis, and for the channels, in the format's order."""
    if data_format == "channels_last":
        return (batch, *space, channels)
    return (batch, channels, *space)
