"""Weak references to tensors: referents keep their values when the log releases rows."""

import gc
import random
import sys
import weakref

import numpy as np
import pytest
from log_queries import fresh_log

from numtape.core.log import liveness
from numtape.core.log.log import local

pytestmark = pytest.mark.numtape_only("when a tensor goes is numtape's own affair")


@pytest.fixture(autouse=True)
def log():
    with fresh_log() as found:
        yield found


def test_taken_at_any_time_it_gives_the_value_or_nothing(tf):
    draw = random.Random(3)
    held, given = [], 0
    refs: list = []
    for step in range(1500):
        value = float(draw.randrange(1000))
        x = tf.fill((draw.choice([1, 3]),), value) if draw.random() < 0.5 else tf.constant(value)
        y = x * 2.0 + 1.0
        refs.append((weakref.ref(y), 2.0 * value + 1.0))
        if draw.random() < 0.3:
            held.append(y)
        del x, y
        if draw.random() < 0.2:
            assert float(tf.constant(float(step)) + 1.0) == step + 1.0
        if held and draw.random() < 0.2:
            held.pop(draw.randrange(len(held)))
        ref, number = refs[draw.randrange(len(refs))]
        found = ref()
        if found is not None:
            given += 1
            assert np.all((found + 1.0).numpy() == number + 1.0)
            assert np.all(found.numpy() == number)
        del found
        if len(refs) > 40:
            refs = [pair for pair in refs if pair[0]() is not None][-40:]
    assert given > 300


@pytest.mark.parametrize("shape", [(), (3,)])
def test_taken_while_the_log_lets_go_of_its_rows(tf, log, monkeypatch, shape):
    """A thread or finalizer takes a reference between counting references and dropping rows."""
    x = tf.ones(shape)
    y = x * 5.0
    ref, taken = weakref.ref(y), []
    del y
    counted = liveness.live_tensors

    def alive(tensors, extra):
        found = counted(tensors, extra)
        taken.append(ref())
        return found

    monkeypatch.setattr(liveness, "live_tensors", alive)
    assert float(tf.reduce_sum(x) + 1.0) == x.numpy().size + 1.0
    log.collect()
    monkeypatch.undo()
    for k in range(10):  # other values in the rows it had
        assert float(tf.constant(float(k)) * 7.0) == 7.0 * k
    assert taken[0] is not None
    assert np.all(taken[0].numpy() == 5.0)


def test_it_is_dead_once_the_log_has_let_go(tf, log):
    ended, x = [], tf.constant(2.0)
    y = x * 3.0
    ref = weakref.ref(y, ended.append)
    weakref.finalize(y, ended.append, "finalized")
    assert float(ref()) == 6.0
    y = x + 1.0
    assert float(y) == 3.0
    log.collect()
    assert ref() is None
    assert sorted(map(str, ended)) == sorted(["finalized", str(ref)])


def test_finalizers_do_not_keep_tensors(tf):
    ended = []
    most = 0
    for k in range(40_000):  # more than a log has rows
        weakref.finalize(tf.constant(1.0) * float(k), ended.append, k).atexit = False
        most = max(most, k - len(ended))
    assert most < 20_000
    local.log.collect()
    assert len(ended) == 40_000


def test_finalizer_may_compute(tf, log):
    found = []
    y = tf.constant([1.0, 2.0]) * 2.0
    weakref.finalize(y, lambda: found.append(tf.reduce_sum(tf.constant([4.0, 5.0])).numpy()))
    del y
    for _ in range(3):
        assert float(tf.constant(1.0) + 1.0) == 2.0
        log.collect()
    assert found == [9.0]


def test_weak_containers(tf):
    x = tf.constant([1.0, 2.0])
    values = weakref.WeakValueDictionary(x=x, y=x * 2.0)
    assert values["x"] is x
    if "y" in values:
        assert values["y"].numpy().tolist() == [2.0, 4.0]
    local.log.collect()
    gc.collect()
    assert list(values) == ["x"]
    assert weakref.proxy(x).numpy().tolist() == [1.0, 2.0]
    keys = weakref.WeakKeyDictionary()
    with pytest.raises(TypeError, match="unhashable"):
        keys[x] = 1
    key = x.ref()
    keys[key] = 1
    assert keys[x.ref()] == 1
    del key
    assert not keys


def test_recording_does_not_ask_for_them(tf):
    asked = 0

    def profile(frame, event, function):
        nonlocal asked
        asked += event == "c_call" and function is weakref.getweakrefcount

    x = tf.constant(1.0)
    sys.setprofile(profile)
    try:
        y = x
        for _ in range(100):
            y = tf.sin(y) * x + 1.0
    finally:
        sys.setprofile(None)
    assert asked == 0
    assert np.isfinite(float(y))
