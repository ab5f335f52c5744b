"""`tf.function`: limits of recording, errors, checked replays, threads, memory."""

import array
import contextlib
import gc
import importlib
import sys
import threading
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest
from checks import same, slope
from function_helpers import agree, bits, check, gives_up, one_warning, recordings
from log_queries import program_class
from parallel_threads import run_in_threads

from numtape.core import settings

pytestmark = pytest.mark.usefixtures("isolated")


# --- Fallback to Python --------------------------------------------------------------------------


@gives_up
def test_too_many_paths(tf):
    v = tf.Variable(0)

    @tf.function
    def f(x):
        v.assign_add(1)
        return x * int(v)

    with one_warning():
        found = [float(f(tf.constant(2.0))) for _ in range(100)]
    assert found == [2.0 * (k + 1) for k in range(100)]
    assert recordings(f) == 64
    same(v, 100)


@pytest.fixture
def few_in_all(monkeypatch):
    """Lower the limit of recordings per function from 1024 to 100."""
    paths = importlib.import_module("numtape.core.replay.guard_tree")
    assert paths.MAX_RECORDINGS == 1024
    monkeypatch.setattr(paths, "MAX_RECORDINGS", 100)


@gives_up
def test_too_many_signatures(tf, few_in_all):
    f = tf.function(lambda x, n: x * n)
    with one_warning():
        found = [float(f(tf.constant(2.0), n)) for n in range(110)]
    assert found == [2.0 * n for n in range(110)]
    assert recordings(f) == 100


