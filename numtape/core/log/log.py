"""The log: a flat struct of arrays with one row for each value.

A row's number is the name of its value. Column ``code`` says what the row is, ``a``, ``b``, ``c``
are the rows that it reads (a variadic row reads ``extra[a : a + b]``), ``spec`` is its shape and
dtype. ``cell`` holds a value of one element, or the address of the buffer of a larger value once
there is one; ``state`` says whether the value exists.

A log belongs to one thread, and only that thread appends and rewinds. Other threads may read
values; code that computes values or moves columns holds the lock.

A signal handler or a finalizer can run in the middle of anything that its thread does, and may use
the log as well. Rows are appended in blocks that cannot be interrupted (see
`core.values.intern_table`), so handlers may append. They may also cause a rewind, which invalidates
row numbers. Code that keeps row numbers across an interruption point therefore either

- checks, in the block that uses them, that `tensors` is the same list as before the rows were
  read (a rewind replaces the list), and starts again if it is not;
- or keeps the log from rewinding: a tape that is not spent does so, and so does `busy`.

While rows are written but not published, and while values are computed, a handler must not append
to this log. During that time the thread's current log is another one, `reentrant_log`.
"""

from __future__ import annotations

import math
import struct
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...kernels.passes.rows import VALUE as VALUE
from ..settings import after_fork_in_child
from ..values import dtypes
from ..values.convert import to_array
from ..values.intern_table import LOGS
from ..values.memory import Array, address_of, resize
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import liveness
from .columns import PACK, Columns, bits_of
from .interface import LogInterface
from .op import LEAF, READ, STOP, defop
from .thread_state import ThreadState

if TYPE_CHECKING:
    from ..derive.tape import Tape
    from .variable import Variable

# A log that nothing evaluates is evaluated and rewound after this many rows or bytes of buffers.
SWEEP_ROWS = 8192
SWEEP_BYTES = 256 << 20
SLACK = 64  # rows one op may append besides its own: constants, variable reads


def _no_spec(*_: object) -> Spec:
    raise AssertionError("leaves are not recorded as ops")


LEAF_OP = defop("Const", LEAF, 0, _no_spec)
READ_OP = defop("ReadVariableOp", READ, 0, _no_spec)
# Reads a value that is still a row of this log. Its derivative does not flow on to that row: a
# variable is state.
READ_ROW_OP = defop("ReadVariableOp", READ, 1, _no_spec)
LEAF_CODE, READ_CODE, READ_ROW_CODE = LEAF_OP.code(), READ_OP.code(), READ_ROW_OP.code()
# Reads through the result of an assign, which do not make a tape watch the variable.
_UNREAD_OPS = [defop("ReadVariableOp", READ, arity, _no_spec, gradient=STOP) for arity in (0, 1)]
UNREAD_CODES = _UNREAD_OPS[1].code(), _UNREAD_OPS[0].code()


