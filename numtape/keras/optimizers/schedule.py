"""`LearningRateSchedule`: the base of step sizes that follow the number of the step."""

from __future__ import annotations

from typing import Any

from ...core.log.tensors import as_tensor
from ...core.ops.elementwise import cast
from ...core.values.dtypes import float32
from ...core.values.tensor import Tensor
from ..described import describe


class LearningRateSchedule:
    """Base class of schedules: override ``__call__(step)``, and `get_config` to keep it in files.

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

    def __call__(self, step: Any) -> Any:
        """The step size.

        Args:
          step: How many steps there were before: a scalar of integers.

        Returns:
          A scalar.

        Raises:
          NotImplementedError: If it is not overridden.
        """
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.

        Raises:
          NotImplementedError: If it is not overridden.
        """
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `get_config()` in order "
            f"to be serializable."
        )

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """The schedule made with these arguments.

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
        "initial_learning_rate": "The first step size, a float.",
        "decay_steps": "After how many steps it has fallen once, or is at its end.",
        "first_decay_steps": "How many steps the first period has.",
        "decay_rate": "What is applied once in ``decay_steps``.",
        "staircase": "Whether it falls at the end of these steps only.",
        "boundaries": "Numbers of steps, one after the other.",
        "values": "The step size up to each boundary, that step included; and, last, after all.",
        "end_learning_rate": "The last step size.",
        "power": "The power.",
        "cycle": "Whether, after ``decay_steps``, it starts again with twice, three times as many.",
        "alpha": "The last step size, over the first.",
        "warmup_target": "What it rises to at first; None: it only falls.",
        "warmup_steps": "How many steps it rises.",
        "t_mul": "How much longer each period is than the one before.",
        "m_mul": "How much larger its first step size is.",
        "name": "A name.",
    },
    "",
    "ValueError: If numbers of steps are not positive, or there are too many or few values.",
)


def positive(**steps: Any) -> None:
    """Refuse numbers of steps, by their names, that are not positive."""
    for name, count in steps.items():
        if count <= 0:
            raise ValueError(f"Argument `{name}` must be > 0. Received: {name}={count}")


def rate_of(x: Any) -> Tensor:
    """A step size as a tensor: numbers are of float32."""
    x = as_tensor(x)
    return x if x.dtype.is_floating else cast(x, float32)