@gives_up
def test_many_signatures_are_many_recordings(tf):
    """A function that is called for each variable of a model, and for each batch size."""
    update = tf.function(lambda v, gradient: v.assign_sub(gradient))
    variables = [tf.Variable(tf.ones(k % 10)) for k in range(100)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            for v in variables:
                update(v, tf.ones_like(v))
    assert recordings(update) == 100
    assert all(float(tf.reduce_sum(v)) == -2.0 * (k % 10) for k, v in enumerate(variables))


@pytest.mark.records
@pytest.mark.numtape_only("about numtape's memory")
def test_signatures_without_recordings_are_forgotten(tf, monkeypatch):
    """Each call has new arguments, and raises."""
    monkeypatch.setattr(importlib.import_module("numtape.function.function"), "MOST", 8)
    ran = []

    @tf.function
    def f(x, n):
        ran.append(n)
        return tf.reshape(x, [n])

    for n in range(1, 40):
        x = tf.ones(3)
        if n == 3:
            f(x, n)
        else:
            with pytest.raises(tf.errors.InvalidArgumentError):
                f(x, n)
    assert len(f._known) <= 8
    ran.clear()
    same(f(tf.ones(3), 3), np.ones(3))
    assert not ran

    @tf.function
    def g(x):
        return tf.reshape(x, [3])

    same(g(tf.ones(3)), np.ones(3))
    for n in range(4, 40):
        with pytest.raises(tf.errors.InvalidArgumentError):
            g(tf.ones(n))
    assert len(g._known) <= 8
    assert len(g._plain) <= 8


@gives_up
@pytest.mark.parametrize("raises", [False, True])
def test_a_call_releases_the_programs_arrays(tf, raises):
    """A call releases arrays without garbage collection, so that they can be resized."""
    values = array.array("f", [1.0, 2.0])

    @tf.function
    def f(x):
        y = x * np.asarray(values)
        if raises:
            tf.reshape(y, [7])
        return y

    gc.collect()
    gc.disable()
    try:
        for count in range(3, 6):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                with contextlib.suppress(tf.errors.InvalidArgumentError):
                    f(tf.constant(1.0))
            values.append(float(count))
    finally:
        gc.enable()
    assert len(values) == 5


@gives_up
def test_too_many_shapes(tf, few_in_all):
    f = tf.function(tf.reduce_sum)
    with one_warning():
        found = [float(f(tf.ones(n))) for n in range(110)]
    assert found == [float(n) for n in range(110)]
    assert recordings(f) == 100


@gives_up
def test_leaked_tensors(tf):
    kept = []

    @tf.function
    def f(x):
        kept.append(x * 2.0)
        return x * 3.0

    with one_warning():
        found = [float(f(tf.constant(float(k)))) for k in range(4)]
    assert found == [0.0, 3.0, 6.0, 9.0]
    assert [float(x) for x in kept] == [0.0, 2.0, 4.0, 6.0]


def test_a_tape_in_a_cycle_is_not_leaked(tf):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        try:
            raise ValueError
        except ValueError as error:
            kept = [error]  # refers to this frame, which refers to the list
            assert kept
        return tape.gradient(y, x)

    for k in range(3):
        same(f(tf.constant(float(k))), 2.0 * k)
    assert recordings(f) == 1


@gives_up
def test_leaked_tensors_under_a_tape(tf):
    kept = []

    @tf.function
    def f(x):
        kept.append(x * x)
        return x * 3.0

    with one_warning():
        for k in range(3):
            x = tf.constant(float(k))
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = f(x)
                z = kept[-1] * y
            same(tape.gradient(y, x), 3.0)
            same(tape.gradient(z, x), 9.0 * k * k)
            same(tape.gradient(kept[-1], x), 2.0 * k)


@gives_up
def test_leaked_variable_reads_and_draws(tf):
    v, kept = tf.Variable([1.0, 2.0]), []

    @tf.function
    def f():
        kept.append((v.read_value(), tf.random.normal((2,))))
        v.assign_add([1.0, 1.0])

    tf.random.set_seed(1)
    with one_warning():
        for _ in range(3):
            f()
    tf.random.set_seed(1)
    for k, (read, drawn) in enumerate(kept):
        same(read, [1.0 + k, 2.0 + k])
        same(drawn, tf.random.normal((2,)))


@gives_up
def test_leaked_tape(tf):
    kept = []

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        kept.append((tape, x, y))
        return y

    with one_warning():
        for k in range(3):
            same(f(tf.constant(float(k))), float(k * k))
            tape, x, y = kept[-1]
            same(tape.gradient(y, x), 2.0 * k)


@gives_up
def test_attribute_that_a_call_sets_and_a_later_one_reads(tf):
    class Cell:
        def __init__(self):
            self.h = tf.constant(0.0)

        @tf.function
        def step(self, x):
            self.h = self.h * 0.5 + x
            return self.h * 1.0

    cell, expected = Cell(), 0.0
    with one_warning():
        for k in range(5):
            expected = expected * 0.5 + k
            same(cell.step(tf.constant(float(k))), expected)


@gives_up
def test_function_that_sets_the_seed(tf):
    ran = []

    @tf.function
    def f(x):
        ran.append(1)
        tf.random.set_seed(3)
        return x + tf.random.normal((2,))

    with one_warning():
        found = bits(*[f(tf.constant(0.0)) for _ in range(3)])
    tf.random.set_seed(3)
    assert found == bits(tf.random.normal((2,))) * 3
    assert len(ran) == 3  # Python's other effects happen once per call


OUTER = {
    "enters": lambda tape, x, y: _inside(tape, lambda: x * x),
    "gradient": lambda tape, x, y: tape.gradient(y, x) * x,
    "watches": lambda tape, x, y: (tape.watch(x), x * x)[1],
    "stops": lambda tape, x, y: (_inside(tape.stop_recording(), lambda: x * 1.0), x * x)[1],
    "resets": lambda tape, x, y: (tape.reset(), x * x)[1],
}


def _inside(context, compute):
    with context:
        return compute()


@gives_up
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("what", OUTER)
def test_tapes_from_outside(tf, what, fresh):
    from numtape.core.log.log import local

    def run(decorate):
        found = []
        tape = tf.GradientTape(persistent=True)
        x, y = tf.constant(3.0), None
        f = decorate(lambda x: OUTER[what](tape, x, y))
        for _ in range(3):
            if fresh and what == "enters":
                z = f(x)
                found += [z]
                continue
            if what == "gradient":
                with tape:
                    tape.watch(x)
                    y = x**3
                found += [f(x)]
                continue
            with tape:
                tape.watch(x)
                y = x**3
                z = f(x) if what != "enters" else None
            z = f(x) if z is None else z
            found += [z, tape.gradient(z, x)]
        return [None if x is None else float(x) for x in found]

    expected = run(lambda f: f)
    with one_warning():
        found = run(tf.function)
    assert found == expected
    assert not local.log.tracing


@gives_up
def test_variable_that_a_thread_assigns_while_the_function_runs(tf):
    """The function runs once per call, and its assigns apply on top of the thread's."""
    v, ran = tf.Variable(0.0), []

    @tf.function
    def f(x):
        ran.append(1)
        v.assign_add(x)
        thread = threading.Thread(target=v.assign_add, args=(1.0,))
        thread.start()
        thread.join()
        return v * 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for k in range(1, 5):
            same(f(tf.constant(1.0)), 2.0 * k)
            same(v, 2.0 * k)
            assert len(ran) == k


@pytest.mark.records
@pytest.mark.numtape_only("TensorFlow's functions run once")
@pytest.mark.parametrize("taped", [False, True])
@pytest.mark.parametrize("looks", [False, True])
def test_variable_that_a_handler_assigns_before_a_call_commits(tf, monkeypatch, looks, taped):
    """No update is lost, and gradients match the returned value."""
    calls = importlib.import_module("numtape.core.replay.dispatch")
    v, w, handled = tf.Variable(1.0), tf.Variable(5.0), []
    commit = calls.commit

    def interrupted(*args):
        if len(handled) < 3:
            handled.append(1)
            v.assign_add(10.0)
        return commit(*args)

    @tf.function
    def f(x):
        v.assign_add(x)
        w.assign(v * x)
        if looks:
            float(v)
        return v * x

    monkeypatch.setattr(calls, "commit", interrupted)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        if taped:
            tape.watch(x)
        y = f(x)
    count = 1 if looks else 3  # Python reruns if it has read the changed value
    same(v, 3.0 + 10.0 * count)
    same(w, 2.0 * (3.0 + 10.0 * count))
    same(y, 2.0 * (3.0 + 10.0 * count))
    if taped:
        same(tape.gradient(y, x), 3.0 + 10.0 * count)
    monkeypatch.setattr(calls, "commit", commit)
    before = float(v)
    same(f(x), 2.0 * (before + 2.0))
    same(v, before + 2.0)


@pytest.mark.records
@gives_up
def test_thread_continues_after_fallback(tf):
    tape = tf.GradientTape()

    @tf.function
    def f(x):
        with tape:
            return x * 2.0

    with one_warning():
        same(f(tf.constant(1.0)), 2.0)
    ran = []

    @tf.function
    def g(x):
        ran.append(1)
        return x * 2.0

    for _ in range(3):
        g(tf.constant(1.0))
    assert len(ran) == 1
    tf.random.set_seed(1)


@gives_up
def test_function_in_plain_python_still_assigns_all_or_nothing(tf):
    v, kept = tf.Variable(0.0), []

    @tf.function
    def f(x):
        kept.append(x * 2.0)
        v.assign_add(1.0)
        if float(x) < 0:
            raise KeyError
        return x

    with one_warning():
        for _ in range(3):
            f(tf.constant(1.0))
        with pytest.raises(KeyError):
            f(tf.constant(-1.0))
    same(v, 3.0)


@gives_up
def test_the_function_catches_what_stops_recording(tf):
    w = tf.Variable(2.0)
    tape = tf.GradientTape(persistent=True)
    with tape:
        loss = w * w

    @tf.function
    def f(x):
        try:
            g = tape.gradient(loss, w)
        except:  # noqa: E722
            g = tf.constant(-1.0)
        return g * x

    with one_warning():
        for _ in range(2):
            same(f(tf.constant(1.0)), 4.0)


@pytest.mark.tf_differs("TensorFlow slices by the tensor")
def test_a_slice_by_an_argument_is_no_leak(tf):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    f = tf.function(lambda i: v[i])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (0, 1, 0):
            same(f(tf.constant(k)), [[1.0, 2.0], [3.0, 4.0]][k])
    assert recordings(f) == 2


# --- Errors --------------------------------------------------------------------------------------


@pytest.mark.numtape_only("TensorFlow assigns as far as it came")
@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit])
def test_exception_while_recording_restores_all_state(tf, error):
    v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    fail = [True]

    @tf.function
    def f(x):
        v.assign_add(x)
        w.assign(w * tf.random.normal((2,)))
        tf.random.normal((3,))
        if fail[0]:
            raise error
        return v.read_value()

    tf.random.set_seed(1)
    expected = bits(tf.random.normal((2,)))
    tf.random.set_seed(1)
    for _ in range(2):
        with pytest.raises(error):
            f(tf.constant(1.0))
    same(v, 1.0)
    same(w, [1.0, 2.0])
    assert bits(tf.random.normal((2,))) == expected
    assert recordings(f) == 0
    fail[0] = False
    same(f(tf.constant(1.0)), 2.0)
    same(f(tf.constant(1.0)), 3.0)


