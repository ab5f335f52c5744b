"""Derivatives of native loops: the gradient, with the value, and the Jacobian of a kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .kernel import as_kernel

__all__ = ["grad", "jacobian", "value_and_grad"]


def __dir__() -> list[str]:
    return sorted(__all__)


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """The function that gives the value of a kernel and its gradient, in reverse mode.

    Arguments are numbers and NumPy arrays of one to three axes, of floats, ints or bools. None is
    changed: what the kernel writes to is a copy.

    Args:
      f: A kernel, a function that ``numba.njit`` made, or one of Python. It returns one float.
      argnums: By which argument to differentiate, or by which.

    Returns:
      A function of the same arguments. It returns the value and the gradient, which has the shape
      and dtype of its argument; a tuple of gradients if ``argnums`` is a sequence.

    Raises:
      TypeError: If ``f`` is no function.
      KernelError: At a call, if ``f`` holds what cannot be differentiated, or does not return a
        float.
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
    found = as_kernel(f)
    wanted = argnums if isinstance(argnums, int) else tuple(argnums)

    recent = None
    code = found.python_function.__code__
    count = -1 if code.co_kwonlyargcount else code.co_argcount

    @functools.wraps(found.python_function)
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        nonlocal recent
        if recent is not None and not kwargs and len(args) == count:
            done = recent.quick(args)  # arguments are mostly of the kinds that the last ones had
            if done is not None:
                return done
        args = found._bound(args, kwargs)
        gradient = found._gradient(args, wanted)
        result = gradient(args)
        recent = gradient
        return result  # type: ignore[no-any-return]

    return value_and_gradient


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The function that gives the gradient of a kernel, in reverse mode; see `value_and_grad`.

    Args:
      f: A kernel, a function that ``numba.njit`` made, or one of Python. It returns one float.
      argnums: By which argument to differentiate, or by which.

    Returns:
      A function of the same arguments, which returns the gradient; a tuple of gradients if
      ``argnums`` is a sequence.

    Raises:
      TypeError: If ``f`` is no function.
      KernelError: At a call, if ``f`` holds what cannot be differentiated.

    Example:
      >>> def root(a):
      ...     x = a
      ...     while abs(x * x - a) > 1e-12 * a:
      ...         x = 0.5 * (x + a / x)
      ...     return x
      >>> round(tf.grad(root)(4.0), 9)
      0.25
    """
    both = value_and_grad(f, argnums)

    @functools.wraps(as_kernel(f).python_function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return gradient


def jacobian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The function that gives the Jacobian of a kernel: one reverse sweep an element of its result.

    The result may be a number, an array, or a tuple of them, of tuples, and so on. For functions of
    tensors there is `GradientTape.jacobian`.

    Args:
      f: A kernel, a function that ``numba.njit`` made, or one of Python.
      argnums: By which argument to differentiate, or by which.

    Returns:
      A function of the same arguments. It returns, in the place of each number or array of the
      result, its Jacobian: an array of the result's shape and then the argument's; a tuple of them
      if ``argnums`` is a sequence. What is no float, or does not depend on the argument, has zeros.

    Raises:
      TypeError: If ``f`` is no function.
      KernelError: At a call, if ``f`` holds what cannot be differentiated, or returns nothing.
      ResourceExhaustedError: At a call, if the stack is full.

    Example:
      >>> def polar(r, angle):
      ...     return r * np.cos(angle), r * np.sin(angle)
      >>> tf.jacobian(polar, (0, 1))(2.0, 0.0)
      ((1.0, 0.0), (0.0, 2.0))
    """
    found = as_kernel(f)
    wanted = argnums if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(found.python_function)
    def jacobians(*args: Any, **kwargs: Any) -> Any:
        args = found._bound(args, kwargs)
        return found._jacobian(args, wanted)(args)

    return jacobians
