"""Nested structures (pytrees): flattening and rebuilding."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, ItemsView, KeysView, Mapping, Sequence, ValuesView
from typing import Any

import numpy as np
import optree

from .indexed_slices import IndexedSlices
from .spec import TensorShape
from .tensor import Tensor

COMPOSITES = "numtape.composites"  # the optree namespace in which slices are flattened
# Types that are known to be leaves, without asking optree.
LEAVES = frozenset({Tensor, np.ndarray, float, int, bool, str, type(None)})


def flatten_with(
    structure: Any, composites: bool = False
) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return the leaves, in order, and a function that rebuilds the structure with other leaves.

    Dicts are flattened by sorted key, OrderedDicts too. ``None`` is a leaf. `IndexedSlices` are
    leaves unless ``composites`` is True.
    """
    if type(structure) in LEAVES:
        return [structure], _rebuild_leaf
    leaves, treedef = optree.tree_flatten(
        structure, none_is_leaf=True, namespace=COMPOSITES if composites else ""
    )
    if not _has_ordered(treedef):
        return leaves, lambda values: optree.tree_unflatten(treedef, values)
    numbers = optree.tree_unflatten(treedef, range(len(leaves)))
    order: list[int] = optree.tree_leaves(by_key(numbers))

    def rebuild(values: list[Any]) -> Any:
        places: list[Any] = [None] * len(order)
        for k, value in zip(order, values, strict=True):
            places[k] = value
        return optree.tree_unflatten(treedef, places)

    return [leaves[k] for k in order], rebuild


def _rebuild_leaf(values: list[Any]) -> Any:
    if len(values) != 1:
        raise ValueError(f"A structure that is one leaf takes one value, got {len(values)}.")
    return values[0]


_VIEWS = ItemsView, KeysView, ValuesView
_SEQUENCES = Sequence, *_VIEWS
# Sequences that TensorFlow treats as leaves.
_ATOMS = str, bytes, bytearray, memoryview, TensorShape


def is_container(x: object) -> bool:
    """Return whether a leaf of optree is a container for TensorFlow.

    Such containers are mappings and sequences of classes other than Python's own, views of
    mappings, and objects with ``__tf_flatten__`` and ``__tf_unflatten__``.
    """
    return type(x) not in LEAVES and (
        (isinstance(x, (Mapping, *_SEQUENCES)) and not isinstance(x, _ATOMS))
        or (hasattr(type(x), "__tf_flatten__") and hasattr(type(x), "__tf_unflatten__"))
    )


def has_containers(structure: Any) -> bool:
    """Return whether a structure has containers that optree treats as leaves."""
    if type(structure) in LEAVES:
        return False
    leaves = optree.tree_leaves(structure, none_is_leaf=True)
    return not LEAVES.issuperset(map(type, leaves)) and any(map(is_container, leaves))


def to_standard(structure: Any) -> Any:
    """Replace the containers of `is_container` by dicts, lists and tuples."""
    return optree.tree_map(_standard_leaf, structure, none_is_leaf=True)


def _standard_leaf(x: Any) -> Any:
    if not is_container(x):
        return x
    if isinstance(x, Mapping):
        return {key: to_standard(value) for key, value in x.items()}
    if isinstance(x, _SEQUENCES):
        return [to_standard(value) for value in x]
    _, components = x.__tf_flatten__()
    return tuple(map(to_standard, components))


def restore_containers(structure: Any, plain: Any) -> Any:
    """Convert a result in the form of ``to_standard(structure)`` back to the original containers.

    Mappings are constructed by their class from a dict, other sequences from a list. Views of
    mappings and ranges become lists.
    """
    return optree.tree_map(_restore_leaf, structure, plain, none_is_leaf=True)


def _restore_leaf(x: Any, plain: Any) -> Any:
    if not is_container(x):
        return plain
    if isinstance(x, Mapping):
        values = {key: restore_containers(value, plain[key]) for key, value in x.items()}
        return type(x)(values)  # type: ignore[call-arg]
    if isinstance(x, _SEQUENCES):
        parts = [restore_containers(part, y) for part, y in zip(x, plain, strict=True)]
        return parts if isinstance(x, (*_VIEWS, range)) else type(x)(parts)  # type: ignore[call-arg]
    metadata, components = x.__tf_flatten__()
    parts = [restore_containers(part, y) for part, y in zip(components, plain, strict=True)]
    return type(x).__tf_unflatten__(metadata, tuple(parts))


def flatten_result(structure: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return the leaves of a function's result, and a function that rebuilds it, often.

    The containers of `is_container` are flattened as well. The rebuilding function refers to
    copies of them without leaves.
    """
    if not has_containers(structure):
        return flatten_with(structure, True)
    leaves, rebuild = flatten_with(to_standard(structure), True)
    template = restore_containers(structure, rebuild([None] * len(leaves)))
    return leaves, lambda values: restore_containers(template, rebuild(values))


def has_ordered(structure: Any) -> bool:
    """Return whether a structure contains an OrderedDict, whose order optree preserves."""
    if type(structure) in LEAVES:
        return False
    return _has_ordered(optree.tree_structure(structure, none_is_leaf=True))


def _has_ordered(treedef: optree.PyTreeSpec) -> bool:
    if treedef.type is OrderedDict:
        return True
    if treedef.num_nodes <= treedef.num_leaves + 1:  # it contains only leaves
        return False
    return any(map(_has_ordered, treedef.children()))


def by_key(structure: Any) -> Any:
    """Replace every OrderedDict of a structure by a dict."""

    def plain(x: Any) -> Any:
        return {key: by_key(value) for key, value in x.items()} if _is_ordered(x) else x

    return optree.tree_map(plain, structure, is_leaf=_is_ordered, none_is_leaf=True)


def _is_ordered(x: object) -> bool:
    return type(x) is OrderedDict


def _flatten_slices(slices: Any) -> tuple[tuple[Any, ...], None]:
    return (slices.values, slices.indices, slices.dense_shape), None


optree.register_pytree_node(
    IndexedSlices, _flatten_slices, lambda _, parts: IndexedSlices(*parts), namespace=COMPOSITES
)
