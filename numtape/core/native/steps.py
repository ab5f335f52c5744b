"""The steps of recording, written for LLVM: one description for all recorders.

They are those of `core.log.record`, which says why each is there, for operands that are the usual
ones: tensors of the thread's own log, tensors and numbers that were entered in it, variables read
in it. What is not there yet, `entering` enters, and the steps begin again. Then everything they
need is there, so nothing is made but the row and its tensor; and the tensor is made first. From
there on Python carries out nothing in between: no collection, no finalizer, no handler of a signal,
no other thread. That makes it one stretch that nothing divides. Where something is not as usual,
nothing has been changed but by rows that Python would append as well, and Python's recorder is
called.

A function is called with the words that Python calls it with: itself, where its arguments are, how
many, and the names of those that have one. What it records it reads off its own closure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ..compile.cache import Built
from ..compile.llvm import compile_module
from .entering import NOTHING, RAISED, THERE, Entering
from .writer import COUNT, HALF, WORD

NO, NUMBER = 0, 1  # in the place of an operand's spec: none; that of a Python number


@dataclass(frozen=True)
class Entry:
    """A function of machine code that stands in a function of Python.

    Attributes:
      symbol: Its name.
      arity: How many operands there are.
      hops: How to come from the function to the recorder whose closure says what is recorded: the
        number of a cell in the closure, or -1 from a built-in method to its object.
      closure: Where in that closure there is what.
      swapped: Whether the second operand comes first.
      method: Whether it is called as a built-in method of the recorder.
      inexact: Whether it is for a first argument alone that is a tensor of floats or complex
        numbers.
    """

    symbol: str
    arity: int
    hops: tuple[int, ...]
    closure: tuple[tuple[str, int], ...]
    swapped: bool = False
    method: bool = False
    inexact: bool = False


def build(
    entries: Sequence[Entry],
    functions: Sequence[str],
    offsets: dict[str, int],
    names: Sequence[str],
) -> Built:
    """Object code with these functions, and `setup`, which takes the words of these names."""
    module = ir.Module("recorders")
    writer = _Writer(module, offsets, names)
    writer.setup(len(names))
    for name in functions:
        getattr(writer, name)()
    parts = ("operand", "number", "result", "take_unreferenced", "tensor", "enter_operand")
    shared = {name: getattr(writer, name)() for name in parts}
    for entry in entries:
        writer.recorder(entry, shared)
    return compile_module(module, ["setup", *functions, *(entry.symbol for entry in entries)])


class _Writer(Entering):
    """Writes the functions that record."""

    def operand(self) -> Any:
        """``operand(log, value, at)``: the spec; stores the row. `Log.enter`, if it is there."""
        function = self.function("operand", 3, internal=True)
        log, value, at = function.args
        b = self.builder
        tensor, other, variable, rest, number, no = (self.block() for _ in range(6))
        kind = self.field(value, "type")
        chosen = b.switch(b.sub(kind, self.known_object("Tensor")), rest)
        chosen.add_case(WORD(0), tensor)

        b.position_at_end(rest)
        self.leave(b.icmp_unsigned("==", kind, self.known_object("Variable")), variable)
        self.leave(b.icmp_unsigned("==", kind, self.known_object("float")), number)
        b.cbranch(b.icmp_unsigned("==", kind, self.known_object("int")), number, no)

        b.position_at_end(tensor)
        self.leave(self.is_not(self.field(value, "tensor._home"), log), other)
        row = self.to_int(self.field(value, "tensor._row"))
        self.gives(self.field(value, "tensor._spec"), row, at)

        b.position_at_end(other)
        key = self.need(self.call("PyLong_FromSsize_t", value), no)  # what `id` gives
        table = self.field(log, "log._leaf_rows")
        entered = self.call("PyDict_GetItemWithError", table, key)
        self.call("Py_DecRef", key)
        row = self.to_int(self.item(self.need(entered, no), 0))
        self.gives(self.field(value, "tensor._spec"), row, at)

        b.position_at_end(variable)
        read = self.need(self.field(value, "variable._read"), no)
        self.need_type(read, "tuple", no)
        self.leave(self.is_not(self.item(read, 0), log), no)
        row = self.to_int(self.item(read, 1))
        self.gives(self.field(value, "variable._spec"), row, at)

        b.position_at_end(number)
        b.ret(WORD(NUMBER))
        b.position_at_end(no)
        b.ret(WORD(NO))
        return function

    def number(self) -> Any:
        """``number(log, value, spec, like, at)``: the spec of a number, if it was entered.

        Of what is not a number it is the one that is given.
        """
        function = self.function("number", 5, internal=True)
        log, value, own, like, at = function.args
        b, no, same = self.builder, self.block(), self.block()
        self.leave(self.is_not(own, WORD(NUMBER)), same)
        self.leave(b.icmp_unsigned("==", like, WORD(NUMBER)), no)
        spec = self.scalar(like, value, no)
        table, zero = self.field(log, "log._const_rows"), self.block()
        self.leave(self.is_zero(value), zero)
        found = self.need(self.under(table, value, spec), no)
        self.gives(spec, self.to_int(found), at)
        b.position_at_end(zero)
        found = self.need(self.under(table, *self.of_zero(value, spec)), no)
        self.gives(spec, self.to_int(found), at)
        b.position_at_end(same)
        b.ret(own)
        b.position_at_end(no)
        b.ret(WORD(NO))
        return function

    def result(self) -> Any:
        """``result(same, results, first, second)``: the result's spec; 0 if it is new."""
        function = self.function("result", 4, internal=True)
        same, results, *specs = function.args
        b, equal = self.builder, self.block()
        self.leave(b.icmp_unsigned("==", *specs), equal)
        b.ret(self.under(results, *specs))
        b.position_at_end(equal)
        b.ret(self.call("PyDict_GetItemWithError", same, specs[0]))
        return function

    def recorder(self, entry: Entry, shared: dict[str, Any]) -> None:
        """A function that records, and the way on to Python's if it cannot."""
        symbol = entry.symbol + "_" * entry.method
        function = self.function(symbol, 4, internal=entry.method)
        called, arguments, count, names = function.args
        b = self.builder
        rows = [b.ptrtoint(b.alloca(WORD), WORD) for _ in range(entry.arity)]
        declined, missed = self.block(), self.block()
        self.leave(self.is_not(names, WORD(0)), declined)
        count = b.and_(count, WORD(COUNT))
        self.leave(self.is_not(count, WORD(entry.arity)), declined)
        values = [self.load(arguments, 8 * k) for k in range(entry.arity)]
        if entry.inexact:
            self.need_type(values[0], "Tensor", declined)
            spec = self.need(self.field(values[0], "tensor._spec"), declined)
            self.leave(
                self.is_not(self.field(spec, "spec.inexact"), self.known_object("True")), declined
            )
        if entry.swapped:
            values.reverse()
        closure = self._closure(called, entry, declined)
        lone = entry.arity % 2  # whether the first operand is alike to no other

        entered, fresh = b.alloca(WORD), b.alloca(WORD)
        b.store(WORD(0), entered)
        again, begun, found, made, ready = (self.block() for _ in range(5))
        full, failed, interrupted = (self.block() for _ in range(3))
        b.branch(again)
        b.position_at_end(again)
        b.store(WORD(0), fresh)
        b.branch(begun)
        b.position_at_end(begun)
        log = self.log(missed, interrupted)
        before, missed = missed, self.block()  # from here on the log is to be given back
        kept, new = self.field(log, "log.tensors"), b.load(fresh)
        self.need_type(kept, "list", missed)
        b.cbranch(self.is_not(new, WORD(0)), ready, found)
        first = b.block
        b.position_at_end(found)
        unheld = b.call(shared["take_unreferenced"], (log,))
        b.cbranch(self.is_not(unheld, WORD(0)), ready, made)
        b.position_at_end(made)
        # Before anything is read: up to Python 3.11 this may run a collection.
        if self.asks:
            self.call("Py_DecRef", log)
        b.store(self.need(b.call(shared["tensor"], ()), full), fresh)
        b.branch(begun)
        b.position_at_end(ready)
        tensor = self.either(WORD, (new, first), (unheld, found))
        specs = [
            self.need(b.call(shared["operand"], (log, value, row)), missed)
            for value, row in zip(values, rows, strict=True)
        ]
        results = self._cell(closure, entry, "results")
        if lone:
            self.leave(b.icmp_unsigned("==", specs[0], WORD(NUMBER)), missed)
        pair = specs[lone:]
        turned = zip(values[lone:], pair, reversed(pair), rows[lone:], strict=True)
        specs[lone:] = [self.need(b.call(shared["number"], (log, *x)), missed) for x in turned]
        if entry.arity == 1:
            spec = self.call("PyDict_GetItemWithError", results, specs[0])
        elif entry.arity == 2:
            same = self._cell(closure, entry, "same_spec_results")
            spec = b.call(shared["result"], (same, results, *specs))
        else:
            spec = self.under(results, *specs)
        self.need(spec, missed)
        old, n = self._row(log, spec, rows, self._cell(closure, entry, "code"), missed)
        new, again_new = self.block(), self.block()
        b.cbranch(self.is_not(b.load(fresh), WORD(0)), new, again_new)
        b.position_at_end(new)
        self._end(log, kept, tensor, spec, old, n, missed)
        b.position_at_end(again_new)
        self._end_again(log, tensor, spec, old, n, missed)

        b.position_at_end(interrupted)
        self.call("Py_DecRef", b.load(fresh))
        b.branch(failed)
        b.position_at_end(failed)  # who was interrupted
        b.ret(WORD(0))
        b.position_at_end(full)  # the memory: Python's recorder says so
        self.call("PyErr_Clear")
        b.branch(declined)
        b.position_at_end(missed)
        if self.asks:
            self.call("Py_DecRef", log)
        b.branch(before)
        b.position_at_end(before)
        self.call("PyErr_Clear")
        self.call("Py_DecRef", b.load(fresh))
        # Once, what is not in the log yet is entered there, in the order of the operands.
        self.leave(self.is_not(b.load(entered), WORD(0)), declined)
        b.store(WORD(1), entered)
        found = WORD(0)
        others = [*values[:lone], *reversed(values[lone:])]
        for value, other in zip(values, others, strict=True):
            status = b.call(shared["enter_operand"], (value, other))
            self.leave(b.icmp_unsigned("==", status, WORD(RAISED)), failed)
            self.leave(b.icmp_unsigned("==", status, WORD(NOTHING)), declined)
            found = b.or_(found, status)
        b.cbranch(b.icmp_unsigned("==", found, WORD(THERE)), declined, again)
        b.position_at_end(declined)
        b.ret(self.call("carry out", *function.args))
        if entry.method:
            method = self.function(entry.symbol, 3)
            self.builder.ret(self.builder.call(function, [*method.args, WORD(0)]))

    def _closure(self, called: Any, entry: Entry, declined: Any) -> Any:
        """The closure of the recorder that a function leads to."""
        for hop in entry.hops:
            if hop < 0:
                self.need_type(called, "builtin", declined)
                called = self.field(called, "builtin.self")
            else:
                cell = self.item(self.field(called, "function.closure"), hop)
                called = self.field(cell, "cell")
        return self.field(called, "function.closure")

    def _cell(self, closure: Any, entry: Entry, name: str) -> Any:
        """What a cell of a closure has."""
        return self.field(self.item(closure, dict(entry.closure)[name]), "cell")

    def _row(self, log: Any, spec: Any, rows: list[Any], code: Any, missed: Any) -> tuple[Any, Any]:
        """Write the row. How long the log is without it: the object, and the number."""
        b = self.builder
        old = self.field(log, "log.n")
        n, most = self.to_int(old), self.field(log, "log.limit")
        limit = self.to_int(most)
        digits = self.load(most, self.offsets["int.digits"])
        self.leave(
            self.is_not(digits, self.known_object("one digit")), missed
        )  # as all rows then have
        self.leave(b.icmp_signed(">=", n, limit), missed)
        self.write(log, "log.code", n, self.to_int(code))
        for column, row in zip(("log.a", "log.b", "log.c"), rows, strict=False):
            self.write(log, column, n, self.load(row))
        self.write(log, "log.spec", n, self.to_int(self.field(spec, "spec.id")))
        return old, n

    def _end(
        self, log: Any, kept: Any, tensor: Any, spec: Any, old: Any, n: Any, missed: Any
    ) -> None:
        """Make the log one longer, and return the row's tensor, which is a new one."""
        b = self.builder
        new = self.need(self.call("PyLong_FromSsize_t", b.add(n, WORD(1))), missed)
        gone, there = self.block(), self.block()
        b.cbranch(self.failed("PyList_Append", kept, tensor), gone, there)
        b.position_at_end(gone)
        self.call("Py_DecRef", new)
        b.branch(missed)
        b.position_at_end(there)
        for thing in (spec,) if self.asks else (log, spec):
            self.hold(thing)
        self.put(log, tensor, "tensor._home")
        self.put(old, tensor, "tensor._row")  # it was the log's
        self.put(spec, tensor, "tensor._spec")
        self.put(new, log, "log.n")
        b.ret(tensor)

    def _end_again(self, log: Any, tensor: Any, spec: Any, old: Any, n: Any, missed: Any) -> None:
        """The same with a tensor that only the log's list has, and stays in its place there."""
        b = self.builder
        row, before = (self.field(tensor, f"tensor.{name}") for name in ("_row", "_spec"))
        more = b.add(n, WORD(1))
        # An int that nobody else has becomes another number: how long the log is now.
        own, other, there = self.block(), self.block(), self.block()
        self.leave(self.is_not(self.field(row, "references"), WORD(1)), other)
        b.cbranch(self.is_not(self.field(row, "type"), self.known_object("int")), other, own)
        b.position_at_end(own)
        place = self.at(row, self.offsets["int.digit"], HALF.as_pointer())
        b.store(b.trunc(more, HALF), place)
        b.branch(there)
        b.position_at_end(other)
        made, last = self.need(self.call("PyLong_FromSsize_t", more), missed), b.block
        b.branch(there)
        b.position_at_end(there)
        new = self.either(WORD, (row, own), (made, last))
        gone = self.either(WORD, (WORD(0), own), (row, last))
        self.hold(tensor)
        self.put(old, tensor, "tensor._row")  # it was the log's
        self.put(new, log, "log.n")
        self.call("Py_DecRef", gone)
        if self.asks:
            self.call("Py_DecRef", log)
        same, changed = self.block(), self.block()
        b.cbranch(b.icmp_unsigned("==", before, spec), same, changed)
        b.position_at_end(changed)
        self.hold(spec)
        self.put(spec, tensor, "tensor._spec")
        self.drop(before)  # last: who knows what goes with it
        b.branch(same)
        b.position_at_end(same)
        b.ret(tensor)
