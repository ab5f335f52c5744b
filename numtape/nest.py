"""Nested structures: lists, tuples, namedtuples, dicts and other mappings and sequences."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable
from itertools import chain
from typing import Any

import optree

from .compat.names import getter as _getter
from .compat.traceback_filter import guard_module as _guard_module
from .core.values.dtypes import repr_of
from .core.values.pytree import (
    LEAVES,
    by_key,
    flatten_with as _flatten_with,
    has_containers,
    has_ordered,
    is_container,
    restore_containers,
    to_standard,
)

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of a structure, in order; mappings by sorted key. ``None`` is a leaf.

    Args:
      structure: Nested lists, tuples, namedtuples, dicts, other mappings and sequences, views of
        mappings, and objects with ``__tf_flatten__`` and ``__tf_unflatten__``. Any other object,
        including strings and arrays, is a leaf.
      expand_composites: Whether to flatten `IndexedSlices`, sparse and ragged tensors as well.

    Returns:
      A list.

    Example:
      >>> tf.nest.flatten({"b": [1, 2], "a": (3, None)})
      [3, None, 1, 2]
    """
    return flatten_with(structure, expand_composites)[0]


def flatten_with(
    structure: Any, expand_composites: bool = False
) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return the leaves of `flatten`, and a function that rebuilds the structure from leaves."""
    if not has_containers(structure):
        return _flatten_with(structure, expand_composites)
    leaves, rebuild = _flatten_with(to_standard(structure), expand_composites)
    return leaves, lambda values: restore_containers(structure, rebuild(values))


def map_structure(
    func: Callable[..., Any],
    *structures: Any,
    check_types: bool = True,
    expand_composites: bool = False,
) -> Any:
    """Apply a function to corresponding leaves of structures, and return a structure of results.

    Args:
      func: A function of one leaf of each structure.
      *structures: One or more structures of the same form.
      check_types: Whether lists and tuples are different forms.
      expand_composites: Whether the components of `IndexedSlices`, sparse and ragged tensors are
        leaves.

    Returns:
      A structure of the same form as the first one.

    Raises:
      TypeError: If ``func`` is not callable, or one structure has a list and another a tuple.
      ValueError: If the forms differ, or there is no structure.

    Example:
      >>> tf.nest.map_structure(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
      {'a': 11, 'b': [22]}
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got {repr_of(func)}.")
    if not structures:
        raise ValueError("Expected at least one structure.")
    if len(structures) == 1:
        leaves, rebuild = flatten_with(structures[0], expand_composites)
        return rebuild([func(x) for x in leaves])
    if expand_composites:
        columns, rebuilds = zip(*(flatten_with(x, True) for x in structures), strict=True)
        if len(set(map(len, columns))) > 1:
            raise ValueError(f"The structures have {[*map(len, columns)]} components: not equal.")
        return rebuilds[0]([func(*row) for row in zip(*columns, strict=True)])
    if any(map(has_containers, structures)):
        standard_structures = map(to_standard, structures)
        return restore_containers(
            structures[0], map_structure(func, *standard_structures, check_types=check_types)
        )
    loose_structures = structures if check_types else tuple(map(_tuples_to_lists, structures))
    try:
        leaf_groups = _up_to(*loose_structures)
    except ValueError:
        if not check_types or not _have_same_depth(*map(_tuples_to_lists, structures)):
            raise
        raise TypeError(
            "The structures differ in type alone: one has a list where another has a tuple."
        ) from None
    for x in chain.from_iterable(other_leaves for _, *other_leaves in leaf_groups):
        if is_nested(x):
            raise ValueError(
                f"The structures differ: one has {repr_of(x)} where the first one has a leaf."
            )
    return flatten_with(structures[0])[1]([func(*x) for x in leaf_groups])


def _have_same_depth(*structures: Any) -> bool:
    """Whether all structures are as deep as the first one."""
    try:
        _up_to(*structures)
    except ValueError:
        return False
    return True


def assert_same_structure(
    nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise an error unless two structures have the same form.

    Args:
      nest1: A structure, as for `flatten`.
      nest2: A structure.
      check_types: Whether lists and tuples are different forms.
      expand_composites: Not used.

    Raises:
      TypeError: If one structure has a list and the other a tuple.
      ValueError: If the forms differ.

    Example:
      >>> tf.nest.assert_same_structure([1, (2,)], [3, (4,)]) is None
      True
    """
    for first, second in ((nest1, nest2), (nest2, nest1)):
        map_structure(lambda *_: None, first, second, check_types=check_types)


def map_up_to(func: Callable[..., Any], structure: Any, other: Any) -> Any:
    """Apply ``func`` to each leaf of ``structure`` and the corresponding part of ``other``."""
    return flatten_with(structure)[1]([func(*x) for x in _up_to(structure, other)])


def _up_to(*structures: Any) -> list[tuple[Any, ...]]:
    """Return each leaf of the first structure with the corresponding parts of the others."""
    if LEAVES.issuperset(map(type, structures)):
        return [structures]
    if any(map(has_ordered, structures)):
        # Mappings match if their keys do, in any order.
        structures = tuple(map(by_key, structures))
    leaves, treedef = optree.tree_flatten(structures[0], none_is_leaf=True)
    return list(zip(leaves, *map(treedef.flatten_up_to, structures[1:]), strict=True))


def _tuples_to_lists(structure: Any) -> Any:
    """Replace every tuple of a structure by a list."""
    if isinstance(structure, list | tuple):
        return list(map(_tuples_to_lists, structure))
    if isinstance(structure, dict):
        return {key: _tuples_to_lists(value) for key, value in structure.items()}
    return structure


def is_nested(structure: Any) -> bool:
    """Whether a value is a list, tuple, dict or another container that `flatten` flattens.

    Args:
      structure: Any object.

    Returns:
      A bool.

    Example:
      >>> tf.nest.is_nested([1]), tf.nest.is_nested(1)
      (True, False)
    """
    return not optree.tree_is_leaf(structure, none_is_leaf=True) or is_container(structure)


def pack_sequence_as(
    structure: Any, flat_sequence: list[Any], expand_composites: bool = False
) -> Any:
    """Pack leaves into a structure.

    Args:
      structure: The structure, whose own leaves are replaced.
      flat_sequence: The new leaves, in the order of `flatten`.
      expand_composites: Whether the components of `IndexedSlices`, sparse and ragged tensors are
        leaves.

    Returns:
      A structure of the same form.

    Raises:
      TypeError: If ``flat_sequence`` is not a list or another sequence.
      ValueError: If the number of leaves differs.

    Example:
      >>> tf.nest.pack_sequence_as({"b": [0, 0], "a": 0}, ["x", "y", "z"])
      {'b': ['y', 'z'], 'a': 'x'}
    """
    if not is_nested(flat_sequence):
        raise TypeError(
            f"Attempted to pack value:\n  {flat_sequence!r}\ninto a structure, but found "
            f"incompatible type `{type(flat_sequence)}` instead."
        )
    leaves, rebuild = flatten_with(structure, expand_composites)
    values = list(flat_sequence)
    if len(values) != len(leaves):
        reason = ""
        if not is_nested(structure):
            reason = (
                " The structure is one leaf: nest cannot guarantee that it is safe to map one to "
                "the other."
            )
        raise ValueError(
            f"Structure had {len(leaves)} atoms, but flat_sequence had {len(values)} items."
            f"{reason}\n\nStructure: {structure!r}\n\nflat_sequence: {flat_sequence!r}"
        )
    return rebuild(values)


def structure(structure: object) -> Any:
    """Return a key of a structure's form: equal for structures that differ only in leaves."""
    return optree.tree_structure(by_key(structure), none_is_leaf=True)


_guard_module(__name__)
