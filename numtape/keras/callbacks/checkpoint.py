"""`ModelCheckpoint`: saves the model or its weights during training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ...compat.traceback_filter import warn
from .monitor import MonitorCallback, say


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
        save, best = self._nt_asked(epoch, logs, path)
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

    def _nt_asked(self, epoch: int, logs: dict[str, Any], path: str) -> tuple[bool, Any]:
        """Return whether to save the model, and the best value after that."""
        begin = f"\nEpoch {epoch + 1}:"
        if not self.save_best_only:
            if self.verbose > 0:
                say(f"{begin} saving model to {path}")
            return True, self.best
        current = logs.get(self.monitor)
        if current is None:
            warn(f"Can save best model only with {self.monitor} available.")
            return True, self.best
        if np.ndim(current):
            warn(
                "Can save best model only when `monitor` is a scalar value. Received: "
                f"{current}. Falling back to `save_best_only=False`."
            )
            return True, self.best
        before = "None" if self.best is None else f"{self.best:.5f}"
        better = self._nt_is_improvement(current, self.best)
        if self.verbose > 0 and better:
            say(
                f"{begin} {self.monitor} improved from {before} to {current:.5f}, saving model to "
                f"{path}"
            )
        elif self.verbose > 0:
            say(f"{begin} {self.monitor} did not improve from {before}")
        return better, current

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
