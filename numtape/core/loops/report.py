"""A readable report of a derivative: its sweeps, what they store and what they recompute."""

from __future__ import annotations

import linecache
import re
from collections import Counter
from typing import Any

from ...errors import ResourceExhaustedError
from .emit.text import LINES, NO_ROOM
from .program import LoopProgram
from .runtime import plain

_RECOMPUTED_LINE = re.compile(r" *(.*?)  # again (\d+)")


class Adjoint:
    """The sweeps of a kernel, as `Kernel.adjoint` returns them.

    Attributes:
      source: Their text, which runs without Numba. A line ``# line 3`` in it marks the code of
        the kernel's line 3, counted from its first.
    """

    def __init__(self, program: LoopProgram, arguments: tuple[Any, ...]) -> None:
        self._program, self._arguments = program, arguments
        self._stored: dict[int, int] | None = None
        self.source = program.source

    @property
    def stored(self) -> dict[int, int]:
        """Bytes on the stack after the forward sweep for these arguments, by line of the file.

        The first access runs the forward sweep as Python to count them.
        """
        if self._stored is None:
            self._stored = self._count_stored()
        return dict(self._stored)

    @property
    def recomputed(self) -> dict[int, list[str]]:
        """The values that the reverse sweep recomputes, by line of the file."""
        by_line: dict[int, list[str]] = {}
        for line in self.source.splitlines():
            match = _RECOMPUTED_LINE.fullmatch(line)
            if match:
                by_line.setdefault(self._program.line + int(match[2]), []).append(match[1])
        return dict(sorted(by_line.items()))

    def _count_stored(self) -> dict[int, int]:
        counts: Counter[int] = Counter()

        def count(size: int, lines: tuple[int, ...]) -> None:
            for line in lines:
                counts[self._program.line + line] += int(size) // len(lines)

        size = 1 << 16
        while True:
            counts.clear()
            status, _, _ = plain.run(self._program, list(self._arguments), size, count)
            if status & ((1 << LINES) - 1) != NO_ROOM:
                return dict(sorted(counts.items()))
            size *= 8
            if size > 1 << 33:
                raise ResourceExhaustedError("The stack is too large to be counted.")

    def __repr__(self) -> str:
        stored, recomputed = self.stored, self.recomputed
        first_line = self._program.line
        last_line = max([first_line, *stored, *recomputed])
        rows = [("line", "bytes stored", "computed again", "")]
        for line in range(first_line, last_line + 1):
            text = linecache.getline(self._program.file, line).rstrip()
            names = dict.fromkeys(x.partition(" = ")[2] for x in recomputed.get(line, []))
            rows.append((str(line), str(stored.get(line, "")), "; ".join(names), text))
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        return "\n".join(
            "  ".join(
                [row[0].rjust(widths[0]), row[1].rjust(widths[1]), row[2].ljust(widths[2]), row[3]]
            ).rstrip()
            for row in rows
        )
