"""Functions of `tf.function` in pickles: by name, or, where cloudpickle asks, with their code.

A function at a module's level is pickled by its name, as Python's functions are. Under the name of
a script's function another process would find nothing, so cloudpickle sends such functions, and
lambdas, with their code. It does so for functions of Python's alone: a script's function is
pickled as one, a stand-in that `pickle` finds by a name too, ``f._stand_in``.
"""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

_ENDING = "._stand_in"


def stand_in(function: Callable[..., Any]) -> Any:
    """A copy of a function whose name says that it stands in a `tf.function`."""
    if not isinstance(function, types.FunctionType):
        return function
    function_ = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    function_.__kwdefaults__ = function.__kwdefaults__
    function_.__module__, function_.__doc__ = function.__module__, function.__doc__
    function_.__qualname__ = function.__qualname__ + _ENDING
    return function_


def real_name(function: Callable[..., Any]) -> str:
    """The qualified name of a function, without what a stand-in's name ends in."""
    name: str = function.__qualname__
    return name.removesuffix(_ENDING)


def refuse_older(x: object, state: dict[str, Any], key: str) -> None:
    """Refuse the state of a pickle from before the private names of classes began with ``_nt_``.

    Args:
      x: The object that gets the state.
      state: Its attributes.
      key: The name of one that each object of its class has.

    Raises:
      pickle.UnpicklingError: If the state has the older name and not this one.
    """
    if key not in state and key.removeprefix("_nt") in state:
        raise pickle.UnpicklingError(
            f"{type(x).__name__} was pickled by an older version of numtape, whose attributes "
            f"have other names. Load it there, and save its model or weights: these files are read "
            f"by all versions."
        )


def at_module_level(function: Any) -> bool:
    """Whether a `tf.function` or kernel is found by its module and name."""
    inner = function.python_function
    if not isinstance(inner, types.FunctionType):
        return False
    module_value = _lookup(inner.__module__, inner.__qualname__)
    return module_value is function


def _lookup(module: str | None, name: str) -> Any:
    value: Any = sys.modules.get(module or "")
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def restore_function(kind: Any, function: Any, *options: Any, **named: Any) -> Any:
    """The `tf.function` or kernel that a stand-in is of: the one that is there, or a new one."""
    if isinstance(function, types.FunctionType) and function.__qualname__.endswith(_ENDING):
        name = real_name(function)
        known = _lookup(function.__module__, name)
        if isinstance(known, kind) and known._stand_in is function:
            return known
        function.__qualname__ = name
    return kind(function, *options, **named)
