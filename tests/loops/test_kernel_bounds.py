"""Indices out of bounds in derivatives of native loops: an IndexError exactly when Python has one.

Random kernels of nested loops, conditions and indices run as Python, where NumPy checks all
indices, and as generated sweeps, which must report the same errors.
"""

import random
import subprocess
import sys

import numpy as np
import pytest
from checks import SEED
from kernel_checks import function_of
from processes import environment

import numtape as tf
from numtape.core.loops.emit.text import INDEX, LINES
from numtape.core.loops.program import program
from numtape.core.loops.runtime.plain import run

pytestmark = pytest.mark.numtape_only("native loops")
KINDS = [("float64", 1), ("float64", 1), ("float64", 2), ("int64", 1), ("int64", -1), ("int64", -1)]


class Writer:
    """Writes one random kernel ``f(x, y, a, k, n, m)``."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["def f(x, y, a, k, n, m):", "    s = 0.0", "    c = 0"]
        self.count = 0

    def bound(self, names):
        pick = self.random.choice
        end = pick(["len(x)", "len(y)", "n", "m", "a.shape[0]", "a.shape[1]", *names])
        return end + pick(["", "", "", " - 1", " + 1", " - 2", " // 2"])

    def index(self, names):
        pick = self.random.choice
        name = pick([*names, *names, "n", "m", "0", "len(x)", "c"])
        return pick(
            [
                name,
                name,
                f"{name} - 1",
                f"{name} + 1",
                f"-{name}",
                f"-{name} - 1",
                f"2 * {name}",
                f"{name} // 2",
                f"len(x) - {name}",
                f"len(x) - 1 - {name}",
                f"{name} % 3",
                f"min({name}, len(x) - 1)",
                f"max({name}, 0)",
                f"k[{name}]",
                f"{name} - {pick(names)}",
            ]
        )

    def element(self, names):
        array = self.random.choice(["x", "x", "y", "a"])
        if array == "a":
            return f"a[{self.index(names)}, {self.index(names)}]"
        return f"{array}[{self.index(names)}]"

    def block(self, depth, names):
        indent, pick = "    " * (depth + 1), self.random.choice
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.35 and depth < 3:
                self.count += 1
                name = f"i{self.count}"
                low = pick(["", "", "", "1, ", "n, ", "-1, "])
                step = pick(["", "", "", ", 2", ", -1"]) if low else ""
                self.lines.append(f"{indent}for {name} in range({low}{self.bound(names)}{step}):")
                self.block(depth + 1, [*names, name])
            elif kind < 0.45 and depth < 2:
                self.lines.append(f"{indent}c = {pick(['0', '1'])}")
                self.lines.append(f"{indent}while c < {self.bound(names)}:")
                self.lines.append(f"{indent}    s += {self.element([*names, 'c'])}")
                self.lines.append(f"{indent}    c += {pick(['1', '2'])}")
            elif kind < 0.6 and depth < 4:
                test = pick(["<", "<=", ">", ">=", "==", "!="])
                self.lines.append(f"{indent}if {self.index(names)} {test} {self.bound(names)}:")
                self.block(depth + 1, names)
            elif kind < 0.7:
                part = pick(["1:", ":-1", "::2", ":n", "::-1", "n:m"])
                self.lines.append(f"{indent}s += x[{part}][{self.index(names)}]")
            else:
                self.lines.append(f"{indent}s += {self.element(names)} * {self.element(names)}")

    def text(self):
        names = ["n"]
        self.block(0, names)
        return "\n".join([*self.lines, "    return s", ""])


def arguments(seed):
    draws = np.random.default_rng(seed)
    size, other = draws.integers(0, 6, 2)
    a = draws.standard_normal(draws.integers(1, 5, 2))
    x, y = draws.standard_normal(size), draws.standard_normal(other)
    return [x, y, a, draws.integers(-2, 4, 6), int(draws.integers(0, 6)), int(draws.integers(0, 4))]


def check(seed):
    """Compare one program with Python; returns whether an index was out of bounds."""
    text = Writer(seed).text()
    function = function_of(text)
    sweeps = program(function, KINDS, [0, 1, 2], boundscheck=True)
    errors = 0
    for k in range(4):
        given = arguments(4 * seed + k)
        try:
            expected = function(*given)
        except IndexError:
            expected = None
        status, value, _ = run(sweeps, given)
        if expected is None:
            errors += 1
            assert status & ((1 << LINES) - 1) == INDEX, (seed, k, text)
        else:
            assert status == 0, (seed, k, status >> LINES, text)
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), (seed, k, text)
    return errors


@pytest.mark.parametrize("first", range(0, 4000, 500))
def test_random_indices(first, request):
    seeds = range(first, first + (500 if request.config.getoption("--slow") else 40))
    errors = sum(check(10_000 * SEED + seed) for seed in seeds)
    assert 0 < errors < 4 * len(seeds)  # programs of both kinds occur


def checks_in(function, kinds, wanted):
    """The index checks in a function's forward sweep: in loops, and before them."""
    source = program(function, kinds, wanted, boundscheck=True).source
    inline, before = [], []
    for line in map(str.strip, source.partition("_reverse")[0].splitlines()):
        status = line.rpartition(" return ")[2]
        if status.isdecimal() and int(status) & ((1 << LINES) - 1) == INDEX:
            (before if line.startswith("if N") else inline).append(line)
    return inline, before


