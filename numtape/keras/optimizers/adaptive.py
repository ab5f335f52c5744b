"""Optimizers that scale gradients by mean squares: Adagrad, Adadelta, RMSprop, Adafactor, Ftrl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.variable import Variable
from ...core.ops.arithmetic import pow_
from ...core.ops.creation import zeros
from ...core.ops.elementwise import cast, clip_by_value, maximum, minimum, negative, sqrt, square
from ...core.ops.movement import expand_dims
from ...core.ops.reduction import reduce_mean
from ...core.values.tensor import Tensor
from .optimizer import Changes, Groups, Operand, Optimizer, optimizer_class, real

if TYPE_CHECKING:
    from ..annotations import LearningRate


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
        learning_rate: LearningRate = 0.001,
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
        self, variable: Operand, gradient: Tensor, shared: Operand, slots: Sequence[Operand]
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
        learning_rate: LearningRate = 0.001,
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
        self, variable: Operand, gradient: Tensor, shared: Operand, slots: Sequence[Operand]
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
        learning_rate: LearningRate = 0.001,
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
        self, variable: Operand, gradient: Tensor, shared: Operand, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        squares = self.rho * slots[0] + (1 - self.rho) * square(gradient)
        new_slots, second_moment = [squares], squares
        if self.centered:
            mean = self.rho * slots[-1] + (1 - self.rho) * gradient
            new_slots, second_moment = [squares, mean], squares - square(mean)
        step = shared * gradient / sqrt(second_moment + self.epsilon)
        if self.momentum > 0:
            step = self.momentum * slots[1] + step
            new_slots.insert(1, step)
        return variable - step, new_slots

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "rho": self.rho,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "centered": self.centered,
        }


@optimizer_class
class Adafactor(Optimizer):
    """Divide gradients by the root of their mean square, factored into rows and columns.

    The mean squares of a matrix's rows, r, and columns, c, approximate the full matrix by
    ``r * c / mean(r)``; with more axes, the last two are rows and columns. Steps scale with the
    variable's root mean square: Shazeer and Stern, "Adafactor: Adaptive Learning Rates with
    Sublinear Memory Cost" (2018).

    >>> v, optimizer = tf.Variable(tf.ones((2, 2))), tf.keras.optimizers.Adafactor(0.5)
    >>> _ = optimizer.apply_gradients([(tf.fill((2, 2), 1000.0), v)])
    >>> v.numpy().tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
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
        real(
            beta_2_decay=beta_2_decay,
            epsilon_1=epsilon_1,
            epsilon_2=epsilon_2,
            clip_threshold=clip_threshold,
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
        self.beta_2_decay = beta_2_decay
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.clip_threshold = clip_threshold
        self.relative_step = relative_step

    def _nt_build(self, variables: list[Variable]) -> None:
        super()._nt_build(variables)
        for variable, slots in zip(variables, self._nt_slots, strict=True):
            shape, dtype, sizes = tuple(variable.shape), variable.dtype, {}
            if len(shape) > 1:
                sizes = {"row": shape[:-1], "column": (*shape[:-2], shape[-1])}
            for name, size in {**sizes, "velocity": shape}.items():
                slots.append(self._nt_own(zeros(size, dtype), name, dtype, variable))

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        step = cast(self._nt_count() + 1, rate.dtype)
        max_rate = 1.0 / sqrt(step)
        if isinstance(self._nt_learning_rate, Variable) and self.relative_step:
            rate = minimum(rate, max_rate)
        return minimum(rate, max_rate), 1.0 - pow_(step, self.beta_2_decay)

    def _nt_update(
        self,
        variable: Operand,
        gradient: Tensor,
        shared: tuple[Tensor, Tensor],
        slots: Sequence[Operand],
    ) -> tuple[Tensor, list[Tensor]]:
        rate, decay = shared
        squares = square(gradient) + self.epsilon_1
        if len(slots) == 1:
            new_slots = [decay * slots[0] + (1.0 - decay) * squares]
        else:
            rows = decay * slots[0] + (1.0 - decay) * reduce_mean(squares, -1)
            columns = decay * slots[1] + (1.0 - decay) * reduce_mean(squares, -2)
            ratio = rows / reduce_mean(rows, -1, True)
            new_slots = [rows, columns, expand_dims(ratio, -1) * expand_dims(columns, -2)]
        step = gradient / sqrt(new_slots[-1])
        step = step / maximum(1.0, _size(step) / self.clip_threshold)
        return variable - maximum(self.epsilon_2, _size(variable)) * rate * step, new_slots

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "beta_2_decay": self.beta_2_decay,
            "epsilon_1": self.epsilon_1,
            "epsilon_2": self.epsilon_2,
            "clip_threshold": self.clip_threshold,
            "relative_step": self.relative_step,
        }


def _size(x: Operand) -> Tensor:
    """The root mean square."""
    return sqrt(reduce_mean(square(x)))


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
        learning_rate: LearningRate = 0.001,
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
        non_negative = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        real(learning_rate_power=learning_rate_power, beta=beta, **non_negative)
        for argument, value in non_negative.items():
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
        self, variable: Operand, gradient: Tensor, shared: Operand, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        old_squares, linear = slots
        power, limit = -self.learning_rate_power, self.l1_regularization_strength
        l2_strength = self.l2_regularization_strength + self.beta / (2.0 * shared)
        regularized_gradient = gradient + 2 * self.l2_shrinkage_regularization_strength * variable
        squares = old_squares + square(gradient)
        scale = pow_(squares, power)
        new_linear = linear + (
            regularized_gradient - (scale - pow_(old_squares, power)) / shared * variable
        )
        new_value = (clip_by_value(new_linear, -limit, limit) - new_linear) / (
            scale / shared + 2 * l2_strength
        )
        return new_value, [squares, new_linear]

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
