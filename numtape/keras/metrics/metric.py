"""`Metric`: numbers that are gathered from many batches, in variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from ...compat.missing_methods import tell
from ...core.log.variable import Variable, assign_all, original
from ...core.ops.creation import zeros
from ...core.ops.elementwise import cast
from ...core.values.tensor import Tensor
from ...deferred_restore import notify_changed
from ...function.pickling import refuse_older
from .. import initializers
from ..described import describe
from ..dtypes import keras_dtype
from ..layer_variable import LayerVariable
from ..symbolic import auto_name

MEANINGS = {
    "y_true": "Ground-truth values.",
    "y_pred": "Predicted values.",
    "fn": "A function of what is wanted and what was predicted, which gives a number for each "
    "example or element.",
    "kwargs": "Further arguments of the function.",
    "name": "Its name; default: the class's in snake case.",
    "dtype": "The dtype it computes in: float32 without.",
    "threshold": "Predictions above it count as 1. None: the largest of each example does.",
    "thresholds": "A number from 0 to 1, or several: predictions above it are positive. None is "
    "0.5.",
    "k": "How many of the largest predictions are looked at.",
    "from_sorted_ids": "Whether predictions are numbers of classes, the likeliest first.",
    "top_k": "Only that many of the largest predictions of an example count as positive.",
    "class_id": "The number of a class that is looked at alone.",
    "from_logits": "Whether predictions are logits, not probabilities.",
    "label_smoothing": "How much of each label is shared by all classes, from 0 to 1.",
    "ignore_class": "A class whose examples do not count; None for none.",
    "value": "What is asked for, from 0 to 1.",
    "specificity": "The least share of negative examples that are found, from 0 to 1.",
    "sensitivity": "The least share of positive examples that are found, from 0 to 1.",
    "recall": "The least share of positive examples that are found, from 0 to 1.",
    "precision": "The least share of what is found that is to be positive, from 0 to 1.",
    "num_thresholds": "How many thresholds from 0 to 1 there are.",
    "curve": '``"ROC"`` (found positives over false ones), ``"PR"`` (precision over recall) or '
    '``"PRGAIN"`` (gains of both).',
    "summation_method": '``"interpolation"``, ``"minoring"`` or ``"majoring"``: what stands '
    "between two thresholds.",
    "multi_label": "Whether each column is a label of its own, whose areas are averaged.",
    "num_labels": "How many of them; without, the first update says so.",
    "label_weights": "What each label counts.",
    "average": 'None for a score of each class; ``"micro"`` (over all), ``"macro"`` (the '
    'mean of classes) or ``"weighted"`` (that, weighed by how often they are).',
    "beta": "How much more recall counts than precision.",
    "class_aggregation": 'None for a score of each output, ``"uniform_average"`` or '
    '``"variance_weighted_average"``.',
    "num_regressors": "How many inputs there are, for the adjusted score; 0 for the plain one.",
    "num_classes": "How many classes there are.",
    "target_class_ids": "The numbers of the classes that count.",
    "sparse_y_true": "Whether labels are numbers of classes, not scores of all of them.",
    "sparse_y_pred": "Whether predictions are numbers of classes, not scores of all of them.",
    "axis": "The axis of what is compared: that of classes, or of a vector.",
}


@describe(MEANINGS, "", "TypeError: If there is no such dtype.")
class Metric:
    """Base class of metrics: override ``update_state`` and ``result``.

    Make the state in ``__init__`` with `add_variable`.

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

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        self.name = name or auto_name(type(self).__name__)
        self._nt_dtype = keras_dtype(dtype or None)
        self._nt_variables: tuple[LayerVariable, ...] = ()

    def __setstate__(self, state: dict[str, Any]) -> None:
        refuse_older(self, state, "_nt_dtype")
        vars(self).update(state)

    @property
    def dtype(self) -> str:
        """The name of the dtype it computes in."""
        return self._nt_dtype.name

    def add_variable(
        self,
        shape: Any,
        initializer: Any,
        dtype: Any = None,
        aggregation: str = "sum",
        name: str | None = None,
    ) -> LayerVariable:
        """A new variable of the metric's state.

        Args:
          shape: Its shape.
          initializer: A function (shape, dtype) -> tensor, or the name of one.
          dtype: Its dtype: float32 without.
          aggregation: Not used.
          name: Its name inside the metric.

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
        requested = keras_dtype(dtype or None)
        value = cast(initializers.get(initializer)(tuple(shape), requested), requested)
        path = f"{self.name.replace('/', '>')}/{name or 'variable'}"
        variable = LayerVariable(Variable(value, trainable=False, name=path))
        self._nt_variables = (*self._nt_variables, variable)
        notify_changed(self)
        return variable

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name: attributes with variables."""
        parts = dict(vars(self))
        # Files know these as `_variables`, unless a subclass has an attribute of that name.
        name = "_nt_variables" if "_variables" in parts else "_variables"
        parts[name] = parts.pop("_nt_variables", ())
        return dict(sorted(parts.items()))

    def add_weight(
        self, shape: Any = (), initializer: Any = None, dtype: Any = None, name: str | None = None
    ) -> LayerVariable:
        """The older name of `add_variable`.

        Args:
          shape: Its shape.
          initializer: A function (shape, dtype) -> tensor, or the name of one; None is zeros.
          dtype: Its dtype: float32 without.
          name: Its name inside the metric.

        Returns:
          The variable.
        """
        return self.add_variable(shape, initializer or "zeros", dtype, name=name)

    @property
    def variables(self) -> list[Variable]:
        """The variables of the state, and those in attributes and of metrics there.

        Attributes may be lists, tuples and dicts, however deep.

        Example:
          >>> [v.name for v in tf.keras.metrics.Mean().variables]
          ['total', 'count']
        """
        variables: dict[int, Variable] = {id(original(v)): v for v in self._nt_variables}
        for v in _variables(vars(self)):
            variables.setdefault(id(original(v)), v)
        return list(variables.values())

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Add what a batch says to the state, to be overridden.

        Raises:
          NotImplementedError: If it is not overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `update_state`.")

    def result(self) -> Any:
        """The value of all batches so far, to be overridden.

        Returns:
          A tensor, or a dict of tensors.

        Raises:
          NotImplementedError: If it is not overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `result`.")

    def reset_state(self) -> None:
        """Forget all batches: every variable becomes zero.

        Example:
          >>> metric = tf.keras.metrics.Sum()
          >>> metric.update_state([1.0, 2.0])
          >>> metric.reset_state()
          >>> metric.result().numpy()
          np.float32(0.0)
        """
        state = [original(variable) for variable in self.variables]
        assign_all(state, [zeros(v.shape, v.dtype) for v in state])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Update the state, and give the value of all batches so far."""
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
        """The metric made with these arguments.

        Args:
          config: The result of `get_config`.

        Returns:
          A metric, which has seen nothing.
        """
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


def _variables(value: Any) -> Iterator[Variable]:
    """The variables, and those of metrics, in a dict or list and in those inside it."""
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, Variable):
            yield part
        elif isinstance(part, Metric):
            yield from part.variables
        elif isinstance(part, dict | list | tuple):
            yield from _variables(part)


def add_all(variables: Sequence[Variable], amounts: Sequence[Any]) -> None:
    """Add to variables of a state: to all of them at once, or, if anything fails, to none."""
    state = [original(variable) for variable in variables]
    assign_all(state, [v + x for v, x in zip(state, amounts, strict=True)])


def the_only(values: Tensor) -> Tensor:
    """A vector, or the number in it if there is only one."""
    return values[0] if values.shape[0] == 1 else values


metric_class = describe(MEANINGS, "", "TypeError: If there is no such dtype.")


tell(Metric, "keras.metrics.Metric")
