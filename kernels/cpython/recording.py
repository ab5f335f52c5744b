"""The recorders in machine code: one description of recording for all ops.

`record` does what `numtape.core.log.record` does, which explains each step, for the usual
operands: tensors of the thread's own log, variables that were read in it, and values that become
leaves. It enters operands that have no row yet, takes or allocates a tensor, then writes and
publishes the row. The last part is atomic: Python runs nothing in between, that is no collection,
finalizer, signal handler or other thread. In an unusual case it returns `DECLINED`, and Python
records. Before this it changes nothing, except that it may append rows that Python would append as
well.

Liveness: each row of a log has a tensor, and most tensors are referenced only by the log when
values are computed. `live_tensors` counts references in one step, as `numtape.core.log.liveness`
defines it. When the log is reset, `release` empties its list of tensors; tensors without other
references drop their fields and join a free list. Most tensors are reused earlier: a recorder
takes an unreferenced tensor out of the log's list and gives it another row in the same place. So a
program that drops its results has few tensors, however many rows it records, and the garbage
collector, which counts allocated objects and visits existing ones, has nothing to do. Tensors that
an evaluation has considered keep their places.

The caller holds the GIL. ``process`` is the address of the words of the process, and ``entry`` that
of a recorder's words.
"""

from __future__ import annotations

from ..jit import POINTERS, call0, call1, call2, call3, call4, double_bits, inline, jit, single_bits
from ..passes.rows import VALUE
from .words import (
    ARRAY,
    AT_A,
    AT_B,
    AT_BUFFER,
    AT_BUFFERS,
    AT_BUILTIN_SELF,
    AT_BYTES,
    AT_BYTES_LIMIT,
    AT_C,
    AT_CELL,
    AT_CELL_VIEW,
    AT_CLOSURE,
    AT_CODE,
    AT_COLUMNS,
    AT_CONST_ROWS,
    AT_DATA,
    AT_DEVICE_COPY,
    AT_DIGIT,
    AT_DIGIT_COUNT,
    AT_HASH,
    AT_HOME,
    AT_INEXACT,
    AT_ITEM,
    AT_KERAS_LOGITS,
    AT_KERAS_MASK,
    AT_LEAF_ROWS,
    AT_LIMIT,
    AT_LOG_SPEC,
    AT_N,
    AT_NAMES,
    AT_READ,
    AT_READS,
    AT_REFERENCES,
    AT_ROW,
    AT_SCALAR,
    AT_SCANNED,
    AT_SINGLE,
    AT_SLICED,
    AT_SPEC,
    AT_SPEC_ID,
    AT_STATE_VIEW,
    AT_TENSORS,
    AT_VALUE,
    AT_VARIABLE_INDEX,
    AT_VARIABLE_SPEC,
    AT_VARIABLES,
    AT_WEAK,
    BUILTIN,
    CELL,
    CLEAR_ERROR,
    DECREF,
    DELETE_ENTRY,
    DIGIT_COUNT_MASK,
    FLOAT,
    FLOAT32,
    FLOAT64,
    FLOAT_TYPE,
    FREE_TENSORS,
    FROM_INT,
    GET_ATTRIBUTE,
    GET_ENTRY,
    INCREF,
    INT,
    INT32,
    INT64,
    LEAF_CODE,
    LIST,
    LIST_APPEND,
    LIST_ITEMS,
    LOCAL,
    LOCAL_KEY,
    LOG,
    LOG_NAME,
    MAKE,
    MAKE_LIST,
    MAKE_TUPLE,
    MAX_FREE_TENSORS,
    MINUS_ONE,
    NO_DIGIT,
    NONE,
    ONE_DIGIT,
    PAIR,
    PLUS_ONE,
    POSITION,
    READ_CODE,
    READ_ROW_CODE,
    SET_ENTRY,
    SET_SLICE,
    SHARED_INT_COUNT,
    SHARED_INTS,
    SIZE,
    SPEC_BYTES,
    SPEC_DTYPE,
    SPEC_ITEM,
    TENSOR,
    THREAD_DICT,
    TRACK,
    TRIPLE,
    TRUE,
    TUPLE,
    TYPE,
    UNTRACK,
    VARIABLE,
)

DECLINED, FAILED = 0, 1  # instead of a result: leave it to Python; an exception is set
NO_MEMORY = 2
TRIES = 2  # tensors of the list that are checked before a new one is allocated
# Results of `_operand` that are not addresses of specs: the operand has no row yet (or Python must
# enter it), and a Python number, whose spec depends on the other operand.
NO_ROW, NUMBER = 0, 1
IMMORTAL = 1 << 31  # from this reference count on, an object has no references to count
# Results of `_enter`, besides FAILED.
NOT_ENTERED, ENTERED, HAD_ROW = 0, 2, 4
# Masks a number of arguments, without PY_VECTORCALL_ARGUMENTS_OFFSET, and a float without its sign.
LOW_BITS = (1 << 63) - 1
INFINITY_BITS, SINGLE_INFINITY_BITS = 0x7FF << 52, 0xFF << 23

