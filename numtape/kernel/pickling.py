"""Pickling of kernels: by name, or with their code and its source for cloudpickle.

As with `tf.function` objects (see `numtape.function.pickling`), a script's kernels and those
inside functions are pickled with their code, because another process cannot import them by name.
Compiling them needs their source, which only the original process has, so it is pickled as well.
A kernel that is unpickled repeatedly, such as with each of many tasks, is one object, and is
compiled once.

cloudpickle 3.1.3 and later send code without its file name. So the source is sent by a key of the
code itself, and the functions get their file names back before the first is compiled. They cannot
get them earlier: functions that call each other are unpickled one after another.
"""

from __future__ import annotations

import hashlib
import linecache
import types
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..function.pickling import at_module_level, real_name, restore_function

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 128  # maximum number of kernels that are found by their keys

_kernels: dict[str, Any] = {}


def is_self_contained(function: Callable[..., Any]) -> bool:
    """Whether other processes cannot import a function by its name."""
    return function.__module__ in ("__main__", "__mp_main__") or "<" in function.__qualname__


def reduce_kernel(kernel: Any) -> Any:
    """Return the pickled form of a kernel."""
    inner, rule = kernel.python_function, kernel._rule
    if not is_self_contained(inner):
        return inner.__qualname__
    kernel._key = kernel._key or uuid.uuid4().hex
    _keep(kernel._key, kernel)
    locate(kernel)
    function = kernel._stand_in if at_module_level(kernel, inner) else inner
    codes = [function.__code__ for function in _reachable_functions(kernel)]
    texts = {file: linecache.getlines(file) for file in {code.co_filename for code in codes}}
    sources = {
        _code_key(code): (code.co_filename, lines)
        for code in codes
        if (lines := texts[code.co_filename])
    }
    options = {
        "recompute": kernel._recompute,
        "memory_limit": kernel._limit,
        "error_model": kernel._model,
        "fastmath": kernel._fastmath,
        "boundscheck": kernel._boundscheck,
    }
    return restore_kernel, (type(kernel), function, options, rule, kernel._key, sources)


def restore_kernel(
    cls: type,
    function: Any,
    options: dict[str, Any],
    rule: Callable[..., Any] | None,
    key: str,
    sources: dict[str, tuple[str, list[str]]],
) -> Any:
    """Return the kernel of a pickle: the existing one, or a new one."""
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = restore_function(cls, function, **options)
        if kernel._key is None:
            kernel._key, kernel._rule, kernel._sources = key, rule, sources
    _keep(kernel._key, kernel)
    return kernel


def locate(kernel: Any) -> None:
    """Restore the names, file names and source of an unpickled kernel's functions."""
    if kernel._sources is None:
        return
    for function in _reachable_functions(kernel):
        function.__qualname__ = real_name(function)
        file, lines = kernel._sources.get(_code_key(function.__code__), ("", []))
        if not lines:
            continue
        if (
            current_lines := linecache.getlines(file)
        ) and current_lines != lines:  # another version of the file
            file += f" ({hashlib.sha256(''.join(lines).encode()).hexdigest()[:16]})"
        if linecache.getlines(file) != lines:
            linecache.cache[file] = sum(map(len, lines)), None, lines, file
        if function.__code__.co_filename != file:
            function.__code__ = _relocate(function.__code__, file)
    kernel._sources = None


def _relocate(code: types.CodeType, file: str) -> types.CodeType:
    """Replace the file name of code, and of the code inside it."""
    constants = tuple(
        _relocate(x, file) if isinstance(x, types.CodeType) else x for x in code.co_consts
    )
    return code.replace(co_filename=file, co_consts=constants)


def _code_key(code: types.CodeType) -> str:
    """Return a digest of code without its file name; it is the same in all processes."""
    return hashlib.sha256(repr(_contents(code)).encode()).hexdigest()


def _contents(x: object) -> Any:
    if isinstance(x, types.CodeType):
        return (
            x.co_name,
            x.co_firstlineno,
            x.co_code,
            x.co_linetable,
            x.co_names,
            x.co_varnames,
            x.co_freevars,
            x.co_cellvars,
            [_contents(constant) for constant in x.co_consts],
        )
    if isinstance(x, tuple):
        return [_contents(item) for item in x]
    if isinstance(x, frozenset):  # its order differs between processes
        return sorted(repr(_contents(item)) for item in x)
    return type(x).__name__, repr(x)


def _keep(key: str, kernel: Any) -> None:
    """Remember a kernel by its key; the least recently used ones are dropped."""
    _kernels.pop(key, None)
    _kernels[key] = kernel
    for old_key in list(_kernels)[:-MOST]:
        _kernels.pop(old_key, None)


def _reachable_functions(kernel: Any) -> Iterator[types.FunctionType]:
    """Yield a kernel's function and rule, and the functions they call that cannot be imported."""
    pending: list[Any] = [kernel]
    visited = set()
    while pending:
        function = pending.pop()
        if type(function) is type(kernel):
            pending.append(function._rule)
        function = getattr(function, "python_function", getattr(function, "py_func", function))
        if (
            not isinstance(function, types.FunctionType)
            or function in visited
            or not is_self_contained(function)
        ):
            continue
        visited.add(function)
        yield function
        names = {name for code in _codes(function.__code__) for name in code.co_names}
        values = [function.__globals__.get(name) for name in names]
        for cell in function.__closure__ or ():
            try:
                values.append(cell.cell_contents)
            except ValueError:  # the cell is empty
                pass
        pending += values
        for value in values:  # functions in attributes of a class or another object
            if not isinstance(value, types.ModuleType):
                attributes = getattr(value, "__dict__", {})
                attributes = [attributes[name] for name in names if name in attributes]
                pending += [getattr(x, "__func__", x) for x in attributes]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code, and the code within it: comprehensions, lambdas."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
