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
MAX_DEPTH = 12  # steps that are repeated for one value
EXTREMES = ("max", "min", "maximum", "minimum")


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
    spec = body.arrays[array]
    name = f"d_{array}" if adjoint else array
    array_text = name if spec.argument else f"{spec.dtype}_at({base})"
    text = f"{array_text}[{place}]"
    return f"({text} != 0)" if spec.dtype == "bool" else text


def outside(nodes: list[Node], outputs: list[str]) -> set[str]:
    """Return the names that are read outside of the assigning piece, or before the assignment."""
    names = set(outputs)

    def visit(nodes: list[Node]) -> None:
        assigned: set[str] = set()
        for node in nodes:
            if isinstance(node, Assign):
                names.update(set(node.args) - assigned)
                assigned.add(node.out)
                continue
            assigned = set()
            if isinstance(node, Branch):
                names.add(node.test)
                visit(node.body)
                visit(node.other)
            elif isinstance(node, ForRange):
                names.update((node.low, node.high))
                visit(node.body)
            elif isinstance(node, While):
                names.add(node.test)
                visit(node.head)
                visit(node.body)
            elif isinstance(node, Alloc):
                names.add(node.size)
            elif isinstance(node, Call):
                names.update(node.operands())

    visit(nodes)
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
        self.used, self._recompute = used, recompute
        self.definitions: dict[Version, tuple[int, Assign, list[Operand]]] = {}
        self.stored: dict[Version, None] = {}
        self.recomputed: list[Version] = []
        self._stored_for: dict[Version, set[Version]] = {}
        counts: dict[str, int] = {}

        def current_version(a: str) -> Operand:
            return a if is_constant(a) else (a, counts.get(a, 0))

        ssa: list[tuple[Assign, Version | None, list[Operand]]] = []
        # The names of an array's address and of its adjoints' address, by the id of a step.
        self._bases: dict[int, tuple[Version, Version]] = {}
        for k, step in enumerate(steps):
            args = [current_version(a) for a in step.args]
            if step.array:
                base, shadow_base = address(step.array), shadow(step.array)
                self._bases[id(step)] = (
                    (base, counts.get(base, 0)),
                    (shadow_base, counts.get(shadow_base, 0)),
                )
            out = None
            if step.out:
                counts[step.out] = counts.get(step.out, 0) + 1
                out = step.out, counts[step.out]
                self.definitions[out] = k, step, args
            ssa.append((step, out, args))
        active = activity.active
        self.lines: list[str] = []
        self.has_adjoint: set[Version] = set()
        self.without_adjoint: set[Version] = set()  # assigned here: versions 0 get new adjoints
        for name, count in counts.items():
            if name in active and name in read:
                self.lines.append(f"d_{name}__{count} = d_{name}")
                self.has_adjoint.add((name, count))
                self.without_adjoint.add((name, 0))
        for step, out, args in reversed(ssa):
            self._reverse_step(step, out, args)
        self.lines += [f"{self._adjoint(v)} = 0.0" for v in sorted(self.without_adjoint)]
        recomputations = [
            f"{self._name(v)} = {self._recompute_version(v)}  # again {self.definitions[v][1].line}"
            for v in self.recomputed
        ]
        self.piece = Piece(
            [self._describe_stored(v) for v in self.stored],
            recomputations + self.lines,
            [self._name(v) for v in self.stored],
        )

    def _describe_stored(self, v: Version) -> tuple[str, str, int]:
        """Return the name or text, dtype and defining step of a value to store."""
        k, step, _ = self.definitions.get(v, (-1, None, []))
        if step is None or step.out:
            return v[0], self.body.names[v[0]], k
        return step.text.format(*map(operand_text, step.args)), "bool", k

    def _extreme_rule(self, v: Version, rule: str) -> str:
        """Return a rule of a maximum or minimum that recomputes or stores its comparison."""
        comparison = re.search(r"x [<>]= y", rule)
        if not comparison:
            return rule
        k, step, args = self.definitions[v]
        test = f"_took_{v[0]}", v[1]
        text = f"{{0}}{comparison[0][1:-1]}{{1}}"
        self.definitions[test] = k - 1, Assign("", "compare", step.args, text, step.line), args
        return rule.replace(comparison[0], self._make_available(test))

    def _size(self, v: Version) -> int:
        return SIZES[self.body.names.get(v[0], "bool")]

    def _adjoint(self, v: Version) -> str:
        return f"d_{v[0]}" if v[1] == 0 else f"d_{v[0]}__{v[1]}"

    def _is_available(self, v: Version) -> bool:
        """Whether the reverse sweep has a value without storing or recomputing it."""
        return v[0] in self.known and (v[1] == 0 or v[0] in self.activity.fixed)

    def _name(self, v: Operand) -> str:
        if isinstance(v, str):
            return operand_text(v)
        return v[0] if self._is_available(v) else f"{v[0]}__{v[1]}"

    def _is_invariant(self, v: Operand) -> bool:
        """Whether a value is known to be the same in every iteration."""
        if isinstance(v, str):
            return True
        if v not in self.definitions:
            return v[0] not in self.varying
        _, step, args = self.definitions[v]
        return step.op != "load" and all(map(self._is_invariant, args))

    def _is_cheap(self, step: Assign) -> bool:
        return cheap(step, self.body, self.activity.written)

    def _count_roundings(self, v: Operand) -> int:
        """Count the roundings in recomputing a value. With at most one the bits are the same."""
        if isinstance(v, str) or self.body.names.get(v[0], "bool") in INTS:
            return 0
        if v not in self.definitions:
            return 0 if self._recompute.exact(v[0]) else 2
        _, step, args = self.definitions[v]
        return sum(map(self._count_roundings, args)) + (not moves(step))

    def _values_to_store(self, v: Operand, depth: int = 0) -> set[Version]:
        """Return the values to store for recomputing a value: at worst the value itself."""
        if isinstance(v, str) or v in self.stored or self._is_available(v):
            return set()
        if v not in self.definitions:
            return {v}
        versions = self._stored_for.get(v)
        if versions is not None:
            return versions
        _, step, args = self.definitions[v]
        base = self._base(step, address) if step.op == "load" else None
        if depth > MAX_DEPTH or (step.op == "load" and not self._is_cheap(step)):
            return {v}
        versions = set().union(
            *[self._values_to_store(a, depth + 1) for a in [*args, *([base] if base else [])]]
        )
        if not self._is_cheap(step) and (
            versions or not all(map(self._is_invariant, args)) or step.op not in FUNCTIONS
        ):
            versions = {v}
        if (
            len(versions) > 1
            or sum(map(self._size, versions)) > self._size(v)
            or (
                self.body.names.get(v[0]) in INTS
                and max(map(self._count_roundings, args), default=0) > 1
            )
        ):
            versions = {v}
        self._stored_for[v] = versions
        return versions

    def _base(self, step: Assign, address_or_shadow: object) -> Version | None:
        """Return the version of the name that holds a local array's address; None for arguments."""
        if self.body.arrays[step.array].argument:
            return None
        return self._bases[id(step)][0 if address_or_shadow is address else 1]

    def _make_available(self, v: Operand) -> str:
        """Make a value available in the reverse, and return its name there."""
        if isinstance(v, str):
            return operand_text(v)
        if self._is_available(v):
            self.used.add(v[0])
        elif v not in self.recomputed and v not in self.stored:
            if v in self._values_to_store(v):
                self.stored[v] = None
                self._stored_for.clear()
            else:
                _, step, args = self.definitions[v]
                for a in args:
                    self._make_available(a)
                base = self._base(step, address) if step.op == "load" else None
                if base:
                    self._make_available(base)
                if v not in self.recomputed:
                    self.recomputed.append(v)
        return self._name(v)

    def _recompute_version(self, v: Version) -> str:
        _, step, args = self.definitions[v]
        names = [self._name(a) for a in args]
        if step.op == "load":
            base = self._base(step, address)
            return element(self.body, step.array, names[0], self._name(base) if base else "")
        return step.text.format(*names)

    def _add_to_adjoint(self, v: Operand, text: str) -> None:
        """Add to the adjoint of an operand."""
        if isinstance(v, str) or v[0] not in self.activity.active:
            return
        name = self._adjoint(v)
        if v in self.without_adjoint:
            self.without_adjoint.discard(v)
            self.lines.append(f"{name} = {text}")
        elif v[1] == 0 or v in self.has_adjoint:
            self.lines.append(f"{name} += {text}")
        else:
            self.lines.append(f"{name} = {text}")
            self.has_adjoint.add(v)

    def _reverse_step(self, step: Assign, out: Version | None, args: list[Operand]) -> None:
        active = self.activity.active
        if step.op in ("load", *WRITES) and step.array in active:
            if step.op == "load" and out not in self.has_adjoint:
                return
            base = self._base(step, shadow)
            name = self._make_available(base) if base else ""
            element_adjoint = element(
                self.body, step.array, self._make_available(args[0]), name, True
            )
            if step.op == "load":
                assert out is not None
                self.lines.append(f"{element_adjoint} += {self._adjoint(out)}")
                return
            self._add_to_adjoint(
                args[1], f"-{element_adjoint}" if step.op == "sub" else element_adjoint
            )
            if step.op == "store" and not step.first:
                self.lines.append(f"{element_adjoint} = 0.0")
            return
        if out is None or out not in self.has_adjoint:
            return
        if step.op in ("copy", "cast", "weak"):
            self._add_to_adjoint(args[0], self._adjoint(out))
        elif step.op in FUNCTIONS and self.body.names[step.out] not in INTS:
            values = dict(zip(operands(step.op), args, strict=True)) | {"z": out}
            for a, rule in zip(args, derivative(step.op), strict=True):
                if rule and not isinstance(a, str) and a[0] in active:
                    # Format the rule first: `_add_to_adjoint` may overwrite the result's adjoint.
                    text = re.sub(
                        r"\b[cgxyz]\b",
                        lambda m: (
                            self._adjoint(out)
                            if m[0] == "g"
                            else self._make_available(values[m[0]])
                        ),
                        self._extreme_rule(out, rule) if step.op in EXTREMES else rule,
                    )
                    self._add_to_adjoint(a, text)