# Words of each recorder: the process, whether operands are swapped, whether the first one must be a
# tensor of floats or complex numbers, the number of steps from the function to the recorder, the
# steps (a closure cell, or -1 for the object of a method), and the closure cells of the recorder.
(
    PROCESS,
    IS_SWAPPED,
    NEEDS_INEXACT,
    HOP_COUNT,
    HOP_1,
    HOP_2,
    HOP_3,
    RESULTS,
    SAME_SPEC_RESULTS,
    CODE,
    RECORDER_WORDS,
) = range(11)

_at = POINTERS["int64"]
_u8, _u16, _u32 = POINTERS["uint8"], POINTERS["uint16"], POINTERS["uint32"]


# References and numbers.


@inline
def _add_reference(process: int, address: int) -> None:
    """Increment the reference count of an object of numtape, which is never immortal."""
    _u32(address + _at(process)[AT_REFERENCES])[0] += 1


@inline
def _drop_reference(process: int, address: int) -> None:
    """Decrement the reference count of an object of numtape."""
    p = _at(process)
    count = _u32(address + p[AT_REFERENCES])[0]
    if count > 1:
        _u32(address + p[AT_REFERENCES])[0] = count - 1
    else:
        call1(p[DECREF], address)


@inline
def _drop_number(process: int, number: int) -> None:
    """Decrement the reference count of an int, which may be immortal."""
    p = _at(process)
    count = _u32(number + p[AT_REFERENCES])[0]
    if count > 1 and count < IMMORTAL:
        _u32(number + p[AT_REFERENCES])[0] = count - 1
    else:
        call1(p[DECREF], number)


@inline
def _reports_error(status: int) -> bool:
    """Whether a C function reports an error: its result, a C int, is not 0."""
    return status << 32 != 0


@inline
def _int(process: int, value: int) -> int:
    """The value of a Python int from 0 to 2**30 - 1, which has one digit."""
    return _u32(value + _at(process)[AT_DIGIT])[0]


@jit
def _row_number(process: int, n: int) -> int:
    """A reference to a Python int: a shared one if it is small, because allocating one is slow."""
    p = _at(process)
    if n >= SHARED_INT_COUNT:
        return call1(p[FROM_INT], n)
    number = _at(p[SHARED_INTS])[n]
    count = _u32(number + p[AT_REFERENCES])[0]
    if count < IMMORTAL:
        _u32(number + p[AT_REFERENCES])[0] = count + 1
    return number


@inline
def _digit_count(process: int, value: int) -> int:
    """The word that holds the number of digits of a Python int, without flags."""
    p = _at(process)
    return _at(value + p[AT_DIGIT_COUNT])[0] & p[DIGIT_COUNT_MASK]


@inline
def _small_int(process: int, value: int) -> int:
    """The value of a Python int from 0 to 2**30 - 1; -1 for others."""
    p, count = _at(process), _digit_count(process, value)
    if count == p[ONE_DIGIT] or count == p[NO_DIGIT]:
        return _int(process, value)
    return -1


@inline
def _is_zero(process: int, number: int) -> bool:
    """Whether a Python float or int is 0."""
    p = _at(process)
    if _at(number + TYPE)[0] == p[FLOAT_TYPE]:
        return _at(number + FLOAT)[0] << 1 == 0
    return _digit_count(process, number) == p[NO_DIGIT]


# Tuples.


@inline
def _fill_pair(process: int, pair: int, x: int, y: int) -> None:
    """Store two objects in a tuple that no other code sees. It takes over the references."""
    items = _at(pair + _at(process)[AT_ITEM])
    items[0] = x
    items[1] = y


@inline
def _clear_hash(process: int, key: int) -> None:
    """Remove the cached hash of a tuple whose items change."""
    p = _at(process)
    if p[AT_HASH] >= 0:
        _at(key + p[AT_HASH])[0] = -1


@jit
def _entry_of_pair(process: int, table: int, x: int, y: int) -> int:
    """The entry of a dict for two objects; 0 if it is missing.

    The key is a tuple that is reserved for this. No other code can see it meanwhile, because
    comparing numbers and specs runs no Python code.
    """
    p = _at(process)
    key = p[PAIR]
    _clear_hash(process, key)
    _fill_pair(process, key, x, y)
    result = call2(p[GET_ENTRY], table, key)
    _fill_pair(process, key, p[NONE], p[NONE])
    return result


@jit
def _entry_of_triple(process: int, table: int, x: int, y: int, z: int) -> int:
    """The entry of a dict for three objects, as `_entry_of_pair`."""
    p = _at(process)
    key = p[TRIPLE]
    last = _at(key + p[AT_ITEM] + 16)
    _clear_hash(process, key)
    _fill_pair(process, key, x, y)
    last[0] = z
    result = call2(p[GET_ENTRY], table, key)
    _fill_pair(process, key, p[NONE], p[NONE])
    last[0] = p[NONE]
    return result


