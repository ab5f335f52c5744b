"""Errors: their type, the facts in their message, and unchanged state afterwards."""

import builtins
import re

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet
from checks import same

INVALID = "InvalidArgumentError"
ANY = "InvalidArgumentError or ValueError"


def refused(tf, kind):
    """Return the exception types of these names, from `tf.errors` or from Python."""
    places = (tf.errors, builtins)
    return tuple(
        next(getattr(place, name) for place in places if hasattr(place, name))
        for name in kind.split(" or ")
    )


def fails(tf, function, kind, *facts):
    """Assert that the call raises this type, with all facts in its message."""
    with pytest.raises(refused(tf, kind)) as error:
        function(tf)
    for fact in facts:
        assert re.search(fact, str(error.value), re.IGNORECASE | re.DOTALL), (fact, error.value)


def cases(table):
    return pytest.mark.parametrize(
        ("function", "kind", "facts"),
        [
            case
            if isinstance(case, ParameterSet)
            else pytest.param(case[1], case[2], case[3:], id=case[0])
            for case in table
        ],
    )


# --- Incompatible shapes -------------------------------------------------------------------------

SHAPES = [
    ("add", lambda tf: tf.zeros((2, 3)) + tf.zeros((2,)), INVALID, "add", "2, ?3.*2"),
    ("add function", lambda tf: tf.add([1.0, 2.0], [1.0, 2.0, 3.0]), INVALID, "add", "2.*3"),
    ("multiply", lambda tf: tf.zeros((2, 3)) * np.ones((2, 2)), INVALID, "mul", "2, ?3.*2, ?2"),
    ("less", lambda tf: tf.zeros((2,)) < tf.zeros((3,)), INVALID, "less", "2.*3"),
    ("equal", lambda tf: tf.equal([1, 2], [1, 2, 3]), INVALID, "equal", "2.*3"),
    ("variable", lambda tf: tf.Variable([1.0, 2.0]) + tf.zeros((3, 0)), INVALID, "2.*3, ?0"),
    ("matmul", lambda tf: tf.matmul(np.ones((2, 3)), np.ones((4, 5))), INVALID, "2, ?3.*4, ?5"),
    ("matmul batches", lambda tf: tf.ones((2, 3, 4)) @ tf.ones((3, 4, 5)), INVALID, "2, ?3, ?4"),
    ("matmul vector", lambda tf: tf.ones((2, 3)) @ tf.ones((3,)), INVALID, "matmul"),
    ("tensordot", lambda tf: tf.tensordot(np.ones((2, 3)), np.ones((2, 3)), 1), INVALID, "2, ?3"),
    ("reshape", lambda tf: tf.reshape(tf.range(6), (4, 2)), INVALID, "reshape", "6.*8"),
    ("reshape -1", lambda tf: tf.reshape(tf.range(6), (-1, 4)), INVALID, "reshape", "6.*4"),
    ("reshape -1, -1", lambda tf: tf.reshape(tf.range(6), (-1, -1)), INVALID, "only one"),
    ("reshape 0", lambda tf: tf.reshape(tf.range(6), (0, -1)), INVALID, "reshape", "6.*0"),
    ("reshape -2", lambda tf: tf.reshape(tf.zeros((0, 3)), (-1, 0, -2)), INVALID, "reshape", "-2"),
    ("transpose", lambda tf: tf.transpose(tf.zeros((2, 3)), [0]), INVALID, "transpose", "2.*1"),
    ("transpose twice", lambda tf: tf.transpose(tf.zeros((2, 3)), [0, 0]), INVALID, "transpose"),
    ("expand_dims", lambda tf: tf.expand_dims([1, 2], 3), INVALID, "3.*1"),
    ("squeeze", lambda tf: tf.squeeze(tf.zeros((1, 2)), axis=1), INVALID, "squeeze", "1.*2"),
    ("broadcast_to", lambda tf: tf.broadcast_to([1, 2], (2, 3)), INVALID, "2.*2, ?3"),
    ("concat", lambda tf: tf.concat([np.eye(2), np.eye(3)], 0), INVALID, "2, ?2.*3, ?3"),
    ("concat ranks", lambda tf: tf.concat([np.ones((2, 2)), [1.0]], 0), INVALID, "2, ?2.*1"),
    ("concat axis", lambda tf: tf.concat([[1.0], [2.0]], 2), INVALID, "concat", "2"),
    ("concat scalars", lambda tf: tf.concat([1.0, 2.0], 0), INVALID, "concat", "scalar"),
    ("stack", lambda tf: tf.stack([tf.zeros((2,)), tf.zeros((3,))]), INVALID, "stack", "2.*3"),
    ("stack of lists", lambda tf: tf.stack([[1.0, 2.0], [3.0]]), INVALID, "2.*1"),
    ("stack of a list and a number", lambda tf: tf.stack([[1.0, 2.0], 3.0]), INVALID, "2"),
    (
        "stack of ragged lists",
        lambda tf: tf.stack([[[1.0, 2.0], [3.0]]] * 2),
        "ValueError",
        "non-rectangular",
    ),
    ("stack axis", lambda tf: tf.stack([[1], [2]], axis=3), "ValueError", "3"),
    ("unstack", lambda tf: tf.unstack(tf.zeros((2, 3)), num=3), INVALID, "3.*2, ?3"),
    ("unstack axis", lambda tf: tf.unstack([1.0], axis=2), "ValueError", "2"),
    ("unstack scalar", lambda tf: tf.unstack(1.0), "ValueError"),
    ("split", lambda tf: tf.split(tf.range(6), 4), INVALID, "split", "6.*4"),
    ("split sizes", lambda tf: tf.split(tf.range(6), [1, 2]), INVALID, "split", "3"),
    ("split axis", lambda tf: tf.split(tf.range(6), 2, axis=1), INVALID, "split", "1"),
    ("slice begin", lambda tf: tf.slice(tf.zeros((3, 4)), [0], [1]), INVALID, "begin.*2"),
    ("slice rank", lambda tf: tf.slice(tf.zeros(3), [0, 0], [1, 1]), INVALID, "begin.*1"),
    ("repeat", lambda tf: tf.repeat([1, 2], [1, 2, 3], axis=0), "ValueError", "2"),
    ("repeat negative", lambda tf: tf.repeat([1, 2], -1), INVALID, "-1"),
    ("tile", lambda tf: tf.tile([[1, 2]], [2]), INVALID, "2.*1"),
    ("tile negative", lambda tf: tf.tile([1, 2], [-1]), INVALID, "-1"),
    ("pad", lambda tf: tf.pad([1, 2], [[1, 2], [0, 0]]), INVALID, "paddings"),
    ("pad negative", lambda tf: tf.pad([1, 2], [[-1, 2]]), INVALID, "-1"),
    ("pad mode", lambda tf: tf.pad([1, 2], [[1, 0]], "bad"), "ValueError", "bad"),
    ("where", lambda tf: tf.where([True, False], [1, 2, 3], [3, 4, 5]), INVALID, "2.*3"),
    ("where of two", lambda tf: tf.where([True], [1]), "ValueError", "x and y"),
    ("clip", lambda tf: tf.clip_by_value([1.0, 2.0], [1.0, 2.0, 3.0], 5.0), INVALID, "2.*3"),
    ("reduction axis", lambda tf: tf.reduce_sum(tf.zeros((2, 3)), axis=2), INVALID, "sum", "2"),
    ("reduction twice", lambda tf: tf.reduce_max(np.ones((2, 3)), [0, 0]), INVALID, "max", "0"),
    ("argmax axis", lambda tf: tf.argmax([[1.0]], axis=2), INVALID, "argmax", "2"),
    ("argmax of nothing", lambda tf: tf.argmax([]), INVALID, "argmax", "0.*empty|empty.*0"),
    ("softmax axis", lambda tf: tf.nn.softmax([[1.0, 2.0]], axis=2), INVALID, "2"),
    (
        "softmax cross-entropy",
        lambda tf: tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0, 2.0]], [[1.0, 2.0]]),
        INVALID,
        "logits",
        "labels",
        "1, ?2",
        "1, ?3",
    ),
    (
        "sparse cross-entropy",
        lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0], [[1.0, 2.0]]),
        "ValueError",
        "labels",
        r"\(2,\)",
        r"\(1, 2\)",
    ),
    (
        "sigmoid cross-entropy",
        lambda tf: tf.nn.sigmoid_cross_entropy_with_logits([0.0, 1.0], [1.0]),
        "ValueError",
        "labels",
        r"\(2,\)",
        r"\(1,\)",
    ),
    ("split num", lambda tf: tf.split(tf.range(4), [1, 3], num=3), INVALID, "3"),
    ("boolean_mask", lambda tf: tf.boolean_mask([1, 2, 3], True), "ValueError", "scalar"),
    ("reverse twice", lambda tf: tf.reverse([[1, 2, 3]], [0, -2]), INVALID, "axis 0"),
    ("clip t", lambda tf: tf.clip_by_value(1.0, [0.0, 1.0], 2.0), "ValueError", r"\(2,\)"),
    ("clip from above", lambda tf: tf.clip_by_value([1.0], 0.0, [[2.0]]), "ValueError", r"1, 1"),
    ("norm over axes", lambda tf: tf.norm(np.ones((1, 1, 2)), axis=[0, 1, 2]), "ValueError", "2"),
    ("norm over one", lambda tf: tf.norm([1.0], axis=[0]), "ValueError", "2 unique"),
    ("norm over one twice", lambda tf: tf.norm(T, axis=[]), "ValueError", "2 unique"),
    ("vector fro", lambda tf: tf.norm([1.0], "fro"), "ValueError", "'ord'.*fro"),
    ("axes for an axis", lambda tf: tf.expand_dims([1, 2], [0, 1]), ANY, r"\[0, 1\]|single value"),
    ("axes for argmax", lambda tf: tf.argmax([[1, 2]], [0, 1]), ANY + " or TypeError", "axis"),
    ("no axis", lambda tf: tf.nn.softmax([[1.0]], []), ANY + " or TypeError"),
    ("axes of a mask", lambda tf: tf.boolean_mask(T, [True], []), ANY + " or TypeError"),
    ("pad by a pair", lambda tf: tf.pad([1, 2], [1, 1]), INVALID, "paddings"),
    ("pad by a number", lambda tf: tf.pad([1, 2], 1), INVALID, "paddings"),
    ("pad deeper", lambda tf: tf.pad([1, 2], [[[1, 1]]]), INVALID, "paddings"),
    ("one_hot depths", lambda tf: tf.one_hot([1], [3]), INVALID, "depth.*scalar"),
    ("nested sizes", lambda tf: tf.split(tf.range(4), [[2, 2]]), INVALID, "2"),
    ("nested repeats", lambda tf: tf.repeat([1, 2], [[2, 3]]), ANY, "2"),
    *(
        (f"nested {name}", call, INVALID, "vector")
        for name, call in (
            ("zeros", lambda tf: tf.zeros([[2]])),
            ("fill", lambda tf: tf.fill([[2]], 1)),
            ("broadcast_to", lambda tf: tf.broadcast_to([1], [[2]])),
            ("uniform", lambda tf: tf.random.uniform([[2]])),
        )
    ),
    ("eye of a list", lambda tf: tf.eye([2]), INVALID + " or TypeError", r"\(?2"),
    ("fill", lambda tf: tf.fill((2,), [1.0, 2.0]), INVALID, "fill", "scalar", "2"),
    ("negative shape", lambda tf: tf.zeros((-1,)), INVALID, "-1"),
    ("tensordot axes", lambda tf: tf.tensordot(T, T, [[0], [0, 1]]), "ValueError", "1.*2"),
    ("tensordot too many", lambda tf: tf.tensordot(T, T, 3), "ValueError", "3.*2"),
]
T = np.ones((2, 3))


