"""The log: a flat struct of arrays, one row a value.

A row's number is its value's name. Column ``code`` says what the row is, ``a``, ``b``, ``c``
which rows it reads (a variadic row reads ``extra[a : a + b]``), ``spec`` its shape and dtype.
``cell`` holds a value of one element, or the address of a larger value's buffer once there is
one; ``state`` says whether it holds it.

One log belongs to one thread, which alone appends and rewinds. Other threads may look at
values; whoever computes or moves columns holds the lock.

A signal handler or a finalizer runs in the middle of whatever its thread does, and may do all that
as well. Rows are appended in stretches that nothing divides (see `core.values.interning`), so it
may append. It may have the log rewound, after which the numbers of rows mean nothing. So who has
numbers of rows and goes on either

- asks, in the stretch where it uses them, whether `tensors` is the list that it was before they were
  read (rewinding replaces it), and if not begins again;
- or has the log hold its rows: a tape that is not spent does, and `busy`.

Where rows are written but not published, and where values are computed, a handler must not append
at all. There the thread's current log is another one, `reentrant_log`.
"""

from __future__ import annotations

import math
import struct
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..settings import after_fork_in_child
from ..values import dtypes
from ..values.convert import to_array
from ..values.interning import LOGS
from ..values.memory import Array, address_of, resized
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import references
from .columns import PACK, Columns, bits_of
from .hooks import LogInterface
from .op import LEAF, READ, STOP, defop
from .threads import ThreadState

if TYPE_CHECKING:
    from ..derive.tape import Tape
    from .variable import Variable

VALUE = 1  # the state of a row whose cell holds its value; as in kernels/passes/rows.py

# Rows after which a log that nobody looks at is swept, and bytes of buffers after which it is.
SWEEP_ROWS = 8192
SWEEP_BYTES = 256 << 20
SLACK = 64  # rows one op may append besides its own: constants, variable reads


def _no_spec(*_: Any) -> Spec:
    raise AssertionError("leaves are not recorded as ops")


LEAF_OP = defop("Const", LEAF, 0, _no_spec)
READ_OP = defop("ReadVariableOp", READ, 0, _no_spec)
# A read of a value that is still a row of this log. Its derivative does not flow on to that
# row: a variable is state.
READ_ROW_OP = defop("ReadVariableOp", READ, 1, _no_spec)
LEAF_CODE, READ_CODE, READ_ROW_CODE = LEAF_OP.code(), READ_OP.code(), READ_ROW_OP.code()
# Reads through what an assign returned, which do not make a tape watch the variable.
_UNREAD_OPS = [defop("ReadVariableOp", READ, arity, _no_spec, gradient=STOP) for arity in (0, 1)]
UNREAD_CODES = _UNREAD_OPS[1].code(), _UNREAD_OPS[0].code()


