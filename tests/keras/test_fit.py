"""`fit`, `evaluate` and `predict`: results, kinds of data, and output.

The tests also run on TensorFlow (``--against tensorflow``), and one test compares with Keras. NumPy
computes the expected values.
"""

import contextlib
import importlib.util
import os

import numpy as np
import pytest

DRAWS = np.random.default_rng(7)
X = DRAWS.normal(size=(10, 4)).astype(np.float32)
Y = DRAWS.normal(size=(10, 2)).astype(np.float32)
CLASSES = DRAWS.integers(0, 3, 10)
KERNEL, BIAS = DRAWS.normal(size=(4, 2)).astype(np.float32), np.array([0.5, -0.5], np.float32)


def same(found, wanted, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), tolerance, tolerance)


def linear(tf, **options):
    """A model that is easy to compute in NumPy."""
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
    model.set_weights([KERNEL, BIAS])
    options = {"optimizer": tf.keras.optimizers.SGD(0.1), "loss": "mse", **options}
    model.compile(**options)
    return model


def descended(batches, epochs, weights=None):
    """Kernel, bias and the loss of each epoch, by gradient descent."""
    kernel, bias, losses = KERNEL.astype(float), BIAS.astype(float), []
    for _ in range(epochs):
        total = count = 0.0
        for rows in batches:
            error = X[rows] @ kernel + bias - Y[rows]
            weight = np.ones(len(rows)) if weights is None else weights[rows]
            total += np.sum(np.mean(error**2, -1) * weight)
            count += len(rows)
            slope = error * weight[:, None] / len(rows)
            kernel, bias = kernel - 0.1 * X[rows].T @ slope, bias - 0.1 * slope.sum(0)
        losses.append(total / count)
    return kernel, bias, losses


BATCHES = [np.arange(0, 4), np.arange(4, 8), np.arange(8, 10)]


@pytest.mark.parametrize("eagerly", [False, True])
def test_fit_is_gradient_descent(tf, eagerly):
    model = linear(tf, run_eagerly=eagerly)
    history = model.fit(X, Y, batch_size=4, epochs=4, shuffle=False, verbose=0)
    kernel, bias, losses = descended(BATCHES, 4)
    same(history.history["loss"], losses)
    same(model.get_weights()[0], kernel)
    same(model.get_weights()[1], bias)
    assert history.epoch == [0, 1, 2, 3]


def data_of(tf, kind):
    """The batches of `BATCHES` in each form that `fit` accepts, with the required options."""
    if kind == "tensors":
        return (tf.constant(X), tf.constant(Y)), {"batch_size": 4}
    if kind == "float64":
        return (X.astype(np.float64), Y.astype(np.float64)), {"batch_size": 4}
    if kind == "dataset":
        return (tf.data.Dataset.from_tensor_slices((X, Y)).batch(4),), {}
    if kind == "repeated":
        data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4).repeat()
        return (data,), {"steps_per_epoch": 3}

    def generated():
        while True:
            yield from ((X[rows], Y[rows]) for rows in BATCHES)

    return (generated(),), {"steps_per_epoch": 3}


@pytest.mark.parametrize("kind", ["tensors", "float64", "dataset", "repeated", "generator"])
def test_kinds_of_data(tf, kind):
    model = linear(tf)
    data, options = data_of(tf, kind)
    history = model.fit(*data, epochs=2, shuffle=False, verbose=0, **options)
    same(history.history["loss"], descended(BATCHES, 2)[2])


@pytest.mark.parametrize("by_class", [False, True])
def test_weights_of_examples_and_classes(tf, by_class):
    wanted = np.array([0.5, 1.0, 2.0])[CLASSES] if by_class else np.linspace(0.0, 1.0, 10)
    if not by_class:
        model = linear(tf)
        model.fit(X, Y, 4, 2, 0, shuffle=False, sample_weight=wanted)
        same(model.get_weights()[0], descended(BATCHES, 2, wanted)[0])
        return
    found = []
    for weights in ({"sample_weight": wanted}, {"class_weight": {0: 0.5, 1: 1.0, 2: 2.0}}):
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3, "softmax")])
        model.set_weights([np.ones((4, 3)) * [1.0, 2.0, 3.0], np.zeros(3)])
        model.compile(tf.keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
        found.append(model.fit(X, CLASSES, epochs=2, verbose=0, **weights).history["loss"])
    same(*found)


def test_validation_and_metrics(tf):
    model = linear(tf, metrics=["mae"], weighted_metrics=["mse"])
    kernel, bias, losses = descended([np.arange(0, 4), np.arange(4, 8)], 1)
    history = model.fit(
        X, Y, batch_size=4, epochs=1, shuffle=False, validation_split=0.2, verbose=0
    ).history
    assert list(history) == ["loss", "mae", "mse", "val_loss", "val_mae", "val_mse"]
    same(history["loss"], losses)
    error = X[8:] @ kernel + bias - Y[8:]
    same(history["val_loss"], [np.mean(error**2)])
    same(history["val_mae"], [np.mean(np.abs(error))])
    given = model.fit(X, Y, epochs=4, verbose=0, validation_data=(X[8:], Y[8:]), validation_freq=2)
    assert len(given.history["val_loss"]) == 2
    assert len(given.history["loss"]) == 4


@pytest.mark.parametrize(
    ("units", "labels", "kind"),
    [
        (1, (CLASSES > 1)[:, None], "BinaryAccuracy"),
        (3, CLASSES, "SparseCategoricalAccuracy"),
        (3, np.eye(3)[CLASSES], "CategoricalAccuracy"),
    ],
)
def test_accuracy_by_shape(tf, units, labels, kind):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(units, "sigmoid")])
    model.compile(
        "sgd",
        "mse" if kind != "SparseCategoricalAccuracy" else "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    found = model.evaluate(X, labels, verbose=0, return_dict=True)["accuracy"]
    metric = getattr(tf.keras.metrics, kind)()
    metric.update_state(labels, model(X))
    same(found, metric.result())


def test_evaluate_and_predict(tf):
    model = linear(tf, metrics=["mae"])
    wanted = X @ KERNEL + BIAS
    error = wanted - Y
    found = model.evaluate(X, Y, batch_size=3, verbose=0)
    same(found, [np.mean(error**2), np.mean(np.abs(error))])
    same(model.predict(X, batch_size=3, verbose=0), wanted)
    same(model.predict_on_batch(X), wanted)
    same(model.test_on_batch(X, Y), found)
    assert set(model.test_on_batch(X, Y, return_dict=True)) == {"loss", "mae"}
    same(model.train_on_batch(X, Y), found)
    kernel, *_ = descended([np.arange(10)], 1)
    same(model.get_weights()[0], kernel)


def several(tf):
    a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((4,), name="b")
    shared = tf.keras.layers.Dense(2, name="shared")
    first = tf.keras.layers.Add(name="first")([shared(a), shared(b)])
    second = tf.keras.layers.Dense(1, name="second", kernel_initializer="ones")(first)
    model = tf.keras.Model([a, b], [first, second])
    model.get_layer("shared").set_weights([KERNEL, BIAS])
    return model


@pytest.mark.parametrize("named", [False, True])
def test_several_inputs_and_outputs(tf, named):
    model = several(tf)
    losses, weights, metrics = ["mse", "mae"], [1.0, 0.5], [["mae"], ["mse"]]
    x, y = [X, X[::-1].copy()], [Y, Y[:, :1]]
    if named:
        names = ["first", "second"]
        given = losses, weights, metrics
        losses, weights, metrics = (dict(zip(names, values, strict=True)) for values in given)
        x = dict(zip("ab", x, strict=True))
        if tf.__name__ == "numtape":
            y = dict(zip(names, y, strict=True))
    model.compile("sgd", losses, loss_weights=weights, metrics=metrics)
    found = model.evaluate(x, y, verbose=0, return_dict=True)
    first = X @ KERNEL + X[::-1] @ KERNEL + 2 * BIAS
    second = first.sum(-1, keepdims=True)
    wanted = {
        "first_loss": np.mean((first - Y) ** 2),
        "first_mae": np.mean(np.abs(first - Y)),
        "second_loss": np.mean(np.abs(second - Y[:, :1])),
        "second_mse": np.mean((second - Y[:, :1]) ** 2),
    }
    wanted["loss"] = wanted["first_loss"] + 0.5 * wanted["second_loss"]
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        same(found[name], value)
    for part, value in zip(model.predict(x, verbose=0), (first, second), strict=True):
        same(part, value)


def test_added_losses_count(tf):
    class Small(tf.keras.layers.Layer):
        def call(self, x):
            self.add_loss(tf.reduce_sum(x * x))
            return x

    regularized = tf.keras.layers.Dense(
        2, kernel_regularizer=tf.keras.regularizers.L2(0.25), kernel_initializer="ones"
    )
    model = tf.keras.Sequential([tf.keras.Input((4,)), regularized, Small()])
    model.compile("sgd", "mse")
    y = X @ np.ones((4, 2))
    wanted = np.mean((y - Y) ** 2) + np.sum(y**2) + 0.25 * 8
    for _ in range(3):
        same(model.evaluate(X, Y, verbose=0), wanted)


def test_own_train_step(tf):
    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(2)
            self.seen = tf.keras.metrics.Mean(name="seen")

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            self.seen.update_state(loss)
            return {"seen": self.seen.result()}

    model = Own()
    model(X)
    model.set_weights([KERNEL, BIAS])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    history = model.fit(X[:8], Y[:8], batch_size=4, epochs=3, shuffle=False, verbose=0).history
    kernel, _, losses = descended(BATCHES[:2], 3)
    assert list(history) == ["seen"]
    same(history["seen"], losses)
    same(model.get_weights()[0], kernel)


def test_what_callbacks_are_told(tf):
    told = []

    class Told(tf.keras.callbacks.Callback):
        pass

    def noting(name):
        def note(self, *args, logs=None):
            told.append(name)

        return note

    names = [
        "on_train_begin",
        "on_train_end",
        "on_test_begin",
        "on_test_end",
        "on_epoch_begin",
        "on_epoch_end",
        "on_train_batch_begin",
        "on_train_batch_end",
        "on_test_batch_begin",
        "on_test_batch_end",
    ]
    for name in names:
        setattr(Told, name, noting(name))
    linear(tf).fit(
        X,
        Y,
        8,
        epochs=1,
        verbose=0,
        validation_data=(X, Y),
        validation_batch_size=10,
        callbacks=[Told()],
    )
    batch, test = ([f"on_{kind}_batch_begin", f"on_{kind}_batch_end"] for kind in ("train", "test"))
    assert told == [
        "on_train_begin",
        "on_epoch_begin",
        *batch,
        *batch,
        "on_test_begin",
        *test,
        "on_test_end",
        "on_epoch_end",
        "on_train_end",
    ]


def batches_of_two(count):
    for k in range(count):
        yield X[2 * k : 2 * k + 2], Y[2 * k : 2 * k + 2]


EIGHT = X[:8], Y[:8]  # four batches of two
# Options of `fit`, steps per epoch, and the number of steps in four epochs.
SHORT = {
    "arrays": (lambda tf: EIGHT, 5, [4, 4, 4, 4]),
    "arrays go on": (lambda tf: EIGHT, 3, [3, 1, 3, 1]),
    "arrays end": (lambda tf: EIGHT, 2, [2, 2, 2, 2]),
    "dataset": (lambda tf: (tf.data.Dataset.from_tensor_slices(EIGHT).batch(2),), 5, [4, 4, 4, 4]),
    "dataset goes on": (
        lambda tf: (tf.data.Dataset.from_tensor_slices(EIGHT).batch(2),),
        3,
        [3, 1, 3, 1],
    ),
    "generator": (lambda tf: (batches_of_two(4),), 3, [3, 1]),
    "generator ends": (lambda tf: (batches_of_two(4),), 2, [2, 2]),
    "generator, all of it": (lambda tf: (batches_of_two(4),), None, [4]),
}


@pytest.mark.filterwarnings("ignore:.shuffle=True")
@pytest.mark.parametrize("kind", SHORT)
def test_data_that_run_out(tf, kind):
    """A warning, and the next epoch starts over; a generator continues where it stopped."""
    make, steps, expected = SHORT[kind]
    if tf.__name__ == "tensorflow" and "generator" in kind:
        pytest.skip("Keras goes on with the first batches of a generator that has ended")
    counts = []
    model = linear(tf)
    note = tf.keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs=None: counts.append(0),
        on_train_batch_end=lambda batch, logs=None: counts.__setitem__(-1, counts[-1] + 1),
    )
    size = {"batch_size": 2} if "arrays" in kind else {}
    warned = (
        contextlib.nullcontext()
        if kind == "arrays end"
        else pytest.warns(UserWarning, match="Your input ran out of data; interrupting training")
    )
    with warned:
        history = model.fit(
            *make(tf), epochs=4, steps_per_epoch=steps, verbose=0, callbacks=[note], **size
        )
    assert counts == expected and len(history.history["loss"]) == len(expected)
    if kind == "arrays":
        with pytest.warns(UserWarning, match="ran out"):
            assert len(model.predict(EIGHT[0], batch_size=2, steps=9, verbose=0)) == 8


