"""`tf.io`: files, folders, CSV, base64, bytes, serialized tensors; images as files in Keras."""

import io
import zlib

import numpy as np
import pytest

import numtape as tf

gfile = tf.io.gfile

# Bytes that TensorFlow wrote.
SERIALIZED = [
    (
        np.array([1, 2, 300], np.int32),
        b'\x08\x03\x12\x04\x12\x02\x08\x03"\x0c\1\0\0\0\2\0\0\0,\1\0\0',
    ),
    (
        np.array([[1.5]], np.float32),
        b'\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x01"\x04\0\0\xc0?',
    ),
    (np.array(True), b'\x08\n\x12\x00"\x01\x01'),
    (np.zeros((0, 3), np.float32), b"\x08\x01\x12\x06\x12\x00\x12\x02\x08\x03"),
    (np.array([b"a", b"bcd"], object), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x03bcd"),
]
# The same message with other fields, as ``make_tensor_proto`` writes it.
FIELDS = [
    (b"\x08\x01\x12\x04\x12\x02\x08\x03*\x04\x00\x00\xc0?", "float32", [1.5, 1.5, 1.5]),
    (b"\x08\t\x12\x04\x12\x02\x08\x02R\x02\x07\x08", "int64", [7, 8]),
    (b"\x08\x13\x12\x04\x12\x02\x08\x01j\x02\x80x", "float16", [1.0]),
    (
        b"\x08\x06\x12\x04\x12\x02\x08\x02:\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "int8",
        [-1] * 2,
    ),
]


@pytest.mark.parametrize("value, contents", SERIALIZED, ids=lambda x: getattr(x, "dtype", ""))
def test_serialized_tensors(value, contents):
    tensor = tf.constant(value.tolist(), "string") if value.dtype == object else tf.constant(value)
    assert tf.io.serialize_tensor(tensor).numpy() == contents
    parsed = tf.io.parse_tensor(contents, tensor.dtype)
    assert parsed.dtype == tensor.dtype and parsed.shape == tensor.shape
    np.testing.assert_array_equal(parsed.numpy(), value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch"):
        tf.io.parse_tensor(contents, tf.uint64)


@pytest.mark.parametrize("contents, dtype, values", FIELDS)
def test_typed_fields_of_tensors(contents, dtype, values):
    parsed = tf.io.parse_tensor(contents, dtype)
    assert parsed.dtype.name == dtype and parsed.numpy().tolist() == values


def test_bytes_that_are_no_tensor():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        tf.io.parse_tensor(b"junk", tf.float32)


BASE64 = [
    (b"", b""),
    (b"a", b"YQ"),
    (b"ab", b"YWI"),
    (b"abc", b"YWJj"),
    (b"\xff\xfe\xfd?>", b"__79Pz4"),
]


@pytest.mark.parametrize("plain, text", BASE64)
def test_base64(plain, text):
    assert tf.io.encode_base64(plain).numpy() == text
    padded = tf.io.encode_base64(plain, pad=True).numpy()
    assert padded == text + b"=" * (-len(text) % 4)
    assert tf.io.decode_base64([text, padded]).numpy().tolist() == [plain, plain]


@pytest.mark.parametrize("text", ["a+b=", "Y", "YW I", "===="])
def test_text_that_is_not_base64(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="base64"):
        tf.io.decode_base64(text)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_raw_bytes(dtype):
    values = np.array([[1, 2], [3, 4]], dtype)
    rows = [row.tobytes() for row in values]
    np.testing.assert_array_equal(tf.io.decode_raw(rows, dtype), values)
    swapped = [row.byteswap().tobytes() for row in values]
    np.testing.assert_array_equal(tf.io.decode_raw(swapped, dtype, little_endian=False), values)
    size = values.itemsize
    fixed = tf.io.decode_raw([rows[0][:size], rows[1]], dtype, fixed_length=2 * size)
    np.testing.assert_array_equal(fixed, [[1, 0], [3, 4]])
    for bad in ([b"ab", b"c"], b"abc" if size == 2 else b"abcde"):
        if size > 1 or bad != b"abcde":
            with pytest.raises(tf.errors.InvalidArgumentError):
                tf.io.decode_raw(bad, dtype)


RECORDS = [
    (["1,2.5,a", ",,"], [7, 8.0, "z"], [[1, 7], [2.5, 8.0], [b"a", b"z"]]),
    (['"a,b",c', '"a""b",'], ["", "d"], [[b"a,b", b'a"b'], [b"c", b"d"]]),
    (["1e3,nan"], [[0.0], [0.0]], [[1000.0], [np.nan]]),
]


@pytest.mark.parametrize("records, defaults, columns", RECORDS)
def test_csv(records, defaults, columns):
    for result, column in zip(tf.io.decode_csv(records, defaults), columns, strict=True):
        np.testing.assert_array_equal(result.numpy(), column)


def test_options_of_csv():
    first, last = tf.io.decode_csv("NA;2;x", [5, ""], ";", na_value="NA", select_cols=[0, 2])
    assert (first.numpy(), last.numpy()) == (5, b"x")
    (quoted,) = tf.io.decode_csv('"a', [""], use_quote_delim=False)
    assert quoted.numpy() == b'"a'


@pytest.mark.parametrize(
    "record, defaults, message",
    [
        ("1,2", [0], "Expect 1 fields but have 2 in record 0"),
        ("x", [0], "Field 0 in record 0 is not a valid int32: x"),
        ("99999999999", [0], "not a valid int32"),
        (",2", [tf.constant([], tf.int32), 0], "Field 0 is required but missing"),
        ('"ab"x', [""], "Quoted field has to end"),
        ('a"b', [""], "Unquoted fields"),
    ],
)
def test_errors_of_csv(record, defaults, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.io.decode_csv(record, defaults)


def test_compressed_bytes():
    assert tf.io.decode_compressed(zlib.compress(b"text"), "ZLIB").numpy() == b"text"
    with pytest.raises(tf.errors.DataLossError):
        tf.io.decode_compressed(b"text", "ZLIB")


def test_files(tmp_path):
    path = gfile.join(tmp_path, "a", "b.txt")
    tf.io.write_file(path, tf.constant("hello\nworld\n"))
    assert tf.io.read_file(path).numpy() == b"hello\nworld\n"
    assert tf.io.matching_files([f"{tmp_path}/a/*.txt", "/no/such/*"]).numpy().tolist() == [
        path.encode()
    ]
    assert gfile.glob(f"{tmp_path}/*/*") == [path]
    assert [names for _, *names in gfile.walk(tmp_path)] == [[["a"], []], [[], ["b.txt"]]]
    assert gfile.exists(path) and not gfile.isdir(path) and gfile.listdir(f"{tmp_path}/a")
    assert gfile.stat(path).length == 12
    gfile.copy(path, f"{path}2")
    with pytest.raises(tf.errors.AlreadyExistsError):
        gfile.copy(path, f"{path}2")
    gfile.rename(f"{path}2", path, overwrite=True)
    gfile.makedirs(f"{tmp_path}/c/d")
    gfile.rmtree(f"{tmp_path}/c")
    gfile.remove(path)
    for call in (tf.io.read_file, gfile.remove, gfile.stat, gfile.rmtree, gfile.listdir):
        with pytest.raises(tf.errors.NotFoundError):
            call(path)
    for call in (tf.io.read_file, gfile.exists, gfile.GFile):
        with pytest.raises(tf.errors.UnimplementedError, match="local files"):
            call("gs://bucket/file")


def test_open_files(tmp_path):
    path = f"{tmp_path}/f"
    with gfile.GFile(path, "w") as file:
        file.write("abc\nde")
        assert file.tell() == 6
        with pytest.raises(tf.errors.PermissionDeniedError):
            file.read()
    with gfile.GFile(path, "a") as file:
        file.write("!")
    with gfile.GFile(path) as file:
        assert (file.read(2), file.readline(), file.size()) == ("ab", "c\n", 7)
        file.seek(0)
        assert file.readlines() == ["abc\n", "de!"]
        with pytest.raises(tf.errors.PermissionDeniedError):
            file.write("x")
    with gfile.GFile(path, "rb") as file:
        assert [*file] == [b"abc\n", b"de!"]
    with pytest.raises(tf.errors.NotFoundError):
        gfile.GFile(f"{tmp_path}/none").read()


def test_images_of_keras(tmp_path):
    pytest.importorskip("PIL")
    utils = tf.keras.utils
    pixels = (np.arange(24) * 10).reshape(2, 4, 3).astype(np.float32)
    path = f"{tmp_path}/a.png"
    utils.save_img(path, pixels, scale=False)
    image = utils.load_img(path)
    np.testing.assert_array_equal(utils.img_to_array(image), pixels)
    assert utils.img_to_array(image, "channels_first").shape == (3, 2, 4)
    assert utils.load_img(path, "grayscale", (4, 4), "bilinear").size == (4, 4)
    kept = utils.load_img(path, target_size=(2, 2), keep_aspect_ratio=True)
    np.testing.assert_array_equal(utils.img_to_array(kept), pixels[:, 1:3])
    with open(path, "rb") as file:
        assert utils.load_img(io.BytesIO(file.read()), "rgba").mode == "RGBA"
    assert np.asarray(utils.array_to_img(pixels[..., :1])).max() == 255
    resized = tf.keras.preprocessing.image.smart_resize(pixels, (2, 2))
    np.testing.assert_allclose(resized, pixels[:, 1:3])
    for call, message in (
        (lambda: utils.load_img(path, "cmyk"), "color_mode"),
        (lambda: utils.load_img(path, target_size=(1, 1), interpolation="no"), "interpolation"),
        (lambda: utils.array_to_img(pixels[0]), "rank 3"),
        (lambda: utils.array_to_img(np.zeros((2, 2, 5))), "channel"),
        (lambda: utils.img_to_array(np.zeros(3)), "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_images_in_folders(tmp_path):
    pytest.importorskip("PIL")
    for name, count in (("a", 3), ("b", 2)):
        (tmp_path / name).mkdir()
        for k in range(count):
            image = np.full((4, 6, 3), 10 * k + 100 * (name == "b"))
            tf.keras.utils.save_img(tmp_path / name / f"{k}.png", image, scale=False)

    def read(**options):
        options = {"image_size": (2, 3), "shuffle": False, "verbose": False, **options}
        return tf.keras.utils.image_dataset_from_directory(tmp_path, **options)

    dataset = read()
    images, labels = next(iter(dataset))
    assert images.shape == (5, 2, 3, 3) and images.dtype is tf.float32
    np.testing.assert_array_equal(images[:, 0, 0, 0], [0, 10, 20, 100, 110])
    assert labels.numpy().tolist() == [0, 0, 0, 1, 1] and labels.dtype is tf.int32
    assert dataset.class_names == ["a", "b"] and len(dataset.file_paths) == 5
    assert next(iter(read(label_mode="binary")))[1].numpy().ravel().tolist() == [0, 0, 0, 1, 1]
    assert next(iter(read(label_mode="categorical", batch_size=None)))[1].numpy().tolist() == [1, 0]
    assert next(iter(read(labels=None, color_mode="grayscale", batch_size=2))).shape == (2, 2, 3, 1)
    assert next(iter(read(class_names=["b"])))[0].shape[0] == 2
    assert next(iter(read(labels=[4, 4, 4, 5, 5])))[1].numpy().tolist() == [4, 4, 4, 5, 5]
    for option in ("crop_to_aspect_ratio", "pad_to_aspect_ratio"):
        assert next(iter(read(image_size=(4, 4), **{option: True})))[0].shape == (5, 4, 4, 3)
    parts = read(validation_split=0.4, subset="both", shuffle=True, seed=1)
    together = [float(x[0, 0, 0]) for part in parts for batch in part for x in batch[0]]
    assert sorted(together) == [0, 10, 20, 100, 110] and len(parts[1].file_paths) == 2
    for options, message in (
        ({"label_mode": "no"}, "label_mode"),
        ({"color_mode": "no"}, "color_mode"),
        ({"interpolation": "no"}, "interpolation"),
        ({"validation_split": 0.4}, "subset"),
        ({"labels": [1]}, "match the number of files"),
        ({"class_names": ["q"]}, "class_names"),
        ({"format": "grain"}, "grain"),
    ):
        with pytest.raises(ValueError, match=message):
            read(**options)
