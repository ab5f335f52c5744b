"""Syntax, builtins and instructions of newer Pythons in recorded functions."""

import builtins
import dis
import functools
import importlib.util
import sys
import types
import warnings

import new_syntax_ways
import numpy as np
import pytest
import state_programs
from checks import same
from function_helpers import recordings
from processes import run
from state_cases import numtape_only

from numtape.core.cpython import bytecode, frames
from numtape.core.replay.observe.follower import Follower
from numtape.core.replay.observe.instructions import INSTRUCTIONS
from numtape.core.replay.observe.observer import Observer

pytestmark = [
    numtape_only,
    pytest.mark.records,  # and needs a known layout of frames
]


def since(*version):
    """A mark: skip a test in older Pythons."""
    name = ".".join(map(str, version))
    return pytest.mark.skipif(sys.version_info < version, reason=f"needs Python {name}")


def compiled(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a `return` in `finally`
        return compile(source, "<program>", "exec")


def defined(source):
    """The names that a program defines."""
    space = {"__name__": "program"}
    exec(compiled(source), space)
    return space


# --- Ways to hold state --------------------------------------------------------------------------


def results(name, decorate):
    """The results of three calls at first and after each change, and the function."""
    program = state_programs.Program(0, [name])
    setup, expression, changes = (program._own(part, 0) for part in state_programs.WAYS[name])
    space = defined(
        "\n".join([state_programs._HEAD, setup, f"def f(x):\n    return x * {expression}"])
    )
    function, found = decorate(space["f"]), []
    for change in ["", *changes]:
        exec(change, space)
        found += (float(function(space["tf"].constant(1.5))) for _ in range(3))
    return found, function


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
@pytest.mark.parametrize("name", new_syntax_ways.WAYS)
def test_each_way_to_hold_state(name, tf):
    expected, _ = results(name, lambda f: f)
    found, function = results(name, tf.function)
    assert found == expected
    assert len(set(found)) > 1
    if name not in new_syntax_ways.PLAIN:
        assert sum(path.hits for path in function.paths()) >= 2


# --- Instructions --------------------------------------------------------------------------------

# Instructions that are unknown on purpose: a function that runs one of them runs as Python.
ASYNCHRONOUS = """
    GET_AITER GET_ANEXT GET_AWAITABLE END_ASYNC_FOR BEFORE_ASYNC_WITH ASYNC_GEN_WRAP
"""
OF_MODULES = "PRINT_EXPR IMPORT_STAR"
# These occur in no compiled code.
OF_THE_INTERPRETER = "RESERVED ENTER_EXECUTOR INTERPRETER_EXIT TRACE_RECORD JUMP_BACKWARD_QUICK"


def opcodes():
    """The names of the instructions that compiled code can have."""
    return {
        name
        for name, opcode in dis.opmap.items()
        if opcode < 256 and not name.startswith("INSTRUMENTED_")
    } - set(OF_THE_INTERPRETER.split())


def test_each_instruction_is_known():
    """A new version's instructions belong into `KINDS`, or into the names above."""
    known = {name for names in bytecode.KINDS.values() for name in names.split()}
    known |= {"CALL_INTRINSIC_1", "CALL_INTRINSIC_2"}
    assert opcodes() - known <= {*ASYNCHRONOUS.split(), *OF_MODULES.split()}
    assert set(bytecode.KINDS) == set(INSTRUCTIONS)


@since(3, 13)
def test_each_operator_and_intrinsic_function_is_known():
    import _opcode

    assert [name.removeprefix("INTRINSIC_") for name in _opcode.get_intrinsic1_descs()] == [
        "1_INVALID",
        "PRINT",
        "IMPORT_STAR",
        "STOPITERATION_ERROR",
        "ASYNC_GEN_WRAP",
        "UNARY_POSITIVE",
        "LIST_TO_TUPLE",
        "TYPEVAR",
        "PARAMSPEC",
        "TYPEVARTUPLE",
        "SUBSCRIPT_GENERIC",
        "TYPEALIAS",
    ]
    assert [name.removeprefix("INTRINSIC_") for name in _opcode.get_intrinsic2_descs()] == [
        "2_INVALID",
        "PREP_RERAISE_STAR",
        "TYPEVAR_WITH_BOUND",
        "TYPEVAR_WITH_CONSTRAINTS",
        "SET_FUNCTION_TYPE_PARAMS",
        "SET_TYPEPARAM_DEFAULT",
    ]
    operators = [sign for _, sign in _opcode.get_nb_ops()]
    assert [sign.endswith("=") for sign in operators] == [
        13 <= k < 26 for k in range(len(operators))
    ]
    assert operators[26:] == (["[]"] if sys.version_info >= (3, 14) else [])


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


# Instructions that other tests cover: of modules, and those that delete or change state.
NOT_IN_PROGRAMS = """
    CACHE EXTENDED_ARG EXIT_INIT_CHECK SETUP_ANNOTATIONS STORE_GLOBAL STORE_SLICE DELETE_ATTR
    DELETE_DEREF DELETE_GLOBAL DELETE_NAME DELETE_SUBSCR
"""


@since(3, 14)  # older ones have more kinds of jumps
def test_the_programs_have_each_instruction():
    found = set()
    for name in state_programs.WAYS:
        program = compiled(state_programs.Program(0, [name]).source)
        found |= {x.opname for code in codes(program) for x in dis.get_instructions(code)}
    assert opcodes() - found - set(NOT_IN_PROGRAMS.split()) == set()


def test_borrowed_references_are_not_owned():
    """A new list that is only on the stack is unshared; one that a variable holds is not."""
    seen = []

    def program(y):
        x = [1.5]
        return max(x, y, [2.5])

    steps = bytecode.instructions_of(program.__code__)

    def follow(frame, event, arg):
        frame.f_trace_opcodes = True
        if event == "opcode" and steps[frame.f_lasti].is_call:
            step = steps[frame.f_lasti]
            own = Follower(Observer({}), frame.f_code, steps, frames.slots_address(frame))
            are_unshared = [own.is_unshared(step, k) for k in range(3)]  # before there are more
            seen.append(([own.peek(step, k) for k in range(3)], are_unshared))
        return follow

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: follow if frame.f_code is program.__code__ else None)
    try:
        program([0.5])
    finally:
        sys.settrace(before)
    assert seen == [([[2.5], [0.5], [1.5]], [True, False, False])]


