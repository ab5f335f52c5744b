"""Optimizers. An optimizer step is one assign of all its variables: all of it, or none."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from ..core.log.tensors import as_tensor
from ..core.log.variable import Variable, assign_all, original
from ..core.ops.creation import zeros
from ..core.ops.elementwise import cast, sqrt
from ..core.values.dtypes import DType, float32, int64, shown
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from ..names import getter as _getter

__all__ = ["SGD", "Adam", "Optimizer"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)

Operand = Variable | Tensor


class Optimizer:
    """Base class: slot variables, the step counter, `apply_gradients`.

    Args:
      learning_rate: The step size: a float.
      name: A name.

    Attributes:
      learning_rate: A variable.
      iterations: The number of steps so far, an int64 variable.
      variables: The optimizer's own variables.

    Raises:
      TypeError: If ``learning_rate`` is a function.

    Example:
      >>> issubclass(tf.keras.optimizers.SGD, tf.keras.optimizers.Optimizer)
      True
    """

    def __init__(self, learning_rate: Any, name: str) -> None:
        if callable(learning_rate) and not isinstance(learning_rate, Variable | Tensor):
            raise TypeError(
                f"learning_rate={learning_rate!r} is a function, which numtape does not call at "
                f"each step: assign `optimizer.learning_rate` there."
            )
        self.name = name
        self._learning_rate = Variable(
            learning_rate, trainable=False, name="learning_rate", dtype=float32
        )
        self.iterations = Variable(0, trainable=False, name="iteration", dtype=int64)
        self._trained: list[Variable] | None = None
        self._slots: list[list[Variable]] = []

    @property
    def learning_rate(self) -> Variable:
        """The step size, a variable: assign it to change it, in a recorded function as well.

        Example:
          >>> optimizer = tf.keras.optimizers.SGD(0.5)
          >>> optimizer.learning_rate = 0.25
          >>> optimizer.learning_rate.numpy()
          np.float32(0.25)
        """
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._learning_rate.assign(value)

    @property
    def variables(self) -> list[Variable]:
        """The optimizer's own variables: step counter, learning rate, slots.

        Example:
          >>> optimizer = tf.keras.optimizers.Adam()
          >>> optimizer.build([tf.Variable([1.0, 2.0], name="v")])
          >>> [v.name for v in optimizer.variables]
          ['iteration:0', 'learning_rate:0', 'v_momentum:0', 'v_velocity:0']
        """
        return [self.iterations, self._learning_rate, *(v for slots in self._slots for v in slots)]

    def build(self, variables: Iterable[Variable]) -> None:
        """Make the slot variables for the variables to train. The first step does so by itself.

        Args:
          variables: The variables to train.
        """
        trained = list(map(original, variables))
        self._slots = [self._slots_for(variable) for variable in trained]
        self._trained = trained
        self._number()

    def _number(self) -> None:
        """Note where each variable's slots are."""
        self._index = {id(variable): k for k, variable in enumerate(self._trained or [])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copied, or read from a pickle: its variables are others now."""
        vars(self).update(state)
        self._number()

    def _slots_for(self, variable: Variable) -> list[Variable]:
        return []

    def _slot(self, variable: Variable, name: str) -> Variable:
        return Variable(
            zeros(variable.shape, variable.dtype), trainable=False, name=f"{variable._name}_{name}"
        )

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]]) -> Variable:
        """One step: all variables are assigned at once, or, if anything goes wrong, none.

        Args:
          grads_and_vars: Pairs of a gradient and its variable. A None is left out, with a warning.

        Returns:
          The step counter.

        Raises:
          ValueError: If there is no gradient at all, or a variable is unknown.
          TypeError: If these are no pairs.
          InvalidArgumentError: If a gradient has another shape than its variable.

        Example:
          >>> v = tf.Variable([1.0, 2.0])
          >>> optimizer = tf.keras.optimizers.SGD(learning_rate=0.5)
          >>> optimizer.apply_gradients([(tf.constant([2.0, 2.0]), v)]).numpy(), v.numpy()
          (np.int64(1), array([0., 1.], dtype=float32))
        """
        try:
            pairs = [(gradient, variable) for gradient, variable in grads_and_vars]
        except (TypeError, ValueError):
            raise TypeError(
                "grads_and_vars is no list of pairs of a gradient and its variable."
            ) from None
        self.apply([g for g, _ in pairs], [v for _, v in pairs])
        return self.iterations

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """One step, gradients and variables in two lists.

        Args:
          grads: A gradient for each variable, or None.
          trainable_variables: The variables; None for those of the first step.

        Raises:
          ValueError: As for `apply_gradients`, or if there are not as many gradients as variables.
          TypeError: If something is no variable.
          InvalidArgumentError: If a gradient has another shape than its variable.

        Example:
          >>> v = tf.Variable([1.0, 2.0])
          >>> tf.keras.optimizers.SGD(learning_rate=0.5).apply([tf.constant([2.0, 2.0])], [v])
          >>> v.numpy()
          array([0., 1.], dtype=float32)
        """
        if trainable_variables is None:
            trainable_variables = self._trained or []
        trainable_variables = list(map(original, trainable_variables))
        for variable in trainable_variables:
            if not isinstance(variable, Variable):
                raise TypeError(f"{shown(variable)} is no variable: there is nothing to train.")
        if len(grads) != len(trainable_variables):
            raise ValueError("The list of gradients does not match the list of variables: "
                             f"{len(grads)} and {len(trainable_variables)}.")  # fmt: skip
        if self._trained is None:
            self.build(trainable_variables)
        index, pairs, missing = self._index, [], []
        for gradient, variable in zip(grads, trainable_variables, strict=True):
            if id(variable) not in index:
                raise ValueError(
                    f"Unknown variable: {variable!r}. This optimizer can only be called for the "
                    f"variables it was originally built with."
                )
            if gradient is None:
                missing.append(variable.name)
            else:
                pairs.append((gradient, variable))
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        if missing:
            warnings.warn(
                f"Gradients do not exist for variables {missing} when minimizing the loss. If "
                f"using `model.compile()`, did you forget to provide a `loss` argument?",
                stacklevel=3,
            )
        variables: list[Variable] = [self.iterations]
        values: list[Tensor] = [self.iterations + 1]
        rates: dict[DType, Tensor] = {}
        places: dict[int, int] = {}  # of a variable that comes again: it goes on from its new value
        for gradient, variable in pairs:
            gradient = as_tensor(gradient)
            spec = variable._spec
            if gradient._spec is not spec and gradient.shape != spec.shape:
                raise InvalidArgumentError(
                    f"A gradient of shape {gradient.shape} for variable {variable.name!r} of shape "
                    f"{variable.shape}: shapes must be equal."
                )
            own = rates.get(spec.dtype)
            if own is None:
                own = rates[spec.dtype] = self._rate(spec.dtype)
            slots = self._slots[index[id(variable)]]
            place = places.setdefault(id(variable), len(values))
            if place < len(values):
                end = place + 1 + len(slots)
                current, *its_slots = values[place:end]
                new, new_slots = self._update(current, gradient, own, its_slots)
                values[place:end] = _constrained(variable, new), *new_slots
                continue
            new, new_slots = self._update(variable, gradient, own, slots)
            variables.append(variable)
            values.append(_constrained(variable, new))
            if slots:
                variables += slots
                values += new_slots
        assign_all(variables, values)

    def _rate(self, dtype: DType) -> Tensor:
        """The step size of this step for variables of ``dtype``, a scalar of it."""
        rate = as_tensor(self._learning_rate)
        return rate if dtype is float32 else cast(rate, dtype)

    def _update(
        self, variable: Operand, gradient: Tensor, rate: Tensor, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        """The variable's new value, and its slots'."""
        raise NotImplementedError


def _constrained(variable: Variable, value: Tensor) -> Tensor:
    """A new value, put through the variable's constraint if it has one."""
    constraint = variable.constraint
    return value if constraint is None else as_tensor(constraint(value), variable._spec)


class SGD(Optimizer):
    """Gradient descent: ``v -= learning_rate * gradient``.

    With momentum ``m = momentum * m - learning_rate * gradient`` is added instead; with
    ``nesterov``, ``momentum * m - learning_rate * gradient`` of the new m (Sutskever, Martens, Dahl
    and Hinton, "On the importance of initialization and momentum in deep learning", 2013).

    Args:
      learning_rate: The step size: a float.
      momentum: From 0 to 1.
      nesterov: Whether to look ahead.
      name: A name.

    Raises:
      ValueError: If ``momentum`` is not in [0, 1].
      TypeError: If ``learning_rate`` is a function.

    Example:
      >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.1, momentum=0.5)
      >>> for _ in range(2):
      ...     _ = optimizer.apply_gradients([(tf.constant(1.0), v)])
      >>> v.numpy()
      np.float32(0.75)
    """

    def __init__(
        self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False,
        *, name: str = "SGD",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, name)
        if not isinstance(momentum, int | float) or not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must be a float between [0, 1], got {shown(momentum)}.")
        self.momentum = momentum
        self.nesterov = nesterov

    def _slots_for(self, variable: Variable) -> list[Variable]:
        return [self._slot(variable, "momentum")] if self.momentum else []

    def _update(
        self, variable: Operand, gradient: Tensor, rate: Tensor, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        step = gradient * rate
        if not slots:
            return variable - step, []
        velocity = slots[0] * self.momentum - step
        if self.nesterov:
            return variable + (velocity * self.momentum - step), [velocity]
        return variable + velocity, [velocity]


class Adam(Optimizer):
    """Gradient descent by running means of gradients, m, and of their squares, s.

    In step t it is ``v -= a * m / (sqrt(s) + epsilon)``, where a is ``learning_rate * sqrt(1 -
    beta_2**t) / (1 - beta_1**t)``: Kingma and Ba, "Adam: A Method for Stochastic Optimization"
    (2015), in the form at the end of section 2, where epsilon lies outside of the bias correction,
    as in Keras.

    Args:
      learning_rate: The step size: a float.
      beta_1: How much of m stays in a step.
      beta_2: How much of s stays.
      epsilon: What keeps the quotient finite.
      name: A name.

    Raises:
      TypeError: If ``learning_rate`` is a function.

    Example:
      >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.Adam(0.1)
      >>> _ = optimizer.apply_gradients([(tf.constant(1000.0), v)])
      >>> round(float(v), 4)
      0.9
    """

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, *, name: str = "adam",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, name)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def _slots_for(self, variable: Variable) -> list[Variable]:
        return [self._slot(variable, "momentum"), self._slot(variable, "velocity")]

    def _rate(self, dtype: DType) -> Tensor:
        # In the variable's own precision: 1 - beta**t cancels most of its digits.
        rate = super()._rate(dtype)
        step = cast(self.iterations + 1, dtype)
        one = as_tensor(1.0, step._spec)
        return rate * sqrt(one - self.beta_2**step) / (one - self.beta_1**step)

    def _update(
        self, variable: Operand, gradient: Tensor, rate: Tensor, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        momentum, velocity = slots
        m = momentum + (gradient - momentum) * (1 - self.beta_1)
        v = velocity + (gradient * gradient - velocity) * (1 - self.beta_2)
        return variable - m * rate / (sqrt(v) + self.epsilon), [m, v]
