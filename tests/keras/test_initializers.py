"""Initializers, regularizers and constraints: distributions, formulas, names, configurations."""

import importlib.util
import json
import math
import random

import numpy as np
import pytest
from checks import same
from scipy import stats

SHAPE = (60, 40)
TRUNCATED = stats.truncnorm(-2, 2).std()


def normal(deviation, mean=0.0):
    return stats.norm(mean, deviation)


def truncated(deviation):
    """A truncated normal distribution with this standard deviation after truncation."""
    return stats.truncnorm(-2, 2, 0.0, deviation / TRUNCATED)


def uniform(limit):
    return stats.uniform(-limit, 2 * limit)


# Name, arguments, the distribution for a kernel of 60 inputs and 40 outputs.
LAWS = [
    ("RandomNormal", {}, normal(0.05)),
    ("RandomNormal", {"mean": 1.0, "stddev": 2.0}, normal(2.0, 1.0)),
    ("RandomUniform", {}, uniform(0.05)),
    ("RandomUniform", {"minval": -1.0, "maxval": 1.0}, uniform(1.0)),
    ("TruncatedNormal", {"stddev": 1.0}, stats.truncnorm(-2, 2)),
    ("VarianceScaling", {}, truncated((1 / 60) ** 0.5)),
    ("VarianceScaling", {"scale": 2.0, "mode": "fan_out"}, truncated((2 / 40) ** 0.5)),
    (
        "VarianceScaling",
        {"mode": "fan_avg", "distribution": "untruncated_normal"},
        normal((1 / 50) ** 0.5),
    ),
    ("VarianceScaling", {"distribution": "uniform"}, uniform((3 / 60) ** 0.5)),
    ("VarianceScaling", {"input_axes": [1], "output_axes": [0]}, truncated((1 / 40) ** 0.5)),
    ("GlorotNormal", {}, truncated((2 / 100) ** 0.5)),
    ("GlorotUniform", {}, uniform((6 / 100) ** 0.5)),
    ("HeNormal", {}, truncated((2 / 60) ** 0.5)),
    ("HeUniform", {}, uniform((6 / 60) ** 0.5)),
    ("LecunNormal", {}, truncated((1 / 60) ** 0.5)),
    ("LecunUniform", {}, uniform((3 / 60) ** 0.5)),
]
IDS = [f"{name}-{k}" for k, (name, _, _) in enumerate(LAWS)]


@pytest.mark.parametrize("name, arguments, law", LAWS, ids=IDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_have_their_law(tf, name, arguments, law, dtype):
    initializer = getattr(tf.keras.initializers, name)(seed=7, **arguments)
    draws = initializer(SHAPE, dtype=dtype)
    assert tuple(draws.shape) == SHAPE
    assert draws.dtype == dtype
    assert stats.kstest(draws.numpy().ravel(), law.cdf).pvalue > 1e-3
    low, high = law.support()
    assert low - 1e-6 <= draws.numpy().min() <= draws.numpy().max() <= high + 1e-6
    same(tf.reduce_mean(draws), law.mean(), atol=5 * law.std() / math.sqrt(draws.numpy().size))
    np.testing.assert_allclose(draws.numpy().std(), law.std(), rtol=0.05)


def test_kernels_of_convolutions_count_their_window(tf):
    draws = tf.keras.initializers.HeUniform(seed=1)((3, 3, 20, 30)).numpy()
    assert stats.kstest(draws.ravel(), uniform((6 / 180) ** 0.5).cdf).pvalue > 1e-3


# The numbers of Keras 3.15 on TensorFlow 2.21.
NUMBERS = [
    ("RandomNormal", {"seed": 3}, [-0.03357924, 0.08380252, -0.04721227]),
    ("RandomUniform", {"seed": -3}, [-0.01642755, 0.02357366, 0.04126182]),
    ("TruncatedNormal", {"seed": 2**31 + 5}, [-0.03370864, -0.01793463, -0.09397908]),
]


@pytest.mark.parametrize("name, arguments, expected", NUMBERS)
def test_a_seed_says_the_numbers(tf, name, arguments, expected):
    initializer = getattr(tf.keras.initializers, name)(**arguments)
    for _ in range(2):
        same(initializer((3,)), expected, "float32")
    same(initializer.clone()((3,)), expected, "float32")


def test_without_a_seed_each_object_has_one_of_its_own(tf):
    first, second = tf.keras.initializers.HeNormal(), tf.keras.initializers.HeNormal()
    np.testing.assert_array_equal(first((3, 2)), first((3, 2)))
    assert not np.array_equal(first((3, 2)), second((3, 2)))
    assert first.get_config()["seed"] is None


@pytest.mark.numtape_only(reason="TensorFlow's seed does not say those of Keras")
def test_the_global_seed_says_that_of_initializers(tf):
    draws = []
    for _ in range(2):
        tf.random.set_seed(5)
        layers = [tf.keras.layers.Dense(2) for _ in range(2)]
        draws.append([layer(tf.ones((1, 3))).numpy() for layer in layers])
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0][0], draws[0][1])


