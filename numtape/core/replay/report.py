"""What a function recorded, for people: paths, their guards with source lines, hits, time."""

from __future__ import annotations

import itertools
import linecache
import os
from collections.abc import Iterable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..values.spec import SPECS
from ..values.tensor import Tensor
from .observe.reads import ATTRIBUTE, CELL, CODE, ENTRY, ITEM, METHOD
from .ready import CELLS
from .recording import Recording
from .trace import Guard


class Seen(NamedTuple):
    """A guard: where the function looked at a value, and what it saw.

    Attributes:
      file: The source file.
      line: The number of the line.
      source: The line.
      value: What was seen, a NumPy value.
    """

    file: str
    line: int
    source: str
    value: Any


class RecordedPath(NamedTuple):
    """One recording of a function.

    Attributes:
      arguments: The specs of the tensors among its arguments.
      guards: What must be seen again, in order.
      names: What was read of Python's state and must be the same: names and values.
      effects: What Python did besides when it was recorded, and no replay does.
      hits: How often it was replayed.
      rows: The number of rows.
      seconds: The mean time of a replay, calls that first tried other paths included.
    """

    arguments: tuple[Any, ...]
    guards: tuple[Seen, ...]
    names: tuple[tuple[str, Any], ...]
    effects: tuple[str, ...]
    hits: int
    rows: int
    seconds: float


class Paths(list[RecordedPath]):
    """The recordings of a function; printed, a table."""

    def __init__(self, calls: Iterable[Any]) -> None:
        super().__init__()
        self.reasons = []
        for one in calls:
            if one.reason:
                self.reasons.append(one.reason)
            for tree in one.trees:
                names = _names(tree.guards.guards)
                self += (_path(path, names) for path in tree.paths)

    def __repr__(self) -> str:
        lines = [f"{len(self)} recorded path{'s' * (len(self) != 1)}"]
        for k, path in enumerate(self):
            arguments = ", ".join(map(repr, path.arguments)) or "no tensors"
            time = f"{path.seconds * 1e6:.1f} µs each" if path.hits else "not replayed yet"
            lines.append(f"{k}: {arguments}; {path.rows} rows, {path.hits} hits, {time}")
            seen = [
                f"   {os.path.basename(guard.file)}:{guard.line}: {guard.source}  saw "
                f"{_short(guard.value)}" for guard in path.guards
            ]  # fmt: skip
            for line, group in itertools.groupby(seen):
                times = len(list(group))
                lines.append(line if times == 1 else f"{line}, {times} times")
            numbers = [(n, v) for n, v in path.names if isinstance(v, int | float | str)]
            if numbers:
                lines.append("   with " + ", ".join(f"{n} = {v!r}" for n, v in numbers))
            lines += [f"   only when recorded: {effect}" for effect in path.effects]
        lines += [f"runs as Python: {reason}" for reason in self.reasons]
        return "\n".join(lines)


def _names(guards: Iterable[Any]) -> tuple[tuple[str, Any], ...]:
    """What was read of the program's state; what numtape's objects have of their own is not."""
    guards = list(guards)
    inner = tuple(
        f"{guard.name.rpartition('.')[0]}." for guard in guards
        if guard.kind in (ATTRIBUTE, METHOD, CODE) and _is_ours(guard.holder())
    )  # fmt: skip
    return tuple(
        (guard.name, guard.value()) for guard in guards
        if guard.kind in (ENTRY, CELL, ATTRIBUTE, METHOD, ITEM)
        and not guard.name.startswith(inner)
    )  # fmt: skip


def _is_ours(holder: Any) -> bool:
    """Whether an object, a class or a function is numtape's; not one of a class made of ours."""
    named = holder if isinstance(holder, type | FunctionType) else type(holder)
    return str(named.__module__).partition(".")[0] == "numtape"


def _path(path: Any, names: tuple[tuple[str, Any], ...]) -> RecordedPath:
    recording: Recording = path.recording
    spec = recording.log.spec
    return RecordedPath(
        tuple(SPECS.specs[spec[row]] for _, row in recording.arguments),
        tuple(_seen(recording, guard) for guard in recording.guards), names, tuple(path.effects),
        path.hits, recording.rows, path.nanoseconds * 1e-9 / max(path.hits, 1),
    )  # fmt: skip


def _seen(recording: Recording, guard: Guard) -> Seen:
    spec = SPECS.specs[recording.log.spec[guard.row]]
    if isinstance(guard.bits, int):
        tensor = Tensor()
        tensor._spec, tensor._cell = spec, guard.bits
        value: Any = CELLS.look(tensor)
    else:
        value = np.frombuffer(guard.bits, spec.dtype.numpy_dtype).reshape(spec.shape)
    file, line = guard.place
    return Seen(file, line, linecache.getline(file, line).strip(), value[()])


def _short(value: Any) -> str:
    return repr(value.item()) if not np.ndim(value) else f"an array of shape {value.shape}"
