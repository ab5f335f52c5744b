"""The tables of kernels, which passes read."""

from __future__ import annotations

import numpy as np

from ..values.dtypes import DTYPES
from ..values.interning import CACHES, CAPACITY
from ..values.memory import Array, reserved


class Lanes:
    """Addresses of lane kernels by op, operand dtype and result dtype; 0 where there is none.

    Like the arrays of other tables this one never moves, and an address is entered in one step.
    """

    MOST = 1024  # ops with lane kernels

    def __init__(self) -> None:
        self.dtypes = len(DTYPES)
        self.kernels = reserved((self.MOST, self.dtypes, self.dtypes), np.int64)

    def add(self, lane: int, operand: int, result: int, address: int) -> None:
        """Enter a kernel."""
        self.kernels[lane, operand, result] = address


LANES = Lanes()


class Calls:
    """Which whole-array kernels compute rows of few elements, by code and specs.

    The entries of one code are a list; see ENTRY in `kernels/passes/layout.py`. When numbers of
    codes and specs are freed, all is forgotten.

    Attributes:
      held: What entries refer to by address; plans hold `lists`. It is another list after
        everything was forgotten: where another thread enters something meanwhile, that is in
        the list before.
    """

    MOST = 1 << 14

    def __init__(self) -> None:
        self.first = reserved((CAPACITY,), np.int32)
        self.entries = reserved((self.MOST, 8), np.int64)
        self.count = 0
        self.held: list[Array] = []
        self._before: list[Array] = []
        self._codes: list[int] = []
        CACHES.append(self.clear)

    def add(
        self, code: int, specs: list[int], kernel: int, parameters: Array | None, address: int,
        units: int,
    ) -> bool:  # fmt: skip
        """Enter a kernel, 0 where there is none. False if there is no room."""
        n = self.count
        if n == self.MOST:
            return False
        if parameters is not None:
            self.held.append(parameters)
        specs = [*specs, -1, -1, -1][:4]
        self.entries[n] = int(self.first[code]) - 1, *specs, kernel, address, units
        self.count = n + 1
        self._codes.append(code)
        self.first[code] = n + 1
        return True

    def lists(self) -> tuple[list[Array], list[Array]]:
        """What all entries of now refer to by address."""
        return self._before, self.held

    def clear(self) -> None:
        """Forget everything."""
        codes, self._codes = self._codes, []
        for code in codes:
            self.first[code] = 0
        self.count = 0
        self._before = self.held
        self.held = []


CALLS = Calls()
