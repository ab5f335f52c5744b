"""Reads of Python state during recording: ways to hold and to access it, and the guards."""

import cProfile
import ctypes
import gc
import random
import signal
import sys
import sysconfig
import time
import traceback
import types
import warnings
import weakref
from pathlib import Path

import new_syntax_ways
import numpy as np
import pytest
import state_programs
from checks import SEED, same
from function_helpers import one_warning, recordings
from processes import run
from state_cases import numtape_only

from numtape.core.cpython import bytecode, frames, version
from numtape.core.cpython.classes import has_class_versions
from numtape.core.replay.observe import c_function_table, guards, observer, reads
from numtape.core.replay.observe.follower import Follower
from numtape.core.replay.observe.guards import Guards
from numtape.core.replay.observe.observer import Observer
from numtape.core.replay.observe.reads import MISSING, Read

pytestmark = [
    numtape_only,
    pytest.mark.records,  # and needs a known layout of frames
]


# State that changes with every call, or cannot be observed: runs as Python, with a reason.
PLAIN = {
    "lru_cache": "calls",
    "iterator": "continues a",
    "generator": "continues a",
    "count": "continues a",
    "random": "calls Random.random",
    "NumPy's random": "calls numpy",
    "counter": "changes n_0[0]",
    "appended and counted": "changes l_0 by append",
    "popped": "with pop",
    "setdefault": "with setdefault",
    "read and written": "changes o_0.k",
    "written and read": "changes o_0.k",
    "set along one way": "changes o_0.k",
    "array that is written": "sets a slice of a_0",
    "format": "formats objects",
    "array of objects": "an array of objects",
    "frompyfunc": "examines a ufunc",
    "print to an object": "changes o_0.n",
    "memoryview": "writes to memory",
    "identity of tuples": "by `is`",
    "whether C raises": "calls posix.stat",
    "temporary and its weak reference": "a weak reference to a Thing",
    **new_syntax_ways.PLAIN,
}


@pytest.mark.parametrize("name", state_programs.WAYS)
def test_each_way_to_hold_state(name, request):
    """One program, which depends on the seed; with --slow, three."""
    for seed in range(3) if request.config.getoption("--slow") else [SEED % 3]:
        program = state_programs.Program(seed, [name])
        said = state_programs.compare(program)
        assert said is None, f"{said}\n{program.text()}"


@pytest.mark.parametrize("name", state_programs.WAYS)
def test_each_way_is_replayed_or_has_a_reason(name):
    reason = state_programs.replayed(name)
    if name in PLAIN:
        assert PLAIN[name] in reason
    else:
        assert not reason


def test_random_programs(request):
    """Programs that combine several ways, and change state between calls."""
    count, end = request.config.getoption("--programs") // 2, time.monotonic() + 60
    for k in range(count):
        program = state_programs.Program(SEED * 100_000 + k)
        said = state_programs.compare(program)
        assert said is None, f"--seed {SEED}, program {k}: {said}\n{program.text()}"
        if time.monotonic() > end:
            break


def test_programs_detect_missing_guards(monkeypatch):
    monkeypatch.setattr(Guards, "holds", lambda self: True)
    for seed in range(100):
        if state_programs.compare(state_programs.Program(seed)) is not None:
            return
    pytest.fail("100 programs did not find it")


# --- Instructions and frames ---------------------------------------------------------------------


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def test_stack_depths_in_the_standard_library_match_python():
    folder = Path(sysconfig.get_path("stdlib"))
    found = 0
    for path in sorted(folder.glob("*.py"))[::3]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(path.read_bytes(), str(path), "exec")
        for code in codes(module):
            deepest = max(step.depth for step in bytecode.instructions_of(code).values())
            assert 0 <= deepest <= code.co_stacksize, code
            found += 1
    assert found > 1000


def test_values_on_the_stack():
    seen = []

    def outer(one, two):
        def inner(three):
            return max(one, *[two, three])

        return inner

    inner = outer(1.5, 2.5)
    known_steps = bytecode.instructions_of(inner.__code__)

    def trace(frame, event, arg):
        if frame.f_code is not inner.__code__:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace = follow
        sys.settrace(trace)
        return follow

    def follow(frame, event, arg):
        if event == "opcode" and known_steps[frame.f_lasti].is_call:
            step = known_steps[frame.f_lasti]
            address = frames.slots_address(frame)
            own = Follower(Observer({}), frame.f_code, known_steps, address)
            seen.append([own.peek(step, k) for k in range(step.depth)])
            assert frames.function_of(frame) is inner
        return follow

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert inner(3.5) == 3.5
    finally:
        sys.settrace(before)
    assert max in seen[-1]
    assert (1.5, 2.5, 3.5) in seen[-1]


