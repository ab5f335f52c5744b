"""TensorFlow's names: whether numtape has them fully, in part or not, and hints for errors.

`tensorflow_names.txt` has the public names of TensorFlow 2.21 and their arguments; a test compares
it with an installed TensorFlow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NoReturn

from .missing_names import BACKEND, BEFORE, HABITS, INSTEAD, PARTLY
from .traceback_filter import guard


@cache
def table() -> dict[str, tuple[str, ...]]:
    """Return TensorFlow's names, without ``tf.``, with the names of their arguments."""
    from importlib import resources

    text = resources.files("numtape").joinpath("tensorflow_names.txt").read_text("utf-8")
    lines = [line.split() for line in text.splitlines()]
    return {name.removeprefix("tf."): tuple(arguments) for name, *arguments in lines}


def instead(name: str) -> str | None:
    """Return the hint for a TensorFlow name; None if there is no hint."""
    return _match(INSTEAD, name)


def _match(table: dict[str, str], name: str) -> str | None:
    import fnmatch

    for pattern, advice in table.items():
        if fnmatch.fnmatchcase(name, pattern):
            return advice
    return None


def missing(module: str, name: str) -> NoReturn:
    """Raise the error for a name that a module of numtape does not have.

    Args:
      module: The module's name without ``numtape``: ``"math"``, or ``""`` for numtape itself.
      name: The name.

    Raises:
      AttributeError: With a replacement if one is known.
      ImportError: Instead, in ``from numtape import name``, if a replacement is known: Python
        drops the message of an AttributeError there.
    """
    path = f"numtape{'.' * bool(module)}{module}"
    message = f"module {path!r} has no attribute {name!r}"
    if name.startswith("_"):
        raise AttributeError(message)
    advice = _advice(module, name, f"{module}.{name}" if module else name)
    if advice is not None and _is_import_from():
        raise ImportError(f"cannot import name {name!r} from {path!r}: {advice}", name=name)
    raise AttributeError(": ".join(filter(None, (message, advice))))


def _is_import_from() -> bool:
    """Return whether the program's own frame executes ``from ... import ...``."""
    # Not at import: this module is among the first, and an import that fails could not be repeated.
    from ..core.cpython.frames import current_instruction

    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape"):
        frame = frame.f_back
    return current_instruction(frame) == "IMPORT_FROM"


class ModuleHints:
    """A finder, the last one of `sys.meta_path`: names a replacement for ``import numtape.x``."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Find nothing.

        Raises:
          ModuleNotFoundError: If an import statement names a module that numtape lacks, and a
            replacement is known.
        """
        module, _, last = name.removeprefix("numtape.").rpartition(".")
        if not name.startswith("numtape.") or last.startswith("_"):
            return
        if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":  # a query, not an import
            return
        advice = _advice(module, last, f"{module}.{last}" if module else last)
        if advice is not None:
            raise ModuleNotFoundError(f"No module named {name!r}: {advice}", name=name)


guard([missing, ModuleHints.find_spec])


def _advice(module: str, name: str, full: str) -> str | None:
    """Return the hint for a name of TensorFlow, another library, or an older version."""
    if full in table() and (hint := instead(full)) is not None:
        return hint
    if (habit := BACKEND.get(name) if module == "keras.backend" else HABITS.get(full)) is not None:
        return f"use {habit}"
    if (hint := _nearest(module, name) or _match(BEFORE, full)) is not None:
        return hint
    if not module or (habit := HABITS.get(f"nn.{name}", HABITS.get(name))) is None:
        return None
    return f"use {habit}"


def _nearest(module: str, name: str) -> str | None:
    """Return a hint to the same name in another module, or to a similar name."""
    import difflib

    candidates = sorted(
        full for full in table() if full.rpartition(".")[2] == name and present(full) is not None
    )
    if candidates:
        return f"did you mean tf.{min(candidates, key=len)}?"
    module_object = present(module) if module else sys.modules["numtape"]
    close_matches = difflib.get_close_matches(name, getattr(module_object, "__all__", ()), 1, 0.8)
    return f"did you mean {close_matches[0]!r}?" if close_matches else None


def getter(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module, which Python calls for missing names."""
    return partial(missing, module.removeprefix("numtape").removeprefix("."))


def present(name: str) -> Any:
    """Return numtape's object of a TensorFlow name, or None."""
    value: Any = sys.modules["numtape"]
    for part in name.split("."):
        if not hasattr(value, "__dict__") or part not in (
            *getattr(value, "__all__", ()),
            *vars(value),
        ):
            return None
        value = getattr(value, part)
    return value


def lacking(name: str) -> tuple[str, ...]:
    """Return TensorFlow's arguments that numtape's function does not accept."""
    import inspect

    try:
        parameters = inspect.signature(present(name)).parameters.values()
    except (TypeError, ValueError):
        return ()
    kinds = {parameter.kind for parameter in parameters}
    if kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
        return ()
    parameter_names = {parameter.name for parameter in parameters}
    return tuple(argument for argument in table()[name] if argument not in parameter_names)


def status(name: str) -> tuple[str, str]:
    """Return "present", "partly" or "absent" for a name, and a note."""
    if name == "newaxis":
        return "present", ""
    if present(name) is None:
        return "absent", instead(name) or ""
    notes = [PARTLY[name]] if name in PARTLY else []
    if arguments := lacking(name):
        notes.append(f"without {', '.join(arguments)}")
    return ("partly", "; ".join(notes)) if notes else ("present", "")


def report(module: str = "") -> str:
    """Return a table of modules, followed by the names that are not fully present.

    Args:
      module: A module such as ``"math"``; default: all modules.

    Returns:
      A text of several lines.
    """
    kinds = ("present", "partly", "absent")
    groups: dict[str, list[str]] = {}
    for name in table():
        groups.setdefault(name.rpartition(".")[0], []).append(name)
    if module not in groups:
        raise ValueError(f"No module {module!r}: one of {', '.join(filter(None, groups))}.")
    lines = [f"{'':<30} {'present':>8} {'partly':>8} {'absent':>8}"]
    for group, names in groups.items():
        if group == module or not module:
            states = [status(name)[0] for name in names]
            counts = [states.count(kind) for kind in kinds]
            lines.append(
                f"{'tf' + '.' * bool(group) + group:<30} "
                + " ".join(f"{count:>8}" for count in counts)
            )
    for name in (name for group, names in groups.items() for name in names):
        kind, note = status(name)
        if kind != "present" and (not module or name.rpartition(".")[0] == module):
            lines.append(f"tf.{name}: {kind}{': ' if note else ''}{note}")
    return "\n".join(lines)
