"""Layers of images: Keras's values of given transformations, inputs, configurations, errors."""

import numpy as np
import pytest

import numtape as tf

layers = tf.keras.layers
X = (np.arange(36) * 37 % 23 / 23 * 255).astype(np.float32).reshape(1, 3, 4, 3)
U = np.concatenate([X, X[:, ::-1]]).astype(np.uint8)

# Computed with Keras: a layer's arguments, a transformation, and the shape and elements of
# `transform_images` of X.
ROWS = [
    (
        "RandomFlip",
        {"mode": "horizontal"},
        {"flips": [[[[True]]]], "input_shape": (1, 3, 4, 3)},
        (1, 3, 4, 3),
        "121.96 22.174 177.39 166.3 66.522 221.74 210.65 110.87 11.087 0 155.22 55.435 199.57 "
        "99.783 0 243.91 144.13 44.348 33.261 188.48 88.696 77.609 232.83 133.04 22.174 "
        "177.39 77.609 66.522 221.74 121.96 110.87 11.087 166.3 155.22 55.435 210.65",
    ),
    (
        "RandomRotation",
        {"factor": 0.2, "fill_mode": "reflect"},
        {
            "rotation_matrix": [
                [
                    0.766040027141571,
                    -0.6427900195121765,
                    0.9937199950218201,
                    0.6427900195121765,
                    0.766040027141571,
                    -0.7302299737930298,
                    0.0,
                    0.0,
                ]
            ]
        },
        (1, 3, 4, 3),
        "209.33 111.15 11.365 176.96 77.176 171.13 186.09 86.304 99.907 164.42 115.16 15.377 "
        "73.499 142.43 42.651 105.33 158.35 68.151 171.84 164.67 74.479 44.092 190.18 90.393 "
        "62.231 217.45 117.67 91.088 132.92 146.52 100.22 61.69 155.65 66.244 221.46 121.68",
    ),
    (
        "RandomZoom",
        {"height_factor": 0.4},
        {"height_zoom": [[0.8]], "width_zoom": [[1.3]], "input_shape": (1, 3, 4, 3)},
        (1, 3, 4, 3),
        "15.522 170.74 70.957 151.23 133.04 33.261 175.17 75.391 179.61 137.48 37.696 141.91 "
        "77.609 232.83 133.04 39.913 195.13 95.348 237.26 137.48 37.696 199.57 99.783 0 139.7 "
        "90.913 195.13 102 53.217 157.43 95.348 199.57 99.783 57.652 161.87 62.087",
    ),
    (
        "RandomZoom",
        {
            "height_factor": 0.4,
            "interpolation": "nearest",
            "fill_mode": "constant",
            "fill_value": 9.0,
        },
        {"height_zoom": [[1.6]], "width_zoom": [[1.2]], "input_shape": (1, 3, 4, 3)},
        (1, 3, 4, 3),
        "9 9 9 9 9 9 9 9 9 9 9 9 77.609 232.83 133.04 33.261 188.48 88.696 243.91 144.13 "
        "44.348 199.57 99.783 0 9 9 9 9 9 9 9 9 9 9 9 9",
    ),
    (
        "RandomTranslation",
        {"height_factor": 0.4, "width_factor": 0.3, "fill_mode": "nearest"},
        {"translations": [[1.3, -0.6]], "input_shape": (1, 3, 4, 3)},
        (1, 3, 4, 3),
        "46.565 201.78 102 46.565 201.78 102 86.922 170.74 70.957 180.27 126.39 98.009 124.17 "
        "126.39 179.61 124.17 126.39 179.61 93.13 95.348 148.57 120.18 158.1 104.22 155.22 "
        "55.435 210.65 155.22 55.435 210.65 124.17 24.391 179.61 79.826 158.54 135.26",
    ),
    (
        "RandomShear",
        {"x_factor": 0.4, "y_factor": 0.3},
        {"shear_factor": [[0.3, -0.2]], "input_shape": (1, 3, 4, 3)},
        (1, 3, 4, 3),
        "0 155.22 55.435 210.65 110.87 11.087 166.3 66.522 221.74 121.96 22.174 177.39 64.304 "
        "219.52 119.74 116.63 159.65 75.17 199.57 99.783 102 153 53.217 106.43 128.61 28.826 "
        "184.04 99.339 142.36 124.17 110.87 164.09 64.304 128.61 130.83 31.043",
    ),
    (
        "RandomPerspective",
        {"scale": 0.5},
        {
            "apply_perspective": [True],
            "start_points": [[[0.0, 0.0], [3.0, 0.0], [0.0, 2.0], [3.0, 2.0]]],
            "end_points": [[[0.0, 0.0], [2.5, 0.2], [0.3, 1.8], [3.0, 2.0]]],
            "input_shape": (1, 3, 4, 3),
        },
        (1, 3, 4, 3),
        "0 155.22 55.435 181.39 91.402 50.779 117.53 37.475 162 25.95 4.7183 37.746 72.986 "
        "164.61 117.77 40.797 176.09 96.232 236.95 137.16 39.645 128.19 61.58 11.497 75.697 "
        "27.035 102.73 103.61 19.138 150.54 67.002 177.93 118.16 22.174 177.39 77.609",
    ),
    (
        "RandomBrightness",
        {"factor": 0.3},
        {"rgb_delta": [[[[30.0]]]]},
        (1, 3, 4, 3),
        "30 185.22 85.435 240.65 140.87 41.087 196.3 96.522 251.74 151.96 52.174 207.39 "
        "107.61 255 163.04 63.261 218.48 118.7 255 174.13 74.348 229.57 129.78 30 185.22 "
        "85.435 240.65 140.87 41.087 196.3 96.522 251.74 151.96 52.174 207.39 107.61",
    ),
    (
        "RandomContrast",
        {"factor": 0.3},
        {"contrast_factor": [[[[1.3]]]]},
        (1, 3, 4, 3),
        "0 164.64 39.359 238.65 106.99 0 180.99 49.337 255 123.34 0 197.9 65.69 255 140.25 "
        "8.0381 207.88 82.598 255 150.23 24.946 224.23 92.576 0 166.58 34.924 241.14 108.93 0 "
        "183.49 51.277 251.12 125.84 0 193.47 68.185",
    ),
    (
        "RandomColorDegeneration",
        {"factor": 0.5},
        {"factor": [[[[0.4]]]]},
        (1, 3, 4, 3),
        "38.973 132.1 72.234 178.11 118.25 58.375 145.4 85.527 178.66 101.05 41.181 134.31 "
        "116.58 209.71 149.84 72.232 165.36 105.49 211.37 151.5 91.635 167.03 107.16 47.289 "
        "134.31 74.44 167.57 89.964 30.094 123.22 105.49 198.62 138.75 61.146 154.28 94.407",
    ),
    (
        "RandomHue",
        {"factor": 0.5},
        {"factor": [0.2]},
        (1, 3, 4, 3),
        "0 68.739 155.22 70.956 210.65 11.087 221.74 66.522 90.913 177.39 22.174 46.565 "
        "77.609 146.35 232.83 33.261 102 188.48 104.22 243.91 44.348 59.87 199.57 0 210.65 "
        "55.435 79.826 166.3 11.087 35.478 66.522 135.26 221.74 22.174 90.913 177.39",
    ),
    (
        "RandomSaturation",
        {"factor": 0.5, "value_range": (0, 1)},
        {"factor": [1.5]},
        (1, 3, 4, 3),
        "0 155.22 55.435 210.65 105.33 0 142.55 0 221.74 114.04 0 177.39 1.3878e-05 232.83 "
        "83.152 0 188.48 67.314 243.91 121.96 0 199.57 99.783 0 135.42 0 210.65 106.91 0 "
        "166.3 0 221.74 79.193 0 177.39 63.354",
    ),
    (
        "RandomInvert",
        {},
        {"apply_inversion": [True]},
        (1, 3, 4, 3),
        "255 99.783 199.57 44.348 144.13 243.91 88.696 188.48 33.261 133.04 232.83 77.609 "
        "177.39 22.174 121.96 221.74 66.522 166.3 11.087 110.87 210.65 55.435 155.22 255 "
        "99.783 199.57 44.348 144.13 243.91 88.696 188.48 33.261 133.04 232.83 77.609 177.39",
    ),
    (
        "RandomPosterization",
        {"factor": 3},
        {"shift_factor": [5]},
        (1, 3, 4, 3),
        "0 128 32 192 96 0 160 64 192 96 0 160 64 224 128 32 160 64 224 128 32 192 96 0 128 "
        "32 192 96 0 160 64 192 96 0 160 64",
    ),
    (
        "RandomSharpness",
        {"factor": 0.5},
        {"factor": [0.2]},
        (1, 3, 4, 3),
        "14.839 122.47 45.712 156.92 106.26 32.067 142.25 68.057 154.71 105.07 28.314 124.17 "
        "72.492 170.91 108.48 68.569 164.94 100.46 196.84 132.36 67.886 154.54 92.107 29.679 "
        "108.14 54.923 150.78 96.542 45.883 132.53 70.104 168.52 94.324 37.525 133.38 56.629",
    ),
    (
        "RandomGaussianBlur",
        {},
        {"blur_factor": [0.7, 0.9], "should_apply_blur": [True]},
        (1, 3, 4, 3),
        "34.734 99.908 41.494 98.129 102.24 54.041 129.43 69.399 92.481 94.194 35.779 74.338 "
        "65.923 122.46 95.888 111.26 136.17 102.55 152.05 130.27 96.656 114.75 88.172 61.597 "
        "68.068 61.962 100.52 75.822 79.932 103.01 81.431 118.37 70.174 56.248 94.807 36.392",
    ),
    (
        "Solarization",
        {},
        {"additions": [[[[20.0]]]], "thresholds": [[[[130.0]]]]},
        (1, 3, 4, 3),
        "20 79.783 75.435 24.348 124.13 31.087 68.696 86.522 13.261 113.04 42.174 57.609 "
        "97.609 2.1739 101.96 53.261 46.522 108.7 0 90.87 64.348 35.435 119.78 20 79.783 "
        "75.435 24.348 124.13 31.087 68.696 86.522 13.261 113.04 42.174 57.609 97.609",
    ),
    (
        "Equalization",
        {},
        None,
        (1, 3, 4, 3),
        "0 162 70 232 116 23 185 70 255 139 23 209 93 255 162 46 209 116 255 139 46 209 93 0 "
        "162 46 232 116 0 185 70 232 139 23 185 93",
    ),
    (
        "AutoContrast",
        {},
        None,
        (1, 3, 4, 3),
        "0 165.75 63.75 220.23 114.75 12.75 173.86 63.75 255 127.5 12.75 204 81.136 255 153 "
        "34.773 204 102 255 153 51 208.64 102 0 162.27 51 242.25 115.91 0 191.25 69.545 "
        "242.25 140.25 23.182 191.25 89.25",
    ),
    (
        "CenterCrop",
        {"height": 2, "width": 2},
        None,
        (1, 2, 2, 3),
        "210.65 110.87 11.087 166.3 66.522 221.74 33.261 188.48 88.696 243.91 144.13 44.348",
    ),
    (
        "CenterCrop",
        {"height": 4, "width": 2},
        None,
        (1, 4, 2, 3),
        "210.65 110.87 11.087 210.65 110.87 11.087 99.783 159.38 59.592 99.783 159.38 59.592 "
        "62.364 121.96 117.8 62.364 121.96 117.8 110.87 11.087 166.3 110.87 11.087 166.3",
    ),
    (
        "Resizing",
        {"height": 2, "width": 3},
        None,
        (1, 2, 3, 3),
        "43.886 167.23 67.446 176.01 108.1 103.94 148.75 48.967 140.43 128.42 92.391 183.86 "
        "101.17 128.89 124.73 73.913 165.38 65.598",
    ),
    (
        "Resizing",
        {"height": 4, "width": 3, "crop_to_aspect_ratio": True, "interpolation": "nearest"},
        None,
        (1, 4, 3, 3),
        "210.65 110.87 11.087 166.3 66.522 221.74 166.3 66.522 221.74 33.261 188.48 88.696 "
        "243.91 144.13 44.348 243.91 144.13 44.348 33.261 188.48 88.696 243.91 144.13 44.348 "
        "243.91 144.13 44.348 110.87 11.087 166.3 66.522 221.74 121.96 66.522 221.74 121.96",
    ),
    (
        "Resizing",
        {"height": 4, "width": 4, "pad_to_aspect_ratio": True, "fill_value": 5.0},
        None,
        (1, 4, 4, 3),
        "0 155.22 55.435 210.65 110.87 11.087 166.3 66.522 221.74 121.96 22.174 177.39 48.505 "
        "203.72 103.94 99.783 159.38 59.592 214.81 115.03 110.87 170.46 70.679 66.522 106.71 "
        "166.3 162.15 62.364 121.96 117.8 177.39 173.23 73.451 133.04 128.89 29.103 155.22 "
        "55.435 210.65 110.87 11.087 166.3 66.522 221.74 121.96 22.174 177.39 77.609",
    ),
    (
        "Rescaling",
        {"scale": 0.1, "offset": 1.0},
        None,
        (1, 3, 4, 3),
        "1 16.522 6.5435 22.065 12.087 2.1087 17.63 7.6522 23.174 13.196 3.2174 18.739 8.7609 "
        "24.283 14.304 4.3261 19.848 9.8696 25.391 15.413 5.4348 20.957 10.978 1 16.522 "
        "6.5435 22.065 12.087 2.1087 17.63 7.6522 23.174 13.196 3.2174 18.739 8.7609",
    ),
]


