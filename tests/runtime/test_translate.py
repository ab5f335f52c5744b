"""Passes compiled without Numba, compared with the same functions in Python."""

import ast
import ctypes
import gc
import itertools
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from parallel_threads import run_in_threads

from numtape.core.compile import cache, kernel_sources, llvm, passes, translate
from numtape.core.compile.expressions import INT, Fields, Unknown
from numtape.core.compile.translate import EntryPoint

pytestmark = [pytest.mark.numtape_only("compiles functions"), pytest.mark.cpu_only("of the CPU")]

HEAD = """
from __future__ import annotations
import numpy as np
from ..jit import POINTERS, exchange, fetch_add, inline, jit, load_now, loop, pause
from ..jit import copy16, copy32, copy64, fill16, fill32, fill64
numbers, bits = (POINTERS[name] for name in ("int64", "uint64"))
FIRST, SECOND, THIRD = range(3)
EIGHT = 1 << THIRD + SECOND
"""
NUMBERS = (-(1 << 63), -65, -7, -1, 0, 1, 2, 5, 64, 1000, (1 << 62) + 3)
unit = itertools.count()


def word(x):
    """An int of 64 bits."""
    return (int(x) + (1 << 63)) % (1 << 64) - (1 << 63)


def built(monkeypatch, text, kinds, name="f", quick=True):
    """A function of a kernel module with this source, called with arguments as words."""
    own = f"own{next(unit)}"
    monkeypatch.setattr(kernel_sources, "kernel_source", lambda *modules: HEAD + text)
    written, loops = translate.translate([EntryPoint(own, own, name, kinds)])
    build = partial(llvm.compile_text, written, [own], loops, quick)
    address = cache.load(own, written, build)[own]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)

    def call(*words):
        block = np.array(words, np.int64)
        return function(block.ctypes.data)

    return call


def plain(text, name="f"):
    """The same function in Python."""
    scope = {"np": np, "jit": lambda f: f, "inline": lambda f: f, "loop": lambda f: f}
    own = HEAD.replace("from ..jit", "#").replace("numbers, bits", "#")
    exec(own + text, scope)
    return scope[name]


@pytest.mark.parametrize(
    "body",
    [
        "return x + y * EIGHT - (x & 7) | SECOND ^ y",
        "return x << 3 >> 1 if x > y else ~x",
        "return -x if not y else x",
        "return (x // 64) + (x % 64) + (y // 1) + y % 1",
        "return x // y if y != 0 and not (x < -100 and y == -1) else 0",
        "return x % y if y != 0 and not (x < -100 and y == -1) else 0",
        "return x % -7 + x // -7 if x > -100 else 0",
        "return min(x, y, 3) - max(-1, y)",
        "return -1 <= x < y",
        "return (x > y) + (x == y) - (0 if x else y > 1)",
        "return x > y if y else x",
        "good = x > 0 and (y > 0 or x == 5)\n    return 1 if good else 2",
        "good = x > 0\n    good |= y > 0\n    good = good & (x != y)\n    return good",
        "x, y = y, x\n    a = b = x\n    a += 1\n    b -= y\n    return a * 3 + b",
        "x += x > y\n    x ^= y\n    return x",
        "if x > 5:\n        return 1\n    elif y > 5 or not x:\n        return 2\n"
        "    else:\n        x = 7\n    return x",
        "total = 0\n    for k in range(x & 15):\n        k += k == 3\n        if k == 2:\n"
        "            continue\n        if k == y:\n            break\n        total += k\n"
        "    return total * 100 + x",
        "total = 0\n    for k in range(y & 3, x & 7):\n        for j in range(k):\n"
        "            if j > y:\n                break\n            total = 3 * total + j\n"
        "    return total",
        "count = 0\n    x &= 1023\n    while x > 0 and count < 20:\n        x //= 2\n"
        "        count += 1\n        if x == y:\n            break\n    return count",
        "a, b = pair(x & 255, y & 255)\n    return a * b + both(x > y, x) + nothing(x)",
        "h = np.uint64(x) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(y)\n"
        "    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)\n"
        "    return np.int64(h >> np.uint64(1)) if h > np.uint64(5) else 0",
    ],
)
def test_ints_are_pythons(monkeypatch, body):
    text = f"""
@jit
def f(x: int, y: int) -> int:
    {body}

@inline
def pair(x, y) -> tuple[int, int]:
    "Two numbers."
    if x > y:
        return x - y, 1
    return np.int64(0), x

@inline
def both(good: bool, x: int) -> bool:
    if good:
        return x > 3
    return x < -3

@jit
def nothing(x) -> int:
    unused(x)
    return 0

@inline
def unused(x: int) -> None:
    if x > 3:
        return
    x = 3
"""
    call, function = built(monkeypatch, text, (INT, INT)), plain(text)
    with np.errstate(over="ignore"):
        for x, y in itertools.product(NUMBERS, NUMBERS):
            if "uint64" in body:
                expected = function(*np.array([x, y]).tolist()) if min(x, y) >= 0 else call(x, y)
            else:
                expected = function(x, y)
            assert call(x, y) == word(expected), (x, y)


