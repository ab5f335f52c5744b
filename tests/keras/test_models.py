"""Models: layers' calls, Sequential, functional and subclassed models, and their summaries.

They also run on TensorFlow: ``--against tensorflow``.
"""

import copy
import threading

import numpy as np
import pytest

X = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(3, 4)


def same(found, wanted, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), tolerance, tolerance)


# --- Layers' calls --------------------------------------------------------------------------------


@pytest.fixture
def noting(tf):
    class Noting(tf.keras.layers.Layer):
        """A layer that records the `training` argument."""

        def call(self, x, training=None):
            self.told = training
            return x

    return Noting


@pytest.fixture
def outer(tf, noting):
    class Outer(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = noting()

        def call(self, x):
            return self.inner(x)

    return Outer


@pytest.mark.parametrize(
    ("given", "told"),
    [({}, (None, False)), ({"training": True}, (True,)), ({"training": False}, (False,))],
)
def test_training_is_inherited(tf, outer, given, told):
    layer = outer()
    layer(tf.constant(X), **given)
    assert layer.inner.told in told


def test_the_next_call_inherits_nothing(tf, outer):
    layer = outer()
    layer(tf.constant(X), training=True)
    layer(tf.constant(X))
    assert not layer.inner.told


def test_an_error_in_a_call_ends_what_it_told(tf, outer):
    class Failing(outer):
        def call(self, x):
            super().call(x)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Failing()(tf.constant(X), training=True)
    layer = outer()
    layer(tf.constant(X))
    assert not layer.inner.told


def test_threads_inherit_nothing_from_one_another(tf, noting):
    inner, found = noting(), []

    class Starting(tf.keras.layers.Layer):
        def call(self, x):
            def run():
                inner(tf.constant(X))
                found.append(inner.told)

            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            return x

    Starting()(tf.constant(X), training=True)
    assert not found[0]


@pytest.mark.numtape_only(reason="TensorFlow's functions know nothing of layers")
def test_a_function_within_a_layer_is_recorded_for_each_mode(tf):
    class Dropping(tf.keras.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Doubling()

        @tf.function
        def call(self, x):
            return self.inner(x)

    class Doubling(tf.keras.Layer):
        def call(self, x, training=None):
            return 2.0 * x if training else x

    layer, x = Dropping(), tf.constant([1.0])
    for _ in range(3):
        assert layer(x, training=True).numpy() == 2.0
        assert layer(x).numpy() == 1.0


def test_several_inputs_and_their_shapes(tf):
    class Joined(tf.keras.layers.Layer):
        def build(self, first_shape, second_shape):
            self.shapes = first_shape, second_shape

        def call(self, first, second=None):
            return first if second is None else first + second

    layer = Joined()
    same(layer(tf.constant(X), second=tf.constant(X)), 2 * X)
    assert [tuple(shape) for shape in layer.shapes] == [(3, 4), (3, 4)]

    class Listed(tf.keras.layers.Layer):
        def build(self, input_shape):
            self.shapes = input_shape

        def call(self, inputs):
            return inputs[0] + inputs[1]

    layer = Listed()
    same(layer([tf.constant(X), tf.constant(X)]), 2 * X)
    assert [tuple(shape) for shape in layer.shapes] == [(3, 4), (3, 4)]


@pytest.mark.parametrize("value", [1.0, "text", [[1.0, 2.0]]])
def test_only_tensors_are_given_by_position(tf, value):
    with pytest.raises(ValueError, match="Only input tensors may be passed as positional"):
        tf.keras.layers.Dense(2)(value)


def test_floats_are_cast_and_integers_are_not(tf, noting):
    assert noting()(X.astype(np.float64)).dtype == tf.float32
    assert noting()(np.arange(3, dtype=np.int64)).dtype == tf.int64
    assert noting(dtype="float64")(X).dtype == tf.float64


def test_losses_of_calls_and_of_regularizers(tf):
    class Losing(tf.keras.layers.Layer):
        def call(self, x):
            self.add_loss(tf.reduce_sum(x * x))
            return x

    dense = tf.keras.layers.Dense(
        2, kernel_initializer="ones", kernel_regularizer=tf.keras.regularizers.L2(0.5)
    )
    model = tf.keras.Sequential([Losing(), dense, Losing()])
    for _ in range(2):  # losses of an earlier call are dropped
        y = model(tf.constant(X))
    wanted = [np.sum(X**2), np.sum(np.square(y)), 0.5 * 8]
    same([float(loss) for loss in model.losses], wanted, 1e-5)


def test_losses_and_activity_in_a_function(tf):
    layer = tf.keras.layers.Dense(2, kernel_initializer="ones", activity_regularizer="l2")

    @tf.function
    def loss(x):
        y = layer(x)
        return tf.reduce_sum(y) + layer.losses[0]

    x = tf.constant(X)
    y = np.sum(X, -1, keepdims=True) * np.ones((1, 2))
    for _ in range(3):
        same(loss(x), np.sum(y) + 0.01 * np.sum(y**2) / 3, 1e-5)


def test_masks_go_along(tf):
    class Masked(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.supports_masking = True

        def call(self, x, mask=None):
            self.mask = mask
            return x

    embedding = tf.keras.layers.Embedding(5, 2, mask_zero=True)
    passing, last = tf.keras.layers.Dense(3), Masked()
    last(passing(embedding(tf.constant([[1, 0, 2]]))))
    assert np.asarray(last.mask).tolist() == [[True, False, True]]
    last(tf.constant(X))
    assert last.mask is None


def test_weights_are_ordered_and_nested(tf):
    class Both(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = {"b": tf.keras.layers.Dense(2, name="b")}
            self.last = [tf.keras.layers.Dense(1, name="a")]

        def build(self, shape):
            self.fixed = self.add_weight(shape=(2,), trainable=False, name="fixed")
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

        def call(self, x):
            return self.last[0](self.parts["b"](x)) * self.scale

    layer = Both()
    layer(tf.constant(X))
    names = ["scale", "fixed", "kernel", "bias", "kernel", "bias"]
    assert [v.name for v in layer.weights] == names
    assert [v.name for v in layer.trainable_weights] == [n for n in names if n != "fixed"]
    assert [v.name for v in layer.non_trainable_weights] == ["fixed"]
    assert layer.count_params() == 1 + 2 + 10 + 3
    layer.last[0].trainable = False
    assert len(layer.trainable_weights) == 3
    layer.trainable = False
    assert layer.trainable_weights == []
    assert not layer.parts["b"].trainable
    layer.trainable = True
    assert len(layer.trainable_weights) == 5
    values = [np.full(v.shape, k, np.float32) for k, v in enumerate(layer.weights)]
    layer.set_weights(values)
    for found, wanted in zip(layer.get_weights(), values, strict=True):
        same(found, wanted)
    with pytest.raises(ValueError, match="weight list of length 1"):
        layer.set_weights(values[:1])
    with pytest.raises(ValueError, match="is not compatible with provided weight"):
        layer.set_weights([*values[:-1], np.ones(7)])
    same(layer.get_weights()[0], 0.0)


def test_paths_are_of_the_layers_that_a_layer_was_built_in(tf):
    layers, keras = tf.keras.layers, tf.keras

    class Own(keras.Model):
        def __init__(self):
            super().__init__(name="own")
            self.first = layers.Dense(2, name="first")
            self.inner = keras.Sequential([layers.Dense(1, name="last")], name="inner")

        def call(self, x):
            return self.inner(self.first(x))

    own, inputs = Own(), keras.Input((3,))
    own(tf.constant(X))
    assert [v.path for v in own.weights] == [
        "own/first/kernel",
        "own/first/bias",
        "own/inner/last/kernel",
        "own/inner/last/bias",
    ]
    graph = keras.Model(inputs, layers.Dense(1, name="dense")(inputs), name="graph")
    assert [v.path for v in graph.weights] == ["dense/kernel", "dense/bias"]
    both = layers.Bidirectional(layers.SimpleRNN(2, name="rnn"), name="both")
    chain = keras.Sequential([keras.Input((3, 2)), both], name="chain")
    paths = [v.path for v in chain.weights]
    assert paths[0] == "chain/both/forward_rnn/simple_rnn_cell/kernel"
    assert paths[3] == "chain/both/backward_rnn/simple_rnn_cell/kernel"
    chain.add(layers.Dense(1, name="head"))
    assert chain.layers[-1].kernel.path == "chain/head/kernel"
    assert chain.layers[-1].path == "chain/head"
    optimizer = keras.optimizers.Adam(name="adam")
    optimizer.build(own.trainable_variables[:1])
    assert [v.path for v in optimizer.variables] == [
        "adam/iteration",
        "adam/learning_rate",
        "adam/own_first_kernel_momentum",
        "adam/own_first_kernel_velocity",
    ]


@pytest.mark.numtape_only("Keras 3 leaves it as it is")
def test_a_variable_in_an_attribute_is_a_weight_and_is_trained(tf):
    class Line(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.slope, self.parts = tf.Variable(0.0), {"offset": tf.Variable(0.0)}

        def call(self, x):
            return self.slope * x + self.parts["offset"]

    model = Line()
    model.compile("sgd", "mse")
    model.fit(X[:, :1], 3.0 * X[:, :1], epochs=2, verbose=0)
    assert len(model.weights) == 2 and model.slope.numpy() != 0


@pytest.mark.numtape_only("Keras says less")
def test_reprs_say_what_they_hold(tf):
    layers = tf.keras.layers
    assert repr(layers.Conv2D(4, (3, 2), padding="same", activation=tf.nn.relu, name="c")) == (
        "<Conv2D name=c, filters=4, kernel_size=(3, 2), padding=same, activation=relu, built=False>"
    )
    both = layers.Bidirectional(layers.GRU(2, name="gru"), name="both")
    assert repr(both) == "<Bidirectional name=both, layer=gru, built=False>"
    again = layers.Dense.from_config(layers.Dense(3, name="d").get_config())
    assert repr(again) == "<Dense name=d, units=3, built=False>"

    class Own(layers.Layer):
        def __init__(self, size, start=None, **kwargs):
            super().__init__(**kwargs)

    assert repr(Own(5, start=np.ones(2), name="own")) == "<Own name=own, size=5, built=False>"
    others = [layers.Dense(1, name=f"d{k}") for k in range(5)]
    model = tf.keras.Sequential([again, *others], name="m")
    assert repr(model) == "<Sequential name=m, layers=[d, d0, d1, d2 and 2 more], built=False>"
    assert repr(tf.keras.optimizers.SGD(0.5, name="sgd")) == (
        "<SGD name=sgd, learning_rate=0.5, iterations=0>"
    )


def test_layers_say_what_they_are(tf):
    dense = tf.keras.layers.Dense(2, name="mine")
    if tf.__name__ == "numtape":
        assert repr(dense) == "<Dense name=mine, units=2, built=False>"
    with pytest.raises(ValueError, match="isn't built"):
        dense.count_params()
    dense(tf.constant(X))
    if tf.__name__ == "numtape":
        assert repr(dense) == "<Dense name=mine, units=2, built=True, kernel=(4, 2), bias=(2,)>"
    with pytest.raises(ValueError, match=r"expected min_ndim=2, found ndim=1"):
        dense(tf.constant([1.0]))
    with pytest.raises(ValueError, match=r"expected axis -1 of input shape to have value 4"):
        dense(tf.ones((2, 3)))
    with pytest.raises(ValueError, match="cannot contain character"):
        tf.keras.layers.Dense(2, name="a/b")
    with pytest.raises(ValueError, match="Unrecognized keyword arguments"):
        tf.keras.layers.Dense(2, color="red")
    with pytest.raises(ValueError, match="Expected `trainable` to be a boolean"):
        tf.keras.layers.Dense(2, trainable=3)

    class Forgetful(tf.keras.layers.Layer):
        def __init__(self):
            pass

    with pytest.raises(RuntimeError, match="forgot to call `super"):
        Forgetful()(tf.constant(X))


def test_configurations_of_own_classes(tf):
    class Scaled(tf.keras.layers.Layer):
        def __init__(self, factor, **kwargs):
            super().__init__(**kwargs)
            self.factor = factor

        def call(self, x):
            return self.factor * x

    again = Scaled.from_config(Scaled(3.0, name="scaled").get_config())
    assert (again.factor, again.name) == (3.0, "scaled")
    with pytest.raises(NotImplementedError, match="must override `get_config"):
        Scaled(object()).get_config()


# --- Models ---------------------------------------------------------------------------------------


def weights(count, *shapes):
    values = np.random.default_rng(count)
    return [values.normal(size=shape).astype(np.float32) for shape in shapes]


def test_sequential(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(3, "relu"), layers.Dense(2, name="last")])
    assert not model.built
    kernels = weights(1, (4, 3), (3,), (3, 2), (2,))
    model.build((None, 4))
    model.set_weights(kernels)
    a, b, c, d = kernels
    same(model(tf.constant(X)), np.maximum(X @ a + b, 0) @ c + d)
    assert model.output_shape == (None, 2)
    assert model.get_layer("last") is model.layers[-1] is model.get_layer(index=1)
    part = tf.keras.Model(model.inputs[0], model.layers[0].output)
    same(part(tf.constant(X)), np.maximum(X @ a + b, 0))
    last = model.pop()
    assert model.output_shape == (None, 3)
    model.add(last)
    assert len(model.weights) == 4
    same(model(tf.constant(X)), np.maximum(X @ a + b, 0) @ c + d)
    with pytest.raises(ValueError, match="should have unique names"):
        model.add(layers.Dense(2, name="last"))
    with pytest.raises(ValueError, match=r"Only instances of `keras.Layer`"):
        model.add(lambda x: x)
    with pytest.raises(ValueError, match="No such layer: none"):
        model.get_layer("none")
    assert len(model.layers) == 2


def test_input_first_makes_the_variables(tf):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
    assert model.built
    assert model.count_params() == 15
    assert (model.input_shape, model.output_shape) == ((None, 4), (None, 3))
    with pytest.raises(ValueError, match="cannot be built because it has no layers"):
        tf.keras.Sequential().build((None, 3))


def functional(tf):
    """Two inputs, a shared layer, operators, a slice and two outputs."""
    layers = tf.keras.layers
    a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((4,), name="b")
    shared = layers.Dense(3, "tanh", name="shared")
    x, y = shared(a), shared(b)
    joined = layers.Concatenate(name="joined")([x, y * 2.0 - 1.0])
    outputs = [layers.Dense(2, name="first")(joined), layers.Dense(1, name="second")(joined[:, :2])]
    return tf.keras.Model([a, b], outputs, name="whole"), weights(
        2, (4, 3), (3,), (6, 2), (2,), (2, 1), (1,)
    )


def test_functional(tf):
    model, (k, c, k1, c1, k2, c2) = functional(tf)
    model.set_weights([k, c, k1, c1, k2, c2])
    other = X[::-1].copy()
    joined = np.concatenate([np.tanh(X @ k + c), 2 * np.tanh(other @ k + c) - 1], -1)
    wanted = [joined @ k1 + c1, joined[:, :2] @ k2 + c2]
    tensors = tf.constant(X), tf.constant(other)
    for inputs in (list(tensors), dict(zip("ab", tensors, strict=True))):
        for found, value in zip(model(inputs), wanted, strict=True):
            same(found, value)
    names = [layer.name for layer in model.layers]
    assert names == ["a", "b", "shared", "joined", "first", "second"]
    assert model.output_names == ["first", "second"]
    assert model.input_shape == [(None, 4), (None, 4)]


def test_models_in_models_and_dicts_of_outputs(tf):
    inner = tf.keras.Sequential([tf.keras.layers.Dense(3), tf.keras.layers.Dense(2)])
    x = tf.keras.Input((4,))
    y = inner(x)
    model = tf.keras.Model(x, {"once": y, "twice": tf.keras.layers.Add()([y, y])})
    found = model(tf.constant(X))
    same(found["twice"], 2 * np.asarray(found["once"]))
    same(found["once"], inner(tf.constant(X)))
    assert len(model.weights) == 4
    first, second = model.output_names
    assert (first, second) == ("once", "twice") or (first == inner.name and "add" in second)


def test_own_layers_in_a_graph(tf):
    class Halved(tf.keras.layers.Layer):
        def call(self, x):
            return tf.reshape(x, (-1, 2, 2))

    x = tf.keras.Input((4,))
    y = Halved()(x)
    assert y.shape == (None, 2, 2)
    same(tf.keras.Model(x, y)(tf.constant(X)), X.reshape(3, 2, 2))


def test_graphs_that_are_not_connected(tf):
    a, b = tf.keras.Input((4,)), tf.keras.Input((4,))
    y = tf.keras.layers.Add()([a, b])
    with pytest.raises(ValueError, match=r"cannot find parent|not connected"):
        tf.keras.Model(a, y)
    with pytest.raises(ValueError, match="KerasTensor"):
        tf.keras.Model(a, tf.constant(X))


def test_symbolic_tensors_are_no_values(tf):
    x = tf.keras.Input((4,))
    with pytest.raises(ValueError, match="KerasTensor"):
        tf.sin(x)
    with pytest.raises((ValueError, TypeError), match="KerasTensor"):
        np.asarray(x)
    with pytest.raises(TypeError):
        bool(x > 0)
    with pytest.raises(NotImplementedError):
        iter(x)


@pytest.fixture
def subclassed(tf):
    class Net(tf.keras.Model):
        def __init__(self, units=3):
            super().__init__()
            self.first = tf.keras.layers.Dense(units, "relu")
            self.drop = tf.keras.layers.Dropout(0.5)
            self.last = tf.keras.layers.Dense(1)

        def call(self, x, training=False):
            return self.last(self.drop(self.first(x), training=training))

    return Net


def test_subclassed(tf, subclassed):
    model = subclassed()
    x = tf.constant(X)
    y = model(x)
    assert len(model.weights) == 4
    assert [layer.name.partition("_")[0] for layer in model.layers] == ["dense", "dropout", "dense"]
    a, b, c, d = model.get_weights()
    same(y, np.maximum(X @ a + b, 0) @ c + d)


@pytest.mark.numtape_only(reason="Keras makes no variables then")
def test_subclassed_built_by_a_shape(tf, subclassed):
    model, built = subclassed(), subclassed()
    model(tf.constant(X))
    built.build((None, 4))
    assert built.count_params() == model.count_params() == 19


@pytest.mark.numtape_only(reason="a copy of a Keras model shares nothing, but loses its build")
def test_copies_are_others(tf, subclassed):
    model = subclassed()
    y = model(tf.constant(X))
    other = copy.deepcopy(model)
    same(other(tf.constant(X)), y)
    other.set_weights([0 * w for w in other.get_weights()])
    same(model(tf.constant(X)), y)


def test_summary_of_a_chain(tf):
    model = tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            tf.keras.layers.Dense(300, name="a"),
            tf.keras.layers.BatchNormalization(name="normal_with_quite_a_long_name_for_it"),
            tf.keras.layers.Dense(2, name="b"),
        ],
        name="chain",
    )
    model.get_layer("b").trainable = False
    lines = []
    model.summary(print_fn=lines.append, line_length=70, show_trainable=True)
    assert [line.rstrip() for line in "\n".join(lines).rstrip().split("\n")] == CHAIN.split("\n")


CHAIN = """Model: "chain"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━┓
┃ Layer (type)              ┃ Output Shape        ┃   Param # ┃ Tra… ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━┩
│ a (Dense)                 │ (None, 300)         │     1,500 │  Y   │
├───────────────────────────┼─────────────────────┼───────────┼──────┤
│ normal_with_quite_a_long… │ (None, 300)         │     1,200 │  Y   │
│ (BatchNormalization)      │                     │           │      │
├───────────────────────────┼─────────────────────┼───────────┼──────┤
│ b (Dense)                 │ (None, 2)           │       602 │  N   │
└───────────────────────────┴─────────────────────┴───────────┴──────┘
 Total params: 3,302 (12.90 KB)
 Trainable params: 2,100 (8.20 KB)
 Non-trainable params: 1,202 (4.70 KB)"""


def test_summary_of_a_graph(tf):
    model, _ = functional(tf)
    lines = []
    model.summary(print_fn=lines.append, line_length=88)
    text = "\n".join(lines)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.split("\n")]
    rows = [row for row in rows if row and row[0]]
    assert rows[0] == ["a (InputLayer)", "(None, 4)", "0", "-"]
    assert ["shared (Dense)", "(None, 3)", "15", "a[0][0], b[0][0]"] in rows
    assert " Total params: 32 (128.00 B)" in text


def test_summary_before_the_first_call(tf):
    lines = []
    tf.keras.Sequential([tf.keras.layers.Dense(3, name="a")]).summary(print_fn=lines.append)
    assert "0 (unbuilt)" in "\n".join(lines)
    with pytest.raises(ValueError, match="Insufficient console width"):
        tf.keras.Sequential([tf.keras.layers.Dense(3)]).summary(line_length=8)
