"""The fast path of a gradient whose rows, target and sources repeat, without Python code.

It does what `GradientTape.gradient` does for a tape that is used once, for one target and no
seeds. Objects are allocated first. The rest is atomic: Python runs no collection, finalizer, signal
handler or other thread. In other cases no state has changed, and Python computes the gradient.

The caller holds the GIL. A word is eight bytes: a number, or the address of an object.
"""

from __future__ import annotations

from ..jit import POINTERS, call1, call2, call3, call4, jit
from .evaluation_words import (
    AT_BUFFER,
    AT_BUSY,
    AT_CALLS,
    AT_COLUMNS,
    AT_CONST_ROWS,
    AT_EAGER,
    AT_EXTRA,
    AT_EXTRA_N,
    AT_HOME,
    AT_ITEM,
    AT_LEAF_ROWS,
    AT_LIMIT,
    AT_N,
    AT_ROW,
    AT_SPEC,
    AT_SPENT,
    AT_TAPE_LOG,
    AT_TENSORS,
    AT_VARIABLE_INDEX,
    AT_VARIABLES,
    CALL,
    CLEAR,
    DROP,
    FALSE,
    FROM_INT,
    GET_ENTRY,
    KEEP,
    LIST,
    LOG,
    MAKE_LIST,
    NONE,
    TAPE,
    TENSOR,
    TO_INT,
    TRUE,
)
from .gradient_words import (
    ACCESSED,
    ADD,
    ADDED,
    AFTER,
    AFTER_OPERANDS,
    APPEND,
    APPENDED,
    AT_ACCESSED,
    AT_EVENTS,
    AT_GRADIENT_FAST_PATHS,
    AT_PERSISTENT,
    AT_RANGES,
    AT_THREAD,
    AT_TRAINABLE,
    AT_VARIABLE_FLAGS,
    AT_VARIABLE_SPEC,
    BOUND_COUNT,
    BOUNDS,
    CELL,
    CELLS,
    CODE,
    COLUMNS,
    COPY,
    CUT,
    EVENT_COUNT,
    EVENTS,
    EXTRA,
    FREED,
    GENERATION,
    HITS,
    INT,
    KEY,
    MAKE_TUPLE,
    MORE,
    MORE_COUNT,
    OPERAND_COUNT,
    OPERANDS,
    OPERANDS_HERE,
    ROWS,
    SEED,
    SEED_ROW,
    SET_ENTRY,
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
    VARIABLE,
    VARIABLE_COUNT,
    WATCHED,
    A,
    B,
    C,
)
from .guards import LIST_ITEMS, SIZE, TYPE, _at
from .repeated_evaluation import (
    DECLINED,
    _here,
    _put,
)
from .replay_rows import repeat
from .tables import LogColumns

FIELDS = 5  # of a source: its row, or else a variable's number; its spec; the result's row, as an
# object; and the result's spec

_u8, _i32, _i64 = POINTERS["uint8"], POINTERS["int32"], POINTERS["int64"]


@jit
def _numbers(process: int, things: int, numbers: int, count: int) -> bool:
    """Whether a list contains these ints, which are not negative."""
    p, expected = _at(process), _at(numbers)
    if _at(things + SIZE)[0] != count:
        return False
    items = _at(_at(things + LIST_ITEMS)[0])
    for k in range(count):
        if call1(p[TO_INT], items[k]) != expected[k]:
            return False
    return True


@jit
def _events(process: int, things: int, numbers: int, count: int) -> bool:
    """Whether a list of watch events has these positions and rows, and no variable."""
    p, expected = _at(process), _at(numbers)
    if _at(things + SIZE)[0] != count:
        return False
    items = _at(_at(things + LIST_ITEMS)[0])
    for k in range(count):
        position, row = _at(items[k] + p[AT_ITEM])[0], _at(items[k] + p[AT_ITEM])[1]
        if _at(row + TYPE)[0] != p[INT] or call1(p[TO_INT], row) != expected[2 * k + 1]:
            return False
        if call1(p[TO_INT], position) != expected[2 * k]:
            return False
    return True


@jit
def _tape_as_before(process: int, address: int, log: int, tape: int) -> bool:
    """Whether a tape of this log follows the recorded rows."""
    p, e = _at(process), _at(address)
    if _at(tape + p[AT_TAPE_LOG])[0] != log or _at(tape + p[AT_SPENT])[0] != p[FALSE]:
        return False
    if _at(tape + p[AT_PERSISTENT])[0] != p[FALSE] or _at(tape + p[AT_ACCESSED])[0] != e[ACCESSED]:
        return False
    if call1(p[TO_INT], _at(tape + p[AT_THREAD])[0]) != e[THREAD]:
        return False
    if not _numbers(process, _at(tape + p[AT_RANGES])[0], e[BOUNDS], e[BOUND_COUNT]):
        return False
    return _events(process, _at(tape + p[AT_EVENTS])[0], e[EVENTS], e[EVENT_COUNT])


