"""A cache of facts about objects that does not keep them alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import update_wrapper
from typing import TypeVar

T = TypeVar("T")
V = TypeVar("V")

MAX_ENTRIES = 1024  # the cache is cleared when it is full


def weak_cache(function: Callable[[T], V]) -> Callable[[T], V]:
    """Cache a function of one object (a class or code, say) whose result never changes."""
    cache: dict[int, tuple[weakref.ref[T], V]] = {}

    def lookup(x: T) -> V:
        try:
            reference, value = cache[id(x)]
            if reference() is x:
                return value
        except KeyError:
            pass
        value = function(x)
        if len(cache) >= MAX_ENTRIES:
            cache.clear()
        cache[id(x)] = weakref.ref(x), value
        return value

    return update_wrapper(lookup, function)
