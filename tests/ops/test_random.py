"""Random numbers: uniform ones as in NumPy, normal ones by distribution, equal on all devices."""

import ctypes
import importlib
import itertools

import mpmath
import numpy as np
import pytest
import scipy.stats
from parallel_threads import run_in_threads
from philox_values import KNOWN

from numtape.core import settings
from numtape.core.compile import cache
from numtape.core.cpu import rng
from numtape.core.ops.random import STATE
from numtape.core.ops.stateless_random import draw_numbered
from numtape.core.reference.draws import compute_drawn
from numtape.core.values.dtypes import as_dtype
from numtape.core.values.spec import intern

pytestmark = [
    pytest.mark.numtape_only("TensorFlow draws other numbers"),
    pytest.mark.usefixtures("isolated"),
]

DTYPES = ["float32", "float64"]
both = pytest.mark.parametrize("dtype", DTYPES)
# Zero, one, some, many elements; not multiples of the draws per block.
SHAPES = [
    (),
    (0,),
    (1,),
    (3,),
    (4,),
    (5, 1),
    (8,),
    (9,),
    (2, 0, 3),
    (7, 9),
    (257,),
    (513,),
    (1000, 3),
    (50001,),
]
LARGE = 10**6


@pytest.fixture
def cpu(tf):
    with tf.config.override("cpu"):
        yield


def source(seed, number=0, own=0):
    """NumPy's generator of a draw, from the global seed, the op seed and the draw number."""
    return np.random.Philox(np.random.SeedSequence([seed, own, number]))


def normal(tf, shape, dtype, seed=1):
    tf.random.set_seed(seed)
    return tf.random.normal(shape, dtype=dtype).numpy()


# --- Uniform numbers -----------------------------------------------------------------------------


@both
def test_uniform_numbers_are_numpys(tf, dtype, device):
    tf.random.set_seed(7)
    for number, shape in enumerate(SHAPES):
        found = np.asarray(tf.random.uniform(shape, dtype=dtype))
        expected = np.random.Generator(source(7, number)).random(shape, dtype)
        assert (found.shape, found.dtype) == (shape, dtype)
        assert found.tobytes() == np.asarray(expected).tobytes(), shape


def test_seeds_of_ops(tf):
    tf.random.set_seed(2**40)
    for number, own in enumerate([0, 3, 2**50]):
        found = tf.random.uniform((5,), seed=own, dtype=tf.float64)
        expected = np.random.Generator(source(2**40, number, own + 1)).random(5)
        np.testing.assert_array_equal(found, expected)


# --- Philox --------------------------------------------------------------------------------------


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """Compiles functions of addresses and integers like kernels, callable from Python."""
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(tmp_path))
    return as_kernel


def as_kernel(symbol, function, count):
    """A function whose C address is called."""
    build = importlib.import_module("numtape.core.compile.numba_compiler")
    jitted = importlib.import_module("numtape.kernels.jit").jit(function)
    built = build.compile_unit(symbol, [build.CompiledFunction(symbol, jitted, [""] * count)])
    address = cache.load(symbol, symbol, lambda: built)[symbol]
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(address)


def test_known_answers(compiled):
    philox = importlib.import_module("numtape.kernels.cpu.random").philox
    words_at = importlib.import_module("numtape.kernels.jit").POINTERS["uint64"]

    def call(at, key, out):
        a, (first, second) = words_at(at), (words_at(key)[0], words_at(key)[1])
        for k in range(4):
            words_at(out)[k] = philox(a[0], a[1], a[2], a[3], first, second)[k]

    found = compiled("test_philox", call, 3)
    for counter, key, words in KNOWN:
        given, keys, out = np.array(counter, "u8"), np.array(key, "u8"), np.empty(4, "u8")
        found(given.ctypes.data, keys.ctypes.data, out.ctypes.data)
        assert tuple(out.tolist()) == words


# --- Normal numbers ------------------------------------------------------------------------------


@mpmath.workprec(200)
def exact(first, second, kind):
    """The two Box-Muller numbers of two integers; see kernels/cpu/random.py."""
    bits = 8 * np.dtype(kind).itemsize
    u = kind(first) * kind(2.0**-bits) + kind(2.0 ** (-bits - 1))  # rounded, as in the kernel
    radius = mpmath.sqrt(-2 * mpmath.log(float(u)))
    signed = (second & ~3) - (2**bits if second >> bits - 1 else 0)
    turn = mpmath.pi / 2 * signed / 2**bits
    cosine, sine = mpmath.cos(turn), mpmath.sin(turn)
    if second & 1:
        cosine, sine = sine, cosine
    sign = -1 if second & 2 else 1
    return sign * radius * cosine, sign * radius * sine


@mpmath.workprec(200)
def units(found, expected):
    """The errors of numbers, in units in the last place."""
    spacing = np.spacing(np.abs(np.array(expected, found.dtype)))
    return [
        float(abs(mpmath.mpf(float(x)) - y) / float(ulp))
        for x, y, ulp in zip(found, expected, spacing, strict=True)
    ]


