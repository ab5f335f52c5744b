"""`tf.image`: values and gradients of TensorFlow 2.21, which are stored here; errors; files."""

import io

import numpy as np
import pytest

import numtape as tf

pytest.importorskip("PIL")

X = (np.arange(24) * 37 % 23 / 23).astype(np.float32).reshape(1, 2, 4, 3)
G = X[..., :1]
U = (X * 255).astype(np.uint8)
BIG = (np.arange(2 * 9 * 8 * 1) * 29 % 71 / 71).astype(np.float32).reshape(2, 9, 8, 1)
BOXES = np.array(
    [[0.1, 0.1, 0.9, 0.8], [0.5, 0.2, 1.2, 0.9], [0.1, 0.15, 0.9, 0.8], [0.0, 0.6, 0.3, 0.2]],
    np.float32,
)
SCORES = np.array([0.5, 0.9, 0.6, 0.3], np.float32)
MAXIMA = (tf.constant(BOXES), tf.constant(SCORES))
BOTH = np.stack([SCORES, 1 - SCORES], -1)[None]

# Computed with TensorFlow: dtype, shape and elements of each result.
VALUES = {
    "tf.image.resize(G, (3, 3))": (
        "float32",
        (1, 3, 3, 1),
        "0.13768 0.73913 0.50725 0.20652 0.6413 0.65942 0.27536 0.54348 0.81159",
    ),
    'tf.image.resize(G, (3, 3), "nearest")': (
        "float32",
        (1, 3, 3, 1),
        "0 0.65217 0.47826 0.30435 0.95652 0.78261 0.30435 0.95652 0.78261",
    ),
    'tf.image.resize(G, (3, 3), "bicubic")': (
        "float32",
        (1, 3, 3, 1),
        "0.08432 0.81864 0.47541 0.18579 0.67255 0.65385 0.28726 0.52647 0.83229",
    ),
    'tf.image.resize(G, (3, 3), "area")': (
        "float32",
        (1, 3, 3, 1),
        "0.20652 0.73913 0.52174 0.2337 0.6413 0.67391 0.26087 0.54348 0.82609",
    ),
    'tf.image.resize(G, (3, 3), "lanczos3")': (
        "float32",
        (1, 3, 3, 1),
        "0.08569 0.92401 0.44746 0.17863 0.71273 0.66201 0.27156 0.50145 0.87655",
    ),
    'tf.image.resize(G, (1, 3), "lanczos5", antialias=True)': (
        "float32",
        (1, 1, 3, 1),
        "0.18851 0.67801 0.69922",
    ),
    'tf.image.resize(G, (3, 3), "gaussian")': (
        "float32",
        (1, 3, 3, 1),
        "0.17855 0.72642 0.53431 0.2202 0.6413 0.66671 0.26185 0.55619 0.79912",
    ),
    'tf.image.resize(G, (3, 2), "mitchellcubic", antialias=True)': (
        "float32",
        (1, 3, 2, 1),
        "0.44728 0.60852 0.38081 0.69068 0.31434 0.77285",
    ),
    "tf.image.resize(G, (4, 4), preserve_aspect_ratio=True)": (
        "float32",
        (1, 2, 4, 1),
        "0 0.82609 0.65217 0.47826 0.30435 0.13043 0.95652 0.78261",
    ),
    "tf.image.resize_with_pad(G, 3, 3)": (
        "float32",
        (1, 3, 3, 1),
        "0.20652 0.6413 0.65942 0 0 0 0 0 0",
    ),
    "tf.image.resize_with_crop_or_pad(G, 3, 3)": (
        "float32",
        (1, 3, 3, 1),
        "0 0.82609 0.65217 0.30435 0.13043 0.95652 0 0 0",
    ),
    "tf.image.crop_and_resize(G, BOXES[1:3], [0, 0], (2, 2), extrapolation_value=5.0)": (
        "float32",
        (2, 2, 2, 1),
        "0.34783 0.68261 5 5 0.35717 0.61304 0.24065 0.85652",
    ),
    'tf.image.crop_and_resize(G, [[0.0, 0.2, 1.0, 0.9]], [0], (2, 3), "nearest")': (
        "float32",
        (1, 2, 3, 1),
        "0.82609 0.65217 0.47826 0.13043 0.95652 0.78261",
    ),
    'tf.image.extract_glimpse(G, (3, 2), [[0.5, -0.5]], noise="zero")': (
        "float32",
        (1, 3, 2, 1),
        "0 0.82609 0.30435 0.13043 0 0",
    ),
    'tf.image.extract_glimpse(G, (1, 2), [[1.0, -1.0]], True, False, "zero")': (
        "float32",
        (1, 1, 2, 1),
        "0 0",
    ),
    "tf.image.rot90(G)": (
        "float32",
        (1, 4, 2, 1),
        "0.47826 0.78261 0.65217 0.95652 0.82609 0.13043 0 0.30435",
    ),
    "tf.image.rot90(G, 3)": (
        "float32",
        (1, 4, 2, 1),
        "0.30435 0 0.13043 0.82609 0.95652 0.65217 0.78261 0.47826",
    ),
    "tf.image.transpose(G)": (
        "float32",
        (1, 4, 2, 1),
        "0 0.30435 0.82609 0.13043 0.65217 0.95652 0.47826 0.78261",
    ),
    "tf.image.convert_image_dtype(U, tf.float32)": (
        "float32",
        (1, 2, 4, 3),
        "0 0.60784 0.21569 0.82353 0.43137 0.04314 0.65098 0.25882 0.86667 0.47451 0.08627 "
        "0.69412 0.30196 0.9098 0.52157 0.12941 0.73725 0.3451 0.95294 0.56471 0.17255 0.78039 "
        "0.38824 0",
    ),
    "tf.image.convert_image_dtype(G * 1.5, tf.uint8, saturate=True)": (
        "uint8",
        (1, 2, 4, 1),
        "0 255 249 183 116 49 255 255",
    ),
    "tf.image.convert_image_dtype(U, tf.uint16)": (
        "uint16",
        (1, 2, 4, 3),
        "0 39680 14080 53760 28160 2816 42496 16896 56576 30976 5632 45312 19712 59392 34048 "
        "8448 48128 22528 62208 36864 11264 50944 25344 0",
    ),
    "tf.image.rgb_to_hsv(X)": (
        "float32",
        (1, 2, 4, 3),
        "0.39286 1 0.6087 0.08333 0.94737 0.82609 0.77381 0.7 0.86957 0.77381 0.875 0.69565 "
        "0.39286 0.66667 0.91304 0.39286 0.82353 0.73913 0.08333 0.81818 0.95652 0.08333 1 "
        "0.78261",
    ),
    "tf.image.hsv_to_rgb(X)": (
        "float32",
        (1, 2, 4, 3),
        "0.21739 0.08507 0.08507 0.04266 0.02457 0.04348 0.64272 0.66245 0.86957 0.63516 "
        "0.69565 0.68776 0.12822 0.52174 0.04537 0.34783 0.29194 0.09074 0.17391 0.07561 "
        "0.10126 0 0 0",
    ),
    "tf.image.rgb_to_yiq(X)": (
        "float32",
        (1, 2, 4, 3),
        "0.38209 -0.23698 -0.25054 0.50717 0.35892 -0.03903 0.44726 0.03758 0.27218 0.27335 "
        "0.03758 0.27218 0.68643 -0.23698 -0.25055 0.51252 -0.23698 -0.25054 0.63761 0.35892 "
        "-0.03903 0.4637 0.35892 -0.03903",
    ),
    "tf.image.yiq_to_rgb(X)": (
        "float32",
        (1, 2, 4, 3),
        "0.71687 -0.30627 -0.30318 1.2687 0.67968 0.41899 1.4414 0.01843 1.8454 0.99327 0.00438 "
        "1.5676 1.5011 -0.28168 0.18301 1.053 -0.29573 -0.09481 1.6048 0.69022 0.62736 1.1567 "
        "0.67617 0.34954",
    ),
    "tf.image.rgb_to_yuv(X)": (
        "float32",
        (1, 2, 4, 3),
        "0.38209 -0.08105 -0.3352 0.50717 -0.22819 0.27978 0.44726 0.20782 0.17977 0.27335 "
        "0.20782 0.17977 0.68643 -0.08105 -0.3352 0.51252 -0.08105 -0.3352 0.63761 -0.22819 "
        "0.27978 0.4637 -0.22819 0.27978",
    ),
    "tf.image.yuv_to_rgb(X)": (
        "float32",
        (1, 2, 4, 3),
        "0.2478 -0.36644 1.2369 0.87565 0.62926 1.7096 1.6434 0.04434 1.1823 1.2712 0.04003 "
        "0.65496 0.89907 -0.35891 2.1597 0.52692 -0.36321 1.6324 1.1548 0.63249 2.1051 0.78261 "
        "0.62818 1.5778",
    ),
    "tf.image.rgb_to_grayscale(U)": ("uint8", (1, 2, 4, 1), "97 128 113 69 174 130 162 117"),
    "tf.image.adjust_brightness(U, 0.25)": (
        "uint8",
        (1, 2, 4, 3),
        "63 219 118 255 174 74 230 130 255 185 85 241 141 255 197 96 252 152 255 208 107 255 "
        "163 63",
    ),
    "tf.image.adjust_contrast(U, 1.5)": (
        "uint8",
        (1, 2, 4, 3),
        "0 169 37 249 101 0 183 35 255 116 0 220 50 255 154 0 218 86 255 152 20 233 85 0",
    ),
    "tf.image.adjust_gamma(X, 0.5, 2.0)": (
        "float32",
        (1, 2, 4, 3),
        "0 1.5604 0.9325 1.8178 1.3188 0.41703 1.6152 1.0215 1.865 1.3831 0.58977 1.6681 1.1034 "
        "1.9111 1.4446 0.72232 1.7194 1.1795 1.956 1.5036 0.83406 1.7693 1.2511 0",
    ),
    "tf.image.adjust_hue(X, 0.3)": (
        "float32",
        (1, 2, 4, 3),
        "0.09565 0 0.6087 0.04348 0.82609 0.27826 0.86957 0.53043 0.26087 0.69565 0.35652 "
        "0.08696 0.4 0.30435 0.91304 0.22609 0.13043 0.73913 0.17391 0.95652 0.4087 0 0.78261 "
        "0.23478",
    ),
    "tf.image.adjust_saturation(X, 1.5)": (
        "float32",
        (1, 2, 4, 3),
        "0 0.6087 0.21739 0.82609 0.41304 0 0.55901 0 0.86957 0.44721 0 0.69565 0 0.91304 "
        "0.32609 0 0.73913 0.26398 0.95652 0.47826 0 0.78261 0.3913 0",
    ),
    "tf.image.per_image_standardization(G)": (
        "float32",
        (1, 2, 4, 1),
        "-1.4603 0.8762 0.3843 -0.1076 -0.5995 -1.0914 1.2451 0.75322",
    ),
    "tf.image.image_gradients(tf.constant(G))": [
        ("float32", (1, 2, 4, 1), "0.30435 -0.69565 0.30435 0.30435 0 0 0 0"),
        ("float32", (1, 2, 4, 1), "0.82609 -0.17391 -0.17391 0 -0.17391 0.82609 -0.17391 0"),
    ],
    "tf.image.sobel_edges(tf.constant(G))": (
        "float32",
        (1, 2, 4, 1, 2),
        "0 0 0 2.6087 -0 0.6087 0 0 0 0 0 2.6087 0 0.6087 -0 0",
    ),
    "tf.image.total_variation(tf.constant(X))": ("float32", (1,), "9.913"),
    "tf.image.psnr(X, X * 0.9, 1.0)": ("float32", (1,), "25.245"),
    "tf.image.ssim(BIG, BIG * 0.8, 1.0, filter_size=5)": ("float32", (2,), "0.95198 0.95198"),
    "tf.image.ssim(BIG, BIG * 0.8, 1.0, filter_size=7, return_index_map=True)": (
        "float32",
        (2, 3, 2),
        "0.95198 0.95198 0.95197 0.95198 0.95198 0.95197 0.95198 0.95198 0.95198 0.95198 "
        "0.95197 0.95198",
    ),
    "tf.image.ssim_multiscale(BIG, BIG * 0.8, 1.0, (0.3, 0.7), filter_size=3)": (
        "float32",
        (2,),
        "0.96055 0.95972",
    ),
    "tf.image.non_max_suppression(BOXES, SCORES, 3, 0.4)": ("int32", (3,), "1 2 3"),
    "tf.image.non_max_suppression(BOXES, SCORES, 4, 0.4, 0.4)": ("int32", (2,), "1 2"),
    "tf.image.non_max_suppression_with_scores(BOXES, SCORES, 4, 0.9, 0.1, 0.5)": [
        ("int32", (4,), "1 2 3 0"),
        ("float32", (4,), "0.9 0.54445 0.29394 0.18996"),
    ],
    "tf.image.non_max_suppression_padded(*MAXIMA, 4, 0.4, pad_to_max_output_size=True)": [
        ("int32", (4,), "1 2 3 0"),
        ("int32", (), "3"),
    ],
    "tf.image.non_max_suppression_overlaps([[1.0, 0.7], [0.7, 1.0]], [0.4, 0.5], 2, 0.6)": (
        "int32",
        (1,),
        "1",
    ),
    "tf.image.combined_non_max_suppression(BOXES[None, :, None], BOTH, 2, 3, 0.4, 0.2)": [
        ("float32", (1, 3, 4), "0.5 0.2 1 0.9 0 0.6 0.3 0.2 0.1 0.15 0.9 0.8"),
        ("float32", (1, 3), "0.9 0.7 0.6"),
        ("float32", (1, 3), "0 1 0"),
        ("int32", (1,), "3"),
    ],
    "tf.image.draw_bounding_boxes(X, [[[0.0, 0.3, 0.4, 0.9]]], None)": (
        "float32",
        (1, 2, 4, 3),
        "1 1 0 1 1 0 1 1 0 0.47826 0.08696 0.69565 0.30435 0.91304 0.52174 0.13043 0.73913 "
        "0.34783 0.95652 0.56522 0.17391 0.78261 0.3913 0",
    ),
    "tf.image.stateless_random_brightness(G, 0.3, (1, 2))": (
        "float32",
        (1, 2, 4, 1),
        "0.20644 1.0325 0.85861 0.6847 0.51078 0.33687 1.163 0.98904",
    ),
    "tf.image.stateless_random_contrast(G, 0.3, 0.9, (1, 2))": (
        "float32",
        (1, 2, 4, 1),
        "0.09994 0.76612 0.62587 0.48562 0.34537 0.20513 0.87131 0.73106",
    ),
    "tf.image.stateless_random_hue(X, 0.3, (1, 2))": (
        "float32",
        (1, 2, 4, 3),
        "0 0.24606 0.6087 0.24804 0.82609 0.04348 0.86957 0.26087 0.33302 0.69565 0.08696 "
        "0.1591 0.30435 0.55041 0.91304 0.13043 0.37649 0.73913 0.37847 0.95652 0.17391 0.20456 "
        "0.78261 0",
    ),
    "tf.image.stateless_random_saturation(X, 0.3, 0.9, (1, 2))": (
        "float32",
        (1, 2, 4, 3),
        "0.11782 0.6087 0.29313 0.82609 0.51052 0.19496 0.69425 0.37869 0.86957 0.52034 0.20478 "
        "0.69565 0.42217 0.91304 0.59748 0.24826 0.73913 0.42357 0.95652 0.64096 0.3254 0.78261 "
        "0.46705 0.15148",
    ),
    "tf.image.stateless_random_flip_left_right(G, (1, 2))": (
        "float32",
        (1, 2, 4, 1),
        "0.47826 0.65217 0.82609 0 0.78261 0.95652 0.13043 0.30435",
    ),
    "tf.image.stateless_random_flip_up_down(G[0], (2, 3))": (
        "float32",
        (2, 4, 1),
        "0.30435 0.13043 0.95652 0.78261 0 0.82609 0.65217 0.47826",
    ),
    "tf.image.stateless_random_crop(X[0], (1, 2, 3), (5, 6))": (
        "float32",
        (1, 2, 3),
        "0 0.6087 0.21739 0.82609 0.43478 0.04348",
    ),
}

