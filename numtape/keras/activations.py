"""``tf.keras.activations``: activation functions, and their lookup by name."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Sequence
from typing import Any

from ..compat.names import getter as _getter
from ..core.log.as_tensor import as_tensor
from ..core.log.layer_context import with_logits
from ..core.ops import activations as _nn, losses as _softmax
from ..core.ops.activations import log_sigmoid, sparsemax
from ..core.ops.elementwise import (
    abs_,
    cast,
    clip_by_value,
    exp,
    expm1,
    maximum,
    minimum,
    select,
    sqrt,
    square,
    tanh,
)
from ..core.ops.movement import reshape
from ..core.ops.reduction import reduce_logsumexp
from ..core.ops.slicing import split
from ..core.values.dtypes import float32
from ..core.values.tensor import Tensor
from .registry import ClassRegistry, get_registered_object, nearest

if _typing.TYPE_CHECKING:
    from ..core.values.annotations import TensorLike
    from .annotations import ActivationLike

_Value = _typing.TypeVar("_Value")


def hard_shrink(x: TensorLike, threshold: float = 0.5) -> Tensor:
    """``x`` where ``|x| > threshold``, 0 elsewhere.

    Args:
      x: A tensor of floats.
      threshold: The largest absolute value that becomes 0.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.hard_shrink([-1.0, 0.25, 2.0]).numpy()
      array([-1.,  0.,  2.], dtype=float32)
    """
    x = as_tensor(x)
    return select(abs_(x) > threshold, x, 0.0)


def hard_sigmoid(x: TensorLike) -> Tensor:
    """``x / 6 + 0.5``, limited to the range from 0 to 1.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.hard_sigmoid([-4.0, 0.0, 1.5]).numpy()
      array([0.  , 0.5 , 0.75], dtype=float32)
    """
    result: Tensor = relu6(as_tensor(x) + 3.0) / 6.0
    return result


def hard_silu(x: TensorLike) -> Tensor:
    """``x * hard_sigmoid(x)``: also called hard swish.

    From Howard et al., "Searching for MobileNetV3" (2019).

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.hard_silu([-4.0, 0.0, 1.5]).numpy()
      array([-0.   ,  0.   ,  1.125], dtype=float32)
    """
    x = as_tensor(x)
    result: Tensor = x * hard_sigmoid(x)
    return result


def hard_tanh(x: TensorLike) -> Tensor:
    """``x``, limited to the range from -1 to 1.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.hard_tanh([-4.0, 0.5, 1.5]).numpy()
      array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return clip_by_value(x, -1.0, 1.0)


def leaky_relu(x: TensorLike, negative_slope: float = 0.2) -> Tensor:
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    Args:
      x: A tensor of numbers; those that are not floats become float32.
      negative_slope: The slope where ``x`` is not positive.

    Returns:
      A float tensor of the shape of ``x``.

    Raises:
      TypeError: If ``x`` cannot become a tensor.

    Example:
      >>> tf.keras.activations.leaky_relu([-10.0, 10.0], 0.5).numpy()
      array([-5., 10.], dtype=float32)
    """
    return _nn.leaky_relu(x, negative_slope)


def relu(
    x: TensorLike,
    negative_slope: float = 0.0,
    max_value: float | None = None,
    threshold: float = 0.0,
) -> Tensor:
    """``x`` above ``threshold``, at most ``max_value``; below, a line of ``negative_slope``.

    Args:
      x: A tensor of numbers.
      negative_slope: The slope below the threshold, where it is ``negative_slope * (x -
        threshold)``.
      max_value: The largest result; None for no bound.
      threshold: The value above which the result is ``x``.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If a number does not fit the dtype of ``x``.

    Example:
      >>> tf.keras.activations.relu([-2.0, 0.5, 9.0], negative_slope=0.5, max_value=6.0).numpy()
      array([-1. ,  0.5,  6. ], dtype=float32)
    """
    x = as_tensor(x)
    if negative_slope and max_value is None and not threshold:
        return _nn.leaky_relu(x, negative_slope)
    if threshold:
        result: Tensor = select(x > threshold, x, 0)
    elif max_value == 6:
        result, max_value = _nn.relu6(x), None
    else:
        result = _nn.relu(x)
    if max_value is not None:
        result = clip_by_value(result, 0, max_value)
    return result - negative_slope * _nn.relu(threshold - x) if negative_slope else result


def relu6(x: TensorLike) -> Tensor:
    """`nn.relu6`: ``x`` limited to the range from 0 to 6.

    Args:
      x: A tensor of numbers.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are bools.

    Example:
      >>> tf.keras.activations.relu6([-1.0, 2.0, 7.0]).numpy()
      array([0., 2., 6.], dtype=float32)
    """
    result: Tensor = _nn.relu6(x)
    return result


def soft_shrink(x: TensorLike, threshold: float = 0.5) -> Tensor:
    """``x`` moved towards 0 by ``threshold``, and 0 where ``|x| <= threshold``.

    Args:
      x: A tensor of floats.
      threshold: The distance by which values move.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.soft_shrink([-1.0, 0.25, 2.0]).numpy()
      array([-0.5,  0. ,  1.5], dtype=float32)
    """
    x = as_tensor(x)
    return select(x > threshold, x - threshold, select(x < -threshold, x + threshold, 0.0))


def sparse_plus(x: TensorLike) -> Tensor:
    """``(x + 1) ** 2 / 4`` from -1 to 1, 0 below, ``x`` above.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.sparse_plus([-2.0, 0.0, 2.0]).numpy()
      array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = as_tensor(x)
    return select(x <= -1.0, 0.0, select(x < 1.0, 0.25 * square(x + 1.0), x))