# Liveness.


@jit
def live_tensors(process: int, arguments: int, count: int, names: int) -> int:
    """``live_tensors(tensors, extra)``; see `core.log.liveness`."""
    p = _at(process)
    tensors, most = _at(arguments)[0], _int(process, _at(arguments)[1]) + 1
    live = call1(p[MAKE_LIST], 0)  # this may run a collection
    if live == 0:
        return FAILED
    k = 0
    while k < _at(tensors + SIZE)[0]:
        tensor = _at(_at(tensors + LIST_ITEMS)[0])[k]
        k += 1
        is_referenced = _u32(tensor + p[AT_REFERENCES])[0] > most
        if is_referenced or _at(tensor + p[AT_WEAK])[0] != 0:
            if _reports_error(call2(p[LIST_APPEND], live, tensor)):
                call1(p[DECREF], live)
                return FAILED
    return live


@inline
def _is_unreferenced(process: int, tensor: int) -> bool:
    """Whether only the log's list refers to a tensor, and it has a row and no other contents."""
    p = _at(process)
    if _u32(tensor + p[AT_REFERENCES])[0] != 1 or _at(tensor + TYPE)[0] != p[TENSOR]:
        return False
    if _at(tensor + p[AT_WEAK])[0] != 0 or _at(tensor + p[AT_CELL])[0] != 0:
        return False
    if _at(tensor + p[AT_DEVICE_COPY])[0] != 0 or _at(tensor + p[AT_SLICED])[0] != 0:
        return False
    if _at(tensor + p[AT_KERAS_LOGITS])[0] != 0 or _at(tensor + p[AT_KERAS_MASK])[0] != 0:
        return False
    if _at(tensor + p[AT_HOME])[0] == 0 or _at(tensor + p[AT_ROW])[0] == 0:
        return False
    return _at(tensor + p[AT_SPEC])[0] != 0


@jit
def release(process: int, arguments: int, count: int, names: int) -> int:
    """``release(tensors)``: empty the list. Unreferenced tensors join the free list."""
    p = _at(process)
    tensors, free = _at(arguments)[0], _at(p[FREE_TENSORS])
    for k in range(_at(tensors + SIZE)[0]):
        tensor = _at(_at(tensors + LIST_ITEMS)[0])[k]
        if free[0] == MAX_FREE_TENSORS or not _is_unreferenced(process, tensor):
            continue
        _add_reference(process, tensor)
        free[0] += 1
        free[free[0]] = tensor
        call1(p[UNTRACK], tensor)
        home, row = _at(tensor + p[AT_HOME])[0], _at(tensor + p[AT_ROW])[0]
        spec = _at(tensor + p[AT_SPEC])[0]
        _at(tensor + p[AT_HOME])[0] = 0
        _at(tensor + p[AT_ROW])[0] = 0
        _at(tensor + p[AT_SPEC])[0] = 0
        _drop_reference(process, home)
        _drop_reference(process, spec)
        call1(p[DECREF], row)
    size = _at(tensors + SIZE)[0]
    if _reports_error(call4(p[SET_SLICE], tensors, 0, size, 0)):
        return FAILED
    call1(p[INCREF], p[NONE])
    return p[NONE]


@jit
def _unreferenced_tensor(process: int, log: int) -> int:
    """A tensor that only the log's list references, or 0.

    Positions are checked in turn, beginning again at the first one that no evaluation has
    considered. The next position is shared by all logs, as any position is valid in any log.
    """
    p = _at(process)
    tensors, position = _at(log + p[AT_TENSORS])[0], _at(p[POSITION])
    count, first = _at(tensors + SIZE)[0], _int(process, _at(log + p[AT_SCANNED])[0])
    if first >= count:
        return 0
    for _ in range(TRIES):
        k = position[0] + 1
        if k < first or k >= count:
            k = first
        position[0] = k
        tensor = _at(_at(tensors + LIST_ITEMS)[0])[k]
        if _is_unreferenced(process, tensor) and _at(tensor + p[AT_HOME])[0] == log:
            return tensor
    return 0


@jit
def _new_tensor(process: int) -> int:
    """A tensor of the free list, or else a new one; 0 for a MemoryError."""
    p = _at(process)
    free = _at(p[FREE_TENSORS])
    if free[0] == 0:
        return call2(p[MAKE], p[TENSOR], 0)
    tensor = free[free[0]]
    free[0] -= 1
    call1(p[TRACK], tensor)
    return tensor


# The log.


