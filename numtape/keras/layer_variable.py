"""`LayerVariable`: a variable as its layer knows it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..core.log.variable import Alias, Variable
from ..core.values.tensor import Tensor


class LayerVariable(Alias):
    """A variable as its layer names it: ``kernel``; tapes know it as ``dense/kernel:0``.

    Attributes:
      regularizer: A function that gives a loss of the variable's value, or None.
    """

    __slots__ = ("_trained", "regularizer")

    regularizer: Callable[..., Any] | None

    def __init__(self, of: Variable, regularizer: Any = None, trained: bool | None = None) -> None:
        super().__init__(of)
        self.regularizer = regularizer
        self._trained = of.trainable if trained is None else trained

    @property
    def trainable(self) -> bool:
        """Whether it is one of its layer's trainable variables. It can be set."""
        return self._trained

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trained = bool(value)
        if value:  # tapes have to watch it
            self._original._trainable = True

    @property
    def value(self) -> Tensor:  # type: ignore[override]
        """The value, as Keras's variables give it: not by a call, as `tf.Variable` does."""
        value: Tensor = self.read_value()
        return value

    @property
    def name(self) -> str:
        """The name inside the layer, such as ``kernel``."""
        return self.path.rpartition("/")[2]

    @property
    def path(self) -> str:
        """The path of the layer, or the name of the optimizer, and the variable's name."""
        return self._original._name

    def __repr__(self) -> str:
        return (
            f"<Variable path={self.path}, shape={self.shape}, dtype={self.dtype.name}, "
            f"value={self.numpy()}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._original, self.regularizer, self._trained)

    def __deepcopy__(self, memo: Any) -> Variable:
        return type(self)(
            copy.deepcopy(self._original, memo),
            copy.deepcopy(self.regularizer, memo),
            self._trained,
        )
