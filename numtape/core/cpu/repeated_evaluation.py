"""Sets up the fast path of evaluations: machine code for a log whose rows repeat.

`core.log.evaluate` and `CpuExecutor.compute` define evaluation. A plan that is repeated a few times
gets a `RepeatedEvaluation` in its log: the data with which machine code
(`kernels/passes/repeated_evaluation.py`) does the same, if no value is large, NumPy computes
no row, no array is pending, and the log is released. The machine code runs first, and leaves any
changed case to Python.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.passes import evaluation_words
from .. import settings
from ..compile.passes import addresses
from ..cpython.layout import (
    UnsupportedLayout,
    address_of_call,
    find_layout,
    offset_of_word,
    slot_offset,
)
from ..log import evaluate, liveness
from ..log.log import SLACK, SWEEP_BYTES, SWEEP_ROWS, VALUE, Log, local
from ..native import buffer_protocol
from ..native.fast_path import builtin, install_fast_path, translated_pass, word_array
from ..native.lazy_build import KeepAlive, LazyBuild, keep_forever
from ..native.patch import retry
from ..plan.plan import Plan, places
from ..values.intern_table import generation
from ..values.memory import LARGE_BYTES, address_of, view
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .buffers import POOL

if TYPE_CHECKING:
    from .sweeper import Sweeper

# C API functions by the names of their words, and slots of `Log`.
_API = {
    "GET_ENTRY": "PyDict_GetItemWithError",
    "GET_ATTRIBUTE": "PyObject_GetAttr",
    "THREAD_DICT": "PyThreadState_GetDict",
    "MAKE_LIST": "PyList_New",
    "MAKE_DICT": "PyDict_New",
    "NEXT_ENTRY": "PyDict_Next",
    "CLEAR_DICT": "PyDict_Clear",
    "CLEAR_SET": "PySet_Clear",
    "SET_CONTAINS": "PySet_Contains",
    "GET_REFERENT": "PyWeakref_GetObject",
    "CALL": "PyObject_CallNoArgs",
    "CALL_ONE_ARG": "PyObject_CallOneArg",
    "VECTORCALL": "PyObject_Vectorcall",
    "TO_INT": "PyLong_AsSsize_t",
    "FROM_INT": "PyLong_FromSsize_t",
    "INCREF": "Py_IncRef",
    "DECREF": "Py_DecRef",
    "CLEAR_ERROR": "PyErr_Clear",
}
_LOG_SLOTS = (
    "evaluate_fast_paths",
    "busy",
    "bytes",
    "bytes_limit",
    "calls",
    "columns",
    "computations",
    "eager",
    "extra",
    "extra_n",
    "tensors",
    "lazy",
    "pending_cleanup",
    "limit",
    "n",
    "lazy_rescan_at",
    "scanned",
    "full_rescan_at",
    "lock",
    "workspace",
    "_const_rows",
    "variables",
    "tapes",
    "reads",
    "variable_index",
    "_leaf_rows",
    "pending",
    "buffers",
)
# Passes that the machine code uses.
PASSES = (
    "tables",
    "rows",
    "layout",
    "replay_rows",
    "guard_rows",
    "guards",
    "evaluation_words",
)
MIN_RUNS = 8  # executions of a plan by Python before the fast path
MAX_FAST_PATHS = 4  # fast paths of one log
MAX_VALUES = 1 << 16  # values of one evaluation: 0.02 s in which signals are not handled
NO_LIMIT = 1 << 62
# The offset of the size of a list, which `core.native.find_layout` checks.
LIST_SIZE_OFFSET = object.__basicsize__


class _Code:
    """The machine code; the constructor installs it before `core.log.evaluate`.

    Attributes:
      words: The words that describe this process.
    """

    def __init__(self) -> None:
        tape = Log.tape_type
        layout = find_layout()
        if sys.byteorder != "little":
            raise UnsupportedLayout("this processor is not little-endian")
        offsets, array = layout.offsets, np.zeros(3)
        lists = offsets["list.size"], offsets["list.items"], offsets["type"]
        if lists != (LIST_SIZE_OFFSET, LIST_SIZE_OFFSET + 8, 8):
            raise UnsupportedLayout("lists have an unknown layout")
        self._scratch = np.zeros(3, np.int64)
        # Referenced objects stay alive: finalizers read values until the process exits.
        self._held_objects = (
            layout,
            {
                "LOG": Log,
                "TAPE": tape,
                "TENSOR": Tensor,
                "NONE": None,
                "TRUE": True,
                "FALSE": False,
                "LIST": list,
                "LOCAL": local,
                "LOG_NAME": sys.intern("log"),
                "EVALUATING_NAME": sys.intern("evaluating"),
                "EMPTY": np.empty,
                "TRIM_BUFFERS": POOL.count_run,
                "RELEASE_TENSORS": liveness.release,
                "ZERO": 0,
                "LIMIT": SWEEP_ROWS - SLACK,
                "BYTES_LIMIT": SWEEP_BYTES,
            },
        )
        words = {
            **{name: address_of_call(call) for name, call in _API.items()},
            **{name: id(value) for name, value in self._held_objects[1].items()},
            **{f"AT_{name.lstrip('_').upper()}": slot_offset(Log, name) for name in _LOG_SLOTS},
            "LOCAL_KEY": layout.known["key"],
            "SCRATCH": address_of(self._scratch),
            "AT_NAMES": offsets.get("thread.names", -1),
            "AT_REFERENCES": offsets["references"],
            "AT_WEAK": offsets["tensor.weak"],
            "AT_HOME": offsets["tensor._home"],
            "AT_ROW": offsets["tensor._row"],
            "AT_SPEC": offsets["tensor._spec"],
            "AT_SINGLE": offsets["spec.single"],
            "AT_VALUE": offsets["variable._value"],
            "AT_READ": offsets["variable._read"],
            "AT_ITEM": offsets["tuple.items"],
            "AT_BUFFER": offsets["memoryview.buffer"],
            "AT_DATA": offset_of_word(
                array, np.ndarray.__basicsize__, address_of(array), "an address"
            ),
            "AT_TAPE_LOG": slot_offset(tape, "log"),
            "AT_SPENT": slot_offset(tape, "is_spent"),
        }
        self.words = word_array(evaluation_words, evaluation_words.PROCESS_WORDS, words)
        keep_forever(self)  # before any reference to it exists
        address = install_fast_path(
            "repeated_evaluation", translated_pass("repeated_evaluation", *PASSES), self.words
        )
        evaluate.evaluate_fast_path = builtin("repeated_evaluation", address)


_lazy_code = LazyBuild("Evaluations run in Python", _Code)


def _code_or_reason(now: bool = False) -> _Code | str:
    """The machine code, or the reason why all evaluations run in Python."""
    return _lazy_code.get(now=now) if settings.native_recorders() else "NUMTAPE_RECORD=python"


def words() -> Any:
    """The process's words for machine code that evaluates, or the reason why it is unavailable."""
    code = _code_or_reason()
    return code if isinstance(code, str) else code.words