@pytest.mark.records
@pytest.mark.numtape_only("about numtape's programs")
@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
@pytest.mark.parametrize("when", ["before", "after"])
def test_exception_while_replaying_restores_all_state(tf, monkeypatch, error, when):
    v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    programs = program_class(settings.device())

    @tf.function
    def f(x):
        v.assign_add(x)
        # Numbers that NumPy draws: otherwise machine code would replace `run`.
        w.assign(w * tf.random.truncated_normal((2,)))
        return v * x

    tf.random.set_seed(1)
    for _ in range(2):
        f(tf.constant(1.0))
    before = bits(v, w)
    run = programs.run

    def interrupted(program, *args):
        if when == "after":
            run(program, *args)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(programs, "run", interrupted)
        for _ in range(2):
            with pytest.raises(error):
                f(tf.constant(1.0))
    assert bits(v, w) == before
    same(f(tf.constant(1.0)), 4.0)
    found = bits(w)
    tf.random.set_seed(1)
    expected = tf.constant([1.0, 2.0])
    for _ in range(3):
        expected = expected * tf.random.truncated_normal((2,))
    assert found == bits(expected)


def test_exceptions_of_python_propagate(tf):
    @tf.function(autograph=False)
    def f(x):
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            f(tf.constant(1.0))


def test_errors_of_shapes(tf):
    f = tf.function(lambda x, y: x + y)
    f(tf.ones(2), tf.ones(2))
    for _ in range(2):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            f(tf.ones(2), tf.ones(3))
    same(f(tf.ones(2), tf.ones(2)), [2.0, 2.0])


