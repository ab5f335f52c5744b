"""`Kernel`: functions of plain loops, compiled by Numba. `kernel.grad` has their derivatives."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np
from numpy import ndarray

from ..compat.traceback_filter import guard
from ..core.log.variable import Variable
from ..core.ops import kernel as rows
from ..core.values.tensor import Tensor
from ..errors import KernelError
from ..function.pickling import stand_in
from .pickling import locate, reduce_kernel

if TYPE_CHECKING:
    from ..core.loops.ir import Kinds

__all__ = ["kernel"]

P = ParamSpec("P")
R = TypeVar("R")

_TENSORS = frozenset((Tensor, Variable))
_NUMBERS = frozenset((int, float, np.int64, np.int32, np.float64, np.float32))


def __dir__() -> list[str]:
    return sorted(__all__)


class Kernel:
    """A function of plain loops that Numba compiles, and that `grad` differentiates.

    `kernel` creates it. A call runs the function as ``numba.njit`` compiles it, and writes to the
    caller's arrays. Ctrl-C interrupts a long call before anything is written. As in Numba, it
    does not interrupt a kernel that cannot be differentiated, or that writes to an array and
    returns one. Kernels can be pickled by name; cloudpickle sends those of a script or notebook
    with their code.

    Args:
      function: A Python function.
      recompute: Whether a call from a kernel stores only its arguments, and is computed again in
        the reverse sweep. This takes less memory and more time.
      memory_limit: The maximum size of a gradient's stack in bytes; None for half of the machine's
        memory.
      error_model: "numpy" if a division by 0 returns infinity or NaN; "python" if it raises.
      fastmath: Numba's option of this name, for calls and for the forward sweep.
      boundscheck: Whether an index out of bounds raises an IndexError. By default it does in
        derivatives and in calls with tensors, whose reverse sweep would write out of bounds; plain
        calls follow ``NUMBA_BOUNDSCHECK``. Checks of provably valid indices, such as ``x[i]`` in a
        loop over ``range(len(x))``, are omitted.

    Attributes:
      python_function: The function.

    Raises:
      TypeError: If ``function`` is not a function.
      ValueError: If the error model is unknown, or the limit is not positive.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        recompute: bool = False,
        memory_limit: int | None = None,
        error_model: str = "numpy",
        fastmath: bool = False,
        boundscheck: bool | None = None,
    ) -> None:
        if not isinstance(function, FunctionType):
            raise TypeError(f"A kernel is made of a function, not of {function!r}.")
        if error_model not in ("numpy", "python"):
            raise ValueError(f"error_model is 'numpy' or 'python', not {error_model!r}.")
        if memory_limit is not None and memory_limit <= 0:
            raise ValueError(f"memory_limit is a number of bytes, not {memory_limit!r}.")
        self.python_function = function
        self._recompute = bool(recompute)
        self._limit, self._fastmath = memory_limit, bool(fastmath)
        self._boundscheck = None if boundscheck is None else bool(boundscheck)
        self._model = error_model
        self._gradients: dict[Any, Any] = {}
        self._jacobians: dict[Any, Any] = {}
        self._runs: dict[Any, Any] = {}
        self._call: Any = None
        self._watched: Any = None
        self._max_number = -math.inf  # the largest size of arguments of short calls
        self._rule: FunctionType | None = None
        self._key: str | None = None  # identifies it in other processes
        self._sources: dict[str, tuple[str, list[str]]] | None = None  # until it is compiled
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with numbers and NumPy arrays.

        A call with a tensor or variable is recorded in the log, so that tapes can differentiate
        it: see `kernel`.
        """
        if kwargs:
            return self._call_other(self._bind_arguments(args, kwargs))
        max_number = self._max_number
        for x in args:  # arguments larger than those of all short calls may take long
            kind = type(x)
            if kind is ndarray:
                if x.size > max_number:
                    break
            elif kind in _NUMBERS:
                if x > max_number:
                    break
            elif kind in _TENSORS:
                break
        else:
            return (self._call or self.njit)(*args)
        return self._call_other(args)

    def _call_other(self, args: tuple[Any, ...]) -> Any:
        """Call the function with tensors, or with arguments that may take long."""
        if any(isinstance(x, Tensor | Variable) for x in args):
            return rows.call(self, self._bind_arguments(args, {}))
        if self._watched is None:
            locate(self)
            self._watched = importlib.import_module(
                "numtape.core.loops.runtime.kernel_calls"
            ).InterruptibleCalls(self)
        try:
            return self._watched(args)
        finally:
            self._max_number = self._watched.most

    def _written_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """Return the arguments that a call may write to, or None if that is unknown.

        A call with a tensor works on copies, so the list is empty.
        """
        args = self._bind_arguments(args, kwargs)
        if any(isinstance(x, Tensor | Variable) for x in args):
            return []
        locate(self)
        effects = importlib.import_module("numtape.core.loops.runtime.kernel_calls")
        written = effects.written_arguments(self.python_function, args)
        return None if written is None else [args[j] for j in written]

    def _run(self, kinds: Kinds, argnums: tuple[int, ...], keeps_stack: bool) -> Any:
        """Return the runtime of rows that call the kernel with arguments of these kinds."""
        try:
            return self._runs[kinds, argnums, keeps_stack]
        except KeyError:
            run_type = importlib.import_module("numtape.core.loops.runtime.rows").Specialization
            return self._runs.setdefault(
                (kinds, argnums, keeps_stack), run_type(self, kinds, argnums, keeps_stack)
            )

    @property
    def njit(self) -> Any:
        """The function as ``numba.njit`` compiles it; helpers that it calls are compiled as well.

        Example:
          >>> @tf.kernel
          ... def twice(x):
          ...     return 2 * x
          >>> twice.njit(4)
          8
        """
        return self._jit({})

    def _jit(self, kernels: dict[Any, Any]) -> Any:
        """Compile the function; ``kernels`` has those in progress, which may call each other."""
        if self._call is None:
            locate(self)
            make = importlib.import_module("numtape.core.loops.runtime.jit").plain
            self._call = make(
                self.python_function,
                {
                    "error_model": self._model,
                    "fastmath": self._fastmath,
                    "nogil": True,
                    "boundscheck": self._boundscheck,
                },
                {},
                kernels,
            )
        return self._call

    def _by_numba(self, *args: Any) -> Any:
        return self.njit(*args)

    def vjp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the derivative of the function by a rule, instead of its reverse sweep.

        Derivatives use the rule wherever the function is called: directly, in other kernels, or
        with tensors. Rule and function may contain what kernels may contain. Neither may write to
        its arguments, and the function must return one number or array.

        Args:
          rule: A function ``rule(g, y, *args)`` of the adjoint of the result, the result and the
            arguments. It returns the adjoint of each argument, in the argument's shape; None for an
            int, and for an argument without influence on the result.

        Returns:
          The rule, so that `vjp` can be a decorator.

        Raises:
          TypeError: If ``rule`` is not a function of that many arguments.
          ValueError: If derivatives of the function were computed before.

        Example:
          >>> @tf.kernel
          ... def root(a):
          ...     x = a
          ...     for _ in range(60):
          ...         x = 0.5 * (x + a / x)
          ...     return x
          >>> @root.vjp
          ... def root_rule(g, x, a):
          ...     return g / (2.0 * x)
          >>> tf.grad(root)(4.0)
          0.25
        """
        name = self.python_function.__qualname__
        if not isinstance(rule, FunctionType):
            raise TypeError(f"The rule of {name} is a function, not {rule!r}.")
        count = len(_signature(self.python_function).parameters)
        if len(_signature(rule).parameters) != count + 2:
            raise TypeError(
                f"The rule of {name} takes g, y and its {count} arguments, not {_signature(rule)}."
            )
        if self._gradients or self._jacobians or self._runs:
            raise ValueError(f"Derivatives of {name} were taken before it was given a rule.")
        self._rule = rule
        return rule

    def adjoint(self, *args: Any, argnums: int | Sequence[int] | None = None) -> Any:
        """Return the derivative of the function for arguments of these kinds.

        Args:
          *args: Arguments, as for a call.
          argnums: The arguments to differentiate by: a number, several, or None for all floats.

        Returns:
          An object whose ``source`` is the code of the forward and the reverse sweep. ``stored``
          has the bytes of stack for these arguments by line of the file, and ``recomputed`` the
          expressions that the reverse sweep recomputes for each line. It prints as a table of both.

        Raises:
          KernelError: If the function has a construct that cannot be differentiated.

        Example:
          >>> @tf.kernel
          ... def power(x, n):
          ...     y = 1.0
          ...     for i in range(n):
          ...         y = y * x
          ...     return y
          >>> print(power.adjoint(2.0, 3).source.splitlines()[0])
          def power_forward(x_at, n_at, d_x_at, SP, END, OUT, MARK):
        """
        args = self._bind_arguments(args, {})
        kinds = _call().kinds_of(args)
        if argnums is None:
            numbers = tuple(j for j, (dtype, _) in enumerate(kinds) if dtype.startswith("float"))
        else:
            numbers, _ = _numbers(as_argnums(argnums), len(args))
        report = importlib.import_module("numtape.core.loops.report")
        return report.Adjoint(self._program(kinds, numbers), args)

    @property
    def _numba_type_(self) -> Any:
        """The function that other Numba code calls."""
        return self.njit._numba_type_

    def _bind_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in the order of the parameters, with defaults."""
        code = self.python_function.__code__
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            raise KernelError(
                "a parameter *args or **kwargs",
                code.co_filename,
                code.co_firstlineno,
                "Name each parameter.",
            )
        if not kwargs and len(args) == code.co_argcount and not code.co_kwonlyargcount:
            return args
        bound_arguments = _signature(self.python_function).bind(*args, **kwargs)
        bound_arguments.apply_defaults()
        return tuple(bound_arguments.arguments.values())

    def _program(self, kinds: Kinds, argnums: tuple[int, ...], several: bool = False) -> Any:
        for j in argnums:
            if not kinds[j][0].startswith("float"):
                raise KernelError(
                    f"a derivative by argument {j}, of dtype {kinds[j][0]}",
                    way="Pass it as floats.",
                )
        locate(self)
        make = importlib.import_module("numtape.core.loops.program").program
        return make(
            self.python_function,
            list(kinds),
            list(argnums),
            boundscheck=self._boundscheck is not False,
            divisions=self._model == "python",
            several=several,
            rule=self._rule,
        )

    def _gradient(self, args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> Any:
        """Return the gradient for arguments of these kinds."""
        return self._gradient_of(_call().kinds_of(args), argnums)

    def _gradient_of(self, kinds: Kinds, argnums: int | tuple[int, ...]) -> Any:
        """Return the gradient for dtypes and numbers of axes of arguments."""
        try:
            return self._gradients[kinds, argnums]
        except KeyError:
            numbers, is_single = _numbers(argnums, len(kinds))
            program = self._program(kinds, numbers)
            gradient = _call().Gradient(
                program, numbers, is_single, self._fastmath, self._limit, self._by_numba
            )
            return self._gradients.setdefault((kinds, argnums), gradient)

    def _jacobian(self, args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> Any:
        """Return the Jacobian for arguments of these kinds."""
        kinds = _call().kinds_of(args)
        try:
            return self._jacobians[kinds, argnums]
        except KeyError:
            numbers, is_single = _numbers(argnums, len(args))
            program = self._program(kinds, numbers, True)
            jacobian = importlib.import_module("numtape.core.loops.runtime.invoke").Jacobian(
                program, numbers, is_single, self._fastmath, self._limit, self._by_numba
            )
            return self._jacobians.setdefault((kinds, argnums), jacobian)

    _stand_in = functools.cached_property(lambda self: stand_in(self.python_function))

    def __reduce__(self) -> Any:
        return reduce_kernel(self)

    def __repr__(self) -> str:
        return f"<Kernel {self.python_function.__qualname__}>"


guard([Kernel])


if TYPE_CHECKING:

    class TypedKernel(Kernel, Generic[P, R]):
        """A kernel whose parameter and result types are known."""

        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
            """Call the function."""
            ...


# For type checkers: a kernel keeps the parameters and the result of its function.
@overload
def kernel(
    function: Callable[P, R],
    *,
    recompute: bool = False,
    memory_limit: int | None = None,
    error_model: str = "numpy",
    fastmath: bool = False,
    boundscheck: bool | None = None,
) -> TypedKernel[P, R]: ...
@overload
def kernel(
    function: None = None,
    *,
    recompute: bool = False,
    memory_limit: int | None = None,
    error_model: str = "numpy",
    fastmath: bool = False,
    boundscheck: bool | None = None,
) -> Callable[[Callable[P, R]], TypedKernel[P, R]]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    *,
    recompute: bool = False,
    memory_limit: int | None = None,
    error_model: str = "numpy",
    fastmath: bool = False,
    boundscheck: bool | None = None,
) -> Any:
    """Compile a function of plain loops with Numba, so that `grad` can differentiate it.

    Global names and free variables are constants, with their values at compilation for arguments
    of given dtypes. Numba is imported when the first kernel is called.

    If an argument is a tensor or a variable, the call is an op: its results are tensors, a
    `GradientTape` computes first derivatives through it, and `tf.function` records it. It is
    computed immediately, so the call itself raises errors, and it writes to copies of its
    arguments. A scalar is a tensor of shape ``()``; numbers are float64, int64 or bool.

    Args:
      function: The function; None to return a decorator with these options.
      recompute: Whether a call from a kernel stores only its arguments, and is computed again in
        the reverse sweep. This takes less memory and more time.
      memory_limit: The maximum size of a gradient's stack in bytes; None for half of the machine's
        memory.
      error_model: "numpy" if a division by 0 returns infinity or NaN; "python" if it raises.
      fastmath: Numba's option of this name, for calls and for the forward sweep.
      boundscheck: Whether an index out of bounds raises an IndexError. By default it does in
        derivatives and in calls with tensors, whose reverse sweep would write out of bounds; plain
        calls follow ``NUMBA_BOUNDSCHECK``. Checks of provably valid indices, such as ``x[i]`` in a
        loop over ``range(len(x))``, are omitted.

    Returns:
      A `Kernel`; without a function, a decorator that returns one.

    Raises:
      TypeError: If it is not a function.
      ValueError: If the error model is unknown, or the limit is not positive.

    Example:
      >>> @tf.kernel
      ... def length(x):
      ...     s = 0.0
      ...     for i in range(len(x)):
      ...         s += x[i] ** 2
      ...     return np.sqrt(s)
      >>> length(np.array([3.0, 4.0]))
      5.0
      >>> tf.grad(length)(np.array([3.0, 4.0]))
      array([0.6, 0.8])
      >>> x = tf.Variable([3.0, 4.0])
      >>> with tf.GradientTape() as tape:
      ...     y = 2.0 * length(x)
      >>> tape.gradient(y, x).numpy()
      array([1.2, 1.6], dtype=float32)
    """
    options: dict[str, Any] = {
        "recompute": recompute,
        "memory_limit": memory_limit,
        "error_model": error_model,
        "fastmath": fastmath,
        "boundscheck": boundscheck,
    }
    if function is None:
        return lambda function: Kernel(function, **options)
    return Kernel(function, **options)


def as_kernel(f: Callable[..., Any]) -> Kernel:
    """Return a kernel as it is, and a function as a kernel."""
    if isinstance(f, Kernel):
        return f
    return Kernel(getattr(f, "py_func", f))


def _call() -> Any:
    """Return the module that calls sweeps, imported on first use."""
    return importlib.import_module("numtape.core.loops.runtime.invoke")


_signature = functools.lru_cache(256)(inspect.signature)


def as_argnums(argnums: Any) -> int | tuple[int, ...]:
    """Convert ``argnums`` to an int or a tuple of ints."""
    try:
        return operator.index(argnums)
    except TypeError:
        pass
    try:
        numbers = tuple([operator.index(j) for j in argnums])
    except TypeError:
        raise TypeError(f"argnums is an int or a sequence of them, not {argnums!r}.") from None
    if not numbers:
        raise ValueError("argnums is empty: name an argument to differentiate by.")
    return numbers


def _numbers(argnums: int | tuple[int, ...], count: int) -> tuple[tuple[int, ...], bool]:
    """Return the argument numbers, and whether ``argnums`` is a single number."""
    requested_numbers = (argnums,) if isinstance(argnums, int) else argnums
    for j in requested_numbers:
        if not -count <= j < count:
            raise ValueError(f"argnums has {j}, but there are {count} arguments.")
    numbers = tuple([j % count for j in requested_numbers])
    for k, j in enumerate(numbers):
        if j in numbers[:k]:
            raise ValueError(f"argnums has argument {j} twice.")
    return numbers, isinstance(argnums, int)
