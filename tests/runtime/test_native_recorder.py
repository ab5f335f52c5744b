"""Recorders in machine code, compared with the recorders in Python, which define them."""

import ctypes
import sys

import pytest
from numtape.kernels.cpython import words
from processes import output, run, start

from numtape.__main__ import info
from numtape.core.cpython import api, classes, layout

NATIVE = {"NUMTAPE_RECORD": "native"}
PYTHON = {"NUMTAPE_RECORD": "python"}
usable = pytest.mark.skipif(
    bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "usable"
)

# Every recorder of one to three operands and every operator, with operands of many kinds. Each call
# is made three times, because the machine code needs the specs of operands and results to be known.
EVERYTHING = """
import operator, sys
import numpy as np
import numtape as tf
from numtape.core.log import record
from numtape.core.log.log import Log, local
from numtape.core.log.op import CODES, Op
from numtape.core.native import patch
from numtape.core.ops.elementwise import select
from numtape.core.values.memory import address_of
from numtape.core.values.spec import SPECS

float(tf.constant(1.0) + 1.0)
assert patch.describe().startswith(sys.argv[1]), patch.describe()

def shown(value):
    if not isinstance(value, tf.Tensor):
        return type(value).__name__
    kept = value._home is local.log and any(x is value for x in local.log.tensors)
    return value._row, value._spec.id, value.shape, value.dtype.name, kept

def rows(log, start):
    found = []
    for n in range(start, log.n):
        op, attributes = CODES.entries[log.code[n]]
        arity = CODES.arity[log.code[n]]
        columns = [log.a, log.b, log.c][: max(arity, 0)]
        values = [column[n] for column in columns]
        if op.name == "ReadVariableOp":  # and which variable
            values = [*values[:arity], log.variables[log.b[n]]._creation_index]
        if log.columns.state[n]:
            spec, cell = SPECS[log.spec[n]], log.columns.cell_view[n]
            values.append(cell if spec.single else cell == address_of(log.buffers[n]))
        found.append((n, op.name, values, log.spec[n]))
    return found, log.bytes, len(log.reads), sorted(log.variable_index.values())

def tried(call, *operands, **named):
    log = local.log
    start = log.n
    try:
        said = shown(call(*operands, **named))
    except Exception as error:
        said = type(error).__name__, str(error)[:200]
    return said, rows(log, start)

elsewhere = tf.constant([3.0, 4.0]), tf.constant(5.0), tf.constant([1.5, 2.5], "float64")
v, fresh, whole = tf.Variable([0.5, 0.25]), tf.Variable(2.0), tf.Variable([1, 2])
local.log = Log()
x = tf.exp(elsewhere[0])
z = tf.exp(elsewhere[1])
i = tf.cast(x, "int32") + 1
h = tf.cast(x, "float16")
b = x > 1.0
c = tf.complex(x, x)
d = tf.exp(elsewhere[2])
operands = [
    x, z, i, h, b, c, d, *elsewhere, v, fresh, whole, 2.0, 2, 0.0, -0.0, 0, -1, True, None, 1e300,
    float("nan"), 2**70, np.float32(2.0), np.ones(2, "f"), [1.0, 2.0], [x[0], 2.0], "text", object,
]
pairs = [(x, y) for y in operands] + [(y, x) for y in operands]
pairs += [(z, y) for y in operands] + [(y, v) for y in operands] + [(i, y) for y in operands]
pairs += [(c, 2.0), (2.0, c), (h, 2.0), (d, 2.0), (d, x), (b, b), (d, 2), (3, d)]
triples = [(b, *pair) for pair in pairs] + [(y, *pair) for y in operands for pair in pairs[::29]]
functions = {("SelectV2", "select"): (select, 3)}
for module in (tf, tf.math, tf.bitwise, tf.nn):
    for name in dir(module):
        found = getattr(module, name, None)
        op = getattr(found, "op", None)
        if isinstance(op, Op):
            functions[op.name, name] = found, op.arity
assert len(functions) > 70
for (_, name), (function, arity) in sorted(functions.items()):
    few = name not in ("add", "sin", "pow", "multiply", "maximum")
    if arity == 1:
        for y in operands[:11] if few else operands:
            for k in range(3):
                print(name, tried(function, y))
        print(tried(function, x, name="n"), tried(function), tried(function, x, other=1))
    elif arity == 2:
        for one, other in pairs[::11] if few else pairs:
            for k in range(3):
                print(name, tried(function, one, other))
        print(tried(function, x, x, "n"), tried(function, x), tried(function, x, x, other=1))
    else:
        assert arity == 3, name
        for given in triples if name == "select" else triples[::17]:
            for k in range(3):
                print(name, tried(function, *given))
        print(tried(function, b, x, x, "n"), tried(function, b, x), tried(function, x=b, y=x, z=2))
for name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "lt", "ge", "eq", "and_"):
    function = getattr(operator, name)
    for one, other in pairs:
        if isinstance(one, (tf.Tensor, tf.Variable)) or isinstance(other, (tf.Tensor, tf.Variable)):
            for k in range(3):
                print(name, tried(function, one, other))
for name in ("neg", "abs", "invert"):
    for y in (x, z, i, b, c, v):
        for k in range(2):
            print(name, tried(getattr(operator, name), y))

# What no log has yet.
for dtype in "bool int8 float16 int32 int64 float32 float64 complex64 complex128".split():
    for shape in ((), (1, 1), (3,), (0, 2)):
        value = tf.cast(tf.ones(shape), dtype)
        variable = tf.Variable(value)
        float(tf.reduce_sum(tf.cast(value, "float32")))
        calls = [(tf.add, variable, variable), (tf.multiply, value, variable), (tf.identity, value)]
        for number in (2.0, 2, -2.5, 0.0, -0.0, 0, -1, True, 1e39, float("inf"), 2**40):
            calls += [(tf.multiply, value, number), (tf.subtract, number, variable)]
        for call, *given in calls:
            local.log = Log()
            print(dtype, shape, tried(call, *given), tried(call, *given))
for _ in range(2):
    local.log = Log()
    x = tf.exp(tf.Variable([1.0, 2.0]))
    fresh, v = tf.Variable(x), tf.Variable([1.0, 2.0])
    print(tried(tf.add, fresh, v), tried(fresh.assign, x), tried(tf.add, fresh, v))
    with tf.GradientTape() as tape:
        print(tried(tf.add, fresh, v), fresh._read == (local.log, local.log.n - 3))
    local.log.bytes_limit = local.log.bytes + 15
    print(tried(tf.add, tf.Variable(elsewhere[0]), tf.constant([1.0, 2.0])), local.log.limit)
local.log = Log()
x = tf.exp(elsewhere[0])

print(tried(pow, x, 2.0, 3), tried(tf.Tensor.__pow__, x), tried(tf.Tensor.__add__, x, x, x, x))
"""


