"""Numbers of all kinds as arguments everywhere: used, or refused with a named error."""

import decimal
import fractions
import operator
import random
import re
import time

import numpy as np
import pytest
from checks import SEED, same

pytestmark = pytest.mark.numtape_only("TensorFlow's errors are its own affair")


class Mine(Exception):
    """The exception of a program's own objects."""


class Raises:
    def __index__(self):
        raise Mine

    __float__ = __int__ = __index__


class Indexed:
    """An object with an ``__index__`` only."""

    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n


BOUNDS = (
    0,
    2**7,
    2**8,
    2**15,
    2**16,
    2**24,
    2**31,
    2**32,
    2**53,
    2**63,
    2**64,
    2**127,
    2**128,
    10**30,
    10**38,
    10**39,
    10**40,
    10**308,
    10**310,
    10**400,
    10**5000,
)
INTS = sorted({s * n + d for n in BOUNDS for s in (1, -1) for d in (-1, 0, 1)})
OTHERS = [
    True,
    False,
    1.5,
    -0.0,
    1e-320,
    1e300,
    -1e300,
    float("nan"),
    float("inf"),
    -float("inf"),
    1j,
    np.bool_(True),
    np.int8(3),
    np.int64(2**40),
    np.uint64(2**64 - 1),
    np.float16(1.0),
    np.float32(1.5),
    np.float64(1e300),
    np.complex64(1),
    np.datetime64("2020"),
    fractions.Fraction(1, 3),
    decimal.Decimal("1.5"),
    decimal.Decimal("1e400"),
    "1",
    "x",
    b"x",
    "",
    None,
    object(),
    Raises(),
    Indexed(1),
    Indexed(10**30),
    float,
    ...,
    slice(None),
    range(3),
    {1},
    {1: 2},
    (1, 2),
    [10**30],
    [2**63],
    [1, 10**400],
    [1.0, 10**400],
    [None],
    ["x"],
    [[1], [1, 2]],
    np.array([1, 2]),
    np.array("x"),
    np.array([None]),
]


def drawn(seed):
    """An int of any size, with digits that are mostly 0 or 9."""
    draw = random.Random(seed)
    size = draw.choice((8, 16, 32, 64, 128, 1024, 4000))
    return draw.choice((1, -1)) * (2 ** draw.randrange(size) + draw.randrange(-300, 300))


DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
)
OPERATORS = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
)


