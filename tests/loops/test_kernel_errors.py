"""Unsupported code in kernels: a KernelError names it, its file and line, and an alternative."""

import math
import pickle
import re

import numpy as np
import pytest
from kernel_callees import FAILING
from kernel_cases import Mine, grows, root
from kernel_checks import function_of, plain

import numtape as tf
from numtape.core.loops.program import program
from numtape.core.loops.runtime.invoke import raise_status
from numtape.core.loops.runtime.plain import run
from numtape.errors import KernelError

pytestmark = pytest.mark.numtape_only("native loops")

X = ("float64", 1)
N = ("float64", -1)
# Lines of a function f(x, p) of an array and a number, without `return`, and the message.
WRONG = [
    ("s = 0.0; try:\n        s = p\n    finally:\n        s = p", "`try`"),
    ("with p:\n        pass", "`with`"),
    ("global S\n    S = p", "`global`"),
    ("raise ValueError(f'{p:.3f}')", "a text with a format"),
    ("raise p", "`raise p`"),
    ("assert p > 0, f'{p!r}'", "a text with a format"),
    ("for i in enumerate(x):\n        p = p + i", "write|a loop over `enumerate"),
    ("for a in zip(x, x):\n        p = p + 1", "a loop over `zip"),
    ("for x in x:\n        p = p + 1", "which it assigns"),
    ("for z in ():\n        p = p + z", r"a loop over `\(\)`"),
    ("for z, q in (p, p):\n        p = p + z", r"a loop over `\(p, p\)`"),
    ("c = (p, p)\n    c = (p, 1.0)", "a tuple under the name `c`"),
    ("y = np.ones((2, 3))\n    y[1, 1:] += y[0, :-1]", "which reads what it has written"),
    ("for i, z in enumerate(range(0, 9, 2)):\n        p = p + z", "in `enumerate` or `zip`"),
    ("import os", "`import`"),
    ("del p", "`del`"),
    ("def inner():\n        return 1", "`def`"),
    ("q = yield p", "yield p"),
    ("q = lambda z: z", "lambda"),
    ("q = [p]", r"`\[p\]`"),
    ("q = {p: p}", r"`\{p: p\}`"),
    ("q = {p}", r"`\{p\}`"),
    ("q = [z for z in x]", "for z in x"),
    ("q = 'text'", "of type str"),
    ("q = 1j * p", "of type complex"),
    ("q = None", "of type NoneType"),
    ("q = x[0, 0]", "2 of 1 indices"),
    ("q = x[:, ..., ...]", "1 of 1 indices"),
    ("q = x[:: int(p)]", "a slice whose step"),
    ("q = x[::0]", "a slice whose step"),
    ("m = np.ones((2, 2))\n    q = m[m > 0.0].sum()", "conditions of 2 axes"),
    ("m = np.ones((2, 2))\n    m[m > 0.0] = p", "conditions of 2 axes"),
    ("k = np.zeros(3, np.uint8)\n    for i in range(k[0]):\n        p += i", "a range of unsigned"),
    ("k = np.zeros(3, np.uint8)\n    s = -k[0]", "minus an unsigned int"),
    ("k = np.zeros(3, np.uint8)\n    s = k[0]\n    s = p", "holds another number elsewhere"),
    ("k = np.zeros(3, np.uint8)\n    p = np.sum(k - k)", "of whole arrays of dtype uint8"),
    ("k = np.zeros(3, np.uint8)\n    p = np.sum(k * k[0])", "arithmetic of NumPy's with ints"),
    ("k = np.zeros(3, np.uint64)\n    p = np.sum(k * 2)", "arithmetic of NumPy's with ints"),
    ("k = np.zeros(3, np.uint8)\n    p = np.sqrt(k[0])", "arithmetic of NumPy's with ints"),
    ("k = np.zeros(3, np.uint64)\n    p = np.ones(k[0] + k[1])[0]", "axis that is unsigned"),
    ("k = np.arange(3)\n    k[k] += 1", "which writes to its own index"),
    ("k = np.arange(3)\n    p = x[None, k].sum()", "a new axis beside an array of places"),
    ("q = x[p > 0.0]", "an index that is a bool"),
    ("q = np.sum(x[x * 2.0])", "an index that is a float"),
    ("q = TABLE", "the constant `TABLE`, an array of 101 float64"),
    ("p[0] = 1.0", "to elements of arrays by name"),
    ("x[0] = x", "an array as one element"),
    ("x[1:] += x[:-1]", "which reads what it has written"),
    ("y = np.zeros((2, 2))\n    y += y.T", "which reads what it has written"),
    ("x[1] += x", "the whole array `x` where a number"),
    ("y = np.zeros((2, 2))\n    x += y", "of 2 axes for 1"),
    ("y = np.zeros(2) + np.zeros(3)", "of lengths 3 and 2"),
    ("y = x[::2].reshape(2, 1)", "do not lie in order"),
    ("y = x\n    y = x[::2]", "do not lie in order"),
    ("y = x\n    y = np.zeros((2, 2))", "of 1 and 2 axes"),
    ("y = np.zeros(3, np.int64)\n    y = x", "of two dtypes"),
    ("y = p\n    y = x", "another value elsewhere"),
    ("y = x\n    y = p", "another value for the array `y`"),
    ("y = np.zeros(3)\n    for i in range(3):\n        y = p", "another value for the array"),
    ("q = p if p > 0.0 else x", "an array or a number"),
    ("if x > 0.0:\n        p = 1.0", "the whole array `x > 0.0` where a number"),
    ("q = not x", "the whole array `x` where a number"),
    ("q = math.sin(x)", "the whole array `x` where a number"),
    ("q = max(x, 1.0)", "the whole array `x` where a number"),
    ("k = np.zeros(3, np.int32)\n    q = k + k", "whole arrays of dtype int32"),
    ("q = np.sum(x, axis=1)", "whose axis is not one of 1"),
    ("q = np.sum(x, axis=int(p))", "whose axis is not a constant"),
    ("q = np.sum(x, keepdims=True)", "`np.sum"),
    ("q = np.sum(p)", "of what is not an array"),
    ("q = p @ x", "`p @ x` of a number"),
    ("q = np.zeros((2, 2, 2)) @ x", "more than two axes"),
    ("q = np.array([[p], [p, p]])", "whose rows differ"),
    ("q = np.array([[p], p])", "rows of numbers"),
    ("q = np.arange(0.5)", "of floats"),
    ("q = np.arange(0, 9, p)", "whose step"),
    ("q = np.full(3, p, np.int8)", "of dtype int8"),
    ("q = np.clip(x, 0.0)", "It takes 3"),
    ("q = np.trace(x)", "of other than a matrix"),
    ("q = np.cumsum(np.zeros((2, 2)))", "of more than one axis"),
    ("q = np.sort(x)", r"the call `np\.sort"),
    ("q = x.tolist()", r"the call `x\.tolist"),
    ("q = x.strides", r"`x\.strides`"),
    ("y = np.zeros((2, 2, 2, 2))", "of 4 axes"),
    ("y = np.zeros(3, np.complex128)", "the dtype"),
    ("x.flat = 3", "an assignment to"),
    ("for i in range(0, 9, len(x)):\n        p = p + 1", "whose step"),
    ("for i in range(3):\n        p = p + 1\n    else:\n        p = 1.0", "`else` of a loop"),
    ("for i in range(p):\n        pass", "a bound of a range that is a float"),
    ("q = x[p]", "an index that is a float"),
    ("q = p & 3", "an operand of `&`"),
    ("q = p @ p", "`p @ p` of a number"),
    ("q = ~3", "`~`"),
    ("q = p in x", "`p in x`"),
    ("q = p is None", "`p is None`|NoneType"),
    ("q = (z := p)", "z := p"),
    ("q = f'{p}'", "f'"),
    ("q = nowhere", "`nowhere`, which is not defined"),
    ("q = open(p)", "the call `open"),
    ("q = math.sin(p, p)", "of 2 arguments"),
    ("q = max(*x)", r"max\(\*x\)"),
    ("q = f(x[1:], p)", "part of an array as an argument of `f`"),
    ("p = p + g(x, x)", "an array twice as an argument"),
    ("p = p + f(x, int(p))", "turned into an int as an argument"),
    ("p = p + h(p)", "recursion whose result has no dtype"),
    ("q = again(x)", "a call of `halves` that gives an array"),
    ("q = again(x)\n    p = q[0]", "`halves` calls itself or has `recompute=True`"),
    ("p = again(x).sum()", "`halves` calls itself or has `recompute=True`"),
    ("a, b = f(x, p)", "`f` calls itself or has `recompute=True`"),
    ("p = named(p)", "by name only"),
    ("q = (p, p)\n    p = f(x, (p, p))", "a tuple"),
    ("p = p + math.fmod(p, 2.0)", "the call `math.fmod"),
    ("p = p + int(p)", "a float turned into an int"),
    ("k = int(p) + 1\n    p = p * k", "a float turned into an int"),
    ("k = np.zeros(3, np.int64)\n    k[0] = p", "a float that is put into an array of ints"),
    ("k = np.zeros(3, np.int64)\n    k[0] = int(p)\n    p = p * k[0]", "turned into an int"),
    ("x[0] = int(p)\n    p = p * x[0]", "turned into an int"),
    ("p = p * bool(p)", "turned into an int"),
    ("p + 1.0", "whose value is not used"),
    ("a, b = x", "a tuple that is not written out|whole array"),
    ("a, b = 1.0, 2.0, 3.0", "a tuple of another length"),
    ("go_1_ = 1.0\n    for i in range(3):\n        if i:\n            break", "the name `go_1_`"),
]