@cases(SHAPES)
def test_shapes_that_do_not_fit(tf, function, kind, facts):
    fails(tf, function, kind, *facts)


# --- Incompatible dtypes -------------------------------------------------------------------------

OPERATORS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "matmul": lambda a, b: a @ b,
}


@pytest.mark.parametrize(("name", "apply"), OPERATORS.items(), ids=OPERATORS.keys())
def test_tensors_of_two_dtypes(tf, name, apply):
    i, f, d = (tf.ones((2, 2), dtype) for dtype in (tf.int32, tf.float32, tf.float64))
    for a, b, words in [(i, f, "int32.*float"), (f, d, "float.*(double|float64)")]:
        fails(tf, lambda tf, a=a, b=b: apply(a, b), INVALID, words, name)
        fails(tf, lambda tf, a=a, b=b: apply(tf.Variable(a), b), INVALID, words)


@pytest.mark.parametrize(("name", "apply"), OPERATORS.items(), ids=OPERATORS.keys())
def test_python_float_beside_integers(tf, name, apply):
    i, half = tf.ones((2, 2), tf.int32), 0.5
    kind = INVALID if name in ("add", "matmul") else "TypeError"
    fails(tf, lambda tf: apply(i, half), kind, "int32")
    if name not in ("matmul", "less", "equal"):
        fails(tf, lambda tf: apply(half, i), "TypeError", r"0\.5", "int32")


