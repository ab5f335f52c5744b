"""All plans yield the same bits, whether cached or not, and shared by threads or not."""

import gc
import itertools
import threading

import numpy as np
import pytest
from log_queries import fresh_log
from numtape.kernels.passes.layout import TEMPORARY
from processes import run as run_script
from random_op_programs import Program, differences, patterns, program_of, run

from numtape.core import settings
from numtape.core.compile.tables import CALLS
from numtape.core.cpu import blas, buffers, repeated_evaluation, sweeper as cpu, workers
from numtape.core.derive import adjoint_cache, repeated_gradients
from numtape.core.ops import matrix_products
from numtape.core.plan import plan as plans, structure_cache
from numtape.core.values import intern_table
from numtape.core.values.intern_table import generation
from numtape.core.values.memory import address_of

pytestmark = [
    pytest.mark.numtape_only("numtape's plans"),
    pytest.mark.cpu_only("plans of the CPU's"),
]

PROGRAMS = 16


@pytest.fixture(autouse=True)
def cpu_alone(tf):
    with tf.config.override("cpu"):
        yield


@pytest.mark.parametrize(
    "block", [pytest.param(k, marks=pytest.mark.slow if k % 2 else ()) for k in range(4)]
)
def test_any_plan_gives_the_same_bits(tf, block, monkeypatch):
    """Borders of groups, points of evaluation, widths and threads do not change bits."""
    for seed in range(block, PROGRAMS, 4):
        program = Program(1000 + seed)
        known = {}
        chosen = itertools.product([128, 384, 1024], [1, 3], [1, cpu.LARGE])
        for width, threads, large in chosen:
            monkeypatch.setattr(plans, "MAX_BLOCK", width)
            monkeypatch.setattr(settings, "_threads", threads)
            monkeypatch.setattr(cpu, "LARGE", large)
            for pattern, (look, tape, keep) in patterns(program).items():
                if not keep:
                    continue
                with fresh_log():
                    found = run(tf, program, "cpu", look, tape)
                first = known.setdefault(tape, found)
                wrong = differences(found, first)
                assert not wrong, (
                    f"not the same bits in {wrong} at width {width} with {threads} threads, "
                    f"{pattern}:\n{program.script()}"
                )


@pytest.mark.parametrize("seed", range(12))
def test_programs_that_alternate_recall_the_right_plans(tf, seed):
    """Structures alternate in one log."""
    chosen = [Program(2000 + 3 * seed + k) for k in range(3)]
    order = [0, 1, 2, 0, 0, 1, 1, 2, 2, 0, 1, 2, 0, 1, 2]
    first = {}
    with fresh_log():
        for k in order:
            found = run(tf, chosen[k], "cpu", [False] * len(chosen[k].lines), True)
            wrong = differences(found, first.setdefault(k, found))
            assert not wrong, f"not the same bits in {wrong}:\n{chosen[k].script()}"


def recalls(monkeypatch):
    """The list to which each recalled plan, and each recalled gradient, appends a word."""
    found = []
    plan, gradient = plans.Planner._recall, adjoint_cache.AdjointCache.recall

    def recalled(self, log, key):
        result = plan(self, log, key)
        found.extend(["plan"] * (result is not None))
        return result

    def repeated(self, log, key):
        result = gradient(self, log, key)
        found.extend(["gradient"] * (result is not None))
        return result

    # Machine code recalls without Python, so it is turned off.
    for machine in (repeated_evaluation, repeated_gradients):
        monkeypatch.setattr(machine, "prepare", lambda *rest: None)
    monkeypatch.setattr(plans.Planner, "_recall", recalled)
    monkeypatch.setattr(adjoint_cache.AdjointCache, "recall", repeated)
    return found


