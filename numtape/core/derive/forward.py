"""Forward mode: a pass over rows, in their order, that appends the tangents of each.

The input is the tangents of some rows and variables. The output is rows that compute the tangents
of dependent rows. An op's tangent rule is derived from its VJP rule, once for each combination of
code, specs and operands with tangents: the rule runs on placeholders, its result is linear in the
incoming adjoint, and transposing it gives the tangent (Radul, Paszke, Frostig, Johnson and
Maclaurin, "You Only Linearize Once" (2023), in the opposite direction). So the cost is proportional
to the rows, and no program is transposed twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import InvalidArgumentError
from ..log.log import LEAF_CODE, VALUE, Log, RuleLog, local
from ..log.op import CALL, CODES, CUT, ELEMENTWISE, LEAF, MISSING, READ, STOP, VARIADIC, Op
from ..log.record import record
from ..log.thread_state import Rule
from ..log.variable import Variable
from ..ops.complex import conj
from ..ops.creation import zeros
from ..ops.elementwise import add
from ..ops.joining import CONCAT
from ..ops.movement import BROADCAST
from ..values.intern_table import clearable_cache
from ..values.spec import SPECS, Spec, TensorShape, intern
from ..values.tensor import Tensor
from .reachability import operands
from .tape import Tape
from .transpose import append_adjoints, placeholder, unbroadcast

# References of a template: its own rows from 0 on, or these.
NOTHING, OUTPUT, OPERAND = -1, -2, -3  # operand j is OPERAND - 2 * j, its tangent one less


class ForwardTape(Tape):
    """The tape of an accumulator, which also records the bodies of custom-gradient functions."""

    __slots__ = ()

    forward = True

    def follows(self, value: Tensor | Variable) -> bool:
        """Return whether a value may have a tangent: any variable, and tensors that were used."""
        log = self.log
        assert log is not None
        is_used = not isinstance(value, Tensor) or value._home is log
        return is_used or id(value) in log._leaf_rows


class TangentTemplate(NamedTuple):
    """The tangent of a row's result.

    Attributes:
      rows: Code, references to three operands (of a constant: its bits) and spec, of each row.
      result: The reference to the tangent; NOTHING if it is zero.
      keep_alive: The interned objects of the ids in ``rows``.
    """

    rows: list[tuple[int, int, int, int, int]]
    result: int
    keep_alive: list[Any]


_templates: dict[tuple[Any, ...], TangentTemplate | str] = clearable_cache()


class TangentPass:
    """The tangents of a log's rows, up to a position.

    Args:
      tape: The tape that recorded the rows.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.position = 0
        self.tangents: dict[int, int] = {}  # by row
        self.missing: dict[int, str] = {}  # rows whose tangent takes an op that has no gradient
        self.variables: dict[int, Tensor] = {}  # the tangents of variables, by id
        self._constants: dict[tuple[int, int], int] = {}

    def watch(self, primal: Tensor | Variable, tangent: Tensor) -> None:
        """Set the tangent of a tensor or variable for later computations."""
        if isinstance(primal, Variable):
            self.variables[id(primal)] = tangent
            return
        log = self.tape.log
        assert log is not None
        log.reserve(2)
        self.tangents[log.row_of(primal, None, "watch")[0]] = log.row_of(tangent, None, "watch")[0]

    def advance(self) -> None:
        """Append the tangents of all rows that have been recorded."""
        log = self.tape.log
        assert log is not None
        ranges = self.tape.closed_ranges(log)
        was_busy, old_length = log.busy, log.n
        try:
            log.busy = True
            for range_start, end in zip(ranges[::2], ranges[1::2], strict=True):
                for row in range(max(range_start, self.position), end):
                    if row not in self.tangents:
                        self._append_tangent(log, row)
            self.position = log.n
        finally:
            log.busy = was_busy
        if log.n > old_length:
            self._hide_from_inner_tapes(log, old_length)

    def _hide_from_inner_tapes(self, log: Log, start: int) -> None:
        """Exclude the tangents from tapes that were entered inside this one's block."""
        tapes = [tape for ref in log.tapes if (tape := ref()) is not None]
        index = tapes.index(self.tape)
        for k, tape in enumerate(tapes):
            if tape is not self.tape and tape.recording:
                depth = tape.ranges[-2] - self.tape.ranges[-2] or k - index
                if depth > 0:
                    tape.ranges[-1:] = [start, log.n, -1]

    def _append_tangent(self, log: Log, row: int) -> None:
        code = log.code[row]
        kind = CODES.kind[code]
        if kind == LEAF:
            return
        if kind == READ:
            tangent = self.variables.get(id(log.variables[log.b[row]]))
            if tangent is not None:
                log.reserve(1)
                self.tangents[row] = log.row_of(tangent, None, "jvp")[0]
            return
        operand_rows = operands(log, row)
        tangents = self.tangents
        gradient = CODES.gradient[code]
        if gradient == CALL:  # a result of a custom-gradient function, or its link
            operand_rows = operand_rows if kind == ELEMENTWISE else []
            for x in operand_rows:
                if x in tangents:
                    tangents[row] = tangents[x]
                elif x in self.missing:
                    self.missing[row] = self.missing[x]
                else:
                    self._tangents_by_gradient(log, row)
            return
        has_tangent = tuple([x in tangents for x in operand_rows])
        missing_op = next((self.missing[x] for x in operand_rows if x in self.missing), "")
        out_spec = SPECS.specs[log.spec[row]]
        if not (missing_op or any(has_tangent)) or gradient in (STOP, CUT) or not out_spec.inexact:
            return
        if missing_op or gradient == MISSING:
            self.missing[row] = missing_op or CODES.entries[code][0].name
            return
        op, attributes = CODES.entries[code]
        if op is CONCAT:
            tangents[row] = self._append_concat(log, operand_rows, attributes)
            return
        specs = tuple([SPECS.specs[log.spec[x]] for x in operand_rows])
        key = CODES[code], out_spec, specs, has_tangent
        template = _templates.get(key)
        if template is None:
            template = _templates[key] = _build_template(
                op, attributes, out_spec, specs, has_tangent
            )
        if isinstance(template, str):
            self.missing[row] = template
        elif template.result != NOTHING:
            tangents[row] = self._append_template(log, template, row, operand_rows)

    def _tangents_by_gradient(self, log: Log, row: int) -> None:
        """Compute the tangents of a custom function's results from its gradient function.

        The gradient function is linear in the adjoints of the results. If the adjoints of its
        outputs are the arguments' tangents, its own adjoints are the tangents of the results.
        """
        link, tangents = int(log.b[row]), self.tangents
        inputs = operands(log, link)
        missing_op = next((self.missing[x] for x in inputs if x in self.missing), "")
        if not missing_op and not any(x in tangents for x in inputs):
            return
        call = log.calls.get(link)
        specs = [] if call is None else [SPECS.specs[log.spec[x]] for x in call.outputs]
        if missing_op or call is None or any(spec.dtype.is_complex for spec in specs):
            self.missing[row] = missing_op or "CustomGradient"
            return
        tape = Tape(True, False)
        tape.start()  # what the function computes is to be recorded
        adjoints: list[Any] = [zeros(spec.shape, spec.dtype) for spec in specs]
        for adjoint in adjoints:
            tape.watch_tensor(adjoint)
        try:
            input_rows = call.adjoints(log, adjoints)
        finally:
            tape.stop()
        targets = [
            (y, tangents[x])
            for x, y in zip(inputs, input_rows, strict=True)
            if y >= 0 and x in tangents
        ]
        for output, tangent in zip(
            call.outputs, append_adjoints(log, tape, targets, adjoints), strict=True
        ):
            if tangent is not None and log.a[output] not in tangents:
                tangents[output] = tangent[0]

    def _append_concat(self, log: Log, operand_rows: list[int], attributes: dict[str, Any]) -> int:
        parts = []
        for x in operand_rows:
            spec, tangent = SPECS.specs[log.spec[x]], self.tangents.get(x)
            parts.append(
                zeros(spec.shape, spec.dtype) if tangent is None else log.tensor(tangent, spec)
            )
        row: int = record(CONCAT, tuple(parts), **attributes)._row
        return row

    def _append_template(
        self, log: Log, template: TangentTemplate, row: int, operand_rows: list[int]
    ) -> int:
        """Append a template's rows. Return the tangent's row."""
        tangents = self.tangents
        appended: list[int] = []
        log.reserve(len(template.rows))

        def row_of(ref: int) -> int:
            if ref >= 0:
                return appended[ref]
            if ref == OUTPUT:
                return row
            if ref == NOTHING:
                return 0
            j, tangent = divmod(OPERAND - ref, 2)
            return tangents[operand_rows[j]] if tangent else operand_rows[j]

        for code, x, y, z, spec in template.rows:
            if code == LEAF_CODE:
                appended.append(self._constant(log, x, spec))
                continue
            a, b, c = row_of(x), row_of(y), row_of(z)
            # atomic: see core.values.intern_table
            n = log.n
            log.code[n] = code
            log.a[n] = a
            log.b[n] = b
            log.c[n] = c
            log.spec[n] = spec
            log.n = n + 1
            # end atomic
            appended.append(n)
        return row_of(template.result)

    def _constant(self, log: Log, bits: int, spec: int) -> int:
        """Return the row of a one-element constant; equal constants share a row."""
        row = self._constants.get((bits, spec))
        if row is not None:
            return row
        columns = log.columns
        # atomic: see core.values.intern_table
        n = log.n
        log.code[n] = LEAF_CODE
        log.spec[n] = spec
        columns.cell_view[n] = bits
        columns.state_view[n] = VALUE
        log.n = n + 1
        # end atomic
        self._constants[bits, spec] = n
        return n


