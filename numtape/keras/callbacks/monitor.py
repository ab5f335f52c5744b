"""Callbacks that monitor a metric: early stopping, checkpoints, and learning rates."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compat.traceback_filter import warn
from .callback import Callback

if TYPE_CHECKING:
    from ...core.values.annotations import NumberLike


def say(text: str) -> None:
    """Write a line to stdout and flush it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class MonitorCallback(Callback):
    """Base class of callbacks that compare a monitored value with the best so far."""

    def __init__(
        self,
        monitor: str = "val_loss",
        mode: str = "auto",
        baseline: float | None = None,
        min_delta: float = 0,
    ) -> None:
        if mode not in ("auto", "min", "max"):
            warn(f"{type(self).__name__} mode '{mode}' is unknown, fallback to auto mode.")
            mode = "auto"
        self.monitor = monitor
        self.mode = mode
        self.best = baseline
        self.min_delta = abs(min_delta)
        self.monitor_op: Callable[[Any, Any], bool] | None = None

    def _nt_set_monitor_op(self) -> None:
        """Set ``monitor_op`` and the sign of ``min_delta`` from the mode."""
        if self.mode == "auto":
            name = self.monitor.removeprefix("val_")
            direction = "down" if name == "loss" else _direction(self.model, name)
            if direction is None:
                raise ValueError(
                    f"{type(self).__name__} callback received monitor={self.monitor}, but it isn't "
                    "known whether that metric should be maximized or minimized. Pass "
                    "`mode='max'` in order to monitor based on the highest metric value, or pass "
                    "`mode='min'` in order to use the lowest value."
                )
        else:
            direction = "up" if self.mode == "max" else "down"
        self.monitor_op = operator.gt if direction == "up" else operator.lt
        if direction == "down":
            self.min_delta *= -1

    def _nt_is_improvement(self, value: NumberLike, reference: NumberLike | None) -> bool:
        if self.monitor_op is None:  # the model's metrics exist only after the first batch
            self._nt_set_monitor_op()
        if reference is None:
            return True
        assert self.monitor_op is not None
        return bool(self.monitor_op(value - self.min_delta, reference))


def _direction(model: object, name: str) -> str | None:
    """Return "up" if a larger value of the metric is better, "down" if a smaller; else None."""
    for metric in getattr(model, "metrics", None) or []:
        for part in (metric, *(getattr(metric, "metrics", None) or [])):
            if getattr(part, "name", None) == name:
                result: str | None = getattr(part, "_direction", None)
                if result is not None:
                    return result
    return None


