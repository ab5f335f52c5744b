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

import types
from typing import TYPE_CHECKING, Any

from .. import settings
from ..cpython.api import FAST, MethodDef, builtin, entry_of, keep_forever, make_vectorcall_setter
from ..cpython.layout import function_entry_offset
from ..log import liveness, record
from ..log.thread_state import raised_by_signal_handler
from .fast_path import install_fast_path
from .lazy_build import LazyBuild
from .process import process_table
from .recorder import OPERATORS, RECORDERS, STUB_MAKERS, load_recorders

if TYPE_CHECKING:
    from types import FunctionType


_install_token: list[int] = [0]  # emptied by the thread that installs: others do not wait for it


def _renew_token_after_fork() -> None:
    _install_token[:] = [0]


settings.after_fork_in_child(_renew_token_after_fork)


# The functions of `core.log.liveness` that have versions in machine code.
_PYTHON_DEFINITIONS = {"live_tensors": liveness.live_tensors, "release": liveness.release}
_RECORDER_OF_STUB = {stub: recorder for recorder, stub in STUB_MAKERS.items()}


class RecorderCode:
    """The machine code of a process."""

    def __init__(self) -> None:
        table = process_table()  # first: it checks that the layout of objects is known
        self._entry = entry_of(_maker_name)
        self.addresses, self._words = load_recorders(self._entry)
        keep_forever(self)  # before anything refers to it
        self._methods = {
            maker.__name__: MethodDef(b"record", self.addresses[maker.__name__], FAST, None)
            for maker in RECORDERS
        }
        self._set_entry = make_vectorcall_setter(function_entry_offset())
        self.functions = {
            name: builtin(name, install_fast_path(name, self.addresses[name], table.words))
            for name in _PYTHON_DEFINITIONS
        }

    def install(self, function: FunctionType) -> None:
        """Make a function run machine code."""
        maker = _maker_name(function)
        target = function
        if any(maker == operator.__name__ for operator in OPERATORS):
            target = _find_cell(function, "record").cell_contents
            if _maker_name(target) not in ("binary", STUB_MAKERS["binary"]):
                return
        elif maker in _RECORDER_OF_STUB:
            cell = _find_cell(function, "record_row")
            if isinstance(cell.cell_contents, types.FunctionType):
                name = _RECORDER_OF_STUB[maker]
                cell.cell_contents = self._methods[name].function(cell.cell_contents)
        self._set_entry(function, self.addresses[maker])

    def remove(self, function: FunctionType) -> None:
        """Make a function run as Python code."""
        self._set_entry(function, self._entry)
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
        self.is_requested = self.is_installed = False


_state = _State()


def use(is_requested: bool = True) -> None:
    """Record ops by machine code where possible, or by Python."""
    _state.is_requested = is_requested
    try:
        token = _install_token.pop()
    except IndexError:  # another thread, or an interrupted call, is building it
        return
    try:
        code = _state.lazy_build.get() if is_requested else _state.lazy_build.value
        if isinstance(code, RecorderCode):
            record.offer_to_native = _offer if is_requested else record.PATCHABLE.add
            install_or_remove = code.install if is_requested else code.remove
            for function in record.PATCHABLE:
                install_or_remove(function)
            for name, python_definition in _PYTHON_DEFINITIONS.items():
                setattr(liveness, name, code.functions[name] if is_requested else python_definition)
            _state.is_installed = is_requested
    except (MemoryError, RecursionError) as error:  # some functions are changed, others not
        if raised_by_signal_handler(error):
            raise
    finally:
        _install_token.append(token)


def retry() -> None:
    """Install machine code if it was requested before and could not be installed."""
    if _state.is_requested and not _state.is_installed:
        use()


def _offer(function: FunctionType) -> None:
    """Make a new function run machine code, and remember it."""
    record.PATCHABLE.add(function)
    if _state.lazy_build.value is not None:
        _state.lazy_build.value.install(function)


def enable_from_settings() -> None:
    """Install machine code unless the settings forbid it; called before the first evaluation."""
    if settings.native_recorders():
        use()
    else:
        _state.lazy_build.reason = "NUMTAPE_RECORD=python"


def describe() -> str:
    """Return "machine code", or "Python" with the reason."""
    return "machine code" if _state.is_installed else f"Python: {_state.lazy_build.reason}"
