"""Processes that need the same unit at once: one compiles it, and the others wait for it."""

import collections
import errno
import os
import re
import shutil
import signal
import sys
import threading
import time

import pytest
from processes import output, start

from numtape.core import settings
from numtape.core.compile import cache, file_lock

pytestmark = [
    pytest.mark.numtape_only("numtape's own cache"),
    pytest.mark.cpu_only("machine code for the CPU"),
]
posix = pytest.mark.skipif(os.name == "nt", reason="no signals as on POSIX")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache folder of this process and its children."""
    found = tmp_path / "cache"
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(found))
    monkeypatch.setattr(cache, "_warned", set())
    return found


def use(compiled, seconds=0.0):
    """Load the unit from the cache, or append to a list and return code after some seconds."""

    def compile_unit():
        compiled.append(1)
        time.sleep(seconds)
        return b"code", ["f"], []

    assert cache.load_or_compile("unit", "text", compile_unit) == (b"code", ["f"], [])


# A gradient in a process that begins when the file of its first argument exists.
WORKER = """
import logging, os, sys, time
import numtape as tf
logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
x = tf.Variable([0.5, 1.5])
with tf.GradientTape() as tape:
    y = tf.reduce_sum(tf.sin(x) * tf.math.softplus(x))
print(tape.gradient(y, x).numpy().tobytes().hex())
"""


def compilations(count, place, signal_file):
    """Start `count` workers at once. Return compilations by unit, and the set of results."""
    children = [start(WORKER, signal_file, NUMTAPE_CACHE_DIR=place) for _ in range(count)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    signal_file.touch()
    units, results = collections.Counter(), set()
    for child in children:
        *lines, result = output(child).splitlines()
        units.update(re.findall(r"^Compiled (\S+) in", "\n".join(lines), re.MULTILINE))
        results.add(result)
    return units, results


@pytest.mark.parametrize(
    ("count", "kind"),
    [(4, "without kernels"), pytest.param(10, "empty", marks=pytest.mark.slow)],
)
def test_workers_that_start_at_once_compile_each_unit_once(tmp_path, place, count, kind):
    (tmp_path / "before").touch()
    compilations(1, settings.cache_dir(), tmp_path / "before")
    place.mkdir(0o700, exist_ok=True)
    if kind == "without kernels":  # the passes alone take 10 seconds
        for path in place.iterdir():
            if not path.name.startswith(("passes", "recorders", "buffers")):
                path.unlink()
    else:
        shutil.rmtree(place)
    units, results = compilations(count, place, tmp_path / "begin")
    assert len(results) == 1
    assert len(units) >= 2
    assert set(units.values()) == {1}, units
    assert all(path.suffix == cache.SUFFIX for path in place.iterdir())


def test_threads_that_need_the_same_unit_compile_it_once(place):
    compiled = []
    threads = [threading.Thread(target=use, args=(compiled, 0.1)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled == [1]
    assert len(list(place.iterdir())) == 1


# Compiles the unit, and does not end by itself.
HOLDER = """
import time
from numtape.core.compile import cache
def compile_unit():
    print("compiling", flush=True)
    time.sleep(600)
cache.load_or_compile("unit", "text", compile_unit)
"""


@pytest.fixture
def holder(place):
    """A process that holds the lock of the unit."""
    child = start(HOLDER)
    assert child.stdout.readline() == "compiling\n"
    yield child
    child.kill()
    child.communicate()


@posix
def test_a_killed_process_holds_up_no_other(place, holder):
    threading.Timer(0.3, holder.kill).start()
    began, compiled = time.monotonic(), []
    use(compiled)
    assert compiled == [1]
    assert 0.2 < time.monotonic() - began < cache.WAIT / 4
    assert not list(place.glob(f"*{cache.LOCK}"))


@posix
def test_a_stopped_process_holds_up_others_for_a_limited_time(place, holder, monkeypatch):
    monkeypatch.setattr(cache, "WAIT", 0.3)
    holder.send_signal(signal.SIGSTOP)
    began, compiled = time.monotonic(), []
    use(compiled)
    assert compiled == [1]
    assert time.monotonic() - began > 0.2
    use(compiled)  # from the cache: this needs no lock
    assert compiled == [1]


def test_a_lock_file_that_was_left_behind_is_used_again(place):
    place.mkdir(0o700)
    left = place / (cache._file("unit", "text") + cache.LOCK)
    left.touch()
    compiled = []
    use(compiled)
    assert compiled == [1]
    assert not left.exists()
    left.touch()
    assert cache.clear() == 2
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_costs_nothing_else(place, monkeypatch, code):
    def refuse(descriptor):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(file_lock, "try_lock", refuse)
    compiled = []
    use(compiled)
    use(compiled)
    assert compiled == [1]


def test_a_failed_compilation_releases_the_lock(place):
    def fail():
        raise ValueError("a wrong kernel")

    with pytest.raises(ValueError, match="a wrong kernel"):
        cache.load_or_compile("unit", "text", fail)
    assert list(place.iterdir()) == []
    compiled = []
    use(compiled)
    assert compiled == [1]


# Forks while it compiles; the child lives on after the parent is killed.
FORKS = """
import os, time
from numtape.core.compile import cache
def compile_unit():
    child = os.fork()
    if child:
        print(child, flush=True)
    time.sleep(600)
cache.load_or_compile("unit", "text", compile_unit)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python warns of a fork beside a thread")
def test_a_forked_child_does_not_keep_the_lock(place):
    parent = start(FORKS)
    child = int(parent.stdout.readline())
    try:
        parent.kill()
        parent.wait()
        began, compiled = time.monotonic(), []
        use(compiled)
        assert compiled == [1]
        assert time.monotonic() - began < cache.WAIT / 4
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate()
