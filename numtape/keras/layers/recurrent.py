"""`RNN`, which applies a cell at each time step; `SimpleRNN`, `LSTM` and `GRU`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.as_tensor import as_tensor
from ...core.log.variable import Variable, assign_all
from ...core.ops.creation import zeros
from ...core.ops.elementwise import cast
from ...core.ops.joining import stack
from ...core.values.arguments import inspect_signature
from ...core.values.dtypes import bool_, repr_of
from ...core.values.tensor import Tensor
from ...nest import flatten, is_nested, map_structure
from .. import regularizers
from ..input_spec import InputSpec
from ..layer import Layer
from .base import ConfiguredLayer, deserialize, document, serialize
from .recurrent_cells import (
    ARGUMENTS as CELL_ARGUMENTS,
    Cell,
    GRUCell,
    LSTMCell,
    SimpleRNNCell,
    StackedRNNCells,
    call_cell,
    check_cell,
    initial_states_of,
    output_size_of,
    run_steps,
    time_first,
    unstack_rows,
)

if TYPE_CHECKING:
    from ...core.values.annotations import IntLike, TensorLike
    from ..annotations import (
        ActivationLike,
        ConstraintLike,
        InitializerLike,
        InputShape,
        RegularizerLike,
    )

# Arguments of all recurrent layers.
ARGUMENTS = {
    "cell": "A layer with a `state_size`, whose call takes inputs of shape (batch, features) and a "
    "list of states, and returns an output and new states; or a list of such layers, which are "
    "stacked.",
    "return_sequences": "Whether to return the outputs of all time steps instead of the last one.",
    "return_state": "Whether to return the final states as well.",
    "go_backwards": "Whether to process, and return, the time steps in reverse order.",
    "stateful": "Whether a call starts from the final states of the last call, until "
    "`reset_states`.",
    "unroll": "Accepted for compatibility with Keras, and ignored: steps are always unrolled.",
    "use_cudnn": "Accepted for compatibility with Keras, and ignored.",
    "zero_output_for_mask": "Whether the output of a masked step is 0 instead of the last output.",
}
_recurrent = document("ValueError: If ``cell`` is not a cell.", **ARGUMENTS)


# Up to so many features per example each step projects its inputs: the gradients of the slices of
# one projection of all steps take longer than the sum of the kernel's gradients over the steps.
MAX_FEATURES_PER_EXAMPLE = 16


def _is_fused(cell: Any) -> bool:
    """Whether a cell prepares its kernels for all steps, which a subclass's own `call` does not."""
    return isinstance(cell, Cell) and getattr(cell.call, "__func__", None) is Cell.call


def _run_cell(
    cell: Any,
    inputs: list[Tensor],
    sequence: Tensor | None,
    states: Any,
    masks: list[Tensor] | None,
    training: bool | None,
    zero_output: bool,
) -> tuple[list[Tensor], Any]:
    """Return the outputs of a cell at all time steps, and its final states.

    Stacked cells run one after the other: the first one over all time steps, then the next one on
    its outputs, with the same masks.

    Args:
      cell: A cell.
      inputs: The inputs at each time step; may be empty if ``sequence`` is given to a fused cell.
      sequence: The inputs as a tensor of shape (time, batch, ...), or None.
      states: The initial states.
      masks: A mask of the examples for each time step, or None.
      training: Whether the model is in training.
      zero_output: Whether the output of a masked step is 0.
    """
    if isinstance(cell, StackedRNNCells):
        final_states = []
        for layer, state in zip(cell.cells, states, strict=True):
            is_nested_state = is_nested(state)
            layer_states = list(state) if is_nested_state else [state]
            inputs, new_states = _run_cell(
                layer, inputs, sequence, layer_states, masks, training, zero_output
            )
            final_states.append(new_states if is_nested_state else new_states[0])
            sequence = None
        return inputs, final_states
    if not _is_fused(cell):

        def one_step(x: Tensor, states: list[Any]) -> tuple[Any, list[Any]]:
            return call_cell(cell, x, states, training)

        return run_steps(one_step, inputs, states, masks, zero_output)
    shape = inputs[0].shape if sequence is None else sequence.shape[1:]
    steps = len(inputs) if sequence is None else int(sequence.shape[0])
    batch, features = int(shape[0]), int(shape[1])
    project, step = cell._nt_project_and_step(batch, features, training, steps)
    if features <= MAX_FEATURES_PER_EXAMPLE * batch:
        inputs = inputs if sequence is None else unstack_rows(sequence)
        projections = [project(x) for x in inputs]
    else:
        sequence = stack(inputs) if sequence is None else sequence
        parts = [unstack_rows(part) for part in project(sequence)]
        projections = [list(part) for part in zip(*parts, strict=True)]
    return run_steps(step, projections, states, masks, zero_output)


