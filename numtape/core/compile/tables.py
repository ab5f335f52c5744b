"""The table of lane kernels, which passes read."""

from __future__ import annotations

import numpy as np

from ..values.dtypes import DTYPES
from ..values.memory import reserved


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