@pytest.mark.numtape_only(reason="about the state behind set_seed")
def test_without_a_global_seed_that_of_python_says_it(tf, monkeypatch):
    from numtape.core.ops.random import STATE

    monkeypatch.setattr(STATE, "seed", None)
    state = random.getstate()
    try:
        draws = []
        for _ in range(2):
            random.seed(5)
            draws.append(tf.keras.initializers.get("normal")((3,)).numpy())
    finally:
        random.setstate(state)
    np.testing.assert_array_equal(*draws)


def test_constant_ones_zeros_identity(tf):
    known = tf.keras.initializers
    same(known.Zeros()((2, 1)), [[0], [0]], "float32")
    same(known.Ones()((2,), dtype=tf.int32), [1, 1], "int32")
    same(known.Constant(2.5)((2,), "float64"), [2.5, 2.5], "float64")
    same(known.Identity(3.0)((2, 3)), 3.0 * np.eye(2, 3), "float32")
    with pytest.raises(ValueError, match="only be used for 2D matrices"):
        known.Identity()((2, 2, 2))


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 4)])
def test_orthogonal(tf, shape):
    initializer = tf.keras.initializers.Orthogonal(gain=2.0, seed=3)
    q = initializer(shape, dtype="float64").numpy().reshape(-1, shape[-1])
    small = q @ q.T if q.shape[0] < q.shape[1] else q.T @ q
    np.testing.assert_allclose(small, 4.0 * np.eye(len(small)), atol=1e-12)


def test_orthogonal_matrices_are_all_equally_likely(tf):
    """The trace of such a matrix has mean 0 and variance 1 (Diaconis and Shahshahani, 1994)."""
    traces = [np.trace(tf.keras.initializers.Orthogonal(seed=k)((3, 3))) for k in range(200)]
    assert abs(np.mean(traces)) < 0.25
    assert abs(np.var(traces) - 1.0) < 0.4


X = np.array([[0.5, -2.0, 1.0], [3.0, 0.25, -1.5]], np.float32)


def cosines(x):
    """The mean absolute cosine between different rows."""
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return np.abs((unit @ unit.T)[np.triu_indices(len(x), 1)]).mean()


PENALTIES = [
    ("L1", {}, 0.01 * np.abs(X).sum()),
    ("L1", {"l1": 0.5}, 0.5 * np.abs(X).sum()),
    ("L2", {"l2": 0.5}, 0.5 * (X * X).sum()),
    ("L1L2", {}, 0.0),
    ("L1L2", {"l1": 0.5, "l2": 0.25}, 0.5 * np.abs(X).sum() + 0.25 * (X * X).sum()),
    ("OrthogonalRegularizer", {}, 0.01 * cosines(X)),
    ("OrthogonalRegularizer", {"factor": 2.0, "mode": "columns"}, 2.0 * cosines(X.T)),
]


