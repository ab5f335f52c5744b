"""Replay: calls of a function by their recordings.

For each signature there is a tree of recordings. Two that saw different values at a guard part
there. A call computes the recording that was right the last time, all of it at once, and looks at
the guards afterwards; the first one that fails says which recording to try next. Only when all
guards of one hold is anything assigned. If none is left, the call runs as Python and is recorded.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter_ns
from typing import Any

import numpy as np

from .. import config
from ..errors import ReplayError
from . import variable as variables
from .graft import graft
from .log import READ_CODE, Log, alive, local
from .names import MISSING, Names, Watch, from_outside, same
from .ops.random import STATE
from .recording import Failed, Output, Recording, bits_at, cell_of, commit
from .spec import TABLES
from .structure import flatten_with
from .sweep import executor
from .tensor import Tensor, of_array
from .trace import Draws, NotReplayable, Trace
from .variable import Variable, _tensor, set_values

MAKING = 3  # calls in a row that may make variables, or change what names mean

Journal = dict[int, tuple[Variable, Tensor]]

_NO_DRAWS = Draws()  # nothing is taken from it


class Budget:
    """What the calls of a function with different signatures share.

    Attributes:
      left: How many recordings it may still make.
      warned: Whether it was said that it runs as Python.
    """

    LIMIT = 64

    def __init__(self) -> None:
        self.left = self.LIMIT
        self.warned = False

    def warn(self, function: Any, reason: str) -> None:
        """Say, once, why it runs as Python."""
        if not self.warned:
            self.warned = True
            name = getattr(function, "__qualname__", repr(function))
            warnings.warn(
                f"numtape.function {name!r} runs as plain Python from now on: {reason}.",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip


TOO_MANY = (
    f"{Budget.LIMIT} recordings did not suffice for its calls (see `paths()`: what changes at a "
    f"guard, or in the arguments?)"
)


class Path:
    """A recording in its tree.

    Attributes:
      recording: The rows.
      nodes: Where it passes, guard by guard.
      hits: How often it was right.
      seconds: How long these calls took.
    """

    def __init__(self, recording: Recording, rebuild: Callable[[list[Any]], Any]) -> None:
        self.recording, self.rebuild = recording, rebuild
        self.nodes: list[Node] = []
        self.hits = 0
        self.nanoseconds = 0
        outputs = recording.outputs
        self._only_rows = all(out.row >= 0 for out in outputs)
        self._count = len(outputs)

    def result(self, values: list[Tensor]) -> Any:
        """What the call returns."""
        if self._only_rows:
            return self.rebuild(values[: self._count])
        rows = iter(values)
        return self.rebuild(
            [next(rows) if out.row >= 0 else out.constant for out in self.recording.outputs]
        )


class Node:
    """Where recordings may part: the next guard, and what can be seen at it."""

    __slots__ = ("children", "latest")

    def __init__(self) -> None:
        self.children: dict[tuple[int, int | bytes], Node] = {}
        self.latest: Path | None = None  # the one that was right the last time


class Tree:
    """Recordings that hold while the same names mean the same."""

    def __init__(self) -> None:
        self.watches: list[Watch] = []
        self.root = Node()
        self.paths: list[Path] = []

    def holds(self) -> bool:
        """Whether every name still means what it did."""
        for get, key, value, _ in self.watches:
            found = get(key, MISSING)
            if found is not value and not same(found, value):
                return False
        return True

    def add(self, path: Path, watches: list[Watch]) -> None:
        """Enter a recording."""
        known = {(id(watch.key), watch.name) for watch in self.watches}
        self.watches += [w for w in watches if (id(w.key), w.name) not in known]
        node = self.root
        path.nodes = [node]
        for guard in path.recording.guards:
            node = node.children.setdefault((guard.row, guard.bits), Node())
            path.nodes.append(node)
        self.paths.append(path)
        self.right(path)

    def right(self, path: Path) -> None:
        """A path was right: try it first the next time."""
        if self.root.latest is not path:
            for node in path.nodes:
                node.latest = path

    def other(self, path: Path, failed: Failed) -> Path | None:
        """The path to try after one of whose guards failed."""
        row = path.recording.guards[failed.guard].row
        node = path.nodes[failed.guard].children.get((row, failed.bits))
        return None if node is None else node.latest


class Traced:
    """A call that was traced. Variables and random numbers are as before it."""

    def __init__(self, trace: Trace, names: Names) -> None:
        self.trace = trace
        self.watches = names.watches
        self.changed = ""
        self.outputs: list[Output] = []
        self.rebuild: Callable[[list[Any]], Any] = list
        self.assigned: list[tuple[Variable, int]] = []

    @property
    def rows(self) -> list[int]:
        """What leaves the call."""
        found = [out.row for out in self.outputs if out.row >= 0]
        return found + [row for _, row in self.assigned]


def traced(function: Any, run: Callable[[list[Tensor]], Any], leaves: list[Tensor],
           draws: Draws) -> Traced:  # fmt: skip
    """Call ``run`` with tensors that stand for ``leaves``, in a log of its own."""
    trace, names = Trace(draws), Names(function)
    found = Traced(trace, names)
    caller = local.log
    seed = STATE.seed, STATE.draws
    with undone() as journal:
        stand_ins = [trace.argument(leaf._array(), leaf._spec) for leaf in leaves]
        local.log = trace
        try:
            with names:
                result = run(stand_ins)
            found.changed = names.changed()
            found.outputs, found.rebuild = _outputs(trace, result)
            changed = {
                key: variable for key, (variable, old) in journal.items()
                if variable._value is not old
            }  # fmt: skip
            changed |= {k: v for k, v in trace.created.items() if v._value._home is trace}
            for variable in changed.values():
                found.assigned.append((variable, trace.own(variable._value)._row))
            del result, stand_ins
        except BaseException:
            STATE.seed, STATE.draws = seed
            raise
        finally:
            trace.closed = True
            local.log = caller
            trace.forget_reads()
    tapes = [tape for ref in trace.tapes if (tape := ref()) is not None]
    if tapes:
        for tape in tapes:  # as before the call
            tape.clear()
        STATE.seed, STATE.draws = seed
        trace.refuse("it keeps a GradientTape")
    return found


@contextmanager
def undone() -> Iterator[Journal]:
    """Give variables that are assigned inside the block their old values behind it."""
    before = local.journal
    journal: Journal = {}
    local.journal = journal
    try:
        yield journal
    finally:
        local.journal = before
        undo(journal)


def undo(journal: Journal) -> None:
    """Give variables their old values."""
    changed = list(journal.values())
    set_values([variable for variable, _ in changed], [value for _, value in changed])


def _outputs(trace: Trace, result: Any) -> tuple[list[Output], Callable[[list[Any]], Any]]:
    """The leaves of what a call returns."""
    if type(result) is Tensor:
        return [_output(trace, result)], lambda values: values[0]
    leaves, rebuild = flatten_with(result)
    return [_output(trace, leaf) for leaf in leaves], rebuild


def _output(trace: Trace, leaf: Any) -> Output:
    found = returned(leaf)
    if type(found) is Tensor and found._home is trace:
        return Output(found._row, found._spec, None)
    return Output(-1, None, found)


def returned(leaf: Any) -> Any:
    """What a function returns for a leaf: variables, numbers and arrays become tensors.

    Raises:
      TypeError: If it is something else that TensorFlow's functions do not return either.
    """
    if type(leaf) is Tensor or leaf is None or isinstance(leaf, str):
        return leaf
    if isinstance(leaf, Variable):
        return leaf.read_value()
    if isinstance(leaf, bool | int | float | np.ndarray | np.generic):
        return _tensor(leaf, None)
    raise TypeError(
        f"A function returns tensors, None, or nests of them, but found a value of type "
        f"{type(leaf).__name__}."
    )


class Calls:
    """The calls of a function with one signature.

    Args:
      function: The Python function, for messages and names.
      run: Calls it with tensors in the places of the tensors among its arguments.
      budget: That of the function.
      compiled: Whether to compile what is recorded at once.
    """

    def __init__(
        self, function: Any, run: Callable[[list[Tensor]], Any], budget: Budget,
        compiled: bool = False,
    ) -> None:  # fmt: skip
        self.function, self.run, self.budget, self.compiled = function, run, budget, compiled
        self.trees: list[Tree] = []
        self.tree: Tree | None = None
        self.reason = ""  # why there are no recordings any more
        self.making = 0
        self.count = 0
        self.slow = bool(config.check_replay())

    def __call__(self, leaves: list[Tensor]) -> Any:
        """Call the function with these tensors."""
        start = perf_counter_ns()
        tree = self.tree
        if tree is None or self.slow or local.log.tapes or not tree.holds():
            return self._slowly(leaves, start)
        # What `_call` does where the recording that was right the last time is right again.
        path = tree.root.latest
        assert path is not None
        recording = path.recording
        if recording.draws:
            return self._call(tree, path, leaves, start)
        try:
            if recording.assigned:
                with variables._updating:
                    found = recording.run(leaves, _NO_DRAWS)
                    if type(found) is list:
                        recording.commit(found, _NO_DRAWS)
            else:
                found = recording.run(leaves, _NO_DRAWS)
        except Exception:
            if recording.guards:
                return self._call(tree, None, leaves, start)
            raise
        if type(found) is not list:
            return self._call(tree, tree.other(path, found), leaves, start)  # type: ignore[arg-type]
        path.hits += 1
        path.nanoseconds += perf_counter_ns() - start
        return path.result(found)

    def _slowly(self, leaves: list[Tensor], start: int) -> Any:
        if self.reason:
            return plainly(self.run, leaves)
        check = config.check_replay()
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
            tree = self.tree = next((t for t in self.trees if t.holds()), None)
        return tree

    def _call(
        self, tree: Tree | None, path: Path | None, leaves: list[Tensor], start: int,
        draws: Draws = _NO_DRAWS,
    ) -> Any:  # fmt: skip
        """Replay the recording that holds, from ``path`` on; if there is none, record."""
        log = local.log
        with ExitStack() as ending:
            while path is not None and tree is not None:
                recording = path.recording
                if recording.effects:
                    # Until the call ends; and always before the lock of the random numbers.
                    ending.enter_context(variables._updating)
                if recording.draws and draws is _NO_DRAWS:
                    draws = Draws()
                    ending.callback(draws.release)
                found = self._tried(recording, log, leaves, draws)
                if found is None:
                    break
                if type(found) is list:
                    tree.right(path)
                    path.hits += 1
                    path.nanoseconds += perf_counter_ns() - start
                    return path.result(found)
                path = tree.other(path, found)  # type: ignore[arg-type]
            if not self.budget.left:
                self._stop(TOO_MANY)
                draws.release()  # they are drawn again
                return plainly(self.run, leaves)
            ending.enter_context(variables._updating)
            if draws is _NO_DRAWS:
                draws = Draws()
                ending.callback(draws.release)
            return self._recorded(log, leaves, draws)

    def _tried(
        self, recording: Recording, log: Log, leaves: list[Tensor], draws: Draws
    ) -> list[Tensor] | Failed | None:
        """What a recording gives, committed; the guard that failed; None if it cannot run."""
        try:
            taped = bool(log.tapes) and log.recorded()
            if taped:
                found = recording.appended(log, leaves, draws)
            else:
                found = recording.run(leaves, draws)
        except Exception:
            if not recording.guards:
                raise
            return None  # guards that come before what failed do not hold, or Python will say
        if type(found) is list:
            recording.commit(found, draws, log if taped else None)
        return found

    # Recording.

    def _recorded(self, log: Log, leaves: list[Tensor], draws: Draws) -> Any:
        """Run the function, and keep what it records."""
        try:
            call = traced(self.function, self.run, leaves, draws)
        except NotReplayable as refusal:
            self._stop(str(refusal))
            call = None
        if call is not None:
            return self._finished(call, log, leaves, draws)
        draws.release()  # they are drawn again
        return plainly(self.run, leaves)

    def _finished(self, call: Traced, log: Log, leaves: list[Tensor], draws: Draws) -> Any:
        """Commit a call that was traced, and keep its recording."""
        trace, path = call.trace, None
        if not (trace.created or trace.reason or call.changed):
            self.making = 0
            recording = Recording(trace, call.outputs, call.assigned, self.compiled)
            path = Path(recording, call.rebuild)
        taped = bool(log.tapes) and log.recorded()
        to = _grafted(trace, log, leaves) if taped else None
        values = _values(call, log, to)
        assigned = len(call.assigned)
        split = len(values) - assigned
        commit(
            [variable for variable, _ in call.assigned], values[split:], draws,
            trace.position, log if taped else None,
        )  # fmt: skip
        rows = iter(values[:split])
        result = call.rebuild(
            [next(rows) if out.row >= 0 else out.constant for out in call.outputs]
        )
        del rows, values
        call.watches = from_outside(call.watches)
        leaked = _leaked(trace)
        if leaked:
            self._stop(
                f"it keeps {leaked[0]._describe()}, which it computed, somewhere besides in what "
                f"it returns"
            )
            _rehome(leaked, trace, log, to)
        elif trace.reason:
            self._stop(trace.reason)
        elif path is None:
            self.making += 1
            if self.making >= MAKING:
                what = f"changes {call.changed}" if call.changed else "makes variables"
                self._stop(f"it {what} in every call")
        else:
            self._keep(path, call.watches)
        return result

    def _keep(self, path: Path, watches: list[Watch]) -> None:
        self.budget.left -= 1
        tree = self.tree
        if tree is None:
            tree = Tree()
            self.trees.append(tree)
            self.tree = tree
        tree.add(path, watches)

    def _stop(self, reason: str) -> None:
        if not self.reason:
            self.reason, self.slow = reason, True
            self.budget.warn(self.function, reason)

    # Checking.

    def _checked(self, leaves: list[Tensor]) -> Any:
        """Replay, and compare with what Python does."""
        with variables._updating:
            draws = Draws()
            try:
                return self._compared(leaves, draws)
            finally:
                draws.release()

    def _compared(self, leaves: list[Tensor], draws: Draws) -> Any:
        try:
            call = traced(self.function, self.run, leaves, draws)
        except NotReplayable as refusal:
            raise self._difference(str(refusal)) from None
        if call.trace.reason:
            raise self._difference(call.trace.reason)
        if call.rows:
            executor().compute(call.trace, call.rows, [], True)
        bits = {row: bits_at(call.trace, row) for row in call.rows}
        expected = [bits.get(out.row, out.constant) for out in call.outputs]
        state = STATE.draws
        before, journal = local.journal, {}  # type: ignore[var-annotated]
        local.journal = journal
        tree = self._holding()
        latest = None if tree is None else tree.root.latest
        try:
            result = self._call(tree, latest, leaves, perf_counter_ns(), draws)
            found, _ = flatten_with(result)
            what = self._different(call, expected, found, bits, journal)
            if what:
                raise self._difference(what)
        except BaseException:
            undo(journal)
            STATE.draws = state
            raise
        finally:
            local.journal = before
        if before is not None:
            for key, change in journal.items():
                before.setdefault(key, change)
        return result

    def _different(
        self, call: Traced, expected: list[Any], found: list[Any], bits: dict[int, Any],
        journal: Journal,
    ) -> str:  # fmt: skip
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
            **{id(v): (v, None) for v, _ in call.assigned}, **journal,
        }.items():  # fmt: skip
            if key not in assigned or key not in journal:
                return f"it did not assign the same variables: {variable.name}"
            if _bits(variable._value) != bits[assigned[key]]:
                return f"variable {variable.name} became {variable.numpy()!r}"
        return ""

    def _difference(self, what: str) -> ReplayError:
        return ReplayError(
            f"A replay of {self.function!r} differs from Python: {what}. Something that it "
            f"depends on is neither a tensor nor a name (see the docstring of `function`)."
        )


def _bits(tensor: Tensor) -> int | bytes:
    return cell_of(tensor) if tensor._spec.size == 1 else tensor._array().tobytes()


def _grafted(trace: Trace, log: Log, leaves: list[Tensor]) -> np.ndarray[Any, Any]:
    """Append a trace to the caller's log, connected with its tensors. Returns the rows' numbers."""
    to = np.full(trace.n, -1, np.int32)
    for row in np.flatnonzero(trace.columns.code[: trace.n] == READ_CODE).tolist():
        variable = trace.variables[trace.b[row]]
        if id(variable) not in trace.created:  # variables are as they were before the call
            to[row] = variable._read_in(log)
    for row, leaf in zip(trace.arguments, leaves, strict=True):
        to[row] = log.enter(leaf, None, "function")[0]
    for row, tensor in trace._leaf_rows.values():
        to[row] = log.enter(tensor, None, "function")[0]
    graft(trace, log, to)
    return to


def _values(call: Traced, log: Log, to: np.ndarray[Any, Any] | None) -> list[Tensor]:
    """What leaves a call, as tensors: computed, or, where a tape follows, rows."""
    trace, specs = call.trace, TABLES.specs
    if to is not None:
        return [log.tensor(int(to[row]), specs[trace.spec[row]]) for row in call.rows]
    if call.rows:
        executor().compute(trace, call.rows, [], True)
    found = []
    for row in call.rows:
        spec = specs[trace.spec[row]]
        found.append(of_array(trace.value(row, spec), spec))
    return found


def _leaked(trace: Trace) -> list[Tensor]:
    """Tensors of a call that can still be reached."""
    found = alive(trace.kept)
    if len(found) == len(trace.kept) and found:  # no reference counts here
        return []
    if found:
        del found
        gc.collect()  # an exception may hold them in a cycle
        found = alive(trace.kept)
    return found


def _rehome(
    tensors: list[Tensor], trace: Trace, log: Log, to: np.ndarray[Any, Any] | None
) -> None:
    """Give tensors that outlive their trace a place elsewhere."""
    if to is None:
        executor().compute(trace, [tensor._row for tensor in tensors], [], True)
    for tensor in tensors:
        if to is None:
            tensor._home = trace.value(tensor._row, tensor._spec)
        else:
            tensor._row = int(to[tensor._row])
            tensor._home = log
            log.kept.append(tensor)


def plainly(run: Callable[[list[Tensor]], Any], leaves: list[Tensor]) -> Any:
    """Call a function as Python: if it raises, variables and random state are as before."""
    before = local.journal
    journal: Journal = {}
    log: Any = local.log
    draws = STATE.draws, STATE.seed, log.position if log.tracing else 0
    local.journal = journal
    try:
        result = run(leaves)
        if type(result) is Tensor:
            return result
        found, rebuild = flatten_with(result)
        result = rebuild([returned(leaf) for leaf in found])
    except BaseException:
        undo(journal)
        STATE.draws, STATE.seed, position = draws
        if log.tracing:
            log.position = position
        raise
    finally:
        local.journal = before
        if before is not None:
            for key, change in journal.items():
                before.setdefault(key, change)
    return result
