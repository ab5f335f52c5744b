"""Groups of elementwise rows as CUDA kernels: machine code, and bits in the simulator.

The machine code is compiled for an H200, which needs no GPU.
"""

import base64
import importlib
import importlib.util
import pickle
import re

import pytest
from processes import ROOT, run

from numtape.core.cuda import launches
from numtape.core.cuda.codegen import (
    KernelLoop,
    KernelStep,
    function,
    loop_source,
    parameters,
)
from numtape.core.cuda.launches import FIRST, PARTIALS, ROUNDS, blocks
from numtape.core.values.dtypes import DTYPES
from numtape.core.values.spec import intern

FOUND = all(importlib.util.find_spec(name) for name in ("numba_cuda", "cuda"))
needs_compiler = pytest.mark.skipif(
    not FOUND, reason="pip install 'numtape[cuda]' to compile for CUDA"
)
pytestmark = pytest.mark.numtape_only(reason="TensorFlow compiles elsewhere")

SIMULATED = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": "1"}
ON_GPU = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": None}
BY_NAME = {dtype.name: dtype for dtype in DTYPES}
LARGE = 1 << 28


def compiled(loop):
    """A loop's kernel as PTX, its number of registers, and its spilled bytes."""
    compiler = importlib.import_module("numtape.core.cuda.runtime.compiler")
    reduced = [(name, loop.dtype(value).name) for name, value in loop.reductions]
    kernel = function(loop_source(loop), reduced)
    text = compiler.ptx(kernel, parameters(loop), "group", (9, 0))
    said = compiler.link(text, (9, 0))[1]
    spilled = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    registers = max(map(int, re.findall(r"Used (\d+) registers", said)))
    return text, registers, sum(int(x) for pair in spilled for x in pair)


def accesses(text):
    """The loads from and stores to global memory, in the order of the text."""
    return re.findall(r"(?:ld|st)\.global\.(?:v\d\.)?\w+", text)


# The loops of two benchmarks with their gradients.
BENCHMARKS = """
import base64
import pickle

import numpy as np
import numtape as tf
from benchmarks import formulas
from numtape.core.cuda import plan

loops, elementwise = [], plan.elementwise


def noted(loop, *others):
    loops.append(loop)
    return elementwise(loop, *others)


class Ops:
    exp, sin, tanh, log, sqrt, erf = (
        staticmethod(getattr(tf.math, name)) for name in "exp sin tanh log sqrt erf".split()
    )
    sum = staticmethod(tf.reduce_sum)


plan.elementwise = noted
for formula, count in ((formulas.long_chain, 2), (formulas.black_scholes, 5)):
    for dtype in ("float32", "float64"):
        inputs = [tf.constant(np.linspace(0.5, 1.5, 64, dtype=dtype)) for _ in range(count)]
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            y = formula(Ops, *inputs)
        slopes = tape.gradient(y, inputs)
        y.numpy(), [x.numpy() for x in slopes]
largest = [loop for loop in loops if len(loop.steps) > 20]
assert len(largest) == 4
print(base64.b64encode(pickle.dumps(largest)).decode())
"""


@pytest.fixture(scope="module")
def benchmarked():
    """The loops of the benchmarks, at their size on a GPU."""
    found = pickle.loads(base64.b64decode(run(BENCHMARKS, folder=ROOT, **SIMULATED)))
    names = [(name, dtype) for name in ("chain", "options") for dtype in ("float32", "float64")]
    return {
        key: loop._replace(
            shape=(LARGE,),
            loads=tuple(intern((LARGE,) if x.size > 1 else (), x.dtype) for x in loop.loads),
        )
        for key, loop in zip(names, found, strict=True)
    }


# Registers that allow 6, 4, 4 or 2 concurrent blocks of 256 threads.
@needs_compiler
@pytest.mark.parametrize(
    "name, dtype, most",
    [
        ("chain", "float32", 40),
        ("chain", "float64", 64),
        ("options", "float32", 64),
        ("options", "float64", 112),
    ],
)
def test_registers_of_benchmarks(benchmarked, name, dtype, most):
    text, registers, spilled = compiled(benchmarked[name, dtype])
    assert registers <= most
    assert spilled == 0
    wide = "v4.f32" if dtype == "float32" else "v2.f64"
    arrays = [x for x in accesses(text) if f".{wide}" in x]
    # In a group with a sum each thread has four elements; those of float64 are two vectors.
    parts = 2 if (name, dtype) == ("chain", "float64") else 1
    count = {"chain": 2 + 2, "options": 5 + 6}[name] * parts
    assert len(arrays) == count


def sum_of(shape, other, dtype="float32"):
    kind = BY_NAME[dtype]
    step = KernelStep("x + y", (0, 1), (kind, kind), kind)
    return KernelLoop(shape, (intern(shape, kind), intern(other, kind)), (step,), (2,), ())


