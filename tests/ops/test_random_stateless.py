"""Stateless and generator draws: the numbers of TensorFlow 2.21, and reproducibility."""

import mpmath
import numpy as np
import pytest
import scipy.stats

from numtape.core.cpu import sweeper
from numtape.core.ops import philox

pytestmark = [
    pytest.mark.numtape_only("some are numbers that TensorFlow gave once"),
    pytest.mark.usefixtures("isolated"),
]
SEED = [1, 2]


def near(found, expected, rtol=1e-5):
    np.testing.assert_allclose(found, expected, rtol=rtol)


def test_numbers_are_tensorflows(tf):
    r = tf.random
    near(
        r.stateless_normal([5], SEED), [0.54411012, 0.20738031, 0.07356432, 0.04643455, -1.30158985]
    )
    near(
        r.stateless_normal([3], SEED, dtype=tf.float64),
        [-0.1423118100189212, 0.7406072461585091, -1.469047669443883],
        1e-12,
    )
    np.testing.assert_array_equal(
        r.stateless_uniform([3], [-1, 2], dtype=tf.float64).numpy(),
        [0.3087963007764851, 0.22477476893397474, 0.3479561918083396],
    )
    found = r.stateless_uniform([6], SEED, minval=-3, maxval=17, dtype=tf.int32)
    np.testing.assert_array_equal(found, [-3, 6, 11, 16, 4, 2])
    found = r.stateless_uniform([3], SEED, minval=-3, maxval=2**40, dtype=tf.int64)
    np.testing.assert_array_equal(found, [1036172738669, 635315242662, 846071781177])
    near(
        r.stateless_truncated_normal([9], SEED),
        [
            0.54411012,
            0.20738031,
            0.07356432,
            0.04643455,
            0.16820592,
            -1.68503332,
            0.24202858,
            1.70345032,
            1.10606778,
        ],
    )
    near(
        r.stateless_truncated_normal([5], SEED, dtype=tf.float64),
        [-0.14231181, 0.74060725, -0.55238776, -0.73445009, -0.39842024],
    )
    near(
        r.stateless_gamma([6], SEED, alpha=0.3, beta=2.0),
        [0.00288745, 0.1562486, 0.01354594, 0.00192358, 0.01640261, 0.32033929],
    )
    near(
        r.stateless_gamma([2, 2], SEED, alpha=[1.0, 3.0], beta=[[2.0], [3.0]]),
        [[1.74972117, 1.49453163], [0.74957842, 1.11679184]],
    )
    np.testing.assert_array_equal(
        r.stateless_poisson([3, 2], SEED, lam=[3.0, 40.0]), [[5, 57], [5, 34], [4, 45]]
    )
    logits = np.log([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]).astype("float32")
    np.testing.assert_array_equal(
        r.stateless_categorical(logits, 6, SEED), [[2, 2, 0, 2, 1, 1], [2] * 6]
    )
    wide = r.fold_in(tf.constant(SEED, tf.int64), tf.constant(3, tf.int64))
    np.testing.assert_array_equal(wide, [7464880146280614444, 3])


HALVES = {
    "float16": (
        [0.54296875, 0.2353515625, 0.060546875],
        [0.5439453125, 0.2073974609375, 0.07354736328125],
        [-1.6845703125, 0.2420654296875],
        [1.595703125, 1.224609375],
    ),
    "bfloat16": (
        [0.34375, 0.8828125, 0.484375],
        [0.54296875, 0.20703125, 0.07373046875],
        [-1.6875, 0.2421875],
        [1.765625, 2.796875],
    ),
}


