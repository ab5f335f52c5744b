"""Results of `gradient`: variables, None and zeros, seeds, missing gradients."""

import numpy as np
import pytest
from checks import same, slope

UNKNOWN = "Unknown value for unconnected_gradients"


# --- Reading and assigning variables -------------------------------------------------------------


def test_all_reads_of_a_variable_are_summed(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = 3 * v
        v.assign(5.0)
        y += v * v
    same(y, 34.0)
    same(tape.gradient(y, v), 13.0)


def test_gradient_uses_the_value_that_was_read(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    v.assign(100.0)
    same(tape.gradient(y, v), 6.0)
    with tf.GradientTape() as tape:
        y = v**2
        v.assign_sub(99.0)
        z = y * v**2
    same(tape.gradient(z, v), 2 * 100.0 * 1.0 + 100.0**2 * 2 * 1.0)


def test_what_assign_returns_leads_back_to_the_variable_only(tf):
    v, x = tf.Variable(3.0), tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        stored = v.assign(x * x)
        y = stored * stored
        z = v.assign_add(1.0) * 2.0
    same(y, 16.0)
    same(z, 10.0)
    same(tape.gradient(y, v), 8.0)
    same(tape.gradient(stored, v), 1.0)
    same(tape.gradient(z, v), 2.0)
    assert tape.gradient(y, x) is None


def test_reads_are_tensors_of_their_own(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        a, b, c, d = v.read_value(), v.value(), tf.convert_to_tensor(v), v[...]
        y = a * b * c * d
    same(tape.gradient(y, v), 4 * 27.0)
    assert [float(tape.gradient(y, read)) for read in (a, b, c, d)] == [27.0] * 4


SAME_SHAPE = {
    "reshape": lambda tf, x: tf.reshape(x, (2, 1)),
    "transpose": lambda tf, x: tf.transpose(x, [0, 1]),
    "broadcast_to": lambda tf, x: tf.broadcast_to(x, (2, 1)),
    "slice": lambda tf, x: x[:],
    "ellipsis": lambda tf, x: x[...],
    "identity": lambda tf, x: tf.identity(x),
    "no axes": lambda tf, x: tf.reduce_sum(x, axis=[]),
    "concat of one": lambda tf, x: tf.concat([x], 0),
    "tile by one": lambda tf, x: tf.tile(x, [1, 1]),
}


@pytest.mark.parametrize("function", SAME_SHAPE.values(), ids=SAME_SHAPE.keys())
def test_results_are_tensors_of_their_own(tf, function):
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(tf, x)
        z = y * x
    outside = function(tf, x)
    assert y is not x
    same(tape.gradient(z, y), [[1.0], [2.0]])
    same(tape.gradient(z, x), [[2.0], [4.0]])
    assert tape.gradient(outside, x) is None


def test_elements_of_a_variable(tf):
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = v[0] * v[2]
    same(tape.gradient(y, v), [3.0, 0.0, 1.0], "float32")


def test_assignments_are_not_steps_of_the_path(tf):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    with tf.GradientTape() as tape:
        w.assign(v * 2)
        y = w * v
    dv, dw = tape.gradient(y, [v, w])
    same(dv, [2.0, 4.0])
    same(dw, [1.0, 2.0])


# --- None and zero -------------------------------------------------------------------------------

NO_PATH = {
    "floor": lambda tf, x: tf.floor(x),
    "ceil": lambda tf, x: tf.math.ceil(x),
    "round": lambda tf, x: tf.round(x),
    "floordiv": lambda tf, x: x // 1.0,
    "ones_like": lambda tf, x: tf.ones_like(x),
    "zeros_like": lambda tf, x: tf.zeros_like(x),
    "greater": lambda tf, x: x > 1.0,
    "equal": lambda tf, x: x == 1.0,
    "argmax": lambda tf, x: tf.argmax(tf.stack([x, x])),
    "to int and back": lambda tf, x: tf.cast(tf.cast(x, tf.int32), tf.float32),
    "stop_gradient": lambda tf, x: tf.stop_gradient(x),
    "numpy": lambda tf, x: tf.constant(x.numpy()) * 2.0,
    "another tensor": lambda tf, x: tf.constant(2.0),
}


@pytest.mark.parametrize("function", NO_PATH.values(), ids=NO_PATH.keys())
def test_no_path(tf, function):
    assert slope(tf, lambda x: function(tf, x), 1.5) is None
    zero = slope(tf, lambda x: function(tf, x), 1.5, unconnected_gradients="zero")
    same(zero, 0.0, "float32")


PATH = {
    "sign is flat": (lambda tf, x: tf.sign(x), 0.0),
    "remainder": (lambda tf, x: x % 1.0, 1.0),
    "identity": (lambda tf, x: tf.identity(x), 1.0),
    "constant of a tensor": (lambda tf, x: tf.constant(x), 1.0),
    "convert_to_tensor": (lambda tf, x: tf.convert_to_tensor(x), 1.0),
    "list of tensors": (lambda tf, x: tf.convert_to_tensor([x, 1.0, 2 * x]), 3.0),
    "through float64": (lambda tf, x: tf.cast(tf.cast(x, tf.float64), tf.float32) * 2, 2.0),
    "partly stopped": (lambda tf, x: x * tf.stop_gradient(x * x), 2.25),
    "tensor as a number": (lambda tf, x: x * float(x), 1.5),
    "NumPy on the left": (lambda tf, x: np.array([1.0, 2.0], np.float32) * x, 3.0),
    "the same tensor twice": (lambda tf, x: x * x + x, 4.0),
}


@pytest.mark.parametrize(("function", "expected"), PATH.values(), ids=PATH.keys())
def test_path(tf, function, expected):
    same(slope(tf, lambda x: function(tf, x), 1.5), expected, "float32")


@pytest.mark.parametrize("none", ["none", "NONE"])
@pytest.mark.parametrize("zero", ["zero", "ZERO"])
def test_unconnected_gradients_by_word_or_by_enum(tf, none, zero):
    none = none if none == "none" else tf.UnconnectedGradients.NONE
    zero = zero if zero == "zero" else tf.UnconnectedGradients.ZERO
    x, y = tf.Variable([2.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        z = y * y
    assert tape.gradient(z, x, unconnected_gradients=none) is None
    dx, dy = tape.gradient(z, [x, y], unconnected_gradients=zero)
    same(dx, [0.0, 0.0], "float32")
    same(dy, 6.0)


def test_unconnected_gradients_enum(tf):
    assert tf.UnconnectedGradients("zero") is tf.UnconnectedGradients.ZERO
    assert tf.UnconnectedGradients.NONE.value == "none"


@pytest.mark.parametrize("word", ["bad", "ZERO", None, True])
def test_unknown_word_for_unconnected_gradients_does_not_spend_the_tape(tf, word):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    with pytest.raises(ValueError, match=UNKNOWN):
        tape.gradient(y, v, unconnected_gradients=word)
    same(tape.gradient(y, v), 6.0)


# --- Integers ------------------------------------------------------------------------------------


def test_integer_source_and_target(tf):
    n, x = tf.constant(3), tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([n, x])
        y = x * tf.cast(n, tf.float32)
        whole = tf.cast(x, tf.int32)
    dn, dx = tape.gradient(y, [n, x])
    assert dn is None
    same(dx, 3.0)
    same(tape.gradient(y, n, unconnected_gradients="zero"), 0, "int32")
    assert tape.gradient(whole, x) is None
    same(tape.gradient(whole, x, unconnected_gradients="zero"), 0.0, "float32")
    same(tape.gradient([whole, y], x), 3.0)
    same(tape.gradient(n, n), 1, "int32")


def test_integer_variable_is_watched_and_has_no_slope(tf):
    v = tf.Variable(2)
    with tf.GradientTape() as tape:
        y = v * 3
    assert [x is v for x in tape.watched_variables()] == [True]
    assert tape.gradient(y, v) is None


# --- Seeds ---------------------------------------------------------------------------------------


@pytest.fixture
def two(tf):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = 2 * x, 3 * x
    return tape, x, y, z


SEEDS = {
    "tensor": lambda tf: tf.constant([1.0, 10.0]),
    "list": lambda tf: [tf.constant([1.0, 10.0])],
    "array": lambda tf: np.array([1.0, 10.0], np.float32),
    "variable": lambda tf: tf.Variable([1.0, 10.0]),
    "more than targets": lambda tf: [tf.constant([1.0, 10.0]), tf.constant([5.0, 5.0])],
}


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS.keys())
def test_seed_of_one_target(tf, two, seed):
    tape, x, y, _ = two
    same(tape.gradient(y, x, output_gradients=seed(tf)), [2.0, 20.0], "float32")


def test_seeds_of_several_targets(tf, two):
    tape, x, y, z = two
    ones, seed = tf.constant([1.0, 1.0]), tf.constant([1.0, 10.0])
    same(tape.gradient([y, z], x, output_gradients=[ones, seed]), [5.0, 32.0])
    same(tape.gradient({"a": y, "b": z}, x, output_gradients={"b": ones, "a": seed}), [5.0, 23.0])


def test_missing_seeds_are_ones(tf, two):
    tape, x, y, z = two
    same(tape.gradient([y, z], x, output_gradients=[]), [5.0, 5.0])
    same(tape.gradient([y, z], x, output_gradients=[tf.constant([1.0, 10.0])]), [5.0, 23.0])


@pytest.mark.numtape_only("TensorFlow fails, or crashes, on a seed of None")
def test_seed_of_none_is_ones(tf, two):
    tape, x, y, z = two
    seed = tf.constant([1.0, 10.0])
    same(tape.gradient([y, z], x, output_gradients=[None, seed]), [5.0, 32.0])
    same(tape.gradient(y, x, output_gradients=[None]), [2.0, 2.0])


def test_gradient_with_respect_to_a_seed(tf):
    x, seed = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        product = inner.gradient(y, x, output_gradients=seed)
    same(product, [6.0, 16.0])
    same(outer.gradient(product, seed), [2.0, 4.0])


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_seed_of_another_dtype(tf, two, dtype):
    tape, x, y, _ = two
    with pytest.raises(tf.errors.InvalidArgumentError):
        tape.gradient(y, x, output_gradients=tf.constant([1, 2], dtype))


# --- Ops without a gradient ----------------------------------------------------------------------

NO_ENTRY = "gradient registry has no entry for: AdjustContrastv2"


def test_missing_gradient_raises_only_on_its_own_path(tf):
    image, delta = tf.Variable([[[0.5, 0.0, 0.0]]]), tf.Variable(0.1)
    with tf.GradientTape(persistent=True) as tape:
        changed = tf.image.adjust_contrast(image, delta)
        brighter = tf.reduce_sum(image) * 2.0
    for sources in (image, delta, [image, delta]):
        with pytest.raises(LookupError, match=NO_ENTRY):
            tape.gradient(changed, sources)
    di, dd = tape.gradient(brighter, [image, delta])
    same(di, [[[2.0, 2.0, 2.0]]])
    assert dd is None


def test_adjust_contrast_moves_each_channel_about_its_mean(tf):
    image = np.arange(12.0, dtype=np.float32).reshape(2, 2, 3)
    mean = image.mean(axis=(0, 1))
    same(tf.image.adjust_contrast(image, 2.0), (image - mean) * 2.0 + mean, "float32")


@pytest.mark.numtape_only("TensorFlow's tape is broken after a LookupError")
def test_tape_is_as_before_after_a_missing_gradient(tf):
    image = tf.Variable([[[0.5, 0.0, 0.0]]])
    with tf.GradientTape() as tape:
        changed = tf.image.adjust_contrast(image, 0.1)
        brighter = tf.reduce_sum(image) * 2.0
    with pytest.raises(LookupError, match=NO_ENTRY):
        tape.gradient(changed, image)
    same(tape.gradient(brighter, image), [[[2.0, 2.0, 2.0]]])


# --- Invalid targets and sources -----------------------------------------------------------------


def test_none_as_target_or_source_does_not_spend_the_tape(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    for target, sources in [(None, v), (y, None), (y, [v, None]), ([y, None], v)]:
        with pytest.raises(TypeError):
            tape.gradient(target, sources)
    same(tape.gradient(y, v), 6.0)


def test_slice_that_takes_nothing(tf):
    x = tf.Variable([[3.0]])
    with tf.GradientTape() as tape:
        y = x[-2::-2] * 2.0
    assert y.shape == (0, 1)
    assert tape.gradient(y, x).numpy().tolist() == [[0.0]]
