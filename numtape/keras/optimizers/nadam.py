"""`Nadam`: Adam with Nesterov's momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.log.variable import Variable
from ...core.ops.elementwise import cast, sqrt, square
from ...core.values.tensor import Tensor
from .adam import powers
from .arguments import optimizer_class, real
from .optimizer import Optimizer
from .state import Groups
from .stepping import Changes, Operand


@optimizer_class
class Nadam(Optimizer):
    """`Adam` with Nesterov's momentum, which grows from step to step.

    With ``u(t) = beta_1 * (1 - 0.96**t / 2)`` and U the product of all u so far, it is ``v -=
    learning_rate * n / (sqrt(s / (1 - beta_2**t)) + epsilon)``, where n is ``u(t + 1) * m / (1 -
    U * u(t + 1)) + (1 - u(t)) * gradient / (1 - U)``: Dozat, "Incorporating Nesterov Momentum into
    Adam" (2015).

    >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.Nadam(0.1)
    >>> _ = optimizer.apply_gradients([(tf.constant(1000.0), v)])
    >>> round(float(v), 4)
    0.8937
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
        return [[("momentum", 0.0), ("velocity", 0.0)]]

    def _nt_build(self, trained: list[Variable]) -> None:
        super()._nt_build(trained)
        self._nt_product = self._nt_own(1.0, "product", trained[0].dtype if trained else "float32")

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        step = self._nt_count() + 1
        dtype = self._nt_product.dtype
        if self._nt_product not in changes:
            first = cast(rate, dtype)
            changes[self._nt_product] = (
                self._nt_product * self.beta_1 * (1.0 - 0.5 * powers(0.96, step, first))
            )
        product = cast(changes[self._nt_product], rate.dtype)
        now = self.beta_1 * (1.0 - 0.5 * powers(0.96, step, rate))
        then = self.beta_1 * (1.0 - 0.5 * powers(0.96, step + 1, rate))
        old, new = 1.0 - product * then, 1.0 - product
        return rate, then, old, 1.0 - now, new, 1.0 - powers(self.beta_2, step, rate)

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        rate, then, old, now, new, correction = shared
        m = slots[0] + (gradient - slots[0]) * (1 - self.beta_1)
        s = slots[1] + (square(gradient) - slots[1]) * (1 - self.beta_2)
        ahead = then * m / old + now * gradient / new
        return variable - ahead * rate / (sqrt(s / correction) + self.epsilon), [m, s]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }
