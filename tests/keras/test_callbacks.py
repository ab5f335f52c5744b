"""Callbacks on sequences of logs, compared with Keras's callbacks on the same logs."""

import copy
import itertools
import math
import struct
import sys

import numpy as np
import pytest
from tensorflow_reference import installed

import numtape


class Optimizer:
    def __init__(self, rate=1.0):
        self.learning_rate = np.float32(rate)
        self.iterations = np.int64(0)


class Model:
    """The part of a model that callbacks use. Its weights are the number of the epoch."""

    def __init__(self, keras, metrics=()):
        self.optimizer = Optimizer()
        self.metrics = list(metrics)
        self.stop_training = False
        self.layers = []
        self.weights = 0
        self.restored = None
        self.saved = []

    def get_weights(self):
        return [np.float32(self.weights)]

    def set_weights(self, weights):
        self.restored = [float(x) for x in weights]

    def save(self, path, overwrite):
        self.saved.append(str(path).replace("\\", "/").rpartition("/")[2])

    save_weights = save


def train(keras, callbacks, logs, batches=1, metrics=()):
    """Call callbacks as ``fit`` does. Returns the model and the resulting logs."""
    model = Model(keras, metrics)
    called = keras.callbacks.CallbackList(
        callbacks, add_history=True, model=model, epochs=len(logs), steps=batches, verbose=0
    )
    called.on_train_begin()
    for epoch, values in enumerate(logs):
        called.on_epoch_begin(epoch)
        for batch in range(batches):
            called.on_train_batch_begin(batch)
            called.on_train_batch_end(batch, dict(values))
        model.weights = epoch
        called.on_epoch_end(epoch, dict(values))
        if model.stop_training:
            break
    called.on_train_end()
    return model, model.history.history


LOSSES = [3.0, 2.0, 2.5, 1.0, 1.2, 1.1, 1.3, 1.05, 0.99, 1.4, 1.5, 1.6]
RISING = [1 / x for x in LOSSES]
LOGS = [{"val_loss": x, "loss": x / 2, "accuracy": y} for x, y in zip(LOSSES, RISING, strict=True)]

STOPS = [
    {},
    {"patience": 2},
    {"patience": 3, "restore_best_weights": True},
    {"monitor": "loss", "patience": 1, "min_delta": 0.7, "restore_best_weights": True},
    {"monitor": "accuracy", "mode": "max", "patience": 2, "restore_best_weights": True},
    {"patience": 2, "baseline": 0.5, "restore_best_weights": True},
    {"patience": 3, "baseline": 1.15},
    {"patience": 1, "start_from_epoch": 4, "restore_best_weights": True},
    {"patience": 50, "restore_best_weights": True},
    {"mode": "max", "patience": 3},
]


def stopped(keras, options):
    callback = keras.callbacks.EarlyStopping(**options)
    model, history = train(keras, [callback], LOGS)
    return {
        "epochs": len(history["loss"]),
        "stopped": callback.stopped_epoch,
        "best": callback.best,
        "best epoch": callback.best_epoch,
        "restored": model.restored,
        "wait": callback.wait,
    }


@pytest.mark.numtape_only("asks both")
@pytest.mark.parametrize("options", STOPS, ids=str)
def test_early_stopping_as_keras(options):
    assert stopped(numtape.keras, options) == stopped(installed().keras, options)


def test_early_stopping(tf):
    """The expected numbers were counted by hand."""
    assert stopped(tf.keras, {"patience": 3, "restore_best_weights": True}) == {
        "epochs": 7,
        "stopped": 6,
        "best": 1.0,
        "best epoch": 3,
        "restored": [3.0],
        "wait": 3,
    }
    assert stopped(tf.keras, {"monitor": "loss"})["epochs"] == 3
    found = stopped(tf.keras, {"monitor": "accuracy", "mode": "max", "patience": 50})
    assert (found["epochs"], found["best"], found["best epoch"]) == (12, 1 / 0.99, 8)


