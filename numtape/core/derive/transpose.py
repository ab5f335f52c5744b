"""Reverse mode: adjoint rows are appended to the log and treated like any other rows.

A derivative rule runs once, on placeholders in a separate log, for each combination of code,
operand specs and needed operands. The recorded rows, reduced to the needed ones and with
broadcasting undone, form a template; `kernels.passes.transpose` walks the log and instantiates
templates. Start with `append_adjoints`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernels.passes.rows import (
    AT_FIRST_READ,
    CALLS,
    DONE,
    INPUT,
    NEEDED,
    NO_TEMPLATE,
    NOTHING,
    G,
    Y,
)
from .. import settings
from ..log.as_tensor import as_tensor
from ..log.log import LEAF_CODE, SLACK, Log, RuleLog, local
from ..log.op import CODES, VARIADIC, Op, OpCode
from ..log.thread_state import Rule
from ..log.variable import Variable
from ..ops.complex import conj
from ..ops.elementwise import add
from ..ops.movement import reshape
from ..ops.reduction import reduce_sum
from ..values.memory import Array, view
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from . import templates
from .accumulation import merge_sums
from .adjoint_cache import AdjointCache, return_cache, take_cache
from .custom import call_gradient
from .reachability import check_registered, lost_sources, operands
from .tape import Tape
from .templates import Key, TemplateTable, TransposeWorkspace, current_templates

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

ADD_CODE = add.op.code()


def build_template(log: Log, row: int, needed: int, templates: TemplateTable) -> None:
    """Run the rule of a row on placeholders and add the recorded rows as a template."""
    op, attributes = CODES.entries[log.code[row]]
    key = _template_key(log, row, needed)
    if key in templates.ids:
        templates.add_to_index(key, templates.ids[key])
        return
    specs = [SPECS.specs[log.spec[x]] for x in operands(log, row)]
    out_spec = SPECS.specs[log.spec[row]]
    is_wanted = [bool((needed >> j) & 1) for j in range(len(specs))]
    rule_result = None
    while rule_result is None:
        rule_result = run_rule(op, attributes, out_spec, specs, is_wanted)
    rule_log, adjoints = rule_result
    rows, results, variadic_operands = _reduce_to_needed(
        rule_log, 2 + len(specs), adjoints, templates
    )
    keep_alive = [CODES[log.code[row]], out_spec, *specs]
    keep_alive += [CODES[row[0]] for row in rows] + [SPECS[row[4]] for row in rows]
    templates.add(key, rows, results, keep_alive, variadic_operands)


def run_rule(
    op: Op, attributes: dict[str, Any], out_spec: Spec, specs: list[Spec], is_wanted: list[bool]
) -> tuple[Log, list[Tensor | None]] | None:
    """Run the rule of an op. Return its log and the adjoints of wanted operands.

    Return None if a signal handler or a finalizer changed this thread's current log meanwhile: then
    some rows may have been recorded there.
    """
    assert op.vjp is not None
    rule_log = RuleLog(256 + len(specs))
    thread_attributes, outer_log, outer_rule = vars(local), local.log, local.rule
    rule_globals = getattr(op.vjp, "__globals__", {})
    try:
        local.rule = Rule(rule_log, outer_log, run_rule.__code__, rule_globals)
        del local.log
        placeholders = [placeholder(rule_log, spec) for spec in (out_spec, out_spec, *specs)]
        if op.analytic and any(spec.dtype.is_complex for spec in specs):
            g, *values = placeholders
            placeholders = [g, *(conj(x) if x.dtype.is_complex else x for x in values)]
        adjoints = op.vjp(*placeholders, **attributes)
        if not isinstance(adjoints, tuple | list):
            adjoints = (adjoints,)
        if len(adjoints) != len(specs):
            raise AssertionError(f"the rule of {op.name} gives {len(adjoints)} adjoints")
        results = [
            unbroadcast(adjoint, spec, op.name) if needed and adjoint is not None else None
            for adjoint, spec, needed in zip(adjoints, specs, is_wanted, strict=True)
        ]
    except Exception:
        if "log" in thread_attributes:
            return None
        raise
    finally:
        # atomic: an interrupt in between would leave the thread without its own log
        is_disturbed = "log" in thread_attributes
        local.log, local.rule = outer_log, outer_rule
        # end atomic
    return None if is_disturbed else (rule_log, results)


def _template_key(log: Log, row: int, needed: int) -> Key:
    """Return the key of a row's template."""
    code = log.code[row]
    rows = [] if CODES.arity[code] == VARIADIC else operands(log, row)
    s0, s1, s2 = [*(log.spec[x] for x in rows), -1, -1, -1][:3]
    return code, s0, s1, s2, log.spec[row], needed


