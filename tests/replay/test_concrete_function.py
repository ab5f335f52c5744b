"""What a `ConcreteFunction` tells about arguments, results and variables."""

import gc

import numpy as np
import pytest

import numtape as tf

SPEC, INT = tf.TensorSpec, tf.int32


@pytest.fixture
def concrete():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0, trainable=False)

    @tf.function
    def f(x, n=2, *, key=None):
        v.assign_add([1.0, 1.0])
        return {"a": x * v * w, "b": (tf.shape(x), None, n)}

    concrete_function = f.get_concrete_function(SPEC([None, 2]), 3)
    concrete_function.parts = f, v, w
    return concrete_function


def test_arguments(concrete):
    f, *_ = concrete.parts
    args, kwargs = concrete.structured_input_signature
    assert args == (SPEC([None, 2], name="x"), 3)
    assert kwargs == {"key": None}
    assert concrete.inputs[0] == SPEC([None, 2], name="x")
    assert f.get_concrete_function(SPEC([None, 2]), 3) is concrete
    assert f.get_concrete_function(SPEC([None, 2]), 4) is not concrete
    assert "n (POSITIONAL_OR_KEYWORD): Literal[3]" in concrete.pretty_printed_signature()
    assert "x: TensorSpec(shape=(None, 2)" in concrete.pretty_printed_signature(verbose=False)


def test_results(concrete):
    assert concrete.structured_outputs == {
        "a": SPEC([None, 2]),
        "b": (SPEC([2], INT), None, SPEC([], INT)),
    }
    assert concrete.output_shapes == {"a": [None, 2], "b": ([2], tf.TensorShape(None), [])}
    assert concrete.output_dtypes == {"a": tf.float32, "b": (INT, None, INT)}
    assert concrete.outputs == [SPEC([None, 2]), SPEC([2], INT), SPEC([], INT)]


def test_variables_keep_their_values(concrete):
    _, v, w = concrete.parts
    assert [x.ref() for x in concrete.variables] == [v.ref(), w.ref()]
    assert [x.ref() for x in concrete.trainable_variables] == [v.ref()]
    assert len(concrete.captured_inputs) == 2
    np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])
    concrete(tf.ones([1, 2]))
    np.testing.assert_array_equal(v.numpy(), [2.0, 3.0])


def test_names_of_nested_arguments():
    f = tf.function(lambda x, *rest: x)
    nested = f.get_concrete_function([SPEC([2]), {"q": SPEC([])}], SPEC([1]))
    (x, rest), _ = nested.structured_input_signature
    assert [x[0].name, x[1]["q"].name, rest.name] == ["x_0", "x_1_q", "rest_0"]


def test_what_only_graphs_have_is_refused(concrete):
    with pytest.raises(AttributeError, match="no graphs"):
        concrete.graph  # noqa: B018
    with pytest.raises(AttributeError, match="no graphs"):
        concrete.function_def  # noqa: B018


def test_calls_with_a_tensor_for_each_spec():
    f = tf.function(lambda x, **more: x[0] - x[1] + more["d"])
    flat = f.get_concrete_function((SPEC([]), SPEC([])), d=SPEC([], name="last"))
    one, two, five = map(tf.constant, (1.0, 2.0, 5.0))
    assert flat(one, two, five).numpy() == 4.0
    assert flat(x=one, x_1=two, last=five).numpy() == 4.0
    assert flat((one, two), d=five).numpy() == 4.0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f, x: f(), "missing a required argument: 'x'"),
        (lambda f, x: f(x, 3, 4, key=None), "too many positional arguments"),
        (lambda f, x: f(x, q=4), "unexpected keyword argument 'q'"),
        (lambda f, x: f(x, 4), "Can not cast 4 to Literal"),
        (lambda f, x: f(tf.cast(x, tf.float64)), "Can not cast TensorSpec"),
    ],
)
def test_errors_of_calls(concrete, call, text):
    with pytest.raises(TypeError, match=text):
        call(concrete, tf.ones([1, 2]))


def test_warning_of_many_recordings(caplog):
    f = tf.function(lambda x: x)
    for k in range(4):
        f(k)
    assert not caplog.records
    f(4)
    assert "Tracing is expensive" in caplog.text
    caplog.clear()
    g = tf.function(lambda x: x * 2.0)
    for k in range(1, 9):
        for _ in range(5):
            g(tf.ones(k))
    assert not caplog.records


class Pair:
    """A container of TensorFlow's protocol."""

    def __init__(self, name, x):
        self.name, self.x = name, x

    def __tf_flatten__(self):
        return (self.name,), (self.x,)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(*metadata, *components)


def test_containers_as_results():
    f = tf.function(lambda pair: Pair(pair.name, pair.x * 2.0))
    for k in range(3):
        result = f(Pair("a", tf.constant(float(k))))
        assert (type(result), result.name, result.x.numpy()) == (Pair, "a", 2.0 * k)


def test_concrete_functions_end_with_their_last_reference():
    f = tf.function(lambda x: x + 1.0)
    concrete_functions = [f.get_concrete_function(SPEC([n])) for n in range(3)]
    assert f.get_concrete_function(SPEC([1])) is concrete_functions[1]
    del concrete_functions[:2]
    gc.collect()
    assert f.pretty_printed_concrete_signatures(verbose=False).count("TensorSpec(shape=(2,)") == 2
    assert "shape=(1,)" not in f.pretty_printed_concrete_signatures(verbose=False)
    other = f.get_concrete_function(SPEC([5]))
    assert len(f._concrete) == 2
    assert other is f.get_concrete_function(SPEC([5]))
