"""Fusion: row ops (softmax, normalization) and the elementwise groups around them in one kernel.

A thread holds its part of a row in registers from the first load to the last store, so that ops
pass values in registers and shared operands are loaded once. `Fuser` finds the groups of a plan
to fuse; `program_source` generates the source of a `FusedProgram`.

Here a row op works on the rows of an array, along the last axis; other "rows" are rows of the log.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..log.op import REDUCTION
from ..plan.plan import LANES_GROUP, WHOLE
from ..values.spec import Spec
from .codegen import LONGEST, KernelLoop, KernelStep, loop_source
from .launches import CudaKernel, Launch, Reserve, kernel, threads
from .ops.axes import along, cut_of
from .ops.row_tiling import PART, RegisterTiling, register_tiling

# The kernels of row ops, as in kernels/cuda/rows.py and, for rows too long for registers, in
# kernels/cuda/arrays.py (tests compare).
ROW_OPS = (
    "softmax",
    "log_softmax",
    "softmax_grad",
    "log_softmax_grad",
    "normalize",
    "normalize_grad",
)
MAX_BYTES = 640  # bytes of registers per thread for the values that a kernel loads and computes
MAX_BYTES_WITH_SUMS = 768  # the same for kernels with sums of columns
MIN_BLOCKS = 256  # the fewest blocks of rows that keep a GPU busy
LOOKAHEAD = 32  # the number of groups after the first one that are considered for fusion


class FusedPart(NamedTuple):
    """A step of a kernel between loads and stores: a row op, or an elementwise function.

    Attributes:
      op: The name of a row op, or "".
      body: The text of the elementwise function ``body`` if there is no row op.
      operands, results: Numbers of values; the loads come first.
      epsilon: The number that the op adds to a variance.
    """

    op: str
    body: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    epsilon: float


class FusedProgram(NamedTuple):
    """The description of a fused kernel.

    Attributes:
      dtype: The dtype of all values that are loaded and stored.
      tiling: How threads share a row.
      loads: The layout of each load: ``each`` has a row for each row, ``row`` is one row for all
        of them, and ``one`` is a single element.
      parts: The steps, in order.
      stores: The values that are stored.
      sums: The values whose columns are summed. With sums, each block takes rows at a fixed
        stride and writes their partial sums, in the order of the stretches of a separate sum.
    """

    dtype: str
    tiling: RegisterTiling
    loads: tuple[str, ...]
    parts: tuple[FusedPart, ...]
    stores: tuple[int, ...]
    sums: tuple[int, ...] = ()


def program_source(program: FusedProgram) -> str:
    """The text of ``kernel(units, n, *loads, *stores, *sums)`` and of the bodies it calls."""
    dtype, loads = program.dtype, program.loads
    bodies = "".join(
        part.body.replace("def body(", f"def body{k}(", 1)
        for k, part in enumerate(program.parts)
        if not part.op
    )
    pointers = [*(f"p{k}" for k in range(len(loads))), *(f"out{v}" for v in program.stores)]
    pointers += [f"sums{v}" for v in program.sums]
    lines = [f"def kernel(units, n, {', '.join(pointers)}):"]
    in_registers = [k for k, layout in enumerate(loads) if layout != "one"]
    in_registers += [value for part in program.parts for value in part.results]
    lines += [f"    h{value} = cuda.local.array(SIZE, {dtype})" for value in in_registers]
    lines += [f"    v{k} = p{k}[0]" for k, layout in enumerate(loads) if layout == "one"]
    lines.append("    lane, at, count = place(units, n)")
    if not program.sums:
        return bodies + "\n".join([*lines, *_row_lines(program)]) + "\n"
    for x in program.sums:
        lines += [
            f"    s{x} = cuda.local.array(SIZE, {dtype})",
            "    for k in range(SIZE):",
            f"        s{x}[k] = {dtype}(0)",
        ]
    lines += ["    while at < units * n:", *(f"    {line}" for line in _row_lines(program))]
    lines.append("        at += cuda.gridDim.x * n")
    lines += [f"    keep(s{x}, sums{x}, cuda.blockIdx.x * n, n, lane)" for x in program.sums]
    return bodies + "\n".join(lines) + "\n"


def _row_lines(program: FusedProgram) -> list[str]:
    """The lines that process one row."""
    loads = program.loads
    lines = [f"    {_load_line(program, k)}" for k, layout in enumerate(loads) if layout == "each"]
    for k in range(len(loads)):
        lines += _column_sum_lines(program, k)
    loaded = {k for k, layout in enumerate(loads) if layout != "row"}
    for number, part in enumerate(program.parts):
        # A row shared by all rows is cached: load it late, to save registers.
        late = [k for k in part.operands if k < len(loads) and k not in loaded]
        lines += [f"    {_load_line(program, k)}" for k in late]
        loaded.update(late)
        if part.op:
            lines.append(f"    {_row_op_line(program, number)}")
        else:
            args = ", ".join(
                f"v{x}" if x < len(loads) and loads[x] == "one" else f"h{x}[k]"
                for x in part.operands
            )
            lines += ["    for k in range(SIZE):", f"        r = body{number}({args})"]
            lines += [f"        h{x}[k] = r[{k}]" for k, x in enumerate(part.results)]
        for x in part.results:
            lines += _column_sum_lines(program, x)
        lines += [
            f"    keep(h{x}, out{x}, at, count, lane)" for x in part.results if x in program.stores
        ]
    return lines


def _row_op_line(program: FusedProgram, number: int) -> str:
    """The line that applies a row op. `normalize_grad` reuses the result of `normalize`."""
    part = program.parts[number]
    name, operands, last_argument = part.op, part.operands, repr(part.epsilon)
    if name == "normalize_grad":
        for other in program.parts[:number]:
            signature = other.op, other.operands, other.epsilon
            if signature == ("normalize", part.operands[:1], part.epsilon):
                (normalized_value,) = other.results
                name = "normalized_grad"
                operands = (normalized_value, operands[1])
                last_argument = f"scale{normalized_value}"
    arguments = ", ".join(f"h{value}" for value in (*part.results, *operands))
    assignment = f"scale{part.results[0]} = " if name == "normalize" else ""
    return f"{assignment}{name}({arguments}, count, n, lane, {last_argument})"


def _column_sum_lines(program: FusedProgram, x: int) -> list[str]:
    """The lines that add a value to the sums of its columns, if the program has such sums."""
    if x not in program.sums:
        return []
    return ["    for k in range(SIZE):", f"        s{x}[k] = {program.dtype}(s{x}[k] + h{x}[k])"]


def _load_line(program: FusedProgram, k: int) -> str:
    begin = "at" if program.loads[k] == "each" else "0"
    return f"fetch(h{k}, p{k}, {begin}, count, lane, {program.dtype}(0))"


def compile_kernel(program: FusedProgram) -> Any:
    """Compile a program's text and return the function ``kernel``."""
    target, scalar, rows, tilings = (
        importlib.import_module(f"numtape.kernels.cuda.{name}")
        for name in ("target", "scalar", "rows", "tiling")
    )
    dtype, tiling, text = program.dtype, tilings.Tiling(*program.tiling), program_source(program)
    scope: dict[str, Any] = {"__name__": "numtape.rows", "cuda": target.cuda, "SIZE": tiling.size}
    scope |= target.KINDS | scalar.FUNCTIONS
    scope |= {"place": tilings.make_place(tiling), "fetch": tilings.make_fetch(dtype, tiling)}
    scope["keep"] = tilings.make_store(tiling)
    for name, make in rows.FUNCTIONS_OF_ROWS.items():
        if f"{name}(" in text:
            scope[name] = make(dtype, tiling)
    exec(compile(text, "<rows>", "exec"), scope)
    for number, part in enumerate(program.parts):
        if not part.op:
            scope[f"body{number}"] = target.device(scope[f"body{number}"])
    if program.sums:  # limits registers so that two blocks run at a time
        scope["kernel"].bounds = threads(), 2
    return scope["kernel"]


