"""Layers beyond the outputs in `layer_rows`: draws, moments, masks, errors, replay."""

import importlib.util
import inspect
import os

import numpy as np
import pytest
from layer_rows import ROWS

pytestmark = pytest.mark.numtape_only("about numtape's layers")
needs_keras = pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="needs Keras")


@pytest.fixture(scope="module")
def keras():
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    return pytest.importorskip("keras")


# --- Errors --------------------------------------------------------------------------------------

CALLS = [
    # A layer, its arguments, the shapes of a call (None for no call), the error and its message.
    ("Dense", (0,), {}, None, ValueError, "`units`, expected a positive integer"),
    ("Dense", (2,), {"activation": "no"}, None, ValueError, "Could not interpret activation"),
    ("Dense", (2,), {"kernel_initializer": "no"}, None, ValueError, "initializer identifier"),
    ("Dense", (2,), {"kernel_regularizer": "no"}, None, ValueError, "regularizer identifier"),
    ("Dense", (2,), {"bias_constraint": "no"}, None, ValueError, "constraint identifier"),
    ("Dense", (2,), {"nosuch": 1}, None, ValueError, "Unrecognized keyword arguments"),
    ("Dense", (2,), {}, (3,), ValueError, "expected min_ndim=2, found ndim=1"),
    ("EinsumDense", ("ab->a", 2), {}, (2, 3), ValueError, "Invalid einsum equation"),
    ("EinsumDense", ("ab,bc->ad", 2), {}, (2, 3), ValueError, "'d' was specified in the output"),
    ("EinsumDense", ("ab,bcd->ac", 2), {}, (2, 3), ValueError, "did not have a match in either"),
    ("EinsumDense", ("ab,cb->ab", 5), {}, (2, 3), ValueError, "do not match at shared dimension"),
    ("EinsumDense", ("ab,bc->ac", 5), {"bias_axes": "x"}, (2, 3), ValueError, "was requested"),
    ("Conv2D", (0, 2), {}, None, ValueError, "`filters`. Expected a strictly positive value"),
    ("Conv2D", (2, 0), {}, None, ValueError, "that do not satisfy `value > 0`"),
    ("Conv2D", (2, (1, 2, 3)), {}, None, ValueError, "must be a tuple of 2 integers"),
    ("Conv2D", (2, "a"), {}, None, ValueError, "must be a tuple of 2 integers"),
    ("Conv2D", (2, 2, -1), {}, None, ValueError, "`strides` argument must be a tuple"),
    ("Conv2D", (2, 2), {"padding": "no"}, None, ValueError, "The `padding` argument must be"),
    ("Conv2D", (2, 2), {"padding": "causal"}, None, ValueError, "The `padding` argument must be"),
    ("Conv2D", (2, 2), {"data_format": "no"}, None, ValueError, "`data_format` argument must be"),
    ("Conv2D", (3, 2), {"groups": 2}, None, ValueError, "evenly divisible by the number of groups"),
    ("Conv2D", (4, 2), {"groups": 2}, (1, 5, 5, 3), ValueError, "number of input channels must be"),
    ("Conv2D", (2, 2), {"strides": 2, "dilation_rate": 2}, None, ValueError, "`strides > 1` not"),
    ("Conv2D", (2, 6), {}, (1, 5, 5, 3), ValueError, "Computed output size would be"),
    ("Conv2D", (2, 2), {}, (5, 5, 3), ValueError, "found ndim=3"),
    ("Conv2DTranspose", (2, 2, 2), {"output_padding": 2}, None, ValueError, "strictly less than"),
    ("DepthwiseConv2D", (2,), {"depth_multiplier": 0}, None, ValueError, "`depth_multiplier`"),
    ("SeparableConv2D", (-1, 2), {}, None, ValueError, "Expected a strictly positive value"),
    ("MaxPooling2D", (0,), {}, None, ValueError, "that do not satisfy `value > 0`"),
    ("MaxPooling2D", (3,), {}, (1, 2, 5, 3), ValueError, "Computed output size would be zero"),
    ("MaxPooling2D", (2,), {}, (2, 5, 3), ValueError, "expected ndim=4, found ndim=3"),
    ("GlobalMaxPooling1D", (), {}, (2, 3), ValueError, "expected ndim=3, found ndim=2"),
    ("Reshape", ((4, 2),), {}, (2, 6), ValueError, "total size of the tensor must be unchanged"),
    ("Reshape", ((4, -1),), {}, (2, 6), ValueError, "total size of the tensor must be unchanged"),
    ("Permute", ((1, 3),), {}, None, ValueError, "Invalid permutation argument `dims`"),
    ("RepeatVector", (1.5,), {}, None, TypeError, "Expected an integer value for `n`"),
    ("RepeatVector", (0,), {}, None, ValueError, "`n` should be a positive integer"),
    ("Cropping1D", ((1, -1),), {}, None, ValueError, "that do not satisfy `value >= 0`"),
    ("Cropping2D", (3,), {}, (1, 5, 9, 1), ValueError, "should be smaller than the corresponding"),
    ("Cropping2D", ((1, 2, 3),), {}, None, ValueError, "`cropping` should have"),
    ("ZeroPadding2D", ((1, 2, 3),), {}, None, ValueError, "`padding` should have"),
    ("UpSampling1D", (1.5,), {}, None, TypeError, "Expected an integer value for `size`"),
    ("UpSampling2D", (2,), {"interpolation": "no"}, None, ValueError, "`interpolation` argument"),
    ("Dropout", (1.5,), {}, None, ValueError, "Expected a float value between 0 and 1"),
    ("Dropout", (0.5, 3), {}, None, ValueError, "argument `noise_shape`"),
    ("GaussianNoise", (-1.0,), {}, None, ValueError, "argument `stddev`"),
    ("GaussianDropout", (-1.0,), {}, None, ValueError, "argument `rate`"),
    ("AlphaDropout", (2,), {}, None, ValueError, "argument `rate`"),
    ("LayerNormalization", ("a",), {}, None, TypeError, "Expected an int or a list/tuple of ints"),
    ("GroupNormalization", (5,), {}, (2, 4), ValueError, "cannot be more than the number of"),
    ("GroupNormalization", (3,), {}, (2, 4), ValueError, "must be a multiple of the number of"),
    ("UnitNormalization", ("a",), {}, None, TypeError, "expected an int or a list/tuple of ints"),
    ("Normalization", (-1, 1.0), {}, None, ValueError, "both `mean` and `variance` must be set"),
    ("Normalization", (5,), {}, (2, 3), ValueError, "must be in the range"),
    ("ReLU", (-1.0,), {}, None, ValueError, "max_value of a ReLU layer cannot be"),
    ("ReLU", (), {"threshold": -1.0}, None, ValueError, "threshold of a ReLU layer cannot be"),
    ("Add", (), {}, (2, 3), ValueError, "should be called on a list of inputs"),
    ("Add", (), {}, [(2, 3), (2, 4)], ValueError, "Inputs have incompatible shapes"),
    ("Add", (), {}, [(2, 3), (3, 3)], ValueError, "different batch sizes"),
    ("Subtract", (), {}, [(2, 3)] * 3, ValueError, "exactly 2 inputs"),
    ("Concatenate", (1,), {}, [(2, 3, 4), (2, 3, 5)], ValueError, "requires inputs with matching"),
    ("Dot", ("a",), {}, None, TypeError, "Invalid type for argument `axes`"),
    ("Dot", ((1, 2, 3),), {}, None, ValueError, "Invalid format for argument `axes`"),
    ("Dot", (1,), {}, [(2, 3), (2, 4)], ValueError, "Incompatible input shapes"),
    ("Attention", (), {"score_mode": "no"}, None, ValueError, "argument score_mode"),
    ("Attention", (), {}, [(2, 3, 4)], ValueError, "list of length 2 or 3"),
    ("MultiHeadAttention", (0, 2), {}, None, ValueError, "`num_heads`, expected a positive"),
    ("MultiHeadAttention", (2, 2), {"sliding_window": 0}, None, ValueError, "sliding_window"),
]


