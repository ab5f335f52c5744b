"""A cache of adjoint rows: a training loop pays for rules and the reverse walk once.

The rows that `transpose` appends depend only on the rows of the log and on the request. If both are
the same as before, the same rows are appended again.
"""

from __future__ import annotations

import threading
from typing import Any

from ..compile.passes import Block, pack_arguments
from ..log.log import Log
from ..plan.structure_cache import StructureCache, columns_of, operands_of
from ..values.intern_table import generation
from ..values.memory import Array

Key = tuple[Any, ...]


class Adjoints:
    """The adjoint rows that followed a log's first ``n`` rows, and the results.

    Attributes:
      count: How many rows were appended.
      source_rows: The row of each source's adjoint, or -1.
      watched: Which variables the tape watched, after `follow`.
      extra_n, added_operands: The number of operands of variadic rows before, and of those that
        were appended.
      keep_alive: Templates and other objects that keep the ids in the rows valid.
      reuse_count, columns_id: How often gradients appended the rows again in one log, and the id of
        that log's columns.
      arguments: The arguments of the pass `repeat`, which compares and appends.
      recording: A copy of the rows, once a gradient by one of them was None (see `explain`).
    """

    __slots__ = (
        "added_operands",
        "arguments",
        "columns_id",
        "count",
        "extra_n",
        "keep_alive",
        "n",
        "recording",
        "reuse_count",
        "source_rows",
        "watched",
    )

    def __init__(
        self,
        log: Log,
        n: int,
        extra_n: int,
        columns: Array,
        operands: Array,
        source_rows: list[int],
        watched: list[int],
        keep_alive: list[object],
    ) -> None:
        self.n, self.count, self.source_rows, self.watched = n, log.n - n, source_rows, watched
        self.keep_alive, self.reuse_count, self.columns_id = keep_alive, 0, 0
        self.recording: Any = None
        self.extra_n, self.added_operands = extra_n, log.extra_n - extra_n
        cells, states = log.columns.cell[n : log.n].copy(), log.columns.state[n : log.n].copy()
        self.arguments = pack_arguments(
            "repeat",
            n=n,
            columns=columns,
            operands=operands,
            operand_count=extra_n,
            count=self.count,
            added=columns_of(log, n, log.n),
            added_cells=cells,
            added_states=states,
            added_operands=operands_of(log, extra_n),
            added_operand_count=self.added_operands,
        )


class AdjointCache:
    """The cache of one thread."""

    def __init__(self) -> None:
        self.entries: StructureCache[Adjoints] = StructureCache()
        self.block: Block | None = None  # created when an entry is first recalled
        self.columns: Any = None
        self.extra: Any = None

    def recall(self, log: Log, key: Key) -> Adjoints | None:
        """Append the rows of an earlier gradient if everything is the same. Return its entry."""
        for entry in self.entries.entries_of(key):
            if entry.extra_n != log.extra_n:
                continue
            log.reserve(entry.count)
            log.reserve_operands(entry.added_operands)
            block = self.block
            if block is None:
                block = self.block = Block("repeat")
            if log.columns is not self.columns or log.extra is not self.extra:
                self.bind(log, block)
            block.give(entry.arguments)
            try:
                if block.call():
                    log.n, log.extra_n = entry.n + entry.count, entry.extra_n + entry.added_operands
                    return entry
            except BaseException:
                log.columns.state[log.n :] = 0  # constants of rows that do not exist
                raise
        return None

    def bind(self, log: Log, block: Block) -> None:
        """Bind arrays that have moved since the last call."""
        self.columns = None  # until everything is bound, in case of an interrupt
        block.take("log", log.columns, extra=log.extra)
        self.extra = log.extra
        self.columns = log.columns

    def store(
        self,
        log: Log,
        key: Key,
        n: int,
        extra_n: int,
        source_rows: list[int],
        watched: list[int],
        keep_alive: list[object],
    ) -> None:
        """Store the rows appended after the first ``n`` rows, if those ``n`` rows were seen before.

        ``extra_n`` is the number of operands of variadic rows among the first ``n`` rows.
        """
        if not self.entries.fits(log.n):
            return
        generation_number = generation.number
        columns, operands = columns_of(log, 0, n), operands_of(log, 0, extra_n)
        if self.entries.comes_again(key, columns, operands):
            entry = Adjoints(log, n, extra_n, columns, operands, source_rows, watched, keep_alive)
            self.entries.keep(key, log.n, entry, generation_number)


_local = threading.local()


def take_cache() -> AdjointCache:
    """Take this thread's cache. Code that interrupts its use gets a new one."""
    cache: AdjointCache | None = _local.__dict__.pop("memory", None)
    return AdjointCache() if cache is None else cache


def return_cache(cache: AdjointCache) -> None:
    """Return the cache after use."""
    _local.memory = cache
