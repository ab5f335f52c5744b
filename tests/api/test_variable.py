"""Variables: names, dtypes, reading, assigning, operators, text."""

import copy
import operator
import pickle

import numpy as np
import pytest
from checks import same

# --- Construction --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "Variable:0"),
        ({"name": None}, "Variable:0"),
        ({"name": "x0"}, "x0:0"),
        ({"name": "layer/kernel"}, "layer/kernel:0"),
    ],
)
def test_name(tf, options, name):
    assert tf.Variable(1.0, **options).name == name


@pytest.mark.parametrize(
    ("value", "options", "dtype"),
    [
        (1.0, {}, "float32"),
        (1, {}, "int32"),
        (True, {}, "bool"),
        ([1, 2.5], {}, "float32"),
        (np.float64(1), {}, "float64"),
        (np.arange(2), {}, "int64"),
        (1, {"dtype": "float64"}, "float64"),
        (1, {"dtype": np.float32}, "float32"),
        (np.arange(2.0), {"dtype": "float32"}, "float32"),
    ],
)
def test_dtype(tf, value, options, dtype):
    v = tf.Variable(value, **options)
    assert v.dtype == dtype
    same(v, value, dtype)


def test_dtype_of_the_library(tf):
    assert tf.Variable(1, dtype=tf.float64).dtype is tf.float64


def test_initial_value_from_tensor_variable_and_function(tf):
    for value in (tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0]), lambda: [1.0, 2.0]):
        same(tf.Variable(value), [1.0, 2.0], "float32")


def test_trainable(tf):
    assert tf.Variable(1.0).trainable is True
    assert tf.Variable(1).trainable is True
    assert tf.Variable(1.0, trainable=False).trainable is False
    assert tf.Variable(1.0, False).trainable is False


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((), {}, ValueError, "initial_value"),
        ((None,), {}, ValueError, "initial_value"),
        (([[1.0, 2.0], [3.0]],), {}, ValueError, "non-rectangular"),
        ((1.5,), {"dtype": "int32"}, TypeError, r"1\.5.*int32"),
        (([1.0, 2.0],), {"shape": (3,)}, ValueError, r"\(2,\).*\(3,\)"),
    ],
    ids=["nothing", "None", "ragged", "float as int", "shape"],
)
def test_construction_errors(tf, arguments, options, error, words):
    with pytest.raises(error, match=words):
        tf.Variable(*arguments, **options)


def test_tensor_of_another_dtype_is_not_cast(tf):
    with pytest.raises(ValueError, match=r"float64.*float32"):
        tf.Variable(tf.constant(1.0), dtype=tf.float64)


def test_name_and_trainable_are_fixed(tf):
    v = tf.Variable(1.0)
    for attribute in ("name", "trainable", "shape"):
        with pytest.raises(AttributeError):
            setattr(v, attribute, None)


def test_variable_is_not_a_tensor_but_counts_as_one(tf):
    v = tf.Variable([1.0, 2.0])
    assert isinstance(v, tf.Variable)
    assert not isinstance(v, tf.Tensor)
    assert tf.is_tensor(v)
    assert type(v).__name__ == "ResourceVariable"
    assert v.shape == (2,)
    assert v.shape.rank == 1


# --- Reading and assigning -----------------------------------------------------------------------


def test_reads_keep_their_value(tf):
    v = tf.Variable([1.0, 2.0])
    reads = v.read_value(), v.value(), v + 0.0, v[:], tf.convert_to_tensor(v), v.numpy()
    v.assign([5.0, 6.0])
    for read in reads:
        np.testing.assert_array_equal(np.asarray(read), [1.0, 2.0])
    same(v, [5.0, 6.0])


def test_reads_are_tensors(tf):
    v = tf.Variable(1.0)
    for read in (v.read_value(), v.value(), v[...], tf.identity(v), v * 1.0):
        assert isinstance(read, tf.Tensor)


