"""Datasets of files, saved datasets, and serialized examples."""

import gzip
import os
import sqlite3
import zlib

import numpy as np
import pytest

# A serialized Example of TensorFlow's: a = [1, -2, 300], b = [b"x", b"yy"], c = [1.5, 2.5].
EXAMPLE = (
    b"\n;\n\x16\n\x01a\x12\x11\x1a\x0f\n\r\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02"
    b"\n\x0e\n\x01b\x12\t\n\x07\n\x01x\n\x02yy\n\x11\n\x01c\x12\x0c\x12\n\n\x08"
    b"\x00\x00\xc0?\x00\x00 @"
)
SEQUENCE = (
    b"\n\x0c\n\n\n\x01n\x12\x05\x1a\x03\n\x01\x05\x12#\n!\n\x01t\x12\x1c\n\x0c\x12\n\n\x08\x00\x00"
    b"\x80?\x00\x00\x00@\n\x0c\x12\n\n\x08\x00\x00@@\x00\x00\x80@"
)


def listed(data):
    def plain(x):
        if isinstance(x, dict):
            return {key: plain(value) for key, value in x.items()}
        return tuple(map(plain, x)) if isinstance(x, tuple) else np.asarray(x).tolist()

    return [plain(x) for x in data.as_numpy_iterator()]