@pytest.mark.numtape_only("Keras goes on with the first batches")
def test_a_generator_for_validation_that_has_ended(tf):
    with pytest.warns(UserWarning, match="ran out"):
        found = linear(tf).fit(X, Y, epochs=3, validation_data=batches_of_two(3), verbose=0)
    assert len(found.history["val_loss"]) == 1 and len(found.history["loss"]) == 3
    with pytest.raises(ValueError, match="at least one batch"):
        linear(tf).fit(batches_of_two(0), verbose=0)


def test_a_step_of_ones_own_is_all_that_is_called(tf):
    """`fit` calls only `train_step`, not `call`, which is the generator in a GAN."""

    class Gan(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.generator = tf.keras.Sequential([tf.keras.layers.Dense(4)])
            self.critic = tf.keras.layers.Dense(1)
            self.seen = tf.keras.metrics.Mean("seen")

        def call(self, noise):
            raise RuntimeError("the model was called")

        def train_step(self, data):
            noise = tf.ones((5, 2))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.critic(data) - self.critic(self.generator(noise)))
            variables = self.critic.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))  # noqa: B905
            self.seen.update_state(loss)
            return {"seen": self.seen.result()}

    model = Gan()
    model.compile(tf.keras.optimizers.SGD(0.1))
    history = model.fit(X, batch_size=5, epochs=3, verbose=0).history["seen"]
    assert len(history) == 3 and history[0] > history[-1]
    assert model.generator.layers[0].kernel.shape == (2, 4)


