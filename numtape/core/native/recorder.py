"""The recorders in machine code, written for LLVM: one description of recording for all ops.

A recorder does what `core.log.record` does, which explains each step, for the usual operands:
tensors of the thread's own log, variables that were read in it, and values that become leaves. It
enters operands that have no row yet, allocates the tensor, then writes and publishes the row. The
last part is atomic: Python runs nothing in between, that is no collection, finalizer, signal
handler or other thread. In an unusual case the recorder changes nothing, except rows that Python
would append as well, and calls Python's recorder.

A recorder is called with Python's own arguments: itself, the address of the arguments, their number
and the names of keywords. It reads the op from its closure.

Liveness: each row of a log has a tensor, and most tensors are referenced only by the log when
values are computed. `live_tensors` counts references in one step, as `core.log.liveness` defines
it. When the log is reset, `release` empties its list of tensors; tensors without other references
drop their fields and wait in a list of spare tensors. Most tensors are reused earlier: a recorder
takes an unreferenced tensor out of the log's list and gives it another row in the same place. So a
program that drops its results has few tensors, however many rows it records, and the garbage
collector, which counts allocated objects and visits existing ones, has nothing to do. Tensors that
an evaluation has considered keep their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ..compile.cache import Built
from ..compile.llvm import compile_module
from ..log.log import VALUE
from ..values.dtypes import float32, float64, int32, int64
from .writer import BYTE, COUNT, DOUBLE, FLOAT, HALF, SHORT, WORD, Writer

MAX_SPARE = 1024  # spare tensors, of some hundred bytes each
TRIES = 2  # tensors of the list that are checked before a new one is allocated
SLOTS = "_home", "_row", "_spec"
OPTIONAL_SLOTS = "_cell", "_device_copy", "_keras_logits", "_keras_mask", "_sliced"


NOTHING, ENTERED, RAISED, THERE = 0, 1, 2, 4


NO, NUMBER = 0, 1  # in the place of an operand's spec: none; that of a Python number


@dataclass(frozen=True)
class RecorderEntry:
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
    entries: Sequence[RecorderEntry],
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


class _Writer(Writer):
    """Writes the functions that record."""

    # Liveness.

    @contextmanager
    def each(self, things: ir.Value) -> Iterator[tuple[Any, Any]]:
        """Loop over a list. Yield the element, and the block that begins the next iteration."""
        b = self.builder
        place = b.alloca(WORD)
        b.store(WORD(0), place)
        following, inside, done = self.block(), self.block(), self.block()
        b.branch(following)
        b.position_at_end(following)
        k = b.load(place)
        b.cbranch(b.icmp_unsigned("<", k, self.field(things, "list.size")), inside, done)
        b.position_at_end(inside)
        b.store(b.add(k, WORD(1)), place)
        yield self.element(things, k), following
        b.branch(following)
        b.position_at_end(done)

    def live_tensors(self) -> None:
        """``live_tensors(tensors, extra)``: tensors with more references than list and extras."""
        function = self.function("live_tensors", 3)
        b, failed, lost = self.builder, self.block(), self.block()
        tensors, extra = (self.load(function.args[1], 8 * k) for k in range(2))
        most = b.add(self.to_int(extra), WORD(1))
        live = self.need(self.call("PyList_New", WORD(0)), failed)  # this may run a collection
        with self.each(tensors) as (tensor, following):
            found, rest = self.block(), self.block()
            held = b.icmp_unsigned(">", self.field(tensor, "references"), most)
            b.cbranch(held, found, rest)
            b.position_at_end(rest)
            b.cbranch(self.is_not(self.field(tensor, "tensor.weak"), WORD(0)), found, following)
            b.position_at_end(found)
            self.leave(self.failed("PyList_Append", live, tensor), lost)
        b.ret(live)
        b.position_at_end(lost)
        self.call("Py_DecRef", live)
        b.branch(failed)
        b.position_at_end(failed)
        b.ret(WORD(0))

    def release(self) -> None:
        """``release(tensors)``: empty the list. Unreferenced tensors become spare ones."""
        function = self.function("release", 3)
        b, full, failed = self.builder, self.block(), self.block()
        tensors, spare = self.load(function.args[1]), self.known_object("spare")
        with self.each(tensors) as (tensor, following):
            things = self._unreferenced_fields(tensor, following)
            many = b.icmp_unsigned(">=", self.field(spare, "list.size"), WORD(MAX_SPARE))
            self.leave(many, following)
            self.leave(self.failed("PyList_Append", spare, tensor), full)
            self.call("PyObject_GC_UnTrack", tensor)
            for name in SLOTS:
                self.put(WORD(0), tensor, f"tensor.{name}")
            home, row, spec = things
            self.drop(home)
            self.drop(spec)
            self.call("Py_DecRef", row)
        ended = self.block()
        b.branch(ended)
        b.position_at_end(full)
        self.call("PyErr_Clear")
        b.branch(ended)
        b.position_at_end(ended)
        everything = WORD(0), self.field(tensors, "list.size"), WORD(0)
        self.leave(self.failed("PyList_SetSlice", tensors, *everything), failed)
        none = self.known_object("None")
        self.call("Py_IncRef", none)
        b.ret(none)
        b.position_at_end(failed)
        b.ret(WORD(0))

    def _unreferenced_fields(self, tensor: ir.Value, other: ir.Block) -> list[Any]:
        """Load the fields of a tensor that only the list references; branch to ``other`` if not."""
        self.leave(self.is_not(self.field(tensor, "references"), WORD(1)), other)
        self.need_type(tensor, "Tensor", other)
        for name in ("weak", *OPTIONAL_SLOTS):
            self.leave(self.is_not(self.field(tensor, f"tensor.{name}"), WORD(0)), other)
        return [self.need(self.field(tensor, f"tensor.{name}"), other) for name in SLOTS]

    def take_unreferenced(self) -> Any:
        """``take_unreferenced(log)``: a tensor that only the log's list references, or 0.

        Positions are checked in turn, beginning again at the first one that no evaluation has
        considered. The next position is shared by all logs, as any position is valid in any log.
        """
        place = ir.GlobalVariable(self.module, WORD, "place")
        place.linkage, place.initializer = "internal", WORD(0)
        function = self.function("take_unreferenced", 1, internal=True)
        b, log, none = self.builder, function.args[0], self.block()
        kept = self.field(log, "log.tensors")
        size, first = self.field(kept, "list.size"), self.to_int(self.field(log, "log.scanned"))
        self.leave(b.icmp_unsigned(">=", first, size), none)
        for _ in range(TRIES):
            other, k = self.block(), b.add(b.load(place), WORD(1))
            outside = b.or_(b.icmp_unsigned("<", k, first), b.icmp_unsigned(">=", k, size))
            k = b.select(outside, first, k)
            b.store(k, place)
            tensor = self.element(kept, k)
            home, _, _ = self._unreferenced_fields(tensor, other)
            self.leave(self.is_not(home, log), other)
            b.ret(tensor)
            b.position_at_end(other)
        b.branch(none)
        b.position_at_end(none)
        b.ret(WORD(0))
        return function

    def tensor(self) -> Any:
        """``tensor()``: a spare tensor, or a new one if it does not exist; 0 is a MemoryError."""
        function = self.function("tensor", 0, internal=True)
        b, none, spare = self.builder, self.block(), self.known_object("spare")
        size = self.need(self.field(spare, "list.size"), none)
        last = b.sub(size, WORD(1))
        tensor = self.element(spare, last)
        self.put(last, spare, "list.size")  # the list's reference now belongs to the caller
        self.call("PyObject_GC_Track", tensor)
        b.ret(tensor)
        b.position_at_end(none)
        b.ret(self.call("PyType_GenericAlloc", self.known_object("Tensor"), WORD(0)))
        return function

    def element(self, things: ir.Value, k: ir.Value) -> Any:
        """Load an element of a list."""
        return self.load(self.field(things, "list.items"), self.builder.mul(k, WORD(8)))

    # Operands that have no row yet. Each is entered atomically; see `core.log.log.Log.row_of`.

    def enter_operand(self) -> Any:
        """``entered(value, other)``: enter an operand. A number takes the dtype of the other one.

        It gives `ENTERED`; `THERE` if it had a row; `NOTHING` if that is left to Python; or
        `RAISED`.
        """
        function = self.function("enter_operand", 2, internal=True)
        value, other = function.args
        b, kind = self.builder, self.field(value, "type")
        status = b.alloca(WORD)
        b.store(WORD(NOTHING), status)
        kinds = {
            name: b.icmp_unsigned("==", kind, self.known_object(name))
            for name in ("Variable", "Tensor", "float", "int")
        }
        chosen = kinds["float"]
        for name in ("Variable", "Tensor", "int"):
            chosen = b.or_(chosen, kinds[name])
        nothing, full, let_go, undone, there, ready = (self.block() for _ in range(6))
        self.leave(b.not_(chosen), nothing)
        size = b.alloca(WORD)
        b.store(WORD(2), size)
        self.leave(b.or_(kinds["Variable"], kinds["Tensor"]), ready)
        b.store(b.select(self.is_zero(value), WORD(3), WORD(2)), size)
        b.branch(ready)
        b.position_at_end(ready)
        # A key of numbers, what is known of a tensor, a read. This may run a collection.
        pair = self.need(self.call("PyTuple_New", b.load(size)), full)
        interrupted = self.block()
        log = self.log(let_go, interrupted)
        if not self.asks:
            self.hold(log)
        self.need_type(self.field(log, "log.tensors"), "list", undone)
        old, most = self.field(log, "log.n"), self.field(log, "log.limit")
        self.leave(b.icmp_signed(">=", self.to_int(old), self.small(most, undone)), undone)
        variable, tensor, others = self.block(), self.block(), self.block()
        b.cbranch(kinds["Variable"], variable, others)
        b.position_at_end(others)
        number = self.block()
        b.cbranch(kinds["Tensor"], tensor, number)

        b.position_at_end(variable)
        self._read(log, value, pair, there, undone)
        b.position_at_end(tensor)
        self._leaf(log, value, pair, there, undone)
        b.position_at_end(number)
        self._constant(log, value, kinds["float"], other, pair, there, undone)

        b.position_at_end(there)
        b.store(WORD(THERE), status)
        b.branch(undone)
        b.position_at_end(undone)
        self.call("Py_DecRef", log)
        b.branch(let_go)
        b.position_at_end(let_go)
        self.call("PyErr_Clear")
        self.call("Py_DecRef", pair)
        b.branch(nothing)
        b.position_at_end(full)  # the memory, as Python's recorder will say
        self.call("PyErr_Clear")
        b.branch(nothing)
        b.position_at_end(nothing)
        b.ret(b.load(status))
        b.position_at_end(interrupted)
        self.call("Py_DecRef", pair)
        b.ret(WORD(RAISED))
        return function

    def _read(
        self, log: ir.Value, variable: ir.Value, pair: ir.Value, there: ir.Block, undone: ir.Block
    ) -> None:
        """`Variable._read_in`: a row for the variable's value, which may be used again."""
        b, fresh, following = self.builder, self.block(), self.block()
        read = self.need(self.field(variable, "variable._read"), undone)
        b.cbranch(
            self.is_not(self.field(read, "type"), self.known_object("tuple")), fresh, following
        )
        b.position_at_end(following)
        b.cbranch(self.is_not(self.item(read, 0), log), fresh, there)
        b.position_at_end(fresh)
        value = self.need(self.field(variable, "variable._value"), undone)
        self.need_type(value, "Tensor", undone)
        home, spec = (self.field(value, f"tensor.{name}") for name in ("_home", "_spec"))
        stored, again, usual = self.block(), self.block(), self.block()
        own = b.icmp_unsigned("==", home, log)
        b.cbranch(own, usual, stored)
        b.position_at_end(stored)
        self.need_type(home, "ndarray", undone)
        b.branch(usual)
        b.position_at_end(usual)
        number = self._number(log, variable, undone)
        self.leave(self.failed("PyList_Append", self.field(log, "log.reads"), variable), undone)
        new = self._next(log, undone)
        forgotten, of_value = self._forgetting(new, undone), self.block()
        b.cbranch(own, again, of_value)

        b.position_at_end(again)
        n = self.to_int(self.field(log, "log.n"))
        self.write(log, "log.a", n, self.to_int(self.field(value, "tensor._row")))
        self._end_read(log, variable, number, spec, pair, new, "READ_ROW_CODE")

        b.position_at_end(of_value)
        self._store(log, home, spec, forgotten)
        self._end_read(log, variable, number, spec, pair, new, "READ_CODE")

    def _end_read(
        self,
        log: ir.Value,
        variable: ir.Value,
        number: ir.Value,
        spec: ir.Value,
        pair: ir.Value,
        new: ir.Value,
        code: str,
    ) -> None:
        """Publish a read, and have the variable remember it."""
        old, n = self._publish(log, spec, new, code)
        self.write(log, "log.b", n, number)
        before = self.field(variable, "variable._read")
        self.fill(pair, log, old)  # which were ours, and the log's
        self.put(pair, variable, "variable._read")
        self.call("Py_DecRef", before)  # last: who knows what goes with it
        self.builder.ret(WORD(ENTERED))

    def _number(self, log: ir.Value, variable: ir.Value, undone: ir.Block) -> Any:
        """`Log.number`: a variable's number in the log."""
        b, known, new, there = self.builder, self.block(), self.block(), self.block()
        key = self.need(self.call("PyLong_FromSsize_t", variable), undone)  # what `id` gives
        index, variables = self.field(log, "log.variable_index"), self.field(log, "log.variables")
        found = self.call("PyDict_GetItemWithError", index, key)
        b.cbranch(self.is_not(found, WORD(0)), known, new)
        b.position_at_end(known)
        before = self.to_int(found)
        b.branch(there)
        b.position_at_end(new)
        forgotten = self._forgetting(key, undone)
        count = self.field(variables, "list.size")
        self.leave(self.failed("PyList_Append", variables, variable), forgotten)
        number = self.need(self.call("PyLong_FromSsize_t", count), forgotten)
        failed = self.failed("PyDict_SetItem", index, key, number)
        self.call("Py_DecRef", number)
        self.leave(failed, forgotten)
        last = b.block
        b.branch(there)
        b.position_at_end(there)
        place = self.either(WORD, (before, known), (count, last))
        self.call("Py_DecRef", key)
        return place

    def _leaf(
        self, log: ir.Value, tensor: ir.Value, pair: ir.Value, there: ir.Block, undone: ir.Block
    ) -> None:
        """A leaf for a tensor that has its value, found by the tensor from then on."""
        home, spec = (self.field(tensor, f"tensor.{name}") for name in ("_home", "_spec"))
        self.leave(self.builder.icmp_unsigned("==", home, log), there)
        self.need_type(home, "ndarray", undone)
        key = self.need(self.call("PyLong_FromSsize_t", tensor), undone)  # what `id` gives
        forgotten = self._forgetting(key, undone)
        table = self.field(log, "log._leaf_rows")
        found = self.call("PyDict_GetItemWithError", table, key)
        self.leave(self.is_not(found, WORD(0)), self._forgetting(key, there))
        new = self._next(log, forgotten)
        forgotten = self._forgetting(new, forgotten)
        old = self.field(log, "log.n")
        for thing in (old, tensor):
            self.call("Py_IncRef", thing)
        self.fill(pair, old, tensor)
        self.leave(self.failed("PyDict_SetItem", table, key, pair), forgotten)
        b, here, taken_back = self.builder, self.builder.block, self.block()
        b.position_at_end(taken_back)
        self.call("PyErr_Clear")
        self.call("PyDict_DelItem", table, key)
        b.branch(forgotten)
        b.position_at_end(here)
        self._store(log, home, spec, taken_back)
        self._publish(log, spec, new, "LEAF_CODE")
        for thing in (key, old, pair, log):
            self.call("Py_DecRef", thing)
        b.ret(WORD(ENTERED))

    def _constant(
        self,
        log: ir.Value,
        value: ir.Value,
        is_float: ir.Value,
        other: ir.Value,
        pair: ir.Value,
        there: ir.Block,
        undone: ir.Block,
    ) -> None:
        """`Log.constant`: a leaf for a number, of the scalar spec of the other operand's dtype."""
        b = self.builder
        spec = self.scalar(self._spec(other, undone), value, undone)
        number = self._double(value, is_float, undone)
        self.leave(b.fcmp_unordered("uno", number, number), undone)
        place = self.to_int(self.field(spec, "spec.id"))
        double, single, whole, packed = (self.block() for _ in range(4))
        dtypes = b.switch(self.load_int(self.known_object("SPECS.dtype"), place, HALF), undone)
        for dtype, block in ((float64, double), (float32, single), (int32, whole), (int64, whole)):
            dtypes.add_case(WORD(dtype.code), block)
        b.position_at_end(whole)
        integer = self.to_int(value)
        b.branch(packed)
        b.position_at_end(double)
        wide = b.bitcast(number, WORD)
        b.branch(packed)
        b.position_at_end(single)
        less = b.fptrunc(number, FLOAT)
        for end in (float("inf"), float("-inf")):  # it may be too large
            self.leave(b.fcmp_ordered("==", less, FLOAT(end)), undone)
        narrow, last = b.zext(b.bitcast(less, HALF), WORD), b.block
        b.branch(packed)
        b.position_at_end(packed)
        cell = self.either(WORD, (integer, whole), (wide, double), (narrow, last))
        zero, other_number, ready = (self.block() for _ in range(3))
        b.cbranch(self.is_zero(value), zero, other_number)
        for block, key in ((zero, self.of_zero), (other_number, lambda *key: key)):
            b.position_at_end(block)
            things = key(value, spec)
            for thing in things:
                self.call("Py_IncRef", thing)
            self.fill(pair, *things)
            b.branch(ready)
        b.position_at_end(ready)
        table = self.field(log, "log._const_rows")
        found = self.call("PyDict_GetItemWithError", table, pair)
        self.leave(self.is_not(found, WORD(0)), there)
        new = self._next(log, undone)
        forgotten = self._forgetting(new, undone)
        old = self.field(log, "log.n")
        self.leave(self.failed("PyDict_SetItem", table, pair, old), forgotten)
        self._value(log, cell)
        self._publish(log, spec, new, "LEAF_CODE")
        for thing in (old, pair, log):
            self.call("Py_DecRef", thing)
        b.ret(WORD(ENTERED))

    def _spec(self, other: ir.Value, undone: ir.Block) -> Any:
        """The spec of an operand that is a tensor or a variable."""
        b, tensor, variable, there = self.builder, *(self.block() for _ in range(3))
        tensors = b.icmp_unsigned("==", self.field(other, "type"), self.known_object("Tensor"))
        b.cbranch(tensors, tensor, variable)
        b.position_at_end(tensor)
        first = self.field(other, "tensor._spec")
        b.branch(there)
        b.position_at_end(variable)
        self.need_type(other, "Variable", undone)
        second, last = self.field(other, "variable._spec"), b.block
        b.branch(there)
        b.position_at_end(there)
        return self.either(WORD, (first, tensor), (second, last))

    def scalar(self, spec: ir.Value, value: ir.Value, undone: ir.Block) -> Any:
        """The spec of a number beside an operand of a spec: of its dtype, where that fits."""
        b, integer, exact, fits = self.builder, *(self.block() for _ in range(3))
        kinds = self.is_not(self.field(spec, "spec.inexact"), self.known_object("True"))
        b.cbranch(kinds, exact, fits)
        b.position_at_end(exact)  # an int of one digit fits these
        place = self.to_int(self.field(spec, "spec.id"))
        dtypes = b.switch(self.load_int(self.known_object("SPECS.dtype"), place, HALF), undone)
        for dtype in (int32, int64):
            dtypes.add_case(WORD(dtype.code), integer)
        b.position_at_end(integer)
        self.need_type(value, "int", undone)
        self.small(value, undone)
        b.branch(fits)
        b.position_at_end(fits)
        result = self.need(self.field(spec, "spec.scalar"), undone)
        self.leave(b.icmp_unsigned("==", result, self.known_object("None")), undone)
        return result

    def _double(self, value: ir.Value, is_float: ir.Value, undone: ir.Block) -> Any:
        """The value of a Python float, or of an int from 0 to 2**30 - 1."""
        b, real, whole, there = self.builder, *(self.block() for _ in range(3))
        b.cbranch(is_float, real, whole)
        b.position_at_end(real)
        first = b.bitcast(self.field(value, "float.value"), DOUBLE)
        b.branch(there)
        b.position_at_end(whole)
        second, last = b.sitofp(self.small(value, undone), DOUBLE), b.block
        b.branch(there)
        b.position_at_end(there)
        return self.either(DOUBLE, (first, real), (second, last))

    # Parts of them.

    def is_zero(self, number: ir.Value) -> Any:
        """Whether a Python number is 0."""
        truth = self.builder.trunc(self.call("PyObject_IsTrue", number), HALF)
        return self.builder.icmp_unsigned("==", truth, HALF(0))

    def of_zero(self, zero: ir.Value, spec: ir.Value) -> tuple[Any, Any, Any]:
        """The key of a zero in `Log._const_rows`, which has its sign."""
        b = self.builder
        is_float = b.icmp_unsigned("==", self.field(zero, "type"), self.known_object("float"))
        below = b.icmp_signed("<", self.field(zero, "float.value"), WORD(0))
        sign = b.select(
            b.and_(is_float, below), self.known_object("-1.0"), self.known_object("1.0")
        )
        return sign, spec, self.known_object("None")

    def log(self, missed: ir.Block, failed: ir.Block) -> Any:
        """The thread's log, unless it is a trace or a rule's log."""
        other = missed
        if self.asks:
            other = self.block()
            log = self.call(
                "PyObject_GetAttr", self.known_object("local"), self.known_object("log")
            )
            self.need(log, failed)  # an interrupt, where `ByCaller` finds the log
        else:
            here = self.need(self.call("PyThreadState_GetDict"), missed)
            found = self.call("PyDict_GetItemWithError", here, self.known_object("key"))
            names = self.field(self.need(found, missed), "thread.names")
            log = self.need(
                self.call("PyDict_GetItemWithError", names, self.known_object("log")), missed
            )
        self.need_type(log, "Log", other)
        if self.asks:
            b, there = self.builder, self.builder.block
            b.position_at_end(other)
            self.call("Py_DecRef", log)
            b.branch(missed)
            b.position_at_end(there)
        return log

    def _next(self, log: ir.Value, undone: ir.Block) -> Any:
        """How long the log is after one more row, as an object."""
        more = self.builder.add(self.to_int(self.field(log, "log.n")), WORD(1))
        return self.need(self.call("PyLong_FromSsize_t", more), undone)

    def _forgetting(self, thing: ir.Value, to: ir.Block) -> Any:
        """A block that gives a reference back and goes on elsewhere."""
        b, here, found = self.builder, self.builder.block, self.block()
        b.position_at_end(found)
        self.call("Py_DecRef", thing)
        b.branch(to)
        b.position_at_end(here)
        return found

    def _store(self, log: ir.Value, array: ir.Value, spec: ir.Value, undone: ir.Block) -> None:
        """Write an array as the value of the row that comes next. Nothing may fail after it."""
        b, single, large, there = self.builder, *(self.block() for _ in range(3))
        place = self.to_int(self.field(spec, "spec.id"))
        start, ends = self.field(array, "array.data"), []
        b.cbranch(
            self.is_not(self.field(spec, "spec.single"), self.known_object("True")), large, single
        )

        b.position_at_end(single)
        sizes = b.switch(self.load_int(self.known_object("SPECS.item"), place, HALF), undone)
        for kind in (BYTE, SHORT, HALF, WORD):
            block = self.block()
            sizes.add_case(WORD(kind.width // 8), block)
            b.position_at_end(block)
            ends.append((self.load_int(start, WORD(0), kind), block))
            b.branch(there)

        b.position_at_end(large)
        before, limit = self.field(log, "log.bytes"), self.field(log, "log.bytes_limit")
        size = self.load_int(self.known_object("SPECS.bytes"), place, WORD)
        total = b.add(self.small(before, undone), size)
        self.leave(b.icmp_signed(">", total, self.small(limit, undone)), undone)
        counted = self.need(self.call("PyLong_FromSsize_t", total), undone)
        forgotten = self._forgetting(counted, undone)
        row, buffers = self.field(log, "log.n"), self.field(log, "log.buffers")
        self.leave(self.failed("PyDict_SetItem", buffers, row, array), forgotten)
        self.put(counted, log, "log.bytes")
        self.call("Py_DecRef", before)
        ends.append((start, b.block))
        b.branch(there)

        b.position_at_end(there)
        self._value(log, self.either(WORD, *ends))

    def _value(self, log: ir.Value, cell: ir.Value) -> None:
        """Say that the row that comes next has its value."""
        n, columns = self.to_int(self.field(log, "log.n")), self.field(log, "log.columns")
        for name, word in (("cell_view", cell), ("state_view", BYTE(VALUE))):
            start = self.field(self.field(columns, f"columns.{name}"), "memoryview.buffer")
            offset = self.builder.mul(n, WORD(word.type.width // 8))
            self.builder.store(word, self.at(start, offset, word.type.as_pointer()))

    def _publish(self, log: ir.Value, spec: ir.Value, new: ir.Value, code: str) -> tuple[Any, Any]:
        """Make the log one longer. Its length before: the object, which is the caller's now."""
        old = self.field(log, "log.n")
        n = self.to_int(old)
        self.write(log, "log.code", n, self.known_object(code))
        self.write(log, "log.spec", n, self.to_int(self.field(spec, "spec.id")))
        self.put(new, log, "log.n")
        return old, n

    # Recording.

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

    def recorder(self, entry: RecorderEntry, shared: dict[str, Any]) -> None:
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

    def _closure(self, called: ir.Value, entry: RecorderEntry, declined: ir.Block) -> Any:
        """The closure of the recorder that a function leads to."""
        for hop in entry.hops:
            if hop < 0:
                self.need_type(called, "builtin", declined)
                called = self.field(called, "builtin.self")
            else:
                cell = self.item(self.field(called, "function.closure"), hop)
                called = self.field(cell, "cell")
        return self.field(called, "function.closure")

    def _cell(self, closure: ir.Value, entry: RecorderEntry, name: str) -> Any:
        """The contents of a closure cell."""
        return self.field(self.item(closure, dict(entry.closure)[name]), "cell")

    def _row(
        self, log: ir.Value, spec: ir.Value, rows: list[Any], code: ir.Value, missed: ir.Block
    ) -> tuple[Any, Any]:
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
        self,
        log: ir.Value,
        kept: ir.Value,
        tensor: ir.Value,
        spec: ir.Value,
        old: ir.Value,
        n: ir.Value,
        missed: ir.Block,
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

    def _end_again(
        self,
        log: ir.Value,
        tensor: ir.Value,
        spec: ir.Value,
        old: ir.Value,
        n: ir.Value,
        missed: ir.Block,
    ) -> None:
        """The same with a tensor that only the log's list has, and stays in its place there."""
        b = self.builder
        row, before = (self.field(tensor, f"tensor.{name}") for name in ("_row", "_spec"))
        more = b.add(n, WORD(1))
        # An unshared int is overwritten with the log's new length.
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