PROVED = """
def f(x, y, n):
    s = 0.0
    for i in range(1, len(x) - 1):
        s += x[i - 1] * x[i] + x[i + 1]
    for i in range(len(x)):
        for j in range(i):
            s += x[i] * x[j] * x[i - j]
    for i in range(len(x) - 1, -1, -1):
        s += x[i]
    z = np.zeros(n)
    for i in range(n):
        z[i] = s
    k = 0
    while k < len(y):
        s += y[k] * z[k % 1]
        k += 1
    for i in range(0, len(y) // 2):
        s += y[i]
    return s
"""
HOISTED = """
def f(x, y, n):
    s = 0.0
    for i in range(n):
        s += x[2 * i + 1] * y[len(y) - 1 - i]
    return s
"""


def test_proved_checks_are_left_out():
    kinds = [("float64", 1), ("float64", 1), ("int64", -1)]
    function = function_of(PROVED, np=np)
    inline, before = checks_in(function, kinds, [0, 1])
    assert before == []
    assert len(inline) == 1 and "z_n0" in inline[0]  # n may be 0


def test_checks_are_made_before_a_loop():
    inline, before = checks_in(function_of(HOISTED), [("float64", 1)] * 2 + [("int64", -1)], [0, 1])
    assert inline == [] and len(before) == 2


KERNEL = """
import numpy as np
import numtape as tf

@tf.kernel
def past(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i + 1]
    return s

def outcome(call):
    try:
        return type(call()).__name__
    except IndexError as error:
        assert "index is out of bounds" in str(error), error
        return "IndexError"

x = np.zeros(5)
print(outcome(lambda: tf.grad(past)(x)), outcome(lambda: past(x)))
v = tf.Variable(x)
def taped():
    with tf.GradientTape() as tape:
        y = past(v)
    return tape.gradient(y, v)
print(outcome(taped), outcome(lambda: tf.jacobian(past)(x)))
"""


@pytest.mark.parametrize("checked", [None, pytest.param("1", marks=pytest.mark.slow)])
def test_errors_of_a_compiled_kernel(tmp_path, checked):
    (tmp_path / "program.py").write_text(KERNEL)
    child = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        env=environment(NUMBA_BOUNDSCHECK=checked),
        check=True,
    )
    plain = "IndexError" if checked else "float"
    assert child.stdout.split() == ["IndexError", plain, "IndexError", "IndexError"], child.stderr


@pytest.mark.parametrize(("boundscheck", "checks"), [(None, 2), (True, 2), (False, 0)])
def test_the_check_can_be_left_out(boundscheck, checks):
    kernel = tf.kernel(function_of(HOISTED), boundscheck=boundscheck)
    source = kernel.adjoint(np.ones(3), np.ones(3), 1).source
    assert sum(line.strip().startswith("if N") for line in source.splitlines()) == checks