@jit
def _thread_log(process: int) -> int:
    """The thread's log; DECLINED for a trace or a rule's log, or FAILED.

    The caller owns a reference if `_owns_log`.
    """
    p = _at(process)
    if p[AT_NAMES] < 0:  # unknown layout of thread-locals: ask Python
        log = call2(p[GET_ATTRIBUTE], p[LOCAL], p[LOG_NAME])
        if log == 0:
            return FAILED  # an interrupt in `LogByCaller`
        if _at(log + TYPE)[0] != p[LOG]:
            call1(p[DECREF], log)
            return DECLINED
        return log
    thread_dict = call0(p[THREAD_DICT])
    state = call2(p[GET_ENTRY], thread_dict, p[LOCAL_KEY]) if thread_dict != 0 else 0
    if state == 0:
        return DECLINED
    log = call2(p[GET_ENTRY], _at(state + p[AT_NAMES])[0], p[LOG_NAME])
    if log == 0 or _at(log + TYPE)[0] != p[LOG]:
        return DECLINED
    return log


@inline
def _owns_log(process: int) -> bool:
    """Whether `_thread_log` returns a reference that its caller owns."""
    return _at(process)[AT_NAMES] < 0


@inline
def _column(process: int, log: int, at: int) -> int:
    """The address of a column of the log, from the offset of its memoryview."""
    return _at(_at(log + at)[0] + _at(process)[AT_BUFFER])[0]


@inline
def _next_length(process: int, log: int) -> int:
    """The length of the log with one more row, as a Python int; 0 for a MemoryError."""
    p = _at(process)
    return _row_number(process, _int(process, _at(log + p[AT_N])[0]) + 1)


@jit
def _set_value(process: int, log: int, cell: int) -> None:
    """Set the cell of the next row, and mark the row as computed."""
    p = _at(process)
    n, columns = _int(process, _at(log + p[AT_N])[0]), _at(log + p[AT_COLUMNS])[0]
    _at(_column(process, columns, p[AT_CELL_VIEW]))[n] = cell
    _u8(_column(process, columns, p[AT_STATE_VIEW]))[n] = VALUE


@jit
def _store_array(process: int, log: int, array: int, spec: int) -> bool:
    """Store an array as the value of the next row; False if it cannot. No later step may fail."""
    p = _at(process)
    kind, data = _int(process, _at(spec + p[AT_SPEC_ID])[0]), _at(array + p[AT_DATA])[0]
    if _at(spec + p[AT_SINGLE])[0] == p[TRUE]:
        size = _u32(p[SPEC_ITEM])[kind]
        if size == 8:
            cell = _at(data)[0]
        elif size == 4:
            cell = _u32(data)[0]
        elif size == 2:
            cell = _u16(data)[0]
        elif size == 1:
            cell = _u8(data)[0]
        else:
            return False
        _set_value(process, log, cell)
        return True
    old = _at(log + p[AT_BYTES])[0]
    used, limit = _small_int(process, old), _small_int(process, _at(log + p[AT_BYTES_LIMIT])[0])
    total = used + _at(p[SPEC_BYTES])[kind]
    if used < 0 or limit < 0 or total > limit:
        return False
    new = call1(p[FROM_INT], total)
    if new == 0:
        return False
    buffers, row = _at(log + p[AT_BUFFERS])[0], _at(log + p[AT_N])[0]
    if _reports_error(call3(p[SET_ENTRY], buffers, row, array)):
        call1(p[DECREF], new)
        return False
    _at(log + p[AT_BYTES])[0] = new
    call1(p[DECREF], old)
    _set_value(process, log, data)
    return True


@jit
def _publish_entered(process: int, log: int, spec: int, length: int, code: int) -> None:
    """Publish the row of an operand. The caller owns the row's number, the log's former length."""
    p = _at(process)
    n = _int(process, _at(log + p[AT_N])[0])
    _u32(_column(process, log, p[AT_CODE]))[n] = code
    _u32(_column(process, log, p[AT_LOG_SPEC]))[n] = _int(process, _at(spec + p[AT_SPEC_ID])[0])
    _at(log + p[AT_N])[0] = length


# Operands that have no row yet. Each is entered atomically; see `core.log.log.Log.row_of`.


@jit
def _variable_number(process: int, log: int, variable: int) -> int:
    """A variable's number in the log, added if necessary, as by `Log.number`; -1 if it fails."""
    p = _at(process)
    key = call1(p[FROM_INT], variable)  # the value of `id`
    if key == 0:
        return -1
    index, variables = _at(log + p[AT_VARIABLE_INDEX])[0], _at(log + p[AT_VARIABLES])[0]
    entry = call2(p[GET_ENTRY], index, key)
    if entry != 0:
        call1(p[DECREF], key)
        return _int(process, entry)
    count = _at(variables + SIZE)[0]
    if _reports_error(call2(p[LIST_APPEND], variables, variable)):
        call1(p[DECREF], key)
        return -1
    number = call1(p[FROM_INT], count)
    if number == 0:
        call1(p[DECREF], key)
        return -1
    status = call3(p[SET_ENTRY], index, key, number)
    call1(p[DECREF], number)
    call1(p[DECREF], key)
    return -1 if _reports_error(status) else count


