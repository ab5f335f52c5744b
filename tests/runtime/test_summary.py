"""`tf.summary`: what reaches tensorboardX's writer, steps, names and conditions."""

import sys
import types

import numpy as np
import pytest

import numtape as tf

summary = tf.summary


class Writer:
    """The part of tensorboardX's writer that is used."""

    def __init__(self, logdir, **options):
        self.logdir, self.options, self.calls = logdir, options, []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **options: self.calls.append((name, *args))


@pytest.fixture
def writer(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=Writer))
    file_writer = summary.create_file_writer("logs", max_queue=5, flush_millis=3000)
    yield file_writer
    summary.experimental.set_step(None)


def calls_of(writer):
    return [call for call in writer._writer.calls if call[0].startswith("add")]


def test_scalars(writer):
    assert writer._writer.options == {"max_queue": 5, "flush_secs": 3, "filename_suffix": ""}
    step = tf.Variable(7, dtype=tf.int64)
    with writer.as_default(), tf.name_scope("train"):
        assert summary.scalar("loss", tf.constant(0.5), step=1)
        summary.experimental.set_step(step)
        summary.scalar("loss", 1.5)
        step.assign_add(1)
        summary.scalar("loss", np.float64(2.5))
    expected = [("train/loss", 0.5, 1), ("train/loss", 1.5, 7), ("train/loss", 2.5, 8)]
    assert [call[1:] for call in calls_of(writer)] == expected
    assert not summary.scalar("loss", 0.5, step=1)  # there is no writer


def test_functions_write_at_each_call(writer):
    @tf.function
    def train(x):
        summary.scalar("x", x)
        return x * 2.0

    with writer.as_default(step=3), pytest.warns(RuntimeWarning, match="plain Python"):
        results = [train(tf.constant(float(k))).numpy() for k in range(3)]
    assert results == [0.0, 2.0, 4.0]
    assert [call[1:] for call in calls_of(writer)] == [("x", float(k), 3) for k in range(3)]


def test_conditions(writer):
    step = tf.Variable(0)
    with writer.as_default(), summary.record_if(lambda: step % 2 == 0):
        for k in range(4):
            step.assign(k)
            assert bool(summary.scalar("x", 1.0, step=k)) == (k % 2 == 0)
        with summary.record_if(False):
            assert not summary.should_record_summaries()
    assert [call[3] for call in calls_of(writer)] == [0, 2]


def test_other_summaries(writer):
    with writer.as_default(step=1):
        summary.histogram("h", tf.range(4.0), buckets=2)
        summary.image("i", np.full([2, 3, 4, 1], 0.5, np.float32))
        summary.image("i", np.zeros([1, 3, 4, 3], np.uint8))
        summary.text("t", ["one", b"two"])
        summary.audio("a", np.zeros([1, 10, 1]), 8000)
    histogram, *images, text, audio = calls_of(writer)
    assert histogram[:2] == ("add_histogram", "h")
    assert [(x[1], x[2].shape, x[2].dtype.name) for x in images] == [
        ("i/0", (3, 4, 1), "uint8"),
        ("i/1", (3, 4, 1), "uint8"),
        ("i", (3, 4, 3), "uint8"),
    ]
    assert images[0][2].max() == 127
    assert text == ("add_text", "t", "one\n\ntwo", 1)
    assert audio[1::2] == ("a", 1)


def test_errors(writer, monkeypatch):
    with writer.as_default():
        with pytest.raises(ValueError, match="No step set"):
            summary.scalar("x", 1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="takes a scalar"):
            summary.scalar("x", [1.0], step=1)
        with pytest.raises(tf.errors.InvalidArgumentError, match="height, width, channels"):
            summary.image("x", np.zeros([3, 3]), step=1)
        with pytest.raises(ValueError, match="encoding"):
            summary.audio("x", np.zeros([1, 3, 1]), 8000, 1, encoding="mp3")
    writer.close()
    with pytest.raises(RuntimeError, match="closed"):
        writer.set_as_default()
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"pip install 'numtape\[tensorboard\]'"):
        summary.create_file_writer("logs")
    with pytest.raises(AttributeError, match="trace_on"):
        summary.trace_on  # noqa: B018


def test_files(tmp_path):
    pytest.importorskip("tensorboardX")
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default(step=1):
        summary.scalar("loss", 0.5)
        summary.histogram("h", [1.0, 2.0])
        summary.text("t", "words")
    writer.close()
    (file,) = tmp_path.iterdir()
    assert b"loss" in file.read_bytes()
