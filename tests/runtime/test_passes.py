"""The passes: constants shared with numtape.core, and equal results undecorated and jitted."""

import ctypes
import importlib
import inspect
import sys
import threading
import time
import types
import warnings

import numpy as np
import pytest
from llvmlite import ir
from log_queries import fresh_log
from numtape.kernels import jit, numba_internals
from numtape.kernels.functions import value
from numtape.kernels.passes import rows
from processes import run

import numtape
from numtape.core import settings
from numtape.core.compile import lane_kernels, passes
from numtape.core.cpu import sweeper as cpu
from numtape.core.derive import adjoint_cache, templates
from numtape.core.log import log
from numtape.core.replay import splice
from numtape.core.values import dtypes

pytestmark = [
    pytest.mark.numtape_only("numtape's kernels"),
    pytest.mark.cpu_only("the CPU's kernels"),
]
MASK = (1 << 64) - 1


class Integers:
    """NumPy for undecorated kernels: integer conversions wrap around, as in compiled code."""

    @staticmethod
    def uint64(value):
        return np.uint64(int(value) & MASK)

    @staticmethod
    def int64(value):
        return np.uint64(int(value) & MASK).astype(np.int64)


class Strict:
    """A flat array that checks bounds on both sides."""

    def __init__(self, array):
        self.array = array.reshape(-1)

    def __getitem__(self, k):
        assert 0 <= k < self.array.size
        return int(self.array[k])

    def __setitem__(self, k, value):
        assert 0 <= k < self.array.size
        self.array[k] = value


def pointer(kind):
    return lambda address: ctypes.cast(int(address), ctypes.POINTER(kind))


def call(function, *arguments):
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(arguments))(int(function))
    kernel(*map(int, arguments))


undivided = threading.Lock()


def load_now(address):
    return pointer(ctypes.c_int64)(address)[0]


def exchange(address, value, add=0):
    word = pointer(ctypes.c_int64)(address)
    with undivided:
        before = word[0]
        word[0] = int(value) + add * before
    return before


def fetch_add(address, amount):
    return exchange(address, amount, 1)


def vector_copy(size):
    return lambda out, x: ctypes.memmove(int(out), int(x), size)


