"""The file ``checkpoint`` of a folder: a JSON list of its checkpoints."""

from __future__ import annotations

import json
import os
from typing import Any

from ..errors import DataLossError, NotFoundError, UnimplementedError
from .arrays import SUFFIX, read, write

NAME = "checkpoint"


def record_state(
    folder: str,
    latest: str,
    paths: list[str],
    times: list[float],
    preserved: float | None,
    name: str = NAME,
) -> None:
    """Write the list of a folder's checkpoints.

    Args:
      folder: The folder.
      latest: The latest checkpoint.
      paths: All managed checkpoints.
      times: The time each was written, in seconds.
      preserved: The time of the last checkpoint that was kept for good.
      name: The file's name.
    """
    state = {
        "model_checkpoint_path": os.path.basename(latest),
        "all_model_checkpoint_paths": [os.path.basename(path) for path in paths],
        "all_model_checkpoint_timestamps": times,
        "last_preserved_timestamp": preserved,
    }
    write(os.path.join(folder, name), json.dumps(state, indent=1).encode())


def read_state(folder: str, name: str = NAME) -> dict[str, Any] | None:
    """Read what `record_state` wrote, with full paths; return None if there is no file.

    Raises:
      DataLossError: If the file is damaged.
      UnimplementedError: If TensorFlow wrote it.
    """
    where = os.path.join(folder, name)
    try:
        content = read(where)
    except NotFoundError:
        return None
    if content.startswith(b"model_checkpoint_path:"):
        raise UnimplementedError(
            f"TensorFlow wrote the checkpoints in {folder} (see the file {where}); numtape cannot "
            f"read them. Use another folder."
        )
    try:
        state = json.loads(content)
        paths = [_inside(folder, path) for path in state["all_model_checkpoint_paths"]]
        times = [float(t) for t in state["all_model_checkpoint_timestamps"]]
        last = state["last_preserved_timestamp"]
        if len(times) != len(paths):
            raise ValueError("paths and times differ in length")
        return {
            "latest": _inside(folder, state["model_checkpoint_path"]),
            "paths": paths,
            "times": times,
            "preserved": None if last is None else float(last),
        }
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataLossError(
            f"{where} is damaged, or was not written by numtape: it must list the folder's "
            f"checkpoints."
        ) from None


def _inside(folder: str, name: object) -> str:
    """Return a path inside the folder. Others are rejected, because a manager deletes files."""
    if not isinstance(name, str) or name in ("", ".", "..") or os.path.basename(name) != name:
        raise ValueError("the name must be that of a file in the folder")
    return os.path.join(folder, name)


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """Return the latest checkpoint in a folder.

    Args:
      checkpoint_dir: The folder.
      latest_filename: The name of the file that lists the checkpoints; default: ``checkpoint``.

    Returns:
      A name for `Checkpoint.restore`; None if there is no checkpoint.

    Raises:
      DataLossError: If the file ``checkpoint`` is damaged.
      UnimplementedError: If TensorFlow wrote it.

    Example:
      >>> import os, tempfile
      >>> folder = tempfile.mkdtemp()
      >>> _ = tf.train.Checkpoint(v=tf.Variable(1.0)).save(folder + "/ckpt")
      >>> os.path.basename(tf.train.latest_checkpoint(folder))
      'ckpt-1'
    """
    state = read_state(os.fspath(checkpoint_dir), latest_filename or NAME)
    if state is None or not os.path.exists(state["latest"] + SUFFIX):
        return None
    latest: str = state["latest"]
    return latest
