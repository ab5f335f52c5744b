"""Checks of values, such as indices, whose outcome nobody waits for.

The first one that fails notes its number in a word on the GPU, which the next look reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from .codegen import function
from .launches import Launch, kernel, threads
from .runtime.device import device, empty, looks

_TEXT = """
def kernel(number, held, word):
    if cuda.grid(1) == 0 and held[0] == 0 and word[0] == 0:
        word[0] = number
"""


class DeviceChecks:
    """The word, and what its numbers mean.

    Attributes:
      expected: Whether something was launched since the last look that may have failed.
    """

    MOST = 4096  # messages that are told apart: they name sizes, and there may be ever new ones

    def __init__(self) -> None:
        self.expected = False
        self._numbers: dict[str, int] = {}
        self._word: Any = None

    @property
    def address(self) -> int:
        """Where the word is."""
        if self._word is None:
            word = empty(8)
            device().upload(np.zeros(1, np.int64), word.address)
            self._word = word
        address: int = self._word.address
        return address

    def launch(self, flag: int, word: int, message: str) -> Launch:
        """What notes that a check failed. ``held`` is the place of what it found."""
        if message not in self._numbers and len(self._numbers) >= self.MOST:
            message = "An index, a divisor or an exponent is not one that its op takes"
        number = self._numbers.setdefault(message, len(self._numbers) + 1)
        compiled = kernel(
            lambda: function(_TEXT, []), ["int64", "*uint8", "*int64"], "verdict", _TEXT
        )
        return Launch(compiled, 1, threads(), (number,), (flag, word))

    def look(self) -> None:
        """Raise what a check has found since the last look."""
        if self.expected:
            self.expected = False
            word = np.empty(1, np.int64)
            try:
                device().download(self.address, word)
            except BaseException:  # an interrupt as well: the next look is told
                self.expected = True
                raise
            if word[0]:
                device().upload(np.zeros(1, np.int64), self.address)
                message = list(self._numbers)[word[0] - 1]
                raise InvalidArgumentError(
                    f"{message}, in a call that was replayed since the last look at a value"
                )


DEVICE_CHECKS = DeviceChecks()
looks.append(DEVICE_CHECKS.look)