# --- Python 3.14 ---------------------------------------------------------------------------------

# Annotations that exist only for type checkers.
ANNOTATED = """
import functools
import numtape as tf
from numtape import keras

@tf.function
def f(x: Missing, *, k: Missing.part = 2.0) -> Missing[1]:
    return x * k

@tf.custom_gradient
def g(x: Missing) -> Missing:
    def gradient(upstream: Missing, variables: Missing = None) -> Missing:
        return upstream * 5.0
    return x * 2.0, gradient

class Scale(tf.Module):
    v: Missing

    def __init__(self, v: Missing) -> Missing:
        self.v = tf.Variable(v)

    @tf.function
    def __call__(self, x: Missing) -> Missing:
        return x * self.v

class Layer(keras.layers.Layer):
    def __init__(self, units: Missing, **options: Missing) -> Missing:
        super().__init__(**options)
        self.units = units

    def call(self, x: Missing, training: Missing = False) -> Missing:
        return x * self.units

def doubled(x: Missing) -> Missing:
    return x * 2.0
"""


@since(3, 14)
def test_annotations_are_not_evaluated(tf):
    space = defined(ANNOTATED)
    x = tf.Variable(3.0)
    for _ in range(3):
        same(space["f"](x), 6.0)
        same(space["f"](x, k=3.0), 9.0)
        same(space["Scale"](2.0)(x), 6.0)
    with tf.GradientTape() as tape:
        y = space["g"](x)
    same(tape.gradient(y, x), 5.0)
    layer = space["Layer"](4.0)
    called = tf.function(lambda x: layer(x))
    for k in range(3):
        same(called(k * tf.ones((1, 2))), 4.0 * k * np.ones((1, 2)))
    assert recordings(called) == 1
    assert layer.get_config()["units"] == 4.0
    found = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(space["doubled"])
    assert [float(y) for y in found] == [2.0, 4.0]


@since(3, 14)
def test_a_partial_function_with_placeholders_is_recorded(tf):
    f = tf.function(functools.partial(lambda a, b: a - b, functools.Placeholder, 2.0))
    for x in (5.0, 6.0, 7.0):
        same(f(tf.constant(x)), x - 2.0)
    assert recordings(f) == 1


# --- Python 3.15 ---------------------------------------------------------------------------------