def test_a_training_step_is_planned_twice_and_then_recalled(tf, monkeypatch):
    w, x = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.5, -1.0]])
    optimizer = tf.keras.optimizers.SGD(0.1)
    with fresh_log():
        found = recalls(monkeypatch)
        for step in range(8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.tanh(x @ w) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            float(loss)
            if step == 3:
                del found[:]
    assert found == ["gradient", "plan"] * 4


def test_structures_that_differ_at_equal_length_cost_no_search(tf):
    """For example paddings: each step has its own codes."""
    x, w = tf.constant(np.ones((8, 2), np.float32)), tf.Variable(np.ones((2, 1), np.float32))
    with fresh_log() as log:
        for k in range(300):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.pad(x, [[k, 300 - k], [0, 0]]) @ w) ** 2)
            w.assign_sub(0.01 * tape.gradient(loss, w))
            float(loss)
        assert log.workspace.plans._entries == {}


def test_slices_that_begin_elsewhere_are_one_structure(tf, monkeypatch):
    """The start of a slice is data: batches of a data set share a plan and adjoint rows."""
    data = np.random.default_rng(0).standard_normal((400, 2))
    x, w, found = tf.constant(data), tf.Variable(np.ones((2, 1))), recalls(monkeypatch)
    with fresh_log():
        for k in range(2, 300, 7):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((x[k : k + 8] @ w) ** 2)
            g = tape.gradient(loss, w)
            batch = data[k : k + 8]
            np.testing.assert_allclose(float(loss), ((batch @ [1.0, 1.0]) ** 2).sum())
            np.testing.assert_allclose(g.numpy(), 2.0 * batch.T @ batch @ [[1.0], [1.0]])
    assert found.count("gradient") > 35
    assert found.count("plan") > 35


def test_few_structures_are_compared_for_one_question():
    found = structure_cache.StructureCache()
    for k in range(20):
        found.keep("question", 10, k, generation.number)
    assert found.entries_of("question") == [19, 18, 17, 16]
    found.keep("long", structure_cache.ROWS - 5, "all", generation.number)
    assert found.entries_of("question") == []
    assert found.entries_of("long") == ["all"]
    intern_table.free_unused()
    assert found.entries_of("long") == []
    found.keep("late", 5, "copied before", generation.number - 1)
    assert found.entries_of("late") == []


@pytest.mark.parametrize(
    "change",
    [
        "op",
        "operands",
        "attribute",
        "shape",
        "dtype",
        "source",
        "target",
        "constant",
        "looked",
        "watched",
        "variadic",
        "stopped",
    ],
)
def test_a_change_of_structure_is_seen(tf, change):
    """The same rows with a single difference."""
    x, w = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([[0.5, 1.0], [-1.0, 2.0]])
    results = {}
    with fresh_log():
        for step in range(9):
            other = step in (4, 6, 7)

            def pick(name, usual, changed, other=other):
                return changed if other and change == name else usual

            shape = pick("shape", (2, 2), (4, 1))
            with tf.GradientTape(watch_accessed_variables=change != "watched") as tape:
                if change == "watched":
                    tape.watch(pick("watched", x, w))
                a = tf.reshape(tf.cast(x, pick("dtype", "float32", "float64")), shape)
                b = tf.reshape(tf.cast(w, pick("dtype", "float32", "float64")), shape)
                y = pick("op", tf.sin, tf.cos)(a * pick("operands", b, a))
                y = y + pick("constant", 2.0, 3.0) * b
                z = tf.reduce_sum(y * y, axis=pick("attribute", 0, 1), keepdims=True)
                z = tf.concat(pick("variadic", [z, z * 2.0], [z * 2.0, z]), 0)
                z = z * pick("stopped", tf.identity, tf.stop_gradient)(z)
            if change == "looked" and other:
                y.numpy()
            target = pick("target", z, y)
            g = tape.gradient(target, [x, w] if pick("source", True, False) else [w, x])
            found = [None if v is None else v.numpy() for v in (*g, z, y)]
            for ours, before in zip(found, results.setdefault(other, found), strict=True):
                np.testing.assert_array_equal(ours, before)
    if change not in ("looked",):
        same = [
            a is None if b is None else np.array_equal(a, b)
            for a, b in zip(results[False], results[True], strict=True)
        ]
        assert not all(same)


