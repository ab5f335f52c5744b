"""Compiled kernels: values, gradients, options, the cache, threads."""

import gc
import inspect
import math
import multiprocessing
import pickle
import sys
import threading

import kernel_cases
import numpy as np
import pytest
from kernel_cases import CASES, FUNCTIONS, again, minors
from kernel_checks import close, differences, fresh, function_of, plain
from processes import run as run_process

import numtape as tf
from numtape.core.loops.runtime import stack

pytestmark = [
    pytest.mark.numtape_only("native loops"),
    pytest.mark.cpu_only("kernels run on the host"),
]
QUICK = {"places", "returning", "helpers", "bits", "numbers_as_conditions"}


@tf.kernel
def smooth(x, p=0.5):
    """Writes to x and returns its sum."""
    s = 0.0
    for i in range(1, len(x)):
        x[i] += p * math.tanh(x[i - 1])
        s += x[i] * x[i]
    return s


@tf.kernel(memory_limit=4096)
def limited(x, n):
    for _ in range(n):
        x = math.sin(x) * 1.1
    return x


@tf.kernel(boundscheck=True, error_model="python")
def checked(x, i, p):
    return x[i] * x[0] / p


@tf.kernel
def twice(x):
    return 2.0 * x


def half(x):
    return 0.5 * twice(x)


@tf.kernel
def calling(x):
    return half(x) + twice(x)


def test_a_call_is_numbas():
    x = np.linspace(0.1, 0.9, 5)
    y = x.copy()
    value = smooth(x)
    assert value == smooth.python_function(y)
    np.testing.assert_array_equal(x, y)
    assert smooth.njit.signatures
    assert smooth.njit is smooth.njit
    assert smooth(np.ones(3), p=0.0) == 2.0
    assert calling(3.0) == 9.0


@pytest.mark.parametrize(
    ("function", "arguments", "wanted"),
    [
        pytest.param(*case, marks=[] if case[0].__name__ in QUICK else [pytest.mark.slow])
        for case in CASES
    ],
)
def test_compiled_sweeps_are_what_the_text_means(function, arguments, wanted):
    before = fresh(arguments)
    value, found = tf.value_and_grad(function, wanted)(*arguments)
    expected, slopes = plain(function, arguments, wanted)
    assert value == pytest.approx(expected, rel=1e-13)
    close(found, slopes, 1e-12)
    for one, other in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_compiled_functions():
    """All functions in one kernel, each on its own elements."""
    lines = [f"    x, y = a[{k}], b[{k}]\n    s += {row[0]}" for k, row in enumerate(FUNCTIONS)]
    text = "def f(a, b):\n    s = 0.0\n" + "\n".join(lines) + "\n    return s\n"
    function, rows = function_of(text), np.array([row[1:] for row in FUNCTIONS], float)
    arguments = [rows[:, 0].copy(), rows[:, 1].copy()]
    value, found = tf.value_and_grad(function, (0, 1))(*arguments)
    expected, slopes = plain(function, arguments, [0, 1])
    assert value == pytest.approx(expected, rel=1e-14)
    close(found, slopes, 1e-13)


def test_gradients_of_a_kernel():
    x = np.linspace(0.1, 0.9, 5)
    before = x.copy()
    value, (gx, gp) = tf.value_and_grad(smooth, argnums=(0, -1))(x, 0.3)
    np.testing.assert_array_equal(x, before)  # it wrote to a copy
    assert (type(value), type(gx), type(gp)) == (float, np.ndarray, float)
    assert value == smooth.python_function(x.copy(), 0.3)
    close([gx, gp], differences(smooth.python_function, [x, 0.3], [0, 1]))
    np.testing.assert_array_equal(tf.grad(smooth)(x, p=0.3), gx)
    np.testing.assert_array_equal(tf.grad(smooth.njit)(x, 0.3), gx)
    np.testing.assert_array_equal(tf.grad(smooth.python_function)(x, 0.3), gx)
    assert tf.grad(smooth, [1])(x)[0] == tf.grad(smooth, 1)(x, 0.5)
    assert tf.grad(calling)(1.0) == 3.0


