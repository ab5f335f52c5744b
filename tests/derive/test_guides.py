"""The examples of the autodiff guide and of four related documents, with their results."""

import math

import numpy as np
import pytest
from checks import WATCHED_INTEGER, logged, same

# --- Gradient tapes ------------------------------------------------------------------------------


def test_first_gradient(tf):
    speed = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        energy = speed**2
    assert tape.gradient(energy, speed).numpy() == 6.0


@pytest.fixture
def linear(tf):
    """A row times a matrix plus a bias, on a persistent tape, with the exact gradients."""
    row = [[1.0, 2.0, 3.0]]
    w = tf.Variable(tf.random.normal((3, 2)), name="w")
    b = tf.Variable(tf.zeros(2, dtype=tf.float32), name="b")
    with tf.GradientTape(persistent=True) as tape:
        y = row @ w + b
        loss = tf.reduce_mean(y**2)
    slope_b = np.array(row, np.float32) @ w.numpy()
    return tape, loss, w, b, np.transpose(row) @ slope_b, slope_b[0]


def test_tensor_gradients_have_the_shape_of_their_source(linear):
    tape, loss, w, b, slope_w, slope_b = linear
    dw, db = tape.gradient(loss, [w, b])
    assert str(w.shape) == str(dw.shape) == "(3, 2)"
    same(dw, slope_w, "float32", rtol=1e-5)
    same(db, slope_b, "float32", rtol=1e-5)


def test_gradients_come_back_in_a_dictionary(linear):
    tape, loss, w, b, _, slope_b = linear
    gradients = tape.gradient(loss, {"w": w, "b": b})
    assert set(gradients) == {"w", "b"}
    same(gradients["b"], slope_b, rtol=1e-5)


def test_gradients_print_in_columns(tf):
    text = str(tf.constant([[4.3425727, 0.26980785], [8.685145, 0.5396157]]))
    rows = "[[4.3425727  0.26980785]\n [8.685145   0.5396157 ]]"
    assert text == f"tf.Tensor(\n{rows}, shape=(2, 2), dtype=float32)"


# --- Gradients with respect to a model -----------------------------------------------------------


def test_layer_gradients_by_variable_name(tf):
    layer = tf.keras.layers.Dense(2, activation="relu")
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(layer(x) ** 2)
    gradients = tape.gradient(loss, layer.trainable_variables)
    pairs = zip(layer.trainable_variables, gradients, strict=True)
    shown = [f"{v.name}, shape: {g.shape}" for v, g in pairs]
    assert shown == ["kernel, shape: (3, 2)", "bias, shape: (2,)"]
    assert [v.name for v in tape.watched_variables()] == [
        f"{layer.name}/kernel:0",
        f"{layer.name}/bias:0",
    ]


def test_unbuilt_layers_have_nothing_to_watch(tf):
    first, second = tf.keras.layers.Dense(3), tf.keras.layers.Dense(3)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(first.variables)
        result = second(first(tf.ones((1, 2))))
    assert tape.gradient(result, first.variables) == [None, None]


# --- What the tape watches -----------------------------------------------------------------------


def test_only_a_trainable_variable_is_watched(tf, capsys):
    x0 = tf.Variable(3.0, name="x0")
    x1 = tf.Variable(3.0, name="x1", trainable=False)
    x2 = tf.Variable(2.0, name="x2") + 1.0
    x3 = tf.constant(3.0, name="x3")
    with tf.GradientTape() as tape:
        y = x0**2 + x1**2 + x2**2
    for g in tape.gradient(y, [x0, x1, x2, x3]):
        print(g)
    expected = ["tf.Tensor(6.0, shape=(), dtype=float32)", "None", "None", "None"]
    assert capsys.readouterr().out.splitlines() == expected
    assert [v.name for v in tape.watched_variables()] == ["x0:0"]


