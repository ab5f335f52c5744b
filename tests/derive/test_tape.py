"""GradientTape: recording, watching, persistence, and the structure of results."""

import collections
import copy
import gc
import pickle
import threading

import numpy as np
import pytest
from checks import WATCHED_INTEGER, logged, same

SPENT = "A non-persistent GradientTape can only be used to compute one set of gradients"


@pytest.mark.parametrize("way", [pickle.dumps, copy.deepcopy])
def test_a_tape_is_not_pickled(tf, way):
    """Its rows belong to this process; after the error the tape works as before."""
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(TypeError, match=r"pickle.*(Tape|object)|Tape.*pickle"):
            way(tape)
    same(tape.gradient(y, x), 6.0)


# --- Lifetime of a recording ---------------------------------------------------------------------


def test_persistent_tape_answers_as_often_as_asked(tf):
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
    assert [float(tape.gradient(y, x)) for _ in range(3)] == [12.0, 12.0, 12.0]


def test_spent_tape(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    for again in (tape.gradient, tape.jacobian):
        with pytest.raises(RuntimeError, match=SPENT):
            again(y, x)


def test_tape_that_was_never_entered(tf):
    x = tf.Variable(2.0)
    with pytest.raises(RuntimeError, match=SPENT):
        tf.GradientTape().gradient(x, x)


def test_ops_after_the_context_are_not_recorded(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    z = y * y
    assert tape.gradient(z, x) is None
    assert float(tape.gradient(y, x)) == 4.0


def test_tape_outlives_the_tensors_of_its_recording(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x
        for _ in range(5):
            y = y * x
    gc.collect()
    assert float(tape.gradient(y, x)) == 6 * 2.0**5


def test_persistent_tape_goes_on_when_entered_again(tf):
    v = tf.Variable(3.0)
    tape = tf.GradientTape(persistent=True)
    with tape:
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0
    with tape:
        z = y * v
    assert float(tape.gradient(z, v)) == 27.0


def test_unspent_tape_goes_on_when_entered_again(tf):
    v = tf.Variable(3.0)
    tape = tf.GradientTape()
    with tape:
        y = v * v
    with tape:
        z = y * v
    assert float(tape.gradient(z, v)) == 27.0


def test_spent_tape_starts_afresh_when_entered_again(tf):
    v = tf.Variable(3.0)
    tape = tf.GradientTape()
    with tape:
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0
    with tape:
        z = y * v
    assert float(tape.gradient(z, v)) == 9.0


def test_active_tape_cannot_be_entered(tf):
    tape = tf.GradientTape()
    with tape, pytest.raises(ValueError, match="already-active"), tape:
        pass


def test_exception_inside_the_context_leaves_the_recording(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        with pytest.raises(KeyError), tf.GradientTape() as inner:
            y = v * v
            raise KeyError
        z = y * v
    assert float(inner.gradient(y, v)) == 6.0
    assert float(outer.gradient(z, v)) == 27.0


def test_reset_forgets_recording_and_watches(tf):
    v, x = tf.Variable(3.0), tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = v * x
        assert len(tape.watched_variables()) == 1
        tape.reset()
        assert tape.watched_variables() == ()
        z = y * v * x
    same(tape.gradient(z, v), 12.0)
    assert tape.gradient(z, x) is None


def test_reset_works_only_inside_the_context(tf):
    tape = tf.GradientTape()
    with pytest.raises(ValueError, match="not recording"):
        tape.reset()
    with tape:
        pass
    with pytest.raises(ValueError, match="not recording"):
        tape.reset()


def test_stop_recording(tf):
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            hidden = x * x
            slope = tape.gradient(y, x)
        z = hidden * x
    assert float(slope) == 6.0
    assert float(tape.gradient(z, x)) == 9.0
    assert tape.gradient(hidden, x) is None
    assert tape.gradient(slope, x) is None


def test_stop_recording_ends_when_an_exception_leaves_it(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0


def test_gradient_of_an_ordinary_tape_while_it_is_stopped(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        with tape.stop_recording():
            assert float(tape.gradient(y, v)) == 6.0
        z = v * v * v
    assert float(tape.gradient(z, v)) == 27.0


def test_stop_recording_stops_one_tape_only(tf):
    x = tf.constant(1.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        with outer.stop_recording():
            y = x * x
        z = x * x * x
    assert float(inner.gradient([y, z], x)) == 5.0
    assert float(outer.gradient([y, z], x)) == 3.0


def test_stop_recording_needs_a_recording(tf):
    tape = tf.GradientTape()
    with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
        pass
    with tape:
        pass
    with pytest.raises(ValueError, match="not recording"), tape.stop_recording():
        pass
    with tape, tape.stop_recording():
        with pytest.raises(ValueError, match="not recording"), tape.stop_recording():
            pass


def test_gradient_inside_its_context_ends_an_ordinary_tape(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        assert float(tape.gradient(y, v)) == 6.0
        z = v * 5.0
        with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
            pass
    with pytest.raises(RuntimeError, match=SPENT):
        tape.gradient(z, v)


def test_gradient_inside_a_persistent_tape_is_recorded_and_warned_about_once(tf):
    v = tf.Variable(3.0)
    with logged(tf) as messages, tf.GradientTape(persistent=True) as tape:
        y = v**3
        slopes = [tape.gradient(y, v) for _ in range(3)]
    assert [float(s) for s in slopes] == [27.0] * 3
    assert float(tape.gradient(slopes[0], v)) == 18.0
    assert len(messages) == 1
    assert "on a persistent tape inside its context is significantly less efficient" in messages[0]


def test_tape_records_its_own_thread_only(tf):
    v, results = tf.Variable(3.0), []
    with tf.GradientTape(persistent=True) as tape:
        thread = threading.Thread(target=lambda: results.append(v * v))
        thread.start()
        thread.join()
    assert float(results[0]) == 9.0
    assert tape.gradient(results[0], v) is None


def test_threads_with_tapes_of_their_own_share_a_variable(tf):
    v, results = tf.Variable(3.0), {}

    def work(power):
        for _ in range(20):
            with tf.GradientTape() as tape:
                y = v**power
            results[power] = float(tape.gradient(y, v))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: n * 3.0 ** (n - 1) for n in (1, 2, 3, 4)}


# --- Watching ------------------------------------------------------------------------------------


def test_watch_counts_from_where_it_stands(tf):
    x, v = tf.constant(3.0), tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        early = x * x + v * v
        tape.watch([x, v])
        late = x**3 + 2 * v
    dx, dv = tape.gradient([early, late], [x, v])
    assert (float(dx), float(dv)) == (27.0, 2.0)


def test_watching_an_intermediate_result(tf):
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        tape.watch(y)
        z = y * y
    assert float(tape.gradient(z, y)) == 18.0
    assert tape.gradient(z, x) is None


def test_watching_twice_changes_nothing(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.watch(x)
        z = y * x
    assert float(tape.gradient(z, x)) == 27.0


def test_watch_takes_any_nest(tf):
    a, b, c = tf.constant(1.0), tf.constant(2.0), tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        assert tape.watch([a, (b, {"c": c})]) is None
        y = a * b * c
    assert [float(g) for g in tape.gradient(y, [a, b, c])] == [6.0, 3.0, 2.0]


def test_watched_variables_come_in_order_of_construction(tf):
    first, second, third = (tf.Variable(float(i), name=n) for i, n in enumerate("cab"))
    with tf.GradientTape() as tape:
        third * first * second * third
    watched = tape.watched_variables()
    assert isinstance(watched, tuple)
    assert [v.name for v in watched] == ["c:0", "a:0", "b:0"]
    assert all(x is y for x, y in zip(watched, (first, second, third), strict=True))


def test_untrainable_variable_is_watched_by_hand_only(tf):
    v = tf.Variable(2.0, trainable=False)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        assert tape.watched_variables() == ()
        tape.watch(v)
        z = v**3
    assert tape.gradient(y, v) is None
    assert float(tape.gradient(z, v)) == 12.0
    assert len(tape.watched_variables()) == 1


def test_watch_accessed_variables_off(tf):
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    dv, dw = tape.gradient(y, [v, w])
    assert (float(dv), dw) == (3.0, None)
    assert [x is v for x in tape.watched_variables()] == [True]


@pytest.mark.tf_differs("Keras 3 variables cannot be watched by hand")
def test_watching_the_variables_of_a_layer(tf):
    layer = tf.keras.layers.Dense(2)
    layer(tf.ones((1, 3)))
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(layer.variables)
        y = layer(tf.ones((1, 3)))
    same(tape.gradient(y, layer.variables)[1], [1.0, 1.0])


def test_integer_watches_warn_five_times_per_line(tf):
    numbers = [tf.constant(i) for i in range(8)]
    with logged(tf) as messages, tf.GradientTape() as tape:
        for n in numbers:
            tape.watch(n)
        tape.watch(tf.constant(True))
    assert messages == [WATCHED_INTEGER] * 5 + [WATCHED_INTEGER.replace("int32", "bool")]


# --- Structures ----------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "left right")

STRUCTURES = {
    "one": lambda a, b: a,
    "list": lambda a, b: [b, a],
    "tuple": lambda a, b: (a, b),
    "dict": lambda a, b: {"z": a, "a": b},
    "ordered dict": lambda a, b: collections.OrderedDict([("z", a), ("a", b)]),
    "number keys": lambda a, b: {2: a, 1: b},
    "namedtuple": lambda a, b: Pair(a, b),
    "nest": lambda a, b: [a, ({"x": b, "y": [a]}, Pair(b, (a,)))],
    "empty list": lambda a, b: [],
    "empty tuple": lambda a, b: (),
    "empty dict": lambda a, b: {},
}


def numbers(structure):
    """Return the nest with its tensors as numbers, container types and order as they are."""
    if isinstance(structure, dict):
        return type(structure)((k, numbers(v)) for k, v in structure.items())
    if hasattr(structure, "_fields"):
        return type(structure)(*map(numbers, structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)(map(numbers, structure))
    return float(structure)


@pytest.mark.parametrize("build", STRUCTURES.values(), ids=STRUCTURES.keys())
def test_sources_and_targets_in_any_nest(tf, build):
    a, b = tf.Variable(2.0), tf.constant(5.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(b)
        product = a * b
    slopes, expected = numbers(tape.gradient(product, build(a, b))), build(5.0, 2.0)
    assert slopes == expected
    assert type(slopes) is type(expected)
    if isinstance(expected, dict):
        assert list(slopes) == list(expected)
    same_in_targets = tape.gradient(build(product, product), a)
    count = str(build(0.0, 0.0)).count("0.0")
    assert same_in_targets is None if count == 0 else float(same_in_targets) == 5.0 * count


def test_source_named_twice_gets_its_gradient_twice(tf):
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * v
    assert numbers(tape.gradient(y, [v, v])) == [4.0, 4.0]


def test_source_and_a_source_behind_it(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y + x
    assert numbers(tape.gradient(z, [x, y])) == [109.0, 18.0]


@pytest.mark.parametrize("watched", [True, False])
def test_target_that_is_the_source(tf, watched):
    x, v = tf.constant([2.0, 3.0]), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        if watched:
            tape.watch(x)
        y = v * v
    same(tape.gradient(x, x), [1.0, 1.0], "float32")
    same(tape.gradient([x, x], x), [2.0, 2.0])
    same(tape.gradient(v, v), 1.0)
    same(tape.gradient([v, y], v), 5.0)


def test_variable_as_target_of_another_source(tf):
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        v * w
    assert tape.gradient(v, w) is None
    assert numbers(tape.gradient([v, w], [v, w])) == [1.0, 1.0]


# --- What is watched -----------------------------------------------------------------------------


def test_watching_a_number_watches_no_equal_numbers(tf):
    """Constant derivatives and Python numbers that become tensors are separate tensors."""
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x + 1.0
    numbers = [tape.gradient(y, x), tf.cast(1.0, tf.float32), tf.identity(1.0), tf.constant(1.0)]
    with tf.GradientTape() as tape:
        tape.watch(numbers)
        z = x * 1.0 + tf.cast(1.0, tf.float32)
    assert tape.gradient(z, numbers) == [None] * 4


def test_watch_after_the_block(tf):
    """It takes effect only while another tape records."""
    c, w = tf.constant(5.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = c * w
        z = c * c
    tape.watch(c)
    assert tape.gradient([y, z], c) is None
    with tf.GradientTape():
        tape.watch(c)
    assert [float(g) for g in tape.gradient([y, z], [c, w])] == [2.0, 5.0]


def test_stop_recording_in_a_tape_that_records_again(tf):
    tape = tf.GradientTape()
    tape.__enter__()
    stopped = tape.stop_recording()
    stopped.__enter__()
    tape.__enter__()
    with pytest.raises(ValueError, match="Tape is still recording"):
        stopped.__exit__(None, None, None)


def test_assign_counts_as_a_read(tf):
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    before = w.assign_add(1.0)
    with tf.GradientTape(persistent=True) as tape:
        v.assign_add(1.0)
        y = before * before
    assert [x is v for x in tape.watched_variables()] == [True]
    assert tape.gradient(y, w) is None
    with tape:
        y = before * w
    assert float(tape.gradient(y, w)) == 4.0


def test_seeds_are_numbers_of_the_target(tf):
    x = tf.Variable(3.0, dtype=tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        y, n = x * x, tf.cast(x, tf.int32)
    half = tf.constant(0.5, tf.float64)
    assert float(tape.gradient([y, n], x, output_gradients=[half, n])) == 3.0
    assert int(tape.gradient(n, n, output_gradients=tf.constant(7))) == 7
    with tf.GradientTape() as tape:
        w = tf.Variable(3.0)
        y = w * tf.ones(3)
    assert float(tape.gradient(y, w, output_gradients=2.0)) == 6.0


@pytest.mark.numtape_only(reason="TensorFlow takes subnormal numbers for 0")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_adjoints_of_extreme_quotients(tf, dtype):
    """Compared with TensorFlow's formulas in NumPy."""
    known = np.finfo(dtype)
    small = [0.0, known.smallest_subnormal, known.tiny / 8, known.tiny, 1e-3, 1.0]
    values = np.array([*small, 3.0, float(known.max) ** 0.5, known.max, np.inf], dtype)
    values = np.concatenate([values, -values, [np.nan]]).astype(dtype)
    x, y, g = (a.ravel() for a in np.meshgrid(values, values, values))
    operands = tf.constant(x), tf.constant(y)
    with tf.GradientTape() as tape:
        tape.watch(operands)
        z = operands[0] / operands[1]
    found = [a.numpy() for a in tape.gradient(z, operands, output_gradients=tf.constant(g))]
    with np.errstate(all="ignore"):
        shared, quotients, expected = g / y, (x / y, x / y / y), g * (-x / y / y)
    np.testing.assert_array_equal(found[0], np.where(g == 0, 0, shared))
    finite = np.isfinite(expected)
    assert not np.isnan(found[1][finite]).any()
    zero = finite & (x == 0.0) & (expected == 0.0)
    assert zero.sum() > 100
    assert (found[1][zero] == 0.0).all()
    assert (np.signbit(found[1]) == np.signbit(expected))[zero].all()
    large = [(abs(a) >= known.tiny) & np.isfinite(a) for a in (shared, *quotients, expected)]
    usual = np.all(large, 0)
    assert usual.sum() > 100
    np.testing.assert_allclose(found[1][usual], expected[usual], rtol=8 * known.eps)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "reciprocal"])
def test_an_incoming_gradient_of_0_stays_0(tf, name, dtype):
    """For any derivative, so that the other branch of a `where` does not yield NaN."""
    function = getattr(tf.math, name)
    x = tf.constant(np.array([0.0, -0.0, np.inf, np.nan, -1.0, 4.0]).astype(dtype))
    g = tf.constant(np.array([0.0, 0.0, -0.0, 0.0, 0.0, 1.0]).astype(dtype))

    def derivative(x, g):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x, output_gradients=g)

    last = {"sqrt": 0.25, "rsqrt": -0.0625, "reciprocal": -0.0625}[name]
    replayed = tf.function(derivative)
    for form in (derivative, replayed, replayed, replayed):
        assert form(x, g).numpy().tolist() == [0, 0, 0, 0, 0, last]


@pytest.mark.numtape_only(reason="looks at numtape's rows")
def test_the_adjoints_of_a_quotient_share_a_division(tf):
    from log_queries import fresh_log

    from numtape.core.log.op import CODES

    with fresh_log() as log:
        x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
        with tf.GradientTape() as tape:
            tape.watch((x, y))
            z = x / y
        gradients = tape.gradient(z, (x, y))
        ops = [CODES.entries[code][0].name for code in log.code[: log.n]]
        # In a loop both adjoints divide the same values, so they share one division.
        known = "RealDiv", "RatioOrZero", "DivisorAdjoint"
        assert [ops.count(name) for name in known] == [1, 1, 1]
        assert [g.numpy().tolist() for g in gradients] == [
            pytest.approx([1 / 3, 1 / 4]),
            pytest.approx([-1 / 9, -1 / 8]),
        ]