def _build_template(
    op: Op,
    attributes: dict[str, Any],
    out_spec: Spec,
    specs: tuple[Spec, ...],
    has_tangent: tuple[bool, ...],
) -> TangentTemplate | str:
    """Build an op's template. Return the name of an op without a gradient if there is one in it."""
    rule_result = None
    while rule_result is None:
        rule_result = _run_rule(op, attributes, out_spec, specs, has_tangent)
    rule_log, targets = rule_result
    tape = Tape(True, False)
    tape.log, tape.events = rule_log, [(0, 0)]
    tape.ranges = [0, rule_log.n]
    first_row = 2 + 2 * len(specs)
    try:
        (tangent,) = append_adjoints(rule_log, tape, targets, [rule_log.tensor(0, out_spec)])
    except LookupError as error:
        return str(error).rpartition(" ")[2]
    if tangent is None:
        return TangentTemplate([], NOTHING, [])
    references = {1: OUTPUT} | {2 + k: OPERAND - k for k in range(first_row - 2)}
    rows: list[tuple[int, int, int, int, int]] = []
    if _reads_adjoint(rule_log, tangent[0], first_row):  # it is linear in the adjoint: use zero
        scalar = intern((), out_spec.dtype)
        zeros_op = BROADCAST.with_attributes({"shape": tuple(out_spec.shape)})
        rows.append((LEAF_CODE, 0, NOTHING, NOTHING, scalar.id))
        rows.append((zeros_op.id, 0, NOTHING, NOTHING, out_spec.id))
        references[0] = 1
    for row in _needed_rows(rule_log, tangent[0], first_row):
        references[row], code, spec = len(rows), rule_log.code[row], rule_log.spec[row]
        if code == LEAF_CODE:
            if SPECS.specs[spec].size != 1:
                raise AssertionError("a rule may record constants of one element only")
            rows.append((code, int(rule_log.columns.cell[row]), NOTHING, NOTHING, spec))
            continue
        if CODES.arity[code] == VARIADIC:
            raise AssertionError("a rule may not record variadic ops")
        a, b, c = (*(references[x] for x in operands(rule_log, row)), NOTHING, NOTHING, NOTHING)[:3]
        rows.append((code, a, b, c, spec))
    keep_alive = [*(CODES[row[0]] for row in rows), *(SPECS[row[4]] for row in rows)]
    return TangentTemplate(rows, references[tangent[0]], keep_alive)


