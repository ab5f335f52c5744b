"""Tables and graphs of the ops that a `GradientTape` has recorded."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .core.derive.reachability import operands
from .core.derive.tape import Tape
from .core.log.op import CODES, LEAF, READ
from .core.values.spec import SPECS, Spec


def summary(tape: Tape | None) -> str:
    """Return a table of the recorded ops: their number and the bytes of their results."""
    lines = [f"{'op':<16} {'count':>5} {'bytes':>11}"]
    counts, sizes = _count_ops(tape)
    for name in sorted(counts):
        lines.append(f"{name:<16} {counts[name]:>5} {sizes[name]:>11}")
    lines.append(f"{'all':<16} {counts.total():>5} {sizes.total():>11}")
    return "\n".join(lines)


def html_table(tape: Tape | None) -> str:
    """Return the same table as HTML, for notebooks."""
    counts, sizes = _count_ops(tape)
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{counts[name]}</td><td>{sizes[name]}</td></tr>"
        for name in sorted(counts)
    )
    return (
        f"<table><caption>GradientTape: {counts.total()} ops</caption>"
        f"<tr><th>op</th><th>count</th><th>bytes</th></tr>{rows}</table>"
    )


def to_dot(tape: Tape | None, most: int) -> str:
    """Return the last ``most`` recorded ops as a Graphviz graph."""
    ops = _recorded_ops(tape)
    last_ops = ops[max(len(ops) - most, 0) :]
    number = {op.row: k for k, op in enumerate(last_ops)}
    lines = ["digraph tape {"]
    if len(last_ops) < len(ops):
        lines.append(f'  more [label="{len(ops) - len(last_ops)} ops before"];')
    for k, op in enumerate(last_ops):
        label = f"{op.name}\\n{op.spec.dtype.name} {list(op.spec.shape)}"
        lines.append(f'  r{k} [label="{label}"];')
        lines += [f"  r{number[x]} -> r{k};" for x in dict.fromkeys(op.operands) if x in number]
    return "\n".join([*lines, "}"])


class _RecordedOp(NamedTuple):
    """An op that a tape has recorded.

    Attributes:
      row: Its row in the log.
      name: The op's name.
      spec: The spec of its result.
      operands: The rows of its operands; none for a read of a variable.
    """

    row: int
    name: str
    spec: Spec
    operands: Sequence[int]


def _recorded_ops(tape: Tape | None) -> list[_RecordedOp]:
    if tape is None or tape.log is None:
        return []
    log, bounds = tape.log, tape.closed_ranges(tape.log)
    ops = []
    for start, end in zip(bounds[::2], bounds[1::2], strict=True):
        for row in range(start, end):
            code, spec = log.code[row], SPECS.specs[log.spec[row]]
            if CODES.kind[code] != LEAF:
                operand_rows = () if CODES.kind[code] == READ else operands(log, row)
                ops.append(_RecordedOp(row, CODES.entries[code][0].name, spec, operand_rows))
    return ops


def _count_ops(tape: Tape | None) -> tuple[Counter[str], Counter[str]]:
    """Return the number of recorded rows and the bytes of their results, by op."""
    counts, sizes = Counter[str](), Counter[str]()
    for op in _recorded_ops(tape):
        counts[op.name] += 1
        sizes[op.name] += op.spec.size * op.spec.dtype.size
    return counts, sizes
