"""Which names a Python function reads and changes: what its bytecode says."""

from __future__ import annotations

import dis
import types
from typing import Any, NamedTuple

# Where a chain of names starts.
GLOBAL, FREE, LOCAL, RESULT, IMPORT, CONSTANT = range(6)


class Item(NamedTuple):
    """An item of a list, tuple or dictionary: its key, or the local name of that."""

    key: Any
    local: bool


class Chain(NamedTuple):
    """Where a name starts, and the attributes that follow: ``self.model.rate``.

    It may be the result of a function instead: ``chosen().rate``; and there may be items of
    containers on the way: ``self.layers[0].rate``.
    """

    kind: int
    root: str
    attributes: tuple[str | Item, ...]

    def item(self, chains: list[Chain]) -> list[Chain]:
        """The chains of items that this one is the key of."""
        key = Item(self.root, self.kind == LOCAL)
        return [c._replace(attributes=(*c.attributes, key)) for c in chains if not self.attributes]


class Chains(NamedTuple):
    """The names of a function.

    Attributes:
      constant: Those that mean the same from its beginning on.
      changing: Reads of attributes of local names, by the offsets of the instructions.
      globals: Global names that it changes.
      attributes: Whether it changes attributes.
    """

    constant: list[Chain]
    changing: dict[int, list[Chain]]
    globals: list[str]
    attributes: bool


def chains_of(code: types.CodeType) -> Chains:
    """The names that a function reads and changes, from its bytecode."""
    instructions = list(dis.get_instructions(code))
    stored: set[str] = set()
    changed = [s.argval for s in instructions if s.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")]
    attributes = any(s.opname in ("STORE_ATTR", "DELETE_ATTR") for s in instructions)
    for step in instructions:
        if step.opname.startswith(("STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF")):
            stored.update(step.argval if isinstance(step.argval, tuple) else (step.argval,))
    constant: dict[Chain, None] = {}
    changing: dict[int, list[Chain]] = {}
    chains: list[Chain] = []  # what the top of the stack may be
    below: list[Chain] = []  # and what is under it
    brought: dict[int, list[Chain]] = {}  # by jumps, to their targets
    for step in instructions:
        op, name = step.opname, step.argval
        if step.is_jump_target:
            chains = chains + brought.pop(step.offset, [])
        if op in ("CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "RESUME"):
            continue
        if op in ("LOAD_GLOBAL", "LOAD_NAME"):
            below, chains = chains, [Chain(GLOBAL, name, ())]
        elif op.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
            names = name if isinstance(name, tuple) else (name,)
            for name in names:
                kind = FREE if name in code.co_freevars else LOCAL
                below, chains = chains, [Chain(kind, name, ())]
        elif op == "LOAD_CONST":
            below, chains = chains, [Chain(CONSTANT, name, ())]
            continue
        elif op == "BINARY_SUBSCR" or (op == "BINARY_OP" and step.argrepr == "[]"):
            chains = [found for key in chains for found in key.item(below)]
            below = []
            continue
        elif op in ("LOAD_ATTR", "LOAD_METHOD") and chains:
            # A property is a function: what it returned may be what was loaded.
            chains = [
                c._replace(attributes=(*c.attributes, name)) for c in chains if c.kind != CONSTANT
            ]
            chains.append(Chain(RESULT, "()", ()))
        elif op == "IMPORT_NAME":
            chains = [Chain(IMPORT, name, ())]
            continue
        elif op == "IMPORT_FROM" and chains:
            chains = [c._replace(attributes=(name,)) for c in chains if c.kind == IMPORT]
        elif op == "STORE_ATTR" and chains:
            changing.setdefault(step.offset, []).extend(chains)  # what it was before
            chains = []
            continue
        elif op in ("STORE_FAST", "STORE_DEREF", "COPY", "DUP_TOP") and chains:
            continue  # what was read is read again: `(m := self.model).rate`
        elif op.startswith("CALL"):
            chains = [Chain(RESULT, "()", ())]
        else:
            if "JUMP" in op and chains and isinstance(name, int):
                brought.setdefault(name, []).extend(chains)
            chains = []
            continue
        for chain in chains:
            if chain.kind == GLOBAL or (chain.kind == FREE and chain.root not in stored):
                constant[chain] = None
                continue
            if chain.kind == FREE:
                constant[chain._replace(attributes=())] = None
            if chain.attributes:
                changing.setdefault(step.offset, []).append(chain)
    return Chains(list(constant), changing, changed, attributes)