@usable
def test_every_row_is_as_python_records_it():
    children = [
        start(EVERYTHING, said, **env)
        for said, env in (("Python", PYTHON), ("machine code", NATIVE))
    ]
    defined, native = [output(child).splitlines() for child in children]
    assert len(defined) > 5000
    assert native == defined


MACHINE = """
import inspect, pickle, sys
import numtape as tf
from numtape.core.log import record
from numtape.core.log.log import local
from numtape.core.native import patch

float(tf.constant(1.0) + 1.0)
assert patch.describe() == "machine code", patch.describe()
x, v, c = tf.constant([1.0, 2.0]), tf.Variable(3.0), tf.constant(2.0)
n, b = tf.constant([1, 2]), tf.constant([True, False])
programs = [
    lambda: x * x, lambda: x * v, lambda: c * x, lambda: x * 2.0, lambda: 3 * x, lambda: x / v,
    lambda: x / 2.0, lambda: 2.0 / x, lambda: x ** 3.0, lambda: 2.0 ** x, lambda: -x, lambda: 2 - x,
    lambda: abs(x), lambda: x < 2.0, lambda: tf.sin(x), lambda: tf.maximum(x, 0.5),
    lambda: tf.add(v, c), lambda: tf.sin(v), lambda: tf.maximum(x, 0.0), lambda: 0 - x,
    lambda: tf.where(b, x, c), lambda: tf.where(b, v, 0.0), lambda: tf.where(b, 2, x),
    lambda: tf.clip_by_value(x, -1.0, 1.0), lambda: tf.clip_by_value(t=x, clip_value_min=c,
                                                                     clip_value_max=v),
]
DEFINITIONS = {f"{maker}.<locals>.record" for maker in ("unary", "binary", "ternary")}

def definitions_run(program):
    seen = []
    def tell(frame, event, arg):
        if event == "call":
            seen.append(frame.f_code.co_qualname)
    sys.setprofile(tell)
    try:
        program()
    finally:
        sys.setprofile(None)
    return sum(name in DEFINITIONS for name in seen)

with tf.GradientTape() as tape:
    for k, program in enumerate(programs):
        program()
        assert definitions_run(program) == 0, k
    assert definitions_run(lambda: x * float("nan")) == 1
    log = local.log
    for program in (
        lambda: x * 7.5, lambda: 7 * x, lambda: x > 0, lambda: -0.0 / x, lambda: n > 0,
        lambda: x * tf.Variable(2.0), lambda: tf.sin(v),
        lambda: tf.constant(2.0) / tf.Variable(3.0), lambda: v * 0.25, lambda: x / tf.constant(1.0),
        lambda: tf.where(b, x, 6.5), lambda: tf.where(b, tf.Variable(2.0), x),
        lambda: tf.where(tf.constant([False, True]), x, 0),
    ):
        program()
        tape.reset()  # variables are read again
        log._const_rows.clear()
        log._leaf_rows.clear()
        made = log.n
        assert definitions_run(program) == 0 and made + 1 < log.n <= made + 4
    before, log.limit = log.limit, 2**30 + 5000  # no int of one digit
    assert definitions_run(lambda: x * x) == 1
    log.limit = before
    assert definitions_run(lambda: x * x) == 0
assert pickle.loads(pickle.dumps(tf.sin)) is tf.sin and inspect.isfunction(tf.sin)
assert list(inspect.signature(tf.sin).parameters) == ["x", "name"]
assert inspect.signature(tf.add).return_annotation == "Tensor"
assert "Example:" in tf.sin.__doc__ and tf.sin.__name__ == "sin" and tf.sin.op.name == "Sin"
assert tf.Tensor.__add__ is tf.add and tf.sin(x=x).shape == tf.sin(x, name="n").shape == (2,)
patch.use(False)
assert patch.describe().startswith("Python")
assert all(definitions_run(program) > 0 for program in programs)
patch.use()
assert sum(map(definitions_run, programs)) == 0
"""