def to_tensors(transformation):
    if transformation is None:
        return None
    return {
        name: value
        if name == "input_shape"
        else tf.constant(value, tf.uint8 if name == "shift_factor" else None)
        for name, value in transformation.items()
    }


@pytest.mark.parametrize(
    "name, arguments, transformation, shape, values",
    ROWS,
    ids=[f"{row[0]}{k}" for k, row in enumerate(ROWS)],
)
def test_values(name, arguments, transformation, shape, values):
    layer = getattr(layers, name)(**arguments)
    if name == "Rescaling":
        result = layer(X)
    else:
        result = layer.transform_images(X, to_tensors(transformation), training=True)
    assert tuple(result.shape) == shape and result.dtype.name == "float32"
    expected = [float(x) for x in values.split()]
    np.testing.assert_allclose(result.numpy().ravel(), expected, atol=0.02, rtol=1e-4)


# Arguments of each layer that draws.
RANDOM = {
    "AugMix": {},
    "CutMix": {},
    "MixUp": {},
    "RandAugment": {"num_ops": 1},
    "RandomBrightness": {"factor": 0.3},
    "RandomColorDegeneration": {"factor": 0.3},
    "RandomColorJitter": {"brightness_factor": 0.2, "hue_factor": 0.3},
    "RandomContrast": {"factor": 0.3},
    "RandomCrop": {"height": 2, "width": 3},
    "RandomElasticTransform": {},
    "RandomErasing": {},
    "RandomFlip": {},
    "RandomGaussianBlur": {},
    "RandomGrayscale": {},
    "RandomHue": {"factor": 0.3},
    "RandomInvert": {},
    "RandomPerspective": {},
    "RandomPosterization": {"factor": 5},
    "RandomRotation": {"factor": 0.2},
    "RandomSaturation": {"factor": 0.3},
    "RandomSharpness": {"factor": 0.3},
    "RandomShear": {"x_factor": 0.3},
    "RandomTranslation": {"height_factor": 0.2, "width_factor": 0.2},
    "RandomZoom": {"height_factor": 0.2},
    "Solarization": {"addition_factor": 0.3},
}


