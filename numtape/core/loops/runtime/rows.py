"""Rows of a log that call kernels: results and adjoints. See `core.ops.kernel`.

Start with `Specialization`.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import KernelError
from ... import settings
from ...cpu.workers import Listening, largest
from ...log.log import local
from ...log.op import Native
from ...values.memory import Array
from ...values.spec import Spec
from ..analysis.types import DTYPE_NAMES
from ..emit.results import places
from ..emit.text import LINES, NO_ROOM
from ..program import LoopProgram
from . import arenas
from .arenas import Deferred, RemainingStack
from .invoke import Kinds, check_kinds, raise_status
from .plain import run as run_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numba

    from ....kernels.numba_internals import Dispatcher

_DTYPE_OF_TYPE = {float: "float64", int: "int64", bool: "bool"}
INITIAL_STACK_SIZE = 1 << 20  # the initial stack size of a sweep that runs in Python, in bytes


class Results:
    """The results of a kernel.

    Attributes:
      arrays: The flattened results.
      stack_left: The stack that the forward sweep left for the reverse sweep, or None.
    """

    def __init__(
        self, arrays: list[Array], form: tuple[Any, ...] | None, stack_left: RemainingStack | None
    ) -> None:
        self.arrays, self._form, self.stack_left = arrays, form, stack_left

    def arrange(self, parts: list[Any]) -> Any:
        """Arrange ``parts`` in the structure of the results."""
        return _arrange(self._form, iter(parts))


def _arrange(form: tuple[Any, ...] | None, parts: Iterator[Any]) -> Any:
    if form is None:
        return next(parts)
    return tuple([_arrange(inner, parts) for inner in form])


class Specialization:
    """A kernel, specialized for the kinds of its arguments.

    Args:
      kernel: The kernel.
      kinds: The dtype and number of axes of each argument.
      argnums: The numbers of the arguments that have adjoints.
      keeps_stack: Whether calls run the forward sweep and keep its stack.
    """

    def __init__(
        self, kernel: Any, kinds: Kinds, argnums: tuple[int, ...], keeps_stack: bool
    ) -> None:
        check_kinds(kinds)
        self._kernel = kernel
        self._kinds = kinds
        self._argnums = argnums
        self._keeps_stack = keeps_stack
        self._lock = threading.RLock()
        self._program: LoopProgram | KernelError | None = None
        self._deferred: Deferred | None = None
        self._return_type: Any = None  # Numba's type
        self._listening = Listening()

    def differentiable(self) -> LoopProgram:
        """Return the sweeps.

        Raises:
          KernelError: If the function cannot be differentiated.
        """
        with self._lock:
            if self._program is None:
                self._program = self._make_program()
            if isinstance(self._program, KernelError):
                raise copy(self._program)  # a copy, so that the traceback keeps no frames alive
            return self._program

    def _make_program(self) -> LoopProgram | KernelError:
        """Generate the sweeps for one float or several results; return the error if that fails."""
        make = self._kernel._program
        try:
            return make(self._kinds, self._argnums)  # type: ignore[no-any-return]
        except KernelError as error:
            try:
                program: LoopProgram = make(self._kinds, self._argnums, several=True)
            except KernelError:
                return copy(error)
            program.result = ""
            # Without differentiated arguments, the sweeps are for replays.
            return (
                program
                if not self._argnums or any(x.active for x in program.outputs)
                else copy(error)
            )

    def _compiled_sweeps(self) -> Deferred:
        program = self.differentiable()
        with self._lock:
            if self._deferred is None:
                try:
                    options = self._kernel._fastmath, self._kernel._limit
                    self._deferred = Deferred(program, self._argnums, *options)
                except KernelError as error:
                    self._program = copy(error)
                    raise
            return self._deferred

    tend = staticmethod(arenas.tend)

    def native(
        self, out: Spec, operands: list[Spec], results: arenas.Results, adjoints: bool
    ) -> Native | None:
        """Return the machine-code kernel of a row or, with ``adjoints``, of its adjoints."""
        without_stack = self._kernel._run(self._kinds, (), False)  # its sweep stores nothing
        limit, first_argument = self._kernel._limit, 2 if adjoints else 0
        for specialization in (
            [self] if adjoints else [self, without_stack] if self._keeps_stack else [without_stack]
        ):
            with suppress(KernelError):
                sweeps = specialization._compiled_sweeps()
                return arenas.native(
                    sweeps,
                    specialization._keeps_stack,
                    limit,
                    out,
                    first_argument,
                    operands,
                    results,
                )
        return None

    def results(self, xs: list[Array]) -> Results:
        """Call the kernel and return its results.

        Args:
          xs: The arguments as arrays, numbers as 0-d arrays. They are not changed.

        Raises:
          KernelError: If it returns nothing, or a value that cannot be a tensor.
          Exception: An exception of the kernel.
        """
        xs = [np.ascontiguousarray(x) if x.ndim else x for x in xs]
        if settings.device() == "reference":
            return self._run_as_python(xs)
        self._compile(xs)
        return self._listening(largest(xs), self._compute_results, xs)

    def _compile(self, xs: list[Array]) -> None:
        """Compile in this thread, where an interrupt can stop it."""
        with suppress(KernelError):  # raised when a gradient is requested
            if self._keeps_stack and not self._compiled_sweeps().program.grows:
                return
        if self._return_type is None:
            self._return_type = _return_type(self._kernel.njit, _numba_arguments(xs))

    def _compute_results(self, xs: list[Array]) -> Results:
        if self._keeps_stack:
            try:
                sweeps = self._compiled_sweeps()
            except KernelError:
                sweeps = None  # raised when a gradient is requested
            if sweeps is not None and not sweeps.program.grows:
                results, stack_left = sweeps.forward(xs)
                if stack_left is not None:
                    program = sweeps.program
                    arrays = (
                        results if program.result else [results[k] for k in places(program.form)]
                    )
                    form = None if program.result else _without_numbers(program.form)
                    return Results(arrays, form, stack_left)
        value = self._kernel.njit(*_numba_arguments(xs))
        if self._return_type is None:
            self._return_type = _return_type(self._kernel.njit, _numba_arguments(xs))
        arrays = []
        form = self._take_results(value, self._return_type, arrays)
        return Results(arrays, form, None)

    def _run_as_python(self, xs: list[Array]) -> Results:
        arrays: list[Array] = []
        result = local.log.call_untracked(self._kernel.python_function, *_numba_arguments(xs))
        form = self._take_results(result, None, arrays)
        if form is None and isinstance(result, float | np.floating):
            try:
                arrays[0] = arrays[0].astype(self.differentiable().result or "float64")
            except KernelError:
                pass
        return Results(arrays, form, None)

    def _take_results(
        self, value: object, kind: numba.types.Type | None, arrays: list[Array]
    ) -> Any:
        """Append results to ``arrays``, and return their structure."""
        if isinstance(value, tuple):
            kinds = kind.types if kind is not None else [None] * len(value)
            return tuple(
                [self._take_results(x, k, arrays) for x, k in zip(value, kinds, strict=True)]
            )
        if value is None:
            raise self._error(
                "it returns nothing",
                "Return the results: arrays that it writes to are copies.",
            )
        if isinstance(value, np.ndarray):
            array = np.array(value, order="C")
        else:
            array = np.array(value, _DTYPE_OF_TYPE.get(type(value)) if kind is None else str(kind))
        if array.dtype.name not in DTYPE_NAMES:
            raise self._error(f"it returns {value!r}", f"Return {', '.join(DTYPE_NAMES)}.")
        arrays.append(array)
        return None

    def _error(self, construct: str, advice: str) -> KernelError:
        code = self._kernel.python_function.__code__
        return KernelError(
            f"a call with tensors: {construct}", code.co_filename, code.co_firstlineno, advice
        )

    def adjoints(self, xs: list[Array], number: int, seeds: list[Array]) -> list[Array]:
        """Return the adjoints of the arguments ``argnums``.

        Args:
          xs: The arguments.
          number: The number of the forward sweep's stack; 0 for none.
          seeds: The adjoint of each result.

        Raises:
          KernelError: If the function cannot be differentiated.
          ResourceExhaustedError: If the stack is full.
        """
        xs = [np.ascontiguousarray(x) if x.ndim else x for x in xs]
        program = self.differentiable()
        if settings.device() == "reference" and program.result:
            return self._run_adjoints_as_python(xs, float(seeds[0]))
        if not program.result:  # a result that is returned twice gets the sum
            sums: list[Any] = [0.0] * len(program.outputs)
            for place, seed in zip(places(program.form), seeds, strict=True):
                sums[place] = sums[place] + seed
            seeds = [np.asarray(x) for x in sums]
        self._compiled_sweeps()  # compile in this thread, where an interrupt can stop it
        return self._listening(largest(xs), self._compute_adjoints, xs, number, seeds)

    def _compute_adjoints(self, xs: list[Array], number: int, seeds: list[Array]) -> list[Array]:
        sweeps = self._compiled_sweeps()
        adjoints = sweeps.reverse(xs, number, seeds) if number else None
        return sweeps.run_both(xs, seeds) if adjoints is None else adjoints

    def _run_adjoints_as_python(self, xs: list[Array], seed: float) -> list[Array]:
        program, stack_size = self.differentiable(), INITIAL_STACK_SIZE
        while True:
            status, _, adjoints = run_plain(program, _numba_arguments(xs, True), stack_size)
            if not status:
                return [np.multiply(adjoints[j], seed) for j in self._argnums]
            if status & ((1 << LINES) - 1) != NO_ROOM:
                raise_status(program, status, stack_size)
            stack_size *= 16


def _without_numbers(form: int | tuple[Any, ...]) -> Any:
    return tuple([_without_numbers(x) for x in form]) if isinstance(form, tuple) else None


def _numba_arguments(xs: list[Array], keeps_ints: bool = False) -> list[Any]:
    """Convert arguments for Numba: numbers, and copies of arrays.

    With ``keeps_ints``, ints of any dtype become Python ints.
    """
    return [x.copy() if x.ndim else _number(x, keeps_ints) for x in xs]


def _number(x: Array, keeps_ints: bool) -> Any:
    is_python_number = x.dtype.name in _DTYPE_OF_TYPE.values() or (
        keeps_ints and x.dtype.kind in "iu"
    )
    return x.item() if is_python_number else x[()]


def _return_type(dispatcher: Dispatcher, arguments: list[Any]) -> Any:
    """Return the Numba type of a function's result."""
    from numba import errors

    from ....kernels.numba_internals import argument_types, return_type

    signature = argument_types(dispatcher, arguments)
    with suppress(errors.NumbaError):
        dispatcher.compile(signature)
    if return_type(dispatcher, signature) is None:
        dispatcher(*arguments)  # the call raises a more detailed error
    return return_type(dispatcher, signature)
