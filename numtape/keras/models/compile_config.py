"""`CompiledLoss` and `CompiledMetrics`: the losses and metrics passed to `compile`.

The first batch resolves names such as "accuracy", which depend on shapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core.ops.elementwise import cast
from ...core.values.dtypes import float32
from ...core.values.tensor import Tensor
from ...nest import flatten
from .. import losses, metrics
from ..losses import Loss, LossFunction
from ..metrics import Mean, MeanMetricWrapper, Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...core.log.variable import Variable
    from ..annotations import LossesLike, LossLike, LossWeights, MetricLike, MetricsLike

    # Targets or predictions of one output.
    Values: TypeAlias = Tensor | Variable | NDArray[Any]


def _by_shape(y_true: Values, y_pred: Values, choice: tuple[Any, Any, Any]) -> Any:
    """Choose among (binary, sparse, categorical) by the shapes of labels and predictions."""
    binary, sparse, categorical = choice
    if not y_pred.ndim or y_pred.shape[-1] == 1:
        return binary
    if y_true.ndim < y_pred.ndim or (y_true.shape[-1] == 1 and y_pred.shape[-1] > 1):
        return sparse
    return categorical


def _name(x: object) -> str:
    return str(getattr(x, "name", None) or getattr(x, "__name__", type(x).__name__))


def _loss_of(identifier: LossLike, y_true: Values, y_pred: Values) -> Any:
    if isinstance(identifier, Loss):
        return identifier
    if str(identifier).lower() in ("crossentropy", "ce"):
        function = _by_shape(
            y_true,
            y_pred,
            (
                losses.binary_crossentropy,
                losses.sparse_categorical_crossentropy,
                losses.categorical_crossentropy,
            ),
        )
    else:
        function = losses.get(identifier)
    if isinstance(function, Loss):
        return function
    name = identifier if isinstance(identifier, str) else _name(function)
    return LossFunction(function, name, "sum_over_batch_size", None)


def metric_of(identifier: MetricLike | None, y_true: Values, y_pred: Values) -> Metric:
    """Resolve an identifier passed to `compile`; "accuracy" depends on the shapes."""
    if identifier is None:
        raise ValueError("Expected metric, received `None`")
    if str(identifier).lower() in ("accuracy", "acc"):
        value: Any = _by_shape(
            y_true,
            y_pred,
            (
                metrics.BinaryAccuracy,
                metrics.SparseCategoricalAccuracy,
                metrics.CategoricalAccuracy,
            ),
        )(name=str(identifier))
    else:
        value = metrics.get(identifier)
    if not isinstance(value, Metric):
        value = MeanMetricWrapper(value, name=_name(value))
    metric: Metric = value
    if isinstance(identifier, str):
        metric.name = identifier
    return metric


def _is_single(x: object) -> bool:
    return isinstance(x, list | tuple) and len(x) == 1


def _is_nested(x: Any) -> bool:
    """Whether a value is a structure of more than one level."""
    if not isinstance(x, dict | list | tuple):
        return False
    return any(
        isinstance(item, dict | list | tuple) for item in (x.values() if isinstance(x, dict) else x)
    )


class Outputs:
    """Matches targets, weights and losses to the model's outputs.

    Attributes:
      names: The names of the outputs; None for an output without a name.
      single: Whether the model has a single output.
      groups: For a dict of structures, the number of outputs of each key; otherwise empty.
    """

    def __init__(self, y_pred: Any, output_names: list[str] | None) -> None:
        self.is_nested = _is_nested(y_pred)
        self.groups: dict[Any, int] = {}
        if self.is_nested and isinstance(y_pred, dict):
            self.groups = {key: len(flatten(y_pred[key])) for key in sorted(y_pred)}
        has_keys = isinstance(y_pred, dict) and not self.is_nested
        self.keys: list[Any] | None = sorted(y_pred) if has_keys else None
        self.count = len(self.flat(y_pred))
        self.single = self.count == 1
        no_names: list[Any] = [None] * self.count
        names = output_names if output_names and len(output_names) == self.count else no_names
        self.names: list[Any] = self.keys or list(names)

    def flat(self, y: Any) -> list[Any]:
        """Flatten predictions, or a structure like theirs, to a list."""
        if isinstance(y, dict) and self.keys is not None:
            return [y[key] for key in self.keys]
        return flatten(y)

    def targets(self, y: Any, kind: str = "y_true") -> list[Any]:
        """Return the target of each output, from a dict by name or a flat structure."""
        if self._is_by_group(y):
            return self._of_groups(y, kind)
        if isinstance(y, dict) and not self.is_nested:
            unknown_names = set(y) - set(self.names)
            if unknown_names:
                raise KeyError(
                    f"{kind} has keys {sorted(y)}, but the model's outputs are {self.names}."
                )
            return [y.get(name) for name in self.names]
        result = flatten(y)
        if len(result) != self.count:
            raise ValueError(
                f"{kind} and y_pred have different structures: {len(result)} for "
                f"{self.count} outputs."
            )
        return result

    def _is_by_group(self, provided: Any) -> bool:
        return (
            isinstance(provided, dict) and bool(provided) and provided.keys() <= self.groups.keys()
        )

    def _of_groups(self, provided: dict[Any, Any], kind: str) -> list[Any]:
        """Return a value for each output from values by key; one value may serve all of its key."""
        result: list[Any] = []
        for key, count in self.groups.items():
            values = flatten(provided[key]) if key in provided else [None]
            if len(values) not in (1, count):
                raise ValueError(
                    f"`{kind}` has {len(values)} entries for the {count} outputs of {key!r}."
                )
            result += values * count if len(values) == 1 else values
        return result

    def spread(self, provided: Any, kind: str, several: bool) -> list[Any]:
        """Return one value for each output.

        Args:
          provided: A dict by name, a list, or one value for all outputs.
          kind: The argument's name, for errors.
          several: Whether a single output accepts a list of values.
        """
        if kind == "loss" and isinstance(provided, dict):  # an output's loss may be in a list
            provided = {k: x[0] if _is_single(x) else x for k, x in provided.items()}
        if self._is_by_group(provided):
            return self._of_groups(provided, kind)
        if isinstance(provided, dict) and not (self.single and (several or self.names == [None])):
            unknown_names = [name for name in provided if name not in self.names]
            if unknown_names:
                raise ValueError(
                    f"Expected keys {self.names} in {kind} dict, but found "
                    f"{kind}.keys()={list(provided)}"
                )
        if self.single:
            if isinstance(provided, dict):
                provided = next(iter(provided.values()), None)
            elif isinstance(provided, list | tuple) and not several:
                if len(provided) != 1:
                    raise ValueError(f"`{kind}` has {len(provided)} entries for one output.")
                provided = provided[0]
            return [provided]
        if isinstance(provided, dict):
            return [provided.get(name) for name in self.names]
        if isinstance(provided, list | tuple):
            if len(provided) != self.count:
                raise ValueError(
                    f"`{kind}` must match the number of outputs, got {len(provided)} entries for "
                    f"{self.count} outputs."
                )
            return list(provided)
        return [provided] * self.count


def _flat_if_nested(provided: Any) -> Any:
    """Flatten a structure of more than one level, such as that of nested outputs."""
    return flatten(provided) if _is_nested(provided) else provided


class CompiledLoss:
    """The weighted sum of the losses of all outputs."""

    def __init__(
        self, loss: LossesLike, weights: LossWeights, output_names: list[str] | None
    ) -> None:
        if weights is not None and not isinstance(weights, list | tuple | dict | float | int):
            raise ValueError(
                f"Expected `loss_weights` argument to be a float (single output case) or a list, "
                f"tuple, or dict (multiple output case). Received instead: loss_weights={weights} "
                f"of type {type(weights)}"
            )
        for weight in flatten(weights):
            if weight is not None and not isinstance(weight, float | int):
                raise ValueError(
                    f"`loss_weights` must be numbers, got {weight!r}. (The third argument of "
                    f"`compile()` is `loss_weights`, the fourth is `metrics`.)"
                )
        self._arguments = loss, weights, output_names
        self._outputs: Outputs | None = None
        self._parts: list[tuple[int, Any, Any]] = []
        self.metrics: list[Mean] = []
        for identifier in flatten(loss):  # reject unknown names early
            if str(identifier).lower() not in ("crossentropy", "ce", "none"):
                losses.get(identifier)

    def _build(self, y_true: Any, y_pred: Any) -> Outputs:
        loss, weights, names = self._arguments
        outputs = Outputs(y_pred, names)
        loss, weights = _flat_if_nested(loss), _flat_if_nested(weights)
        requested = outputs.spread(loss, "loss", False)
        factors = outputs.spread(weights, "loss_weights", False)
        targets, predicted = self._targets(outputs, requested, y_true), outputs.flat(y_pred)
        parts: list[tuple[int, Any, Any]] = []
        for k, identifier in enumerate(requested):
            if identifier is not None:
                parts.append((k, _loss_of(identifier, targets[k], predicted[k]), factors[k]))
        if len(parts) > 1:
            self.metrics = [
                Mean(f"{outputs.names[k] or function.name}_loss") for k, function, _ in parts
            ]
        self._outputs, self._parts = outputs, parts
        return outputs

    @staticmethod
    def _targets(outputs: Outputs, requested: list[Any], y_true: Any) -> list[Any]:
        provided = flatten(y_true)
        outputs_with_loss = [k for k, identifier in enumerate(requested) if identifier is not None]
        if not isinstance(y_true, dict) and len(provided) == len(outputs_with_loss) < outputs.count:
            result: list[Any] = [None] * outputs.count
            for k, y in zip(outputs_with_loss, provided, strict=True):
                result[k] = y
            return result
        return outputs.targets(y_true)

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """Return the total loss of a batch."""
        outputs = self._outputs or self._build(y_true, y_pred)
        requested: list[Any] = [None] * outputs.count
        for k, function, _ in self._parts:
            requested[k] = function
        targets, predicted = self._targets(outputs, requested, y_true), outputs.flat(y_pred)
        example_weights: list[Any] = [None] * outputs.count
        if sample_weight is not None:
            is_shared = len(flatten(sample_weight)) == 1 and not isinstance(sample_weight, dict)
            example_weights = (
                flatten(sample_weight) * outputs.count
                if is_shared
                else outputs.targets(sample_weight, "sample_weight")
            )
        total: Any = None
        for number, (k, function, factor) in enumerate(self._parts):
            value = cast(function(targets[k], predicted[k], example_weights[k]), float32)
            if self.metrics:
                self.metrics[number].update_state(value, float(predicted[k].shape[0]))
            if factor is not None:
                value = value * factor
            total = value if total is None else total + value
        if total is None:
            raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
        result: Tensor = total
        return result


Group = list[tuple[int, list[Metric]]]  # the metrics of each output


class CompiledMetrics:
    """The metrics of all outputs: ``metrics`` and ``weighted_metrics`` of `compile`."""

    name = "compile_metrics"

    def __init__(
        self, plain: MetricsLike, weighted: MetricsLike, output_names: list[str] | None
    ) -> None:
        for kind, provided in (("metrics", plain), ("weighted_metrics", weighted)):
            if provided is not None and not isinstance(provided, list | tuple | dict):
                raise ValueError(
                    f"Expected `{kind}` argument to be a list, tuple, or dict. Received instead: "
                    f"{kind}={provided} of type {type(provided)}"
                )
        for identifier in flatten([plain, weighted]):  # reject unknown names early
            if isinstance(identifier, str) and identifier.lower() not in ("accuracy", "acc"):
                metrics.get(identifier)
        self._arguments = plain, weighted, output_names
        self._outputs: Outputs | None = None
        self._groups: tuple[Group, Group] = [], []

    def _build(self, y_true: Any, y_pred: Any) -> Outputs:
        unweighted, weighted, names = self._arguments
        outputs = Outputs(y_pred, names)
        predicted = outputs.flat(y_pred)
        targets = self._targets(outputs, y_true)
        groups: list[Group] = []
        for kind, provided in (("metrics", unweighted), ("weighted_metrics", weighted)):
            group: Group = []
            for k, identifiers in enumerate(
                outputs.spread(provided, kind, True) if provided else []
            ):
                if identifiers is not None:
                    identifier_list = (
                        identifiers if isinstance(identifiers, list | tuple) else [identifiers]
                    )
                    group.append(
                        (k, [metric_of(m, targets[k], predicted[k]) for m in identifier_list])
                    )
            groups.append(group)
        self._outputs, self._groups = outputs, (groups[0], groups[1])
        return outputs

    @staticmethod
    def _targets(outputs: Outputs, y_true: Any) -> list[Any]:
        if len(flatten(y_true)) == 1 < outputs.count and not isinstance(y_true, dict):
            return flatten(y_true) * outputs.count
        return outputs.targets(y_true)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of all outputs, as a flat list."""
        return [m for group in self._groups for _, output_metrics in group for m in output_metrics]

    @property
    def variables(self) -> list[Any]:
        """The metrics' variables."""
        return [v for m in self.metrics for v in m.variables]

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update all metrics with a batch."""
        outputs = self._outputs or self._build(y_true, y_pred)
        targets, predicted = self._targets(outputs, y_true), outputs.flat(y_pred)
        weights: list[Any] = [None] * outputs.count
        if sample_weight is not None:
            provided = flatten(sample_weight)
            weights = (
                provided * outputs.count
                if len(provided) == 1
                else outputs.targets(sample_weight, "sample_weight")
            )
        for k, output_metrics in self._groups[0]:
            for m in output_metrics:
                m.update_state(targets[k], predicted[k])
        for k, output_metrics in self._groups[1]:
            for m in output_metrics:
                m.update_state(targets[k], predicted[k], sample_weight=weights[k])

    def reset_state(self) -> None:
        """Reset all metrics."""
        for m in self.metrics:
            m.reset_state()

    def result(self) -> dict[str, Any]:
        """Return the metrics' values by name; several outputs prefix theirs."""
        result: dict[str, Any] = {}
        for number, group in enumerate(self._groups):
            for name, m in self._name_of(group):
                if name in result and number:
                    output, _, _ = name.rpartition(m.name)
                    name = f"{output}weighted_{m.name}"
                result[_unused_name(name, result)] = m.result()
        return result

    def _name_of(self, group: Group) -> Iterable[tuple[str, Metric]]:
        outputs = self._outputs
        for k, output_metrics in group:
            name = None if outputs is None or outputs.single else outputs.names[k]
            for m in output_metrics:
                yield (f"{name}_{m.name}" if name else m.name), m


def _unused_name(name: str, used_names: dict[str, Any]) -> str:
    number, result = 1, name
    while result in used_names:
        result = f"{name}_{number}"
        number += 1
    return result