GRADIENTS = {
    'lambda x: tf.image.resize(x, (3, 3), "bicubic")': (
        "float32",
        (1, 2, 4, 3),
        "3.6828 4.918 6.1531 5.6894 6.7043 7.7191 6.9136 7.9284 8.9432 11.656 12.891 14.127 "
        "20.458 21.693 22.928 19.472 20.487 21.502 20.696 21.711 22.726 28.431 29.667 30.902",
    ),
    "lambda x: tf.image.crop_and_resize(x, [[0.0, 0.2, 0.9, 0.9]], [0], (2, 2))": (
        "float32",
        (1, 2, 4, 3),
        "0.68 1.12 1.56 1.02 1.68 2.34 1.5 1.83 2.16 3.5 4.27 5.04 2.52 2.88 3.24 3.78 4.32 "
        "4.86 2.7 2.97 3.24 6.3 6.93 7.56",
    ),
    "lambda x: tf.image.rgb_to_hsv(x * 0.8 + 0.1)": (
        "float32",
        (1, 2, 4, 3),
        "-2.9019 2.7666 0.27381 5.3053 0.85185 -5.6831 1.9167 -8.7282 9.0886 2.7381 -14.382 "
        "11.302 -15.775 16.307 3.5595 -22.489 18.651 4.381 19.888 4.0463 -20.516 20.348 4.6852 "
        "-27.684",
    ),
    "lambda x: tf.image.adjust_gamma(x + 0.1, 0.5)": (
        "float32",
        (1, 2, 4, 3),
        "1.5811 1.1879 2.6625 2.0783 3.4186 7.9201 4.0356 6.6586 4.5701 6.5752 12.72 6.7265 "
        "10.222 6.9548 9.5117 16.665 9.2791 13.449 9.2424 12.261 20.062 11.709 16.407 37.947",
    ),
    "lambda x: tf.image.psnr(x, X * 0.9, 1.0)": (
        "float32",
        (1, 2, 4, 3),
        "-0 -7.3698 -2.6321 -10.002 -5.2642 -0.52642 -7.8963 -3.1585 -10.528 -5.7906 -1.0528 "
        "-8.4227 -3.6849 -11.055 -6.317 -1.5793 -8.9491 -4.2113 -11.581 -6.8434 -2.1057 -9.4755 "
        "-4.7378 -0",
    ),
    "lambda x: tf.image.per_image_standardization(x)": (
        "float32",
        (1, 2, 4, 3),
        "-36.058 -36.055 -30.545 -30.542 -25.032 -19.523 -19.52 -14.01 -14.007 -8.4971 -2.9872 "
        "-2.9844 2.5255 2.5283 8.0382 13.548 13.551 19.061 19.064 24.574 30.083 30.086 35.596 "
        "41.106",
    ),
}


