"""Arguments of layers' calls by name, their shapes, and what `build` takes of these."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..core.values.tensor import Tensor
from ..nest import flatten, is_nested, map_structure
from .symbolic import KerasTensor

_NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY


class Signature:
    """The parameters of a method.

    Attributes:
      names: Those that can be given by position, without ``self``.
      defaults: Values of those that have one.
      all: Those that can be given by name, and they.
      open: Whether others can be given by name.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(method).parameters.values())[1:]
        self.names = tuple(p.name for p in parameters if p.kind in _NAMED)
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self.all = (*self.names, *(p.name for p in parameters if p.kind is p.KEYWORD_ONLY))
        self.open = any(p.kind is p.VAR_KEYWORD for p in parameters)

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What a call gives, by name."""
        return {**dict(zip(self.names, args, strict=False)), **kwargs}


@functools.lru_cache(maxsize=1024)
def signature_of(method: Callable[..., Any]) -> Signature:
    """The signature of a method of a class."""
    return Signature(method)


def is_tensor(x: Any) -> bool:
    """Whether a layer takes it as a tensor."""
    return isinstance(x, Tensor | KerasTensor)


def tensors_in(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are tensors, or lists and dicts of them."""
    return {
        name: x for name, x in arguments.items()
        if is_tensor(x) or (is_nested(x) and x and all(
            leaf is None or is_tensor(leaf) for leaf in flatten(x)))
    }  # fmt: skip


def shapes_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Shapes of the tensors among arguments, tuples, as ``{"inputs_shape": ...}``."""
    return {
        f"{name}_shape": map_structure(lambda t: None if t is None else tuple(t.shape), x)
        for name, x in tensors_in(arguments).items() if name != "mask"
    }


def shapes_for(
    method: Callable[..., Any], arguments: dict[str, Any], kind: str
) -> dict[str, Any]:
    """The shapes that ``build`` or ``compute_output_shape`` takes, by the names it has for them.

    If it has one parameter, that is the shape of the first argument.

    Raises:
      ValueError: If it has several, and one does not have the name of an argument.
    """
    shapes = shapes_of(arguments)
    names = signature_of(method).all
    if len(names) == 1:
        return {names[0]: next(iter(shapes.values()), None)}
    for name in names:
        if not name.endswith("_shape") or name.removesuffix("_shape") not in arguments:
            if name in signature_of(method).defaults:
                continue
            raise ValueError(
                f"For a `{method.__name__}()` method with more than one argument, all arguments "
                f"should have a `_shape` suffix and match an argument from `call()`. E.g. "
                f"`{method.__name__}(self, foo_shape, bar_shape)` For layer '{kind}', received "
                f"argument `{name}`."
            )
    return {name: shapes[name] for name in names if name in shapes}