@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_of_16_bits_are_tensorflows(tf, dtype):
    r, (uniform, normal, truncated, bounded) = tf.random, HALVES[dtype]
    g = r.Generator.from_seed(7)
    for found, right in (
        (r.stateless_uniform([3], SEED, dtype=dtype), uniform),
        (r.stateless_normal([3], SEED, dtype=dtype), normal),
        (r.stateless_truncated_normal([7], SEED, dtype=dtype)[5:], truncated),
        (g.uniform([2], 1, 3, dtype=dtype), bounded),
    ):
        assert found.dtype == dtype
        np.testing.assert_array_equal(tf.cast(found, "float32"), right)
    if dtype == "float16":
        found = r.stateless_gamma([2], SEED, 0.3, dtype=dtype)
        assert found.numpy().tolist() == [0.005779266357421875, 0.3125]
        assert r.stateless_poisson([3], SEED, 3.0, dtype=dtype).numpy().tolist() == [5, 5, 4]
    else:
        for draw in (r.stateless_gamma, r.stateless_poisson, r.poisson, r.gamma):
            seed = [SEED] if "stateless" in draw.__name__ else []
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="bfloat16"):
                draw([2], *seed, 1.0, dtype=dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_draws_of_16_bits(tf, dtype):
    tf.random.set_seed(3)
    for draw, mean, spread in (
        (tf.random.uniform, 0.5, 12**-0.5),
        (tf.random.normal, 0.0, 1.0),
        (tf.random.truncated_normal, 0.0, 0.8796),
    ):
        found = draw([20000], dtype=dtype)
        assert found.dtype == dtype
        values = found.numpy().astype("float64")
        assert abs(values.mean() - mean) < 0.03 and abs(values.std() - spread) < 0.03
        assert draw is not tf.random.uniform or (values.min() >= 0 and values.max() < 1)
    dropped = tf.nn.dropout(tf.ones(2000, dtype), 0.5)
    assert dropped.dtype == dtype and set(dropped.numpy().tolist()) == {0.0, 2.0}


def test_a_generators_numbers_are_tensorflows(tf):
    g = tf.random.Generator.from_seed(1234)
    near(
        g.normal([2, 3]), [[0.9356609, 1.0854305, -0.93788373], [-0.5061547, 1.3169702, 0.7137579]]
    )
    np.testing.assert_array_equal(g.state.numpy(), [2770, 0, 0])
    near(g.uniform([3]), [0.65126133, 0.92959058, 0.50873387])
    np.testing.assert_array_equal(g.uniform([3], 0, 10, dtype=tf.int32), [2, 4, 7])
    found = g.uniform_full_int([2]).numpy()
    assert found.tolist() == [6684997737015905965, 17874969876196819646]
    g.uniform_full_int([2], dtype=tf.int32)
    near(g.truncated_normal([3], 1.0, 2.0), [-2.2758982, -2.1146316, -2.0884292])
    np.testing.assert_array_equal(g.skip(5), [6098, 0, 0])
    np.testing.assert_array_equal(
        g.make_seeds(2), [[1861259395182723258, -3561440675053107221], [0, 0]]
    )
    keys = [h.key.numpy() for h in g.split(2)]
    assert keys == [-3474735750219672632, 6002889772828618313]
    g.binomial([4, 2], [10.0, 20.0], 0.4)
    seeds = {2**64 + 5: [5, 1, 0], -1: [-1, -1, -1], (1, 2): [0, 1, 2]}
    for seed, state in seeds.items():
        seed = list(seed) if isinstance(seed, tuple) else seed
        np.testing.assert_array_equal(tf.random.Generator.from_seed(seed).state.numpy(), state)


def test_states(tf):
    g = tf.random.Generator.from_state([-1, 0, 3], "philox")
    near(g.normal([1]), [-1.0824763])
    np.testing.assert_array_equal(g.state.numpy(), [255, 1, 3])  # with carry
    g.reset([1, 2, 3])
    h = tf.random.Generator(copy_from=g)
    g.reset_from_key_counter(7, [8, 9])
    np.testing.assert_array_equal(g.state.numpy(), [8, 9, 7])
    np.testing.assert_array_equal(h.state.numpy(), [1, 2, 3])
    g.reset_from_seed(5)
    np.testing.assert_array_equal(g.state.numpy(), [5, 0, 0])
    with pytest.raises(ValueError, match="shape"):
        g.reset([1, 2])
    with pytest.raises(tf.errors.UnimplementedError, match="ThreeFry"):
        tf.random.Generator.from_seed(1, alg="threefry")
    with pytest.raises(ValueError, match="alg"):
        tf.random.Generator.from_seed(1, alg="other")
    with pytest.raises(ValueError, match="needs"):
        tf.random.Generator()
    np.testing.assert_array_equal(g.state.numpy(), [5, 0, 0])


def test_replays_draw_anew(tf):
    g = tf.random.Generator.from_seed(3)

    @tf.function
    def draw(seed, alpha):
        return (
            tf.random.gamma([3], alpha),
            tf.random.poisson([3], 900.0),
            tf.random.categorical(tf.zeros([1, 1000]), 3),
            tf.random.stateless_uniform([3], seed),
            g.normal([3]),
        )

    calls = []
    for k in range(6):
        calls.append([x.numpy() for x in draw(tf.constant([k, 1]), tf.constant(2.0))])
        near(calls[-1][3], tf.random.stateless_uniform([3], [k, 1]))
    for results in zip(*calls, strict=True):
        assert len({x.tobytes() for x in results}) == 6
    np.testing.assert_array_equal(g.state.numpy(), [3 + 6 * 3 * 256, 0, 0])
    again = tf.random.Generator.from_seed(3)
    for call in calls:
        np.testing.assert_array_equal(call[4], again.normal([3]))


def test_seeds_of_ops_repeat(tf):
    def numbers():
        tf.random.set_seed(4)
        return [
            tf.random.gamma([2], 2.0),
            tf.random.gamma([2], 2.0),
            tf.random.poisson([2], 50.0, seed=3),
        ]

    first, second = numbers(), numbers()
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, y)
    assert not np.array_equal(first[0], first[1])


