"""Losses of single outputs in `logs`, and state of metrics in files."""

import numpy as np
import pytest

DRAWS = np.random.default_rng(3)
X = DRAWS.normal(size=(10, 4)).astype(np.float32)
TARGETS = (
    DRAWS.normal(size=(10, 2)).astype(np.float32),
    DRAWS.normal(size=(10, 1)).astype(np.float32),
)
KERNELS = DRAWS.normal(size=(4, 2)), DRAWS.normal(size=(4, 1))
RATE, FACTORS = 0.1, (1.0, 0.5)
BATCHES = [slice(0, 4), slice(4, 8), slice(8, 10)]  # the last one is smaller


def trained(epochs, weights):
    """Gradient descent in NumPy: each epoch's losses (means over examples), and the final ones."""
    kernels = [k.copy() for k in KERNELS]
    logs = []
    for _ in range(epochs + 1):
        sums = np.zeros(2)
        for rows in BATCHES:
            for j, target in enumerate(TARGETS):
                error = X[rows] @ kernels[j] - target[rows]
                w = weights[rows, None]
                count = len(X[rows])
                sums[j] += np.sum(w * error**2) / error.shape[1]
                if len(logs) < epochs:
                    slope = 2 * X[rows].T @ (w * error) / error.size
                    kernels[j] -= RATE * FACTORS[j] * slope
                assert error.size == count * target.shape[1]
        logs.append(sums / len(X))
    return logs


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("eager", [True, False])
def test_losses_of_outputs_are_means_over_examples(tf, eager, weighed):
    if not eager and tf.__name__ != "numtape":
        pytest.skip("Keras weighs a smaller last batch like a whole one in recorded steps")
    layers = tf.keras.layers
    x = tf.keras.Input((4,))
    outputs = [
        layers.Dense(k.shape[1], use_bias=False, name=name)(x)
        for k, name in zip(KERNELS, ("one", "two"), strict=True)
    ]
    model = tf.keras.Model(x, outputs)
    model.set_weights(list(KERNELS))
    model.compile(
        tf.keras.optimizers.SGD(RATE), ["mse", "mse"], loss_weights=list(FACTORS), run_eagerly=eager
    )
    weights = np.linspace(0.2, 2, 10) if weighed else np.ones(10)
    given = {"sample_weight": weights.astype(np.float32)} if weighed else {}
    history = model.fit(
        X, list(TARGETS), batch_size=4, epochs=2, shuffle=False, verbose=0, **given
    ).history
    *epochs, end = trained(2, weights)
    found = model.evaluate(X, list(TARGETS), batch_size=4, verbose=0, return_dict=True, **given)
    for k, wanted in enumerate([*epochs, end]):
        logs = found if k == 2 else {name: values[k] for name, values in history.items()}
        np.testing.assert_allclose([logs["one_loss"], logs["two_loss"]], wanted, 1e-5)
        np.testing.assert_allclose(logs["loss"], wanted @ np.array(FACTORS), 1e-5)


def with_metrics(tf):
    """A model with its own metrics, in itself and in a layer."""

    class Part(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.seen = [tf.keras.metrics.Mean(name="seen")]

        def call(self, x):
            self.seen[0].update_state(x)
            return x

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.part, self.dense = Part(), tf.keras.layers.Dense(1)
            self.largest = tf.keras.metrics.Mean(name="largest")

        def call(self, x):
            self.largest.update_state(tf.reduce_max(x))
            return self.dense(self.part(x))

    model = Model()
    model(X)
    return model


def test_files_of_weights_leave_running_values_of_metrics_as_they_are(tf, tmp_path):
    ours = tf.__name__ == "numtape"
    path = str(tmp_path / f"m.weights.{'safetensors' if ours else 'h5'}")
    first, second = with_metrics(tf), with_metrics(tf)
    first(100 * X)
    first.save_weights(path)
    metrics = [second.largest, second.part.seen[0]]
    before = [float(m.result()) for m in metrics]
    second.load_weights(path)
    assert [float(m.result()) for m in metrics] == before
    assert all(map(np.array_equal, first.get_weights(), second.get_weights()))


def test_models_in_files_begin_with_no_running_values(tf, tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    model.train_on_batch(X, TARGETS[1])
    path = str(tmp_path / "m.keras")
    model.save(path)
    other = tf.keras.models.load_model(path)
    assert model.metrics[0].variables[1].numpy() == 10
    assert not any(np.any(v.numpy()) for m in other.metrics for v in m.variables)
    found = other.train_on_batch(X, TARGETS[1], return_dict=True)
    error = np.abs(X @ model.get_weights()[0] + model.get_weights()[1] - TARGETS[1])
    np.testing.assert_allclose(float(found["mae"]), error.mean(), 1e-5)


@pytest.mark.parametrize("wrong", ["loss", "loss_weights"])
def test_losses_are_those_of_outputs_that_there_are(tf, wrong):
    inputs = tf.keras.Input((4,))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, name="out")(inputs))
    given = {"loss": {"out": "mse"}, "loss_weights": {"out": 0.5}}
    given[wrong] = {"other": given[wrong].pop("out")}
    model.compile("sgd", **given)
    with pytest.raises((ValueError, KeyError), match="out"):
        model.fit(X, X[:, :1], verbose=0)