def test_memory_of_any_kind():
    x = np.linspace(0.1, 0.9, 5)
    expected = tf.grad(smooth)(x)
    strided = np.zeros((5, 2))
    strided[:, 1] = x
    np.testing.assert_array_equal(tf.grad(smooth)(strided[:, 1]), expected)
    assert tf.value_and_grad(smooth)(np.zeros(0))[1].shape == (0,)

    def dot(x, y):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * y[i]
        return s

    x.flags.writeable = False
    gx, gy = tf.grad(dot, (0, 1))(x, x)  # the same array twice, which the kernel only reads
    np.testing.assert_array_equal([gx, gy], [x, x])


def test_overlapping_arguments_are_refused():
    def shift(x, y):
        for i in range(len(y)):
            x[i] += y[i]
        return x[0]

    x = np.ones(6)
    assert tf.grad(shift)(x[:3], x[3:])[0] == 1.0
    with pytest.raises(tf.errors.KernelError, match="overlap in memory"):
        tf.grad(shift)(x[:3], x[2:5])
    with pytest.raises(tf.errors.KernelError, match="overlap in memory"):
        tf.grad(shift)(np.lib.stride_tricks.as_strided(x, (3,), (0,)), x[:3])


def test_read_only_arguments_are_not_written_to():
    x = np.ones(3)
    x.flags.writeable = False
    for function in (tf.grad(smooth), tf.jacobian(smooth)):
        with pytest.raises(tf.errors.KernelError, match="read-only array as argument 0"):
            function(x)
    assert smooth(tf.constant(x)).numpy() == smooth(np.ones(3))


def powers_of_ints(x, n, m):
    return (
        x * 2**-1
        + x * BASE**-1
        + x * pow(2, -1)
        + x * n**-1
        + x * n**m
        + x * m**n
        + 10 * x * math.pow(2, -1)
        + 10 * x * math.pow(n, m)
        + x * (-3) ** -1
    )


BASE = 2


def test_powers_of_ints_are_numbas():
    kernel = tf.kernel(powers_of_ints)
    for n, m in ((2, -1), (-1, -3), (3, 2), (0, 1)):
        value, slope = tf.value_and_grad(kernel)(1.0, n, m)
        assert value == slope == kernel(1.0, n, m)


def test_the_right_one_of_lambdas_in_a_line():
    first, second = lambda x: x * x, lambda x: x * x * x
    assert (tf.grad(first)(2.0), tf.grad(second)(2.0)) == (4.0, 12.0)
    outer = lambda k: lambda x: k * x  # noqa: E731
    assert tf.grad(outer(3.0))(2.0) == 3.0
    constant, negative = lambda x: 5.0, lambda x: -x
    assert tf.grad(negative)(2.0) == -1.0
    if sys.version_info[:2] == (3, 12):  # which has no columns for returned constants
        with pytest.raises(tf.errors.KernelError, match="as code has no columns here"):
            tf.grad(constant)(2.0)
    else:
        assert tf.grad(constant)(2.0) == 0.0


def test_float32():
    def norm(x, p):
        s = np.float32(0.0)
        for i in range(len(x)):
            s += x[i] * x[i] * p
        return s

    x = np.array([0.5, 1.5], np.float32)
    value, (gx, gp) = tf.value_and_grad(norm, (0, 1))(x, np.float32(2.0))
    assert (type(value), gx.dtype, type(gp)) == (np.float32, np.float32, np.float32)
    assert value == 5.0
    np.testing.assert_array_equal(gx, [2.0, 6.0])
    assert gp == 2.5


