"""Kernels of rows that call the sweeps of a native loop; see `arrays` for their arguments.

``x`` is the address of the operands' addresses, followed by a word that a kernel sets to 1 to leave
the row to Python, which can then repeat all its work.

Stacks lie on top of each other in a *pile*, as in `numtape.core.loops.runtime.arenas`. A thread
that adds one has exclusive use of the pile meanwhile. Each waiting stack has an *entry*: its end
and its number. The number is 0 when the stack is released and -1 while a reverse sweep uses it.
Numbers are unique, so the thread that exchanges a number for -1 has exclusive use of that stack.

See `call_layout` for the layout of parameters, of a pile and of the table of piles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..jit import INT64, POINTERS, exchange, exchange_if, fetch_add, inline, jit, stack
from .call_layout import (
    ARGUMENT,
    AXIS,
    BITS8,
    BITS16,
    BITS32,
    BITS64,
    CALLS_BEFORE_TRIM,
    CONVERTED,
    COPIED,
    COPIES,
    DESCRIPTIONS,
    DIRECT,
    DOUBLE,
    FIRST,
    FORWARD,
    FREE,
    GIVEN,
    ITEM,
    LIMIT,
    LOCAL,
    MAX_ENTRIES,
    MAX_PILES,
    MAX_WORDS,
    MIN_TRIM_BYTES,
    NUMBER,
    OPERANDS,
    P_CALLS,
    P_COUNT,
    P_END,
    P_ENTRIES,
    P_HIGH,
    P_RECENT,
    P_START,
    RESULTS,
    REVERSE,
    ROW_HEADER_WORDS,
    SEEDS,
    SINGLE,
    SIZE,
    STALE,
    T_COUNT,
    T_FORWARD,
    T_PILES,
    T_REVERSE,
    T_WAITED,
    TABLE,
    TOP,
    UNSIGNED16,
    UNSIGNED32,
    WAITS,
    WORDS,
)

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values

numbers, real, real32, uint8s = (POINTERS[x] for x in ("int64", "float64", "float32", "uint8"))
int8s, int16s, int32s = (POINTERS[x] for x in ("int8", "int16", "int32"))
uint16s, uint32s = POINTERS["uint16"], POINTERS["uint32"]

_block_memory = stack(8 * (MAX_WORDS + 8))


@intrinsic
def call_sweep(typingctx: TypingContext, function: Type, block: Type) -> Any:
    """Call the sweep at address ``function`` with the address of its block. Returns its status."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        kind = ir.FunctionType(INT64, [INT64])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(types.int64, types.int64), codegen


@inline
def _word(address: int, k: int) -> int:
    return numbers(address + 8 * k)[0]


@jit
def _acquire_pile(table: int) -> int:
    """The address of the state of a pile for exclusive use; 0 if none is free."""
    for k in range(_word(table, T_COUNT)):
        state = table + 8 * (T_PILES + 2 * k)
        if numbers(state)[0] == FREE and exchange_if(state, FREE, 0):
            return state
    return 0


@jit
def _pop_released(pile: int) -> int:
    """The offset of the next stack, after released stacks at the top are removed."""
    count = _word(pile, P_COUNT)
    while count > 0 and _word(pile + P_ENTRIES + 16 * (count - 1), 1) == 0:
        count -= 1
    numbers(pile)[P_COUNT] = count
    return _word(pile + P_ENTRIES + 16 * (count - 1), 0) if count > 0 else pile + P_START


@jit
def _make_room(pile: int, max_bytes: int) -> int:
    """As `_pop_released`, but release waiting stacks if memory is short; 0 if that fails."""
    top = _pop_released(pile)
    if numbers(pile)[P_COUNT] < MAX_ENTRIES and top - pile < max_bytes:
        return top
    for k in range(numbers(pile)[P_COUNT]):
        entry = pile + P_ENTRIES + 16 * k + 8
        stack_number = numbers(entry)[0]
        if stack_number > 0:
            exchange_if(entry, stack_number, 0)
    top = _pop_released(pile)
    return top if numbers(pile)[P_COUNT] < MAX_ENTRIES and top - pile < max_bytes else 0


@jit
def _return_pile(state: int, pile: int, top: int) -> None:
    """Return a pile to other threads, or to Python if it has long had unused pages."""
    p = numbers(pile)
    p[P_RECENT] = max(p[P_RECENT], top - pile)
    p[P_HIGH] = max(p[P_HIGH], p[P_RECENT])
    p[P_CALLS] += 1
    next_state = FREE
    if p[P_CALLS] > CALLS_BEFORE_TRIM:
        if p[P_HIGH] - p[P_RECENT] > MIN_TRIM_BYTES:
            next_state = STALE
        else:
            p[P_CALLS] = 0
            p[P_RECENT] = 0
    exchange(state, next_state)


