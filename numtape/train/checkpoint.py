"""`Checkpoint`: save and restore the variables of objects."""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.log.variable import Variable
from ..core.values.dtypes import int64, repr_of
from ..deferred_restore import notify_changed
from .arrays import SUFFIX, pack, write
from .options import run_callbacks
from .parts import ObjectGraph, alternative_names, is_trackable, parts
from .reading import read_checkpoint
from .restoring import CheckpointLoadStatus, InitializationOnlyStatus, Restoration
from .state import record_state


class Checkpoint:
    """Saves and restores the variables of objects together.

    A checkpoint stores the object graph: a variable is identified by the attributes, keys and
    indices that lead to it, not by its name, and is saved once. Objects are `Variable`, `Module`,
    Keras's layers, models, metrics and optimizers, `random.Generator`, iterators of datasets (with
    their positions), and lists and dicts of them. Files are written atomically.

    Variables created after `restore` (those of a layer at its first call, or of an optimizer at
    its first step) are restored when they are created.

    Args:
      root: An object whose parts are saved as if they were passed by name; or a weak reference
        to one.
      **kwargs: Objects by name. They become attributes; attributes set later are saved too.

    Raises:
      ValueError: If an argument is not such an object.

    Example:
      >>> import tempfile
      >>> step, weight = tf.Variable(7), tf.Variable([1.0, 2.0])
      >>> checkpoint = tf.train.Checkpoint(step=step, weights=[weight])
      >>> path = checkpoint.save(tempfile.mkdtemp() + "/ckpt")
      >>> _ = step.assign(0)
      >>> _ = checkpoint.restore(path).assert_consumed()
      >>> step.numpy()
      np.int32(7)
    """

    _root_or_ref: Any = None
    _save_counter: Variable | None = None

    def __init__(self, root: object = None, **kwargs: object) -> None:
        target = root() if isinstance(root, weakref.ref) else root
        roots = kwargs if target is None else {"root": target, **kwargs}
        for name, value in roots.items():
            if not (is_trackable(value) or _holds_trackables(value)):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object (an object "
                    f"derived from `Trackable`), got {repr_of(value)}. Variables, modules, layers, "
                    f"models, metrics, optimizers and random generators are, and lists and dicts "
                    f"of them."
                )
        vars(self)["_root_or_ref"] = root
        vars(self).update(kwargs)

    @property
    def _root(self) -> Any:
        root = self._root_or_ref
        return root() if isinstance(root, weakref.ref) else root

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        notify_changed(self)

    def _nt_saved_parts(self) -> dict[str, Any]:
        saved_parts: dict[str, Any] = {} if self._root is None else dict(parts(self._root))
        saved_parts.update((k, x) for k, x in vars(self).items() if not k.startswith("_"))
        if self._save_counter is not None:
            saved_parts["save_counter"] = self._save_counter
        return saved_parts

    def _nt_saved_names(self, number: Callable[[Variable], int | None]) -> dict[str, str]:
        """The names of the root's parts, which are also parts of the checkpoint."""
        return alternative_names(self._root, number)

    @property
    def save_counter(self) -> Variable:
        """The number of calls of `save`: an int64 variable, which is saved too.

        Example:
          >>> tf.train.Checkpoint().save_counter.numpy()
          np.int64(0)
        """
        if self._save_counter is None:
            self._save_counter = Variable(0, trainable=False, name="save_counter", dtype=int64)
        return self._save_counter

    def write(self, file_prefix: str | os.PathLike[str], options: object = None) -> str:
        """Write the values to a file.

        Args:
          file_prefix: The path, without the ending ``.safetensors``.
          options: `CheckpointOptions`.

        Returns:
          The name to pass to `read`.

        Raises:
          OSError: If the file cannot be written; an existing file is kept then.
          UnimplementedError: If an iterator's buffers hold elements that cannot be stored.

        Example:
          >>> import tempfile
          >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tempfile.mkdtemp() + "/v")
          >>> [name for name, shape in tf.train.list_variables(path)]
          ['v/.ATTRIBUTES/VARIABLE_VALUE']
        """
        graph = ObjectGraph(self)
        arrays = {key: v._current_tensor()._array() for key, v in graph.variables.items()}
        for key, iterator in graph.iterators.items():
            arrays[key] = np.frombuffer(iterator._nt_position(), np.uint8)
        path = os.fspath(file_prefix)
        write(path + SUFFIX, pack(arrays, {"checkpoint": graph.nodes}))
        run_callbacks(options, path)
        return path

    def save(self, file_prefix: str | os.PathLike[str], options: object = None) -> str:
        """Write the values to a new, numbered file, and record it as the folder's latest.

        Args:
          file_prefix: The prefix of the path; a number is appended: ``ckpt-1``.
          options: `CheckpointOptions`.

        Returns:
          The name to pass to `restore`.

        Raises:
          OSError: If the file cannot be written; nothing changes then.

        Example:
          >>> import os, tempfile
          >>> folder = tempfile.mkdtemp()
          >>> checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
          >>> os.path.basename(checkpoint.save(folder + "/ckpt"))
          'ckpt-1'
          >>> sorted(os.listdir(folder))
          ['checkpoint', 'ckpt-1.safetensors']
        """
        path = self._write_numbered(os.fspath(file_prefix))
        record_state(os.path.dirname(path), path, [path], [time.time()], None)
        run_callbacks(options, path)
        return path

    def _write_numbered(self, prefix: str, number: int | None = None) -> str:
        """Increment the save counter, and write a file named with it or with ``number``."""
        counter = self.save_counter
        previous_number = counter.read_value()
        counter.assign_add(1)
        try:
            return self.write(f"{prefix}-{int(counter.numpy()) if number is None else number}")
        except BaseException:
            counter.assign(previous_number)
            raise

    def read(
        self, save_path: str | os.PathLike[str], options: object = None
    ) -> CheckpointLoadStatus:
        """Restore the variables from a file written by `write`; on an error, none changes.

        Args:
          save_path: The name that `write` returned.
          options: Not used; accepted for compatibility with TensorFlow.

        Returns:
          A status, whose ``assert_consumed`` checks that nothing is missing.

        Raises:
          NotFoundError: If the file does not exist.
          DataLossError: If the file is truncated or changed, or not a checkpoint of numtape.
          UnimplementedError: If TensorFlow wrote it.
          ValueError: If a variable has another shape.
          InvalidArgumentError: If a variable has another dtype.

        Example:
          >>> import tempfile
          >>> v = tf.Variable(1.0)
          >>> path = tf.train.Checkpoint(v=v).write(tempfile.mkdtemp() + "/v")
          >>> _ = v.assign(5.0)
          >>> status = tf.train.Checkpoint(v=v).read(path)
          >>> v.numpy()
          np.float32(1.0)
        """
        path = os.fspath(save_path)
        nodes, arrays = read_checkpoint(path)
        if "save_counter" in nodes[0]:
            _ = self.save_counter
        restoration = Restoration(path, nodes, arrays)
        restoration.begin([self] if self._root is None else [self, self._root])
        return CheckpointLoadStatus(restoration, self)

    def restore(self, save_path: str | os.PathLike[str] | None, options: object = None) -> Any:
        """Restore the variables from a file written by `save`; on an error, none changes.

        Args:
          save_path: The name that `save` or `latest_checkpoint` returned; None restores nothing.
          options: Not used; accepted for compatibility with TensorFlow.

        Returns:
          A status, whose ``assert_consumed`` checks that nothing is missing.

        Raises:
          NotFoundError: If the file does not exist.
          DataLossError: If the file is truncated or changed, or not a checkpoint of numtape.
          UnimplementedError: If TensorFlow wrote it.
          ValueError: If a variable has another shape.
          InvalidArgumentError: If a variable has another dtype.

        Example:
          >>> checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
          >>> type(checkpoint.restore(tf.train.latest_checkpoint("nowhere"))).__name__
          'InitializationOnlyStatus'
        """
        return InitializationOnlyStatus() if save_path is None else self.read(save_path)

    def sync(self) -> None:
        """Do nothing: saves are synchronous."""

    def __repr__(self) -> str:
        return f"<Checkpoint of {json.dumps(sorted(parts(self)))}>"


def _holds_trackables(value: Any) -> bool:
    """Whether ``value`` is a (nested) list, tuple or dict of trackable objects."""
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, list | tuple | dict) and all(
        is_trackable(x) or _holds_trackables(x) for x in items
    )
