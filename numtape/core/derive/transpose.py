"""Reverse mode: adjoint rows are appended to the log, where they are rows like any other.

A derivative rule runs once, on placeholders in a log of its own, for each combination of code,
operand specs and needed operands. What it recorded, reduced to what is needed and with
broadcasting undone, is a template; `kernels.passes.transpose` walks the log and instantiates them.
"""

from __future__ import annotations

from typing import Any

from ..log.log import LEAF_CODE, SLACK, Log, RuleLog, local
from ..log.op import CODES, VARIADIC, Op
from ..log.tensors import as_tensor
from ..log.threads import Rule
from ..log.variable import Variable
from ..ops.complex import conj
from ..ops.elementwise import add
from ..ops.movement import reshape
from ..ops.reduction import reduce_sum
from ..values.memory import Array, view
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from . import workspace
from .adjoints import Memory, give_back, memory
from .custom import go_back
from .reach import lost, operands, refuse_missing
from .tape import Tape
from .templates import Key, Templates, current
from .workspace import Workspace

# As in kernels/passes/transpose.py (a test compares).
DONE, NO_TEMPLATE, FULL, CALLS = range(4)
NOTHING, G, Y, INPUT = -1, -2, -3, -4
NEEDED = 2
AT_FIRST_READ = 4
ADD_CODE = add.op.code()


def build_template(log: Log, row: int, needed: int, templates: Templates) -> None:
    """Run the rule of a row on placeholders and enter what it recorded."""
    op, attributes = CODES.entries[log.code[row]]
    key = _key(log, row, needed)
    if key in templates.known:
        templates.enter(key, templates.known[key])
        return
    specs = [SPECS.specs[log.spec[x]] for x in operands(log, row)]
    out = SPECS.specs[log.spec[row]]
    wanted = [bool((needed >> j) & 1) for j in range(len(specs))]
    ruled = None
    while ruled is None:
        ruled = run_rule(op, attributes, out, specs, wanted)
    scratch, found = ruled
    rows, results, many = _reduced(scratch, 2 + len(specs), found, templates)
    held = [CODES[log.code[row]], out, *specs]
    held += [CODES[row[0]] for row in rows] + [SPECS[row[4]] for row in rows]
    templates.add(key, rows, results, held, many)


def run_rule(
    op: Op, attributes: dict[str, Any], out: Spec, specs: list[Spec], wanted: list[bool]
) -> tuple[Log, list[Tensor | None]] | None:
    """What the rule of an op records, and the adjoints of wanted operands.

    None if a signal handler or a finalizer changed what this thread's log is: then some of it may
    have been recorded there.
    """
    assert op.vjp is not None
    scratch = RuleLog(256 + len(specs))
    own, outer, before = vars(local), local.log, local.rule
    names = getattr(op.vjp, "__globals__", {})
    try:
        local.rule = Rule(scratch, outer, run_rule.__code__, names)
        del local.log
        places = [placeholder(scratch, spec) for spec in (out, out, *specs)]
        if op.analytic and any(spec.dtype.is_complex for spec in specs):
            g, *values = places
            places = [g, *(conj(x) if x.dtype.is_complex else x for x in values)]
        adjoints = op.vjp(*places, **attributes)
        if not isinstance(adjoints, tuple | list):
            adjoints = (adjoints,)
        if len(adjoints) != len(specs):
            raise AssertionError(f"the rule of {op.name} gives {len(adjoints)} adjoints")
        found = [
            unbroadcast(adjoint, spec, op.name) if want and adjoint is not None else None
            for adjoint, spec, want in zip(adjoints, specs, wanted, strict=True)
        ]
    except Exception:
        if "log" in own:
            return None
        raise
    finally:
        # whole: an interrupt in between would leave the thread without a log of its own
        disturbed = "log" in own
        local.log, local.rule = outer, before
        # done
    return None if disturbed else (scratch, found)


def _key(log: Log, row: int, needed: int) -> Key:
    """What the pass looks a row's template up by."""
    code = log.code[row]
    places = [] if CODES.arity[code] == VARIADIC else operands(log, row)
    s0, s1, s2 = [*(log.spec[x] for x in places), -1, -1, -1][:3]
    return code, s0, s1, s2, log.spec[row], needed


def placeholder(log: Log, spec: Spec) -> Tensor:
    """Append a leaf that has no value: what depends on it is never computed."""
    # whole: nothing runs in between, see core.values.interning
    n = log.n
    log.code[n] = LEAF_CODE
    log.spec[n] = spec.id
    log.n = n + 1
    # done
    return log.tensor(n, spec)


