"""`ObjectGraph`: the graph that a checkpoint stores: objects, their named parts, variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator as Items, Mapping
from typing import Any

from ..core.log.variable import Variable, original
from ..errors import DataLossError
from ..module import Module

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"  # how TensorFlow ends the names of values


def is_trackable(obj: object) -> bool:
    """Whether an object has a value in the file (see `is_value`), or has parts."""
    return isinstance(obj, Module) or is_value(obj) or hasattr(type(obj), "_nt_saved_parts")


def is_value(obj: object) -> bool:
    """Whether an object has a value in the file.

    This is a variable, or an object with a position: an iterator of a dataset, or a table that
    changes.
    """
    return isinstance(obj, Variable) or hasattr(type(obj), "_nt_position")


def parts(obj: Any, excluded: type | tuple[type, ...] = ()) -> dict[str, Any]:
    """Return the direct parts of an object by name, including those in lists and dicts.

    Args:
      obj: The object.
      excluded: Classes whose instances are skipped.
    """
    children: dict[str, Any] = {}
    if not is_value(obj):
        for name, value in obj._nt_saved_parts().items():
            children.update((k, x) for k, x in _flat(name, value) if not isinstance(x, excluded))
    return children


def named_parts(
    obj: Any, number: Callable[[Variable], int | None], excluded: type | tuple[type, ...] = ()
) -> dict[str, Any]:
    """Return the direct parts of an object by their names in a graph.

    Args:
      obj: The object.
      number: A function from a variable to its node in the graph, or None. Slots of optimizers
        are named after these nodes.
      excluded: Classes whose instances are skipped.
    """
    children = parts(obj, excluded)
    names = alternative_names(obj, number)
    return {names.get(name, name): part for name, part in children.items()} if names else children


def alternative_names(obj: object, number: Callable[[Variable], int | None]) -> dict[str, str]:
    """Return the names in the graph of the parts whose names differ there."""
    names = getattr(obj, "_nt_saved_names", None)
    return {} if names is None else names(number)


def _flat(name: object, value: object) -> Items[tuple[str, Any]]:
    if is_trackable(value):
        yield str(name), original(value) if isinstance(value, Variable) else value
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _flat(f"{name}/{number}", item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(f"{name}/{escape(str(key))}", item)


def escape(name: str) -> str:
    """Escape slashes in a name, as TensorFlow does."""
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraph:
    """A root object and all objects reachable from it, breadth first.

    Args:
      root: The root.
      excluded: Classes whose instances are skipped.

    Attributes:
      nodes: A node for each object: a dict from part names to node numbers, or the key of a
        variable or iterator. A key is the shortest path to it.
      variables: The variables, by key.
      iterators: The iterators of datasets and tables, by key.
    """

    def __init__(self, root: Any, excluded: type | tuple[type, ...] = ()) -> None:
        self.nodes: list[Any] = []
        self.variables: dict[str, Variable] = {}
        self.iterators: dict[str, Any] = {}
        objects, paths = [root], [""]
        numbers = {id(root): 0}
        for obj, path in zip(objects, paths, strict=True):  # both grow in the loop
            if is_value(obj):
                key = f"{path}{_VALUE}"
                self.nodes.append(key)
                if isinstance(obj, Variable):
                    self.variables[key] = obj
                else:
                    self.iterators[key] = obj
                continue
            part_numbers = {}
            for name, part in parts(obj, excluded).items():
                if id(part) not in numbers:
                    numbers[id(part)] = len(objects)
                    objects.append(part)
                    paths.append(f"{path}/{name}" if path else name)
                part_numbers[name] = numbers[id(part)]
            self.nodes.append(part_numbers)
        for obj, node in zip(objects, self.nodes, strict=True):
            names = alternative_names(obj, lambda v: numbers.get(id(v)))
            for old_name, new_name in names.items():
                node[new_name] = node.pop(old_name)


def check_nodes(nodes: Any, arrays: Mapping[str, Any], where: str) -> list[Any]:
    """Validate and return the nodes of a file.

    Raises:
      DataLossError: If they are not a graph's nodes, or do not match the arrays.
    """
    is_valid = isinstance(nodes, list) and bool(nodes) and isinstance(nodes[0], dict)
    for node in nodes if is_valid else ():
        if isinstance(node, dict):
            is_valid = is_valid and all(
                type(k) is int and 0 <= k < len(nodes) for k in node.values()
            )
        else:
            is_valid = is_valid and isinstance(node, str) and node in arrays
    keys = [node for node in nodes if isinstance(node, str)] if is_valid else []
    if not is_valid or sorted(keys) != sorted(arrays):
        raise DataLossError(f"{where} cannot be read: its graph does not match its arrays.")
    return list(nodes)