def test_an_unknown_python_version_runs_as_python(tf, monkeypatch):
    monkeypatch.setattr(version, "VERSION", (3, 99))
    monkeypatch.setattr("numtape.core.replay.guard_tree._unobserved_reasons", [])
    frames.unsupported_reason.cache_clear()
    try:
        rates = [2.0]
        f = tf.function(lambda x: x * rates[0])
        with one_warning("cannot be observed: Python 3.99 is not a supported version"):
            same(f(tf.constant(1.0)), 2.0)
        rates[0] = 3.0
        same(f(tf.constant(1.0)), 3.0)
    finally:
        monkeypatch.undo()
        frames.unsupported_reason.cache_clear()
    assert not frames.unsupported_reason()


def test_an_unknown_instruction_runs_as_python(tf, monkeypatch):
    from numtape.core.replay.observe import instructions

    rest = {k: v for k, v in instructions.INSTRUCTIONS.items() if k != "operate"}
    monkeypatch.setattr("numtape.core.replay.tracing.INSTRUCTIONS", rest)
    f = tf.function(lambda x: x * 2.0)
    with one_warning("the instruction operate is not known"):
        same(f(tf.constant(1.0)), 2.0)


def test_an_error_in_the_observer_runs_as_python(tf, monkeypatch):
    def broken(*args):
        raise ZeroDivisionError("of the observer")

    monkeypatch.setattr("numtape.core.replay.observe.read_set.ReadSet.note_attribute", broken)
    holder = types.SimpleNamespace(k=2.0)
    f = tf.function(lambda x: x * holder.k)
    with one_warning("could not be observed"):
        same(f(tf.constant(1.0)), 2.0)


# --- Guards on reads -----------------------------------------------------------------------------


class Holder:
    def method(self):
        """A method."""


def each_kind():
    """A read of each kind, and a change of its value."""
    one, names, items = Holder(), {"a": 1.5}, [1.0, "two"]
    one.k = 2.5
    Kind = type("Kind", (Holder,), {})
    cell = (lambda: items).__closure__[0]

    def function(x=1, *, y=2):
        """A function with defaults."""

    code = function.__code__, function.__defaults__, function.__kwdefaults__
    return {
        reads.ENTRY: (names, "a", 1.5, lambda: names.update(a=2.5)),
        reads.CELL: (cell, None, items, lambda: setattr(cell, "cell_contents", 3)),
        reads.TYPE: (one, None, Holder, lambda: setattr(one, "__class__", type("C", (), {}))),
        reads.CODE: (function, None, code, lambda: setattr(function, "__defaults__", (3,))),
        reads.ATTRIBUTE: (one, "k", one.k, lambda: setattr(one, "k", 3.5)),
        reads.METHOD: (one, "method", Holder.method, lambda: setattr(one, "method", print)),
        reads.ITEM: (items, 1, items[1], lambda: items.__setitem__(1, "three")),
        reads.TRUTH: (items, None, True, items.clear),
        reads.LENGTH: (items, None, 2, lambda: items.append(1)),
        reads.CONTAINS: (names, "a", True, names.clear),
        reads.CLASS: (
            Kind,
            None,
            reads.class_contents(Kind),
            lambda: setattr(Kind, "__eq__", lambda self, other: True),
        ),
        reads.ITEMS: (items, None, tuple(items), lambda: items.reverse()),
        reads.KEYS: (names, None, ("a",), lambda: names.update(b=1)),
        reads.ENTRIES: (names, None, ("a", 1.5), lambda: names.update(a=2.5)),
        reads.ANSWER: (reads.bind_arguments(len, items), items, 2, lambda: items.pop()),
    }


