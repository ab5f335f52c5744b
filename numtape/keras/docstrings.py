"""Docstrings of many functions and classes that take the same arguments: each said once."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

Described = TypeVar("Described", bound=Callable[..., Any])


def describe(
    arguments: dict[str, str], returns: str, raises: str
) -> Callable[[Described], Described]:
    """A decorator that adds the sections on arguments, result and errors, before the example.

    Args:
      arguments: What each argument means, by name.
      returns: What comes back; empty for a class.
      raises: Lines of errors.
    """

    def add(thing: Described) -> Described:
        text, mark, example = inspect.cleandoc(thing.__doc__ or "").partition(">>>")
        names = [name for name in inspect.signature(thing).parameters if name != "self"]
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
        thing.__doc__ = "\n".join(lines)
        return thing

    return add
