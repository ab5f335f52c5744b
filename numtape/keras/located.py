"""Errors of ops say in which of numtape's layers and losses they came up.

Tracebacks do not show numtape's lines, so that of ``model.fit`` would be all there is.
"""

from __future__ import annotations

from typing import Any

from ..errors import OpError


def add_location(error: OpError, thing: Any, *inputs: Any) -> None:
    """Add a layer or loss to an op's error, unless one within it was added.

    Args:
      error: The error, which is changed.
      thing: The layer or loss. One of the program's own has a line in the traceback.
      inputs: What it was called with.
    """
    kind = type(thing)
    if not kind.__module__.startswith("numtape.") or getattr(error, "located", False):
        return
    shapes = [str(tuple(x.shape)) for x in inputs if hasattr(x, "shape")]
    provided = f", for shapes {' and '.join(shapes)}" if shapes else ""
    what = "loss" if kind.__name__ == "LossFunction" else kind.__name__
    error.message = f"{error.message} In {what} {thing.name!r}{provided}."
    error.args = (error.message, *error.args[1:])
    error.located = True  # type: ignore[attr-defined]