def test_a_full_stack():
    value, slope = tf.value_and_grad(limited)(0.3, 10)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="full, with 4096 bytes") as caught:
        tf.grad(limited)(0.3, 10_000)
    line = inspect.getsourcelines(limited.python_function)[1] + 2
    assert f"line {line})" in str(caught.value)
    assert tf.value_and_grad(limited)(0.3, 10) == (value, slope)


def test_room_that_no_machine_has():
    """Sizes beyond 64 bits raise a MemoryError, and nothing is written."""

    def long(x, n):
        for _ in range(n):
            x = math.sin(x)
        return x

    def large(x, n):
        y = np.zeros((n, n, n))
        return x * len(y)

    for function in (long, large):
        for n in (2**45, 2**60, 2**62):
            with pytest.raises(tf.errors.ResourceExhaustedError, match="stack is full"):
                tf.grad(function)(0.5, n)


def test_errors_of_a_call():
    x = np.array([3.0, 4.0])
    assert checked(x, 1, 2.0) == 6.0
    assert tf.grad(checked)(x, -1, 2.0).tolist() == [2.0, 1.5]
    for error, arguments in (
        (IndexError, (x, 2, 2.0)),
        (IndexError, (x, -3, 2.0)),
        (ZeroDivisionError, (x, 1, 0.0)),
    ):
        with pytest.raises(error):
            tf.grad(checked)(*arguments)
    for error, arguments in ((IndexError, (x, 2, 2.0)), (ZeroDivisionError, (x, 1, 0.0))):
        with pytest.raises(error):
            checked(*arguments)

    def negative(x, n):
        y = np.zeros(n)
        return x * len(y)

    with pytest.raises(ValueError, match="negative dimensions"):
        tf.grad(negative)(1.0, -1)


def test_dtypes_that_numba_sees_otherwise_are_refused():
    """A value goes onto the stack in its own dtype, or is refused."""
    from numtape.core.loops.ir import Lines
    from numtape.core.loops.program import LoopProgram
    from numtape.core.loops.runtime.compiled_sweeps import compile_sweeps

    text = """
def f_forward(x_at, d_x_at, SP, END, OUT, MARK):
    # line 3
    int64_at(SP)[0] = int64_of(x_at[0])
    return 0


def f_reverse(x_at, d_x_at, SP, SEED):
    return 0


def f_gradient(x_at, d_x_at, SP, END, OUT, MARK, SEED):
    return f_forward(x_at, d_x_at, SP, END, OUT, MARK)
"""
    parameters = [("number", 0, "float64", 0), ("adjoint", 0, "float64", 0)]
    with pytest.raises(tf.errors.KernelError, match="float64 where int64") as caught:
        compile_sweeps(
            LoopProgram(text, "f", parameters, [], "float64", "here.py", 10, Lines("here.py", 10)),
            False,
        )
    assert (caught.value.file, caught.value.line) == ("here.py", 13)


def test_a_kernel_stands_for_its_function():
    assert smooth.__name__ == "smooth"
    assert inspect.signature(smooth) == inspect.signature(smooth.python_function)
    assert smooth.__doc__ == "Writes to x and returns its sum."
    assert pickle.loads(pickle.dumps(smooth)) is smooth
    assert repr(smooth) == "<Kernel smooth>"
    assert tf.grad(smooth).__name__ == "smooth"
    with pytest.raises(tf.errors.KernelError, match="Tensor as an argument"):
        tf.grad(smooth)(tf.constant([1.0]), 0.5)


def cubed(x):
    return x * x * x


def test_derivatives_are_pickled_by_name():
    for f in (twice, cubed, twice.njit):
        for derivative in (tf.grad, tf.value_and_grad, tf.jacobian):
            again = pickle.loads(pickle.dumps(derivative(f, (0,))))
            assert again(3.0) == derivative(f, (0,))(3.0)
            assert repr(again) == repr(derivative(f))
    with pytest.raises((pickle.PicklingError, AttributeError), match=r"[Cc]an't (pickle|get)"):
        pickle.dumps(tf.grad(lambda x: x))


