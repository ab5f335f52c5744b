"""Append the rows of one log to another: used for a recorded call where a tape records."""

from __future__ import annotations

import threading

import numpy as np

from ..compile.passes import Block
from ..derive.custom import CustomCall
from ..log.log import Log, local
from ..log.op import CODES
from ..values.memory import Array
from ..values.spec import SPECS
from ..values.tensor import Tensor

_local = threading.local()


class SplicedCall:
    """A custom gradient function as it was recorded: its rows, which can be appended again.

    Attributes:
      source: The log that has the rows.
      new_rows: The new numbers of the rows of ``source``.
      call: The recorded call of the function.
      outputs: The same as in `derive.custom`.
    """

    __slots__ = ("call", "new_rows", "outputs", "source")

    def __init__(self, source: Log, new_rows: Array, call: CustomCall) -> None:
        self.source, self.new_rows, self.call = source, new_rows, call
        self.outputs = [int(new_rows[row]) for row in call.outputs]

    def adjoints(self, log: Log, seeds: list[Tensor]) -> list[int]:
        """Return the rows of the operands' adjoints; -1 where an operand has none."""
        segment = self.call.segment
        if segment is None:
            raise RuntimeError(
                "A gradient function read values when its call was recorded: a tape outside of the "
                "recorded function cannot compute its gradient."
            )
        new_rows = self.new_rows.copy()
        new_rows[segment.dependents(self.source)] = -1
        for row, seed in zip(segment.upstream, seeds, strict=True):
            new_rows[row] = log.row_of(seed, None, "gradient")[0]
        splice(self.source, log, new_rows)
        return [int(new_rows[row]) if row >= 0 else -1 for row in segment.adjoint_rows]


def splice(source: Log, target: Log, new_rows: Array) -> None:
    """Append the rows of ``source`` to ``target``. Rows with values keep them.

    Args:
      source: A log that does not change.
      target: This thread's current log.
      new_rows: int32 by row of ``source``: the row of ``target`` that stands for it, or -1. On
        return, it holds the new number of every row.
    """
    outer_log, block = local.log, _local.__dict__.pop("block", None)
    try:
        local.log = target.reentrant_log()  # the new rows follow the last row of the log
        block = block or _make_block()
        _splice(source, target, new_rows, block)
    finally:
        local.log = outer_log
        if block is not None:
            _local.block = block


def _make_block() -> Block:
    block = Block("graft")
    block.take("codes", CODES)
    return block


def _splice(source: Log, target: Log, new_rows: Array, block: Block) -> None:
    target.reserve(source.n)
    target.reserve_operands(source.extra_n)
    given_rows = {row for row in source.buffers if new_rows[row] >= 0}
    numbers = np.array([target.number(variable) for variable in source.variables] or [0], np.int32)
    block.take("source", source.columns, extra=source.extra)
    block.take("log", target.columns, extra=target.extra)
    block.bind(numbers=numbers, to=new_rows)
    words, slots = block.set, block.slots
    words[slots["count"]] = source.n
    words[slots["n"]], words[slots["extra_n"]] = target.n, target.extra_n
    specs = SPECS.specs
    calls = [(link, call) for link, call in source.calls.items() if new_rows[link] < 0]
    n, extra_n = target.n, target.extra_n
    try:
        end = block.call()
        for row, buffer in source.buffers.items():
            if row not in given_rows:
                target.put(int(new_rows[row]), buffer, specs[source.spec[row]])
        for link, call in calls:
            target.calls[int(new_rows[link])] = SplicedCall(source, new_rows, call)
        target.copy_lines(source, new_rows)
        target.extra_n = extra_n + source.extra_n
        target.n = end  # last: the rows exist from here on
    except BaseException:
        retract(target, n, extra_n)
        raise


def retract(log: Log, n: int, extra_n: int) -> None:
    """Remove rows: the log has ``n`` rows again.

    Nothing may refer to the removed rows: no tensor, and none of the log's tables (constants,
    leaves, reads of variables). So only rows that `splice` appended can be removed.
    """
    log.columns.state[n:] = 0  # includes rows that were written but not published
    for row in [row for row in log.buffers if row >= n]:
        log.bytes -= log.buffers.pop(row).nbytes
    log.calls = {link: call for link, call in log.calls.items() if link < n}
    if log.workspace is not None:
        log.workspace.clear_wants(log.n)
    log.n, log.extra_n = n, extra_n
