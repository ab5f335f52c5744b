"""Templates of adjoint rows, and a thread's workspace, in the arrays that the passes read."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ...errors import ResourceExhaustedError
from ...kernels.passes.rows import ENTRY_WORDS
from ..compile.passes import Block, Numbers
from ..log.log import Log
from ..log.op import CODES, VARIADIC
from ..values import intern_table
from ..values.memory import Array, reserve_zeros, resize, view
from ..values.spec import SPECS, Spec

_MASK = (1 << 64) - 1
_M0, _M1, _M2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def hash_key(k0: int, k1: int, k2: int, k3: int, k4: int, k5: int) -> int:
    """Mix a template's key into 64 bits; equal to the kernel's (a test compares)."""
    h = (k0 + 1) * _M0 & _MASK
    h = (h ^ (k1 + 1)) * _M1 & _MASK
    h = (h ^ (h >> 29) ^ (k2 + 1)) * _M2 & _MASK
    h = (h ^ (k3 + 1)) * _M0 & _MASK
    h = (h ^ (h >> 31) ^ (k4 + 1)) * _M1 & _MASK
    h = (h ^ (k5 + 1)) * _M2 & _MASK
    return h ^ (h >> 32)


COLUMNS = ("code", "a", "b", "c", "spec")

# Capacities, which take memory only where they are used.
MAX_TEMPLATES, MAX_ROWS, MAX_RESULTS, MAX_CONSTANTS = 1 << 17, 1 << 22, 1 << 21, 1 << 20
MAX_TEMPLATE_ROWS = 1 << 20  # rows of one template
# Sizes from which on the table is replaced.
RENEW_AFTER_TEMPLATES = 1 << 14
RENEW_AFTER_ROWS = 1 << 18

Key = tuple[int, int, int, int, int, int]


class TemplateIndex:
    """A hash table from keys to the numbers of templates plus 1."""

    __slots__ = ("array", "mask", "slots")

    def __init__(self, size: int) -> None:
        self.array = np.zeros(size * ENTRY_WORDS, np.int64)
        self.slots = view(self.array)
        self.mask = size - 1

    def insert(self, key: Key, template: int) -> None:
        """Insert a template unless it is present."""
        slots, mask, entry = self.slots, self.mask, template + 1
        k0, k1, k2, k3, k4, k5 = key
        slot = hash_key(*key) & mask
        while True:
            base = ENTRY_WORDS * slot
            # atomic: see core.values.intern_table
            if not slots[base]:
                slots[base + 1] = k0
                slots[base + 2] = k1
                slots[base + 3] = k2
                slots[base + 4] = k3
                slots[base + 5] = k4
                slots[base + 6] = k5
                slots[base] = entry
            # end atomic
            if slots[base] == entry:
                return
            slot = (slot + 1) & mask


class TemplateTable:
    """All templates since ids were last freed."""

    def __init__(self) -> None:
        self.index = TemplateIndex(1024)
        self.ids: dict[Key, int] = {}
        self.count = self.rows = self.results = self.constants = 0
        self._numbers: dict[tuple[int, int], int] = {}  # of constants
        self._keep_alive: list[Any] = []
        self.start = reserve_zeros((MAX_TEMPLATES,), np.int32)
        self.end = reserve_zeros((MAX_TEMPLATES,), np.int32)
        self.result_start = reserve_zeros((MAX_TEMPLATES,), np.int32)
        self.operands = reserve_zeros((MAX_TEMPLATES,), np.int32)
        self.code = reserve_zeros((MAX_ROWS,), np.int32)
        self.a = reserve_zeros((MAX_ROWS,), np.int32)
        self.b = reserve_zeros((MAX_ROWS,), np.int32)
        self.c = reserve_zeros((MAX_ROWS,), np.int32)
        self.spec = reserve_zeros((MAX_ROWS,), np.int32)
        self.result = reserve_zeros((MAX_RESULTS,), np.int32)
        self.pool_bits = reserve_zeros((MAX_CONSTANTS,), np.int64)
        self.pool_spec = reserve_zeros((MAX_CONSTANTS,), np.int32)

    def is_full(self) -> bool:
        """Return whether the table should be replaced."""
        return self.count > RENEW_AFTER_TEMPLATES or self.rows > RENEW_AFTER_ROWS

    def constant(self, spec: Spec, bits: int) -> int:
        """Return the number of a constant in the pool."""
        number = self._numbers.get((spec.id, bits))
        if number is None:
            # atomic: see core.values.intern_table
            number = self.constants
            self.constants = number + 1
            # end atomic
            _check_capacity(number, MAX_CONSTANTS)
            self.pool_bits[number] = bits
            self.pool_spec[number] = spec.id
            number = self._numbers.setdefault((spec.id, bits), number)
        return number

    def add(
        self,
        key: Key,
        rows: list[tuple[int, ...]],
        results: list[int],
        keep_alive: list[Any],
        operands: list[int],
    ) -> None:
        """Add a template: rows of (code, a, b, c, spec), and a reference to each operand's adjoint.

        ``keep_alive`` has the interned objects of its ids, ``operands`` the operands of variadic
        rows: ``b`` of them from ``a`` on.
        """
        self._keep_alive.append(keep_alive)
        row_count, result_count = len(rows), len(results) + len(operands)
        # atomic: see core.values.intern_table
        template = self.count
        self.count = template + 1
        start = self.rows
        end = start + row_count
        self.rows = end
        result_start = self.results
        self.results = result_start + result_count
        # end atomic
        for index, capacity in (
            (template, MAX_TEMPLATES),
            (end, MAX_ROWS),
            (result_start + result_count, MAX_RESULTS),
            (row_count, MAX_TEMPLATE_ROWS),
        ):
            _check_capacity(index, capacity)
        for k, name in enumerate(COLUMNS):
            getattr(self, name)[start:end] = [row[k] for row in rows]
        if operands:
            variadic = CODES.arity[self.code[start:end]] == VARIADIC
            self.a[start:end][variadic] += result_start + len(results)
        self.result[result_start : result_start + result_count] = [*results, *operands]
        self.operands[template] = len(operands)
        self.result_start[template] = result_start
        self.start[template] = start
        self.end[template] = end
        self.add_to_index(key, self.ids.setdefault(key, template))

    def add_to_index(self, key: Key, template: int) -> None:
        """Insert a template into the index, which the pass reads. Grow the index if needed."""
        if 4 * self.count > self.index.mask:
            index = TemplateIndex(4 * (self.index.mask + 1))
            for known_key, number in list(self.ids.items()):
                index.insert(known_key, number)
            self.index = index  # an insertion into the old index is repeated after a lookup fails
        self.index.insert(key, template)


def _check_capacity(number: int, capacity: int) -> None:
    if number >= capacity:
        raise ResourceExhaustedError("The derivative rules in use take too many rows.")


class _Current:
    __slots__ = ("templates",)

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.templates = TemplateTable()


_current = _Current()
intern_table.CACHES.append(_current.renew)


def current_templates() -> TemplateTable:
    """Return the current templates. The caller must hold them while it uses their ids."""
    if _current.templates.is_full():
        intern_table.free_unused()
    return _current.templates


class TransposeWorkspace:
    """Control blocks and scratch of `follow` and `transpose` for one thread."""

    def __init__(self) -> None:
        self.follow = follow = Block("follow")
        self.transpose = transpose = Block("transpose")
        self.cursor = np.zeros(4, np.int64)
        transpose.bind(cursor=self.cursor)
        self.ranges = Numbers("int32", "tape.ranges", follow)
        self.positions = Numbers("int32", "tape.positions", follow)
        self.events = Numbers("int32", "tape.watched", follow)
        self.sources = Numbers("int32", "sources", follow)
        self.watched = Numbers("uint8", "variable_watched", follow)
        self.variable_source = Numbers("int32", "flow.variable_source", follow, transpose)
        self.variable_adjoint = Numbers("int32", "flow.variable_adjoint", follow, transpose)
        self.columns: Any = None
        self.extra: Any = None
        follow.take("codes", CODES)
        follow.take("specs", SPECS)
        transpose.take("codes", CODES)
        self.templates: TemplateTable | None = None
        self.index: Any = None
        # The rows of the pool's constants in this log.
        self.pool_row = reserve_zeros((MAX_CONSTANTS,), np.int32)
        transpose.bind(local=reserve_zeros((MAX_TEMPLATE_ROWS,), np.int32), pool_row=self.pool_row)
        self.flags: Array = np.empty(0, np.uint8)
        self.adjoint: Array = np.empty(0, np.int32)
        self.called_links: set[int] = set()  # links whose functions have been called

    def refresh(self, log: Log) -> None:
        """Bind arrays of the log that have moved since the last call."""
        columns = log.columns
        if columns is not self.columns or log.extra is not self.extra:
            self.columns = None  # until everything is bound, in case of an interrupt
            if self.flags.size < columns.capacity:
                self.flags = resize(self.flags, columns.capacity, self.flags.size)
            if self.adjoint.size < columns.capacity:
                self.adjoint = resize(self.adjoint, columns.capacity, self.adjoint.size)
            flow = {"flow.flags": self.flags, "flow.adjoint": self.adjoint}
            for block in (self.follow, self.transpose):
                block.take("log", columns, extra=log.extra)
                block.bind(**flow)
            self.extra = log.extra
            self.columns = columns

    def use(self, templates: TemplateTable) -> None:
        """Bind templates, and their index if it has grown since the last call."""
        transpose, index = self.transpose, templates.index
        if templates is not self.templates:
            if self.templates is not None:
                self.pool_row[: self.templates.constants] = 0
            self.templates = None  # until everything is bound
            transpose.take("templates", templates)
            self.templates = templates
        if index is not self.index:
            self.index = None
            transpose.take("index", index)
            self.index = index


thread_workspace = threading.local()  # `work`, which is removed while it is in use
