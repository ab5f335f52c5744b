"""Rows of seeded random numbers, against Philox4x32-10 in Python integers."""

import math
from importlib import import_module

import numpy as np
from op_case import STOP, Case, over

from numtape.core.ops import philox

MASK = 2**32 - 1


def block(counter, key):
    """Four words of a counter of four words and a key of two."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def halves(number):
    return [int(number) & MASK, int(number) >> 32 & MASK]


def words(seed, count):
    """The words that TensorFlow draws for a seed."""
    a, b, c, d = block([*halves(seed[0]), *halves(seed[1])], [0x3EC8F720, 0x02461E29])
    found = [block([*halves(n), c, d], [a, b]) for n in range(-(-count // 4))]
    return np.array(found, np.uint32).ravel()[:count]


def uniform(seed, shape):
    bits = words(seed, math.prod(shape)) & np.uint32(0x7FFFFF)
    return (bits * np.float32(2**-23)).astype("float32").reshape(shape)


def box_muller(seed, shape):
    u = uniform(seed, (-(-math.prod(shape) // 2) * 2,)).astype("float64").reshape(-1, 2)
    radius = np.sqrt(-2 * np.log(np.maximum(u[:, 0], 1e-7)))
    turned = np.stack([np.sin(2 * np.pi * u[:, 1]), np.cos(2 * np.pi * u[:, 1])], -1)
    found = (radius[:, None] * turned).ravel()[: math.prod(shape)]
    return found.astype("float32").reshape(shape)


def integers(seed, shape, minval=0, maxval=10):
    return (
        (minval + (words(seed, math.prod(shape)) % (maxval - minval)))
        .astype("int32")
        .reshape(shape)
    )


def seeds(seed, num=2):
    found = words(seed, 4 * num if seed.dtype.itemsize == 8 else 2 * num)
    return found.view(seed.dtype).reshape(num, 2)


def of(function, x, shape, **options):
    return function(shape, x, **options)


def library(function):
    """The library of a function."""
    return import_module(function.__module__.partition(".")[0])


def slope(function, x, alpha, shape):
    """The gradient with respect to alpha."""
    tf = library(function)
    a = tf.constant(alpha, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(a)
        found = function(shape, x, a, dtype=tf.float64)
    return tape.gradient(found, a)


def slopes(x, alpha, shape):
    alpha = np.array(alpha)
    found = philox.gamma(philox.Philox(x), alpha, shape[0])
    return philox.gamma_slope(np.broadcast_to(alpha, shape), found).sum(0)


def gammas(x, shape, alpha, dtype):
    found = philox.gamma(philox.Philox(x), np.array(alpha, dtype), shape[0])
    return found.astype(dtype)


def counts(x, shape, lam):
    return philox.poisson(philox.Philox(x), np.array(lam), shape[0]).astype("int32")


def of_one_class(function, x):
    """Numbers that a call draws for itself, of which one is sure."""
    tf = library(function)
    generator = tf.random.Generator.from_state(tf.concat([tf.cast(x, tf.int64), [0]], 0), "philox")
    generator.skip(3)
    return [generator.state.read_value(), function([3], -1.0, dtype=tf.int32)]


SEEDS = {"ints": ((-(2**31) + 1, 2**31 - 1),), "dtypes": ("int32", "int64"), "order": STOP}
SHAPES = over((2,), shape=[(5,), (2, 3), (0,)])

CASES = [
    Case("random.stateless_uniform", uniform, call=of, variants=SHAPES, **SEEDS),
    Case(
        "random.stateless_uniform",
        integers,
        call=lambda f, x, shape: f(shape, x, 0, 10, "int32"),
        variants=SHAPES,
        **SEEDS,
    ),
    Case("random.stateless_normal", box_muller, call=of, variants=SHAPES, ulp=8, **SEEDS),
    Case(
        "random.split",
        seeds,
        call=lambda f, x, num: f(x, num),
        variants=over((2,), num=[1, 3]),
        **SEEDS,
    ),
    # Their distributions, and TensorFlow's numbers: tests/ops/test_random_stateless.py.
    Case(
        "random.stateless_gamma",
        gammas,
        call=of,
        ulp=2,
        **SEEDS,
        variants=over((2,), shape=[(5, 2)], alpha=[[0.5, 3.0]], dtype=["float64"]),
    ),
    Case(
        "random.stateless_gamma",
        slopes,
        call=slope,
        ulp=8,
        **SEEDS,
        variants=over((2,), shape=[(5, 2)], alpha=[[0.5, 3.0]]),
    ),
    Case(
        "random.stateless_poisson",
        counts,
        call=of,
        **SEEDS,
        variants=over((2,), shape=[(5, 2)], lam=[[2.0, 30.0]]),
    ),
    Case(
        "random.stateless_binomial",
        lambda x, shape: np.full(shape, 7, "int32"),
        call=lambda f, x, shape: f(shape, x, 7, 1.0),
        variants=SHAPES,
        **SEEDS,
    ),
    Case(
        "random.stateless_categorical",
        lambda x: np.full((2, 3), 1),
        variants=over((2,)),
        call=lambda f, x: f([[-np.inf, 0.0], [-900.0, 0.0]], 3, x),
        **SEEDS,
    ),
    Case(
        "random.poisson",
        lambda x: [
            np.array([(int(v) + 768 * (k == 0)) for k, v in enumerate([*x, 0])]),
            np.zeros(3, "int32"),
        ],
        call=of_one_class,
        variants=over((2,)),
        **{**SEEDS, "ints": ((0, 2**31 - 1),)},
    ),
]
