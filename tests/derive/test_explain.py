"""The output of `GradientTape.why`, `summary` and `to_dot`."""

import numpy as np
import pytest

import numtape as tf

pytestmark = pytest.mark.numtape_only("TensorFlow does not say why")


def why(function, source, *, persistent=False):
    with tf.GradientTape(persistent) as tape:
        y = function()
    return tape.why(y, source)


@pytest.fixture
def x():
    return tf.Variable([1.0, 4.0])


def test_ops_that_break_the_path(x):
    cases = {
        "Cast (shape [2], int32): it gives int32": lambda: tf.cast(tf.cast(x, "int32"), "float32"),
        "StopGradient (shape [2], float32): it stops gradients": lambda: tf.stop_gradient(x) * 2.0,
        "Floor (shape [2], float32): it has no derivative": lambda: tf.floor(x) * 2.0,
    }
    for said, function in cases.items():
        assert said in why(function, x)


def test_what_else_breaks_it(x):
    w, c = tf.Variable(1.0), tf.constant(3.0)
    assert "is not watched" in why(lambda: c * 2.0, c)
    assert "numpy()" in why(lambda: tf.constant(x.numpy()) * 2.0, x)
    assert "not of floats" in why(lambda: x * 2.0, tf.constant(1))
    assert "int32, not of floats" in why(lambda: tf.cast(x, tf.int32), x)

    def assigned():
        w.assign(tf.reduce_sum(x))
        return w * 2.0

    assert "by way of the state" in why(assigned, x)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        with tape.stop_recording():
            z = y * 2.0
        last = z * 3.0
    assert "while the tape was stopped" in tape.why(last, x)
    assert "after the tape had ended" in tape.why(y * 2.0, x)
    assert tape.why(y, x) == "The gradient is there, and finite."
    with pytest.raises(TypeError):
        tape.why(None, x)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError):
        tape.why(y, x)


def test_where_nan_and_infinity_come_from(x):
    assert "the derivative of Sqrt (shape [2], float32) gives it" in why(
        lambda: tf.sqrt(x - [1.0, 1.0]) * 2.0, x
    )
    said = why(lambda: tf.sqrt(x - 5.0) * 2.0, x)
    assert "first NaN among the values is made by Sqrt (shape [2], float32)." in said


def test_lines_if_they_are_asked_for(x):
    def function():
        y = tf.stop_gradient(x)
        return y * 2.0

    line = function.__code__.co_firstlineno + 1
    assert __file__ not in why(function, x)
    tf.config.set_record_traceback(True)
    try:
        assert f"{__file__}:{line}" in why(function, x)
    finally:
        tf.config.set_record_traceback(False)
    assert __file__ not in why(function, x)


def test_asking_why_changes_nothing(x):
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.sqrt(x))
    before = tape.gradient(y, x).numpy()
    for _ in range(3):
        tape.why(y, x)
    assert np.array_equal(tape.gradient(y, x).numpy(), before)


def test_summary_and_graph(x):
    with tf.GradientTape() as tape:
        y = x * x
        for _ in range(300):
            y = y + 1.0
    assert "AddV2              300        2400" in tape.summary()
    dot = tape.to_dot(most=10)
    assert dot.count("label") == 11 and '"292 ops before"' in dot and dot.count("->") == 9
    assert "<td>AddV2</td><td>300</td>" in tape._repr_html_()
    assert tf.GradientTape().summary().splitlines()[-1].split() == ["all", "0", "0"]


def test_integers_lead_back_to_where_they_were_made(tf):
    v = tf.Variable([1.5, 2.5])
    with tf.GradientTape() as tape:
        y = tf.cast(v, tf.int32)[:1] * 2
    said = str(tape.why(y, v))
    assert "the target is of int32" in said and "Cast" in said and "Mul" not in said


def test_a_none_is_explained_after_the_gradient(x):
    w, c = tf.Variable(1.0), tf.constant(3.0)
    recordings = set()
    for _ in range(6):  # rows that repeat are copied once
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.floor(x) * 2.0) * w
            z = tf.cast(y, tf.int32)
        dx, dw, dc = tape.gradient([y, z], [x, w, c])
        assert dx is None and dc is None and float(dw) == 10.0  # the log is rewound here
        assert "Floor (shape [2], float32): it has no derivative" in tape.why(y, x)
        assert "not among what the target is computed from" in tape.why(y, c)
        assert "int32, not of floats" in tape.why(z, x)
        with pytest.raises(RuntimeError, match="persistent=True"):
            tape.why(y, w)  # was not None
        with pytest.raises(RuntimeError, match="persistent=True"):
            tape.why(y * 2.0, x)  # was not asked for
        recordings.add(id(tape._tape.unconnected.recording))
    assert len(recordings) < 6
    with tf.GradientTape() as tape:
        y = tf.floor(x)
    assert tape.jacobian(y, x) is None and "Floor" in tape.why(y, x)
