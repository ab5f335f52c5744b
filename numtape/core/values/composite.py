"""Values that stand for tensors but are none: strings, sparse and ragged tensors.

A function that takes tensors does not know these classes. It fails to convert its operand, and only
then asks `recover` whether an operand is a composite value whose class has a handler for this
function. Calls with ordinary tensors pay nothing.

`numtape.composites.dispatch` registers the handlers.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from ...errors import CompositeError, DtypeError
from .dtypes import DType

Function = TypeVar("Function", bound=Callable[..., Any])
NOT_HANDLED: Any = object()
_MAX_DEPTH = 8  # of nested lists that are searched for composite values
_TEXTS = (str, bytes, np.str_, np.bytes_)


class Composite:
    """The base of classes that stand for tensors: `StringTensor`, sparse and ragged tensors.

    Attributes:
      dispatch_priority: The class with the highest number handles a call with operands of several.
      display_name: The name of the class in errors.
      runs_as_python: Whether a `function` with such an argument runs as Python.
      remedy: What a program can do where a function is not supported.
    """

    __slots__ = ()

    __array_priority__ = 200
    dispatch_priority = 0
    display_name = "composite tensor"
    runs_as_python = False
    remedy = "convert it to a tensor of numbers first"


# Handlers by function and class. The key of a function that records an op is the op.
HANDLERS: dict[Any, dict[type, Callable[..., Any]]] = {}
# The class that handles Python strings, which are no tensors yet. Set in `core.log.string_tensor`.
text_types: list[type] = []
# Imports the modules that register handlers. Set in `numtape`.
load_handlers: list[Callable[[], object]] = []


def key_of(function: Any) -> Any:
    """Return the key of a function in `HANDLERS`, the same for the function and its wrappers."""
    inner = inspect.unwrap(function) if callable(function) else function
    return getattr(inner, "op", inner)


def dispatches(function: Function) -> Function:
    """Let classes of composite values handle a function (a decorator)."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            return recover(function, *args, **kwargs)

    return call  # type: ignore[return-value]


def recover(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result of a call that failed because an operand is a composite value.

    Must be called while the error is handled, which is raised again if there is no such operand.

    Args:
      function: The function, or the op that it records.
      *args: The arguments of the failed call.
      **kwargs: Its keyword arguments.

    Raises:
      CompositeError: If an operand is a composite value whose class does not support the
        function.
    """
    result = result_of(function, args, kwargs)
    if result is NOT_HANDLED:
        raise
    return result


def result_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a class's handler, or NOT_HANDLED if no argument is composite."""
    arguments = (*args, *(value for name, value in kwargs.items() if name != "name"))
    cls = _composite_class(arguments)
    is_certain = cls is not None
    if cls is None and text_types and has_text(arguments):
        cls = text_types[0]
    if cls is None:
        return NOT_HANDLED
    for load in load_handlers:  # each time: another thread may be loading them
        load()
    handlers = HANDLERS.get(key_of(function), {})
    handler = next((handlers[base] for base in cls.__mro__ if base in handlers), None)
    if handler is not None:
        try:
            result = handler(*args, **kwargs)
        except DtypeError:
            if is_certain:
                raise
            result = NotImplemented  # a text beside numbers: the function's own error
        if result is not NotImplemented:
            return result
    if not is_certain:
        return NOT_HANDLED
    name = getattr(function, "name", None) or getattr(function, "__name__", str(function))
    raise CompositeError(
        f"{str(name).rstrip('_')} of a {getattr(cls, 'display_name', cls.__name__)} is not "
        f"supported: {getattr(cls, 'remedy', Composite.remedy)}."
    )


def _composite_class(values: Iterable[Any], depth: int = 0) -> type | None:
    """Return the class of the composite value with the highest priority in nested lists."""
    best: Any = None
    for value in values:
        cls: Any = None
        if isinstance(value, Composite):
            cls = type(value)
        elif isinstance(value, list | tuple) and depth < _MAX_DEPTH:
            cls = _composite_class(value, depth + 1)
        if cls is not None and (best is None or cls.dispatch_priority > best.dispatch_priority):
            best = cls
    return best  # type: ignore[no-any-return]


def has_text(values: Iterable[Any], depth: int = 0) -> bool:
    """Return whether there are strings, arrays of them or the dtype string in nested lists."""
    return any(
        isinstance(value, (*_TEXTS, *text_types))
        or (isinstance(value, DType) and value.name == "string")
        or (isinstance(value, np.ndarray) and value.dtype.kind in "SUO")
        or (isinstance(value, list | tuple) and depth < _MAX_DEPTH and has_text(value, depth + 1))
        for value in values
    )
