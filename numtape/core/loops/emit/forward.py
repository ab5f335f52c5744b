"""The text of the forward sweep: the function, with stores of values to the stack.

Start with `Forward`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..analysis.activity import Activity
from ..analysis.bounds import Bounds
from ..analysis.callees import CalleeFrame, Variant
from ..analysis.recompute import Recompute, reads
from ..ir import (
    Alloc,
    Assign,
    Body,
    Branch,
    Call,
    ForRange,
    Node,
    While,
    address,
    assigned_in,
    is_constant,
    shadow,
    straight,
    walk,
)
from . import custom_vjp
from .checkpointing import StraightReverse, element, operand_text, outside
from .text import (
    DIVISION,
    EMPTY,
    INDEX,
    LINES,
    NEGATIVE,
    NO_ROOM,
    RAISED,
    SHAPES,
    BranchPlan,
    ReversePlan,
    Slot,
    Slots,
    Text,
    does_anything,
    failure_status,
    groups,
    iterations_line,
    pieces,
    size_text,
    slot_at,
    take_text,
    variable_line,
)


class Forward(Text):
    """Writes the forward sweep.

    Attributes:
      plans: The plans for `Reverse`, by the id of a node.
      callee_frames: The frames of calls, by the id of a node.
      available_tests: The tests of branches that need not be stored, by the id of a node.
      recomputed_lines: The lines that recompute names at the beginning of a block's reverse, by
        the id of the block.
      final_values: The names that are stored at the end, for all of the reverse sweep.
    """

    def __init__(self, body: Body, activity: Activity, checked: bool, divisions: bool) -> None:
        super().__init__()
        self.body, self.divisions = body, divisions
        self._loops = 0
        self.index_bounds = Bounds(body) if checked else None
        self.activity = activity
        self.plans: dict[int, ReversePlan] = {}
        self.callee_frames: dict[int, tuple[CalleeFrame, Variant]] = {}
        self.available_tests: dict[int, str] = {}
        self.recomputed_lines: dict[int, list[str]] = {}
        self.used_names: set[str] = set()
        self.recompute = Recompute(body, activity)
        self._read_outside = outside(body.nodes, body.result_operands())
        self._loop_variables = {n.name for n in walk(body.nodes) if isinstance(n, ForRange)}
        with self._begin_block(body.nodes, activity.fixed & body.argument_names()) as known:
            self.nodes(body.nodes, known | activity.fixed)
        self.final_values = sorted((self.used_names & activity.fixed) - body.argument_names())
        self._store(self.final_values, body.begin)

    def step(self, step: Assign) -> None:
        """Write one step."""
        line, arrays = step.line, self.body.arrays
        names = [operand_text(a) for a in step.args]
        if step.op == "check":
            if self.index_bounds is not None and id(step) not in self.index_bounds.unneeded:
                index = self.index_bounds.highest.get(id(step), names[0])
                self.put(f"if not 0 <= {index} < {names[1]}: return {failure_status(INDEX, line)}")
            return
        if step.op == "raise":
            self.put(f"return {RAISED + (int(step.dtype) << LINES)}")
            return
        if step.op == "same":
            self.put(f"if {names[0]} != {names[1]}: return {failure_status(SHAPES, line)}")
            return
        if step.op == "some":
            self.put(f"if {names[0]} < 1: return {failure_status(EMPTY, line)}")
            return
        if self.divisions and step.op in ("/", "//", "%"):
            self.put(f"if {names[1]} == 0: return {failure_status(DIVISION, line)}")
        if not step.array:
            self.put(f"{step.out} = {step.text.format(*names)}")
            return
        if step.op == "load":
            text = element(self.body, step.array, names[0], address(step.array))
            self.put(f"{step.out} = {text}")
            return
        base = (
            step.array
            if arrays[step.array].argument
            else (f"{arrays[step.array].dtype}_at({address(step.array)})")
        )
        sign = {"store": "=", "acc": "+=", "sub": "-="}[step.op]
        self.put(f"{base}[{names[0]}] {sign} {names[1]}")

    def check_before(self, loop: ForRange, k: int) -> None:
        """Write the index checks that are hoisted out of loop ``k``."""
        written_tests = set()
        for check in (
            [] if self.index_bounds is None else self.index_bounds.hoisted.get(id(loop), [])
        ):
            indices = [check.offset]
            if check.factor:
                last_iteration = f"N{k} - 1" if loop.step == 1 else f"(N{k} - 1) * ({loop.step})"
                ends = (
                    loop.low,
                    last_iteration if loop.low == "0" else f"{loop.low} + {last_iteration}",
                )
                factor = "" if check.factor == 1 else f"{check.factor} * "
                offset = "" if check.offset == "0" else f" + {check.offset}"
                indices = [f"{factor}({end}){offset}" for end in ends]
            test = " and ".join(f"{check.low} <= {x} < {check.length}" for x in indices)
            if test not in written_tests:
                written_tests.add(test)
                status = failure_status(INDEX, check.step.line)
                self.put(f"if N{k} > 0 and not ({test}): return {status}")

    def plain(self, nodes: list[Node]) -> None:
        """Write statements that only compute a condition, without storing values."""
        for node in nodes:
            if isinstance(node, Assign):
                self.step(node)
            elif isinstance(node, Branch):
                for head, body in ((f"if {node.test}:", node.body), ("else:", node.other)):
                    self.put(head)
                    self.depth += 1
                    self.put("pass")
                    self.plain(body)
                    self.depth -= 1
            elif isinstance(node, ForRange):
                self._loops += 1
                k = self._loops
                self.put(iterations_line(node, k))
                self.check_before(node, k)
                self.put(f"for K{k} in range(N{k}):")
                self.depth += 1
                self.put(variable_line(node, k))
                self.plain(node.body)
                self.depth -= 1
            else:
                assert isinstance(node, While)
                self.put("while True:")
                self.depth += 1
                self.plain(node.head)
                self.put(f"if not {node.test}: break")
                self.plain(node.body)
                self.depth -= 1

    def _word_check(self, line: int) -> str:
        """Return a check for space for some words, with a placeholder for their size."""
        return f"if SP{{}} > END: return {failure_status(NO_ROOM, line)}"

    def _store(self, names: list[str], line: int) -> None:
        """Write stores of names."""
        if not names:
            return
        self.put(self._word_check(line).format(f" + {8 * len(names)}"))
        for j, name in enumerate(names):
            self.put(slot_at(j, self.body.names[name]).write(name))
        self.put(take_text(str(8 * len(names)), [line]))

    # Recomputed values.

    @contextmanager
    def _begin_block(self, nodes: list[Node], known: set[str]) -> Iterator[set[str]]:
        """Enter a block, whose reverse starts by recomputing names. Yield the names it has."""
        recomputed = self.recompute.block(nodes, known)
        outer_used_names, self.used_names = self.used_names, set()
        yield known | set(recomputed)
        lines = []
        for name, step in reversed(recomputed.items()):
            if name in self.used_names:
                self.used_names.remove(name)
                self.used_names.update(self.recompute.needs(step))
                text = step.text.format(*map(operand_text, step.args))
                if step.op == "load":
                    text = element(
                        self.body, step.array, operand_text(step.args[0]), address(step.array)
                    )
                lines.append(f"{name} = {text}  # again {step.line}")
        self.recomputed_lines[id(nodes)] = lines[::-1]
        self.used_names |= outer_used_names

    def _write_block(self, nodes: list[Node], known: set[str]) -> None:
        with self._begin_block(nodes, known) as inner:
            self.nodes(nodes, inner)

    def _is_available(self, operand: str, known: set[str]) -> bool:
        """Whether the reverse sweep has an operand, bit for bit, without storing it."""
        if is_constant(operand):
            return True
        if operand not in known or not self.recompute.exact(operand):
            return False
        self.used_names.add(operand)
        return True

    # The stored values.

    def _test_text(self, node: Branch) -> str:
        """Return a branch's test as a bool, as text: the test may be any number."""
        return node.test if self.body.names[node.test] == "bool" else f"bool({node.test})"

    def straight_piece(
        self, nodes: list[Node], slots: Slots, known: set[str], stored_slots: dict[str, Slot]
    ) -> list[Any]:
        """Write a stretch, and return the parts of its reverse.

        ``stored_slots`` are the slots of names whose current values are stored already.
        """
        parts: list[Any] = []
        line = -1
        for piece in pieces(nodes):
            if isinstance(piece, Branch):
                mark, count = len(self.lines), len(slots)
                is_available = piece.test in known and self.recompute.exact(piece.test)
                slot = None if is_available else slots.new("bool", piece.line)
                if slot is not None:
                    self.put(slot.write(self._test_text(piece)))
                sides: list[list[Any]] = []
                for head, body in ((f"if {piece.test}:", piece.body), ("else:", piece.other)):
                    self.put(head)
                    self.depth += 1
                    self.put("pass")
                    with self._begin_block(body, known) as side_known:
                        side = self.straight_piece(body, slots, side_known, dict(stored_slots))
                    start = self.recomputed_lines.pop(id(body))
                    sides.append([*side, start] if start else side)
                    self.depth -= 1
                for name in assigned_in([piece]):
                    stored_slots.pop(name, None)
                if (
                    does_anything(sides[0])
                    or does_anything(sides[1])
                    or len(slots) > count + (not is_available)
                ):
                    test = piece.test if slot is None else slot.read()
                    self.used_names |= {piece.test} if is_available else set()
                    parts.append(BranchPlan(test, *sides))
                elif slot is not None:  # the reverse does not need the test
                    slots.drop()
                    del self.lines[mark]
                continue
            reverse = StraightReverse(
                self.body,
                self.activity,
                piece,
                known,
                self._loop_variables,
                self._read_outside,
                self.used_names,
                self.recompute,
            ).piece
            reads: list[str] = []
            stores: dict[int, list[str]] = {}
            last_steps = {step.out: k for k, step in enumerate(piece)}
            new_slots = {}
            for (value, dtype, k), stored_name in zip(reverse.stored, reverse.names, strict=True):
                stored_slot = stored_slots.get(value) if k < 0 else None
                slot = stored_slot or slots.new(dtype, piece[max(k, 0)].line)
                if stored_slot is None:
                    stores.setdefault(k, []).append(slot.write(value))
                reads.append(f"{stored_name} = {slot.read()}")
                if value.isidentifier() and last_steps.get(value, -1) == k:
                    new_slots[value] = slot
            for name in last_steps:
                stored_slots.pop(name, None)
            stored_slots |= new_slots
            for text in stores.get(-1, []):
                self.put(text)
            for k, step in enumerate(piece):
                if step.line != line:
                    line = step.line
                    self.put(f"# line {line}")
                self.step(step)
                for text in stores.get(k, []):
                    self.put(text)
            parts.append([*reads, *reverse.back])
        return parts

    def nodes(self, nodes: list[Node], known: set[str]) -> None:
        """Write a block."""
        for group in groups(nodes):
            node = group[0]
            if straight(node):
                mark, slots = len(self.lines), Slots()
                parts = self.straight_piece(group, slots, known, {})
                if len(slots):
                    size = 8 * slots.words
                    self.insert(mark, [self._word_check(node.line).format(f" + {size}")])
                    self.put(take_text(str(size), slots.lines))
                self.plans[id(node)] = ReversePlan(slots=slots, parts=parts)
            elif isinstance(node, ForRange):
                self._counted_loop(node, known)
            elif isinstance(node, While):
                self._while_loop(node, known)
            elif isinstance(node, Alloc):
                self._create(node)
            elif isinstance(node, Call):
                self._write_call(node, known)
            else:  # with loops inside: the test is stored after them
                assert isinstance(node, Branch)
                for head, body in ((f"if {node.test}:", node.body), ("else:", node.other)):
                    self.put(head)
                    self.depth += 1
                    self.put("pass")
                    self._write_block(body, known)
                    self.depth -= 1
                if self._is_available(node.test, known):
                    self.available_tests[id(node)] = node.test
                    continue
                self.put(self._word_check(node.line).format(" + 8"))
                self.put(slot_at(0, "bool").write(self._test_text(node)))
                self.put(take_text("8", [node.line]))

    def _counted_loop(self, loop: ForRange, known: set[str]) -> None:
        self._loops += 1
        k = self._loops
        assigned = assigned_in(loop.body) | {loop.name}
        bounds = [x for x in (loop.low, loop.high) if not is_constant(x)]
        candidates = reads(loop.body, self.body) - known - assigned
        candidates |= {x for x in bounds if x not in known}
        inner_known = known | candidates | {loop.name}
        outer_used_names, self.used_names = self.used_names, set()
        slots = None
        parts: list[Any] = []
        self.put(f"# line {loop.line}")
        self.put(iterations_line(loop, k))
        self.check_before(loop, k)
        mark = len(self.lines)
        self.put(f"for K{k} in range(N{k}):")
        self.depth += 1
        self.put(variable_line(loop, k))
        with self._begin_block(loop.body, inner_known) as inner_known:
            if all(map(straight, loop.body)):
                slots = Slots(k)
                parts = self.straight_piece(loop.body, slots, inner_known, {})
            else:
                self.nodes(loop.body, inner_known)
        self.depth -= 1
        if slots is not None and len(slots):
            self.insert(mark, self._reserve_vectors(slots, k, loop.line))
        keep = sorted(candidates & (self.used_names | set(bounds)))
        self.used_names = outer_used_names | ((self.used_names | set(bounds)) - set(keep))
        self._store(keep, loop.line)
        self.plans[id(loop)] = ReversePlan(k, keep, slots, parts)

    def _reserve_vectors(self, slots: Slots, k: int, line: int) -> list[str]:
        """Return lines that reserve stack space for the values of an innermost loop."""
        lines = [self._space_check(f"{8.0 * len(slots)} * N{k}", line)]
        for j, dtype in enumerate(slots.dtypes):
            lines.append(f"S{k}_{j} = {dtype}_at(SP)")
            lines.append(take_text(size_text(f"N{k}", dtype), slots.lines[j : j + 1]))
        return lines

    def _space_check(self, size: str, line: int) -> str:
        """Return a check for stack space; as a float, since the size may exceed an int64."""
        return f"if {size} + 64.0 > END - SP: return {failure_status(NO_ROOM, line)}"

    def _while_loop(self, loop: While, known: set[str]) -> None:
        self._loops += 1
        k = self._loops
        candidates = reads(loop.body, self.body) - known - assigned_in([loop])
        outer_used_names, self.used_names = self.used_names, set()
        self.put(f"# line {loop.line}")
        self.put(f"C{k} = 0")
        self.put("while True:")
        self.depth += 1
        self.plain(loop.head)
        self.put(f"if not {loop.test}: break")
        if loop.count:
            self.put(f"{loop.count} = C{k}")
        self._write_block(loop.body, known | candidates | ({loop.count} - {""}))
        self.put(f"C{k} += 1")
        self.depth -= 1
        keep = sorted(candidates & self.used_names)
        self.used_names = outer_used_names | (self.used_names - set(keep))
        self._store(keep, loop.line)
        self.put(self._word_check(loop.line).format(" + 8"))
        self.put(slot_at(0, "int64").write(f"C{k}"))
        self.put(take_text("8", [loop.line]))
        self.plans[id(loop)] = ReversePlan(k, keep)

    def _create(self, node: Alloc) -> None:
        """Write a local array, its adjoints, and the words with which the reverse frees both."""
        self._loops += 1
        k = self._loops
        name, array = node.array, self.body.arrays[node.array]
        active = name in self.activity.active
        self.put(f"# line {node.line}")
        tests = [f"{name}_n{j} < 0" for j in range(array.ndim)]
        self.put(f"if {' or '.join(tests)}: return {failure_status(NEGATIVE, node.line)}")
        lengths = " * ".join(f"{name}_n{j}" for j in range(array.ndim))
        self.put(self._space_check(f"16.0 * {lengths}", node.line))
        size = size_text(node.size, array.dtype)
        self.put(f"B{k} = SP")
        self.put(f"{address(name)} = SP")
        self.put(take_text(size, [node.line]))
        self.put(f"{shadow(name)} = SP")
        if active:
            self.put(take_text(size, [node.line]))
        fills = []
        if node.copied:
            source = element(self.body, node.copied, f"K{k}", address(node.copied))
            fills.append(f"{array.dtype}_at({address(name)})[K{k}] = {source}")
        elif node.fill:
            fills.append(f"{array.dtype}_at({address(name)})[K{k}] = {node.fill}")
        if active:
            fills.append(f"{array.dtype}_at({shadow(name)})[K{k}] = 0")
        for fill in fills:
            self.put(f"for K{k} in range({node.size}):")
            self.put(f"    {fill}")
        words = [f"B{k}", shadow(name), node.size, "0"]
        if node.copied and not self.body.arrays[node.copied].argument:
            words[3] = shadow(node.copied)
        for j, value in enumerate(words):
            self.put(slot_at(j, "int64").write(value))
        self.put(take_text("32", [node.line]))
        self.plans[id(node)] = ReversePlan(k)

    def _write_call(self, node: Call, known: set[str]) -> None:
        """Write a call of a function that has separate sweeps."""
        self._loops += 1
        k = self._loops
        active, written = self.activity.active, self.activity.written
        variant = node.functions.variant(node, self.body, set() if node.rule else active, written)
        frame = CalleeFrame(
            node, variant, self.body, k, written, lambda x: self._is_available(x, known)
        )
        self.callee_frames[id(node)] = frame, variant
        size = 8 * frame.words
        self.put(f"# line {node.line}")
        if node.recompute:
            self.put(f"B{k} = SP")
        for source, dtype, count, name in frame.copies:
            self.put(self._space_check(f"8.0 * {count}", node.line))
            self.put(f"{name} = SP")
            self.put(f"for K{k} in range({count}):")
            self.put(f"    {dtype}_at(SP)[K{k}] = {source}[K{k}]")
            self.put(take_text(size_text(f"({count})", dtype), [node.line]))
        self.put("MARK[0] = DEPTH + 1")
        end = f"END - {size}" if node.recompute else "END"  # recomputing starts above the frame
        self.put(variant.call(frame.forward_arguments, f"SP, {end}, OUT, MARK"))
        self.put("if STATUS: return STATUS")
        if not node.recompute:
            self.put("SP = MARK[0]")
        if node.out:
            value, dtype = "OUT[0]", self.body.names[node.out]
            conversions = {"float64": "{}", "float32": "np.float32({})", "bool": "({} != 0)"}
            self.put(f"{node.out} = {conversions.get(dtype, 'int({})').format(value)}")
        if node.array:
            for line in custom_vjp.keep_lines(node, self.body, k, active, written):
                self.put(line)
        if size:
            self.put(self._word_check(node.line).format(f" + {size}"))
            self.put(f"F{k} = SP")
            for line in frame.fill_lines:
                self.put(line)
            self.put(take_text(str(size), [node.line]))
        self.plans[id(node)] = ReversePlan(k)