def check(result, expected, places=4):
    if isinstance(expected, list):
        assert len(result) == len(expected)
        for part, row in zip(result, expected, strict=True):
            check(part, row, places)
        return
    dtype, shape, text = expected
    values = [float(x) for x in text.split()]
    assert (result.dtype.name, tuple(result.shape)) == (dtype, shape)
    np.testing.assert_allclose(
        np.asarray(result, np.float64).ravel(), values, atol=10**-places, rtol=10**-places
    )


@pytest.mark.parametrize("expression", VALUES)
def test_values(expression):
    check(eval(expression), VALUES[expression])


@pytest.mark.parametrize("expression", GRADIENTS)
def test_gradients(expression):
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = eval(expression)(x)
        loss = tf.reduce_sum(y * tf.reshape(tf.cast(tf.range(tf.size(y)), y.dtype) + 1, y.shape))
    check(tape.gradient(loss, x), GRADIENTS[expression], 3)


def test_a_gradient_of_the_boxes():
    boxes = tf.constant([[0.1, 0.2, 0.8, 0.7]])

    def crop(b):
        return tf.reduce_sum(tf.image.crop_and_resize(BIG, b, [1], (2, 3)) ** 2)

    with tf.GradientTape() as tape:
        tape.watch(boxes)
        loss = crop(boxes)
    gradient = tape.gradient(loss, boxes).numpy()
    for k in range(4):
        step = np.eye(4, dtype=np.float32)[k] * 1e-3
        slope = (crop(boxes + step) - crop(boxes - step)) / 2e-3
        np.testing.assert_allclose(gradient[0, k], slope, rtol=0.05, atol=0.02)


