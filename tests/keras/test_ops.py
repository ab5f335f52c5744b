"""`keras.ops` and `keras.random`: values, gradients, dtypes, symbolic shapes, saved models."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
import scipy.special
from processes import run

import numtape as tf
from numtape import keras
from numtape.keras import ops

pytestmark = pytest.mark.numtape_only("about numtape's own names")

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(2, 3, 4)).astype("float32")
POSITIVE, UNIT = np.abs(X) + np.float32(0.5), np.tanh(X) * np.float32(0.9)
COUNTS = np.array([[3, 0, 2], [5, 1, 4]], "int32")
NANS = np.where((X > 1) | (np.arange(12).reshape(3, 4) == 1), np.nan, X).astype("float32")
SQUARE = (X[:, :3] @ X[:, :3].T + 2 * np.eye(3)).astype("float32")
IMAGES = RNG.uniform(size=(2, 5, 6, 3)).astype("float32")

# Functions that return what NumPy's function of the same name returns, by their arguments.
AS_NUMPY = [
    (
        [X],
        "absolute abs fabs arcsinh arctan cbrt ceil copy cos cosh deg2rad rad2deg exp exp2 expm1 "
        "floor i0 isfinite isinf isnan isneginf isposinf isreal negative reciprocal sign signbit "
        "sin sinc sinh square tan tanh trunc ravel sum mean std var amax amin max min prod ptp "
        "median count_nonzero argmax argmin cumsum cumprod flip fliplr flipud diff diag diagonal "
        "trace tril triu zeros_like ones_like transpose squeeze nan_to_num argsort sort all any "
        "corrcoef rot90 round average ndim size real imag conj conjugate angle logical_not "
        "diagflat unique nonzero",
    ),
    ([POSITIVE], "log log10 log1p log2 sqrt"),
    ([UNIT], "arccos arcsin arctanh"),
    ([POSITIVE + 1], "arccosh"),
    (
        [X, Y],
        "add subtract multiply divide true_divide maximum minimum fmax fmin arctan2 hypot "
        "logaddexp logaddexp2 greater greater_equal less less_equal equal not_equal logical_and "
        "logical_or logical_xor heaviside outer inner vdot append isclose allclose kron nextafter",
    ),
    ([X, POSITIVE], "floor_divide mod fmod"),
    ([POSITIVE, Y], "power"),
    (
        [NANS],
        "nansum nanmean nanmax nanmin nanprod nanstd nanvar nanmedian nancumsum nancumprod "
        "nanargmax nanargmin",
    ),
    (
        [COUNTS, COUNTS + 4],
        "gcd lcm bitwise_and bitwise_or bitwise_xor left_shift right_shift bitwise_left_shift "
        "bitwise_right_shift isin",
    ),
    ([COUNTS], "bitwise_not bitwise_invert"),
    ([COUNTS.ravel()], "bincount vander"),
    ([X, Y.T], "matmul dot"),
    ([[X, Y]], "concatenate stack hstack vstack dstack"),
    ([5], "bartlett blackman hamming hanning arange identity"),
    ([3, 4], "eye tri"),
    ([X, [0, 2], 1], "take"),
    ([X, 2, 1], "repeat roll"),
    ([X, [2, 1]], "tile"),
    ([X, (2, 6)], "reshape"),
    ([X, (2, 3, 4)], "broadcast_to"),
    ([X, 0], "expand_dims"),
    ([X, 0, 1], "swapaxes moveaxis"),
    ([X, np.argsort(X, 1), 1], "take_along_axis"),
    ([X, -0.5, 0.5], "clip"),
    ([X, 2], "hsplit array_split argpartition"),
    ([X, [1], 0], "split"),
    ([X, [1]], "vsplit"),
    ([X[None], 2], "dsplit"),
    ([X, [0.1, 0.7]], "quantile"),
    ([X, 30.0], "percentile"),
    ([NANS, 0.5], "nanquantile"),
    ([NANS, 50.0], "nanpercentile"),
    ([X > 0, X, Y], "where"),
    ([[X > 0, Y > 0], [X, Y]], "select"),
    ([X, ((1, 2), (0, 1)), "reflect"], "pad"),
    ([0.0, 2.0, 5], "linspace logspace"),
    ([1.0, 8.0, 4], "geomspace"),
    ([(2, 3), 7.0], "full"),
    ([X, 7.0], "full_like"),
    ([np.array([1, 5]), (2, 3)], "unravel_index"),
    ([np.sort(X[0]), Y], "searchsorted"),
    ([X, np.sort(Y[0])], "digitize"),
    ([X[0], 3], "histogram"),
    ([X[0], Y[0, :2], "full"], "correlate"),
    ([X[:, :3], Y[:, :3]], "cross"),
    (["ij,kj->ik", X, Y], "einsum"),
    ([X], "trapezoid"),
    ([5, 2.0], "kaiser"),
    ([X[0], Y[1]], "meshgrid"),
]


def softmax(x):
    return scipy.special.softmax(x, -1)


def sparse_loss(target, output):
    return -np.log(output[np.arange(len(target)), target])


def conv(x, kernel):
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[0], 1)
    return np.einsum("btck,kcd->btd", windows, kernel)


def attention(q, k, v):
    scores = np.einsum("bthd,bshd->bhts", q, k) / np.sqrt(q.shape[-1])
    return np.einsum("bhts,bshd->bthd", softmax(scores), v)


SEQUENCES = RNG.normal(size=(2, 6, 3)).astype("float32")
KERNEL = RNG.normal(size=(2, 3, 4)).astype("float32")
HEADS = RNG.normal(size=(3, 2, 5, 2, 4)).astype("float32")
PROBABILITIES = softmax(X)
# Other functions: the arguments, and a function that returns the expected values.
FORMULAS = {
    "relu": ([X], lambda x: np.maximum(x, 0)),
    "relu6": ([5 * X], lambda x: np.clip(x, 0, 6)),
    "sigmoid": ([X], scipy.special.expit),
    "silu": ([X], lambda x: x * scipy.special.expit(x)),
    "softplus": ([X], lambda x: np.log1p(np.exp(x))),
    "softsign": ([X], lambda x: x / (1 + np.abs(x))),
    "log_sigmoid": ([X], lambda x: np.log(scipy.special.expit(x))),
    "leaky_relu": ([X], lambda x: np.where(x > 0, x, 0.2 * x)),
    "elu": ([X], lambda x: np.where(x > 0, x, np.expm1(x))),
    "celu": ([X, 2.0], lambda x, a: np.where(x > 0, x, a * np.expm1(x / a))),
    "selu": ([X], lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423 * np.expm1(x))),
    "gelu": ([X, False], lambda x, _: x * scipy.special.ndtr(x)),
    "glu": ([X], lambda x: x[:, :2] * scipy.special.expit(x[:, 2:])),
    "hard_sigmoid": ([5 * X], lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "hard_silu": ([5 * X], lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "hard_tanh": ([5 * X], lambda x: np.clip(x, -1, 1)),
    "hard_shrink": ([X], lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "soft_shrink": ([X], lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "tanh_shrink": ([X], lambda x: x - np.tanh(x)),
    "threshold": ([X, 0.1, 9.0], lambda x, t, d: np.where(x > t, x, d)),
    "squareplus": ([X], lambda x: (x + np.sqrt(x**2 + 4)) / 2),
    "sparse_plus": ([X], lambda x: np.where(x < -1, 0, np.where(x > 1, x, (x + 1) ** 2 / 4))),
    "sparse_sigmoid": ([X], lambda x: np.clip((x + 1) / 2, 0, 1)),
    "sparsemax": ([[1.0, 1.0, 1.5]], lambda x: np.array([1 / 6, 1 / 6, 2 / 3])),
    "softmax": ([X], softmax),
    "log_softmax": ([X], lambda x: np.log(softmax(x))),
    "logsumexp": ([X], scipy.special.logsumexp),
    "rsqrt": ([POSITIVE], lambda x: 1 / np.sqrt(x)),
    "erf": ([X], scipy.special.erf),
    "erfc": ([X], scipy.special.erfc),
    "erfinv": ([UNIT], scipy.special.erfinv),
    "divide_no_nan": ([X, Y * (Y > 0)], lambda x, y: np.where(y == 0, 0, x / np.where(y, y, 1))),
    "ldexp": ([X, [1, 2, 0, 1]], np.ldexp),
    "tensordot": ([X, Y.T, 1], lambda x, y, axes: x @ y),
    "cdist": ([X, Y], lambda x, y: np.linalg.norm(x[:, None] - y[None], axis=-1)),
    "top_k": ([X, 2], lambda x, k: (np.sort(x)[:, :-3:-1], np.argsort(x)[:, :-3:-1])),
    "in_top_k": ([[0, 1], X[:2], 4], lambda t, p, k: np.array([True, True])),
    "segment_sum": ([X, [0, 0, 1]], lambda x, i: np.stack([x[0] + x[1], x[2]])),
    "segment_prod": ([X, [0, 0, 1]], lambda x, i: np.stack([x[0] * x[1], x[2]])),
    "segment_max": ([X, [0, 0, 1]], lambda x, i: np.stack([np.maximum(x[0], x[1]), x[2]])),
    "segment_min": ([X, [0, 0, 1]], lambda x, i: np.stack([np.minimum(x[0], x[1]), x[2]])),
    "fft": ([(X, Y)], lambda x: parts(np.fft.fft(x[0] + 1j * x[1]))),
    "fft2": ([(X, Y)], lambda x: parts(np.fft.fft2(x[0] + 1j * x[1]))),
    "ifft2": ([(X, Y)], lambda x: parts(np.fft.ifft2(x[0] + 1j * x[1]))),
    "rfft": ([X], lambda x: parts(np.fft.rfft(x))),
    "irfft": ([(X, Y)], lambda x: np.fft.irfft(x[0] + 1j * x[1])),
    "extract_sequences": (
        [X, 2, 1],
        lambda x, n, s: np.stack([x[:, k : k + 2] for k in range(3)], 1),
    ),
    "view_as_complex": ([X[:, :2]], lambda x: x[:, 0] + 1j * x[:, 1]),
    "view_as_real": ([X + 1j * Y], lambda x: np.stack([x.real, x.imag], -1)),
    "polar": ([POSITIVE, X], lambda r, a: r * np.exp(1j * a)),
    "cholesky": ([SQUARE], np.linalg.cholesky),
    "cholesky_inverse": ([np.linalg.cholesky(SQUARE)], lambda x: np.linalg.inv(SQUARE)),
    "det": ([SQUARE], np.linalg.det),
    "logdet": ([SQUARE], lambda x: np.linalg.slogdet(x)[1]),
    "slogdet": ([SQUARE], np.linalg.slogdet),
    "inv": ([SQUARE], np.linalg.inv),
    "eigh": ([np.diag([1.0, 2.0, 4.0])], lambda x: (np.diag(x), np.eye(3))),
    "norm": ([X, "nuc"], np.linalg.norm),
    "solve": ([SQUARE, X], np.linalg.solve),
    "solve_triangular": ([np.triu(SQUARE), X], np.linalg.solve),
    "svd": ([X, False, False], lambda x, *_: np.linalg.svd(x, compute_uv=False)),
    "lstsq": ([X.T, Y[0]], lambda a, b: np.linalg.lstsq(a, b, None)[0]),
    "pinv": ([X], np.linalg.pinv),
    "matrix_rank": ([X], np.linalg.matrix_rank),
    "lu_factor": ([np.array([[1.0, 2.0], [4.0, 4.0]])], lambda x: ([[4, 4], [0.25, 1]], [1, 1])),
    "one_hot": ([[0, 2], 3], lambda x, n: np.eye(n)[x]),
    "multi_hot": ([[[0, 2]], 3], lambda x, n: np.array([[1, 0, 1]])),
    "binary_crossentropy": (
        [X > 0, PROBABILITIES],
        lambda t, p: -np.where(t, np.log(p), np.log(1 - p)),
    ),
    "categorical_crossentropy": ([np.eye(4)[:3], PROBABILITIES], lambda t, p: -np.log(p[t > 0])),
    "sparse_categorical_crossentropy": ([[2, 0, 1], PROBABILITIES], sparse_loss),
    "conv": ([SEQUENCES, KERNEL], conv),
    "depthwise_conv": (
        [SEQUENCES, KERNEL[..., :1]],
        lambda x, k: x[:, :-1] * k[0, :, 0] + x[:, 1:] * k[1, :, 0],
    ),
    "separable_conv": (
        [SEQUENCES, KERNEL[..., :1], KERNEL[:1]],
        lambda x, k, p: (x[:, :-1] * k[0, :, 0] + x[:, 1:] * k[1, :, 0]) @ p[0],
    ),
    "max_pool": ([SEQUENCES, 2], lambda x, n: np.maximum(x[:, ::2], x[:, 1::2])),
    "average_pool": ([SEQUENCES, 2], lambda x, n: (x[:, ::2] + x[:, 1::2]) / 2),
    "adaptive_max_pool": (
        [SEQUENCES, 2],
        lambda x, n: np.stack([x[:, :3].max(1), x[:, 3:].max(1)], 1),
    ),
    "adaptive_average_pool": (
        [SEQUENCES, 2],
        lambda x, n: np.stack([x[:, :3].mean(1), x[:, 3:].mean(1)], 1),
    ),
    "moments": ([X, [0]], lambda x, a: (x.mean(0), x.var(0))),
    "batch_normalization": (
        [X, Y[0], POSITIVE[0], -1],
        lambda x, m, v, a: (x - m) / np.sqrt(v + 1e-3),
    ),
    "layer_normalization": (
        [X],
        lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-7),
    ),
    "rms_normalization": ([X], lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-7)),
    "normalize": ([X], lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)),
    "psnr": ([X, Y, 2.0], lambda x, y, m: 10 * np.log10(m**2 / ((x - y) ** 2).mean())),
    "dot_product_attention": ([*HEADS], attention),
    "slice": ([X, (1, 1), (2, 2)], lambda x, *_: x[1:3, 1:3]),
    "slice_update": ([np.zeros(3), [1], [8.0, 9.0]], lambda *_: np.array([0, 8, 9])),
    "scatter": ([[[0], [0]], [1.0, 2.0], (3,)], lambda *_: np.array([3, 0, 0])),
    "scatter_update": ([np.ones(2), [[1], [1]], [3.0, 4.0], "mul"], lambda *_: np.array([1, 12])),
    "saturate_cast": ([[-3.0, 300.0], "uint8"], lambda *_: np.array([0, 255])),
    "cast": ([X, "int32"], lambda x, _: x.astype("int32")),
    "unstack": ([X], list),
}


def parts(x):
    return x.real, x.imag


def check(result, expected, message):
    if isinstance(result, list | tuple):
        for part, wanted in zip(result, expected, strict=True):
            check(part, wanted, message)
        return
    assert tuple(result.shape if hasattr(result, "shape") else ()) == np.shape(expected), message
    np.testing.assert_allclose(np.asarray(result), expected, 2e-5, 2e-5, err_msg=message)


@pytest.mark.parametrize("args, names", AS_NUMPY, ids=[names[:40] for _, names in AS_NUMPY])
def test_values_are_numpys(args, names):
    for name in names.split():
        check(getattr(ops, name)(*args), getattr(np, name)(*args), name)


@pytest.mark.parametrize("name", FORMULAS)
def test_values_of_formulas(name):
    args, formula = FORMULAS[name]
    arrays = [np.array(x) if isinstance(x, list) else x for x in args]
    check(getattr(ops, name)(*args), formula(*arrays), name)


def test_every_function_has_a_test():
    tested = {name for _, names in AS_NUMPY for name in names.split()} | set(FORMULAS)
    tested |= {"image", "linalg", "nn", "numpy", "swish", "hard_swish"}  # modules and other names
    assert ops.swish is ops.silu and ops.hard_swish is ops.hard_silu
    text = Path(__file__).read_text()
    for module, path in ((ops, "ops"), (ops.image, "image"), (keras.random, "random")):
        for name in module.__all__:
            assert name in tested or re.search(rf"\b{path}\.{name}\b", text), f"{path}.{name}"


def test_conversion():
    assert ops.shape(keras.Input((3,))) == (None, 3) and ops.shape(X) == (3, 4)
    assert ops.dtype(X) == ops.dtype(keras.Input((3,))) == "float32"
    assert ops.is_tensor(tf.zeros(2)) and ops.is_tensor(keras.Input((3,))) and not ops.is_tensor(X)
    assert ops.convert_to_tensor([1, 2], "float16").dtype is tf.float16
    assert type(ops.convert_to_numpy(tf.zeros(2))) is np.ndarray
    assert ops.array([1, 2], "int8").dtype is tf.int8
    assert ops.zeros((2, 3)).shape == ops.ones((2, 3)).shape == ops.empty((2, 3)).shape == (2, 3)
    assert ops.empty_like(X).shape == (3, 4)
    assert ops.view(tf.constant([1.0]), "uint8").shape == (4,)
    assert ops.get_item(X, (slice(None), 1)).shape == (3,)
    with pytest.raises(ValueError, match="symbolic"):
        ops.convert_to_numpy(keras.Input((3,)))
    with pytest.raises(ValueError, match="dense"):
        ops.convert_to_tensor(X, sparse=True)


def test_control_flow():
    check(ops.map(ops.sum, X), X.sum(1), "map")
    carry, sums = ops.scan(lambda c, x: (c + x, c + x), tf.zeros(4), tf.constant(X))
    check(carry, X.sum(0), "scan")
    check(sums, X.cumsum(0), "scan")
    check(
        ops.associative_scan(lambda a, b: a * b, X, reverse=True), np.cumprod(X[::-1], 0)[::-1], ""
    )
    check(ops.while_loop(lambda x: x < 10, lambda x: x * 3, [1])[0], 27, "while_loop")
    check(ops.fori_loop(0, 4, lambda i, x: x + i, 0), 6, "fori_loop")
    check(ops.switch(7, [lambda x: x, lambda x: -x], tf.constant(X)), -X, "switch")
    check(ops.cond(True, lambda: tf.constant(1.0), lambda: tf.constant(2.0)), 1.0, "cond")
    check(ops.vectorized_map(lambda x: x * 2, tf.constant(X)), X * 2, "vectorized_map")
    check(ops.vectorize(lambda x, y: x * y)(X, 3.0), X * 3, "vectorize")
    for name, args in (("map", (3, X)), ("while_loop", (3, 4, [1])), ("cond", (True, 1, 2))):
        with pytest.raises(TypeError, match="should be a callable"):
            getattr(ops, name)(*args)
    with pytest.raises(NotImplementedError, match="vectorized_map"):
        ops.vectorize(lambda x: x, signature="(d)->()")


def test_derivatives_of_own_functions():
    @ops.custom_gradient
    def doubled(x):
        return x * 1.0, lambda *args, upstream=None: 2 * args[0]

    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y, z = doubled(x), ops.stop_gradient(x) * x
    assert float(tape.gradient(y, x)) == 2.0 and float(tape.gradient(z, x)) == 3.0
    check(ops.jvp(lambda x: x**2, (3.0,), (1.0,)), (9.0, 6.0), "jvp")


def test_decompositions():
    values, vectors = ops.eig(SQUARE)
    check(ops.sort(ops.real(values)), np.linalg.eigvalsh(SQUARE), "eig")
    check(SQUARE @ np.array(vectors), np.array(vectors) * np.array(values), "eig")
    check(ops.matmul(*ops.qr(X)), X, "qr")
    u, s, v = ops.svd(X, full_matrices=False)
    check((u * s) @ v, X, "svd")
    with pytest.raises(ValueError, match="square"):
        ops.inv(X)


def test_sequences():
    x = RNG.normal(size=32).astype("float32")
    real, imaginary = ops.stft(x, 8, 2, 8)
    assert real.shape == (17, 5)
    check(ops.istft((real, imaginary), 8, 2, 8)[8:-8], x[8:-8], "istft")
    scores = np.log([[[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]])
    for strategy in ("greedy", "beam_search"):
        labels, _ = ops.ctc_decode(scores, [3], strategy)
        assert labels.numpy()[0, 0].tolist() == [1, 1, -1]
    loss = ops.ctc_loss([[1]], np.zeros((1, 2, 3)), [1], [2])
    check(loss, [-np.log(3 / 9)], "ctc_loss")  # three of nine paths give the label
    with pytest.raises(ValueError, match="Invalid strategy"):
        ops.ctc_decode(scores, [3], "best")


def test_windows_and_blocks():
    x = IMAGES.transpose(0, 3, 1, 2)
    windows = ops.unfold(x, 2, padding=1, stride=2)
    assert windows.shape == (2, 12, 12)
    ones = ops.fold(ops.unfold(np.ones_like(x), 2), (5, 6), 2)
    check(ones[0, 0, :2, :2], [[1, 2], [2, 4]], "fold")
    y = ops.space_to_depth(IMAGES[:, :4], 2)
    assert y.shape == (2, 2, 3, 12)
    check(ops.depth_to_space(y, 2), IMAGES[:, :4], "depth_to_space")
    check(
        ops.rearrange(X, "a (b c) -> (c a) b", b=2),
        X.reshape(3, 2, 2).transpose(2, 0, 1).reshape(6, 2),
        "",
    )
    y = ops.conv_transpose(SEQUENCES, np.swapaxes(KERNEL, 1, 2), 2)
    assert y.shape == (2, 12, 4)
    check(
        ops.conv(SEQUENCES, KERNEL, 2, dilation_rate=2),
        ops.conv(SEQUENCES, KERNEL, dilation_rate=2)[:, ::2],
        "conv",
    )


def test_images():
    image = ops.image
    check(image.rgb_to_grayscale(IMAGES), IMAGES @ np.array([[0.2989], [0.587], [0.114]]), "gray")
    check(image.hsv_to_rgb(image.rgb_to_hsv(IMAGES)), IMAGES, "hsv")
    assert image.resize(IMAGES, (3, 9), "bicubic", antialias=True).shape == (2, 3, 9, 3)
    check(image.resize(IMAGES, (10, 12), "nearest"), IMAGES.repeat(2, 1).repeat(2, 2), "resize")
    same = image.scale_and_translate(IMAGES, IMAGES.shape, [1.0], [0.0], [1], "linear")
    check(same, IMAGES, "scale_and_translate")
    identity = [1.0, 0, 0, 0, 1, 0, 0, 0]
    check(image.affine_transform(IMAGES, identity), IMAGES, "affine_transform")
    corners = np.array([[0, 0], [5, 0], [0, 4], [5, 4]], "float32")
    check(image.perspective_transform(IMAGES, corners, corners), IMAGES, "perspective_transform")
    places = RNG.uniform(0, 2, size=(2, 7))
    wanted = scipy.ndimage.map_coordinates(X, places, order=1)
    check(image.map_coordinates(X, places, 1), wanted, "map_coordinates")
    assert image.elastic_transform(IMAGES, seed=1).shape == IMAGES.shape
    check(image.gaussian_blur(np.ones((5, 5, 1)))[1:-1, 1:-1], np.ones((3, 3, 1)), "gaussian_blur")
    edges = image.sobel_edges(np.tile(np.arange(5.0), (1, 5, 1))[..., None])
    check(edges[0, 2, 2, 0], [0.0, 8.0], "sobel_edges")
    big = RNG.uniform(size=(2, 12, 13, 3))
    check(image.ssim(big, big), [1.0, 1.0], "ssim")
    patches = image.extract_patches(IMAGES[:, :4], 2)
    check(patches[0, 0, 0], IMAGES[0, :2, :2].ravel(), "extract_patches")
    assert image.extract_patches_3d(np.ones((1, 4, 4, 4, 2)), 2).shape == (1, 2, 2, 2, 16)
    padded = image.pad_images(IMAGES, 1, 2, target_height=7, target_width=9)
    check(image.crop_images(padded, 1, 2, target_height=5, target_width=6), IMAGES, "crop_images")
    with pytest.raises(ValueError, match="rank 3"):
        image.resize(X, (2, 2))


@pytest.mark.parametrize(
    "types, wanted",
    [
        (("int8", "uint8"), "int16"),
        (("int32", "float16"), "float16"),
        (("float16", "bfloat16"), "float32"),
        (("bool", int), "int32"),
        (("int8", int), "int8"),
        (("int32", float), "float32"),
        (("bfloat16", float), "bfloat16"),
        (("float32", "float64"), "float64"),
        (("float32", "complex64"), "complex64"),
    ],
)
def test_dtypes_are_promoted_as_jax_does(types, wanted):
    x, y = (t(1) if isinstance(t, type) else tf.cast([1], t) for t in types)
    assert ops.add(x, y).dtype.name == ops.subtract(y, x).dtype.name == wanted
    symbol = keras.KerasTensor((None,), types[0])
    other = y if isinstance(types[1], type) else keras.KerasTensor((None,), types[1])
    assert ops.add(symbol, other).dtype == wanted


def test_results_of_integers():
    x = tf.constant([1, 2], tf.int8)
    names = {"exp": "float32", "mean": "float32", "sum": "int32", "max": "int8", "square": "int8"}
    names |= {"argmax": "int32", "divide": "float32", "all": "bool", "cumsum": "int8"}
    for name, wanted in names.items():
        args = (x, x) if name == "divide" else (x,)
        assert getattr(ops, name)(*args).dtype.name == wanted, name


GRADIENTS = (
    "cbrt exp2 log2 logaddexp hypot sinc std nanmean median quantile diff take_along_axis pad "
    "cross kron tensordot einsum vander trapezoid correlate softmax sparsemax cdist fft istft "
    "layer_normalization normalize dot_product_attention conv average_pool solve norm clip roll"
).split()


def gradient_case(name):
    """A function of one array of floats, and the array."""
    x = X.astype("float64")
    cases = {
        "cbrt": lambda x: ops.cbrt(x * x + 1),
        "log2": lambda x: ops.log2(x * x + 1),
        "logaddexp": lambda x: ops.logaddexp(x, Y),
        "hypot": lambda x: ops.hypot(x, Y),
        "std": lambda x: ops.std(x, axis=1),
        "median": lambda x: ops.median(x, axis=1),
        "quantile": lambda x: ops.quantile(x, 0.3, axis=1),
        "take_along_axis": lambda x: ops.take_along_axis(x, [[1], [0], [2]], 1),
        "pad": lambda x: ops.pad(x, 1, mode="reflect"),
        "cross": lambda x: ops.cross(x[:, :3], Y[:, 1:]),
        "kron": lambda x: ops.kron(x, Y),
        "tensordot": lambda x: ops.tensordot(x, Y.T, 1),
        "einsum": lambda x: ops.einsum("ij,kj->ik", x, x),
        "vander": lambda x: ops.vander(x[0], 3),
        "correlate": lambda x: ops.correlate(x[0], x[1], "full"),
        "cdist": lambda x: ops.cdist(x, Y),
        "fft": lambda x: ops.fft((x, x * x))[1],
        "istft": lambda x: ops.istft(ops.stft(ops.ravel(x), 4, 2, 4), 4, 2, 4),
        "dot_product_attention": lambda x: ops.dot_product_attention(*[x[None, None]] * 3),
        "conv": lambda x: ops.conv(x[None], KERNEL[:, :1].repeat(4, 1)),
        "average_pool": lambda x: ops.average_pool(x[None], 2),
        "solve": lambda x: ops.solve(ops.matmul(x, ops.transpose(x)) + np.eye(3), x),
        "clip": lambda x: ops.clip(x, -0.5, 0.5),
        "roll": lambda x: ops.roll(x, 1),
    }
    return cases.get(name, getattr(ops, name)), x


def test_logaddexp_keeps_small_terms_and_infinities():
    x = np.array([0.0, -27.0, 90.0, -np.inf, np.inf, -np.inf, 1.0, np.nan], "float32")
    y = np.array([-27.0, 0.0, 90.0, -np.inf, 0.0, np.inf, 1.0, 0.0], "float32")
    a, b = tf.Variable(x), tf.Variable(y)
    with tf.GradientTape() as tape:
        value = ops.logaddexp(a, b)
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp(x.astype(float), y.astype(float))
    np.testing.assert_allclose(value, expected, 1e-6)
    gradients = tape.gradient(value, [a, b])
    np.testing.assert_allclose(tf.add_n(gradients)[:-1], 1.0, 1e-6)
    np.testing.assert_allclose(gradients[0].numpy()[[2, 6]], 0.5)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_finite_differences(name):
    function, x = gradient_case(name)
    weights = RNG.normal(size=np.asarray(function(tf.constant(x))).shape)

    def loss(x):
        return ops.sum(function(x) * weights)

    variable = tf.Variable(x)
    with tf.GradientTape() as tape:
        value = loss(variable)
    gradient = np.asarray(tf.convert_to_tensor(tape.gradient(value, variable)))
    direction = RNG.normal(size=x.shape)
    step = 1e-6
    up, down = (float(loss(tf.constant(x + s * step * direction))) for s in (1, -1))
    assert (up - down) / (2 * step) == pytest.approx((gradient * direction).sum(), 1e-4, 1e-6)


def symbol(*shape, dtype="float32"):
    return keras.KerasTensor(shape, dtype)


SHAPES = [
    (lambda x: ops.add(x, symbol(2, None)), (2, 3)),
    (lambda x: ops.matmul(x, symbol(3, None)), (None, None)),
    (lambda x: ops.matmul(symbol(3, None, 4, 3), symbol(None, 3, 5)), (3, None, 4, 5)),
    (lambda x: ops.concatenate([x, symbol(None, 5)], 1), (None, 8)),
    (lambda x: ops.concatenate([x, symbol(4, 3)]), (None, 3)),
    (lambda x: ops.reshape(x, (-1, 3, 1)), (None, 3, 1)),
    (lambda x: ops.mean(x, axis=0), (3,)),
    (lambda x: ops.sum(x, axis=1, keepdims=True), (None, 1)),
    (lambda x: ops.expand_dims(x, 0), (1, None, 3)),
    (lambda x: ops.split(x, [1], axis=1)[1], (None, 2)),
    (lambda x: ops.top_k(x, 2)[0], (None, 2)),
    (lambda x: ops.where(x > 0, x, 0.0), (None, 3)),
    (lambda x: ops.einsum("ij,jk->ik", x, np.ones((3, 5))), (None, 5)),
    (lambda x: ops.one_hot(symbol(None, dtype="int32"), 7), (None, 7)),
    (lambda x: ops.inv(symbol(None, 4, 4)), (None, 4, 4)),
    (lambda x: ops.solve(symbol(None, 4, 4), symbol(None, 4, 2)), (None, 4, 2)),
    (lambda x: ops.conv(symbol(None, 8, 8, 3), np.ones((3, 3, 3, 5))), (None, 6, 6, 5)),
    (lambda x: ops.max_pool(symbol(None, None, 8, 3), 2), (None, None, 4, 3)),
    (lambda x: ops.image.resize(symbol(None, None, None, 3), (8, 9)), (None, 8, 9, 3)),
    (lambda x: ops.while_loop(lambda x: True, lambda x: x, (x,))[0], (None, 3)),
    (lambda x: keras.random.dropout(x, 0.5), (None, 3)),
]


@pytest.mark.parametrize("call, shape", SHAPES)
def test_symbolic_shapes(call, shape):
    assert call(symbol(None, 3)).shape == shape


def test_symbolic_errors_name_the_shapes():
    with pytest.raises(ValueError, match="cannot be broadcast"):
        ops.add(symbol(None, 3), symbol(None, 4))
    with pytest.raises(ValueError, match="must be equal"):
        ops.matmul(symbol(None, 3), symbol(4, 5))
    with pytest.raises(ValueError, match="out of bounds"):
        ops.swapaxes(symbol(None, 3), 0, 5)


def model_of_ops():
    first, second = keras.Input((4, 3)), keras.Input((4, 3))
    x = ops.concatenate([ops.sin(first), ops.add(second, 1)], axis=-1)
    x = keras.layers.Dense(2)(ops.relu(x))
    x = ops.transpose(ops.reshape(x, newshape=(-1, 8, 1)), axes=(0, 2, 1))
    low, high = ops.split(ops.squeeze(x, axis=1), 2, axis=-1)
    x = (
        ops.where(ops.greater(low, 0), low, high)
        * ops.mean(first, axis=[1, 2], keepdims=True)[:, 0]
    )
    return keras.Model([first, second], ops.softmax(x / 2 + 1))


def test_models_of_ops_are_saved_and_loaded(tmp_path):
    model = model_of_ops()
    arrays = RNG.normal(size=(2, 5, 4, 3)).astype("float32")
    wanted = model.predict([*arrays], verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict([*arrays], verbose=0), wanted, 1e-6)
    again = keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    np.testing.assert_allclose(again.predict([*arrays], verbose=0), wanted, 1e-6)
    operations = {layer["class_name"]: layer for layer in model.get_config()["layers"]}
    assert operations["Concatenate"]["module"] == "keras.src.ops.numpy"
    assert operations["Concatenate"]["config"]["axis"] == -1
    assert operations["Relu"]["module"] == "keras.src.ops.nn"
    assert operations["Multiply"]["module"] == "keras.src.ops.numpy"


# What Keras writes for `ops.mean(ops.sin(x), axis=1)` of a functional model.
WRITTEN_BY_KERAS = """
import json
from numtape import keras
def call(*place):
    config = {"shape": [None, 3], "dtype": "float32", "keras_history": [*place, 0, 0]}
    return [{"args": [{"class_name": "__keras_tensor__", "config": config}], "kwargs": {}}]
