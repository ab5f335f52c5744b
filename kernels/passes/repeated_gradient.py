"""The fast path of a gradient whose rows, target and sources repeat, without Python code.

It does what `GradientTape.gradient` does for a tape that is used once, for one target and no
seeds. Objects are allocated first. The rest is atomic: Python runs no collection, finalizer, signal
handler or other thread. In other cases no state has changed, and Python computes the gradient.

The caller holds the GIL. A word is eight bytes: a number, or the address of an object. ``process``
and ``entry`` are the addresses of the words of the process and of a recorded gradient; ``p`` and
``e`` are pointers to these words (see `gradient_words`).
"""

from __future__ import annotations

from ..cpython.words import (
    AT_ACCESSED,
    AT_BUFFER,
    AT_BUSY,
    AT_CALLS,
    AT_COLUMNS,
    AT_CONST_ROWS,
    AT_EAGER,
    AT_EVENTS,
    AT_EXTRA,
    AT_EXTRA_N,
    AT_GRADIENT_FAST_PATHS,
    AT_HOME,
    AT_ITEM,
    AT_LEAF_ROWS,
    AT_LIMIT,
    AT_N,
    AT_PERSISTENT,
    AT_RANGES,
    AT_ROW,
    AT_SPEC,
    AT_SPENT,
    AT_TAPE_LOG,
    AT_TENSORS,
    AT_THREAD,
    AT_TRAINABLE,
    AT_VARIABLE_FLAGS,
    AT_VARIABLE_INDEX,
    AT_VARIABLE_SPEC,
    AT_VARIABLES,
    CALL,
    CLEAR_ERROR,
    DECREF,
    FALSE,
    FROM_INT,
    GET_ENTRY,
    GET_SLICE,
    INCREF,
    INT,
    LIST,
    LIST_APPEND,
    LIST_ITEMS,
    LOG,
    MAKE_LIST,
    MAKE_TUPLE,
    NONE,
    SET_ADD,
    SET_ENTRY,
    SET_SLICE,
    SIZE,
    TAPE,
    TENSOR,
    TO_INT,
    TRUE,
    TYPE,
    VARIABLE,
)
from ..jit import POINTERS, call1, call2, call3, call4, jit
from .gradient_words import (
    ACCESSED,
    ADDED,
    ADDED_OPERAND_COUNT,
    ADDED_OPERANDS,
    APPENDED,
    BOUND_COUNT,
    BOUNDS,
    CELL,
    CELLS,
    CODE,
    COLUMNS,
    EVENT_COUNT,
    EVENTS,
    EXPECTED_GENERATION,
    EXTRA,
    EXTRA_N_AFTER,
    GENERATION,
    HITS,
    KEY,
    N_AFTER,
    OPERAND_COUNT,
    OPERANDS,
    OPERANDS_HERE,
    ROWS,
    SEED,
    SEED_ROW,
    SINGLE,
    SOURCE_COUNT,
    SOURCES,
    SPEC,
    STATE,
    STATES,
    STRUCTURE,
    TARGET,
    TARGET_SPEC,
    THREAD,
    TRAINABLE,
    VARIABLE_COUNT,
    WATCHED,
    A,
    B,
    C,
)
from .guards import _at
from .repeated_evaluation import (
    DECLINED,
    _is_idle_and_current,
    _set_slot,
)
from .replay_rows import repeat
from .tables import LogColumns

# Words of each source: its row; the number of its variable, or -1; its spec; the row of its result,
# as an object; the spec of its result.
SOURCE_FIELDS = 5

_u8, _i32, _i64 = POINTERS["uint8"], POINTERS["int32"], POINTERS["int64"]


@jit
def _has_ints(process: int, list_address: int, numbers: int, count: int) -> bool:
    """Whether a list contains these ints, which are not negative."""
    p, expected = _at(process), _at(numbers)
    if _at(list_address + SIZE)[0] != count:
        return False
    items = _at(_at(list_address + LIST_ITEMS)[0])
    for k in range(count):
        if call1(p[TO_INT], items[k]) != expected[k]:
            return False
    return True


