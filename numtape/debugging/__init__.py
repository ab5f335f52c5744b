"""`tf.debugging`: assertions, and checks that find the op that first returned NaN or infinity."""

from __future__ import annotations

import typing as _typing
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compat import traceback_filter
from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from ..core.derive import instrumentation
from ..core.log.as_tensor import as_tensor
from ..core.log.log import local
from ..core.ops.comparison import is_finite
from ..core.ops.movement import identity
from ..core.ops.rules import every
from ..core.values.tensor import Tensor
from ..custom_gradients import custom_gradient
from ..errors import InvalidArgumentError
from .assertions import (
    Assert,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_integer,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_proper_iterable,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
    assert_same_float_dtype,
    assert_scalar,
    assert_shapes,
    assert_type,
)

if TYPE_CHECKING:
    from ..core.values.annotations import TensorLike

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "disable_traceback_filtering",
    "enable_check_numerics",
    "enable_traceback_filtering",
    "is_numeric_tensor",
    "is_traceback_filtering_enabled",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Return a tensor unchanged; raise if it, or later its gradient, contains NaN or infinity.

    Args:
      tensor: A tensor of floats.
      message: A prefix of the error message.
      name: Not used.

    Returns:
      A tensor of the same value.

    Raises:
      InvalidArgumentError: If an element is not finite, or it is not a tensor of floats.

    Example:
      >>> tf.debugging.check_numerics(tf.constant([1.0]), "weights").numpy()
      array([1.], dtype=float32)
    """
    x = as_tensor(tensor)
    if not x.dtype.is_floating:
        raise InvalidArgumentError(
            f"Value for attr 'T' of {x.dtype.name} is not in the list of allowed values: "
            f"bfloat16, half, float, double [Op:CheckNumerics]"
        )
    _finite(x, message)
    result: Tensor = _check_finite(x, message)
    return result


def _check_finite(x: Tensor, message: str) -> Any:
    def grad(upstream: Tensor) -> Tensor:
        text = f"Not a number (NaN) or infinity (Inf) values detected in gradient. {message}"
        return check_numerics(upstream, text)

    def same(x: Tensor) -> Any:
        return identity(x), grad

    return custom_gradient(same)(x)


def _finite(x: Tensor, message: str) -> None:
    if not every(x, np.isfinite, is_finite, f"{message} : Tensor had NaN or Inf values"):
        array = x.numpy()
        kinds = [("Inf", np.isinf(array).any()), ("NaN", np.isnan(array).any())]
        description = " and ".join(name for name, is_present in kinds if is_present)
        raise InvalidArgumentError(
            f"{message} : Tensor had {description} values [Op:CheckNumerics]"
        )


def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Return a tensor unchanged; raise if it contains NaN or infinity.

    Args:
      x: A tensor of floats.
      message: A prefix of the error message.
      name: Not used.

    Returns:
      A tensor of the same value.

    Raises:
      InvalidArgumentError: If an element is not finite, or it is not a tensor of floats.

    Example:
      >>> tf.debugging.assert_all_finite([1.0], "weights").numpy()
      array([1.], dtype=float32)
    """
    return check_numerics(x, message)


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Raise wherever an op gives NaN or infinity: at its call, which says what it was given.

    Each op is computed at once, and functions run as Python: this is for finding an error.

    Args:
      stack_height_limit: Accepted for compatibility with TensorFlow.
      path_length_limit: Accepted for compatibility with TensorFlow.

    Example:
      >>> tf.debugging.enable_check_numerics()
      >>> try:
      ...     tf.math.log(tf.constant(-1.0)) * 2.0
      ... except tf.errors.InvalidArgumentError as error:
      ...     print("Log" in str(error))
      True
      >>> tf.debugging.disable_check_numerics()
    """
    local.log.refuse("it sets what is checked")
    instrumentation.configure(checked=True)


def disable_check_numerics() -> None:
    """Undo `enable_check_numerics`.

    Example:
      >>> tf.debugging.disable_check_numerics()
    """
    local.log.refuse("it sets what is checked")
    instrumentation.configure(checked=False)


def is_numeric_tensor(tensor: object) -> bool:
    """Whether an object is a tensor of numbers.

    Args:
      tensor: Anything.

    Returns:
      A bool; False for a variable, as in TensorFlow.

    Example:
      >>> tf.debugging.is_numeric_tensor(tf.constant(1)), tf.debugging.is_numeric_tensor(1)
      (True, False)
    """
    return isinstance(tensor, Tensor) and tensor.dtype.name != "bool"


def disable_traceback_filtering() -> None:
    """Have tracebacks show numtape's frames too: for a look at where within an error comes from.

    Example:
      >>> tf.debugging.disable_traceback_filtering()
      >>> tf.debugging.is_traceback_filtering_enabled()
      False
      >>> tf.debugging.enable_traceback_filtering()
    """
    local.log.refuse("it sets what tracebacks show")
    traceback_filter.enable(False)


def enable_traceback_filtering() -> None:
    """Have tracebacks show the program's lines, and none of numtape's: undo the above.

    It is so from the beginning. Frames of libraries that numtape calls go as well, and errors
    that came up and were caught within.

    Example:
      >>> tf.debugging.enable_traceback_filtering()
    """
    local.log.refuse("it sets what tracebacks show")
    traceback_filter.enable(True)


def is_traceback_filtering_enabled() -> bool:
    """Whether tracebacks are without numtape's frames.

    Returns:
      A bool.

    Example:
      >>> tf.debugging.is_traceback_filtering_enabled()
      True
    """
    is_on: bool = local.log.call_guarded(traceback_filter.is_enabled)
    return is_on


_guard_module(__name__)