def refused(library, name, args, kwargs, shape):
    """The exception of a layer's constructor or call."""
    layers = library.layers
    try:
        layer = getattr(layers, name)(*args, **kwargs)
        if shape is not None:
            several = isinstance(shape, list)
            xs = [np.ones(s, "float32") for s in (shape if several else [shape])]
            layer(xs if several else xs[0])
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name, args, kwargs, shape, error, said", CALLS)
def test_wrong_arguments(tf, name, args, kwargs, shape, error, said):
    found = refused(tf.keras, name, args, kwargs, shape)
    assert isinstance(found, error), repr(found)
    assert said.lower() in str(found).lower()


# Keras raises no error here, or a later one: the output is empty, or the call fails.
SILENT = ("Computed output size would be zero", "`interpolation` argument")


@needs_keras
@pytest.mark.parametrize(
    "name, args, kwargs, shape, error, said", [call for call in CALLS if call[-1] not in SILENT]
)
def test_wrong_arguments_in_keras(keras, name, args, kwargs, shape, error, said):
    found = refused(keras, name, args, kwargs, shape)
    assert isinstance(found, error), repr(found)
    assert said.lower() in str(found).lower()


def test_a_layer_that_refuses_its_inputs_is_as_before(tf):
    layer = tf.keras.layers.Conv2D(4, 2, groups=2)
    for _ in range(2):
        with pytest.raises(ValueError, match="input channels"):
            layer(tf.ones((1, 5, 5, 3)))
        assert not layer.built
        assert layer.weights == []
    assert layer(tf.ones((1, 5, 5, 2))).shape == (1, 4, 4, 4)
    with pytest.raises(ValueError, match="axis -1 of input shape to have value 2"):
        layer(tf.ones((1, 5, 5, 4)))


