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


NOTHING, ENTERED, RAISED, THERE = 0, 1, 2, 4  # the results of `_Writer.enter_operand`
# Results of `_Writer.operand` that are not addresses of specs: the operand has no row yet (or
# Python must enter it), and a Python number, whose spec depends on the other operand.
NO, NUMBER = 0, 1


@dataclass(frozen=True)
class RecorderEntry:
    """A function of machine code that replaces a Python function.

    Attributes:
      symbol: Its name.
      arity: The number of operands.
      hops: The path from the function to the recorder, whose closure has the op. Each step is the
        number of a closure cell, or -1 for the object of a built-in method.
      closure: The names of the recorder's closure cells, with their numbers.
      swapped: Whether the operands are swapped.
      method: Whether it is called as a built-in method of the recorder.
      inexact: Whether it records only if the first argument is a tensor of floats or complex
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
    """Compile the functions, and `setup`, which takes the addresses of ``names``."""
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
    def each(self, elements: ir.Value) -> Iterator[tuple[Any, Any]]:
        """Loop over a list. Yield the element, and the block that begins the next iteration."""
        b = self.builder
        place = b.alloca(WORD)
        b.store(WORD(0), place)
        following, inside, done = self.block(), self.block(), self.block()
        b.branch(following)
        b.position_at_end(following)
        k = b.load(place)
        b.cbranch(b.icmp_unsigned("<", k, self.field(elements, "list.size")), inside, done)
        b.position_at_end(inside)
        b.store(b.add(k, WORD(1)), place)
        yield self.element(elements, k), following
        b.branch(following)
        b.position_at_end(done)

    def live_tensors(self) -> None:
        """Write ``live_tensors(tensors, extra)``; see `core.log.liveness`."""
        function = self.function("live_tensors", 3)
        b, failed, lost = self.builder, self.block(), self.block()
        tensors, extra = (self.load(function.args[1], 8 * k) for k in range(2))
        most = b.add(self.to_int(extra), WORD(1))
        live = self.need(self.call("PyList_New", WORD(0)), failed)  # this may run a collection
        with self.each(tensors) as (tensor, following):
            is_live, rest = self.block(), self.block()
            referenced = b.icmp_unsigned(">", self.field(tensor, "references"), most)
            b.cbranch(referenced, is_live, rest)
            b.position_at_end(rest)
            b.cbranch(self.is_not(self.field(tensor, "tensor.weak"), WORD(0)), is_live, following)
            b.position_at_end(is_live)
            self.branch_if(self.reports_error("PyList_Append", live, tensor), lost)
        b.ret(live)
        b.position_at_end(lost)
        self.call("Py_DecRef", live)
        b.branch(failed)
        b.position_at_end(failed)
        b.ret(WORD(0))

    def release(self) -> None:
        """Write ``release(tensors)``: empty the list. Unreferenced tensors become spare ones."""
        function = self.function("release", 3)
        b, full, failed = self.builder, self.block(), self.block()
        tensors, spare = self.load(function.args[1]), self.known_object("spare")
        with self.each(tensors) as (tensor, following):
            fields = self._unreferenced_fields(tensor, following)
            enough = b.icmp_unsigned(">=", self.field(spare, "list.size"), WORD(MAX_SPARE))
            self.branch_if(enough, following)
            self.branch_if(self.reports_error("PyList_Append", spare, tensor), full)
            self.call("PyObject_GC_UnTrack", tensor)
            for name in SLOTS:
                self.put(WORD(0), tensor, f"tensor.{name}")
            home, row, spec = fields
            self.drop_reference(home)
            self.drop_reference(spec)
            self.call("Py_DecRef", row)
        ended = self.block()
        b.branch(ended)
        b.position_at_end(full)
        self.call("PyErr_Clear")
        b.branch(ended)
        b.position_at_end(ended)
        everything = WORD(0), self.field(tensors, "list.size"), WORD(0)
        self.branch_if(self.reports_error("PyList_SetSlice", tensors, *everything), failed)
        none = self.known_object("None")
        self.call("Py_IncRef", none)
        b.ret(none)
        b.position_at_end(failed)
        b.ret(WORD(0))

    def _unreferenced_fields(self, tensor: ir.Value, other: ir.Block) -> list[Any]:
        """Load the fields of a tensor that only the list references; branch to ``other`` if not."""
        self.branch_if(self.is_not(self.field(tensor, "references"), WORD(1)), other)
        self.need_type(tensor, "Tensor", other)
        for name in ("weak", *OPTIONAL_SLOTS):
            self.branch_if(self.is_not(self.field(tensor, f"tensor.{name}"), WORD(0)), other)
        return [self.need(self.field(tensor, f"tensor.{name}"), other) for name in SLOTS]

    def take_unreferenced(self) -> Any:
        """Write ``take_unreferenced(log)``: a tensor that only the log's list references, or 0.

        Positions are checked in turn, beginning again at the first one that no evaluation has
        considered. The next position is shared by all logs, as any position is valid in any log.
        """
        place = ir.GlobalVariable(self.module, WORD, "place")
        place.linkage, place.initializer = "internal", WORD(0)
        function = self.function("take_unreferenced", 1, internal=True)
        b, log, none = self.builder, function.args[0], self.block()
        tensors = self.field(log, "log.tensors")
        size, first = self.field(tensors, "list.size"), self.to_int(self.field(log, "log.scanned"))
        self.branch_if(b.icmp_unsigned(">=", first, size), none)
        for _ in range(TRIES):
            other, k = self.block(), b.add(b.load(place), WORD(1))
            outside = b.or_(b.icmp_unsigned("<", k, first), b.icmp_unsigned(">=", k, size))
            k = b.select(outside, first, k)
            b.store(k, place)
            tensor = self.element(tensors, k)
            home, _, _ = self._unreferenced_fields(tensor, other)
            self.branch_if(self.is_not(home, log), other)
            b.ret(tensor)
            b.position_at_end(other)
        b.branch(none)
        b.position_at_end(none)
        b.ret(WORD(0))
        return function

    def tensor(self) -> Any:
        """Write ``tensor()``: a spare tensor, or else a new one; 0 for a MemoryError."""
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

    def element(self, elements: ir.Value, k: ir.Value) -> Any:
        """Load an element of a list."""
        return self.load(self.field(elements, "list.items"), self.builder.mul(k, WORD(8)))

    # Operands that have no row yet. Each is entered atomically; see `core.log.log.Log.row_of`.

    def enter_operand(self) -> Any:
        """Write ``enter_operand(value, other)``: append a row for an operand without one.

        A number takes the dtype of the other operand. The function returns `ENTERED`, `THERE` if
        the operand already had a row, `NOTHING` if Python must enter it, or `RAISED`.
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
        nothing, no_memory, drop_pair, undone, there, ready = (self.block() for _ in range(6))
        self.branch_if(b.not_(chosen), nothing)
        size = b.alloca(WORD)
        b.store(WORD(2), size)
        self.branch_if(b.or_(kinds["Variable"], kinds["Tensor"]), ready)
        b.store(b.select(self.is_zero(value), WORD(3), WORD(2)), size)
        b.branch(ready)
        b.position_at_end(ready)
        # The tuple for the key of a number, the entry of a leaf, or a read. May run a collection.
        pair = self.need(self.call("PyTuple_New", b.load(size)), no_memory)
        interrupted = self.block()
        log = self.log(drop_pair, interrupted)
        if not self.asks_python:
            self.add_reference(log)
        self.need_type(self.field(log, "log.tensors"), "list", undone)
        old, most = self.field(log, "log.n"), self.field(log, "log.limit")
        self.branch_if(b.icmp_signed(">=", self.to_int(old), self.small(most, undone)), undone)
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
        b.branch(drop_pair)
        b.position_at_end(drop_pair)
        self.call("PyErr_Clear")
        self.call("Py_DecRef", pair)
        b.branch(nothing)
        b.position_at_end(no_memory)  # no memory: Python's recorder raises the error
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
        """Append a read of a variable, or reuse the last one, as `Variable._read_in` does."""
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
        stored, reread, checked = self.block(), self.block(), self.block()
        own = b.icmp_unsigned("==", home, log)
        b.cbranch(own, checked, stored)
        b.position_at_end(stored)
        self.need_type(home, "ndarray", undone)
        b.branch(checked)
        b.position_at_end(checked)
        number = self._number(log, variable, undone)
        self.branch_if(
            self.reports_error("PyList_Append", self.field(log, "log.reads"), variable), undone
        )
        new = self._next(log, undone)
        drop_new, with_array = self._forgetting(new, undone), self.block()
        b.cbranch(own, reread, with_array)

        b.position_at_end(reread)
        n = self.to_int(self.field(log, "log.n"))
        self.write(log, "log.a", n, self.to_int(self.field(value, "tensor._row")))
        self._end_read(log, variable, number, spec, pair, new, "READ_ROW_CODE")

        b.position_at_end(with_array)
        self._store(log, home, spec, drop_new)
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
        """Publish a read, and store it in the variable."""
        old, n = self._publish(log, spec, new, code)
        self.write(log, "log.b", n, number)
        before = self.field(variable, "variable._read")
        self.fill(pair, log, old)  # it takes over our reference to the log, and the log's to `n`
        self.put(pair, variable, "variable._read")
        self.call("Py_DecRef", before)  # last: this may free other objects
        self.builder.ret(WORD(ENTERED))

    def _number(self, log: ir.Value, variable: ir.Value, undone: ir.Block) -> Any:
        """Return the number of a variable in the log, as `Log.number` does."""
        b, known, new, there = self.builder, self.block(), self.block(), self.block()
        key = self.need(self.call("PyLong_FromSsize_t", variable), undone)  # what `id` gives
        index, variables = self.field(log, "log.variable_index"), self.field(log, "log.variables")
        entry = self.call("PyDict_GetItemWithError", index, key)
        b.cbranch(self.is_not(entry, WORD(0)), known, new)
        b.position_at_end(known)
        before = self.to_int(entry)
        b.branch(there)
        b.position_at_end(new)
        drop_key = self._forgetting(key, undone)
        count = self.field(variables, "list.size")
        self.branch_if(self.reports_error("PyList_Append", variables, variable), drop_key)
        number = self.need(self.call("PyLong_FromSsize_t", count), drop_key)
        failed = self.reports_error("PyDict_SetItem", index, key, number)
        self.call("Py_DecRef", number)
        self.branch_if(failed, drop_key)
        last = b.block
        b.branch(there)
        b.position_at_end(there)
        place = self.phi(WORD, (before, known), (count, last))
        self.call("Py_DecRef", key)
        return place

    def _leaf(
        self, log: ir.Value, tensor: ir.Value, pair: ir.Value, there: ir.Block, undone: ir.Block
    ) -> None:
        """Append a leaf for a tensor that has a value, and enter it in `Log._leaf_rows`."""
        home, spec = (self.field(tensor, f"tensor.{name}") for name in ("_home", "_spec"))
        self.branch_if(self.builder.icmp_unsigned("==", home, log), there)
        self.need_type(home, "ndarray", undone)
        key = self.need(self.call("PyLong_FromSsize_t", tensor), undone)  # what `id` gives
        undo = self._forgetting(key, undone)
        table = self.field(log, "log._leaf_rows")
        entry = self.call("PyDict_GetItemWithError", table, key)
        self.branch_if(self.is_not(entry, WORD(0)), self._forgetting(key, there))
        new = self._next(log, undo)
        undo = self._forgetting(new, undo)
        old = self.field(log, "log.n")
        for owned in (old, tensor):
            self.call("Py_IncRef", owned)
        self.fill(pair, old, tensor)
        self.branch_if(self.reports_error("PyDict_SetItem", table, key, pair), undo)
        b, here, remove_entry = self.builder, self.builder.block, self.block()
        b.position_at_end(remove_entry)
        self.call("PyErr_Clear")
        self.call("PyDict_DelItem", table, key)
        b.branch(undo)
        b.position_at_end(here)
        self._store(log, home, spec, remove_entry)
        self._publish(log, spec, new, "LEAF_CODE")
        for owned in (key, old, pair, log):
            self.call("Py_DecRef", owned)
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
        """Append a leaf for a number, as `Log.constant` does, in the other operand's dtype."""
        b = self.builder
        spec = self.scalar(self._spec(other, undone), value, undone)
        number = self._double(value, is_float, undone)
        self.branch_if(b.fcmp_unordered("uno", number, number), undone)
        place = self.to_int(self.field(spec, "spec.id"))
        double, single, as_int, packed = (self.block() for _ in range(4))
        dtypes = b.switch(self.load_int(self.known_object("SPECS.dtype"), place, HALF), undone)
        for dtype, block in (
            (float64, double),
            (float32, single),
            (int32, as_int),
            (int64, as_int),
        ):
            dtypes.add_case(WORD(dtype.code), block)
        b.position_at_end(as_int)
        integer = self.to_int(value)
        b.branch(packed)
        b.position_at_end(double)
        wide = b.bitcast(number, WORD)
        b.branch(packed)
        b.position_at_end(single)
        rounded = b.fptrunc(number, FLOAT)
        for end in (float("inf"), float("-inf")):  # beyond the range of float32
            self.branch_if(b.fcmp_ordered("==", rounded, FLOAT(end)), undone)
        narrow, last = b.zext(b.bitcast(rounded, HALF), WORD), b.block
        b.branch(packed)
        b.position_at_end(packed)
        cell = self.phi(WORD, (integer, as_int), (wide, double), (narrow, last))
        zero, other_number, ready = (self.block() for _ in range(3))
        b.cbranch(self.is_zero(value), zero, other_number)
        for block, key in ((zero, self.of_zero), (other_number, lambda *key: key)):
            b.position_at_end(block)
            parts = key(value, spec)
            for owned in parts:
                self.call("Py_IncRef", owned)
            self.fill(pair, *parts)
            b.branch(ready)
        b.position_at_end(ready)
        table = self.field(log, "log._const_rows")
        entry = self.call("PyDict_GetItemWithError", table, pair)
        self.branch_if(self.is_not(entry, WORD(0)), there)
        new = self._next(log, undone)
        drop_new = self._forgetting(new, undone)
        old = self.field(log, "log.n")
        self.branch_if(self.reports_error("PyDict_SetItem", table, pair, old), drop_new)
        self._value(log, cell)
        self._publish(log, spec, new, "LEAF_CODE")
        for owned in (old, pair, log):
            self.call("Py_DecRef", owned)
        b.ret(WORD(ENTERED))

    def _spec(self, other: ir.Value, undone: ir.Block) -> Any:
        """Load the spec of a tensor or a variable."""
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
        return self.phi(WORD, (first, tensor), (second, last))

    def scalar(self, spec: ir.Value, value: ir.Value, undone: ir.Block) -> Any:
        """The spec of a number beside an operand of spec ``spec``: a scalar of the same dtype."""
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
        self.branch_if(b.icmp_unsigned("==", result, self.known_object("None")), undone)
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
        return self.phi(DOUBLE, (first, real), (second, last))

    # Helpers.

    def is_zero(self, number: ir.Value) -> Any:
        """Whether a Python number is 0."""
        truth = self.builder.trunc(self.call("PyObject_IsTrue", number), HALF)
        return self.builder.icmp_unsigned("==", truth, HALF(0))

    def of_zero(self, zero: ir.Value, spec: ir.Value) -> tuple[Any, Any, Any]:
        """The key of a zero in `Log._const_rows`, which includes the sign."""
        b = self.builder
        is_float = b.icmp_unsigned("==", self.field(zero, "type"), self.known_object("float"))
        below = b.icmp_signed("<", self.field(zero, "float.value"), WORD(0))
        sign = b.select(
            b.and_(is_float, below), self.known_object("-1.0"), self.known_object("1.0")
        )
        return sign, spec, self.known_object("None")

    def log(self, missed: ir.Block, failed: ir.Block) -> Any:
        """Load the thread's log; branch to ``missed`` if it is a trace or a rule's log."""
        other = missed
        if self.asks_python:
            other = self.block()
            log = self.call(
                "PyObject_GetAttr", self.known_object("local"), self.known_object("log")
            )
            self.need(log, failed)  # an interrupt, where `ByCaller` finds the log
        else:
            here = self.need(self.call("PyThreadState_GetDict"), missed)
            state = self.call("PyDict_GetItemWithError", here, self.known_object("key"))
            names = self.field(self.need(state, missed), "thread.names")
            log = self.need(
                self.call("PyDict_GetItemWithError", names, self.known_object("log")), missed
            )
        self.need_type(log, "Log", other)
        if self.asks_python:
            b, there = self.builder, self.builder.block
            b.position_at_end(other)
            self.call("Py_DecRef", log)
            b.branch(missed)
            b.position_at_end(there)
        return log

    def _next(self, log: ir.Value, undone: ir.Block) -> Any:
        """The length of the log with one more row, as a Python int."""
        more = self.builder.add(self.to_int(self.field(log, "log.n")), WORD(1))
        return self.need(self.call("PyLong_FromSsize_t", more), undone)

    def _forgetting(self, owned: ir.Value, to: ir.Block) -> Any:
        """A block that drops a reference and branches to ``to``."""
        b, here, dropping = self.builder, self.builder.block, self.block()
        b.position_at_end(dropping)
        self.call("Py_DecRef", owned)
        b.branch(to)
        b.position_at_end(here)
        return dropping

    def _store(self, log: ir.Value, array: ir.Value, spec: ir.Value, undone: ir.Block) -> None:
        """Store an array as the value of the next row. No later step may fail."""
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
        self.branch_if(b.icmp_signed(">", total, self.small(limit, undone)), undone)
        counted = self.need(self.call("PyLong_FromSsize_t", total), undone)
        drop_total = self._forgetting(counted, undone)
        row, buffers = self.field(log, "log.n"), self.field(log, "log.buffers")
        self.branch_if(self.reports_error("PyDict_SetItem", buffers, row, array), drop_total)
        self.put(counted, log, "log.bytes")
        self.call("Py_DecRef", before)
        ends.append((start, b.block))
        b.branch(there)

        b.position_at_end(there)
        self._value(log, self.phi(WORD, *ends))

    def _value(self, log: ir.Value, cell: ir.Value) -> None:
        """Set the cell of the next row, and mark the row as computed."""
        n, columns = self.to_int(self.field(log, "log.n")), self.field(log, "log.columns")
        for name, word in (("cell_view", cell), ("state_view", BYTE(VALUE))):
            start = self.field(self.field(columns, f"columns.{name}"), "memoryview.buffer")
            offset = self.builder.mul(n, WORD(word.type.width // 8))
            self.builder.store(word, self.at(start, offset, word.type.as_pointer()))

    def _publish(self, log: ir.Value, spec: ir.Value, new: ir.Value, code: str) -> tuple[Any, Any]:
        """Publish a row. Return the old length: a Python int that the caller owns, and a word."""
        old = self.field(log, "log.n")
        n = self.to_int(old)
        self.write(log, "log.code", n, self.known_object(code))
        self.write(log, "log.spec", n, self.to_int(self.field(spec, "spec.id")))
        self.put(new, log, "log.n")
        return old, n

    # Recording.

    def operand(self) -> Any:
        """Emit ``operand(log, value, at)``, which returns the spec of an operand that has a row.

        It stores the row at address ``at``. For other operands it returns `NO` or `NUMBER`.
        """
        function = self.function("operand", 3, internal=True)
        log, value, at = function.args
        b = self.builder
        tensor, other, variable, rest, number, no = (self.block() for _ in range(6))
        kind = self.field(value, "type")
        chosen = b.switch(b.sub(kind, self.known_object("Tensor")), rest)
        chosen.add_case(WORD(0), tensor)

        b.position_at_end(rest)
        self.branch_if(b.icmp_unsigned("==", kind, self.known_object("Variable")), variable)
        self.branch_if(b.icmp_unsigned("==", kind, self.known_object("float")), number)
        b.cbranch(b.icmp_unsigned("==", kind, self.known_object("int")), number, no)

        b.position_at_end(tensor)
        self.branch_if(self.is_not(self.field(value, "tensor._home"), log), other)
        row = self.to_int(self.field(value, "tensor._row"))
        self.return_row(self.field(value, "tensor._spec"), row, at)

        b.position_at_end(other)
        key = self.need(self.call("PyLong_FromSsize_t", value), no)  # what `id` gives
        table = self.field(log, "log._leaf_rows")
        entered = self.call("PyDict_GetItemWithError", table, key)
        self.call("Py_DecRef", key)
        row = self.to_int(self.item(self.need(entered, no), 0))
        self.return_row(self.field(value, "tensor._spec"), row, at)

        b.position_at_end(variable)
        read = self.need(self.field(value, "variable._read"), no)
        self.need_type(read, "tuple", no)
        self.branch_if(self.is_not(self.item(read, 0), log), no)
        row = self.to_int(self.item(read, 1))
        self.return_row(self.field(value, "variable._spec"), row, at)

        b.position_at_end(number)
        b.ret(WORD(NUMBER))
        b.position_at_end(no)
        b.ret(WORD(NO))
        return function

    def number(self) -> Any:
        """Write ``number(log, value, spec, like, at)``: the spec of a number that has a row.

        It stores the row at ``at``, and returns `NO` for other numbers. If ``spec`` is not
        `NUMBER`, the value is not a number, and the function returns ``spec``.
        """
        function = self.function("number", 5, internal=True)
        log, value, own, like, at = function.args
        b, no, same = self.builder, self.block(), self.block()
        self.branch_if(self.is_not(own, WORD(NUMBER)), same)
        self.branch_if(b.icmp_unsigned("==", like, WORD(NUMBER)), no)
        spec = self.scalar(like, value, no)
        table, zero = self.field(log, "log._const_rows"), self.block()
        self.branch_if(self.is_zero(value), zero)
        entry = self.need(self.look_up(table, value, spec), no)
        self.return_row(spec, self.to_int(entry), at)
        b.position_at_end(zero)
        entry = self.need(self.look_up(table, *self.of_zero(value, spec)), no)
        self.return_row(spec, self.to_int(entry), at)
        b.position_at_end(same)
        b.ret(own)
        b.position_at_end(no)
        b.ret(WORD(NO))
        return function

    def result(self) -> Any:
        """Write ``result(same, results, first, second)``: the result's spec; 0 if it is unknown."""
        function = self.function("result", 4, internal=True)
        same, results, *specs = function.args
        b, equal = self.builder, self.block()
        self.branch_if(b.icmp_unsigned("==", *specs), equal)
        b.ret(self.look_up(results, *specs))
        b.position_at_end(equal)
        b.ret(self.call("PyDict_GetItemWithError", same, specs[0]))
        return function

    def recorder(self, entry: RecorderEntry, shared: dict[str, Any]) -> None:
        """Write a recorder, which calls Python's recorder in unusual cases."""
        symbol = entry.symbol + "_" * entry.method
        function = self.function(symbol, 4, internal=entry.method)
        called, arguments, count, names = function.args
        b = self.builder
        rows = [b.ptrtoint(b.alloca(WORD), WORD) for _ in range(entry.arity)]
        declined, missed = self.block(), self.block()
        self.branch_if(self.is_not(names, WORD(0)), declined)
        count = b.and_(count, WORD(COUNT))
        self.branch_if(self.is_not(count, WORD(entry.arity)), declined)
        values = [self.load(arguments, 8 * k) for k in range(entry.arity)]
        if entry.inexact:
            self.need_type(values[0], "Tensor", declined)
            spec = self.need(self.field(values[0], "tensor._spec"), declined)
            self.branch_if(
                self.is_not(self.field(spec, "spec.inexact"), self.known_object("True")), declined
            )
        if entry.swapped:
            values.reverse()
        closure = self._closure(called, entry, declined)
        lone = entry.arity % 2  # whether the dtype of the first operand is independent

        entered, fresh = b.alloca(WORD), b.alloca(WORD)
        b.store(WORD(0), entered)
        retry, begun, search, allocate, ready = (self.block() for _ in range(5))
        full, failed, interrupted = (self.block() for _ in range(3))
        b.branch(retry)
        b.position_at_end(retry)
        b.store(WORD(0), fresh)
        b.branch(begun)
        b.position_at_end(begun)
        log = self.log(missed, interrupted)
        # From here on, the reference to the log must be dropped.
        before, missed = missed, self.block()
        tensors, new = self.field(log, "log.tensors"), b.load(fresh)
        self.need_type(tensors, "list", missed)
        b.cbranch(self.is_not(new, WORD(0)), ready, search)
        first = b.block
        b.position_at_end(search)
        unreferenced = b.call(shared["take_unreferenced"], (log,))
        b.cbranch(self.is_not(unreferenced, WORD(0)), ready, allocate)
        b.position_at_end(allocate)
        # Before anything is read: up to Python 3.11 this may run a collection.
        if self.asks_python:
            self.call("Py_DecRef", log)
        b.store(self.need(b.call(shared["tensor"], ()), full), fresh)
        b.branch(begun)
        b.position_at_end(ready)
        tensor = self.phi(WORD, (new, first), (unreferenced, search))
        specs = [
            self.need(b.call(shared["operand"], (log, value, row)), missed)
            for value, row in zip(values, rows, strict=True)
        ]
        results = self._cell(closure, entry, "results")
        if lone:
            self.branch_if(b.icmp_unsigned("==", specs[0], WORD(NUMBER)), missed)
        pair = specs[lone:]
        arguments_of_numbers = zip(values[lone:], pair, reversed(pair), rows[lone:], strict=True)
        specs[lone:] = [
            self.need(b.call(shared["number"], (log, *x)), missed) for x in arguments_of_numbers
        ]
        if entry.arity == 1:
            spec = self.call("PyDict_GetItemWithError", results, specs[0])
        elif entry.arity == 2:
            same = self._cell(closure, entry, "same_spec_results")
            spec = b.call(shared["result"], (same, results, *specs))
        else:
            spec = self.look_up(results, *specs)
        self.need(spec, missed)
        old, n = self._row(log, spec, rows, self._cell(closure, entry, "code"), missed)
        new, reused = self.block(), self.block()
        b.cbranch(self.is_not(b.load(fresh), WORD(0)), new, reused)
        b.position_at_end(new)
        self._end(log, tensors, tensor, spec, old, n, missed)
        b.position_at_end(reused)
        self._end_again(log, tensor, spec, old, n, missed)

        b.position_at_end(interrupted)
        self.call("Py_DecRef", b.load(fresh))
        b.branch(failed)
        b.position_at_end(failed)  # an interrupt: the error is set
        b.ret(WORD(0))
        b.position_at_end(full)  # no memory: Python's recorder raises the error
        self.call("PyErr_Clear")
        b.branch(declined)
        b.position_at_end(missed)
        if self.asks_python:
            self.call("Py_DecRef", log)
        b.branch(before)
        b.position_at_end(before)
        self.call("PyErr_Clear")
        self.call("Py_DecRef", b.load(fresh))
        # The first time, enter operands that have no row yet, in their order, and try again.
        self.branch_if(self.is_not(b.load(entered), WORD(0)), declined)
        b.store(WORD(1), entered)
        statuses = WORD(0)
        others = [*values[:lone], *reversed(values[lone:])]
        for value, other in zip(values, others, strict=True):
            status = b.call(shared["enter_operand"], (value, other))
            self.branch_if(b.icmp_unsigned("==", status, WORD(RAISED)), failed)
            self.branch_if(b.icmp_unsigned("==", status, WORD(NOTHING)), declined)
            statuses = b.or_(statuses, status)
        b.cbranch(b.icmp_unsigned("==", statuses, WORD(THERE)), declined, retry)
        b.position_at_end(declined)
        b.ret(self.call("carry out", *function.args))
        if entry.method:
            method = self.function(entry.symbol, 3)
            self.builder.ret(self.builder.call(function, [*method.args, WORD(0)]))

    def _closure(self, called: ir.Value, entry: RecorderEntry, declined: ir.Block) -> Any:
        """The closure of the recorder, found from the called function; see `RecorderEntry.hops`."""
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
        """Write the row. Return the length of the log without it: a Python int, and a word."""
        b = self.builder
        old = self.field(log, "log.n")
        n, most = self.to_int(old), self.field(log, "log.limit")
        limit = self.to_int(most)
        digits = self.load(most, self.offsets["int.digits"])
        # All row numbers then have one digit as well.
        self.branch_if(self.is_not(digits, self.known_object("one digit")), missed)
        self.branch_if(b.icmp_signed(">=", n, limit), missed)
        self.write(log, "log.code", n, self.to_int(code))
        for column, row in zip(("log.a", "log.b", "log.c"), rows, strict=False):
            self.write(log, column, n, self.load(row))
        self.write(log, "log.spec", n, self.to_int(self.field(spec, "spec.id")))
        return old, n

    def _end(
        self,
        log: ir.Value,
        tensors: ir.Value,
        tensor: ir.Value,
        spec: ir.Value,
        old: ir.Value,
        n: ir.Value,
        missed: ir.Block,
    ) -> None:
        """Publish the row, and return its tensor, a new one."""
        b = self.builder
        new = self.need(self.call("PyLong_FromSsize_t", b.add(n, WORD(1))), missed)
        not_appended, there = self.block(), self.block()
        b.cbranch(self.reports_error("PyList_Append", tensors, tensor), not_appended, there)
        b.position_at_end(not_appended)
        self.call("Py_DecRef", new)
        b.branch(missed)
        b.position_at_end(there)
        for owned in (spec,) if self.asks_python else (log, spec):
            self.add_reference(owned)
        self.put(log, tensor, "tensor._home")
        self.put(old, tensor, "tensor._row")  # it takes over the log's reference
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
        """As `_end`, for a tensor that only the log's list references; it keeps its position."""
        b = self.builder
        row, before = (self.field(tensor, f"tensor.{name}") for name in ("_row", "_spec"))
        more = b.add(n, WORD(1))
        # An unshared int is overwritten with the log's new length.
        own, other, there = self.block(), self.block(), self.block()
        self.branch_if(self.is_not(self.field(row, "references"), WORD(1)), other)
        b.cbranch(self.is_not(self.field(row, "type"), self.known_object("int")), other, own)
        b.position_at_end(own)
        place = self.at(row, self.offsets["int.digit"], HALF.as_pointer())
        b.store(b.trunc(more, HALF), place)
        b.branch(there)
        b.position_at_end(other)
        allocated, last = self.need(self.call("PyLong_FromSsize_t", more), missed), b.block
        b.branch(there)
        b.position_at_end(there)
        new = self.phi(WORD, (row, own), (allocated, last))
        replaced = self.phi(WORD, (WORD(0), own), (row, last))
        self.add_reference(tensor)
        self.put(old, tensor, "tensor._row")  # it takes over the log's reference
        self.put(new, log, "log.n")
        self.call("Py_DecRef", replaced)
        if self.asks_python:
            self.call("Py_DecRef", log)
        same, changed = self.block(), self.block()
        b.cbranch(b.icmp_unsigned("==", before, spec), same, changed)
        b.position_at_end(changed)
        self.add_reference(spec)
        self.put(spec, tensor, "tensor._spec")
        self.drop_reference(before)  # last: this may free other objects
        b.branch(same)
        b.position_at_end(same)
        b.ret(tensor)