@pytest.mark.numtape_only("TensorFlow assigns as far as it came")
@pytest.mark.parametrize("known", [False, True])
def test_bad_index(tf, known):
    v = tf.Variable(0)

    @tf.function
    def f(x, k):
        v.assign_add(1)
        found = tf.gather(x, k)
        tf.random.normal((2,))
        return found

    x = tf.constant([1.0, 2.0, 3.0])
    tf.random.set_seed(1)
    if known:
        same(f(x, tf.constant(2)), 3.0)
        same(f(x, tf.constant([0, 1])), [1.0, 2.0])
    before = int(v)
    for k in (3, -1, [0, 5]):
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 3\)"):
                f(x, tf.constant(k))
    assert int(v) == before
    found = bits(tf.random.normal((2,)))
    tf.random.set_seed(1)
    for _ in range(before):
        tf.random.normal((2,))
    assert found == bits(tf.random.normal((2,)))
    same(f(x, tf.constant(1)), 2.0)
    assert recordings(f) == (2 if known else 1)


def test_bad_index_is_an_error(tf):
    f = tf.function(lambda x, k: tf.gather(x, k))
    x = tf.constant([1.0, 2.0, 3.0])
    for k in (0, 2, 1):
        same(f(x, tf.constant(k)), float(k + 1))
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(x, tf.constant(3))
    same(f(x, tf.constant(0)), 1.0)