def placeholder(log: Log, spec: Spec) -> Tensor:
    """Append a leaf without a value; rows that depend on it are never computed."""
    # atomic: see core.values.intern_table
    n = log.n
    log.code[n] = LEAF_CODE
    log.spec[n] = spec.id
    log.n = n + 1
    # end atomic
    return log.tensor(n, spec)


def unbroadcast(adjoint: TensorLike, spec: Spec, op: str) -> Tensor:
    """Sum an adjoint over the axes along which the operand was broadcast."""
    tensor = as_tensor(adjoint)
    if tensor.dtype is not spec.dtype:
        raise AssertionError(f"the rule of {op} gives {tensor.dtype.name} for {spec.dtype.name}")
    if tensor._spec is spec:
        return tensor
    shape, target_shape = tensor._spec.shape, spec.shape
    extra_rank = len(shape) - len(target_shape)
    axes = tuple(range(extra_rank)) + tuple(
        extra_rank + axis
        for axis, dim in enumerate(target_shape)
        if dim != shape[extra_rank + axis]
    )
    if not axes:
        return tensor
    if len(axes) == extra_rank or not target_shape:  # no summed axis needs to be kept with size 1
        return reduce_sum(tensor, axes if target_shape else None)
    return reshape(reduce_sum(tensor, axes, True), tuple(target_shape))


def _reduce_to_needed(
    rule_log: Log, first_row: int, adjoints: list[Tensor | None], templates: TemplateTable
) -> tuple[list[tuple[int, ...]], list[int], list[int]]:
    """Return the needed rows of a rule's log, renumbered, and references to the results.

    Also return the operands of variadic rows. Such a row has their start in this list and their
    number.
    """
    needed = {tensor._row for tensor in adjoints if tensor is not None}
    for row in range(rule_log.n - 1, first_row - 1, -1):
        if row in needed:
            needed.update(operands(rule_log, row))
    rows: list[tuple[int, ...]] = []
    variadic_operands: list[int] = []
    references = {0: G, 1: Y} | {2 + j: INPUT - j for j in range(first_row - 2)}
    for row in range(first_row, rule_log.n):
        if row not in needed:
            continue
        references[row] = len(rows)
        code, spec = rule_log.code[row], rule_log.spec[row]
        if code == LEAF_CODE:
            if not SPECS.specs[spec].single:
                raise AssertionError("a rule may record constants of one element only")
            pooled = templates.constant(SPECS.specs[spec], int(rule_log.columns.cell[row]))
            rows.append((code, pooled, NOTHING, NOTHING, spec))
            continue
        operand_refs = [references[x] for x in operands(rule_log, row)]
        if CODES.arity[code] == VARIADIC:
            rows.append((code, len(variadic_operands), len(operand_refs), NOTHING, spec))
            variadic_operands += operand_refs
            continue
        rows.append((code, *operand_refs, *[NOTHING] * (3 - len(operand_refs)), spec))
    return rows, [NOTHING if x is None else references[x._row] for x in adjoints], variadic_operands


