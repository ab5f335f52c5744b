"""NumPy functions of tensors: what stays on the tape, what is refused, what NumPy computes."""

import contextlib

import numpy as np
import pytest
import scipy.sparse
import scipy.special

pytestmark = pytest.mark.numtape_only(reason="TensorFlow's tensors leave the tape")

A = np.array([[0.5, 0.25, 0.75], [0.125, 0.875, 0.625], [0.375, 1.0, 0.3125]])
B = np.array([0.5, 1.5, 2.5])
MASK = A > 0.5

# Functions of a variable or an array.
FUNCTIONS = {
    "sin": np.sin,
    "arctan2": lambda x: np.arctan2(B, x),
    "hypot at equal operands": lambda x: np.hypot(x, A),
    "cbrt": np.cbrt,
    "power": lambda x: np.power(x, 3),
    "ndarray * x": lambda x: A * x,
    "ndarray / x": lambda x: B / x,
    "scalar ** x": lambda x: np.float64(2.0) ** x,
    "ndarray @ x": lambda x: A @ x,
    "vector @ x": lambda x: B @ x,
    "sum": lambda x: np.sum(x, axis=1, keepdims=True),
    "sum of all": np.sum,
    "mean": lambda x: np.mean(x, 0),
    "std": lambda x: np.std(x, ddof=1),
    "max": lambda x: np.max(x, axis=0),
    "cumsum": np.cumsum,
    "concatenate": lambda x: np.concatenate([A, x], axis=1),
    "stack": lambda x: np.stack((x, 2 * A)),
    "einsum": lambda x: np.einsum("ij,j->i", x, B),
    "tensordot": lambda x: np.tensordot(x, A, axes=1),
    "dot": lambda x: np.dot(x, B),
    "outer": lambda x: np.outer(B, x),
    "where": lambda x: np.where(MASK, x, 0.0),
    "clip": lambda x: np.clip(x, 0.3, a_max=0.8),
    "sort": lambda x: np.sort(x, axis=0),
    "roll": lambda x: np.roll(x, 1, axis=1),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=2.0),
    "reshape": lambda x: np.reshape(x, (1, 9)),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "diff": lambda x: np.diff(x, axis=0),
    "solve": lambda x: np.linalg.solve(x, B),
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "rfft": lambda x: np.real(np.fft.rfft(x)),
    "add.reduce": lambda x: np.add.reduce(x, axis=1),
    "multiply.outer": lambda x: np.multiply.outer(B, x),
    "expit": scipy.special.expit,
    "xlogy": lambda x: scipy.special.xlogy(x, A),
    "gammaln": scipy.special.gammaln,
}


def weights(shape):
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_stays_on_the_tape(tf, name):
    function = FUNCTIONS[name]
    v = tf.Variable(A)
    with tf.GradientTape() as tape:
        y = function(v)
        assert isinstance(y, tf.Tensor)
        loss = tf.reduce_sum(y * weights(tuple(y.shape)))
    np.testing.assert_allclose(y.numpy(), function(A), rtol=1e-6)
    gradient = tf.convert_to_tensor(tape.gradient(loss, v)).numpy()
    rng = np.random.default_rng(0)
    direction = rng.normal(size=A.shape)

    def value(step):
        result = np.asarray(function(A + step * direction))
        return (result * weights(result.shape)).sum()

    expected = (value(1e-6) - value(-1e-6)) / 2e-6
    np.testing.assert_allclose((gradient * direction).sum(), expected, rtol=1e-5, atol=1e-7)


def test_without_a_tape_numpy_computes(tf):
    x = tf.constant(A)
    for function in (np.sin, np.sum, lambda x: np.concatenate([x, x]), lambda x: np.maximum(x, A)):
        result = function(x)
        assert not isinstance(result, tf.Tensor)
        np.testing.assert_array_equal(result, function(A))
    out = np.zeros_like(A)
    assert np.add(x, A, out=out) is out and (out == 2 * A).all()
    np.testing.assert_allclose(scipy.special.softmax(x), scipy.special.softmax(A))
    np.testing.assert_allclose(scipy.sparse.csr_array(A) @ x, A @ A)
    np.testing.assert_allclose(x, A)
    assert np.shape(x) == (3, 3) and np.size(x) == 9 and np.ndim(tf.Variable(A)) == 2
    assert np.result_type(x, np.float32) == np.zeros_like(x).dtype == np.float64


def test_operators_of_an_array_and_a_tensor_return_tensors(tf):
    x = tf.constant(B)
    for result in (B + x, B - x, B * x, B / x, B**x, B > x, B == x, np.float64(2.0) * x):
        assert isinstance(result, tf.Tensor)
    total = B.copy()
    alias = total
    total += x
    assert isinstance(total, tf.Tensor) and (alias == B).all()