@pytest.fixture
def write(tmp_path):
    """A function that writes a file, and returns its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return os.fspath(path)

    return write


def test_text_lines(tf, write):
    first = write("a.txt", b"a\nbb\r\n\nlast")
    second = write("b.gz", gzip.compress(b"1\n2\n"))
    T = tf.data.TextLineDataset
    assert listed(T(first)) == [b"a", b"bb", b"", b"last"]
    assert listed(T([second], compression_type="GZIP")) == [b"1", b"2"]
    assert listed(T([first, first], num_parallel_reads=2))[:4] == [b"a", b"a", b"bb", b"bb"]
    names = tf.data.Dataset.list_files(first[:-5] + "*.txt")
    assert len(list(T(names))) == 4 and isinstance(T(names), tf.data.Dataset)
    assert T(first).element_spec == tf.TensorSpec((), tf.string)
    with pytest.raises(tf.errors.NotFoundError):
        list(T("nowhere"))
    with pytest.raises(TypeError, match="string"):
        T(3)
    iterator = iter(T(first).batch(1))
    next(iterator)
    assert [x.numpy().tolist() for x in iterator] == [[b"bb"], [b""], [b"last"]]


def test_fixed_length_records(tf, write):
    F = tf.data.FixedLengthRecordDataset
    path = write("a.bin", b"HHabcdefFF")
    assert listed(F(path, 3, 2, 2)) == [b"abc", b"def"]
    packed = write("b.z", zlib.compress(b"abcd"))
    assert listed(F(packed, 2, compression_type="ZLIB")) == [b"ab", b"cd"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple"):
        list(F(path, 4, 2, 2))


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_records_round_trip(tf, tmp_path, compression):
    path = os.fspath(tmp_path / "a.tfrecord")
    records = [b"a" * 5000, b"", "é".encode(), bytes(range(256)) * 9]
    with tf.io.TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    data = tf.data.TFRecordDataset(path, compression)
    assert listed(data) == records
    with pytest.raises((RuntimeError, tf.errors.FailedPreconditionError)):
        writer.write(b"")


def test_the_bytes_of_records(tf, tmp_path):
    """Length, masked checksum of the length, data, and its checksum, as TensorFlow writes them."""
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(os.fspath(path)) as writer:
        writer.write(b"a" * 5000)
        writer.write(b"")
        writer.write("é")
    content = path.read_bytes()
    assert content[:12] == b"\x88\x13\x00\x00\x00\x00\x00\x00q\xa7\x18\x02"
    assert content[-30:] == (
        b"\x00\x00\x00\x00)\x03\x98\x07\xd8\xea\x82\xa2\x02\x00\x00\x00\x00\x00\x00\x00x'\x0b4"
        b'\xc3\xa9/";\xbe'
    )
    for damaged in (content[:-3], content[:40] + b"b" + content[41:], b"hello world, no records"):
        path.write_bytes(damaged)
        with pytest.raises(tf.errors.DataLossError):
            list(tf.data.TFRecordDataset(os.fspath(path)))


@pytest.mark.numtape_only(reason="reads numtape's function")
@pytest.mark.parametrize("size", [0, 9, 1023, 1024, 5000])
def test_checksums(size):
    from numtape.io.records import crc32c

    data = bytes(np.random.default_rng(size).integers(0, 256, size, np.uint8))
    state = 0xFFFFFFFF
    for byte in data:  # bit by bit
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 * (state & 1))
    assert crc32c(data) == state ^ 0xFFFFFFFF
    assert crc32c(b"123456789") == 0xE3069283


def test_messages_have_the_bytes_of_protocol_buffers(tf):
    t = tf.train
    example = t.Example(
        features=t.Features(
            feature={
                "a": t.Feature(int64_list=t.Int64List(value=[1, -2, 300])),
                "b": t.Feature(bytes_list=t.BytesList(value=[b"x", b"yy"])),
                "c": t.Feature(float_list=t.FloatList(value=[1.5, 2.5])),
            }
        )
    )
    assert example.SerializeToString(deterministic=True) == EXAMPLE
    assert t.Example.FromString(EXAMPLE) == example
    feature = example.features.feature["a"]
    assert feature.WhichOneof("kind") == "int64_list" and not feature.HasField("float_list")
    assert list(feature.int64_list.value) == [1, -2, 300]
    feature.float_list.value.extend([0.5])
    assert feature.WhichOneof("kind") == "float_list" and not feature.int64_list.value
    sequence = t.SequenceExample.FromString(SEQUENCE)
    steps = sequence.feature_lists.feature_list["t"].feature
    assert [list(step.float_list.value) for step in steps] == [[1, 2], [3, 4]]
    assert sequence.SerializeToString() == SEQUENCE
    assert str(t.Int64List(value=[1, 2])) == "value: 1\nvalue: 2\n"
    for wrong in (lambda: t.Int64List(value=[1.5]), lambda: t.BytesList(value=["x"])):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError):
        t.Feature(wrong=1)


def test_examples_are_parsed(tf):
    io = tf.io
    features = {
        "a": io.FixedLenFeature([3], tf.int64),
        "c": io.FixedLenFeature((2,), tf.float32),
        "b": io.FixedLenFeature([2], tf.string),
        "z": io.FixedLenFeature([], tf.int64, 7),
        "s": io.RaggedFeature(tf.int64, value_key="a"),
        "v": io.VarLenFeature(tf.string),
    }
    parsed = io.parse_example([EXAMPLE, EXAMPLE], features)
    assert parsed["a"].numpy().tolist() == [[1, -2, 300]] * 2
    assert parsed["b"].numpy().tolist() == [[b"x", b"yy"]] * 2
    assert parsed["c"].numpy().tolist() == [[1.5, 2.5]] * 2 and parsed["c"].dtype == "float32"
    assert parsed["z"].numpy().tolist() == [7, 7]
    assert parsed["s"].to_list() == [[1, -2, 300]] * 2
    assert parsed["v"].dense_shape.numpy().tolist() == [2, 0]
    one = io.parse_single_example(EXAMPLE, {"a": io.VarLenFeature(tf.int64)})["a"]
    assert (one.indices.numpy().tolist(), one.values.numpy().tolist()) == (
        [[0], [1], [2]],
        [1, -2, 300],
    )
    padded = {"a": io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
    assert io.parse_example([EXAMPLE, b""], padded)["a"].numpy().tolist() == [
        [1, -2, 300],
        [0, 0, 0],
    ]
    index = io.SparseFeature("a", "a", tf.int64, 301)
    assert io.parse_example([EXAMPLE], {"q": index})["q"].values.numpy().tolist() == [-2, 1, 300]
    parts = io.RaggedFeature(
        tf.int64, value_key="a", partitions=[io.RaggedFeature.UniformRowLength(3)]
    )
    assert io.parse_example([EXAMPLE], {"q": parts})["q"].to_list() == [[[1, -2, 300]]]


def test_errors_of_parsed_examples(tf):
    io = tf.io
    fixed = io.FixedLenFeature
    for features in (
        {"a": fixed([2], tf.int64)},
        {"a": fixed([3], tf.float32)},
        {"missing": fixed([], tf.int64)},
        {"a": fixed([3], tf.int32)},
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            io.parse_example([EXAMPLE], features)
    with pytest.raises(tf.errors.InvalidArgumentError):
        io.parse_example([EXAMPLE[:-1]], {"a": fixed([3], tf.int64)})
    for features in ({}, {"a": fixed([None], tf.int64)}):
        with pytest.raises(ValueError):
            io.parse_example([EXAMPLE], features)
    with pytest.raises(ValueError, match="scalar"):
        io.parse_single_example([EXAMPLE], {"a": fixed([3], tf.int64)})


def test_sequence_examples_are_parsed(tf):
    io = tf.io
    context, sequences, lengths = io.parse_sequence_example(
        [SEQUENCE, SEQUENCE],
        {"n": io.FixedLenFeature([], tf.int64)},
        {"t": io.FixedLenSequenceFeature([2], tf.float32)},
    )
    assert context["n"].numpy().tolist() == [5, 5] and lengths["t"].numpy().tolist() == [2, 2]
    assert sequences["t"].numpy().tolist() == [[[1, 2], [3, 4]]] * 2
    _, ragged = io.parse_single_sequence_example(
        SEQUENCE, sequence_features={"t": io.RaggedFeature(tf.float32)}
    )
    assert ragged["t"].to_list() == [[1, 2], [3, 4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="required"):
        io.parse_single_sequence_example(
            SEQUENCE, sequence_features={"u": io.FixedLenSequenceFeature([], tf.float32)}
        )


CSV = b'a,b,c\n1,"x, ""q""",2.5\n,,\n3,"multi\nline",4e3\n'


