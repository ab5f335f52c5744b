"""Keras's files: `.keras`, `.weights.h5` and legacy `.h5`, written and read by numtape.

Two files that Keras 3.15 wrote are in ``keras_file_data.py``; ``tests/parity`` compares layers.
"""

import base64
import io
import json
import sys
import zipfile
import zlib

import keras_file_data
import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
pytestmark = pytest.mark.numtape_only("about numtape's side of Keras's files")
X = np.array([[0, 1], [1, 1], [2, -1], [-1, 0.5]], np.float32)
Y = X[:, :1] - 1
# After one step of training; then the losses of three more, both from Keras.
PREDICTIONS = [0.17421752, 0.06990234, -0.13751464, 0.11263366]
LOSSES = [1.7449136972, 1.1824067831, 1.6758122444]


def keras_file(tmp_path, name):
    path = tmp_path / f"model.{name}"
    path.write_bytes(zlib.decompress(base64.b85decode(getattr(keras_file_data, name.upper()))))
    return path


@pytest.mark.parametrize("name", ["keras", "h5"])
def test_keras_files_are_read_with_the_state_of_the_optimizer(tf, tmp_path, name):
    model = tf.keras.models.load_model(keras_file(tmp_path, name))
    assert [layer.name for layer in model.layers] == ["a", "n", "b"]
    np.testing.assert_allclose(model.predict(X, verbose=0).ravel(), PREDICTIONS, atol=1e-6)
    losses = [model.train_on_batch(X, Y)[0] for _ in range(3)]
    np.testing.assert_allclose(losses, LOSSES, rtol=1e-5)
    model.save(tmp_path / f"other.{name}")
    other = tf.keras.models.load_model(tmp_path / f"other.{name}")
    assert model.train_on_batch(X, Y) == other.train_on_batch(X, Y)


def nested(keras):
    inner = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3), keras.layers.Dense(2)])
    x = keras.Input((2,))
    return keras.Model(x, keras.layers.Dense(1)(inner(x)))


def test_paths_in_a_file_of_weights(tf, tmp_path):
    path = tmp_path / "model.weights.h5"
    model = nested(tf.keras)
    model.save_weights(path)
    with h5py.File(path) as file:
        names = []
        file.visititems(lambda n, x: names.append(n) if isinstance(x, h5py.Dataset) else None)
        kernel = file["layers/sequential/layers/dense_1/vars/0"][()]
    prefixes = ["dense", "sequential/layers/dense", "sequential/layers/dense_1"]
    assert sorted(names) == [f"layers/{p}/vars/{k}" for p in prefixes for k in (0, 1)]
    assert np.array_equal(kernel, model.layers[1].layers[1].kernel)
    other = nested(tf.keras)
    other.load_weights(path)
    assert all(np.array_equal(a, b) for a, b in zip(model.weights, other.weights, strict=True))


def test_a_config_is_keras_s(tf, tmp_path):
    model = nested(tf.keras)
    model.compile("adam", "mean_squared_error")
    model.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        assert archive.namelist() == ["metadata.json", "config.json", "model.weights.h5"]
        config = json.loads(archive.read("config.json"))
    assert config["module"] == "keras.src.models.functional"
    assert config["class_name"] == "Functional" and config["registered_name"] is None
    dense = config["config"]["layers"][2]
    assert dense["module"] == "keras.layers" and dense["build_config"] == {"input_shape": [None, 2]}
    assert dense["config"]["dtype"]["class_name"] == "DTypePolicy"
    assert config["compile_config"]["loss"] == "mean_squared_error"


def test_shards(tf, tmp_path):
    model = nested(tf.keras)
    model.save_weights(tmp_path / "model.weights.json", max_shard_size=40 / 2**30)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files[0] == "model.weights.json" and files[1] == "model_00000.weights.h5"
    assert len(files) > 2
    other = nested(tf.keras)
    other.load_weights(tmp_path / "model.weights.json")
    assert all(np.array_equal(a, b) for a, b in zip(model.weights, other.weights, strict=True))
    with pytest.raises(ValueError, match="exceeds the maximum shard size"):
        model.save_weights(tmp_path / "a.weights.json", max_shard_size=4 / 2**30)
    (tmp_path / files[1]).unlink()
    with pytest.raises(tf.errors.NotFoundError, match="model_00000"):
        other.load_weights(tmp_path / "model.weights.json")


