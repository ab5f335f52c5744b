"""Classes and functions that configurations may name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_OBJECTS: dict[str, Any] = {}
_NAMES: dict[Any, str] = {}


def get_custom_objects() -> dict[str, Any]:
    """The dict of classes and functions that configurations may name besides known ones.

    Returns:
      A dict, which can be changed.

    Example:
      >>> tf.keras.utils.get_custom_objects()["scaled"] = lambda x: 2.0 * x
      >>> "scaled" in tf.keras.utils.get_custom_objects()
      True
      >>> del tf.keras.utils.get_custom_objects()["scaled"]
    """
    return _OBJECTS


def register_keras_serializable(
    package: str = "Custom", name: str | None = None
) -> Callable[[Any], Any]:
    """A decorator: configurations may name this class or function.

    Args:
      package: What its name begins with.
      name: What it is called; without, its own name.

    Returns:
      A decorator.

    Raises:
      ValueError: If a class has no method ``get_config``.

    Example:
      >>> @tf.keras.utils.register_keras_serializable("mine")
      ... class Error(tf.keras.losses.Loss):
      ...     pass
      >>> tf.keras.utils.get_registered_name(Error)
      'mine>Error'
    """

    def register(thing: Any) -> Any:
        if inspect.isclass(thing) and not hasattr(thing, "get_config"):
            raise ValueError("Cannot register a class that does not have a get_config() method.")
        full = f"{package}>{name or thing.__name__}"
        _OBJECTS[full] = thing
        _NAMES[thing] = full
        return thing

    return register


def get_registered_name(obj: Any) -> str:
    """The name under which a class or function was registered.

    Args:
      obj: A class or function.

    Returns:
      That name, or its own name if it was not registered.

    Raises:
      AttributeError: If it has no name.

    Example:
      >>> tf.keras.utils.get_registered_name(tf.keras.layers.Dense)
      'Dense'
    """
    known = inspect.isclass(obj) or inspect.isroutine(obj)
    return (_NAMES.get(obj) if known else None) or str(obj.__name__)


def get_registered_object(
    name: str,
    custom_objects: dict[str, Any] | None = None,
    module_objects: dict[str, Any] | None = None,
) -> Any:
    """The class or function that was registered under a name.

    Args:
      name: A name.
      custom_objects: Where else to look.
      module_objects: Where to look last.

    Returns:
      A class or function; None if it does not exist.

    Example:
      >>> tf.keras.utils.get_registered_object("nosuch") is None
      True
    """
    for known in (_OBJECTS, custom_objects or {}, module_objects or {}):
        if name in known:
            return known[name]
    return None


@contextmanager
def custom_object_scope(custom_objects: dict[str, Any] | None) -> Iterator[None]:
    """In the block, configurations may name these classes and functions.

    Args:
      custom_objects: A dict of them, by name; None for none.

    Example:
      >>> with tf.keras.utils.custom_object_scope({"halved": lambda x: 0.5 * x}):
      ...     "halved" in tf.keras.utils.get_custom_objects()
      True
    """
    before = dict(_OBJECTS)
    _OBJECTS.update(custom_objects or {})
    try:
        yield
    finally:
        _OBJECTS.clear()
        _OBJECTS.update(before)
