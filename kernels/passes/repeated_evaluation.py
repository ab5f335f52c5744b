"""The fast path of an evaluation whose rows repeat, for cases that need no Python code.

It does what `core.log.evaluate` does, which explains each step, for a log that is rewound
afterwards. Objects are allocated first. The rest is atomic: Python runs no collection, finalizer,
signal handler or other thread. The log's former objects are dropped when it has been reset. In
other cases no visible state has changed, and Python evaluates.

The caller holds the GIL. A word is eight bytes: a number, or the address of an object. ``process``
and ``entry`` are the addresses of the words of the process and of a recorded evaluation; ``p`` and
``e`` are pointers to these words (see `evaluation_words`).
"""

from __future__ import annotations

from ..cpython.words import (
    AT_BUFFER,
    AT_BUSY,
    AT_BYTES,
    AT_BYTES_LIMIT,
    AT_CALLS,
    AT_COLUMNS,
    AT_COMPUTATIONS,
    AT_CONST_ROWS,
    AT_DATA,
    AT_EAGER,
    AT_EVALUATE_FAST_PATHS,
    AT_EXTRA,
    AT_EXTRA_N,
    AT_FULL_RESCAN_AT,
    AT_HOME,
    AT_ITEM,
    AT_LAZY,
    AT_LAZY_RESCAN_AT,
    AT_LIMIT,
    AT_LOCK,
    AT_N,
    AT_NAMES,
    AT_PENDING,
    AT_PENDING_CLEANUP,
    AT_READ,
    AT_READS,
    AT_REFERENCES,
    AT_ROW,
    AT_SCANNED,
    AT_SINGLE,
    AT_SPEC,
    AT_SPENT,
    AT_TAPE_LOG,
    AT_TAPES,
    AT_TENSORS,
    AT_VALUE,
    AT_VARIABLES,
    AT_WEAK,
    AT_WORKSPACE,
    BYTES_LIMIT,
    CALL,
    CALL_ONE_ARG,
    CLEAR_DICT,
    CLEAR_ERROR,
    CLEAR_SET,
    DECREF,
    EMPTY,
    EVALUATING_NAME,
    FALSE,
    FROM_INT,
    GET_ATTRIBUTE,
    GET_ENTRY,
    GET_REFERENT,
    INCREF,
    LIMIT,
    LIST,
    LIST_ITEMS,
    LOCAL,
    LOCAL_KEY,
    LOG,
    LOG_NAME,
    MAKE_DICT,
    MAKE_LIST,
    NEXT_ENTRY,
    NONE,
    RELEASE_TENSORS,
    SCRATCH,
    SET_CONTAINS,
    SIZE,
    TAPE,
    THREAD_DICT,
    TO_INT,
    TRIM_BUFFERS,
    TRUE,
    TYPE,
    VECTORCALL,
    ZERO,
)
from ..jit import POINTERS, call0, call1, call2, call4, jit
from .evaluation_words import (
    ACQUIRE,
    ARRAYS,
    BEGIN,
    BLOCK,
    BUFFER_COUNT,
    BUFFER_ROWS,
    CELL,
    CODE,
    COLUMNS,
    COMPUTED,
    COUNT,
    END,
    ENTRIES,
    ENTRY_COUNT,
    EXTRA,
    FIRST_ROW,
    FLAGS,
    HITS,
    INDEX,
    KINDS,
    LEFT,
    LOCK,
    OPERAND_COUNT,
    OPERANDS,
    OPERANDS_HERE,
    ORDER,
    ORDER_COUNT,
    PLACES,
    RELEASE,
    SIZES,
    SPEC,
    STATE,
    STRUCTURE,
    SWEEP,
    WANT,
    WORD_COUNT,
    WORDS,
    WORKSPACE,
    A,
    B,
    C,
)
from .guards import _at
from .layout import OPTIONAL, WANTED
from .replay_rows import differ, recall
from .rows import VALUE
from .tables import LogColumns

DECLINED, FAILED = 0, 1  # instead of a result: leave it to Python; an exception is set
TRIM_INTERVAL = 16  # unused buffers are freed once in so many evaluations
# Containers of the log that are replaced: first lists, then dictionaries. Their offsets are
# consecutive words, from AT_VARIABLES on.
LISTS, CONTAINERS = 3, 7
OWN = CONTAINERS + 2  # also a list of tensors, and the number of computations