@pytest.mark.parametrize("name", RANDOM)
def test_a_layer_draws_in_training_only(name):
    make = getattr(layers, name)
    layer = make(**RANDOM[name], seed=3)
    config = layer.get_config()
    again = make.from_config(config)
    assert again.get_config() == config
    size = (2, 3) if name == "RandomCrop" else (3, 4)
    result = layer(U, training=True)
    assert result.shape == (2, *size, 3)
    if name != "AugMix":  # Python draws its layers
        np.testing.assert_array_equal(again(U, training=True), result)
    np.testing.assert_array_equal(layer(U, training=False), U)
    assert layer(U[0], training=True).shape == (*size, 3)
    labels = np.eye(2, dtype=np.float32)
    outputs = layer({"images": U, "labels": labels}, training=True)
    assert outputs["images"].shape == (2, *size, 3) and outputs["labels"].shape == (2, 2)
    assert layer(tf.keras.Input((3, 4, 3))).shape == (None, *size, 3)


def test_channels_first():
    first, last = (
        layers.RandomRotation((0.1, 0.1), data_format=f"channels_{word}")
        for word in ("first", "last")
    )
    turned = first(X.transpose(0, 3, 1, 2), training=True)
    np.testing.assert_allclose(
        turned.numpy().transpose(0, 2, 3, 1), last(X, training=True), rtol=1e-5
    )
    assert layers.Resizing(5, 6, data_format="channels_first")(np.zeros((3, 8, 9))).shape == (
        3,
        5,
        6,
    )


