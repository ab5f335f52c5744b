"""Resolves names in the text of kernel modules; importing them would import Numba."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import settings


def kernel_source(*modules: str) -> str:
    """The text of kernel modules, read without importing them."""
    return "\n".join(
        (settings.kernels_folder() / Path(*module.split("."))).with_suffix(".py").read_text("utf-8")
        for module in modules
    )


def tree(text: str, mode: str = "exec") -> Any:
    """The syntax tree of a text; see `kernels/body.py`."""
    return importlib.import_module("numtape.kernels.body").tree(text, mode)


def _is_module(name: str) -> bool:
    return settings.kernels_folder().joinpath(*name.split(".")).with_suffix(".py").is_file()


def _package(module: str, node: ast.ImportFrom) -> list[str]:
    """The origin of a relative import: the path of a module or of a folder of modules."""
    package = module.split(".")[: -node.level]
    return package + (node.module.split(".") if node.module else [])


def _imports(module: str) -> Iterator[ast.ImportFrom]:
    """The relative imports of a module, except those for type checkers only."""
    nodes = [*ast.walk(tree(kernel_source(module)))]
    type_only = {
        id(statement)
        for node in nodes
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for statement in node.body
    }
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in type_only:
            yield node


def transitive_imports(*modules: str) -> tuple[str, ...]:
    """Kernel modules and all that they import, found in their text."""
    known, left = set(modules), list(modules)
    while left:
        module = left.pop()
        for node in _imports(module):
            package = _package(module, node)
            for names in (package, *([*package, alias.name] for alias in node.names)):
                name = ".".join(names)
                if name not in known and _is_module(name):
                    known.add(name)
                    left.append(name)
    return tuple(sorted(known))


class Pointer(NamedTuple):
    """A pointer type; a call with an address makes a pointer to elements of the dtype."""

    dtype: str


class Special(NamedTuple):
    """A name from `jit`: a decorator, or a function that is an LLVM instruction."""

    name: str


@dataclass(eq=False)
class Definition:
    """A jitted function.

    Attributes:
      module: Its module.
      node: Its tree.
      inline: Whether it is always inlined.
      loop: Whether it is a loop over elements, which is optimized apart from its callers.
    """

    module: KernelModule
    node: ast.FunctionDef
    inline: bool
    loop: bool = False


@dataclass(eq=False)
class KernelModule:
    """The meanings of names in a kernel module: ints, pointers, functions."""

    name: str
    names: dict[str, Any] = field(default_factory=dict)


class _Pointers(dict[str, Pointer]):
    def __missing__(self, dtype: str) -> Pointer:
        return Pointer("uint8" if dtype == "bool" else dtype)


_POINTERS = _Pointers()


@cache
def module(name: str) -> KernelModule:
    """Read a kernel module from its text.

    Leaves out imports from outside the kernels, and values that known names do not determine.
    """
    module_text = KernelModule(name)
    for node in tree(kernel_source(name)).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            origin = ".".join(_package(name, node))
            for alias in node.names:
                known = _definition(origin, alias.name)
                if known is not None:
                    module_text.names[alias.asname or alias.name] = known
        elif isinstance(node, ast.FunctionDef):
            kinds = [x.id for x in node.decorator_list if isinstance(x, ast.Name)]
            if any(kind in kinds for kind in ("jit", "inline", "loop")):
                module_text.names[node.name] = Definition(
                    module_text, node, "inline" in kinds, "loop" in kinds
                )
            elif "intrinsic" in kinds:
                module_text.names[node.name] = Special(node.name)
        elif isinstance(node, ast.ClassDef):
            module_text.names[node.name] = tuple(
                x.target.id
                for x in node.body
                if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name)
            )
        elif isinstance(node, ast.Assign):
            _assign(node, module_text.names)
    return module_text


def _definition(origin: str, name: str) -> Any:
    if origin == "jit":
        return _POINTERS if name == "POINTERS" else Special(name)
    return module(origin).names.get(name) if _is_module(origin) else None


def _assign(node: ast.Assign, names: dict[str, Any]) -> None:
    try:
        scope = {**names, "__builtins__": {"range": range}}
        value = eval(compile(ast.Expression(node.value), "<kernels>", "eval"), scope)
        for target in node.targets:
            if isinstance(target, ast.Tuple):
                parts = [part.id for part in target.elts if isinstance(part, ast.Name)]
                names |= zip(parts, value, strict=True)
            elif isinstance(target, ast.Name):
                names[target.id] = value
    except (NameError, TypeError, AttributeError, KeyError):
        pass  # passes do not refer to such values
