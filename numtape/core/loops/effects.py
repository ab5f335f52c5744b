"""Which arguments a kernel's plain call may write to: what a recorded function must know.

Start with `written_arguments`.
"""

from __future__ import annotations

import ast
import inspect
import math
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import KernelError
from ..compile.kernel_sources import tree
from .activity import written_arrays
from .call import kinds_of
from .normal import normal
from .types import infer

# Functions of Python that read their arguments and do nothing else.
_READING = frozenset(
    ("range", "len", "abs", "min", "max", "float", "int", "bool", "round", "enumerate", "zip")
)


def written_arguments(function: FunctionType, arguments: tuple[Any, ...]) -> list[int] | None:
    """The arguments that a call may write to, by number; None if that is not known.

    The front end of derivatives says so. A function that it does not understand, or one of other
    arguments than numbers and arrays, may do anything, random draws among it, unless all of its
    statements only read.
    """
    try:
        body = normal(function, list(kinds_of(arguments)))
        infer(body)
    except KernelError:
        return [] if _only_reads(function) else None
    names = written_arrays(body)
    return [j for j, name in enumerate(body.parameters) if name in names]


def _only_reads(function: FunctionType) -> bool:
    """Whether a function has no statement that could write to the memory of an argument."""
    try:
        lines, _ = inspect.findsource(function)
        module = tree("".join(lines))
    except (OSError, TypeError, SyntaxError):
        return False
    line = function.__code__.co_firstlineno
    definitions = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        and min([node.lineno, *(d.lineno for d in node.decorator_list)]) == line
    ]
    return len(definitions) == 1 and all(
        _reads(node, function) for statement in definitions[0].body for node in ast.walk(statement)
    )


def _reads(node: ast.AST, function: FunctionType) -> bool:
    if isinstance(node, ast.AugAssign):  # which changes an array in place
        return False
    if isinstance(node, ast.Subscript | ast.Attribute):
        return isinstance(node.ctx, ast.Load)
    if not isinstance(node, ast.Call):
        return True
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in _READING and called.id not in function.__globals__
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return False
    module = function.__globals__.get(called.value.id)
    if module is np:  # of a ufunc, what comes behind its operands is written to
        ufunc = getattr(np, called.attr, None)
        return isinstance(ufunc, np.ufunc) and len(node.args) <= ufunc.nin and not node.keywords
    return module is math