@pytest.mark.parametrize("known", [False, True])
def test_integer_division_by_zero(tf, known):
    f = tf.function(lambda x, y: x // y)
    if known:
        same(f(tf.constant([7, 8]), tf.constant([2, 3])), [3, 2], "int32")
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(tf.constant([7, 8]), tf.constant([2, 0]))
    same(f(tf.constant([7, 8]), tf.constant([1, 4])), [7, 2])


@pytest.mark.numtape_only("how often TensorFlow records is its own affair")
def test_checked_ops_are_recorded_once(tf):
    f = tf.function(lambda x, k: tf.gather(x, k) // (k + 1))
    for k in ([0, 1], [2, 0], [1, 1]):
        f(tf.constant([7, 8, 9]), tf.constant(k))
    assert recordings(f) == 1


@pytest.mark.numtape_only("TensorFlow assigns as far as it came")
def test_inner_call_that_raises_assigns_nothing(tf):
    v = tf.Variable(0.0)

    @tf.function
    def inner(x):
        v.assign_add(1.0)
        if float(x) < 0:
            raise KeyError
        v.assign_add(10.0)

    @tf.function
    def outer(x):
        v.assign_add(100.0)
        with contextlib.suppress(KeyError):
            inner(x)
        return v.read_value()

    total = 0.0
    for x in (1.0, -1.0, -1.0, 1.0, -1.0):
        total += 111.0 if x > 0 else 100.0
        same(outer(tf.constant(x)), total)
    same(v, total)


@pytest.mark.numtape_only("TensorFlow assigns as far as it came")
def test_error_under_a_tape_leaves_the_tape_usable(tf):
    v = tf.Variable(2.0)

    @tf.function
    def f(x):
        v.assign_add(1.0)
        if float(x) < 0:
            raise KeyError
        return v * x

    for _ in range(2):
        before = float(v)
        with tf.GradientTape(persistent=True) as tape:
            y = v * v
            with pytest.raises(KeyError):
                f(tf.constant(-1.0))
            z = f(tf.constant(3.0))
        same(tape.gradient(y, v), 2 * before)
        same(tape.gradient(z, v), 3.0)
        same(v, before + 1.0)


# --- Checked replays -----------------------------------------------------------------------------


@pytest.fixture
def checked(tf, monkeypatch):
    """Check the replay of every call."""
    monkeypatch.setattr(settings, "_check_replay", 1)


@check
def test_check_finds_changed_items_of_containers(tf, checked):
    from numtape.errors import ReplayError

    rates = [2.0]
    v = tf.Variable(0.0)

    @tf.function(freeze=True)
    def f(x):
        v.assign_add(x * rates[0])
        return v.read_value()

    for k in (1, 2):
        same(f(tf.constant(1.0)), 2.0 * k)
    rates[0] = 3.0
    with pytest.raises(ReplayError, match="differs from Python"):
        f(tf.constant(1.0))
    same(v, 4.0)


@check
def test_check_finds_results_of_another_structure(tf, checked):
    from numtape.errors import ReplayError

    rates = [2.0]
    f = tf.function(lambda x: [x * rate for rate in rates], freeze=True)
    for _ in range(2):
        f(tf.constant(1.0))
    rates.append(3.0)
    with pytest.raises(ReplayError):
        f(tf.constant(1.0))


@check
def test_check_finds_constants_that_change(tf, checked):
    from numtape.errors import ReplayError

    rates = [2.0]
    f = tf.function(lambda x: (x, rates[0]), freeze=True)
    f(tf.constant(1.0))
    rates[0] = 3.0
    with pytest.raises(ReplayError):
        f(tf.constant(1.0))


@check
def test_check_finds_other_variables_assigned(tf, checked):
    from numtape.errors import ReplayError

    which = [0]
    variables = [tf.Variable(0.0), tf.Variable(0.0)]
    f = tf.function(lambda x: variables[which[0]].assign(x) and None, freeze=True)
    f(tf.constant(1.0))
    which[0] = 1
    with pytest.raises(ReplayError):
        f(tf.constant(2.0))
    assert [float(v) for v in variables] == [1.0, 0.0]


@pytest.mark.records
@check
def test_check_of_a_function_that_can_no_longer_be_recorded(tf, checked):
    from numtape.errors import ReplayError

    seeds = []

    @tf.function
    def f(x):
        for seed in seeds:
            tf.random.set_seed(seed)
        return x + 1.0

    f(tf.constant(1.0))
    seeds.append(1)
    with pytest.raises(ReplayError):
        f(tf.constant(1.0))


@check
def test_check_accepts_correct_functions(tf, checked):
    v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    optimizer = tf.keras.optimizers.Adam(0.1)

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(w**2) * x * v + tf.random.normal(())
        optimizer.apply_gradients([(tape.gradient(y, w), w)])
        v.assign_add(tf.random.uniform(()))
        if v > 2.0:
            v.assign(0.0)
        return {"y": y, "n": None, "k": 3, "random": tf.random.normal((5,)), "nan": y * np.nan}

    for seed in (1, None):
        if seed is not None:
            tf.random.set_seed(seed)
        for k in range(12):
            f(tf.constant(float(k)))
    with tf.GradientTape() as tape:
        y = f(tf.constant(1.0))["y"]
    assert tape.gradient(y, w) is not None


@check
@pytest.mark.parametrize(
    "value",
    [
        True,
        np.int8(-3),
        np.int16(-3),
        -3,
        np.int64(-3),
        np.uint8(200),
        np.uint32(2**32 - 1),
        np.float16(-1.5),
        -1.5,
        np.float64("nan"),
        [True, False],
        [[-1]],
        np.zeros((0, 3)),
    ],
)
def test_check_of_every_dtype(tf, checked, value):
    v = tf.Variable(value)
    f = tf.function(lambda x: (x, [x], v.assign(x)))
    for _ in range(3):
        for found in tf.nest.flatten(f(tf.constant(value))):
            assert bits(found) == bits(tf.constant(value))


@check
def test_check_draws_the_same_numbers(tf, monkeypatch):
    def run():
        f = tf.function(lambda: tf.random.normal((2,)))
        tf.random.set_seed(1)
        return bits(*[f() for _ in range(5)], tf.random.normal((2,)))

    expected = run()
    monkeypatch.setattr(settings, "_check_replay", 2)
    assert run() == expected


@check
def test_check_holds_no_lock_while_python_runs(tf, checked):
    """The function waits for a thread that assigns a variable and draws numbers."""
    v, w = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function(freeze=True)
    def f(x):
        thread = threading.Thread(target=lambda: w.assign(tf.random.normal(())))
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        v.assign_add(x)
        return v.read_value()

    for k in range(3):
        same(f(tf.constant(1.0)), k + 1.0)


@check
def test_check_propagates_exceptions(tf, checked):
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        v.assign_add(1.0)
        if x < 0:
            raise KeyError("mine")
        return x

    for _ in range(2):
        f(tf.constant(1.0))
        with pytest.raises(KeyError, match="mine"):
            f(tf.constant(-1.0))
    same(v, 2.0)


@check
def test_check_treats_nans_as_equal(tf, checked):
    @tf.function(jit_compile=True)
    def f(x, y):
        return x + y, (x * y - x) * y, tf.reduce_sum(tf.tanh(x) * y + x), tf.maximum(x, y), -(x * y)

    nan = np.float32(np.nan)
    for _ in range(3):
        f(tf.constant(nan), tf.constant(-nan))
        f(tf.constant(-nan), tf.constant(nan))


# --- Threads, memory, devices --------------------------------------------------------------------


@pytest.fixture
def often():
    """Switch threads often."""

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("recorded", [False, True])
def test_threads_that_add_up(tf, often, recorded):
    v, w = tf.Variable(0), tf.Variable(np.zeros(50))

    @tf.function
    def f(x):
        v.assign_add(x)
        w.assign_add(tf.ones(50, tf.float64))

    if recorded:
        f(tf.constant(0))
    run_in_threads(4, lambda k: [f(tf.constant(1)) for _ in range(100)] and None)
    same(v, 400)
    same(w, np.full(50, 400.0 + recorded))


def test_threads_give_the_results_of_one_thread(tf, often):
    w = tf.Variable(np.random.default_rng(0).standard_normal((4, 3)))

    @tf.function
    def f(x):
        y = tf.tanh(x @ w)
        if tf.reduce_sum(y) > 0.0:
            return tf.reduce_sum(y**2)
        return tf.reduce_mean(y)

    data = np.random.default_rng(1).standard_normal((4, 40, 2, 4))
    found = run_in_threads(4, lambda k: [float(f(tf.constant(x))) for x in data[k]])
    expected = [[float(f.python_function(tf.constant(x))) for x in part] for part in data]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_threads_with_tapes(tf, often):
    f = tf.function(lambda x: x**3)

    def work(k):
        return [float(slope(tf, f, tf.constant(float(k + j)))) for j in range(30)]

    assert run_in_threads(4, work) == [[3.0 * (k + j) ** 2 for j in range(30)] for k in range(4)]


@pytest.mark.numtape_only("TensorFlow's functions draw other numbers than its eager ops")
def test_threads_that_draw(tf, often):
    f = tf.function(lambda: tf.random.uniform(()))
    tf.random.set_seed(1)
    expected = sorted(float(tf.random.uniform(())) for _ in range(200))
    tf.random.set_seed(1)
    found = run_in_threads(4, lambda k: [float(f()) for _ in range(50)])
    assert sorted(x for part in found for x in part) == expected


@pytest.mark.numtape_only("about numtape's locks")
def test_threads_that_draw_read_and_assign(tf, often):
    v, x = tf.Variable(0), tf.constant(0.5)

    @tf.function
    def looks():
        y = tf.random.uniform(())
        return y if y > x else y - float(tf.round(y * 20.0))

    @tf.function
    def assigns():
        v.assign_add(tf.random.uniform((), 1, 2, tf.int32))

    def work(k):
        for _ in range(50):
            looks() if k % 2 else assigns()

    run_in_threads(4, work)
    same(v, 100)


@pytest.mark.parametrize("size", [10**6])
def test_large_arrays(tf, size):
    def program(x, y):
        z = tf.sin(x) * y + tf.sqrt(tf.abs(y))
        return z, tf.reduce_sum(z), tf.cast(z > 0.5, tf.int32)

    rng = np.random.default_rng(0)
    f = tf.function(program)
    for _ in range(3):
        x, y = (tf.constant(rng.standard_normal(size)) for _ in range(2))
        for found, expected in zip(f(x, y), program(x, y), strict=True):
            same(found, expected, rtol=1e-9)


def test_large_arrays_in_threads(tf):
    f = tf.function(lambda x: tf.reduce_sum(tf.sqrt(x) * 2.0))
    data = [tf.fill((10**6,), np.float64(k)) for k in (1, 4, 9)]
    f(data[0])
    found = run_in_threads(3, lambda k: [float(f(data[k])) for _ in range(5)])
    np.testing.assert_allclose(found, [[2e6] * 5, [4e6] * 5, [6e6] * 5], rtol=1e-9)


@pytest.mark.records
@pytest.mark.numtape_only("about numtape's memory")
def test_memory_stays_flat(tf):
    from numtape.core.log.log import local

    v, w = tf.Variable(0.0), tf.Variable(tf.zeros(100))
    x = tf.ones(100)

    @tf.function
    def f(x):
        v.assign_add(1.0)
        w.assign(w * 0.5 + x)
        return tf.reduce_sum(w) + tf.random.normal(())

    def calls(count):
        for _ in range(count):
            f(x)

    calls(100)
    rows = local.log.n
    gc.collect()
    tracemalloc.start()
    try:
        calls(100)
        before = tracemalloc.get_traced_memory()[0]
        calls(3000)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    calls(10000)
    assert grown < 20_000
    assert local.log.n - rows < 2000
    same(v, 13200.0)


@pytest.mark.numtape_only("about numtape's memory")
def test_memory_stays_flat_where_results_are_kept_and_tapes_follow(tf):
    from numtape.core.log.log import local

    v = tf.Variable(tf.ones(1000))
    f = tf.function(lambda x: tf.reduce_sum(v * x))
    x = tf.ones(1000)

    def calls(count):
        for _ in range(count):
            with tf.GradientTape() as tape:
                y = f(x)
            tape.gradient(y, v)

    calls(200)
    gc.collect()
    tracemalloc.start()
    try:
        calls(800)  # the log was reset meanwhile
        before = tracemalloc.get_traced_memory()[0]
        calls(1500)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 2_000_000  # one array per call would exceed this
    assert local.log.columns.capacity <= 1 << 16


@pytest.mark.numtape_only("about numtape's executors")
def test_executor_changes_between_calls(tf):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        v.assign_add(x)
        if tf.reduce_sum(v) > 6.0:
            v.assign(v * 0.5)
        return tf.sin(v * x) * tf.random.uniform((2,)), v.read_value()

    def run(devices):
        v.assign([1.0, 2.0])
        tf.random.set_seed(1)
        found = []
        for device in devices:
            with tf.config.override(device):
                found += f(tf.constant([0.5, 1.0]))
                found.append(slope(tf, lambda x: f(x)[0], tf.constant([0.5, 1.0])))
        return found

    expected = run(["cpu"] * 8)
    for found in (run(["reference"] * 8), run(["cpu", "reference"] * 4)):
        for a, b in zip(found, expected, strict=True):
            same(a, b, rtol=1e-5)


@pytest.mark.records
@pytest.mark.numtape_only("about numtape's executors")
def test_replays_run_on_the_current_executor(tf, monkeypatch):
    ran = []
    for name in ("cpu", "reference"):
        programs = program_class(name)

        def run(program, *args, run=programs.run, name=name):
            ran.append(name)
            return run(program, *args)

        monkeypatch.setattr(programs, "run", run)
    f = tf.function(lambda x: tf.sin(x) * 2.0)
    devices = ["cpu", "cpu", "reference", "reference", "cpu", "reference"]
    for device in devices:
        with tf.config.override(device):
            f(tf.ones(3))
    assert ran == devices[1:]  # the first call records


@pytest.mark.numtape_only("about numtape's executors")
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_draws_that_are_returned_or_assigned_outlive_the_call(tf, device):
    v = tf.Variable(tf.zeros(1000))

    @tf.function
    def f():
        v.assign(tf.random.normal((1000,)))
        return tf.random.normal((1000,))

    with tf.config.override(device):
        tf.random.set_seed(1)
        expected = bits(*[tf.random.normal((1000,)) for _ in range(8)])
        tf.random.set_seed(1)
        found = []
        for _ in range(4):
            result = f()
            found += [v.read_value(), result]
        gc.collect()
        others = [np.zeros(1000, np.float32) for _ in range(100)]
        assert bits(*found) == expected
    assert len(others) == 100


@pytest.mark.numtape_only("about numtape's executors")
@pytest.mark.parametrize("first", ["cpu", "reference"])
def test_recorded_on_one_executor_replayed_on_another(tf, first):
    f = tf.function(lambda x, y: (tf.matmul(x, y), tf.reshape(x, (4,)), tf.cumsum(y), x[0, 0]))
    x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.0, 1.0], [1.0, 0.0]])
    for device in (first, "reference", "cpu", "reference", "cpu"):
        with tf.config.override(device):
            for found, expected in zip(f(x, y), f.python_function(x, y), strict=True):
                same(found, expected)
    assert recordings(f) == 1


