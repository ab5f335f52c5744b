"""`check_grads`: check derivatives of functions against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import nest
from .compat.traceback_filter import guard_module as _guard_module
from .core.log.as_tensor import as_tensor
from .core.values.tensor import Tensor
from .tape import GradientTape

if TYPE_CHECKING:
    from .core.values.annotations import TensorLike

__all__ = ["check_grads"]


def __dir__() -> list[str]:
    return sorted(__all__)


Array = np.ndarray[Any, Any]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    rtol: float = 1e-6,
    atol: float = 1e-6,
    eps: float = 1e-6,
) -> None:
    """Check the derivatives of a function of tensors against central differences.

    The results of ``f`` are projected onto random weights. For each argument, the derivative of the
    projection in a random direction is compared with central differences. For higher orders, the
    gradient, as a function of the arguments and the weights, is checked in the same way.

    Args:
      f: A function of tensors that returns a tensor or a nest of them. It must be smooth near
        ``args``.
      args: An array, number or tensor for each argument. Floats of any shape become float64;
        integers and bools are unchanged.
      order: The highest order of derivative to check.
      rtol: The relative tolerance.
      atol: The absolute tolerance.
      eps: The length of the step.

    Raises:
      AssertionError: If a derivative is wrong, with its order, argument and element.
      ValueError: If no argument or no result is a float.

    Example:
      >>> tf.testing.check_grads(lambda x, y: tf.sin(x) * y, [[0.1, 0.2], 3.0])
    """
    points = [_float64(x) for x in args]
    if not any(x.dtype.kind == "f" for x in points):
        raise ValueError("An argument must be a float, or there is nothing to differentiate.")
    names = [f"argument {j}" for j in range(len(points))]
    _check(f, points, names, order, 1, (rtol, atol, eps))


def _float64(value: TensorLike) -> Array:
    array = np.asarray(value)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _check(
    f: Callable[..., Any],
    points: list[Array],
    names: list[str],
    max_order: int,
    order: int,
    tolerances: tuple[float, float, float],
) -> None:
    rtol, atol, eps = tolerances
    random = np.random.default_rng(order)
    weights = [
        np.asarray(random.standard_normal(y.shape), y.dtype.as_numpy_dtype)
        for y in _float_tensors(f(*map(as_tensor, points)))
    ]

    if not weights:
        raise ValueError("A result must be a float, or there is nothing to differentiate.")

    def gradient(*arguments: Tensor) -> list[Tensor]:
        """Return the gradient of the projection by float arguments, given the weights too."""
        inputs, result_weights = list(arguments[: len(points)]), list(arguments[len(points) :])
        with GradientTape() as tape:
            tape.watch(_float_tensors(inputs))
            results = _float_tensors(f(*inputs))
        gradients = tape.gradient(results, _float_tensors(inputs), result_weights, "zero")
        return list(map(as_tensor, gradients))  # converts slices to dense tensors

    def projection(j: int, step: Array) -> float:
        shifted_points = [x + step if k == j else x for k, x in enumerate(points)]
        results = _float_tensors(f(*map(as_tensor, shifted_points)))
        return sum(float(np.vdot(w, y)) for w, y in zip(weights, results, strict=True))

    def slope(j: int, step: Array) -> float:
        return (projection(j, eps * step) - projection(j, -eps * step)) / (2 * eps)

    floats = [j for j, x in enumerate(points) if x.dtype.kind == "f"]
    exact = gradient(*map(as_tensor, [*points, *weights]))
    for j, tensor in zip(floats, exact, strict=True):
        values = np.asarray(tensor)
        direction = np.asarray(random.standard_normal(values.shape))
        if not np.isclose(np.vdot(values, direction), slope(j, direction), rtol, atol):
            worst_entry = _describe_worst(values, partial(slope, j))
            raise AssertionError(f"derivative of order {order} by {names[j]}: {worst_entry}")
    if order < max_order:
        weight_names = [f"the weights of result {j} in order {order}" for j in range(len(weights))]
        _check(
            gradient, [*points, *weights], names + weight_names, max_order, order + 1, tolerances
        )


def _float_tensors(results: object) -> list[Any]:
    """Return the float tensors in a nest."""
    result_tensors = [as_tensor(x) for x in nest.flatten(results) if x is not None]
    return [x for x in result_tensors if x.dtype.is_floating]


def _describe_worst(values: Array, slope: Callable[[Array], float]) -> str:
    """Describe the element whose gradient differs most from central differences."""
    expected_values = np.empty_like(values)
    for index in np.ndindex(values.shape):
        step = np.zeros_like(values)
        step[index] = 1.0
        expected_values[index] = slope(step)
    error = np.nan_to_num(np.abs(values - expected_values), nan=np.inf)
    worst_index = tuple(int(k) for k in np.unravel_index(error.argmax(), error.shape))
    return (
        f"element {worst_index} is {values[worst_index]:.9g}, central differences give "
        f"{expected_values[worst_index]:.9g}"
    )


_guard_module(__name__)
