"""Removal of numtape's frames from tracebacks, so that they show the program's lines.

Every public function ends in a handler, as if its body were inside::

    try:
        ...
    except:
        filtered()
        raise

The handler is appended to the function's code object, with an entry in the exception table. Python
reads that table only when an exception is raised: a call without one runs the same instructions as
before, and the function stays the same object. A wrapper would cost a frame per call.
"""

from __future__ import annotations

import dis
import sys
import warnings
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..core.values import memory

# Libraries that numtape calls. Their frames are removed, too, if numtape called them.
LIBRARIES = {"llvmlite", "ml_dtypes", "numba", "numpy", "optree", "scipy"} | sys.stdlib_module_names
_state = [True]


def is_enabled() -> bool:
    """Whether numtape's frames are removed from tracebacks."""
    return _state[0]


def enable(on: bool) -> None:
    """Set whether numtape's frames are removed from tracebacks."""
    _state[0] = on


def filter_current() -> None:
    """Remove numtape's frames from the traceback of the exception that is being handled."""
    error = sys.exception()
    if isinstance(error, MemoryError):
        memory.release()
    if error is None or not _state[0]:
        return
    chain: list[BaseException | None] = [error]
    cleaned: dict[int, BaseException] = {}
    while chain:
        if (chained := chain.pop()) is not None and id(chained) not in cleaned:
            cleaned[id(chained)] = chained
            _clean(chained)
            chain += chained.__cause__, chained.__context__
    for chained in cleaned.values():
        # Hide an error that numtape raised and caught itself.
        if chained.__context__ is not None and chained.__context__.__traceback__ is None:
            chained.__suppress_context__ = True


def _clean(error: BaseException) -> None:
    frames, is_inside = [], False
    frame_entry = error.__traceback__
    while frame_entry is not None:
        root = frame_entry.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        is_inside = root == "numtape" or (is_inside and root in LIBRARIES)
        if not is_inside:
            frames.append(frame_entry)
        frame_entry = frame_entry.tb_next
    error.__traceback__ = frames[0] if frames else None
    if frames:
        for frame, next_frame in zip(frames, [*frames[1:], None], strict=True):
            frame.tb_next = next_frame


def guard(functions: Iterable[Any]) -> None:
    """Append the handler to functions and to methods of classes; ignore other objects."""
    for value in functions:
        if isinstance(value, FunctionType):
            _guard(value)
            if hasattr(value, "__wrapped__"):  # a context manager's
                guard([value.__wrapped__])
        elif isinstance(value, type):
            for kind in value.__mro__:
                if kind.__module__.startswith("numtape."):
                    for function in _methods(kind):
                        _guard(function)


def guard_module(name: str) -> None:
    """Append the handler to the imported objects in a module's ``__all__``."""
    attributes = vars(sys.modules[name])
    for public_name in attributes.get("__all__", ()):
        value = attributes.get(public_name)
        if isinstance(value, ModuleType) and value.__name__.startswith("numtape."):
            guard_module(value.__name__)
        else:
            guard([value])


def _methods(cls: type) -> Iterator[FunctionType]:
    for name, value in vars(cls).items():
        if name.startswith("_") and not name.endswith("__"):
            continue
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, FunctionType):
            yield value


def _guard(function: FunctionType) -> None:
    code = function.__code__
    consts = code.co_consts
    # A constant's number must fit into one byte.
    if len(consts) > 255 or (consts and consts[-1] is filter_current):
        return
    handler_start = len(code.co_code)
    handler = bytearray(_HANDLER)
    handler[_CONSTANT] = len(consts)
    entries = [*_fill_gaps(_entries(code.co_exceptiontable), handler_start)]
    start, size, target, depth_code = _INNER
    entries.append((start + handler_start, size, target + handler_start, depth_code))
    function.__code__ = code.replace(
        co_code=code.co_code + bytes(handler),
        co_consts=(*consts, filter_current),
        co_stacksize=max(code.co_stacksize, _STACK),
        co_exceptiontable=b"".join(map(_encode_entry, entries)),
        co_linetable=code.co_linetable + _NOWHERE,
    )


# The exception table: for each range of code, the handler's position and the stack depth there.
# Numbers count instructions and are written with six bits per byte; the first byte of an entry has
# bit 7 set.

Entry = tuple[int, int, int, int]  # start, length, target, 2 * depth + (1 if lasti is pushed)


def _entries(table: bytes) -> Iterator[Entry]:
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


def _fill_gaps(entries: Iterable[Entry], end: int) -> Iterator[Entry]:
    """Yield the entries, and entries for the gaps between them that lead to the final handler."""
    position = 0
    for entry in sorted(entries):
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
    entries = [*_entries(code.co_exceptiontable)]
    handler_start = entries[0][2]
    constant = next(
        step.offset
        for step in dis.get_instructions(code)
        if step.offset >= handler_start and step.opname == "LOAD_CONST"
    )
    start, size, target, depth_code = next(entry for entry in entries if entry[0] >= handler_start)
    steps = (dis.opmap["COPY"], 2, dis.opmap["POP_EXCEPT"], 0, dis.opmap["RERAISE"], 0)
    handler = code.co_code[handler_start:target] + bytes(steps)
    return (
        handler,
        constant - handler_start + 1,
        (start - handler_start, size, target - handler_start, depth_code & ~1),
    )


_HANDLER, _CONSTANT, _INNER = _handler(_template())
_STACK = _template().co_stacksize
_UNITS = len(_HANDLER) // 2
# The line table: the handler's instructions have no lines.
_NOWHERE = bytes([0xFF] * (_UNITS // 8) + ([0xF8 + _UNITS % 8 - 1] if _UNITS % 8 else []))


# Warnings that show the program's line.


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, once for each line of the program that called numtape."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
