"""Pictures of models, progress bars, files and data sets of `keras.utils` and `keras.datasets`."""

import gzip
import io
import json
import pickle
import tarfile
import wave
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from numtape.keras.utils.graph_layout import layout

pytestmark = pytest.mark.numtape_only("about numtape's own utilities")


# --- Pictures -------------------------------------------------------------------------------------


def test_boxes_do_not_overlap_and_edges_point_down():
    rng = np.random.default_rng(0)
    for count in (1, 2, 9, 30):
        edges = [(int(rng.integers(b)), b) for b in range(1, count) for _ in range(2)]
        edges = sorted(set(edges))
        sizes = [(float(w), float(h)) for w, h in rng.integers(10, 90, (count, 2))]
        placed = layout(sizes, edges, gap=8)
        boxes = [
            (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
            for (x, y), (w, h) in zip(placed.centers, sizes, strict=True)
        ]
        for k, (x0, y0, x1, y1) in enumerate(boxes):
            assert -1e-6 <= x0 and x1 <= placed.size[0] + 1e-6 and y1 <= placed.size[1] + 1e-6
            for u0, v0, u1, v1 in boxes[k + 1 :]:
                assert x1 <= u0 or u1 <= x0 or y1 <= v0 or v1 <= y0
        for (first, last), path in zip(edges, placed.paths, strict=True):
            heights = [y for _, y in path]
            assert heights == sorted(heights) and boxes[first][3] <= boxes[last][1]


def drawn(keras):
    inner = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, "relu")], name="inner")
    x = keras.Input((3,), name="x")
    y = inner(x)
    frozen = keras.layers.Dense(2, name="frozen")
    frozen.trainable = False
    return keras.Model(x, keras.layers.Add(name="sum")([frozen(x), y]) * 2.0, name="<m>")


