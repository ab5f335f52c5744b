"""Errors of calls with wrong arguments: they name the called class or method, and suggest a fix.

Python names the inner function, as in ``Convolution.__init__() got an unexpected keyword argument
'filter'``. For classes and methods that are wrapped here the error is ``Conv2D() got ... 'filter':
did you mean filters=?``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..core.values.hints import name_in_errors
from .traceback_filter import guard

if TYPE_CHECKING:
    from collections.abc import Callable

_DONE: set[Any] = set()  # functions that are wrappers of this module


def name_constructors(kinds: Iterable[Any]) -> None:
    """Make errors of wrong arguments name the class, for classes and their base classes."""
    for kind in kinds:
        for cls in kind.__mro__ if isinstance(kind, type) else ():
            constructor = vars(cls).get("__init__")
            if cls.__module__.startswith("numtape.") and isinstance(constructor, FunctionType):
                _wrap(cls, "__init__", constructor, None)


def name_methods(cls: type, instance: str, names: str) -> None:
    """Make errors of wrong arguments name methods as in a program: ``model.fit()``.

    Args:
      cls: The class.
      instance: The name of an instance in errors.
      names: The names of the methods, separated by spaces.
    """
    for name in names.split():
        owner = next(base for base in cls.__mro__ if name in vars(base))
        method = vars(owner)[name]
        inner = method.__func__ if isinstance(method, classmethod | staticmethod) else method
        _wrap(owner, name, inner, f"{instance}.{name}", type(method))


def _wrap(
    owner: type,
    name: str,
    function: Callable[..., Any],
    display_name: str | None,
    method_kind: type | None = None,
) -> None:
    if function in _DONE:
        return

    call = name_in_errors(function, lambda args: display_name or _class_of(args[0]), is_bound=True)
    _DONE.add(call)
    guard([call])
    setattr(owner, name, method_kind(call) if method_kind in (classmethod, staticmethod) else call)


def _class_of(instance: object) -> str:
    """Return the name of the first class of numtape among an object's class and its bases."""
    return next(x.__name__ for x in type(instance).__mro__ if x.__module__.startswith("numtape."))
