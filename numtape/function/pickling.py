"""Pickling of `tf.function` objects and the like: by name, or with their code for cloudpickle.

A function at module level is pickled by its name, like a Python function. Another process cannot
import a script's function or a lambda, so cloudpickle sends these with their code. It does so only
for Python functions: a script's `tf.function` is therefore pickled as a Python function, its
stand-in, which `pickle` finds under the name ``f._stand_in``.
"""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

_ENDING = "._stand_in"


def stand_in(function: Callable[..., Any]) -> Any:
    """Copy a function, with the name of the attribute ``_stand_in`` of its `tf.function`."""
    if not isinstance(function, types.FunctionType):
        return function
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__, copy.__doc__ = function.__module__, function.__doc__
    copy.__qualname__ = function.__qualname__ + _ENDING
    return copy


def real_name(function: Callable[..., Any]) -> str:
    """Return a function's qualified name without the suffix of a stand-in's name."""
    name: str = function.__qualname__
    return name.removesuffix(_ENDING)


def refuse_older(x: object, state: dict[str, Any], key: str) -> None:
    """Reject a pickle from before the private attributes of classes began with ``_nt_``.

    Args:
      x: The object that is unpickled.
      state: Its attributes.
      key: The name of an attribute that every object of its class has.

    Raises:
      pickle.UnpicklingError: If the state has only the older name of the attribute.
    """
    if key not in state and key.removeprefix("_nt") in state:
        raise pickle.UnpicklingError(
            f"{type(x).__name__} was pickled by an older version of numtape, whose attributes "
            f"have other names. Load it there, and save its model or weights: these files are read "
            f"by all versions."
        )


def at_module_level(function: Any, inner: Any) -> bool:
    """Whether a `tf.function` or kernel can be imported by the module and name of ``inner``."""
    if not hasattr(inner, "__qualname__"):
        return False
    return _lookup(inner.__module__, inner.__qualname__) is function


def reduce_function(function: Any, inner: Any, *options: Any) -> Any:
    """Return the pickled form of an object that wraps a Python function.

    Args:
      function: A `tf.function`, or another object that has ``_stand_in``.
      inner: The Python function.
      *options: The arguments of its class after the function.
    """
    is_at_module_level = at_module_level(function, inner)
    if is_at_module_level and inner.__module__ not in ("__main__", "__mp_main__"):
        return inner.__qualname__
    sent = function._stand_in if is_at_module_level else inner
    return restore_function, (type(function), sent, *options)


def _lookup(module: str | None, name: str) -> Any:
    value: Any = sys.modules.get(module or "")
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def restore_function(kind: Any, function: Any, *options: Any, **named: Any) -> Any:
    """Return the `tf.function` or kernel of a stand-in: the existing one, or a new one."""
    if isinstance(function, types.FunctionType) and function.__qualname__.endswith(_ENDING):
        name = real_name(function)
        known_function = _lookup(function.__module__, name)
        if isinstance(known_function, kind) and known_function._stand_in is function:
            return known_function
        function.__qualname__ = name
    return kind(function, *options, **named)
