"""`SimpleRNN`, `LSTM` and `GRU`: recurrent layers of one cell each."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from ...core.values.dtypes import repr_of
from .. import regularizers
from ..input_spec import InputSpec
from ..layer import Layer
from .configured import document
from .recurrent import ARGUMENTS, RNN
from .recurrent_cells import ARGUMENTS as CELL_ARGUMENTS, Cell, GRUCell, LSTMCell, SimpleRNNCell

_layer = document(
    "ValueError: If ``units`` is not a positive int, or a name is unknown; at a call, if the "
    "inputs "
    "do not have three axes.",
    **ARGUMENTS,
    **CELL_ARGUMENTS,
)
_OF_LAYERS = ("name", "dtype", "trainable", "kwargs", "self")


def _arguments(cell: type[Cell]) -> list[str]:
    """The names of the arguments of a cell's own."""
    return [name for name in inspect.signature(cell).parameters if name not in _OF_LAYERS]


class _Named(RNN):
    """A recurrent layer that makes its cell: it has all of the cell's arguments."""

    _nt_cell: type[Cell]

    def _nt_make(self, provided: dict[str, Any]) -> None:
        """Make the cell and the layer with the arguments of its constructor, by name."""
        kwargs = dict(provided["kwargs"])
        use_cudnn = provided.get("use_cudnn", "auto")
        if use_cudnn not in ("auto", True, False):
            raise ValueError(
                f"Invalid valid received for argument `use_cudnn`. Expected one of {{'auto', True, "
                f"False}}. Received: use_cudnn={repr_of(use_cudnn)}"
            )
        own = {name: provided[name] for name in _arguments(self._nt_cell)}
        own.update({n: kwargs.pop(n) for n in ("implementation",) if n in kwargs})
        cell = self._nt_cell(
            **own,
            name=CELL_NAMES[self._nt_cell],
            dtype=kwargs.get("dtype"),
            trainable=kwargs.get("trainable", True),
        )
        how = (
            "return_sequences",
            "return_state",
            "go_backwards",
            "stateful",
            "unroll",
            "activity_regularizer",
        )
        RNN.__init__(self, cell, **{name: provided[name] for name in how}, **kwargs)
        self.input_spec = InputSpec(ndim=3)

    def __getattr__(self, name: str) -> Any:
        """Arguments of the cell."""
        cell = vars(self).get("cell")
        if cell is None or name.startswith("_") or name not in _arguments(self._nt_cell):
            return object.__getattribute__(self, name)  # which says why it is not there
        return getattr(cell, name)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *_arguments(self._nt_cell)})

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make a layer like this one."""
        config = {name: x for name, x in super().get_config().items() if name != "cell"}
        config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        of_cell = self.cell.get_config()
        return {**config, **{name: of_cell[name] for name in _arguments(self._nt_cell)}}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
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
class SimpleRNN(_Named):
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
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
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
        self._nt_make(locals())


@_layer
class LSTM(_Named):
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
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        use_cudnn: Any = "auto",
        **kwargs: Any,
    ) -> None:
        self._nt_make(locals())


@_layer
class GRU(_Named):
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
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = True,
        use_cudnn: Any = "auto",
        **kwargs: Any,
    ) -> None:
        self._nt_make(locals())