def parameters(program: FusedProgram) -> list[str]:
    """The dtypes of a kernel's parameters; ``*`` marks arrays."""
    pointers = len(program.loads) + len(program.stores) + len(program.sums)
    return ["int64", "int64", *[f"*{program.dtype}"] * pointers]


def launch_of(
    program: FusedProgram, units: int, n: int, places: Sequence[int], blocks: int | None = None
) -> Launch:
    """The launch for ``units`` rows of ``n``; ``places`` has the loads, stores and sums."""
    text = f"{program_source(program)}# {program.tiling}\n"
    symbol = f"rows_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    compiled: CudaKernel = kernel(
        lambda: compile_kernel(program), parameters(program), symbol, text
    )
    count = blocks or program.tiling.blocks(units)
    return Launch(compiled, count, threads(), (units, n), tuple(places))


def launch_of_row_op(
    name: str, out: Spec, count: int, epsilon: float, places: Sequence[int]
) -> Launch | None:
    """The launch of a row op by itself, with ``count`` operands; None if its rows are too long."""
    n = out.shape[-1]
    tiling = register_tiling(n, out.dtype.size)
    if tiling is None:
        return None
    part = FusedPart(name, "", tuple(range(count)), (count,), epsilon)
    program = FusedProgram(out.dtype.name, tiling, ("each",) * count, (part,), (count,))
    return launch_of(program, out.size // n, n, [*places[1:], places[0]])


# Finding the groups of a plan to fuse.


class Group(NamedTuple):
    """A group of a plan: its kind and its rows."""

    kind: int
    members: list[int]


class FusedGroup(NamedTuple):
    """Groups fused into one kernel: the rows it loads, stores and sums, and the group numbers."""

    program: FusedProgram
    spec: Spec
    loads: tuple[int, ...]
    stores: tuple[int, ...]
    sums: tuple[int, ...]
    numbers: tuple[int, ...]

    def launches(self, place_of: Callable[[int], int], reserve: Reserve) -> list[Launch]:
        """The launch of the kernel, and those that finish its sums.

        ``place_of`` maps a row to its place number.
        """
        n = self.spec.shape[-1]
        units, dtype = self.spec.size // n, self.spec.dtype.name
        cut = cut_of((1, units, n))
        partials = [reserve(cut.stretches * n * self.spec.dtype.size) for _ in self.sums]
        places = [*(place_of(row) for row in (*self.loads, *self.stores)), *partials]
        count = cut.stretches if self.sums else None
        launches = [launch_of(self.program, units, n, places, count)]
        for row, partial in zip(self.sums, partials, strict=True):
            sizes = 1, cut.stretches, n
            launches += along("sum", dtype, dtype, sizes, (place_of(row), partial), reserve)
        return launches


class Fuser:
    """Finds the groups of a plan that can be fused."""

    def __init__(self, rows: Any, groups: Sequence[Group], needed: set[int]) -> None:
        """``needed`` are the rows that are stored whether or not another group reads them."""
        self._rows, self._groups, self._needed = rows, groups, needed
        self._group_of = {row: k for k, group in enumerate(groups) for row in group.members}
        self._readers: dict[int, set[int]] = {}
        for k, group in enumerate(groups):
            for row in group.members:
                for x in rows.operands(row):
                    self._readers.setdefault(x, set()).add(k)

    def fuse(self) -> dict[int, FusedGroup]:
        """Return the fused groups, of two groups or more, by the number of their first group."""
        fused: dict[int, FusedGroup] = {}
        taken: set[int] = set()
        for first in range(len(self._groups)):
            if first not in taken:
                fused_group = self._fuse_from(first, taken)
                if fused_group is not None:
                    fused[fused_group.numbers[0]] = fused_group
                    taken.update(fused_group.numbers)
        return fused

    def _fuse_from(self, first: int, taken: set[int]) -> FusedGroup | None:
        """Fuse a group with later ones that do not depend on unfused groups in between."""
        spec = self._spec(first)
        if spec is None or not self._fits(first, spec, first, {first}):
            return None
        size = spec.dtype.size
        tiling = register_tiling(spec.shape[-1], size)
        if tiling is None:
            return None
        numbers: list[int] = []
        best: list[int] = []
        for k in range(first, min(first + LOOKAHEAD, len(self._groups))):
            if k not in taken and self._fits(k, spec, first, {*numbers, k}):
                if tiling.size * size * self._register_count([*numbers, k]) > MAX_BYTES:
                    break
                numbers.append(k)
                if self._groups[k].kind == WHOLE or best:
                    best = list(numbers)
        if len(best) < 2:
            return None
        return self._fuse_groups(spec, tiling, best, self._column_sums(spec, tiling, best, taken))

    def _column_sums(
        self, spec: Spec, tiling: RegisterTiling, numbers: Sequence[int], taken: set[int]
    ) -> list[int]:
        """Return the groups that sum the columns of a value that the kernel has in registers."""
        n, value_bytes = spec.shape[-1], tiling.size * spec.dtype.size
        stretches = cut_of((1, spec.size // n, n)).stretches
        if tiling.threads != threads() or value_bytes > PART or stretches < MIN_BLOCKS:
            return []
        in_registers = {x for x in self._loads(numbers) if self._layout(x, spec) == "each"}
        in_registers.update(row for k in numbers for row in self._groups[k].members)
        column_sums: list[int] = []
        for k in range(numbers[0], min(numbers[0] + LOOKAHEAD, len(self._groups))):
            kind, (row, *_) = self._groups[k]
            op, attributes = self._rows.op(row)
            if k in taken or k in numbers or kind != WHOLE or op.name != "Sum":
                continue
            size = value_bytes * (self._register_count(numbers) + len(column_sums) + 1)
            all_but_last = tuple(attributes["axes"]) == tuple(range(len(spec.shape) - 1))
            if (
                all_but_last
                and self._rows.operands(row)[0] in in_registers
                and size <= MAX_BYTES_WITH_SUMS
            ):
                column_sums.append(k)
        return column_sums

    def _spec(self, k: int) -> Spec | None:
        """The spec of a group, or None if a fused kernel cannot compute it."""
        kind, members = self._groups[k]
        rows = self._rows
        spec: Spec = rows.spec(members[0])
        if spec.size <= 1 or not spec.shape or spec.dtype.name not in ("float32", "float64"):
            return None
        if kind == WHOLE:
            return spec if self._row_op(members[0]) else None
        is_elementwise = kind == LANES_GROUP and len(members) <= LONGEST
        return (
            spec if is_elementwise and all(rows.kind(row) != REDUCTION for row in members) else None
        )

    def _row_op(self, row: int) -> str:
        """The kernel name of a row op, or "" for other ops."""
        op, attributes = self._rows.op(row)
        if op.native is None or op.on_host or op.name == "MatMul":
            return ""
        specs = self._rows.spec(row), *(self._rows.spec(x) for x in self._rows.operands(row))
        if any(spec.wide for spec in specs):
            return ""
        native = op.native(*specs, **attributes)
        return native.kernel if native is not None and native.kernel in ROW_OPS else ""

    def _fits(self, k: int, spec: Spec, first: int, inside: set[int]) -> bool:
        """Whether a group has this spec and reads only groups before ``first`` or in ``inside``."""
        group_spec = self._spec(k)
        if (
            group_spec is None
            or group_spec.shape != spec.shape
            or group_spec.dtype is not spec.dtype
        ):
            return False
        for row in self._outputs(k):
            if self._rows.spec(row).dtype is not spec.dtype:
                return False
        return all(
            self._rows.spec(x).dtype is spec.dtype
            and self._layout(x, spec)
            and ((group := self._group_of.get(x, -1)) < first or group in inside)
            for x in self._external_operands(k)
        )

    def _layout(self, x: int, spec: Spec) -> str:
        """The layout of a load (see `FusedProgram`), or "" if it has none of these layouts."""
        load_spec = self._rows.spec(x)
        if load_spec.size == 1:
            return "one"
        if tuple(load_spec.shape) == tuple(spec.shape):
            return "each"
        n = spec.shape[-1]
        return "row" if load_spec.size == n == load_spec.shape[-1] else ""

    def _external_operands(self, k: int) -> list[int]:
        """The rows outside a group that it reads."""
        members = self._groups[k].members
        inside = set(members)
        return list(
            dict.fromkeys(x for row in members for x in self._rows.operands(row) if x not in inside)
        )

    def _outputs(self, k: int, inside: Sequence[int] = ()) -> list[int]:
        """Rows of a group that are needed, or read by groups other than it and ``inside``."""
        others = {k, *inside}
        return [
            row
            for row in self._groups[k].members
            if row in self._needed or self._readers.get(row, set()) - others
        ]

    def _loads(self, numbers: Sequence[int]) -> list[int]:
        return list(
            dict.fromkeys(
                x
                for k in numbers
                for x in self._external_operands(k)
                if self._group_of.get(x) not in numbers
            )
        )

    def _register_count(self, numbers: Sequence[int]) -> int:
        """An upper bound of the values that a kernel of these groups holds in registers."""
        loads = [x for x in self._loads(numbers) if self._rows.spec(x).size != 1]
        return len(loads) + sum(len(self._outputs(k)) for k in numbers)

    def _fuse_groups(
        self, spec: Spec, tiling: RegisterTiling, numbers: Sequence[int], columns: Sequence[int]
    ) -> FusedGroup:
        rows, all_numbers = self._rows, (*numbers, *columns)
        loads = self._loads(numbers)
        value = {row: k for k, row in enumerate(loads)}
        parts = []
        for k in numbers:
            members, results = self._groups[k].members, self._outputs(k)
            operands = self._external_operands(k)
            for row in results:
                value[row] = len(value)
            numbered = tuple(value[x] for x in operands), tuple(value[x] for x in results)
            if self._groups[k].kind == WHOLE:
                (row,) = members
                arguments = tuple(value[x] for x in rows.operands(row))
                epsilon = float(rows.op(row)[1].get("epsilon", 0.0))
                parts.append(FusedPart(self._row_op(row), "", arguments, (value[row],), epsilon))
            else:
                parts.append(
                    FusedPart(
                        "", self._body_source(spec, members, operands, results), *numbered, 0.0
                    )
                )
        stores = [row for k in numbers for row in self._outputs(k, all_numbers)]
        sums = [self._groups[k].members[0] for k in columns]
        program = FusedProgram(
            spec.dtype.name,
            tiling,
            tuple(self._layout(x, spec) for x in loads),
            tuple(parts),
            tuple(value[row] for row in stores),
            tuple(value[rows.operands(row)[0]] for row in sums),
        )
        return FusedGroup(program, spec, tuple(loads), tuple(stores), tuple(sums), all_numbers)

    def _body_source(
        self, spec: Spec, members: list[int], operands: list[int], results: list[int]
    ) -> str:
        """The text of the elementwise function of a group; the same as in an unfused kernel."""
        rows = self._rows
        value = {row: k for k, row in enumerate((*operands, *members))}
        steps = [
            KernelStep(
                rows.op(row)[0].body or "x",
                tuple(value[x] for x in rows.operands(row)),
                tuple(rows.spec(x).dtype for x in rows.operands(row)),
                rows.spec(row).dtype,
            )
            for row in members
        ]
        loop = KernelLoop(
            tuple(spec.shape),
            tuple(rows.spec(x) for x in operands),
            tuple(steps),
            tuple(value[row] for row in results),
            (),
        )
        return loop_source(loop).partition("\ndef kernel(")[0] + "\n"
