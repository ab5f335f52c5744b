"""Writers of TensorBoard's event files, by the package tensorboardX, and the current writer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..core.log.log import local as log_state

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike


def import_writer(user: str) -> Any:
    """Return tensorboardX's class of writers.

    Raises:
      ImportError: If the package is missing, with the command that installs it.
    """
    try:
        from tensorboardX import SummaryWriter as Writer
    except ImportError as error:
        raise ImportError(
            f"{user} requires the package tensorboardX: pip install 'numtape[tensorboard]'"
        ) from error
    return Writer


class _State(threading.local):
    """The writer, the step and the condition of a thread."""

    def __init__(self) -> None:
        self.writer: SummaryWriter | None = None
        self.step: Any = None
        self.condition: Any = True


state = _State()


class SummaryWriter:
    """Writes summaries to a file of a folder; see `tf.summary.create_file_writer`.

    Args:
      logdir: The folder; None for a writer that writes nothing.
      max_queue: The number of summaries that are kept before a write.
      flush_millis: The longest time in milliseconds between writes.
      filename_suffix: The end of the file's name.

    Example:
      >>> tf.summary.create_noop_writer().logdir is None
      True
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None,
        max_queue: int | None = None,
        flush_millis: int | None = None,
        filename_suffix: str | None = None,
    ) -> None:
        self._logdir = None if logdir is None else os.fspath(logdir)
        self._is_closed = False
        self._writer: Any = None
        if self._logdir is not None:
            self._writer = import_writer("tf.summary.create_file_writer()")(
                self._logdir,
                max_queue=10 if max_queue is None else int(max_queue),
                flush_secs=120 if flush_millis is None else max(1, int(flush_millis) // 1000),
                filename_suffix=filename_suffix or "",
            )

    @property
    def logdir(self) -> str | None:
        """The folder."""
        return self._logdir

    @contextmanager
    def as_default(self, step: IntLike | None = None) -> Iterator[SummaryWriter]:
        """Let `tf.summary.scalar` and the like write here inside of a ``with`` block.

        Args:
          step: The step of the block's summaries; default: that of the code around it.

        Raises:
          RuntimeError: If the writer is closed.
        """
        self._check_open()
        previous = state.writer, state.step
        state.writer = self
        if step is not None:
            state.step = step
        try:
            yield self
            if not self._is_closed:
                self.flush()
        finally:
            state.writer, outer_step = previous
            if step is not None:
                state.step = outer_step

    def set_as_default(self, step: IntLike | None = None) -> None:
        """Let `tf.summary.scalar` and the like write here from now on, in this thread.

        Args:
          step: The step of the summaries; default: that which is set.

        Raises:
          RuntimeError: If the writer is closed.
        """
        self._check_open()
        log_state.log.refuse("it sets the writer of summaries")
        state.writer = self
        if step is not None:
            state.step = step

    def init(self) -> None:
        """Do nothing: the file is created with the writer."""

    def flush(self) -> None:
        """Write what is kept to the file."""
        if self._writer is not None and not self._is_closed:
            self._writer.flush()

    def close(self) -> None:
        """Write what is kept, and close the file."""
        if self._writer is not None and not self._is_closed:
            self._writer.close()
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError(f"The SummaryWriter of {self._logdir} is already closed.")

    def write(self, add: Callable[[Any], object]) -> bool:
        """Call a function with tensorboardX's writer. Return whether there is one."""
        self._check_open()
        if self._writer is None:
            return False
        add(self._writer)
        return True

    def __repr__(self) -> str:
        return f"<SummaryWriter logdir={self._logdir!r}>"