@jit
def _variables_as_before(process: int, address: int, log: int) -> bool:
    """Whether the number of variables is unchanged, and which of them are trainable."""
    p, e = _at(process), _at(address)
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
def _source_as_before(process: int, expected: int, log: int, source: int) -> bool:
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
    entered = call2(p[GET_ENTRY], _at(log + p[AT_LEAF_ROWS])[0], key)
    call1(p[DROP], key)
    return entered != 0 and call1(p[TO_INT], _at(entered + p[AT_ITEM])[0]) == s[0]


@jit
def _question_as_before(process: int, address: int, log: int, target: int, sources: int) -> bool:
    """Whether target and sources are the same rows, and the seed is as recorded."""
    p, e = _at(process), _at(address)
    if _at(target + TYPE)[0] != p[TENSOR] or _at(target + p[AT_SPEC])[0] != e[TARGET_SPEC]:
        return False
    if _at(target + p[AT_HOME])[0] != log:
        return False
    if call1(p[TO_INT], _at(target + p[AT_ROW])[0]) != e[TARGET]:
        return False
    if e[SINGLE] != 0:
        if not _source_as_before(process, e[SOURCES], log, sources):
            return False
    else:
        if _at(sources + TYPE)[0] != p[LIST] or _at(sources + SIZE)[0] != e[SOURCE_COUNT]:
            return False
        items = _at(_at(sources + LIST_ITEMS)[0])
        for k in range(e[SOURCE_COUNT]):
            if not _source_as_before(process, e[SOURCES] + 8 * FIELDS * k, log, items[k]):
                return False
    seed = call2(p[GET_ENTRY], _at(log + p[AT_CONST_ROWS])[0], e[KEY])
    if e[SEED] != 0:  # the seed was a new row
        return seed == 0
    return seed != 0 and call1(p[TO_INT], seed) == e[SEED_ROW]


@jit
def _log_as_before(process: int, address: int, log: int) -> bool:
    """Whether the log is idle, the thread's current one, and has the same number of rows."""
    p, e = _at(process), _at(address)
    if _at(e[GENERATION])[0] != e[FREED]:
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
    return _here(process, log)


@jit
def _fill_with_none(process: int, things: int, count: int) -> int:
    """Set all items of a new list to None, because a collection may show it to a finalizer."""
    p, items = _at(process), _at(things)
    for k in range(count):
        call1(p[KEEP], p[NONE])
        items[k] = p[NONE]
    return 0


@jit
def _make_results(process: int, address: int) -> int:
    """A list of tensors, one for each source; 0 if memory is exhausted."""
    p, e = _at(process), _at(address)
    results = call1(p[MAKE_LIST], e[SOURCE_COUNT])
    if results == 0:
        return 0
    items = _at(_at(results + LIST_ITEMS)[0])
    _fill_with_none(process, _at(results + LIST_ITEMS)[0], e[SOURCE_COUNT])
    for k in range(e[SOURCE_COUNT]):
        item = call1(p[CALL], p[TENSOR])
        if item == 0:
            call1(p[DROP], results)
            return 0
        items[k] = item
        call1(p[DROP], p[NONE])
    return results


@jit
def _room(process: int, address: int, log: int) -> int:
    """The tape's new state: ranges, events, and a pair of variables and watch flags; or 0."""
    p, e = _at(process), _at(address)
    room = call1(p[MAKE_LIST], 3)
    if room == 0:
        return 0
    items = _at(_at(room + LIST_ITEMS)[0])
    _fill_with_none(process, _at(room + LIST_ITEMS)[0], 3)
    for k in range(3):
        item = call1(p[MAKE_LIST], 0) if k < 2 else call1(p[MAKE_TUPLE], 2)
        if item == 0:
            call1(p[DROP], room)
            return 0
        if k == 2:
            _fill_with_none(process, item + p[AT_ITEM], 2)
        items[k] = item
        call1(p[DROP], p[NONE])
    variables = _at(log + p[AT_VARIABLES])[0]
    call1(p[KEEP], variables)
    copy = call3(p[COPY], variables, 0, e[VARIABLE_COUNT])
    call1(p[DROP], variables)
    if copy == 0:
        call1(p[DROP], room)
        return 0
    pair = _at(items[2] + p[AT_ITEM])
    call1(p[KEEP], e[WATCHED])
    pair[0], pair[1] = copy, e[WATCHED]
    call1(p[DROP], p[NONE])
    call1(p[DROP], p[NONE])
    return room