@since(3, 15)
def test_a_lazy_import_runs_the_module_once(tf, tmp_path, monkeypatch):
    """Its code may do anything; what the function reads of the module is compared."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "imported_late.py").write_text(
        "import random, sys, time\nsys.runs = getattr(sys, 'runs', 0) + 1\n"
        "started, k = time.time(), random.random()\ndef get():\n    return k\n"
    )
    space = defined(
        "lazy import imported_late\nlazy from imported_late import get as get_late\n"
        "def f(x):\n    return x * imported_late.k * get_late()"
    )
    f, module = tf.function(space["f"]), "imported_late"
    try:
        assert module not in sys.modules
        for k in (None, None, None, 2.0, 2.0, 3.0):
            if k is not None:
                sys.modules[module].k = k
            found = f(tf.constant(1.0))
            same(found, np.float32(sys.modules[module].k) ** 2)
        assert sys.runs == 1
        assert recordings(f) == 3
        assert sum(path.hits for path in f.paths()) == 3
    finally:
        sys.modules.pop(module, None)
        del sys.runs


@since(3, 15)
def test_a_lazy_import_that_fails(tf):
    space = defined(
        "lazy import no_such_module\ndef f(x):\n    try:\n        return x * no_such_module.k\n"
        "    except ImportError:\n        return x * 2.0"
    )
    f = tf.function(space["f"])
    with pytest.warns(RuntimeWarning, match="the import of no_such_module fails"):
        same(f(tf.constant(1.5)), 3.0)
    same(f(tf.constant(2.5)), 5.0)
    space["no_such_module"] = types.SimpleNamespace(k=3.0)
    same(f(tf.constant(1.5)), 4.5)


LAZY = """
import sys
import numpy as np
import numtape as tf
from numtape import keras
assert sys.get_lazy_imports() == "all"
x = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = x * x
assert tape.gradient(y, x) == 4.0
model = keras.Sequential([keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(np.ones((8, 2), "f"), np.ones((8, 1), "f"), verbose=0)
lazy import json.tool as tool
print(type(globals()["tool"]).__name__)
"""


@since(3, 15)
def test_all_other_imports_may_be_lazy():
    assert run(LAZY, PYTHON_LAZY_IMPORTS="all") == "lazy_import"


@since(3, 15)
def test_a_frozendict_as_an_argument(tf):
    """Its tensors are inputs, and its other values are compared, as for a dict."""

    @tf.function
    def f(x, options):
        return {"y": x * options["k"] * options["t"][0], "options": options}

    frozendict = builtins.frozendict
    for k, t in ((2.0, 1.5), (2.0, 2.5), (2.0, 3.5), (3.0, 1.5), (3.0, 2.5)):
        options = frozendict(k=k, t=[tf.constant(t)])
        found = f(tf.constant(2.0), options)
        same(found["y"], 2.0 * k * t)
        assert type(found["options"]) is frozendict
        same(found["options"]["t"][0], t)
    assert recordings(f) == 2
    with tf.GradientTape() as tape:
        t = tf.Variable(2.0)
        y = f(tf.constant(2.0), frozendict(k=3.0, t=(t * 1.0,)))["y"]
    same(tape.gradient(y, t), 6.0)


# --- Subinterpreters -----------------------------------------------------------------------------

SUBINTERPRETER = """
import sys
import _interpreters

def refused(kind):
    other = _interpreters.create(kind)
    error = _interpreters.exec(other, "import numtape")
    assert "ImportError: numtape cannot be imported in a subinterpreter" in error.formatted, error
    _interpreters.destroy(other)

refused(sys.argv[1])
import numtape as tf
k = 2.0
v = tf.Variable(3.0)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        y = x * k * v * v
    v.assign_add(1.0)
    return y, tape.gradient(y, v)

for number in range(40):
    if number % 10 == 5:
        refused(sys.argv[1])
        k = float(number)
    x = float(number)
    before = v.numpy()
    y, gradient = step(tf.constant(x))
    assert y == x * k * before * before, (number, y)
    assert gradient == 2 * x * k * before, (number, gradient)
assert step.experimental_get_tracing_count() == 5
print(sum(path.hits for path in step.paths()))
"""


@pytest.mark.skipif(not importlib.util.find_spec("_interpreters"), reason="needs Python 3.13")
@pytest.mark.parametrize("kind", ["isolated", "legacy"])
def test_a_subinterpreter_cannot_import_it(kind):
    """The main interpreter, which imports it before or afterwards, is not affected."""
    assert run(SUBINTERPRETER, kind) == "35"
