"""`Metric`: the base class, which accumulates a value over batches in variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from ...compat.missing_names import tell
from ...core.log.variable import Variable, assign_all, original
from ...core.ops.creation import zeros
from ...core.ops.elementwise import cast
from ...core.values.tensor import Tensor
from ...deferred_restore import notify_changed
from ...function.pickling import refuse_older
from .. import initializers
from ..layer import LayerVariable
from ..registry import describe, keras_dtype
from ..symbolic import auto_name

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike, IntLike
    from ..annotations import InitializerLike

ARGUMENTS = {
    "y_true": "Ground-truth values.",
    "y_pred": "Predicted values.",
    "fn": "A function of ``y_true`` and ``y_pred`` that returns a number for each example or "
    "element.",
    "kwargs": "Further arguments of the function.",
    "name": "The metric's name; default: the class name in snake case.",
    "dtype": "The dtype of the computation; default: float32.",
    "threshold": "Predictions above it count as 1. None: the largest of each example counts as 1.",
    "thresholds": "A number from 0 to 1, or several: predictions above it are positive. None is "
    "0.5.",
    "k": "The number of largest predictions to consider.",
    "from_sorted_ids": "Whether predictions are class numbers, the likeliest first.",
    "top_k": "Only the ``top_k`` largest predictions of an example can be positive.",
    "class_id": "The only class to count; None for all.",
    "from_logits": "Whether predictions are logits, not probabilities.",
    "label_smoothing": "The fraction of each label that is spread over all classes, from 0 to 1.",
    "ignore_class": "A class whose examples are ignored; None for none.",
    "value": "The minimum of the constrained rate, from 0 to 1.",
    "specificity": "The minimum specificity, from 0 to 1.",
    "sensitivity": "The minimum sensitivity, from 0 to 1.",
    "recall": "The minimum recall, from 0 to 1.",
    "precision": "The minimum precision, from 0 to 1.",
    "num_thresholds": "The number of thresholds from 0 to 1.",
    "curve": '``"ROC"`` (true over false positive rate), ``"PR"`` (precision over recall) or '
    '``"PRGAIN"`` (precision gain over recall gain).',
    "summation_method": '``"interpolation"``, ``"minoring"`` or ``"majoring"``: the height '
    "between two thresholds.",
    "multi_label": "Whether each column is a separate label; the result averages their areas.",
    "num_labels": "The number of labels; default: that of the first update.",
    "label_weights": "The weight of each label.",
    "average": 'None for a score of each class; ``"micro"`` (over all examples), ``"macro"`` '
    '(the mean over classes) or ``"weighted"`` (that mean, weighted by class frequency).',
    "beta": "The weight of recall relative to precision.",
    "class_aggregation": 'None for a score of each output, ``"uniform_average"`` or '
    '``"variance_weighted_average"``.',
    "num_regressors": "The number of regressors, for the adjusted score; 0 for the plain one.",
    "num_classes": "The number of classes.",
    "target_class_ids": "The numbers of the classes to average over.",
    "sparse_y_true": "Whether labels are class numbers, not a score for each class.",
    "sparse_y_pred": "Whether predictions are class numbers, not a score for each class.",
    "axis": "The axis of the classes or vector components.",
}


@describe(ARGUMENTS, "", "TypeError: If ``dtype`` is not a dtype.")
class Metric:
    """Base class of metrics: override ``update_state`` and ``result``.

    Create the state in ``__init__`` with `add_variable`.

    >>> class Largest(tf.keras.metrics.Metric):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.seen = self.add_variable((), "zeros", name="seen")
    ...     def update_state(self, values):
    ...         self.seen.assign(tf.maximum(self.seen, tf.reduce_max(values)))
    ...     def result(self):
    ...         return self.seen + 0.0
    >>> metric = Largest(name="largest")
    >>> metric.update_state([1.0, 3.0])
    >>> metric([2.0]).numpy()
    np.float32(3.0)
    """

    # "up" if a larger value is better, "down" if a smaller one is: for callbacks.
    _direction: str | None = None

    def __init__(self, dtype: DTypeLike | None = None, name: str | None = None) -> None:
        self.name = name or auto_name(type(self).__name__)
        self._nt_dtype = keras_dtype(dtype or None)
        self._nt_variables: tuple[LayerVariable, ...] = ()

    def __setstate__(self, state: dict[str, Any]) -> None:
        refuse_older(self, state, "_nt_dtype")
        vars(self).update(state)

    @property
    def dtype(self) -> str:
        """The name of the dtype of the computation."""
        return self._nt_dtype.name

    def add_variable(
        self,
        shape: Iterable[IntLike],
        initializer: InitializerLike,
        dtype: DTypeLike | None = None,
        aggregation: str = "sum",
        name: str | None = None,
    ) -> LayerVariable:
        """Create a variable of the metric's state.

        Args:
          shape: The variable's shape.
          initializer: A function (shape, dtype) -> tensor, or the name of one.
          dtype: The variable's dtype; default: float32.
          aggregation: Not used.
          name: The variable's name inside the metric.

        Returns:
          The variable.

        Raises:
          ValueError: If no initializer has this name.
          RuntimeError: If a subclass did not call ``super().__init__()``.

        Example:
          >>> metric = tf.keras.metrics.Metric(name="mine")
          >>> metric.add_variable((2,), "zeros", name="counts").path
          'mine/counts'
        """
        if not hasattr(self, "_nt_variables"):
            raise RuntimeError(
                "You forgot to call `super().__init__()` in the `__init__()` method. Go add it!"
            )
        variable_dtype = keras_dtype(dtype or None)
        value = cast(initializers.get(initializer)(tuple(shape), variable_dtype), variable_dtype)
        path = f"{self.name.replace('/', '>')}/{name or 'variable'}"
        variable = LayerVariable(Variable(value, trainable=False, name=path))
        self._nt_variables = (*self._nt_variables, variable)
        notify_changed(self)
        return variable

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The attributes that a checkpoint stores, by name."""
        parts = dict(vars(self))
        # Checkpoints use the key `_variables`, unless a subclass has an attribute of that name.
        name = "_nt_variables" if "_variables" in parts else "_variables"
        parts[name] = parts.pop("_nt_variables", ())
        return dict(sorted(parts.items()))

    def add_weight(
        self,
        shape: Iterable[IntLike] = (),
        initializer: InitializerLike = None,
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> LayerVariable:
        """Create a variable: the older name of `add_variable`.

        Args:
          shape: The variable's shape.
          initializer: A function (shape, dtype) -> tensor, or the name of one; None is zeros.
          dtype: The variable's dtype; default: float32.
          name: The variable's name inside the metric.

        Returns:
          The variable.
        """
        return self.add_variable(shape, initializer or "zeros", dtype, name=name)

    @property
    def variables(self) -> list[Variable]:
        """The variables of the state, of attributes, and of metrics in attributes.

        Attributes may be lists, tuples and dicts, nested to any depth.

        Example:
          >>> [v.name for v in tf.keras.metrics.Mean().variables]
          ['total', 'count']
        """
        variables: dict[int, Variable] = {id(original(v)): v for v in self._nt_variables}
        for v in _variables(vars(self)):
            variables.setdefault(id(original(v)), v)
        return list(variables.values())

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Add a batch to the state. Subclasses override this.

        Raises:
          NotImplementedError: If the subclass does not override it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `update_state`.")

    def result(self) -> Tensor | Any:
        """Return the value over all batches so far. Subclasses override this.

        Returns:
          A tensor, or a dict of tensors.

        Raises:
          NotImplementedError: If the subclass does not override it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `result`.")

    def reset_state(self) -> None:
        """Set every variable to zero.

        Example:
          >>> metric = tf.keras.metrics.Sum()
          >>> metric.update_state([1.0, 2.0])
          >>> metric.reset_state()
          >>> metric.result().numpy()
          np.float32(0.0)
        """
        state = [original(variable) for variable in self.variables]
        assign_all(state, [zeros(v.shape, v.dtype) for v in state])

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor | Any:
        """Update the state and return the value over all batches so far."""
        self.update_state(*args, **kwargs)
        return self.result()

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.

        Example:
          >>> tf.keras.metrics.Mean("loss").get_config()
          {'name': 'loss', 'dtype': 'float32'}
        """
        return {"name": self.name, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a metric from its constructor arguments.

        Args:
          config: The result of `get_config`.

        Returns:
          A metric with a fresh state.
        """
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


def _variables(value: Any) -> Iterator[Variable]:
    """Yield the variables, and those of metrics, in nested dicts, lists and tuples."""
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, Variable):
            yield part
        elif isinstance(part, Metric):
            yield from part.variables
        elif isinstance(part, dict | list | tuple):
            yield from _variables(part)


def add_all(variables: Sequence[Variable], amounts: Sequence[Any]) -> None:
    """Add ``amounts`` to state variables atomically: on an error, none changes."""
    state = [original(variable) for variable in variables]
    assign_all(state, [v + x for v, x in zip(state, amounts, strict=True)])


def unwrap_single(values: Tensor) -> Tensor:
    """Return the element of a vector of length 1, and a longer vector unchanged."""
    return values[0] if values.shape[0] == 1 else values


metric_class = describe(ARGUMENTS, "", "TypeError: If ``dtype`` is not a dtype.")


tell(Metric, "keras.metrics.Metric")
