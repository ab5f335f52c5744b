"""Replayed calls in machine code, where no step needs Python.

`Function.__call__`, `Dispatcher.__call__` and `Recording.run` define the behavior. A path that
matched several times gets a `RepeatedCall` entry in its function, with all data that machine code
needs to do the same. This requires that no row is large or computed by NumPy, that kernels draw all
random numbers, that no guard may depend on them, and that results have separate arrays. The machine
code runs before `Function.__call__` (see `core.native`) and calls it whenever the entry does not
apply.
"""

from __future__ import annotations

import sys
import time
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.passes import call_words
from .. import settings
from ..compile.array_kernels import random_kernel
from ..cpu import rng, sweeper
from ..cpu.buffers import POOL
from ..cpu.rng import DrawKernel
from ..cpython.api import entry_of, make_vectorcall_setter
from ..cpython.classes import code_field_offsets
from ..cpython.layout import function_entry_offset, slot_address, slot_offset
from ..log import variable as variables
from ..native.fast_path import install_fast_path, translated_pass, word_array
from ..native.lazy_build import KeepAlive, LazyBuild
from ..native.process import process_table
from ..ops.random import STATE, Draw
from ..plan.plan import Plan
from ..values.memory import Array, address_of, view
from ..values.spec import SPECS, Spec
from ..values.tensor import SCALAR_STORAGE
from .guard_tree import only_value
from .observe.guards import is_unchanged, make_table

if TYPE_CHECKING:
    from .dispatch import Dispatcher
    from .guard_tree import TracedPath
    from .recording import Recording

PASSES = "call_words", "guard_rows", "guards"  # on which the pass depends
NO_LIMIT = 1 << 62
# Maximum number of arguments, of variables and of buffers. Each takes about 0.3 µs, during which
# signals are not handled, so Python carries out calls that would take longer than 0.02 s.
MAX_VALUES = 1 << 16


class _CallStub:
    """The machine code that runs before `Function.__call__`. The constructor installs it."""

    def __init__(self, function: type) -> None:
        table = process_table()
        table.set_objects(
            {
                "FUNCTION": function,
                "SCALAR_STORAGE": SCALAR_STORAGE,
                "TRAINING_NAME": sys.intern("training"),
                "JOURNAL_NAME": sys.intern("journal"),
                "CLOCK": time.perf_counter_ns,
                "TRIM_BUFFERS": POOL.count_run,
            }
        )
        table.set_words({"AT_CALL": slot_offset(function, "_repeated_call")})
        pass_address = translated_pass("repeated_call", *PASSES)
        call: Any = function.__call__
        address = install_fast_path("repeated_call", pass_address, table.words, entry_of(call))
        make_vectorcall_setter(function_entry_offset())(call, address)


_stub_build = LazyBuild("Replayed calls are carried out by Python", _CallStub)


def _stub_or_reason(cls: type, now: bool = False) -> _CallStub | str:
    """Return the machine code, or the reason why Python carries out all calls of this class."""
    return _stub_build.get(cls, now=now) if settings.native_recorders() else "NUMTAPE_RECORD=python"


def describe_executor(cls: type) -> str:
    """Describe what carries out replayed calls of this class, and why machine code does not."""
    executor = _stub_or_reason(cls, now=True)
    return f"Python: {executor}" if isinstance(executor, str) else "machine code"


def make_entry(
    function: Any, calls: Dispatcher, needs_distinct: bool, defaults: Any
) -> tuple[Any, ...] | None:
    """Return what machine code needs to repeat the last call of a function.

    Args:
      function: The `Function`.
      calls: Its calls with arguments of some specs, all of them tensors.
      needs_distinct: Whether all arguments must be different tensors.
      defaults: The defaults that complete the arguments; None if none are used.

    Returns:
      A tuple for the function's ``_repeated_call``; None if Python must carry out these calls.
    """
    tree = calls.tree
    path = tree.root.latest if tree is not None else None
    if path is None or calls.is_slow or settings.traceback:
        return None
    previous = path.repeated_call
    if previous is not None and previous.holds():
        return previous.entry
    if calls.python_calls & (calls.python_calls - 1) or isinstance(
        _stub_or_reason(type(function)), str
    ):
        return None  # tried before; retry with exponential back-off
    if previous is not None:
        previous.settle()
    inner_function = function._parameters._inner
    if defaults is not None and type(inner_function) is not types.FunctionType:
        return None
    default_words = (
        [] if defaults is None else [(inner_function, code_field_offsets()[1], defaults)]
    )
    path.repeated_call = repeated_call = _make_repeated_call(
        function, calls, path, needs_distinct, default_words
    )
    return None if repeated_call is None else repeated_call.entry


