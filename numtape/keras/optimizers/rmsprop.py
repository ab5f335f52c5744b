"""`RMSprop`: gradients over the root of the running mean of their squares."""

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
class RMSprop(Optimizer):
    """Gradients over the root of the running mean of their squares.

    ``s = rho * s + (1 - rho) * gradient**2`` and ``v -= learning_rate * gradient / sqrt(s +
    epsilon)``; with momentum, ``m = momentum * m`` plus that is taken away. Centered, the square of
    the running mean of gradients is taken from s first. Tieleman and Hinton, "Lecture 6.5 -
    RMSprop", Neural Networks for Machine Learning (2012); centered: Graves, "Generating Sequences
    With Recurrent Neural Networks" (2013).

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
