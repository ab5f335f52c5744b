"""The fast path of a call of a recorded function, for cases that need no Python code.

It does what `Function.__call__`, `Dispatcher.__call__`, `Recording.run` and `commit` do, for tensor
arguments whose values are known. Their source explains each step. All new objects are created
first. From the comparison of names to the values of the result, no Python code can run in
between: no collection, finalizer, signal handler or other thread. Variables are assigned last,
without interruption. If the fast path does not apply, nothing has been changed, and Python carries
out the call.

The caller holds the GIL. A word is eight bytes: a number, or the address of an object.
"""

from __future__ import annotations

from ..cpython.words import (
    ARRAY,
    AS_TUPLE,
    AT_BUFFER,
    AT_CALL,
    AT_CELL,
    AT_DATA,
    AT_HOME,
    AT_ITEM,
    AT_NAMES,
    AT_READ,
    AT_SPEC,
    AT_TAPES,
    AT_VALUE,
    CALL,
    CALL_ONE_ARG,
    CLEAR_ERROR,
    CLOCK,
    DECREF,
    EMPTY,
    ERROR,
    FALSE,
    FROM_INT,
    FUNCTION,
    GET_ATTRIBUTE,
    GET_ENTRY,
    INCREF,
    JOURNAL_NAME,
    LIST_ITEMS,
    LOCAL,
    LOCAL_KEY,
    LOG,
    LOG_NAME,
    MAKE,
    MAKE_LIST,
    NONE,
    SCALAR_STORAGE,
    SET_ERROR,
    SIZE,
    TAKE_ERROR,
    TENSOR,
    THREAD_DICT,
    TO_INT,
    TRAINING_NAME,
    TRIM_BUFFERS,
    TRUE,
    TYPE,
    VECTORCALL,
)
from ..jit import POINTERS, call0, call1, call2, call3, call4, call_array, jit
from .call_words import (
    ACQUIRE,
    APART,
    ARGUMENTS,
    ASSIGNED,
    ASSIGNED_VARIABLES,
    BEGIN,
    BLOCK,
    BUFFER_KINDS,
    BUFFER_ROWS,
    BUFFERS,
    CELL,
    COMPUTED,
    CONSTANT,
    CONSTANTS,
    COUNTS,
    DRAW_ACQUIRE,
    DRAW_NUMBER,
    DRAW_PARAMETERS,
    DRAW_RELEASE,
    DRAW_ROW,
    DRAW_TABLE,
    DRAW_TABLE_WORDS,
    DRAW_UNITS,
    DRAWN,
    DRAWS,
    END,
    EXPECTED,
    GUARDS,
    IN_CELL,
    IS_COUNTED,
    KIND,
    LEFT,
    LIST,
    NAME_COUNT,
    NAMES,
    NEW_BUFFERS,
    NEW_PLACES,
    NEW_SPECS,
    ONE,
    OTHER,
    OUT_BUFFERS,
    OUT_PLACES,
    OUT_SPECS,
    OUTPUTS,
    OWN,
    OWN_COUNT,
    PLACES,
    REBUILD,
    RELEASE,
    ROWS,
    SIZES,
    SPECS,
    SWEEP,
    TRAINING,
    TUPLE,
    UNSEEDED,
    VARIABLE_ROWS,
    VARIABLE_SIZES,
    VARIABLES,
)
from .guards import _at, first_changed

HITS, NANOSECONDS = range(2)  # indices of counters
DECLINED, FAILED = 0, 1  # instead of a result: leave the call to Python; an exception is set
TIMED = 16  # one of so many calls is timed, on behalf of all
COUNT = (1 << 63) - 1  # without PY_VECTORCALL_ARGUMENTS_OFFSET

_one, _two, _four = POINTERS["uint8"], POINTERS["uint16"], POINTERS["uint32"]  # by size