_u8, _i32, _i64 = POINTERS["uint8"], POINTERS["int32"], POINTERS["int64"]
_u16, _u32 = POINTERS["uint16"], POINTERS["uint32"]


@jit
def _is_idle_and_current(process: int, log: int) -> bool:
    """Whether the log is current in its thread, and the thread runs no evaluation."""
    p = _at(process)
    if p[AT_NAMES] < 0:  # unknown layout of thread-locals: ask Python
        current = call2(p[GET_ATTRIBUTE], p[LOCAL], p[LOG_NAME])
        evaluating = call2(p[GET_ATTRIBUTE], p[LOCAL], p[EVALUATING_NAME])
        is_idle = current == log and evaluating != 0 and _at(evaluating + SIZE)[0] == 0
        if current != 0:
            call1(p[DECREF], current)
        if evaluating != 0:
            call1(p[DECREF], evaluating)
        call1(p[CLEAR_ERROR], 0)
        return is_idle
    thread_dict = call0(p[THREAD_DICT])
    state = call2(p[GET_ENTRY], thread_dict, p[LOCAL_KEY]) if thread_dict != 0 else 0
    if state == 0:
        return False
    names = _at(state + p[AT_NAMES])[0]
    evaluating = call2(p[GET_ENTRY], names, p[EVALUATING_NAME])
    idle = evaluating == 0 or _at(evaluating + SIZE)[0] == 0
    return idle and call2(p[GET_ENTRY], names, p[LOG_NAME]) == log


@jit
def _make_objects(process: int, entry: int, log: int) -> int:
    """A list of new objects for the log and the values; 0 if memory is exhausted.

    The log's containers come first, in its order; then a list of tensors, the number of
    computations, and an array for each value.
    """
    p, e = _at(process), _at(entry)
    count = OWN + e[ARRAYS]
    new_objects = call1(p[MAKE_LIST], count)
    if new_objects == 0:
        return 0
    items = _at(_at(new_objects + LIST_ITEMS)[0])
    for k in range(count):  # fill all: a collection may show the list to a finalizer
        call1(p[INCREF], p[NONE])
        items[k] = p[NONE]
    for k in range(count):
        if k < LISTS or k == CONTAINERS:
            item = call1(p[MAKE_LIST], 0)
        elif k < CONTAINERS:
            item = call0(p[MAKE_DICT])
        elif k == CONTAINERS + 1:
            item = call1(p[FROM_INT], call1(p[TO_INT], _at(log + p[AT_COMPUTATIONS])[0]) + 1)
        else:
            item = call4(p[VECTORCALL], p[EMPTY], e[KINDS] + 16 * (k - OWN), 2, 0)
        if item == 0:
            call1(p[DECREF], new_objects)
            return 0
        items[k] = item
        call1(p[DECREF], p[NONE])
    return new_objects