VALUES = [
    None,
    "a",
    "",
    -1,
    0,
    1.5,
    [],
    (),
    [1, 2, 3, 4, 5, 6, 7],
    {},
    np.nan,
    10**30,
    [None],
    np.zeros(3),
]


@pytest.mark.filterwarnings("ignore:You passed `rms_scaling=True`")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(value, marks=() if k % 4 == 3 else pytest.mark.slow, id=repr(value))
        for k, value in enumerate(VALUES)
    ],
)
def test_any_argument_is_taken_or_refused_by_name(tf, value):
    refusals = (
        ValueError,
        TypeError,
        NotImplementedError,
        OverflowError,
        MemoryError,
        UserWarning,
    )
    for row in {row.name: row for row in ROWS}.values():
        make = getattr(tf.keras.layers, row.name)
        names = [p for p in inspect.signature(make).parameters if p != "kwargs"]
        given = {**dict(zip(names, row.args, strict=False)), **row.kwargs}
        xs = [tf.constant(x) for x in row.inputs()]
        for name in names:
            try:
                row.called(make(**{**given, name: value}), xs)
            except (*refusals, tf.errors.OpError) as error:
                assert str(error), (row.name, name)


def test_axes_that_are_not_there(tf):
    with pytest.raises(ValueError, match="out of bounds"):
        tf.keras.layers.Concatenate(3)([tf.ones((2, 3)), tf.ones((2, 3))])
    with pytest.raises(ValueError, match="no axis"):
        tf.keras.layers.Softmax(axis=[])


# --- Draws ---------------------------------------------------------------------------------------

X = np.linspace(-2, 2, 40000).reshape(100, 400).astype("float32")


