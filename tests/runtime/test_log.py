"""The log's guarantees: lazy evaluation, no repeated work, and release of values."""

import numpy as np
import pytest
from log_queries import computed, computes, fresh_log, sweeps
from processes import run

from numtape.core.log.log import SWEEP_BYTES, SWEEP_ROWS, local

pytestmark = pytest.mark.numtape_only("looks into numtape's log")


@pytest.fixture(autouse=True)
def log():
    with fresh_log() as found:
        yield found


def vector(tf, n=4):
    return tf.constant(np.arange(1.0, n + 1, dtype=np.float32))


# Constants.


def test_equal_constants_share_a_row(tf, log):
    x = tf.constant(2.0) * 1.0
    before = log.n
    for _ in range(10):
        x = x * 3.0 + 0.5
    assert log.n == before + 2 + 20


@pytest.mark.parametrize("like", ["float32", "float64", "int32", "int64"])
def test_constants_are_keyed_by_dtype_and_bytes(tf, log, like):
    """-0.0, 0.0, 0 and False are different; so are 1.0, 1 and True."""
    from numtape.core.values.spec import intern

    names = ("float32", "float64", "int32", "int64")
    specs = [intern((), tf.as_dtype(name)) for name in names]
    keys = [(v, s) for s in specs for v in ((0.0, -0.0, 1.0) if s.is_float else (0, 1))]
    rows = [log.constant(value, spec) for value, spec in keys]
    assert len(set(rows)) == len(keys)
    assert [log.constant(value, spec) for value, spec in keys] == rows
    for row, (value, spec) in zip(rows, keys, strict=True):
        expected = np.array(value, spec.dtype.numpy_dtype)
        assert log.value(row, spec).tobytes() == expected.tobytes()


def test_sign_of_zero_survives(tf):
    one = tf.constant(1.0)
    found = [float(one / (one * zero)) for zero in (0.0, -0.0, 0, False * 1.0)]
    assert found == [np.inf, -np.inf, np.inf, np.inf]
    negative, positive = one * -0.0, one * 0.0
    assert np.signbit([negative.numpy(), positive.numpy()]).tolist() == [True, False]


def test_special_constants(tf):
    x = tf.constant([0.0, 1.0])
    assert (x * 1e300).numpy().tolist()[1] == np.inf
    assert (x - 1e300).numpy().tolist() == [-np.inf, -np.inf]
    assert np.isnan((x + float("nan")).numpy()).all()


# Buffers are immutable.


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3)])
def test_numpy_goes_in_as_a_copy(tf, shape):
    array = np.ones(shape, np.float32)
    view = array.view()
    view.flags.writeable = False
    v = tf.Variable(view)
    made = [tf.constant(view), tf.convert_to_tensor(view), tf.Variable(view), v + view, v]
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * view)
    v.assign(view)
    array[...] = 7.0
    assert [np.asarray(x).max() for x in made] == [1, 1, 1, 2, 1]
    assert tape.gradient(y, v).numpy().max() == 1.0


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3)])
def test_numpy_comes_out_as_a_copy(tf, shape):
    x = tf.constant(np.ones(shape, np.float32))
    v = tf.Variable(x)
    for tensor in (x, x + 0.0, tf.reshape(x, [-1]), v, v.read_value(), tf.identity(v)):
        for out in (np.asarray(tensor), tensor.numpy(), np.array(tensor, copy=True)):
            if (
                isinstance(out, np.ndarray) and out.flags.writeable
            ):  # views of the log are not writeable
                out[...] = 9.0
        assert np.asarray(tensor).max() == 1.0
    assert np.asarray(x).max() == 1.0


def test_assign_changes_no_tensor_read_before(tf):
    v = tf.Variable([1.0, 2.0])
    before, later = v.read_value(), tf.reshape(v, [1, 2])
    w = tf.Variable(v)
    v.assign([5.0, 6.0])
    v.assign_add([1.0, 1.0])
    assert [x.numpy().ravel().tolist() for x in (before, later, w, v)] == [
        [1, 2],
        [1, 2],
        [1, 2],
        [6, 7],
    ]


# Rewinding.


def test_rows_rewind_after_a_look_without_a_tape(tf, log):
    x = vector(tf)
    for _ in range(100):
        y = tf.reduce_sum(tf.sin(x) * 2.0)
        z = y + 1.0
        assert float(z) == float(y) + 1.0
        assert log.n <= 8
    assert log.n == 0
    assert not log.buffers
    assert computed(y)


