"""The demo as a user runs it, its failures, and its training data."""

import io
import re
import subprocess
import sys
import zlib

import numpy as np
import pytest
from processes import environment

import numtape
from numtape import demo
from numtape.datasets import load_digits


def test_demo_runs_and_learns() -> None:
    """All gradients agree and the classifier reaches its accuracy, in its own process."""
    done = subprocess.run(
        [sys.executable, "-m", "numtape", "demo"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    accuracy = re.search(r"test accuracy +([\d.]+)%", done.stdout)
    assert accuracy is not None, done.stdout
    assert float(accuracy[1]) >= 96.0
    assert len(re.findall(r" ok$", done.stdout, flags=re.MULTILINE)) == len(demo._CASES)
    for label in ("loss", "time per step", "device", "rows on tape"):
        assert f"  {label}" in done.stdout
    lines = done.stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


def test_wrong_gradient_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong value, shape or structure counts as a failure, and so does an exception."""
    cases = [
        demo._Case("value", 6.0, lambda: numtape.constant(6.1)),
        demo._Case("shape", 6.0, lambda: numtape.constant([6.0])),
        demo._Case("structure", [6.0], lambda: numtape.constant(6.0)),
        demo._Case("none", 6.0, lambda: None),
        demo._Case("some", None, lambda: numtape.constant(6.0)),
        demo._Case("nan", 6.0, lambda: numtape.constant(float("nan"))),
        demo._Case("raise", 6.0, lambda: 1 // 0),
        demo._Case("good", 6.0, lambda: numtape.constant(6.0)),
    ]
    monkeypatch.setattr(demo, "_CASES", cases)
    out = io.StringIO()
    assert demo._check_gradients(out) == 7
    assert out.getvalue().count("WRONG") == 7


def test_low_accuracy_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An accuracy below the limit gives exit code 1 and says so."""
    monkeypatch.setattr(demo, "EPOCHS", 1)
    monkeypatch.setattr(demo, "MIN_ACCURACY", 1.01)
    assert demo.main() == 1
    assert "FAILED: a test accuracy" in capsys.readouterr().out


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        """Pretend to be a terminal."""
        return True


def test_progress() -> None:
    """A terminal shows one line that is redrawn; other outputs get a few plain lines."""
    terminal, plain = _Terminal(), io.StringIO()
    for out in (terminal, plain):
        progress = demo._Progress(30, out)
        for done in range(1, 31):
            progress.update(done, "loss 1.0")
    assert terminal.getvalue().count("\r") == 30
    assert terminal.getvalue().count("\n") == 1
    assert "\r" not in plain.getvalue()
    assert plain.getvalue().count("\n") == 5
    assert plain.getvalue().endswith("30/30  loss 1.0\n")


def test_digits() -> None:
    """The shipped file holds the 1,797 images of the UCI test part, unchanged."""
    images, labels = load_digits()
    assert images.shape == (1797, 8, 8)
    assert labels.shape == (1797,)
    assert images.dtype == labels.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 16)
    assert (int(images.sum()), int(labels.sum())) == (561718, 8070)
    # Sums do not depend on the order of the images; these checks do.
    assert (zlib.crc32(images.tobytes()), zlib.crc32(labels.tobytes())) == (0xF3A2533C, 0xF86FC929)
    counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(labels).tolist() == counts


def test_split_is_stratified() -> None:
    """A fifth of each class is held out, the same one for equal seeds."""
    split = demo._split_digits(np.random.default_rng(0))
    again = demo._split_digits(np.random.default_rng(0))
    assert np.array_equal(split.test_x, again.test_x)
    assert len(split.train_y) + len(split.test_y) == 1797
    share = np.bincount(split.test_y) / (np.bincount(split.test_y) + np.bincount(split.train_y))
    assert np.all(np.abs(share - demo.TEST_SHARE) < 0.005)
    assert split.train_x.dtype == split.test_x.dtype == np.float32
    assert 0.0 == split.train_x.min() < split.train_x.max() == 1.0