def test_dropout_drops_and_scales(tf):
    layer = tf.keras.layers.Dropout(0.3)
    x = tf.constant(X + 3)
    first, again = (layer(x, training=True).numpy() for _ in range(2))
    assert not np.array_equal(first, again)
    for y in (first, again):
        kept = y != 0
        assert abs(kept.mean() - 0.7) < 0.01
        np.testing.assert_allclose(y[kept], (X + 3)[kept] / 0.7, rtol=1e-6)
    assert layer(x) is x or np.array_equal(layer(x), X + 3)
    assert not tf.keras.layers.Dropout(1.0)(x, training=True).numpy().any()


@pytest.mark.parametrize(
    "name, shape",
    [
        ("SpatialDropout1D", (50, 3, 40)),
        ("SpatialDropout2D", (50, 2, 3, 40)),
        ("SpatialDropout3D", (50, 2, 1, 2, 40)),
    ],
)
def test_spatial_dropout_drops_channels(tf, name, shape):
    y = getattr(tf.keras.layers, name)(0.4)(tf.ones(shape), training=True).numpy()
    rows = y.reshape(50, -1, 40)
    assert (rows == rows[:, :1]).all()
    assert abs((y == 0).mean() - 0.4) < 0.05


@pytest.mark.parametrize(
    "name, args, mean, deviation",
    [
        ("GaussianNoise", (0.5,), lambda x: x, lambda x: 0.5),
        ("GaussianDropout", (0.2,), lambda x: x, lambda x: abs(x) * 0.5),
    ],
)
def test_noise_has_its_law(tf, name, args, mean, deviation):
    layer = getattr(tf.keras.layers, name)(*args)
    for value in (0.0, 1.5):
        y = layer(tf.fill((200, 200), value), training=True).numpy()
        assert abs(y.mean() - mean(value)) < 0.02
        assert abs(y.std() - deviation(value)) < 0.02
        assert y.dtype == np.float32


def test_alpha_dropout_keeps_mean_and_variance(tf):
    x = np.random.default_rng(0).normal(size=(300, 300)).astype("float32")
    y = tf.keras.layers.AlphaDropout(0.4)(x, training=True).numpy()
    assert abs(y.mean()) < 0.02
    assert abs(y.std() - 1) < 0.02
    same = tf.keras.layers.AlphaDropout(0.4, noise_shape=(None, 1))(x, training=True).numpy()
    dropped = (same == same.min(keepdims=True)).all(1) | (np.ptp(same, axis=1) < 1e-5)
    assert abs(dropped.mean() - 0.4) < 0.1


def test_noise_is_drawn_anew_in_a_function(tf):
    layer = tf.keras.layers.Dropout(0.5)
    step = tf.function(lambda x: layer(x, training=True))
    x = tf.ones((20, 20))
    found = [step(x).numpy() for _ in range(4)]
    assert len({y.tobytes() for y in found}) == 4


# --- Moments -------------------------------------------------------------------------------------


def test_moving_moments(tf):
    random = np.random.default_rng(0)
    layer = tf.keras.layers.BatchNormalization(momentum=0.8)
    mean, variance = np.zeros(3), np.ones(3)
    for training in (True, True, False, None):
        x = random.normal(2.0, 3.0, (5, 4, 3)).astype("float32")
        y = layer(x, training=training)
        own = x.mean((0, 1)), x.var((0, 1))
        if training:
            mean, variance = 0.8 * mean + 0.2 * own[0], 0.8 * variance + 0.2 * own[1]
        else:
            own = mean, variance
        np.testing.assert_allclose(y, (x - own[0]) / np.sqrt(own[1] + 1e-3), atol=1e-5)
        np.testing.assert_allclose(layer.moving_mean, mean, rtol=1e-5)
        np.testing.assert_allclose(layer.moving_variance, variance, rtol=1e-5)
    assert [v.name for v in layer.non_trainable_weights] == ["moving_mean", "moving_variance"]
    layer.trainable = False
    layer(x, training=True)
    np.testing.assert_allclose(layer.moving_mean, mean, rtol=1e-5)