@jit
def _enter_read(process: int, log: int, variable: int, pair: int) -> int:
    """Append a read of a variable, or reuse the last read, as `Variable._read_in` does."""
    p = _at(process)
    read = _at(variable + p[AT_READ])[0]
    if read == 0:
        return NOT_ENTERED
    if _at(read + TYPE)[0] == p[TUPLE] and _at(read + p[AT_ITEM])[0] == log:
        return HAD_ROW
    value = _at(variable + p[AT_VALUE])[0]
    if value == 0 or _at(value + TYPE)[0] != p[TENSOR]:
        return NOT_ENTERED
    home, spec = _at(value + p[AT_HOME])[0], _at(value + p[AT_SPEC])[0]
    if home != log and _at(home + TYPE)[0] != p[ARRAY]:
        return NOT_ENTERED
    number = _variable_number(process, log, variable)
    if number < 0 or _reports_error(call2(p[LIST_APPEND], _at(log + p[AT_READS])[0], variable)):
        return NOT_ENTERED
    length = _next_length(process, log)
    if length == 0:
        return NOT_ENTERED
    row = _at(log + p[AT_N])[0]
    n = _int(process, row)
    if home == log:
        _u32(_column(process, log, p[AT_A]))[n] = _int(process, _at(value + p[AT_ROW])[0])
        _publish_entered(process, log, spec, length, p[READ_ROW_CODE])
    elif _store_array(process, log, home, spec):
        _publish_entered(process, log, spec, length, p[READ_CODE])
    else:
        call1(p[DECREF], length)
        return NOT_ENTERED
    _u32(_column(process, log, p[AT_B]))[n] = number
    # The tuple takes over our reference to the log, and the log's reference to its former length.
    _fill_pair(process, pair, log, row)
    _at(variable + p[AT_READ])[0] = pair
    call1(p[DECREF], read)  # last: this may free other objects
    return ENTERED


@jit
def _enter_leaf(process: int, log: int, tensor: int, pair: int) -> int:
    """Append a leaf for a tensor that has a value, and enter it in `Log._leaf_rows`."""
    p = _at(process)
    home, spec = _at(tensor + p[AT_HOME])[0], _at(tensor + p[AT_SPEC])[0]
    if home == log:
        return HAD_ROW
    if _at(home + TYPE)[0] != p[ARRAY]:
        return NOT_ENTERED
    key = call1(p[FROM_INT], tensor)  # the value of `id`
    if key == 0:
        return NOT_ENTERED
    table, result, length = _at(log + p[AT_LEAF_ROWS])[0], NOT_ENTERED, 0
    if call2(p[GET_ENTRY], table, key) != 0:
        result = HAD_ROW
    else:
        length = _next_length(process, log)
    if length != 0:
        row = _at(log + p[AT_N])[0]
        call1(p[INCREF], row)
        call1(p[INCREF], tensor)
        _fill_pair(process, pair, row, tensor)
        if _reports_error(call3(p[SET_ENTRY], table, key, pair)):
            call1(p[DECREF], length)
        elif _store_array(process, log, home, spec):
            _publish_entered(process, log, spec, length, p[LEAF_CODE])
            call1(p[DECREF], row)
            result = ENTERED
        else:
            call1(p[CLEAR_ERROR], 0)
            call2(p[DELETE_ENTRY], table, key)
            call1(p[DECREF], length)
    call1(p[DECREF], key)
    if result == ENTERED:
        call1(p[DECREF], pair)
        call1(p[DECREF], log)
    return result


@jit
def _scalar_spec(process: int, spec: int, number: int) -> int:
    """A number's spec: a scalar of the dtype of ``spec``, the other operand's; 0 if it has none."""
    p = _at(process)
    if _at(spec + p[AT_INEXACT])[0] != p[TRUE]:
        dtype = _u32(p[SPEC_DTYPE])[_int(process, _at(spec + p[AT_SPEC_ID])[0])]
        if dtype != p[INT32] and dtype != p[INT64]:
            return 0
        if _at(number + TYPE)[0] != p[INT] or _small_int(process, number) < 0:
            return 0
    scalar = _at(spec + p[AT_SCALAR])[0]
    return 0 if scalar == p[NONE] else scalar


@jit
def _spec_of(process: int, value: int) -> int:
    """The spec of a tensor or a variable; 0 for others."""
    p = _at(process)
    kind = _at(value + TYPE)[0]
    if kind == p[TENSOR]:
        return _at(value + p[AT_SPEC])[0]
    return _at(value + p[AT_VARIABLE_SPEC])[0] if kind == p[VARIABLE] else 0


@inline
def _signed_one(process: int, zero: int) -> int:
    """1.0 or -1.0, with the sign of a zero."""
    p = _at(process)
    is_float = _at(zero + TYPE)[0] == p[FLOAT_TYPE]
    return p[MINUS_ONE] if is_float and _at(zero + FLOAT)[0] < 0 else p[PLUS_ONE]