@pytest.mark.numtape_only("Keras shows a batch of unknown size")
def test_the_first_step_names_the_shapes_of_the_batch(tf):
    class Wrong(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(3)

        def call(self, x):
            return tf.matmul(self.dense(x), tf.ones((4, 1)))

    model = Wrong()
    model.compile("sgd", "mse")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[10, 3\], In\[1\]: \[4, 1\]"):
        model.fit(X, Y, verbose=0)
    model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    said = r"received 2 input tensors, of shapes \[\(10, 4\), \(10, 4\)\]"
    with pytest.raises(ValueError, match=said):
        model.fit([X, X], Y, verbose=0)
    graph = linear(tf)
    with pytest.raises(ValueError, match=r"expects 1 input\(s\), \['.*'\], but it received 2"):
        graph.fit([X, X], Y, verbose=0)


def test_variables_without_gradients_are_named(tf):
    class Unused(tf.keras.Model):
        def __init__(self):
            super().__init__(name="model")
            self.used, self.unused = (tf.keras.layers.Dense(2, name=n) for n in ("used", "unused"))

        def call(self, x):
            self.unused(x)
            return self.used(x)

    model = Unused()
    model.compile("sgd", "mse", run_eagerly=True)
    said = r"\['model/unused/kernel', 'model/unused/bias'\].*did you forget to provide a `loss`"
    with pytest.warns(UserWarning, match=said):
        model.fit(X, Y, verbose=0)


def test_stop_training(tf):
    class Stopping(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = epoch == 1

    model = linear(tf)
    assert model.fit(X, Y, epochs=5, verbose=0, callbacks=[Stopping()]).epoch == [0, 1]
    assert model.fit(X, Y, epochs=5, initial_epoch=3, verbose=0).epoch == [3, 4]


def test_an_error_leaves_the_model_usable(tf):
    class Failing(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                raise KeyboardInterrupt

    model = linear(tf)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, 4, epochs=2, verbose=0, shuffle=False, callbacks=[Failing()])
    kernel, *_ = descended(BATCHES[:2], 1)
    same(model.get_weights()[0], kernel)
    model.set_weights([KERNEL, BIAS])
    history = model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    same(history.history["loss"], descended(BATCHES, 2)[2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": Y[:5]}, "Data cardinality is ambiguous"),
        ({"validation_split": 0.99}, "not sufficient to split"),
        ({"class_weight": {0: 1.0}, "sample_weight": np.ones(10)}, "class_weight"),
    ],
)
def test_arguments_that_do_not_fit(tf, arguments, message):
    model = linear(tf)
    with pytest.raises(ValueError, match=message):
        model.fit(**{"x": X, "y": Y, "verbose": 0, **arguments})
    same(model.get_weights()[0], KERNEL)


def test_names_that_are_unknown(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    with pytest.raises(ValueError, match=r"You must call `compile\(\)` before"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="optimizer"):
        model.compile("nosuch", "mse")
    with pytest.raises(ValueError, match="Expected `metrics` argument"):
        model.compile("sgd", "mse", metrics="mae")


def test_changed_trainable_is_seen(tf):
    model = linear(tf)
    model.fit(X, Y, epochs=1, verbose=0)
    model.layers[0].trainable = False
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    before = model.get_weights()[0]
    model.fit(X, Y, epochs=1, verbose=0)
    same(model.get_weights()[0], before, 0.0)


@pytest.mark.numtape_only(reason="Keras records the step once, until it is compiled again")
def test_steps_see_what_has_changed(tf):
    class Scaled(tf.keras.Layer):
        factor = 1.0

        def call(self, x):
            return x * self.factor

    scaled = Scaled()
    model = tf.keras.Sequential([tf.keras.Input((4,)), scaled])
    for factor in (1.0, 2.0, 1.0):
        scaled.factor = factor
        same(model.predict(X, verbose=0), factor * X)


@pytest.mark.records
@pytest.mark.numtape_only(reason="looks into the recordings")
def test_steps_are_replayed(tf):
    model = linear(tf)
    model.fit(X, Y, batch_size=4, epochs=3, verbose=0)
    (paths,) = {id(step): step.paths() for step in model._nt_functions.values()}.values()
    assert [path.hits for path in paths] == [4, 2]  # the first step creates the metrics


def test_a_data_set_of_digits_is_learned(tf):
    data = np.random.default_rng(1)
    x = data.normal(size=(60, 2)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int32)
    tf.keras.utils.set_random_seed(1)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(16, "relu"), layers.Dense(2, "softmax")])
    model.compile(tf.keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy")
    losses = model.fit(x, y, epochs=40, verbose=0).history["loss"]
    assert losses[-1] < 0.4 * losses[0]


# --- Output ---------------------------------------------------------------------------------------


@pytest.mark.numtape_only(reason="its own lines")
def test_lines_of_epochs(tf, capsys):
    model = linear(tf, metrics=["mae"])
    model.fit(X, Y, batch_size=4, epochs=2, verbose=2)
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "Epoch 1/2"
    assert lines[1].startswith("3/3 - ")
    assert "/step - loss: " in lines[1]
    assert " - mae: " in lines[1]
    model.fit(X, Y, batch_size=4, epochs=1, verbose=1)
    out = capsys.readouterr().out
    assert "3/3 " + "━" * 20 in out
    assert "\x1b" not in out  # a file gets no colours
    assert "\r" not in out
    model.fit(X, Y, epochs=1, verbose=0)
    assert capsys.readouterr().out == ""


@pytest.mark.numtape_only(reason="its own lines")
def test_a_terminal_gets_a_line_that_is_rewritten(tf, monkeypatch):
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    linear(tf).fit(X, Y, batch_size=4, epochs=1)
    text = terminal.getvalue()
    assert text.startswith("Epoch 1/1\n\r")
    assert text.endswith("\n")
    assert "\x1b[1m3/3\x1b[0m" in text


# --- Keras ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="needs Keras")
@pytest.mark.numtape_only(reason="compares with Keras")
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_five_steps_as_keras(tf, name):
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    keras = pytest.importorskip("keras")
    draws = np.random.default_rng(3)
    shapes = (4, 8), (8,), (8,), (8,), (8,), (8,), (8, 3), (3,)
    start = [draws.uniform(0.1, 1.0, size=shape).astype(np.float32) for shape in shapes]
    x = draws.normal(size=(40, 4)).astype(np.float32)
    y = draws.integers(0, 3, 40)
    found = []
    for library in (keras, tf.keras):
        inputs = library.Input((4,))
        hidden = library.layers.Dense(8, "tanh", kernel_regularizer="l2")(inputs)
        hidden = library.layers.BatchNormalization()(hidden)
        model = library.Model(inputs, library.layers.Dense(3, "softmax")(hidden))
        model.build((None, 4))
        model.set_weights(start)
        model.compile(
            getattr(library.optimizers, name)(0.01),
            metrics=["accuracy"],
            loss="sparse_categorical_crossentropy",
            run_eagerly=library is not keras,
        )
        history = model.fit(
            x, y, batch_size=8, epochs=1, shuffle=False, verbose=0, validation_data=(x, y)
        ).history
        found.append((history, model.get_weights()))
    (theirs, their_weights), (ours, our_weights) = found
    assert list(theirs) == list(ours)
    for key, values in theirs.items():
        same(ours[key], values)
    for one, other in zip(our_weights, their_weights, strict=True):
        same(one, other)


def test_metrics_are_listed_in_the_order_of_compile(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "mse", metrics=["mse", "mae", "accuracy"])
    x, y = np.ones((6, 2), "float32"), np.array([[0], [1], [1], [0], [1], [1]], "float32")
    by_name = model.evaluate(x, y, verbose=0, return_dict=True)
    found = model.evaluate(x, y, verbose=0)
    np.testing.assert_allclose(found, [by_name[k] for k in ("loss", "mse", "mae", "accuracy")])


def test_labels_that_do_not_fit_the_loss_are_named(tf):
    x = np.ones((4, 2), "float32")
    for wrong in (np.array([0, 1, 2, 0]), np.ones((4, 1)), np.ones((4, 2))):
        model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="softmax")])
        model.compile("sgd", "categorical_crossentropy")
        with pytest.raises(ValueError, match="must have the same"):
            model.fit(x, wrong, verbose=0)