def test_moving_moments_in_a_function(tf):
    layers = [tf.keras.layers.BatchNormalization() for _ in range(2)]
    step = tf.function(lambda x: layers[1](x, training=True))
    random = np.random.default_rng(1)
    for layer in layers:
        layer.build((None, 3))
    for _ in range(4):
        x = tf.constant(random.normal(size=(6, 3)).astype("float32"))
        np.testing.assert_allclose(layers[0](x, training=True), step(x), rtol=1e-6, atol=1e-6)
    for v, w in zip(*(layer.weights for layer in layers), strict=True):
        np.testing.assert_allclose(v, w, rtol=1e-6)


def test_batch_normalization_leaves_out_what_a_mask_does(tf):
    x = np.random.default_rng(2).normal(size=(3, 5, 4)).astype("float32")
    there = np.arange(15).reshape(3, 5) % 3 > 0
    layer = tf.keras.layers.BatchNormalization(momentum=0.0)
    x[~there] = np.inf
    y = layer(x, training=True, mask=tf.constant(there)).numpy()
    np.testing.assert_allclose(layer.moving_mean, x[there].mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer.moving_variance, x[there].var(0), rtol=1e-5)
    own = (x[there] - x[there].mean(0)) / np.sqrt(x[there].var(0) + 1e-3)
    np.testing.assert_allclose(y[there], own, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="one dimension less"):
        layer(np.ones((3, 5, 4)), training=True, mask=tf.ones((3,)))


@pytest.mark.parametrize("axis", [-1, None, (1, 2), 0])
def test_adapted_moments(tf, axis):
    data = np.random.default_rng(3).normal(3.0, 2.0, (7, 4, 3))
    layer = tf.keras.layers.Normalization(axis=axis)
    layer.adapt(data)
    kept = () if axis is None else tuple(k % 3 for k in np.atleast_1d(axis))
    others = tuple(k for k in range(3) if k not in kept)
    wanted = (data - data.mean(others, keepdims=True)) / data.std(others, keepdims=True)
    np.testing.assert_allclose(layer(data.astype("float32")), wanted, atol=1e-5)
    back = tf.keras.layers.Normalization(
        axis=axis, invert=True, mean=data.mean(others), variance=data.var(others)
    )
    np.testing.assert_allclose(back(wanted.astype("float32")), data, atol=1e-5)


def test_moments_of_batches_are_those_of_all(tf):
    data = np.random.default_rng(4).normal(3.0, 2.0, (10, 3))
    parts = np.split(data, [2, 3, 7])
    given = [
        parts,
        (part for part in parts),
        [(part, 0) for part in parts],
        tf.data.Dataset.from_tensor_slices(data).batch(4),
    ]
    for batches in given:
        layer = tf.keras.layers.Normalization()
        layer.adapt(batches)
        np.testing.assert_allclose(layer.mean[0], data.mean(0), rtol=1e-6)
        np.testing.assert_allclose(layer.variance[0], data.var(0), rtol=1e-6)
    for wrong, error in (
        ([], ValueError),
        (5, TypeError),
        ("abc", TypeError),
        ([1, 2], TypeError),
        (np.ones((3, 4)), ValueError),
    ):
        with pytest.raises(error, match="adapt"):
            layer.adapt(wrong)
    np.testing.assert_allclose(layer.mean[0], data.mean(0), rtol=1e-6)


@needs_keras
def test_adapted_moments_are_those_of_keras(tf, keras):
    data = np.random.default_rng(5).normal(3.0, 2.0, (9, 3)).astype("float32")
    ours, theirs = (library.layers.Normalization() for library in (tf.keras, keras))
    for layer in (ours, theirs):
        layer.adapt(data)
    np.testing.assert_allclose(ours(data), theirs(data), rtol=1e-5, atol=1e-6)
    assert [v.name for v in ours.weights] == [v.name for v in theirs.weights]