# Reductions.


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 127, 128, 129, 1000, 16384, 16385, 100_003])
def test_whole_reductions(tf, size, dtype):
    x = np.random.default_rng(size).normal(scale=50, size=size).astype(dtype)
    t = tf.constant(x)
    exact = x.astype("longdouble").sum() if dtype[0] == "f" else x.sum(dtype=dtype)
    error = abs(np.longdouble(float(tf.reduce_sum(t))) - exact) if dtype[0] == "f" else 0
    bound = np.abs(x).astype("longdouble").sum() * np.finfo(dtype).eps if dtype[0] == "f" else 0
    assert error <= 12 * bound  # naive summation of 100,000 numbers may be 1,000 times worse
    if dtype[0] == "f":
        assert not np.signbit(float(tf.reduce_sum(tf.constant(np.full(size, -0.0, dtype)))))
    else:
        assert int(tf.reduce_sum(t)) == exact
    if size:
        assert float(tf.reduce_max(t)) == x.max()
        assert float(tf.reduce_min(t)) == x.min()


@pytest.mark.parametrize("place", [0, 5, 127, 128, 999])
def test_nan_is_not_lost_in_a_reduction(tf, place):
    x = np.arange(1000.0)
    x[place] = np.nan
    for function in (tf.reduce_sum, tf.reduce_max, tf.reduce_min, tf.reduce_mean):
        assert np.isnan(float(function(x)))
        assert np.isnan(function(x.reshape(10, 100), 1).numpy()).sum() == 1
        assert np.isnan(function(x.reshape(10, 100), 0).numpy()).sum() == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(
    "shape",
    [
        (3, 4, 5),
        (1, 300, 1),
        (200, 130),
        (5, 1000),
        (1000, 5),
        (2, 3, 257),
        (257, 1, 129),
        (4, 0, 3),
        (0, 4),
    ],
)
def test_reductions_over_axes(tf, shape, dtype):
    x = np.random.default_rng(1).normal(scale=9, size=shape).astype(dtype)
    for count in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            wide = "longdouble" if dtype[0] == "f" else dtype
            found = tf.reduce_sum(x, axes).numpy()
            np.testing.assert_allclose(
                found,
                x.sum(axes, dtype=wide),
                rtol=1e-5 if dtype == "float32" else 1e-13,
                atol=1e-4 if dtype == "float32" else 1e-12,
            )
            if all(shape):
                np.testing.assert_array_equal(tf.reduce_max(x, axes).numpy(), x.max(axes))
                np.testing.assert_array_equal(tf.reduce_min(x, axes).numpy(), x.min(axes))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_sums_of_zeros_have_numpys_sign(tf, axis):
    x = np.full((3, 4), -0.0)
    np.testing.assert_array_equal(
        np.signbit(tf.reduce_sum(x, axis).numpy()), np.signbit(x.sum(axis))
    )


def test_equal_rows_of_which_one_is_looked_at(tf):
    """The other one is optional; a kernel is missing, so the plan is rebuilt."""
    x = np.float32([[1, 2], [3, 4]])
    with fresh_log():
        a = tf.constant(x)
        first, second = a + a, a + a
        total = tf.reduce_sum(tf.transpose(second))
        CALLS.clear()
        np.testing.assert_array_equal(first.numpy(), x + x)
        assert (float(total), second.numpy().tolist()) == (20.0, (x + x).tolist())


