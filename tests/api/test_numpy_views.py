"""Values as NumPy arrays: views that share memory, and custom arrays.

`tests/api/test_interop.py` covers sharing with other libraries.
"""

import gc
import weakref

import numpy as np
import pytest

from numtape.core.cpu import buffers
from numtape.core.values import export, memory

pytestmark = [
    pytest.mark.numtape_only(reason="TensorFlow's memory is its own"),
    pytest.mark.cpu_only(reason="the memory of a GPU comes as a copy"),
]

N = 20_000  # elements: enough for memory to be reused


def numbers():
    return np.random.default_rng(0).standard_normal(N)


def replayed(tf, function):
    function = tf.function(function)
    for x in (tf.ones(N, tf.float64), tf.zeros(N, tf.float64)):
        function(x)
    return function


def gradient(tf, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x)


# Ways to create a tensor from numbers, and its value.
MAKERS = {
    "constant": (lambda tf, x: x, lambda x: x),
    "result": (lambda tf, x: x * 3.0, lambda x: 3 * x),
    "reshaped": (lambda tf, x: tf.reshape(x * 3.0, (2, -1)), lambda x: 3 * x.reshape(2, -1)),
    "identity": (lambda tf, x: tf.identity(x), lambda x: x),
    "stopped": (lambda tf, x: tf.stop_gradient(x * 3.0), lambda x: 3 * x),
    "variable": (lambda tf, x: tf.Variable(x).value(), lambda x: x),
    "assigned": (lambda tf, x: tf.Variable(x).assign_add(x).value(), lambda x: 2 * x),
    "gradient": (gradient, lambda x: 2 * x),
    "replayed": (lambda tf, x: replayed(tf, lambda x: x * 3.0)(x), lambda x: 3 * x),
    "passed": (lambda tf, x: replayed(tf, lambda x: x)(x), lambda x: x),
    "by NumPy": (lambda tf, x: tf.cumsum(x), np.cumsum),
    "product": (lambda tf, x: tf.matmul(x[:, None], x[None, :3]), lambda x: np.outer(x, x[:3])),
}
every_maker = pytest.mark.parametrize(("make", "expected"), MAKERS.values(), ids=MAKERS)


def busy(tf, step):
    """Use all pooled memory repeatedly."""
    ones = tf.ones(N, tf.float64)
    v = tf.Variable(ones)
    for k in range(8):
        v.assign_add(step(v * 0.0 + k))
        (v.value() * 2.0).numpy()
        tf.matmul(ones[:, None], ones[None, :3]).numpy()
    gc.collect()


@every_maker
@pytest.mark.parametrize("kept", [True, False])
def test_views_share_memory_and_stay_right(tf, make, expected, kept):
    x = numbers()
    step = replayed(tf, lambda x: x * 5.0 + 1.0)
    tensor = make(tf, tf.constant(x))
    view, again = np.asarray(tensor), np.asarray(tensor, np.float64)
    assert np.shares_memory(view, again)
    for array in (view, view[:2], np.asarray(tensor, copy=False)):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    if not kept:
        del tensor, again
    busy(tf, step)
    np.testing.assert_allclose(view, expected(x), rtol=1e-14)


@every_maker
def test_arrays_of_ones_own_may_be_written_to(tf, make, expected):
    """Writes do not affect the source, equal values, views, or later results."""
    x = numbers()
    first = tf.constant(x)
    twin, view = make(tf, first), np.asarray(first)
    other = np.asarray(make(tf, first))
    for array in (make(tf, first).numpy(), twin.numpy(), np.array(twin), first.numpy()):
        assert array.flags.writeable
        array[...] = np.nan
        busy(tf, lambda x: x)
    for value in (twin.numpy(), other, np.asarray(make(tf, first)), make(tf, first).numpy()):
        np.testing.assert_allclose(value, expected(x), rtol=1e-14)
    assert np.array_equal(view, x)
    assert np.array_equal(first.numpy(), x)


