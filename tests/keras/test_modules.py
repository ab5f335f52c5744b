"""Modules, the dense layer and the two optimizers."""

import copy
import pickle

import numpy as np
import pytest
from checks import same

# --- Module --------------------------------------------------------------------------------------


@pytest.fixture
def model(tf):
    class InnerPart(tf.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            self.w = tf.Variable(1.0, name="w")
            self.fixed = tf.Variable(2.0, name="fixed", trainable=False)

    class WholeModel(tf.Module):
        def __init__(self):
            super().__init__()
            self.last = InnerPart("named")
            self.first = [InnerPart(), {"key": (InnerPart(),)}]
            self.bias = tf.Variable(3.0, name="bias")
            self.alias = self.bias
            self.rate = 0.1

    return WholeModel()


def names(variables):
    return [v.name for v in variables]


def test_module_names(tf, model):
    assert model.name == "whole_model"
    assert model.last.name == "named"
    assert model.first[0].name == "inner_part"
    assert tf.Module(name="ok").name == "ok"


@pytest.mark.parametrize("name", ["1a", "a b", "a-b", ""])
def test_module_names_that_are_refused(tf, name):
    with pytest.raises(ValueError, match="not a valid module name"):
        tf.Module(name=name)


def test_module_variables_by_attribute_name_own_before_inner(model):
    inner = ["fixed:0", "w:0"]
    assert names(model.last.variables) == inner
    assert names(model.variables) == ["bias:0", *inner, *inner, *inner]
    assert names(model.trainable_variables) == ["bias:0", "w:0", "w:0", "w:0"]
    assert names(model.non_trainable_variables) == ["fixed:0"] * 3
    assert isinstance(model.variables, tuple)
    assert model.variables[0] is model.bias


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        ((2, 10), (2, 10)),
        ((10, 9), (9, 10)),
        (("b", "a"), ("a", "b")),
        (((2, 1), (1, 3)), ((1, 3), (2, 1))),
    ],
)
def test_variables_in_a_dict_are_ordered_by_key(tf, keys, order):
    module = tf.Module()
    module.d = {key: tf.Variable(float(k)) for k, key in enumerate(keys)}
    assert [float(v) for v in module.variables] == [float(keys.index(key)) for key in order]


def test_submodules(model):
    assert isinstance(model.submodules, tuple)
    found = [model.first[0], model.first[1]["key"][0], model.last]
    assert [id(m) for m in model.submodules] == [id(m) for m in found]
    assert model.last.submodules == ()


def test_module_that_holds_itself(tf):
    module = tf.Module()
    module.z, module.a = tf.Variable(1.0, name="z"), tf.Variable(2.0, name="a")
    module.me = module
    assert names(module.variables) == ["a:0", "z:0"]
    assert module.submodules == ()


def test_gradients_of_a_module(tf, model):
    with tf.GradientTape() as tape:
        y = model.bias * model.last.w * 2 + model.last.fixed
    gradients = tape.gradient(y, model.trainable_variables)
    assert [g if g is None else float(g) for g in gradients] == [2.0, None, None, 6.0]


# --- Dense ---------------------------------------------------------------------------------------


def test_dense_builds_its_weights_on_the_first_call(tf):
    layer = tf.keras.layers.Dense(2)
    assert not layer.built
    assert layer.variables == layer.trainable_variables == []
    y = layer(tf.ones((4, 3)))
    assert layer.built
    assert y.shape == (4, 2)
    assert isinstance(y, tf.Tensor)
    assert [v.name for v in layer.variables] == ["kernel", "bias"]
    assert [tuple(v.shape) for v in layer.trainable_variables] == [(3, 2), (2,)]
    np.testing.assert_array_equal(layer.bias, [0.0, 0.0])
    same(y, np.ones((4, 3)) @ layer.kernel.numpy() + layer.bias.numpy(), "float32")


def test_a_layer_that_was_built_is_not_built_again(tf):
    layer = tf.keras.layers.Dense(2)
    layer.build((None, 3))
    kernel = layer.kernel
    assert layer.built
    assert len(layer.weights) == 2
    layer(tf.ones((4, 3)))
    assert layer.kernel is kernel


