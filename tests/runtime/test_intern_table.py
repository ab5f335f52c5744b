"""Intern tables: one number for each object, despite threads, finalizers and handlers."""

import dis
import gc
import sys
import threading
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
from interruption import stretches
from log_queries import fresh_log
from parallel_threads import run_in_threads
from processes import PACKAGE, run
from random_op_programs import Program, compare, differences, run as program_run

from numtape.core.compile.tables import Calls
from numtape.core.derive import templates
from numtape.core.log.op import CODES
from numtape.core.values import intern_table
from numtape.core.values.dtypes import ALL, DTYPES
from numtape.core.values.intern_table import InternTable
from numtape.core.values.spec import SPECS, intern

pytestmark = pytest.mark.numtape_only("numtape's tables")


# Atomic blocks.

# They contain no calls, backward jumps or allocations of objects that the garbage collector tracks,
# the only points at which CPython runs handlers, finalizers and other threads.
UNDIVIDED = {
    "BINARY_OP",
    "BINARY_SUBSCR",
    "CACHE",
    "COMPARE_OP",
    "CONTAINS_OP",
    "COPY",
    "DELETE_SUBSCR",
    "EXTENDED_ARG",
    "IS_OP",
    "JUMP_FORWARD",
    "LOAD_ATTR",
    "LOAD_COMMON_CONSTANT",
    "LOAD_CONST",
    "LOAD_DEREF",
    "LOAD_FAST",
    "LOAD_FAST_BORROW",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "LOAD_FAST_CHECK",
    "LOAD_FAST_LOAD_FAST",
    "LOAD_GLOBAL",
    "LOAD_METHOD",
    "LOAD_SMALL_INT",
    "NOP",
    "NOT_TAKEN",
    "POP_EXCEPT",
    "POP_TOP",
    "PUSH_EXC_INFO",
    "RERAISE",
    "RETURN_CONST",
    "RETURN_VALUE",
    "STORE_ATTR",
    "STORE_FAST",
    "STORE_FAST_LOAD_FAST",
    "STORE_FAST_STORE_FAST",
    "STORE_SUBSCR",
    "SWAP",
    "TO_BOOL",
    "UNARY_NEGATIVE",
    "UNARY_NOT",
}