@jit
def _has_events(process: int, list_address: int, numbers: int, count: int) -> bool:
    """Whether a list of watch events has these positions and rows, and no variable."""
    p, expected = _at(process), _at(numbers)
    if _at(list_address + SIZE)[0] != count:
        return False
    items = _at(_at(list_address + LIST_ITEMS)[0])
    for k in range(count):
        position, row = _at(items[k] + p[AT_ITEM])[0], _at(items[k] + p[AT_ITEM])[1]
        if _at(row + TYPE)[0] != p[INT] or call1(p[TO_INT], row) != expected[2 * k + 1]:
            return False
        if call1(p[TO_INT], position) != expected[2 * k]:
            return False
    return True


@jit
def _is_tape_unchanged(process: int, entry: int, log: int, tape: int) -> bool:
    """Whether a tape of this log follows the recorded rows."""
    p, e = _at(process), _at(entry)
    if _at(tape + p[AT_TAPE_LOG])[0] != log or _at(tape + p[AT_SPENT])[0] != p[FALSE]:
        return False
    if _at(tape + p[AT_PERSISTENT])[0] != p[FALSE] or _at(tape + p[AT_ACCESSED])[0] != e[ACCESSED]:
        return False
    if call1(p[TO_INT], _at(tape + p[AT_THREAD])[0]) != e[THREAD]:
        return False
    if not _has_ints(process, _at(tape + p[AT_RANGES])[0], e[BOUNDS], e[BOUND_COUNT]):
        return False
    return _has_events(process, _at(tape + p[AT_EVENTS])[0], e[EVENTS], e[EVENT_COUNT])


@jit
def _are_variables_unchanged(process: int, entry: int, log: int) -> bool:
    """Whether the number of variables is unchanged, and which of them are trainable."""
    p, e = _at(process), _at(entry)
    variables, expected = _at(log + p[AT_VARIABLES])[0], _at(e[TRAINABLE])
    count, numbers = e[VARIABLE_COUNT], _at(log + p[AT_VARIABLE_INDEX])[0]
    # The size of a dictionary has the same offset as that of a list.
    if _at(variables + SIZE)[0] != count or _at(numbers + SIZE)[0] != count:
        return False
    items = _at(_at(variables + LIST_ITEMS)[0])
    for k in range(count):
        if _at(items[k] + p[AT_TRAINABLE])[0] != expected[k]:
            return False
    return True


@jit
def _is_source_unchanged(process: int, expected: int, log: int, source: int) -> bool:
    """Whether a source is the same row, or the same variable of the log."""
    p, s = _at(process), _at(expected)
    if s[1] >= 0:
        if _at(source + TYPE)[0] != p[VARIABLE] or _at(source + p[AT_VARIABLE_SPEC])[0] != s[2]:
            return False
        variables = _at(log + p[AT_VARIABLES])[0]
        return _at(_at(variables + LIST_ITEMS)[0])[s[1]] == source
    if _at(source + TYPE)[0] != p[TENSOR] or _at(source + p[AT_SPEC])[0] != s[2]:
        return False
    if _at(source + p[AT_HOME])[0] == log:
        return call1(p[TO_INT], _at(source + p[AT_ROW])[0]) == s[0]
    key = call1(p[FROM_INT], source)
    if key == 0:
        return False
    leaf_entry = call2(p[GET_ENTRY], _at(log + p[AT_LEAF_ROWS])[0], key)
    call1(p[DECREF], key)
    return leaf_entry != 0 and call1(p[TO_INT], _at(leaf_entry + p[AT_ITEM])[0]) == s[0]


