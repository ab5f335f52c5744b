"""Moving averages of gradients and of their squares: `Adam` and its variants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.variable import Variable
from ...core.ops.comparison import greater, logical_and
from ...core.ops.elementwise import (
    abs_,
    cast,
    maximum,
    minimum,
    pow_float,
    select,
    sqrt,
    square,
)
from ...core.ops.reduction import reduce_sum
from ...core.values.tensor import Tensor
from .optimizer import Changes, Groups, Operand, Optimizer, optimizer_class, real

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike
    from ..annotations import LearningRate


def powers(base: float, step: TensorLike, rate: Operand) -> Tensor:
    """Return ``base**step`` in the dtype of the learning rate."""
    return pow_float(base, cast(step, rate.dtype))


@optimizer_class
class Adam(Optimizer):
    """Gradient descent with moving averages of gradients, m, and of their squares, s.

    Step t is ``v -= a * m / (sqrt(s) + epsilon)``, where a is ``learning_rate * sqrt(1 -
    beta_2**t) / (1 - beta_1**t)``: Kingma and Ba, "Adam: A Method for Stochastic Optimization"
    (2015), in the form at the end of section 2, where epsilon lies outside of the bias correction,
    as in Keras. With ``amsgrad`` s is the maximum so far: Reddi, Kale and Kumar, "On the
    Convergence of Adam and Beyond" (2018).

    >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.Adam(0.1)
    >>> _ = optimizer.apply_gradients([(tf.constant(1000.0), v)])
    >>> round(float(v), 4)
    0.9
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
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
        self.amsgrad = amsgrad

    def _nt_groups(self) -> Groups:
        groups = [[("momentum", 0.0), ("velocity", 0.0)]]
        return [*groups, [("velocity_hat", 0.0)]] if self.amsgrad else groups

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        # In the variable's own precision: 1 - beta**t cancels most of its digits.
        step = cast(self._nt_count() + 1, rate._spec.dtype)
        root = sqrt(1.0 - pow_float(self.beta_2, step))
        return rate * root / (1.0 - pow_float(self.beta_1, step))

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Tensor, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        momentum, velocity, *max_velocity = slots
        m = momentum + (gradient - momentum) * (1 - self.beta_1)
        s = velocity + (square(gradient) - velocity) * (1 - self.beta_2)
        new_slots = [m, s]
        if self.amsgrad:
            s = maximum(max_velocity[0], s)
            new_slots.append(s)
        return variable - m * shared / (sqrt(s) + self.epsilon), new_slots

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "amsgrad": self.amsgrad,
        }


@optimizer_class
class AdamW(Adam):
    """`Adam` with decoupled weight decay.

    Each step subtracts ``weight_decay * learning_rate * v``: Loshchilov and Hutter, "Decoupled
    Weight Decay Regularization" (2019).

    >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.AdamW(0.5, weight_decay=0.5)
    >>> _ = optimizer.apply_gradients([(tf.constant(0.0), v)])
    >>> v.numpy()
    np.float32(0.75)
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
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
        if weight_decay is None:
            raise ValueError("Argument `weight_decay` must be a float. Received: weight_decay=None")
        super().__init__(
            learning_rate,
            beta_1,
            beta_2,
            epsilon,
            amsgrad,
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


@optimizer_class
class Adamax(Optimizer):
    """`Adam` with a decaying maximum of gradients instead of the root mean square.

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
        learning_rate: LearningRate = 0.001,
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
        self,
        variable: Operand,
        gradient: Tensor,
        shared: tuple[Operand, Tensor],
        slots: Sequence[Operand],
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


