"""Dtype policies: 16-bit activations with float32 variables, and Keras's global settings."""

import copy
import json

import numpy as np
import pytest

import numtape as tf

keras = tf.keras
layers, policies = keras.layers, keras.dtype_policies
DRAWS = np.random.default_rng(4)
X = DRAWS.normal(size=(6, 4)).astype(np.float32)


@pytest.fixture(autouse=True)
def settings():
    yield
    keras.config.set_floatx("float32")
    keras.config.set_epsilon(1e-7)
    keras.config.set_image_data_format("channels_last")
    keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_layers_store_activations_in_16_bits(name):
    layer = layers.Dense(3, "relu", dtype=f"mixed_{name}")
    plain = layers.Dense(3, "relu")
    y, exact = layer(X), plain(X)
    plain.set_weights(layer.get_weights())
    exact = plain(X)
    assert y.dtype == name and layer.kernel.dtype == tf.float32
    assert (layer.dtype, layer.compute_dtype, layer.variable_dtype) == ("float32", name, "float32")
    np.testing.assert_allclose(np.asarray(y, "f4"), exact, atol=0.03, rtol=0.03)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.cast(layer(X), tf.float32))
    gradients = tape.gradient(loss, layer.trainable_weights)
    assert [g.dtype.name for g in gradients] == ["float32", "float32"]
    np.testing.assert_allclose(gradients[1], (np.asarray(exact) > 0).sum(0))


def test_custom_layers_read_variables_in_the_compute_dtype():
    class Scale(keras.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape[-1:], "ones", name="scale")
            self.wide = self.add_weight(shape[-1:], "ones", name="wide", autocast=False)
            self.count = self.add_weight((), "zeros", name="count", trainable=False)

        def call(self, x):
            self.seen = [v.dtype.name for v in (x, self.scale, self.scale.value, self.wide)]
            self.count.assign_add(tf.cast(1, x.dtype))
            return x * self.scale

    layer = Scale(dtype="mixed_bfloat16")
    outer = keras.Sequential([layer, Scale(dtype="float32")])
    assert outer(X).dtype == tf.float32
    assert layer.seen == ["bfloat16", "bfloat16", "bfloat16", "float32"]
    assert outer.layers[1].seen == ["float32"] * 4
    assert layer.scale.dtype == tf.float32 and float(layer.count) >= 1
    assert copy.deepcopy(layer).scale.dtype == tf.float32
    symbolic = Scale(dtype="mixed_float16")(keras.Input((4,)))
    assert symbolic.dtype == "float16"


@pytest.mark.parametrize("name", ["mixed_float16", "mixed_bfloat16"])
def test_training_and_files(name, tmp_path):
    keras.config.set_dtype_policy(name)
    inputs = keras.Input((4,))
    x = layers.LayerNormalization()(layers.Dense(3, activation="tanh")(inputs))
    model = keras.Model(inputs, layers.Dense(1, dtype="float32")(layers.BatchNormalization()(x)))
    assert inputs.dtype == "float32" and x.dtype == name.removeprefix("mixed_")
    model.compile("sgd", "mse")
    is_scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert is_scaled == (name == "mixed_float16")
    losses = model.fit(X, X[:, :1], epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert all(v.dtype == tf.float32 for v in model.weights)
    config = json.loads(model.to_json())["config"]["layers"][1]["config"]["dtype"]
    assert config["class_name"] == "DTypePolicy" and config["config"] == {"name": name}
    model.save(tmp_path / "model.keras")
    keras.config.set_dtype_policy("float32")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[1].dtype_policy == policies.DTypePolicy(name)
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))


LAYERS = [
    (lambda: layers.LSTM(2), (3, 4)),
    (lambda: layers.GRU(2, return_sequences=True), (3, 4)),
    (lambda: layers.Bidirectional(layers.SimpleRNN(2)), (3, 4)),
    (lambda: layers.Conv1D(2, 2), (3, 4)),
    (lambda: layers.SeparableConv1D(2, 2), (3, 4)),
    (lambda: layers.GroupNormalization(2), (3, 4)),
    (lambda: layers.RMSNormalization(), (3, 4)),
    (lambda: layers.EinsumDense("abc,cd->abd", (3, 2), bias_axes="d"), (3, 4)),
    (lambda: layers.PReLU(), (3, 4)),
]


@pytest.mark.parametrize("make, shape", LAYERS)
def test_layers_agree_with_float32(make, shape):
    x = DRAWS.normal(size=(2, *shape)).astype(np.float32)
    plain = make()
    exact = plain(x)
    keras.config.set_dtype_policy("mixed_bfloat16")
    layer = make()
    layer.build(x.shape)
    layer.set_weights(plain.get_weights())
    y = layer(x)
    assert y.dtype == tf.bfloat16
    np.testing.assert_allclose(np.asarray(y, "f4"), exact, atol=0.06, rtol=0.06)


