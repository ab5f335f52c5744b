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
    groups,
    number,
    once,
    room,
    rounds,
    something,
)


class Reverse(Text):
    """Writes the reverse sweep."""

    def __init__(self, forward: Forward, recomputes: bool, called: bool) -> None:
        super().__init__()
        self._recomputes, self._called = recomputes, called
        self.forward, self.body, self.activity = forward, forward.body, forward.activity
        if self.body.result:
            if self.body.result in self.activity.active:
                self.put(f"d_{self.body.result} += {'SEED' if called else 'SEED[0]'}")
        else:
            self._results()
        self._pop(forward.last)
        self.nodes(self.body.nodes)

    def _results(self) -> None:
        """Add the seeds of several number results; the caller writes those of arrays."""
        size = words(self.body)
        if size:
            self.put(f"SP -= {8 * size}")
        for k, name in enumerate(self.body.outputs):
            if name in self.activity.active and name not in self.body.arrays:
                self.put(f"d_{name} += SEED[{k}]")

    def _pop(self, names: list[str]) -> None:
        """Restore names that were stored together."""
        if names:
            self.put(f"SP -= {8 * len(names)}")
        for j, name in enumerate(names):
            self.put(f"{name} = {once(j, self.body.names[name]).read()}")

    def _parts(self, parts: list[object]) -> None:
        for part in reversed(parts):
            if isinstance(part, BranchPlan):
                if not any(something(x) for x in (part.body, part.other)):
                    continue
                for head, inner in ((f"if {part.test}:", part.body), ("else:", part.other)):
                    if something(inner) or head != "else:":
                        self.put(head)
                        self.depth += 1
                        self.put("pass")
                        self._parts(inner)
                        self.depth -= 1
            else:
                assert isinstance(part, list)
                for line in part:
                    self.put(line)

    def nodes(self, nodes: list[Node]) -> None:
        """Write the reverse of a block."""
        self._start(nodes)
        for group in reversed(list(groups(nodes))):
            first = group[0]
            if isinstance(first, Branch) and not straight(first):
                self._branch(first)
                continue
            plan = self.forward.plans[id(first)]
            if straight(first):
                assert plan.slots is not None
                if len(plan.slots):
                    self.put(f"SP -= {8 * plan.slots.words}")
                self._parts(plan.parts)
            elif isinstance(first, ForRange):
                self._count(first, plan)
            elif isinstance(first, While):
                self.put("SP -= 8")
                self.put(f"N{plan.k} = {once(0, 'int64').read()}")
                self._pop(plan.keep)
                self.put(f"for K{plan.k} in range(N{plan.k} - 1, -1, -1):")
                self.depth += 1
                self.put(f"{first.count} = K{plan.k}" if first.count else "pass")
                self.nodes(first.body)
                self.depth -= 1
            elif isinstance(first, Call):
                self._call(first, plan.k)
            else:
                assert isinstance(first, Alloc)
                self._make(first, plan)

    def _start(self, nodes: list[Node]) -> None:
        """Write the values that a block recomputes."""
        for line in self.forward.starts[id(nodes)]:
            self.put(line)

    def _branch(self, node: Branch) -> None:
        test = self.forward.ways.get(id(node))
        if test is None:
            self.put("SP -= 8")
            test = once(0, "bool").read()
        for head, body in ((f"if {test}:", node.body), ("else:", node.other)):
            self.put(head)
            self.depth += 1
            self.put("pass")
            self.nodes(body)
            self.depth -= 1

    def _count(self, loop: ForRange, plan: ReversePlan) -> None:
        k, slots = plan.k, plan.slots
        self._pop(plan.keep)
        self.put(rounds(loop, k))
        if slots is not None:
            self._vectors(slots, k)
        self.put(f"for K{k} in range(N{k} - 1, -1, -1):")
        self.depth += 1
        self.put(number(loop, k))
        if slots is not None:
            self._start(loop.body)
            self._parts(plan.parts)
        else:
            self.nodes(loop.body)
        self.depth -= 1

    def _vectors(self, slots: Slots, k: int) -> None:
        for j in reversed(range(len(slots))):
            self.put(f"SP -= {room(f'N{k}', slots.dtypes[j])}")
            self.put(f"S{k}_{j} = {slots.dtypes[j]}_at(SP)")

    def _make(self, node: Alloc, plan: ReversePlan) -> None:
        self.put("SP -= 32")
        active = self.activity.active
        if node.copied and {node.copied, node.array} <= active:
            known = self.body.arrays[node.copied]
            to = (
                f"d_{node.copied}"
                if known.argument
                else (f"{known.dtype}_at({once(3, 'int64').read()})")
            )
            own = f"{known.dtype}_at({once(1, 'int64').read()})"
            k = plan.k
            self.put(f"for K{k} in range({once(2, 'int64').read()}):")
            self.depth += 1
            self.put(f"{to}[K{k}] += {own}[K{k}]")
            self.depth -= 1
        if self._recomputes and node.array in active:
            own = f"{self.body.arrays[node.array].dtype}_at({once(1, 'int64').read()})"
            self.put(f"for K{plan.k} in range({once(2, 'int64').read()}):")
            self.put(f"    {own}[K{plan.k}] = 0")
        self.put(f"SP = {once(0, 'int64').read()}")

    def _call(self, node: Call, k: int) -> None:
        frame, variant = self.forward.frames[id(node)]
        active = self.activity.active
        if frame.words:
            self.put(f"SP -= {8 * frame.words}")
            self.put(f"F{k} = SP")
        if node.rule is not None:
            if (node.out or node.array) in active and not active.isdisjoint(node.names):
                rule = node.functions.rule(node, self.body)
                for line in custom_vjp.back(
                    node, frame, rule, self.body, k, active, self._recomputes, self._called
                ):
                    self.put(line)
            self.put(f"SP = {frame.read('int64', frame.begin)}")
            return
        inputs, top = frame.inputs, "SP"
        if node.recompute:
            inputs, top = frame.reloads, frame.read("int64", frame.mark)
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
            self.put(f"if SP < 0: return {'SP' if self._called else '-SP'}")
        if node.recompute:
            self.put(f"SP = {frame.read('int64', frame.begin)}")
        for j, cell in frame.slopes.items():
            self.put(f"d_{node.names[j]} += {frame.read('float64', cell)}")
