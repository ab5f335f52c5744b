"""Nested structures, taken apart and put together again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, ItemsView, KeysView, Mapping, Sequence, ValuesView
from typing import Any

import numpy as np
import optree

from .indexed_slices import IndexedSlices
from .spec import TensorShape
from .tensor import Tensor

COMPOSITES = "numtape.composites"  # where Optree takes slices apart
# Kinds of which it is known, without asking Optree, that there is nothing in them.
LEAVES = frozenset({Tensor, np.ndarray, float, int, bool, str, type(None)})


def flatten_with(
    structure: Any, composites: bool = False
) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves, in order, and a function that puts others in their places.

    Dicts are gone through by sorted key, an OrderedDict too. ``None`` is a leaf. So are
    `IndexedSlices`, unless ``composites`` are to be taken apart.
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
        raise ValueError(f"A structure that is one leaf takes one value, and not {len(values)}.")
    return values[0]


_VIEWS = ItemsView, KeysView, ValuesView
_SEQUENCES = Sequence, *_VIEWS
# Sequences that TensorFlow takes for leaves.
_ATOMS = str, bytes, bytearray, memoryview, TensorShape


def is_container(x: Any) -> bool:
    """Whether a leaf of Optree's is a container for TensorFlow.

    These are mappings and sequences of other classes than Python's own, views of mappings, and
    objects with ``__tf_flatten__`` and ``__tf_unflatten__``.
    """
    return type(x) not in LEAVES and (
        (isinstance(x, (Mapping, *_SEQUENCES)) and not isinstance(x, _ATOMS))
        or (hasattr(type(x), "__tf_flatten__") and hasattr(type(x), "__tf_unflatten__"))
    )


def has_containers(structure: Any) -> bool:
    """Whether a structure has containers that Optree takes for leaves."""
    if type(structure) in LEAVES:
        return False
    leaves = optree.tree_leaves(structure, none_is_leaf=True)
    return not LEAVES.issuperset(map(type, leaves)) and any(map(is_container, leaves))


def to_standard(structure: Any) -> Any:
    """A structure with dicts, lists and tuples in the place of the containers of `is_container`."""
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
    """A result in the form of ``standard(structure)``, with containers as in ``structure``.

    Mappings are made by their class from a dict, other sequences from a list. Views of mappings
    and ranges become lists.
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


def has_ordered(structure: Any) -> bool:
    """Whether there is an OrderedDict in a structure, of which Optree keeps the order."""
    if type(structure) in LEAVES:
        return False
    return _has_ordered(optree.tree_structure(structure, none_is_leaf=True))


def _has_ordered(treedef: Any) -> bool:
    if treedef.type is OrderedDict:
        return True
    if treedef.num_nodes <= treedef.num_leaves + 1:  # nothing but leaves in it
        return False
    return any(map(_has_ordered, treedef.children()))


def by_key(structure: Any) -> Any:
    """A structure with a dict in the place of every OrderedDict."""

    def plain(x: Any) -> Any:
        return {key: by_key(value) for key, value in x.items()} if _is_ordered(x) else x

    return optree.tree_map(plain, structure, is_leaf=_is_ordered, none_is_leaf=True)


def _is_ordered(x: Any) -> bool:
    return type(x) is OrderedDict


def _flatten_slices(slices: Any) -> tuple[tuple[Any, ...], None]:
    return (slices.values, slices.indices, slices.dense_shape), None


optree.register_pytree_node(
    IndexedSlices, _flatten_slices, lambda _, parts: IndexedSlices(*parts), namespace=COMPOSITES
)