@jit
def _enter_constant(process: int, log: int, number: int, other: int, pair: int) -> int:
    """Append a leaf for a number, as `Log.constant` does, in the other operand's dtype.

    ``pair`` has a third item if the number is 0.
    """
    p = _at(process)
    other_spec = _spec_of(process, other)
    spec = _scalar_spec(process, other_spec, number) if other_spec != 0 else 0
    if spec == 0:
        return NOT_ENTERED
    is_float = _at(number + TYPE)[0] == p[FLOAT_TYPE]
    integer = 0 if is_float else _small_int(process, number)
    if integer < 0:
        return NOT_ENTERED
    bits = _at(number + FLOAT)[0] if is_float else double_bits(integer)
    if bits & LOW_BITS > INFINITY_BITS:  # NaN
        return NOT_ENTERED
    dtype = _u32(p[SPEC_DTYPE])[_int(process, _at(spec + p[AT_SPEC_ID])[0])]
    if dtype == p[FLOAT64]:
        cell = bits
    elif dtype == p[FLOAT32]:
        cell = single_bits(bits)
        if cell & 0x7FFFFFFF == SINGLE_INFINITY_BITS:  # beyond the range of float32
            return NOT_ENTERED
    elif dtype == p[INT32] or dtype == p[INT64]:
        cell = integer
    else:
        return NOT_ENTERED
    call1(p[INCREF], spec)
    if _is_zero(process, number):
        sign = _signed_one(process, number)
        call1(p[INCREF], sign)
        call1(p[INCREF], p[NONE])
        _fill_pair(process, pair, sign, spec)
        _at(pair + p[AT_ITEM] + 16)[0] = p[NONE]
    else:
        call1(p[INCREF], number)
        _fill_pair(process, pair, number, spec)
    table = _at(log + p[AT_CONST_ROWS])[0]
    if call2(p[GET_ENTRY], table, pair) != 0:
        return HAD_ROW
    length = _next_length(process, log)
    if length == 0:
        return NOT_ENTERED
    row = _at(log + p[AT_N])[0]
    if _reports_error(call3(p[SET_ENTRY], table, pair, row)):
        call1(p[DECREF], length)
        return NOT_ENTERED
    _set_value(process, log, cell)
    _publish_entered(process, log, spec, length, p[LEAF_CODE])
    call1(p[DECREF], row)
    call1(p[DECREF], pair)
    call1(p[DECREF], log)
    return ENTERED


@jit
def _enter(process: int, value: int, other: int) -> int:
    """Append a row for an operand without one. A number takes the dtype of the other operand.

    Returns ENTERED, HAD_ROW if it had a row, NOT_ENTERED if Python must enter it, or FAILED.
    """
    p = _at(process)
    kind = _at(value + TYPE)[0]
    is_number = kind == p[FLOAT_TYPE] or kind == p[INT]
    if not is_number and kind != p[TENSOR] and kind != p[VARIABLE]:
        return NOT_ENTERED
    # The key of a number, the entry of a leaf, or a read. This may run a collection.
    pair = call1(p[MAKE_TUPLE], 3 if is_number and _is_zero(process, value) else 2)
    log = DECLINED if pair == 0 else _thread_log(process)
    if pair == 0 or log == DECLINED or log == FAILED:
        if pair != 0:
            call1(p[DECREF], pair)
        if log == FAILED:
            return FAILED
        call1(p[CLEAR_ERROR], 0)  # without memory, Python's recorder raises the error
        return NOT_ENTERED
    if not _owns_log(process):
        _add_reference(process, log)
    limit = _small_int(process, _at(log + p[AT_LIMIT])[0])
    result = NOT_ENTERED
    if _at(_at(log + p[AT_TENSORS])[0] + TYPE)[0] == p[LIST]:
        if _int(process, _at(log + p[AT_N])[0]) < limit:
            if kind == p[VARIABLE]:
                result = _enter_read(process, log, value, pair)
            elif kind == p[TENSOR]:
                result = _enter_leaf(process, log, value, pair)
            else:
                result = _enter_constant(process, log, value, other, pair)
    if result != ENTERED:
        call1(p[DECREF], log)
        call1(p[CLEAR_ERROR], 0)
        call1(p[DECREF], pair)
    return result


@jit
def _enter_operands(process: int, arity: int, x: int, y: int, z: int) -> int:
    """Enter operands that have no row yet, in their order.

    Returns ENTERED if one was entered, else DECLINED or FAILED.
    """
    results = 0
    for k in range(arity):
        if k == 0:
            result = _enter(process, x, y if arity == 2 else x)
        elif k == 1:
            result = _enter(process, y, x if arity == 2 else z)
        else:
            result = _enter(process, z, y)
        if result == FAILED:
            return FAILED
        if result == NOT_ENTERED:
            return DECLINED
        results |= result
    return DECLINED if results == HAD_ROW else ENTERED


# Recording.


