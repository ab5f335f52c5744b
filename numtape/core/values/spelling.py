"""Keywords as NumPy, PyTorch and TensorFlow 1 spell them: an error names the right one.

A function that has ``**wrong`` for them does not show it in its signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

SPELLINGS = {
    "axes": "axis", "dim": "axis", "dimension": "axis", "dims": "axis", "keep_dims": "keepdims",
    "keepdim": "keepdims", "reduction_indices": "axis",
}  # fmt: skip


def spelled(function: Function) -> Function:
    """A decorator that takes ``**wrong`` out of a function's signature."""
    signature = inspect.signature(function)
    kept = [x for x in signature.parameters.values() if x.kind is not x.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return function


def misspelled(function: Callable[..., Any], wrong: Mapping[str, Any]) -> NoReturn:
    """Refuse keywords that a function does not have, in Python's words, with what it has."""
    name = next(iter(wrong))
    right = SPELLINGS.get(name)
    has = right in inspect.signature(function).parameters
    hint = f": write {right}=" if has else ""
    raise TypeError(
        f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}"
    )