@jit
def _is_thread_idle(process: int, training: int) -> int:
    """Whether the thread's log is a plain log without tapes, with the same training mode.

    The thread must not be within a call that may have to be undone, either.

    Returns:
      1 or 0; -1 if an exception is set.
    """
    p = _at(process)
    is_idle = 0
    if p[AT_NAMES] < 0:  # unknown layout of thread-locals: ask Python
        log = call2(p[GET_ATTRIBUTE], p[LOCAL], p[LOG_NAME])
        if log == 0:
            return -1
        training_now = call2(p[GET_ATTRIBUTE], p[LOCAL], p[TRAINING_NAME])
        if training_now == 0:
            call1(p[DECREF], log)
            return -1
        journal = call2(p[GET_ATTRIBUTE], p[LOCAL], p[JOURNAL_NAME])
        if journal == 0:
            call1(p[DECREF], training_now)
            call1(p[DECREF], log)
            return -1
        call1(p[DECREF], journal)
        call1(p[DECREF], training_now)
    else:
        thread_dict = call0(p[THREAD_DICT])
        state = call2(p[GET_ENTRY], thread_dict, p[LOCAL_KEY]) if thread_dict != 0 else 0
        if state == 0:
            return 0
        names = _at(state + p[AT_NAMES])[0]
        log = call2(p[GET_ENTRY], names, p[LOG_NAME])
        training_now = call2(p[GET_ENTRY], names, p[TRAINING_NAME])
        journal = call2(p[GET_ENTRY], names, p[JOURNAL_NAME])
        if training_now == 0:
            training_now = p[NONE]
        if journal == 0:
            journal = p[NONE]
        if log == 0:
            return 0
    if _at(log + TYPE)[0] == p[LOG] and training_now == training and journal == p[NONE]:
        is_idle = _at(_at(log + p[AT_TAPES])[0] + SIZE)[0] == 0
    if p[AT_NAMES] < 0:
        call1(p[DECREF], log)
    return is_idle


@jit
def _make_list(process: int, count: int, constants: int) -> int:
    """A list of the constants, with None for missing ones; 0 if memory is exhausted."""
    p = _at(process)
    new_list = call1(p[MAKE_LIST], count)
    if new_list == 0 or count == 0:
        return new_list
    items = _at(_at(new_list + LIST_ITEMS)[0])
    for k in range(count):  # fill all: a collection may show the list to a finalizer
        item = _at(constants)[k] if constants != 0 else 0
        if item == 0:
            item = p[NONE]
        call1(p[INCREF], item)
        items[k] = item
    return new_list


@jit
def _make_result(process: int, address: int) -> int:
    """The result, without the values of its tensors; 0 if memory is exhausted."""
    p, call = _at(process), _at(address)
    constants = _at(call[CONSTANTS])
    kind, count = call[KIND], call[OUTPUTS]
    if kind == ONE:
        return call2(p[MAKE], p[TENSOR], 0)
    if kind == CONSTANT:
        call1(p[INCREF], constants[0])
        return constants[0]
    result = _make_list(process, count, call[CONSTANTS])
    if result == 0 or count == 0:
        return result
    items = _at(_at(result + LIST_ITEMS)[0])
    for k in range(count):
        if constants[k] == 0:
            tensor = call2(p[MAKE], p[TENSOR], 0)
            if tensor == 0:
                call1(p[DECREF], result)
                return 0
            items[k] = tensor
            call1(p[DECREF], p[NONE])
    return result


@jit
def _make_new_objects(process: int, address: int) -> int:
    """A list of the call's new objects besides its result, or None; 0 if memory is exhausted.

    These are arrays for values, new tensors for variables, and None for the variables' reads.
    """
    p, call = _at(process), _at(address)
    buffers, assigned = call[BUFFERS], call[ASSIGNED]
    count = buffers + 2 * assigned
    if count == 0:
        call1(p[INCREF], p[NONE])
        return p[NONE]
    new_objects = _make_list(process, count, 0)
    if new_objects == 0:
        return 0
    items = _at(_at(new_objects + LIST_ITEMS)[0])
    for k in range(buffers + assigned):
        if k < buffers:
            item = call4(p[VECTORCALL], p[EMPTY], call[BUFFER_KINDS] + 16 * k, 2, 0)
        else:
            item = call2(p[MAKE], p[TENSOR], 0)
        if item == 0:
            call1(p[DECREF], new_objects)
            return 0
        items[k] = item
        call1(p[DECREF], p[NONE])
    return new_objects