@jit
def _operand(process: int, log: int, value: int) -> tuple[int, int]:
    """The spec and row of an operand that has a row; otherwise `NO_ROW` or `NUMBER`."""
    p = _at(process)
    kind = _at(value + TYPE)[0]
    if kind == p[TENSOR]:
        row = _at(value + p[AT_ROW])[0]
        if _at(value + p[AT_HOME])[0] != log:
            key = call1(p[FROM_INT], value)  # the value of `id`
            if key == 0:
                return NO_ROW, 0
            entry = call2(p[GET_ENTRY], _at(log + p[AT_LEAF_ROWS])[0], key)
            call1(p[DECREF], key)
            if entry == 0:
                return NO_ROW, 0
            row = _at(entry + p[AT_ITEM])[0]
        return _at(value + p[AT_SPEC])[0], _int(process, row)
    if kind == p[VARIABLE]:
        read = _at(value + p[AT_READ])[0]
        if read == 0 or _at(read + TYPE)[0] != p[TUPLE] or _at(read + p[AT_ITEM])[0] != log:
            return NO_ROW, 0
        return _at(value + p[AT_VARIABLE_SPEC])[0], _int(process, _at(read + p[AT_ITEM] + 8)[0])
    return NUMBER if kind == p[FLOAT_TYPE] or kind == p[INT] else NO_ROW, 0


@jit
def _number(process: int, log: int, number: int, other_spec: int) -> tuple[int, int]:
    """The spec and row of a Python number beside an operand of another spec, or `NO_ROW`."""
    p = _at(process)
    spec = _scalar_spec(process, other_spec, number)
    if spec == 0:
        return NO_ROW, 0
    table = _at(log + p[AT_CONST_ROWS])[0]
    if _is_zero(process, number):
        sign = _signed_one(process, number)
        entry = _entry_of_triple(process, table, sign, spec, p[NONE])
    else:
        entry = _entry_of_pair(process, table, number, spec)
    if entry == 0:
        return NO_ROW, 0
    return spec, _int(process, entry)


@inline
def _cell(process: int, closure: int, k: int) -> int:
    """The contents of a closure's cell."""
    return _at(_at(closure + _at(process)[AT_ITEM])[k] + CELL)[0]


@inline
def _append(
    entry: int,
    arity: int,
    closure: int,
    log: int,
    tensor: int,
    is_new: bool,
    x: int,
    y: int,
    z: int,
) -> int:
    """Append a row, and return its tensor, or DECLINED. All operands must have rows."""
    e = _at(entry)
    process = e[PROCESS]
    p = _at(process)
    x_spec, a = _operand(process, log, x)
    y_spec, b, z_spec, c = x_spec, 0, x_spec, 0
    if arity > 1:
        y_spec, b = _operand(process, log, y)
    if arity > 2:
        z_spec, c = _operand(process, log, z)
    if x_spec == NO_ROW or y_spec == NO_ROW or z_spec == NO_ROW:
        return DECLINED
    if arity == 2:
        if x_spec == NUMBER and y_spec == NUMBER:
            return DECLINED
        if x_spec == NUMBER:
            x_spec, a = _number(process, log, x, y_spec)
        elif y_spec == NUMBER:
            y_spec, b = _number(process, log, y, x_spec)
    elif arity == 3:
        if y_spec == NUMBER and z_spec == NUMBER:
            return DECLINED
        if y_spec == NUMBER:
            y_spec, b = _number(process, log, y, z_spec)
        elif z_spec == NUMBER:
            z_spec, c = _number(process, log, z, y_spec)
    if x_spec == NO_ROW or x_spec == NUMBER or y_spec == NO_ROW or z_spec == NO_ROW:
        return DECLINED
    results = _cell(process, closure, e[RESULTS])
    if arity == 1:
        spec = call2(p[GET_ENTRY], results, x_spec)
    elif arity == 3:
        spec = _entry_of_triple(process, results, x_spec, y_spec, z_spec)
    elif x_spec == y_spec:
        spec = call2(p[GET_ENTRY], _cell(process, closure, e[SAME_SPEC_RESULTS]), x_spec)
    else:
        spec = _entry_of_pair(process, results, x_spec, y_spec)
    if spec == 0:
        return DECLINED
    row, limit = _at(log + p[AT_N])[0], _at(log + p[AT_LIMIT])[0]
    n = _int(process, row)
    # All row numbers then have one digit as well.
    if _digit_count(process, limit) != p[ONE_DIGIT] or n >= _int(process, limit):
        return DECLINED
    length = _row_number(process, n + 1)
    if length == 0:
        return DECLINED
    _u32(_column(process, log, p[AT_CODE]))[n] = _int(process, _cell(process, closure, e[CODE]))
    _u32(_column(process, log, p[AT_A]))[n] = a
    if arity > 1:
        _u32(_column(process, log, p[AT_B]))[n] = b
    if arity > 2:
        _u32(_column(process, log, p[AT_C]))[n] = c
    _u32(_column(process, log, p[AT_LOG_SPEC]))[n] = _int(process, _at(spec + p[AT_SPEC_ID])[0])
    if is_new:
        if _reports_error(call2(p[LIST_APPEND], _at(log + p[AT_TENSORS])[0], tensor)):
            call1(p[DECREF], length)
            return DECLINED
        _add_reference(process, spec)
        if not _owns_log(process):
            _add_reference(process, log)
        _at(tensor + p[AT_HOME])[0] = log
        _at(tensor + p[AT_SPEC])[0] = spec
        _at(tensor + p[AT_ROW])[0] = row  # it takes over the log's reference
        _at(log + p[AT_N])[0] = length
        return tensor
    # A tensor that only the log's list references gets the row, and keeps its position there.
    old_row, old_spec = _at(tensor + p[AT_ROW])[0], _at(tensor + p[AT_SPEC])[0]
    _add_reference(process, tensor)
    _at(tensor + p[AT_ROW])[0] = row
    _at(log + p[AT_N])[0] = length
    _drop_number(process, old_row)
    if _owns_log(process):
        call1(p[DECREF], log)
    if old_spec != spec:
        _add_reference(process, spec)
        _at(tensor + p[AT_SPEC])[0] = spec
        _drop_reference(process, old_spec)  # last: this may free other objects
    return tensor