@usable
def test_the_usual_operands_run_nothing_of_python():
    assert run(MACHINE, **NATIVE) == ""


HELD = """
import ctypes, gc, sys, weakref
import numtape as tf
from numtape.core.log import liveness
from numtape.core.log.log import Log, local
from numtape.core.native import patch
from numtape.core.native.process import process_table
from numtape.kernels.cpython.words import MAX_FREE_TENSORS

defined = {name: vars(liveness)[name] for name in ("live_tensors", "release")}
float(tf.constant(1.0) + 1.0)
assert patch.describe() == "machine code"
live_tensors, release = liveness.live_tensors, liveness.release
assert live_tensors is not defined["live_tensors"]
assert release is not defined["release"]
local.log = log = Log()
x = tf.constant(2.0)
held = [x * 3.0, -x]
twice = held[0]
weak = weakref.ref(x * 4.0)
gone = [tf.sin(x) for _ in range(5)]
del gone
masked = tf.exp(x)
masked._keras_mask = marker = object()
del masked
for found in (live_tensors, defined["live_tensors"]):
    rows = [tensor._row for tensor in found(log.tensors, 0)]
    print(rows == [t._row for t in (*held, weak())], len(found(log.tensors[:], 1)) == len(rows))
    print(found([], 0), len(found(held, 0)), found(held, 1) == [twice])

# Dead ones repeat, the masked one does not; nothing that they had is left on them.
kept = log.tensors
counts = [sys.getrefcount(tensor) for tensor in kept]
places = {id(tensor) for tensor, count in zip(kept, counts) if count == min(counts)}
spec, counts = x._spec, sys.getrefcount(marker)
before = sys.getrefcount(spec), sys.getrefcount(log)
more = len(places)
log.collect()
print(kept == [], weak() is None, sys.getrefcount(marker) == counts - 1)
print(before[0] - sys.getrefcount(spec) >= more, before[1] - sys.getrefcount(log) >= more)
assert not any(id(thing) in places for thing in gc.get_objects())
new = [tf.sin(x) for _ in range(5)]
print(sum(id(tensor) in places for tensor in new), all(map(gc.is_tracked, new)))
probes = [object() for _ in range(5)]
twice = probes[:]
expected = {sys.getrefcount(probe) for probe in probes}
print({sys.getrefcount(t) for t in new} == expected, {hasattr(t, "_keras_mask") for t in new})
print([float(tensor) for tensor in new] == [float(tf.sin(x))] * 5, weakref.ref(new[0])() is new[0])

# There are never many that wait.
many = [-x for _ in range(6000)]
del many
log.collect()
count, first = process_table()._free_tensors[:2].tolist()
free = ctypes.cast(first, ctypes.py_object).value
print(0 < count <= MAX_FREE_TENSORS == 1024, not gc.is_tracked(free))
"""