def unbroadcast(adjoint: Any, spec: Spec, op: str) -> Tensor:
    """The adjoint summed over the axes along which the operand was broadcast."""
    found = as_tensor(adjoint)
    if found.dtype is not spec.dtype:
        raise AssertionError(f"the rule of {op} gives {found.dtype.name} for {spec.dtype.name}")
    if found._spec is spec:
        return found
    shape, wanted = found._spec.shape, spec.shape
    lead = len(shape) - len(wanted)
    axes = tuple(range(lead)) + tuple(
        lead + axis for axis, dim in enumerate(wanted) if dim != shape[lead + axis]
    )
    if not axes:
        return found
    if len(axes) == lead or not wanted:  # then there is nothing to keep
        return reduce_sum(found, axes if wanted else None)
    return reshape(reduce_sum(found, axes, True), tuple(wanted))


def _reduced(
    scratch: Log, places: int, found: list[Tensor | None], templates: Templates
) -> tuple[list[tuple[int, ...]], list[int], list[int]]:
    """The scratch log's rows that are needed, renumbered, and references to the results.

    Also the operands of variadic rows: such a row has their place among these, and their number.
    """
    needed = {tensor._row for tensor in found if tensor is not None}
    for row in range(scratch.n - 1, places - 1, -1):
        if row in needed:
            needed.update(operands(scratch, row))
    rows: list[tuple[int, ...]] = []
    many: list[int] = []
    number = {0: G, 1: Y} | {2 + j: INPUT - j for j in range(places - 2)}
    for row in range(places, scratch.n):
        if row not in needed:
            continue
        number[row] = len(rows)
        code, spec = scratch.code[row], scratch.spec[row]
        if code == LEAF_CODE:
            if not SPECS.specs[spec].single:
                raise AssertionError("a rule may record constants of one element only")
            pooled = templates.constant(SPECS.specs[spec], int(scratch.columns.cell[row]))
            rows.append((code, pooled, NOTHING, NOTHING, spec))
            continue
        found_operands = [number[x] for x in operands(scratch, row)]
        if CODES.arity[code] == VARIADIC:
            rows.append((code, len(many), len(found_operands), NOTHING, spec))
            many += found_operands
            continue
        rows.append((code, *found_operands, *[NOTHING] * (3 - len(found_operands)), spec))
    return rows, [NOTHING if x is None else number[x._row] for x in found], many


def transposed(
    log: Log,
    tape: Tape,
    targets: list[tuple[int, int]],
    sources: list[Tensor | Variable],
) -> list[tuple[int, Spec] | None]:
    """Append the adjoint rows for ``targets``, pairs of a row and its seed's row.

    Args:
      log: The current log, which holds the tape's rows.
      tape: Whose rows to follow.
      targets: Rows, each with the row of its incoming adjoint.
      sources: Tensors and variables.

    Returns:
      For each source the row and spec of its adjoint, or None if nothing reaches it. One that is
      a target has at least its seed, unless it is not followed, and others are computed from it.

    Raises:
      LookupError: If a path goes through an op that has no gradient registered.
    """
    targets = _summed(log, targets)
    outer = local.log
    remembered = memory()
    try:
        local.log = log.reentrant_log()  # there will be rows behind the log's
        found = _transposed(log, tape, targets, sources, remembered)
    finally:
        local.log = outer
        give_back(remembered)
    return _results(found, sources)


def _transposed(
    log: Log,
    tape: Tape,
    targets: list[tuple[int, int]],
    sources: list[Tensor | Variable],
    remembered: Memory,
) -> list[int]:
    """As `transposed`; the rows of the sources' adjoints, or -1."""
    n = log.n
    places = _places(log, sources)
    asked = _asked(log, tape)
    extra_n = log.extra_n
    key = n, tuple(targets), tuple(places), *asked.values()
    again = None if log.calls else remembered.recall(log, key)
    if again is not None:
        tape.seen = log.variables.copy(), again.watched
        tape.recalled = again
        return again.found
    # Others of this thread, signal handlers and finalizers, have a workspace of their own.
    work = workspace.of_thread.__dict__.pop("work", None) or Workspace()
    try:
        found, watched, templates = _walked(log, work, tape, n, targets, places, asked)
    finally:
        workspace.of_thread.work = work
    if not log.calls:
        remembered.note(log, key, n, extra_n, found, watched, templates)
    return found


def _walked(
    log: Log,
    work: Workspace,
    tape: Tape,
    n: int,
    targets: list[tuple[int, int]],
    places: list[tuple[int, int]],
    asked: dict[str, tuple[int, ...]],
) -> tuple[list[int], list[int], Templates]:
    """What `_transposed` gives, which variables are watched, and what the rows are made of."""
    work.refresh(log)
    first = _follow(log, work, n, places, asked)
    watched = work.watched.view[: len(log.variables)].tolist()
    tape.seen = log.variables.copy(), watched
    refuse_missing(log, work.flags[first:n], first, targets)
    work.adjoint[:n] = -1
    for row, seed in targets:
        work.adjoint[row] = seed
    templates = current()  # held until rows with the numbers in them are published
    try:
        _transpose(log, work, n, first, templates)
        adjoint, variable_adjoint = view(work.adjoint), work.variable_adjoint.view
        found = [
            adjoint[row] if row >= 0 else variable_adjoint[number] if number >= 0 else -1
            for row, number in places
        ]
        log.n, log.extra_n = int(work.cursor[1]), int(work.cursor[2])
        for j in lost(log, work.flags, targets, places):
            found[j] = -1
    except BaseException:
        # Constants of templates were marked as computed: those rows do not exist.
        log.columns.state[log.n :] = 0
        raise
    return found, watched, templates


