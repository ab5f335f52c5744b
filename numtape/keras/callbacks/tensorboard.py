"""`TensorBoard`: writes losses, metrics and histograms of weights for TensorBoard."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ...summary.tensorboard import import_writer
from .callback import Callback
from .monitor import rate


class TensorBoard(Callback):
    """Writes losses, metrics and histograms of weights as TensorBoard event files.

    The package tensorboardX writes the files, into the folders ``train`` and ``validation``.
    Names are Keras's: ``epoch_loss``, ``batch_loss``, ``evaluation_loss_vs_iterations``,
    ``layer/kernel/histogram``.

    Args:
      log_dir: The folder.
      histogram_freq: The number of epochs between histograms of weights; 0 for none.
      write_graph: Not used: numtape has no graphs.
      write_images: Must be False.
      write_steps_per_second: Whether to write the number of training steps per second.
      update_freq: "epoch", or the number of batches between writes; "batch" is 1.
      profile_batch: Must be 0.
      embeddings_freq: Must be 0.
      embeddings_metadata: Must be None.

    Raises:
      ImportError: If tensorboardX is not installed.
      NotImplementedError: If images, profiles or embeddings are requested.

    Example:
      >>> import importlib.util, tempfile
      >>> if importlib.util.find_spec("tensorboardX"):
      ...     callback = tf.keras.callbacks.TensorBoard(tempfile.mkdtemp(), histogram_freq=1)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: str | int = "epoch",
        profile_batch: object = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: object = None,
    ) -> None:
        for name, value in (
            ("write_images", write_images),
            ("profile_batch", profile_batch),
            ("embeddings_freq", embeddings_freq),
            ("embeddings_metadata", embeddings_metadata),
        ):
            if value:
                raise NotImplementedError(
                    f"numtape's TensorBoard does not support {name}={value!r}: it writes losses, "
                    "metrics and histograms of weights."
                )
        self._nt_class = import_writer("The TensorBoard callback")
        self.log_dir = os.fspath(log_dir)
        self.histogram_freq = histogram_freq
        self.write_graph = write_graph
        self.write_steps_per_second = write_steps_per_second
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._nt_writers: dict[str, Any] = {}
        self._nt_batches = 0
        self._nt_batch_begin = self._nt_epoch_begin = 0.0
        self._nt_steps_before = 0

    def _nt_writer(self, name: str) -> Any:
        """Return the writer of a folder; the first call creates its file."""
        if name not in self._nt_writers:
            self._nt_writers[name] = self._nt_class(str(Path(self.log_dir) / name))
        return self._nt_writers[name]

    def _nt_write(self, writer_name: str, values: dict[str, Any], pattern: str, step: int) -> None:
        for name, value in values.items():
            self._nt_writer(writer_name).add_scalar(pattern.format(name), value, step)

    def _nt_now(self) -> bool:
        """Whether to write this batch."""
        return not isinstance(self.update_freq, str) and self._nt_batches % self.update_freq == 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Reset the batch count."""
        self._nt_batches = 0

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Count the batch."""
        self._nt_batches += 1
        self._nt_batch_begin = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Write the batch's losses and metrics."""
        if self._nt_now():
            if self.write_steps_per_second:
                speed = 1.0 / max(time.perf_counter() - self._nt_batch_begin, 1e-9)
                self._nt_write("train", {"steps_per_second": speed}, "batch_{}", self._nt_batches)
            self._nt_write("train", logs or {}, "batch_{}", self._nt_batches)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Store the start time."""
        if self.write_steps_per_second:
            self._nt_steps_before = int(np.asarray(self.model.optimizer.iterations))
            self._nt_epoch_begin = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Write the epoch's losses and metrics, and histograms of weights."""
        logs = logs or {}
        train = {name: value for name, value in logs.items() if not name.startswith("val_")}
        optimizer = getattr(self.model, "optimizer", None)
        if logs and optimizer is not None:
            train["learning_rate"] = rate(optimizer)
            if self.write_steps_per_second:
                steps = int(np.asarray(optimizer.iterations)) - self._nt_steps_before
                seconds = max(time.perf_counter() - self._nt_epoch_begin, 1e-9)
                train["steps_per_second"] = steps / seconds
        self._nt_write("train", train, "epoch_{}", epoch)
        validation = {name[4:]: value for name, value in logs.items() if name.startswith("val_")}
        self._nt_write("validation", validation, "epoch_{}", epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            for layer in self.model.layers:
                for weight in layer.weights:
                    name = f"{layer.name}/{weight.name.replace(':', '_')}/histogram"
                    self._nt_writer("train").add_histogram(name, weight.numpy(), epoch)
        for writer in self._nt_writers.values():
            writer.flush()

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Write the losses and metrics of an evaluation against training steps."""
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None and hasattr(optimizer, "iterations"):
            step = int(np.asarray(optimizer.iterations))
            self._nt_write("validation", logs or {}, "evaluation_{}_vs_iterations", step)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Close the files; the next training opens new ones."""
        for writer in self._nt_writers.values():
            writer.close()
        self._nt_writers.clear()
