"""Activation functions of neural networks.

In derivative rules both operands of `select` must be finite, because the derivative multiplies the
operand that is not selected by 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, ELEMENTWISE, Op, defop
from ..log.record import Recorder, record
from ..values import dtypes
from ..values.composite import dispatches
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import rules
from .define import binary_op, name_functions, unary_op
from .elementwise import (
    abs_,
    cast,
    erfc,
    exp,
    gaussian,
    maximum,
    multiply_no_nan,
    negative,
    select,
    tanh,
    zeros_of,
)
from .joining import concat
from .movement import transpose
from .reduction import reduce_sum

if TYPE_CHECKING:
    from ..values.annotations import IntLike, TensorLike

Array = np.ndarray[Any, Any]

# The derivative of ``y = sigmoid(x)``, computed from x where y is near 1.
sigmoid_slope: Recorder = binary_op(
    "SigmoidSlope",
    "sigmoid_slope(x, y)",
    lambda g, z, x, y: (negative(g * z * tanh(0.5 * x)), None),
    rules.analytic,
)
sigmoid = unary_op(
    "Sigmoid",
    "sigmoid(x)",
    lambda g, y, x: (g * sigmoid_slope(x, y),),
    rules.analytic,
    doc="""
    ``1 / (1 + exp(-x))``, elementwise: from 0 to 1.

    >>> tf.sigmoid([-1.0, 0.0, 1.0]).numpy()
    array([0.2689414, 0.5      , 0.7310586], dtype=float32)
""",
)
softplus = unary_op(
    "Softplus",
    "select(x > 0, x, 0.0) + log1p(exp(-absolute(x)))",
    lambda g, y, x: (g * sigmoid(x),),
    argument="features",
    doc="""
    ``log(1 + exp(x))``, elementwise, without overflow: ``max(x, 0) + log1p(exp(-|x|))``.

    >>> tf.nn.softplus([-1.0, 0.0, 1000.0]).numpy()
    array([3.132617e-01, 6.931472e-01, 1.000000e+03], dtype=float32)
""",
)
relu = unary_op(
    "Relu",
    "select(x <= 0, 0, x)",
    lambda g, y, x: (relu_gate(g, y),),
    rules.real,
    "features",
    doc="""
    ``max(x, 0)``, elementwise. Its derivative at 0 is 0.

    >>> tf.nn.relu([-2.0, 0.0, 3.0]).numpy()
    array([0., 0., 3.], dtype=float32)
""",
)
# g where the result of relu is positive, else 0.
relu_gate: Recorder = binary_op(
    "ReluGrad",
    "select(y > 0, x, 0)",
    lambda g, z, x, y: (relu_gate(g, y), zeros_of(y)),
)
relu6 = unary_op(
    "Relu6",
    "select(x <= 0, 0, select(x >= 6, 6, x))",
    lambda g, y, x: (relu6_gate(g, y),),
    rules.real,
    "features",
    doc="""
    ``min(max(x, 0), 6)``, elementwise. Its derivative at 0 and at 6 is 0.

    From Krizhevsky, "Convolutional Deep Belief Networks on CIFAR-10" (2010).

    >>> tf.nn.relu6([-2.0, 3.0, 8.0]).numpy()
    array([0., 3., 6.], dtype=float32)
""",
)
relu6_gate: Recorder = binary_op(
    "Relu6Grad",
    "select((y > 0) & (y < 6), x, 0)",
    lambda g, z, x, y: (relu6_gate(g, y), zeros_of(y)),
)
elu = unary_op(
    "Elu",
    "select(x < 0, expm1(x), x)",
    lambda g, y, x: (g * exp(select(x < 0.0, x, 0.0)),),
    argument="features",
    doc="""
    ``x`` where positive, ``exp(x) - 1`` elsewhere.

    From Clevert, Unterthiner and Hochreiter, "Fast and Accurate Deep Network Learning by
    Exponential Linear Units" (2016).

    >>> tf.nn.elu([-1.0, 0.0, 2.0]).numpy()
    array([-0.63212055,  0.        ,  2.        ], dtype=float32)
