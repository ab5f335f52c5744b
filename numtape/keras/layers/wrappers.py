"""Layers that wrap a layer: `Wrapper`, `TimeDistributed` and `Bidirectional`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.variable import original
from ...core.ops.comparison import not_equal
from ...core.ops.elementwise import abs_, cast, maximum, select, sqrt, square, stop_gradient
from ...core.ops.joining import concat, stack
from ...core.ops.matrix_products import matmul
from ...core.ops.movement import reshape
from ...core.ops.reduction import reduce_max, reduce_sum
from ...core.ops.slicing import reverse
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from .. import initializers
from ..input_spec import InputSpec
from ..layer import Layer
from ..symbolic import signature_of
from .base import deserialize, document, serialize
from .recurrent_cells import time_first, unstack_rows

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike
    from ..annotations import InputShape

_wrapper = document("ValueError: If ``layer`` is not a layer.", layer="The wrapped layer.")


@_wrapper
class Wrapper(Layer):
    """Base class of layers that wrap a layer.

    >>> class Twice(tf.keras.layers.Wrapper):
    ...     def call(self, inputs):
    ...         return self.layer(self.layer(inputs))
    >>> Twice(tf.keras.layers.Dense(3)).layer.units
    3
    """

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Layer {repr_of(layer)} supplied to Wrapper isn't a supported layer type. Please "
                f"ensure wrapped layer is a valid Keras layer."
            )
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Build the wrapped layer.

        Args:
          input_shape: The shape of the inputs.
        """
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return {**super().get_config(), "layer": serialize(self.layer)}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """Create a layer from its configuration.

        Args:
          config: The result of `get_config`.
          custom_objects: Custom classes, by name.

        Returns:
          A layer.
        """
        return cls(**{**config, "layer": deserialize(config["layer"], custom_objects)})


