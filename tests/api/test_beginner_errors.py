"""Error messages for typical mistakes of beginners."""

import numpy as np
import pytest

pytestmark = pytest.mark.numtape_only(reason="TensorFlow's messages say less")


def taped(tf):
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = v * v
    return tape, v, y


MISTAKES = {
    "a NumPy value as a target": (
        lambda tf: (lambda tape, v, y: tape.gradient(np.sum(y.numpy()), v))(*taped(tf)),
        TypeError,
        "got float32. NumPy left the tape: .* tf.reduce_sum for np.sum",
    ),
    "a NumPy array as a target of jacobian": (
        lambda tf: (lambda tape, v, y: tape.jacobian(y.numpy(), v))(*taped(tf)),
        TypeError,
        "got ndarray. NumPy left the tape",
    ),
    "a float as a target": (
        lambda tf: (lambda tape, v, y: tape.gradient(float(y[0]), v))(*taped(tf)),
        TypeError,
        "got float. A number of Python's has no gradient",
    ),
    "a float as a source": (
        lambda tf: (lambda tape, v, y: tape.gradient(y, 2.0))(*taped(tf)),
        TypeError,
        "got float. A number of Python's has no gradient",
    ),
    "text as a source": (
        lambda tf: (lambda tape, v, y: tape.gradient(y, "v"))(*taped(tf)),
        TypeError,
        "must be tensors or variables, got str",
    ),
    "a tape never entered": (
        lambda tf: tf.GradientTape().gradient(tf.ones(2), tf.ones(2)),
        RuntimeError,
        "A non-persistent GradientTape .* it was never entered",
    ),
    "a tape asked twice": (
        lambda tf: (lambda tape, v, y: [tape.gradient(y, v), tape.gradient(y, v)])(*taped(tf)),
        RuntimeError,
        "A non-persistent GradientTape can only .* persistent=True to ask more",
    ),
    "one_hot of floats": (
        lambda tf: tf.one_hot([1.0, 2.0], 3),
        TypeError,
        "indices must be integers, got float32",
    ),
    "float64 and a float32 variable": (
        lambda tf: tf.matmul(tf.ones((2, 2), tf.float64), tf.Variable(tf.ones((2, 2)))),
        TypeError,
        "expected to be a float64 tensor but is a float32 tensor .* `cast`",
    ),
    "a tensor and text": (
        lambda tf: tf.ones(2) + "text",
        ValueError,
        "unsupported type .*strings.to_number",
    ),
    "text and a tensor": (
        lambda tf: "text" + tf.ones(2),
        ValueError,
        "unsupported type .*strings.to_number",
    ),
    "text": (
        lambda tf: tf.sin(["a", "b"]),
        ValueError,
        "unsupported type .*strings.to_number",
    ),
    "an optimizer without gradients": (
        lambda tf: tf.keras.optimizers.SGD().apply_gradients([(None, tf.Variable(1.0))]),
        ValueError,
        "^No gradients provided for any variable",
    ),
    "pairs the wrong way round": (
        lambda tf: tf.keras.optimizers.SGD().apply_gradients([(tf.Variable(1.0), tf.ones(()))]),
        TypeError,
        r"pairs must be \(gradient, variable\)",
    ),
    "a gradient of another shape": (
        lambda tf: tf.keras.optimizers.SGD().apply_gradients([(tf.ones(3), tf.Variable([1.0]))]),
        Exception,
        "shape|Shape",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained(tf, name):
    call, kind, said = MISTAKES[name]
    with pytest.raises(kind, match=said):
        call(tf)


def test_a_missing_gradient_is_named_and_no_other_library(tf, recwarn):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")
    tf.keras.optimizers.SGD(0.5).apply_gradients([(tf.ones(()), v), (None, w)])
    (said,) = [str(x.message) for x in recwarn]
    assert "['w" in said or "w:0" in said
    assert (v.numpy(), w.numpy()) == (0.5, 1.0)
