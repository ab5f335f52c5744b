"""Text as syntax trees: bodies of ops, kernel modules, functions of loops."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

TRIES = 16


def tree(text: str, mode: str = "exec") -> Any:
    """The tree of a text.

    Python 3.11 counts for all threads together how deep in a tree it is. Where another thread
    builds one meanwhile, which may be anybody's, or a finalizer does, that fails for no reason,
    and works when it is tried again.
    """
    for _ in range(TRIES - 1):
        try:
            return ast.parse(text, mode=mode)
        except (SystemError, RecursionError):
            pass
    return ast.parse(text, mode=mode)


@cache
def parse_expression(body: str) -> ast.Expression:
    """The tree of an expression. It is shared, and must not be changed."""
    expression: ast.Expression = tree(body, "eval")
    return expression