@inline
def _try_append(entry: int, arity: int, closure: int, x: int, y: int, z: int) -> int:
    """Take or allocate a tensor and append a row: the tensor, DECLINED, FAILED or NO_MEMORY."""
    process = _at(entry)[PROCESS]
    p = _at(process)
    new, result = 0, DECLINED
    while True:
        log = _thread_log(process)
        result = log
        if log == DECLINED or log == FAILED:
            break
        result, tensor = DECLINED, new
        is_list = _at(_at(log + p[AT_TENSORS])[0] + TYPE)[0] == p[LIST]
        if is_list and new == 0:
            tensor = _unreferenced_tensor(process, log)
        if is_list and tensor != 0:
            result = _append(entry, arity, closure, log, tensor, new != 0, x, y, z)
            if result != DECLINED:
                return result
        if _owns_log(process):
            call1(p[DECREF], log)
        if not is_list or tensor != 0:
            break
        # Try again with a new tensor, because up to Python 3.11 this may run a collection.
        new = _new_tensor(process)
        if new == 0:
            call1(p[CLEAR_ERROR], 0)
            return NO_MEMORY
    if result == DECLINED:
        call1(p[CLEAR_ERROR], 0)
    if new != 0:
        call1(p[DECREF], new)
    return result


@jit
def _closure(entry: int, function: int) -> int:
    """The closure of the recorder, reached from the called function by the entry's steps; or 0."""
    e = _at(entry)
    process = e[PROCESS]
    p = _at(process)
    for k in range(e[HOP_COUNT]):
        step = e[HOP_1 + k]
        if step >= 0:
            function = _cell(process, _at(function + p[AT_CLOSURE])[0], step)
        elif _at(function + TYPE)[0] == p[BUILTIN]:
            function = _at(function + p[AT_BUILTIN_SELF])[0]
        else:
            return 0
    return _at(function + p[AT_CLOSURE])[0]


@inline
def _record(entry: int, arity: int, function: int, arguments: int, count: int, names: int) -> int:
    e, values = _at(entry), _at(arguments)
    process = e[PROCESS]
    p = _at(process)
    if names != 0 or count & LOW_BITS != arity:
        return DECLINED
    x = values[0]
    if e[NEEDS_INEXACT] != 0:
        if _at(x + TYPE)[0] != p[TENSOR]:
            return DECLINED
        spec = _at(x + p[AT_SPEC])[0]
        if spec == 0 or _at(spec + p[AT_INEXACT])[0] != p[TRUE]:
            return DECLINED
    y = values[1] if arity > 1 else 0
    z = values[2] if arity > 2 else 0
    if e[IS_SWAPPED] != 0:
        x, y = y, x
    closure = _closure(entry, function)
    if closure == 0:
        return DECLINED
    result = DECLINED
    for attempt in range(2):  # a loop, so that `_try_append` is inlined once
        if attempt == 1:  # some operands have no rows
            result = _enter_operands(process, arity, x, y, z)
            if result != ENTERED:
                break
        result = _try_append(entry, arity, closure, x, y, z)
        if result != DECLINED:
            break
    return DECLINED if result == NO_MEMORY else result


# The functions that record ops of one to three operands. They return the new tensor, DECLINED or
# FAILED. The arguments are those of Python's vectorcall protocol.


@jit
def record_unary(entry: int, function: int, arguments: int, count: int, names: int) -> int:
    """Record an op of one operand."""
    return _record(entry, 1, function, arguments, count, names)


@jit
def record_binary(entry: int, function: int, arguments: int, count: int, names: int) -> int:
    """Record an op of two operands."""
    return _record(entry, 2, function, arguments, count, names)


@jit
def record_ternary(entry: int, function: int, arguments: int, count: int, names: int) -> int:
    """Record an op of three operands."""
    return _record(entry, 3, function, arguments, count, names)
