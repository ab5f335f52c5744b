"""Text as syntax trees: bodies of ops, kernel modules, functions of loops."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

TRIES = 16


def tree(text: str, mode: str = "exec") -> Any:
    """Parse a text, with retries.

    Python 3.11 counts the depth of syntax trees in all threads together. If another thread or a
    finalizer builds a tree meanwhile, parsing may fail without reason; a retry works.
    """
    for _ in range(TRIES - 1):
        try:
            return ast.parse(text, mode=mode)
        except (SystemError, RecursionError):
            pass
    return ast.parse(text, mode=mode)


@cache
def parse_expression(body: str) -> ast.Expression:
    """Parse an expression. The tree is shared, so callers must not change it."""
    expression: ast.Expression = tree(body, "eval")
    return expression
