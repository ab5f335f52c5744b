"""Asynchronous device-side checks, for example of index bounds.

The first check that fails writes its number to an error word on the GPU. The next download of a
value reads that word and raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from .codegen import function
from .launches import Launch, kernel, threads
from .runtime.device import device, download_hooks, empty

_TEXT = """
def kernel(number, held, word):
    if cuda.grid(1) == 0 and held[0] == 0 and word[0] == 0:
        word[0] = number
"""


class DeviceChecks:
    """The error word, and the message of each error number.

    Attributes:
      expected: Whether any check was launched since the word was last read.
    """

    MOST = 4096  # distinct messages: they contain sizes, so their number is unbounded

    def __init__(self) -> None:
        self.expected = False
        self._numbers: dict[str, int] = {}
        self._word: Any = None

    @property
    def address(self) -> int:
        """The address of the error word, which is allocated at the first use."""
        if self._word is None:
            word = empty(8)
            device().upload(np.zeros(1, np.int64), word.address)
            self._word = word
        address: int = self._word.address
        return address

    def launch(self, flag: int, word: int, message: str) -> Launch:
        """Return the launch that records a failed check.

        ``flag`` is the place of the check's result, ``word`` that of the error word.
        """
        if message not in self._numbers and len(self._numbers) >= self.MOST:
            message = "An index, a divisor or an exponent is out of range"
        number = self._numbers.setdefault(message, len(self._numbers) + 1)
        compiled = kernel(
            lambda: function(_TEXT, []), ["int64", "*uint8", "*int64"], "verdict", _TEXT
        )
        return Launch(compiled, 1, threads(), (number,), (flag, word))

    def look(self) -> None:
        """Raise the error of the first check that failed since the last call.

        Raises:
          InvalidArgumentError: If a check failed.
        """
        if self.expected:
            self.expected = False
            word = np.empty(1, np.int64)
            try:
                device().download(self.address, word)
            except BaseException:  # an interrupt as well: the next call reads the word again
                self.expected = True
                raise
            if word[0]:
                device().upload(np.zeros(1, np.int64), self.address)
                message = list(self._numbers)[word[0] - 1]
                raise InvalidArgumentError(
                    f"{message}, in a call replayed since a value was last read"
                )


DEVICE_CHECKS = DeviceChecks()
download_hooks.append(DEVICE_CHECKS.look)