@jit
def _is_state_expected(process: int, entry: int, log: int) -> bool:
    """Whether state and log are as expected, and no tape holds the rows."""
    p, e = _at(process), _at(entry)
    words, entries = _at(e[WORDS]), _at(e[ENTRIES])
    for k in range(e[WORD_COUNT]):
        if _at(words[2 * k])[0] != words[2 * k + 1]:
            return False
    for k in range(e[ENTRY_COUNT]):
        if call2(p[GET_ENTRY], entries[3 * k], entries[3 * k + 1]) != entries[3 * k + 2]:
            return False
    if _at(log + p[AT_COLUMNS])[0] != e[COLUMNS] or _at(log + p[AT_EXTRA])[0] != e[EXTRA]:
        return False
    if _at(log + p[AT_WORKSPACE])[0] != e[WORKSPACE] or _at(log + p[AT_BUSY])[0] != p[FALSE]:
        return False
    if _at(log + p[AT_SCANNED])[0] != p[ZERO] or _at(_at(log + p[AT_LAZY])[0] + SIZE)[0] != 0:
        return False
    if _at(_at(log + p[AT_TENSORS])[0] + TYPE)[0] != p[LIST]:
        return False
    # The size of a dictionary has the same offset as that of a list.
    calls, pending_cleanup = _at(log + p[AT_CALLS])[0], _at(log + p[AT_PENDING_CLEANUP])[0]
    if _at(calls + SIZE)[0] != 0 or _at(pending_cleanup + SIZE)[0] != 0:
        return False
    if call1(p[TO_INT], _at(log + p[AT_N])[0]) < e[FIRST_ROW] + e[COUNT]:
        return False
    if call1(p[TO_INT], _at(log + p[AT_EXTRA_N])[0]) < e[OPERAND_COUNT]:
        return False
    tapes = _at(log + p[AT_TAPES])[0]
    for k in range(_at(tapes + SIZE)[0]):
        tape = call1(p[GET_REFERENT], _at(_at(tapes + LIST_ITEMS)[0])[k])
        if tape == p[NONE]:
            continue
        if tape == 0 or _at(tape + TYPE)[0] != p[TAPE]:
            return False
        if _at(tape + p[AT_TAPE_LOG])[0] == log and _at(tape + p[AT_SPENT])[0] != p[TRUE]:
            return False
    return True


@jit
def _needs_value(process: int, tensor: int, log: int) -> bool:
    """Whether a tensor has references besides the log's list, and no value yet."""
    p = _at(process)
    if _u32(tensor + p[AT_REFERENCES])[0] <= 1 and _at(tensor + p[AT_WEAK])[0] == 0:
        return False
    return _at(tensor + p[AT_HOME])[0] == log


@jit
def _mark(process: int, entry: int, tensor: int, eager: int) -> bool:
    """Mark a tensor's row as wanted or optional; False if it is outside of the recorded rows.

    ``eager`` is the set of rows that are wanted whatever their size, or 0 to mark it as wanted.
    """
    p, e = _at(process), _at(entry)
    number = _at(tensor + p[AT_ROW])[0]
    row = call1(p[TO_INT], number)
    if row < e[FIRST_ROW] or row >= e[FIRST_ROW] + e[COUNT] or _u8(e[STATE])[row] == VALUE:
        return False
    want = _u8(e[WANT])
    if eager == 0 or _at(_at(tensor + p[AT_SPEC])[0] + p[AT_SINGLE])[0] == p[TRUE]:
        want[row] = WANTED
    elif want[row] != WANTED:
        want[row] = WANTED if call2(p[SET_CONTAINS], eager, number) << 32 != 0 else OPTIONAL
    return True


@jit
def _mark_wanted(process: int, entry: int, log: int, tensor: int) -> bool:
    """Mark all wanted rows; False if one is outside of the recorded rows."""
    p = _at(process)
    if not _mark(process, entry, tensor, 0):
        return False
    scratch = p[SCRATCH]
    _at(scratch)[0] = 0
    pending = _at(log + p[AT_PENDING])[0]
    while call4(p[NEXT_ENTRY], pending, scratch, scratch + 8, scratch + 16) << 32 != 0:
        value = _at(_at(scratch + 16)[0] + p[AT_VALUE])[0]
        if _at(value + p[AT_HOME])[0] == log and not _mark(process, entry, value, 0):
            return False
    eager, retained = _at(log + p[AT_EAGER])[0], _at(log + p[AT_TENSORS])[0]
    tensors = _at(_at(retained + LIST_ITEMS)[0])
    for k in range(_at(retained + SIZE)[0]):
        if _needs_value(process, tensors[k], log) and not _mark(process, entry, tensors[k], eager):
            return False
    return True


@jit
def _are_rows_unchanged(process: int, entry: int, log: int, tensor: int, rows: LogColumns) -> bool:
    """Whether rows and their wants are as recorded; clears the wants."""
    e = _at(entry)
    low, count, want = e[FIRST_ROW], e[COUNT], _u8(e[WANT])
    if (
        _mark_wanted(process, entry, log, tensor)
        and recall(
            rows,
            want,
            low,
            count,
            _i32(e[STRUCTURE]),
            _u8(e[FLAGS]),
            _i32(e[OPERANDS]),
            e[OPERAND_COUNT],
            _i32(e[ORDER]),
            e[ORDER_COUNT],
        )
        == 1
    ):
        is_unchanged = True
    else:
        is_unchanged = False
    for k in range(low, low + count):  # also after a failure: Python marks them again
        want[k] = 0
    return is_unchanged


