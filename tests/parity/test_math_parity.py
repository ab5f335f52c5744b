"""Special functions, activations and small functions of `tf.math`, compared with an installed
TensorFlow: values at special points, gradients, shapes, dtypes, exceptions, argument names."""

import inspect

import numpy as np
import pytest
from tensorflow_reference import installed

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]

INF, NAN = np.inf, np.nan
POINTS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    -2.5,
    7.25,
    30.5,
    -30.5,
    0.1,
    1.9,
    INF,
    -INF,
    NAN,
]
# Points at which both match a formula; for others see `DIFFERENT`.
SPECIAL = """lgamma digamma erfinv erfcinv ndtri bessel_i0 bessel_i0e bessel_i1 bessel_i1e
special.bessel_j0 special.bessel_j1 special.bessel_k0 special.bessel_k0e special.bessel_k1
special.bessel_k1e special.bessel_y0 special.bessel_y1 special.dawsn special.expint
special.fresnel_cos special.fresnel_sin special.spence rint reciprocal_no_nan""".split()
BINARY = "xlogy xlog1py xdivy nextafter zeta polygamma igamma igammac".split()
# Not compared: numtape has the value of the formula, TensorFlow another.
DIFFERENT = {
    "special.expint": [INF],
    "bessel_i1": [],
    "special.bessel_y1": [0.0],
    "zeta": [(INF, 1.0)],
    "igamma": [(INF, INF)],
    "igammac": [(INF, INF)],
}


# Points at which TensorFlow's float32 result has no correct digits.
DIGITS = {("polygamma", "float32"): [(10.0, -2.5)]}


def at(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


def outcome(function):
    """The result of a call, or the name of its exception."""
    try:
        found = function()
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__ if "Error" in kind.__name__]
    return found


def same(ours, theirs, rtol=1e-9, atol=0.0):
    assert isinstance(ours, list) == isinstance(theirs, list), (ours, theirs)
    if isinstance(ours, list):
        assert theirs[0] in ours, (ours, theirs)
        return
    assert ours.dtype.name == theirs.dtype.name
    assert tuple(ours.shape) == tuple(theirs.shape)
    tiny = 1e-300 if ours.dtype.name == "float64" else 1e-37
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=rtol, atol=atol or tiny)


