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
from ..cpython.api import builtin
from ..cpython.layout import length_address, slot_address
from ..log import evaluate, liveness
from ..log.log import SLACK, SWEEP_BYTES, SWEEP_ROWS, VALUE, Log
from ..native import buffer_protocol
from ..native.fast_path import install_fast_path, translated_pass, word_array
from ..native.lazy_build import KeepAlive, LazyBuild
from ..native.patch import retry
from ..native.process import process_table
from ..plan.plan import Plan, places
from ..values.intern_table import generation
from ..values.memory import LARGE_BYTES, address_of, view
from ..values.spec import SPECS, Spec
from .buffers import POOL

if TYPE_CHECKING:
    from .sweeper import Sweeper

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


class _Code:
    """The machine code; the constructor installs it before `core.log.evaluate`."""

    def __init__(self) -> None:
        table = process_table()
        table.set_objects(
            {
                "TAPE": Log.tape_type,
                "EVALUATING_NAME": sys.intern("evaluating"),
                "TRIM_BUFFERS": POOL.count_run,
                "RELEASE_TENSORS": liveness.release,
                "LIMIT": SWEEP_ROWS - SLACK,
                "BYTES_LIMIT": SWEEP_BYTES,
            }
        )
        address = install_fast_path(
            "repeated_evaluation", translated_pass("repeated_evaluation", *PASSES), table.words
        )
        evaluate.evaluate_fast_path = builtin("repeated_evaluation", address)


_lazy_code = LazyBuild("Evaluations run in Python", _Code)


def _code_or_reason(now: bool = False) -> _Code | str:
    """The machine code, or the reason why all evaluations run in Python."""
    return _lazy_code.get(now=now) if settings.native_recorders() else "NUMTAPE_RECORD=python"


def unavailable_reason() -> str:
    """Why machine code cannot evaluate; "" if it can."""
    code = _code_or_reason()
    return code if isinstance(code, str) else ""


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
        running = sweeper.running
        words = [
            slot_address(generation, "number"),
            self._id(generation.number),
            slot_address(plan, "fused"),
            self._id(plan.fused),
            length_address(running),
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