DTYPES = [
    ("truediv", lambda tf: tf.constant(1.0) / tf.constant(2), "TypeError", "float32.*int32"),
    ("truediv by a float", lambda tf: tf.constant(1) / 2.0, "TypeError", "int32.*float32"),
    ("scalar plus float", lambda tf: tf.constant(1) + 1.5, INVALID, "int32.*float", "add"),
    ("tf.add", lambda tf: tf.add(1.5, tf.constant(1)), INVALID, "float.*int32"),
    ("tf.multiply", lambda tf: tf.multiply(1.5, tf.constant(1)), "TypeError", r"1\.5", "int32"),
    (
        "list beside bools",
        lambda tf: tf.equal([True, False], [2, 0]),
        "TypeError or ValueError",
        r"\[2, 0\]",
        "bool",
    ),
    (
        "remainder",
        lambda tf: tf.math.floormod(tf.constant([7]), tf.constant([0], tf.int64)),
        INVALID,
        "int32.*int64",
    ),
    (
        "truncated",
        lambda tf: tf.truncatemod(tf.constant([7]), tf.constant([False])),
        INVALID,
        "int32.*bool",
    ),
    ("concat", lambda tf: tf.concat([tf.ones(1), tf.range(1)], 0), INVALID, "float.*int32"),
    ("stack", lambda tf: tf.stack([tf.ones(1), tf.ones(1, tf.int32)]), INVALID, "float.*int32"),
    ("where", lambda tf: tf.where(True, tf.ones(1), tf.ones(1, tf.int32)), INVALID, "int32"),
    ("where mask", lambda tf: tf.where(tf.constant([1.0]), 1, 2), ANY, "bool.*float"),
    ("sqrt of int", lambda tf: tf.sqrt(4), INVALID, "int32", "sqrt"),
    ("sin of int", lambda tf: tf.sin(tf.constant([1])), INVALID, "int32", "sin"),
    ("softmax of int", lambda tf: tf.nn.softmax([1, 2]), INVALID, "int32", "softmax"),
    ("add of bool", lambda tf: tf.constant([True]) + tf.constant([True]), INVALID, "bool", "add"),
    ("sum of bool", lambda tf: tf.reduce_sum([True]), INVALID, "bool", "sum"),
    ("all of int", lambda tf: tf.reduce_all([1, 0]), "TypeError", "bool"),
    ("and of int", lambda tf: tf.logical_and(1, 0), "TypeError", "bool"),
    ("gather by float", lambda tf: tf.gather([1.0], [0.0]), INVALID, "float"),
    ("add of None", lambda tf: tf.constant(1.0) + None, "ValueError", "None"),
    ("add of an object", lambda tf: tf.constant(1.0) * object(), "ValueError", "object"),
    ("float as int", lambda tf: tf.constant(1.5, tf.int32), "TypeError", r"1\.5.*int32"),
    ("int as bool", lambda tf: tf.constant(1, tf.bool), "TypeError", "1.*bool"),
    ("converted float", lambda tf: tf.convert_to_tensor(1.5, tf.int32), "TypeError", "int32"),
    (
        "converted tensor",
        lambda tf: tf.convert_to_tensor(tf.constant(1.0), dtype=tf.float64),
        "ValueError",
        "float64.*float32",
    ),
    (
        "converted variable",
        lambda tf: tf.convert_to_tensor(tf.Variable(1.0), dtype=tf.float64),
        "ValueError",
        "float64.*float32",
    ),
    ("recast", lambda tf: tf.constant(tf.ones(1), tf.float64), "TypeError", "float64.*float32"),
    ("argmax", lambda tf: tf.argmax([1, 2], output_type=tf.uint8), INVALID, "uint8.*int16"),
    ("argmax float", lambda tf: tf.argmax([1], output_type=tf.float32), INVALID, "float.*int16"),
    ("argmin", lambda tf: tf.argmin([1, 2], output_type=tf.int16), INVALID, "int16.*int32"),
    ("cumsum of bool", lambda tf: tf.cumsum([True]), INVALID, "bool"),
    ("rank of ints", lambda tf: tf.linalg.matrix_rank(tf.constant([[1]])), "TypeError", "int32"),
    *(
        (f"filters of another dtype, {what}", call, INVALID, "double|float64")
        for what, call in (
            (
                "atrous",
                lambda tf: tf.nn.atrous_conv2d_transpose(
                    tf.ones((1, 2, 2, 2), tf.int32),
                    tf.ones((2, 2, 1, 2), tf.float64),
                    (1, 4, 4, 1),
                    2,
                    "VALID",
                ),
            ),
            (
                "transposed",
                lambda tf: tf.nn.conv2d_transpose(
                    tf.ones((1, 2, 2, 2)), tf.ones((2, 2, 1, 2), tf.float64), (1, 4, 4, 1), 2
                ),
            ),
        )
    ),
    ("int range", lambda tf: tf.random.uniform((2,), dtype=tf.int32), "ValueError", "maxval"),
]


