"""`ConvLSTM1D`, `ConvLSTM2D` and `ConvLSTM3D`: LSTMs whose products are convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.ops.creation import ones, zeros
from ...core.ops.dropout import general_dropout
from ...core.ops.joining import concat
from ...core.ops.movement import reshape
from ...core.ops.slicing import split
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
from ..layer import operand
from .base import (
    check_positive,
    document,
    int_tuple,
    join_shape,
    parse_data_format,
    parse_padding,
    split_shape,
)
from .convolution import CONVOLUTIONS, FORMATS, window_counts
from .recurrent import CELL_NAMES, BuiltInRNN
from .recurrent_cells import ARGUMENTS as CELL_ARGUMENTS, LSTMCell, Step

if TYPE_CHECKING:
    from ..annotations import (
        ActivationLike,
        ConstraintLike,
        InitializerLike,
        InputShape,
        RegularizerLike,
    )


class ConvLSTMCell(LSTMCell):
    """One step of `ConvLSTM2D` and its relatives; `rank` is the number of spatial axes."""

    rank: int

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
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
        super().__init__(
            check_positive(filters, "filters"),
            activation,
            recurrent_activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            unit_forget_bias,
            kernel_regularizer,
            recurrent_regularizer,
            bias_regularizer,
            kernel_constraint,
            recurrent_constraint,
            bias_constraint,
            dropout,
            recurrent_dropout,
            seed,
            **kwargs,
        )
        self._nt_kept = tuple(name for name in self._nt_kept if name != "units")
        self._nt_set_arguments(
            filters=filters,
            kernel_size=int_tuple(kernel_size, self.rank, "kernel_size"),
            strides=int_tuple(strides, self.rank, "strides"),
            padding=parse_padding(padding),
            data_format=parse_data_format(data_format),
            dilation_rate=int_tuple(dilation_rate, self.rank, "dilation_rate"),
        )
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"Specifying `strides > 1` is not compatible with `dilation_rate > 1`. Received: "
                f"strides={self.strides} and dilation_rate={self.dilation_rate}"
            )

    def build(self, input_shape: InputShape) -> None:
        """Create the kernels and the bias.

        Args:
          input_shape: The shape of the inputs of a step: batch, spatial axes and channels.
        """
        spatial_sizes, channels = split_shape(input_shape, self.data_format)
        if None in spatial_sizes or channels is None:
            raise ValueError(
                f"ConvLSTM layers only support static input shapes for the spatial dimension, and "
                f"need a known number of channels. Received: input_shape={tuple(input_shape)}"
            )
        self._nt_input_sizes, self._nt_channels = spatial_sizes, channels
        columns = 4 * self.filters
        self.kernel = self._nt_weight("kernel", (*self.kernel_size, channels, columns))
        self.recurrent_kernel = self._nt_weight(
            "recurrent_kernel", (*self.kernel_size, self.filters, columns), "recurrent"
        )
        self.bias = self._nt_add_bias() if self.use_bias else None
        self._nt_make_seeds()

    def _nt_state_shape(self, batch: Any) -> tuple[Any, ...]:
        sizes = window_counts(
            self._nt_input_sizes, self.kernel_size, self.strides, self.dilation_rate, self.padding
        )
        return join_shape(batch, sizes, self.filters, self.data_format)

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """Return the initial states, which are zeros.

        Args:
          batch_size: The number of examples.

        Returns:
          A list of two tensors.
        """
        state = zeros(self._nt_state_shape(int(batch_size)), self._nt_dtype)
        return [state, state]

    def compute_output_shape(self, input_shape: InputShape) -> tuple[int | None, ...]:
        """Return the shape of the output of a step."""
        sizes, _ = split_shape(input_shape, self.data_format)
        counts = window_counts(
            sizes, self.kernel_size, self.strides, self.dilation_rate, self.padding
        )
        return join_shape(input_shape[0], counts, self.filters, self.data_format)

    def _nt_masks(self, shape: Any, rate: float, training: bool | None) -> list[Tensor]:
        """Draw a dropout mask for each gate; an empty list without dropout."""
        if not training or not 0.0 < rate < 1.0:
            return []
        draw = self.seed_generator.uniform
        return [general_dropout(ones(shape, self._nt_dtype), rate, draw) for _ in range(4)]

    def _nt_convolve(
        self, x: Tensor, kernel: Any, masks: list[Tensor], is_recurrent: bool
    ) -> list[Tensor]:
        """Convolve with the part of the kernel of each gate."""
        unit_steps = (1,) * self.rank
        steps, rates = (unit_steps,) * 2 if is_recurrent else (self.strides, self.dilation_rate)
        padding = "SAME" if is_recurrent else self.padding.upper()

        def convolve(x: Tensor, kernel: Any) -> Tensor:
            result: Tensor = CONVOLUTIONS[self.rank](
                x,
                kernel,
                list(join_shape(1, steps, 1, self.data_format)),
                padding,
                FORMATS[self.data_format][self.rank],
                list(join_shape(1, rates, 1, self.data_format)),
            )
            return result

        channel_axis = 1 if self.data_format == "channels_first" else -1
        if not masks:
            return split(convolve(x, kernel), 4, channel_axis)
        kernels = split(kernel, 4, -1)
        return [convolve(x * mask, k) for mask, k in zip(masks, kernels, strict=True)]

    def _nt_project_and_step(
        self, batch: int, features: int, training: bool | None, steps: int = 1
    ) -> tuple[Any, Step]:
        kernel, recurrent_kernel = operand(self.kernel), operand(self.recurrent_kernel)
        gate, activate = self._nt_activation("recurrent_activation"), self._nt_activation()
        sizes: tuple[Any, ...] = self._nt_input_sizes
        shape = join_shape(batch, sizes, self._nt_channels, self.data_format)
        masks = self._nt_masks(shape, self.dropout, training)
        state_shape = self._nt_state_shape(batch)
        state_masks = self._nt_masks(state_shape, self.recurrent_dropout, training)
        biases: list[Any] = []
        if self.bias is not None:
            bias_shape = join_shape(1, (1,) * self.rank, self.filters, self.data_format)
            biases = [reshape(b, bias_shape) for b in split(operand(self.bias), 4)]

        def project(x: Tensor) -> list[Tensor]:
            if x.ndim > self.rank + 2:  # the inputs of all steps
                count = int(x.shape[0])
                flat = reshape(x, (count * batch, *shape[1:]))
                all_masks = [concat([mask] * count, 0) for mask in masks]
                parts = self._nt_convolve(flat, kernel, all_masks, False)
                parts = [y + b for y, b in zip(parts, biases, strict=True)] if biases else parts
                return [reshape(y, (count, batch, *y.shape[1:])) for y in parts]
            parts = self._nt_convolve(x, kernel, masks, False)
            return [y + b for y, b in zip(parts, biases, strict=True)] if biases else parts

        def step(x: list[Tensor], states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            h, c = states
            products = self._nt_convolve(h, recurrent_kernel, state_masks, True)
            i, f, candidate, o = (a + b for a, b in zip(x, products, strict=True))
            c = gate(f) * c + gate(i) * activate(candidate)
            h = gate(o) * activate(c)
            return h, [h, c]

        return project, step


class _Cell1D(ConvLSTMCell):
    rank = 1


class _Cell2D(ConvLSTMCell):
    rank = 2


class _Cell3D(ConvLSTMCell):
    rank = 3


CELL_NAMES.update(dict.fromkeys((_Cell1D, _Cell2D, _Cell3D), "conv_lstm_cell"))
_layer = document(
    "ValueError: If an argument is out of range, or a name is unknown; at a call, if the number of "
    "axes is wrong or a spatial size is unknown.",
    **{**CELL_ARGUMENTS, "units": ""},
    return_sequences="Whether to return the outputs of all time steps, not only the last one.",
    return_state="Whether to also return the final states.",
    go_backwards="Whether to process the time steps in reverse order.",
    stateful="Whether to use the final states of a batch as the initial states of the next one.",
)


class _ConvLSTM(BuiltInRNN):
    """Base class of the layers; `_nt_cell` has the number of spatial axes."""

    _nt_cell: type[ConvLSTMCell]

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
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
        **kwargs: Any,
    ) -> None:
        self._nt_initialize_from({**locals(), "unroll": kwargs.pop("unroll", False)})
        self.input_spec = InputSpec(ndim=self._nt_cell.rank + 3)

    def compute_output_shape(
        self, sequences_shape: InputShape, initial_state_shape: object = None
    ) -> Any:
        """Compute the shape of the output, and of the states if ``return_state``."""
        batch, steps, *rest = sequences_shape
        state = self.cell.compute_output_shape((batch, *rest))
        result = (batch, steps, *state[1:]) if self.return_sequences else state
        return (result, state, state) if self.return_state else result


@_layer
class ConvLSTM1D(_ConvLSTM):
    """An LSTM with convolutions over one axis: inputs of shape (batch, time, rows, channels).

    >>> layer = tf.keras.layers.ConvLSTM1D(3, 2, padding="same")
    >>> layer(tf.ones((2, 4, 5, 1))).shape
    TensorShape([2, 5, 3])
    """

    _nt_cell = _Cell1D


@_layer
class ConvLSTM2D(_ConvLSTM):
    """An LSTM with convolutions of images: (batch, time, height, width, channels).

    The gates i, f and o and the candidate n are blocks of ``conv(x, kernel) + bias + conv(h,
    recurrent_kernel)``, as in `LSTM`. From Shi et al., "Convolutional LSTM Network" (2015).

    >>> layer = tf.keras.layers.ConvLSTM2D(3, 2, return_sequences=True)
    >>> layer(tf.ones((2, 4, 5, 6, 1))).shape
    TensorShape([2, 4, 4, 5, 3])
    """

    _nt_cell = _Cell2D


@_layer
class ConvLSTM3D(_ConvLSTM):
    """An LSTM with convolutions over three axes: (batch, time, depth, height, width, channels).

    >>> layer = tf.keras.layers.ConvLSTM3D(2, 2)
    >>> layer(tf.ones((1, 2, 3, 3, 3, 1))).shape
    TensorShape([1, 2, 2, 2, 2])
    """

    _nt_cell = _Cell3D