@pytest.mark.parametrize("kind", sorted(reads.READERS))
def test_a_read_of_each_kind(kind):
    holder, key, value, change = each_kind()[kind]
    found = Guards([Read(kind, holder, key, value, "it", ("file", 1))])
    assert found.holds()
    assert found.first_changed() is None
    change()
    assert not found.holds()
    assert found.first_changed().name == "it"


def test_guards_hold_after_unrelated_changes_of_a_class():
    kind = type("Kind", (Holder,), {})
    found = Guards([Read(reads.CLASS, kind, None, reads.class_contents(kind), "it", ("file", 1))])
    for k in range(3):
        kind.rate = k
        assert found.holds()
    kind.__bases__ = (type("Other", (), {}),)
    assert not found.holds()
    assert has_class_versions()


@pytest.mark.parametrize("kind", [reads.ENTRY, reads.ATTRIBUTE, reads.ITEM])
def test_reads_of_what_is_missing(kind):
    names, one = {}, Holder()
    holder = one if kind == reads.ATTRIBUTE else names
    found = Guards([Read(kind, holder, "k", MISSING, "it", ("file", 1))])
    assert found.holds()
    names["k"] = one.k = 1.0
    assert not found.holds()
    del names["k"], one.k
    assert found.holds()


@pytest.mark.parametrize(
    ("before", "equal", "other"),
    [
        (1.5, float("1.5"), 1.25),
        (0.0, float("0"), -0.0),
        (float("nan"), float("nan"), 1.0),
        (10**20, int("1" + "0" * 20), 10**20 + 1),
        ("ab", "".join("ab"), "ac"),
        (1, 1, True),
        (1, 1, 1.0),
        ((1, 2.5), (1, float("2.5")), (1, 2.0)),
        (2j, complex("2j"), 3j),
    ],
)
def test_values_are_compared_by_their_bits(before, equal, other):
    one = Holder()
    one.k = before
    found = Guards([Read(reads.ATTRIBUTE, one, "k", before, "it", ("file", 1))])
    for _ in range(3):
        one.k = equal
        assert found.holds()
        one.k = other
        assert not found.holds()


def test_guards_do_not_keep_what_they_compare():
    one, two = Holder(), Holder()
    one.part = two
    found = Guards([Read(reads.ATTRIBUTE, one, "part", two, "it", ("file", 1))])
    assert found.holds()
    before = sys.getrefcount(two)
    assert before == sys.getrefcount(one) + 1  # one refers to it
    del one
    assert not found.holds()
    assert found.dead_references


def test_guards_leave_reference_counts_as_they_were():
    every = each_kind()
    found = Guards(
        Read(kind, holder, key, value, str(kind), ("file", 1))
        for kind, (holder, key, value, _) in every.items()
    )
    objects = [x for holder, key, value, _ in every.values() for x in (holder, key, value)]
    shared = (int, str, type(None), type)  # shared objects with other references
    objects = [x for x in objects if not isinstance(x, shared)]
    before = list(map(sys.getrefcount, objects))
    for _ in range(1000):
        assert found.holds()
    assert list(map(sys.getrefcount, objects)) == before


def test_offsets_are_those_of_the_pass():
    import importlib

    kernel = importlib.import_module("numtape.kernels.cpython.words")
    assert sorted(each_kind()) == sorted(reads.READERS)
    one = Holder()
    cell = (lambda: one).__closure__[0]
    assert frames.word_at(id(cell) + kernel.CELL) == id(one)
    assert frames.word_at(id(one) + kernel.TYPE) == id(Holder)
    method, items = one.method, [one, 2.5]
    assert frames.word_at(id(method) + kernel.METHOD_FUNCTION) == id(Holder.method)
    assert frames.word_at(id(method) + kernel.METHOD_SELF) == id(one)
    assert frames.word_at(id(items) + kernel.SIZE) == len(items)
    assert frames.word_at(frames.word_at(id(items) + kernel.LIST_ITEMS)) == id(one)
    assert ctypes.c_double.from_address(id(items[1]) + kernel.FLOAT).value == 2.5


# --- Diagnostics ---------------------------------------------------------------------------------


def test_tracebacks_show_the_programs_own_lines(tf):
    def inner(x):
        raise KeyError("mine")

    @tf.function
    def f(x):
        return inner(x)

    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            f(tf.constant(1.0))
        lines = [x.line for x in traceback.extract_tb(caught.tb) if x.filename == __file__]
        assert lines[-2:] == ["return inner(x)", 'raise KeyError("mine")']