@pytest.mark.parametrize("name, arguments, expected", PENALTIES)
def test_regularizers(tf, name, arguments, expected):
    regularizer = getattr(tf.keras.regularizers, name)(**arguments)
    same(regularizer(tf.constant(X)), np.float32(expected), "float32", rtol=2e-6)


LENGTHS = np.linalg.norm(X, axis=0)
CONSTRAINTS = [
    ("MaxNorm", {}, X * np.minimum(1, 2 / LENGTHS)),
    (
        "MaxNorm",
        {"max_value": 1.0, "axis": 1},
        X * np.minimum(1, 1 / np.linalg.norm(X, axis=1, keepdims=True)),
    ),
    ("NonNeg", {}, np.maximum(X, 0)),
    ("UnitNorm", {}, X / LENGTHS),
    ("UnitNorm", {"axis": (0, 1)}, X / np.linalg.norm(X)),
    ("MinMaxNorm", {"min_value": 1.9, "max_value": 2.5}, X * np.clip(LENGTHS, 1.9, 2.5) / LENGTHS),
    ("MinMaxNorm", {"rate": 0.25}, X * (0.25 * np.clip(LENGTHS, 0, 1) / LENGTHS + 0.75)),
]


@pytest.mark.parametrize("name, arguments, expected", CONSTRAINTS)
def test_constraints(tf, name, arguments, expected):
    constraint = getattr(tf.keras.constraints, name)(**arguments)
    same(constraint(tf.Variable(X)), expected, "float32", rtol=2e-6)


EVERY = [
    *(("initializers", name, arguments) for name, arguments, _ in LAWS),
    *(("initializers", name, {}) for name in ("Zeros", "Ones")),
    ("initializers", "Constant", {"value": 2.0}),
    ("initializers", "Identity", {"gain": 2.0}),
    ("initializers", "Orthogonal", {"gain": 2.0, "seed": 4}),
    *(("regularizers", name, arguments) for name, arguments, _ in PENALTIES),
    *(("constraints", name, arguments) for name, arguments, _ in CONSTRAINTS),
]


@pytest.mark.parametrize("kind, name, arguments", EVERY)
def test_configurations(tf, kind, name, arguments):
    module = getattr(tf.keras, kind)
    thing = getattr(module, name)(**arguments)
    config = thing.get_config()
    if name == "Identity" and tf.__name__ == "tensorflow":
        return  # Keras's configuration lacks the gain
    for key, value in arguments.items():
        assert config[key] == pytest.approx(value)
    described = module.serialize(thing)
    assert described["module"] == f"keras.{kind}"
    assert described["class_name"] == name
    assert described["registered_name"] is None
    again = module.deserialize(json.loads(json.dumps(described)))
    assert type(again) is type(thing)
    assert again.get_config() == json.loads(json.dumps(config))
    assert type(module.get(described)) is type(thing)
    assert type(thing).from_config(config).get_config() == config


