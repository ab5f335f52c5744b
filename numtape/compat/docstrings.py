"""Sections of docstrings from tables: Args, Returns and Raises that many functions share."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from ..core.values.arguments import inspect_signature

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def describe(
    arguments: dict[str, str], returns: str, raises: str
) -> Callable[[Decorated], Decorated]:
    """Return a decorator that inserts Args, Returns and Raises sections before the example.

    Args:
      arguments: Descriptions of the arguments, by name.
      returns: The text of the Returns section; empty for a class.
      raises: The text of the Raises section; empty to omit it.

    Returns:
      The decorator. It raises a KeyError if ``arguments`` does not describe each parameter.
    """

    def add(obj: Decorated) -> Decorated:
        text, mark, example = inspect.cleandoc(obj.__doc__ or "").partition(">>>")
        names = [name for name in inspect_signature(obj).parameters if name != "self"]
        lines = [text.rstrip(), "", "Args:"]
        missing_names = [name for name in names if name not in arguments]
        if missing_names:
            raise KeyError(
                f"{obj.__qualname__}: describe {missing_names} in the dict that the decorator "
                f"takes."
            )
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