def places(tf):
    """Calls that take a number, by name."""
    m, v, w = tf.ones((2, 3)), tf.Variable([1.0, 2.0, 3.0]), tf.Variable([1, 2, 3])
    keras, rand = tf.keras.optimizers, tf.random
    found = {
        "constant": tf.constant,
        "convert": tf.convert_to_tensor,
        "Variable": tf.Variable,
        "constant [n, 1]": lambda n: tf.constant([n, 1]),
        "sin": tf.sin,
        "sum": tf.reduce_sum,
        "constant [1.0, n]": lambda n: tf.constant([1.0, n]),
        "matmul": lambda n: m @ n,
        "stack": lambda n: tf.stack([tf.constant(1.0), n]),
        "concat": lambda n: tf.concat(n, 0),
        # Assigning.
        "assign": v.assign,
        "assign_add": v.assign_add,
        "assign ints": lambda n: w.assign([n] * 3),
        "add ints": lambda n: w.assign_add([n] * 3),
        "assign floats": lambda n: v.assign([n] * 3),
        "assign element": lambda n: v[0].assign(n),
        "assign at": lambda n: v[n].assign(1.0),
        # Keys.
        "[n]": lambda n: m[n],
        "[0, n]": lambda n: m[0, n],
        "[:n]": lambda n: m[:n],
        "[n:]": lambda n: m[n:],
        "[::n]": lambda n: m[::n],
        "variable[n]": lambda n: v[n],
        "gather": lambda n: tf.gather([1.0, 2.0], n),
        "gather n": lambda n: tf.gather(m, [n]),
        # Random numbers.
        "minval": lambda n: rand.uniform((2,), n, 2.0),
        "maxval": lambda n: rand.uniform((2,), 0, n),
        "int minval": lambda n: rand.uniform((2,), n, 2**40, tf.int64),
        "int maxval": lambda n: rand.uniform((2,), 0, n, tf.int32),
        "mean": lambda n: rand.normal((2,), n),
        "stddev": lambda n: rand.normal((2,), 0.0, n),
        "truncated": lambda n: rand.truncated_normal((2,), n, n),
        "seed": lambda n: rand.uniform((2,), seed=n),
        "set_seed": rand.set_seed,
        "shuffle": lambda n: rand.shuffle([1, 2], seed=n),
        # Options.
        "leaky_relu": lambda n: tf.nn.leaky_relu(m, n),
        "ord": lambda n: tf.norm(m, ord=n),
        "contrast": lambda n: tf.image.adjust_contrast(tf.ones((2, 2, 3)), n),
        "labels": lambda n: tf.nn.sparse_softmax_cross_entropy_with_logits([n, n], m),
        "xent": lambda n: tf.nn.softmax_cross_entropy_with_logits([[n, n]], [[1.0, 2.0]]),
        "cond": lambda n: tf.cond(n, lambda: m, lambda: m),
        "where": lambda n: tf.where(n, 1.0, 2.0),
        "dtype": lambda n: tf.zeros((2,), n),
        "argument": tf.function(lambda n: m),
        "delta": lambda n: tf.range(0, 5, n),
        "start": lambda n: tf.linspace(n, 1.0, 3),
        "stop": lambda n: tf.linspace(0.0, n, 3),
        "signature": tf.function(lambda x: x, [tf.TensorSpec((), tf.float32)]),
        # Optimizers.
        "SGD": lambda n: stepped(tf, keras.SGD(n)),
        "Adam": lambda n: stepped(tf, keras.Adam(n)),
        "momentum": lambda n: stepped(tf, keras.SGD(0.1, n)),
        "beta_1": lambda n: stepped(tf, keras.Adam(beta_1=n)),
        "beta_2": lambda n: stepped(tf, keras.Adam(beta_2=n)),
        "epsilon": lambda n: stepped(tf, keras.Adam(epsilon=n)),
        "rate": lambda n: keras.SGD(0.1).learning_rate.assign(n),
        "gradient": lambda n: keras.SGD(0.1).apply_gradients([(n, tf.Variable(1.0))]),
    }
    for name in DTYPES:
        dtype = getattr(tf, name)
        x = tf.cast(tf.constant([1, 0, 1]), dtype)
        for op in OPERATORS:
            function = getattr(operator, op)
            found[f"{name} {op}"] = lambda n, f=function, x=x: f(x, n)
            found[f"{op} {name}"] = lambda n, f=function, x=x: f(n, x)
        found |= {
            f"{what} {name}": lambda n, call=call, x=x, d=dtype: call(n, x, d)
            for what, call in {
                "constant": lambda n, x, d: tf.constant(n, d),
                "convert": lambda n, x, d: tf.convert_to_tensor(n, d),
                "cast": lambda n, x, d: tf.cast(n, d),
                "Variable": lambda n, x, d: tf.Variable(n, dtype=d),
                "fill": lambda n, x, d: tf.cast(tf.fill((2,), n), d),
                "maximum": lambda n, x, d: tf.maximum(x, n),
                "where": lambda n, x, d: tf.where([True, False, True], x, n),
                "clip": lambda n, x, d: tf.clip_by_value(x, n, n),
                "on": lambda n, x, d: tf.one_hot([0, 1], 2, n, 0, dtype=d),
                "off": lambda n, x, d: tf.one_hot([0, 1], 2, 1, n, dtype=d),
                "pad": lambda n, x, d: tf.pad(x, [[1, 1]], constant_values=n),
                "range": lambda n, x, d: tf.range(n, n, 1, d),
            }.items()
        }
    return found


def stepped(tf, optimizer):
    v = tf.Variable([1.0])
    optimizer.apply_gradients([(tf.constant([1.0]), v)])
    return v


