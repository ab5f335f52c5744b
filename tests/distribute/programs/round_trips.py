"""Send objects to another process, and compare what they compute there and here, bit by bit.

Arguments: the start method of the process, and the module that pickles: pickle or cloudpickle.
Prints the names of the objects whose results differ, and the number of objects.
"""

import functools
import importlib
import math
import multiprocessing
import sys

import numpy as np

import numtape as nt
from numtape import keras

X = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
Y = X[:, :1]
DTYPES = "bool int8 int32 int64 uint8 float16 bfloat16 float32 float64 complex64 complex128"
weight = nt.Variable(3.0, name="weight")


@nt.function
def scaled(x):
    return nt.sin(weight * x)


@nt.function(input_signature=[nt.TensorSpec((None,), nt.float32)])
def signed(x):
    return x * x


@nt.function(jit_compile=True)
def branching(x):
    return x * 2.0 if x[0] > 0.0 else x * x


@nt.custom_gradient
def own_gradient(x):
    return x * x, lambda upstream: 5.0 * upstream


@nt.function
def calls_own_gradient(x):
    return own_gradient(x) + scaled(x)


recomputed = nt.recompute_grad(nt.math.softplus)


@nt.kernel
def root(x):
    return math.sqrt(x)


@root.vjp
def root_rule(g, y, x):
    return 7.0 * g


