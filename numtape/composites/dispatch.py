"""Registration of the functions that support a class of composite values.

A class that stands for a tensor, such as `StringTensor`, derives from `Composite`. For each
function of tensors that supports it there is a *handler*, which takes the arguments of the function
and returns its result::

    class Ragged(Composite): ...

    @handles(Ragged, tf.reduce_sum)
    def _reduce_sum(input_tensor, axis=None, keepdims=False, name=None): ...

A handler runs when the function failed to convert its operands and one of them, perhaps in a list,
is of the class. It may return NotImplemented: then the function's error is raised. A composite
operand without a handler is an UnimplementedError that names the function. The function must be
one that asks: one that records an elementwise op (`tf.add`), or with the decorator
`suggest_keywords` or `dispatches`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..core.values.composite import HANDLERS, key_of

Handler = TypeVar("Handler", bound=Callable[..., Any])


def register(cls: type, function: Any, handler: Callable[..., Any]) -> None:
    """Let ``handler`` compute a function for operands of a class.

    Args:
      cls: A class that derives from `Composite`.
      function: The function, such as ``tf.concat``, as the program calls it.
      handler: A function of the same arguments.
    """
    HANDLERS.setdefault(key_of(function), {})[cls] = handler


def handles(cls: type, *functions: Any) -> Callable[[Handler], Handler]:
    """Return a decorator that registers a function as the handler of others for a class.

    Args:
      cls: A class that derives from `Composite`.
      *functions: The functions that it handles.
    """

    def decorate(handler: Handler) -> Handler:
        for function in functions:
            register(cls, function, handler)
        return handler

    return decorate
