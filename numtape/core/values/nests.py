"""Nested structures, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree


def flatten(structure: Any) -> tuple[list[Any], Any]:
    """The leaves, in order (dicts by sorted key; ``None`` is a leaf), and a key of the form."""
    return optree.tree_flatten(structure, none_is_leaf=True)


def flatten_with(structure: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves, and a function that puts others in their places."""
    leaves, treedef = flatten(structure)
    return leaves, lambda values: optree.tree_unflatten(treedef, values)


_ORDERED = "numtape, dicts in their own order"
_ordered = optree.dict_insertion_ordered(True, namespace=_ORDERED)
_ordered.__enter__()  # for good: entering and leaving it is not safe where there are threads


def flatten_ordered(structure: Any) -> tuple[list[Any], Any]:
    """As `flatten`, for who iterates over dicts: in their own order, which is part of the key."""
    return optree.tree_flatten(structure, none_is_leaf=True, namespace=_ORDERED)


def rebuilt(form: Any, values: list[Any]) -> Any:
    """The structure with a key of the form that `flatten_ordered` gave, and these leaves."""
    return optree.tree_unflatten(form, values)