def test_a_tape_sees_what_was_drawn(tf):
    alpha, g = tf.constant([0.7, 5.0], tf.float64), tf.random.Generator.from_seed(1)
    mean = tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(alpha)
        x = tf.random.gamma([4], alpha, dtype=tf.float64)
        y = x * x
        z = g.normal([3], mean) ** 2
    drawn = x.numpy()
    for _ in range(2):
        expected = (2 * drawn * philox.gamma_slope(alpha.numpy(), drawn)).sum(0)
        near(tape.gradient(y, alpha), expected, 1e-12)
        rest = tf.random.Generator.from_seed(1).normal([3]).numpy()
        near(tape.gradient(z, mean), (2 * (1 + rest)).sum())


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0, 2.5, 30.0, 1000.0])
def test_slope_of_a_gamma_number(alpha):
    """Compared with differences of the distribution function in 40 digits."""
    with mpmath.workdps(40):
        step = mpmath.mpf(10) ** -12
        for share in (1e-6, 0.3, 0.9, 1 - 1e-9):
            x = mpmath.mpf(float(scipy.stats.gamma.ppf(share, alpha)))
            if x == 0:
                continue
            low, high = (mpmath.gammainc(alpha + k * step, 0, x, regularized=True) for k in (-1, 1))
            density = x ** (alpha - 1) * mpmath.exp(-x) / mpmath.gamma(alpha)
            exact = float((low - high) / (2 * step) / density)
            near(philox.gamma_slope(alpha, float(x)), exact, 1e-10)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.0])
def test_gamma_distribution(tf, alpha):
    x = tf.random.stateless_gamma([20000], [3, 4], alpha, dtype=tf.float64)
    assert scipy.stats.kstest(x.numpy(), "gamma", (alpha,)).pvalue > 0.01


@pytest.mark.parametrize("rate", [0.5, 9.0, 10.0, 200.0])
def test_poisson_distribution(tf, rate):
    x = tf.random.stateless_poisson([20000], [5, 6], rate).numpy()
    assert abs(x.mean() - rate) < 4 * np.sqrt(rate / 20000)
    assert abs(x.var() / rate - 1) < 0.06


