"""`SGD`: gradient descent with optional momentum; and `Lion`: steps by the sign of a momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.variable import Variable
from ...core.ops.elementwise import sign
from ...core.ops.indexed_rows import update_rows
from ...core.values.dtypes import repr_of
from ...core.values.indexed_slices import IndexedSlices
from ...core.values.tensor import Tensor
from .optimizer import Groups, Operand, Optimizer, dense, optimizer_class, real

if TYPE_CHECKING:
    from ..annotations import LearningRate


@optimizer_class
class SGD(Optimizer):
    """Gradient descent: ``v -= learning_rate * gradient``.

    With momentum, ``m = momentum * m - learning_rate * gradient`` and ``v += m``; with
    ``nesterov``, ``v += momentum * m - learning_rate * gradient`` with the new m (Sutskever,
    Martens, Dahl and Hinton, "On the importance of initialization and momentum in deep learning",
    2013).

    >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.1, momentum=0.5)
    >>> for _ in range(2):
    ...     _ = optimizer.apply_gradients([(tf.constant(1.0), v)])
    >>> v.numpy()
    np.float32(0.75)
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
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
        if not isinstance(momentum, float) or not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must be a float between [0, 1]. Got {repr_of(momentum)}.")
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
        self.momentum = momentum
        self.nesterov = nesterov

    def _nt_groups(self) -> Groups:
        return [[("momentum", 0.0)]] if self.momentum else []

    def _nt_takes_slices(self, variable: Variable) -> bool:
        changes_all_rows = (
            self._nt_accumulators,
            self.momentum,
            self.clipnorm,
            self.clipvalue,
            self.global_clipnorm,
            self.loss_scale_factor,
        )
        return not any(changes_all_rows)

    def _nt_update(
        self,
        variable: Operand,
        gradient: Tensor | IndexedSlices,
        shared: Operand,
        slots: Sequence[Operand],
    ) -> tuple[Tensor, list[Tensor]]:
        if isinstance(gradient, IndexedSlices):
            if isinstance(variable, Variable):  # update only these rows
                return update_rows(variable, gradient.indices, gradient.values * shared, "sub"), []
            gradient = dense(gradient, variable)
        step = gradient * shared
        if not slots:
            return variable - step, []
        velocity = slots[0] * self.momentum - step
        if self.nesterov:
            return variable + (velocity * self.momentum - step), [velocity]
        return variable + velocity, [velocity]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {**super().get_config(), "momentum": self.momentum, "nesterov": self.nesterov}


@optimizer_class
class Lion(Optimizer):
    """Steps of constant size, in the direction of the sign of a momentum.

    ``v -= learning_rate * sign(beta_1 * m + (1 - beta_1) * gradient)``, and then ``m = beta_2 * m +
    (1 - beta_2) * gradient``: Chen and others, "Symbolic Discovery of Optimization Algorithms"
    (2023).

    >>> v, optimizer = tf.Variable([1.0, 1.0]), tf.keras.optimizers.Lion(0.5)
    >>> _ = optimizer.apply_gradients([(tf.constant([1000.0, -0.001]), v)])
    >>> v.numpy()
    array([0.5, 1.5], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
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
        real(beta_1=beta_1, beta_2=beta_2)
        if not 0 < beta_1 <= 1:
            raise ValueError(
                f"Argument `beta_1` must be in the [0, 1] range. Otherwise, the optimizer "
                f"degenerates to SignSGD. Received: beta_1={beta_1}."
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
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def _nt_groups(self) -> Groups:
        return [[("momentum", 0.0)]]

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Operand, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        (momentum,) = slots
        direction = sign(momentum * self.beta_1 + gradient * (1.0 - self.beta_1))
        m = momentum * self.beta_2 + gradient * (1.0 - self.beta_2)
        return variable - shared * direction, [m]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
        }