def vector_fill(size):
    def fill(out, value):
        word = (int(value) & MASK).to_bytes(8, sys.byteorder)
        ctypes.memmove(int(out), word * (size // 8), size)

    return fill


@pytest.fixture(scope="module")
def plain():
    """The kernel modules by name, reloaded with a `jit` that does nothing."""
    names = {"bool": "uint8"} | {
        n: n for n in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    }
    stub = types.ModuleType("plain.jit")
    stub.jit = stub.inline = stub.loop = lambda function: function
    stub.POINTERS = {name: pointer(getattr(ctypes, f"c_{kind}")) for name, kind in names.items()}
    stub.call_kernel = stub.call_array = stub.call_loop = call
    stub.fetch_add, stub.exchange, stub.load_now = fetch_add, exchange, load_now
    for size in (16, 32, 64):
        setattr(stub, f"copy{size}", vector_copy(size))
        setattr(stub, f"fill{size}", vector_fill(size))
    stub.pause = stub.call0 = lambda *_: time.sleep(0)
    top = numtape.kernels_folder()
    for package in ("plain", "plain.log", "plain.cpu"):
        found = sys.modules[package] = types.ModuleType(package)
        found.__path__ = [str(top.joinpath(*package.split(".")[1:]))]
    sys.modules["plain.jit"] = stub
    modules = {
        name: importlib.import_module(f"plain.{name}")
        for name in (
            "passes.tables",
            "passes.rows",
            "passes.layout",
            "passes.follow",
            "passes.transpose",
            "passes.plan",
            "passes.replay_rows",
            "cpu.sweep",
            "cpu.thread_team",
            "cpu.groups",
        )
    }
    for name in [name for name in sys.modules if name.startswith("plain")]:
        module = sys.modules.pop(name)
        if getattr(module, "np", None) is np:
            module.np = Integers
    return modules


@pytest.mark.parametrize("seed", range(3))
def test_hash_is_the_kernels(plain, seed):
    random = np.random.default_rng(seed)
    keys = random.integers(-1, (5, 1 << 31)[seed % 2], (300, 6))
    with np.errstate(over="ignore"):
        for key in [[-1] * 6, [0] * 6, *keys.tolist()]:
            assert templates.hash_key(*key) == int(plain["passes.transpose"].hash_key(*key))


def test_every_pass_argument_has_a_kind(plain):
    """A wrongly parsed kind would be used as an invalid address."""
    records = plain["passes.tables"]
    kinds = {name: {*fields.values()} for name, fields in passes._records().items()}
    assert all(found <= {*passes._KINDS} for found in kinds.values())
    for name, fields in passes._records().items():
        assert getattr(records, name)._fields == tuple(fields)
    assert {*kinds} == {name for name, x in vars(records).items() if hasattr(x, "_fields")}
    for symbol, module in passes._PASSES.items():
        parameters = passes._parameters(symbol)
        assert [*parameters] == [*inspect.signature(getattr(plain[module], symbol)).parameters]
        assert {*parameters.values()} <= {*passes._KINDS, *kinds}
        slots, block = passes._slots(symbol), passes.Block(symbol)
        assert list(slots.values()) == list(range(len(slots)))
        assert len(block.set) >= len(slots)


def programs(tf):
    """Small programs that visit all kinds of rows and groups."""
    x = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    w, s = tf.Variable([[0.5], [1.0], [-1.0]]), tf.Variable(2.0)

    def gradient(function, *variables):
        with tf.GradientTape() as tape:
            y = function(*variables)
        return [y, *tape.gradient(y, variables)]

    yield gradient(lambda s: tf.sin(s) * s + s**3.0, s)
    yield gradient(lambda x, s: tf.reduce_sum(x * s + [1.0, 2.0, 3.0] - x / (x + 1.0)), x, s)
    yield gradient(lambda x, w: tf.reduce_mean(tf.tanh(x @ w) ** 2), x, w)
    yield gradient(lambda x: tf.reduce_sum(tf.nn.softmax(x) * tf.reshape(x, [2, 3])), x)
    yield gradient(lambda x: tf.reduce_sum(tf.concat([x, x * x], 1)[:, 1:5]), x)
    yield gradient(lambda x: tf.reduce_sum(tf.where(x > 2.0, x * x, tf.stop_gradient(x))), x)
    yield gradient(lambda x: tf.reduce_sum(tf.zeros((0, 3)) * x[:1]), x)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = s * s * tf.exp(s)
        g = inner.gradient(y, s)
    yield [g, outer.gradient(g, s)]
    s.assign_add(1.0)
    x.assign(x * s)
    yield [s, x, tf.cast(x > 3.0, tf.int32) + 1, tf.transpose(x), tf.add([1.0, 2.0], s)]
    many = tf.range(300.0) / 300.0
    for _ in range(5):  # a plan is cached when it repeats
        yield [tf.reduce_sum(tf.sin(many) * s), tf.reduce_max(many + s), tf.exp(many)]
    table = tf.reshape(many, (15, 20))  # larger rows are separate groups
    yield gradient(lambda s: tf.reduce_sum(tf.nn.softmax(table * s) * table, 0), s)
    yield gradient(lambda x: tf.tile(x, (1, 8))[:, 3:] * tf.ones((2, 21)), x)

    @tf.function
    def recorded(y):
        s.assign_add(1.0)
        return tf.reduce_sum(tf.concat([x * y, x], 0)) * s

    yield gradient(recorded, x)
    yield gradient(recorded, x)


def results(tf):
    """The bytes of all results, and the rows of the log after each program."""
    found = []
    with fresh_log() as here:
        for values in programs(tf):
            n = here.n
            columns = [getattr(here.columns, name)[:n] for name in ("code", "a", "spec")]
            leaf = np.isin(columns[0], [log.LEAF_CODE, log.READ_CODE])
            columns[1] = np.where(leaf, 0, columns[1])  # a leaf reads nothing
            found.append(
                (
                    [column.tobytes() for column in columns],
                    [None if v is None else np.asarray(v).tobytes() for v in values],
                )
            )
    return found


def at_once(calls, keeps, running, stops):
    """Like `workers.share`, with threads that start immediately."""
    others = [threading.Thread(target=call) for call in calls[1:]]
    for thread in others:
        thread.start()
    calls[0]()
    for stop in stops:
        stop()
    for thread in others:
        thread.join()


@pytest.mark.records
@pytest.mark.cpu_only("they are the CPU executor's")
def test_undecorated_passes_give_the_same_bits(tf, plain, monkeypatch):
    """They also stay within every array, which jitted code does not check."""
    monkeypatch.setattr(settings, "_threads", 2)
    monkeypatch.setattr(cpu, "LARGE", 10)  # threads share even small groups
    monkeypatch.setattr(cpu, "WATCHED", 1000)  # and single threads compute the others
    monkeypatch.setattr(cpu, "share", at_once)
    jitted = results(tf)
    records = plain["passes.tables"]
    functions = {s: getattr(plain[module], s) for s, module in passes._PASSES.items()}
    called = []

    def call(block):
        (symbol,) = (s for s in passes._PASSES if passes._slots(s) is block.slots)
        called.append(symbol)

        def value(name, kind):
            if kind == "int":
                return int(block.set[block.slots[name]])
            array = (block._arrays | block._packed)[name]
            assert array.dtype == passes._KINDS[kind], name
            return Strict(array)

        arguments = {}
        for name, kind in passes._parameters(symbol).items():
            fields = passes._records().get(kind)
            arguments[name] = (
                value(name, kind)
                if fields is None
                else getattr(records, kind)(
                    *(value(f"{name}.{field}", of) for field, of in fields.items())
                )
            )
        with np.errstate(over="ignore"):
            return int(functions[symbol](**arguments))

    monkeypatch.setattr(passes, "_bind_address", lambda block, function: lambda: call(block))
    monkeypatch.setattr(templates, "thread_workspace", threading.local())
    monkeypatch.setattr(splice, "_local", threading.local())
    memory = adjoint_cache.take_cache()
    adjoint_cache.return_cache(memory)
    for name in ("block", "columns"):  # cached functions call jitted ones
        monkeypatch.setattr(memory, name, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert results(tf) == jitted
    assert set(called) == set(functions)


SMALL = """
import numpy as np, numtape as tf
x, w = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([1.0, -1.0])
for _ in range(3):
    with tf.GradientTape() as tape:
        y = tf.tanh(x @ tf.reshape(w, [2, 1])) + x * [1.0, 2.0]
        z = tf.reduce_sum(y * y) + tf.reduce_max(tf.concat([w, w * 2.0], 0))
    print([g.numpy().tobytes().hex() for g in tape.gradient(z, [x, w])])
    print((w + 1.0).numpy(), float(z), tf.where(w > 0.0, w, -w).numpy())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc fills memory for us")
@pytest.mark.slow
def test_nothing_is_read_that_was_not_written():
    assert len({run(SMALL, MALLOC_PERTURB_=byte) for byte in (None, 1, 255)}) == 1


def test_passes_know_how_many_dtypes_have_kernels():
    assert len(dtypes.DTYPES) == rows.WIDE
    assert {x.name for x in dtypes.DTYPES} == jit.POINTERS.keys()


def test_the_targets_of_kernels_and_of_loops_share_what_is_built_in():
    """Numba's own target resolves the same pointers in between; neither gets the other's code."""
    from numba import njit, types as numba_types
    from numtape.kernels.jit import POINTERS, jit

    scope = {"at": POINTERS["int16"]}
    for k, compiler in enumerate((jit, njit, jit, njit)):
        exec(f"def function(address): return at(address)[0] + {k}", scope)
        compiler(scope["function"]).compile((numba_types.int64,))


@pytest.mark.parametrize(("body", "wide"), [("exp(x)", True), ("x + x", False)])
def test_width_of_vectors(monkeypatch, body, wide):
    """LLVM attributes of a function also apply to the entry into which it is inlined."""
    made = []

    class Function(ir.Function):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    float32 = dtypes.float32
    source = lane_kernels.lane_source(body, "width", (float32,), float32)
    ours = types.SimpleNamespace(**{**vars(ir), "Function": Function})
    monkeypatch.setattr(numba_internals, "ir", ours)
    lane_kernels._compile("width", source)
    assert [value.WIDTH in entry.attributes for entry in made] == [wide]
    assert [entry.attributes.alignstack == 64 for entry in made] == [wide]
    fused = importlib.import_module("numtape.kernels.cpu.fused")
    module = ir.Module("written")
    fused.write_kernel(module, "width", fused.LoopStep(body, (0,), ("float32",), "float32"))
    assert str(module).count(value.WIDTH) == 2 * wide