def test_division_by_0_gives_0(monkeypatch):
    call = built(monkeypatch, "@jit\ndef f(x, y):\n    return x // y + x % y\n", (INT, INT))
    assert call(5, 0) == 0


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_memory_and_records(monkeypatch, dtype):
    text = """
@jit
def f(log, n: int, out) -> int:
    column, total = log.column, 0
    for k in range(n):
        total += column[k] + log.less
        column[k] += 1
        column[k] = column[k] * 3 - (k > 1)
        at(out)[k] = column[k]
        bits(out)[n] = bits(out)[0]
    return total + fetch_add(out, 5)

@inline
def at(address):
    return numbers(address)
"""
    kinds = (Fields(("less", "column"), (INT, kernel_sources.Pointer(dtype))), INT, INT)
    call = built(monkeypatch, text, kinds)
    column, out = np.array([-3, 100, 1000, 70000, 1 << 31]).astype(dtype), np.zeros(6, np.int64)
    expected = column.astype(np.int64)
    after = ((expected + 1).astype(dtype).astype(np.int64) * 3 - (np.arange(5) > 1)).astype(dtype)
    found = call(-7, column.ctypes.data, 5, out.ctypes.data)
    assert found == expected.sum() - 35 + int(after[0])
    np.testing.assert_array_equal(column, after)
    np.testing.assert_array_equal(out, [int(after[0]) + 5, *after[1:].tolist(), int(after[0])])


def test_words_that_threads_share(monkeypatch):
    text = """
@jit
def f(word) -> int:
    pause()
    before = exchange(word, load_now(word) + 1)
    return 10 * before + load_now(word)
"""
    word = np.array([4])
    assert built(monkeypatch, text, (INT,))(word.ctypes.data) == 45


def _built_by_numba(text):
    """A function ``f`` of two words with this source."""
    from numtape.core.compile.numba_compiler import CompiledFunction, compile_unit

    scope = {"__name__": "numtape.kernels.cpu.sweep"}
    exec(HEAD.replace("from ..jit", "from numtape.kernels.jit") + text, scope)
    own = f"own{next(unit)}"
    function = CompiledFunction(own, scope["f"], ["", ""])
    address = cache.load(own, text, lambda: compile_unit(own, [function]))[own]
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)


