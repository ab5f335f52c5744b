"""Installation of machine code behind the recorders, and its removal.

A Python function object holds, besides its code, the address of the C function that runs it when it
is called, the same one for all functions. Installation only changes this address. The function
stays the same object, with its signature, name, source and closure, and its code still runs if the
machine code does not support the operands.

Up to Python 3.11 the interpreter ignores this address for calls by Python functions, and uses it
only for operators. So there a stub function calls each recorder. Installation replaces the recorder
in the stub by a built-in method of the recorder, which differs from it only in its type.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import settings
from ..compile import cache as disk
from ..cpython.api import FAST, MethodDef, keep_forever, make_vectorcall_setter
from ..cpython.layout import NativeLayout, find_layout
from ..cpython.version import CALLS_USE_VECTORCALL
from ..log import liveness, record
from ..log.thread_state import raised_by_signal_handler
from .lazy_build import LazyBuild

if TYPE_CHECKING:
    from types import FunctionType

    from .recorder import RecorderEntry

_turn: list[int] = [0]  # emptied by the thread that installs: others do not wait for it


def _renew_turn_after_fork() -> None:
    _turn[:] = [0]


settings.after_fork_in_child(_renew_turn_after_fork)


# The functions of `core.log.liveness` that have versions in machine code.
_PYTHON_VERSIONS = {"live_tensors": liveness.live_tensors, "release": liveness.release}

_RECORDERS = record.unary, record.binary, record.ternary
_OPERATORS = record.make_reflected, record.record_if_inexact, record.record_reflected_if_inexact
# The makers of the stubs that stand before recorders up to Python 3.11, by recorder.
_STUB_MAKERS = {maker.__name__: f"_make_{maker.__name__}_stub" for maker in _RECORDERS}
_RECORDER_OF_STUB = {stub: recorder for recorder, stub in _STUB_MAKERS.items()}


def _closure_indices(maker: Callable[..., Any]) -> dict[str, int]:
    """The numbers of cells in the closures of the functions that a function makes, by name."""
    inner_code = next(
        x
        for x in maker.__code__.co_consts
        if isinstance(x, types.CodeType) and x.co_name != "__annotate__"  # from Python 3.14 on
    )
    return {name: k for k, name in enumerate(inner_code.co_freevars)}


def entries() -> list[RecorderEntry]:
    """The functions of machine code, named after the makers of the functions they replace."""
    from .recorder import RecorderEntry

    cells_by_arity = {
        k: tuple(_closure_indices(maker).items()) for k, maker in enumerate(_RECORDERS, 1)
    }
    has_stubs = not CALLS_USE_VECTORCALL
    hops = (0, -1) if has_stubs else ()  # from the stub to the recorder
    names = [(k, maker.__name__) for k, maker in enumerate(_RECORDERS, 1)]
    recorder_entries = [
        RecorderEntry(name, k, (), cells_by_arity[k], is_method=has_stubs) for k, name in names
    ]
    if has_stubs:
        recorder_entries += [
            RecorderEntry(_STUB_MAKERS[name], k, hops, cells_by_arity[k]) for k, name in names
        ]
    for maker in _OPERATORS:
        name = maker.__name__
        recorder_entries.append(
            RecorderEntry(
                name,
                2,
                (_closure_indices(maker)["record"], *hops),
                cells_by_arity[2],
                is_swapped="reflected" in name,
                needs_inexact=name.endswith("if_inexact"),
            )
        )
    return recorder_entries


class RecorderCode:
    """The machine code of a process.

    Attributes:
      layout: The layout it was compiled for. Its objects must stay alive.
      addresses: Addresses of functions, by symbol.
    """

    def __init__(self) -> None:
        self.layout: NativeLayout = find_layout()
        offsets, names = self.layout.offsets, sorted(self.layout.known)

        def build() -> disk.Built:
            from .recorder import build as build_steps

            return build_steps(entries(), tuple(_PYTHON_VERSIONS), offsets, names)

        # Its source: this folder's text, and the layout.
        files = sorted(Path(__file__).parent.glob("*.py"))
        closures = [_closure_indices(maker) for maker in (*_RECORDERS, *_OPERATORS)]
        layout_text = repr((sorted(offsets.items()), names, closures, sys.version))
        source = "\n".join([*(path.read_text(encoding="utf-8") for path in files), layout_text])
        self.addresses = disk.load("recorders", source, build)
        words = (ctypes.c_int64 * len(names))(*(self.layout.known[name] for name in names))
        keep_forever(self)  # before anything refers to it
        setup = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.addresses["setup"])
        setup(ctypes.addressof(words))
        self._methods = {
            name: MethodDef(b"record", self.addresses[name], FAST, None)
            for name in (*(maker.__name__ for maker in _RECORDERS), *_PYTHON_VERSIONS)
        }
        self._entry = self.layout.known["carry out"]
        self.point = make_vectorcall_setter(self.layout.offsets["function.vectorcall"])
        self.functions = {name: self._methods[name].function() for name in _PYTHON_VERSIONS}

    def put(self, function: FunctionType) -> None:
        """Make a function run machine code."""
        maker = _maker_name(function)
        target = function
        if any(maker == operator.__name__ for operator in _OPERATORS):
            target = _find_cell(function, "record").cell_contents
            if _maker_name(target) not in ("binary", _STUB_MAKERS["binary"]):
                return
        elif maker in _RECORDER_OF_STUB:
            cell = _find_cell(function, "record_row")
            if isinstance(cell.cell_contents, types.FunctionType):
                name = _RECORDER_OF_STUB[maker]
                cell.cell_contents = self._methods[name].function(cell.cell_contents)
        self.point(function, self.addresses[maker])

    def take(self, function: FunctionType) -> None:
        """Make a function run as Python code."""
        self.point(function, self._entry)
        if _maker_name(function) in _RECORDER_OF_STUB:
            cell = _find_cell(function, "record_row")
            if isinstance(cell.cell_contents, types.BuiltinFunctionType):
                cell.cell_contents = cell.cell_contents.__self__


def _maker_name(function: FunctionType) -> str:
    """The name of the function of `core.log.record` that created a recorder."""
    return str(function.__code__.co_qualname).partition(".")[0]


def _find_cell(function: Any, name: str) -> Any:
    """A cell of a function's closure."""
    return function.__closure__[function.__code__.co_freevars.index(name)]


