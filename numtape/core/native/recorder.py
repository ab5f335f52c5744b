"""The recorders in machine code, written for LLVM: one description of recording for all ops.

A recorder does what `core.log.record` does, which explains each step, for the usual operands:
tensors of the thread's own log, variables that were read in it, and values that become leaves. It
enters operands that have no row yet, allocates the tensor, then writes and publishes the row. The
last part is atomic: Python runs nothing in between, that is no collection, finalizer, signal
handler or other thread. In an unusual case the recorder calls Python's recorder. Before
this it changes nothing, except that it may append rows that Python would append as well.

A recorder is called with the arguments of Python's vectorcall protocol: itself, the address of the
arguments, their number and the keyword names. It reads the op from its closure.

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


NOT_ENTERED, ENTERED, RAISED, HAD_ROW = 0, 1, 2, 4  # the results of `_Writer.enter_operand`
# Results of `_Writer.operand` that are not addresses of specs: the operand has no row yet (or
# Python must enter it), and a Python number, whose spec depends on the other operand.
NO_ROW, NUMBER = 0, 1


@dataclass(frozen=True)
class RecorderEntry:
    """A function of machine code that replaces a Python function.

    Attributes:
      symbol: Its name.
      arity: The number of operands.
      hops: The path from the function to the recorder, whose closure has the op. Each step is the
        number of a closure cell, or -1 for the object of a built-in method.
      closure: The names of the recorder's closure cells, with their numbers.
      is_swapped: Whether the operands are swapped.
      is_method: Whether it is called as a built-in method of the recorder.
      needs_inexact: Whether it records only if the first argument is a tensor of floats or complex
        numbers.
    """

    symbol: str
    arity: int
    hops: tuple[int, ...]
    closure: tuple[tuple[str, int], ...]
    is_swapped: bool = False
    is_method: bool = False
    needs_inexact: bool = False


def build(
    entries: Sequence[RecorderEntry],
    functions: Sequence[str],
    offsets: dict[str, int],
    names: Sequence[str],
) -> Built:
    """Compile the functions, and `setup`, which takes the addresses of ``names``."""
    module = ir.Module("recorders")
    writer = _Writer(module, offsets, names)
    writer.write_setup(len(names))
    for name in functions:
        getattr(writer, name)()
    shared_names = ("operand", "number", "result", "take_unreferenced", "tensor", "enter_operand")
    shared = {name: getattr(writer, name)() for name in shared_names}
    for entry in entries:
        writer.recorder(entry, shared)
    symbols = ["setup", *functions, *(entry.symbol for entry in entries)]
    return compile_module(module, symbols, quick=True)


class _Writer(Writer):
    """Writes the functions that record."""

    # Liveness.

    @contextmanager
    def loop_over(self, elements: ir.Value) -> Iterator[tuple[Any, Any]]:
        """Loop over a list. Yield the element and the block of the next iteration."""
        b = self.builder
        counter = b.alloca(WORD)
        b.store(WORD(0), counter)
        next_iteration, body, done = self.create_block(), self.create_block(), self.create_block()
        b.branch(next_iteration)
        b.position_at_end(next_iteration)
        k = b.load(counter)
        b.cbranch(b.icmp_unsigned("<", k, self.field(elements, "list.size")), body, done)
        b.position_at_end(body)
        b.store(b.add(k, WORD(1)), counter)
        yield self.load_element(elements, k), next_iteration
        b.branch(next_iteration)
        b.position_at_end(done)

    def live_tensors(self) -> None:
        """Write ``live_tensors(tensors, extra)``; see `core.log.liveness`."""
        function = self.begin_function("live_tensors", 3)
        b, failed, drop_live = self.builder, self.create_block(), self.create_block()
        tensors, extra = (self.load(function.args[1], 8 * k) for k in range(2))
        max_references = b.add(self.to_int(extra), WORD(1))
        live = self.need(self.call("PyList_New", WORD(0)), failed)  # this may run a collection
        with self.loop_over(tensors) as (tensor, next_tensor):
            is_live, unreferenced = self.create_block(), self.create_block()
            is_referenced = b.icmp_unsigned(">", self.field(tensor, "references"), max_references)
            b.cbranch(is_referenced, is_live, unreferenced)
            b.position_at_end(unreferenced)
            b.cbranch(self.is_not(self.field(tensor, "tensor.weak"), WORD(0)), is_live, next_tensor)
            b.position_at_end(is_live)
            self.branch_if(self.reports_error("PyList_Append", live, tensor), drop_live)
        b.ret(live)
        b.position_at_end(drop_live)
        self.call("Py_DecRef", live)
        b.branch(failed)
        b.position_at_end(failed)
        b.ret(WORD(0))

    def release(self) -> None:
        """Write ``release(tensors)``: empty the list. Unreferenced tensors become spare ones."""
        function = self.begin_function("release", 3)
        b, append_failed, failed = self.builder, self.create_block(), self.create_block()
        tensors, spare = self.load(function.args[1]), self.known_object("spare")
        with self.loop_over(tensors) as (tensor, next_tensor):
            fields = self._unreferenced_fields(tensor, next_tensor)
            is_spare_full = b.icmp_unsigned(">=", self.field(spare, "list.size"), WORD(MAX_SPARE))
            self.branch_if(is_spare_full, next_tensor)
            self.branch_if(self.reports_error("PyList_Append", spare, tensor), append_failed)
            self.call("PyObject_GC_UnTrack", tensor)
            for name in SLOTS:
                self.set_field(WORD(0), tensor, f"tensor.{name}")
            home, row, spec = fields
            self.drop_reference(home)
            self.drop_reference(spec)
            self.call("Py_DecRef", row)
        empty_list = self.create_block()
        b.branch(empty_list)
        b.position_at_end(append_failed)
        self.call("PyErr_Clear")
        b.branch(empty_list)
        b.position_at_end(empty_list)
        all_items = WORD(0), self.field(tensors, "list.size"), WORD(0)
        self.branch_if(self.reports_error("PyList_SetSlice", tensors, *all_items), failed)
        none = self.known_object("None")
        self.call("Py_IncRef", none)
        b.ret(none)
        b.position_at_end(failed)
        b.ret(WORD(0))

    def _unreferenced_fields(self, tensor: ir.Value, referenced: ir.Block) -> list[Any]:
        """Load a tensor's fields; branch to ``referenced`` if others than the list refer to it."""
        self.branch_if(self.is_not(self.field(tensor, "references"), WORD(1)), referenced)
        self.need_type(tensor, "Tensor", referenced)
        for name in ("weak", *OPTIONAL_SLOTS):
            self.branch_if(self.is_not(self.field(tensor, f"tensor.{name}"), WORD(0)), referenced)
        return [self.need(self.field(tensor, f"tensor.{name}"), referenced) for name in SLOTS]

    def take_unreferenced(self) -> Any:
        """Write ``take_unreferenced(log)``: a tensor that only the log's list references, or 0.

        Positions are checked in turn, beginning again at the first one that no evaluation has
        considered. The next position is shared by all logs, as any position is valid in any log.
        """
        position = ir.GlobalVariable(self.module, WORD, "position")
        position.linkage, position.initializer = "internal", WORD(0)
        function = self.begin_function("take_unreferenced", 1, internal=True)
        b, log, no_tensor = self.builder, function.args[0], self.create_block()
        tensors = self.field(log, "log.tensors")
        count, first = self.field(tensors, "list.size"), self.to_int(self.field(log, "log.scanned"))
        self.branch_if(b.icmp_unsigned(">=", first, count), no_tensor)
        for _ in range(TRIES):
            next_try, k = self.create_block(), b.add(b.load(position), WORD(1))
            is_outside = b.or_(b.icmp_unsigned("<", k, first), b.icmp_unsigned(">=", k, count))
            k = b.select(is_outside, first, k)
            b.store(k, position)
            tensor = self.load_element(tensors, k)
            home, _, _ = self._unreferenced_fields(tensor, next_try)
            self.branch_if(self.is_not(home, log), next_try)
            b.ret(tensor)
            b.position_at_end(next_try)
        b.branch(no_tensor)
        b.position_at_end(no_tensor)
        b.ret(WORD(0))
        return function

    def tensor(self) -> Any:
        """Write ``tensor()``: a spare tensor, or else a new one; 0 for a MemoryError."""
        function = self.begin_function("tensor", 0, internal=True)
        b, allocate, spare = self.builder, self.create_block(), self.known_object("spare")
        count = self.need(self.field(spare, "list.size"), allocate)
        last_index = b.sub(count, WORD(1))
        tensor = self.load_element(spare, last_index)
        # The list's reference now belongs to the caller.
        self.set_field(last_index, spare, "list.size")
        self.call("PyObject_GC_Track", tensor)
        b.ret(tensor)
        b.position_at_end(allocate)
        b.ret(self.call("PyType_GenericAlloc", self.known_object("Tensor"), WORD(0)))
        return function

    def load_element(self, elements: ir.Value, k: ir.Value) -> Any:
        """Load an element of a list."""
        return self.load(self.field(elements, "list.items"), self.builder.mul(k, WORD(8)))

    # Operands that have no row yet. Each is entered atomically; see `core.log.log.Log.row_of`.

    def enter_operand(self) -> Any:
        """Write ``enter_operand(value, other)``: append a row for an operand without one.

        A number takes the dtype of the other operand. The function returns `ENTERED`, `HAD_ROW` if
        the operand already had a row, `NOT_ENTERED` if Python must enter it, or `RAISED`.
        """
        function = self.begin_function("enter_operand", 2, internal=True)
        value, other = function.args
        b, cls = self.builder, self.field(value, "type")
        status = b.alloca(WORD)
        b.store(WORD(NOT_ENTERED), status)
        is_type = {
            name: b.icmp_unsigned("==", cls, self.known_object(name))
            for name in ("Variable", "Tensor", "float", "int")
        }
        is_supported = is_type["float"]
        for name in ("Variable", "Tensor", "int"):
            is_supported = b.or_(is_supported, is_type[name])
        not_entered, no_memory, drop_pair, undo, has_row, allocate = (
            self.create_block() for _ in range(6)
        )
        self.branch_if(b.not_(is_supported), not_entered)
        size = b.alloca(WORD)
        b.store(WORD(2), size)
        self.branch_if(b.or_(is_type["Variable"], is_type["Tensor"]), allocate)
        b.store(b.select(self.is_zero(value), WORD(3), WORD(2)), size)
        b.branch(allocate)
        b.position_at_end(allocate)
        # The tuple for the key of a number, the entry of a leaf, or a read. May run a collection.
        pair = self.need(self.call("PyTuple_New", b.load(size)), no_memory)
        interrupted = self.create_block()
        log = self.load_log(drop_pair, interrupted)
        if not self.asks_python:
            self.add_reference(log)
        self.need_type(self.field(log, "log.tensors"), "list", undo)
        length, limit = self.field(log, "log.n"), self.field(log, "log.limit")
        self.branch_if(
            b.icmp_signed(">=", self.to_int(length), self.to_small_int(limit, undo)), undo
        )
        variable = self.create_block()
        tensor = self.create_block()
        not_variable = self.create_block()
        b.cbranch(is_type["Variable"], variable, not_variable)
        b.position_at_end(not_variable)
        number = self.create_block()
        b.cbranch(is_type["Tensor"], tensor, number)

        b.position_at_end(variable)
        self._append_read(log, value, pair, has_row, undo)
        b.position_at_end(tensor)
        self._append_leaf(log, value, pair, has_row, undo)
        b.position_at_end(number)
        self._append_constant(log, value, is_type["float"], other, pair, has_row, undo)

        b.position_at_end(has_row)
        b.store(WORD(HAD_ROW), status)
        b.branch(undo)
        b.position_at_end(undo)
        self.call("Py_DecRef", log)
        b.branch(drop_pair)
        b.position_at_end(drop_pair)
        self.call("PyErr_Clear")
        self.call("Py_DecRef", pair)
        b.branch(not_entered)
        b.position_at_end(no_memory)  # no memory: Python's recorder raises the error
        self.call("PyErr_Clear")
        b.branch(not_entered)
        b.position_at_end(not_entered)
        b.ret(b.load(status))
        b.position_at_end(interrupted)
        self.call("Py_DecRef", pair)
        b.ret(WORD(RAISED))
        return function

    def _append_read(
        self, log: ir.Value, variable: ir.Value, pair: ir.Value, has_row: ir.Block, undo: ir.Block
    ) -> None:
        """Append a read of a variable, or reuse the last read, as `Variable._read_in` does."""
        b, append, check_log = self.builder, self.create_block(), self.create_block()
        read = self.need(self.field(variable, "variable._read"), undo)
        b.cbranch(
            self.is_not(self.field(read, "type"), self.known_object("tuple")), append, check_log
        )
        b.position_at_end(check_log)
        b.cbranch(self.is_not(self.item(read, 0), log), append, has_row)
        b.position_at_end(append)
        value = self.need(self.field(variable, "variable._value"), undo)
        self.need_type(value, "Tensor", undo)
        home, spec = (self.field(value, f"tensor.{name}") for name in ("_home", "_spec"))
        check_array = self.create_block()
        append_row = self.create_block()
        append_entry = self.create_block()
        is_of_log = b.icmp_unsigned("==", home, log)
        b.cbranch(is_of_log, append_entry, check_array)
        b.position_at_end(check_array)
        self.need_type(home, "ndarray", undo)
        b.branch(append_entry)
        b.position_at_end(append_entry)
        number = self._number_variable(log, variable, undo)
        self.branch_if(
            self.reports_error("PyList_Append", self.field(log, "log.reads"), variable), undo
        )
        new_length = self._next_length(log, undo)
        drop_length, with_array = self._drop_block(new_length, undo), self.create_block()
        b.cbranch(is_of_log, append_row, with_array)

        b.position_at_end(append_row)
        n = self.to_int(self.field(log, "log.n"))
        self.write_column(log, "log.a", n, self.to_int(self.field(value, "tensor._row")))
        self._publish_read(log, variable, number, spec, pair, new_length, "READ_ROW_CODE")

        b.position_at_end(with_array)
        self._store_array(log, home, spec, drop_length)
        self._publish_read(log, variable, number, spec, pair, new_length, "READ_CODE")

    def _publish_read(
        self,
        log: ir.Value,
        variable: ir.Value,
        number: ir.Value,
        spec: ir.Value,
        pair: ir.Value,
        new_length: ir.Value,
        code: str,
    ) -> None:
        """Publish the row of a read, and store its number in the variable."""
        row, n = self._publish(log, spec, new_length, code)
        self.write_column(log, "log.b", n, number)
        previous_read = self.field(variable, "variable._read")
        # The tuple takes over our reference to the log, and the log's reference to `n`.
        self.fill_tuple(pair, log, row)
        self.set_field(pair, variable, "variable._read")
        self.call("Py_DecRef", previous_read)  # last: this may free other objects
        self.builder.ret(WORD(ENTERED))

    def _number_variable(self, log: ir.Value, variable: ir.Value, undo: ir.Block) -> Any:
        """Return a variable's number in the log, added if there is none, as by `Log.number`."""
        b = self.builder
        has_number = self.create_block()
        add_number = self.create_block()
        join = self.create_block()
        key = self.need(self.call("PyLong_FromSsize_t", variable), undo)  # the value of `id`
        index, variables = self.field(log, "log.variable_index"), self.field(log, "log.variables")
        entry = self.call("PyDict_GetItemWithError", index, key)
        b.cbranch(self.is_not(entry, WORD(0)), has_number, add_number)
        b.position_at_end(has_number)
        known_number = self.to_int(entry)
        b.branch(join)
        b.position_at_end(add_number)
        drop_key = self._drop_block(key, undo)
        count = self.field(variables, "list.size")
        self.branch_if(self.reports_error("PyList_Append", variables, variable), drop_key)
        number = self.need(self.call("PyLong_FromSsize_t", count), drop_key)
        failed = self.reports_error("PyDict_SetItem", index, key, number)
        self.call("Py_DecRef", number)
        self.branch_if(failed, drop_key)
        add_end = b.block
        b.branch(join)
        b.position_at_end(join)
        result = self.phi(WORD, (known_number, has_number), (count, add_end))
        self.call("Py_DecRef", key)
        return result

    def _append_leaf(
        self, log: ir.Value, tensor: ir.Value, pair: ir.Value, has_row: ir.Block, undo: ir.Block
    ) -> None:
        """Append a leaf for a tensor that has a value, and enter it in `Log._leaf_rows`."""
        home, spec = (self.field(tensor, f"tensor.{name}") for name in ("_home", "_spec"))
        self.branch_if(self.builder.icmp_unsigned("==", home, log), has_row)
        self.need_type(home, "ndarray", undo)
        key = self.need(self.call("PyLong_FromSsize_t", tensor), undo)  # the value of `id`
        drop_owned = self._drop_block(key, undo)
        table = self.field(log, "log._leaf_rows")
        entry = self.call("PyDict_GetItemWithError", table, key)
        self.branch_if(self.is_not(entry, WORD(0)), self._drop_block(key, has_row))
        new_length = self._next_length(log, drop_owned)
        drop_owned = self._drop_block(new_length, drop_owned)
        row = self.field(log, "log.n")
        for owned in (row, tensor):
            self.call("Py_IncRef", owned)
        self.fill_tuple(pair, row, tensor)
        self.branch_if(self.reports_error("PyDict_SetItem", table, key, pair), drop_owned)
        b, current, remove_entry = self.builder, self.builder.block, self.create_block()
        b.position_at_end(remove_entry)
        self.call("PyErr_Clear")
        self.call("PyDict_DelItem", table, key)
        b.branch(drop_owned)
        b.position_at_end(current)
        self._store_array(log, home, spec, remove_entry)
        self._publish(log, spec, new_length, "LEAF_CODE")
        for owned in (key, row, pair, log):
            self.call("Py_DecRef", owned)
        b.ret(WORD(ENTERED))

    def _append_constant(
        self,
        log: ir.Value,
        value: ir.Value,
        is_float: ir.Value,
        other: ir.Value,
        pair: ir.Value,
        has_row: ir.Block,
        undo: ir.Block,
    ) -> None:
        """Append a leaf for a number, as `Log.constant` does, in the other operand's dtype."""
        b = self.builder
        spec = self.load_scalar_spec(self._load_spec(other, undo), value, undo)
        number = self._to_double(value, is_float, undo)
        self.branch_if(b.fcmp_unordered("uno", number, number), undo)
        spec_id = self.to_int(self.field(spec, "spec.id"))
        as_double, as_float, as_int, join = (self.create_block() for _ in range(4))
        dtypes = b.switch(self.load_int(self.known_object("SPECS.dtype"), spec_id, HALF), undo)
        for dtype, block in (
            (float64, as_double),
            (float32, as_float),
            (int32, as_int),
            (int64, as_int),
        ):
            dtypes.add_case(WORD(dtype.code), block)
        b.position_at_end(as_int)
        integer = self.to_int(value)
        b.branch(join)
        b.position_at_end(as_double)
        double_bits = b.bitcast(number, WORD)
        b.branch(join)
        b.position_at_end(as_float)
        single = b.fptrunc(number, FLOAT)
        for limit in (float("inf"), float("-inf")):  # beyond the range of float32
            self.branch_if(b.fcmp_ordered("==", single, FLOAT(limit)), undo)
        float_bits, float_end = b.zext(b.bitcast(single, HALF), WORD), b.block
        b.branch(join)
        b.position_at_end(join)
        cell = self.phi(WORD, (integer, as_int), (double_bits, as_double), (float_bits, float_end))
        zero, other_number, look_up = (self.create_block() for _ in range(3))
        b.cbranch(self.is_zero(value), zero, other_number)
        for block, make_key in ((zero, self.zero_key), (other_number, lambda *parts: parts)):
            b.position_at_end(block)
            parts = make_key(value, spec)
            for owned in parts:
                self.call("Py_IncRef", owned)
            self.fill_tuple(pair, *parts)
            b.branch(look_up)
        b.position_at_end(look_up)
        table = self.field(log, "log._const_rows")
        entry = self.call("PyDict_GetItemWithError", table, pair)
        self.branch_if(self.is_not(entry, WORD(0)), has_row)
        new_length = self._next_length(log, undo)
        drop_length = self._drop_block(new_length, undo)
        row = self.field(log, "log.n")
        self.branch_if(self.reports_error("PyDict_SetItem", table, pair, row), drop_length)
        self._set_value(log, cell)
        self._publish(log, spec, new_length, "LEAF_CODE")
        for owned in (row, pair, log):
            self.call("Py_DecRef", owned)
        b.ret(WORD(ENTERED))

    def _load_spec(self, other: ir.Value, undo: ir.Block) -> Any:
        """Load the spec of a tensor or a variable."""
        b, tensor, variable, join = self.builder, *(self.create_block() for _ in range(3))
        is_tensor = b.icmp_unsigned("==", self.field(other, "type"), self.known_object("Tensor"))
        b.cbranch(is_tensor, tensor, variable)
        b.position_at_end(tensor)
        tensor_spec = self.field(other, "tensor._spec")
        b.branch(join)
        b.position_at_end(variable)
        self.need_type(other, "Variable", undo)
        variable_spec, variable_end = self.field(other, "variable._spec"), b.block
        b.branch(join)
        b.position_at_end(join)
        return self.phi(WORD, (tensor_spec, tensor), (variable_spec, variable_end))

    def load_scalar_spec(self, spec: ir.Value, value: ir.Value, undo: ir.Block) -> Any:
        """Load a number's spec: a scalar of the dtype of ``spec``, the other operand's spec."""
        b, need_int, check_dtype, join = self.builder, *(self.create_block() for _ in range(3))
        is_exact = self.is_not(self.field(spec, "spec.inexact"), self.known_object("True"))
        b.cbranch(is_exact, check_dtype, join)
        b.position_at_end(check_dtype)  # an int of one digit fits these
        spec_id = self.to_int(self.field(spec, "spec.id"))
        dtypes = b.switch(self.load_int(self.known_object("SPECS.dtype"), spec_id, HALF), undo)
        for dtype in (int32, int64):
            dtypes.add_case(WORD(dtype.code), need_int)
        b.position_at_end(need_int)
        self.need_type(value, "int", undo)
        self.to_small_int(value, undo)
        b.branch(join)
        b.position_at_end(join)
        result = self.need(self.field(spec, "spec.scalar"), undo)
        self.branch_if(b.icmp_unsigned("==", result, self.known_object("None")), undo)
        return result

    def _to_double(self, value: ir.Value, is_float: ir.Value, undo: ir.Block) -> Any:
        """Return the value of a Python float, or of an int from 0 to 2**30 - 1."""
        b, of_float, of_int, join = self.builder, *(self.create_block() for _ in range(3))
        b.cbranch(is_float, of_float, of_int)
        b.position_at_end(of_float)
        float_value = b.bitcast(self.field(value, "float.value"), DOUBLE)
        b.branch(join)
        b.position_at_end(of_int)
        int_value, int_end = b.sitofp(self.to_small_int(value, undo), DOUBLE), b.block
        b.branch(join)
        b.position_at_end(join)
        return self.phi(DOUBLE, (float_value, of_float), (int_value, int_end))

    # Helpers.

    def is_zero(self, number: ir.Value) -> Any:
        """Return whether a Python number is 0."""
        truth = self.builder.trunc(self.call("PyObject_IsTrue", number), HALF)
        return self.builder.icmp_unsigned("==", truth, HALF(0))

    def zero_key(self, zero: ir.Value, spec: ir.Value) -> tuple[Any, Any, Any]:
        """Return the key of a zero in `Log._const_rows`, which includes its sign."""
        b = self.builder
        is_float = b.icmp_unsigned("==", self.field(zero, "type"), self.known_object("float"))
        has_sign_bit = b.icmp_signed("<", self.field(zero, "float.value"), WORD(0))
        sign = b.select(
            b.and_(is_float, has_sign_bit), self.known_object("-1.0"), self.known_object("1.0")
        )
        return sign, spec, self.known_object("None")

    def load_log(self, missed: ir.Block, failed: ir.Block) -> Any:
        """Load the thread's log; branch to ``missed`` if it is a trace or a rule's log."""
        wrong_type = missed
        if self.asks_python:
            wrong_type = self.create_block()
            log = self.call(
                "PyObject_GetAttr", self.known_object("local"), self.known_object("log")
            )
            self.need(log, failed)  # an interrupt in `LogByCaller` makes it fail
        else:
            thread_dict = self.need(self.call("PyThreadState_GetDict"), missed)
            local_state = self.call(
                "PyDict_GetItemWithError", thread_dict, self.known_object("key")
            )
            names = self.field(self.need(local_state, missed), "thread.names")
            log = self.need(
                self.call("PyDict_GetItemWithError", names, self.known_object("log")), missed
            )
        self.need_type(log, "Log", wrong_type)
        if self.asks_python:
            b, current = self.builder, self.builder.block
            b.position_at_end(wrong_type)
            self.call("Py_DecRef", log)
            b.branch(missed)
            b.position_at_end(current)
        return log

    def _next_length(self, log: ir.Value, undo: ir.Block) -> Any:
        """Return the length of the log with one more row, as a Python int."""
        new_length = self.builder.add(self.to_int(self.field(log, "log.n")), WORD(1))
        return self.need(self.call("PyLong_FromSsize_t", new_length), undo)

    def _drop_block(self, owned: ir.Value, target: ir.Block) -> Any:
        """Return a block that drops a reference and branches to ``target``."""
        b, current, drop = self.builder, self.builder.block, self.create_block()
        b.position_at_end(drop)
        self.call("Py_DecRef", owned)
        b.branch(target)
        b.position_at_end(current)
        return drop

    def _store_array(self, log: ir.Value, array: ir.Value, spec: ir.Value, undo: ir.Block) -> None:
        """Store an array as the value of the next row. No later step may fail."""
        b = self.builder
        store_element = self.create_block()
        store_buffer = self.create_block()
        join = self.create_block()
        spec_id = self.to_int(self.field(spec, "spec.id"))
        data, incoming = self.field(array, "array.data"), []
        b.cbranch(
            self.is_not(self.field(spec, "spec.single"), self.known_object("True")),
            store_buffer,
            store_element,
        )

        b.position_at_end(store_element)
        sizes = b.switch(self.load_int(self.known_object("SPECS.item"), spec_id, HALF), undo)
        for word_type in (BYTE, SHORT, HALF, WORD):
            block = self.create_block()
            sizes.add_case(WORD(word_type.width // 8), block)
            b.position_at_end(block)
            incoming.append((self.load_int(data, WORD(0), word_type), block))
            b.branch(join)

        b.position_at_end(store_buffer)
        old_bytes, bytes_limit = self.field(log, "log.bytes"), self.field(log, "log.bytes_limit")
        size = self.load_int(self.known_object("SPECS.bytes"), spec_id, WORD)
        total = b.add(self.to_small_int(old_bytes, undo), size)
        self.branch_if(b.icmp_signed(">", total, self.to_small_int(bytes_limit, undo)), undo)
        new_bytes = self.need(self.call("PyLong_FromSsize_t", total), undo)
        drop_total = self._drop_block(new_bytes, undo)
        row, buffers = self.field(log, "log.n"), self.field(log, "log.buffers")
        self.branch_if(self.reports_error("PyDict_SetItem", buffers, row, array), drop_total)
        self.set_field(new_bytes, log, "log.bytes")
        self.call("Py_DecRef", old_bytes)
        incoming.append((data, b.block))
        b.branch(join)

        b.position_at_end(join)
        self._set_value(log, self.phi(WORD, *incoming))

    def _set_value(self, log: ir.Value, cell: ir.Value) -> None:
        """Set the cell of the next row, and mark the row as computed."""
        n, columns = self.to_int(self.field(log, "log.n")), self.field(log, "log.columns")
        for name, word in (("cell_view", cell), ("state_view", BYTE(VALUE))):
            column = self.field(self.field(columns, f"columns.{name}"), "memoryview.buffer")
            offset = self.builder.mul(n, WORD(word.type.width // 8))
            self.builder.store(word, self.pointer_to(column, offset, word.type.as_pointer()))

    def _publish(
        self, log: ir.Value, spec: ir.Value, new_length: ir.Value, code: str
    ) -> tuple[Any, Any]:
        """Publish a row. Return its number: a Python int that the caller owns, and a word."""
        row = self.field(log, "log.n")
        n = self.to_int(row)
        self.write_column(log, "log.code", n, self.known_object(code))
        self.write_column(log, "log.spec", n, self.to_int(self.field(spec, "spec.id")))
        self.set_field(new_length, log, "log.n")
        return row, n

    # Recording.

    def operand(self) -> Any:
        """Write ``operand(log, value, address)``: the spec of an operand that has a row.

        It stores the row at ``address``. For other operands it returns `NO_ROW` or `NUMBER`.
        """
        function = self.begin_function("operand", 3, internal=True)
        log, value, address = function.args
        b = self.builder
        tensor, other_home, variable, not_tensor, number, no_row = (
            self.create_block() for _ in range(6)
        )
        cls = self.field(value, "type")
        switch = b.switch(b.sub(cls, self.known_object("Tensor")), not_tensor)
        switch.add_case(WORD(0), tensor)

        b.position_at_end(not_tensor)
        self.branch_if(b.icmp_unsigned("==", cls, self.known_object("Variable")), variable)
        self.branch_if(b.icmp_unsigned("==", cls, self.known_object("float")), number)
        b.cbranch(b.icmp_unsigned("==", cls, self.known_object("int")), number, no_row)

        b.position_at_end(tensor)
        self.branch_if(self.is_not(self.field(value, "tensor._home"), log), other_home)
        row = self.to_int(self.field(value, "tensor._row"))
        self.return_row(self.field(value, "tensor._spec"), row, address)

        b.position_at_end(other_home)
        key = self.need(self.call("PyLong_FromSsize_t", value), no_row)  # the value of `id`
        table = self.field(log, "log._leaf_rows")
        entry = self.call("PyDict_GetItemWithError", table, key)
        self.call("Py_DecRef", key)
        row = self.to_int(self.item(self.need(entry, no_row), 0))
        self.return_row(self.field(value, "tensor._spec"), row, address)

        b.position_at_end(variable)
        read = self.need(self.field(value, "variable._read"), no_row)
        self.need_type(read, "tuple", no_row)
        self.branch_if(self.is_not(self.item(read, 0), log), no_row)
        row = self.to_int(self.item(read, 1))
        self.return_row(self.field(value, "variable._spec"), row, address)

        b.position_at_end(number)
        b.ret(WORD(NUMBER))
        b.position_at_end(no_row)
        b.ret(WORD(NO_ROW))
        return function

    def number(self) -> Any:
        """Write ``number(log, value, given_spec, other_spec, address)``: the spec of a number.

        It stores the number's row at ``address``, and returns `NO_ROW` if it has none. If
        ``given_spec`` is not `NUMBER`, the value is not a number, and the function returns
        ``given_spec``.
        """
        function = self.begin_function("number", 5, internal=True)
        log, value, given_spec, other_spec, address = function.args
        b, no_row, not_number = self.builder, self.create_block(), self.create_block()
        self.branch_if(self.is_not(given_spec, WORD(NUMBER)), not_number)
        self.branch_if(b.icmp_unsigned("==", other_spec, WORD(NUMBER)), no_row)
        spec = self.load_scalar_spec(other_spec, value, no_row)
        table, zero = self.field(log, "log._const_rows"), self.create_block()
        self.branch_if(self.is_zero(value), zero)
        entry = self.need(self.look_up(table, value, spec), no_row)
        self.return_row(spec, self.to_int(entry), address)
        b.position_at_end(zero)
        entry = self.need(self.look_up(table, *self.zero_key(value, spec)), no_row)
        self.return_row(spec, self.to_int(entry), address)
        b.position_at_end(not_number)
        b.ret(given_spec)
        b.position_at_end(no_row)
        b.ret(WORD(NO_ROW))
        return function

    def result(self) -> Any:
        """Write ``result(same_spec_results, results, first, second)``: a spec; 0 if unknown."""
        function = self.begin_function("result", 4, internal=True)
        same_spec_results, results, *specs = function.args
        b, equal_specs = self.builder, self.create_block()
        self.branch_if(b.icmp_unsigned("==", *specs), equal_specs)
        b.ret(self.look_up(results, *specs))
        b.position_at_end(equal_specs)
        b.ret(self.call("PyDict_GetItemWithError", same_spec_results, specs[0]))
        return function

    def recorder(self, entry: RecorderEntry, shared: dict[str, Any]) -> None:
        """Write a recorder, which calls Python's recorder in unusual cases."""
        symbol = entry.symbol + "_" * entry.is_method
        function = self.begin_function(symbol, 4, internal=entry.is_method)
        callee, arguments, count, keyword_names = function.args
        b = self.builder
        rows = [b.ptrtoint(b.alloca(WORD), WORD) for _ in range(entry.arity)]
        declined, missed = self.create_block(), self.create_block()
        self.branch_if(self.is_not(keyword_names, WORD(0)), declined)
        count = b.and_(count, WORD(COUNT))
        self.branch_if(self.is_not(count, WORD(entry.arity)), declined)
        values = [self.load(arguments, 8 * k) for k in range(entry.arity)]
        if entry.needs_inexact:
            self.need_type(values[0], "Tensor", declined)
            spec = self.need(self.field(values[0], "tensor._spec"), declined)
            self.branch_if(
                self.is_not(self.field(spec, "spec.inexact"), self.known_object("True")), declined
            )
        if entry.is_swapped:
            values.reverse()
        closure = self._load_closure(callee, entry, declined)
        pair_start = entry.arity % 2  # whether the dtype of the first operand is independent

        has_retried, new_tensor = b.alloca(WORD), b.alloca(WORD)
        b.store(WORD(0), has_retried)
        retry, begin, search, allocate, ready = (self.create_block() for _ in range(5))
        no_memory, failed, interrupted = (self.create_block() for _ in range(3))
        b.branch(retry)
        b.position_at_end(retry)
        b.store(WORD(0), new_tensor)
        b.branch(begin)
        b.position_at_end(begin)
        log = self.load_log(missed, interrupted)
        # From here on, the reference to the log must be dropped.
        cleanup, missed = missed, self.create_block()
        tensors, new = self.field(log, "log.tensors"), b.load(new_tensor)
        self.need_type(tensors, "list", missed)
        b.cbranch(self.is_not(new, WORD(0)), ready, search)
        begin_end = b.block
        b.position_at_end(search)
        unreferenced = b.call(shared["take_unreferenced"], (log,))
        b.cbranch(self.is_not(unreferenced, WORD(0)), ready, allocate)
        b.position_at_end(allocate)
        # Before anything is read: up to Python 3.11 this may run a collection.
        if self.asks_python:
            self.call("Py_DecRef", log)
        b.store(self.need(b.call(shared["tensor"], ()), no_memory), new_tensor)
        b.branch(begin)
        b.position_at_end(ready)
        tensor = self.phi(WORD, (new, begin_end), (unreferenced, search))
        specs = [
            self.need(b.call(shared["operand"], (log, value, row)), missed)
            for value, row in zip(values, rows, strict=True)
        ]
        results = self._load_cell(closure, entry, "results")
        if pair_start:
            self.branch_if(b.icmp_unsigned("==", specs[0], WORD(NUMBER)), missed)
        pair = specs[pair_start:]
        arguments_of_numbers = zip(
            values[pair_start:], pair, reversed(pair), rows[pair_start:], strict=True
        )
        specs[pair_start:] = [
            self.need(b.call(shared["number"], (log, *numbers)), missed)
            for numbers in arguments_of_numbers
        ]
        if entry.arity == 1:
            spec = self.call("PyDict_GetItemWithError", results, specs[0])
        elif entry.arity == 2:
            same_spec_results = self._load_cell(closure, entry, "same_spec_results")
            spec = b.call(shared["result"], (same_spec_results, results, *specs))
        else:
            spec = self.look_up(results, *specs)
        self.need(spec, missed)
        row_object, n = self._write_row(
            log, spec, rows, self._load_cell(closure, entry, "code"), missed
        )
        new, reused = self.create_block(), self.create_block()
        b.cbranch(self.is_not(b.load(new_tensor), WORD(0)), new, reused)
        b.position_at_end(new)
        self._publish_new(log, tensors, tensor, spec, row_object, n, missed)
        b.position_at_end(reused)
        self._publish_reused(log, tensor, spec, row_object, n, missed)

        b.position_at_end(interrupted)
        self.call("Py_DecRef", b.load(new_tensor))
        b.branch(failed)
        b.position_at_end(failed)  # an interrupt: the error is set
        b.ret(WORD(0))
        b.position_at_end(no_memory)  # no memory: Python's recorder raises the error
        self.call("PyErr_Clear")
        b.branch(declined)
        b.position_at_end(missed)
        if self.asks_python:
            self.call("Py_DecRef", log)
        b.branch(cleanup)
        b.position_at_end(cleanup)
        self.call("PyErr_Clear")
        self.call("Py_DecRef", b.load(new_tensor))
        # The first time, enter operands that have no row yet, in their order, and try again.
        self.branch_if(self.is_not(b.load(has_retried), WORD(0)), declined)
        b.store(WORD(1), has_retried)
        statuses = WORD(0)
        dtype_operands = [*values[:pair_start], *reversed(values[pair_start:])]
        for value, other in zip(values, dtype_operands, strict=True):
            status = b.call(shared["enter_operand"], (value, other))
            self.branch_if(b.icmp_unsigned("==", status, WORD(RAISED)), failed)
            self.branch_if(b.icmp_unsigned("==", status, WORD(NOT_ENTERED)), declined)
            statuses = b.or_(statuses, status)
        b.cbranch(b.icmp_unsigned("==", statuses, WORD(HAD_ROW)), declined, retry)
        b.position_at_end(declined)
        b.ret(self.call("carry out", *function.args))
        if entry.is_method:
            method = self.begin_function(entry.symbol, 3)
            self.builder.ret(self.builder.call(function, [*method.args, WORD(0)]))

    def _load_closure(self, function: ir.Value, entry: RecorderEntry, declined: ir.Block) -> Any:
        """Load the recorder's closure, reached from the called function by `RecorderEntry.hops`."""
        for hop in entry.hops:
            if hop < 0:
                self.need_type(function, "builtin", declined)
                function = self.field(function, "builtin.self")
            else:
                cell = self.item(self.field(function, "function.closure"), hop)
                function = self.field(cell, "cell")
        return self.field(function, "function.closure")

    def _load_cell(self, closure: ir.Value, entry: RecorderEntry, name: str) -> Any:
        """Load the contents of a closure cell."""
        return self.field(self.item(closure, dict(entry.closure)[name]), "cell")

    def _write_row(
        self,
        log: ir.Value,
        spec: ir.Value,
        operand_rows: list[Any],
        code: ir.Value,
        missed: ir.Block,
    ) -> tuple[Any, Any]:
        """Write the row. Return its number: a Python int, and a word."""
        b = self.builder
        row = self.field(log, "log.n")
        n, limit_object = self.to_int(row), self.field(log, "log.limit")
        limit = self.to_int(limit_object)
        digits = self.load(limit_object, self.offsets["int.digits"])
        # All row numbers then have one digit as well.
        self.branch_if(self.is_not(digits, self.known_object("one digit")), missed)
        self.branch_if(b.icmp_signed(">=", n, limit), missed)
        self.write_column(log, "log.code", n, self.to_int(code))
        for column, operand in zip(("log.a", "log.b", "log.c"), operand_rows, strict=False):
            self.write_column(log, column, n, self.load(operand))
        self.write_column(log, "log.spec", n, self.to_int(self.field(spec, "spec.id")))
        return row, n

    def _publish_new(
        self,
        log: ir.Value,
        tensors: ir.Value,
        tensor: ir.Value,
        spec: ir.Value,
        row: ir.Value,
        n: ir.Value,
        missed: ir.Block,
    ) -> None:
        """Publish the row, and return its new tensor."""
        b = self.builder
        new_length = self.need(self.call("PyLong_FromSsize_t", b.add(n, WORD(1))), missed)
        not_appended, appended = self.create_block(), self.create_block()
        b.cbranch(self.reports_error("PyList_Append", tensors, tensor), not_appended, appended)
        b.position_at_end(not_appended)
        self.call("Py_DecRef", new_length)
        b.branch(missed)
        b.position_at_end(appended)
        for owned in (spec,) if self.asks_python else (log, spec):
            self.add_reference(owned)
        self.set_field(log, tensor, "tensor._home")
        self.set_field(row, tensor, "tensor._row")  # it takes over the log's reference
        self.set_field(spec, tensor, "tensor._spec")
        self.set_field(new_length, log, "log.n")
        b.ret(tensor)

    def _publish_reused(
        self,
        log: ir.Value,
        tensor: ir.Value,
        spec: ir.Value,
        row: ir.Value,
        n: ir.Value,
        missed: ir.Block,
    ) -> None:
        """Like `_publish_new`, for a tensor that only the log's list references.

        The tensor keeps its position in the list.
        """
        b = self.builder
        old_row, old_spec = (self.field(tensor, f"tensor.{name}") for name in ("_row", "_spec"))
        new_length = b.add(n, WORD(1))
        # An unshared int is overwritten with the log's new length.
        overwrite, allocate, join = self.create_block(), self.create_block(), self.create_block()
        self.branch_if(self.is_not(self.field(old_row, "references"), WORD(1)), allocate)
        b.cbranch(
            self.is_not(self.field(old_row, "type"), self.known_object("int")), allocate, overwrite
        )
        b.position_at_end(overwrite)
        digit = self.pointer_to(old_row, self.offsets["int.digit"], HALF.as_pointer())
        b.store(b.trunc(new_length, HALF), digit)
        b.branch(join)
        b.position_at_end(allocate)
        allocated_length = self.need(self.call("PyLong_FromSsize_t", new_length), missed)
        allocate_end = b.block
        b.branch(join)
        b.position_at_end(join)
        length = self.phi(WORD, (old_row, overwrite), (allocated_length, allocate_end))
        dropped_row = self.phi(WORD, (WORD(0), overwrite), (old_row, allocate_end))
        self.add_reference(tensor)
        self.set_field(row, tensor, "tensor._row")  # it takes over the log's reference
        self.set_field(length, log, "log.n")
        self.call("Py_DecRef", dropped_row)
        if self.asks_python:
            self.call("Py_DecRef", log)
        done, replace_spec = self.create_block(), self.create_block()
        b.cbranch(b.icmp_unsigned("==", old_spec, spec), done, replace_spec)
        b.position_at_end(replace_spec)
        self.add_reference(spec)
        self.set_field(spec, tensor, "tensor._spec")
        self.drop_reference(old_spec)  # last: this may free other objects
        b.branch(done)
        b.position_at_end(done)
        b.ret(tensor)
