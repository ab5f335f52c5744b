"""Arguments of variables, and state preserved by copies of variables, tensors and modules."""

import copy
import pickle

import pytest


def halved(x):
    return x / 2.0


def test_arguments_in_their_order(tf):
    v = tf.Variable([1, 2], False, True, None, "v", None, tf.float64)
    assert (v.name, v.dtype, v.trainable) == ("v:0", tf.float64, False)


def test_policies(tf):
    v = tf.Variable(1.0)
    assert v.aggregation == tf.VariableAggregation.NONE and v.constraint is None
    assert v.synchronization == tf.VariableSynchronization.AUTO
    v = tf.Variable(
        1.0,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
    )
    assert not v.trainable and v.aggregation == tf.VariableAggregation.SUM
    for wrong in ({"aggregation": "sum"}, {"synchronization": 5}, {"constraint": 3}, {"name": 3}):
        with pytest.raises(ValueError):
            tf.Variable(1.0, **wrong)


@pytest.mark.numtape_only(reason="TensorFlow's variables may change their shape")
def test_open_shapes_are_refused(tf):
    with pytest.raises(tf.errors.UnimplementedError, match="shape"):
        tf.Variable([1.0], shape=[None])


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.numtape_only(reason="TensorFlow's do not keep a constraint")
def test_copies(tf, again):
    v = tf.Variable([1.0, 2.0], trainable=False, name="v", constraint=halved)
    found = again(v)
    v.assign_add([1.0, 1.0])
    assert found.numpy().tolist() == [1.0, 2.0] and found.name == "v:0" and not found.trainable
    assert found.constraint is halved
    module = tf.Module(name="m")
    module.v, module.parts = v, {"again": v, "x": tf.constant([1, 2], tf.int64)}
    other = again(module)
    assert other.v is other.parts["again"] is not v and len(other.variables) == 1
    assert other.parts["x"].dtype == tf.int64 and other.name == "m"


def test_an_optimizer_puts_new_values_through_the_constraint(tf):
    v = tf.Variable([1.0, -2.0], constraint=tf.nn.relu)
    optimizer = tf.keras.optimizers.SGD(0.5)
    optimizer.apply_gradients([(tf.constant([4.0, 1.0]), v)])
    assert v.numpy().tolist() == [0.0, 0.0]
    optimizer.apply_gradients([(tf.constant([-4.0, 1.0]), v)])
    assert v.numpy().tolist() == [2.0, 0.0]


def test_set_shape_checks(tf):
    for x in (tf.Variable([1.0, 2.0]), tf.constant([1.0, 2.0])):
        x.set_shape([2])
        x.set_shape([None])
        with pytest.raises(ValueError, match="compatible"):
            x.set_shape([3])


def test_what_tensors_have_not_says_what_to_write_instead(tf):
    x = tf.constant([1.0, 2.0])
    for name in ("op", "graph", "name", "T", "astype", "reshape", "tolist"):
        assert not hasattr(x, name)
        with pytest.raises(AttributeError, match=name):
            getattr(x, name)
    with pytest.raises(NotImplementedError, match="numpy"):
        x.eval()
