"""Files as string tensors: reading, writing and finding them. A traced call runs as Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..core.log.string_tensor import (
    StringTensor,
    of_strings,
    run_as_python,
    to_bytes,
    to_string_array,
)
from .gfile import PathLike, glob, local_path, translate

if TYPE_CHECKING:
    from ..core.values.annotations import StringLike


def read_file(filename: PathLike | StringTensor, name: str | None = None) -> StringTensor:
    """Return the contents of a file.

    Args:
      filename: A local path.
      name: Not used.

    Returns:
      A string tensor.

    Raises:
      NotFoundError: If there is no such file.
      UnimplementedError: If the path is not local.

    Example:
      >>> import tempfile
      >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a")
      >>> tf.io.write_file(path, "text")
      >>> tf.io.read_file(path).numpy()
      b'text'
    """
    path = local_path(filename)
    try:
        with open(path, "rb") as file:
            return of_strings(file.read())
    except OSError as error:
        raise translate(error) from error


def write_file(
    filename: PathLike | StringTensor, contents: StringLike, name: str | None = None
) -> None:
    """Write a string to a file, and create the folder of the file if it is missing.

    Args:
      filename: A local path.
      contents: A str, bytes or a string tensor.
      name: Not used.

    Raises:
      TypeError: If the contents are not one string.
      UnimplementedError: If the path is not local.

    Example:
      >>> import tempfile
      >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "new", "a")
      >>> tf.io.write_file(path, b"bytes")
      >>> tf.io.gfile.stat(path).length
      5
    """
    run_as_python("`write_file`")
    path, data = local_path(filename), to_bytes(contents)
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise translate(error) from error


def matching_files(pattern: StringLike, name: str | None = None) -> StringTensor:
    """Return the paths that match a pattern, or one of several patterns.

    Args:
      pattern: Strings with ``*``, ``?`` and ``[...]``.
      name: Not used.

    Returns:
      A string tensor of one axis, in ascending order.

    Raises:
      TypeError: If the pattern is not a string.
      UnimplementedError: If a path is not local.

    Example:
      >>> tf.io.matching_files("/no/such/*.txt").shape
      TensorShape([0])
    """
    patterns = to_string_array(pattern).ravel().tolist()
    paths = sorted(path for one in patterns for path in glob(one))
    array = np.empty(len(paths), object)
    array[:] = [path.encode("utf-8", "surrogateescape") for path in paths]
    return of_strings(array)