def test_memory_is_not_shared(tf):
    source = np.array([1.0, 2.0])
    v = tf.Variable(source)
    source[0] = 9.0
    same(v, [1.0, 2.0])
    v.assign(source)
    source[0] = 7.0
    same(v, [9.0, 2.0])
    out = v.numpy()
    out[0] = 3.0
    same(v, [9.0, 2.0])


def test_assign_family(tf):
    v = tf.Variable([1.0, 2.0])
    v.assign([3, 4])
    v.assign_add([1.0, 1.0])
    v.assign_sub(np.array([0.5, 0.5]))
    same(v, [3.5, 4.5], "float32")
    v.assign(v * 2)
    same(v, [7.0, 9.0])
    assert v.assign([0.0, 0.0], read_value=False) is None
    same(v, [0.0, 0.0])


def test_assign_returns_something_like_the_variable(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    for answer in (v.assign([3.0, 4.0]), v.assign_add([1.0, 1.0]), v.assign_sub([1.0, 1.0])):
        assert isinstance(answer, tf.Variable)
        same(answer, [3.0, 4.0], "float32")
    v.assign([1.0, 1.0]).assign_add([1.0, 1.0]).assign_sub([0.5, 0.5])
    same(v, [1.5, 1.5])


def test_assigned_answer_follows_the_variable(tf):
    v = tf.Variable(1.0)
    answer = v.assign(2.0)
    v.assign(3.0)
    assert answer.numpy() == 3.0


def test_gradients_go_through_what_assign_returns(tf):
    v = tf.Variable(2.0, name="v")
    with tf.GradientTape(persistent=True) as tape:
        answer = v.assign_add(1.0)
        y, z = answer * answer, v * v
    for target, source, expected in [
        (y, v, 6.0),
        (y, answer, 6.0),
        (z, answer, 6.0),
        (answer, v, 1.0),
        (v, answer, 1.0),
    ]:
        same(tape.gradient(target, source), expected)
    assert [w.name for w in tape.watched_variables()] == ["v:0"]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(answer)
        y = v * 3.0
    same(tape.gradient(y, v), 3.0)


def test_what_assign_returns_is_an_operand(tf):
    v = tf.Variable([1.0, 2.0])
    answer = v.assign([3.0, 4.0])
    np.testing.assert_array_equal(np.asarray(answer + answer), [6.0, 8.0])
    assert (answer.shape, answer.dtype, answer.trainable) == ((2,), tf.float32, True)


def test_assign_to_a_slice(tf):
    v = tf.Variable([1.0, 2.0, 3.0])
    v[1].assign(5.0)
    v[1:].assign([7.0, 8.0])
    same(v, [1.0, 7.0, 8.0])


SLICED = [
    (np.s_[1:], 5.0, [1.0, 5.0, 5.0]),
    (np.s_[1:], [5.0], [1.0, 5.0, 5.0]),
    (np.s_[1:], [[5.0, 6.0]], [1.0, 5.0, 6.0]),
    (np.s_[0], [5.0], [5.0, 2.0, 3.0]),
    (np.s_[...], [7.0, 8.0, 9.0], [7.0, 8.0, 9.0]),
    (np.s_[::-1], [7.0, 8.0, 9.0], [9.0, 8.0, 7.0]),
    (np.s_[None, -1], np.array([7.0]), [1.0, 2.0, 7.0]),
    (np.s_[1:1], 7.0, [1.0, 2.0, 3.0]),
]


@pytest.mark.parametrize(("key", "value", "expected"), SLICED)
def test_slices_of_a_variable_take_what_broadcasts(tf, key, value, expected):
    v = tf.Variable([1.0, 2.0, 3.0])
    part = v[key]
    answer = part.assign(value)
    assert isinstance(answer, tf.Variable)
    same(v, expected, "float32")
    same(answer, expected)
    np.testing.assert_array_equal(part, np.array([1.0, 2.0, 3.0])[key])


def test_slices_that_cannot_be_assigned(tf):
    v, n = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([1, 2])
    with pytest.raises(TypeError, match="int32"):
        n[0].assign(1.5)
    with pytest.raises(ValueError, match=r"float32.*int32"):
        v[0, 0].assign(tf.constant(1))
    for tensor in (tf.constant([1.0])[0], v[v > 2.0], v + 1.0):
        assert not hasattr(tensor, "assign")
    v.assign(v * 2.0)[1].assign([0.0, 1.0])
    same(v, [[2.0, 4.0], [0.0, 1.0]])
    same(n, [1, 2])


@pytest.mark.parametrize("value", [1.0, [1.0, 2.0, 3.0], [[1.0, 2.0]], []])
def test_assign_of_another_shape(tf, value):
    v = tf.Variable([1.0, 2.0], name="v")
    shape = str(np.shape(value))
    with pytest.raises(ValueError, match="Shape mismatch") as error:
        v.assign(value)
    assert all(word in str(error.value) for word in ("v:0", "(2,)", shape))
    for update in (v.assign_add, v.assign_sub):
        with pytest.raises(tf.errors.InvalidArgumentError, match="shapes must be equal"):
            update(value)
    same(v, [1.0, 2.0])


def test_assign_of_another_dtype(tf):
    v, n = tf.Variable([1.0, 2.0]), tf.Variable([1, 2])
    for update in (v.assign, v.assign_add, v.assign_sub):
        with pytest.raises(ValueError, match=r"float32.*float64"):
            update(tf.constant([1.0, 2.0], tf.float64))
        with pytest.raises(ValueError, match=r"float32.*int32"):
            update(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="int32"):
        n.assign([1.5, 2.5])
    with pytest.raises(ValueError, match="None"):
        v.assign(None)
    same(v, [1.0, 2.0], "float32")
    same(n, [1, 2], "int32")


def test_numpy_array_takes_the_dtype_of_the_variable(tf):
    n = tf.Variable([0, 0])
    n.assign(np.array([1.7, -1.7]))
    same(n, [1, -1], "int32")


# --- Operators -----------------------------------------------------------------------------------


def test_operators_give_tensors(tf):
    v, n = tf.Variable(2.0), tf.Variable(7)
    results = [
        (-v, -2.0),
        (abs(-v), 2.0),
        (v + 1, 3.0),
        (1 - v, -1.0),
        (v * v, 4.0),
        (1 / v, 0.5),
        (v**3, 8.0),
        (2**v, 4.0),
        (n // 2, 3),
        (n % 4, 3),
        (9 % n, 2),
        (n / 2, 3.5),
        (np.float64(3) * v, 6.0),
    ]
    for result, expected in results:
        assert isinstance(result, tf.Tensor)
        assert result.numpy() == expected
    same(tf.Variable([[1.0, 2.0]]) @ [[3.0], [4.0]], [[11.0]])
    same([[1.0, 2.0]] @ tf.Variable([[3.0], [4.0]]), [[11.0]])


def test_comparisons_give_tensors(tf):
    v = tf.Variable([1.0, 2.0])
    same(v == [1.0, 3.0], [True, False], "bool")
    same(v != [1.0, 3.0], [False, True], "bool")
    same(v == tf.Variable([1.0, 2.0]), [True, True], "bool")
    same(v < 2.0, [True, False], "bool")
    same(2.0 >= v, [True, True], "bool")
    assert v in [v]


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ipow"])
def test_augmented_assignment_is_refused(tf, name):
    v = tf.Variable(2.0)
    with pytest.raises(RuntimeError, match="not supported"):
        getattr(operator, name)(v, 3.0)
    same(v, 2.0)


@pytest.mark.parametrize(("name", "expected"), [("ifloordiv", 1.0), ("imod", 0.5)])
def test_augmented_floor_division_leaves_a_tensor(tf, name, expected):
    v = tf.Variable(2.0)
    result = getattr(operator, name)(v, 1.5)
    assert isinstance(result, tf.Tensor)
    same(result, expected)
    same(v, 2.0)


def test_indexing(tf):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    same(v[0], [1.0, 2.0], "float32")
    same(v[:, 1], [2.0, 4.0])
    same(v[..., ::-1], [[2.0, 1.0], [4.0, 3.0]])
    same(v[None, 1, -1], [4.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"index 2.*out of bounds"):
        v[2]
    with pytest.raises(TypeError, match="item assignment"):
        v[0] = 1.0


def test_iteration_and_length(tf):
    rows = list(tf.Variable([[1.0, 2.0], [3.0, 4.0]]))
    assert [row.numpy().tolist() for row in rows] == [[1.0, 2.0], [3.0, 4.0]]
    assert all(isinstance(row, tf.Tensor) for row in rows)
    with pytest.raises(TypeError, match="iterate over a scalar"):
        iter(tf.Variable(1.0)).__next__()
    with pytest.raises(TypeError, match="no len"):
        len(tf.Variable([1.0, 2.0]))


def test_conversion_to_python(tf):
    assert bool(tf.Variable(2.0)) is True
    assert bool(tf.Variable(0)) is False
    assert float(tf.Variable(2)) == 2.0
    assert int(tf.Variable(2.7)) == 2
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tf.Variable([1.0, 2.0]))


def test_conversion_to_numpy(tf):
    v = tf.Variable([1.0, 2.0])
    assert np.asarray(v).dtype == np.float32
    assert np.array(v, np.float64).dtype == np.float64
    assert isinstance(tf.Variable(1.0).numpy(), np.float32)
    np.testing.assert_allclose(np.exp(v), np.exp([1.0, 2.0]), rtol=1e-6)


# --- Identity ------------------------------------------------------------------------------------


def test_variable_is_unhashable_and_has_a_reference(tf):
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"Variable is unhashable.*ref\(\)"):
        hash(v)
    assert v.ref() == v.ref()
    assert v.ref() != w.ref()
    assert hash(v.ref()) == hash(v.ref())
    assert v.ref().deref() is v
    assert {v.ref(): "v", w.ref(): "w"}[v.ref()] == "v"


def test_copies(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    twin = copy.deepcopy(v)
    again = pickle.loads(pickle.dumps(v))
    v.assign([5.0, 5.0])
    for other in (twin, again):
        assert other.name == "v:0"
        same(other, [1.0, 2.0], "float32")


# --- Text ----------------------------------------------------------------------------------------

TEXTS = [
    (3.0, {}, "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=3.0>"),
    (3, {}, "<tf.Variable 'Variable:0' shape=() dtype=int32, numpy=3>"),
    (True, {}, "<tf.Variable 'Variable:0' shape=() dtype=bool, numpy=True>"),
    (
        [1, 2],
        {"name": "w"},
        "<tf.Variable 'w:0' shape=(2,) dtype=int32, numpy=array([1, 2], dtype=int32)>",
    ),
    (
        np.array([0.5, 2.0]),
        {"name": "w"},
        "<tf.Variable 'w:0' shape=(2,) dtype=float64, numpy=array([0.5, 2. ])>",
    ),
    (
        [[1.0, 2.0], [3.0, 4.0]],
        {"name": "m"},
        "<tf.Variable 'm:0' shape=(2, 2) dtype=float32, numpy=\n"
        "array([[1., 2.],\n       [3., 4.]], dtype=float32)>",
    ),
    (
        np.zeros((2, 0), np.float32),
        {},
        "<tf.Variable 'Variable:0' shape=(2, 0) dtype=float32, "
        "numpy=array([], shape=(2, 0), dtype=float32)>",
    ),
]


@pytest.mark.parametrize(("value", "options", "text"), TEXTS)
def test_repr_and_str(tf, value, options, text):
    v = tf.Variable(value, **options)
    assert repr(v) == str(v) == f"{v}" == text
    assert repr(v.ref()) == f"<Reference wrapping {text}>"


def test_repr_of_what_assign_returns(tf):
    answer = tf.Variable(1.0, name="v").assign_add(1.0)
    assert repr(answer) == "<tf.Variable 'UnreadVariable' shape=() dtype=float32, numpy=2.0>"


def test_format_of_a_variable_takes_no_specification(tf):
    with pytest.raises(TypeError, match="format"):
        f"{tf.Variable(1.5):.2f}"