def test_early_stopping_begins_anew(tf):
    callback = tf.keras.callbacks.EarlyStopping(patience=1)
    for _ in range(2):
        _, history = train(tf.keras, [callback], LOGS)
        assert len(history["loss"]) == 3


def test_early_stopping_without_the_metric(tf):
    callback = tf.keras.callbacks.EarlyStopping("nosuch", mode="min")
    with pytest.warns(UserWarning, match="nosuch"):
        train(tf.keras, [callback], LOGS[:1])
    with pytest.raises(ValueError, match="mode='max'"):
        train(tf.keras, [tf.keras.callbacks.EarlyStopping("nosuch")], LOGS[:1])
    with pytest.warns(UserWarning, match="fallback to auto mode"):
        tf.keras.callbacks.EarlyStopping(mode="most")


@pytest.mark.numtape_only("Keras looks in its own list")
def test_metrics_know_their_direction():
    keras = numtape.keras
    for metric, best in ((keras.metrics.AUC(name="m"), 3.0), (keras.metrics.Poisson("m"), 1.0)):
        callback = keras.callbacks.EarlyStopping("val_m", patience=9)
        train(keras, [callback], [{"val_m": x} for x in (2.0, 3.0, 1.0)], metrics=[metric])
        assert callback.best == best


RATES = [
    ("LearningRateScheduler", {"schedule": lambda epoch, rate: rate * 0.5}),
    ("LearningRateScheduler", {"schedule": lambda epoch: 1.0 / (epoch + 1)}),
    (
        "LearningRateScheduler",
        {"schedule": lambda epoch, rate: rate if epoch < 3 else rate * math.exp(-0.1)},
    ),
    ("ReduceLROnPlateau", {"patience": 2}),
    ("ReduceLROnPlateau", {"patience": 1, "factor": 0.5, "cooldown": 2}),
    ("ReduceLROnPlateau", {"patience": 1, "factor": 0.3, "min_lr": 0.05}),
    (
        "ReduceLROnPlateau",
        {"monitor": "accuracy", "mode": "max", "patience": 1, "factor": 0.2, "min_delta": 0.3},
    ),
]


def rates(keras, name, options):
    return train(keras, [getattr(keras.callbacks, name)(**options)], LOGS)[1]["learning_rate"]


@pytest.mark.numtape_only("asks both")
@pytest.mark.parametrize(("name", "options"), RATES)
def test_learning_rates_as_keras(name, options):
    assert rates(numtape.keras, name, options) == rates(installed().keras, name, options)


def test_learning_rates(tf):
    """The expected numbers were counted by hand. Logs hold the rate before the reduction."""
    found = rates(tf.keras, "LearningRateScheduler", {"schedule": lambda epoch: 0.5**epoch})
    assert found == [0.5**k for k in range(12)]
    found = rates(tf.keras, "ReduceLROnPlateau", {"patience": 2, "factor": 0.5, "cooldown": 1})
    assert found == [1] * 6 + [0.5] * 2 + [0.25] * 3 + [0.125]
    with pytest.raises(ValueError, match="should be a float"):
        rates(tf.keras, "LearningRateScheduler", {"schedule": lambda epoch: "fast"})
    with pytest.raises(ValueError, match=r"factor >= 1\.0"):
        tf.keras.callbacks.ReduceLROnPlateau(factor=2.0)


def test_learning_rates_of_an_optimizer(tf):
    model = Model(tf.keras)
    model.optimizer = tf.keras.optimizers.SGD(0.5)
    callback = tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    callback.set_model(model)
    for epoch in range(2):
        callback.on_epoch_begin(epoch)
    assert float(np.asarray(model.optimizer.learning_rate)) == 0.125


SAVES = [
    {},
    {"save_best_only": True},
    {"save_best_only": True, "initial_value_threshold": 1.5},
    {"save_best_only": True, "monitor": "accuracy", "mode": "max"},
    {"save_freq": 5},
    {"save_freq": 2},
]
ENDS = {"model": ".keras", "weights": ".weights.h5"}


