"""Read checkpoints without the program that wrote them. Start with `load_checkpoint`."""

from __future__ import annotations

import os
from typing import Any

from ..core.values.dtypes import DType, as_dtype
from ..errors import DataLossError, NotFoundError, UnimplementedError
from .arrays import SUFFIX, read, unpack
from .parts import check_nodes
from .state import latest_checkpoint


def read_checkpoint(path: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the graph and the arrays of a checkpoint.

    Args:
      path: The checkpoint's name, with or without the file's ending.

    Raises:
      NotFoundError: If the file does not exist.
      DataLossError: If the file is truncated or changed, or not a checkpoint.
      UnimplementedError: If TensorFlow wrote it.
    """
    full = path if path.endswith(SUFFIX) else path + SUFFIX
    if not os.path.exists(full) and os.path.exists(f"{path}.index"):
        raise UnimplementedError(
            f"{path} is a checkpoint that TensorFlow wrote (it has a file {path}.index), which "
            f"numtape cannot read. In TensorFlow, save the values with "
            f"np.savez(name, *model.get_weights()), and pass them to `set_weights`."
        )
    try:
        content = read(full)
    except NotFoundError:
        raise NotFoundError(
            f"Error when restoring from checkpoint at {path}: Failed to find any matching files "
            f"for {path}\nPlease double-check that the path is correct. You may be missing the "
            f"checkpoint suffix (e.g. the '-1' in 'path/to/ckpt-1')."
        ) from None
    arrays, description = unpack(content, full)
    if not isinstance(description, dict) or "checkpoint" not in description:
        raise DataLossError(f"{full} is a weights file of a model, not a checkpoint.")
    return check_nodes(description["checkpoint"], arrays, full), arrays


class CheckpointReader:
    """The arrays of a checkpoint, by name.

    Args:
      path: The checkpoint's name.
    """

    def __init__(self, path: str) -> None:
        _, self._arrays = read_checkpoint(path)

    def get_tensor(self, tensor_str: str) -> Any:
        """Return an array by name.

        Args:
          tensor_str: The array's name.

        Returns:
          A NumPy array, or a NumPy scalar.

        Raises:
          NotFoundError: If there is no array of this name.
        """
        if tensor_str not in self._arrays:
            raise NotFoundError(f"Key {tensor_str} not found in checkpoint")
        array = self._arrays[tensor_str]
        return array.copy() if array.ndim else array[()]

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is an array of this name."""
        return tensor_str in self._arrays

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shapes by name."""
        return {name: list(x.shape) for name, x in self._arrays.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return the dtypes by name."""
        return {name: as_dtype(x.dtype) for name, x in self._arrays.items()}

    def debug_string(self) -> bytes:
        """Return a line for each array: name, dtype and shape."""
        lines = (f"{k} ({x.dtype.name}) {list(x.shape)}" for k, x in sorted(self._arrays.items()))
        return "\n".join(lines).encode()


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Open a checkpoint to read its arrays by name.

    Args:
      ckpt_dir_or_file: A checkpoint's name, or a folder, for its latest checkpoint.

    Returns:
      A reader, with ``get_tensor`` and ``get_variable_to_shape_map``.

    Raises:
      NotFoundError: If the checkpoint does not exist.
      DataLossError: If the file is truncated or changed.

    Example:
      >>> import tempfile
      >>> path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tempfile.mkdtemp() + "/v")
      >>> tf.train.load_checkpoint(path).get_variable_to_shape_map()
      {'v/.ATTRIBUTES/VARIABLE_VALUE': [2]}
    """
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        latest_path = latest_checkpoint(path)
        if latest_path is None:
            raise NotFoundError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = latest_path
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Return the names and shapes of a checkpoint's arrays.

    Args:
      ckpt_dir_or_file: A checkpoint's name, or a folder, for its latest checkpoint.

    Returns:
      A sorted list of pairs.

    Raises:
      NotFoundError: If the checkpoint does not exist.
      DataLossError: If the file is truncated or changed.

    Example:
      >>> import tempfile
      >>> path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tempfile.mkdtemp() + "/v")
      >>> tf.train.list_variables(path)
      [('v/.ATTRIBUTES/VARIABLE_VALUE', [2])]
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """Return an array of a checkpoint.

    Args:
      ckpt_dir_or_file: A checkpoint's name, or a folder, for its latest checkpoint.
      name: The array's name, as `list_variables` returns it.

    Returns:
      A NumPy array, or a NumPy scalar.

    Raises:
      NotFoundError: If the checkpoint or the array does not exist.
      DataLossError: If the file is truncated or changed.

    Example:
      >>> import tempfile
      >>> path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tempfile.mkdtemp() + "/v")
      >>> tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE")
      array([1., 2.], dtype=float32)
    """
    name = name.removesuffix(":0")
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