class _State:
    """The state of the machine code in this process."""

    def __init__(self) -> None:
        self.lazy_build = LazyBuild("Ops are recorded by Python", RecorderCode)
        self.wanted = self.used = False


_state = _State()


def use(is_wanted: bool = True) -> None:
    """Record ops by machine code where possible, or by Python."""
    _state.wanted = is_wanted
    try:
        token = _turn.pop()
    except IndexError:  # another thread, or an interrupted call, is building it
        return
    try:
        code = _state.lazy_build.get() if is_wanted else _state.lazy_build.value
        if isinstance(code, RecorderCode):
            record.offer_to_native = _offer if is_wanted else record.PATCHABLE.add
            install_or_remove = code.put if is_wanted else code.take
            for function in record.PATCHABLE:
                install_or_remove(function)
            for name, python_version in _PYTHON_VERSIONS.items():
                setattr(liveness, name, code.functions[name] if is_wanted else python_version)
            _state.used = is_wanted
    except (MemoryError, RecursionError) as error:  # some functions are changed, others not
        if raised_by_signal_handler(error):
            raise
    finally:
        _turn.append(token)


def retry() -> None:
    """Install machine code if it was requested before and could not be installed."""
    if _state.wanted and not _state.used:
        use()


def _offer(function: FunctionType) -> None:
    """Make a new function run machine code, and remember it."""
    record.PATCHABLE.add(function)
    if _state.lazy_build.value is not None:
        _state.lazy_build.value.put(function)


def enable_from_settings() -> None:
    """Install machine code unless the settings forbid it; called before the first evaluation."""
    if settings.native_recorders():
        use()
    else:
        _state.lazy_build.reason = "NUMTAPE_RECORD=python"


def describe() -> str:
    """Return "machine code", or "Python" with the reason."""
    return "machine code" if _state.used else f"Python: {_state.lazy_build.reason}"