def _results(found: list[int], sources: list[Tensor | Variable]) -> list[tuple[int, Spec] | None]:
    return [
        (row, source._spec) if row >= 0 else None
        for row, source in zip(found, sources, strict=True)
    ]


def _places(log: Log, sources: list[Tensor | Variable]) -> list[tuple[int, int]]:
    """Each source's row, and a variable's number in the log; -1 where there is none."""
    numbers, leaves = log.variable_index, log._leaf_rows
    found: list[tuple[int, int]] = []
    for source in sources:
        if type(source) is not Tensor:
            found.append((-1, numbers.get(id(source), -1)))
        elif source._home is log:
            found.append((source._row, -1))
        else:
            found.append((leaves.get(id(source), (-1,))[0], -1))
    return found


def _asked(log: Log, tape: Tape) -> dict[str, tuple[int, ...]]:
    """What a tape says of its log: watched variables, watch events, ranges."""
    accessed = tape.watch_accessed
    positions, events = [], []
    for position, event in tape.events:
        if type(event) is not int:
            number = log.variable_index.get(id(event), -1)
            if number < 0:
                continue
            event = ~number
        positions.append(position)
        events.append(event)
    return {
        "watched": tuple(
            [AT_FIRST_READ if accessed and variable._trainable else 0 for variable in log.variables]
        ),
        "positions": tuple(positions),
        "events": tuple(events),
        "ranges": tuple(tape.closed_ranges(log)),
    }


def _follow(
    log: Log,
    work: Workspace,
    n: int,
    places: list[tuple[int, int]],
    asked: dict[str, tuple[int, ...]],
) -> int:
    """Flag the tape's rows. Returns the first one."""
    count = len(log.variables)
    work.watched.fill(asked["watched"])
    work.variable_source.fill([-1] * count)
    work.variable_adjoint.fill([-1] * count)
    for _, number in places:
        if number >= 0:
            work.variable_source.view[number] = 0
    follow, slots = work.follow, work.follow.slots
    work.positions.fill(asked["positions"])
    follow.set[slots["tape.events"]] = work.events.fill(asked["events"])
    follow.set[slots["tape.stretches"]] = work.ranges.fill(asked["ranges"]) // 2
    follow.set[slots["source_count"]] = work.sources.fill([row for row, _ in places if row >= 0])
    follow.set[slots["n"]] = n
    return follow.call()


def _summed(log: Log, targets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Each target once, with the sum of its seeds."""
    if len(targets) == 1:
        return targets
    found: dict[int, int] = {}
    for row, seed in targets:
        if row in found:
            spec = SPECS.specs[log.spec[row]]
            seed = add(log.tensor(found[row], spec), log.tensor(seed, spec))._row
        found[row] = seed
    return list(found.items())


def _transpose(log: Log, work: Workspace, n: int, first: int, templates: Templates) -> None:
    """Append adjoint rows behind the log's, not published yet: ``work.cursor[1]`` ends them."""
    # Constants that are entered from now on have no row yet: nobody has asked for them.
    work.pool_row[: templates.constants] = 0
    work.called.clear()
    cursor = view(work.cursor)
    cursor[0], cursor[1], cursor[2] = n - 1, log.n, log.extra_n
    transpose, slots = work.transpose, work.transpose.slots
    transpose.set[slots["first"]] = first
    transpose.set[slots["add_code"]] = ADD_CODE
    transpose.set[slots["leaf_code"]] = LEAF_CODE
    while True:
        work.refresh(log)
        work.use(templates)
        transpose.set[slots["capacity"]] = log.columns.capacity - SLACK
        cursor[3] = log.extra.size
        status = transpose.call()
        if status == DONE:
            return
        row = cursor[0]
        if status == CALLS:
            go_back(log, row, work)
        elif status == NO_TEMPLATE:
            build_template(log, row, _needed(log, row, work.flags), templates)
        else:
            _grow(log, cursor[1], cursor[2], work)


def _grow(log: Log, rows: int, operand_count: int, work: Workspace) -> None:
    """Double the columns; rows up to ``rows``, and operands, are not published yet."""
    published = log.n, log.extra_n
    log.n, log.extra_n = rows, operand_count
    try:
        log.reserve(log.columns.capacity)
        log.reserve_operands(log.extra.size)
    finally:
        log.n, log.extra_n = published
    work.refresh(log)


def _needed(log: Log, row: int, flags: Array) -> int:
    """The needed-operands part of a row's template key."""
    if CODES.arity[log.code[row]] == VARIADIC:
        return -1
    return sum(1 << j for j, x in enumerate(operands(log, row)) if flags[x] & NEEDED)