def append_adjoints(
    log: Log,
    tape: Tape,
    targets: list[tuple[int, int]],
    sources: list[Tensor | Variable],
) -> list[tuple[int, Spec] | None]:
    """Append the adjoint rows for ``targets``, pairs of a row and its seed's row.

    Args:
      log: The current log, which holds the tape's rows.
      tape: The tape to follow.
      targets: Rows, each with the row of its incoming adjoint.
      sources: Tensors and variables.

    Returns:
      For each source the row and spec of its adjoint, or None if nothing reaches it. A source that
      is also a target has at least its seed, unless the tape does not follow it and other targets
      are computed from it.

    Raises:
      LookupError: If a path goes through an op that has no gradient registered.
    """
    targets = _sum_seeds(log, targets)
    outer_log = local.log
    cache = take_cache()
    try:
        local.log = log.reentrant_log()  # the log will have unpublished rows
        source_rows = _recall_or_transpose(log, tape, targets, sources, cache)
    finally:
        local.log = outer_log
        return_cache(cache)
    return _add_specs(source_rows, sources)


def _recall_or_transpose(
    log: Log,
    tape: Tape,
    targets: list[tuple[int, int]],
    sources: list[Tensor | Variable],
    cache: AdjointCache,
) -> list[int]:
    """Like `append_adjoints`, but return the rows of the sources' adjoints, or -1."""
    n = log.n
    locations = _locate_sources(log, sources)
    tape_state = _tape_state(log, tape)
    extra_n = log.extra_n
    key = n, tuple(targets), tuple(locations), *tape_state.values()
    entry = None if log.calls else cache.recall(log, key)
    if entry is not None:
        tape.variable_flags = log.variables.copy(), entry.watched
        tape.recalled_adjoints = entry
        return entry.source_rows
    # Signal handlers and finalizers of this thread get another workspace.
    work = templates.thread_workspace.__dict__.pop("work", None) or TransposeWorkspace()
    try:
        source_rows, watched, keep_alive = _transpose_with(
            log, work, tape, n, targets, locations, tape_state
        )
    finally:
        templates.thread_workspace.work = work
    if not log.calls:
        cache.store(log, key, n, extra_n, source_rows, watched, keep_alive)
    return source_rows


def _transpose_with(
    log: Log,
    work: TransposeWorkspace,
    tape: Tape,
    n: int,
    targets: list[tuple[int, int]],
    locations: list[tuple[int, int]],
    tape_state: dict[str, tuple[int, ...]],
) -> tuple[list[int], list[int], list[object]]:
    """Transpose. Return adjoint rows, flags of the watched variables, and what keeps ids valid."""
    work.refresh(log)
    first_row = _flag_rows(log, work, n, locations, tape_state)
    watched = work.watched.view[: len(log.variables)].tolist()
    tape.variable_flags = log.variables.copy(), watched
    check_registered(log, work.flags[first_row:n], first_row, targets)
    work.adjoint[:n] = -1
    for row, seed in targets:
        work.adjoint[row] = seed
    templates = current_templates()  # held until rows with their ids are published
    try:
        _run_transpose(log, work, n, first_row, templates)
        adjoint, variable_adjoint = view(work.adjoint), work.variable_adjoint.view
        source_rows = [
            adjoint[row] if row >= 0 else variable_adjoint[number] if number >= 0 else -1
            for row, number in locations
        ]
        codes = _merge_sums(log, work, n, source_rows)
        log.n, log.extra_n = int(work.cursor[1]), int(work.cursor[2])
        for j in lost_sources(log, work.flags, targets, locations):
            source_rows[j] = -1
    except BaseException:
        # Constants of templates were marked as computed, but their rows do not exist.
        log.columns.state[log.n :] = 0
        raise
    return source_rows, watched, [templates, *codes]


def _merge_sums(log: Log, work: TransposeWorkspace, n: int, source_rows: list[int]) -> list[OpCode]:
    """Merge sums in the unpublished rows. Return codes to hold until they are published.

    Rules do not need it, functions may have published some of the rows, and the GPU has no kernels
    of merged sums.
    """
    if work.called_links or type(log) is RuleLog or settings.device() == "cuda":
        return []
    cursor = view(work.cursor)
    codes, added = merge_sums(log, n, cursor[1], cursor[2], source_rows)
    if added:
        extra_n, end = cursor[2], cursor[2] + len(added)
        _reserve_unpublished(log, cursor[1], extra_n, 0, len(added), work)
        log.extra[extra_n:end] = added
        cursor[2] = end
    return codes