def test_derivatives_in_other_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(tf.grad(twice), [1.0]) == [2.0]


def test_adjoints_can_be_read():
    x = np.ones(3)
    found = smooth.adjoint(x, 0.5)
    assert "d_x[" in found.source and "d_p_at[0] = d_p" in found.source
    assert "d_p_at[0]" not in smooth.adjoint(x, 0.5, argnums=0).source
    first = inspect.getsourcelines(smooth.python_function)[1]
    # Vectors of the arguments and the results of tanh, and two of the squared elements.
    assert found.stored == {first + 5: 32, first + 6: 32}
    assert smooth.adjoint(np.ones(101), 0.5).stored == {first + 5: 1600, first + 6: 1600}
    assert found.stored == smooth.adjoint(x, 0.5).stored
    np.testing.assert_array_equal(x, 1.0)
    rows = repr(found).splitlines()
    assert rows[0].split() == ["line", "bytes", "stored", "computed", "again"]
    assert rows[6].split()[:2] == [str(first + 5), "32"]
    assert rows[6].endswith("x[i] += p * math.tanh(x[i - 1])")

    assert found.recomputed == {first + 5: ["_1__1 = i - 1"]}


def test_what_adjoints_store_is_what_calls_take():
    """The bytes in the table are those that the stack of a call uses."""
    x = np.linspace(0.1, 0.9, 30)
    for kernel, arguments in ((smooth, (x, 0.5)), (limited, (0.3, 20))):
        stack._waiting.clear()
        tf.grad(kernel)(*arguments)
        assert sum(kernel.adjoint(*arguments).stored.values()) == stack._waiting[-1].recent


def test_recompute_stores_arguments_only():
    a, n = np.random.default_rng(3).random((6, 6)), 6
    columns = np.append(np.arange(1, 7), 0)
    value, slopes = tf.value_and_grad(minors)(a, columns, n)
    assert value == pytest.approx(np.linalg.det(a))
    np.testing.assert_allclose(slopes, value * np.linalg.inv(a).T, rtol=1e-9)
    found = tf.value_and_grad(again)(a, columns, n)
    assert found[0] == value
    np.testing.assert_allclose(found[1], slopes, rtol=1e-12)
    taken = []
    for kernel in (tf.kernel(minors), again):
        stack._waiting.clear()
        tf.grad(kernel)(a, columns, n)
        taken.append(stack._waiting[-1].recent)
    assert taken[0] > 10 * taken[1]
    assert again(a, columns, n) == value


@tf.kernel
def growing(x, n):
    return x * shrinking(x, n - 1) if n else x


@tf.kernel
def shrinking(x, n):
    return growing(x, n - 1) - x if n else 2.0 * x


def test_kernels_that_call_each_other():
    for n in range(5):
        value, slope = tf.value_and_grad(growing)(0.7, n)
        assert value == growing(0.7, n) == growing.python_function(0.7, n)
        assert slope == pytest.approx((growing(0.7 + 1e-6, n) - growing(0.7 - 1e-6, n)) / 2e-6)


def test_constants_are_read_when_arguments_of_new_dtypes_come():
    text = "def f(x):\n    return K * x\n"
    assert tf.grad(function_of(text, K=3.0))(1.0) == 3.0
    assert tf.grad(function_of(text, K=4.0))(1.0) == 4.0


