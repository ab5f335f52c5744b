"""Machine code that cannot be built is retried later, with back-off."""

import signal
import sys
import threading

import pytest
from processes import run

from numtape.core.cpython import layout
from numtape.core.native import lazy_build

pytestmark = pytest.mark.numtape_only("how machine code comes about")
usable = pytest.mark.skipif(
    bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "usable"
)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(24, "Too many open files"),
        RecursionError("maximum recursion depth"),
        RuntimeError("A signal handler needs compiled code"),
        SystemError("AST constructor"),
        ImportError("sys.meta_path is None"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_may_pass_is_tried_again_ever_more_seldom(error):
    tries = []

    def make(given):
        tries.append(given)
        if len(tries) < 5:
            raise error
        return 7

    made = lazy_build.LazyBuild("It is done", make)
    questions = [made.get(k) for k in range(40)]
    assert tries == [0, 2, 6, 14, 30]
    assert set(questions[:30]) == {str(error) or "MemoryError"} and set(questions[30:]) == {7}


def test_who_wants_to_know_has_it_tried_now():
    tries = []

    def make():
        tries.append(1)
        raise MemoryError

    made = lazy_build.LazyBuild("It is done", make)
    assert [made.get(now=True) for _ in range(5)] == ["MemoryError"] * 5 and len(tries) == 5


def test_what_is_not_as_known_stays_so():
    tries = []

    def make():
        tries.append(1)
        raise layout.UnsupportedLayout("a list is a tuple")

    made = lazy_build.LazyBuild("It is done", make)
    assert {made.get(now=True) for _ in range(100)} == {"a list is a tuple"}
    assert len(tries) == 1 and made.gave_up


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms here")
def test_alarm_is_for_the_program():
    """``TimeoutError`` is an `OSError`."""

    def alarm(*_):
        raise TimeoutError("too late")

    def make():
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        threading.Event().wait(10.0)
        return 1

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        with pytest.raises(TimeoutError, match="too late"):
            lazy_build.LazyBuild("It is done", make).get()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_it_is_not_tried_where_the_stack_ends():
    made = lazy_build.LazyBuild("It is done", lambda: 7)

    def at(left):
        frame, depth = sys._getframe(), 0
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        return deeper(sys.getrecursionlimit() - depth - left)

    def deeper(n):
        return made.get() if n <= 0 else deeper(n - 1)

    assert at(lazy_build.STACK_RESERVE // 2) == "there is not enough of the stack left"
    assert at(2 * lazy_build.STACK_RESERVE) == 7


FIRST = """
import sys
import numtape as tf
from numtape.core.compile import cache
from numtape.core.cpu import repeated_evaluation
from numtape.core.log.log import local
from numtape.core.native import patch
from numtape.core.replay import repeated_calls
from numtape.kernels.passes import evaluation_words

sys.modules["numtape.function.function"].OFTEN = 1
w = tf.Variable(3.0)

def program(op=tf.sin):
    f = tf.function(lambda x: op(x) * w)
    for _ in range(40):
        float(op(w * 2.0))
    for _ in range(20):
        f(tf.constant(1.0))

def deep(n):
    return program() if n == 0 else deep(n - 1)

def said():
    once = repeated_evaluation._lazy_code, repeated_calls._stub_build
    return {patch.describe(), *(x.reason if x.value is None else "machine code" for x in once)}

if sys.argv[1] == "memory":
    need, errors = cache._need, []
    def without(size):
        if len(errors) < 6:
            errors.append(size)
            raise MemoryError
        need(size)
    cache._need = without
    for _ in range(40):
        try:
            program()
        except MemoryError:
            pass
elif sys.argv[1] == "stack":
    for left in range(30, 190, 4):
        try:
            deep(sys.getrecursionlimit() - left)
        except RecursionError:
            pass
    assert said() == {"Python: there is not enough of the stack left",
                      "there is not enough of the stack left"}, said()
for op in (tf.exp, tf.cos, tf.tanh):  # asked when what they compute repeats
    program(op)
assert said() == {"machine code"}, said()
hits = evaluation_words.HITS
assert sum(made.words[hits] for _, made in local.log.evaluate_fast_paths) > 20
"""


@usable
@pytest.mark.parametrize("short", ["nothing", "memory", "stack"])
def test_first_look_of_a_process_where_something_is_short(short):
    assert run(FIRST, short, NUMTAPE_RECORD="native") == ""
