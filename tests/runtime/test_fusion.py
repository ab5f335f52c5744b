"""Fused loops: the same bits as the lane kernels that they replace."""

import time

import numpy as np
import pytest
from llvmlite import ir
from log_queries import fresh_log
from numtape.kernels.cpu import fused as loops_of_llvm
from op_cases import CASES
from op_draws import arity, draw, special
from random_op_programs import Program, program_of

from numtape.core.compile import llvm
from numtape.core.cpu import fuse, sweeper as cpu
from numtape.core.plan import plan as plans

pytestmark = [
    pytest.mark.numtape_only("TensorFlow has no plans"),
    pytest.mark.cpu_only("loops are what the CPU's plans are compiled to"),
]


def loops(function):
    """The number of instructions that each fused loop of a function's recording replaces."""
    program = program_of(function).plan.arrays["program"]
    return program[program[:, 0] == plans.FUSED, 3].tolist()


def compiled_and_not(tf, function, *operands):
    """The bytes of a function's results, replayed uncompiled and compiled."""
    found = []
    for compiled in (False, True):
        replayed = tf.function(function, jit_compile=compiled)
        for _ in range(2):  # the first call is a recording
            results = replayed(*operands)
        found.append([None if x is None else x.numpy().tobytes() for x in results])
        assert bool(loops(replayed)) == compiled
    return found


def operands_of(case, dtype):
    """Random operands of 1,100 elements; the first are combinations of special numbers.

    They include large arguments of sin and similar functions, whose blocks run without the loop.
    """
    drawn = draw(case, [(1100,)] * arity(case), dtype)
    for values, _ in special(case, dtype)[:1]:
        for x, value in zip(drawn, np.broadcast_arrays(*values), strict=True):
            count = min(500, value.size)
            x[:count] = value.ravel()[:count]
    return drawn


@pytest.mark.records
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_every_op(tf, dtype):
    cases = [case for case in CASES if case.elementwise and dtype in case.dtypes]
    operands = [operands_of(case, dtype) for case in cases]

    def every(*xs):
        rest = list(xs)
        taken = [[rest.pop(0) for _ in drawn] for drawn in operands]
        results = [
            case.function(tf)(*x, **case.options[-1]) for case, x in zip(cases, taken, strict=True)
        ]
        return [tf.identity(y) for y in results]

    plain, compiled = compiled_and_not(tf, every, *(tf.constant(x) for xs in operands for x in xs))
    different = [c.name for c, a, b in zip(cases, plain, compiled, strict=True) if a != b]
    assert different == []


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=() if k < 20 else pytest.mark.slow) for k in range(40)]
)
def test_random_programs(tf, seed):
    program = Program(seed)
    names = [line.split()[0] for line in program.lines]

    def run(*inputs):
        scope = {"tf": tf, "look": lambda value: None}
        scope |= {f"x{k}": x for k, x in enumerate(inputs)}
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            exec(program.source(), scope)
        return [scope[name] for name in names[-5:]] + tape.gradient(scope[names[-1]], list(inputs))

    inputs = [tf.constant(x) for x in program.operands()]
    replayed, compiled = tf.function(run), tf.function(run, jit_compile=True)
    found = [
        [None if y is None else y.numpy().tobytes() for y in f(*inputs)]
        for f in (replayed, replayed, compiled, compiled)
    ]
    assert found[1:] == found[:1] * 3, program.script()