def describe() -> str:
    """Whether machine code or Python runs repeated evaluations, and why."""
    code = _code_or_reason(now=True)
    return f"Python: {code}" if isinstance(code, str) else "machine code"


_class_dicts: dict[type, dict[str, Any]] = {}


def _class_dict(cls: type) -> dict[str, Any]:
    """The dictionary of a class itself; ``vars`` returns a proxy."""
    names = _class_dicts.get(cls)
    if names is None:
        (names,) = gc.get_referents(cls.__dict__)
        assert names is not None and names.keys() == cls.__dict__.keys()
        _class_dicts[cls] = names
    return names


def prepare(log: Log, workspace: Any, plan: Plan, executor: Any, hot_work: int) -> None:
    """Set up machine code for a repeated plan, if possible.

    Args:
      log: The log of the rows.
      workspace: The workspace.
      plan: The plan; it takes so little time that the GIL is not released.
      executor: The executor that ran it.
      hot_work: The total ``plan.work`` after which the plan gets fused loops.
    """
    for evaluation in log.evaluate_fast_paths:
        if evaluation[1].plan is plan:
            evaluation[1].settle()
    # Drop those of earlier columns, which the log has outgrown.
    other_evaluations = [
        x for x in log.evaluate_fast_paths if x[1].plan is not plan and x[1].columns is log.columns
    ]
    evaluation = None
    retry()
    buffer_protocol.begin()
    if type(log) is Log and not isinstance(_code_or_reason(), str):
        evaluation = _make_evaluation(log, workspace, plan, executor, hot_work)
    log.evaluate_fast_paths = (
        *([] if evaluation is None else [(evaluation.words, evaluation)]),
        *other_evaluations[: MAX_FAST_PATHS - 1],
    )