class Log(LogInterface):
    """The log of one thread. See the module docstring; `core.log.evaluate` computes values."""

    new_list: ClassVar[Callable[..., list[Tensor]]] = list  # `derive.instrumentation` replaces it
    tape_type: ClassVar[type]  # set in `core.bindings`

    __slots__ = (
        "__weakref__",
        "_const_rows",
        "_leaf_rows",
        "_reentrant",
        "a",
        "b",
        "buffers",
        "busy",
        "bytes",
        "bytes_limit",
        "c",
        "calls",
        "code",
        "columns",
        "computations",
        "eager",
        "evaluate_fast_paths",
        "extra",
        "extra_n",
        "full_rescan_at",
        "gradient_fast_paths",
        "lazy",
        "lazy_rescan_at",
        "limit",
        "lock",
        "n",
        "owner",
        "pending",
        "pending_cleanup",
        "reads",
        "scanned",
        "spec",
        "tapes",
        "tensors",
        "variable_index",
        "variables",
        "workspace",
    )

    def __init__(self, capacity: int = 2 * SWEEP_ROWS) -> None:
        self.lock = threading.RLock()
        self.owner = threading.get_ident()
        self.busy = False  # rows must keep their numbers, for example while a gradient is recorded
        self.n = 0
        self.columns = columns = Columns(capacity)
        self.code, self.spec = columns.code_view, columns.spec_view
        self.a, self.b, self.c = columns.a_view, columns.b_view, columns.c_view
        self.computations = 0  # how often values were computed
        self.limit = min(SWEEP_ROWS, capacity) - SLACK
        self.extra = np.empty(256, np.int32)  # operands of variadic rows
        self.extra_n = 0
        self.buffers: dict[int, Any] = {}  # values of more than one element; on a GPU, arrays there
        self.bytes = 0
        self.bytes_limit = SWEEP_BYTES
        self.tensors: list[Tensor] = self.new_list()  # every live tensor with a row here
        self.scanned = 0  # how many of `tensors` an evaluation has considered
        self.lazy_rescan_at = 0  # length of `lazy` from which on it is filtered again
        self.full_rescan_at = 0  # number of rows from which on all tensors are considered again
        self.lazy: list[Tensor] = []  # tensors that were live but uncomputed when considered
        self.eager: set[int] = set()  # rows of gradients that are not computed yet
        self.pending: dict[int, Variable] = {}  # variables whose value is an uncomputed row
        self.reads: list[Variable] = []  # variables with a read that may be reused
        self.variables: list[Variable] = []  # by their number in this log
        self.variable_index: dict[int, int] = {}
        self.tapes: list[weakref.ref[Tape]] = []  # tapes that may hold rows of this log
        self.pending_cleanup: list[Any] = []  # leftovers of native loops for deferred sweeps
        self.calls: dict[int, Any] = {}  # custom derivatives by row, see `derive.custom`
        self._const_rows: dict[Any, int] = {}
        self._leaf_rows: dict[int, tuple[int, Any]] = {}
        self.workspace: Any = None  # of the executor
        self.evaluate_fast_paths: tuple[Any, ...] = ()  # evaluations that machine code runs
        self.gradient_fast_paths: tuple[Any, ...] = ()  # gradients that machine code records
        self._reentrant: Log | None = None
        LOGS.add(self)

    def numbers(self, column: str) -> Array:
        """Return the code or spec ids of the rows."""
        ids: Array = getattr(self.columns, column)[: self.n]
        return ids

    def reentrant_log(self) -> Log:
        """Return the log for signal handlers and finalizers that must not record in this one."""
        log = self
        while True:
            reentrant = log._reentrant
            if reentrant is None:
                reentrant = log._reentrant = Log()
            if reentrant not in local.evaluating:
                return reentrant
            log = reentrant  # the handler is interrupted itself

    def reserve(self, rows: int) -> None:
        """Reserve capacity for ``rows`` more rows."""
        while self.n + rows + SLACK > self.columns.capacity:
            with self.lock:
                old, n, computations = self.columns, self.n, self.computations
                columns = Columns(max(2 * old.capacity, n + rows + SLACK), old, n)
                # atomic: see core.values.intern_table
                if self.columns is old and self.n == n and self.computations == computations:
                    self.columns = columns
                    self.code = columns.code_view
                    self.a = columns.a_view
                    self.b = columns.b_view
                    self.c = columns.c_view
                    self.spec = columns.spec_view
                # end atomic

    def shrink(self) -> None:
        """Free columns that are much larger than the rows need, and the plans that use them."""
        capacity = 2 * max(SWEEP_ROWS, self.n)
        if capacity < self.columns.capacity:
            self.workspace = None
            self.columns = columns = Columns(capacity, self.columns, self.n)
            self.code, self.spec = columns.code_view, columns.spec_view
            self.a, self.b, self.c = columns.a_view, columns.b_view, columns.c_view
            self.limit = min(self.limit, capacity - SLACK)

    def reserve_operands(self, count: int) -> None:
        """Reserve capacity for ``count`` more operands of variadic rows."""
        while self.extra_n + count > self.extra.size:
            with self.lock:
                old, n = self.extra, self.extra_n
                extra = resize(old, max(2 * old.size, n + count), n)
                # atomic: see core.values.intern_table
                if self.extra is old and self.extra_n == n:
                    self.extra = extra
                # end atomic

    def ensure_capacity(self) -> None:
        """Evaluate and rewind the log if it is full, or grow it if its rows are needed."""
        if self.n < self.limit:
            return
        # Without tensors the log holds only operands of an op that is about to be recorded, and
        # they exceed the limit. A rewind would not help: the op would append them again.
        is_empty = not self.tensors
        if (
            is_empty
            or self.busy
            or not self.collect()
            or (self.n >= self.limit and local.log is self)
        ):
            self.bytes_limit = max(2 * self.bytes, self.bytes_limit)
            if self.n + SLACK >= self.columns.capacity:
                self.reserve(self.columns.capacity)
            self.limit = self.columns.capacity - SLACK

    # Appending. A row is written, then published by raising `n`; also in `core.native.recorder`.

    def leaf(self, array: Array, spec: Spec) -> int:
        """Append a leaf whose value is ``array``, which must not be written to. Return its row."""
        single = spec.single
        cell = bits_of(array.tobytes()) if single else address_of(array)
        size = 0 if single else array.nbytes
        # atomic: see core.values.intern_table
        n = self.n
        self.code[n] = LEAF_CODE
        self.spec[n] = spec.id
        columns = self.columns
        columns.cell_view[n] = cell
        columns.state_view[n] = VALUE
        if not single:
            self.buffers[n] = array
        self.bytes = self.bytes + size
        self.n = n + 1
        # end atomic
        if self.bytes > self.bytes_limit:
            self.limit = 0  # the next op evaluates and rewinds, if no tape holds the rows
        return n

    def copy_constant(self, row: int, spec: Spec) -> int:
        """Append a leaf with the value of a constant. Return its row."""
        return self.leaf(self.value(row, spec), spec)

    def complex_constant(self, value: float, spec: Spec) -> int:
        """Return the row of a number as a complex128, which does not fit into a cell."""
        return self.leaf(np.full(spec.shape, value, spec.dtype.numpy_dtype), spec)

    def put(self, row: int, array: Any, spec: Spec) -> None:
        """Store the value of a row; the caller sets its state."""
        if spec.single:
            self.columns.cell_view[row] = bits_of(array.tobytes())
        else:
            self.buffers[row] = array
            self.columns.cell_view[row] = address_of(array)
            self.bytes += array.nbytes
            if self.bytes > self.bytes_limit:
                self.limit = 0  # the next op evaluates and rewinds, if no tape holds the rows

    def constant(self, value: float, spec: Spec) -> int:
        """Return the row of a Python number of ``spec`` (one element); equal numbers share a row.

        ``-0.0`` and ``0.0`` are different, and so are equal numbers of different dtypes.
        """
        # Zeros are told apart by their sign. All other numbers are equal only if they are the same.
        key = (value, spec) if value else (math.copysign(1.0, value), spec, None)
        row = self._const_rows.get(key)
        if row is not None:
            return row
        if not spec.single:
            return self._const_rows.setdefault(key, self.complex_constant(value, spec))
        try:
            raw = PACK[spec.dtype](value)
        except (OverflowError, struct.error):
            raw = PACK[spec.dtype](dtypes.overflow_to_infinity(value, spec.dtype))
        cell = bits_of(raw)
        # atomic: see core.values.intern_table
        n = self.n
        self.code[n] = LEAF_CODE
        self.spec[n] = spec.id
        columns = self.columns
        columns.cell_view[n] = cell
        columns.state_view[n] = VALUE
        self.n = n + 1
        self._const_rows[key] = n
        # end atomic
        return n

    def row_of(self, value: Any, like: Spec | None, op: str) -> tuple[int, Spec]:
        """Return the row and spec of any operand: a tensor of any log, a variable, another value.

        A NumPy or Python value takes the dtype of the other operand, ``like``, if there is one.
        """
        value_type = type(value)
        if value_type is Tensor:
            home = value._home
            spec = value._spec
            if home is self:
                return value._row, spec
            key, tensors = id(value), self.tensors
            leaf = self._leaf_rows.get(key)
            if leaf is None:
                leaf = self.leaf(value._stored_value(), spec), value
                # atomic: see core.values.intern_table
                if self.tensors is tensors:
                    self._leaf_rows[key] = leaf
                # end atomic
            return leaf[0], spec
        if value_type is float or value_type is int:
            if like is not None and like.inexact:
                spec = like.scalar or like.with_scalar()
                row = self._const_rows.get((value, spec))
                if row is not None and value:
                    return row, spec
            else:
                dtype = dtypes.of_number(value, like, op)  # raises if the number does not fit
                spec = intern((), dtype) if like is None else like.scalar or like.with_scalar()
            return self.constant(value, spec), spec
        if hasattr(value, "_read_in"):  # a Variable
            return value._read_in(self), value._spec
        busy = self.busy
        try:
            self.busy = True  # a list may record ops, which must not invalidate the caller's rows
            converted = to_array(value, like, op)
        finally:
            self.busy = busy
        if isinstance(converted, Tensor):  # a list that contains tensors, packed
            return self.row_of(converted, like, op)
        spec = intern(converted.shape, dtypes.of_array(converted))
        return self.leaf(converted, spec), spec

    def number(self, variable: Variable) -> int:
        """Return a variable's number in this log."""
        key = id(variable)
        while True:
            index = self.variable_index
            known_number = index.get(key)
            if known_number is not None:
                return known_number
            variables = self.variables
            if index is not self.variable_index:  # the log was rewound meanwhile
                continue
            number = len(variables)
            variables.append(variable)
            if variables[number] is variable:  # false if a handler appended one meanwhile
                return index.setdefault(key, number)

    def read(self, variable: Variable, value: Tensor, codes: tuple[int, int] | None = None) -> int:
        """Append a read of a variable whose current value is ``value``.

        Args:
          variable: The variable.
          value: Its value.
          codes: The codes of the read for a value that is a row of this log, and for any other.
        """
        row_code, value_code = codes or (READ_ROW_CODE, READ_CODE)
        while True:
            variables = self.variables
            number = self.number(variable)
            home: object = value._home
            spec = value._spec
            if home is self:
                # atomic: see core.values.intern_table
                n = self.n
                if self.variables is variables and value._home is home:
                    self.code[n] = row_code
                    self.a[n] = value._row
                    self.b[n] = number
                    self.spec[n] = spec.id
                    self.n = n + 1
                    return n
                # end atomic
                continue
            array = home if type(home) is np.ndarray else value._stored_value()
            single = spec.single
            cell = bits_of(array.tobytes()) if single else address_of(array)
            size = 0 if single else array.nbytes
            # atomic: see core.values.intern_table
            n = self.n
            if self.variables is variables:
                self.code[n] = value_code
                self.b[n] = number
                self.spec[n] = spec.id
                columns = self.columns
                columns.cell_view[n] = cell
                columns.state_view[n] = VALUE
                if not single:
                    self.buffers[n] = array
                self.bytes = self.bytes + size
                self.n = n + 1
                # end atomic
                if self.bytes > self.bytes_limit:
                    self.limit = 0  # the next op evaluates and rewinds, if no tape holds the rows
                return n

    def read_unwatched(self, variable: Variable) -> int:
        """Append a read that makes no tape watch the variable. Return its row."""
        return self.read(variable, variable._value, UNREAD_CODES)

    def invalidate_reads(self) -> None:
        """Discard reusable reads of variables: a tape was entered, or began to watch."""
        reads = self.reads
        has_reads = bool(reads)
        while has_reads:
            # atomic: see core.values.intern_table
            if reads:
                variable = reads[-1]
                read = variable._read
                if read is not None and read[0] is self:
                    variable._read = None
                del reads[-1]
            # end atomic
            has_reads = bool(reads)

    def tensor(self, row: int, spec: Spec) -> Tensor:
        """Return a new tensor for a row of this log."""
        tensor = Tensor()
        tensor._home = self
        tensor._row = row
        tensor._spec = spec
        self.tensors.append(tensor)
        return tensor

    # Values. The functions that compute them need logs, so `core.log.evaluate` sets these.

    evaluate: ClassVar[Callable[[Log, Tensor], Array]]
    evaluate_on_device: ClassVar[Callable[[Log, Tensor], Any]]
    evaluate_row: ClassVar[Callable[[Log, Tensor], Any]]
    collect: ClassVar[Callable[[Log], bool]]
    complete: ClassVar[Callable[[Log], None]]

    def stored_value(self, row: int, spec: Spec) -> Any:
        """Return the value of a row whose state is VALUE. It may be an array on a GPU."""
        if spec.single:
            # A plain tuple: for a subclass NumPy calls Python code.
            cell, shape = self.columns.cell, (*spec.shape,)
            return np.ndarray(shape, spec.dtype.numpy_dtype, cell, 8 * row).copy()
        return self.buffers[row]

    def value(self, row: int, spec: Spec) -> Array:
        """Return the value of a row whose state is VALUE, as a NumPy array."""
        value = self.stored_value(row, spec)
        return value if isinstance(value, np.ndarray) else value.host()

    def fetch(self) -> None:
        """Copy all values to the host that were computed on a GPU."""
        for row, buffer in self.buffers.copy().items():  # handlers may record meanwhile
            if not isinstance(buffer, np.ndarray):
                array = buffer.host()
                address = address_of(array)
                # atomic: see core.values.intern_table
                self.columns.cell_view[row] = address
                self.buffers[row] = array
                # end atomic

    def is_held(self) -> bool:
        """Return whether a tape may still ask for gradients of rows of this log."""
        holding = [x for x in self.tapes if (tape := x()) is not None and tape.holds(self)]
        self.tapes = holding
        if not holding and not self.busy:
            self.drop_calls()
        return bool(holding)

    def successor(self) -> Log:
        """Return the log that the thread continues with when tapes hold this one."""
        return Log()

    def drop_calls(self) -> None:
        """Release custom derivatives: no tape can ask for them."""
        self.calls = {}

    def is_recorded(self) -> bool:
        """Return whether a tape records here.

        An interrupt may leave a `with` block without running its end. Then the tape records until
        it is garbage collected, which is why the reference to it is weak.
        """
        tapes = self.tapes
        return bool(tapes) and any(tape.recording for x in tapes if (tape := x()) is not None)

    def may_follow(self, value: Tensor | Variable) -> bool:
        """Return whether a tape that records here may follow a tensor or variable."""
        tapes = [tape for x in self.tapes if (tape := x()) is not None]
        return any(tape.recording and tape.follows(value) for tape in tapes)

    def rewind(self) -> None:
        """Start again at row 0. All tensors that are still reachable have their values.

        The order of the steps matters: an interrupt after any of them leaves a log that works.
        """
        self.invalidate_reads()
        self._const_rows.clear()
        self._leaf_rows.clear()
        self.calls = {}
        self.pending_cleanup = []
        self.pending.clear()
        self.eager.clear()
        self.lazy.clear()
        self.variables = []  # first: see `number`
        self.variable_index = {}
        self.scanned = 0
        self.full_rescan_at = 0
        self.lazy_rescan_at = 0
        if self.workspace is not None:
            self.workspace.clear_wants(self.n)
        dropped = self.tensors
        self.tensors = self.new_list()  # a new list: interrupted recorders start again
        liveness.release(dropped)
        self.buffers.clear()
        self.bytes = 0
        self.bytes_limit = SWEEP_BYTES
        self.columns.state[: self.n] = 0
        self.limit = SWEEP_ROWS - SLACK
        self.extra_n = 0
        self.n = 0


