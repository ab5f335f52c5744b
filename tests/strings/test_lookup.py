"""`tf.lookup`: results and errors as in TensorFlow."""

import numpy as np
import pytest

import numtape as tf

lookup = tf.lookup
experimental = lookup.experimental
Pairs = lookup.KeyValueTensorInitializer


def plain(x):
    """A result as nested lists."""
    return x.to_list() if isinstance(x, tf.RaggedTensor) else np.asarray(x).tolist()


def table(keys, values, default=-1):
    return lookup.StaticHashTable(Pairs(keys, values), default)


def test_static_tables():
    words = table(["a", "b"], [1, 2])
    assert plain(words.lookup(tf.constant([["a"], ["z"]]))) == [[1], [-1]]
    assert plain(words[tf.constant("b")]) == 2 and int(words.size()) == 2
    assert [plain(x) for x in words.export()] == [[b"a", b"b"], [1, 2]]
    assert (words.key_dtype, words.value_dtype) == (tf.string, tf.int32)
    assert plain(words.lookup(tf.strings.split(["a z", "b"]))) == [[1, -1], [2]]
    assert plain(table([1, 2], ["x", "y"], "?").lookup(tf.constant([2, 3]))) == [b"y", b"?"]
    assert plain(table(["a", "a"], [1, 1]).size()) == 1


def test_integer_tables_are_recorded():
    squares = table([3, 1, 2], [9, 1, 4])
    function = tf.function(lambda x: squares.lookup(x) + 1)
    for values in ([1, 5, 3], [2, 2, 0], [-7, 9, 1]):
        expected = [{1: 1, 2: 4, 3: 9}.get(x, -1) + 1 for x in values]
        assert plain(function(tf.constant(values))) == expected
    assert plain(function(tf.constant(3))) == 10
    assert function.experimental_get_tracing_count() == 2


