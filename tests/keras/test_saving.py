"""Copies, pickles and files of models and optimizers continue training without a difference."""

import copy
import io
import json
import pickle
import weakref
import zipfile
from pathlib import Path

import numpy as np
import pytest
from processes import SUPPORT, output, start

pytestmark = pytest.mark.numtape_only("about numtape's files, and copies that TensorFlow refuses")
X = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
Y = X[:, :1]


def through_pickle(x):
    return pickle.loads(pickle.dumps(x))


def through_cloudpickle(x):
    cloudpickle = pytest.importorskip("cloudpickle")
    return cloudpickle.loads(cloudpickle.dumps(x))


WAYS = {"deepcopy": copy.deepcopy, "pickle": through_pickle, "cloudpickle": through_cloudpickle}


def sequential(keras):
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(3, "relu", kernel_regularizer="l2"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5, seed=1),
            keras.layers.Dense(1, kernel_constraint=keras.constraints.MaxNorm(3.0)),
        ]
    )


def functional(keras):
    inputs = keras.Input((6,), name="x")
    shared = keras.layers.Dense(6, "tanh", name="shared")
    hidden = keras.layers.Add()([shared(shared(inputs)), inputs]) * 2.0 + inputs[:, 1:2]
    return keras.Model({"x": inputs}, keras.layers.Dense(1)(hidden.reshape((-1, 6))))


def recurrent(keras):
    inner = keras.Sequential([keras.layers.Dense(2)])
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Reshape((3, 2)),
            keras.layers.TimeDistributed(inner),
            keras.layers.Bidirectional(keras.layers.GRU(2)),
            keras.layers.Dense(1),
        ]
    )


def own_class(keras):
    class Own(keras.Model):
        def __init__(self, units=2, **kwargs):
            super().__init__(**kwargs)
            self.first = keras.layers.Dense(units)
            self.others = [keras.layers.Dense(2), keras.layers.Dense(1)]

        def call(self, x):
            for layer in (self.first, *self.others):
                x = layer(x)
            return x

    return Own(3)


MODELS = {f.__name__: f for f in (sequential, functional, recurrent, own_class)}


def trained(tf, make, steps=3):
    """A model after some steps of Adam with a decaying step size."""
    keras = tf.keras
    tf.random.set_seed(1)
    model = make(keras)
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    model.compile(keras.optimizers.Adam(rate, clipnorm=1.0), "mse", metrics=["mae"])
    for _ in range(steps):
        model.train_on_batch(X, Y)
    return model


def go_on(model):
    losses = [model.train_on_batch(X, Y) for _ in range(3)]
    return [*losses, [w.tolist() for w in model.get_weights()]]


# --- Copies and pickles ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "way"),
    [*(("sequential", way) for way in WAYS), ("functional", "deepcopy"), ("functional", "pickle")],
)
def test_a_copied_model_goes_on_with_its_optimizer(tf, name, way):
    model = trained(tf, MODELS[name])
    found = WAYS[way](model)
    assert go_on(found) == go_on(model)


@pytest.mark.parametrize("way", WAYS)
def test_model_and_optimizer_go_on_together_or_apart(tf, way):
    keras, go = tf.keras, WAYS[way]

    def steps(model, optimizer):
        found = []
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(X, training=True) - Y))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            found.append(loss.numpy())
        return [*found, *(w.tolist() for w in model.get_weights())]

    model, optimizer = sequential(keras), keras.optimizers.Adam(0.1)
    steps(model, optimizer)
    together, apart = go((model, optimizer)), (go(model), go(optimizer))
    expected = steps(model, optimizer)
    assert steps(*together) == expected
    assert steps(*apart) == expected


@pytest.mark.parametrize("way", WAYS)
def test_what_is_shared_stays_shared(tf, way):
    v = tf.Variable([1.0, 2.0], name="v")
    module = tf.Module()
    module.a, module.b = v, {"c": [v]}
    found, other = WAYS[way]((module, v))
    assert found.a is found.b["c"][0] is other and other is not v
    other.assign([5.0, 5.0])
    assert found.a.numpy().tolist() == [5, 5] and v.numpy().tolist() == [1, 2]


KINDS = [
    lambda tf: tf.constant([1.5, 2.5]) * 2.0,
    lambda tf: tf.constant([1.5], tf.bfloat16),
    lambda tf: tf.Variable([[1 + 2j]]),
    lambda tf: tf.IndexedSlices(tf.ones((1, 2)), tf.constant([1]), (3, 2)),
    lambda tf: tf.TensorSpec([2, None], tf.int32),
    lambda tf: tf.random.Generator.from_seed(3),
    lambda tf: tf.keras.losses.Huber(2.0),
    lambda tf: tf.keras.metrics.AUC(num_thresholds=3),
    lambda tf: tf.keras.optimizers.Nadam(0.1),
    lambda tf: tf.keras.optimizers.schedules.CosineDecay(0.1, 5),
    lambda tf: tf.keras.initializers.GlorotUniform(seed=1),
    lambda tf: tf.keras.callbacks.EarlyStopping(),
    lambda tf: tf.keras.layers.LSTM(2),
]