ERRORS = [
    ("tf.image.resize(X, (3, 3), 'no')", ValueError, "not implemented"),
    ("tf.image.resize(X[0, 0], (3, 3))", ValueError, "3 or 4 dimensions"),
    ("tf.image.resize_with_pad(X, 0, 3)", ValueError, "target_height must be > 0"),
    ("tf.image.resize_with_crop_or_pad(X, 3, 0)", ValueError, "target_width must be > 0"),
    (
        "tf.image.crop_and_resize(X, BOXES, [0, 0, 0, 1], (2, 2)).numpy()",
        tf.errors.InvalidArgumentError,
        "ind",
    ),
    ("tf.image.convert_image_dtype(X, tf.bool)", AttributeError, "floating point or integer"),
    ("tf.image.rgb_to_hsv(G)", tf.errors.InvalidArgumentError, "3 channels"),
    ("tf.image.adjust_gamma(X, -1.0)", ValueError, "non-negative"),
    ("tf.image.random_contrast(X, 0.9, 0.3)", ValueError, "upper must be > lower"),
    ("tf.image.random_hue(X, 0.9)", ValueError, "max_delta must be <= 0.5"),
    ("tf.image.random_brightness(X, -0.1)", ValueError, "must be non-negative"),
    ("tf.image.random_crop(X, (9, 9, 9, 9))", tf.errors.InvalidArgumentError, "Need value.shape"),
    ("tf.image.random_jpeg_quality(X, 80, 50)", ValueError, "must be less than"),
    ("tf.image.ssim(X, X, 1.0)", tf.errors.InvalidArgumentError, "window of 11"),
    ("tf.image.psnr(X, X[:, :, :2], 1.0)", tf.errors.InvalidArgumentError, "shapes"),
    ("tf.image.image_gradients(X[0])", ValueError, "4D"),
    ("tf.image.non_max_suppression(BOXES, SCORES, 2, 1.5)", tf.errors.InvalidArgumentError, "iou"),
    (
        "tf.image.non_max_suppression(BOXES, SCORES[:2], 2)",
        tf.errors.InvalidArgumentError,
        "scores",
    ),
    ("tf.image.draw_bounding_boxes(X[0], BOXES, None)", tf.errors.InvalidArgumentError, "4-D"),
    ("tf.image.extract_glimpse(X, (1, 1), [[0.0]])", tf.errors.InvalidArgumentError, "offsets"),
    (
        "tf.image.sample_distorted_bounding_box([4, 4, 3], np.zeros((1, 0, 4)))",
        tf.errors.InvalidArgumentError,
        "use_image_if_no_bounding_boxes",
    ),
    ("tf.io.decode_png(b'no image')", tf.errors.InvalidArgumentError, "unknown format"),
    ("tf.io.decode_jpeg(JPEG, channels=4)", tf.errors.InvalidArgumentError, "channels"),
    ("tf.io.decode_png(PNG[:40])", tf.errors.InvalidArgumentError, "Invalid image data"),
    ("tf.io.encode_png(X[0])", TypeError, "uint8"),
    ("tf.io.encode_jpeg(U)", tf.errors.InvalidArgumentError, "channels"),
]
SMOOTH = np.repeat(np.add.outer(np.arange(16) * 7, np.arange(8) * 9)[..., None], 3, -1)
SMOOTH = SMOOTH.astype(np.uint8)
JPEG = tf.io.encode_jpeg(SMOOTH).numpy()
PNG = tf.io.encode_png(U[0]).numpy()


