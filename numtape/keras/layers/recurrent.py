"""`RNN`, which applies a cell at each time step; `SimpleRNN`, `LSTM` and `GRU`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...core.log.as_tensor import as_tensor
from ...core.log.variable import Variable, assign_all
from ...core.ops.creation import zeros
from ...core.ops.elementwise import cast
from ...core.ops.joining import stack
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
    "list of states, and gives an output and new states; or a list of them, on top of "
    "each other.",
    "return_sequences": "Whether the outputs of all times are given, or the last one's.",
    "return_state": "Whether the last states are given as well.",
    "go_backwards": "Whether time goes backwards; outputs are in that order.",
    "stateful": "Whether the last states are where the next call begins, until `reset_states`.",
    "unroll": "Accepted for Keras's sake: steps are recorded one by one.",
    "use_cudnn": "Accepted for Keras's sake.",
    "zero_output_for_mask": "Whether outputs of masked times are 0, or the last before them.",
}
_recurrent = document("ValueError: If ``cell`` is none.", **ARGUMENTS)


def _run_cell(
    cell: Any,
    inputs: list[Tensor],
    full: Tensor | None,
    states: Any,
    masks: list[Tensor] | None,
    training: bool | None,
    zero_output: bool,
) -> tuple[list[Tensor], Any]:
    """The outputs of a cell at all times, and its last states.

    Of cells on top of each other, the first goes through all times, then the next: what a masked
    step gives to the next cell is masked there, too.

    Args:
      cell: A cell.
      inputs: Its inputs at each time.
      whole: The same as one tensor of shape (time, batch, ...), if there is one.
      states: Its states before the first.
      masks: Which examples have each time.
      training: Whether it is training.
      zero_output: Whether outputs of masked times are 0.
    """
    if isinstance(cell, StackedRNNCells):
        last = []
        for one, state in zip(cell.cells, states, strict=True):
            listed = is_nested(state)
            inputs, new = _run_cell(
                one, inputs, full, list(state) if listed else [state], masks, training, zero_output
            )
            last.append(new if listed else new[0])
            full = None
        return inputs, last
    if not isinstance(cell, Cell):

        def one_step(x: Tensor, states: list[Any]) -> tuple[Any, list[Any]]:
            return call_cell(cell, x, states, training)

        return run_steps(one_step, inputs, states, masks, zero_output)
    full = stack(inputs) if full is None else full
    project, step = cell.over(int(full.shape[1]), int(full.shape[2]), training)
    parts = [unstack_rows(part) for part in project(full)]
    return run_steps(step, [*zip(*parts, strict=True)], states, masks, zero_output)


@_recurrent
class RNN(ConfiguredLayer):
    """A cell at each time of inputs of shape (batch, time, features).

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
        """Make the cell's variables, and states if they are kept.

        Args:
          sequences_shape: The shape of the inputs, (batch, time, features).
          initial_state_shape: Not used.
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
        """The states before the first step.

        Args:
          batch_size: The number of examples.

        Returns:
          A list of tensors, or of lists of them for cells on top of each other.
        """
        result = initial_states_of(self.cell, batch_size, self._nt_dtype)
        return list(result) if is_nested(result) else [result]

    def reset_state(self) -> None:
        """Begin the next call with zeros, if states are kept."""
        retained = flatten(self.states or [])
        assign_all(retained, [zeros(tuple(v.shape), v.dtype) for v in retained])

    def reset_states(self) -> None:
        """Begin the next call with zeros, if states are kept."""
        self.reset_state()

    def call(
        self,
        sequences: Tensor,
        initial_state: TensorLike | None = None,
        mask: Tensor | None = None,
        training: bool = False,
    ) -> Any:
        """The outputs of the cell.

        Args:
          sequences: A tensor of shape (batch, time, ...).
          initial_state: The states before the first step; None for zeros, or for those kept.
          mask: Which times each example has: bools of shape (batch, time); None for all.
          training: Whether it is training.

        Returns:
          The last output, or all of shape (batch, time, units); and the states, if they are wanted.
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
        full = time_first(sequences)
        masks = None if mask is None else self._nt_mask_steps(mask, batch, length)
        fused = isinstance(self.cell, Cell) or (
            isinstance(self.cell, StackedRNNCells) and isinstance(self.cell.cells[0], Cell)
        )
        if self.go_backwards:
            full = full[::-1]
            masks = None if masks is None else masks[::-1]
        outputs, states = _run_cell(
            self.cell,
            [] if fused else unstack_rows(full),
            full,
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
        """The states at the beginning, checked."""
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
        result = as_tensor(x)
        return result if result.dtype is self._nt_dtype else cast(result, self._nt_dtype)

    def _nt_mask_steps(self, mask: object, batch: int, length: int) -> list[Tensor]:
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
        """The mask of the outputs: that of the inputs, if all of them are given.

        Args:
          inputs: The inputs.
          previous_mask: Their mask.

        Returns:
          A mask or None, in a list with None for each state if these are given.
        """
        result = flatten(previous_mask)[0] if self.return_sequences else None
        return [result, *(None for _ in self.state_size)] if self.return_state else result

    def compute_output_shape(
        self, sequences_shape: InputShape, initial_state_shape: object = None
    ) -> Any:
        """The shape of the output.

        Args:
          sequences_shape: The shape of the inputs.
          initial_state_shape: Not used.

        Returns:
          A tuple, or one for the output and one for each state.
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
        """Give the arguments that make a layer like this one."""
        return {**super().get_config(), "cell": serialize(self.cell)}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """The layer made with these arguments.

        Args:
          config: The result of `get_config`.
          custom_objects: Classes, by name.

        Returns:
          A layer.
        """
        return cls(**{**config, "cell": deserialize(config["cell"], custom_objects)})


_layer = document(
    "ValueError: If ``units`` is not a positive int, or a name is unknown; at a call, if the "
    "inputs "
    "do not have three axes.",
    **ARGUMENTS,
    **CELL_ARGUMENTS,
)
_LAYER_ARGUMENTS = ("name", "dtype", "trainable", "kwargs", "self")


def _cell_arguments(cell: type[Cell]) -> list[str]:
    """The names of the arguments of a cell's own."""
    return [name for name in inspect.signature(cell).parameters if name not in _LAYER_ARGUMENTS]


class _BuiltInRNN(RNN):
    """A recurrent layer that makes its cell: it has all of the cell's arguments."""

    _nt_cell: type[Cell]

    def _nt_initialize_from(self, provided: dict[str, Any]) -> None:
        """Make the cell and the layer with the arguments of its constructor, by name."""
        kwargs = dict(provided["kwargs"])
        use_cudnn = provided.get("use_cudnn", "auto")
        if use_cudnn not in ("auto", True, False):
            raise ValueError(
                f"Invalid valid received for argument `use_cudnn`. Expected one of {{'auto', True, "
                f"False}}. Received: use_cudnn={repr_of(use_cudnn)}"
            )
        own = {name: provided[name] for name in _cell_arguments(self._nt_cell)}
        own.update({n: kwargs.pop(n) for n in ("implementation",) if n in kwargs})
        cell = self._nt_cell(
            **own,
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
        """Arguments of the cell."""
        cell = vars(self).get("cell")
        if cell is None or name.startswith("_") or name not in _cell_arguments(self._nt_cell):
            return object.__getattribute__(self, name)  # which says why it is not there
        return getattr(cell, name)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *_cell_arguments(self._nt_cell)})

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make a layer like this one."""
        config = {name: x for name, x in super().get_config().items() if name != "cell"}
        config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        of_cell = self.cell.get_config()
        return {**config, **{name: of_cell[name] for name in _cell_arguments(self._nt_cell)}}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """The layer made with these arguments.

        Args:
          config: The result of `get_config`.
          custom_objects: Not used.

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
class SimpleRNN(_BuiltInRNN):
    """Fully connected recurrent layer.

    ``h = activation(x @ kernel + bias + h @ recurrent_kernel)`` at each time. Inputs have
    shape (batch, time, features). Those of all times meet the kernel in one product.

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
class LSTM(_BuiltInRNN):
    """Long short-term memory.

    With gates i, f and o and a candidate n, which are blocks of ``x @ kernel + bias +
    h @ recurrent_kernel`` in the order i, f, n, o: ``c = s(f) * c + s(i) * tanh(n)`` and
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
class GRU(_BuiltInRNN):
    """Gated recurrent unit.

    With gates z and r and a candidate n, which are blocks of ``x @ kernel`` and
    ``h @ recurrent_kernel`` in this order, their biases added: ``n = tanh(x_n + s(r) * h_n)`` and
    ``h = s(z) * h + (1 - s(z)) * n``, where s is the recurrent activation. With
    ``reset_after=False``, ``h_n`` is made of ``s(r) * h`` instead. Inputs have shape (batch, time,
    features). From Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for
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