def test_errors_of_static_tables():
    for call, error, message in (
        (lambda: table(["a", "a"], [1, 2]), tf.errors.FailedPreconditionError, "different value"),
        (lambda: table(["a", "b"], [1]), tf.errors.InvalidArgumentError, "Expected shape"),
        (lambda: table([1.5], [1]), tf.errors.NotFoundError, "float32"),
        (lambda: table(["a"], [1]).lookup(tf.constant([1])), TypeError, "Dtype of argument"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_vocabulary_tables():
    init = Pairs(["a", "b", "c"], tf.constant([0, 1, 2], tf.int64))
    words = lookup.StaticVocabularyTable(init, 3)
    assert plain(words.lookup(tf.constant(["a", "c", "x", "yy", "zzz"]))) == [0, 2, 5, 4, 3]
    assert int(words.size()) == 6
    assert plain(lookup.StaticVocabularyTable(None, 5).lookup(tf.constant(["a", "hello"]))) == [
        4,
        1,
    ]
    numbers = Pairs(tf.constant([5, 6], tf.int64), tf.constant([0, 1], tf.int64))
    keys = tf.constant([5, 7, 8, 100], tf.int64)
    assert plain(lookup.StaticVocabularyTable(numbers, 3).lookup(keys)) == [0, 3, 3, 2]
    with pytest.raises(ValueError, match="must be > 0"):
        lookup.StaticVocabularyTable(init, 0)
    with pytest.raises(TypeError, match="Invalid `value_dtype`"):
        lookup.StaticVocabularyTable(Pairs(["a"], [0]), 1)


def test_files(tmp_path):
    lines, columns = tmp_path / "lines.txt", tmp_path / "columns.txt"
    lines.write_text("emerson\nlake\npalmer\n")
    columns.write_text("a\t10\nb\t20\n")
    index = lookup.TextFileIndex

    def read(path, *args, default=-1, **kwargs):
        return lookup.StaticHashTable(lookup.TextFileInitializer(path, *args, **kwargs), default)

    words = tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    assert plain(read(str(lines), *words).lookup(tf.constant(["lake", "x"]))) == [1, -1]
    assert plain(read(lines, *words, vocab_size=2).size()) == 2
    assert plain(read(lines, *words, value_index_offset=5).lookup(tf.constant("emerson"))) == 5
    names = read(lines, tf.int64, index.LINE_NUMBER, tf.string, index.WHOLE_LINE, default="?")
    assert plain(names.lookup(tf.constant([1, 7], tf.int64))) == [b"lake", b"?"]
    prices = tf.string, 0, tf.int64, 1
    assert plain(read(columns, *prices).lookup(tf.constant(["b", "x"]))) == [20, -1]
    for call, error, message in (
        (lambda: read(columns, *prices, delimiter=" "), tf.errors.InvalidArgumentError, "columns"),
        (lambda: read(lines, *words, vocab_size=7), tf.errors.InvalidArgumentError, "vocab_size"),
        (lambda: read("/nowhere", *words), tf.errors.NotFoundError, "No such file"),
        (lambda: read("", *words), ValueError, "argument required"),
        (lambda: read(lines, tf.string, -1, tf.int64, -1), ValueError, "must be int64"),
        (lambda: read(lines, tf.string, -3, tf.int64, -1), ValueError, "should be >= -2"),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
def test_mutable_tables():
    words = experimental.MutableHashTable(tf.string, tf.int64, -1)
    words.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
    assert plain(words.lookup(tf.constant(["a", "q"]))) == [1, -1]
    defaults = tf.constant([7, 8], tf.int64)
    assert plain(words.lookup(tf.constant(["q", "b"]), defaults)) == [7, 2]
    words.remove(tf.constant(["a", "absent"]))
    assert int(words.size()) == 1 and plain(words.export()[0]) == [b"b"]
    vectors = experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    vectors.insert([1, 2], [[1.0, 2.0], [3.0, 4.0]])
    assert plain(vectors.lookup(tf.constant([[2, 5]], tf.int64))) == [[[3.0, 4.0], [0.0, 0.0]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape"):
        vectors.insert([1], [1.0])
    with pytest.raises(ValueError, match="keys: "):
        words.insert(tf.constant([1]), [1])
    function = tf.function(lambda x: vectors.lookup(x)[..., 0] + 1.0)
    key = tf.constant([1], tf.int64)
    assert plain(function(key)) == [2.0]
    vectors.insert([1], [[5.0, 5.0]])
    assert plain(function(key)) == [6.0]


def test_dense_tables_forbid_two_keys():
    words = experimental.DenseHashTable(tf.string, tf.int64, -1, empty_key="", deleted_key="$")
    words.insert_or_assign(["a"], [4])
    assert plain(words.lookup(tf.constant(["a", "b"]))) == [4, -1]
    words.erase(["a"])
    assert int(words.size()) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
        words.insert([""], [1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be equal"):
        experimental.DenseHashTable(tf.string, tf.int64, -1, "x", "x")


def test_checkpoints_store_tables_that_change(tmp_path):
    words = experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
    words.insert(["a", b"\xff\x00"], [[1.5, 2.0], [3.0, float("inf")]])
    numbers = experimental.DenseHashTable(tf.int64, tf.string, "?", 0, -1)
    numbers.insert([5], ["five"])
    static = table(["a"], [1])
    path = tf.train.Checkpoint(w=words, n=numbers, s=static).save(str(tmp_path / "ckpt"))
    words.remove(tf.constant(["a"]))
    words.insert(["new"], [[7.0, 7.0]])
    loaded = experimental.DenseHashTable(tf.int64, tf.string, "?", 0, -1)
    tf.train.Checkpoint(w=words, n=loaded, s=static).restore(path)
    keys = tf.constant(["a", b"\xff\x00", "new"])
    assert plain(words.lookup(keys)) == [[1.5, 2.0], [3.0, float("inf")], [0.0, 0.0]]
    assert plain(loaded.lookup(tf.constant([5, 6], tf.int64))) == [b"five", b"?"]
    other = experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    with pytest.raises(tf.errors.DataLossError, match="cannot be read"):
        tf.train.Checkpoint(w=other).restore(path)
