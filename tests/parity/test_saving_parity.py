"""Files of every layer and of some models, written by Keras and read by numtape, and back.

``.weights.h5``, ``.keras`` and legacy ``.h5`` files; h5py must be installed.
"""

import numpy as np
import pytest
from tensorflow_reference import installed

import numtape

pytest.importorskip("h5py")
pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]
VECTOR, SERIES, IMAGE, VOLUME = (None, 4), (None, 5, 4), (None, 6, 6, 4), (None, 4, 4, 4, 2)

# The inputs of each layer, and a function from `keras.layers` to the layer.
LAYERS = {
    "Activation": ([VECTOR], lambda L: L.Activation("relu")),
    "ActivityRegularization": ([VECTOR], lambda L: L.ActivityRegularization(0.1, 0.2)),
    "Add": ([VECTOR] * 2, lambda L: L.Add()),
    "AdditiveAttention": ([SERIES] * 2, lambda L: L.AdditiveAttention()),
    "AlphaDropout": ([VECTOR], lambda L: L.AlphaDropout(0.3, seed=3)),
    "Attention": ([SERIES] * 2, lambda L: L.Attention(use_scale=True, score_mode="concat")),
    "AveragePooling2D": ([IMAGE], lambda L: L.AveragePooling2D(2)),
    "BatchNormalization": ([VECTOR], lambda L: L.BatchNormalization()),
    "Bidirectional": ([SERIES], lambda L: L.Bidirectional(L.LSTM(3, dropout=0.1))),
    "Bidirectional of two": (
        [SERIES],
        lambda L: L.Bidirectional(
            L.GRU(3, return_sequences=True),
            backward_layer=L.LSTM(3, go_backwards=True, return_sequences=True),
        ),
    ),
    "Concatenate": ([VECTOR] * 2, lambda L: L.Concatenate()),
    "Conv1D": ([SERIES], lambda L: L.Conv1D(3, 2, kernel_regularizer="l2")),
    "Conv1DTranspose": ([SERIES], lambda L: L.Conv1DTranspose(3, 2, strides=2)),
    "Conv2D": ([IMAGE], lambda L: L.Conv2D(4, 2, groups=2, bias_constraint="non_neg")),
    "Conv2DTranspose": ([IMAGE], lambda L: L.Conv2DTranspose(3, 2, 2, output_padding=1)),
    "Conv3D": ([VOLUME], lambda L: L.Conv3D(3, 2)),
    "Conv3DTranspose": ([VOLUME], lambda L: L.Conv3DTranspose(3, 2)),
    "ConvLSTM1D": ([(None, 3, 5, 2)], lambda L: L.ConvLSTM1D(2, 2)),
    "Cropping2D": ([IMAGE], lambda L: L.Cropping2D(((1, 0), (1, 1)))),
    "Dense": ([VECTOR], lambda L: L.Dense(3, "tanh", kernel_initializer="he_normal")),
    "DepthwiseConv1D": ([SERIES], lambda L: L.DepthwiseConv1D(2, depth_multiplier=2)),
    "DepthwiseConv2D": ([IMAGE], lambda L: L.DepthwiseConv2D(2)),
    "Dot": ([VECTOR] * 2, lambda L: L.Dot(axes=1, normalize=True)),
    "Dropout": ([VECTOR], lambda L: L.Dropout(0.3, seed=5)),
    "ELU": ([VECTOR], lambda L: L.ELU(0.7)),
    "EinsumDense": ([SERIES], lambda L: L.EinsumDense("abc,cd->abd", (None, 3), bias_axes="d")),
    "Embedding": ([(None, 5)], lambda L: L.Embedding(7, 3, mask_zero=True)),
    "Flatten": ([IMAGE], lambda L: L.Flatten()),
    "GRU": ([SERIES], lambda L: L.GRU(3, dropout=0.1, recurrent_dropout=0.1)),
    "GaussianNoise": ([VECTOR], lambda L: L.GaussianNoise(0.3)),
    "GlobalAveragePooling2D": ([IMAGE], lambda L: L.GlobalAveragePooling2D(keepdims=True)),
    "GlobalMaxPooling1D": ([SERIES], lambda L: L.GlobalMaxPooling1D()),
    "GroupNormalization": ([IMAGE], lambda L: L.GroupNormalization(2)),
    "GroupQueryAttention": ([SERIES] * 2, lambda L: L.GroupQueryAttention(3, 4, 2)),
    "LSTM": ([SERIES], lambda L: L.LSTM(3, return_sequences=True, go_backwards=True)),
    "LSTM with state": ([(2, 5, 4)], lambda L: L.LSTM(3, stateful=True)),
    "LayerNormalization": ([VECTOR], lambda L: L.LayerNormalization()),
    "LeakyReLU": ([VECTOR], lambda L: L.LeakyReLU(0.2)),
    "Masking": ([SERIES], lambda L: L.Masking(0.5)),
    "MaxPooling2D": ([IMAGE], lambda L: L.MaxPooling2D(2, padding="same")),
    "MultiHeadAttention": ([SERIES] * 2, lambda L: L.MultiHeadAttention(2, 3, value_dim=2)),
    "Normalization": ([VECTOR], lambda L: L.Normalization(mean=2.0, variance=3.0)),
    "PReLU": ([VECTOR], lambda L: L.PReLU()),
    "Permute": ([SERIES], lambda L: L.Permute((2, 1))),
    "RMSNormalization": ([VECTOR], lambda L: L.RMSNormalization()),
    "RNN": ([SERIES], lambda L: L.RNN(L.GRUCell(3))),
    "RNN of a stack": (
        [SERIES],
        lambda L: L.RNN([L.LSTMCell(3), L.GRUCell(2), L.SimpleRNNCell(2)]),
    ),
    "ReLU": ([VECTOR], lambda L: L.ReLU(6.0, 0.1)),
    "Rescaling": ([VECTOR], lambda L: L.Rescaling(0.5, 1.0)),
    "Reshape": ([VECTOR], lambda L: L.Reshape((2, -1))),
    "SeparableConv1D": ([SERIES], lambda L: L.SeparableConv1D(3, 2)),
    "SeparableConv2D": ([IMAGE], lambda L: L.SeparableConv2D(3, 2)),
    "SimpleRNN": ([SERIES], lambda L: L.SimpleRNN(3)),
    "Softmax": ([VECTOR], lambda L: L.Softmax()),
    "SpectralNormalization": ([VECTOR], lambda L: L.SpectralNormalization(L.Dense(3))),
    "TimeDistributed": ([SERIES], lambda L: L.TimeDistributed(L.Dense(3))),
    "UnitNormalization": ([VECTOR], lambda L: L.UnitNormalization()),
    "UpSampling2D": ([IMAGE], lambda L: L.UpSampling2D(2, interpolation="bilinear")),
    "ZeroPadding2D": ([IMAGE], lambda L: L.ZeroPadding2D(((1, 0), (2, 1)))),
}
IN_A_LIST = ("Add", "AdditiveAttention", "Attention", "Concatenate", "Dot")


