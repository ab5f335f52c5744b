"""`BackupAndRestore`, which resumes an interrupted training, and `SwapEMAWeights`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ...core.log.variable import assign_all, original
from ...errors import DataLossError
from ...train.arrays import write
from .callback import Callback


class BackupAndRestore(Callback):
    """Saves the state of the training, and continues an interrupted one at the next `fit`.

    A `fit` that finds a backup loads the weights and the optimizer's state, and begins with the
    epoch that was interrupted. The model must be built.

    Args:
      backup_dir: The folder of the backup. No other program or callback may write to it.
      save_freq: "epoch", or a number of batches.
      double_checkpoint: Whether to keep the backup before the last one, for the case that the last
        one is damaged.
      delete_checkpoint: Whether to delete the folder when the training ends.

    Raises:
      ValueError: If ``backup_dir`` is empty or ``save_freq`` invalid; during training, if the model
        is not built.

    Example:
      >>> import tempfile
      >>> model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
      >>> model.compile("sgd", "mse")
      >>> class Interrupt(tf.keras.callbacks.Callback):
      ...     def on_epoch_begin(self, epoch, logs=None):
      ...         if epoch == 2:
      ...             raise RuntimeError("power failure")
      >>> x, folder = np.ones((2, 1), np.float32), tempfile.mkdtemp()
      >>> def fit(*callbacks):
      ...     backup = tf.keras.callbacks.BackupAndRestore(folder)
      ...     return model.fit(x, x, epochs=3, verbose=0, callbacks=[backup, *callbacks])
      >>> try:
      ...     fit(Interrupt())
      ... except RuntimeError as error:
      ...     print(error)
      power failure
      >>> fit().epoch
      [2]
    """

    def __init__(
        self,
        backup_dir: str | os.PathLike[str],
        save_freq: str | int = "epoch",
        double_checkpoint: bool = False,
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        if not backup_dir:
            raise ValueError("Empty `backup_dir` argument passed")
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(
                f"Invalid value for argument `save_freq`. Received: save_freq={save_freq}. "
                f"Expected either 'epoch' or an integer value."
            )
        self.backup_dir = os.fspath(backup_dir)
        self.save_freq = save_freq
        self.double_checkpoint = double_checkpoint
        self.delete_checkpoint = delete_checkpoint
        self._nt_files = [
            Path(self.backup_dir, name) for name in ("latest.weights.h5", "training_metadata.json")
        ]
        self._nt_batches = 0  # since the last backup
        self._nt_last_batch_seen = 0
        self._nt_current_epoch = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Restore the backup, if there is one."""
        if not self.model.built:
            raise ValueError(
                f"To use the BackupAndRestore callback, you model must be built before you call "
                f"`fit()`. Model {self.model} is unbuilt. You can build it beforehand by calling "
                f"it on a batch of data."
            )
        try:
            self._nt_restore()
        except (DataLossError, OSError):
            previous = [_previous(path) for path in self._nt_files]
            if not previous[0].exists():
                raise
            for path, copy in zip(self._nt_files, previous, strict=True):
                if copy.exists():
                    shutil.copy(copy, path)
                else:
                    path.unlink(missing_ok=True)
            self._nt_restore()

    def _nt_restore(self) -> None:
        weights, metadata = self._nt_files
        if weights.exists():
            optimizer = self.model.optimizer
            if optimizer is not None and not optimizer.built:
                optimizer.build(self.model.trainable_variables)
            self.model.load_weights(str(weights))
        if metadata.exists():
            self.model._nt_initial_epoch = json.loads(metadata.read_text())["epoch"]

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Save, if ``save_freq`` is "epoch"."""
        self._nt_current_epoch, self._nt_last_batch_seen = epoch + 1, 0
        if self.save_freq == "epoch":
            self._nt_save()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Save every ``save_freq`` batches."""
        if isinstance(self.save_freq, str):
            return
        is_new_epoch = batch <= self._nt_last_batch_seen
        self._nt_batches += batch + 1 if is_new_epoch else batch - self._nt_last_batch_seen
        self._nt_last_batch_seen = batch
        if self._nt_batches >= self.save_freq:
            self._nt_batches = 0
            self._nt_save()

    def _nt_save(self) -> None:
        weights, metadata = self._nt_files
        if self.double_checkpoint:
            for path in self._nt_files:
                if path.exists():
                    shutil.copy(path, _previous(path))
        self.model.save_weights(str(weights), overwrite=True)
        state = {"epoch": self._nt_current_epoch, "batch": self._nt_last_batch_seen}
        write(metadata, json.dumps(state).encode())

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Delete the backup, if ``delete_checkpoint``."""
        if self.delete_checkpoint:
            shutil.rmtree(self.backup_dir, ignore_errors=True)


def _previous(path: Path) -> Path:
    """The copy of a file of the backup before the last one."""
    return path.with_name(f"{path.name}.bkp")


class SwapEMAWeights(Callback):
    """Uses the moving averages of the weights for evaluation and prediction.

    The optimizer must have ``use_ema=True``. Weights and averages are swapped before an evaluation
    or prediction, and swapped back after it.

    Args:
      swap_on_epoch: Whether to swap at the end of each epoch too, so that callbacks such as
        `ModelCheckpoint`, which must come after this one, save the averages.

    Raises:
      ValueError: During training, if the optimizer has no moving averages.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
      >>> model.compile(tf.keras.optimizers.SGD(0.1, use_ema=True), "mse")
      >>> x = np.ones((2, 1), np.float32)
      >>> swap = tf.keras.callbacks.SwapEMAWeights()
      >>> history = model.fit(x, x, validation_data=(x, x), verbose=0, callbacks=[swap])
      >>> sorted(history.history)
      ['loss', 'val_loss']
    """

    def __init__(self, swap_on_epoch: bool = False) -> None:
        super().__init__()
        self.swap_on_epoch = swap_on_epoch
        self._nt_is_swapped = False

    def _nt_optimizers(self) -> list[Any]:
        optimizer = self.model.optimizer
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)
        parts = getattr(optimizer, "optimizers", [optimizer])
        averaging = [part for part in parts if getattr(part, "use_ema", False)]
        if not averaging:
            raise ValueError(
                "SwapEMAWeights must be used when `use_ema=True` is set on the optimizer. "
                f"Received: use_ema={getattr(optimizer, 'use_ema', False)}"
            )
        return averaging

    def _nt_swap(self, to: bool) -> None:
        if self._nt_is_swapped == to:
            return
        for optimizer in self._nt_optimizers():
            variables = [*map(original, optimizer._nt_trained)]
            averages = [*map(original, optimizer._nt_averages)]
            values = [v.read_value() for v in (*averages, *variables)]
            assign_all([*variables, *averages], values)
        self._nt_is_swapped = to

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Restore the weights, if ``swap_on_epoch``."""
        if self.swap_on_epoch:
            self._nt_swap(False)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Use the averages, if ``swap_on_epoch``."""
        if not self.swap_on_epoch or self._nt_is_swapped:
            return
        self._nt_swap(True)
        if epoch + 1 == (self.params or {}).get(
            "epochs"
        ):  # `fit` will set the weights to the averages
            for optimizer in self._nt_optimizers():
                values = [original(v).read_value() for v in optimizer._nt_trained]
                assign_all([*map(original, optimizer._nt_averages)], values)

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Use the averages."""
        self._nt_swap(True)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restore the weights."""
        self._nt_swap(False)

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Use the averages."""
        self._nt_swap(True)

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restore the weights."""
        self._nt_swap(False)
