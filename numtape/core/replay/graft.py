"""Rows of one log appended to another: a recorded call, where a tape follows it."""

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
    """A function that gives derivatives, as it was recorded: its rows, to be appended again.

    Attributes:
      source: The log that has them.
      to: The rows that those of ``source`` have become.
      call: What there is of the function.
      outputs: As of `derive.custom.CustomCall`.
    """

    __slots__ = ("call", "outputs", "source", "to")

    def __init__(self, source: Log, to: Array, call: CustomCall) -> None:
        self.source, self.to, self.call = source, to, call
        self.outputs = [int(to[row]) for row in call.outputs]

    def adjoints(self, log: Log, seeds: list[Tensor]) -> list[int]:
        """The rows of the operands' adjoints, -1 where there is none."""
        segment = self.call.segment
        if segment is None:
            raise RuntimeError(
                "A gradient function looked at values when its call was recorded: its gradient "
                "cannot be asked for by a tape that is not part of the recorded function."
            )
        to = self.to.copy()
        to[segment.dependents(self.source)] = -1
        for row, seed in zip(segment.upstream, seeds, strict=True):
            to[row] = log.row_of(seed, None, "gradient")[0]
        splice(self.source, log, to)
        return [int(to[row]) if row >= 0 else -1 for row in segment.adjoint_rows]


def splice(source: Log, target: Log, to: Array) -> None:
    """Append the rows of ``source`` to ``target``; what has a value there has it here.

    Args:
      source: A log that does not change.
      target: This thread's current log.
      to: int32 by row of ``source``: the row of ``target`` that stands for it, or -1. On return
        the row that every row has become.
    """
    outer, block = local.log, _local.__dict__.pop("block", None)
    try:
        local.log = target.reentrant_log()  # there will be rows behind the log's
        block = block or _make_block()
        _splice(source, target, to, block)
    finally:
        local.log = outer
        if block is not None:
            _local.block = block


def _make_block() -> Block:
    block = Block("graft")
    block.take("codes", CODES)
    return block


def _splice(source: Log, target: Log, to: Array, block: Block) -> None:
    target.reserve(source.n)
    target.reserve_operands(source.extra_n)
    given_rows = {row for row in source.buffers if to[row] >= 0}
    numbers = np.array([target.number(v) for v in source.variables] or [0], np.int32)
    block.take("source", source.columns, extra=source.extra)
    block.take("log", target.columns, extra=target.extra)
    block.bind(numbers=numbers, to=to)
    words, slots = block.set, block.slots
    words[slots["count"]] = source.n
    words[slots["n"]], words[slots["extra_n"]] = target.n, target.extra_n
    specs = SPECS.specs
    calls = [(link, call) for link, call in source.calls.items() if to[link] < 0]
    n, extra_n = target.n, target.extra_n
    try:
        end = block.call()
        for row, buffer in source.buffers.items():
            if row not in given_rows:
                target.put(int(to[row]), buffer, specs[source.spec[row]])
        for link, call in calls:
            target.calls[int(to[link])] = SplicedCall(source, to, call)
        target.copy_lines(source, to)
        target.extra_n = extra_n + source.extra_n
        target.n = end  # last: the rows exist from here on
    except BaseException:
        retract(target, n, extra_n)
        raise


def retract(log: Log, n: int, extra_n: int) -> None:
    """Take rows back: the log has ``n`` again.

    Nothing may refer to the rows that go: no tensor, and none of the log's tables, such as those of
    constants, of leaves and of what variables were read as. So only rows that `splice` appended can
    be taken back.
    """
    log.columns.state[n:] = 0  # rows that were written and not published are among them
    for row in [row for row in log.buffers if row >= n]:
        log.bytes -= log.buffers.pop(row).nbytes
    log.calls = {link: call for link, call in log.calls.items() if link < n}
    if log.workspace is not None:
        log.workspace.forget(log.n)
    log.n, log.extra_n = n, extra_n