def test_values_under_a_tape(tf):
    v, constant = tf.Variable(B), tf.constant(B)
    with tf.GradientTape():
        y = 2.0 * v
        assert type(np.sin(constant)) is np.ndarray  # not followed
        assert np.argmax(y) == 2 and np.isfinite(y).all() and np.allclose(y, 2 * B)
        assert (np.argmax(y) == [2, 2]).mean() == 1.0
        assert type(np.asarray(y)) is type(np.array(v)) is np.ndarray
        np.testing.assert_array_equal(y, 2 * B)


CSR = scipy.sparse.csr_array(np.diag(B))
REFUSED = {
    "np.interp leaves the tape": lambda y: np.interp(y, B, B),
    "unique_values": np.unique,
    "np.add with out=": lambda y: np.add(B, y, out=B.copy()),
    "np.add with where=, out=": lambda y: np.add(B, y, where=[True, False, True], out=B.copy()),
    "np.sum with where=": lambda y: np.sum(y, where=[True, False, True]),
    "np.add.reduceat": lambda y: np.add.reduceat(y, [0, 1]),
    "np.add.at": lambda y: np.add.at(B.copy(), [0, 1, 2], y),
    "np.copyto": lambda y: np.copyto(B.copy(), y),
    "np.modf": np.modf,
    "scipy.special.jv": lambda y: scipy.special.jv(1, y),
    "tf.nn.softmax": scipy.special.softmax,
    "tf.reduce_logsumexp": scipy.special.logsumexp,
    "SciPy sparse matrix": lambda y: CSR @ y,
    "tf.sparse": lambda y: CSR @ y[:, None],
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_would_leave_the_tape_is_refused(tf, said):
    v = tf.Variable(B)
    with tf.GradientTape(), pytest.raises(tf.errors.UnimplementedError) as caught:
        REFUSED[said](v * 2.0)
    assert said in str(caught.value) and "x.numpy()" in str(caught.value)
    REFUSED[said](v * 2.0)  # without a tape NumPy computes the value


def test_tensors_are_not_written_to(tf):
    v = tf.Variable(B)
    for write in (
        lambda: np.add(B, B, out=v),
        lambda: np.copyto(v, B),
        lambda: np.add.at(v, [0], 1.0),
        lambda: np.sum(A, axis=0, out=v),
    ):
        with pytest.raises(TypeError, match="cannot write to a tensor"):
            write()
    np.testing.assert_array_equal(v, B)
    with pytest.raises(ValueError, match="toarray"):
        _ = v @ CSR


def test_recorded_functions_record_numpy_functions(tf):
    traces = []

    @tf.function
    def f(x):
        traces.append(1)
        return np.sum(np.sin(x)) * np.float64(2.0)

    for k in range(4):
        x = tf.constant(B + k)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        np.testing.assert_allclose(y, 2 * np.sin(B + k).sum())
        np.testing.assert_allclose(tape.gradient(y, x), 2 * np.cos(B + k))
    assert len(traces) < 4


def test_recorded_functions_compute_as_plain_ones(tf):
    def f(x):
        total = np.mean(x).item() if isinstance(np.mean(x), np.generic) else np.mean(x)
        return x * total

    recorded = tf.function(f)
    for taped in (False, False, True, False, True):
        x = tf.constant(B)
        with tf.GradientTape() if taped else contextlib.nullcontext() as tape:
            if taped:
                tape.watch(x)
            y, expected = recorded(x), f(x)
        np.testing.assert_array_equal(y.numpy(), expected.numpy())
        if taped:
            np.testing.assert_allclose(tape.gradient(y, x), B.mean() + B.sum() / 3)


def test_numpy_accepts_dtypes(tf):
    x = tf.constant([1, 2], tf.int16)
    assert np.dtype(x.dtype) == np.zeros(2, x.dtype).dtype == np.int16
    assert np.array([1.5]).astype(tf.float32).dtype == np.float32
    assert np.zeros(2, tf.bfloat16).dtype.name == "bfloat16"


def test_pandas(tf):
    pandas = pytest.importorskip("pandas")
    series, v = pandas.Series(B), tf.Variable(B)
    with tf.GradientTape() as tape:
        y = v * 1.0
        loss = tf.reduce_sum(y * series)
        assert pandas.Series(y).sum() == B.sum()  # the values
        for combine in (lambda: series * y, lambda: series + v):
            with pytest.raises(tf.errors.UnimplementedError, match="tensor first"):
                combine()
    np.testing.assert_allclose(tape.gradient(loss, v), B)
    np.testing.assert_allclose(series * tf.constant(B), B * B)


def test_xarray(tf):
    xarray = pytest.importorskip("xarray")
    v = tf.Variable(B)
    array = xarray.DataArray(B, dims="x")
    with tf.GradientTape() as tape:
        product = (array * v * array).data
        assert isinstance(product, tf.Tensor)
        loss = tf.reduce_sum(product)
    np.testing.assert_allclose(tape.gradient(loss, v), B * B)
