"""`tf.train`: options with callbacks, and moving averages."""

import copy

import numpy as np
import pytest

import numtape as tf

Options = tf.train.CheckpointOptions


def test_callbacks(tmp_path):
    calls = []
    options = Options(
        experimental_write_callbacks=[calls.append, lambda: calls.append("without an argument")]
    )
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 2)
    paths = [
        checkpoint.write(tmp_path / "w", options),
        checkpoint.save(tmp_path / "s", options),
        manager.save(options=options),
    ]
    assert calls[::2] == paths
    assert calls[1::2] == ["without an argument"] * 3
    with pytest.raises(TypeError, match="CheckpointOptions"):
        checkpoint.write(tmp_path / "w", {"enable_async": True})


def test_copies_are_independent():
    options = Options(experimental_io_device="CPU:0", experimental_write_callbacks=[print])
    copied = copy.copy(options)
    copied.experimental_write_callbacks.append(len)
    copied.experimental_io_device = "CPU:1"
    assert options.experimental_write_callbacks == [print]
    assert options.experimental_io_device == "CPU:0"


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"experimental_write_callbacks": [lambda a, b: a]}, AssertionError, "has 2 parameters"),
        ({"experimental_sharding_callback": print}, tf.errors.UnimplementedError, "one file"),
        ({"experimental_skip_slot_variables": True}, tf.errors.UnimplementedError, "optimizer"),
    ],
)
def test_errors(options, kind, text):
    with pytest.raises(kind, match=text):
        Options(**options)


@pytest.mark.parametrize("count", [None, 1])
def test_moving_average(count):
    v = tf.Variable([10.0, 11.0])
    average = tf.train.ExponentialMovingAverage(0.25, num_updates=count)
    decay = 0.25 if count is None else min(0.25, 2 / 11)
    expected = np.array([10.0, 11.0])
    apply = tf.function(lambda: average.apply([v]))
    for k in range(4):
        v.assign([float(k), -float(k)])
        if k == 0:
            expected = v.numpy()
        (average.apply([v]) if k < 2 else apply())
        expected = decay * expected + (1 - decay) * v.numpy()
        np.testing.assert_allclose(average.average(v).numpy(), expected, rtol=1e-6)
    assert average.average_name(v) == "Variable/ExponentialMovingAverage"
    assert average.variables_to_restore()["Variable/ExponentialMovingAverage"] is v
    with pytest.raises(TypeError, match="half, float, or double"):
        average.apply([tf.Variable(1)])
