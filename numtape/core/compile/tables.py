"""The tables that the passes read, under the names of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.op import CODES
from ..values.dtypes import DTYPES
from ..values.memory import reserved
from ..values.spec import SPECS


def code_tables(*names: str) -> dict[str, np.ndarray[Any, Any]]:
    """Columns of the table of codes, such as ``code_kind``."""
    return {name: getattr(CODES, name.removeprefix("code_")) for name in names}


def spec_tables(*names: str) -> dict[str, np.ndarray[Any, Any]]:
    """Columns of the table of specs, such as ``spec_size``."""
    found = {}
    for name in names:
        column = "is_float" if name == "spec_float" else name.removeprefix("spec_")
        found[name] = getattr(SPECS, column)
    return found


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
