"""`tf.debugging`: assertions, their errors, and the first op with a NaN result."""

import io
import threading

import numpy as np
import pytest

import numtape
import numtape as tf

d = tf.debugging
INVALID = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("assert_equal", ([1, 2], [1, 2]), ([1, 2], [1, 3])),
        ("assert_none_equal", ([1, 2], [2, 1]), ([1, 2], [1, 3])),
        ("assert_less", ([1, 2], 3), ([1, 2], 2)),
        ("assert_less_equal", ([1, 2], 2), ([1, 2], 1)),
        ("assert_greater", ([1, 2], 0), ([1, 2], 1)),
        ("assert_greater_equal", ([1, 2], 1), ([1, 2], 2)),
        ("assert_near", ([1.0], [1.0000001]), ([1.0], [1.1])),
        ("assert_positive", ([1, 2],), ([1, 0],)),
        ("assert_negative", ([-1, -2],), ([-1, 0],)),
        ("assert_non_negative", ([1, 0],), ([-1, 0],)),
        ("assert_non_positive", ([-1, 0],), ([1, 0],)),
    ],
)
def test_values(name, good, bad):
    check = getattr(d, name)
    assert check(*good) is None
    with pytest.raises(INVALID, match="why it is asked"):
        check(*bad, message="why it is asked")

    @tf.function
    def inside(*xs):
        check(*xs)
        return xs[0] * 2

    for _ in range(3):
        inside(*map(tf.constant, good))
        with pytest.raises(INVALID):
            inside(*map(tf.constant, bad))


def test_check_numerics_also_looks_at_the_gradient():
    x = tf.constant([0.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = d.check_numerics(tf.sqrt(x), "root") * 1.0
        z = tf.sqrt(d.check_numerics(x, "argument"))
    assert y.numpy().tolist() == [0, 1]
    with pytest.raises(INVALID, match=r"detected in gradient\. argument"):
        tape.gradient(z, x)
    with pytest.raises(INVALID, match="here : Tensor had Inf and NaN"):
        d.check_numerics([np.inf, np.nan], "here")


def test_first_op_that_gives_nan_is_named():
    d.enable_check_numerics()
    try:
        x = tf.constant([-1.0, 4.0])
        with pytest.raises(INVALID, match=r'op "Sqrt"(.|\n)*\[-1.  4.\]'):
            tf.reduce_sum(tf.sqrt(x) * 2.0)
        function = tf.function(lambda x: tf.math.log(x))
        for _ in range(2):
            with pytest.raises(INVALID, match='op "Log"'):
                function(x)
        assert (x * 2.0).numpy().tolist() == [-2, 8]
        assert not tf.config.functions_run_eagerly()
    finally:
        d.disable_check_numerics()
    assert np.isnan(tf.sqrt(x).numpy()[0])


def test_traceback_filtering():
    d.disable_traceback_filtering()
    assert not d.is_traceback_filtering_enabled()
    d.enable_traceback_filtering()
    assert d.is_traceback_filtering_enabled()


def test_print():
    out = io.StringIO()
    tf.print(
        "x:",
        tf.constant([[0.1, 1 / 3], [1e-5, 123456789.0]]),
        {"a": tf.constant(2)},
        tf.range(10),
        output_stream=out,
    )
    assert out.getvalue() == (
        "x: [[0.1 0.333333343]\n [1e-05 123456792]] {'a': 2} [0 1 2 ... 7 8 9]\n"
    )


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
def test_print_in_a_function_prints_each_time():
    out = io.StringIO()

    @tf.function
    def f(x):
        tf.print(x, output_stream=out)
        return x + 1.0

    for k in range(3):
        f(tf.constant(float(k)))
    assert out.getvalue() == "0\n1\n2\n"


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
def test_python_in_functions_runs_each_time():
    seen = []

    @tf.function
    def f(x):
        return tf.py_function(lambda x: seen.append(1) or x * float(len(seen)), [x], tf.float32)

    assert [f(tf.constant(1.0)).numpy() for _ in range(3)] == [1, 2, 3]


def test_name_scopes_are_of_a_thread():
    names = []
    with tf.name_scope("outer"), tf.name_scope("inner"):
        thread = threading.Thread(target=lambda: names.append(tf.Variable(1.0, name="v").name))
        thread.start()
        thread.join()
        names.append(tf.Variable(1.0, name="v").name)
        with tf.name_scope(""):
            names.append(tf.Variable(1.0, name="v").name)
    assert names == ["v:0", "outer/inner/v:0", "v:0"]


def test_init_scope_is_not_recorded():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        with tf.init_scope():
            z = v * y
    assert tape.gradient([y, z], v).numpy() == 6


def test_choices_and_folds_have_gradients():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        folds = [tf.foldl(lambda a, x: a * x, x), tf.foldr(lambda a, x: a - 2.0 * x, x)]
        chosen = tf.switch_case(tf.constant(1), [lambda: x, lambda: x * x])
        picked = tf.case([(x[0] > 5.0, lambda: x), (x[1] > 1.0, lambda: 3.0 * x)])
    found = [tape.gradient(y, x).numpy().tolist() for y in (*folds, chosen, picked)]
    assert found == [[6, 3, 2], [-2, -2, 1], [2, 4, 6], [3, 3, 3]]
    if tf is numtape:
        assert tf.Assert(True, []) is None
