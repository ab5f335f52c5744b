"""Threads that share the groups of a sweep, and the tiles of a product."""

import os
import queue
import threading

import numpy as np
import pytest
from interruption import interrupted_at_each_line
from log_queries import fresh_log
from numtape.kernels.constants import TEAM_HIRED, TEAM_LEFT
from processes import run as run_script

from numtape.core import settings
from numtape.core.cpu import blas, sweeper as cpu, workers
from numtape.core.log.log import local

pytestmark = [
    pytest.mark.numtape_only("numtape's threads"),
    pytest.mark.cpu_only("threads of the CPU's"),
]


@pytest.fixture(autouse=True)
def cpu_alone(tf):
    with tf.config.override("cpu"):
        yield


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products_in_tiles_have_the_same_bits_on_any_number_of_threads(
    tf, monkeypatch, dtype, transposed
):
    monkeypatch.setattr(cpu, "LARGE", 1)
    random = np.random.default_rng(0)
    ta, tb = transposed
    for lead, m, k, n in (((), 300, 40, 700), ((2,), 385, 3, 129), ((), 1, 900, 513)):
        a = random.normal(size=(*lead, *((k, m) if ta else (m, k)))).astype(dtype)
        b = random.normal(size=(n, k) if tb else (k, n)).astype(dtype)
        expected = np.float64(a.swapaxes(-1, -2) if ta else a) @ np.float64(b.T if tb else b)
        found = []
        for threads in (1, 2, 3):
            monkeypatch.setattr(settings, "_threads", threads)
            with fresh_log():
                found.append(tf.matmul(a, b, ta, tb).numpy())
        np.testing.assert_allclose(found[0], expected, rtol=0, atol=np.finfo(dtype).eps * 3000)
        assert all(x.tobytes() == found[0].tobytes() for x in found)


def test_groups_that_follow_each_other_are_shared(tf, monkeypatch):
    monkeypatch.setattr(settings, "_threads", 3)
    monkeypatch.setattr(cpu, "LARGE", 1)
    hired = []
    hire = workers.Team.hire
    monkeypatch.setattr(workers.Team, "hire", lambda self, n: hired.append(n) or hire(self, n))
    x = np.random.default_rng(0).normal(size=(300, 500))
    with fresh_log():
        y = tf.constant(x)
        for _ in range(5):
            y = tf.tanh(y) - tf.reduce_mean(y, axis=1, keepdims=True)
        found = float(tf.reduce_sum(y * y))
    for _ in range(5):
        x = np.tanh(x) - x.mean(axis=1, keepdims=True)
    assert found == pytest.approx((x * x).sum(), rel=1e-12)
    assert set(hired) == {2}


def test_who_comes_too_late_is_not_waited_for_at_the_next_sweep(tf, monkeypatch):
    """A sweep must not count an absent worker as present, or it would wait forever."""
    monkeypatch.setattr(settings, "_threads", 2)
    monkeypatch.setattr(cpu, "LARGE", 1)
    monkeypatch.setattr(workers, "_start_workers", lambda count: None)  # no more threads can start
    monkeypatch.setattr(workers, "_queue", queue.SimpleQueue())
    teams = []
    made = workers.Team.__init__
    monkeypatch.setattr(workers.Team, "__init__", lambda self: made(self) or teams.append(self))
    with fresh_log():
        for _ in range(3):
            assert float(tf.reduce_sum(tf.ones(70_000))) == 70_000.0
            words = teams[0]._words
            assert words[8 * TEAM_HIRED] == words[8 * TEAM_LEFT] == 1


def test_who_was_hired_when_an_interrupt_came_is_hired_again(tf, monkeypatch):
    monkeypatch.setattr(settings, "_threads", 2)
    monkeypatch.setattr(cpu, "LARGE", 1)
    hired, share = [], cpu.share
    hire = workers.Team.hire
    monkeypatch.setattr(workers.Team, "hire", lambda self, n: hired.append(n) or hire(self, n))

    def interrupted(*_):
        monkeypatch.setattr(cpu, "share", share)
        raise KeyboardInterrupt

    with fresh_log():
        assert float(tf.reduce_sum(tf.ones(70_000))) == 70_000.0
        monkeypatch.setattr(cpu, "share", interrupted)
        with pytest.raises(KeyboardInterrupt):
            float(tf.reduce_sum(tf.ones(70_000)))
        hired.clear()
        assert float(tf.reduce_sum(tf.ones(70_000))) == 70_000.0
    assert set(hired) == {1}


BLAS = """
import ctypes, os, warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
import numpy as np, numtape as tf
from numtape.core.cpu import blas
told, put, words = blas.threads()
threads = ctypes.CFUNCTYPE(ctypes.c_int)(told)
ctypes.CFUNCTYPE(None, ctypes.c_int)(put)(2)
tf.matmul(np.ones((512, 512)), np.ones((512, 512))).numpy()
print(threads(), blas._thread_words[:2].any())
blas._thread_words[1:3] = 1, 3  # as if another thread were at it
pid = os.fork()
if pid == 0:
    os._exit(0 if threads() == 3 and not blas._thread_words.any() else 1)
print(os.waitpid(pid, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_products_leave_the_threads_of_blas_as_they_were():
    if not all(blas.threads()):
        pytest.skip("BLAS does not say how many threads it takes")
    assert run_script(BLAS).split() == ["2", "False", "0"]


def test_interrupted_teams_go_home(tf, monkeypatch):
    """After an interrupt at any line, no worker waits forever."""
    monkeypatch.setattr(settings, "_threads", 2)
    monkeypatch.setattr(cpu, "LARGE", 1)
    x = tf.constant(np.linspace(0.0, 1.0, 70_000))
    expected = float(tf.reduce_sum(tf.sin(x)))

    def prepare():
        return tf.reduce_sum(tf.sin(x))

    def check(y):
        assert float(y) == float(y + 0.0) == expected
        assert not local.evaluating

    interrupted_at_each_line(prepare, float, check)


def test_a_passing_lack_of_threads_is_made_good(monkeypatch):
    monkeypatch.setattr(workers, "_threads", found := [])
    monkeypatch.setattr(workers, "_queue", tasks := queue.SimpleQueue())
    with pytest.MonkeyPatch.context() as full:

        def fails(thread):
            raise RuntimeError("can't start new thread")

        full.setattr(threading.Thread, "start", fails)
        workers._start_workers(1)
    assert not found
    workers._start_workers(1)
    assert [thread.is_alive() for thread in found] == [True]
    tasks.put(None)  # it ends
    found[0].join()