class RuleLog(Log):
    """The log of a derivative rule, which may only record: its rows have no values."""

    __slots__ = ()

    symbolic = nested = True
    to_complex: ClassVar[int]  # code of a cast to complex128, set in `core.ops.elementwise`

    def copy_constant(self, row: int, spec: Spec) -> int:
        """Return a leaf with the value of a constant, or the row itself if that is a cast."""
        return super().copy_constant(row, spec) if spec.single else row

    def complex_constant(self, value: float, spec: Spec) -> int:
        """Return the row of a number cast to complex128: constants of rules are stored in cells."""
        row, n = self.constant(value, intern((), dtypes.float64)), self.n
        self.code[n] = self.to_complex
        self.a[n] = row
        self.spec[n] = spec.id
        self.n = n + 1
        return n

    def has_values(self) -> bool:
        """Return False: rows of a derivative rule have no values."""
        return False

    def evaluate_row(self, tensor: Tensor) -> Any:
        """Raise an error: there is no value."""
        raise RuntimeError("A derivative rule read a value; it may only record ops.")

    def collect(self) -> bool:
        """Return False: rows keep their numbers."""
        return False

    def complete(self) -> None:
        """Do nothing: there are no values to compute."""


ThreadState.make_log = Log
local = ThreadState()


def _renew_locks_after_fork() -> None:
    for log in LOGS:
        if isinstance(log, Log):
            log.lock = threading.RLock()


after_fork_in_child(_renew_locks_after_fork)


def current_name_scope() -> str:
    """Return the prefix of the names of new variables, with a slash at its end, or ""."""
    scope: str = local.log.call_guarded(getattr, local, "scope")
    return scope