def near(dtype):
    return 1e-9 if dtype == "float64" else 1e-4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_points(name, dtype):
    tensorflow = installed()
    points = [x for x in POINTS if not any(np.array_equal(x, y) for y in DIFFERENT.get(name, []))]
    x = np.array(points, dtype)
    ours, theirs = (at(tf.math, name)(tf.constant(x)) for tf in (numtape, tensorflow))
    same(ours, theirs, near(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_special_pairs(name, dtype):
    tensorflow = installed()
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.5, 10.0, INF, NAN]
    different = [*DIFFERENT.get(name, []), *DIGITS.get((name, dtype), [])]
    pairs = [(x, y) for x in numbers for y in numbers if (x, y) not in different]
    x, y = np.array(pairs, dtype).T
    ours, theirs = (
        at(tf.math, name)(tf.constant(x), tf.constant(y)) for tf in (numtape, tensorflow)
    )
    same(ours, theirs, near(dtype))


def slopes(tf, function, xs):
    tensors = [tf.constant(x) for x in xs]
    with tf.GradientTape() as second:
        second.watch(tensors)
        with tf.GradientTape() as first:
            first.watch(tensors)
            y = function(tf, *tensors)
        slope = first.gradient(y, tensors)
    known = [g for g in slope if g is not None]
    return [*slope, *(second.gradient(known, tensors) if known else [])]


INSIDE = [0.3, 0.7, 0.9]
WIDE = [-4.0, -3.0, -1.0, -0.7, 0.0, 0.2, 1.0, 3.0, 4.5, 7.0]
HALF = [-2.7, -1.2, -0.5, 0.2, 0.5, 1.5]
KERAS = """celu elu exponential hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear
log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus sparse_plus
sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink gelu""".split()
GRADIENTS = {
    **{
        name: (lambda tf, x, name=name: at(tf.math, name)(x), [INSIDE])
        for name in SPECIAL
        if name != "rint"
    },
    **{
        name: (lambda tf, x, y, name=name: at(tf.math, name)(x, y), [INSIDE, [1.2, 2.0, 0.4]])
        for name in BINARY
        if name not in ("polygamma", "zeta", "igamma", "igammac")
    },
    "zeta": (lambda tf, x, y: tf.math.zeta(x, y), [[2.0, 3.5], [1.0, 2.5]]),
    "polygamma": (lambda tf, x, y: tf.math.polygamma(x, y), [[0.0, 2.0], [1.0, 2.5]]),
    "betainc": (lambda tf, a, b, x: tf.math.betainc(a, b, x), [[2.0, 3.0], [1.5, 0.5], [0.2, 0.7]]),
    "lbeta": (lambda tf, x: tf.math.lbeta(x), [[[2.0, 3.0], [1.0, 0.5]]]),
    "zeros": (
        lambda tf, x, y: tf.math.xlogy(x, y) + tf.math.xdivy(x, y) + tf.math.xlog1py(x, y),
        [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0]],
    ),
    "reciprocal at 0": (lambda tf, x: tf.math.reciprocal_no_nan(x), [[0.0, 2.0]]),
    "polyval": (lambda tf, a, x: tf.math.polyval([a, 2.0 * a, tf.ones_like(a)], x), [2.0, INSIDE]),
    "scalar_mul": (lambda tf, a, x: tf.scalar_mul(a, x), [2.0, INSIDE]),
    "realdiv": (lambda tf, x, y: tf.realdiv(x, y), [INSIDE, [2.0]]),
    "truncatediv": (lambda tf, x, y: tf.truncatediv(x, y), [INSIDE, [2.0]]),
    "rint": (lambda tf, x: tf.math.rint(x), [HALF]),
    "silu": (lambda tf, x, b: tf.nn.silu(x, beta=b), [WIDE, 0.7]),
    "swish": (lambda tf, x: tf.nn.swish(x, 2.0), [WIDE]),
    "gelu": (lambda tf, x: tf.nn.gelu(x), [WIDE]),
    "gelu approximate": (lambda tf, x: tf.nn.gelu(x, True), [WIDE]),
    "crelu": (lambda tf, x: tf.nn.crelu(x, axis=0), [WIDE]),
    **{
        f"keras {name}": (lambda tf, x, name=name: at(tf.keras.activations, name)(x), [WIDE])
        for name in KERAS
    },
    "keras elu 2": (lambda tf, x: tf.keras.activations.elu(x, 2.0), [WIDE]),
    "keras celu 2": (lambda tf, x: tf.keras.activations.celu(x, 2.0), [WIDE]),
    "keras glu": (lambda tf, x: tf.keras.activations.glu(x), [WIDE]),
    "keras relu": (lambda tf, x: tf.keras.activations.relu(x, 0.1, 3.0, 0.2), [WIDE]),
    "keras relu slope": (lambda tf, x: tf.keras.activations.relu(x, 0.1, 3.0), [WIDE]),
    "keras relu 6": (lambda tf, x: tf.keras.activations.relu(x, max_value=6), [WIDE]),
    "keras relu negative": (lambda tf, x: tf.keras.activations.relu(x, -0.1), [WIDE]),
    "keras softmax None": (lambda tf, x: tf.keras.activations.softmax(x, None), [[WIDE, WIDE]]),
    "keras threshold": (lambda tf, x: tf.keras.activations.threshold(x, 0.2, 7.0), [WIDE]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_values_and_gradients(name):
    tensorflow = installed()
    function, xs = GRADIENTS[name]
    xs = [np.array(x) for x in xs]
    ours, theirs = (function(tf, *map(tf.constant, xs)) for tf in (numtape, tensorflow))
    # TensorFlow computes these derivatives and constants in float32.
    coarse = any(part in name for part in ("gelu", "leaky_relu", "negative"))
    near = {"rtol": 1e-6 if coarse else 1e-9, "atol": 1e-7 if coarse else 1e-14}
    same(ours, theirs, **near)
    for mine, other in zip(
        slopes(numtape, function, xs), slopes(tensorflow, function, xs), strict=True
    ):
        assert (mine is None) == (other is None)
        if mine is not None:
            same(mine, other, **near)


CALLS = {
    "lgamma of ints": lambda tf: tf.math.lgamma([1, 2]),
    "xlogy of two dtypes": lambda tf: tf.math.xlogy(tf.constant(2.0), tf.constant([1, 2])),
    "lbeta of a scalar": lambda tf: tf.math.lbeta(3.0),
    "lbeta of nothing": lambda tf: tf.math.lbeta(tf.zeros([0])),
    "rint of ints": lambda tf: tf.math.rint([1, 2]),
    "reciprocal of ints": lambda tf: tf.math.reciprocal_no_nan([1, 2]),
    "realdiv of ints": lambda tf: tf.realdiv(tf.constant([1]), tf.constant([2])),
    "truncatediv by 0": lambda tf: tf.truncatediv(tf.constant([1]), tf.constant([0])),
    "truncatemod by 0": lambda tf: tf.truncatemod(tf.constant([1]), tf.constant([0])),
    "floordiv by 0": lambda tf: tf.math.floordiv(tf.constant([1]), tf.constant([0])),
    "floormod by 0": lambda tf: tf.math.floormod(tf.constant([1]), tf.constant([0])),
    "negative power": lambda tf: tf.pow(tf.constant([2]), tf.constant([-1])),
    "truncatemod of int8": lambda tf: tf.truncatemod(
        tf.constant([1], "int8"), tf.constant([1], "int8")
    ),
    "truncatediv": lambda tf: tf.truncatediv(tf.constant([-7, 7, -7]), tf.constant([2, -2, -2])),
    "truncatemod": lambda tf: tf.truncatemod(tf.constant([-7, 7, -7]), tf.constant([2, -2, -2])),
    "truncatediv of floats": lambda tf: tf.truncatediv([-7.0, 1.0, 0.0], [2.0, 0.0, 0.0]),
    "truncatemod of floats": lambda tf: tf.truncatemod([-7.0, 7.0, 1.0], [2.0, -2.0, 0.0]),
    "scalar_mul of a vector": lambda tf: tf.scalar_mul(tf.constant([2.0]), tf.constant([1.0, 2.0])),
    "scalar_mul of an int": lambda tf: tf.scalar_mul(2, tf.constant([1.0, 2.0])),
    "scalar_mul of a float": lambda tf: tf.scalar_mul(2.5, tf.constant([1, 2])),
    "polyval of a tuple": lambda tf: tf.math.polyval((1.0, 2.0), 2.0),
    "polyval of nothing": lambda tf: tf.math.polyval([], [1.0, 2.0]),
    "polyval of one": lambda tf: tf.math.polyval([3.0], [1.0, 2.0]),
    "polyval of ints": lambda tf: tf.math.polyval([3, 1], [1.0, 2.0]),
    "gelu of ints": lambda tf: tf.nn.gelu([1, 2]),
    "silu of ints": lambda tf: tf.nn.silu([1, 2]),
    "silu of an int slope": lambda tf: tf.nn.silu([1.0], 2),
    "crelu of a scalar": lambda tf: tf.nn.crelu(1.0),
    "crelu of ints": lambda tf: tf.nn.crelu([1, -2]),
    "crelu along no axis": lambda tf: tf.nn.crelu([1.0], axis=3),
    "glu of an odd size": lambda tf: tf.keras.activations.glu(tf.constant([1.0, 2.0, 3.0])),
    "no such activation": lambda tf: tf.keras.activations.get("nosuch"),
    "no activation": lambda tf: tf.keras.activations.get(3),
    "exponential of ints": lambda tf: tf.keras.activations.exponential(tf.constant([1, -2])),
    "relu of ints": lambda tf: tf.keras.activations.relu(tf.constant([1, -2])),
    "hard_tanh of ints": lambda tf: tf.keras.activations.hard_tanh(tf.constant([1, -2])),
    "and of floats": lambda tf: tf.bitwise.bitwise_and([1.0], [2.0]),
    "and of bools": lambda tf: tf.bitwise.bitwise_and([True], [False]),
    "and of shapes": lambda tf: tf.bitwise.bitwise_and([1, 2], [1, 2, 3]),
    **{
        f"{name} of {x}": lambda tf, name=name, x=x: getattr(tf.math, name)(x)
        for name in ("is_non_decreasing", "is_strictly_increasing")
        for x in ([1, 2, 2], [[1, 2], [3, 4]], [1.0], [], 3.0, [True, False], [NAN, 1.0])
    },
    **{
        f"{name} of {dtype}": lambda tf, name=name, dtype=dtype: getattr(tf.bitwise, name)(
            tf.cast([7, 9, 100, 1, 3], dtype), tf.cast([2, 4, 7, 99, 0], dtype)
        )
        for name in ("left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor")
        for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
    "shift by less than 0": lambda tf: tf.bitwise.left_shift([-7, -1, -100], [1, 5, -2]),
    "shift of the sign": lambda tf: tf.bitwise.right_shift([-7, -1, -100], [1, 5, -2]),
    "invert": lambda tf: tf.bitwise.invert(tf.constant([0, 5, 255], "uint8")),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    tensorflow = installed()
    same(*(outcome(lambda tf=tf: CALLS[name](tf)) for tf in (numtape, tensorflow)))


MODULES = ["math.special", "bitwise", "keras.activations"]
FUNCTIONS = [
    *(f"math.{name}" for name in [*SPECIAL, *BINARY] if "." not in name),
    "math.betainc",
    "math.lbeta",
    "math.polyval",
    "math.is_non_decreasing",
    "math.is_strictly_increasing",
    "realdiv",
    "truncatediv",
    "truncatemod",
    "scalar_mul",
    "math.scalar_mul",
    "nn.silu",
    "nn.swish",
    "nn.gelu",
    "nn.crelu",
]


def test_names_and_arguments():
    tensorflow = installed()
    names = [
        f"{module}.{name}"
        for module in MODULES
        for name in dir(at(tensorflow, module))
        if not name.startswith("_")
    ]
    for name in [*names, *FUNCTIONS]:
        ours, theirs = (
            [(p.name, p.default) for p in inspect.signature(at(tf, name)).parameters.values()]
            for tf in (numtape, tensorflow)
        )
        assert ours in (theirs, [*theirs, ("name", None)]), name


def test_names_of_activations():
    tensorflow = installed()
    for name in KERAS:
        ours, theirs = (tf.keras.activations for tf in (numtape, tensorflow))
        assert ours.serialize(getattr(ours, name)) == theirs.serialize(getattr(theirs, name))
        assert ours.get(name) is ours.deserialize(name) is getattr(ours, name)