""",
)
selu = unary_op(
    "Selu",
    "select(x < 0, 1.7580993408473766 * expm1(x), 1.0507009873554805 * x)",
    lambda g, y, x: (
        g * select(x < 0.0, 1.7580993408473766 * exp(select(x < 0.0, x, 0.0)), 1.0507009873554805),
    ),
    argument="features",
    doc="""
    ``s * x`` where positive, ``s * a * (exp(x) - 1)`` elsewhere.

    The constants s = 1.0507009873554805 and a = 1.6732632423543772 keep mean 0 and variance 1 from
    layer to layer: Klambauer, Unterthiner, Mayr and Hochreiter, "Self-Normalizing Neural Networks"
    (2017).

    >>> tf.nn.selu([-1.0, 0.0, 2.0]).numpy()
    array([-1.1113307,  0.       ,  2.101402 ], dtype=float32)
""",
)
softsign = unary_op(
    "Softsign",
    "x / (absolute(x) + 1.0)",
    lambda g, y, x: (g / (abs_(x) + 1.0) / (abs_(x) + 1.0),),
    argument="features",
    doc="""
    ``x / (1 + |x|)``, elementwise: from -1 to 1. It has derivatives of every order.

    >>> tf.nn.softsign([-1.0, 0.0, 3.0]).numpy()
    array([-0.5 ,  0.  ,  0.75], dtype=float32)