@_recurrent
class RNN(ConfiguredLayer):
    """Applies a cell to each time step of inputs of shape (batch, time, features).

    >>> layer = tf.keras.layers.RNN(tf.keras.layers.GRUCell(3), return_sequences=True)
    >>> layer(tf.ones((2, 5, 4))).shape
    TensorShape([2, 5, 3])
    """

    # `states` are not weights.
    _nt_internal = Layer._nt_internal | {"states"}
    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    unroll: bool
    zero_output_for_mask: bool

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(cell, list | tuple):
            cell = StackedRNNCells(cell)
        check_cell(cell, "Argument `cell`", "cell")
        super().__init__(**kwargs)
        self.cell = cell
        self._nt_set_arguments(
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            zero_output_for_mask=zero_output_for_mask,
        )
        self.supports_masking = True
        self.states: list[Any] | None = None
        size = cell.state_size
        if not isinstance(size, int | list | tuple):
            raise ValueError(
                "state_size must be an integer, or a list/tuple of integers (one for "
                "each state tensor)."
            )
        self.state_size = [size] if isinstance(size, int) else list(size)

    def build(self, sequences_shape: InputShape, initial_state_shape: object = None) -> None:
        """Build the cell, and create the stored states if ``stateful``.

        Args:
          sequences_shape: The shape of the inputs, (batch, time, features).
          initial_state_shape: Ignored.
        """
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build((sequences_shape[0], *sequences_shape[2:]))
        if self.stateful and self.states is None:
            if sequences_shape[0] is None:
                raise ValueError(
                    f"When using `stateful=True` in a RNN, the batch size must be static. Found "
                    f"dynamic batch size: sequence.shape={tuple(sequences_shape)}"
                )
            self.states = map_structure(
                lambda x: Variable(x, trainable=False, name=f"{self.name}/rnn_state"),
                self.get_initial_state(sequences_shape[0]),
            )

    def get_initial_state(self, batch_size: IntLike) -> list[Any]:
        """Return the initial states.

        Args:
          batch_size: The number of examples.

        Returns:
          A list of tensors, or of lists of tensors for stacked cells.
        """
        result = initial_states_of(self.cell, batch_size, self._nt_dtype)
        return list(result) if is_nested(result) else [result]

    def reset_state(self) -> None:
        """Reset the stored states to zeros."""
        variables = flatten(self.states or [])
        assign_all(variables, [zeros(tuple(v.shape), v.dtype) for v in variables])

    def reset_states(self) -> None:
        """Reset the stored states to zeros."""
        self.reset_state()

    def call(
        self,
        sequences: Tensor,
        initial_state: TensorLike | None = None,
        mask: Tensor | Sequence[Tensor | None] | None = None,
        training: bool = False,
    ) -> Any:
        """Apply the cell to each time step.

        Args:
          sequences: A tensor of shape (batch, time, ...).
          initial_state: The initial states; None for the stored states if ``stateful``, else zeros.
          mask: A mask of the time steps, of shape (batch, time); None for no mask.
          training: Whether the model is in training.

        Returns:
          The last output, or all outputs, of shape (batch, time, units); followed by the final
          states if ``return_state``.
        """
        batch, length = int(sequences.shape[0]), int(sequences.shape[1])
        if not length:
            raise ValueError(
                f"Layer '{self.name}' needs sequences of at least one time step. Received: "
                f"sequences.shape={tuple(sequences.shape)}"
            )
        if sequences.dtype is not self._nt_dtype:
            sequences = cast(sequences, self._nt_dtype)
        states = self._nt_initial_states(batch, initial_state)
        time_major = time_first(sequences)
        masks = None if mask is None else self._nt_mask_steps(mask, batch, length)
        is_fused = _is_fused(self.cell) or (
            isinstance(self.cell, StackedRNNCells) and _is_fused(self.cell.cells[0])
        )
        if self.go_backwards:
            time_major = time_major[::-1]
            masks = None if masks is None else masks[::-1]
        outputs, states = _run_cell(
            self.cell,
            [] if is_fused else unstack_rows(time_major),
            time_major,
            states,
            masks,
            training,
            self.zero_output_for_mask,
        )
        if self.stateful:
            assign_all(flatten(self.states), flatten(states))
        result = stack(outputs, 1) if self.return_sequences else outputs[-1]
        return (result, *states) if self.return_state else result

    def _nt_initial_states(self, batch: int, initial_state: Any) -> list[Any]:
        """Check the initial states, and return them as a list of tensors."""
        if self.stateful:
            size = int(flatten(self.states)[0].shape[0])
            if batch != size:
                raise ValueError(
                    f"If an RNN is stateful, the batch size of the input sequences must be the "
                    f"same as the batch size of the initial state. \n"
                    f"- Expected batch size: {size}\n- Received batch size: {batch}"
                )
        if initial_state is None:
            initial_state = self.states if self.stateful else self.get_initial_state(batch)
        states = list(initial_state) if is_nested(initial_state) else [initial_state]
        if len(states) != len(self.state_size):
            raise ValueError(
                f"Layer '{self.name}' has {len(self.state_size)} states, but got initial_state of "
                f"{len(states)}."
            )
        return [map_structure(self._nt_to_state, state) for state in states]

    def _nt_to_state(self, x: TensorLike) -> Tensor:
        """Convert a state to a tensor of the layer's dtype."""
        result = as_tensor(x)
        return result if result.dtype is self._nt_dtype else cast(result, self._nt_dtype)

    def _nt_mask_steps(self, mask: object, batch: int, length: int) -> list[Tensor]:
        """Return a mask of shape (batch, 1) for each time step."""
        result = flatten(mask)[0]
        result = cast(as_tensor(result), bool_)
        if tuple(result.shape[:2]) != (batch, length):
            raise ValueError(
                f"Layer '{self.name}' got a mask of shape {tuple(result.shape)} for sequences of "
                f"batch size {batch} and {length} time steps."
            )
        if result.ndim == 2:
            result = result[:, :, None]
        return unstack_rows(time_first(result))

    def compute_mask(self, inputs: object, previous_mask: object) -> Any:
        """Return the mask of the inputs if the layer returns sequences, else None.

        Args:
          inputs: The inputs.
          previous_mask: The mask of the inputs.

        Returns:
          A mask or None; if ``return_state``, a list of it and None for each state.
        """
        result = flatten(previous_mask)[0] if self.return_sequences else None
        return [result, *(None for _ in self.state_size)] if self.return_state else result

    def compute_output_shape(
        self, sequences_shape: InputShape, initial_state_shape: object = None
    ) -> Any:
        """Compute the shape of the output.

        Args:
          sequences_shape: The shape of the inputs.
          initial_state_shape: Ignored.

        Returns:
          A tuple; if ``return_state``, a tuple of the shapes of the output and each state.
        """
        batch, length = sequences_shape[0], sequences_shape[1]
        size = output_size_of(self.cell)
        result = (batch, length, size) if self.return_sequences else (batch, size)
        if not self.return_state:
            return result
        return result, *(
            [(batch, n) for n in state] if isinstance(state, list | tuple) else (batch, state)
            for state in self.state_size
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return {**super().get_config(), "cell": serialize(self.cell)}

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
        return cls(**{**config, "cell": deserialize(config["cell"], custom_objects)})


_layer = document(
    "ValueError: If ``units`` is not a positive int, or a name is unknown; at a call, if the "
    "inputs do not have three axes.",
    **ARGUMENTS,
    **CELL_ARGUMENTS,
)
_LAYER_ARGUMENTS = ("name", "dtype", "trainable", "kwargs", "self")


def _cell_arguments(cell: type[Cell]) -> list[str]:
    """Return the names of the arguments of a cell, except those of every layer."""
    return [name for name in inspect_signature(cell).parameters if name not in _LAYER_ARGUMENTS]


class BuiltInRNN(RNN):
    """Base class of recurrent layers that create their cell, and have the arguments of the cell."""

    _nt_cell: type[Cell]

    def _nt_initialize_from(self, provided: dict[str, Any]) -> None:
        """Create the cell, and initialize the layer, from the ``locals()`` of the constructor."""
        kwargs = dict(provided["kwargs"])
        use_cudnn = provided.get("use_cudnn", "auto")
        if use_cudnn not in ("auto", True, False):
            raise ValueError(
                f"Invalid valid received for argument `use_cudnn`. Expected one of {{'auto', True, "
                f"False}}. Received: use_cudnn={repr_of(use_cudnn)}"
            )
        cell_arguments = {name: provided[name] for name in _cell_arguments(self._nt_cell)}
        cell_arguments.update({n: kwargs.pop(n) for n in ("implementation",) if n in kwargs})
        cell = self._nt_cell(
            **cell_arguments,
            name=CELL_NAMES[self._nt_cell],
            dtype=kwargs.get("dtype"),
            trainable=kwargs.get("trainable", True),
        )
        layer_arguments = (
            "return_sequences",
            "return_state",
            "go_backwards",
            "stateful",
            "unroll",
            "activity_regularizer",
        )
        RNN.__init__(self, cell, **{name: provided[name] for name in layer_arguments}, **kwargs)
        self.input_spec = InputSpec(ndim=3)

    def __getattr__(self, name: str) -> Any:
        """Return an argument of the cell."""
        cell = vars(self).get("cell")
        if cell is None or name.startswith("_") or name not in _cell_arguments(self._nt_cell):
            return object.__getattribute__(self, name)  # raises the usual error
        return getattr(cell, name)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *_cell_arguments(self._nt_cell)})

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = {name: x for name, x in super().get_config().items() if name != "cell"}
        config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        cell_config = self.cell.get_config()
        return {**config, **{name: cell_config[name] for name in _cell_arguments(self._nt_cell)}}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """Create a layer from its configuration.

        Args:
          config: The result of `get_config`.
          custom_objects: Ignored.

        Returns:
          A layer.
        """
        return cls(**config)