def functions(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from functions(constant)


def divided(path):
    """Instructions in atomic blocks at which other code could run.

    The last instruction may call into C or jump back: other code then runs after the block.
    """
    marked = list(stretches(path))
    for code in functions(compile(path.read_text("utf-8"), str(path), "exec")):
        for start, end in marked:
            found = [
                i
                for i in dis.get_instructions(code)
                if i.positions.lineno is not None
                and start < i.positions.lineno < end
                and i.opname != "EXTENDED_ARG"
            ]
            last = max((i.positions.lineno for i in found), default=0)
            for before, i in zip(["", *(i.opname for i in found)], found, strict=False):
                if i.opname.startswith("POP_JUMP") and "BACKWARD" not in i.opname:
                    continue
                if i.opname in ("PRECALL", "CALL") and i.positions.lineno == last:
                    continue
                if i is found[-1] and i.opname == "JUMP_BACKWARD":
                    continue
                if i.opname == "JUMP_BACKWARD" and before == "NOT_TAKEN":
                    continue  # half of a condition since Python 3.14
                if i.opname not in UNDIVIDED:
                    yield f"{path.name}:{i.positions.lineno} {i.opname}"


def test_stretches_that_are_one_step_are_undivided():
    paths = sorted(Path(PACKAGE).rglob("*.py"))
    assert sum(len(list(stretches(path))) for path in paths) > 4
    assert [line for path in paths for line in divided(path)] == []


def test_the_check_sees_what_divides(tmp_path):
    path = tmp_path / "sample.py"
    lines = ["def f(x):", "    # atomic", "    y = len(x)", "    z = (y, x)", "    return z"]
    path.write_text("\n".join([*lines, "    # end atomic", ""]))
    assert [line.split()[-1] for line in divided(path)][-2:] == ["CALL", "BUILD_TUPLE"]


# One number for each.


def one_object_each():
    """Whether all objects of a table have distinct numbers and consistent fields."""
    specs = list(SPECS)
    assert len({spec.id for spec in specs}) == len(specs)
    for spec in specs:
        assert SPECS[spec.id] is spec
        assert SPECS.size[spec.id] == spec.size * (1 + (spec.dtype.name == "complex128"))
        assert tuple(SPECS.dims[spec.id][: spec.rank]) == tuple(spec.shape)
        assert ALL[SPECS.dtype[spec.id]] is spec.dtype
        assert SPECS.specs[int(SPECS.shape[spec.id])].shape == spec.shape


def test_what_is_met_inside_of_what_is_met(monkeypatch):
    """For example, a finalizer interns another object while one is being interned."""
    describe, inside, held = SPECS._describe, [], []

    def meeting_others(number, key, spec):
        if len(inside) < 6:
            inside.append(key)
            held.append(intern((1000 + len(inside), 7), DTYPES[9]))
            held.append(intern(key[0], DTYPES[key[1]]))  # the same object that is being interned
        return describe(number, key, spec)

    monkeypatch.setattr(SPECS, "_describe", meeting_others)
    held += [intern((900 + k, 3), DTYPES[k]) for k in range(9)]
    assert len(inside) == 6
    assert all(intern(tuple(spec.shape), spec.dtype) is spec for spec in held)
    one_object_each()


def test_threads_that_meet_the_same_things(tf):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        found = run_in_threads(
            8, lambda k: [intern((5, n), DTYPES[n % 11]) for n in range(3000, 4500)]
        )
    finally:
        sys.setswitchinterval(before)
    assert all(specs == found[0] for specs in found)
    one_object_each()


def test_numbers_of_what_nobody_has_are_used_again():
    for k in range(50):
        intern((k, 12345), DTYPES[9])
    intern_table.free_unused()
    intern_table.free_unused()  # a first pass frees the specs that hold shapes
    before = len(SPECS)
    numbers = {intern((k, 54321), DTYPES[9]).id for k in range(50)}
    intern_table.free_unused()
    intern_table.free_unused()
    assert len(SPECS) <= before + 1
    assert {intern((k, 54322), DTYPES[9]).id for k in range(200)} & numbers
    one_object_each()


def test_a_number_that_is_given_back_while_the_dead_are_counted(monkeypatch):
    """By the loser of a race: its object is dead, and the number has no key."""
    dead, came_second = SPECS._dead_entries, weakref.ref(set())
    monkeypatch.setattr(
        SPECS, "_dead_entries", lambda: [*dead(), (intern_table.CAPACITY - 1, came_second)]
    )
    intern_table.free_unused()
    assert intern_table.CAPACITY - 1 not in SPECS._free_ids


def test_numbers_are_used_again_once_what_is_derived_from_them_is_forgotten(monkeypatch):
    """Data that another thread derives while numbers are freed is dropped as well."""
    number, seen = intern((77, 12347), DTYPES[9]).id, []

    def forgets():
        in_use = number in SPECS._objects
        seen.append((in_use, number in SPECS._free_ids, intern_table.generation.number))

    before = intern_table.generation.number
    monkeypatch.setattr(intern_table, "CACHES", [*intern_table.CACHES, forgets])
    intern_table.free_unused()
    assert number in SPECS._free_ids
    assert seen == [(True, False, before + 1), (False, False, before + 2)]


def test_numbers_in_rows_that_are_copied_meanwhile(monkeypatch):
    """To a log that is created after all others were listed."""
    number = intern((78, 12347), DTYPES[9]).id

    class Copy:
        def numbers(self, column):
            return [number] if column == "spec" else []

    class Listed:
        def numbers(self, column):
            for copy in copies:
                intern_table.LOGS.add(copy)
            return []

    copies, listed = [Copy()], Listed()
    intern_table.LOGS.add(listed)
    intern_table.free_unused()
    assert number in SPECS._objects
    copies.clear()
    intern_table.free_unused()
    assert number not in SPECS._objects


def test_kernels_that_are_entered_while_all_are_forgotten(monkeypatch):
    """The next reset drops the entry, at whatever point the first one was interrupted."""
    monkeypatch.setattr(intern_table, "CACHES", [])
    forgetting, entered = threading.Event(), threading.Event()

    class Slow(Calls):
        @property
        def _start(self):
            return self.start

        @_start.setter
        def _start(self, start):
            self.start = start
            if threading.current_thread() is thread:
                forgetting.set()
                assert entered.wait(20)

    class Codes(list):
        def append(self, code):
            super().append(code)
            finish()

    def finish():
        entered.set()
        thread.join(20)

    thread = None
    calls = Slow()
    calls._codes = Codes()
    thread = threading.Thread(target=calls.clear)
    thread.start()
    assert forgetting.wait(20)
    calls.add(7, [1, 2], 1, None, 0, 1)
    finish()
    calls.clear()
    assert calls.first[7] == 0


def test_numbers_in_rows_are_not_freed(tf):
    with fresh_log() as log:
        x = tf.constant(np.ones((7, 41), np.float32))
        y = tf.reshape(x, [41, 7]) * 2.0
        number, code = log.spec[log.n - 1], log.code[log.n - 3]
        z = tf.reduce_sum(y)
        del y
        for _ in range(3):
            intern_table.free_unused()
        assert tuple(SPECS[number].shape) == (41, 7)
        assert CODES.entries[code]
        assert float(z) == 2.0 * 7 * 41


def test_a_spec_that_died_comes_back_with_its_number(tf):
    with fresh_log() as log:
        x = tf.constant(np.ones((3, 43), np.float32))
        y = tf.reduce_sum(tf.reshape(x, [43, 3]))
        row = [r for r in range(log.n) if SPECS.size[log.spec[r]] == 129][-1]
        number = log.spec[row]
        log.tensors[:] = [y]  # a row without a tensor
        intern_table.free_unused()
        gc.collect()
        assert SPECS._objects[number]() is None
        assert intern((43, 3), tf.float32).id == number
        assert float(y) == 129


# Whole programs.

EVERYWHERE = """
import gc, sys, threading
import numpy as np
import numtape as tf
from numtape.core.values import intern_table

intern_table.LIMIT = int(sys.argv[1])
for table in intern_table.TABLES:
    table._limit = intern_table.LIMIT
sys.setswitchinterval(1e-6)
wrong, gate = [], threading.Barrier(8)

class Computing:
    def __init__(self, n):
        self.me, self.n = self, n  # a cycle: the collector ends it, anywhere
    def __del__(self):
        try:
            if float(tf.reduce_sum(tf.constant(np.ones(self.n, "f")) * 2.0)) != 2 * self.n:
                wrong.append("in a finalizer")
        except Exception as error:
            wrong.append(repr(error)[:90])

def work(k):
    gate.wait()
    v = tf.Variable(3.0)
    for i in range(int(sys.argv[2])):
        n = 20 + 8 * i + k
        if sys.argv[3] == "finalizers":
            Computing(n + 3)
        x = tf.constant(np.full(n, 2.0, "f"))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.reshape(tf.concat([x * x * v, x], 0), [2, n]), 0)
        g = tape.gradient(y, x)
        if not (g.numpy() == 13).all() or not (y.numpy() == 14).all() or g.shape != (n,):
            wrong.append((n, g.numpy(), y.numpy()))

gc.set_threshold(1)
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for t in threads: t.start()
for t in threads: t.join()
gate = threading.Barrier(1)
work(8)
print(wrong[:3])
"""


@pytest.mark.parametrize(
    ("limit", "beside"),
    [
        (64, "threads"),
        pytest.param(1 << 20, "finalizers", marks=pytest.mark.slow),
        pytest.param(1 << 20, "threads", marks=pytest.mark.slow),
        pytest.param(64, "finalizers", marks=pytest.mark.slow),
    ],
)
def test_new_shapes_are_met_by_eight_threads(limit, beside):
    """With a low limit, numbers are freed and reused constantly."""
    assert run(EVERYWHERE, limit, 12, beside) == "[]"


@pytest.fixture
def freeing(monkeypatch):
    """Free unused numbers whenever a new object is interned."""
    limit = property(lambda self: 0, lambda self, value: None)
    monkeypatch.setattr(InternTable, "_limit", limit, raising=False)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_while_numbers_are_freed(tf, freeing, seed):
    program, before = Program(3000 + seed), intern_table.generation.number
    for k in range(8):  # other tests may have interned the same objects
        tf.ones((1000 + 10 * seed + k,))
    said = compare(tf, program)
    assert said is None, f"{said}:\n{program.script()}"
    assert intern_table.generation.number > before + 5


def test_random_programs_in_eight_threads_while_numbers_are_freed(tf, freeing):
    programs = [Program(3100 + k) for k in range(8)]

    def work(k):
        tries = [([False] * len(programs[k].lines), tape) for tape in (False, True, False)]
        return [program_run(tf, programs[k], "cpu", look, tape) for look, tape in tries]

    for k, several in enumerate(run_in_threads(8, work)):
        for found, alone in zip(several, work(k), strict=True):
            assert not differences(found, alone)


def test_templates_that_are_entered_inside_of_one_another():
    index = templates.TemplateIndex(64)
    keys = [(k, -1, -1, -1, k, 1) for k in range(12)]
    for k, key in enumerate(keys):
        index.insert(key, k)
        index.insert(key, k)
    entries = index.array.reshape(-1, templates.ENTRY_WORDS)
    assert sorted(entries[entries[:, 0] != 0][:, 0].tolist()) == list(range(1, 13))


def test_a_table_that_is_full_says_so(monkeypatch, tf):
    monkeypatch.setattr(intern_table, "CAPACITY", 0)
    table = InternTable("spec", lambda number, key: types.SimpleNamespace(), lambda *_: None)
    intern_table.TABLES.remove(table)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="in use at once"):
        table.intern(1)


def test_constants_of_rules_are_met_anew(tf):
    """Rows of constants that a thread stored for rules that were dropped meanwhile."""
    for k in range(4):
        x = tf.Variable([1.0, 2.0])
        with tf.GradientTape() as tape:
            y = tf.tanh(x) * x / 3.0 + tf.sqrt(x) if k % 2 else tf.sqrt(x) / 3.0 + tf.tanh(x) * x
        found = tape.gradient(y, x).numpy()
        v = np.array([1.0, 2.0])
        slope = 1.0 - np.tanh(v) ** 2
        both = (np.tanh(v) + slope * v) / (3.0 if k % 2 else 1.0)
        both += 0.5 / np.sqrt(v) / (1.0 if k % 2 else 3.0)
        np.testing.assert_allclose(found, both, rtol=1e-5)
        intern_table.free_unused()