BOXES = {
    "boxes": np.array([[[0.0, 0.0, 2.0, 1.0], [1.0, 1.0, 3.0, 3.0]]], np.float32),
    "labels": np.array([[4, 5]]),
}


@pytest.mark.parametrize(
    "layer, transformation, boxes",
    [
        (
            layers.RandomFlip("horizontal", bounding_box_format="xyxy"),
            {"flips": np.ones((1, 1, 1, 1), bool), "input_shape": (1, 3, 4, 3)},
            [[2.0, 0.0, 4.0, 1.0], [1.0, 1.0, 3.0, 3.0]],
        ),
        (
            layers.RandomTranslation(0.1, 0.1, bounding_box_format="xyxy"),
            {"translations": np.array([[1.0, -1.0]], np.float32), "input_shape": (1, 3, 4, 3)},
            [[1.0, 0.0, 3.0, 0.0], [2.0, 0.0, 4.0, 2.0]],
        ),
        (
            layers.Resizing(6, 2, bounding_box_format="xywh"),
            (3, 4),
            [[0.0, 0.0, 1.0, 2.0], [0.5, 2.0, 1.5, 4.0]],
        ),
        (
            layers.CenterCrop(1, 2, bounding_box_format="xyxy"),
            {"input_shape": (1, 3, 4, 3)},
            [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 2.0, 1.0]],
        ),
    ],
    ids=["flip", "translation", "resizing", "crop"],
)
def test_bounding_boxes(layer, transformation, boxes):
    tensors = {name: tf.constant(value) for name, value in BOXES.items()}
    result = layer.transform_bounding_boxes(tensors, transformation, training=True)
    np.testing.assert_allclose(result["boxes"][0], boxes, atol=1e-5)
    assert result["labels"].shape == (1, 2)