def test_what_does_not_match_is_refused_or_skipped(tf, tmp_path):
    keras = tf.keras
    path = tmp_path / "model.weights.h5"
    layers = keras.layers
    first = keras.Sequential([keras.Input((2,)), layers.Dense(3, name="a"), layers.Dense(4)])
    first.save_weights(path)
    other = keras.Sequential([keras.Input((2,)), layers.Dense(3), layers.Dense(5)])
    before = other.get_weights()
    with pytest.raises(ValueError, match="1 objects could not be loaded"):
        other.load_weights(path)
    assert all(np.array_equal(a, b) for a, b in zip(before, other.get_weights(), strict=True))
    with pytest.warns(UserWarning, match="1 objects could not be loaded"):
        other.load_weights(path, skip_mismatch=True)
    assert np.array_equal(other.layers[0].kernel, first.layers[0].kernel)
    first.save(tmp_path / "model.h5")
    named = keras.Sequential([keras.Input((2,)), layers.Dense(2), layers.Dense(3, name="a")])
    with pytest.raises(ValueError, match="Shape mismatch in layer"):
        named.load_weights(tmp_path / "model.h5")
    same = keras.Sequential([keras.Input((2,)), layers.Dense(3, name="a"), layers.Dense(9)])
    same.load_weights(tmp_path / "model.h5", by_name=True)
    assert np.array_equal(same.layers[0].kernel, first.layers[0].kernel)
    with pytest.raises(ValueError, match="`by_name` only supports"):
        other.load_weights(path, by_name=True)
    other.load_weights(path, objects_to_skip=[other.layers[1]])


def test_own_state_assets_and_containers(tf, tmp_path):
    keras = tf.keras

    @keras.saving.register_keras_serializable("files")
    class Words(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.words, self.count = [], 0
            self.parts = [keras.layers.Dense(2), {"b": [keras.layers.Dense(2)]}]

        def build(self, shape):
            for layer in (self.parts[0], self.parts[1]["b"][0]):
                if not layer.built:
                    layer.build(shape)

        def call(self, x):
            return self.parts[0](x) + self.parts[1]["b"][0](x)

        def save_own_variables(self, store):
            store["count"] = self.count

        def load_own_variables(self, store):
            self.count = int(store["count"])

        def save_assets(self, folder):
            with open(f"{folder}/words.txt", "w") as file:
                file.write(" ".join(self.words))

        def load_assets(self, folder):
            with open(f"{folder}/words.txt") as file:
                self.words = file.read().split()

    model = keras.Sequential([keras.Input((2,)), Words()])
    model.layers[0].words, model.layers[0].count = ["x", "y"], 7
    path = tmp_path / "model.keras"
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        assert "assets/layers/words/words.txt" in archive.namelist()
        weights = archive.read("model.weights.h5")
    with h5py.File(io.BytesIO(weights)) as file:
        assert "layers/words/parts/container/container/dense/vars/0" in file
    model.save(tmp_path / "folder", zipped=False)
    stream = io.BytesIO()
    model.save(stream)
    stream.seek(0)
    for place in (path, tmp_path / "folder", stream):
        other = keras.models.load_model(place)
        assert (other.layers[0].words, other.layers[0].count) == (["x", "y"], 7)
        assert np.array_equal(other(X), model(X))


def test_shared_layers_and_half_precision(tf, tmp_path):
    keras = tf.keras
    shared = keras.layers.Dense(2)
    x = keras.Input((3, 2))
    parts = [keras.layers.TimeDistributed(shared)(x) for _ in range(2)]
    pooled = keras.layers.GlobalMaxPooling1D()(keras.layers.Add()(parts))
    model = keras.Model(x, keras.layers.Dense(1, dtype="bfloat16")(pooled))
    model.save(tmp_path / "model.keras")
    plain = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, dtype="bfloat16")])
    plain.save(tmp_path / "plain.h5")
    for path, saved in ((tmp_path / "model.keras", model), (tmp_path / "plain.h5", plain)):
        other = keras.models.load_model(path)
        assert [v.dtype for v in other.weights] == [v.dtype for v in saved.weights]
        values = zip(saved.get_weights(), other.get_weights(), strict=True)
        assert all(np.array_equal(a, b) for a, b in values)
    first, second = (y for y in keras.models.load_model(tmp_path / "model.keras").layers
                     if isinstance(y, keras.layers.TimeDistributed))  # fmt: skip
    assert first.layer is second.layer


