"""Positions of iterators: checkpoints continue every transformation where it was."""

import itertools
import os
import time

import numpy as np
import pytest

pytestmark = pytest.mark.numtape_only(reason="TensorFlow cannot save iterators of Python functions")
INT64 = np.int64


def values(element, tf):
    return [np.asarray(x).tolist() for x in tf.nest.flatten(element)]


def slowly(x):
    """A function that takes long enough to run in other threads."""
    time.sleep(0.001)
    return x * 2


def lengths(tf, D):
    return D.range(1, 20).map(lambda n: tf.fill([n % 5 + 1], n))


PIPELINES = {
    "range": lambda tf, D: D.range(12),
    "slices": lambda tf, D: D.from_tensor_slices((np.arange(9.0), np.arange(9))).shuffle(9),
    "epochs": lambda tf, D: D.range(10).shuffle(4).batch(3).repeat(4),
    "seeded": lambda tf, D: D.range(10).shuffle(4, seed=3).repeat(2),
    "threads": lambda tf, D: D.range(20).shuffle(20).map(slowly, 3).batch(2).prefetch(2),
    "prefetch": lambda tf, D: D.range(20).map(slowly).prefetch(3),
    "interleave": lambda tf, D: D.range(1, 5).interleave(
        lambda n: D.range(n * 2).map(lambda x: x + n), cycle_length=3, block_length=2
    ),
    "parallel interleave": lambda tf, D: D.range(1, 4).interleave(
        lambda n: D.range(n * 3).map(slowly), cycle_length=3, num_parallel_calls=2
    ),
    "flat_map": lambda tf, D: D.range(6).flat_map(lambda n: D.range(n)),
    "windows": lambda tf, D: D.range(20).window(4, 2).flat_map(lambda w: w.batch(4)),
    "far windows": lambda tf, D: D.range(30).window(2, 4).flat_map(lambda w: w.batch(2)),
    "scan": lambda tf, D: D.range(12).scan(INT64(0), lambda s, x: (s + x, s + x)),
    "groups": lambda tf, D: D.range(30).group_by_window(
        lambda x: x % 3, lambda k, w: w.batch(2), window_size=4
    ),
    "buckets": lambda tf, D: lengths(tf, D).bucket_by_sequence_length(len, [3], [2, 3]),
    "generator": lambda tf, D: D.from_generator(lambda: iter(range(12)), output_types="int32"),
    "zip": lambda tf, D: D.zip(D.range(30), D.range(20).shuffle(5)).skip(2).take(15).shard(2, 1),
    "concatenate": lambda tf, D: D.range(4).shuffle(2).concatenate(D.range(8)),
    "cache": lambda tf, D: D.range(8).shuffle(8).cache().repeat(3),
    "sample": lambda tf, D: D.sample_from_datasets([D.range(9), D.range(100, 109)]),
    "choose": lambda tf, D: D.choose_from_datasets(
        [D.range(9), D.range(20, 29)], D.range(2).repeat()
    ),
    "rebatch": lambda tf, D: D.range(20).batch(4).rebatch([3, 2]),
    "unbatch": lambda tf, D: D.range(20).batch(4).unbatch(),
    "unique": lambda tf, D: D.range(30).map(lambda x: x // 3).unique(),
    "resample": lambda tf, D: D.range(60).rejection_resample(lambda x: x % 2, [0.8, 0.2]),
    "random": lambda tf, D: D.random().take(12),
    "filter": lambda tf, D: D.range(40).filter(lambda x: x % 3 == 0).take_while(lambda x: x < 30),
    "counter": lambda tf, D: D.counter(3, 2).take(12),
    "strings": lambda tf, D: D.from_tensor_slices(["a", "bb", "c"] * 4).shuffle(5),
    "padded": lambda tf, D: lengths(tf, D).padded_batch(3),
    "errors": lambda tf, D: D.range(20).map(lambda x: 9 // (int(x) % 3)).ignore_errors(),
    "ragged": lambda tf, D: D.from_tensor_slices(tf.ragged.constant([[1], [2, 3], []] * 4)),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_checkpoint_restores_the_position(tf, name, tmp_path):
    """In the same iterator, and in one of a dataset that was made again, as by a new program."""
    make = PIPELINES[name]
    iterator = iter(make(tf, tf.data.Dataset))
    for _ in range(3):
        next(iterator)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    path = checkpoint.save(os.fspath(tmp_path / "at"))
    assert os.path.getsize(path + ".safetensors") < 3000
    wanted = [values(x, tf) for x in itertools.islice(iterator, 20)]
    other = iter(make(tf, tf.data.Dataset))
    tf.train.Checkpoint(iterator=other).restore(path).assert_consumed()
    assert [values(x, tf) for x in itertools.islice(other, 20)] == wanted
    checkpoint.restore(path)
    assert [values(x, tf) for x in itertools.islice(iterator, 20)] == wanted


def test_the_buffer_of_a_large_shuffle_is_small_in_a_file(tf, tmp_path):
    images = np.zeros((2000, 28, 28, 1), "float32")
    iterator = iter(tf.data.Dataset.from_tensor_slices(images).shuffle(2000).batch(8))
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(os.fspath(tmp_path / "at"))
    assert os.path.getsize(path + ".safetensors") < 20_000  # indices, not images


def test_variables_and_iterators_together(tf, tmp_path):
    step = tf.Variable(0)
    iterator = iter(tf.data.Dataset.range(10))
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step, data=[iterator]), os.fspath(tmp_path), max_to_keep=2
    )
    for _ in range(4):
        next(iterator)
        step.assign_add(1)
    manager.save()
    next(iterator)
    step.assign(9)
    manager.restore_or_initialize()
    assert int(step) == 4 and int(next(iterator)) == 4


def test_the_position_of_another_dataset_is_refused(tf, tmp_path):
    path = os.fspath(tmp_path / "at")
    iterator = iter(tf.data.Dataset.range(5).batch(2))
    path = tf.train.Checkpoint(iterator=iterator).save(path)
    other = iter(tf.data.Dataset.zip(tf.data.Dataset.range(5), tf.data.Dataset.range(5)))
    with pytest.raises(tf.errors.DataLossError, match="another dataset"):
        tf.train.Checkpoint(iterator=other).restore(path)
    assert len(list(other)) == 5
    with pytest.raises(ValueError, match="iterator"):
        tf.train.Checkpoint(iterator=tf.Variable(1)).restore(path)


def test_numpy_iterators_save_and_restore(tf):
    iterator = tf.data.Dataset.range(9).shuffle(9).as_numpy_iterator()
    iterator.next()
    state = iterator.save()
    wanted = list(iterator)
    iterator.restore(state)
    assert list(iterator) == wanted
    with pytest.raises(tf.errors.DataLossError):
        iterator.restore(state[:-5])
