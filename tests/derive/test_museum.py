"""Wrong gradients that were reported to other libraries, with the correct results.

The names cite the reports: ``owner#N`` is issue N of that project (torch = pytorch/pytorch, jax =
jax-ml/jax, tf = tensorflow/tensorflow, warp = NVIDIA/warp, taichi = taichi-dev/taichi, HIPS =
HIPS/autograd, mlx = ml-explore/mlx, zygote = FluxML/Zygote.jl, enzyme = EnzymeAD/Enzyme.jl).
"""

import math

import numpy as np
import pytest
from kernel_checks import function_of

pytestmark = pytest.mark.numtape_only(reason="TensorFlow is wrong in many of these")

NAN, INF = math.nan, math.inf


def slope(tf, function, x, order=1):
    """The derivative of the given order of a function's sum."""
    if not order:
        return function(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = slope(tf, function, x, order - 1)
    return tape.gradient(y, x, unconnected_gradients="zero")


def of(name, order=1):
    """The derivative of a function by its name."""

    def program(tf, x):
        function = tf
        for part in name.split("."):
            function = getattr(function, part)
        return slope(tf, function, x, order)

    return program


def derivative(function, order=1):
    return lambda tf, x: slope(tf, lambda x: function(tf, x), x, order)


def jacobian(function):
    def program(tf, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(tf, x)
        return tape.jacobian(y, x)

    return program


def vjp(function, *seed):
    def program(tf, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(tf, x)
        return tape.gradient(y, x, tf.constant(seed, x.dtype))

    return program


def powers(tf, x):
    return tf.reduce_sum(x ** tf.constant([0.0, 1.0, 2.0], x.dtype))


def gap(tf, x):
    return (1.0 - tf.exp(-(x - 1.0))) ** 2


def exponents(tf, x):
    """As torch#187460: the derivative by t of a sum with a negative integer exponent."""
    return x * tf.constant(2.0, x.dtype) ** 1 + x**2 * tf.constant(2.0, x.dtype) ** -2


def smooth_step(tf, x):
    inside = tf.where((x > 0) & (x < 1), x, 0.5)
    step = inside * inside * (3.0 - 2.0 * inside)
    return tf.where(x <= 0, 0.0 * x, tf.where(x >= 1, 0.0 * x + 1.0, step))


def guarded_log(tf, x):
    return tf.where(x > 0, tf.math.log(x), 0.0 * x)


def forward_over_reverse(tf, x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = slope(tf, tf.abs, x)
    return accumulator.jvp(y, unconnected_gradients="zero")


def eigenvalues(tf, x):
    def total(a):
        return tf.reduce_sum(tf.linalg.eigvalsh((a + tf.transpose(a)) / 2.0) ** 2)

    return slope(tf, total, x)


def singular(tf, x):
    return slope(tf, lambda a: tf.sqrt(tf.reduce_sum(tf.linalg.svd(a, compute_uv=False) ** 2)), x)


def looked_at(tf, x):
    """As mlx#610: an evaluation in the middle of a program with a broadcast."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.broadcast_to(x, (3, 2)) * 2.0
        y.numpy()
        z = tf.reduce_sum(y * y)
    return tape.gradient(z, x)


def binary(tf, x):
    loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    return loss(tf.ones_like(x), x)


def sparse(tf, x):
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return loss([0], tf.reshape(x, (1, -1)))


def last(function):
    """The result of the first element only; a slice drops the others."""
    return derivative(lambda tf, x: function(tf, x)[1:])


F, D = "float32", "float64"
# Name, program, argument, dtype, correct result.
CASES = [
    ("jax#39794", of("math.expm1"), -40.0, D, 4.248354255291589e-18),
    ("jax#40342, #40385, torch#195527, #195681", of("sigmoid"), 40.0, D, 4.248354255291589e-18),
    ("torch#195527, sigmoid''", of("sigmoid", 2), 40.0, D, -4.248354255291589e-18),
    ("torch#195527, sigmoid'' near 0", of("sigmoid", 2), 1e-300, D, -1.25e-301),
    ("tf#126524, torch#195527", of("tanh"), [20.0, -20.0], D, [1.699341702116635e-17] * 2),
    (
        "tf#126524, tanh''",
        of("tanh", 2),
        [20.0, -20.0],
        D,
        [-3.39868340423327e-17, 3.39868340423327e-17],
    ),
    ("torch#195685, jax#40388", of("tanh"), -9.0109, F, 5.960624e-8),
    ("jax#39795", of("nn.elu"), -40.0, D, 4.248354255291589e-18),
    ("jax#39796", of("nn.selu"), -700.0, D, 1.7333848e-304),
    ("jax#39799", of("sqrt"), 5e-324, D, 2.2494e161),
    ("jax#39801", of("tanh", 2), 1e-300, D, -2e-300),
    ("torch#195679", of("math.log_sigmoid", 2), [37.43, -37.43], D, [-5.551e-17] * 2),
    (
        "torch#195680, first",
        vjp(lambda tf, x: tf.nn.log_softmax(x), 1.0, 0.0),
        [37.43, 0.0],
        D,
        [5.551e-17, -5.551e-17],
    ),
    (
        "torch#195680, second",
        vjp(lambda tf, x: tf.nn.log_softmax(x), 0.0, 1.0),
        [37.43, 0.0],
        D,
        [-1.0, 1.0],
    ),
    ("jax#39797", of("math.bessel_i0"), 1e-300, D, 5e-301),
    ("jax#2140", of("math.log_sigmoid"), 0.0, D, 0.5),
    ("jax#764", of("tanh"), 200.0, F, 0.0),
    ("jax#14397, at 1", derivative(powers), 1.0, D, 3.0),
    ("jax#14397, at 0", derivative(powers), 0.0, D, 1.0),
    ("jax#18450", derivative(lambda tf, x: x**0.0), 0.0, D, 0.0),
    ("jax#18450, a tensor", derivative(lambda tf, x: x ** tf.constant(0.0, x.dtype)), 0.0, F, 0.0),
    ("torch#187460, #196680", derivative(exponents), 0.7, D, 2.35),
    (
        "tf#44556",
        derivative(lambda tf, x: tf.reduce_prod(x), 2),
        [2.0, 0.0, 4.0],
        D,
        [4.0, 6.0, 2.0],
    ),
    ("tf#41125, third", derivative(gap, 3), 1.0, D, -6.0),
    ("tf#41125, fourth", derivative(gap, 4), 1.0, D, 14.0),
    (
        "cumprod with a zero",
        derivative(lambda tf, x: tf.math.cumprod(x)),
        [0.0, 5.0],
        D,
        [6.0, 0.0],
    ),
    (
        "tf#62554",
        jacobian(lambda tf, x: x / tf.constant([0.0, 1.0, 2.0], x.dtype)),
        [1.0, 1.0, 1.0],
        D,
        [[INF, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]],
    ),
    (
        "tf#62554, divisor",
        jacobian(lambda tf, x: 1.0 / x),
        [0.0, 1.0, 2.0],
        D,
        [[-INF, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -0.25]],
    ),
    ("tf#60071", forward_over_reverse, 2.0, D, 0.0),
    ("tf#59046", of("math.log", 2), NAN, D, NAN),
    ("tf#127226", derivative(lambda tf, x: tf.math.sinc(2.0 * x + 1.0)), -0.5, D, 0.0),
    ("tf#127226, second", derivative(lambda tf, x: tf.math.sinc(x), 2), 0.0, D, -(np.pi**2) / 3),
    ("jax#15588", derivative(smooth_step), [-1.0, 0.5, 2.0], D, [0.0, 1.5, 0.0]),
    ("HIPS#586", derivative(lambda tf, x: tf.norm(x) ** 2), [0.0, 0.0], D, [0.0, 0.0]),
    ("norm at 0", derivative(lambda tf, x: tf.norm(x)), [0.0, 0.0], D, [0.0, 0.0]),
    ("p-norm at 0", derivative(lambda tf, x: tf.norm(x, 3)), [0.0, 0.0], D, [0.0, 0.0]),
    (
        "reduce_euclidean_norm at 0",
        derivative(lambda tf, x: tf.math.reduce_euclidean_norm(x)),
        [0.0, 0.0],
        F,
        [0.0, 0.0],
    ),
    (
        "reduce_std of equal elements",
        derivative(lambda tf, x: tf.math.reduce_std(x)),
        [3.0, 3.0],
        D,
        [0.0, 0.0],
    ),
    ("HIPS#212", derivative(lambda tf, x: tf.reduce_max(x)), [1.0, 1.0], D, [0.5, 0.5]),
    (
        "HIPS#394",
        derivative(lambda tf, x: tf.stack([x[0], x[1] * x[0]])),
        [2.0, 3.0],
        D,
        [4.0, 2.0],
    ),
    (
        "torch#182012, #182765",
        derivative(lambda tf, x: tf.linalg.set_diag(x, tf.zeros(2, x.dtype))),
        [[1.0, 2.0], [3.0, 4.0]],
        D,
        [[0.0, 1.0], [1.0, 0.0]],
    ),
    (
        "torch#180771",
        derivative(lambda tf, x: tf.concat([tf.zeros(2, x.dtype), x[2:]], 0)),
        [1.0, 2.0, 3.0, 4.0, 5.0],
        D,
        [0.0, 0.0, 1.0, 1.0, 1.0],
    ),
    ("mlx#610", looked_at, [[1.0], [0.5], [0.0]], D, [[16.0], [8.0], [0.0]]),
    (
        "jax#10877, #10734, #10844",
        eigenvalues,
        [[2.0, 1.0], [1.0, 3.0]],
        D,
        [[4.0, 2.0], [2.0, 6.0]],
    ),
    ("jax#669", eigenvalues, [[1.0, 0.0], [0.0, 1.0]], D, [[2.0, 0.0], [0.0, 2.0]]),
    ("jax#8732", singular, [[1.0, 0.0], [0.0, 1.0]], D, np.eye(2) / np.sqrt(2.0)),
    ("where around a logarithm", derivative(guarded_log), [0.0, 2.0], D, [0.0, 0.5]),
    ("where around a logarithm, second", derivative(guarded_log, 2), [0.0, 2.0], D, [0.0, -0.25]),
    (
        "where around an exponential",
        derivative(lambda tf, x: tf.where(x > 0, x, tf.exp(x))),
        [1000.0, 0.0],
        D,
        [1.0, 1.0],
    ),
    *(
        (f"a slice of {name} at a pole", last(function), [at, 0.5], D, [0.0, right])
        for name, function, at, right in (
            ("log", lambda tf, x: tf.math.log(x), 0.0, 2.0),
            ("log1p", lambda tf, x: tf.math.log1p(x), -1.0, 1 / 1.5),
            ("sqrt", lambda tf, x: tf.sqrt(x), 0.0, math.sqrt(0.5)),
            ("rsqrt", lambda tf, x: tf.math.rsqrt(x), 0.0, -math.sqrt(2.0)),
            ("reciprocal", lambda tf, x: tf.math.reciprocal(x), 0.0, -4.0),
            ("pow", lambda tf, x: x**0.5, 0.0, math.sqrt(0.5)),
            ("an exponent", lambda tf, x: 0.0**x, 0.0, 0.0),
            ("asin", lambda tf, x: tf.asin(x), 1.0, 1 / math.sqrt(0.75)),
            ("acos", lambda tf, x: tf.acos(x), -1.0, -1 / math.sqrt(0.75)),
            ("acosh", lambda tf, x: tf.acosh(1.0 + x), 0.0, 1 / math.sqrt(1.25)),
            ("atanh", lambda tf, x: tf.atanh(x), 1.0, 1 / 0.75),
            ("atan2", lambda tf, x: tf.atan2(x, 0.0 * x), 0.0, 0.0),
            ("xlogy", lambda tf, x: tf.math.xlogy(tf.ones_like(x), x), 0.0, 2.0),
            ("xlog1py", lambda tf, x: tf.math.xlog1py(tf.ones_like(x), x), -1.0, 1 / 1.5),
            ("xdivy", lambda tf, x: tf.math.xdivy(tf.ones_like(x), x), 0.0, -4.0),
            ("lgamma", lambda tf, x: tf.math.lgamma(x), 0.0, -1.9635100260214235),
            ("digamma", lambda tf, x: tf.math.digamma(x), 0.0, math.pi**2 / 2),
            ("erfinv", lambda tf, x: tf.math.erfinv(x), 1.0, 1.1125867120598398),
            ("ndtri", lambda tf, x: tf.math.ndtri(x), 0.0, math.sqrt(2 * math.pi)),
            ("expint", lambda tf, x: tf.math.special.expint(x), 0.0, 2 * math.exp(0.5)),
            ("bessel_k0", lambda tf, x: tf.math.special.bessel_k0(x), 0.0, -1.6564411200033007),
            ("bessel_y0", lambda tf, x: tf.math.special.bessel_y0(x), 0.0, 1.4714723926702430),
        )
    ),
    (
        "a divisor's adjoint overflows on the way",
        derivative(lambda tf, x: tf.constant(1e10, x.dtype) * (tf.constant(1e-310, x.dtype) / x)),
        1e-300,
        D,
        -1e300,
    ),
    (
        "a divisor's adjoint in float32",
        derivative(lambda tf, x: tf.constant(1e20, x.dtype) * (tf.constant(1e-30, x.dtype) / x)),
        1e-20,
        F,
        -1e30,
    ),
    ("binary cross-entropy of logits", derivative(binary), [40.0], D, [-4.248354255291589e-18]),
    (
        "sparse cross-entropy of logits",
        derivative(sparse),
        [40.0, 0.0],
        D,
        [-4.248354255291589e-18, 4.248354255291589e-18],
    ),
    (
        "softmax",
        vjp(lambda tf, x: tf.nn.softmax(x), 1.0, 0.0),
        [40.0, 0.0],
        D,
        [4.248354255291589e-18, -4.248354255291589e-18],
    ),
    ("gelu, approximate", derivative(lambda tf, x: tf.nn.gelu(x, True)), -6.0, D, -7.70997393e-10),
    ("swish, second", of("nn.silu", 2), 40.0, D, -1.6143746170108e-16),
    ("mish", derivative(lambda tf, x: tf.keras.activations.mish(x), 2), 20.0, D, -6.45749841e-16),
]


@pytest.mark.parametrize("replayed", [False, True], ids=["eager", "replayed"])
@pytest.mark.parametrize(
    ("name", "program", "at", "dtype", "right"), CASES, ids=[case[0] for case in CASES]
)
def test_reported(tf, name, program, at, dtype, right, replayed):
    def run(x):
        return program(tf, x)

    x = tf.constant(at, dtype)
    call = tf.function(run) if replayed else run
    for _ in range(4 if replayed else 1):
        found = call(x).numpy()
    right = np.broadcast_to(np.array(right, dtype), found.shape)
    rtol = 1e-4 if dtype == F else 2e-4
    np.testing.assert_allclose(found, right, rtol=rtol, atol=0)


def test_a_long_sum(tf):
    """A running sum of a million floats, as in the gradient of sum(sin(cumsum(x)))."""
    x = np.random.default_rng(0).uniform(0, 1e-3, 10**6).astype("float32")
    wide = x.astype("float64")
    gradient = slope(tf, lambda x: tf.sin(tf.cumsum(x)), tf.constant(x)).numpy()
    right = np.cumsum(np.cos(np.cumsum(wide))[::-1])[::-1]
    assert np.abs(gradient - right).max() < 1e-4 * np.abs(right).max()
    for reverse in (False, True):
        total = np.cumsum(wide[::-1])[::-1] if reverse else np.cumsum(wide)
        found = tf.cumsum(x, reverse=reverse).numpy()
        np.testing.assert_allclose(found, total, rtol=1e-7)
    product = tf.math.cumprod(np.float32(1.0) + x * np.float32(1e-3)).numpy()
    factors = (np.float32(1.0) + x * np.float32(1e-3)).astype("float64")
    np.testing.assert_allclose(product, np.cumprod(factors), rtol=2e-7)
    level = tf.math.cumulative_logsumexp(np.zeros(10**6, "float32")).numpy()
    np.testing.assert_allclose(level, np.log(np.arange(1, 10**6 + 1)), rtol=2e-7)


@pytest.mark.parametrize("wrong", [NAN, INF, -INF, -1.0, 3.0])
def test_a_label_that_is_no_class(tf, wrong):
    """NaN was counted as class 0."""
    logits, labels = [[0.0, 1.0, 2.0]] * 2, [1.0, wrong]
    for ignored in (None, -7):
        with pytest.raises(tf.errors.InvalidArgumentError, match="label"):
            tf.keras.losses.sparse_categorical_crossentropy(
                labels, logits, from_logits=True, ignore_class=ignored
            )
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.keras.layers.Embedding(3, 2)(tf.constant(labels))
    if not math.isfinite(wrong):
        hits = tf.keras.metrics.sparse_top_k_categorical_accuracy(labels, logits, k=3)
        assert hits.numpy().tolist() == [1.0, 0.0]
    if wrong < 0 or wrong != wrong:
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
            tf.math.confusion_matrix(tf.constant(labels), tf.constant([0.0, 1.0]))


# Native loops: the source of a function, its arguments, and the adjoints of the float arguments.
X3 = np.array([1.0, 2.0, 3.0])
KERNELS = [
    ("jax#39794", "return math.expm1(x)", [-40.0], [4.248354255291589e-18]),
    ("sigmoid by hand", "return 1.0 / (1.0 + math.exp(-x))", [40.0], [4.248354255291589e-18]),
    ("tf#126524", "return math.tanh(x)", [20.0], [1.699341702116635e-17]),
    ("tf#126524, negative", "return math.tanh(x)", [-20.0], [1.699341702116635e-17]),
    (
        "tanh of an array",
        "return np.sum(np.tanh(x))",
        [np.array([20.0, 0.5])],
        [[1.699341702116635e-17, 0.7864477329659274]],
    ),
    ("jax#39799", "return math.sqrt(x)", [5e-324], [2.2494e161]),
    ("jax#18450", "return x ** 0.0", [0.0], [0.0]),
    (
        "jax#14397",
        "s = 0.0\n    for i in range(3):\n        s += x ** float(i)\n    return s",
        [0.0],
        [1.0],
    ),
    ("a square at 0", "return x ** 2.0", [0.0], [0.0]),
    ("a divisor's adjoint", "return 1e10 * (1e-310 / x)", [1e-300], [-1e300]),
    (
        "where around a quotient",
        "return np.sum(np.where(x > 0.0, 1.0 / x, 0.0))",
        [np.array([0.0, 2.0])],
        [[0.0, -0.25]],
    ),
    (
        "where around a logarithm",
        "return np.sum(np.where(x > 0.0, np.log(x), 0.0))",
        [np.array([0.0, 2.0])],
        [[0.0, 0.5]],
    ),
    ("hypot at 0", "return math.hypot(x, x)", [0.0], [0.0]),
    (
        "cumprod with a zero",
        "s = 0.0\n    t = 1.0\n    for i in range(len(x)):\n        t *= x[i]\n        s += t\n"
        "    return s",
        [np.array([0.0, 5.0])],
        [[6.0, 0.0]],
    ),
    (
        "a running sum",
        "t = 0.0\n    s = 0.0\n    for i in range(len(x)):\n        t += x[i]\n"
        "        s += math.sin(t)\n    return s",
        [X3],
        [np.cumsum(np.cos(np.cumsum(X3))[::-1])[::-1]],
    ),
    (
        "warp#1293, taichi#3003",
        "s = 0.0\n    for i in range(3):\n        for j in range(4):\n"
        "            s += x\n    return s",
        [2.0],
        [12.0],
    ),
    (
        "warp#1694",
        "y = x * x\n    s = 0.0\n    for i in range(3):\n        s += 1.0\n    return s * y",
        [2.0],
        [12.0],
    ),
    (
        "warp#1740, #1754",
        "y = x\n    for i in range(4):\n        y += 1.0\n    return 1.0 / y",
        [1.0],
        [-1 / 25],
    ),
    ("warp#1861", "return half(x) * 12.0", [2.0], [6.0]),
    (
        "warp#1697",
        "m = np.zeros((2, 2))\n    m[0, 0] = 5.0\n    m[0, 0] = m[0, 0] + x\n"
        "    return m[0, 0] * 10.0",
        [2.0],
        [10.0],
    ),
    ("warp#1466", "return np.sign(x)", [2.0], [0.0]),
    (
        "taichi#8356",
        "y = np.zeros(2)\n    for i in range(2):\n        for j in range(5):\n"
        "            y[i] += x\n    return y[0]",
        [1.0],
        [5.0],
    ),
    (
        "taichi#8027",
        "s = 0.0\n    for i in range(10):\n        for j in range(500):\n"
        "            s += x\n    return s",
        [1.0],
        [5000.0],
    ),
    ("zygote#265", "y = x\n    while y < 100.0:\n        y = y * 2.0\n    return y", [3.0], [64.0]),
    (
        "enzyme#3035: a buffer of which one element is never read",
        "b = np.empty(3)\n    b[0] = x\n    b[1] = x * x\n    return b[0] * b[1]",
        [2.0],
        [12.0],
    ),
]


def half(u):
    return 0.5 * u


@pytest.mark.cpu_only("kernels run on the host")
@pytest.mark.parametrize(
    ("name", "text", "arguments", "right"), KERNELS, ids=[case[0] for case in KERNELS]
)
def test_reported_of_native_loops(tf, name, text, arguments, right):
    function = function_of(f"def f(x):\n    {text}\n", half=half)
    with np.errstate(all="ignore"):
        _, found = tf.value_and_grad(tf.kernel(function), (0,))(*arguments)
    for one, other in zip(found, right, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=0)


@pytest.mark.cpu_only("kernels run on the host")
def test_a_logistic_regression_in_a_kernel(tf):
    """As enzyme#2564: X @ beta, and the logarithm of a likelihood, in a loop."""
    random = np.random.default_rng(3)
    x, beta = random.normal(size=(20, 3)), random.normal(size=3)
    y = (random.uniform(size=20) < 0.5) * 1.0
    function = function_of("""def f(beta, x, y):
    z = x @ beta
    s = 0.0
    for i in range(len(y)):
        s += math.log1p(math.exp(-abs(z[i]))) + max(z[i], 0.0) - y[i] * z[i]
    return s
""")
    _, found = tf.value_and_grad(tf.kernel(function), (0,))(beta, x, y)
    right = x.T @ (1 / (1 + np.exp(-(x @ beta))) - y)
    np.testing.assert_allclose(found[0], right, rtol=1e-12)
