"""The tables through which passes find kernels."""

from __future__ import annotations

from itertools import count

import numpy as np

from ..values.dtypes import DTYPES
from ..values.intern_table import CACHES, CAPACITY
from ..values.memory import Array, reserve_zeros, view


class Lanes:
    """Addresses of lane kernels by op, operand dtype and result dtype; 0 if not compiled yet.

    Like the arrays of other tables, this one never moves, and addresses are stored atomically.
    """

    MAX_OPS = 1024  # ops with lane kernels

    def __init__(self) -> None:
        self.dtypes = len(DTYPES)
        self.kernels = reserve_zeros((self.MAX_OPS, self.dtypes, self.dtypes), np.int64)

    def add(self, op_index: int, operand: int, result: int, address: int) -> None:
        """Enter a kernel."""
        self.kernels[op_index, operand, result] = address


LANES = Lanes()


class Calls:
    """Whole-array kernels of rows of few elements, by code and specs.

    The entries of one code form a list; see ENTRY in `kernels/passes/layout.py`. The table is
    cleared when numbers of codes or specs are freed.

    Other threads, finalizers and signal handlers may run between any two steps, and plans read the
    lists without a lock. So an entry reserves its index before it is filled, and is complete
    before it is linked: two entries at one index would make a cyclic list. An entry that is linked
    while the table is cleared is lost, and created again when needed.

    Attributes:
      arrays: Arrays that entries refer to by address; plans hold `referenced_arrays`. Clearing the
        table replaces this list: an entry that another thread adds meanwhile is in the old one.
    """

    MAX_ENTRIES = 1 << 14

    def __init__(self) -> None:
        self.first = reserve_zeros((CAPACITY,), np.int32)
        self.entries = reserve_zeros((self.MAX_ENTRIES, 8), np.int64)
        self.arrays: list[Array] = []
        self._arrays_before: list[Array] = []
        self._codes: list[int] = []
        self._numbers = count()  # of entries, which reuse positions cyclically
        self._start = 0  # the first number since the table was cleared
        self._first_view, self._next_view = view(self.first), view(self.entries[:, 0])
        CACHES.append(self.clear)

    def add(
        self,
        code: int,
        specs: list[int],
        kernel: int,
        parameters: Array | None,
        address: int,
        units: int,
    ) -> bool:
        """Enter a kernel, or 0 for a row without one. Returns False if the table is full."""
        start = self._start
        number = next(self._numbers)
        if number - start >= self.MAX_ENTRIES:
            return False
        position = number % len(self.entries)
        if parameters is not None:
            self.arrays.append(parameters)
        specs = [*specs, -1, -1, -1][:4]
        self.entries[position, 1:] = *specs, kernel, address, units
        self._codes.append(code)
        firsts, nexts = self._first_view, self._next_view
        if self._start == start:  # atomic: no calls from here on
            nexts[position] = firsts[code] - 1
            firsts[code] = position + 1
        return True

    def referenced_arrays(self) -> tuple[list[Array], list[Array]]:
        """Objects that all current entries refer to by address."""
        return self._arrays_before, self.arrays

    def clear(self) -> None:
        """Remove all entries."""
        # The list of codes is replaced first. An `add` that began before the next step is cleared
        # here or never linked, or has its code in the new list.
        codes: list[int] = []
        arrays: list[Array] = []
        # atomic: see core.values.intern_table
        old_codes = self._codes
        self._codes = codes
        # end atomic
        self._start = next(self._numbers) + 1
        for code in old_codes:
            self.first[code] = 0
        # atomic: see core.values.intern_table
        self._arrays_before = self.arrays
        self.arrays = arrays
        # end atomic


CALLS = Calls()