@cases(DTYPES)
def test_dtypes_that_do_not_mix(tf, function, kind, facts):
    fails(tf, function, kind, *facts)


# --- Values --------------------------------------------------------------------------------------

VALUES = [
    ("float beyond float32", lambda tf: tf.constant(1e39), "ValueError", "range"),
    ("in a list", lambda tf: tf.constant([[1.0], [-1e39]]), "ValueError", "range"),
    ("with NumPy's", lambda tf: tf.constant([1.0, np.float64(1e39)]), "ValueError", "range"),
    ("cast to float64", lambda tf: tf.cast(1e300, tf.float64), "ValueError", "range"),
    ("variable", lambda tf: tf.Variable(1e39), "ValueError", "range"),
    ("None", lambda tf: tf.constant(None), "ValueError", "None"),
    ("ragged", lambda tf: tf.constant([[1.0, 2.0], [3.0]]), "ValueError", "non-rectangular"),
    ("bool first", lambda tf: tf.constant([True, 1]), "ValueError", "mixed types"),
    ("out of range", lambda tf: tf.constant(2**70), "ValueError", "out-of-range"),
    ("unsigned", lambda tf: tf.constant([2**63, 1]), "ValueError", "out-of-range"),
    (
        "unsigned of NumPy",
        lambda tf: tf.constant([np.uint64(2**63), 1]),
        "ValueError",
        "int64|range",
    ),
    ("unsigned, negative", lambda tf: tf.constant([2**63, -1]), "ValueError", "out-of-range"),
    ("unsigned, float", lambda tf: tf.constant([2**63, 1.5]), "ValueError", "out-of-range"),
    ("huge, float", lambda tf: tf.constant([2**70, 1.5]), "ValueError", "out-of-range"),
    ("int64", lambda tf: tf.constant([2**63, 1], tf.int64), "ValueError", "out-of-range"),
    ("huge bool", lambda tf: tf.constant([2**70, 1], tf.bool), "ValueError", "out-of-range"),
    ("beyond floats", lambda tf: tf.constant([2**1030], tf.float64), "ValueError", "out-of-range"),
    pytest.param(
        lambda tf: tf.constant([1]) * [2**40, 1],
        "ValueError",
        ("out-of-range",),
        id="beside int32",
        marks=pytest.mark.tf_differs("there they wrap around"),
    ),
    ("huge beside", lambda tf: tf.constant([1]) * [2**63, 1], "ValueError", "out-of-range"),
    ("one_hot", lambda tf: tf.one_hot([0, 1], -1), INVALID, "depth.*-1"),
    ("norm of order", lambda tf: tf.norm([3.0], [2]), "ValueError or TypeError"),
    ("stack of None", lambda tf: tf.stack(None), "ValueError or TypeError"),
    ("uniform down", lambda tf: tf.random.uniform([2], 3, 1, tf.int32), INVALID, "minval.*3.*1"),
    ("uniform of none", lambda tf: tf.random.uniform([2], 3, 3, tf.int32), INVALID, "minval"),
    ("uniform from None", lambda tf: tf.random.uniform([2], None, 3.0), "ValueError", "None"),
    (
        "while of a number",
        lambda tf: tf.while_loop(lambda k: k < 5, lambda k: k + 1, 0),
        "ValueError",
        "loop_vars",
    ),
    ("cond of two", lambda tf: tf.cond([True, False], dict, list), "ValueError", "truth value"),
    ("cond of none", lambda tf: tf.cond([], dict, list), "ValueError", "truth value"),
    ("cond of None", lambda tf: tf.cond(None, dict, list), "ValueError", "None"),
    (
        "transposed and adjoint",
        lambda tf: tf.matmul(T, T, transpose_b=True, adjoint_b=True),
        "ValueError",
        "transpose_b.*adjoint_b",
    ),
    (
        "vectors as well",
        lambda tf: tf.linalg.matvec(T, T[0], transpose_a=True, adjoint_a=True),
        "ValueError",
        "transpose_a.*adjoint_a",
    ),
    ("shape", lambda tf: tf.constant([1, 2, 3], shape=(2, 2)), "TypeError", "3.*4"),
    ("dtype", lambda tf: tf.constant(1, dtype="no dtype"), "TypeError", "no dtype"),
    ("range of nothing", lambda tf: tf.range(5, 1), INVALID, "range", "5.*1"),
    ("range without a step", lambda tf: tf.range(0, 5, 0), INVALID, "range", "delta"),
    ("range the wrong way", lambda tf: tf.range(0, 5, -1), INVALID, "range", "0.*5"),
    ("division by zero", lambda tf: tf.constant(7) // 0, INVALID, "division by zero"),
    ("remainder by zero", lambda tf: tf.constant([7, 8]) % [2, 0], INVALID, "division by zero"),
    ("negative power", lambda tf: tf.constant(2) ** -1, INVALID, "negative integer power"),
    ("gather too high", lambda tf: tf.gather([1.0, 2.0], [0, 2]), INVALID, "gather", "2.*not in"),
    ("gather negative", lambda tf: tf.gather([1.0, 2.0], [-1]), INVALID, "gather", "-1"),
    ("gather of a scalar", lambda tf: tf.gather(1.0, [0]), INVALID, "gather"),
    (
        "label too high",
        lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits([2], [[1.0, 2.0]]),
        INVALID,
        r"label value of 2",
        r"\[0, 2\)",
    ),
]


@cases(VALUES)
def test_values_that_are_refused(tf, function, kind, facts):
    fails(tf, function, kind, *facts)


@pytest.mark.tf_differs(reason="a list is true there, and the loop does not end")
def test_while_of_two_truth_values(tf):
    with pytest.raises(ValueError, match="truth value"):
        tf.while_loop(lambda k: [True, False], lambda k: [k + 1], [0])


# --- The tape ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.zeros(2), 1.0, None, "a", [1.0]], ids=str)
def test_watch_refuses_what_is_no_tensor(tf, value):
    inner = value[0] if isinstance(value, list) else value
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=type(inner).__name__):
        tape.watch(value)


