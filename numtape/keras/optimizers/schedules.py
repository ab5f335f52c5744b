"""``tf.keras.optimizers.schedules``: step sizes that follow the number of the step.

They are computed by ops, so that a replayed training step follows its counter.
"""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Sequence
from typing import Any

from ...compat.names import getter as _getter
from ...core.log.tensors import as_tensor
from ...core.ops.arithmetic import pow_
from ...core.ops.comparison import equal
from ...core.ops.elementwise import cast, ceil, cos, floor, log, minimum, select
from ..named import Kind
from .schedule import LearningRateSchedule, positive, rate_of, schedule_class

__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LearningRateSchedule",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "deserialize",
    "serialize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


@schedule_class
class ExponentialDecay(LearningRateSchedule):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``.

    >>> tf.keras.optimizers.schedules.ExponentialDecay(1.0, 10, 0.25)(5).numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = "ExponentialDecay",
    ) -> None:
        positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The step size of a step, a scalar."""
        first = rate_of(self.initial_learning_rate)
        part = cast(step, first.dtype) / self.decay_steps
        if self.staircase:
            part = floor(part)
        return first * pow_(as_tensor(self.decay_rate, first._spec), part)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "decay_rate": self.decay_rate,
            "staircase": self.staircase,
            "name": self.name,
        }


@schedule_class
class PiecewiseConstantDecay(LearningRateSchedule):
    """A step size up to each boundary, and one after the last.

    >>> schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay([2, 4], [1.0, 0.5, 0.25])
    >>> [float(schedule(step)) for step in range(6)]
    [1.0, 1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        boundaries: Sequence[Any],
        values: Sequence[Any],
        name: str | None = "PiecewiseConstant",
    ) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of "
                f"length {len(values)}."
            )
        self.boundaries = boundaries
        self.values = values
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The step size of a step, a scalar."""
        step = as_tensor(step)
        result = rate_of(self.values[-1])
        for boundary, value in zip(self.boundaries[::-1], self.values[-2::-1], strict=True):
            result = select(
                step <= cast(boundary, step.dtype), as_tensor(value, result._spec), result
            )
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


@schedule_class
class PolynomialDecay(LearningRateSchedule):
    """From the first to the last step size, as ``(1 - step / decay_steps) ** power`` falls.

    >>> tf.keras.optimizers.schedules.PolynomialDecay(1.0, 10, 0.5)(4).numpy()
    np.float32(0.8)
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str | None = "PolynomialDecay",
    ) -> None:
        positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The step size of a step, a scalar."""
        first = rate_of(self.initial_learning_rate)
        last = as_tensor(self.end_learning_rate, first._spec)
        step, steps = cast(step, first.dtype), cast(self.decay_steps, first.dtype)
        if self.cycle:
            steps = steps * select(equal(step, 0.0), 1.0, ceil(step / self.decay_steps))
        else:
            step = minimum(step, steps)
        return (first - last) * pow_(1.0 - step / steps, self.power) + last

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "end_learning_rate": self.end_learning_rate,
            "power": self.power,
            "cycle": self.cycle,
            "name": self.name,
        }


@schedule_class
class InverseTimeDecay(LearningRateSchedule):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``.

    >>> tf.keras.optimizers.schedules.InverseTimeDecay(1.0, 10, 1.0)(30).numpy()
    np.float32(0.25)
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = "InverseTimeDecay",
    ) -> None:
        positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The step size of a step, a scalar."""
        first = rate_of(self.initial_learning_rate)
        part = cast(step, first.dtype) / self.decay_steps
        if self.staircase:
            part = floor(part)
        return first / (1.0 + self.decay_rate * part)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "decay_rate": self.decay_rate,
            "staircase": self.staircase,
            "name": self.name,
        }


