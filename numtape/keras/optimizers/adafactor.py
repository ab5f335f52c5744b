"""`Adafactor`: factored mean squares of gradients, for sublinear memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.log.variable import Variable
from ...core.ops.arithmetic import pow_
from ...core.ops.creation import zeros
from ...core.ops.elementwise import cast, maximum, minimum, sqrt, square
from ...core.ops.movement import expand_dims
from ...core.ops.reduction import reduce_mean
from ...core.values.tensor import Tensor
from .optimizer import Changes, Operand, Optimizer, optimizer_class, real


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
        learning_rate: Any = 0.001,
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

    def _nt_build(self, trained: list[Variable]) -> None:
        super()._nt_build(trained)
        for variable, own in zip(trained, self._nt_slots, strict=True):
            shape, dtype, sizes = tuple(variable.shape), variable.dtype, {}
            if len(shape) > 1:
                sizes = {"row": shape[:-1], "column": (*shape[:-2], shape[-1])}
            for name, size in {**sizes, "velocity": shape}.items():
                own.append(self._nt_own(zeros(size, dtype), name, dtype, variable))

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        step = cast(self._nt_count() + 1, rate.dtype)
        slowest = 1.0 / sqrt(step)
        if isinstance(self._nt_learning_rate, Variable) and self.relative_step:
            rate = minimum(rate, slowest)
        return minimum(rate, slowest), 1.0 - pow_(step, self.beta_2_decay)

    def _nt_update(
        self, variable: Operand, gradient: Tensor, shared: Any, slots: Sequence[Operand]
    ) -> tuple[Tensor, list[Tensor]]:
        rate, is_kept = shared
        squares = square(gradient) + self.epsilon_1
        if len(slots) == 1:
            new = [is_kept * slots[0] + (1.0 - is_kept) * squares]
        else:
            rows = is_kept * slots[0] + (1.0 - is_kept) * reduce_mean(squares, -1)
            columns = is_kept * slots[1] + (1.0 - is_kept) * reduce_mean(squares, -2)
            ratio = rows / reduce_mean(rows, -1, True)
            new = [rows, columns, expand_dims(ratio, -1) * expand_dims(columns, -2)]
        step = gradient / sqrt(new[-1])
        step = step / maximum(1.0, _size(step) / self.clip_threshold)
        return variable - maximum(self.epsilon_2, _size(variable)) * rate * step, new

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
