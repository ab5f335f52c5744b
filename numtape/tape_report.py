"""Tables and graphs of the ops that a `GradientTape` has recorded."""

from __future__ import annotations

import html
from collections import Counter

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
    rows = _recorded_rows(tape)
    last_rows = rows[max(len(rows) - most, 0) :]
    number = {row: k for k, row in enumerate(last_rows)}
    lines = ["digraph tape {"]
    if len(last_rows) < len(rows):
        lines.append(f'  more [label="{len(rows) - len(last_rows)} ops before"];')
    for row in last_rows:
        assert tape is not None and tape.log is not None
        name, spec = _op_of(tape, row)
        label = f"{name}\\n{spec.dtype.name} {list(spec.shape)}"
        lines.append(f'  r{number[row]} [label="{label}"];')
        if CODES.kind[tape.log.code[row]] != READ:
            lines += [
                f"  r{number[x]} -> r{number[row]};"
                for x in dict.fromkeys(operands(tape.log, row))
                if x in number
            ]
    return "\n".join([*lines, "}"])


def _recorded_rows(tape: Tape | None) -> list[int]:
    if tape is None or tape.log is None:
        return []
    bounds = tape.closed_ranges(tape.log)
    ranges = zip(bounds[::2], bounds[1::2], strict=True)
    rows = [row for start, end in ranges for row in range(start, end)]
    return [row for row in rows if CODES.kind[tape.log.code[row]] != LEAF]


def _op_of(tape: Tape, row: int) -> tuple[str, Spec]:
    """Return the name of a row's op, and the spec of its result."""
    assert tape.log is not None
    return CODES.entries[tape.log.code[row]][0].name, SPECS.specs[tape.log.spec[row]]


def _count_ops(tape: Tape | None) -> tuple[Counter[str], Counter[str]]:
    """Return the number of recorded rows and the bytes of their results, by op."""
    counts, sizes = Counter[str](), Counter[str]()
    for row in _recorded_rows(tape):
        assert tape is not None
        name, spec = _op_of(tape, row)
        counts[name] += 1
        sizes[name] += spec.size * spec.dtype.size
    return counts, sizes