def test_csv(tf, write):
    C = tf.data.experimental.CsvDataset
    path = write("a.csv", CSV)
    defaults = [tf.constant([7], tf.int64), ["d"], tf.constant([0.5], tf.float32)]
    assert listed(C(path, defaults, header=True)) == [
        (1, b'x, "q"', 2.5),
        (7, b"d", 0.5),
        (3, b"multi\nline", 4000.0),
    ]
    assert listed(C(path, [tf.constant([0.5], tf.float64)], header=True, select_cols=[2])) == [
        (2.5,),
        (0.5,),
        (4000.0,),
    ]
    rows = write("b.csv", b"1,x\n2,3\n")
    assert listed(C(rows, [tf.int32, tf.int32]).ignore_errors()) == [(2, 3)]
    for content, columns in (
        (b"1,2\n3\n", [tf.int32, tf.int32]),
        (b"1,2\n", [tf.int32]),
        (b'1,"x"y"\n', [tf.int32, tf.string]),
        (b'1,a"b\n', [tf.int32, tf.string]),
        (b",a\n", [tf.int32, tf.string]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            list(C(write("c.csv", content), columns))


def test_csv_batches(tf, write):
    path = write("a.csv", b"x,y,label\n1,a,0\n2.5,b,1\n3,c,0\n")
    make = tf.data.experimental.make_csv_dataset
    data = make(path, 2, label_name="label", num_epochs=1, shuffle=False)
    assert listed(data) == [
        ({"x": [1.0, 2.5], "y": [b"a", b"b"]}, [0, 1]),
        ({"x": [3.0], "y": [b"c"]}, [0]),
    ]
    selected = make(path, 3, num_epochs=1, shuffle=False, select_columns=["label", "x"])
    assert listed(selected) == [{"x": [1.0, 2.5, 3.0], "label": [0, 1, 0]}]
    assert len(listed(make(path, 2).take(4))) == 4  # shuffled, without end
    with pytest.raises(ValueError, match="label_name"):
        make(path, 2, label_name="z")


def test_rows_of_a_database(tf, tmp_path):
    path = os.fspath(tmp_path / "a.sqlite")
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t (n, s); INSERT INTO t VALUES (1, 'a'), (NULL, NULL)")
    connection.close()
    query = "SELECT n, s FROM t"
    data = tf.data.experimental.SqlDataset("sqlite", path, query, (tf.int64, tf.string))
    assert listed(data) == [(1, b"a"), (0, b"")]


def test_saved_datasets(tf, tmp_path):
    path = os.fspath(tmp_path / "saved")
    data = tf.data.Dataset.from_tensor_slices({"x": np.arange(4.0), "s": list("abcd")})
    data.save(path)
    loaded = tf.data.Dataset.load(path)
    assert listed(loaded) == listed(data) and loaded.element_spec == data.element_spec
    assert len(loaded) == 4
    tf.data.Dataset.range(6).save(path, shard_func=lambda x: x % 2)
    shards = tf.data.Dataset.load(path, reader_func=lambda d: d.flat_map(lambda shard: shard))
    assert listed(shards) == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("method", ["cache", "snapshot"])
def test_elements_in_files(tf, tmp_path, method):
    """The second iteration, and another program, read the file."""
    path = os.fspath(tmp_path / "elements")
    calls = []

    def note(x):
        calls.append(int(x))
        return x

    def make():
        return getattr(tf.data.Dataset.range(3).map(note), method)(path)

    data = make()
    next(iter(data))  # an incomplete iteration stores nothing
    del calls[:]
    assert listed(data) == listed(data) == listed(make()) == [0, 1, 2]
    assert calls == [0, 1, 2]