def _make_repeated_call(
    function: Any,
    calls: Dispatcher,
    path: TracedPath,
    needs_distinct: bool,
    default_words: list[Any],
) -> RepeatedCall | None:
    recording = path.recording
    if recording.element_reads or recording._input_arrays:
        return None
    if recording.draws and recording.guards:
        # When a guard fails, Python must continue with the same numbers, but another thread may
        # draw them first: paths would no longer have the right probability.
        return None
    prepared = recording.prepare()
    if settings.moved or prepared.device != "cpu" or not prepared.is_simple:
        return None
    value_lists: list[list[Any]] = [
        recording._fed_rows,
        recording.outputs,
        recording.guards,
        prepared.buffer_rows,
    ]
    if max(map(len, value_lists)) > MAX_VALUES:
        return None
    program = prepared.new_program()
    if program.deferred or program.feed is not None:
        return None
    sweep = program.direct()
    draws = _draw_kernels(recording)
    if sweep is None or draws is None or len(sweep.buffers) + len(draws) > MAX_VALUES:
        return None
    buffers = [*sweep.buffers, *((row, x.spec) for row, x, _ in draws if not x.spec.single)]
    specs = dict(buffers)
    for row, spec in zip(prepared.buffer_rows, recording._output_specs, strict=True):
        if row >= 0 and (row not in specs or specs[row].shape != spec.shape):
            return None  # for example a constant, or an array with another shape
    return RepeatedCall(
        function, calls, path, needs_distinct, default_words, program, sweep, buffers, draws
    )


def _draw_kernels(recording: Recording) -> list[tuple[int, Draw, DrawKernel]] | None:
    """Return the rows of draws, in order, with their kernels; None if Python must draw."""
    draws = []
    for place, (row, k, draw) in enumerate(recording.draws):
        kernel = rng.kernel_of(draw.name, draw.spec, draw.parameters)
        if kernel is None or k != place:
            return None
        draws.append((row, draw, kernel))
    work = sum(kernel.work for _, _, kernel in draws)
    is_complete = len(draws) == recording.draw_count
    return draws if is_complete and work <= rng.MIN_THREAD_UNITS else None