@pytest.mark.parametrize("expression, kind, message", ERRORS)
def test_errors(expression, kind, message):
    with pytest.raises(kind, match=message):
        eval(expression)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_keeps_pixels(channels):
    pixels = (np.arange(6 * channels) * 11 % 256).astype(np.uint8).reshape(2, 3, channels)
    contents = tf.io.encode_png(pixels, compression=3)
    np.testing.assert_array_equal(tf.io.decode_png(contents), pixels)
    wide = tf.io.decode_png(contents, dtype=tf.uint16)
    np.testing.assert_array_equal(wide, pixels.astype(np.uint16) * 257)
    if channels == 1:
        colours = tf.io.decode_image(contents, channels=3, dtype=tf.float32)
        np.testing.assert_allclose(colours, np.repeat(pixels, 3, -1) / 255, rtol=1e-6)


def test_png_of_16_bits():
    pixels = np.array([[[0], [300], [65535]]], np.uint16)
    contents = tf.io.encode_png(pixels)
    np.testing.assert_array_equal(tf.io.decode_png(contents, dtype=tf.uint16), pixels)
    np.testing.assert_array_equal(tf.io.decode_png(contents), pixels >> 8)


def test_jpeg():
    image = tf.io.decode_jpeg(JPEG)
    assert np.abs(image.numpy().astype(int) - SMOOTH).max() <= 8
    assert tf.io.extract_jpeg_shape(JPEG).numpy().tolist() == [16, 8, 3]
    assert tf.io.is_jpeg(JPEG) and not tf.io.is_jpeg(PNG)
    np.testing.assert_array_equal(
        tf.io.decode_and_crop_jpeg(JPEG, [2, 1, 5, 4]), image.numpy()[2:7, 1:5]
    )
    assert tf.io.decode_jpeg(JPEG, ratio=2).shape == (8, 4, 3)
    assert tf.io.decode_jpeg(JPEG, channels=1).shape == (16, 8, 1)
    worse = tf.image.adjust_jpeg_quality(SMOOTH / np.float32(255), 10).numpy()
    assert 0 < np.abs(worse - SMOOTH / 255).mean() < 0.1
    quality = tf.image.stateless_random_jpeg_quality(SMOOTH, 10, 90, (1, 2))
    assert (quality.dtype, quality.shape) == (tf.uint8, (16, 8, 3))


