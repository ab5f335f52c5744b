"""Runs every class of kernel once on small inputs, for compute-sanitizer, and compares with NumPy.

Prints the launched kernels; the docstring of test_cuda.py has the commands.
"""

import importlib
import pkgutil

import numpy as np

import numtape as tf
from numtape.core.cuda import launches

SIMULATED = tf.config.simulated()
LONG = 600 if SIMULATED else 100_000  # elements shared by several blocks
ROWS, COLUMNS = (3, 40) if SIMULATED else (37, 1100)  # not multiples of a block's threads
RANDOM = np.random.default_rng(0)


def close(found, wanted, limit=1e-4):
    found, wanted = found.numpy(), np.asarray(wanted)
    assert found.shape == wanted.shape
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, limit, limit)
    else:
        np.testing.assert_array_equal(found, wanted)


def normal(*shape, dtype="float32"):
    return RANDOM.normal(size=shape).astype(dtype)


def slopes(function, *arrays):
    """The results, and the gradients of their sum of squares."""
    tensors = [tf.constant(x) for x in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        result = function(*tensors)
        loss = tf.reduce_sum(result * result)
    return [result, *map(tf.convert_to_tensor, tape.gradient(loss, tensors))]


def elementwise():
    for dtype in ("float32", "float64"):
        x, row = normal(ROWS, COLUMNS, dtype=dtype), normal(COLUMNS, dtype=dtype)
        close(tf.tanh(x + row) * tf.exp(-x), np.tanh(x + row) * np.exp(-x))
    bits = RANDOM.integers(0, 256, LONG + 5).astype("uint8")
    close(tf.constant(bits) + tf.constant(bits), bits + bits)
    close(tf.cast(tf.constant(bits) > 99, tf.float64), (bits > 99).astype("float64"))


def along_axes():
    x = normal(ROWS, COLUMNS)
    long, wide = normal(LONG, dtype="float64"), normal(LONG // 2, 3, dtype="float64")
    whole = RANDOM.integers(-9, 10, (ROWS, COLUMNS)).astype("int32")
    for axis in (None, 0, 1):
        close(tf.reduce_sum(tf.constant(x) * x, axis), (x * x).sum(axis), 1e-3)
        close(tf.reduce_max(tf.constant(whole), axis), whole.max(axis))
        close(tf.reduce_mean(tf.constant(whole), axis), np.trunc(whole.mean(axis)).astype("int32"))
    close(tf.reduce_sum(tf.constant(long)), long.sum())
    close(tf.reduce_sum(tf.constant(wide), 0), wide.sum(0))
    for axis in (0, 1):
        close(tf.argmax(tf.constant(x), axis), x.argmax(axis))
        close(tf.cumsum(tf.constant(x), axis), x.cumsum(axis), 1e-3)
    close(tf.argmin(tf.constant(long)), long.argmin())
    close(tf.cumsum(tf.constant(long)), long.cumsum())


def rows():
    """Rows in registers, and longer ones."""
    for count, length in ((ROWS, COLUMNS), (2, 401 if SIMULATED else 9_001)):
        row_kernels(count, length)
    image = RANDOM.random((2, 4, 5, 3)).astype("float32")
    middle = image.mean((1, 2), keepdims=True)
    close(tf.image.adjust_contrast(image, 2.0), (image - middle) * 2 + middle)


def row_kernels(count, length):
    x = normal(count, length)
    e = np.exp(x - x.max(1, keepdims=True))
    soft = e / e.sum(1, keepdims=True)
    found, slope = slopes(tf.nn.softmax, x)
    close(found, soft)
    close(slope, 2 * soft * (soft - (soft * soft).sum(1, keepdims=True)))
    found, slope = slopes(tf.nn.log_softmax, x)
    close(found, np.log(soft))
    close(slope, 2 * (np.log(soft) - soft * np.log(soft).sum(1, keepdims=True)), 1e-2)
    layer = tf.keras.layers.LayerNormalization(center=False, scale=False, epsilon=0.1)
    found, slope = slopes(layer, x)
    centred = x - x.mean(1, keepdims=True)
    size = np.sqrt((centred * centred).mean(1, keepdims=True) + 0.1)
    close(found, centred / size, 1e-3)
    close(slope, 2 * (found - found * np.mean(found.numpy() ** 2, 1, keepdims=True)) / size, 1e-2)
    labels = RANDOM.integers(0, length, count)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits
    found, slope = slopes(lambda t: loss(labels, t), x)
    close(found, -np.log(soft[np.arange(count), labels]))
    hot = np.zeros_like(soft)
    hot[np.arange(count), labels] = 1
    close(slope, 2 * found.numpy()[:, None] * (soft - hot), 1e-3)


def by_index():
    table, at = normal(7, 5), RANDOM.integers(0, 7, LONG // 5)
    for atomic in (False, True):
        tf.config.experimental.enable_nondeterministic_scatter(atomic)
        found, slope = slopes(lambda x: tf.gather(x, at), table)
        close(found, table[at])
        close(slope, 2 * table * np.bincount(at, minlength=7)[:, None], 1e-3)
        found, slope = slopes(lambda x: tf.gather(x, at, axis=1), table.T.copy())
        close(slope, (2 * table * np.bincount(at, minlength=7)[:, None]).T, 1e-3)
    tf.config.experimental.enable_nondeterministic_scatter(False)


def moves():
    x = normal(ROWS, COLUMNS)
    close(tf.transpose(tf.constant(x)), x.T)
    tall = normal(COLUMNS + 30, COLUMNS)  # whole and partial tiles
    close(tf.transpose(tf.constant(tall)), tall.T)
    cube = normal(3, 5, 7)
    close(tf.transpose(tf.constant(cube), (2, 0, 1)), cube.transpose(2, 0, 1))
    close(tf.concat([tf.constant(x), x * 2], 1), np.concatenate([x, x * 2], 1))
    close(tf.roll(tf.constant(x), [1, -2], [0, 1]), np.roll(x, [1, -2], [0, 1]))
    close(tf.pad(tf.constant(x), [[1, 2], [0, 3]]), np.pad(x, [[1, 2], [0, 3]]))
    close(tf.tile(tf.constant(cube), (2, 1, 3)), np.tile(cube, (2, 1, 3)))
    close(tf.constant(x)[::2, 1:-1], x[::2, 1:-1])
    close(tf.reverse(tf.constant(x), [1]), x[:, ::-1])


def products():
    for dtype in ("float32", "float64", "int32"):
        a, b = ((9 * normal(*shape)).astype(dtype) for shape in ((3, 17, 9), (3, 9, 11)))
        close(tf.matmul(tf.constant(a), tf.constant(b)), a @ b)
        close(tf.matmul(tf.constant(a[0]), tf.constant(a[0]), transpose_b=True), a[0] @ a[0].T)


def draws():
    tf.random.set_seed(7)
    for dtype in (tf.float32, tf.float64):
        x = tf.random.uniform((LONG // 10,), dtype=dtype).numpy()
        y = tf.random.normal((LONG // 10,), dtype=dtype).numpy()
        assert (x >= 0).all() and (x < 1).all() and abs(x.mean() - 0.5) < 0.2
        assert np.isfinite(y).all() and abs(y.mean()) < 0.5


def windows():
    """Convolutions and pooling with gradients, compared with NumPy on the host."""
    x, w = normal(1, 4, 3, 4), normal(2, 3, 2, 4)

    def network(x, w):
        y = tf.nn.conv2d(x, w, [2, 1], "SAME")
        return tf.nn.avg_pool(y, 2, 1, "SAME") + tf.nn.max_pool(y, 2, 1, "SAME")

    def run():
        y = tf.nn.max_pool_with_argmax(x, 2, 2, "SAME").argmax
        with tf.GradientTape() as tape:
            z = tf.constant(x)
            tape.watch(z)
            found = slopes(lambda a: tf.nn.max_pool(a * a, 2, 2, "SAME"), z)
            along = found[1] * x
        return [*slopes(network, x, w), y, *found, tape.gradient(along, z)]

    found = [z.numpy() for z in run()]
    with tf.config.override("reference"):
        wanted = [z.numpy() for z in run()]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-4)


def replays():
    w = tf.Variable(normal(9, 4))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    x = tf.constant(normal(5, 9))
    losses = [float(step(x)) for _ in range(5)]
    assert losses == sorted(losses, reverse=True)


def untouched():
    """Kernels of `numtape.kernels.cuda` that this script did not launch."""
    package = importlib.import_module("numtape.kernels.cuda")
    names = set()
    for module in pkgutil.iter_modules(package.__path__):
        found = importlib.import_module(f"{package.__name__}.{module.name}")
        names |= {f"{module.name}_{name}" for name in getattr(found, "KERNELS", ())}
    # A symbol is a kernel's name followed by dtypes; the longest matching name is the kernel.
    asked = {
        max((name for name in names if symbol.startswith(name)), key=len, default="")
        for symbol, *_ in launches._kernels
    }
    return sorted(names - asked)


if __name__ == "__main__":
    for check in (
        elementwise,
        along_axes,
        rows,
        by_index,
        moves,
        products,
        windows,
        draws,
        replays,
    ):
        check()
        print(check.__name__, "ok", flush=True)
    print(len(launches._kernels), "kernels, without", untouched() or "none")