CELL_NAMES: dict[type[Layer], str] = {
    SimpleRNNCell: "simple_rnn_cell",
    LSTMCell: "lstm_cell",
    GRUCell: "gru_cell",
}


@_layer
class SimpleRNN(BuiltInRNN):
    """Fully connected recurrent layer.

    ``h = activation(x @ kernel + bias + h @ recurrent_kernel)`` at each time step, for inputs of
    shape (batch, time, features). The products with the kernel are computed for all time
    steps at once.

    >>> layer = tf.keras.layers.SimpleRNN(3)
    >>> layer(tf.ones((2, 5, 4))).shape
    TensorShape([2, 3])
    """

    _nt_cell = SimpleRNNCell

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
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        self._nt_initialize_from(locals())


@_layer
class LSTM(BuiltInRNN):
    """Long short-term memory.

    The gates i, f and o and the candidate n are blocks of ``x @ kernel + bias +
    h @ recurrent_kernel``, in the order i, f, n, o: ``c = s(f) * c + s(i) * tanh(n)`` and
    ``h = s(o) * tanh(c)``, where s is the recurrent activation. Inputs have shape (batch, time,
    features). From Hochreiter and Schmidhuber, "Long Short-Term Memory" (1997); the forget gate
    from Gers, Schmidhuber and Cummins, "Learning to Forget" (2000).

    >>> layer = tf.keras.layers.LSTM(3, return_sequences=True, return_state=True)
    >>> outputs, h, c = layer(tf.ones((2, 5, 4)))
    >>> outputs.shape, np.array_equal(outputs[:, -1], h)
    (TensorShape([2, 5, 3]), True)
    """

    _nt_cell = LSTMCell

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
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        use_cudnn: bool | str = "auto",
        **kwargs: Any,
    ) -> None:
        self._nt_initialize_from(locals())


@_layer
class GRU(BuiltInRNN):
    """Gated recurrent unit.

    The gates z and r and the candidate n are blocks of ``x @ kernel`` and ``h @ recurrent_kernel``
    in this order, to which the biases are added: ``n = tanh(x_n + s(r) * h_n)`` and
    ``h = s(z) * h + (1 - s(z)) * n``, where s is the recurrent activation. With
    ``reset_after=False``, ``h_n`` is computed from ``s(r) * h`` instead. Inputs have shape (batch,
    time, features). From Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for
    Statistical Machine Translation" (2014).

    >>> layer = tf.keras.layers.GRU(3)
    >>> layer(tf.ones((2, 5, 4))).shape
    TensorShape([2, 3])
    """

    _nt_cell = GRUCell

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
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = True,
        use_cudnn: bool | str = "auto",
        **kwargs: Any,
    ) -> None:
        self._nt_initialize_from(locals())
