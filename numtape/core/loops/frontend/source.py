"""A function's syntax tree, parsed from its source, and the values of its free names."""

from __future__ import annotations

import ast
import builtins
import inspect
from functools import lru_cache
from types import FunctionType
from typing import Any, NoReturn

from ....errors import KernelError
from ...compile.kernel_sources import tree

MISSING = object()


@lru_cache(64)
def _tree(text: str) -> ast.Module:
    module: ast.Module = tree(text)
    return module


class FunctionSource:
    """A Python function and its syntax tree, which is shared and must not be changed.

    Attributes:
      function: The function.
      file, line: Its source position.
      tree: A FunctionDef or Lambda.
      parameters: The names of its parameters.
      locals: The names that it assigns, including its parameters.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        code = function.__code__
        self.file, self.line = code.co_filename, code.co_firstlineno
        try:
            lines, _ = inspect.findsource(function)
            tree = _tree("".join(lines))
        except (OSError, TypeError, SyntaxError):
            raise KernelError(
                f"the function {function.__qualname__}, whose source cannot be read",
                self.file,
                self.line,
                "Define it in a file or in a notebook's cell, not with exec.",
            ) from None
        functions: list[Any] = [node for node in ast.walk(tree) if self._is(node)]
        if not functions:
            self.refuse(
                f"the function {function.__qualname__}, which is not found in its source",
                None,
                "If its file was changed after the import, import it again.",
            )
        if len(functions) > 1 and not self._places():
            self.refuse(
                "a lambda beside others in its line, as code has no columns here",
                None,
                "Put it on a separate line.",
            )
        # Enclosing lambdas contain these instructions, too, and come first: take the last.
        self.tree: Any = functions[-1]
        kinds = self.tree.args
        if kinds.vararg or kinds.kwarg:
            self.refuse("a parameter *args or **kwargs", None, "Name each parameter.")
        every = (*kinds.posonlyargs, *kinds.args, *kinds.kwonlyargs)
        self.parameters = [parameter.arg for parameter in every]
        self.locals = {*code.co_varnames, *code.co_cellvars}

    def _is(self, node: ast.AST) -> bool:
        code = self.function.__code__
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return code.co_name == node.name and first == code.co_firstlineno
        if not isinstance(node, ast.Lambda) or code.co_name != "<lambda>":
            return False
        if node.lineno != code.co_firstlineno:
            return False
        body: Any = node.body
        start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
        # Of several lambdas in one line, take the one whose body contains the instructions.
        return all(start <= first and last <= end for first, last in self._places())

    def _places(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Return the start and end (line, column) of instructions that have a position."""
        return [
            ((line, column), (last, behind))
            for line, last, column, behind in self.function.__code__.co_positions()
            if line and last and column is not None and behind
        ]

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements."""
        if isinstance(self.tree, ast.Lambda):
            value = self.tree.body
            return [ast.Return(value, lineno=value.lineno)]
        return list(self.tree.body)

    def value(self, node: ast.expr) -> Any:
        """Return the current value of a free name or of its attribute, or MISSING.

        A later assignment to a global does not change sweeps that are already generated.
        """
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            return MISSING if base is MISSING else getattr(base, node.attr, MISSING)
        if hasattr(node, "meaning"):
            return node.meaning
        if not isinstance(node, ast.Name) or node.id in self.locals:
            return MISSING
        code = self.function.__code__
        if node.id in code.co_freevars:
            cells: Any = self.function.__closure__
            try:
                return cells[code.co_freevars.index(node.id)].cell_contents
            except ValueError:
                return MISSING
        scope = self.function.__globals__
        return scope.get(node.id, getattr(builtins, node.id, MISSING))

    def refuse(self, construct: str, node: ast.AST | None, way: str) -> NoReturn:
        """Raise KernelError: the unsupported construct, its position, and an alternative."""
        line = self.line if node is None else getattr(node, "lineno", self.line)
        raise KernelError(construct, self.file, line, way)
