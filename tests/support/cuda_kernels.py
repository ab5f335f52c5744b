"""Kernels for long axes and for scatter-adds, compared with NumPy on a GPU or in its simulator."""

import itertools

import numpy as np

import numtape as tf
from numtape.core.cuda.ops import axes

if tf.config.simulated():
    axes.ROUNDS = 4  # splits rows that are short enough for the simulator
LONG = 33 if tf.config.simulated() else 33_000  # elements shared by several threads or blocks
MANY = max(1, LONG // 3_300)  # multiple of a tile in the simulator
RANDOM = np.random.default_rng(0)
# (outer, n, inner): one long row, several, few long columns, many short ones, vectors of these.
SHAPES = [(1, 2 * LONG, 1), (3, LONG, 1), (1, 4 * LONG, 2), (5, 3, 4), (9, 3, 1), (2, 68, 8)]


def close(found, wanted, limit=1e-9):
    """Assert equality, up to the rounding of another order of additions."""
    found, wanted = found.numpy(), np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=limit, atol=limit * LONG)
    else:
        np.testing.assert_array_equal(found, wanted)


def check_axes():
    # The last rows are loaded as vectors: by a warp, by a block, in chunks.
    for shape in [*SHAPES, (3, 16, 1), (2, 72, 1), (1, 4 * LONG, 1)]:
        real = RANDOM.normal(size=shape)
        whole = RANDOM.integers(-9, 10, shape).astype("int32")  # many equal elements
        holes = np.where(RANDOM.random(shape) < 0.05, np.nan, whole)
        truth = RANDOM.random(shape) < 1 / LONG
        for x in (real, whole, holes):
            close(tf.argmax(x, 1), np.argmax(np.where(x != x, -np.inf, x), 1))
            close(
                tf.argmin(x, 1, "int32"), np.argmin(np.where(x != x, np.inf, x), 1).astype("int32")
            )
            close(tf.reduce_max(x, 1), np.max(x, 1))
        for axis in (1, (0, 2), None):
            axes = (0, 1, 2) if axis is None else axis
            close(tf.reduce_sum(real, axis), np.sum(real, axis))
            close(tf.reduce_min(whole, axis), np.min(whole, axis))
            close(tf.reduce_any(truth, axis), np.any(truth, axes))
            close(tf.reduce_all(~truth, axis), np.all(~truth, axes))
            mean = np.trunc(np.mean(whole, axes, np.float64)).astype("int32")
            close(tf.reduce_mean(whole, axis), mean)
        for x, exclusive, reverse in itertools.product((real, whole), (False, True), (False, True)):
            turned = np.flip(x, 1) if reverse else x
            sums = np.cumsum(turned, 1, x.dtype) - (turned if exclusive else 0)
            found = tf.cumsum(x, 1, exclusive, reverse)
            close(found, np.flip(sums, 1) if reverse else sums)