@pytest.mark.records
@pytest.mark.numtape_only("paths() is numtape's own")
def test_threads_that_record_the_same_at_once(tf):
    f = tf.function(lambda x: x * 2.0)
    run_in_threads(16, lambda k: same(f(tf.constant(float(k))), 2.0 * k))
    assert len(f.paths()) == 1


# --- Whole programs ------------------------------------------------------------------------------


def test_many_ops(tf):
    def program(x, k):
        y = tf.concat([x, x * 2.0], 0)
        y = tf.transpose(tf.reshape(y, (2, 2, 2)), (1, 0, 2))
        z = tf.gather(y, k, axis=1) @ tf.eye(2)
        w = tf.where(z > 2.0, tf.sqrt(tf.abs(z)), -z)
        return {
            "w": w,
            "max": tf.reduce_max(w, 0),
            "arg": tf.argmax(w, -1),
            "cum": tf.cumsum(w, 1),
            "soft": tf.nn.softmax(w),
            "pad": tf.pad(w, [[1, 0]] * len(w.shape)),
            "cast": tf.cast(w, tf.int32) % 3,
            "hot": tf.one_hot(k, 3),
            "slice": w[..., ::-1][0],
        }

    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    agree(
        tf,
        program,
        *[(tf.constant(x * s), tf.constant(k)) for s in (1, -1, 2) for k in ([0, 1], [1, 1])],
    )