@pytest.mark.parametrize("way", [*WAYS, "copy"])
def test_everything_is_copied(tf, way):
    for make in KINDS:
        thing = make(tf)
        found = copy.copy(thing) if way == "copy" else WAYS[way](thing)
        assert type(found) is type(thing)
        if hasattr(thing, "numpy"):
            assert found.dtype == thing.dtype and np.array_equal(found.numpy(), thing.numpy())
        elif hasattr(thing, "get_config"):
            assert found.get_config() == thing.get_config()


@pytest.mark.parametrize("way", [*WAYS, "copy"])
def test_a_tape_says_that_it_stays(tf, way):
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(TypeError, match="A GradientTape cannot be pickled or copied"):
        copy.copy(tape) if way == "copy" else WAYS[way](tape)


def test_weak_references(tf):
    v, module, metric = tf.Variable(1.0), tf.Module(), tf.keras.metrics.Mean()
    references = [weakref.ref(x) for x in (v, module, metric)]
    assert references[0]() is v
    del v, module, metric
    assert [r() for r in references] == [None, None, None]


# --- Files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_goes_on(tf, tmp_path, name):
    model = trained(tf, MODELS[name])
    path = tmp_path / "model.keras"
    model.save(path)
    found = tf.keras.models.load_model(path, custom_objects={"Own": type(model)})
    assert type(found) is type(model) and found.name == model.name
    assert [v.name for v in found.weights] == [v.name for v in model.weights]
    assert found.optimizer.iterations.numpy() == 3
    assert go_on(found) == go_on(model)
    model.save(path)  # overwrites the file with the next state
    again = tf.keras.models.load_model(path, custom_objects={"Own": type(model)}, compile=False)
    assert np.array_equal(again(X, training=False), model(X, training=False))
    assert again.optimizer is None


CHILD = """
import sys, numpy as np, numtape as tf, test_saving as t
model = tf.keras.models.load_model(sys.argv[1])
print(repr(t.go_on(model)))
model = t.trained(tf, t.sequential, 1)
optimizer = model.optimizer
tf.train.Checkpoint(model=model, optimizer=optimizer).restore(sys.argv[2]).assert_consumed()
print(repr(t.go_on(model)))
"""


def test_another_process_goes_on(tf, tmp_path):
    model = trained(tf, sequential)
    model.save(tmp_path / "model.keras")
    path = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(tmp_path / "ckpt")
    folders = [str(SUPPORT), str(Path(__file__).parent)]
    script = f"import sys; sys.path[:0] = {folders!r}\n{CHILD}"
    child = start(script, tmp_path / "model.keras", path)
    assert output(child).splitlines() == [repr(go_on(model))] * 2


def test_weights_go_into_a_file_and_back(tf, tmp_path):
    model = trained(tf, sequential)
    path = tmp_path / "model.weights.safetensors"
    model.save_weights(path)
    other = trained(tf, sequential, 1)
    other.load_weights(path)
    assert go_on(other) == go_on(model)  # the optimizer's state, too
    plain = tf.keras.models.clone_model(model)
    plain.load_weights(path)
    model.load_weights(path)
    assert all(np.array_equal(a, b) for a, b in zip(plain.weights, model.weights, strict=True))


def test_weights_that_do_not_fit_change_nothing(tf, tmp_path):
    keras = tf.keras
    path = tmp_path / "model.safetensors"
    layers = keras.layers
    keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.Dense(2)]).save_weights(path)
    wrong = {
        "shape": [layers.Dense(3), layers.Dense(5)],
        "no values for": [layers.Dense(3), layers.Dense(2), layers.Dense(1)],
        "no variables for": [layers.Dense(3)],
        "no values": [layers.Dense(3), layers.BatchNormalization()],
    }
    for message, stack in wrong.items():
        model = keras.Sequential([keras.Input((4,)), *stack])
        before = model.get_weights()
        with pytest.raises(ValueError, match=message):
            model.load_weights(path)
        assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.Dense(5)])
    with pytest.warns(UserWarning, match="A total of 2 variables could not be loaded"):
        model.load_weights(path, skip_mismatch=True)
    other = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.Dense(2)])
    other.load_weights(path)
    assert np.array_equal(model.weights[0], other.weights[0])
    with pytest.raises(ValueError, match="a model that has not yet been built"):
        keras.Sequential([layers.Dense(3)]).load_weights(path)
    with pytest.raises(ValueError, match="a model that has not yet been built"):
        keras.Sequential([layers.Dense(3)]).save_weights(path)


