"""Callbacks that change the learning rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compat.traceback_filter import warn
from .callback import Callback
from .monitor import MonitorCallback, say


def rate(optimizer: Any) -> float:
    """Return an optimizer's learning rate."""
    if not hasattr(optimizer, "learning_rate"):
        raise ValueError('Optimizer must have a "learning_rate" attribute.')
    return float(np.asarray(optimizer.learning_rate))


class LearningRateScheduler(Callback):
    """Sets the learning rate at the start of each epoch.

    Args:
      schedule: A function ``(epoch, learning_rate) -> new learning rate``, or of the epoch alone.
        Epochs count from 0.
      verbose: 1 to print a message.

    Raises:
      ValueError: During training, if ``schedule`` does not return a float.

    Example:
      >>> schedule = tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2.0)
      >>> class Model:
      ...     optimizer = tf.keras.optimizers.SGD(1.0)
      >>> schedule.set_model(Model())
      >>> schedule.on_epoch_begin(0)
      >>> schedule.model.optimizer.learning_rate.numpy()
      np.float32(0.5)
    """

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        self.schedule = schedule
        self.verbose = verbose

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Set the learning rate."""
        optimizer = self.model.optimizer
        before = rate(optimizer)
        try:
            value = self.schedule(epoch, before)
        except TypeError:  # a function of the epoch alone
            value = self.schedule(epoch)
        if not isinstance(value, float | np.float32 | np.float64):
            raise ValueError(
                f"The output of the `schedule` function should be a float. Got: {value}"
            )
        optimizer.learning_rate = value
        if self.verbose > 0:
            say(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {value}.")

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Add the learning rate to the logs."""
        if logs is not None:
            logs["learning_rate"] = rate(self.model.optimizer)


class ReduceLROnPlateau(MonitorCallback):
    """Reduces the learning rate when a monitored loss or metric has stopped improving.

    Args:
      monitor: The name of the loss or metric.
      factor: The factor that reduces the learning rate; less than 1.
      patience: The number of epochs without improvement before a reduction.
      verbose: 1 to print a message.
      mode: "min" if smaller is better, "max" if larger is, "auto" to infer it from the metric.
      min_delta: The minimum change that counts as an improvement.
      cooldown: The number of epochs to wait after a reduction.
      min_lr: The lower bound of the learning rate.
      kwargs: Not used.

    Raises:
      ValueError: If ``factor`` is not less than 1.

    Example:
      >>> reduce = tf.keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1)
      >>> class Model:
      ...     optimizer = tf.keras.optimizers.SGD(1.0)
      >>> reduce.set_model(Model())
      >>> reduce.on_train_begin()
      >>> for epoch, loss in enumerate([2.0, 1.0, 1.0, 0.5]):
      ...     reduce.on_epoch_end(epoch, {"loss": loss})
      >>> reduce.model.optimizer.learning_rate.numpy()
      np.float32(0.5)
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(monitor, mode, min_delta=min_delta)
        if factor >= 1.0:
            raise ValueError(
                f"ReduceLROnPlateau does not support a factor >= 1.0. Received factor={factor}"
            )
        self.factor = factor
        self.min_lr = min_lr
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.cooldown_counter = 0
        self.wait = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Reset the state of an earlier training."""
        self.best = None
        self.cooldown_counter = 0
        self.wait = 0

    def in_cooldown(self) -> bool:
        """Whether the callback is waiting after a reduction.

        Returns:
          A bool.
        """
        return self.cooldown_counter > 0

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Check for improvement, and add the learning rate to the logs."""
        if self.monitor_op is None:
            self._nt_set_monitor_op()
        logs = {} if logs is None else logs
        logs["learning_rate"] = rate(self.model.optimizer)
        current = logs.get(self.monitor)
        if current is None:
            warn(
                f"Learning rate reduction is conditioned on metric `{self.monitor}` which is not "
                f"available. Available metrics are: {','.join(logs)}."
            )
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._nt_is_improvement(current, self.best):
            self.best = current
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and self._nt_reduce(epoch):
                self.cooldown_counter = self.cooldown
                self.wait = 0

    def _nt_reduce(self, epoch: int) -> bool:
        """Reduce the learning rate; return False if it is at ``min_lr`` already."""
        before = rate(self.model.optimizer)
        if before <= np.float32(self.min_lr):
            return False
        value = max(before * self.factor, self.min_lr)
        self.model.optimizer.learning_rate = value
        if self.verbose > 0:
            say(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {value}.")
        return True
