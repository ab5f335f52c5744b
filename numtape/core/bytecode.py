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
    root: Any
    attributes: tuple[str | Item, ...]

    def then(self, attribute: str | Item) -> Chain:
        """The chain with one more attribute."""
        return self._replace(attributes=(*self.attributes, attribute))


class Chains(NamedTuple):
    """The names of a function.

    Attributes:
      constant: Those that mean the same from its beginning on, unless it changes them.
      changing: Attributes of local names that it reads or changes, by the instructions' offsets.
      stores: Offsets of instructions that change names from outside, or attributes.
      globals: Global names that it changes.
      attributes: Whether it changes attributes.
    """

    constant: list[Chain]
    changing: dict[int, list[Chain]]
    stores: set[int]
    globals: list[str]
    attributes: bool


Slot = list[Chain]  # what a place on the stack may be; empty if that is not known

_RESULT: Slot = [Chain(RESULT, "()", ())]
_NOTHING = ("CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "RESUME", "MAKE_CELL", "NOP", "PRECALL",
            "KW_NAMES", "NOT_TAKEN")  # fmt: skip
_ENDS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_VALUE",
         "RETURN_CONST", "RAISE_VARARGS", "RERAISE")  # fmt: skip


class _Reader:
    """Follows the stack through the instructions, once, in their order."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.instructions = list(dis.get_instructions(code))
        self.stack: list[Slot] = []
        self.brought: dict[int, list[Slot]] = {}  # by jumps, to their targets
        self.rebound: set[str] = set()  # names from outside that do not always mean the same
        for step in self.instructions:
            if step.opname in ("STORE_DEREF", "DELETE_DEREF"):
                self.rebound.add(step.argval)
        self.constant: dict[Chain, None] = {}
        self.changing: dict[int, list[Chain]] = {}
        self.stores: set[int] = set()
        self.globals: list[str] = []
        self.attributes = False

    def read(self) -> Chains:
        for step in self.instructions:
            if step.is_jump_target:
                self.stack = _either(self.stack, self.brought.pop(step.offset, []))
            if step.opname not in _NOTHING:
                self._step(step)
        return Chains(
            list(self.constant), self.changing, self.stores, self.globals, self.attributes
        )

    def _step(self, step: Any) -> None:
        op, names = step.opname, _names(step.argval)
        if op.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
            for name in names:
                self._load(step, FREE if name in self.code.co_freevars else LOCAL, name)
        elif op in ("LOAD_GLOBAL", "LOAD_NAME"):
            self._load(step, GLOBAL, step.argval)
            if op == "LOAD_GLOBAL" and step.arg & 1:
                self.stack.append([])
        elif op == "LOAD_CONST":
            self.stack.append([Chain(CONSTANT, step.argval, ())])
        elif op in ("LOAD_ATTR", "LOAD_METHOD"):
            found = [c.then(step.argval) for c in self._pop() if c.kind != CONSTANT]
            self._note(step, found)
            # A property is a function: what it returned may be what was loaded.
            self.stack.append(found + _RESULT if found else [])
            if op == "LOAD_METHOD" or (step.opcode and "NULL|self" in step.argrepr):
                self.stack.append([])
        elif op == "BINARY_SUBSCR" or (op == "BINARY_OP" and step.argrepr == "[]"):
            keys, found = self._pop(), self._pop()
            items = [Item(c.root, c.kind == LOCAL) for c in keys if not c.attributes
                     and c.kind in (LOCAL, CONSTANT)]  # fmt: skip
            self.stack.append([c.then(item) for c in found for item in items])
        elif op == "IMPORT_NAME":
            _, level = self._pop(), self._pop()
            dots = "." * int(level[0].root) if level else ""
            self.stack.append([Chain(IMPORT, dots + step.argval, ())])
        elif op == "IMPORT_FROM":
            found = [c.then(step.argval) for c in self._top() if c.kind == IMPORT]
            self._note(step, found)
            self.stack.append(found)
        elif op in ("CALL", "CALL_KW"):
            self._call(step.arg, op == "CALL_KW")
        elif op == "COPY":
            self.stack.append(self.stack[-step.arg] if len(self.stack) >= step.arg else [])
        elif op == "SWAP":
            self._pad(step.arg)
            stack, k = self.stack, -step.arg
            stack[-1], stack[k] = stack[k], stack[-1]
        elif op.startswith("STORE_FAST"):
            self._stored_locals(op, names)
        elif op.startswith(("STORE_", "DELETE_")) and op.endswith(("ATTR", "GLOBAL", "DEREF")):
            self._stored(step)
        else:
            self._other(step)

    def _load(self, step: Any, kind: int, name: str) -> None:
        self.stack.append([Chain(kind, name, ())])
        self._note(step, self.stack[-1])

    def _note(self, step: Any, chains: Slot) -> None:
        """Something is read, or about to be changed."""
        for chain in chains:
            if chain.kind == GLOBAL or (chain.kind == FREE and chain.root not in self.rebound):
                self.constant[chain] = None
                continue
            if chain.kind == FREE:
                self.constant[chain._replace(attributes=())] = None
            if chain.attributes:
                self.changing.setdefault(step.offset, []).append(chain)

    def _call(self, count: int, names: bool) -> None:
        """A call: below the arguments are the function, and what it is a method of or nothing."""
        if names:
            self._pop()
        args = [self._pop() for _ in range(count)]
        functions = self._pop() + self._pop()
        if count == 1 and any(c == Chain(GLOBAL, "type", ()) for c in functions):
            self.stack.append([c.then("__class__") for c in args[0] if c.kind != CONSTANT])
        else:
            self.stack.append(_RESULT)

    def _stored_locals(self, op: str, names: tuple[str, ...]) -> None:
        self._pop()
        if op == "STORE_FAST_STORE_FAST":
            self._pop()
        elif op == "STORE_FAST_LOAD_FAST":
            self.stack.append([Chain(LOCAL, names[1], ())])

    def _stored(self, step: Any) -> None:
        """A name from outside, or an attribute, is changed: what it was before counts as read."""
        op, name = step.opname, step.argval
        self.stores.add(step.offset)
        if op.endswith("ATTR"):
            self.attributes = True
            self._note(step, [c.then(name) for c in self._pop() if c.kind != CONSTANT])
        elif op.endswith("GLOBAL"):
            self.globals.append(name)
            self._note(step, [Chain(GLOBAL, name, ())])
        elif name in self.code.co_freevars:
            self._note(step, [Chain(FREE, name, ())])
        if op.startswith("STORE"):
            self._pop()

    def _other(self, step: Any) -> None:
        """What only moves the stack. What it pushes is not known."""
        if "JUMP" in step.opname or step.opname in ("FOR_ITER", "SEND"):
            target = [*self.stack]
            _move(target, dis.stack_effect(step.opcode, step.arg, jump=True))
            known = self.brought.get(step.argval)
            self.brought[step.argval] = target if known is None else _either(known, target)
        if step.opname in _ENDS:
            self.stack = []
            return
        jumps = "JUMP" in step.opname
        effect = dis.stack_effect(step.opcode, step.arg, jump=False)
        _move(self.stack, effect)
        if self.stack and effect <= 0 and not jumps and step.opname != "POP_TOP":
            self.stack[-1] = []

    def _top(self) -> Slot:
        return self.stack[-1] if self.stack else []

    def _pop(self) -> Slot:
        return self.stack.pop() if self.stack else []

    def _pad(self, count: int) -> None:
        """Behind a handler's beginning the stack is deeper than is known."""
        missing = count - len(self.stack)
        if missing > 0:
            self.stack[:0] = [[] for _ in range(missing)]


def _move(stack: list[Slot], effect: int) -> None:
    for _ in range(effect):
        stack.append([])
    for _ in range(-effect):
        if stack:
            stack.pop()


def _either(one: list[Slot], other: list[Slot]) -> list[Slot]:
    """The stack where two ways meet; both end at its top."""
    if len(one) < len(other):
        one, other = other, one
    rest = len(one) - len(other)
    return one[:rest] + [
        x + [c for c in y if c not in x] for x, y in zip(one[rest:], other, strict=True)
    ]


def _names(argument: Any) -> tuple[str, ...]:
    return argument if isinstance(argument, tuple) else (argument,)


def chains_of(code: types.CodeType) -> Chains:
    """The names that a function reads and changes, from its bytecode."""
    return _Reader(code).read()
