"""Explanations of gradients that are None, NaN or infinite, for `GradientTape.why`.

The rows from a source to a target are walked again, in Python. Source lines are included if
`instrumentation` recorded them. A tape that is not persistent releases its rows at `gradient`; if a
result is None, it keeps a `RowSnapshot` of them, which explains the None afterwards.
"""

from __future__ import annotations

import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.log import Log, local
from ..log.op import CALL, CODES, CUT, LEAF, MISSING, READ, STOP
from ..log.variable import Variable
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .reachability import FOLLOWED, RECORDED, operands
from .tape import Tape
from .templates import TransposeWorkspace, current_templates
from .transpose import _flag_rows, _locate_sources, _run_transpose, _tape_state

if TYPE_CHECKING:
    from ..values.memory import Array


class Explanation(str):
    """A string whose repr is the text itself, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def describe_row(log: Log, row: int) -> str:
    """Describe a row: its op, shape and dtype, and its source line if it was noted."""
    op, _ = CODES.entries[log.code[row]]
    spec: Spec = SPECS.specs[log.spec[row]]
    line = _source_lines(log).get(row)
    at = f" at {line}" if line else ""
    return f"{op.name} (shape {list(spec.shape)}, {spec.dtype.name}){at}"


def _source_lines(log: Log) -> dict[int, str]:
    """Return the recorded source lines, by row."""
    lines: dict[int, str] = getattr(log.tensors, "lines", {})
    return lines


def _inputs_of(log: Log, row: int) -> list[int]:
    """Return the rows that a row depends on, including the inputs of a custom gradient."""
    rows = operands(log, row)
    if CODES.gradient[log.code[row]] == CALL and CODES.arity[log.code[row]] == 1:
        rows = [*rows, *operands(log, int(log.b[row]))]
    return rows


def rows_between(log: Log, n: int, target: int, sources: set[int]) -> set[int]:
    """Return the rows between sources and a target, whether a tape follows them or not."""
    dependent = set(sources)
    for row in range(min(sources, default=n), target + 1):
        if row not in dependent and not dependent.isdisjoint(_inputs_of(log, row)):
            dependent.add(row)
    path_rows, pending = set[int](), [target] if target in dependent else []
    while pending:
        row = pending.pop()
        if row not in path_rows:
            path_rows.add(row)
            pending += [x for x in _inputs_of(log, row) if x in dependent]
    return path_rows


def find_breaks(
    log: Log, bounds: list[int], flags: Array, target: int, path: set[int], sources: set[int]
) -> list[str]:
    """Describe where a gradient from a target along a path ends, the last row first."""
    breaks, visited, pending = [], set[int](), {target}
    while pending:
        row = max(pending)
        pending.discard(row)
        if row in visited or row in sources:
            continue
        visited.add(row)
        reason = _find_reason(log, bounds, row)
        inputs = [x for x in _inputs_of(log, row) if x in path]
        is_integer_row = (
            not is_float(log, row) and inputs and not any(is_float(log, x) for x in inputs)
        )
        if reason and not is_integer_row:  # else the gradient is lost in an earlier row
            breaks.append(f"{describe_row(log, row)}: {reason}")
        else:
            pending.update(inputs)
    unrecorded = [row for row in sorted(visited) if not flags[row] & RECORDED]
    if unrecorded and not breaks:
        breaks.append(
            f"{describe_row(log, unrecorded[0])}: the tape watched nothing by then that it "
            f"depends on. Watch the source before it is used."
        )
    return breaks


def is_float(log: Log, row: int) -> bool:
    """Return whether a row has a float or complex dtype."""
    return bool(SPECS.specs[log.spec[row]].inexact)


def _find_reason(log: Log, bounds: list[int], row: int) -> str:
    """Return why no gradient flows back through a row; "" if one may."""
    code, spec = log.code[row], SPECS.specs[log.spec[row]]
    op, _ = CODES.entries[code]
    if row < bounds[0]:
        return "it was computed before the tape recorded"
    if row >= bounds[-1]:
        return "it was computed after the tape had ended"
    ranges = zip(bounds[::2], bounds[1::2], strict=True)
    if not any(start <= row < end for start, end in ranges):
        return "it was computed while the tape was stopped"
    if CODES.kind[code] == READ:
        return "it reads a variable: what was assigned to it has no gradient by way of the state"
    if CODES.gradient[code] == CUT:
        return "it stops gradients"
    if not spec.inexact:
        return f"it gives {spec.dtype.name}, and only floats have derivatives"
    if CODES.gradient[code] == STOP:
        return "it has no derivative"
    if CODES.gradient[code] == MISSING:
        return f"no gradient is registered for {op.name}"
    return ""


def first_nonfinite(log: Log, rows: list[int]) -> tuple[int, str] | None:
    """Return the first row that has NaN or infinity, and which of them."""
    for row in rows:
        spec = SPECS.specs[log.spec[row]]
        if spec.is_float and spec.size:
            array = np.asarray(log.tensor(row, spec).numpy())
            if not np.isfinite(array).all():
                return row, "NaN" if np.isnan(array).any() else "infinity"
    return None


def trace_nonfinite(log: Log, target: int, path: set[int], adjoint: Array) -> str:
    """Describe where NaN or infinity came from, in values and in adjoints."""
    # All rows behind the target, whether they depend on the source or not.
    ancestors, pending = set[int](), [target]
    while pending:
        row = pending.pop()
        if row not in ancestors:
            ancestors.add(row)
            pending += _inputs_of(log, row)
    lines = []
    first_value = first_nonfinite(log, sorted(ancestors))
    if first_value is not None:
        row, kind = first_value
        origin = "comes from outside" if CODES.kind[log.code[row]] in (LEAF, READ) else "is made"
        lines.append(f"Its first {kind} among the values {origin} by {describe_row(log, row)}.")
    adjoint_rows = [row for row in sorted(path, reverse=True) if adjoint[row] >= 0]
    first_adjoint = first_nonfinite(log, [int(adjoint[row]) for row in adjoint_rows])
    if first_adjoint is not None:
        row = next(row for row in adjoint_rows if int(adjoint[row]) == first_adjoint[0])
        users = [x for x in sorted(path) if row in _inputs_of(log, x)]
        suffix = f": the derivative of {describe_row(log, users[-1])} gives it" if users else ""
        lines.append(
            f"On the way back the first {first_adjoint[1]} is the gradient by "
            f"{describe_row(log, row)}{suffix}."
        )
    return "\n".join(lines)


def explain(
    log: Log,
    tape: Tape,
    target: int,
    seed: int,
    target_tensor: Tensor | Variable,
    source: Tensor | Variable,
) -> Explanation:
    """Explain the gradient of ``target_tensor``, which is row ``target``, by a source."""
    if isinstance(target_tensor, Variable):
        return Explanation("The target is a variable, which depends on itself alone.")
    n, work = log.n, TransposeWorkspace()
    (location,) = _locate_sources(log, [source])
    work.refresh(log)
    first = _flag_rows(log, work, n, [location], _tape_state(log, tape))
    path, _, breaks, reason = _explain_path(
        log, tape.closed_ranges(log), work.flags[:n].copy(), target, location, target_tensor, source
    )
    if reason:
        return Explanation(reason)
    row, number = location
    work.adjoint[:n] = -1
    work.adjoint[target] = seed
    outer_log = local.log
    try:
        local.log = log.reentrant_log()
        _run_transpose(log, work, n, first, current_templates())
        log.n = int(work.cursor[1])
    except BaseException:
        log.columns.state[log.n :] = 0
        raise
    finally:
        local.log = outer_log
    adjoint = work.adjoint[:n].copy()
    result = adjoint[row] if row >= 0 else work.variable_adjoint.view[number]
    if result < 0:
        return Explanation(_describe_path_end(breaks))
    if first_nonfinite(log, [int(result)]) is None:
        return Explanation("The gradient is there, and finite.")
    return Explanation(
        "The gradient has NaN or infinity.\n" + trace_nonfinite(log, target, path, adjoint)
    )


def _explain_path(
    log: Log,
    bounds: list[int],
    flags: Array,
    target: int,
    location: tuple[int, int],
    target_tensor: Tensor | Variable,
    source: Tensor | Variable,
) -> tuple[set[int], set[int], list[str], str]:
    """Explain a gradient from the rows alone, without their adjoints.

    Args:
      log: The rows: a log, or a `RowSnapshot`.
      bounds: The start and end of each range that the tape recorded.
      flags: The rows that the tape follows and recorded, as flags by row.
      target, location: The row of ``target_tensor``, and the row or variable number of ``source``.
      target_tensor, source: The tensors or variables.

    Returns:
      The rows on the path, the rows of the source, where the path ends, and why the gradient is
      None ("" if these rows do not tell).
    """
    row, number = location
    sources = (
        {row}
        if row >= 0
        else {
            k
            for k in range(log.n)
            if CODES.kind[log.code[k]] == READ and number >= 0 and log.b[k] == number
        }
    )
    kind = "variable" if isinstance(source, Variable) else "tensor"
    description = f"the source, a {kind} of shape {source.shape} and dtype {source.dtype.name},"
    if not source.dtype.is_floating and not source.dtype.is_complex:
        return set(), sources, [], f"The gradient is None: {description} is not of floats."
    path = rows_between(log, log.n, target, sources)
    if not path:
        return path, sources, [], _explain_unrelated(log, target, description)
    breaks = find_breaks(log, bounds, flags, target, path, sources)
    reason = ""
    if not is_float(log, target):
        lines = "\n".join(["", *breaks[:3]])
        dtype = target_tensor.dtype.name
        reason = f"The gradient is None: the target is of {dtype}, not of floats.{lines}"
    elif not any(flags[k] & FOLLOWED for k in sources):
        state = "is not watched by this tape. Call tape.watch with it."
        if isinstance(source, Variable):
            state = (
                "is not watched by this tape. Compute the target inside its `with` block, or call "
                "tape.watch with the variable."
                if source.trainable
                else f"is not trainable, and {state.removeprefix('is ')}"
            )
        reason = f"The gradient is None: {description} {state}"
    return path, sources, breaks, reason


def _describe_path_end(breaks: list[str]) -> str:
    """Return the text for a path that ends at some rows."""
    lines = "\n".join(breaks[:3]) or "no derivative leads from the target to the source."
    return f"The gradient is None: the path ends at\n{lines}"


class RowSnapshot:
    """A copy of the rows of a log, without values, to explain a gradient that is None.

    It has the attributes of a `Log` that `_explain_path` reads.
    """

    def __init__(self, log: Log, tape: Tape, locations: list[tuple[int, int]]) -> None:
        work = TransposeWorkspace()
        work.refresh(log)
        n = self.n = log.n
        _flag_rows(log, work, n, locations, _tape_state(log, tape))
        self.flags = work.flags[:n].copy()
        columns = log.columns
        self.code, self.spec = columns.code[:n].copy(), columns.spec[:n].copy()
        self.a, self.b, self.c = (x[:n].copy() for x in (columns.a, columns.b, columns.c))
        self.extra = log.extra[: log.extra_n].copy()
        self.tensors = SimpleNamespace(lines=dict(_source_lines(log)))
        # Ids of codes and specs are reused if nothing refers to their objects.
        self._numbered = [CODES[k] for k in set(self.code.tolist())]
        self._specs = [SPECS[k] for k in set(self.spec.tolist())]
        self.bounds = tape.closed_ranges(log)


class Unconnected:
    """Sources whose gradient was None, and the rows that explain it.

    Targets and sources are held by weak references, so that their values can be freed.
    """

    def __init__(
        self,
        log: Log,
        tape: Tape,
        targets: list[Any],
        sources: list[Any],
        recording: RowSnapshot | None = None,
    ) -> None:
        locations = _locate_sources(log, [*targets, *sources])
        if recording is None:
            recording = RowSnapshot(log, tape, locations[len(targets) :])
        self.recording: RowSnapshot = recording
        self._locations = {
            id(x): (weakref.ref(x), location)
            for x, location in zip([*targets, *sources], locations, strict=True)
        }

    def _find_location(self, x: object) -> tuple[int, int] | None:
        reference, location = self._locations.get(id(x), (None, None))
        return location if reference is not None and reference() is x else None

    def explain(self, target: Any, source: Any) -> Explanation | None:
        """Explain why the gradient of ``target`` by ``source`` was None; None if unknown."""
        end, start = self._find_location(target), self._find_location(source)
        if end is None or start is None:
            return None
        if isinstance(target, Variable):
            return Explanation("The target is a variable, which depends on itself alone.")
        rows: Any = self.recording
        _, _, breaks, reason = _explain_path(
            rows, rows.bounds, rows.flags, end[0], start, target, source
        )
        return Explanation(reason or _describe_path_end(breaks))


def _explain_unrelated(log: Log, target: int, description: str) -> str:
    """Explain a target that no rows connect with the source."""
    visited, pending = set[int](), [target]
    while pending:
        row = pending.pop()
        if row not in visited:
            visited.add(row)
            pending += _inputs_of(log, row)
    leaves = [k for k in sorted(visited) if CODES.kind[log.code[k]] in (LEAF, READ)]
    leaf_lines = "\n".join(describe_row(log, k) for k in leaves[:5])
    suffix = f"\nand {len(leaves) - 5} others" if len(leaves) > 5 else ""
    return (
        f"The gradient is None: {description} is not among what the target is computed from. Its "
        f"value may have gone through numpy(), float() or NumPy, it may have been computed before, "
        f"in another thread, or assigned over since. The target is computed from\n"
        f"{leaf_lines}{suffix}"
    )
