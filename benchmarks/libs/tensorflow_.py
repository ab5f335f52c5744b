"""TensorFlow: eager, and the same functions under ``tf.function``."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import tensorflow as tf

from benchmarks.inputs import BenchmarkProgram, Chain, Data, Derivatives, Network
from benchmarks.libs import LibraryVariant, build, function_of

# A transformation of a function, such as ``tf.function``.
Made = Callable[[Callable[..., Any]], Callable[..., Any]]


def _as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _chain(data: Chain, created: Made) -> LibraryVariant:
    x = tf.constant(data.x)

    def gradient(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(data.length):
                y = tf.sin(y) * x
        return tape.gradient(y, x)

    called = created(gradient)
    return LibraryVariant(lambda: float(called(x)))


def _network(data: Network, created: Made) -> LibraryVariant:
    x, target = tf.constant(data.x), tf.constant(data.target)
    variables = [tf.Variable(w) for w in data.weights]
    *hidden, last = zip(variables[::2], variables[1::2], strict=True)
    activation = {"tanh": tf.tanh, "relu": tf.nn.relu}[data.activation]
    optimizer = tf.keras.optimizers.SGD(data.learning_rate)
    optimizer.build(variables)

    def loss_of(x: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        for kernel, bias in hidden:
            x = activation(x @ kernel + bias)
        out = x @ last[0] + last[1]
        if data.loss == "mean_squared_error":
            return tf.reduce_mean(tf.square(out - target))
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=out)
        )

    def update(x: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(x, target)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    called = created(update)
    return LibraryVariant(lambda: float(called(x, target)), lambda: [v.numpy() for v in variables])


OPS = SimpleNamespace(
    log=tf.math.log,
    sqrt=tf.sqrt,
    erf=tf.math.erf,
    exp=tf.exp,
    sin=tf.sin,
    tanh=tf.tanh,
    sum=tf.reduce_sum,
    mean=tf.reduce_mean,
    sigmoid=tf.sigmoid,
    relu=tf.nn.relu,
    solve=tf.linalg.solve,
    convolved=lambda x, filters: tf.nn.conv2d(x, filters, 1, "VALID"),
)


def _program(data: BenchmarkProgram, created: Made) -> LibraryVariant:
    inputs = [tf.constant(x) for x in data.inputs]
    constants = [tf.constant(x) for x in data.constants]
    f = function_of(data, OPS)

    def value_and_gradients(*inputs: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = f(*inputs, *constants)
        return [value, *tape.gradient(value, inputs)]

    called = created(value_and_gradients)
    return LibraryVariant(lambda: called(*inputs))


def _derivatives(data: Derivatives, created: Made) -> LibraryVariant:
    x, constants = tf.constant(data.x), [tf.constant(c) for c in data.constants]
    f = function_of(data, OPS)

    def gradient(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = f(x, *constants)
        return tape.gradient(value, x)

    def matrix(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = gradient(x) if data.kind == "hessian" else f(x, *constants)
        return tape.jacobian(y, x)

    called = created(matrix)
    return LibraryVariant(lambda: called(x))


BUILDERS = {Chain: _chain, Network: _network, BenchmarkProgram: _program, Derivatives: _derivatives}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    ways = {"TF eager": _as_written, "tf.function": tf.function}
    return {heading: build(data, BUILDERS, created) for heading, created in ways.items()}
