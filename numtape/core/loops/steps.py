"""The text of what a function does, without what its reverse sweep needs of it."""

from __future__ import annotations

from .bounds import Bounds
from .layout import (
    DIVISION,
    EMPTY,
    INDEX,
    LINES,
    RAISED,
    SHAPES,
    Text,
    failure_status,
    number,
    rounds,
)
from .nodes import Body, Branch, Count, Node, Repeat, Step, address
from .store import element, operand_text


class Steps(Text):
    """Writes steps, and loops and branches of nothing else."""

    def __init__(self, body: Body, checked: bool, divisions: bool) -> None:
        super().__init__()
        self.body, self.divisions = body, divisions
        self._loops = 0
        self.bounds = Bounds(body) if checked else None

    def step(self, step: Step) -> None:
        """One step."""
        line, arrays = step.line, self.body.arrays
        names = [operand_text(a) for a in step.args]
        if step.op == "check":
            if self.bounds is not None and id(step) not in self.bounds.left_out:
                index = self.bounds.highest.get(id(step), names[0])
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

    def check_before(self, loop: Count, k: int) -> None:
        """The checks of indices in all rounds, before the loop with a number."""
        written = set()
        for check in [] if self.bounds is None else self.bounds.hoisted.get(id(loop), []):
            indices = [check.rest]
            if check.factor:
                last = f"N{k} - 1" if loop.step == 1 else f"(N{k} - 1) * ({loop.step})"
                ends = loop.low, last if loop.low == "0" else f"{loop.low} + {last}"
                factor = "" if check.factor == 1 else f"{check.factor} * "
                rest = "" if check.rest == "0" else f" + {check.rest}"
                indices = [f"{factor}({end}){rest}" for end in ends]
            test = " and ".join(f"{check.low} <= {x} < {check.length}" for x in indices)
            if test not in written:
                written.add(test)
                status = failure_status(INDEX, check.step.line)
                self.put(f"if N{k} > 0 and not ({test}): return {status}")

    def plain(self, nodes: list[Node]) -> None:
        """What only computes a condition: nothing is stored."""
        for node in nodes:
            if isinstance(node, Step):
                self.step(node)
            elif isinstance(node, Branch):
                for head, body in ((f"if {node.test}:", node.body), ("else:", node.other)):
                    self.put(head)
                    self.depth += 1
                    self.put("pass")
                    self.plain(body)
                    self.depth -= 1
            elif isinstance(node, Count):
                self._loops += 1
                k = self._loops
                self.put(rounds(node, k))
                self.check_before(node, k)
                self.put(f"for K{k} in range(N{k}):")
                self.depth += 1
                self.put(number(node, k))
                self.plain(node.body)
                self.depth -= 1
            else:
                assert isinstance(node, Repeat)
                self.put("while True:")
                self.depth += 1
                self.plain(node.head)
                self.put(f"if not {node.test}: break")
                self.plain(node.body)
                self.depth -= 1