def texts(svg):
    return [x.text for x in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_pictures_show_layers(tf, tmp_path):
    keras, model = tf.keras, drawn(tf.keras)
    plot = keras.utils.plot_model
    assert texts(plot(model, None).to_svg()) == [
        *("InputLayer", "Dense", "Sequential", "Add", "Multiply")
    ]
    shown = texts(
        plot(
            model,
            tmp_path / "a.svg",
            show_shapes=True,
            show_dtype=True,
            show_layer_names=True,
            show_layer_activations=True,
            show_trainable=True,
            expand_nested=True,
        ).to_svg()
    )
    assert (tmp_path / "a.svg").read_text().count("<polygon") == 6
    for text in ("inner (Sequential)", "Activation: relu", "Non-trainable", "Trainable"):
        assert text in shown
    assert "Input shape: (None, 2), (None, 2)" in shown and "Output dtype: float32" in shown
    sizes = {}
    for rankdir in ("TB", "BT", "LR", "RL"):
        root = ET.fromstring(plot(model, None, rankdir=rankdir).to_svg())
        sizes[rankdir] = [float(root.get(name)) for name in ("width", "height")]
    assert sizes["TB"] == sizes["BT"] and sizes["LR"] == sizes["RL"]
    assert sizes["LR"][0] > sizes["TB"][0] and sizes["LR"][1] < sizes["TB"][1]
    wide = ET.fromstring(plot(model, None, dpi=192).to_svg())
    assert abs(float(wide.get("width")) - 2 * sizes["TB"][0]) <= 1
    dot = keras.utils.model_to_dot(model, expand_nested=True)
    assert "subgraph cluster_" in dot and dot.count("->") == 6


def test_a_picture_in_png(tf, tmp_path):
    image = pytest.importorskip("PIL.Image")
    tf.keras.utils.plot_model(drawn(tf.keras), tmp_path / "a.png", show_layer_names=True)
    with image.open(tmp_path / "a.png") as picture:
        colors = picture.getcolors(1 << 20)
        assert min(picture.size) > 100 and len(colors) > 20


def test_pictures_that_are_refused(tf):
    keras = tf.keras
    for arguments, error, hint in (
        ((keras.Sequential([keras.layers.Dense(1)]), None), ValueError, "not yet been built"),
        ((drawn(keras), "model.jpg"), ValueError, "must end in '.svg' or '.png'"),
        ((keras.layers.Dense(1), None), TypeError, "must be a Keras model"),
    ):
        with pytest.raises(error, match=hint):
            keras.utils.plot_model(*arguments)


# --- Progress, settings, symbols ------------------------------------------------------------------


def test_progress(tf, capsys):
    bar = tf.keras.utils.Progbar(3, width=6, interval=0.0, stateful_metrics=["last"])
    bar.update(1, [("mean", 1.0), ("last", 1.0)])
    bar.add(1, [("mean", [3.0, 5.0]), ("last", 2.0)])
    lines = capsys.readouterr().out.split("\n")
    assert lines[1].startswith("1/3 ━━────") and "mean: 2.5000 - last: 2.0000" in lines[2]
    bar.update(3, finalize=True)
    tf.keras.utils.Progbar(None).update(2)
    assert "2/Unknown" in capsys.readouterr().out
    with pytest.raises(ValueError, match="Only one of"):
        tf.keras.utils.Progbar(1, stateful_metrics=[], stateless_metrics=[])


def test_settings(tf):
    config = tf.keras.utils.Config(a=1)
    config.b, config["c"] = 2, 3
    del config.a
    assert config.as_dict() == {"b": 2, "c": 3} and "b" in config and len(config) == 2
    assert json.loads(config.to_json()) == {"b": 2, "c": 3} and config.pop("c") == 3
    config.freeze()
    with pytest.raises(ValueError, match="frozen"):
        config.d = 4
    with pytest.raises(AttributeError, match="Unknown attribute: 'bb'"):
        config.bb  # noqa: B018


def test_sources(tf):
    keras = tf.keras
    x, y = keras.Input((2,)), keras.Input((2,))
    z = keras.layers.Add()([x, keras.layers.Dense(2)(y)]) + x
    sources = keras.utils.get_source_inputs(z)
    assert {id(s) for s in sources} == {id(x), id(y)}
    with pytest.raises(TypeError, match="must be a KerasTensor"):
        keras.utils.get_source_inputs(tf.ones(2))


# --- Datasets of files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"left_size": 0.7}, (7, 3)),
        ({"right_size": 4}, (6, 4)),
        ({"left_size": 2, "right_size": 0.3}, (2, 3)),
        ({}, "At least one of"),
        ({"left_size": 11}, "`left_size` should be"),
        ({"left_size": 0.9, "right_size": 0.2}, "greater than 1"),
        ({"left_size": 1.0}, "right dataset will be empty"),
    ],
)
def test_split(tf, sizes, expected):
    x, y = np.arange(10), {"a": np.arange(10.0)}
    data = tf.data.Dataset.from_tensor_slices((x, y))
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            tf.keras.utils.split_dataset(data, **sizes)
        return
    for shuffle in (False, True):
        parts = tf.keras.utils.split_dataset(data, shuffle=shuffle, seed=1, **sizes)
        numbers = [[int(a) for a, _ in part] for part in parts]
        assert tuple(map(len, numbers)) == expected
        assert not set(numbers[0]) & set(numbers[1])
        assert shuffle or (numbers[0][0], numbers[1][-1]) == (0, 9)
        assert all(float(b["a"]) == float(a) for part in parts for a, b in part)


def write_wav(path, samples, width, rate=100):
    path.parent.mkdir(exist_ok=True)
    scaled = np.round(samples * 2 ** (8 * width - 1)).astype("<i8")
    content = (scaled + 128 if width == 1 else scaled).astype("<i8")
    data = content.view("u1").reshape(*samples.shape, 8)[..., :width].tobytes()
    with wave.open(str(path), "wb") as file:
        file.setparams((samples.shape[1], width, rate, 0, "NONE", ""))
        file.writeframes(data)