def _make_evaluation(
    log: Log, workspace: Any, plan: Plan, executor: Any, hot_work: int
) -> RepeatedEvaluation | None:
    """Return the data for machine code to run a plan; None if it cannot."""
    compared = getattr(plan, "compared", None)
    if compared is None or settings.moved or plan.numpy_groups:
        return None
    if any(spec.size * spec.dtype.size >= LARGE_BYTES for _, spec in plan.buffers):
        return None
    flags, count = compared.arrays["flags"], len(compared.arrays["flags"]) // 2
    rows = (plan.low + np.flatnonzero(flags[count:])).tolist()  # wanted or optional
    if not (log.columns.state[rows] == VALUE).all():
        return None  # an array is pending
    place_of = places(plan, rows)
    specs, buffers = SPECS.specs, dict(plan.buffers)
    values: list[tuple[int, int, Spec]] = []  # rows that have cells, the cells' rows, specs
    for row in rows:
        spec = specs[log.spec[row]]
        if spec.single:
            values.append((row, place_of[row], spec))
        elif place_of[row] not in buffers or buffers[place_of[row]].shape != spec.shape:
            return None  # for example a constant, or an array in another shape
    if len(values) + len(buffers) > MAX_VALUES:
        return None
    return RepeatedEvaluation(log, workspace, plan, executor, hot_work, rows, values, place_of)


