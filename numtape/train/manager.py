"""`CheckpointManager`: keep the last few checkpoints in a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.log.log import local
from ..core.log.variable import Variable
from .arrays import SUFFIX
from .checkpoint import Checkpoint
from .options import run_callbacks
from .state import read_state, record_state

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike


class CheckpointManager:
    """Saves numbered checkpoints in a folder and deletes old ones.

    Args:
      checkpoint: The `Checkpoint` to save.
      directory: The folder.
      max_to_keep: The number of checkpoints to keep; None for all.
      keep_checkpoint_every_n_hours: A checkpoint due for deletion is kept for good if the last
        one kept for good is at least this many hours older.
      checkpoint_name: The prefix of the files' names.
      step_counter: A variable that counts steps, for ``checkpoint_interval``.
      checkpoint_interval: The minimum number of steps between saves.
      init_fn: A function that `restore_or_initialize` calls if there is no checkpoint.
      last_checkpoint_step: The step of the last save.

    Raises:
      ValueError: If ``max_to_keep`` is not positive, or ``step_counter`` is missing.
      DataLossError: If the folder's file ``checkpoint`` is damaged.
      UnimplementedError: If TensorFlow wrote the folder's checkpoints.

    Example:
      >>> import os, tempfile
      >>> checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
      >>> manager = tf.train.CheckpointManager(checkpoint, tempfile.mkdtemp(), max_to_keep=2)
      >>> for _ in range(3):
      ...     path = manager.save()
      >>> [os.path.basename(path) for path in manager.checkpoints]
      ['ckpt-2', 'ckpt-3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Variable | None = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._keep, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter, self._interval = step_counter, checkpoint_interval
        self._init_fn, self._last_step = init_fn, last_checkpoint_step
        self._times: dict[str, float] = {}  # of deletable checkpoints, oldest first
        self._latest: str | None = None
        self._preserved = time.time()
        state = read_state(self._directory)
        if state is not None:
            self._latest = state["latest"]
            if state["preserved"] is not None:
                self._preserved = state["preserved"]
            self._times = dict(zip(state["paths"], state["times"], strict=True))

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The `Checkpoint` to save."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The minimum number of steps between saves."""
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """The names of the managed checkpoints, oldest first."""
        return list(local.log.call_guarded(self._names))

    def _names(self) -> tuple[str, ...]:
        return tuple(self._times)

    @property
    def latest_checkpoint(self) -> str | None:
        """The name of the latest checkpoint; None before the first save."""
        latest: str | None = local.log.call_guarded(getattr, self, "_latest")
        return latest

    def save(
        self,
        checkpoint_number: IntLike | None = None,
        check_interval: bool = True,
        options: object = None,
    ) -> str | None:
        """Save a checkpoint, and delete old ones.

        Args:
          checkpoint_number: The number in the file's name; default: the number of saves.
          check_interval: Whether to skip the save before ``checkpoint_interval`` steps.
          options: `CheckpointOptions`.

        Returns:
          The checkpoint's name; None if nothing was saved.

        Raises:
          OSError: If the file cannot be written; nothing changes then.
        """
        local.log.refuse("it saves a checkpoint")
        if self._interval is not None and self._step_counter is not None:
            step = int(self._step_counter.numpy())
            if self._last_step is not None:
                min_steps = self._interval if check_interval else 1
                if step - self._last_step < min_steps:
                    return None
        number = None if checkpoint_number is None else int(checkpoint_number)
        path = self._checkpoint._write_numbered(self._prefix, number)
        if self._step_counter is not None:
            self._last_step = int(self._step_counter.numpy())
        self._times.pop(path, None)
        self._times[path] = time.time()
        self._latest = path
        self._record()  # before anything is deleted
        if self._sweep():
            self._record()
        run_callbacks(options, path)
        return path

    def _record(self) -> None:
        record_state(
            self._directory,
            self._latest or "",
            list(self._times),
            list(self._times.values()),
            self._preserved,
        )

    def _sweep(self) -> bool:
        """Delete excess checkpoints; return whether the list changed."""
        excess = 0 if self._keep is None else max(0, len(self._times) - self._keep)
        for path in list(self._times)[:excess]:
            saved_at = self._times.pop(path)
            if self._hours is not None and saved_at - self._hours * 3600 >= self._preserved:
                self._preserved = saved_at  # kept for good
            else:
                Path(path + SUFFIX).unlink(missing_ok=True)
        return excess > 0

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint, or call ``init_fn`` before the first save.

        Returns:
          The checkpoint's name, or None.

        Raises:
          DataLossError: If the file is truncated or changed.

        Example:
          >>> import tempfile
          >>> checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
          >>> manager = tf.train.CheckpointManager(checkpoint, tempfile.mkdtemp(), 2)
          >>> manager.restore_or_initialize() is None
          True
        """
        local.log.refuse("it restores a checkpoint")
        if self._latest is None:
            if self._init_fn is not None:
                self._init_fn()
            return None
        self._checkpoint.restore(self._latest)
        if self._step_counter is not None:
            self._last_step = int(self._step_counter.numpy())
        return self._latest

    def sync(self) -> None:
        """Do nothing: saves are synchronous."""