def axes(tf):
    """Calls that take an axis, by name."""
    m = tf.ones((2, 3))
    return {
        "sum": lambda n: tf.reduce_sum(m, n),
        "max": lambda n: tf.reduce_max(m, [n]),
        "logsumexp": lambda n: tf.reduce_logsumexp(m, n),
        "argmax": lambda n: tf.argmax(m, n),
        "cumsum": lambda n: tf.cumsum(m, n),
        "expand": lambda n: tf.expand_dims(m, n),
        "squeeze": lambda n: tf.squeeze(m, n),
        "concat": lambda n: tf.concat([m, m], n),
        "stack": lambda n: tf.stack([m, m], n),
        "unstack": lambda n: tf.unstack(m, axis=n),
        "split": lambda n: tf.split(m, 1, n),
        "gather": lambda n: tf.gather(m, [0], axis=n),
        "batches": lambda n: tf.gather(m, [[0], [0]], batch_dims=n),
        "norm": lambda n: tf.norm(m, axis=n),
        "softmax": lambda n: tf.nn.softmax(m, n),
        "reverse": lambda n: tf.reverse(m, [n]),
        "transpose": lambda n: tf.transpose(m, [n, 0]),
        "hot": lambda n: tf.one_hot([0], 2, axis=n),
        "repeat": lambda n: tf.repeat(m, 2, n),
        "mask": lambda n: tf.boolean_mask(m, [True], n),
        "tensordot": lambda n: tf.tensordot(m, m, [[n], [0]]),
        "products": lambda n: tf.tensordot(m, m, n),
        "linspace": lambda n: tf.linspace([0.0], [1.0], 3, axis=n),
        "variance": lambda n: tf.math.reduce_variance(m, n),
    }


def sizes(tf):
    """Calls that take a size, by name."""
    m, rand = tf.ones((2, 3)), tf.random
    return {
        "zeros": tf.zeros,
        "zeros (n,)": lambda n: tf.zeros((n,)),
        "eye": tf.eye,
        "zeros (n, n)": lambda n: tf.zeros((n, n)),
        "ones": lambda n: tf.ones([2, n]),
        "zeros (0, n)": lambda n: tf.zeros((0, n)),
        "fill": lambda n: tf.fill([n], 1.0),
        "reshape": lambda n: tf.reshape(m, n),
        "reshape (2, n)": lambda n: tf.reshape(m, (2, n)),
        "broadcast": lambda n: tf.broadcast_to(1.0, (n,)),
        "tile": lambda n: tf.tile(m, (1, n)),
        "repeat": lambda n: tf.repeat(m, n, 1),
        "uniform": lambda n: rand.uniform((n,)),
        "uniform n": rand.uniform,
        "normal": lambda n: rand.normal((n,)),
        "truncated": lambda n: rand.truncated_normal((n,)),
        "unstack": lambda n: tf.unstack(m, n),
        "constant": lambda n: tf.constant(1.0, shape=(n,)),
        "split": lambda n: tf.split(m, n),
        "pad": lambda n: tf.pad(m, [[n, 0], [0, 0]]),
        "splits": lambda n: tf.split(m, [n, 1]),
        "linspace": lambda n: tf.linspace(0.0, 1.0, n),
        "hot": lambda n: tf.one_hot([0], n),
        "begin": lambda n: tf.slice(m, (n, 0), (1, 1)),
        "size": lambda n: tf.slice(m, (0, 0), (n, 1)),
        "range": tf.range,
        "Dense": lambda n: tf.keras.layers.Dense(n)(m),
    }


def possible(n):
    """Whether a size either fits into memory or clearly does not."""
    try:
        size = abs(int(operator.index(n) if hasattr(n, "__index__") else n))
    except (Mine, TypeError, ValueError, OverflowError):
        return True
    return size <= 300 or size > 2**45


def attempt(tf, name, call, n):
    """Make a call, which may raise only these errors. Returns the message."""
    try:
        found = call(n)
        for tensor in found if isinstance(found, list | tuple) else [found]:
            if hasattr(tensor, "numpy"):
                tensor.numpy()
    except (Mine, MemoryError, tf.errors.ResourceExhaustedError):
        return ""
    except UnicodeError as error:
        raise AssertionError((name, type(n))) from error
    except (ValueError, TypeError, tf.errors.InvalidArgumentError) as error:
        return str(error)
    except tf.errors.UnimplementedError as error:
        return str(error)
    except Exception as error:
        raise AssertionError((name, type(n), type(error).__name__, str(error)[:90])) from error
    return ""


