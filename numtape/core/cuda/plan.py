"""Plans of the CUDA executor: the CPU's plans, turned into lists of launches.

`GpuPlanner` groups the rows of a log; `GpuPlan` makes the launches, one kernel for each group of
elementwise rows. Values passed between groups stay on the GPU: large ones in their own buffers or
in a plan's arena, single elements in a block of cells.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from ..compile.tables import Lanes
from ..log.log import Log
from ..log.op import CODES, REDUCTION, VARIADIC
from ..plan.plan import (
    G_KIND,
    G_ROWS,
    G_ROWS_END,
    KEPT,
    LANES_GROUP,
    SHARED,
    SMALL,
    Plan,
    Planner,
)
from ..values import dtypes
from ..values.spec import SPECS, Spec, intern
from .codegen import LONGEST, KernelLoop, KernelStep
from .fusion import FusedGroup, Fuser, Group
from .launches import Launch, Product, Runnable, elementwise, launch_together
from .ops.array import array_launches

_ALIGNMENT = 256  # of temporaries: whole lines of the GPU's caches, and any vector


class Place(NamedTuple):
    """The location of a value while a plan runs.

    Attributes:
      kind: "cell" or "arena"; "row" for a row's buffer; "word" for the word of `device_errors`.
      at: The offset into cells or arena, or the row.
    """

    kind: str
    at: int


_NOWHERE = Place("", 0)
# Most rows of a group, and most elements of each, for it to share a launch with other groups.
SHORT, NARROW = 32, 1 << 16


class GpuPlan(Plan):
    """A plan as a list of launches.

    Attributes:
      launches: The launches, in order.
      places: The locations of values; launches refer to them by index, the place number.
      rows_at: The place numbers and rows of places that are rows' buffers.
      cells: Rows of one element, the leaves first.
      fed: How many of ``cells`` are leaves.
      masks: The significant bits of the cells that are not leaves.
      leaves: Leaf rows of more than one element.
      computed: Rows whose values are kept afterwards.
      on_host: Whether part of the plan runs on the host, so that it cannot be captured.
    """

    __slots__ = (
        "_numbers",
        "_replayed",
        "cells",
        "computed",
        "fed",
        "launches",
        "leaves",
        "masks",
        "on_host",
        "places",
        "rows_at",
    )

    def __init__(self, log: Log, work: GpuPlanner) -> None:
        self._replayed = work.replayed
        super().__init__(log, work)

    def _assign_kernels(self, log: Log) -> None:
        """Make the launches."""
        self.numpy_groups, self.kernel_first, self.views = {}, set(), []
        self.launches: list[Runnable] = []
        self.places: list[Place] = []
        self._numbers: dict[Place, int] = {}
        order, kept_flags, offsets, groups = (
            self.arrays[name].tolist() for name in ("order", "storage", "offset", "groups")
        )
        rows = _Rows(log, dict(self.aliases), set(order))
        how = dict(zip(order, kept_flags, strict=True))
        parts = [Group(group[G_KIND], order[group[G_ROWS] : group[G_ROWS_END]]) for group in groups]
        self.computed = [row for row in order if how[row] == KEPT]
        place = self._places(rows, how, dict(zip(order, offsets, strict=True)))
        stored = {row for row in order if how[row]}
        maker = _Maker(self, rows, place, stored)
        last = self._last(rows, parts, place) if self._replayed else set()
        joined = Fuser(rows, parts, {row for row in stored if place[row].kind != "arena"}).fuse()
        done = {number for one in joined.values() for number in one.numbers}
        for number, (kind, members) in enumerate(parts):
            if number in joined:
                maker.add_fused(joined[number])
            elif number in done:
                pass
            elif kind == SHARED and not rows.spec(members[0]).single:
                (row,) = members
                original = rows.operands(row)[0]
                place[row] = place[original]
                self.views.append((row, original, rows.spec(row), how[row] == KEPT))
            elif number in last:
                maker.later(members)
            elif kind in (SMALL, SHARED):
                maker.elementwise(members, ())
            elif kind == LANES_GROUP:
                first = members[0]
                if rows.kind(first) == REDUCTION:
                    first = rows.operands(first)[0]
                maker.elementwise(members, tuple(rows.spec(first).shape))
            else:
                maker.array_row(members[0])
        maker.end()
        self.rows_at = [
            (number, place.at) for number, place in enumerate(self.places) if place.kind == "row"
        ]
        self.on_host = not all(isinstance(launch, Launch | Product) for launch in self.launches)

    def _places(
        self, rows: _Rows, how: dict[int, int], offsets: dict[int, int]
    ) -> dict[int, Place]:
        """Return the places of values by row; set ``cells``, ``fed``, ``masks`` and ``leaves``."""
        self.leaves = sorted(x for x in rows.leaves if not rows.spec(x).single)
        single = [row for row in how if rows.spec(row).single]
        feeding = sorted(x for x in rows.leaves if rows.spec(x).single)
        cells = feeding + single
        self.cells, self.fed = np.array(cells, np.int64), len(feeding)
        bits = [(1 << 8 * rows.spec(row).dtype.size) - 1 for row in single]
        self.masks = np.array(bits, np.uint64)
        place = {row: Place("cell", 8 * k) for k, row in enumerate(cells)}
        place |= {row: Place("row", row) for row in self.leaves}
        for row in how:
            if how[row] and row not in place:
                own = how[row] == KEPT
                place[row] = Place("row", row) if own else Place("arena", offsets[row])
        return place

    def _last(self, rows: _Rows, parts: list[Group], place: dict[int, Place]) -> set[int]:
        """Return the numbers of small groups that can be computed last: no other group reads them.

        Most are updates of variables. Their operands move to arena space that is not reused.
        """
        of = {row: k for k, (_, members) in enumerate(parts) for row in members}
        read = {
            of[x]
            for k, (_, members) in enumerate(parts)
            for row in members
            for x in rows.operands(row)
            if of.get(x, k) != k
        }
        last_group = {
            k
            for k, (kind, members) in enumerate(parts)
            if kind == LANES_GROUP
            and k not in read
            and len(members) <= SHORT
            and all(rows.kind(row) != REDUCTION for row in members)
            and rows.spec(members[0]).size <= NARROW
        }
        if len(last_group) < 2:
            return set()
        shared = {members[0] for kind, members in parts if kind == SHARED}
        for x in {x for k in last_group for row in parts[k].members for x in rows.operands(row)}:
            while x in shared:
                x = rows.operands(x)[0]
            spec = rows.spec(x)
            if x in of and spec.size > 1 and place.get(x, _NOWHERE).kind == "arena":
                place[x] = self.temporary(spec.size * spec.dtype.size)
        return last_group

    def number(self, place: Place) -> int:
        """Return the number of a place, adding it to ``places`` if needed."""
        number = self._numbers.setdefault(place, len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def cell_numbers(self) -> dict[int, int]:
        """The place numbers of cells, by cell index."""
        return {
            place.at // 8: number for place, number in self._numbers.items() if place.kind == "cell"
        }

    def temporary(self, size: int) -> Place:
        """Reserve arena space that is not shared with other values."""
        place = Place("arena", -(-self.arena // _ALIGNMENT) * _ALIGNMENT)
        self.arena = place.at + size
        return place


class _Rows:
    """The specs, ops and operands of the rows of a plan; ``leaves`` are the rows it only reads."""

    def __init__(self, log: Log, equal: dict[int, int], computed: set[int]) -> None:
        self.log, self._equal = log, equal
        self.leaves: set[int] = set()
        for row in computed:
            self.leaves.update(x for x in self.operands(row) if x not in computed)

    def spec(self, row: int) -> Spec:
        """The spec of a row."""
        return SPECS.specs[self.log.spec[row]]

    def op(self, row: int) -> Any:
        """The op of a row, and its attributes."""
        return CODES.entries[self.log.code[row]]

    def kind(self, row: int) -> int:
        """The kind of a row's op."""
        return int(self.op(row)[0].kind)

    def operands(self, row: int) -> list[int]:
        """The operand rows of a row; duplicates are replaced by the first equal row."""
        log, (op, _) = self.log, self.op(row)
        if op.arity == VARIADIC:
            rows = log.extra[log.a[row] : log.a[row] + log.b[row]].tolist()
        else:
            rows = [column[row] for column in (log.a, log.b, log.c)[: op.arity]]
        return [self._equal.get(x, x) for x in rows]