def _add_specs(
    source_rows: list[int], sources: list[Tensor | Variable]
) -> list[tuple[int, Spec] | None]:
    return [
        (row, source._spec) if row >= 0 else None
        for row, source in zip(source_rows, sources, strict=True)
    ]


def _locate_sources(log: Log, sources: list[Tensor | Variable]) -> list[tuple[int, int]]:
    """Return each source's row, and the number of a variable in the log; -1 if it has none."""
    numbers, leaves = log.variable_index, log._leaf_rows
    locations: list[tuple[int, int]] = []
    for source in sources:
        if type(source) is not Tensor:
            locations.append((-1, numbers.get(id(source), -1)))
        elif source._home is log:
            locations.append((source._row, -1))
        else:
            locations.append((leaves.get(id(source), (-1,))[0], -1))
    return locations


def _tape_state(log: Log, tape: Tape) -> dict[str, tuple[int, ...]]:
    """Return the tape's watched variables, watch events and ranges, as arguments of the passes."""
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


def _flag_rows(
    log: Log,
    work: TransposeWorkspace,
    n: int,
    locations: list[tuple[int, int]],
    tape_state: dict[str, tuple[int, ...]],
) -> int:
    """Flag the rows that the tape follows. Return the first one."""
    count = len(log.variables)
    work.watched.fill(tape_state["watched"])
    work.variable_source.fill([-1] * count)
    work.variable_adjoint.fill([-1] * count)
    for _, number in locations:
        if number >= 0:
            work.variable_source.view[number] = 0
    follow, slots = work.follow, work.follow.slots
    work.positions.fill(tape_state["positions"])
    follow.set[slots["tape.events"]] = work.events.fill(tape_state["events"])
    follow.set[slots["tape.range_count"]] = work.ranges.fill(tape_state["ranges"]) // 2
    follow.set[slots["source_count"]] = work.sources.fill([row for row, _ in locations if row >= 0])
    follow.set[slots["n"]] = n
    return follow.call()


def _sum_seeds(log: Log, targets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge equal targets by adding their seeds."""
    if len(targets) == 1:
        return targets
    seed_of: dict[int, int] = {}
    for row, seed in targets:
        if row in seed_of:
            spec = SPECS.specs[log.spec[row]]
            seed = add(log.tensor(seed_of[row], spec), log.tensor(seed, spec))._row
        seed_of[row] = seed
    return list(seed_of.items())


def _run_transpose(
    log: Log, work: TransposeWorkspace, n: int, first: int, templates: TemplateTable
) -> None:
    """Append unpublished adjoint rows; they end at ``work.cursor[1]``."""
    # The constants have no rows in this log yet. Constants added later have none anyway.
    work.pool_row[: templates.constants] = 0
    work.called_links.clear()
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
            call_gradient(log, row, work)
        elif status == NO_TEMPLATE:
            build_template(log, row, _needed_mask(log, row, work.flags), templates)
        else:
            rows, operand_count = log.columns.capacity, log.extra.size  # to double
            _reserve_unpublished(log, cursor[1], cursor[2], rows, operand_count, work)


def _reserve_unpublished(
    log: Log,
    rows: int,
    operand_count: int,
    new_rows: int,
    new_operands: int,
    work: TransposeWorkspace,
) -> None:
    """Reserve capacity after unpublished rows up to ``rows`` and their operands."""
    published = log.n, log.extra_n
    log.n, log.extra_n = rows, operand_count
    try:
        log.reserve(new_rows)
        log.reserve_operands(new_operands)
    finally:
        log.n, log.extra_n = published
    work.refresh(log)


def _needed_mask(log: Log, row: int, flags: Array) -> int:
    """Return the bit mask of needed operands in a row's template key; -1 for variadic rows."""
    if CODES.arity[log.code[row]] == VARIADIC:
        return -1
    return sum(1 << j for j, x in enumerate(operands(log, row)) if flags[x] & NEEDED)
