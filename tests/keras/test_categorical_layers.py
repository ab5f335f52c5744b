"""Layers of categories and texts: results of Keras 3.15 for the same arguments, and models."""

import numpy as np
import pytest

import numtape as tf

keras = tf.keras
layers = keras.layers


def plain(x):
    """A result as nested lists."""
    return x.to_list() if isinstance(x, tf.RaggedTensor) else np.asarray(x).tolist()


# What Keras returns, on TensorFlow.
CASES = (
    (
        lambda L: L.StringLookup(vocabulary=["a", "b", "c"])([["a", "c"], ["d", "b"]]),
        [[1, 3], [0, 2]],
    ),
    (
        lambda L: L.StringLookup(vocabulary=["a", "b"], mask_token="", num_oov_indices=2)(
            [["a", ""], ["x", "yy"]]
        ),
        [[3, 0], [1, 2]],
    ),
    (
        lambda L: L.StringLookup(vocabulary=["a", "b"], num_oov_indices=3, salt=[5, 7])(
            ["x", "yy", "z"]
        ),
        [1, 0, 2],
    ),
    (
        lambda L: L.StringLookup(vocabulary=["a", "b"], invert=True)([[1, 2], [0, 7]]),
        [[b"a", b"b"], [b"[UNK]", b"[UNK]"]],
    ),
    (
        lambda L: L.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")([["a"], ["z"]]),
        [[0, 1, 0], [1, 0, 0]],
    ),
    (
        lambda L: L.StringLookup(vocabulary=["a", "b"], output_mode="multi_hot", mask_token="m")(
            [["a", "m"], ["z", "b"]]
        ),
        [[0, 1, 0], [1, 0, 1]],
    ),
    (
        lambda L: L.StringLookup(
            vocabulary=["a", "b"], output_mode="count", max_tokens=5, pad_to_max_tokens=True
        )([["a", "a"], ["z", "b"]]),
        [[0, 2, 0, 0, 0], [1, 0, 1, 0, 0]],
    ),
    (
        lambda L: L.StringLookup(
            vocabulary=["a", "b"], output_mode="tf_idf", idf_weights=[0.5, 2.0]
        )([["a", "a"], ["z", "b"]]),
        [[0.0, 1.0, 0.0], [1.25, 0.0, 2.0]],
    ),
    (
        lambda L: L.IntegerLookup(vocabulary=[12, 36])(np.array([[12, 99], [36, -1]])),
        [[1, 0], [2, 0]],
    ),
    (
        lambda L: L.IntegerLookup(vocabulary=[12, 36], num_oov_indices=2, mask_token=0)(
            np.array([[12, 99], [0, 8]])
        ),
        [[3, 2], [0, 1]],
    ),
    (
        lambda L: L.IntegerLookup(vocabulary=[12, 36], num_oov_indices=3, oov_method="farmhash")(
            np.array([99, 100, 101])
        ),
        [0, 0, 1],
    ),
    (
        lambda L: L.IntegerLookup(vocabulary=[12, 36], invert=True)(np.array([[1, 2], [0, 5]])),
        [[12, 36], [-1, -1]],
    ),
    (
        lambda L: L.IntegerLookup(vocabulary=[12, 36], output_mode="count")(
            np.array([[12, 12, 99], [36, 12, 5]])
        ),
        [[1, 2, 0], [1, 1, 1]],
    ),
    (
        lambda L: L.TextVectorization(vocabulary=["foo", "bar"], output_sequence_length=3)(
            [["Foo, bar! qux foo"], [""]]
        ),
        [[2, 3, 1], [0, 0, 0]],
    ),
    (
        lambda L: L.TextVectorization(vocabulary=["foo", "foo bar"], ngrams=2)(["foo bar", "foo"]),
        [[2, 1, 3], [2, 0, 0]],
    ),
    (
        lambda L: L.TextVectorization(vocabulary=["f", "o"], split="character", standardize=None)(
            ["foF", "o"]
        ),
        [[2, 3, 1], [3, 0, 0]],
    ),
    (
        lambda L: L.TextVectorization(vocabulary=["foo", "bar"], output_mode="multi_hot")(
            ["foo foo", "x bar"]
        ),
        [[0, 1, 0], [1, 0, 1]],
    ),
    (
        lambda L: L.TextVectorization(
            vocabulary=["foo", "bar"], output_mode="tf_idf", idf_weights=[1.0, 3.0]
        )(["foo foo", "x bar"]),
        [[0.0, 2.0, 0.0], [2.0, 0.0, 3.0]],
    ),
    (
        lambda L: L.TextVectorization(vocabulary=["foo", "bar"], ragged=True)(["foo foo", "bar"]),
        [[2, 2], [3]],
    ),
    (
        lambda L: L.TextVectorization(vocabulary=["foo", "bar"], split=None, standardize="lower")(
            ["Foo", "x"]
        ),
        [2, 1],
    ),
    (
        lambda L: L.Hashing(num_bins=3)([["A"], ["B"], ["C"], ["D"], ["E"]]),
        [[1], [0], [1], [1], [2]],
    ),
    (
        lambda L: L.Hashing(num_bins=3, mask_value="")([["A"], ["B"], [""], ["C"]]),
        [[1], [1], [0], [2]],
    ),
    (lambda L: L.Hashing(num_bins=3, salt=[133, 137])([["A"], ["B"], ["C"]]), [[1], [2], [1]]),
    (
        lambda L: L.Hashing(num_bins=4, output_mode="multi_hot")(np.array([[1, 2], [3, 70]])),
        [[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]],
    ),
    (
        lambda L: L.Hashing(num_bins=4, output_mode="one_hot")(np.array([[1], [70]])),
        [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
    ),
    (
        lambda L: L.CategoryEncoding(4)(np.array([[0, 1], [3, 3]])),
        [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
    ),
    (
        lambda L: L.CategoryEncoding(4, output_mode="one_hot")(np.array([3, 2, 0])),
        [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]],
    ),
    (
        lambda L: L.CategoryEncoding(4, output_mode="count")(
            np.array([[0, 1], [3, 3]]), count_weights=np.array([[0.1, 0.2], [0.3, 0.2]])
        ),
        [[0.1, 0.2, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5]],
    ),
    (lambda L: L.CategoryEncoding(3, output_mode="count")(np.array([0, 2, 2])), [1.0, 0.0, 2.0]),
    (
        lambda L: L.Discretization(bin_boundaries=[0.0, 1.0, 2.0])(
            np.array([[-1.5, 1.0, 3.4, 0.5]])
        ),
        [[0, 2, 3, 1]],
    ),
    (
        lambda L: L.Discretization(bin_boundaries=[0.0, 1.0], output_mode="one_hot")(
            np.array([[-1.5], [1.0]])
        ),
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    ),
    (
        lambda L: L.Discretization(bin_boundaries=[0.0, 1.0], output_mode="count")(
            np.array([[-1.5, -2.0], [1.0, 0.5]])
        ),
        [[2.0, 0.0, 0.0], [0.0, 1.0, 1.0]],
    ),
    (
        lambda L: L.HashedCrossing(5)(
            (np.array(["A", "B", "A", "C", "A"]), np.array([101, 101, 101, 102, 102]))
        ),
        [1, 4, 1, 2, 3],
    ),
    (
        lambda L: L.HashedCrossing(5, output_mode="one_hot")(
            (np.array([["A"], ["B"]]), np.array([[101], [102]]))
        ),
        [[0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0]],
    ),
)


@pytest.mark.parametrize(("call", "expected"), CASES)
def test_results(call, expected):
    result = plain(call(layers))
    if np.asarray(expected, object).ravel()[:1].dtype == object and not _is_numeric(expected):
        assert result == expected
    else:
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def _is_numeric(nested):
    try:
        np.asarray(nested, float)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "layer",
    [
        layers.StringLookup(vocabulary=["a", "b"], mask_token="m", output_mode="count"),
        layers.IntegerLookup(vocabulary=[4, 2], num_oov_indices=2, oov_method="farmhash", salt=3),
        layers.TextVectorization(5, standardize=tf.strings.lower, ngrams=(1, 2)),
        layers.Hashing(3, mask_value="x", salt=[1, 2]),
        layers.CategoryEncoding(3, output_mode="one_hot"),
        layers.Discretization(num_bins=4, epsilon=0.1, output_mode="one_hot"),
        layers.HashedCrossing(3, output_mode="one_hot"),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_config_makes_the_same_layer(layer):
    name = "strings_lower"
    keras.saving.register_keras_serializable("numtape_tests", name)(tf.strings.lower)
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


def test_adapt_learns_by_count_and_reverse_order():
    layer = layers.StringLookup(max_tokens=4)
    layer.adapt([["b", "a"], ["c", "b"], ["d", "d"]])
    assert layer.get_vocabulary() == ["[UNK]", "d", "b", "c"]
    text = layers.TextVectorization(output_mode="tf_idf")
    text.adapt(tf.data.Dataset.from_tensor_slices(["a b", "b c", "b b"]).batch(2))
    assert text.get_vocabulary() == ["[UNK]", "b", "c", "a"]
    # log(1 + 3 / (1 + documents)), with the mean in front.
    weights = np.log(1 + 3 / (1 + np.array([3, 1, 1])))
    expected = [[weights.mean(), 2 * weights[0], 0, weights[2]]]
    np.testing.assert_allclose(text(["b a b zzz"]).numpy(), expected, rtol=1e-6)
    integers = layers.IntegerLookup()
    integers.adapt(np.array([3, 5, 5]))
    assert integers.get_vocabulary() == [-1, 5, 3]


def test_discretization_learns_quantiles():
    layer = layers.Discretization(num_bins=4, epsilon=0.01)
    layer.adapt(np.array([[-1.5, 1.0, 3.4, 0.5], [0.0, 3.0, 1.3, 0.0]]))
    np.testing.assert_allclose(layer.bin_boundaries, [0.0, 0.5, 1.3], rtol=1e-6)
    batched = layers.Discretization(num_bins=3)
    batched.adapt(tf.data.Dataset.range(9).batch(4))
    np.testing.assert_allclose(batched.bin_boundaries, [2.0, 5.0])


def test_vocabulary_files(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\nb\n", "utf-8")
    layer = layers.StringLookup(vocabulary=str(path))
    assert layer.get_vocabulary() == ["[UNK]", "a", "b"]
    assert layer.get_config()["vocabulary"] is None
    layer.save_assets(str(tmp_path))
    loaded = layers.StringLookup()
    loaded.load_assets(str(tmp_path))
    assert loaded.get_vocabulary() == layer.get_vocabulary()
    with pytest.raises(ValueError, match="outside of the model archive"):
        layers.StringLookup.from_config({"vocabulary": str(path)})


WRONG = (
    (lambda: layers.StringLookup(max_tokens=1), "must be greater than 1"),
    (lambda: layers.StringLookup(vocabulary=["a", "a"]), "at least one repeated term"),
    (lambda: layers.StringLookup(vocabulary=[]), "empty vocabulary"),
    (lambda: layers.StringLookup(vocabulary=["a", "m"], mask_token="m"), "reserved mask token"),
    (lambda: layers.StringLookup(output_mode="x"), "Unknown value for `output_mode`"),
    (lambda: layers.StringLookup(invert=True, output_mode="count"), "when `invert` is true"),
    (lambda: layers.StringLookup(vocabulary="/nowhere/words.txt"), "does not exist"),
    (lambda: layers.StringLookup(vocabulary=["a"]).adapt(["b"]), "Cannot adapt layer"),
    (lambda: layers.IntegerLookup(vocabulary_dtype="int32"), "Only `vocabulary_dtype='int64'`"),
    (lambda: layers.TextVectorization(ngrams="2"), "`ngrams` must be None"),
    (lambda: layers.TextVectorization()([["a", "b"]]), "last shape dimension must be 1"),
    (lambda: layers.Hashing(0), "non-positive values"),
    (lambda: layers.Hashing(2, salt=[1]), "tuple of size 2 integers"),
    (lambda: layers.CategoryEncoding(), "num_tokens must be set"),
    (lambda: layers.CategoryEncoding(2)([0], count_weights=[1.0]), "is not used when"),
    (lambda: layers.Discretization(), "either `num_bins` or `bin_boundaries`"),
    (lambda: layers.Discretization(num_bins=2)([1.0]), "call `adapt"),
    (lambda: layers.HashedCrossing(2)([[1]]), "at least two inputs"),
    (lambda: layers.HashedCrossing(2)(([1], [1, 2])), "equal shape"),
)


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_unknown_tokens_without_an_index_are_errors():
    with pytest.raises(tf.errors.InvalidArgumentError, match="found OOV values"):
        layers.StringLookup(vocabulary=["a"], num_oov_indices=0)(["b"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        layers.CategoryEncoding(3)([[-1, 1]])
    with pytest.raises(RuntimeError, match="must set the layer's vocabulary"):
        layers.StringLookup(output_mode="count")(["a"])


def test_model_of_strings_learns_and_is_saved(tmp_path):
    inputs = keras.Input((1,), dtype="string")
    lookup = layers.StringLookup(output_mode="one_hot")
    lookup.adapt(["red", "blue", "red"])
    outputs = layers.Dense(1, kernel_initializer="zeros")(lookup(inputs))
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.SGD(0.5), "mse")
    colors, targets = np.array([["red"], ["blue"], ["red"]]), np.array([1.0, -1.0, 1.0])
    model.fit(colors, targets, epochs=20, verbose=0)
    predicted = model.predict(colors, verbose=0)
    np.testing.assert_allclose(predicted.ravel(), targets, atol=0.3)
    path = str(tmp_path / "model.keras")
    model.save(path)
    loaded = keras.models.load_model(path)
    np.testing.assert_allclose(loaded.predict(colors, verbose=0), predicted)


def test_integer_lookup_is_recorded():
    layer = layers.IntegerLookup(vocabulary=[5, 7], num_oov_indices=2, output_mode="count")
    function = tf.function(lambda x: layer(x))
    for values in ([[5, 7, 9]], [[7, 7, 8]], [[1, 2, 5]]):
        x = tf.constant(values, tf.int64)
        np.testing.assert_array_equal(function(x), layer(x))
    assert function.experimental_get_tracing_count() == 1


def test_layers_in_a_dataset():
    text = layers.TextVectorization(vocabulary=["foo", "bar"], output_sequence_length=2)
    data = tf.data.Dataset.from_tensor_slices(["bar foo", "x"]).batch(2).map(text)
    assert [plain(x) for x in data] == [[[3, 2], [1, 0]]]


def make_rows(count):
    """Rows of patients, like those of the data set of heart diseases."""
    rng = np.random.default_rng(0)
    age = rng.integers(30, 75, count).astype(np.float32)
    rows = {
        "age": age,
        "sex": rng.integers(0, 2, count),
        "chol": rng.normal(240, 40, count).astype(np.float32),
        "thal": rng.choice(["fixed", "normal", "reversible"], count),
    }
    target = ((age > 55) | (rows["thal"] == "reversible")).astype(np.int32)
    return rows, target


def test_structured_data_classification_with_feature_space(tmp_path):
    FeatureSpace = keras.utils.FeatureSpace
    rows, target = make_rows(96)
    train = tf.data.Dataset.from_tensor_slices((rows, target)).batch(32)
    space = FeatureSpace(
        features={
            "sex": "integer_categorical",
            "thal": "string_categorical",
            "age": FeatureSpace.float_discretized(num_bins=6),
            "chol": "float_normalized",
        },
        crosses=[("sex", "age"), ("thal", "sex")],
        crossing_dim=8,
        output_mode="concat",
    )
    space.adapt(train.map(lambda x, _: x))
    size = 3 + 4 + 6 + 1 + 2 * 8
    row = {name: values[0] for name, values in rows.items()}
    assert space(row).shape == (size,)
    encoded = train.map(lambda x, y: (space(x), y))
    inputs, features = space.get_inputs(), space.get_encoded_features()
    assert features.shape == (None, size)
    hidden = layers.Dense(8, activation="relu", kernel_initializer=_weights)(features)
    predictions = layers.Dense(1, activation="sigmoid", kernel_initializer=_weights)(hidden)
    training_model = keras.Model(features, predictions)
    training_model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
    history = training_model.fit(encoded, epochs=15, verbose=0).history
    assert history["accuracy"][-1] > 0.85 and history["loss"][-1] < history["loss"][0]
    inference_model = keras.Model(inputs, predictions)
    sample = {name: tf.convert_to_tensor([value]) for name, value in row.items()}
    assert 0.0 <= float(inference_model.predict(sample, verbose=0)[0, 0]) <= 1.0
    path = str(tmp_path / "space.keras")
    space.save(path)
    loaded = keras.models.load_model(path)
    np.testing.assert_allclose(loaded(row), space(row), rtol=1e-6)


def _weights(shape, dtype=None):
    rng = np.random.default_rng(1)
    return tf.constant(rng.normal(0, 0.3, tuple(shape)), tf.float32)


def test_feature_space_of_dicts_and_its_errors():
    FeatureSpace = keras.utils.FeatureSpace
    space = FeatureSpace(
        {
            "word": FeatureSpace.string_hashed(4, output_mode="int"),
            "size": FeatureSpace.float_rescaled(0.5),
        },
        output_mode="dict",
    )
    encoded = space({"word": ["a", "b"], "size": [1.0, 3.0]})
    expected = layers.Hashing(4)([["a"], ["b"]])
    np.testing.assert_array_equal(encoded["word"], expected)
    np.testing.assert_allclose(encoded["size"], [[0.5], [1.5]])
    for call, message in (
        (lambda: FeatureSpace({}), "cannot be None or empty"),
        (lambda: FeatureSpace({"a": "float"}, output_mode="x"), "argument `output_mode`"),
        (lambda: FeatureSpace({"a": "float"}, crosses=[("a", "b")]), "should be present in"),
        (lambda: FeatureSpace({"a": "float_normalized"})({"a": 1.0}), "need to call `.adapt"),
        (lambda: FeatureSpace({"a": "colour"}), "Invalid feature type"),
        (lambda: space([1.0]), "only be called with a dict"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_texts_of_a_folder(tmp_path):
    for name, texts in (("neg", ["bad", "worse"]), ("pos", ["good"])):
        (tmp_path / name).mkdir()
        for k, text in enumerate(texts):
            (tmp_path / name / f"{k}.txt").write_text(text)
    data = keras.utils.text_dataset_from_directory(
        tmp_path, shuffle=False, verbose=False, max_length=3, label_mode="binary"
    )
    ((texts, labels),) = list(data)
    assert data.class_names == ["neg", "pos"]
    assert plain(texts) == [b"bad", b"wor", b"goo"] and plain(labels) == [[0.0], [0.0], [1.0]]
    with pytest.raises(ValueError, match="No text files found"):
        keras.utils.text_dataset_from_directory(tmp_path / "neg" / "..", class_names=[])


@pytest.mark.parametrize(
    ("name", "value"), [("StringLookup", "a"), ("IntegerLookup", 1), ("TextVectorization", "a")]
)
def test_a_layer_without_a_vocabulary_refuses_calls(name, value):
    layer = getattr(layers, name)()
    model = keras.Sequential([keras.Input((1,), dtype=tf.constant([value]).dtype), layer])
    x = tf.constant([[value]])
    with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
        layer(x)
    layer.adapt(x)
    assert plain(model(x)) == plain(layer(x)) and plain(model(x)) != [[0]]
    copy = keras.models.clone_model(model)
    with pytest.raises(tf.errors.FailedPreconditionError, match="clone_model"):
        copy(x)


@pytest.mark.parametrize("name", ["Add", "Multiply", "Maximum", "Concatenate", "Dot"])
def test_encoded_categories_merge_with_numbers(name):
    indicators = layers.IntegerLookup(vocabulary=[4, 7], output_mode="one_hot")([[7], [4]])
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    layer = getattr(layers, name)(*([1] if name == "Dot" else []))
    result = layer([tf.constant(numbers), indicators])
    assert indicators.dtype == tf.int64 and result.dtype == tf.float32
    expected = layer([tf.constant(numbers), tf.cast(indicators, tf.float32)])
    np.testing.assert_array_equal(result, expected)


def test_promotion_is_recorded(recwarn):
    from numtape.keras.ops import define

    layer = layers.Concatenate()
    function = tf.function(lambda x, y: layer([x, y]))
    define._all_above.cache_clear()
    define._least_upper_bound.cache_clear()
    for k in range(4):
        x, y = tf.constant([[1.0 * k]]), tf.constant([[k]])
        assert plain(function(x, y)) == [[k, k]]
    assert not [str(w.message) for w in recwarn if "plain Python" in str(w.message)]
