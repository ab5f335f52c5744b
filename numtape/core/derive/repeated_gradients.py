"""The fast path of repeated gradients: one call of machine code from the request to the results.

`GradientTape.gradient` in Python defines the steps. If the adjoint rows of a tape that is used once
were the same several times (`adjoint_cache`), its log gets a `RepeatedGradient`: all data that
machine code (`kernels/passes/repeated_gradient.py`) needs to do the same, for one target and no
seeds of the caller. The machine code runs first, and leaves any case that differs to Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.passes import gradient_words
from .. import settings
from ..cpu import repeated_evaluation
from ..cpython.api import builtin
from ..cpython.layout import slot_address
from ..log.log import LEAF_CODE, SLACK, VALUE, Log
from ..log.variable import Variable
from ..native.fast_path import install_fast_path, translated_pass, word_array
from ..native.lazy_build import KeepAlive, LazyBuild
from ..native.process import process_table
from ..plan.structure_cache import columns_of, operands_of
from ..values.intern_table import generation
from ..values.memory import address_of, view
from ..values.spec import SPECS, intern
from ..values.tensor import Tensor
from .adjoint_cache import Adjoints
from .tape import Tape

if TYPE_CHECKING:
    from ..values.memory import Array

# Passes that the machine code uses.
PASSES = *repeated_evaluation.PASSES, "repeated_evaluation", "gradient_words"
TURNS = 8  # reuses of cached adjoint rows by Python before machine code takes over
MAX_FAST_PATHS = 4  # gradients of one log
MAX_SOURCES = 1 << 14  # of one gradient: more than the log holds between two evaluations
_KINDS = frozenset((Tensor, Variable))


def gradient_fast_path(tape: Tape, target: object, sources: object) -> Any:
    """Return the gradient, or None if Python must compute it. Replaced by machine code."""
    return None


class _MachineCode:
    """The machine code. Creating it installs the fast path."""

    def __init__(self) -> None:
        global gradient_fast_path
        reason = repeated_evaluation.unavailable_reason()
        if reason:
            raise RuntimeError(reason)
        table = process_table()
        pass_address = translated_pass("repeated_gradient", *PASSES)
        address = install_fast_path("repeated_gradient", pass_address, table.words)
        gradient_fast_path = builtin("repeated_gradient", address)


_lazy_build = LazyBuild("Gradients that repeat are recorded by Python", _MachineCode)


def describe_backend() -> str:
    """Return "machine code" if it records repeated gradients, or the reason why Python does."""
    if not settings.native_recorders():
        return "Python: NUMTAPE_RECORD=python"
    code = _lazy_build.get(now=True)
    return f"Python: {code}" if isinstance(code, str) else "machine code"


def prepare(
    tape: Tape, start: tuple[int, int], target: object, sources: object, results: list[Any]
) -> None:
    """Let machine code do what was just done, if it was repeated often enough and is possible.

    Args:
      tape: The tape, which reused cached adjoint rows and is not spent yet.
      start: The number of rows, and of operands of variadic rows, before the gradient.
      target, sources: The request.
      results: The results.
    """
    log, adjoints = tape.log, tape.recalled_adjoints
    assert log is not None and adjoints is not None
    if type(log) is not Log or tape.persistent or not settings.native_recorders():
        return
    leaves = sources if type(sources) is list else [sources]
    if type(target) is not Tensor or not _KINDS.issuperset(map(type, leaves)):
        return
    if any(type(event) is not int for _, event in tape.events):
        return
    if adjoints.columns_id != id(log.columns):  # another log, or other columns
        adjoints.columns_id, adjoints.reuse_count = id(log.columns), 0
    count = adjoints.reuse_count = adjoints.reuse_count + 1
    if count < TURNS or count & (count - 1) or isinstance(_lazy_build.get(), str):
        return
    fast_path = _make_fast_path(log, tape, adjoints, start, target, sources, results)
    if fast_path is not None:  # drop those of other columns
        existing = log.gradient_fast_paths
        other_fast_paths = [
            x for x in existing if x[1].columns is log.columns and x[1].adjoints is not adjoints
        ]
        log.gradient_fast_paths = (
            (fast_path.words, fast_path),
            *other_fast_paths[: MAX_FAST_PATHS - 1],
        )


def _make_fast_path(
    log: Log,
    tape: Tape,
    adjoints: Adjoints,
    start: tuple[int, int],
    target: Tensor,
    sources: Any,
    results: list[Any],
) -> RepeatedGradient | None:
    """Return the data for machine code, if only a seed and the adjoint rows were recorded."""
    leaves = sources if type(sources) is list else [sources]
    if target._home is not log or not target._spec.inexact or not 0 < len(leaves) <= MAX_SOURCES:
        return None
    if (
        any(type(result) is not Tensor or result._home is not log for result in results)
        or min(tape.ranges) < 0
    ):
        return None
    rows, operands = start
    if operands != adjoints.extra_n:
        return None
    if log.n != adjoints.n + adjoints.count or log.n + SLACK > log.columns.capacity or log.calls:
        return None
    key = 1.0, intern((), target._spec.dtype)
    seed = log._const_rows.get(key)
    if seed is None or seed > rows:
        return None
    is_seed_new, is_broadcast = int(seed == rows), int(target._spec.rank > 0)
    if adjoints.n != rows + is_seed_new + is_broadcast:
        return None
    if is_broadcast and (
        log.a[rows + is_seed_new] != seed or log.spec[rows + is_seed_new] != target._spec.id
    ):
        return None
    columns, n = log.columns, adjoints.n + adjoints.count
    constants = rows + np.flatnonzero(columns.code[rows:n] == LEAF_CODE)
    if not all(SPECS.specs[number].single for number in columns.spec[constants].tolist()):
        return None
    is_list = leaves is sources
    return RepeatedGradient(log, tape, adjoints, start, target, leaves, is_list, results, key)


class RepeatedGradient(KeepAlive):
    """A repeated gradient, and all objects that machine code refers to by address.

    Attributes:
      words: The words that machine code reads, see `kernels.passes.gradient_words`.
      adjoints: The cached adjoint rows.
      columns: The log's columns at creation; a log that grows gets other ones.
    """

    def __init__(
        self,
        log: Log,
        tape: Tape,
        adjoints: Adjoints,
        start: tuple[int, int],
        target: Tensor,
        leaves: list[Any],
        is_list: bool,
        results: list[Tensor],
        key: tuple[Any, ...],
    ) -> None:
        from .transpose import _locate_sources

        columns, extra, (rows, operands) = log.columns, log.extra, start
        # A finalizer may append and compute rows meanwhile. Only constants have values.
        n, operand_end = adjoints.n + adjoints.count, adjoints.extra_n + adjoints.added_operands
        states = np.where(columns.code[rows:n] == LEAF_CODE, VALUE, 0).astype(np.uint8)
        self.adjoints, self.columns = adjoints, columns
        super().__init__(columns, extra, adjoints, key)
        seed = log._const_rows[key]
        sources: list[int] = []
        for (row, number), leaf, result in zip(
            _locate_sources(log, leaves), leaves, results, strict=True
        ):
            sources += [row, number, self._id(leaf._spec), self._id(result._row)]
            sources.append(self._id(result._spec))
        watched = tape.variable_flags[1]
        self._numbers = {
            "GENERATION": slot_address(generation, "number"),
            "EXPECTED_GENERATION": self._id(generation.number),
            "COLUMNS": id(columns),
            "EXTRA": id(extra),
            **{name.upper(): address_of(getattr(columns, name)) for name in columns.NAMES},
            "OPERANDS_HERE": address_of(extra),
            "ROWS": rows,
            "STRUCTURE": self._array(columns_of(log, 0, rows)),
            "OPERANDS": self._array(operands_of(log, 0, operands)),
            "OPERAND_COUNT": operands,
            "ADDED": n - rows,
            "APPENDED": self._array(columns_of(log, rows, n)),
            "CELLS": self._array(columns.cell[rows:n].copy()),
            "STATES": self._array(states),
            "ADDED_OPERANDS": self._array(operands_of(log, operands, operand_end)),
            "ADDED_OPERAND_COUNT": operand_end - operands,
            "N_AFTER": self._id(n),
            "EXTRA_N_AFTER": self._id(operand_end),
            "THREAD": tape.thread,
            "ACCESSED": id(tape.watch_accessed),
            "BOUNDS": self._table(tape.ranges),
            "BOUND_COUNT": len(tape.ranges),
            "EVENTS": self._table([word for event in tape.events for word in event]),  # type: ignore[misc]
            "EVENT_COUNT": len(tape.events),
            "TRAINABLE": self._table([id(variable._trainable) for variable in log.variables]),
            "VARIABLE_COUNT": len(log.variables),
            "TARGET": target._row,
            "TARGET_SPEC": self._id(target._spec),
            "SINGLE": int(not is_list),
            "SOURCES": self._table(sources),
            "SOURCE_COUNT": len(leaves),
            "KEY": id(key),
            "SEED": self._id(seed) if seed == rows else 0,
            "SEED_ROW": seed,
            "WATCHED": self._id(watched),
            "HITS": 0,
        }
        self.words = view(word_array(gradient_words, gradient_words.GRADIENT_WORDS, self._numbers))

    def _array(self, array: Array) -> int:
        """Keep an array alive and return its address."""
        self._owned.append(array)
        return address_of(array)
