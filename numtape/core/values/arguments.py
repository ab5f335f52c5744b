"""Validation of arguments that are plain Python values, and the parameters of methods."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsIndex

import numpy as np

from .dtypes import repr_of

try:  # Python 3.14 or newer: annotations are evaluated when they are asked for
    _UNEVALUATED = {"annotation_format": importlib.import_module("annotationlib").Format.STRING}
except ImportError:
    _UNEVALUATED = {}


def inspect_signature(
    function: Callable[..., Any], follow_wrapped: bool = True
) -> inspect.Signature:
    """Return a function's signature without evaluating its annotations.

    They may contain names that exist only for type checkers.
    """
    return inspect.signature(function, follow_wrapped=follow_wrapped, **_UNEVALUATED)


def to_float(value: Any, name: str) -> float:
    """Return a real number of Python or NumPy, or of a one-element tensor, as a float.

    Args:
      value: The value that the caller passed.
      name: The name of the argument.

    Raises:
      TypeError: If the value is not a real number.
    """
    if type(value) in (int, float):
        return float(_check_int64(value, name)) if type(value) is int else value
    try:
        array = np.asarray(value)
        if array.size == 1 and array.dtype.kind in "biuf":
            return float(array.item())
    except ValueError:  # a ragged list
        pass
    raise TypeError(f"`{name}` must be a real number, got {repr_of(value)}.")


def to_int(name: str, value: SupportsIndex) -> int:
    """Return an integer of Python or NumPy, or of a scalar tensor, as an int that fits int64.

    Raises:
      TypeError: If the value is not an integer.
      ValueError: If it does not fit int64.
    """
    try:
        return _check_int64(operator.index(value), name)
    except TypeError:
        raise TypeError(f"`{name}` must be an integer, got {repr_of(value)}.") from None


def to_list(value: object, name: str) -> list[Any]:
    """Return the items of an iterable as a list.

    Raises:
      TypeError: If the value is not iterable.
    """
    if isinstance(value, Iterable):
        try:
            return list(value)
        except TypeError:  # a tensor or an array of no axes
            pass
    raise TypeError(
        f"`{name}` must be a list or another iterable, got a {type(value).__name__!r} object: "
        f"{repr_of(value)}."
    )


def _check_int64(value: int, name: str) -> int:
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"`{name}`={repr_of(value)} does not fit int64.")
    return value


def truncate_float(value: object, name: str) -> Any:
    """Return a float as an integer, without its fraction; return other values unchanged."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return int(value)


_NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY


class MethodSignature:
    """The parameters of a method.

    Attributes:
      names: Parameters that can be passed by position, without ``self``.
      defaults: Default values by name.
      all: ``names`` and the keyword-only parameters.
      takes_any_keyword: Whether the method has a ``**kwargs`` parameter.
      takes_mask: Whether it takes the mask of its first argument.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        parameters = list(inspect_signature(method).parameters.values())[1:]
        self.names = tuple(p.name for p in parameters if p.kind in _NAMED)
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self.all = (*self.names, *(p.name for p in parameters if p.kind is p.KEYWORD_ONLY))
        self.takes_any_keyword = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.takes_mask = "mask" in self.all and self.names[:1] not in ((), ("mask",))

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name."""
        return {**dict(zip(self.names, args, strict=False)), **kwargs}


@functools.lru_cache(maxsize=1024)
def signature_of(method: Callable[..., Any]) -> MethodSignature:
    """Return the signature of a method of a class."""
    return MethodSignature(method)
