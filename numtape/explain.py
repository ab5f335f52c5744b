"""Explanations of a `GradientTape`: why a gradient has its value, and which ops were recorded."""

from __future__ import annotations

import html
from collections import Counter
from typing import TYPE_CHECKING

from .core.log.op import CODES, LEAF, READ
from .core.values.arguments import to_int
from .core.values.spec import SPECS

if TYPE_CHECKING:
    from .core.derive.tape import Tape
    from .core.log.variable import Variable
    from .core.values.tensor import Tensor


class ExplainMixin:
    """The part of a tape that explains."""

    _tape: Tape | None

    def why(self, target: Tensor | Variable | None, source: Tensor | Variable | None) -> str:
        """Explain why the gradient of a target by a source is None, NaN or infinite.

        With ``NUMTAPE_TRACEBACK=1`` or `config.set_record_traceback` the text names the program's
        lines.
        A tape that is not persistent releases its rows at `gradient`; afterwards it still explains
        the gradients that were None in that call.

        Args:
          target: A tensor.
          source: A tensor or variable.

        Returns:
          A text: the op where the path ends, or the first ops that returned NaN or infinity.

        Raises:
          RuntimeError: If the tape never recorded; or if it is not persistent, has computed
            gradients, and the gradient by this source was not None.
          LookupError: If a path leads through an op that has no gradient registered.
          TypeError: If an argument is not a tensor or variable.

        Example:
          >>> x = tf.Variable([1.0, 4.0])
          >>> with tf.GradientTape() as tape:
          ...     y = tf.reduce_sum(tf.floor(x) * 2.0)
          >>> print(tape.why(y, x))
          The gradient is None: the path ends at
          Floor (shape [2], float32): it has no derivative
        """
        return self._why(target, source)

    def _why(self, target: Tensor | Variable | None, source: Tensor | Variable | None) -> str:
        raise NotImplementedError

    def summary(self) -> str:
        """Return a table of the recorded ops: their number and the bytes of their results.

        Returns:
          A text of several lines.

        Example:
          >>> v = tf.Variable([1.0, 2.0])
          >>> with tf.GradientTape() as tape:
          ...     y = v * v + v
          >>> print(tape.summary())
          op               count       bytes
          AddV2                1           8
          Mul                  1           8
          ReadVariableOp       1           8
          all                  3          24
        """
        lines = [f"{'op':<16} {'count':>5} {'bytes':>11}"]
        counts, sizes = self._count_rows()
        for name in sorted(counts):
            lines.append(f"{name:<16} {counts[name]:>5} {sizes[name]:>11}")
        lines.append(f"{'all':<16} {counts.total():>5} {sizes.total():>11}")
        return "\n".join(lines)

    def _rows(self) -> list[int]:
        tape = self._tape
        if tape is None or tape.log is None:
            return []
        bounds = tape.closed_ranges(tape.log)
        stretches = zip(bounds[::2], bounds[1::2], strict=True)
        rows = [row for start, end in stretches for row in range(start, end)]
        return [row for row in rows if CODES.kind[tape.log.code[row]] != LEAF]

    def _count_rows(self) -> tuple[Counter[str], Counter[str]]:
        counts, sizes = Counter[str](), Counter[str]()
        for row in self._rows():
            assert self._tape is not None and self._tape.log is not None
            log = self._tape.log
            spec = SPECS.specs[log.spec[row]]
            name = CODES.entries[log.code[row]][0].name
            counts[name] += 1
            sizes[name] += spec.size * spec.dtype.size
        return counts, sizes

    def to_dot(self, most: int = 200) -> str:
        r"""Return the recorded ops as a Graphviz graph, with an arrow from each operand.

        Args:
          most: The maximum number of ops: the last ones are shown.

        Returns:
          A text.

        Raises:
          TypeError: If ``most`` is not an int.

        Example:
          >>> v = tf.Variable(2.0)
          >>> with tf.GradientTape() as tape:
          ...     y = tf.sin(v)
          >>> print(tape.to_dot())
          digraph tape {
            r0 [label="ReadVariableOp\nfloat32 []"];
            r1 [label="Sin\nfloat32 []"];
            r0 -> r1;
          }
        """
        from .core.derive.reachability import operands

        rows = self._rows()
        last_rows = rows[max(len(rows) - to_int("most", most), 0) :]
        number = {row: k for k, row in enumerate(last_rows)}
        lines = ["digraph tape {"]
        if len(last_rows) < len(rows):
            lines.append(f'  more [label="{len(rows) - len(last_rows)} ops before"];')
        for row in last_rows:
            assert self._tape is not None and self._tape.log is not None
            log = self._tape.log
            spec, name = SPECS.specs[log.spec[row]], CODES.entries[log.code[row]][0].name
            label = f"{name}\\n{spec.dtype.name} {list(spec.shape)}"
            lines.append(f'  r{number[row]} [label="{label}"];')
            if CODES.kind[log.code[row]] != READ:
                lines += [
                    f"  r{number[x]} -> r{number[row]};"
                    for x in dict.fromkeys(operands(log, row))
                    if x in number
                ]
        return "\n".join([*lines, "}"])

    def _repr_html_(self) -> str:
        counts, sizes = self._count_rows()
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{counts[name]}</td><td>{sizes[name]}</td></tr>"
            for name in sorted(counts)
        )
        return (
            f"<table><caption>GradientTape: {counts.total()} ops</caption>"
            f"<tr><th>op</th><th>count</th><th>bytes</th></tr>{rows}</table>"
        )
