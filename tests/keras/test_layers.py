"""Layers from a table: each row compared with Keras, or without Keras with NumPy."""

import copy
import importlib.util
import os
import pickle

import numpy as np
import pytest
from layer_rows import ROWS

pytestmark = pytest.mark.numtape_only("about numtape's layers")
needs_keras = pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="needs Keras")

# Classes that are not callable layers, or that other tests cover.
ELSEWHERE = {
    "InputSpec",
    "Layer",
    "Input",
    "InputLayer",
    "GroupQueryAttention",
    "ReversibleEmbedding",
}
# Modules of layers that other test files cover.
OTHER_MODULES = {
    "categories",
    "conv_lstm",
    "foreign",
    "image_preprocessing",
    "lookup",
    "recurrent",
    "recurrent_cells",
    "spectrogram",
    "text_vectorization",
    "wrappers",
}


@pytest.fixture(scope="module")
def keras():
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # its convolutions crash the process
    return pytest.importorskip("keras")


def filled(layer, seed=3):
    """Set the weights of a built layer to random values, with positive variances."""
    random = np.random.default_rng(seed)
    values = [random.uniform(0.5, 1.5, tuple(v.shape)) - (len(v.shape) > 1) for v in layer.weights]
    layer.set_weights(
        [value.astype(np.asarray(v).dtype) for v, value in zip(layer.weights, values, strict=True)]
    )
    return [np.asarray(v) for v in layer.weights]


def gradients(library, row, layer, arrays, **more):
    """The output of a layer, and gradients of a weighted sum by inputs and weights."""
    xs = [library.constant(x) for x in arrays]
    with library.GradientTape() as tape:
        if not row.ints:
            tape.watch(xs)
        y = row.called(layer, xs, **more)
        weight = np.cos(np.arange(np.asarray(y).size)).reshape(y.shape)
        loss = library.reduce_sum(y * weight.astype(np.asarray(y).dtype))
    sources = [
        *(() if row.ints else xs),
        *(v if library.__name__ == "numtape" else v.value for v in layer.trainable_weights),
    ]
    found = tape.gradient(loss, sources)
    return [
        np.asarray(y),
        *(None if g is None else np.asarray(library.convert_to_tensor(g)) for g in found),
    ]


def close(found, wanted, limit, size=None):
    """Compare arrays, with a tolerance relative to the largest element or to ``size``."""
    assert (found is None) == (wanted is None)
    if wanted is not None:
        assert found.shape == wanted.shape
        assert found.dtype == wanted.dtype
        size = size or np.abs(wanted).max(initial=1e-3)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=limit * size)


@needs_keras
@pytest.mark.parametrize("row", [row for row in ROWS if row.is_in_keras], ids=str)
def test_against_keras(tf, keras, row):
    """Output, gradients, weights, shapes and config equal Keras's, in training and inference."""
    import tensorflow

    arrays = row.inputs()
    theirs, ours = (row.make(library.layers) for library in (keras, tf.keras))
    row.called(theirs, [tensorflow.constant(x) for x in arrays])
    row.called(ours, [tf.constant(x) for x in arrays])
    assert [v.name for v in ours.weights] == [v.name for v in theirs.weights]
    assert [tuple(v.shape) for v in ours.weights] == [tuple(v.shape) for v in theirs.weights]
    assert [v.trainable for v in ours.weights] == [v.trainable for v in theirs.weights]
    for training in (False, True) if row.training else (False,):
        filled(ours)
        filled(theirs)
        more = {"training": training} if row.training else {}
        wanted = gradients(tensorflow, row, theirs, arrays, **more)
        found = gradients(tf, row, ours, arrays, **more)
        close(found[0], wanted[0], 1e-6)
        # A gradient that is 0 but for rounding, such as of the bias of keys, is small beside
        # the others.
        size = max((np.abs(g).max(initial=1e-3) for g in wanted[1:] if g is not None), default=1.0)
        for x, y in zip(found[1:], wanted[1:], strict=True):
            close(x, y, 1e-6, size)
        for x, y in zip(ours.weights, theirs.weights, strict=True):
            close(np.asarray(x), np.asarray(y), 1e-6)
    shapes = [(None, *shape[1:]) for shape in row.shapes]
    given = shapes if row.apart else [shapes if isinstance(row.shape, list) else shapes[0]]
    if row.name != "Lambda":
        sizes = zip(
            ours.compute_output_shape(*given), theirs.compute_output_shape(*given), strict=True
        )
        assert all(m == n for m, n in sizes if n is not None)
        # Entries that Keras omits in some configs.
        own = set(ours.get_config()) - {"activity_regularizer", "trainable"}
        assert own <= set(theirs.get_config())


