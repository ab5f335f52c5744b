"""Cells of any kind, and `StackedRNNCells`: cells on top of each other as one cell."""

from __future__ import annotations

from typing import Any

from ...core.ops.creation import zeros
from ...core.values.dtypes import repr_of
from ...nest import is_nested, map_structure
from ..call_arguments import signature_of
from ..layer import Layer
from .configured import document
from .nested import deserialize, serialize


def with_size(cell: Any, what: str, argument: str) -> None:
    """Refuse what is not a cell: it has no ``call``, or no ``state_size``."""
    if not hasattr(cell, "call"):
        raise ValueError(
            f"{what} should have a `call` method. Received: {argument}={repr_of(cell)}"
        )
    if not hasattr(cell, "state_size"):
        raise ValueError(
            f"{what} should have a `state_size` attribute (single integer or list of integers, one "
            f"integer per RNN state). Received: {argument}={repr_of(cell)}"
        )


def first_state(cell: Any, batch_size: int, dtype: Any) -> Any:
    """The states of a cell before the first step."""
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(batch_size=batch_size)
    sizes = cell.state_size
    return map_structure(lambda n: zeros((batch_size, n), dtype), sizes)


@document(
    "ValueError: If one of them is not a cell.",
    cells="A list of cells; the outputs of each are the inputs of the next.",
)
class StackedRNNCells(Layer):
    """Cells on top of each other, as one cell.

    >>> cells = [tf.keras.layers.LSTMCell(n) for n in (3, 2)]
    >>> layer = tf.keras.layers.RNN(tf.keras.layers.StackedRNNCells(cells))
    >>> layer(tf.ones((1, 5, 4))).shape
    TensorShape([1, 2])
    """

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(cells, list | tuple) or not cells:
            raise ValueError(f"`cells` is a list of cells. Received: cells={repr_of(cells)}")
        for cell in cells:
            with_size(cell, "All cells", "cell")
        self.cells = list(cells)

    @property
    def state_size(self) -> list[Any]:
        """The sizes of the states, of each cell."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> int:
        """The size of the output: the last cell's."""
        return output_size_of(self.cells[-1])

    def get_initial_state(self, batch_size: Any = None) -> list[Any]:
        """The states before the first step.

        Args:
          batch_size: The number of examples.

        Returns:
          A list of what each cell has.
        """
        return [first_state(cell, batch_size, self._nt_dtype) for cell in self.cells]

    def build(self, input_shape: Any) -> None:
        """Make the variables of the cells.

        Args:
          input_shape: The shape of the inputs, (batch, features).
        """
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(input_shape)
            input_shape = (input_shape[0], output_size_of(cell))

    def call(self, inputs: Any, states: Any, training: bool = False) -> tuple[Any, list[Any]]:
        """One step of all cells.

        Args:
          inputs: A tensor of shape (batch, features).
          states: A list of the states of each.
          training: Whether it is training.

        Returns:
          The output, and a list of the new states of each.
        """
        new = []
        for cell, state in zip(self.cells, states, strict=True):
            inputs, value = call_cell(cell, inputs, state, training)
            new.append(value)
        return inputs, new

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make a layer like this one."""
        return {**super().get_config(), "cells": [serialize(cell) for cell in self.cells]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer made with these arguments.

        Args:
          config: The result of `get_config`.
          custom_objects: Classes, by name.

        Returns:
          A layer.
        """
        cells = [deserialize(cell, custom_objects) for cell in config["cells"]]
        return cls(**{**config, "cells": cells})


def output_size_of(cell: Any) -> int:
    """The size of a cell's output: without one of its own, that of its first state."""
    size = getattr(cell, "output_size", None)
    if size is None:
        size = cell.state_size
    result = size[0] if isinstance(size, list | tuple) else size
    if not isinstance(result, int):
        raise ValueError("output_size must be an integer.")
    return result


def call_cell(cell: Any, inputs: Any, states: Any, training: Any) -> tuple[Any, Any]:
    """A step of any cell; its states as they were given, alone or in a list."""
    single = not is_nested(states)
    named: dict[str, Any] = {}
    if isinstance(cell, Layer):
        named = {"training": training} if "training" in signature_of(type(cell).call).all else {}
    step = cell if callable(cell) else cell.call
    output, new = step(inputs, [states] if single else list(states), **named)
    new = list(new) if is_nested(new) else [new]
    return output, new[0] if single else new