@pytest.mark.parametrize(("lines", "said"), WRONG, ids=[row[0] for row in WRONG])
def test_what_is_refused(lines, said):
    lines = lines.replace("s = 0.0; ", "s = 0.0\n    ")
    function = function_of(
        f"def f(x, p):\n    {lines}\n    return p\n",
        TABLE=np.zeros(101),
        g=both,
        h=endless,
        named=named,
        again=tf.kernel(halves, recompute=True),
    )
    with pytest.raises(KernelError, match=said) as caught:
        program(function, [X, N], [0, 1])
    error = caught.value
    assert isinstance(error, TypeError)
    code = {"p = p + g(x, x)": both, "p = p + h(p)": endless}.get(lines, function).__code__
    assert error.file == code.co_filename
    assert 0 <= error.line - code.co_firstlineno <= lines.count("\n") + 2
    assert error.construct in str(error)
    assert str(error).endswith((".", "..."))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line) == (str(error), error.line)


def both(x, y):
    if x[0] > 3.0:
        return both(y, x)
    x[0] = 1.0
    return y[0]


def endless(x):
    return endless(x)


def halves(x):
    return 0.5 * x


def named(p, *, q=1.0):
    return p * q


RETURNS = [
    ("pass", "a derivative: it returns nothing"),
    ("return 1", "of dtype int64"),
    ("return x", "returns an array.* nt.jacobian"),
    ("return p, p", "returns a tuple.* nt.jacobian"),
    ("if p > 0:\n        return p, p\n    return p", "results of different forms"),
    ("if p > 0:\n        return p\n    return p, p", "results of different forms"),
    ("if p > 0:\n        return p", "returns nothing"),
    ("while p > 0:\n        return p", "returns nothing"),
]


