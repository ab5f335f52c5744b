"""A decorator that completes docstrings from shared descriptions of arguments."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

Described = TypeVar("Described", bound=Callable[..., Any])


def describe(
    arguments: dict[str, str], returns: str, raises: str
) -> Callable[[Described], Described]:
    """Return a decorator that inserts Args, Returns and Raises sections before the example.

    Args:
      arguments: Descriptions of the arguments, by name.
      returns: The text of the Returns section; empty for a class.
      raises: The text of the Raises section; empty to omit it.
    """

    def add(obj: Described) -> Described:
        text, mark, example = inspect.cleandoc(obj.__doc__ or "").partition(">>>")
        names = [name for name in inspect.signature(obj).parameters if name != "self"]
        lines = [text.rstrip(), "", "Args:"]
        for name in names:
            lines += textwrap.wrap(
                f"{name}: {arguments[name]}", 94, initial_indent="  ", subsequent_indent="    "
            )
        if returns:
            lines += ["", "Returns:", f"  {returns}"]
        if raises:
            lines += ["", "Raises:", f"  {raises}"]
        lines += ["", "Example:", *textwrap.indent(mark + example, "  ").split("\n")]
        obj.__doc__ = "\n".join(lines)
        return obj

    return add