class Log(LogInterface):
    """One thread's log. See the module's docstring; `numtape.core.log.evaluate` computes its values."""

    new_list: ClassVar[Callable[..., list[Tensor]]] = list  # `derive.noting` has another one
    tape_type: ClassVar[type]  # set in `core.wiring`

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
        "extra",
        "extra_n",
        "tensors",
        "lazy",
        "pending_cleanup",
        "limit",
        "lock",
        "n",
        "owner",
        "lazy_rescan_at",
        "pending",
        "reads",
        "gradient_fast_paths",
        "evaluate_fast_paths",
        "scanned",
        "full_rescan_at",
        "spec",
        "tapes",
        "variable_index",
        "variables",
        "workspace",
    )

    def __init__(self, capacity: int = 2 * SWEEP_ROWS) -> None:
        self.lock = threading.RLock()
        self.owner = threading.get_ident()
        self.busy = False  # rows must stay where they are: a gradient is being recorded, say
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
        self.tensors: list[Tensor] = self.new_list()  # every tensor with a row here that lives
        self.scanned = 0  # how many of them a look has considered
        self.lazy_rescan_at = 0  # how many lazy ones there must be before they are considered again
        self.full_rescan_at = 0  # how many rows there must be before a look considers all of them again
        self.lazy: list[Tensor] = []  # those that were alive then, and not computed
        self.eager: set[int] = set()  # gradients not swept yet
        self.pending: dict[int, Variable] = {}  # variables whose value is a row not swept yet
        self.reads: list[Variable] = []  # variables with a read that may be used again
        self.variables: list[Variable] = []  # by their number in this log
        self.variable_index: dict[int, int] = {}
        self.tapes: list[weakref.ref[Tape]] = []  # tapes that may hold rows of this log
        self.pending_cleanup: list[Any] = []  # what sweeps of native loops left for others
        self.calls: dict[int, Any] = {}  # by rows of `derive.custom`: what has their derivatives
        self._const_rows: dict[Any, int] = {}
        self._leaf_rows: dict[int, tuple[int, Any]] = {}
        self.workspace: Any = None  # the executor's
        self.evaluate_fast_paths: tuple[Any, ...] = ()  # looks that machine code carries out
        self.gradient_fast_paths: tuple[Any, ...] = ()  # gradients that it records
        self._reentrant: Log | None = None
        LOGS.add(self)

    def numbers(self, column: str) -> Array:
        """The numbers of codes or specs in the rows."""
        ids: Array = getattr(self.columns, column)[: self.n]
        return ids

    def reentrant_log(self) -> Log:
        """The log for signal handlers and finalizers where they must not record here."""
        log = self
        while True:
            reentrant = log._reentrant
            if reentrant is None:
                reentrant = log._reentrant = Log()
            if reentrant not in local.evaluating:
                return reentrant
            log = reentrant  # a handler that is interrupted itself

    def reserve(self, rows: int) -> None:
        """Make room for ``rows`` more rows."""
        while self.n + rows + SLACK > self.columns.capacity:
            with self.lock:
                old, n, computations = self.columns, self.n, self.computations
                columns = Columns(max(2 * old.capacity, n + rows + SLACK), old, n)
                # whole: nothing runs in between, see core.values.interning
                if self.columns is old and self.n == n and self.computations == computations:
                    self.columns = columns
                    self.code = columns.code_view
                    self.a = columns.a_view
                    self.b = columns.b_view
                    self.c = columns.c_view
                    self.spec = columns.spec_view
                # done

    def shrink(self) -> None:
        """Give back columns, and what is planned in, that have room for many more rows."""
        capacity = 2 * max(SWEEP_ROWS, self.n)
        if capacity < self.columns.capacity:
            self.workspace = None
            self.columns = columns = Columns(capacity, self.columns, self.n)
            self.code, self.spec = columns.code_view, columns.spec_view
            self.a, self.b, self.c = columns.a_view, columns.b_view, columns.c_view
            self.limit = min(self.limit, capacity - SLACK)

    def reserve_operands(self, count: int) -> None:
        """Make room for ``count`` more operands of variadic rows."""
        while self.extra_n + count > self.extra.size:
            with self.lock:
                old, n = self.extra, self.extra_n
                extra = resized(old, max(2 * old.size, n + count), n)
                # whole: nothing runs in between, see core.values.interning
                if self.extra is old and self.extra_n == n:
                    self.extra = extra
                # done

    def ensure_capacity(self) -> None:
        """If the log is full, sweep and rewind it, or grow it if its rows are needed."""
        if self.n < self.limit:
            return
        # Operands alone, which are larger than what is allowed: the op that reads them is still to
        # be recorded, and would bring them again.
        is_empty = not self.tensors
        if is_empty or self.busy or not self.collect() or (self.n >= self.limit and local.log is self):
            self.bytes_limit = max(2 * self.bytes, self.bytes_limit)
            if self.n + SLACK >= self.columns.capacity:
                self.reserve(self.columns.capacity)
            self.limit = self.columns.capacity - SLACK

    # Appending. A row is written, and published by raising `n`; in `core.native.entering`, too.

    def leaf(self, array: Array, spec: Spec) -> int:
        """Append a leaf whose value is ``array``, which nobody writes to. Returns its row."""
        single = spec.single
        cell = bits_of(array.tobytes()) if single else address_of(array)
        size = 0 if single else array.nbytes
        # whole: nothing runs in between, see core.values.interning
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
        # done
        if self.bytes > self.bytes_limit:
            self.limit = 0  # the next op sweeps, if no tape holds the rows
        return n

    def copy_constant(self, row: int, spec: Spec) -> int:
        """A leaf with the value that a constant has."""
        return self.leaf(self.value(row, spec), spec)

    def complex_constant(self, value: float, spec: Spec) -> int:
        """The row of a number as a complex128, which no cell can hold."""
        return self.leaf(np.full(spec.shape, value, spec.dtype.numpy_dtype), spec)

    def put(self, row: int, array: Any, spec: Spec) -> None:
        """Store the value of a row (its state is the caller's to set)."""
        if spec.single:
            self.columns.cell_view[row] = bits_of(array.tobytes())
        else:
            self.buffers[row] = array
            self.columns.cell_view[row] = address_of(array)
            self.bytes += array.nbytes
            if self.bytes > self.bytes_limit:
                self.limit = 0  # the next op sweeps, if no tape holds the rows

    def constant(self, value: Any, spec: Spec) -> int:
        """The row of a Python number of ``spec`` (one element), one row for equal ones.

        ``-0.0`` and ``0.0`` are different, and so are equal numbers of different dtypes.
        """
        # A zero carries its sign; every other number equals only numbers of its own value.
        key = (value, spec) if value else (math.copysign(1.0, value), spec, None)
        row = self._const_rows.get(key)
        if row is not None:
            return row
        if not spec.single:
            return self._const_rows.setdefault(key, self.complex_constant(value, spec))
        try:
            raw = PACK[spec.dtype](value)
        except (OverflowError, struct.error):
            raw = PACK[spec.dtype](dtypes.too_large(value, spec.dtype))
        cell = bits_of(raw)
        # whole: nothing runs in between, see core.values.interning
        n = self.n
        self.code[n] = LEAF_CODE
        self.spec[n] = spec.id
        columns = self.columns
        columns.cell_view[n] = cell
        columns.state_view[n] = VALUE
        self.n = n + 1
        self._const_rows[key] = n
        # done
        return n

    def row_of(self, value: Any, like: Spec | None, op: str) -> tuple[int, Spec]:
        """The row and spec of any operand: a tensor of any log, a variable, or another value.

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
                leaf = self.leaf(value._stored(), spec), value
                # whole: nothing runs in between, see core.values.interning
                if self.tensors is tensors:
                    self._leaf_rows[key] = leaf
                # done
            return leaf[0], spec
        if value_type is float or value_type is int:
            if like is not None and like.inexact:
                spec = like.scalar or like.with_scalar()
                row = self._const_rows.get((value, spec))
                if row is not None and value:
                    return row, spec
            else:
                dtype = dtypes.of_number(value, like, op)  # and whether it fits
                spec = intern((), dtype) if like is None else like.scalar or like.with_scalar()
            return self.constant(value, spec), spec
        if hasattr(value, "_read_in"):  # a Variable
            return value._read_in(self), value._spec
        busy = self.busy
        try:
            self.busy = True  # a list may record ops; the rows at hand must stay
            converted = to_array(value, like, op)
        finally:
            self.busy = busy
        if isinstance(converted, Tensor):  # a list with tensors inside, packed
            return self.row_of(converted, like, op)
        spec = intern(converted.shape, dtypes.of_array(converted))
        return self.leaf(converted, spec), spec

    def number(self, variable: Variable) -> int:
        """A variable's number in this log."""
        key = id(variable)
        while True:
            index = self.variable_index
            known_number = index.get(key)
            if known_number is not None:
                return known_number
            variables = self.variables
            if index is not self.variable_index:  # the log was rewound in between
                continue
            number = len(variables)
            variables.append(variable)
            if variables[number] is variable:  # else somebody appended another one in between
                return index.setdefault(key, number)

    def read(self, variable: Variable, value: Tensor, codes: tuple[int, int] | None = None) -> int:
        """Append a read of a variable whose current value is ``value``.

        Args:
          variable: The variable.
          value: Its value.
          codes: What kind of read it is, where the value is a row of this log and where it is not.
        """
        row_code, value_code = codes or (READ_ROW_CODE, READ_CODE)
        while True:
            variables = self.variables
            number = self.number(variable)
            spec, home = value._spec, value._home
            if home is self:
                # whole: nothing runs in between, see core.values.interning
                n = self.n
                if self.variables is variables and value._home is home:
                    self.code[n] = row_code
                    self.a[n] = value._row
                    self.b[n] = number
                    self.spec[n] = spec.id
                    self.n = n + 1
                    return n
                # done
                continue
            array = home if type(home) is np.ndarray else value._stored()
            single = spec.single
            cell = bits_of(array.tobytes()) if single else address_of(array)
            size = 0 if single else array.nbytes
            # whole: nothing runs in between, see core.values.interning
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
                # done
                if self.bytes > self.bytes_limit:
                    self.limit = 0  # the next op sweeps, if no tape holds the rows
                return n

    def read_unwatched(self, variable: Variable) -> int:
        """Append a read that makes no tape watch the variable."""
        return self.read(variable, variable._value, UNREAD_CODES)

    def invalidate_reads(self) -> None:
        """Read variables anew from here on: a tape was entered, or began to watch."""
        reads = self.reads
        has_reads = bool(reads)
        while has_reads:
            # whole: nothing runs in between, see core.values.interning
            if reads:
                variable = reads[-1]
                read = variable._read
                if read is not None and read[0] is self:
                    variable._read = None
                del reads[-1]
            # done
            has_reads = bool(reads)

    def tensor(self, row: int, spec: Spec) -> Tensor:
        """A new tensor for a row of this log."""
        tensor = Tensor()
        tensor._home = self
        tensor._row = row
        tensor._spec = spec
        self.tensors.append(tensor)
        return tensor

    # Values. What computes them is built on logs: `numtape.core.log.evaluate` sets these.

    evaluate: ClassVar[Callable[[Log, Tensor], Array]]
    evaluate_on_device: ClassVar[Callable[[Log, Tensor], Any]]
    evaluate_row: ClassVar[Callable[[Log, Tensor], Any]]
    collect: ClassVar[Callable[[Log], bool]]
    complete: ClassVar[Callable[[Log], None]]

    def stored_value(self, row: int, spec: Spec) -> Any:
        """The value of a row whose state is VALUE, where it is: on a GPU, it may be there."""
        if spec.single:
            cell, shape = self.columns.cell, (*spec.shape,)  # of a subclass NumPy asks in a frame
            return np.ndarray(shape, spec.dtype.numpy_dtype, cell, 8 * row).copy()
        return self.buffers[row]

    def value(self, row: int, spec: Spec) -> Array:
        """The value of a row whose state is VALUE."""
        value = self.stored_value(row, spec)
        return value if isinstance(value, np.ndarray) else value.host()

    def fetch(self) -> None:
        """Have all values on the host: some may have been computed on a GPU."""
        for row, buffer in self.buffers.copy().items():  # others may record meanwhile
            if not isinstance(buffer, np.ndarray):
                array = buffer.host()
                address = address_of(array)
                # whole: nothing runs in between, see core.values.interning
                self.columns.cell_view[row] = address
                self.buffers[row] = array
                # done

    def is_held(self) -> bool:
        """Whether a tape may still ask for gradients of rows of this log."""
        holding = [x for x in self.tapes if (tape := x()) is not None and tape.holds(self)]
        self.tapes = holding
        if not holding and not self.busy:
            self.drop_calls()
        return bool(holding)

    def successor(self) -> Log:
        """The log in which its thread goes on when tapes keep this one."""
        return Log()

    def drop_calls(self) -> None:
        """Let go of functions that have derivatives: nobody can ask for them any more."""
        self.calls = {}

    def is_recorded(self) -> bool:
        """Whether a tape records here.

        An interrupt may leave a `with` block without its end: the tape records until it is
        dropped, which is why it is referred to weakly.
        """
        tapes = self.tapes
        return bool(tapes) and any(tape.recording for x in tapes if (tape := x()) is not None)

    def rewind(self) -> None:
        """Start again at row 0. Every tensor that can be looked at has its value already.

        The order matters: an interrupt after any step leaves a log that works.
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
            self.workspace.forget(self.n)
        dropped = self.tensors
        self.tensors = self.new_list()  # another list: who recorded meanwhile records again
        references.release(dropped)
        self.buffers.clear()
        self.bytes = 0
        self.bytes_limit = SWEEP_BYTES
        self.columns.state[: self.n] = 0
        self.limit = SWEEP_ROWS - SLACK
        self.extra_n = 0
        self.n = 0


class RuleLog(Log):
    """The log of a derivative rule, which may only record: its values do not exist."""

    __slots__ = ()

    symbolic = nested = True
    to_complex: ClassVar[int]  # the code of a cast to complex128. Set in `core.ops.elementwise`.

    def copy_constant(self, row: int, spec: Spec) -> int:
        """A leaf with the value that a constant has; the row itself if that is cast."""
        return super().copy_constant(row, spec) if spec.single else row

    def complex_constant(self, value: float, spec: Spec) -> int:
        """A number cast to complex128: constants of rules are cells."""
        row, n = self.constant(value, intern((), dtypes.float64)), self.n
        self.code[n] = self.to_complex
        self.a[n] = row
        self.spec[n] = spec.id
        self.n = n + 1
        return n

    def has_values(self) -> bool:
        """They have none."""
        return False

    def evaluate_row(self, tensor: Tensor) -> Any:
        """Refuse: there is nothing to see."""
        raise RuntimeError("A derivative rule looked at a value; it may only record ops.")

    def collect(self) -> bool:
        """Rows stay where they are."""
        return False

    def complete(self) -> None:
        """There is nothing to compute."""


ThreadState.make_log = Log
local = ThreadState()


def _renew_locks_after_fork() -> None:
    for log in LOGS:
        if isinstance(log, Log):
            log.lock = threading.RLock()


after_fork_in_child(_renew_locks_after_fork)
