"""Plain calls of kernels: the arguments they may write to, and interruptible long calls.

Start with `written_arguments` and `InterruptibleCalls`.
"""

from __future__ import annotations

import ast
import inspect
import math
import threading
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import KernelError
from ...compile.kernel_sources import tree
from ...cpu.workers import Listening, largest
from ..analysis.activity import written_arrays
from ..analysis.types import infer
from ..frontend.lowering import normal
from .invoke import Kinds, kinds_of

if TYPE_CHECKING:
    from ....kernel.kernel import Kernel
    from ....kernels.numba_internals import Dispatcher

# Python functions that only read their arguments.
_READING_FUNCTIONS = frozenset(
    ("range", "len", "abs", "min", "max", "float", "int", "bool", "round", "enumerate", "zip")
)


def written_arguments(function: FunctionType, arguments: tuple[Any, ...]) -> list[int] | None:
    """Return the numbers of the arguments that a call may write to; None if unknown.

    The front end of derivatives determines them. If it does not support the function or the kinds
    of arguments, the function may have any effect, such as random draws, unless all of its
    statements only read.
    """
    try:
        body = normal(function, list(kinds_of(arguments)))
        infer(body)
    except KernelError:
        return [] if _only_reads(function) else None
    names = written_arrays(body)
    return [j for j, name in enumerate(body.parameters) if name in names]


def _only_reads(function: FunctionType) -> bool:
    """Whether a function has no statement that could write to the memory of an argument."""
    try:
        lines, _ = inspect.findsource(function)
        module = tree("".join(lines))
    except (OSError, TypeError, SyntaxError):
        return False
    line = function.__code__.co_firstlineno
    definitions = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        and min([node.lineno, *(d.lineno for d in node.decorator_list)]) == line
    ]
    return len(definitions) == 1 and all(
        _only_reads_in(node, function)
        for statement in definitions[0].body
        for node in ast.walk(statement)
    )


def _only_reads_in(node: ast.AST, function: FunctionType) -> bool:
    if isinstance(node, ast.AugAssign):  # changes arrays in place
        return False
    if isinstance(node, ast.Subscript | ast.Attribute):
        return isinstance(node.ctx, ast.Load)
    if not isinstance(node, ast.Call):
        return True
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in _READING_FUNCTIONS and called.id not in function.__globals__
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return False
    module = function.__globals__.get(called.value.id)
    if module is np:  # a ufunc writes to arguments after its operands
        ufunc = getattr(np, called.attr, None)
        return isinstance(ufunc, np.ufunc) and len(node.args) <= ufunc.nin and not node.keywords
    return module is math


class InterruptibleCalls:
    """Interruptible plain calls of one kernel.

    Args:
      kernel: The kernel.

    Attributes:
      most: Calls up to this size (see `workers.largest`) need no background thread: they are
        short, or cannot be interrupted.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._listening, self.most = kernel, Listening(), -math.inf
        # By kinds of arguments. Not bounded: Numba keeps a compiled kernel for each of them, too.
        self._written: dict[Kinds, list[int] | None] = {}

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Call the function, and return or raise its outcome."""
        call = self._kernel.njit
        written = self._written_numbers(args)
        if written is None:
            self.most = math.inf
            return call(*args)
        listening = self._listening
        is_main_thread = threading.current_thread() is threading.main_thread()
        if not is_main_thread or not _are_disjoint(args, written):
            if not listening.long:
                self.most = max(self.most, largest(args))
            return call(*args)
        self._compile(call, args)
        originals = {j: args[j].copy(order="K") for j in written}
        copies = [originals[j].copy(order="K") if j in originals else x for j, x in enumerate(args)]
        try:
            result = listening(largest(args), call, *copies)
        except Exception:
            # Keep its writes before the error, as without copies.
            _copy_changes(args, copies, originals)
            raise
        finally:
            self.most = -math.inf if listening.long else listening.most
        _copy_changes(args, copies, originals)
        return result

    def _written_numbers(self, args: tuple[Any, ...]) -> list[int] | None:
        """Return the numbers of the arguments that it writes to; None if unknown."""
        try:
            kinds = kinds_of(args)
        except KernelError:
            return None
        try:
            return self._written[kinds]
        except KeyError:
            return self._written.setdefault(kinds, self._find_written_numbers(kinds))

    def _find_written_numbers(self, kinds: Kinds) -> list[int] | None:
        try:
            body = normal(self._kernel.python_function, kinds)
            infer(body)
            names = written_arrays(body)
        except (KernelError, ValueError):  # unsupported, or wrong arguments
            return None
        written = [j for j, name in enumerate(body.parameters) if name in names]
        if written and not body.arrays.keys().isdisjoint(body.outputs):
            return None  # a returned array may be a view of a written argument
        return written

    def _compile(self, call: Dispatcher, args: tuple[Any, ...]) -> None:
        """Compile in this thread, where an interrupt can stop it."""
        from numba import errors

        from ....kernels.numba_internals import argument_types

        try:
            call.compile(argument_types(call, args))
        except errors.NumbaError as error:  # for others, the call raises a more detailed error
            if "runaway recursion" in str(error):
                code = self._kernel.python_function.__code__
                raise KernelError(
                    "recursion whose result Numba cannot infer",
                    code.co_filename,
                    code.co_firstlineno,
                    "Of functions that call each other, call that one before "
                    "the others which has a path without calls.",
                ) from error


def _are_disjoint(args: tuple[Any, ...], written: Sequence[int]) -> bool:
    """Whether copies can replace the arguments ``written``: same Numba type, no overlap."""
    for j in written:
        array = args[j]
        flags = array.flags
        if not (flags.aligned and flags.writeable and (flags.c_contiguous or flags.f_contiguous)):
            return False
        if any(
            k != j and type(x) is np.ndarray and np.may_share_memory(array, x)
            for k, x in enumerate(args)
        ):
            return False
    return True


def _copy_changes(args: tuple[Any, ...], copies: Sequence[Any], originals: dict[int, Any]) -> None:
    """Copy the elements that changed in the copies to the caller's arrays."""
    for j, original in originals.items():
        bits = f"u{original.itemsize}"  # compare bits, so that NaNs are equal
        np.copyto(args[j], copies[j], where=copies[j].view(bits) != original.view(bits))