def test_newton(tf):
    def program(a):
        x = a
        for _ in range(6):
            x = (x + a / x) / 2.0
        return x

    agree(tf, program, *[(tf.constant(a),) for a in (2.0, 9.0, 100.0)])


def test_hessian_vector_products(tf):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def product(u):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(v**3) + v[0] * v[1]
            gradient = inner.gradient(y, v)
            dot = tf.reduce_sum(gradient * u)
        return outer.gradient(dot, v)

    for u in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]):
        a, b = np.asarray(v)
        same(product(tf.constant(u)), np.array([[6 * a, 1], [1, 6 * b]]) @ u)
        v.assign_add([1.0, -0.5])


DROPPED = {
    "never called": lambda f, x: None,
    "called once": lambda f, x: f(x),
    "replayed": lambda f, x: [f(x) for _ in range(50)],
    "of numbers": lambda f, x: [f(float(k)) for k in range(50)],
    "made concrete": lambda f, x: f.get_concrete_function(x)(x),
    "asked for its paths": lambda f, x: (f(x), f.paths()),
}


@pytest.mark.parametrize("use", DROPPED)
def test_a_function_that_is_dropped_is_freed_at_once(tf, use):
    v = tf.Variable(3.0)

    def step(x):
        with tf.GradientTape() as tape:
            y = x * v if x > 0 else -x * v
        v.assign_sub(0.01 * tape.gradient(y, v))
        return y

    function = tf.function(step)
    DROPPED[use](function, tf.constant(2.0))
    reference = weakref.ref(function)
    gc.disable()
    try:
        del function
        assert reference() is None
    finally:
        gc.enable()


def test_a_concrete_function_keeps_its_function_alive(tf):
    concrete = tf.function(lambda x: x * 2.0).get_concrete_function(tf.constant(1.0))
    gc.collect()
    assert [float(concrete(tf.constant(float(k)))) for k in range(5)] == [0.0, 2.0, 4.0, 6.0, 8.0]