@schedule_class
class CosineDecay(LearningRateSchedule):
    """Half a wave of the cosine, if wanted after a straight rise.

    With a fraction x of ``decay_steps`` done it is ``(1 - alpha) * (1 + cos(pi * x)) / 2 + alpha``
    of the first step size: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm
    Restarts" (2017). The rise to ``warmup_target`` is that of Goyal and others, "Accurate, Large
    Minibatch SGD" (2017).

    >>> schedule = tf.keras.optimizers.schedules.CosineDecay(0.0, 10, warmup_target=1.0,
    ...                                                      warmup_steps=4)
    >>> [round(float(schedule(step)), 4) for step in (0, 2, 4, 9, 14)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha: Any = 0.0,
        name: str | None = "CosineDecay",
        warmup_target: Any = None,
        warmup_steps: Any = 0,
    ) -> None:
        positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.alpha = alpha
        self.name = name
        self.warmup_steps = warmup_steps
        self.warmup_target = warmup_target

    def __call__(self, step: Any) -> Any:
        """The step size of a step, a scalar."""
        first = top = rate_of(self.initial_learning_rate)
        step, rise = cast(step, first.dtype), 0
        if self.warmup_target is not None:
            top, rise = cast(self.warmup_target, first.dtype), self.warmup_steps
        step = minimum(step, float(self.decay_steps + rise))
        wave = 0.5 * (1.0 + cos(math.pi * ((step - float(rise)) / self.decay_steps)))
        falling = top * ((1 - self.alpha) * wave + self.alpha)
        if not rise:
            return falling
        return select(step < float(rise), (top - first) * (step / rise) + first, falling)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "alpha": self.alpha,
            "name": self.name,
            "warmup_target": self.warmup_target,
            "warmup_steps": self.warmup_steps,
        }


@schedule_class
class CosineDecayRestarts(LearningRateSchedule):
    """Half a wave of the cosine, again and again.

    Each period has ``t_mul`` times as many steps as the one before, and begins with ``m_mul`` times
    its step size: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts"
    (2017).

    >>> schedule = tf.keras.optimizers.schedules.CosineDecayRestarts(1.0, 10)
    >>> [round(float(schedule(step)), 4) for step in (0, 5, 10, 20)]
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: Any,
        t_mul: Any = 2.0,
        m_mul: Any = 1.0,
        alpha: Any = 0.0,
        name: str | None = "SGDRDecay",
    ) -> None:
        positive(first_decay_steps=first_decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = first_decay_steps
        self._nt_t_mul = t_mul
        self._nt_m_mul = m_mul
        self.alpha = alpha
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The step size of a step, a scalar."""
        first = rate_of(self.initial_learning_rate)
        part = cast(step, first.dtype) / self.first_decay_steps
        if self._nt_t_mul == 1:
            period = floor(part)
            part = part - period
        else:  # Periods have the lengths of a geometric series.
            times = as_tensor(float(self._nt_t_mul), first._spec)
            period = floor(log(1.0 - part * (1.0 - times)) / log(times))
            longer = pow_(times, period)
            part = (part - (1.0 - longer) / (1.0 - times)) / longer
        larger = pow_(as_tensor(float(self._nt_m_mul), first._spec), period)
        wave = 0.5 * larger * (1.0 + cos(math.pi * part))
        return first * ((1 - self.alpha) * wave + self.alpha)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, as a dict."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "first_decay_steps": self.first_decay_steps,
            "t_mul": self._nt_t_mul,
            "m_mul": self._nt_m_mul,
            "alpha": self.alpha,
            "name": self.name,
        }


_KIND = Kind(
    "learning rate schedule",
    [
        CosineDecay,
        CosineDecayRestarts,
        ExponentialDecay,
        InverseTimeDecay,
        PiecewiseConstantDecay,
        PolynomialDecay,
    ],
    module="keras.optimizers.schedules",
)


def serialize(learning_rate_schedule: LearningRateSchedule) -> dict[str, Any]:
    """The class of a schedule and what it was made with.

    Args:
      learning_rate_schedule: A schedule.

    Returns:
      A dict, of which `deserialize` makes an equal schedule.

    Raises:
      TypeError: If it is no schedule.

    Example:
      >>> made = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
      >>> tf.keras.optimizers.schedules.serialize(made)["class_name"]
      'ExponentialDecay'
    """
    if not isinstance(learning_rate_schedule, LearningRateSchedule):
        raise TypeError(f"{learning_rate_schedule!r} is not a LearningRateSchedule.")
    return _KIND.described(learning_rate_schedule)


def deserialize(
    config: dict[str, Any], custom_objects: dict[str, Any] | None = None
) -> LearningRateSchedule:
    """The schedule that a dict stands for.

    Args:
      config: A dict of `serialize`.
      custom_objects: Classes of your own, by name.

    Returns:
      A schedule.

    Raises:
      ValueError: If it is no such dict, or the class is unknown.

    Example:
      >>> config = {"class_name": "InverseTimeDecay", "config": {
      ...     "initial_learning_rate": 1.0, "decay_steps": 10, "decay_rate": 1.0}}
      >>> tf.keras.optimizers.schedules.deserialize(config)(10).numpy()
      np.float32(0.5)
    """
    result: LearningRateSchedule = _KIND.deserialize(config, custom_objects)
    return result