@jit
def _fill_words(parameters: int, x_: int, block: int, out: int, region: int, reverse: int) -> None:
    """Fill the words of both sweeps; for the forward one, copy arguments that it writes to."""
    p, xs = numbers(parameters), numbers(x_ + 8 * _word(parameters, FIRST))
    words = numbers(block)
    for k in range(p[WORDS]):
        at = DESCRIPTIONS + 5 * k
        kind, argument = p[at], p[at + 1]
        if kind == AXIS:
            words[k] = argument
        elif kind == ARGUMENT:
            words[k] = xs[argument]
        elif kind == COPIED:
            words[k] = region + p[at + 2]
            if reverse == 0:
                source, target = uint8s(xs[argument]), uint8s(words[k])
                for i in range(p[at + 3]):
                    target[i] = source[i]
        elif kind == DIRECT:
            words[k] = out + argument
        else:
            words[k] = region + p[at + 2]
            if reverse != 0:
                zeros = uint8s(words[k])
                for i in range(p[at + 3] * p[at + 4]):
                    zeros[i] = 0


@jit
def _run_forward(parameters: int, x_: int, block: int, pile: int, region: int, result: int) -> int:
    """Run the forward sweep on a stack from ``region`` on. Returns its top; 0 on failure."""
    p, words = numbers(parameters), numbers(block)
    start, end = region + p[COPIES], _word(pile, P_END)
    if start >= end:
        return 0
    if p[LIMIT] > 0:
        end = min(end, start + p[LIMIT])
    _fill_words(parameters, x_, block, 0, region, 0)
    n = p[WORDS]
    words[n], words[n + 1], words[n + 2], words[n + 3] = start, end, result, block + 8 * (n + 4)
    fetch_add(p[TABLE] + 8 * T_FORWARD, 1)
    return words[n + 4] if call_sweep(p[FORWARD], block) == 0 else 0


@inline
def _result_description(parameters: int, k: int) -> int:
    """The address of the description of a result."""
    return parameters + 8 * (DESCRIPTIONS + 5 * _word(parameters, WORDS) + 9 * k)


@inline
def _result_address(description: int, block: int, results: int) -> int:
    """The address of a result; ``results`` is the address of the results on the stack."""
    r = numbers(description)
    if r[0] == GIVEN:
        return _word(block, r[1])
    return results + 8 * r[1] if r[0] == NUMBER else _word(results, r[1])


@jit
def _has_expected_shapes(parameters: int, results: int) -> int:
    """Whether the results have the shapes that the row expects."""
    for k in range(_word(parameters, RESULTS)):
        r = numbers(_result_description(parameters, k))
        if r[0] == LOCAL:
            for j in range(r[5]):
                if _word(results, r[1] + 2 + j) != r[6 + j]:
                    return 0
    return 1


@jit
def _pack_results(parameters: int, block: int, results: int, out: int) -> None:
    """Write the results to a row in sequence, as eight-byte numbers."""
    for k in range(_word(parameters, RESULTS)):
        description = _result_description(parameters, k)
        source, r = _result_address(description, block, results), numbers(description)
        kind, count = r[3], r[4]
        for i in range(count):
            if kind == DOUBLE:
                real(out)[i] = real(source)[i]
            elif kind == SINGLE:
                real(out)[i] = float(real32(source)[i])
            elif kind == BITS64:
                numbers(out)[i] = numbers(source)[i]
            elif kind == BITS32:
                numbers(out)[i] = int32s(source)[i]
            elif kind == BITS16:
                numbers(out)[i] = int16s(source)[i]
            elif kind == BITS8:
                numbers(out)[i] = int8s(source)[i]
            elif kind == UNSIGNED32:
                numbers(out)[i] = uint32s(source)[i]
            elif kind == UNSIGNED16:
                numbers(out)[i] = uint16s(source)[i]
            else:
                numbers(out)[i] = uint8s(source)[i]
        out += 8 * count


@jit
def _add_seeds(parameters: int, block: int, results: int, adjoints: int, seeds: int) -> None:
    """Add the adjoints of results to the memory where the reverse sweep expects them."""
    for k in range(_word(parameters, SEEDS)):
        real(seeds)[k] = 0.0
    for k in range(_word(parameters, RESULTS)):
        r = numbers(_result_description(parameters, k))
        if r[2] >= 0:
            target = seeds + 8 * r[2]
            if r[0] != NUMBER:
                target = _word(results, r[1] + 1) if r[0] == LOCAL else _word(block, r[2])
            for i in range(r[4]):
                if r[3] == SINGLE and r[0] != NUMBER:
                    real32(target)[i] = np.float32(float(real32(target)[i]) + real(adjoints)[i])
                else:
                    real(target)[i] += real(adjoints)[i]
        adjoints += 8 * r[4]