def test_a_debugger_sees_the_lines(tf):
    seen = []

    @tf.function
    def f(x):
        y = x * 2.0
        return y + 1.0

    first = f.python_function.__code__.co_firstlineno

    def trace(frame, event, arg):
        if frame.f_code is f.python_function.__code__:
            seen.append((event, frame.f_lineno - first))
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        same(f(tf.constant(1.0)), 3.0)
    finally:
        sys.settrace(before)
    assert [line for event, line in seen if event == "line"] == [2, 3]
    assert recordings(f) == 1


def test_freeze_keeps_the_recording(tf, caplog):
    rates, state = [2.0], types.SimpleNamespace(k=3.0)

    @tf.function(freeze=True)
    def f(x):
        return x * rates[0] * state.k + time.time() * 0.0

    same(f(tf.constant(1.0)), 6.0)
    rates[0], state.k = 5.0, 7.0
    same(f(tf.constant(1.0)), 6.0)
    assert recordings(f) == 1
    (said,) = [r.getMessage() for r in caplog.records if "keeps what it read" in r.getMessage()]
    for what in ("rates[0]", "state.k", "time.time"):
        assert what in said


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal here")
def test_signal_handlers_are_not_recorded(tf):
    v, holder = tf.Variable(0.0), types.SimpleNamespace(interrupted=True)

    @tf.function
    def f(x):
        if holder.interrupted:
            signal.raise_signal(signal.SIGUSR1)
        return x * 2.0

    before = signal.signal(signal.SIGUSR1, lambda *_: v.assign_add(1.0))
    try:
        same(f(tf.constant(1.0)), 2.0)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert recordings(f) == 0
    holder.interrupted = False
    for _ in range(3):
        same(f(tf.constant(1.0)), 2.0)
    same(v, 1.0)
    assert recordings(f) == 1


def test_reasons_name_the_line(tf):
    def f(x):
        return x * time.time()

    function = tf.function(f)
    with one_warning(rf"test_observe.py:{f.__code__.co_firstlineno + 1}: it calls time.time"):
        function(tf.constant(1.0))
    assert "time.time" in repr(function.paths())


def test_impure_c_functions_are_not_listed():
    """A function that calls an unlisted C function runs as plain Python."""
    assert id(time.time) not in c_function_table.PURE
    assert id(random.random) not in c_function_table.PURE


def test_arrays_are_read_in_each_call(tf):
    weights = np.array([1.0, 2.0], np.float32)

    @tf.function
    def f(x):
        return tf.reduce_sum(x * weights) + tf.reduce_sum(tf.constant(weights[1:]))

    for k in range(5):
        weights[:] = k, 2 * k
        same(f(tf.constant([1.0, 1.0])), 5.0 * k)
        with tf.GradientTape() as tape:
            x = tf.constant([1.0, 1.0])
            tape.watch(x)
            y = f(x)
        same(tape.gradient(y, x), [k, 2 * k])
    assert recordings(f) == 1


MET = """
class Model:
    rate = 2.0
    @tf.function
    def scaled(self, x):
        return (lambda y: y * self.rate)(x)

model = Model()
results = [float(model.scaled(tf.constant(k))) for k in (1.0, 2.0)]
"""


def test_observed_classes_and_code_are_not_kept_alive(tf):
    scope = {"tf": tf}
    exec(MET, scope)
    assert scope["results"] == [2.0, 4.0]
    kind = scope["Model"]
    met = [weakref.ref(kind), weakref.ref(kind.scaled.python_function.__code__)]
    del kind, scope
    gc.collect()
    assert [ref() for ref in met] == [None, None]


def test_a_class_that_was_changed_is_compared_once(tf, monkeypatch):
    """Later calls compare the version number of the class, without looking up attributes."""
    compared = []
    monkeypatch.setattr(
        guards,
        "is_same",
        lambda found, value: compared.append(found) or reads.is_same(found, value),
    )
    double = tf.function(lambda x: 2.0 * x)
    x = tf.constant(3.0)
    for _ in range(3):
        double(x)
    tf.Variable.nobody_asks = 1
    del tf.Variable.nobody_asks
    double(x)
    compared.clear()
    for _ in range(3):
        assert double(x).numpy() == 6.0
    assert compared == []