@needs_keras
@pytest.mark.parametrize("name", sorted({row.name for row in ROWS if row.is_in_keras}))
def test_arguments_are_those_of_keras(tf, keras, name):
    import inspect

    ours, theirs = (
        [
            (p.name, p.default)
            for p in inspect.signature(getattr(library.layers, name).__init__).parameters.values()
        ]
        for library in (tf.keras, keras)
    )
    missing = {
        "lora_rank",
        "lora_alpha",
        "quantization_config",
        "gptq_unpacked_column_size",
        "renorm",
        "renorm_clipping",
        "renorm_momentum",
        "flash_attention",
    }
    wanted = [pair for pair in theirs if pair[0] not in missing]
    assert [p for p, _ in ours if p != "kwargs"] == [p for p, _ in wanted if p != "kwargs"]
    for (_, ours_default), (_, theirs_default) in zip(ours, wanted, strict=False):
        assert np.all(np.equal(ours_default, theirs_default)) or ours_default == theirs_default


@pytest.mark.parametrize("row", [row for row in ROWS if row.formula], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_against_numpy(tf, row, dtype):
    arrays = row.inputs(dtype)
    layer = row.make(tf.keras.layers, dtype=dtype)
    xs = [tf.constant(x) for x in arrays]
    row.called(layer, xs)
    weights = filled(layer)
    found = row.called(layer, xs).numpy()
    precise = [x if row.ints else x.astype("float64") for x in arrays]
    wanted = row.formula([w.astype("float64") for w in weights], *precise)
    assert found.dtype == dtype
    close(found, np.asarray(wanted, dtype), 5e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_shapes_configs_and_empty_batches(tf, row):
    layer = row.make(tf.keras.layers, name="mine")
    xs = [tf.constant(x) for x in row.inputs()]
    y = row.called(layer, xs)
    shapes = [tuple(x.shape) for x in xs]
    given = shapes if row.apart else [shapes if isinstance(row.shape, list) else shapes[0]]
    assert tuple(layer.compute_output_shape(*given)) == tuple(y.shape)
    config = layer.get_config()
    twin = type(layer).from_config(config)
    assert twin.name == "mine"
    assert {k: str(v) for k, v in twin.get_config().items()} == {
        k: str(v) for k, v in config.items()
    }
    row.called(twin, xs)
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(row.called(twin, xs), y)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        np.testing.assert_array_equal(row.called(copied, xs), y)
    if row.batchless:
        empty = row.called(layer, [tf.constant(x) for x in row.inputs(batch=0)])
        assert tuple(empty.shape) == (0, *y.shape[1:])


def test_every_layer_has_a_row(tf):
    layers = tf.keras.layers
    classes = {n for n in layers.__all__ if isinstance(getattr(layers, n), type)} - ELSEWHERE
    named = {getattr(layers, row.name) for row in ROWS}
    modules = {n: set(getattr(layers, n).__module__.split(".")) for n in classes}
    others = {n for n in classes if modules[n] & OTHER_MODULES}
    assert {n for n in classes - others if getattr(layers, n) not in named} == set()