def test_parameters_of_kernels_that_are_forgotten_while_a_plan_is_made(tf):
    """Other threads free parameters twice; those that the plan refers to stay alive."""
    with fresh_log() as log:
        x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
        float(tf.reduce_sum(x))
        y, planner = tf.transpose(x * 2.0), log.workspace
        call, times = planner.plan.call, []

        def forgetting():
            status = call()
            if not status and not times:
                times.append(1)
                CALLS.clear(), CALLS.clear()
            return status

        planner.plan.call = forgetting
        plan = planner.plan_for(log, [y._row], [], False)
        program = plan.arrays["program"]
        addresses = program[program[:, 0] == plans.CALL_FIXED, 2].tolist()
        kept = {address_of(x) for part in plan.keep_alive if type(part) is list for x in part}
        assert times and addresses and kept.issuperset(addresses)


def test_operands_of_variadic_rows_are_remembered_to_the_last(tf):
    """Also if they fill their array completely."""
    x, y = tf.Variable([1.0]), tf.Variable([2.0])
    found = []
    with fresh_log() as log:
        size = log.extra.size
        for step in range(12):
            last = y if step % 2 else x
            with tf.GradientTape() as tape:
                z = tf.concat([x + 0.0, y + 0.0] + [x] * (size - 3) + [last], 0)
                loss = tf.reduce_sum(z * z)
            g = tape.gradient(loss, [x, y])
            assert log.extra_n == size
            found.append([float(v[0]) for v in g])
    assert found == [[2.0 * (size - 1), 4.0], [2.0 * (size - 2), 8.0]] * 6


def test_column_sums_are_pairwise(tf):
    x = np.full((1 << 20, 2), 0.1, np.float32)
    exact = float(np.float32(0.1)) * (1 << 20)
    np.testing.assert_allclose(tf.reduce_sum(x, 0).numpy(), exact, rtol=2e-6)  # naive: 1e-2


RUNS = [(90, n) for n in (2, 3, 4, 7, 8, 13, 16, 17, 33)]
BROADCAST_SHAPES = [(20, 31, 1), (3, 1, 31, 4, 1, 2), (1, 700), (13, 5, 11), (40, 10, 3), *RUNS]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("shape", BROADCAST_SHAPES)
def test_operands_are_broadcast(tf, shape, dtype):
    """Broadcast along each axis, along none, and along missing leading axes."""
    rng, whole = np.random.default_rng(4), tf.zeros(shape, dtype)
    for chosen in itertools.product((False, True), repeat=len(shape)):
        x_shape = [n if c else 1 for n, c in zip(shape, chosen, strict=True)]
        x = rng.integers(100, size=x_shape).astype(dtype)
        for first in range(len(shape)):
            if all(n == 1 for n in x.shape[:first]):
                y = x.reshape(x.shape[first:])
                np.testing.assert_array_equal(
                    (tf.constant(y) + whole).numpy(), np.broadcast_to(x, shape)
                )


