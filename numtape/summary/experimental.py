"""``tf.summary.experimental``: the step of summaries, and the scope of their names."""

from __future__ import annotations

import typing as _typing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..compat.names import getter as _getter
from ..core.log.log import current_name_scope, local
from ..function.control_flow import name_scope
from .tensorboard import state

__all__ = ["get_step", "set_step", "summary_scope"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter("summary.experimental")


def get_step() -> Any:
    """Return the step of summaries that are written without one.

    Returns:
      The value of `set_step`: an int or a variable; None if nothing was set.

    Example:
      >>> tf.summary.experimental.set_step(5)
      >>> tf.summary.experimental.get_step()
      5
      >>> tf.summary.experimental.set_step(None)
    """
    return local.log.call_guarded(getattr, state, "step")


def set_step(step: Any) -> None:
    """Set the step of summaries that are written without one, in this thread.

    Args:
      step: An int, or a variable that is read at each summary.

    Example:
      >>> tf.summary.experimental.set_step(tf.Variable(3, dtype=tf.int64))
      >>> int(tf.summary.experimental.get_step())
      3
      >>> tf.summary.experimental.set_step(None)
    """
    local.log.refuse("it sets the step of summaries")
    state.step = step


@contextmanager
def summary_scope(
    name: str, default_name: str = "summary", values: object = None
) -> Iterator[tuple[str, str]]:
    """Prefix the names of variables and summaries in a ``with`` block.

    Args:
      name: The prefix.
      default_name: The prefix if ``name`` is empty.
      values: Not used.

    Returns:
      The name of a summary, which has the outer scopes before it, and the scope.

    Example:
      >>> with tf.summary.experimental.summary_scope("loss") as (tag, scope):
      ...     tag, scope
      ('loss', 'loss/')
    """
    tag = f"{current_name_scope()}{name or default_name}"
    with name_scope(name or default_name) as scope:
        yield tag, scope
