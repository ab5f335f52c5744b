"""`EarlyStopping`, and `MonitorCallback`, the base of callbacks that monitor a metric."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from ...compat.traceback_filter import warn
from .callback import Callback


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

    def _nt_is_improvement(self, value: Any, reference: Any) -> bool:
        if self.monitor_op is None:  # the model's metrics exist only after the first batch
            self._nt_set_monitor_op()
        if reference is None:
            return True
        assert self.monitor_op is not None
        return bool(self.monitor_op(value - self.min_delta, reference))


def _direction(model: Any, name: str) -> str | None:
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
        current = self._nt_current(logs or {})
        if current is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self._nt_is_improvement(current, self.best):
            self.best, self.best_epoch = current, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._nt_is_improvement(current, self.baseline):
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