def operation(kind, source, **options):
    config = {"name": kind.lower(), **options}
    return {"module": "keras.src.ops.numpy", "class_name": kind, "config": config,
            "registered_name": kind, "name": kind.lower(), "inbound_nodes": call(source)}
x = keras.Input((3,), name="x")
config = keras.Model(x, x + 1).get_config()
config["layers"][1:] = [operation("Sin", "x"), operation("Mean", "sin", axis=1, keepdims=False)]
config["output_layers"] = [["mean", 0, 0]]
model = keras.Model.from_config(json.loads(json.dumps(config)))
print(float(model.predict([[0.0, 1.0, 2.0]], verbose=0)[0].item()))
"""


def test_operations_of_keras_are_read_in_a_new_process():
    result = float(run(WRITTEN_BY_KERAS))
    assert result == pytest.approx(np.sin([0.0, 1.0, 2.0]).mean())


def test_models_with_functions_as_arguments_are_not_saved(tmp_path):
    x = keras.Input((3,))
    model = keras.Model(x, ops.vectorized_map(lambda row: row * 2, x))
    np.testing.assert_allclose(model.predict(X[:, :3], verbose=0), 2 * X[:, :3])
    with pytest.raises(NotImplementedError, match="cannot be serialized"):
        model.save(tmp_path / "model.keras")


def test_layers_of_ops_are_trained():
    class Scale(keras.Layer):
        def build(self, shape):
            self.w = self.add_weight((3,), initializer="ones")

        def call(self, x):
            return ops.sum(ops.multiply(x, self.w), axis=-1, keepdims=True)

    model = keras.Sequential([keras.Input((3,)), Scale()])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x = RNG.normal(size=(64, 3)).astype("float32")
    y = x @ np.array([[1.0], [-2.0], [0.5]], "float32")
    model.fit(x, y, epochs=20, verbose=0)
    np.testing.assert_allclose(np.ravel(model.get_weights()[0]), [1.0, -2.0, 0.5], atol=0.05)


def test_random_numbers_follow_their_seeds():
    random = keras.random
    draws = {
        "normal": lambda seed: random.normal((4000,), 1.0, 2.0, seed=seed),
        "uniform": lambda seed: random.uniform((4000,), 1.0, 3.0, seed=seed),
        "truncated_normal": lambda seed: random.truncated_normal((4000,), 1.0, seed=seed),
        "randint": lambda seed: random.randint((4000,), 1, 6, seed=seed),
        "gamma": lambda seed: random.gamma((4000,), 3.0, seed=seed),
        "beta": lambda seed: random.beta((4000,), 2.0, 2.0, seed=seed),
        "binomial": lambda seed: random.binomial((4000,), 5, 0.4, seed=seed),
        "categorical": lambda seed: random.categorical(np.log([[0.2, 0.8]]), 4000, seed=seed),
        "dropout": lambda seed: random.dropout(np.ones(4000), 0.3, seed=seed),
        "shuffle": lambda seed: random.shuffle(np.arange(4000), seed=seed),
    }
    means = [1, 2, 1, 3, 3, 0.5, 2, 0.8, 1, 1999.5]
    for (name, draw), mean in zip(draws.items(), means, strict=True):
        x, y = np.asarray(draw(3)), np.asarray(draw(3))
        np.testing.assert_array_equal(x, y, name)
        assert x.mean() == pytest.approx(mean, 0.07), name
        generator = random.SeedGenerator(3)
        x, y = np.asarray(draw(generator)), np.asarray(draw(generator))
        assert (x != y).any(), name
        assert (np.asarray(draw(None)) != np.asarray(draw(None))).any(), name
    with pytest.raises(ValueError, match="SeedGenerator"):
        random.normal((2,), seed="1")
    with pytest.raises(ValueError, match="floating point"):
        random.uniform((2,), dtype="int32")
    config = random.SeedGenerator(7, name="seeds").get_config()
    assert (
        random.SeedGenerator.from_config(config).get_config()
        == config
        == {"seed": 7, "name": "seeds"}
    )


def test_constants_keep_the_digits_of_float64():
    x = np.array([2.0, 3.0, 700.0])
    for name in ("cbrt", "log2", "log10", "deg2rad", "rad2deg"):
        np.testing.assert_allclose(getattr(ops, name)(x), getattr(np, name)(x), 1e-15)
    np.testing.assert_allclose(ops.logaddexp2(x, x + 0.3), np.logaddexp2(x, x + 0.3), 1e-15)
    np.testing.assert_allclose(ops.full((1,), 0.1, "float64"), 0.1, 1e-16)
    cubes = np.sum(np.abs(x) ** 3) ** (1 / 3)
    np.testing.assert_allclose(ops.normalize(x, order=3), x / cubes, 1e-15)


def test_ldexp_overflows_only_with_its_result():
    x = np.array([1e-45, 0.0, 1.0, 3e38, -1e-30, np.inf], np.float32)
    powers = np.array([276, 500, -148, -250, -40, -5], np.int32)
    np.testing.assert_array_equal(ops.ldexp(x, powers), np.ldexp(x, powers))


def test_flips_without_axes_and_gradients_of_differences():
    assert np.asarray(ops.flip([1, 2], axis=())).tolist() == [1, 2]
    assert int(ops.flip(3)) == 3
    v = tf.Variable([1.0, 2.0, 5.0])
    with tf.GradientTape() as tape:
        y = ops.sum(ops.diff(v) ** 2)
    gradient = tape.gradient(y, v)
    assert isinstance(gradient, tf.Tensor)
    np.testing.assert_array_equal(gradient, [-2.0, -4.0, 6.0])
    assert ops.diff(np.ones((2, 3)), n=5, axis=0).shape == (0, 3)
    for alias, name in [("abs", "absolute"), ("conj", "conjugate"), ("true_divide", "divide")]:
        assert getattr(ops, alias) is getattr(ops, name)
