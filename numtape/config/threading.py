"""``tf.config.threading``: the number of threads that share the work of an op."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..core.settings import threads as _threads

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter("config.threading")


def get_intra_op_parallelism_threads() -> int:
    """Return the number of threads that share the work of an op: ``NUMTAPE_NUM_THREADS``.

    Returns:
      An int.

    Example:
      >>> tf.config.threading.get_intra_op_parallelism_threads() >= 1
      True
    """
    return _threads()


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Check the number of threads, which ``NUMTAPE_NUM_THREADS`` sets before the first op.

    Args:
      num_threads: The number that is in use, or 0 for any number.

    Raises:
      RuntimeError: If another number is in use.

    Example:
      >>> tf.config.threading.set_intra_op_parallelism_threads(0)
      >>> tf.config.threading.get_intra_op_parallelism_threads() >= 1
      True
    """
    if num_threads not in (0, _threads()):
        raise RuntimeError(
            f"numtape uses {_threads()} threads: the number is read from NUMTAPE_NUM_THREADS when "
            f"the process starts. Set the environment variable to {num_threads}."
        )


def get_inter_op_parallelism_threads() -> int:
    """Return how many ops run at the same time: always 1.

    Returns:
      1.

    Example:
      >>> tf.config.threading.get_inter_op_parallelism_threads()
      1
    """
    return 1


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Accept 0 or 1, because numtape runs one op after another.

    Args:
      num_threads: 0 or 1.

    Raises:
      RuntimeError: If it is more.

    Example:
      >>> tf.config.threading.set_inter_op_parallelism_threads(1)
      >>> tf.config.threading.get_inter_op_parallelism_threads()
      1
    """
    if num_threads not in (0, 1):
        raise RuntimeError(
            "numtape runs one op after another, with the threads of NUMTAPE_NUM_THREADS: use "
            "Python's `threading` to compute several results at the same time."
        )
