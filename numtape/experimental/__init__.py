"""``tf.experimental``: what TensorFlow has under this name, and profiles."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from . import dlpack

if _typing.TYPE_CHECKING:
    from ..data.structure import Optional
    from ..profiling.profile import Profile as _Profile

__all__ = ["Optional", "dlpack", "profile"]


def profile() -> _Profile:
    """Measure the time of a block by line and op, and suggest improvements.

    A profile computes values one group of rows at a time and records lines of the program. This
    overhead is counted separately. The time of a group is divided among its rows in proportion to
    their elements. Python's time is attributed to the line that records the next op. Only the
    thread that enters the block is measured. ``python -m numtape profile`` profiles a program.

    Returns:
      A context manager, which prints as a table, or as a picture in a notebook. ``report(top=20)``
      returns the table, ``save(path)`` writes a picture (``.svg``), all numbers (``.json``) or the
      table, ``data()`` returns the numbers, and ``advice()`` the suggestions.

    Raises:
      RuntimeError: On entering, if another profile is running, or this one has ended.
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
    _missing = _getter(__name__)

    def __getattr__(name: str) -> _typing.Any:
        """Import `Optional` at its first use."""
        if name == "Optional":
            from ..data.structure import Optional

            return Optional
        return _missing(name)


_guard_module(__name__)
