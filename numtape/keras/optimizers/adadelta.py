"""`Adadelta`: steps as long as the last ones were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.ops.elementwise import negative, sqrt, square
from ...core.values.tensor import Tensor
from .arguments import optimizer_class, real
from .optimizer import Optimizer
from .state import Groups
from .stepping import Operand


@optimizer_class
class Adadelta(Optimizer):
    """Steps in the ratio of the running means of squared steps and of squared gradients.

    With s and d these means, ``v -= learning_rate * x``, where x is ``sqrt(d + epsilon) / sqrt(s +
    epsilon) * gradient``: Zeiler, "ADADELTA: An Adaptive Learning Rate Method" (2012), where the
    learning rate is 1.

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