@jit
def _store_value(process: int, cells: int, row: int, tensor: int, size: int) -> bool:
    """Write a tensor's value to the cell of a row: ``size`` bytes, or for 0 an address.

    False if the value is unknown, or neither in a cell nor in an array.
    """
    p = _at(process)
    if _at(tensor + TYPE)[0] != p[TENSOR]:
        return False
    word = _at(tensor + p[AT_CELL])[0]
    if word != 0:
        _at(cells)[row] = call1(p[TO_INT], word)
        return True
    array = _at(tensor + p[AT_HOME])[0]
    if array == 0 or _at(array + TYPE)[0] != p[ARRAY]:
        return False
    data = _at(array + p[AT_DATA])[0]
    bits = data
    if size == 8:
        bits = _at(data)[0]
    elif size == 4:
        bits = _four(data)[0]
    elif size == 2:
        bits = _two(data)[0]
    elif size == 1:
        bits = _one(data)[0]
    _at(cells)[row] = bits
    return True


@jit
def _draw(process: int, address: int) -> int:
    """Draw random numbers. Returns the number of the next draw; -1 if it is not known."""
    call = _at(address)
    next_number = call1(_at(process)[TO_INT], _at(call[DRAW_NUMBER])[0])
    if next_number < 0:
        return -1
    cells, unseeded = call[CELL], _at(call[UNSEEDED])
    for k in range(call[DRAWS]):
        draw = _at(call[DRAW_TABLE] + 8 * DRAW_TABLE_WORDS * k)
        parameters, out = _at(draw[DRAW_PARAMETERS]), _at(cells)[draw[DRAW_ROW]]
        if draw[IS_COUNTED] != 0:
            parameters[2] = next_number
            next_number += 1
        else:
            for j in range(3):
                parameters[j] = unseeded[j]
            unseeded[2] += 1
        if draw[IN_CELL] != 0:
            out = cells + 8 * draw[DRAW_ROW]
            _at(out)[0] = 0
        call_array(call[DRAWN], out, 0, 0, 0, draw[DRAW_PARAMETERS], 0, draw[DRAW_UNITS])
    return next_number


@jit
def _sweep(process: int, address: int, inputs: int, new_objects: int) -> int:
    """Fill the cells, draw and run the plan.

    Returns:
      The number of the next draw; -1 if a guard does not hold, or Python must run the plan.
    """
    call = _at(address)
    cells = call[CELL]
    rows, sizes = _at(call[ROWS]), _at(call[SIZES])
    for k in range(call[ARGUMENTS]):
        if not _store_value(process, cells, rows[k], _at(inputs)[k + 1], sizes[k]):
            return -1
    variables = _at(call[VARIABLES])
    rows, sizes = _at(call[VARIABLE_ROWS]), _at(call[VARIABLE_SIZES])
    value_at = _at(process)[AT_VALUE]
    k = 0
    while variables[k] != 0:
        value = _at(variables[k] + value_at)[0]
        if value == 0 or not _store_value(process, cells, rows[k], value, sizes[k]):
            return -1
        k += 1
    if call[BUFFERS] > 0:
        arrays, rows = _at(_at(new_objects + LIST_ITEMS)[0]), _at(call[BUFFER_ROWS])
        for j in range(call[BUFFERS]):
            _at(cells)[rows[j]] = _at(arrays[j] + _at(process)[AT_DATA])[0]
    next_number = _draw(process, address) if call[DRAWS] > 0 else 0
    if next_number < 0:
        return -1
    if call[SWEEP] != 0:
        if call[LEFT] <= 0:
            return -1
        _at(call[BEGIN])[0] = 0
        _at(call[COMPUTED])[0] = 0
        if call1(call[SWEEP], call[BLOCK]) != call[END]:
            return -1
        call[LEFT] -= 1
    places, expected = _at(call[PLACES]), _at(call[EXPECTED])
    for k in range(call[GUARDS]):
        if _at(cells)[places[k]] != expected[k]:
            return -1
    return next_number