def test_audio(tf, tmp_path):
    load = tf.keras.utils.audio_dataset_from_directory
    samples = np.array([[0.5, -1.0], [0.25, 0.75], [-0.5, 0.0]])
    for k, name in enumerate(("a", "b", "a", "b"), 1):
        write_wav(tmp_path / name / f"{k}.wav", samples[: 4 - k] if k > 1 else samples, k)
    options = {"shuffle": False, "verbose": False}
    data = load(tmp_path, batch_size=None, **options)
    assert data.class_names == ["a", "b"]
    shapes = [(x.shape.as_list(), int(y)) for x, y in data]
    assert shapes == [([3, 2], 0), ([1, 2], 0), ([2, 2], 1), ([0, 2], 1)]
    first = next(iter(data))[0]
    np.testing.assert_allclose(first, samples, atol=2**-7)
    x, y = next(iter(load(tmp_path, label_mode="categorical", output_sequence_length=5, **options)))
    assert x.shape.as_list() == [4, 5, 2] and y.numpy()[:, 1].tolist() == [0, 0, 1, 1]
    assert np.all(x.numpy()[:, 3:] == 0)
    assert [p.shape[0] for p in load(tmp_path, labels=None, **options)] == [4]
    parts = load(tmp_path, validation_split=0.25, subset="both", seed=1, verbose=False)
    assert [sum(x.shape[0] for x, _ in part) for part in parts] == [3, 1]
    halved = load(tmp_path, sampling_rate=50, batch_size=None, **options)
    assert next(iter(halved))[0].shape.as_list() == [2, 2]
    for bad, error in (
        ({"label_mode": "x"}, "`label_mode` argument must be"),
        ({"validation_split": 0.5}, "If `subset` is set"),
        ({"sampling_rate": 0}, "higher than 0"),
        ({"class_names": ["c"]}, "did not match the names"),
        ({"labels": [1]}, "Expected the lengths of `labels`"),
    ):
        with pytest.raises(ValueError, match=error):
            load(tmp_path, **bad)
    with pytest.raises(tf.errors.UnimplementedError, match="ragged"):
        load(tmp_path, ragged=True)


# --- Local files ----------------------------------------------------------------------------------


def test_files_are_found_copied_and_extracted(tf, tmp_path, monkeypatch):
    get_file = tf.keras.utils.get_file
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    with pytest.raises(tf.errors.NotFoundError, match=r"download https://example\.org/a\.txt"):
        get_file("a.txt", "https://example.org/a.txt")
    place = tmp_path / "home" / "datasets" / "a.txt"
    place.parent.mkdir(parents=True)
    place.write_text("a")
    assert get_file("a.txt", "https://example.org/a.txt") == str(place)
    with pytest.raises(tf.errors.NotFoundError):
        get_file("a.txt", "https://example.org/a.txt", file_hash="0" * 64)
    archive = tmp_path / "b.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(place, "inner/a.txt")
    folder = get_file("b.tar.gz", archive.as_uri(), extract=True)
    assert folder.endswith("b_extracted")
    assert (tmp_path / "home/datasets/b_extracted/inner/a.txt").read_text() == "a"
    with pytest.raises(ValueError, match='specify the "origin"'):
        get_file("a.txt")


