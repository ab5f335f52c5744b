"""A writer of machine-code functions on words: addresses, and numbers of their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

WORD, HALF, SHORT, BYTE = (ir.IntType(bits) for bits in (64, 32, 16, 8))
DOUBLE, FLOAT = ir.DoubleType(), ir.FloatType()
ADDRESS = WORD.as_pointer()
COUNT = (1 << 63) - 1  # masks PY_VECTORCALL_ARGUMENTS_OFFSET in a number of arguments


class Writer:
    """Writes functions whose arguments and results are words.

    Args:
      module: The LLVM module.
      offsets: Byte offsets of fields in objects, by name.
      names: The names of addresses that `setup` stores in the module's table.
    """

    def __init__(self, module: ir.Module, offsets: dict[str, int], names: Sequence[str]) -> None:
        self.module, self.offsets = module, offsets
        self.asks_python = "thread.names" not in offsets  # for the thread's log
        self.places = {name: k for k, name in enumerate(names)}
        array_type = ir.ArrayType(WORD, len(names))
        self.table = ir.GlobalVariable(module, array_type, "known")
        self.table.linkage, self.table.initializer = "internal", ir.Constant(array_type, None)
        self.builder: Any = None

    def begin_function(self, name: str, count: int, internal: bool = False) -> Any:
        """Begin a function of ``count`` words that returns a word."""
        result = ir.Function(self.module, ir.FunctionType(WORD, [WORD] * count), name)
        if internal:
            result.linkage = "internal"
        self.builder = ir.IRBuilder(result.append_basic_block())
        return result

    def create_block(self) -> Any:
        """Create a block, to be written later."""
        return self.builder.append_basic_block()

    def pointer_to(
        self, address: ir.Value, offset: ir.Value | int = 0, pointer_type: ir.Type = ADDRESS
    ) -> Any:
        """Return a pointer to the byte at an offset from an address."""
        if isinstance(offset, int):
            offset = WORD(offset)
        return self.builder.inttoptr(self.builder.add(address, offset), pointer_type)

    def load(self, address: ir.Value, offset: ir.Value | int = 0) -> Any:
        """Load the word at an offset from an address."""
        return self.builder.load(self.pointer_to(address, offset))

    def field(self, owner: ir.Value, name: str) -> Any:
        """Load a field of an object."""
        return self.load(owner, self.offsets[name])

    def set_field(self, word: ir.Value, owner: ir.Value, name: str) -> None:
        """Store a word in a field of an object."""
        self.builder.store(word, self.pointer_to(owner, self.offsets[name]))

    def known_object(self, name: str) -> Any:
        """Load an address from the table."""
        index = [HALF(0), HALF(self.places[name])]
        return self.builder.load(self.builder.gep(self.table, index, inbounds=True))

    def call(self, name: str, *words: ir.Value) -> Any:
        """Call a function of Python's C API."""
        function_type = ir.FunctionType(WORD, [WORD] * len(words)).as_pointer()
        return self.builder.call(
            self.builder.inttoptr(self.known_object(name), function_type), words
        )

    def is_not(self, word: ir.Value, other: ir.Value) -> Any:
        """Return whether two words differ."""
        return self.builder.icmp_unsigned("!=", word, other)

    def branch_if(self, condition: ir.Value, target: ir.Block) -> None:
        """Branch to a block if the condition holds."""
        otherwise = self.create_block()
        self.builder.cbranch(condition, target, otherwise)
        self.builder.position_at_end(otherwise)

    def need(self, word: ir.Value, target: ir.Block) -> Any:
        """Return the word; branch to a block if it is 0."""
        self.branch_if(self.builder.icmp_unsigned("==", word, WORD(0)), target)
        return word

    def need_type(self, value: ir.Value, name: str, target: ir.Block) -> None:
        """Branch to a block if an object has another type."""
        self.branch_if(self.is_not(self.field(value, "type"), self.known_object(name)), target)

    def item(self, pair: ir.Value, k: int) -> Any:
        """Load an item of a tuple."""
        return self.load(pair, self.offsets["tuple.items"] + 8 * k)

    def to_int(self, value: ir.Value) -> Any:
        """Return the value of a Python int from 0 to 2**30 - 1, which has one digit."""
        digit = self.pointer_to(value, self.offsets["int.digit"], HALF.as_pointer())
        return self.builder.zext(self.builder.load(digit), WORD)

    def digit_count(self, value: ir.Value) -> Any:
        """Return the word that holds the number of digits of a Python int, without flags."""
        count = self.load(value, self.offsets["int.digits"])
        return self.builder.and_(count, self.known_object("digit count mask"))

    def to_small_int(self, value: ir.Value, target: ir.Block) -> Any:
        """Return the value of a Python int from 0 to 2**30 - 1; branch to a block for others."""
        b, digits = self.builder, self.digit_count(value)
        is_not_one, is_not_zero = (
            self.is_not(digits, self.known_object(name)) for name in ("one digit", "no digit")
        )
        self.branch_if(b.and_(is_not_one, is_not_zero), target)
        return self.to_int(value)

    def load_int(self, address: ir.Value, k: ir.Value, int_type: ir.IntType) -> Any:
        """Load an element of an array of unsigned integers."""
        pointer = self.pointer_to(
            address, self.builder.mul(k, WORD(int_type.width // 8)), int_type.as_pointer()
        )
        result = self.builder.load(pointer)
        return result if int_type is WORD else self.builder.zext(result, WORD)

    def write_column(self, log: ir.Value, column: str, n: ir.Value, number: ir.Value) -> None:
        """Store a number in a row's column."""
        data = self.field(self.field(log, column), "memoryview.buffer")
        pointer = self.pointer_to(data, self.builder.mul(n, WORD(4)), HALF.as_pointer())
        self.builder.store(self.builder.trunc(number, HALF), pointer)

    def reports_error(self, name: str, *words: ir.Value) -> Any:
        """Call a function of the C API. Return whether it reports an error (a negative status)."""
        status = self.builder.trunc(self.call(name, *words), HALF)
        return self.builder.icmp_signed("<", status, HALF(0))

    def phi(self, word_type: ir.Type, *incoming: tuple[Any, Any]) -> Any:
        """Return a phi node for pairs of a value and the block that it comes from."""
        result = self.builder.phi(word_type)
        for value, block in incoming:
            result.add_incoming(value, block)
        return result

    def fill_tuple(self, pair: ir.Value, *addresses: ir.Value) -> None:
        """Store objects in a new tuple, which takes over the references to them."""
        for k, address in enumerate(addresses):
            pointer = self.pointer_to(pair, self.offsets["tuple.items"] + 8 * k)
            self.builder.store(address, pointer)

    def add_reference(self, address: ir.Value) -> None:
        """Increment the reference count of an object of numtape, which is never immortal."""
        count = self.builder.add(self.field(address, "references"), WORD(1))
        self.set_field(count, address, "references")

    def drop_reference(self, address: ir.Value) -> None:
        """Decrement the reference count of an object of numtape."""
        b = self.builder
        free = self.create_block()
        decrement = self.create_block()
        done = self.create_block()
        count = self.field(address, "references")
        b.cbranch(b.icmp_unsigned(">", count, WORD(1)), decrement, free)
        b.position_at_end(decrement)
        self.set_field(b.sub(count, WORD(1)), address, "references")
        b.branch(done)
        b.position_at_end(free)
        self.call("Py_DecRef", address)
        b.branch(done)
        b.position_at_end(done)

    def return_row(self, word: ir.Value, row: ir.Value, row_address: ir.Value) -> None:
        """Return a word from the function, and store a row at an address."""
        self.builder.store(row, self.pointer_to(row_address))
        self.builder.ret(word)

    def look_up(self, table: ir.Value, *key: ir.Value) -> Any:
        """Look up a tuple of two or three objects in a dict; 0 if it is missing.

        The key is built in a tuple that is reserved for lookups. No other code can see it
        meanwhile, because comparing numbers and specs runs no Python code.
        """
        scratch = self.known_object({2: "pair", 3: "triple"}[len(key)])
        none = self.known_object("None")
        self.fill_tuple(scratch, *key)
        result = self.call("PyDict_GetItemWithError", table, scratch)
        self.fill_tuple(scratch, *[none] * len(key))
        return result

    def write_setup(self, count: int, name: str = "setup") -> None:
        """Write ``setup(words)``, which stores the addresses in the table.

        All functions that are loaded into the process need different names.
        """
        function = self.begin_function(name, 1)
        for k in range(count):
            pointer = self.builder.gep(self.table, [HALF(0), HALF(k)], inbounds=True)
            self.builder.store(self.load(function.args[0], 8 * k), pointer)
        self.builder.ret(WORD(0))