# --- Masks, sparse gradients, penalties ----------------------------------------------------------


def test_embedding_has_sparse_gradients_and_masks(tf):
    layer = tf.keras.layers.Embedding(5, 2, mask_zero=True)
    ids = tf.constant([[1, 0, 1], [4, 2, 0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids) * 2.0)
    gradient = tape.gradient(loss, layer.embeddings)
    assert isinstance(gradient, tf.IndexedSlices)
    np.testing.assert_array_equal(
        tf.convert_to_tensor(gradient), np.array([4, 4, 2, 0, 2])[:, None] * np.ones(2)
    )
    np.testing.assert_array_equal(layer.compute_mask(ids), ids.numpy() != 0)
    assert tf.keras.layers.Embedding(5, 2).compute_mask(ids) is None
    given = np.arange(10.0).reshape(5, 2)
    layer = tf.keras.layers.Embedding(5, 2, weights=[given])
    np.testing.assert_array_equal(layer(ids)[1, 0], [8, 9])
    with pytest.raises(tf.errors.InvalidArgumentError):
        layer(tf.constant([[5]]))


@pytest.mark.parametrize("behind", ["Dropout", "Dense", "ReLU", "LayerNormalization"])
def test_masks_go_on(tf, behind):
    """A mask passes from the layer that creates it through others to one that uses it."""
    layers = tf.keras.layers
    kept = {"Dropout": (0.5,), "Dense": (3,)}.get(behind, ())
    x = np.random.default_rng(6).normal(size=(2, 4, 3)).astype("float32")
    x[0, 1] = x[1, 2:] = 0
    between = getattr(layers, behind)(*kept)
    y = between(layers.Masking()(tf.constant(x)))
    found = layers.GlobalAveragePooling1D()(y).numpy()
    parts = [
        between(tf.constant(x[k : k + 1][:, there])).numpy().mean(1)[0]
        for k, there in enumerate(x.any(-1))
    ]
    np.testing.assert_allclose(found, parts, rtol=1e-5, atol=1e-6)


@needs_keras
def test_masks_of_attention_are_those_of_keras(tf, keras):
    import tensorflow

    random = np.random.default_rng(7)
    q, v = (
        random.normal(size=(2, 3, 4)).astype("float32"),
        random.normal(size=(2, 5, 4)).astype("float32"),
    )
    masks = np.array([[1, 1, 0], [1, 0, 1]], bool), np.arange(10).reshape(2, 5) % 4 > 0
    whole = random.uniform(size=(2, 3, 5)) > 0.3
    kinds = {"Attention": (), "AdditiveAttention": (), "MultiHeadAttention": (2, 3)}
    for name, args in kinds.items():
        found = []
        for library, layers in ((tf, tf.keras.layers), (tensorflow, keras.layers)):
            layer = getattr(layers, name)(*args)
            xs, there = [library.constant(x) for x in (q, v)], [library.constant(m) for m in masks]
            if name == "MultiHeadAttention":
                layer(*xs)
                layer.set_weights(
                    [np.cos(np.arange(np.asarray(w).size)).reshape(w.shape) for w in layer.weights]
                )
                y, weights = layer(
                    *xs,
                    value_mask=there[1],
                    attention_mask=library.constant(whole),
                    return_attention_scores=True,
                )
            else:
                layer(xs)
                layer.set_weights(
                    [np.cos(np.arange(np.asarray(w).size)).reshape(w.shape) for w in layer.weights]
                )
                y, weights = layer(
                    xs, mask=there, use_causal_mask=True, return_attention_scores=True
                )
            found.append((np.asarray(y), np.asarray(weights)))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)