def taped(tf, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = (x * 2.0).numpy()  # the tape may still need its row
    assert tape is not None
    return found


def seen(tf, x, look):
    """An array of a tensor that was evaluated before and then released."""
    y = [x * 2.0]
    other = look(y[0])
    return y.pop().numpy(), other


HANDED = {
    "result": lambda tf, x: (x * 2.0).numpy(),
    "replayed": lambda tf, x: replayed(tf, lambda x: x * 2.0)(x).numpy(),
    "by NumPy": lambda tf, x: tf.cumsum(x).numpy(),
    "let go": lambda tf, x: seen(tf, x, len)[0],
}
COPIED = {
    "held": lambda tf, x: (lambda y: y.numpy())(x * 2.0),
    "in a list": lambda tf, x: [y.numpy() for y in [x * 2.0]],
    "a part of more": lambda tf, x: (x * 2.0)[None].numpy(),
    "constant": lambda tf, x: x.numpy(),
    "variable": lambda tf, x: tf.Variable(x).value().numpy(),
    "argument": lambda tf, x: replayed(tf, lambda x: x)(x).numpy(),
    "taped": taped,
    "viewed": lambda tf, x: seen(tf, x, np.asarray),
    "shared": lambda tf, x: seen(tf, x, np.from_dlpack),
    "in another tensor": lambda tf, x: seen(tf, x, lambda y: tf.reshape(y, (2, -1))),
    "referred to": lambda tf, x: seen(tf, x, lambda y: y.ref()),
    "weakly": lambda tf, x: seen(tf, x, weakref.ref),
}


@pytest.mark.parametrize("made", HANDED.values(), ids=HANDED)
@pytest.mark.skipif(
    export.SOLE_OWNER_COUNTS[0] < 0, reason="reference counts do not tell who holds a tensor"
)
def test_memory_is_handed_over_where_nobody_else_can_reach_it(tf, monkeypatch, made):
    monkeypatch.setattr(export, "copy_array", None)
    assert made(tf, tf.constant(numbers())).flags.writeable


@pytest.mark.parametrize("made", COPIED.values(), ids=COPIED)
def test_memory_is_copied_where_somebody_can_reach_it(tf, monkeypatch, made):
    found = []
    monkeypatch.setattr(export, "copy_array", lambda x: found.append(1) or memory.copy_array(x))
    made(tf, tf.constant(numbers()))
    assert found == [1]


def test_what_a_variable_has_as_an_array(tf):
    variable = tf.Variable(numbers())
    array, view = np.asarray(variable), np.asarray(variable, copy=False)
    variable.assign_add(variable)
    assert array.flags.writeable  # as in TensorFlow
    assert not view.flags.writeable
    for found in (array, view):
        assert np.array_equal(found, numbers())


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "complex128"])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, N)])
def test_views_of_every_dtype_and_shape(tf, dtype, shape):
    tensor = tf.cast(tf.reshape(tf.range(np.prod(shape, dtype=int)) % 7, shape), dtype)
    view = np.asarray(tensor)
    assert view.dtype == tensor.dtype.as_numpy_dtype
    assert not view.flags.writeable
    expected = (np.arange(view.size) % 7).reshape(shape).astype(view.dtype)
    np.testing.assert_array_equal(view, expected)
    assert np.array(tensor).flags.writeable
    with pytest.raises(ValueError, match=r"without a copy|avoid copy"):  # or NumPy's message
        np.asarray(tensor, "S3", copy=False)


def test_views_keep_what_a_replay_compares(tf):
    """Reading elements through a view leaves a guard, like any evaluation."""
    calls = []

    @tf.function
    def signed(x):
        calls.append(1)
        return x * 2.0 if np.asarray(x)[0] > 0 else x * 3.0

    for sign in (1.0, -1.0, 1.0, -1.0):
        x = sign * np.ones(3)
        assert signed(tf.constant(x)).numpy().tolist() == (x * (2.0 if sign > 0 else 3.0)).tolist()


@pytest.mark.records
def test_a_replay_writes_to_arrays_of_its_own(tf):
    """Large arrays use pooled memory, but each call gets its own."""
    calls = []

    @tf.function
    def f(x):
        calls.append(1)
        array = (x * 2.0).numpy()
        array[0] = 5.0
        return tf.constant(array) + tf.constant(np.asarray(x * 3.0)) * x

    for _ in range(3):
        expected = np.full(N, 5.0)
        expected[0] = 8.0
        assert np.array_equal(f(tf.ones(N, tf.float64)).numpy(), expected)
    assert len(calls) < 3


def test_threads_share_a_copy_and_its_errors(tf, monkeypatch):
    monkeypatch.setattr(buffers, "MIN_THREAD_BYTES", 1 << 10)
    monkeypatch.setattr(memory, "CHUNK_SIZE", 1 << 10)
    x = numbers()
    for dtype in ("float64", "float32", "int16"):
        found = memory.convert_array(100 * x.reshape(4, -1).T, np.dtype(dtype))
        assert np.array_equal(found, (100 * x.reshape(4, -1).T).astype(dtype))
    assert np.isinf(memory.convert_array(np.full(N, 1e300), np.dtype("float32"))).all()
    parts = []

    def fails(part, out):
        parts.append(1)
        raise MemoryError("none left")

    with pytest.raises(MemoryError, match="none left"):
        memory._fill_by_parts(np.empty(N), x, fails)
    assert len(parts) <= 2


def test_memory_of_copies_is_used_again(tf):
    x = numbers()
    places = {memory.address_of(tf.constant(x)._array()) for _ in range(20)}
    places |= {memory.address_of(memory.copy_array(x)) for _ in range(20)}
    assert len(places) < 10
