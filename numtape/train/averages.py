"""`ExponentialMovingAverage`: averages of variables over the steps of a training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.log.variable import Variable
from ..core.ops.elementwise import cast, minimum
from ..core.values.tensor import Tensor
from ..core.values.weakrefs import WeakObjectMap

if TYPE_CHECKING:
    from ..core.values.annotations import NumberLike


class ExponentialMovingAverage:
    """Keeps an average of each variable, in which old values count less.

    ``average = decay * average + (1 - decay) * value`` at each call of `apply`. The average begins
    with the value at the first call.

    Args:
      decay: The decay, such as 0.999.
      num_updates: The number of steps so far, if the decay grows from small values:
        ``min(decay, (1 + num_updates) / (10 + num_updates))``.
      zero_debias: Not used: averages begin with a value, not with zero.
      name: The end of the averages' names.

    Example:
      >>> v = tf.Variable(10.0)
      >>> ema = tf.train.ExponentialMovingAverage(decay=0.9)
      >>> ema.apply([v])
      >>> _ = v.assign(20.0)
      >>> ema.apply([v])
      >>> ema.average(v).numpy()
      np.float32(11.0)
    """

    def __init__(
        self,
        decay: NumberLike,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay, self._num_updates = decay, num_updates
        self._zero_debias, self._name = zero_debias, name
        self._averages: WeakObjectMap[Variable] = WeakObjectMap()  # by the averaged variable

    @property
    def name(self) -> str:
        """The end of the averages' names."""
        return self._name

    def apply(self, var_list: Sequence[Variable]) -> None:
        """Update the averages of variables; the first call creates them.

        Args:
          var_list: Float variables.

        Raises:
          TypeError: If one is no float variable.

        Example:
          >>> v = tf.Variable([1.0, 2.0])
          >>> ema = tf.train.ExponentialMovingAverage(0.5)
          >>> ema.apply([v])
          >>> ema.average(v).numpy()
          array([1., 2.], dtype=float32)
        """
        for variable in var_list:
            if not isinstance(variable, Variable):
                raise TypeError(
                    f"ExponentialMovingAverage.apply() takes a list of variables, not "
                    f"{type(variable).__name__}."
                )
            if not variable.dtype.is_floating:
                raise TypeError(
                    f"The variables must be half, float, or double: {variable.name} is "
                    f"{variable.dtype.name}."
                )
        for variable in var_list:
            average = self.average(variable)
            if average is None:
                average = self._create(variable)
            decay = cast(self._current_decay(), variable.dtype)
            average.assign_sub((1.0 - decay) * (average - variable))

    def _create(self, variable: Variable) -> Variable:
        name = self.average_name(variable)
        average = Variable(variable.read_value(), trainable=False, name=name)
        self._averages.put(variable, average)
        return average

    def _current_decay(self) -> Tensor:
        decay = cast(self._decay, "float32")
        if self._num_updates is None:
            return decay
        count = cast(self._num_updates, "float32")
        return minimum(decay, (1.0 + count) / (10.0 + count))

    def average(self, var: Variable) -> Variable | None:
        """Return the average of a variable, itself a variable.

        Args:
          var: A variable.

        Returns:
          A `Variable`; None before `apply`.

        Example:
          >>> tf.train.ExponentialMovingAverage(0.9).average(tf.Variable(1.0)) is None
          True
        """
        return self._averages.get(var)

    def average_name(self, var: Variable) -> str:
        """Return the name of a variable's average.

        Args:
          var: A variable.

        Returns:
          Its name and that of the averages.

        Example:
          >>> v = tf.Variable(1.0, name="v")
          >>> tf.train.ExponentialMovingAverage(0.9).average_name(v)
          'v/ExponentialMovingAverage'
        """
        return f"{var.name.removesuffix(':0')}/{self._name}"

    def variables_to_restore(
        self, moving_avg_variables: Sequence[Variable] | None = None
    ) -> dict[str, Variable]:
        """Return the variables by the names under which their averages are saved.

        Args:
          moving_avg_variables: The variables; default: those that `apply` has seen.

        Returns:
          A dict from names to variables.

        Example:
          >>> v = tf.Variable(1.0, name="v")
          >>> list(tf.train.ExponentialMovingAverage(0.9).variables_to_restore([v]))
          ['v/ExponentialMovingAverage']
        """
        if moving_avg_variables is None:
            moving_avg_variables = [variable for variable, _ in self._averages]
        return {self.average_name(variable): variable for variable in moving_avg_variables}