COLLECTED = """
import gc, time, numtape as tf

times = []

def collected(phase, info):  # no part of what is recorded
    times.append(time.time())
    [object() for _ in range(3)]

def step(x):
    return x + 1.0

def steps(x):
    for _ in range(300):
        x = step(x)
    return x

function = tf.function(steps)
gc.callbacks.append(collected)
gc.set_threshold(1)
assert function(tf.constant(0.0)).numpy() == 300.0
gc.set_threshold(700)
assert times and function(tf.constant(1.0)).numpy() == 301.0
print(str(function.paths()).count("hits"))
"""


def test_garbage_collection_during_observation():
    """A garbage collection can run functions, for which Python calls the observer recursively."""
    assert run(COLLECTED).split() == ["1"]


INTERRUPTED = """
import signal, warnings
import numtape as tf

class Stop(Exception):
    pass

def stop(*_):
    raise Stop

signal.signal(signal.SIGALRM, stop)
warnings.simplefilter("error")
stopped = 0
for k in range(60):
    @tf.function
    def step(x):
        for _ in range(30):
            x = tf.stack([x[1], x[0] * 0.5])
        return x
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, 3e-4 + k * 1e-4)
            step(tf.constant([1.0, 2.0]))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Stop:
        stopped += 1
    for _ in range(3):
        step(tf.constant([1.0, 2.0]))
    assert "hits" in str(step.paths()), step.paths()
print(stopped > 10)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms here")
def test_exceptions_of_signal_handlers_during_recording_propagate():
    """The exception propagates, and the next call is recorded."""
    assert run(INTERRUPTED) == "True"


def turn_on_profile():
    sys.setprofile(lambda *event: None)
    return lambda: sys.setprofile(None)


def turn_on_c_profile():
    profile = cProfile.Profile()
    profile.enable()
    return profile.disable


def turn_on_monitoring():
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.OPTIMIZER_ID, "test")
    monitoring.set_events(monitoring.OPTIMIZER_ID, monitoring.events.LINE)

    def turn_off():
        monitoring.set_events(monitoring.OPTIMIZER_ID, 0)
        monitoring.free_tool_id(monitoring.OPTIMIZER_ID)

    return turn_off


TOOLS = [turn_on_profile, turn_on_c_profile]
if hasattr(sys, "monitoring"):
    TOOLS.append(turn_on_monitoring)


@pytest.mark.parametrize("is_on_later", [False, True])
@pytest.mark.parametrize("turn_on", TOOLS)
def test_a_profiler_that_is_turned_on_after_a_recording_hides_no_reads(tf, turn_on, is_on_later):
    def inner(x):
        for z in (y * rate for y in [x]):
            yield z * rate

    @tf.function
    def f(x):
        return sum(inner(x)) * rate

    rate = 1.0
    same(f(tf.constant(1.0)), 1.0)
    turn_off = turn_on()
    try:
        same(f(tf.constant([1.0])), [1.0])
        if not is_on_later:
            turn_off()
        for rate in (2.0, 3.0, 2.0):
            same(f(tf.constant([1.0])), [rate**3])
            same(f(tf.constant([[1.0]])), [[rate**3]])
    finally:
        if is_on_later:
            turn_off()
    assert "rate = 2.0" in str(f.paths())


def test_a_call_that_profiles_itself_runs_as_python(tf):
    def f(x):
        sys.setprofile(lambda *event: None)
        y = x * rate
        sys.setprofile(None)
        return y * rate

    recorded = tf.function(f)
    rate = 1.0
    with one_warning("it calls sys.setprofile"):
        same(recorded(tf.constant(2.0)), 2.0)
    for rate in (2.0, 1.0, 3.0):
        same(recorded(tf.constant(2.0)), 2.0 * rate**2)


def test_code_whose_instructions_are_not_reported_runs_as_python(tf, monkeypatch):
    monkeypatch.setattr(observer, "report_instructions", lambda *arguments: None)
    recorded = tf.function(lambda x: x * rate)
    rate = 2.0
    with one_warning("Python does not report all its instructions"):
        same(recorded(tf.constant(2.0)), 4.0)
    rate = 3.0
    same(recorded(tf.constant(2.0)), 6.0)
