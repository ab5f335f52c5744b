"""`Adagrad`: gradients over the root of the sum of their squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.ops.elementwise import sqrt, square
from ...core.values.tensor import Tensor
from .arguments import optimizer_class, real
from .optimizer import Optimizer
from .state import Groups
from .stepping import Operand


@optimizer_class
class Adagrad(Optimizer):
    """Gradients over the root of the sum of their squares so far.

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
