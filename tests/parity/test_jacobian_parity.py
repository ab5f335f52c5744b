"""Jacobians, forward mode and vectorized_map, in numtape and in an installed TensorFlow."""

import numpy as np
import pytest
from tensorflow_reference import installed

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]

SETUP = """
x = tf.constant([1.0, 2.0]); v = tf.Variable([3.0, -1.0]); one = tf.ones(2)
m = tf.constant([[1.0, 2.0], [3.0, 4.0]]); s = tf.constant(2.0); n = tf.constant([1, 2])
"""
TAPE = """
with tf.GradientTape(persistent=True) as tape:
    tape.watch([x, m, s])
    y = x * v * s; whole = tf.cast(y, tf.int32); z = m @ m
    wide = tf.cast(y, tf.float64); flat = tf.reduce_sum(m * x); unused = tf.constant([1.0, 1.0])
"""
# Calls of such a tape.
ASKED = [
    "tape.jacobian(y, x)",
    "tape.jacobian(y, [x, v, {'s': s}])",
    "tape.jacobian(y, (m, [x]))",
    "tape.jacobian(y, m, unconnected_gradients='zero')",
    "tape.jacobian(flat, [m, x])",
    "tape.jacobian(z, m)",
    "tape.jacobian(wide, x)",
    "tape.jacobian(whole, x)",
    "tape.jacobian(unused, x)",
    "tape.jacobian(y, x, parallel_iterations=2)",
    "tape.jacobian(y, x, experimental_use_pfor=False)",
    "tape.jacobian(v, v)",
    "tape.jacobian(x, x)",
    "tape.jacobian(s, s)",
    "tape.jacobian(y, n)",
    "tape.jacobian(y, n, 'zero')",
    "tape.jacobian(y, x, 'all')",
    "tape.batch_jacobian(z, m)",
    "tape.batch_jacobian(z, tf.ones((2, 2)))",
    "tape.batch_jacobian(y, m)",
    "tape.batch_jacobian(z, tf.ones((3, 2)))",
    "tape.batch_jacobian(z, m, experimental_use_pfor=False)",
]
ACC = """
acc = tf.autodiff.ForwardAccumulator({primals}, {tangents})
with acc:
    with tf.GradientTape() as tape:
        tape.watch([x, m, s])
        y = x * v * s
    g = tape.gradient(y, [x, v, s])
    c = tf.concat([y, x], 0); k = tf.cast(y, tf.int32); b = y > 0.0; w = tf.stop_gradient(x) * v
found = acc.jvp([x, v, s, m, n, y, g, c, k, b, w]{option})
"""
PAIRS = [
    ("x", "one"),
    ("v", "2.0 * one"),
    ("[x, v]", "[one, one]"),
    ("{'a': s}", "{'a': s}"),
    ("m", "m"),
    ("(x, [s])", "(one, [s])"),
]
MAPPED = [
    "lambda r: r * v",
    "lambda r: tf.reduce_sum(r)",
    "lambda r: (r, {'a': r[0]}, 1.0)",
    "lambda r: tf.linalg.matvec(m, r)",
    "lambda r: tf.concat([r, x], 0)",
    "lambda r: None",
    "lambda r: tf.vectorized_map(lambda t: t * r, r)",
    "lambda r: r > 2.0",
    "lambda r: tf.shape(r)",
    "lambda r: tf.cast(r, tf.int32)",
    "lambda r: tf.gather(r, [1, 0])",
    "lambda r: tf.argmax(r)",
    "lambda r: tf.nn.softmax(r)",
    "lambda r: tf.tensordot(r, m, 1)",
    "lambda r: v",
    "lambda r: 1/0",
    "lambda r: tf.cond(r[0] > 2.0, lambda: r, lambda: -r)",
    "lambda r: tf.cumsum(r, reverse=True)",
]

PROGRAMS = [
    *(f"{TAPE}found = {asked}" for asked in ASKED),
    *(
        ACC.format(primals=p, tangents=t, option=option)
        for p, t in PAIRS
        for option in ("", ", 'zero'")
    ),
    *(f"found = tf.vectorized_map({fn}, m)" for fn in MAPPED),
]


def outcome(tf, program):
    """The outcome of a program: values with dtypes, or the error's kind."""
    names = {"tf": tf}
    exec(SETUP, names)
    try:
        exec(program, names)
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__]
    return [
        None if x is None else (x.dtype.name, x.shape.as_list(), x.numpy())
        for x in tf.nest.flatten(names["found"])
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_both_find_the_same(program):
    tf = installed()
    ours, theirs = outcome(numtape, program), outcome(tf, program)
    if theirs and isinstance(theirs[0], str):
        # numtape may raise a more specific error; TensorFlow one from tracing.
        assert theirs[0] in ours or theirs[0] == "StagingError", (ours, theirs)
        return
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine is None) == (other is None), (ours, theirs)
        if mine is not None:
            assert mine[:2] == other[:2]
            np.testing.assert_allclose(mine[2], other[2], rtol=1e-6)