def saved(keras, folder, options, kind="model", text="{epoch:02d}-{val_loss:.2f}"):
    path = folder / "inner" / f"{text}{ENDS[kind]}"
    callback = keras.callbacks.ModelCheckpoint(path, save_weights_only=kind == "weights", **options)
    return train(keras, [callback], LOGS, batches=3)[0].saved


@pytest.mark.numtape_only("asks both")
@pytest.mark.parametrize(("options", "kind"), list(itertools.product(SAVES, ENDS)), ids=str)
def test_checkpoints_as_keras(options, kind, tmp_path):
    ours, theirs = (
        saved(keras, tmp_path, options, kind) for keras in (numtape.keras, installed().keras)
    )
    assert ours == theirs and ours


def test_checkpoints(tf, tmp_path):
    best = ["01-3.00.keras", "02-2.00.keras", "04-1.00.keras", "09-0.99.keras"]
    assert saved(tf.keras, tmp_path, {"save_best_only": True}) == best
    assert (tmp_path / "inner").is_dir()
    found = saved(tf.keras, tmp_path, {"save_freq": 5}, text="{epoch}-{batch}")
    assert found[:3] == ["2-2.keras", "4-1.keras", "5-3.keras"]
    with pytest.raises(KeyError, match="Failed to format this callback filepath"):
        saved(tf.keras, tmp_path, {}, text="{nosuch}")
    with pytest.raises(ValueError, match="Unrecognized save_freq"):
        tf.keras.callbacks.ModelCheckpoint("m.keras", save_freq="batch")
    (tmp_path / "inner" / "x.keras").mkdir()
    with pytest.raises(OSError, match="non-directory filepath"):
        saved(tf.keras, tmp_path, {}, text="x")


@pytest.mark.numtape_only("Keras forgets that nothing was saved")
def test_a_model_that_could_not_be_saved_is_not_the_best(tmp_path):
    callback = numtape.keras.callbacks.ModelCheckpoint(tmp_path / "x.keras", save_best_only=True)
    model = Model(numtape.keras)
    callback.set_model(model)
    keep, model.save = model.save, lambda *args, **kwargs: 1 / 0
    with pytest.raises(ZeroDivisionError):
        callback.on_epoch_end(0, {"val_loss": 1.0})
    model.save = keep
    callback.on_epoch_end(1, {"val_loss": 2.0})
    assert model.saved == ["x.keras"]


ROWS = [
    [{"loss": 0.5, "accuracy": 0.25}, {"loss": 0.25, "accuracy": 0.5}],
    [{"loss": 0.5, "val_loss": 1.5}, {"loss": 1e-9}],
    [{"loss": 0.5, "parts": [1.0, 2.0], "text": "a,b"}],
    [{}],
]


def written(keras, path, logs, **options):
    callback = keras.callbacks.CSVLogger(path, **options)
    train(keras, [callback], logs)
    if options.get("append"):
        train(keras, [callback], logs)
    return path.read_bytes()


@pytest.mark.numtape_only("asks both")
@pytest.mark.parametrize("options", [{}, {"separator": ";"}, {"append": True}], ids=str)
@pytest.mark.parametrize("logs", ROWS)
def test_csv_as_keras(logs, options, tmp_path):
    ours, theirs = (
        written(keras, tmp_path / name, logs, **options)
        for name, keras in (("ours", numtape.keras), ("theirs", installed().keras))
    )
    assert ours == theirs