def test_seeds_go_on(tf, tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((9,)), tf.keras.layers.Dropout(0.5, seed=3)])
    x = np.ones((2, 9), np.float32)
    model(x, training=True)
    model.save_weights(tmp_path / "model.weights.h5")
    expected = model(x, training=True)
    model.load_weights(tmp_path / "model.weights.h5")
    assert np.array_equal(model(x, training=True), expected)


def test_links_in_hdf5_are_refused(tf, tmp_path):
    path = tmp_path / "model.weights.h5"
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.save_weights(path)
    for link in (h5py.SoftLink("/vars"), h5py.ExternalLink("other.h5", "/x")):
        with h5py.File(path, "a") as file:
            file["layers/link"] = link
        with pytest.raises(ValueError, match="Not allowed: H5 file with"):
            model.load_weights(path)
        with h5py.File(path, "a") as file:
            del file["layers/link"]
    with h5py.File(path, "a") as file:
        file["layers/dense/vars"].create_dataset("2", (2**40,), "f4", chunks=True)
    with pytest.raises(ValueError, match="shape bomb"):
        model.load_weights(path)


def test_assets_stay_in_their_folder(tf, tmp_path):
    path = tmp_path / "model.keras"
    tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)]).save(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("assets/../../evil.txt", "x")
    with pytest.raises(ValueError, match="leads out of the folder"):
        tf.keras.models.load_model(path)


def test_without_h5py(tf, tmp_path, monkeypatch):
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    monkeypatch.setitem(sys.modules, "h5py", None)
    for name in ("a.keras", "a.h5"):
        with pytest.raises(ImportError, match=r"numtape\[h5\]"):
            model.save(tmp_path / name)
    with pytest.raises(ImportError, match=r"numtape\[h5\]"):
        model.save_weights(tmp_path / "a.weights.h5")
    model.save_weights(tmp_path / "a.weights.safetensors")
    model.load_weights(tmp_path / "a.weights.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["a.weights.safetensors"]


def test_other_places_are_refused(tf, tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    (tmp_path / "saved_model.pb").touch()
    for action, hint in (
        (lambda: model.save("hf://a/b"), "does not use the network"),
        (lambda: tf.keras.models.load_model("hf://a/b"), "does not use the network"),
        (lambda: tf.keras.models.load_model(tmp_path), "is a SavedModel"),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match=hint):
            action()
    with pytest.raises(ValueError, match="`save_format` argument is deprecated"):
        model.save(tmp_path / "a.keras", save_format="tf")
    with pytest.raises(AttributeError, match="ONNX"):
        model.export  # noqa: B018


def test_clones(tf):
    keras = tf.keras
    model = nested(keras)
    dense = [layer for layer in model.layers if type(layer) is keras.layers.Dense]

    def half(layer):
        config = layer.get_config()
        if "units" in config and layer not in dense:
            config["activation"] = "relu"
        return type(layer).from_config(config)

    other = keras.models.clone_model(model, clone_function=half, recursive=True)
    assert [x.activation.__name__ for x in other.layers[1].layers] == ["relu", "relu"]
    dropped = keras.models.clone_model(
        model,
        clone_function=lambda layer: layer,
        call_function=lambda layer, *args, **kwargs: keras.layers.Dropout(0.5)(
            layer(*args, **kwargs)
        ),
    )
    assert len(dropped.layers) == len(model.layers) + 2
    assert np.array_equal(dropped(X), model(X))
    y = keras.Input((2,))
    assert keras.models.clone_model(model, input_tensors=y).input is y
    with pytest.raises(ValueError, match="same structure"):
        keras.models.clone_model(model, input_tensors=[y, y])
