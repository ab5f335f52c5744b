"""Tensors of strings: making, indexing, comparing and moving them; calls of functions."""

import copy
import pickle

import numpy as np
import pytest

import numtape as tf

MATRIX = np.array([[b"a", b"b"], [b"c", b"a"]], object)


def plain(x):
    """A result as nested lists."""
    if isinstance(x, list | tuple):
        return [plain(item) for item in x]
    return np.asarray(x).tolist()


def test_making():
    x = tf.constant(["a", "é", b"\xff\x00"])
    assert x.dtype == tf.string and x.dtype == str(b"string", "ascii") and x.shape == [3]
    assert x.numpy().tolist() == [b"a", b"\xc3\xa9", b"\xff\x00"]
    assert tf.constant("a").numpy() == b"a" and tf.constant("a").ndim == 0
    assert tf.is_tensor(x) and tf.convert_to_tensor(x) is x
    assert tf.constant(np.array(["a", "b"])).numpy().tolist() == [b"a", b"b"]
    assert tf.constant("a", shape=[2]).numpy().tolist() == [b"a", b"a"]
    assert tf.zeros([2], tf.string).numpy().tolist() == [b"", b""]
    assert tf.constant([], tf.string).shape == [0]
    assert tf.as_dtype(np.dtype("U3")) is tf.string and tf.as_dtype(object) is tf.string


def test_printing(capsys):
    assert repr(tf.constant("a")) == "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"
    text = "<tf.Tensor: shape=(1,), dtype=string, numpy=array([b'a'], dtype=object)>"
    assert repr(tf.constant(["a"])) == text
    assert str(tf.constant(["a", "b"])) == "tf.Tensor([b'a' b'b'], shape=(2,), dtype=string)"
    tf.print(tf.constant(["a\n", "it's"]), tf.constant("é"))
    assert capsys.readouterr().err == '["a\\n" "it\\\'s"] "é"\n'


def test_copies():
    x = tf.constant(MATRIX)
    assert plain(pickle.loads(pickle.dumps(x))) == plain(x)
    assert copy.deepcopy(x) is x
    x.numpy()[0, 0] = b"changed"
    assert x.numpy()[0, 0] == b"a"


def test_operators():
    x = tf.constant(MATRIX)
    assert plain(x == "a") == [[True, False], [False, True]]
    assert plain("a" != x) == [[False, True], [True, False]]
    assert not (x == ["a", "b", "c"]).numpy() and (x != None) is True  # noqa: E711
    assert plain(x + "!") == [[b"a!", b"b!"], [b"c!", b"a!"]]
    assert plain("<" + x[0]) == [b"<a", b"<b"]
    assert float(tf.constant("1.5")) == 1.5 and int(tf.constant("7")) == 7
    assert tf.constant("a") and not tf.constant("")
    assert [plain(row) for row in x] == plain(x) and len(x) == 2
    for call, error in (
        (lambda: x + 1, TypeError),
        (lambda: x == 1, TypeError),
        (lambda: bool(x), ValueError),
        (lambda: hash(x), TypeError),
        (lambda: float(x), TypeError),
        (lambda: x[0, 5], tf.errors.InvalidArgumentError),
        (lambda: x[[0]], TypeError),
    ):
        with pytest.raises(error):
            call()