def test_embeddings_keep_sparse_gradients():
    layer = layers.Embedding(5000, 2, dtype="mixed_float16")
    model = keras.Sequential([layer], name="tokens")
    with tf.GradientTape() as tape:
        y = model(np.array([[4999.0, 3.0]], np.float32))
    assert y.dtype == tf.float16
    assert isinstance(tape.gradient(y, layer.embeddings), tf.IndexedSlices)


def test_policies():
    policy = policies.get("mixed_float16")
    assert policy == keras.mixed_precision.Policy("mixed_float16") != policies.get("float16")
    assert policies.get({**policies.serialize(policy)}) == policy
    assert policies.get(tf.float64).name == "float64"
    assert policies.get(None).name == keras.mixed_precision.global_policy().name == "float32"
    assert policy.convert_input(np.ones(2), True, "float16").dtype == tf.float16
    assert policy.convert_input(np.ones(2, "i4"), True, "float16").dtype == tf.int32
    assert policy.convert_input(keras.Input((2,)), True, "float16").dtype == "float16"
    table = policies.DTypePolicyMap("float32", {"a/b": policy})
    table["c.*"] = policies.DTypePolicy("bfloat16")
    assert table["a/b"] is policy and table["cd"].name == "bfloat16" and len(table) == 2
    assert policies.deserialize(policies.serialize(table))["a/b"] == policy
    for name, error in [("mixed_float32", ValueError), ("nosuch", ValueError), (3, TypeError)]:
        with pytest.raises(error):
            policies.DTypePolicy(name)
    for make in (
        lambda: policies.get("int8_from_float32"),
        lambda: policies.QuantizedDTypePolicy("int8"),
        lambda: layers.Dense(2, dtype="float8_from_float32"),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match="quantized"):
            make()


def test_settings_change_defaults():
    keras.config.set_floatx("float64")
    assert layers.Dense(2).dtype == keras.metrics.Mean().dtype == "float64"
    assert (
        keras.Input((2,)).dtype == "float64" and keras.losses.MeanSquaredError().dtype == "float64"
    )
    assert keras.ops.zeros(2).dtype == tf.float64
    keras.config.set_floatx("float32")
    keras.config.set_epsilon(0.25)
    loss = keras.losses.binary_crossentropy([[1.0]], [[0.0]])
    np.testing.assert_allclose(loss, -np.log(0.25), 1e-6)
    keras.config.set_image_data_format("channels_first")
    assert layers.MaxPooling2D()(np.zeros((1, 3, 4, 4), "f4")).shape == (1, 3, 2, 2)
    with pytest.raises(ValueError, match="backend"):
        keras.config.set_backend("jax")
    for function in (
        keras.config.enable_flash_attention,
        keras.config.enable_unsafe_deserialization,
    ):
        with pytest.raises(tf.errors.UnimplementedError):
            function()


def test_names_of_the_backend():
    backend = keras.backend
    assert backend.standardize_dtype(tf.float16) == "float16"
    assert backend.is_float_dtype("bfloat16") and backend.is_int_dtype("int8")
    assert not backend.is_float_dtype("int8") and not backend.is_keras_tensor(1)
    assert backend.result_type("bool", "int8") == "int8"
    with pytest.raises(ValueError, match="nosuch"):
        backend.standardize_dtype("nosuch")
    with pytest.raises(TypeError, match="DTypePolicy"):
        keras.dtype_policies.serialize("float32")


def test_normalization_keeps_inputs_beyond_16_bits():
    x = np.full((2, 4, 8), 70000.0, np.float32)
    for layer in (layers.GroupNormalization(2, dtype="mixed_float16"),):
        assert not np.isnan(np.asarray(layer(x))).any()


def test_weights_of_ignored_classes_do_not_count():
    metric = keras.metrics.SparseCategoricalCrossentropy(ignore_class=0)
    p = np.array([[0.8, 0.1, 0.1], [0.05, 0.95, 0.0], [0.1, 0.8, 0.1]])
    value = metric([0, 1, 2], p, sample_weight=[0.5, 1.5, 2.0])
    np.testing.assert_allclose(value, -(1.5 * np.log(0.95) + 2 * np.log(0.1)) / 3.5, rtol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Rescaling(2.0),
        lambda: layers.Normalization(mean=[0.0, 1.0], variance=[1.0, 90000.0]),
        lambda: layers.UpSampling2D(2, interpolation="bilinear"),
        lambda: layers.RandomColorJitter((0, 1), brightness_factor=0.5, seed=1),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_layers_of_images_compute_in_the_compute_dtype(make, dtype):
    x = np.ones((1, 2, 2, 2), dtype)
    plain = make()(x)
    keras.config.set_dtype_policy("mixed_float16")
    y = make()(x)
    assert y.dtype == (tf.float16 if plain.dtype.is_floating else plain.dtype)
    assert layers.Rescaling(1.0)(y).dtype == tf.float16
    np.testing.assert_allclose(y, plain, rtol=2e-3)