@jit
def _fill_tensor(process: int, tensor: int, bits: int, spec: int, home: int) -> bool:
    """Set the value of a new tensor; False if memory is exhausted."""
    p = _at(process)
    word = call1(p[FROM_INT], bits)
    if word == 0:
        return False
    call1(p[INCREF], spec)
    call1(p[INCREF], home)
    _at(tensor + p[AT_CELL])[0] = word
    _at(tensor + p[AT_SPEC])[0] = spec
    _at(tensor + p[AT_HOME])[0] = home
    return True


@jit
def _fill_values(process: int, address: int, result: int, new_objects: int) -> bool:
    """Set the values of all new tensors; False if memory is exhausted."""
    p, call = _at(process), _at(address)
    cells, constants = _at(call[CELL]), _at(call[CONSTANTS])
    items = _at(_at(new_objects + LIST_ITEMS)[0]) if call[BUFFERS] + call[ASSIGNED] > 0 else cells
    places, buffers, specs = _at(call[OUT_PLACES]), _at(call[OUT_BUFFERS]), _at(call[OUT_SPECS])
    for k in range(call[OUTPUTS]):
        if constants[k] == 0:
            tensor = result if call[KIND] == ONE else _at(_at(result + LIST_ITEMS)[0])[k]
            home = p[SCALAR_STORAGE] if buffers[k] < 0 else items[buffers[k]]
            if not _fill_tensor(process, tensor, cells[places[k]], specs[k], home):
                return False
    places, buffers, specs = _at(call[NEW_PLACES]), _at(call[NEW_BUFFERS]), _at(call[NEW_SPECS])
    for k in range(call[ASSIGNED]):
        home = p[SCALAR_STORAGE] if buffers[k] < 0 else items[buffers[k]]
        if not _fill_tensor(process, items[call[BUFFERS] + k], cells[places[k]], specs[k], home):
            return False
    return True


@jit
def _assign(process: int, address: int, new_objects: int) -> int:
    """Exchange the variables' values with those in ``new_objects``, which is dropped later."""
    p, call = _at(process), _at(address)
    variables, items = _at(call[ASSIGNED_VARIABLES]), _at(_at(new_objects + LIST_ITEMS)[0])
    count, at = call[ASSIGNED], call[BUFFERS]
    for k in range(count):
        value, read = _at(variables[k] + p[AT_VALUE]), _at(variables[k] + p[AT_READ])
        new, nothing = items[at + k], items[at + count + k]
        items[at + k], items[at + count + k] = value[0], read[0]
        value[0], read[0] = new, nothing
    return 0


@jit
def _count_draws(process: int, address: int, number: int) -> int:
    """Set the number of the next draw, an object of which the state becomes the owner."""
    place = _at(_at(address)[DRAW_NUMBER])
    old = place[0]
    place[0] = number
    return call1(_at(process)[DECREF], old)


@jit
def _try_lock(process: int, acquire: int) -> bool:
    """Acquire a lock with its method, if it is free."""
    p = _at(process)
    acquired = call2(p[CALL_ONE_ARG], acquire, p[FALSE])
    if acquired == 0:
        return False
    call1(p[DECREF], acquired)
    return acquired == p[TRUE]


@jit
def _unlock(process: int, release: int) -> int:
    """Release a lock with its method, preserving a pending exception."""
    p = _at(process)
    error = p[ERROR]
    call3(p[TAKE_ERROR], error, error + 8, error + 16)
    released = call1(p[CALL], release)
    if released == 0:
        call1(p[CLEAR_ERROR], 0)
    else:
        call1(p[DECREF], released)
    call3(p[SET_ERROR], _at(error)[0], _at(error)[1], _at(error)[2])
    return 0


@jit
def _time(process: int) -> int:
    """Nanoseconds on Python's clock; -1 if the clock fails."""
    p = _at(process)
    seconds = call1(p[CALL], p[CLOCK])
    if seconds == 0:
        call1(p[CLEAR_ERROR], 0)
        return -1
    time = call1(p[TO_INT], seconds)
    call1(p[DECREF], seconds)
    return time


