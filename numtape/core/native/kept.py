"""Addresses for machine code, and the objects that must live as long as it uses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..values.memory import address_of


class KeepAlive:
    """Returns addresses of objects and keeps the objects alive."""

    def __init__(self, *things: Any) -> None:
        self._owned: list[Any] = [*things]

    def _table(self, numbers: Sequence[int]) -> int:
        """Return the address of an array of numbers."""
        table = np.array([*numbers, 0], np.int64)
        self._owned.append(table)
        return address_of(table)

    def _id(self, thing: Any) -> int:
        """Return the address of an object."""
        self._owned.append(thing)
        return id(thing)

    def _ids(self, objects: Sequence[Any]) -> int:
        """Return the address of an array of the objects' addresses."""
        self._owned.append(objects)
        return self._table([*map(id, objects)])
