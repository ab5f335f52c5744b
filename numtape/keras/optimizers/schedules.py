"""``tf.keras.optimizers.schedules``: learning rates as functions of the step."""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...compat.names import getter as _getter
from ...core.log.as_tensor import as_tensor
from ...core.ops.arithmetic import pow_
from ...core.ops.comparison import equal
from ...core.ops.elementwise import cast, ceil, cos, floor, log, minimum, select
from ...core.values.dtypes import float32
from ...core.values.tensor import Tensor
from ..registry import ClassRegistry, describe

if TYPE_CHECKING:
    from ...core.values.annotations import NumberLike, TensorLike


class LearningRateSchedule:
    """Base class of schedules: override ``__call__(step)``, and `get_config` for saving.

    Example:
      >>> class Halved(tf.keras.optimizers.schedules.LearningRateSchedule):
      ...     def __call__(self, step):
      ...         return 0.5 ** tf.cast(step, tf.float32)
      >>> optimizer = tf.keras.optimizers.SGD(Halved())
      >>> v = tf.Variable(0.0)
      >>> for _ in range(3):
      ...     _ = optimizer.apply_gradients([(tf.constant(-1.0), v)])
      >>> v.numpy()
      np.float32(1.75)
    """

    def __call__(self, step: Any) -> Tensor:
        """Return the learning rate of a step.

        Args:
          step: The number of previous steps, an integer scalar.

        Returns:
          A scalar.

        Raises:
          NotImplementedError: If the subclass does not override it.
        """
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.

        Raises:
          NotImplementedError: If the subclass does not override it.
        """
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `get_config()` in order "
            f"to be serializable."
        )

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """Create a schedule from its constructor arguments.

        Args:
          config: The result of `get_config`.

        Returns:
          A schedule.

        Example:
          >>> made = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
          >>> type(made).from_config(made.get_config())(10).numpy()
          np.float32(0.05)
        """
        return cls(**config)


schedule_class = describe(
    {
        "initial_learning_rate": "The initial learning rate, a float.",
        "decay_steps": "The number of steps of one decay.",
        "first_decay_steps": "The number of steps of the first period.",
        "decay_rate": "The decay per ``decay_steps``.",
        "staircase": "Whether to decay only at multiples of ``decay_steps``.",
        "boundaries": "Increasing step numbers.",
        "values": "The learning rate up to and including each boundary; the last is for all later "
        "steps.",
        "end_learning_rate": "The final learning rate.",
        "power": "The power of the polynomial.",
        "cycle": "Whether to restart after ``decay_steps``, over 2, 3, ... times ``decay_steps``.",
        "alpha": "The final learning rate as a fraction of the initial one.",
        "warmup_target": "The learning rate at the end of the warmup; None for no warmup.",
        "warmup_steps": "The number of steps of the warmup.",
        "t_mul": "The ratio of the lengths of successive periods.",
        "m_mul": "The ratio of the initial learning rates of successive periods.",
        "name": "The schedule's name.",
    },
    "",
    "ValueError: If a number of steps is not positive, or the number of values is wrong.",
)


def positive(**steps: NumberLike) -> None:
    """Raise a ValueError for numbers of steps that are not positive."""
    for name, count in steps.items():
        if count <= 0:
            raise ValueError(f"Argument `{name}` must be > 0. Received: {name}={count}")


def rate_of(x: TensorLike) -> Tensor:
    """Convert a learning rate to a tensor; non-float values become float32."""
    x = as_tensor(x)
    return x if x.dtype.is_floating else cast(x, float32)


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
        initial_learning_rate: NumberLike,
        decay_steps: NumberLike,
        decay_rate: NumberLike,
        staircase: bool = False,
        name: str | None = "ExponentialDecay",
    ) -> None:
        positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: TensorLike) -> Tensor:
        """The step size of a step, a scalar."""
        initial_rate = rate_of(self.initial_learning_rate)
        progress = cast(step, initial_rate.dtype) / self.decay_steps
        if self.staircase:
            progress = floor(progress)
        return initial_rate * pow_(as_tensor(self.decay_rate, initial_rate._spec), progress)

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
    """A constant learning rate up to each boundary, and one after the last.

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

    def __call__(self, step: TensorLike) -> Tensor:
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
    """Decay from initial to end learning rate as ``(1 - step / decay_steps) ** power``.

    >>> tf.keras.optimizers.schedules.PolynomialDecay(1.0, 10, 0.5)(4).numpy()
    np.float32(0.8)
    """

    def __init__(
        self,
        initial_learning_rate: NumberLike,
        decay_steps: NumberLike,
        end_learning_rate: NumberLike = 0.0001,
        power: NumberLike = 1.0,
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

    def __call__(self, step: TensorLike) -> Tensor:
        """The step size of a step, a scalar."""
        initial_rate = rate_of(self.initial_learning_rate)
        end_rate = as_tensor(self.end_learning_rate, initial_rate._spec)
        step, steps = cast(step, initial_rate.dtype), cast(self.decay_steps, initial_rate.dtype)
        if self.cycle:
            steps = steps * select(equal(step, 0.0), 1.0, ceil(step / self.decay_steps))
        else:
            step = minimum(step, steps)
        return (initial_rate - end_rate) * pow_(1.0 - step / steps, self.power) + end_rate

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
        initial_learning_rate: NumberLike,
        decay_steps: NumberLike,
        decay_rate: NumberLike,
        staircase: bool = False,
        name: str | None = "InverseTimeDecay",
    ) -> None:
        positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: TensorLike) -> Tensor:
        """The step size of a step, a scalar."""
        initial_rate = rate_of(self.initial_learning_rate)
        part = cast(step, initial_rate.dtype) / self.decay_steps
        if self.staircase:
            part = floor(part)
        return initial_rate / (1.0 + self.decay_rate * part)

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
    """Cosine decay with an optional linear warmup.

    After a fraction x of ``decay_steps`` it is ``(1 - alpha) * (1 + cos(pi * x)) / 2 + alpha``
    times the initial learning rate: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with
    Warm Restarts" (2017). The warmup to ``warmup_target`` follows Goyal and others, "Accurate,
    Large Minibatch SGD" (2017).

    >>> schedule = tf.keras.optimizers.schedules.CosineDecay(0.0, 10, warmup_target=1.0,
    ...                                                      warmup_steps=4)
    >>> [round(float(schedule(step)), 4) for step in (0, 2, 4, 9, 14)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: NumberLike,
        decay_steps: NumberLike,
        alpha: NumberLike = 0.0,
        name: str | None = "CosineDecay",
        warmup_target: NumberLike | None = None,
        warmup_steps: NumberLike = 0,
    ) -> None:
        positive(decay_steps=decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.alpha = alpha
        self.name = name
        self.warmup_steps = warmup_steps
        self.warmup_target = warmup_target

    def __call__(self, step: TensorLike) -> Tensor:
        """The step size of a step, a scalar."""
        initial_rate = peak_rate = rate_of(self.initial_learning_rate)
        warmup_steps: NumberLike = 0
        step = cast(step, initial_rate.dtype)
        if self.warmup_target is not None:
            peak_rate = cast(self.warmup_target, initial_rate.dtype)
            warmup_steps = self.warmup_steps
        step = minimum(step, float(self.decay_steps + warmup_steps))
        cosine = 0.5 * (1.0 + cos(math.pi * ((step - float(warmup_steps)) / self.decay_steps)))
        decayed_rate = peak_rate * ((1 - self.alpha) * cosine + self.alpha)
        if not warmup_steps:
            return decayed_rate
        return select(
            step < float(warmup_steps),
            (peak_rate - initial_rate) * (step / warmup_steps) + initial_rate,
            decayed_rate,
        )

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
    """Cosine decay with restarts.

    Each period has ``t_mul`` times as many steps as the one before, and begins with ``m_mul`` times
    its initial learning rate: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm
    Restarts" (2017).

    >>> schedule = tf.keras.optimizers.schedules.CosineDecayRestarts(1.0, 10)
    >>> [round(float(schedule(step)), 4) for step in (0, 5, 10, 20)]
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        initial_learning_rate: NumberLike,
        first_decay_steps: NumberLike,
        t_mul: NumberLike = 2.0,
        m_mul: NumberLike = 1.0,
        alpha: NumberLike = 0.0,
        name: str | None = "SGDRDecay",
    ) -> None:
        positive(first_decay_steps=first_decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = first_decay_steps
        self._nt_t_mul = t_mul
        self._nt_m_mul = m_mul
        self.alpha = alpha
        self.name = name

    def __call__(self, step: TensorLike) -> Tensor:
        """The step size of a step, a scalar."""
        initial_rate = rate_of(self.initial_learning_rate)
        progress = cast(step, initial_rate.dtype) / self.first_decay_steps
        if self._nt_t_mul == 1:
            period = floor(progress)
            progress = progress - period
        else:  # the lengths of the periods form a geometric series
            ratio = as_tensor(float(self._nt_t_mul), initial_rate._spec)
            period = floor(log(1.0 - progress * (1.0 - ratio)) / log(ratio))
            period_length = pow_(ratio, period)
            progress = (progress - (1.0 - period_length) / (1.0 - ratio)) / period_length
        amplitude = pow_(as_tensor(float(self._nt_m_mul), initial_rate._spec), period)
        cosine = 0.5 * amplitude * (1.0 + cos(math.pi * progress))
        return initial_rate * ((1 - self.alpha) * cosine + self.alpha)

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


_REGISTRY = ClassRegistry(
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
    """Return the class and constructor arguments of a schedule.

    Args:
      learning_rate_schedule: A schedule.

    Returns:
      A dict for `deserialize`.

    Raises:
      TypeError: If the argument is not a schedule.

    Example:
      >>> made = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
      >>> tf.keras.optimizers.schedules.serialize(made)["class_name"]
      'ExponentialDecay'
    """
    if not isinstance(learning_rate_schedule, LearningRateSchedule):
        raise TypeError(f"{learning_rate_schedule!r} must be a LearningRateSchedule.")
    return _REGISTRY.describe(learning_rate_schedule)


def deserialize(
    config: dict[str, Any], custom_objects: dict[str, Any] | None = None
) -> LearningRateSchedule:
    """Create a schedule from the result of `serialize`.

    Args:
      config: The result of `serialize`.
      custom_objects: Custom classes, by name.

    Returns:
      A schedule.

    Raises:
      ValueError: If ``config`` is not such a dict, or the class is unknown.

    Example:
      >>> config = {"class_name": "InverseTimeDecay", "config": {
      ...     "initial_learning_rate": 1.0, "decay_steps": 10, "decay_rate": 1.0}}
      >>> tf.keras.optimizers.schedules.deserialize(config)(10).numpy()
      np.float32(0.5)
    """
    result: LearningRateSchedule = _REGISTRY.deserialize(config, custom_objects)
    return result