@jit
def _enter(process: int, address: int, log: int, results: int) -> bool:
    """Enter results and seed in the log's containers; False, undone, if memory is exhausted."""
    p, e = _at(process), _at(address)
    items, sources = _at(_at(results + LIST_ITEMS)[0]), _at(e[SOURCES])
    eager, tensors = _at(log + p[AT_EAGER])[0], _at(log + p[AT_TENSORS])[0]
    before = _at(tensors + SIZE)[0]
    good = True
    for k in range(e[SOURCE_COUNT]):
        # Extra rows in ``eager`` are harmless after a failure: Python will append them.
        if call2(p[ADD], eager, sources[FIELDS * k + 3]) << 32 != 0:
            good = False
        elif call2(p[APPEND], tensors, items[k]) << 32 != 0:
            good = False
        if not good:
            break
    if good and e[SEED] != 0:
        constants = _at(log + p[AT_CONST_ROWS])[0]
        good = call3(p[SET_ENTRY], constants, e[KEY], e[SEED]) << 32 == 0
    if not good:
        call1(p[CLEAR], 0)
        if _at(tensors + SIZE)[0] > before:
            call4(p[CUT], tensors, before, _at(tensors + SIZE)[0], 0)
        for k in range(e[ROWS], e[ROWS] + e[ADDED]):  # undo unpublished constants
            _u8(e[STATE])[k] = 0
    return good


@jit
def _publish(process: int, address: int, log: int, tape: int, results: int, room: int) -> int:
    """Publish the rows, hand out the results, and release the tape."""
    p, e = _at(process), _at(address)
    items, sources = _at(_at(results + LIST_ITEMS)[0]), _at(e[SOURCES])
    for k in range(e[SOURCE_COUNT]):
        row, spec = sources[FIELDS * k + 3], sources[FIELDS * k + 4]
        call1(p[KEEP], log)
        call1(p[KEEP], row)
        call1(p[KEEP], spec)
        _at(items[k] + p[AT_HOME])[0] = log
        _at(items[k] + p[AT_ROW])[0] = row
        _at(items[k] + p[AT_SPEC])[0] = spec
    _put(process, log + p[AT_N], e[AFTER])
    _put(process, log + p[AT_EXTRA_N], e[AFTER_OPERANDS])
    parts = _at(_at(room + LIST_ITEMS)[0])
    _put(process, tape + p[AT_RANGES], parts[0])
    _put(process, tape + p[AT_EVENTS], parts[1])
    _put(process, tape + p[AT_VARIABLE_FLAGS], parts[2])
    _put(process, tape + p[AT_SPENT], p[TRUE])
    _put(process, tape + p[AT_TAPE_LOG], p[NONE])
    return 0


@jit
def _as_before(process: int, address: int, log: int, tape: int, target: int, sources: int) -> bool:
    """Whether all state is as recorded; then the rows are appended, but not published."""
    e = _at(address)
    if not _log_as_before(process, address, log):
        return False
    if not _tape_as_before(process, address, log, tape):
        return False
    if not _variables_as_before(process, address, log):
        return False
    if not _question_as_before(process, address, log, target, sources):
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
            _i32(e[MORE]),
            e[MORE_COUNT],
        )
        == 1
    )


@jit
def _answer(process: int, address: int, tape: int, target: int, sources: int, log: int) -> int:
    """Record the gradient completely, or change no state and return `DECLINED`."""
    p, e = _at(process), _at(address)
    if call1(p[TO_INT], _at(log + p[AT_N])[0]) != e[ROWS]:
        return DECLINED
    results = _make_results(process, address)
    room = _room(process, address, log) if results != 0 else 0
    if room == 0:
        call1(p[CLEAR], 0)
        if results != 0:
            call1(p[DROP], results)
        return DECLINED
    # Begin of the atomic part: Python runs no code.
    good = False
    if _as_before(process, address, log, tape, target, sources):
        if _enter(process, address, log, results):
            good = True
            _publish(process, address, log, tape, results, room)
            e[HITS] += 1
    # End of the atomic part.
    call1(p[DROP], room)
    if not good:
        call1(p[CLEAR], 0)
        call1(p[DROP], results)
        return DECLINED
    if e[SINGLE] == 0:
        return results
    only = _at(_at(results + LIST_ITEMS)[0])[0]
    call1(p[KEEP], only)
    call1(p[DROP], results)
    return only


@jit
def repeated_gradient(process: int, inputs: int, count: int, names: int) -> int:
    """``(tape, target, sources)``: the gradient, or None to leave it to Python."""
    p, arguments = _at(process), _at(inputs)
    tape = arguments[0]
    if _at(tape + TYPE)[0] == p[TAPE]:
        log = _at(tape + p[AT_TAPE_LOG])[0]
        if _at(log + TYPE)[0] == p[LOG]:
            call1(p[KEEP], log)
            fast_paths = _at(log + p[AT_GRADIENT_FAST_PATHS])[0]
            call1(p[KEEP], fast_paths)  # other threads may replace them meanwhile
            results = DECLINED
            for k in range(_at(fast_paths + SIZE)[0]):
                pair = _at(fast_paths + p[AT_ITEM])[k]
                address = _at(_at(pair + p[AT_ITEM])[0] + p[AT_BUFFER])[0]
                results = _answer(process, address, tape, arguments[1], arguments[2], log)
                if results != DECLINED or _at(tape + p[AT_TAPE_LOG])[0] != log:
                    break
            call1(p[DROP], fast_paths)
            call1(p[DROP], log)
            if results != DECLINED:
                return results
    call1(p[KEEP], p[NONE])
    return p[NONE]
