"""`CheckpointOptions`: options for saving checkpoints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import UnimplementedError


class CheckpointOptions:
    """Options for `Checkpoint.save`, `Checkpoint.write` and `CheckpointManager.save`.

    Args:
      experimental_io_device: Not used.
      experimental_enable_async_checkpoint: Not used: saves are synchronous.
      experimental_write_callbacks: Functions that are called after a file was written, without an
        argument or with the file's name.
      enable_async: Not used: saves are synchronous.
      experimental_sharding_callback: None: a checkpoint is one file.
      experimental_skip_slot_variables: False: an optimizer's variables are restored with it.

    Raises:
      AssertionError: If a callback takes more than one argument.
      UnimplementedError: If sharding is asked for, or that slot variables are left out.

    Example:
      >>> import os, tempfile
      >>> names = []
      >>> options = tf.train.CheckpointOptions(experimental_write_callbacks=[names.append])
      >>> checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
      >>> path = checkpoint.save(tempfile.mkdtemp() + "/ckpt", options)
      >>> [os.path.basename(name) for name in names]
      ['ckpt-1']
    """

    def __init__(
        self,
        experimental_io_device: str | None = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Sequence[Callable[..., Any]] | None = None,
        enable_async: bool = False,
        experimental_sharding_callback: object = None,
        experimental_skip_slot_variables: bool = False,
    ) -> None:
        if experimental_sharding_callback is not None:
            raise UnimplementedError(
                "experimental_sharding_callback is not supported: a checkpoint is one file."
            )
        if experimental_skip_slot_variables:
            raise UnimplementedError(
                "experimental_skip_slot_variables is not supported: restore a checkpoint of the "
                "model without its optimizer."
            )
        self.experimental_io_device = experimental_io_device
        self.enable_async = bool(experimental_enable_async_checkpoint or enable_async)
        self.experimental_enable_async_checkpoint = self.enable_async
        self.experimental_write_callbacks = experimental_write_callbacks and list(
            experimental_write_callbacks
        )
        self.experimental_sharding_callback = None
        self.experimental_skip_slot_variables = False
        for callback in experimental_write_callbacks or ():
            _parameter_count(callback)

    def __copy__(self) -> CheckpointOptions:
        copied = CheckpointOptions()
        vars(copied).update(vars(self))
        if self.experimental_write_callbacks is not None:
            copied.experimental_write_callbacks = list(self.experimental_write_callbacks)
        return copied


def _parameter_count(callback: Callable[..., Any]) -> int:
    """The number of arguments of a callback, 0 or 1."""
    try:
        parameters = inspect.signature(callback).parameters.values()
    except ValueError:  # of C code
        return 1
    count = sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        for p in parameters
    )
    if count > 1:
        raise AssertionError(
            f"Callback functions for checkpoint are required to have 0 or 1 parameters, but this "
            f"has {count} parameters: {callback}"
        )
    return count or int(any(p.kind is p.VAR_POSITIONAL for p in parameters))


def run_callbacks(options: object, path: str) -> None:
    """Call the functions of the options, after a file was written.

    Raises:
      TypeError: If ``options`` are none.
    """
    if options is None:
        return
    if not isinstance(options, CheckpointOptions):
        raise TypeError(f"options must be tf.train.CheckpointOptions, got {options!r}.")
    for callback in options.experimental_write_callbacks or ():
        callback(*[path] * _parameter_count(callback))