@jit
def _is_request_unchanged(process: int, entry: int, log: int, target: int, sources: int) -> bool:
    """Whether target, sources and seed are as recorded."""
    p, e = _at(process), _at(entry)
    if _at(target + TYPE)[0] != p[TENSOR] or _at(target + p[AT_SPEC])[0] != e[TARGET_SPEC]:
        return False
    if _at(target + p[AT_HOME])[0] != log:
        return False
    if call1(p[TO_INT], _at(target + p[AT_ROW])[0]) != e[TARGET]:
        return False
    if e[SINGLE] != 0:
        if not _is_source_unchanged(process, e[SOURCES], log, sources):
            return False
    else:
        if _at(sources + TYPE)[0] != p[LIST] or _at(sources + SIZE)[0] != e[SOURCE_COUNT]:
            return False
        items = _at(_at(sources + LIST_ITEMS)[0])
        for k in range(e[SOURCE_COUNT]):
            if not _is_source_unchanged(process, e[SOURCES] + 8 * SOURCE_FIELDS * k, log, items[k]):
                return False
    seed = call2(p[GET_ENTRY], _at(log + p[AT_CONST_ROWS])[0], e[KEY])
    if e[SEED] != 0:  # the seed was a new row
        return seed == 0
    return seed != 0 and call1(p[TO_INT], seed) == e[SEED_ROW]


@jit
def _is_log_unchanged(process: int, entry: int, log: int) -> bool:
    """Whether the log is idle, the thread's current one, and has the same number of rows."""
    p, e = _at(process), _at(entry)
    if _at(e[GENERATION])[0] != e[EXPECTED_GENERATION]:
        return False
    if _at(log + p[AT_COLUMNS])[0] != e[COLUMNS] or _at(log + p[AT_EXTRA])[0] != e[EXTRA]:
        return False
    if _at(log + p[AT_BUSY])[0] != p[FALSE] or _at(_at(log + p[AT_CALLS])[0] + SIZE)[0] != 0:
        return False
    if _at(_at(log + p[AT_TENSORS])[0] + TYPE)[0] != p[LIST]:
        return False
    if call1(p[TO_INT], _at(log + p[AT_N])[0]) != e[ROWS]:
        return False
    if call1(p[TO_INT], _at(log + p[AT_EXTRA_N])[0]) != e[OPERAND_COUNT]:
        return False
    if call1(p[TO_INT], _at(log + p[AT_LIMIT])[0]) <= e[ROWS] + e[ADDED]:
        return False
    return _is_idle_and_current(process, log)


@jit
def _fill_with_none(process: int, items_address: int, count: int) -> int:
    """Set all items of a new list to None, because a collection may show it to a finalizer."""
    p, items = _at(process), _at(items_address)
    for k in range(count):
        call1(p[INCREF], p[NONE])
        items[k] = p[NONE]
    return 0


@jit
def _make_results(process: int, entry: int) -> int:
    """A list of tensors, one for each source; 0 if memory is exhausted."""
    p, e = _at(process), _at(entry)
    results = call1(p[MAKE_LIST], e[SOURCE_COUNT])
    if results == 0:
        return 0
    items = _at(_at(results + LIST_ITEMS)[0])
    _fill_with_none(process, _at(results + LIST_ITEMS)[0], e[SOURCE_COUNT])
    for k in range(e[SOURCE_COUNT]):
        item = call1(p[CALL], p[TENSOR])
        if item == 0:
            call1(p[DECREF], results)
            return 0
        items[k] = item
        call1(p[DECREF], p[NONE])
    return results


