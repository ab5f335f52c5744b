"""`keras.utils` and `keras.backend`: labels, sequences, seeds, registered classes."""

import random

import numpy as np
import pytest
from tensorflow_reference import installed

import numtape

SERIES = np.arange(20.0).reshape(10, 2)
# A name, arguments, keyword arguments.
CALLS = [
    ("to_categorical", [[0, 2, 1]], {}),
    ("to_categorical", [[[0], [2]]], {"num_classes": 4}),
    ("to_categorical", [[[0, 1], [2, 0]]], {}),
    ("normalize", [np.array([[3.0, 4.0], [0.0, 0.0]])], {}),
    ("normalize", [np.arange(6.0).reshape(2, 3)], {"axis": 1, "order": 1}),
    ("pad_sequences", [[[1], [2, 3], [4, 5, 6]]], {}),
    ("pad_sequences", [[[1], [2, 3], [4, 5, 6]]], {"maxlen": 2, "padding": "post"}),
    (
        "pad_sequences",
        [[[1], [], [4, 5, 6]]],
        {"maxlen": 2, "truncating": "post", "value": -1.5, "dtype": "float32"},
    ),
    ("pad_sequences", [[[[1, 2]], [[3, 4], [5, 6]]]], {"maxlen": 3}),
    ("pack_x_y_sample_weight", [1, 2], {}),
    ("pack_x_y_sample_weight", [1, 2], {"sample_weight": 3}),
    ("pack_x_y_sample_weight", [1], {}),
    ("unpack_x_y_sample_weight", [(1, 2)], {}),
    ("unpack_x_y_sample_weight", [5], {}),
    ("unpack_x_y_sample_weight", [[1, 2, 3]], {}),
]
calls = pytest.mark.parametrize(("name", "arguments", "options"), CALLS)


@pytest.mark.numtape_only("asks both")
@calls
def test_as_keras(name, arguments, options):
    ours, theirs = (
        getattr(library.utils, name)(*arguments, **options)
        for library in (numtape.keras, installed().keras)
    )
    if isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    else:
        assert ours == theirs


def test_labels(tf):
    for found in (
        tf.keras.utils.to_categorical([0, 2], 3),
        tf.keras.utils.to_categorical(tf.constant([[0], [2]]), 3).numpy(),
    ):
        np.testing.assert_array_equal(found, [[1, 0, 0], [0, 0, 1]])


@pytest.mark.numtape_only("Keras counts from the end, or has other errors")
@pytest.mark.parametrize("bad", [([0, 3], 3), ([-1], 3), ([], None)])
def test_labels_that_are_no_classes(bad):
    with pytest.raises(ValueError, match="classes"):
        numtape.keras.utils.to_categorical(*bad)


def test_lengths(tf):
    x = tf.constant([[3.0, -4.0], [0.0, 0.0]])
    for order, first in ((2, [0.6, -0.8]), (1, [3 / 7, -4 / 7]), (np.inf, [0.75, -1.0])):
        found = tf.keras.utils.normalize(x, order=order).numpy()
        np.testing.assert_allclose(found, [first, [0, 0]], rtol=1e-6)


def test_padding(tf):
    found = tf.keras.utils.pad_sequences([[1, 2, 3], [4]], maxlen=2)
    np.testing.assert_array_equal(found, [[2, 3], [0, 4]])
    for options in ({"padding": "nosuch"}, {"truncating": "nosuch"}, {"value": "a"}):
        with pytest.raises(ValueError):
            tf.keras.utils.pad_sequences([[1], [2, 3]], **options)
    for bad in ([1, 2], 5, [[[1, 2]], [[1]]]):
        with pytest.raises(ValueError):
            tf.keras.utils.pad_sequences(bad)


def test_seeds(tf):
    drawn = []
    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        for _ in range(2):
            tf.keras.utils.set_random_seed(5)
            drawn.append((random.random(), np.random.rand(), float(tf.random.normal(()))))  # noqa: NPY002
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
    assert drawn[0] == drawn[1]
    with pytest.raises(ValueError, match="Expected `seed` argument to be an integer"):
        tf.keras.utils.set_random_seed(1.5)


WINDOWS = [
    {},
    {"sequence_stride": 2, "sampling_rate": 2},
    {"start_index": 2, "end_index": 8},
    {"batch_size": None},
    {"targets": None},
]


def windows(keras, options):
    options = {"targets": SERIES[:, 0] * 10, "sequence_length": 3, "batch_size": 4, **options}
    found = keras.utils.timeseries_dataset_from_array(SERIES, **options)
    return [
        [np.asarray(part) for part in (row if isinstance(row, tuple) else (row,))] for row in found
    ]


@pytest.mark.numtape_only("asks both")
@pytest.mark.parametrize("options", WINDOWS, ids=str)
def test_windows_as_keras(options):
    ours, theirs = windows(numtape.keras, options), windows(installed().keras, options)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_windows(tf):
    (x, y), *rest = windows(tf.keras, {})
    np.testing.assert_array_equal(x, [SERIES[k : k + 3] for k in range(4)])
    np.testing.assert_array_equal(y, SERIES[:4, 0] * 10)
    assert [len(row[0]) for row in rest] == [4]
    found = windows(tf.keras, {"shuffle": True, "seed": 1})
    starts = np.concatenate([row[0][:, 0, 0] for row in found])
    assert sorted(starts) == [0, 2, 4, 6, 8, 10, 12, 14] and list(starts) != sorted(starts)
    for options in (
        {"start_index": 10},
        {"end_index": 11},
        {"sampling_rate": 0},
        {"sequence_stride": 10},
        {"start_index": 5, "end_index": 4},
    ):
        with pytest.raises(ValueError, match="Received"):
            windows(tf.keras, options)


@pytest.mark.numtape_only("Keras has no iteration")
def test_data_fetched_batch_by_batch():
    class Numbers(numtape.keras.utils.Sequence):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return index, -index

    assert list(Numbers()) == [(0, 0), (1, -1), (2, -2)]
    assert Numbers().num_batches == 3
    with pytest.raises(NotImplementedError, match="workers"):
        Numbers(workers=4)


def test_registered_classes(tf):
    utils = tf.keras.utils

    @utils.register_keras_serializable("mine", "Total")
    class Sum(tf.keras.metrics.Sum):
        pass

    assert utils.get_registered_name(Sum) == "mine>Total"
    assert utils.get_registered_object("mine>Total") is Sum
    config = tf.keras.metrics.serialize(Sum(name="all"))
    assert config["registered_name"] == "mine>Total"
    again = tf.keras.metrics.deserialize(config)
    assert type(again) is Sum and again.name == "all"
    with pytest.raises(ValueError, match="get_config"):
        utils.register_keras_serializable()(type("Plain", (), {}))


@pytest.mark.numtape_only("Keras keeps them elsewhere")
def test_scopes_of_names(tf):
    def mine(y_true, y_pred):
        return y_true

    with tf.keras.utils.custom_object_scope({"mine": mine}):
        assert tf.keras.utils.get_custom_objects()["mine"] is mine
        assert tf.keras.metrics.deserialize("mine") is mine
    assert "mine" not in tf.keras.utils.get_custom_objects()


def test_backend(tf):
    assert tf.keras.backend.epsilon() == 1e-7
    assert tf.keras.backend.floatx() == "float32"
    assert tf.keras.backend.image_data_format() == "channels_last"
    tf.keras.metrics.Precision()
    tf.keras.backend.clear_session()
    assert tf.keras.metrics.Precision().name == "precision"
    assert tf.keras.metrics.Precision().name == "precision_1"
