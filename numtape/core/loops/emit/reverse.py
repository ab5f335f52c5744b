"""The text of the reverse sweep, which visits the forward sweep's steps in reverse."""

from __future__ import annotations

from ..ir import Alloc, Branch, Call, ForRange, Node, While, straight
from . import custom_vjp
from .forward import Forward
from .results import words
from .text import (
    BranchPlan,
    ReversePlan,
    Slots,
    Text,
    does_anything,
    groups,
    iterations_line,
    size_text,
    slot_at,
    variable_line,
)


class Reverse(Text):
    """Writes the reverse sweep."""

    def __init__(self, forward: Forward, recomputes: bool, called: bool) -> None:
        super().__init__()
        self._recomputes, self._is_called = recomputes, called
        self.forward, self.body, self.activity = forward, forward.body, forward.activity
        if self.body.result:
            if self.body.result in self.activity.active:
                self.put(f"d_{self.body.result} += {'SEED' if called else 'SEED[0]'}")
        else:
            self._add_seeds()
        self._restore(forward.final_values)
        self.nodes(self.body.nodes)

    def _add_seeds(self) -> None:
        """Add the seeds of several number results; the caller writes those of arrays."""
        size = words(self.body)
        if size:
            self.put(f"SP -= {8 * size}")
        for k, name in enumerate(self.body.outputs):
            if name in self.activity.active and name not in self.body.arrays:
                self.put(f"d_{name} += SEED[{k}]")

    def _restore(self, names: list[str]) -> None:
        """Restore names that were stored together."""
        if names:
            self.put(f"SP -= {8 * len(names)}")
        for j, name in enumerate(names):
            self.put(f"{name} = {slot_at(j, self.body.names[name]).read()}")

    def _write_parts(self, parts: list[object]) -> None:
        for part in reversed(parts):
            if isinstance(part, BranchPlan):
                if not any(does_anything(side) for side in (part.body, part.other)):
                    continue
                for head, side in ((f"if {part.test}:", part.body), ("else:", part.other)):
                    if does_anything(side) or head != "else:":
                        self.put(head)
                        self.depth += 1
                        self.put("pass")
                        self._write_parts(side)
                        self.depth -= 1
            else:
                assert isinstance(part, list)
                for line in part:
                    self.put(line)

    def nodes(self, nodes: list[Node]) -> None:
        """Write the reverse of a block."""
        self._recompute_values(nodes)
        for group in reversed(list(groups(nodes))):
            node = group[0]
            if isinstance(node, Branch) and not straight(node):
                self._branch(node)
                continue
            plan = self.forward.plans[id(node)]
            if straight(node):
                assert plan.slots is not None
                if len(plan.slots):
                    self.put(f"SP -= {8 * plan.slots.words}")
                self._write_parts(plan.parts)
            elif isinstance(node, ForRange):
                self._counted_loop(node, plan)
            elif isinstance(node, While):
                self.put("SP -= 8")
                self.put(f"N{plan.k} = {slot_at(0, 'int64').read()}")
                self._restore(plan.keep)
                self.put(f"for K{plan.k} in range(N{plan.k} - 1, -1, -1):")
                self.depth += 1
                self.put(f"{node.count} = K{plan.k}" if node.count else "pass")
                self.nodes(node.body)
                self.depth -= 1
            elif isinstance(node, Call):
                self._write_call(node, plan.k)
            else:
                assert isinstance(node, Alloc)
                self._release(node, plan)

    def _recompute_values(self, nodes: list[Node]) -> None:
        """Write the values that a block recomputes."""
        for line in self.forward.recomputed_lines[id(nodes)]:
            self.put(line)

    def _branch(self, node: Branch) -> None:
        test = self.forward.available_tests.get(id(node))
        if test is None:
            self.put("SP -= 8")
            test = slot_at(0, "bool").read()
        for head, body in ((f"if {test}:", node.body), ("else:", node.other)):
            self.put(head)
            self.depth += 1
            self.put("pass")
            self.nodes(body)
            self.depth -= 1

    def _counted_loop(self, loop: ForRange, plan: ReversePlan) -> None:
        k, slots = plan.k, plan.slots
        self._restore(plan.keep)
        self.put(iterations_line(loop, k))
        if slots is not None:
            self._release_vectors(slots, k)
        self.put(f"for K{k} in range(N{k} - 1, -1, -1):")
        self.depth += 1
        self.put(variable_line(loop, k))
        if slots is not None:
            self._recompute_values(loop.body)
            self._write_parts(plan.parts)
        else:
            self.nodes(loop.body)
        self.depth -= 1

    def _release_vectors(self, slots: Slots, k: int) -> None:
        for j in reversed(range(len(slots))):
            self.put(f"SP -= {size_text(f'N{k}', slots.dtypes[j])}")
            self.put(f"S{k}_{j} = {slots.dtypes[j]}_at(SP)")

    def _release(self, node: Alloc, plan: ReversePlan) -> None:
        self.put("SP -= 32")
        active = self.activity.active
        if node.copied and {node.copied, node.array} <= active:
            source = self.body.arrays[node.copied]
            source_adjoint = (
                f"d_{node.copied}"
                if source.argument
                else (f"{source.dtype}_at({slot_at(3, 'int64').read()})")
            )
            adjoint = f"{source.dtype}_at({slot_at(1, 'int64').read()})"
            k = plan.k
            self.put(f"for K{k} in range({slot_at(2, 'int64').read()}):")
            self.depth += 1
            self.put(f"{source_adjoint}[K{k}] += {adjoint}[K{k}]")
            self.depth -= 1
        if self._recomputes and node.array in active:
            adjoint = f"{self.body.arrays[node.array].dtype}_at({slot_at(1, 'int64').read()})"
            self.put(f"for K{plan.k} in range({slot_at(2, 'int64').read()}):")
            self.put(f"    {adjoint}[K{plan.k}] = 0")
        self.put(f"SP = {slot_at(0, 'int64').read()}")

    def _write_call(self, node: Call, k: int) -> None:
        frame, variant = self.forward.callee_frames[id(node)]
        active = self.activity.active
        if frame.words:
            self.put(f"SP -= {8 * frame.words}")
            self.put(f"F{k} = SP")
        if node.rule is not None:
            if (node.out or node.array) in active and not active.isdisjoint(node.names):
                rule = node.functions.rule(node, self.body)
                for line in custom_vjp.back(
                    node, frame, rule, self.body, k, active, self._recomputes, self._is_called
                ):
                    self.put(line)
            self.put(f"SP = {frame.read('int64', frame.begin)}")
            return
        inputs, top = frame.reverse_arguments, "SP"
        if node.recompute:
            inputs, top = frame.recomputed_arguments, frame.read("int64", frame.mark)
            self.put(f"{top} = 0")
            ends = f"F{k} + {8 * frame.words}, {frame.read('int64', frame.end)}"
            cells = f"{frame.at('float64', frame.out)}, {frame.at('int64', frame.mark)}"
            self.put(variant.call(inputs, f"{ends}, {cells}"))
        seed = "0.0"
        if node.out in active:
            seed = f"G{k}"
            self.put(f"{seed} = float64_of(d_{node.out})")
            self.put(f"d_{node.out} = 0.0")
        self.put(variant.back(inputs, top, seed))
        if node.functions.has_rules:
            self.put(f"if SP < 0: return {'SP' if self._is_called else '-SP'}")
        if node.recompute:
            self.put(f"SP = {frame.read('int64', frame.begin)}")
        for j, cell in frame.number_adjoints.items():
            self.put(f"d_{node.names[j]} += {frame.read('float64', cell)}")
