"""Shapes, masks, None and empty batches that Keras accepts."""

import numpy as np
import pytest

import numtape as tf

keras = tf.keras
layers = keras.layers
RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(2, 3, 4)).astype("float32")
MASK = np.array([[1, 1, 0], [1, 0, 0]])


def test_sequential_takes_other_lengths(tmp_path):
    model = keras.Sequential(
        [
            layers.Embedding(5, 4),
            layers.LSTM(3, return_sequences=True),
            layers.Dense(5),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    words = RANDOM.integers(0, 5, (4, 7))
    model.fit(words, words, verbose=0)
    whole = model.predict(words, verbose=0)
    for length in (1, 3, 7):  # an LSTM's outputs depend only on earlier inputs
        np.testing.assert_allclose(model(words[:, :length]), whole[:, :length], rtol=1e-5)
    assert model.predict(RANDOM.integers(0, 5, (2, 11)), verbose=0).shape == (2, 11, 5)
    model.fit(words[:, :2], words[:, :2], verbose=0)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(loaded(words[:, :5]), model(words[:, :5]))


def test_sequential_takes_other_image_sizes():
    model = keras.Sequential(
        [
            layers.Conv2D(2, 3, padding="same"),
            layers.MaxPooling2D(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    model.fit(np.zeros((2, 16, 16, 1)), np.zeros((2, 1)), verbose=0)
    assert model(np.zeros((3, 20, 9, 1))).shape == (3, 1)
    with pytest.raises(ValueError, match="axis -1"):
        model(np.zeros((3, 16, 16, 2)))
    with pytest.raises(ValueError, match="Expected shape"):
        model(np.zeros((16, 16)))


def test_sequential_of_a_dense_layer_refuses_other_widths():
    model = keras.Sequential([layers.Flatten(), layers.Dense(1)])
    model(np.zeros((2, 3, 4)))
    assert model(np.zeros((2, 4, 3))).shape == (2, 1)
    with pytest.raises(ValueError, match="axis -1"):
        model(np.zeros((2, 3, 5)))


def test_declared_axes_of_functional_models_are_fixed():
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, layers.GlobalMaxPooling1D()(inputs))
    assert model(np.zeros((2, 9, 4))).shape == (2, 4)
    with pytest.raises(ValueError, match="Expected shape"):
        model(np.zeros((2, 9, 5)))


def nested_model():
    a, b, c = keras.Input((1,)), keras.Input((2,)), keras.Input((3,))
    together = layers.Concatenate()([a, b, c])
    structure = {"b": a, "a": {"y": b, "x": [c]}}
    return keras.Model(structure, {"sum": layers.Dense(1)(together), "all": [together]})


def test_nested_inputs(tmp_path):
    model = nested_model()
    parts = [RANDOM.normal(size=(4, n)).astype("float32") for n in (1, 2, 3)]
    data = {"b": parts[0], "a": {"x": (parts[2],), "y": parts[1], "unused": parts[0]}}
    np.testing.assert_array_equal(model(data)["all"][0], np.concatenate(parts, -1))
    del data["a"]["unused"]
    model.compile("sgd", {"sum": "mse"})
    dataset = tf.data.Dataset.from_tensor_slices((data, {"sum": parts[0]})).batch(2)
    assert np.isfinite(model.fit(dataset, verbose=0).history["loss"][0])
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(loaded(data)["sum"], model(data)["sum"])
    with pytest.raises(ValueError, match=r'"a\.x"'):
        model({"b": parts[0], "a": {"y": parts[1]}})


def test_models_cut_from_models(tmp_path):
    inputs = keras.Input((4,))
    hidden = layers.Dense(3, "relu", name="hidden")(inputs)
    middle = layers.Dense(2, name="middle")(hidden)
    outputs = layers.Dense(3, name="last")(middle) + hidden
    whole = keras.Model(inputs, outputs)
    front, back = keras.Model(inputs, hidden), keras.Model(hidden, outputs)
    x = RANDOM.normal(size=(5, 4)).astype("float32")
    np.testing.assert_array_equal(back(front(x)), whole(x))
    kinds = [type(layer).__name__ for layer in back.layers]
    assert kinds == ["InputLayer", "Dense", "Dense"]
    assert [layer.name for layer in back.layers[1:]] == ["middle", "last"]
    assert back.input_shape == (None, 3) and len(back.weights) == 4
    lines = []
    back.summary(print_fn=lines.append)
    assert "InputLayer" in lines[0]
    back.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(loaded(front(x)), whole(x))
    same = keras.Model.from_config(back.get_config())
    same.set_weights(back.get_weights())
    np.testing.assert_array_equal(same(front(x)), whole(x))
    through = keras.Model([inputs, hidden], [hidden, outputs])  # from the middle and the start
    np.testing.assert_array_equal(through([x, front(x)])[1], whole(x))


def masked(values, mask):
    values = tf.constant(values)
    values._keras_mask = mask
    return values


MASKED = {
    "lstm": lambda m: layers.LSTM(2, kernel_initializer="ones")(X, mask=m),
    "gru": lambda m: layers.GRU(2, kernel_initializer="ones", return_sequences=True)(X, mask=m),
    "mean": lambda m: layers.GlobalAveragePooling1D()(X, mask=m),
    "attention": lambda m: layers.Attention()([X, X], mask=[m, m]),
    "softmax": lambda m: layers.Softmax(axis=1)(X[..., 0], mask=m),
    "batch": lambda m: layers.BatchNormalization()(X, training=True, mask=m),
    "concat": lambda m: layers.Concatenate().compute_mask([X, X], [m, m]),
    "concat other": lambda m: layers.Concatenate(1).compute_mask([X, X], [m, None]),
    "add": lambda m: layers.Add().compute_mask([X, X], [m, m]),
    "multiply": lambda m: layers.Multiply()([masked(X, m), masked(X, m)]),
    "maximum": lambda m: layers.Maximum()([masked(X, m), masked(-X, m)]),
    "loss": lambda m: keras.losses.MeanSquaredError()(X, masked(2 * X, m)),
    "metric": lambda m: keras.metrics.MeanSquaredError()(X, masked(2 * X, m)),
}


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float16", "float64"])
@pytest.mark.parametrize("name", MASKED)
def test_masks_of_other_dtypes(name, dtype):
    keras.utils.set_random_seed(3)
    expected = MASKED[name](tf.constant(MASK.astype(bool)))
    keras.utils.set_random_seed(3)
    found = MASKED[name](tf.constant(MASK.astype(dtype)))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "int64", "float16", "float32"])
def test_masking_of_all_dtypes(dtype):
    data = np.array([[[0, 0], [1, 0], [1, 1]]]).astype(dtype)
    for value in (0, 1.0, 0.5, -1):
        there = np.any(data.astype("float64") != value, -1)
        outputs = layers.Masking(value, autocast=False)(tf.constant(data))
        np.testing.assert_array_equal(outputs._keras_mask, there)
        np.testing.assert_array_equal(outputs, np.where(there[..., None], data, 0))
        assert outputs.dtype.name == dtype


def test_activity_of_an_empty_batch():
    inputs = keras.Input((4,))
    dense = layers.Dense(3, activity_regularizer="l2")
    model = keras.Model(inputs, dense(inputs))
    model(np.zeros((0, 4)))
    assert [float(loss) for loss in model.losses] == [0.0]
    outputs = dense(np.ones((2, 4), "float32")).numpy()
    np.testing.assert_allclose(dense.losses[0], 0.01 * np.sum(outputs**2) / 2, rtol=1e-5)


class Parts(keras.metrics.Metric):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.alone = tf.Variable(0.0)
        self.parts = [tf.Variable(0.0), {"deep": (tf.Variable([0.0, 0.0]),)}]
        self.inner = {"mean": keras.metrics.Mean()}
        self.total = self.add_variable((), "zeros", name="total")

    def update_state(self, y_true, y_pred, sample_weight=None):
        for v in self.variables:
            v.assign_add(tf.ones(v.shape))

    def result(self):
        return tf.add_n([tf.reduce_sum(v) for v in self.variables])


def test_variables_in_attributes_of_a_metric(tmp_path):
    metric = Parts(name="parts")
    assert len(metric.variables) == 6 and metric.variables[0] is metric.total
    metric.update_state(1, 1)
    assert float(metric.result()) == 7.0
    path = tf.train.Checkpoint(metric=metric).save(str(tmp_path / "c"))
    metric.reset_state()
    assert float(metric.result()) == 0.0
    tf.train.Checkpoint(metric=metric).restore(path)
    assert float(metric.result()) == 7.0
    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[Parts(name="parts")])
    x = np.ones((4, 2))
    for _ in range(2):  # reset between the epochs
        assert model.fit(x, x[:, :1], verbose=0, batch_size=2).history["parts"] == [14.0]


@pytest.mark.parametrize("axis", [(1, 2), [0, 2], (-1,), (0, 1, 2)])
def test_softmax_over_several_axes(axis):
    exps = np.exp(X.astype("float64"))
    expected = exps / exps.sum(tuple(axis), keepdims=True)
    np.testing.assert_allclose(keras.activations.softmax(X, axis), expected, rtol=2e-6)
    logs = keras.activations.log_softmax(X, axis)
    np.testing.assert_allclose(logs, np.log(expected), rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(layers.Softmax(axis)(X), expected, rtol=2e-6)


ACTIVATED = [
    (layers.Dense, (2,), (2, 3)),
    (layers.EinsumDense, ("ab,bc->ac", 2), (2, 3)),
    (layers.Conv1D, (2, 2), (2, 4, 3)),
    (layers.DepthwiseConv1D, (2,), (2, 4, 3)),
    (layers.SeparableConv1D, (2, 2), (2, 4, 3)),
    (layers.Conv1DTranspose, (2, 2), (2, 4, 3)),
    (layers.Activation, ("linear",), (2, 3)),
    (layers.SimpleRNNCell, (2,), None),
    (layers.LSTMCell, (2,), None),
    (layers.GRUCell, (2,), None),
]


@pytest.mark.parametrize("kind, args, shape", ACTIVATED)
def test_activation_none(kind, args, shape):
    results = []
    for value in (keras.activations.linear, None):
        layer = kind(*args)
        inner = layer if shape else layers.RNN(layer)
        x = RANDOM.normal(size=shape) if shape else X
        x = np.ones_like(x)
        inner(x)
        inner.set_weights([np.full(w.shape, 0.5) for w in inner.get_weights()])
        layer.activation = value
        results.append(inner(x).numpy())
    np.testing.assert_array_equal(*results)
    assert layer.get_config()["activation"] is None


def test_small_things():
    rate = keras.optimizers.SGD(0.5).learning_rate
    assert rate.value == 0.5
    dense = layers.Dense(2)
    dense.build((None, 3))
    np.testing.assert_array_equal(dense.kernel.value, dense.kernel.numpy())
    assert layers.MaxPooling2D().built and not layers.Dense(2).built
    assert keras.metrics.MeanIoU(2, dtype="int").dtype == "int64"
    assert keras.Layer(dtype=int).dtype == "int64" and keras.Layer(dtype=float).dtype == "float32"
    assert keras.KerasTensor((2,), dtype="float32", sparse=False, ragged=False).shape == (2,)
    with pytest.raises(ValueError, match="sparse"):
        keras.KerasTensor((2,), sparse=True)
    with keras.saving.custom_object_scope(None):
        pass
    assert keras.config.floatx() == keras.backend.floatx() == "float32"
    keras.backend.set_image_data_format("channels_last")
    with pytest.raises(ValueError, match="data_format"):
        keras.config.set_image_data_format("channels_middle")
    with pytest.raises(ValueError, match="floatx"):
        keras.config.set_floatx("int32")


def test_none_points_to_why():
    v = tf.Variable([1.0])
    for update in (v.assign_add, v.assign_sub):
        with pytest.raises(ValueError, match=r"tape\.why"):
            update(None)
    with pytest.raises(ValueError, match=r"tape\.why"):
        keras.optimizers.SGD().apply_gradients([(None, v)])
    with pytest.warns(UserWarning, match=r"tape\.why"):
        keras.optimizers.SGD().apply_gradients([(None, v), (tf.ones(1), tf.Variable([2.0]))])
    assert v.numpy() == [1.0]


@tf.custom_gradient
def rounded(w, *, scale=1.0):
    return tf.round(w) * scale, lambda g: 3.0 * g


@tf.custom_gradient
def rounded_list(weights):
    return tf.round(weights[0]), lambda g: [3.0 * g]


OF_A_WEIGHT = {
    "alone": rounded,
    "list": lambda w: rounded_list([w]),
    "twice": lambda w: rounded(w, scale=w),
    "value": lambda w: rounded(1.0 * w),
}


@pytest.mark.parametrize("function", OF_A_WEIGHT.values(), ids=OF_A_WEIGHT)
def test_custom_gradient_of_a_weight(function):
    class Scale(keras.Layer):
        def build(self, input_shape):
            self.w = self.add_weight((2,), "ones")

        def call(self, x):
            return x * function(self.w)

    layer = Scale()
    for graph in (False, True):
        call = tf.function(layer) if graph else layer
        for _ in range(3):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(call(tf.ones((3, 2))))
            (gradient,) = tape.gradient(y, layer.trainable_variables)
            np.testing.assert_array_equal(gradient, [9.0, 9.0])