def forward() -> Any:
    """The kernel of the call. Its row: status, number of the waiting stack, results."""

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, out, table = numbers(parameters), real(out_), _word(parameters, TABLE)
        block = _block_memory()
        declined = numbers(x_ + 8 * p[OPERANDS])
        state = _acquire_pile(table)
        if state == 0:
            declined[0] = 1
            return
        pile = _word(state, 1)
        region = _make_room(pile, (_word(pile, P_END) - pile) // 4)
        top = _run_forward(parameters, x_, block, pile, region, out_ + 16) if region != 0 else 0
        results = top - 8 * p[TOP]
        if top == 0 or _has_expected_shapes(parameters, results) == 0:
            declined[0] = 1
            _return_pile(state, pile, region)
            return
        _pack_results(parameters, block, results, out_ + 8 * ROW_HEADER_WORDS)
        out[0], out[1] = 0.0, 0.0
        if p[WAITS] != 0:
            index = _word(pile, P_COUNT)
            entry_index = (state - table - 8 * T_PILES) // 16 * MAX_ENTRIES + index
            serial = fetch_add(table + 8 * T_WAITED, 1) + 1
            stack_number = serial * (MAX_PILES * MAX_ENTRIES) + entry_index
            entry = numbers(pile + P_ENTRIES + 16 * index)
            entry[0] = top
            exchange(pile + P_ENTRIES + 16 * index + 8, stack_number)
            numbers(pile)[P_COUNT] = index + 1
            out[1] = -stack_number
        _return_pile(state, pile, top)

    return kernel


@jit
def _convert_adjoints(parameters: int, out: int, region: int) -> None:
    """Convert and copy adjoints that do not lie in the result already."""
    p = numbers(parameters)
    for k in range(p[WORDS]):
        at = DESCRIPTIONS + 5 * k
        if p[at] == CONVERTED and p[at + 1] >= 0:
            target, source, item = out + p[at + 1], region + p[at + 2], p[at + 4]
            for i in range(p[at + 3]):
                value = real(source)[i] if item == 8 else float(real32(source)[i])
                if p[ITEM] == 8:
                    real(target)[i] = value
                else:
                    real32(target)[i] = np.float32(value)


@jit
def _fill_result(parameters: int, out: int, value: float) -> None:
    """Set all elements of the result."""
    p = numbers(parameters)
    for i in range(p[SIZE]):
        if p[ITEM] == 8:
            real(out)[i] = value
        else:
            real32(out)[i] = np.float32(value)


def reverse() -> Any:
    """The kernel of the adjoints. Operands: the call's row, its adjoint, the call's operands."""

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, table, block = numbers(parameters), _word(parameters, TABLE), _block_memory()
        declined, y = numbers(x_ + 8 * p[OPERANDS]), real(_word(x_, 0))
        if y[0] != 0.0:  # failed: the call runs again, and this result is not used
            _fill_result(parameters, out_, np.nan)
            return
        stack_number = int(-y[1])
        if stack_number < 0:  # the waiting stack is Python's
            declined[0] = 1
            return
        state, pile, entry, region, top = 0, 0, 0, 0, 0
        if stack_number > 0:
            pile = _word(table + 8 * (T_PILES + 2 * (stack_number // MAX_ENTRIES % MAX_PILES)), 1)
            if pile != 0:
                entry = pile + P_ENTRIES + 16 * (stack_number % MAX_ENTRIES)
                if exchange_if(entry + 8, stack_number, -1):
                    region = (
                        _word(entry - 16, 0) if stack_number % MAX_ENTRIES > 0 else pile + P_START
                    )
                    top = _word(entry, 0)
                else:
                    entry = 0
        if entry == 0:  # repeat the forward sweep
            state = _acquire_pile(table)
            if state == 0:
                declined[0] = 1
                return
            pile = _word(state, 1)
            region = _make_room(pile, (_word(pile, P_END) - pile) // 4)
            if region != 0:
                top = _run_forward(parameters, x_, block, pile, region, block + 8 * (p[WORDS] + 5))
            if top == 0:
                declined[0] = 1
                _return_pile(state, pile, region)
                return
        _fill_result(parameters, out_, 0.0)
        _fill_words(parameters, x_, block, out_, region, 1)
        words = numbers(block)
        seeds = _word(x_, 1) + 8 * ROW_HEADER_WORDS
        if p[RESULTS] > 0:
            added_seeds = block + 8 * (p[WORDS] + 6)
            _add_seeds(parameters, block, top - 8 * p[TOP], seeds, added_seeds)
            seeds = added_seeds
        words[p[WORDS]], words[p[WORDS] + 1] = top, seeds
        fetch_add(table + 8 * T_REVERSE, 1)
        status = call_sweep(p[REVERSE], block)
        _convert_adjoints(parameters, out_, region)
        if entry != 0:
            exchange(entry + 8, 0)
        else:
            _return_pile(state, pile, top)
        if status != 0:  # an error of the loop, which Python reports
            declined[0] = 1

    return kernel


def part(dtype: str) -> Any:
    """The kernel of int or bool results of a row. Parameters: their offset and their number."""
    at = POINTERS[dtype]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        out, x = at(out_), numbers(x_ + 8 * _word(parameters, 0))
        for i in range(_word(parameters, 1)):
            out[i] = x[i]

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"forward": forward, "reverse": reverse, "part": part}
