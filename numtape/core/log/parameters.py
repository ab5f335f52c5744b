"""The parameters of methods by name: the arguments that layers may pass to their `call`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

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
        parameters = list(inspect.signature(method).parameters.values())[1:]
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
