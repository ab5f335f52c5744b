"""Liveness of tensors in machine code, and reuse of unreferenced tensors.

Each row of a log has a tensor, and most are referenced only by the log when values are computed.
`live_tensors` counts references in one step, as its definition in `core.log.references` does. When
the log starts again, `release` empties the list of its tensors. Tensors that only this list
referenced drop their fields and wait in a list of spare tensors, to be reused.

Most tensors are reused earlier: a recorder takes an unreferenced tensor out of the log's list and
gives it another row, in the same place of the list. So a program that drops its results has few
tensors, however many rows it records, and Python's garbage collector, which counts allocated
objects and visits existing ones, has nothing to do. Tensors that an evaluation has considered keep
their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from .writer import WORD, Writer

MAX_SPARE = 1024  # spare tensors, of some hundred bytes each
TRIES = 2  # tensors of the list that are checked before a new one is allocated
SLOTS = "_home", "_row", "_spec"
OPTIONAL_SLOTS = "_cell", "_device_copy", "_keras_logits", "_keras_mask", "_sliced"


class References(Writer):
    """Writes the functions of this module."""

    @contextmanager
    def each(self, things: Any) -> Iterator[tuple[Any, Any]]:
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

    def _unreferenced_fields(self, tensor: Any, other: Any) -> list[Any]:
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

    def element(self, things: Any, k: Any) -> Any:
        """Load an element of a list."""
        return self.load(self.field(things, "list.items"), self.builder.mul(k, WORD(8)))