@pytest.mark.parametrize("compiler", ["numba", "llvmlite"])
@pytest.mark.parametrize("size", [16, 32, 64])
def test_vectors(monkeypatch, compiler, size):
    """Copies and fills at addresses that are not aligned."""
    text = f"""
@jit
def f(x, out) -> int:
    copy{size}(out, x)
    fill{size}(out + 70, numbers(x)[0])
    return 0
"""
    if compiler == "llvmlite":
        call = built(monkeypatch, text, (INT, INT))
    else:
        call = _built_by_numba(text)
    x = np.arange(100, dtype=np.uint8)
    out = np.full(160, 200, np.uint8)
    expected = out.copy()
    expected[3 : 3 + size] = x[5 : 5 + size]
    expected[73 : 73 + size] = np.tile(x[5:13], size // 8)
    call(x.ctypes.data + 5, out.ctypes.data + 3)
    np.testing.assert_array_equal(out, expected)


class Late:
    """An object with a Python finalizer, during which another thread may run."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        sum(range(100))


@pytest.mark.slow
def test_threads_build_trees_at_once():
    """Python 3.11's `ast` fails at this once in ten times."""
    text = kernel_sources.kernel_source("passes.repeated_evaluation")
    expected, found = ast.dump(ast.parse(text)), []
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    gc.freeze()
    sys.setswitchinterval(1e-5)
    gc.set_threshold(100)

    def work(depth):
        if depth:
            work(depth - 1)
            return
        for _ in range(20):
            Late()
            found.append(kernel_sources.tree(text))

    try:
        run_in_threads(3, lambda k: work(20 * k))
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert len(found) == 60
    assert {ast.dump(tree) for tree in found} == {expected}


def test_what_is_no_text_of_python_has_no_tree():
    with pytest.raises(SyntaxError):
        kernel_sources.tree("x +")


@pytest.mark.parametrize(
    "body",
    [
        "return [x]",
        "return x / y",
        "return x ** 2",
        "return 1.5",
        "x: int = 1\n    return x",
        "for k in range(0, x, 2):\n        x += 1\n    return x",
        "return unknown(x)",
        "return np.uint64(x) + y",
        "return f(x, y - 1)",
        "if x:\n        return 1",
        "good = x > y\n    good = 3\n    return good",
        "return x and y",
        "return numbers(x)",
        "while x:\n        x -= 1\n    else:\n        x = 3\n    return x",
    ],
)
def test_the_rest_is_left_to_numba(monkeypatch, body):
    with pytest.raises(Unknown):
        built(monkeypatch, f"@jit\ndef f(x: int, y: int) -> int:\n    {body}\n", (INT, INT))


LOOPS = """
@loop
def last(source: numbers, n: int) -> int:
    return source[n - 1]

@loop
def copy(target: numbers, source: numbers, n: int) -> None:
    for i in range(n):
        target[i] = source[i] + last(source, n)

@jit
def f(target: numbers, source: numbers, n: int) -> int:
    copy(target, source, n)
    return last(target, n) if n > 5 else 0
"""


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_loops_are_compiled_apart(monkeypatch, quick, n):
    kinds = kernel_sources.Pointer("int64"), kernel_sources.Pointer("int64"), INT
    f = built(monkeypatch, LOOPS, kinds, quick=quick)
    source, target = np.arange(n) ** 2, np.zeros(n + 1, np.int64)
    result = f(target.ctypes.data, source.ctypes.data, n)
    assert target.tolist() == [*(source + source[-1]), 0]
    assert result == (target[n - 1] if n > 5 else 0)


def test_a_loop_calls_only_loops(monkeypatch):
    text = LOOPS.replace("@loop\ndef last", "@inline\ndef last")
    kinds = kernel_sources.Pointer("int64"), kernel_sources.Pointer("int64"), INT
    with pytest.raises(Unknown, match="The loop copy must not call last"):
        built(monkeypatch, text, kinds)


def test_what_is_not_known_is_named(monkeypatch):
    with pytest.raises(Unknown, match=r"own\d+, line 11: x / 2"):
        built(monkeypatch, "@jit\ndef f(x: int) -> int:\n    return x / 2\n", (INT,))


def test_all_passes_are_known(tmp_path):
    """No pass needs Numba, and compiling one does not import it."""
    script = (
        "import sys\nfrom numtape.core.compile import passes\n"
        f"for unit in {[*passes.UNITS]}: passes.addresses(unit)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
        env={**os.environ, "NUMTAPE_CACHE_DIR": str(tmp_path)},
    )
    assert done.stdout.split() == ["False"], done.stderr