@pytest.mark.parametrize(("line", "said"), RETURNS, ids=[row[0] for row in RETURNS])
def test_results_that_are_refused(line, said):
    with pytest.raises(KernelError, match=said):
        program(function_of(f"def f(x, p):\n    {line}\n"), [X, N], [0, 1])


def test_jacobians_of_nothing():
    with pytest.raises(KernelError, match="returns nothing"):
        tf.jacobian(function_of("def f(x):\n    pass\n"))(1.0)
    with pytest.raises(ValueError, match="argnums has 1"):
        tf.jacobian(function_of("def f(x):\n    return x\n"), 1)(1.0)
    with pytest.raises(KernelError, match="of dtype int64"):
        tf.jacobian(function_of("def f(x):\n    return x\n"))(1)


def test_the_line_is_that_of_a_helper():
    def helper(z):
        return [z]

    def caller(x):
        return helper(x)

    with pytest.raises(KernelError) as caught:
        program(caller, [N], [0])
    assert caught.value.line == helper.__code__.co_firstlineno + 1


@pytest.mark.parametrize(("function", "line", "said"), FAILING)
def test_what_fails_in_a_function_of_another_file_names_its_line(function, line, said):
    def caller(x, n):
        return 2.0 * function(x, n)

    made = program(caller, [N, ("int64", -1)], [0], boundscheck=True)
    assert run(made, [0.5, 2], 1000)[0] == 0
    status, _, _ = run(made, [0.5, 200], 1000)
    code = function.__code__
    place = re.escape(f'(File "{code.co_filename}", line {code.co_firstlineno + line})')
    with pytest.raises(Exception, match=f"{said}.*{place}"):
        raise_status(made, status, 1000)