def test_a_subclass_has_built_when_its_own_build_is_done(tf):
    class Shift(tf.keras.Layer):
        def build(self, input_shape):
            self.shift = self.add_weight((), "ones", name="shift")

    class Scaled(Shift):
        def build(self, input_shape):
            super().build(input_shape)
            if fails:
                raise OSError
            self.scale = self.add_weight((), "ones", name="scale")

        def call(self, inputs):
            return inputs * self.scale + self.shift

    fails, layer = True, Scaled()
    for _ in range(2):
        with pytest.raises(OSError):
            layer(tf.ones((4, 3)))
        assert not layer.built
    fails = False
    layer(tf.ones((4, 3)))
    assert layer.built


def test_dense_kernel_is_drawn_by_glorot(tf):
    tf.random.set_seed(3)
    layer = tf.keras.layers.Dense(400)
    layer(tf.ones((1, 600)))
    kernel, limit = layer.kernel.numpy(), np.sqrt(6 / 1000)
    assert -limit < kernel.min() < -0.99 * limit
    assert 0.99 * limit < kernel.max() < limit
    assert abs(kernel.mean()) < 0.01 * limit


def test_dense_without_a_bias(tf):
    layer = tf.keras.layers.Dense(2, use_bias=False)
    layer(np.ones((1, 3), np.float32))
    assert [v.name for v in layer.variables] == ["kernel"]
    assert layer.bias is None


def test_variables_of_a_layer_and_those_a_tape_saw_are_the_same(tf):
    layer = tf.keras.layers.Dense(2)
    with tf.GradientTape() as tape:
        y = layer(tf.ones((1, 3)))
    kernel, bias = tape.watched_variables()
    assert [v.name for v in (kernel, bias)] == [f"{layer.name}/{n}:0" for n in ("kernel", "bias")]
    assert layer.kernel.path == f"{layer.name}/kernel"
    dkernel, dbias = tape.gradient(y, [kernel, layer.bias])
    same(dkernel, np.ones((3, 2)))
    same(dbias, [1.0, 1.0])
    bias.assign([3.0, 4.0])
    np.testing.assert_array_equal(np.asarray(layer.bias), [3.0, 4.0])
    layer.bias.assign([5.0, 6.0])
    same(bias, [5.0, 6.0])


@pytest.mark.numtape_only("Keras copies layers in its own way")
def test_copied_layers_have_variables_of_their_own(tf):
    layer = tf.keras.layers.Dense(2, activation="tanh")
    layer(tf.ones((1, 3)))
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        np.testing.assert_array_equal(twin.kernel, layer.kernel)
        assert twin.kernel.name == "kernel"
        twin.kernel.assign(tf.zeros((3, 2)))
        assert np.asarray(layer.kernel).any()
        assert not np.asarray(twin(tf.ones((1, 3)))).any()


def test_dense_of_higher_rank_and_other_dtypes(tf):
    layer = tf.keras.layers.Dense(units=2)
    assert layer(tf.ones((2, 5, 3))).shape == (2, 5, 2)
    for dtype in ("int32", "float64"):
        assert layer(tf.ones((1, 1, 3), dtype)).dtype == tf.float32


ACTIVATIONS = {
    None: lambda x: x,
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
}


@pytest.mark.parametrize(("name", "function"), ACTIVATIONS.items())
def test_dense_activation_by_name(tf, name, function):
    layer = tf.keras.layers.Dense(2, activation=name)
    layer(tf.ones((1, 2)))
    layer.kernel.assign([[1.0, -2.0], [0.5, 1.0]])
    layer.bias.assign([0.25, -1.0])
    same(layer(tf.constant([[1.0, 2.0]])), function(np.array([[2.25, -1.0]])), rtol=1e-5)


def test_dense_activation_by_function(tf):
    for activation, expected in [(tf.nn.relu, [0.0, 3.0]), (lambda x: 2 * x, [-6.0, 6.0])]:
        layer = tf.keras.layers.Dense(2, activation=activation)
        layer(tf.ones((1, 1)))
        layer.kernel.assign([[-3.0, 3.0]])
        same(layer(tf.ones((1, 1))), [expected])


def test_dense_names(tf):
    assert tf.keras.layers.Dense(1, name="readout").name == "readout"
    first, second = tf.keras.layers.Dense(1).name, tf.keras.layers.Dense(1).name
    assert first.startswith("dense")
    number = int(first.removeprefix("dense").lstrip("_") or 0)
    assert second == f"dense_{number + 1}"


