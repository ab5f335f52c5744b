"""A writer of machine-code functions on words: addresses, and numbers of their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

WORD, HALF, SHORT, BYTE = (ir.IntType(bits) for bits in (64, 32, 16, 8))
DOUBLE, FLOAT = ir.DoubleType(), ir.FloatType()
ADDRESS = WORD.as_pointer()
COUNT = (1 << 63) - 1  # without the bit that says that the place before the arguments is free


class Writer:
    """Writes functions on words."""

    def __init__(self, module: ir.Module, offsets: dict[str, int], names: Sequence[str]) -> None:
        self.module, self.offsets = module, offsets
        self.asks = "thread.names" not in offsets  # Python for the thread's log
        self.places = {name: k for k, name in enumerate(names)}
        kind = ir.ArrayType(WORD, len(names))
        self.table = ir.GlobalVariable(module, kind, "known")
        self.table.linkage, self.table.initializer = "internal", ir.Constant(kind, None)
        self.builder: Any = None

    def function(self, name: str, count: int, internal: bool = False) -> Any:
        """A new function of so many words that gives one; its first block is written next."""
        result = ir.Function(self.module, ir.FunctionType(WORD, [WORD] * count), name)
        if internal:
            result.linkage = "internal"
        self.builder = ir.IRBuilder(result.append_basic_block())
        return result

    def block(self) -> Any:
        """A block to write later."""
        return self.builder.append_basic_block()

    def at(self, address: ir.Value, offset: ir.Value | int = 0, kind: ir.Type = ADDRESS) -> Any:
        """The place so many bytes behind an address."""
        if isinstance(offset, int):
            offset = WORD(offset)
        return self.builder.inttoptr(self.builder.add(address, offset), kind)

    def load(self, address: ir.Value, offset: ir.Value | int = 0) -> Any:
        """The word there."""
        return self.builder.load(self.at(address, offset))

    def field(self, holder: ir.Value, name: str) -> Any:
        """The word in an object's field."""
        return self.load(holder, self.offsets[name])

    def put(self, word: ir.Value, holder: ir.Value, name: str) -> None:
        """Store a word in an object's field."""
        self.builder.store(word, self.at(holder, self.offsets[name]))

    def known_object(self, name: str) -> Any:
        """An address of the process."""
        place = [HALF(0), HALF(self.places[name])]
        return self.builder.load(self.builder.gep(self.table, place, inbounds=True))

    def call(self, name: str, *words: ir.Value) -> Any:
        """Call a function of Python's."""
        kind = ir.FunctionType(WORD, [WORD] * len(words)).as_pointer()
        return self.builder.call(self.builder.inttoptr(self.known_object(name), kind), words)

    def is_not(self, word: ir.Value, other: ir.Value) -> Any:
        """Whether two words differ."""
        return self.builder.icmp_unsigned("!=", word, other)

    def leave(self, condition: ir.Value, to: ir.Block) -> None:
        """Go elsewhere if the condition holds."""
        following = self.block()
        self.builder.cbranch(condition, to, following)
        self.builder.position_at_end(following)

    def need(self, word: ir.Value, to: ir.Block) -> Any:
        """The word; go elsewhere if it is 0."""
        self.leave(self.builder.icmp_unsigned("==", word, WORD(0)), to)
        return word

    def need_type(self, value: ir.Value, name: str, to: ir.Block) -> None:
        """Go elsewhere if an object is of another type."""
        self.leave(self.is_not(self.field(value, "type"), self.known_object(name)), to)

    def item(self, pair: ir.Value, k: int) -> Any:
        """A tuple's item."""
        return self.load(pair, self.offsets["tuple.items"] + 8 * k)

    def to_int(self, value: ir.Value) -> Any:
        """A Python int from 0 to 2**30 - 1: its only digit."""
        place = self.at(value, self.offsets["int.digit"], HALF.as_pointer())
        return self.builder.zext(self.builder.load(place), WORD)

    def small(self, value: ir.Value, to: ir.Block) -> Any:
        """A Python int from 0 to 2**30 - 1; go elsewhere if it is another one."""
        b, digits = self.builder, self.load(value, self.offsets["int.digits"])
        one, none = (
            self.is_not(digits, self.known_object(name)) for name in ("one digit", "no digit")
        )
        self.leave(b.and_(one, none), to)
        return self.to_int(value)

    def load_int(self, address: ir.Value, k: ir.Value, kind: ir.IntType) -> Any:
        """An element of an array of integers without a sign."""
        place = self.at(address, self.builder.mul(k, WORD(kind.width // 8)), kind.as_pointer())
        result = self.builder.load(place)
        return result if kind is WORD else self.builder.zext(result, WORD)

    def write(self, log: ir.Value, column: str, n: ir.Value, number: ir.Value) -> None:
        """Store a number in a row's column."""
        start = self.field(self.field(log, column), "memoryview.buffer")
        place = self.at(start, self.builder.mul(n, WORD(4)), HALF.as_pointer())
        self.builder.store(self.builder.trunc(number, HALF), place)

    def failed(self, name: str, *words: ir.Value) -> Any:
        """Whether a function of Python's says that it failed."""
        status = self.builder.trunc(self.call(name, *words), HALF)
        return self.builder.icmp_signed("<", status, HALF(0))

    def either(self, kind: ir.Type, *ways: tuple[Any, Any]) -> Any:
        """A phi node of pairs: a value, and the block that it comes from."""
        result = self.builder.phi(kind)
        for value, block in ways:
            result.add_incoming(value, block)
        return result

    def fill(self, pair: ir.Value, *things: ir.Value) -> None:
        """Put objects in a tuple, to which references to them go over."""
        for k, thing in enumerate(things):
            place = self.at(pair, self.offsets["tuple.items"] + 8 * k)
            self.builder.store(thing, place)

    def hold(self, thing: ir.Value) -> None:
        """One reference more to an object of ours. None of ours is immortal."""
        count = self.builder.add(self.field(thing, "references"), WORD(1))
        self.put(count, thing, "references")

    def drop(self, thing: ir.Value) -> None:
        """One reference less to an object of ours."""
        b, last, more, done = self.builder, self.block(), self.block(), self.block()
        count = self.field(thing, "references")
        b.cbranch(b.icmp_unsigned(">", count, WORD(1)), more, last)
        b.position_at_end(more)
        self.put(b.sub(count, WORD(1)), thing, "references")
        b.branch(done)
        b.position_at_end(last)
        self.call("Py_DecRef", thing)
        b.branch(done)
        b.position_at_end(done)

    def gives(self, word: ir.Value, row: ir.Value, at: ir.Value) -> None:
        """Return a word, and a row in its place."""
        self.builder.store(row, self.at(at))
        self.builder.ret(word)

    def under(self, table: ir.Value, *key: ir.Value) -> Any:
        """Look up a tuple of two or three objects in a dict; 0 if it is missing.

        They are put in one tuple that is reserved for this. No other code can see it meanwhile,
        because comparing numbers and specs runs no Python code.
        """
        scratch, none = (
            self.known_object({2: "pair", 3: "triple"}[len(key)]),
            self.known_object("None"),
        )
        self.fill(scratch, *key)
        result = self.call("PyDict_GetItemWithError", table, scratch)
        self.fill(scratch, *[none] * len(key))
        return result

    def setup(self, count: int, name: str = "setup") -> None:
        """``setup(words)`` takes the addresses. Functions of all units have different names."""
        function = self.function(name, 1)
        for k in range(count):
            place = self.builder.gep(self.table, [HALF(0), HALF(k)], inbounds=True)
            self.builder.store(self.load(function.args[0], 8 * k), place)
        self.builder.ret(WORD(0))