# Loads of the other operand of a sum for the adjacent elements of a thread.
@needs_compiler
@pytest.mark.parametrize(
    "shape, other, dtype, loads",
    [
        ((1024, 512), (512,), "float32", ["v4.f32"]),
        ((1024, 512), (1024, 1), "float32", ["f32"]),
        ((8, 16, 32, 64), (16, 1, 64), "float32", ["v4.f32"]),
        ((8, 16, 32, 64), (16, 1, 1), "float32", ["f32"]),
        ((1024, 6), (6,), "float64", ["v2.f64"]),
        ((1024, 6), (1024, 1), "float64", ["f64"]),
        ((1024, 6), (6,), "float32", ["f32"] * 4),
    ],
    ids=str,
)
def test_broadcast_operands(shape, other, dtype, loads):
    text, _, spilled = compiled(sum_of(shape, other, dtype))
    vector = "v4.f32" if dtype == "float32" else "v2.f64"
    last = [*(f"ld.global.{kind}" for kind in (vector, *loads)), f"st.global.{vector}"]
    assert accesses(text)[-len(last) :] == last  # for one vector
    assert spilled == 0
    # Offsets of elements are computed in 32 bits.
    assert not re.search(r"(?:div|rem)\.|mul\.(?:hi|lo)\.[su]64", text)


@needs_compiler
@pytest.mark.parametrize("dtype, vector", [("float32", "v4.f32"), ("float64", "v2.f64")])
def test_short_kernels_load_ahead(dtype, vector):
    """Each thread loads 64 bytes before it computes."""
    load, store = (f"{kind}.global.{vector}" for kind in ("ld", "st"))
    text, registers, _ = compiled(sum_of((LARGE,), (LARGE,), dtype))
    assert accesses(text) == [*[load] * 4, *[store] * 2, load, load, store]
    assert registers <= 32
    alone = KernelLoop((LARGE,), (intern((LARGE,), BY_NAME[dtype]),), (), (), (("sum", 0),))
    text, registers, _ = compiled(alone)
    assert accesses(text.split("add.rn")[0]) == [load] * 4
    assert registers <= 32


def circular(*bodies):
    """A loop of ops that all use the first operand, and their sum."""
    kind = BY_NAME["float32"]
    steps = [KernelStep(body, (0,), (kind,), kind) for body in bodies]
    steps.append(KernelStep("x + y", (1, len(bodies)), (kind, kind), kind))
    stores = tuple(range(1, 2 + len(bodies)))
    return KernelLoop((LARGE,), (intern((LARGE,), kind),), tuple(steps), stores, ())


@needs_compiler
def test_sin_and_cos_of_one_value_are_one_function():
    """They share one argument reduction."""
    reduced = re.compile("0f3F22F983")  # 2 / pi
    both, one = circular("sin(x)", "exp(x)", "cos(x)"), circular("sin(x)", "exp(x)")
    assert loop_source(both).count("sincos_float32(v0)") == 1
    texts = [compiled(loop)[0] for loop in (both, one)]
    assert [len(reduced.findall(text)) for text in texts] == [4, 4]


def test_sin_and_cos_of_two_values_are_two_functions():
    loop = circular("sin(x)", "cos(x)")
    sin, cos, total = loop.steps
    apart = loop._replace(
        loads=loop.loads * 2,
        steps=(sin, cos._replace(operands=(1,)), total._replace(operands=(2, 3))),
        stores=(4,),
    )
    assert "sincos" not in loop_source(apart)