def test_dense_gradient(tf):
    x = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
    layer = tf.keras.layers.Dense(2, activation="relu")
    layer(x)
    layer.kernel.assign([[1.0, -1.0], [1.0, 1.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(x))
    dk, db = tape.gradient(loss, layer.trainable_variables)
    on = (x @ [[1.0, -1.0], [1.0, 1.0]]) > 0
    same(dk, x.T @ on, "float32")
    same(db, on.sum(0), "float32")


def test_dense_errors(tf):
    for units in (0, -1, 2.5):
        with pytest.raises(ValueError, match="units"):
            tf.keras.layers.Dense(units)
    with pytest.raises(ValueError, match="bad"):
        tf.keras.layers.Dense(1, activation="bad")
    layer = tf.keras.layers.Dense(2)
    with pytest.raises(ValueError, match=r"\(3,\)"):
        layer(tf.ones((3,)))
    with pytest.raises(ValueError, match=r"Only input tensors|should be tensors|ndim=0"):
        layer(3.0)
    layer = tf.keras.layers.Dense(2)
    layer(tf.ones((1, 3)))
    with pytest.raises(ValueError, match=r"3.*\(2, 4\)"):
        layer(tf.ones((2, 4)))


# --- Optimizers ----------------------------------------------------------------------------------

START = np.array([1.0, -2.0])
STEPS = [np.array(g) for g in ([0.5, 1.0], [-1.0, 0.0], [2.0, -0.25])]


def sgd(rate=0.01, momentum=0.0, nesterov=False):
    x, velocity = START, 0.0
    for g in STEPS:
        velocity = momentum * velocity - rate * g
        x = x + (momentum * velocity - rate * g if nesterov else velocity)
        yield x


def adam(rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7):
    x, m, v = START, 0.0, 0.0
    for step, g in enumerate(STEPS, 1):
        m, v = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * g * g
        x = x - rate * np.sqrt(1 - beta_2**step) / (1 - beta_1**step) * m / (np.sqrt(v) + epsilon)
        yield x


OPTIMIZERS = [
    ("SGD", {}, sgd()),
    ("SGD", {"learning_rate": 0.1}, sgd(0.1)),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}, sgd(0.1, 0.9)),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}, sgd(0.1, 0.9, True)),
    ("SGD", {"nesterov": True}, sgd()),
    ("Adam", {}, adam()),
    ("Adam", {"learning_rate": 0.1}, adam(0.1)),
    ("Adam", {"beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-3}, adam(0.001, 0.5, 0.9, 1e-3)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "options", "positions"), [(n, o, list(p)) for n, o, p in OPTIMIZERS]
)
def test_steps(tf, name, options, positions, dtype):
    optimizer = getattr(tf.keras.optimizers, name)(**options)
    x, scalar = tf.Variable(START, dtype=dtype), tf.Variable(1.0)
    for step, (g, expected) in enumerate(zip(STEPS, positions, strict=True), 1):
        gradients = [tf.constant(g, dtype), tf.constant(0.0)]
        optimizer.apply_gradients(zip(gradients, [x, scalar], strict=True))
        same(x, expected, dtype, rtol=2e-6)
        assert int(optimizer.iterations.numpy()) == step
    same(scalar, 1.0)


@pytest.mark.numtape_only("Keras has powers of beta in float32")
def test_adam_steps_in_the_precision_of_the_variable(tf):
    optimizer, x = tf.keras.optimizers.Adam(0.5), tf.Variable(START, dtype="float64")
    for g, expected in zip(STEPS, adam(0.5), strict=True):
        optimizer.apply_gradients([(tf.constant(g), x)])
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-13)


def test_optimizer_attributes(tf):
    assert float(tf.keras.optimizers.SGD().learning_rate) == pytest.approx(0.01)
    optimizer = tf.keras.optimizers.Adam(0.5)
    assert float(optimizer.learning_rate) == 0.5
    assert int(optimizer.iterations.numpy()) == 0
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.999, 1e-7)
    assert tf.optimizers.SGD is tf.keras.optimizers.SGD


def test_learning_rate_can_be_changed(tf):
    optimizer, x = tf.keras.optimizers.SGD(0.1), tf.Variable([1.0, 2.0])
    optimizer.learning_rate = 0.5
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), x)])
    same(x, [0.5, 1.5])
    optimizer.learning_rate.assign(1.0)
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), x)])
    same(x, [-0.5, 0.5])