@jit
def _run_plan(process: int, entry: int, new_objects: int) -> bool:
    """Run the plan, and store the values in the arrays of ``new_objects``."""
    p, e = _at(process), _at(entry)
    arrays = _at(_at(new_objects + LIST_ITEMS)[0] + 8 * OWN)
    cells, rows = _i64(e[CELL]), _i64(e[BUFFER_ROWS])
    for k in range(e[BUFFER_COUNT]):
        cells[rows[k]] = _at(arrays[k] + p[AT_DATA])[0]
    _at(e[BEGIN])[0] = 0
    _at(e[COMPUTED])[0] = 0
    if call1(e[SWEEP], e[BLOCK]) != e[END]:
        return False
    places, sizes = _i64(e[PLACES]), _i64(e[SIZES])
    for k in range(e[BUFFER_COUNT], e[ARRAYS]):
        data, bits = _at(arrays[k] + p[AT_DATA])[0], cells[places[k]]
        if sizes[k] == 8:
            _i64(data)[0] = bits
        elif sizes[k] == 4:
            _u32(data)[0] = bits & 0xFFFFFFFF
        elif sizes[k] == 2:
            _u16(data)[0] = bits & 0xFFFF
        else:
            _u8(data)[0] = bits & 0xFF
    return True


@jit
def _set_slot(process: int, slot: int, new: int) -> int:
    """Replace the object in a slot. Releasing the old one must not run code."""
    p = _at(process)
    old = _at(slot)[0]
    call1(p[INCREF], new)
    _at(slot)[0] = new
    call1(p[DECREF], old)
    return 0


@jit
def _set_values(process: int, entry: int, log: int, new_objects: int) -> int:
    """Set the values of tensors that the program still references."""
    p, e = _at(process), _at(entry)
    arrays, index = _at(_at(new_objects + LIST_ITEMS)[0] + 8 * OWN), _i64(e[INDEX])
    log_tensors = _at(log + p[AT_TENSORS])[0]
    tensors = _at(_at(log_tensors + LIST_ITEMS)[0])
    for k in range(_at(log_tensors + SIZE)[0]):
        if _needs_value(process, tensors[k], log):
            row = call1(p[TO_INT], _at(tensors[k] + p[AT_ROW])[0])
            _set_slot(process, tensors[k] + p[AT_HOME], arrays[index[row - e[FIRST_ROW]]])
    return 0


@jit
def _rewind(process: int, entry: int, log: int, new_objects: int) -> int:
    """Rewind the log to row 0; its former containers move to ``new_objects``."""
    p, e = _at(process), _at(entry)
    items = _at(_at(new_objects + LIST_ITEMS)[0])
    n = call1(p[TO_INT], _at(log + p[AT_N])[0])
    reads = _at(log + p[AT_READS])[0]
    variables = _at(_at(reads + LIST_ITEMS)[0])
    for k in range(_at(reads + SIZE)[0]):
        read = variables[k] + p[AT_READ]
        if _at(read)[0] != p[NONE] and _at(_at(read)[0] + p[AT_ITEM])[0] == log:
            _set_slot(process, read, p[NONE])
    for k in range(CONTAINERS + 1):
        place = log + (p[AT_VARIABLES + k] if k < CONTAINERS else p[AT_TENSORS])
        items[k], _at(place)[0] = _at(place)[0], items[k]
    call1(p[CLEAR_DICT], _at(log + p[AT_CONST_ROWS])[0])
    call1(p[CLEAR_SET], _at(log + p[AT_EAGER])[0])
    _set_slot(process, log + p[AT_N], p[ZERO])
    _set_slot(process, log + p[AT_EXTRA_N], p[ZERO])
    _set_slot(process, log + p[AT_FULL_RESCAN_AT], p[ZERO])
    _set_slot(process, log + p[AT_LAZY_RESCAN_AT], p[ZERO])
    _set_slot(process, log + p[AT_BYTES], p[ZERO])
    _set_slot(process, log + p[AT_LIMIT], p[LIMIT])
    _set_slot(process, log + p[AT_BYTES_LIMIT], p[BYTES_LIMIT])
    _set_slot(process, log + p[AT_COMPUTATIONS], items[CONTAINERS + 1])
    for k in range(n):
        _u8(e[STATE])[k] = 0
        _u8(e[WANT])[k] = 0
    return 0


