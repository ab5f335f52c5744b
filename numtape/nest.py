"""Nested structures: lists, tuples, namedtuples and dicts of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

from .core.values.nests import flatten_with as flatten_with


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves, in order; dicts by sorted key. ``None`` is a leaf."""
    return optree.tree_leaves(structure, none_is_leaf=True)


def map_structure(func: Callable[..., Any], *structures: Any, **_: Any) -> Any:
    """``func`` of the corresponding leaves, in the same structure."""
    return optree.tree_map(func, *structures, none_is_leaf=True)


def is_nested(structure: Any) -> bool:
    """Whether it is a list, tuple or dict."""
    return not optree.tree_is_leaf(structure, none_is_leaf=True)


def pack_sequence_as(
    structure: Any, flat_sequence: list[Any], expand_composites: bool = False
) -> Any:
    """The leaves in the places of the structure's own.

    Raises:
      ValueError: If there are more or fewer than it has.
    """
    return optree.tree_unflatten(
        optree.tree_structure(structure, none_is_leaf=True), list(flat_sequence)
    )


def structure(structure: Any) -> Any:
    """A key of the form of a structure: equal for structures that differ in leaves alone."""
    return optree.tree_structure(structure, none_is_leaf=True)