def test_missing_gradients_are_passed_over(tf):
    optimizer = tf.keras.optimizers.SGD(0.5)
    x, y = tf.Variable(1.0), tf.Variable(2.0)
    with pytest.warns(UserWarning, match=r"Gradients do not exist for variables.*Variable:0"):
        optimizer.apply_gradients([(None, x), (tf.constant(1.0), y)])
    same(x, 1.0)
    same(y, 1.5)
    for pairs in ([(None, x)], []):
        with pytest.raises(ValueError):
            optimizer.apply_gradients(pairs)


def test_optimizer_knows_the_variables_of_its_first_step(tf):
    optimizer = tf.keras.optimizers.SGD(0.5, momentum=0.9)
    x, y = tf.Variable(1.0), tf.Variable(2.0)
    optimizer.apply_gradients([(tf.constant(1.0), x)])
    with pytest.raises(ValueError, match="Unknown variable"):
        optimizer.apply_gradients([(tf.constant(1.0), y)])


@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {}), ("SGD", {"momentum": 0.9}), ("Adam", {})], ids=str
)
def test_variable_that_is_there_twice_has_both_updates(tf, name, options):
    """As with two separate steps, except that Adam corrects its bias once per step."""
    v, w = tf.Variable([1.0, -2.0]), tf.Variable([1.0, -2.0])
    twice, each = (getattr(tf.keras.optimizers, name)(0.1, **options) for _ in range(2))
    twice.apply_gradients([(v * 3.0, v), (tf.constant([0.5, 1.0]), v)])
    gradients = w * 3.0, tf.constant([0.5, 1.0])
    for gradient in gradients:
        each.apply_gradients([(gradient, w)])
        each.iterations.assign(0)
    same(v, w.numpy(), rtol=1e-6)
    assert int(twice.iterations) == 1


class Trained:
    """A model with its optimizer."""

    def __init__(self, tf, name):
        self.optimizer = getattr(tf.keras.optimizers, name)(0.1)
        self.v = tf.Variable([1.0, -2.0])

    def step(self):
        self.optimizer.apply_gradients([(self.v * 1.0, self.v)])
        return self.v


@pytest.mark.numtape_only("Keras's optimizers cannot be copied")
@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_copied_optimizers_go_on(tf, name, steps):
    model = Trained(tf, name)
    for _ in range(steps):
        model.step()
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = np.asarray(model.step())
    for twin in twins:
        same(twin.step(), expected)
        assert int(twin.optimizer.iterations) == steps + 1


@pytest.mark.parametrize("options", [{"momentum": -1.0}, {"momentum": 2.0}, {"rate": 0.1}])
def test_optimizer_options_that_are_refused(tf, options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        tf.keras.optimizers.SGD(**options)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_training_fits_a_line(tf, name):
    x = np.linspace(-1, 1, 16, dtype=np.float32)[:, None]
    layer = tf.keras.layers.Dense(1)
    layer(x)
    layer.kernel.assign([[0.0]])
    optimizer = getattr(tf.keras.optimizers, name)(0.2)
    for _ in range(120):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(x) - (3 * x - 1)) ** 2)
        gradients = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
    np.testing.assert_allclose(layer.kernel.numpy(), [[3.0]], atol=0.01)
    np.testing.assert_allclose(layer.bias.numpy(), [-1.0], atol=0.01)


# --- LayerNormalization --------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5), (2, 300), (4, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layer_normalization(tf, shape, dtype):
    x = np.random.default_rng(0).normal(3.0, 2.0, shape).astype(dtype)
    layer = tf.keras.layers.LayerNormalization(epsilon=1e-2, dtype=dtype)
    y = layer(tf.constant(x))
    assert [tuple(v.shape) for v in layer.trainable_variables] == [shape[-1:], shape[-1:]]
    layer.gamma.assign(np.arange(shape[-1]).astype(dtype))
    layer.beta.assign(np.full(shape[-1], 0.5, dtype))
    y = layer(tf.constant(x))
    centred = x - x.mean(-1, keepdims=True, dtype="float64")
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-2)
    expected = expected * np.arange(shape[-1]) + 0.5
    tolerance = (2e-6 if dtype == "float32" else 1e-14) * shape[-1]
    np.testing.assert_allclose(y.numpy(), expected, rtol=tolerance, atol=tolerance)
    assert y.dtype == dtype


