"""Cells of recurrent layers: one time step of `SimpleRNN`, `LSTM`, `GRU` and stacked cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.ops.creation import ones, zeros, zeros_like
from ...core.ops.dropout import general_dropout
from ...core.ops.elementwise import cast, select
from ...core.ops.joining import concat
from ...core.ops.matrix_products import matmul
from ...core.ops.movement import broadcast_to, reshape, transpose
from ...core.ops.slicing import split, strided_slice, unstack
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from ...nest import flatten, is_nested, map_structure, pack_sequence_as
from .. import initializers
from ..layer import Layer, LayerVariable, operand
from ..seed_generator import SeedGenerator
from ..symbolic import signature_of
from .base import ConfiguredLayer, deserialize, document, serialize

if TYPE_CHECKING:
    from ...core.log.variable import Variable
    from ...core.values.annotations import DTypeLike, IntLike, ShapeLike
    from ..annotations import (
        ActivationLike,
        ConstraintLike,
        InitializerLike,
        InputShape,
        RegularizerLike,
    )

# A step of a cell: maps the inputs of a time step and the states to an output and new states.
Step = Callable[[Any, list[Any]], tuple[Tensor, list[Any]]]


def time_first(x: Tensor) -> Tensor:
    """Transpose (batch, time, ...) to (time, batch, ...)."""
    return transpose(x, (1, 0, *range(2, x.ndim)))


def unstack_rows(x: Tensor) -> list[Tensor]:
    """Split a tensor along the first axis.

    The tensor is halved recursively: the gradient of a slice has the size of the sliced tensor, so
    that n slices of one tensor would cost n times its size, but halving costs log(n) times.
    """
    count = int(x.shape[0])
    if count <= 4:
        return unstack(x)
    other_axes = [(0, int(n), 1) for n in x.shape[1:]]
    half_count = count // 2
    first, second = ((0, half_count, 1), *other_axes), ((half_count, count, 1), *other_axes)
    return unstack_rows(strided_slice(x, first)) + unstack_rows(strided_slice(x, second))


def apply_mask(mask: Tensor | None, new: Any, old: Any) -> Any:
    """Select tensors of ``new`` where the mask, of shape (batch, 1), is true, else of ``old``."""
    if mask is None:
        return new
    selected = [_select_rows(mask, a, b) for a, b in zip(flatten(new), flatten(old), strict=True)]
    return pack_sequence_as(new, selected)


def _select_rows(mask: Tensor, new_value: Tensor, old_value: Tensor) -> Tensor:
    if new_value.ndim != 2:
        mask = mask[(slice(None), 0, *(None,) * (new_value.ndim - 1))]
    return select(mask, new_value, old_value)


def run_steps(
    step: Step,
    inputs: Sequence[Any],
    states: list[Any],
    masks: Sequence[Tensor] | None,
    zero_output: bool,
) -> tuple[list[Tensor], list[Any]]:
    """Return the outputs of all time steps, and the final states.

    A masked step keeps the states and repeats the last output, which is 0 at first.

    Args:
      step: The function of a time step.
      inputs: The inputs of each time step.
      states: The initial states.
      masks: A mask of the examples for each time step, or None.
      zero_output: Whether the output of a masked step is 0 instead.
    """
    outputs: list[Tensor] = []
    last_output: Any = None
    for k, x in enumerate(inputs):
        output, new_states = step(x, states)
        if masks is None:
            states = new_states
        else:
            previous_output, states = states, apply_mask(masks[k], new_states, states)
            if last_output is None or zero_output:
                last_output = zeros_like(output)
            if output is new_states[0] and last_output is previous_output[0]:
                output = states[0]
            else:
                output = _select_rows(masks[k], output, last_output)
            last_output = output
        outputs.append(output)
    return outputs, states


# Arguments of all cells, besides the number of units.
ARGUMENTS = {
    "units": "The size of the output and of each state.",
    "activation": "An activation function or its name; None for no activation.",
    "recurrent_activation": "The activation of the gates: a function or its name.",
    "recurrent_initializer": "The initializer of the recurrent kernel: an object, its name, or a "
    "function (shape, dtype).",
    "recurrent_regularizer": "A regularizer of the recurrent kernel, or its name; None for no "
    "regularization.",
    "recurrent_constraint": "A constraint on the recurrent kernel after each step, or its name; "
    "None for no constraint.",
    "unit_forget_bias": "Whether to initialize the bias of the forget gate to ones.",
    "dropout": "The fraction of the inputs to drop in training, the same at all time steps.",
    "recurrent_dropout": "The fraction of the states to drop in training, the same at all time "
    "steps.",
    "reset_after": "Whether to apply the reset gate after the product with the recurrent kernel, "
    "which then has a separate bias, instead of before.",
    "seed": "The seed of dropout; None derives one from the global seed, or draws one.",
}
_cell = document(
    "ValueError: If ``units`` is not a positive int, or a name is unknown.", **ARGUMENTS
)
# A function that projects inputs, and splits the result by gates or groups of gates.
Project = Callable[[Tensor], list[Tensor]]


class Cell(ConfiguredLayer):
    """A cell whose kernels have one block of columns for each gate."""

    _nt_gates = 1
    units: int
    use_bias: bool
    dropout: float
    recurrent_dropout: float
    seed: int | None
    activation: Any
    bias: LayerVariable | None

    def __init__(self, units: int, dropout: float, recurrent_dropout: float, **kwargs: Any) -> None:
        if isinstance(units, bool) or not isinstance(units, int) or units <= 0:
            raise ValueError(
                f"Received an invalid value for argument `units`, expected a positive integer, "
                f"got {repr_of(units)}."
            )
        # 1 draws dropout masks for each gate; 2, the default as in Keras, one mask for all gates.
        self.implementation = kwargs.pop("implementation", 2) if self._nt_gates > 1 else 2
        super().__init__(**kwargs)
        self._nt_set_arguments(units=units)
        self.state_size: Any = units
        self.output_size = units
        for name, rate in (("dropout", dropout), ("recurrent_dropout", recurrent_dropout)):
            try:
                self._nt_set_arguments(**{name: float(min(1.0, max(0.0, rate)))})
            except TypeError:
                raise ValueError(
                    f"`{name}` is a number from 0 to 1. Received: {repr_of(rate)}"
                ) from None
        if self._nt_gates > 1 and self.recurrent_dropout != 0.0:
            self.implementation = 1

    def build(self, input_shape: InputShape) -> None:
        """Create the kernels and the bias.

        Args:
          input_shape: The shape of the inputs, (batch, features).
        """
        columns = self._nt_gates * self.units
        self.kernel = self._nt_weight("kernel", (input_shape[-1], columns))
        self.recurrent_kernel = self._nt_weight(
            "recurrent_kernel", (self.units, columns), "recurrent"
        )
        self.bias = self._nt_add_bias() if self.use_bias else None
        self._nt_make_seeds()

    def _nt_make_seeds(self) -> None:
        if self.dropout or self.recurrent_dropout:
            self.seed_generator = SeedGenerator(self.seed)

    def _nt_add_bias(self) -> LayerVariable:
        return self._nt_weight("bias", (self._nt_gates * self.units,))

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """Return the initial states, which are zeros.

        Args:
          batch_size: The number of examples.

        Returns:
          A list of tensors.
        """
        sizes = self.state_size if isinstance(self.state_size, list) else [self.state_size]
        state = zeros((int(batch_size), self.units), self._nt_dtype)
        return [state for _ in sizes]

    def _nt_dropout_masks(
        self, batch: int, size: int, rate: float, training: bool | None
    ) -> list[Tensor]:
        """Draw dropout masks, one for each gate or one for all; an empty list without dropout."""
        if not training or not 0.0 < rate < 1.0:
            return []
        count = self._nt_gates if self.implementation == 1 else 1
        full = ones((batch, size), self._nt_dtype)
        draw = self.seed_generator.uniform
        return [general_dropout(full, rate, draw) for _ in range(count)]

    def _nt_products(
        self, kernel: Tensor | Variable, masks: list[Tensor], is_split: bool
    ) -> Callable[[Tensor], list[Tensor]]:
        """Return a function that multiplies by the kernel with dropout, for any number of axes.

        With ``is_split`` it returns a product for each gate, else one product.
        """
        kernels = split(kernel, self._nt_gates, 1) if is_split else [kernel]

        def product(x: Tensor, kernel: Tensor | Variable) -> Tensor:
            if x.ndim == 2:
                return matmul(x, kernel)
            result = matmul(reshape(x, (-1, int(x.shape[-1]))), kernel)
            return reshape(result, (*x.shape[:-1], int(kernel.shape[1])))

        def products(x: Tensor) -> list[Tensor]:
            if len(masks) > 1:
                inputs = [x * mask for mask in masks]
            else:
                inputs = [x * masks[0] if masks else x] * len(kernels)
            return [product(x, kernel) for x, kernel in zip(inputs, kernels, strict=True)]

        return products

    def _nt_project_and_step(
        self, batch: int, features: int, training: bool | None, steps: int = 1
    ) -> tuple[Project, Step]:
        """Return a function that projects inputs, and one that computes a time step with them.

        Args:
          batch: The number of examples.
          features: The size of the inputs.
          training: Whether to apply dropout.
          steps: The number of time steps.
        """
        kernel, bias = operand(self.kernel), None if self.bias is None else operand(self.bias)
        masks = self._nt_dropout_masks(batch, features, self.dropout, training)
        states = self._nt_dropout_masks(batch, self.units, self.recurrent_dropout, training)
        # The gates are columns of the kernels, or of each step's products: slice the smaller ones.
        # The gradients of slices are as large as the sliced tensor.
        is_split = self._nt_gates > 1 and (
            self.implementation == 1 or batch * steps > features + self.units
        )
        products = self._nt_products(kernel, masks, is_split)
        biases = [] if bias is None else self._nt_biases(bias, batch, is_split)

        def project(x: Tensor) -> list[Tensor]:
            if not biases:
                return products(x)
            return [y + b for y, b in zip(products(x), biases, strict=True)]

        return project, self._nt_step(operand(self.recurrent_kernel), bias, states, batch, is_split)

    def _nt_biases(self, bias: Tensor | Variable, batch: int, is_split: bool) -> list[Tensor]:
        """Return the bias of each product, with a row for each example.

        Its gradient is summed over the examples once, not in each step.
        """
        parts = split(bias, self._nt_gates) if is_split else [bias]
        return [broadcast_to(part, (batch, int(part.shape[0]))) for part in parts]

    def _nt_gate_parts(self, parts: list[Tensor]) -> list[Tensor]:
        """Split a tensor by gates, unless there is one for each gate."""
        return parts if len(parts) > 1 else split(parts[0], self._nt_gates, -1)

    def _nt_step(
        self,
        kernel: Tensor | Variable,
        bias: Tensor | Variable | None,
        masks: list[Tensor],
        batch: int,
        is_split: bool,
    ) -> Step:
        raise NotImplementedError

    def call(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Tensor, Any]:
        """Compute one time step.

        Args:
          inputs: A tensor of shape (batch, features).
          states: A list of tensors of shape (batch, units).
          training: Whether to apply dropout.

        Returns:
          The output, and a list of new states.
        """
        inputs = inputs if inputs.dtype is self._nt_dtype else cast(inputs, self._nt_dtype)
        project, step = self._nt_project_and_step(
            int(inputs.shape[0]), int(inputs.shape[-1]), training
        )
        output, new_states = step(project(inputs), list(states) if is_nested(states) else [states])
        return output, new_states if is_nested(states) else new_states[0]


@_cell
class SimpleRNNCell(Cell):
    """One step of `SimpleRNN`: ``activation(x @ kernel + bias + h @ recurrent_kernel)``.

    >>> cell = tf.keras.layers.SimpleRNNCell(1, "linear", kernel_initializer="ones",
    ...                                      recurrent_initializer="ones")
    >>> output, states = cell(tf.constant([[1.0, 2.0]]), [tf.constant([[10.0]])])
    >>> output.numpy()
    array([[13.]], dtype=float32)
    """

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, dropout, recurrent_dropout, **kwargs)
        self._nt_set_arguments(
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            seed=seed,
        )

    def _nt_step(
        self,
        kernel: Tensor | Variable,
        bias: Tensor | Variable | None,
        masks: list[Tensor],
        batch: int,
        is_split: bool,
    ) -> Step:
        products = self._nt_products(kernel, masks, is_split)

        def step(x: list[Tensor], states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            h = self._nt_activation()(x[0] + products(states[0])[0])
            return h, [h]

        return step


@_cell
class LSTMCell(Cell):
    """One step of `LSTM`.

    >>> cell = tf.keras.layers.LSTMCell(3)
    >>> output, (h, c) = cell(tf.ones((2, 4)), cell.get_initial_state(2))
    >>> output is h, c.shape
    (True, TensorShape([2, 3]))
    """

    _nt_gates = 4
    recurrent_activation: Any
    bias_initializer: Any
    bias_regularizer: Any
    bias_constraint: Any
    unit_forget_bias: bool

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        recurrent_activation: ActivationLike = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, dropout, recurrent_dropout, **kwargs)
        self._nt_set_arguments(
            activation=activation,
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            unit_forget_bias=unit_forget_bias,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            seed=seed,
        )
        self.state_size = [units, units]

    def _nt_add_bias(self) -> LayerVariable:
        provided, units = self.bias_initializer, self.units

        def initializer(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
            parts = ((provided, 1), (initializers.Ones(), 1), (provided, 2))
            return concat([make((n * units,), dtype) for make, n in parts], 0)

        return self.add_weight(
            (4 * units,),
            initializer if self.unit_forget_bias else provided,
            name="bias",
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
        )

    def _nt_step(
        self,
        kernel: Tensor | Variable,
        bias: Tensor | Variable | None,
        masks: list[Tensor],
        batch: int,
        is_split: bool,
    ) -> Step:
        gate, activate = self._nt_activation("recurrent_activation"), self._nt_activation()
        products = self._nt_products(kernel, masks, is_split)

        def step(x: list[Tensor], states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            h, c = states
            sums = [a + b for a, b in zip(x, products(h), strict=True)]
            i, f, candidate, o = self._nt_gate_parts(sums)
            c = gate(f) * c + gate(i) * activate(candidate)
            h = gate(o) * activate(c)
            return h, [h, c]

        return step


@_cell
class GRUCell(Cell):
    """One step of `GRU`.

    >>> cell = tf.keras.layers.GRUCell(3)
    >>> output, (h,) = cell(tf.ones((2, 4)), cell.get_initial_state(2))
    >>> output is h
    True
    """

    _nt_gates = 3
    recurrent_activation: Any
    reset_after: bool

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        recurrent_activation: ActivationLike = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        reset_after: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, dropout, recurrent_dropout, **kwargs)
        self._nt_set_arguments(
            activation=activation,
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            reset_after=reset_after,
            seed=seed,
        )

    def _nt_add_bias(self) -> LayerVariable:
        columns = 3 * self.units
        return self._nt_weight("bias", (2, columns) if self.reset_after else (columns,))

    def _nt_biases(self, bias: Tensor | Variable, batch: int, is_split: bool) -> list[Tensor]:
        return super()._nt_biases(bias[0] if self.reset_after else bias, batch, is_split)

    def _nt_step(
        self,
        kernel: Tensor | Variable,
        bias: Tensor | Variable | None,
        masks: list[Tensor],
        batch: int,
        is_split: bool,
    ) -> Step:
        gate, activate = self._nt_activation("recurrent_activation"), self._nt_activation()
        inner_biases = []
        if bias is not None and self.reset_after:
            inner_biases = super()._nt_biases(bias[1], batch, is_split)
        if self.reset_after:
            products = self._nt_products(kernel, masks, is_split)
        else:
            kernels = split(kernel, 3, 1)

        def gate_product(x: Tensor, k: int) -> Tensor:
            return matmul(x * masks[k] if masks else x, kernels[k])

        def step(x: list[Tensor], states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            h = states[0]
            z_input, r_input, candidate_input = self._nt_gate_parts(x)
            if self.reset_after:
                inner = products(h)
                if inner_biases:
                    inner = [y + b for y, b in zip(inner, inner_biases, strict=True)]
                z, r, candidate = self._nt_gate_parts(inner)
                z, r = gate(z_input + z), gate(r_input + r)
                candidate = r * candidate
            else:
                z = gate(z_input + gate_product(h, 0))
                r = gate(r_input + gate_product(h, 1))
                candidate = gate_product(r * h, 2)
            h = z * h + (1.0 - z) * activate(candidate_input + candidate)
            return h, [h]

        return step


def check_cell(cell: object, what: str, argument: str) -> None:
    """Raise if an object lacks a method ``call`` or an attribute ``state_size``."""
    if not hasattr(cell, "call"):
        raise ValueError(
            f"{what} should have a `call` method. Received: {argument}={repr_of(cell)}"
        )
    if not hasattr(cell, "state_size"):
        raise ValueError(
            f"{what} should have a `state_size` attribute (single integer or list of integers, one "
            f"integer per RNN state). Received: {argument}={repr_of(cell)}"
        )


def initial_states_of(cell: Any, batch_size: IntLike | None, dtype: DTypeLike) -> Any:
    """Return the initial states of a cell."""
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(batch_size=batch_size)
    size: Any = batch_size
    return map_structure(lambda n: zeros((size, n), dtype), cell.state_size)


@document(
    "ValueError: If an item is not a cell.",
    cells="A list of cells; the output of each cell is the input of the next one.",
)
class StackedRNNCells(Layer):
    """Stacks cells, and acts as one cell.

    >>> cells = [tf.keras.layers.LSTMCell(n) for n in (3, 2)]
    >>> layer = tf.keras.layers.RNN(tf.keras.layers.StackedRNNCells(cells))
    >>> layer(tf.ones((1, 5, 4))).shape
    TensorShape([1, 2])
    """

    def __init__(self, cells: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(cells, list | tuple) or not cells:
            raise ValueError(f"`cells` is a list of cells. Received: cells={repr_of(cells)}")
        for cell in cells:
            check_cell(cell, "All cells", "cell")
        self.cells = list(cells)

    @property
    def state_size(self) -> list[Any]:
        """The sizes of the states of each cell."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> int:
        """The size of the output of the last cell."""
        return output_size_of(self.cells[-1])

    def get_initial_state(self, batch_size: IntLike | None = None) -> list[Any]:
        """Return the initial states.

        Args:
          batch_size: The number of examples.

        Returns:
          A list of the states of each cell.
        """
        return [initial_states_of(cell, batch_size, self._nt_dtype) for cell in self.cells]

    def build(self, input_shape: InputShape) -> None:
        """Build the cells.

        Args:
          input_shape: The shape of the inputs, (batch, features).
        """
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(input_shape)
            input_shape = (input_shape[0], output_size_of(cell))

    def call(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Any, list[Any]]:
        """Compute one time step of all cells.

        Args:
          inputs: A tensor of shape (batch, features).
          states: A list of the states of each cell.
          training: Whether the model is in training.

        Returns:
          The output, and a list of the new states of each cell.
        """
        new_states = []
        for cell, state in zip(self.cells, states, strict=True):
            inputs, value = call_cell(cell, inputs, state, training)
            new_states.append(value)
        return inputs, new_states

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return {**super().get_config(), "cells": [serialize(cell) for cell in self.cells]}

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
        cells = [deserialize(cell, custom_objects) for cell in config["cells"]]
        return cls(**{**config, "cells": cells})


def output_size_of(cell: Any) -> int:
    """Return the size of the output of a cell, by default the size of its first state."""
    size = getattr(cell, "output_size", None)
    if size is None:
        size = cell.state_size
    result = size[0] if isinstance(size, list | tuple) else size
    if not isinstance(result, int):
        raise ValueError("output_size must be an integer.")
    return result


def call_cell(cell: Any, inputs: Tensor, states: Any, training: bool | None) -> tuple[Any, Any]:
    """Call any cell. The new states are a list if ``states`` is nested, else a single state."""
    has_single_state = not is_nested(states)
    optional_arguments: dict[str, Any] = {}
    if isinstance(cell, Layer):
        optional_arguments = (
            {"training": training} if "training" in signature_of(type(cell).call).all else {}
        )
    step = cell if callable(cell) else cell.call
    output, new_states = step(
        inputs, [states] if has_single_state else list(states), **optional_arguments
    )
    new_states = list(new_states) if is_nested(new_states) else [new_states]
    return output, new_states[0] if has_single_state else new_states
