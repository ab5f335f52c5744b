"""`Checkpoint`: the values of variables in a file, and back."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

from ..core.log.variable import Variable
from ..core.values.dtypes import int64, repr_of
from ..data.pipeline import Iterator
from ..deferred_restore import notify_changed
from ..errors import UnimplementedError
from .arrays import SUFFIX, pack, write
from .parts import Graph, alternative_names, is_trackable, parts
from .reading import read_checkpoint
from .restoring import Restoration
from .state import record_state
from .statuses import CheckpointLoadStatus, InitializationOnlyStatus


class Checkpoint:
    """Things whose variables are saved and restored together.

    The saved values is the graph of parts: a variable is known by the names of the attributes, keys
    and numbers that lead to it, not by its own name, and is saved once. Things are `Variable`,
    `Module`, Keras's layers, models, metrics and optimizers, `random.Generator`, and lists and
    dicts of them. Each file is written whole or not at all.

    Variables that are made after `restore` (those of a layer at its first call, or of an optimizer
    at its first step) get their values when they are made.

    Args:
      root: A thing whose parts are saved as if they were given by name.
      **kwargs: Things by name. They become attributes, as do those that are set later.

    Raises:
      ValueError: If something has no variables.
      UnimplementedError: If it is an iterator of a dataset.

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

    _root: Any = None
    _save_counter: Variable | None = None

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        roots = kwargs if root is None else {"root": root, **kwargs}
        for name, value in roots.items():
            _check_stored(name, value)
            if not (is_trackable(value) or _holds(value)):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object (an object "
                    f"derived from `Trackable`), got {repr_of(value)}. Variables, modules, layers, "
                    f"models, metrics, optimizers and random generators are, and lists and dicts "
                    f"of them."
                )
        vars(self)["_root"] = root
        vars(self).update(kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        _check_stored(name, value)
        object.__setattr__(self, name, value)
        notify_changed(self)

    def _nt_saved_parts(self) -> dict[str, Any]:
        saved: dict[str, Any] = {} if self._root is None else dict(parts(self._root))
        saved.update((k, x) for k, x in vars(self).items() if not k.startswith("_"))
        if self._save_counter is not None:
            saved["save_counter"] = self._save_counter
        return saved

    def _nt_saved_names(self, number: Callable[[Variable], int | None]) -> dict[str, str]:
        """The root's parts are the checkpoint's, and so are their names."""
        return alternative_names(self._root, number)

    @property
    def save_counter(self) -> Variable:
        """How often `save` was called: an int64 variable, which is saved too.

        Example:
          >>> tf.train.Checkpoint().save_counter.numpy()
          np.int64(0)
        """
        if self._save_counter is None:
            self._save_counter = Variable(0, trainable=False, name="save_counter", dtype=int64)
        return self._save_counter

    def write(self, file_prefix: str | os.PathLike[str], options: Any = None) -> str:
        """Write the values into a file.

        Args:
          file_prefix: Its name, without the ending ``.safetensors``.
          options: Accepted for TensorFlow's sake.

        Returns:
          The name, which `read` takes.

        Raises:
          OSError: If it cannot be written; what was there before is there then.

        Example:
          >>> import tempfile
          >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tempfile.mkdtemp() + "/v")
          >>> [name for name, shape in tf.train.list_variables(path)]
          ['v/.ATTRIBUTES/VARIABLE_VALUE']
        """
        graph = Graph(self)
        arrays = {key: v._current_tensor()._array() for key, v in graph.variables.items()}
        path = os.fspath(file_prefix)
        write(path + SUFFIX, pack(arrays, {"checkpoint": graph.nodes}))
        return path

    def save(self, file_prefix: str | os.PathLike[str], options: Any = None) -> str:
        """Write the values into a new, numbered file, and note it as the folder's latest.

        Args:
          file_prefix: What its name begins with; a number follows: ``ckpt-1``.
          options: Accepted for TensorFlow's sake.

        Returns:
          The name, which `restore` takes.

        Raises:
          OSError: If it cannot be written; all is as before then.

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
        return path

    def _write_numbered(self, prefix: str, number: int | None = None) -> str:
        """Count, and write with that number, or with another one in the name."""
        counter = self.save_counter
        before = counter.read_value()
        counter.assign_add(1)
        try:
            return self.write(f"{prefix}-{int(counter.numpy()) if number is None else number}")
        except BaseException:
            counter.assign(before)
            raise

    def read(self, save_path: str | os.PathLike[str], options: Any = None) -> CheckpointLoadStatus:
        """Give the variables the values in a file that `write` wrote: all of them, or none.

        Args:
          save_path: The file's name, as `write` returned it.
          options: Accepted for TensorFlow's sake.

        Returns:
          A status, whose ``assert_consumed`` checks that nothing is missing.

        Raises:
          NotFoundError: If there is no such file.
          DataLossError: If it is cut or changed, or no checkpoint of numtape's.
          UnimplementedError: If it is one of TensorFlow's.
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

    def restore(self, save_path: str | os.PathLike[str] | None, options: Any = None) -> Any:
        """Give the variables the values in a file that `save` wrote: all of them, or none.

        Args:
          save_path: The file's name, as `save` or `latest_checkpoint` returned it; None for
            nothing.
          options: Accepted for TensorFlow's sake.

        Returns:
          A status, whose ``assert_consumed`` checks that nothing is missing.

        Raises:
          NotFoundError: If there is no such file.
          DataLossError: If it is cut or changed, or no checkpoint of numtape's.
          UnimplementedError: If it is one of TensorFlow's.
          ValueError: If a variable has another shape.
          InvalidArgumentError: If a variable has another dtype.

        Example:
          >>> checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
          >>> type(checkpoint.restore(tf.train.latest_checkpoint("nowhere"))).__name__
          'InitializationOnlyStatus'
        """
        return InitializationOnlyStatus() if save_path is None else self.read(save_path)

    def sync(self) -> None:
        """Nothing: what was written is on the disk."""

    def __repr__(self) -> str:
        return f"<Checkpoint of {json.dumps(sorted(parts(self)))}>"


def _check_stored(name: str, value: Any) -> None:
    """Refuse what TensorFlow stores, and numtape does not.

    Raises:
      UnimplementedError: If it is a dataset's iterator.
    """
    if isinstance(value, Iterator):
        raise UnimplementedError(
            f"{name} is an iterator of a dataset, and checkpoints do not store how far it has "
            f"come. Store the number of steps in a variable, and go on with "
            f"`iter(dataset.skip(step))`."
        )


def _holds(value: Any) -> bool:
    """Whether it is a list or dict of things with variables."""
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, list | tuple | dict) and all(
        is_trackable(x) or _holds(x) for x in items
    )
