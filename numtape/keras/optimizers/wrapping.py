"""Optimizers that hold others: `LossScaleOptimizer`, and `MultiOptimizer` with `OptimizerMap`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.as_tensor import as_tensor
from ...core.log.variable import Variable, original
from ...core.ops.comparison import equal, is_finite, logical_and
from ...core.ops.elementwise import cast, select
from ...core.ops.reduction import reduce_all
from ...core.values.dtypes import float32, int64, repr_of
from ...core.values.tensor import Tensor
from ..layer import LayerVariable
from ..registry import get_registered_object
from .optimizer import (
    REGISTRY,
    Changes,
    Optimizer,
    dense,
    optimizer_class,
    optimizer_of,
    trained_variables,
)

if TYPE_CHECKING:
    from ...core.values.tensor import Operators
    from ..annotations import LearningRate

# Arguments of the base class in older configs of Keras, with the only values that are accepted.
_UNUSED = {
    "weight_decay": None,
    "clipnorm": None,
    "global_clipnorm": None,
    "clipvalue": None,
    "use_ema": False,
    "ema_momentum": 0.99,
    "ema_overwrite_frequency": None,
    "loss_scale_factor": None,
    "gradient_accumulation_steps": None,
}


def _serialize(optimizer: Optimizer) -> dict[str, Any]:
    return REGISTRY.describe(optimizer)


def _deserialize(config: Any, custom_objects: dict[str, Any] | None) -> Any:
    return optimizer_of(config, custom_objects) if isinstance(config, dict) else config


@optimizer_class
class LossScaleOptimizer(Optimizer):
    """Multiplies losses by a scale, so that gradients in float16 do not become 0.

    `scale_loss` multiplies by the scale, and `apply` divides the gradients by it before the inner
    optimizer's step. A step with an infinite gradient or NaN is skipped and halves the scale;
    ``dynamic_growth_steps`` finite steps in sequence double it.

    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD(0.5), 8.0)
    >>> optimizer.apply([tf.constant(float("inf"))], [v])
    >>> v.numpy(), optimizer.dynamic_scale.numpy()
    (np.float32(1.0), np.float32(4.0))
    >>> optimizer.apply([tf.constant(4.0)], [v])
    >>> v.numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        inner_optimizer: Optimizer,
        initial_scale: float = 2.0**15,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not kwargs.pop("dynamic", True):
            raise ValueError(
                "LossScaleOptimizer no longer supports `dynamic=False`. Instead, simply set "
                "`loss_scale_factor` directly on the `inner_optimizer`."
            )
        unknown = [argument for argument in kwargs if argument not in _UNUSED]
        if unknown:
            raise ValueError(
                f"LossScaleOptimizer does not support arguments: `{'`, `'.join(unknown)}`."
            )
        for argument, value in kwargs.items():
            if value != _UNUSED[argument]:
                raise ValueError(
                    f"LossScaleOptimizer does not support `{argument}`. Instead, set "
                    f"`{argument}` on the `inner_optimizer`."
                )
        if not isinstance(inner_optimizer, Optimizer):
            raise ValueError(
                f"`inner_optimizer` must be an optimizer. Received: {repr_of(inner_optimizer)}"
            )
        super().__init__(0.0, name=name)
        self.inner_optimizer = inner_optimizer
        self.initial_scale = initial_scale
        self.dynamic_growth_steps = dynamic_growth_steps
        inner_optimizer.loss_scale_factor = None  # else gradients would be divided twice

    step_counter: Variable
    dynamic_scale: Variable

    @property
    def _nt_variables(self) -> list[Variable]:
        return [original(v) for v in self.variables]

    @property
    def variables(self) -> list[Variable]:
        """The optimizer's variables, followed by the inner optimizer's."""
        return [*self._nt_named, *self.inner_optimizer.variables]

    def _nt_saved_slots(self) -> list[tuple[Variable, str, int, Variable]]:
        return [*super()._nt_saved_slots(), *self.inner_optimizer._nt_saved_slots()]

    def _nt_build(self, variables: list[Variable]) -> None:
        self._nt_own(0, "step_counter", int64)
        self.step_counter = self._nt_named[-1]
        self._nt_own(self.initial_scale, "dynamic_scale", float32)
        self.dynamic_scale = self._nt_named[-1]
        self.inner_optimizer.build(variables)

    def _nt_apply(self, pairs: list[tuple[Any, Variable]], condition: Tensor | None = None) -> None:
        inner = self.inner_optimizer
        counter, scale = original(self.step_counter), original(self.dynamic_scale)
        gradients = [dense(gradient, variable) for gradient, variable in pairs]
        finite = as_tensor(True)
        for gradient in gradients:
            finite = logical_and(finite, reduce_all(is_finite(gradient)))
        unscaled = [
            (gradient / cast(scale, gradient.dtype), variable)
            for gradient, (_, variable) in zip(gradients, pairs, strict=True)
        ]
        inner._nt_known([variable for _, variable in pairs])
        if inner._nt_steps_by_itself():
            inner._nt_apply(unscaled, finite)
        elif finite:  # the step is a user's function, which may do anything
            inner._nt_apply(unscaled)
        changes = Changes()
        is_growth_due = logical_and(finite, equal(counter, self.dynamic_growth_steps - 1))
        next_count = select(logical_and(finite, ~is_growth_due), counter + 1, counter * 0)
        changes[counter] = next_count
        factor = select(finite, select(is_growth_due, 2.0, 1.0), 0.5)
        changes[scale] = scale * factor
        changes.assign()

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the inner optimizer. Settable."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: LearningRate) -> None:
        self.inner_optimizer.learning_rate = value

    @property
    def iterations(self) -> Variable | Tensor:
        """The number of steps of the inner optimizer."""
        return self.inner_optimizer.iterations

    def scale_loss(self, loss: Operators) -> Any:
        """Multiply the loss by the scale.

        Args:
          loss: A tensor.

        Returns:
          A tensor.
        """
        scale = self.dynamic_scale if self.built else self.initial_scale
        return loss * (cast(scale, loss.dtype) if isinstance(loss, Tensor) else scale)

    def finalize_variable_values(self, var_list: Sequence[Variable]) -> None:
        """Set variables to the inner optimizer's moving averages, if it has ``use_ema``.

        Args:
          var_list: The variables the optimizer was built for.
        """
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            "name": self.name,
            "inner_optimizer": _serialize(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Optimizer:
        """Create an optimizer, without state, from its constructor arguments.

        Args:
          config: The result of `get_config`.
          custom_objects: Custom optimizers and schedules, by name.

        Returns:
          An optimizer.
        """
        inner = _deserialize(config["inner_optimizer"], custom_objects)
        return cls(**{**config, "inner_optimizer": inner})


@optimizer_class
class OptimizerMap(MutableMapping[str, Optimizer]):
    """A dict of optimizers by the path of a variable, or by a regular expression for paths.

    >>> optimizers = tf.keras.optimizers
    >>> optimizer_map = optimizers.OptimizerMap(optimizers.SGD(), {"encoder/.*": optimizers.Adam()})
    >>> [type(optimizer_map[path]).__name__ for path in ("encoder/dense/kernel", "head/kernel")]
    ['Adam', 'SGD']
    """

    def __init__(
        self, default_optimizer: Optimizer, optimizer_map: dict[str, Optimizer] | None = None
    ) -> None:
        if not isinstance(default_optimizer, Optimizer):
            raise TypeError(
                f"default_optimizer must be a Keras Optimizer instance. Received: "
                f"{repr_of(default_optimizer)}"
            )
        if optimizer_map is not None and not isinstance(optimizer_map, dict):
            raise TypeError(
                f"optimizer_map must be a dictionary. Received: {repr_of(optimizer_map)}"
            )
        self._default = default_optimizer
        self._optimizers = dict(optimizer_map or {})

    @property
    def default_optimizer(self) -> Optimizer:
        """The optimizer of variables without an entry."""
        return self._default

    def __getitem__(self, key: str) -> Optimizer:
        if key in self._optimizers:
            return self._optimizers[key]
        patterns = [pattern for pattern in self._optimizers if re.fullmatch(pattern, key)]
        if len(patterns) > 1:
            raise ValueError(f"Multiple optimizers assigned to variable {key}: {patterns}.")
        return self._optimizers[patterns[0]] if patterns else self._default

    def __setitem__(self, key: str, optimizer: Optimizer) -> None:
        if key in self._optimizers:
            raise ValueError(
                f"'{key}' already exists in the OptimizerMap with value {self._optimizers[key]}. "
                f"Please make sure to not use duplicated keys."
            )
        if not isinstance(key, str):
            raise ValueError(f"key must be a string. Received: {repr_of(key)}")
        if not isinstance(optimizer, Optimizer):
            raise ValueError(
                f"optimizer must be a Keras Optimizer instance. Received: {repr_of(optimizer)}"
            )
        if isinstance(optimizer, LossScaleOptimizer | MultiOptimizer):
            raise ValueError(f"optimizer cannot be {type(optimizer).__name__}.")
        self._optimizers[key] = optimizer

    def __delitem__(self, key: str) -> None:
        del self._optimizers[key]

    def __len__(self) -> int:
        return len(self._optimizers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._optimizers)

    def __call__(self, variable: Variable) -> Optimizer:
        """Return the optimizer of a variable."""
        return self[original(variable)._name]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of configs.
        """
        return {
            "default_optimizer": _serialize(self._default),
            "optimizer_map": {key: _serialize(x) for key, x in self._optimizers.items()},
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> OptimizerMap:
        """Create a map from the result of `get_config`.

        Args:
          config: The result of `get_config`.
          custom_objects: Custom optimizers, by name.

        Returns:
          A map.
        """
        return cls(
            _deserialize(config["default_optimizer"], custom_objects),
            {k: _deserialize(x, custom_objects) for k, x in config["optimizer_map"].items()},
        )


@optimizer_class
class MultiOptimizer(Optimizer):
    """Trains variables with different optimizers.

    >>> kernel, bias = tf.Variable(1.0, name="kernel"), tf.Variable(1.0, name="bias")
    >>> slow, fast = tf.keras.optimizers.SGD(0.25), tf.keras.optimizers.SGD(0.5)
    >>> optimizer = tf.keras.optimizers.MultiOptimizer(
    ...     lambda variable: fast if "bias" in variable.name else slow)
    >>> optimizer.apply([tf.constant(1.0), tf.constant(1.0)], [kernel, bias])
    >>> kernel.numpy(), bias.numpy()
    (np.float32(0.75), np.float32(0.5))
    """

    _nt_inner: tuple[Optimizer, ...] = ()

    def __init__(
        self,
        optimizer_map: OptimizerMap | Callable[[Any], Optimizer],
        loss_scale_factor: float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(0.0, loss_scale_factor=loss_scale_factor, name=name)
        self._nt_map = optimizer_map
        self._nt_chosen: dict[int, int] = {}  # the index of each trained variable's optimizer
        if isinstance(optimizer_map, OptimizerMap):
            for optimizer in (*optimizer_map.values(), optimizer_map.default_optimizer):
                self._nt_add(optimizer)

    def _nt_add(self, optimizer: Optimizer) -> int:
        """Add an optimizer unless it is known; return its index."""
        for k, known_optimizer in enumerate(self._nt_inner):
            if known_optimizer is optimizer:
                return k
        optimizer.loss_scale_factor = self.loss_scale_factor
        self._nt_inner = (*self._nt_inner, optimizer)
        return len(self._nt_inner) - 1

    @property
    def optimizers(self) -> list[Optimizer]:
        """The optimizers of the variables."""
        return list(self._nt_inner)

    @property
    def _nt_variables(self) -> list[Variable]:
        return [original(v) for v in self.variables]

    @property
    def variables(self) -> list[Variable]:
        """The optimizer's variables, followed by those of the optimizers of the variables."""
        return [*self._nt_named, *(v for x in self._nt_inner for v in x.variables)]

    def _nt_saved_slots(self) -> list[tuple[Variable, str, int, Variable]]:
        inner_slots = (slot for optimizer in self._nt_inner for slot in optimizer._nt_saved_slots())
        return [*super()._nt_saved_slots(), *inner_slots]

    def build(self, variables: Iterable[Variable]) -> None:
        """Build the optimizer of each variable.

        Args:
          variables: The variables to train.

        Raises:
          ValueError: If the map's result is not an optimizer, or holds other optimizers.
        """
        if self.built:
            return
        if not callable(self._nt_map):
            raise ValueError(
                f"`optimizer_map` must be an OptimizerMap or a function from a variable to its "
                f"optimizer. Received: {repr_of(self._nt_map)}"
            )
        trained = trained_variables(variables)
        groups: dict[int, list[Variable]] = {}
        for variable in trained:
            optimizer = self._nt_map(LayerVariable(variable))
            if not isinstance(optimizer, Optimizer):
                raise ValueError(
                    f"Optimizer for variable {variable.name} is not an Optimizer instance."
                )
            if isinstance(optimizer, LossScaleOptimizer | MultiOptimizer):
                raise ValueError(
                    f"{type(optimizer).__name__} cannot be used inside an MultiOptimizer."
                )
            k = self._nt_add(optimizer)
            self._nt_chosen[id(variable)] = k
            groups.setdefault(k, []).append(variable)
        for k, group in groups.items():
            self._nt_inner[k].build(group)
        super().build(trained)

    def _nt_build(self, variables: list[Variable]) -> None:
        pass

    def _nt_number(self) -> None:
        super()._nt_number()
        chosen = getattr(self, "_nt_chosen", {})
        if len(chosen) == len(self._nt_trained):  # also after a copy
            self._nt_chosen = dict(zip(map(id, self._nt_trained), chosen.values(), strict=True))

    def _nt_groups_of(self, variables: Sequence[Variable]) -> dict[int, list[int]]:
        """The positions of the variables of each optimizer."""
        groups: dict[int, list[int]] = {}
        for position, variable in enumerate(variables):
            groups.setdefault(self._nt_chosen[id(variable)], []).append(position)
        return groups

    def _nt_apply(self, pairs: list[tuple[Any, Variable]], condition: Tensor | None = None) -> None:
        for k, positions in self._nt_groups_of([v for _, v in pairs]).items():
            group = [pairs[position] for position in positions]
            self._nt_inner[k]._nt_known([variable for _, variable in group])
            self._nt_inner[k]._nt_apply(group)
        self._nt_iterations.assign_add(1)

    def _nt_steps_by_itself(self) -> bool:
        return False

    @property
    def learning_rate(self) -> Any:
        """Not available: each of `optimizers` has a learning rate.

        Raises:
          AttributeError: Always.
        """
        raise AttributeError(
            "Learning rate cannot be accessed on a MultiOptimizer. Access the learning rate on "
            "the individual sub-optimizers instead."
        )

    @learning_rate.setter
    def learning_rate(self, value: LearningRate) -> None:
        raise AttributeError(
            "Learning rate cannot be set on a MultiOptimizer. Set the learning rate on the "
            "individual sub-optimizers instead."
        )

    @property
    def loss_scale_factor(self) -> float | None:
        """The factor of `scale_loss`, also of the optimizers of the variables. Settable."""
        return self._nt_loss_scale_factor

    @loss_scale_factor.setter
    def loss_scale_factor(self, value: float | None) -> None:
        self._nt_loss_scale_factor = value
        for optimizer in self._nt_inner:
            optimizer.loss_scale_factor = value

    def finalize_variable_values(self, var_list: Sequence[Variable]) -> None:
        """Set variables to the moving averages of their optimizers that have ``use_ema``.

        Args:
          var_list: The variables the optimizer was built for.
        """
        variables = trained_variables(var_list)
        for k, positions in self._nt_groups_of(variables).items():
            self._nt_inner[k].finalize_variable_values([variables[p] for p in positions])

    def __repr__(self) -> str:
        return f"<MultiOptimizer name={self.name}, optimizers={self.optimizers}>"

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        if isinstance(self._nt_map, OptimizerMap):
            config: Any = {
                "module": "keras.optimizers",
                "class_name": "OptimizerMap",
                "config": self._nt_map.get_config(),
                "registered_name": None,
            }
        else:
            config = REGISTRY.serialize(self._nt_map)
        return {
            "optimizer_map": config,
            "loss_scale_factor": self.loss_scale_factor,
            "name": self.name,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Optimizer:
        """Create an optimizer, without state, from its constructor arguments.

        Args:
          config: The result of `get_config`.
          custom_objects: Custom optimizers and functions, by name.

        Returns:
          An optimizer.
        """
        optimizer_map = config["optimizer_map"]
        if isinstance(optimizer_map, dict):
            if optimizer_map.get("class_name") == "OptimizerMap":
                optimizer_map = OptimizerMap.from_config(optimizer_map["config"], custom_objects)
            else:
                name = optimizer_map.get("registered_name") or optimizer_map.get("config")
                optimizer_map = get_registered_object(str(name), custom_objects)
        return cls(**{**config, "optimizer_map": optimizer_map})
