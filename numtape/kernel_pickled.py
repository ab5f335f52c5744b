"""Kernels in pickles: by name, or, where cloudpickle asks, with their code and its source.

As with functions of `tf.function` (see `pickled`), a script's kernels and those within functions go
with their code: another process would find nothing under their names. What is compiled there needs
their source, which a notebook's cell has in its own process only, so it goes along. A kernel that
comes again, with each of many tasks, is the one that came first: it is compiled once.
"""

from __future__ import annotations

import linecache
import types
import uuid
from collections.abc import Iterator
from typing import Any

from .pickled import again, at_module_level

MOST = 128  # kernels that are known by their keys

_known: dict[str, Any] = {}


def alone(function: Any) -> bool:
    """Whether no other process finds a function by its name."""
    return function.__module__ in ("__main__", "__mp_main__") or "<" in function.__qualname__


def reduced(kernel: Any) -> Any:
    """What a kernel is pickled as."""
    inner, rule = kernel.python_function, kernel._rule
    if not alone(inner):
        return inner.__qualname__
    kernel._key = kernel._key or uuid.uuid4().hex
    _keep(kernel._key, kernel)
    given = kernel._stand_in if at_module_level(kernel) else inner
    texts = {file: lines for file in sorted({f.__code__.co_filename for f in _called(inner, rule)})
             if (lines := linecache.getlines(file))}  # fmt: skip
    options = {"recompute": kernel._recompute, "memory_limit": kernel._limit,
               "error_model": kernel._model, "fastmath": kernel._fastmath,
               "boundscheck": kernel._boundscheck}  # fmt: skip
    return restored, (type(kernel), given, options, rule, kernel._key, texts)


def restored(
    kind: Any, function: Any, options: dict[str, Any], rule: Any, key: str,
    texts: dict[str, list[str]],
) -> Any:  # fmt: skip
    """The kernel of a pickle: the one that is there, or a new one."""
    kernel = _known.get(key)
    if kernel is None:
        for file, lines in texts.items():
            if linecache.getlines(file) != lines:
                linecache.cache[file] = sum(map(len, lines)), None, lines, file
        kernel = again(kind, function, **options)
        if kernel._key is None:
            kernel._key, kernel._rule = key, rule
    _keep(kernel._key, kernel)
    return kernel


def _keep(key: str, kernel: Any) -> None:
    """Know a kernel by its key; of many those that were asked for last."""
    _known.pop(key, None)
    _known[key] = kernel
    for old in list(_known)[:-MOST]:
        _known.pop(old, None)


def _called(*functions: Any) -> Iterator[types.FunctionType]:
    """Functions, and all that they call that no other process finds by its name."""
    waiting, seen = list(functions), set()
    while waiting:
        found = waiting.pop()
        found = getattr(found, "python_function", getattr(found, "py_func", found))
        if not isinstance(found, types.FunctionType) or found in seen or not alone(found):
            continue
        seen.add(found)
        yield found
        waiting += [found.__globals__.get(name) for name in found.__code__.co_names]
        for cell in found.__closure__ or ():
            try:
                waiting.append(cell.cell_contents)
            except ValueError:  # it has none yet
                pass