def sparse_sigmoid(x: TensorLike) -> Tensor:
    """``(x + 1) / 2``, limited to the range from 0 to 1.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.sparse_sigmoid([-2.0, 0.5, 2.0]).numpy()
      array([0.  , 0.75, 1.  ], dtype=float32)
    """
    x = as_tensor(x)
    return select(x <= -1.0, 0.0, select(x >= 1.0, 1.0, 0.5 * (x + 1.0)))


def threshold(x: TensorLike, threshold: float, default_value: float) -> Tensor:
    """``x`` where it is larger than ``threshold``, ``default_value`` elsewhere.

    Args:
      x: A tensor of floats.
      threshold: The bound above which elements are unchanged.
      default_value: The value of the other elements.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If a number does not fit the dtype of ``x``.

    Example:
      >>> tf.keras.activations.threshold([-1.0, 2.0], 0.5, 9.0).numpy()
      array([9., 2.], dtype=float32)
    """
    x = as_tensor(x)
    return select(x > threshold, x, default_value)


def celu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """``x`` where positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    From Barron, "Continuously Differentiable Exponential Linear Units" (2017).

    Args:
      x: A tensor of floats.
      alpha: The scale of negative results, which are above ``-alpha``.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.celu([-1.0, 2.0], alpha=2.0).numpy()
      array([-0.7869387,  2.       ], dtype=float32)
    """
    x = as_tensor(x)
    result: Tensor = maximum(x, 0.0) + alpha * expm1(minimum(x, 0.0) / alpha)
    return result