def test_what_is_refused_in_a_function_that_calls_itself_names_its_line():
    with pytest.raises(KernelError, match="turned into an int") as caught:
        program(lambda x: cut(x), [N], [0])
    assert caught.value.line == cut.__code__.co_firstlineno + 2


def cut(x):
    if x < 3.0:
        return x * int(x)
    return cut(x - 1.0)


def test_functions_without_source():
    scope = {}
    exec(compile("def f(x):\n    return x\n", "<nowhere>", "exec"), scope)
    with pytest.raises(KernelError, match="whose source cannot be read"):
        tf.grad(scope["f"])(1.0)


@pytest.mark.parametrize("parameters", ["*x", "x, **k"])
def test_parameters_that_are_not_named(parameters):
    function = function_of(f"def f({parameters}):\n    return 1.0\n")
    for called in (tf.grad(function), tf.jacobian(function), tf.kernel(function)):
        with pytest.raises(KernelError, match=r"\*args or \*\*kwargs.*Name each"):
            called(tf.constant(1.0))


def test_derivatives_of_derivatives():
    slope, rows = tf.grad(total), tf.jacobian(total)
    for derivative in (tf.grad, tf.value_and_grad, tf.jacobian):
        for f in (slope, rows):
            with pytest.raises(KernelError, match=r"a second derivative.*Take differences"):
                derivative(f)


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (tf.constant([1.0, 2.0]), "as an argument. Pass its value"),
        (tf.Variable([1.0, 2.0]), "as an argument. Pass its value"),
        ([1.0, 2.0], "a list as an argument"),
        (None, "a NoneType as an argument"),
        (np.zeros(3, np.complex128), "dtype complex128"),
        (np.zeros(3, ">f8"), "dtype >f8"),
        (np.zeros(()), "of 0 axes"),
        (np.zeros((1, 1, 1, 1)), "of 4 axes"),
        (np.zeros(3, np.int64), "by argument 0, of dtype int64"),
        (np.zeros(3, object), "object"),
    ],
    ids=repr,
)
def test_arguments_that_are_refused(argument, said):
    with pytest.raises(KernelError, match=said):
        tf.grad(total)(argument)


def test_calls_that_make_no_sense():
    with pytest.raises(ValueError, match="argnums has 1, but there are 1"):
        tf.grad(total, 1)(np.ones(3))
    with pytest.raises(TypeError, match="missing a required argument"):
        tf.grad(total)()
    with pytest.raises(TypeError, match="too many positional"):
        tf.grad(total)(1.0, 2.0)
    with pytest.raises(KernelError, match="more than 64 bits"):
        tf.grad(lambda x, n: x * n)(1.0, 10**30)
    with pytest.raises(TypeError, match="made of a function"):
        tf.kernel(3)
    with pytest.raises(TypeError, match="made of a function"):
        tf.grad(math.sin)
    with pytest.raises(ValueError, match="error_model"):
        tf.kernel(total, error_model="c")
    with pytest.raises(ValueError, match="memory_limit"):
        tf.kernel(total, memory_limit=0)


@pytest.mark.parametrize(
    ("argnums", "error", "said"),
    [
        (1.0, TypeError, "an int or a sequence of them, not 1.0"),
        (None, TypeError, "not None"),
        ("a", TypeError, "not 'a'"),
        ((0, 1.0), TypeError, r"not \(0, 1.0\)"),
        ((), ValueError, "is empty"),
        ((0, -2), ValueError, "argument 0 twice"),
        ((0, 2), ValueError, "has 2, but there are 2 arguments"),
    ],
    ids=repr,
)
def test_argnums_that_make_no_sense(argnums, error, said):
    product = lambda x, y: x * y  # noqa: E731
    for derivative in (tf.grad, tf.value_and_grad, tf.jacobian):
        with pytest.raises(error, match=said):
            derivative(product, argnums)(2.0, 3.0)
    if argnums is not None:
        with pytest.raises(error, match=said):
            tf.kernel(product).adjoint(2.0, 3.0, argnums=argnums)