@optimizer_class
class Nadam(Optimizer):
    """`Adam` with Nesterov momentum, which grows from step to step.

    With ``u(t) = beta_1 * (1 - 0.96**t / 2)`` and U the product of all u so far, step t is ``v -=
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
        learning_rate: LearningRate = 0.001,
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

    def _nt_build(self, variables: list[Variable]) -> None:
        super()._nt_build(variables)
        self._nt_product = self._nt_own(
            1.0, "product", variables[0].dtype if variables else "float32"
        )

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        step = self._nt_count() + 1
        dtype = self._nt_product.dtype
        if self._nt_product not in changes:
            first_rate = cast(rate, dtype)
            changes[self._nt_product] = (
                self._nt_product * self.beta_1 * (1.0 - 0.5 * powers(0.96, step, first_rate))
            )
        product = cast(changes[self._nt_product], rate.dtype)
        momentum = self.beta_1 * (1.0 - 0.5 * powers(0.96, step, rate))
        next_momentum = self.beta_1 * (1.0 - 0.5 * powers(0.96, step + 1, rate))
        next_correction, correction = 1.0 - product * next_momentum, 1.0 - product
        return (
            rate,
            next_momentum,
            next_correction,
            1.0 - momentum,
            correction,
            1.0 - powers(self.beta_2, step, rate),
        )

    def _nt_update(
        self,
        variable: Operand,
        gradient: Tensor,
        shared: tuple[Operand, Tensor, Tensor, Tensor, Tensor, Tensor],
        slots: Sequence[Operand],
    ) -> tuple[Tensor, list[Tensor]]:
        rate, next_momentum, next_correction, gradient_weight, correction, velocity_correction = (
            shared
        )
        m = slots[0] + (gradient - slots[0]) * (1 - self.beta_1)
        s = slots[1] + (square(gradient) - slots[1]) * (1 - self.beta_2)
        lookahead = next_momentum * m / next_correction + gradient_weight * gradient / correction
        return variable - lookahead * rate / (sqrt(s / velocity_correction) + self.epsilon), [m, s]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


@optimizer_class
class Lamb(Optimizer):
    """`Adam` whose step of each variable is scaled to the norm of the variable.

    With the step u of Adam with bias correction, ``v -= learning_rate * norm(v) / norm(u) * u``;
    the ratio is 1 if a norm is 0: You and others, "Large Batch Optimization for Deep Learning"
    (2019).

    >>> v, optimizer = tf.Variable([3.0, 4.0]), tf.keras.optimizers.Lamb(0.5)
    >>> _ = optimizer.apply_gradients([(tf.constant([1000.0, 0.0]), v)])
    >>> v.numpy()
    array([0.5, 4. ], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
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

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        step = self._nt_count() + 1
        return rate, 1.0 - powers(self.beta_1, step, rate), 1.0 - powers(self.beta_2, step, rate)

    def _nt_update(
        self,
        variable: Operand,
        gradient: Tensor,
        shared: tuple[Tensor, Tensor, Tensor],
        slots: Sequence[Operand],
    ) -> tuple[Tensor, list[Tensor]]:
        rate, correction_1, correction_2 = shared
        m = slots[0] + (gradient - slots[0]) * (1 - self.beta_1)
        s = slots[1] + (square(gradient) - slots[1]) * (1 - self.beta_2)
        step = (m / correction_1) / (sqrt(s / correction_2) + self.epsilon)
        length, step_length = (sqrt(reduce_sum(square(x))) for x in (variable, step))
        has_ratio = logical_and(greater(length, 0.0), greater(step_length, 0.0))
        ratio = select(has_ratio, length / select(has_ratio, step_length, 1.0), 1.0)
        return variable - ratio * rate * step, [m, s]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


@optimizer_class
class ScheduleFreeAdamW(Optimizer):
    """Adam without a schedule: the variable lies between steps z and their average x.

    z starts at the variable, and step t is ``z -= learning_rate * gradient / (sqrt(s / (1 -
    beta_2**t)) + epsilon)`` with the moving average s of squared gradients. x is the mean of the
    z, and the variable is ``(1 - beta_1) * z + beta_1 * x``: Defazio and others, "The Road Less
    Scheduled" (2024).

    >>> v, optimizer = tf.Variable(1.0), tf.keras.optimizers.ScheduleFreeAdamW(0.5, beta_1=0.5)
    >>> for _ in range(2):
    ...     _ = optimizer.apply_gradients([(tf.constant(1000.0), v)])
    >>> round(float(v), 3)
    0.125
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.0025,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        warmup_steps: int = 0,
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
        real(beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, warmup_steps=warmup_steps)
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
        self.warmup_steps = warmup_steps

    def _nt_groups(self) -> Groups:
        return [[("momentum", None), ("velocity", 0.0)]]

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        step = cast(self._nt_count() + 1, rate.dtype)
        if self.warmup_steps > 0:
            rate = rate * minimum(step / float(self.warmup_steps), 1.0)
        return rate, 1.0 / step, 1.0 - powers(self.beta_2, step, rate)

    def _nt_update(
        self,
        variable: Operand,
        gradient: Tensor,
        shared: tuple[Tensor, Tensor, Tensor],
        slots: Sequence[Operand],
    ) -> tuple[Tensor, list[Tensor]]:
        rate, share, correction = shared
        z, velocity = slots
        s = velocity + (square(gradient) - velocity) * (1 - self.beta_2)
        new_z = z - rate * gradient / (sqrt(s / correction) + self.epsilon)
        average = (variable - (1 - self.beta_1) * z) / self.beta_1
        average = (1.0 - share) * average + share * new_z
        return (1 - self.beta_1) * new_z + self.beta_1 * average, [new_z, s]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "warmup_steps": self.warmup_steps,
        }