@pytest.mark.parametrize(
    "lead",
    [
        ((), ()),
        ((3,), (3,)),
        ((3,), ()),
        ((), (2,)),
        ((1,), (3,)),
        ((2, 3), (2, 3)),
        ((2, 3), (3,)),
        ((2, 1), (1, 3)),
    ],
)
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_matrices(tf, lead, transposed):
    random = np.random.default_rng(0)
    ta, tb = transposed
    for m, k, n in ((2, 3, 4), (1, 5, 1), (7, 1, 3), (40, 50, 60)):
        a = random.normal(size=(*lead[0], *((k, m) if ta else (m, k))))
        b = random.normal(size=(*lead[1], *((n, k) if tb else (k, n))))
        expected = (a.swapaxes(-1, -2) if ta else a) @ (b.swapaxes(-1, -2) if tb else b)
        np.testing.assert_allclose(tf.matmul(a, b, ta, tb).numpy(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_with_a_matrix_that_is_turned_around(tf, dtype, monkeypatch):
    monkeypatch.setattr(blas, "has_small_kernels", lambda: True)  # regardless of the processor
    rng, turned = np.random.default_rng(5), matrix_products._should_transpose_first
    assert turned(32, 64, 64, tf.as_dtype(dtype)) and not turned(8, 64, 64, tf.as_dtype(dtype))
    sizes = (12, 1, 101), (13, 65, 97), (40, 16, 31), (121, 17, 10)
    for (m, k, n), lead in itertools.product(sizes, (((), ()), ((3,), (3,)), ((2,), ()))):
        a = rng.normal(size=(*lead[0], m, k)).astype(dtype)
        b = rng.normal(size=(*lead[1], n, k)).astype(dtype)
        a[..., 1, 0], b[..., 0], b[..., 2, -1] = np.inf, 0.0, np.nan
        with np.errstate(invalid="ignore"):
            expected = a.astype("float64") @ b.astype("float64").swapaxes(-1, -2)
        close = 1e-5 if dtype == "float32" else 1e-14
        for _ in range(2):
            found = tf.matmul(a, b, transpose_b=True).numpy()
            np.testing.assert_allclose(found, expected, rtol=close, atol=8 * close)


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_in_panels(tf, dtype, transposed, monkeypatch):
    rng, (ta, tb) = np.random.default_rng(6), transposed
    most = 128 // np.dtype(dtype).itemsize
    sizes = ((), 12, 11_000, 3), ((), 251, 530, most), ((), 493, 300, most // 2 + 1)
    for lead, m, k, n in (
        *sizes,
        ((2,), 480, 300, 5),
        ((2,), 373, 400, 10),
        ((), 301, 257, 299),
        ((3,), 50, 270, 100),
    ):
        a = rng.normal(size=(*lead, *((k, m) if ta else (m, k)))).astype(dtype)
        b = rng.normal(size=(*lead, *((n, k) if tb else (k, n)))).astype(dtype)
        assert matrix_products._uses_panels(m, n, k, tf.as_dtype(dtype))
        x, y = (v.astype("float64") for v in (a, b))
        expected = (x.swapaxes(-1, -2) if ta else x) @ (y.swapaxes(-1, -2) if tb else y)
        results = []
        for threads in (1, 2):
            monkeypatch.setattr(settings, "_threads", threads)
            results.append(tf.exp(tf.matmul(a, b, ta, tb) * 0.01).numpy())
        close = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(results[0], np.exp(expected * 0.01), rtol=close)
        np.testing.assert_array_equal(*results)
    kind = tf.as_dtype(dtype)
    assert not matrix_products._uses_panels(1000, 2, 1000, kind)
    assert not matrix_products._uses_panels(11, 8, 100_000, kind)
    assert not matrix_products._uses_panels(64, 8, 64, kind)


# Threads.


def test_threads_share_large_groups(tf, monkeypatch):
    monkeypatch.setattr(settings, "_threads", 2)
    shared = []
    share = workers.share
    monkeypatch.setattr(
        cpu, "share", lambda calls, *rest: shared.append(len(calls)) or share(calls, *rest)
    )
    x = tf.constant(np.linspace(0.0, 1.0, 1 << 20))
    with fresh_log():
        assert float(tf.reduce_sum(tf.sin(x) * x)) == pytest.approx((1 << 20) * 0.301169, rel=1e-3)
    assert set(shared) == {2}


def test_an_error_waits_for_the_others():
    begun, go, ended = threading.Event(), threading.Event(), []

    def first():
        begun.wait()
        go.set()
        raise KeyboardInterrupt

    def second():
        begun.set()
        go.wait()
        ended.append(1)

    with pytest.raises(KeyboardInterrupt):
        workers.share([first, second], None, [])
    assert ended == [1]


def test_calls_that_come_too_late_are_not_made():
    """A caller does not wait for a worker that is busy for another caller."""
    release, made = threading.Event(), []
    count = max(len(workers._threads), 1) + 1
    gate = threading.Barrier(count + 1)

    def block():
        gate.wait()
        release.wait()

    busy = threading.Thread(target=workers.share, args=([block] * count, None, []))
    busy.start()
    gate.wait()  # now every worker is busy
    workers.share([lambda: made.append("here"), lambda: made.append("there")], None, [])
    release.set()
    busy.join()
    assert made == ["here"]


INTERRUPTED = """
import signal, time
import numtape
from numtape.core.cpu import workers

def stop(*_):
    raise KeyboardInterrupt

def call():
    return 0

signal.signal(signal.SIGALRM, stop)
workers.share([call, call], None, [])
hits, k, end = 0, 0, time.monotonic() + 3
while time.monotonic() < end:
    try:
        signal.setitimer(signal.ITIMER_REAL, 20e-6 + (k % 50) * 1e-6)
        for _ in range(3):
            workers.share([call, call], None, [])
    except KeyboardInterrupt:
        hits += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        hits += 1
    k += 1
workers.share([call, call], None, [])
print(hits > 10)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="no timers that signal")
def test_interrupts_while_work_is_shared_leave_nothing_hanging():
    assert run_script(INTERRUPTED) == "True"


FORKED = """
import os, warnings, numpy as np, numtape as tf
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
x = tf.constant(np.linspace(0.0, 1.0, 1 << 20))
before = float(tf.reduce_sum(tf.sin(x) * x))
child = os.fork()
if not child:
    os._exit(0 if float(tf.reduce_sum(tf.sin(x) * x)) == before else 1)
print(os.waitpid(child, 0)[1], float(tf.reduce_sum(tf.sin(x) * x)) == before)
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork")
def test_workers_are_made_anew_after_a_fork():
    assert run_script(FORKED, NUMTAPE_NUM_THREADS="2") == "0 True"


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_wrong_number_of_threads_is_refused(value, monkeypatch):
    monkeypatch.setattr(settings, "_threads", None)
    monkeypatch.setenv("NUMTAPE_NUM_THREADS", value)
    with pytest.raises(ValueError, match="NUMTAPE_NUM_THREADS"):
        settings.threads()


# Buffers.


def spec_of(tf, size):
    return tf.zeros((size,))._spec


def test_memory_comes_again_when_the_last_view_has_gone(tf):
    pool = buffers.Pool()
    pool_before, buffers.POOL = buffers.POOL, pool
    try:
        spec = spec_of(tf, 50_000)
        first = pool.empty(spec)
        at, view = first.ctypes.data, first[10:20]
        del first
        gc.collect()
        assert pool.empty(spec).ctypes.data != at  # a view still exists
        del view
        assert at in {pool.empty(spec).ctypes.data for _ in range(2)}
    finally:
        buffers.POOL = pool_before


def test_memory_does_not_wait_for_ever_nor_without_limit(tf):
    pool = buffers.Pool()
    pool_before, buffers.POOL = buffers.POOL, pool
    try:
        spec = spec_of(tf, 50_000)
        for _ in range(3):
            arrays = [pool.empty(spec) for _ in range(4)]
            del arrays
            pool.count_run()
        assert pool.unused_size == 4 * buffers.buffer_size(200_000)
        pool.limit = 500_000
        arrays = [pool.empty(spec) for _ in range(4)]
        del arrays
        pool.count_run()
        assert pool.unused_size == 2 * buffers.buffer_size(200_000)
        for _ in range(2 * buffers.RUNS_BEFORE_TRIM + 1):
            pool.count_run()
        assert pool.unused_size == 0
    finally:
        buffers.POOL = pool_before


def test_buffers_serve_values_of_similar_size_and_new_sizes_replace_idle_ones(tf):
    pool = buffers.Pool()
    pool_before, buffers.POOL = buffers.POOL, pool
    try:
        at = pool.empty(spec_of(tf, 50_000)).ctypes.data
        assert pool.empty(spec_of(tf, 49_999)).ctypes.data == at
        pool.count_run()
        assert pool.unused_size == buffers.buffer_size(200_000)
        pool.empty(spec_of(tf, 100_000))
        assert pool.unused_size == buffers.buffer_size(200_000)  # it may be needed again soon
        for _ in range(buffers.RUNS_BEFORE_REPLACE + 1):
            pool.count_run()
        pool.empty(spec_of(tf, 200_000))
        pool.count_run()
        assert pool.unused_size == buffers.buffer_size(800_000)
    finally:
        buffers.POOL = pool_before


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 100_000, (1 << 40) + 1])
def test_buffers_are_at_most_an_eighth_larger(size):
    assert size <= buffers.buffer_size(size) <= size + size // 8


def test_arenas_are_shared():
    pool, size = buffers.Pool(), 1 << 20
    first, second = pool.take_arena(size), pool.take_arena(size)
    assert first[1] != second[1]
    pool.return_arena(first)
    assert pool.take_arena(size // 2) is first
    pool.return_arena(first)
    assert pool.take_arena(size // 100) is not first  # it would keep much more than it needs
    larger = pool.take_arena(2 * size)
    assert not pool.arenas  # the larger one replaces the smaller one
    pool.return_arena(larger)
    pool.limit = size
    pool.return_arena(second)
    assert [arena for _, arena in pool.arenas.values()] == [second]
    for _ in range(2 * buffers.RUNS_BEFORE_TRIM + 1):
        pool.count_run()
    assert not pool.arenas


def test_values_outlive_the_next_step(tf):
    """Buffers of live values are not reused."""
    v = tf.Variable(np.zeros(50_000, np.float32))
    held = []
    for _ in range(5):
        v.assign_add(tf.ones(50_000))
        held.append((tf.identity(v), v.numpy()))
    for k, (tensor, array) in enumerate(held):
        assert (tensor.numpy() == k + 1).all()
        assert (array == k + 1).all()


def test_slots_that_another_plan_moved_are_not_used(tf, monkeypatch):
    """A cached plan runs after another plan has moved the slots of the same thread."""
    monkeypatch.setattr(settings, "_threads", 2)
    monkeypatch.setattr(cpu, "WATCHED", 1 << 17)
    big, small = tf.constant(np.linspace(0.0, 1.0, 100_000)), tf.constant(np.ones(1000))

    def shared():
        return float(tf.reduce_sum(tf.tanh(big) * tf.sin(big)))

    def wide(count):
        found = [tf.sin(small * float(k)) for k in range(count)]
        total = found[0]
        for y in reversed(found):
            total = total * 0.5 + y * total
        return float(tf.reduce_sum(total))

    with fresh_log() as log:
        first = [shared() for _ in range(4)]
        sweeper = log.workspace.sweeper
        block, _ = sweeper.workers[0].share()
        wide(60)
        first.append(shared())
        assert log.workspace.sweeper is sweeper
        worker = sweeper.workers[0]
        assert block.set[block.slots["memory.scratch"]] == worker.scratch[1]
        assert block.set[block.slots["memory.places"]] == address_of(worker.places)
    assert len(set(first)) == 1


def test_a_handler_that_looks_during_a_sweep(tf, monkeypatch):
    """The handler records to its own log and cannot see pending results."""
    x = tf.constant(np.linspace(0.0, 1.0, 1000))
    known = tf.constant(2.0) * 3.0
    float(known)
    y = tf.sin(x) * 2.0
    seen = []
    fit = cpu.Sweeper._set_up

    def handled(*arguments):
        monkeypatch.setattr(cpu.Sweeper, "_set_up", fit)
        seen.append(float(known + 1.0))
        seen.append(float(tf.reduce_sum(tf.ones(10) * known)))
        with pytest.raises(RuntimeError, match="signal handler"):
            y.numpy()
        return fit(*arguments)

    monkeypatch.setattr(cpu.Sweeper, "_set_up", handled)
    assert float(tf.reduce_sum(y)) == pytest.approx(2 * np.sin(np.linspace(0, 1, 1000)).sum())
    assert seen == [7.0, 60.0]
    np.testing.assert_allclose(y.numpy(), 2 * np.sin(np.linspace(0, 1, 1000)), rtol=1e-15)


def stored_rows(tf, function, *operands):
    """The number of values of a function's program that are neither results nor in a slot."""
    recorded = tf.function(function)
    for _ in range(2):
        recorded(*operands)
    plan = program_of(recorded).plan
    return int((plan.arrays["storage"] == TEMPORARY).sum())


def test_values_for_one_later_group_are_computed_there(tf):
    x, y = (tf.random.stateless_normal((40, 50), [k, 3]) for k in range(2))
    total = tf.reduce_sum(x, 1, keepdims=True)
    direct = (y * 2.0 + 1.0) * (x - total)

    def late(x, y):
        z = y * 2.0 + 1.0  # nothing waits for the sum so far
        return z * (x - tf.reduce_sum(x, 1, keepdims=True))

    def used_before(x, y):
        z = y * 2.0 + 1.0
        total = tf.reduce_sum(x, 1, keepdims=True)
        return z * (x - total), tf.reduce_sum(tf.exp(z), 1)

    def of_three_arrays(x, y):
        z = x * y + tf.transpose(tf.reshape(y, (50, 40)))
        return z - tf.reduce_sum(x, 1, keepdims=True)

    np.testing.assert_array_equal(tf.function(late)(x, y), direct)
    assert stored_rows(tf, late, x, y) == 1  # the sum
    assert stored_rows(tf, used_before, x, y) == 2  # it and z
    assert stored_rows(tf, of_three_arrays, x, y) == 3  # it, the transpose, and z


@pytest.mark.parametrize(
    "shape",
    [
        *[(40, 2), (40, 7), (9, 64), (5, 4, 50), (300, 128), (7, 3, 300), (6, 512), (70, 2048)],
        *[(90, 17), (30, 3, 40), (8, 32), (17, 1000), (100, 2049)],
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_reductions_of_rows_and_columns_have_the_same_bits_in_any_group(
    tf, shape, dtype, monkeypatch
):
    """In a lane group, beside reductions to one element or of longer rows, or alone."""
    values = (np.random.default_rng(0).normal(size=shape) * 100).astype(dtype)
    large = cpu.LARGE

    def every(x):
        z = x * x
        total = tf.reduce_sum(z, -1, keepdims=True)
        results = [total, tf.reduce_max(x - 1, -1), tf.reduce_min(z), tf.reduce_sum(x + z)]
        results += [tf.reduce_sum(z * 2, (-2, -1)), tf.reduce_sum(z - total, -1), z]
        results += [tf.reduce_sum(z, 0), tf.reduce_max(z - total), tf.reduce_min(x * 3, 0)]
        results += [tf.reduce_sum(z - total, (0, 1)), tf.reduce_sum(-tf.zeros_like(x), 0)]
        return [tf.identity(result) for result in results]

    known = None
    for max_row, width, threads in itertools.product([0, plans.MAX_ROW], [128, 512], [1, 3]):
        monkeypatch.setattr(plans.Planner, "max_row", max_row)
        monkeypatch.setattr(plans, "MAX_BLOCK", width)
        monkeypatch.setattr(settings, "_threads", threads)
        monkeypatch.setattr(cpu, "LARGE", 1 if threads > 1 else large)
        with fresh_log():
            operand = tf.constant(values)
            bits = [result.numpy().tobytes() for result in every(operand)]
            replayed = tf.function(every, jit_compile=True)
            for _ in range(2):
                again = replayed(operand)
            assert [result.numpy().tobytes() for result in again] == bits
        known = known or bits
        assert bits == known
    sums = np.sum(values * values, -1, keepdims=True)
    np.testing.assert_allclose(np.frombuffer(known[0], dtype), sums.ravel(), rtol=1e-5)


def test_rows_that_are_reduced_are_not_stored(tf):
    x = tf.random.stateless_normal((40, 50), [0, 3])
    stored = stored_rows(tf, lambda x: 1.0 / tf.reduce_sum(tf.exp(x), 1), x)
    assert stored == 1  # the sums
