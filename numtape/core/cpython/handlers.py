"""Exception handlers that are added to the code of functions, and the exception table.

The table has an entry for each range of code: the handler's position, and the stack depth there.
Python reads it only when an exception is raised. CPython's Objects/exception_handling_notes.txt
describes it.
"""

from __future__ import annotations

import dis
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType

from .version import unknown_reason


def append_handler(function: FunctionType, callback: Callable[[], None]) -> None:
    """Make a function call ``callback()`` and raise again when an exception leaves it.

    Nothing is done if it has this handler, or more than 255 constants, or in an unknown version of
    Python.
    """
    code = function.__code__
    consts = code.co_consts
    # A constant's number must fit into one byte.
    if not _HANDLER or len(consts) > 255 or (consts and consts[-1] is callback):
        return
    handler_start = len(code.co_code)
    handler = bytearray(_HANDLER)
    handler[_CONSTANT] = len(consts)
    all_entries = [*_fill_gaps(entries(code.co_exceptiontable), handler_start)]
    start, size, target, depth_code = _INNER
    all_entries.append((start + handler_start, size, target + handler_start, depth_code))
    function.__code__ = code.replace(
        co_code=code.co_code + bytes(handler),
        co_consts=(*consts, callback),
        co_stacksize=max(code.co_stacksize, _STACK),
        co_exceptiontable=b"".join(map(_encode_entry, all_entries)),
        co_linetable=code.co_linetable + _NOWHERE,
    )


# Numbers in the table count instructions. They are written with six bits per byte, the highest
# first, with bit 6 set in all bytes but the last; the first byte of an entry has bit 7 set.

Entry = tuple[int, int, int, int]  # start, length, target, 2 * depth + (1 if lasti is pushed)


def entries(table: bytes) -> Iterator[Entry]:
    """Yield the entries of an exception table, with offsets in bytes."""
    numbers: list[int] = []
    number = 0
    for byte in table:
        number = number << 6 | byte & 63
        if not byte & 64:
            numbers.append(number)
            number = 0
            if len(numbers) == 4:
                start, size, target, depth_code = numbers
                yield 2 * start, 2 * size, 2 * target, depth_code
                numbers = []


def _fill_gaps(table: Iterable[Entry], end: int) -> Iterator[Entry]:
    """Yield the entries, and entries for the gaps between them that lead to the final handler."""
    position = 0
    for entry in sorted(table):
        if entry[0] > position:
            yield position, entry[0] - position, end, 0
        yield entry
        position = entry[0] + entry[1]
    if end > position:
        yield position, end - position, end, 0


def _encode_entry(entry: Entry) -> bytes:
    start, size, target, depth_code = entry
    numbers = (start // 2, size // 2, target // 2, depth_code)
    if max(numbers) < 64:
        return bytes((numbers[0] | 128, *numbers[1:]))
    bytes_: list[int] = []
    for number in numbers:
        bytes_ += [64 | (number >> bits) & 63 for bits in (24, 18, 12, 6) if number >> bits]
        bytes_.append(number & 63)
    bytes_[0] |= 128
    return bytes(bytes_)


def _template() -> CodeType:
    """Return the code of a function with such a handler, compiled by Python; it calls a string."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # strings cannot be called
        module = compile(
            "def guarded(f):\n try: return f()\n except:\n  'handler'()\n  raise",
            "<handler>",
            "exec",
        )
    return next(x for x in module.co_consts if isinstance(x, CodeType))


def _handler(code: CodeType) -> tuple[bytes, int, Entry]:
    """Return the handler's bytes, the position of its constant's number in them, and its entry.

    Python's compiled handler stores the instruction that raised an error of the handler itself.
    It has no line, and storing it may need memory (`core.values.memory`), so it is omitted.
    """
    table = [*entries(code.co_exceptiontable)]
    handler_start = table[0][2]
    constant = next(
        step.offset
        for step in dis.get_instructions(code)
        if step.offset >= handler_start and step.opname == "LOAD_CONST"
    )
    start, size, target, depth_code = next(entry for entry in table if entry[0] >= handler_start)
    steps = (dis.opmap["COPY"], 2, dis.opmap["POP_EXCEPT"], 0, dis.opmap["RERAISE"], 0)
    handler = code.co_code[handler_start:target] + bytes(steps)
    return (
        handler,
        constant - handler_start + 1,
        (start - handler_start, size, target - handler_start, depth_code & ~1),
    )


_HANDLER, _CONSTANT, _INNER = (b"", 0, (0, 0, 0, 0)) if unknown_reason() else _handler(_template())
_STACK = _template().co_stacksize
_UNITS = len(_HANDLER) // 2
# The line table: the handler's instructions have no lines.
_NOWHERE = bytes([0xFF] * (_UNITS // 8) + ([0xF8 + _UNITS % 8 - 1] if _UNITS % 8 else []))
