"""`Adagrad`, `Adadelta` and `RMSprop`: gradients are scaled by the root of their mean squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.ops.elementwise import negative, sqrt, square
from ...core.values.tensor import Tensor
from .optimizer import Groups, Operand, Optimizer, optimizer_class, real


@optimizer_class
class Adagrad(Optimizer):
    """Divide gradients by the root of the sum of their squares so far.

    ``s += gradient**2`` and ``v -= learning_rate * gradient / sqrt(s + epsilon)``: Duchi, Hazan and
    Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization" (2011).

    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.keras.optimizers.Adagrad(0.5, initial_accumulator_value=0.0)
    >>> _ = optimizer.apply_gradients([(tf.constant(1000.0), v)])
    >>> v.numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
    ) -> None:
        real(initial_accumulator_value=initial_accumulator_value, epsilon=epsilon)
        super().__init__(
            learning_rate,
            weight_decay,
            clipnorm,
            clipvalue,
            global_clipnorm,
            use_ema,
            ema_momentum,
            ema_overwrite_frequency,
            loss_scale_factor,
            gradient_accumulation_steps,
            name,
        )
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def _nt_groups(self) -> Groups:
        return [[("accumulator", self.initial_accumulator_value)]]

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        squares = slots[0] + square(gradient)
        return variable - shared * gradient / sqrt(squares + self.epsilon), [squares]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "initial_accumulator_value": self.initial_accumulator_value,
            "epsilon": self.epsilon,
        }


@optimizer_class
class Adadelta(Optimizer):
    """Scale gradients by the ratio of the root mean squares of past steps and gradients.

    With moving averages d of squared steps and s of squared gradients, ``v -= learning_rate * x``,
    where x is ``sqrt(d + epsilon) / sqrt(s + epsilon) * gradient``: Zeiler, "ADADELTA: An Adaptive
    Learning Rate Method" (2012), where the learning rate is 1.

    >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.Adadelta(1.0, epsilon=1.0)
    >>> _ = optimizer.apply_gradients([(tf.constant(1000.0), v)])
    >>> round(float(v), 4)
    -3.4721
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
    ) -> None:
        real(rho=rho, epsilon=epsilon)
        super().__init__(
            learning_rate,
            weight_decay,
            clipnorm,
            clipvalue,
            global_clipnorm,
            use_ema,
            ema_momentum,
            ema_overwrite_frequency,
            loss_scale_factor,
            gradient_accumulation_steps,
            name,
        )
        self.rho = rho
        self.epsilon = epsilon

    def _nt_groups(self) -> Groups:
        return [[("accumulated_grad", 0.0), ("accumulated_delta_var", 0.0)]]

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        squares = self.rho * slots[0] + (1 - self.rho) * square(gradient)
        root = sqrt(slots[1] + self.epsilon)
        step = negative(root * gradient / sqrt(squares + self.epsilon))
        steps = self.rho * slots[1] + (1 - self.rho) * square(step)
        return variable + shared * step, [squares, steps]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "rho": self.rho,
            "epsilon": self.epsilon,
        }


@optimizer_class
class RMSprop(Optimizer):
    """Divide gradients by the root of the moving average of their squares.

    ``s = rho * s + (1 - rho) * gradient**2`` and ``v -= step``, where step is ``learning_rate *
    gradient / sqrt(s + epsilon)``; with momentum, ``m = momentum * m + step`` and ``v -= m``. If
    centered, the square of the moving average of gradients is first subtracted from s. Tieleman
    and Hinton, "Lecture 6.5 - RMSprop", Neural Networks for Machine Learning (2012); centered:
    Graves, "Generating Sequences With Recurrent Neural Networks" (2013).

    >>> v, optimizer = tf.Variable(10.0), tf.keras.optimizers.RMSprop(learning_rate=0.1)
    >>> _ = optimizer.apply_gradients([(tf.constant(10.0), v)])
    >>> v.numpy()
    np.float32(9.683772)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
    ) -> None:
        real(rho=rho, momentum=momentum, epsilon=epsilon)
        super().__init__(
            learning_rate,
            weight_decay,
            clipnorm,
            clipvalue,
            global_clipnorm,
            use_ema,
            ema_momentum,
            ema_overwrite_frequency,
            loss_scale_factor,
            gradient_accumulation_steps,
            name,
        )
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered

    def _nt_groups(self) -> Groups:
        groups = [[("velocity", 0.0)]]
        if self.momentum > 0:
            groups.append([("momentum", 0.0)])
        if self.centered:
            groups.append([("average_gradient", 0.0)])
        return groups

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        squares = self.rho * slots[0] + (1 - self.rho) * square(gradient)
        new, below = [squares], squares
        if self.centered:
            mean = self.rho * slots[-1] + (1 - self.rho) * gradient
            new, below = [squares, mean], squares - square(mean)
        step = shared * gradient / sqrt(below + self.epsilon)
        if self.momentum > 0:
            step = self.momentum * slots[1] + step
            new.insert(1, step)
        return variable - step, new

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "rho": self.rho,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "centered": self.centered,
        }
