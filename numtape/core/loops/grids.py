"""Arrays in expressions: parts of an array in memory, and elements that are computed when read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class View:
    """Part of an array in memory.

    Attributes:
      array: The array.
      shape: The lengths of its axes, as operands.
      offset: The index of its first element in the array's memory.
      strides: How far apart neighbours along each axis are; None if its elements lie in order.
      rows: How it was picked from the array, but for the numbers among the indices. Two views with
        the same one have the same elements, each in its place, or none in common. None: not known.
    """

    array: str
    shape: list[str]
    offset: str = "0"
    strides: list[str] | None = None
    rows: tuple[object, ...] | None = None


@dataclass(eq=False, slots=True)
class Lazy:
    """Elements that are computed when a loop reads them.

    Attributes:
      shape: The lengths of its axes.
      element: Writes what computes the element at some indices; returns its name.
      sources: What it reads.
      dtype: Of its elements; "" if `types` has to find it.
      apart: Whether it reads elements at other indices than its own.
    """

    shape: list[str]
    element: Callable[[list[str]], str]
    sources: list[View] = field(default_factory=list)
    dtype: str = ""
    needs_copy: bool = False


Grid = View | Lazy


@dataclass(eq=False, slots=True)
class Places:
    """Elements of a view, at places that arrays hold: ``x[k]``, ``x[:, k]``, ``x[i, k]``.

    Attributes:
      view: Where they are.
      places: For each axis of the view an array of places, or None for all of them.
      shape: The lengths of the axes of what is picked.
      first, axes: From which of these on, and how many of them, are those of the arrays.
    """

    view: View
    places: list[Grid | None]
    shape: list[str]
    first: int
    axes: int
