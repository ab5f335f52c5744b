"""The reference executor: plain NumPy, row by row. It defines what every op means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..log.log import VALUE, Log
from ..log.op import CODES, ELEMENTWISE, READ, VARIADIC
from ..values.memory import array_at
from ..values.spec import SPECS, Spec
from .bodies import apply
from .draws import Entropy, compute_drawn


def operands(log: Log, row: int) -> list[int]:
    """The operand rows of a row."""
    op, _ = CODES.entries[log.code[row]]
    if op.arity == VARIADIC:
        start = log.a[row]
        rows: list[int] = log.extra[start : start + log.b[row]].tolist()
        return rows
    return [column[row] for column in (log.a, log.b, log.c)[: op.arity]]


class ReferenceProgram:
    """Computes rows repeatedly; see `core.cpu.executor.CpuProgram`."""

    feed = None
    deferred = unsure = False

    def __init__(self, log: Log, required: list[int]) -> None:
        self.log = log
        self.cell = log.columns.cell_view
        self.place = {row: row for row in required}
        self.leaves = log.columns.state.copy()
        self.fed = [
            row
            for row in np.flatnonzero(self.leaves).tolist()
            if not SPECS.specs[log.spec[row]].single and row not in log.buffers
        ]

    def another(self, log: Log) -> ReferenceProgram:
        """The same program for a copy of its log."""
        return ReferenceProgram(log, list(self.place))

    def run(self) -> None:
        """Compute the required rows."""
        log = self.log
        log.columns.state[:] = self.leaves
        lent = [row for row in self.fed if row not in log.buffers]
        for row in lent:
            spec = SPECS.specs[log.spec[row]]
            log.buffers[row] = array_at(self.cell[row], spec.shape, spec.dtype.numpy_dtype)
        ReferenceExecutor().compute(self.log, list(self.place), [], False)
        for row in lent:
            del log.buffers[row]

    def direct(self) -> None:
        """None: only Python can compute the rows."""

    def late(self, row: int) -> bool:
        """Whether a single element is outside its cell; never here."""
        return False

    def array(self, row: int) -> np.ndarray[Any, Any]:
        """The value at ``row``, which has a buffer instead of a cell."""
        spec = SPECS.specs[self.log.spec[row]]
        array = self.log.buffers.get(row)
        if array is None:
            array = array_at(self.cell[row], spec.shape, spec.dtype.numpy_dtype)
        return array


class ReferenceExecutor:
    """Computes with NumPy alone."""

    def program(
        self,
        log: Log,
        required: list[int],
        compiled: bool = False,
        looked: bool = True,
        checks: Sequence[tuple[int, str]] = (),
    ) -> ReferenceProgram:
        """Return a program that computes the requested rows repeatedly."""
        return ReferenceProgram(log, required)

    def draw(
        self, name: str, entropy: Entropy, spec: Spec, *parameters: Any
    ) -> np.ndarray[Any, Any]:
        """Random numbers; see `core.reference.draws`."""
        return compute_drawn(name, entropy, spec, *parameters)

    def fill(self, value: int, spec: Spec) -> np.ndarray[Any, Any]:
        """An array filled with one value."""
        return np.full(spec.shape, value, spec.dtype.numpy_dtype)

    def compute(self, log: Log, required: list[int], optional: list[int], retain: bool) -> None:
        """Compute the required rows; with ``retain``, keep every intermediate value."""
        state = log.columns.state_view
        needed: set[int] = set()
        pending = [row for row in required if state[row] != VALUE]
        while pending:
            row = pending.pop()
            if row not in needed:
                needed.add(row)
                pending += [x for x in operands(log, row) if state[x] != VALUE]
        values: dict[int, np.ndarray[Any, Any]] = {}
        keep = needed if retain else {*required, *optional}
        for row in sorted(needed):
            inputs = [
                values[x] if x in values else log.value(x, SPECS.specs[log.spec[x]])
                for x in operands(log, row)
            ]
            values[row] = result(log, row, inputs)
            if row in keep:
                log.put(row, values[row], SPECS.specs[log.spec[row]])
                state[row] = VALUE


def result(log: Log, row: int, inputs: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Compute one row from the values of its operands, into a new array."""
    op, attributes = CODES.entries[log.code[row]]
    spec = SPECS.specs[log.spec[row]]
    dtype = spec.dtype.numpy_dtype
    with np.errstate(all="ignore"):
        if op.kind == ELEMENTWISE or op.compute is not None:
            out = np.empty(spec.shape, dtype)
            apply(op, out, inputs, attributes)
            return out
        assert op.kind == READ or len(inputs) == 1
        return inputs[0].reshape(spec.shape)  # a view, or a read of a row: values never change
