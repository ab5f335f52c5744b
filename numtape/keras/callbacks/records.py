"""`CSVLogger` and `TerminateOnNaN`."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .callback import Callback
from .monitor import say


class TerminateOnNaN(Callback):
    """Stops training when the loss is NaN or infinite.

    Args:
      raise_error: Whether to raise a RuntimeError instead.

    Raises:
      RuntimeError: During training, if ``raise_error`` is True.

    Example:
      >>> class Model:
      ...     stop_training = False
      >>> callback = tf.keras.callbacks.TerminateOnNaN()
      >>> callback.set_model(Model())
      >>> callback.on_batch_end(7, {"loss": float("nan")})
      Batch 7: Invalid loss, terminating training
      >>> callback.model.stop_training
      True
    """

    def __init__(self, raise_error: bool = False) -> None:
        self.raise_error = raise_error

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Check the loss."""
        loss = (logs or {}).get("loss")
        if loss is None or math.isfinite(loss):
            return
        if self.raise_error:
            raise RuntimeError(
                f"NaN or Inf loss encountered at batch {batch}. Loss value: {loss}. Terminating "
                "training immediately."
            )
        say(f"Batch {batch}: Invalid loss, terminating training")
        self.model.stop_training = True


def _show(value: object) -> Any:
    """Format a value for the file; arrays and iterables become a quoted list."""
    is_scalar = isinstance(value, str) or (isinstance(value, np.ndarray) and not value.ndim)
    if is_scalar or not isinstance(value, Iterable):
        return value
    return f'"[{", ".join(map(str, value))}]"'


class CSVLogger(Callback):
    """Writes the losses and metrics of each epoch to a CSV file, one line per epoch.

    The file is opened and closed for each line, so a line is on disk when its epoch ends.

    Args:
      filename: The file.
      separator: The separator between values.
      append: Whether to append to an existing file instead of overwriting it.

    Example:
      >>> import pathlib, tempfile
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "training.csv"
      >>> log = tf.keras.callbacks.CSVLogger(path)
      >>> log.on_train_begin()
      >>> log.on_epoch_end(0, {"loss": 0.5, "val_loss": 0.75})
      >>> print(path.read_text())
      epoch,loss,val_loss
      0,0.5,0.75
    """

    def __init__(
        self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False
    ) -> None:
        self.filename = os.fspath(filename)
        self.sep = separator
        self.append = append
        self.keys: list[str] | None = None
        self.append_header = True

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Create the file, or check whether an existing one has a header."""
        path = Path(self.filename)
        self.keys = None
        if self.append:
            self.append_header = not (path.exists() and path.stat().st_size)
        with path.open("a" if self.append else "w"):
            pass  # fail now, not after an epoch, if the file cannot be written

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Write a line."""
        logs = logs or {}
        is_first_epoch = self.keys is None
        if self.keys is None:
            self.keys = sorted(logs)
            if not any(key.startswith("val_") for key in self.keys):
                self.keys.extend([f"val_{key}" for key in self.keys])
        with Path(self.filename).open("a", newline="") as file:
            writer = csv.writer(file, delimiter=self.sep)
            if is_first_epoch and self.append_header:
                writer.writerow(["epoch", *self.keys])
            writer.writerow([epoch, *(_show(logs.get(key, "NA")) for key in self.keys)])