@usable
def test_tensors_that_nobody_has_come_again():
    said = ["True True", "[] 2 True"] * 2 + [
        "True True True",
        "True True",
        "5 True",
        "True {False}",
    ]
    assert run(HELD, **NATIVE).split("\n") == [*said, "True True", "True True"]


AGAIN = """
import gc, sys, weakref
import numpy as np
import numtape as tf
from numtape.core.log.log import Log, local
from numtape.core.native import patch

float(tf.constant(1.0) + 1.0)
assert patch.describe() == "machine code"
local.log = log = Log()
x, ones = tf.constant(0.5), tf.ones(3)
float(x + tf.reduce_sum(ones * x))

def specs():
    gc.collect()
    return [sys.getrefcount(t._spec) for t in (x, ones, x > 0.0, ones > 0.0)], len(log.tensors)

def chain():
    rows, held, weak, masked = [], {}, {}, {}
    y = z = x
    for k in range(1500):
        y = tf.sin(y) * x
        z = tf.cos(z * ones) if k % 2 else tf.reduce_sum(z)
        is_less = z < y
        rows += is_less._row, log.n
        if k % 97 == 0:
            held[k] = tf.exp(y), log.n
        if k % 89 == 0:
            weak[k] = weakref.ref(tf.exp(y))
            masked[k] = tf.exp(y)
            masked[k]._keras_mask = k
    return rows, held, weak, masked, y

chain()
log.collect()
before = specs()
with tf.GradientTape() as tape:
    first, count, made = log.n, log.computations, gc.get_stats()[0]["collections"]
    rows, held, weak, masked, y = chain()
    print(gc.get_stats()[0]["collections"] == made, log.n - first > 6000, len(log.tensors) < 600)
    # Who has a tensor, a row's number or the log's length has it as it was.
    print(all(a + 1 == b for a, b in zip(rows[::2], rows[1::2])), rows == sorted(rows))
    print(log.computations == count, all(t._row + 1 == n for t, n in held.values()))
    print(all(t._keras_mask == k for k, t in masked.items()))
expected, found = 0.5, {}
for k in range(1500):
    found[k] = expected = np.sin(expected) * 0.5
for k, (t, _) in held.items():
    np.testing.assert_allclose(float(t), np.exp(found[k]), 1e-6)
for k, made in weak.items():
    np.testing.assert_allclose(float(made()), np.exp(found[k]), 1e-6)
    np.testing.assert_allclose(float(masked[k]), np.exp(found[k]), 1e-6)
del rows, held, weak, masked, y, t, made, tape
log.collect()
print(before == specs())
"""