class _Maker:
    """Makes the launches of a plan."""

    def __init__(
        self, plan: GpuPlan, rows: _Rows, place: dict[int, Place], stored: set[int]
    ) -> None:
        self._plan, self._rows, self._place, self._stored = plan, rows, place, stored
        self._later: list[list[int]] = []

    def elementwise(self, members: list[int], shape: tuple[int, ...]) -> None:
        """Add the kernels for elementwise rows of one shape, and for reductions of them."""
        pieces = [members[k : k + LONGEST] for k in range(0, len(members), LONGEST)]
        for k, piece in enumerate(pieces):
            inside = set(piece)
            for row in itertools.chain.from_iterable(pieces[k + 1 :]):
                for x in self._rows.operands(row):  # store values that a later piece reads
                    if x in inside and x not in self._stored:
                        self._stored.add(x)
                        spec = self._rows.spec(x)
                        self._place[x] = self._plan.temporary(spec.size * spec.dtype.size)
            self._piece(piece, shape)

    def later(self, members: list[int]) -> None:
        """Defer elementwise rows of one shape to `end`, which combines all such groups."""
        self._later.append(members)

    def end(self) -> None:
        """Add the launches of deferred groups."""
        loops = []
        for members in self._later:
            spec = self._rows.spec(members[0])
            loop, arrays, _ = self._loop(members, tuple(spec.shape))
            if loop.stores and spec.size:
                loops.append((loop, arrays))
        if len(loops) == 1:
            self._plan.launches += elementwise(*loops[0], [], self._partials)
        else:
            self._plan.launches += launch_together(loops)

    def _piece(self, members: list[int], shape: tuple[int, ...]) -> None:
        loop, arrays, outputs = self._loop(members, shape)
        self._plan.launches += elementwise(loop, arrays, outputs, self._partials)

    def _loop(
        self, members: list[int], shape: tuple[int, ...]
    ) -> tuple[KernelLoop, list[int], list[int]]:
        """Return a kernel's loop, the place numbers of its arrays, and those of its reductions."""
        rows = self._rows
        inside = {row for row in members if rows.kind(row) != REDUCTION or shape == ()}
        loads = dict.fromkeys(x for row in members for x in rows.operands(row) if x not in inside)
        value = {row: k for k, row in enumerate((*loads, *(r for r in members if r in inside)))}
        steps, reductions = [], []
        for row in members:
            operands = rows.operands(row)
            if row not in inside:
                reductions.append((row, rows.op(row)[0].body, value[operands[0]]))
                continue
            op, _ = rows.op(row)
            # A reduction or a reshape of one element is that element.
            body = op.body if op.body and op.kind != REDUCTION else "x"
            kinds = tuple(_word(rows.spec(x)).dtype for x in operands)
            step = KernelStep(
                body, tuple(value[x] for x in operands), kinds, _word(rows.spec(row)).dtype
            )
            steps.append(step)
        stores = [row for row in members if row in inside and row in self._stored]
        loop = KernelLoop(
            shape,
            tuple(_word(rows.spec(x)) for x in loads),
            tuple(steps),
            tuple(value[row] for row in stores),
            tuple((name, x) for _, name, x in reductions),
        )
        arrays = [self._number(row) for row in (*loads, *stores)]
        return loop, arrays, [self._number(row) for row, *_ in reductions]

    def add_fused(self, group: FusedGroup) -> None:
        """Add the kernel of fused groups.

        It runs in place of the first of them. At that point the arena space of the other groups'
        results may still hold values in use, so these results get new space.
        """
        for row in (*group.stores, *group.sums):
            if self._place[row].kind == "arena":
                spec = self._rows.spec(row)
                self._place[row] = self._plan.temporary(spec.size * spec.dtype.size)
        self._plan.launches += group.launches(self._number, self._partials)

    def array_row(self, row: int) -> None:
        """Add the launches for a row that is not elementwise."""
        rows = self._rows
        op, attributes = rows.op(row)
        operands = rows.operands(row)
        self._plan.launches += array_launches(
            op,
            attributes,
            rows.spec(row),
            [rows.spec(x) for x in operands],
            [self._number(x) for x in (row, *operands)],
            self._partials,
        )

    def _number(self, row: int) -> int:
        return self._plan.number(self._place[row])

    def _partials(self, size: int) -> int:
        return self._plan.number(self._plan.temporary(size))


_WORDS = {2: dtypes.uint16, 8: dtypes.uint64}


def _word(spec: Spec) -> Spec:
    """A spec that kernels support: halves and complex numbers, which are only copied, as words."""
    return intern(spec.shape, _WORDS[spec.dtype.size]) if spec.wide else spec


class GpuPlanner(Planner):
    """The planner for the GPU.

    Attributes:
      replayed: Whether the plan runs repeatedly, so that compiling for fewer launches pays off.
    """

    lanes = Lanes()
    max_small_size, follow, max_row = 1, False, 0
    plan_type = GpuPlan

    def __init__(self, log: Log, replayed: bool = False) -> None:
        self.replayed = replayed
        super().__init__(log)

    def add_lane_kernel(self, log: Log, row: int) -> None:
        """Register a row's op and dtypes as a lane: any elementwise row can be part of a group."""
        op, _ = CODES.entries[log.code[row]]
        operand = (log.a, log.b, log.c)[op.arity - 1][row]
        dtypes = SPECS.specs[log.spec[operand]].dtype, SPECS.specs[log.spec[row]].dtype
        self.lanes.add(op.lane, dtypes[0].code, dtypes[1].code, 1)