def test_dicts_of_masks_and_boxes():
    layer = layers.RandomCrop(2, 2, seed=1, bounding_box_format="xyxy")
    masks = (X[..., :1] > 100).astype(np.uint8)
    outputs = layer({"images": X, "segmentation_masks": masks, "bounding_boxes": BOXES})
    images, cut = outputs["images"].numpy(), outputs["segmentation_masks"]
    assert cut.dtype is tf.uint8
    np.testing.assert_array_equal(cut, images[..., :1] > 100)
    assert outputs["bounding_boxes"]["boxes"].shape == (1, 2, 4)
    single = layer({"images": X[0], "bounding_boxes": {k: v[0] for k, v in BOXES.items()}})
    assert single["bounding_boxes"]["boxes"].shape == (2, 4)


ERRORS = [
    (lambda: layers.RandomRotation(2.0), ValueError, "factor"),
    (lambda: layers.RandomRotation(0.1, fill_mode="no"), NotImplementedError, "fill_mode"),
    (lambda: layers.RandomZoom((-1.5, 0.1)), ValueError, "height_factor"),
    (lambda: layers.RandomShear(-0.1), ValueError, "x_factor"),
    (lambda: layers.RandomContrast([0.2]), ValueError, "factor"),
    (lambda: layers.RandomGrayscale(2.0), ValueError, "between 0 and 1"),
    (lambda: layers.RandomGaussianBlur(kernel_size=2), ValueError, "odd"),
    (lambda: layers.RandomBrightness(0.1, value_range=3), ValueError, "value_range"),
    (lambda: layers.RandomFlip("up"), ValueError, "mode"),
    (lambda: layers.RandomPerspective(scale=2.0), ValueError, "scale"),
    (lambda: layers.RandomBrightness(0.1)(np.zeros((2, 2))), ValueError, "rank 3 or 4"),
    (lambda: layers.Resizing(2, 2, interpolation="no")(X), ValueError, "interpolation"),
    (
        lambda: layers.RandomFlip()({"images": X, "bounding_boxes": BOXES}),
        ValueError,
        "bounding_box_format",
    ),
    (
        lambda: layers.CutMix(bounding_box_format="xyxy")({"images": U, "bounding_boxes": BOXES}),
        NotImplementedError,
        "bounding boxes",
    ),
    (lambda: layers.Pipeline.from_config({"name": "x"}), ValueError, "layers"),
]


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_a_recorded_function_and_a_dataset_draw_again():
    layer = layers.Pipeline([layers.RandomFlip(seed=1), layers.RandomBrightness(0.5, seed=2)])
    step = tf.function(lambda x: layer(x, training=True))
    first, second = (step(tf.constant(X)).numpy() for _ in range(2))
    assert np.abs(first - second).max() > 1
    dataset = tf.data.Dataset.from_tensor_slices(X).batch(1).map(layer)
    assert next(iter(dataset)).shape == (1, 3, 4, 3)
    restored = layers.Pipeline.from_config(layer.get_config())
    assert [type(x).__name__ for x in restored.layers] == ["RandomFlip", "RandomBrightness"]


