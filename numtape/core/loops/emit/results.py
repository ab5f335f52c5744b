"""Several results of a kernel: their layout on the stack after a forward sweep.

A number takes one word. A local array takes one word for its address, one for the address of its
adjoints, and one for each axis. An argument takes none: the caller has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..analysis.activity import Activity
from ..analysis.types import of
from ..ir import Body, address, shadow
from .text import NO_ROOM, failure_status, slot_at


@dataclass(frozen=True)
class Out:
    """One result.

    Attributes:
      dtype: Its dtype.
      ndim: The number of axes; -1 for a number.
      argument: The number of the argument that it is, or -1.
      word: Its offset from the first result, in words.
      active: Whether it has adjoints.
    """

    dtype: str
    ndim: int
    argument: int
    word: int
    active: bool


def outputs_of(body: Body, activity: Activity) -> list[Out]:
    """Return all results of a function."""
    outputs: list[Out] = []
    word = 0
    for name, axes in zip(body.outputs, body.axes, strict=True):
        active, known = name in activity.active, body.arrays.get(name)
        if known is None:
            outputs.append(Out(of(name, body.names), -1, -1, word, active))
            word += 1
        elif known.argument:
            j = body.parameters.index(name)
            outputs.append(Out(known.dtype, known.ndim, j, word, active))
        else:
            outputs.append(Out(known.dtype, len(axes), -1, word, active))
            word += 2 + len(axes)
    return outputs


def words_of(results: list[Out]) -> int:
    """Return the number of words that results take."""
    return sum(1 if out.ndim < 0 else 2 + out.ndim for out in results if out.argument < 0)


def places(form: int | tuple[Any, ...]) -> list[int]:
    """Return the indices of the results, in the order of the flattened return value."""
    return [place for x in form for place in places(x)] if isinstance(form, tuple) else [form]


def words(body: Body) -> int:
    """Return the number of words that all results of a function take."""
    count = 0
    for name, axes in zip(body.outputs, body.axes, strict=True):
        known = body.arrays.get(name)
        count += 1 if known is None else 0 if known.argument else 2 + len(axes)
    return count


def leave_text(body: Body) -> list[str]:
    """Return the lines that leave results on the stack."""
    lines: list[str] = []
    for name, axes in zip(body.outputs, body.axes, strict=True):
        known = body.arrays.get(name)
        if known is None:
            lines.append(slot_at(len(lines), of(name, body.names)).write(name))
        elif not known.argument:
            for value in (address(name), shadow(name), *axes):
                lines.append(slot_at(len(lines), "int64").write(value))
    if not lines:
        return []
    size = 8 * len(lines)
    return [
        f"if SP + {size} > END: return {failure_status(NO_ROOM, body.begin)}",
        *lines,
        f"SP += {size}",
    ]
