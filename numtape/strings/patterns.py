r"""Regular expressions of RE2, which TensorFlow uses, as those of Python.

The two agree on most patterns. `compile_pattern` translates the differences: ``$`` matches only at
the end, ``[[:alpha:]]`` is a class, and a ``[`` inside of a class is a character.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..core.log.string_tensor import to_string
from ..errors import InvalidArgumentError, UnimplementedError

if TYPE_CHECKING:
    from ..core.values.annotations import StringLike

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def compile_pattern(pattern: StringLike, op: str) -> re.Pattern[str]:
    """Compile a pattern of RE2.

    Args:
      pattern: A scalar string.
      op: The name of the op, for errors.

    Raises:
      InvalidArgumentError: If RE2 does not accept the pattern.
      UnimplementedError: If it uses a class of Unicode characters.
    """
    return _compile(to_string(pattern, "Pattern", op).decode("utf-8", "surrogateescape"), op)


@functools.lru_cache(256)
def _compile(pattern: str, op: str) -> re.Pattern[str]:
    def invalid(reason: object) -> InvalidArgumentError:
        return InvalidArgumentError(f"Invalid pattern: {pattern}, error: {reason} [Op:{op}]")

    parts, position, is_multiline = [], 0, re.match(r"\(\?[a-zA-Z]*m", pattern) is not None
    while position < len(pattern):
        char, following = pattern[position], pattern[position + 1 : position + 2]
        end = position + 1
        if char == "\\":
            end += 1
            if following in ("p", "P"):
                raise UnimplementedError(
                    f"The pattern {pattern!r} has a class of Unicode characters, which is not "
                    f"supported. Write its characters or ranges in brackets."
                )
            if following.isdigit() and following != "0":
                raise invalid(f"invalid escape sequence: \\{following}")
            text = r"\Z" if following == "z" else pattern[position:end]
        elif char == "[":
            text, end = _class_at(pattern, position)
        elif char == "$" and not is_multiline:
            text = r"\Z"
        elif char == "(" and re.match(r"\(\?(<?[=!]|P=|\(|#|>)", pattern[position:]):
            raise invalid(f"invalid perl operator: {pattern[position : position + 3]}")
        else:
            text = char
        parts.append(text)
        position = end
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile("".join(parts), re.ASCII)
    except (re.error, OverflowError) as error:
        raise invalid(error) from None


def _class_at(pattern: str, start: int) -> tuple[str, int]:
    """Return the class that begins at ``start`` in Python's syntax, and the position after it."""
    position = start + 1
    parts = ["["]
    if pattern[position : position + 1] == "^":
        parts.append("^")
        position += 1
    is_first = True
    while position < len(pattern) and (pattern[position] != "]" or is_first):
        is_first = False
        posix = re.match(r"\[:(\^?)(\w+):\]", pattern[position:])
        if posix is not None and posix[2] in _POSIX and not posix[1]:
            parts.append(_POSIX[posix[2]])
            position += posix.end()
        elif pattern[position] == "\\":
            if pattern[position + 1 : position + 2] in ("p", "P"):
                raise UnimplementedError(
                    f"The pattern {pattern!r} has a class of Unicode characters, which is not "
                    f"supported. Write its characters or ranges in brackets."
                )
            parts.append(pattern[position : position + 2])
            position += 2
        else:
            char = pattern[position]
            parts.append("\\" + char if char in "[&~|" else char)
            position += 1
    parts.append(pattern[position : position + 1])
    return "".join(parts), position + 1


def make_rewriter(
    pattern: re.Pattern[str], rewrite: StringLike
) -> Callable[[re.Match[str]], str] | None:
    r"""Return a function that replaces a match, or None if a rewrite names an absent group.

    Args:
      pattern: The pattern.
      rewrite: A scalar string, in which ``\0`` to ``\9`` are groups and ``\\`` is a backslash.

    Raises:
      InvalidArgumentError: If it is not a scalar.
    """
    template = to_string(rewrite, "Rewrite", "RegexReplace").decode("utf-8", "surrogateescape")
    parts: list[str | int] = []
    for text in re.findall(r"\\.?|[^\\]+", template, re.DOTALL):
        if not text.startswith("\\"):
            parts.append(text)
        elif text[1:] == "\\":
            parts.append("\\")
        elif not text[1:].isdigit():
            break  # as in RE2
        elif int(text[1:]) > pattern.groups:
            return None
        else:
            parts.append(int(text[1:]))
    return lambda match: "".join(
        part if isinstance(part, str) else (match[part] or "") for part in parts
    )