@pytest.mark.numtape_only(reason="Keras says it in another way")
def test_targets_that_are_missing_are_named(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="pass `y`"):
        model.evaluate(np.ones((4, 2), "float32"), verbose=0)


@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize("kind", ["arrays", "generator"])
def test_steps_that_are_taken_together(tf, kind, eagerly):
    """Ten steps, four per execution: the values of single steps, callbacks every four steps."""
    told = []

    class Told(tf.keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            told.append(batch)

        def on_train_batch_end(self, batch, logs=None):
            told.append((batch, int(self.model.optimizer.iterations.numpy())))

        def on_test_batch_end(self, batch, logs=None):
            told.append(("test", batch))

        def on_predict_batch_end(self, batch, logs=None):
            told.append(("predict", batch, logs["outputs"].shape))

    batches = [np.arange(k, k + 1) for k in range(10)]
    model = linear(tf, run_eagerly=eagerly, steps_per_execution=4)
    if kind == "arrays":
        data, options = (X, Y), {"batch_size": 1, "shuffle": False}
    else:
        data = (((X[rows], Y[rows]) for _ in range(2) for rows in batches),)
        options = {"steps_per_epoch": 10}
    history = model.fit(*data, epochs=2, verbose=0, callbacks=[Told()], **options)
    kernel, _, losses = descended(batches, 2)
    same(model.get_weights()[0], kernel)
    assert told[:6] == [0, (3, 4), 4, (7, 8), 8, (11, told[5][1])]
    if kind == "arrays" or tf.__name__ == "numtape":  # Keras runs two extra steps
        assert told[5] == (11, 10)
        same(history.history["loss"], losses)
    del told[:]
    found = model.evaluate(X, Y, 4, verbose=0, callbacks=[Told()])
    same(found, np.mean((X @ kernel + model.get_weights()[1] - Y) ** 2))
    same(model.predict(X, 2, verbose=0, callbacks=[Told()]), X @ kernel + model.get_weights()[1])
    assert told == [("test", 3), ("predict", 3, (8, 2)), ("predict", 7, (2, 2))]