GROUPS = {"places": places, "axes": axes, "sizes": sizes}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("group", "every"),
    [
        *((group, 5) for group in GROUPS),
        *(pytest.param(group, 1, marks=pytest.mark.thorough) for group in GROUPS),
    ],
)
def test_numbers_are_taken_or_refused(tf, group, every):
    """Each number in every fifth call, depending on the seed, or in all calls."""
    for k, (name, call) in enumerate(GROUPS[group](tf).items()):
        for n in (*INTS, *OTHERS)[(k + SEED) % every :: every]:
            if group != "sizes" or possible(n):
                attempt(tf, name, call, n)
    tf.random.set_seed(1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seconds", [1.0, pytest.param(4.0, marks=pytest.mark.slow)])
def test_ints_that_were_never_tried_are_taken_or_refused(tf, seconds):
    seed, end = random.randrange(10**9), time.monotonic() + seconds
    print("seed", seed)
    calls = [(group, *item) for group in GROUPS for item in GROUPS[group](tf).items()]
    while time.monotonic() < end:
        seed += 1
        n = drawn(seed)
        for group, name, call in calls:
            if group != "sizes" or possible(n):
                attempt(tf, name, call, n)
    tf.random.set_seed(1)


# Calls that refuse large ints must name the value.
NAMED = [
    "constant",
    "convert",
    "Variable",
    "constant [n, 1]",
    "assign ints",
    "[n]",
    "[0, n]",
    "int32 add",
    "add int32",
    "uint8 mul",
    "constant int64",
    "Variable uint8",
    "fill int32",
    "maximum int32",
    "clip int32",
    "on int32",
    "pad int32",
    "range int32",
    "gather",
    "labels",
]


def test_errors_name_the_number(tf):
    for n in (10**30, -(10**30), 2**64, 10**100):
        for group in GROUPS:
            for name, call in GROUPS[group](tf).items():
                if name in NAMED or group != "places":
                    message = attempt(tf, name, call, n)
                    if message or name in NAMED:
                        named = re.search(rf"{n}\b", message)
                        assert named or f"{3 * n}" in message or f"{n + 2}" in message, (
                            name,
                            n,
                            message,
                        )


def test_ints_with_too_many_digits_to_print(tf):
    for call in (tf.constant, lambda n: tf.constant(1.0) * n, lambda n: tf.ones(3)[n], tf.zeros):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="thousands of dig"):
            call(10**5000)


def test_ints_beyond_float32_are_infinite_beyond_all_floats_errors(tf):
    one, wide = tf.constant(1.0), tf.constant(1.0, tf.float64)
    same(one * 10**40, np.inf)
    same(one * -(10**40), -np.inf)
    same(10**40 * one, np.inf)
    same(wide * 10**40, 1e40)
    same(wide * 10**308, 1e308)
    for x, n in ((one, 10**400), (one, -(10**310)), (wide, 10**310), (wide, 10**400)):
        with pytest.raises(ValueError, match=f"{n} does not fit {x.dtype.name}"):
            x * n


def test_axes_are_integers(tf):
    m = tf.ones((2, 3))
    for axis in (1.0, 0.5, True, float("nan"), float("inf"), "1", [0.0], None):
        if axis is not None:
            with pytest.raises((TypeError, ValueError), match=re.escape(repr(axis))):
                tf.reduce_sum(m, axis)
    same(tf.reduce_sum(m, np.int8(1)), [3.0, 3.0])
    same(tf.reduce_sum(m, tf.constant([0, 1])), 6.0)


def test_ranges_of_numbers_that_do_not_fit(tf):
    for bounds, dtype in (((-1, -1), "uint32"), ((0, 300), "uint8"), ((0, 2**40), "int32")):
        with pytest.raises(ValueError, match=f"{bounds[1]}.* does not fit {dtype}"):
            tf.range(*bounds, dtype=getattr(tf, dtype))
    with pytest.raises(TypeError, match=r"5\.5"):
        tf.range(0, 5.5, dtype=tf.int32)


def test_a_number_that_is_refused_changes_nothing(tf):
    v, x = tf.Variable([1.0, 2.0]), tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * x)
        for n in (10**400, "x", 10**5000, float):
            for call in (
                lambda n=n: v * n,
                lambda n=n: v.assign(n),
                lambda n=n: x[n],
                lambda n=n: tf.maximum(v * 2.0, n),
            ):
                with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
                    call()
        y = y * 2.0
    same(tape.gradient(y, v), [6.0, 8.0])
    same(v, [1.0, 2.0])
