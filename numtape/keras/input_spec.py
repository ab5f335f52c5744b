"""`InputSpec`: requirements that a layer checks on its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core.values.tensor import Tensor
from ..nest import flatten
from .registry import keras_dtype

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike
    from .annotations import InputShape


class InputSpec:
    """Requirements on one input: set ``input_spec`` of a layer to one, or to a list of them.

    Args:
      dtype: The dtype.
      shape: The shape; None in it accepts any size.
      ndim: The number of axes.
      max_ndim: The largest number of axes.
      min_ndim: The smallest number of axes.
      axes: A dict from axes to their sizes.
      allow_last_axis_squeeze: Whether a last axis of size 1 is optional.
      name: The key of the input in a dict of inputs.
      optional: Whether the input may be None.

    Raises:
      TypeError: If ``axes`` is not a dict of ints.
      ValueError: If an axis in ``axes`` exceeds the number of axes.

    Example:
      >>> tf.keras.layers.InputSpec(min_ndim=2, axes={-1: 3})
      InputSpec(min_ndim=2, axes={-1: 3})
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: InputShape | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ) -> None:
        self.dtype = None if dtype is None else keras_dtype(dtype).name
        self.shape = None if shape is None else tuple(shape)
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.name, self.optional = name, optional
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (AttributeError, TypeError, ValueError):
            raise TypeError(
                f"Argument `axes` must be a dict with integer keys. Received: axes={axes}"
            ) from None
        limit = self.ndim or self.max_ndim
        if self.axes and limit and max(self.axes) >= limit:
            raise ValueError(
                f"Axis {max(self.axes)} is greater than the maximum allowed value: {limit - 1}"
            )

    def __repr__(self) -> str:
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        parts = [f"{name}={getattr(self, name)}" for name in names if getattr(self, name)]
        return f"InputSpec({', '.join(parts)})"

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.

        Example:
          >>> tf.keras.layers.InputSpec(ndim=2).get_config()["ndim"]
          2
        """
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes", "optional")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """Create a spec from its configuration.

        Args:
          config: The result of `get_config`.

        Returns:
          An `InputSpec`.

        Example:
          >>> tf.keras.layers.InputSpec.from_config({"ndim": 2})
          InputSpec(ndim=2)
        """
        return cls(**config)


# The requirements on the inputs of a layer, in the structure of the inputs.
InputSpecs: TypeAlias = InputSpec | Sequence["InputSpecs"] | Mapping[str, "InputSpecs"] | None


def assert_input_compatibility(input_spec: InputSpecs, inputs: object, layer_name: str) -> None:
    """Raise Keras's ValueError if inputs do not satisfy a layer's ``input_spec``.

    Args:
      input_spec: An `InputSpec`, a structure of them, or None for no requirements.
      inputs: A tensor, or a list or dict of tensors.
      layer_name: The name of the layer.
    """
    if not input_spec or (
        type(input_spec) is InputSpec
        and type(inputs) is Tensor
        and not _describe_mismatch(input_spec, (*inputs._spec.shape,), inputs._spec.dtype)
    ):
        return
    specs = flatten(input_spec)
    names = [spec.name for spec in specs if spec is not None]
    if isinstance(inputs, dict) and len(names) == len(specs) and all(names):
        for name in names:
            if name not in inputs:
                raise ValueError(
                    f'Missing data for input "{name}". You passed a data dictionary with keys '
                    f"{list(inputs)}. Expected the following keys: {names}"
                )
        tensors = [inputs[name] for name in names]
    else:
        tensors = flatten(inputs)
    if len(tensors) != len(specs):
        raise ValueError(
            f'Layer "{layer_name}" expects {len(specs)} input(s), but it received {len(tensors)} '
            f"input tensors, of shapes {[tuple(getattr(x, 'shape', ())) for x in tensors]}."
        )
    for number, (x, spec) in enumerate(zip(tensors, specs, strict=True)):
        if spec is not None and not (x is None and spec.optional):
            if not hasattr(x, "shape"):
                raise ValueError(
                    f"Inputs to a layer should be tensors. Got '{x}' (of type {type(x)}) as input "
                    f"for layer '{layer_name}'."
                    + " Does the layer before end `call` with `return`?"
                    * (x is None)
                )
            mismatch = _describe_mismatch(spec, tuple(x.shape), x.dtype)
            if mismatch:
                name_suffix = f" with name '{spec.name}'" if spec.name else ""
                raise ValueError(
                    f"Input {number}{name_suffix} of layer '{layer_name}' is incompatible with the "
                    f"layer: {mismatch}"
                )


def _describe_mismatch(spec: InputSpec, shape: tuple[Any, ...], dtype: DTypeLike) -> str:
    """Describe how an input violates ``spec``; empty if it does not."""
    ndim = len(shape)
    full = f"Full shape received: {shape}"
    if spec.ndim is not None and not spec.allow_last_axis_squeeze and ndim != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={ndim}. {full}"
    if spec.max_ndim is not None and ndim > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={ndim}"
    if spec.min_ndim is not None and ndim < spec.min_ndim:
        return f"expected min_ndim={spec.min_ndim}, found ndim={ndim}. {full}"
    if spec.dtype is not None and keras_dtype(dtype).name != spec.dtype:
        return f"expected dtype={spec.dtype}, found dtype={keras_dtype(dtype).name}"
    for axis, size in spec.axes.items():
        if size is not None and shape[axis] not in (size, None):
            return (
                f"expected axis {axis} of input shape to have value {size}, but received input "
                f"with shape {shape}"
            )
    spec_shape = spec.shape
    if spec_shape is not None:
        if spec.allow_last_axis_squeeze:
            shape = shape[:-1] if shape and shape[-1] == 1 else shape
            spec_shape = spec_shape[:-1] if spec_shape and spec_shape[-1] == 1 else spec_shape
        for a, b in zip(spec_shape, shape, strict=False):
            if a is not None and b is not None and a != b:
                return f"expected shape={spec.shape}, found shape={shape}"
    return ""