class RepeatedCall(KeepAlive):
    """An entry for machine code, with all objects that it refers to by address.

    Attributes:
      entry: A block of words, and the list that keeps the referenced objects alive.
    """

    def __init__(
        self,
        function: Any,
        calls: Dispatcher,
        path: TracedPath,
        needs_distinct: bool,
        default_words: list[Any],
        program: Any,
        sweep: Any,
        buffers: list[tuple[int, Spec]],
        draws: list[tuple[int, Draw, DrawKernel]],
    ) -> None:
        recording, prepared, tree = path.recording, path.recording.prepare(), calls.tree
        assert tree is not None
        super().__init__(path, calls, program, sweep, prepared)
        specs = recording.log.spec
        arguments = [SPECS.specs[specs[row]] for _, row in recording.arguments]
        read_specs = [SPECS.specs[specs[row]] for row in recording._read_rows]
        plan: Plan | None = sweep.plan
        self._plan, self._limit = plan, NO_LIMIT
        if plan is not None and plan.done >= 0:
            self._limit = (sweeper.HOT - plan.done) // max(plan.work, 1) + 1
        self._comparison_table = self._make_comparison_table(calls, path, plan, default_words)
        name_table = tree.guards.table()
        outputs = recording.outputs
        numbers = {row: k for k, (row, _) in enumerate(buffers)}
        results = [
            (program.place[row], numbers.get(place, -1), spec)
            for row, place, spec in zip(
                recording.output_rows, prepared.buffer_rows, recording._output_specs, strict=True
            )
        ]
        assigned_places = results[len(results) - len(recording.assigned) :]
        remaining = iter(results)
        output_places = [next(remaining) if out.row >= 0 else (0, -1, None) for out in outputs]
        constants = [0 if out.row >= 0 else id(out.constant) for out in outputs]
        buffer_kinds = [(tuple(spec.shape), spec.dtype.numpy_dtype) for _, spec in buffers]
        lock = variables._update_lock
        words = {
            "ARGUMENTS": len(arguments),
            "APART": needs_distinct,
            "SPECS": self._ids(arguments),
            "ROWS": self._table([row for _, row in recording.arguments]),
            "SIZES": self._table([x.dtype.size if x.single else 0 for x in arguments]),
            "VARIABLES": self._ids(recording._variables_read),
            "VARIABLE_ROWS": self._table(recording._read_rows),
            "VARIABLE_SIZES": self._table([x.dtype.size if x.single else 0 for x in read_specs]),
            "NAMES": name_table[0],
            "NAME_COUNT": name_table[1],
            "OWN": address_of(self._comparison_table),
            "OWN_COUNT": int(self._comparison_table[0]),
            "TRAINING": id(function._training),
            "CELL": program.log.columns.address,
            "SWEEP": sweep.function,
            "BLOCK": sweep.block,
            "BEGIN": sweep.begin,
            "COMPUTED": sweep.computed,
            "END": sweep.end,
            "LEFT": self._limit,
            "GUARDS": len(prepared.expected_bits),
            "PLACES": self._table(prepared.guard_rows),
            "EXPECTED": self._table(prepared.expected_bits),
            "KIND": _result_kind(path, constants),
            "BUFFERS": len(numbers),
            "BUFFER_ROWS": self._table([*numbers]),
            "BUFFER_KINDS": self._ids([x for pair in buffer_kinds for x in pair]),
            "OUTPUTS": len(outputs),
            "OUT_PLACES": self._table([place for place, _, _ in output_places]),
            "OUT_BUFFERS": self._table([k for _, k, _ in output_places]),
            "OUT_SPECS": self._ids([spec for _, _, spec in output_places]),
            "ASSIGNED": len(assigned_places),
            "ASSIGNED_VARIABLES": self._ids(recording._assigned_variables),
            "NEW_PLACES": self._table([place for place, _, _ in assigned_places]),
            "NEW_BUFFERS": self._table([k for _, k, _ in assigned_places]),
            "NEW_SPECS": self._ids([spec for _, _, spec in assigned_places]),
            "ACQUIRE": self._id(lock.acquire),
            "RELEASE": self._id(lock.release),
            "DRAWS": len(draws),
            "DRAW_TABLE": self._table(self._draw_table(draws)),
            "DRAWN": random_kernel("drawn", ()) if draws else 0,
            "DRAW_NUMBER": slot_address(STATE, "draws"),
            "UNSEEDED": address_of(STATE.unseeded),
            "DRAW_ACQUIRE": self._id(STATE.lock.acquire),
            "DRAW_RELEASE": self._id(STATE.lock.release),
            "CONSTANTS": self._table(constants),
            "REBUILD": id(path.rebuild),
            "COUNTS": address_of(path.counts),
        }
        self._owned += [
            self._comparison_table,
            name_table,
            path.rebuild,
            [out.constant for out in outputs],
        ]
        self._words = view(word_array(call_words, call_words.CALL_WORDS, words))
        self.entry: tuple[Any, ...] = self._words, self._owned

    def _draw_table(self, draws: list[tuple[int, Draw, DrawKernel]]) -> list[int]:
        """Return the words of a table of draws; see `call_words`."""
        words: list[int] = []
        for row, draw, kernel in draws:
            parameters = np.array([*draw.entropy(0), *kernel.words], np.int64)
            self._owned.append(parameters)
            words += [row, draw.spec.single, address_of(parameters), kernel.units, draw.is_counted]
        return words

    def _make_comparison_table(
        self, calls: Dispatcher, path: TracedPath, plan: Plan | None, default_words: list[Any]
    ) -> Array:
        """Build the table of state that must be unchanged, besides what the program reads."""
        tree = calls.tree
        assert tree is not None
        slots: list[tuple[Any, str, Any]] = [
            (calls, "tree", tree),
            (calls, "is_slow", False),
            (calls.limit, "reason", ""),
            (tree.root, "latest", path),
            (tree.guards, "_comparison", tree.guards._comparison),
        ]
        if path.recording.draws:
            slots += [(STATE, "seed", STATE.seed), (STATE, "lock", STATE.lock)]
        if plan is not None:
            slots.append((plan, "fused", None))
        words = [(holder, slot_offset(type(holder), name), value) for holder, name, value in slots]
        words += default_words
        setting_values = vars(settings)
        entries = [
            (setting_values, x, setting_values[x])
            for x in ("eager", "moved", "chosen", "traceback")
        ]
        entries.append((vars(variables), "_update_lock", variables._update_lock))
        table = make_table(words, entries, tree.guards.dead_references)
        self._owned += [words, entries]
        return table

    def holds(self) -> bool:
        """Return whether the entry is valid, apart from what the program reads."""
        return self._words[call_words.LEFT] > 0 and is_unchanged(self._comparison_table)

    def settle(self) -> None:
        """Add the executed sweeps to the plan's counter."""
        sweeps_left = self._words[call_words.LEFT]
        if self._plan is not None and self._plan.done >= 0:
            self._plan.done += (self._limit - sweeps_left) * self._plan.work


def _result_kind(path: TracedPath, constants: list[int]) -> Any:
    """Return how the result is built from the outputs."""
    if path.rebuild is only_value:
        return call_words.CONSTANT if constants[0] else call_words.ONE
    kind_of: dict[Any, Any] = {list: call_words.LIST, tuple: call_words.TUPLE}
    return kind_of.get(path.rebuild, call_words.OTHER)