def test_gradients_reach_the_images():
    layer = layers.RandomTranslation((0.0, 0.0), (0.25, 0.25), fill_mode="constant")
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x, training=True) * 2)
    expected = np.full_like(X, 2.0)
    expected[:, :, -1] = 0.0  # moved out of the image
    np.testing.assert_allclose(tape.gradient(loss, x), expected, atol=1e-5)


FORMATS = {
    "xyxy": [10.0, 20.0, 110.0, 220.0],
    "yxyx": [20.0, 10.0, 220.0, 110.0],
    "xywh": [10.0, 20.0, 100.0, 200.0],
    "center_xywh": [60.0, 120.0, 100.0, 200.0],
    "center_yxhw": [120.0, 60.0, 200.0, 100.0],
    "rel_xyxy": [0.01, 0.05, 0.11, 0.55],
    "rel_yxyx": [0.05, 0.01, 0.55, 0.11],
    "rel_xywh": [0.01, 0.05, 0.1, 0.5],
    "rel_center_xywh": [0.06, 0.3, 0.1, 0.5],
}


@pytest.mark.parametrize("source", FORMATS)
def test_formats_of_boxes(source):
    for target, expected in FORMATS.items():
        boxes = tf.keras.utils.bounding_boxes.convert_format(
            [FORMATS[source]], source, target, height=400, width=1000
        )
        np.testing.assert_allclose(boxes[0], expected, rtol=1e-5)


def test_the_transformation_has_a_perspective():
    # Where c0 is not 0, the image of Keras on TensorFlow.
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    transform = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.25, 0.1]
    result = tf.keras.ops.image.affine_transform(image, transform).numpy()[0, :, :, 0]
    rows, columns = np.mgrid[:4, :4]
    denominator = 0.25 * columns + 0.1 * rows + 1
    np.testing.assert_allclose(result, (4 * rows + columns) / denominator, rtol=1e-4, atol=1e-5)
