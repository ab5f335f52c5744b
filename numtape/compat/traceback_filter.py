"""Removal of numtape's frames from tracebacks, so that they show the program's lines.

Every public function ends in a handler, as if its body were inside::

    try:
        ...
    except:
        filtered()
        raise

The handler is appended to the function's code object (`core.cpython.handlers`). The function stays
the same object, and a call without an exception runs the same instructions as before. A wrapper
would cost a frame per call.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from ..core.cpython.handlers import append_handler
from ..core.cpython.version import unknown_reason
from ..core.values import memory

# Libraries that numtape calls. Their frames are removed, too, if numtape called them.
LIBRARIES = {"llvmlite", "ml_dtypes", "numba", "numpy", "optree", "scipy"} | sys.stdlib_module_names
_state = [True]


def is_enabled() -> bool:
    """Whether numtape's frames are removed from tracebacks."""
    return _state[0] and not unknown_reason()  # see `append_handler`


def enable(on: bool) -> None:
    """Set whether numtape's frames are removed from tracebacks."""
    _state[0] = on


def filter_current() -> None:
    """Remove numtape's frames from the traceback of the exception that is being handled."""
    error = sys.exception()
    if isinstance(error, MemoryError):
        memory.release()
    if error is None or not _state[0]:
        return
    chain: list[BaseException | None] = [error]
    cleaned: dict[int, BaseException] = {}
    while chain:
        if (chained := chain.pop()) is not None and id(chained) not in cleaned:
            cleaned[id(chained)] = chained
            _clean(chained)
            chain += chained.__cause__, chained.__context__
    for chained in cleaned.values():
        # Hide an error that numtape raised and caught itself.
        if chained.__context__ is not None and chained.__context__.__traceback__ is None:
            chained.__suppress_context__ = True


def _clean(error: BaseException) -> None:
    frames, is_inside = [], False
    frame_entry = error.__traceback__
    while frame_entry is not None:
        root = frame_entry.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        is_inside = root == "numtape" or (is_inside and root in LIBRARIES)
        if not is_inside:
            frames.append(frame_entry)
        frame_entry = frame_entry.tb_next
    error.__traceback__ = frames[0] if frames else None
    if frames:
        for frame, next_frame in zip(frames, [*frames[1:], None], strict=True):
            frame.tb_next = next_frame


def guard(functions: Iterable[Any]) -> None:
    """Append the handler to functions and to methods of classes; ignore other objects."""
    for value in functions:
        if isinstance(value, FunctionType):
            _guard(value)
            if hasattr(value, "__wrapped__"):  # a context manager's
                guard([value.__wrapped__])
        elif isinstance(value, type):
            for kind in value.__mro__:
                if kind.__module__.startswith("numtape."):
                    for function in _methods(kind):
                        _guard(function)


def guard_module(name: str) -> None:
    """Append the handler to the imported objects in a module's ``__all__``."""
    attributes = vars(sys.modules[name])
    for public_name in attributes.get("__all__", ()):
        value = attributes.get(public_name)
        if isinstance(value, ModuleType) and value.__name__.startswith("numtape."):
            guard_module(value.__name__)
        else:
            guard([value])


def _methods(cls: type) -> Iterator[FunctionType]:
    for name, value in vars(cls).items():
        if name.startswith("_") and not name.endswith("__"):
            continue
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, FunctionType):
            yield value


def _guard(function: FunctionType) -> None:
    append_handler(function, filter_current)


# Warnings that show the program's line.


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, once for each line of the program that called numtape."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