def test_watched_tensor(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    assert tape.gradient(y, x).numpy() == 6.0


def test_watching_one_variable_by_hand(tf):
    x0, x1 = tf.Variable(0.0), tf.Variable(10.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x1)
        total = tf.reduce_sum(tf.math.sin(x0) + tf.nn.softplus(x1))
    gradients = tape.gradient(total, {"x0": x0, "x1": x1})
    assert gradients["x0"] is None
    assert str(gradients["x1"].numpy()) == "0.9999546"


# --- Intermediate results, several gradients -----------------------------------------------------


def test_slope_at_an_intermediate_result(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert tape.gradient(z, y).numpy() == 18.0


def test_persistent_tape_answers_twice(tf):
    x = tf.constant([1, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert str(tape.gradient(z, x).numpy()) == "[  4. 108.]"
    assert str(tape.gradient(y, x).numpy()) == "[2. 6.]"
    del tape


def test_several_targets_are_summed(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y0, y1 = x**2, 1 / x
        y2 = tf.exp(1 / x)
    assert tape.gradient(y0, x).numpy() == 4.0
    assert tape.gradient(y1, x).numpy() == -0.25
    assert tape.gradient({"y0": y0, "y1": y1}, x).numpy() == 3.75
    same(tape.gradient(y2, x), -math.exp(0.5) / 4, "float32")


def test_vector_target_is_summed(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * [3.0, 4.0]
    assert tape.gradient(y, x).numpy() == 7.0


def test_elementwise_slope_of_the_sigmoid(tf):
    x = tf.linspace(-10.0, 10.0, 200 + 1)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.sigmoid(x)
    points = np.linspace(-10.0, 10.0, 201)
    sigmoid = 1 / (1 + np.exp(-points))
    same(x, points, "float32", atol=1e-5)
    same(tape.gradient(y, x), sigmoid * (1 - sigmoid), "float32", rtol=1e-4)


# --- Control flow --------------------------------------------------------------------------------


def test_branch_taken_is_the_branch_recorded(tf):
    x = tf.constant(1.0)
    v0, v1 = tf.Variable(2.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        result = v0 if x > 0.0 else v1**2
    dv0, dv1 = tape.gradient(result, [v0, v1])
    assert str(dv0) == "tf.Tensor(1.0, shape=(), dtype=float32)"
    assert dv1 is None
    assert tape.gradient(result, x) is None


def test_loop_whose_length_depends_on_values(tf):
    def doubled(a):
        b = a * 2
        while tf.norm(b) < 1000:
            b = b * 2
        return b if tf.reduce_sum(b) > 0 else 100 * b

    for start, expected in [(0.75, 2048.0), (-0.75, 204800.0), (-600.0, 200.0)]:
        a = tf.Variable(start)
        with tf.GradientTape() as tape:
            d = doubled(a)
        slope = tape.gradient(d, a)
        assert slope.numpy() == expected
        assert bool(slope == d / a)


# --- Why a gradient can be None ------------------------------------------------------------------


def test_unconnected(tf):
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y * y
    assert tape.gradient(z, x) is None


def test_variable_replaced_by_a_tensor(tf):
    x, shown = tf.Variable(2.0), []
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = x + 1
        shown.append(f"{type(x).__name__} : {tape.gradient(y, x)!s}")
        x = x + 1
    assert shown == [
        "ResourceVariable : tf.Tensor(1.0, shape=(), dtype=float32)",
        "EagerTensor : None",
    ]


def test_arrays_break_the_path(tf):
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)
    with tf.GradientTape() as tape:
        means = np.mean((x**2).numpy(), axis=0)
        y = tf.reduce_mean(means, axis=0)
    same(y, 7.5, "float32")
    assert tape.gradient(y, x) is None


@pytest.mark.tf_differs("the guide's gradient is None: NumPy functions leave TensorFlow's tape")
def test_numpy_functions_stay_on_the_path(tf):
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)
    with tf.GradientTape() as tape:
        means = np.mean(x**2, axis=0)
        y = tf.reduce_mean(means, axis=0)
    same(y, 7.5, "float32")
    same(tape.gradient(y, x), [[0.5, 1.0], [1.5, 2.0]], "float32")


def test_integers_have_no_slope(tf):
    x = tf.constant(10)
    with logged(tf) as messages, tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None
    assert messages == [WATCHED_INTEGER]


def test_state_breaks_the_path(tf):
    x0, x1 = tf.Variable(3.0), tf.Variable(0.0)
    with tf.GradientTape() as tape:
        x1.assign_add(x0)
        y = x1**2
    assert str(y) == "tf.Tensor(9.0, shape=(), dtype=float32)"
    assert tape.gradient(y, x0) is None
    with tf.GradientTape() as tape:
        y = (x1 + x0) ** 2
    assert str(tape.gradient(y, x0)) == "tf.Tensor(12.0, shape=(), dtype=float32)"


def test_op_without_a_gradient(tf):
    image, delta = tf.Variable([[[0.5, 0.0, 0.0]]]), tf.Variable(0.1)
    with tf.GradientTape() as tape:
        changed = tf.image.adjust_contrast(image, delta)
    with pytest.raises(LookupError) as error:
        tape.gradient(changed, [image, delta])
    assert f"{type(error.value).__name__}: {error.value}" == (
        "LookupError: gradient registry has no entry for: AdjustContrastv2"
    )


def test_zero_instead_of_none(tf):
    x, y = tf.Variable([2.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y**2
    zero = tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert str(zero) == "tf.Tensor([0. 0.], shape=(2,), dtype=float32)"


# --- The notebook about vectors ------------------------------------------------------------------


@pytest.fixture
def vector(tf):
    return tf.Variable(tf.range(4, dtype=tf.float32))


def test_vector_reprs(tf, vector):
    array = "numpy=array([0., 1., 2., 3.], dtype=float32)"
    plain = tf.range(4, dtype=tf.float32)
    assert repr(plain) == f"<tf.Tensor: shape=(4,), dtype=float32, {array}>"
    assert repr(vector) == f"<tf.Variable 'Variable:0' shape=(4,) dtype=float32, {array}>"


def test_slope_of_a_dot_product(tf, vector):
    with tf.GradientTape() as tape:
        y = 2 * tf.tensordot(vector, vector, axes=1)
    assert repr(y) == "<tf.Tensor: shape=(), dtype=float32, numpy=28.0>"
    slope = repr(tape.gradient(y, vector))
    array = "array([ 0.,  4.,  8., 12.], dtype=float32)"
    assert slope == f"<tf.Tensor: shape=(4,), dtype=float32, numpy={array}>"


def test_new_recordings_replace_old_ones(tf, vector):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(vector)
    same(tape.gradient(y, vector), [1.0, 1.0, 1.0, 1.0], "float32")
    with tf.GradientTape() as tape:
        y = (2 * (vector**2)) + (3 * vector) + 10
    same(tape.gradient(y, vector), [3.0, 7.0, 11.0, 15.0], "float32")


def test_detached_part(tf, vector):
    with tf.GradientTape(persistent=True) as tape:
        y = vector**3
        u = tf.stop_gradient(y)
        z = 2 * u * vector
    direct = tape.gradient(z, vector)
    same(direct, [0.0, 2.0, 16.0, 54.0], "float32")
    equal = "<tf.Tensor: shape=(4,), dtype=bool, numpy=array([ True,  True,  True,  True])>"
    assert repr(direct == 2 * u) == equal
    through = tape.gradient(y, vector)
    same(through, [0.0, 3.0, 12.0, 27.0], "float32")
    assert repr(through == 3 * (vector**2)) == equal


# --- The API page --------------------------------------------------------------------------------


def test_nested_tapes(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        first = inner.gradient(y, x)
    same(first, 6.0)
    same(outer.gradient(first, x), 2.0)


def test_jacobian_and_batch_jacobian(tf):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    same(tape.jacobian(y, x), [[2.0, 0.0], [0.0, 4.0]])
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    same(tape.batch_jacobian(y, x), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


def test_reset_forgets_what_came_before(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        loss = v * v
        tape.reset()
        loss += 2 * v
    assert tape.gradient(loss, v).numpy() == 2.0


def test_gradient_outside_the_recording(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        loss = v * v
        with tape.stop_recording():
            slope = tape.gradient(loss, v)
    assert slope.numpy() == 6.0
    assert tape.gradient(slope, v) is None