def model_of(keras, name):
    shapes, make = LAYERS[name]
    inputs = [keras.Input(batch_shape=s, name=f"in{k}") for k, s in enumerate(shapes)]
    arguments = [inputs] if name in IN_A_LIST else inputs
    return keras.Model(inputs, make(keras.layers)(*arguments), name="m")


def inputs_of(name):
    rng = np.random.default_rng(0)
    shapes = [[3 if n is None else n for n in shape] for shape in LAYERS[name][0]]
    if name == "Embedding":
        return [rng.integers(0, 7, shapes[0])]
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


def set_random_weights(model):
    rng = np.random.default_rng(1)
    model.set_weights([(rng.random(w.shape) + 0.1).astype(w.dtype) for w in model.get_weights()])


def through_file(writer, reader, model, make, path, ending):
    """The model that the reader makes of a file of the writer."""
    model_path = str(path / f"model.{ending}")
    if ending != "weights.h5":
        model.save(model_path)
        return reader.models.load_model(model_path)
    model.save_weights(model_path)
    other = make(reader)
    other.load_weights(model_path)
    return other


@pytest.mark.parametrize(
    "ending", ["keras", "weights.h5", pytest.param("h5", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_in_a_file(tmp_path, name, ending):
    keras = installed().keras
    if not hasattr(keras.layers, LAYERS[name][1].__code__.co_names[-1]):
        pytest.skip("this Keras has no such layer")
    data = inputs_of(name)
    data = data if len(data) > 1 else data[0]
    for writer, reader in ((keras, numtape.keras), (numtape.keras, keras)):
        writer.utils.clear_session()
        reader.utils.clear_session()
        model = model_of(writer, name)
        set_random_weights(model)
        other = through_file(
            writer, reader, model, lambda keras: model_of(keras, name), tmp_path, ending
        )
        pairs = zip(model.get_weights(), other.get_weights(), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)
        np.testing.assert_allclose(other(data), np.asarray(model(data)), rtol=2e-5, atol=2e-5)


def sequential(keras):
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(3, "relu", kernel_regularizer="l2"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1, kernel_constraint=keras.constraints.MaxNorm(3.0)),
        ]
    )


def branches(keras):
    x = keras.Input((6,), name="x")
    shared = keras.layers.Dense(6, "tanh", name="shared")
    first = keras.layers.Dense(4)(keras.layers.Add()([shared(shared(x)), x]) * 2.0 + 1.0)
    second = keras.layers.Dense(4)(x)
    third = keras.layers.Dense(2)(second)
    return keras.Model(
        {"x": x}, keras.layers.Dense(1)(keras.layers.Concatenate()([first, second, third]))
    )


def nested(keras):
    inner = keras.Sequential(
        [keras.Input((6,)), keras.layers.Dense(5), keras.layers.Dense(4)], name="inner"
    )
    y = keras.Input((4,))
    functional = keras.Model(y, keras.layers.Dense(3)(y), name="functional")
    x = keras.Input((6,))
    return keras.Model(x, keras.layers.Dense(1)(functional(inner(x))))


def of_a_class(keras):
    @keras.saving.register_keras_serializable("parity")
    class Blocks(keras.Model):
        def __init__(self, units=2, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            self.first = keras.layers.Dense(units)
            self.blocks = [keras.layers.Dense(2), [keras.layers.Dense(3)]]
            self.named = {"a": keras.layers.Dense(4)}
            self._last = keras.layers.Dense(1)

        def call(self, x):
            for layer in (self.first, self.blocks[0], self.blocks[1][0], self.named["a"]):
                x = layer(x)
            return self._last(x)

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    model = Blocks(3)
    model(np.zeros((1, 6), "float32"))
    return model


@pytest.mark.parametrize("ending", ["keras", "weights.h5"])
@pytest.mark.parametrize(
    "make", [sequential, branches, nested, of_a_class], ids=lambda f: f.__name__
)
def test_training_goes_on(tmp_path, make, ending):
    keras = installed().keras
    x = np.random.default_rng(0).normal(size=(8, 6)).astype("float32")
    y = x[:, :1].copy()
    data = {"x": x} if make is branches else x

    def compiled(library):
        model = make(library)
        rate = library.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
        model.compile(library.optimizers.Adam(rate, clipnorm=1.0), "mean_squared_error")
        model.optimizer.build(model.trainable_variables)
        return model

    for writer, reader in ((keras, numtape.keras), (numtape.keras, keras)):
        make(reader)  # registers its class
        model = compiled(writer)
        for _ in range(2):
            model.train_on_batch(data, y)
        other = through_file(writer, reader, model, compiled, tmp_path, ending)
        losses = [
            [np.ravel(m.train_on_batch(data, y))[0] for _ in range(3)] for m in (model, other)
        ]
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
