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
