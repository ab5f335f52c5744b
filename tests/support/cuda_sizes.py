"""Kernels along axes and by index, with sizes around those of warps and blocks, against NumPy.

``python cuda_sizes.py THREADS WARP [SEED COUNT]`` runs in the simulator, with THREADS threads per
block, WARP threads per warp, and COUNT cases of each class. With 256 threads, sorting is split as
on a GPU.
"""

import sys

import numpy as np
from numtape.kernels.constants import SCATTER_PIECE_BITS, SCATTER_ROUNDS
from numtape.kernels.cuda import simulated

import numtape as tf
from numtape.core.cuda.runtime.simulator import Simulator

threads, warp, seed, count = map(int, (*sys.argv[1:], *("0", "12")[len(sys.argv) - 3 :]))
# Set before the other modules are imported, which read it.
simulated.THREADS, simulated.WARP, Simulator.threads = threads, warp, threads
from numtape.kernels.cuda import scatter as kernels  # noqa: E402

from numtape.core.cuda.ops import scatter  # noqa: E402

if threads == 256:
    lengths = scatter.Lengths(SCATTER_ROUNDS, SCATTER_PIECE_BITS)
    scatter.lengths = lambda: lengths
    kernels.ROUNDS, kernels.PIECE_BITS = lengths
    kernels.TILE, kernels.PIECE = threads * kernels.ROUNDS, 1 << kernels.PIECE_BITS
assert scatter.lengths() == (kernels.ROUNDS, kernels.PIECE_BITS)
RANDOM = np.random.default_rng(seed)
FLOATS = "float32", "float64"
WHOLE = "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"
SPECIAL = np.nan, np.inf, -np.inf, 0.0, -0.0


def size(most=5):
    """A size around a multiple of (four times) a warp's or block's threads, or a small one."""
    around = RANDOM.choice([1, 2, warp, 4 * warp, threads, 4 * threads])
    times = int(RANDOM.integers(1, most))
    return max(1, int(around) * times + int(RANDOM.integers(-3, 4)))


def drawn(shape, dtype):
    """Integers over their whole range, or floats of several magnitudes with special values."""
    if dtype == "bool":
        return RANDOM.random(shape) < RANDOM.choice([0.01, 0.5])
    if dtype in WHOLE:
        limits = np.iinfo(dtype)
        return RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    x = RANDOM.normal(size=shape).astype(dtype)
    if RANDOM.random() < 0.4:
        for value in RANDOM.choice(SPECIAL, 2):
            x[RANDOM.random(shape) < RANDOM.choice([2 / x.size, 0.1])] = value
    return x


def same(found, wanted, *what):
    found, wanted = found.numpy(), np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    if wanted.dtype.kind == "f":
        limit = 2e-3 if wanted.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(found, wanted, limit, limit, err_msg=repr(what))
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=repr(what))


def shape_of(most=5):
    outer = int(RANDOM.choice([1, 1, 2, 3, warp + 1]))
    inner = int(RANDOM.choice([1, 1, 1, 2, 3, 4, 8]))
    return outer, size(most if outer * inner < 9 else 2), inner


def axes():
    for dtype in (*FLOATS, *WHOLE, *FLOATS):
        shape = shape_of()
        x = drawn(shape, dtype)
        y, what = tf.constant(x), (dtype, shape)
        same(tf.reduce_sum(y, 1), x.sum(1, dtype), "sum", *what)
        same(tf.reduce_max(y, 1), x.max(1), "max", *what)
        same(tf.reduce_min(y), x.min(), "min", *what)
        lowest, highest = (
            np.where(x != x, end, x) if dtype in FLOATS else x for end in (-np.inf, np.inf)
        )
        if dtype not in FLOATS or not np.isnan(x).any():
            same(tf.argmax(y, 1), lowest.argmax(1), "argmax", *what)
            same(tf.argmin(y, 1), highest.argmin(1), "argmin", *what)
    truth = drawn(shape_of(), "bool")
    same(tf.reduce_any(tf.constant(truth), 1), truth.any(1), "any", truth.shape)
    same(tf.reduce_all(tf.constant(truth), 1), truth.all(1), "all", truth.shape)


def scans():
    for dtype in (*FLOATS, *WHOLE, *FLOATS):
        shape = shape_of()
        x = drawn(shape, dtype)
        for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
            turned = x[:, ::-1] if reverse else x
            sums = turned.cumsum(1, dtype)
            if exclusive:
                sums = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], 1)
            wanted = sums[:, ::-1] if reverse else sums
            found = tf.cumsum(tf.constant(x), 1, exclusive, reverse)
            same(found, wanted, "cumsum", dtype, shape, exclusive, reverse)


def rows():
    for dtype in FLOATS:
        shape = int(RANDOM.choice([1, 2, 5, warp + 1])), size()
        x, g = drawn(shape, dtype), RANDOM.normal(size=shape).astype(dtype)
        e = np.exp(x - x.max(1, keepdims=True))
        soft = e / e.sum(1, keepdims=True)
        level = np.log(e.sum(1, keepdims=True))
        scale = 1 / np.sqrt(x.var(1, keepdims=True) + np.asarray(0.1, dtype))
        normal = (x - x.mean(1, keepdims=True)) * scale
        along = [a.mean(1, keepdims=True) for a in (g, g * normal)]
        layer = tf.keras.layers.LayerNormalization(
            center=False, scale=False, epsilon=0.1, dtype=dtype
        )
        for function, value, slope in (
            (tf.nn.softmax, soft, soft * (g - (g * soft).sum(1, keepdims=True))),
            (
                tf.nn.log_softmax,
                x - x.max(1, keepdims=True) - level,
                g - soft * g.sum(1, keepdims=True),
            ),
            (layer, normal, scale * (g - along[0] - normal * along[1])),
        ):
            source = tf.constant(x)
            with tf.GradientTape() as tape:
                tape.watch(source)
                result = function(source)
            same(result, value, "row", function, dtype, shape)
            if np.isfinite(x).all():
                found = tape.gradient(result, source, output_gradients=tf.constant(g))
                same(found, slope, "slope", function, dtype, shape)


def by_index():
    # So many take several tiles of threads, and two levels of pieces, or three of short pieces.
    levels = 2 if threads == 256 else 3
    several = max(kernels.TILE, (4 * kernels.PIECE + 1) * kernels.PIECE ** (levels - 1))
    for dtype, least in (("float32", 0), ("float64", several)):
        places = least + size(9)
        buckets = int(RANDOM.choice([1, 2, 5, threads - 1, threads, 3 * threads]))
        inner = int(RANDOM.choice([1, 2, 4]))
        used = RANDOM.integers(0, buckets, max(1, buckets // int(RANDOM.choice([1, 2, 50]))))
        at = RANDOM.choice(used, places).astype(RANDOM.choice(["int32", "int64"]))
        if least or RANDOM.random() < 0.3:
            at[RANDOM.random(places) < 0.9] = used[0]
        x, g = (RANDOM.normal(size=(n, inner)).astype(dtype) for n in (buckets, places))
        source = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(source)
            result = tf.gather(source, at)
        wanted = np.zeros_like(x)
        np.add.at(wanted, at, g)
        found = tape.gradient(result, source, output_gradients=tf.constant(g))
        found = tf.convert_to_tensor(found)
        same(found, wanted, "scatter", dtype, places, buckets, inner)


np.seterr(all="ignore")
for _ in range(count):
    for check in (axes, scans, rows, by_index):
        check()
print("ok")
