"""Optimizers that hold others: loss scales, and different optimizers for parts of a model."""

import copy

import numpy as np
import pytest

import numtape as tf

keras = tf.keras
optimizers = keras.optimizers


@pytest.mark.parametrize("replayed", [False, True])
def test_loss_scale_of_finite_and_infinite_steps(replayed):
    v = tf.Variable([1.0, 2.0])
    optimizer = optimizers.LossScaleOptimizer(optimizers.SGD(0.5), 4.0, 2)
    optimizer.build([v])

    def step(gradient):
        optimizer.apply([gradient], [v])

    step = tf.function(step) if replayed else step
    scales, values = [], []
    for number in (4.0, 8.0, np.inf, np.nan, 2.0):
        step(tf.constant([number, 4.0]))
        scales.append(float(optimizer.dynamic_scale))
        values.append(v.numpy()[0])
    assert scales == [4.0, 8.0, 4.0, 2.0, 2.0]
    assert values == [0.5, -0.5, -0.5, -0.5, -1.0]
    assert int(optimizer.iterations) == 3 and int(optimizer.step_counter) == 1
    assert float(optimizer.scale_loss(tf.constant(3.0))) == 6.0


def test_loss_scale_of_a_custom_optimizer():
    class Signs(optimizers.Optimizer):
        def update_step(self, gradient, variable, learning_rate):
            self.assign_sub(variable, learning_rate * tf.sign(gradient))

    v = tf.Variable(1.0)
    optimizer = optimizers.LossScaleOptimizer(Signs(learning_rate=0.5), 4.0)
    for number in (3.0, np.inf):
        optimizer.apply([tf.constant(number)], [v])
    assert float(v) == 0.5 and float(optimizer.dynamic_scale) == 2.0
    assert float(optimizer.learning_rate) == 0.5
    optimizer.learning_rate = 0.25
    assert float(optimizer.inner_optimizer.learning_rate) == 0.25


@pytest.mark.parametrize("options", [{"dynamic": False}, {"clipnorm": 1.0}, {"nosuch": 1}])
def test_loss_scale_refuses(options):
    with pytest.raises(ValueError, match="LossScaleOptimizer"):
        optimizers.LossScaleOptimizer(optimizers.SGD(), **options)
    with pytest.raises(ValueError, match="must be an optimizer"):
        optimizers.LossScaleOptimizer("sgd")


def pair():
    return [tf.Variable([1.0, 2.0], name="body"), tf.Variable(1.0, name="head")]


def test_parts_take_their_own_steps():
    optimizer_map = optimizers.OptimizerMap(optimizers.SGD(0.5))
    optimizer_map["hea."] = optimizers.Adam(0.25)
    optimizer = optimizers.MultiOptimizer(optimizer_map)
    body, head = variables = pair()
    for _ in range(2):
        optimizer.apply([tf.constant([1.0, 0.0]), tf.constant(7.0)], variables)
    np.testing.assert_allclose(body, [0.0, 2.0])
    np.testing.assert_allclose(head, 0.5, atol=1e-5)
    assert int(optimizer.iterations) == 2 and len(optimizer.optimizers) == 2
    names = [v.name for v in optimizer.variables]
    assert names[:2] == ["iteration", "learning_rate"] and "head_velocity" in names
    for access in (lambda: optimizer.learning_rate, lambda: setattr(optimizer, "learning_rate", 1)):
        with pytest.raises(AttributeError, match="individual"):
            access()
    optimizer.loss_scale_factor = 2.0
    assert all(x.loss_scale_factor == 2.0 for x in optimizer.optimizers)
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()
    other, copies = copy.deepcopy((optimizer, variables))
    other.apply([tf.constant([1.0, 0.0]), tf.constant(7.0)], copies)
    np.testing.assert_allclose(body, [0.0, 2.0])


def test_map_refuses():
    optimizer_map = optimizers.OptimizerMap(optimizers.SGD(), {"a.*": optimizers.SGD()})
    with pytest.raises(ValueError, match="already exists"):
        optimizer_map["a.*"] = optimizers.SGD()
    with pytest.raises(ValueError, match="must be a string"):
        optimizer_map[3] = optimizers.SGD()
    with pytest.raises(ValueError, match="instance"):
        optimizer_map["b"] = "sgd"
    with pytest.raises(ValueError, match="cannot be LossScale"):
        optimizer_map["b"] = optimizers.LossScaleOptimizer(optimizers.SGD())
    optimizer_map[".b"] = optimizers.SGD()
    with pytest.raises(ValueError, match="Multiple"):
        optimizer_map["ab"]
    with pytest.raises(TypeError, match="default_optimizer"):
        optimizers.OptimizerMap("sgd")
    with pytest.raises(ValueError, match="not an Optimizer"):
        optimizers.MultiOptimizer(lambda v: "sgd").build(pair())


def test_weights_of_a_loss_scale_optimizer_travel():
    v = tf.Variable([1.0, 2.0])
    optimizer, other = (optimizers.LossScaleOptimizer(optimizers.Adam(0.1), 8.0) for _ in range(2))
    optimizer.apply([tf.constant([1.0, -np.inf])], [v])
    other.build([v])
    store = {}
    optimizer.save_own_variables(store)
    other.load_own_variables(store)
    assert float(other.dynamic_scale) == 4.0
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, v=v)
    optimizer.apply([tf.constant([1.0, np.inf])], [v])
    assert float(optimizer.dynamic_scale) == 2.0 and checkpoint is not None


@pytest.mark.parametrize(
    "wrap",
    [
        lambda sgd: optimizers.LossScaleOptimizer(sgd, 8.0),
        lambda sgd: optimizers.MultiOptimizer(lambda variable: sgd),
    ],
)
def test_wrapped_slots_go_to_variables_of_other_names(wrap, tmp_path):
    def program(names):
        variables = {key: tf.Variable([1.0, 2.0], name=names + key) for key in "ab"}
        optimizer = wrap(optimizers.SGD(0.1, momentum=0.5))
        optimizer.build(list(variables.values()))
        return variables, optimizer

    def step(variables, optimizer):
        gradients = [tf.constant([1.0, k]) for k in range(len(variables))]
        optimizer.apply(gradients, list(variables.values()))
        return np.array([v.numpy() for v in variables.values()])

    variables, optimizer = program("x")
    step(variables, optimizer)
    path = tf.train.Checkpoint(optimizer=optimizer, **variables).save(str(tmp_path / "ck"))
    others, other = program("y")
    tf.train.Checkpoint(optimizer=other, **others).restore(path).assert_consumed()
    np.testing.assert_array_equal(step(others, other), step(variables, optimizer))
