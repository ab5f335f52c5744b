"""Bodies of ops as syntax trees."""

from __future__ import annotations

import ast
import threading
from functools import cache

# Python 3.11 cannot build two trees at once: one of them fails.
_lock = threading.Lock()


@cache
def parsed(body: str) -> ast.Expression:
    """The tree of an expression. It is shared: nobody may change it."""
    with _lock:
        return ast.parse(body, mode="eval")
