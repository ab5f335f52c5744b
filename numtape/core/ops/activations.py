"""Activations: what nets apply to each element.

What a rule chooses by `select` must be finite on both sides: its own derivative multiplies the
side that is not taken by 0.
"""

from __future__ import annotations

from typing import Any

from ..log.op import ELEMENTWISE, Op, defop
from ..log.record import Recorder, record
from ..log.tensors import as_tensor
from ..values import dtypes
from ..values.tensor import Tensor
from . import rules
from .define import binary_op, named, unary_op
from .elementwise import abs_, cast, exp, negative, select, zeros_of

sigmoid = unary_op("Sigmoid", "sigmoid(x)", lambda g, y, x: (g * (y * (1.0 - y)),),
    rules.analytic, doc="""
    ``1 / (1 + exp(-x))``, elementwise: from 0 to 1.

    >>> tf.sigmoid([-1.0, 0.0, 1.0]).numpy()
    array([0.2689414, 0.5      , 0.7310586], dtype=float32)
""")
softplus = unary_op(
    "Softplus", "select(x > 0, x, 0.0) + log1p(exp(-absolute(x)))",
    lambda g, y, x: (g * sigmoid(x),), argument="features", doc="""
    ``log(1 + exp(x))``, elementwise, without overflow: ``max(x, 0) + log1p(exp(-|x|))``.

    >>> tf.nn.softplus([-1.0, 0.0, 1000.0]).numpy()
    array([3.132617e-01, 6.931472e-01, 1.000000e+03], dtype=float32)
""")  # fmt: skip
relu = unary_op(
    "Relu", "select(x <= 0, 0, x)", lambda g, y, x: (relu_gate(g, y),), rules.real, "features",
    doc="""
    ``max(x, 0)``, elementwise. Its derivative at 0 is 0.

    >>> tf.nn.relu([-2.0, 0.0, 3.0]).numpy()
    array([0., 0., 3.], dtype=float32)
""")
# g where the output of relu was positive.
relu_gate: Recorder = binary_op(
    "ReluGrad", "select(y > 0, x, 0)", lambda g, z, x, y: (relu_gate(g, y), zeros_of(y)),
)  # fmt: skip
relu6 = unary_op(
    "Relu6", "select(x <= 0, 0, select(x >= 6, 6, x))",
    lambda g, y, x: (relu6_gate(g, y),), rules.real, "features", doc="""
    ``min(max(x, 0), 6)``, elementwise. Its derivative at 0 and at 6 is 0.

    From Krizhevsky, "Convolutional Deep Belief Networks on CIFAR-10" (2010).

    >>> tf.nn.relu6([-2.0, 3.0, 8.0]).numpy()
    array([0., 3., 6.], dtype=float32)
""")  # fmt: skip
relu6_gate: Recorder = binary_op(
    "Relu6Grad", "select((y > 0) & (y < 6), x, 0)",
    lambda g, z, x, y: (relu6_gate(g, y), zeros_of(y)),
)  # fmt: skip
elu = unary_op(
    "Elu", "select(x < 0, expm1(x), x)", lambda g, y, x: (g * exp(select(x < 0.0, x, 0.0)),),
    argument="features", doc="""
    ``x`` where positive, ``exp(x) - 1`` elsewhere.

    From Clevert, Unterthiner and Hochreiter, "Fast and Accurate Deep Network Learning by
    Exponential Linear Units" (2016).

    >>> tf.nn.elu([-1.0, 0.0, 2.0]).numpy()
    array([-0.63212055,  0.        ,  2.        ], dtype=float32)
""")  # fmt: skip
selu = unary_op(
    "Selu", "select(x < 0, 1.7580993408473766 * expm1(x), 1.0507009873554805 * x)",
    lambda g, y, x: (g * select(
        x < 0.0, 1.7580993408473766 * exp(select(x < 0.0, x, 0.0)), 1.0507009873554805
    ),), argument="features", doc="""
    ``s * x`` where positive, ``s * a * (exp(x) - 1)`` elsewhere.

    The constants s = 1.0507009873554805 and a = 1.6732632423543772 keep mean 0 and variance 1 from
    layer to layer: Klambauer, Unterthiner, Mayr and Hochreiter, "Self-Normalizing Neural Networks"
    (2017).

    >>> tf.nn.selu([-1.0, 0.0, 2.0]).numpy()
    array([-1.1113307,  0.       ,  2.101402 ], dtype=float32)
""")  # fmt: skip
softsign = unary_op(
    "Softsign", "x / (absolute(x) + 1.0)",
    lambda g, y, x: (g / (abs_(x) + 1.0) / (abs_(x) + 1.0),), argument="features", doc="""
    ``x / (1 + |x|)``, elementwise: from -1 to 1. It has derivatives of every order.

    >>> tf.nn.softsign([-1.0, 0.0, 3.0]).numpy()
    array([-0.5 ,  0.  ,  0.75], dtype=float32)
""")  # fmt: skip

# The slope y where z is not positive.
LEAKY_RELU = defop(
    "LeakyRelu", ELEMENTWISE, 2, rules.floating, body="select(x > 0, x, x * y)",
    vjp=lambda g, o, x, slope: (
        record(LEAKY_GATE, (g, slope, x)), select(x > 0.0, 0.0, g * x),
    ),
)  # fmt: skip
LEAKY_GATE: Op = defop(
    "LeakyReluGrad", ELEMENTWISE, 3, rules.floating, body="select(z > 0, x, x * y)",
    vjp=lambda h, o, g, slope, x: (
        record(LEAKY_GATE, (h, slope, x)), select(x > 0.0, 0.0, h * g), zeros_of(x),
    ),
)  # fmt: skip


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """``x`` where positive, ``alpha * x`` elsewhere. Its derivative at 0 is ``alpha``.

    From Maas, Hannun and Ng, "Rectifier Nonlinearities Improve Neural Network Acoustic Models"
    (2013).

    Args:
      features: A tensor of numbers; those that are no floats become float32.
      alpha: The slope where ``x`` is not positive: a number, or a scalar of the same dtype.
      name: Not used.

    Returns:
      A float tensor of the shape of ``features``.

    Raises:
      InvalidArgumentError: If ``alpha`` is of another dtype.

    Example:
      >>> tf.nn.leaky_relu([-10.0, 0.0, 10.0], 0.5).numpy()
      array([-5.,  0., 10.], dtype=float32)
    """
    x = as_tensor(features)
    if not x.dtype.is_floating:
        x = cast(x, dtypes.float32)
    return record(LEAKY_RELU, (x, alpha))


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``log(1 / (1 + exp(-x)))``, elementwise, without overflow: ``-softplus(-x)``.

    Args:
      x: A tensor, float32 or float64.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.math.log_sigmoid([-1000.0, 0.0]).numpy()
      array([-1.000000e+03, -6.931472e-01], dtype=float32)
    """
    return negative(softplus(negative(x)))


named(globals(), __name__)