@both
def test_normal_numbers_are_box_and_mullers(tf, dtype, device):
    found = normal(tf, (2001,), dtype)
    size = found.dtype.itemsize
    integers = source(1).random_raw(2004 * size // 8).view(f"u{size}").tolist()
    pairs = zip(integers[::2], integers[1::2], strict=True)
    expected = [x for a, b in pairs for x in exact(a, b, found.dtype.type)][:2001]
    assert max(units(found, expected)) < 5


@both
def test_no_integers_give_what_is_not_finite(dtype, compiled):
    """The largest and the smallest radius, and angles in all octants."""
    bits = 8 * np.dtype(dtype).itemsize
    ends = [0, 1, 2, 3, 4, 2**bits - 1, 2**bits - 4]
    ends += [x + k for k in range(-4, 4) for x in (2 ** (bits - 1), 2 ** (bits - 2))]
    integers = np.array([(a, b) for a in ends for b in ends], f"u{bits // 8}")
    found = integers.copy()
    numbers = importlib.import_module("numtape.kernels.cpu.random").normal(dtype)
    compiled(f"test_normal_{dtype}", numbers, 2)(found.ctypes.data, found.size)
    pairs = found.view(dtype)
    expected = [exact(int(a), int(b), pairs.dtype.type) for a, b in integers]
    assert np.isfinite(pairs).all()
    assert max(units(pairs.ravel(), [x for pair in expected for x in pair])) < 4
    largest = np.hypot(*pairs.T).max()
    np.testing.assert_allclose(largest, np.sqrt(2 * np.log(2) * (bits + 1)), rtol=1e-6)


@both
def test_distribution(tf, dtype):
    z = normal(tf, (LARGE,), dtype).astype(np.float64)
    assert scipy.stats.kstest(z, "norm").pvalue > 0.01
    assert scipy.stats.kstest(z[::2], "norm").pvalue > 0.01
    # Means of powers, in units of their standard deviations.
    for power in range(1, 9):
        mean = scipy.stats.norm.moment(power)
        deviation = np.sqrt((scipy.stats.norm.moment(2 * power) - mean**2) / LARGE)
        assert abs((z**power).mean() - mean) < 4 * deviation, power
    for limit in (3, 4, 4.5):
        expected = 2 * scipy.stats.norm.sf(limit) * LARGE
        assert abs((np.abs(z) > limit).sum() - expected) < 4 * np.sqrt(expected), limit


@both
def test_pairs_are_independent(tf, dtype):
    z = normal(tf, (LARGE,), dtype).astype(np.float64)
    for lag in (1, 2, 3, 4, 8):
        for power in (1, 2):
            x, y = z[:-lag] ** power, z[lag:] ** power
            assert abs(np.corrcoef(x, y)[0, 1]) < 4 / np.sqrt(LARGE), (lag, power)
    within = z.reshape(-1, 2)
    for x, y in ((within[:, 0], within[:, 1]), (within[:, 0] ** 2, within[:, 1] ** 2)):
        assert abs(np.corrcoef(x, y)[0, 1]) < 4 / np.sqrt(LARGE / 2)
    turns = (np.arctan2(within[:, 1], within[:, 0]) / (2 * np.pi)) % 1
    assert scipy.stats.kstest(turns, "uniform").pvalue > 0.01
    assert scipy.stats.kstest(np.exp(-0.5 * (within**2).sum(1)), "uniform").pvalue > 0.01


def test_draws_are_independent(tf):
    """Successive draws, and draws of neighbouring seeds."""
    tf.random.set_seed(1)
    found = [tf.random.normal((LARGE,)).numpy() for _ in range(2)]
    found += [normal(tf, (LARGE,), "float32", seed) for seed in (2, 3)]
    correlations = np.corrcoef(found)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 4 / np.sqrt(LARGE)


# --- Independence of partition -------------------------------------------------------------------


@both
@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_same_numbers_on_any_number_of_threads(tf, cpu, name, dtype, monkeypatch):
    shared, share = [], rng.share

    def counted(calls, *rest):
        shared.append(len(calls))
        share(calls, *rest)

    monkeypatch.setattr(rng, "share", counted)
    found = set()
    for threads in (1, 2, 3, 5):
        monkeypatch.setattr(settings, "_threads", threads)
        tf.random.set_seed(4)
        found.add(getattr(tf.random, name)((300_001,), dtype=dtype).numpy().tobytes())
    assert shared == [2, 3, 5]
    assert len(found) == 1


@both
@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_same_numbers_in_any_parts(tf, cpu, name, dtype):
    """A kernel's units may be drawn in any order."""
    out = np.full(20_003, np.nan, dtype)
    words, count, _ = rng.kernel_of(name, intern(out.shape, as_dtype(dtype)), ())
    parameters, kernel = np.array([4, 0, 0, *words]), rng._drawn()
    borders = [0, *sorted(np.random.default_rng(0).choice(count, 7, replace=False)), count]
    parts = list(itertools.pairwise(borders))
    for begin, end in parts[::2] + parts[1::2]:
        kernel(out.ctypes.data, 0, 0, 0, parameters.ctypes.data, int(begin), int(end))
    tf.random.set_seed(4)
    whole = getattr(tf.random, name)(out.shape, dtype=dtype).numpy()
    assert out.tobytes() == whole.tobytes()


ENTROPY = [
    (0, 0, 0),
    (1, 0, 5),
    (2**40, 3, 2**33),
    (2**63 - 1, 2**63 - 1, 2**62),
    (7, 2**32 - 1, 2**32),
]


@pytest.mark.parametrize("entropy", ENTROPY, ids=str)
def test_kernels_draw_numpys_numbers(entropy):
    def check(name, dtype, size, *parameters):
        spec = intern((size,), as_dtype(dtype))
        words, units, _ = rng.kernel_of(name, spec, parameters)
        drawn = rng.DrawKernel(words, units, 0).compute(entropy, spec)
        expected = compute_drawn(name, entropy, spec, *parameters)
        assert drawn.dtype == expected.dtype
        np.testing.assert_array_equal(drawn, expected)

    check("state", "int64", 2)
    for size in (0, 1, 2, 3, 10, 1000, 70_000):
        check("permutation", "int64", size)
        check("uniform", "float32", size)
        check("uniform", "float64", size)
    for dtype, low, high in (
        ("int32", 0, 10),
        ("int32", -5, -4),
        ("int32", -(2**31), 2**31),
        ("int32", 0, 2**31 - 1),
        ("uint32", 3, 2**32),
        ("int64", 0, 10),
        ("int64", 0, 2**32),
        ("int64", -7, 2**32 - 6),
        ("int64", 0, 3 * 2**61),
        ("int64", -(2**63), 2**63),
        ("uint64", 5, 2**63 + 5),
        ("uint64", 0, 2**64),
    ):
        for size in (1, 2, 1000):
            check("integers", dtype, size, low, high)


@both
@pytest.mark.parametrize("state", [(0, 0), (7, 2**32), (2**63 - 1, 2**40), (-5, 3)])
def test_numbers_of_a_layers_seed_are_numpys(tf, cpu, dtype, state):
    for size in (1, 3, 255, 70_001):
        drawn = draw_numbered(tf.constant(state, tf.int64), "uniform", (size,), as_dtype(dtype))
        entropy = np.random.SeedSequence([x % 2**63 for x in state])
        expected = np.random.Generator(np.random.Philox(entropy)).random(size, dtype)
        np.testing.assert_array_equal(drawn, expected)


def test_draws_without_a_seed_differ(tf, monkeypatch):
    monkeypatch.setattr(STATE, "seed", None)
    monkeypatch.setattr(STATE, "draws", 3)
    drawn = [tf.random.uniform((2,)).numpy().tobytes() for _ in range(100)]
    replayed = tf.function(lambda: tf.random.uniform((2,)))
    drawn += [replayed().numpy().tobytes() for _ in range(100)]
    assert (STATE.draws, len(set(drawn))) == (3, 200)
    STATE.renew()  # as in a new process
    drawn += [replayed().numpy().tobytes() for _ in range(100)]
    assert len(set(drawn)) == 300


@both
@pytest.mark.parametrize("size", [1, 2, 7, 8, 255, 256, 257, 511, 513, 5000])
def test_a_shorter_draw_is_the_start_of_a_longer_one(tf, cpu, size, dtype):
    longer = normal(tf, (5001,), dtype)
    assert normal(tf, (size,), dtype).tobytes() == longer[:size].tobytes()


def test_threads_that_draw_much_at_once(tf, cpu, monkeypatch):
    """Each has its own worker threads; which thread gets which draw is not specified."""
    monkeypatch.setattr(settings, "_threads", 2)

    def draws_of(k):
        return [tf.random.normal((100_000,)).numpy().tobytes() for _ in range(5)]

    def drawn(run):
        tf.random.set_seed(9)
        found = {array for arrays in run(4, draws_of) for array in arrays}
        assert (STATE.draws, len(found)) == (20, 20)
        return found

    assert drawn(run_in_threads) == drawn(lambda count, work: map(work, range(count)))


# --- Arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["normal", "uniform", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["complex64", "bool"])
def test_dtypes_that_are_not_drawn(tf, name, dtype):
    with pytest.raises(TypeError, match=f"of a floating dtype, not dtype={dtype}"):
        getattr(tf.random, name)((2,), dtype=dtype)


@pytest.mark.parametrize("name", ["normal", "uniform", "truncated_normal"])
def test_negative_sizes(tf, name):
    with pytest.raises(ValueError, match=r"\(2, -1\).*negative"):
        getattr(tf.random, name)((2, -1))
