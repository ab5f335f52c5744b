"""Derivatives of kernels: gradient, value and gradient, and Jacobian."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..compat.traceback_filter import guard
from ..errors import KernelError
from .kernel import as_argnums, as_kernel
from .pickling import is_self_contained

__all__ = ["grad", "jacobian", "value_and_grad"]


def __dir__() -> list[str]:
    return sorted(__all__)


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes the value of a kernel and its gradient, in reverse mode.

    Arguments are numbers and NumPy arrays of one to three axes, of floats, ints or bools. No
    argument is changed: the kernel writes to copies.

    Args:
      f: A kernel, a function compiled by ``numba.njit``, or a Python function. It returns a float.
      argnums: The number of the argument to differentiate by, or several.

    Returns:
      A function of the same arguments. It returns the value and the gradient, which has the shape
      and dtype of its argument; a tuple of gradients if ``argnums`` is a sequence.

    Raises:
      TypeError: If ``f`` is not a function, or ``argnums`` are not ints.
      ValueError: If ``argnums`` is empty; at a call, if an argument is missing, or listed twice.
      KernelError: At a call, if ``f`` has a construct that cannot be differentiated, or does not
        return a float.
      ResourceExhaustedError: At a call, if the stack is full.

    Example:
      >>> def energy(x, k):
      ...     s = 0.0
      ...     for i in range(1, len(x)):
      ...         s += 0.5 * k * (x[i] - x[i - 1]) ** 2
      ...     return s
      >>> value, (gx, gk) = tf.value_and_grad(energy, (0, 1))(np.array([0.0, 1.0, 3.0]), 2.0)
      >>> value, gx, gk
      (5.0, array([-2., -2.,  4.]), 2.5)
    """
    return _Derivative(f, argnums, True)


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return a function that computes the gradient of a kernel, in reverse mode.

    See `value_and_grad` for the arguments of the function.

    Args:
      f: A kernel, a function compiled by ``numba.njit``, or a Python function. It returns a float.
      argnums: The number of the argument to differentiate by, or several.

    Returns:
      A function of the same arguments, which returns the gradient; a tuple of gradients if
      ``argnums`` is a sequence.

    Raises:
      TypeError: If ``f`` is not a function, or ``argnums`` are not ints.
      ValueError: If ``argnums`` is empty; at a call, if an argument is missing, or listed twice.
      KernelError: At a call, if ``f`` has a construct that cannot be differentiated.

    Example:
      >>> def root(a):
      ...     x = a
      ...     while abs(x * x - a) > 1e-12 * a:
      ...         x = 0.5 * (x + a / x)
      ...     return x
      >>> round(tf.grad(root)(4.0), 9)
      0.25
    """
    return _Derivative(f, argnums, False)


def jacobian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of a kernel, with a reverse sweep per element.

    The result may be a number, an array, or a nested tuple of them. `GradientTape.jacobian`
    differentiates functions of tensors.

    Args:
      f: A kernel, a function compiled by ``numba.njit``, or a Python function.
      argnums: The number of the argument to differentiate by, or several.

    Returns:
      A function of the same arguments. It returns the Jacobian of each number or array of the
      result, in the structure of the result: an array whose shape is the result's followed by the
      argument's; a tuple of arrays if ``argnums`` is a sequence. The Jacobian is zero for results
      that are not floats or do not depend on the argument.

    Raises:
      TypeError: If ``f`` is not a function, or ``argnums`` are not ints.
      ValueError: If ``argnums`` is empty; at a call, if an argument is missing, or listed twice.
      KernelError: At a call, if ``f`` has a construct that cannot be differentiated, or returns
        nothing.
      ResourceExhaustedError: At a call, if the stack is full.

    Example:
      >>> def polar(r, angle):
      ...     return r * np.cos(angle), r * np.sin(angle)
      >>> tf.jacobian(polar, (0, 1))(2.0, 0.0)
      ((1.0, 0.0), (0.0, 2.0))
    """
    return _Jacobian(f, argnums)


class _KernelDerivative:
    """A derivative of a function. It is pickled as the call that creates it."""

    def __init__(self, f: Callable[..., Any], argnums: int | Sequence[int]) -> None:
        if isinstance(f, _KernelDerivative):
            raise KernelError(
                f"a second derivative: {f!r} is one already",
                way=("Take differences of the gradient, or write it with operations on tensors."),
            )
        self._function, self._kernel, self._argnums = f, as_kernel(f), as_argnums(argnums)
        wrapper: Any = self
        functools.update_wrapper(wrapper, self._kernel.python_function)

    _constructor: Callable[..., Any]
    _description: str

    def __reduce__(self) -> tuple[Any, ...]:
        is_by_name = not isinstance(self._function, FunctionType) or not is_self_contained(
            self._function
        )
        return self._constructor, (self._function if is_by_name else self._kernel, self._argnums)

    def __repr__(self) -> str:
        return f"<{self._description} of {self._kernel!r}>"


class _Jacobian(_KernelDerivative):
    """The Jacobian of a kernel."""

    _constructor, _description = staticmethod(jacobian), "Jacobian"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._kernel._bind_arguments(args, kwargs)
        return self._kernel._jacobian(args, self._argnums)(args)


class _Derivative(_KernelDerivative):
    """The gradient of a kernel, alone or with its value; compiled code can call it."""

    def __init__(
        self, f: Callable[..., Any], argnums: int | Sequence[int], with_value: bool
    ) -> None:
        super().__init__(f, argnums)
        self._with_value = with_value
        self._constructor = value_and_grad if with_value else grad
        self._description = "value and gradient" if with_value else "gradient"
        self._last_gradient: Any = None
        self._jitted: Any = None
        code = self._kernel.python_function.__code__
        self._argument_count = -1 if code.co_kwonlyargcount else code.co_argcount

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        last_gradient = self._last_gradient
        if last_gradient is not None and not kwargs and len(args) == self._argument_count:
            # Most calls have arguments of the same kinds as the last.
            result = last_gradient.quick(args)
            if result is not None:
                return result if self._with_value else result[1]
        args = self._kernel._bind_arguments(args, kwargs)
        gradient = self._kernel._gradient(args, self._argnums)
        result = gradient(args)
        self._last_gradient = gradient
        return result if self._with_value else result[1]

    @property
    def _numba_type_(self) -> Any:
        if self._jitted is None:
            self._jitted = importlib.import_module("numtape.core.loops.runtime.jit").gradient(
                self._kernel, self._argnums, self._with_value
            )
        return self._jitted._numba_type_


guard([_Derivative, _Jacobian])