@pytest.mark.parametrize("argnums", [1, -1, np.int64(1), True, np.array([1]), range(1, 2)])
def test_argnums_of_any_ints(argnums):
    found = tf.grad(lambda x, y: x * y, argnums)(2.0, 3.0)
    assert found == (2.0 if np.ndim(argnums) == 0 else (2.0,))


@tf.kernel
def turns(x, n):
    return returns(x, n - 1)


@tf.kernel
def returns(x, n):
    if n <= 0:
        return x
    return turns(x, n - 1) * 2.0


def test_recursion_that_numba_cannot_tell():
    """Gradients compile, because they infer result types from all functions."""
    with pytest.raises(KernelError, match=r"whose result Numba.*call that one before"):
        turns(3.0, 5)
    assert plain(turns.python_function, [3.0, 5], [0]) == (12.0, [4.0])


def falls(x, n):
    if n == 3:
        raise ValueError("three")
    return x * falls(x, n - 1) if n > 0 else x


def test_errors_in_calls_within_calls():
    kernel = tf.kernel(falls)
    assert tf.grad(kernel)(2.0, 2) == 12.0
    for called in (kernel, tf.grad(kernel)):
        with pytest.raises(ValueError, match=r"^three$") as caught:
            called(2.0, 8)
        assert caught.traceback[-1].lineno == falls.__code__.co_firstlineno + 1
    with pytest.raises(RecursionError, match="maximum depth of calls"):
        tf.grad(function_of("def f(x, n):\n    return f(x, n - 1) if n else x\n"))(1.0, 10**5)
    limited = tf.kernel(falls, memory_limit=15)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="stack is full, with 15 bytes"):
        tf.grad(limited)(2.0, 2)


@pytest.mark.parametrize(
    ("second", "kind", "told", "line"),
    [
        (5.0, Mine, ("too large", 4.0), 5),
        (-1.0, None, (), 0),
        (0.5, None, (), 0),
    ],
)
def test_exceptions_of_the_users(second, kind, told, line):
    check_raised(grows, [np.array([1.0, second])], kind, told, line)


def check_raised(function, arguments, kind, told, line):
    """A gradient raises the same exception as the function: class, arguments and line."""
    kernel = tf.kernel(function)
    for called in (kernel, tf.grad(kernel), tf.value_and_grad(function)):
        if kind is None:
            called(*arguments)
            continue
        with pytest.raises(kind) as caught:
            called(*arguments)
        assert type(caught.value) is kind
        assert caught.value.args == told
        last = caught.traceback[-1]
        code = getattr(function, "__code__", None)
        assert (str(last.path), last.lineno) == (code.co_filename, code.co_firstlineno - 1 + line)


@tf.kernel
def telling(x, n):
    for i in range(len(x)):
        x[i] *= 2.0
        if x[i] > 3.0:
            raise ValueError("too much", n, i)  # a text takes Numba seconds
    return x[0]


def test_exceptions_that_are_told_what_is_computed():
    x = np.array([1.0, 2.0])
    for called in (telling, tf.grad(telling), tf.jacobian(telling)):
        with pytest.raises(ValueError) as caught:
            called(x.copy(), 7)
        assert caught.value.args == ("too much", 7, 1)
    with tf.GradientTape() as tape:
        y = tf.constant(x)
        tape.watch(y)
        with pytest.raises(ValueError, match="too much"):
            telling(y, 7)
    assert tf.grad(telling)(x[:1], 7) == 2.0

    @tf.grad
    def unknown(x):
        if x > 3.0:
            raise ValueError(open("what Numba does not know"))
        return x

    with pytest.raises(KernelError, match="where it raises ValueError"):
        unknown(5.0)


def test_assertions_and_exceptions_of_helpers():
    check_raised(grows, [np.array([-1.0])], AssertionError, (("not positive", 3),), 1)
    kernel = tf.kernel(lambda x: root(x))
    for argument, kind, told, line in ((-3.0, ValueError, (), 2), (-1.0, IndexError, ("of v",), 4)):
        with pytest.raises(kind) as caught:
            tf.grad(kernel)(argument)
        assert caught.value.args == told
        assert caught.traceback[-1].lineno == root.__code__.co_firstlineno - 1 + line
        assert caught.traceback[-1].name == "root"
    assert tf.grad(kernel)(4.0) == 0.25