# Functions that move elements: NumPy does the same with arrays of objects.
MOVES = (
    (lambda x: tf.reshape(x, [-1]), MATRIX.reshape(-1)),
    (lambda x: tf.transpose(x), MATRIX.T),
    (lambda x: tf.concat([x, [["x", "y"]]], 0), np.vstack([MATRIX, [[b"x", b"y"]]])),
    (lambda x: tf.stack([x[0], ["x", "y"]]), [[b"a", b"b"], [b"x", b"y"]]),
    (lambda x: tf.stack(["x", "y"]), [b"x", b"y"]),
    (lambda x: tf.gather(x, [1, 0], axis=1), MATRIX[:, ::-1]),
    (lambda x: tf.gather_nd(x, [[0, 1], [1, 0]]), [b"b", b"c"]),
    (lambda x: tf.where(x == "a", "yes", x), [[b"yes", b"b"], [b"c", b"yes"]]),
    (lambda x: tf.boolean_mask(x, [True, False]), MATRIX[:1]),
    (lambda x: tf.reverse(x, [0]), MATRIX[::-1]),
    (lambda x: tf.tile(x, [1, 2]), np.tile(MATRIX, (1, 2))),
    (lambda x: tf.expand_dims(x, 0), MATRIX[None]),
    (lambda x: tf.squeeze(x[:1], 0), MATRIX[0]),
    (lambda x: tf.split(x, 2), [MATRIX[:1], MATRIX[1:]]),
    (lambda x: tf.unstack(x), [MATRIX[0], MATRIX[1]]),
    (lambda x: tf.fill([2], "q"), [b"q", b"q"]),
    (lambda x: tf.pad(x, [[0, 1], [0, 0]]), np.vstack([MATRIX, [[b"", b""]]])),
    (lambda x: tf.roll(x, 1, 0), np.roll(MATRIX, 1, 0)),
    (lambda x: tf.repeat(x, 2, 0), np.repeat(MATRIX, 2, 0)),
    (lambda x: tf.slice(x, [0, 1], [2, 1]), MATRIX[:, 1:]),
    (lambda x: tf.identity(x), MATRIX),
    (lambda x: tf.zeros_like(x), np.full((2, 2), b"", object)),
    (lambda x: tf.broadcast_to("z", [2]), [b"z", b"z"]),
    (lambda x: tf.tensor_scatter_nd_update(x, [[1, 1]], ["n"]), [[b"a", b"b"], [b"c", b"n"]]),
    (lambda x: x[..., tf.newaxis, -1], MATRIX[..., None, -1]),
    (lambda x: x[tf.constant([True, False])], MATRIX[[True, False]]),
    (lambda x: tf.unique(["u", "v", "u"]), [[b"u", b"v"], [0, 1, 0]]),
    (lambda x: tf.unique_with_counts(["u", "v", "u"]), [[b"u", b"v"], [0, 1, 0], [2, 1]]),
    (lambda x: tf.equal(x, "a"), MATRIX == b"a"),
    (lambda x: tf.not_equal(["a"], ["b"]), [True]),
    (lambda x: tf.add("a", ["b"]), [b"ab"]),
    (lambda x: tf.shape(x), [2, 2]),
    (lambda x: tf.size(x), 4),
    (lambda x: tf.rank(x), 2),
)


@pytest.mark.parametrize(("call", "expected"), MOVES)
def test_functions_that_move_elements(call, expected):
    assert plain(call(tf.constant(MATRIX))) == plain(expected)


def test_refusals_name_the_function():
    x = tf.constant(MATRIX)
    unimplemented = tf.errors.UnimplementedError
    for call, name in (
        (lambda: tf.sin(x), "Sin of a string tensor"),
        (lambda: tf.reduce_sum(x), "reduce_sum of a string tensor"),
        (lambda: tf.constant(1.0) * x, "Mul of a string tensor"),
        (lambda: tf.cast(x, tf.float32), "strings.to_number"),
        (lambda: tf.Variable("a"), "Variable of strings"),
    ):
        with pytest.raises(unimplemented, match=name):
            call()
    with pytest.raises(ValueError, match=r"strings\.to_number"):
        tf.sin("a")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input to reshape"):
        tf.reshape([1, 2], [3], "name")  # a text among the arguments does not hide the error


def test_function_with_strings_is_python():
    calls = []

    @tf.function
    def join(x):
        calls.append(len(x))
        return tf.strings.join([x, "!"]), tf.size(x)

    for words in (["a"], ["b", "c"], ["d", "e"]):
        joined, size = join(tf.constant(words))
        assert plain(joined) == [word.encode() + b"!" for word in words]
        assert int(size) == len(words)
    assert calls == [1, 2, 2]


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
def test_strings_inside_a_recorded_function():
    names = [tf.constant("one")]

    @tf.function
    def scale(x):
        return x * 2.0 if names[0] == "one" else x * 3.0

    assert float(scale(tf.constant(1.0))) == 2.0
    names[0] = tf.constant("two")
    assert float(scale(tf.constant(1.0))) == 3.0