class RepeatedEvaluation(KeepAlive):
    """A repeated evaluation, with all objects that machine code refers to by address.

    Attributes:
      words: The words that machine code reads, see `kernels.passes.evaluation_words`.
      plan: The plan.
      columns: The log's columns at construction; a log that has grown has others.
    """

    def __init__(
        self,
        log: Log,
        workspace: Any,
        plan: Plan,
        executor: Any,
        hot_work: int,
        rows: list[int],
        values: list[tuple[int, int, Spec]],
        place_of: dict[int, int],
    ) -> None:
        self.plan, self.columns = plan, log.columns
        columns, extra, lock, compared = log.columns, log.extra, log.lock, plan.compared
        arrays, python_sweeper = compared.arrays, workspace.sweeper
        self._sweeper = sweeper = type(python_sweeper)(log)  # set up for this plan only
        sweeper._set_up(plan)
        block, slots = sweeper.sweep, sweeper.sweep.slots
        super().__init__(lock, workspace, extra, python_sweeper, executor, compared)
        self._run_limit = NO_LIMIT
        if plan.done >= 0:
            self._run_limit = (hot_work - plan.done) // max(plan.work, 1) + 1
        buffer_numbers = {row: k for k, (row, _) in enumerate(plan.buffers)}
        index = np.full(len(arrays["flags"]) // 2, -1, np.int64)
        for row in rows:
            index[row - plan.low] = buffer_numbers.get(place_of[row], -1)
        for k, (row, _, _) in enumerate(values):
            index[row - plan.low] = len(buffer_numbers) + k
        value_specs = [spec for _, spec in plan.buffers] + [spec for _, _, spec in values]
        shapes_and_dtypes = [
            x for spec in value_specs for x in (tuple(spec.shape), spec.dtype.numpy_dtype)
        ]
        words, entries = self._expected_state(python_sweeper, plan, executor)
        self._values = {
            "WORDS": self._table(words),
            "WORD_COUNT": len(words) // 2,
            "ENTRIES": self._table(entries),
            "ENTRY_COUNT": len(entries) // 3,
            "LOCK": id(lock),
            "ACQUIRE": self._id(lock.acquire),
            "RELEASE": self._id(lock.release),
            "COLUMNS": id(columns),
            "EXTRA": id(extra),
            "WORKSPACE": id(workspace),
            **{name.upper(): address_of(getattr(columns, name)) for name in columns.NAMES},
            "OPERANDS_HERE": address_of(extra),
            "WANT": address_of(workspace.want),
            "FIRST_ROW": plan.low,
            "COUNT": len(index),
            "STRUCTURE": address_of(arrays["columns"]),
            "FLAGS": address_of(arrays["flags"]),
            "OPERANDS": address_of(arrays["operands"]),
            "OPERAND_COUNT": plan.operand_count,
            "ORDER": address_of(arrays["order"]),
            "ORDER_COUNT": plan.rows,
            "SWEEP": addresses("sweep")["sweep"],
            "BLOCK": block.address,
            "BEGIN": block.address + 8 * slots["begin_group"],
            "COMPUTED": block.address + 8 * slots["computed"],
            "END": plan.n_groups,
            "LEFT": self._run_limit,
            "HITS": 0,
            "ARRAYS": len(value_specs),
            "KINDS": self._ids(shapes_and_dtypes),
            "BUFFER_COUNT": len(buffer_numbers),
            "BUFFER_ROWS": self._table([*buffer_numbers]),
            "PLACES": self._table([*buffer_numbers, *(cell for _, cell, _ in values)]),
            "SIZES": self._table([spec.dtype.size for spec in value_specs]),
            "INDEX": address_of(index),
        }
        self._owned.append(index)
        self.words = view(
            word_array(evaluation_words, evaluation_words.EVALUATION_WORDS, self._values)
        )

    def _expected_state(
        self, sweeper: Sweeper, plan: Plan, executor: Any
    ) -> tuple[list[int], list[int]]:
        """State that must not change: words in memory, and entries of dictionaries.

        If a method that Python would call is replaced, in a class or in the executor itself,
        Python must call the replacement. So the dictionaries are those of settings, of the
        sweeper, and of both classes.

        Returns:
          Pairs of an address and the word there; and triples of addresses: a dictionary, a key
          and its value, 0 for a missing key.
        """
        running, size = sweeper.running, LIST_SIZE_OFFSET
        words = [
            id(generation) + slot_offset(type(generation), "number"),
            self._id(generation.number),
            id(plan) + slot_offset(Plan, "fused"),
            self._id(plan.fused),
            id(running) + size,
            0,
        ]
        self._id(running)
        settings_state, sweeper_state, sweeper_class = vars(settings), vars(sweeper), type(sweeper)
        expected: list[tuple[dict[str, Any], str, Any]] = [
            (settings_state, name, settings_state[name])
            for name in ("moved", "chosen", "traceback")
        ]
        expected += [
            (sweeper_state, name, sweeper_state[name]) for name in ("running", "abandoned")
        ]
        expected += [
            (_class_dict(sweeper_class), name, _class_dict(sweeper_class)[name])
            for name in ("run", "_set_up", "_run_until")
        ]
        executors, executor_class = evaluate._executors, type(executor)
        expected += [(vars(evaluate), "_executors", executors), (executors, "cpu", executor)]
        expected += [
            (_class_dict(executor_class), "compute", _class_dict(executor_class)["compute"])
        ]
        self._owned.append(expected)
        entries = [x for holder, name, value in expected for x in (id(holder), id(name), id(value))]
        entries += [self._id(vars(executor)), self._id(sys.intern("compute")), 0]
        return words, entries

    def settle(self) -> None:
        """Add the executions by machine code to the plan's count."""
        if self.plan.done >= 0:
            remaining = self.words[evaluation_words.LEFT]
            self.plan.done += (self._run_limit - remaining) * self.plan.work
            self._run_limit = remaining
