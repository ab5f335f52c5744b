"""Custom derivatives: rows whose derivative is computed by a function of the program.

A *link* is a row whose operands are the function's inputs; it computes nothing. After it comes one
row for each result, with the result's value and the link in column ``b``. When `transpose` reaches
one of these rows, `call_gradient` calls the function with the adjoints of all results, and the rows
that it records are adjoint rows like any other. ``Log.calls`` maps the link's row to the function,
as long as a tape may ask.

In a traced call the function also runs immediately, with rows that stand for the adjoints: a
`Segment`. If the recording is appended to a log that a tape follows, the segment's rows are
appended again with the real adjoints (see `replay.splice`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..log.log import Log, local
from ..log.op import ARRAY, CALL, ELEMENTWISE, VARIADIC, Op, defop
from ..log.record import record, unary
from ..ops.creation import zeros
from ..ops.elementwise import add
from ..values.dtypes import float32
from ..values.memory import Array
from ..values.spec import SPECS, Spec, intern
from ..values.tensor import Tensor
from .reachability import FOLLOWED, operands

if TYPE_CHECKING:
    from .templates import TransposeWorkspace

NEEDED = 2

Grad = Callable[[list[Tensor]], list[Tensor | None]]


def _link_spec(op: Op, *specs: Spec, **_: object) -> Spec:
    return intern((), float32)


def _compute_link(out: Array, *xs: Array) -> None:
    out[...] = 0  # the value is never read


LINK = defop("CustomGradient", ARRAY, VARIADIC, _link_spec, compute=_compute_link, gradient=CALL)
RESULT = defop("CustomGradient", ELEMENTWISE, 1, lambda op, x: x, body="x", gradient=CALL)
_record_result = unary(RESULT)


# Stands for an adjoint and has no value.
UPSTREAM = defop("Upstream", ARRAY, 0, lambda op, spec: spec, compute=lambda out, spec: None)


class Segment(NamedTuple):
    """Rows that a function recorded for placeholder adjoints.

    Attributes:
      upstream: The rows that stand for adjoints.
      start, end: The range of rows that it recorded.
      adjoint_rows: The row of each operand's adjoint, or -1.
    """

    upstream: list[int]
    start: int
    end: int
    adjoint_rows: list[int]

    def dependents(self, log: Log) -> list[int]:
        """Return the rows that depend on the adjoints."""
        upstream = set(self.upstream)
        dependents = set(upstream)
        for row in range(self.start, self.end):
            if row not in upstream and not dependents.isdisjoint(operands(log, row)):
                dependents.add(row)
        return sorted(dependents - upstream)


def _raise_no_function(_: list[Tensor]) -> list[Tensor | None]:
    raise AssertionError("a recording has no functions")


class CustomCall:
    """A function that computes derivatives.

    Attributes:
      grad: Maps the adjoints of the results to those of the link's operands.
      outputs: The rows of the results.
      segment: The rows that it recorded for placeholder adjoints; None if it was not traced, or
        read an adjoint's value.
    """

    __slots__ = ("grad", "outputs", "segment")

    def __init__(self, grad: Grad, outputs: list[int]) -> None:
        self.grad, self.outputs = grad, outputs
        self.segment: Segment | None = None

    def without_function(self) -> CustomCall:
        """Return a copy without the function, for a recording to keep."""
        call = CustomCall(_raise_no_function, self.outputs)
        call.segment = self.segment
        return call

    def adjoints(self, log: Log, seeds: list[Tensor]) -> list[int]:
        """Return the rows of the operands' adjoints, -1 for None."""
        return [-1 if x is None else log.row_of(x, None, "gradient")[0] for x in self.grad(seeds)]


def record_custom(results: Sequence[Tensor], inputs: Sequence[Any], grad: Grad) -> list[Tensor]:
    """Record results again, as rows whose derivatives a function computes.

    Args:
      results: Tensors.
      inputs: The tensors and variables that have derivatives.
      grad: Maps the adjoints of the results to those of ``inputs``, or None.
    """
    log = local.log
    busy, log.busy = log.busy, True  # rows must keep their numbers until all are recorded
    try:
        link = record(LINK, tuple(inputs))
        tensors = []
        for result in results:
            tensor = _record_result(result)
            log.b[tensor._row] = link._row
            tensors.append(tensor)
        call = CustomCall(grad, [tensor._row for tensor in tensors])
        call.segment = log.segment(call.adjoints, [tensor._spec for tensor in tensors])
        log.calls[link._row] = call
        return tensors
    finally:
        log.busy = busy


def append_upstream(log: Log, specs: Sequence[Spec]) -> list[Tensor]:
    """Append rows that stand for adjoints and have no values."""
    return [record(UPSTREAM, (), spec=spec) for spec in specs]


def call_gradient(log: Log, row: int, work: TransposeWorkspace) -> None:
    """Call the function behind a result's row, and add its adjoints to those of the operands.

    Rows written so far are published first, because the function may read their values.
    """
    link = int(log.b[row])
    log.n, log.extra_n = int(work.cursor[1]), int(work.cursor[2])
    outer = local.log
    try:
        local.log = log
        for x, adjoint in _compute_contributions(log, row, link, work):
            previous = int(work.adjoint[x])
            if previous >= 0:
                spec = SPECS.specs[log.spec[x]]
                adjoint = add(log.tensor(previous, spec), log.tensor(adjoint, spec))._row
            work.refresh(log)
            work.adjoint[x] = adjoint
    finally:
        local.log = outer
    work.refresh(log)
    work.cursor[0], work.cursor[1], work.cursor[2] = row - 1, log.n, log.extra_n


def _compute_contributions(
    log: Log, row: int, link: int, work: TransposeWorkspace
) -> list[tuple[int, int]]:
    """Return pairs of a row and a row to be added to its adjoint."""
    flags = work.flags
    if not flags[link] & FOLLOWED:  # the tape follows no input of the function
        x = int(log.a[row])
        return [(x, int(work.adjoint[row]))] if flags[x] & NEEDED else []
    inputs = operands(log, link)
    needed = [bool(flags[x] & NEEDED) for x in inputs]
    if link in work.called_links or not any(needed):
        return []
    work.called_links.add(link)
    call = log.calls[link]
    seeds = []
    for output in call.outputs:
        spec, adjoint = SPECS.specs[log.spec[output]], int(work.adjoint[output])
        seeds.append(zeros(spec.shape, spec.dtype) if adjoint < 0 else log.tensor(adjoint, spec))
    return [
        (x, adjoint)
        for x, is_needed, adjoint in zip(inputs, needed, call.adjoints(log, seeds), strict=True)
        if is_needed and adjoint >= 0
    ]


@contextmanager
def stop_recording() -> Iterator[None]:
    """Stop all tapes temporarily, like `GradientTape.stop_recording` of each."""
    log = local.log
    tapes = [
        tape
        for ref in log.tapes
        if (tape := ref()) is not None and tape.recording and not tape.forward
    ]
    for tape in tapes:
        tape.stop()
    try:
        yield
    finally:
        for tape in tapes:
            if not tape.is_spent:
                tape.start()


def depends_on(log: Log, row: int, upstream: set[int]) -> bool:
    """Return whether a row depends on any of some other rows."""
    pending, visited = [row], set[int]()
    low = min(upstream, default=np.iinfo(np.int64).max)
    while pending:
        row = pending.pop()
        if row in upstream:
            return True
        if row >= low and row not in visited:
            visited.add(row)
            pending += operands(log, row)
    return False
