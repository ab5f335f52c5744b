"""Replay: calls of a function by their recordings.

For each signature there is a tree of recordings. Two that saw different values at a guard part
there. A call computes the recording that was right the last time, all of it at once, and looks at
the guards afterwards; the first one that fails says which recording to try next. Only when all
guards of one hold is anything assigned. If none is left, the call runs as Python and is recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from ...errors import ReplayError
from .. import settings
from ..log import variable as variables
from ..log.log import local
from ..log.look import executor
from ..log.variable import Variable
from ..ops.random import STATE
from ..values.nests import flatten_with
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from .call import (
    RETRIES,
    Journal,
    Run,
    Traced,
    assign_handled,
    grafted,
    leaked,
    plainly,
    rehome,
    traced,
    undone_if_raised,
    values_of,
)
from .observe.reads import Read, select_lasting
from .paths import LIMIT_IN_ALL, Path, Tree
from .paths import Budget as Budget
from .ready import Failed, cell_of
from .recording import Recording, commit
from .trace import Draws, NotReplayable, bits_at

MAKING = 3  # calls in a row that may make variables, or change what names mean

_NO_DRAWS = Draws()  # nothing is taken from it
_NONE = object()  # what a call returns that has not come about
LIMIT = 64  # recordings of one signature


class Calls:
    """The calls of a function with one signature.

    Args:
      function: The Python function, for messages and names.
      run: Calls it with tensors in the places of the tensors among its arguments, its leaves.
      budget: That of the function.
      compiled: Whether to compile what is recorded at once.
      frozen: Whether what it reads of Python's state stays what it was.
    """

    __slots__ = (
        "budget",
        "compiled",
        "count",
        "dropped",
        "frozen",
        "function",
        "making",
        "reason",
        "run",
        "slow",
        "tree",
        "trees",
        "turn",
    )

    def __init__(
        self, function: Any, run: Run, budget: Budget, compiled: bool, frozen: bool
    ) -> None:
        self.function, self.run, self.budget, self.compiled = function, run, budget, compiled
        self.frozen = frozen
        self.trees: list[Tree] = []
        self.tree: Tree | None = None
        self.reason = ""  # why there are no recordings any more
        self.making = 0
        self.dropped = 0  # recordings that could never be replayed any more
        self.count = 0
        self.turn = 0  # how often Python carried out a call that machine code might
        self.slow = bool(settings.check_replay())

    def __call__(self, leaves: Sequence[Tensor]) -> Any:
        """Call the function with these tensors."""
        start = perf_counter_ns()
        tree = self.tree
        if tree is None or self.slow or self.budget.reason or local.log.tapes or not tree.holds():
            return self._slowly(leaves, start)
        # What `_call` does where the recording that was right the last time is right again.
        path = tree.root.latest
        assert path is not None
        recording = path.recording
        if recording.drawing:
            return self._call(tree, path, leaves, start)
        try:
            if recording.assigned:
                with variables._update_lock:
                    found = recording.run(leaves, _NO_DRAWS)
                    if not isinstance(found, Failed):
                        path.hits += 1
                        path.nanoseconds += perf_counter_ns() - start
                        result = path.result(found)
                        recording.commit(found, _NO_DRAWS)  # last: nothing can fail behind it
                        return result
            else:
                found = recording.run(leaves, _NO_DRAWS)
        except Exception:
            if recording.guards:
                return self._call(tree, None, leaves, start)
            raise
        if isinstance(found, Failed):
            return self._call(tree, tree.other(path, found), leaves, start)
        path.hits += 1
        path.nanoseconds += perf_counter_ns() - start
        return path.rebuild(found) if path.as_it_is else path.result(found)

    def _slowly(self, leaves: Sequence[Tensor], start: int) -> Any:
        if self.budget.reason and not self.reason:
            self._stop(self.budget.reason)
        if self.reason:
            return plainly(self.run, leaves)
        check = settings.check_replay()
        if check and self.trees:
            self.count += 1
            if self.count % check == 0:
                return self._checked(leaves)
        tree = self._holding()
        return self._call(tree, None if tree is None else tree.root.latest, leaves, start)

    def _holding(self) -> Tree | None:
        """The recordings for what the names mean now."""
        tree = self.tree
        if tree is None or not tree.holds():
            for other in [t for t in self.trees if t.guards.gone]:  # it never holds again
                self.trees.remove(other)
                self.dropped += len(other.paths)
            tree = self.tree = next((t for t in self.trees if t.holds()), None)
        return tree

    def _call(
        self,
        tree: Tree | None,
        path: Path | None,
        leaves: Sequence[Tensor],
        start: int,
        draws: Draws | None = None,
    ) -> Any:
        """Replay the recording that holds, from ``path`` on; if there is none, record."""
        draws = draws or Draws()
        if tree is not None and len(tree.heads) > 1 and path is None:
            path = tree.root.latest
        if tree is not None and path is not None and path.recording.feeds:
            path.recording.elements(draws)  # functions of the program may run: no lock is held
            tree = self._holding()  # which may have changed what is compared
            path = None if tree is None else tree.root.latest
        if tree is not None and path is not None:
            # While a call draws or assigns, no other one does; always in this order.
            if tree.effects:
                with variables._update_lock, STATE.lock:
                    result = self._replayed(tree, path, leaves, draws, start, True)
            else:
                result = self._replayed(tree, path, leaves, draws, start, False)
            if result is not _NONE:
                return result
        made = self.dropped + sum(len(tree.paths) for tree in self.trees)
        if made < LIMIT and self.budget.left:
            return self._recorded(leaves, draws)
        many = made >= LIMIT
        where = "at a guard, or a name" if many else "in the arguments"
        self._stop(
            f"{LIMIT if many else LIMIT_IN_ALL} recordings did not suffice for its calls (see "
            f"`paths()`: what changes {where}?)"
        )
        draws.give_back()
        return plainly(self.run, leaves)

    def _replayed(
        self,
        tree: Tree,
        path: Path | None,
        leaves: Sequence[Tensor],
        draws: Draws,
        start: int,
        locked: bool,
    ) -> Any:
        """What the recording that holds gives, committed; or `_NONE`."""
        log = local.log
        tried: set[int] = set()
        while path is not None:
            tried.add(id(path.nodes[0]))
            recording = path.recording
            if recording.effects and not locked:
                return _NONE  # another thread has just found out that there are some
            taped = bool(log.tapes) and log.is_recorded()
            if taped and recording.opaque:
                draws.give_back()
                return plainly(self.run, leaves)
            try:
                if taped:
                    found = recording.appended(log, leaves, draws)
                else:
                    found = recording.run(leaves, draws)
            except Exception:
                # Guards before what failed do not hold, or Python will say.
                if recording.guards or recording.feeds:
                    return _NONE
                raise
            if isinstance(found, Failed):
                path = tree.other(path, found) or tree.elsewhere(tried)
                continue
            tree.prefer(path)
            path.hits += 1
            path.nanoseconds += perf_counter_ns() - start
            result = path.result(found)
            recording.commit(found, draws, log if taped else None)
            return result
        return _NONE

    # Recording.

    def _recorded(self, leaves: Sequence[Tensor], draws: Draws) -> Any:
        """Run the function, and keep what it records."""
        try:
            call = traced(self.function, self.run, leaves, draws, self.frozen)
        except NotReplayable as refusal:
            self._stop(str(refusal))
        else:
            try:
                result = self._finished(call, leaves, draws)
            finally:
                call.trace.end()
            if result is not _NONE:
                return result
        draws.give_back()
        return plainly(self.run, leaves)

    def _finished(self, call: Traced, leaves: Sequence[Tensor], draws: Draws) -> Any:
        """Commit a call that was traced, and keep its recording; `_NONE` if Python runs again.

        While a call was traced no lock was held, for it ran the program's own code. What others,
        threads or signal handlers, assigned meanwhile stays: what the call read of it is read
        again, and its assigns are made on top.
        """
        trace, log, path = call.trace, local.log, None
        if not (trace.created or trace.reason or call.changed):
            call.recording = Recording(trace, call.outputs, call.assigned, self.compiled)
            path = Path(call.recording, call.rebuild, call.effects)
        taped = bool(log.tapes) and log.is_recorded()
        to = grafted(trace, log, leaves) if taped else None
        values: list[Tensor] | None = values_of(call, log, to)
        found, call.reads = select_lasting(call.reads, call.of_temporary), []
        sets, call.sets = call.sets, []
        assigned = [variable for variable, _ in call.assigned]
        with variables._update_lock, STATE.lock:
            mine = set(map(id, assigned)) - trace.created.keys()
            had = [pair for key, pair in trace.values.items() if key in mine]
            if trace.stale():
                values, draws, had = self._anew(call, leaves, taped, draws)
            if path is not None and not self.frozen:
                self.budget.touched.add(found, sets, [array for _, array in trace.inputs])
            kept = leaked(trace)
            if kept:
                rehome(kept, trace, log, to)
            self._note(call, path, found, kept)
            for _ in range(RETRIES):
                if values is None:
                    break
                count = len(values) - len(assigned)
                rows = iter(values[:count])
                result = call.rebuild(
                    [next(rows) if out.row >= 0 else out.constant for out in call.outputs]
                )
                to_log = log if taped else None
                if commit(
                    assigned, values[count:], draws, trace.position, to_log, had, trace.feeds
                ):
                    return result
                values, draws, had = self._anew(call, leaves, taped, draws)
        if call.handled:
            assign_handled(trace, call.handled, leaves)
        return _NONE

    def _anew(
        self, call: Traced, leaves: Sequence[Tensor], taped: bool, old: Draws
    ) -> tuple[list[Tensor] | None, Draws, list[tuple[Variable, Tensor]]]:
        """What leaves a call that was traced, computed from what variables have now.

        Also its draws, and what the variables that it assigns had. No values if Python might do
        something else now, or rows do not say all that it does.
        """
        trace, recording = call.trace, call.recording
        draws = Draws(old.readers)  # others may have drawn the numbers of the old one meanwhile
        if trace.created or (trace.reason and trace.draws.base >= 0):  # it may have set the seed
            return None, draws, []
        if recording is None:
            recording = Recording(trace, call.outputs, call.assigned, False)
            call.recording = recording
        had = [(variable, variable._value) for variable, _ in recording.assigned]
        try:
            if taped:
                found = recording.appended(local.log, leaves, draws)
            else:
                found = recording.run(leaves, draws)
        except Exception:  # Python will say
            return None, draws, had
        return (None if isinstance(found, Failed) else found), draws, had

    def _note(self, call: Traced, path: Path | None, found: list[Read], kept: list[Tensor]) -> None:
        """Keep a recording, or note why it is not kept."""
        if kept:
            self._stop(
                f"it keeps {kept[0]._describe()}, which it computed, somewhere besides in what "
                f"it returns"
            )
        elif call.trace.reason or self.budget.reason:
            self._stop(call.trace.reason or self.budget.reason)
        elif path is not None:
            self.making = 0
            self._keep(path, found)
        else:
            self.making += 1
            if self.making >= MAKING:
                what = call.changed or "makes variables"
                self._stop(f"it {what} in every call")

    def _keep(self, path: Path, found: list[Read]) -> None:
        tree = self.tree
        if tree is None or not tree.holds():
            tree = Tree()
        if self.frozen:
            self.budget.froze(self.function, found, path.effects)
            found = []
        tree.add(path, found)
        self.budget.made += 1
        if tree not in self.trees:
            self.trees.append(tree)
        self.tree = tree  # last: other threads take what they find here

    def _stop(self, reason: str) -> None:
        if not self.reason:
            self.reason, self.slow = reason, True
            for tree in self.trees:
                for path in tree.paths:  # they are shown, but not replayed any more
                    path.recording.release()
            self.budget.warn(self.function, reason)

    # Checking.

    def _checked(self, leaves: Sequence[Tensor]) -> Any:
        """Replay, and compare with what Python does."""
        draws = Draws()
        try:
            call = traced(self.function, self.run, leaves, draws, self.frozen)
        except NotReplayable as refusal:
            raise self._difference(str(refusal)) from None
        call.trace.end()
        if call.trace.reason:
            raise self._difference(call.trace.reason)
        with variables._update_lock, STATE.lock:
            if not call.trace.stale():
                result = self._compared(call, leaves, draws)
                if result is not _NONE:
                    return result
        # No recording holds, or others have assigned what it reads.
        tree = self._holding()
        latest = None if tree is None else tree.root.latest
        return self._call(tree, latest, leaves, perf_counter_ns())

    def _compared(self, call: Traced, leaves: Sequence[Tensor], draws: Draws) -> Any:
        """What a replay returns, if there is one: what a call that was traced does."""
        if call.rows:
            executor().compute(call.trace, call.rows, [], True)
        bits = {
            row: _plain(bits_at(call.trace, row), SPECS.specs[call.trace.spec[row]])
            for row in call.rows
        }
        expected = [bits.get(out.row, out.constant) for out in call.outputs]
        tree = self._holding()
        if tree is None:
            return _NONE
        with undone_if_raised() as journal:
            result = self._replayed(tree, tree.root.latest, leaves, draws, perf_counter_ns(), True)
            if result is _NONE:
                return _NONE
            found, _ = flatten_with(result, True)
            what = self._different(call, expected, found, bits, journal)
            if what:
                raise self._difference(what)
        return result

    def _different(
        self,
        call: Traced,
        expected: list[Any],
        found: list[Any],
        bits: dict[int, Any],
        journal: Journal,
    ) -> str:
        """In what a replay differs from a call that was traced; "" if in nothing."""
        if len(found) != len(expected):
            return f"it returned {len(found)} values instead of {len(expected)}"
        for k, (value, wanted, out) in enumerate(zip(found, expected, call.outputs, strict=True)):
            same_kind = isinstance(value, Tensor) == (out.row >= 0 or isinstance(wanted, Tensor))
            if isinstance(wanted, Tensor):
                wanted = _bits(wanted)
            if not same_kind or (_bits(value) if isinstance(value, Tensor) else value) != wanted:
                return f"output {k} was {value!r}"
        assigned = {id(variable): row for variable, row in call.assigned}
        for key, (variable, _) in {
            **{id(v): (v, None) for v, _ in call.assigned},
            **journal,
        }.items():
            if key not in assigned or key not in journal:
                return f"it did not assign the same variables: {variable.name}"
            if _bits(variable._value) != bits[assigned[key]]:
                return f"variable {variable.name} became {variable.numpy()!r}"
        return ""

    def _difference(self, what: str) -> ReplayError:
        return ReplayError(
            f"A replay of {self.function!r} differs from Python: {what}. Something that it "
            f"depends on was not observed (see the docstring of `function`)."
        )


def _bits(tensor: Tensor) -> int | bytes:
    found = cell_of(tensor, []) if tensor._spec.single else tensor._array().tobytes()
    return _plain(found, tensor._spec)


def _plain(bits: int | bytes, spec: Spec) -> int | bytes:
    """The bits of a value, all NaNs alike: which of two a sum passes on is not promised."""
    if not spec.inexact:
        return bits
    raw = bits.to_bytes(8, sys.byteorder, signed=True) if isinstance(bits, int) else bits
    array = np.frombuffer(raw, spec.dtype.numpy_dtype)[: spec.size].copy()
    array[np.isnan(array)] = np.nan
    return array.tobytes()
