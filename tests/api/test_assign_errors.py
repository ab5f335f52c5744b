"""Invalid values in assigns raise at the call and affect nothing else.

Each way to assign is called with each kind of value. Afterwards unrelated tensors can always be
evaluated. If the call raised, all variables are unchanged; otherwise they can be read.
"""

import numpy as np
import pytest

import numtape as tf

pytestmark = pytest.mark.numtape_only("numtape's own log")
K = tf.keras


class Model:
    """Variables and the objects that assign them, all built."""

    def __init__(self):
        self.v = tf.Variable([1.0, 2.0])
        self.w = tf.Variable([3.0, 4.0])
        self.adam, self.other = K.optimizers.Adam(), K.optimizers.Adam()
        self.sgd = K.optimizers.SGD()
        for optimizer in (self.adam, self.other, self.sgd):
            optimizer.build([self.v])
            optimizer.apply_gradients([(tf.constant([0.0, 0.0]), self.v)])
        self.dense = K.layers.Dense(2, use_bias=False)
        self.dense.build((None, 1))
        self.metric = K.metrics.Mean()
        self.metric.update_state([1.0, 2.0])
        self.step = tf.function(lambda x: self.v.assign_add(x))
        self.step(tf.constant([0.0, 0.0]))

    def variables(self):
        optimizers = self.adam, self.other, self.sgd
        of_optimizers = [v for optimizer in optimizers for v in optimizer.variables]
        return [self.v, self.w, *of_optimizers, *self.dense.weights, *self.metric.variables]


# Ways to assign: each takes a value for variable v, or for an object of its shape.
WAYS = {
    "assign": lambda m, x: m.v.assign(x),
    "assign_add": lambda m, x: m.v.assign_add(x),
    "assign_sub": lambda m, x: m.v.assign_sub(x),
    "slice": lambda m, x: m.v[:1].assign(x),
    "scatter_add": lambda m, x: m.v.scatter_add(x),
    "scatter_update": lambda m, x: m.v.scatter_update(tf.IndexedSlices(x, [0, 1])),
    "scatter_nd_update": lambda m, x: m.v.scatter_nd_update([[0], [1]], x),
    "scatter_nd_add at": lambda m, x: m.v.scatter_nd_add(x, [1.0, 2.0]),
    "apply_gradients": lambda m, x: m.adam.apply_gradients([(x, m.v)]),
    "apply_gradients of sgd": lambda m, x: m.sgd.apply_gradients([(x, m.v)]),
    "optimizer.apply": lambda m, x: m.sgd.apply([x], [m.v]),
    "optimizer.assign": lambda m, x: m.sgd.assign(m.v, x),
    "optimizer.set_weights": lambda m, x: m.adam.set_weights([*m.other.variables[:2], x, m.v]),
    "learning_rate": lambda m, x: setattr(m.adam, "learning_rate", x),
    "layer.set_weights": lambda m, x: m.dense.set_weights([x]),
    "kernel.assign": lambda m, x: m.dense.kernel.assign(x),
    "metric": lambda m, x: m.metric.update_state(x),
    "a replay": lambda m, x: m.step(x),
    "a map": lambda m, x: tf.map_fn(lambda y: m.v.assign(y), x),
}
VALUES = {
    "None": lambda m: None,
    "an object": lambda m: object(),
    "a string": lambda m: "ab",
    "a list with None": lambda m: [1.0, None],
    "a ragged list": lambda m: [[1.0], [1.0, 2.0]],
    "a function": lambda m: len,
    "a variable": lambda m: m.w,
    "the variable": lambda m: m.v,
    "a variable of another dtype": lambda m: tf.Variable([1, 2]),
    "a variable of another shape": lambda m: tf.Variable([1.0, 2.0, 3.0]),
    "another name of a variable": lambda m: m.w.assign([5.0, 6.0]),
    "another shape": lambda m: tf.ones([3, 3]),
    "another dtype": lambda m: tf.ones([2], tf.float64),
    "complex numbers": lambda m: tf.ones([2], tf.complex64),
    "bools": lambda m: [True, False],
    "NaN": lambda m: [np.nan, np.inf],
    "an array of objects": lambda m: np.array([None, 1], object),
    "indexed slices": lambda m: tf.IndexedSlices([1.0], [1]),
    "slices out of range": lambda m: tf.IndexedSlices([1.0], [7]),
    "a symbolic tensor": lambda m: K.Input((2,)),
    "a tf.function": lambda m: m.step,
    "an empty array": lambda m: np.zeros([0], "f4"),
    "a class": lambda m: tf.Tensor,
    "an error in __array__": lambda m: Raising(),
    "an optimizer": lambda m: m.adam,
}


class Raising:
    def __array__(self, dtype=None, copy=None):
        raise OSError("no array here")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore")
def test_a_bad_value_affects_nothing_else(way):
    for name, make in VALUES.items():
        model = Model()
        value = make(model)
        before = [np.array(v) for v in model.variables()]
        error = None
        try:
            WAYS[way](model, value)
        except Exception as raised:
            error = raised
        assert float(tf.constant(2.0) * 3.0) == 6.0, name
        after = [np.array(v) for v in model.variables()]
        if error is not None:
            assert not isinstance(error, AttributeError) or way == "learning_rate", (name, error)
            for x, y in zip(before, after, strict=True):
                np.testing.assert_array_equal(x, y, name)
        model.v.assign([7.0, 8.0])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(model.v * model.v)
        assert tape.gradient(y, model.v).numpy().tolist() == [14.0, 16.0], name


def test_weights_of_another_optimizer():
    model = Model()
    model.adam.apply_gradients([(tf.constant([1.0, 2.0]), model.v)])
    model.other.set_weights(model.adam.variables)
    values = [v.numpy().tolist() for v in model.adam.variables]
    assert [v.numpy().tolist() for v in model.other.variables] == values
    model.adam.apply_gradients([(tf.constant([1.0, 2.0]), model.v)])  # without shared state
    assert [v.numpy().tolist() for v in model.other.variables] == values