def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Args:
      x: A tensor of floats.
      alpha: The factor of the exponential; the default gives `nn.elu`.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.elu([-1.0, 2.0], alpha=2.0).numpy()
      array([-1.2642411,  2.       ], dtype=float32)
    """
    x = as_tensor(x)
    result: Tensor = _nn.elu(x)
    return result if alpha == 1.0 else select(x > 0.0, result, alpha * result)


def exponential(x: TensorLike) -> Tensor:
    """``exp(x)``.

    Args:
      x: A tensor of numbers; those that are not floats become float32.

    Returns:
      A float tensor of the shape of ``x``.

    Raises:
      TypeError: If ``x`` cannot become a tensor.

    Example:
      >>> tf.keras.activations.exponential([0.0, 1.0]).numpy()
      array([1.       , 2.7182817], dtype=float32)
    """
    x = as_tensor(x)
    return exp(x if x.dtype.is_floating else cast(x, float32))


def gelu(x: TensorLike, approximate: bool = False) -> Tensor:
    """`nn.gelu`: ``x`` times the probability that a normal number is less than ``x``.

    Args:
      x: A tensor of floats.
      approximate: Whether to use the approximation by `tanh`.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      ValueError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.gelu([-1.0, 2.0]).numpy()
      array([-0.15865526,  1.9544997 ], dtype=float32)
    """
    return _nn.gelu(x, approximate)


def glu(x: TensorLike, axis: int = -1) -> Tensor:
    """The first half along an axis, times `sigmoid` of the second half.

    From Dauphin, Fan, Auli and Grangier, "Language Modeling with Gated Convolutional Networks"
    (2017).

    Args:
      x: A tensor of floats.
      axis: The axis to split in halves.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: If the axis does not exist, or its size is odd.

    Example:
      >>> tf.keras.activations.glu([2.0, 4.0, 0.0, 0.0]).numpy()
      array([1., 2.], dtype=float32)
    """
    x = as_tensor(x)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"glu: axis {axis} is out of range for a tensor of shape {x.shape}.")
    if x.shape[axis] % 2:
        raise ValueError(
            f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}"
        )
    values, gates = split(x, 2, axis)
    result: Tensor = values * _nn.sigmoid(gates)
    return result


def mish(x: TensorLike) -> Tensor:
    """``x * tanh(softplus(x))``.

    From Misra, "Mish: A Self Regularized Non-Monotonic Activation Function" (2019).

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.mish([-1.0, 0.0, 2.0]).numpy()
      array([-0.30340147,  0.        ,  1.9439590 ], dtype=float32)
    """
    x = as_tensor(x)
    result: Tensor = x * tanh(softplus(x))
    return result


def selu(x: TensorLike) -> Tensor:
    """`nn.selu`: a scaled `elu` that keeps mean and variance across layers.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.selu([-1.0, 2.0]).numpy()
      array([-1.1113307,  2.101402 ], dtype=float32)
    """
    result: Tensor = _nn.selu(x)
    return result


def silu(x: TensorLike) -> Tensor:
    """``x * sigmoid(x)``: also called swish.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.silu([-1.0, 0.0, 2.0]).numpy()
      array([-0.26894143,  0.        ,  1.7615942 ], dtype=float32)
    """
    return _nn.silu(x)


def softplus(x: TensorLike) -> Tensor:
    """`nn.softplus`: ``log(1 + exp(x))``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.softplus([0.0, 1000.0]).numpy()
      array([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    result: Tensor = _nn.softplus(x)
    return result


def softsign(x: TensorLike) -> Tensor:
    """`nn.softsign`: ``x / (1 + |x|)``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.softsign([-1.0, 3.0]).numpy()
      array([-0.5 ,  0.75], dtype=float32)
    """
    result: Tensor = _nn.softsign(x)
    return result


def squareplus(x: TensorLike, b: float = 4) -> Tensor:
    """``(x + sqrt(x * x + b)) / 2``.

    From Barron, "Squareplus: A Softplus-Like Algebraic Rectifier" (2021).

    Args:
      x: A tensor of floats.
      b: The smoothness at 0.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.squareplus([0.0, 1.5]).numpy()
      array([1., 2.], dtype=float32)
    """
    x = as_tensor(x)
    result: Tensor = (x + sqrt(square(x) + b)) / 2
    return result


def tanh_shrink(x: TensorLike) -> Tensor:
    """``x - tanh(x)``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.tanh_shrink([0.0, 1.0]).numpy()
      array([0.        , 0.23840582], dtype=float32)
    """
    x = as_tensor(x)
    result: Tensor = x - tanh(x)
    return result


def sigmoid(x: TensorLike) -> Tensor:
    """`nn.sigmoid`: ``1 / (1 + exp(-x))``, from 0 to 1.

    Cross-entropies of the result are computed from ``x``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.keras.activations.sigmoid([-1.0, 0.0, 1.0]).numpy()
      array([0.2689414, 0.5      , 0.7310586], dtype=float32)
    """
    x = as_tensor(x)
    return with_logits(_nn.sigmoid(x), x)


def softmax(x: TensorLike, axis: int | Sequence[int] | None = -1) -> Tensor:
    """`nn.softmax`: positive numbers that add up to 1.

    Cross-entropies of the result are computed from ``x``.

    Args:
      x: A tensor of floats.
      axis: The axes over which the results add up to 1; None for all axes.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats, or an axis is out of range.

    Example:
      >>> tf.keras.activations.softmax([0.0, 0.0]).numpy()
      array([0.5, 0.5], dtype=float32)
    """
    x = as_tensor(x)
    return with_logits(_apply_along(_softmax.softmax, x, axis), x)


def log_softmax(x: TensorLike, axis: int | Sequence[int] | None = -1) -> Tensor:
    """The logarithm of `softmax`.

    Args:
      x: A tensor of floats.
      axis: The axes over which the results add up to 1; None for all axes.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats, or an axis is out of range.

    Example:
      >>> tf.keras.activations.log_softmax([0.0, 0.0]).numpy()
      array([-0.6931472, -0.6931472], dtype=float32)
    """
    return _apply_along(_softmax.log_softmax, x, axis)


def _apply_along(
    function: Callable[..., Tensor], x: TensorLike, axis: int | Sequence[int] | None
) -> Tensor:
    """Apply `softmax` or `log_softmax` along one axis, several axes or all axes."""
    if isinstance(axis, list | tuple):
        if not axis:
            raise ValueError(f"`axis` names no axis. Received: axis={axis}")
        if len(axis) == 1:
            return function(x, axis[0])
        x = as_tensor(x)
        logs = x - reduce_logsumexp(x, list(axis), True)
        return logs if function is _softmax.log_softmax else exp(logs)
    if axis is not None:
        return function(x, axis)
    x = as_tensor(x)
    return reshape(function(reshape(x, (-1,))), x.shape)


__all__ = [
    "celu",
    "deserialize",
    "elu",
    "exponential",
    "gelu",
    "get",
    "glu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "selu",
    "serialize",
    "sigmoid",
    "silu",
    "soft_shrink",
    "softmax",
    "softplus",
    "softsign",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "squareplus",
    "swish",
    "tanh",
    "tanh_shrink",
    "threshold",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


def linear(x: _Value) -> _Value:
    """Return ``x`` unchanged: the default activation of layers.

    Args:
      x: Any value.

    Returns:
      ``x``.

    Example:
      >>> tf.keras.activations.linear([1.0, -1.0])
      [1.0, -1.0]
    """
    return x


hard_swish, swish = hard_silu, silu  # Keras's aliases


_NAMES = {
    name: globals()[name] for name in __all__ if name not in ("deserialize", "get", "serialize")
}


def get(identifier: ActivationLike) -> Callable[..., Any]:
    """Look up an activation function by name; None means `linear`.

    Args:
      identifier: A name such as ``"relu"``, a function, or None.

    Returns:
      A function of a tensor.

    Raises:
      ValueError: If the name is unknown.

    Example:
      >>> tf.keras.activations.get("tanh") is tf.tanh
      True
    """
    if identifier is None:
        return linear
    if isinstance(identifier, dict):
        return deserialize(identifier)
    result: Any = identifier
    if isinstance(identifier, str):
        result = get_registered_object(identifier, module_objects=_NAMES)
    if not callable(result):
        raise ValueError(
            f"Could not interpret activation function identifier: {identifier}."
            f"{nearest(identifier, _NAMES)} Known: {', '.join(_NAMES)}."
        )
    function: Callable[..., Any] = result
    return function


def serialize(activation: Callable[..., Any]) -> str | dict[str, Any]:
    """Return the name of an activation function, or the configuration of one's own.

    Args:
      activation: A function of this module, a function with a name, or an object with
        ``get_config``, such as a layer.

    Returns:
      A name, or a dict.

    Raises:
      ValueError: If the function has no name.

    Example:
      >>> tf.keras.activations.serialize(tf.keras.activations.swish)
      'silu'
    """
    for name, function in _NAMES.items():
        if function is activation and name != "hard_swish":
            return name
    name = getattr(activation, "__name__", "")
    if name in _NAMES and activation.__module__.startswith("numtape."):
        return name  # the op itself, such as ``tf.nn.relu``
    if hasattr(activation, "get_config") or name not in ("", "<lambda>"):
        config: dict[str, Any] = ClassRegistry.saving.serialize_keras_object(activation)
        return config
    raise ValueError(
        f"Unknown activation function: {activation!r}. Decorate a function of your own with "
        f"`@keras.saving.register_keras_serializable()`. Known: {', '.join(_NAMES)}."
    )


def deserialize(
    config: str | dict[str, Any], custom_objects: dict[str, Any] | None = None
) -> Callable[..., Any]:
    """Return the activation function with a given name or configuration.

    Args:
      config: The result of `serialize`.
      custom_objects: Functions, by name.

    Returns:
      A function of a tensor.

    Raises:
      ValueError: If the name is unknown.

    Example:
      >>> tf.keras.activations.deserialize("tanh") is tf.tanh
      True
    """
    if isinstance(config, dict):
        function: Callable[..., Any] = ClassRegistry.saving.deserialize_keras_object(
            config, custom_objects
        )
        return function
    return get((custom_objects or {}).get(config, config))
