"""What a layer has: variables, layers inside it, a name, a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.log.ambient import Losses
from ..core.log.tensors import as_tensor
from ..core.log.variable import Variable, assign_all, original
from ..core.values.dtypes import DType
from ..deferred_restore import notify_changed
from ..function.pickling import refuse_older
from ..module import Module
from . import constraints, initializers, regularizers
from .dtypes import keras_dtype
from .layer_config import LayerConfig
from .layer_path import LayerPath
from .layer_variable import LayerVariable
from .symbolic import auto_name


class LayerState(LayerPath, LayerConfig, Module):
    """The part of `Layer` that holds variables and layers."""

    # Attributes of numtape in which no variables or layers are searched for.
    _nt_internal = frozenset(
        {
            "_nt_fixed",
            "_nt_held",
            "_nt_inbound_nodes",
            "_nt_made_with",
            "_nt_trained",
            "built",
        }
    )

    # Tuples, so that a function that is recorded while a layer makes its variables is recorded
    # again, and not given up: it sets attributes, and changes no list that it reads.
    _nt_trained: tuple[LayerVariable, ...]  # what `add_weight` made: what can be trained
    _nt_fixed: tuple[LayerVariable, ...]  # and what cannot
    _nt_held: tuple[str, ...] = ()  # names of attributes that may hold variables, layers or metrics

    _nt_name: str
    _nt_trainable: bool
    activity_regularizer: Any = None
    built: bool

    def _nt_begin(self, trainable: bool, name: str | None, dtype: Any) -> None:
        if name is None:
            name = auto_name(type(self).__name__)
        elif not isinstance(name, str) or "/" in name:
            raise ValueError(
                f"Argument `name` must be a string and cannot contain character `/`. "
                f"Received: name={name} (of type {type(name)})"
            )
        if not isinstance(trainable, bool):
            raise ValueError(
                f"Expected `trainable` to be a boolean. Received: "
                f"trainable={trainable} (of type {type(trainable)})"
            )
        self._nt_name = name
        self._nt_trainable = trainable
        self._nt_dtype: DType = keras_dtype(dtype)
        self._nt_trained, self._nt_fixed = (), ()
        self._nt_inbound_nodes: list[Any] = []
        self._nt_losses = Losses()

    def __setstate__(self, state: dict[str, Any]) -> None:
        refuse_older(self, state, "_nt_trained")
        vars(self).update(state)

    @property
    def variable_dtype(self) -> str:
        """The name of the variables' dtype."""
        return self._nt_dtype.name

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype that it computes in: the same."""
        return self._nt_dtype.name

    # --- Variables ---------------------------------------------------------------------------

    def add_weight(
        self,
        shape: Any = None,
        initializer: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        aggregation: Any = "none",
        overwrite_with_gradient: bool = False,
        name: str | None = None,
    ) -> LayerVariable:
        """A new variable of this layer.

        Args:
          shape: Its shape; None is a scalar's.
          initializer: A function (shape, dtype) -> tensor, or the name of one; None is
            "glorot_uniform" for floats and "zeros" for others.
          dtype: Its dtype; None is the layer's.
          trainable: Whether it is trainable, in a layer that is.
          autocast: Accepted for Keras's sake.
          regularizer: A function that gives a loss of its value, which `losses` lists.
          constraint: A function that optimizers put its new value through.
          aggregation: Accepted for Keras's sake.
          overwrite_with_gradient: Must be False.
          name: Its name inside the layer.

        Returns:
          The variable.

        Raises:
          ValueError: If no initializer has this name, or ``overwrite_with_gradient``.
          RuntimeError: If the layer's class did not call ``super().__init__()``.

        Example:
          >>> layer = tf.keras.Layer(name="mine")
          >>> layer.offset = layer.add_weight((2,), "zeros", name="offset")
          >>> [v.path for v in layer.variables]
          ['mine/offset']
        """
        self._nt_check_begun()
        if isinstance(shape, str):
            raise ValueError(
                f"`name` must be passed as a keyword argument. Received: add_weight('{shape}', "
                f"...). Use: add_weight(shape=..., name='{shape}')."
            )
        if overwrite_with_gradient:
            raise ValueError(
                "overwrite_with_gradient=True is not possible: gradients of numtape "
                "are given to optimizers."
            )
        self._nt_place()
        requested = self._nt_dtype if dtype is None else keras_dtype(dtype)
        if initializer is None:
            initializer = "glorot_uniform" if requested.is_floating else "zeros"
        size = (shape,) if isinstance(shape, int) else tuple(shape or ())
        value = initializers.get(initializer)(size, requested)
        if name is None:
            number = len(self._nt_trained) + len(self._nt_fixed)
            name = f"variable_{number}" if number else "variable"
        variable = LayerVariable(
            Variable(
                value,
                trainable,
                name=f"{self.path}/{name}",
                dtype=requested,
                constraint=constraints.get(constraint),
            ),
            regularizers.get(regularizer),
            trainable and self._nt_trainable,
        )
        if trainable:
            self._nt_trained = (*self._nt_trained, variable)
        else:
            self._nt_fixed = (*self._nt_fixed, variable)
        return variable

    add_variable = add_weight

    def _nt_check_begun(self) -> None:
        if getattr(self, "_nt_trained", None) is None:
            raise RuntimeError(
                f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` in the "
                f"`__init__()` method. Go add it!"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._nt_internal and _holds(value) and name not in self._nt_held:
            if not isinstance(getattr(type(self), name, None), property):  # which sets another one
                self._nt_held = (*self._nt_held, name)
        object.__setattr__(self, name, value)
        notify_changed(self)

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name: variables and attributes with variables."""
        saved_parts: dict[str, Any] = {}
        for v in (*self._nt_trained, *self._nt_fixed):
            name = v.name
            while name in saved_parts:
                name += "_"
            saved_parts[name] = v
        return {**{name: vars(self).get(name) for name in self._nt_held}, **saved_parts}

    def _nt_leaves(self) -> list[Any]:
        """Variables, modules and metrics in attributes, in the order in which these were set."""
        leaves: list[Any] = []
        for name in self._nt_held:  # not vars(self): a recorded call may set other attributes
            value = getattr(self, name, None)
            if isinstance(value, list | tuple | dict):
                _inside(value, leaves)
            else:
                leaves.append(value)
        return leaves

    def _nt_own_variables(self) -> list[Variable]:
        """Its own, trainable ones first; those of modules inside it that are no layers, too."""
        if not self._nt_held:
            return [*self._nt_trained, *self._nt_fixed]
        value: dict[int, tuple[Variable, bool]] = {}
        value.update((id(v._original), (v, True)) for v in self._nt_trained)
        value.update((id(v._original), (v, False)) for v in self._nt_fixed)
        leaf: Any
        for leaf in self._nt_leaves():
            if isinstance(leaf, Variable):
                value.setdefault(id(original(leaf)), (leaf, leaf.trainable))
            elif isinstance(leaf, Module) and not isinstance(leaf, LayerState):
                for v in leaf.variables:
                    value.setdefault(id(original(v)), (v, v.trainable))
        own = list(value.values())
        return [v for v, trained in own if trained] + [v for v, trained in own if not trained]

    @property
    def _nt_layers(self) -> list[Any]:
        """The layers right inside it."""
        if not self._nt_held:
            return []
        layers = {id(x): x for x in self._nt_leaves() if isinstance(x, LayerState)}
        layers.pop(id(self), None)
        return list(layers.values())

    def _nt_flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Any]:
        """The layers inside it, those inside them after each."""
        flatten_layers: dict[int, Any] = {id(self): self}
        if recursive:
            _collect(self, flatten_layers)
        else:
            flatten_layers.update((id(x), x) for x in self._nt_layers)
        return list(flatten_layers.values())[not include_self :]

    @property
    def weights(self) -> list[Variable]:
        """All variables, as a list: its own, trainable ones first, then those of layers inside it.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> _ = dense(tf.ones((1, 3)))
          >>> [v.shape.as_list() for v in dense.weights]
          [[3, 2], [2]]
        """
        weights: dict[int, Variable] = {}
        for layer in self._nt_flatten_layers():
            for v in layer._nt_own_variables():
                weights.setdefault(id(original(v)), v)
        return list(weights.values())

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]
        """All variables, as a list."""
        return self.weights

    def _nt_variables(self, visited: set[int]) -> Iterator[Variable]:
        visited.update(map(id, self._nt_flatten_layers()))
        yield from self.weights

    @property
    def trainable_weights(self) -> list[Variable]:
        """The trainable ones, as a list; none if the layer is not trainable."""
        return [v for v in self.weights if v.trainable] if self._nt_trainable else []

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The trainable ones, as a list."""
        return self.trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The others, as a list."""
        return [v for v in self.weights if not v.trainable] if self._nt_trainable else self.weights

    @property
    def non_trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The others, as a list."""
        return self.non_trainable_weights

    @property
    def trainable(self) -> bool:
        """Whether its variables are trainable. Setting it sets it in layers inside as well.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> dense.build((None, 3))
          >>> dense.trainable = False
          >>> len(dense.trainable_weights), len(dense.non_trainable_weights)
          (0, 2)
        """
        return self._nt_trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._nt_trainable = bool(value)
        for v in self._nt_trained:
            v.trainable = value
        for layer in self._nt_layers:
            layer.trainable = value

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """The values of `weights`.

        Returns:
          A list of NumPy arrays.

        Example:
          >>> dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
          >>> dense.build((None, 2))
          >>> dense.get_weights()[0].tolist()
          [[1.0], [1.0]]
        """
        return [v.numpy() for v in self.weights]

    def set_weights(self, weights: Any) -> None:
        """Assign all of `weights`, or, if something does not fit, none.

        Args:
          weights: An array for each.

        Raises:
          ValueError: If there are more or fewer of them, or one has another shape.

        Example:
          >>> dense = tf.keras.layers.Dense(1)
          >>> dense.build((None, 2))
          >>> dense.set_weights([[[2.0], [3.0]], [4.0]])
          >>> dense(tf.ones((1, 2))).numpy()
          array([[9.]], dtype=float32)
        """
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of "
                f"length {len(weights)}, but the layer was expecting {len(variables)} weights."
            )
        values = [np.asarray(value) for value in weights]
        for v, value in zip(variables, values, strict=True):
            if tuple(v.shape) != value.shape:
                raise ValueError(
                    f"Layer {self.name} weight shape {tuple(v.shape)} is not compatible with "
                    f"provided weight shape {value.shape}."
                )
        assign_all(
            [*map(original, variables)],
            [
                as_tensor(value.astype(v.dtype.numpy_dtype, copy=False), v._spec)
                for v, value in zip(variables, values, strict=True)
            ],
        )

    def count_params(self) -> int:
        """How many numbers its variables hold.

        Returns:
          An int.

        Raises:
          ValueError: If the variables are not made yet.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> dense.build((None, 3))
          >>> dense.count_params()
          8
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't "
                f"built. You can build it manually via: `layer.build(input_shape)`."
            )
        return sum(v._spec.size for v in self.weights)

    @property
    def metrics(self) -> list[Any]:
        """The metrics in its attributes and in layers inside it."""
        metrics: dict[int, Any] = {}
        for layer in self._nt_flatten_layers():
            if layer._nt_held:
                metrics.update((id(x), x) for x in layer._nt_leaves() if _is_metric(x))
        return list(metrics.values())

    def __repr__(self) -> str:
        message = {"name": self.name, **self._nt_arguments_shown(), "built": self.built}
        message.update((v.name, tuple(v.shape)) for v in (*self._nt_trained, *self._nt_fixed)[:6])
        return f"<{type(self).__name__} {', '.join(f'{k}={x}' for k, x in message.items())}>"


def _collect(layer: LayerState, value: dict[int, Any]) -> None:
    for inner in layer._nt_layers:
        if id(inner) not in value:
            value[id(inner)] = inner
            if inner._nt_held:
                _collect(inner, value)


def _is_metric(value: Any) -> bool:
    return hasattr(type(value), "update_state") and hasattr(type(value), "reset_state")


def _holds(value: Any) -> bool:
    """Whether an attribute may hold variables, layers or metrics: a list may get them later."""
    if isinstance(value, LayerVariable | str | int | float) or value is None:
        return False  # variables of the layer's own are known
    if isinstance(value, tuple):
        return any(map(_holds, value))
    return (
        isinstance(value, Variable | Module | list | dict)
        or hasattr(type(value), "_nt_saved_parts")
        or _is_metric(value)
    )


def _inside(value: Any, result: list[Any]) -> None:
    """Add what is in lists, tuples and dicts, however deep."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, list | tuple | dict):
            _inside(item, result)
        else:
            result.append(item)
