"""Replace one argument of a call by a bad one, for every row of the op table."""

import math
import signal

import numpy as np
import pytest
from op_draws import arity, draw


class Foreign:
    """A class that no function accepts."""

    def __repr__(self):
        return "Foreign()"


def refuses(*_):
    """A function that rejects all arguments."""
    raise ValueError("this function takes nothing")


def bad(tf):
    """Arguments that hardly any function accepts, by kind of defect."""
    with tf.GradientTape() as closed:
        pass
    return {
        "None": None,
        "a foreign object": Foreign(),
        "a class": Foreign,
        "text": "text",
        "an empty text": "",
        "a dict": {"a": 1},
        "a set": {1},
        "bytes": b"x",
        "a ragged list": [[1], [2, 3]],
        "an empty list": [],
        "a list of None": [None],
        "a list of texts": ["a", "b"],
        "NaN": math.nan,
        "infinity": math.inf,
        "minus one": -1,
        "a large negative": -(10**4),
        "a large int": 10**4,
        "a huge int": 10**30,
        "a float": 1.5,
        "a complex": 2j,
        "a bool": True,
        "objects": np.array([None, Foreign()]),
        "dates": np.array(["2020-01-01"], "datetime64[D]"),
        "names": np.array(["a", "b"]),
        "a vector": tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]),
        "ints": tf.constant([7, -7], tf.int64),
        "bools": tf.constant([True, False]),
        "nothing": tf.zeros((0, 3)),
        "many axes": tf.zeros((1,) * 7),
        "a closed tape": closed,
        "a function": refuses,
        "a module": math,
        "a slice": slice(None),
        "an ellipsis": ...,
        "a dtype": tf.float64,
        "a shape": tf.TensorShape([2, 3]),
        "a generator": (k for k in ()),
    }


class TooLong(Exception):
    """A call that does not return in time."""


@pytest.fixture
def limited():
    """Limit each call to ten seconds."""

    def late(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def row(tf, case, random):
    """A call of a row's function, and its arguments."""
    if case.elementwise:
        shapes, options = [(2, 3)] * arity(case), case.options[0]
    else:
        shapes, options = case.variants[random.integers(len(case.variants))]
    operands = draw(case, shapes, case.dtypes[0])
    return (
        lambda: (case.function(tf), [tf.constant(x) for x in operands], dict(options)),
        [*range(len(operands)), *options],
    )


def seeded(name):
    return np.random.default_rng(sum(map(ord, name)))


def others(tf):
    """Calls of functions that create, hold or differentiate tensors."""
    v = tf.Variable([1.0, 2.0])
    model = tf.keras.layers.Dense(2, kernel_initializer="zeros")  # avoids compiling
    model(tf.ones((1, 2)))
    optimizer = tf.keras.optimizers.SGD(0.1)
    return {
        "constant": (tf.constant, [[1.0, 2.0]], {"dtype": tf.float32, "shape": (2,)}),
        "convert_to_tensor": (tf.convert_to_tensor, [[1.0]], {"dtype": tf.float32}),
        "zeros": (tf.zeros, [(2, 3)], {"dtype": tf.float32}),
        "ones": (tf.ones, [(2, 3)], {"dtype": tf.float32}),
        "eye": (tf.eye, [2], {"num_columns": 3, "batch_shape": [2]}),
        "range": (tf.range, [1, 5, 2], {"dtype": tf.int32}),
        "fill": (tf.fill, [(2, 3), 1.0], {}),
        "shape": (tf.shape, [v], {"out_type": tf.int32}),
        "size": (tf.size, [v], {}),
        "rank": (tf.rank, [v], {}),
        "as_dtype": (tf.as_dtype, ["float32"], {}),
        "TensorShape": (tf.TensorShape, [[1, 2]], {}),
        "TensorSpec": (tf.TensorSpec, [[1, 2]], {"dtype": tf.float32}),
        "Variable": (tf.Variable, [[1.0, 2.0]], {"dtype": tf.float32, "name": "v"}),
        "assign": (v.assign, [[1.0, 2.0]], {}),
        "assign_add": (lambda x: tf.Variable([1.0, 2.0]).assign_add(x), [[1.0, 2.0]], {}),
        "random.normal": (tf.random.normal, [(2,)], {"mean": 0.0, "stddev": 1.0, "seed": 1}),
        "random.uniform": (tf.random.uniform, [(2,)], {"minval": 0.0, "maxval": 1.0}),
        "random.set_seed": (tf.random.set_seed, [3], {}),
        "watch": (lambda x: tf.GradientTape().__enter__().watch(x), [tf.constant(1.0)], {}),
        "nest.map_structure": (tf.nest.map_structure, [lambda x: x, [1, 2]], {}),
        "nest.pack_sequence_as": (tf.nest.pack_sequence_as, [[1, 2], [3, 4]], {}),
        "cond": (tf.cond, [True, lambda: 1.0, lambda: 2.0], {}),
        "while_loop": (tf.while_loop, [lambda x: x < 3, lambda x: (x + 1,), [0]], {}),
        "map_fn": (tf.map_fn, [lambda x: x * 2.0, tf.ones(3)], {}),
        "function": (lambda f: tf.function(f)(tf.ones(2)), [lambda x: x + 1.0], {}),
        "Dense": (
            lambda units, **more: tf.keras.layers.Dense(units, **more)(tf.ones((1, 2))),
            [3],
            {"activation": "relu", "use_bias": True, "kernel_initializer": "zeros"},
        ),
        "a layer": (model, [tf.ones((1, 2))], {}),
        "apply_gradients": (optimizer.apply_gradients, [[(tf.ones(2), v)]], {}),
        "SGD": (tf.keras.optimizers.SGD, [0.1], {"momentum": 0.5}),
        "Adam": (tf.keras.optimizers.Adam, [0.1], {"beta_1": 0.5, "epsilon": 1e-7}),
        "device": (lambda name: tf.device(name).__enter__(), ["/CPU:0"], {}),
        "Dataset": (lambda x: list(tf.data.Dataset.from_tensor_slices(x)), [[1, 2]], {}),
        "batch": (lambda n: list(tf.data.Dataset.range(5).batch(n)), [2], {}),
        "shuffle": (
            lambda n, **more: list(tf.data.Dataset.range(5).shuffle(n, **more)),
            [2],
            {"seed": 1},
        ),
        "getitem": (lambda x, key: x[key], [tf.ones((2, 3)), 1], {}),
    }