NAMES = {
    "initializers": {
        "zeros": "Zeros",
        "Ones": "Ones",
        "one": "Ones",
        "zero": "Zeros",
        "normal": "RandomNormal",
        "uniform": "RandomUniform",
        "glorot_uniform": "GlorotUniform",
        "he_normal": "HeNormal",
        "lecun_uniform": "LecunUniform",
        "orthogonal": "Orthogonal",
        "identity": "Identity",
        "OrthogonalInitializer": "Orthogonal",
        "variance_scaling": "VarianceScaling",
    },
    "regularizers": {
        "l1": "L1",
        "L2": "L2",
        "l1l2": "L1L2",
        "L1L2": "L1L2",
        "orthogonal_regularizer": "OrthogonalRegularizer",
    },
    "constraints": {"max_norm": "MaxNorm", "NonNeg": "NonNeg", "min_max_norm": "MinMaxNorm"},
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(tf, kind):
    module = getattr(tf.keras, kind)
    for name, expected in NAMES[kind].items():
        assert type(module.get(name)).__name__ == expected
        if name in dir(module):
            assert getattr(module, name) is getattr(module, expected)
    assert module.get(None) is None
    assert module.get(abs) is abs
    cls = getattr(module, expected)
    assert type(module.get(cls)) is cls
    thing = cls()
    assert module.get(thing) is thing
    for unknown in ("nosuch", 5, {"class_name": "nosuch", "config": {}}):
        with pytest.raises(ValueError, match=f"Could not interpret {kind[:-1]} identifier"):
            module.get(unknown)


def test_arrays_are_initial_values(tf):
    initializer = tf.keras.initializers.get(X)
    same(initializer((2, 3), dtype="float64"), X, "float64")
    with pytest.raises(ValueError, match="Expected `shape` to be"):
        initializer((3, 2))


BAD = [
    ("initializers", "VarianceScaling", {"scale": 0.0}, "must be positive"),
    ("initializers", "VarianceScaling", {"mode": "fan"}, "Invalid `mode` argument"),
    ("initializers", "VarianceScaling", {"distribution": "x"}, "Invalid `distribution` argument"),
    ("initializers", "HeNormal", {"seed": "a"}, "`seed` argument should be"),
    ("regularizers", "L1", {"l1": -1.0}, "Invalid value for argument l1"),
    ("regularizers", "L2", {"l2": math.nan}, "Invalid value for argument l2"),
    ("regularizers", "L1L2", {"l2": "a"}, "Invalid value for argument l2"),
    ("regularizers", "OrthogonalRegularizer", {"mode": "x"}, "Invalid value for argument `mode`"),
]


@pytest.mark.parametrize("kind, name, arguments, message", BAD)
def test_arguments_that_are_refused(tf, kind, name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(getattr(tf.keras, kind), name)(**arguments)


def test_shapes_that_are_refused(tf):
    with pytest.raises(ValueError, match="must be at least two-dimensional"):
        tf.keras.initializers.Orthogonal()((3,))
    with pytest.raises(ValueError, match="must have rank 2"):
        tf.keras.regularizers.OrthogonalRegularizer()(tf.ones(3))


def test_functions_and_classes_of_ones_own(tf):
    class Seven(tf.keras.initializers.Initializer):
        def __call__(self, shape, dtype=None):
            return 7.0 * tf.ones(shape, dtype)

    module = tf.keras.initializers
    described = module.serialize(Seven())
    assert described["class_name"] == described["registered_name"].rpartition(">")[2] == "Seven"
    again = module.deserialize({"class_name": "Seven", "config": {}}, {"Seven": Seven})
    same(again((2,), "float32"), [7, 7])


@pytest.mark.numtape_only(reason="compares with Keras")
@pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="needs Keras")
@pytest.mark.parametrize("kind, name, arguments", EVERY)
def test_against_keras(tf, kind, name, arguments):
    keras = pytest.importorskip("keras")
    if kind == "initializers" and "seed" in tf.keras.initializers.get(name).get_config():
        arguments = {**arguments, "seed": 11}
    ours = getattr(getattr(tf.keras, kind), name)(**arguments)
    theirs = getattr(getattr(keras, kind), name)(**arguments)
    wanted = theirs.get_config()
    assert name == "Identity" or ours.get_config() == {  # Keras drops its gain
        k: pytest.approx(v) if isinstance(v, float) else v for k, v in wanted.items()
    }
    given = (3, 4) if kind == "initializers" else X
    if kind != "initializers":
        same(ours(given), np.asarray(theirs(keras.ops.convert_to_tensor(given))), rtol=1e-6)
    elif keras.backend.backend() == "tensorflow" and name != "Orthogonal":
        same(ours(given), np.asarray(theirs(given)), "float32", rtol=1e-6, atol=1e-6)