@jit
def _execute(process: int, entry: int, log: int, tensor: int) -> int:
    """Evaluate a tensor completely, or change no visible state and return `DECLINED`."""
    p, e = _at(process), _at(entry)
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
    if call1(p[TO_INT], _at(log + p[AT_N])[0]) < e[FIRST_ROW] + e[COUNT]:
        return DECLINED
    if e[LEFT] <= 0 or differ(rows, e[FIRST_ROW], _i32(e[STRUCTURE]), e[COUNT]):
        return DECLINED
    if e[HITS] % TRIM_INTERVAL == 0:
        result = call1(p[CALL], p[TRIM_BUFFERS])
        if result == 0:
            return FAILED
        call1(p[DECREF], result)
    if _at(log + p[AT_LOCK])[0] != e[LOCK]:
        return DECLINED
    new_objects = _make_objects(process, entry, log)
    if new_objects == 0:
        call1(p[CLEAR_ERROR], 0)
        return DECLINED
    result = call2(p[CALL_ONE_ARG], e[ACQUIRE], p[FALSE])
    if result != p[TRUE]:
        call1(p[CLEAR_ERROR], 0)
        if result != 0:
            call1(p[DECREF], result)
        call1(p[DECREF], new_objects)
        return DECLINED
    call1(p[DECREF], result)
    value = DECLINED
    # Start of the atomic part: no Python code runs.
    if (
        _at(tensor + p[AT_HOME])[0] == log
        and _is_idle_and_current(process, log)
        and _is_state_expected(process, entry, log)
    ):
        if _are_rows_unchanged(process, entry, log, tensor, rows) and _run_plan(
            process, entry, new_objects
        ):
            e[HITS] += 1
            e[LEFT] -= 1
            _set_values(process, entry, log, new_objects)
            _rewind(process, entry, log, new_objects)
            value = _at(tensor + p[AT_HOME])[0]
            call1(p[INCREF], value)
    result = call1(p[CALL], e[RELEASE])
    # End of the atomic part. Now drop the log's former objects.
    if result == 0:
        call1(p[CLEAR_ERROR], 0)
    else:
        call1(p[DECREF], result)
    if value != DECLINED:
        result = call2(
            p[CALL_ONE_ARG], p[RELEASE_TENSORS], _at(_at(new_objects + LIST_ITEMS)[0])[CONTAINERS]
        )
        if result == 0:
            call1(p[CLEAR_ERROR], 0)
        else:
            call1(p[DECREF], result)
    call1(p[DECREF], new_objects)
    return value


@jit
def repeated_evaluation(process: int, inputs: int, count: int, names: int) -> int:
    """``(log, tensor)``: the tensor's value, or None to leave the evaluation to Python."""
    p, arguments = _at(process), _at(inputs)
    log, tensor = arguments[0], arguments[1]
    if _at(log + TYPE)[0] == p[LOG] and _at(tensor + p[AT_HOME])[0] == log:
        fast_paths = _at(log + p[AT_EVALUATE_FAST_PATHS])[0]
        for k in range(_at(fast_paths + SIZE)[0]):
            fast_path = _at(fast_paths + p[AT_ITEM])[k]
            call1(p[INCREF], fast_paths)  # other threads may replace them meanwhile
            entry = _at(_at(fast_path + p[AT_ITEM])[0] + p[AT_BUFFER])[0]
            value = _execute(process, entry, log, tensor)
            call1(p[DECREF], fast_paths)
            if value != DECLINED:
                return value
            if (
                _at(log + p[AT_EVALUATE_FAST_PATHS])[0] != fast_paths
                or _at(tensor + p[AT_HOME])[0] != log
            ):
                break
    call1(p[INCREF], p[NONE])
    return p[NONE]