@usable
def test_tensors_that_nobody_has_are_used_again_while_ops_are_recorded():
    assert run(AGAIN, **NATIVE).replace("True", "").split() == []


BROKEN = """
import numtape as tf
from numtape.__main__ import info
from numtape.core.cpython import api, layout, classes
from numtape.core.native import patch, process
exec(__import__("sys").argv[1])
layout.measure.cache_clear()
process.process_table.cache_clear()
x = tf.constant(1.0)
print(float(tf.sin(x) * x + 2.0), patch.describe())
"""


@pytest.mark.parametrize(
    "change, said",
    [
        (
            "layout.version.VERSION = (3, 99)",
            "Python 3.99 is not a supported version: 3.11 to 3.15",
        ),
        ("import sysconfig; sysconfig.get_config_vars()['Py_TRACE_REFS'] = 1", "Py_TRACE_REFS"),
        ("import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1", "free-threaded"),
        ("api.API['CALL'] = 'PyNo_Such'", "there is no PyNo_Such"),
        ("layout.word_at = lambda address: 0", "is not where it is known to be"),
    ],
)
def test_where_python_is_not_as_known_it_records(change, said):
    found = run(BROKEN, change, **NATIVE)
    number, _, why = found.partition(" Python: ")
    assert abs(float(number) - 2.8414709848) < 1e-6
    assert said in why or layout.unsupported_reason() in why


def test_another_way_to_record_is_named():
    child = start("import numtape as tf; float(tf.constant(1.0) + 1)", NUMTAPE_RECORD="fast")
    with pytest.raises(AssertionError, match="NUMTAPE_RECORD='fast' is neither"):
        output(child)


INFO = """
import sys
from numtape.__main__ import info
exec(sys.argv[1])
info()
"""
INFO_OF = "recorders", "replays", "evaluations", "gradients"
UNKNOWN = """
from numtape.core.cpython import layout
from numtape.core.replay import repeated_calls
def unknown(): raise layout.UnsupportedLayout("nothing is known")
repeated_calls.function_entry_offset = unknown
"""


@pytest.mark.parametrize(
    "change, variables, said",
    [
        ("", NATIVE, ["machine code"] * 4),
        ("", {**NATIVE, "PYTHONMALLOC": "debug"}, ["machine code"] * 4),  # overwrites freed memory
        ("", PYTHON, ["Python: NUMTAPE_RECORD=python"] * 4),
        (UNKNOWN, NATIVE, ["machine code", "Python: nothing is known", *["machine code"] * 2]),
    ],
)
def test_info_says_how_ops_are_recorded_and_calls_replayed(change, variables, said):
    lines = run(INFO, change, **variables).splitlines()
    for name, expected in zip(INFO_OF, said, strict=True):
        (line,) = (line for line in lines if line.startswith(name))
        if variables["NUMTAPE_RECORD"] == "native" and layout.unsupported_reason():
            expected = layout.unsupported_reason()
        assert expected in line


def test_info_has_a_line_for_each_probe_that_says_what_is_off(monkeypatch, capsys):
    def fail():
        raise layout.UnsupportedLayout("a list's size is not where it is known to be")

    probes = [*layout.PROBES, "frames", "handlers", "classes", "buffers"]
    failures = [] if layout.unsupported_reason() else ["lists", "buffers"]
    for name in ("", *failures):
        with monkeypatch.context() as patch:
            if name == "lists":
                patch.setitem(layout.PROBES, "lists", fail)
            elif name:
                patch.setattr(classes, "check_buffer_slot", fail)
            info()
        lines = capsys.readouterr().out.splitlines()
        (first,) = (k for k, line in enumerate(lines) if line.startswith("CPython"))
        texts = dict(line.split(maxsplit=1) for line in lines[first + 1 : first + 1 + len(probes)])
        assert [*texts] == probes
        if name:
            assert texts.pop(name).startswith("a list's size is not where it is known to be: ")
        assert layout.unsupported_reason() or {*texts.values()} == {"as expected"}