@jit
def _make_tape_state(process: int, entry: int, log: int) -> int:
    """Make a list of the tape's new ranges, events, and pair of variables and watch flags; or 0."""
    p, e = _at(process), _at(entry)
    tape_state = call1(p[MAKE_LIST], 3)
    if tape_state == 0:
        return 0
    items = _at(_at(tape_state + LIST_ITEMS)[0])
    _fill_with_none(process, _at(tape_state + LIST_ITEMS)[0], 3)
    for k in range(3):
        if k < 2:
            item = call1(p[MAKE_LIST], 0)
        else:
            variables = _at(log + p[AT_VARIABLES])[0]
            call1(p[INCREF], variables)
            item = call3(p[GET_SLICE], variables, 0, e[VARIABLE_COUNT])
            call1(p[DECREF], variables)
        if item == 0:
            call1(p[DECREF], tape_state)
            return 0
        items[k] = item
        call1(p[DECREF], p[NONE])
    pair = call1(p[MAKE_TUPLE], 2)
    if pair == 0:
        call1(p[DECREF], tape_state)
        return 0
    # Filled once: a collection untracks tuples of objects that it need not visit.
    call1(p[INCREF], e[WATCHED])
    pair_items = _at(pair + p[AT_ITEM])
    pair_items[0], pair_items[1] = items[2], e[WATCHED]
    items[2] = pair
    return tape_state


@jit
def _enter_results(process: int, entry: int, log: int, results: int) -> bool:
    """Add results and seed to the log's containers; False, undone, if memory is exhausted."""
    p, e = _at(process), _at(entry)
    items, sources = _at(_at(results + LIST_ITEMS)[0]), _at(e[SOURCES])
    eager, tensors = _at(log + p[AT_EAGER])[0], _at(log + p[AT_TENSORS])[0]
    size_before = _at(tensors + SIZE)[0]
    succeeded = True
    for k in range(e[SOURCE_COUNT]):
        # Extra rows in ``eager`` are harmless after a failure: Python will append them.
        if call2(p[SET_ADD], eager, sources[SOURCE_FIELDS * k + 3]) << 32 != 0:
            succeeded = False
        elif call2(p[LIST_APPEND], tensors, items[k]) << 32 != 0:
            succeeded = False
        if not succeeded:
            break
    if succeeded and e[SEED] != 0:
        constants = _at(log + p[AT_CONST_ROWS])[0]
        succeeded = call3(p[SET_ENTRY], constants, e[KEY], e[SEED]) << 32 == 0
    if not succeeded:
        call1(p[CLEAR_ERROR], 0)
        if _at(tensors + SIZE)[0] > size_before:
            call4(p[SET_SLICE], tensors, size_before, _at(tensors + SIZE)[0], 0)
        for k in range(e[ROWS], e[ROWS] + e[ADDED]):  # undo unpublished constants
            _u8(e[STATE])[k] = 0
    return succeeded


@jit
def _publish(process: int, entry: int, log: int, tape: int, results: int, tape_state: int) -> int:
    """Publish the rows, hand out the results, and release the tape."""
    p, e = _at(process), _at(entry)
    items, sources = _at(_at(results + LIST_ITEMS)[0]), _at(e[SOURCES])
    for k in range(e[SOURCE_COUNT]):
        row, spec = sources[SOURCE_FIELDS * k + 3], sources[SOURCE_FIELDS * k + 4]
        call1(p[INCREF], log)
        call1(p[INCREF], row)
        call1(p[INCREF], spec)
        _at(items[k] + p[AT_HOME])[0] = log
        _at(items[k] + p[AT_ROW])[0] = row
        _at(items[k] + p[AT_SPEC])[0] = spec
    _set_slot(process, log + p[AT_N], e[N_AFTER])
    _set_slot(process, log + p[AT_EXTRA_N], e[EXTRA_N_AFTER])
    new_values = _at(_at(tape_state + LIST_ITEMS)[0])
    _set_slot(process, tape + p[AT_RANGES], new_values[0])
    _set_slot(process, tape + p[AT_EVENTS], new_values[1])
    _set_slot(process, tape + p[AT_VARIABLE_FLAGS], new_values[2])
    _set_slot(process, tape + p[AT_SPENT], p[TRUE])
    _set_slot(process, tape + p[AT_TAPE_LOG], p[NONE])
    return 0