@nt.kernel
def norm(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * x[k]
    return root(total)


@nt.kernel
def pair(x):
    y = np.empty(2)
    y[0], y[1] = x[0] * x[1], x[2] * x[2]
    return y


class Scale(nt.Module):
    def __init__(self):
        super().__init__()
        self.factor = nt.Variable([2.0, 3.0], name="factor")

    @nt.function
    def __call__(self, x):
        return self.factor * x[:2]


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(4, "tanh")
        self.last = keras.layers.Dense(1)

    def call(self, x):
        return self.last(self.hidden(x))


def bits(*results):
    """Dtypes, shapes and bytes of tensors and arrays; other objects as text."""
    leaves = [x.numpy() if hasattr(x, "numpy") else x for x in nt.nest.flatten(results)]
    return [
        (str(x.dtype), x.shape, x.tobytes()) if hasattr(x, "tobytes") else repr(x) for x in leaves
    ]


# What is done with an object, here and in the other process.


def read(x):
    return bits(x)


def read_slices(slices):
    return bits(slices.values, slices.indices, slices.dense_shape)


def assign(variable):
    variable.assign_add(nt.ones_like(variable))
    return bits(variable, variable.trainable, variable.name)


def call(function):
    found = []
    for value in ([0.5, -1.0, 2.0], [1.5, 2.0, 3.0], [-0.5, 1.0, 0.0]):
        x = nt.constant(value)
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        found += [y, tape.gradient(y, x)]
    return bits(*found)


def call_kernel(kernel):
    return bits(kernel(np.array([0.5, -1.0, 2.0])))


def predict_and_fit(model):
    keras.utils.set_random_seed(3)
    found = [model.predict(X, verbose=0)]
    if model.optimizer is not None:
        found.append(model.fit(X, Y, batch_size=4, epochs=2, verbose=0).history["loss"])
    return bits(*found, *model.get_weights())


def step(optimizer_and_variables):
    optimizer, variables = optimizer_and_variables
    for _ in range(3):
        with nt.GradientTape() as tape:
            loss = sum(nt.reduce_sum(nt.square(v - 0.3)) for v in variables)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return bits(optimizer.iterations, *optimizer.variables, *variables)


def update_metric(metric):
    metric.update_state([1.0, 4.0])
    return bits(metric.result())


def optimizers():
    """Each optimizer, with variables and state."""
    for name in keras.optimizers.__all__:
        cls = getattr(keras.optimizers, name)
        if not (isinstance(cls, type) and issubclass(cls, keras.optimizers.Optimizer)):
            continue
        if cls is keras.optimizers.Optimizer:
            continue
        argument = {
            "LossScaleOptimizer": keras.optimizers.Adam(0.1),
            "MultiOptimizer": keras.optimizers.OptimizerMap(keras.optimizers.Adam(0.1)),
        }.get(name, 0.1)
        yield name, cls(argument)
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    yield "schedule", keras.optimizers.SGD(schedule, momentum=0.9, use_ema=True, clipnorm=1.0)


def models():
    dense = keras.layers.Dense
    yield (
        "sequential",
        keras.Sequential(
            [
                dense(4, "relu", kernel_regularizer="l2"),
                keras.layers.BatchNormalization(),
                keras.layers.Dropout(0.5, seed=1),
                dense(1, kernel_constraint=keras.constraints.MaxNorm(3.0)),
            ]
        ),
    )
    inputs = keras.Input((6,))
    yield "functional", keras.Model(inputs, dense(1)(dense(6, "tanh")(inputs) + inputs))
    yield "subclassed", Subclassed()
    recurrent = [keras.layers.Reshape((3, 2)), keras.layers.LSTM(3), dense(1)]
    yield "recurrent", keras.Sequential(recurrent)


def objects(by_value):
    """Names, objects and what is done with them.

    Args:
      by_value: Whether functions that cannot be imported can be sent.
    """
    for name in DTYPES.split():
        yield f"tensor of {name}", nt.cast(nt.constant([1.0, 0.0, 3.0]), name), read
    yield "scalar", nt.constant(1.5), read
    yield "empty tensor", nt.zeros((0, 3)), read
    yield "result", nt.sin(nt.constant(X)), read
    yield "NaN with its bits", nt.constant(np.array([0x7FC00001], np.int32).view(np.float32)), read
    slices = nt.IndexedSlices(nt.ones((1, 2)), nt.constant([1]), nt.constant([3, 2]))
    yield "slices", slices, read_slices
    yield "variable", nt.Variable(X, name="v"), assign
    yield "fixed variable", nt.Variable([1, 2], trainable=False, name="counts"), assign
    yield "float64 variable", nt.Variable(2.0, dtype=nt.float64), assign
    module = Scale()
    for function in (scaled, signed, branching, calls_own_gradient, own_gradient, recomputed):
        yield getattr(function, "__name__", repr(function)), function, call
    yield "module", module, call
    yield "method", module.__call__, call
    yield "partial", functools.partial(nt.add, nt.constant([1.0, 2.0, 3.0])), call
    called = Scale()
    call(called)
    yield "module whose function has recordings", called, call
    for function in (norm, nt.grad(norm), nt.value_and_grad(norm), nt.jacobian(pair)):
        yield repr(function), function, call_kernel
    if by_value:
        rate, shift = nt.Variable(0.5), 2.0

        @nt.kernel
        def local(x):
            return shift * x[0] * x[1]

        yield "lambda", nt.function(lambda x: rate * x + shift), call
        yield "plain lambda", lambda x: nt.exp(rate * x), call
        yield "lambda with its gradient", nt.recompute_grad(lambda x: nt.sin(rate * x)), call
        concrete = nt.function(lambda x: rate * x).get_concrete_function(nt.TensorSpec((3,)))
        yield "concrete function", concrete, call
        yield "local kernel", local, call_kernel
        yield "gradient of a local kernel", nt.grad(local), call_kernel
        yield (
            "model with a lambda",
            keras.Sequential([keras.layers.Lambda(lambda x: rate * x)]),
            predict_and_fit,
        )
    for name, model in models():
        if name != "subclassed":
            model.build((None, 6))
            yield f"{name}, not compiled", model, predict_and_fit
    for name, model in models():
        model.compile("adam", "mse", metrics=["mae"])
        model.fit(X, Y, batch_size=4, verbose=0)
        yield f"{name}, trained", model, predict_and_fit
    for name, optimizer in optimizers():
        variables = [nt.Variable(X), nt.Variable([1.0, 2.0])]
        step((optimizer, variables))
        yield f"optimizer {name}", (optimizer, variables), step
    metric = keras.metrics.Mean()
    update_metric(metric)
    yield "metric", metric, update_metric


def work(way, sent, use):
    """Use an object in the other process. Return the results, and the pickled object."""
    pickling = importlib.import_module(way)
    found = pickling.loads(sent)
    results = use(found)
    return results, pickling.dumps(found)


def main(method, way):
    pickling = importlib.import_module(way)
    keras.utils.set_random_seed(0)
    count = 0
    with multiprocessing.get_context(method).Pool(1) as pool:
        for name, x, use in objects(by_value=way == "cloudpickle"):
            count += 1
            try:
                results, returned = pool.apply(work, (way, pickling.dumps(x), use))
                if results != use(x):
                    print(f"{name}: differs there")
                elif use(pickling.loads(returned)) != use(x):
                    print(f"{name}: differs after its return")
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}")
    print(count, "objects")


if __name__ == "__main__":
    main(*sys.argv[1:])
