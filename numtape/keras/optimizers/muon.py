"""`Muon`: steps of matrices along a nearly orthogonal matrix; `Adam` for all other variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.variable import Variable
from ...core.ops.elementwise import cast, pow_float, sqrt, square
from ...core.ops.matrix_products import matmul
from ...core.ops.movement import transpose
from ...core.ops.reduction import reduce_sum
from ...core.values.tensor import Tensor
from .optimizer import Changes, Operand, Optimizer, optimizer_class, real

if TYPE_CHECKING:
    from ..annotations import LearningRate


@optimizer_class
class Muon(Optimizer):
    """Steps of matrices along the orthogonal factor of a momentum.

    ``m = momentum * m + gradient``, and ``ns_steps`` iterations ``x = a * x + (b * x @ x.T + c *
    (x @ x.T) @ (x @ x.T)) @ x`` bring the singular values of m near 1. The step is ``v -=
    learning_rate * rms_rate * sqrt(max(v.shape)) * x``: Jordan and others, "Muon" (2024); Liu and
    others, "Muon is Scalable for LLM Training" (2025). Variables that are not matrices, and those
    that the arguments exclude, such as the last layer's, take a step of `Adam`.

    >>> v = tf.Variable([[1.0, 0.0], [0.0, 1.0]])
    >>> optimizer = tf.keras.optimizers.Muon(0.5, weight_decay=None, rms_rate=None)
    >>> _ = optimizer.apply_gradients([(tf.constant([[1000.0, 0.0], [0.0, 0.0]]), v)])
    >>> v.numpy().round(1)
    array([[0.7, 0. ],
           [0. , 1. ]], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        adam_beta_1: float = 0.9,
        adam_beta_2: float = 0.999,
        adam_weight_decay: float | None = 0.004,
        epsilon: float = 1e-7,
        weight_decay: float | None = 0.004,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        exclude_layers: Sequence[str] | None = None,
        exclude_embeddings: bool = True,
        muon_a: float = 3.4445,
        muon_b: float = -4.7750,
        muon_c: float = 2.0315,
        adam_lr_ratio: float = 1,
        momentum: float = 0.95,
        ns_steps: int = 5,
        nesterov: bool = True,
        rms_rate: float | None = 0.2,
    ) -> None:
        real(
            adam_beta_1=adam_beta_1,
            adam_beta_2=adam_beta_2,
            epsilon=epsilon,
            muon_a=muon_a,
            muon_b=muon_b,
            muon_c=muon_c,
            adam_lr_ratio=adam_lr_ratio,
            momentum=momentum,
            ns_steps=ns_steps,
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
        self.adam_beta_1 = adam_beta_1
        self.adam_beta_2 = adam_beta_2
        self.adam_weight_decay = adam_weight_decay
        self.epsilon = epsilon
        self.exclude_layers = list(exclude_layers or [])
        self.exclude_embeddings = exclude_embeddings
        self.muon_a = muon_a
        self.muon_b = muon_b
        self.muon_c = muon_c
        self.adam_lr_ratio = adam_lr_ratio
        self.momentum = momentum
        self.ns_steps = ns_steps
        self.nesterov = nesterov
        self.rms_rate = rms_rate

    def _nt_takes_adam(self, variable: Variable) -> bool:
        """Whether a variable takes the step of `Adam`."""
        path = variable._name
        if len(variable.shape) != 2 or (self.exclude_embeddings and "embedding" in path.lower()):
            return True
        return any(re.search(pattern, path) for pattern in self.exclude_layers)

    def _nt_build(self, variables: list[Variable]) -> None:
        super()._nt_build(variables)
        for variable, slots in zip(variables, self._nt_slots, strict=True):
            slots.append(self._nt_like(variable, "momentum"))
            if self._nt_takes_adam(variable):
                slots.append(self._nt_like(variable, "velocity"))

    def _nt_weight_decay(self, variable: Variable) -> float | None:
        return self.adam_weight_decay if self._nt_takes_adam(variable) else self.weight_decay

    def _nt_shared(self, rate: Operand, changes: Changes) -> Any:
        step = cast(self._nt_count() + 1, rate.dtype)
        root = sqrt(1.0 - pow_float(self.adam_beta_2, step))
        adam_rate = rate * self.adam_lr_ratio * root / (1.0 - pow_float(self.adam_beta_1, step))
        return rate, adam_rate

    def _nt_update(
        self,
        variable: Operand,
        gradient: Tensor,
        shared: tuple[Tensor, Tensor],
        slots: Sequence[Operand],
    ) -> tuple[Tensor, list[Tensor]]:
        rate, adam_rate = shared
        if len(slots) == 2:
            m = slots[0] + (gradient - slots[0]) * (1 - self.adam_beta_1)
            s = slots[1] + (square(gradient) - slots[1]) * (1 - self.adam_beta_2)
            return variable - m * adam_rate / (sqrt(s) + self.epsilon), [m, s]
        m = slots[0] * self.momentum + gradient
        direction = gradient + m * self.momentum if self.nesterov else m
        step = rate * self.zeropower_via_newtonschulz5(direction, self.ns_steps)
        return variable - self.lr_adjust(step), [m]

    def lr_adjust(self, x: Tensor) -> Tensor:
        """Scale a step by ``rms_rate`` and the root of its longer side.

        Args:
          x: A matrix.

        Returns:
          A matrix.
        """
        if self.rms_rate is None:
            return x
        result: Tensor = x * (max(x.shape) ** 0.5 * self.rms_rate)
        return result

    def zeropower_via_newtonschulz5(self, x: Tensor, steps: int) -> Tensor:
        """Bring the singular values of a matrix near 1 by a polynomial iteration.

        Args:
          x: A matrix.
          steps: The number of iterations.

        Returns:
          A matrix.

        Raises:
          ValueError: If ``x`` is not a matrix.
        """
        if len(x.shape) != 2:
            raise ValueError(
                f"Expected gradient or momentum to have 2 dimensions. Received: "
                f"shape={tuple(x.shape)}"
            )
        is_tall = x.shape[0] > x.shape[1]
        x = transpose(x) if is_tall else x
        x = x / (sqrt(reduce_sum(square(x))) + 1e-7)
        for _ in range(steps):
            products = matmul(x, x, transpose_b=True)
            x = self.muon_a * x + matmul(
                self.muon_b * products + self.muon_c * matmul(products, products), x
            )
        return transpose(x) if is_tall else x

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            **super().get_config(),
            "adam_beta_1": self.adam_beta_1,
            "adam_beta_2": self.adam_beta_2,
            "adam_weight_decay": self.adam_weight_decay,
            "epsilon": self.epsilon,
            "exclude_layers": self.exclude_layers,
            "exclude_embeddings": self.exclude_embeddings,
            "muon_a": self.muon_a,
            "muon_b": self.muon_b,
            "muon_c": self.muon_c,
            "adam_lr_ratio": self.adam_lr_ratio,
            "momentum": self.momentum,
            "ns_steps": self.ns_steps,
            "nesterov": self.nesterov,
            "rms_rate": self.rms_rate,
        }