def check_rows():
    """Rows in registers (part of a warp, a warp, or a block per row), and longer ones."""
    small = tf.config.simulated()
    for n in (7, 16, 70, 128, 200) if small else (7, 16, 70, 1000, 4096, 5001, 9000):
        x, g = RANDOM.normal(size=(2, 3, n))
        e = np.exp(x - x.max(1, keepdims=True))
        y, level = e / e.sum(1, keepdims=True), np.log(e.sum(1, keepdims=True))
        scale = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-3)
        normal = (x - x.mean(1, keepdims=True)) * scale
        mean, along = (a.mean(1, keepdims=True) for a in (g, g * normal))
        layer = tf.keras.layers.LayerNormalization(
            epsilon=1e-3, center=False, scale=False, dtype="float64"
        )
        for function, value, slope in (
            (tf.nn.softmax, y, y * (g - np.sum(g * y, 1, keepdims=True))),
            (
                tf.nn.log_softmax,
                x - x.max(1, keepdims=True) - level,
                g - y * np.sum(g, 1, keepdims=True),
            ),
            (layer, normal, scale * (g - mean - normal * along)),
        ):
            source = tf.constant(x)
            with tf.GradientTape() as tape:
                tape.watch(source)
                result = function(source)
            close(result, value)
            close(tape.gradient(result, source, output_gradients=tf.constant(g)), slope)
        holes = x.copy()
        holes[0, n // 2], holes[1, :], holes[2, 1:] = np.nan, -np.inf, -np.inf
        found = tf.nn.softmax(tf.constant(holes)).numpy()
        assert np.isnan(found[:2]).all()
        np.testing.assert_array_equal(found[2], np.arange(n) == 0)


def check_gather():
    """Rows of each word size, by indices of each dtype; many rows, and none."""
    for number, (kind, shape, axis) in enumerate(
        [
            ("float32", (9, 64), 0),
            ("float32", (2, 7, 3), 1),
            ("float64", (LONG,), 0),
            ("float64", (3, 5, 2), 1),
            ("uint8", (4, 16), 0),
            ("int16", (6, 3), 0),
            ("bool", (3, 6), 0),
            ("int64", (1, 1, 3), 1),
            ("uint8", (2, 5), 1),
        ]
    ):
        x = RANDOM.integers(0, 2 if kind == "bool" else 200, shape).astype(kind)
        for count, index in ((0, "int32"), (1, "int64"), (40 + number, "uint8"), (LONG, "int32")):
            y = RANDOM.integers(0, min(255, shape[axis]), count).astype(index)
            close(tf.gather(x, y, axis=axis), np.take(x, y, axis))
    logits = RANDOM.normal(size=(LONG, 5))
    labels = RANDOM.integers(0, 5, LONG)
    with tf.GradientTape() as tape:
        x = tf.constant(logits)
        tape.watch(x)
        picked = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
    sums = np.log(np.exp(logits).sum(1))
    close(picked, sums - logits[np.arange(LONG), labels])
    wanted = np.exp(logits - sums[:, None]) - (np.arange(5) == labels[:, None])
    close(tape.gradient(picked, x), wanted)


def check_moves():
    """Each word size, whole and partial tiles, axes of size 1, and empty arrays."""
    from numtape.core.cuda.runtime.device import device

    for kind, shape, perm in [
        ("float32", (24, 40), (1, 0)),
        ("float64", (37 * MANY, 41), (1, 0)),
        ("uint8", (65, 70 * MANY), (1, 0)),
        ("float32", (33 * MANY, 36 * MANY), (1, 0)),
        ("int16", (2, 67 * MANY, 41), (0, 2, 1)),
        ("float32", (600 * MANY, 3), (1, 0)),
        ("float32", (3, 700 * MANY), (1, 0)),
        ("float64", (20 * MANY, 1, 2, 3, 33), (4, 3, 1, 2, 0)),
        ("float32", (2, 5, 8), (1, 0, 2)),
        ("float32", (3, 300 * MANY, 2), (1, 0, 2)),
        ("uint8", (5, 7, 16), (1, 0, 2)),
        ("uint8", (5, 7, 6), (1, 0, 2)),
        ("bool", (3, 4, 5), (2, 1, 0)),
        ("float32", (0, 3), (1, 0)),
        ("int64", (1, 1), (1, 0)),
        ("int32", (4, 1, 6), (1, 0, 2)),
    ]:
        x = RANDOM.integers(0, 2 if kind == "bool" else 200, shape).astype(kind)
        close(tf.transpose(x, perm), np.transpose(x, perm))
    for kind, shape in [("float32", (5, 16)), ("uint8", (3, 48)), ("float64", (4, 3, 6))]:
        x = RANDOM.integers(0, 200, shape).astype(kind)
        inside, steps = (slice(1, -1),) * (len(shape) - 1), (slice(None, None, 2),) * len(shape)
        for cut in (
            (*inside, slice(4, 12)),
            (*inside, slice(3, 11)),
            (*inside, slice(0, 3)),
            steps,
            (slice(None, None, -1),),
            (..., slice(None, None, -2)),
        ):
            close(tf.constant(x)[cut], x[cut])
        ends = ((1, 2),) * (len(shape) - 1)
        for last in ((4, 4), (16, 0), (1, 0), (0, 0)):
            paddings = (*ends, last)
            before = device().launches
            close(tf.pad(tf.constant(x), paddings), np.pad(x, paddings))
            assert device().launches == before + 1
            close(tf.pad(x, ((1, 1),) * len(shape), "REFLECT"), np.pad(x, 1, "reflect"))
        for axis in range(len(shape)):
            close(
                tf.concat([x, x, x[:1, ...] if axis == 0 else x], axis),
                np.concatenate([x, x, x[:1, ...] if axis == 0 else x], axis),
            )


def check_joined():
    """Row-wise ops and the elementwise ops around them are one launch, with the same bits."""
    from numtape.core.cuda.runtime.device import device

    layer = tf.keras.layers.LayerNormalization(center=False, scale=False)

    def norm(x, gamma, beta):
        return layer(x * gamma) * gamma + beta

    def softmax(x, gamma, beta):
        return tf.nn.softmax(x + beta) * gamma

    for n, (function, count) in itertools.product((7, 64), ((norm, 4), (softmax, 2))):
        arrays = [RANDOM.normal(size=shape).astype("float32") for shape in ((3, n), n, n, (3, n))]
        found = []
        for together in (True, False):
            x, gamma, beta, g = (tf.constant(array) for array in arrays)
            with tf.GradientTape() as tape:
                tape.watch([x, gamma])
                y = function(x, gamma, beta)
            if not together:
                y.numpy()
            slopes = tape.gradient(y, [x, gamma], output_gradients=g)
            before = device().launches
            slopes[0].numpy()
            if together:
                assert device().launches - before == count
            found.append([z.numpy().tobytes() for z in (y, *slopes)])
        assert found[0] == found[1]


def check_summed():
    """A layer norm with all its gradients: column sums have the bits of separate sums."""
    from numtape.core.cuda import fusion
    from numtape.core.cuda.runtime.device import device

    rows, n = 20_000, 1024
    if tf.config.simulated():
        rows, n, fusion.MIN_BLOCKS, axes.SHORTEST, axes.FEWEST = 9, 68, 2, 4, 4
    layer = tf.keras.layers.LayerNormalization(center=False, scale=False)
    arrays = [RANDOM.normal(size=size).astype("float32") for size in ((rows, n), n, n, (rows, n))]
    found = []
    for together in (True, False):
        x, gamma, beta, g = (tf.constant(array) for array in arrays)
        with tf.GradientTape() as tape:
            tape.watch([x, gamma, beta])
            y = layer(x) * gamma + beta
        if not together:
            y.numpy()
        slopes = tape.gradient(y, [x, gamma, beta], output_gradients=g)
        before = device().launches
        slopes[0 if together else 1].numpy()
        if together:
            assert device().launches - before == (3 if tf.config.simulated() else 5)
        found.append([z.numpy().tobytes() for z in (y, *slopes)])
    assert found[0] == found[1]


def check_order():
    """Positions are sorted stably by index."""
    from numtape.core.cuda.launches import LaunchRow
    from numtape.core.cuda.ops.scatter import order
    from numtape.core.cuda.runtime.device import device
    from numtape.core.log.op import CODES
    from numtape.core.values.spec import intern

    y = RANDOM.integers(0, 90, 3 * LONG)
    y[::3] = 70
    check_lengths(y.size)
    gpu, spec = device(), intern(y.shape, tf.int64)
    memories = [gpu.empty(y.nbytes)]
    gpu.upload(y, memories[0].address)

    def reserve(size):
        memories.append(gpu.empty(size))
        return len(memories) - 1

    row = LaunchRow(CODES.ops[0], {}, spec, [spec, spec], [0, 0, 0], reserve)
    launches, keys, place, kind = order(row, 90, y.size)
    for launch in launches:
        launch.run(gpu, [memory.address for memory in memories])
    for at, wanted in ((place, np.argsort(y, kind="stable")), (keys, np.sort(y))):
        found = np.empty(y.size, kind)
        gpu.download(memories[at].address, found)
        np.testing.assert_array_equal(found, wanted)


def slopes(x, indices, weights, axis):
    """The gradient of ``sum(gather(x, indices) * weights)`` with respect to x."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.gather(x, indices, axis=axis) * weights)
    return tf.convert_to_tensor(tape.gradient(loss, x))


def check_lengths(count):
    """So many elements take several tiles of threads, and several levels of pieces."""
    from numtape.kernels.cuda import scatter as kernels

    from numtape.core.cuda.launches import threads
    from numtape.core.cuda.ops.scatter import lengths

    assert lengths() == (kernels.ROUNDS, kernels.PIECE_BITS)
    assert count > threads() * kernels.ROUNDS
    assert count >> kernels.PIECE_BITS > 4 * kernels.PIECE


def check_scatter():
    count = 3 * LONG
    check_lengths(count)
    most = np.full(count, 3)  # nearly all indices equal
    most[::7] = RANDOM.integers(0, 90, most[::7].size)
    for indices, size, inner, dtype, kind in [
        (np.zeros(count), 1, 1, "float64", "int64"),
        (most, 90, 2, "float32", "int32"),
        (most, 90, 1, "float64", "uint8"),
        (RANDOM.integers(0, 5, count), 5, 3, "float64", "int64"),
        (RANDOM.integers(0, 100, 40), 100, 1, "float32", "int64"),
        (np.array([2]), 4, 2, "float64", "int32"),
        (most[:50], 90, 4, "float32", "int32"),
        (np.array([1] * 9 + [0]), 3, 4, "float64", "int32"),
        (RANDOM.integers(0, 2, 70), 3, 8, "float64", "int64"),
    ]:
        y = indices.astype(kind)
        for shape, axis in (((size, inner), 0), ((2, size, inner), 1)):
            x = tf.constant(RANDOM.normal(size=shape), dtype)
            weights = RANDOM.normal(size=(*shape[:axis], y.size, inner)).astype(dtype)
            wanted = np.zeros(shape, dtype)
            np.add.at(wanted, (slice(None),) * axis + (y,), weights)
            first, again = (slopes(x, y, weights, axis) for _ in range(2))
            close(first, wanted, 1e-9 if dtype == "float64" else 1e-5)
            assert first.numpy().tobytes() == again.numpy().tobytes()


def check_switch():
    """The switch takes effect in a program that was recorded before."""
    for dtype, inner in (("float64", 2), ("float32", 4)):
        check_switch_of(dtype, inner)


def check_switch_of(dtype, inner):
    from numtape.core.cuda.runtime.device import device

    y = RANDOM.integers(0, 9, LONG)
    x = tf.constant(RANDOM.normal(size=(9, inner)), dtype)
    weights = RANDOM.normal(size=(LONG, inner)).astype(dtype)
    wanted = np.zeros((9, inner), dtype)
    np.add.at(wanted, y, weights)
    step = tf.function(lambda x: slopes(x, y, weights, 0))
    experimental = tf.config.experimental
    counts = []
    for switch in (
        lambda: None,
        lambda: None,
        lambda: experimental.enable_nondeterministic_scatter(True),
        lambda: experimental.enable_nondeterministic_scatter(False),
        lambda: experimental.enable_nondeterministic_scatter(True),
        experimental.enable_op_determinism,
    ):
        switch()
        before = device().launches
        close(step(x), wanted, 1e-9 if dtype == "float64" else 1e-5)
        counts.append((experimental.nondeterministic_scatter_enabled(), device().launches - before))
    assert [allowed for allowed, _ in counts] == [False, False, True, False, True, False]
    ordered, atomic = counts[1][1], counts[2][1]
    assert atomic < ordered
    assert [count for _, count in counts[2:]] == [atomic, ordered, atomic, ordered]


def check_moves_in_many_blocks():
    """As on a GPU, each block moves its part and ends."""
    from unittest import mock

    from numtape.core.cuda.ops import permute

    everything = mock.patch.object(permute, "block_count", lambda count: count)
    with (
        everything,
        mock.patch.object(permute, "block_count", lambda count: count),
        mock.patch("numtape.core.cuda.copies.simulated", lambda: False),
    ):
        for kind, shape, perm in [
            ("float32", (67, 41), (1, 0)),
            ("float64", (2, 5, 7), (1, 0, 2)),
            ("float32", (5, 7, 16), (1, 0, 2)),
        ]:
            x = RANDOM.normal(size=shape).astype(kind)
            close(tf.transpose(x, perm), np.transpose(x, perm))
        x = RANDOM.normal(size=(13, 32)).astype("float32")
        for begin in (0, 3, 4):  # blocks for words of 16 bytes copy single elements as well
            close(tf.constant(x)[1:, begin : begin + 24], x[1:, begin : begin + 24])
        close(tf.pad(x, ((1, 2), (4, 0))), np.pad(x, ((1, 2), (4, 0))))


check_axes()
check_rows()
check_gather()
check_moves()
check_joined()
check_moves_in_many_blocks()
check_order()
check_scatter()
check_switch()
check_summed()