def _reads_adjoint(rule_log: Log, result: int, first_row: int) -> bool:
    return any(0 in operands(rule_log, row) for row in _needed_rows(rule_log, result, first_row))


def _needed_rows(rule_log: Log, result: int, first_row: int) -> list[int]:
    """Return the rows after the placeholders that a result depends on, in order."""
    needed = {result}
    for row in range(rule_log.n - 1, first_row - 1, -1):
        if row in needed:
            needed.update(operands(rule_log, row))
    return sorted(row for row in needed if row >= first_row)


def _run_rule(
    op: Op,
    attributes: dict[str, Any],
    out_spec: Spec,
    specs: tuple[Spec, ...],
    has_tangent: tuple[bool, ...],
) -> tuple[Log, list[tuple[int, int]]] | None:
    """Run an op's rule. Return its log, and pairs of an adjoint's row and a tangent's row.

    Rows 0 and 1 are the incoming adjoint and the output; then come each operand and its tangent.
    Return None if a signal handler or a finalizer changed this thread's current log meanwhile.
    """
    assert op.vjp is not None
    rule_log = RuleLog(256 + 2 * len(specs))
    thread_attributes, outer_log, outer_rule = vars(local), local.log, local.rule
    try:
        local.rule = Rule(
            rule_log, outer_log, _run_rule.__code__, getattr(op.vjp, "__globals__", {})
        )
        del local.log
        g, y = placeholder(rule_log, out_spec), placeholder(rule_log, out_spec)
        pairs = [(placeholder(rule_log, spec), placeholder(rule_log, spec)) for spec in specs]
        values = [y, *(x for x, _ in pairs)]
        if op.analytic and any(spec.dtype.is_complex for spec in specs):
            values = [conj(x) if x.dtype.is_complex else x for x in values]
        adjoints = op.vjp(g, *values, **attributes)
        if not isinstance(adjoints, tuple | list):
            adjoints = (adjoints,)
        seeds: dict[int, Tensor] = {}
        for adjoint, (_, tangent), spec, is_active in zip(
            adjoints, pairs, specs, has_tangent, strict=True
        ):
            if is_active and adjoint is not None:
                row = unbroadcast(adjoint, spec, op.name)._row
                seeds[row] = add(seeds[row], tangent) if row in seeds else tangent
        targets = [(row, seed._row) for row, seed in seeds.items()]
    except Exception:
        if "log" in thread_attributes:
            return None
        raise
    finally:
        # atomic: an interrupt in between would leave the thread without its own log
        is_disturbed = "log" in thread_attributes
        local.log, local.rule = outer_log, outer_rule
        # end atomic
    return None if is_disturbed else (rule_log, targets)


def check_tangent_shape(primal: TensorShape, tangent: TensorShape) -> None:
    """Raise an error unless the shape of a tangent is that of its primal."""
    if primal != tangent:
        raise InvalidArgumentError(
            f"A tangent has the shape of its primal, {primal}: got {tangent}."
        )