THREADS = """
import gc, signal, sys, threading
import numpy as np
import numtape as tf
from numtape.core.native import patch

with tf.GradientTape() as tape:
    x = tf.Variable(3.0)
    y = x * x
assert float(tape.gradient(y, x)) == 6.0
gc.freeze()  # a debug build looks at each object several times in each collection
gc.set_threshold(1)
sys.setswitchinterval(1e-6)
wrong, fired = [], []

def program(k):
    v, c = tf.Variable(0.1 * k), tf.constant(0.5)
    for _ in range(60):
        with tf.GradientTape() as tape:
            y = tf.sin(v) * c + 2.0
            for _ in range(5):
                y = y / v - tf.tanh(y) * 0.25
        g = tape.gradient(y, v)
        yield float(y), float(g)

class Ending:
    def __init__(self):
        self.me = self
    def __del__(self):
        with tf.GradientTape() as tape:
            x = tf.Variable(3.0)
            y = x * x
        if float(tape.gradient(y, x)) != 6.0:
            wrong.append("in a finalizer")

def handler(number, frame):
    fired.append(float(tf.constant(2.0) * 4.0))
    if len(fired) < 100:  # a slow machine is to have time for the rest
        signal.setitimer(signal.ITIMER_REAL, 0.002)

def switch():
    while not done:
        patch.use(False)
        patch.use()

def work(k):
    for found in program(k):
        Ending()
        results[k].append(found)

handler(None, None)  # a handler that interrupts the loading of code must not need other code
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002)
done = []
switching = threading.Thread(target=switch)
switching.start()
results = {k: [] for k in range(1, 6)}
threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
for t in threads: t.start()
try:
    work(5)
    for t in threads: t.join()
finally:
    done.append(True)
switching.join()
signal.signal(signal.SIGALRM, signal.SIG_IGN)
gc.set_threshold(700)
assert patch.describe() == "machine code", patch.describe()
patch.use(False)
for k, found in results.items():
    values, gradients = np.array(found).T
    expected_values, expected_gradients = np.array(list(program(k))).T
    # When a finalizer evaluates between two ops, the variable is read again, and the gradients of
    # its reads are summed in another order.
    is_close = np.allclose(gradients, expected_gradients, 1e-6)
    if values.tolist() != expected_values.tolist() or not is_close:
        wrong.append(k)
print(wrong, set(fired) == {8.0})
"""


@usable
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGALRM")
def test_threads_finalizers_and_handlers_record_at_once():
    assert run(THREADS, **NATIVE) == "[] True"


LAST = """
import builtins, sys, threading
import numtape as tf
from numtape.core.native import patch

class Last:
    def __init__(self):
        self.x = tf.constant(2.0)
        self.me = self if len(kept) % 2 else None
    def __del__(self, two=2.5):
        for _ in range(3):
            self.x * self.x, self.x * two, -self.x, two / self.x, self.x * 3.5

kept = []
kept += [Last()]
kept += [Last()]
with_x = tf.constant(1.0)
float(with_x * 2.5)
assert patch.describe() == "machine code"
builtins.last, sys.last, tf.last, threading.last = Last(), Last(), Last(), Last()
tf.Tensor.last = Last()
local = threading.local()
def work():
    local.last = Last()
    float(tf.constant(3.0) * 2.5)
thread = threading.Thread(target=work)
thread.start(); thread.join()
print("ended")
"""


@usable
def test_finalizers_record_when_the_process_ends():
    assert run(LAST, **NATIVE) == "ended"


@usable
def test_places_are_those_that_python_has():
    """Python's own functions find the same objects at these offsets."""
    found = layout.measure()
    pair = (object(), object())
    item = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_ssize_t)(
        api.address_of_call("PySequence_GetItem")
    )
    assert api.word_at(id(pair) + found["AT_ITEM"] + 8) == id(item(pair, 1))
    assert api.word_at(id(pair) + words.TYPE) == id(tuple)