def test_data_sets(tf, tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    data = tf.keras.datasets
    images = np.arange(3 * 28 * 28).reshape(3, 28, 28).astype(np.uint8)
    labels = np.array([2, 0, 1], np.uint8)
    arrays = {"x_train": images, "y_train": labels, "x_test": images[:1], "y_test": labels[:1]}
    np.savez(tmp_path / "mnist.npz", **arrays)
    (x, y), (test_x, _) = data.mnist.load_data(tmp_path / "mnist.npz")
    assert np.array_equal(x, images) and y.tolist() == [2, 0, 1] and len(test_x) == 1
    for part in ("train", "t10k"):
        for kind, content, size in (("images-idx3", images, 16), ("labels-idx1", labels, 8)):
            with gzip.open(tmp_path / f"{part}-{kind}-ubyte.gz", "wb") as file:
                file.write(bytes(size) + content.tobytes())
    (x, y), _ = data.fashion_mnist.load_data(tmp_path)
    assert np.array_equal(x, images) and y.tolist() == [2, 0, 1]
    batch = {b"data": np.arange(2 * 3072).reshape(2, -1).astype(np.uint8), b"labels": [4, 5]}
    batch[b"fine_labels"] = batch[b"labels"]
    for name in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch", "train", "test"):
        (tmp_path / name).write_bytes(pickle.dumps(batch))
    (x, y), _ = data.cifar10.load_data(tmp_path)
    assert x.shape == (10, 32, 32, 3) and y[:, 0].tolist() == [4, 5] * 5
    assert np.array_equal(x[0, :, :, 1].ravel(), batch[b"data"][0, 1024:2048])
    assert data.cifar100.load_data(path=tmp_path)[0][0].shape == (2, 32, 32, 3)
    (tmp_path / "test_batch").write_bytes(pickle.dumps({"x": io.BytesIO}))
    with pytest.raises(pickle.UnpicklingError, match=r"Refusing to deserialize `_io\.BytesIO`"):
        data.cifar10.load_data(tmp_path)
    with pytest.raises(tf.errors.NotFoundError, match=r"reuters\.npz yourself"):
        data.reuters.load_data()


def test_data_sets_of_words_and_houses(tf, tmp_path):
    data = tf.keras.datasets
    x = np.empty(4, object)
    x[:] = [[5, 6], [7], [8, 9, 1], [4, 4, 4, 4]]
    np.savez(tmp_path / "reuters.npz", x=x, y=np.arange(4))
    (a, b), (c, d) = data.reuters.load_data(tmp_path / "reuters.npz", test_split=0.25)
    assert [list(r) for r in a] == [[1, 7, 7, 7, 7], [1, 11, 2, 4], [1, 8, 9]]  # as from Keras
    assert b.tolist() == [3, 2, 0] and [list(r) for r in c] == [[1, 10]] and d.tolist() == [1]
    y = np.array([0, 1, 0, 1])
    np.savez(tmp_path / "imdb.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    (a, _), _ = data.imdb.load_data(tmp_path / "imdb.npz", num_words=9, skip_top=5, maxlen=4)
    assert sorted(map(list, a)) == [[2, 2], [2, 8, 2]]  # as from Keras
    (tmp_path / "words.json").write_text('{"the": 1}')
    assert data.imdb.get_word_index(tmp_path / "words.json") == {"the": 1}
    np.savez(tmp_path / "house.npz", x=np.arange(10)[:, None], y=np.arange(10))
    for name in ("boston_housing", "california_housing"):
        module = getattr(data, name)
        (a, b), (c, d) = module.load_data(path=tmp_path / "house.npz")
        assert np.array_equal(a[:, 0], b) and len(c) == len(d) == 2
        with pytest.raises(ValueError, match="Invalid `test_split`"):
            module.load_data(path=tmp_path / "house.npz", test_split=1)


# --- Callbacks that need files --------------------------------------------------------------------


def compiled(keras, **options):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.set_weights([np.array([[2.0]]), np.array([1.0])])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.5, **options), "mean_squared_error")
    return model


def test_a_backup_continues_without_a_difference(tf, tmp_path):
    keras = tf.keras
    x = np.array([[1.0], [2.0]], np.float32)

    class Interrupt(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, log=None):
            if epoch == 2:
                raise KeyboardInterrupt

    def fit(model, *others, **options):
        backup = keras.callbacks.BackupAndRestore(tmp_path / "b", **options)
        return model.fit(x, x, epochs=4, verbose=0, callbacks=[backup, *others]).epoch

    whole = compiled(keras)
    whole.fit(x, x, epochs=4, verbose=0)
    for damage in (False, True):
        model = compiled(keras)
        with pytest.raises(KeyboardInterrupt):
            fit(model, Interrupt(), double_checkpoint=True)
        if damage:
            (tmp_path / "b" / "latest.weights.h5").write_bytes(b"no HDF5")
        model = compiled(keras)
        assert fit(model) == ([1, 2, 3] if damage else [2, 3])
        assert [w.tolist() for w in model.get_weights()] == [
            w.tolist() for w in whole.get_weights()
        ]
        assert not (tmp_path / "b").exists()
    with pytest.raises(ValueError, match="Empty `backup_dir`"):
        keras.callbacks.BackupAndRestore("")


def test_averages_are_swapped(tf):
    keras = tf.keras
    x = np.array([[1.0], [2.0]], np.float32)
    model = compiled(keras, use_ema=True, ema_momentum=0.5)
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_test_end(self, logs=None):
            seen.append(self.model.get_weights()[0].item())

        def on_train_batch_end(self, batch, logs=None):
            seen.append(self.model.get_weights()[0].item())

    callbacks = [Watch(), keras.callbacks.SwapEMAWeights()]
    model.fit(x, x, validation_data=(x, x), epochs=2, verbose=0, callbacks=callbacks)
    first, average, second, last_average = seen
    assert average == first  # the average starts at the variable
    np.testing.assert_allclose(last_average, 0.5 * first + 0.5 * second, rtol=1e-6)
    with pytest.raises(ValueError, match="`use_ema=True`"):
        compiled(keras).fit(x, x, validation_data=(x, x), verbose=0, callbacks=callbacks)