@jit
def _replay(process: int, address: int, inputs: int) -> int:
    """The result of a call whose arguments have the recorded specs, `DECLINED` or `FAILED`."""
    p, call = _at(process), _at(address)
    counts = _at(call[COUNTS])
    timed = counts[HITS] % TIMED == 0
    if timed:  # free unused buffers from time to time
        answer = call1(p[CALL], p[TRIM_BUFFERS])
        if answer == 0:
            return FAILED
        call1(p[DECREF], answer)
    start = _time(process) if timed else 0
    result = _make_result(process, address)
    new_objects = _make_new_objects(process, address) if result != 0 else 0
    if new_objects == 0:
        call1(p[CLEAR_ERROR], 0)
        if result != 0:
            call1(p[DECREF], result)
        return DECLINED
    is_idle = 0
    if call[NAMES] == 0 or first_changed(call[NAMES], 0) == call[NAME_COUNT]:
        if first_changed(call[OWN], 0) == call[OWN_COUNT]:
            is_idle = _is_thread_idle(process, call[TRAINING])
    # The order of the locks is always the same.
    may_run, locked, is_drawing = is_idle > 0, False, False
    if may_run and call[ASSIGNED] > 0:
        locked = _try_lock(process, call[ACQUIRE])
        may_run = locked
    if may_run and call[DRAWS] > 0:
        is_drawing = _try_lock(process, call[DRAW_ACQUIRE])
        may_run = is_drawing
    done, number = False, 0
    if may_run:
        next_number = _sweep(process, address, inputs, new_objects)
        number = call1(p[FROM_INT], next_number) if next_number >= 0 else 0
        if number != 0:
            done = _fill_values(process, address, result, new_objects)
    answer = result if done else DECLINED
    if done:
        counts[HITS] += 1
        if timed:
            counts[NANOSECONDS] += TIMED * (_time(process) - start)
        if call[KIND] == TUPLE:
            answer = call1(p[AS_TUPLE], result)
        elif call[KIND] == OTHER:
            answer = call2(p[CALL_ONE_ARG], call[REBUILD], result)
        if answer == 0:
            answer = FAILED
        else:
            if locked:
                _assign(process, address, new_objects)
            if is_drawing:
                _count_draws(process, address, number)
                number = 0
    elif is_idle < 0:
        answer = FAILED
    else:
        call1(p[CLEAR_ERROR], 0)
    if not done or call[KIND] > LIST:
        call1(p[DECREF], result)
    if number != 0:
        call1(p[DECREF], number)
    if is_drawing:
        _unlock(process, call[DRAW_RELEASE])
    if locked:
        _unlock(process, call[RELEASE])
    call1(p[DECREF], new_objects)
    return answer


@jit
def repeated_call(process: int, inputs: int, count: int, names: int) -> int:
    """The result of a call, `DECLINED` or `FAILED`.

    ``inputs`` is the address of the function and its arguments, ``count`` their total number, and
    ``names`` has the names of keyword arguments.
    """
    p, arguments = _at(process), _at(inputs)
    count = (count & COUNT) - 1
    if names != 0 or count < 0 or _at(arguments[0] + TYPE)[0] != p[FUNCTION]:
        return DECLINED
    fast_path = _at(arguments[0] + p[AT_CALL])[0]
    if fast_path == 0 or fast_path == p[NONE]:
        return DECLINED
    address = _at(_at(fast_path + p[AT_ITEM])[0] + p[AT_BUFFER])[0]
    call = _at(address)
    if count != call[ARGUMENTS]:
        return DECLINED
    specs = _at(call[SPECS])
    for k in range(count):
        tensor = arguments[k + 1]
        if _at(tensor + TYPE)[0] != p[TENSOR] or _at(tensor + p[AT_SPEC])[0] != specs[k]:
            return DECLINED
        if call[APART] != 0:  # all arguments must be distinct
            for j in range(k):
                if arguments[j + 1] == tensor:
                    return DECLINED
    call1(p[INCREF], fast_path)  # other threads may replace it meanwhile
    result = _replay(process, address, inputs)
    call1(p[DECREF], fast_path)
    return result