class EarlyStopping(MonitorCallback):
    """Stops training when a monitored loss or metric has stopped improving.

    Args:
      monitor: The name of the loss or metric.
      min_delta: The minimum change that counts as an improvement.
      patience: The number of epochs without improvement after which training stops.
      verbose: 1 to print a message.
      mode: "min" if smaller is better, "max" if larger is, "auto" to infer it from the metric.
      baseline: Only improvements that also beat this value reset the patience.
      restore_best_weights: Whether to restore the weights of the best epoch at the end.
      start_from_epoch: The first epoch to monitor.

    Attributes:
      best: The best value.
      best_epoch: The epoch of the best value.
      stopped_epoch: The epoch in which training stopped; 0 if it ran to the end.

    Raises:
      ValueError: At the end of the first epoch, if "auto" cannot infer the mode.

    Example:
      >>> stop = tf.keras.callbacks.EarlyStopping("loss", patience=2)
      >>> class Model:
      ...     stop_training = False
      >>> stop.set_model(Model())
      >>> stop.on_train_begin()
      >>> for epoch, loss in enumerate([3.0, 1.0, 2.0, 2.5]):
      ...     stop.on_epoch_end(epoch, {"loss": loss})
      >>> stop.model.stop_training, stop.best, stop.best_epoch, stop.stopped_epoch
      (True, 1.0, 1, 3)
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta=min_delta)
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.start_from_epoch = start_from_epoch
        self._nt_begin()

    def _nt_begin(self) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.best = None
        self.best_weights: Any = None
        self.best_epoch = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Reset the state of an earlier training."""
        self._nt_begin()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Check for improvement, and stop training when the patience is exhausted."""
        if self.monitor_op is None:
            self._nt_set_monitor_op()
        current_value = self._nt_current(logs or {})
        if current_value is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self._nt_is_improvement(current_value, self.best):
            self.best, self.best_epoch = current_value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._nt_is_improvement(current_value, self.baseline):
                self.wait = 0
        elif self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def _nt_current(self, logs: dict[str, Any]) -> Any:
        value = logs.get(self.monitor)
        if value is None:
            warn(
                f"Early stopping conditioned on metric `{self.monitor}` which is not available. "
                f"Available metrics are: {','.join(logs)}"
            )
        return value

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restore the best weights if ``restore_best_weights`` is set."""
        if self.stopped_epoch > 0 and self.verbose > 0:
            say(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose > 0:
                say(
                    "Restoring model weights from the end of the best epoch: "
                    f"{self.best_epoch + 1}."
                )
            self.model.set_weights(self.best_weights)


class ModelCheckpoint(MonitorCallback):
    """Saves the model or its weights after each epoch, or every ``save_freq`` batches.

    ``model.save`` and ``model.save_weights`` write atomically: a complete file or none.

    Args:
      filepath: The path, with optional fields: ``"{epoch:02d}-{loss:.2f}.keras"``.
      monitor: The loss or metric that decides which model is best.
      verbose: 1 to print a message.
      save_best_only: Whether to save only models that improve on the best so far.
      save_weights_only: Whether to save only the weights.
      mode: "min" if smaller is better, "max" if larger is, "auto" to infer it from the metric.
      save_freq: "epoch", or a number of batches.
      initial_value_threshold: The value that the first saved model must beat.

    Raises:
      ValueError: If ``save_freq`` is invalid; during training, if "auto" cannot infer the mode.
      KeyError: During training, if the logs lack a field of ``filepath``.

    Example:
      >>> checkpoint = tf.keras.callbacks.ModelCheckpoint("{epoch}.keras", "loss",
      ...                                                 save_best_only=True)
      >>> class Model:
      ...     def save(self, path, overwrite):
      ...         print("saved", path)
      >>> checkpoint.set_model(Model())
      >>> for epoch, loss in enumerate([2.0, 3.0, 1.0]):
      ...     checkpoint.on_epoch_end(epoch, {"loss": loss})
      saved 1.keras
      saved 3.keras
    """

    def __init__(
        self,
        filepath: str | os.PathLike[str],
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        initial_value_threshold: float | None = None,
    ) -> None:
        super().__init__(monitor, mode, initial_value_threshold)
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(
                f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer "
                "values"
            )
        self.filepath = os.fspath(filepath)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.save_freq = save_freq
        self._nt_current_epoch = 0
        self._nt_batches = 0  # since the last save
        self._nt_last_batch: int | None = None

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Store the epoch's index."""
        self._nt_current_epoch = epoch

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Save every ``save_freq`` batches."""
        if isinstance(self.save_freq, str):
            return
        is_new = self._nt_last_batch is None or batch <= self._nt_last_batch
        self._nt_batches += batch + 1 if is_new else batch - (self._nt_last_batch or 0)
        self._nt_last_batch = batch
        if self._nt_batches >= self.save_freq:
            self._nt_batches = 0
            self._nt_save(self._nt_current_epoch, batch, logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Save, if ``save_freq`` is "epoch"."""
        if self.save_freq == "epoch":
            self._nt_save(epoch, None, logs or {})

    def _nt_save(self, epoch: int, batch: int | None, logs: dict[str, Any]) -> None:
        path = self._nt_path(epoch, batch, logs)
        save, best = self._nt_decide(epoch, logs, path)
        if not save:
            return
        if Path(path).is_dir():
            raise OSError(
                "Please specify a non-directory filepath for ModelCheckpoint. Filepath used is an "
                f"existing directory: {path}"
            )
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)
        self.best = best  # only after a successful save
        if self.verbose > 0:
            say(f"\nEpoch {epoch + 1}: finished saving model to {path}")

    def _nt_decide(self, epoch: int, logs: dict[str, Any], path: str) -> tuple[bool, Any]:
        """Return whether to save the model, and the best value after that."""
        prefix = f"\nEpoch {epoch + 1}:"
        if not self.save_best_only:
            if self.verbose > 0:
                say(f"{prefix} saving model to {path}")
            return True, self.best
        current_value = logs.get(self.monitor)
        if current_value is None:
            warn(f"Can save best model only with {self.monitor} available.")
            return True, self.best
        if np.ndim(current_value):
            warn(
                "Can save best model only when `monitor` is a scalar value. Received: "
                f"{current_value}. Falling back to `save_best_only=False`."
            )
            return True, self.best
        best_text = "None" if self.best is None else f"{self.best:.5f}"
        is_improvement = self._nt_is_improvement(current_value, self.best)
        if self.verbose > 0 and is_improvement:
            say(
                f"{prefix} {self.monitor} improved from {best_text} to {current_value:.5f}, saving "
                f"model to {path}"
            )
        elif self.verbose > 0:
            say(f"{prefix} {self.monitor} did not improve from {best_text}")
        return is_improvement, current_value

    def _nt_path(self, epoch: int, batch: int | None, logs: dict[str, Any]) -> str:
        """Return the path with its fields filled in."""
        values = {"epoch": epoch + 1, **logs}
        if batch is not None and "batch" not in logs:
            values["batch"] = batch + 1
        try:
            return self.filepath.format(**values)
        except KeyError as error:
            raise KeyError(
                f'Failed to format this callback filepath: "{self.filepath}". Reason: {error}'
            ) from None