def test_blocks(monkeypatch):
    """Many blocks with a few rounds each and bounded partial results, without a device query."""
    monkeypatch.setattr(launches, "threads", lambda: 256)
    for pieces in (1, 7, 1000, 5000, 20_000, 1 << 18, 1 << 21):
        work = 256 * pieces - 3
        free, reduced = blocks(work), blocks(work, reduced=True)
        assert 1 <= reduced <= free <= pieces
        assert min(pieces, FIRST) <= reduced <= PARTIALS
        assert free >= min(pieces, PARTIALS)
        if pieces > PARTIALS:
            assert -(-pieces // free) <= ROUNDS
    assert blocks(0) == 1


@needs_compiler
@pytest.mark.parametrize("rows, bits", [(1 << 15, 32), (1 << 16, 64)])
def test_loops_count_in_32_bits_where_they_can(rows, bits):
    text, _, spilled = compiled(sum_of((rows, 1 << 15), (1 << 15,)))
    assert spilled == 0
    assert set(re.findall(r"setp\.\w+\.[su](\d+)", text)) == {str(bits)}


@needs_compiler
def test_widths_are_those_of_kernels():
    """The texts of loops call exactly the functions for vectors that kernels have, of 16 bytes."""
    target = importlib.import_module("numtape.kernels.cuda.target")
    called = set()
    for dtype in ("float32", "float64"):
        text = loop_source(sum_of((1024, 512), (512,), dtype))
        names = set(re.findall(r"\b(?:load|store)\d+\b", text))
        width = 16 // BY_NAME[dtype].size
        assert names == {f"load{width}", f"store{width}"}
        called |= names
    assert called == set(target.VECTORS)


# Each sum is rounded once, as in NumPy; sin has the same bits with and without cos.
VALUES = """
import numpy as np
import numtape as tf
from numtape.core.cuda import plan

draw = np.random.default_rng(0)
for shape, other in (
    ((6, 8), (8,)), ((6, 8), (6, 1)), ((2, 3, 8), (3, 1)), ((2, 3, 8), (2, 1, 8)), ((8, 1), (1, 4)),
    ((5, 7), (7,)), ((5, 6), (6,)), ((5, 6), (5, 1)), ((9, 4), (4,)), ((3, 1), (1, 1)),
    ((2, 3, 2, 4), (3, 1, 4)), ((2, 3, 2, 4), (2, 1, 2, 1)), ((32, 33), (33,)), ((33, 32), (33, 1)),
):
    for dtype in ("float32", "float64", "int64", "uint8"):
        x, y = (draw.integers(0, 100, s).astype(dtype) for s in (shape, other))
        if dtype.startswith("f"):
            x, y = x / np.array(7, dtype), y / np.array(3, dtype)
        np.testing.assert_array_equal((tf.constant(x) + tf.constant(y)).numpy(), x + y)
    mask = draw.random(other) < 0.5
    x = draw.random(shape)
    np.testing.assert_array_equal(tf.where(mask, x, -x).numpy(), np.where(mask, x, -x))

for dtype in ("float32", "float64"):
    x = np.concatenate([
        np.linspace(-9, 9, 25), np.pi * np.arange(-5, 6) / 2, 10.0 ** np.arange(-12, 13),
        [0.0, -0.0, np.inf, -np.inf, np.nan],
    ]).astype(dtype)
    alone = [tf.sin(x).numpy(), tf.cos(x).numpy()]
    sin, cos = tf.sin(x), tf.cos(x)
    total = sin + cos
    assert total.numpy().shape == x.shape
    for found, wanted in zip((sin, cos), alone):
        assert found.numpy().tobytes() == wanted.tobytes()
    np.testing.assert_allclose(alone, [np.sin(x), np.cos(x)], rtol=1e-5, atol=1e-6)

# A sum has the same bits in every group, although float64 loads fewer elements at a time.
mixed = []


def noted(loop, *others, elementwise=plan.elementwise):
    if loop.reductions and loop.shape:
        mixed.append(len({x.dtype.size for x in loop.steps}) > 1)
    return elementwise(loop, *others)


plan.elementwise = noted
for size in (3, 5, 64, 203):
    x = draw.normal(size=size).astype("float32")
    alone = tf.reduce_sum(x * 2.0).numpy()
    y = tf.constant(x) * 2.0
    wide = tf.cast(y, "float64") * 2.0
    total, least = tf.reduce_sum(y), tf.reduce_min(wide)
    after = total * 3.0 + tf.cast(least, "float32")
    assert after.numpy() == 3 * alone + least.numpy().astype("float32")
    assert total.numpy().tobytes() == alone.tobytes()
    np.testing.assert_array_equal(wide.numpy(), x.astype("float64") * 4)
    assert least.numpy() == wide.numpy().min()
assert mixed == [False, True] * 4, mixed
"""


def test_values_in_the_simulator():
    run("import warnings; warnings.simplefilter('ignore')" + VALUES, **SIMULATED)


@pytest.mark.gpu
def test_values_on_a_gpu():
    run("import warnings; warnings.simplefilter('ignore')" + VALUES, **ON_GPU)


# Rows that a row kernel cannot compute, because an operand is a column, before some that it can.
JOINED = """
import numpy as np

import numtape as tf
from numtape.core.cuda import fusion as fused

found, joined = fused.Fuser.fuse, []


def noted(self):
    made = found(self)
    joined.extend((first, one.numbers[0]) for first, one in made.items())
    return made


fused.Fuser.fuse = noted
draw = np.random.default_rng(1)
x, y = (tf.constant(draw.uniform(-1, 1, (3, 8))) for _ in range(2))
column = tf.constant(draw.uniform(-1, 1, (3, 1)))


def step(x, y):
    a = tf.exp(x) + column
    b = tf.nn.softmax(y) * tf.nn.log_softmax(x)
    return a, b, tf.reduce_sum(a * b)


def values():
    return [z.numpy() for call in (step, tf.function(step)) for _ in range(2) for z in call(x, y)]


found_there = values()
with tf.config.override("cpu"):
    for a, b in zip(found_there, values(), strict=True):
        np.testing.assert_allclose(a, b)
assert joined and all(first == number for first, number in joined), joined
"""


def test_groups_that_are_joined_leave_none_out():
    run(JOINED, **SIMULATED)