def test_csv(tf, tmp_path):
    path = tmp_path / "x.csv"
    text = b"epoch,accuracy,loss,val_accuracy,val_loss\r\n0,0.25,0.5,NA,NA\r\n1,0.5,0.25,NA,NA\r\n"
    for _ in range(2):
        assert written(tf.keras, path, ROWS[0]) == text
    rows = text.partition(b"\n")[2]
    assert written(tf.keras, path, ROWS[0], append=True) == text + rows + rows
    with pytest.raises(OSError):
        train(tf.keras, [tf.keras.callbacks.CSVLogger(tmp_path / "no" / "x.csv")], LOGS)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_terminate_on_nan(tf, loss, capsys):
    logs = [{"loss": 1.0}, {"loss": loss}, {"loss": 1.0}]
    model, history = train(tf.keras, [tf.keras.callbacks.TerminateOnNaN()], logs)
    assert model.stop_training and len(history["loss"]) == 2
    assert "Batch 0: Invalid loss, terminating training" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="NaN or Inf loss"):
        train(tf.keras, [tf.keras.callbacks.TerminateOnNaN(raise_error=True)], logs)


# --- Callers --------------------------------------------------------------------------------------


def test_order_of_calls(tf):
    seen = []

    def note(name):
        return lambda *place: seen.append((name, *place))

    names = (
        "on_train_begin",
        "on_epoch_begin",
        "on_train_batch_begin",
        "on_train_batch_end",
        "on_epoch_end",
        "on_train_end",
    )

    class Noting(tf.keras.callbacks.Callback):
        pass

    callback = Noting()
    for name in names:
        setattr(callback, name, note(name))
    train(tf.keras, [[callback]], [{"b": tf.constant(1.0), "a": {"inner": 2}}])
    logs = {"b": 1.0, "inner": 2.0}
    assert [row[0] for row in seen] == list(names)
    assert seen[3] == ("on_train_batch_end", 0, logs) and seen[4] == ("on_epoch_end", 0, logs)
    assert type(seen[4][2]["b"]) is float
    assert callback.params == {"epochs": 1, "steps": 1, "verbose": 0}


def test_lambdas(tf):
    seen = []
    callback = tf.keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: seen.append(epoch),
        on_train_end=lambda logs: seen.append("end"),
        on_test_begin=lambda logs: seen.append("test"),
    )
    train(tf.keras, [callback], LOGS[:2])
    callback.on_test_begin(None)
    assert seen == [0, 1, "end", "test"]


def test_older_names_of_batches(tf):
    class Old(tf.keras.callbacks.Callback):
        seen = ()

        def on_batch_end(self, batch, logs=None):
            self.seen = (*self.seen, batch)

    callback = Old()
    train(tf.keras, [callback], LOGS[:1], batches=3)
    assert callback.seen == (0, 1, 2)


@pytest.mark.numtape_only("Keras always makes floats of them")
def test_logs_that_nobody_wants_are_not_looked_at():
    class Unlooked:
        def __float__(self):
            raise AssertionError("it was looked at")

    called = numtape.keras.callbacks.CallbackList([numtape.keras.callbacks.EarlyStopping()])
    called.on_train_begin()
    assert not called.wants("on_train_batch_end") and called.wants("on_epoch_end")
    called.on_train_batch_end(0, {"loss": Unlooked()})
    for kind in ("train", "test", "predict"):
        for name in (f"on_{kind}_batch_begin", f"on_{kind}_batch_end"):
            one = numtape.keras.callbacks.LambdaCallback(**{name: lambda batch, logs: None})
            for other in ("train", "test", "predict"):
                asked = getattr(one, f"_implements_{other}_batch_hooks")()
                assert asked == (kind == other)
    with pytest.raises(NotImplementedError, match="verbose=0"):
        numtape.keras.callbacks.CallbackList(add_progbar=True)


def test_history(tf):
    model, history = train(tf.keras, [], LOGS[:3])
    assert history == {"accuracy": RISING[:3], "loss": [1.5, 1.0, 1.25], "val_loss": LOSSES[:3]}
    assert model.history.epoch == [0, 1, 2]


# --- TensorBoard ----------------------------------------------------------------------------------


@pytest.mark.numtape_only("another package is named")
def test_tensorboard_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"numtape\[tensorboard\]"):
        numtape.keras.callbacks.TensorBoard()


@pytest.mark.numtape_only("Keras has these")
@pytest.mark.parametrize("option", ["write_images", "profile_batch", "embeddings_freq"])
def test_tensorboard_names_what_it_has_not(option):
    with pytest.raises(NotImplementedError, match=option):
        numtape.keras.callbacks.TensorBoard(**{option: 1})


