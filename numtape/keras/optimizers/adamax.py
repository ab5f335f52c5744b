"""`Adamax`: Adam with the largest gradient for the mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.ops.elementwise import abs_, maximum
from ...core.values.tensor import Tensor
from .adam import powers
from .arguments import optimizer_class, real
from .optimizer import Optimizer
from .state import Groups
from .stepping import Changes, Operand


@optimizer_class
class Adamax(Optimizer):
    """`Adam` with the largest gradient so far, which fades, for the root of the mean square.

    ``u = max(beta_2 * u, abs(gradient))`` and, in step t, ``v -= learning_rate * m / ((1 -
    beta_1**t) * (u + epsilon))``: Kingma and Ba, "Adam: A Method for Stochastic Optimization"
    (2015), section 7.1.

    >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.Adamax(0.25)
    >>> _ = optimizer.apply_gradients([(tf.constant(1000.0), v)])
    >>> v.numpy()
    np.float32(0.75)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
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
        real(beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)
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
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def _nt_groups(self) -> Groups:
        return [[("momentum", 0.0), ("norm", 0.0)]]

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        return rate, 1.0 - powers(self.beta_1, self._nt_count() + 1, rate)

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        rate, correction = shared
        m = slots[0] + (gradient - slots[0]) * (1 - self.beta_1)
        u = maximum(self.beta_2 * slots[1], abs_(gradient))
        return variable - rate * m / (correction * (u + self.epsilon)), [m, u]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }
