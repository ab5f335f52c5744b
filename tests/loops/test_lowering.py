"""From source to sweeps: each construct and function, as text that runs as plain Python."""

import ast
import math
import re

import mpmath as mp
import numpy as np
import pytest
from kernel_array_cases import ARRAYS, CASES as ARRAY_CASES, POINT
from kernel_cases import CASES, FUNCTIONS
from kernel_checks import close, differences, fresh, function_of, plain
from numba.core.registry import cpu_target

from numtape.core.loops import rules
from numtape.core.loops.analysis.types import infer
from numtape.core.loops.frontend import lowering
from numtape.core.loops.frontend.lowering import Lowering, normal
from numtape.core.loops.frontend.source import FunctionSource
from numtape.core.loops.ir import Assign, Branch, Call, ForRange, While, steps, walk
from numtape.core.loops.program import program
from numtape.core.loops.runtime.invoke import kinds_of
from numtape.core.ops.elementwise import stop_gradient

pytestmark = pytest.mark.numtape_only("native loops")


def body_of(function, arguments):
    found = normal(function, list(kinds_of(tuple(arguments))))
    infer(found)
    return found


@pytest.mark.parametrize(("expression", "x", "y"), FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
def test_functions(expression, x, y):
    function = function_of(f"def f(x, y):\n    return {expression}\n")
    value, found = plain(function, [x, y], [0, 1])
    assert value == pytest.approx(function(x, y), rel=1e-15)
    close(found, differences(function, [x, y], [0, 1]))


@pytest.mark.parametrize("expression", ARRAYS)
def test_arrays(expression):
    function = function_of(f"def f(x, y, m, k, p):\n    return {expression}\n")
    value, found = plain(function, POINT, [0, 1, 2, 4])
    assert value == pytest.approx(function(*fresh(POINT)), rel=1e-13)
    close(found, differences(function, POINT, [0, 1, 2, 4]))


@pytest.mark.parametrize(("function", "arguments", "wanted"), [*CASES, *ARRAY_CASES])
def test_constructs(function, arguments, wanted):
    before = fresh(arguments)
    value, found = plain(function, arguments, wanted)
    python = getattr(function, "py_func", function)
    assert value == pytest.approx(python(*fresh(arguments)), rel=1e-14)
    close(found, differences(python, arguments, wanted))
    for one, other in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(one, other)


def trees():
    for function, _, _ in (*CASES, *ARRAY_CASES):
        yield FunctionSource(function).tree
    yield from (ast.parse(text) for text in (*(row[0] for row in FUNCTIONS), *ARRAYS))


def test_each_function_and_construct_has_a_case():
    nodes = [node for tree in trees() for node in ast.walk(tree)]
    kinds = {type(node).__name__ for node in nodes}
    written = {name.split("_")[2] for name in dir(Lowering) if name.startswith(("_do_", "_of_"))}
    assert written - kinds == set()
    operators = {*lowering.OPERATORS, *lowering.COMPARED}
    assert operators - {type(node) for node in nodes} == set()
    used = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    used = {name for name in used if re.fullmatch(r"[\w.]+", name)} | {
        "." + node.func.attr
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    used |= {"math.exp"} if "exponential" in used else set()
    called = {
        eval(name, {"np": np, "math": math})
        for name in used
        if name.partition(".")[0]
        in ("np", "math", *dir(__builtins__), "abs", "max", "min", "pow", "float", "int", "bool")
    }
    known = (*rules.CALLED, *lowering.CASTS, *lowering.MADE, *lowering.REDUCED)
    others = (np.float32, stop_gradient)  # test_float32, test_kernel_in_njit
    assert [f for f in known if f not in called and f not in others] == []
    methods = {name.rpartition(".")[2] for name in used}
    assert {*lowering.OF_ARRAYS, *lowering.METHODS} - methods == set()


def test_numba_has_each_function():
    context = cpu_target.typing_context
    context.refresh()
    for rule in rules.FUNCTIONS.values():
        for node in ast.walk(ast.parse(rule.text.format("x", "y", "z"))):
            if isinstance(node, ast.Attribute):
                module = {"math": math, "np": np}[node.value.id]
                context.resolve_value_type(getattr(module, node.attr))  # raises if Numba has none


def test_derivatives_are_those_of_the_op_records():
    from numtape.core.ops import elementwise

    assert rules.derivative("tanh") == ("g * tanh_slope(x, z)",)
    assert rules.FUNCTIONS["tanh"].op is elementwise.tanh.op
    assert {name for name in rules.FUNCTIONS if not rules.differentiable(name)} == {
        "isnan",
        "isinf",
        "isfinite",
    }


@pytest.mark.parametrize(("function", "arguments", "wanted"), CASES)
def test_normal_form_has_one_operation_a_step_and_no_jumps(function, arguments, wanted):
    body = body_of(function, arguments)
    for step in steps(body.nodes):
        if step.text:
            tree = ast.parse(step.text.format("x", "y"), mode="eval")
            allowed = ast.IfExp | ast.BinOp | ast.Call | ast.Compare | ast.UnaryOp | ast.Name
            assert isinstance(tree.body, allowed)
        assert all(
            body.names.get(a) or not a.isidentifier() or a in ("True", "False") for a in step.args
        )
    others = Assign | Branch | ForRange | While | Call
    assert all(isinstance(n, others) or n.array for n in walk(body.nodes))


def test_a_loop_that_is_left_does_not_go_on():
    def first(x):
        s = 0.0
        for i in range(10**12):
            s += x * i
            if i == 3:
                break
        return s

    value, (slope,) = plain(first, [2.0], [0])
    assert (value, slope) == (12.0, 6.0)


def test_ranges_are_counted_once():
    def growing(x, n):
        for i in range(n):
            n = n + i
            x = x * 1.5
        return x * n

    value, (slope,) = plain(growing, [2.0, 4], [0])
    assert value == growing(2.0, 4)
    assert slope == value / 2.0


def test_ties_are_as_in_the_ops():
    def larger(x, y):
        return max(x, y) + np.minimum(x, y) + abs(x - y)

    assert [float(g) for g in plain(larger, [1.0, 1.0], [0, 1])[1]] == [2.0, 0.0]


def test_dtypes_of_names():
    def mixed(x, z, k):
        a = k[0] * k[1]
        b = z[0] * z[1]
        c = z[0] * 2.0
        d = 1
        d = d + x
        e = a > b
        return d * c + a + e

    arguments = [0.5, np.ones(3, np.float32), np.ones(3, np.int32)]
    names = body_of(mixed, arguments).names
    assert [names[x] for x in "abcde"] == ["int64", "float32", "float64", "float64", "bool"]


def test_names_that_the_sweeps_use_themselves_may_be_the_users():
    text = """
def f(d_x, x, SP, N1, out, x_n0, K1, go_1):
    _1 = d_x * x
    for S1_0 in range(3):
        _1 += SP * N1 * out
    math_ = x_n0 * K1 * go_1
    t1 = math_ * _1
    return t1
"""
    function, point = function_of(text), [0.3, 0.7, 1.1, 0.2, 0.9, 1.3, 0.6, 0.8]
    value, found = plain(function, point, range(8))
    assert value == pytest.approx(function(*point))
    close(found, differences(function, point, range(8)))


def test_unreached_arguments_and_constant_results():
    value, found = plain(lambda x, y: y * 2.0, [1.0, 3.0], [0, 1])
    assert (value, found) == (6.0, [0.0, 2.0])
    assert plain(function_of("def f(x):\n    return 2.5\n"), [1.0], [0]) == (2.5, [0.0])


def test_source_names_the_users_lines():
    made = program(CASES[0][0], [("float64", -1), ("int64", -1)], [0])
    lines = [line.strip() for line in made.source.splitlines()]
    at = lines.index("# line 4")
    assert "y = _1 + _2" in lines[at:] or any(line.startswith("y = ") for line in lines[at:])
    compile(made.source, "sweeps", "exec")


# Functions whose derivatives are records of native loops, with their names in mpmath.
EXACT = {
    "math.gamma": (mp.gamma, [0.3, 1.5, 4.0, 25.5, -0.7, -2.3]),
    "math.lgamma": (mp.loggamma, [0.01, 0.3, 1.5, 4.0, 25.5, 1e5]),
    "np.cbrt": (mp.cbrt, [1e-8, 0.3, 5.0, 1e9]),
    "math.exp2": (lambda x: 2**x, [-3.5, 0.0, 9.25]),
    "math.log2": (lambda x: mp.log(x, 2), [1e-9, 0.7, 1.0, 1e9]),
    "math.log10": (lambda x: mp.log(x, 10), [1e-9, 0.7, 1.0, 1e9]),
    "math.degrees": (mp.degrees, [-2.0, 0.3]),
    "math.radians": (mp.radians, [-2.0, 100.0]),
}


@pytest.mark.parametrize("name", EXACT)
def test_derivatives_are_exact(name):
    exact, points = EXACT[name]
    function = function_of(f"def f(x):\n    return {name}(x)\n")
    with mp.workdps(40):
        for x in points:
            _, (slope,) = plain(function, [x], [0])
            assert slope == pytest.approx(float(mp.diff(exact, mp.mpf(x))), rel=3e-15)


def test_digamma():
    from numtape.kernels.loops.functions import digamma

    points = [*np.linspace(0.02, 30.0, 97), *np.linspace(-9.93, -0.04, 67), 1e-9, 1e6, 1e300]
    with mp.workdps(40):
        for x in points:
            exact = float(mp.digamma(mp.mpf(float(x))))
            assert digamma(float(x)) == pytest.approx(exact, rel=2e-14, abs=2e-14)
    for x in (0.0, -1.0, -7.0, -math.inf, math.nan):
        assert math.isnan(digamma(x))
    assert digamma(math.inf) == math.inf