class Writer:
    """The part of tensorboardX's writer that the callback uses."""

    def __init__(self, folder, rows):
        self.folder, self.rows = folder.replace("\\", "/").rpartition("/")[2], rows

    def add_scalar(self, name, value, step):
        self.rows.append((self.folder, name, step, float(value)))

    def add_histogram(self, name, values, step):
        self.rows.append((self.folder, name, step, np.shape(values)))

    def flush(self):
        pass

    close = flush


@pytest.mark.numtape_only("looks into numtape")
def test_what_tensorboard_writes(monkeypatch, tmp_path):
    rows = []
    monkeypatch.setattr(
        "numtape.keras.callbacks.tensorboard.import_writer",
        lambda user: lambda folder: Writer(folder, rows),
    )
    keras = numtape.keras
    callback = keras.callbacks.TensorBoard(tmp_path, histogram_freq=2, update_freq=2)
    layer = keras.layers.Dense(2, name="d")
    layer(np.ones((1, 3), "float32"))
    model = Model(keras)
    model.layers = [layer]
    called = keras.callbacks.CallbackList([callback], model=model)
    called.on_train_begin()
    for epoch in range(2):
        called.on_epoch_begin(epoch)
        for batch in range(3):
            called.on_train_batch_begin(batch)
            called.on_train_batch_end(batch, {"loss": batch + 10 * epoch})
        called.on_epoch_end(epoch, {"loss": 0.5, "val_loss": 0.75})
    called.on_test_end({"loss": 0.25})
    called.on_train_end()
    epochs = [
        [
            ("train", "epoch_loss", k, 0.5),
            ("train", "epoch_learning_rate", k, 1.0),
            ("validation", "epoch_loss", k, 0.75),
        ]
        for k in range(2)
    ]
    assert rows == [
        ("train", "batch_loss", 2, 1.0),
        *epochs[0],
        ("train", "d/kernel/histogram", 0, (3, 2)),
        ("train", "d/bias/histogram", 0, (2,)),
        ("train", "batch_loss", 4, 10.0),
        ("train", "batch_loss", 6, 12.0),
        *epochs[1],
        ("validation", "evaluation_loss_vs_iterations", 0, 0.25),
    ]


@pytest.mark.numtape_only("of the extra [tensorboard]")
@pytest.mark.filterwarnings("ignore")
def test_files_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    train(numtape.keras, [numtape.keras.callbacks.TensorBoard(tmp_path)], LOGS[:2])
    files = {path.parent.name: path for path in tmp_path.rglob("events.*")}
    assert sorted(files) == ["train", "validation"]
    data, found = files["train"].read_bytes(), []
    while data:  # size, checksum, record, checksum
        (size,) = struct.unpack("<Q", data[:8])
        event = Event.FromString(data[12 : 12 + size])
        found += [(v.tag, event.step, v.simple_value) for v in event.summary.value]
        data = data[16 + size :]
    assert [row for row in found if row[0] == "epoch_loss"] == [
        ("epoch_loss", 0, 1.5),
        ("epoch_loss", 1, 1.0),
    ]


@pytest.mark.numtape_only("looks into numtape")
def test_each_class_is_tried():
    tried = {
        "BackupAndRestore",
        "Callback",
        "CallbackList",
        "CSVLogger",
        "EarlyStopping",
        "History",
        "LambdaCallback",
        "LearningRateScheduler",
        "ModelCheckpoint",
        "ReduceLROnPlateau",
        "SwapEMAWeights",
        "TensorBoard",
        "TerminateOnNaN",
    }
    assert set(numtape.keras.callbacks.__all__) == tried


def test_callbacks_are_copied(tf):
    callback = tf.keras.callbacks.EarlyStopping(patience=2)
    train(tf.keras, [copy.deepcopy(callback)], LOGS)
    assert callback.best is None
