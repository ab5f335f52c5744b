"""Straight-line code: what it stores, what is recomputed, and its reverse.

Values that are cheap to recompute are not stored: sums and products, comparisons, integers,
elements of arrays that are never written, and loop invariants. Results of functions and divisions
are stored, as are elements of arrays that are written to, and values from before the piece. Each
assignment of a name in a piece is a numbered version (SSA form). Start with `StraightReverse`.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from ..analysis.activity import Activity
from ..analysis.recompute import Recompute, cheap, moves
from ..analysis.types import INTS, SIZES
from ..ir import (
    WRITES,
    Alloc,
    Assign,
    Body,
    Branch,
    Call,
    ForRange,
    Node,
    While,
    address,
    is_constant,
    shadow,
)
from ..rules import FUNCTIONS, derivative, operands

Version = tuple[str, int]  # a name, and the number of its assignments in this piece so far
Operand = Version | str  # or the text of a constant
DEEPEST = 12  # steps that are repeated for one value
KINKED = ("max", "min", "maximum", "minimum")


@dataclass
class Piece:
    """A piece and its reverse.

    Attributes:
      stored: The name, dtype and defining step of each value to store; step -1 for values from
        before the piece.
      back: The lines of the reverse, after those that load the stored values.
      names: The name of each stored value in the reverse.
    """

    stored: list[tuple[str, str, int]]
    back: list[str]
    names: list[str]


def operand_text(operand: str) -> str:
    """Return an operand as text for an expression: negative constants in parentheses."""
    return f"({operand})" if operand.startswith("-") else operand


def element(body: Body, array: str, place: str, base: str, adjoint: bool = False) -> str:
    """Return the text of an element or its adjoint; ``base``: the address of a local array."""
    known = body.arrays[array]
    name = f"d_{array}" if adjoint else array
    array_text = name if known.argument else f"{known.dtype}_at({base})"
    text = f"{array_text}[{place}]"
    return f"({text} != 0)" if known.dtype == "bool" else text


def outside(nodes: list[Node], outputs: list[str]) -> set[str]:
    """Return the names that are read outside of the assigning piece, or before the assignment."""
    names = set(outputs)

    def survey(nodes: list[Node]) -> None:
        own: set[str] = set()
        for node in nodes:
            if isinstance(node, Assign):
                names.update(set(node.args) - own)
                own.add(node.out)
                continue
            own = set()
            if isinstance(node, Branch):
                names.add(node.test)
                survey(node.body)
                survey(node.other)
            elif isinstance(node, ForRange):
                names.update((node.low, node.high))
                survey(node.body)
            elif isinstance(node, While):
                names.add(node.test)
                survey(node.head)
                survey(node.body)
            elif isinstance(node, Alloc):
                names.add(node.size)
            elif isinstance(node, Call):
                names.update(node.operands())

    survey(nodes)
    return names


class StraightReverse:
    """Builds the reverse sweep of one piece of straight-line code."""

    def __init__(
        self,
        body: Body,
        activity: Activity,
        steps: list[Assign],
        known: Set[str],
        varying: Set[str],
        read: Set[str],
        used: set[str],
        recompute: Recompute,
    ) -> None:
        self.body, self.activity, self.varying, self.known = body, activity, varying, known
        self.used, self._computed = used, recompute
        self.defs: dict[Version, tuple[int, Assign, list[Operand]]] = {}
        self.stored: dict[Version, None] = {}
        self.order: list[Version] = []
        self._pushes: dict[Version, set[Version]] = {}
        counts: dict[str, int] = {}

        def now(a: str) -> Operand:
            return a if is_constant(a) else (a, counts.get(a, 0))

        ssa: list[tuple[Assign, Version | None, list[Operand]]] = []
        # The names of an array's address and of its adjoints' address, by the id of a step.
        self._bases: dict[int, tuple[Version, Version]] = {}
        for k, step in enumerate(steps):
            args = [now(a) for a in step.args]
            if step.array:
                at, over = address(step.array), shadow(step.array)
                self._bases[id(step)] = (at, counts.get(at, 0)), (over, counts.get(over, 0))
            out = None
            if step.out:
                counts[step.out] = counts.get(step.out, 0) + 1
                out = step.out, counts[step.out]
                self.defs[out] = k, step, args
            ssa.append((step, out, args))
        active = activity.active
        self.lines: list[str] = []
        self.live: set[Version] = set()
        self.fresh: set[Version] = set()  # assigned here: versions 0 get new adjoints
        for name, count in counts.items():
            if name in active and name in read:
                self.lines.append(f"d_{name}__{count} = d_{name}")
                self.live.add((name, count))
                self.fresh.add((name, 0))
        for step, out, args in reversed(ssa):
            self._step(step, out, args)
        self.lines += [f"{self._adjoint(v)} = 0.0" for v in sorted(self.fresh)]
        restored = [
            f"{self._name(v)} = {self._recompute_version(v)}  # again {self.defs[v][1].line}"
            for v in self.order
        ]
        self.piece = Piece(
            [self._place(v) for v in self.stored],
            restored + self.lines,
            [self._name(v) for v in self.stored],
        )

    def _place(self, v: Version) -> tuple[str, str, int]:
        """Return the name or text, dtype and defining step of a value to store."""
        k, step, _ = self.defs.get(v, (-1, None, []))
        if step is None or step.out:
            return v[0], self.body.names[v[0]], k
        return step.text.format(*map(operand_text, step.args)), "bool", k

    def _extreme_rule(self, v: Version, rule: str) -> str:
        """Return a rule of a maximum or minimum that recomputes or stores its comparison."""
        comparison = re.search(r"x [<>]= y", rule)
        if not comparison:
            return rule
        k, step, args = self.defs[v]
        test = f"_took_{v[0]}", v[1]
        text = f"{{0}}{comparison[0][1:-1]}{{1}}"
        self.defs[test] = k - 1, Assign("", "compare", step.args, text, step.line), args
        return rule.replace(comparison[0], self._need(test))

    def _size(self, v: Version) -> int:
        return SIZES[self.body.names.get(v[0], "bool")]

    def _adjoint(self, v: Version) -> str:
        return f"d_{v[0]}" if v[1] == 0 else f"d_{v[0]}__{v[1]}"

    def _here(self, v: Version) -> bool:
        """Whether the reverse sweep has a value without storing or recomputing it."""
        return v[0] in self.known and (v[1] == 0 or v[0] in self.activity.fixed)

    def _name(self, v: Operand) -> str:
        if isinstance(v, str):
            return operand_text(v)
        return v[0] if self._here(v) else f"{v[0]}__{v[1]}"

    def _steady(self, v: Operand) -> bool:
        """Whether a value is known to be the same in every iteration."""
        if isinstance(v, str):
            return True
        if v not in self.defs:
            return v[0] not in self.varying
        _, step, args = self.defs[v]
        return step.op != "load" and all(map(self._steady, args))

    def _cheap(self, step: Assign) -> bool:
        return cheap(step, self.body, self.activity.written)

    def _roundings(self, v: Operand) -> int:
        """Count the roundings in recomputing a value. With at most one the bits are the same."""
        if isinstance(v, str) or self.body.names.get(v[0], "bool") in INTS:
            return 0
        if v not in self.defs:
            return 0 if self._computed.exact(v[0]) else 2
        _, step, args = self.defs[v]
        return sum(map(self._roundings, args)) + (not moves(step))

    def _needs(self, v: Operand, deep: int = 0) -> set[Version]:
        """Return the values to store for recomputing a value: at worst the value itself."""
        if isinstance(v, str) or v in self.stored or self._here(v):
            return set()
        if v not in self.defs:
            return {v}
        versions = self._pushes.get(v)
        if versions is not None:
            return versions
        _, step, args = self.defs[v]
        base = self._base(step, address) if step.op == "load" else None
        if deep > DEEPEST or (step.op == "load" and not self._cheap(step)):
            return {v}
        versions = set().union(
            *[self._needs(a, deep + 1) for a in [*args, *([base] if base else [])]]
        )
        if not self._cheap(step) and (
            versions or not all(map(self._steady, args)) or step.op not in FUNCTIONS
        ):
            versions = {v}
        if (
            len(versions) > 1
            or sum(map(self._size, versions)) > self._size(v)
            or (
                self.body.names.get(v[0]) in INTS and max(map(self._roundings, args), default=0) > 1
            )
        ):
            versions = {v}
        self._pushes[v] = versions
        return versions

    def _base(self, step: Assign, which: object) -> Version | None:
        """Return the version of the name that holds a local array's address; None for arguments."""
        if self.body.arrays[step.array].argument:
            return None
        return self._bases[id(step)][0 if which is address else 1]

    def _need(self, v: Operand) -> str:
        """Make a value available in the reverse, and return its name there."""
        if isinstance(v, str):
            return operand_text(v)
        if self._here(v):
            self.used.add(v[0])
        elif v not in self.order and v not in self.stored:
            if v in self._needs(v):
                self.stored[v] = None
                self._pushes.clear()
            else:
                _, step, args = self.defs[v]
                for a in args:
                    self._need(a)
                base = self._base(step, address) if step.op == "load" else None
                if base:
                    self._need(base)
                if v not in self.order:
                    self.order.append(v)
        return self._name(v)

    def _recompute_version(self, v: Version) -> str:
        _, step, args = self.defs[v]
        names = [self._name(a) for a in args]
        if step.op == "load":
            base = self._base(step, address)
            return element(self.body, step.array, names[0], self._name(base) if base else "")
        return step.text.format(*names)

    def _add(self, v: Operand, text: str) -> None:
        """Add to the adjoint of an operand."""
        if isinstance(v, str) or v[0] not in self.activity.active:
            return
        name = self._adjoint(v)
        if v in self.fresh:
            self.fresh.discard(v)
            self.lines.append(f"{name} = {text}")
        elif v[1] == 0 or v in self.live:
            self.lines.append(f"{name} += {text}")
        else:
            self.lines.append(f"{name} = {text}")
            self.live.add(v)

    def _step(self, step: Assign, out: Version | None, args: list[Operand]) -> None:
        active = self.activity.active
        if step.op in ("load", *WRITES) and step.array in active:
            if step.op == "load" and out not in self.live:
                return
            base = self._base(step, shadow)
            name = self._need(base) if base else ""
            at = element(self.body, step.array, self._need(args[0]), name, True)
            if step.op == "load":
                assert out is not None
                self.lines.append(f"{at} += {self._adjoint(out)}")
                return
            self._add(args[1], f"-{at}" if step.op == "sub" else at)
            if step.op == "store" and not step.first:
                self.lines.append(f"{at} = 0.0")
            return
        if out is None or out not in self.live:
            return
        if step.op in ("copy", "cast", "weak"):
            self._add(args[0], self._adjoint(out))
        elif step.op in FUNCTIONS and self.body.names[step.out] not in INTS:
            values = dict(zip(operands(step.op), args, strict=True)) | {"z": out}
            for a, rule in zip(args, derivative(step.op), strict=True):
                if rule and not isinstance(a, str) and a[0] in active:
                    # Format the rule first: `_add` may overwrite the adjoint of the result.
                    text = re.sub(
                        r"\b[cgxyz]\b",
                        lambda m: self._adjoint(out) if m[0] == "g" else self._need(values[m[0]]),
                        self._extreme_rule(out, rule) if step.op in KINKED else rule,
                    )
                    self._add(a, text)
