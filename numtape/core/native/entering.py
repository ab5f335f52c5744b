"""Operands that are not in the log yet, written for LLVM: what `Log.enter` does for the usual ones.

A variable is read, a tensor that has its value and a number become leaves. Each is a stretch of its
own that nothing divides: what may run a collection comes first, then what may want memory, and
then the row is written and published. Where something is not as usual nothing has been changed.
"""

from __future__ import annotations

from typing import Any

from ..log.log import VALUE
from ..values.dtypes import float32, float64, int32, int64
from .references import References
from .writer import BYTE, DOUBLE, FLOAT, HALF, SHORT, WORD

NOTHING, ENTERED, RAISED, THERE = 0, 1, 2, 4


class Entering(References):
    """Writes what enters operands."""

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

    def _read(self, log: Any, variable: Any, pair: Any, there: Any, undone: Any) -> None:
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
        self, log: Any, variable: Any, number: Any, spec: Any, pair: Any, new: Any, code: str
    ) -> None:
        """Publish a read, and have the variable remember it."""
        old, n = self._publish(log, spec, new, code)
        self.write(log, "log.b", n, number)
        before = self.field(variable, "variable._read")
        self.fill(pair, log, old)  # which were ours, and the log's
        self.put(pair, variable, "variable._read")
        self.call("Py_DecRef", before)  # last: who knows what goes with it
        self.builder.ret(WORD(ENTERED))

    def _number(self, log: Any, variable: Any, undone: Any) -> Any:
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

    def _leaf(self, log: Any, tensor: Any, pair: Any, there: Any, undone: Any) -> None:
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
        self, log: Any, value: Any, is_float: Any, other: Any, pair: Any, there: Any, undone: Any
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

    def _spec(self, other: Any, undone: Any) -> Any:
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

    def scalar(self, spec: Any, value: Any, undone: Any) -> Any:
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

    def _double(self, value: Any, is_float: Any, undone: Any) -> Any:
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

    def is_zero(self, number: Any) -> Any:
        """Whether a Python number is 0."""
        truth = self.builder.trunc(self.call("PyObject_IsTrue", number), HALF)
        return self.builder.icmp_unsigned("==", truth, HALF(0))

    def of_zero(self, zero: Any, spec: Any) -> tuple[Any, Any, Any]:
        """The key of a zero in `Log._const_rows`, which has its sign."""
        b = self.builder
        is_float = b.icmp_unsigned("==", self.field(zero, "type"), self.known_object("float"))
        below = b.icmp_signed("<", self.field(zero, "float.value"), WORD(0))
        sign = b.select(
            b.and_(is_float, below), self.known_object("-1.0"), self.known_object("1.0")
        )
        return sign, spec, self.known_object("None")

    def log(self, missed: Any, failed: Any) -> Any:
        """The thread's log, if it is no trace and no rule's."""
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

    def _next(self, log: Any, undone: Any) -> Any:
        """How long the log is after one more row, as an object."""
        more = self.builder.add(self.to_int(self.field(log, "log.n")), WORD(1))
        return self.need(self.call("PyLong_FromSsize_t", more), undone)

    def _forgetting(self, thing: Any, to: Any) -> Any:
        """A block that gives a reference back and goes on elsewhere."""
        b, here, found = self.builder, self.builder.block, self.block()
        b.position_at_end(found)
        self.call("Py_DecRef", thing)
        b.branch(to)
        b.position_at_end(here)
        return found

    def _store(self, log: Any, array: Any, spec: Any, undone: Any) -> None:
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

    def _value(self, log: Any, cell: Any) -> None:
        """Say that the row that comes next has its value."""
        n, columns = self.to_int(self.field(log, "log.n")), self.field(log, "log.columns")
        for name, word in (("cell_view", cell), ("state_view", BYTE(VALUE))):
            start = self.field(self.field(columns, f"columns.{name}"), "memoryview.buffer")
            offset = self.builder.mul(n, WORD(word.type.width // 8))
            self.builder.store(word, self.at(start, offset, word.type.as_pointer()))

    def _publish(self, log: Any, spec: Any, new: Any, code: str) -> tuple[Any, Any]:
        """Make the log one longer. Its length before: the object, which is the caller's now."""
        old = self.field(log, "log.n")
        n = self.to_int(old)
        self.write(log, "log.code", n, self.known_object(code))
        self.write(log, "log.spec", n, self.to_int(self.field(spec, "spec.id")))
        self.put(new, log, "log.n")
        return old, n
