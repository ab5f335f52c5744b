"""Arguments of layers' calls by name, their shapes, and what `build` takes of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.log.parameters import signature_of as signature_of
from ..core.values.tensor import Tensor
from ..nest import flatten, is_nested, map_structure
from .symbolic import KerasTensor


def is_tensor(x: Any) -> bool:
    """Whether a layer takes it as a tensor."""
    return isinstance(x, Tensor | KerasTensor)


def tensors_in(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are tensors, or lists and dicts of them."""
    return {
        name: x
        for name, x in arguments.items()
        if is_tensor(x)
        or (is_nested(x) and x and all(leaf is None or is_tensor(leaf) for leaf in flatten(x)))
    }


def shapes_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Shapes of the tensors among arguments, tuples, as ``{"inputs_shape": ...}``."""
    return {
        f"{name}_shape": map_structure(lambda t: None if t is None else tuple(t.shape), x)
        for name, x in tensors_in(arguments).items()
        if name != "mask"
    }


def shapes_for(method: Callable[..., Any], arguments: dict[str, Any], kind: str) -> dict[str, Any]:
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
