"""Templates of adjoint rows, in the arrays that `kernels.passes.transpose` reads.

They are filled as `core.values.interning` says: arrays do not move but for the index, a template
is entered in the index when all of it is written, and who needs a stretch of an array takes it in
one step. What a template holds are numbers, so `Templates` holds the things that they stand for;
all templates go, for new ones, when numbers are freed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ResourceExhaustedError
from ..log.op import CODES, VARIADIC
from ..values import interning
from ..values.memory import reserve_zeros, view
from ..values.spec import Spec
from . import lookup

ENTRY = 7  # as in kernels/passes/transpose.py (a test compares)
COLUMNS = ("code", "a", "b", "c", "spec")

# Room, which is memory only where it is used; and what is enough to begin anew.
MOST, ROWS, RESULTS, CONSTANTS = 1 << 17, 1 << 22, 1 << 21, 1 << 20
LONGEST = 1 << 20  # rows of one template
MANY = 1 << 14
MANY_ROWS = 1 << 18

Key = tuple[int, int, int, int, int, int]


class Index:
    """A hash table of the numbers of templates, plus 1, by keys."""

    __slots__ = ("array", "mask", "slots")

    def __init__(self, size: int) -> None:
        self.array = np.zeros(size * ENTRY, np.int64)
        self.slots = view(self.array)
        self.mask = size - 1

    def insert(self, key: Key, template: int) -> None:
        """Enter a template, unless it is there."""
        slots, mask, entry = self.slots, self.mask, template + 1
        k0, k1, k2, k3, k4, k5 = key
        slot = lookup.hash_key(*key) & mask
        while True:
            at = ENTRY * slot
            # whole: nothing runs in between, see core.values.interning
            if not slots[at]:
                slots[at + 1] = k0
                slots[at + 2] = k1
                slots[at + 3] = k2
                slots[at + 4] = k3
                slots[at + 5] = k4
                slots[at + 6] = k5
                slots[at] = entry
            # done
            if slots[at] == entry:
                return
            slot = (slot + 1) & mask


class Templates:
    """All templates since numbers were last freed."""

    def __init__(self) -> None:
        self.index = Index(1024)
        self.known: dict[Key, int] = {}
        self.count = self.rows = self.results = self.constants = 0
        self._numbers: dict[tuple[int, int], int] = {}  # of constants
        self._held: list[Any] = []
        self.start = reserve_zeros((MOST,), np.int32)
        self.end = reserve_zeros((MOST,), np.int32)
        self.result_start = reserve_zeros((MOST,), np.int32)
        self.operands = reserve_zeros((MOST,), np.int32)
        self.code = reserve_zeros((ROWS,), np.int32)
        self.a = reserve_zeros((ROWS,), np.int32)
        self.b = reserve_zeros((ROWS,), np.int32)
        self.c = reserve_zeros((ROWS,), np.int32)
        self.spec = reserve_zeros((ROWS,), np.int32)
        self.result = reserve_zeros((RESULTS,), np.int32)
        self.pool_bits = reserve_zeros((CONSTANTS,), np.int64)
        self.pool_spec = reserve_zeros((CONSTANTS,), np.int32)

    def many(self) -> bool:
        """Whether it is time to begin anew."""
        return self.count > MANY or self.rows > MANY_ROWS

    def constant(self, spec: Spec, bits: int) -> int:
        """The number of a constant in the pool."""
        found = self._numbers.get((spec.id, bits))
        if found is None:
            # whole: nothing runs in between, see core.values.interning
            found = self.constants
            self.constants = found + 1
            # done
            _check(found, CONSTANTS)
            self.pool_bits[found] = bits
            self.pool_spec[found] = spec.id
            found = self._numbers.setdefault((spec.id, bits), found)
        return found

    def add(
        self,
        key: Key,
        rows: list[tuple[int, ...]],
        results: list[int],
        held: list[Any],
        operands: list[int],
    ) -> None:
        """Enter a template: rows of (code, a, b, c, spec), and each operand's adjoint.

        ``held`` is what the numbers in it stand for, ``operands`` those of its variadic rows:
        ``b`` of them from ``a`` on.
        """
        self._held.append(held)
        many, last = len(rows), len(results) + len(operands)
        # whole: nothing runs in between, see core.values.interning
        template = self.count
        self.count = template + 1
        start = self.rows
        end = start + many
        self.rows = end
        at = self.results
        self.results = at + last
        # done
        for number, most in ((template, MOST), (end, ROWS), (at + last, RESULTS), (many, LONGEST)):
            _check(number, most)
        for k, name in enumerate(COLUMNS):
            getattr(self, name)[start:end] = [row[k] for row in rows]
        if operands:
            variadic = CODES.arity[self.code[start:end]] == VARIADIC
            self.a[start:end][variadic] += at + len(results)
        self.result[at : at + last] = [*results, *operands]
        self.operands[template] = len(operands)
        self.result_start[template] = at
        self.start[template] = start
        self.end[template] = end
        self.enter(key, self.known.setdefault(key, template))

    def enter(self, key: Key, template: int) -> None:
        """Have the pass find a template."""
        if 4 * self.count > self.index.mask:
            index = Index(4 * (self.index.mask + 1))
            for known, number in list(self.known.items()):
                index.insert(known, number)
            self.index = index  # who entered one in the old index meanwhile is asked again
        self.index.insert(key, template)


def _check(number: int, most: int) -> None:
    if number >= most:
        raise ResourceExhaustedError("The derivative rules met at once take too many rows.")


class _Current:
    __slots__ = ("templates",)

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.templates = Templates()


_current = _Current()
interning.CACHES.append(_current.renew)


def current() -> Templates:
    """Those to use from now on. Who uses them holds them, and so the numbers in them."""
    if _current.templates.many():
        interning.free_unused()
    return _current.templates