def rate(optimizer: object) -> float:
    """Return an optimizer's learning rate."""
    if not hasattr(optimizer, "learning_rate"):
        raise ValueError('Optimizer must have a "learning_rate" attribute.')
    return float(np.asarray(optimizer.learning_rate))


def optimizers_of(model: Any) -> list[Any]:
    """Return the optimizers that have a learning rate: those of a `MultiOptimizer`, or the one."""
    return getattr(model.optimizer, "optimizers", None) or [model.optimizer]


def log_rate(model: Any, logs: dict[str, Any]) -> None:
    """Add the learning rate to the logs, if all variables have the same optimizer."""
    optimizers = optimizers_of(model)
    if len(optimizers) == 1:
        logs["learning_rate"] = rate(optimizers[0])


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
        for optimizer in optimizers_of(self.model):
            previous_rate = rate(optimizer)
            try:
                value = self.schedule(epoch, previous_rate)
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
            log_rate(self.model, logs)


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
        **kwargs: object,
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
        log_rate(self.model, logs)
        current_value = logs.get(self.monitor)
        if current_value is None:
            warn(
                f"Learning rate reduction is conditioned on metric `{self.monitor}` which is not "
                f"available. Available metrics are: {','.join(logs)}."
            )
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._nt_is_improvement(current_value, self.best):
            self.best = current_value
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and self._nt_reduce(epoch):
                self.cooldown_counter = self.cooldown
                self.wait = 0

    def _nt_reduce(self, epoch: int) -> bool:
        """Reduce the learning rate; return False if it is at ``min_lr`` already."""
        is_reduced = False
        for optimizer in optimizers_of(self.model):
            previous_rate = rate(optimizer)
            if previous_rate <= np.float32(self.min_lr):
                continue
            value = max(previous_rate * self.factor, self.min_lr)
            optimizer.learning_rate = value
            is_reduced = True
            if self.verbose > 0:
                say(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {value}.")
        return is_reduced