def chain(tf, count):
    def function(x, y):
        values = [x, y]
        for k in range(count):
            values.append(values[-1] * (0.5 if k % 3 else 1.5) + tf.tanh(values[-2]) - values[k])
        return [values[-1], tf.reduce_sum(values[-1] * y), tf.reduce_max(values[count // 2])]

    return function


@pytest.mark.records
@pytest.mark.parametrize("count", [2, 40, 150])
def test_values_that_cross_from_loop_to_loop(tf, count):
    """A loop must not overwrite slots that it reads."""
    x, y = (tf.constant(np.random.default_rng(k).normal(size=3000)) for k in (0, 1))
    plain, compiled = compiled_and_not(tf, chain(tf, count), x, y)
    assert plain == compiled
    (calls,) = (tf.function(chain(tf, count), jit_compile=True),)
    calls(x, y), calls(x, y)
    assert len(loops(calls)) == -(-4 * count // fuse.MAX_STEPS) or count == 2


@pytest.mark.records
def test_loads_of_every_kind(tf):
    """Elements, scalars, broadcast rows and columns, and integers between floats."""
    rng = np.random.default_rng(0)
    whole, row, column = (tf.constant(rng.normal(size=s)) for s in ((40, 50), (50,), (40, 1)))
    scalar = tf.constant(0.75, tf.float64)

    def function(whole, row, column, scalar):
        x = whole * row + column * scalar
        n = tf.cast(x * 10.0, tf.int32) // 3
        y = tf.where(x > row, tf.cast(n, tf.float64), x * scalar)
        z = tf.cast(tf.cast(y, tf.float32) * 2.0, tf.float64)
        inside = tf.logical_and(z > 0.0, tf.logical_not(tf.math.is_nan(z)))
        return [x, n, y, z, inside, tf.reduce_sum(tf.where(inside, z, -z)), tf.reduce_all(x < 9.0)]

    plain, compiled = compiled_and_not(tf, function, whole, row, column, scalar)
    assert plain == compiled


@pytest.mark.parametrize("size", [1, 2, 7, 511, 512, 513, 1024, 100_003])
def test_sizes_and_threads(tf, size, monkeypatch):
    monkeypatch.setattr(cpu, "LARGE", 1 << 12)  # threads share
    x = tf.constant(np.random.default_rng(size).normal(size=size) * 100.0)

    def function(x):
        y = tf.sin(x) * tf.exp(-x * x) + tf.cos(x * 1e6)  # some beyond the vector functions' range
        return [y, tf.reduce_sum(y), tf.reduce_min(y * 2.0)]

    found = []
    for compiled in (False, True):
        replayed = tf.function(function, jit_compile=compiled)
        found += [[y.numpy().tobytes() for y in replayed(x)] for _ in range(2)]
    assert found[1:] == found[:1] * 3


def waited(plan):
    """Wait for the loops of a plan that is hot."""
    for _ in range(2000):
        if plan.fused is not None:
            return plan.fused
        time.sleep(0.01)
    raise AssertionError("no loops came")


def test_what_llvm_makes_of_a_loop(monkeypatch):
    """Two interleaved vectors; spilled vectors lie within cache lines."""
    seen = []
    monkeypatch.setattr(llvm, "needs", lambda optimised: seen.append(str(optimised)))
    module = ir.Module("exps")
    exp = loops_of_llvm.LoopStep("exp(x)", (0,), ("float32",), "float32")
    loops_of_llvm.write_lanes(
        module, "exps", loops_of_llvm.Loop((("float32", False),), (exp,), (1,))
    )
    llvm.compile_module(module, ["exps"])
    inside = seen[0].partition("\nvector.body:")[2].partition("\n\n")[0]
    assert inside.count("store <") == 2
    assert "alignstack=64" in seen[0] or "alignstack(64)" in seen[0]


@pytest.mark.records
def test_what_is_hot_is_fused_while_it_runs(tf, monkeypatch):
    monkeypatch.setattr(cpu, "HOT", 50_000)
    x = tf.constant(np.linspace(-1.0, 1.0, 1000))
    replayed = tf.function(lambda x: tf.exp(x) * x + tf.sin(x) / (x * x + 1.0))
    first = replayed(x).numpy()
    replayed(x)
    plan = program_of(replayed).plan
    assert loops(replayed) == []
    for _ in range(20):
        assert replayed(x).numpy().tobytes() == first.tobytes()
    better = waited(plan)
    assert replayed(x).numpy().tobytes() == first.tobytes()
    assert program_of(replayed).plan is better
    assert loops(replayed) == [7]


@pytest.mark.records
def test_a_process_that_ends_starts_no_other_compilation(tf, monkeypatch):
    function, x = tf.function(lambda x: tf.exp(x) * x + tf.sin(x) / 1.25), tf.constant(0.5)
    function(x), function(x)
    program = program_of(function)
    monkeypatch.setattr(fuse, "_compile_loop", None)
    assert fuse.fuse_plan(program.log, program.plan, lambda: True) is program.plan


def test_an_eager_loop_is_fused_as_well(tf, monkeypatch):
    monkeypatch.setattr(cpu, "HOT", 50_000)
    asked = []
    later = fuse.fuse_in_background
    monkeypatch.setattr(
        fuse, "fuse_in_background", lambda log, plan: (asked.append(plan), later(log, plan))
    )
    with fresh_log():  # without rows of other tests
        x = tf.constant(np.linspace(-1.0, 1.0, 1000))
        found = {(tf.exp(x) * x + tf.sin(x) / (x * x + 1.0)).numpy().tobytes() for _ in range(20)}
        assert len(asked) == 1
        better = waited(asked[0])
        found |= {(tf.exp(x) * x + tf.sin(x) / (x * x + 1.0)).numpy().tobytes() for _ in range(20)}
    assert len(found) == 1
    assert plans.FUSED in better.arrays["program"][:, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(), (5000,)])
def test_steep_elements_are_the_same_in_a_fused_loop(tf, dtype, size):
    """After a steep element the loop is recomputed; the bits are those of single ops."""
    random = np.random.default_rng(0)

    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(x) * 2.0 + tf.sigmoid(x) / x
        return tape.gradient(y, x)

    fused = tf.function(slopes, jit_compile=True)
    for scale in (0.1, 30.0, 0.1):
        x = tf.constant((random.normal(size=size) * scale).astype(dtype))
        for _ in range(3):
            np.testing.assert_array_equal(fused(x).numpy(), slopes(x).numpy())
