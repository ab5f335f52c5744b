"""The recordings of a function as a readable table: paths, guards with source lines, hits, time."""

from __future__ import annotations

import itertools
import linecache
import os
from collections import Counter
from collections.abc import Iterable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..values.spec import SPECS
from ..values.tensor import SCALAR_STORAGE, Tensor
from .observe.reads import ATTRIBUTE, CELL, CODE, ENTRY, ITEM, METHOD
from .recording import Recording
from .trace import ValueGuard

MAX_SHOWN = 12  # paths in the table
MANY_VALUES = 4  # number of values from which advice is given


class ObservedValue(NamedTuple):
    """A value that the function read while it was recorded.

    Attributes:
      file: The source file.
      line: The line number.
      source: The source line.
      value: The value as a NumPy value.
    """

    file: str
    line: int
    source: str
    value: Any


class RecordedPath(NamedTuple):
    """One recording of a function.

    Attributes:
      arguments: The specs of the tensors among the arguments.
      guards: Values that a replay must reproduce, in order.
      names: Python state that was read and must be unchanged: names and values.
      effects: Effects of the recorded call that a replay does not repeat.
      hits: The number of replays.
      rows: The number of rows.
      seconds: The mean time of a replay, including calls that tried other paths first.
      host: Names of ops that NumPy or SciPy computes, one for each row.
    """

    arguments: tuple[Any, ...]
    guards: tuple[ObservedValue, ...]
    names: tuple[tuple[str, Any], ...]
    effects: tuple[str, ...]
    hits: int
    rows: int
    seconds: float
    host: tuple[str, ...] = ()


class Paths(list[RecordedPath]):
    """The recordings of a function. Its `repr` is a table.

    Attributes:
      reasons: Why the function runs as Python for some or all arguments.
      unobserved: Why nothing is recorded in this Python; "" if functions are recorded.
      advice: How to avoid repeated recordings.
    """

    def __init__(self, dispatchers: Iterable[Any], unobserved: str = "") -> None:
        super().__init__()
        dispatchers = list(dispatchers)
        self.reasons = [dispatcher.reason for dispatcher in dispatchers if dispatcher.reason]
        self.unobserved = unobserved
        self.advice: list[str] = []
        for dispatcher in dispatchers:
            names_read = []
            for tree in dispatcher.trees:
                names = _describe_reads(tree.guards.guards)
                names_read.append(dict(names))
                paths = [_describe_path(path, names) for path in tree.paths]
                self.advice += _find_changing_guards(paths)
                self += paths
            self.advice += _find_changing_names(names_read)
        signatures = sum(bool(dispatcher.trees) for dispatcher in dispatchers)
        if signatures >= MANY_VALUES and sum(path.hits for path in self) < signatures:
            self.advice.append(
                f"{signatures} kinds of arguments, most of which occurred once: pass numbers "
                f"that change as tensors, and pad arrays to a few shapes"
            )

    def __repr__(self) -> str:
        lines = [f"{len(self)} recorded path{'s' * (len(self) != 1)}"]
        table = []
        for k, path in enumerate(self[:MAX_SHOWN]):
            time = f"{path.seconds * 1e6:.1f} µs each" if path.hits else "not replayed yet"
            arguments = ", ".join(map(_format_spec, path.arguments)) or "no tensors"
            table.append(
                (f"{k}:", f"{arguments};", f"{path.rows} rows,", f"{path.hits} hits,", time)
            )
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row, path in zip(table, self, strict=False):
            number, arguments, *counts, time = (
                text.ljust(width) if column_index < 2 else text.rjust(width)
                for column_index, (text, width) in enumerate(zip(row, widths, strict=True))
            )
            lines.append(" ".join((number, arguments, *counts, time)).rstrip())
            lines += _format_details(path)
        if len(self) > MAX_SHOWN:
            lines.append(f"... and {len(self) - MAX_SHOWN} more")
        for reason, count in Counter(self.reasons).items():
            suffix = f", for {count} kinds of arguments" if count > 1 else ""
            lines.append(f"runs as Python: {reason}{suffix}")
        if self.unobserved:
            lines.append(f"runs as Python: {self.unobserved}")
        if self.reasons:
            lines.append(
                "to fix: move that out of the function; functions that it calls are then replayed"
            )
        lines += [f"to fix: {text}" for text in self.advice]
        return "\n".join(lines)