def test_live_values_survive_the_rewinding(tf, log):
    scalars = [tf.constant(float(k)) * 2.0 for k in range(50)]
    float(scalars[0])
    assert log.n == 0
    for k in range(1000):
        float(tf.constant(1.0) * float(k))
    assert [float(s) for s in scalars] == [2.0 * k for k in range(50)]


def test_log_is_bounded_where_nobody_looks(tf, log):
    x, most = tf.constant(0.0), 0
    for _ in range(100_000):
        x = x + 1.0
        most = max(most, log.n)
    assert most <= SWEEP_ROWS
    assert log.columns.capacity <= 4 * SWEEP_ROWS
    assert local.log is log
    assert float(x) == 100_000.0


def test_assign_loop_is_bounded_where_nobody_looks(tf, log):
    v, most = tf.Variable([0.0, 0.0]), 0
    for _ in range(20_000):
        v.assign_add([1.0, 2.0])
        most = max(most, log.n)
    assert most <= SWEEP_ROWS
    assert v.numpy().tolist() == [20_000.0, 40_000.0]


def test_bytes_are_bounded_where_nobody_looks(tf, log):
    size = 1 << 20
    array, x = np.ones(size, np.float32), tf.zeros(size)
    for _ in range(3 * SWEEP_BYTES // (4 * size)):
        x = x + array
    assert log.bytes <= SWEEP_BYTES + 16 * size
    assert x.numpy()[0] == 3 * SWEEP_BYTES // (4 * size)


@pytest.mark.parametrize("function", ["abs", "add", "reduce_sum", "concat"])
def test_operands_larger_than_what_a_log_may_hold(tf, log, monkeypatch, function):
    """An op needs them, so they are copied to the log only once."""
    monkeypatch.setattr("numtape.core.log.log.SWEEP_BYTES", 1000)
    log.rewind()
    x, y, most = tf.ones(2000), tf.ones(2000), 0
    operands = {"add": (x, y), "concat": ([x, y], 0)}.get(function, (x,))
    for _ in range(20):
        found = getattr(tf, function)(*operands) + tf.ones(1)
        most = max(most, log.bytes)
    assert most <= 20 * x.numpy().nbytes
    assert found.numpy()[0] in (2.0, 3.0, 2001.0)


def test_large_arrays_under_a_tape_do_not_make_the_log_grow(tf, log):
    """Beyond the limit of bytes a tape keeps the rows, but their number stays bounded."""
    size = 1 << 20
    array, v = np.ones(size, np.float32), tf.Variable(tf.zeros(size))
    with tf.GradientTape() as tape:
        y = v * 1.0
        for _ in range(SWEEP_BYTES // (4 * size) + 8):
            y = y + array
    assert log.columns.capacity <= 4 * SWEEP_ROWS
    assert tape.gradient(y, v).numpy()[0] == 1.0


# Operands that record their own rows (lists with tensors) while the log is full.
FULL = """
import numtape as tf
from numtape.core.log.log import SLACK, SWEEP_ROWS, local
two, array = tf.constant(2.0), tf.constant([1.0, 2.0, 3.0])
cases = (
    (lambda x: x + [two, 1.0, two * 3.0], [3, 3, 9]),
    (lambda x: [two, 1.0, 5.0] - x, [1, -1, 2]),
    (lambda x: tf.where([True, False, True], x, [two, 1.0, two]), [1, 1, 3]),
    (lambda x: tf.concat([x, [two, 5.0], x], 0), [1, 2, 3, 2, 5, 1, 2, 3]),
    (lambda x: tf.stack([x, [two, 5.0, 6.0]])[1], [2, 5, 6]),
)
for back in range(8):
    for op, expected in cases:
        for scale in (None, 1.0):
            x, y = array if scale is None else array * scale, tf.constant(1.0)
            while local.log.n < SWEEP_ROWS - SLACK - back:
                y = y + 1.0
            found = op(x).numpy().tolist()
            assert found == expected, (back, found, expected)
            float(y)
"""


def test_rewinding_in_the_middle_of_an_op_changes_nothing():
    run(FULL)  # in its own process, as released rows may crash


# Lazy.


def test_nothing_is_computed_until_somebody_looks(tf):
    x = vector(tf)
    with sweeps() as asked:
        y = tf.reduce_sum(tf.exp(x) * x) + 1.0
        v = tf.Variable(y)
        assert not computed(y)
        assert not computed(v)
        assert asked == []
        assert y.shape == ()
        float(y)
        assert computed(v)
        assert len(asked) == 1


def test_live_scalars_are_computed_with_a_look_and_live_arrays_are_not(tf):
    x = vector(tf)
    array, scalar, dead = x * 2.0, tf.reduce_sum(x), tf.reduce_max(x)
    del dead
    looked = tf.reduce_min(x)
    with sweeps() as asked:
        float(looked)
        assert len(asked) == 1
        assert len(set(asked[0])) == 2  # the row and the live scalar, no dead rows
        assert computed(scalar)
        assert not computed(array)
        float(scalar)
        assert len(asked) == 1
    assert array.numpy().tolist() == [2.0, 4.0, 6.0, 8.0]


def test_gradients_are_computed_together(tf):
    x, w = tf.Variable(vector(tf)), tf.Variable(vector(tf))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x * x * w)
    with sweeps() as asked:
        gx, gw = tape.gradient(y, [x, w])
        assert asked == []
        float(y)
        assert computed(gx)
        assert computed(gw)
        assert len(asked) == 1


def test_pending_assigns_are_computed_in_one_sweep(tf):
    variables = [tf.Variable(vector(tf)) for _ in range(5)]
    with sweeps() as asked:
        for v in variables:
            v.assign(v * 2.0)
        assert asked == []
        assert variables[2].numpy().tolist() == [2.0, 4.0, 6.0, 8.0]
        assert all(map(computed, variables))
        assert len(asked) == 1


def test_second_assign_computes_the_first_and_all_others(tf):
    variables = [tf.Variable(vector(tf)) for _ in range(5)]
    with sweeps() as asked:
        for v in variables:
            v.assign(v * 2.0)
        variables[0].assign(variables[0] + 1.0)
        assert len(asked) == 1
        assert all(map(computed, variables[1:]))
        assert not computed(variables[0])


@pytest.mark.parametrize("look", [False, True])
def test_a_training_step_is_one_sweep(tf, look):
    w, b = tf.Variable(tf.ones((4, 2))), tf.Variable(tf.zeros(2))
    x, optimizer = tf.ones((8, 4)), tf.keras.optimizers.Adam(0.1)
    for step in range(6):
        with sweeps() as asked:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ w + b) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))
            if look:
                float(loss)
        assert len(asked) <= 1 or step == 0, step