@_wrapper
class TimeDistributed(Wrapper):
    """Applies a layer to each time step of inputs of shape (batch, time, ...).

    >>> layer = tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(3))
    >>> layer(tf.ones((2, 5, 4))).shape
    TensorShape([2, 5, 3])
    """

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `TimeDistributed` layer with a `keras.layers.Layer` instance. "
                f"Received: {repr_of(layer)}"
            )
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def _nt_inner_shape(self, input_shape: InputShape) -> tuple[int | None, ...]:
        """Return the shape of one time step."""
        if len(input_shape) < 3:
            raise ValueError(
                f"`TimeDistributed` Layer should be passed an `input_shape` with at least 3 "
                f"dimensions, received: {tuple(input_shape)}"
            )
        return (input_shape[0], *input_shape[2:])

    def build(self, input_shape: Any = None) -> None:
        """Build the wrapped layer.

        Args:
          input_shape: The shape of the inputs, (batch, time, ...).
        """
        super().build(self._nt_inner_shape(input_shape))

    def compute_output_shape(self, input_shape: InputShape) -> Any:
        """Compute the shape of the output.

        Args:
          input_shape: The shape of the inputs.

        Returns:
          A tuple.
        """
        inner = self.layer.compute_output_shape(self._nt_inner_shape(input_shape))
        return (inner[0], input_shape[1], *inner[1:])

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Apply the layer to each time step.

        Args:
          inputs: A tensor of shape (batch, time, ...).
          training: Passed to the layer if its ``call`` accepts it.
          mask: A mask of shape (batch, time, ...), passed to the layer if its ``call`` accepts it.

        Returns:
          A tensor of shape (batch, time, ...).
        """
        names = signature_of(type(self.layer).call).all
        if mask is not None and tuple(mask.shape[:2]) != tuple(inputs.shape[:2]):
            raise ValueError(
                f"The `mask` passed to the `TimeDistributed` layer has a shape "
                f"{tuple(mask.shape)} that is incompatible with the input shape "
                f"{tuple(inputs.shape)}. The first two dimensions of the mask (batch size and "
                f"timesteps) must match the input's first two dimensions."
            )
        optional_arguments = {"training": training} if "training" in names else {}
        steps = unstack_rows(time_first(inputs))
        if mask is None or "mask" not in names:
            return stack([self.layer.call(x, **optional_arguments) for x in steps], 1)
        masks = unstack_rows(time_first(mask))
        pairs = zip(steps, masks, strict=True)
        return stack([self.layer.call(x, mask=m, **optional_arguments) for x, m in pairs], 1)


_MODES = ("sum", "mul", "ave", "concat", None)


@document(
    "ValueError: If an argument is invalid, or the two layers are incompatible.",
    layer="A recurrent layer, whose copy processes sequences forward.",
    merge_mode='How to combine the outputs: ``"concat"``, ``"sum"``, ``"mul"``, ``"ave"`` (mean), '
    "or None for a tuple of both.",
    weights="Initial weights of the forward layer, followed by those of the backward layer.",
    backward_layer="The layer that processes sequences backward; None for a copy of ``layer``.",
)
class Bidirectional(Layer):
    """Applies two recurrent layers, one of them backward in time.

    From Schuster and Paliwal, "Bidirectional Recurrent Neural Networks" (1997).

    >>> layer = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(3, return_sequences=True))
    >>> layer(tf.ones((2, 5, 4))).shape
    TensorShape([2, 5, 6])
    """

    def __init__(
        self,
        layer: Layer,
        merge_mode: str | None = "concat",
        weights: Sequence[TensorLike] | None = None,
        backward_layer: Layer | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `Bidirectional` layer with a `keras.layers.Layer` instance. "
                f"Received: {repr_of(layer)}"
            )
        if backward_layer is not None and not isinstance(backward_layer, Layer):
            raise ValueError(
                f"`backward_layer` need to be a `keras.layers.Layer` instance. Received: "
                f"{repr_of(backward_layer)}"
            )
        if merge_mode not in _MODES:
            raise ValueError(
                f"Invalid merge mode. Received: {repr_of(merge_mode)}. Merge mode should be one of "
                f"{_MODES}"
            )
        super().__init__(**kwargs)
        self.forward_layer = _copy_layer(layer, "forward_")
        self.backward_layer: Any = (
            _copy_layer(layer, "backward_", go_backwards=True)
            if backward_layer is None
            else backward_layer
        )
        self._nt_check_layers()
        layer_copy: Any
        for layer_copy in (self.forward_layer, self.backward_layer):
            if getattr(layer_copy, "zero_output_for_mask", None) is not None:
                layer_copy.zero_output_for_mask = layer_copy.return_sequences
        self.merge_mode = merge_mode
        self._nt_given = list(weights) if weights else None
        self.stateful = self.forward_layer.stateful
        self.return_sequences = self.forward_layer.return_sequences
        self.return_state = self.forward_layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec

    def _nt_check_layers(self) -> None:
        """Raise unless the layers differ in direction and agree in the other arguments."""
        forward, backward = self.forward_layer, self.backward_layer
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                f"Forward layer and backward layer should have different `go_backwards` value. "
                f"Received: forward_layer.go_backwards {forward.go_backwards}, "
                f"backward_layer.go_backwards={backward.go_backwards}"
            )
        for name in ("stateful", "return_sequences", "return_state"):
            forward_value, backward_value = getattr(forward, name), getattr(backward, name)
            if forward_value != backward_value:
                raise ValueError(
                    f"Forward layer and backward layer are expected to have the same value for "
                    f'attribute "{name}", got "{forward_value}" for forward layer and '
                    f'"{backward_value}" for backward layer'
                )

    def build(self, sequences_shape: InputShape, initial_state_shape: object = None) -> None:
        """Build both layers.

        Args:
          sequences_shape: The shape of the inputs.
          initial_state_shape: Ignored.
        """
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer.build(sequences_shape)
                layer.built = True
        if self._nt_given is not None:
            half_count = len(self._nt_given) // 2
            self.forward_layer.set_weights(self._nt_given[:half_count])
            self.backward_layer.set_weights(self._nt_given[half_count:])
            self._nt_given = None

    def call(
        self,
        sequences: Tensor,
        initial_state: Sequence[Any] | None = None,
        mask: Tensor | Sequence[Tensor | None] | None = None,
        training: bool | None = None,
    ) -> Any:
        """Apply both layers, and combine their outputs.

        Args:
          sequences: A tensor of shape (batch, time, features).
          initial_state: The initial states of the forward layer, followed by those of the backward
            layer.
          mask: A mask of the time steps, of shape (batch, time).
          training: Whether the model is in training.

        Returns:
          A tensor, or a tuple of both outputs; followed by the states if ``return_state``.
        """
        results = []
        half_count = 0 if initial_state is None else len(initial_state) // 2
        for k, layer in enumerate((self.forward_layer, self.backward_layer)):
            names = signature_of(type(layer).call).all
            arguments = {"training": training, "mask": mask}
            accepted: dict[str, Any] = {name: x for name, x in arguments.items() if name in names}
            state = (
                None
                if initial_state is None
                else initial_state[k * half_count : (k + 1) * half_count]
            )
            if state is not None or "initial_state" in names:
                accepted["initial_state"] = state
            results.append(layer(sequences, **accepted))
        states: tuple[Any, ...] = ()
        if self.return_state:
            states = (*results[0][1:], *results[1][1:])
            results = [results[0][0], results[1][0]]
        forward, backward = (
            x if x.dtype is self._nt_dtype else cast(x, self._nt_dtype) for x in results
        )
        if self.return_sequences:
            backward = reverse(backward, [1])
        result: Any = (forward, backward)
        if self.merge_mode == "concat":
            result = concat([forward, backward], -1)
        elif self.merge_mode == "sum":
            result = forward + backward
        elif self.merge_mode == "ave":
            result = (forward + backward) / 2.0
        elif self.merge_mode == "mul":
            result = forward * backward
        if not self.return_state:
            return result
        return (*result, *states) if self.merge_mode is None else (result, *states)

    def compute_output_shape(
        self, sequences_shape: InputShape, initial_state_shape: object = None
    ) -> Any:
        """Compute the shape of the output.

        Args:
          sequences_shape: The shape of the inputs.
          initial_state_shape: Ignored.

        Returns:
          A tuple, or a tuple of them if there are several outputs.
        """
        result = self.forward_layer.compute_output_shape(sequences_shape)
        states: tuple[Any, ...] = ()
        if self.return_state:
            result, states = result[0], tuple(result[1:]) * 2
        result = tuple(result)
        if self.merge_mode is None:
            return (result, result, *states)
        if self.merge_mode == "concat":
            result = (*result[:-1], result[-1] * 2)
        return (result, *states) if self.return_state else result

    def compute_mask(
        self, inputs: object, previous_mask: Tensor | Sequence[Tensor | None] | None
    ) -> Any:
        """Return the mask of the inputs if the layer returns sequences, else None.

        Args:
          inputs: The inputs.
          previous_mask: The mask of the inputs.

        Returns:
          A mask or None, or a tuple of them.
        """
        if isinstance(previous_mask, list):
            previous_mask = previous_mask[0]
        result = previous_mask if self.return_sequences else None
        if self.merge_mode is None:
            return (result, result)
        return (result,) if self.return_state else result

    @property
    def states(self) -> Any:
        """The stored states of both layers; None unless ``stateful``."""
        forward, backward = self.forward_layer.states, self.backward_layer.states
        return None if forward is None or backward is None else (*forward, *backward)

    def reset_state(self) -> None:
        """Reset the stored states to zeros."""
        self.forward_layer.reset_state()
        self.backward_layer.reset_state()

    def reset_states(self) -> None:
        """Reset the stored states to zeros."""
        self.reset_state()

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "merge_mode": self.merge_mode,
            "layer": serialize(self.forward_layer),
            "backward_layer": serialize(self.backward_layer),
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """Create a layer from its configuration.

        Args:
          config: The result of `get_config`.
          custom_objects: Custom classes, by name.

        Returns:
          A layer.
        """
        entries = {
            name: deserialize(config.get(name), custom_objects)
            for name in ("layer", "backward_layer")
        }
        return cls(**{**config, **entries})


def _copy_layer(layer: Layer, prefix: str, **changes: Any) -> Any:
    """Create a layer with the same configuration except for the name and given changes."""
    config = serialize(layer)
    name = f"{prefix}{layer.name.removeprefix(prefix)}"
    config["config"] = {**config["config"], "name": name, **changes}
    return deserialize(config, {type(x).__name__: type(x) for x in layer._nt_flatten_layers()})


@document(
    "ValueError: If the number of iterations is not positive; in `build`, if the layer has neither "
    "``kernel`` nor ``embeddings``.",
    layer="A layer with a weight ``kernel`` or ``embeddings``.",
    power_iterations="The number of iterations that estimate the norm in each training step.",
)
class SpectralNormalization(Wrapper):
    """Divides the kernel of a layer by its largest singular value, in each training step.

    From Miyato et al., "Spectral Normalization for Generative Adversarial Networks" (2018).

    >>> dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
    >>> layer = tf.keras.layers.SpectralNormalization(dense)
    >>> layer(tf.ones((2, 4)), training=True).numpy().ravel()
    array([2., 2.], dtype=float32)
    """

    def __init__(self, layer: Layer, power_iterations: int = 1, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        if power_iterations <= 0:
            raise ValueError(
                f"`power_iterations` should be greater than zero. Received: "
                f"`power_iterations={power_iterations}`"
            )
        self.power_iterations = power_iterations

    def build(self, input_shape: Any = None) -> None:
        """Build the wrapped layer, and create the estimate of the singular vector.

        Args:
          input_shape: The shape of the inputs.
        """
        super().build(input_shape)
        self.input_spec = InputSpec(min_ndim=1, axes={-1: input_shape[-1]})
        kernel = getattr(self.layer, "kernel", getattr(self.layer, "embeddings", None))
        if kernel is None:
            raise ValueError(
                f"{type(self.layer).__name__} object has no attribute 'kernel' nor 'embeddings'"
            )
        self.kernel = kernel
        self.vector_u = self.add_weight(
            (1, int(kernel.shape[-1])),
            initializers.TruncatedNormal(stddev=0.02),
            dtype=original(kernel).dtype,
            trainable=False,
            name="vector_u",
        )

    def _nt_own_variables(self) -> list[Any]:
        """The kernel and the estimate, in Keras's order."""
        return [self.kernel, self.vector_u] if self.built else super()._nt_own_variables()

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Call the layer; in training, first normalize the kernel."""
        if training:
            vector_u, kernel = self.normalized_weights()
            original(self.vector_u).assign(vector_u)
            original(self.kernel).assign(kernel)
        result = self.layer(inputs)
        return cast(result, inputs.dtype) if inputs.dtype.is_floating else result

    def compute_output_shape(self, input_shape: InputShape) -> Any:
        """Return the output shape of the wrapped layer."""
        return self.layer.compute_output_shape(input_shape)

    def normalized_weights(self) -> tuple[Tensor, Tensor]:
        """Return the new estimate of the singular vector, and the normalized kernel.

        Both keep their values if the kernel is 0.

        Returns:
          Two tensors.
        """
        kernel, first_u = original(self.kernel), original(self.vector_u)
        weights = reshape(kernel, (-1, int(kernel.shape[-1])))
        u: Any = first_u
        for _ in range(self.power_iterations):
            v = _unit(matmul(u, weights, transpose_b=True))
            u = _unit(matmul(v, weights))
        u, v = stop_gradient(u), stop_gradient(v)
        sigma = reshape(matmul(matmul(v, weights), u, transpose_b=True), ())
        has_norm = not_equal(reduce_max(abs_(kernel)), 0.0)
        normalized = kernel / select(has_norm, sigma, 1.0)
        return select(has_norm, u, first_u), select(has_norm, normalized, kernel)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return {**super().get_config(), "power_iterations": self.power_iterations}


def _unit(x: Tensor) -> Tensor:
    """Return a vector of length 1; a vector of zeros stays."""
    return x / sqrt(maximum(reduce_sum(square(x)), 1e-12))