def test_errors(tf):
    r = tf.random
    for seed in ([1], 1, [1.0, 2.0]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            r.stateless_normal([2], seed)
    with pytest.raises(TypeError):
        r.stateless_normal([2], SEED, dtype=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="minval < maxval"):
        r.stateless_uniform([2], SEED, 5, 3, dtype=tf.int32)
    with pytest.raises(ValueError, match="must be both None"):
        r.stateless_uniform([2], SEED, dtype=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must end with"):
        r.stateless_gamma([3], SEED, alpha=[1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="matrix"):
        r.categorical([1.0, 2.0], 3)
    with pytest.raises(LookupError, match="RandomPoissonV2"), tf.GradientTape() as tape:
        rate = tf.constant(2.0)
        tape.watch(rate)
        tape.gradient(r.poisson([4], rate), rate)


def test_dropout_of_a_seed_leaves_tensorflows_places(tf):
    found = tf.nn.experimental.stateless_dropout(tf.ones(8), 0.4, [1, 2])
    assert np.flatnonzero(found).tolist() == [0, 2, 5]


def test_few_blocks_equal_many():
    """Python's integers draw a few blocks, arrays draw many; the counter has 128 bits."""
    for state in ([1, 2], [-3, -1, 5], [-3, 7, -5], [2**63 - 1, 0, -1]):
        source = philox.Philox(np.array(state, np.int64))
        many = source.at(np.arange(40))
        for start in range(0, 40, 5):
            few = source.at(np.arange(start, start + 5))
            np.testing.assert_array_equal(few, many[start : start + 5])


def assert_close(found, expected, ulp):
    """Check dtype and shape, and equality up to so many units in the last place."""
    found, expected = found.numpy(), np.asarray(expected)
    assert found.dtype == expected.dtype
    if expected.dtype.kind == "f":
        np.testing.assert_array_max_ulp(found, expected, ulp)
    else:
        np.testing.assert_array_equal(found, expected)


STATES = [np.array([-1, 2], np.int32), np.array([2**63 - 1, -(2**62)])]


@pytest.mark.parametrize("state", STATES, ids=["int32", "int64"])
@pytest.mark.parametrize("count", [1, 3, 255, 257, 70001])
def test_kernels_draw_the_numbers_of_their_definition(tf, state, count, monkeypatch):
    monkeypatch.setattr(sweeper, "LARGE", 1 << 12)  # threads share
    r, source = tf.random, philox.Philox(state)
    for kind in (np.float32, np.float64):
        dtype = np.dtype(kind).name
        assert_close(
            r.stateless_uniform([count], state, dtype=dtype), philox.uniform(source, count, kind), 0
        )
        drawn = r.stateless_normal([count], state, dtype=dtype)
        # Near a multiple of a half turn, the error of the angle is many units of the sine.
        epsilon = np.finfo(kind).eps
        np.testing.assert_allclose(
            drawn, philox.normal(source, count, kind), 8 * epsilon, 8 * epsilon
        )
        drawn = r.stateless_truncated_normal([count], state, dtype=dtype)
        np.testing.assert_allclose(
            drawn, philox.truncate(source, count, kind), 8 * epsilon, 8 * epsilon
        )
    for dtype in ("int32", "int64", "uint32", "uint64"):
        expected = philox.integers(source, count, dtype)
        assert_close(r.stateless_uniform([count], state, None, None, dtype), expected, 0)
    for dtype, low, high in (("int32", -(2**31), 2**31 - 1), ("int64", -(2**50), 2**62)):
        words = philox.integers(source, count, f"u{dtype}")
        offsets = words % words.dtype.type(high - low)
        expected = (offsets + np.array(low, dtype).view(words.dtype)).view(dtype)
        assert_close(r.stateless_uniform([count], state, low, high, dtype), expected, 0)


@pytest.mark.parametrize("state", STATES, ids=["int32", "int64"])
@pytest.mark.parametrize("count", [1, 3, 300])
def test_kernels_of_rejection_draw_the_numbers_of_their_definition(tf, state, count, monkeypatch):
    monkeypatch.setattr(sweeper, "LARGE", 1 << 12)
    r, source = tf.random, philox.Philox(state)
    alpha = np.array([[0, 1, 0.3, 2.5], [1e5, -1, np.nan, np.inf]])
    expected = philox.gamma(source, alpha, count)
    drawn = r.stateless_gamma([count, 2, 4], state, alpha, dtype="float64")
    assert_close(drawn, np.maximum(expected, np.finfo(np.float64).tiny), 16)
    rate = np.array([0, -1, 0.5, 9.99, 10, 11.5, 1e4, 1e7, np.nan, np.inf])
    expected = philox.poisson(source, rate, count)
    for dtype in ("float32", "float64"):
        drawn = r.stateless_poisson([count, 10], state, rate, dtype)
        assert_close(drawn, expected.astype(dtype), 0)
    for dtype in ("int32", "int64"):
        drawn = r.stateless_poisson([count, 10], state, rate, dtype)
        assert_close(drawn, np.nan_to_num(expected).astype(dtype), 0)
    assert r.stateless_poisson([1], state, 1e12, "int32").numpy() == -(2**31)


@pytest.mark.parametrize(
    "rows,classes,count", [(1, 3, 8), (4, 1, 5), (2, 256, 3), (2, 257, 100), (3, 5001, 50)]
)
def test_kernels_draw_the_classes_of_their_definition(tf, rows, classes, count):
    logits = 3 * np.random.default_rng(0).normal(size=(rows, classes))
    rare = logits.copy()
    rare[0, : classes - 1 : 2] = -np.inf
    rare[-1, : classes // 2] = np.nan
    for dtype in ("float32", "float64"):
        for x in (logits.astype(dtype), rare.astype(dtype), np.full_like(rare, np.nan)):
            expected = philox.categorical(philox.Philox(STATES[0]), x, count)
            drawn = tf.random.stateless_categorical(x, count, STATES[0])
            assert_close(drawn, expected, 0)
    drawn = tf.random.stateless_categorical([[1, 2, 3]], count, SEED, "int32")
    assert drawn.dtype == "int32"
    assert set(drawn.numpy().ravel().tolist()) <= {0, 1, 2}


def test_skipping_carries_into_the_upper_word(tf):
    for state in ([2**63 - 1, 5, 7], [-1, -1, 3], [-300, -1, -(2**62)]):
        for delta in (1, 5, 2**60, -3):
            generator = tf.random.Generator.from_state(state, "philox")
            counter = philox.Philox(np.array(state)).counter
            generator.skip(delta)
            source = philox.Philox(generator.state.numpy())
            assert source.counter == (counter + 256 * delta) % 2**128
            assert source.key == state[2] % 2**64


# --- Permutations of indices, seeds, and points of even spread ------------------------------------


@pytest.mark.parametrize(("largest", "dtype"), [(0, "int32"), (9, "uint64"), (130, "int64")])
def test_index_shuffle_is_a_permutation(tf, largest, dtype):
    indices = np.arange(largest + 1).astype(dtype)
    shuffle = tf.random.experimental.index_shuffle
    for seed in ([1, 2], np.array([3, -4])):
        places = shuffle(indices, seed, largest)
        assert places.dtype.name == dtype
        assert sorted(places.numpy().tolist()) == indices.tolist()
        assert shuffle(indices[-1], seed, largest).numpy() == places.numpy()[-1]
    if largest > 9:
        assert (
            (shuffle(indices, [1, 2], largest) != shuffle(indices, [1, 3], largest)).numpy().any()
        )
    for index, limit, text in ((-1, 3, "index must"), (0, -1, "max_index"), (5, 4, ">= index")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            shuffle(index, [1, 2], limit)


def test_unsigned_seeds(tf):
    draw = tf.random.stateless_uniform
    expected = draw([3], seed=np.array([5, 6], np.int64)).numpy()
    np.testing.assert_array_equal(draw([3], seed=np.array([5, 6], np.uint64)).numpy(), expected)


def test_sobol_sample(tf):
    points = tf.math.sobol_sample(5, 7, dtype=tf.float64).numpy()
    np.testing.assert_array_equal(points[0], [0.5] * 5)
    np.testing.assert_array_equal(points[3], [0.375, 0.375, 0.625, 0.875, 0.375])
    np.testing.assert_array_equal(tf.math.sobol_sample(5, 3, 4).numpy(), points[4:])
    assert tf.math.sobol_sample(2, 0).shape == (0, 2)
    for arguments in ((0, 1), (2, -1), (2, 1, -1)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.math.sobol_sample(*arguments)