@jit
def _is_state_unchanged(
    process: int, entry: int, log: int, tape: int, target: int, sources: int
) -> bool:
    """Whether all state is as recorded; then the rows are appended, but not published."""
    e = _at(entry)
    if not _is_log_unchanged(process, entry, log):
        return False
    if not _is_tape_unchanged(process, entry, log, tape):
        return False
    if not _are_variables_unchanged(process, entry, log):
        return False
    if not _is_request_unchanged(process, entry, log, target, sources):
        return False
    rows = LogColumns(
        _i32(e[CODE]),
        _i32(e[A]),
        _i32(e[B]),
        _i32(e[C]),
        _i32(e[SPEC]),
        _i64(e[CELL]),
        _u8(e[STATE]),
        _i32(e[OPERANDS_HERE]),
    )
    return (
        repeat(
            rows,
            e[ROWS],
            _i32(e[STRUCTURE]),
            _i32(e[OPERANDS]),
            e[OPERAND_COUNT],
            e[ADDED],
            _i32(e[APPENDED]),
            _i64(e[CELLS]),
            _u8(e[STATES]),
            _i32(e[ADDED_OPERANDS]),
            e[ADDED_OPERAND_COUNT],
        )
        == 1
    )


@jit
def _try_entry(process: int, entry: int, tape: int, target: int, sources: int, log: int) -> int:
    """Record the gradient completely, or change no state and return `DECLINED`."""
    p, e = _at(process), _at(entry)
    if call1(p[TO_INT], _at(log + p[AT_N])[0]) != e[ROWS]:
        return DECLINED
    results = _make_results(process, entry)
    tape_state = _make_tape_state(process, entry, log) if results != 0 else 0
    if tape_state == 0:
        call1(p[CLEAR_ERROR], 0)
        if results != 0:
            call1(p[DECREF], results)
        return DECLINED
    # Start of the atomic part: no Python code runs.
    succeeded = False
    if _is_state_unchanged(process, entry, log, tape, target, sources):
        if _enter_results(process, entry, log, results):
            succeeded = True
            _publish(process, entry, log, tape, results, tape_state)
            e[HITS] += 1
    # End of the atomic part.
    call1(p[DECREF], tape_state)
    if not succeeded:
        call1(p[CLEAR_ERROR], 0)
        call1(p[DECREF], results)
        return DECLINED
    if e[SINGLE] == 0:
        return results
    result = _at(_at(results + LIST_ITEMS)[0])[0]
    call1(p[INCREF], result)
    call1(p[DECREF], results)
    return result


@jit
def repeated_gradient(process: int, inputs: int, count: int, names: int) -> int:
    """``(tape, target, sources)``: the gradient, or None to leave it to Python."""
    p, arguments = _at(process), _at(inputs)
    tape = arguments[0]
    if _at(tape + TYPE)[0] == p[TAPE]:
        log = _at(tape + p[AT_TAPE_LOG])[0]
        if _at(log + TYPE)[0] == p[LOG]:
            call1(p[INCREF], log)
            fast_paths = _at(log + p[AT_GRADIENT_FAST_PATHS])[0]
            call1(p[INCREF], fast_paths)  # other threads may replace them meanwhile
            results = DECLINED
            for k in range(_at(fast_paths + SIZE)[0]):
                fast_path = _at(fast_paths + p[AT_ITEM])[k]
                entry = _at(_at(fast_path + p[AT_ITEM])[0] + p[AT_BUFFER])[0]
                results = _try_entry(process, entry, tape, arguments[1], arguments[2], log)
                if results != DECLINED or _at(tape + p[AT_TAPE_LOG])[0] != log:
                    break
            call1(p[DECREF], fast_paths)
            call1(p[DECREF], log)
            if results != DECLINED:
                return results
    call1(p[INCREF], p[NONE])
    return p[NONE]