@pytest.mark.tf_differs("TensorFlow's second derivative is not that of the formula")
def test_layer_normalization_has_derivatives_to_second_order(tf):
    """Compared with a formula of means and roots, also for constant rows."""
    layer = tf.keras.layers.LayerNormalization(
        epsilon=0.1, center=False, scale=False, dtype="float64"
    )

    def by_hand(x):
        centred = x - tf.reduce_mean(x, -1, True)
        return centred / tf.sqrt(tf.reduce_mean(centred * centred, -1, True) + 0.1)

    x = np.random.default_rng(1).normal(size=(3, 7))
    x[2] = 1.5
    w = np.cos(np.arange(21.0)).reshape(3, 7)
    found = []
    for function in (layer, by_hand):
        v = tf.Variable(x)
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.sin(function(v)) * w)
            g = inner.gradient(y, v)
            h = tf.reduce_sum(g * g * w)
        found.append([y.numpy(), g.numpy(), outer.gradient(h, v).numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_moments(tf):
    x = np.random.default_rng(2).normal(3.0, 2.0, (4, 5))
    for axes, keep in ((0, False), ([0, 1], True), (-1, True)):
        mean, variance = tf.nn.moments(
            tf.constant(x), [axes] if axes == -1 else axes, keepdims=keep
        )
        over = tuple(axes) if isinstance(axes, list) else axes
        np.testing.assert_allclose(mean.numpy(), x.mean(over, keepdims=keep))
        np.testing.assert_allclose(variance.numpy(), x.var(over, keepdims=keep))


@pytest.mark.parametrize(
    "name, options, expected",
    [
        ("elu", (2.0,), [-1.2642411, 0.5, 3.0]),
        ("relu", (0.1,), [-0.1, 0.5, 3.0]),
        ("relu", (0.1, 2.0), [-0.1, 0.5, 2.0]),
        ("relu", (0.5, None, 1.0), [-1.0, -0.25, 3.0]),
        ("relu", (0.0, 1.0), [0.0, 0.5, 1.0]),
    ],
)
def test_options_of_activations(tf, name, options, expected):
    function = getattr(tf.keras.activations, name)
    found = function(tf.constant([-1.0, 0.5, 3.0]), *options)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_the_first_operand_of_atan2_is_called_y(tf):
    assert abs(float(tf.atan2(y=1.0, x=2.0)) - np.arctan2(1, 2)) < 1e-6


@pytest.mark.numtape_only("Keras raises AttributeError")
@pytest.mark.parametrize("wrong", [1.0, 5, None])
def test_what_is_no_variable_is_refused_and_changes_nothing(tf, wrong):
    optimizer, v = tf.keras.optimizers.SGD(0.1), tf.Variable(1.0)
    bad = tf.constant(1.0) if wrong == 1.0 else wrong
    with pytest.raises(TypeError, match="not a variable"):
        optimizer.apply_gradients([(tf.constant(1.0), bad)])
    optimizer.apply_gradients([(tf.constant(1.0), v)])
    assert abs(float(v) - 0.9) < 1e-6


@pytest.mark.numtape_only("Keras raises what zip raises")
def test_pairs_that_are_none(tf):
    with pytest.raises(TypeError, match="pairs"):
        tf.keras.optimizers.SGD(0.1).apply_gradients([1, 2])


@pytest.mark.parametrize("inputs", [5, 5.0, "a", None], ids=repr)
def test_inputs_of_a_dense_layer_that_are_no_tensors(tf, inputs):
    with pytest.raises(ValueError, match=r"tensors"):
        tf.keras.layers.Dense(2)(inputs)


@pytest.mark.tf_differs("TensorFlow raises an IndexError")
def test_layer_normalization_of_a_scalar(tf):
    with pytest.raises(ValueError, match="expected min_ndim=1, found ndim=0"):
        tf.keras.layers.LayerNormalization()(tf.constant(5.0))


@pytest.mark.parametrize("name", [5, ["a"]], ids=repr)
def test_module_names_that_are_no_strings(tf, name):
    with pytest.raises(TypeError, match="string"):
        tf.Module(name=name)


def test_shape_of_a_variable_as_a_number(tf):
    assert tf.Variable([1.0, 2.0], shape=2).shape == [2]
    with pytest.raises(ValueError, match="shape"):
        tf.Variable([1.0, 2.0], shape=3)
    with pytest.raises(TypeError, match="shape"):
        tf.Variable([1.0, 2.0], shape="a")


@pytest.mark.parametrize("keepdims", [[1], 1, "a", None, ()], ids=repr)
def test_keepdims_is_taken_for_its_truth(tf, keepdims):
    for reduce in (tf.reduce_sum, tf.reduce_mean):
        assert reduce([1.0, 2.0], keepdims=keepdims).shape == ([1] if keepdims else [])