# Nothing expensive runs twice.

counted = pytest.mark.cpu_only("counts what is computed by hand")


@counted
def test_matmul_runs_once_under_a_tape_with_many_looks(tf):
    a, v = tf.constant(np.eye(3, dtype=np.float32)), tf.Variable(tf.ones((3, 3)))
    with computes("MatMul") as shapes:
        with tf.GradientTape() as tape:
            y = tf.tanh(a @ v)
            loss = tf.reduce_sum(y)
            for _ in range(3):
                float(loss)
                float(tf.reduce_max(y))
            y.numpy()
        assert len(shapes) == 1
        g = tape.gradient(loss, v)
        g.numpy()
        float(loss)
        g.numpy()
        assert len(shapes) == 2


@counted
def test_matmul_of_a_live_array_runs_once_without_a_tape(tf):
    a = tf.constant(np.eye(3, dtype=np.float32))
    with computes("MatMul") as shapes:
        x = a @ tf.ones((3, 3))
        for _ in range(5):
            float(tf.reduce_sum(x))
        x.numpy()
        assert len(shapes) == 1


@counted
def test_iteration_that_looks_computes_each_step_once(tf, log):
    a, x = tf.constant(np.eye(3, dtype=np.float32)), tf.ones((3, 1))
    with computes("MatMul") as shapes:
        for _ in range(20):
            x = tf.tanh(a @ x) + 0.5
            float(tf.norm(x))
        assert len(shapes) == 20
    assert log.n < 100


@counted
def test_gradients_asked_one_by_one_share_the_forward_pass(tf):
    a, v = tf.constant(np.eye(3, dtype=np.float32)), tf.Variable(tf.ones((3, 3)))
    with computes("MatMul") as shapes:
        with tf.GradientTape(persistent=True) as tape:
            y = a @ v
            losses = [tf.reduce_sum(tf.sin(y) * float(k)) for k in range(1, 5)]
        for loss in losses:
            tape.gradient(loss, v).numpy()
        assert len(shapes) == 1 + len(losses)
