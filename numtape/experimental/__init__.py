"""``tf.experimental``: what TensorFlow has under this name, and profiles."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from . import dlpack

if _typing.TYPE_CHECKING:
    from ..profiling.profile import Profile as _Profile

__all__ = ["dlpack", "profile"]


def profile() -> _Profile:
    """Say where the time of a block goes, by line and op, and what can be mended.

    Values are computed one group of rows at a time, and lines of the program are noted, so the
    block takes longer; what that takes is counted apart. A group is computed as a whole: its time
    is divided by the elements of its rows. Python's time is that of the line that records the next
    op. The thread alone is measured that enters the block. ``python -m numtape profile`` does the
    same for a whole program.

    Returns:
      A context manager. Printed, it is a table; in a notebook, a picture. ``report(top=20)`` is
      the table as a string, ``save(path)`` writes a picture (``.svg``), all numbers (``.json``) or
      the table, ``data()`` gives the numbers, ``advice()`` what can be mended.

    Raises:
      RuntimeError: On entering, if another profile runs, or this one is over.
      UnimplementedError: On entering, if the device is not the CPU.

    Example:
      >>> x = tf.Variable(tf.ones((40, 30)))
      >>> with tf.experimental.profile() as p:
      ...     y = tf.reduce_sum(x @ tf.ones((30, 20))).numpy()
      >>> {line["op"]: line["calls"] for line in p.data()["lines"] if line["op"] == "MatMul"}
      {'MatMul': 1}
      >>> p.advice()
      []
    """
    from ..profiling.profile import Profile

    return Profile()


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_guard_module(__name__)
