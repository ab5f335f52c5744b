"""Fixed programs about tapes: numtape and TensorFlow, values, dtypes, None and exceptions."""

import itertools
import warnings

import pytest
from tensorflow_reference import installed

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]

# Computations under ``t`` from x (watched), v, w (not trainable) and c (not watched).
COMPUTED = [
    "x * v",
    "tf.stop_gradient(x) * v",
    "tf.cast(x, tf.int32)",
    "tf.floor(x) + v",
    "c * 2.0",
    "own(x)",
    "own(v) * x",
    "own(c)",
    "tf.grad_pass_through(tf.round)(x)",
    "v.assign_add(1.0) * x",
    "tf.recompute_grad(lambda a: a * v)(x)",
    "tf.foldl(lambda a, b: a * b, tf.stack([x, v, w]))",
    "tf.case([(x > v, lambda: x), (v > x, lambda: v * x)], lambda: c)",
    "tf.identity(x) * w",
    "tf.numpy_function(lambda a: a * 2, [x], tf.float32)",
    "tf.constant(x.numpy()) * v",
    "tf.py_function(lambda a: a * a, [x], tf.float32)",
    "two(x, v)[0]",
    "two(x, v)[1] * x",
    "tf.debugging.check_numerics(x * x, 'here')",
    "tf.switch_case(tf.constant(1), [lambda: c, lambda: x * x])",
    "tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, v * 1.0))[1]",
    "tf.where(x > 1.0, x * v, c)",
    "tf.zeros_like(x) + v",
    "x ** 2 * own(x)",
    "tf.reduce_sum(tf.stack([own(x), v]))",
]
ASKED = [
    "t.gradient(y, x)",
    "t.gradient(y, [x, v, w, c])",
    "t.gradient(y, {'a': x, 'b': (c,)})",
    "t.gradient(y, [x, c], unconnected_gradients='zero')",
    "t.gradient([y, y], v, output_gradients=[c, c])",
    "[t.gradient(y, x), t.gradient(y, v)]",
    "[k.name for k in t.watched_variables()]",
]
# Whole programs.
PROGRAMS = [
    "t.gradient(x, x)",
    "t.gradient(c, c)",
    "t.watch(1.0)",
    "t.watch(None)",
    "t.__enter__()",
    "t.gradient(None, x)",
    "t.gradient(x, None)",
    "t.reset()",
    "t.jacobian(x * v, x)",
    "t.stop_recording().__enter__()",
    "tf.GradientTape().gradient(x, x)",
    "tf.GradientTape().reset()",
    "tf.GradientTape().watch(x)",
    "tf.GradientTape().stop_recording().__enter__()",
    "tf.gradients(x, x)",
    "t.gradient(x, x, unconnected_gradients='other')",
    "t.batch_jacobian(x, x)",
    "tf.custom_gradient(lambda a: (a * v, lambda g: g))(x)",
    "tf.custom_gradient(lambda a: a)(x)",
    "t.gradient(tf.custom_gradient(lambda a: (a * 1.0, lambda g: (g, g)))(x), x)",
    "tf.GradientTape().watched_variables()",
    "t.gradient(v, v)",
    "t.gradient([v, x], [v, x])",
    "t.watch([x, 'a'])",
    "t.watch(tf.constant(1))",
]
# TensorFlow differentiates the function of `py_function` only once, raises an IndexError for a
# scalar in `batch_jacobian`, an AttributeError for a tape that was never entered, and ignores
# integer seeds.
OTHER = [
    ("tf.cast(x, tf.int32)", ASKED[4]),
    ("tf.py_function(lambda a: a * a, [x], tf.float32)", ASKED[5]),
    ("x * v", "tf.GradientTape().watch(x)"),
    ("x * v", "t.batch_jacobian(x, x)"),
]
CASES = [*itertools.product(COMPUTED, ASKED), *(("x * v", asked) for asked in PROGRAMS)]
CASES = [case for case in CASES if case not in OTHER]


def shown(value):
    """A value as text, in the same format for both."""
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    if hasattr(value, "numpy"):
        return value.dtype.name, tuple(value.shape), value.numpy().tolist()
    return value if value is None or isinstance(value, str) else type(value).__name__


def outcome(tf, computed, asked):
    v, w = tf.Variable(3.0, name="v"), tf.Variable(2.0, trainable=False, name="w")
    x, c = tf.constant(1.5), tf.constant(4.0)
    own = tf.custom_gradient(lambda a: (a * c, lambda g: g * 10.0))
    two = tf.custom_gradient(lambda a, b: ((a * b, a + b), lambda g, h: (g * 5.0 + h, h * 7.0)))
    names = {"tf": tf, "v": v, "w": w, "x": x, "c": c, "own": own, "two": two}
    try:
        with warnings.catch_warnings(), tf.GradientTape(persistent=True) as tape:
            warnings.simplefilter("ignore")
            tape.watch(x)
            y = eval(computed, names)
        found = eval(asked, names | {"t": tape, "y": y})
        return shown(found), v.numpy()
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize(("computed", "asked"), CASES)
def test_both_do_the_same(computed, asked):
    assert outcome(numtape, computed, asked) == outcome(installed(), computed, asked)
