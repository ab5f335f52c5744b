"""Jitted passes as Python callables that take one argument, the address of a control block.

A call with thirty array arguments would take longer than most passes. So a pass reads its arguments
from a block of int64: addresses that stay, and scalars that are set before a call. Start with
`Block`.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..values.memory import Array, address_of, view
from . import cache as disk
from .kernel_sources import Pointer, kernel_source

_messages = logging.getLogger("numtape")

# Kinds of the passes' parameters and of the fields of their records: pointers, by dtype, and ints.
_KINDS = {"U8": "uint8", "I32": "int32", "I64": "int64", "int": ""}

# The passes by unit: symbol (and function), module under numtape.kernels.
UNITS = {
    "derive": {"follow": "passes.follow", "transpose": "passes.transpose"},
    "sweep": {"sweep": "cpu.sweep"},
    "share": {
        "assist": "cpu.thread_team",
        "run_lane_group": "cpu.groups",
        "run_units": "cpu.groups",
    },
    "recall": {"recall": "passes.replay_rows", "repeat": "passes.replay_rows"},
    "graft": {"graft": "passes.replay_rows"},
    "plan": {"plan": "passes.plan"},
}
# Units that consist of branches, and call loops over elements.
_BRANCHING_UNITS = ("derive", "sweep", "share", "graft", "plan")
_PASSES = {symbol: module for unit in UNITS.values() for symbol, module in unit.items()}


def _fields(text: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+): (\w+)", re.sub(r"#.*", "", text)))


@cache
def _records() -> dict[str, dict[str, str]]:
    """The kinds of the fields of each record, read from the text: an import would need Numba."""
    text = re.sub(r'"""[^"]*"""', "", kernel_source("passes.tables"))
    return {
        name: _fields(body)
        for name, body in re.findall(r"^class (\w+)\(NamedTuple\):((?:\n(?: .*)?)*)", text, re.M)
    }


@cache
def _parameters(symbol: str) -> dict[str, str]:
    """The kinds of a pass's parameters, some of them records; also read from the text."""
    definition = re.search(
        rf"^def {symbol}\(([^)]*)\)", kernel_source(_PASSES[symbol]), re.MULTILINE
    )
    assert definition is not None, symbol
    return _fields(definition[1])


@cache
def _slots(symbol: str) -> dict[str, int]:
    """The slots of a pass's control block: ``parameter``, or ``parameter.field`` of a record."""
    names: list[str] = []
    for name, kind in _parameters(symbol).items():
        fields = _records().get(kind)
        names += [name] if fields is None else [f"{name}.{field}" for field in fields]
    return {name: slot for slot, name in enumerate(names)}


@cache
def _fields_of(symbol: str) -> dict[str, list[tuple[str, int]]]:
    """The fields of a pass's records and their slots, by parameter."""
    fields: dict[str, list[tuple[str, int]]] = {}
    for name, slot in _slots(symbol).items():
        record, _, field = name.partition(".")
        if field:
            fields.setdefault(record, []).append((field, slot))
    return fields


@cache
def addresses(unit: str) -> dict[str, int]:
    """The addresses of a unit's passes, by symbol."""
    shared_modules = (
        "constants",
        "jit",
        "numba_internals",
        "passes.tables",
        "passes.rows",
        "passes.layout",
        "passes.schedule",
        "passes.places",
        "passes.program",
        "cpu.broadcast",
    )
    source = kernel_source(*dict.fromkeys((*shared_modules, *_PASSES.values()))) + compilers()

    symbol_addresses = disk.load(f"passes-{unit}", source, partial(_compile_unit, unit))
    return {symbol: symbol_addresses[f"numtape_{symbol}"] for symbol in UNITS[unit]}


@cache
def compilers() -> str:
    """The text of the modules that compile passes, as part of the cache key."""
    names = ("kernel_sources", "expressions", "translate", "llvm")
    return "\n".join((Path(__file__).parent / f"{name}.py").read_text("utf-8") for name in names)


def _compile_unit(unit: str) -> disk.Built:
    """Compile passes, with Numba only if `translate` does not support one of them."""
    from .expressions import INT, Fields, Unknown
    from .llvm import compile_text
    from .translate import EntryPoint, translate

    def kind(name: str) -> Any:
        fields = _records().get(name)
        if fields is not None:
            return Fields(tuple(fields), tuple(map(kind, fields.values())))
        return Pointer(_KINDS[name]) if _KINDS[name] else INT

    entries = [
        EntryPoint(
            f"numtape_{symbol}", module, symbol, tuple(map(kind, _parameters(symbol).values()))
        )
        for symbol, module in UNITS[unit].items()
    ]
    try:
        text, loops = translate(entries)
        symbols = [entry.symbol for entry in entries]
        return compile_text(text, symbols, loops, quick=unit in _BRANCHING_UNITS)
    except Unknown as reason:
        _messages.info("Passes are compiled by Numba (%s): %s", unit, reason)
        return _compile_with_numba(unit)


def _compile_with_numba(unit: str) -> disk.Built:
    from .numba_compiler import CompiledFunction, Record, compile_unit

    records = importlib.import_module("numtape.kernels.passes.tables")

    def infer_type(kind: str) -> str | Record:
        fields = _records().get(kind)
        if fields is None:
            return _KINDS[kind]
        return Record(getattr(records, kind), [_KINDS[field] for field in fields.values()])

    functions = []
    for symbol, module in UNITS[unit].items():
        jitted = getattr(importlib.import_module(f"numtape.kernels.{module}"), symbol)
        parameters = [infer_type(kind) for kind in _parameters(symbol).values()]
        functions.append(CompiledFunction(f"numtape_{symbol}", jitted, parameters, block=True))
    built: disk.Built = compile_unit(unit, functions)
    return built


class Packed(NamedTuple):
    """Consecutive arguments of a pass, which `Block.give` sets in one step.

    Attributes:
      slots: The slots of the fields.
      words: The block's memory.
      arrays: The fields that are arrays, by name.
    """

    slots: slice
    words: memoryview[int]
    arrays: dict[str, Array]


def pack_arguments(symbol: str, **arguments: Array | int) -> Packed:
    """Pack consecutive arguments of a pass."""
    slots = _slots(symbol)
    first_slot = slots[next(iter(arguments))]
    if [slots[name] for name in arguments] != list(range(first_slot, first_slot + len(arguments))):
        raise AssertionError(f"these arguments of {symbol} are not consecutive")
    words = [x if isinstance(x, int) else address_of(x) for x in arguments.values()]
    arrays = {name: x for name, x in arguments.items() if not isinstance(x, int)}
    return Packed(
        slice(first_slot, first_slot + len(words)), view(np.array(words, np.int64)), arrays
    )


# The argument is a C value already: a conversion by ctypes at the recursion limit raises another
# error.
_KEEPS_GIL = ctypes.PYFUNCTYPE(ctypes.c_int64)
_RELEASES_GIL = ctypes.CFUNCTYPE(ctypes.c_int64)


def _bind_address(block: Block, function: Callable[[ctypes.c_int64], int]) -> Callable[[], int]:
    """A C callable for a pass, because a Python frame costs more than a small pass."""
    return partial(function, ctypes.c_int64(block.address))


class Block:
    """A pass's control block.

    ``block.bind(name=array)`` sets arrays (and keeps them alive), ``block.take(record, source)``
    sets those of a record, ``block.set[slot] = int`` scalars (``block.slots[name]``). A field is
    named ``record.field``. ``block.call()`` runs the pass and returns its int. `call_without_gil`
    lets other Python threads run meanwhile; it costs half a µs more.

    An interrupt may leave arguments partly bound. A caller that rebinds only changed arguments must
    therefore mark them as unbound first, and as bound when all are set.
    """

    def __init__(self, symbol: str) -> None:
        self.slots = _slots(symbol)
        self._fields = _fields_of(symbol)
        self._memory = np.zeros(len(self.slots), np.int64)
        self.set = view(self._memory)
        self._packed: dict[str, Array] = {}
        self._arrays: dict[str, Array] = {}
        self.address = address_of(self._memory)
        unit = next(name for name, passes in UNITS.items() if symbol in passes)
        pointer = addresses(unit)[symbol]
        self.call = _bind_address(self, _KEEPS_GIL(pointer))
        self.call_without_gil = _bind_address(self, _RELEASES_GIL(pointer))

    def bind(self, **arrays: Array) -> None:
        """Set array arguments, which must be contiguous and must not move."""
        for name, array in arrays.items():
            self._arrays[name] = array
            self.set[self.slots[name]] = address_of(array)

    def take(self, record: str, source: object, **overrides: Array) -> None:
        """Set the fields of a record from ``overrides``, or from the attributes of ``source``."""
        for field, slot in self._fields[record]:
            value = overrides[field] if field in overrides else getattr(source, field)
            if type(value) is int:
                self.set[slot] = value
            else:
                self.point(f"{record}.{field}", value, address_of(value))

    def give(self, packed: Packed) -> None:
        """Set packed arguments; their arrays are kept alive until the next call."""
        self._packed = packed.arrays
        self.set[packed.slots] = packed.words

    def point(self, name: str, array: Array, address: int) -> None:
        """Set an array argument whose address is known."""
        self._arrays[name] = array
        self.set[self.slots[name]] = address


class Numbers:
    """A short array argument of several passes that is refilled for every call.

    If it grows, the new array does not take over contents, unlike `values.memory.resize`.
    """

    def __init__(self, dtype: str, name: str, *blocks: Block) -> None:
        self._name = name
        self._blocks = blocks
        self._allocate(np.zeros(16, dtype))

    def _allocate(self, array: Array) -> None:
        self._capacity = -1  # until all blocks are bound: an interrupt may come
        self.array = array
        self.view = view(array)
        for block in self._blocks:
            block.bind(**{self._name: array})
        self._capacity = array.size

    def fill(self, values: Sequence[int]) -> int:
        """Write the values. Returns their number."""
        count = len(values)
        if count > self._capacity:
            self._allocate(np.zeros(max(16, 2 * count), self.array.dtype))
        if count > 16:
            self.array[:count] = values
        else:  # faster than NumPy for few values, the usual case
            view = self.view
            for k, value in enumerate(values):
                view[k] = value
        return count