def _format_details(path: RecordedPath) -> list[str]:
    """Return a line for each guard, for the numbers that were read, and for each effect."""
    guard_lines = [
        f"   {os.path.basename(guard.file)}:{guard.line}: {guard.source}  "
        f"saw {_format_value(guard.value)}"
        for guard in path.guards
    ]
    lines = []
    for line, group in itertools.groupby(guard_lines):
        count = len(list(group))
        lines.append(line if count == 1 else f"{line}, {count} times")
    simple_values = [(n, v) for n, v in path.names if issubclass(type(v), int | float | str)]
    if simple_values:
        lines.append("   with " + ", ".join(f"{n} = {v!r}" for n, v in simple_values))
    if path.host:
        ops = (f"{op} ({n} times)" if n > 1 else op for op, n in Counter(path.host).items())
        lines.append(f"   NumPy or SciPy computes {', '.join(ops)}")
    return lines + [f"   only when recorded: {effect}" for effect in path.effects]


def _find_changing_guards(paths: list[RecordedPath]) -> list[str]:
    """Return advice for source lines that read a different value in nearly every call."""
    if len(paths) < MANY_VALUES or sum(path.hits for path in paths) >= len(paths):
        return []
    advice = []
    sources = {(guard.file, guard.line): guard.source for path in paths for guard in path.guards}
    for (file, line), source in sources.items():
        first_values = (
            next(
                (guard.value for guard in path.guards if (guard.file, guard.line) == (file, line)),
                None,
            )
            for path in paths
        )
        values = {_format_value(value) for value in first_values if value is not None}
        if len(values) >= MANY_VALUES:
            advice.append(
                f"{os.path.basename(file)}:{line}: {source}  saw {len(values)} values, each of "
                f"which was recorded: compute with the tensor (tf.where, a mask), or pass the "
                f"number that Python needs as an argument"
            )
    return advice


def _find_changing_names(names_read: list[dict[str, Any]]) -> list[str]:
    """Return advice for numbers of the program that differ in nearly every recording."""
    advice = []
    for name in dict.fromkeys(name for names in names_read for name in names):
        values = [
            names[name] for names in names_read if issubclass(type(names.get(name)), int | float)
        ]
        if len(set(values)) >= MANY_VALUES:
            advice.append(
                f"{name} had {len(set(values))} values, each of which was recorded: make it a "
                f"tf.Variable and assign to it, or an argument that is a tensor"
            )
    return advice


def _format_spec(spec: Any) -> str:
    return f"{spec.dtype.name}{list(spec.shape)}"


def _describe_reads(guards: Iterable[Any]) -> tuple[tuple[str, Any], ...]:
    """Return the Python state that was read, without the internal state of numtape's objects."""
    guards = list(guards)
    internal_prefixes = tuple(
        f"{guard.name.rpartition('.')[0]}."
        for guard in guards
        if guard.kind in (ATTRIBUTE, METHOD, CODE) and _is_of_numtape(guard.holder())
    )
    return tuple(
        (guard.name, guard.value())
        for guard in guards
        if guard.kind in (ENTRY, CELL, ATTRIBUTE, METHOD, ITEM)
        and not guard.name.startswith(internal_prefixes)
    )


def _is_of_numtape(holder: Any) -> bool:
    """Return whether an object, class or function is numtape's; False for derived classes."""
    owner = holder if issubclass(type(holder), type | FunctionType) else type(holder)
    return str(owner.__module__).partition(".")[0] == "numtape"


def _describe_path(path: Any, names: tuple[tuple[str, Any], ...]) -> RecordedPath:
    recording: Recording = path.recording
    spec = recording.log.spec
    hits, nanoseconds = path.hits + int(path.counts[0]), path.nanoseconds + int(path.counts[1])
    return RecordedPath(
        tuple(SPECS.specs[spec[row]] for _, row in recording.arguments),
        tuple(_describe_guard(recording, guard) for guard in recording.guards),
        names,
        tuple(path.effects),
        hits,
        recording.rows,
        nanoseconds * 1e-9 / max(hits, 1),
        recording.host_ops(),
    )


def _describe_guard(recording: Recording, guard: ValueGuard) -> ObservedValue:
    spec = SPECS.specs[recording.log.spec[guard.row]]
    if isinstance(guard.bits, int):
        tensor = Tensor()
        tensor._spec, tensor._cell = spec, guard.bits
        value: Any = SCALAR_STORAGE.evaluate(tensor)
    else:
        value = np.frombuffer(guard.bits, spec.dtype.numpy_dtype).reshape(spec.shape)
    file, line = guard.location
    return ObservedValue(file, line, linecache.getline(file, line).strip(), value[()])


def _format_value(value: Any) -> str:
    return repr(value.item()) if not np.ndim(value) else f"an array of shape {value.shape}"
