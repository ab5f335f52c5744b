"""Dispatch: each call of a recorded function is replayed, recorded, or run as Python.

Each signature has a tree of recordings. Two recordings that saw different values at a guard branch
there. A call computes the recording that matched last, completely, and then checks the guards. The
first guard that fails selects the next recording to try. Variables are assigned only when all
guards of a recording hold. If no recording matches, the call runs as Python and is recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from ...errors import ReplayError
from .. import settings
from ..cpu.buffers import POOL
from ..log import variable as variables
from ..log.evaluate import executor
from ..log.log import local
from ..log.variable import Variable
from ..ops.random import STATE
from ..values.pytree import flatten_result
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .guard_tree import MAX_RECORDINGS, GuardTree, RecordingLimit, TracedPath
from .observe.reads import Read, select_lasting
from .recording import FailedGuard, Recording, cell_of, commit
from .trace import CallDraws, NotReplayable, bits_at
from .tracing import (
    RETRIES,
    Journal,
    RunFunction,
    TracedCall,
    assign_from_handlers,
    find_leaked,
    output_values,
    rehome,
    run_as_python,
    splice_trace,
    trace_call,
    undo_on_error,
)

MAX_UNSTABLE_CALLS = 3  # calls in a row that may create variables or change what they read

# Called when a call of a function raises an error, unless it is part of a call that is recorded.
# Set in `distribute.process_group`.
after_failed_call: Callable[[], None] | None = None

_NO_DRAWS = CallDraws()  # for recordings without draws
_NO_RESULT = object()  # no recording matched
MAX_RECORDINGS_PER_SIGNATURE = 64


class Dispatcher:
    """The calls of a function with one signature.

    Args:
      function: The Python function, for messages and names.
      run_function: Calls it with tensors in place of the tensors among its arguments (its leaves).
      limit: The function's limit on recordings.
      compiled: Whether to compile recordings at once.
      frozen: Whether replays ignore changes of the Python state that the function reads.
    """

    __slots__ = (
        "__weakref__",
        "call_count",
        "compiled",
        "dropped_recordings",
        "frozen",
        "function",
        "is_slow",
        "limit",
        "python_calls",
        "reason",
        "run",
        "tree",
        "trees",
        "unstable_calls",
    )

    def __init__(
        self,
        function: Any,
        run_function: RunFunction,
        limit: RecordingLimit,
        compiled: bool,
        frozen: bool,
    ) -> None:
        self.function, self.run, self.limit, self.compiled = function, run_function, limit, compiled
        self.frozen = frozen
        self.trees: list[GuardTree] = []
        self.tree: GuardTree | None = None
        self.reason = ""  # why the signature runs as Python
        self.unstable_calls = 0
        self.dropped_recordings = 0  # recordings whose guards can never hold again
        self.call_count = 0
        self.python_calls = 0  # calls that Python carried out and machine code might
        self.is_slow = bool(settings.check_replay())

    def __call__(self, leaves: Sequence[Tensor]) -> Any:
        """Call the function with these tensors."""
        try:
            return self._call(leaves)
        except BaseException:
            if after_failed_call is not None and not local.log.nested:
                after_failed_call()
            raise

    def _call(self, leaves: Sequence[Tensor]) -> Any:
        start = perf_counter_ns()
        tree = self.tree
        if tree is None or self.is_slow or self.limit.reason or local.log.tapes or not tree.holds():
            return self._call_slow(leaves, start)
        # The case of `_replay_or_record` in which the path that matched last matches again.
        path = tree.root.latest
        assert path is not None
        recording = path.recording
        if recording.has_draws:
            return self._replay_or_record(tree, path, leaves, start)
        try:
            if recording.assigned:
                with variables._update_lock:
                    values = recording.run(leaves, _NO_DRAWS)
                    if not isinstance(values, FailedGuard):
                        path.hits += 1
                        path.nanoseconds += perf_counter_ns() - start
                        result = path.result(values)
                        recording.commit(values, _NO_DRAWS)  # last, because nothing after it fails
                        return result
            else:
                values = recording.run(leaves, _NO_DRAWS)
        except Exception:
            if recording.guards:
                return self._replay_or_record(tree, None, leaves, start)
            raise
        if isinstance(values, FailedGuard):
            return self._replay_or_record(tree, tree.next_path(path, values), leaves, start)
        path.hits += 1
        path.nanoseconds += perf_counter_ns() - start
        return path.rebuild(values) if path.is_direct else path.result(values)

    def _call_slow(self, leaves: Sequence[Tensor], start: int) -> Any:
        if self.limit.reason and not self.reason:
            self._stop_recording(self.limit.reason)
        if self.reason:
            return run_as_python(self.run, leaves)
        check = settings.check_replay()
        if check and self.trees:
            self.call_count += 1
            if self.call_count % check == 0:
                return self._call_checked(leaves)
        tree = self._find_tree()
        return self._replay_or_record(
            tree, None if tree is None else tree.root.latest, leaves, start
        )

    def _find_tree(self) -> GuardTree | None:
        """Return the tree of recordings that is valid for the present Python state, or None."""
        tree = self.tree
        if tree is None or not tree.holds():
            for dead_tree in [
                candidate for candidate in self.trees if candidate.guards.dead_references
            ]:  # never valid again
                self.trees.remove(dead_tree)
                self.dropped_recordings += len(dead_tree.paths)
            tree = self.tree = next(
                (candidate for candidate in self.trees if candidate.holds()), None
            )
        return tree

    def _replay_or_record(
        self,
        tree: GuardTree | None,
        path: TracedPath | None,
        leaves: Sequence[Tensor],
        start: int,
        draws: CallDraws | None = None,
    ) -> Any:
        """Replay the recording that matches, starting at ``path``. Record if none matches."""
        draws = draws or CallDraws()
        if tree is not None and len(tree.heads) > 1 and path is None:
            path = tree.root.latest
        if tree is not None and path is not None and path.recording.element_reads:
            path.recording.elements(draws)  # may run functions of the program: no lock is held
            tree = self._find_tree()  # these functions may have changed the state
            path = None if tree is None else tree.root.latest
        if tree is not None and path is not None:
            # Only one call at a time draws or assigns. The order of the locks is always the same.
            if tree.has_effects:
                with variables._update_lock, STATE.lock:
                    result = self._replay(tree, path, leaves, draws, start, True)
            else:
                result = self._replay(tree, path, leaves, draws, start, False)
            if result is not _NO_RESULT:
                return result
        count = self.dropped_recordings + sum(len(tree.paths) for tree in self.trees)
        if count < MAX_RECORDINGS_PER_SIGNATURE and self.limit.has_capacity:
            return self._record(leaves, draws)
        at_signature_limit = count >= MAX_RECORDINGS_PER_SIGNATURE
        place = "at a guard, or a name" if at_signature_limit else "in the arguments"
        limit = MAX_RECORDINGS_PER_SIGNATURE if at_signature_limit else MAX_RECORDINGS
        self._stop_recording(
            f"its calls need more than {limit} recordings (see `paths()`: what changes {place}?)"
        )
        draws.release_readers()
        return run_as_python(self.run, leaves)

    def _replay(
        self,
        tree: GuardTree,
        path: TracedPath | None,
        leaves: Sequence[Tensor],
        draws: CallDraws,
        start: int,
        holds_locks: bool,
    ) -> Any:
        """Return the committed result of the recording that matches, or `_NO_RESULT`."""
        log = local.log
        tried_heads: set[int] = set()
        while path is not None:
            tried_heads.add(id(path.nodes[0]))
            recording = path.recording
            if recording.has_effects and not holds_locks:
                return _NO_RESULT  # another thread has just added a recording with effects
            is_taped = bool(log.tapes) and log.is_recorded()
            if is_taped and recording.lacks_derivatives:
                draws.release_readers()
                return run_as_python(self.run, leaves)
            try:
                if is_taped:
                    values = recording.append_to(log, leaves, draws)
                else:
                    values = recording.run(leaves, draws)
            except Exception:
                # Either an earlier guard does not hold, or Python raises the same error.
                if recording.guards or recording.element_reads:
                    return _NO_RESULT
                raise
            if isinstance(values, FailedGuard):
                path = tree.next_path(path, values) or tree.path_for_other_elements(tried_heads)
                continue
            tree.prefer(path)
            path.hits += 1
            path.nanoseconds += perf_counter_ns() - start
            result = path.result(values)
            recording.commit(values, draws, log if is_taped else None)
            return result
        return _NO_RESULT

    # Record.

    def _record(self, leaves: Sequence[Tensor], draws: CallDraws) -> Any:
        """Run the function and store its recording."""
        try:
            call = trace_call(self.function, self.run, leaves, draws, self.frozen)
        except NotReplayable as refusal:
            self._stop_recording(str(refusal))
        else:
            has_guards = bool(call.trace.guards)
            try:
                result = self._finish(call, leaves, draws)
            finally:
                call.trace.end()
                del call
            if has_guards:  # values before a guard were kept for the rows after it
                POOL.release_unused()
            if result is not _NO_RESULT:
                return result
        draws.release_readers()
        return run_as_python(self.run, leaves)

    def _finish(self, call: TracedCall, leaves: Sequence[Tensor], draws: CallDraws) -> Any:
        """Commit a traced call and store its recording. Return `_NO_RESULT` if Python must run.

        No lock is held during the trace, because it runs the program's code. Values that other
        threads or signal handlers assigned meanwhile remain: the call's reads of them are computed
        again, and its assigns are applied on top.
        """
        trace, log, path = call.trace, local.log, None
        if not (trace.created or trace.reason or call.discard_reason):
            call.recording = Recording(trace, call.outputs, call.assigned, self.compiled)
            path = TracedPath(call.recording, call.rebuild, call.effects)
        is_taped = bool(log.tapes) and log.is_recorded()
        new_rows = splice_trace(trace, log, leaves) if is_taped else None
        values: list[Tensor] | None = output_values(call, log, new_rows)
        reads, call.reads = select_lasting(call.reads, call.temporary_reads), []
        writes, call.writes = call.writes, []
        assigned = [variable for variable, _ in call.assigned]
        with variables._update_lock, STATE.lock:
            assigned_ids = set(map(id, assigned)) - trace.created.keys()
            expected = [pair for key, pair in trace.values.items() if key in assigned_ids]
            if trace.is_stale():
                values, draws, expected = self._recompute(call, leaves, is_taped, draws)
            if path is not None and not self.frozen:
                self.limit.accesses.add(reads, writes, [array for _, array in trace.inputs])
            leaked = find_leaked(trace)
            if leaked:
                rehome(leaked, trace, log, new_rows)
            self._store_or_stop(call, path, reads, leaked)
            for _ in range(RETRIES):
                if values is None:
                    break
                count = len(values) - len(assigned)
                rows = iter(values[:count])
                result = call.rebuild(
                    [next(rows) if out.row >= 0 else out.constant for out in call.outputs]
                )
                to_log = log if is_taped else None
                if commit(
                    assigned,
                    values[count:],
                    draws,
                    trace.position,
                    to_log,
                    expected,
                    trace.element_reads,
                ):
                    return result
                values, draws, expected = self._recompute(call, leaves, is_taped, draws)
        if call.handler_assigned:
            assign_from_handlers(trace, call.handler_assigned, leaves)
        return _NO_RESULT

    def _recompute(
        self, call: TracedCall, leaves: Sequence[Tensor], is_taped: bool, old_draws: CallDraws
    ) -> tuple[list[Tensor] | None, CallDraws, list[tuple[Variable, Tensor]]]:
        """Recompute the results of a traced call from the present values of variables.

        Return them with their draws and the present values of assigned variables. The values are
        None if Python might take another path, or if the rows do not describe the whole call.
        """
        trace, recording = call.trace, call.recording
        draws = CallDraws(old_draws.readers)  # others may have drawn the old numbers meanwhile
        may_set_seed = trace.reason and trace.draws.base >= 0
        if trace.created or may_set_seed:  # the rows do neither
            return None, draws, []
        if recording is None:
            recording = Recording(trace, call.outputs, call.assigned, False)
            call.recording = recording
        expected = [(variable, variable._value) for variable, _ in recording.assigned]
        try:
            if is_taped:
                values = recording.append_to(local.log, leaves, draws)
            else:
                values = recording.run(leaves, draws)
        except Exception:  # Python raises it as well
            return None, draws, expected
        return (None if isinstance(values, FailedGuard) else values), draws, expected

    def _store_or_stop(
        self, call: TracedCall, path: TracedPath | None, reads: list[Read], leaked: list[Tensor]
    ) -> None:
        """Store a recording, or note why it is not stored."""
        if leaked:
            self._stop_recording(
                f"it stores {leaked[0]._describe()}, which it computed, outside of its result"
            )
        elif call.trace.reason or self.limit.reason:
            self._stop_recording(call.trace.reason or self.limit.reason)
        elif path is not None:
            self.unstable_calls = 0
            self._store(path, reads)
        else:
            self.unstable_calls += 1
            if self.unstable_calls >= MAX_UNSTABLE_CALLS:
                behavior = call.discard_reason or "makes variables"
                self._stop_recording(f"it {behavior} in every call")

    def _store(self, path: TracedPath, reads: list[Read]) -> None:
        tree = self.tree
        if tree is None or not tree.holds():
            tree = GuardTree()
        if self.frozen:
            self.limit.log_frozen_reads(self.function, reads, path.effects)
            reads = []
        tree.add(path, reads)
        self.limit.recording_count += 1
        if tree not in self.trees:
            self.trees.append(tree)
        self.tree = tree  # last, because other threads use it at once

    def _stop_recording(self, reason: str) -> None:
        if not self.reason:
            self.reason, self.is_slow = reason, True
            for tree in self.trees:
                for path in tree.paths:  # still listed by `paths()`, but never replayed again
                    path.recording.release()
            self.limit.warn(self.function, reason)

    # Check replays against Python.

    def _call_checked(self, leaves: Sequence[Tensor]) -> Any:
        """Replay, and compare the result with that of Python."""
        draws = CallDraws()
        try:
            call = trace_call(self.function, self.run, leaves, draws, self.frozen)
        except NotReplayable as refusal:
            raise self._replay_error(str(refusal)) from None
        call.trace.end()
        if call.trace.reason:
            raise self._replay_error(call.trace.reason)
        with variables._update_lock, STATE.lock:
            if not call.trace.is_stale():
                result = self._compare_with_python(call, leaves, draws)
                if result is not _NO_RESULT:
                    return result
        # No recording matches, or other code has assigned variables that it reads.
        tree = self._find_tree()
        latest = None if tree is None else tree.root.latest
        return self._replay_or_record(tree, latest, leaves, perf_counter_ns())

    def _compare_with_python(
        self, call: TracedCall, leaves: Sequence[Tensor], draws: CallDraws
    ) -> Any:
        """Replay the call and compare it with a traced call. Return the result or `_NO_RESULT`."""
        if call.rows:
            executor().compute(call.trace, call.rows, [], False)
        bits = {
            row: _canonical_bits(bits_at(call.trace, row), SPECS.specs[call.trace.spec[row]])
            for row in call.rows
        }
        expected = [bits.get(out.row, out.constant) for out in call.outputs]
        tree = self._find_tree()
        if tree is None:
            return _NO_RESULT
        with undo_on_error() as journal:
            result = self._replay(tree, tree.root.latest, leaves, draws, perf_counter_ns(), True)
            if result is _NO_RESULT:
                return _NO_RESULT
            actual, _ = flatten_result(result)
            difference = self._describe_difference(call, expected, actual, bits, journal)
            if difference:
                raise self._replay_error(difference)
        return result

    def _describe_difference(
        self,
        call: TracedCall,
        expected: list[Any],
        actual: list[Any],
        bits: dict[int, Any],
        journal: Journal,
    ) -> str:
        """Describe how a replay differs from a traced call; "" if it does not."""
        if len(actual) != len(expected):
            return f"it returned {len(actual)} values instead of {len(expected)}"
        for k, (value, reference, out) in enumerate(
            zip(actual, expected, call.outputs, strict=True)
        ):
            is_same_kind = isinstance(value, Tensor) == (
                out.row >= 0 or isinstance(reference, Tensor)
            )
            if isinstance(reference, Tensor):
                reference = _tensor_bits(reference)
            if (
                not is_same_kind
                or (_tensor_bits(value) if isinstance(value, Tensor) else value) != reference
            ):
                return f"output {k} was {value!r}"
        assigned = {id(variable): row for variable, row in call.assigned}
        for key, (variable, _) in {
            **{id(v): (v, None) for v, _ in call.assigned},
            **journal,
        }.items():
            if key not in assigned or key not in journal:
                return f"it did not assign the same variables: {variable.name}"
            if _tensor_bits(variable._value) != bits[assigned[key]]:
                return f"variable {variable.name} became {variable.numpy()!r}"
        return ""

    def _replay_error(self, difference: str) -> ReplayError:
        return ReplayError(
            f"A replay of {self.function!r} differs from Python: {difference}. Something that it "
            f"depends on was not observed (see the docstring of `function`)."
        )


def _tensor_bits(tensor: Tensor) -> int | bytes:
    bits = cell_of(tensor, []) if tensor._spec.single else tensor._array().tobytes()
    return _canonical_bits(bits, tensor._spec)


def _canonical_bits(bits: int | bytes, spec: Spec) -> int | bytes:
    """Return the bits of a value with one NaN for all: which NaN a sum returns is not specified."""
    if not spec.inexact:
        return bits
    raw = bits.to_bytes(8, sys.byteorder, signed=True) if isinstance(bits, int) else bits
    array = np.frombuffer(raw, spec.dtype.numpy_dtype)[: spec.size].copy()
    array[np.isnan(array)] = np.nan
    return array.tobytes()
