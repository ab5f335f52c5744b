"""`Ftrl`: follow the regularized leader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.ops.arithmetic import pow_
from ...core.ops.elementwise import clip_by_value, square
from ...core.values.tensor import Tensor
from .optimizer import Groups, Operand, Optimizer, optimizer_class, real


@optimizer_class
class Ftrl(Optimizer):
    """Follow the regularized leader: L1 regularization makes many values exactly 0.

    ``n += gradient**2``, ``z += gradient - (n**-p - old_n**-p) / learning_rate * v`` with p the
    ``learning_rate_power``, and v becomes ``(clip(z, -l1, l1) - z) / (n**-p / learning_rate + 2 *
    l2 + beta / learning_rate)``: McMahan and others, "Ad Click Prediction: a View from the
    Trenches" (2013). z starts at 0, so the first step discards the variable's initial value.

    >>> v, optimizer = tf.Variable(0.0), tf.keras.optimizers.Ftrl(
    ...     0.5, initial_accumulator_value=0.0, l1_regularization_strength=1.0)
    >>> _ = optimizer.apply_gradients([(tf.constant(-2.0), v)])
    >>> v.numpy()
    np.float32(0.25)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
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
        bounded = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        real(learning_rate_power=learning_rate_power, beta=beta, **bounded)
        for argument, value in bounded.items():
            if value < 0.0:
                raise ValueError(
                    f"`{argument}` needs to be positive or zero. Received: {argument}={value}."
                )
        if learning_rate_power > 0.0:
            raise ValueError(
                f"`learning_rate_power` needs to be negative or zero. Received: "
                f"learning_rate_power={learning_rate_power}."
            )
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
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta

    def _nt_groups(self) -> Groups:
        return [[("accumulator", self.initial_accumulator_value), ("linear", 0.0)]]

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        old, linear = slots
        power, limit = -self.learning_rate_power, self.l1_regularization_strength
        pull = self.l2_regularization_strength + self.beta / (2.0 * shared)
        used = gradient + 2 * self.l2_shrinkage_regularization_strength * variable
        squares = old + square(gradient)
        grown = pow_(squares, power)
        z = linear + (used - (grown - pow_(old, power)) / shared * variable)
        new = (clip_by_value(z, -limit, limit) - z) / (grown / shared + 2 * pull)
        return new, [squares, z]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "learning_rate_power": self.learning_rate_power,
            "initial_accumulator_value": self.initial_accumulator_value,
            "l1_regularization_strength": self.l1_regularization_strength,
            "l2_regularization_strength": self.l2_regularization_strength,
            "l2_shrinkage_regularization_strength": self.l2_shrinkage_regularization_strength,
            "beta": self.beta,
        }