def test_error_types(tf):
    assert issubclass(tf.errors.InvalidArgumentError, tf.errors.OpError)
    assert not issubclass(tf.errors.InvalidArgumentError, ValueError)
    with pytest.raises(tf.errors.OpError) as error:
        tf.zeros(2) + tf.zeros(3)
    assert error.value.message in str(error.value)


# --- After an error ------------------------------------------------------------------------------

MISTAKES = [
    ("shapes", lambda tf, v: v + tf.zeros((3,)), INVALID),
    ("dtypes", lambda tf, v: v * tf.ones((2,), tf.int32), INVALID),
    ("half of an expression", lambda tf, v: tf.reshape(tf.exp(v) * v, (3,)), INVALID),
    ("assign", lambda tf, v: v.assign([1.0, 2.0, 3.0]), "ValueError"),
    ("assign_add", lambda tf, v: v.assign_add(1.0), INVALID),
    ("augmented", lambda tf, v: v.__iadd__(1.0), "RuntimeError"),
    ("index", lambda tf, v: v[2], INVALID),
    ("gather", lambda tf, v: tf.gather(v, [5]), INVALID),
    ("truth", lambda tf, v: bool(v), "ValueError"),
    ("pow with a modulus", lambda tf, v: pow(v, 3, 5), "TypeError"),
]


@pytest.mark.parametrize(
    ("mistake", "kind"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES]
)
def test_recording_goes_on_after_a_mistake(tf, mistake, kind):
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = v * v
        with pytest.raises(refused(tf, kind)):
            mistake(tf, v)
        z = y * v
    same(v, [1.0, 2.0], "float32")
    same(z, [1.0, 8.0])
    same(tape.gradient(z, v), [3.0, 12.0])


def test_tape_can_be_asked_again_after_a_wrong_question(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
    for question in (
        lambda: tape.gradient(None, v),
        lambda: tape.gradient(y, v, unconnected_gradients="bad"),
        lambda: tape.batch_jacobian(tf.zeros((2, 2)), tf.zeros((3, 2))),
    ):
        with pytest.raises((TypeError, ValueError)):
            question()
        same(tape.gradient(y, v), 6.0)


def test_optimizer_step_of_a_wrong_shape_changes_nothing(tf):
    optimizer, v = tf.keras.optimizers.SGD(0.1), tf.Variable([1.0, 2.0])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        optimizer.apply_gradients([(tf.constant([1.0, 2.0, 3.0]), v)])
    same(v, [1.0, 2.0])
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    same(v, [0.9, 1.9])
