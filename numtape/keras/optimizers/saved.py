"""What an optimizer keeps, in lists, dicts and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from ...compat.traceback_filter import warn
from ...core.log.variable import Variable, assign_all, original
from ...core.ops.elementwise import cast
from ..layer_variable import LayerVariable


class Saved:
    """Base of optimizers: their own variables' values, taken out and put back.

    Attributes:
      _places: For each own variable that is kept for a trained one: what it is, such as
        ``momentum``, and the trained one's place among those it was built for.
    """

    name: str
    built: bool
    _nt_iterations: Variable
    _nt_learning_rate: Any
    _nt_named: tuple[LayerVariable, ...]
    _nt_places: tuple[tuple[Variable, str, int], ...]
    _nt_trained: list[Variable]

    @property
    def _nt_variables(self) -> list[Variable]:
        """The variables that hold the state."""
        return [original(variable) for variable in self._nt_named]

    # --- Checkpoints

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name."""
        named = {"_iterations": self._nt_iterations}
        if isinstance(self._nt_learning_rate, Variable):
            named["_learning_rate"] = original(self._nt_learning_rate)
        others = [v for v in self._nt_variables if all(v is not own for own in named.values())]
        return {**named, "_variables": others}

    def _nt_saved_names(self, number: Callable[[Variable], int | None]) -> dict[str, str]:
        """By which names a checkpoint's graph knows own variables: not by their order.

        A variable that is kept for a trained one goes by the number that this one has in the
        graph. If it has none, its place counts, and its name has to be the same.

        Args:
          number: A function of a trained variable: its number in the graph, or None.

        Returns:
          Names by those of `_nt_saved_parts`.
        """
        places = {id(own): (kind, place) for own, kind, place in self._nt_places}
        saved_names: dict[str, str] = {}
        alone = 0
        for k, own in enumerate(self._nt_saved_parts()["_variables"]):
            if id(own) in places:
                kind, place = places[id(own)]
                node = number(self._nt_trained[place])
                name = f"{kind} {place}: {_last(self._nt_trained[place])}"
                if node is not None:
                    name = f"{kind} of {node}"
            else:
                name, alone = f"{alone}: {_last(own)}", alone + 1
            while name in saved_names.values():
                name += "+"
            saved_names[f"_variables/{k}"] = name
        return saved_names

    # --- Lists and dicts

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Give the optimizer's variables values: all of them, or, if one does not fit, none.

        Args:
          weights: Arrays in the order of `variables`.

        Raises:
          ValueError: If it has not been built, or shapes or their number differ.
        """
        if not self.built:
            raise ValueError(
                "You are calling `set_weights()` on an optimizer that has not yet been built. "
                "Please call `optimizer.build(trainable_variables)` to create the optimizer "
                "weights before calling `set_weights()`."
            )
        self._nt_set_values(weights)

    def _nt_set_values(self, weights: Sequence[Any]) -> None:
        if len(weights) != len(self._nt_variables):
            raise ValueError(
                f"Optimizer '{self.name}' has {len(self._nt_variables)} variables, but was given "
                f"{len(weights)} weights."
            )
        values = []
        for variable, weight in zip(self._nt_variables, weights, strict=True):
            value = cast(weight, variable.dtype)
            if value.shape != variable.shape:
                raise ValueError(
                    f"Optimizer variable {variable.name} has shape {variable.shape} not compatible "
                    f"with provided weight shape {value.shape}."
                )
            values.append(value)
        assign_all(self._nt_variables, values)

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Put the values of `variables` into a dict.

        Args:
          store: A dict, whose keys become ``"0"``, ``"1"`` and so on.

        Example:
          >>> store = {}
          >>> tf.keras.optimizers.SGD(0.5).save_own_variables(store)
          >>> store
          {'0': np.int64(0), '1': np.float32(0.5)}
        """
        for k, variable in enumerate(self._nt_variables):
            store[str(k)] = variable.numpy()

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Give `variables` the values of a dict; with a warning none if it has another length.

        Args:
          store: What `save_own_variables` filled.

        Raises:
          ValueError: If shapes differ.
        """
        if len(store) != len(self._nt_variables):
            warn(
                f"Skipping variable loading for optimizer '{self.name}', because it has "
                f"{len(self._nt_variables)} variables whereas the saved optimizer has {len(store)} "
                f"variables."
            )
            return
        self._nt_set_values([store[str(k)] for k in range(len(store))])


def _last(variable: Variable) -> str:
    """A variable's name in its layer."""
    return variable._name.rpartition("/")[2]
