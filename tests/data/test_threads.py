"""Prefetch, parallel maps and parallel interleaves: threads, their errors, and their end."""

import gc
import os
import threading
import time

import numpy as np
import pytest


def threads():
    return [x for x in threading.enumerate() if x.name.startswith("numtape-")]


def wait_for_no_thread():
    gc.collect()
    for _ in range(200):
        if not threads():
            return
        time.sleep(0.01)
    raise AssertionError(threads())


@pytest.mark.numtape_only(reason="names of numtape's threads")
def test_elements_are_computed_while_others_are_used(tf):
    """Producing and consuming take 20 ms each, and overlap."""

    def produce(x):
        time.sleep(0.02)
        return x

    data = tf.data.Dataset.range(12).map(produce)

    def seconds(dataset):
        start = time.perf_counter()
        for _ in dataset:
            time.sleep(0.02)
        return time.perf_counter() - start

    assert seconds(data.prefetch(2)) < 0.8 * seconds(data)
    wait_for_no_thread()


@pytest.mark.numtape_only(reason="names of numtape's threads")
@pytest.mark.parametrize("kind", ["prefetch", "map", "interleave"])
def test_threads_end_when_the_iterator_is_dropped(tf, kind):
    D = tf.data.Dataset

    def slow(x):
        time.sleep(0.001)
        return x + 1

    data = {
        "prefetch": lambda: D.counter().map(slow).prefetch(4),
        "map": lambda: D.counter().map(slow, num_parallel_calls=2),
        "interleave": lambda: D.counter().interleave(
            lambda n: D.counter().map(slow), 2, num_parallel_calls=2
        ),
    }[kind]()
    iterator = iter(data)
    for _ in range(6):
        next(iterator)
    assert threads()
    del iterator
    wait_for_no_thread()


@pytest.mark.parametrize("calls", [None, 3])
def test_the_order_is_kept_and_errors_are_raised_at_next(tf, calls):
    def slow(x):
        time.sleep(0.002 * (int(x) % 3))
        if int(x) == 7:
            raise KeyError("mine")
        return x * x

    data = tf.data.Dataset.range(12).map(slow, num_parallel_calls=calls).prefetch(2)
    iterator = iter(data)
    assert [int(next(iterator)) for _ in range(7)] == [x * x for x in range(7)]
    with pytest.raises(KeyError, match="mine"):
        next(iterator)
    assert [int(x) for x in iterator] == [x * x for x in range(8, 12)]  # behind the error


def test_random_draws_of_functions_do_not_change_those_of_the_program(tf):
    def noise(x):
        time.sleep(0.001)
        return tf.random.uniform([])

    def run(consume_slowly):
        tf.random.set_seed(5)
        data = tf.data.Dataset.range(8).map(noise, num_parallel_calls=2).prefetch(2)
        inside, outside = [], []
        for x in data:
            inside.append(float(x))
            outside.append(float(tf.random.uniform([])))
            if consume_slowly:
                time.sleep(0.003)
        return inside, outside

    inside, outside = run(False)
    assert len(set(inside)) == 8 and run(True) == (inside, outside)
    tf.random.set_seed(5)
    assert [float(tf.random.uniform([])) for _ in range(8)] == outside


def test_a_tape_does_not_see_functions_in_threads(tf):
    w = tf.Variable(3.0)
    data = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * w, 2).batch(2)
    with tf.GradientTape() as tape:
        (y,) = list(data)
        loss = tf.reduce_sum(y * w)
    assert float(tape.gradient(loss, w)) == 9.0  # of the second factor only


def test_training_on_prefetched_batches(tf):
    x = np.arange(32, dtype="float32").reshape(16, 2)

    def slow(a):
        time.sleep(0.001)
        return a, tf.reduce_sum(a)

    data = tf.data.Dataset.from_tensor_slices(x).map(slow, 2).batch(4).prefetch(2)
    totals = [np.concatenate([b.numpy() for _, b in data]) for _ in range(2)]
    np.testing.assert_array_equal(totals, [x.sum(1)] * 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.numtape_only(reason="numtape's error")
def test_a_forked_process_names_the_missing_thread(tf):
    def slow(x):
        time.sleep(0.001)
        return x

    iterator = iter(tf.data.Dataset.range(1000).map(slow).prefetch(1))
    for _ in range(3):
        next(iterator)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            for _ in range(5):
                next(iterator)
            message = b"no error"
        except tf.errors.CancelledError as error:
            message = str(error).encode()
        os.write(write, message)
        os._exit(0)
    os.waitpid(child, 0)
    assert b"create the iterator in the new process" in os.read(read, 1000)
    os.close(read)
    os.close(write)
    assert int(next(iterator)) == 3
