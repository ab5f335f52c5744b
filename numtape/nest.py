"""Nested structures: lists, tuples, namedtuples and dicts of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

from .core.values.nests import by_key, has_ordered
from .core.values.nests import flatten_with as flatten_with


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves, in order; dicts by sorted key. ``None`` is a leaf."""
    return flatten_with(structure)[0]


def map_structure(func: Callable[..., Any], *structures: Any, **_: Any) -> Any:
    """``func`` of the corresponding leaves, in the same structure."""
    if not any(map(has_ordered, structures)):
        return optree.tree_map(func, *structures, none_is_leaf=True)
    # They are the same if their keys are, whatever the order of these.
    plain = [by_key(structure) for structure in structures]
    leaves, treedef = optree.tree_flatten(plain[0], none_is_leaf=True)
    rest = [treedef.flatten_up_to(other) for other in plain[1:]]
    rebuild = flatten_with(structures[0])[1]
    return rebuild([func(*x) for x in zip(leaves, *rest, strict=True)])


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
    return flatten_with(structure)[1](list(flat_sequence))


def structure(structure: Any) -> Any:
    """A key of the form of a structure: equal for structures that differ in leaves alone."""
    return optree.tree_structure(by_key(structure), none_is_leaf=True)