def test_penalties(tf):
    layers = tf.keras.layers
    x = tf.constant([[1.0, -2.0], [3.0, 0.5]])
    dense = layers.Dense(
        1,
        kernel_initializer="ones",
        kernel_regularizer=tf.keras.regularizers.L2(0.5),
        bias_regularizer="l1",
        activity_regularizer="l2",
    )
    y = dense(x).numpy()
    assert sorted(map(float, dense.losses)) == pytest.approx([0.0, 0.01 * (y**2).sum() / 2, 1.0])
    conv = layers.Conv1D(2, 1, kernel_initializer="ones", kernel_regularizer="l1")
    conv(x[None])
    assert [float(loss) for loss in conv.losses] == pytest.approx([0.04])
    assert dense.kernel.regularizer is dense.kernel_regularizer
    assert layers.Dense(1, kernel_constraint="non_neg").kernel_constraint is not None


# --- Names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, args",
    [
        ("Add", ()),
        ("Subtract", ()),
        ("Multiply", ()),
        ("Average", ()),
        ("Maximum", ()),
        ("Minimum", ()),
        ("Concatenate", (1,)),
        ("Dot", (1,)),
    ],
)
def test_functions_of_merging_layers(tf, name, args):
    layers = tf.keras.layers
    xs = [tf.constant(x) for x in np.random.default_rng(8).normal(size=(2, 3, 4))]
    np.testing.assert_array_equal(
        getattr(layers, name.lower())(xs, *args, name="mine"), getattr(layers, name)(*args)(xs)
    )


@needs_keras
def test_other_names_are_those_of_keras(tf, keras):
    ours, theirs = tf.keras.layers, keras.layers
    additions = {row.name for row in ROWS if not row.is_in_keras}
    for name in ours.__all__:
        assert hasattr(theirs, name) or name in additions, name
    for name in dir(theirs):
        same = getattr(theirs, name)
        if isinstance(same, type) and same.__name__ != name and hasattr(ours, same.__name__):
            assert getattr(ours, name) is getattr(ours, same.__name__)


def test_einsum_kernels_begin_with_the_law_of_their_equation(tf):
    layer = tf.keras.layers.MultiHeadAttention(4, 25, kernel_initializer="glorot_uniform")
    x = tf.ones((1, 2, 200))
    layer(x, x)
    kernels = [v.numpy() for v in layer.weights[::2]]
    for kernel in kernels:
        assert np.abs(kernel).max() == pytest.approx(np.sqrt(6 / 300), rel=1e-2)
    assert not np.array_equal(kernels[0], kernels[1])


# --- Replay --------------------------------------------------------------------------------------

QUICK = (
    "Conv2D(3, 3)",
    "LayerNormalization()",
    "MultiHeadAttention(2, 3)",
    "Embedding",
    "BatchNormalization(axis",
    "PReLU()",
    "MaxPooling2D(2)",
    "UpSampling2D((2",
)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=() if str(row).startswith(QUICK) else pytest.mark.slow, id=str(row))
        for row in ROWS
        if "mask" not in row.call and row.name != "Masking"
    ],
)
def test_in_a_function(tf, row):
    layer = row.make(tf.keras.layers)
    xs = [tf.constant(x) for x in row.inputs()]
    wanted = row.called(layer, xs).numpy()
    function = tf.function(lambda *given: row.called(layer, given))
    for _ in range(3):
        np.testing.assert_allclose(function(*xs), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", sorted({row.name for row in ROWS} - {"Embedding", "Lambda"}))
def test_whole_numbers(tf, name):
    """Layers with weights or means convert ints to floats; layers that only move them do not."""
    row = next(row for row in ROWS if row.name == name and not row.call)
    layer = row.make(tf.keras.layers)
    xs = [tf.constant(np.arange(np.prod(s)).reshape(s) % 5 + 1) for s in row.shapes]
    floats = row.called(layer, [tf.cast(x, "float32") for x in xs])
    try:
        found = row.called(layer, xs)
    except (TypeError, ValueError, tf.errors.InvalidArgumentError):
        return  # a named error
    np.testing.assert_allclose(found, floats, rtol=1e-5)