def test_gif_and_bmp():
    from PIL import Image

    colours = [Image.new("RGB", (3, 2), color) for color in ((255, 0, 0), (0, 0, 255))]
    file = io.BytesIO()
    colours[0].save(file, "GIF", save_all=True, append_images=colours[1:])
    frames = tf.io.decode_gif(file.getvalue())
    assert frames.numpy()[:, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255]]
    assert tf.io.decode_image(file.getvalue(), expand_animations=False).shape == (2, 3, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 frames"):
        tf.io.decode_png(file.getvalue())
    file = io.BytesIO()
    colours[0].save(file, "BMP")
    np.testing.assert_array_equal(tf.io.decode_bmp(file.getvalue()), frames.numpy()[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="decode_bmp"):
        tf.io.decode_jpeg(file.getvalue())
    file = io.BytesIO()
    colours[0].save(file, "WEBP", lossless=True)
    np.testing.assert_array_equal(tf.image.decode_webp(file.getvalue()), frames.numpy()[0])
    with pytest.raises(TypeError, match="uint8"):
        tf.image.decode_webp(file.getvalue(), dtype=tf.float32)


def test_random_functions_follow_the_seed():
    functions = [
        lambda: tf.image.random_brightness(G, 0.3),
        lambda: tf.image.random_contrast(G, 0.3, 0.9),
        lambda: tf.image.random_hue(X, 0.3),
        lambda: tf.image.random_saturation(X, 0.3, 0.9),
        lambda: tf.image.random_flip_left_right(G),
        lambda: tf.image.random_flip_up_down(G),
        lambda: tf.image.random_crop(X, (1, 1, 2, 3)),
        lambda: tf.image.sample_distorted_bounding_box([8, 8, 3], BOXES[None, :1])[0],
    ]
    draws = []
    for _ in range(2):
        tf.random.set_seed(5)
        draws.append([f().numpy() for f in functions])
    for first, second in zip(*draws, strict=True):
        np.testing.assert_array_equal(first, second)


def test_distorted_boxes_keep_what_is_asked_for():
    for seed in range(20):
        begin, size, boxes = tf.image.stateless_sample_distorted_bounding_box(
            [40, 60, 3],
            [[[0.2, 0.3, 0.6, 0.7]]],
            (seed, 1),
            min_object_covered=0.5,
            aspect_ratio_range=(0.5, 2.0),
            area_range=(0.2, 0.8),
        )
        top, left = begin.numpy()[:2]
        height, width = size.numpy()[:2]
        np.testing.assert_allclose(
            boxes[0, 0], [top / 40, left / 60, (top + height) / 40, (left + width) / 60], rtol=1e-6
        )
        assert 0.2 <= height * width / 2400 <= 0.8
        assert 0.45 < width / height < 2.2
        rows = max(0, min(top + height, 24) - max(top, 8))
        columns = max(0, min(left + width, 42) - max(left, 18))
        assert rows * columns >= 0.5 * 16 * 24


def test_a_recorded_function_draws_again():
    @tf.function
    def augment(image, seed):
        image = tf.image.stateless_random_crop(image, (1, 2, 3, 3), seed)
        image = tf.image.stateless_random_flip_left_right(image, seed)
        image = tf.image.stateless_random_hue(image, 0.3, seed)
        return tf.image.resize(image, (2, 2))

    results = []
    for k in (1, 2, 1):
        seed = tf.constant([k, 7])
        results.append(augment(X, seed).numpy())
        crop = tf.image.stateless_random_crop(X, (1, 2, 3, 3), seed)
        flipped = tf.image.stateless_random_flip_left_right(crop, seed)
        turned = tf.image.stateless_random_hue(flipped, 0.3, seed)
        np.testing.assert_allclose(results[-1], tf.image.resize(turned, (2, 2)), rtol=1e-6)
    np.testing.assert_array_equal(results[0], results[2])
    assert np.abs(results[0] - results[1]).max() > 0.01


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_standardized_and_cropped_in_float32(dtype):
    x = tf.cast(X, dtype)
    for function in (
        tf.image.per_image_standardization,
        lambda x: tf.image.crop_and_resize(x, BOXES[:1], [0], (2, 2)),
    ):
        result = function(x)
        assert result.dtype == tf.float32
        np.testing.assert_array_equal(result, function(tf.cast(x, tf.float32)))