""",
)

# The second operand is the slope for elements that are not positive.
LEAKY_RELU = defop(
    "LeakyRelu",
    ELEMENTWISE,
    2,
    rules.floating,
    body="select(x > 0, x, x * y)",
    vjp=lambda g, o, x, slope: (
        record(LEAKY_GATE, (g, slope, x)),
        select(x > 0.0, 0.0, g * x),
    ),
)
LEAKY_GATE: Op = defop(
    "LeakyReluGrad",
    ELEMENTWISE,
    3,
    rules.floating,
    body="select(z > 0, x, x * y)",
    vjp=lambda h, o, g, slope, x: (
        record(LEAKY_GATE, (h, slope, x)),
        select(x > 0.0, 0.0, h * g),
        zeros_of(x),
    ),
)


@dispatches
def leaky_relu(features: TensorLike, alpha: TensorLike = 0.2, name: str | None = None) -> Tensor:
    """``x`` where positive, ``alpha * x`` elsewhere. Its derivative at 0 is ``alpha``.

    From Maas, Hannun and Ng, "Rectifier Nonlinearities Improve Neural Network Acoustic Models"
    (2013).

    Args:
      features: A tensor of numbers; integers are cast to float32.
      alpha: The slope where ``x`` is not positive: a number, or a scalar of the same dtype.
      name: Not used.

    Returns:
      A float tensor of the shape of ``features``.

    Raises:
      InvalidArgumentError: If ``alpha`` is a tensor of another dtype.

    Example:
      >>> tf.nn.leaky_relu([-10.0, 0.0, 10.0], 0.5).numpy()
      array([-5.,  0., 10.], dtype=float32)
    """
    x = as_tensor(features)
    if not x.dtype.is_floating:
        x = cast(x, dtypes.float32)
    return record(LEAKY_RELU, (x, alpha))


@dispatches
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """``log(1 / (1 + exp(-x)))``, elementwise, without overflow: ``-softplus(-x)``.

    Args:
      x: A tensor of floats.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.math.log_sigmoid([-1000.0, 0.0]).numpy()
      array([-1.000000e+03, -6.931472e-01], dtype=float32)
    """
    return negative(softplus(negative(x)))


_silu = unary_op(
    "Silu",
    "x * sigmoid(x)",
    lambda g, y, x: (g * (sigmoid(x) + multiply_no_nan(x, sigmoid_slope(x, sigmoid(x)))),),
)


@dispatches
def silu(features: TensorLike, beta: TensorLike = 1.0) -> Tensor:
    """``x * sigmoid(beta * x)``, elementwise: also called swish.

    From Ramachandran, Zoph and Le, "Searching for Activation Functions" (2017).

    Args:
      features: A tensor of floats.
      beta: A number, or a tensor that broadcasts with ``features``; gradients reach it.

    Returns:
      A tensor of the shape and dtype of ``features``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.nn.silu([-1.0, 0.0, 2.0]).numpy()
      array([-0.26894143,  0.        ,  1.7615942 ], dtype=float32)
    """
    if type(beta) is float and beta == 1.0:
        return _silu(features)
    x = as_tensor(features)
    return x * sigmoid(cast(beta, x.dtype) * x)


def _gelu_vjp(g: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
    probability = 0.5 * erfc(-_SQRT_HALF * x)
    density = gaussian(_SQRT_HALF * x) * (1 / math.sqrt(2 * math.pi))
    return (g * (probability + x * density),)


_SQRT_HALF = math.sqrt(0.5)
_gelu = unary_op("Gelu", "0.5 * x * erfc(x * -0.7071067811865476)", _gelu_vjp)


@dispatches
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """``x`` times the probability that a normal number is less than ``x``, elementwise.

    From Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016).

    Args:
      features: A tensor of floats.
      approximate: Whether to compute
        ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))``, an approximation with an
        error of at most 0.0005.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``features``.

    Raises:
      ValueError: If the elements are not floats.

    Example:
      >>> tf.nn.gelu([-1.0, 0.0, 2.0]).numpy()
      array([-0.15865526,  0.        ,  1.9544997 ], dtype=float32)
      >>> tf.nn.gelu([-1.0, 0.0, 2.0], approximate=True).numpy()
      array([-0.158808 ,  0.       ,  1.9545977], dtype=float32)
    """
    x = as_tensor(features)
    if not x.dtype.is_floating:
        raise ValueError(
            f"`features.dtype` must be a floating point tensor. Received: features.dtype={x.dtype}"
        )
    if not approximate:
        return _gelu(x)
    # 1 + tanh(z) is 2 * sigmoid(2 * z), which is accurate where the sum is small.
    return x * sigmoid(1.5957691216057308 * (x + 0.044715 * (x * x * x)))


@dispatches
def crelu(features: TensorLike, axis: IntLike = -1, name: str | None = None) -> Tensor:
    """`relu` of ``x`` and of ``-x``, concatenated along an axis.

    From Shang, Sohn, Almeida and Lee, "Understanding and Improving Convolutional Neural Networks
    via Concatenated Rectified Linear Units" (2016).

    Args:
      features: A tensor of numbers, of rank 1 or more.
      axis: The axis to concatenate along.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If there is no such axis.

    Example:
      >>> tf.nn.crelu([1.0, -2.0]).numpy()
      array([1., 0., 0., 2.], dtype=float32)
    """
    x = as_tensor(features)
    return concat([relu(x), relu(negative(x))], axis)


# The threshold that `sparsemax` subtracts from each element, along the last axis.


def _threshold_spec(op: Op, x: Spec) -> Spec:
    result = rules.floating(op, x)
    return intern((*result.shape[:-1], 1), result.dtype)


def _threshold(out: Array, x: Array) -> None:
    if not x.size:
        out[...] = np.nan
        return
    ordered = -np.sort(-x, -1)
    counts = np.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    levels = (np.cumsum(ordered, -1, dtype=x.dtype) - 1) / counts
    inside = np.sum(ordered > levels, -1, keepdims=True)
    out[...] = np.take_along_axis(levels, np.maximum(inside - 1, 0), -1)
    out[(inside == 0) | np.isnan(x).any(-1, keepdims=True)] = np.nan


def _threshold_vjp(g: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
    inside = cast(x > y, x.dtype)
    return (g * inside / reduce_sum(inside, -1, True),)


THRESHOLD = defop(
    "SparsemaxThreshold",
    ARRAY,
    1,
    _threshold_spec,
    compute=_threshold,
    vjp=_threshold_vjp,
    on_host=True,
)


def sparsemax(x: TensorLike, axis: int = -1) -> Tensor:
    """Project onto the probability simplex along an axis: like `softmax`, with exact zeros.

    From Martins and Astudillo, "From Softmax to Sparsemax" (2016).

    Args:
      x: A tensor of floats, of rank 1 or more.
      axis: The axis along which the results add up to 1.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.
      ValueError: If there is no such axis.

    Example:
      >>> tf.keras.activations.sparsemax([[0.5, 1.0, -1.0]]).numpy()
      array([[0.25, 0.75, 0.  ]], dtype=float32)
    """
    x = as_tensor(x)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"sparsemax: axis {axis} is out of range for a tensor of shape {x.shape}.")
    order = list(range(x.ndim))
    order[axis], order[-1] = order[-1], order[axis]
    moved = transpose(x, order) if order[-1] != x.ndim - 1 else x
    result: Tensor = maximum(moved - record(THRESHOLD, (moved,)), 0.0)
    return result if moved is x else transpose(result, order)


name_functions(globals(), __name__)
