"""The file ``checkpoint`` of a folder, in JSON: which checkpoints are there."""

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
    """Note a folder's checkpoints.

    Args:
      folder: The folder.
      latest: The latest one.
      paths: All that are kept.
      times: When each was written, in seconds.
      preserved: When the last one was kept for good.
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
    """What `record_state` noted, with whole paths; None if there is nothing.

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
            f"TensorFlow wrote the checkpoints in {folder} (see the file {where}); numtape does "
            f"not read them. Use another folder."
        )
    try:
        state = json.loads(content)
        paths = [_inside(folder, path) for path in state["all_model_checkpoint_paths"]]
        times = [float(t) for t in state["all_model_checkpoint_timestamps"]]
        last = state["last_preserved_timestamp"]
        if len(times) != len(paths):
            raise ValueError("a time is missing")
        return {
            "latest": _inside(folder, state["model_checkpoint_path"]),
            "paths": paths,
            "times": times,
            "preserved": None if last is None else float(last),
        }
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataLossError(
            f"{where} is damaged, or no file that numtape wrote: it does not say which "
            f"checkpoints there are."
        ) from None


def _inside(folder: str, name: Any) -> str:
    """A path in the folder, and nowhere else: a manager deletes old ones."""
    if not isinstance(name, str) or name in ("", ".", "..") or os.path.basename(name) != name:
        raise ValueError("no name of a file in the folder")
    return os.path.join(folder, name)


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """The latest checkpoint in a folder.

    Args:
      checkpoint_dir: The folder.
      latest_filename: The name of the file that says so; default: ``checkpoint``.

    Returns:
      A name for `Checkpoint.restore`; None if it does not exist.

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