@pytest.mark.parametrize(
    ("method", "name", "hint"),
    [
        ("save", "a", "must end in `.keras`"),
        ("save_weights", "a.npz", "`.weights.safetensors`"),
        ("save_weights", "a.h5", "`.weights.h5`"),
        ("load_weights", "a.npz", "`.weights.h5`"),
    ],
)
def test_other_endings_are_refused_with_a_hint(tf, tmp_path, method, name, hint):
    model = sequential(tf.keras)
    with pytest.raises(ValueError) as error:
        getattr(model, method)(tmp_path / name)
    assert hint in str(error.value) and list(tmp_path.iterdir()) == []


def test_files_are_not_replaced_unless_asked(tf, tmp_path):
    model = sequential(tf.keras)
    for method, name in (("save", "a.keras"), ("save_weights", "a.safetensors")):
        getattr(model, method)(tmp_path / name)
        with pytest.raises(FileExistsError):
            getattr(model, method)(tmp_path / name, overwrite=False)
    with pytest.raises(tf.errors.NotFoundError, match="File not found"):
        tf.keras.models.load_model(tmp_path / "b.keras")


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return packed.getvalue()


def test_damaged_models_are_refused(tf, tmp_path):
    model = sequential(tf.keras)
    path = tmp_path / "model.keras"
    model.save(path)
    good = path.read_bytes()
    weights, config = (
        zipfile.ZipFile(path).read(name) for name in ("model.weights.h5", "config.json")
    )

    def made(config=config, weights=weights, **others):
        return zipped(config__json=config, model__weights__h5=weights, **others)

    damaged = {
        **{f"cut at {n}": good[:n] for n in (0, 9, 50, len(good) // 2, len(good) - 30)},
        "text": b"what is this?" * 9,
        "no config": zipped(model__weights__h5=weights),
        "no weights": zipped(config__json=config),
        "no JSON": made(config=b"{"),
        "a list": made(config=b"[]"),
        "no model": zipped(config__json=b'{"numtape": 1}', model__weights__safetensors=b""),
        "cut weights": made(weights=weights[: len(weights) // 2]),
        "no HDF5": made(weights=b"what is this?"),
        "a bit": good.replace(weights, weights[:-1] + bytes([weights[-1] ^ 1])),
    }
    for name, content in damaged.items():
        path.write_bytes(content)
        with pytest.raises(tf.errors.DataLossError, match=r"model\.keras"):
            tf.keras.models.load_model(path)
            pytest.fail(name)
    path.write_bytes(zipped(config__json=b'{"numtape": 2, "model": {}, "compile_config": {}}',
                            model__weights__safetensors=b""))  # fmt: skip
    with pytest.raises(tf.errors.UnimplementedError, match="by a later numtape"):
        tf.keras.models.load_model(path)
    other = json.loads(config)
    other["config"]["layers"][1]["config"]["units"] = 4
    path.write_bytes(made(config=json.dumps(other)))
    with pytest.raises(ValueError, match="is not compatible with provided weight shape"):
        tf.keras.models.load_model(path)
    other["module"], other["class_name"] = "os", "system"
    path.write_bytes(made(config=json.dumps(other)))
    with pytest.raises(TypeError, match="Could not locate class or function 'system'"):
        tf.keras.models.load_model(path)


def test_files_of_earlier_versions_are_read(tf, tmp_path):
    from numtape.keras.saving import files
    from numtape.keras.saving.objects import serialize_keras_object

    model = trained(tf, sequential)
    config = serialize_keras_object(model)
    old = {"numtape": 1, "compile_config": config.pop("compile_config"), "model": config}
    path = tmp_path / "model.keras"
    path.write_bytes(zipped(config__json=json.dumps(old),
                            model__weights__safetensors=files._pack(model)))  # fmt: skip
    assert go_on(tf.keras.models.load_model(path)) == go_on(model)


@pytest.mark.numtape_only("Keras says it in more words")
def test_a_layer_that_is_not_registered_is_named(tf, tmp_path):
    class Mine(tf.keras.layers.Layer):
        def call(self, x):
            return x

    path = tmp_path / "model.keras"
    tf.keras.Sequential([tf.keras.Input((2,)), Mine()]).save(path)
    said = "class 'Mine'.*register_keras_serializable.*custom_objects={'Mine': Mine}"
    with pytest.raises(ValueError, match=said):
        tf.keras.models.load_model(path)
    loaded = tf.keras.models.load_model(path, custom_objects={"Mine": Mine})
    assert type(loaded.layers[0]) is Mine
    wrong = tf.keras.layers.Dense(1, activation=lambda x: x)
    with pytest.raises(ValueError, match="register_keras_serializable"):
        wrong.get_config()


def test_functions_of_ones_own_are_named(tf, tmp_path):
    keras = tf.keras
    path = tmp_path / "model.keras"
    model = keras.Sequential([keras.Input((6,)), keras.layers.Lambda(lambda x: x)])
    with pytest.raises(NotImplementedError, match="has no name"):
        model.save(path)

    @keras.saving.register_keras_serializable("tests")
    def doubled(x):
        return 2.0 * x

    def error(y_true, y_pred):
        return tf.reduce_mean(tf.abs(y_true - y_pred), -1)

    @keras.saving.register_keras_serializable("tests")
    class Scale(keras.layers.Layer):
        def __init__(self, by, **kwargs):
            super().__init__(**kwargs)
            self.by = by

        def call(self, x):
            return self.by * x

        def get_config(self):
            return {**super().get_config(), "by": self.by}

    try:
        model = keras.Sequential(
            [keras.Input((6,)), keras.layers.Lambda(doubled), Scale(3.0), keras.layers.Dense(1)]
        )
        model.compile("sgd", error, metrics=[error, keras.metrics.MeanSquaredError(name="e")])
        model.save(path)
        with pytest.raises(TypeError, match="'error'"):
            keras.models.load_model(path)
        found = keras.models.load_model(path, custom_objects={"error": error})
        assert found.evaluate(X, Y, verbose=0) == model.evaluate(X, Y, verbose=0)
    finally:
        for name in ("tests>doubled", "tests>Scale"):
            keras.saving.get_custom_objects().pop(name)
    with pytest.raises(ValueError, match=r"Scale|doubled"):
        keras.models.load_model(path, custom_objects={"error": error})


def test_json_and_clones_have_weights_of_their_own(tf):
    for name in ("sequential", "functional", "recurrent"):
        model = MODELS[name](tf.keras)
        for other in (
            tf.keras.models.clone_model(model),
            tf.keras.models.model_from_json(model.to_json()),
        ):
            assert [v.shape for v in other.weights] == [v.shape for v in model.weights]
            assert not any(a is b for a, b in zip(other.weights, model.weights, strict=True))
            other.set_weights(model.get_weights())
            assert np.array_equal(other(X, training=False), model(X, training=False))


def test_checkpoints_of_callbacks_are_loaded(tf, tmp_path):
    model = trained(tf, sequential, 0)
    callbacks = tf.keras.callbacks
    kept = [
        callbacks.ModelCheckpoint(tmp_path / "best.keras", "loss", save_best_only=True),
        callbacks.ModelCheckpoint(tmp_path / "{epoch}.weights.safetensors", save_weights_only=True),
    ]
    model.fit(X, Y, epochs=2, verbose=0, callbacks=kept)
    expected = go_on(model)
    for name in ("2.weights.safetensors", "best.keras"):
        other = trained(tf, sequential, 0)
        other.load_weights(tmp_path / name)
        if name.startswith("2"):
            assert go_on(other) == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "1.weights.safetensors",
        "2.weights.safetensors",
        "best.keras",
    ]


# --- Functions ------------------------------------------------------------------------------------

SCRIPT = """
import multiprocessing, pickle
from concurrent.futures import ProcessPoolExecutor
import cloudpickle, numpy as np, numtape as tf

weight = tf.Variable(3.0)

@tf.function
def scaled(x):
    return weight * x

@tf.function
def factorial(n):
    return n * factorial(n - 1.0) if n > 1.5 else n

class Sent:  # as joblib and Dask do
    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        return self.function(x)

    def __reduce__(self):
        return cloudpickle.loads, (cloudpickle.dumps(self.function),)

if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(scaled)) is scaled
    functions = [scaled, tf.function(lambda x: weight * x + 1.0), factorial]
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawned) as pool:
        found = [pool.submit(Sent(f), tf.constant(4.0)) for f in functions]
        print([float(f.result()) for f in found])
"""

# A worker that has not run the script and gets all code from the pickle.
WORKER = """
import pickle, sys, numtape as tf
function, v, again = pickle.load(open(sys.argv[1], "rb"))
assert again is function
x = tf.constant(4.0)
print(float(function(x)), float(v.assign_add(1.0)), float(function(x)))
"""

SENDER = """
import cloudpickle, sys, numtape as tf
weight = tf.Variable(3.0)
@tf.function
def scaled(x):
    return weight * x
scaled(tf.constant(1.0))
cloudpickle.dump((scaled, weight, scaled), open(sys.argv[1], "wb"))
"""


@pytest.mark.slow
def test_functions_of_a_script_go_to_other_processes(tmp_path):
    pytest.importorskip("cloudpickle")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    first = start(run)
    second = start(SENDER, tmp_path / "sent")
    output(second)
    third = start(WORKER, tmp_path / "sent")
    assert output(third) == "12.0 4.0 16.0"
    assert output(first) == "[12.0, 13.0, 24.0]"