def test_threads():
    x, found = np.linspace(0.1, 0.9, 200), []
    expected = tf.grad(smooth)(x)

    def work():
        for _ in range(50):
            found.append(np.array_equal(tf.grad(smooth)(x), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200 and all(found)


def test_stacks_are_used_again():
    x = np.linspace(0.1, 0.9, 50)
    tf.grad(smooth)(x)
    before = list(stack._waiting)
    for _ in range(3 * stack.CALLS_BEFORE_TRIM):
        tf.grad(smooth)(x)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        tf.grad(limited)(0.3, 10_000)
    assert list(stack._waiting) == before


def test_pages_that_are_not_needed_go():
    arena = stack.Arena(1 << 24)
    memory = np.frombuffer(arena._memory, np.uint8)
    memory[:] = 1
    stack.give_back(arena, 1 << 24)
    for _ in range(3 * stack.CALLS_BEFORE_TRIM):
        stack.give_back(stack.take(), 4096)
    assert memory[0] == 1
    assert not memory[1 << 20 :].any()  # zeros again: these pages were released


def test_minimize():
    from scipy.optimize import minimize

    def rosenbrock(x):
        s = 0.0
        for i in range(len(x) - 1):
            s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return s

    found = minimize(tf.value_and_grad(rosenbrock), np.zeros(4), jac=True, method="BFGS")
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import numtape as tf
import child_kernel
k = tf.kernel(child_kernel.f)
assert "numba" not in sys.modules
print(tf.grad(k)(3.0, 2), "numba" in sys.modules)
"""


def test_another_process_needs_no_numba(tmp_path):
    module = tmp_path / "child_kernel.py"
    module.write_text("def f(x, n):\n    for i in range(n):\n        x = x * x\n    return x\n")
    cache = tmp_path / "cache"
    runs = [
        run_process(CHILD, tmp_path, NUMTAPE_CACHE_DIR=cache, NUMTAPE_QUIET=1) for _ in range(2)
    ]
    assert runs == ["108.0 True", "108.0 False"]


@pytest.mark.slow
def test_an_edit_is_seen(tmp_path):
    module, found = tmp_path / "child_kernel.py", []
    for body in ("x * x", "x * 2.0"):
        lines = "def f(x, n):", "    for _ in range(n):", f"        x = {body}", "    return x"
        module.write_text("\n".join(lines))
        found.append(run_process(CHILD, tmp_path, NUMTAPE_CACHE_DIR=tmp_path / "cache"))
    assert found == ["108.0 True", "4.0 True"]


def test_cases_are_all_there():
    assert {name for name in QUICK if hasattr(kernel_cases, name)} == QUICK


def test_arguments_of_other_kinds_in_turn():
    """A call reuses the prepared stub of the previous arguments if it fits."""

    def scaled(x, p):
        return x[0] * p

    def of_number(x, p):
        return x * x * p

    both = tf.value_and_grad(scaled, (0, 1))
    x, narrow = np.array([3.0, 4.0]), np.array([3.0, 4.0], np.float32)
    for _ in range(2):
        value, (gx, gp) = both(x, 2.0)
        assert (value, gx.tolist(), gp) == (6.0, [2.0, 0.0], 3.0)
        value, (gx, gp) = both(narrow, np.float32(2.0))
        assert (type(value), gx.dtype, type(gp)) == (np.float32, np.float32, np.float32)
        value, (gx, gp) = both(narrow, np.float64(2.0))
        assert (type(value), gx.dtype, type(gp)) == (float, np.float32, np.float64)
        assert both(x[::-1], p=2.0)[0] == 8.0
    both = tf.value_and_grad(of_number)
    for p in (2, 2.0, np.int32(2), True, np.float32(2.0), np.bool_(True)):
        for x in (3.0, np.float64(3.0), np.float32(3.0)):
            value, slope = both(x, p)
            assert (value, slope, type(slope)) == (9.0 * p, 6.0 * p, type(x))


def test_calls_leave_nothing():
    """Blocks and stacks are reused, also after calls that raise."""
    import tracemalloc

    both, x = tf.value_and_grad(checked, (0, 2)), np.ones(3)

    def some():
        for _ in range(200):
            both(x, 1, 2.0)
            with pytest.raises(IndexError):
                both(x, 7, 2.0)
        gc.collect()

    some()
    tracemalloc.start()
    some()
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(5):
        some()
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    assert grown < 20_000
